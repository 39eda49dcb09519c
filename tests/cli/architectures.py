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

    rows = architecture_table.rows()

    def check_row(self, path):
        keys = json.loads(self.ok("info", "--json", "--kv", "--filter", "glob:general.architecture", path))
        row = self.rows[keys["kv"][0]["value"]]
        graph = self.ok("info", "--graph", path).decode()
        self.assertEqual(architecture_table.faults(row, graph), [], path)
        self.assertEqual(architecture_table.flow_faults(graph), [], path)


if __name__ == "__main__":
    tool.main()
