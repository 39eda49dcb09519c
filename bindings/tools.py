"""The tools of each language, and how they find a library that is not installed.

Used by run.py and cost.py.
SPDX-License-Identifier: MIT
"""
import os
import pathlib
import shutil
import subprocess
import sys

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


def write_pc(library, work):
    """A ggufx.pc of the build folder, which Meson does not make from a template."""
    folder = work / "pkgconfig"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ggufx.pc").write_text(
        f"Name: ggufx\nDescription: not installed\nVersion: 0\nLibs: -L{library} -lggufx\n"
        f"Libs.private: -lstdc++ -lm -pthread -ldl\nCflags: -I{HERE.parent}/include\n")
    return folder


def cargo(library, work, environment):
    """The command and its environment; environment is filled in, as in go()."""
    # Nothing is compiled twice or debugged here: without what serves that it takes a fifth less.
    fast = {"CARGO_INCREMENTAL": "0", "CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_PROFILE_TEST_DEBUG": "0"}
    environment.update(RUSTC=tool("rustc"), RUSTDOC=tool("rustdoc"), GGUFX_LIB_DIR=str(library),
                       CARGO_TARGET_DIR=str(work / "target"), CARGO_NET_OFFLINE="true",
                       CARGO_HOME=str(work / "home"), RUSTFLAGS="-Dwarnings", **fast)
    return tool("cargo"), {"cwd": HERE / "rust", "env": environment}


def go(library, work, environment):
    tool("pkg-config")
    environment.update(PKG_CONFIG_PATH=str(write_pc(library, work)), GOFLAGS="-mod=mod",
                       GOPROXY="off", GOTOOLCHAIN="local", GOCACHE=str(work / "cache"),
                       GOPATH=str(work / "path"), GODEBUG="cgocheck=2")
    return tool("go"), {"cwd": HERE / "go", "env": environment}


def python(library, environment):
    """Debian's interpreter, which has the packages, and the variables that make programs find
    this one."""
    found = tool("python3")
    if subprocess.run([found, "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode:
        print("skipped: NumPy is not installed (python3-numpy)")
        sys.exit(77)
    environment.update(GGUFX_LIBRARY=str(library / "libggufx.so.0"), PYTHONDONTWRITEBYTECODE="1",
                       PYTHONPATH=str(HERE / "python"))
    return found


def mcs():
    return [tool("mcs"), "-unsafe", "-debug", "-langversion:7.2", "-warnaserror"]


def sources(folder):
    """Tools for C#."""
    return sorted(map(str, (HERE / folder).glob("*.cs")))
