"""What a call through a binding costs over the same call in C: the smallest product (one row of 32
values), and a 4096 x 4096 one of Q4_K, each on one thread. All languages take turns, and the least of
several rounds counts, because a busy machine makes calls longer and never shorter.

usage: cost.py LIBRARY_FOLDER WORKDIR [ROUNDS]     (LIBRARY_FOLDER: build/src)
SPDX-License-Identifier: MIT
"""
import os
import pathlib
import re
import subprocess
import sys

import tools

HERE = pathlib.Path(__file__).resolve().parent


def said(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"{command[0]}: exit {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def c(library, work, environment):
    tools.run([tools.tool("cc"), "-O2", "-std=c11", f"-I{HERE.parent}/include",
               str(HERE / "c/call_cost.c"), "-o", str(work / "call_cost"), f"-L{library}", "-lggufx"])
    return [str(work / "call_cost")]


def rust(library, work, environment):
    cargo, more = tools.cargo(library, work, environment)
    tools.run([cargo, "build", "--release", "--quiet", "-p", "ggufx", "--example", "call_cost"], **more)
    return [str(work / "target/release/examples/call_cost")]


def go(library, work, environment):
    compiler, more = tools.go(library, work, environment)
    tools.run([compiler, "test", "-c", "-o", str(work / "go.test"), "."], **more)
    return [str(work / "go.test"), "-test.run", "XXX", "-test.bench", "Product",
            "-test.benchtime", "1x"]


def csharp(library, work, environment):
    tools.run([*tools.mcs(), f"-out:{work}/cost.exe",
               *tools.sources("csharp/src"), *tools.sources("csharp/tests")], env=environment)
    return [tools.tool("mono"), str(work / "cost.exe"), "cost"]


def python(library, work, environment):
    # Sets only the library's folder in the environment of the measured process.
    return [tools.python(library, environment), "-c",
            f"import runpy, sys; sys.path.insert(0, {str(HERE / 'python')!r}); "
            "runpy.run_module('tests.cost', run_name='__main__')"]


def nanoseconds(text):
    """The two figures of a program, or of Go's table of benchmarks."""
    table = dict(re.findall(r"^Benchmark(\w+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op", text, re.M))
    if table:
        return float(table["SmallestProduct"]), float(table["LargeProduct"])
    small, large = text.split()
    return float(small), float(large)


def main():
    library, work = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    programs, best = {}, {}
    for language in (c, rust, go, csharp, python):
        environment = {**os.environ, "LD_LIBRARY_PATH": str(library)}
        folder = work / language.__name__
        folder.mkdir(parents=True, exist_ok=True)
        programs[language.__name__] = language(library, folder, environment)
    for _ in range(rounds):
        for name, command in programs.items():
            figures = nanoseconds(said(command, env={**os.environ, "LD_LIBRARY_PATH": str(library)}))
            best[name] = tuple(map(min, figures, best.get(name, figures)))
    small, large = best["c"]
    print(f"{'':8}{'ns a call':>10}{'added':>8}{'4096 x 4096':>14}{'added':>9}{'over C':>9}")
    for name, (of_small, of_large) in best.items():
        added = of_small - small
        print(f"{name:8}{of_small:10.0f}{added:8.0f}{of_large:14.0f}{added / large:9.3%}"
              f"{of_large / large - 1:9.2%}")


main()
