"""Dumps every sample file through the public interface and compares with its expected dump.

Reads MADE/formats/gguf-golden of make_files.py, and $GGUFX_TEST_DATA/formats/gguf-golden if it exists.

usage: golden.py DUMP_PROGRAM MADE/files.txt [some]   (some: each n-th, GGUFX_TEST_STEP)
SPDX-License-Identifier: MIT
"""
import hashlib
import json
import os
import shlex
import subprocess
import sys

from data_folders import data_folders

TYPES = ["u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "str", "arr", "u64", "i64", "f64"]
ELEMENT_BYTES = {"f32": 4, "f16": 2, "f64": 8, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "bf16": 2}
# Complete directories without their data, which allow metadata-only opens.
HEADS = ("bad_no_data.gguf", "bad_data_truncated.gguf")
EMULATOR = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))  # in a cross build


def flat(value):
    """Converts an expected value to the program's form: integers, float bits, hexadecimal strings."""
    if isinstance(value, list):
        return [flat(v) for v in value]
    if isinstance(value, dict) and "bits" in value:
        return int(value["bits"], 16)
    if isinstance(value, dict) and "values" in value:
        return flat_elements(value["elem"], value["values"])
    return int(value)


def text(value):
    if isinstance(value, dict):
        return value["hex"]
    return value.encode("utf-8").hex()


def flat_elements(kind, values):
    return [text(v) if kind == "str" else flat(v) for v in values]


def differences(got, want, data):
    """Yields the differences between a dump and the expected one."""
    for field in ("version", "alignment", "meta_end", "data_offset", "file_size"):
        if got[field] != want[field]:
            yield "%s: %s, expected %s" % (field, got[field], want[field])
    if got["big_endian"] != (want["endian"] == "big"):
        yield "byte order"
    if len(got["kv"]) != len(want["kv"]) or len(got["tensors"]) != len(want["tensors"]):
        yield "counts of keys or tensors"
        return
    for g, w in zip(got["kv"], want["kv"]):
        value = text(w["value"]) if w["type"] == "str" else flat(w["value"])
        if g["key"] != text(w["key"]) or TYPES[g["type"]] != w["type"] or g["value"] != value:
            yield "key %s: %r, expected %r" % (w["key"], g, w)
        if w["type"] == "arr" and (TYPES[g["element"]] != w["value"]["elem"]
                                   or g["count"] != w["value"]["n"]):
            yield "key %s: array type or count" % w["key"]
    for g, w in zip(got["tensors"], want["tensors"]):
        for field in ("type_id", "ne", "offset", "abs_offset", "nbytes"):
            if g[field] != w[field]:
                yield "tensor %s: %s %s, expected %s" % (w["name"], field, g[field], w[field])
        if g["name"] != text(w["name"]) or g["type"].lower() != w["type"].lower():
            yield "tensor %s: name or type" % w["name"]
        if w["complete"] and not same_data(g, w, want["endian"] == "big", data):
            yield "tensor %s: data" % w["name"]


def same_data(got, want, big_endian, data):
    stored = data[want["abs_offset"]:want["abs_offset"] + want["nbytes"]]
    if hashlib.sha256(stored).hexdigest() != want["sha256"]:
        raise SystemExit("the sample itself is damaged")
    if big_endian:  # in memory all data are little-endian
        n = ELEMENT_BYTES[want["type"]]
        stored = b"".join(stored[i:i + n][::-1] for i in range(0, len(stored), n))
    return bytes.fromhex(got["data"]) == stored


def run(program, flags, path):
    done = subprocess.run([*EMULATOR, program, "x" + flags, path], capture_output=True)
    if done.returncode not in (0, 1) or done.stderr:
        raise SystemExit("%s %s: exit %d %s" % (flags, path, done.returncode, done.stderr[:2000]))
    return json.loads(done.stdout) if done.returncode == 0 else done.stdout.decode("utf-8", "replace")


def check_accepted(program, path, expected):
    want = json.load(open(expected, encoding="utf-8"))
    with open(path, "rb") as file:
        data = file.read()
    header_only = bool(want["tensors"]) and want["file_size"] == want["data_offset"]
    for flags in ("s1m",) if header_only else ("s1", "s1r", "s1m"):
        got = run(program, flags, path)
        if isinstance(got, str):
            yield "[%s] refused: %s" % (flags, got.strip())
            continue
        if "m" in flags:
            for tensor in want["tensors"]:
                tensor["complete"] = False  # no data in a metadata-only open
        for line in differences(got, want, data):
            yield "[%s] %s" % (flags, line)
    if header_only and not isinstance(run(program, "s1", path), str):
        yield "a file without its data was accepted"


def check_folder(program, folder, step):
    """Returns the number of files, and the number of wrong ones."""
    failures = n = 0
    for entry in json.load(open(os.path.join(folder, "index.json"), encoding="utf-8"))["files"][::step]:
        name = entry["file"]
        path = os.path.join(folder, name)
        lines = []
        if entry.get("expected"):
            lines = list(check_accepted(program, path, os.path.join(folder, entry["expected"])))
        elif name.endswith(".gguf"):
            refused = name.startswith("bad_") and name != "bad_nested_array.gguf"
            for flags in ("", "r", "m"):
                bad = refused and not (flags == "m" and name in HEADS)
                if isinstance(run(program, flags, path), str) != bad:
                    lines.append("[%s] must be %s" % (flags, "refused" if bad else "accepted"))
            strict = isinstance(run(program, "S", path), str)
            wanted = entry["strict"] if "strict" in entry else entry["verdicts"]["gguf_cpp_with_data"]
            if strict != (wanted == "reject") and name != "bad_overflow_dims.gguf":
                lines.append("strict differs from ggml's reader")
        n += 1
        failures += bool(lines)
        for line in lines:
            print("%s: %s" % (name, line))
    return n, failures


def main():
    step = int(os.environ.get("GGUFX_TEST_STEP", 1)) if sys.argv[3:] else 1
    folders = data_folders(sys.argv[2], "formats", "gguf-golden")
    results = [check_folder(sys.argv[1], folder, step) for folder in folders]
    n, failures = map(sum, zip(*results))
    print("%d files of %d folders, %d wrong" % (n, len(results), failures))
    return 1 if failures or n * step < 30 else 0


sys.exit(main())
