"""Every system call that reads, maps or changes a file fails in turn, within a run through every public function.

Callers do not notice an interrupted call (EINTR), a call that moves a part of its bytes, or a failed close,
because written data were synced before. Any other error is a status with its number, and later calls work:
surroundings.c checks that. A lock held by another process is STATE.

usage: calls.py SURROUNDINGS MODEL    (GGUFX_FAIL_CALL: ../cli/fail_call.c, built)
SPDX-License-Identifier: MIT
"""
import errno
import os
import subprocess
import sys
import tempfile

import public

PROGRAM, MODEL = sys.argv[1:3]
STEP = max(1, int(os.environ.get("GGUFX_TEST_STEP", "1")))
FEWER = 16 if os.environ.get("GGUFX_TEST_CALLS") == "all" else 5
# Calls by the library; those on the run's own temporary files are not counted.
KINDS = ("read", "map", "stat", "write", "sync", "truncate", "rename", "link", "open", "lock", "release")
# Errors, one for each call in turn.
TURNS = {"write": (errno.EDQUOT, errno.EFBIG), "open": (errno.EIO, errno.EMFILE), "lock": (errno.EIO, errno.EWOULDBLOCK),
         "release": (errno.EIO, errno.ENOSPC)}
SHORT = -1
# A disk would delay each of some hundred runs, and only the calls matter here.
FOLDER = {} if "TMPDIR" in os.environ or not os.access("/dev/shm", os.W_OK) else {"TMPDIR": "/dev/shm"}


def run(**variables):
    env = {**os.environ, **FOLDER, "LD_PRELOAD": os.environ["GGUFX_FAIL_CALL"], **{k: str(v) for k, v in variables.items()}}
    return subprocess.run([PROGRAM, "calls", MODEL], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, timeout=300)


def count(kind):
    """Returns the number of calls in the first of the program's three runs."""
    with tempfile.NamedTemporaryFile() as told:
        result = run(FAIL_CALLS=kind, FAIL_COUNT=told.name)
        if result.returncode:
            sys.exit(result.stderr.decode())
        with open(told.name, encoding="ascii") as file:
            return int(file.read()) // 3


def check(kind, at, error):
    result = run(FAIL_CALLS=kind, FAIL_AT=at, FAIL_ERROR=error)
    place = "%s %d, %s" % (kind, at, "short" if error == SHORT else errno.errorcode[error])
    told = result.stdout.decode(errors="replace").split()
    if result.returncode:
        return "%s: exit %d: %s" % (place, result.returncode, (result.stderr or result.stdout).decode(errors="replace"))
    # A record of a job's log is a single write, because other shards may write, too: a short write means a full disk.
    if error == SHORT and told[0] == "IO" and "write a log" in " ".join(told) and int(told[-1]) == errno.ENOSPC:
        return None
    if (error in (SHORT, errno.EINTR) or kind == "release") and told[0] != "OK":
        return "%s: %s" % (place, result.stdout.decode(errors="replace"))
    if kind == "lock" and error == errno.EWOULDBLOCK and told[0] == "STATE":
        return None
    # No failure if there is a fallback (a file that cannot be mapped is read).
    if told[0] != "OK" and int(told[-1]) != error:
        return "%s: another error is told: %s" % (place, result.stdout.decode(errors="replace"))
    return None


faults, checked, failed = [], 0, 0
for kind in KINDS:
    errors = [errno.EIO, errno.ENOSPC if kind in ("write", "truncate") else errno.EACCES]
    if kind in ("read", "write"):
        errors += [errno.EINTR, SHORT]
    if kind in ("open", "lock", "release"):
        errors = [errno.EINTR]
    n_calls = count(kind)
    print("%s: %d calls" % (kind, n_calls), flush=True)
    if kind != "link" and not n_calls:
        faults.append("%s: no call" % kind)
    at = 1
    while at <= n_calls:
        turns = TURNS.get(kind)
        for error in errors + ([turns[at % len(turns)]] if turns else []):
            checked += 1
            fault = check(kind, at, error)
            if fault:
                faults.append(fault)
        at += STEP * (1 + at // FEWER)  # sparser steps in long loops
public.finish("failing system calls", faults, checked)
