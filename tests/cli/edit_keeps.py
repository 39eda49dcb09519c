# Keys and tensors of every type through everything that writes a file: each keeps its type, its bytes and its order.
# SPDX-License-Identifier: MIT
import struct

import tool
from edit_case import Edit
from tool import gguf, string


def array(element, n, content=b""):
    return struct.pack("<IQ", element, n) + content


LONG = b"a" * 70000
# Also keys before general.architecture, empty arrays, invalid UTF-8, the limits of 64 bits, a NaN.
KEYS = [
    ("llama.context_length", 10, struct.pack("<Q", 512)),
    ("llama.vision.deepstack", 9, array(5, 0)),
    ("x.empty_str", 9, array(8, 0)),
    ("x.empty_bool", 9, array(7, 0)),
    ("x.empty_f64", 9, array(12, 0)),
    ("general.architecture", 8, string("llama")),
    ("x.bools", 9, array(7, 3, b"\1\0\1")),
    ("x.u8", 0, b"\xff"),
    ("x.i8", 1, b"\xff"),
    ("x.u16", 2, b"\xff\xff"),
    ("x.i16", 3, struct.pack("<h", -2)),
    ("x.u32", 4, struct.pack("<I", 2**32 - 1)),
    ("x.i32", 5, struct.pack("<i", -2**31)),
    ("x.f32", 6, b"\1\0\xc0\x7f"),  # a NaN with a payload
    ("x.bool", 7, b"\1"),
    ("x.u64", 10, struct.pack("<Q", 2**64 - 1)),
    ("x.i64", 11, struct.pack("<q", -2**63)),
    ("x.f64", 12, struct.pack("<d", 0.1)),
    ("x.bytes", 8, string(b"\xff\xfe\0z")),
    ("x.texts", 9, array(8, 4, string(b"") + string(b"\0") + string(b"\xf0\x9f") + string(LONG))),
    ("x.i16s", 9, array(3, 2, struct.pack("<2h", -1, 2))),
    ("x.f64s", 9, array(12, 2, struct.pack("<2d", 1e300, -0.0))),
    ("general.tags", 9, array(8, 2, string("a") + string("b"))),
]
VALUES = {
    "x.bools": {"elem": "bool", "n": 3, "values": [True, False, True]}, "x.u8": 255, "x.i8": -1, "x.u16": 65535, "x.i16": -2,
    "x.u32": 2**32 - 1, "x.i32": -2**31, "x.bool": True, "x.u64": str(2**64 - 1), "x.i64": str(-2**63),
    "x.f64": {"v": "0.1", "bits": "3fb999999999999a"}, "x.bytes": {"hex": "fffe007a"},
    "x.empty_bool": {"elem": "bool", "n": 0, "values": []}, "x.i16s": {"elem": "i16", "n": 2, "values": [-1, 2]},
}
# Also a scalar, tensors without values, types that no model's weights have.
TENSORS = [
    ("a.weight", (32, 3), 0, struct.pack("<96f", *range(96))),
    ("scalar", (), 0, struct.pack("<f", 1.5)),
    ("empty", (0,), 0, b""),
    ("empty.weight", (4, 0, 2), 0, b""),
    ("i64", (3,), 27, struct.pack("<3q", 1, -2, 3)),
    ("f64", (2,), 28, struct.pack("<2d", 0.1, 0.2)),
    ("i8", (5,), 24, b"\1\2\3\4\5"),
    ("q8_0", (32, 2), 8, bytes(range(68))),
]


def content(path):
    with open(path, "rb") as file:
        return file.read()


class Keeps(Edit):
    def source(self):
        tensors, data = [], b""
        for name, ne, kind, values in TENSORS:
            tensors.append((name, ne, kind, len(data)))
            data += values + bytes(-len(values) % 32)
        return self.path("in.gguf", gguf(KEYS, tensors, data))

    def test_set_and_unset(self):
        source, out = self.source(), self.path("o.gguf")
        self.ok("set", source, "general.name=x", "-o", out)
        self.assertEqual(self.keys(out), {**self.keys(source), "general.name": ("str", "x")})
        self.assertEqual(self.tensors(out), self.tensors(source))
        self.ok("unset", out, "general.name", "-o", self.path("back.gguf"))
        self.assertEqual(content(self.path("back.gguf")), content(source))
        self.ok("unset", out, "general.name")  # in place: the remaining space becomes a key
        keys = self.keys(out)
        self.assertEqual(keys.pop("ggufx.reserve")[1]["elem"], "u8")
        self.assertEqual(keys, self.keys(source))
        self.assertEqual(self.tensors(out), self.tensors(source))

    def test_rename(self):
        source, out = self.source(), self.path("o.gguf")
        for change in (["x.f32=y.f32", "y.f32=x.f32"], ["--tensors", "empty.weight=e", "--tensors", "e=empty.weight"]):
            pairs = [change[:len(change) // 2], change[len(change) // 2:]]
            self.ok("rename", source, *pairs[0], "-o", out, "--force")
            self.assertNotEqual(content(out), content(source))
            self.ok("rename", out, *pairs[1], "-o", self.path("back.gguf"), "--force")
            self.assertEqual(content(self.path("back.gguf")), content(source))

    def test_split_and_merge(self):
        source = self.source()
        for n in range(1, len(TENSORS)):
            parts = self.json("split", source, self.path("p%d" % n), "--max-tensors", n)["outputs"]
            self.assertEqual(len(parts), -(-len(TENSORS) // n))
            self.ok("merge", parts[-1], "-o", self.path("merged.gguf"), "--force")
            self.assertEqual(content(self.path("merged.gguf")), content(source), n)

    def test_byte_orders(self):
        source, big, back = self.source(), self.path("big.gguf"), self.path("back.gguf")
        self.ok("convert", source, "-o", big, "--endian", "big")
        self.assertEqual(self.json("info", big)["endian"], "big")
        self.assertEqual(self.keys(big), self.keys(source))
        self.assertIn(struct.pack(">3q", 1, -2, 3), content(big))
        self.ok("convert", big, "-o", back, "--endian", "little")
        self.assertEqual(content(back), content(source))

    def test_quantize_that_only_copies(self):
        source, out = self.source(), self.path("o.gguf")
        self.ok("quantize", source, out, "--only-copy", "-q")
        added = {"general.quantization_version": ("u32", 2), "general.file_type": ("u32", 1)}
        self.assertEqual(self.keys(out), {**self.keys(source), **added})
        self.assertEqual(sorted(self.tensors(out)), sorted(self.tensors(source)))

    def test_info_tells_each_value(self):
        keys = self.keys(self.source())
        self.assertEqual(list(keys), [key for key, _, _ in KEYS])
        for key, value in VALUES.items():
            self.assertEqual(keys[key][1], value, key)
        self.assertEqual(keys["x.f32"][1]["bits"], "7fc00001")
        self.assertEqual([v["bits"] for v in keys["x.f64s"][1]["values"]], ["7e37e43c8800759c", "8000000000000000"])
        self.assertEqual(keys["x.texts"][1]["values"][:3], ["", "\0", {"hex": "f09f"}])
        self.assertEqual(keys["x.texts"][1]["values"][3], LONG.decode())


if __name__ == "__main__":
    tool.main()
