# imatrix show, merge, to-gguf, to-dat.
# SPDX-License-Identifier: MIT
import json
import math
import os
import random
import signal
import struct
import subprocess
import time

import tool
from quantize_case import made_imatrix


def dat(entries, chunks=3, dataset=b"a.txt"):
    """entries = (name, calls, values)"""
    out = struct.pack("<i", len(entries))
    for name, calls, values in entries:
        out += struct.pack("<i", len(name)) + name + struct.pack("<ii", calls, len(values))
        out += struct.pack("<%df" % len(values), *values)
    return out + struct.pack("<ii", chunks, len(dataset)) + dataset


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Imatrix(tool.Case):
    def small(self, name="a.dat", scale=1.0):
        values = [scale * v for v in (1.0, 3.0, 0.0, 4.0)]
        return self.path(name, dat([(b"blk.0.x.weight", 2, values), (b"y.weight", 1, [scale])]))

    def test_a_file_is_named_once(self):
        path = self.path("absent")
        self.assertEqual(self.fails(1, "imatrix", "show", path).count(path), 1)
        self.assertEqual(self.fails(3, "imatrix", "show", self.path("b", b"x")).count("/b"), 1)

    def test_show_prints_what_the_file_has(self):
        value = self.json("imatrix", "show", self.small())
        self.assertEqual({k: value[k] for k in ("format", "entries", "chunks", "chunk_tokens", "datasets")},
                         {"format": "dat", "entries": 2, "chunks": 3, "chunk_tokens": 512,
                          "datasets": ["a.txt"]})
        first = value["tensors"][0]
        self.assertEqual((first["name"], first["columns"], first["matrices"]), ("blk.0.x.weight", 4, 1))
        self.assertEqual((first["sum"], first["mean"], first["min"], first["max"]), (4.0, 1.0, 0.0, 2.0))
        self.assertEqual((first["tokens"], first["active"]), (1024, 0.75))
        self.assertAlmostEqual(first["deviation"], math.sqrt((0.25 + 0.25 + 1 + 1) / 4))
        shares = (0.125, 0.375, 0.5)
        self.assertAlmostEqual(first["entropy"], -sum(p * math.log2(p) for p in shares) / 2)
        lines = self.ok("imatrix", "show", self.small()).decode().splitlines()
        self.assertEqual(lines[:2], ["2 entries, 3 chunks of 512 tokens, .dat file", "from a.txt"])
        self.assertTrue(lines[3].startswith("blk.0.x.weight\t4\t1024\t4\t1\t"), lines[3])

    def test_conversions_keep_the_numbers(self):
        source, there, back = self.small(), self.path("b.gguf"), self.path("c.dat")
        self.ok("imatrix", "to-gguf", source, there)
        made = self.json("imatrix", "to-dat", there, back)
        self.assertEqual((made["format"], made["output"]), ("dat", back))
        self.assertEqual(read(back), read(source))
        tensors = self.json("info", there, "--tensors")["tensors"]
        self.assertEqual([t["name"] for t in tensors][:2],
                         ["blk.0.x.weight.in_sum2", "blk.0.x.weight.counts"])

    def test_merge_adds(self):
        out = self.path("m.gguf")
        self.ok("imatrix", "merge", self.small(), self.small("b.dat", 3.0), "--to", out)
        value = self.json("imatrix", "show", out)
        self.assertEqual((value["format"], value["chunks"]), ("gguf", 6))
        self.assertEqual((value["tensors"][0]["sum"], value["tensors"][0]["tokens"]), (8.0, 2048))
        self.assertEqual(value["tensors"][1]["mean"], 2.0)

    def test_a_made_file_is_rewritten_byte_for_byte(self):
        self.ok("imatrix", "to-gguf", made_imatrix(), self.path("same.gguf"))
        self.assertEqual(read(self.path("same.gguf")), read(made_imatrix()))
        value = self.json("imatrix", "show", made_imatrix())
        self.assertEqual((value["entries"], value["chunks"], value["datasets"]), (35, 57, ["made text"]))

    def test_a_real_file_is_rewritten_byte_for_byte(self):
        source = tool.shared("data", "stories260K", "stories260K-w256-imatrix.gguf")
        self.ok("imatrix", "to-gguf", source, self.path("same.gguf"))
        self.assertEqual(read(self.path("same.gguf")), read(source))
        value = self.json("imatrix", "show", source)
        self.assertEqual((value["entries"], value["chunks"]), (35, 57))

    def test_errors_name_file_and_position(self):
        cut = self.path("cut.dat", read(self.small())[:30])
        self.assertIn("cut.dat: byte 26: a number of values is 4; 0 bytes follow",
                      self.fails(3, "imatrix", "show", cut))
        self.assertIn("general.type", self.fails(3, "imatrix", "show", tool.MODEL))
        self.assertIn("absent", self.fails(1, "imatrix", "show", self.path("absent")))
        other = self.path("o.dat", dat([(b"y.weight", 1, [1.0, 2.0])]))
        self.assertIn("y.weight", self.fails(1, "imatrix", "merge", self.small(), other, "--to",
                                             self.path("m.dat")))
        self.assertIn("exists", self.fails(1, "imatrix", "to-gguf", other, self.small()))
        self.fails(3, "imatrix", "show", self.path("empty", b""))
        self.assertNotIn("m.dat", os.listdir(self.folder))


# argv: folder of the generator, paths of models, ids, chunk. Prints for each model {name: [counts, sums of squares]}.
SUMS = """
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import ref64
found = {}

def record(name, part, x):
    counts, sums = found.setdefault(name, ({}, {}))
    x = np.atleast_2d(x)
    counts[part] = counts.get(part, 0) + len(x)
    sums[part] = sums.get(part, 0) + (x * x).sum(0)

class Expert:
    def __init__(self, name, part, w):
        self.name, self.part, self.w = name, part, w
    def __matmul__(self, x):
        record(self.name, self.part, x)
        return self.w @ x

class Experts:
    def __init__(self, name, w):
        self.name, self.w, self.shape = name, w, w.shape
    def __getitem__(self, e):
        return Expert(self.name, e, self.w[e])

class Model(ref64.Model):
    def w(self, name, l=None, kind="weight"):
        w = super().w(name, l, kind)
        if kind == "weight" and name.endswith("_exps") and w is not None:
            return Experts("blk.%d.%s.weight" % (l, name), w)
        return w
    def linear(self, x, name, l=None):
        record("%s.weight" % name if l is None else "blk.%d.%s.weight" % (l, name), 0, x)
        return super().linear(x, name, l)

ids, chunk, out = json.loads(sys.argv[3]), int(sys.argv[4]), []
for path in json.loads(sys.argv[2]):
    found = {}
    m = Model(path)
    for i in range(0, len(ids) - chunk + 1, chunk):
        ref64.hidden(m, ids[i:i + chunk], chunk)
    out.append({n: [[[int(p), c] for p, c in counts.items()], [[int(p), v.tolist()] for p, v in sums.items()]]
                for n, (counts, sums) in found.items()})
print(json.dumps(out))
"""


def entries(path):
    """Returns {name: (counts, sums by matrix)} of an imatrix file, read from its bytes."""
    data = read(path)
    at, tensors = 24, []
    n_tensors, n_keys = struct.unpack("<QQ", data[8:24])

    def take(form):
        nonlocal at
        size = struct.calcsize(form)
        at += size
        return struct.unpack(form, data[at - size:at])[0]

    def text():
        nonlocal at
        n = take("<Q")
        at += n
        return data[at - n:at].decode()

    def value(kind):
        if kind == 8:
            return text()
        if kind == 9:
            of, n = take("<I"), take("<Q")
            return [value(of) for _ in range(n)]
        return take({4: "<I", 5: "<i", 10: "<Q"}[kind])

    keys = {}
    for _ in range(n_keys):
        name = text()
        keys[name] = value(take("<I"))
    for _ in range(n_tensors):
        name = text()
        shape = [take("<Q") for _ in range(take("<I"))]
        assert take("<I") == 0  # f32
        tensors.append((name, shape, take("<Q")))
    start = -(-at // keys.get("general.alignment", 32)) * keys.get("general.alignment", 32)
    floats = {name: (shape, struct.unpack_from("<%df" % math.prod(shape), data, start + offset)) for name, shape, offset in tensors}
    out = {}
    for name in floats:
        if not name.endswith(".in_sum2"):
            continue
        weight = name[:-len(".in_sum2")]
        shape, sums = floats[name]
        counts = floats[weight + ".counts"][1]
        n = shape[0]
        out[weight] = (counts, [sums[i * n:(i + 1) * n] for i in range(len(counts))])
    return keys, out


class Collect(tool.Case):
    IDS = [random.Random(5).randrange(320) for _ in range(100)]

    def ids(self, n=100):
        return self.path("ids.txt", " ".join(map(str, self.IDS[:n])).encode())

    def test_sums_are_those_of_the_definition_in_binary64(self):
        tiny = tool.tiny()
        paths = sorted(os.path.join(folder, name) for folder, _, names in os.walk(tiny) for name in names
                       if name.endswith("-f16.gguf"))
        made = {}
        for path in tool.stepped(paths):
            out = self.path("%d.gguf" % len(made))
            result = tool.run("imatrix", "collect", path, "-f", self.ids(), "--ids", "--ctx", "48", "--to", out)
            if result.returncode == 0:
                made[path] = entries(out)
            else:
                self.assertRegex(result.stderr, b"is not supported; supported:|makes embeddings", path)
        self.assertGreater(len(made), 24 // tool.STEP)
        import embed
        reference = subprocess.run([embed.python_with_numpy(), "-c", SUMS, tool.REFERENCE, json.dumps(list(made)),
                                    json.dumps(self.IDS), "48"], stdout=subprocess.PIPE, check=True,
                                   env=tool.environment(PYTHONDONTWRITEBYTECODE="1"))
        for (path, (keys, got)), want in zip(made.items(), json.loads(reference.stdout), strict=True):
            self.assertEqual((keys["imatrix.chunk_count"], keys["imatrix.chunk_size"]), (2, 48))
            compared = 0
            for name in sorted(set(got) & set(want)):
                counts, sums = (dict(pairs) for pairs in want[name])
                for part, (count, row) in enumerate(zip(*got[name], strict=True)):
                    self.assertEqual(count, counts.get(part, 0), (path, name, part))
                    exact = sums.get(part, [0.0] * len(row))
                    self.assertEqual(len(row), len(exact), (path, name))
                    worst = max(abs(a - b) for a, b in zip(row, exact))
                    self.assertLessEqual(worst, 1e-5 * max(exact), (path, name, part))
                    compared += 1
            self.assertGreater(compared, 3, path)

    def test_parts_add_up_and_a_stopped_run_goes_on(self):
        whole, parts = self.path("whole.gguf"), self.path("parts.gguf")
        text = ("imatrix", "collect", tool.MODEL, "-f", self.ids(96), "--ids")
        args = (*text, "--ctx", "8")
        done = self.json(*args, "--to", whole)
        self.assertEqual((done["chunks"], done["chunk_tokens"]), (12, 8))
        self.ok(*args, "--chunks", "5", "--to", parts)
        self.ok(*args, "--save-every", "3", "--resume", "--to", parts)
        a, b = entries(whole)[1], entries(parts)[1]
        self.assertEqual(list(a), list(b))
        for name in a:
            self.assertEqual(a[name][0], b[name][0])
            for x, y in zip(a[name][1][0], b[name][1][0]):
                self.assertLessEqual(abs(x - y), 3e-7 * x, name)
        self.assertEqual(read(parts), (self.ok(*args, "--resume", "--to", parts), read(parts))[1])  # nothing left to do
        for other in (("--ctx", "16"), ("--ctx", "8", "--dataset", "another"), ("--ctx", "8", "--chunks", "3")):
            self.assertIn("--resume", self.fails(6, *text, *other, "--resume", "--to", parts))
        self.assertIn(".dat", self.fails(2, *args, "--resume", "--to", self.path("x.dat")))

    def test_files_and_options(self):
        out = self.path("out.gguf")
        args = ("imatrix", "collect", tool.MODEL, "-f", self.ids(), "--ids", "--ctx", "32", "--to", out)
        self.ok(*args, "--dataset", "a text")
        first = read(out)
        self.assertIn("--force", self.fails(1, *args))
        self.assertEqual(read(out), first)
        self.ok(*args, "--dataset", "a text", "--force", "-t", "3")
        self.assertEqual(read(out), first)
        keys, plain = entries(out)
        self.assertEqual(keys["imatrix.datasets"], ["a text"])
        self.ok(*args, "--output-matrix", "--force")
        more = entries(out)[1]
        self.assertEqual(set(more) - set(plain), {"token_embd.weight"})  # tied embedding
        self.assertEqual({name: more[name] for name in plain}, plain)
        self.ok("quantize", tool.MODEL, self.path("q.gguf"), "--type", "IQ2_S", "--imatrix", out, "--allow-requantize", "-q")
        self.fails(2, "imatrix", "collect", tool.MODEL, "-f", self.ids(20), "--ids", "--ctx", "32", "--to", self.path("n"))
        self.fails(2, "imatrix", "collect", tool.MODEL, "-f", self.path("bad", b"1 99999 3 4"), "--ids", "--ctx", "4",
                   "--to", self.path("n"))
        self.assertFalse(os.path.exists(self.path("n")))

    def test_an_interrupted_run_keeps_what_it_saved(self):
        out = self.path("out.gguf")
        many = self.path("many.txt", (" ".join(map(str, self.IDS)) + " ").encode() * 400)
        process = subprocess.Popen([tool.TOOL, "imatrix", "collect", tool.MODEL, "-f", many, "--ids", "--ctx", "16",
                                    "--save-every", "4", "--to", out], stderr=subprocess.PIPE, env=tool.environment())
        while not os.path.exists(out) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertRegex(errors.decode(), r"interrupted; \d+ chunks of 2500 are in .*use --resume to continue")
        self.assertEqual(self.json("imatrix", "show", out)["chunks"] % 4, 0)


if __name__ == "__main__":
    tool.main()
