# Jobs in shards: the figures of a single run, bit for bit, for any partition; missing shards are listed.
# SPDX-License-Identifier: MIT
import json
import os
import shutil
import subprocess

import tool
from tool import MODEL, environment, run

TEXT = (b"Once there was a little fox. It had a red ball. The fox liked to play with the ball. "
        b"One day it rained, and Tim saw a big green frog near the pond. ") * 40


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Shards(tool.Case):
    def setUp(self):
        super().setUp()
        self.text = self.path("text.txt", TEXT)
        self.parts = self.path("p")

    def shard(self, i, n, *args, **options):
        return self.json(*args, "--parts", self.parts, "--shard", f"{i}/{n}", **options)

    def all(self, n, *args):
        for i in range(n, 0, -1):
            made = self.shard(i, n, *args)
            self.assertEqual((made["shard"], made["shards"], made["part"], made["done"]),
                             (i, n, f"{self.parts}.{i}-of-{n}", "finished"))

    def merged(self, *args):
        return self.json(*args, "--parts", self.parts, "--merge")

    def remove_parts(self):
        for name in os.listdir(self.folder):
            if name.startswith("p."):
                os.remove(self.path(name))

    def same(self, n, *args):
        """Returns the result of n shards, which must equal that of a single run."""
        one = self.json(*args)
        self.all(n, *args)
        self.assertEqual(self.merged(*args), one)
        self.remove_parts()
        return one


class Perplexity(Shards):
    def args(self, *more, ctx=64):
        return ("perplexity", MODEL, "-f", self.text, "--ctx", ctx, *more)

    def test_shards_have_the_figures_of_one_run(self):
        one = self.same(3, *self.args())
        self.assertGreater(one["chunks"], 6)
        self.same(one["chunks"] + 2, *self.args("--chunks", one["chunks"]))  # two have nothing to do
        self.same(2, *self.args("--stride", 24, "--chunks", 7))
        self.same(3, *self.args("--ctk", "q8_0", "--ctv", "gx4", ctx=150))

    def test_divergences_too(self):
        saved = self.path("base")
        self.ok(*self.args("--save-logits", saved, "--chunks", 5, ctx=160))
        args = self.args("--kl", saved, "--ctk", "gx3", "--ctv", "gx3", "--chunks", 5, ctx=160)
        one = self.same(3, *args)
        self.assertGreater(one["kl"]["mean"]["value"], 1e-6)
        self.assertTrue(one["kl"]["same_model"])
        # Logits saved by shards serve the same shards, and are preferred.
        for i in (1, 2, 3):
            self.shard(i, 3, *self.args("--save-logits", saved, "--chunks", 5, ctx=160))
        self.assertEqual(sum(os.path.getsize(f"{saved}.{i}-of-3") - 60 for i in (1, 2, 3)),
                         os.path.getsize(saved) - 60)
        self.remove_parts()
        os.remove(saved)
        self.all(3, *args)
        self.assertEqual(self.merged(*args), one)

    def test_missing_ones_are_listed_and_made_again(self):
        args = self.args("--chunks", 6)
        one = self.json(*args)
        self.assertIn("no part of this name", self.fails(1, *args, "--parts", self.parts, "--merge"))
        self.all(4, *args)
        os.remove(self.parts + ".2-of-4")
        os.remove(self.parts + ".3-of-4")
        result = run(*args, "--parts", self.parts, "--merge", "--json")
        self.assertEqual((result.returncode, result.stderr), (6, b""))
        self.assertEqual(json.loads(result.stdout), {"schema": 1, "shards": 4, "finished": [1, 4], "missing": [2, 3]})
        result = run(*args, "--parts", self.parts, "--merge")
        self.assertEqual(result.stdout.decode().splitlines(),
                         ["1/4\tfinished", "2/4\tmissing", "3/4\tmissing", "4/4\tfinished", "2 of 4 shards are missing"])
        self.assertEqual(self.shard(1, 4, *args)["done"], "finished before")
        for i in (2, 3):
            self.assertEqual(self.shard(i, 4, *args)["done"], "finished")
        self.assertEqual(self.merged(*args), one)

    def test_parts_of_other_jobs_are_refused(self):
        args = self.args("--chunks", 2)
        self.all(2, *args)
        merge = ("--parts", self.parts, "--merge")
        for other, word in ((self.args("--chunks", 3), "its chunks is 2, not 3"),
                            (self.args("--chunks", 2, "--ctk", "f32"), 'its ctk is "f16", not "f32"'),
                            (self.args("--chunks", 2, ctx=63), "its ctx is 64, not 63"),
                            (self.args("--chunks", 2, "--ids"), None)):
            if word:
                self.assertIn(word, self.fails(6, *other, *merge))
                self.assertIn(word, self.fails(6, *other, "--parts", self.parts, "--shard", "1/2"))
        with open(self.text, "ab") as file:
            file.write(b" And then?")
        self.assertIn("its tokens is", self.fails(6, *args, *merge))
        self.assertEqual(self.shard(1, 2, *args, "--force")["done"], "finished")
        self.assertIn("p.2-of-2 is of another job", self.fails(6, *args, *merge))
        self.shard(2, 2, *args, "--force")
        self.merged(*args)
        self.shard(1, 3, *args)
        self.assertIn("parts of 2 shares and of 3", self.fails(1, *args, *merge))

    def test_a_damaged_part_is_refused(self):
        args = self.args("--chunks", 2, ctx=32)
        self.all(2, *args)
        path = self.parts + ".2-of-2"
        whole = read(path)
        merge = (*args, "--parts", self.parts, "--merge")
        part = json.loads(whole)
        n = len(part["result"]["losses"])

        def damaged(change):
            value = json.loads(whole)
            change(value)
            self.path("p.2-of-2", json.dumps(value).encode())
            return self.fails(3, *merge)

        self.assertIn("another length", damaged(lambda v: v["result"]["tokens"].pop()))
        self.assertIn("losses", damaged(lambda v: v["result"].pop("losses")))
        self.assertIn("not a number", damaged(lambda v: v["result"].update(losses=["x"] * n)))
        self.assertIn("holds part 1/2", damaged(lambda v: v.update(shard=1)))
        self.assertIn("part of choices", damaged(lambda v: v.update(part_of="choices")))
        self.assertIn("result", damaged(lambda v: v.pop("result")))
        for size in tool.stepped(range(0, len(whole) - 1, max(1, len(whole) // 40))):
            self.path("p.2-of-2", whole[:size])
            self.fails(3, *merge)
        self.path("p.2-of-2", whole)
        self.merged(*args)

    def test_wrong_shares_are_refused(self):
        for share in ("0/2", "3/2", "1", "1/", "/2", "1/2x", "-1/2", "1/99999999999"):
            self.assertIn("is not i/n", self.fails(2, *self.args("--parts", self.parts, "--shard", share)))
        self.assertIn("--parts is required", self.fails(2, *self.args("--shard", "1/2")))
        self.assertIn("--parts is required", self.fails(2, *self.args("--merge")))
        self.assertIn("--merge and --shard", self.fails(2, *self.args("--merge", "--shard", "1/2", "--parts", "x")))
        self.assertIn("needs --shard", self.fails(2, *self.args("--parts", self.parts)))

    def test_choices_come_in_shards_too(self):
        lines = [{"context": "The fox had a red", "endings": [" ball.", " rain.", " pond."], "answer": i % 3}
                 for i in range(7)]
        self.path("text.txt", "\n".join(map(json.dumps, lines)).encode())
        args = ("perplexity", MODEL, "-f", self.text, "--choices")
        one = self.same(3, *args)
        self.assertEqual(one["questions"], 7)
        self.same(9, *args)


class Imatrix(Shards):
    def args(self, *more):
        return ("imatrix", "collect", MODEL, "-f", self.text, "--ctx", 64, "--chunks", 7, *more)

    def test_shards_make_the_file_of_one_run(self):
        one, several = self.path("one.gguf"), self.path("several.gguf")
        self.ok(*self.args("--to", one, "-q"))
        for n in (3, 9):
            self.all(n, *self.args())
            made = self.json(*self.args("--parts", self.parts, "--merge", "--to", several, "--force"))
            self.assertEqual((made["chunks"], made["output"]), (7, several))
            self.assertEqual(read(several), read(one))
            self.remove_parts()

    def test_neither_pauses_nor_the_order_change_a_bit(self):
        one, other = self.path("one.gguf"), self.path("other.gguf")
        self.ok(*self.args("--to", one, "-q"))
        self.ok(*self.args("--to", other, "-q", "--save-every", 2))
        self.assertEqual(read(other), read(one))
        self.all(3, *self.args())
        files = [f"{self.parts}.{i}-of-3.gguf" for i in (2, 3, 1)]
        self.ok("imatrix", "merge", *files, "--to", other, "--force", "-q")
        self.assertEqual(read(other), read(one))
        self.assertGreater(os.path.getsize(files[0]), 5 * os.path.getsize(one))  # unreduced sums

    def test_a_share_goes_on_where_it_was_ended(self):
        one = self.path("one.gguf")
        self.ok(*self.args("--to", one, "-q"))
        self.all(2, *self.args())
        half = self.path("half")
        self.ok("imatrix", "collect", MODEL, "-f", self.text, "--ctx", 64, "--chunks", 2, "--parts",
                half, "--shard", "1/1", "-q")
        # Two of the four chunks of the second shard were saved.
        shutil.move(half + ".1-of-1.gguf", self.parts + ".1-of-2.gguf")
        os.remove(self.parts + ".1-of-2")
        self.shard(1, 2, *self.args("--resume"))
        self.ok(*self.args("--parts", self.parts, "--merge", "--to", self.path("b.gguf"), "-q"))
        self.assertEqual(read(self.path("b.gguf")), read(one))

    def test_what_is_missing_is_said(self):
        self.assertIn("--to is required", self.fails(2, *self.args()))
        self.all(3, *self.args())
        merge = self.args("--parts", self.parts, "--merge", "--to", self.path("b.gguf"))
        os.rename(self.parts + ".2-of-3.gguf", self.path("kept"))
        self.assertIn("p.2-of-3.gguf", self.fails(1, *merge))
        shutil.copy(self.parts + ".3-of-3.gguf", self.parts + ".2-of-3.gguf")
        self.assertIn("p.2-of-3.gguf has 3 chunks, not 2", self.fails(6, *merge))
        os.replace(self.path("kept"), self.parts + ".2-of-3.gguf")
        os.remove(self.parts + ".1-of-3")
        self.assertEqual(run(*merge).returncode, 6)
        self.assertFalse(os.path.exists(self.path("b.gguf")))


class Examples(Shards):
    """Jobs of examples/jobs, three processes at a time."""

    def setUp(self):
        super().setUp()
        bin = self.path("bin")
        os.mkdir(bin)
        with open(os.path.join(bin, "ggufx"), "w") as file:
            file.write(f'#!/bin/sh\nexec {" ".join([*tool.WRAPPER, tool.TOOL])} "$@"\n')
        os.chmod(os.path.join(bin, "ggufx"), 0o755)
        self.env = environment(PATH=bin + ":" + os.environ["PATH"], SHARDS="3")
        self.jobs = os.path.join(tool.SOURCE, "examples", "jobs")

    def together(self, commands):
        running = [subprocess.Popen(c, env={**self.env, **more}, stdout=subprocess.DEVNULL) for c, more in commands]
        self.assertEqual([p.wait(300) for p in running], [0] * len(running))

    def test_slurm(self):
        script = os.path.join(self.jobs, "slurm.sh")
        # Slurm's array runs the script once for each number, with these variables.
        self.together([(["bash", script, MODEL, self.text, self.parts],
                        {"SLURM_ARRAY_TASK_ID": str(i), "SLURM_CPUS_PER_TASK": "1"}) for i in (1, 2, 3)])
        args = ("perplexity", MODEL, "-f", self.text)
        self.assertEqual(self.merged(*args), self.json(*args))

    def test_gnu_parallel(self):
        if not shutil.which("parallel"):
            self.skipTest("no GNU parallel")
        one = self.path("one.gguf")
        self.ok("imatrix", "collect", MODEL, "-f", self.text, "--to", one, "-q")
        script = os.path.join(self.jobs, "parallel.sh")
        self.together([([script, MODEL, self.text, self.parts, "--jobs", "3"], {})])
        self.assertEqual(read(self.parts + ".gguf"), read(one))


if __name__ == "__main__":
    tool.main()
