"""The public headers as data: prototypes with their comments, structs with their fields.

Shared by the guard tests of this folder; the headers are plain enough for regular expressions
(abi-shape tests keep them so).
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

COMMENT = re.compile(r"/\*.*?\*/", re.S)
STRUCT = re.compile(r"typedef struct (ggufx_\w+) \{(.*?)\} \1;", re.S)


class Prototype:
    def __init__(self, header, line, text, comment):
        self.header, self.line, self.comment = header, line, comment
        self.text = " ".join(text.split())
        match = re.match(r"GGUFX_API (.*?[ *])(ggufx_\w+) ?\((.*)\);$", self.text)
        if not match:
            sys.exit(f"{header}:{line}: cannot read prototype: {self.text}")
        self.result, self.name = match.group(1).strip(), match.group(2)
        self.parameters = match.group(3)

    def __str__(self):
        return f"{self.header}:{self.line}: {self.name}"


def header_paths(include):
    return sorted(pathlib.Path(include, "ggufx").glob("*.h"))


def read_prototypes(path):
    """Returns every GGUFX_API prototype with the comment directly above it."""
    text = path.read_text(encoding="utf-8")
    found = []
    for match in re.finditer(r"^GGUFX_API\b[^;]*;", text, re.M):
        above = text[: match.start()]
        comment = ""
        if above.rstrip().endswith("*/") and above.endswith("*/\n"):
            comment = above[above.rindex("/*"):].strip()
        line = above.count("\n") + 1
        found.append(Prototype(path.name, line, match.group(0), comment))
    return found


def prototypes(include):
    return [p for path in header_paths(include) for p in read_prototypes(path)]


def structs(include):
    """Returns name -> text of the fields, without comments, of every public struct."""
    found = {}
    for path in header_paths(include):
        text = COMMENT.sub("", path.read_text(encoding="utf-8"))
        found.update({m.group(1): m.group(2) for m in STRUCT.finditer(text)})
    return found


def field_names(body):
    """Returns names of a struct's fields in order."""
    names = []
    for field in body.split(";"):
        field = field.strip()
        if not field:
            continue
        match = re.search(r"\(\*(\w+)\)\(", field) or re.search(r"(\w+)(\[\w+\])?$", field)
        names.append(match.group(1))
    return names


def finish(what, faults, n_checked):
    """Prints the faults and exits; no input at all is a fault, too."""
    if not n_checked:
        faults = [*faults, "nothing was checked"]
    for fault in faults:
        print("FAIL:", fault)
    print(f"{what}: {n_checked} checked, {len(faults)} faults")
    sys.exit(1 if faults else 0)
