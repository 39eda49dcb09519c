# embed: output formats, texts and ids, refused input. Embedding models and rerankers of tests/models against the
# reference implementation in binary64 (a Python with NumPy).
# SPDX-License-Identifier: MIT
import json
import math
import os
import random
import struct
import subprocess
import sys

import tool
from tool import MODEL

TEXTS = ["Once upon a time", "there was a little dog", "a cat"]


def npy(data):
    """Returns shape and values of a NumPy file of f32."""
    assert data[:8] == b"\x93NUMPY\x01\x00"
    n_head = struct.unpack("<H", data[8:10])[0]
    head = data[10:10 + n_head].decode()
    shape = [int(n) for n in head[head.index("(") + 1:head.index(")")].split(",") if n.strip()]
    return shape, struct.unpack("<%df" % math.prod(shape), data[10 + n_head:])


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


class Forms(tool.Case):
    def vectors(self, *args, **options):
        lines = self.lines("embed", MODEL, *args, **options)
        self.assertEqual([line["index"] for line in lines], list(range(len(lines))))
        return [line["embedding"] for line in lines]

    def test_json_lines_npy_and_the_table_say_the_same(self):
        want = self.vectors(*TEXTS)
        self.assertEqual([len(v) for v in want], [256] * 3)
        for vector in want:
            self.assertAlmostEqual(sum(x * x for x in vector), 1, 5)
        lines = self.ok("embed", MODEL, *TEXTS, "--lines").decode().splitlines()
        self.assertEqual([[struct.unpack("<f", struct.pack("<f", float(x)))[0] for x in line.split()]
                          for line in lines], want)
        shape, values = npy(self.ok("embed", MODEL, *TEXTS, "--npy"))
        self.assertEqual((shape, list(values)), ([3, 256], [x for v in want for x in v]))
        self.assertEqual(self.ok("embed", MODEL, *TEXTS, "-o", self.path("a.npy")), b"")
        with open(self.path("a.npy"), "rb") as file:
            self.assertEqual(npy(file.read()), (shape, values))
        rows = [line.split("\t") for line in self.ok("embed", MODEL, *TEXTS).decode().splitlines()]
        self.assertEqual(rows[0], ["#", "1", "2", "3", "text"])
        for i, row in enumerate(rows[1:]):
            self.assertEqual((row[0], row[4]), (str(i + 1), TEXTS[i]))
            for j in range(3):
                self.assertAlmostEqual(float(row[1 + j]), cosine(want[i], want[j]), 3)

    def test_texts_come_from_a_file_from_stdin_or_as_ids(self):
        want = self.vectors(*TEXTS)
        lines = ("\r\n".join(TEXTS) + "\n").encode()
        self.assertEqual(self.vectors("-f", self.path("texts", lines)), want)
        self.assertEqual(self.vectors(TEXTS[0], "-f", "-", stdin=None, input="\n".join(TEXTS[1:]).encode()), want)
        ids = ["1,403", "403", "1,403,407,261,378"]
        got = self.vectors("--ids", *ids)
        self.assertEqual(self.vectors("--ids", "-f", self.path("ids", "\n".join(ids).replace(",", " ").encode())), got)
        self.assertEqual(self.vectors("--ids", ids[2]), got[2:])

    def test_a_text_is_the_same_whatever_else_is_there(self):
        want = self.vectors(*TEXTS)
        for i, text in enumerate(TEXTS):
            self.assertEqual(self.vectors(text, "--batch", "64", "--ctx", "50", "-t", "2"), [want[i]])

    def test_lengths_dimensions_and_pooling_are_as_asked(self):
        plain = self.vectors(TEXTS[0], "--unscaled")[0]
        norm = math.sqrt(sum(x * x for x in plain[:16]))
        for x, y in zip(self.vectors(TEXTS[0], "--dimensions", "16")[0], plain):
            self.assertAlmostEqual(x, y / norm, 5)
        rows = self.lines("embed", MODEL, TEXTS[0], "--unscaled", "--pooling", "none")[0]
        self.assertEqual(len(rows["embeddings"]), rows["tokens"])
        self.assertEqual(rows["embeddings"][-1], plain)  # a model that predicts tokens: pools the last token
        self.assertEqual(self.vectors(TEXTS[0], "--unscaled", "--pooling", "first")[0], rows["embeddings"][0])
        mean = self.vectors(TEXTS[0], "--unscaled", "--pooling", "mean")[0]
        for i, x in enumerate(mean):
            self.assertAlmostEqual(x, sum(row[i] for row in rows["embeddings"]) / rows["tokens"], 4)

    def test_what_cannot_be_done_is_refused(self):
        long = "and then " * 60
        for said, *args in (("no text", MODEL),
                            ("text 2 has 122 tokens, but the context holds 32 (use --truncate or --ctx)", MODEL, "a", long, "--ctx", "32"),
                            ('"1,x" is not a list of ids', MODEL, "--ids", "1,x"),
                            ("is 99999, the vocabulary has", MODEL, "--ids", "99999"),
                            ("65 texts are too many", MODEL, *["a"] * 65),
                            ("needs --json", MODEL, "a", "--pooling", "none"),
                            ("dimensions is 257, the model has 256", MODEL, "a", "--dimensions", "257"),
                            ("--pooling", MODEL, "a", "--pooling", "max"),
                            ("--rerank", MODEL, "a", "--rerank", "b", "--pooling", "mean"),
                            ("--lines", MODEL, "a", "--npy", "--lines")):
            self.assertIn(said, self.fails(2, "embed", *args), args)
        self.assertIn("it is not a reranker", self.fails(4, "embed", MODEL, "a", "--rerank", "b"))
        self.assertIn(':2: "" is not a list of ids', self.fails(2, "embed", MODEL, "--ids", "-f", self.path("ids", b"1\n\n2\n")))
        self.assertEqual(len(self.vectors("a", long, "--ctx", "32", "--truncate")), 2)
        self.fails(1, "embed", MODEL, "-f", self.path("absent"))
        self.assertIn("UTF-8", self.fails(3, "embed", MODEL, "-f", self.path("bad", b"a\xff")))

    def test_encoders_take_ids_and_say_what_they_are_not(self):
        bert = tool.tiny("bert")
        self.assertEqual(len(self.lines("embed", bert, "--ids", "5,6,7", "8")), 2)
        self.assertIn("it makes embeddings", self.fails(4, "run", bert, "--tokens", "5,6"))
        graph = self.ok("info", bert, "--graph").decode()
        for words in ("layer norm", "to both sides", "pool", "by position"):
            self.assertIn(words, graph)


def python_with_numpy():
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and subprocess.run([python, "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    raise tool.unittest.SkipTest("no Python with NumPy")


# argv: folder of the generator, folder for the models, texts as JSON. Prints [[values of a text]].
REFERENCE = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import gguf_io, make_models, ref64
texts, out = json.loads(sys.argv[3]), {}

def made(name, change=lambda b: None):
    b = make_models.MODELS[name]()
    change(b)
    path = os.path.join(sys.argv[2], name + ("-rank" if "cls.output.weight" in b.t else "") + ".gguf")
    b.save(path, False)
    return path, ref64.Model(path)

def classifier(n, dense):
    def change(b):
        if dense:
            b.mat("cls", 64, 64, 1.0, True)
        b.mat("cls.output", n, 64, 1.0, True)
        b.key(pooling_type=4)
    return change

for name in ("bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "modern-bert", "gemma-embedding", "qwen3-embedding"):
    path, m = made(name)
    out[path] = [ref64.pooled(m, ids).tolist() for ids in texts]
for name, n, dense in (("bert", 1, True), ("jina-bert-v2", 3, True), ("qwen3-embedding", 2, False)):
    path, m = made(name, classifier(n, dense))
    out[path] = []
    for ids in texts:
        h = ref64.hidden(m, ids)
        x = np.tanh(m.linear(h[0], "cls")) if dense else h[-1]
        y = m.linear(x, "cls.output")
        out[path].append((y if dense else ref64.softmax(y)).tolist())
def pieces(n=320):  # of XLM-R: its special tokens, some words and the letters
    texts = ["<s>", "<pad>", "</s>", "<unk>", *("\\u2581" + w for w in ["", "a", "the", "cat", "dog", "on"]), *"abcdefghijklmnopqrstuvwxyz"]
    types = [3, 3, 3, 2] + [1] * (len(texts) - 4) + [5] * (n - len(texts))
    texts += ["unused%d" % i for i in range(n - len(texts))]
    p = "tokenizer.ggml."
    return {p + "model": "t5", p + "tokens": ("str", texts), p + "scores": ("f32", [-0.125 * i for i in range(n)]),
            p + "token_type": ("i32", types), p + "token_type_count": 2, p + "bos_token_id": 0, p + "eos_token_id": 2,
            p + "unknown_token_id": 3, p + "padding_token_id": 1, p + "add_bos_token": True, p + "add_eos_token": True,
            p + "add_space_prefix": True, p + "remove_extra_whitespaces": True}

b = make_models.MODELS["bert"]()
classifier(1, True)(b)
b.vocab = pieces
b.save(os.path.join(sys.argv[2], "xlmr-rank.gguf"), False)
for name, template in (("plain", ""), ("template", "Q: {query} D: {document}.")):
    b = make_models.MODELS["llama-linear"]()
    classifier(1, False)(b)
    if template:
        b.kv["tokenizer.chat_template.rerank"] = template
    b.save(os.path.join(sys.argv[2], name + ".gguf"), False)
print(json.dumps(out))
"""


# argv: folder of the generator, paths of models, ids, context. Prints the hidden states of each.
HIDDEN = """
import json, sys
sys.path.insert(0, sys.argv[1])
import ref64
ids, n_context = json.loads(sys.argv[3]), int(sys.argv[4])
print(json.dumps([ref64.hidden(ref64.Model(path), ids, n_context).tolist() for path in json.loads(sys.argv[2])]))
"""


class Generated(tool.Case):
    def test_hidden_states_of_every_architecture_are_right(self):
        tiny = tool.tiny()
        paths = sorted(os.path.join(folder, name) for folder, _, names in os.walk(tiny) for name in names
                       if name.endswith("-f16.gguf"))
        rng, context = random.Random(9), 300  # beyond the original context of longrope
        ids = [rng.randrange(320) for _ in range(40)]
        args = ("--ids", ",".join(map(str, ids)), "--pooling", "none", "--unscaled", "--f32", "--ctx", context, "--json")
        got = {}
        for path in tool.stepped(paths):
            result = tool.run("embed", path, *args)
            if result.returncode == 0:
                got[path] = json.loads(result.stdout)["embeddings"]
            else:
                self.assertIn(b"is not supported; supported:", result.stderr, path)
        self.assertGreater(len(got), 28 // tool.STEP)
        reference = subprocess.run([python_with_numpy(), "-c", HIDDEN, tool.REFERENCE, json.dumps(list(got)),
                                    json.dumps(ids), str(context)], stdout=subprocess.PIPE, check=True,
                                   env=tool.environment(PYTHONDONTWRITEBYTECODE="1"))
        for (path, rows), want in zip(got.items(), json.loads(reference.stdout), strict=True):
            worst = max(abs(x - y) for a, b in zip(rows, want, strict=True) for x, y in zip(a, b, strict=True))
            self.assertLess(worst, 1e-3, path)

    def test_models_of_the_generator_give_what_its_forward_pass_gives(self):
        rng = random.Random(7)
        texts = [[rng.randrange(320) for _ in range(n)] for n in (1, 2, 5, 33, 70)]
        result = subprocess.run([python_with_numpy(), "-c", REFERENCE, tool.REFERENCE, self.folder, json.dumps(texts)],
                                stdout=subprocess.PIPE, check=True,
                                env=tool.environment(PYTHONDONTWRITEBYTECODE="1"))
        models = json.loads(result.stdout)
        self.assertEqual(len(models), 10)
        ids = [",".join(map(str, text)) for text in texts]
        for path, want in models.items():
            args = ("embed", path, "--ids", *ids, "--unscaled", "--f32")
            lines = self.lines(*args)
            got = [line.get("scores", line.get("embedding")) for line in lines]
            for a, b in zip(got, want, strict=True):
                self.assertLess(max(abs(x - y) for x, y in zip(a, b, strict=True)), 1e-3, path)
            if "scores" in lines[0]:
                self.ranks(path, ids, want)

        self.words_around_a_query()
        # [CLS] query [SEP] text [SEP], and XLM-R's form with four special tokens, by hand.
        self.words_of_a_pair("bert-rank.gguf", lambda query, text: [2, *query, 3, *text, 3])
        self.words_of_a_pair("xlmr-rank.gguf", lambda query, text: [0, *query, 2, 2, *text, 2])

    def words_of_a_pair(self, name, joined):
        path, texts = self.path(name), ("The cat", "a dog on the cat", "z?")
        bare = lambda text: [int(i) for i in self.ok("tokenize", path, "-p", text, "--bare", "--only-ids").decode().split(",")]
        alone = lambda text: [int(i) for i in self.ok("tokenize", path, "-p", text, "--only-ids").decode().split(",")]
        as_ids = lambda ids: ",".join(map(str, ids))
        ids = [joined(bare("a dog"), bare(text)) for text in texts]
        self.assertGreater(len(bare("a dog on the cat")), 4)
        by_text = [line["score"] for line in self.lines("embed", path, "--rerank", "a dog", *texts)]
        by_ids = [line["score"] for line in self.lines("embed", path, "--ids", "--pooling", "rank", *map(as_ids, ids))]
        self.assertEqual(by_text, by_ids)
        self.assertEqual(len(set(by_text)), len(texts))
        vectors = self.lines("embed", path, "--pooling", "mean", *texts)
        same = self.lines("embed", path, "--pooling", "mean", "--ids", *[as_ids(alone(text)) for text in texts])
        self.assertEqual([line["embedding"] for line in vectors], [line["embedding"] for line in same])
        self.assertEqual(alone(texts[0]), [ids[0][0], *bare(texts[0]), ids[0][-1]])

    def words_around_a_query(self):
        score = lambda path, *args: [line["score"] for line in self.lines("embed", path, *args)]
        texts = ("the cat", "once upon a time")
        plain = self.path("plain.gguf")
        got = score(plain, "--rerank", "a dog", *texts)
        self.assertEqual(got, score(plain, *["a dog " + text for text in texts]))
        self.assertNotEqual(got[0], got[1])
        # A template's text is used unchanged: no special token is added, and all placeholders are replaced at once.
        tokens = lambda path, text, *more: [int(i) for i in self.ok("tokenize", path, "-p", text, "--bare", "--only-ids", *more).decode().split(",")]
        added = {"none": (), "both": ("tokenizer.ggml.add_bos_token:bool=true", "tokenizer.ggml.add_eos_token:bool=true")}
        n = 0
        for template in ("Q: {query} D: {document}.", "D: {document} Q: {query} A:", "{query}{query}|{document}{query} and {document}", "<s>Q: {query}\nD: {document}\nA:</s>",
                         'a "\\{document}" {% raw %}{{ query }}{query}'):
            for which, keys in added.items():
                path, n = self.path("template%d.gguf" % n), n + 1
                self.ok("set", self.path("template.gguf"), "tokenizer.chat_template.rerank=" + template, *keys, "-o", path)
                for query in ("a dog", "{document}", "{query} is a {query}"):
                    with self.subTest((template, which, query)):
                        pairs = []
                        for text in texts:
                            parts = [part for word in template.split("{query}") for part in (query, *self.between(word.split("{document}"), text))][1:]
                            pairs.append(tokens(path, "".join(parts), "--parse-special"))
                        ids = [",".join(map(str, pair)) for pair in pairs]
                        self.assertEqual(score(path, "--rerank", query, *texts), score(path, "--ids", *ids))
        # The text of a special token in a query or document is plain text.
        path = self.path("template6.gguf")  # with "<s>" and "</s>" in its own text
        head, tail = tokens(path, "<s>", "--parse-special"), tokens(path, "</s>", "--parse-special")
        self.assertEqual((len(head), len(tail)), (1, 1))
        inner = tokens(path, "Q: a</s>b\nD: <s>\nA:")
        self.assertNotIn(tail[0], inner)
        ids = ",".join(map(str, head + inner + tail))
        self.assertEqual(score(path, "--rerank", "a</s>b", "<s>"), score(path, "--ids", ids))
        # --truncate keeps the end of the template, whose last token is scored.
        whole = tokens(path, "<s>Q: a dog\nD: " + "the cat " * 9 + "\nA:</s>", "--parse-special")
        end = tokens(path, "\nA:</s>", "--parse-special")
        cut = whole[:24 - len(end)] + end
        self.assertEqual(score(path, "--rerank", "a dog", "the cat " * 9, "--truncate", "--ctx", "24"), score(path, "--ids", ",".join(map(str, cut))))

    def between(self, parts, text):
        """Returns the parts with the text between them."""
        return [piece for part in parts for piece in (text, part)][1:]

    def ranks(self, path, ids, want):
        order = sorted(range(len(ids)), key=lambda i: -want[i][0])
        rows = [line.split("\t") for line in self.ok("embed", path, "--ids", *ids, "--f32").decode().splitlines()]
        self.assertEqual([row[1:] for row in rows], [["#", "text"]] + [[str(i + 1), ids[i]] for i in order])
        # A query's ids precede each text's.
        pair = self.lines("embed", path, "--ids", "--rerank", "5,6", "7,8", "9")
        whole = self.lines("embed", path, "--ids", "5,6,7,8", "5,6,9", "--pooling", "rank")
        self.assertEqual(pair, whole)


if __name__ == "__main__":
    tool.main()
