"""Reads, writes and reads again every sample file: the same keys, tensors and data, and the same bytes each time. If
the source has ggml's layout, the output equals the source byte for byte.

usage: rewrite.py DUMP_PROGRAM REWRITE_PROGRAM MADE/files.txt [some]   (as golden.py)
SPDX-License-Identifier: MIT
"""
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

from data_folders import data_folders

EMULATOR = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))  # in a cross build


def run(*command):
    done = subprocess.run([*EMULATOR, *map(str, command)], capture_output=True)
    if done.returncode not in (0, 1) or done.stderr:
        raise SystemExit("%s: exit %d %s" % (command, done.returncode, done.stderr[:2000]))
    return done.returncode == 0, done.stdout.decode("utf-8", "replace")


def dump(program, flags, path):
    ok, text = run(program, flags, path)
    return json.loads(text) if ok else None


def contents(dumped):
    """Returns the contents that must not change, independent of their position in the file."""
    return {"big_endian": dumped["big_endian"], "alignment": dumped["alignment"],
            "kv": dumped["kv"],
            "tensors": [{k: v for k, v in t.items() if "offset" not in k}
                        for t in dumped["tensors"]]}


def nested(dumped):
    return any(key["element"] == 9 for key in dumped["kv"])


def check(dump_program, rewrite_program, path, out):
    before = dump(dump_program, "s1", path)
    if before is None:
        return None
    copies = [out / "first.gguf", out / "second.gguf"]
    for copy in copies:
        ok, text = run(rewrite_program, "s1", path, copy)
        if not ok:
            return ["refused: " + text.strip()]
    faults = []
    data = [copy.read_bytes() for copy in copies]
    if data[0] != data[1]:
        faults.append("the second copy has other bytes")
    after = dump(dump_program, "s", copies[0])
    if after is None:
        return ["the copy cannot be read: " + run(dump_program, "s", copies[0])[1]]
    if contents(after) != contents(before):
        faults.append("the copy has other contents")
    if after["version"] != max(before["version"], 2) and before["version"] != 1:
        faults.append("version %d" % after["version"])
    # Strict readers accept copies of files that they accept, and such files are copied byte for byte.
    if not before["big_endian"] and not nested(before) and not dump(dump_program, "sS", copies[0]):
        faults.append("strict mode refuses the copy")
    if dump(dump_program, "sS", path) and before["tensors"]:
        if not path.read_bytes().startswith(data[0]):  # more than the file: bytes follow the data
            faults.append("other bytes than the source")
    return faults


def main():
    failures = n = 0
    step = int(os.environ.get("GGUFX_TEST_STEP", 1)) if sys.argv[4:] else 1
    folders = data_folders(sys.argv[3], "formats", "gguf-golden")
    paths = [path for folder in folders for path in sorted(pathlib.Path(folder).glob("*.gguf"))]
    with tempfile.TemporaryDirectory() as out:
        for path in paths[::step]:
            faults = check(sys.argv[1], sys.argv[2], path, pathlib.Path(out))
            if faults is None:
                continue  # not a readable file
            n += 1
            failures += bool(faults)
            for fault in faults:
                print("%s: %s" % (path.name, fault))
    print("%d files, %d wrong" % (n, failures))
    return 1 if failures or n * step < 15 else 0


sys.exit(main())
