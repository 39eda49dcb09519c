# info, validate, dequant, types, cpu, version: on the embedded model and on generated files.
# SPDX-License-Identifier: MIT
import json
import os
import struct
import unittest

import architecture_table
import tool
from tool import ARCHITECTURE, MODEL, gguf, read_json, run, string


def f32_file(values, ne, name="w"):
    return gguf([ARCHITECTURE], [(name, ne, 0, 0)], struct.pack("<%df" % len(values), *values).ljust(32, b"\0"))


class Info(tool.Case):
    def test_json_has_every_value_type(self):
        kv = [ARCHITECTURE, ("u8", 0, b"\xff"), ("i8", 1, b"\x80"), ("u16", 2, b"\xff\xff"),
              ("i16", 3, b"\x00\x80"), ("u32", 4, b"\xff" * 4), ("i32", 5, b"\x00\x00\x00\x80"),
              ("f32", 6, struct.pack("<f", 0.1)), ("no", 7, b"\0"), ("yes", 7, b"\2"),
              ("u64", 10, b"\xff" * 8), ("i64", 11, bytes(7) + b"\x80"),
              ("f64", 12, struct.pack("<d", 1e16)), ("bytes", 8, string(b"\xff\x00")),
              ("list", 9, struct.pack("<IQ", 8, 2) + string("a") + string("")),
              ("nested", 9, struct.pack("<IQ", 9, 1) + struct.pack("<IQ", 4, 2) + bytes(8)),
              (b"k\xff", 0, b"\1")]
        dump = self.json("info", self.path("all.gguf", gguf(kv)))
        values = {json.dumps(e["key"]): (e["type"], e["value"]) for e in dump["kv"]}
        expected = {"u8": ("u8", 255), "i8": ("i8", -128), "u16": ("u16", 65535),
                    "i16": ("i16", -32768), "u32": ("u32", 2**32 - 1), "i32": ("i32", -2**31),
                    "f32": ("f32", {"v": "0.10000000149011612", "bits": "3dcccccd"}),
                    "no": ("bool", False), "yes": ("bool", True),
                    "u64": ("u64", str(2**64 - 1)), "i64": ("i64", str(-2**63)),
                    "f64": ("f64", {"v": "1e+16", "bits": "4341c37937e08000"}),
                    "bytes": ("str", {"hex": "ff00"}),
                    "list": ("arr", {"elem": "str", "n": 2, "values": ["a", ""]}),
                    "nested": ("arr", {"elem": "arr", "n": 1,
                                       "values": [{"elem": "u32", "n": 2, "values": [0, 0]}]})}
        for key, value in expected.items():
            self.assertEqual(values[json.dumps(key)], value, key)
        self.assertEqual(values[json.dumps({"hex": "6bff"})], ("u8", 1))

    def test_json_describes_tensors(self):
        dump = self.json("info", self.path("w.gguf", f32_file([1.5] * 6, (3, 2))))
        self.assertEqual(dump["tensors"], [{"name": "w", "type": "f32", "type_id": 0, "ne": [3, 2],
                                            "offset": 0, "abs_offset": dump["data_offset"],
                                            "nbytes": 24, "complete": True}])

    def test_a_bad_file_is_reported_and_the_next_ones_follow(self):
        bad, absent = self.path("bad.gguf", b"Once"), self.path("absent.gguf")
        self.assertEqual([*self.json("info", MODEL)][:2], ["schema", "file"])
        self.assertEqual(self.json("info", MODEL)["file"], MODEL)
        result = run("info", MODEL, bad, absent, MODEL, "--json")
        self.assertEqual(result.returncode, 3)  # exit code of the first failure
        self.assertEqual([json.loads(line)["file"] for line in result.stdout.splitlines()], [MODEL, MODEL])
        told = [json.loads(line)["error"] for line in result.stderr.splitlines()]
        self.assertEqual([(e["file"], e["exit"]) for e in told], [(bad, 3), (absent, 1)])
        result = run("info", absent, MODEL)
        self.assertEqual((result.returncode, result.stderr.count(b"\n")), (1, 1))
        self.assertIn(b"token_embd.weight", result.stdout)

    def test_selection_filter_and_limit(self):
        self.assertNotIn("kv", self.json("info", MODEL, "--tensors"))
        self.assertNotIn("tensors", self.json("info", MODEL, "--kv"))
        names = [t["name"] for t in self.json("info", MODEL, "--filter", "attn_[qk]")["tensors"]]
        self.assertEqual(len(names), 8)
        self.assertTrue(all(".attn_q." in n or ".attn_k." in n for n in names))
        self.assertEqual(len(self.json("info", MODEL, "--kv", "--limit", "3")["kv"]), 3)
        self.fails(2, "info", MODEL, "--filter", "(")

    def test_text_shows_card_tables_and_markdown(self):
        out = self.ok("info", MODEL).decode()
        for part in ("architecture  llama", "q8_0", "token_embd.weight", "str[1024]", "…]"):
            self.assertIn(part, out)
        self.assertIn("| key | type | value |", self.ok("info", MODEL, "--kv", "--md").decode())
        full = self.ok("info", MODEL, "--kv", "--array-full", "--filter", "token_type").decode()
        self.assertEqual(full.count(", "), 1023)

    def test_card_counts_bytes_and_bits(self):
        # 512 values of F32 are 2048 bytes, 8 rows of 256 values of Q4_K are 1152.
        path = self.path("two.gguf", gguf([ARCHITECTURE], [("a", (256, 2), 0, 0),
                                                           ("b", (256, 8), 12, 2048)], bytes(3200)))
        card, *_ = self.ok("info", path).decode().split("\n\n")
        self.assertIn("bits/value    10.000", card)  # 3200 bytes, 2560 values
        self.assertIn("2, 3.12 KiB (2.56 K values)", card)
        first, second = card.splitlines()[-2:]
        self.assertRegex(first, r"f32 +█{20}·{10} +64.0 %  2.00 KiB in 1 tensor$")
        self.assertRegex(second, r"q4_K +█{11}·{19} +36.0 %  1.12 KiB in 1 tensor$")

    def test_limit_is_of_rows_shown(self):
        for flag, key in (("--tensors", "tensors"), ("--kv", "kv")):
            for limit in (1, 4):
                self.assertEqual(len(self.json("info", MODEL, flag, "--limit", limit)[key]), limit)
                rows = self.ok("info", MODEL, flag, "--limit", limit).decode().rstrip("\n")
                self.assertEqual(len(rows.split("\n\n")[-1].splitlines()), limit + 1)

    def test_several_files_are_one_line_each(self):
        values = self.lines("info", MODEL, MODEL, "--kv", "--limit", "1")
        self.assertEqual([v["file"] for v in values], [MODEL, MODEL])

    def test_unknown_tensor_type_is_listed_not_assumed(self):
        path = self.path("fork.gguf", gguf([ARCHITECTURE], [("w", (32,), 200, 0)], bytes(64)))
        tensor = self.json("info", path)["tensors"][0]
        self.assertEqual((tensor["type"], tensor["type_id"]), ("unknown", 200))
        self.fails(4, "dequant", path, "w")

    def test_files_that_are_no_gguf_give_3(self):
        path = self.path("text", b"no model at all")
        self.assertIn(path + ": magic", self.fails(3, "info", path))
        self.fails(3, "info", self.path("empty", b""))

    def test_golden_files_dump_to_the_expected_values(self):
        has_hash = b"built without" not in run("info", MODEL, "--json", "--sha256").stderr
        compared = 0
        entries = [(folder, entry) for folder in tool.folders("formats", "gguf-golden")
                   for entry in read_json(os.path.join(folder, "index.json"))["files"]]
        for folder, entry in entries:
            if "expected" not in entry:
                continue
            expected = read_json(os.path.join(folder, entry["expected"]))
            path = os.path.join(folder, entry["file"])
            dump = self.json("info", path, *(["--sha256"] if has_hash else []))
            del dump["schema"], dump["file"]
            for tensor in [] if has_hash else expected["tensors"]:
                del tensor["sha256"]
            self.assertEqual(dump, expected, entry["file"])
            compared += 1
        self.assertGreaterEqual(compared, 20)


class Validate(tool.Case):
    def test_sound_file_is_ok(self):
        result = self.json("validate", MODEL, "--deep")
        self.assertEqual((result["status"], result["code"], result["offset"], result["findings"]),
                         ("OK", 0, None, []))
        self.assertIn(b": OK", self.ok("validate", MODEL))
        self.ok("validate", MODEL, "--model")

    def check_bad(self, content, status, offset, *flags):
        result = run("validate", self.path("bad.gguf", content), "--json", *flags)
        self.assertEqual(result.returncode, 3, result.stdout)
        value = json.loads(result.stdout)
        self.assertEqual((value["status"], value["offset"]), (status, offset))
        self.assertLess(value["code"], 0)
        self.assertNotEqual(value["message"], "")

    def test_faults_have_status_and_offset(self):
        good = f32_file([1.0] * 8, (8,))
        self.check_bad(b"GGJT" + good[4:], "MAGIC", 0)
        self.check_bad(good[:4] + b"\7\0\0\0" + good[8:], "VERSION", 4)
        self.check_bad(gguf([("k", 99, b"")]), "VALUE_TYPE", 24 + 9)
        result = run("validate", self.path("cut.gguf", good[:-5]), "--json")
        self.assertEqual((result.returncode, json.loads(result.stdout)["status"]), (3, "BOUNDS"))

    def test_deep_finds_what_a_plain_check_does_not_read(self):
        content = f32_file([1.0, float("nan")], (2,))
        path = self.path("nan.gguf", content)
        self.assertEqual(self.json("validate", path)["findings"], [])
        result = run("validate", path, "--deep", "--json")
        value = json.loads(result.stdout)
        offset = len(content) - 32 + 4  # the second value
        self.assertEqual((result.returncode, value["status"], value["offset"], value["index"]),
                         (3, "VALUE", offset, 0))
        finding, = value["findings"]
        self.assertEqual((finding["severity"], finding["offset"], finding["name"]),
                         ("error", offset, "w"))
        self.assertEqual(finding["message"], value["message"])

    def test_strict_refuses_nested_arrays(self):
        nested = struct.pack("<IQ", 9, 1) + struct.pack("<IQ", 4, 1) + bytes(4)
        path = self.path("nested.gguf", gguf([ARCHITECTURE, ("n", 9, nested)]))
        self.ok("validate", path)
        result = run("validate", path, "--strict", "--json")
        value = json.loads(result.stdout)
        self.assertEqual((result.returncode, value["status"], value["findings"]),
                         (3, "VALUE_TYPE", []))  # refused at open, like ggml

    def test_version_1_needs_legacy(self):
        v1 = b"GGUF" + struct.pack("<III", 1, 0, 0)
        self.check_bad(v1, "VERSION", 4)
        self.ok("validate", "--legacy", self.path("v1.gguf", v1))

    def test_absent_file_is_no_verdict(self):
        self.fails(1, "validate", self.path("absent.gguf"), "--json")

    def test_malformed_cases_end_as_expected(self):
        cases = tool.hostile_cases()
        self.assertGreaterEqual(len(cases), 400)
        for path, case in tool.stepped(cases.items()):
            value, code = self.verdict(path)
            allowed = case["code"].split("|")
            if case["expect"] == "either" or case["expect"].startswith("open_ok"):
                allowed.append("OK")
            self.assertIn(value["status"], allowed, case["name"])
            self.assertEqual(code, 0 if value["status"] == "OK" else 3, case["name"])
            if case["expect"] == "reject" and case["error_offset"] is not None:
                self.assertEqual(value["offset"], case["error_offset"], case["name"])
            if case["expect"] == "open_ok_model_reject":
                value, code = self.verdict(path, "--model")
                self.assertIn(value["status"], case["code"].split("|"), case["name"])

    def verdict(self, path, *flags):
        result = run("validate", "--json", *flags, path)
        return json.loads(result.stdout), result.returncode


class Dequant(tool.Case):
    VALUES = [0.0, 1.5, -2.25, 1e-30, 3.0, -0.5]

    def file(self):
        return self.path("w.gguf", f32_file(self.VALUES, (3, 2)))

    def test_text_has_a_line_per_row(self):
        rows = [line.split("\t") for line in self.ok("dequant", self.file(), "w").decode().split("\n")]
        self.assertEqual([[float(v) for v in row] for row in rows[:-1]],
                         [self.VALUES[:3], self.VALUES[3:]])

    def test_raw_is_little_endian_f32(self):
        self.assertEqual(self.ok("dequant", self.file(), "w", "--raw"),
                         struct.pack("<6f", *self.VALUES))
        self.assertEqual(self.ok("dequant", self.file(), "w", "--raw", "--rows", "1:2"),
                         struct.pack("<3f", *self.VALUES[3:]))

    def test_npy_has_header_and_shape(self):
        target = self.path("w.npy")
        self.ok("dequant", self.file(), "w", "-o", target)
        with open(target, "rb") as file:
            content = file.read()
        self.assertEqual(content[:8], b"\x93NUMPY\x01\x00")
        length = struct.unpack("<H", content[8:10])[0]
        self.assertEqual((10 + length) % 64, 0)
        header = eval(content[10:10 + length].decode(), {})
        self.assertEqual(header, {"descr": "<f4", "fortran_order": False, "shape": (2, 3)})
        self.assertEqual(content[10 + length:], struct.pack("<6f", *self.VALUES))

    def test_rows_are_checked(self):
        for rows in ("1:3", "2:1", "x", "-1", "2", "5"):
            self.assertIn("--rows: ", self.fails(2, "dequant", self.file(), "w", "--rows=" + rows))
        self.assertEqual(self.ok("dequant", self.file(), "w", "--rows", ":0"), b"")

    def test_absent_tensor_names_the_nearest(self):
        self.assertIn('did you mean "token_embd.weight"?',
                      self.fails(1, "dequant", MODEL, "token_embed.weight"))


class Lists(tool.Case):
    def test_types_have_ids_and_sizes(self):
        types = {t["name"]: t for t in self.json("types")["types"]}
        q4_k = types["q4_K"]
        self.assertEqual((q4_k["id"], q4_k["block_values"], q4_k["block_bytes"]), (12, 256, 144))
        self.assertEqual(types["iq1_m"]["id"], 29)
        self.assertEqual(len(types), 35)

    def test_types_have_kinds_and_bits(self):
        types = {t["name"]: t for t in self.json("types")["types"]}
        for name, kind, bits in (("f32", "float", 32), ("q4_K", "quantized", 4.5), ("i8", "integer", 8),
                                 ("q8_K", "activation", 9.125), ("iq4_nl", "quantized", 4.5)):
            self.assertEqual((types[name]["kind"], types[name]["bits_per_value"]), (kind, bits))
        rows = [line.split("\t") for line in self.ok("types", "q4_k", "i8").decode().splitlines()]
        self.assertEqual(rows, [["name", "id", "kind", "values/block", "bytes/block", "bits/value",
                                 "matvec"],
                                ["q4_K", "12", "quantized", "256", "144", "4.5", "yes"],
                                ["i8", "24", "integer", "1", "1", "8", "no"]])

    def test_cpu_features_and_the_set_belong_together(self):
        cpu = self.json("cpu")
        sets = {"avx512": "avx512", "avx2": "avx2", "neon": "neon"}
        if cpu["isa"] in sets:
            self.assertTrue(any(f.startswith(sets[cpu["isa"]]) for f in cpu["features"]),
                            cpu["features"])
        if os.path.exists("/proc/cpuinfo") and not tool.WRAPPER:
            with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
                flags = set(file.read().split())
            if "avx2" in flags:
                self.assertIn("avx2", cpu["features"])
            if "sse2" in flags and "avx2" not in flags:
                self.assertNotIn("avx2", cpu["features"])

    def test_cpu_names_a_kernel_per_type(self):
        cpu = self.json("cpu", "--isa", "scalar")
        self.assertEqual(cpu["isa"], "scalar")
        self.assertEqual(cpu["kernels"]["q8_0"], "scalar")
        self.assertGreaterEqual(cpu["threads"], 1)
        self.assertEqual(self.json("cpu", "-t", "3")["threads"], 3)

    def test_version_is_the_library_s(self):
        version = self.json("version")
        self.assertEqual((version["version"], version["abi"]), ("0.1.0", 1))
        self.assertIn(b"0.1.0", self.ok("--version"))

    def test_version_lists_what_the_library_has(self):
        version = self.json("version")
        known = architecture_table.names()
        self.assertLessEqual(set(version["architectures"]), set(known))
        self.assertIn("llama", version["architectures"])
        self.assertIn("llama", version["tokenizers"])
        self.assertEqual(version["types"], [t["name"] for t in self.json("types")["types"] if t["kind"] != "activation"])
        text = self.ok("version").decode()
        self.assertIn(f"\n{len(version['architectures'])} architectures, {len(version['types'])} tensor types, ", text)
        self.assertIn("q8_0", version["kv_types"])


if __name__ == "__main__":
    tool.main()
