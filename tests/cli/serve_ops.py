# Operation of serve: start and end in every phase, socket activation, limits, full disks, changing files, clock jumps,
# fairness between keys.
# SPDX-License-Identifier: MIT
import concurrent.futures
import ctypes
import fcntl
import json
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
import unittest

import tool
from serve_case import STORY, Served, Server, events
from tool import MODEL

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
LONG = {"messages": STORY, "max_tokens": 400, "temperature": 0, "logit_bias": {"2": -100}}  # no end before
KEYS = b"first-key-0123456789\nsecond-key-0123456789\n"


def of_key(name):
    return {"Authorization": "Bearer %s-key-0123456789" % name}


def ask_path(path, request="/health"):
    """Returns status and body of a request to a Unix socket."""
    with socket.socket(socket.AF_UNIX) as at:
        at.settimeout(20)
        at.connect(path)
        at.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % request.encode())
        out = b""
        while piece := at.recv(65536):
            out += piece
    return int(out[9:12]), out.split(b"\r\n\r\n", 1)[1]


def head_hash(data):
    """The checksum of a slot file's head: a chain of splitmix64."""
    mask, value = 2 ** 64 - 1, len(data)
    for byte in data:
        x = value * 0x9e3779b97f4a7c15 + byte + 0x9e3779b97f4a7c15 & mask
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & mask
        x = (x ^ x >> 27) * 0x94d049bb133111eb & mask
        value = x ^ x >> 31
    return value


def until(check, seconds=20):
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            raise AssertionError("it did not come to that")
        time.sleep(0.01)


class Start(Served):
    def loading(self):
        """Starts a server whose model comes through a pipe without data yet."""
        path = self.path("socket")
        process = subprocess.Popen([*tool.WRAPPER, tool.TOOL, "serve", "-", "--listen", "unix:" + path], stdin=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=tool.environment())
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def answers():
            try:
                return ask_path(path)[0] > 0
            except OSError:
                return False
        until(answers)
        return process, path

    def test_while_the_model_is_loaded_it_is_alive_and_not_ready(self):
        process, path = self.loading()
        status, body = ask_path(path)
        self.assertEqual((status, json.loads(body)["error"]["code"]), (503, "loading"))
        self.assertEqual([ask_path(path, p)[0] for p in ("/livez", "/", "/metrics", "/props", "/v1/models")], [200, 200, 200, 503, 503])
        with open(MODEL, "rb") as file:
            process.stdin.write(file.read())
        process.stdin.close()
        until(lambda: ask_path(path)[0] == 200)
        self.assertEqual(ask_path(path, "/props")[0], 200)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), 0)

    def test_a_manager_gives_the_socket_and_hears_of_it(self):
        told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        told.settimeout(20)
        told.bind(self.path("notify"))
        with socket.socket() as listening, told:
            listening.bind(("127.0.0.1", 0))
            listening.listen()
            port = listening.getsockname()[1]
            given = listening.fileno()
            command = 'exec 3<&%d; LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" serve "$1" --listen systemd' % given
            process = subprocess.Popen(["sh", "-c", command, tool.TOOL, MODEL], pass_fds=[given], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, env=tool.environment(NOTIFY_SOCKET=self.path("notify")))
            self.addCleanup(process.stderr.close)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            words = []
            while not words or "READY=1" not in words[-1]:
                words.append(told.recv(4096).decode())
            self.assertIn("STATUS=loading the model", words[0])
            with socket.create_connection(("127.0.0.1", port), timeout=20) as at:
                at.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                self.assertIn(b" 200 ", at.recv(100))
            process.send_signal(signal.SIGHUP)
            self.assertIn("RELOADING=1", told.recv(4096).decode())
            self.assertEqual(told.recv(4096), b"READY=1")
            process.send_signal(signal.SIGTERM)
            self.assertIn("STOPPING=1", told.recv(4096).decode())
            self.assertEqual(process.wait(20), 0)
        self.assertIn("no socket was given", self.fails(2, "serve", MODEL, "--listen", "systemd"))

    def test_descriptors_for_all_connections_are_there_or_it_says_so(self):
        limit = lambda soft, hard: lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        result = tool.run("serve", MODEL, preexec_fn=limit(100, 100))
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"may open 100 files (ulimit -n), 320 are needed", result.stderr)
        self.assertIn("not a folder", self.fails(2, "serve", MODEL, "--slot-dir", self.path("none")))
        server = self.serve("--connections", "200", preexec_fn=limit(100, 400))
        held = [server.connect() for _ in range(150)]
        self.assertEqual(server.ask("/health")[0], 200)
        for at in held:
            at.close()

    def test_auto_takes_tiles_for_many_texts(self):
        for n, name in (("9", "row-wise"), ("10", "tiled")):
            server = self.serve("--parallel", n, "--decode", "auto")
            self.assertEqual(server.ask("/props")[1]["decode"], name)
            self.assertIn(name, server.said)

    @unittest.skipIf(tool.WRAPPER, "an emulator has work of its own")
    def test_an_idle_server_takes_no_processor_time(self):
        server = self.serve()
        server.ask(CHAT, {"messages": STORY, "max_tokens": 3})

        def switches():
            total = 0
            for task in os.listdir("/proc/%d/task" % server.process.pid):
                with open("/proc/%d/task/%s/status" % (server.process.pid, task), encoding="ascii") as file:
                    total += sum(int(line.split()[1]) for line in file if line.startswith("voluntary"))
            return total
        time.sleep(2.5)  # the connection is closed while its watchers sleep
        before = switches()
        time.sleep(2)
        self.assertLessEqual(switches() - before, 1)


class End(Served):
    def test_sigterm_in_each_phase(self):
        long_prompt = {"prompt": "Once upon a time there was a girl. " * 45, "max_tokens": 60}
        for phase in ("loading", "reading", "writing", "queued", "vectors", "idle"):
            with self.subTest(phase):
                if phase == "loading":
                    process, _ = Start.loading(self)
                    process.send_signal(signal.SIGTERM)
                    self.assertEqual(process.wait(20), 0)
                    continue
                server = self.serve("--parallel", "1", "--embeddings", "--batch", "16")
                with concurrent.futures.ThreadPoolExecutor(4) as pool:
                    asked = []
                    if phase in ("reading", "writing", "queued"):
                        asked.append(pool.submit(server.ask, TEXT, long_prompt))
                        server.wait_for("running", 1)
                    if phase == "writing":
                        until(lambda: server.metric("generation_tokens_total") > 0)
                    if phase == "queued":
                        asked.append(pool.submit(server.ask, TEXT, {**long_prompt, "seed": 1}))
                        until(lambda: server.metric("waiting") + server.metric("generation_tokens_total") > 0)
                    if phase == "vectors":
                        asked.append(pool.submit(server.ask, "/v1/embeddings", {"input": ["The sun " * 60] * 60}))
                        time.sleep(0.02)
                    server.process.send_signal(signal.SIGTERM)
                    for one in asked:
                        self.assertEqual(one.result()[0], 200)  # running requests finish normally
                    self.assertEqual(server.process.wait(30), 0)

    @unittest.skipIf(tool.WRAPPER, "an emulator has threads of its own")
    def test_a_signal_that_another_thread_gets_ends_the_wait_for_a_model(self):
        process, _ = Start.loading(self)
        folder = "/proc/%d/task" % process.pid
        other = max(int(task) for task in os.listdir(folder))
        self.assertNotEqual(other, process.pid)
        tgkill = ctypes.CDLL(None, use_errno=True).tgkill
        self.assertEqual(tgkill(process.pid, other, signal.SIGTERM), 0)
        self.assertEqual(process.wait(20), 0)

    def test_a_hangup_while_the_model_is_loaded_is_answered_then(self):
        process, path = Start.loading(self)
        process.send_signal(signal.SIGHUP)
        with open(MODEL, "rb") as file:
            process.stdin.write(file.read())
        process.stdin.close()
        until(lambda: ask_path(path)[0] == 200)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), 0)
        self.assertIn(b"the log was opened again", process.stderr.read())

    def test_an_answer_has_its_time(self):
        server = self.serve("--parallel", "1", "--request-timeout", "1")
        first = server.open(CHAT, {**LONG, "n": 8, "stream": True})
        chunks = list(events(first))
        self.assertEqual(chunks[-1], "[DONE]")
        errors = [chunk["error"]["message"] for chunk in chunks if chunk != "[DONE]" and "error" in chunk]
        reasons = [chunk["choices"][0]["finish_reason"] for chunk in chunks if chunk != "[DONE]" and chunk.get("choices")]
        if errors:  # a machine that generates 3,200 tokens in a second needs no time limit
            self.assertEqual(set(errors), {"the request timed out"})
        self.assertIn("length", reasons)


class Clients(Served):
    def test_idle_connections_block_no_client(self):
        server = self.serve("--connections", "8")
        held = [server.connect() for _ in range(30)]
        for _ in range(3):
            self.assertEqual(server.ask(CHAT, {"messages": STORY, "max_tokens": 3})[0], 200)
        for at in held:
            at.close()

    def test_an_address_has_its_limit_and_a_proxy_none(self):
        # Local addresses have no limit; the test has no other ones.
        server = self.serve("--per-address", "1", "--trusted-proxy", "127.0.0.1", "--access-log", self.path("log"))
        held = [server.connect() for _ in range(5)]
        status, _ = server.ask("/health", headers={"X-Forwarded-For": "10.0.0.1, 10.9.8.7", "X-Request-Id": "a-b-c"})
        server.ask("/health", headers={"X-Request-Id": "two words"})
        self.assertEqual(status, 200)
        for at in held:
            at.close()
        self.assertEqual(server.end(), 0)
        with open(self.path("log"), encoding="utf-8") as file:
            first, second = [json.loads(line) for line in file]
        self.assertEqual((first["address"], first["request"]), ("10.9.8.7", "a-b-c"))
        self.assertEqual((second["address"], second["request"][:4]), ("127.0.0.1", "req_"))

    def test_texts_of_a_key_have_their_limit(self):
        server = self.serve("--parallel", "1", "--per-key", "2", "--api-key-file", self.path("keys", KEYS))
        server.metric = lambda name: Server.metric(server, name, headers=of_key("second"))
        first = server.open(CHAT, {**LONG, "n": 2, "stream": True}, headers=of_key("first"))
        next(events(first))
        self.assertIn("limit", self.refused(429, "key_limit", server.ask(CHAT, LONG, headers=of_key("first"))))
        status = server.ask(CHAT, {"messages": STORY, "max_tokens": 2}, headers=of_key("second"))[0]
        self.assertEqual(status, 200)
        first.close()
        server.wait_for("running", 0)
        self.assertEqual(server.ask(CHAT, {"messages": STORY, "max_tokens": 2}, headers=of_key("first"))[0], 200)

    def test_a_full_queue_has_room_for_another_key(self):
        server = self.serve("--parallel", "1", "--queue", "16", "--api-key-file", self.path("keys", KEYS))
        server.metric = lambda name: Server.metric(server, name, headers=of_key("second"))
        many, held = {**LONG, "n": 8, "stream": True}, []

        def hold(name, body):
            held.append(server.open(CHAT, body, headers=of_key(name)))
            self.addCleanup(held[-1].close)
            self.assertEqual(held[-1].status, 200)
        hold("first", {**many, "n": 1})
        server.wait_for("running", 1)
        hold("first", many)
        hold("first", many)
        until(lambda: server.metric("waiting") > 8)  # the head of a reply is sent before its requests are queued
        self.refused(429, "queue_full", server.ask(CHAT, {**LONG, "n": 8}, headers=of_key("first")))
        hold("second", many)  # eight are its share
        for name in ("first", "second"):
            self.refused(429, "queue_full", server.ask(CHAT, {**LONG, "n": 8}, headers=of_key(name)))
        for response in held:
            response.close()
        server.wait_for("running", 0)

    def test_a_key_with_many_requests_is_preempted(self):
        """Requests wait for a slot only briefly, and a preempted request gives the same answer."""
        bodies = [{**LONG, "max_tokens": 200, "seed": i, "temperature": 1, "logprobs": True} for i in range(5)]
        for args in tool.stepped(((), ("--decode", "tiled"), ("--ctk", "q8_0", "--ctv", "gx4")), 2):
            with self.subTest(args):
                single = self.serve("--parallel", "1", *args)
                want = [single.ask(CHAT, body)[1]["choices"] for body in bodies]
                server = self.serve("--parallel", "2", "--preempt-after", "0", "--api-key-file", self.path("keys", KEYS), *args)
                server.metric = lambda name, server=server: Server.metric(server, name, headers=of_key("second"))
                with concurrent.futures.ThreadPoolExecutor(6) as pool:
                    asked = [pool.submit(server.ask, CHAT, body, headers=of_key("first")) for body in bodies]
                    server.wait_for("running", 2)
                    while not all(one.done() for one in asked):
                        self.assertEqual(server.ask(CHAT, {"messages": STORY, "max_tokens": 2}, headers=of_key("second"))[0], 200)
                self.assertGreater(server.metric("preempted_total"), 0)
                self.assertEqual([one.result()[1]["choices"] for one in asked], want)

    def test_prefixes_are_cached_beside_running_requests(self):
        server = self.serve("--parallel", "1", "--cache-slots", "6")
        prompts = ["%s upon a time there was a girl who liked the sun and the dog and the rain." % word for word in ("Once", "Twice", "Never", "Often")]
        cached = lambda: [server.ask(TEXT, {"prompt": p, "max_tokens": 2, "seed": 1})[1]["usage"]["prompt_tokens_details"]["cached_tokens"] for p in prompts]
        cached()
        self.assertGreater(min(cached()), 16)


class Files(Served):
    def test_a_full_disk_loses_nothing(self):
        folder = self.path("slots")
        os.mkdir(folder)
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))
        server = self.serve("--parallel", "2", "--slot-dir", folder, preexec_fn=limit)
        server.ask(TEXT, {"prompt": "Once upon a time", "max_tokens": 2})
        small = max(server.ask("/slots")[1], key=lambda s: s["n_tokens"])["id"]
        self.assertEqual(server.ask("/slots/%d/save" % small, {"filename": "one"})[0], 200)
        with open(os.path.join(folder, "one.slot"), "rb") as file:
            before = file.read()
        server.ask(TEXT, {"prompt": "Once upon a time there was a girl. " * 40, "max_tokens": 2})
        large = max(server.ask("/slots")[1], key=lambda s: s["n_tokens"])["id"]
        status, answer = server.ask("/slots/%d/save" % large, {"filename": "one"})
        self.assertEqual(status, 500)
        self.assertIn("cannot write the snapshot", answer["error"]["message"])
        self.assertEqual(os.listdir(folder), ["one.slot"])
        with open(os.path.join(folder, "one.slot"), "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(server.ask(TEXT, {"prompt": "Once upon a time", "max_tokens": 2})[0], 200)

    def damaged(self, good):
        """Snapshots of a slot with a fault at every step of reading, by name."""
        n_name = struct.unpack_from("<Q", good, 10)[0]
        n_codes = struct.unpack_from("<Q", good, 18 + n_name)[0]
        codes, end = 26 + n_name, 26 + n_name + 4 * n_codes  # the checksum of the head is at the end
        out = {"excess": good + b"x", "empty": b"", "head alone": good[:end + 8]}
        for i in range(1, 24):
            at = i * len(good) // 24
            out["cut at %d" % at] = good[:at]
            out["bit at %d" % at] = good[:at] + bytes([good[at] ^ 1]) + good[at + 1:]
        for name, changed in (("one token less", struct.pack("<Q", n_codes - 1) + good[codes:end - 4]),
                              ("another token", struct.pack("<Q", n_codes) + good[codes:end - 4] + struct.pack("<I", 2 * 300)),
                              ("no such token", struct.pack("<Q", n_codes) + good[codes:end - 4] + b"\xff\xff\xff\xff"),
                              ("no tokens", struct.pack("<Q", 0))):
            head = good[:codes - 8] + changed
            out[name] = head + struct.pack("<Q", head_hash(head)) + good[end + 8:]
        return out

    def test_a_refused_snapshot_ends_no_request(self):
        folder = self.path("slots")
        os.mkdir(folder)
        server = self.serve("--parallel", "3", "--cache-slots", "3", "--slot-dir", folder, "--api-key-file", self.path("keys", KEYS))
        first, second = of_key("first"), of_key("second")
        body = {"prompt": "The sun is up. " * 20, "max_tokens": 8, "temperature": 0}
        ask = lambda: server.ask(TEXT, body, headers=first)
        want = ask()[1]["choices"]
        act = lambda what: server.ask("/slots/%d/%s" % (max(server.ask("/slots", headers=first)[1], key=lambda s: s["n_tokens"])["id"], what), {"filename": "one"}, headers=first)
        self.assertEqual(act("save")[0], 200)
        path = os.path.join(folder, next(name for name in os.listdir(folder) if name.endswith(".slot")))
        with open(path, "rb") as file:
            good = file.read()
        long_body = {**LONG, "n": 2}
        alone = server.ask(CHAT, long_body, headers=second)[1]["choices"]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            neighbour = pool.submit(server.ask, CHAT, long_body, headers=second)
            for name, content in self.damaged(good).items():
                with self.subTest(name):
                    with open(path, "wb") as file:
                        file.write(content)
                    self.assertIn("snapshot", self.refused(400, "invalid_snapshot", act("restore")))
                    self.assertEqual([ask()[1].get("choices"), ask()[1].get("choices")], [want, want])
                    if neighbour.done():
                        self.assertEqual(neighbour.result()[1].get("choices"), alone)
                        neighbour = pool.submit(server.ask, CHAT, long_body, headers=second)
            self.assertEqual(neighbour.result()[1].get("choices"), alone)
        with open(path, "wb") as file:
            file.write(good)
        self.assertEqual(act("restore")[0], 200)
        self.assertEqual(ask()[1]["choices"], want)

    def test_a_model_that_is_replaced_goes_on_and_one_that_is_changed_does_not(self):
        path = self.path("model.gguf")
        shutil.copyfile(MODEL, path)
        server = self.serve(model=path)
        body = {"messages": STORY, "max_tokens": 8, "seed": 1}
        want = server.ask(CHAT, body)[1]["choices"]
        shutil.copyfile(MODEL, path + ".new")
        os.rename(path + ".new", path)
        self.assertEqual(server.ask(CHAT, body)[1]["choices"], want)
        self.assertTrue(server.ask("/props")[1]["file_replaced"])
        os.unlink(path)
        self.assertEqual(server.ask(CHAT, body)[1]["choices"], want)
        shutil.copyfile(MODEL, path)
        other = self.serve(model=path)
        with open(path, "r+b") as file:
            file.seek(1000)
            file.write(b"x")
        self.refused(503, "model_changed", other.ask(CHAT, body))
        self.assertEqual([other.ask("/health")[0], other.ask("/livez")[0]], [503, 200])

    def changed(self, change, *args, path=None, files=None):
        """Runs requests while the model's file changes. Returns the statuses, the errors of the stream and the server."""
        if path is None:
            path = self.path("model.gguf")
            shutil.copyfile(MODEL, path)
        server = self.serve("--embeddings", *args, model=path)
        server.want = server.ask(CHAT, {"messages": STORY, "max_tokens": 8, "seed": 1})[1]["choices"]
        stop = threading.Event()

        def embed():
            status = 200
            while status == 200 and not stop.is_set():
                status = server.ask("/v1/embeddings", {"input": ["The sun " * 60] * 20})[0]
            return status
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            embeds = pool.submit(embed)
            try:
                got = events(server.open(CHAT, {**LONG, "n": 4, "stream": True}))
                next(got)
                whole = pool.submit(server.ask, CHAT, {**LONG, "n": 4, "seed": 5})
                server.wait_for("running", 8)
                change(files or path)
                chunks = list(got)
                statuses = [whole.result()[0]]
            finally:
                stop.set()
            statuses.append(embeds.result())
        return statuses, [c["error"]["code"] for c in chunks if c != "[DONE]" and "error" in c], server

    def overwrite(self, path, at=None):
        size = os.path.getsize(path)
        with open(path, "r+b") as file:
            file.seek(size // 2 if at is None else at)
            byte = file.read(1)
            file.seek(-1, 1)
            file.write(bytes([byte[0] ^ 1]))

    def truncate(self, path, to=0):
        os.truncate(path, to)

    def refuses_all(self, server, errors):
        self.assertEqual(set(errors), {"model_changed"})
        self.refused(503, "model_changed", server.ask(CHAT, {"messages": STORY, "max_tokens": 2}))
        self.refused(503, "model_changed", server.ask("/v1/embeddings", {"input": "x"}))
        self.assertEqual([server.ask("/health")[0], server.ask("/livez")[0]], [503, 200])
        self.assertEqual(server.end(), 0)  # by a signal, and in order

    def test_requests_of_a_changed_model_end_with_an_error(self):
        for change in (self.overwrite, lambda path: self.overwrite(path, os.path.getsize(path) - 1)):
            statuses, errors, server = self.changed(change, "-t", "1", "--parallel", "8")
            self.assertEqual(statuses, [503, 503])
            self.refuses_all(server, errors)

    def test_a_truncated_model_ends_requests_and_not_the_server(self):
        for threads, to in (("1", 0), ("3", 0), ("3", 300000)):
            with self.subTest((threads, to)):
                statuses, errors, server = self.changed(lambda path, to=to: self.truncate(path, to), "-t", threads, "--parallel", "8")
                self.assertEqual(statuses, [503, 503])
                self.refuses_all(server, errors)

    def test_every_part_of_a_split_set_counts(self):
        self.ok("split", MODEL, self.path("part"), "--max-tensors", "8", "-q")
        parts = sorted(os.path.join(self.folder, name) for name in os.listdir(self.folder) if name.startswith("part-"))
        self.assertGreater(len(parts), 2)
        statuses, errors, server = self.changed(self.overwrite, "-t", "1", "--parallel", "8", path=parts[0], files=parts[-1])
        self.assertEqual(statuses, [503, 503])
        self.refuses_all(server, errors)

    def test_a_model_that_is_only_touched_goes_on(self):
        def touch(path):
            for change in (lambda: os.utime(path), lambda: os.utime(path, (5, 5)), lambda: os.chmod(path, 0o600), lambda: os.link(path, path + ".link")):
                change()
                time.sleep(0.02)
            with open(path, "r+b") as file:  # the same bytes
                content = file.read()
                file.seek(0)
                file.write(content)
        path = self.path("model.gguf")
        statuses, errors, server = self.changed(touch, "--parallel", "8")
        self.assertEqual((statuses, errors), ([200, 200], []))
        self.assertEqual(server.ask(CHAT, {"messages": STORY, "max_tokens": 8, "seed": 1})[1]["choices"], server.want)
        self.assertFalse(server.ask("/props")[1]["file_replaced"])
        self.overwrite(path)  # later changes count
        self.refused(503, "model_changed", server.ask(CHAT, {"messages": STORY}))

    def test_metrics_tell_the_memory_of_the_weights(self):
        for word, mapped in (("map", True), ("copy", False)):
            server = self.serve("--weights", word)
            counts = [server.metric(f"weights_{kind}_bytes") > 0 for kind in ("mapped", "copied")]
            self.assertEqual(counts, [mapped, not mapped])

    def test_weights_in_memory_do_not_change(self):
        for option, change in ((("--weights", "copy"), self.overwrite), (("--no-mmap",), self.truncate)):
            statuses, errors, server = self.changed(change, *option, "--parallel", "8")
            self.assertEqual((statuses, errors), ([200, 200], []))
            self.assertEqual(server.ask(CHAT, {"messages": STORY, "max_tokens": 8, "seed": 1})[1]["choices"], server.want)
            self.assertTrue(server.ask("/props")[1]["file_replaced"])
        self.assertIn("--weights", self.fails(2, "serve", MODEL, "--weights", "fast"))

    def test_the_log_is_opened_again(self):
        log = self.path("log")
        server = self.serve("--access-log", log)
        server.ask("/health")
        until(lambda: os.path.getsize(log) > 0)
        os.rename(log, log + ".1")
        server.process.send_signal(signal.SIGHUP)
        until(lambda: os.path.exists(log))
        server.ask("/livez")
        until(lambda: os.path.getsize(log) > 0)
        with open(log, encoding="utf-8") as new, open(log + ".1", encoding="utf-8") as old:
            self.assertEqual([json.loads(f.readline())["path"] for f in (old, new)], ["/health", "/livez"])

    def test_a_clock_that_jumps_changes_nothing(self):
        jump = os.environ.get("GGUFX_JUMP_CLOCK")
        if not jump:
            self.skipTest("no preloaded library in this build")
        server = self.serve("--parallel", "1", "--request-timeout", "600", env={"LD_PRELOAD": jump})
        body = {"messages": STORY, "max_tokens": 30, "seed": 1}
        first, second = server.ask(CHAT, body)[1], server.ask(CHAT, body)[1]
        self.assertGreater(abs(second["created"] - first["created"]), 1000)
        self.assertEqual(first["choices"], second["choices"])
        self.assertEqual(server.stream(CHAT, body)[-1], "[DONE]")
        held = server.connect()  # no connection is late by that clock
        time.sleep(0.1)
        held.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertIn(b" 200 ", held.recv(100))
        held.close()


def sip_hash(secret, data):
    """Returns SipHash-2-4 of the data."""
    mask = (1 << 64) - 1
    low, high = struct.unpack("<QQ", secret)
    a, b, c, d = low ^ 0x736f6d6570736575, high ^ 0x646f72616e646f6d, low ^ 0x6c7967656e657261, high ^ 0x7465646279746573

    def rounds(n):
        nonlocal a, b, c, d
        turned = lambda x, k: (x << k | x >> (64 - k)) & mask
        for _ in range(n):
            a, c = (a + b) & mask, (c + d) & mask
            b, d = turned(b, 13) ^ a, turned(d, 16) ^ c
            a, c = (turned(a, 32) + d) & mask, (c + b) & mask
            d, b = turned(d, 21) ^ a, turned(b, 17) ^ c
            c = turned(c, 32)
    for word, in struct.iter_unpack("<Q", data + bytes(-(len(data) + 1) % 8) + bytes([len(data) & 255])):
        d ^= word
        rounds(2)
        a ^= word
    c ^= 0xff
    rounds(4)
    return a ^ b ^ c ^ d


class Snapshots(Served):
    def setUp(self):
        super().setUp()
        self.slots = self.path("slots")
        os.mkdir(self.slots)

    def start(self, *args):
        return self.serve("--parallel", "1", "--slot-dir", self.slots, *args)

    def save(self, server, name, **options):
        return server.ask("/slots/0/save", {"filename": name}, **options)

    def delete(self, server, name, path="/slots/0", **options):
        return server.ask(path, {"filename": name}, method="DELETE", **options)

    def test_a_key_has_its_quota(self):
        server = self.start("--slot-quota", "1", "--api-key-file", self.path("keys", KEYS))
        key, other = of_key("first"), of_key("second")
        server.ask(TEXT, {"prompt": "Once upon a time there was a girl. " * 15, "max_tokens": 1}, headers=key)
        n_saved = 0
        while (answer := self.save(server, "n%d" % n_saved, headers=key))[0] == 200:
            n_saved += 1
        self.assertGreater(n_saved, 1)
        message = self.refused(403, "slot_quota", answer)
        self.assertIn("the limit is 1048576 (see --slot-quota of the server): delete one", message)
        size = sum(os.path.getsize(os.path.join(self.slots, name)) for name in os.listdir(self.slots) if name.endswith(".slot"))
        self.assertLessEqual(size, 1 << 20)
        self.assertEqual(self.save(server, "n0", headers=key)[0], 200)  # replaces one
        self.assertEqual(self.delete(server, "n1", headers=key), (200, {"filename": "n1", "deleted": True}))
        self.assertEqual(self.save(server, "n%d" % n_saved, headers=key)[0], 200)
        server.ask(TEXT, {"prompt": "Once upon a time there was a girl. " * 15, "max_tokens": 1}, headers=other)
        self.assertEqual(self.save(server, "n0", headers=other)[0], 200)
        self.assertEqual(self.delete(server, "n2", headers=other)[0], 404)

    def test_a_key_has_a_limit_of_files(self):
        server = self.start()
        server.ask(TEXT, {"prompt": "Once", "max_tokens": 1})
        for i in range(256):
            self.path("slots/%d.slot" % i, b"x")
        self.assertIn("257 snapshots, the limit is 256", self.refused(403, "slot_quota", self.save(server, "one")))
        self.assertEqual(self.save(server, "255")[0], 200)

    def test_a_snapshot_is_deleted(self):
        server = self.start()
        server.ask(TEXT, {"prompt": "Once", "max_tokens": 1})
        self.assertEqual(self.save(server, "one")[0], 200)
        self.refused(404, "unknown_snapshot", self.delete(server, "two"))
        self.refused(404, "unknown_slot", self.delete(server, "one", "/slots/7"))
        for path in ("/slots/0/save", "/slots/x", "/slots/", "/slots/0/"):
            self.assertEqual(self.delete(server, "one", path)[0], 404, path)
        for name in ("../one", ".", "", "a/b", None):
            self.assertEqual(self.delete(server, name)[0], 400, name)
        self.assertEqual(os.listdir(self.slots), ["one.slot"])
        self.assertEqual(self.delete(server, "one")[0], 200)
        self.assertEqual(os.listdir(self.slots), [])
        self.assertEqual(server.ask("/slots/0/restore", {"filename": "one"})[0], 404)

    def test_leftovers_are_deleted_at_the_start(self):
        kept = ["a.slot", "model.gguf.part", "notes"]
        for name in (*kept, "a.slot.part", "0123456789abcdef-b.slot.part", "names.key.0123.key.part"):
            self.path("slots/" + name, b"x")
        os.mkdir(os.path.join(self.slots, "c.slot.part"))
        with open(self.path("slots/d.slot.part", b"x"), "rb") as written:
            fcntl.flock(written, fcntl.LOCK_EX)  # by another server
            self.start()
        self.assertEqual(sorted(os.listdir(self.slots)), sorted([*kept, "c.slot.part", "d.slot.part"]))

    def test_names_of_files_hide_the_key(self):
        args = "--api-key-file", self.path("keys", KEYS)
        key = of_key("first")
        for _ in range(2):  # the name outlives the server
            server = self.start(*args)
            server.ask(TEXT, {"prompt": "Once", "max_tokens": 1}, headers=key)
            self.assertEqual(self.save(server, "one", headers=key)[0], 200)
            self.assertEqual(server.ask("/slots/0/restore", {"filename": "one"}, headers=key)[0], 200)
            self.assertEqual(server.end(), 0)
        path = os.path.join(self.slots, "names.key")
        with open(path, "rb") as file:
            secret = file.read()
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertEqual(sip_hash(bytes(range(16)), bytes(range(15))), 0xa129ca6149be45e5)  # of the reference
        name = "%016x-one.slot" % sip_hash(secret, b"first-key-0123456789")
        self.assertEqual(sorted(os.listdir(self.slots)), sorted([name, "names.key"]))
        os.chmod(path, 0o640)
        self.assertIn("other users may read the secret (mode 640, 600 is needed)", self.fails(1, "serve", MODEL, "--slot-dir", self.slots, *args))
        os.chmod(path, 0o600)
        for content in (b"", secret[:15], secret + b"x"):
            self.path("slots/names.key", content)
            self.assertIn("no secret of 16 bytes", self.fails(1, "serve", MODEL, "--slot-dir", self.slots, *args))
        os.unlink(path)
        os.symlink("one", path)
        self.assertIn("names.key", self.fails(1, "serve", MODEL, "--slot-dir", self.slots, *args))


class Shapes(Served):
    def test_mixtures_among_neighbours(self):
        """Experts see other columns with every concurrent request; windows and sinks have pages of their own."""
        for name in ("mixtral", "gpt-oss"):
            model = tool.tiny(name)
            bodies = [{"prompt": [(7 * i + k) % 300 for k in range(20 + 9 * i)], "max_tokens": 5 + i % 4, "seed": i, "logprobs": 1, "temperature": i % 2} for i in range(16)]
            single = self.serve("--parallel", "1", "--template", "chatml", model=model)
            want = [single.ask(TEXT, body)[1]["choices"] for body in bodies]
            server = self.serve("--parallel", "16", "--prompt-share", "1", "--template", "chatml", model=model)
            for _ in range(2):
                with concurrent.futures.ThreadPoolExecutor(16) as pool:
                    got = [answer["choices"] for _, answer in pool.map(lambda body: server.ask(TEXT, body), bodies)]
                self.assertEqual(got, want)


tool.main()
