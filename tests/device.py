"""A device in another language, written from docs/protocol.md: it trains a linear classifier.

device.py URL CLIENT KEY-FILE X.npy Y.npy: images as bytes, labels as bytes, by plain HTTP.
"""
import array
import http.client
import json
import math
import random
import struct
import sys

HEAD = struct.Struct("<8sII5qQ7qQ2q5Q")
FIELDS = ("magic version order kind status exchange id round seed stage left last told own kept_version kept_bytes "
          "kept_digest committed number n_text n_met n_numbers n_bytes0 n_bytes1").split()
NONE = 2**64 - 1


class Server:
    def __init__(self, url, client, key):
        self.host, self.client, self.key = url.removeprefix("http://"), client, key
        self.session, self.connection = random.randrange(2**52), None

    def ask(self, method, what, body=None, number=0):
        """The code and the bytes of an answer; the server closes connections that are idle."""
        path = f"/engram/1/{what}?client={self.client}&session={self.session}&number={number}"
        for last in (False, True):
            try:
                self.connection = self.connection or http.client.HTTPConnection(self.host, timeout=60)
                self.connection.request(method, path, body, {"Authorization": "Bearer " + self.key})
                answer = self.connection.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException):
                self.connection = None
                if last:
                    raise


def unpack_bundle(data):
    """Tensors as arrays and scalars as numbers, by name: safetensors."""
    n = struct.unpack_from("<Q", data)[0]
    out = {}
    for name, at in json.loads(data[8 : 8 + n]).items():
        begin, end = at["data_offsets"]
        raw = data[8 + n + begin : 8 + n + end]
        out[name] = struct.unpack("<d", raw)[0] if at["dtype"] == "F64" else array.array("f", raw)
    return out


def pack_bundle(values):
    head, data = {}, b""
    for name, value in sorted(values.items(), key=lambda item: isinstance(item[1], array.array)):
        tensor = isinstance(value, array.array)
        raw = value.tobytes() if tensor else struct.pack("<d", value)
        head[name] = {"dtype": "F32" if tensor else "F64", "shape": [len(value)] if tensor else [],
                      "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def unpack_message(data):
    """The head's fields, and the bundles."""
    head = dict(zip(FIELDS, HEAD.unpack_from(data)))
    at = HEAD.size + head["n_text"] + head["n_met"] + 8 * head["n_numbers"]
    bundles = []
    for n in (head["n_bytes0"], head["n_bytes1"]):
        bundles.append(None if n == NONE else unpack_bundle(data[at : at + n]))
        at += 0 if n == NONE else n
    return head, bundles


def pack_reply(turn, answer, seconds):
    took = {"seconds": seconds, "flops": 0.0, **{f"part {i}": 0.0 for i in range(8)}}
    bundles = [pack_bundle(answer), pack_bundle(took)]
    head = dict(turn, kind=4, status=0, n_text=0, n_met=0, n_numbers=0, kept_version=0, kept_bytes=0, kept_digest=0,
                n_bytes0=len(bundles[0]), n_bytes1=len(bundles[1]))
    return HEAD.pack(*(head[field] for field in FIELDS)) + b"".join(bundles)


def read_npy(path):
    data = open(path, "rb").read()
    return data[10 + struct.unpack_from("<H", data, 8)[0] :]


def learn(param, weight, bias, classes, rows, labels, rate=0.1, batch=8):
    """An epoch of gradient descent on the cross entropy, in place; the mean loss."""
    order, total, width = random.sample(range(len(rows)), len(rows)), 0.0, len(rows[0])
    for begin in range(0, len(order), batch):
        some = order[begin : begin + batch]
        steps = []
        for i in some:
            x = rows[i]
            z = [param[bias + c] + sum(param[weight + c * width + k] * x[k] for k in range(width)) for c in range(classes)]
            most = max(z)
            p = [math.exp(v - most) for v in z]
            s = sum(p)
            total += math.log(s) + most - z[labels[i]]
            steps.append((x, [v / s - (c == labels[i]) for c, v in enumerate(p)]))
        for x, g in steps:
            for c in range(classes):
                param[bias + c] -= rate * g[c] / len(some)
                for k in range(width):
                    param[weight + c * width + k] -= rate * g[c] * x[k] / len(some)
    return total / len(order)


def main(url, client, key_file, x_file, y_file):
    keys = dict(line.split() for line in open(key_file) if line[0] != "#")
    server = Server(url, int(client), keys[client])
    labels = read_npy(y_file)
    pixels = read_npy(x_file)
    width = len(pixels) // len(labels)
    rows = [[v / 255 for v in pixels[i * width : (i + 1) * width]] for i in range(len(labels))]
    code, text = server.ask("GET", "run")
    assert code == 200, text
    run = json.loads(text)
    at = {t["name"].rsplit(".", 1)[-1]: t["offset"] for t in run["tensors"]}
    hello = {"protocol": run["protocol"], "classes": run["classes"], "params": run["params"], "own_data": True,
             "version": "device.py", "isa": "python", "session": server.session, "home": f"device-py-{client}"}
    turns, of, param = 0, None, None
    code, text = server.ask("POST", "hello", json.dumps(hello))
    assert code == 200, text
    while code != 410:
        code, data = server.ask("GET", "turn")
        if code != 200:
            continue
        turn, _ = unpack_message(data)
        if turn["number"] >> 32 != of:
            of = turn["number"] >> 32
            param = unpack_message(server.ask("GET", "download", number=of)[1])[1][0]["param"]
        mine = array.array("f", param)
        loss = learn(mine, at["weight"], at["bias"], run["classes"], rows, labels)
        answer = {"samples": float(len(rows)), "loss": loss, "param": mine}
        code, text = server.ask("POST", "reply", pack_reply(turn, answer, 0.0), turn["number"])
        turns += code == 200
    print(f"the run is over: {turns} turns taken")


if __name__ == "__main__":
    main(*sys.argv[1:])
