# serve with little memory: under a limit of its data the server lives, each answer is right, an error or cut, and
# everything is right afterwards.
# SPDX-License-Identifier: MIT
import concurrent.futures
import http.client
import json
import os
import random
import resource
import unittest

import tool
from serve_case import STORY, Served

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
N_REQUESTS = int(os.environ.get("GGUFX_TEST_LIMITED_REQUESTS", "200"))  # under each limit; tests/full.sh: 1,000
SIZES = (1 << 16, 1 << 18, 1 << 20, 4 << 20, 32 << 20)  # bytes beside what the server has after its first requests
OWN = {"id", "call_id", "item_id", "created", "created_at", "seconds", "timings", "cached_tokens"}  # differ by nature


def function(i):
    return {"type": "function", "function": {"name": "f%d" % i, "parameters": {
        "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}}


def generation(**fields):
    return {"messages": STORY, "max_tokens": 12, "seed": 1, **fields}


LETTERS = {"type": "json_schema", "json_schema": {"name": "x", "schema": {
    "type": "object", "properties": {"a": {"enum": ["b", "c"]}, "d": {"type": "string", "maxLength": 8}}, "required": ["a", "d"]}}}
REQUESTS = (
    (CHAT, generation()),
    (CHAT, generation(stream=True, logprobs=True, top_logprobs=20)),
    (CHAT, generation(n=8)),
    (CHAT, generation(response_format=LETTERS)),
    (CHAT, generation(tools=[function(i) for i in range(20)])),
    (CHAT, generation(tools=[function(0)], tool_choice="required", stream=True)),
    (CHAT, generation(messages=[{"role": "user", "content": "x" * 1500000}])),  # longer than the context
    (CHAT, generation(messages="x")),
    ("/v1/responses", {"input": "Once", "max_output_tokens": 12, "seed": 1, "stream": True, "metadata": {"a": "x" * 100000}}),
    ("/v1/responses", {"input": "Once", "max_output_tokens": 12, "seed": 1}),
    (TEXT, {"prompt": ["Once " * 90, "upon a time"], "max_tokens": 12, "n": 4, "logprobs": 5, "echo": True, "seed": 1}),
    (TEXT, {"prompt": "Once upon", "max_tokens": 12, "stream": True, "echo": True, "seed": 1}),
    ("/v1/embeddings", {"input": ["The sun " * 30] * 20}),
    ("/tokenize", {"content": "Once upon a time " * 3000, "with_pieces": True}),
    ("/detokenize", {"tokens": [300 + i % 100 for i in range(50000)]}),
    ("/apply-template", {"messages": STORY * 2000}),
    ("/v1/models", None),
    ("/nothing", None),
)
RIGHT = {200, 400, 404}


def ask(server, request):
    """Returns status and body of an answer; status 0 if the server closed the connection."""
    path, body = request
    try:
        with server.open(path, body) as response:
            return response.status, response.read()
    except (ConnectionError, http.client.HTTPException):
        return 0, b""


def content(value):
    """Returns an answer without its names and times."""
    if isinstance(value, dict):
        return {name: content(one) for name, one in value.items() if name not in OWN}
    return [content(one) for one in value] if isinstance(value, list) else value


def parts(answer):
    """Returns the object of an answer, or the objects of its events."""
    text = answer.decode()
    if not text.startswith(("data: ", "event: ")):
        return content(json.loads(text))
    events = [line[6:] for line in text.split("\n") if line.startswith("data: ")]
    return [event if event == "[DONE]" else content(json.loads(event)) for event in events]


def is_error(event):
    return isinstance(event, dict) and ("error" in event or event.get("type") in ("error", "response.failed"))


@unittest.skipIf(tool.WRAPPER or tool.SANITIZED, "the memory is not that of the server alone")
class Limits(Served):
    def load(self, server, requests):
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            return list(pool.map(lambda request: ask(server, request), requests))

    def check(self, request, answer, expected):
        """Returns true for the expected answer, false for an error for want of memory."""
        status, body = answer
        where = (str(request)[:200], status, body[-300:])
        if status in RIGHT:
            got = parts(body)
            if isinstance(got, list) and any(map(is_error, got)):  # a stream that could not go on
                return False
            self.assertEqual((status, got), expected, where)
            return True
        self.assertIn(status, (0, 503), where)
        if status == 503 and not body.startswith(b"<html>"):  # the HTTP library's own page
            self.assertTrue(json.loads(body)["error"]["message"], where)
        return False

    def test_mixed_requests_with_little_memory(self):
        server = self.serve("--embeddings", "-t", "1", "--parallel", "4")
        expected = []
        for request in REQUESTS:
            status, body = ask(server, request)
            expected.append((status, parts(body)))
            self.assertIn(status, RIGHT, request)
        self.load(server, REQUESTS * 2)
        choose = random.Random(57)
        for n_bytes in SIZES:
            with self.subTest(n_bytes):
                with open("/proc/%d/status" % server.process.pid, encoding="ascii") as file:
                    n_data = next(int(line.split()[1]) << 10 for line in file if line.startswith("VmData:"))
                resource.prlimit(server.process.pid, resource.RLIMIT_DATA, (n_data + n_bytes, resource.RLIM_INFINITY))
                chosen = [choose.randrange(len(REQUESTS)) for _ in range(max(N_REQUESTS // tool.STEP, 50))]
                answers = self.load(server, [REQUESTS[i] for i in chosen])
                self.assertIsNone(server.process.poll())
                n_right = sum(self.check(REQUESTS[i], answer, expected[i]) for i, answer in zip(chosen, answers))
                self.assertGreater(n_right, 0)
                resource.prlimit(server.process.pid, resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                for request, want in zip(REQUESTS, expected):
                    status, body = ask(server, request)
                    self.assertEqual((status, parts(body)), want, request)


tool.main()
