"""Where the bindings say that they are published: one GitHub repository, in all places that name it.

usage: repository.py [OWNER/REPO]     (with it: written everywhere; without: exit 1 when places differ)
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
NAMED = re.compile(r"github\.com/([A-Za-z0-9][\w-]*/[A-Za-z0-9][\w.-]*)")
# Repository address in each package; go.mod is the reference for the others.
PLACES = ["go/go.mod", "go/README.md", "go/examples/*/main.go", "go/*_test.go", "rust/ggufx-sys/Cargo.toml",
          "rust/ggufx/Cargo.toml", "csharp/Ggufx.csproj", "python/pyproject.toml"]
# Copies of the licence, for packages built from one folder.
LICENCES = ["go/LICENSE", "rust/ggufx-sys/LICENSE", "rust/ggufx/LICENSE", "csharp/LICENSE",
            "python/LICENSE"]
# The version of the library, where packages repeat it.
VERSIONS = {"rust/ggufx-sys/Cargo.toml": r'^version = "(.*)"', "rust/ggufx/Cargo.toml": r'^version = "(.*)"',
            "csharp/Ggufx.csproj": r"^    <Version>(.*)</Version>",
            "python/pyproject.toml": r'^version = "(.*)"'}


def go_module():
    return re.search(r"^module (\S+)$", (HERE / "go/go.mod").read_text(), re.M).group(1)


def version():
    return re.search(r"^  version: '([\d.]+)'", (HERE.parent / "meson.build").read_text(), re.M).group(1)


def places():
    return [path for pattern in PLACES for path in sorted(HERE.glob(pattern))]


def check():
    owner = NAMED.match(go_module()).group(1)
    faults = [] if go_module() == f"github.com/{owner}/bindings/go" else [f"go.mod: {go_module()}"]
    for path in places():
        found = set(NAMED.findall(path.read_text(encoding="utf-8")))
        if found != {owner}:
            faults.append(f"{path.relative_to(HERE)} names {sorted(found)}, go.mod {owner}")
    licence = HERE.parent / "LICENSE"
    if licence.is_file():  # not where bindings/ alone was copied
        faults += [f"{name} is no copy of LICENSE" for name in LICENCES
                   if not (HERE / name).is_file() or (HERE / name).read_text() != licence.read_text()]
        faults += [f"{name} is not of version {version()}" for name, pattern in VERSIONS.items()
                   if re.findall(pattern, (HERE / name).read_text(), re.M) != [version()]]
    return faults


def write(name):
    for path in places():
        text = path.read_text(encoding="utf-8")
        path.write_text(NAMED.sub(f"github.com/{name}", text), encoding="utf-8")


def main():
    if len(sys.argv) > 1:
        if not NAMED.fullmatch(f"github.com/{sys.argv[1]}"):
            sys.exit(f"not OWNER/REPO: {sys.argv[1]}")
        write(sys.argv[1])
    faults = check()
    for fault in faults:
        print(fault)
    print(f"{len(places())} places name the repository, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
