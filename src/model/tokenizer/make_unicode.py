#!/usr/bin/env python3
"""Writes unicode_tables.inc from the files of Debian's package unicode-data.

usage: make_unicode.py [FOLDER]      FOLDER: /usr/share/unicode; the table goes to standard output

Categories: two stages, blocks of 128 code points. Lower case: the simple mapping. Decompositions:
canonical, complete, without the marks (Mn) that stripping accents drops; Hangul is arithmetic.
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

LAST = 0x110000
BLOCK = 128
CATEGORIES = ("Cn Cc Cf Co Cs Lu Lt Ll Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So "
              "Zs Zl Zp").split()


def read_characters(folder):
    """Per code point: category number; simple lower case; canonical decomposition, one step."""
    category, lower, steps, first = [0] * LAST, {}, {}, None
    for line in (folder / "UnicodeData.txt").read_text().splitlines():
        fields = line.split(";")
        point, kind = int(fields[0], 16), CATEGORIES.index(fields[2])
        if fields[1].endswith(", First>"):
            first = point
        elif fields[1].endswith(", Last>"):
            for i in range(first, point + 1):
                category[i] = kind
        category[point] = kind
        if fields[13]:
            lower[point] = int(fields[13], 16)
        if fields[5] and not fields[5].startswith("<"):
            steps[point] = [int(part, 16) for part in fields[5].split()]
    return category, lower, steps


def decompose(point, steps):
    if point not in steps:
        return [point]
    return [end for part in steps[point] for end in decompose(part, steps)]


def lower_ranges(lower):
    """[first, last, step, delta]: runs of equal distance, every one or every other code point."""
    out = []
    for point in sorted(lower):
        delta = lower[point] - point
        if out:
            run = out[-1]
            gap = point - run[1]
            if run[3] == delta and gap <= 2 and run[2] in (0, gap):
                run[1], run[2] = point, gap
                continue
        out.append([point, point, 0, delta])
    return [(first, last, max(step, 1), delta) for first, last, step, delta in out]


def scripts(folder, name):
    ranges = []
    for line in (folder / "Scripts.txt").read_text().splitlines():
        found = re.match(r"(\w+)(?:\.\.(\w+))?\s*; " + name + r"\b", line)
        if found:
            ranges.append([int(found[1], 16), int(found[2] or found[1], 16)])
    out = []
    for first, last in sorted(ranges):
        if out and out[-1][1] + 1 == first:
            out[-1][1] = last
        else:
            out.append([first, last])
    return out


def version(folder):
    return re.match(r"# Scripts-([\d.]+)\.txt", (folder / "Scripts.txt").read_text())[1]


def rows(items, per_line):
    lines = [", ".join(items[i:i + per_line]) for i in range(0, len(items), per_line)]
    return ",\n".join("    " + line for line in lines) + ","


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode")
    category, lower, steps = read_characters(folder)
    blocks, stage = [], []
    for start in range(0, LAST, BLOCK):
        block = category[start:start + BLOCK]
        if block not in blocks:
            blocks.append(block)
        stage.append(blocks.index(block))
    places, parts = [], []
    for point in sorted(steps):
        kept = [p for p in decompose(point, steps) if CATEGORIES[category[p]] != "Mn"]
        places.append((point, len(parts), len(kept)))
        parts += kept
    pairs = [f"{{0x{a:x}, 0x{b:x}}}" for a, b in scripts(folder, "Han")]
    lowers = [f"{{0x{a:x}, 0x{b:x}, {c}, {d}}}" for a, b, c, d in lower_ranges(lower)]
    print(f"""// Made by make_unicode.py from Debian's unicode-data {version(folder)}; not edited by hand.
// SPDX-License-Identifier: MIT
// clang-format off
constexpr char kUnicodeVersion[] = "{version(folder)}";
constexpr uint8_t kStage[{len(stage)}] = {{
{rows([str(i) for i in stage], 24)}
}};
constexpr uint8_t kCategories[{len(blocks)}][{BLOCK}] = {{""")
    for block in blocks:
        lines = [",".join(str(i) for i in block[i:i + 32]) for i in range(0, BLOCK, 32)]
        print("    {" + ",\n     ".join(lines) + "},")
    print(f"""}};
constexpr LowerRange kLower[{len(lowers)}] = {{
{rows(lowers, 3)}
}};
constexpr Decomposition kDecompositions[{len(places)}] = {{
{rows([f"{{0x{p:x}, {at}, {n}}}" for p, at, n in places], 4)}
}};
constexpr uint32_t kParts[{len(parts)}] = {{
{rows([f"0x{p:x}" for p in parts], 10)}
}};
constexpr CodeRange kHan[{len(pairs)}] = {{
{rows(pairs, 4)}
}};""")
    assert len(blocks) < 256 and len(parts) < 65536


main()
