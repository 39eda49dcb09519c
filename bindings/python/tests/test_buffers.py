"""Arrays in and out: what is taken, what is refused, what lives how long, and what is allocated.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import array
import copy
import ctypes
import gc
import mmap
import pathlib
import pickle
import tracemalloc
import weakref
from typing import Any, Callable

import numpy as np

import ggufx
from ggufx import (
    File, Imatrix, Model, Sampler, Session, Status, Tensor, TensorType)

from .common import MODEL, Case, filled, item, numbers, old_imatrix, options


class Buffers(Case):
    def test_every_contiguous_buffer_is_taken(self) -> None:
        w, x = self.demo().tensor("blk.0.attn_q.weight"), numbers(256)
        expected = w.matvec(x)
        out = bytearray(256 * 4)
        for taken in (x, x.data, array.array("f", x.tolist()), numbers(1, 256),
                      numbers(16, 16)):
            self.same(w.matvec(taken), expected)
        w.matvec(x, memoryview(out).cast("f"))
        self.same(np.frombuffer(out, np.float32), expected)
        frozen = x.copy()
        frozen.flags.writeable = False
        self.same(w.matvec(frozen), expected)

    def test_others_are_refused_with_a_word(self) -> None:
        w, x = self.demo().tensor("blk.0.attn_q.weight"), numbers(256)
        for bad, word in (
                (x.astype(float), "type float64, not float32"), (numbers(512)[::2], "C-contiguous"),
                (x.astype(">f4"), "byte order"), (numbers(16, 32).T[:16], "C-contiguous"),
                (np.frombuffer(bytes(1025), np.uint8)[1:].view(np.float32), "aligned"),
                (x.tobytes(), "type uint8"), ([1.0] * 256, "no buffer: list"), (None, "NoneType"),
                ("text", "no buffer")):
            e = self.fails(Status.ARGUMENT, w.matvec, bad)
            self.assertIn("x", str(e))
            self.assertIn(word, str(e))
        frozen = np.empty(256, np.float32)
        frozen.flags.writeable = False
        for bad, word in ((frozen, "out is read-only"), (bytes(1024), "type"),
                          (np.empty(255, np.float32), "shape (255,), (256,) are wanted"),
                          (np.empty(256), "float64"), (np.empty(512, np.float32)[::2], "contig")):
            self.assertIn(word, str(self.fails(Status.ARGUMENT, w.matvec, x, bad)))
            self.assertIn(word.replace("(256,)", ""), str(self.fails(
                Status.ARGUMENT, w.dequantize, bad, 0, 1)).replace("(256,)", "").replace(
                "(1, 256)", ""))
        self.fails(Status.ARGUMENT, File.open_memory, self.rt, np.zeros(64, np.int32))
        self.fails(Status.ARGUMENT, File.open_memory, self.rt, np.zeros((8, 64), np.uint8)[:, ::2])

    def test_numbers_are_not_cut(self) -> None:
        kv = filled(self.rt, 5)
        for bad in (-1, 2**32, 2**32 + 1):
            self.assertIn(str(bad), str(self.fails(Status.ARGUMENT, kv.length, bad)))
            self.fails(Status.ARGUMENT, ggufx.Runtime, threads=bad)
            self.fails(Status.ARGUMENT, Sampler(self.rt, 4, 0).add_top_k, bad)
        self.fails(Status.ARGUMENT, kv.truncate, 0, -1)
        self.fails(Status.ARGUMENT, kv.truncate, 0, 2**64 + 1)
        self.fails(Status.ARGUMENT, kv.shift, 0, 0, 2**63, 1)
        e = self.fails(Status.ARGUMENT, self.rt.kv_estimate, 1, **options(n_layers=2**32 + 2))
        self.assertIn("n_layers is 4294967298", str(e))
        w = self.demo().tensor("blk.0.attn_q.weight")
        self.fails(Status.ARGUMENT, w.slice, 1, -1, 2)
        self.fails(Status.ARGUMENT, w.dequantize, None, -1, 2)
        self.fails(Status.ARGUMENT, w.dequantize, None, 0, -1)
        self.fails(Status.ARGUMENT, Tensor.wrap, self.rt, 0, (-1,), bytes(4))
        self.fails(Status.ARGUMENT, Tensor.wrap, self.rt, 0, (2**64 + 1,), bytes(4))
        self.fails(Status.ARGUMENT, Imatrix.open_memory(self.rt, old_imatrix()).dataset_at, -1)

    def test_an_array_over_a_mapping_keeps_the_file(self) -> None:
        def mapped() -> int:
            return pathlib.Path("/proc/self/maps").read_text().count(MODEL)

        before = mapped()
        file = self.demo()
        w = file.tensor("token_embd.weight")
        raw, part = w.raw, w.slice(1, 3, 2).raw[1]
        inside = mapped()
        self.assertGreater(inside, before)
        kept = raw.tobytes(), part.tobytes()
        w.close()
        file.close()
        del w, file
        gc.collect()
        self.assertEqual(mapped(), inside)  # the close waits for the arrays
        self.assertEqual((raw.tobytes(), part.tobytes()), kept)
        self.assertFalse(raw.flags.writeable)
        with self.assertRaises(ValueError):
            raw.flags.writeable = True
        with self.assertRaises(ValueError):
            raw[0, 0] = 1
        del raw
        self.assertEqual(mapped(), inside)
        del part
        self.assertEqual(mapped(), before)

    def test_a_buffer_is_kept_by_what_uses_it(self) -> None:
        blocks = ggufx.quantize(self.rt, TensorType.Q8_0, numbers(4, 256))
        held = weakref.ref(blocks)
        w = Tensor.wrap(self.rt, TensorType.Q8_0, (256, 4), blocks)
        part, raw = w.slice(1, 0, 2), w.raw
        del blocks, w
        self.assertIsNotNone(held())
        self.assertEqual(part.matvec(numbers(256)).size, 2)
        del part
        self.assertEqual(raw.shape, (4, 272))
        del raw
        self.assertIsNone(held())
        data = bytearray(self.demo_bytes())
        file = File.open_memory(self.rt, data)
        tensor = file.tensor("output_norm.weight")
        file.close()
        with self.assertRaises(BufferError):
            data.clear()
        self.assertEqual(tensor.numpy().size, 256)
        del tensor, file
        data.clear()
        with open(MODEL, "rb") as f:
            mapping = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        file = File.open_memory(self.rt, mapping)
        with self.assertRaises(BufferError):
            mapping.close()
        file.close()
        mapping.close()
        self.fails(Status.MAGIC, File.open_memory, self.rt, bad := bytearray(64))
        bad.clear()  # nothing holds it after a failure

    def test_a_writer_keeps_what_was_added(self) -> None:
        array_ = numbers(4, 32).copy()
        held, writer = weakref.ref(array_), ggufx.Writer(self.rt)
        writer.add_tensor(Tensor.of(self.rt, array_), name="t")
        del array_
        self.assertIsNotNone(held())
        writer.write(self.folder / "x")
        self.same(File.open(self.rt, self.folder / "x").tensor("t").numpy(), numbers(4, 32))
        writer.close()
        self.assertIsNone(held())

    def test_objects_have_one_owner(self) -> None:
        w = Tensor.of(self.rt, numbers(4, 32))
        ways: list[Callable[[Any], object]] = [copy.copy, copy.deepcopy, pickle.dumps]
        for copied in ways:
            for thing in (w, w._own, self.rt, filled(self.rt, 5)):
                with self.assertRaisesRegex(TypeError, "copied or pickled"):
                    copied(thing)

    def test_objects_of_another_kind_are_refused(self) -> None:
        file, wrong = self.demo(), ctypes.ArgumentError
        uses: list[Callable[..., object]] = [
            lambda of: ggufx.Tokenizer(of), lambda of: Model(self.rt, of), lambda of: Model(of, file),
            lambda of: Sampler(of, 8, 0), lambda of: ggufx.Writer(self.rt).add_tensor(of)]
        for use, of in zip(uses, (self.rt, self.rt, file, file, file)):
            with self.assertRaises(wrong):
                use(of)
        others: list[Any] = [file, file._handle, 7, "a"]
        for other in others:  # inside of structs ctypes does not look
            self.assertIn("is no Adapter", str(self.fails(
                Status.ARGUMENT, Session(Model(self.rt, file)).set_adapters, 0, [ggufx.AdapterUse(other, 1)])))
            self.fails(Status.ARGUMENT, self.rt.estimate, file, adapters=[self.rt])

    def test_functions_are_let_go(self) -> None:
        class Mine:
            def __call__(self, *arguments: Any) -> None: ...

        w = self.demo().tensor("blk.0.attn_q.weight")
        uses: list[Callable[[Mine], object]] = [
            lambda f: w.matvec(numbers(256), progress=f), lambda f: File.open(self.rt, MODEL,
                                                                              progress=f),
            lambda f: self.demo().validate(f), lambda f: ggufx.Runtime(log=f),
            lambda f: Session(Model(self.rt, self.demo())).decode([item(0, [1])], attention=f)]
        for use in uses:
            mine = Mine()
            held = weakref.ref(mine)
            use(mine)
            del mine
            gc.collect()
            self.assertIsNone(held(), use)
        from ggufx import _callbacks
        self.assertEqual([k for k, v in _callbacks._live.items()
                          if isinstance(v[0] if isinstance(v, tuple) else v, _callbacks.Following)], [])


class Allocations(Case):
    """Calls with buffers for their results allocate no arrays, not one of the smallest size."""

    LIMIT = 8192

    def peak(self, call: Callable[[], object]) -> int:
        for _ in range(3):
            call()
        gc.collect()
        tracemalloc.start()
        try:
            call()
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            call()
            return tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()

    def none(self, call: Callable[[], object]) -> None:
        self.assertLess(self.peak(call), self.LIMIT)

    def test_products_and_blocks(self) -> None:
        n = 4096
        blocks = ggufx.quantize(self.rt, TensorType.Q8_0, numbers(n, n))
        w = Tensor.wrap(self.rt, TensorType.Q8_0, (n, n), blocks)
        x, y, pair = numbers(n), np.empty(n, np.float32), np.empty((2, n), np.float32)
        self.assertGreater(self.peak(lambda: w.matvec(x)), 4 * n)  # a new array is seen
        self.none(lambda: w.matvec(x, y))
        self.none(lambda: w.matmul(numbers_2, pair))  # noqa: F821
        self.none(lambda: ggufx.matvec_many([w, w], x, [pair[0], pair[1]]))
        self.none(lambda: w.dequantize(pair, 3, 2))
        self.none(lambda: ggufx.dequantize(self.rt, TensorType.Q8_0, blocks[:2], pair))
        self.none(lambda: ggufx.quantize(self.rt, TensorType.Q8_0, numbers_2, blocks[:2]))
        experts, ids = w.slice(1, 0, n), np.zeros((1, 1), np.uint32)
        self.none(lambda: experts.matmul_id(x, ids, y))

    def test_caches(self) -> None:
        shape = options(n_layers=1, n_kv_heads=8, n_q_heads=32, head_dim_k=128, n_sequences=1)
        kv = ggufx.KvCache(self.rt, **shape)
        self.assertGreater(self.rt.kv_estimate(8, **shape), 0)
        k, q, out = numbers(4, 8, 128), numbers(1, 32, 128), np.empty((1, 32, 128), np.float32)
        v, half = k.copy(), k.astype(np.float16)

        def appends() -> None:
            kv.append(0, 0, k, v=k)
            kv.truncate(0, 0)
            kv.append(0, 0, half, v=half, type=TensorType.F16)
        self.none(appends)
        self.none(lambda: kv.attend(0, 0, q, out=out))
        self.none(lambda: kv.read(0, 0, 0, 4, k=k, v=v))

    def test_a_conversation(self) -> None:
        session, sampler = Session(Model(self.rt, self.demo())), Sampler(self.rt, 1024, 0)
        ids, logits = np.ones(1, np.int32), np.empty((1, 1024), np.float32)
        items = [item(0, ids)]

        def turn() -> None:
            session.truncate(0, 0)
            session.decode(items, logits=logits)
            sampler.sample(logits[0])
        self.none(turn)

    def test_filled_caches(self) -> None:
        kv, to = filled(self.rt, 5), np.empty((1, 4, 32), np.float32)
        q = numbers(1, 4, 32)
        self.none(lambda: kv.attend(0, 0, q, sequences=np.zeros(1, np.uint32), out=to))


numbers_2 = numbers(2, 4096)
