#!/usr/bin/env python3
# Two machines, as network namespaces with two cables between them, one of mpirun and one of the ranks:
# the same text over TCP as by one process; where the cable of the ranks is cut all end within 10 s, and
# each says whom it misses. As root, with iproute2 and Open MPI; waits for half a minute.
# usage: tests/group/cable.py BUILD_FOLDER
# SPDX-License-Identifier: MIT
import os
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
TOOL = os.path.join(BUILD, "ggufx")
MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "tiny-stories-Q8_0.gguf")
HOSTS = [f"gg{os.getpid() % 100000}{side}" for side in "ab"]
CONTROL, DATA = "10.97.1", "10.97.2"
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "LD_LIBRARY_PATH": os.path.join(BUILD, "src", "plugins", "mpi")}
n_checked = 0
faults = []


def check(holds, text):
    global n_checked
    n_checked += 1
    if not holds:
        faults.append(text)


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def connect():
    for host in HOSTS:
        ip("netns", "add", host)
        ip("-n", host, "link", "set", "lo", "up")
        os.makedirs(f"/etc/netns/{host}", exist_ok=True)
        with open(f"/etc/netns/{host}/hosts", "w") as file:
            file.write("127.0.0.1 localhost\n" + "".join(f"{CONTROL}.{i + 1} {name}\n" for i, name in enumerate(HOSTS)))
    for cable, network in (("control", CONTROL), ("data", DATA)):
        ip("link", "add", cable, "netns", HOSTS[0], "type", "veth", "peer", "name", cable, "netns", HOSTS[1])
        for i, host in enumerate(HOSTS):
            ip("-n", host, "addr", "add", f"{network}.{i + 1}/24", "dev", cable)
            ip("-n", host, "link", "set", cable, "up")


def disconnect():
    for host in HOSTS:
        subprocess.run(["ip", "netns", "del", host])
        subprocess.run(["rm", "-rf", f"/etc/netns/{host}"])


# What mpirun starts a daemon by, in place of ssh: HOST COMMAND...
AGENT = """#!/bin/sh
host=$1; shift
exec ip netns exec "$host" unshare -u sh -c "hostname $host; $*"
"""


def started(agent, *words):
    mpirun = ["mpirun", "--enable-recovery", "--mca", "plm_rsh_agent", agent, "--mca", "oob_tcp_if_include", CONTROL + ".0/24",
              "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", DATA + ".0/24",
              "-H", ",".join(f"{host}:1" for host in HOSTS), "-np", "2", "-x", "LD_LIBRARY_PATH",
              TOOL, "run", MODEL, "-p", "Once upon", "-t", "1", "--group", "mpi", *words]
    return subprocess.Popen(["ip", "netns", "exec", HOSTS[0], "unshare", "-u", "sh", "-c", f'hostname {HOSTS[0]}; exec "$@"',
                             "x", *mpirun], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=ENVIRONMENT)


def same_text(agent):
    words = ("-n", "40", "--temp", "0", "--json")
    said, _ = started(agent, *words).communicate(timeout=120)
    alone = subprocess.run([TOOL, "run", MODEL, "-p", "Once upon", "-t", "1", *words], stdout=subprocess.PIPE, check=True)
    check(said.replace(b"\r", b"") == alone.stdout and said.count(b"\n") == 40, f"other text over TCP: {said[:200]}")


def cut_cable(agent):
    process = started(agent, "-n", "100000", "--ctx", "131072", "--grammar", "root ::= [a-z ]{60000,65000}")
    try:
        check(len(process.stdout.read(40)) == 40, "no text came")
        ip("-n", HOSTS[0], "link", "set", "data", "down")
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
        agent = os.path.join(folder, "agent")
        with open(agent, "w") as file:
            file.write(AGENT)
        os.chmod(agent, 0o755)
        try:
            connect()
            same_text(agent)
            cut_cable(agent)
        finally:
            disconnect()
    for fault in faults:
        print("FAIL:", fault)
    print(f"cable: {n_checked} checked, {len(faults)} faults")
    return 1 if faults or n_checked != 4 else 0


sys.exit(main())
