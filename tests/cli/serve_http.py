# serve: HTTP itself, over raw sockets. Heads that programs read differently, media types, keys, pages of other origins,
# clients that hold connections or read slowly, and the access log.
# SPDX-License-Identifier: MIT
import contextlib
import json
import os
import resource
import signal
import socket
import time
import unittest

import tool
from serve_case import STORY, Served
from tool import MODEL

CHAT = "/v1/chat/completions"
BODY = json.dumps({"messages": STORY, "max_tokens": 2, "seed": 1}).encode()
HIDDEN = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"  # must not be answered
KEY = "first-key-0123456789"
ORIGIN = "https://a.example"


def receive(at):
    """Returns everything until the other side closes the connection."""
    out = b""
    try:
        while piece := at.recv(65536):
            out += piece
    except ConnectionResetError:  # it closed with bytes of ours unread
        pass
    return out


def raw(server, data):
    with server.connect() as at:
        at.settimeout(20)
        at.sendall(data)
        return receive(at)


def head(*lines, first="POST %s HTTP/1.1" % CHAT, host="localhost"):
    return "\r\n".join([first, *(["Host: " + host] if host else []), *lines]).encode() + b"\r\n\r\n"


def chunked(body):
    return b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"


def statuses(answer):
    return [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]


def until(check, seconds=60):
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            raise AssertionError("it did not come to that")
        time.sleep(0.02)


def logged(path):
    """Returns the lines of an access log."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Heads(Served):
    def setUp(self):
        super().setUp()
        self.server = self.share()

    def test_heads_that_programs_read_differently_are_refused(self):
        length = "Content-Length: %d" % len(BODY)
        longer = "Content-Length: %d" % (len(BODY) + len(HIDDEN))
        get = "GET /health HTTP/1.1"
        cases = {
            "length and chunks": head(length, "Transfer-Encoding: chunked") + chunked(BODY) + HIDDEN,
            "chunks and length": head("Transfer-Encoding: chunked", length) + chunked(BODY) + HIDDEN,
            "lengths that differ": head(length, longer) + BODY + HIDDEN,
            "lengths that differ, the longer first": head(longer, length) + BODY + HIDDEN,
            "lengths that agree": head(length, length) + BODY + HIDDEN,
            "a list of lengths": head(length + ", %d" % len(BODY)) + BODY + HIDDEN,
            "a length with a sign": head("Content-Length: +%d" % len(BODY)) + BODY + HIDDEN,
            "a length in another base": head("Content-Length: 0x10") + BODY + HIDDEN,
            "no name after others": head(": x", first=get) + HIDDEN,
            "no name and no value": head(":", first=get) + HIDDEN,
            "no name before others": head("X-A: b", first=get + "\r\n: x") + HIDDEN,
            "no name before the length": head("X-A: b", ": x", length) + BODY + HIDDEN,
            "no colon": head("X-A", first=get) + HIDDEN,
            "a blank in a name": head("Transfer-Encoding : chunked") + chunked(BODY) + HIDDEN,
            "a mark in a name": head("X-A(b): c", first=get) + HIDDEN,
            "a name of blanks": head("X-A: b", " : c", first=get) + HIDDEN,
            "a continued line": head("X-A: b", " c", first=get) + HIDDEN,
            "a name in two lines": head("Content-Lengt: %d" % len(BODY), " h") + BODY + HIDDEN,
            "chunks of HTTP/1.0": head("Transfer-Encoding: chunked", first="POST %s HTTP/1.0" % CHAT) + chunked(BODY) + HIDDEN,
            "a carriage return in a value": head("X-A: b\rContent-Length: 5", first=get) + HIDDEN,
            "a carriage return after a value": head("X-A: b\r", first=get) + HIDDEN,
            "no host": head(first=get, host=None) + HIDDEN,
            "two hosts": head("Host: localhost", first=get) + HIDDEN,
            "two hosts that differ": head("host: evil.example", first=get) + HIDDEN,
        }
        for name, data in cases.items():
            with self.subTest(name):  # the library sends some of its own heads twice
                self.assertEqual(set(statuses(raw(self.server, data))), {400})
        for coding in ("gzip", "gzip, chunked", "chunked, chunked", "identity", "xchunked", "chunked;q=1", "chunked\r\nTransfer-Encoding: chunked"):
            with self.subTest(coding):
                self.assertEqual(statuses(raw(self.server, head("Transfer-Encoding: " + coding) + chunked(BODY) + HIDDEN)), [501])
        answer = raw(self.server, head("Transfer-Encoding: gzip") + b"x")
        self.assertIn(b"\r\nConnection: close\r\n", answer)
        self.assertEqual(json.loads(answer.split(b"\r\n\r\n", 1)[1])["error"]["code"], "unsupported_encoding")

    def test_a_trailer_hides_no_request(self):
        for trailer in (b"X-A: b\r\n: x\r\n", b": x\r\n", b"X-A: b\r\n"):
            data = head("Transfer-Encoding: chunked") + chunked(BODY)[:-2] + trailer + HIDDEN
            self.assertEqual(len(statuses(raw(self.server, data))), 1, trailer)

    def test_heads_that_are_unusual_and_clear_are_read(self):
        close, length = "connection:close", "CONTENT-length:    %d" % len(BODY)
        for name, data in {
                "cases and blanks": head(close, length, "X-Empty:", "X-Tab:\tx\t", "X-Marks: a:b;c, \"d\"") + BODY,
                "chunks": head(close, "Transfer-Encoding: Chunked") + chunked(BODY),
                "chunks with extensions": head("Transfer-Encoding: chunked") + b"%x;a=b\r\n" % len(BODY) + BODY + b"\r\n0\r\n\r\n",
                "HTTP/1.0 without a host": head(length, first="POST %s HTTP/1.0" % CHAT, host=None) + BODY,
                "lines that end in LF": (head(close, length) + BODY).replace(b"\r\n", b"\n"),
                "blank lines before": b"\r\n\r\n" + head(close, length) + BODY,
                "a query": head(close, first="GET /health?a=b%20c&d HTTP/1.1"),
                "no body of length 0": head(close, "Content-Length: 0", first="GET /health HTTP/1.1"),
                "many fields": head(close, *("X-%d: %s" % (i, "y" * (i % 40)) for i in range(300)), first="GET /health HTTP/1.1"),
                "cookies": head(close, "Cookie: a=b; c=\"d e\"", "Cookie: f", first="GET /health HTTP/1.1")}.items():
            with self.subTest(name):
                self.assertEqual(statuses(raw(self.server, data)), [200])
        two = head(first="GET /health HTTP/1.1") + head(length) + BODY + head(close, first="HEAD /health HTTP/1.1")
        self.assertEqual(statuses(raw(self.server, two)), [200, 200, 200])

    def test_a_path_does_not_end_at_a_zero(self):
        for path in ("/v1/models%00", "/health%00", "/health%00/slots", "/%00", "/v1/models%2f%00"):
            answer = raw(self.server, head("Connection: close", first="GET %s HTTP/1.1" % path))
            self.assertEqual(statuses(answer), [404], path)

    def test_methods_are_named(self):
        for first, allowed in (("GET " + CHAT, "POST"), ("POST /health", "GET, HEAD"), ("PUT /slots/0/save", "POST, DELETE"),
                               ("OPTIONS /v1/models", "GET, HEAD"), ("TRACE /", "GET, HEAD")):
            with self.subTest(first):
                answer = raw(self.server, head("Connection: close", first=first + " HTTP/1.1"))
                self.assertEqual(statuses(answer), [405])
                self.assertIn(b"\r\nAllow: %s\r\n" % allowed.encode(), answer)

    def test_bodies_of_other_types_are_refused(self):
        def status(*fields):
            return statuses(raw(self.server, head(*fields, "Connection: close", "Content-Length: %d" % len(BODY)) + BODY))[0]
        for kind in ("application/json", "Application/JSON", "application/json;charset=utf-8", "application/json ; charset=\"UTF-8\"", "application/json;"):
            self.assertEqual(status("Content-Type: " + kind), 200, kind)
        for kind in ("application/jsonx", "application/json, text/plain", "application/json charset=utf-8", "text/plain",
                     "xapplication/json", "application/problem+json", "multipart/form-data; boundary=application/json"):
            self.assertEqual(status("Content-Type: " + kind), 415, kind)
        self.assertEqual(status("Content-Type: application/json", "Content-Type: text/plain"), 415)
        for coding in ("gzip", "br", "identity, gzip", "GZIP"):
            self.assertEqual(status("Content-Type: application/json", "Content-Encoding: " + coding), 415, coding)
        self.assertEqual(status("Content-Type: application/json", "Content-Encoding: Identity"), 200)

    def test_a_request_without_a_use_for_a_body_has_none(self):
        for first in ("GET /health", "HEAD /health", "GET /v1/models", "GET /slots", "OPTIONS /health"):
            for fields in (("Content-Length: 100000",), ("Transfer-Encoding: chunked",)):
                answer = raw(self.server, head(*fields, first=first + " HTTP/1.1"))  # returns at once: the body never comes
                self.assertIn(statuses(answer), ([400], [405]), first)


class Access(Served):
    def test_keys_are_found_in_their_file_and_field(self):
        server = self.serve("--api-key-file", self.path("keys", b"\xef\xbb\xbf%s\r\nsecond-key-0123456789\n" % KEY.encode()))

        def status(value):
            return server.ask("/v1/models", headers={"Authorization": value})[0]
        for value in ("Bearer " + KEY, "bearer    " + KEY, "Bearer \t " + KEY + "  ", "BEARER second-key-0123456789"):
            self.assertEqual(status(value), 200, value)
        for value in ("Bearer\xef\xbb\xbf" + KEY, "Bearer" + KEY, "Basic " + KEY, KEY, "Bearer", "Bearer ", "Bearer %s %s" % (KEY, KEY)):
            self.assertEqual(status(value), 401, value)

    def test_a_preflight_answers_its_question(self):
        server = self.serve("--cors", ORIGIN)

        def ask(method="OPTIONS", path=CHAT, **fields):
            fields = {"Origin": ORIGIN, **{"Access-Control-" + name.replace("_", "-"): value for name, value in fields.items()}}
            with server.open(path, method=method, headers=fields) as response:
                response.read()
                return response.status, {name.removeprefix("Access-Control-"): value for name, value in response.headers.items()}
        wanted = "authorization,content-type, X-Stainless-Lang,x-stainless-retry-count"
        status, fields = ask(Request_Method="POST", Request_Headers=wanted)
        self.assertEqual((status, fields["Allow-Origin"], fields["Allow-Methods"], fields["Allow-Headers"]), (204, ORIGIN, "POST", wanted))
        self.assertGreaterEqual(int(fields["Max-Age"]), 600)
        self.assertNotIn("Allow-Private-Network", fields)
        self.assertEqual(ask(Request_Private_Network="true")[1]["Allow-Private-Network"], "true")
        self.assertIn("DELETE", ask(path="/slots/0")[1]["Allow-Methods"])
        for odd in ("x y", "a\"b", ",", "x,,y", "x" * 5000):  # no list of names
            self.assertIn("Authorization", ask(Request_Headers=odd)[1]["Allow-Headers"])
        for status, fields in (ask("GET", "/health"), ask("GET", "/v2/none")):
            self.assertEqual(fields["Allow-Origin"], ORIGIN)
            exposed = fields["Expose-Headers"].lower().split(", ")
            self.assertLessEqual({"x-request-id", "retry-after", "x-ggufx-prefix", "x-ggufx-ignored"}, set(exposed))
        with server.connect() as at:  # a connection serves the preflight and the request
            question = head("Origin: " + ORIGIN, "Access-Control-Request-Method: GET", first="OPTIONS /health HTTP/1.1")
            at.sendall(question + head("Origin: " + ORIGIN, "Connection: close", first="GET /health HTTP/1.1"))
            self.assertEqual(statuses(receive(at)), [204, 200])


class Connections(Served):
    def hold(self, server, data, n):
        for _ in range(n):
            at = server.connect()
            self.addCleanup(at.close)
            at.sendall(data)

    def test_who_holds_connections_keeps_nobody_out(self):
        keys = self.path("keys", KEY.encode() + b"\n")
        length, key = "Content-Length: 100000", "Authorization: Bearer " + KEY
        for args in ((), ("--api-key-file", keys)):
            server = self.serve("--connections", "16", *args)
            for name, data in {"nothing": b"", "half a head": head(first="GET /health HTTP/1.1")[:-2],
                               "a body of GET": head(length, first="GET /health HTTP/1.1"), "a body": head(length),
                               "a body with a key": head(length, key), "pages": head(first="GET / HTTP/1.1") * 200}.items():
                with self.subTest((args, name)):
                    self.hold(server, data, 16)
                    self.assertEqual(statuses(raw(server, head("Connection: close", first="GET /livez HTTP/1.1"))), [200])

    def test_connections_without_a_key_are_closed_first(self):
        server = self.serve("--connections", "8", "--api-key-file", self.path("keys", KEY.encode() + b"\n"))
        request = head("Authorization: Bearer " + KEY, "Content-Length: %d" % len(BODY), "Expect: 100-continue") + BODY
        with server.connect() as idle, server.connect() as sending:
            idle.sendall(request)
            self.until_answered(idle)
            sending.sendall(request[:-10])
            self.assertIn(b" 100 ", sending.recv(65536))  # the head was read
            self.hold(server, head("Content-Length: 100000"), 20)
            self.hold(server, b"", 20)
            self.hold(server, head(first="GET /health HTTP/1.1"), 20)
            sending.sendall(request[-10:])
            self.until_answered(sending)
            idle.sendall(request)
            self.until_answered(idle)

    def until_answered(self, at):
        answer = b""
        while not answer.endswith(b"}\n"):
            piece = at.recv(65536)
            self.assertNotEqual(piece, b"", answer)
            answer += piece
        self.assertEqual(statuses(answer)[-1], 200)

    @unittest.skipIf(tool.WRAPPER or tool.SANITIZED, "the memory is not that of the server alone")
    def test_a_body_is_stored_once(self):
        """The thread that has all connections takes no more pages for large bodies than they have."""
        server, n, n_bytes = self.serve(), 12, 7 << 20
        folder = "/proc/%d/task/" % server.process.pid

        def stored():
            with open("/proc/%d/statm" % server.process.pid, encoding="ascii") as file:
                return int(file.read().split()[1])

        def faults():
            for task in os.listdir(folder):
                with open(folder + task + "/stat", encoding="ascii") as file:
                    name, fields = file.read().rsplit(")", 1)
                if "MHD" in name:
                    return int(fields.split()[7])
            raise AssertionError("no thread has the connections")
        before, first = stored(), faults()
        connections = [server.connect() for _ in range(n)]
        for at in connections:
            self.addCleanup(at.close)
            at.sendall(head("Content-Length: %d" % (n_bytes + 1)))
        for _ in range(n_bytes // (1 << 18)):
            for at in connections:
                at.sendall(b" " * (1 << 18))
        until(lambda: (stored() - before) * resource.getpagesize() >= n * (n_bytes - (1 << 16)))
        self.assertLess(faults() - first, 1.3 * n * n_bytes / resource.getpagesize())

    def test_forwarded_addresses_have_their_limit(self):
        server = self.serve("--per-address", "2", "--trusted-proxy", "127.0.0.1", "--trusted-proxy", "10.0.0.9", "--parallel", "1", "--access-log", self.path("log"))

        def fields(*addresses):
            return ["X-Forwarded-For: " + address for address in addresses]

        def ask(*addresses):
            return statuses(raw(server, head(*fields(*addresses), "Connection: close", first="GET /health HTTP/1.1")))[0]
        body = json.dumps({"messages": STORY, "max_tokens": 400, "stream": True, "logit_bias": {"2": -100}}).encode()
        held = []
        for forged in ("10.1.1.1", "10.2.2.2"):  # proxies append an address, or a field
            at = server.connect()
            self.addCleanup(at.close)
            at.sendall(head(*fields(forged + ", 10.0.0.7, 10.0.0.9"), "Content-Length: 100000") + body[:10])
            held.append(at)
        until(lambda: ask("10.0.0.7") == 429)
        self.assertEqual(ask("10.0.0.6", "10.0.0.7"), 429)
        self.assertEqual([ask("10.0.0.7", "10.0.0.6"), ask("10.0.0.6, 10.0.0.9"), ask("127.0.0.1"), ask()], [200, 200, 200, 200])
        self.assertEqual(server.ask("/health")[0], 200)
        for at in held:
            at.close()
        until(lambda: ask("10.0.0.7") == 200)

    def test_without_memory_requests_fail_and_the_server_lives(self):
        """Every allocation of the connection thread may fail; the limit is moved up step by step."""
        if tool.WRAPPER or tool.SANITIZED:
            self.skipTest("the limit of memory is that of an emulator, or of a sanitizer")
        server = self.serve("-t", "1", "--cors", ORIGIN, "--access-log", self.path("log"))
        requests = [head("Connection: close", "X-A: " + "y" * 9000, first="GET %s HTTP/1.1" % path) for path in ("/health", "/", "/openapi.json", "/v2/none")]
        requests += [head("Connection: close", "Origin: " + ORIGIN, "Access-Control-Request-Headers: x-a", first="OPTIONS / HTTP/1.1")]
        requests += [head("Transfer-Encoding: gzip")]
        for data in requests:
            raw(server, data)
        begun = head("Content-Length: 100000") + b"x" * 50000

        def data_bytes():
            with open("/proc/%d/status" % server.process.pid, encoding="ascii") as file:
                return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmData"))
        for more in range(0, 1 << 20, 1 << 16):
            resource.prlimit(server.process.pid, resource.RLIMIT_DATA, (data_bytes() + more, resource.RLIM_INFINITY))
            held = []
            for _ in range(12):
                for data in (begun, *requests):
                    at = server.connect()
                    self.addCleanup(at.close)
                    at.settimeout(20)
                    with contextlib.suppress(OSError):
                        at.sendall(data)
                    if data != begun:
                        held.append(at)
            for at in held:
                with contextlib.suppress(OSError):  # closed by the server
                    at.shutdown(socket.SHUT_WR)
                self.assertLessEqual(set(statuses(receive(at))), {200, 204, 400, 404, 413, 415, 431, 500, 501, 503})
                at.close()
            self.assertIsNone(server.process.poll())
            resource.prlimit(server.process.pid, resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self.assertEqual(server.ask("/health")[0], 200)


class Streams(Served):
    def slow(self, server, path, body):
        """Returns a socket with small buffers that has asked and reads nothing."""
        at = socket.socket()
        self.addCleanup(at.close)
        at.settimeout(60)
        at.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        at.connect((server.host, server.port))
        body = json.dumps(body).encode()
        at.sendall(head("Content-Length: %d" % len(body), first="POST %s HTTP/1.1" % path) + body)
        return at

    def test_a_burst_is_no_slow_client(self):
        server = self.serve("--access-log", self.path("log"))
        body = {"input": "Once upon a time", "max_output_tokens": 200, "top_logprobs": 20, "include": ["message.output_text.logprobs"], "seed": 1}
        for more in ({}, {"metadata": {"a": "x" * 1000000}}):
            with self.subTest(sorted(more)):
                server.checks = not more  # descriptions of this length take the checker minutes
                events = server.stream("/v1/responses", {**body, **more})
                self.assertIn(events[-1]["type"], ("response.completed", "response.incomplete"))
        self.assertEqual(server.end(), 0)
        self.assertEqual({line["status"] for line in logged(self.path("log"))}, {200})

    def test_a_stream_that_is_cut_says_so(self):
        server = self.serve("--parallel", "1", "--send-timeout", "1", "--access-log", self.path("log"))
        long = {"messages": STORY, "max_tokens": 400, "n": 8, "temperature": 0, "logit_bias": {"2": -100}, "stream": True}
        busy = [server.open(CHAT, long) for _ in range(6)]  # the next one waits for its slot
        n_cut = server.metric("cancelled_total")
        at = self.slow(server, "/v1/responses", {"input": "Once", "stream": True, "metadata": {"a": "x" * 4000000}})
        until(lambda: server.metric("cancelled_total") > n_cut)
        answer = receive(at)
        self.assertIn(b" 200 ", answer[:20])
        self.assertFalse(answer.endswith(b"0\r\n\r\n"))
        events = b"".join(self.chunks(answer)).split(b"\n\n")
        name, data = events[-2].split(b"\n")
        self.assertEqual((name, events[-1]), (b"event: error", b""))
        error = json.loads(data.removeprefix(b"data: "))
        self.assertEqual((error["type"], error["code"], error["sequence_number"]), ("error", "slow_client", len(events) - 2))
        self.assertIn("--send-timeout", error["message"])
        until(lambda: [line["status"] for line in logged(self.path("log")) if line["path"] == "/v1/responses"] == [499])
        for response in busy:
            response.close()
        server.wait_for("running", 0)

    def chunks(self, answer):
        rest = answer.split(b"\r\n\r\n", 1)[1]
        while rest:
            size, rest = rest.split(b"\r\n", 1)
            n = int(size, 16)
            yield rest[:n]
            rest = rest[n + 2:]

    def test_a_whole_answer_that_is_not_read_is_cut(self):
        server = self.serve("--send-timeout", "1", "--access-log", self.path("log"))
        self.slow(server, "/v1/responses", {"input": "Once", "max_output_tokens": 1, "metadata": {"a": "x" * 7000000}})
        until(lambda: [line["status"] for line in logged(self.path("log"))] == [499])
        self.assertEqual(server.ask("/health")[0], 200)

    def test_who_leaves_a_stream_is_logged(self):
        server = self.serve("--access-log", self.path("log"))
        with server.open(CHAT, {"messages": STORY, "n": 8, "max_tokens": 400, "stream": True, "logit_bias": {"2": -100}}) as response:
            response.readline()
        until(lambda: [line["status"] for line in logged(self.path("log")) if line["path"] == CHAT] == [499])
        self.assertEqual(server.metric(r'requests_total\{status="499"\}'), 1)


class Log(Served):
    """The server writes the line of a request after the client has its answer."""

    @staticmethod
    def logged_paths(log):
        return [line["path"] for line in logged(log)]

    def test_lost_lines_are_counted_and_reported_once(self):
        server = self.serve("--access-log", "/dev/full")
        for _ in range(5):
            server.ask("/health")
        self.assertEqual(server.metric("access_log_lost_total"), 5)
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.process.wait(60), 0)
        text = server.process.stderr.read().decode()
        self.assertEqual((text.count("--access-log"), text.count("No space left on device")), (1, 1))

    def test_a_pipe_that_is_read_slowly_stops_nothing(self):
        log = self.path("log")
        os.mkfifo(log)
        self.assertIn("no program reads", self.fails(1, "serve", MODEL, "--port", "0", "--access-log", log))
        reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
        server, n = self.serve("--access-log", log), 600
        for _ in range(n):
            self.assertEqual(server.ask("/health")[0], 200)
        lost = server.metric("access_log_lost_total")
        lines = b""
        while piece := os.read(reader, 65536):
            lines += piece
            if len(piece) < 65536:
                break
        paths = [json.loads(line)["path"] for line in lines.splitlines()]
        self.assertEqual((paths.count("/health") + lost, set(paths) - {"/metrics"}), (n, {"/health"}))
        self.assertGreater(lost, 0)
        server.ask("/livez")
        os.set_blocking(reader, True)
        with open(reader, encoding="utf-8") as pipe:
            until(lambda: json.loads(pipe.readline())["path"] == "/livez")
        self.assertEqual(server.ask("/health")[0], 200)

    def test_no_line_is_torn_on_a_full_disk(self):
        log = self.path("log")
        limit = 1000
        server = self.serve("--access-log", log, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY)))
        for _ in range(12):
            server.ask("/health")
        lost = server.metric("access_log_lost_total")
        paths = self.logged_paths(log)
        self.assertEqual((len(paths) + lost, set(paths)), (12, {"/health"}))
        self.assertGreater(lost, 0)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        server.ask("/livez")
        until(lambda: self.logged_paths(log)[-1] == "/livez")


tool.main()
