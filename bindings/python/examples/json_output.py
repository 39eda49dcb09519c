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
    session, sampler = ggufx.Session(model), ggufx.Sampler(rt, model.info.n_vocab)
    matcher = ggufx.Matcher(ggufx.Grammar(
        rt, tokenizer, kind=ggufx.GrammarKind.JSON_SCHEMA, text=SCHEMA, flags=ggufx.GrammarFlags.COMPACT))
    new = tokenizer.tokenize("Once upon a time", flags=ggufx.TokenizeFlags.ADD_SPECIAL).tolist()
    ids = []
    while not matcher.info.flags & ggufx.MatcherFlags.ENDED:
        session.decode(new)
        new = [sampler.sample_matching(matcher, session.logits())[0]]
        ids += new
    print(tokenizer.detokenize_text(ids))
