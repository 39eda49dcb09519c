#!/usr/bin/env python3
"""Delay of one API key's short requests while another key sends heavy ones.

    tests/bench/fairness.py build/ggufx [--model FILE] [--reranker FILE] [--seconds 10] [--connections 32] [--kinds LIST]
                            [--serve OPTIONS]

Key B asks for one token of a chat, in new connections, one after the other. First it is alone, then key A sends one
kind of heavy requests from many connections. The client of A is a process of its own with low priority. Each kind has
a fresh server with its default limits. Prints a line per kind. It has B's median and 99th percentile alone and beside
A, and its failures. It also has A's statuses, and the peak memory of the server.

--reranker adds a kind on a server of that model, on which B scores one document.

SPDX-License-Identifier: MIT
"""
import argparse
import collections
import http.client
import json
import multiprocessing
import os
import re
import shlex
import signal
import statistics
import subprocess
import tempfile
import threading
import time

CHAT, RESPONSES, TEXT, RERANK = "/v1/chat/completions", "/v1/responses", "/v1/completions", "/v1/rerank"
KEYS = {"A": "heavy-key-0123456789", "B": "short-key-0123456789"}
MODEL = os.path.join(os.path.dirname(__file__), "../data/tiny-stories-Q8_0.gguf")
FORMS = os.path.join(os.path.dirname(__file__), "../data/chat/calls.json")  # of tool calls, with templates
BODY = 8 << 20  # bytes, the default of --max-body
STORY = "Once upon a time there was a dog. "
WORDS = STORY * 8  # a prompt that fits the context of the demo model


def user(text):
    return {"role": "user", "content": text}


def tool(i):
    fields = {"field_%d_%d" % (i, k): {"type": "string", "enum": ["value %d" % n for n in range(8)]} for k in range(8)}
    return {"type": "function", "function": {"name": "tool_%d" % i, "description": STORY, "parameters": {
        "type": "object", "properties": fields, "required": sorted(fields)}}}


def schema(n):
    one = {"anyOf": [{"type": "object", "properties": {"field_%d" % i: {"type": ["string", "null"], "maxLength": i}},
                      "required": ["field_%d" % i]} for i in range(n)]}
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "array", "items": one}}}


# Kinds of heavy requests: path and body of each.
KINDS = {
    "chat, long text": lambda: [(CHAT, {"messages": [user("x" * (BODY - 200))], "max_tokens": 1})],
    "chat, many messages": lambda: [(CHAT, {"messages": [user("a")] * (BODY // 36), "max_tokens": 1})],
    "tokenize": lambda: [("/tokenize", {"content": (STORY * (BODY // len(STORY)))[:-100]})],
    "tokenize, pieces": lambda: [("/tokenize", {"content": (STORY * (BODY // len(STORY)))[:-100], "with_pieces": True})],
    "detokenize": lambda: [("/detokenize", {"tokens": [1000 + i % 1000 for i in range(BODY // 6 - 20)]})],
    "apply-template": lambda: [("/apply-template", {"messages": [user("a")] * (BODY // 36)}),
                               ("/apply-template", {"messages": [user("x" * (BODY - 200))]})],
    "tools": lambda: [(CHAT, {"messages": [user("Hi")], "max_tokens": 1, "tools": [tool(i) for i in range(n)],
                              "tool_choice": choice}) for n in (1, 5, 25) for choice in ("auto", "required")],
    "json schema": lambda: [(CHAT, {"messages": [user("Hi")], "max_tokens": 32, "response_format": schema(n)})
                            for n in (20, 200, 2000)],
    "embeddings": lambda: [("/v1/embeddings", {"input": [WORDS] * 2048})],
    "long prompts": lambda: [(TEXT, {"prompt": ["%d %s" % (i, WORDS) for i in range(32)], "max_tokens": 1})],
    "many choices": lambda: [(TEXT, {"prompt": "Once", "n": 4, "best_of": 8, "logprobs": 20, "max_tokens": 200,
                                     "logit_bias": {"2": -100}})],
    "slots": lambda: [(TEXT, {"prompt": WORDS, "max_tokens": 1})] + [
        ("/slots/%d/%s" % (i, action), {"filename": "a"}) for i in range(4) for action in ("save", "restore")],
    "responses": lambda: [(RESPONSES, {"input": [user(STORY)] * 16, "max_output_tokens": 16, "instructions": STORY}),
                          (RESPONSES, {"input": [user("x" * 1000)] * (BODY // 1100), "max_output_tokens": 16})],
    "streams, log-probabilities": lambda: [
        (CHAT, {"messages": [user("Once")], "n": 8, "max_tokens": 400, "logprobs": True, "top_logprobs": 20,
                "stream": True, "logit_bias": {"2": -100}})],
    "short chats": lambda: [(CHAT, {"messages": [user("Hi")], "max_tokens": 1})],
    "long chats": lambda: [(CHAT, {"messages": [user("Hi")], "max_tokens": 400, "logit_bias": {"2": -100}})],
    "no JSON": lambda: [(CHAT, "[" * (BODY - 10)), (CHAT, "\x00" * (BODY - 10)), (CHAT, "1" * (BODY - 10)),
                        (CHAT, '{"a":' + "1," * (BODY // 2 - 10))],
    "metrics": lambda: [("/metrics", None), ("/v1/models", None), ("/openapi.json", None), ("/slots", None)],
}


class Server:
    def __init__(self, tool_path, model, folder, options):
        keys = os.path.join(folder, "keys")
        with open(keys, "w", encoding="utf-8") as file:
            file.write("".join(key + "\n" for key in KEYS.values()))
        slots = tempfile.mkdtemp(dir=folder)
        self.process = subprocess.Popen([tool_path, "serve", model, "--port", "0", "--api-key-file", keys, "--slots",
                                         "--slot-dir", slots, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        said = self.process.stderr.readline().decode()
        found = re.search(r" on http://[^:]+:(\d+)", said)
        if not found:
            raise SystemExit(said + self.process.communicate()[1].decode())
        self.port = int(found[1])

    def ask(self, key, path, body, seconds):
        """Returns the status of a request whose body is bytes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.request("POST" if body else "GET", path, body, {
                "Authorization": "Bearer " + KEYS[key], "Content-Type": "application/json", "Connection": "close"})
            with connection.getresponse() as response:
                while response.read(1 << 16):
                    pass
                return response.status
        finally:
            connection.close()

    def peak(self):
        with open("/proc/%d/status" % self.process.pid, encoding="utf-8") as file:
            return int(re.search(r"VmHWM:\s+(\d+)", file.read())[1]) >> 10

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            self.process.stderr.close()


def attack(server, requests, n_connections, ready, ends, counts):
    """The process of key A. Each connection sends all requests in turns, from another one on."""
    os.nice(10)
    bodies = [(path, body if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode())
              for path, body in requests]
    seen = collections.Counter()

    def send(first):
        for i in range(first, 10**9):
            if ends.is_set():
                return
            path, body = bodies[i % len(bodies)]
            try:
                seen[server.ask("A", path, body, 120)] += 1
            except (OSError, http.client.HTTPException) as error:
                seen[type(error).__name__] += 1

    for i in range(n_connections):
        threading.Thread(target=send, args=(i,), daemon=True).start()
    ready.set()
    ends.wait()
    counts.put(dict(seen))


def measure(server, request, seconds):
    """Returns the sorted delays of B's requests, and the statuses of those that failed."""
    path, body = request
    delays, failed, end = [], collections.Counter(), time.monotonic() + seconds
    while time.monotonic() < end or len(delays) < 20:
        start = time.monotonic()
        try:
            status = server.ask("B", path, body, 60)
        except (OSError, http.client.HTTPException) as error:
            status = type(error).__name__
        delays.append(time.monotonic() - start)
        if status != 200:
            failed[status] += 1
        time.sleep(0.01)
    return sorted(delays), failed


def text_of(counts):
    return " ".join("%sx%d" % (status, n) for status, n in sorted(counts.items(), key=str)) or "-"


def p99(delays):
    return delays[min(len(delays) * 99 // 100, len(delays) - 1)]


def run(args, folder, name, requests):
    is_rerank = requests[0][0] == RERANK
    options = [] if is_rerank else ["--embeddings"]
    if name == "tools":
        template = os.path.join(folder, "template")
        with open(FORMS, encoding="utf-8") as file, open(template, "w", encoding="utf-8") as out:
            out.write(json.load(file)["object"]["template"])
        options += ["--template", template, "--ctx", "32768"]
    server = Server(args.tool, args.reranker if is_rerank else args.model, folder, options + shlex.split(args.serve))
    short = (RERANK, {"query": "a", "documents": ["b"]}) if is_rerank else (CHAT, {"messages": [user("Hi")], "max_tokens": 1})
    short = (short[0], json.dumps(short[1]).encode())
    context = multiprocessing.get_context("fork")
    ready, ends, counts = context.Event(), context.Event(), context.Queue()
    try:
        alone, _ = measure(server, short, args.seconds / 4)
        heavy = context.Process(target=attack, args=(server, requests, args.connections, ready, ends, counts), daemon=True)
        heavy.start()
        ready.wait()
        time.sleep(1)
        beside, failed = measure(server, short, args.seconds)
        ends.set()
        sent = counts.get()
        heavy.kill()
        heavy.join()
        print("%-27s%7.3f%7.3f  %7.3f%7.3f%6d  %-12s%7d  %s" % (
            name, statistics.median(alone), p99(alone), statistics.median(beside), p99(beside), len(beside), text_of(failed),
            server.peak(), text_of(sent)), flush=True)
    finally:
        server.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--reranker")
    parser.add_argument("--seconds", default=10, type=float)
    parser.add_argument("--connections", default=32, type=int)
    parser.add_argument("--kinds", default="", help="kinds whose names begin with one of these words: tokenize,slots")
    parser.add_argument("--serve", default="", help="more options of the server: '--parallel 8 -t 2'")
    args = parser.parse_args()
    kinds = dict(KINDS)
    if args.reranker:
        kinds["rerank"] = lambda: [(RERANK, {"query": "a dog", "documents": [STORY] * 1024})]
    wanted = [name for name in kinds if name.startswith(tuple(args.kinds.split(",")))]
    print("%-27s%14s  %14s%6s  %-12s%7s  %s" % ("", "B alone, s", "B beside A, s", "", "", "peak", ""))
    print("%-27s%7s%7s  %7s%7s%6s  %-12s%7s  %s" % ("A sends", "median", "p99", "median", "p99", "n", "B failed", "MiB", "A"))
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted:
            run(args, folder, name, kinds[name]())


if __name__ == "__main__":
    main()
