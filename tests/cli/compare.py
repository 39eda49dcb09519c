# diff and extract: reported differences of two models, and tensors as NumPy files.
# SPDX-License-Identifier: MIT
import ast
import json
import math
import os
import shutil
import struct

import tool
from tool import ARCHITECTURE, MODEL, gguf, run, string

F32, F16, I8, I16, I32, I64, F64, BF16, Q8_0 = 0, 1, 24, 25, 26, 27, 28, 30, 8


def tensors(*parts):
    """Returns entries and data of tensors (name, ne, type, bytes), each padded to 32."""
    entries, data = [], b""
    for name, ne, type_id, content in parts:
        entries.append((name, ne, type_id, len(data)))
        data += content + bytes(-len(content) % 32)
    return entries, data


def floats(*values):
    return struct.pack("<%df" % len(values), *values)


def read_npy(data):
    """Returns type, shape and the values' bytes of a NumPy file of version 1.0."""
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:16]
    n = struct.unpack("<H", data[8:10])[0]
    assert (10 + n) % 64 == 0 and data[9 + n:10 + n] == b"\n"
    header = ast.literal_eval(data[10:10 + n].decode())
    assert header["fortran_order"] is False
    return header["descr"], header["shape"], data[10 + n:]


class Compare(tool.Case):
    def model(self, name, kv=(), *parts):
        entries, data = tensors(*parts)
        return self.path(name, gguf([ARCHITECTURE, *kv], entries, data))

    def differs(self, *args):
        result = run("diff", *args, "--json")
        self.assertEqual((result.returncode, result.stderr), (6, b""))
        value = json.loads(result.stdout)
        self.assertEqual((value["schema"], value["equal"]), (1, False))
        return value


class Diff(Compare):
    def test_equal_models(self):
        other = self.path("other.gguf")
        shutil.copyfile(MODEL, other)
        value = self.json("diff", MODEL, other)
        self.assertTrue(value["equal"])
        self.assertEqual((value["kv"], value["tensors"], value["values"]), ([], [], []))
        self.assertEqual(value["n_equal"], len(self.json("info", MODEL)["tensors"]))
        self.assertIn(b"no differences", self.ok("diff", MODEL, other))

    def test_keys(self):
        u32 = lambda n: struct.pack("<I", n)
        many = [struct.pack("<IQ", 4, 40) + b"".join(map(u32, range(k, 40 + k))) for k in (0, 1)]
        last = many[0][:-4] + u32(7)  # differs beyond the printed values
        a = self.model("a", [("x", 4, u32(1)), ("only.a", 4, u32(1)), ("same", 8, string("t")),
                             ("type", 4, u32(5)), ("long", 9, many[0])])
        b = self.model("b", [("same", 8, string("t")), ("x", 4, u32(2)), ("type", 5, u32(5)),
                             ("long", 9, last), ("only.b", 8, string("n"))])
        value = self.differs(a, b)
        self.assertEqual([d["key"] for d in value["kv"]], ["x", "only.a", "type", "long", "only.b"])
        self.assertEqual(value["kv"][0], {"key": "x", "a": {"type": "u32", "text": "1"},
                                          "b": {"type": "u32", "text": "2"}})
        self.assertIsNone(value["kv"][1]["b"])
        self.assertIsNone(value["kv"][4]["a"])
        self.assertEqual(value["kv"][2]["b"]["type"], "i32")
        self.assertEqual(value["kv"][3]["a"]["type"], "u32[40]")
        self.assertEqual(self.json("diff", a, b, "--tensors")["kv"], [])
        self.assertEqual(len(self.differs(a, b, "--filter", "^only")["kv"]), 2)
        self.assertTrue(self.json("diff", a, b, "--filter", "same")["equal"])
        self.assertIn("--filter", self.fails(2, "diff", a, b, "--filter", "("))

    def test_tensors(self):
        a = self.model("a", (), ("w", (2, 2), F32, floats(1, 2, 3, 4)), ("gone", (1,), F32, floats(1)),
                       ("shape", (4,), F32, floats(1, 2, 3, 4)), ("t", (2,), F32, floats(1, 2)))
        b = self.model("b", (), ("shape", (2, 2), F32, floats(1, 2, 3, 4)),
                       ("w", (2, 2), F32, floats(1, 2, 3, 4)), ("new", (1,), F32, floats(1)),
                       ("t", (2,), F16, struct.pack("<2e", 1, 2)))
        value = self.differs(a, b)
        self.assertEqual([d["name"] for d in value["tensors"]], ["gone", "shape", "t", "new"])
        self.assertEqual(value["tensors"][1]["a"], {"type": "f32", "shape": "[4]"})
        self.assertEqual(value["tensors"][1]["b"], {"type": "f32", "shape": "[2 x 2]"})
        self.assertEqual(value["tensors"][2]["b"]["type"], "f16")
        self.assertEqual((value["values"], value["n_equal"]), ([], 2))  # w, and t with another type
        self.assertTrue(self.json("diff", a, b, "--values")["equal"])
        self.assertEqual(self.differs(a, b, "--tensors")["n_equal"], 0)

    def test_values(self):
        a = self.model("a", (), ("w", (3, 2), F32, floats(1, 2, 3, -4, 5, 6)))
        b = self.model("b", (), ("w", (3, 2), F32, floats(1, 2, 3, -4, 5.5, 5.5)))
        value = self.differs(a, b)["values"][0]
        self.assertEqual((value["n"], value["n_different"], value["n_invalid"]), (6, 2, 0))
        self.assertAlmostEqual(value["rmse"], math.sqrt(0.5 / 6), 12)
        self.assertAlmostEqual(value["rel_rmse"], math.sqrt(0.5 / 91), 12)
        self.assertEqual((value["max_abs"], value["max_row"], value["max_column"]), (0.5, 1, 1))
        self.assertTrue(value["over"])
        within = self.json("diff", a, b, "--threshold", "0.0742")
        self.assertEqual((within["equal"], within["values"][0]["over"]), (True, False))
        self.assertFalse(self.differs(a, b, "--threshold", "0.0741")["equal"])
        self.assertEqual(self.json("diff", a, b, "--kv", "--tensors")["values"], [])
        text = run("diff", a, b)
        self.assertEqual(text.returncode, 6)
        self.assertIn(b"w\tf32\tf32\t0.2887", text.stdout)

    def test_numbers_that_are_none_or_wide(self):
        nan, inf = math.nan, math.inf
        a = self.model("a", (), ("n", (4,), F32, floats(nan, inf, 1, 0)), ("z", (2,), F32, floats(0, 0)),
                       ("i", (2,), I64, struct.pack("<2q", 2**40, 1)),
                       ("d", (2,), F64, struct.pack("<2d", 1, 1 + 2**-40)))
        b = self.model("b", (), ("n", (4,), F32, floats(nan, -inf, nan, -0.0)),
                       ("z", (2,), F32, floats(0, 1)),
                       ("i", (2,), I64, struct.pack("<2q", 2**40 + 1, 1)),
                       ("d", (2,), F64, struct.pack("<2d", 1, 1)))
        rows = {r["name"]: r for r in self.differs(a, b, "--threshold", "1e9")["values"]}
        self.assertEqual((rows["n"]["n_different"], rows["n"]["n_invalid"]), (2, 2))
        self.assertEqual((rows["n"]["rmse"], rows["n"]["over"]), (None, True))
        self.assertEqual((rows["z"]["rel_rmse"], rows["z"]["over"]), (None, True))
        self.assertEqual((rows["i"]["max_abs"], rows["d"]["max_abs"]), (1, 2**-40))
        self.assertFalse(rows["i"]["over"])

    def test_many_rows(self):
        n = 1000
        rows = [float(i % 17) for i in range(n * 300)]
        a = self.model("a", (), ("w", (n, 300), F32, floats(*rows)))
        rows[n * 299 + 998] += 8
        b = self.model("b", (), ("w", (n, 300), F32, floats(*rows)))
        value = self.differs(a, b)["values"][0]
        self.assertEqual((value["n"], value["n_different"]), (n * 300, 1))
        self.assertEqual((value["max_row"], value["max_column"]), (299, 998))

    def test_errors(self):
        bad = self.path("bad.gguf", b"GGUF")
        self.fails(3, "diff", MODEL, bad)
        self.fails(3, "diff", bad, MODEL)
        self.fails(1, "diff", MODEL, self.path("absent"))
        self.fails(2, "diff", MODEL)
        self.fails(2, "diff", MODEL, MODEL, "--threshold", "-1")

    def test_malformed_files(self):
        cases, n_refused = tool.hostile_cases(), 0
        for path in tool.stepped(tool.hostile_files()):
            name = os.path.basename(path)
            result = run("diff", path, path)
            self.assertIn(result.returncode, (0, 3, 4, 5, 6), (name, result.stderr))
            case = cases.get(path, {"expect": "", "code": ""})
            if case["expect"] == "reject" and "VERSION" not in case["code"]:  # the tool accepts version 1
                self.assertNotEqual(result.returncode, 0, name)
                self.assertTrue(result.stderr.startswith(b"ggufx: "), name)
                n_refused += 1
        self.assertGreater(n_refused * tool.STEP, 50)


class Extract(Compare):
    def test_types_of_numpy_stay(self):
        content = {F32: floats(1, -2, 3, 4), F16: struct.pack("<4e", 1, -2, 3, 4),
                   F64: struct.pack("<4d", 1, 2, 3, 0.1), I8: struct.pack("<4b", 1, -2, 3, 4),
                   I16: struct.pack("<4h", 1, -2, 3, 400), I32: struct.pack("<4i", 1, -2, 3, 1 << 30),
                   I64: struct.pack("<4q", 1, -2, 3, 1 << 60)}
        descr = {F32: "<f4", F16: "<f2", F64: "<f8", I8: "|i1", I16: "<i2", I32: "<i4", I64: "<i8"}
        path = self.model("m", (), *[("t%d" % t, (2, 2), t, c) for t, c in content.items()])
        for t, data in content.items():
            got = read_npy(self.ok("extract", path, "t%d" % t, "--npy"))
            self.assertEqual(got, (descr[t], (2, 2), data))
            row = read_npy(self.ok("extract", path, "t%d" % t, "--npy", "--rows", "1"))
            self.assertEqual(row, (descr[t], (1, 2), data[len(data) // 2:]))
        self.assertEqual(self.ok("extract", path, "t28", "--text"), b"1\t2\n3\t0.1\n")
        self.assertEqual(self.ok("extract", path, "t26"), b"1\t-2\n3\t1073741824\n")
        self.assertEqual(self.ok("extract", path, "t1", "--rows", ":1"), b"1\t-2\n")

    def test_others_become_f32_or_stay_raw(self):
        block = struct.pack("<e32b", 0.5, *range(-16, 16))
        bf16 = struct.pack("<4H", 0x3f80, 0xc000, 0x4040, 0x7f80)
        path = self.model("m", (), ("q", (32, 2), Q8_0, block + block), ("b", (4,), BF16, bf16))
        values = floats(*[0.5 * i for i in range(-16, 16)])
        self.assertEqual(read_npy(self.ok("extract", path, "q", "--npy")), ("<f4", (2, 32), values * 2))
        self.assertEqual(read_npy(self.ok("extract", path, "b", "--npy")),
                         ("<f4", (4,), floats(1, -2, 3, math.inf)))
        self.assertEqual(self.ok("extract", path, "q", "--raw", "--rows", "1:"), block)
        self.assertEqual(self.ok("extract", path, "b", "--raw"), bf16)

    def test_files_and_errors(self):
        path = self.model("m", (), ("w", (2, 2), F32, floats(1, 2, 3, 4)))
        out = self.path("w.npy")
        self.ok("extract", path, "w", "-o", out)
        with open(out, "rb") as file:
            self.assertEqual(read_npy(file.read()), ("<f4", (2, 2), floats(1, 2, 3, 4)))
        self.assertIn("exists", self.fails(1, "extract", path, "w", "-o", out))
        self.ok("extract", path, "w", "--raw", "-o", out, "--force")
        self.assertEqual(os.path.getsize(out), 16)
        self.assertIn('did you mean "token_embd.weight"?', self.fails(1, "extract", tool.MODEL, "token_embd.weigth"))
        for rows in ("3", "1:0", "0:3", "x", "18446744073709551615"):
            self.fails(2, "extract", path, "w", "--rows", rows)
        self.fails(2, "extract", path, "w", "--npy", "--raw")
        self.fails(3, "extract", self.path("bad", b"GGUF"), "w")


if __name__ == "__main__":
    tool.main()
