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
    session = ggufx.Session(model)
    grammar = ggufx.Grammar(
        rt, tokenizer, kind=ggufx.GrammarKind.JSON_SCHEMA, text=SCHEMA, flags=ggufx.GrammarFlags.COMPACT)
    generator = ggufx.Generator(session, grammar=grammar)
    generator.set_prompt(ggufx.Prompt(text="Once upon a time"))
    while (event := generator.next()).kind != ggufx.EventKind.END:
        print(event.text, end="")
    print()
