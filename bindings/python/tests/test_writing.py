"""New files, and files edited where they stand.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import io
import struct

import numpy as np

import ggufx
from ggufx import EditFlags, File, ValueType, Runtime, Status, Tensor, TensorType, Writer

from .common import Case, numbers


def copy_of(rt: Runtime, file: File, reserve_bytes: int = 0) -> Writer:
    writer = Writer(rt, reserve_bytes=reserve_bytes)
    writer.copy_meta(file)
    writer.copy_tensors(file)
    return writer


class Writing(Case):
    def writer(self) -> Writer:
        w = Writer(self.rt)
        w.set("general.architecture", "test")
        w.set("a.u8", 200, ValueType.U8)
        w.set("a.i32", -7, ValueType.I32)
        w.set("a.f32", 0.5, ValueType.F32)
        w.set("a.int", 5)
        w.set("a.negative", -5)
        w.set("a.float", 2.5)
        w.set("a.bool", True)
        w.set("a.bytes", b"\xff\0")
        w.set("a.array", np.array([1, -2, 3], np.int16))
        w.set("a.bools", [True, False])
        w.set("a.floats", [0.5, 1.5])
        w.set("a.texts", ["one", "", "two\0"])
        # Two arrays of one u32.
        w.set_value("a.nested", ValueType.ARRAY, struct.pack("<IQ IQI IQI", 9, 2, 4, 1, 8, 4, 1, 9))
        data = bytearray(256)
        data[255] = 7
        with Tensor.wrap(self.rt, TensorType.F32, (32, 2), data, "t0") as tensor:
            w.add_tensor(tensor)
            w.add_tensor(tensor, name="t1")
        w.add_tensor(Tensor.of(self.rt, numbers(3, 32)), name="rows")
        w.add_stream("t2", TensorType.I8, (64,),
                     lambda offset, n: np.arange(offset, offset + n, dtype=np.uint8))
        return w

    def test_writing(self) -> None:
        w, path = self.writer(), self.folder / "new.gguf"
        self.fails(Status.SHAPE, w.add_stream, "t3", TensorType.Q8_0, (31,), lambda o, n: b"")
        w.write(path)
        self.assertEqual(path.stat().st_size, w.info().n_bytes)
        self.assertEqual((w.info().n_tensors, w.info().n_parts), (4, 1))
        file = File.open(self.rt, path)
        said = dict(file.meta)
        self.same(said.pop("a.array"), [1, -2, 3])
        self.same(said.pop("a.bools"), [True, False])
        self.same(said.pop("a.floats"), [0.5, 1.5])
        self.assertEqual([n.tolist() for n in said.pop("a.nested")], [[8], [9]])
        self.assertEqual(said, {
            "general.architecture": "test", "a.u8": 200, "a.i32": -7, "a.f32": 0.5, "a.int": 5,
            "a.negative": -5, "a.float": 2.5, "a.bool": True, "a.bytes": "\udcff\0",
            "a.texts": ["one", "", "two\0"]})
        types = {facts.key: facts for facts in map(file.meta_at, range(file.meta_count()))}
        self.assertEqual((types["a.int"].type, types["a.negative"].type), (ValueType.U64, ValueType.I64))
        self.assertEqual(types["a.array"].element_type, ValueType.I16)
        self.assertIs(file.meta["a.bool"], True)
        self.assertEqual(file.tensor("t1").raw.reshape(-1)[255], 7)
        self.same(file.tensor("t2").raw[0], np.arange(64))
        self.same(file.tensor("rows").numpy(), numbers(3, 32))
        w.rename("a.u8", "b.u8")
        w.unset("a.bool")
        self.fails(Status.NOT_FOUND, w.unset, "a.bool")
        self.fails(Status.VALUE, w.set, "a.u8", 256, ValueType.U8)
        self.fails(Status.KEY, w.set, "", 1)
        self.fails(Status.ARGUMENT, w.set, "k", 2**64)
        self.fails(Status.ARGUMENT, w.set, "k", np.zeros(3, ">i2"))
        self.fails(Status.ARGUMENT, w.set, "k", [1, "a"])
        self.fails(Status.IO, w.write, path, flags=ggufx.WriteFlags.NO_REPLACE)

    def test_where_a_write_goes(self) -> None:
        copied = copy_of(self.rt, self.demo())
        stream = io.BytesIO()
        copied.write_stream(lambda part, data: stream.write(data))
        self.assertEqual(len(File.open_memory(self.rt, stream.getvalue()).tensors), 38)
        parts: dict[int, bytes] = {}

        def sink(part: int, data: bytes) -> None:
            parts[part] = parts.get(part, b"") + data
        copied.write_stream(sink, max_part_tensors=20)
        self.assertEqual([p[:4] for p in parts.values()], [b"GGUF"] * 2)
        self.assertEqual(copied.info(max_part_tensors=2).n_parts, 19)
        self.assertGreater(copied.info(max_part_bytes=1 << 20).n_parts, 2)

        def broken(part: int, data: bytes) -> None:
            raise RuntimeError("mine")
        with self.assertRaisesRegex(RuntimeError, "mine"):
            copied.write_stream(broken)
        path = self.folder / "x"
        self.fails(Status.CANCELLED, copied.write, path, progress=lambda done, total: False)
        self.assertFalse(path.exists())
        old = Writer(self.rt, version=2, flags=ggufx.WriterFlags.BIG_ENDIAN)
        old.add_tensor(Tensor.of(self.rt, numbers(3, 32)), name="rows")
        old.write(path)
        info = File.open(self.rt, path).info
        self.assertEqual((info.version, info.big_endian), (2, True))

    def test_what_a_source_raises(self) -> None:
        w = Writer(self.rt)

        def source(offset: int, n: int) -> bytes:
            raise RuntimeError("mine")
        w.add_stream("t", TensorType.I8, (64,), source)
        with self.assertRaisesRegex(RuntimeError, "mine"):
            w.write(self.folder / "x")
        short = Writer(self.rt)
        short.add_stream("t", TensorType.I8, (64,), lambda offset, n: bytes(n - 1))
        self.assertIn("63 bytes, not 64", str(self.fails(Status.ARGUMENT, short.write,
                                                         self.folder / "x")))

    def test_edits(self) -> None:
        path = self.folder / "edited.gguf"
        copy_of(self.rt, self.demo(), 4096).write(path)
        file = File.open(self.rt, path)
        w = copy_of(self.rt, file)
        w.set("general.name", "edited")
        self.assertTrue(w.edit_info(file).in_place)
        done = w.edit(file, path, flags=EditFlags.IN_PLACE)
        self.assertTrue(done.in_place and done.n_written < done.n_bytes / 10)
        self.assertEqual(File.open(self.rt, path).meta["general.name"], "edited")
        w.set("general.name", "x" * 100000)
        self.fails(Status.CAPACITY, w.edit, file, path, flags=EditFlags.IN_PLACE)
        self.assertFalse(self.rt.file_recover_edit(path))
