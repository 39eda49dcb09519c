# A text that breaks terminals and UTF-8, at every position of a file with text. The tool prints valid UTF-8 without
# characters that move the cursor or change the direction of text.
# SPDX-License-Identifier: MIT
import json
import os
import struct

import tool
from convert_case import Convert, LLAMA, llama_tensors
from tool import gguf, run, string

# Invalid UTF-8, an escape sequence, a newline, NUL, DEL, C1's CSI, a change of direction, a surrogate, a truncated
# character.
RAW = b"\xff\xc3\x1b[31m\ny\x7f\xc2\x9b\xe2\x80\xae\xe2\x81\xa6\xef\xbb\xbf\xed\xa0\x80\xf0\x9f"
HOSTILE = (RAW, RAW + b"\0" + 60 * RAW)
UTF8 = "\x1b[31m\n\x7f\x9b\u202e\u2066\ufeff"  # the part that JSON can represent


def faults(text, lines=True):
    """Returns the characters of a text that a terminal must not get."""
    kept = "\n\t" if lines else ""
    return [c for c in text if (c < " " and c not in kept) or "\x7f" <= c < "\xa0" or c in "\u200e\u200f\ufeff" or
            "\u2028" <= c <= "\u202e" or "\u2066" <= c <= "\u2069"]


class HostileText(Convert):
    def clean(self, *args, expect=None):
        """Asserts that both outputs of a run are clean; one of them has `expect`."""
        result = run(*args, timeout=60)
        self.assertIn(result.returncode, range(7), (args, result.stderr))
        told = []
        for output in (result.stdout, result.stderr):
            told.append(output.decode())  # fails unless it is UTF-8
            self.assertEqual(faults(told[-1]), [], (args, output))
        if expect:
            self.assertIn(expect, "".join(told), args)
        return told

    def model(self, text, name="m.gguf"):
        """Returns a readable file with the text as a key, a name, an architecture, values, elements, tokens."""
        kv = [("general.architecture", 8, string(text)), ("general.name", 8, string(text)), (text, 4, bytes(4)),
              (b"a" + text, 8, string(text)), ("list", 9, struct.pack("<IQ", 8, 3) + 3 * string(text)),
              ("tokenizer.ggml.model", 8, string(text)), ("tokenizer.ggml.pre", 8, string(text)),
              ("tokenizer.chat_template", 8, string(text)),
              ("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 2) + string(text) + string(b"x" + text))]
        tensors = [(text[:63], (32, 2), 0, 0), (b"b" + text[:62], (32, 2), 0, 256)]
        return self.path(name, gguf(kv, tensors, bytes(512)))

    def test_what_reads_a_model(self):
        for i, text in enumerate((*HOSTILE, UTF8.encode(), 9 * UTF8.encode())):
            path = self.model(text)
            verbs = (["info", path], ["info", path, "--tensors"], ["info", path, "--array-full"],
                     ["validate", path, "--deep"], ["validate", path, "--strict"], ["validate", path, "--model"],
                     ["diff", path, path], ["diff", path, self.model(b"c" + text, "n.gguf"), "--values"],
                     ["quantize", path, "--dry-run", "--type", "Q8_0"], ["split", path, self.path("s"), "--dry-run"],
                     ["run", path, "-p", "x"], ["perplexity", path, path], ["fit", path], ["imatrix", "show", path],
                     ["convert", path, "--to", "safetensors", "-o", self.path("out")],
                     ["extract", path, "absent"], ["dequant", path, "absent"], ["set", path, "general.name=x", "--dry-run"],
                     ["unset", path, "absent"], ["kv-eval", path, path])
            for json_too in ((), ("--json",)):
                for verb in tool.stepped(verbs, 2 * i + len(json_too)):  # others in each iteration
                    self.clean(*verb, *json_too)
            for verb in (["info", path], ["info", path, "--tensors"], ["run", path, "-p", "x"]):
                self.clean(*verb, expect="\\xff" if text in HOSTILE else "\\x1b")
            report = self.path("r.html")
            self.clean("report", path, "-o", report, "--force")
            with open(report, "rb") as file:
                self.assertEqual(faults(file.read().decode()), [])

    def test_faults_name_what_they_are_of(self):
        for text in HOSTILE:
            for kv, tensors in (([(text, 99, b"")], ()), ([(text, 4, bytes(4))] * 2, ()), ([(text, 8, b"\xff" * 8)], ()),
                                ((), [(text[:63], (31,), 8, 0)]), ((), [(text[:63], (32,), 99, 0)]),
                                ((), [(text[:63], (32,), 0, 3)])):
                path = self.path("bad.gguf", gguf(kv, tensors, bytes(128)))
                for verb in ("info", "validate"):
                    self.clean(verb, path, expect="\\xff")
                    self.clean(verb, path, "--json")

    def test_words_of_the_command_line(self):
        text = os.fsdecode(RAW)
        path = self.model(RAW)
        for words in (["info", text], ["info", path, "--filter", "re:(" + text], ["set", path, text], ["quantize", path, "--type", text],
                      ["quantize", path, "--tensor-type", text, "--dry-run"], ["extract", path, text], [text], ["info", path, "--" + text],
                      ["convert", path, "-o", self.path("o"), "--outtype", text], ["fit", "--shape", text],
                      ["info", path, "-o", os.path.join(self.folder, text, "x")]):
            self.clean(*words)

    def test_parts_of_sets(self):
        name = os.path.join(os.fsencode(self.folder), RAW)
        self.clean("split", self.path("in.gguf", gguf([tool.ARCHITECTURE], [("a", (8,), 0, 0), ("b", (8,), 0, 32)], bytes(64))),
                   os.fsdecode(name), "--max-tensors", "1")
        parts = [os.fsdecode(name + b"-0000%d-of-00002.gguf" % i) for i in (1, 2)]
        for verb in ("info", "validate"):
            self.clean(verb, parts[0])
        self.clean("merge", parts[1], self.path("out.gguf"))
        self.clean("split", self.path("in.gguf"), os.fsdecode(name), "--max-tensors", "1", expect="exists")
        os.unlink(parts[1])
        for verb in ("info", "validate"):
            self.clean(verb, parts[0], expect="\\xff")

    def test_models_of_other_formats(self):
        def folder(tensors=None, config=None, **files):
            path = self.folder_of(tensors or llama_tensors(), config or LLAMA, "f%d" % len(os.listdir(self.folder)), **files)
            return path

        def index(shard):
            path = folder()
            self.path(os.path.join(path, "model.safetensors.index.json"), json.dumps({"weight_map": {UTF8: shard}}).encode())
            return path
        bpe = {"model": {"type": "BPE", "byte_fallback": True, "vocab": {"a": 0}, "merges": []}}
        for i, long in enumerate(("", 300 * UTF8)):
            text = UTF8 + long
            paths = (folder(llama_tensors() + [(text, "F32", [1], bytes(4))]),
                     folder([(n, text if "gate" in n else d, s, c) for n, d, s, c in llama_tensors()]),
                     folder(config={**LLAMA, "model_type": text}), folder(config={**LLAMA, "hidden_act": text}),
                     folder(config={**LLAMA, "rope_scaling": {"type": text, "factor": 2}}),
                     index(text), index("model.safetensors"), index("../" + text),
                     folder(bpe={"model": {**bpe["model"], "type": text}}),
                     folder(bpe={"model": {**bpe["model"], "vocab": {text: -1}}}),
                     folder(bpe={"model": {**bpe["model"], "merges": [text]}}),
                     folder(bpe=b'{"a":' + text.encode()),
                     folder(bpe={**bpe, "added_tokens": [{"content": text}]}),
                     folder(bpe=bpe, settings=b'{"chat_template":' + text.encode()),
                     folder(bpe=bpe, settings={"chat_template": [{"name": text, "template": text}], "bos_token": text}),
                     folder(model=text.encode()))
            for json_too in ((), ("--json",)):
                for path in tool.stepped(paths, 2 * i + len(json_too)):
                    self.clean("convert", path, "-o", self.path("o.gguf"), "--force", *json_too)


if __name__ == "__main__":
    tool.main()
