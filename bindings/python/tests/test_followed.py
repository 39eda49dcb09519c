"""Calls that a progress function can follow.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import io
import pathlib
from typing import Any, Callable

import numpy as np

import ggufx
from ggufx import (
    EditFlags, File, Imatrix, TensorType, Model, Progress, Quantizer, Session, Status,
    Tensor, TensorType)

from .common import MODEL, Case, filled, item, numbers, old_imatrix
from .test_jobs import rule
from .test_writing import copy_of


class Followed(Case):
    def plan(self) -> Quantizer:
        job = Quantizer(self.rt, self.demo(), ggufx.file_type_find("q4_0"),
                                 flags=ggufx.QuantizerFlags.ALLOW_REQUANTIZE)
        job.override_types([rule(tensor) for tensor in job.tensors])
        return job

    def calls(self, path: pathlib.Path) -> dict[str, Callable[[Progress], Any]]:
        file, data, rt = self.demo(), self.demo_bytes(), self.rt
        q, x, head = file.tensor("blk.0.attn_q.weight"), numbers(2, 256), numbers(1, 4, 32)
        experts = Tensor.wrap(rt, TensorType.Q8_0, (256, 1, 2),
                              ggufx.quantize(rt, TensorType.Q8_0, x))
        kv, holes = filled(rt, 130), filled(rt, 130)
        holes.remove(0, 10, 50)
        holes.remove(0, 20, 50)
        session = Session(Model(rt, file))
        m = Imatrix.open_memory(rt, old_imatrix())
        m.write(path / "imatrix", ggufx.ImatrixFormat.GGUF)
        w = copy_of(rt, file, 4096)
        w.write(path / "file")
        edited = File.open(rt, path / "file")
        edit = copy_of(rt, edited)
        edit.set("general.name", "edited")
        job = self.plan()
        self.plan().run(path / "shards", shard=1, n_shards=1)
        return {
            "matvec": lambda p: q.matvec(x[0], progress=p),
            "matmul": lambda p: q.matmul(x, progress=p),
            "matvec_many": lambda p: ggufx.matvec_many([q, q], x[0], progress=p),
            "matmul_id": lambda p: experts.matmul_id(x[0], [0, 1], n_used=2, progress=p),
            "quantize": lambda p: ggufx.quantize(rt, TensorType.Q8_0, x, progress=p),
            "attend": lambda p: kv.attend(0, 0, head, progress=p),
            "attend_batch": lambda p: kv.attend(0, 0, head, sequences=[0], progress=p),
            "requantize": lambda p: kv.requantize(ggufx.KV_ALL_LAYERS, TensorType.Q8_0, ggufx.TYPE_KEEP, progress=p),
            "compact": lambda p: holes.compact(0, progress=p),
            "decode": lambda p: session.decode([item(0, [1])], progress=p),
            "validate": lambda p: file.validate(print, progress=p),
            "open": lambda p: File.open(rt, MODEL, io=ggufx.IoMode.READ, progress=p),
            "open_memory": lambda p: File.open_memory(rt, data, flags=ggufx.OpenFlags.COPY,
                                                      progress=p),
            "open_stream": lambda p: File.open_stream(rt, io.BytesIO(data), progress=p),
            "imatrix": lambda p: Imatrix.open(rt, path / "imatrix", progress=p),
            "imatrix.write": lambda p: m.write(path / "again", ggufx.ImatrixFormat.GGUF, progress=p),
            "write": lambda p: w.write(path / "out", progress=p),
            "write parts": lambda p: w.write_stream(lambda part, data: None, progress=p),
            "edit": lambda p: edit.edit(edited, path / "file", flags=EditFlags.IN_PLACE, progress=p),
            "measure": lambda p: job.tensor_error(1, TensorType.Q4_0, 0, progress=p),
            "run": lambda p: job.run(path / "job", progress=p),
            "finish": lambda p: self.plan().finish(path / "shards", progress=p),
        }

    def test_every_long_call_is_followed(self) -> None:
        for name, call in self.calls(self.folder).items():
            with self.subTest(name):
                self.fails(Status.CANCELLED, call, lambda done, total: False)

                def broken(done: int, total: int) -> None:
                    raise RuntimeError("mine")
                with self.assertRaisesRegex(RuntimeError, "mine"):
                    call(broken)
                seen: list[tuple[int, int]] = []

                def note(done: int, total: int) -> None:
                    seen.append((done, total))
                call(note)
                self.assertTrue(seen)
                for (done, total), (before, was) in zip(seen, [(0, 0), *seen]):
                    self.assertTrue(total == 0 or done <= total)
                    self.assertTrue(done >= before or total != was)  # or another stage

    def test_results_do_not_depend_on_who_looks(self) -> None:
        q, x = self.demo().tensor("blk.0.attn_q.weight"), numbers(256)
        self.same(q.matvec(x, progress=lambda done, total: None), q.matvec(x))
        self.assertEqual(np.float32(q.matvec(x)[0]).dtype, np.float32)
