"""Include rules: the table of src/README.md lists the folders that each folder may include; no cycles; every public
header is installed.

usage: includes.py SOURCE_ROOT
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

import public

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)[">]', re.M)
SUFFIXES = {".c", ".cpp", ".h", ".hpp", ".def"}
ROW = re.compile(r"^\| (`[^|]*`) \|[^|]*\| ([^|]*) \|$", re.M)  # a row of the table

KERNEL_SYSTEM = {"immintrin.h", "arm_neon.h", "stdint.h", "stddef.h", "float.h"}
SCALAR_SYSTEM = KERNEL_SYSTEM | {"math.h", "string.h"}  # fmaf of the reference
FORMATS_SYSTEM = KERNEL_SYSTEM | {"string.h"}
PUBLIC_SYSTEM = {"stdint.h", "stddef.h"}


def read_rules(readme):
    """Returns path prefix of the including file -> prefixes that it may include besides itself."""
    rules = {}
    for names, cell in ROW.findall(readme.read_text(encoding="utf-8")):
        others = re.search(r"\bas `([^`]+)`", cell)
        entries = [] if others is None else rules[others.group(1)] + [others.group(1)]
        entries += re.findall(r"`([^`]+)`", cell)
        rules |= {name: entries for name in re.findall(r"`([^`]+)`", names)}
    return rules


def rule_of(rules, path):
    return max((name for name in rules if path.startswith(name)), key=len, default=None)


def resolve(root, path, name):
    """Returns a project include as 'folder/file' or 'ggufx/file', None for a system header."""
    beside = (root / path).parent / name
    for folder, prefix in (("src", ""), ("include", ""), ("src/cli", "cli/")):
        if not name.startswith("../") and (root / folder / name).is_file():
            return prefix + name
    if beside.is_file():
        relative = beside.resolve().relative_to(root.resolve()).as_posix()
        return relative.removeprefix("src/").removeprefix("include/")
    return None


def check_system(path, name):
    text = path.as_posix()
    if text.startswith("include/"):
        return name in PUBLIC_SYSTEM
    if text.startswith("src/kernels/") and path.stem != "dispatch":
        return name in (SCALAR_SYSTEM if "/scalar/" in text else KERNEL_SYSTEM | {"string.h"})
    if text.startswith("src/formats/") and path.suffix == ".hpp":
        return name in FORMATS_SYSTEM
    if text.startswith("src/") and not text.startswith("src/cli/"):
        return name not in {"iostream", "sstream", "fstream", "iomanip", "locale", "regex",
                            "filesystem", "assert.h", "cassert"}
    return True


def allowed(rules, path, name):
    if path.startswith("ggufx/"):
        return name.startswith("ggufx/")
    rule = rule_of(rules, path)
    if rule is None:
        return True
    return rule_of(rules, name) == rule or name.startswith(tuple(rules[rule]))


def find_cycle(graph):
    done, trail = set(), []

    def visit(node):
        if node in trail:
            return trail[trail.index(node):] + [node]
        if node in done:
            return None
        trail.append(node)
        for target in graph.get(node, ()):
            cycle = visit(target)
            if cycle:
                return cycle
        trail.pop()
        done.add(node)
        return None

    for node in sorted(graph):
        cycle = visit(node)
        if cycle:
            return cycle
    return None


def check_installed(root):
    listed = set(re.findall(r"'(ggufx/\w+\.h)'", (root / "include" / "meson.build").read_text(encoding="utf-8")))
    return [f"include/{name} is not in include/meson.build, so it would not be installed"
            for name in (f"ggufx/{file.name}" for file in sorted((root / "include/ggufx").glob("*.h")))
            if name not in listed]


def check_declared(root, graph):
    """Yields public functions in files that do not include their declaration: alone, without other files that are compiled
    with them, they would not be exported."""
    declared = {name: f"ggufx/{header.name}" for header in sorted((root / "include/ggufx").glob("*.h")) if header.name != "loader.h"
                for name in re.findall(r"^GGUFX_API [^;(]*?\b(ggufx_\w+)\(", header.read_text(encoding="utf-8"), re.M)}
    for file in sorted((root / "src/abi").glob("*.cpp")):
        seen, todo = set(), [f"abi/{file.name}"]
        while todo:
            path = todo.pop()
            if path not in seen:
                seen.add(path)
                todo += graph.get(path, ())
        for name in re.findall(r'^extern "C" [^;({]*?\b(ggufx_\w+)\(', file.read_text(encoding="utf-8"), re.M):
            if name in declared and declared[name] not in seen:
                yield f"src/abi/{file.name}: {name} is declared in {declared[name]}, which is not included"


def main():
    root = pathlib.Path(sys.argv[1])
    rules = read_rules(root / "src" / "README.md")
    faults, graph, n = [], {}, 0
    faults += [f"src/README.md: no folder is called {name}" for name in rules
               if not any(root.glob(f"src/{name}*")) and not any(root.glob(name + "*"))]
    for top in ("include", "src", "tests", "bindings"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SUFFIXES or not file.is_file():
                continue
            path = file.relative_to(root)
            for _, name in INCLUDE.findall(file.read_text(encoding="utf-8")):
                n += 1
                target = resolve(root, path, name)
                if target is None:
                    ok = check_system(path, name)
                else:
                    own = path.as_posix().removeprefix("src/").removeprefix("include/")
                    ok = allowed(rules, own, target)
                    if path.suffix != ".def" and not target.endswith(".def"):
                        graph.setdefault(own, set()).add(target)
                if not ok:
                    faults.append(f"{path}: may not include {name}")
    faults += check_installed(root)
    faults += check_declared(root, graph)
    cycle = find_cycle(graph)
    if cycle:
        faults.append("cycle: " + " -> ".join(cycle))
    public.finish("includes", faults, n)


main()
