# Shared by the tests of edits.
# SPDX-License-Identifier: MIT
import hashlib
import shutil
import struct

import tool
from tool import ARCHITECTURE, MODEL, gguf


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Edit(tool.Case):
    def model(self, name="m.gguf"):
        path = self.path(name)
        shutil.copyfile(MODEL, path)
        return path

    def keys(self, path):
        return {e["key"]: (e["type"], e["value"]) for e in self.json("info", path)["kv"]}

    def tensors(self, path):
        """Returns name, type, shape and digest of the bytes of each tensor."""
        return [(t["name"], t["type"], t["ne"], hashlib.sha256(content).hexdigest())
                for t, content in self.tensor_bytes(path)]

    def small(self, name="s.gguf", kv=()):
        tensors = [("a", (4,), 0, 0), ("b", (2, 2), 0, 32)]
        data = struct.pack("<4f16x4f16x", 1, 2, 3, 4, 5, 6, 7, 8)
        return self.path(name, gguf([ARCHITECTURE, *kv], tensors, data))
