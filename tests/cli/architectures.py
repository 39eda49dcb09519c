# Architectures, and forms of them, that have no stored logits: models that the shared generator
# makes, against its forward pass in binary64 (reference.py, a Python with NumPy). Windows and chunks
# are shorter than the texts, and temperatures set in within them. What README says that each
# architecture uses, against the programs of all of them.
# SPDX-License-Identifier: MIT
import glob
import json
import os

import architecture_table
import reference_case
import tool


class Generated(reference_case.Case):
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
        for path in glob.glob(os.path.join(tool.shared("data", "tiny"), "**", "*.gguf"), recursive=True):
            with self.subTest(path):
                self.check_row(path)

    def test_windows_come_from_a_period_or_a_flag_for_each_layer(self):
        model = tool.shared("data", "tiny", "tiny-gemma3-f16.gguf")
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
