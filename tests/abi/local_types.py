"""Types that a .cpp file defines for itself are in an unnamed namespace. Otherwise two files that define different
structs with the same name link without an error, and one of them uses the other's functions. The same holds for
two headers.

usage: local_types.py SOURCE_ROOT
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

import public

# Definitions and namespaces begin in column 0 (clang-format). Outer::Inner belongs to a header's class; so does a name
# that a header has declared.
DEFINITION = re.compile(r"^(?:template <[^;{]*>\s*)?(?:struct|class|union|enum(?: class)?)\s+"
                        r"(?:alignas\([^)]*\)\s+|\[\[\w+\]\]\s+)?(\w+)(?!\w|::|\s*<)"
                        r"(?:[^;(]*|[^;({]*\{.*\};)$")
DECLARED = re.compile(r"\b(?:struct|class)\s+(\w+)\s*(?:;|\*|&|\w+\s*[=;])")


def definitions(text):
    """Yields (line, namespace, name) of types at namespace scope outside unnamed namespaces."""
    inside, unnamed = [], False
    for number, line in enumerate(text.splitlines(), 1):
        opened = re.match(r"namespace (?:([\w:]+) )?\{", line)
        if opened:
            unnamed |= opened[1] is None
            inside.append(opened[1])
        elif line.startswith("} // namespace") and inside:
            inside.pop()
            unnamed = None in inside
        found = None if unnamed else DEFINITION.match(line)
        if found:
            yield number, "::".join(inside), found[1]


def check_files(root, files, declared, owners):
    for path in files:
        for line, space, name in definitions(path.read_text(encoding="utf-8")):
            owner = owners.get((space, name))
            if owner or name not in declared:
                why = f", and {owner} has another" if owner else ""
                yield (f"{path.relative_to(root)}:{line}: {name} stands outside of an unnamed "
                       f"namespace{why}")


def check_headers(root, headers, owners):
    """Fills owners: the header of each name of a namespace."""
    for path in headers:
        for line, space, name in definitions(path.read_text(encoding="utf-8")):
            owner = owners.setdefault((space, name), path.relative_to(root))
            if owner != path.relative_to(root):
                yield f"{path.relative_to(root)}:{line}: {name} is a type of {owner} too"


def main():
    root = pathlib.Path(sys.argv[1])
    declared, owners = set(), {}
    headers = sorted((root / "src").rglob("*.hpp"))
    for header in headers + list((root / "include").rglob("*.h")):
        declared |= set(DECLARED.findall(header.read_text(encoding="utf-8")))
    # tests/host defines names of others on purpose.
    files = [p for top in ("src", "tests/checkasm", "tests/fuzz", "tests/golden", "tests/unit")
             for p in sorted((root / top).rglob("*.cpp"))]
    faults = list(check_headers(root, headers, owners))
    faults += check_files(root, files, declared, owners)
    # Tests the check itself.
    sample = "namespace a {\nstruct A {\n};\nnamespace {\nclass B : C {\n};\n} // namespace\n" \
             "class D final : public E {\nstruct F;\nstruct a::G {\n} // namespace a\n" \
             "enum class H : int {\nenum I { one, two };\nenum class J : int;\n"
    found = [f"{space}::{name}" for _, space, name in definitions(sample)]
    if found != ["a::A", "a::D", "::H", "::I"]:
        faults.append(f"local_types.py finds {found} in its sample")
    public.finish("local types", faults, len(files) + len(headers))


main()
