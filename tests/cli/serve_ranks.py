# serve --group mpi: the bytes of a server of one process, for any sequence of requests; a lost rank ends all ranks, and
# is named.
# SPDX-License-Identifier: MIT
import os
import re
import signal
import time

import adapter_files
import tool
from mpi_job import mpi_environment, mpirun, ranks_of
from serve_case import STORY, Served, Server, events, text_of
from tool import MODEL

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
LONG = {"messages": STORY, "max_tokens": 400, "temperature": 0, "logit_bias": {"2": -100}}  # no end before
LOST = r"rank %d \(.*\) (did not answer within [57]\.0 s|is lost)"


class RankServer(Server):
    """A server of several ranks: signals go to the first one, as from a service manager without mpirun."""

    def __init__(self, n, *args, **options):
        before = mpirun(n, recovers=options.pop("recovers", False))
        super().__init__(*args, "--group", "mpi", "-t", "1", before=before, env=mpi_environment(), **options)
        self.ranks = ranks_of(self.process, "serve")

    def end(self, number=signal.SIGTERM, seconds=60):
        os.kill(self.ranks[0], number)
        try:
            return self.process.wait(seconds)
        finally:
            self.process.kill()

    def said_at_the_end(self):
        """Returns the tool's messages until all ranks have ended."""
        rest = self.process.stderr.read().decode()
        self.process.wait(20)
        return [line for line in rest.splitlines() if line.startswith("ggufx: ")]


def end(server):
    code = server.end() if server.process.poll() is None else 0
    rest = server.process.stderr.read().decode(errors="replace")
    server.process.stderr.close()
    if code != 0:
        raise AssertionError("the ranks ended with %d: %s%s" % (code, server.said, rest[-2000:]))


class Ranks(Served):
    def serve_ranks(self, n, *args, **options):
        server = RankServer(n, *args, **options)
        self.addCleanup(end, server)
        self.assertEqual(sorted(server.ranks), list(range(n)))
        return server

    def leave(self, server):
        """Disconnects a client in the middle of a stream; a short text may end before the server notices."""
        for _ in range(20):
            response = server.open(CHAT, {**LONG, "stream": True})
            next(events(response))
            response.close()
            server.wait_for("running", 0)
            if server.metric("cancelled_total") > 0:
                return
        self.fail("nobody was missed")

    def test_answers_are_those_of_one_process(self):
        bodies = self.requests(24, repeats=9)
        alone = self.serve("--parallel", "1")
        want = self.answers(alone, bodies, 1, 0)
        for n, *args in ((2, "--parallel", 4, "--prompt-share", 1), (3, "--parallel", 2, "--batch", 7, "--cache-slots", 2)):
            server = self.serve_ranks(n, *args)
            self.assertEqual(self.answers(server, bodies, 8, n), want)
            self.leave(server)
            self.assertEqual(self.answers(server, bodies, 8, n + 1), want)  # with cached prefixes
            self.assertGreater(server.metric("cached_tokens_total"), 0)
            self.assertEqual(server.ask("/props")[1]["system_fingerprint"], alone.ask("/props")[1]["system_fingerprint"])

    def test_ranks_with_whole_layers(self):
        bodies = self.requests(24, repeats=9)
        want = self.answers(self.serve("--parallel", "1"), bodies, 1, 0)
        server = self.serve_ranks(3, "--parallel", 4, "--pipeline")
        self.assertEqual(self.answers(server, bodies, 8, 3), want)
        self.assertEqual(self.answers(server, bodies, 8, 4), want)
        self.assertGreater(server.metric("cached_tokens_total"), 0)

    def test_files_of_ranks(self):
        bodies = self.requests(8, repeats=9)
        paths = self.json("split", MODEL, self.path("own"), "--ranks", 2)["outputs"]
        want = self.answers(self.serve("--parallel", "1"), bodies, 1, 0)
        self.assertEqual(self.answers(self.serve_ranks(2, "--parallel", "8", model=paths[1]), bodies, 8, 1), want)

    def test_tiles_and_small_caches_too(self):
        bodies = self.requests(8, repeats=9)
        args = ("--decode", "tiled", "--ctk", "q8_0", "--ctv", "gx4")
        want = self.answers(self.serve("--parallel", "1", *args), bodies, 1, 0)
        self.assertEqual(self.answers(self.serve_ranks(4, "--parallel", "8", *args), bodies, 8, 1), want)

    def test_scores_of_prompts(self):
        body = {"prompt": "Once upon a time there was a girl", "max_tokens": 4, "echo": True, "logprobs": 2, "seed": 1}
        want = self.serve().ask(TEXT, body)[1]["choices"]
        self.assertEqual(self.serve_ranks(2).ask(TEXT, body)[1]["choices"], want)

    def test_slots_are_saved_and_restored(self):
        """Ranks save tokens, whose caches are recomputed; the answers stay the same."""
        folder = self.path("slots")
        os.mkdir(folder)
        first = {"prompt": "Once upon a time there was a girl who liked the sun and the dog." * 2, "max_tokens": 2, "seed": 1}
        body = {**first, "max_tokens": 20, "logprobs": 1}
        alone = self.serve("--slot-dir", folder)
        alone.ask(TEXT, first)
        place = max(alone.ask("/slots")[1], key=lambda s: s["n_tokens"])["id"]
        self.assertEqual(alone.ask("/slots/%d/save" % place, {"filename": "one"})[0], 200)
        want = alone.ask(TEXT, body)[1]["choices"]
        server = self.serve_ranks(2, "--slot-dir", folder)
        message = self.refused(400, "invalid_snapshot", server.ask("/slots/0/restore", {"filename": "one"}))
        self.assertIn("is of one process", message)
        n_prompt = server.ask(TEXT, first)[1]["usage"]["prompt_tokens"]
        place = max(server.ask("/slots")[1], key=lambda s: s["n_tokens"])["id"]
        self.assertEqual(server.ask("/slots/%d/save" % place, {"filename": "two"})[0], 200)
        self.assertEqual(server.end(), 0)
        for other in (self.serve_ranks(3, "--slot-dir", folder), self.serve("--slot-dir", folder)):
            self.assertEqual(other.ask("/slots/1/restore", {"filename": "two"}), (200, {"id": 1, "n_tokens": n_prompt}))
            answer = other.ask(TEXT, body)[1]
            self.assertEqual(answer["choices"], want)
            self.assertEqual(answer["usage"]["prompt_tokens_details"]["cached_tokens"], n_prompt - 1)

    def test_sigterm_lets_texts_end(self):
        server = self.serve_ranks(2, "--parallel", "1", "--drain", "300")
        want = self.serve().ask(CHAT, LONG)[1]["choices"][0]["message"]["content"]
        response = server.open(CHAT, {**LONG, "stream": True})
        stream = events(response)
        chunks = [next(stream)]
        os.kill(server.ranks[1], signal.SIGTERM)  # the process manager may send it to all ranks: the first one decides
        os.kill(server.ranks[0], signal.SIGTERM)
        chunks += stream
        self.assertEqual(text_of(chunks)[:2], (want, "length"))
        self.assertEqual(server.process.wait(20), 0)
        self.assertFalse(any(os.path.exists("/proc/%d" % pid) for pid in server.ranks.values()))

    def lost(self, rank, number, busy):
        server = self.serve_ranks(3, "--ctx", 16384, recovers=True)
        self.assertEqual(server.ask(CHAT, {"messages": STORY, "max_tokens": 3})[0], 200)
        if busy:
            response = server.open(CHAT, {**LONG, "max_tokens": 100000, "stream": True})
            stream = events(response)
            next(stream)
        else:
            time.sleep(1.5)  # idle ranks have exchanged messages
        start = time.monotonic()
        os.kill(server.ranks[rank], number)
        if busy and rank != 0:
            chunks = list(stream)
            self.assertTrue(any("error" in chunk for chunk in chunks), chunks[-3:])
        said = server.said_at_the_end()
        self.assertLess(time.monotonic() - start, 10)
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said[0], LOST % rank)
        self.assertFalse(any(os.path.exists("/proc/%d" % pid) for pid in server.ranks.values()))

    def test_a_rank_that_is_killed_while_texts_come(self):
        self.lost(1, signal.SIGKILL, True)

    def test_a_rank_that_is_stopped_with_nothing_to_do(self):
        self.lost(2, signal.SIGSTOP, False)

    def test_the_first_rank_killed_with_nothing_to_do(self):
        self.lost(0, signal.SIGKILL, False)

    def test_who_waits_takes_little_processor_time(self):
        server = self.serve_ranks(2)
        server.ask(CHAT, {"messages": STORY, "max_tokens": 3})
        time.sleep(1)
        before = [tool.ticks(server.ranks[rank]) for rank in (0, 1)]
        time.sleep(3)
        share = min(0.06 * tool.STEP, 0.5)  # polling takes all of it; sanitizers poll more slowly
        for rank in (0, 1):
            self.assertLess(tool.ticks(server.ranks[rank]) - before[rank], share * 3 * os.sysconf("SC_CLK_TCK"), rank)

    def refused_at_start(self, code, *args):
        result = tool.subprocess.run([*mpirun(2), tool.TOOL, "serve", MODEL, "--port", "0", "-t", "1", "--group", "mpi", *args],
                                     stdin=tool.subprocess.DEVNULL, capture_output=True, env=mpi_environment(), timeout=60)
        said = [line for line in result.stderr.decode().splitlines() if line.startswith("ggufx: ")]
        if code:
            self.assertEqual(result.returncode, code, result.stderr)
        self.assertNotEqual(result.returncode, 0)
        return said

    def test_what_ranks_cannot_do_is_said(self):
        self.assertIn("--embeddings cannot be used with --group", self.fails(2, "serve", MODEL, "--group", "mpi", "--embeddings"))
        self.assertIn("standard input", self.fails(2, "serve", "-", "--group", "mpi"))
        self.assertIn("needs --group", self.fails(2, "serve", MODEL, "--weights", "1,2"))
        adapter = self.path("lora.gguf", adapter_files.lora())
        said = self.refused_at_start(0, "--lora", adapter)
        self.assertEqual(len(said), 1, said)
        self.assertTrue(said[0].endswith("models of a group do not support adapters"), said)
        said = self.refused_at_start(0, "--listen", "unix:" + self.path("no/folder"))
        self.assertEqual(len(said), 1, said)
        self.assertTrue(re.search("no/folder", said[0]), said)


tool.main()
