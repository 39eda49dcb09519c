"""What the tests share.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import os
import pathlib
import struct
import tempfile
import unittest
from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

import ggufx
from ggufx import DecodeFlags, DecodeItem, File, KvCache, TensorType, RopeStyle, Runtime, Status

_TREE = pathlib.Path(__file__).resolve().parents[3] / "tests/data/tiny-stories-Q8_0.gguf"
MODEL = os.environ.get("GGUFX_TEST_MODEL", str(_TREE))
Floats = NDArray[np.float32]


class Case(unittest.TestCase):
    """A test case with a runtime, a folder and the demo model."""

    rt: Runtime

    @classmethod
    def setUpClass(cls) -> None:
        try:
            cls.rt = Runtime(threads=2)
        except ggufx.LibraryError as e:
            if "GGUFX_TEST_MODEL" in os.environ:  # the project's own run has one
                raise
            raise unittest.SkipTest(str(e)) from None

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def demo(self) -> File:
        """The demo model; without it a test is skipped with a word."""
        if "GGUFX_TEST_MODEL" not in os.environ and not os.path.exists(MODEL):
            raise unittest.SkipTest(f"no model at {MODEL}: name one in GGUFX_TEST_MODEL")
        return File.open(self.rt, MODEL)

    def demo_bytes(self) -> bytes:
        self.demo().close()
        return pathlib.Path(MODEL).read_bytes()

    def fails(self, code: Status, call: Callable[..., Any], *arguments: Any,
              **named: Any) -> ggufx.Error:
        with self.assertRaises(ggufx.Error) as seen:
            call(*arguments, **named)
        self.assertEqual(seen.exception.code, code, seen.exception)
        self.assertGreater(len(str(seen.exception)), 4)
        return seen.exception

    def near(self, a: Any, b: Any, limit: float) -> None:
        self.assertEqual(np.shape(a), np.shape(b))
        off = np.abs(np.asarray(a, float) - np.asarray(b, float))
        self.assertLessEqual(float(off.max()), limit)

    def same(self, a: Any, b: Any) -> None:
        np.testing.assert_array_equal(a, b)


def numbers(*shape: int) -> Floats:
    """The same values as in the tests of other languages."""
    n = np.arange(int(np.prod(shape)), dtype=np.int64)
    of = (n * 7919 + 13) % 2003
    return (of.astype(np.float32) / np.float32(1001) - np.float32(1)).reshape(shape)


def item(sequence: int, tokens: Any, flags: int = DecodeFlags.LOGITS, **more: Any) -> DecodeItem:
    """Tokens of which the last one's logits are asked for."""
    return DecodeItem(sequence, flags=flags, tokens=tokens, **more)


def options(**changed: Any) -> dict[str, Any]:
    asked: dict[str, Any] = dict(
        n_layers=2, n_kv_heads=2, n_q_heads=4, head_dim_k=32, type_k=TensorType.F32, type_v=TensorType.F32,
        n_sequences=3, max_tokens=256, rope_style=RopeStyle.INTERLEAVED)
    return {**asked, **changed}


def filled(rt: Runtime, n: int) -> KvCache:
    kv = KvCache(rt, **options())
    for layer in range(2):
        kv.append(layer, 0, numbers(n, 2, 32), v=numbers(n, 2, 32))
    return kv


def old_imatrix() -> bytes:
    """Two tensors of two and three columns, one call of 512 tokens, data set "text"."""
    data = struct.pack("<i", 2)
    for name, values in ((b"a.weight", (512, 1024)), (b"b.weight", (1, 2, 3))):
        data += struct.pack(f"<i{len(name)}sii{len(values)}f", len(name), name, 1, len(values),
                            *values)
    return data + struct.pack("<ii4s", 1, 4, b"text")
