"""A large tensor goes into an array without a second copy: the process never holds more than the
array and the file.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import unittest

import numpy as np

import ggufx
from ggufx import File, Runtime, TensorType, Writer

from .common import Case

MIB = int(os.environ.get("GGUFX_TEST_MIB", "256"))
COLUMNS = 4096
SLACK = 16 << 20  # memory of the interpreter and the library


def status(key: str) -> int:
    """Bytes of a line of /proc/self/status."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(key + ":"))


def write(path: pathlib.Path) -> None:
    """Q4_0 that decodes to MIB: rows of one pattern, made while they are written."""
    block = bytes([0, 0x3c]) + bytes(range(16))
    with Runtime() as rt, Writer(rt) as writer:
        writer.add_stream("t", TensorType.Q4_0, (COLUMNS, (MIB << 20) // (4 * COLUMNS)),
                          lambda offset, n: block * (n // 18))
        writer.write(path)


def decode(path: pathlib.Path, given: bool) -> None:
    """Runs in a separate process; prints the peak memory above the initial one."""
    with Runtime(threads=2) as rt, File.open(rt, path) as file:
        w = file.tensor("t")
        w.slice(1, 0, 8).dequantize()
        pathlib.Path("/proc/self/clear_refs").write_text("5")  # resets the peak
        before = status("VmRSS")
        out = w.dequantize(np.empty(w.shape, np.float32)) if given else w.dequantize()
        peak = status("VmHWM") - before
        expected = ggufx.dequantize(rt, TensorType.Q4_0, w.raw[:1])
        assert (out[[0, len(out) // 2, -1]] == expected).all()
        print(out.nbytes, w.n_bytes, peak)


class Memory(Case):
    def test_no_second_copy(self) -> None:
        if not os.access("/proc/self/clear_refs", os.W_OK):
            raise unittest.SkipTest("no /proc of Linux")
        path = self.folder / "large.gguf"
        write(path)
        for given in (False, True):
            done = subprocess.run(
                [sys.executable, "-m", "tests.test_memory", str(path), str(int(given))],
                capture_output=True, text=True, check=False, timeout=300,
                cwd=pathlib.Path(__file__).resolve().parents[1])
            self.assertEqual(done.returncode, 0, done.stderr)
            array, file, peak = map(int, done.stdout.split())
            print(f"decode of {array >> 20} MiB from {file >> 20} MiB: "
                  f"{peak >> 20} MiB more than before")
            self.assertEqual(array, MIB << 20)
            self.assertLess(peak, array + file + SLACK)
            self.assertGreater(peak, array // 2)  # it was measured


if __name__ == "__main__":
    decode(pathlib.Path(sys.argv[1]), sys.argv[2] == "1")
