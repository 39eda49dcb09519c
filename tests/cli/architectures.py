# Architectures and variants of tests/models/reference.py against the reference implementation in binary64 (a Python
# with NumPy). Windows and chunks are shorter than the prompts, and attention temperatures start within them. README's
# table of architectures is compared with all their graphs.
# SPDX-License-Identifier: MIT
import glob
import json
import os
import struct

import architecture_table
import reference_case
import tool

BYTES_OF = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


def end_of_value(data, at, kind):
    if kind == 8:
        return at + 8 + struct.unpack_from("<Q", data, at)[0]
    if kind != 9:
        return at + BYTES_OF[kind]
    element, n = struct.unpack_from("<IQ", data, at)
    at += 12
    for _ in range(n if element >= 8 else 0):
        at = end_of_value(data, at, element)
    return at if element >= 8 else at + n * BYTES_OF[element]


def with_other_tensors(path, tensors, change):
    """Writes the file with its keys and change([(name, ne, type id, bytes)]) of its tensors (tensor_bytes())."""
    with open(path, "rb") as file:
        data = file.read()
    version, _, n_kv = struct.unpack_from("<IQQ", data, 4)
    at = 24
    for _ in range(n_kv):
        at += 8 + struct.unpack_from("<Q", data, at)[0]
        at = end_of_value(data, at + 4, struct.unpack_from("<I", data, at)[0])
    tensors = change([(t["name"], t["ne"], t["type_id"], content) for t, content in tensors])
    head, body = b"GGUF" + struct.pack("<IQQ", version, len(tensors), n_kv) + data[24:at], b""
    for name, ne, type_id, content in tensors:
        head += tool.string(name) + struct.pack("<I%dQIQ" % len(ne), len(ne), *ne, type_id, len(body))
        body += content + bytes(-len(content) % 32)
    return head + bytes(-len(head) % 32) + body


class Generated(reference_case.Case):
    def test_a_delta_net_reads_the_rows_of_old_files_by_key_head(self):
        model = tool.tiny("qwen3next")
        size, key_heads, each = 16, 2, 2  # head size, key heads, value heads of each
        changed = []

        def by_key_head(tensors):
            out = {name: (name, ne, type_id, content) for name, ne, type_id, content in tensors}
            for name, ne, type_id, content in tensors:
                if not name.endswith(".attn_qkv.weight"):
                    continue
                row = len(content) // ne[1]
                qkv = [content[i:i + row] for i in range(0, len(content), row)]
                gate = out.pop(name.replace("qkv", "gate"))[3]
                z = [gate[i:i + row] for i in range(0, len(gate), row)]
                keys, values, rows = key_heads * size, each * size, []
                for head in range(key_heads):
                    for first, n in ((0, size), (keys, size), (2 * keys, values)):
                        rows += qkv[first + head * n:first + (head + 1) * n]
                    rows += z[head * values:(head + 1) * values]
                out[name] = (name.replace("attn_qkv", "ssm_in"), [ne[0], len(rows)], type_id, b"".join(rows))
                changed.append(name)
            return list(out.values())

        old = self.path("old.gguf", with_other_tensors(model, self.tensor_bytes(model), by_key_head))
        self.assertTrue(changed)
        self.assertIn(b" gather ", self.ok("info", "--graph", old))
        for ids in reference_case.TEXTS:
            self.assertEqual(self.logits(old, ids), self.logits(model, ids))

    def test_logits_are_those_of_the_forward_pass_on_every_set(self):
        for name in tool.stepped(self.reference()):
            with self.subTest(name):
                for i, ids in enumerate(reference_case.TEXTS):
                    got = self.logits(name + ".gguf", ids)
                    self.assertLess(self.distance(got, name, i), 1e-3)
                    self.assertEqual(self.logits(name + ".gguf", ids, "--isa", "scalar"), got)
                self.check_row(self.path(name + ".gguf"))

    def test_the_table_says_what_programs_do(self):
        self.assertEqual(sorted(self.rows), sorted(architecture_table.names()))
        paths = glob.glob(os.path.join(tool.tiny(), "**", "*.gguf"), recursive=True)
        for path in tool.stepped(sorted(paths)):
            with self.subTest(path):
                self.check_row(path)

    def test_windows_come_from_a_period_or_a_flag_for_each_layer(self):
        model = tool.tiny("gemma3")
        graphs = {}
        for name, pattern in (("number", "u32=2"), ("flags", "bool[]=true,false,true,false,true,false,true"),
                              ("other", "bool[]=true,true,true,false,true,false,true")):
            path = self.path(name + ".gguf")
            self.ok("set", model, "gemma3.attention.sliding_window_pattern:" + pattern, "-o", path, "-q")
            graphs[name] = self.ok("info", "--graph", path)
        self.assertIn(b"layer 1, 3, 5", graphs["number"])
        self.assertEqual(graphs["flags"], graphs["number"])
        self.assertNotEqual(graphs["other"], graphs["number"])
        short = self.path("short.gguf")
        self.ok("set", model, "gemma3.attention.sliding_window_pattern:bool[]=true,false", "-o", short, "-q")
        self.assertIn("has 2 numbers, layer 2 has none", self.fails(3, "info", "--graph", short))

    rows = architecture_table.rows()

    def check_row(self, path):
        keys = json.loads(self.ok("info", "--json", "--kv", "--filter", "glob:general.architecture", path))
        row = self.rows[keys["kv"][0]["value"]]
        graph = self.ok("info", "--graph", path).decode()
        self.assertEqual(architecture_table.faults(row, graph), [], path)
        self.assertEqual(architecture_table.flow_faults(graph), [], path)


if __name__ == "__main__":
    tool.main()
