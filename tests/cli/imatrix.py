# imatrix show, merge, to-gguf, to-dat.
# SPDX-License-Identifier: MIT
import math
import os
import struct

import tool


def dat(entries, chunks=3, dataset=b"a.txt"):
    """entries = (name, calls, values)"""
    out = struct.pack("<i", len(entries))
    for name, calls, values in entries:
        out += struct.pack("<i", len(name)) + name + struct.pack("<ii", calls, len(values))
        out += struct.pack("<%df" % len(values), *values)
    return out + struct.pack("<ii", chunks, len(dataset)) + dataset


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Imatrix(tool.Case):
    def small(self, name="a.dat", scale=1.0):
        values = [scale * v for v in (1.0, 3.0, 0.0, 4.0)]
        return self.path(name, dat([(b"blk.0.x.weight", 2, values), (b"y.weight", 1, [scale])]))

    def test_a_file_is_named_once(self):
        path = self.path("absent")
        self.assertEqual(self.fails(1, "imatrix", "show", path).count(path), 1)
        self.assertEqual(self.fails(3, "imatrix", "show", self.path("b", b"x")).count("/b"), 1)

    def test_show_prints_what_the_file_has(self):
        value = self.json("imatrix", "show", self.small())
        self.assertEqual({k: value[k] for k in ("format", "entries", "chunks", "chunk_tokens", "datasets")},
                         {"format": "dat", "entries": 2, "chunks": 3, "chunk_tokens": 512,
                          "datasets": ["a.txt"]})
        first = value["tensors"][0]
        self.assertEqual((first["name"], first["columns"], first["matrices"]), ("blk.0.x.weight", 4, 1))
        self.assertEqual((first["sum"], first["mean"], first["min"], first["max"]), (4.0, 1.0, 0.0, 2.0))
        self.assertEqual((first["tokens"], first["active"]), (1024, 0.75))
        self.assertAlmostEqual(first["deviation"], math.sqrt((0.25 + 0.25 + 1 + 1) / 4))
        shares = (0.125, 0.375, 0.5)
        self.assertAlmostEqual(first["entropy"], -sum(p * math.log2(p) for p in shares) / 2)
        lines = self.ok("imatrix", "show", self.small()).decode().splitlines()
        self.assertEqual(lines[:2], ["2 entries, 3 chunks of 512 tokens, .dat file", "from a.txt"])
        self.assertTrue(lines[3].startswith("blk.0.x.weight\t4\t1024\t4\t1\t"), lines[3])

    def test_conversions_keep_the_numbers(self):
        source, there, back = self.small(), self.path("b.gguf"), self.path("c.dat")
        self.ok("imatrix", "to-gguf", source, there)
        made = self.json("imatrix", "to-dat", there, back)
        self.assertEqual((made["format"], made["output"]), ("dat", back))
        self.assertEqual(read(back), read(source))
        tensors = self.json("info", there, "--tensors")["tensors"]
        self.assertEqual([t["name"] for t in tensors][:2],
                         ["blk.0.x.weight.in_sum2", "blk.0.x.weight.counts"])

    def test_merge_adds(self):
        out = self.path("m.gguf")
        self.ok("imatrix", "merge", self.small(), self.small("b.dat", 3.0), "--to", out)
        value = self.json("imatrix", "show", out)
        self.assertEqual((value["format"], value["chunks"]), ("gguf", 6))
        self.assertEqual((value["tensors"][0]["sum"], value["tensors"][0]["tokens"]), (8.0, 2048))
        self.assertEqual(value["tensors"][1]["mean"], 2.0)

    def test_a_real_file_is_rewritten_byte_for_byte(self):
        source = tool.shared("data", "stories260K", "stories260K-w256-imatrix.gguf")
        self.ok("imatrix", "to-gguf", source, self.path("same.gguf"))
        self.assertEqual(read(self.path("same.gguf")), read(source))
        value = self.json("imatrix", "show", source)
        self.assertEqual((value["entries"], value["chunks"]), (35, 57))

    def test_errors_name_file_and_place(self):
        cut = self.path("cut.dat", read(self.small())[:30])
        self.assertIn("cut.dat: byte 26: a number of values is 4; 0 bytes follow",
                      self.fails(3, "imatrix", "show", cut))
        self.assertIn("general.type", self.fails(3, "imatrix", "show", tool.MODEL))
        self.assertIn("absent", self.fails(1, "imatrix", "show", self.path("absent")))
        other = self.path("o.dat", dat([(b"y.weight", 1, [1.0, 2.0])]))
        self.assertIn("y.weight", self.fails(1, "imatrix", "merge", self.small(), other, "--to",
                                             self.path("m.dat")))
        self.assertIn("exists", self.fails(1, "imatrix", "to-gguf", other, self.small()))
        self.fails(3, "imatrix", "show", self.path("empty", b""))
        self.assertNotIn("m.dat", os.listdir(self.folder))


if __name__ == "__main__":
    tool.main()
