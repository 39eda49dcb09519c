"""Compares the reader and writer of base/json.hpp with Python's on random values and on texts that are no JSON.

usage: python_json.py TOOL_JSON, the program of json.cpp
SPDX-License-Identifier: MIT
"""
import json
import math
import random
import struct
import subprocess
import sys

PIECES = ["a", "key", " ", '"', "\\", "/", "\n", "\x1f", "\xe9", "\u20ac", "\U0001f600", "\ud7ff", "\uffff", "<b>"]
BROKEN = ('{"a" : [1, -2.5e+3, true, false, null, "x\\u00e9\\n\\ud83d\\ude00"],'
          '\t"b":{"c":{}, "d":[]}, "\xe9": 0}\r\n').encode()
RANDOM = random.Random(54)


def random_text():
    return "".join(RANDOM.choices(PIECES, k=RANDOM.randrange(6)))


def random_double():
    while True:
        value = struct.unpack("d", RANDOM.randbytes(8))[0]
        if math.isfinite(value):
            return value


def random_value(depth, has_doubles):
    kind = RANDOM.randrange(9 if depth > 0 else 7)
    if kind == 0:
        return None
    if kind == 1:
        return RANDOM.randrange(2) == 1
    if kind in (2, 3) or (kind in (4, 5) and not has_doubles):
        integer = RANDOM.getrandbits(64) >> RANDOM.randrange(64)
        return integer if kind == 2 else -(integer >> 1)
    if kind == 4:
        return random_double()
    if kind == 5:
        return (RANDOM.getrandbits(64) >> RANDOM.randrange(64)) / 1000
    if kind == 6:
        return random_text()
    values = [random_value(depth - 1, has_doubles) for _ in range(RANDOM.randrange(4))]
    return values if kind == 7 else {f"{random_text()}{i}": value for i, value in enumerate(values)}


def answers(program, texts):
    """Returns (line, indented), or an error, of each text."""
    lines = "".join(text.hex() + "\n" for text in texts)
    done = subprocess.run([program, "-"], input=lines, stdout=subprocess.PIPE, encoding="utf-8", check=True)
    return [bytes.fromhex(line[1:]).decode() if line.startswith("!") else
            tuple(bytes.fromhex(part).decode() for part in line.split()) for line in done.stdout.splitlines()]


def refuse(text):
    raise ValueError(text)


def finite(text):
    return float(text) if math.isfinite(float(text)) else refuse(text)


def is_json(text):
    try:
        value = json.loads(text.decode(), parse_constant=refuse, parse_float=finite)
        json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair
    except ValueError:
        return False
    return True


def check_random_values(program):
    values = [random_value(5, i % 2 == 1) for i in range(20000)]
    written = [answers(program, [json.dumps(value, ensure_ascii=escapes, indent=indent).encode() for value in values])
               for escapes, indent in ((False, None), (True, None), (False, 2))]
    again = answers(program, [line.encode() for line, _ in written[0]])
    for i, (value, (line, indented)) in enumerate(zip(values, written[0])):
        assert all(other[i] == (line, indented) for other in written + [again]), value
        if i % 2 == 1:  # Python writes some doubles in another form
            assert json.loads(line) == value and json.loads(indented) == value, value
        else:
            assert line == json.dumps(value, ensure_ascii=False, separators=(",", ":")), value
            assert indented == json.dumps(value, ensure_ascii=False, indent=2), value


def check_broken_texts(program):
    """Every cut and every changed byte of a text is accepted by both readers or by none."""
    texts = [BROKEN[:n] for n in range(len(BROKEN) + 1)]
    texts += [BROKEN[:i] + bytes([c]) + BROKEN[i + 1:] for i in range(len(BROKEN)) for c in range(256)]
    for text, answer in zip(texts, answers(program, texts)):
        is_read = isinstance(answer, tuple)
        # Equal names are refused by our reader alone.
        assert is_read == is_json(text) or (not is_read and answer.startswith("two members ")), (text, answer)


def main():
    check_random_values(sys.argv[1])
    check_broken_texts(sys.argv[1])


if __name__ == "__main__":
    main()
