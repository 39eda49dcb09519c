"""Host environments that surroundings.c cannot set up itself: locales of Germany and Turkey, a clock that jumps,
closed standard streams, few descriptors, and a seccomp profile from the list in docs/embedding.md.

usage: surroundings.py PAGE SURROUNDINGS MODEL WORK_FOLDER [TOOL]     (GGUFX_JUMP_CLOCK: ../cli/jump_clock.c, built)
SPDX-License-Identifier: MIT
"""
import itertools
import os
import re
import resource
import subprocess
import sys

import public

PAGE, PROGRAM, MODEL, WORK, *TOOL = sys.argv[1:]
LOCALES = ("de_DE", "tr_TR")
SOURCES = "/usr/share/i18n/locales"  # in Debian's package locales
faults, checked = [], 0


def run(name, command, **options):
    global checked
    checked += 1
    options["env"] = {**os.environ, **options.get("env", {})}
    options.setdefault("stdin", subprocess.DEVNULL)
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, **options)
    if result.returncode:
        faults.append("%s: exit %d: %s" % (name, result.returncode, result.stderr.decode(errors="replace")))
    return result.stdout


def locales():
    os.makedirs(WORK, exist_ok=True)
    for name in LOCALES:
        subprocess.run(["localedef", "-i", name, "-f", "UTF-8", os.path.join(WORK, name + ".UTF-8")], check=True)
    names = [name + ".UTF-8" for name in LOCALES]
    run("locales", [PROGRAM, "locales", MODEL, *names], env={"LOCPATH": WORK})
    for tool, arguments in itertools.product(TOOL, (["info", MODEL, "--json"], ["info", MODEL], ["types"])):
        want = run("the tool", [tool, *arguments], env={"LC_ALL": "C.UTF-8"})
        for name in names:
            if run("the tool in " + name, [tool, *arguments], env={"LOCPATH": WORK, "LC_ALL": name}) != want:
                faults.append("%s writes something else in %s" % (arguments, name))


def closed(descriptors):
    def close_them():
        for descriptor in descriptors:
            os.close(descriptor)
    return close_them


def system_calls():
    with open(PAGE, encoding="utf-8") as file:
        found = re.search(r"^A profile of seccomp[^:]*:\n\n(.*?)\n\n", file.read(), re.S | re.M)
    if not found:
        sys.exit("docs/embedding.md has no list of system calls")
    names = re.findall(r"`(\w+)`", found[1])
    run("seccomp", [PROGRAM, "seccomp", MODEL, *names])
    without = [name for name in names if name != "pread64"]  # to test that the filter is active
    if subprocess.run([PROGRAM, "seccomp", MODEL, *without], stderr=subprocess.PIPE).returncode == 0:
        faults.append("a list without pread64 suffices, too")


is_whole = all(os.path.exists(os.path.join(SOURCES, name)) for name in LOCALES)
if is_whole:
    locales()
for n in range(1, 4):
    for descriptors in itertools.combinations(range(3), n):
        run("without descriptors %s" % (descriptors,), [PROGRAM, "here", MODEL], preexec_fn=closed(descriptors))
if os.environ.get("GGUFX_JUMP_CLOCK"):
    run("a clock that jumps", [PROGRAM, "here", MODEL], env={"LD_PRELOAD": os.environ["GGUFX_JUMP_CLOCK"]})
run("24 descriptors", [PROGRAM, "here", MODEL],
    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24)))
if os.uname().machine == "x86_64":
    system_calls()
if not faults and not is_whole:
    print("skipped: no sources of locales (Debian: locales)")
    sys.exit(77)
public.finish("surroundings", faults, checked)
