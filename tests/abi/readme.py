"""Facts in README.md and the documentation: two set-up commands, the C example, the table of status codes, the names
of golden vectors.

usage: readme.py SOURCE_ROOT LIBRARY_FOLDER WORKDIR MODEL
SPDX-License-Identifier: MIT
"""
import json
import os
import pathlib
import re
import subprocess
import sys

import public


def blocks(readme, language):
    """Returns fenced code blocks of one language."""
    return re.findall(rf"^```{language}(?: \S+)?\n(.*?)^```$", readme, re.M | re.S)


def set_up_commands(readme):
    return [b for b in blocks(readme, "sh") if "apt-get" in b]


def run(command, **more):
    result = subprocess.run(command, capture_output=True, text=True, **more)
    return result.returncode, result.stdout, result.stderr


def check_commands(readme):
    commands = set_up_commands(readme)
    faults = [f"{len(commands)} set-up commands, not 2"] if len(commands) != 2 else []
    faults += [f"not one line: {c}" for c in commands if c.count("\n") != 1]
    if not any("tests/run.sh" in c for c in commands):
        faults.append("no set-up command runs the tests")
    return faults


def check_example(root, readme, library, work, model):
    """Checks the C program: its usage, its output, and its message about a missing file."""
    programs = blocks(readme, "c")
    if len(programs) != 1:
        return [f"{len(programs)} C examples, not one"]
    work.mkdir(parents=True, exist_ok=True)
    (work / "example.c").write_text(programs[0])
    status, _, err = run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{root}/include",
                          str(work / "example.c"), "-o", str(work / "example"), f"-L{library}",
                          "-lggufx"])
    if status:
        return [f"C example: {err}"]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library)}
    faults = []
    for arguments, wanted, out_pattern, err_pattern in (
            ([], 2, "^$", "^usage: "),
            ([str(model)], 0, r"^\d+ rows of \d+ values, y\[0\] = -?\d", "^$"),
            ([str(model) + ".absent"], 1, "^$", "absent")):
        status, out, err = run([str(work / "example"), *arguments], env=environment)
        if status != wanted or not re.search(out_pattern, out) or not re.search(err_pattern, err):
            faults.append(f"C example {arguments}: exit {status}, {out!r} {err!r}")
    return faults


def check_codes(root, page):
    header = (root / "include/ggufx/base.h").read_text()
    codes = dict(re.findall(r"^    (GGUFX_(?:OK|E_\w+)) = (-?\d+)", header, re.M))
    table = dict(re.findall(r"^\| `(GGUFX_\w+)` \| (-?\d+) \|", page, re.M))
    return [f"status codes differ: {sorted(set(codes.items()) ^ set(table.items()))}"] \
        if codes != table else []


def check_vectors(page):
    """Checks names of golden items, if the shared vectors exist."""
    formats = pathlib.Path(os.environ.get("GGUFX_TEST_DATA", ""), "formats")
    if not (formats / "golden/manifest.json").is_file():
        print("names of golden vectors: not checked, GGUFX_TEST_DATA has none")
        return []
    known = {item["name"] for item in json.loads((formats / "golden/manifest.json").read_text())
             ["items"]}
    named = set(re.findall(r"`((?:deq|q)/[\w/]+)`", page))
    files = set(re.findall(r"`(\w+\.gguf)`", page.split("Published descriptions", 1)[1]))
    faults = [f"no golden vector {n}" for n in sorted(named - known)]
    faults += [f"no golden file {n}" for n in sorted(files)
               if not (formats / "gguf-golden" / n).is_file()]
    return faults if named else ["no golden vector is named"]


def main():
    root, library, work, model = (pathlib.Path(a) for a in sys.argv[1:5])
    readme, errors, formats = (
        (root / name).read_text(encoding="utf-8") for name in ("README.md", "docs/c-api.md", "docs/file-formats.md"))
    checks = [check_commands(readme), check_codes(root, errors), check_vectors(formats),
              check_example(root, readme, library, work, model)]
    public.finish("parts of README.md and docs", [f for c in checks for f in c], len(checks))


if __name__ == "__main__":
    main()
