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

HERE = pathlib.Path(__file__).resolve().parent


def tool(name):
    """Debian's own first: the oldest that must work."""
    path = f"/usr/bin/{name}" if os.access(f"/usr/bin/{name}", os.X_OK) else shutil.which(name)
    if not path:
        print(f"skipped: {name} is not installed")
        sys.exit(77)
    return path


def run(command, **more):
    print("$", *command, flush=True)
    result = subprocess.run(command, **more)
    if result.returncode:
        sys.exit(f"{command[0]}: exit {result.returncode}")


def first_program(language, fence):
    """The README's program, which has at most 15 lines."""
    text = (HERE / language / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(rf"^```{fence}\n(.*?)^```$", text, re.M | re.S)
    if not blocks or blocks[0].count("\n") > 15:
        sys.exit(f"{language}/README.md: no first program of at most 15 lines")
    return blocks[0]


def check_program(command, model, environment):
    """It says something of the demo model, and what is wrong with a file that is not there."""
    said = subprocess.run([*command, model], env=environment, capture_output=True, text=True)
    if said.returncode or not re.search(r"32 keys, y\[0\] = -?\d", said.stdout):
        sys.exit(f"the README's program: exit {said.returncode}, {said.stdout!r} {said.stderr!r}")
    bad = subprocess.run([*command, model + ".absent"], env=environment, capture_output=True,
                         text=True)
    if bad.returncode == 0 or ".absent" not in bad.stdout + bad.stderr:
        sys.exit(f"the README's program, absent file: exit {bad.returncode}, {bad.stderr!r}")


def write_pc(library, work):
    """A ggufx.pc of the build folder, which Meson does not make from a template."""
    folder = work / "pkgconfig"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ggufx.pc").write_text(
        f"Name: ggufx\nDescription: not installed\nVersion: 0\nLibs: -L{library} -lggufx\n"
        f"Libs.private: -lstdc++ -lm -pthread -ldl\nCflags: -I{HERE.parent}/include\n")
    return folder


def c(library, work, model, environment):
    """C needs no binding: its examples alone."""
    compiler, folder = tool("cc"), HERE / "c/examples"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", f"-I{HERE.parent}/include"]
    names = [path.stem for path in sorted(folder.glob("*.c"))]
    for name in names:
        run([compiler, *flags, str(folder / name) + ".c", "-o", str(work / name), f"-L{library}",
             "-lggufx"])
    examples.check_all(lambda name: [str(work / name)], model, environment)
    out = work / "smaller.gguf"
    out.unlink(missing_ok=True)
    said = subprocess.run([str(work / "quantize_file"), model, str(out)], env=environment,
                          capture_output=True, text=True)
    if said.stdout != "38 tensors, 3630080 bytes become 2112000\n" or not out.stat().st_size:
        sys.exit(f"example quantize_file: exit {said.returncode}, {said.stdout!r} {said.stderr!r}")
    if names != sorted([*examples.EXPECTED, "quantize_file"]):
        sys.exit(f"examples that are not run: {names}")


def rust(library, work, model, environment):
    cargo = tool("cargo")
    environment.update(RUSTC=tool("rustc"), RUSTDOC=tool("rustdoc"), GGUFX_LIB_DIR=str(library),
                       CARGO_TARGET_DIR=str(work / "target"), CARGO_NET_OFFLINE="true",
                       CARGO_HOME=str(work / "home"), RUSTFLAGS="-Dwarnings")
    here = {"cwd": HERE / "rust", "env": environment}
    run([cargo, "test", "--quiet", "--workspace"], **here)
    run([cargo, "test", "--quiet", "-p", "ggufx", "--features", "dlopen", "--test", "story"], **here)
    examples.check_all(lambda name: [str(work / "target/debug/examples" / name)], model, environment)
    first = work / "first"
    (first / "src").mkdir(parents=True, exist_ok=True)
    (first / "src/main.rs").write_text(first_program("rust", "rust"))
    (first / "Cargo.toml").write_text(
        '[package]\nname = "first"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n'
        f'[dependencies]\nggufx = {{ path = "{HERE}/rust/ggufx" }}\n')
    del environment["GGUFX_LIB_DIR"]
    environment["PKG_CONFIG_PATH"] = str(write_pc(library, work))
    run([cargo, "build", "--quiet"], cwd=first, env=environment)
    check_program([str(work / "target/debug/first")], model, environment)


def go_tool(library, work, environment):
    compiler = tool("go")
    tool("pkg-config")
    environment.update(PKG_CONFIG_PATH=str(write_pc(library, work)), GOFLAGS="-mod=mod",
                       GOPROXY="off", GOTOOLCHAIN="local", GOCACHE=str(work / "cache"),
                       GOPATH=str(work / "path"), GODEBUG="cgocheck=2")
    return compiler, {"cwd": HERE / "go", "env": environment}


def go_race(library, work, model, environment):
    """Builds Go's own packages once more, which takes most of a minute."""
    compiler, here = go_tool(library, work, environment)
    run([compiler, "test", "-race", "-short", "-count=1", "."], **here)


def go(library, work, model, environment):
    compiler, here = go_tool(library, work, environment)
    run([compiler, "vet", "./..."], **here)
    run([compiler, "test", "-count=1", "."], **here)
    (work / "examples").mkdir(exist_ok=True)
    run([compiler, "build", "-o", str(work / "examples") + "/", "./examples/..."], **here)
    examples.check_all(lambda name: [str(work / "examples" / name)], model, environment)
    first = work / "first"
    first.mkdir(exist_ok=True)
    (first / "main.go").write_text(first_program("go", "go"))
    (first / "go.mod").write_text(
        "module first\n\ngo 1.19\n\nrequire github.com/ggufx/ggufx-go v0.0.0\n\n"
        f"replace github.com/ggufx/ggufx-go => {HERE}/go\n")
    run([compiler, "build", "-o", "first", "."], cwd=first, env=environment)
    check_program([str(first / "first")], model, environment)
    # The archive with what it needs; the compiler's flags stay, so that nothing is built again.
    needs = " -lcpuinfo" if "libcpuinfo" in (library / "../pkgconfig/ggufx.pc").read_text() else ""
    fixed = {**environment, "C_INCLUDE_PATH": f"{HERE.parent}/include", "LIBRARY_PATH": str(library),
             "CGO_LDFLAGS": "-g -O2" + needs, "LD_LIBRARY_PATH": ""}
    run([compiler, "build", "-tags", "ggufx_static", "-o", "fixed", "."], cwd=first, env=fixed)
    check_program([str(first / "fixed")], model, fixed)


def csharp(library, work, model, environment):
    mcs, mono = tool("mcs"), tool("mono")
    sources = sorted(map(str, (HERE / "csharp/src").glob("*.cs")))
    tests = sorted(map(str, (HERE / "csharp/tests").glob("*.cs")))
    compile_ = [mcs, "-unsafe", "-debug", "-langversion:7.2", "-warnaserror"]
    run([*compile_, f"-out:{work}/tests.exe", *sources, *tests], env=environment)
    run([mono, "--debug", str(work / "tests.exe")], env=environment)
    # As a program finds it: an assembly, and the dllmap's name of the installed library.
    run([*compile_, "-target:library", f"-out:{work}/Ggufx.dll", *sources], env=environment)
    shutil.copy(HERE / "csharp/Ggufx.dll.config", work)
    programs = {path.stem.lower(): path for path in (HERE / "csharp/examples").glob("*.cs")}
    for name, path in programs.items():
        run([*compile_, f"-r:{work}/Ggufx.dll", f"-out:{work}/{name}.exe", str(path)],
            env=environment)
    examples.check_all(lambda name: [mono, f"{work}/{name}.exe"], model, environment)
    (work / "First.cs").write_text(first_program("csharp", "csharp"))
    run([mcs, f"-r:{work}/Ggufx.dll", f"-out:{work}/first.exe", str(work / "First.cs")],
        env=environment)
    only = work / "installed"
    only.mkdir(exist_ok=True)
    shutil.copy(library / "libggufx.so.0", only / "libggufx.so.0")
    check_program([mono, str(work / "first.exe")], model,
                  {**environment, "LD_LIBRARY_PATH": str(only)})


LANGUAGES = {"c": c, "rust": rust, "go": go, "go_race": go_race, "csharp": csharp}


def main():
    language, library, work, model = sys.argv[1:5]
    environment = {**os.environ, "LD_LIBRARY_PATH": library, "GGUFX_TEST_MODEL": model}
    work = pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    LANGUAGES[language](pathlib.Path(library), work, model, environment)


main()
