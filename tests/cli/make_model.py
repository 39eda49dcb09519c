# bench make-model: the same bytes everywhere, finite results, refusals, no leftover files.
# SPDX-License-Identifier: MIT
import hashlib
import os
import signal
import statistics
import struct
import subprocess
import time

import tool
from tool import TOOL, WRAPPER, environment, run


class MakeModel(tool.Case):
    def make(self, *more, shape="stories260k", name="m.gguf"):
        path = self.path(name)
        self.ok("bench", "make-model", "--shape", shape, "--force", "-q", path, *more)
        with open(path, "rb") as file:
            return path, file.read()

    def logits(self, model, ids, n_vocab=512):
        path = self.path("logits.f32")
        if os.path.exists(path):
            os.unlink(path)
        self.ok("run", model, "--tokens", ",".join(map(str, ids)), "-n", "0", "--logits", path)
        with open(path, "rb") as file:
            values = struct.unpack(f"<{n_vocab * len(ids)}f", file.read())
        return [values[i:i + n_vocab] for i in range(0, len(values), n_vocab)]


class Bytes(MakeModel):
    def test_the_same_seed_gives_these_bytes_on_every_machine(self):
        for shape, recipe, want in (("stories260k", "Q8_0", "d6bde328bbd6a132b854be5658a607d7"), ("stories260k", "Q4_K_M", "39d77c0f1ab655f7a91cfe3f34f24ca1"),
                                    ("stories260k", "IQ3_S", "080c3c451c92eed48300da2ddb126cba"), ("bert-tiny", "F16", "b90e2e8bfe31a221f1027a41d46804cf")):
            _, data = self.make("--type", recipe, shape=shape)
            self.assertEqual(hashlib.sha256(data).hexdigest()[:32], want, (shape, recipe))

    def test_threads_and_instruction_sets_change_nothing_but_a_seed_does(self):
        _, one = self.make("--type", "Q4_0")
        for more in (("-t", "2"), ("-t", "1", "--isa", "scalar")):
            self.assertEqual(self.make("--type", "Q4_0", *more)[1], one)
        _, other = self.make("--type", "Q4_0", "--seed", "2")
        self.assertEqual(len(other), len(one))
        differing = sum(a != b for a, b in zip(one[-100000:], other[-100000:]))
        self.assertGreater(differing, 90000)

    def test_a_recipe_is_followed_as_quantize_follows_it(self):
        f16, _ = self.make("--type", "F16", name="f16.gguf")
        made, _ = self.make("--type", "Q4_K_M")
        plan = self.json("quantize", f16, self.path("o"), "--type", "Q4_K_M", "--dry-run")["plan"]
        tensors = {t["name"]: t["type"] for t in self.json("info", made)["tensors"]}
        self.assertEqual(tensors, {t["tensor"]: t["to"] for t in plan})
        self.assertIn("fallback", {t["reason"] for t in plan})  # rows of 64 and 172


class Weights(MakeModel):
    def test_a_made_model_reads_its_prompt(self):
        model, _ = self.make("--type", "Q8_0")
        self.ok("validate", "--model", "--strict", "--deep", model)
        ids = list(range(260, 300))
        rows = self.logits(model, ids)
        for row in rows:
            self.assertTrue(0.2 < statistics.pstdev(row) < 5, statistics.pstdev(row))
        # The last prediction depends on the first token, by attention alone.
        other = self.logits(model, [400] + ids[1:])
        far = statistics.mean((a - b) ** 2 for a, b in zip(rows[-1], other[-1])) ** 0.5
        self.assertGreater(far, 1e-4)
        self.assertLess(far, statistics.pstdev(rows[-1]))
        self.assertGreater(len({row.index(max(row)) for row in rows}), 10)

    def test_its_vocabulary_takes_any_text(self):
        model, _ = self.make("--type", "Q8_0")
        for text in ("ab cd", "Once upon a time, 3 \u00e9\U0001f600!"):
            lines = self.lines("run", model, "-p", text, "-n", "3", "--temp", "0")
            self.assertTrue(1 <= len(lines) <= 3)

    def test_shapes_are_listed(self):
        shapes = {line["shape"]: line for line in self.lines("bench", "make-model", "--list")}
        self.assertEqual(shapes["tinyllama-1.1b"]["parameters"], 1_100_048_384)
        self.assertEqual(shapes["gpt-oss-4l"]["layers"], 4)
        self.assertEqual(shapes["qwen3.5-0.8b"]["architecture"], "qwen35")
        self.assertGreater(len(shapes), 40)
        for name in ("bert-base", "bert-tiny"):
            self.assertEqual(shapes[name]["architecture"], "bert")

    def test_layers_are_counted(self):
        model, _ = self.make("--type", "F16", "--layers", "2")
        names = [t["name"] for t in self.json("info", model)["tensors"]]
        self.assertEqual({n.split(".")[1] for n in names if n.startswith("blk.")}, {"0", "1"})
        self.ok("validate", "--model", model)  # its key has the same number


class Refusals(MakeModel):
    def test_errors(self):
        out = self.path("m.gguf")
        make = ("bench", "make-model")
        self.assertIn('did you mean "stories260k"', self.fails(2, *make, "--shape", "stories26k", out))
        self.assertIn("--shape", self.fails(2, *make, out))
        self.assertIn("OUT", self.fails(2, *make, "--shape", "stories260k"))
        self.assertIn("--list", self.fails(2, *make, "--list", out))
        self.assertIn("--type", self.fails(2, *make, "--shape", "stories260k", "--type", "Q4_Z", out))
        self.assertIn("--layers", self.fails(2, *make, "--shape", "stories260k", "--layers", "0", out))
        self.assertIn("pipe", self.fails(2, *make, "--shape", "stories260k", "-"))
        self.assertFalse(os.path.exists(out))
        self.make()
        self.assertIn("--force", self.fails(1, *make, "--shape", "stories260k", out))
        missing = os.path.join(self.folder, "none", "m.gguf")
        self.assertIn("none", self.fails(1, *make, "--shape", "stories260k", missing))

    def test_a_model_that_the_disk_has_no_room_for_is_refused_at_once(self):
        start = time.monotonic()
        message = self.fails(1, "bench", "make-model", "--shape", "llama3.1-405b", "--layers", "4096",
                             "--type", "F16", self.path("m.gguf"))
        self.assertIn("free", message)
        self.assertLess(time.monotonic() - start, 60)
        self.assertEqual(os.listdir(self.folder), [])

    def test_an_interrupted_run_leaves_nothing_and_memory_stays_small(self):
        command = [*WRAPPER, TOOL, "bench", "make-model", "--shape", "tinyllama-1.1b", "--type", "F16",
                   self.path("m.gguf")]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   env=environment())
        part, deadline = self.path("m.gguf.part"), time.monotonic() + 60
        while not os.path.exists(part) or os.path.getsize(part) < 24 << 20:
            self.assertLess(time.monotonic(), deadline)
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            peak = [int(line.split()[1]) for line in status if line.startswith("VmHWM")]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(os.listdir(self.folder), [])
        self.assertLess(peak[0], 400 << 10)  # the file would have 2 GiB; sanitizers need memory, too


if __name__ == "__main__":
    tool.main()
