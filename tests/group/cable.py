#!/usr/bin/env python3
# Two machines, as network namespaces with two links between them, one for mpirun and one for the ranks. The output over
# TCP equals that of one process. If the ranks' link is cut, all ranks end within 10 s, and each names the missing one.
# As root; takes half a minute.
# usage: tests/group/cable.py BUILD_FOLDER
# SPDX-License-Identifier: MIT
import os
import subprocess
import sys
import tempfile
import time

import two_machines
from two_machines import HOSTS

BUILD = os.path.abspath(sys.argv[1])
TOOL = os.path.join(BUILD, "ggufx")
MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "tiny-stories-Q8_0.gguf")
n_checked = 0
faults = []


def check(holds, text):
    global n_checked
    n_checked += 1
    if not holds:
        faults.append(text)


def started(agent, *words):
    return two_machines.mpirun(BUILD, agent, TOOL, "run", MODEL, "-p", "Once upon", "-t", "1", "--group", "mpi", *words)


def same_text(agent):
    words = ("-n", "40", "--temp", "0", "--json")
    said, _ = started(agent, *words).communicate(timeout=120)
    alone = subprocess.run([TOOL, "run", MODEL, "-p", "Once upon", "-t", "1", *words], stdout=subprocess.PIPE, check=True)
    check(said.replace(b"\r", b"") == alone.stdout and said.count(b"\n") == 40, f"other text over TCP: {said[:200]}")


def cut_cable(agent):
    process = started(agent, "-n", "100000", "--ctx", "131072", "--grammar", "root ::= [a-z ]{60000,65000}")
    try:
        check(len(process.stdout.read(40)) == 40, "no text came")
        two_machines.ip("-n", HOSTS[0], "link", "set", "data", "down")
        start = time.monotonic()
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    told = sorted(line for line in errors.decode().splitlines() if line.startswith("ggufx: "))
    wanted = [f"ggufx: rank {i} ({HOSTS[i]}) did not answer within 7.0 s" for i in (0, 1)]
    check(told == wanted, f"told: {told}")
    check(time.monotonic() - start < 10, f"it took {time.monotonic() - start:.1f} s")


def main():
    with tempfile.TemporaryDirectory() as folder:
        agent = two_machines.write_agent(folder)
        try:
            two_machines.make()
            two_machines.cable("data")
            two_machines.address("data", two_machines.DATA)
            same_text(agent)
            cut_cable(agent)
        finally:
            two_machines.unmake()
    for fault in faults:
        print("FAIL:", fault)
    print(f"cable: {n_checked} checked, {len(faults)} faults")
    return 1 if faults or n_checked != 4 else 0


sys.exit(main())
