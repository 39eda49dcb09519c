# serve: refusals, clients that disconnect, are slow or broken, and the end of the server.
# SPDX-License-Identifier: MIT
import concurrent.futures
import http.client
import json
import os
import resource
import signal
import socket
import threading
import time
import unittest

import tool
from serve_case import STORY, Served, events
from tool import MODEL

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
LONG = {"messages": STORY, "max_tokens": 400, "temperature": 0, "logit_bias": {"2": -100}}  # no end before


def raw(server, data, shut=False):
    """Returns the whole response to these bytes."""
    with server.connect() as at:
        at.sendall(data)
        if shut:
            at.shutdown(socket.SHUT_WR)
        out = b""
        while piece := at.recv(65536):
            out += piece
        return out


def post(body, *headers, path=CHAT, host="localhost", length=None):
    lines = ["POST %s HTTP/1.1" % path, "Host: " + host, "Content-Type: application/json", "Connection: close",
             "Content-Length: %d" % (len(body) if length is None else length), *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Requests(Served):
    def setUp(self):
        super().setUp()
        self.server = self.serve("--max-body", "1")

    def test_what_a_field_may_not_be_is_reported_by_its_name(self):
        for field, value, code in (
                ("nonsense", 1, "unknown_parameter"), ("temperature", -1, "invalid_value"),
                ("temperature", "hot", "invalid_value"), ("top_p", 2, "invalid_value"), ("n", 9, "invalid_value"),
                ("n", 0, "invalid_value"), ("stop", [""], "invalid_value"), ("stop", ["a"] * 17, "invalid_value"),
                ("max_tokens", 0, "invalid_value"), ("logit_bias", {"x": 1}, "invalid_value"),
                ("logit_bias", {"1": 101}, "invalid_value"), ("logit_bias", {"99999": 1}, "invalid_value"),
                ("seed", -1, "invalid_value"), ("store", True, "invalid_value"), ("messages", [], "invalid_value"),
                ("messages", "hello", "invalid_value"), ("messages", [{"role": "king", "content": "x"}], "invalid_value"),
                ("messages", [{"role": "user"}], "invalid_value"), ("stream", 1, "invalid_value"),
                ("messages", [{"role": "user", "content": "x", "crown": 1}], "unknown_parameter"),
                ("messages", [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}], "invalid_value"),
                ("tool_choice", "required", "invalid_value"), ("top_logprobs", 3, "invalid_value"),
                ("response_format", {"type": "xml"}, "invalid_value"), ("stream_options", {}, "invalid_value"),
                ("reasoning_effort", "much", "invalid_value"), ("functions", [], "invalid_value")):
            with self.subTest((field, value)):
                message = self.refused(400, code, self.server.ask(CHAT, {"messages": STORY, field: value}))
                self.assertIn("1024 tokens" if value == {"99999": 1} else field, message)
        self.refused(404, "model_not_found", self.server.ask(CHAT, {"messages": STORY, "model": "other"}))
        self.refused(400, "context_length_exceeded", self.server.ask("/v1/completions", {"prompt": "word " * 600}))
        self.refused(400, "invalid_value", self.server.ask("/v1/completions", {"prompt": [1, 99999]}))
        # before it is tokenized
        for path, body in ((TEXT, {"prompt": "x" * 500000}), (CHAT, {"messages": [{"role": "user", "content": "x" * 500000}]})):
            self.assertIn("bytes", self.refused(400, "context_length_exceeded", self.server.ask(path, body)))
        self.refused(400, "unsupported", self.server.ask("/v1/embeddings", {"input": "x"}))
        lenient = self.serve("--lenient")
        lenient.checks = False  # the description is that of the strict one
        status, _ = lenient.ask(CHAT, {"messages": STORY, "nonsense": 1, "max_tokens": 1})
        self.assertEqual(status, 200)

    def test_documented_fields_without_effect_pass(self):
        body = {"messages": STORY, "max_tokens": 1, "store": False, "metadata": {"a": "b"}, "user": "x",
                "parallel_tool_calls": True, "service_tier": "auto", "safety_identifier": "x", "prompt_cache_key": "y",
                "modalities": ["text"], "audio": None, "tool_choice": "auto", "tools": []}
        self.assertEqual(self.server.ask(CHAT, body)[0], 200)

    def test_bodies_that_are_no_requests(self):
        for body, code in ((b"", "invalid_json"), (b"{", "invalid_json"), (b"\xff\xfe{}", "invalid_utf8"),
                           (b"[" * 100000, "invalid_json"), (b"[]", "invalid_type"), (b"{} {}", "invalid_json"),
                           (b'{"a":1,"a":2}', "invalid_json"), (b"\x00" * 64, "invalid_json")):
            with self.subTest(body[:10]):
                self.refused(400, code, self.server.ask(CHAT, body))
        self.refused(413, "too_large", self.server.ask(CHAT, method="POST", headers={"Content-Length": str(10 << 20)}))
        chunks = b"".join(b"10000\r\n" + bytes(65536) + b"\r\n" for _ in range(40)) + b"0\r\n\r\n"
        head = post(b"", "Transfer-Encoding: chunked").replace(b"Content-Length: 0\r\n", b"")
        self.assertIn(b" 413 ", raw(self.server, head + chunks)[:20])
        self.refused(415, "unsupported_type", self.server.ask(CHAT, b"{}", headers={"Content-Type": "text/plain"}))
        self.assertEqual(self.server.ask("/health")[0], 200)

    def test_half_of_a_surrogate_pair_becomes_a_replacement_character(self):
        with self.server.open("/tokenize", b'{"content": "a\\ud83d\\u0041\\udc00"}') as response:
            self.assertEqual(response.status, 200)
            tokens = json.loads(response.read())["tokens"]
        status, answer = self.server.ask("/detokenize", {"tokens": tokens})
        self.assertEqual((status, answer["content"].strip()), (200, "a\ufffdA\ufffd"))

    def test_a_schema_with_too_many_alternatives_is_the_clients_error(self):
        schema = {"enum": ["country/%05d" % i for i in range(20000)]}
        status, answer = self.server.ask(CHAT, {"messages": STORY, "max_tokens": 20, "seed": 1, "response_format": {
            "type": "json_schema", "json_schema": {"name": "x", "schema": schema}}})
        self.assertIn(status, (200, 400), answer)

    def test_paths_methods_and_broken_heads(self):
        self.refused(404, "unknown_path", self.server.ask("/v2/none"))
        self.refused(405, "method_not_allowed", self.server.ask(CHAT))
        self.refused(405, "method_not_allowed", self.server.ask("/health", {}))
        raw(self.server, b"nonsense\r\n\r\n", shut=True)
        raw(self.server, b"\x16\x03\x01\x02\x00" + bytes(range(256)) + b"\r\n\r\n", shut=True)
        self.assertRegex(raw(self.server, post(b"{}", "X-Long: " + 60000 * "x"))[:20], rb"^(HTTP/1.1 4\d\d|$)")
        both = post(b"{}").replace(b"Connection: close\r\n", b"") + post(b"[]")
        self.assertEqual(raw(self.server, both).count(b"HTTP/1.1 400"), 2)  # two in sequence
        body = json.dumps({"messages": STORY, "max_tokens": 3}).encode()
        with self.server.connect() as at:  # byte by byte
            for i in range(len(post(body))):
                at.sendall(post(body)[i:i + 1])
            self.assertIn(b" 200 ", at.recv(64))
        self.assertEqual(self.server.ask("/health")[0], 200)

    def test_pages_of_others_are_refused(self):
        body = {"messages": STORY, "max_tokens": 1}
        for headers, code in (({"Host": "evil.example"}, "unknown_host"), ({"Host": "evil.example:80"}, "unknown_host"),
                              ({"Origin": "http://evil.example"}, "unknown_origin"), ({"Origin": "null"}, "unknown_origin")):
            with self.subTest(headers):
                self.refused(403, code, self.server.ask(CHAT, body, headers=headers))
        own = "127.0.0.1:%d" % self.server.port
        for headers in ({"Host": "localhost"}, {"Host": "[::1]:8080"}, {"Host": own, "Origin": "http://" + own}):
            self.assertEqual(self.server.ask(CHAT, body, headers=headers)[0], 200)
        server = self.serve("--cors", "https://a.example", "--allow-host", "box.example")
        with server.open(CHAT, body, headers={"Origin": "https://a.example", "Host": "box.example:80"}) as response:
            self.assertEqual((response.status, response.headers["Access-Control-Allow-Origin"]), (200, "https://a.example"))
        with server.open(CHAT, method="OPTIONS", headers={"Origin": "https://a.example"}) as response:
            self.assertEqual((response.status, response.headers["Vary"]), (204, "Origin"))

    def test_keys(self):
        keys = self.path("keys", b"# mine\nfirst-key-0123456789\n\nsecond-key-0123456789\n")
        server = self.serve("--api-key-file", keys)
        body = {"messages": STORY, "max_tokens": 1}

        def status(key):
            return server.ask(CHAT, body, headers={"Authorization": "Bearer " + key} if key else {})[0]
        self.assertEqual([status(k) for k in ("first-key-0123456789", "second-key-0123456789", "first-key", "", "x" * 99)],
                         [200, 200, 401, 401, 401])
        self.assertEqual((server.ask("/health")[0], server.ask("/v1/models")[0], server.ask("/metrics")[0]), (200, 401, 401))
        self.path("keys", b"third-key-0123456789\n")
        server.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 20
        while status("third-key-0123456789") != 200 and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual([status(k) for k in ("third-key-0123456789", "first-key-0123456789")], [200, 401])


class Start(Served):
    def test_what_cannot_be_served_is_reported(self):
        short = self.path("short", b"key\n")
        for args, code, text in ((("--host", "0.0.0.0"), 2, "--api-key-file"), (("--host", "::"), 2, "--api-key-file"),
                                 (("--api-key-file", short), 2, "16 characters"), (("--listen", "tcp:1"), 2, "unix:PATH"),
                                 (("--listen", "unix:" + 200 * "x"), 2, "bytes"), (("--host", "999.1.1.1"), 2, "--host")):
            with self.subTest(args):
                self.assertIn(text, self.fails(code, "serve", MODEL, *args))
        server = self.serve()
        self.assertIn("cannot listen", self.fails(1, "serve", MODEL, "--port", server.port))

    def test_a_path_in_the_file_system(self):
        path = self.path("socket")
        for _ in range(2):  # the second server finds the leftovers of the first one
            server = self.serve("--listen", "unix:" + path)
            self.assertEqual(server.ask(CHAT, {"messages": STORY, "max_tokens": 2})[0], 200)
            server.end(signal.SIGKILL)

    def test_the_access_log_has_no_text(self):
        log = self.path("log")
        server = self.serve("--access-log", log)
        server.ask(CHAT, {"messages": STORY, "max_tokens": 2})
        server.ask("/health")
        self.assertEqual(server.end(), 0)
        with open(log, encoding="utf-8") as file:
            text = file.read()
        lines = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([(l["path"], l["status"], l["completion_tokens"]) for l in lines], [(CHAT, 200, 2), ("/health", 200, 0)])
        self.assertNotIn("Once", text)


class Clients(Served):
    def test_who_leaves_frees_the_place_in_every_phase(self):
        server = self.serve("--parallel", "1")
        body = post(json.dumps({**LONG, "stream": True, "stop": "never"}).encode())
        gone = 0
        for read_some in (True, False):
            with server.connect() as first, server.connect() as second:
                first.sendall(body)
                server.wait_for("running", 1)
                second.sendall(body)  # queued
                server.wait_for("waiting", 1)
                if read_some:
                    self.assertIn(b"data: ", first.recv(4096) + first.recv(4096))
                second.close()
                server.wait_for("waiting", 0)
                self.assertEqual(server.metric("running"), 1)
            gone += 2
            server.wait_for("cancelled_total", gone)
            server.wait_for("running", 0)
        with server.connect() as half:  # a half-closed connection counts as closed
            half.sendall(body)
            half.shutdown(socket.SHUT_WR)
            while half.recv(65536):
                pass
        server.wait_for("running", 0)
        self.assertEqual(server.ask(CHAT, {"messages": STORY, "max_tokens": 3})[0], 200)
        for _ in range(50):
            with server.connect() as at:
                at.sendall(body[:-5])
        self.assertEqual(server.ask(CHAT, {"messages": STORY, "max_tokens": 3})[0], 200)

    def test_a_neighbour_does_not_notice_who_leaves(self):
        server = self.serve("--parallel", "8")
        body = {**LONG, "max_tokens": 150, "seed": 1, "temperature": 1}
        alone = server.ask(CHAT, body)[1]["choices"]
        out = []
        ask = threading.Thread(target=lambda: out.append(server.ask(CHAT, body)[1]["choices"]))
        ask.start()
        for i in range(30):
            with server.connect() as at:
                at.sendall(post(json.dumps({**LONG, "seed": i, "stream": True}).encode()))
                at.recv(256)
        ask.join()
        self.assertEqual(out, [alone])
        server.wait_for("running", 0)

    def test_a_full_queue_is_reported(self):
        server = self.serve("--parallel", "1", "--queue", "2")
        held = []
        for i in range(3):
            held.append(server.connect())
            held[-1].sendall(post(json.dumps({**LONG, "stream": True}).encode()))
            server.wait_for("running", 1)
            server.wait_for("waiting", i)
        with server.open(CHAT, LONG) as response:
            self.assertEqual((response.status, response.headers["Retry-After"]), (429, "1"))
        for at in held:
            at.close()
        server.wait_for("running", 0)

    @unittest.skipIf(tool.WRAPPER or tool.SANITIZED, "the memory is not that of the server alone")
    def test_without_memory_requests_end_and_the_server_goes_on(self):
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        for n_bytes in (0, 1 << 14, 1 << 17, 1 << 20):
            with self.subTest(n_bytes):
                server = self.serve("--parallel", "8", "--embeddings", "-t", "1")
                short = {"messages": STORY, "max_tokens": 8, "temperature": 0}
                want = server.ask(CHAT, short)[1]["choices"]
                with open("/proc/%d/statm" % server.process.pid, encoding="ascii") as file:
                    n_mapped = int(file.read().split()[0]) * resource.getpagesize()
                resource.prlimit(server.process.pid, resource.RLIMIT_AS, (n_mapped + n_bytes, resource.RLIM_INFINITY))

                def status(i):
                    body = {"prompt": "Once " * (100 * (i % 4) + 1), "max_tokens": 60, "logprobs": 5, "echo": i % 3 == 0, "n": 1 + i % 4, "seed": i}
                    path, body = (TEXT, body) if i % 4 else ("/v1/embeddings", {"input": ["The sun " * 60] * 30})
                    try:
                        with server.open(path, body) as response:
                            response.read()
                            return response.status
                    except (http.client.HTTPException, OSError):
                        return 503  # no memory for a response: the connection is closed
                with concurrent.futures.ThreadPoolExecutor(24) as pool:
                    self.assertLessEqual(set(pool.map(status, range(24))), {200, 503})
                resource.prlimit(server.process.pid, resource.RLIMIT_AS, unlimited)
                self.assertEqual(server.ask(CHAT, short)[1]["choices"], want)
                self.assertEqual(server.end(), 0)

    def test_nothing_is_left_of_many_requests(self):
        server = self.serve()
        count = lambda what: len(os.listdir("/proc/%d/%s" % (server.process.pid, what)))
        for _ in range(20):
            server.ask(CHAT, {"messages": STORY, "max_tokens": 2})
        before = count("fd"), count("task")
        for i in range(200):
            server.ask(CHAT, {"messages": STORY, "max_tokens": 1 + i % 3, "stream": False, "seed": i})
        end = time.monotonic() + 20
        while (count("fd"), count("task")) > before and time.monotonic() < end:
            time.sleep(0.05)
        self.assertLessEqual((count("fd"), count("task")), before)


class End(Served):
    def test_what_is_in_work_ends_by_itself(self):
        server = self.serve("--parallel", "1")
        response = server.open(CHAT, {**LONG, "max_tokens": 100, "stream": True})
        got = events(response)
        next(got)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.05)
        chunks = list(got)
        self.assertEqual(chunks[-1], "[DONE]")
        self.assertEqual(chunks[-2]["choices"][0]["finish_reason"], "length")
        self.assertEqual(server.process.wait(20), 0)

    def test_at_the_deadline_it_ends_with_a_word(self):
        server = self.serve("--parallel", "1", "--drain", "0")
        first = server.open(CHAT, {**LONG, "stream": True})
        queued = server.open(CHAT, {**LONG, "stream": True})
        got = events(first)
        next(got)
        server.process.send_signal(signal.SIGINT)
        chunks = list(got)
        self.assertEqual(chunks[-1], "[DONE]")
        self.assertEqual(chunks[-2]["error"]["message"], "the server is shutting down")
        self.assertEqual(chunks[-3]["choices"][0]["finish_reason"], "length")
        self.assertEqual(list(events(queued))[-2]["error"]["message"], "the server is shutting down")
        self.assertEqual(server.process.wait(20), 0)

    def test_meanwhile_nothing_new_begins(self):
        server = self.serve("--parallel", "1")
        first = server.open(CHAT, {**LONG, "n": 8, "stream": True})
        next(events(first))
        server.process.send_signal(signal.SIGTERM)
        server.process.stderr.readline()
        status, _ = server.ask("/health")
        with server.open(CHAT, LONG) as response:
            self.assertEqual((status, response.status, response.headers["Retry-After"]), (503, 503, "1"))
        server.process.send_signal(signal.SIGTERM)  # immediately
        self.assertEqual(server.process.wait(20), -signal.SIGTERM)

    def test_an_idle_server_ends_at_once(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            server = self.serve()
            start = time.monotonic()
            self.assertEqual(server.end(number), 0)
            self.assertLess(time.monotonic() - start, 15)


tool.main()
