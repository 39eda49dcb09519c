# Shell completion: the tool's answers, then typed keys in bash, zsh and fish.
# SPDX-License-Identifier: MIT
import os
import pty
import re
import select
import shlex
import shutil
import signal
import time

import tool
from tool import SOURCE, TOOL, WRAPPER


def words_of(answer):
    """Returns kind and words of an answer to --complete."""
    lines = answer.decode().splitlines()
    return lines[0], [line.split("\t")[0] for line in lines[1:]]


class Answers(tool.Case):
    def complete(self, *words):
        return words_of(self.ok("--complete", *words))

    def words(self, *words):
        kind, found = self.complete(*words)
        self.assertEqual(kind, "words", words)
        return found

    def files(self, *words):
        self.assertEqual(self.complete(*words), ("files", []), words)

    def test_commands(self):
        self.assertEqual(self.words("ma"), ["manual"])
        self.assertEqual(self.words("--json", "-o", "x", "vali"), ["validate"])
        self.assertEqual(self.words("bench", "mat"), ["matvec", "matmul"])
        self.assertEqual(self.words("zzz"), [])
        self.assertEqual(self.words("help", "vali"), ["validate"])
        self.assertEqual(self.words("help", "bench", "mat"), ["matvec", "matmul"])
        usage = re.findall(rb"^  (\S+) +\S", self.ok("--help").split(b"Commands:")[1]
                           .split(b"Examples:")[0], re.M)
        self.assertEqual(self.words(""), [name.decode() for name in usage])

    def test_options_are_those_of_the_help(self):
        for verb in (["quantize"], ["bench", "matvec"], ["info"], ["run"]):
            offered = self.words(*verb, "--")
            usage = self.ok(*verb, "--help").decode()
            own = re.findall(r"^  (?:-\w,)?(?:--[\w-]+,)*(--[\w-]+)", usage, re.M)
            self.assertGreater(len(own), 4)
            self.assertEqual(offered[: len(own)], own)
            self.assertIn("--threads", offered)
            self.assertEqual(len(offered), len(set(offered)))

    def test_values_of_options(self):
        self.assertEqual(self.words("--color", ""), ["auto", "always", "never"])
        self.assertEqual(self.words("types", "--progress", "j"), ["json"])
        self.assertEqual(self.words("types", "--progress=j"), ["--progress=json"])
        self.assertEqual(self.words("cpu", "--isa", "neon_"), ["neon_dot", "neon_i8mm"])
        self.assertEqual(self.words("cpu", "--isa", "al"), [])
        self.assertEqual(self.words("selftest", "--isa", "al"), ["all"])
        self.assertEqual(self.words("bench", "matvec", "--isa", "avx2,sc"), ["avx2,scalar"])
        self.assertEqual(self.words("convert", "a", "--outtype", "b"), ["bf16"])
        self.assertEqual(self.words("run", "-n", ""), [])

    def test_names_of_types(self):
        types = [t["name"] for t in self.json("types")["types"] if t["kind"] in ("float", "quantized")]
        self.assertEqual(self.words("selftest", "--type", ""), types)
        self.assertEqual(self.words("selftest", "--type", "Q4_k"), ["q4_K"])
        self.assertEqual(self.words("bench", "matvec", "--type", ""), [*types, "all"])
        self.assertEqual(self.words("bench", "matvec", "--type=q4_K,mx"), ["--type=q4_K,mxfp4"])
        self.assertEqual(self.words("quantize", "--candidates", "q4_K,q6"), ["q4_K,q6_K"])
        self.assertEqual(self.words("run", "--ctk", "gx"), ["gx2", "gx3", "gx4"])
        self.assertEqual(self.words("quantize", "--type", "q4_k_"), ["Q4_K_M", "Q4_K_S"])
        self.assertEqual(self.words("types", "f16", "bf"), ["bf16"])
        self.assertEqual(self.words("fit", "--kv", "gx3"), ["gx3"])
        self.assertEqual(self.words("fit", "--type", "iq3_xx"), ["IQ3_XXS"])

    def test_names_of_files(self):
        for words in (["info", "a"], ["info", "--kv", ""], ["--json", "info", "-v", ""], ["info", "a", ""], ["-o", ""], ["types", "-o", "x"],
                      ["types", "--output=x"], ["quantize", "a", ""], ["quantize", "--imatrix", ""],
                      ["run", "--file", "x"], ["info", "--", "-x"], ["diff", "a", "b"],
                      ["imatrix", "merge", "a", "b"]):
            self.files(*words)
        for words in (["diff", "a", "b", ""], ["dequant", "f", "to"], ["run", "--prompt", "a"], ["run", "m", ""],
                      ["info", "--nosuch="], ["set", "f", "general.n"]):
            self.assertEqual(self.words(*words), [], words)

    def test_no_answer_fails(self):
        for words in ([""], ["-"], ["--"], ["="], ["--=", ""], ["--x=y", "--"], ["\x1b", "\xff"],
                      ["bench", "nosuch", ""], ["--isa", "--isa", "--isa"]):
            self.ok("--complete", *words)
        self.fails(2, "--complete")

    def test_scripts_are_the_installed_files(self):
        for shell in ("bash", "zsh", "fish"):
            with open(os.path.join(SOURCE, "src/cli/shells/ggufx." + shell), "rb") as file:
                self.assertEqual(self.ok("completion", shell), file.read())
        self.fails(2, "completion", "csh")
        self.assertEqual(self.words("completion", ""), ["bash", "zsh", "fish"])


# Typed keys -> arguments of the resulting run of the tool. Words are separated by spaces.
TYPED = {
    "ggufx manu\t": "manual",
    "ggufx --jso\ttypes\t": "--json types",
    "ggufx bench matv\t": "bench matvec",
    "ggufx quantize a b --type iq4_n\t": "quantize a b --type IQ4_NL",
    "ggufx cpu --isa=neon_i\t": "cpu --isa=neon_i8mm",
    "ggufx cpu --isa neon_i\t": "cpu --isa neon_i8mm",
    "ggufx bench matvec --type q4_K,mxf\t": "bench matvec --type q4_K,mxfp4",
    "ggufx info only-\t": "info only-one.gguf",
    "ggufx types --output=only-\t": "types --output=only-one.gguf",
    "ggufx types q4_k only-\t": "types q4_k only-",
}


class Shells(tool.Case):
    def setUp(self):
        super().setUp()
        self.path("only-one.gguf", b"")
        self.record = self.path("arguments")
        os.mkdir(self.path("bin"))
        program = self.path("bin/ggufx", b"".join([
            b'#!/bin/sh\ncase "$1" in\n--complete | completion) exec ',
            " ".join(map(shlex.quote, [*WRAPPER, TOOL])).encode(), b' "$@" ;;\nesac\n',
            b'printf "%s\\n" "$*" > arguments.part && mv arguments.part arguments\n']))
        os.chmod(program, 0o755)

    def start(self, command):
        """Starts a shell on a terminal of its own, in the test's folder."""
        pid, terminal = tool.on_pseudo_terminal(pty.fork)
        if pid == 0:
            os.chdir(self.folder)
            kept = tool.environment(HOME=self.folder, TERM="dumb", PS1="$ ", XDG_CONFIG_HOME=self.folder,
                                    XDG_DATA_HOME=self.folder,
                                    PATH=self.path("bin") + os.pathsep + os.environ["PATH"])
            os.execvpe(command[0], command, kept)
        self.addCleanup(self.stop, pid, terminal)
        return terminal

    def stop(self, pid, terminal):
        os.close(terminal)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    def run_line(self, terminal, keys):
        """Types keys and return; returns the arguments of the program after its run."""
        if os.path.exists(self.record):
            os.remove(self.record)
        os.write(terminal, keys.encode() + b"\r")
        seen, end = b"", time.monotonic() + 60
        while time.monotonic() < end:
            if select.select([terminal], [], [], 0.02)[0]:
                seen += os.read(terminal, 4096)
            if os.path.exists(self.record):
                with open(self.record, encoding="utf-8") as file:
                    return file.read().strip()
        self.fail(f"{keys!r}: nothing ran; seen {seen!r}")

    def check(self, command, load):
        if not shutil.which(command[0]):
            self.skipTest("no " + command[0])
        terminal = self.start(command)
        self.assertEqual(self.run_line(terminal, "ggufx started"), "started")
        self.assertEqual(self.run_line(terminal, load + "; ggufx loaded"), "loaded")
        for keys, expected in TYPED.items():
            self.assertEqual(self.run_line(terminal, keys), expected, keys)

    def test_bash(self):
        self.check(["bash", "--norc", "--noprofile", "-i"], 'eval "$(ggufx completion bash)"')

    def test_zsh(self):
        self.check(["zsh", "-f", "-i"],
                   'autoload -Uz compinit; compinit -u -D; source <(ggufx completion zsh)')

    def test_zsh_from_the_folder_of_functions(self):
        os.mkdir(self.path("functions"))
        shutil.copy(os.path.join(SOURCE, "src/cli/shells/ggufx.zsh"), self.path("functions/_ggufx"))
        self.check(["zsh", "-f", "-i"],
                   "fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -u -D")

    def test_fish(self):
        # Without this folder fish generates it from all manual pages, in the background, even after its end.
        os.makedirs(self.path("fish/generated_completions"))
        self.check(["fish", "-i"], "ggufx completion fish | source")


if __name__ == "__main__":
    tool.main()
