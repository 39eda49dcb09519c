"""All kinds of work in one process, for 20 minutes. A server answers chats, completions, streams whose clients
disconnect, invalid requests, and snapshots of its slots. Inside of it (../host/long_run.c) every public function,
quantization, edits and sessions run in rounds, each with the results of the first round. Each minute all work
pauses, and memory, heap, descriptors, threads and mappings of the process are recorded. They must stay level.

usage: long_run.py BUILD [--minutes N] [--leak memory|descriptors]     (no suite; for a build without sanitizers)
--leak leaks in each round, so the run has to fail.
SPDX-License-Identifier: MIT
"""
import argparse
import mmap
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

parser = argparse.ArgumentParser()
parser.add_argument("build")
parser.add_argument("--minutes", type=float, default=20)
parser.add_argument("--pause", type=float, default=60, help="seconds between two looks at a process that rests")
parser.add_argument("--leak", choices=("memory", "descriptors"), default="")
options = parser.parse_args()
build = os.path.abspath(options.build)
os.environ["GGUFX_TOOL"] = os.path.join(build, "ggufx")

from serve_case import STORY, Server  # noqa: E402 (it asks for the tool)
from tool import MODEL  # noqa: E402

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
KINDS = ("everything, 1 thread", "everything, 2 threads", "quantize and edit", "models and snapshots")
SCHEMA = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}, "n": {"type": "integer"}},
          "required": ["name", "n"], "additionalProperties": False}


class Shared:
    """The counters of ../host/long_run.c."""

    def __init__(self, path):
        with open(path, "wb") as file:
            file.write(bytes(4096))
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 4096)

    def numbers(self):
        pause, running, heap, *rounds = struct.unpack_from("<%dQ" % (3 + len(KINDS)), self.memory)
        return pause, running, heap, rounds

    def pause(self, yes):
        struct.pack_into("<Q", self.memory, 0, yes)


class Clients:
    """Threads that send requests, each in its own order, until they are paused."""

    def __init__(self, server, n):
        self.server, self.n_asked, self.faults, self.answers = server, 0, [], {}
        self.go, self.lock, self.busy = threading.Event(), threading.Lock(), 0
        self.go.set()
        self.thawed, self.n_cut = 0.0, 0
        threading.Thread(target=self.watch, daemon=True).start()
        for i in range(n):
            threading.Thread(target=self.work, args=(random.Random(i),), daemon=True).start()

    def watch(self):
        """Detects stalls of the machine longer than the server's deadlines, which close connections."""
        before = time.monotonic()
        while True:
            time.sleep(0.5)
            now = time.monotonic()
            if now - before > 10:
                self.thawed = now
            before = now

    def ask(self, rng):
        server, kind, seed = self.server, rng.randrange(9), rng.randrange(50)
        body = {"messages": STORY, "max_tokens": rng.randrange(1, 40), "seed": seed}
        if kind == 0:
            status, _ = server.ask(CHAT, {**body, "n": rng.randrange(1, 4), "logprobs": True, "top_logprobs": 3})
        elif kind == 1:
            status = 200 if server.stream(CHAT, body)[-1] == "[DONE]" else 0
        elif kind == 2:  # disconnects
            with server.open(CHAT, {**body, "max_tokens": 300, "stream": True}) as response:
                status = response.status
                response.read(rng.randrange(1, 2000))
        elif kind == 3:
            prompt = "The dog and the sun. " * rng.randrange(1, 20)
            status, answer = server.ask(TEXT, {"prompt": prompt, "max_tokens": 8, "seed": seed})
            if status == 200 and self.answers.setdefault((prompt, seed), answer["choices"]) != answer["choices"]:
                self.faults.append("another answer to the same request")
        elif kind == 4:
            status, _ = server.ask(CHAT, {**body, "max_tokens": 60, "response_format": {
                "type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}})
        elif kind == 5:
            status, _ = server.ask("/v1/embeddings", {"input": ["a dog", "the sun " * rng.randrange(1, 30)]})
        elif kind == 6:
            status, _ = server.ask(CHAT, {**body, "temperature": -1})
            status = 200 if status == 400 else status
        elif kind == 7:
            status, _ = server.ask("/tokenize", {"content": "Once upon a time " * rng.randrange(100)})
        else:  # a slot that is in use, or was never used, is refused
            number, verb = rng.randrange(4), rng.choice(("save", "restore"))
            status, _ = server.ask("/slots/%d/%s" % (number, verb), {"filename": "s%d" % rng.randrange(3)})
            status = 200 if status in (400, 404, 503) else status
        if status not in (200, 429):
            self.faults.append("kind %d: status %d" % (kind, status))

    def work(self, rng):
        while True:
            self.go.wait()
            with self.lock:
                self.busy += 1
            try:
                if self.go.is_set():
                    self.ask(rng)
            except Exception as error:  # any exception fails the run
                time.sleep(1)
                if time.monotonic() - self.thawed < 5:
                    self.n_cut += 1
                else:
                    self.faults.append(repr(error))
            with self.lock:
                self.busy -= 1
                self.n_asked += 1


def look(pid):
    """Returns KiB of memory and of its peak, descriptors, threads, mappings."""
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        status = dict(line.split(":", 1) for line in file)
    with open("/proc/%d/maps" % pid, encoding="ascii") as file:
        n_maps = len(file.readlines())
    return {"rss": int(status["VmRSS"].split()[0]), "descriptors": len(os.listdir("/proc/%d/fd" % pid)),
            "threads": int(status["Threads"]), "mappings": n_maps}


def wait(check, what, seconds=120):
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            sys.exit("waited in vain: " + what)
        time.sleep(0.05)


def rest(shared, clients, server):
    """Returns the resources of the idle process."""
    clients.go.clear()
    shared.pause(1)
    wait(lambda: clients.busy == 0 and shared.numbers()[1] == 0, "for all to rest")
    time.sleep(2.5)  # connections close, memory is released
    seen = {**look(server.process.pid), "heap": shared.numbers()[2] // 1024}
    shared.pause(0)
    clients.go.set()
    return seen


def level(rests, name, slack):
    """Returns whether the last third of the values after the warm-up, a fifth of the run, is like the first third."""
    values = [seen[name] for seen in rests[len(rests) // 5:]]
    third = max(1, len(values) // 3)
    early, late = statistics.median(values[:third]), statistics.median(values[-third:])
    print("%-12s early %8.0f, late %8.0f" % (name, early, late))
    return late <= early + slack(early)


def run(folder, server, shared):
    clients, rests, loads = Clients(server, 6), [], []
    begin = next_rest = time.monotonic()
    next_rest += options.pause
    while (now := time.monotonic()) < begin + 60 * options.minutes:
        if server.process.poll() is not None:
            sys.exit("the process ended: %s" % server.process.stderr.read().decode(errors="replace"))
        loads.append(look(server.process.pid))
        if now >= next_rest:
            rests.append(rest(shared, clients, server))
            next_rest = time.monotonic() + options.pause
            rounds = shared.numbers()[3]
            print("%5.1f min  at rest %s  rounds %s  requests %d" % (
                (now - begin) / 60, " ".join("%s %d" % pair for pair in rests[-1].items()),
                "/".join(map(str, rounds)), clients.n_asked), flush=True)
        time.sleep(1)
    print("under load: at most %d KiB, %d descriptors, %d threads" % tuple(
        max(seen[name] for seen in loads) for name in ("rss", "descriptors", "threads")))
    rounds = shared.numbers()[3]
    if clients.n_cut:
        print("%d requests were cut where the machine stood still" % clients.n_cut)
    faults = clients.faults[:5]
    if len(rests) < 6:
        faults.append("%d looks are too few" % len(rests))
    faults += ["no round of " + kind for kind, n in zip(KINDS, rounds) if n < 2]
    slacks = {"rss": lambda early: 4096 + early * 0.02, "heap": lambda early: 1024, "descriptors": lambda early: 0,
              "threads": lambda early: 0, "mappings": lambda early: 16}
    faults += [name + " grows" for name, slack in slacks.items() if not level(rests, name, slack)]
    return faults


def main():
    subprocess.run(["ninja", "-C", build, "-j2", "ggufx", "tests/cli/long_run.so"], check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory(prefix="ggufx-long-") as folder:
        shared = Shared(os.path.join(folder, "state"))
        slots = os.path.join(folder, "slots")
        os.mkdir(slots)
        server = Server("--parallel", "4", "--embeddings", "--slots", "--slot-dir", slots, env={
            "LD_PRELOAD": os.path.join(build, "tests/cli/long_run.so"), "LONG_RUN_STATE": os.path.join(folder, "state"),
            "LONG_RUN_MODEL": MODEL, "LONG_RUN_FOLDER": folder, "LONG_RUN_LEAK": options.leak,
            "MIMALLOC_PURGE_DELAY": "0", "MIMALLOC_RESET_DELAY": "0"})
        server.checks = False  # the suites compare answers with the OpenAPI description
        try:
            faults = run(folder, server, shared)
        finally:
            server.process.kill()
            server.process.wait()
    print("\n".join(faults) or "level")
    sys.exit(1 if faults else 0)


main()
