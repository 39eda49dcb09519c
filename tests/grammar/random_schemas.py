# Schemas that combine all keywords, generated from seeds, against python3-jsonschema. Documents similar to a schema, in
# any order and with or without escapes, match exactly if the validator accepts them; generation with masks gives valid
# documents. GGUFX_TEST_SCHEMAS is the number of schemas.
#
# The tables and the official tests cover the rest. unevaluated*: this validator computes it differently next to
# additionalProperties (4.10). multipleOf: computed exactly here, with floats there.
# SPDX-License-Identifier: MIT
import fractions
import json
import os
import random
import re
import unittest

from grammar_case import Case, ggufx, skip, validator

N_SCHEMAS = int(os.environ.get("GGUFX_TEST_SCHEMAS", "300"))
MOST_TOKENS = 400
NAMES = ["a", "b", "ab", "a1", "k", "\u00e9", "x/y"]
TEXTS = ["", "a", "b", "ab", "aab", "abc", "\u00e9", "x1", "12", "\n", "\"", "a b", "\u65e5\u672c", "\U0001f600"]
NUMBERS = [0, 1, -1, 2, 3, 5, 10, -2.5, 0.5, 1.5, 100, 0.1, 2.0, 1e20, -0.0, 7, 12.25, 1e-7]
PATTERNS = ["^a", "b$", "^a+b?$", "[0-9]", "^.{2}$", "a|b", "^(?!a)", "\u00e9", "^[^a]*$", "^a.*b$|^x", "\\d+", "^[a-z0-9]*$"]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
SIMPLE = ["type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
          "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "required",
          "dependentRequired"]
DEEP = ["items", "prefixItems", "contains", "properties", "patternProperties", "additionalProperties", "propertyNames",
        "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "$ref"]
OF_OBJECTS = ("properties", "required", "patternProperties", "additionalProperties", "propertyNames", "minProperties",
              "maxProperties", "dependentRequired", "dependentSchemas")
OF_ARRAYS = ("items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems")


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.defs = ["d0", "d1"] if self.r.random() < 0.4 else []
        self.root = self.schema(0)
        if isinstance(self.root, dict) and self.defs:
            self.root["$defs"] = {name: self.schema(1) for name in self.defs}

    def value(self, depth=0):
        r, kind = self.r, self.r.random()
        if kind < 0.12:
            return None
        if kind < 0.24:
            return r.random() < 0.5
        if kind < 0.45:
            return r.choice(NUMBERS)
        if kind < 0.65 or depth > 2:
            return r.choice(TEXTS)
        if kind < 0.82:
            return [self.value(depth + 1) for _ in range(r.choice([0, 1, 1, 2, 2, 3]))]
        return {r.choice(NAMES): self.value(depth + 1) for _ in range(r.choice([0, 1, 2, 2, 3]))}

    def types(self):
        return self.r.choice(TYPES) if self.r.random() < 0.6 else self.r.sample(TYPES, self.r.randint(1, 3))

    def schema(self, depth):
        r = self.r
        if r.random() < 0.06:
            return r.random() < 0.6
        out = {"type": self.types()} if r.random() < 0.6 else {}
        for _ in range(r.choice([0, 1, 1, 2, 3])):
            self.add(out, r.choice(SIMPLE + 2 * DEEP if depth < 3 else SIMPLE), depth)
        return out

    def add(self, to, word, depth):
        r, inner = self.r, lambda: self.schema(depth + 1)
        if word == "type":
            to[word] = self.types()
        elif word == "enum":
            to[word] = [self.value(1) for _ in range(r.randint(1, 4))]
        elif word == "const":
            to[word] = self.value(1)
        elif word in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            to[word] = r.choice(NUMBERS)
        elif word == "multipleOf":
            to[word] = r.choice([1, 2, 3, 5, 0.5, 0.25, 10, 2.5])
        elif word in ("minLength", "maxLength", "minItems", "maxItems", "maxProperties"):
            to[word] = r.randint(0, 3)
        elif word == "minProperties":
            to[word] = r.randint(0, 2)
        elif word == "uniqueItems":
            to[word] = True
        elif word == "pattern":
            to[word] = r.choice(PATTERNS)
        elif word == "required":
            to[word] = r.sample(NAMES, r.randint(0, 2))
        elif word == "dependentRequired":
            to[word] = {r.choice(NAMES): r.sample(NAMES, r.randint(0, 2))}
        elif word in ("items", "additionalProperties", "propertyNames", "not"):
            to[word] = inner()
        elif word == "contains":
            to[word] = inner()
            for bound in ("minContains", "maxContains"):
                if r.random() < 0.4:
                    to[bound] = r.randint(0, 2)
        elif word in ("prefixItems", "allOf", "anyOf", "oneOf"):
            to[word] = [inner() for _ in range(r.randint(1, 3))]
        elif word == "properties":
            to[word] = {r.choice(NAMES): inner() for _ in range(r.randint(1, 3))}
        elif word == "patternProperties":
            to[word] = {r.choice(PATTERNS): inner() for _ in range(r.randint(1, 2))}
        elif word == "dependentSchemas":
            to[word] = {r.choice(NAMES): inner()}
        elif word == "if":
            to[word] = inner()
            for way, share in (("then", 0.8), ("else", 0.6)):
                if r.random() < share:
                    to[way] = inner()
        elif self.defs:
            to["$ref"] = "#/$defs/" + r.choice(self.defs)

    def near(self, of, depth=0):
        """Returns a value that may match a schema."""
        r = self.r
        if isinstance(of, bool) or depth > 5:
            return self.value(depth)
        if "$ref" in of and r.random() < 0.7:
            return self.near(self.root["$defs"][of["$ref"].split("/")[-1]], depth + 1)
        if "const" in of and r.random() < 0.8:
            return of["const"]
        if "enum" in of and r.random() < 0.8:
            return r.choice(of["enum"])
        for word in ("anyOf", "oneOf", "allOf"):
            if word in of and r.random() < 0.5:
                return self.near(r.choice(of[word]), depth + 1)
        for word in ("if", "then", "else", "not"):
            if word in of and r.random() < 0.3:
                return self.near(of[word], depth + 1)
        kind = of.get("type")
        if isinstance(kind, list):
            kind = r.choice(kind)
        if kind is None:
            kind = "object" if any(w in of for w in OF_OBJECTS) else "array" if any(w in of for w in OF_ARRAYS) else None
        if kind in ("integer", "number"):
            bounds = [of[w] + more for w in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
                      if w in of for more in (0, 1, -1, 0.5)]
            return r.choice(bounds or NUMBERS)
        if kind == "string":
            return r.choice(TEXTS)
        if kind == "array":
            return self.near_array(of, depth)
        if kind == "object":
            return self.near_object(of, depth)
        return {"null": None, "boolean": r.random() < 0.5}.get(kind, self.value(depth))

    def near_array(self, of, depth):
        r, out = self.r, []
        prefix = of.get("prefixItems", [])
        for i in range(r.choice([0, 1, 2, 3, of.get("minItems", 1), min(of.get("maxItems", 2), 4)])):
            item = prefix[i] if i < len(prefix) else of.get("items", True)
            if "contains" in of and r.random() < 0.5:
                item = of["contains"]
            out.append(self.near(item, depth + 1))
        return out

    def near_object(self, of, depth):
        r, out = self.r, {}
        asked = of.get("dependentRequired", {})
        names = [*of.get("properties", {}), *of.get("required", []), *asked, *sum(asked.values(), []),
                 *of.get("dependentSchemas", {})]
        r.shuffle(names)
        for name in names:
            if r.random() < 0.7:
                out[name] = self.near(of.get("properties", {}).get(name, True), depth + 1)
        for _ in range(r.choice([0, 0, 1, 2])):
            more = of.get("additionalProperties", True)
            if "patternProperties" in of and r.random() < 0.6:
                more = r.choice(list(of["patternProperties"].values()))
            out.setdefault(r.choice(NAMES), self.near(more, depth + 1))
        return out


def exact_multiple(checker, step, value, schema):
    if checker.is_type(value, "number") and fractions.Fraction(repr(value)) % fractions.Fraction(repr(step)) != 0:
        import jsonschema
        yield jsonschema.ValidationError("no multiple")


def values_of(schema, out):
    if isinstance(schema, dict):
        for word, value in schema.items():
            if word == "const":
                out.append(value)
            elif word == "enum":
                out.extend(value)
            values_of(value, out)
    elif isinstance(schema, list):
        for value in schema:
            values_of(value, out)


class RandomSchemas(Case):
    def generate(self, grammar, r):
        """Generates a text with masks, preferring tokens that end something; returns None if it gets too long."""
        matcher, text = ggufx.Matcher(grammar), b""
        ends = [self.FIRST_BYTE + byte for byte in b"\"}],:"]
        for n in range(MOST_TOKENS):
            ids = matcher.allowed()
            near = [id for id in ends if id in set(ids.tolist())]
            id = r.choice(near) if near and (r.random() < 0.6 or n > 60) else int(ids[r.randrange(len(ids))])
            matcher.accept([id])
            if matcher.info.flags & ggufx.MatcherFlags.ENDED:
                return text.decode()
            text += self.pieces[id]
        return None

    def is_valid(self, checker, value):
        """Returns None if the validator fails."""
        try:
            return checker.is_valid(value)
        except (RecursionError, TypeError):  # it sorts values that it compares
            return None

    def test_schemas_of_seeds(self):
        import jsonschema
        kind = jsonschema.validators.extend(validator(), {"multipleOf": exact_multiple})
        self.pieces = [self.tokenizer.detokenize([id], flags=ggufx.DetokenizeFlags.KEEP_SPACE)
                       for id in range(len(self.tokenizer))]
        flags = ggufx.GrammarFlags.ANY_ORDER | ggufx.GrammarFlags.ANY_NUMBER | ggufx.GrammarFlags.NO_FORMATS
        n = {"valid": 0, "invalid": 0, "made": 0, "refused": 0, "empty": 0}
        for seed in range(N_SCHEMAS):
            maker = Maker(seed)
            schema, r = maker.root, maker.r
            if isinstance(schema, bool):
                continue
            grammar = None
            try:
                grammar = self.grammar(schema, flags=flags)
            except ggufx.Error as error:
                if error.code != ggufx.Status.VALUE:  # no text matches
                    n["refused"] += 1
                    self.assertIn(error.code, (ggufx.Status.UNSUPPORTED, ggufx.Status.LIMIT), (seed, schema))
                    continue
                n["empty"] += 1
            checker, named = kind(schema), []
            values_of(schema, named)
            for value in [maker.value() for _ in range(10)] + [maker.near(schema) for _ in range(24)] + named:
                text = json.dumps(value, ensure_ascii=r.random() < 0.5)
                want = self.is_valid(checker, value)
                if want is None or ("multipleOf" in json.dumps(schema) and "e" in text):
                    continue
                n["valid" if want else "invalid"] += 1
                self.assertEqual(grammar is not None and self.fits(grammar, text), want, (seed, json.dumps(schema), text))
            text = self.generate(grammar, r) if grammar else None
            if text is None or re.search(r"[\d.]{16}", text):  # floats do not distinguish it from others
                continue
            if self.is_valid(checker, json.loads(text)) is not None:
                n["made"] += 1
                self.assertTrue(self.is_valid(checker, json.loads(text)), (seed, json.dumps(schema), text))
        print(n)
        self.assertGreater(n["valid"], 10 * N_SCHEMAS)
        self.assertGreater(n["made"], N_SCHEMAS // 3)
        self.assertLess(n["refused"], N_SCHEMAS // 8)


if __name__ == "__main__":
    if validator() is None:
        skip("no python3-jsonschema")
    unittest.main()
