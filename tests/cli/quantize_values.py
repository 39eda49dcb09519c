# quantize of rows that are hard to scale: zeros, numbers near the smallest, one value among zeros, large ones.
# SPDX-License-Identifier: MIT
import math
import random
import struct

import tool
from quantize_case import Quantize, kv
from tool import ARCHITECTURE, gguf, string

WIDTH = 512
LEVELS = [0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6]  # e2m1
NEED_IMATRIX = ("iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq1_s", "iq1_m")
TYPES = ("f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "q1_0", "q2_0",
         "tq1_0", "tq2_0", "mxfp4", "nvfp4", "iq3_s", "iq4_nl", "iq4_xs", *NEED_IMATRIX)
ZEROS = (0, 1)  # indices of rows of zeros


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def hard_rows():
    source = random.Random(1)
    of_size = lambda size: [f32(source.gauss(0, size)) for _ in range(WIDTH)]
    yield [0.0] * WIDTH
    yield [-0.0] * WIDTH
    for exponent in (-149, -140, -130, -128, -127, -126, -125, -60, -30, 0):
        yield of_size(2.0 ** exponent)
    for largest in (1.0, 1.5, 2 - 2.0 ** -23):  # blocks whose largest value is in [2^-126, 2^-125)
        yield [largest * 2.0 ** -126 * (1 if i % 3 else -1) / (1 + i % 7) for i in range(WIDTH)]
    yield [0.0] * 255 + [1.0] + [0.0] * 256
    yield of_size(1.0)[:256] + [0.0] * 256
    yield [3e4 * (1 if i % 3 else -1) for i in range(WIDTH)]
    yield [1.0] * WIDTH
    yield [-1.0] * WIDTH


ROWS = [[f32(x) for x in row] for row in hard_rows()]
# Sums of squares, counts: even ones, zeros, zeros in half of the columns, very small ones, none counted.
IMATRICES = {"even": ([1.0] * WIDTH, 10.0), "zeros": ([0.0] * WIDTH, 10.0), "half": ([0.0] * 256 + [1.0] * 256, 10.0),
             "tiny": ([1e-38] * WIDTH, 10.0), "no counts": ([0.0] * WIDTH, 0.0)}


def mxfp4(x):
    """Returns scale and levels of a block by definition: the exponent of the largest value less 2, and 0 for -1. Below
    that it wraps, and all levels except 0 are too large."""
    most = max(map(abs, x))
    if 0 < most < 2.0 ** -126:
        return [0.0] * len(x)
    e = max(0, math.frexp(most)[1] - 1 - 2 + 127) if most else 0
    return [min((abs(level * 2.0 ** (e - 127) - v), i, level * 2.0 ** (e - 127)) for i, level in enumerate(LEVELS))[2] for v in x]


class Values(Quantize):
    def model(self):
        data = b"".join(struct.pack("<%df" % WIDTH, *row) for row in ROWS)
        return self.path("rows.gguf", gguf([ARCHITECTURE], [("blk.0.w.weight", (WIDTH, len(ROWS)), 0, 0)], data))

    def imatrix(self, name):
        sums, count = IMATRICES[name]
        data = struct.pack("<%df" % WIDTH, *sums) + struct.pack("<f", count)
        keys = [("general.type", 8, string("imatrix")), ("imatrix.datasets", 9, struct.pack("<IQ", 8, 1) + string("x")),
                kv("imatrix.chunk_count", 1), kv("imatrix.chunk_size", 512)]
        tensors = [("blk.0.w.weight.in_sum2", (WIDTH, 1), 0, 0), ("blk.0.w.weight.counts", (1, 1), 0, 4 * WIDTH)]
        return self.path("imatrix " + name, gguf(keys, tensors, data))

    def decoded(self, model, kind, *more):
        """Returns rows of the model after a round trip through a type."""
        out = self.path("o.gguf")
        self.ok("quantize", model, out, "-q", "--force", "--type", "Q8_0", "--tensor-type", "weight=" + kind, *more)
        self.assertEqual(self.json("info", out, "--tensors")["tensors"][0]["type"], kind)
        self.ok("validate", out, "--deep")
        y = struct.unpack("<%df" % (WIDTH * len(ROWS)), self.ok("dequant", out, "blk.0.w.weight", "--raw"))
        return [y[i:i + WIDTH] for i in range(0, len(y), WIDTH)]

    def test_every_type_keeps_zeros_and_the_size_of_rows(self):
        model, n = self.model(), 0
        for kind in TYPES:
            cases = [()] if kind not in NEED_IMATRIX else []
            cases += [("--imatrix", self.imatrix(name)) for name in IMATRICES]
            for more in tool.stepped_sanitized([(*case, *best) for case in cases for best in ((), ("--best",))]):
                rows = self.decoded(model, kind, *more)
                n += 1
                for number, (x, y) in enumerate(zip(ROWS, rows)):
                    most, case = max(map(abs, x)), (kind, more, number)
                    self.assertTrue(all(map(math.isfinite, y)), case)
                    if number in ZEROS:
                        self.assertEqual(set(y), {0.0}, case)
                    self.assertLessEqual(max(abs(a - b) for a, b in zip(x, y)), 2 * most, case)
        self.assertGreater(n, len(TYPES))

    def test_mxfp4_has_the_levels_nearest_to_its_values(self):
        for x, y in zip(ROWS, self.decoded(self.model(), "mxfp4")):
            want = [level for i in range(0, WIDTH, 32) for level in mxfp4(x[i:i + 32])]
            self.assertEqual(list(y), want)


if __name__ == "__main__":
    tool.main()
