#!/usr/bin/env python3
"""Writes unicode_tables.inc from the files of Debian's package unicode-data.

usage: make_unicode.py [FOLDER]      FOLDER: /usr/share/unicode; the table goes to standard output

Categories: three-stage table; most blocks of 32 code points, and most rows of blocks, recur.
Cases: the simple mappings as runs (title case only where it differs from upper case), and mappings
to several characters (SpecialCasing without conditions).
Decompositions: canonical, complete, without the marks (Mn) that stripping accents drops; Hangul is
computed. They are runs of code points with equally many parts. Other properties: only code points that do not follow from the category.
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

LAST = 0x110000
BLOCK, ROW = 32, 32  # code points of a block, blocks of a row
CATEGORIES = ("Cn Cc Cf Co Cs Lu Lt Ll Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So "
              "Zs Zl Zp").split()
LOWER, UPPER, TITLE = 13, 12, 14  # fields of UnicodeData.txt


def read_characters(folder):
    """Per code point: category; simple cases by field; canonical decomposition, one step."""
    category, cases, steps, first = ["Cn"] * LAST, {LOWER: {}, UPPER: {}, TITLE: {}}, {}, None
    for line in (folder / "UnicodeData.txt").read_text().splitlines():
        fields = line.split(";")
        point, kind = int(fields[0], 16), fields[2]
        if fields[1].endswith(", First>"):
            first = point
        elif fields[1].endswith(", Last>"):
            for i in range(first, point + 1):
                category[i] = kind
        category[point] = kind
        for field, mapping in cases.items():
            if fields[field]:
                mapping[point] = int(fields[field], 16)
        if fields[5] and not fields[5].startswith("<"):
            steps[point] = [int(part, 16) for part in fields[5].split()]
    return category, cases, steps


def read_several(folder):
    """{code point: code points} of lower, title and upper case, for mappings to several of them."""
    out = {}, {}, {}
    for line in (folder / "SpecialCasing.txt").read_text().splitlines():
        fields = [field.strip() for field in line.partition("#")[0].split(";")]
        if len(fields) == 5:  # without a condition
            for mapping, text in zip(out, fields[1:4]):
                if len(text.split()) > 1:
                    mapping[int(fields[0], 16)] = [int(part, 16) for part in text.split()]
    return out


def read_property(path, name):
    """Code points with a property, or with a value of one."""
    points = set()
    for line in path.read_text().splitlines():
        found = re.match(r"(\w+)(?:\.\.(\w+))?\s*; " + name + r"\b", line)
        if found:
            points |= set(range(int(found[1], 16), int(found[2] or found[1], 16) + 1))
    return points


def decompose(point, steps):
    if point not in steps:
        return [point]
    return [end for part in steps[point] for end in decompose(part, steps)]


def case_ranges(mapping):
    """[first, last, step, delta]: runs of equal delta, every code point or every other one."""
    out = []
    for point in sorted(mapping):
        delta = mapping[point] - point
        if out:
            run = out[-1]
            gap = point - run[1]
            if run[3] == delta and gap <= 2 and run[2] in (0, gap):
                run[1], run[2] = point, gap
                continue
        out.append([point, point, 0, delta])
    return [(first, last, max(step, 1), delta) for first, last, step, delta in out]


def ranges(points):
    out = []
    for point in sorted(points):
        if out and out[-1][1] + 1 == point:
            out[-1][1] = point
        else:
            out.append([point, point])
    return out


def version(folder):
    return re.match(r"# Scripts-([\d.]+)\.txt", (folder / "Scripts.txt").read_text())[1]


def rows(items, per_line):
    lines = [", ".join(items[i:i + per_line]) for i in range(0, len(items), per_line)]
    return ",\n".join("    " + line for line in lines) + ","


def write_table(kind, name, items, per_line):
    print(f"constexpr {kind} {name}[{len(items)}] = {{\n{rows(items, per_line)}\n}};")


def share(items, size):
    """Splits items into groups; returns the different groups and the index of each group."""
    groups, indices = {}, []
    for start in range(0, len(items), size):
        indices.append(groups.setdefault(tuple(items[start:start + size]), len(groups)))
    return list(groups), indices


def write_groups(kind, name, groups):
    print(f"constexpr {kind} {name}[{len(groups)}][{len(groups[0])}] = {{")
    for group in groups:
        print("    {" + ",".join(str(i) for i in group) + "},")
    print("};")


def write_categories(category):
    blocks, indices = share([CATEGORIES.index(kind) for kind in category], BLOCK)
    block_rows, stage = share(indices, ROW)
    assert len(block_rows) < 256
    write_table("uint8_t", "kStage", [str(i) for i in stage], 24)
    write_groups("uint16_t", "kBlocks", block_rows)
    write_groups("uint8_t", "kCategories", blocks)


def write_cases(folder, cases):
    lower, upper = cases[LOWER], cases[UPPER]
    points = set(upper) | set(cases[TITLE])
    title = {p: cases[TITLE].get(p, upper.get(p, p)) for p in points}
    title = {p: to for p, to in title.items() if to != upper.get(p, p)}
    for name, mapping in ("kLower", lower), ("kUpper", upper), ("kTitle", title):
        items = [f"{{0x{a:x}, 0x{b:x}, {c}, {d}}}" for a, b, c, d in case_ranges(mapping)]
        write_table("CaseRange", name, items, 3)
    for name, several in zip(("kLowerTexts", "kTitleTexts", "kUpperTexts"), read_several(folder)):
        items = ["{0x%x, {0x%x, 0x%x, 0x%x}}" % (p, *(several[p] + [0])[:3]) for p in sorted(several)]
        write_table("CaseText", name, items, 3)


def write_decompositions(category, steps):
    runs, parts = [], []
    for point in sorted(steps):
        kept = [p for p in decompose(point, steps) if category[p] != "Mn"]
        if runs and runs[-1][1] + 1 == point and runs[-1][3] == len(kept):
            runs[-1][1] = point
        else:
            runs.append([point, point, len(parts), len(kept)])
        parts += kept
    assert len(parts) < 65536
    items = [f"{{0x{a:x}, 0x{b:x}, {at}, {n}}}" for a, b, at, n in runs]
    write_table("Decomposition", "kDecompositions", items, 4)
    write_table("uint32_t", "kParts", [f"0x{p:x}" for p in parts], 10)


def write_properties(folder, category):
    derived, numeric = folder / "DerivedCoreProperties.txt", folder / "extracted/DerivedNumericType.txt"
    whole = {name: read_property(derived, name) for name in ("Uppercase", "Lowercase", "Cased", "Case_Ignorable")}
    of = {kind: {p for p in range(LAST) if category[p] == kind} for kind in CATEGORIES}
    assert read_property(numeric, "Decimal") == of["Nd"]
    assert of["Lu"] <= whole["Uppercase"] and of["Ll"] <= whole["Lowercase"]
    assert whole["Cased"] == whole["Uppercase"] | whole["Lowercase"] | of["Lt"]
    passed = of["Mn"] | of["Me"] | of["Cf"] | of["Lm"] | of["Sk"]
    assert passed <= whole["Case_Ignorable"]
    for name, points in (("kHan", read_property(folder / "Scripts.txt", "Han")),
                         ("kOtherUpper", whole["Uppercase"] - of["Lu"]),
                         ("kOtherLower", whole["Lowercase"] - of["Ll"]),
                         ("kOtherIgnorable", whole["Case_Ignorable"] - passed),
                         ("kDigits", read_property(numeric, "Digit")),
                         ("kNumeric", read_property(numeric, "Numeric"))):
        write_table("CodeRange", name, [f"{{0x{a:x}, 0x{b:x}}}" for a, b in ranges(points)], 4)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode")
    category, cases, steps = read_characters(folder)
    print(f"// Made by make_unicode.py from Debian's unicode-data {version(folder)}; not edited by hand.")
    print("// SPDX-License-Identifier: MIT\n// clang-format off")
    print(f'constexpr char kUnicodeVersion[] = "{version(folder)}";')
    write_categories(category)
    write_cases(folder, cases)
    write_decompositions(category, steps)
    write_properties(folder, category)


main()
