# Two machines, as network namespaces, with addresses for mpirun and for messages between the ranks. As root, with
# iproute2 and Open MPI.
# SPDX-License-Identifier: MIT
import os
import subprocess

HOSTS = [f"gg{os.getpid() % 100000}{side}" for side in "ab"]
CONTROL, DATA = "10.97.1", "10.97.2"  # networks of mpirun, and of the ranks by devices "data"

# mpirun's command to start a daemon, in place of ssh: HOST COMMAND...
AGENT = """#!/bin/sh
host=$1; shift
exec ip netns exec "$host" unshare -u sh -c "hostname $host; $*"
"""


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def make():
    for host in HOSTS:
        ip("netns", "add", host)
        ip("-n", host, "link", "set", "lo", "up")
        os.makedirs(f"/etc/netns/{host}", exist_ok=True)
        with open(f"/etc/netns/{host}/hosts", "w") as file:
            file.write("127.0.0.1 localhost\n" + "".join(f"{CONTROL}.{i + 1} {name}\n" for i, name in enumerate(HOSTS)))
    cable("control")
    address("control", CONTROL)


def cable(name):
    ip("link", "add", name, "netns", HOSTS[0], "type", "veth", "peer", "name", name, "netns", HOSTS[1])


def address(device, network):
    for i, host in enumerate(HOSTS):
        ip("-n", host, "addr", "add", f"{network}.{i + 1}/24", "dev", device)
        ip("-n", host, "link", "set", device, "up")


def unmake():
    for host in HOSTS:
        subprocess.run(["ip", "netns", "del", host])
        subprocess.run(["rm", "-rf", f"/etc/netns/{host}"])


def write_agent(folder):
    agent = os.path.join(folder, "agent")
    with open(agent, "w") as file:
        file.write(AGENT)
    os.chmod(agent, 0o755)
    return agent


def mpirun(build, agent, *command):
    """Runs the tool with a rank on each of them."""
    words = ["mpirun", "--enable-recovery", "--mca", "plm_rsh_agent", agent, "--mca", "oob_tcp_if_include", CONTROL + ".0/24",
             "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", DATA + ".0/24",
             "-H", ",".join(f"{host}:1" for host in HOSTS), "-np", "2", "-x", "LD_LIBRARY_PATH", *command]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "LD_LIBRARY_PATH": os.path.join(build, "src", "plugins", "mpi")}
    return subprocess.Popen(["ip", "netns", "exec", HOSTS[0], "unshare", "-u", "sh", "-c", f'hostname {HOSTS[0]}; exec "$@"',
                             "x", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=environment)
