"""Structured output: constrained decoding of JSON that matches a JSON Schema.

SPDX-License-Identifier: MIT
"""
import sys

import ggufx

SCHEMA = """{"type": "object", "additionalProperties": false,
    "required": ["name", "age", "likes"], "properties": {
    "name": {"enum": ["Nib", "Tom"]}, "age": {"type": "integer", "minimum": 1, "maximum": 9},
    "likes": {"type": "array", "maxItems": 2, "items": {"enum": ["books", "sun"]}}}}"""

with ggufx.Runtime() as rt, ggufx.File.open(rt, sys.argv[1]) as file:
    model, tokenizer = ggufx.Model(rt, file), ggufx.Tokenizer(file)
    grammar = ggufx.Grammar(
        rt, tokenizer, kind=ggufx.GrammarKind.JSON_SCHEMA, text=SCHEMA, flags=ggufx.GrammarFlags.COMPACT)
    print(model.complete("Once upon a time", grammar=grammar))
