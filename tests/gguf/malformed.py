"""Opens every hostile file in six ways; verdict, error class, offset and heap must be as expected.

Reads MADE/data/malformed of make_files.py, and $GGUFX_TEST_DATA/data/malformed if it exists.

usage: malformed.py REPLAY_PROGRAM MADE/files.txt
SPDX-License-Identifier: MIT
"""
import json
import os
import shlex
import subprocess
import sys

from data_folders import codes_of, data_folders

HEAP_LIMIT = 16 << 20  # bytes, for a metadata-only open
EMULATOR = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))  # in a cross build


def fault(case, way, status, offset):
    """Returns the fault of a case's result, or None."""
    accepted = status == "OK"
    codes = codes_of(case)
    expect = case["expect"]
    # Without its data a file may end anywhere after its directory, as in ggml.
    if accepted and way.endswith("-meta") and "BOUNDS" in codes and \
            (case.get("meta_only") or case["ggml_aug2026"]["meta_only"]) == "accept":
        return None
    if expect == "accept" or expect.startswith("open_ok_model"):
        return None if accepted else "must be accepted"
    if accepted:
        return "must be refused" if expect == "reject" else None
    if status not in codes:
        return "error class must be %s" % "|".join(codes)
    if case["error_offset"] is not None and offset != case["error_offset"]:
        return "error offset must be %d" % case["error_offset"]
    return None


def cases_of(folder):
    """Returns {path: case} of a folder."""
    with open(os.path.join(folder, "expected.json"), encoding="utf-8") as file:
        return {os.path.join(folder, case["file"]): case for case in json.load(file)["cases"]}


def main():
    folders = data_folders(sys.argv[2], "data", "malformed")
    by_path = {}
    for folder in folders:
        by_path |= cases_of(folder)
    done = subprocess.run([*EMULATOR, sys.argv[1], *by_path], capture_output=True, text=True)
    if done.returncode != 0 or done.stderr:
        print(done.stderr[-4000:])
        print("the program ended with %d" % done.returncode)
        return 1
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    wrong, peak = 0, 0
    for path, way, status, offset, heap in lines:
        case = by_path[path]
        if way.endswith("-meta"):
            peak = max(peak, int(heap))
        says = fault(case, way, status, int(offset))
        if not says and way.endswith("-meta") and int(heap) > HEAP_LIMIT:
            says = "took %s bytes of heap" % heap
        if says:
            wrong += 1
            print("%s [%s]: %s, got %s at %s" % (case["name"], way, says, status, offset))
    if len(by_path) < 200 or len(lines) != 6 * len(by_path):
        print("%d lines for %d files" % (len(lines), len(by_path)))
        wrong += 1
    print("%d files in 6 ways, %d wrong, at most %d bytes of heap for metadata"
          % (len(by_path), wrong, peak))
    return 1 if wrong else 0


sys.exit(main())
