# Split files in a download cache: links with the names of the parts to blobs named by their hashes.
# SPDX-License-Identifier: MIT
import hashlib
import os

import tool
from tool import MODEL


def content(path):
    with open(path, "rb") as file:
        return file.read()


class DownloadCache(tool.Case):
    def links(self, max_tensors):
        """Returns paths of the links to the parts of the demo model."""
        parts = self.json("split", MODEL, self.path("part"), "--max-tensors", max_tensors)["outputs"]
        blobs, snapshot = self.path("blobs"), self.path("snapshot")
        os.mkdir(blobs)
        os.mkdir(snapshot)
        links = []
        for part in parts:
            blob = os.path.join(blobs, hashlib.sha256(content(part)).hexdigest())
            os.rename(part, blob)
            links.append(os.path.join(snapshot, os.path.basename(part).replace("part", "model")))
            os.symlink(os.path.relpath(blob, snapshot), links[-1])
        return links

    def tensors(self, path, *more):
        return [(t["name"], t["type"], t["ne"]) for t in self.json("info", path, "--tensors", *more)["tensors"]]

    def test_every_link_is_the_whole_model(self):
        story = ("-p", "Once upon a time", "-n", "12", "--temp", "0")
        ids = [line["id"] for line in self.lines("run", MODEL, *story)]
        self.assertEqual(len(ids), 12)
        links = self.links(10)
        self.assertEqual(len(links), 4)
        for link in links:
            self.assertEqual(self.tensors(link, "--set"), self.tensors(MODEL))
            self.assertEqual([line["id"] for line in self.lines("run", link, *story)], ids)
            self.ok("merge", link, "-o", self.path("merged"), "--force")
            self.assertEqual(content(self.path("merged")), content(MODEL))

    def test_a_set_of_one_tensor_in_each_file(self):
        links = self.links(1)
        self.assertEqual(len(links), 38)
        for link in tool.stepped(links):
            self.ok("merge", link, "-o", self.path("merged"), "--force")
            self.assertEqual(content(self.path("merged")), content(MODEL))
        quantize = ("-q", "--allow-requantize", "--type", "Q4_K_M")
        self.ok("quantize", MODEL, self.path("of file"), *quantize)
        self.ok("quantize", links[20], self.path("of links"), *quantize)
        self.assertEqual(content(self.path("of links")), content(self.path("of file")))

    def test_a_part_that_is_missing_is_named(self):
        first, second, *others = self.links(10)
        os.remove(second)
        for dangling in (False, True):
            if dangling:
                os.symlink("../blobs/none", second)
            for link in (first, *others):
                self.assertEqual(self.fails(1, "run", link, "-p", "a"),
                                 "ggufx: %s: part 2 of 4: %s: cannot open: no such file or directory (2)\n" % (link, second))
            self.fails(1, "merge", first, "-o", self.path("merged"))
        self.assertFalse(os.path.exists(self.path("merged")))

    def test_a_blob_by_its_hash_is_a_part(self):
        first, second, *_ = (os.path.realpath(link) for link in self.links(10))
        for blob, n in ((first, 10), (second, 10)):
            self.ok("validate", blob)
            self.assertEqual(len(self.tensors(blob)), n)
            self.assertEqual(self.fails(3, "run", blob, "-p", "a"),
                             "ggufx: split.tensors.count is 38, the opened parts hold %d tensors\n" % n)
            self.assertIn("not a part of a split set (its parts are named NAME-00001-of-0000N.gguf)",
                          self.fails(2, "merge", blob, "-o", self.path("merged")))


if __name__ == "__main__":
    tool.main()
