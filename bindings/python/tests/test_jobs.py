"""A model quantized: planned, changed by a rule, cancelled, resumed, in shards; imatrices and
estimates.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from typing import Any

import ggufx
from ggufx import (
    ESTIMATE_AS_IS, QUANTIZER_DEFAULT_TYPE, EstimateFlags, File, Imatrix, ImatrixFormat, QuantizerFlags, QuantizerOptions, QuantizerReason, QuantizerRunFlags, QuantizerTensorFacts,
    Quantizer, Status, TensorType, file_type_at, file_type_count, file_type_find)

from .common import Case, old_imatrix


def rule(tensor: QuantizerTensorFacts) -> int:
    return TensorType.Q5_1 if tensor.name.endswith("ffn_up.weight") else QUANTIZER_DEFAULT_TYPE


class Jobs(Case):
    def plan(self, flags: int = 0, **how: Any) -> Quantizer:
        return Quantizer(self.rt, self.demo(), file_type_find("q4_0"),
                                  flags=flags | QuantizerFlags.ALLOW_REQUANTIZE, **how)

    def chosen(self) -> Quantizer:
        job = self.plan()
        job.override_types([rule(tensor) for tensor in job.tensors])
        return job

    def test_recipes(self) -> None:
        self.assertEqual(file_type_find("Q4_K"), 15)
        known = [file_type_at(i) for i in range(file_type_count())]
        self.assertIn(ggufx.FileTypeFacts("Q4_K_M", 15, TensorType.Q4_K), known)
        self.fails(Status.NOT_FOUND, file_type_find, "Q4_Q")

    def test_plans(self) -> None:
        job = self.chosen()
        chosen = [i for i, t in enumerate(job.tensors) if t.reason == QuantizerReason.OVERRIDE]
        self.assertTrue(chosen and all(job.tensors[i].to == TensorType.Q5_1 for i in chosen))
        plan = job.tensors
        self.assertEqual((len(plan), len(list(plan)), plan[-1]), (38, 38, plan[37]))
        self.assertLess(job.info.bytes_out, job.info.bytes_in)
        coarse, fine = (job.tensor_error(chosen[0], t, 4096) for t in (TensorType.Q4_0, TensorType.Q8_0))
        self.assertLess(fine, coarse / 4)
        self.fails(Status.CANCELLED, job.tensor_error, 0, TensorType.Q4_0, 0, progress=lambda d, t: False)
        with self.assertRaises(IndexError):
            plan[38]
        self.fails(Status.UNSUPPORTED, job.override_types, [TensorType.Q8_K] * 38)
        self.fails(Status.ARGUMENT, job.override_types, [TensorType.Q8_0])
        self.assertRaises(TypeError, plan.find, "x")
        self.assertEqual([i for i, t in enumerate(job.tensors) if t.reason == QuantizerReason.OVERRIDE], chosen)
        self.assertEqual(plan[1].from_, TensorType.Q8_0)

    def test_cancelled_runs_are_resumed(self) -> None:
        whole, path = self.folder / "whole", self.folder / "path"
        self.chosen().run(whole)
        job, seen, again = self.chosen(), [0], [0]

        def stop(index: int, tensor: QuantizerTensorFacts) -> None:
            seen[0] += 1
        self.fails(Status.CANCELLED, job.run, path, flags=QuantizerRunFlags.KEEP, tensor_done=stop,
                   progress=lambda done, total: seen[0] < 4)
        self.assertTrue(not path.exists() and seen[0] >= 4)

        def count(index: int, tensor: QuantizerTensorFacts) -> None:
            again[0] += 1
        job.run(path, flags=QuantizerRunFlags.RESUME | QuantizerRunFlags.MEASURE, tensor_done=count)
        self.assertEqual(whole.read_bytes(), path.read_bytes())
        self.assertTrue(0 < again[0] < len(job.tensors) and any(t.rmse > 0 for t in job.tensors))

        def broken(index: int, tensor: QuantizerTensorFacts) -> None:
            raise RuntimeError("mine")
        with self.assertRaisesRegex(RuntimeError, "mine"):
            self.chosen().run(self.folder / "third", tensor_done=broken)

    def test_options(self) -> None:
        def embedding(**how: Any) -> int:
            return next(t.to for t in self.plan(**how).tensors if t.name == "token_embd.weight")
        self.assertEqual(embedding(flags=QuantizerFlags.EMBEDDING_TYPE, embedding_type=TensorType.Q5_0),
                         TensorType.Q5_0)
        self.assertEqual(embedding(flags=QuantizerFlags.OUTPUT_TYPE, output_type=TensorType.Q5_1),
                         TensorType.Q5_1)  # it is that, too
        more = self.plan(reserve_bytes=65536).info.file_bytes - self.plan().info.file_bytes
        self.assertTrue(65536 <= more < 65536 + 200)
        job = self.plan(imatrix=Imatrix.open_memory(self.rt, old_imatrix()),
                        imatrix_name="calibration.dat")
        self.assertGreater(job.info.n_missing, 0)
        job.run(self.folder / "out")
        with File.open(self.rt, self.folder / "out") as file:
            self.assertEqual(file.meta["quantize.imatrix.file"], "calibration.dat")

    def test_imatrices(self) -> None:
        m = Imatrix.open_memory(self.rt, old_imatrix())
        info = m.info
        self.assertEqual((info.n_entries, info.n_datasets, info.format), (2, 1, ImatrixFormat.DAT))
        self.assertEqual((len(m.entries), m.dataset_at(0), [*m.datasets]), (2, "text", ["text"]))
        self.assertIn("a.weight", m.entries)
        self.assertNotIn("c.weight", m.entries)
        first = m.entries["a.weight"]
        self.assertEqual((first.sums.shape, first.counts.shape), ((1, 2), (1,)))
        self.assertEqual(first.values[0, 1], 2 * first.values[0, 0])
        m.merge(Imatrix.open_memory(self.rt, old_imatrix()))
        self.assertEqual(m.entries[0].counts[0], 2 * first.counts[0])
        path = self.folder / "matrix"
        m.write(path, ImatrixFormat.GGUF)
        self.same(Imatrix.open(self.rt, path).entries[0].sums, m.entries[0].sums)
        self.fails(Status.IO, m.write, path, ImatrixFormat.GGUF | ImatrixFormat.NO_REPLACE)
        self.fails(Status.CANCELLED, Imatrix.open, self.rt, path, progress=lambda done, total: False)
        m.keep_entries(bytes([0, 1]))
        self.assertEqual([e.name for e in m.entries], ["b.weight"])
        self.fails(Status.NOT_FOUND, m.find, "a.weight")
        self.fails(Status.ARGUMENT, m.keep_entries, b"\1\1")
        self.fails(Status.STATE, m.merge, m)
        self.fails(Status.NOT_FOUND, Imatrix.open, self.rt, "/nowhere/x")
        self.fails(Status.MALFORMED, Imatrix.open_memory, self.rt, old_imatrix()[:60])
        self.fails(Status.IO, m.write, "/nowhere/x", ImatrixFormat.DAT)

    def test_estimates(self) -> None:
        file, job = self.demo(), QuantizerOptions(flags=QuantizerFlags.ALLOW_REQUANTIZE)
        a = self.rt.estimate(file, n_context=128, quantizer=job)
        self.assertEqual((a.file_type, a.n_context), (ESTIMATE_AS_IS, 128))
        self.assertTrue(a.flags & EstimateFlags.FITS)
        self.assertEqual(a.total_bytes, a.file_bytes + a.runtime_bytes + a.model_bytes +
                         a.kv_bytes + a.session_bytes)
        asked: dict[str, Any] = dict(n_context=128, quantizer=job, file_type=file_type_find("Q4_0"),
                                     flags=EstimateFlags.HAS_FILE_TYPE, type_k=TensorType.Q8_0, bandwidth=1e10)
        b = self.rt.estimate(file, **asked)
        self.assertEqual((b.file_type, b.type_k), (asked["file_type"], TensorType.Q8_0))
        self.assertTrue(b.weight_bytes < a.weight_bytes and b.loss > a.loss)
        self.assertTrue(b.tokens_per_second > 0 and a.tokens_per_second == 0)
        self.fails(Status.ARGUMENT, self.rt.estimate, file, **{**asked, "bandwidth": -1})
        self.assertGreaterEqual(self.rt.estimate(file).n_context, 128)
        self.fails(Status.ARGUMENT, self.rt.estimate, file, **{**asked, "quantizer": None})  # it is quantized already
