# Shared by the tests of `ggufx serve`: a server of their own, requests over sockets.
# SPDX-License-Identifier: MIT
import concurrent.futures
import http.client
import json
import random
import re
import signal
import socket
import subprocess
import time
import unittest

import serve_schema
import tool
from tool import MODEL

STORY = [{"role": "user", "content": "Once upon a time"}]


class Server:
    def __init__(self, *args, model=MODEL, env=None, before=(), **options):
        self.process = subprocess.Popen(
            [*before, *tool.WRAPPER, tool.TOOL, "serve", model, "--port", "0", *map(str, args)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=tool.environment(**(env or {})), **options)
        self.said = self.process.stderr.readline().decode()
        self.checks = True  # compares answers with the OpenAPI description
        found = re.search(r" on (?:http://([^:]+|\[.*\]):(\d+)|unix:(\S+))", self.said)
        if not found:
            raise AssertionError(self.said + self.process.communicate()[1].decode())
        self.host, self.port, self.path = found[1], int(found[2] or 0), found[3]

    def connect(self):
        if not self.path:
            return socket.create_connection((self.host, self.port), timeout=60)
        at = socket.socket(socket.AF_UNIX)
        at.settimeout(60)
        at.connect(self.path)
        return at

    def open(self, path, body=None, method=None, headers=None):
        """Returns a response whose body is not read yet."""
        connection = http.client.HTTPConnection(self.host or "localhost", self.port, timeout=60)
        connection.sock = self.connect()
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        try:
            connection.request(method or ("GET" if body is None else "POST"), path, body,
                               {"Content-Type": "application/json", "Connection": "close", **(headers or {})})
            return connection.getresponse()
        except (OSError, http.client.HTTPException):
            connection.close()
            raise

    def ask(self, path, body=None, **options):
        """Returns status and object of an answer."""
        with self.open(path, body, **options) as response:
            content = response.read()
            answer = json.loads(content) if content else None
        if self.checks:
            serve_schema.check(path, options.get("method"), body, response.status, answer)
        return response.status, answer

    def stream(self, path, body):
        """Returns the events of an answer, the last of which is [DONE]."""
        with self.open(path, {**body, "stream": True}) as response:
            if response.status != 200:
                raise AssertionError(response.read())
            out = list(events(response))
        for event in out:
            if event != "[DONE]" and self.checks:
                serve_schema.check(path, "POST", None, 200, event, "text/event-stream")
        return out

    def metric(self, name, **options):
        with self.open("/metrics", **options) as response:
            text = response.read().decode()
        return float(re.search(r"^ggufx_%s (\S+)$" % name, text, re.M)[1])

    def wait_for(self, name, value, seconds=20):
        end = time.monotonic() + seconds
        while self.metric(name) != value:
            if time.monotonic() > end:
                raise AssertionError("%s is %g, not %g" % (name, self.metric(name), value))
            time.sleep(0.01)

    def end(self, number=signal.SIGTERM, seconds=60):
        """Returns the exit code after a signal."""
        self.process.send_signal(number)
        try:
            return self.process.wait(seconds)
        finally:
            self.process.kill()


def events(response):
    for line in response:
        if line.startswith(b"data: "):
            content = line[6:].decode().strip()
            yield content if content == "[DONE]" else json.loads(content)


def text_of(chunks):
    """Returns text, finish_reason and logprobs of a streamed chat."""
    text, reason, logprobs = "", None, []
    for chunk in chunks:
        for choice in [] if chunk == "[DONE]" else chunk["choices"]:
            text += choice["delta"].get("content", "")
            reason = choice["finish_reason"] or reason
            logprobs += (choice["logprobs"] or {}).get("content", [])
    return text, reason, logprobs


def end(server):
    """Every server exits cleanly after a signal, for any earlier requests: sanitizers report here."""
    code = server.end() if server.process.poll() is None else 0
    rest = server.process.stderr.read().decode(errors="replace")
    server.process.stderr.close()
    if code != 0:
        raise AssertionError("the server ended with %d: %s%s" % (code, server.said, rest[-2000:]))


class Served(tool.Case):
    shared_servers = {}  # by their arguments

    def serve(self, *args, **options):
        server = Server(*args, **options)
        self.addCleanup(end, server)
        return server

    def share(self, *args):
        """Returns a server that all tests of the file share."""
        server = self.shared_servers.get(args)
        if server is None or server.process.poll() is not None:
            server = self.shared_servers[args] = Server(*args)
            unittest.addModuleCleanup(end, server)
        return server

    def refused(self, status, code, answer):
        """Returns the message of an error object."""
        self.assertEqual(answer[0], status, answer)
        self.assertEqual(set(answer[1]), {"error"})
        self.assertEqual(set(answer[1]["error"]), {"message", "type", "param", "code"})
        self.assertEqual(answer[1]["error"]["code"], code, answer)
        return answer[1]["error"]["message"]

    def requests(self, n, repeats=5):
        """Returns bodies of different chats: prompts of up to `repeats` times a sentence."""
        out = []
        for i in range(n):
            words = ["Once upon a time", "The sun", "A girl named Lily", "One day, the dog"][i % 4] * (1 + i % repeats)
            body = {"messages": [{"role": "user", "content": words}], "max_tokens": 6 + i % 17, "seed": i,
                    "temperature": [0, 0.7, 1.3][i % 3], "logprobs": True, "top_logprobs": 2}
            if i % 5 == 0:
                body["stop"] = ["a", "the"]
            if i % 7 == 0:
                body["response_format"] = {"type": "json_object"}
            out.append(body)
        return out

    def answers(self, server, bodies, at_once, seed):
        """Returns the choices of each body; the seed shuffles the order of requests."""
        order = list(range(len(bodies)))
        random.Random(seed).shuffle(order)
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            got = dict(zip(order, pool.map(lambda i: server.ask("/v1/chat/completions", bodies[i]), order)))
        self.assertEqual({status for status, _ in got.values()}, {200})
        return [got[i][1]["choices"] for i in range(len(bodies))]
