"""Slow tokenizers that are easy to verify: the reference for every vocabulary of the tests.

They follow the published algorithms and share no code with the library: naive merges, longest matches by slicing,
dynamic programming over characters. Texts are bytes.

SPDX-License-Identifier: MIT
"""
import re
import struct
import unicodedata

import patterns

NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)
SPACE = "\u2581"
MARK = SPACE.encode()
PREFIX = "tokenizer.ggml."
UNKNOWN_PENALTY = 10  # for Unigram, below the lowest score

# Tokens with these texts end a generation: they are control tokens, whatever their type in the file.
ENDS = [text.encode() for text in (
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "<EOT>", "_<EOT>", "[EOT]",
    "<\uff5cend\u2581of\u2581sentence\uff5c>", "<end_of_utterance>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>",
    "</s>", "<|eom_id|>", "[EOS]", "<eos>", "<turn|>", "<|tool_response>")]

# Default ids of a kind, for missing keys.
DEFAULTS = {
    "llama": {"bos": 1, "eos": 2},
    "bert": {"bos": 101, "unknown": 100, "seperator": 102},
    "t5": {"eos": 1, "unknown": 2},
}


def text_of(data):
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text):
    return text.encode("utf-8", "surrogateescape")


def byte_characters():
    """Returns {byte: character} of byte-level BPE: printable bytes stay unchanged."""
    out, others = {}, 0x100
    for byte in range(256):
        if 33 <= byte <= 126 or 161 <= byte <= 172 or 174 <= byte:
            out[byte] = chr(byte)
        else:
            out[byte], others = chr(others), others + 1
    return out


BYTES = byte_characters()
CHARACTERS = {character: byte for byte, character in BYTES.items()}


def merged(parts, rank_of):
    """Merges the pair of the lowest rank, the leftmost of equals, until no pair has a rank."""
    parts = list(parts)
    while True:
        ranks = [(rank_of(a, b), i) for i, (a, b) in enumerate(zip(parts, parts[1:]))]
        ranks = [r for r in ranks if r[0] is not None]
        if not ranks:
            return parts
        at = min(ranks)[1]
        parts[at:at + 2] = [parts[at] + parts[at + 1]]


def by_lead_byte(data):
    """Splits characters by the lengths in their lead bytes; a U+2581 within one starts its own."""
    out, at = [], 0
    while at < len(data):
        lead = data[at]
        end = min(at + (1 if lead < 0xc0 else 2 if lead < 0xe0 else 3 if lead < 0xf0 else 4), len(data))
        for cut in range(at + 1, end):
            if data.startswith(MARK, cut):
                end = cut
                break
        out.append(data[at:end])
        at = end
    return out


class Vocabulary:
    """A vocabulary from the keys of its file."""

    def __init__(self, keys):
        self.keys = {key[len(PREFIX):]: value for key, value in keys.items() if key.startswith(PREFIX)}
        self.kind = self.keys["model"].decode()
        self.tokens = self.keys["tokens"]
        types = self.keys.get("token_type") or [NORMAL] * len(self.tokens)
        self.types = [CONTROL if token in ENDS else kind for token, kind in zip(self.tokens, types)]
        self.scores = self.keys.get("scores")
        self.ids = {}
        for i, token in enumerate(self.tokens):
            self.ids.setdefault(token, i)
        self.byte_ids = {}
        for i, token in enumerate(self.tokens):
            if self.types[i] == BYTE:
                self.byte_ids.setdefault(int(token[3:5], 16), i)
        self.pre = self.keys.get("pre", b"whitespace" if self.kind == "whitespace" else b"default").decode()
        group = "gemma4" if self.kind == "gemma4" else patterns.group_of(self.pre) if self.kind in ("gpt2", "whitespace") else None
        self.raw = group if group in patterns.RAW else None  # character-level BPE
        self.lower = self.flag("normalizer.lowercase", self.kind == "bert")
        self.strip = self.flag("normalizer.strip_accents", self.lower)
        self.cache = {}

    def special(self, name):
        fallback = DEFAULTS.get(self.kind, {}).get(name)
        if self.kind == "llama" and name == "unknown":
            fallback = 0 if self.types[0] == UNKNOWN else None
        if fallback is not None and fallback >= len(self.tokens):
            fallback = None
        return self.keys.get(name + "_token_id", fallback)

    def flag(self, name, fallback=False):
        return bool(self.keys.get(name, fallback))

    # ---- tokenization

    def tokenize(self, data, add_special=False, parse_special=False):
        ids = []
        for part in self.whole(data, parse_special):
            ids += [part] if isinstance(part, int) else self.plain(part)
        return self.surrounded(ids) if add_special else ids

    def surrounded(self, ids):
        spm, bert, t5 = self.kind == "llama", self.kind == "bert", self.kind == "t5"
        if self.kind == "rwkv":
            return ids
        by_pre = self.kind == "gpt2" and self.pre in patterns.ADD_BOS
        bos = bert or self.raw == "gemma4" or self.flag("add_bos_token", spm or by_pre)
        eos = not bert and self.flag("add_eos_token", t5)
        before = [self.special("bos")] if bos else []
        after = [self.special("eos")] if eos else []
        after += [self.special("seperator")] if bert else []
        return [i for i in before + ids + after if i is not None]

    def whole(self, data, parse_special):
        """Splits into tokens that are matched whole, as ids, and the bytes between them."""
        kinds = (USER, CONTROL, UNKNOWN) if parse_special else (USER,)
        wanted = [i for i, kind in enumerate(self.types) if kind in kinds and self.tokens[i]]
        parts = [data]
        for i in sorted(wanted, key=lambda i: (-len(self.tokens[i]), i)):
            cut = []
            for part in parts:
                if isinstance(part, int):
                    cut.append(part)
                    continue
                between = part.split(self.tokens[i])
                for k, piece in enumerate(between):
                    cut += ([i] if k else []) + [piece]
            parts = cut
        return [part for part in parts if part != b""]

    def plain(self, data):
        if self.raw == "whitespace":
            return self.plain_whitespace(data)
        return self.plain_lines(data) if self.raw else getattr(self, "plain_" + self.kind)(data)

    def plain_llama(self, data):
        if self.flag("remove_extra_whitespaces"):
            data = b" ".join(word for word in data.split(b" ") if word)
            if not data:
                return []
        data = data.replace(b" ", MARK)
        if self.flag("add_space_prefix", True):
            data = MARK + data

        def rank_of(a, b):
            i = self.ids.get(a + b)
            return None if i is None else -self.scores[i]
        return [i for part in merged(by_lead_byte(data), rank_of) for i in self.id_or_bytes(part)]

    def id_or_bytes(self, part):
        if part in self.ids:
            return [self.ids[part]]
        return [self.byte_ids.get(byte, self.ids.get(bytes([byte]), self.special("unknown"))) for byte in part]

    def rank_by_merges(self):
        if "ranks" not in self.cache:
            ranks = {}
            for rank, merge in enumerate(self.keys["merges"]):
                space = merge.index(b" ", 1)
                ranks.setdefault((merge[:space], merge[space + 1:]), rank)
            self.cache["ranks"] = ranks
        ranks = self.cache["ranks"]
        return lambda a, b: ranks.get((a, b))

    def plain_gpt2(self, data):
        pieces = patterns.pieces(patterns.PATTERNS[patterns.group_of(self.pre)], text_of(data))
        return [i for piece in pieces for i in self.byte_level(bytes_of(piece))]

    def byte_level(self, piece):
        if piece in self.cache:
            return self.cache[piece]
        characters = [BYTES[byte].encode() for byte in piece]
        joined = b"".join(characters)
        if self.pre in patterns.IGNORE_MERGES and joined in self.ids:
            parts = [joined]
        elif "merges" in self.keys:
            parts = merged(characters, self.rank_by_merges())
        else:  # a list of ranks: the lowest id first
            parts = merged(characters, lambda a, b: self.ids.get(a + b))
        ids = []
        for part in parts:
            if part in self.ids:
                ids.append(self.ids[part])
            else:
                ids += [self.ids.get(c.encode(), self.special("unknown")) for c in part.decode()]
        self.cache[piece] = ids
        return ids

    def plain_lines(self, data):
        parts = re.findall(rb"\n+|[^\n]+", data.replace(b" ", MARK))
        return [i for part in parts for i in self.raw_word(part, self.raw == "gemma4" and part[0] == 10)]

    def plain_whitespace(self, data):
        ids = []
        for piece in patterns.pieces(patterns.PATTERNS["whitespace"], text_of(data)):
            if not is_space(piece[0]):
                ids += self.raw_word(bytes_of("".join(map(lower_case, piece)) if self.lower else piece), False)
            elif self.kind == "gpt2":  # tokens, then their bytes; bytes without a token are left out
                for part in merged(by_lead_byte(bytes_of(piece)), self.rank_by_merges()):
                    known = [self.ids[part]] if part in self.ids else [self.byte_ids.get(byte) for byte in part]
                    ids += [i for i in known if i is not None]
        return ids

    def raw_word(self, data, may_be_whole):
        if may_be_whole and data in self.ids:
            return [self.ids[data]]
        return [i for part in merged(by_lead_byte(data), self.rank_by_merges()) for i in self.id_or_bytes(part)]

    def plain_bert(self, data):
        ids = []
        for word in bert_words(text_of(data), self.lower, self.strip):
            ids += self.longest_pieces(MARK + word.encode())
        return ids

    def longest_pieces(self, word):
        ids, at = [], 0
        while at < len(word):
            end = next((e for e in range(len(word), at, -1) if word[at:e] in self.ids), None)
            if end is None:
                return [self.special("unknown")]
            ids.append(self.ids[word[at:end]])
            at = end
        return ids

    def plain_t5(self, data):
        text = self.normalized(text_of(data))
        lowest = min((s for s, kind in zip(self.scores, self.types) if kind == NORMAL), default=0)
        scores = {token: 0.0 if kind == USER else s
                  for token, s, kind in reversed(list(zip(self.tokens, self.scores, self.types)))
                  if kind in (NORMAL, USER, UNUSED) and token}
        longest = max(map(len, scores), default=1)
        unknown = self.special("unknown")
        best = [(0.0, None, None)]  # score, predecessor, id
        for end in range(1, len(text) + 1):
            ways = []
            for start in range(max(0, end - longest), end):
                piece = text[start:end].encode()
                if piece in scores:
                    ways.append((best[start][0] + scores[piece], start, self.ids[piece]))
                elif end - start == 1:
                    ways.append((best[start][0] + lowest - UNKNOWN_PENALTY, start, unknown))
            best.append(max(ways, key=lambda way: way[0]))  # the first of equals
        ids, at = [], len(text)
        while at > 0:
            _, start, i = best[at]
            if not (i == unknown and ids and ids[-1] == unknown):
                ids.append(i)
            at = start
        return ids[::-1]

    def normalized(self, text):
        blob = bytes(self.keys.get("precompiled_charsmap", b""))
        changed, data = [], bytes_of(text)
        while data:
            length, becomes = longest_change(blob, data) if blob else (0, b"")
            if length:
                changed.append(becomes.decode())
            else:
                first = text_of(data)[0]
                length = len(bytes_of(first))
                changed.append("\ufffd" if "\udc80" <= first <= "\udcff" else first)
            data = data[length:]
        text = "".join(changed)
        add, behind = self.flag("add_space_prefix"), self.flag("treat_whitespace_as_suffix")
        if self.flag("remove_extra_whitespaces"):
            text = "".join(SPACE + word for word in text.split(" ") if word)
        else:
            # The added space precedes the first character that is no space.
            n_spaces = len(text) - len(text.lstrip(" "))
            text = " " * n_spaces + (SPACE if add and not behind and text[n_spaces:] else "") + text[n_spaces:]
            text = text.replace(" ", SPACE)
        return text + (SPACE if add and behind else "")

    def plain_rwkv(self, data):
        if "raw" not in self.cache:
            raw = {}
            for i, token in enumerate(self.tokens):
                raw.setdefault(unescaped(token), i)
            self.cache["raw"] = raw
        raw = self.cache["raw"]
        longest = max(map(len, raw))
        ids = []
        while data:
            n = next((n for n in range(min(longest, len(data)), 0, -1) if data[:n] in raw), None)
            ids.append(self.special("unknown") if n is None else raw[data[:n]])
            data = data[n or 1:]
        return ids

    # ---- detokenization

    def detokenize(self, ids):
        """Returns the text without control tokens, with spaces cleaned if the vocabulary requires it."""
        out, started = b"", False
        drops = self.kind in ("llama", "t5") and self.flag("add_space_prefix", self.kind == "llama")
        for i in ids:
            if self.types[i] in (CONTROL, UNKNOWN):
                continue
            piece = self.piece(i)
            if drops and not started and self.types[i] not in (BYTE, USER) and self.tokens[i].startswith(MARK):
                piece = piece[1:]
            started = True
            out += piece
        cleans = self.kind in ("bert", "gemma4") or self.kind in ("gpt2", "whitespace") and self.pre not in patterns.KEEP_SPACES
        return cleaned(out) if cleans else out

    def piece(self, i):
        token = self.tokens[i]
        if self.types[i] == BYTE:
            return bytes([int(token[3:5], 16)])
        if self.kind == "rwkv":
            return unescaped(token)
        if self.types[i] == USER:
            return token
        if self.raw == "whitespace":
            return token
        if self.kind == "gpt2" and not self.raw:
            return b"".join(bytes([CHARACTERS[c]]) if c in CHARACTERS else bytes_of(c) for c in text_of(token))
        return token.replace(MARK, b" ")


def cleaned(data):
    for mark in b"?!.,":
        data = data.replace(bytes([32, mark]), bytes([mark]))
    data = data.replace(b" ' ", b"'")
    for ending in (b"'s", b"'m", b"'re", b"'ve"):
        data = data.replace(b" " + ending, ending)
    return data


IDEOGRAPHS = [(0x3400, 0x4dbf), (0x4e00, 0x9fff), (0xf900, 0xfaff), (0x20000, 0x2a6df), (0x2a700, 0x2b73f),
              (0x2b740, 0x2b81f), (0x2b920, 0x2ceaf), (0x2f800, 0x2fa1f)]


def is_space(c):
    return any(first <= ord(c) <= last for first, last in patterns.WHITE_SPACE)


def lower_case(c):
    """Returns the simple mapping: one character to one."""
    return "i" if c == "\u0130" else c.lower()


def bert_words(text, lower, strip):
    words, word = [], ""
    for c in unicodedata.normalize("NFD", text) if strip else text:
        category, code = unicodedata.category(c), ord(c)
        change = lower_case if lower else str
        if is_space(c):
            words, word = words + [word], ""
        elif code in (0, 0xfffd) or category in ("Cc", "Cf", "Co", "Cs") or strip and category == "Mn":
            continue
        elif (category[0] == "P" or code < 0x7f and category[0] == "S"
              or any(first <= code <= last for first, last in IDEOGRAPHS)):
            words, word = words + [word, change(c)], ""
        else:
            word += change(c)
    return [w for w in words + [word] if w]


def longest_change(blob, data):
    """Returns the longest key of a character map that is a prefix of the data, and its replacement.

    The map is a double array of u32 units: the child of a node by byte c is at base ^ c and has label c."""
    size = struct.unpack_from("<I", blob)[0]
    units = struct.unpack_from(f"<{size // 4}I", blob, 4)
    texts = blob[4 + size:]

    def base(at):
        return at ^ ((units[at] >> 10) << (8 if units[at] & 0x200 else 0))

    at, found = 0, (0, b"")
    for n, c in enumerate(data, 1):
        at = base(at) ^ c
        if at >= len(units) or units[at] & 0x800000ff != c:
            break
        if units[at] & 0x100:
            start = units[base(at)] & 0x7fffffff
            found = (n, texts[start:texts.index(b"\0", start)])
    return found


def unescaped(token):
    """Returns the bytes of an RWKV token: a Python byte literal without quotes."""
    out, at = bytearray(), 0
    while at < len(token):
        c = token[at:at + 1]
        if c != b"\\":
            out += c
            at += 1
        elif token[at + 1:at + 2] == b"x":
            out.append(int(token[at + 2:at + 4], 16))
            at += 4
        else:
            out += {b"n": b"\n", b"t": b"\t", b"r": b"\r"}.get(token[at + 1:at + 2], token[at + 1:at + 2])
            at += 2
    return bytes(out)
