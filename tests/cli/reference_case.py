# Tests of models that tests/models/reference.py writes into the test's folder, against its reference results.
# SPDX-License-Identifier: MIT
import json
import os
import random
import struct
import subprocess

import tool
from embed import python_with_numpy

RNG = random.Random(11)
TEXTS = [[RNG.randrange(320) for _ in range(n)] for n in (1, 70)]


def floats(data):
    return struct.unpack("<%df" % (len(data) // 4), data)


class Case(tool.Case):
    def reference(self, *args):
        """Writes reference.py's files into the test's folder; returns the names."""
        script = os.path.join(tool.REFERENCE, "reference.py")
        result = subprocess.run([python_with_numpy(), script, self.folder, json.dumps(TEXTS), *args],
                                stdout=subprocess.PIPE, check=True,
                                env=tool.environment(PYTHONDONTWRITEBYTECODE="1"))
        return json.loads(result.stdout)

    def logits(self, model, ids, *args):
        """Returns the logits of all positions as bytes, computed in F32 as far as the model is."""
        out = self.path("logits.f32")
        self.ok("run", self.path(model), "--tokens", ",".join(map(str, ids)), "-n", 0, "--logits", out,
                "--ctk", "f32", "--ctv", "f32", "--force", *args)
        with open(out, "rb") as file:
            return file.read()

    def distance(self, got, name, i):
        """Returns the distance from the forward pass's logits of text i."""
        with open(self.path(f"{name}.{i}.f32"), "rb") as file:
            want = floats(file.read())
        self.assertEqual(len(want), 320 * len(TEXTS[i]), name)
        return max(abs(a - b) for a, b in zip(floats(got), want, strict=True))
