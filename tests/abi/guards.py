"""The C API: every public function that returns a status is defined in src/abi, once, and runs its body inside
guard(); those that destroy an object postpone cancellation themselves. No other function has C linkage. A file without_PART.cpp defines a part's functions again, for libraries
that omit the part.

usage: guards.py SOURCE_ROOT
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys
import textwrap

import public

DEFINITION = re.compile(r'^extern "C" (.*?)\b(ggufx_\w+)\((.*?)\) (?:noexcept )?\{\n(.*?)^\}', re.M | re.S)


MACRO = re.compile(r"^#define (FILTER\d)\([^)]*\) *\\\n((?:.*\\\n)+.*\n)", re.M)


def with_filters(root, text):
    """The text with what its macros define for each filter of samplers.def."""
    rows = re.findall(r"^(FILTER\d)\((\w+)", (root / "src/sampling/samplers.def").read_text(encoding="utf-8"), re.M)

    def expand(macro):
        body = textwrap.dedent(re.sub(r" *\\\n", "\n", macro.group(2)))
        return "".join(body.replace("##id", name) for kind, name in rows if kind == macro.group(1))
    return MACRO.sub(expand, text)


def part_of(function):
    return function.header, function.name.split("_")[1]


def main():
    root = pathlib.Path(sys.argv[1])
    declared = {p.name: p for p in public.interface.load(root / "include").functions}
    defined, left_out, faults = {}, {}, []
    for path in sorted((root / "src").rglob("*.cpp")):
        if {"cli", "plugins"} & set(path.relative_to(root).parts):  # hosts of the library
            continue
        text = with_filters(root, path.read_text(encoding="utf-8"))
        found = DEFINITION.findall(text)
        n_linkage = len(re.findall(r'^extern "C"', text, re.M))
        if n_linkage and path.parent.name != "abi":
            faults.append(f"{path}: extern \"C\" outside of src/abi")
        if n_linkage != len(found):
            faults.append(f"{path}: {n_linkage} extern \"C\", {len(found)} understood")
        names = left_out if path.name.startswith("without_") else defined
        for result, name, _, body in found:
            if name in names:
                faults.append(f"{name}: defined twice")
            names[name] = path
            if name not in declared:
                faults.append(f"{path.name}: {name} is not in a public header")
            if "ggufx_status" in result and not re.search(r"\bguard\(", body):
                faults.append(f"{path.name}: {name} does not use guard()")
            destroys = names is defined and re.search(r"_(destroy|detach)$", name)
            if destroys and not body.startswith("    const NoCancel whole;\n"):
                faults.append(f"{path.name}: {name} does not postpone cancellation (NoCancel)")
            if re.search(r"\bthrow\b(?!;)", body):
                faults.append(f"{path.name}: {name} throws itself; use fail() or require()")
    for name in sorted(set(declared) - set(defined)):
        faults.append(f"{declared[name]}: no definition in src/abi")
    faults += [f"{left_out[name]}: {name} is no function of a part that is there"
               for name in sorted(set(left_out) - set(defined))]
    for path in sorted(set(left_out.values())):  # such a file has all functions of its objects in a header
        parts = {part_of(declared[name]) for name, at in left_out.items() if at == path and name in declared}
        faults += [f"{path}: lacks {name}" for name, function in declared.items()
                   if part_of(function) in parts and name not in left_out]
    public.finish("public functions", faults, len(defined))


main()
