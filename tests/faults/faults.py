#!/usr/bin/env python3
"""Deliberate faults, one by one: the test named with each must detect it.

A fault is an entry of series.txt: the file, text that occurs once there, its replacement, a test that then fails.
The copy has the committed files.

usage: tests/faults/faults.py FOLDER [NAME...]    (FOLDER: for a copy of the tree and its build)
SPDX-License-Identifier: MIT
"""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def series():
    """Yields (name, file, before, after, tests) of each entry: its lines are `name: value`, those of a text begin with
    `-` or `+`, and an empty line ends it."""
    for entry in (HERE / "series.txt").read_text().split("\n\n"):
        lines = [line for line in entry.splitlines() if not line.startswith("#")]
        if not lines:
            continue
        field = dict(line.split(": ", 1) for line in lines if line[0] not in "-+")
        before, after = ("\n".join(line[1:] for line in lines if line[0] == sign) for sign in "-+")
        yield field["fault"], field["file"], before, after, field["caught by"].split(", ")


def is_caught(build, tests):
    """Returns whether a test fails; a test that cannot be built or does not end detects nothing."""
    built = subprocess.run(["meson", "test", "-C", build, "--list"], capture_output=True)
    assert built.returncode == 0, built.stderr
    result = subprocess.run(["meson", "test", "-C", build, "--timeout-multiplier", "4", *tests],
                            capture_output=True, text=True)
    failed = [line for line in result.stdout.splitlines() if line.startswith("Fail:")]
    return bool(failed) and int(failed[0].split()[1]) > 0, result.stdout


def prepare(folder):
    tree, build = folder / "tree", folder / "build"
    folder.mkdir(parents=True, exist_ok=True)
    if not tree.exists():
        subprocess.run(["git", "clone", "-q", ROOT, tree], check=True)
        subprocess.run(["meson", "setup", "-Dbindings=disabled", build, tree], check=True)
    subprocess.run(["git", "-C", tree, "checkout", "-q", "."], check=True)
    subprocess.run(["ninja", "-C", build], check=True)
    return tree, build


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    wanted = sys.argv[2:]
    faults = [fault for fault in series() if not wanted or fault[0] in wanted]
    tree, build = prepare(pathlib.Path(sys.argv[1]).resolve())
    for name, file, before, after, tests in faults:  # without a fault they pass
        assert before != after and (tree / file).read_text().count(before) == 1, (name, file)
    clean, told = is_caught(build, sorted({test for fault in faults for test in fault[4]}))
    if clean:
        sys.exit("a test fails without a fault:\n" + told)
    survivors = []
    for name, file, before, after, tests in faults:
        path = tree / file
        text = path.read_text()
        path.write_text(text.replace(before, after))
        caught, told = is_caught(build, tests)
        print("%-9s %s (%s): %s" % ("caught" if caught else "SURVIVED", name, file, ", ".join(tests)),
              flush=True)
        if not caught:
            survivors.append(name)
            print(told[-2000:])
        path.write_text(text)
    print("deliberate faults: %d tried, %d survived" % (len(faults), len(survivors)))
    return 1 if survivors or not faults else 0


if __name__ == "__main__":
    sys.exit(main())
