#!/usr/bin/env python3
# Hundreds of streams and thousands of requests. All of 512 clients are served, and those that disconnect free their
# slots. 64 concurrent answers equal those of single requests. Over 10,000 requests memory stays level, and no
# descriptor and no thread leaks.
# usage: load.py TOOL MODEL
# SPDX-License-Identifier: MIT
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time

N_CLIENTS, N_REQUESTS = 512, 10000
WORDS = ["Once upon a time", "The sun", "A girl named Lily", "One day, the dog"]


class Server:
    def __init__(self, tool, model, *args):
        self.process = subprocess.Popen([tool, "serve", model, "--port", "0", *args], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.port = int(re.search(r":(\d+) ", self.process.stderr.readline().decode())[1])

    def of(self, name):
        with open("/proc/%d/status" % self.process.pid, encoding="ascii") as file:
            return int(re.search(r"^%s:\s+(\d+)" % name, file.read(), re.M)[1])

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.process.pid))

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0


def request(body, path="/v1/chat/completions", keep=False):
    data = json.dumps(body).encode()
    return b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: %s\r\nContent-Length: %d\r\n\r\n%s" % (
        path.encode(), b"keep-alive" if keep else b"close", len(data), data)


async def metric(port, name):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    text = (await reader.read()).decode()
    writer.close()
    return float(re.search(r"^ggufx_%s (\S+)$" % name, text, re.M)[1])


def body_of(i, n_tokens):
    return {"messages": [{"role": "user", "content": WORDS[i % 4] * (1 + i % 5)}], "max_tokens": n_tokens, "seed": i,
            "temperature": [0, 0.7, 1.3][i % 3], "logprobs": True}


async def stream(port, body, leave_after=None):
    """Returns ids of a streamed answer from its logprobs; None if the client disconnected."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    writer.write(request({**body, "stream": True}))
    tokens, n = [], 0
    try:
        while line := await reader.readline():
            if line.startswith(b"HTTP/1.1"):
                assert b" 200 " in line, line
            if not line.startswith(b"data: "):
                continue
            if line == b"data: [DONE]\n":
                return tokens
            for choice in json.loads(line[6:])["choices"]:
                tokens += [(t["token"], t["logprob"]) for t in (choice["logprobs"] or {}).get("content", [])]
            n += 1
            if leave_after and n >= leave_after:
                return None
        raise AssertionError("a stream ended without [DONE]")
    finally:
        writer.close()


async def many_streams(tool, model):
    single = Server(tool, model, "--parallel", "1")
    want = [await stream(single.port, body_of(i, 30)) for i in range(64)]
    single.end()
    server = Server(tool, model, "--parallel", "64", "--connections", "600", "--queue", "1024", "--per-address", "0")
    start = time.monotonic()
    got = await asyncio.gather(*[stream(server.port, body_of(i % 64, 30), 5 if i % 2 else None) for i in range(N_CLIENTS)])
    seconds = time.monotonic() - start
    served = [(i, tokens) for i, tokens in enumerate(got) if not i % 2]
    assert all(tokens == want[i % 64] for i, tokens in served), "an answer among %d is another one" % N_CLIENTS
    end = time.monotonic() + 10
    while await metric(server.port, "running") + await metric(server.port, "waiting") > 0:
        assert time.monotonic() < end, "texts go on after their readers left"
    print("%d clients: %d served, each as if alone, %d left; %.1f s" % (N_CLIENTS, len(served), N_CLIENTS - len(served), seconds))
    server.end()


async def worker(port, numbers):
    """Sends requests over one connection, one after the other."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for i in numbers:
        writer.write(request({"messages": [{"role": "user", "content": "%s %d" % (WORDS[i % 4], i % 997)}], "max_tokens": 1 + i % 3, "seed": i}, keep=True))
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        assert " 200 " in head[:20], head
        answer = await reader.readexactly(int(re.search(r"Content-Length: (\d+)", head)[1]))
        assert json.loads(answer)["usage"]["completion_tokens"] <= 3
    writer.close()


async def many_requests(tool, model):
    server = Server(tool, model, "--parallel", "8")
    numbers = iter(range(2 * N_REQUESTS))
    await asyncio.gather(*[worker(server.port, [next(numbers) for _ in range(125)]) for _ in range(8)])
    before = server.of("VmRSS"), server.descriptors(), server.of("Threads")
    for _ in range(N_REQUESTS // 1000):
        await asyncio.gather(*[worker(server.port, [next(numbers) for _ in range(125)]) for _ in range(8)])
    await asyncio.sleep(0.5)
    after = server.of("VmRSS"), server.descriptors(), server.of("Threads")
    print("%d requests: %d -> %d KiB, %d -> %d descriptors, %d -> %d threads" % (
        N_REQUESTS, before[0], after[0], before[1], after[1], before[2], after[2]))
    assert after[0] <= before[0] * 1.05 and after[1] <= before[1] and after[2] <= before[2]
    server.end()


def main(tool, model):
    asyncio.run(many_streams(tool, model))
    asyncio.run(many_requests(tool, model))


main(*sys.argv[1:])
