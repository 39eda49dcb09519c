# Each keyword of JSON schemas: documents that it accepts fit the grammar, others do not; with
# python3-jsonschema the table itself is checked. Members stand in the order of `properties`.
# SPDX-License-Identifier: MIT
import unittest

from grammar_case import Case, ggufx, text_of, validator

LIST = {"$ref": "#/$defs/list", "$defs": {"list": {
    "type": ["object", "null"], "properties": {"v": True, "next": {"$ref": "#/$defs/list"}},
    "required": ["next"], "additionalProperties": False}}}

# keyword, schema, what it accepts, what it refuses
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
    ("then", {"then": False, "else": False, "minContains": 9, "maxContains": 0}, [1, [1], None], []),
    ("title", {"title": "t", "description": "d", "default": 1, "examples": [2], "$comment": "c", "deprecated": True,
               "readOnly": True, "type": "null"}, [None], [1]),
]

# What has no grammar is refused: the keyword, or why, and where.
REFUSED = [
    ({"properties": {"a": {"if": {}, "then": {}}}}, "#/properties/a: the keyword 'if'"),
    ({"contains": {"const": 1}}, "'contains'"),
    ({"uniqueItems": True}, "'uniqueItems'"),
    ({"multipleOf": 3}, "'multipleOf'"),
    ({"propertyNames": {"maxLength": 3}}, "'propertyNames'"),
    ({"minProperties": 1}, "'minProperties'"),
    ({"maxProperties": 1}, "'maxProperties'"),
    ({"dependentRequired": {"a": ["b"]}}, "'dependentRequired'"),
    ({"dependentSchemas": {"a": {}}}, "'dependentSchemas'"),
    ({"unevaluatedProperties": False}, "'unevaluatedProperties'"),
    ({"unevaluatedItems": False}, "'unevaluatedItems'"),
    ({"$dynamicRef": "#a"}, "'$dynamicRef'"),
    ({"type": "number", "minimum": 1}, "'minimum'"),
    ({"not": {"minimum": 1}}, "'not'"),
    ({"allOf": [{"patternProperties": {"a": {}}}]}, "'patternProperties'"),
    ({"oneOf": [{"type": "integer"}, {"maximum": 3}]}, "#/oneOf: branches 0 and 1"),
    ({"$ref": "other.json"}, "out of the schema"),
    ({"type": "string", "pattern": "(?=a)"}, "assertion"),
]


class Keywords(Case):
    def test_what_a_keyword_accepts_fits_and_what_it_refuses_does_not(self):
        n = 0
        for keyword, schema, valid, invalid in TABLE:
            grammar = self.grammar(schema)
            for of, want in ((valid, True), (invalid, False)):
                for value in of:
                    for indent in (None, 1):
                        n += 1
                        text = text_of(value, indent=indent)
                        self.assertEqual(self.fits(grammar, text), want, (keyword, schema, text))
        self.assertGreater(n, 400)

    def test_the_table_is_what_another_validator_says(self):
        kind = validator()
        if kind is None:
            self.skipTest("no python3-jsonschema")
        for keyword, schema, valid, invalid in TABLE:
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
