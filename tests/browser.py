"""A page in headless Chromium, by the DevTools protocol: browser.py URL STEP...

Steps: wait:SECONDS, size:WIDTHxHEIGHT, scheme:dark|light, shot:FILE.png, eval:JAVASCRIPT (printed as JSON).
"""
import base64
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request


class Socket:
    """A WebSocket without anything that this does not need."""

    def __init__(self, url):
        host, path = url.removeprefix("ws://").split("/", 1)
        name, port = host.split(":")
        self.socket = socket.create_connection((name, int(port)), 30)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.socket.recv(1)
        self.number = 0

    def take(self, n):
        data = b""
        while len(data) < n:
            piece = self.socket.recv(n - len(data))
            if not piece:
                raise EOFError("the browser has gone")
            data += piece
        return data

    def message(self):
        data, last = b"", False
        while not last:
            first, size = self.take(2)
            last = first & 0x80
            size &= 0x7F
            size = struct.unpack(">H", self.take(2))[0] if size == 126 else struct.unpack(">Q", self.take(8))[0] if size == 127 else size
            data += self.take(size)
        return json.loads(data)

    def call(self, method, **params):
        self.number += 1
        data = json.dumps({"id": self.number, "method": method, "params": params}).encode()
        head = bytes([0x81]) + (bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0xFE]) + struct.pack(">H", len(data)))
        mask = os.urandom(4)
        self.socket.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                return answer.get("result", {})


def step(page, word, value):
    if word == "wait":
        time.sleep(float(value))
    elif word == "size":
        width, height = map(int, value.split("x"))
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
    elif word == "scheme":
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])
    elif word == "shot":
        data = page.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        with open(value, "wb") as f:
            f.write(base64.b64decode(data))
    elif word == "eval":
        result = page.call("Runtime.evaluate", expression=value, returnByValue=True).get("result", {})
        print(json.dumps(result.get("value")), flush=True)


def main(url, *steps):
    browser = os.environ.get("CHROMIUM", "chromium")
    with tempfile.TemporaryDirectory() as home:
        process = subprocess.Popen([browser, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
                                    f"--user-data-dir={home}", "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            where = os.path.join(home, "DevToolsActivePort")
            for _ in range(300):
                if os.path.exists(where) and open(where).read().count("\n"):
                    break
                time.sleep(0.1)
            port = open(where).read().split("\n")[0]
            pages = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=20))
            page = Socket(next(p["webSocketDebuggerUrl"] for p in pages if p["type"] == "page"))
            page.call("Page.navigate", url=url)
            for each in steps:
                step(page, *each.split(":", 1))
        finally:
            process.kill()
            process.wait()


main(*sys.argv[1:])
