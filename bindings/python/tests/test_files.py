"""Files, keys and tensors.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import ctypes
import io
import os
import pathlib
from typing import Callable

import numpy as np

import ggufx
from ggufx import File, IoMode, ValueType, OpenFlags, Status, TensorType, ValidateFlags, _raw

from .common import MODEL, Case


class Files(Case):
    def test_the_library_fits(self) -> None:
        for struct in _raw.STRUCTS:
            self.assertEqual(ggufx.struct_size(struct.__name__), ctypes.sizeof(struct))
        self.assertGreater(len(_raw.STRUCTS), 25)
        self.assertTrue(ggufx.version().startswith("0."))
        self.assertTrue(ggufx.has("type:q4_K") and not ggufx.has("type:none"))
        self.assertEqual(ggufx.type_find("iq4_nl"), TensorType.IQ4_NL)
        self.assertEqual(ggufx.type_info(TensorType.Q4_K).name, "q4_K")
        self.assertEqual(ggufx.type_find("tq3_0"), TensorType.TQ3_0)
        self.assertEqual(ggufx.type_info(TensorType.Q8_0).block_values, 32)
        self.assertEqual(ggufx.type_row_bytes(TensorType.Q4_K, 512), 288)
        self.fails(Status.NOT_FOUND, ggufx.type_find, "q4_q")
        self.fails(Status.TYPE, ggufx.type_info, 4)

    def test_every_code_has_its_class(self) -> None:
        classes = [ggufx.errors.class_of(s) for s in Status if s != Status.OK]
        self.assertEqual(len(set(classes)), len(classes))
        for s in Status:
            if s != Status.OK:
                self.assertEqual(ggufx.errors.class_of(s).code, s)
        self.assertIs(ggufx.errors.class_of(-999), ggufx.Error)

    def test_metadata(self) -> None:
        with self.demo() as file:
            self.assertEqual((len(file.meta), len(file.tensors)), (33, 38))
            self.assertEqual(len(list(file.meta)), 33)
            self.assertEqual(file.meta["general.architecture"], "llama")
            self.assertEqual(file.meta["llama.context_length"], 512)
            self.assertEqual(file.meta_f64(file.meta_find("llama.context_length")), 512.0)
            self.assertEqual(file.meta["llama.rope.freq_base"], 10000)
            tokens = file.meta_find("tokenizer.ggml.tokens")
            facts = file.meta_at(tokens)
            self.assertEqual((facts.key, facts.type, facts.element_type, facts.count),
                             ("tokenizer.ggml.tokens", ValueType.ARRAY, ValueType.STRING, 1024))
            self.assertEqual(file.meta_array_string(tokens, 2), "</s>")
            self.assertEqual(file.meta["tokenizer.ggml.tokens"][2], "</s>")
            scores = file.meta_find("tokenizer.ggml.scores")
            last = file.meta_array_f64(scores, 1020, 4)
            self.assertLess(last[0], 0)
            self.same(last, file.meta["tokenizer.ggml.scores"][1020:])
            self.assertIn("general.name", file.meta)
            self.assertNotIn("no.such.key", file.meta)
            self.assertIsNone(file.meta.get("no.such.key"))
            self.assertIsInstance(self.fails(Status.NOT_FOUND, lambda: file.meta["no.such.key"]),
                                  KeyError)
            self.fails(Status.VALUE_TYPE, file.meta_u64, tokens)
            self.fails(Status.VALUE_TYPE, file.meta_array_nested, tokens, 0)
            self.fails(Status.ARGUMENT, file.meta_array_string, tokens, 1024)
            self.fails(Status.ARGUMENT, file.meta_array_f64, scores, 1025, 1)
            self.fails(Status.ARGUMENT, file.meta_array_f64, scores, 0, -1)

    def test_tensors_are_a_sequence_with_names(self) -> None:
        with self.demo() as file:
            names = [t.name for t in file.tensors]
            self.assertEqual(file.tensors[-1].name, names[-1])
            self.assertEqual([t.name for t in file.tensors[3:5]], names[3:5])
            self.assertEqual(file.tensor(names[7]).name, names[7])
            self.assertIn("output_norm.weight", file.tensors)
            self.assertNotIn("no.such.tensor", file.tensors)
            self.fails(Status.NOT_FOUND, file.tensor, "no.such.tensor")
            with self.assertRaises(IndexError):
                file.tensors[38]

    def test_every_source_gives_the_same(self) -> None:
        data = self.demo_bytes()
        ways: list[Callable[[], File]] = [
                lambda: File.open(self.rt, pathlib.Path(MODEL), io=IoMode.READ),
                lambda: File.open_memory(self.rt, data),
                lambda: File.open_memory(self.rt, bytearray(data), flags=OpenFlags.COPY),
                lambda: File.open_stream(self.rt, io.BytesIO(data))]
        for way in ways:
            file = way()
            w = file.tensor("token_embd.weight")
            self.assertEqual((w.type, w.ne, w.shape), (TensorType.Q8_0, (256, 1024, 1, 1),
                                                       (1024, 256)))
            at = w.file_offset
            assert at is not None
            self.assertEqual(w.raw.tobytes(), data[at: at + w.n_bytes])
            part = w.slice(1, 3, 2)
            file.close()
            file.close()  # again
            self.assertTrue(file.closed)
            self.assertEqual(part.raw.tobytes(), data[at + 3 * 272: at + 5 * 272])
            self.assertEqual(w.matvec(np.zeros(256, np.float32)).size, 1024)  # keeps its file
            self.fails(Status.STATE, lambda: file.info)
            with self.assertRaises(ggufx.ClosedError):
                file.tensor("token_embd.weight")
        path = self.folder / "archive"
        path.write_bytes(bytes(4096) + data + bytes(5))
        with path.open("rb") as archive:
            with File.open_fd(self.rt, archive.fileno(), 4096, len(data)) as file:
                self.assertEqual(file.info.n_tensors, 38)

    def test_what_goes_wrong(self) -> None:
        data = self.demo_bytes()
        e = self.fails(Status.NOT_FOUND, File.open, self.rt, "/nowhere/x.gguf")
        self.assertIsInstance(e, FileNotFoundError)
        self.assertIn("/nowhere/x.gguf", str(e))
        self.assertTrue(e.system_error and e.offset is None and e.index is None)
        self.fails(Status.MAGIC, File.open_memory, self.rt, b"GGML1234567890123456789012345678")
        e = self.fails(Status.TRUNCATED, File.open_memory, self.rt, data[:1000])
        self.assertIsInstance(e, ggufx.TruncatedError)
        self.assertIsInstance(e, ggufx.FileError)
        self.assertEqual((e.offset, e.index, e.system_error), (1000, 20, 0))
        self.fails(Status.ARGUMENT, File.open, self.rt, "a\0b")
        self.fails(Status.LIMIT, File.open, self.rt, MODEL, max_metadata_bytes=1000)

        class Broken(io.BytesIO):
            def read(self, n: int | None = -1, /) -> bytes:
                raise RuntimeError("mine")
        with self.assertRaisesRegex(RuntimeError, "mine"):
            File.open_stream(self.rt, Broken(bytes(4096)))
        with File.open(self.rt, MODEL, flags=OpenFlags.METADATA_ONLY) as file:
            self.fails(Status.UNSUPPORTED, lambda: file.tensor("token_embd.weight").raw)

    def test_validate(self) -> None:
        data = bytearray(self.demo_bytes())
        at = self.demo().tensor("token_embd.weight").file_offset
        assert at is not None
        data[at: at + 2] = b"\xff\x7f"  # the first scale becomes NaN
        with File.open_memory(self.rt, data) as file:
            seen: list[str] = []

            def report(finding: ggufx.FindingFacts) -> None:
                assert finding.text
                seen.append(finding.name or "")
            file.validate(report, flags=ValidateFlags.DEEP)
            self.assertIn("token_embd.weight", seen)
            self.fails(Status.CANCELLED, file.validate, lambda finding: False, flags=ValidateFlags.DEEP)
            self.fails(Status.CANCELLED, file.validate, report, progress=lambda done, total: False)
        found: list[ggufx.FindingFacts] = []
        self.demo().validate(found.append, flags=ValidateFlags.STRICT)
        self.assertEqual(found, [])

    def test_a_thousand_opens_leave_nothing_behind(self) -> None:
        def mappings() -> int:
            lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
            return sum(line.endswith(".gguf") for line in lines)

        self.demo().close()
        before, files = mappings(), len(os.listdir("/proc/self/fd"))
        for i in range(1000):
            file = self.demo()
            part = file.tensor("output_norm.weight").slice(0, 0, 8)
            self.assertEqual(part.ne[0], 8)
            if i % 2:  # else the last reference does it
                part.close()
                file.close()
        del file, part
        self.assertEqual((mappings(), len(os.listdir("/proc/self/fd"))), (before, files))
