# torch_generators.py - engram's generators in PyTorch, with the tensor names engram saves.
# SPDX-License-Identifier: Apache-2.0
#
# Used by golden.py (values), peer_torch.py (speed) and draw_torch.py (drawings). A kind has its
# networks, in engram's order (the first one draws), the losses of its training steps by the names
# that engram's programs have, and a drawing of noise.
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
        self.n_noise = WGAN_NOISE

    def draw(self, noise, labels):
        """Drawings [n, c, h, w] of noise [n, n_noise]."""
        return self.networks[0](noise)

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


KINDS = {"wgan-gp": WganGp}
