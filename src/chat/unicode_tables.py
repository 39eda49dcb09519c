"""Writes unicode_tables.inc from what the running Python knows of characters.

usage: unicode_tables.py > unicode_tables.inc
SPDX-License-Identifier: MIT
"""
import sys
import unicodedata

CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def ranges(test):
    out = []
    for c in CODES:
        if test(chr(c)):
            if out and out[-1][1] == c - 1:
                out[-1][1] = c
            else:
                out.append([c, c])
    return out


def write_ranges(name, test):
    rows = ranges(test)
    print(f"constexpr Span {name}[] = {{")
    line = "   "
    for low, high in rows:
        cell = f" {{0x{low:x}, 0x{high:x}}},"
        if len(line) + len(cell) > 100:
            print(line)
            line = "   "
        line += cell
    print(line)
    print("};")


def write_case(name, change):
    """Runs of characters at one distance, every one or every second of them."""
    single, several = [], []
    for c in CODES:
        to = change(chr(c))
        if to == chr(c):
            continue
        if len(to) > 1:
            several.append((c, [ord(x) for x in to]))
            continue
        delta = ord(to) - c
        if single:
            last = single[-1]
            gap = c - last[1]
            if last[3] == delta and (gap == last[2] or (last[0] == last[1] and gap in (1, 2))):
                last[1], last[2] = c, gap
                continue
        single.append([c, c, 1, delta])
    print(f"constexpr CaseRun {name}_runs[] = {{")
    line = "   "
    for low, high, step, delta in single:
        cell = f" {{0x{low:x}, 0x{high:x}, {step}, {delta}}},"
        if len(line) + len(cell) > 100:
            print(line)
            line = "   "
        line += cell
    print(line)
    print("};")
    print(f"constexpr CaseText {name}_texts[] = {{")
    line = "   "
    for c, to in several:
        codes = ", ".join(f"0x{x:x}" for x in to + [0] * (3 - len(to)))
        cell = f" {{0x{c:x}, {{{codes}}}}},"
        if len(line) + len(cell) > 100:
            print(line)
            line = "   "
        line += cell
    print(line)
    print("};")


def cased(c):
    """Whether a Sigma behind it counts as the end of a word."""
    return (c + "\u03a3").lower()[-1] == "\u03c2"


def ignorable(c):
    """Passed over when what stands before a Sigma is looked for."""
    return not cased(c) and ("a" + c + "\u03a3").lower()[-1] == "\u03c2"


def main():
    print("// Made by unicode_tables.py with Unicode " + unicodedata.unidata_version + ".")
    print("// SPDX-License-Identifier: MIT")
    print("// clang-format off")
    write_case("upper", str.upper)
    write_case("lower", lambda c: c.lower())
    write_case("title", str.title)
    write_ranges("cased_spans", cased)
    write_ranges("ignorable_spans", ignorable)
    write_ranges("upper_spans", str.isupper)
    write_ranges("lower_spans", str.islower)
    write_ranges("printable_spans", str.isprintable)
    write_ranges("alpha_spans", str.isalpha)
    write_ranges("decimal_spans", str.isdecimal)
    write_ranges("digit_spans", lambda c: c.isdigit() and not c.isdecimal())
    write_ranges("numeric_spans", lambda c: c.isnumeric() and not c.isdigit())
    print("// clang-format on")


if __name__ == "__main__":
    sys.exit(main())
