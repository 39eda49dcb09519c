"""README.md kept true: two set-up commands, the C and Python examples, the table of status codes,
the names of golden vectors, what `ggufx info` says of the demo model.

usage: readme.py SOURCE_ROOT LIBRARY_FOLDER WORKDIR MODEL [TOOL]
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
    """Fenced code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", readme, re.M | re.S)


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


def check_example(language, source, limit, command, model, environment, expect):
    if source.count("\n") > limit:
        return [f"the {language} example has {source.count(chr(10))} lines, over {limit}"]
    faults = []
    status, out, err = run(command, env=environment)
    if language == "C" and (status != 2 or out or not err.startswith("usage: ")):
        faults.append(f"C example without an argument: exit {status}, {out!r} {err!r}")
    status, out, err = run([*command, str(model)], env=environment)
    if status or not re.search(expect, out):
        faults.append(f"{language} example: exit {status}, {out!r} {err!r}")
    status, _, err = run([*command, str(model) + ".absent"], env=environment)
    if status == 0 or "absent" not in err:
        faults.append(f"{language} example with an absent file: exit {status}, {err!r}")
    return faults


def check_examples(root, readme, library, work, model):
    c, python = blocks(readme, "c"), blocks(readme, "python")
    if len(c) != 1 or len(python) != 1:
        return [f"{len(c)} C and {len(python)} Python examples, not one of each"]
    work.mkdir(parents=True, exist_ok=True)
    (work / "example.c").write_text(c[0])
    (work / "example.py").write_text(python[0])
    status, _, err = run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{root}/include",
                          str(work / "example.c"), "-o", str(work / "example"), f"-L{library}",
                          "-lggufx"])
    if status:
        return [f"C example: {err}"]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library)}
    return (check_example("C", c[0], 20, [str(work / "example")], model, environment,
                          r"^\d+ rows of \d+ values, y\[0\] = -?\d") +
            check_example("Python", python[0], 12, [sys.executable, str(work / "example.py")],
                          model, environment, r"^ggufx [\d.]+: \d+ keys, [1-9]\d* tensors"))


def check_codes(root, readme):
    header = (root / "include/ggufx/base.h").read_text()
    codes = dict(re.findall(r"^    (GGUFX_(?:OK|E_\w+)) = (-?\d+)", header, re.M))
    table = dict(re.findall(r"^\| `(GGUFX_\w+)` \| (-?\d+) \|", readme, re.M))
    return [f"status codes differ: {sorted(set(codes.items()) ^ set(table.items()))}"] \
        if codes != table else []


def check_vectors(readme):
    """Names of golden items, where the shared vectors are present."""
    formats = pathlib.Path(os.environ.get("GGUFX_TEST_DATA", ""), "formats")
    if not (formats / "golden/manifest.json").is_file():
        print("names of golden vectors: not checked, GGUFX_TEST_DATA has none")
        return []
    known = {item["name"] for item in json.loads((formats / "golden/manifest.json").read_text())
             ["items"]}
    named = set(re.findall(r"`((?:deq|q)/[\w/]+)`", readme))
    files = set(re.findall(r"`(\w+\.gguf)`", readme.split("Where published", 1)[1]))
    faults = [f"no golden vector {n}" for n in sorted(named - known)]
    faults += [f"no golden file {n}" for n in sorted(files)
               if not (formats / "gguf-golden" / n).is_file()]
    return faults if named else ["no golden vector is named"]


def check_info(readme, tool, model):
    texts = blocks(readme, "text")
    if len(texts) != 1:
        return ["README has no output of info"]
    status, out, err = run([tool, "info", str(model)])
    if status:
        return [f"info: exit {status}: {err}"]
    said = [" ".join(line.split()) for line in out.splitlines()]
    shown = [" ".join(line.split()) for line in texts[0].splitlines() if line.strip() != "..."]
    return [f"info does not say: {line}" for line in shown if line not in said]


def main():
    root, library, work, model = (pathlib.Path(a) for a in sys.argv[1:5])
    readme = (root / "README.md").read_text(encoding="utf-8")
    checks = [check_commands(readme), check_codes(root, readme), check_vectors(readme),
              check_examples(root, readme, library, work, model)]
    if len(sys.argv) > 5:
        checks.append(check_info(readme, sys.argv[5], model))
    public.finish("parts of README.md", [f for c in checks for f in c], len(checks))


if __name__ == "__main__":
    main()
