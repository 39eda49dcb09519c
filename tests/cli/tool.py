# Shared by the tests of the tool: running it, the test data, generated GGUF files.
# SPDX-License-Identifier: MIT
import atexit
import functools
import itertools
import json
import os
import shlex
import struct
import subprocess
import sys
import tempfile
import unittest

TOOL = os.environ["GGUFX_TOOL"]
DATA = os.environ.get("GGUFX_TEST_DATA", "")
MODELS = os.environ.get("GGUFX_TEST_MODELS", "")
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(SOURCE, "tests", "gguf"))
from data_folders import codes_of  # noqa: E402
MODEL = os.path.join(SOURCE, "tests", "data", "tiny-stories-Q8_0.gguf")
STEP = int(os.environ.get("GGUFX_TEST_CLI_STEP", "1"))
SANITIZED = STEP >= 6  # as set by .ci/run
WRAPPER = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))  # an emulator in cross builds


STARTS = itertools.count()


def environment(**extra):
    """Returns the caller's environment without the options that the tool reads from it; faults/mutations.py has others.
    If only every n-th case runs, only every n-th start of the tool checks for leaks, which take half of a start's
    time."""
    kept = {k: v for k, v in os.environ.items()
            if k.startswith("GGUFX_FAULT") or not k.startswith("GGUFX_") and k != "NO_COLOR"}
    if "ASAN_OPTIONS" in kept and next(STARTS) % STEP != 0:
        kept["ASAN_OPTIONS"] += ":detect_leaks=0"
    return {**kept, **extra}


def run(*args, env=None, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("timeout", 300)
    return subprocess.run([*WRAPPER, TOOL, *map(str, args)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=env or environment(), **options)


def shared(*parts):
    """Returns a file of the shared test data; skips the test if it is missing."""
    path = os.path.join(DATA, *parts)
    if not DATA or not os.path.exists(path):
        raise unittest.SkipTest("no " + os.path.join(*parts) + " (GGUFX_TEST_DATA)")
    return path


def on_pseudo_terminal(open_it):
    """Returns the result of open_it, pty.openpty or pty.fork; skips the test without pseudo-terminals (in a chroot)."""
    try:
        return open_it()
    except OSError as error:
        raise unittest.SkipTest("no pseudo-terminal: %s" % error) from None


def tiny(name=None):
    """Returns the path of a tiny model that the build generated, or the folder with a folder for each model."""
    folder = os.path.join(MODELS, "data", "tiny")
    if not MODELS or not os.path.isdir(folder):
        raise unittest.SkipTest("no tiny models (GGUFX_TEST_MODELS): the build needs python3-numpy to make them")
    return os.path.join(folder, name, f"tiny-{name}-f16.gguf") if name else folder


# The generator of the tiny models and the reference implementation.
REFERENCE = os.path.join(SOURCE, "tests", "models")


@functools.lru_cache(None)
def made_files():
    """Returns the folder of tests/gguf/make_files.py's output: from the build, or generated here."""
    if "GGUFX_MADE_FILES" in os.environ:
        return os.environ["GGUFX_MADE_FILES"]
    folder = tempfile.TemporaryDirectory(prefix="ggufx-made-")
    atexit.register(folder.cleanup)
    subprocess.run([sys.executable, os.path.join(SOURCE, "tests", "gguf", "make_files.py"), folder.name], check=True)
    return folder.name


def folders(*parts):
    """Returns a folder of the generated files, and the one of the shared test data if it exists."""
    stored = os.path.join(DATA, *parts)
    if not os.path.isdir(stored):
        print("stored files: skipped, no", stored, "(GGUFX_TEST_DATA)")  # tests/remaining.py reads it
        return [os.path.join(made_files(), *parts)]
    return [os.path.join(made_files(), *parts), stored]


def hostile_files():
    """Returns paths of hostile files, by folder and name."""
    return [os.path.join(folder, name) for folder in folders("data", "malformed", "public") for name in sorted(os.listdir(folder))]


def hostile_cases():
    """Returns {path: expected result} of the hostile files."""
    return {os.path.join(folder, case["file"]): {**case, "code": "|".join(codes_of(case))}
            for folder in folders("data", "malformed")
            for case in read_json(os.path.join(folder, "expected.json"))["cases"]}


def stepped(cases, first=0):
    """Returns every n-th case if GGUFX_TEST_CLI_STEP is n: under sanitizers (.ci/run)."""
    return list(cases)[first % STEP::STEP]


def stepped_sanitized(cases):
    """Returns all cases, except under sanitizers, where each start takes ten times as long. For cases that differ only
    in numbers."""
    return list(cases)[::STEP if SANITIZED else 1]


def ticks(pid):
    """Returns the CPU ticks that a process has used."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ggufx-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name, content=None):
        path = os.path.join(self.folder, name)
        if content is not None:
            with open(path, "wb") as file:
                file.write(content)
        return path

    def ok(self, *args, **options):
        """Returns standard output of a run that must succeed without messages on stderr."""
        result = run(*args, **options)
        self.assertEqual((result.returncode, result.stderr.decode()), (0, ""), args)
        return result.stdout

    def json(self, *args, **options):
        value = json.loads(self.ok(*args, "--json", **options))
        self.assertEqual(value["schema"], 1)
        return value

    def lines(self, *args, **options):
        values = [json.loads(line) for line in self.ok(*args, "--json", **options).splitlines()]
        for value in values:
            self.assertEqual(value["schema"], 1)
        return values

    def tensor_bytes(self, path):
        """Returns the facts of `info --tensors` for each tensor, and its bytes."""
        with open(path, "rb") as file:
            data = file.read()
        return [(t, data[t["abs_offset"]:t["abs_offset"] + t["nbytes"]])
                for t in self.json("info", path, "--tensors")["tensors"]]

    def fails(self, code, *args, **options):
        """Returns the message of a run that must fail with an exit code and print no data."""
        result = run(*args, **options)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, b"")
        self.assertTrue(result.stderr.startswith((b"ggufx: ", b'{"schema":1')), result.stderr)
        return result.stderr.decode()


def string(text):
    text = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(text)) + text


def gguf(kv=(), tensors=(), data=b"", version=3):
    """Returns a little-endian file; kv = (key, type id, value bytes), tensors = (name, ne, type, offset)."""
    out = bytearray(b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(kv)))
    for key, type_id, value in kv:
        out += string(key) + struct.pack("<I", type_id) + value
    for name, ne, type_id, offset in tensors:
        out += string(name) + struct.pack("<I", len(ne)) + struct.pack("<%dQ" % len(ne), *ne)
        out += struct.pack("<IQ", type_id, offset)
    if tensors:
        out += bytes(-len(out) % 32) + data
    return bytes(out)


ARCHITECTURE = ("general.architecture", 8, string("llama"))


class Loader(unittest.TestLoader):
    """Under CI's sanitizers loads every second test of a class. All tests run without sanitizers there, and with them
    in tests/full.sh."""

    def getTestCaseNames(self, testCaseClass):
        names = super().getTestCaseNames(testCaseClass)
        return names[len(names) % 2::2] if SANITIZED and len(names) > 1 else names


def main():
    """Runs the tests of the calling file; exits with 77 if all of them were skipped."""
    program = unittest.main(module="__main__", exit=False, verbosity=2, testLoader=Loader())
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.testsRun and len(result.skipped) == result.testsRun else 0)
