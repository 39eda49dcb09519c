"""The conformance story (conformance.json) in one language: the same calls, results and errors as in C.

usage: conformance.py check MODEL                             (the story alone; exit 1 for a fault, with its line)
       conformance.py LANGUAGE LIBRARY_FOLDER WORKDIR MODEL   (exit 77: a tool is absent)
       conformance.py --renew LIBRARY_FOLDER WORKDIR MODEL    (writes the results of C into the story)
SPDX-License-Identifier: MIT
"""
import hashlib
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

import arena
import interface
import plan
import programs
import story
import tools

HERE = pathlib.Path(__file__).resolve().parent
STORY = HERE / "conformance.json"
NONE = 2**64 - 1
LONGEST = {"text": 1500, "many": 24}  # longer results are checksums
# Steps that must be refused, and why.
REFUSED = [
    ({"call": "ggufx_opn"}, "no such function"),
    ({"call": "ggufx_version", "when": 1}, "unknown key when"),
    ({"call": "ggufx_version", "with": {"x": 1}}, "no parameter x"),
    ({"call": "ggufx_type_info", "with": {}}, "type: is missing"),
    ({"call": "ggufx_chat_template_create", "with": {"rt": None}}, "file: is missing, null is allowed"),
    ({"call": "ggufx_type_info", "with": {"type": "q4_K"}}, 'type: "q4_K" is no uint32_t'),
    ({"call": "ggufx_type_info", "with": {"type": -1}}, "type: -1 is no uint32_t"),
    ({"call": "ggufx_type_info", "with": {"type": True}}, "type: true is no uint32_t"),
    ({"call": "ggufx_type_info", "with": {"type": "GGUFX_TYPE_X"}}, "type: no constant GGUFX_TYPE_X"),
    ({"call": "ggufx_type_info", "with": {"type": 1, "error": {}}}, "error: is not given, its role is error"),
    ({"call": "ggufx_has", "with": {"feature": 5}}, "feature: 5 is no const char *"),
    ({"call": "ggufx_file_info", "with": {"file": "absent"}}, 'file: no ggufx_file is named "absent"'),
    ({"call": "ggufx_runtime_create", "with": {"options": {"thread": 1}}},
     "options: ggufx_runtime_options has no member thread"),
    ({"call": "ggufx_runtime_create", "with": {"options": 1}}, "options: 1 is no ggufx_runtime_options"),
    ({"call": "ggufx_runtime_create", "with": {"options": {"allocator": {"alloc": {}}}}},
     "alloc: a callback of this kind has no general answer"),
    ({"call": "ggufx_embed", "with": {"embedder": None, "texts": [{"tokens": 1}], "out": 1}},
     "texts.0.tokens: 1 is no const int32_t *"),
    ({"call": "ggufx_embed", "with": {"embedder": None, "texts": [{"tokens": [1]}], "out": [1]}},
     "out: [1] is no number of elements"),
    ({"call": "ggufx_session_save", "with": {"session": None, "sequence": 0, "write": {"status": 1}}},
     "write: write has no status"),
]


# ---- results ---------------------------------------------------------------------------------------------------

def checksum(data, n):
    return {"n": n, "sha256": hashlib.sha256(data).hexdigest()[:16]}


def shortest(value):
    """The shortest decimal of a float of 32 bits."""
    texts = (f"{value:.{digits}g}" for digits in range(6, 10))
    return float(next(t for t in texts if struct.pack("f", float(t)) == struct.pack("f", value)))


def number(c, value):
    if c in ("float", "double") and value - value != 0:
        return str(value)
    return shortest(value) if c == "float" else "GGUFX_NONE" if value == NONE else value


class Results:
    """Results of a program in the form of the story."""

    def __init__(self, planner, told):
        self.planner, self.left_out = planner, told["machine"]
        self.status = {c.value: n for n, c in planner.api.constants.items() if n.startswith("GGUFX_E_")}

    def text(self, data):
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return {"hex": data.hex()}
        for name, path in self.planner.variables.items():
            text = text.replace(path, name)
        return text if len(text) <= LONGEST["text"] else checksum(data, len(data))

    def many(self, c, data):
        if c == "void":
            return {"hex": data.hex()} if len(data) <= LONGEST["many"] else checksum(data, len(data))
        n = arena.width(c)
        if len(data) // n > LONGEST["many"]:
            return checksum(data, len(data) // n)
        return [number(c, v[0]) for v in struct.iter_unpack("=" + arena.CODES[c], data)]

    def value(self, c, how, data):
        if c == "object":
            return any(data)
        if how == "text":
            return self.text(data.partition(b"\0")[0] if c == "char" and data.endswith(b"\0") else data)
        if how == "structs":
            rows = [list(row) for row in struct.iter_unpack(self.planner.struct_code(c), data)]
            return rows if len(rows) <= LONGEST["many"] else checksum(data, len(rows))
        return self.many(c, data) if how == "many" else number(c, struct.unpack("=" + arena.CODES[c], data)[0])

    def of_step(self, step, lines):
        """Paths as nested objects. A callback has a list of its calls, unless it only took or gave bytes."""
        out, heard = {}, {}
        for path, text in lines:
            if path.endswith("()"):
                heard.setdefault(path[:-2], []).append({})
                continue
            c, how, name = step.kinds.get(path) or self.planner.plan.kinds[path]
            if name in self.left_out:
                continue
            value = None if text == "null" else self.value(c, how, bytes.fromhex(text))
            first, *rest = path.split(".")
            at = heard[first][-1] if first in heard and rest else out
            for part in (rest if at is not out else [first, *rest])[:-1]:
                at = at.setdefault(part, {})
            at[path.split(".")[-1]] = value
        for name, calls in heard.items():
            if any(calls):
                text = json.dumps(calls).encode()
                out[f"{name}()"] = calls if len(text) < LONGEST["text"] else checksum(text, len(calls))
        return self.finish(out)

    def finish(self, out):
        if "error" in out:
            error = out["error"]
            error["status"] = self.status.get(error["status"], error["status"])
            for name in ("system_error", "value", "limit"):
                if not error[name]:
                    del error[name]
            out["error"] = {k: v for k, v in error.items() if v != "GGUFX_NONE"}
        if out.get("made", True) == ("error" not in out):
            out.pop("made", None)  # an object after a success, none after a failure
        return out


# ---- programs --------------------------------------------------------------------------------------------------

def build_c(text, library, work, environment, *flags):
    source = work / "conformance.c"
    source.write_text(text)
    compiler = tools.tool("cc")
    tools.run([compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fno-strict-aliasing", *flags, f"-I{HERE.parent}/include",
               str(source), "-o", str(work / "conformance"), f"-L{library}", "-lggufx", "-ldl"])
    return [str(work / "conformance")]


def c_loader(text, library, work, environment):
    return build_c(text, library, work, environment, "-DLOADER")


def rust(text, library, work, environment):
    cargo, here = tools.cargo(library, work, environment)
    crate = work / "conformance"
    (crate / "src").mkdir(parents=True, exist_ok=True)
    (crate / "src/main.rs").write_text(text)
    (crate / "Cargo.toml").write_text('[package]\nname = "conformance"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n'
                                      f'[dependencies]\nggufx-sys = {{ path = "{HERE}/rust/ggufx-sys" }}\n')
    tools.run([cargo, "build", "--quiet"], cwd=crate, env=here["env"])
    return [str(work / "target/debug/conformance")]


def go(text, library, work, environment):
    compiler, here = tools.go(library, work, environment)
    (work / "main.go").write_text(text)
    (work / "go.mod").write_text("module conformance\n\ngo 1.19\n")
    tools.run([compiler, "build", "-o", "conformance", "."], cwd=work, env=here["env"])
    return [str(work / "conformance")]


def csharp(text, library, work, environment):
    compile_, mono = tools.mcs(), tools.tool("mono")
    (work / "Conformance.cs").write_text(text)
    tools.run([*compile_, "-main:Ggufx.Conformance", f"-out:{work}/conformance.exe", str(work / "Conformance.cs"),
               *tools.sources("csharp/src")], env=environment)
    return [mono, "--debug", str(work / "conformance.exe")]


def python(text, library, work, environment):
    found = tools.python(library, environment)
    (work / "conformance.py").write_text(text)
    return [found, "-W", "error", str(work / "conformance.py")]


BUILDS = {"c": ("c", build_c), "c_loader": ("c", c_loader), "rust": ("rust", rust), "go": ("go", go),
          "csharp": ("csharp", csharp), "python": ("python", python)}


def run(language, api, told, library, work, model):
    """The results of each step in a language."""
    shutil.rmtree(work / "files", ignore_errors=True)
    (work / "files").mkdir(parents=True)
    variables = {"$work": str(work / "files"), "$model": str(model)}
    planner = plan.make(api, told, HERE.parent, variables)
    steps = planner.plan.steps
    (work / "image.bin").write_bytes(planner.plan.image)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library)}
    name, build = BUILDS[language]
    command = build(programs.LANGUAGES[name](api, planner.plan).program(), library, work, environment)
    done = subprocess.run([*command, str(work / "image.bin"), str(library / "libggufx.so.0")], env=environment,
                          capture_output=True, text=True)
    lines = [[] for _ in steps]
    for line in done.stdout.splitlines():
        if line.count("|") == 2:  # a program that crashes may leave a part of one
            step, path, text = line.split("|")
            lines[int(step)].append((path, text))
    if done.returncode:
        last = max((i for i, found in enumerate(lines) if found), default=-1)
        sys.exit(f"{language}: exit {done.returncode} after the step of line {steps[last].line}\n{done.stderr}")
    results = Results(planner, told)
    return [results.of_step(step, found) for step, found in zip(steps, lines)]


# ---- checks ----------------------------------------------------------------------------------------------------

def not_refused(api):
    """Yields the wrong steps that pass."""
    for step, what in REFUSED:
        try:
            plan.make(api, {"steps": [{**step, "line": 7}]}, HERE.parent, {})
            yield f"is not refused: {step}"
        except story.Fault as fault:
            if str(fault) != f"7: {step['call']}: {what}":
                yield f"is refused, but not by '{what}': {fault}"


def check(api, told, model):
    plan.make(api, told, HERE.parent, {"$model": model})
    faults = [*story.unknown_outputs(api, told), *story.uncovered(api, told), *not_refused(api)]
    print(f"{len(told['steps'])} steps, {len(faults)} faults", *faults, sep="\n")
    sys.exit(bool(faults))


def compare(language, told, found):
    faults = 0
    for step, got in zip(told["steps"], found):
        wanted = step.get("gives", {})
        for key in {**wanted, **got}:
            if json.dumps(wanted.get(key), sort_keys=True) != json.dumps(got.get(key), sort_keys=True):
                faults += 1
                print(f"{STORY.name}:{step['line']}: {language}: {step['call']}: {key}\n"
                      f"  expected {json.dumps(wanted.get(key))}\n  found    {json.dumps(got.get(key))}")
    print(f"{language}: {len(found)} steps, {faults} differences")
    return faults


def main():
    api = interface.load(HERE.parent / "include")
    told = story.read(STORY)
    if sys.argv[1] == "check":
        check(api, told, sys.argv[2])
    language, library, work, model = sys.argv[1], *map(pathlib.Path, sys.argv[2:5])
    if language == "--renew":
        for step in told["steps"]:
            step.pop("gives", None)
        for step, got in zip(told["steps"], run("c", api, told, library, work, model)):
            step["gives"] = got
        story.write(STORY, told)
        return
    sys.exit(bool(compare(language, told, run(language, api, told, library, work, model))))


if __name__ == "__main__":
    try:
        main()
    except story.Fault as fault:
        sys.exit(f"{STORY}:{fault}")
