"""Runs a binding's own tests against a library that is not installed, its examples and its
README's program.

usage: run.py LANGUAGE LIBRARY_FOLDER WORKDIR MODEL     (exit 77: a tool is absent)
SPDX-License-Identifier: MIT
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import examples
import repository
import tools
from tools import run, tool

HERE = pathlib.Path(__file__).resolve().parent

READMES = {"rust": "rust/ggufx"}  # folder of the published crate


def first_program(language, fence):
    """Returns the README's first program, of at most 20 lines."""
    text = (HERE / READMES.get(language, language) / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(rf"^```{fence}\n(.*?)^```$", text, re.M | re.S)
    if not blocks or blocks[0].count("\n") > 20:
        sys.exit(f"{language}/README.md: no first program of at most 20 lines")
    return blocks[0]


def shell_commands(language):
    """Each line of the README's blocks of commands."""
    text = (HERE / READMES.get(language, language) / "README.md").read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S) for line in block.splitlines()]
    if not lines:
        sys.exit(f"{language}/README.md: no block of commands")
    return lines


def check_program(command, model, environment):
    """Checks the output for the demo model, and the error for a missing file."""
    said = subprocess.run([*command, model], env=environment, capture_output=True, text=True)
    if said.returncode or not re.search(r"33 keys, y\[0\] = -?\d|^ Nib was careful\.", said.stdout):
        sys.exit(f"the README's program: exit {said.returncode}, {said.stdout!r} {said.stderr!r}")
    bad = subprocess.run([*command, model + ".absent"], env=environment, capture_output=True,
                         text=True)
    if bad.returncode == 0 or ".absent" not in bad.stdout + bad.stderr:
        sys.exit(f"the README's program, absent file: exit {bad.returncode}, {bad.stderr!r}")


def c(library, work, model, environment):
    """C needs no binding: runs only its examples."""
    compiler, folder = tool("cc"), HERE / "c/examples"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", f"-I{HERE.parent}/include"]
    names = [path.stem for path in sorted(folder.glob("*.c"))]
    for source in [*folder.glob("*.c"), HERE / "c/call_cost.c"]:
        run([compiler, *flags, str(source), "-o", str(work / source.stem), f"-L{library}", "-lggufx"])
    examples.check_all(lambda name: [str(work / name)], model, environment, work, names)


def rust(library, work, model, environment):
    cargo, here = tools.cargo(library, work, environment)
    run([cargo, "test", "--quiet", "--workspace"], **here)
    run([cargo, "test", "--quiet", "-p", "ggufx", "--features", "dlopen", "--test", "story"], **here)
    names = [path.stem for path in (HERE / "rust/ggufx/examples").glob("*.rs")]
    names.remove("call_cost")
    examples.check_all(lambda name: [str(work / "target/debug/examples" / name)], model, environment,
                       work, names)
    first = work / "first"
    (first / "src").mkdir(parents=True, exist_ok=True)
    (first / "src/main.rs").write_text(first_program("rust", "rust"))
    (first / "Cargo.toml").write_text(
        '[package]\nname = "first"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n'
        f'[dependencies]\nggufx = {{ path = "{HERE}/rust/ggufx" }}\n')
    del environment["GGUFX_LIB_DIR"]
    environment["PKG_CONFIG_PATH"] = str(tools.write_pc(library, work))
    run([cargo, "build", "--quiet"], cwd=first, env=environment)
    check_program([str(work / "target/debug/first")], model, environment)


def go_race(library, work, model, environment):
    """Rebuilds Go's standard packages, which takes most of a minute."""
    compiler, here = tools.go(library, work, environment)
    run([compiler, "test", "-race", "-short", "-vet=off", "-count=1", "."], **here)


def check_form(files):
    """gofmt names each file that it would write otherwise."""
    said = subprocess.run([tool("gofmt"), "-l", *map(str, files)], capture_output=True, text=True)
    if said.returncode or said.stdout:
        sys.exit(f"gofmt would change: {said.stdout}{said.stderr}")


def go(library, work, model, environment):
    compiler, here = tools.go(library, work, environment)
    # All that `go vet` looks for, of what is built here all the same: by itself it takes a package's time more.
    run([compiler, "test", "-vet=all", "-count=1", "."], **here)
    (work / "examples").mkdir(exist_ok=True)
    run([compiler, "build", "-o", str(work / "examples") + "/", "./examples/..."], **here)
    run([compiler, "vet", "./examples/..."], **here)
    names = [path.name for path in (HERE / "go/examples").iterdir()]
    examples.check_all(lambda name: [str(work / "examples" / name)], model, environment, work, names)
    first = work / "first"
    first.mkdir(exist_ok=True)
    (first / "main.go").write_text(first_program("go", "go"))
    check_form([HERE / "go", first])
    (first / "go.mod").write_text(f"module first\n\ngo 1.19\n\nrequire {repository.go_module()} v0.0.0\n\n"
                                  f"replace {repository.go_module()} => {HERE}/go\n")
    run([compiler, "build", "-o", "first", "."], cwd=first, env=environment)
    check_program([str(first / "first")], model, environment)
    # The archive with what it needs; the compiler's flags stay, so that nothing is built again.
    needs = " -lcpuinfo" if "libcpuinfo" in (library / "../pkgconfig/ggufx.pc").read_text() else ""
    fixed = {**environment, "C_INCLUDE_PATH": f"{HERE.parent}/include", "LIBRARY_PATH": str(library),
             "CGO_LDFLAGS": "-g -O2" + needs, "LD_LIBRARY_PATH": ""}
    run([compiler, "build", "-tags", "ggufx_static", "-o", "fixed", "."], cwd=first, env=fixed)
    check_program([str(first / "fixed")], model, fixed)


def csharp(library, work, model, environment):
    compile_, mono, sources = tools.mcs(), tool("mono"), tools.sources("csharp/src")
    tests = tools.sources("csharp/tests")
    run([*compile_, f"-out:{work}/tests.exe", *sources, *tests], env=environment)
    run([mono, "--debug", str(work / "tests.exe")], env=environment)
    # As a program finds it: an assembly, and the dllmap's name of the installed library. A public
    # member without a comment is an error here.
    run([*compile_, "-target:library", f"-doc:{work}/Ggufx.xml", f"-out:{work}/Ggufx.dll", *sources], env=environment)
    shutil.copy(HERE / "csharp/Ggufx.dll.config", work)
    programs = {path.stem.lower(): path for path in (HERE / "csharp/examples").glob("*.cs")}
    for name, path in programs.items():
        run([*compile_, f"-r:{work}/Ggufx.dll", f"-out:{work}/{name}.exe", str(path)],
            env=environment)
    examples.check_all(lambda name: [mono, f"{work}/{name.replace('_', '')}.exe"], model, environment,
                       work, programs)
    # The README's commands as they are printed, where they are to be typed: in the folder of the sources.
    here = work / "readme"
    shutil.rmtree(here, ignore_errors=True)
    shutil.copytree(HERE / "csharp", here)
    (here / "First.cs").write_text(first_program("csharp", "csharp"))
    for command in shell_commands("csharp"):
        run(["sh", "-c", command], cwd=here, env=environment)
    only = work / "installed"
    only.mkdir(exist_ok=True)
    shutil.copy(library / "libggufx.so.0", only / "libggufx.so.0")
    check_program([mono, str(here / "First.exe")], model,
                  {**environment, "LD_LIBRARY_PATH": str(only)})


def python(library, work, model, environment):
    found, here = tools.python(library, environment), HERE / "python"
    run([found, "-W", "error", "-m", "unittest", "discover", "-q", "-s", "tests", "-t", "."],
        cwd=here, env=environment)
    names = [path.stem for path in (here / "examples").glob("*.py")]
    examples.check_all(lambda name: [found, str(here / f"examples/{name}.py")], model, environment,
                       work, names)
    (work / "first.py").write_text(first_program("python", "python"))
    check_program([found, str(work / "first.py")], model, environment)


def python_types(library, work, model, environment):
    """Also with the words of the oldest Python that is named in pyproject.toml."""
    mypy, here = [tool("mypy"), "--strict", "--cache-dir", str(work / "mypy")], HERE / "python"
    tools.python(library, environment)
    program = work / "first.py"
    program.write_text(first_program("python", "python"))
    run([*mypy, "ggufx", "tests", *map(str, sorted(here.glob("examples/*.py")))], cwd=here,
        env=environment)
    run([*mypy, str(program)], cwd=here, env={**environment, "MYPYPATH": str(here)})
    oldest = re.search(r'requires-python = ">=([\d.]+)"', (here / "pyproject.toml").read_text())[1]
    run([*mypy, "--python-version", oldest, "ggufx"], cwd=here, env=environment)


def python_wheel(library, work, model, environment):
    """A wheel, built without a network, installed where nothing else of the tree is found."""
    found = tools.python(library, environment)
    for module in ("setuptools", "wheel", "venv", "ensurepip"):
        if subprocess.run([found, "-c", f"import {module}"], stderr=subprocess.DEVNULL).returncode:
            print(f"skipped: Python's {module} is not installed")
            sys.exit(77)
    here = work / "tree"
    shutil.rmtree(here, ignore_errors=True)
    shutil.copytree(HERE / "python", here)
    del environment["PYTHONPATH"], environment["GGUFX_LIBRARY"]
    environment.update(PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1")
    environment["PATH"] = f"{pathlib.Path(found).parent}:{environment['PATH']}"  # the commands say python3
    for command in shell_commands("python"):
        run(["sh", "-c", command], cwd=here, env=environment)
    inside = str(here / "env/bin/python3")
    wheel, = (here / "wheel").glob("ggufx-*-py3-none-any.whl")
    listed = subprocess.run([inside, "-m", "zipfile", "-l", str(wheel)], capture_output=True,
                            text=True, check=True).stdout
    for name in ("ggufx/py.typed", "ggufx/_raw.py", "LICENSE", "METADATA"):
        if name not in listed:
            sys.exit(f"{wheel.name} has no {name}:\n{listed}")
    only = work / "installed"
    only.mkdir(exist_ok=True)
    shutil.copy(library / "libggufx.so.0", only / "libggufx.so.0")
    (work / "first.py").write_text(first_program("python", "python"))
    check_program([inside, "-I", str(work / "first.py")], model,
                  {**environment, "LD_LIBRARY_PATH": str(only)})


LANGUAGES = {"c": c, "rust": rust, "go": go, "go_race": go_race, "csharp": csharp, "python": python,
             "python_types": python_types, "python_wheel": python_wheel}


def main():
    language, library, work, model = sys.argv[1:5]
    environment = {**os.environ, "LD_LIBRARY_PATH": library, "GGUFX_TEST_MODEL": model}
    work = pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    LANGUAGES[language](pathlib.Path(library), work, model, environment)


main()
