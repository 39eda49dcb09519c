"""The bindings cover the headers: every exported function is called by each binding, but for those
in not_bound.txt; type ids are those of the tables of formats and of KV caches.

usage: check.py
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

import interface

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent

# Language -> files of its wrapper, how a call looks there, files that only declare.
LAYERS = {
    "rust": ("rust/ggufx/src/*.rs", r"(?:\bsys::|\(ggufx_\w+, )(ggufx_\w+)[()]", ""),
    "go": ("go/*.[gh]*", r"\b(ggufx_\w+)\(", "_test.go"),
    "python": ("python/ggufx/*.py", r"(?:\blib\.|\bfound\.|KINDS\[\")(ggufx_\w+)", "_raw.py"),
    "csharp": ("csharp/src/*.cs", r"\bNativeMethods\.(ggufx_\w+)\(", "NativeMethods.Functions.cs"),
}


def called(language):
    pattern, call, not_these = LAYERS[language]
    paths = [p for p in HERE.glob(pattern) if not not_these or not p.name.endswith(not_these)]
    return {name for p in paths for name in re.findall(call, p.read_text(encoding="utf-8"))}


def check_functions():
    symbols = set((ROOT / "tests/abi/symbols.txt").read_text().split())
    excused = {line for line in (HERE / "not_bound.txt").read_text().splitlines()
               if line and not line.startswith("#")}
    faults = [f"not_bound.txt: {n} is no function" for n in sorted(excused - symbols)]
    used = {language: called(language) for language in LAYERS}
    used["python"] |= {n for n in symbols if n.endswith("_destroy")}  # by their names: _handle.py
    faults += [f"{language}: {n} is not called: wrap it, or name it in bindings/not_bound.txt"
               for language in LAYERS for n in sorted(symbols - used[language] - excused)]
    faults += [f"{n} is called: take it out of bindings/not_bound.txt"
               for n in sorted(excused.intersection(*used.values()))]
    return faults


def check_type_ids():
    formats, caches = ((ROOT / path).read_text() for path in ("src/formats/formats.def", "src/kv/types.def"))
    rows = {(name, int(id_)) for table in (re.findall(r"^X\((\w+), (\d+),", formats, re.M),
                                           re.findall(r"^X\((\w+), \d+, (\d+),", caches, re.M)) for name, id_ in table}
    types = interface.load(ROOT / "include").enumerations["ggufx_type"]
    ids = {(member, c.value) for member, c in types.members()}
    return [f"the tables of types and the headers differ: {x}" for x in sorted(rows ^ ids)]


def main():
    faults = check_functions() + check_type_ids()
    print(f"{len(LAYERS)} languages, {len(faults)} faults", *faults, sep="\n")
    sys.exit(bool(faults))


main()
