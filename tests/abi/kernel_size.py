"""The kernels stay small, and each format is implemented once: lines of code of src/kernels, by family. Blank lines
and comment-only lines do not count.

usage: kernel_size.py SOURCE_ROOT
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

import public

# Family: prefixes of its files' names, largest number of lines. src/kernels/README.md describes them.
FAMILIES = {
    "pages": (("kv", "vbmi_kv"), 3900),
    "encoders": (("encode", "quant_vec"), 4300),
    "row steps": (("row",), 960),
    "products": (("",), 6270),
}
MOST_PER_FORMAT = 20  # in loops/unpack, average over the formats with codes
MOST_PER_FILE = 280
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
    faults, totals, unpack, homes = [], dict.fromkeys(FAMILIES, 0), 0, {}
    for path in sorted(kernels.rglob("*.[ch]pp")):
        lines = code_lines(path)
        totals[next(f for f, (names, _) in FAMILIES.items() if path.name.startswith(names))] += len(lines)
        if len(lines) > MOST_PER_FILE:
            faults.append(f"{path.relative_to(source)}: {len(lines)} lines, {MOST_PER_FILE} at most")
        if path.parent.name == "unpack":
            unpack += len(lines)
        for name in re.findall(r"\bstruct Unpack<fmt::(\w+)>", "\n".join(lines)):
            if not path.name.startswith("vbmi_"):  # a set's layer for n = 1..3
                homes.setdefault(name, []).append(path.relative_to(source).as_posix())
    for family, (_, most) in FAMILIES.items():
        if totals[family] > most:
            faults.append(f"{family}: {totals[family]} lines of code, {most} at most")
    if unpack > MOST_PER_FORMAT * len(formats):
        faults.append(f"loops/unpack: {unpack} lines for {len(formats)} formats")
    for name in formats:
        if len(homes.get(name, [])) != 1:
            faults.append(f"{name}: unpacked in {homes.get(name, [])}, not in one place")
    public.finish(f"lines of kernel code ({sum(totals.values())}), formats", faults, len(formats))


main()
