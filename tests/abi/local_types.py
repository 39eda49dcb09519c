"""Types that a .cpp file defines for itself stand in an unnamed namespace: two files that define
different structs of one name link without a word, and one of them runs with the other's functions.

usage: local_types.py SOURCE_ROOT
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

import public

# Definitions and namespaces begin in column 0 (clang-format). Outer::Inner belongs to a header's
# class; so does a name that a header has declared.
DEFINITION = re.compile(r"^(?:template <[^;{]*>\s*)?(?:struct|class|union|enum(?: class)?)\s+"
                        r"(?:alignas\([^)]*\)\s+|\[\[\w+\]\]\s+)?(\w+)(?!\w|::|\s*<)[^;(]*$")
DECLARED = re.compile(r"\b(?:struct|class)\s+(\w+)\s*(?:;|\*|&|\w+\s*[=;])")


def definitions(text):
    """(line, name) of types at namespace scope outside of unnamed namespaces."""
    unnamed = False
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"namespace \{", line):
            unnamed = True
        elif line.startswith("} // namespace") and unnamed:
            unnamed = False
        found = None if unnamed else DEFINITION.match(line)
        if found:
            yield number, found[1]


def main():
    root = pathlib.Path(sys.argv[1])
    declared = set()
    for header in list((root / "src").rglob("*.hpp")) + list((root / "include").rglob("*.h")):
        declared |= set(DECLARED.findall(header.read_text(encoding="utf-8")))
    # tests/host defines names of others on purpose.
    files = [p for top in ("src", "tests/checkasm", "tests/fuzz", "tests/golden", "tests/unit")
             for p in sorted((root / top).rglob("*.cpp"))]
    faults = [f"{path.relative_to(root)}:{line}: {name} stands outside of an unnamed namespace"
              for path in files for line, name in definitions(path.read_text(encoding="utf-8"))
              if name not in declared]
    # The check itself.
    sample = "namespace a {\nstruct A {\n};\nnamespace {\nclass B : C {\n};\n} // namespace\n" \
             "class D final : public E {\nstruct F;\nstruct a::G {\nenum class H : int {\n"
    if [name for _, name in definitions(sample)] != ["A", "D", "H"]:
        faults.append(f"local_types.py finds {list(definitions(sample))} in its sample")
    public.finish("local types", faults, len(files))


main()
