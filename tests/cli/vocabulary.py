# tokenize: ids, pieces, counts and text back; run -p with other vocabularies than SentencePiece's.
# SPDX-License-Identifier: MIT
import json
import os
import pty
import subprocess

import tool
from tool import MODEL


class Tokenize(tool.Case):
    def test_pieces_are_the_text_and_ids_those_of_run(self):
        text = "Once upon a time, é"
        line = self.json("tokenize", MODEL, "-p", text)
        self.assertEqual([line["vocabulary"], line["pre"]], ["llama", None])
        self.assertEqual(line["ids"], [piece["id"] for piece in line["pieces"]])
        self.assertEqual((line["n_tokens"], line["n_bytes"]), (len(line["ids"]), len(text.encode())))
        self.assertEqual(line["pieces"][0], {"id": 1, "piece": "<s>", "bytes": 3, "kind": "control"})
        self.assertEqual(line["pieces"][-1]["piece"], {"hex": "a9"})
        ids = self.ok("tokenize", MODEL, "-p", text, "--only-ids").decode().strip()
        self.assertEqual(json.loads(f"[{ids}]"), line["ids"])
        self.assertEqual(self.ok("tokenize", MODEL, "-p", text, "--count").decode(), f"{len(line['ids'])}\n")
        self.assertEqual(self.ok("tokenize", MODEL, "--ids", ids).decode(), text)
        first = self.lines("run", MODEL, "-p", text, "-n", "3", "--temp", "0")
        self.assertEqual(first, self.lines("run", MODEL, "--tokens", ids, "-n", "3", "--temp", "0"))
        self.assertEqual(self.json("tokenize", MODEL, "-p", text, "--bare")["ids"], line["ids"][1:])

    def test_a_table_has_a_row_per_token(self):
        rows = self.ok("tokenize", MODEL, "-p", "Once upon").decode().splitlines()
        self.assertEqual(rows[0].split("\t"), ["id", "piece", "bytes", "kind"])
        self.assertEqual(rows[1].split("\t"), ["1", '"<s>"', "3", "control"])
        self.assertEqual(len(rows), 5)

    def test_a_file_may_hold_any_bytes(self):
        path = self.path("text", bytes(range(256)))
        line = self.json("tokenize", MODEL, "-f", path)
        ids = ",".join(map(str, line["ids"]))
        self.assertEqual(self.ok("tokenize", MODEL, "--ids", ids), bytes(range(256)))

    def test_control_tokens_are_parsed_only_where_asked_for(self):
        self.assertNotIn(2, self.json("tokenize", MODEL, "-p", "a</s>")["ids"])
        self.assertIn(2, self.json("tokenize", MODEL, "-p", "a</s>", "--parse-special")["ids"])

    def test_a_terminal_gets_colours(self):
        master, slave = tool.on_pseudo_terminal(pty.openpty)
        process = subprocess.Popen([*tool.WRAPPER, tool.TOOL, "tokenize", MODEL, "-p", "Once upon\n"], stdout=slave,
                                   stdin=subprocess.DEVNULL, env=tool.environment(TERM="xterm"))
        os.close(slave)
        out = b""
        try:
            while chunk := os.read(master, 65536):
                out += chunk
        except OSError:  # Linux: the other end is closed
            pass
        self.assertEqual(process.wait(), 0)
        os.close(master)
        self.assertIn(b"\x1b[36m Once\x1b[0m", out)
        self.assertIn(b"\\n", out.splitlines()[0])  # a newline in the text does not end the line

    def test_what_cannot_be_is_refused(self):
        self.assertIn("no text", self.fails(2, "tokenize", MODEL))
        self.assertIn("is not a list of ids", self.fails(2, "tokenize", MODEL, "--ids", "1,x"))
        self.assertIn("outside of the vocabulary", self.fails(2, "tokenize", MODEL, "--ids", "1024"))
        self.fails(2, "tokenize", MODEL, "-p", "a", "--ids", "1")
        self.fails(1, "tokenize", self.path("absent.gguf"), "-p", "a")

    def test_models_of_other_vocabularies_take_text(self):
        for model in ("qwen2", "llama3"):
            path = tool.tiny(model)
            ids = self.ok("tokenize", path, "-p", "Hello, world", "--only-ids").decode().strip()
            text = self.lines("run", path, "-p", "Hello, world", "-n", "2", "--temp", "0")
            self.assertEqual(text, self.lines("run", path, "--tokens", ids, "-n", "2", "--temp", "0"))


if __name__ == "__main__":
    tool.main()
