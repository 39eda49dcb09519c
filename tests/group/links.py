#!/usr/bin/env python3
# Added time of a network link per token, compared with the estimate of `fit --nodes`. Two machines as network
# namespaces, a rank of one thread and one processor each, and between them a link with a delay and a rate (relay.c).
# Alternates between no link and each link, with tensor and pipeline parallelism; medians of the differences within a
# turn. With another build, alternates between both for a prompt instead. As root, with a C compiler, on an otherwise
# idle machine.
# usage: tests/group/links.py BUILD_FOLDER MODEL [TURNS [OTHER_BUILD_FOLDER [PROMPT_TOKENS]]]
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
OTHER = os.path.abspath(sys.argv[4]) if len(sys.argv) > 4 else None
N_PROMPT = int(sys.argv[5]) if len(sys.argv) > 5 else 512
FOLDER = os.path.dirname(os.path.abspath(__file__))
N_TOKENS = 24
# Delay in us, rate in bytes per second, bytes of a packet.
LINKS = {"none": (0, 0, 9000), "1 Gbit/s, 1 ms": (1000, 125e6, 1500), "10 Gbit/s, 0.1 ms": (100, 1.25e9, 9000)}
WAYS = {"rows": (), "layers": ("--pipeline",)}


def rate_of(folder, agent, link, build, test, asked, late_us=0):
    """Returns the tokens per second of a test of `bench model`, by two ranks over a link."""
    delay, rate, packet = link
    relay = subprocess.Popen([os.path.join(folder, "relay"), *two_machines.HOSTS, str(delay), str(rate), str(late_us)], stdout=subprocess.PIPE)
    try:
        if relay.stdout.readline() != b"ready\n":
            sys.exit("no relay")
        two_machines.address("data", two_machines.DATA)
        for host in two_machines.HOSTS:
            two_machines.ip("-n", host, "link", "set", "data", "mtu", str(packet))
        # Each rank has its own processor: both machines are this one, and would start at the first.
        bound = "exec taskset -c $OMPI_COMM_WORLD_RANK \"$@\""
        process = two_machines.mpirun(build, agent, "--bind-to", "none", "sh", "-c", bound, "x", os.path.join(build, "ggufx"), "bench",
                                      "model", MODEL, *asked, "-r", "1", "-t", "1", "--group", "mpi", "--json")
        said, errors = process.communicate(timeout=300)
        rows = [json.loads(line) for line in said.splitlines() if line.startswith(b"{")]
        rates = [row["tps"] for row in rows if row["test"] == test]
        if len(rates) != 1:
            sys.exit(f"no figure: {said!r} {errors.decode()}")
        return rates[0]
    finally:
        relay.kill()
        relay.wait()


def token_ms(folder, agent, link, way):
    asked = ["--prompt-tokens", "16", "-n", str(N_TOKENS), *WAYS[way]]
    return 1000 / rate_of(folder, agent, link, BUILD, f"tg{N_TOKENS}", asked)


def prompt_ms(folder, agent, link, build):
    # The relay leaves the processors to the ranks, which use all of them while they compute.
    asked = ["--prompt-tokens", str(N_PROMPT), "-n", "0"]
    return 1000 * N_PROMPT / rate_of(folder, agent, link, build, f"pp{N_PROMPT}", asked, late_us=link[0] / 10)


def as_is(way):
    fit = [os.path.join(BUILD, "ggufx"), "fit", MODEL, "--nodes", "2", "--link", "1g", "--ctx", "64", "--json", *WAYS[way]]
    return json.loads(subprocess.run(fit, check=True, stdout=subprocess.PIPE).stdout)["candidates"][0]


def in_turns(measure, kinds):
    """Calls measure(folder, agent, link, kind) for each link and kind, TURNS times; returns lists by (name of the link,
    kind)."""
    took = {(name, kind): [] for name in LINKS for kind in kinds}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cc", "-O2", "-o", os.path.join(folder, "relay"), os.path.join(FOLDER, "relay.c")], check=True)
        agent = two_machines.write_agent(folder)
        try:
            two_machines.make()
            for _ in range(TURNS):
                for name, kind in took:
                    took[name, kind].append(measure(folder, agent, LINKS[name], kind))
        finally:
            two_machines.unmake()
    return took


def listed(took):
    return " ".join(f"{t:.2f}" for t in took)


def compare_prompts():
    took = in_turns(prompt_ms, (OTHER, BUILD))
    for name in LINKS:
        other, own = took[name, OTHER], took[name, BUILD]
        ratio = statistics.median(b / a for a, b in zip(other, own))
        print(f"{name}, {N_PROMPT} tokens: {listed(other)} ms by the other build, {listed(own)} by this one: {ratio:.3f}")


def measure_tokens():
    took = in_turns(token_ms, WAYS)
    for way in WAYS:
        paper = as_is(way)
        print(f"{way}: {paper['messages']} messages, {paper['received_bytes']} bytes a token")
        for name, (delay, rate, _) in LINKS.items():
            print(f"  {name}: {listed(took[name, way])} ms a token")
            if not rate:
                continue
            added = statistics.median(with_link - none for with_link, none in zip(took[name, way], took["none", way]))
            model = paper["messages"] * delay / 1e3 + paper["received_bytes"] / rate * 1e3
            print(f"      added {added:.2f} ms, of paper {model:.2f} ms, ratio {added / model:.3f}")


compare_prompts() if OTHER else measure_tokens()
