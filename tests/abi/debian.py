"""The Debian packaging agrees with the tree: its symbols file with symbols.txt, its version with meson.build, its
names with LICENSE. Its lists of files agree with the files that this build installs: each file is in one package,
and no list is empty.

usage: debian.py SOURCE_ROOT BUILD_ROOT VERSION
       debian.py --write SOURCE_ROOT        (the symbols file, after a change of symbols.txt)
SPDX-License-Identifier: MIT
"""
import fnmatch
import json
import pathlib
import re
import subprocess
import sys

import public

NODE_RELEASE = {"GGUFX_0.1": "0.1.0"}  # version node -> its first release
PLACES = {"{libdir_shared}": "usr/lib/triplet", "{libdir_static}": "usr/lib/triplet",
          "{libdir}": "usr/lib/triplet", "{moduledir_shared}": "usr/lib/triplet",
          "{bindir}": "usr/bin", "{mandir}": "usr/share/man",
          "{datadir}": "usr/share", "{includedir}": "usr/include"}


def symbols(root):
    """Returns the text of libggufx0.symbols."""
    (node, release), = NODE_RELEASE.items()
    names = (root / "tests/abi/symbols.txt").read_text().split()
    lines = [f" {name}@{node} {release}" for name in [node, *names]]
    head = ["libggufx.so.0 libggufx0 #MINVER#", "* Build-Depends-Package: libggufx-dev"]
    return "\n".join([*head, *lines, ""])


def check_symbols(root):
    same = (root / "pkgconfig/debian/libggufx0.symbols").read_text() == symbols(root)
    return [] if same else ["libggufx0.symbols: run tests/abi/debian.py --write ."]


def check_words(root, version):
    folder, faults = root / "pkgconfig/debian", []
    changelog = (folder / "changelog").read_text()
    if not changelog.startswith(f"ggufx ({version}) "):
        faults.append(f"changelog does not begin with ggufx ({version})")
    maintainer = re.search(r"^Maintainer: (.*)$", (folder / "control").read_text(), re.M).group(1)
    if f" -- {maintainer}  " not in changelog:
        faults.append(f"changelog is not signed by {maintainer}")
    licence = (root / "LICENSE").read_text()
    holder = re.search(r"^Copyright \(c\) (.*)$", licence, re.M).group(1)
    words = " ".join((folder / "copyright").read_text().replace("\n .\n", "\n").split())
    for text in ["Copyright: " + holder, *licence.split("\n\n")[2:]]:
        if " ".join(text.split()) not in words:
            faults.append(f"copyright lacks: {text}")
    return faults


def installed(build):
    """Returns paths of all files and links of this build, below the root of a Debian system."""
    plan = json.loads(subprocess.run(["meson", "introspect", "--install-plan", str(build)],
                                     check=True, capture_output=True, text=True).stdout)
    paths = []
    for kind in plan.values():
        for entry in kind.values():
            place, _, rest = entry["destination"].partition("/")
            paths.append(f"{PLACES[place]}/{rest}")
    paths = [path.replace("zsh/site-functions", "zsh/vendor-completions") for path in paths]
    return [*paths, "usr/lib/triplet/libggufx.so", "usr/lib/triplet/libggufx.so.0"]


def check_files(root, build):
    patterns = [(path.stem, line.split()[0]) for path in (root / "pkgconfig/debian").glob("*.install")
                for line in path.read_text().splitlines()]
    used, faults = set(), []
    for path in installed(build):
        if path.endswith("/mpi.h") or "/libggufx-mpi.so" in path:  # excluded by debian/rules
            continue
        found = [pattern for pattern in patterns if fnmatch.fnmatch(path, pattern[1]) or
                 fnmatch.fnmatch(path, pattern[1] + "/*")]
        used.update(found)
        if len(found) != 1:
            faults.append(f"{path}: {len(found)} packages have it")
    # A build may lack plugins or documentation: their packages are empty then.
    optional = {"libggufx-vulkan0", "libggufx-cuda0", "libggufx-doc"}
    return faults + [f"{p[0]}.install: nothing is {p[1]}" for p in patterns if p not in used and p[0] not in optional]


def main():
    if sys.argv[1] == "--write":
        root = pathlib.Path(sys.argv[2])
        (root / "pkgconfig/debian/libggufx0.symbols").write_text(symbols(root))
        return
    root, build, version = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    checks = [check_symbols(root), check_words(root, version), check_files(root, build)]
    public.finish("parts of the packaging", [f for c in checks for f in c], len(checks))


if __name__ == "__main__":
    main()
