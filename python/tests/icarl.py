"""iCaRL as a class of Python: herded exemplars, sigmoid distillation, nearest mean of exemplars
(Rebuffi et al., 2017), with the bits of the engine's own."""

import engram as eg
import numpy as np


def unit(rows):
    length = np.array([np.sqrt(eg.dot(row, row)) for row in rows]).reshape(-1, 1)
    return np.where(length > 0, rows / np.where(length > 0, length, 1), rows).astype(np.float32)


class PyIcarl(eg.Method):
    """herded exemplars, sigmoid distillation, nearest mean of exemplars"""

    draws_as, leaves, lasts = "icarl", ["figures"], ["known"]
    exchanges = [eg.Exchange("means", sum=True, everyone=True)]

    def setup(self, setting, wishes):
        wishes.offers = ["boundaries"]
        wishes.memory = wishes.fills = wishes.global_model = wishes.shares_plain = True
        wishes.classes = True

    def download(self, client, got):
        self.old, self.teacher = client.past_classes(), client.stage_model("py_icarl.model")

    def task(self, client):
        if client.left >= 0:
            x, labels = client.feed(client.stage_samples(client.left))
            client.herd(x, labels, unit(client.look(x, features=True)["features"]))

    def samples(self, client):
        client.add_rows(*client.memory)

    def loss(self, client, g, loss):
        targets = g.input("targets", (client.batch, client.n_classes))
        logits = client.outputs_of(g, client.features(g))
        return loss - client.plain(g) + eg.ops.bce_with_logits(logits, targets)

    def fill(self, client):
        targets = np.arange(client.n_classes) == np.asarray(client.labels)[:, None]
        if self.teacher is not None:
            z = client.look(client.x, client.labels, logits=True, at=self.teacher)["logits"]
            targets = np.where(self.old, 1 / (1 + np.exp(-z.astype(float)).astype(z.dtype)), targets)
        client.input("targets")[...] = targets

    def answer(self, client, to, exchange):
        if exchange == "means":
            sums, counts = np.zeros((client.n_classes, client.n_features), np.float32), 0
            for x, y in (client.feed(client.stage_samples()), client.memory):
                y = np.asarray(y, int)
                np.add.at(sums, y, unit(client.look(x, features=True)["features"]))
                counts = counts + np.bincount(y, minlength=client.n_classes)
            to.update({"py_icarl.sums": sums, "py_icarl.counts": counts})

    def collect(self, server, client, got, exchange):
        if exchange == "means":
            counts, sums = np.array(got["py_icarl.counts"]), np.array(got["py_icarl.sums"])
            has, self.known = counts > 0, self.known or self.knows(server.net)
            self.known["there"][has] = 1
            self.known["means"][has] = unit(sums[has] / counts[has][:, None])

    def knows(self, net):
        return dict(means=np.zeros((net.classes, net.n_features), np.float32),
                    there=np.zeros(net.classes, np.float32))

    def know(self, server, to):
        to.update(self.known or {})

    def answers(self, g, asked):
        means, row = asked.known["means"], (1, asked.net.classes)
        near = 2 * eg.ops.product(eg.ops.l2_normalize(asked.features), means, False, True)
        near = near - eg.ops.reshape(eg.ops.sum(means * means, 1), row)
        return near + eg.ops.reshape(1e9 * asked.known["there"] - 1e9, row)
