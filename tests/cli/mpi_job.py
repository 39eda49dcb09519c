# Jobs of mpirun, for the tests of ranks.
# SPDX-License-Identifier: MIT
import os

from tool import environment

# As root, in a container without ssh, where a process must not read another's memory.
MPI = dict(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_plm_rsh_agent="sh",
           OMPI_MCA_btl_vader_single_copy_mechanism="none")
RANK = "OMPI_COMM_WORLD_RANK"


def mpi_environment(**extra):
    return environment(**MPI, **extra)


def mpirun(n, *command, recovers=False):
    flags = ["--enable-recovery"] if recovers else []
    return ["mpirun", "--oversubscribe", *flags, "-np", str(n), *map(str, command)]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def ranks_of(process, verb):
    """Returns the processes of a job of the tool, by their ranks."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            parent = int(read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[1])
            if parent == process.pid and b"\0%s\0" % verb.encode() in read(f"/proc/{pid}/cmdline"):
                rank = read(f"/proc/{pid}/environ").partition(b"\0%s=" % RANK.encode())[2].partition(b"\0")[0]
                found[int(rank)] = int(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has ended
    return found
