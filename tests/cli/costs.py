# Cost of hostile files in the tool: four times the size takes four times the CPU time.
# SPDX-License-Identifier: MIT
import json
import resource
import struct
import time

import tool
from convert_case import Convert, LLAMA, llama_tensors
from tool import ARCHITECTURE, gguf, run, string

LIMIT, MOST = 4.6, 10
MASK = (1 << 64) - 1


def mixed(word):
    """Returns 8 bytes as mixed by libstdc++'s hash (MurmurHash64A) before they enter the state."""
    word = word * 0xc6a4a7935bd1e995 & MASK
    return (word ^ word >> 47) * 0xc6a4a7935bd1e995 & MASK


def colliding(n):
    """Returns n texts with the same hash, for any seed. Each text has pairs of words whose mixed values differ only in
    their highest bits; two pairs cancel out in the state."""
    words = [bytes.fromhex(word) for word in ("423f3a4375737034", "423f7d29da8dc8a5")]  # UTF-8
    assert mixed(int.from_bytes(words[0], "little")) ^ mixed(int.from_bytes(words[1], "little")) == 1 << 63
    pair, bits = [2 * word.decode() for word in words], (n - 1).bit_length()
    return ["".join(pair[i >> k & 1] for k in range(bits)) for i in range(n)]


def control(size):
    """Returns how many times longer a sorted table of four times as many texts takes: the largest of three
    footprints."""
    def seconds(n):
        texts = ["k%07d" % (i * 7919 % n) for i in range(n)]
        start = time.process_time()
        table = {text: text[1:] for text in texts}
        sum(len(table[text]) for text in sorted(texts))
        return time.process_time() - start
    return max(min(seconds(4 * n) for _ in range(2)) / min(seconds(n) for _ in range(2))
               for n in (size, 4 * size, 16 * size))


class Costs(Convert):
    def seconds(self, *args):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = run(*args)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertEqual((result.returncode, result.stderr), (0, b""), args)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def linear(self, size, command):
        """Asserts linear cost. command(n) gives the arguments of a run on an input of size n; the least time of two
        runs counts. Rounds are repeated until one is linear. If only the smaller size fits the caches, linear work
        takes more than four times as long. The limit is then the ratio of sorting a table in this process, at most
        ten, as in the library's own tests (tests/unit/cost.c)."""
        small, large, ratios = command(size), command(4 * size), []
        while len(ratios) < 6:
            s, l = (min(self.seconds(*args) for _ in range(2)) for args in (small, large))
            ratios.append(l / s)
            print("%s: %.3f s at %d, %.3f s at 4 times that: %.2f" % (small[0], s, size, l, l / s))
            if ratios[-1] <= LIMIT or ratios[-1] <= min(1.15 * control(size), MOST):
                return
        self.fail("%s: %s" % (small[0], ratios))

    def test_merges_whose_texts_collide(self):
        def command(n):
            texts = colliding(n)
            folder = self.folder_of(llama_tensors(vocab=12), name="m%d" % n, bpe={"model": {
                "type": "BPE", "byte_fallback": True, "vocab": {"a": 0, "b": 1},
                "merges": [[text[:8], text[8:]] for text in texts]}})
            return ["convert", folder, "-o", self.path("m%d.gguf" % n), "--force", "-q"]
        self.linear(4096, command)

    def test_a_vocabulary_whose_texts_collide(self):
        def command(n):
            folder = self.folder_of(llama_tensors(vocab=n, dim=2, heads=1, ffn=2), name="v%d" % n,
                                    config={**LLAMA, "num_attention_heads": 1, "hidden_size": 2, "intermediate_size": 2},
                                    bpe={"model": {"type": "BPE", "byte_fallback": True, "merges": [],
                                                   "vocab": {t: i for i, t in enumerate(colliding(n))}}})
            return ["convert", folder, "-o", self.path("v%d.gguf" % n), "--force", "-q"]
        self.linear(4096, command)

    def many_keys(self, n):
        keys = [("k%07d" % (i * 7919 % n), 4, struct.pack("<I", i)) for i in range(n)]
        return self.path("k%d.gguf" % n, gguf([ARCHITECTURE] + keys))

    def many_tensors(self, n):
        tensors = [("t%07d" % (i * 7919 % n), (8,), 0, 32 * i) for i in range(n)]
        return self.path("t%d.gguf" % n, gguf([ARCHITECTURE], tensors, bytes(32 * n)))

    def test_many_keys(self):
        self.linear(20000, lambda n: ["info", self.many_keys(n), "--json"])
        self.linear(20000, lambda n: ["diff", self.many_keys(n), self.many_keys(n), "--json"])

    def test_many_tensors(self):
        self.linear(20000, lambda n: ["info", self.many_tensors(n), "--json", "--tensors"])
        self.linear(10000, lambda n: ["convert", self.many_tensors(n), "--endian", "big", "--force", "-q", "-o", self.path("o.gguf")])

    def test_patterns_over_a_long_key(self):
        for pattern in ("re:(a|aa)+$", "re:.*.*.*=b", "glob:*a*a*a*b"):
            self.linear(1 << 18, lambda n: ["info", self.path("l%d.gguf" % n, gguf([ARCHITECTURE, (n * "a", 4, bytes(4))])),
                                            "--filter", pattern])


if __name__ == "__main__":
    tool.main()
