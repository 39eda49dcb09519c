"""The interpreter's lock, closes beside calls, and signals.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import io
import os
import random
import signal
import sys
import threading
from types import FrameType
from typing import Any, Callable
from unittest import mock

import numpy as np

import ggufx
from ggufx import (
    Embedder, File, Imatrix, Model, QuantizeMode, Quantizer, Runtime,
    Sampler, Session, Status, Tensor, TensorType, Tokenizer, Writer)

from .common import Case, Floats, filled, item, numbers, old_imatrix
from .test_compute import Counting

ROUNDS = int(os.environ.get("GGUFX_TEST_ROUNDS", "10000"))
THREADS = 8


def slow() -> Floats:
    """Rows that need seconds in mode BEST."""
    return numbers(256, 16384)


class Threads(Case):
    def test_python_runs_beside_a_call(self) -> None:
        count, told = [0], [0, 0]

        def call() -> None:
            before = count[0]
            ggufx.quantize(self.rt, TensorType.Q4_K, numbers(64, 16384), mode=QuantizeMode.REFINED)
            told[:] = before, count[0]
        thread = threading.Thread(target=call)
        thread.start()
        while thread.is_alive():
            count[0] += 1
        self.assertGreater(told[1] - told[0], 10000)

    def test_two_calls_run_at_once(self) -> None:
        both = threading.Barrier(2, timeout=60)

        def meet(done: int, total: int) -> bool | None:
            if not met.is_set():
                both.wait()  # each is in the other one's call
                met.set()
            return None
        met, threads = threading.Event(), []
        for _ in range(2):
            threads.append(threading.Thread(target=lambda: ggufx.quantize(
                self.rt, TensorType.Q4_K, numbers(64, 4096), mode=QuantizeMode.REFINED,
                progress=meet)))
            threads[-1].start()
        for thread in threads:
            thread.join()
        self.assertTrue(met.is_set())

    def test_objects_are_shared_by_threads(self) -> None:
        w, x = self.demo().tensor("blk.1.attn_q.weight"), numbers(256)
        expected, wrong = w.matvec(x), []

        def some() -> None:
            for _ in range(50):
                if not np.array_equal(w.matvec(x), expected):
                    wrong.append(1)
        threads = [threading.Thread(target=some) for _ in range(THREADS)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_calls_that_change_an_object_run_alone(self) -> None:
        session = Session(Model(self.rt, self.demo()))

        def look(done: int, total: int) -> None:
            session.truncate(0, 0)
        self.fails(Status.STATE, session.decode, [item(0, [1])], progress=look)
        session.decode([item(0, [1, 2])])
        kv = filled(self.rt, 200)
        seen: list[int] = []

        def read(done: int, total: int) -> None:
            seen.append(kv.length(0))  # reading beside reading is allowed
        kv.attend(0, 0, numbers(1, 4, 32), progress=read)
        self.assertTrue(seen and set(seen) == {200})
        self.fails(Status.STATE, kv.requantize, ggufx.KV_ALL_LAYERS, ggufx.TensorType.Q8_0, ggufx.TYPE_KEEP, progress=read)


class Closing(Case):
    """close() while eight threads call: an error or the result."""

    def rounds(self, make: Callable[[], Any], call: Callable[[Any], object], n: int) -> None:
        slot: list[Any] = [make()]
        stop, results, closed, wrong = threading.Event(), [0] * THREADS, [0] * THREADS, []

        def some(me: int) -> None:
            while not stop.is_set():
                try:
                    call(slot[0])
                    results[me] += 1
                except ggufx.StateError:  # closed, or in another thread's call
                    closed[me] += 1
                except BaseException as e:
                    wrong.append(repr(e))
                    return
        threads = [threading.Thread(target=some, args=(i,)) for i in range(THREADS)]
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            for t in threads:
                t.start()
            for i in range(100 * n):
                if i >= n and any(results) and any(closed):  # both were met, however busy the machine is
                    break
                last = slot[0]
                if i % 2:
                    slot[0] = make()
                    last.close()
                else:
                    last.close()  # threads see a closed one for a while
                    slot[0] = make()
        finally:
            stop.set()
            for t in threads:
                t.join()
            sys.setswitchinterval(interval)
        self.assertEqual(wrong, [])
        self.assertTrue(sum(results) > 0 and sum(closed) > 0, (sum(results), sum(closed)))

    def test_tensors(self) -> None:
        blocks, x = ggufx.quantize(self.rt, TensorType.Q8_0, numbers(64, 256)), numbers(256)
        expected = Tensor.wrap(self.rt, TensorType.Q8_0, (256, 64), blocks).matvec(x)

        def call(w: Tensor) -> None:
            if not np.array_equal(w.matvec(x), expected) or w.raw[3, 7] != blocks[3, 7]:
                raise AssertionError("another result")
        self.rounds(lambda: Tensor.wrap(self.rt, TensorType.Q8_0, (256, 64), blocks), call, ROUNDS)

    def test_files(self) -> None:
        data = self.demo_bytes()

        def call(file: File) -> None:
            w = file.tensors["output_norm.weight"]
            if w.numpy().size != 256 or file.meta["general.architecture"] != "llama":
                raise AssertionError("another result")
        self.rounds(lambda: File.open_memory(self.rt, data), call, ROUNDS // 10)

    def test_runtimes(self) -> None:
        rows = numbers(2, 256)
        self.rounds(lambda: Runtime(threads=1),
                    lambda rt: ggufx.quantize(rt, TensorType.Q8_0, rows), ROUNDS // 10)

    def test_others(self) -> None:
        file, q, k = self.demo(), numbers(1, 4, 32), numbers(1, 2, 32)
        model, logits = Model(self.rt, file), numbers(1024)
        recipe, again = ggufx.file_type_find("q4_0"), ggufx.QuantizerFlags.ALLOW_REQUANTIZE

        def batches(s: Session) -> None:
            s.truncate(1, 0)
            if s.decode([item(1, [1])]).shape != (1, 1024) or s.info.n_pages == 0:
                raise AssertionError("another result")
            s.save(1, io.BytesIO().write)
        cases: list[tuple[Callable[[], Any], Callable[[Any], object]]] = [
            (lambda: filled(self.rt, 5), lambda kv: kv.attend(0, 0, q)),
            (lambda: filled(self.rt, 5), lambda kv: (kv.append(0, 0, k, v=k), kv.truncate(0, 5))),
            (lambda: Session(model, n_context=64), lambda s: (s.truncate(0, 0), s.decode([item(0, [1])]))),
            (lambda: Session(model, n_context=64, n_sequences=2), batches),
            (lambda: Embedder(model, n_context=4, n_batch=4), lambda embedder: embedder.embed([[1]])),
            (lambda: Sampler(self.rt, 1024, 0), lambda s: s.sample(logits)),
            (lambda: Tokenizer(file), lambda t: t.tokenize("Once upon a time")),
            (lambda: Imatrix.open_memory(self.rt, old_imatrix()), lambda m: m.entries["a.weight"]),
            (lambda: Writer(self.rt), lambda w: w.set("a", 1)),
            (lambda: Quantizer(self.rt, file, recipe, flags=again), lambda j: j.tensors[3]),
        ]
        for make, call in cases:
            self.rounds(make, call, ROUNDS // 100)


class Stop(Exception):
    pass


class Signals(Case):
    def interrupted(self, call: Callable[[Callable[[int, int], None]], object]) -> None:
        """Ctrl-C in the middle of a call ends it there."""
        last = [0, 0]

        def progress(done: int, total: int) -> None:
            last[:] = done, total
            if done:
                signal.raise_signal(signal.SIGINT)
        before = signal.getsignal(signal.SIGINT)
        with self.assertRaises(KeyboardInterrupt):
            call(progress)
        self.assertTrue(0 < last[0] < last[1], last)
        self.assertIs(signal.getsignal(signal.SIGINT), before)

    def test_ctrl_c_ends_a_long_call(self) -> None:
        self.interrupted(lambda progress: ggufx.quantize(
            self.rt, TensorType.Q4_K, slow(), mode=QuantizeMode.REFINED, progress=progress))
        data = self.demo_bytes()
        self.interrupted(lambda progress: File.open_memory(
            self.rt, data, flags=ggufx.OpenFlags.COPY, progress=progress).validate(
            print, flags=ggufx.ValidateFlags.DEEP, progress=progress))

    def test_ctrl_c_from_outside_ends_a_call_without_a_progress_function(self) -> None:
        out = np.zeros((256, ggufx.type_row_bytes(TensorType.Q4_K, 16384)), np.uint8)
        rows, timer = slow(), threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        with self.assertRaises(KeyboardInterrupt):
            timer.start()
            ggufx.quantize(self.rt, TensorType.Q4_K, rows, out, mode=QuantizeMode.REFINED)
        timer.join()
        self.assertFalse(out[-1].any())  # it did not come to the last row

    def test_signals_beside_hooks_of_a_runtime(self) -> None:
        here = sys._getframe().f_code

        def stop(number: int, frame: FrameType | None) -> None:
            if frame is None or frame.f_code is not here:  # not in this loop itself
                stops[0] += 1
                raise Stop

        class Alarming(Counting):
            """The next alarm comes while the library works, mostly."""

            def alloc(self, size: int, align: int) -> int:
                at = super().alloc(size, align)
                if random.random() < 0.1:
                    signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 1e-4))
                return at
        previous, stops = signal.signal(signal.SIGALRM, stop), [0]
        data, memory, done, rt, file = self.demo_bytes(), Alarming(), 0, None, None
        told: list[object] = []
        with mock.patch.object(sys, "unraisablehook", lambda a: told.append(a.object)):
            while rt is None or stops[0] < 2000:
                try:
                    rt = rt or Runtime(threads=1, allocator=memory)
                    file = file or File.open_memory(rt, data)
                    while stops[0] < 2000:
                        with Tokenizer(file) as tokenizer:
                            done += len(tokenizer) == 1024
                except (Stop, ggufx.OutOfMemoryError):
                    pass
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        self.assertGreater(done, 0)
        # None was raised before the function could catch it and give the library an address.
        self.assertNotIn("_alloc", [getattr(o, "__name__", "") for o in told])
