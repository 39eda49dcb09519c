"""Texts for comparisons of tokenizers, and sentences in many scripts for training. CC0-1.0.

Random code points are those with today's properties in Unicode 3.2 (and emoji). The tables of the library and of
Python may then have different versions.

SPDX-License-Identifier: MIT
"""
import unicodedata

SENTENCES = """\
The baker's children aren't asleep; they've hidden 12 of the 144 rolls!
She said: "We'll meet at 10:45, won't we?" (He'd already left.)
Der Fuchs läuft über die Straße, während es regnet. Größe: 3,5 Meter.
L'été dernier, nous avons mangé des crêpes à la plage; c'était délicieux.
El niño pequeño corrió rápidamente hacia la montaña. ¿Dónde está su perro?
Кошка спит на тёплой печке, а собака ждёт у двери. МОСКВА, 1147 год.
Η γάτα κοιμάται στον ήλιο και ο σκύλος περιμένει στην πόρτα.
小猫在温暖的窗台上睡觉，小狗在门口等着。今天是三月八日。
ねこはまどでねています。イヌはドアの前で待っています。
고양이는 창가에서 자고 강아지는 문 앞에서 기다립니다.
القطة نائمة عند النافذة والكلب ينتظر عند الباب ١٢٣.
החתול ישן ליד החלון והכלב מחכה ליד הדלת.
बिल्ली खिड़की पर सो रही है और कुत्ता दरवाज़े पर है १२३।
แมวนอนอยู่ที่หน้าต่างและสุนัขรออยู่ที่ประตู
for (int i = 0; i < n; ++i) { total += price[i] * 1.19; }
def area(width, height):\n    return width * height  # square metres
""".replace("\\n", "\n").splitlines()

SINGLE = [
    "", " ", "  ", "   ", "     ", "\t", "\n", "\n\n", "\n\n\n", " \n", "\n ", "\r\n", "\r", " \t \n ", "a\n\nb", "a \n b",
    "x\r\n\r\ny", "word", " word", "word ", "  two  words  ", "one\ttab", "end   ", "   begin",
    "I'm, you're, he's, we've, they'll, she'd, can't", "I'M YOU'RE HE'S WE'VE THEY'LL SHE'D CAN'T", "'s 't 're 've 'm 'll 'd",
    "'", "''", "'''", "' s", " 's ' m", "rock 'n' roll's", "it\u2019s", "o'clock'", "'\u017f",
    "1", "12", "123", "1234", "12345", "123456", "1234567", "1,234.50", "a1b22c333d4444", "007 42 1000000", "2031-05-17T08:09:10",
    "\u0661\u0662\u0663\u0664 \u0967\u0968 \uff11\uff12", "\u00bd \u00b2\u00b3 \u2167 \u2460", "12\u00b2 3\u0664x 5_6",
    "CamelCase mixedCaseWord HTTPRequest xY XYz aB", "ALLCAPS lower Title", "\u00c9T\u00c9 \u00e9t\u00e9 \u00c9t\u00e9",
    "\u01c5 \u01c8abc \u02b0\u02bc", "\u00df\u1e9e \u0130\u0131", "\ufb01n \uff21\uff22\uff43",
    "!", "?!...", "a!b?c.", "Yes , no ! maybe ? so .", "(a)[b]{c}<d>", "$5 +3 = <8> ^2 |x| `y` ~z", "#tag @me 50% a&b c*d",
    "snake_case __init__ _x", "a/b//c \\d", "https://example.org/a?b=c&d=1#e", "/path/\n/other/\n", "x;\n\n\n  y",
    "\u00ab quote \u00bb \u2014 \u2026 \u201ea\u201c", "\u20ac5 \u00a3 \u00a9 \u2211 \u2192", "\u3001\u3002\uff01\uff1f\uff0c\uff1a",
    "e\u0301 a\u0300 o\u0308", "A\u030aB\u0327", "e\u0327\u0301", "\u0301 start", "\u00e9\u00c5\u1e69", "\u0915\u094d\u0937 \u0e01\u0e33",
    "\u4e2d\u6587", "\u4e2d\u6587abc\u4e2d123", "\u6f22\u5b57\u304b\u306a\u30ab\u30ca", "\u3005\u3007\u3021", "\ud55c\uad6d\uc5b4 \u3131\u314f",
    "\u3105\u3106 \u3001", "\U00020000\u9fa5\u3400", "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627", "\u202eabc\u202c",
    "\U0001f642", "\U0001f468\u200d\U0001f469\u200d\U0001f467 ok", "\u2764\ufe0f \U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea",
    "x\0y", "\0", "\x01\x02\x1f\x7f", "a\x1cb\x1dc", "\u00a0a\u00a0\u00a0b", "a\u2028b\u2029c\u0085d", "\u3000wide\u3000 ", "\u200b\ufeffz\u00ad",
    "\u00a4\u00a7 x\u00a4\u00a7\u00a4", "notused notuse", "\u2581", "a\u2581b", " \u2581 ", "\ufffd", "\u2003em\u2009thin",
    "<s>", "</s>", "<s>hello</s>", "<pad><unk><mask>", "<|user|>hi<|end|>", " <|user|> x <|user|>", "<|user|", "<|use<|user|>r|>",
    "<tool><tool>\n", "a<tool>b <toolbox>", "[CLS] x [SEP]", "<0x41><0x0A>", "\\x41\\n", "<sentinel:12> IMGIMGABCZ IMGIMGJZ",
    "a" * 70, "ab" * 40, "the" * 20, " " * 70, "\n" * 9, "9" * 25, "." * 30, "' " * 12, "\u4e2d" * 20, " a" * 30,
]

INVALID = [
    b"\xff", b"\x80\xbf", b"a\xc3", b"\xc3 b", b"\xe2\x82", b"\xe2\x82x", b"\xf0\x9f\x99", b"\xf0\x9f\x99 ok", b"\xc0\xaf",
    b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2 \x96\x81", b"\xf8\x88\x80\x80\x80", b"caf\xe9 au lait", b"\xfe\xff\x00a",
    b"\xe4\xb8\xad\xe6\x96", b"the\xffcat", b"\xe2\x96 the", b"1\xff2\xff3", b"'\xff's",
]


class Numbers:
    """A generator whose results are the same in every Python."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (self.state >> 33) % n

    def one_of(self, items):
        return items[self.below(len(items))]


def settled(code):
    """Returns whether the code point has the same properties in Unicode 3.2 as in Python's version."""
    c, old = chr(code), unicodedata.ucd_3_2_0
    category = unicodedata.category(c)
    return (category[0] != "C" and old.category(c) == category and old.normalize("NFD", c) == unicodedata.normalize("NFD", c))


def random_texts(seed, n):
    numbers = Numbers(seed)
    blocks = [range(0x20, 0x7f), range(0xa1, 0x250), range(0x370, 0x530), range(0x5d0, 0x670), range(0x900, 0xe50),
              range(0x1e00, 0x2200), range(0x3001, 0x3130), range(0x4e00, 0x9fa6), range(0xac00, 0xd7a4), range(0xff01, 0xff60),
              range(0x1f300, 0x1f650), range(0x2190, 0x2800)]
    emoji = blocks[10]
    codes = [[c for c in block if block is emoji or settled(c)] for block in blocks]
    common = "aAzZ09 '.,!_-/|<>$\n\t  tse"
    out = []
    for i in range(n):
        text = ""
        for _ in range(4 + numbers.below(40)):
            kind = numbers.below(4)
            if kind < 2 - i % 2:
                text += chr(numbers.one_of(numbers.one_of(codes)))
            else:
                text += numbers.one_of(common)
        out.append(text)
    return out


def random_bytes(seed, n):
    numbers = Numbers(seed)
    return [bytes(numbers.below(256) for _ in range(1 + numbers.below(24))) for _ in range(n)]


def all_texts(stories):
    """Returns the bytes of every text, each once."""
    texts = [t.encode() for t in SINGLE + SENTENCES + stories + random_texts(7, 40)] + INVALID + random_bytes(11, 20)
    return list(dict.fromkeys(texts))
