"""How the library is found, and what is said when it is not.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import builtins
import os
import pathlib
import shutil
import subprocess
import sys

import ggufx
from ggufx import _library

from .common import Case


class Library(Case):
    def test_one_version(self) -> None:
        self.assertEqual(ggufx.__version__, ggufx.version())
        project = pathlib.Path(__file__).resolve().parents[1] / "pyproject.toml"
        if project.exists():
            self.assertIn(f'\nversion = "{ggufx.__version__}"\n', project.read_text())

    def test_every_name_is_there(self) -> None:
        self.assertEqual([n for n in ggufx.__all__ if not hasattr(ggufx, n)], [])
        self.assertEqual(len(set(ggufx.__all__)), len(ggufx.__all__))
        self.assertEqual([n for n in ggufx.__all__ if hasattr(builtins, n)], [])
        for name in ("File", "TruncatedError", "TensorType", "KV_ALL_LAYERS", "quantize"):
            self.assertIn(name, ggufx.__all__)

    def python(self, program: str, **environment: str) -> subprocess.CompletedProcess[str]:
        tree = str(pathlib.Path(__file__).resolve().parents[1])
        return subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
            env={**os.environ, "PYTHONPATH": tree, **environment})

    def test_it_is_found_as_the_loader_finds_it(self) -> None:
        shutil.copy(ggufx.library_path(), self.folder / _library.NAMES[0])
        done = self.python("import ggufx; print(ggufx.version(), ggufx.library_path())",
                           GGUFX_LIBRARY="", LD_LIBRARY_PATH=str(self.folder))
        self.assertEqual(done.stdout, f"{ggufx.version()} {_library.NAMES[0]}\n")

    def test_a_path_comes_first(self) -> None:
        path = self.folder / "another"
        shutil.copy(ggufx.library_path(), path)
        done = self.python(f"import ggufx; ggufx.load({str(path)!r}); ggufx.load()\n"
                           "print(ggufx.has('type:f32'), ggufx.library_path())\n"
                           "ggufx.load('elsewhere')", GGUFX_LIBRARY="/nowhere")
        self.assertEqual(done.stdout, f"True {path}\n")
        self.assertIn(f"LibraryError: {path} is loaded already, not elsewhere", done.stderr)

    def test_what_is_said_when_there_is_none(self) -> None:
        program = "import ggufx\nprint('imported')\nggufx.Runtime()"
        done = self.python(program, GGUFX_LIBRARY="/nowhere/x.so")
        self.assertEqual(done.stdout, "imported\n")  # nothing is loaded before it is used
        self.assertIn("/nowhere/x.so", done.stderr)
        self.assertIn("install libggufx, or name its file in GGUFX_LIBRARY", done.stderr)
        other = next(pathlib.Path("/").glob("lib/*/libm.so.6"), None)
        if other is not None:
            done = self.python(program, GGUFX_LIBRARY=str(other))
            self.assertIn("has no ggufx_", done.stderr)

    def test_an_exit_with_everything_open(self) -> None:
        done = self.python(
            "import ggufx, os, threading, numpy as np\n"
            "rt = ggufx.Runtime(log=lambda level, text: None)\n"
            "w = ggufx.Tensor.of(rt, np.ones((64, 64), np.float32))\n"
            "raw, x = w.raw, np.ones(64, np.float32)\n"
            "def call():\n    while True: w.matvec(x)\n"
            "for _ in range(4): threading.Thread(target=call, daemon=True).start()\n"
            "print(w.matvec(x)[0])\n")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "64.0\n", ""))
