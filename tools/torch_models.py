# torch_models.py - engram's networks in PyTorch, with the tensor names engram saves.
# SPDX-License-Identifier: Apache-2.0
#
# Used by golden.py (values) and peer_torch.py (speed). build(name) gives a model in training
# mode; the parameter counts are checked against the ones engram's own models assert.
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
    """The CIFAR form: a 3x3 stem without pooling, then four stages of two blocks."""

    def __init__(self, widths, channels=3, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, widths[0], 3, 1, 1, bias=False)
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
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


# name: (constructor, shape of one sample, trained values)
MODELS = {
    "mlp": (Mlp, (784,), 89610),
    "cnn-small": (CnnSmall, (1, 28, 28), 21840),
    "cnn": (Cnn, (1, 28, 28), 1663370),
    "cnn-32": (lambda: Cnn(3, 32), (3, 32, 32), 2156490),
    "pfl-cnn": (PflCnn, (3, 32, 32), 1626442),
    "resnet18": (lambda: ResNet18((64, 128, 256, 512)), (3, 32, 32), 11173962),
    "resnet18-thin": (lambda: ResNet18((16, 32, 64, 128)), (3, 32, 32), 701466),
    "resnet18-thin-1": (lambda: ResNet18((16, 32, 64, 128), 1), (1, 28, 28), 701178),
}
CLASSES = 10

# What engram calls a network that has no name of its own there: model and options.
AS_LAYERS = {
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
