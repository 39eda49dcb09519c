# 200 schemas with 30 or more properties, generated from seeds, against python3-jsonschema: documents that the validator
# accepts match the grammar, and generation with masks gives valid documents.
# SPDX-License-Identifier: MIT
import json
import random
import unittest

from grammar_case import Case, ggufx, skip, text_of, validator

N_SCHEMAS = 200
MOST_TOKENS = 1500  # a longer generation does not count
NAMES = ["name", "gr\u00f6\u00dfe", "\u65e5\u672c", "a b", "x\"y", "id", "tag", "\u043a\u043b\u044e\u0447", "v\\w", "z\n"]

# A pattern, and texts that match it.
PATTERNS = [
    ("^[a-z]{2,5}$", lambda r: "".join(r.choice("abcxyz") for _ in range(r.randint(2, 5)))),
    ("^(foo|bar)-\\d{1,3}$", lambda r: r.choice(["foo", "bar"]) + "-" + str(r.randrange(1000))),
    ("^[^\\s\"]+@\u00e9\\.com$", lambda r: r.choice(["a\u00fc", "b\u65e5"]) + "@\u00e9.com"),
    ("x[0-9a-f]+", lambda r: r.choice(["", "\u00e9 "]) + "x%x" % r.randrange(9999) + r.choice(["", " !"])),
    ("^\\w+(\\.\\w+)*$", lambda r: ".".join("w%d" % r.randrange(9) for _ in range(r.randint(1, 3)))),
]
ENDS = ["x0\"".encode(), "@\u00e9.com\"".encode()]  # ends of texts that hardly occur by chance
FORMATS = {"date": "2024-02-29", "uuid": "12345678-1234-abcd-ABCD-1234567890ab", "ipv4": "10.0.255.1"}


class Maker:
    """Generates a schema and a function that returns values which it accepts, all from one random state."""

    def __init__(self, r):
        self.r, self.defs = r, {}

    def string(self):
        n = self.r.randrange(5)
        return ({"type": "string", "minLength": n, "maxLength": n + self.r.randrange(6)},
                lambda q: "".join(q.choice("a\u00e9\u65e5\U0001f600\"\\\n") for _ in range(n)))

    def integer(self):
        low = self.r.randrange(-500, 500)
        high = low + self.r.randrange(2000)
        return {"type": "integer", "minimum": low, "maximum": high}, lambda q: q.randint(low, high)

    def pattern(self):
        pattern, make = self.r.choice(PATTERNS)
        return {"type": "string", "pattern": pattern}, make

    def format(self):
        name = self.r.choice(sorted(FORMATS))
        return {"type": "string", "format": name}, lambda q: FORMATS[name]

    def enum(self):
        values = self.r.sample(["a", "\u00e9", 1, None, "x\"", -5, "\n"], 3)
        return {"enum": values}, lambda q: q.choice(values)

    def other(self):
        taken = self.r.sample(["no", "never", "\u00e9", ""], 2)
        return ({"type": "string", "not": {"enum": taken}},
                lambda q: q.choice([t for t in ("n", "nope", "\u00e9\u00e9", "", "no", "never") if t not in taken]))

    def simple(self):
        return self.r.choice([
            ({"type": ["boolean", "null"]}, lambda q: q.choice([True, False, None])),
            ({"type": "number"}, lambda q: q.choice([1, -2.5, 1e10, 3.25e-7]))])

    def reference(self):
        if not self.defs:
            return {"type": "integer"}, lambda q: q.randrange(99)
        name = self.r.choice(sorted(self.defs))
        return {"$ref": "#/$defs/" + name.replace("~", "~0").replace("/", "~1")}, self.defs[name][1]

    def array(self, depth):
        of, make = self.any(depth + 1)
        low = self.r.randrange(3)
        high = low + self.r.randrange(3)
        return ({"type": "array", "items": of, "minItems": low, "maxItems": high},
                lambda q: [make(q) for _ in range(q.randint(low, high))])

    def tuple(self, depth):
        of = [self.any(depth + 1) for _ in range(2)]
        return ({"type": "array", "prefixItems": [schema for schema, _ in of], "items": False},
                lambda q: [make(q) for _, make in of][: q.randint(0, 2)])

    def choice(self, depth):
        of = [self.any(depth + 1) for _ in range(3)]
        return {"anyOf": [schema for schema, _ in of]}, lambda q: q.choice(of)[1](q)

    def all(self, depth):
        return {"allOf": [{"type": "integer", "minimum": 3}, {"maximum": 300}]}, lambda q: q.randint(3, 300)

    def named(self, depth):
        of, make = self.any(depth + 1)
        return ({"type": "object", "patternProperties": {"^k[0-9]$": of}, "additionalProperties": False},
                lambda q: {"k%d" % i: make(q) for i in range(q.randrange(3))})

    def any(self, depth):
        flat = [self.string, self.integer, self.pattern, self.format, self.enum, self.other, self.simple,
                self.reference]
        deep = [self.array, self.tuple, self.choice, self.all, self.named, self.inner]
        at = self.r.randrange(len(flat) + (len(deep) if depth < 3 else 0))
        return flat[at]() if at < len(flat) else deep[at - len(flat)](depth)

    def inner(self, depth):
        return self.object(depth + 1, self.r.randint(1, 4))

    def object(self, depth, n):
        of = {self.r.choice(NAMES) + str(i): self.any(depth) for i in range(n)}
        required = [name for name in of if self.r.random() < 0.5]
        schema = {"type": "object", "properties": {name: s for name, (s, _) in of.items()}, "required": required}
        more = self.r.random()
        if more < 0.5:
            schema["additionalProperties"] = False
        elif more < 0.75:
            schema["additionalProperties"] = {"type": "integer"}

        def make(q):
            out = {name: m(q) for name, (_, m) in of.items() if name in required or q.random() < 0.5}
            if more >= 0.5 and q.random() < 0.5:
                out[q.choice(["name", "zzz", "gr\u00f6\u00dfe0x"])] = q.randrange(9)
            return out
        return schema, make


def make(seed):
    maker = Maker(random.Random(seed))
    defs = {name: maker.any(1) for name in ("d0 \u00e9", "d1", "d/~")}
    maker.defs = defs
    schema, value = maker.object(0, maker.r.randint(30, 45))
    schema["$defs"] = {name: s for name, (s, _) in defs.items()}
    return schema, value


class Differential(Case):
    def generate(self, grammar, r):
        """Generates a text with masks, preferring tokens that end something; returns None if it gets too long."""
        matcher, text = ggufx.Matcher(grammar), b""
        ends, liked = ([self.FIRST_BYTE + byte for byte in of] for of in (b"\"}],:", b",: 01a@.-"))
        for n in range(MOST_TOKENS):
            if r.random() < 0.1:
                end = r.choice(ENDS)
                try:
                    matcher.accept([self.FIRST_BYTE + byte for byte in end])
                    text += end
                    continue
                except ValueError:
                    pass  # all or none of it
            ids = matcher.allowed()
            fit = set(ids.tolist())
            if n > 200:
                near = [id for id in ends if id in fit][:1]
            else:
                near = [id for id in (ends[:3] if r.random() < 0.6 else liked) if id in fit]
            id = r.choice(near) if near and r.random() < 0.8 else int(ids[r.randrange(len(ids))])
            matcher.accept([id])
            if matcher.info.flags & ggufx.MatcherFlags.ENDED:
                return text.decode()
            text += self.pieces[id]
        return None

    def test_grammar_and_validator_agree(self):
        self.pieces = [self.tokenizer.detokenize([id], flags=ggufx.DetokenizeFlags.KEEP_SPACE) for id in
                       range(len(self.tokenizer))]
        n_fit = n_made = 0
        for seed in range(N_SCHEMAS):
            schema, value = make(seed)
            checker = validator()(schema)
            grammar = self.grammar(schema)
            for k in range(4):
                of = value(random.Random(seed * 100 + k))
                checker.validate(of)
                for indent in (None, 2):
                    text = text_of(of, indent=indent)
                    self.assertTrue(self.fits(grammar, text), (seed, text))
                    n_fit += 1
            text = self.generate(grammar, random.Random(seed))
            if text is not None:
                n_made += 1
                checker.validate(json.loads(text))
        self.assertEqual(n_fit, 8 * N_SCHEMAS)
        self.assertGreater(n_made, N_SCHEMAS * 9 // 10)


if __name__ == "__main__":
    if validator() is None:
        skip("no python3-jsonschema")
    unittest.main()
