#!/usr/bin/env python3
"""Mutation tests: hundreds of faults in one build, and the number that the tests detect.

`make` copies the committed files to FOLDER/tree and writes COUNT faults of ten kinds (230) into the library, at
places that SEED selects. Each fault is enabled by a number. Then it builds once; faults that do not compile are
left out. A place is selected by its text, not by its line number, so changes of other lines do not affect it.
Called again, it takes over later commits, for example tests for survivors.
`run` sets GGUFX_FAULT to one number after another, JOBS (2) at a time. A first run without faults records which
test reaches which fault. Only those tests are tried then, short ones first, until one fails, crashes or does not
end. It continues after the last entry of FOLDER/results.txt; NUMBERs are tried again.
`table` counts by kind and lists the survivors, those with a reason in `equivalent.txt` separately.

usage: tests/faults/mutations.py make FOLDER [COUNT [SEED]]
       tests/faults/mutations.py run FOLDER [JOBS [NUMBER...]]
       tests/faults/mutations.py table FOLDER
SPDX-License-Identifier: MIT
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PARTS = ("abi", "base", "chat", "gguf", "grammar", "job", "kv", "matmul", "model", "quant", "state",
         "kernels/scalar")
LEFT_OUT = ("win32", "unload", "without_")
WIDE = "src/base/"  # its headers are in every file, so all files would be rebuilt
SUITES = {"unit", "oracles", "checkasm", "golden", "fuzz", "grammar", "cli"}
SLOWEST = 300  # seconds of a test without a fault; longer ones are not tried
OPTIONS = ["-D%s=disabled" % name for name in ("bindings", "benchmarks", "vulkan", "cuda")]

HEADER = """#pragma once
#if defined(__cplusplus)
#include <cstdio>
#include <cstdlib>
namespace ggufx_fault {
struct State {
    int number = 0;
    const char *trace = nullptr;
    unsigned char seen[1024] = {};
    State() {
        if (const char *text = std::getenv("GGUFX_FAULT")) number = std::atoi(text);
        trace = std::getenv("GGUFX_FAULT_TRACE");
    }
    ~State() {
        std::FILE *f = trace ? std::fopen(trace, "a") : nullptr;
        if (!f) return;
        for (int i = 0; i < 1024; i++) if (seen[i]) std::fprintf(f, "%d\\n", i);
        std::fclose(f);
    }
};
inline State state;
inline bool at(int number) {
    if (state.trace) state.seen[number] = 1;
    return state.number == number;
}
}
#define GGUFX_FAULT(n) ::ggufx_fault::at(n)
#endif
"""

WORD = r"[A-Za-z_][\w]*(?:(?:\.|->|::)[A-Za-z_]\w*)*(?:\(\)|\[\w+\])?"
VALUE = r"(?:%s|\d+)" % WORD
BEFORE = r"(?P<before>\(|&& |\|\| |return |\? )"
AFTER = r"(?P<after>\)|;| &&| \|\|| \?)"
OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}


def binary(kind, operators):
    pattern = re.compile(BEFORE + r"(?P<a>%s) (?P<op>%s) (?P<b>%s)" % (VALUE, operators, VALUE) + AFTER)

    def candidates(lines, i):
        for m in pattern.finditer(lines[i]):
            a, op, b = m["a"], m["op"], m["b"]
            text = "(GGUFX_FAULT(@) ? (%s %s %s) : (%s %s %s))" % (a, OTHER[op], b, a, op, b)
            yield kind, m.start("a"), m.end("b"), text
    return candidates


def condition(kind, value):
    head = re.compile(r"^\s*(?:\} else )?(?:else )?if \(")

    def candidates(lines, i):
        m = head.match(lines[i])
        if not m or "constexpr" in lines[i]:
            return
        depth, end = 1, m.end()
        while end < len(lines[i]) and depth:
            depth += {"(": 1, ")": -1}.get(lines[i][end], 0)
            end += 1
        inside = lines[i][m.end():end - 1]
        if depth or ";" in inside or re.search(r"[^=!<>]=[^=]", inside) or "[" in inside and "{" in inside:
            return
        if value == "false" and not re.search(r"return|throw|fail|refuse|must|break|continue",
                                              lines[i][end:] + lines[i + 1]):
            return
        yield kind, m.end(), end - 1, "GGUFX_FAULT(@) ? %s : static_cast<bool>(%s)" % (value, inside)
    return candidates


def regex(kind, pattern, replacement):
    compiled = re.compile(pattern)

    def candidates(lines, i):
        for m in compiled.finditer(lines[i]):
            yield kind, m.start(), m.end(), m.expand(replacement)
    return candidates


def dropped(kind, names):
    call = re.compile(r"^\s+(?P<all>[\w.:>\-]*?\b(?:%s)\([^{}]*\);)$" % names)

    def candidates(lines, i):
        m = call.match(lines[i])
        if not m or re.match(r"\s+(return|throw|if|for|while|else|delete|co_)\b", lines[i]):
            return
        if lines[i - 1].rstrip()[-1:] not in ";{}" or lines[i + 1].lstrip().startswith("else"):
            return
        yield kind, m.start("all"), m.end("all"), "if (!GGUFX_FAULT(@)) " + m["all"]
    return candidates


NUMBER = {"int", "long", "size_t", "float", "double", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t",
          "uint32_t", "uint64_t"}


def type_of(lines, i, name):
    """Returns the type in the declaration before line i; all numbers count as one type."""
    declared = re.compile(r"(?:^|[(,;<]|\bconst)\s*(?P<type>[A-Za-z_][\w:<>]*) (?P<how>[*&]*)(?:const )?"
                          r"%s(?=[,;)\[{]| = | : |$)" % name)
    for k in range(i, max(i - 80, -1), -1):
        m = declared.search(lines[k])
        if m and m["type"] not in ("return", "const", "auto", "delete", "new", "else"):
            kind = m["type"].replace("std::", "")
            return "number" if kind in NUMBER and m["how"] != "*" else kind + m["how"].replace("&", "")
        if lines[k].startswith("}"):
            return None
    return None


def swapped(kind):
    """Returns swaps of two neighbouring arguments of a call that have the same type."""
    call = re.compile(r"(?<=[ (!])(?P<f>[a-z]\w*(?:(?:\.|->|::)\w+)*)\((?P<all>\w+(?:, \w+)+)\)(?=[;) ])")
    either_way = re.compile(r"(^|\W)(min|max|swap|same|equal)$")

    def candidates(lines, i):
        if lines[i].lstrip().startswith((":", ",")):  # members of a constructor
            return
        for m in call.finditer(lines[i]):
            given = m["all"].split(", ")
            for k in range(len(given) - 1):
                a, b = (type_of(lines, i, name) for name in given[k:k + 2])
                if a is None or a != b or given[k] == given[k + 1] or either_way.search(m["f"]):
                    continue
                turned = given[:k] + [given[k + 1], given[k]] + given[k + 2:]
                yield kind, m.start(), m.end(), "(GGUFX_FAULT(@) ? %s(%s) : %s)" % (m["f"], ", ".join(turned), m[0])
                break
    return candidates


KINDS = [
    binary("a bound is moved (<, <=)", "<=|>=|<|>"),
    binary("another comparison (==, !=)", "==|!="),
    regex("one more or less", r"(?<=[\w\])]) (?P<op>[+-]) 1(?=[;,)\]])", r" \g<op> (GGUFX_FAULT(@) ? 0 : 1)"),
    condition("a check is missing", "false"),
    condition("a case is always taken", "true"),
    regex("and, or", BEFORE + r"(?P<a>!?%s) && (?P<b>!?%s)(?P<after>\))" % (WORD, WORD),
          r"\g<before>(GGUFX_FAULT(@) ? (\g<a> || \g<b>) : (\g<a> && \g<b>))\g<after>"),
    dropped("a step is left out", r"[a-z]\w*"),
    dropped("a release, rename, sync or unlock is lost",
            r"unlock|rename|publish|sync|sync_folder|remove|reset|release|clear|pop_back|close|free|destroy|forget"),
    swapped("swapped arguments"),
    regex("a wrong scale or answer", r"(?<=\w) \* (?P<b>%s)(?=[;,)])|return (?P<t>true|false);" % VALUE,
          r"@@"),
]


def scale_or_answer(line, start, end):
    text = line[start:end]
    if text.startswith("return"):
        return "return GGUFX_FAULT(@) != %s" % text[7:]
    return " * (GGUFX_FAULT(@) ? 1 : %s)" % text[3:]


def all_candidates(tree):
    """Returns (kind, file, line, start, end, text) of every possible fault, one fault a line."""
    out = []
    for part in PARTS:
        for path in sorted((tree / "src" / part).rglob("*.[ch]pp")):
            name = str(path.relative_to(tree))
            if any(word in path.name for word in LEFT_OUT) or name.startswith(WIDE) and path.suffix == ".hpp":
                continue
            lines = path.read_text().split("\n")
            for i in range(1, len(lines) - 1):
                stripped = lines[i].lstrip()
                if stripped.startswith(("//", "#", "static_assert", "*")) or lines[i].endswith("\\") or \
                        "constexpr" in lines[i] or "case " in lines[i] or not lines[i].startswith("    "):
                    continue
                code = lines[i].split(" //")[0]
                if code.count('"'):
                    continue
                for kind in KINDS:
                    for what, start, end, text in kind([*lines[:i], code, *lines[i + 1:]], i):
                        if text == "@@":
                            text = scale_or_answer(code, start, end)
                        out.append((what, name, i, start, end, text))
    return out


def in_order_of(seed, tree, candidates):
    """Orders by a hash of the text at the place, so that the selection is independent of other lines."""
    texts, times, keyed = {}, {}, []
    for c in candidates:
        lines = texts.setdefault(c[1], (tree / c[1]).read_text().split("\n"))
        what = (c[0], c[1], lines[c[2]].strip(), c[3] - len(lines[c[2]]) + len(lines[c[2]].lstrip()))
        times[what] = times.get(what, 0) + 1
        keyed.append((hashlib.sha256(repr((seed, times[what], *what)).encode()).digest(), c))
    return [c for _, c in sorted(keyed, reverse=True)]


def choose(candidates, count, refused):
    """Selects the same number of each kind, one a line, spread over files; None stands for faults that do not
    compile."""
    by_kind = {}
    for c in candidates:
        by_kind.setdefault(c[0], []).append(c)
    chosen, lines, per_file = [], set(), {}
    while sum(c is not None for c in chosen) < count and any(by_kind.values()):
        for kind in sorted(by_kind):
            if sum(c is not None for c in chosen) == count:
                break
            while by_kind[kind]:
                c = by_kind[kind].pop()
                if (c[1], c[2]) in lines or per_file.get(c[1], 0) >= 4:
                    continue
                lines.add((c[1], c[2]))
                # A fault that does not compile leaves a gap: the others keep their numbers, and their objects.
                chosen.append(None if (c[1], c[2], c[0]) in refused else c)
                per_file[c[1]] = per_file.get(c[1], 0) + 1
                break
    return chosen


def original(tree, file):
    return subprocess.run(["git", "-C", tree, "show", "HEAD:" + file], capture_output=True, text=True, check=True).stdout


def write(tree, chosen):
    by_file = {}
    for number, c in enumerate(chosen, 1):
        if c:
            by_file.setdefault(c[1], []).append((number, *c))
    changed = subprocess.run(["git", "-C", tree, "diff", "--name-only"], capture_output=True, text=True, check=True)
    for file in set(changed.stdout.split()) - set(by_file):
        (tree / file).write_text(original(tree, file))
    for file, faults in by_file.items():
        lines = original(tree, file).split("\n")
        for number, _, _, i, start, end, text in faults:
            lines[i] = lines[i][:start] + text.replace("@", str(number)) + lines[i][end:]
        lines[0] = '#include "ggufx_fault.hpp"\n#line 1\n' + lines[0]
        text = "\n".join(lines)
        if (tree / file).read_text() != text:  # otherwise it keeps its modification time
            (tree / file).write_text(text)


def build_library(build):
    return subprocess.run(["ninja", "-k", "0", "-C", build, "src/libggufx_core.a"], capture_output=True, text=True)


def make(folder, count=230, seed=27):
    tree, build = folder / "tree", folder / "tree" / "build"  # inside the tree, so that ccache finds it
    folder.mkdir(parents=True, exist_ok=True)
    if not tree.exists():
        subprocess.run(["git", "clone", "-q", ROOT, tree], check=True)
    subprocess.run(["git", "-C", tree, "fetch", "-q", ROOT, "HEAD"], check=True)
    told = subprocess.run(["git", "-C", tree, "diff", "--name-only", "HEAD", "FETCH_HEAD", "--", "src", "include"],
                          capture_output=True, text=True, check=True)
    if not told.stdout and (folder / "faults.json").exists():
        subprocess.run(["git", "-C", tree, "reset", "-q", "--soft", "FETCH_HEAD"], check=True)
        subprocess.run(["git", "-C", tree, "checkout", "-q", "HEAD", "--", "tests", "meson.build"], check=True)
        finish(folder, build)
        return
    subprocess.run(["git", "-C", tree, "reset", "-q", "--hard", "FETCH_HEAD"], check=True)
    (tree / "src" / "ggufx_fault.hpp").write_text(HEADER)
    if not build.exists():
        compilers = {"CC": "ccache cc", "CXX": "ccache c++"} if shutil.which("ccache") else {}
        subprocess.run(["meson", "setup", *OPTIONS, build, tree], check=True, env={**compilers, **os.environ})
    for name in ("results.txt", "trace.json"):
        (folder / name).unlink(missing_ok=True)
    candidates, refused = in_order_of(seed, tree, all_candidates(tree)), set()
    print("%d places" % len(candidates))
    while True:
        chosen = choose(candidates, count, refused)
        write(tree, chosen)
        built = build_library(build)
        if built.returncode == 0:
            break
        wrong = {(m[0], int(m[1]) - 1) for m in re.findall(
            r"(src/[\w/.\-]+):(\d+):\d+: (?:(?:fatal )?error|note: in expansion of macro .GGUFX_FAULT)", built.stdout)}
        wrong |= {(m[0], int(m[1]) - 1) for m in re.findall(r"(src/[\w/.\-]+):(\d+):\d+:   (?:in|required)", built.stdout)}
        hit = {(c[1], c[2], c[0]) for c in chosen if c and (c[1], c[2]) in wrong}
        if not hit:
            sys.exit(built.stdout[-6000:])
        refused |= hit
        print("%d do not compile" % len(hit), flush=True)
    (folder / "faults.json").write_text(json.dumps([c and {"kind": c[0], "file": c[1], "line": c[2] + 1, "text": c[5],
                                                           "source": original(tree, c[1]).split("\n")[c[2]].strip()}
                                                    for c in chosen], indent=1))
    finish(folder, build)


def finish(folder, build):
    # A program without its oracle, or that does not build, is a test that fails without a fault.
    built = subprocess.run(["ninja", "-k", "0", "-C", build, "all", "meson-test-prereq"], capture_output=True, text=True)
    if built.returncode:
        print(built.stdout[-2000:])
    faults = json.loads((folder / "faults.json").read_text())
    print("%d faults in %s" % (sum(f is not None for f in faults), build))


def tests_of(build):
    told = subprocess.run(["meson", "introspect", "--tests", build], capture_output=True, text=True, check=True)
    return [t for t in json.loads(told.stdout)
            if SUITES & {s.split(":")[-1] for s in t["suite"]} and t.get("is_parallel", True)]


def run_test(build, test, number, timeout, trace=None):
    """Returns (seconds, whether it detected a fault)."""
    with tempfile.TemporaryDirectory(prefix="fault") as own:
        env = {**os.environ, **test["env"], "GGUFX_FAULT": str(number), "GGUFX_TEST_STEP": "4",
               "GGUFX_TEST_CLI_STEP": "4", "GGUFX_TEST_KILLS": "1", "TMPDIR": own}
        if trace:
            env["GGUFX_FAULT_TRACE"] = str(trace)
        if not shutil.which(test["cmd"][0]):  # it did not build
            return 0, True
        started = time.monotonic()
        process = subprocess.Popen(test["cmd"], env=env, cwd=test.get("workdir") or build, start_new_session=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = 124
        seconds = time.monotonic() - started
        try:
            os.killpg(process.pid, 9)  # and its children
        except ProcessLookupError:
            pass
        process.wait()
        return seconds, code not in (0, 77)


def trace(folder, build, tests, jobs):
    """Records which test reaches which faults, and its time."""
    path, lock = folder / "trace.json", threading.Lock()
    known = json.loads(path.read_text()) if path.exists() else {}

    def one(test):
        program = pathlib.Path(test["cmd"][0])
        stamp = program.stat().st_mtime if program.exists() and build in program.parents else 0
        if known.get(test["name"], {}).get("stamp") == stamp:
            return
        with tempfile.NamedTemporaryFile() as seen:
            seconds, noticed = run_test(build, test, 0, SLOWEST, seen.name)
            points = sorted({int(n) for n in pathlib.Path(seen.name).read_text().split()})
        with lock:
            known[test["name"]] = {"seconds": seconds, "fails": noticed, "points": points, "stamp": stamp}
            path.write_text(json.dumps(known))

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, tests))
    failing = [t["name"] for t in tests if known[t["name"]]["fails"]]
    print("%d tests, without a fault %d fail or take too long: %s" % (len(tests), len(failing), ", ".join(failing)))
    return known


def read_results(folder):
    """Returns the last result of each number: the test that detected it, `survived` or `unreached`."""
    path = folder / "results.txt"
    return {int(n): test for n, test, *_ in map(str.split, path.read_text().splitlines())} if path.exists() else {}


def run(folder, jobs=2, *again):
    faults = json.loads((folder / "faults.json").read_text())
    build = folder / "tree" / "build"
    tests = tests_of(build)
    known = trace(folder, build, tests, jobs)
    done, lock = read_results(folder), threading.Lock()
    started = time.monotonic()

    def one(number):
        by = sorted((t for t in tests if not known[t["name"]]["fails"] and number in known[t["name"]]["points"]),
                    key=lambda t: known[t["name"]]["seconds"])
        caught, begun = "survived" if by else "unreached", time.monotonic()
        for test in by:
            timeout = 20 + 10 * known[test["name"]]["seconds"]
            # A test that also fails without the fault has detected a problem of the machine.
            if run_test(build, test, number, timeout)[1] and not run_test(build, test, 0, timeout)[1]:
                caught = test["name"].replace(" ", "_")
                break
        with lock, (folder / "results.txt").open("a") as out:
            out.write("%d %s %.1f\n" % (number, caught, time.monotonic() - begun))
            print(number, caught, faults[number - 1]["file"], faults[number - 1]["line"], flush=True)

    numbers = again or [n for n in range(1, len(faults) + 1) if n not in done and faults[n - 1]]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, numbers))
    print("%.0f s" % (time.monotonic() - started))
    table(folder)


def reasons():
    """Returns faults without an observable effect: file, kind, line of the source, and the reason."""
    path, out = pathlib.Path(__file__).with_name("equivalent.txt"), {}
    if not path.exists():
        return out
    for block in path.read_text().split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith("#")]
        if lines:
            file, kind = lines[0].split(": ", 1)
            out[(file, kind, lines[1].strip())] = " ".join(line.strip() for line in lines[2:])
    return out


def table(folder):
    faults, results = json.loads((folder / "faults.json").read_text()), read_results(folder)
    known, rows, left = reasons(), {}, []
    for number, fault in enumerate(faults, 1):
        what = results.get(number)
        if not what or not fault:
            continue
        row = rows.setdefault(fault["kind"], [0, 0, 0, 0])
        caught = what not in ("survived", "unreached")
        reason = not caught and known.get((fault["file"], fault["kind"], fault["source"]))
        row[0] += 1
        row[1 if caught else 3 if reason else 2] += 1
        if not caught and not reason:
            left.append("%d %s: %s:%d: %s: %s" % (number, what, fault["file"], fault["line"], fault["kind"], fault["text"]))
    print("| kind | faults | caught | left | change nothing |\n|---|---|---|---|---|")
    rows = {**dict(sorted(rows.items())), "all": [sum(row[k] for row in rows.values()) for k in range(4)]}
    for kind, row in rows.items():
        print("| %s | %d | %d | %d | %d |" % (kind, *row))
    tried = rows["all"][0] - rows["all"][3]
    print("%.1f %% of %d that change something are caught" % (100 * rows["all"][1] / tried if tried else 0, tried))
    print("\n".join(left))


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("make", "run", "table"):
        sys.exit(__doc__)
    {"make": make, "run": run, "table": table}[sys.argv[1]](pathlib.Path(sys.argv[2]).resolve(),
                                                            *map(int, sys.argv[3:]))


main()
