# set: leftovers of killed runs, and edits in place.
# SPDX-License-Identifier: MIT
import os
import random
import shutil
import signal
import struct
import subprocess
import time

import tool
from edit_case import Edit, digest
from tool import ARCHITECTURE, MODEL, TOOL, WRAPPER, environment, gguf, run, string


def crc64(data):
    """CRC-64 of ECMA-182, reflected."""
    table, crc = [], (1 << 64) - 1
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0xc96c5795d7870f42 if i & 1 else 0)
        table.append(i)
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 255]
    return crc ^ (1 << 64) - 1


class Killed(Edit):
    def test_a_killed_run_leaves_the_model_or_the_new_one(self):
        path = self.model()
        allowed, n_killed = {digest(path)}, 0
        self.ok("set", path, "general.name=new", "-o", self.path("new.gguf"))
        allowed.add(digest(self.path("new.gguf")))
        chance = random.Random(1)
        for _ in range(20):
            shutil.copyfile(MODEL, path)
            process = subprocess.Popen([*WRAPPER, TOOL, "set", path, "general.name=new", "-q"],
                                       env=environment(), stdin=subprocess.DEVNULL)
            time.sleep(chance.uniform(0, 0.06))
            process.send_signal(signal.SIGKILL)
            n_killed += process.wait() != 0
            self.assertEqual(run("validate", path).returncode, 0)  # and completes the interrupted edit
            self.assertIn(digest(path), allowed)
        self.assertGreater(n_killed, 0)
        self.ok("set", path, "general.name=new", "-q")  # overwrites the leftovers
        self.assertEqual(digest(path), digest(self.path("new.gguf")))
        self.assertFalse(os.path.exists(path + ".part"))

    def test_ctrl_c_leaves_the_model_and_nothing_beside(self):
        n = 1 << 26
        path = self.path("large.gguf", gguf([ARCHITECTURE], [("w", (n,), 0, 0)]))
        os.truncate(path, os.path.getsize(path) + 4 * n)  # zeros that take no disk space
        before = os.stat(path)
        process = subprocess.Popen([*WRAPPER, TOOL, "set", path, "a=" + 99 * "x", "--progress", "json"],
                                   env=environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.assertIn(b'"progress":"write"', process.stderr.readline())
        process.send_signal(signal.SIGINT)
        message = process.communicate()[1]
        self.assertEqual(process.returncode, 130, message)
        self.assertIn(b"interrupted", message)
        after = os.stat(path)
        self.assertEqual((after.st_ino, after.st_mtime_ns), (before.st_ino, before.st_mtime_ns))
        self.assertEqual(os.listdir(self.folder), ["large.gguf"])


class InPlace(Edit):
    def huge(self):
        """Returns a file with 40 GiB of tensor data, all of it a hole."""
        if WRAPPER:
            self.skipTest("an emulator's address space may be too small")
        reserve = struct.pack("<IQ", 0, 4096) + bytes(4096)
        kv = [ARCHITECTURE, ("general.name", 8, string("before")), ("ggufx.reserve", 9, reserve)]
        path = self.path("huge.gguf", gguf(kv, [("w", (1 << 20, 40 << 10), 24, 0)]))
        try:
            os.truncate(path, os.path.getsize(path) + (40 << 30))
        except OSError as error:
            self.skipTest("no file of 40 GiB: %s" % error)
        if os.stat(path).st_blocks * 512 > 1 << 20:
            self.skipTest("files have no holes here")
        return path

    def test_a_model_of_40_gib_is_edited_in_its_head(self):
        path = self.huge()
        size = os.path.getsize(path)
        for arguments in (["set", path, "general.name=" + 900 * "x", "general.author=me"],
                          ["rename", path, "general.author=general.organization"],
                          ["rename", path, "--tensors", "w=weights"], ["unset", path, "general.organization"]):
            plan = self.json(*arguments, "--dry-run")
            result = self.json(*arguments)
            self.assertEqual((plan["in_place"], plan["written_bytes"], plan["written"]), (True, 0, False))
            self.assertEqual((result["in_place"], result["bytes"]), (True, size))
            self.assertLess(result["written_bytes"], 10000)
            self.assertGreater(result["written_bytes"], 0)
        self.assertEqual(os.path.getsize(path), size)
        self.assertLess(os.stat(path).st_blocks * 512, 1 << 20)
        info = self.json("info", path)
        self.assertEqual([t["name"] for t in info["tensors"]], ["weights"])
        self.assertEqual(self.keys(path)["general.name"], ("str", 900 * "x"))
        self.assertEqual(os.listdir(self.folder), ["huge.gguf"])

    def test_room_is_made_once_and_used(self):
        path = self.model()
        tensors = self.tensors(path)
        first = self.json("set", path, "general.name=x", "--reserve", "4K")
        self.assertEqual((first["in_place"], first["reserve"]), (False, 4096))
        second = self.json("set", path, "general.description=" + 1000 * "d")
        self.assertTrue(second["in_place"])
        self.assertLess(second["reserve"], 4096)
        self.assertEqual(self.json("info", path)["file_size"], first["bytes"])
        self.assertIn("in place", self.ok("set", path, "general.name=y").decode())
        self.assertEqual(self.tensors(path), tensors)
        third = self.json("set", path, "general.url=" + 9000 * "u")
        self.assertFalse(third["in_place"])
        self.assertEqual(self.tensors(path), tensors)

    def test_an_interrupted_edit_is_finished(self):
        path = self.model()
        self.ok("set", path, "general.name=x", "--reserve", "4K")
        with open(path, "rb") as file:
            before = file.read()
        self.ok("set", path, "general.name=another", "general.author=me")
        with open(path, "rb") as file:
            after = file.read()
        self.assertEqual(len(before), len(after))
        head = 31000  # the edit, whose first half had reached the file
        self.path("m.gguf", after[:head // 2] + before[head // 2:])
        place = 8
        numbers = len(after), head, crc64(before[:place]), 1, place, head - place
        journal = b"GGUFXP02" + struct.pack("<6Q", *numbers)
        journal += before[place:head] + after[place:head]
        journal += struct.pack("<Q", crc64(journal))
        self.path("m.gguf.patch", journal)
        result = run("set", path, "general.name=third")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"m.gguf\" was completed first", result.stderr)
        self.assertEqual(self.keys(path)["general.author"], ("str", "me"))
        self.assertEqual(self.keys(path)["general.name"], ("str", "third"))
        self.assertEqual(os.listdir(self.folder), ["m.gguf"])
        self.path("m.gguf.patch", journal)  # next to a file that has changed since
        self.assertIn("nothing was changed", self.fails(1, "set", path, "general.name=fourth"))
        self.path("m.gguf.patch", b"it is not a journal")
        self.assertIn(".patch", self.fails(1, "set", path, "general.name=fourth"))


if __name__ == "__main__":
    tool.main()
