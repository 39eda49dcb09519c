# --weights: every kind of memory gives the same answer; what happens without huge pages, memory or a mapping.
# SPDX-License-Identifier: MIT
import ctypes
import errno
import os

import tool
from tool import MODEL, environment, run

LIBRARY = os.environ.get("GGUFX_FAIL_CALL", "")
WORDS = ("run", MODEL, "-p", "Once", "-n", "8", "--seed", "1", "-q")
# malloc would touch each page before the library asks for huge ones.
PLAIN = {"MALLOC_PERTURB_": "0"}
TOLD = "ggufx: --weights huge: no copy in huge pages here; the file is mapped"


def without_huge_pages():
    ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE


class Weights(tool.Case):
    def setUp(self):
        super().setUp()
        self.want = self.ok(*WORDS)

    def failing(self, calls, at, error=errno.ENOMEM):
        if not LIBRARY:
            self.skipTest("no library that fails calls (GGUFX_FAIL_CALL)")
        return run(*WORDS, "--weights", "huge",
                   env=environment(LD_PRELOAD=LIBRARY, FAIL_CALLS=calls, FAIL_AT=str(at), FAIL_ERROR=str(error), **PLAIN))

    def test_every_kind_of_memory_gives_the_same_text(self):
        for word in ("map", "copy", "huge", "reread", "auto"):
            with self.subTest(word):
                self.assertEqual(self.ok(*WORDS, "--weights", word, env=environment(**PLAIN)), self.want)

    def test_huge_without_huge_pages_is_told_once(self):
        result = run(*WORDS, "--weights", "huge", env=environment(**PLAIN), preexec_fn=without_huge_pages)
        self.assertEqual((result.returncode, result.stdout), (0, self.want))
        self.assertEqual(result.stderr.decode().splitlines(), [TOLD])

    def test_a_read_without_memory_ends_the_copy(self):
        if TOLD in run(*WORDS, "--weights", "huge", env=environment(**PLAIN)).stderr.decode():
            self.skipTest("this system has no transparent huge pages")
        for at in (1, 2):  # a model of two pieces
            result = self.failing("read", at)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("no memory left (12)", result.stderr.decode())

    def test_a_file_that_cannot_be_mapped_is_read(self):
        result = self.failing("map", 1)
        self.assertEqual((result.returncode, result.stdout), (0, self.want), result.stderr)

    def test_info_shows_the_pages_of_a_mapping(self):
        self.assertRegex(self.ok("info", "-v", MODEL).decode(), r"\nmemory +memory-mapped")
        self.assertNotIn("\nmemory ", self.ok("info", MODEL).decode())

    def test_words_that_say_nothing_are_refused(self):
        for word in ("fast", "1,2"):
            self.assertIn("needs --group", self.fails(2, *WORDS, "--weights", word))


if __name__ == "__main__":
    tool.main()
