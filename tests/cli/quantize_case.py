# What the tests of quantize share.
# SPDX-License-Identifier: MIT
import hashlib
import os
import struct

import tool
from tool import shared

STORIES = ("data", "stories260K")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def digest(path):
    return hashlib.sha256(read(path)).hexdigest()


def u32(n):
    return struct.pack("<I", n)


def kv(key, n):
    return (key, 4, u32(n))


class Quantize(tool.Case):
    def source(self):
        return shared(*STORIES, "stories260K-w256-f16.gguf")

    def tensors(self, path):
        """name -> (type, sha256 of its bytes)"""
        return {t["name"]: (t["type"], t["nbytes"], hashlib.sha256(content).hexdigest())
                for t, content in self.tensor_bytes(path)}

    def files(self):
        return sorted(os.listdir(self.folder))
