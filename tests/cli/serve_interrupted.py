# serve is killed while it writes the snapshot of a slot, or a call fails. The old file or the new one exists, complete,
# and the next server reads it and writes another.
# SPDX-License-Identifier: MIT
import errno
import http.client
import os
import random
import signal
import time
import unittest

import tool
from serve_case import Served, Server

TEXT = "/v1/completions"
LIBRARY = os.environ.get("GGUFX_FAIL_CALL", "")
KILLS = int(os.environ.get("GGUFX_TEST_KILLS", "6"))  # at random moments
STORY = {"prompt": "Once upon a time there was a girl who liked the sun and the dog.", "max_tokens": 2, "seed": 1}
LONGER = {**STORY, "prompt": STORY["prompt"] * 6}
FILE = "one.slot"


@unittest.skipUnless(LIBRARY and not tool.WRAPPER, "no library to make calls fail")
class Interrupted(Served):
    def setUp(self):
        super().setUp()
        self.slots = self.path("slots")
        os.mkdir(self.slots)
        server = self.start()
        self.old, self.new = self.made(server, STORY), self.made(server, LONGER)
        self.assertNotEqual(self.old, self.new)
        self.assertEqual(self.end(server), 0)

    def start(self, **variables):
        return Server("--parallel", "2", "--slot-dir", self.slots, "-t", "1", env=variables)

    def end(self, server):
        code = server.end()
        server.process.stderr.close()
        return code

    def save(self, server, body):
        """Returns the status of a snapshot of the slot that has this text."""
        self.assertEqual(server.ask(TEXT, body)[0], 200)
        slot = max(server.ask("/slots")[1], key=lambda s: s["n_tokens"])["id"]
        return server.ask("/slots/%d/save" % slot, {"filename": "one"})[0]

    def content(self):
        with open(os.path.join(self.slots, FILE), "rb") as file:
            return file.read()

    def made(self, server, body):
        self.assertEqual(self.save(server, body), 200)
        return self.content()

    def put_old(self):
        for name in os.listdir(self.slots):
            os.unlink(os.path.join(self.slots, name))
        with open(os.path.join(self.slots, FILE), "wb") as file:
            file.write(self.old)

    def goes_on(self, place):
        """Starts a server afterwards: the file is the old or the new one and loads, and a new one is written."""
        self.assertIn(self.content(), (self.old, self.new), place)
        server = self.start()
        self.assertEqual(server.ask("/slots/1/restore", {"filename": "one"})[0], 200, place)
        self.assertEqual(self.save(server, LONGER), 200, place)
        self.assertEqual(self.content(), self.new, place)
        self.assertEqual(self.end(server), 0, place)
        self.assertEqual(os.listdir(self.slots), [FILE], place)

    def attempt(self, **variables):
        """Returns the status of a save in a server whose calls fail, None if it was killed; also its exit code."""
        server = status = None
        try:
            server = self.start(LD_PRELOAD=LIBRARY, **variables)
            status = self.save(server, LONGER)
        except (OSError, http.client.HTTPException, ValueError, AssertionError):
            pass  # killed before it listened, or during an answer
        return (status, self.end(server)) if server else (None, -signal.SIGKILL)

    def each_call(self, error):
        """Fails the k-th call that creates, syncs or renames a file, until k is larger than the number of calls."""
        calls = {"FAIL_CALLS": "sync rename unlink link truncate", "FAIL_ERROR": str(error)}
        seen, at = [], 1
        while at < 40:
            self.put_old()
            count = self.path("count")
            status, code = self.attempt(FAIL_AT=str(at), FAIL_COUNT=count, **calls)
            seen.append((status, code))
            yield at, status, code
            if os.path.exists(count):
                with open(count, encoding="ascii") as file:
                    n_calls = int(file.read())
                os.unlink(count)
                if at > n_calls:
                    return
            at += 1
        self.fail("the calls have no end: %s" % seen)

    def test_each_call_fails(self):
        failed = 0
        for at, status, code in self.each_call(errno.EIO):
            self.assertEqual(code, 0, at)
            self.assertIn(status, (200, 500), at)
            self.assertEqual(self.content(), self.new if status == 200 else self.old, at)
            self.assertEqual(os.listdir(self.slots), [FILE], at)
            failed += status == 500
        self.assertGreaterEqual(failed, 2)  # the sync and the rename
        self.goes_on("after all")

    def test_killed_before_each_call(self):
        killed = 0
        for at, _, code in self.each_call(0):
            self.assertIn(code, (0, -signal.SIGKILL), at)
            killed += code != 0
            self.goes_on("killed before call %d" % at)
        self.assertGreaterEqual(killed, 2)

    def test_killed_at_moments(self):
        rng, seen = random.Random(9), set()
        for i in range(KILLS):
            self.put_old()
            server = self.start()
            self.assertEqual(server.ask(TEXT, LONGER)[0], 200)
            slot = max(server.ask("/slots")[1], key=lambda s: s["n_tokens"])["id"]
            with server.connect() as at:
                body = b'{"filename": "one"}'
                head = "POST /slots/%d/save HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                at.sendall((head % (slot, len(body))).encode() + body)
                time.sleep(rng.uniform(0, 0.006))
                server.process.kill()
            self.assertEqual(server.process.wait(20), -signal.SIGKILL)
            server.process.stderr.close()
            seen.add(self.content())
            self.goes_on("after kill %d" % i)
        if KILLS >= 100:
            self.assertEqual(seen, {self.old, self.new})


tool.main()
