# torch_generators.py - engram's generators in PyTorch, with the tensor names engram saves.
# SPDX-License-Identifier: Apache-2.0
#
# Used by golden.py (values), peer_torch.py (speed) and draw_torch.py (drawings). A kind has its
# networks, in engram's order (the first one draws), the losses of its training steps by the names
# that engram's programs have, and a drawing of noise.
import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

# side of an image: how many strided layers, and kernel, stride, padding of the one that touches it
WGAN_SIDES = {8: (1, 4, 2, 1), 16: (2, 4, 2, 1), 28: (3, 4, 2, 3), 32: (3, 4, 2, 1), 64: (3, 6, 4, 1)}
WGAN_NOISE = 100


class WganGenerator(nn.Module):
    """Noise [n, 100] to images in [-1, 1]."""

    def __init__(self, width, channels, side):
        super().__init__()
        self.n_scales, kernel, stride, padding = WGAN_SIDES[side]
        n_in, n_out = WGAN_NOISE, width << (self.n_scales - 1)
        for i in range(self.n_scales):
            conv = nn.ConvTranspose2d(n_in, n_out, 4, *((2, 1) if i else (1, 0)), bias=False)
            self.add_module(f"up{i}", conv)
            self.add_module(f"norm{i}", nn.BatchNorm2d(n_out))
            n_in, n_out = n_out, n_out // 2
        last = nn.ConvTranspose2d(n_in, channels, kernel, stride, padding, bias=False)
        self.add_module(f"up{self.n_scales}", last)

    def forward(self, noise, labels=None):
        x = noise[:, :, None, None]
        for i in range(self.n_scales):
            x = F.relu(getattr(self, f"norm{i}")(getattr(self, f"up{i}")(x)))
        return torch.tanh(getattr(self, f"up{self.n_scales}")(x))


class WganCritic(nn.Module):
    """Images to one number each, high for real ones."""

    def __init__(self, width, channels, side):
        super().__init__()
        self.n_scales, *window = WGAN_SIDES[side]
        for i in range(self.n_scales):
            self.add_module(f"down{i}", nn.Conv2d(channels, width, *window, bias=False))
            if i > 0:
                self.add_module(f"norm{i}", nn.InstanceNorm2d(width, affine=True))
            channels, width, window = width, 2 * width, (4, 2, 1)
        self.judge = nn.Conv2d(channels, 1, 4, bias=False)

    def forward(self, x):
        for i in range(self.n_scales):
            x = getattr(self, f"down{i}")(x)
            x = F.leaky_relu(getattr(self, f"norm{i}")(x) if i else x, 0.2)
        return self.judge(x).flatten()


class WganGp:
    """The pair, and what each of them minimises."""

    def __init__(self, channels, side, classes=None, width=0, penalty=10, **_):
        width = width or (128 if side == 64 else 16 if channels == 1 else 64)
        self.networks = [WganGenerator(width, channels, side), WganCritic(width, channels, side)]
        self.penalty = penalty
        self.shape, self.n_noise = (channels, side, side), WGAN_NOISE

    def draw(self, noise, labels):
        """Drawings [n, c, h, w] of noise [n, n_noise]."""
        return self.networks[0](noise)

    def example(self, program, n):
        """Random inputs of a step, and the number of the network that learns."""
        noise = torch.randn(n, WGAN_NOISE)
        if program == "fool":
            return {"noise": noise}, 0
        return {"real": torch.rand(n, *self.shape) * 2 - 1, "noise": noise,
                "share": torch.rand(n)}, 1

    def critic(self, real, noise, share):
        """The critic's loss; share [n] is how far from drawn to real the penalty's images are."""
        generator, critic = self.networks
        with torch.no_grad():
            fake = generator(noise)
        between = (fake + share[:, None, None, None] * (real - fake)).requires_grad_()
        slope, = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        norm = (slope.square().sum((1, 2, 3)) + 1e-12).sqrt()
        judged = critic(torch.cat((real, fake)))
        gap = judged[len(real):].mean() - judged[:len(real)].mean()
        return gap + self.penalty * (norm - 1).square().mean()

    def fool(self, noise):
        """The generator's loss."""
        generator, critic = self.networks
        return -critic(generator(noise)).mean()


class AcganGenerator(nn.Module):
    """The form for MNIST: label and noise to maps of 4x4, doubled to the image's side."""

    def __init__(self, width, channels, side, classes):
        super().__init__()
        self.classes, self.n_doublings = classes, int(math.log2(side // 4))
        n = width << self.n_doublings
        self.fc = nn.Linear(classes + WGAN_NOISE, 16 * n)
        self.bn0 = nn.BatchNorm2d(n)
        for i in range(1, self.n_doublings + 1):
            self.add_module(f"up{i}", nn.ConvTranspose2d(n, n // 2, 4, 2, 1))
            self.add_module(f"bn{i}", nn.BatchNorm2d(n // 2))
            n //= 2
        self.image = nn.ConvTranspose2d(n, channels, 3, 1, 1)

    def forward(self, noise, labels):
        z = torch.cat((F.one_hot(labels.long(), self.classes).to(noise.dtype), noise), 1)
        x = self.fc(z)
        x = F.relu(self.bn0(x.reshape(len(x), -1, 4, 4)))
        for i in range(1, self.n_doublings + 1):
            x = F.relu(getattr(self, f"bn{i}")(getattr(self, f"up{i}")(x)))
        return torch.tanh(self.image(x))


class AcganCritic(nn.Module):
    """Images to logits of their class, and to one that is high for real ones."""

    def __init__(self, width, channels, side, classes):
        super().__init__()
        self.n_convs = int(math.log2(side // 4))
        for i in range(1, self.n_convs + 1):
            self.add_module(f"conv{i}", nn.Conv2d(channels, width, 4, 2, 1))
            channels, width = width, 2 * width
        self.classes = nn.Linear(16 * channels, classes)
        self.side = nn.Linear(16 * channels, 1)

    def forward(self, x):
        for i in range(1, self.n_convs + 1):
            x = F.leaky_relu(getattr(self, f"conv{i}")(x), 0.01)
        x = x.flatten(1)
        return self.classes(x), self.side(x)


class Acgan:
    """The pair, and what each of them minimises."""

    def __init__(self, channels, side, classes, width=64, **_):
        self.networks = [AcganGenerator(width, channels, side, classes),
                         AcganCritic(width, channels, side, classes)]
        self.shape, self.n_noise, self.n_classes = (channels, side, side), WGAN_NOISE, classes

    def judged(self, x, labels, real):
        return self.cost(self.networks[1](x), labels, real)

    @staticmethod
    def cost(seen, labels, real):
        """Of what the critic makes of rows: logits and side."""
        logits, side = seen
        truth = torch.full_like(side, real)
        return (F.binary_cross_entropy_with_logits(side, truth)
                + F.cross_entropy(logits, labels.long()))

    def critic(self, **rows):
        """The critic's loss on real and on drawn rows."""
        return (self.judged(rows["now"], rows["labels of now"], 1.0)
                + self.judged(rows["drawn"], rows["labels of drawn"], 0.0))

    def fool(self, noise, labels):
        """The generator's loss."""
        return self.judged(self.networks[0](noise, labels), labels, 1.0)

    def draw(self, noise, labels):
        return self.networks[0](noise, labels)

    def drawn(self, generator, labels):
        """Drawings of labels for the critic: no gradient flows back."""
        with torch.no_grad():
            return generator(torch.randn(len(labels), self.n_noise), labels)

    @staticmethod
    def agreement(seen, others):
        """KL of the classes of rows from those of others; its gradient flows through both."""
        return F.kl_div(others[0].log_softmax(1), seen[0].softmax(1), reduction="batchmean")

    def iteration(self, n):
        """FedCIL's in a later task, as a function without arguments: the critic's step on a batch, on
        replayed rows and on those of consistency, then the generator's."""
        own, critic = self.networks
        past, world = (copy.deepcopy(own).eval() for _ in range(2))
        steps = [torch.optim.Adam(m.parameters(), lr=2e-4, betas=(0.5, 0.99)) for m in (own, critic)]
        x, y = torch.rand(n, *self.shape) * 2 - 1, torch.arange(n) % self.n_classes

        def loss():
            fake, more, before, known = torch.randint(self.n_classes, (4, n))
            now, replay = critic(x), critic(self.drawn(past, before))
            terms = 0.5 * (self.cost(now, y, 1.0) + self.cost(replay, before, 1.0)
                           + self.judged(self.drawn(own, fake), fake, 0.0)
                           + self.judged(self.drawn(own, more), more, 0.0))
            told = F.cross_entropy(critic(self.drawn(world, known))[0], known)
            return (terms + told + self.agreement(now, critic(self.drawn(world, y)))
                    + self.agreement(replay, critic(self.drawn(world, before))))

        def train():
            critic.requires_grad_(True)
            steps[1].zero_grad()
            loss().backward()
            steps[1].step()
            critic.requires_grad_(False)
            labels = torch.randint(self.n_classes, (n,))
            steps[0].zero_grad()
            self.fool(torch.randn(n, self.n_noise), labels).backward()
            steps[0].step()

        return train

    def example(self, program, n):
        labels = torch.arange(n) % self.n_classes
        if program == "fool":
            return {"noise": torch.randn(n, self.n_noise), "labels": labels}, 0
        return {"now": torch.rand(n, *self.shape) * 2 - 1, "labels of now": labels,
                "drawn": torch.rand(n, *self.shape) * 2 - 1, "labels of drawn": labels}, 1


class Residual(nn.Module):
    """x plus two convolutions of it, the time added between them."""

    def __init__(self, n_in, n_out, n_time):
        super().__init__()
        self.norm1 = group_norm(n_in)
        self.conv1 = nn.Conv2d(n_in, n_out, 3, padding=1)
        self.time = nn.Linear(n_time, n_out)
        self.norm2 = group_norm(n_out)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, padding=1)
        self.shortcut = nn.Conv2d(n_in, n_out, 1) if n_in != n_out else nn.Identity()

    def forward(self, x, time):
        h = self.conv1(F.silu(self.norm1(x))) + self.time(time)[:, :, None, None]
        return self.shortcut(x) + self.conv2(F.silu(self.norm2(h)))


class Attend(nn.Module):
    """x plus what every place takes from all others."""

    def __init__(self, channels):
        super().__init__()
        self.norm = group_norm(channels)
        self.qkv = nn.Conv2d(channels, 3 * channels, 1)
        self.out = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).flatten(2).chunk(3, 1)
        share = (q.transpose(1, 2) @ k / math.sqrt(x.shape[1])).softmax(-1)
        return x + self.out((v @ share.transpose(1, 2)).reshape(x.shape))


def group_norm(channels):
    """At most 8 groups of at least 4 channels: of one alone, a norm takes away what time adds."""
    groups = [g for g in range(8, 0, -1) if channels % g == 0 and channels // g >= 4]
    return nn.GroupNorm(groups[0] if groups else 1, channels)


class Unet(nn.Module):
    """The noise in an image; time [n, width] says how noisy it is."""

    def __init__(self, channels, width, multipliers, blocks):
        super().__init__()
        wide = [width * m for m in multipliers]
        self.n_levels, self.blocks = len(wide), blocks
        self.time1 = nn.Linear(width, 4 * width)
        self.time2 = nn.Linear(4 * width, 4 * width)
        self.conv_in = nn.Conv2d(channels, width, 3, padding=1)
        n, n_time = width, 4 * width
        for level, c in enumerate(wide):
            self.add_module(f"down{level}", nn.ModuleList(
                Residual(c if b else n, c, n_time) for b in range(blocks)))
            if level + 1 < self.n_levels:
                self.add_module(f"halve{level}", nn.Conv2d(c, c, 3, 2, 1))
            n = c
        self.middle0, self.attend = Residual(n, n, n_time), Attend(n)
        self.middle1 = Residual(n, n, n_time)
        for level in range(self.n_levels - 1, -1, -1):
            c = wide[level]
            self.add_module(f"up{level}", nn.ModuleList(
                Residual(2 * c, c, n_time) for _ in range(blocks)))
            if level > 0:
                self.add_module(f"double{level}", nn.Conv2d(c, wide[level - 1], 3, padding=1))
        self.norm_out = group_norm(width * multipliers[0])
        self.conv_out = nn.Conv2d(width * multipliers[0], channels, 3, padding=1)

    def forward(self, x, time):
        time = F.silu(self.time2(F.silu(self.time1(time))))
        x, skips = self.conv_in(x), []
        for level in range(self.n_levels):
            for block in getattr(self, f"down{level}"):
                x = block(x, time)
                skips.append(x)
            if level + 1 < self.n_levels:
                x = getattr(self, f"halve{level}")(x)
        x = self.middle1(self.attend(self.middle0(x, time)), time)
        for level in range(self.n_levels - 1, -1, -1):
            for block in getattr(self, f"up{level}"):
                x = block(torch.cat((x, skips.pop()), 1), time)
            if level > 0:
                x = F.interpolate(x, scale_factor=2)
                x = getattr(self, f"double{level}")(x)
        return self.conv_out(F.silu(self.norm_out(x)))


class Ddpm:
    """Two networks of one form: the first is the mean of the second's weights, and draws."""

    def __init__(self, channels, side, classes=None, width=32, multipliers="1,2,2", blocks=1,
                 steps=1000, sample_steps=50, **_):
        levels = [int(m) for m in str(multipliers).split(",")]
        self.networks = [Unet(channels, width, levels, blocks) for _ in range(2)]
        self.steps, self.sample_steps, self.width = steps, sample_steps or steps, width
        self.shape, self.n_noise = (channels, side, side), channels * side * side
        self.clear = (1 - torch.linspace(1e-4, 0.02, steps, dtype=torch.float64)).cumprod(0)

    def denoise(self, noisy, time, noise):
        """The loss of training."""
        return F.mse_loss(self.networks[1](noisy, time), noise)

    def example(self, program, n):
        return {"noisy": torch.randn(n, *self.shape), "time": torch.randn(n, self.width),
                "noise": torch.randn(n, *self.shape)}, 1

    def embed(self, t, n):
        half = self.width // 2
        angle = t * 10000 ** (-torch.arange(half, dtype=torch.float64) / half)
        return torch.cat((angle.sin(), angle.cos())).expand(n, -1)

    def draw(self, noise, labels):
        """DDIM: equal parts of the way back, without new noise."""
        x, n = noise.reshape(-1, *self.shape), self.sample_steps
        for k in range(n - 1, -1, -1):
            t = (k + 1) * self.steps // n - 1
            clear = self.clear[t].item()
            then = self.clear[k * self.steps // n - 1].item() if k else 1.0
            found = self.networks[0](x, self.embed(t, len(x)).to(x.dtype))
            image = ((x - math.sqrt(1 - clear) * found) / math.sqrt(clear)).clamp(-1, 1)
            found = (x - math.sqrt(clear) * image) / math.sqrt(1 - clear)
            x = math.sqrt(then) * image + math.sqrt(1 - then) * found
        return x


KINDS = {"acgan": Acgan, "ddpm": Ddpm, "wgan-gp": WganGp}
