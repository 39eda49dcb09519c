# Each file-modifying call fails in turn, and the process is killed before each of them. The old files or the new ones
# exist, complete, and no leftover blocks the next run.
# SPDX-License-Identifier: MIT
import errno
import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import time
import unittest

import tool
from edit_case import digest
from imatrix import dat
from tool import ARCHITECTURE, MODEL, STEP, TOOL, WRAPPER, environment, gguf, run, string

LIBRARY = os.environ.get("GGUFX_FAIL_CALL", "")
SAVE_KV = os.environ.get("GGUFX_SAVE_KV", "")
KILLS = int(os.environ.get("GGUFX_TEST_KILLS", "6"))  # at random moments


IMATRIX = dat([(b"blk.0.x.weight", 2, [1.0, 3.0, 0.0, 4.0])])


def content(path):
    with open(path, "rb") as file:
        return file.read()


def tiny(name="before", seed=1, reserve=4096):
    """Returns six tensors of 256 x 8, and reserved space for other keys."""
    rng, tensors, data = random.Random(seed), [], b""
    for i in range(6):
        tensors.append((f"blk.{i}.ffn_up.weight", (256, 8), 0, len(data)))
        data += struct.pack("<2048f", *(rng.uniform(-1, 1) for _ in range(2048)))
    kv = [ARCHITECTURE, ("general.name", 8, string(name)), ("llama.block_count", 4, struct.pack("<I", 6)),
          ("ggufx.reserve", 9, struct.pack("<IQ", 0, reserve) + bytes(reserve))]
    return gguf(kv, tensors, data)


def state_of(path):
    if os.path.isdir(path):
        return [(name, digest(os.path.join(path, name))) for name in sorted(os.listdir(path))]
    return digest(path) if os.path.exists(path) else None


@unittest.skipUnless(LIBRARY and not WRAPPER, "no library to make calls fail")
class Faults(tool.Case):
    def state(self, outputs):
        return [state_of(path) for path in outputs]

    def start(self, command, **variables):
        return subprocess.run(command, env=environment(LD_PRELOAD=LIBRARY, **variables), timeout=60,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def n_calls(self, command, **variables):
        count = os.path.join(self.folder, "count")
        result = self.start(command, FAIL_COUNT=count, **variables)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(count, encoding="ascii") as file:
            n_calls = int(file.read())
        os.unlink(count)
        return n_calls

    def check_one(self, command, outputs, prepare, old, new, check, at, error):
        prepare()
        before = set(os.listdir(self.folder))
        result = self.start(command, FAIL_AT=str(at), FAIL_ERROR=str(error))
        place = (command, "call %d" % at, errno.errorcode.get(error, "killed"), result.stderr)
        if error:
            self.assertEqual(self.state(outputs), old if result.returncode else new, place)
            self.assertNotIn(result.returncode, (-signal.SIGSEGV, -signal.SIGABRT), place)
        else:
            self.assertEqual(result.returncode, -signal.SIGKILL, place)
        state = check()  # opens them, which may complete an interrupted edit
        self.assertIn(state, (old, new), place)
        self.runs_again(command, outputs, old, new, check, state, before, place)

    def runs_again(self, command, outputs, old, new, check, state, before, place):
        """Asserts that no leftover blocks the command, and that none remains after it."""
        for path in outputs:
            if os.path.isdir(path):  # is never replaced
                shutil.rmtree(path)
        again = subprocess.run(command, env=environment(), stdin=subprocess.DEVNULL, timeout=60,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(again.returncode, 0, (place, again.stderr))
        # If the model already has the new keys, the repeated edit may write them in place.
        self.assertIn(check(), [new] if state == old else [new, self.state(outputs)], place)
        self.assertEqual(set(os.listdir(self.folder)) - before - {os.path.basename(p) for p in outputs}, set(), place)

    def kill_at_moments(self, command, outputs, prepare, old, new, check):
        begin = time.monotonic()
        subprocess.run(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds, rng = time.monotonic() - begin, random.Random(5)
        for _ in range(KILLS):
            prepare()
            before = set(os.listdir(self.folder))
            process = subprocess.Popen(command, env=environment(), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            moment = rng.uniform(0, seconds)
            time.sleep(moment)
            process.kill()
            process.wait()
            state = check()
            self.assertIn(state, (old, new), command)
            self.runs_again(command, outputs, old, new, check, state, before, (command, "after %g s" % moment))

    def replaces(self, command, outputs, prepare, check=None):
        """Tests that `command` replaces `outputs`, starting from the files of prepare()."""
        def validated():
            for path in outputs:
                if os.path.exists(path):
                    result = run("validate", path)
                    taken_back = result.returncode == 1 and not os.path.exists(path)
                    self.assertTrue(taken_back or result.returncode == 0, (path, result.stdout, result.stderr))
            return self.state(outputs)
        check = check or validated
        prepare()
        # After a command the bytes and then the name in the folder are on the disk.
        self.assertGreaterEqual(self.n_calls(command, FAIL_CALLS="sync"), 2, command)
        prepare()
        old = self.state(outputs)
        n_calls = self.n_calls(command)
        new = self.state(outputs)
        self.assertNotEqual(old, new)
        self.assertGreater(n_calls, 2)
        for at in range(1, n_calls + 1, STEP):
            for error in (errno.EIO, errno.ENOSPC, 0) if at % 5 == 0 else (errno.EIO, 0):
                self.check_one(command, outputs, prepare, old, new, check, at, error)
        self.kill_at_moments(command, outputs, prepare, old, new, check)

    def tool(self, *arguments):
        return [TOOL, *arguments, "-t", "1", "--isa", "scalar"]

    def put(self, name, content):
        path = self.path(name, content)
        return path, lambda: self.path(name, content)

    def test_set_in_place(self):
        path, prepare = self.put("m.gguf", tiny())
        self.replaces(self.tool("set", path, "general.name=" + 700 * "n", "general.author=me", "-q"), [path], prepare)

    def test_set_within_a_sector(self):
        path, prepare = self.put("m.gguf", tiny())
        self.replaces(self.tool("set", path, "general.name=behind", "-q"), [path], prepare)

    def test_set_as_a_new_file(self):
        path, prepare = self.put("m.gguf", tiny(reserve=8))
        self.replaces(self.tool("set", path, "general.name=" + 700 * "n", "-q"), [path], prepare)

    def test_quantize(self):
        source, out = self.path("in.gguf", tiny()), self.path("out.gguf")
        self.replaces(self.tool("quantize", source, out, "--type", "Q8_0", "--force", "-q"), [out],
                      lambda: self.path("out.gguf", tiny("old")))

    def parts(self, name, n=3):
        return [self.path("%s-%05d-of-%05d.gguf" % (name, i + 1, n)) for i in range(n)]

    def split(self, name, content):
        self.ok("split", self.path("whole.gguf", content), self.path(name), "--max-tensors", "2", "-q", "--force")
        os.unlink(self.path("whole.gguf"))
        return self.parts(name)

    def test_an_edit_that_was_undone_leaves_no_journal(self):
        path, prepare = self.put("m.gguf", tiny())
        count, command = os.path.join(self.folder, "count"), self.tool("set", path, "general.name=" + 700 * "n", "-q")
        calls = {"FAIL_CALLS": "write sync", "FAIL_COUNT": count}
        self.assertEqual(self.start(command, **calls).returncode, 0)
        with open(count, encoding="ascii") as file:
            n_calls = int(file.read())
        self.assertGreater(n_calls, 3)
        n_failed = 0
        for at in range(1, n_calls + 1):
            prepare()
            result = self.start(command, FAIL_AT=str(at), FAIL_ERROR=str(errno.EIO), **calls)
            n_failed += result.returncode != 0
            self.assertEqual(sorted(os.listdir(self.folder)), ["count", "m.gguf"], (at, result.stderr))
        self.assertGreater(n_failed, 3)

    def test_split_over_a_set(self):
        kept = [(path, content(path)) for path in self.split("m", tiny("old", 2))]

        def prepare():
            for path, old in kept:
                self.path(path, old)
        source = self.path("in.gguf", tiny())
        self.replaces(self.tool("split", source, self.path("m"), "--max-tensors", "2", "--force", "-q"),
                      self.parts("m"), prepare)

    def test_split_where_nothing_was(self):
        source = self.path("in.gguf", tiny())

        def prepare():
            for path in self.parts("m"):
                if os.path.exists(path):
                    os.unlink(path)
        command = self.tool("split", source, self.path("m"), "--max-tensors", "2", "--force", "-q")
        self.replaces(command, self.parts("m"), prepare)

    def test_files_of_ranks(self):
        """Each file is the old one or the new one; completed ones stay."""
        outputs = [self.path(f"m-rank-{i + 1:05}-of-00002.gguf") for i in range(2)]

        def prepare():
            for path in outputs:
                self.path(os.path.basename(path), tiny("old"))
        command = self.tool("split", MODEL, self.path("m"), "--ranks", "2", "--force", "-q")
        prepare()
        old, n_calls = self.state(outputs), self.n_calls(command)
        new, names = self.state(outputs), set(os.listdir(self.folder))
        self.assertFalse(set(old) & set(new))
        n_failed, seen = 0, set()
        for at in range(1, n_calls + 1, STEP):
            for error in (errno.EIO, errno.ENOSPC, 0):
                prepare()
                result = self.start(command, FAIL_AT=str(at), FAIL_ERROR=str(error))
                state, place = self.state(outputs), (at, error, result.stderr)
                for one, before, after in zip(state, old, new):
                    self.assertIn(one, (before, after), place)
                self.assertTrue(result.returncode or state == new, place)
                n_failed += result.returncode != 0
                seen.add(tuple(one == after for one, after in zip(state, new)))
                again = subprocess.run(command, env=environment(), stdin=subprocess.DEVNULL, timeout=60,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                self.assertEqual((again.returncode, self.state(outputs)), (0, new), (place, again.stderr))
                self.assertEqual(set(os.listdir(self.folder)), names, place)
        self.assertGreater(n_failed, 10 // STEP)
        self.assertTrue(STEP > 1 or {(False, False), (True, False)} <= seen, seen)

    def test_quantize_a_set(self):
        self.split("in", tiny())
        kept = [(path, content(path)) for path in self.split("out", tiny("old", 2))]

        def prepare():
            for path, old in kept:
                self.path(path, old)
        self.replaces(self.tool("quantize", self.parts("in")[0], self.path("out"), "--type", "Q8_0", "--keep-split",
                                "--force", "-q"), self.parts("out"), prepare)

    def test_merge(self):
        source = self.split("in", tiny())[0]
        self.replaces(self.tool("merge", source, self.path("out.gguf"), "--force", "-q"), [self.path("out.gguf")],
                      lambda: self.path("out.gguf", tiny("old")))

    def test_a_snapshot(self):
        path, old = self.path("a.kv"), self.path("old.kv")
        subprocess.run([SAVE_KV, old, "1"], check=True)

        def loads():
            subprocess.run([SAVE_KV, path], check=True)
            return self.state([path])
        self.replaces([SAVE_KV, path, "2"], [path], lambda: shutil.copyfile(old, path), loads)

    def other(self, name, *command):
        """Tests commands that write a file that is no model, over another file of this name."""
        path = self.path(name)
        self.replaces(self.tool(*command, "-o", path, "--force"), [path], lambda: self.path(name, b"before"),
                      lambda: self.state([path]))

    def test_files_that_are_no_models(self):
        source = self.path("in.gguf", tiny())
        self.other("i.json", "info", source, "--json")
        self.other("d.txt", "diff", source, source)
        self.other("r.html", "report", source, "-q")
        self.other("x.npy", "extract", source, "blk.0.ffn_up.weight")
        self.other("m.safetensors", "convert", MODEL, "-q")

    def test_an_importance_matrix(self):
        for name, verb, old in (("m.dat", "to-dat", IMATRIX), ("m.gguf", "to-gguf", tiny("old"))):
            source, path = self.path("in.dat", IMATRIX), self.path(name)
            self.replaces([TOOL, "imatrix", verb, source, path, "--force", "-q"], [path],
                          lambda: self.path(name, old + b"old"), lambda: self.state([path]))

    def test_a_collected_matrix(self):
        ids = self.path("ids.txt", " ".join(str(1 + i * 37 % 250) for i in range(24)).encode())
        path = self.path("m.gguf")
        self.replaces(self.tool("imatrix", "collect", MODEL, "-f", ids, "--ids", "--ctx", "8", "--to", path, "--force", "-q"),
                      [path], lambda: self.path("m.gguf", tiny("old")))

    def test_a_collection_that_saves_between(self):
        """Killed at any moment, the collection has the sums of whole chunks, and resumes from there."""
        ids = self.path("ids.txt", " ".join(str(1 + i * 37 % 250) for i in range(96)).encode())
        path, rng, seen = self.path("m.gguf"), random.Random(6), set()
        command = self.tool("imatrix", "collect", MODEL, "-f", ids, "--ids", "--ctx", "8", "--save-every", "1", "--to", path, "-q", "--resume")
        begin = time.monotonic()
        self.assertEqual(self.start(command).returncode, 0)
        seconds = time.monotonic() - begin
        os.unlink(path)
        for i in range(KILLS):
            process = subprocess.Popen(command, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(rng.uniform(0, seconds))
            process.kill()
            process.wait()
            before = self.json("imatrix", "show", path)["chunks"] if os.path.exists(path) else 0
            seen.add(before)
            if before == 12 or i % 3 == 2:
                self.assertEqual(subprocess.run(command, env=environment(), stdout=subprocess.DEVNULL).returncode, 0)
                self.assertEqual(self.json("imatrix", "show", path)["chunks"], 12)
                self.assertEqual(sorted(os.listdir(self.folder)), ["ids.txt", "m.gguf"])
                os.unlink(path)
        self.assertGreater(len(seen), 1)

    def test_imports(self):
        """Models of other programs become GGUF: a safetensors folder."""
        from convert_case import LLAMA, llama_tensors, safetensors
        folder = self.path("hf")
        os.mkdir(folder)
        self.path("hf/config.json", json.dumps(LLAMA).encode())
        self.path("hf/model.safetensors", safetensors(llama_tensors()))
        path = self.path("from-hf.gguf")
        self.replaces(self.tool("convert", folder, "-o", path, "--force", "-q"), [path],
                      lambda: self.path("from-hf.gguf", tiny("old")))

    def test_folders(self):
        path = self.path("folder")
        self.replaces(self.tool("convert", MODEL, "--to", "safetensors", "--max-shard", "4M", "-o", path, "-q"), [path],
                      lambda: shutil.rmtree(path, ignore_errors=True), lambda: self.state([path]))

    def test_the_demo_model(self):
        path = self.path("demo.gguf")
        self.replaces(self.tool("demo", "--export", path, "--force", "-q"), [path],
                      lambda: self.path("demo.gguf", tiny("old")))


class Beside(tool.Case):
    """Permissions, links, two runs at once, full disks: for everything the tool writes."""

    def commands(self):
        source = self.path("in.gguf", tiny())
        self.ok("split", source, self.path("parts"), "--max-tensors", "3", "-q", "--force")
        part = self.path("parts-00001-of-00002.gguf")
        for out, command in (("q.gguf", ["quantize", source, "OUT", "--type", "Q8_0"]), ("m.gguf", ["merge", part, "OUT"]),
                             ("d.gguf", ["demo", "--export", "OUT"]), ("i.json", ["info", source, "--json", "-o", "OUT"]),
                             ("s.gguf", ["set", source, "general.name=x", "-o", "OUT"]),
                             ("x.npy", ["extract", source, "blk.0.ffn_up.weight", "-o", "OUT"]),
                             ("r.html", ["report", source, "-o", "OUT"])):
            path = self.path(out)
            yield path, [path if a == "OUT" else a for a in command]

    def test_modes_and_links_stay(self):
        for path, command in self.commands():
            target = self.path("target")
            for mode in (0o600, 0o640):
                self.path("target", b"old")
                os.chmod(target, mode)
                os.symlink("target", path)
                self.ok(*command, "--force", "-q")
                self.assertTrue(os.path.islink(path), command)
                self.assertEqual(os.stat(path).st_mode & 0o7777, mode, command)
                self.assertGreater(os.path.getsize(target), 3)
                os.unlink(path)

    def test_a_model_that_is_edited_keeps_its_mode(self):
        for value in ("x", 9000 * "x"):  # in place; as a new file
            path = self.path("m.gguf", tiny())
            os.chmod(path, 0o600)
            self.ok("set", path, "general.name=" + value, "-q")
            self.assertEqual(os.stat(path).st_mode & 0o7777, 0o600)

    def test_what_a_killed_run_left_is_in_nobodys_way(self):
        for path, command in self.commands():
            self.path(path + ".part", b"left")
            self.ok(*command, "-q")
            self.assertFalse(os.path.exists(path + ".part"), command)

    def test_a_file_that_is_being_written_is_not_taken(self):
        import fcntl
        for path, command in self.commands():
            with open(path + ".part", "wb") as other:
                fcntl.flock(other, fcntl.LOCK_EX)
                for force in ([], ["--force"]):
                    self.assertIn("is being written", self.fails(1, *command, *force), command)
                self.assertTrue(os.path.exists(path + ".part"))
            self.assertFalse(os.path.exists(path))

    @unittest.skipUnless(LIBRARY and not WRAPPER, "no library to change what a disk says")
    def test_a_full_disk_is_reported_first(self):
        source = self.path("in.gguf", tiny())
        outputs = [*self.commands(), *((self.path(out), [*command, "-o", self.path(out)]) for out, command in (
            ("m.safetensors", ["convert", MODEL]),
            ("f", ["convert", MODEL, "--to", "safetensors", "--max-shard", "200K"]),
            ("raw", ["dequant", source, "blk.0.ffn_up.weight", "--raw"])))]
        for path, command in outputs:
            if path.endswith((".json", ".html")):
                continue  # built in memory, a few KiB
            self.ok(*command, "-q", "--force")
            content = [os.path.join(path, f) for f in os.listdir(path)] if os.path.isdir(path) else [path]
            size = sum(os.path.getsize(f) for f in content if not f.endswith((".json", ".model")))
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
            for free, code in ((size - 1, 1), (size, 0)):
                result = run(*command, "-q", env=environment(LD_PRELOAD=LIBRARY, FAIL_FREE=str(free)))
                self.assertEqual(result.returncode, code, (command, size, result.stderr))
                if code:
                    self.assertIn(b"takes %d bytes, %d are free" % (size, free), result.stderr, command)
                    self.assertFalse(os.path.exists(path) or os.path.exists(path + ".part"), command)

    def test_a_limit_on_files_is_an_error(self):
        for path, command in self.commands():
            if path.endswith((".json", ".html", ".npy")):
                continue  # too small
            result = subprocess.run([*WRAPPER, TOOL, *command], env=environment(), stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000)))
            self.assertEqual(result.returncode, 1, (command, result.stderr))
            self.assertIn(b"large", result.stderr.lower(), command)
            self.assertFalse(os.path.exists(path), command)
            if os.path.exists(path + ".part"):  # left by quantize, for --resume
                self.assertLessEqual(os.path.getsize(path + ".part"), 9000)

    @unittest.skipUnless(LIBRARY and not WRAPPER, "no library to make a file come")
    def test_a_file_that_comes_before_the_lock_stays(self):
        source, out = self.path("in.gguf", tiny()), self.path("out.gguf")
        for command in (["quantize", source, out, "--type", "Q8_0"],
                        ["set", source, "a=b", "-o", out], ["dequant", source, "blk.0.ffn_up.weight", "-o", out]):
            result = run(*command, env=environment(LD_PRELOAD=LIBRARY, FAIL_COMES=out))
            self.assertEqual(result.returncode, 1, (command, result.stderr))
            self.assertRegex(result.stderr, b"exists|has this name", command)
            self.assertEqual(sorted(os.listdir(self.folder)), ["in.gguf", "out.gguf"], command)
            self.assertEqual(os.path.getsize(out), 0)
            os.unlink(out)

    def test_two_runs_of_one_name(self):
        source = self.path("in.gguf", tiny())
        for _ in range(5):
            out = self.path("out.gguf")
            runs = [subprocess.Popen([*WRAPPER, TOOL, "quantize", source, out, "--type", "Q8_0", "-q"], env=environment(),
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
            codes = []
            for process in runs:
                _, error = process.communicate(timeout=60)
                codes.append(process.returncode)
                self.assertEqual(process.returncode == 0, error == b"", error)
            self.assertEqual(sorted(codes), [0, 1, 1, 1])
            self.ok("validate", out)
            os.unlink(out)
            self.assertEqual([f for f in os.listdir(self.folder) if "part" in f], [])


if __name__ == "__main__":
    tool.main()
