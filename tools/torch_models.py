# torch_models.py - engram's networks in PyTorch, with the tensor names engram saves.
# SPDX-License-Identifier: Apache-2.0
#
# Used by golden.py (values) and peer_torch.py (speed). build(name) gives a model in training
# mode; the parameter counts are checked against the ones engram's own models assert.
import torch
import torch.nn.functional as F
from torch import nn


class Mlp(nn.Module):
    """784-100-100-10 with relu."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 100)
        self.fc2 = nn.Linear(100, 100)
        self.head = nn.Linear(100, 10)

    def forward(self, x):
        x = F.relu(self.fc1(x.flatten(1)))
        return self.head(F.relu(self.fc2(x)))


class CnnSmall(nn.Module):
    """Fed-A-GEM's MNIST network. A mask given in masks replaces PyTorch's own dropout draw."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, 5)
        self.conv2 = nn.Conv2d(10, 20, 5)
        self.fc1 = nn.Linear(320, 50)
        self.fc2 = nn.Linear(50, 10)
        self.masks = None  # ([n, 20], [n, 50]) of 0 and 1 / (1 - p)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = self.conv2(x)
        if self.masks:
            x = x * self.masks[0][:, :, None, None]
        else:
            x = F.dropout2d(x, 0.5, self.training)
        x = F.relu(F.max_pool2d(x, 2))
        x = F.relu(self.fc1(x.flatten(1)))
        x = x * self.masks[1] if self.masks else F.dropout(x, 0.5, self.training)
        return self.fc2(x)


class Cnn(nn.Module):
    """Two 5x5 convolutions, 32 and 64 channels, padding 2, each pooled by 2; 512 hidden."""

    def __init__(self, channels=1, size=28, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 32, 5, padding=2)
        self.conv2 = nn.Conv2d(32, 64, 5, padding=2)
        self.fc1 = nn.Linear(64 * (size // 4) ** 2, 512)
        self.fc2 = nn.Linear(512, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class PflCnn(nn.Sequential):
    """pfl-research's CIFAR-10 network: what experiments/speed/pfl-cifar10.yaml lists as layers.
    Masks given in masks replace PyTorch's own dropout draws."""

    def __init__(self):
        super().__init__(
            nn.Conv2d(3, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
            nn.Dropout(0.25), nn.Flatten(), nn.Linear(64 * 14 * 14, 128), nn.ReLU(),
            nn.Dropout(0.5), nn.Linear(128, 10))
        self.masks = None  # ([n, 64, 14, 14], [n, 128]) of 0 and 1 / (1 - p)

    def forward(self, x):
        masks = iter(self.masks or ())
        for layer in self:
            x = x * next(masks) if self.masks and isinstance(layer, nn.Dropout) else layer(x)
        return x


class Block(nn.Module):
    """Basic block; a 1x1 convolution on the shortcut where the shape changes."""

    def __init__(self, n_in, n_out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(n_out)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(n_out)
        self.downsample = None
        if stride != 1 or n_in != n_out:
            self.downsample = nn.Sequential(
                nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (self.downsample(x) if self.downsample else x))


class ResNet18(nn.Module):
    """The CIFAR form: a 3x3 stem without pooling, then four stages of two blocks. Or with the
    stem of ImageNet."""

    def __init__(self, widths, channels=3, classes=10, imagenet=False):
        super().__init__()
        self.imagenet = imagenet
        self.conv1 = nn.Conv2d(channels, widths[0], *((7, 2, 3) if imagenet else (3, 1, 1)),
                               bias=False)
        self.bn1 = nn.BatchNorm2d(widths[0])
        n_in = widths[0]
        for i, width in enumerate(widths):
            stride = 1 if i == 0 else 2
            blocks = nn.Sequential(Block(n_in, width, stride), Block(width, width, 1))
            self.add_module(f"layer{i + 1}", blocks)
            n_in = width
        self.fc = nn.Linear(n_in, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.max_pool2d(x, 3, 2, 1) if self.imagenet else x
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


class ViTBlock(nn.Module):
    """A block with its norms in front; timm's names."""

    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attn = nn.ModuleDict({"qkv": nn.Linear(width, 3 * width),
                                   "proj": nn.Linear(width, width)})
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(width, hidden),
                                  "fc2": nn.Linear(hidden, width)})

    def attention(self, x, prefix=None):
        n, t, w = x.shape
        qkv = self.attn["qkv"](x).reshape(n, t, 3, self.heads, w // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        if prefix is not None:  # [n, tokens, 2 w]
            more = prefix.reshape(n, -1, 2, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
            k, v = torch.cat((more[0], k), 2), torch.cat((more[1], v), 2)
        a = (q @ k.transpose(-2, -1) / (w // self.heads) ** 0.5).softmax(-1)
        return self.attn["proj"]((a @ v).transpose(1, 2).reshape(n, t, w))

    def forward(self, x, prefix=None):
        x = x + self.attention(self.norm1(x), prefix)
        return x + self.mlp["fc2"](F.gelu(self.mlp["fc1"](self.norm2(x))))


class ViT(nn.Module):
    """A vision transformer; its features are the class token's. Smaller images are scaled."""

    def __init__(self, size, patch, width, depth, heads, hidden, classes, channels=3):
        super().__init__()
        self.size = size
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.zeros(1, (size // patch) ** 2 + 1, width))
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(channels, width, patch, patch)})
        self.blocks = nn.ModuleList(ViTBlock(width, heads, hidden) for _ in range(depth))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, classes)

    def tokens(self, x):
        if x.shape[-1] != self.size:
            x = F.interpolate(x, (self.size, self.size), mode="bicubic", align_corners=False)
        x = self.patch_embed["proj"](x).flatten(2).transpose(1, 2)
        return torch.cat((self.cls_token.expand(len(x), -1, -1), x), 1) + self.pos_embed

    def encode(self, t):
        for block in self.blocks:
            t = block(t)
        return self.norm(t)

    def forward(self, x):
        return self.head(self.encode(self.tokens(x))[:, 0])


# name: (constructor, shape of one sample, trained values)
class TinyYolo(nn.Module):
    """YOLO's second version, tiny: six pooled blocks, the last pooling keeps the size; two more; a
    1x1 convolution to anchors * (5 + classes) numbers per cell."""

    ANCHORS = ((0.04, 0.06), (0.08, 0.12), (0.12, 0.2), (0.2, 0.3), (0.4, 0.5))

    def __init__(self, width, classes=5):
        super().__init__()
        channels = [3] + [width * 2 ** min(i, 6) for i in range(7)] + [width * 64]
        for i in range(8):
            self.add_module(f"conv{i + 1}", nn.Conv2d(channels[i], channels[i + 1], 3, 1, 1, bias=False))
            self.add_module(f"bn{i + 1}", nn.BatchNorm2d(channels[i + 1]))
        self.conv9 = nn.Conv2d(channels[8], len(self.ANCHORS) * (5 + classes), 1)
        self.classes = classes

    def forward(self, x):
        for i in range(1, 9):
            x = F.leaky_relu(getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(x)), 0.1)
            if i < 6:
                x = F.max_pool2d(x, 2)
            elif i == 6:
                x = F.max_pool2d(F.pad(x, (0, 1, 0, 1), value=float("-inf")), 2, 1)
        return self.conv9(x)

    def loss(self, outputs, boxes):
        """YOLO's loss as engram's detection has it, for all images at once; boxes [n, m, 5] are class
        and place of as many boxes on each."""
        n, _, rows, columns = outputs.shape
        a = outputs.new_tensor(self.ANCHORS)
        o = outputs.reshape(n, len(a), 5 + self.classes, rows, columns)
        sure = o[:, :, 4].sigmoid()
        with torch.no_grad():
            now = self.decoded(o, a, rows, columns)
            alike = overlaps(now.reshape(n, -1, 4), boxes[..., 1:])
            free = (alike.max(2).values <= 0.6).reshape(sure.shape)
            common = torch.minimum(a[None, None], boxes[..., None, 3:]).prod(3)
            area = boxes[..., 3:].prod(2)
            best = (common / (a.prod(1) + area[..., None] - common)).argmax(2)
            column, row = (boxes[..., 1] * columns).long(), (boxes[..., 2] * rows).long()
            image = torch.arange(n)[:, None].expand_as(best)
            place = (best * rows + row) * columns + column
            met = alike.gather(1, place[..., None].expand(-1, -1, alike.shape[2])).diagonal(dim1=1, dim2=2)
            free[image, best, row, column] = False
        got = o[image, best, :, row, column]  # [n, m, 5 + classes]
        middle = torch.stack((boxes[..., 1] * columns - column, boxes[..., 2] * rows - row), 2)
        gap = ((got[..., :2].sigmoid() - middle) ** 2).sum(2) + \
            ((got[..., 2:4] - (boxes[..., 3:] / a[best]).log()) ** 2).sum(2)
        kinds = F.cross_entropy(got[..., 5:].flatten(0, 1), boxes[..., 0].long().flatten(), reduction="sum")
        whole = ((2 - area) * gap).sum() + 5 * ((got[..., 4].sigmoid() - met) ** 2).sum() + kinds
        return (whole + (sure ** 2 * free).sum()) / n

    def decoded(self, o, a, rows, columns):
        x = (o[:, :, 0].sigmoid() + torch.arange(columns)) / columns
        y = (o[:, :, 1].sigmoid() + torch.arange(rows)[:, None]) / rows
        w, h = (o[:, :, 2 + k].exp() * a[:, k, None, None] for k in range(2))
        return torch.stack((x, y, w, h), 4)


class TinyYoloCell(TinyYolo):
    """One anchor, five classes, and frames of one cell: ten numbers for each image."""

    ANCHORS = ((0.5, 0.5),)

    def forward(self, x):
        return super().forward(x).flatten(1)


def overlaps(a, b):
    """Of boxes [n, k, 4] with boxes [n, m, 4]."""
    low = torch.maximum((a[..., :2] - a[..., 2:] / 2)[:, :, None], (b[..., :2] - b[..., 2:] / 2)[:, None])
    high = torch.minimum((a[..., :2] + a[..., 2:] / 2)[:, :, None], (b[..., :2] + b[..., 2:] / 2)[:, None])
    common = (high - low).clamp(min=0).prod(3)
    return common / (a[..., 2:].prod(2)[:, :, None] + b[..., 2:].prod(2)[:, None] - common)


MODELS = {
    "mlp": (Mlp, (784,), 89610),
    "cnn-small": (CnnSmall, (1, 28, 28), 21840),
    "cnn": (Cnn, (1, 28, 28), 1663370),
    "cnn-32": (lambda: Cnn(3, 32), (3, 32, 32), 2156490),
    "pfl-cnn": (PflCnn, (3, 32, 32), 1626442),
    "resnet18": (lambda: ResNet18((64, 128, 256, 512)), (3, 32, 32), 11173962),
    "resnet18-thin": (lambda: ResNet18((16, 32, 64, 128)), (3, 32, 32), 701466),
    "resnet18-thin-stem": (lambda: ResNet18((16, 32, 64, 128), imagenet=True), (3, 64, 64),
                           703386),
    "vit": (lambda: ViT(24, 4, 40, 2, 2, 60, 10), (3, 16, 16), 27210),
    "vit-tiny-32": (lambda: ViT(32, 4, 192, 9, 3, 384, 10), (3, 32, 32), 2697610),
    "deit-tiny": (lambda: ViT(224, 16, 192, 12, 3, 768, 1000), (3, 224, 224), 5717416),
    "tiny-yolo": (lambda: TinyYolo(16), (3, 96, 160), 15784898),
    "tiny-yolo-thin": (lambda: TinyYolo(4), (3, 96, 160), 997430),
    "tiny-yolo-416": (lambda: TinyYolo(16), (3, 416, 416), 15784898),
    "tiny-yolo-cell": (lambda: TinyYoloCell(2), (3, 48, 40), 247844),
    "resnet18-thin-1": (lambda: ResNet18((16, 32, 64, 128), 1), (1, 28, 28), 701178),
}
CLASSES = 10

# What engram calls a network that has no name of its own there: model and options.
AS_LAYERS = {
    "resnet18-thin-stem": ("resnet18-thin", "stem=imagenet"),
    "tiny-yolo-cell": ("tiny-yolo", "width=2 anchors=[0.5, 0.5]"),
    "vit": ("vit", "patch=4 width=40 depth=2 heads=2 ratio=1.5 size=24"),
    "vit-tiny-32": ("vit", "preset=vit-tiny-32"),
    "deit-tiny": ("vit", "preset=deit-tiny"),
    "pfl-cnn": ("layers", "layers=[conv 32 k3, relu, conv 64 k3, relu, pool 2, dropout 0.25, "
                          "flatten, linear 128, relu, dropout 0.5]"),
}

# name: for each dropout in order the shape of a sample's mask, and one in how many it drops
MASKS = {
    "cnn-small": (((20,), 2), ((50,), 2)),
    "pfl-cnn": (((64, 14, 14), 4), ((128,), 2)),
}


def build(name):
    """The model in training mode, and the shape of one sample."""
    make, shape, count = MODELS[name]
    model = make()
    n = sum(p.numel() for p in model.parameters())
    if n != count:
        raise AssertionError(f"{name} has {n} parameters, not {count}")
    return model, shape
