# --group mpi: ids, logits and perplexities of one process for 1 to 4 ranks, bit for bit. A failure of one rank ends all
# ranks, with one message; a killed or stopped rank is named. The same for ranks with files of their own. Before that
# libggufx-mpi by itself (../group).
# SPDX-License-Identifier: MIT
import json
import os
import signal
import subprocess
import time

import adapter_files
import reference_case
import tool
from mpi_job import RANK, mpi_environment, mpirun, ranks_of, read
from tool import MODEL, TOOL, environment

MPI = mpi_environment()
IDS = ",".join(str(3 + 37 * i % 250) for i in range(70))


class Ranks(reference_case.Case):
    def started(self, n, *command, **options):
        return subprocess.run(mpirun(n, *command, **options), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=MPI, timeout=300)

    def told(self, result):
        """Returns the tool's messages on stderr, without those of mpirun."""
        return [line for line in result.stderr.decode().splitlines() if line.startswith("ggufx: ")]

    def same(self, model, n, *args, weights=None, of=None, pipeline=False, ids=IDS, under=()):
        """Asserts the results of one process. of: the model whose rank's file `model` is; pipeline: pipeline
        parallelism; under: command that starts the tool on ranks."""
        alone, together = self.path("alone"), self.path("together")
        for path in (alone, together):  # left by earlier ranks
            if os.path.exists(path):
                os.remove(path)
        args = ("--tokens", ids, "-n", 5, "-t", 1, "--temp", 0, "--json", *args)
        want = self.ok("run", of or model, *args, "--logits", alone)
        dealt = ("--weights", weights) if weights else ()
        dealt += ("--pipeline",) if pipeline else ()
        result = self.started(n, *under, TOOL, "run", model, *args, "--logits", together, "--group", "mpi", *dealt)
        self.assertEqual((result.returncode, self.told(result)), (0, []), result.stderr)
        self.assertEqual(result.stdout, want)
        self.assertEqual(read(together), read(alone), (model, n))
        self.assertGreater(os.path.getsize(together), 70 * 4)

    def test_the_group_itself(self):
        for n, *way in ((1,), (2,), (4,), (3, "late"), (3, "abort"), (3, "memory")):
            with self.subTest(n, way=way):
                result = self.started(n, os.environ["GGUFX_MPI_GROUP"], *way, recovers=True)
                told = sorted(result.stdout.decode().splitlines())
                self.assertEqual(len(told), n, result.stderr.decode())
                for rank, line in enumerate(told):
                    self.assertRegex(line, f"^rank {rank}: [1-9][0-9]* checks, 0 failed$", result.stderr.decode())

    def test_ranks_have_the_bits_of_one_process(self):
        for n in (1, 2, 3, 4):
            self.same(MODEL, n)
        self.same(MODEL, 3, "--ctk", "q8_0", "--ctv", "gx4")
        self.same(MODEL, 3, weights="3,1,100")
        self.same(MODEL, 2, weights="auto")

    def test_ranks_with_whole_layers(self):
        for n in (2, 3, 4, 5):
            self.same(MODEL, n, pipeline=True)
        self.same(MODEL, 3, "--ctk", "q8_0", "--ctv", "gx4", pipeline=True)
        self.same(MODEL, 3, weights="3,1,100", pipeline=True)
        self.same(MODEL, 2, weights="auto", pipeline=True)
        for n, path in ((3, "mixtral"), (2, "gemma3"), (2, "gpt-oss"),
                        (2, "qwen35")):
            self.same(tool.tiny(path), n, pipeline=True)

    def test_files_of_ranks_with_whole_layers(self):
        for n in (2, 3, 4):
            parts = self.split(MODEL, n, "--pipeline")
            self.same(parts[n - 1], n, of=MODEL, pipeline=True)
            embedding = 1024 * 256 // 32 * 34  # one rank reads it, which may be the first or the last
            layers = 4 + 4 % n  # four layers, some ranks have one more than others
            for path in parts:
                self.assertLess(os.path.getsize(path), embedding + os.path.getsize(MODEL) * layers / 4 / n * 1.15, (path, n))
        paths = self.split(MODEL, 3, "--pipeline", "--weights", "1,2,1")
        self.same(paths[0], 3, of=MODEL, pipeline=True)
        self.assertIn(b", the layers of rank 1 of 3\n", self.ok("info", paths[1]))
        rest = "-p Once -n 4 -t 1 --group mpi"
        self.refused(3, "the file was split for ranks with whole layers, but this one has rows of each matrix",
                     f"exec {TOOL} run {paths[0]} {rest}")
        rows = self.split(MODEL, 3)
        self.refused(3, "the file was split for ranks with rows of each matrix, but this one has whole layers",
                     f"exec {TOOL} run {rows[0]} {rest} --pipeline")
        one = f"if [ ${RANK} = 1 ]; then o=--pipeline; fi"
        self.refused(3, "rank 1: takes whole layers, rank 0 rows of each matrix", f"{one}; exec {TOOL} run {MODEL} $o {rest}")
        self.fails(2, "split", MODEL, self.path("none"), "--pipeline")

    def test_long_prompts_of_several_hosts(self):
        """Hosts with different names: batches are processed in slices, concurrently with messages."""
        ids = ",".join(str(3 + 37 * i % 250) for i in range(301))
        space = "unshare -u" if os.geteuid() == 0 else "unshare -Uru"
        if subprocess.run([*space.split(), "true"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no namespaces for host names: " + space)
        host = ("sh", "-c", f'exec {space} sh -c "hostname host${RANK}; exec \\"\\$@\\"" x "$@"', "x")
        self.same(MODEL, 2, ids=ids, under=host)
        self.same(MODEL, 4, "--ctk", "q8_0", ids=ids, under=host)
        self.same(tool.tiny("qwen35"), 2, ids=ids, under=host)

    def test_other_architectures(self):
        for n, path in ((2, "mixtral"), (4, "gemma3"), (3, "gpt-oss")):
            self.same(tool.tiny(path), n)

    def test_generated_architectures(self):
        """Architectures with gates, states and norms that no stored model has."""
        names = ("afmoe", "deepseek2_temperature", "falcon_h1", "jamba", "laguna", "mimo2", "minimax_m2", "qwen3next_old", "step35")
        self.assertLessEqual(set(names), set(self.reference()))
        for i, name in enumerate(tool.stepped(names)):
            self.same(self.path(name + ".gguf"), 2 + i % 3)
            self.same(self.split(self.path(name + ".gguf"), 2 + (i + 1) % 3)[0], 2 + (i + 1) % 3, of=self.path(name + ".gguf"))

    def split(self, model, n, *args):
        made = self.json("split", model, self.path("own.gguf"), "--ranks", n, "--force", *args)
        self.assertEqual([os.path.basename(path) for path in made["outputs"]],
                         [f"own-rank-{i + 1:05}-of-{n:05}.gguf" for i in range(n)])
        self.assertEqual(made["bytes"], sum(map(os.path.getsize, made["outputs"])))
        return made["outputs"]

    def test_files_of_ranks(self):
        for n in (2, 3, 4):
            self.same(self.split(MODEL, n)[n - 1], n, of=MODEL)
        paths = self.split(MODEL, 3, "--weights", "3,1,100")
        self.same(paths[0], 3, of=MODEL)
        self.same(paths[0], 3, weights="3,1,100", of=MODEL)
        # Other ranks' files are not needed: only rank 2 has its own.
        os.rename(paths[2], self.path("elsewhere"))
        one = f"if [ ${RANK} = 2 ]; then m={self.path('elsewhere')}; else m={paths[1]}; fi"
        args = "-p Once -n 9 -t 1 --temp 0 -q"
        result = self.started(3, "sh", "-c", f"{one}; exec {TOOL} run $m {args} --group mpi")
        self.assertEqual((result.returncode, self.told(result)), (0, []), result.stderr)
        said = self.ok("run", MODEL, *args.split())
        self.assertTrue(said and result.stdout.endswith(said), result.stdout)  # after the prompt, as in a terminal

    def test_files_of_ranks_of_other_architectures(self):
        models = ["mixtral", "gemma3", "gpt-oss",
                  "qwen35", "deepseek2-lite"]
        for model in tool.stepped(models, 2):
            path = tool.tiny(model)
            for n in (2, 3, 4):
                self.same(self.split(path, n)[0], n, of=path)

    def test_files_of_ranks_where_they_do_not_belong(self):
        first, second, _ = self.split(MODEL, 3, "--weights", "3,1,2")
        rest = "-p Once -n 4 -t 1 --group mpi"
        self.assertIn(b", for rank 1 of 3\n", self.ok("info", second))
        self.assertIn("the file is for rank 1 of 3: its model needs a group of 3 ranks",
                      self.fails(1, "run", second, "-p", "Once"))
        self.refused(2, "the file is for rank 0 of 3, but this is rank 0 of 2", f"exec {TOOL} run {first} {rest}")
        self.refused(3, "the file was split for a weight of rank 0 of 3, not 1", f"exec {TOOL} run {first} {rest} --weights 1,1,2")
        self.refused(3, "rank 0: the file is for rank 1 of 3, but this is rank 0 of 3|the file is for rank 1 of 3",
                     f"cp -n {second} {self.path('same')}; exec {TOOL} run {self.path('same')} {rest}")
        os.remove(second)
        self.refused(3, f"rank 1: .*{os.path.basename(second)}", f"exec {TOOL} run {first} {rest}")
        for args in (("--ranks", 1), ("--ranks", 257), ("--ranks", 2, "--weights", "1,2,3"), ("--weights", "1,2"),
                     ("--ranks", 2, "--max-size", "1M"), ("--ranks", 2, "--max-tensors", 3), ("--ranks", 2, "--weights", "auto")):
            with self.subTest(args):
                self.fails(2, "split", MODEL, self.path("none"), *args)
        self.assertIn("not a whole model", self.fails(4, "split", first, self.path("none"), "--ranks", 2))
        self.fails(1, "split", MODEL, self.path("own"), "--ranks", 3)  # the names exist already
        made = self.json("split", MODEL, self.path("dry"), "--ranks", 2, "--dry-run")
        self.assertFalse(made["written"] or any(map(os.path.exists, made["outputs"])))
        self.assertFalse([name for name in os.listdir(self.folder) if name.startswith("none")])

    def test_what_a_rank_reads_is_in_its_file(self):
        """fit's estimate of a rank from the model equals the estimate from its file, which is not larger."""
        for n in (2, 3, 4):
            of_model = self.json("fit", MODEL, "--nodes", n, "--link", "10g", "--ctx", 64)["candidates"][0]
            parts = [self.json("fit", path, "--ctx", 64)["candidates"][0] for path in self.split(MODEL, n)]
            self.assertEqual(max(part["total_bytes"] for part in parts), of_model["total_bytes"])
            embedding = 1024 * 256 // 32 * 34  # whole in each file; a rank reads some rows
            for path in self.split(MODEL, n):
                share = (os.path.getsize(MODEL) - embedding) / n  # in pieces of 32 rows, keys and values by heads
                self.assertLess(os.path.getsize(path), embedding + share * 1.15, (path, n))

    def test_text_is_written_once(self):
        args = ("run", MODEL, "-p", "Once upon", "-n", 12, "--seed", 1, "--lookup", "-t", 1)
        out = self.path("out")
        result = self.started(2, TOOL, *args, "--group", "mpi", "-o", out)
        self.assertEqual((result.returncode, self.told(result)), (0, []), result.stderr)
        self.assertEqual(result.stdout, b"")
        self.assertEqual(read(out), self.ok(*args))

    def test_ranks_share_the_seed_that_one_draws(self):
        args = ("run", MODEL, "-p", "Once upon", "-n", 30, "--temp", 2, "-t", 1, "--json")
        result = self.started(3, TOOL, *args, "-v", "--group", "mpi")
        self.assertEqual(result.returncode, 0, result.stderr)
        seed = json.loads(result.stdout.splitlines()[-1])["seed"]
        self.assertEqual(result.stdout, self.ok(*args, "--seed", seed))
        said = [line for line in self.told(result) if "seed" in line]
        self.assertEqual(said, [f"ggufx: info: seed {seed}"])

    def together(self, n, *args):
        """Returns the output of the first of n ranks; the others print nothing, and no rank prints an error."""
        result = self.started(n, TOOL, *args, "--group", "mpi")
        self.assertEqual((result.returncode, self.told(result)), (0, []), result.stderr)
        return result.stdout

    def same_json(self, n, together, alone=None):
        """mpirun gives the first rank a terminal, on which JSON has lines."""
        self.assertEqual(json.loads(self.together(n, *together)), json.loads(self.ok(*(alone or together))))

    def test_whole_layers_elsewhere(self):
        text = self.path("text.txt", b"One day a small dog ran to the river. The dog saw a big fish. " * 12)
        measure = ("perplexity", MODEL, "-f", text, "--ctx", 64, "-t", 1, "--json", "--stride", 16)
        self.same_json(3, (*measure, "--pipeline"), measure)
        out = self.together(2, "bench", "model", MODEL, "--prompt-tokens", 16, "-n", 4, "-r", 1, "-t", "1", "--json", "--pipeline")
        self.assertEqual([json.loads(line)["ranks"] for line in out.decode().splitlines()], [2, 2])

    def test_perplexity(self):
        text = self.path("text.txt", b"One day a small dog ran to the river. The dog saw a big fish. " * 12)
        questions = self.path("questions.jsonl", b"".join(
            json.dumps({"context": "The dog", "endings": [" ran", " is two big fish"], "answer": i}).encode() + b"\n"
            for i in (0, 1)))
        base, own = self.path("base"), self.path("own")
        measure = ("perplexity", MODEL, "-f", text, "--ctx", 64, "-t", 1, "--json", "--stride", 16)
        self.same_json(3, (*measure, "--save-logits", own), (*measure, "--save-logits", base))
        self.assertEqual(read(own), read(base))
        self.same_json(2, (*measure, "--ctk", "q8_0", "--ctv", "q8_0", "--kl", base))
        args = ("perplexity", MODEL, "-f", questions, "--choices", "-t", 1, "--json")
        self.same_json(4, args)
        self.assertIn("--shard", self.fails(2, *args, "--shard", "1/2", "--parts", "p", "--group", "mpi"))

    def go_on(self, n, *args):
        """Returns the ids of a run by n ranks; 0: by a process without a group."""
        args = ("run", MODEL, "--temp", 0, "--repeat-penalty", 1.1, "-t", 1, "--json", *args)
        out = self.together(n, *args).decode() if n else self.ok(*args).decode()
        return [json.loads(line)["id"] for line in out.splitlines()]

    def test_saved_by_some_ranks_resumed_by_others(self):
        one, two, three = self.path("one"), self.path("two"), self.path("three")
        types = ("--ctk", "q8_0", "--ctv", "gx4")
        whole = self.go_on(0, "-p", "Once upon", "-n", 21, "--save", one, *types)
        self.assertEqual(len(whole), 21)
        first = self.go_on(4, "-p", "Once upon", "-n", 9, "--save", two, *types)
        self.assertEqual(first, whole[:9])
        for n in (2, 1, 3, 0):
            self.assertEqual(self.go_on(n, "--resume", two, "-n", 12, *types), whole[9:], n)
        second = self.go_on(3, "--resume", two, "-n", 5, "--save", three, *types)
        self.assertEqual(second + self.go_on(2, "--resume", three, "-n", 7, *types), whole[9:])
        behind = self.go_on(2, "--resume", two, "--tokens", "5,6,7", "-n", 6, *types)
        self.assertEqual(behind, self.go_on(0, "--resume", two, "--tokens", "5,6,7", "-n", 6, *types))
        # Caches of one process can be resumed by one process.
        self.assertEqual(self.go_on(0, "--resume", one, "-n", 3, *types), self.go_on(0, "-p", "Once upon", "-n", 24, "--save", two, *types)[21:])
        result = self.started(2, TOOL, "run", MODEL, "--resume", one, "-t", 1, *types, "--group", "mpi", recovers=True)
        self.assertEqual(len(self.told(result)), 1, result.stderr)
        self.assertIn(one, result.stderr if isinstance(result.stderr, str) else result.stderr.decode())
        self.assertIn(MODEL + ": ", self.fails(3, "run", MODEL, "--resume", MODEL))
        self.assertIn(self.path("none"), self.fails(1, "run", MODEL, "--resume", self.path("none")))
        self.assertIn("is of one process", self.told(result)[0])
        drafted = self.go_on(2, "-p", "Once upon", "-n", 9, "--save", three, "--lookup", "--force", *types)
        self.assertEqual(drafted + self.go_on(3, "--resume", three, "-n", 12, "--lookup", *types), whole)

    def test_bench(self):
        out = self.together(2, "bench", "model", MODEL, "--prompt-tokens", 16, "-n", 4, "-r", 1, "-t", "1,2", "--json")
        rows = [json.loads(line) for line in out.decode().splitlines()]
        self.assertEqual([(row["test"], row["ranks"], row["threads"]) for row in rows],
                         [("pp16", 2, 1), ("tg4", 2, 1), ("pp16", 2, 2), ("tg4", 2, 2)])

    def refused(self, n, text, script):
        """Asserts a refusal: each rank runs a shell script, and one line is printed. mpirun with recovery returns 0."""
        start = time.monotonic()
        result = self.started(n, "sh", "-c", script, recovers=True)
        told = self.told(result)
        self.assertEqual(len(told), 1, result.stderr)
        self.assertRegex(told[0], text)
        self.assertLess(time.monotonic() - start, 60)

    def test_what_differs_is_named(self):
        other = self.path("other.gguf", bytearray(read(MODEL)))
        with open(other, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            last = file.read(1)[0]
            file.seek(-1, os.SEEK_END)
            file.write(bytes([last ^ 1]))
        one = f"if [ ${RANK} = 1 ]; then"
        rest = "-p Once -n 4 -t 1 --group mpi"
        self.refused(3, "rank 1: cannot open|rank 1: .*no-such-file",
                     f"{one} exec {TOOL} run no-such-file {rest}; fi; exec {TOOL} run {MODEL} {rest}")
        self.refused(3, "rank 1: n_context is 96, that of rank 0 64",
                     f"{one} c=96; else c=64; fi; exec {TOOL} run {MODEL} --ctx $c {rest}")
        self.refused(2, "rank 1: the file differs in keys|rank 1: other options",
                     f"{one} o='--override llama.rope.freq_base=50000'; fi; exec {TOOL} run {MODEL} $o {rest}")
        self.refused(2, "rank 1 makes another call than rank 0",
                     f"{one} p=Twice; else p=Once; fi; exec {TOOL} run {MODEL} -p $p -n 4 -t 1 --group mpi")

    def test_speeds_of_other_ranks_are_not_believed(self):
        """The other rank is untrusted and sends arbitrary numbers."""
        folder = self.path("strange")
        os.mkdir(folder)
        os.symlink(os.environ["GGUFX_FAKE_MPI"], os.path.join(folder, "libggufx-mpi.so.0"))
        libraries = ":".join(filter(None, (folder, os.environ.get("LD_LIBRARY_PATH"))))
        for speed, said in ((0, "0 MB/s"), (2**20 + 1, "1048577 MB/s"), (2**32 - 1, "4294967295 MB/s"),
                            (0x7fc00000, "2143289344 MB/s"), (0x80000001, "2147483649 MB/s")):
            with self.subTest(speed):
                env = environment(LD_LIBRARY_PATH=libraries, GGUFX_FAKE_BYTES="4", GGUFX_FAKE_VALUE=str(speed))
                result = tool.run("run", MODEL, "-p", "a", "--group", "mpi", "--weights", "auto", "-t", 2, env=env)
                self.assertEqual((result.returncode, result.stdout), (1, b""), result.stderr)
                self.assertEqual(self.told(result), [f"ggufx: --weights auto: rank 1 measured a memory bandwidth of {said}, "
                                                     "not 1 to 1048576"])
        env = environment(LD_LIBRARY_PATH=libraries, GGUFX_FAKE_BYTES="4", GGUFX_FAKE_VALUE=str(2**20))
        result = tool.run("run", MODEL, "-p", "a", "--group", "mpi", "--weights", "auto", "-t", 2, env=env)
        self.assertNotIn("MB/s", result.stderr.decode())  # it fails after that: the other is not rank 1
        self.assertEqual(len(self.told(result)), 1, result.stderr)

    def test_wrong_uses(self):
        self.assertIn("is not mpi", self.fails(2, "run", MODEL, "-p", "a", "--group", "nccl"))
        self.assertIn("standard input", self.fails(2, "run", MODEL, "-f", "-", "--group", "mpi"))
        self.assertIn("standard input", self.fails(2, "run", "-", "-p", "a", "--group", "mpi"))
        self.assertIn("needs --group", self.fails(2, "run", MODEL, "-p", "a", "--weights", "1,2"))
        self.assertIn("needs --group", self.fails(2, "run", MODEL, "-p", "a", "--pipeline"))
        for weights in ("1,0", "1,", "1,x", "1048577", "1 2", "fast"):
            with self.subTest(weights):
                self.assertIn("--weights", self.fails(2, "run", MODEL, "-p", "a", "--group", "mpi", f"--weights={weights}"))
        adapter = self.path("lora.gguf", adapter_files.lora())
        result = self.started(2, TOOL, "run", MODEL, "-p", "a", "-n", 2, "-t", 1, "--group", "mpi", "--lora", adapter)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(len(self.told(result)), 1, result.stderr)
        self.assertTrue(self.told(result)[0].endswith("models of a group do not support adapters"), self.told(result))
        result = self.started(2, TOOL, "run", MODEL, "-p", "a", "--group", "mpi", "--weights", "1,2,3")
        self.assertEqual(self.told(result), ["ggufx: --weights has 3 numbers, the group 2 ranks"])
        result = self.started(2, TOOL, "run", MODEL, "-p", "a", "-n", 2, "--group", "mpi", "-o", "/dev/full")
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(len(self.told(result)), 1, result.stderr)
        self.assertIn("cannot write", self.told(result)[0])

    def lost(self, rank, signal_number, named, *how):
        """Sends a signal to one of three ranks while it generates: within 10 s all end, and one line names the rank."""
        saved = self.path("saved-%d" % rank)
        command = mpirun(3, TOOL, "run", MODEL, "-p", "Once", "-n", 100000, "--save", saved, "--ctx", 32768, "-t", 1, "--group", "mpi",
                         "--grammar", "root ::= [a-z ]{30000,32000}", *how, recovers=True)
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=MPI)
        ranks = {}
        try:
            self.assertTrue(process.stdout.read(20))  # tokens arrive
            ranks = ranks_of(process, "run")
            self.assertEqual(sorted(ranks), [0, 1, 2])
            os.kill(ranks[rank], signal_number)
            start = time.monotonic()
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
        told = [line for line in said.decode().splitlines() if line.startswith("ggufx: ")]
        self.assertEqual(len(told), 1, said)
        self.assertRegex(told[0], named)
        self.assertLess(time.monotonic() - start, 10)
        went_on = self.go_on(2, "--resume", saved, "-n", 4, "--ctx", 32768)  # with one rank fewer
        self.assertEqual(went_on, self.go_on(0, "--resume", saved, "-n", 4, "--ctx", 32768))
        self.assertEqual(len(went_on), 4)

    def test_a_rank_that_is_killed_is_named(self):
        self.lost(1, signal.SIGKILL, r"rank 1 \(.*\) (did not answer within 7.0 s|is lost)")

    def test_a_rank_with_layers_that_is_killed_is_named(self):
        self.lost(2, signal.SIGKILL, r"rank 2 \(.*\) (did not answer within 7.0 s|is lost)", "--pipeline")

    def test_a_rank_that_is_stopped_is_named(self):
        self.lost(0, signal.SIGSTOP, r"rank 0 \(.*\) (did not answer within 7.0 s|is lost)")


tool.main()
