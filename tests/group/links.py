#!/usr/bin/env python3
# What a link adds to a token, beside what `fit --nodes` says of it: two machines as network namespaces, a
# rank of one thread and one processor each, and between them a cable with a delay and a rate (relay.c). In
# turns with none and with each link; medians of what differs within a turn. As root, with a C compiler, on a machine that does nothing else.
# usage: tests/group/links.py BUILD_FOLDER MODEL [TURNS]
# SPDX-License-Identifier: MIT
import json
import os
import statistics
import subprocess
import sys
import tempfile

import two_machines

BUILD, MODEL = os.path.abspath(sys.argv[1]), sys.argv[2]
TURNS = int(sys.argv[3]) if len(sys.argv) > 3 else 5
TOOL = os.path.join(BUILD, "ggufx")
FOLDER = os.path.dirname(os.path.abspath(__file__))
N_TOKENS = 24
# Delay in us, rate in bytes per second, bytes of a packet.
LINKS = {"none": (0, 0, 9000), "1 Gbit/s, 1 ms": (1000, 125e6, 1500), "10 Gbit/s, 0.1 ms": (100, 1.25e9, 9000)}


def token_ms(folder, agent, link):
    delay, rate, packet = link
    relay = subprocess.Popen([os.path.join(folder, "relay"), *two_machines.HOSTS, str(delay), str(rate)], stdout=subprocess.PIPE)
    try:
        if relay.stdout.readline() != b"ready\n":
            sys.exit("no relay")
        two_machines.address("data", two_machines.DATA)
        for host in two_machines.HOSTS:
            two_machines.ip("-n", host, "link", "set", "data", "mtu", str(packet))
        # Each rank its own processor: both machines are this one, and would begin with the first.
        bound = "exec taskset -c $OMPI_COMM_WORLD_RANK \"$@\""
        process = two_machines.mpirun(BUILD, agent, "--bind-to", "none", "sh", "-c", bound, "x", TOOL, "bench", "model", MODEL,
                                      "--prompt-tokens", "16", "-n", str(N_TOKENS), "-r", "1", "-t", "1", "--group", "mpi", "--json")
        said, errors = process.communicate(timeout=300)
        rows = [json.loads(line) for line in said.splitlines() if line.startswith(b"{")]
        rates = [row["tps"] for row in rows if row["test"] == f"tg{N_TOKENS}"]
        if len(rates) != 1:
            sys.exit(f"no figure: {said!r} {errors.decode()}")
        return 1000 / rates[0]
    finally:
        relay.kill()
        relay.wait()


def main():
    fit = json.loads(subprocess.run([TOOL, "fit", MODEL, "--nodes", "2", "--link", "1g", "--ctx", "64", "--json"],
                                    check=True, stdout=subprocess.PIPE).stdout)
    as_is = fit["candidates"][0]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cc", "-O2", "-o", os.path.join(folder, "relay"), os.path.join(FOLDER, "relay.c")], check=True)
        agent = two_machines.write_agent(folder)
        took = {name: [] for name in LINKS}
        try:
            two_machines.make()
            for _ in range(TURNS):
                for name, link in LINKS.items():
                    took[name].append(token_ms(folder, agent, link))
        finally:
            two_machines.unmake()
    print(f"{as_is['messages']} messages, {as_is['received_bytes']} bytes a token")
    for name, (delay, rate, _) in LINKS.items():
        print(f"{name}: " + " ".join(f"{t:.2f}" for t in took[name]) + " ms a token")
        if not rate:
            continue
        added = statistics.median(with_link - none for with_link, none in zip(took[name], took["none"]))
        model = as_is["messages"] * delay / 1e3 + as_is["received_bytes"] / rate * 1e3
        print(f"    added {added:.2f} ms, of paper {model:.2f} ms, ratio {added / model:.3f}")


main()
