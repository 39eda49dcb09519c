"""Caches, attention and snapshots.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import io
from typing import Any

import numpy as np

from ggufx import KV_ALL_LAYERS, ALL_SEQUENCES, KvCache, KvLayerOptions, Status, TensorType

from .common import Case, Floats, filled, numbers, options


class Caches(Case):
    def attended(self, kv: KvCache, sequence: int = 0, **named: Any) -> Floats:
        return kv.attend(0, sequence, numbers(1, 4, 32), **named)

    def cache(self, **changed: Any) -> KvCache:
        return KvCache(self.rt, **options(**changed))

    def test_attention(self) -> None:
        kv = filled(self.rt, 40)
        k = numbers(40, 2, 32).astype(float)
        expected = np.empty((1, 4, 32))
        for head, q in enumerate(numbers(1, 4, 32)[0].astype(float)):
            weights = np.exp(k[:, head // 2] @ q / np.sqrt(32))
            expected[0, head] = weights @ k[:, head // 2] / weights.sum()
        out, lse = np.empty((1, 4, 32), np.float32), np.empty((1, 4), np.float32)
        self.assertIs(self.attended(kv, out=out, lse=lse), out)
        self.near(out, expected, 1e-5)
        self.assertTrue(np.isfinite(lse).all())
        self.same(kv.read(0, 0, 3, 2)[0], numbers(40, 2, 32)[3:5])
        self.same(kv.read(1, 0, 3, 2)[1], numbers(40, 2, 32)[3:5])
        scores = kv.scores(0, 0, numbers(1, 4, 32), 0)
        self.assertEqual(scores.shape, (1, 4, 40))
        self.near(scores[0, 0], k[:, 0] @ numbers(1, 4, 32)[0, 0] / np.sqrt(32), 1e-4)
        self.assertEqual((kv.length(0), kv.length(1)), (40, 0))
        self.same(kv.positions(0, 38, 2), [38, 39])
        self.fails(Status.ARGUMENT, kv.attend, 0, 0, numbers(100))
        self.fails(Status.ARGUMENT, kv.attend, 0, 0, numbers(1, 4, 32), positions=[1, 2])
        self.fails(Status.ARGUMENT, self.attended, kv, lse=np.empty(3, np.float32))
        self.fails(Status.ARGUMENT, kv.read, 0, 0, 39, 2)
        self.fails(Status.CANCELLED, self.attended, kv, progress=lambda done, total: False)

    def test_batches_and_halves(self) -> None:
        kv = filled(self.rt, 5)
        kv.copy(0, 1, 0, 5)
        one = self.attended(kv)
        two = kv.attend(0, 0, np.repeat(numbers(1, 4, 32), 2, 0), sequences=[1, 0])
        self.same(two[0], one[0])
        self.same(two[1], one[0])
        kv.append(0, 0, numbers(2, 2, 32), v=numbers(2, 2, 32), sequences=[0, 1], positions=[5, 5])
        self.same(kv.read(0, 1, 5, 1)[0][0], numbers(2, 2, 32)[1])
        half = self.cache()
        rows = numbers(3, 2, 32)
        half_rows = rows.astype(np.float16)
        half.append(0, 0, half_rows, v=half_rows, type=TensorType.F16)
        self.same(half.read(0, 0, 0, 3)[0], rows.astype(np.float16).astype(np.float32))
        bf16 = (rows.view(np.uint32) >> 16).astype(np.uint16)
        half.append(0, 0, bf16, v=bf16, type=TensorType.BF16, positions=[3, 4, 5])
        self.same(half.read(0, 0, 3, 3)[0].view(np.uint32) >> 16, bf16)
        self.fails(Status.ARGUMENT, half.append, 0, 0, rows, v=rows, type=TensorType.F16)
        self.fails(Status.ARGUMENT, kv.append, 0, 0, numbers(65), v=numbers(65))
        self.fails(Status.ARGUMENT, kv.append, 0, 0, rows, v=rows, positions=[1, 2])
        self.fails(Status.ARGUMENT, kv.append, 9, 0, rows, v=rows)
        rows[1, 0, 0] = np.nan
        self.assertEqual(self.fails(Status.VALUE, kv.append, 0, 0, rows, v=rows).index, 1)

    def test_edits_of_sequences(self) -> None:
        kv = filled(self.rt, 10)
        before = self.attended(kv)
        kv.begin(0)
        kv.append(0, 0, numbers(1, 2, 32), v=numbers(1, 2, 32))
        kv.rollback(0)
        self.same(self.attended(kv), before)
        kv.commit(0)
        kv.shift(0, 0, 10, 5)
        self.same(kv.positions(0, 0, 10), range(5, 15))
        kv.shift(0, 0, 10, -5)
        self.same(self.attended(kv), before)
        kv.remove(0, 2, 2)
        self.assertEqual(kv.length(0), 8)
        kv.compact(0)
        kv.truncate(0, 3)
        self.assertEqual(kv.length(0), 3)
        kv.reserve(1, 100)
        self.assertGreater(kv.info(0).n_pages, 1)
        kv.keep(0)
        kv.requantize(KV_ALL_LAYERS, TensorType.Q8_0, TensorType.Q8_0)
        self.assertEqual(kv.info(KV_ALL_LAYERS).type_k, TensorType.Q8_0)
        kv.clear()
        self.assertEqual(kv.length(0), 0)
        gx = self.cache(type_k=TensorType.GX4, type_v=TensorType.GX4)
        gx.calibrate(0, mu_k=numbers(2, 32), eq_k=np.ones(64, np.float32), mu_v=numbers(2, 32))
        self.fails(Status.ARGUMENT, gx.calibrate, 0, mu_k=numbers(3))
        self.fails(Status.CAPACITY, kv.reserve, 0, 257)
        self.assertGreater(self.rt.kv_estimate(256, **options()), 256 * 2 * 2 * 64 * 4)

    def test_snapshots(self) -> None:
        kv = filled(self.rt, 70)
        before = self.attended(kv)
        data = io.BytesIO()
        kv.save(0, data.write)
        kv.save_file(ALL_SEQUENCES, self.folder / "all")
        other = self.cache()
        other.load(0, io.BytesIO(data.getvalue()).read)
        self.same(self.attended(other), before)
        other = self.cache()
        other.load_file(ALL_SEQUENCES, self.folder / "all")
        self.same(self.attended(other), before)
        other = self.cache()
        self.fails(Status.MAGIC, other.load, 0, io.BytesIO(bytes(4096)).read)
        with self.assertRaises(EOFError):
            other.load(0, io.BytesIO(data.getvalue()[:-1]).read)
        e = self.fails(Status.IO, other.load_file, 0, self.folder / "none")
        self.assertEqual(e.system_error, 2)
        self.assertEqual(other.length(0), 0)

        class Full(io.BytesIO):
            def write(self, data: Any, /) -> int:
                raise OSError(28, "full")
        with self.assertRaisesRegex(OSError, "full"):
            kv.save(0, Full().write)

    def test_arrays_of_options(self) -> None:
        table = np.array([0.5, 0.158113883, 0.05, 0.0158113883])  # what base and scale give
        keys = []
        for kv in (self.cache(rope_dims=8, rope_base=100, rope_scale=0.5),
                   self.cache(rope_dims=8, rope_frequencies=table)):
            for layer in range(2):
                kv.append(layer, 0, numbers(1, 2, 32), v=numbers(1, 2, 32))
            kv.shift(0, 0, 1, 1)
            keys.append(kv.read(0, 0, 0, 1)[0])
        self.near(keys[0], keys[1], 1e-6)
        self.near(keys[0].reshape(-1)[:4], [-1.307774, 0.335124, 0.702069, 0.856494], 1e-5)
        narrow = self.cache(layers=[KvLayerOptions(TensorType.F32, TensorType.F32, 2), KvLayerOptions()])
        narrow.append(0, 0, numbers(5, 2, 32), v=numbers(5, 2, 32))
        self.near(self.attended(narrow)[0, 0, 0], -0.795041, 1e-5)
        self.fails(Status.ARGUMENT, self.cache, layers=[KvLayerOptions()])
