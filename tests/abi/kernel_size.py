"""The kernels stay small, and a format stands once: code of src/kernels without KV pages and
encoders. A line counts unless it is blank or nothing but a comment.

usage: kernel_size.py SOURCE_ROOT
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

import public

MOST_LINES = 5000     # all of it; src/kernels/README.md says what is in it
MOST_PER_FORMAT = 20  # of loops/unpack, on the average of the formats with codes
MOST_PER_FILE = 260
NOT_COUNTED = ("kv", "vbmi_kv", "encode", "quant_vec")  # beginnings of file names
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def code_lines(path):
    text = COMMENT.sub("", path.read_text(encoding="utf-8"))
    return [line for line in map(str.strip, text.splitlines())
            if line and not line.startswith("//")]


def main():
    source = pathlib.Path(sys.argv[1], "src")
    kernels = source / "kernels"
    formats = re.findall(r"^X\((\w+),.*\bQuantized\b", (source / "formats/formats.def").read_text(
        encoding="utf-8"), re.M)
    faults, total, unpack, homes = [], 0, 0, {}
    for path in sorted(kernels.rglob("*.[ch]pp")):
        if path.name.startswith(NOT_COUNTED):
            continue
        lines = code_lines(path)
        total += len(lines)
        if len(lines) > MOST_PER_FILE:
            faults.append(f"{path.relative_to(source)}: {len(lines)} lines, {MOST_PER_FILE} at most")
        if path.parent.name == "unpack":
            unpack += len(lines)
        for name in re.findall(r"\bstruct Unpack<fmt::(\w+)>", "\n".join(lines)):
            if not path.name.startswith("vbmi_"):  # a set's layer for n = 1..3
                homes.setdefault(name, []).append(path.relative_to(source).as_posix())
    if total > MOST_LINES:
        faults.append(f"{total} lines of code, {MOST_LINES} at most")
    if unpack > MOST_PER_FORMAT * len(formats):
        faults.append(f"loops/unpack: {unpack} lines for {len(formats)} formats")
    for name in formats:
        if len(homes.get(name, [])) != 1:
            faults.append(f"{name}: unpacked in {homes.get(name, [])}, not in one place")
    public.finish(f"lines of kernel code ({total}), formats", faults, len(formats))


main()
