# torch_methods.py - the losses of methods that replay drawings, in PyTorch.
# SPDX-License-Identifier: Apache-2.0
#
# Used by golden_methods.py. Rows have the names of the inputs that engram's programs have.
import math

import torch
import torch.nn.functional as F
from torch import nn

import torch_generators


class FedCil(torch_generators.Acgan):
    """An ACGAN whose critic is the model: what a client minimises, and the server's steps."""

    def agree(self, a, b):
        """KL(C(a) || C(b)), mean over rows; both have gradients."""
        critic = self.networks[1]
        return F.kl_div(critic(b)[0].log_softmax(1), critic(a)[0].softmax(1), reduction="batchmean")

    def real_and_drawn(self, rows, real, real_labels, drawn):
        """L_c."""
        return (self.judged(rows[real], rows[real_labels], 1.0)
                + self.judged(rows[drawn], rows[f"{drawn} labels"], 0.0))

    def client(self, **rows):
        """The client's loss; which rows there are says what it is made of."""
        loss = self.real_and_drawn(rows, "x", "labels", "fedcil.fakes")
        if "fedcil.replay" in rows:
            past = self.real_and_drawn(rows, "fedcil.replay", "fedcil.replay labels", "fedcil.more")
            loss = 0.5 * loss + 0.5 * past
        if "fedcil.any" in rows:  # Equations 13 and 14
            logits = self.networks[1](rows["fedcil.any"])[0]
            loss = loss + self.agree(rows["x"], rows["fedcil.pair"])
            loss = loss + F.cross_entropy(logits, rows["fedcil.any labels"].long())
        if "fedcil.agree" in rows:  # Equation 12
            loss = loss + self.agree(rows["fedcil.replay"], rows["fedcil.agree"])
        return loss

    first = agreeing = agreeing_but_for_c2 = replaying = client
    replaying_and_agreeing = replaying_and_agreeing_but_for_c1 = client

    def lesson(self, noise, labels):
        """The loss of the client's generator."""
        return self.fool(noise, labels)

    def critic_twice(self, **rows):
        """The server's loss of now and past."""
        now = {"now": rows["now"], "labels of now": rows["labels of now"],
               "drawn": rows["drawn"], "labels of drawn": rows["labels of drawn"]}
        past = {"now": rows["past"], "labels of now": rows["labels of past"],
                "drawn": rows["drawn too"], "labels of drawn": rows["labels of drawn too"]}
        return 0.5 * self.critic(**now) + 0.5 * self.critic(**past)


class PFedGrp:
    """A client's model, and the guide whose outputs on drawn rows pull it."""

    LAYERS = "[conv 8 k3, batch-norm, relu, pool 2, flatten]"

    def __init__(self, channels, side, classes, pull=0.3, **_):
        features = 8 * ((side - 2) // 2) ** 2
        self.networks = [nn.Sequential(nn.Conv2d(channels, 8, 3), nn.BatchNorm2d(8), nn.ReLU(),
                                       nn.MaxPool2d(2), nn.Flatten(), nn.Linear(features, classes))
                         for _ in range(2)]
        self.pull = pull

    def pulled(self, x, labels, drawn):
        """Equation 2: (sum of CE + pull sum over drawn rows of the mean square) / rows."""
        model, guide = self.networks
        guide.eval()
        with torch.no_grad():
            wanted = guide(x)
        logits = model(x)
        off = F.mse_loss(logits, wanted, reduction="none").mean(1)
        loss = F.cross_entropy(logits, labels.long(), reduction="sum")
        return (loss + self.pull * (drawn * off).sum()) / len(x)

    without_drawn_rows = pulled


class DataFree:
    """TARGET, MFCL and LANDER: a generator that learns from a model alone, a student, and what
    a client minimises. Past classes are the first half for a client, and for the server two, so
    that model and student often have one answer; others are closed."""

    LAYERS = "[conv 8 k3 p1, batch-norm, relu, conv 8 k3 p1, batch-norm, relu, pool 2, flatten]"
    NOISE, WIDTH, PAST, DRAWN, CLOSED = 6, 4, 5, 2, -1e9

    class Net(nn.Sequential):
        """The layers, the head as 8, and with anchors a second head."""

        def __init__(self, channels, side, classes, anchors):
            features = 8 * (side // 2) ** 2
            super().__init__(nn.Conv2d(channels, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
                             nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
                             nn.MaxPool2d(2), nn.Flatten(), nn.Linear(features, classes))
            if anchors:
                self.side = nn.Linear(features, anchors)

        def features(self, x):
            for i in range(8):
                x = self[i](x)
            return x

        def forward(self, x):
            return self[8](self.features(x))

    class Drawer(nn.Module):
        def __init__(self, channels, side, noise, width, white):
            super().__init__()
            self.side, self.white = side // 4, white
            eps = 0.8 if white else 1e-5
            self.fc = nn.Linear(noise, 2 * width * self.side ** 2)
            self.norm0 = nn.BatchNorm2d(2 * width)
            self.conv1 = nn.Conv2d(2 * width, 2 * width, 3, padding=1, bias=white)
            self.norm1 = nn.BatchNorm2d(2 * width, eps)
            self.conv2 = nn.Conv2d(2 * width, width, 3, padding=1, bias=white)
            self.norm2 = nn.BatchNorm2d(width, eps)
            self.conv3 = nn.Conv2d(width, channels, 3, padding=1)
            if white:
                self.norm3 = nn.BatchNorm2d(channels, affine=False)

        def forward(self, noise):
            x = self.fc(noise)
            x = self.norm0(x.reshape(len(x), -1, self.side, self.side))
            for conv, norm in ((self.conv1, self.norm1), (self.conv2, self.norm2)):
                x = F.leaky_relu(norm(conv(F.interpolate(x, scale_factor=2))), 0.2)
            x = self.conv3(x)
            return self.norm3(torch.tanh(x)) if self.white else (torch.sigmoid(x) - 0.5) / 0.5

    def __init__(self, channels, side, classes, anchors=0, white=False, **options):
        self.networks = [self.Drawer(channels, side, self.NOISE, self.WIDTH, white),
                         self.Net(channels, side, classes, anchors),
                         self.Net(channels, side, classes, anchors)]
        self.shape, self.is_ = (channels, side, side), options

    def closed(self, like, past):
        """Closes all classes but the first."""
        row = torch.zeros(like.shape[1], dtype=like.dtype)
        row[past:] = self.CLOSED
        return row

    def told(self, x):
        """The model's outputs in eval form, and (mean, var, norm) of what its norms are fed."""
        model, fed = self.networks[1].eval(), []
        hooks = [m.register_forward_hook(lambda m, i, _: fed.append(
            (i[0].mean((0, 2, 3)), i[0].var((0, 2, 3), unbiased=False), m)))
            for m in model if isinstance(m, nn.BatchNorm2d)]
        features = model.features(x)
        for hook in hooks:
            hook.remove()
        return features, model[8](features), fed

    def held(self, told, own, temperature, past):
        return -((told / temperature + past).softmax(1)
                 * (own / temperature + past).log_softmax(1)).sum(1).mean()


class Target(DataFree):
    def drawing(self, noise, labels, anchors=None):
        x = self.networks[0](noise)
        features, told, fed = self.told(x)
        gap = sum((m.running_mean - mean).norm() + (m.running_var - var).norm()
                  for mean, var, m in fed)
        told = told + self.closed(told, self.DRAWN)
        own = self.networks[2].eval()(x) + self.closed(told, self.DRAWN)
        agree = (told.argmax(1) == own.argmax(1)).to(x.dtype)
        kl = (told.softmax(1) * (told.log_softmax(1) - own.log_softmax(1))).sum(1)
        loss = (self.is_["statistics"] * gap + self.is_["sure"] * F.cross_entropy(told, labels.long())
                - self.is_["contrast"] * (agree * kl).mean())
        return loss + self.pull(self.networks[1], features, anchors) if anchors is not None else loss

    def client(self, x, labels, **drawn):
        model = self.networks[1]
        own = model(drawn["target.x"])
        held = self.held(drawn["target.told"], own, 2, self.closed(own, self.PAST))
        return F.cross_entropy(model(x), labels.long()) + self.is_["distil"] * held


class Lander(Target):
    def pull(self, model, features, anchors):
        far = F.mse_loss(model.side(features), anchors)
        return self.is_["anchor"] * F.relu(far - self.is_["bound"])

    def client(self, x, labels, **rows):
        """Five classes of this task and five before: A = log2(3.5), B = 1."""
        model, a = self.networks[1], math.log2(3.5)
        features, drawn = model.features(x), model.features(rows["lander.x"])
        new = (F.cross_entropy(model[8](features), labels.long())
               + self.pull(model, features, rows["lander.anchors"]))
        own = model[8](drawn)
        held = (self.held(rows["lander.told"], own, 2, self.closed(own, self.PAST))
                + F.mse_loss(model.side(drawn), rows["lander.side"]))
        return self.is_["new"] * (1 + 1 / a) * new + self.is_["old"] * a * held


class Mfcl(DataFree):
    def blur(self, x):
        row = torch.exp(-((torch.arange(5, dtype=x.dtype) - 2) / 2) ** 2)
        kernel = row[:, None] * row[None, :]
        kernel = (kernel / kernel.sum()).expand(x.shape[1], 1, 5, 5)
        return F.conv2d(F.pad(x, (2, 2, 2, 2), mode="reflect"), kernel, groups=x.shape[1])

    def drawing(self, noise):
        x = self.networks[0](noise)
        _, told, fed = self.told(x)
        answer = (told + self.closed(told, self.DRAWN)).argmax(1)
        sure = F.cross_entropy(told / self.is_["sharpness"] + self.closed(told, self.DRAWN), answer)
        p = (told + self.closed(told, self.DRAWN)).softmax(1).mean(0)[:self.DRAWN]
        even = 1 + (p * p.log()).sum() / math.log(self.DRAWN)
        gaps = []
        for mean, var, m in fed:
            v, w = var + 1e-5, m.running_var + 1e-5
            off = (m.running_mean - mean) ** 2
            gaps.append((0.5 * (v / w).log() - 0.5 * (1 - (w + off) / v)).mean())
        return (sure + self.is_["even"] * even + self.is_["statistics"] * sum(gaps) / len(gaps)
                + self.is_["smooth"] * F.mse_loss(x, self.blur(x)))

    def client(self, x, labels, **rows):
        model = self.networks[1]
        batch, drawn = model.features(x), model.features(rows["mfcl.x"])
        features = torch.cat([batch, drawn])
        told = torch.cat([rows["mfcl.batch"], rows["mfcl.drawn"]])
        targets = rows["mfcl.targets"].long()
        off = (features - told) @ rows["mfcl.head"].reshape(-1, features.shape[1]).T
        return (F.cross_entropy(model[8](batch), labels.long())
                + self.is_["head"] * F.cross_entropy(model[8](features.detach()), targets)
                + self.is_["distil"] * (off ** 2).sum(1).mean())


class Glfc:
    """A client of GLFC with old classes and an old model's outputs."""

    LAYERS = "[conv 8 k3, batch-norm, relu, pool 2, flatten]"

    def __init__(self, channels, side, classes, **_):
        features = 8 * ((side - 2) // 2) ** 2
        self.networks = [nn.Sequential(nn.Conv2d(channels, 8, 3), nn.BatchNorm2d(8), nn.ReLU(),
                                       nn.MaxPool2d(2), nn.Flatten(), nn.Linear(features, classes))]

    def balanced(self, x, labels, **rows):
        z, old = self.networks[0](x), rows["glfc.old"].reshape(-1).bool()
        y = F.one_hot(labels.long(), z.shape[1]).to(x.dtype)
        w = ((z.sigmoid() - y).abs() * y).sum(1).detach()
        for rows_of in (old, ~old):
            w[rows_of] /= w[rows_of].mean()
        own = F.binary_cross_entropy_with_logits(z, y, reduction="none") * w[:, None]
        told = F.binary_cross_entropy_with_logits(z, rows["glfc.told"].reshape(z.shape))
        return 0.5 * own.mean() + 0.5 * told


KINDS = {"fedcil": FedCil, "glfc": Glfc, "lander": Lander, "mfcl": Mfcl, "pfedgrp": PFedGrp, "target": Target}
