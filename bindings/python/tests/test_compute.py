"""Products, blocks and hooks of a runtime.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import ctypes
import signal
import sys
import threading
from typing import Any, Callable
from unittest import mock

import numpy as np

import ggufx
from ggufx import Isa, MatmulFlags, QuantizeMode, Runtime, Status, Tensor, TensorType

from .common import Case, item, numbers
from .test_writing import copy_of


def matrix(rt: Runtime, n: int) -> Tensor:
    """n x n of Q8_0: enough for every thread."""
    return Tensor.wrap(rt, TensorType.Q8_0, (n, n),
                       ggufx.quantize(rt, TensorType.Q8_0, numbers(n, n)), "w")


class Compute(Case):
    def test_products(self) -> None:
        file = self.demo()
        w = file.tensor("blk.0.ffn_down.weight")
        x = numbers(768)
        self.near(w.matvec(x, flags=MatmulFlags.F32), w.dequantize().astype(float) @ x, 1e-4)
        q, k = file.tensor("blk.0.attn_q.weight"), file.tensor("blk.0.attn_k.weight")
        head = numbers(256)
        one, two = q.matvec(head), k.matvec(head)
        for a, b in zip(ggufx.matvec_many([q, k], head), (one, two)):
            self.same(a, b)
        out = [np.empty(256, np.float32), np.empty(128, np.float32)]
        self.assertIs(ggufx.matvec_many([q, k], head, out)[1], out[1])
        self.same(out[1], two)
        self.assertEqual(ggufx.matvec_many([], head), [])
        both = q.matmul(numbers(2, 256))
        self.assertEqual(both.shape, (2, 256))
        self.same(both[0], one)
        self.same(q.matmul(head)[0], one)
        self.assertEqual(q.matmul(np.empty((0, 256), np.float32)).shape, (0, 256))
        apart = np.zeros((2, 300), np.float32)  # rows of a slice
        apart[:, 10:266] = numbers(2, 256)
        wide = np.full((2, 300), 7, np.float32)
        q.matmul(apart[:, 10:266], wide[:, :256])
        self.same(wide[:, :256], both)
        self.same(wide[:, 256:], np.full((2, 44), 7))
        self.fails(Status.ARGUMENT, q.matvec, head, np.empty(255, np.float32))
        self.fails(Status.ARGUMENT, q.matvec, numbers(255))
        self.fails(Status.ARGUMENT, q.matmul, numbers(2, 255))
        self.fails(Status.ARGUMENT, q.matmul, numbers(2, 256), np.empty((3, 256), np.float32))
        self.fails(Status.ARGUMENT, q.matmul, numbers(2, 512)[:, ::2])
        self.fails(Status.ARGUMENT, q.matmul, numbers(2, 256)[::-1])
        self.fails(Status.ARGUMENT, ggufx.matvec_many, [q, k], head, out[:1])
        self.fails(Status.ARGUMENT, ggufx.matvec_many, [q] * 65, head)
        self.fails(Status.CANCELLED, q.matvec, head, progress=lambda done, total: False)
        self.fails(Status.SHAPE, q.slice, 0, 1, 32)

    def test_blocks(self) -> None:
        rows = numbers(2, 256)
        for type in (TensorType.Q8_0, TensorType.Q4_K, TensorType.F16):
            blocks = ggufx.quantize(self.rt, type, rows)
            self.assertEqual(blocks.shape, (2, ggufx.type_row_bytes(type, 256)))
            self.near(ggufx.dequantize(self.rt, type, blocks), rows, 0.1)
            self.near(ggufx.dequantize(self.rt, type, blocks.tobytes()), rows.reshape(-1), 0.1)
        best = ggufx.quantize(self.rt, TensorType.Q4_0, rows, mode=QuantizeMode.REFINED)
        plain = ggufx.quantize(self.rt, TensorType.Q4_0, rows)
        error = [float(((ggufx.dequantize(self.rt, TensorType.Q4_0, b) - rows) ** 2).sum())
                 for b in (best, plain)]
        self.assertLess(error[0], error[1])
        blocks = ggufx.quantize(self.rt, TensorType.Q8_0, numbers(12, 64))
        x = numbers(64)
        w = Tensor.wrap(self.rt, TensorType.Q8_0, (64, 4, 3), blocks, "experts")
        self.assertEqual((w.name, w.shape), ("experts", (3, 4, 64)))
        y = w.matmul_id(x, np.array([[2, 0]], np.uint32))
        self.assertEqual(y.shape, (1, 2, 4))
        self.same(y[0, 0], w.slice(2, 2, 1).matvec(x))
        self.same(w.matmul_id(x, [2, 0], n_used=2), y)
        self.assertEqual(self.fails(Status.ARGUMENT, w.matmul_id, x, [[2, 3]]).index, 0)
        self.assertEqual(self.fails(Status.ARGUMENT, w.matmul_id, x, [2, 3], n_used=2).index, 0)
        self.fails(Status.ARGUMENT, w.matmul_id, x, [2, 1, 0], n_used=2)
        self.fails(Status.ARGUMENT, w.matmul_id, x, [-1])
        quantize: Callable[..., Any] = lambda *a, **o: ggufx.quantize(self.rt, *a, **o)
        self.fails(Status.ARGUMENT, quantize, TensorType.IQ2_XS, rows)
        self.fails(Status.SHAPE, quantize, TensorType.Q4_K, numbers(4, 128))
        self.fails(Status.ARGUMENT, quantize, TensorType.Q8_0, rows, imatrix=numbers(3))
        self.fails(Status.CANCELLED, quantize, TensorType.Q8_0, rows,
                   progress=lambda done, total: False)
        self.fails(Status.ARGUMENT, ggufx.dequantize, self.rt, TensorType.Q8_0, bytes(33))
        rows[1, 44] = np.nan
        self.assertEqual(self.fails(Status.VALUE, quantize, TensorType.Q8_0, rows).index, 1)
        self.fails(Status.BOUNDS, Tensor.wrap, self.rt, TensorType.Q8_0, (64, 2), bytes(100))

    def test_numpy_types_are_tensors(self) -> None:
        for dtype in ("<f4", "<f2", "<f8", "|i1", "<i2", "<i4", "<i8"):
            array = numbers(2, 3, 32).astype(dtype)
            w = Tensor.of(self.rt, array, "a")
            self.assertEqual(w.shape, (2, 3, 32))
            self.same(w.numpy(), array)
            self.assertTrue(np.shares_memory(w.numpy(), array))
            self.same(w.dequantize(), array.astype(np.float32))
            self.same(w.slice(0, 2, 4).numpy(), array[:, :, 2:6])
        self.fails(Status.ARGUMENT, Tensor.of, self.rt, np.zeros(4, ">f4"))
        self.fails(Status.ARGUMENT, Tensor.of, self.rt, np.zeros(4, complex))
        self.fails(Status.ARGUMENT, Tensor.of, self.rt, numbers(4, 4).T)
        self.fails(Status.UNSUPPORTED, self.demo().tensor("token_embd.weight").numpy)
        self.assertEqual(self.demo().tensor("output_norm.weight").numpy().dtype, np.float32)


class Halves:
    """Shares the tasks out to two threads."""

    max_workers = 2

    def __init__(self) -> None:
        self.calls = 0

    def parallel_for(self, n: int, task: Callable[[int, int], None]) -> None:
        self.calls += 1

        def some(worker: int) -> None:
            for i in range(worker, n, 2):
                task(i, worker)
        other = threading.Thread(target=some, args=(1,))
        other.start()
        some(0)
        other.join()


class BrokenJobs:
    max_workers = 4

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def parallel_for(self, n: int, task: Callable[[int, int], None]) -> None:
        raise self.error


class Counting:
    """The C library's memory, counted."""

    def __init__(self, limit: int = 1 << 40) -> None:
        self.held: dict[int, Any] = {}
        self.left, self.calls = limit, 0

    def alloc(self, size: int, align: int) -> int:
        self.calls += 1
        if size > self.left:
            raise MemoryError(size)
        self.left -= size
        memory = ctypes.create_string_buffer(size + align)
        at = (ctypes.addressof(memory) + align - 1) // align * align
        self.held[at] = memory
        return at

    def free(self, address: int, size: int, align: int) -> None:
        self.left += size
        del self.held[address]


class Hooks(Case):
    def test_an_executor_runs_the_tasks(self) -> None:
        jobs = Halves()
        with Runtime(executor=jobs, isa=Isa.SCALAR, log=lambda level, text: None) as rt:
            self.assertEqual((rt.info.isa_name, rt.info.threads), ("scalar", 2))
            self.assertEqual(rt.kernel_name(TensorType.Q4_K), "scalar")
            self.assertIsNone(rt.kernel_name(4))
            w, x = matrix(self.rt, 1024), numbers(1024)
            self.same(w.matvec(x, rt=rt), w.matvec(x))
            self.assertGreater(jobs.calls, 0)

    def test_what_an_executor_raises_is_the_cause(self) -> None:
        w, x = matrix(self.rt, 2048), numbers(2048)
        told: list[str] = []
        with mock.patch.object(sys, "unraisablehook", lambda a: told.append(repr(a.exc_value))):
            with Runtime(executor=BrokenJobs(ValueError("jobs"))) as bad:
                e = self.fails(Status.INTERNAL, w.matvec, x, rt=bad)
        self.assertIsInstance(e.__cause__, ValueError)
        self.assertEqual(told, ["ValueError('jobs')"])
        with Runtime(executor=BrokenJobs(KeyboardInterrupt())) as bad:
            with self.assertRaises(KeyboardInterrupt):
                w.matvec(x, rt=bad)
        self.assertEqual(w.matvec(x).size, 2048)

    def test_an_executor_that_breaks_its_contract(self) -> None:
        w, x = matrix(self.rt, 2048), numbers(2048)
        late: list[threading.Thread] = []

        class Wrong:
            max_workers = 4

            def __init__(self, how: Callable[[int, Callable[[int, int], None]], None]) -> None:
                self.how = how

            def parallel_for(self, n: int, task: Callable[[int, int], None]) -> None:
                self.how(n, task)

        def twice(n: int, task: Callable[[int, int], None]) -> None:
            task(0, 0)
            task(0, 0)

        def outside(n: int, task: Callable[[int, int], None]) -> None:
            task(n, 0)

        def stranger(n: int, task: Callable[[int, int], None]) -> None:
            task(0, 4)

        def one(n: int, task: Callable[[int, int], None]) -> None:
            task(0, 0)

        def leaves(n: int, task: Callable[[int, int], None]) -> None:
            def run() -> None:
                for i in range(n):
                    try:
                        task(i, i % 4)
                    except ggufx.StateError:
                        left.append(i)
            late.append(threading.Thread(target=run))
            late[-1].start()
            raise RuntimeError("gone")
        left: list[int] = []
        with mock.patch.object(sys, "unraisablehook", lambda a: None):
            for how, cause in ((twice, "was run"), (outside, "not there"), (stranger, "worker 4"),
                               (one, "tasks of"), (leaves, "gone")):
                with Runtime(executor=Wrong(how)) as bad:
                    for _ in range(20):
                        e = self.fails(Status.INTERNAL, w.matvec, x, rt=bad)
                        self.assertIn(cause, str(e.__cause__))
        for thread in late:
            thread.join()
        self.assertTrue(left)  # those came too late, and were not run

    def test_an_allocator_gives_the_memory(self) -> None:
        memory = Counting()
        with Runtime(threads=1, allocator=memory) as rt:
            self.assertEqual(rt.info.allocator_name, "host")
            file = ggufx.File.open_memory(rt, self.demo_bytes())
            session = ggufx.Session(ggufx.Model(rt, file))
            session.decode([item(0, [1, 300])])
            self.assertGreater(memory.calls, 5)
            session.close()
            file.close()
        del rt, file, session
        self.assertEqual(memory.held, {})

    def test_an_allocator_that_raises_is_out_of_memory(self) -> None:
        told: list[str] = []
        with mock.patch.object(sys, "unraisablehook", lambda a: told.append(repr(a.exc_value))):
            e = self.fails(Status.MEMORY, Runtime, allocator=Counting(100))
        self.assertIsInstance(e, MemoryError)
        self.assertIn("MemoryError", told[0])

    def test_a_log_is_told_and_may_raise(self) -> None:
        parts: dict[int, bytes] = {}

        def sink(part: int, data: bytes) -> None:
            parts[part] = parts.get(part, b"") + data
        with copy_of(self.rt, self.demo()) as writer:
            writer.write_stream(sink, max_part_tensors=20)
        said: list[tuple[ggufx.LogLevel, str]] = []

        def log(level: ggufx.LogLevel, text: str) -> None:
            said.append((level, text))
            raise ValueError("mine")
        told: list[str] = []
        with mock.patch.object(sys, "unraisablehook", lambda a: told.append(repr(a.exc_value))):
            with Runtime(log=log) as rt, ggufx.File.open_memory(rt, parts[0]) as file:
                self.assertEqual(len(file.tensors), 20)
        self.assertEqual([level for level, _ in said], [ggufx.LogLevel.WARNING])
        self.assertIn("one of 2 parts", said[0][1])
        self.assertEqual(told, ["ValueError('mine')"])
        self.fails(Status.UNSUPPORTED, Runtime, isa=99, log=log)  # and lets go of it

        def interrupted(level: ggufx.LogLevel, text: str) -> None:
            signal.raise_signal(signal.SIGINT)
        with Runtime(log=interrupted) as rt:
            with self.assertRaises(KeyboardInterrupt):
                ggufx.File.open_memory(rt, parts[0])
            self.assertEqual(len(ggufx.File.open_memory(self.rt, parts[0]).tensors), 20)

    def test_options_of_a_runtime(self) -> None:
        info = Runtime(3, workspace_bytes=3 << 20).info
        self.assertEqual((info.threads, info.workspace_bytes), (3, 3 << 20))
        self.assertEqual(info.isa.name.lower().replace("_", ""), info.isa_name.replace("-", ""))
