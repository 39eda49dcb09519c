"""Include rules of src/README.md: which folder may include which, enforced exactly; no cycles.

usage: includes.py SOURCE_ROOT
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

import public

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)[">]', re.M)
SUFFIXES = {".c", ".cpp", ".h", ".hpp", ".def"}

# Path prefix of the including file -> what it may include of the project, beside its own folder.
# The longest prefix decides. An entry ending in "/" is a folder, else one header.
RULES = {
    "src/cli/": ["ggufx/"],
    "src/abi/": ["ggufx/", "base/", "gguf/", "formats/", "quant/", "job/", "matmul/", "kv/",
                 "model/", "kernels/dispatch.hpp"],  # a runtime chooses its kernels at create
    "src/model/": ["job/", "matmul/", "kv/", "gguf/", "formats/", "base/"],
    "src/kv/": ["quant/", "kernels/table.hpp", "kernels/kv", "formats/", "base/"],
    "src/matmul/": ["kernels/table.hpp", "formats/", "base/"],
    "src/quant/": ["kernels/table.hpp", "kernels/encode.hpp", "formats/", "base/"],
    "src/gguf/": ["formats/", "base/"],
    "src/job/": ["gguf/", "quant/", "matmul/", "formats/", "base/"],
    "src/formats/": ["base/half.hpp"],
    "src/base/": [],
    "tests/unit/": ["ggufx/", "tests/"],
    "tests/checkasm/": ["kernels/", "quant/quantize.hpp", "formats/", "base/"],
    "bindings/": ["ggufx/"],
}
# src/kernels: its own folder is not free, see may_include_in_kernels().
KERNELS_DISPATCH = ["kernels/table.hpp", "kernels/dispatch.hpp", "kernels/act.hpp", "base/cpu.hpp",
                    "formats/format.hpp"]
KERNEL_SYSTEM = {"immintrin.h", "arm_neon.h", "stdint.h", "stddef.h", "float.h"}
SCALAR_SYSTEM = KERNEL_SYSTEM | {"math.h", "string.h"}  # fmaf of the reference
FORMATS_SYSTEM = KERNEL_SYSTEM | {"string.h"}
PUBLIC_SYSTEM = {"stdint.h", "stddef.h"}


def may_include_in_kernels(path, name):
    """kernels/<isa> -> kernels/loops, act, table, encode, kv*, formats, base/half."""
    folder = path.relative_to("src").parent.as_posix()
    if folder == "kernels":
        if path.stem == "dispatch":
            return name in KERNELS_DISPATCH
        return name.startswith(("formats/", "kernels/")) and name != "kernels/dispatch.hpp" \
            or name == "base/half.hpp"
    own = folder + "/"
    if folder == "kernels/avxvnni" and name.startswith("kernels/avx2/"):
        return True  # the same formats with other products
    if folder == "kernels/avx2" and name == "kernels/avxvnni/products.hpp":
        return True  # which take the place of avx2's own there
    shared = ("kernels/loops/", "kernels/act", "kernels/table.hpp", "kernels/encode.hpp",
              "formats/", "base/half.hpp", "kernels/kv")
    if folder in ("kernels/loops", "kernels/loops/unpack"):
        return name.startswith(shared)
    if folder == "kernels/scalar" and name == "quant/round.hpp":
        return True  # the text of encoding rounds as the quantizers do
    return name.startswith((own, *shared))


def resolve(root, path, name):
    """A project include as 'folder/file' or 'ggufx/file', None for a system header."""
    beside = (root / path).parent / name
    if (root / "src" / name).is_file():
        return name
    if (root / "include" / name).is_file():
        return name
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


def allowed(path, name):
    text = path.as_posix()
    if text.startswith("include/"):
        return name.startswith("ggufx/")
    if text.startswith("src/kernels/"):
        return may_include_in_kernels(path, name)
    rule = max((r for r in RULES if text.startswith(r)), key=len, default=None)
    if rule is None:
        return True
    if name.startswith(tuple(RULES[rule])):
        return True
    own = rule.removeprefix("src/")
    return name.startswith(own) or text.startswith("tests/") and name.startswith(rule)


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


def main():
    root = pathlib.Path(sys.argv[1])
    faults, graph, n = [], {}, 0
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
                    ok = allowed(path, target)
                    own = path.as_posix().removeprefix("src/").removeprefix("include/")
                    if path.suffix != ".def" and not target.endswith(".def"):
                        graph.setdefault(own, set()).add(target)
                if not ok:
                    faults.append(f"{path}: may not include {name}")
    cycle = find_cycle(graph)
    if cycle:
        faults.append("cycle: " + " -> ".join(cycle))
    public.finish("includes", faults, n)


main()
