# Each keyword of JSON Schema: documents that it accepts match the grammar, others do not. python3-jsonschema checks the
# table itself. Members are in the order of `properties`.
# SPDX-License-Identifier: MIT
import unittest

from grammar_case import Case, ggufx, text_of, validator

LIST = {"$ref": "#/$defs/list", "$defs": {"list": {
    "type": ["object", "null"], "properties": {"v": True, "next": {"$ref": "#/$defs/list"}},
    "required": ["next"], "additionalProperties": False}}}

# keyword, schema, accepted and refused documents
TABLE = [
    ("boolean", True, [0, "x", [], {"a": None}], []),
    ("type", {"type": "string"}, ["", "1"], [1, None, ["a"], {}]),
    ("type", {"type": "integer"}, [0, -7, 10**15], [1.5, "1", True]),
    ("type", {"type": "number"}, [0, -2.25, 1e+30], ["0", False]),
    ("type", {"type": ["array", "boolean"]}, [[], [1], True], [{}, 0, "true"]),
    ("enum", {"enum": ["a", 2, None, [1], {"b": ""}]}, ["a", 2, None, [1], {"b": ""}],
     ["b", 3, False, [], [2], {"b": "x"}, {}]),
    ("enum", {"enum": [False]}, [False], [0, True, None]),
    ("enum", {"enum": ["\u00e9\n", "\U0001f600"]}, ["\u00e9\n", "\U0001f600"], ["\u00e9", "n"]),
    ("const", {"const": {"a": [1, "\\\""]}}, [{"a": [1, "\\\""]}], [{"a": [1]}, {}, None]),
    ("not", {"not": {"type": ["string", "null"]}}, [1, [], False], ["", None]),
    ("not", {"type": "string", "not": {"enum": ["no", "", "nope"]}}, ["n", "nop", "nopes", "yes"],
     ["no", "", "nope", 1]),
    ("not", {"enum": [1, 2, "x"], "not": {"const": 2}}, [1, "x"], [2]),
    ("minLength", {"type": "string", "minLength": 2}, ["ab", "\u00e9\u65e5", "abc"], ["", "a", "\U0001f600"]),
    ("maxLength", {"maxLength": 2}, ["", "ab", "\U0001f600\u00e9", 300, ["abc"]], ["abc"]),
    ("pattern", {"type": "string", "pattern": "^a+b?$"}, ["a", "aab"], ["", "b", "aabb"]),
    ("pattern", {"type": "string", "pattern": "[0-9]{2}"}, ["12", "a34b", "1 23"], ["1", "1 2"]),
    ("pattern", {"type": "string", "pattern": "^(x|\u65e5\u672c)*-\\S$"}, ["x\u65e5\u672c-y", "-\u00e9"],
     ["\u65e5-y", "x- "]),
    ("minimum", {"type": "integer", "minimum": -3}, [-3, 0, 12], [-4, -30]),
    ("maximum", {"type": "integer", "maximum": 105}, [105, 99, -1000], [106, 1050]),
    ("minimum", {"type": ["integer", "string"], "minimum": 7, "maximum": 23.5}, [7, 10, 23, "x"],
     [6, 24, 230]),
    ("exclusiveMinimum", {"type": "integer", "exclusiveMinimum": 9}, [10, 99], [9, 0, -10]),
    ("exclusiveMaximum", {"type": "integer", "exclusiveMaximum": -9.5}, [-10, -99], [-9, 0]),
    ("items", {"type": "array", "items": {"type": "null"}}, [[], [None, None]], [[1], [None, 0], {}]),
    ("items", {"items": False}, [[], 3, {}], [[1]]),
    ("prefixItems", {"type": "array", "prefixItems": [{"type": "integer"}, {"const": "x"}]},
     [[], [1], [1, "x"], [1, "x", None, {}]], [["x"], [1, 2]]),
    ("prefixItems", {"type": "array", "prefixItems": [True, {"type": "null"}], "items": {"type": "boolean"}},
     [[1], ["a", None, True, False]], [[1, 1], [1, None, 1]]),
    ("minItems", {"type": "array", "minItems": 2}, [[1, 2], [1, 2, 3]], [[], [1]]),
    ("maxItems", {"maxItems": 1}, [[], [[]], "abc"], [[1, 2]]),
    ("maxItems", {"prefixItems": [{"type": "integer"}] * 3, "maxItems": 2, "minItems": 1}, [[1], [1, 2]],
     [[], [1, 2, 3], ["a"]]),
    ("properties", {"type": "object", "properties": {"a": {"type": "integer"}, "b\u00e9": {"type": "null"}}},
     [{}, {"a": 1}, {"a": 1, "b\u00e9": None}, {"a": 2, "c": []}], [{"a": "x"}, {"b\u00e9": 1}]),
    ("properties", {"properties": {"a\"\n": False, "": {"const": 1}}}, [{}, {"": 1}, {"a": 2}, 5],
     [{"a\"\n": 1}, {"": 2}]),
    ("required", {"type": "object", "required": ["z", "a"]}, [{"z": 1, "a": 2}, {"z": 1, "a": 2, "b": 3}],
     [{}, {"z": 1}, {"a": 1}]),
    ("required", {"type": "object", "properties": {"a": True, "b": True}, "required": ["b"],
                  "additionalProperties": False}, [{"b": 1}, {"a": 1, "b": 2}], [{}, {"a": 1}, {"b": 1, "c": 1}]),
    ("additionalProperties", {"type": "object", "properties": {"ab": True}, "additionalProperties": {"type": "null"}},
     [{}, {"ab": 3, "a": None, "abc": None}], [{"a": 1}, {"ab": 1, "abc": 1}]),
    ("patternProperties", {"type": "object", "patternProperties": {"^x_[0-9]+$": {"type": "integer"}},
                           "additionalProperties": False}, [{}, {"x_1": 1, "x_22": 2}],
     [{"x_": 1}, {"x_1": "a"}, {"y": 1}]),
    ("patternProperties", {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"],
                           "patternProperties": {"^\u00e9": {"type": "string"}}, "additionalProperties": False},
     [{"id": 1}, {"id": 1, "\u00e9a": "x"}], [{"\u00e9": "x"}, {"id": 1, "e": "x"}, {"id": 1, "\u00e9": 1}]),
    ("allOf", {"allOf": [{"type": "integer"}, {"minimum": 3}, {"maximum": 5}]}, [3, 5], [2, 6, "4"]),
    ("allOf", {"type": "object", "allOf": [{"properties": {"a": {"type": "integer"}}}, {"required": ["a"]},
                                           {"additionalProperties": {"enum": [1, 2]}}]},
     [{"a": 1}, {"a": 2, "b": 1}], [{}, {"a": 3}, {"a": 1, "b": 3}]),
    ("anyOf", {"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 1}, {"const": "long"}]},
     [None, "", "l", "long"], ["lo", 1, []]),
    ("anyOf", {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
     [{"a": 1}, {"b": 1}, {"a": 1, "b": 1}], [{}, {"c": 1}]),
    ("oneOf", {"oneOf": [{"type": "integer", "minimum": 10}, {"type": "string"}]}, [10, "x"], [9, None]),
    ("oneOf", {"oneOf": [
        {"type": "object", "properties": {"k": {"const": "a"}, "v": {"type": "integer"}}, "required": ["k", "v"]},
        {"type": "object", "properties": {"k": {"const": "b"}, "v": {"type": "null"}}, "required": ["k"]}]},
     [{"k": "a", "v": 1}, {"k": "b"}, {"k": "b", "v": None}], [{"k": "a"}, {"k": "a", "v": None}, {"k": "c"}]),
    ("$ref", LIST, [None, {"next": None}, {"v": 1, "next": {"next": None}}], [{}, {"next": 1}, 0, {"v": 1}]),
    ("$ref", {"$ref": "#/$defs/a~1b%25~0", "$defs": {"a/b%~": {"type": "integer"}}}, [1], ["1"]),
    ("$ref", {"$ref": "#/$defs/n", "maximum": 5, "$defs": {"n": {"type": "integer", "minimum": 2}}}, [2, 5],
     [1, 6]),
    ("$ref", {"items": {"$ref": "#"}, "type": "array", "maxItems": 2}, [[], [[], [[]]]], [1, [1], [[], [], []]]),
    ("$anchor", {"prefixItems": [{"$ref": "#here"}], "$defs": {"x": {"$anchor": "here", "type": "boolean"}}},
     [[True], []], [[1]]),
    ("minimum", {"type": "number", "minimum": -0.5, "exclusiveMaximum": 1e3},
     [-0.5, 0, 999.99, 1e-7, 0.0, 25], [-0.51, 1000, 1e20, -3, "0"]),
    ("maximum", {"maximum": -0.25}, [-0.25, -1, -1e20, "x"], [0, -0.2, 1e-7, 5]),
    ("multipleOf", {"type": "integer", "multipleOf": 3}, [0, -3, 9, 30, 3.0], [1, 10, 4.5]),
    ("multipleOf", {"type": "number", "multipleOf": 0.01}, [0.01, 5, -2.5, 0.1], [0.001, 1.005]),
    ("multipleOf", {"multipleOf": 2.5, "maximum": 10}, [2.5, 10, 0, -7.5, "x"], [1, 12.5, 2.55]),
    ("multipleOf", {"type": "integer", "multipleOf": 100}, [100, -300, 0], [10, 150, 1]),
    ("integer", {"type": "integer", "minimum": 10}, [10, 10.0, 1e16, 250], [9.0, 1, 10.5]),
    ("integer", {"not": {"type": "integer"}}, [1.5, -0.25, "x"], [1, 2.0, 0]),
    ("enum", {"enum": [1, 2.5, -0.0]}, [1, 1.0, 2.5, 0, 0.0], [2, 1.5, "1", 10]),
    ("const", {"const": {"a": {"b": [1.0]}}}, [{"a": {"b": [1]}}], [{"a": {"b": [2]}}, {"a": {}}]),
    ("enum", {"enum": ["abc", "x1", 5], "pattern": "^[a-c]+$", "maxLength": 3}, ["abc", 5], ["x1", "ab"]),
    ("not", {"not": {"minimum": 1}}, [0, -3.5], [1, 2.5, "x", None]),
    ("not", {"type": "string", "not": {"pattern": "^a"}}, ["", "ba", "\u00e9"], ["a", "ab", 1]),
    ("not", {"type": "string", "not": {"minLength": 2}}, ["", "\U0001f600"], ["ab"]),
    ("not", {"type": "object", "not": {"required": ["a"]}}, [{}, {"b": 1}], [{"a": 1}, {"a": 1, "b": 2}]),
    ("not", {"type": "object", "not": {"properties": {"a": {"type": "string"}}}}, [{"a": 1}], [{}, {"a": "x"}]),
    ("not", {"type": "object", "not": {"additionalProperties": {"type": "integer"}, "properties": {"s": {}}}},
     [{"x": "y"}, {"s": 1, "a": None}, {"a": 1, "b": []}], [{}, {"a": 1}, {"s": "x"}]),
    ("not", {"type": "array", "not": {"items": {"type": "integer"}}}, [["a"], [1, "a", 2]], [[], [1], [1, 2]]),
    ("not", {"not": {"const": {"a": 1}}}, [{}, {"a": 2}, {"b": 1}, {"a": 1, "b": 1}, 3], [{"a": 1}]),
    ("not", {"not": {"const": [1, [2]]}}, [[], [1], [1, [2], 3], [[2], 1]], [[1, [2]]]),
    ("not", {"not": {"anyOf": [{"type": "string"}, {"minimum": 5}]}}, [1, -4.5], ["x", 5, 7, None, []]),
    ("not", {"not": {"oneOf": [{"type": "integer"}, {"minimum": 2}]}}, [3, 1.5], [1, 2.5, "x"]),
    ("oneOf", {"oneOf": [{"type": "integer"}, {"minimum": 2}]}, [1, 2.5, "x"], [3, 1.5]),
    ("oneOf", {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
     [{"a": 1}, {"b": 1, "c": 2}], [{}, {"a": 1, "b": 2}]),
    ("if", {"if": {"type": "integer"}, "then": {"minimum": 0}, "else": {"type": "string"}}, [0, 5, "x"], [-1, 2.5, None]),
    ("if", {"type": "object", "properties": {"k": {"enum": ["a", "b"]}, "v": {}}, "if": {"properties": {"k": {"const": "a"}}},
            "then": {"required": ["v"]}}, [{"k": "a", "v": 1}, {"k": "b"}], [{"k": "a"}, {}, {"k": "c", "v": 1}]),
    ("contains", {"type": "array", "contains": {"type": "integer"}}, [[1], ["a", 1], [1, 2, "b"]], [[], ["a"], [1.5]]),
    ("contains", {"type": "array", "contains": {"const": 1}, "minContains": 2, "maxContains": 3},
     [[1, 1], [1, 2, 1, 1]], [[1], [1, 1, 1, 1], []]),
    ("contains", {"type": "array", "contains": {"const": 1}, "minContains": 0, "maxContains": 0}, [[], [2]], [[1], [2, 1]]),
    ("uniqueItems", {"type": "array", "items": {"enum": ["a", 1, None]}, "uniqueItems": True},
     [[], ["a"], [1, "a"], [None, "a", 1]], [["a", "a"], [1, 1], [1, "b"]]),
    ("uniqueItems", {"type": "array", "items": {"enum": list("abcdefghijklmnop")}, "uniqueItems": True, "minItems": 2, "maxItems": 3},
     [["a", "p"], ["c", "b", "a"]], [["a"], ["a", "a"], ["a", "b", "c", "d"]]),
    ("uniqueItems", {"type": "array", "prefixItems": [{"type": "boolean"}], "items": {"enum": [1, 2, True]}, "uniqueItems": True},
     [[True, 1], [False, True, 2, 1]], [[True, True], [False, 1, 1]]),
    ("minProperties", {"type": "object", "minProperties": 1}, [{"a": 1}, {"a": 1, "b": 2}], [{}]),
    ("minProperties", {"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "additionalProperties": False,
                       "minProperties": 2}, [{"a": 1, "c": 2}, {"a": 1, "b": 2, "c": 3}], [{}, {"b": 1}]),
    ("maxProperties", {"type": "object", "properties": {"a": {}}, "maxProperties": 1}, [{}, {"a": 1}, {"b": 1}],
     [{"a": 1, "b": 2}, {"x": 1, "y": 1}]),
    ("propertyNames", {"type": "object", "propertyNames": {"pattern": "^[a-z]+$", "maxLength": 3}},
     [{}, {"abc": 1, "x": 2}], [{"A": 1}, {"abcd": 1}, {"": 1}]),
    ("propertyNames", {"type": "object", "properties": {"ok": {}, "B": {}}, "propertyNames": {"enum": ["ok", "z"]}},
     [{"ok": 1, "z": 2}], [{"B": 1}, {"y": 1}]),
    ("patternProperties", {"type": "object", "properties": {"ab": {"minimum": 3}},
                           "patternProperties": {"^a": {"type": "integer"}, "b$": {"maximum": 9}},
                           "additionalProperties": {"type": "null"}},
     [{"ab": 5, "a": 1, "xb": 2, "zzz": None}, {"ab": 9}], [{"ab": 2}, {"ab": 10}, {"a": "x"}, {"xb": 10}, {"zzz": 1}]),
    ("dependentRequired", {"type": "object", "properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}},
     [{}, {"b": 1}, {"a": 1, "b": 2}], [{"a": 1}]),
    ("dependentSchemas", {"type": "object", "properties": {"a": {}, "b": {}},
                          "dependentSchemas": {"a": {"properties": {"b": {"type": "null"}}}}},
     [{"b": 1}, {"a": 1, "b": None}, {"a": 1}], [{"a": 1, "b": 2}]),
    ("unevaluatedProperties", {"type": "object", "allOf": [{"properties": {"a": {}}}], "anyOf": [
        {"properties": {"k": {"const": 1}, "x": {}}, "required": ["k"]}, {"properties": {"y": {}}}],
        "unevaluatedProperties": False},
     [{"a": 1}, {"a": 1, "k": 1, "x": 2}, {"y": 1}, {"a": 0, "k": 1, "x": 2, "y": 3}], [{"k": 2}, {"x": 1}, {"z": 1}]),
    ("unevaluatedItems", {"type": "array", "prefixItems": [{"type": "integer"}], "allOf": [{"prefixItems": [{}, {"type": "string"}]}],
                          "unevaluatedItems": {"type": "null"}}, [[1], [1, "a"], [1, "a", None]], [[1, 2], [1, "a", 2]]),
    ("$dynamicRef", {"$id": "https://x.y/list", "$ref": "tree", "$dynamicAnchor": "node", "maxItems": 1,
                     "$defs": {"t": {"$id": "tree", "$dynamicAnchor": "node", "type": "array", "items": {"$dynamicRef": "#node"}}}},
     [[], [[]], [[[]]]], [[[], []], [[[], []]], [1]]),
    ("$id", {"$id": "https://x.y/a/root", "$ref": "../b/item#/$defs/n", "$defs": {
        "i": {"$id": "/b/item", "$defs": {"n": {"type": "integer"}}}}}, [1], ["x"]),
    ("pattern", {"type": "string", "pattern": "^(?!no)[a-z]+$"}, ["yes", "on"], ["no", "nope", "A"]),
    ("pattern", {"type": "string", "pattern": "^(?=.*\\d)(?=.*[a-z]).{4,6}$"}, ["abc1", "1abcde"], ["abcd", "1234", "a1"]),
    ("pattern", {"type": "string", "pattern": "(^a|b$)", "maxLength": 3}, ["a", "abc", "xb"], ["ba", "", "abcd"]),
    ("pattern", {"allOf": [{"pattern": "^[a-c]+$"}, {"pattern": "b"}], "type": "string", "minLength": 2}, ["ab", "bb"], ["b", "aa", "abd"]),
    ("title", {"title": "t", "x-order": 3, "example": 1, "nullable": True, "type": "integer"}, [1], ["a", None]),
    ("then", {"then": False, "else": False, "minContains": 9, "maxContains": 0}, [1, [1], None], []),
    ("format", {"type": "string", "format": "hostname"},
     ["a" * 63, ".".join(["a" * 40] * 5), "xn--bcher-kva.example", "XN--P1AI", "a.b.c.d.e.f.g.h.i.j.k.l", "a--b", "1.2", "x-y-z"],
     ["a" * 64, "-a", "a-", "a..b", "a.", "a_b", "ab--c", "xn--", "b\u00fccher.de", ""]),
    ("format", {"type": "string", "format": "email"},
     ["joe@" + ".".join(["a" * 40] * 4), "joe@xn--bcher-kva.example", "j.o+e@b", "a@[127.0.0.1]", "\"a b\"@" + "c" * 63],
     ["joe@" + "a" * 64, "joe@-a", "joe@", "@b", "joe@b\u00fccher.de", "j..o@b", "a@b@c"]),
    ("format", {"type": "string", "format": "idn-email"},
     ["\u00fcser@b\u00fccher.de", "\uc2e4\ub840@\uc2e4\ub840.\ud14c\uc2a4\ud2b8", "joe@xn--bcher-kva.example", "joe@" + "a" * 63 + ".com"],
     ["joe@b\u00fccher-.de", "joe@\u00fc_b", "\u00fcser@", "joe@" + "a" * 64]),
    ("title", {"title": "t", "description": "d", "default": 1, "examples": [2], "$comment": "c", "deprecated": True,
               "readOnly": True, "type": "null"}, [None], [1]),
]

# Refused schemas without a grammar: the schema, keyword or reason, and position.
REFUSED = [
    ({"properties": {"a": {"uniqueItems": True}}}, "#/properties/a: 'uniqueItems'"),
    ({"uniqueItems": True, "items": {"type": "integer"}}, "'uniqueItems'"),
    ({"not": {"uniqueItems": True}}, "'not' of 'uniqueItems'"),
    ({"not": {"unevaluatedItems": False}}, "'not' of 'unevaluatedItems'"),
    ({"minProperties": 2}, "#: 'minProperties'"),
    ({"multipleOf": 12345}, "'multipleOf'"),
    ({"$ref": "other.json"}, "out of the schema"),
    ({"$ref": "#/$defs/none"}, "leads nowhere"),
    ({"$dynamicRef": "#none"}, "leads nowhere"),
    ({"$schema": "http://example.com/dialect"}, "'$schema'"),
    ({"type": "string", "pattern": "(?<=a)b"}, "unsupported group"),
    ({"type": "string", "pattern": "\\bword"}, "escape"),
    ({"type": "string", "pattern": "^(?:(?!x).)*$"}, "assertion within a repetition"),
    ({"type": "string", "pattern": "(a)\\1"}, "escape"),
    ({"type": "string", "format": "regex"}, "the format 'regex'"),
    ({"items": {"dependencies": {"a": ["b"]}}}, "#/items: the keyword 'dependencies'"),
    ({"$recursiveRef": "#"}, "'$recursiveRef'"),
]

class Keywords(Case):
    def test_what_a_keyword_accepts_fits_and_what_it_refuses_does_not(self):
        n = 0
        for keyword, schema, valid, invalid in TABLE:
            grammar = self.grammar(schema, flags=ggufx.GrammarFlags.ANY_NUMBER)
            for of, want in ((valid, True), (invalid, False)):
                for value in of:
                    for indent in (None, 1):
                        n += 1
                        text = text_of(value, indent=indent)
                        self.assertEqual(self.fits(grammar, text), want, (keyword, schema, text))
        self.assertGreater(n, 1000)

    def test_the_table_is_what_another_validator_says(self):
        kind = validator()
        if kind is None:
            self.skipTest("no python3-jsonschema")
        for keyword, schema, valid, invalid in TABLE:
            if keyword == "format":
                continue  # its known formats depend on other packages
            checker = kind(schema)
            for of, want in ((valid, True), (invalid, False)):
                for value in of:
                    self.assertEqual(checker.is_valid(value), want, (keyword, schema, value))

    def test_a_character_may_be_written_as_two_surrogates(self):
        grammar = self.grammar('{"enum":["\\ud83d\\ude00"]}')
        self.assertTrue(self.fits(grammar, '"\U0001f600"'))
        self.assertFalse(self.fits(grammar, '"\uff00"'))

    def test_what_has_no_grammar_is_refused_by_name_and_place(self):
        for schema, said in REFUSED:
            with self.assertRaises(ggufx.Error) as seen:
                self.grammar(schema)
            self.assertEqual(seen.exception.code, ggufx.Status.UNSUPPORTED, schema)
            self.assertIn(said, str(seen.exception), schema)


if __name__ == "__main__":
    unittest.main()
