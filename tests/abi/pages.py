"""Runs every command and program of a documentation page as printed.

A fenced block `LANGUAGE NAME` is the file NAME of the page's work folder; a C program must compile without
warnings. Lines of a `console` block that begin with "$ " run in a shell there. model.gguf is the demo model,
unless the page itself exports it. The lines after a command must appear in its output, in this order, except for
spaces. A line "..." stands for any lines, and "..." at the end of a line for its rest. `ggufx serve` runs in the
background until the next one, at a free port instead of 8080. Other tests run the lines of `sh` blocks; ELSEWHERE
names them.

usage: pages.py SOURCE_ROOT BUILD_ROOT WORKDIR MODEL PAGE...     (exit 77: a command needs a tool that is absent)
SPDX-License-Identifier: MIT
"""
import importlib.util
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import public

# Prefixes of lines of `sh` blocks, and the test that runs them.
ELSEWHERE = {
    "apt-get update && apt-get install -y --no-install-recommends g++ meson": "tests/fresh.sh",
    "meson setup build": "tests/fresh.sh", "meson compile -C build": "tests/fresh.sh",
    "meson install -C build && ldconfig": "tests/fresh.sh",
    "mkdir -p ../package/ggufx && git archive HEAD": "tests/debian.sh, in a folder of its own",
}
# Commands that a test with more tools runs: tests/serve_clients.sh has npm's packages.
WITH_PACKAGES = {"node": ("node_modules/openai", "tests/serve_clients.sh")}
TOOLS = ("curl", "mpirun", "cmake")  # needed by commands; pages that lack one are run again where it is installed
LIMIT_SECONDS = 120
BLOCK = re.compile(r"^```(\w+)[ \t]*(\S*)\n(.*?)^```$", re.M | re.S)

PKG_CONFIG = """Name: ggufx
Description: the library of this build
Version: {version}
Cflags: -I{root}/include
Libs: -L{library} -lggufx
"""


def blocks(text):
    """Returns (language, name, body) of each fenced block."""
    return BLOCK.findall(text)


def commands(body):
    """Returns (command, expected lines of its output) of a console block."""
    found = []
    for line in body.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    return found


def missing_lines(expected, output):
    """Returns the first expected line that is missing in the output at its position, or None."""
    squeeze = lambda line: " ".join(line.split())
    lines, at = [squeeze(line) for line in output.splitlines()], 0
    for line in map(squeeze, expected):
        if line == "...":
            continue
        fits = (lambda other: other.startswith(line[:-3])) if line.endswith("...") else (lambda other: other == line)
        found = next((i for i in range(at, len(lines)) if fits(lines[i])), None)
        if found is None:
            return line
        at = found + 1
    return None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Page:
    def __init__(self, root, build, work, model, path):
        self.path, self.work, self.faults, self.absent, self.n_run = path, work, [], set(), 0
        self.server, self.port = None, None
        shutil.rmtree(work, ignore_errors=True)
        (work / "bin").mkdir(parents=True)
        if "--export model.gguf" not in (root / path).read_text(encoding="utf-8"):
            shutil.copy(model, work / "model.gguf")
        self.tool = build / "ggufx"
        (work / "bin/ggufx").symlink_to(self.tool)
        (work / "bin/python3").symlink_to(sys.executable)
        (work / "bin/ggufx.pc").write_text(PKG_CONFIG.format(version="0.1.0", root=root, library=build / "src"))
        self.environment = {
            **os.environ, "PATH": f"{work / 'bin'}:{os.environ['PATH']}", "LD_LIBRARY_PATH": str(build / "src"),
            "PKG_CONFIG_PATH": str(work / "bin"), "GGUFX_LIBRARY": str(build / "src/libggufx.so.0"),
            "PYTHONPATH": str(root / "bindings/python"), "LC_ALL": "C.UTF-8", "COLUMNS": "80", "NO_COLOR": "1",
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1"}

    def fault(self, text):
        self.faults.append(f"{self.path}: {text}")

    def write_file(self, language, name, body):
        (self.work / name).write_text(body)
        if language == "c":
            result = self.shell(f"cc -std=c11 -Wall -Wextra -Werror -fsyntax-only $(pkg-config --cflags ggufx) {name}")
            if result.returncode:
                self.fault(f"{name}: {result.stderr}")

    def needs(self, command):
        """Returns the missing tool or Python module that a command needs, or None."""
        for tool in TOOLS:
            if re.search(rf"(^|[|;&(] *){tool}\b", command) and not shutil.which(tool):
                return tool
        for name in re.findall(r"python3 (\S+\.py)", command):
            path = self.work / name
            text = path.read_text() if path.is_file() else ""
            if "import ggufx" in text and importlib.util.find_spec("numpy") is None:
                return "NumPy"
        if " serve" in command and "serve" not in self.shell("ggufx help").stdout:
            return "a tool with serve"
        if "mpirun" in command and not list(self.tool.parent.glob("src/plugins/mpi/libggufx-mpi.so*")):
            return "libggufx-mpi"
        return None

    def shell(self, command):
        return subprocess.run(["bash", "-c", "set -o pipefail; " + command], cwd=self.work, env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_SECONDS)

    def serve(self, command):
        self.stop()
        self.port = free_port()
        command = command.replace("8080", str(self.port)) if "8080" in command else f"{command} --port {self.port}"
        self.server = subprocess.Popen(["bash", "-c", "exec " + command], cwd=self.work, env=self.environment,
                                       stdin=subprocess.DEVNULL, stderr=(self.work / "server.log").open("w"))
        end = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < end and self.server.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        self.fault(f"{command}: no server: {(self.work / 'server.log').read_text()}")

    def stop(self):
        if self.server:
            self.server.send_signal(signal.SIGTERM)
            self.server.wait(LIMIT_SECONDS)
            self.server = None

    def is_elsewhere(self, command):
        """Returns whether another test runs a command, because its packages are missing here."""
        folder, test = WITH_PACKAGES.get(command.split()[0], (None, None))
        if folder is None or any((parent / folder).is_dir() for parent in self.work.parents):
            return False
        print(f"{self.path}: {test} runs: {command}")
        return True

    def run(self, command, expected):
        if self.is_elsewhere(command):
            return
        absent = self.needs(command)
        if absent:
            print(f"{self.path}: not run for want of {absent}: {command}")
            self.absent.add(absent)
            return
        self.n_run += 1
        if command.startswith("ggufx serve"):
            return self.serve(command)
        if self.port:
            command = command.replace("8080", str(self.port))
        result = self.shell(command)
        if result.returncode:
            return self.fault(f"$ {command}\nexit {result.returncode}\n{result.stdout}{result.stderr}")
        line = missing_lines(expected, result.stdout + result.stderr)
        if line is not None:
            self.fault(f"$ {command}\ndoes not print: {line}\nbut:\n{result.stdout}{result.stderr}")

    def check(self, text):
        for language, name, body in blocks(text):
            if language == "console":
                for command, expected in commands(body):
                    self.run(command, expected)
            elif language == "sh":
                for line in filter(None, body.splitlines()):
                    self.n_run += 1
                    if not any(line.startswith(begin) for begin in ELSEWHERE):
                        self.fault(f"no test is known to run: {line}")
            elif name:
                if self.port:
                    body = body.replace("8080", str(self.port))
                self.write_file(language, name, body)
            elif language in ("c", "python", "py", "js"):
                self.fault(f"a block of {language} without a file name is not run")
        self.stop()


def main():
    root, build, work, model = (pathlib.Path(a).resolve() for a in sys.argv[1:5])
    faults, absent, n_run = [], set(), 0
    for name in sys.argv[5:]:
        page = Page(root, build, work / name.replace("/", "-"), model, name)
        try:
            page.check((root / name).read_text(encoding="utf-8"))
        finally:
            page.stop()
        faults, absent, n_run = faults + page.faults, absent | page.absent, n_run + page.n_run
    if absent and not faults:
        print("skipped in part: no " + ", ".join(sorted(absent)))
        sys.exit(77)
    public.finish("commands of pages", faults, n_run)


if __name__ == "__main__":
    main()
