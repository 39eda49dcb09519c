"""Pre-tokenizers as published regular expressions, matched by Python's own engine.

Python's `re` has no \\p{L}: classes become ranges of code points by `unicodedata`. A text is a string in the
"surrogateescape" form, so that each invalid UTF-8 byte stays one character; it matches like U+FFFD.

SPDX-License-Identifier: MIT
"""
import functools
import re
import sys
import unicodedata

LAST = sys.maxunicode
WHITE_SPACE = [(9, 13), (32, 32), (0x85, 0x85), (0xa0, 0xa0), (0x1680, 0x1680), (0x2000, 0x200a), (0x2028, 0x2029),
               (0x202f, 0x202f), (0x205f, 0x205f), (0x3000, 0x3000)]
# Letters of Han that HAN_NAMES does not match: iteration marks, zero, Hangzhou numerals.
HAN_MARKS = [(0x3005, 0x3005), (0x3007, 0x3007), (0x3021, 0x3029), (0x3038, 0x303b)]
HAN_NAMES = ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "CJK RADICAL", "KANGXI RADICAL")
# Word characters of \b that are neither letters, marks, decimal digits nor connectors.
WORD_SIGNS = [(0x200c, 0x200d), (0x24b6, 0x24e9), (0x1f130, 0x1f149), (0x1f150, 0x1f169), (0x1f170, 0x1f189)]


def union(ranges):
    out = []
    for first, last in sorted(ranges):
        if out and first <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], last))
        else:
            out.append((first, last))
    return out


def inverse(ranges):
    out, at = [], 0
    for first, last in union(ranges):
        if first > at:
            out.append((at, first - 1))
        at = last + 1
    return out + ([(at, LAST)] if at <= LAST else [])


def both(a, b):
    return inverse(inverse(a) + inverse(b))


@functools.lru_cache(None)
def categories():
    """Returns {category: ranges} of all code points."""
    out, start, category = {}, 0, unicodedata.category("\0")
    for code in range(1, LAST + 2):
        now = unicodedata.category(chr(code)) if code <= LAST else None
        if now != category:
            out.setdefault(category, []).append((start, code - 1))
            start, category = code, now
    return out


@functools.lru_cache(None)
def han():
    named = [(c, c) for c in range(0x2e80, 0x30000) if unicodedata.name(chr(c), "").startswith(HAN_NAMES)]
    return union(named + HAN_MARKS)


@functools.lru_cache(None)
def class_of(name):
    """Returns ranges of \\p{name}, or of the letter of an escape."""
    if name == "Han":
        return han()
    if name == "s":
        return WHITE_SPACE
    if name == "d":
        return class_of("Nd")
    if name == "w":
        return union(class_of("L") + class_of("M") + class_of("Nd") + class_of("Nl") + class_of("Pc") + WORD_SIGNS)
    return union(r for category, ranges in categories().items() if category.startswith(name) for r in ranges)


ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


class Translator:
    """Translates a pattern to the syntax of `re`, with every class spelled out."""

    def __init__(self, pattern):
        self.pattern, self.at = pattern, 0

    def take(self, n=1):
        self.at += n
        return self.pattern[self.at - n:self.at]

    def escape(self):
        """Parses after a backslash: ranges of a class, or one character."""
        letter = self.take()
        if letter == "p":
            name = self.pattern[self.at + 1:self.pattern.index("}", self.at)]
            self.take(len(name) + 2)
            return class_of(name)
        if letter in "sd":
            return class_of(letter)
        return ESCAPES.get(letter, letter)

    def char_class(self):
        negated = self.pattern[self.at] == "^"
        self.at += negated
        ranges = []
        while True:
            c = self.take()
            if c == "]":
                break
            if self.pattern.startswith("&&[", self.at - 1):
                self.take(2)
                ranges = both(ranges, self.char_class())
                continue
            item = self.escape() if c == "\\" else c
            if isinstance(item, list):
                ranges = ranges + item
                continue
            last = item
            if self.pattern[self.at] == "-" and self.pattern[self.at + 1] != "]":
                self.take()
                last = self.take()
                last = self.escape() if last == "\\" else last
            ranges = ranges + [(ord(item), ord(last))]
        return inverse(ranges) if negated else union(ranges)

    def translate(self):
        out = []
        while self.at < len(self.pattern):
            c = self.take()
            if c == "[":
                out.append(spelled(self.char_class()))
            elif c == "$":
                out.append(r"\Z")
            elif c == "\\" and self.pattern[self.at] in "Sb":
                if self.take() == "S":
                    out.append(spelled(inverse(WHITE_SPACE)))
                else:
                    word = spelled(class_of("w"))
                    out.append(f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))")
            elif c == "\\":
                item = self.escape()
                out.append(spelled(item) if isinstance(item, list) else re.escape(item))
            else:
                out.append(c)
        return "".join(out)


def spelled(ranges):
    return "[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges) + "]"


@functools.lru_cache(None)
def compiled(pattern):
    return re.compile(Translator(pattern).translate())


def pieces(patterns, text):
    """Applies the patterns one after another: their matches and the gaps between them are the pieces."""
    parts = [text] if text else []
    for pattern in patterns:
        parts = [piece for part in parts for piece in split(compiled(pattern), part)]
    return parts


def split(matcher, text):
    shown = re.sub("[\udc80-\udcff]", "\ufffd", text)
    at = 0
    for match in matcher.finditer(shown):
        if match.start() > at:
            yield text[at:match.start()]
        if match.end() > match.start():
            yield text[match.start():match.end()]
        at = match.end()
    if at < len(text):
        yield text[at:]


# ---- the patterns -------------------------------------------------------------------------------

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
PUNCTUATION = r" ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
WORDS = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|"
UPPER, LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
LINES = r"[^\n]+|[\n]+"
CJK = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
ASCII_WORD = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|"""


def cased(after, less=""):
    """Returns words of upper and of lower case, as in gpt-4o."""
    upper, lower = f"[{UPPER}{less}]", f"[{LOWER}{less}]"
    lead = r"[^\r\n\p{L}\p{N}]?"
    return f"{lead}{upper}*{lower}+{after}|{lead}{upper}+{lower}*{after}|"


def marked_words(less=""):
    """Returns letters and marks after at most one other character; punctuation and symbols."""
    symbols = r"\p{P}\p{S}" + less
    return ASCII_WORD + rf"[^\r\n\p{{L}}{symbols}]?[\p{{L}}\p{{M}}]+| ?[{symbols}]+[\r\n]*|" + SPACES


FOUR_O = cased(CONTRACTIONS + "?") + r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + SPACES
# Letters that deepseek-llm lists, as in its files.
LISTED = ("A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373"
          "\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f"
          "\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77"
          "\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d"
          "\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4"
          "\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139"
          "\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d"
          "\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a"
          "\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2"
          "\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943")
# The runs of both older deepseek patterns; white space in the ranges stays white space.
RUNS = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff&&[^\\s]]+"
AFMOE_RUNS = ("[\u4e00-\u9fff\u3400-\u4dbf\u8c48-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f\u2f00-\u2fdf\u0e40-\u0e7f"
              "\u0e80-\u0eff\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff\uac00-\ud7af\u1100-\u11ff]+")
YOUTU_RUNS = ("[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f"
              "\ufe30-\ufe4f]+|[\u3105-\u312f]+|" + CJK)
STOPS = " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"
LONG_SPACES = "|".join(rf"\s{{{n}}}(?!\S)" for n in ("512", "256", "128", "64", "32", "16", "8", "4", "1,2"))

PATTERNS = {
    "gpt-2": [GPT2],
    "llama-bpe": [WORDS + r"\p{N}{1,3}|" + PUNCTUATION],
    "qwen2": [WORDS + r"\p{N}|" + PUNCTUATION],
    "ufakzeka": [WORDS[len(CONTRACTIONS) + 1:] + r"\p{N}|" + PUNCTUATION],
    "laguna": [LINES, WORDS + r"\p{N}|" + PUNCTUATION],
    "minicpm5": [r"\p{N}{1,3}", WORDS + r"\p{N}+|" + PUNCTUATION],
    "qwen35": [CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + SPACES],
    "bailingmoe": [r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|"
                   r"\s+(?!\S)|\s+"],
    "seed-coder": [WORDS + r"\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|" + SPACES],
    "gpt-4o": [FOUR_O],
    "tekken": [cased("") + r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + SPACES],
    "kimi-k2": [r"[\p{Han}]+|" + cased(CONTRACTIONS + "?", r"&&[^\p{Han}]") + r"\p{N}{1,3}|" + PUNCTUATION],
    "exaone-moe": [CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|"
                   r"\s*[\r\n]|\s+(?!\S)|\s+"],
    "jais-2": [WORDS + r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|" + LONG_SPACES + r"|\s{1}"],
    "starcoder": [r"\p{N}", GPT2],
    "default": [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
    "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"],
    "deepseek-v3": [r"\p{N}{1,3}", CJK, marked_words()],
    "spark2_5": [r"\p{N}{1,3}", CJK, ASCII_WORD + r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+",
                 r"\p{N}"],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", RUNS, r"\p{N}"],
    "deepseek-llm": [r"[\r\n]", rf"\s?[{LISTED}]+", "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3001-\u3002]+",
                     r"\s+$", RUNS, r"\p{N}+"],
    "tiny_aya": [r"\d{1,3}(?=(?:\d{3})*\b)", FOUR_O],
    "youtu": [YOUTU_RUNS, cased(CONTRACTIONS + "?") + r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + SPACES],
    # Digits from the right in threes; "~" does not count as a symbol.
    "afmoe": [r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))", AFMOE_RUNS, marked_words("&&[^~]")],
    "superbpe": [r"\p{N}+", "(?=([0-9]{3})+(?![0-9]))"],
    "bloom": [STOPS],
    "viking": [STOPS, r"\p{N}"],
    "chameleon": ["<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", "([\\t\\n]|    |  )", r"\p{N}",
                  r"[\p{P}!-/:-@\[-`{-~]", GPT2.rsplit("|", 1)[0]],
    "gemma4": [LINES],
    "sarvam-moe": [LINES],
    "whitespace": [r"\S+"],
}

# Other names of the same patterns.
NAMES = {
    "gpt-2": "a.x-4.0 exaone4 gigachat gpt-2 granite-docling jais jina-de jina-es jina-v1-en jina-v2-code jina-v2-de "
             "jina-v2-es mellum modern-bert mpt olmo phi-2 roberta-bpe trillion",
    "llama-bpe": "chatglm-bpe dbrx falcon-h1 falcon3 glm4 jina-v5-nano lfm2 llama-bpe llama-v3 llama3 midm-2.0 pixtral "
                 "smaug-bpe",
    "qwen2": "deepseek-r1-qwen f2llmv2 grok-2 hunyuan kormo megrez qwen2 solar-open stablelm2",
    "bailingmoe": "bailingmoe bailingmoe2 llada-moe",
    "gpt-4o": "gpt-4o granite-embed-multi-97m kanana2 llama4 minimax-m2 talkie",
    "starcoder": "codeshell command-r exaone mellum2 minerva-7b refact smollm starcoder",
    "deepseek-v3": "deepseek-v3 hunyuan-dense hy_v4 joyai-llm",
    "tiny_aya": "cohere2moe tiny_aya",
    "gemma4": "gemma4 granite-embed-multi-311m",
    "bloom": "bloom gpt3-finnish poro-chat",
}

# Groups of character-level BPE; the others are byte-level BPE.
RAW = "gemma4 sarvam-moe whitespace".split()

# Flags by name. Detokenization cleans spaces, except for those in KEEP_SPACES.
IGNORE_MERGES = ("falcon-h1 falcon3 granite-embed-multi-97m jina-v5-nano lfm2 llama-bpe llama-v3 llama3 midm-2.0 minicpm5 pixtral "
                 "tekken youtu").split()
ADD_BOS = "chameleon falcon-h1 falcon3 jina-v5-nano lfm2 llama-bpe llama-v3 llama3 midm-2.0 pixtral tekken".split()
ADD_SEP = "jina-v1-en jina-v2-code roberta-bpe".split()
KEEP_SPACES = ("afmoe bailingmoe bailingmoe2 chameleon cohere2moe command-r deepseek-coder deepseek-llm deepseek-r1-qwen deepseek-v3 "
               "f2llmv2 gpt-4o granite-docling granite-embed-multi-97m grok-2 hunyuan hunyuan-dense hy_v4 joyai-llm kanana2 kimi-k2 "
               "kormo laguna llada-moe llama4 minimax-m2 poro-chat qwen2 qwen35 sarvam-moe seed-coder smollm solar-open spark2_5 "
               "superbpe talkie tekken tiny_aya trillion ufakzeka viking youtu").split()


def names_of(group):
    return NAMES.get(group, group).split()


def group_of(name):
    for group in PATTERNS:
        if name in names_of(group):
            return group
    raise KeyError(name)


def flags_of(name):
    return {key: True for key, names in (("ignore_merges", IGNORE_MERGES), ("add_bos", ADD_BOS), ("add_sep", ADD_SEP))
            if name in names} | ({"clean_spaces": False} if name in KEEP_SPACES else {})
