"""Exported symbols: the headers, symbols.txt and the library agree, with one version node.

usage: symbols.py NM INCLUDE SYMBOLS.TXT LIBRARY NODE
SPDX-License-Identifier: MIT
"""
import pathlib
import subprocess
import sys

import public


def exported(nm, library):
    """Returns lines 'name@@NODE' of the dynamic symbol table; the node itself is an absolute symbol."""
    out = subprocess.run([nm, "-D", "--defined-only", "--with-symbol-versions", library],
                         check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in out.splitlines()]
    return [(row[-2], row[-1]) for row in rows]


def difference(left, right, left_name, right_name):
    return ([f"{s}: in {left_name}, not in {right_name}" for s in sorted(set(left) - set(right))] +
            [f"{s}: in {right_name}, not in {left_name}" for s in sorted(set(right) - set(left))])


def main():
    nm, include, listed_path, library, node = sys.argv[1:6]
    declared = sorted(p.name for p in public.interface.load(include).functions)
    listed = pathlib.Path(listed_path).read_text().split()
    faults = difference(declared, listed, "the headers", "symbols.txt")
    if listed != sorted(set(listed)):
        faults.append("symbols.txt is not sorted or has doubles")
    found = []
    for kind, symbol in exported(nm, library):
        if kind == "A":
            if symbol.split("@")[0] != node:
                faults.append(f"version node {symbol}, expected {node}")
            continue
        name, _, version = symbol.partition("@@")
        found.append(name)
        if version != node:
            faults.append(f"{symbol}: not in version node {node}")
        if kind != "T":
            faults.append(f"{symbol}: kind {kind}, only functions are exported")
    faults += difference(listed, found, "symbols.txt", "the library")
    public.finish("exported symbols", faults, len(found))


main()
