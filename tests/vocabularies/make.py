"""Small vocabularies of every kind, and the ids that slow tokenizers give for many texts.

usage: make.py OUT            writes OUT/NAME.gguf, OUT/NAME.json, OUT/pre-splits.json and OUT/index.json
       make.py --check        compares the slow tokenizers with ids written by hand, and with stored ids of other
                              programs if $GGUFX_TEST_DATA/data exists
SPDX-License-Identifier: MIT
"""
import collections
import json
import os
import pathlib
import random
import struct
import sys

import gguf_file
import patterns
import slow
import texts
from gguf_file import BOOL, F32, I32, STRING, U8, U32
from slow import BYTE, CONTROL, NORMAL, SPACE, UNKNOWN, UNUSED, USER

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "data" / "tinymodel"))
import make_corpus  # noqa: E402

PREFIX = slow.PREFIX
N_MERGES, N_WORD_MERGES = 260, 220
CORPUS_BYTES = 12000


def stories():
    plots = make_corpus.read_plots(str(HERE.parent / "data" / "tinymodel" / "plots.txt"))
    rng = random.Random(1)
    out = []
    while sum(map(len, out)) < CORPUS_BYTES:
        out.append(make_corpus.Story(rng, plots).text())
    return out


# ---- training -----------------------------------------------------------------------------------

def train(symbols, n, allowed=lambda a, b: True):
    """Returns merges of the most frequent neighbours in a list of symbols; None separates its neighbours."""
    merges = []
    while len(merges) < n:
        counts = collections.Counter(zip(symbols, symbols[1:]))
        pairs = [(count, pair) for pair, count in counts.items() if None not in pair and count > 1]
        pairs = [p for p in pairs if allowed(*p[1])]
        if not pairs:
            break
        a, b = max(pairs)[1]
        merges.append((a, b))
        joined, i = [], 0
        while i < len(symbols):
            both = symbols[i] == a and i + 1 < len(symbols) and symbols[i + 1] == b
            joined.append(a + b if both else symbols[i])
            i += 2 if both else 1
        symbols = joined
    return merges


def unique(items):
    return list(dict.fromkeys(items))


class Corpus:
    """The training text, and the merges that several vocabularies share."""

    def __init__(self):
        self.stories = stories()
        numbers = " ".join(str(i * i % 2000) for i in range(400))
        self.text = "\n".join(self.stories + 3 * texts.SENTENCES + [numbers])
        letters = collections.Counter(self.text.replace(" ", SPACE))
        self.letters = [c for c, n in letters.most_common(150) if c != "\n"]
        words = collections.Counter(self.text.split())
        self.words = [w for w, n in sorted(words.items(), key=lambda item: (-item[1], item[0]))][:400]
        # Bytes merge across spaces, marks and digits, so that a wrong split of a text changes its ids.
        self.byte_merges = train([slow.BYTES[b] for b in self.text.encode()], N_MERGES)
        characters = list(self.text.replace(" ", SPACE))
        self.line_merges = train([None if c == "\n" else c for c in characters], N_WORD_MERGES)
        by_words = [None if c == "\n" else c for word in self.text.replace(" ", " " + SPACE).split(" ") for c in [*word, "\n"]]
        self.word_merges = train(by_words, N_WORD_MERGES)
        self.bare_merges = train([None if slow.is_space(c) else c for c in self.text], N_WORD_MERGES)


# ---- files --------------------------------------------------------------------------------------

def keys_of(model, rows, more, scores=False, merges=None):
    """Returns the keys of a vocabulary of rows (text, score, type)."""
    keys = {"general.architecture": (STRING, "llama"), "general.name": (STRING, "made vocabulary"),
            PREFIX + "model": (STRING, model), PREFIX + "tokens": ((STRING,), [r[0] for r in rows]),
            PREFIX + "token_type": ((I32,), [r[2] for r in rows])}
    if scores:
        keys[PREFIX + "scores"] = ((F32,), [r[1] for r in rows])
    if merges is not None:
        keys[PREFIX + "merges"] = ((STRING,), [f"{a} {b}" for a, b in merges])
    for key, value in more.items():
        kind = BOOL if isinstance(value, bool) else STRING if isinstance(value, str) else U32
        keys[PREFIX + key] = (kind, value)
    return keys


def special_rows(*pairs):
    return [(text, 0.0, kind) for text, kind in pairs]


def byte_rows():
    return [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]


def byte_level(corpus, pre, with_merges=True, without=""):
    """Returns a byte-level BPE; `without` are characters of bytes that have no token."""
    joined = unique(a + b for a, b in corpus.byte_merges)
    # Two merges give no token: their bytes are written one by one.
    joined = [t for i, t in enumerate(joined) if i % 90 != 89] if with_merges else joined
    rows = [(c, 0.0, NORMAL) for c in slow.BYTES.values() if c not in without]
    rows += [(t, 0.0, NORMAL) for t in joined]
    if pre in patterns.IGNORE_MERGES:  # tokens that no merge gives
        rows += [(t, 0.0, NORMAL) for t in ("hello", "\u0120three", "xyz") if t not in joined]
    rows = unique(rows) + special_rows(("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL), ("<|user|>", CONTROL),
                                       ("<|user|>hi", CONTROL), ("<tool>", USER), ("<tool><tool>", USER))
    ids = {row[0]: i for i, row in enumerate(rows)}
    more = {"pre": pre, "bos_token_id": ids["<s>"], "eos_token_id": ids["</s>"], "unknown_token_id": ids["<unk>"]}
    return keys_of("gpt2", rows, more, merges=corpus.byte_merges if with_merges else None)


def with_scores(corpus, merges, more, bytes_too=True):
    rows = special_rows(("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)) + (byte_rows() if bytes_too else [])
    joined = unique(a + b for a, b in merges)
    rows += [(text, -float(rank // 3), NORMAL) for rank, text in enumerate(joined)]  # equal scores in threes
    rows += [(c, -1000.0, NORMAL) for c in unique(corpus.letters) if c not in joined]
    rows += special_rows(("<|user|>", CONTROL), ("<tool>", USER), ("<tool>\n", USER))
    return keys_of("llama", rows, {"bos_token_id": 1, "eos_token_id": 2, "unknown_token_id": 0} | more, scores=True)


def raw_bpe(corpus, merges, model="gemma4", more=None):
    rows = special_rows(("<pad>", CONTROL), ("<eos>", CONTROL), ("<bos>", CONTROL), ("<unk>", UNKNOWN)) + byte_rows()
    joined = unique(a + b for a, b in merges)
    rows += [(t, 0.0, NORMAL) for t in unique(corpus.letters + ["\n", "\n\n", "\n\n\n"] + joined)]
    rows += special_rows(("<|user|>", CONTROL), ("<tool>", USER))
    ids = {"bos_token_id": 2, "eos_token_id": 1, "unknown_token_id": 3, "padding_token_id": 0}
    return keys_of(model, rows, ids | (more or {}), merges=merges)


def words_apart(corpus, model, more, space_too=False):
    """Returns a BPE over the characters of words; white space has no tokens, or some of it has."""
    rows = special_rows(("<s>", CONTROL), ("<pad>", CONTROL), ("</s>", CONTROL), ("<unk>", UNKNOWN))
    rows += byte_rows() if space_too else []
    joined = unique(a + b for a, b in corpus.bare_merges)
    letters = [c for c in unique(corpus.letters) if c not in "qz" + SPACE]
    rows += [(t, 0.0, NORMAL) for t in letters + joined + (["\n", "\u3000"] if space_too else []) if t not in "qz"]
    rows += special_rows(("<mask>", CONTROL), ("<tool>", USER))
    ids = {"bos_token_id": 0, "eos_token_id": 2, "unknown_token_id": 3, "add_bos_token": True, "add_eos_token": True}
    return keys_of(model, rows, ids | more, merges=corpus.bare_merges)


def wordpiece(corpus, more=None, change=str.lower):
    rows = special_rows(("[PAD]", CONTROL), ("[UNK]", CONTROL), ("[CLS]", CONTROL), ("[SEP]", CONTROL), ("[MASK]", CONTROL))
    letters = unique(change(c) for c in corpus.letters if c.isalnum() and c not in "qz")
    words = unique(change(w).strip(".,!?;:\"'()") for w in corpus.words[:200])
    pieces = [w[i:i + 3] for w in words for i in (1, 3) if len(w) > i + 2]
    marks = list(".,!?;:'\"()-/$<>[]|#=+_\u3002\u2026") + ["\u4e2d", "\u6587", "\u5c0f"]
    rows += [(SPACE + t, 0.0, NORMAL) for t in unique(words + letters + marks) if t]
    rows += [(t, 0.0, NORMAL) for t in unique(pieces + letters) if t]
    ids = {"bos_token_id": 2, "unknown_token_id": 1, "seperator_token_id": 3, "padding_token_id": 0, "mask_token_id": 4}
    return keys_of("bert", rows, ids | (more or {}))


# A character map: full width, ligatures, spaces, combining marks, and dropped characters.
CHANGES = {"\t": " ", "\n": " ", "\u00a0": " ", "\u3000": " ", "\uff21": "A", "\uff22": "B", "\ufb01": "fi", "\u2026": "...",
           "\u00bd": "1/2", "e\u0301": "\u00e9", "a\u030a": "\u00e5", "\u200b": "", "\u017f": "s", "''": '"', "'": "\u2019"}


def double_array(changes):
    """Returns a character map of {text: text}: units of label, leaf bit and offset, then the texts."""
    root, blob = {}, b""
    for key, value in changes.items():
        node = root
        for c in key.encode():
            node = node.setdefault(c, {})
        node[0] = len(blob)
        blob += value.encode() + b"\0"
    units, taken, bases = {0: 0}, {0}, set()

    def place(node, at):
        base = next(b for b in range(1, 1 << 20) if b not in bases and not taken & {b ^ c for c in node})
        bases.add(base)
        taken.update(base ^ c for c in node)
        units[at] = units[at] & 0xff | (at ^ base) << 10 | (0x100 if 0 in node else 0)
        for c, child in node.items():
            units[base ^ c] = child | 1 << 31 if c == 0 else c
        for c, child in node.items():
            if c:
                place(child, base ^ c)
    place(root, 0)
    size = (max(units) // 256 + 1) * 256
    data = struct.pack(f"<{size}I", *(units.get(i, 0) for i in range(size)))
    return struct.pack("<I", len(data)) + data + blob


def unigram(corpus, first, more, changes=None):
    rows = special_rows(*first)
    pieces = [SPACE] + [SPACE + w for w in corpus.words[:150]] + [w for w in corpus.words[:150] if len(w) > 2]
    pieces += corpus.letters[:90] + ["ing", "ed", "er", "th", SPACE + "t", SPACE + "s", "123", "..."]
    for i, piece in enumerate(unique(pieces)):  # scores with many equal sums
        rows.append((piece, -float(2 + len(piece) + i * 7 % 11) / 2, NORMAL))
    # "\u00a4" and an unknown character score half a point less than the token of both.
    rows += [("\u00a4", 9.5, NORMAL), ("\u00a4\u00a7", min(r[1] for r in rows), NORMAL)]
    rows += special_rows(("<tool>", USER), ("<mask>", CONTROL)) + [("notused", -1.5, UNUSED)]
    keys = keys_of("t5", rows, more, scores=True)
    if changes:
        keys[PREFIX + "precompiled_charsmap"] = ((U8,), list(double_array(changes)))
    return keys


def rwkv(corpus):
    def escaped(data):
        short = {9: "\\t", 10: "\\n", 13: "\\r", 92: "\\\\"}
        return "".join(short.get(b) or (chr(b) if 32 <= b < 127 else f"\\x{b:02x}") for b in data)
    texts_of = [w.encode() for word in corpus.words[:150] for w in (word, " " + word)]
    texts_of += [t.encode() for t in ("\n\n", "  ", "    ", "\n\n\n\n", "\u4e2d", "\u4e2d\u6587", "\u00e9", "\U0001f642", "123")]
    texts_of += [b"\xe4\xb8", b"\x9f\x99", b"\xff\xfe"]
    pieces = unique([escaped(bytes([b])) for b in range(1, 256)] + [escaped(t) for t in texts_of])
    rows = special_rows(("<s>", CONTROL)) + [(t, 0.0, NORMAL) for t in pieces] + special_rows(("<|user|>", CONTROL))
    return keys_of("rwkv", rows, {"bos_token_id": 0, "eos_token_id": 0, "unknown_token_id": 0})


T5 = [("<pad>", CONTROL), ("</s>", CONTROL), ("<unk>", UNKNOWN)]
XLMR = [("<s>", CONTROL), ("<pad>", CONTROL), ("</s>", CONTROL), ("<unk>", UNKNOWN)]


def vocabularies(corpus):
    """Yields (name, keys) of every vocabulary."""
    for group in patterns.PATTERNS:
        if group not in patterns.RAW:
            yield "bpe-" + group, byte_level(corpus, group)
    yield "bpe-ranks", byte_level(corpus, "kimi-k2", with_merges=False)
    yield "bpe-holes", byte_level(corpus, "mpt", without="aZ7\u0120\u00c3")
    yield "bpe-add-sep", byte_level(corpus, "roberta-bpe")
    yield "spm", with_scores(corpus, corpus.word_merges, {})
    yield "spm-across-words", with_scores(corpus, corpus.line_merges, {"add_space_prefix": False, "add_eos_token": True})
    yield "spm-merged-spaces", with_scores(corpus, corpus.line_merges, {"remove_extra_whitespaces": True})
    yield "spm-merged-spaces-alone", with_scores(corpus, corpus.word_merges, {"remove_extra_whitespaces": True, "add_space_prefix": False})
    yield "spm-no-bytes", with_scores(corpus, corpus.word_merges, {"add_bos_token": False}, bytes_too=False)
    yield "gemma4", raw_bpe(corpus, corpus.word_merges)
    yield "gemma4-across-words", raw_bpe(corpus, corpus.line_merges)
    yield "gemma4-by-pre", raw_bpe(corpus, corpus.word_merges, "gpt2", {"pre": "gemma4"})
    yield "granite-embed-multi-311m", raw_bpe(corpus, corpus.line_merges, "gpt2", {"pre": "granite-embed-multi-311m", "add_bos_token": False})
    yield "sarvam-moe", raw_bpe(corpus, corpus.word_merges + [("\n", "\n")], "gpt2", {"pre": "sarvam-moe"})
    yield "sarvam-moe-bos", raw_bpe(corpus, corpus.line_merges, "gpt2", {"pre": "sarvam-moe", "add_bos_token": True})
    yield "whitespace", words_apart(corpus, "whitespace", {"pre": "whitespace"})
    yield "whitespace-lower", words_apart(corpus, "whitespace", {"normalizer.lowercase": True})
    yield "whitespace-by-pre", words_apart(corpus, "gpt2", {"pre": "whitespace"})
    yield "whitespace-with-bytes", words_apart(corpus, "gpt2", {"pre": "whitespace", "normalizer.lowercase": True}, space_too=True)
    yield "bert", wordpiece(corpus)
    yield "bert-cased", wordpiece(corpus, {"normalizer.lowercase": False}, str)
    yield "bert-accents", wordpiece(corpus, {"normalizer.strip_accents": False})
    yield "bert-cased-no-accents", wordpiece(corpus, {"normalizer.lowercase": False, "normalizer.strip_accents": True}, str)
    yield "t5", unigram(corpus, T5, {"eos_token_id": 1, "unknown_token_id": 2, "padding_token_id": 0, "add_space_prefix": True},
                        CHANGES)
    yield "t5-words", unigram(corpus, XLMR, {"bos_token_id": 0, "eos_token_id": 2, "unknown_token_id": 3, "padding_token_id": 1,
                                             "add_bos_token": True, "add_eos_token": True, "add_space_prefix": True,
                                             "remove_extra_whitespaces": True}, CHANGES)
    yield "t5-suffix", unigram(corpus, T5, {"unknown_token_id": 2, "add_space_prefix": True, "treat_whitespace_as_suffix": True})
    yield "t5-bare", unigram(corpus, T5, {"add_eos_token": False})
    yield "rwkv", rwkv(corpus)


# ---- expected ids -------------------------------------------------------------------------------

MODES = {"ids": (False, False), "ids_add_special": (True, False), "ids_add_parse_special": (True, True)}


def cases_of(vocabulary, all_texts):
    for data in all_texts:
        case = {"text_hex": data.hex()}
        for key, (add, parse) in MODES.items():
            case[key] = vocabulary.tokenize(data, add, parse)
        case["detok_hex"] = vocabulary.detokenize(case["ids"]).hex()
        yield case


def lengths_of(group, data):
    return [len(slow.bytes_of(p)) for p in patterns.pieces(patterns.PATTERNS[group], slow.text_of(data))]


def pre_splits(all_texts):
    types = {}
    for group in patterns.PATTERNS:
        names = patterns.names_of(group)
        types[group] = {"names": names, "flags": {n: patterns.flags_of(n) for n in names},
                        "lengths": [lengths_of(group, data) for data in all_texts]}
    return {"texts_hex": [data.hex() for data in all_texts], "types": types}


def write_json(path, value):
    path.write_text(json.dumps(value, separators=(",", ":")), encoding="ascii")


def make(out):
    out.mkdir(parents=True, exist_ok=True)
    corpus = Corpus()
    all_texts = texts.all_texts([s[:300] for s in corpus.stories[:4]])
    names = []
    for name, keys in vocabularies(corpus):
        gguf_file.write(out / f"{name}.gguf", keys)
        vocabulary = slow.Vocabulary(gguf_file.read(out / f"{name}.gguf"))
        write_json(out / f"{name}.json", {"vocab": f"{name}.gguf", "cases": list(cases_of(vocabulary, all_texts))})
        names.append(name)
    write_json(out / "pre-splits.json", pre_splits(all_texts))
    write_json(out / "index.json", {"names": names, "n_texts": len(all_texts)})  # last: the output of the build
    print(f"{len(names)} vocabularies, {len(all_texts)} texts")


# ---- checks of the slow tokenizers --------------------------------------------------------------

STORED = [(f"vocab/ggml-vocab-{name}.gguf", f"tokenizer-oracle/public/{name}.json")
          for name in ("llama-spm", "phi-3", "gpt-2", "deepseek-llm", "bert-bge")]
STORED += [("stories260K/stories260K-f32.gguf", "tokenizer-oracle/public/tok512-spm.json"),
           ("tiny/tiny-qwen2-f16.gguf", "tokenizer-oracle/public/bpe1k-qwen2.json"),
           ("tiny/tiny-llama3-f16.gguf", "tokenizer-oracle/public/bpe1k-llama3.json")]
STORED += [(f"tokenizer/vocab-{name}.gguf", f"tokenizer/{name}-public.json")
           for name in ("gemma4-bpe", "rwkv", "ugm-t5", "ugm-xlmr")]
# Number of texts with combining marks or Hangul for which the other program differs from BERT's own tokenizer.
APART = {"bert-bge": 10}


def check_vocabulary(data, file, cases):
    vocabulary = slow.Vocabulary(gguf_file.read(data / file))
    apart, n = set(), 0
    for case in json.loads((data / cases).read_text(encoding="utf-8"))["cases"]:
        text = bytes.fromhex(case["text_hex"])
        wrong = [key for key, (add, parse) in MODES.items() if vocabulary.tokenize(text, add, parse) != case[key]]
        wrong += ["detok"] if vocabulary.detokenize(case["ids"]) != bytes.fromhex(case["detok_hex"]) else []
        n += len(MODES) + 1
        if wrong:
            apart.add(text)
    allowed = APART.get(pathlib.Path(cases).stem, 0)
    if len(apart) != allowed:
        print(f"{file}: {len(apart)} texts differ, not {allowed}: {sorted(apart)[:3]}")
    return n, len(apart) != allowed


def check_splits(data):
    stored = json.loads((data / "tokenizer/pre-splits-public.json").read_text(encoding="utf-8"))
    n = failed = 0
    for of in stored["types"].values():
        for name in of["names"]:
            for text, lengths in zip(stored["texts_hex"], of["lengths"]):
                n += 1
                if lengths_of(patterns.group_of(name), bytes.fromhex(text)) != lengths:
                    print(f"{name}: {bytes.fromhex(text)}")
                    failed += 1
    return n, failed


def by_hand(model, rows, more, scores=False, merges=None):
    keys = keys_of(model, rows, more, scores, merges)
    values = {key: [slow.bytes_of(v) for v in value] if kind == (STRING,) else slow.bytes_of(value) if kind == STRING else value
              for key, (kind, value) in keys.items()}
    return slow.Vocabulary(values)


def check_by_hand():
    """Checks cases small enough for manual calculation."""
    cases = []
    bpe = by_hand("gpt2", [(t, 0, NORMAL) for t in ("a", "b", "ab", "\u0120", "\u0120ab", "aba")], {"pre": "gpt-2"},
                  merges=[("a", "b"), ("\u0120", "ab"), ("ab", "a")])
    cases += [(bpe.tokenize(b"abab"), [2, 2]), (bpe.tokenize(b"aba ab"), [5, 4]), (bpe.tokenize(b"b a"), [1, 3, 0]),
              (bpe.detokenize([4, 5]), b" ababa")]
    spm = by_hand("llama", [("<unk>", 0, UNKNOWN), ("<s>", 0, CONTROL), ("</s>", 0, CONTROL), ("<0xC3>", 0, BYTE), (SPACE, -9, NORMAL),
                            ("a", -9, NORMAL), ("b", -9, NORMAL), (SPACE + "a", -2, NORMAL), ("ab", -1, NORMAL)], {}, scores=True)
    cases += [(spm.tokenize(b"ab"), [4, 8]), (spm.tokenize(b"a b", True), [1, 7, 4, 6]), (spm.tokenize(b"a\xc3", True), [1, 7, 3]),
              (spm.tokenize(b"<s>a", False, True), [1, 7]), (spm.detokenize([1, 7, 4, 6]), b"a b")]
    t5 = by_hand("t5", [("<pad>", 0, CONTROL), ("</s>", 0, CONTROL), ("<unk>", 0, UNKNOWN), ("a", -1, NORMAL), ("b", -2, NORMAL),
                        ("ab", -4, NORMAL), ("aab", -3, NORMAL)], {}, scores=True)
    cases += [(t5.tokenize(b"ab"), [3, 4]), (t5.tokenize(b"aab"), [6]), (t5.tokenize(b"axyb", True), [3, 2, 4, 1])]
    bert = by_hand("bert", [("[UNK]", 0, CONTROL), (SPACE + "play", 0, NORMAL), ("ing", 0, NORMAL), (SPACE + ".", 0, NORMAL)],
                   {"unknown_token_id": 0})
    cases += [(bert.tokenize("Pl\u00e1ying. x".encode()), [1, 2, 3, 0]), (bert.detokenize([1, 2, 3]), b" playing.")]
    rwkv = by_hand("rwkv", [("<s>", 0, CONTROL), ("a", 0, NORMAL), ("ab", 0, NORMAL), ("\\n", 0, NORMAL), ("\\xff", 0, NORMAL)], {})
    cases += [(rwkv.tokenize(b"aba\n\xff"), [2, 1, 3, 4]), (rwkv.detokenize([2, 3, 4]), b"ab\n\xff")]
    pieces = {"gpt-2": ["It", "'s", " 12", " o", "'", "clock", " ", " x"], "llama-bpe": ["It", "'s", " ", "12", " o", "'clock", "   \n"],
              "qwen2": ["It", "'s", " ", "1", "2", " o", "'clock", "   \n"]}
    cases += [(patterns.pieces(patterns.PATTERNS[group], "".join(parts)), parts) for group, parts in pieces.items()]
    wrong = [(got, want) for got, want in cases if got != want]
    for got, want in wrong:
        print(f"{got}, not {want}")
    return len(cases), len(wrong)


def check():
    n, failed = check_by_hand()
    data = pathlib.Path(os.environ.get("GGUFX_TEST_DATA", "")) / "data"
    stored = (data / "tokenizer").is_dir()
    if stored:
        more, wrong = check_splits(data)
        n, failed = n + more, failed + wrong
        for file, cases in STORED:
            more, wrong = check_vocabulary(data, file, cases)
            n, failed = n + more, failed + wrong
    print(f"{n} checks, {failed} failed")
    if not stored:
        print(f"stored ids: skipped, no {data} (GGUFX_TEST_DATA)")
    sys.exit(failed > 0)


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        check()
    elif len(sys.argv) == 2:
        make(pathlib.Path(sys.argv[1]))
    else:
        sys.exit(__doc__)
