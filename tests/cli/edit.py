# set, unset, rename, split, merge: changed and unchanged contents.
# SPDX-License-Identifier: MIT
import os
import struct

import tool
from edit_case import Edit, digest
from tool import MODEL, run


class Set(Edit):
    def test_types_are_stated_kept_or_guessed(self):
        path = self.small(kv=[("kept", 1, b"\5"), ("list", 9, struct.pack("<IQ3H", 2, 3, 1, 2, 3))])
        tensors = self.tensors(path)
        self.ok("set", path, "kept=-7", "list=9,8", "a.bool=true", "a.u32=4294967295", "a.i32=-1",
                "a.i64=4294967296", "a.u64=18446744073709551615", "a.f32=0.5", "a.str=1x",
                "a.inf=inf", "odd:key:u32=1", "b:u8=255", "b.f64:f64=0.1", "b.i8:i8=-128",
                "b.text:str=12", "b.list:str[]=x,,z", "b.none:u8[]=", "b.flags:bool[]=true,false",
                "b.reals:f32[]=0.5,-2")
        keys = self.keys(path)
        expected = {"kept": ("i8", -7), "a.bool": ("bool", True), "a.u32": ("u32", 2**32 - 1),
                    "a.i32": ("i32", -1), "a.i64": ("i64", str(2**32)),
                    "a.u64": ("u64", str(2**64 - 1)), "a.f32": ("f32", {"v": "0.5", "bits": "3f000000"}),
                    "a.str": ("str", "1x"), "a.inf": ("str", "inf"), "odd:key": ("u32", 1),
                    "b": ("u8", 255), "b.f64": ("f64", {"v": "0.1", "bits": "3fb999999999999a"}),
                    "b.i8": ("i8", -128), "b.text": ("str", "12"),
                    "list": ("arr", {"elem": "u16", "n": 2, "values": [9, 8]}),
                    "b.list": ("arr", {"elem": "str", "n": 3, "values": ["x", "", "z"]}),
                    "b.none": ("arr", {"elem": "u8", "n": 0, "values": []}),
                    "b.flags": ("arr", {"elem": "bool", "n": 2, "values": [True, False]})}
        for key, value in expected.items():
            self.assertEqual(keys[key], value, key)
        self.assertEqual([v["bits"] for v in keys["b.reals"][1]["values"]], ["3f000000", "c0000000"])
        self.assertEqual(list(keys)[:3], ["general.architecture", "kept", "list"])  # in their former order
        self.assertEqual(self.tensors(path), tensors)
        self.assertEqual(os.listdir(self.folder), ["s.gguf"])

    def test_a_type_that_is_none_is_refused(self):
        path = self.small()
        before = digest(path)
        for change in ("a:banana=1", "a:U32=1", "a:arr=1", "a:u32[=1", "a:[]=1", "a:=1"):
            message = self.fails(2, "set", path, change)
            self.assertIn("no type of value is called", message)
            self.assertIn("u8, i8, u16, i16, u32, i32, f32, bool, str, u64, i64, f64", message)
        self.assertEqual(digest(path), before)
        self.ok("set", path, "odd:key:str=1")
        self.ok("set", path, "odd:key=2")  # an existing key
        self.assertEqual(self.keys(path)["odd:key"], ("str", "2"))

    def test_text_comes_from_a_file(self):
        path = self.small()
        self.ok("set", path, "tokenizer.chat_template=@" + self.path("t", b"{{ 1 }}\n12"))
        self.assertEqual(self.keys(path)["tokenizer.chat_template"], ("str", "{{ 1 }}\n12"))
        self.fails(1, "set", path, "k=@" + self.path("absent"))

    def test_setting_back_gives_the_bytes_back(self):
        path = self.model()
        before = digest(path)
        name = self.keys(path)["general.name"][1]
        self.ok("set", path, "general.name=other", "--reserve", "2K")
        self.assertNotEqual(digest(path), before)
        reserve = self.keys(path)["ggufx.reserve"]
        self.assertEqual((reserve[1]["elem"], reserve[1]["n"]), ("u8", 2048))
        self.ok("unset", path, "ggufx.reserve")
        self.ok("set", path, "general.name=" + name)
        self.assertEqual(digest(path), before)

    def test_dry_run_and_other_file_leave_the_model(self):
        path, other = self.model(), self.path("o.gguf")
        before = digest(path)
        shown = self.ok("set", path, "general.name=x", "--dry-run").decode()
        self.assertIn("general.name: str ggufx tiny stories -> str x", shown)
        self.assertIn("nothing was written", shown)
        result = self.json("set", path, "general.name=x", "new=1", "-o", other)
        self.assertEqual(digest(path), before)
        self.assertEqual(result["bytes"], os.path.getsize(other))
        self.assertEqual((result["output"], result["written"]), (other, True))
        self.assertEqual(result["changes"][1],
                         {"key": "new", "old": None, "new": {"type": "u32", "text": "1"}})
        self.assertEqual(self.tensors(other), self.tensors(path))
        self.assertIn("exists", self.fails(1, "set", path, "general.name=y", "-o", other))
        self.ok("set", path, "general.name=y", "-o", other, "--force")
        self.assertEqual(self.keys(other)["general.name"], ("str", "y"))

    def test_what_does_not_fit_is_a_usage_error_and_changes_nothing(self):
        nested = struct.pack("<IQIQI", 9, 1, 4, 1, 7)
        path = self.small(kv=[("n", 0, b"\1"), ("deep", 9, nested)])
        before = digest(path)
        for change in ("name", "=1", "n=256", "n=-1", "n=x", "n=1.5", "x:bool=2", "x:f32=1e39",
                       "x:f32=a", "x:u8[]=1,300", "x:u8[]=1,", ":u32=1",
                       "general.alignment=24", "general.alignment:u64=32"):
            self.fails(2, "set", path, "ok=1", change)
            self.assertEqual(digest(path), before, change)
        self.assertIn("array of arrays", self.fails(2, "set", path, "deep=1"))
        self.fails(2, "set", path, "a=1", "--reserve", "x")
        self.fails(2, "set", path, "a=1", "--reserve", "99999999999999G")
        self.fails(3, "set", self.path("no.gguf", b"GGUF"), "a=1")
        self.fails(1, "set", self.path("absent.gguf"), "a=1")
        self.ok("set", path, "deep:u8=1")
        self.assertEqual(self.keys(path)["deep"], ("u8", 1))

    def test_alignment_moves_the_data(self):
        path = self.small()
        tensors = self.tensors(path)
        self.ok("set", path, "general.alignment:u32=256")
        dump = self.json("info", path)
        self.assertEqual((dump["alignment"], dump["data_offset"] % 256), (256, 0))
        self.assertEqual(self.tensors(path), tensors)


class UnsetAndRename(Edit):
    def test_unset_names_near_keys(self):
        path = self.small(kv=[("one", 0, b"\1"), ("two", 0, b"\2")])
        self.assertIn('did you mean "one"', self.fails(1, "unset", path, "onr"))
        self.ok("unset", path, "one")
        self.assertEqual(list(self.keys(path)), ["general.architecture", "two"])

    def test_rename_keys(self):
        path = self.small(kv=[("one", 0, b"\1"), ("two", 0, b"\2")])
        before = digest(path)
        for change, code in (("one=two", 2), ("absent=x", 1), ("one=", 2), ("=x", 2), ("one", 2),
                             ("one=general.alignment", 2)):
            self.fails(code, "rename", path, change)
            self.assertEqual(digest(path), before, change)
        self.assertEqual(self.json("rename", path, "one=uno")["changes"],
                         [{"old": "one", "new": "uno"}])
        self.assertEqual(list(self.keys(path)), ["general.architecture", "uno", "two"])

    def test_rename_tensors(self):
        path = self.small()
        before, tensors = digest(path), self.tensors(path)
        self.fails(2, "rename", path, "--tensors", "a=b")
        self.fails(1, "rename", path, "--tensors", "c=d")
        self.fails(2, "rename", path, "--tensors", "a=" + "n" * 64)
        self.assertEqual(digest(path), before)
        self.assertEqual(self.ok("rename", path, "--tensors", "a=b", "b=a").splitlines()[0], b"a -> b")
        self.assertEqual([t[0] for t in self.tensors(path)], ["b", "a"])
        self.assertEqual([t[1:] for t in self.tensors(path)], [t[1:] for t in tensors])


class Split(Edit):
    def test_split_and_merge_give_the_bytes_back(self):
        for limits in (["--max-tensors", "10"], ["--max-size", "500K"], ["--max-size", "1M", "--max-tensors", "3"]):
            prefix = self.path("p" + limits[-1])
            plan = self.json("split", MODEL, prefix + ".gguf", *limits, "--dry-run")
            self.assertFalse(plan["written"] or any(map(os.path.exists, plan["outputs"])))
            made = self.json("split", MODEL, prefix, *limits)
            self.assertEqual(made["outputs"], plan["outputs"])
            self.assertEqual(made["bytes"], sum(map(os.path.getsize, made["outputs"])))
            self.assertGreater(len(made["outputs"]), 3)
            if "K" in limits[1]:
                self.assertLessEqual(max(map(os.path.getsize, made["outputs"])), 500 << 10)
            out = prefix + "-merged.gguf"
            self.ok("merge", made["outputs"][1], out)
            self.assertEqual(digest(out), digest(MODEL))
            self.fails(1, "split", MODEL, prefix, *limits)  # the names exist already
            self.ok("split", MODEL, prefix, *limits, "--force")

    def test_sets_are_edited_into_one_file_only(self):
        parts = self.json("split", MODEL, self.path("p"), "--max-tensors", "20")["outputs"]
        before = [digest(p) for p in parts]
        self.assertIn("-o FILE", self.fails(2, "set", parts[0], "a=1"))
        self.ok("unset", parts[0], "general.name", "-o", self.path("one.gguf"))
        self.assertEqual([digest(p) for p in parts], before)
        self.assertEqual(self.tensors(self.path("one.gguf")), self.tensors(MODEL))

    def test_merge_takes_its_output_as_argument_or_by_o(self):
        part = self.json("split", MODEL, self.path("p"), "--max-tensors", "20")["outputs"][0]
        outputs = {}
        for name, args in (("a", [self.path("a")]), ("b", ["-o", self.path("b")]), ("c", ["--output=" + self.path("c")])):
            plan = self.json("merge", part, *args, "--dry-run")
            self.assertEqual((plan["outputs"], plan["written"]), ([self.path(name)], False))
            self.assertFalse(os.path.exists(self.path(name)))
            outputs[name] = self.ok("merge", part, *args).decode().replace(self.path(name), "OUT")
            self.assertEqual(digest(self.path(name)), digest(MODEL))
        self.assertEqual(set(outputs.values()), {outputs["a"]})  # printed on standard output
        self.assertIn("exists; use --force", self.fails(1, "merge", part, "-o", self.path("b")))
        self.ok("merge", part, "-o", self.path("b"), "--force")
        before = sorted(os.listdir(self.folder))
        self.assertEqual(self.fails(2, "merge", part, self.path("d"), "-o", self.path("e")),
                         'ggufx: the file to write is given twice: "%s" and -o "%s"\n' % (self.path("d"), self.path("e")))
        self.assertEqual(self.fails(2, "merge", part), "ggufx: OUT is required, as an argument or by -o\n")
        self.assertIn("not a pipe", self.fails(2, "merge", part, "-o", "-"))
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_merge_refuses_what_is_no_set(self):
        self.fails(2, "merge", MODEL, self.path("x"))
        parts = self.json("split", MODEL, self.path("p"), "--max-tensors", "20")["outputs"]
        os.remove(parts[1])
        self.assertIn("part 2 of 2", self.fails(1, "merge", parts[0], self.path("x")))
        self.fails(2, "split", MODEL, self.path("x"), "--max-size", "0")
        self.assertEqual(os.listdir(self.folder), [os.path.basename(parts[0])])


class Hostile(Edit):
    def test_damaged_files_are_refused_as_validate_does_and_leave_nothing(self):
        out, n_copied = self.path("out.gguf"), 0
        for path in tool.stepped(tool.hostile_files(), 2):
            name = os.path.basename(path)
            valid = run("validate", path, "--legacy").returncode == 0
            code = run("set", path, "a=1", "-o", out).returncode
            if not valid or code == 4:  # 4: types that are listed, but not known
                self.assertIn(code, (3, 4), name)
                self.assertEqual(os.listdir(self.folder), [], name)
                continue
            self.assertEqual(code, 0, name)
            self.ok("validate", out)
            self.assertIn({"key": "a", "type": "u32", "value": 1}, self.json("info", out)["kv"])
            os.remove(out)
            n_copied += 1
        self.assertGreater(n_copied * tool.STEP, 20)


class Help(Edit):
    def test_help_has_examples(self):
        for verb in ("set", "unset", "rename", "split", "merge"):
            self.assertIn(b"Examples:", self.ok(verb, "--help"))


if __name__ == "__main__":
    tool.main()
