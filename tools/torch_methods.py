# torch_methods.py - the losses of methods that replay drawings, in PyTorch.
# SPDX-License-Identifier: Apache-2.0
#
# Used by golden_methods.py. Rows have the names of the inputs that engram's programs have.
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


KINDS = {"fedcil": FedCil, "pfedgrp": PFedGrp}
