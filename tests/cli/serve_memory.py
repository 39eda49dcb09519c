"""ggufx serve without memory: any failed allocation ends a request, never the server or a neighbour.
SPDX-License-Identifier: MIT
"""
import concurrent.futures
import http.client
import itertools
import json
import os
import random
import struct
import tempfile
import time
import unittest

from serve_calls import FORMS
from serve_case import STORY, Server, end
from tool import main

LIBRARY = os.environ.get("GGUFX_FAIL_MALLOC_LIBRARY", "")
TOOL = {"type": "function", "function": {"name": "f", "parameters": {
    "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}}
CHAT, COMPLETION = "/v1/chat/completions", "/v1/completions"
LOAD = (
    (CHAT, {"messages": STORY, "max_tokens": 4, "seed": 1}),
    (CHAT, {"messages": STORY, "max_tokens": 4, "seed": 1, "stream": True, "logprobs": True, "top_logprobs": 3}),
    (CHAT, {"messages": STORY, "max_tokens": 8, "seed": 1, "response_format": {"type": "json_schema", "json_schema": {
        "name": "x", "schema": {"type": "object", "properties": {"a": {"enum": ["b", "c"]}}, "required": ["a"]}}}}),
    # SERIAL is another number in each request, so its grammar is compiled.
    (CHAT, {"messages": STORY, "max_tokens": 8, "seed": 1, "response_format": {"type": "json_schema", "json_schema": {
        "name": "x", "schema": {"type": "object", "properties": {"SERIAL": {"enum": ["b", "c"]}}, "required": ["SERIAL"]}}}}),
    (CHAT, {"messages": STORY, "max_tokens": 8, "tools": [TOOL]}),
    (CHAT, {"messages": STORY, "max_tokens": 8, "seed": 1, "tools": [TOOL], "tool_choice": "required"}),
    (CHAT, {"messages": STORY, "max_tokens": 8, "seed": 1, "tool_choice": "required", "tools": [{"type": "function", "function": {
        "name": "f", "parameters": {"type": "object", "properties": {"SERIAL": {"$ref": "#/$defs/n"}}, "required": ["SERIAL"],
                                    "$defs": {"n": {"type": "integer"}}}}}]}),
    (CHAT, {"messages": "x"}),
    ("/v1/responses", {"input": "Once", "max_output_tokens": 4, "stream": True}),
    (COMPLETION, {"prompt": ["Once", "upon a time"], "max_tokens": 4, "n": 2, "logprobs": 2, "echo": True}),
    ("/v1/embeddings", {"input": ["Once", "upon"]}),
    ("/tokenize", {"content": "Once upon a time " * 50, "with_pieces": True}),
    ("/detokenize", {"tokens": [1, 2, 3]}),
    ("/apply-template", {"messages": STORY}),
    ("/slots", None), ("/metrics", None), ("/props", None), ("/v1/models", None), ("/health", None),
    ("/nothing", None), ("/slots/0/save", {"filename": "a"}), ("/slots/0/restore", {"filename": "a"}),
)


@unittest.skipUnless(LIBRARY, "needs a library that is preloaded")
class Memory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        path = os.path.join(cls.folder.name, "numbers")
        with open(path, "wb") as file:
            file.write(bytes(24))
        cls.numbers = open(path, "r+b", buffering=0)
        template = os.path.join(cls.folder.name, "template")
        with open(template, "w", encoding="utf-8") as file:
            file.write(FORMS["tagged"]["template"].replace("tools | tojson", "tools | length"))
        cls.serial = itertools.count()
        cls.server = Server("--template", template, "--embeddings", "--slots", "--slot-dir", cls.folder.name, "--parallel", 3, "--ctx", 256,
                            env={"LD_PRELOAD": LIBRARY, "GGUFX_FAIL_MALLOC": path})

    @classmethod
    def tearDownClass(cls):
        cls.fail_next(0, 0)
        end(cls.server)
        cls.numbers.close()
        cls.folder.cleanup()

    @classmethod
    def fail_next(cls, first, n):
        """Fails n allocations from the `first` one on, counted from now; 0: none."""
        cls.numbers.seek(0)
        counted = struct.unpack("<Q", cls.numbers.read(8))[0]
        cls.numbers.seek(8)
        cls.numbers.write(struct.pack("<QQ", counted + first if first else 0, n))
        return counted

    def ask(self, request, seconds=20):
        """Returns status and body; status 0 if the server closed the connection."""
        path, body = request
        try:
            at = self.server.connect()
            at.settimeout(seconds)
            connection = http.client.HTTPConnection("localhost")
            connection.sock = at
            try:
                data = json.dumps(body).replace("SERIAL", "s%d" % next(self.serial)) if body else None
                connection.request("POST" if body else "GET", path, data,
                                   {"Content-Type": "application/json", "Connection": "close"})
                with connection.getresponse() as response:
                    return response.status, response.read()
            finally:
                at.close()
        except TimeoutError as error:
            raise AssertionError("no answer: %s" % (request,)) from error
        except (ConnectionError, http.client.HTTPException):
            return 0, b""

    def check(self, request, status, body):
        """An answer is whole, an error, or cut in a way that the client sees."""
        where = (request, status, body[-300:])
        self.assertIn(status, (0, 200, 400, 404, 429, 500, 503), where)
        if status >= 400 and not body.startswith(b"<html>"):  # the HTTP library's own page
            self.assertTrue(body, where)
            self.assertTrue(json.loads(body)["error"]["message"], where)
        elif status == 200 and (request[1] or {}).get("stream"):
            self.assertRegex(body, rb'\[DONE\]\n\n$|\n\nevent: (error|response\.(completed|incomplete|failed))\n.*\n\n$|"error":', where)
        elif status == 200 and request[0] != "/metrics":
            try:
                json.loads(body)
            except ValueError as error:
                raise AssertionError(where) from error

    def load(self, requests):
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            return list(pool.map(self.ask, requests))

    def expect_running(self, where):
        if self.server.process.poll() is not None:
            raise AssertionError("the server ended with %d: %s: %s" % (
                self.server.process.returncode, where, self.server.process.stderr.read().decode()))

    def expect_alive(self, expected, where):
        self.fail_next(0, 0)
        self.expect_running(where)
        deadline = time.monotonic() + 30
        while self.ask(LOAD[0]) != expected and time.monotonic() < deadline:
            time.sleep(0.05)
        status, body = self.ask(LOAD[0])
        self.assertEqual((status, self.content(body)), (200, self.content(expected[1])), where)

    @staticmethod
    def content(body):
        return json.loads(body)["choices"]

    def test_each_request_survives_any_failed_allocation(self):
        choose = random.Random(55)
        expected = self.ask(LOAD[0])
        for request in LOAD:
            before = self.fail_next(0, 0)
            self.ask(request)
            n = max(1, self.fail_next(0, 0) - before)
            for many in (1, 3, 2**62):
                for _ in range(12):
                    first = choose.randint(1, n)
                    self.fail_next(first, many)
                    if many > 3:
                        # nothing can be answered before memory is back
                        with concurrent.futures.ThreadPoolExecutor(1) as pool:
                            waits = pool.submit(self.ask, request)
                            time.sleep(0.05)
                            self.fail_next(0, 0)
                            answer = waits.result()
                    else:
                        answer = self.ask(request)
                    self.check(request, *answer)
                    self.fail_next(0, 0)
                    self.expect_running((request, first, many, answer))
        self.expect_alive(expected, "after single requests")

    def test_a_mixed_load_survives(self):
        choose = random.Random(56)
        expected = self.ask(LOAD[0])
        before = self.fail_next(0, 0)
        self.load(LOAD)
        n = self.fail_next(0, 0) - before
        for _ in range(30):
            first, many = choose.randint(1, n), choose.choice((1, 10, 100))
            self.fail_next(first, many)
            for request, answer in zip(LOAD, self.load(LOAD)):
                self.check(request, *answer)
            self.expect_running((first, many))
        self.expect_alive(expected, "after the mixed load")


if __name__ == "__main__":
    main()
