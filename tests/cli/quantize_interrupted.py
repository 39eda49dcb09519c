# quantize: kills, full disks, resume, shards of two processes.
# SPDX-License-Identifier: MIT
import errno
import json
import os
import random
import resource
import signal
import struct
import subprocess
import time

import tool
from quantize_case import Quantize, digest, kv, read
from tool import ARCHITECTURE as ARCH
from tool import TOOL, WRAPPER, environment, gguf, run

KILLS = int(os.environ.get("GGUFX_TEST_KILLS", "6"))  # number of killed runs


class Interrupted(Quantize):
    TYPE = ("--type", "IQ4_XS", "-t", "1", "--isa", "scalar")

    def large(self):
        """Returns a source that takes some tenths of a second with scalar code."""
        rng, tensors, data = random.Random(3), [], b""
        row = struct.pack("<4096f", *(rng.uniform(-1, 1) for _ in range(4096)))
        for i in range(8):
            tensors.append((f"blk.{i}.ffn_up.weight", (256, 16 * 24), 0, len(data)))
            data += row[4 * i:] * 24 + row[:4 * i] * 24
            data = data[:(i + 1) * 256 * 16 * 24 * 4]
        return self.path("in.gguf", gguf([ARCH, kv("llama.block_count", 8)], tensors, data))

    def test_kills_at_any_moment_and_resume(self):
        source, out, want = self.large(), self.path("out.gguf"), self.path("want.gguf")
        begin = time.monotonic()
        self.ok("quantize", source, want, "-q", *self.TYPE)
        seconds, rng, resumed = time.monotonic() - begin, random.Random(7), 0
        command = [*WRAPPER, TOOL, "quantize", source, out, "-q", *self.TYPE]
        for i in range(KILLS):
            child = subprocess.Popen([*command, *(["--resume"] if i % 3 else [])], env=environment(),
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            while i % 3 and child.poll() is None and not os.path.exists(out + ".part"):
                time.sleep(0.001)  # some are killed before they begin to write
            time.sleep(rng.uniform(0, seconds / 2 if i % 3 else seconds))
            child.send_signal(signal.SIGKILL if i % 2 else signal.SIGINT)
            _, error = child.communicate()
            self.assertIn(child.returncode, (0, -signal.SIGKILL, -signal.SIGINT, 130), error)
            if os.path.exists(out):
                self.assertEqual(read(out), read(want))
                os.unlink(out)
            resumed += os.path.exists(out + ".part")
        self.ok("quantize", source, out, "-q", "--resume", *self.TYPE)
        self.assertEqual(read(out), read(want))
        self.assertEqual(self.files(), ["in.gguf", "out.gguf", "want.gguf"])
        self.assertGreater(resumed, 0)

    def partial(self, source, out, megabytes=0.3):
        """Makes a run that stops at a full disk (a limit on the size of files)."""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(megabytes * 2**20),) * 2)
        return subprocess.run([*WRAPPER, TOOL, "quantize", source, out, "-q", *self.TYPE], env=environment(),
                              preexec_fn=limit, restore_signals=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)

    def test_a_full_disk_is_an_error_and_nothing_gets_the_name(self):
        source, out = self.large(), self.path("out.gguf")
        result = self.partial(source, out)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertFalse(os.path.exists(out))
        self.ok("quantize", source, out, "-q", "--resume", *self.TYPE)
        self.ok("quantize", source, self.path("want.gguf"), "-q", *self.TYPE)
        self.assertEqual(read(out), read(self.path("want.gguf")))

    def test_a_disk_that_fills_up_stops_in_the_middle_and_resume_goes_on(self):
        library = os.environ.get("GGUFX_FAIL_CALL")
        if not library:
            self.skipTest("no library to make calls fail")
        source, out, want = self.large(), self.path("out.gguf"), self.path("want.gguf")
        self.ok("quantize", source, want, "-q", *self.TYPE)
        full = environment(LD_PRELOAD=library, FAIL_CALLS="write", FAIL_AT="9", FAIL_ERROR=str(errno.ENOSPC))
        error = self.fails(1, "quantize", source, out, *self.TYPE, env=full)
        self.assertIn("no space left", error.lower())
        self.assertIn("--resume", error)
        self.assertFalse(os.path.exists(out))
        self.assertGreater(os.path.getsize(out + ".part.log"), 24)
        self.assertLess(os.path.getsize(out + ".part"), os.path.getsize(want))  # the written part
        self.ok("quantize", source, out, "-q", "--resume", *self.TYPE)
        self.assertEqual(read(out), read(want))
        self.assertEqual(self.files(), ["in.gguf", "out.gguf", "want.gguf"])

    def test_a_disk_that_is_too_small_is_reported_first(self):
        source, disk, want = self.large(), self.path("disk"), self.path("want.gguf")
        os.mkdir(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", disk],
                          stderr=subprocess.DEVNULL).returncode:
            self.skipTest("mounting is not allowed")
        try:
            out = os.path.join(disk, "out.gguf")
            error = self.fails(1, "quantize", source, out, *self.TYPE)
            self.assertIn("no space left", error.lower())
            self.assertIn("are free", error)
            self.assertEqual(os.listdir(disk), [])
            subprocess.run(["mount", "-o", "remount,size=4m", disk], check=True)
            self.ok("quantize", source, out, "-q", *self.TYPE)
            self.ok("quantize", source, want, "-q", *self.TYPE)
            self.assertEqual(read(out), read(want))
        finally:
            subprocess.run(["umount", disk], check=True)

    def shards(self, source, out, n):
        return [subprocess.Popen([*WRAPPER, TOOL, "quantize", source, out, "-q", *self.TYPE, "--shard",
                                  f"{i + 1}/{n}"], env=environment(), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE) for i in range(n)]

    def test_shards_of_two_processes_make_the_file(self):
        source, out, want = self.large(), self.path("out.gguf"), self.path("want.gguf")
        self.ok("quantize", source, want, "-q", *self.TYPE)
        self.assertIn("there is no", self.fails(1, "quantize", source, out, *self.TYPE, "--finish"))
        self.ok("quantize", source, out, "-q", *self.TYPE, "--shard", "1/3")
        self.assertIn("is not written yet", self.fails(1, "quantize", source, out, *self.TYPE, "--finish"))
        for child in self.shards(source, out, 2):
            _, error = child.communicate(timeout=300)
            self.assertEqual(child.returncode, 0, error)
        self.assertFalse(os.path.exists(out))
        with open(out + ".part", "r+b") as part:  # a bad sector
            part.seek(os.path.getsize(want) - 1000)
            part.write(b"\x55" * 8)
        self.assertIn("damaged", self.fails(1, "quantize", source, out, *self.TYPE, "--finish"))
        self.ok("quantize", source, out, "-q", *self.TYPE, "--shard", "2/2")
        self.ok("quantize", source, out, "-q", *self.TYPE, "--finish")
        self.assertEqual(read(out), read(want))
        self.assertEqual(self.files(), ["in.gguf", "out.gguf", "want.gguf"])

    def test_resume_refuses_other_input_and_options(self):
        source, out = self.large(), self.path("out.gguf")
        self.ok("quantize", source, out, "-q", *self.TYPE, "--shard", "1/2")
        self.assertIn("other input or options", self.fails(
            1, "quantize", source, out, "--type", "IQ4_NL", "--tensor-type", "x=q8_0", "--tensor-type", "w=iq4_xs", "--resume"))
        data = bytearray(read(source))
        data[-2000] ^= 1
        other = self.path("other.gguf", bytes(data))
        self.assertIn("other input or options", self.fails(1, "quantize", other, out, *self.TYPE, "--resume"))
        before = digest(out + ".part")
        self.assertIn("bytes", self.fails(1, "quantize", source, out, "--type", "Q8_0", "--resume"))
        self.assertEqual(digest(out + ".part"), before)
        self.ok("quantize", source, out, "-q", "--type", "Q8_0")  # starts again
        self.assertEqual(self.files(), ["in.gguf", "other.gguf", "out.gguf"])

    def test_progress_is_json_when_asked(self):
        result = run("quantize", self.large(), self.path("o.gguf"), "--progress", "json", *self.TYPE)
        lines = [json.loads(line) for line in result.stderr.splitlines()]
        self.assertEqual((result.returncode, lines[-1]["progress"]), (0, "quantize"))
        self.assertEqual(lines[-1]["done"], lines[-1]["total"])
        self.assertIn("MB/s", lines[-1]["note"])


if __name__ == "__main__":
    tool.main()
