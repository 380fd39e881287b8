"""Many devices in one process, which poll or answer at once: load.py URL KEYS DEVICES SECONDS [CA.pem]

They ask for turns as devices do. A turn is answered at once with the model that was sent, or after WAIT seconds (the environment's
LOAD_WAIT), so that the server's own work is what takes time. Prints how many polls and answers there were, and how long answers took.
"""
import asyncio
import json
import os
import ssl
import sys
import time

from device import pack_bundle, unpack_message, HEAD, FIELDS


class Device:
    def __init__(self, load, client, key):
        self.load, self.client, self.key = load, client, key
        self.session, self.reader = 1000 + client, None

    async def ask(self, method, what, body=b"", number=0):
        """The code and the bytes of an answer; a connection that was closed is opened again."""
        for last in (False, True):
            try:
                if self.reader is None:
                    self.reader, self.writer = await asyncio.open_connection(self.load.host, self.load.port, ssl=self.load.tls, limit=1 << 16)
                self.writer.write(f"{method} /engram/1/{what}?client={self.client}&session={self.session}&number={number} HTTP/1.1\r\nHost: a\r\n"
                                  f"Authorization: Bearer {self.key}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
                head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                size = next((int(line.split(":")[1]) for line in head if line.lower().startswith("content-length")), 0)
                return int(head[0].split()[1]), await self.reader.readexactly(size)
            except (OSError, asyncio.IncompleteReadError):
                self.reader = None
                if last:
                    raise

    async def live(self):
        hello = dict(self.load.hello, session=self.session, home=f"load-{self.client}")
        code, text = await self.ask("POST", "hello", json.dumps(hello).encode())
        assert code == 200, text
        self.load.there += 1
        while time.monotonic() < self.load.end:
            code, data = await self.ask("GET", "turn")
            self.load.polls += 1
            if code == 410:
                return
            if code == 200:
                await self.answer(data)

    async def answer(self, data):
        head = dict(zip(FIELDS, HEAD.unpack_from(data)))
        body = await self.load.reply(self, head)
        await asyncio.sleep(self.load.wait)
        head.update(kind=4, status=0, n_text=0, n_met=0, n_numbers=0, kept_version=0, kept_bytes=0, kept_digest=0,
                    n_bytes0=self.load.sizes[0], n_bytes1=self.load.sizes[1])
        begin = time.monotonic()
        code, text = await self.ask("POST", "reply", HEAD.pack(*(head[f] for f in FIELDS)) + body, head["number"])
        self.load.took.append(time.monotonic() - begin)
        self.load.answers += code == 200


class Load:
    def __init__(self, url, keys, n, seconds, ca=None):
        self.host, port = url.split("://")[1].split(":")
        self.port, self.n, self.seconds = int(port), int(n), float(seconds)
        self.tls = ssl.create_default_context(cafile=ca) if ca else None
        self.keys = dict(line.split() for line in open(keys) if line[0] != "#")
        self.wait = float(os.environ.get("LOAD_WAIT", 0))
        self.there = self.polls = self.answers = 0
        self.took, self.packed, self.lock = [], None, asyncio.Lock()

    async def reply(self, device, head):
        """An answer's bundles, made once of the first download."""
        async with self.lock:
            if self.packed is None:
                code, data = await device.ask("GET", "download", number=head["number"] >> 32)
                assert code == 200, data
                param = unpack_message(data)[1][0]["param"]
                took = {"seconds": 0.0, "flops": 0.0, **{f"part {i}": 0.0 for i in range(8)}}
                bundles = [pack_bundle({"samples": 10.0, "loss": 1.0, "param": param}), pack_bundle(took)]
                self.sizes, self.packed = [len(b) for b in bundles], b"".join(bundles)
        return self.packed

    async def run(self):
        self.end = time.monotonic() + self.seconds
        first = Device(self, 0, self.keys["0"])
        run = json.loads((await first.ask("GET", "run"))[1])
        self.hello = {k: v for k, v in run.items() if k not in ("config", "tensors")}
        begin = time.monotonic()
        lives, arrived = [], None
        for k in range(self.n):
            lives.append(asyncio.create_task(Device(self, k, self.keys[str(k)]).live()))
            if k % 50 == 49: # they do not come all in one moment
                await asyncio.sleep(0.02)
        while self.there < self.n and time.monotonic() < self.end:
            await asyncio.sleep(0.05)
        arrived, start, before = time.monotonic() - begin, time.monotonic(), self.answers
        done, waiting = await asyncio.wait(lives, timeout=max(0, self.end - time.monotonic()))
        for task in done:
            task.result()
        took, spent = sorted(self.took), time.monotonic() - start
        print(json.dumps({"devices": self.there, "arrived_in": round(arrived, 2), "polls": self.polls, "answers": self.answers,
                          "answers_per_second": round((self.answers - before) / spent, 1) if spent > 0 else None,
                          "p50": round(took[len(took) // 2], 4) if took else None,
                          "p99": round(took[len(took) * 99 // 100], 4) if took else None, "mb": len(self.packed or b"") / 1e6}))
        for task in waiting:
            task.cancel()


asyncio.run(Load(*sys.argv[1:]).run())
