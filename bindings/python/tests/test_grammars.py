"""Texts that fit a grammar or a schema.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import json
import re

import numpy as np
from ggufx import (
    Generator, Grammar, GrammarFlags, GrammarKind, Matcher, MatcherFlags, Model, Prompt, Sampler, Session, Status,
    Tokenizer)

from .common import Case

GBNF = 'root ::= " the " [a-z]{3,6} "."'


class Grammars(Case):
    def setUp(self) -> None:
        super().setUp()
        self.file = self.demo()
        self.tokenizer = Tokenizer(self.file)

    def schema(self, schema: object, flags: int = 0) -> Grammar:
        return Grammar(self.rt, self.tokenizer, kind=GrammarKind.JSON_SCHEMA, flags=flags,
                       text=json.dumps(schema, ensure_ascii=False))

    def test_a_matcher_follows_a_text(self) -> None:
        matcher = Matcher(Grammar(self.rt, self.tokenizer, text=GBNF))
        info = matcher.info
        self.assertEqual((info.n_tokens, info.n_vocab, info.n_words), (0, 1024, 32))
        self.assertEqual(info.flags, 0)
        ids = self.tokenizer.tokenize("the cat.")  # the tokenizer adds a leading space
        for n, id in enumerate(ids):
            self.assertIn(id, matcher.allowed())
            self.assertEqual(matcher.info.n_tokens, n)
            matcher.accept([id])
        self.assertTrue(matcher.info.flags & MatcherFlags.COMPLETE)
        self.assertEqual(matcher.allowed().tolist(), [2])  # </s>
        before = matcher.clone()
        matcher.accept([2])
        self.assertTrue(matcher.info.flags & MatcherFlags.ENDED)
        self.fails(Status.STATE, matcher.mask)
        self.assertFalse(before.info.flags & MatcherFlags.ENDED)
        before.rollback(len(ids))
        self.assertEqual(before.info.n_tokens, 0)
        out = np.zeros(32, np.uint32)
        self.assertIs(before.mask(out_bits=out), out)
        self.assertTrue(out.any())
        error = self.fails(Status.VALUE, before.accept, [*ids[:2], 2])
        self.assertEqual(error.index, 2)
        self.fails(Status.ARGUMENT, before.accept, [1024])
        self.fails(Status.ARGUMENT, before.rollback, 1)
        self.fails(Status.ARGUMENT, before.mask, out_bits=np.zeros(31, np.uint32))

    def test_what_is_sampled_fits(self) -> None:
        session = Session(Model(self.rt, self.file), n_context=64)
        schema = {"type": "array", "items": {"enum": ["é", 1]}, "minItems": 1, "maxItems": 3}
        grammar = self.schema(schema, GrammarFlags.COMPACT)
        for seed in range(3):
            with Generator(session, sampler=Sampler(self.rt, 1024, seed), grammar=grammar) as generator:
                items = json.loads("".join(event.text for event in generator.prompt(Prompt(tokens=[1]))))
            self.assertTrue(1 <= len(items) <= 3 and all(item in ("é", 1) for item in items), items)
        matcher = Matcher(Grammar(self.rt, self.tokenizer, text=GBNF))
        sampler, text = Sampler(self.rt, 1024, 0), []
        while True:
            id, logprob = sampler.sample(np.zeros(1024, np.float32), matcher=matcher)
            self.assertAlmostEqual(logprob, -np.log(1024), 4)
            if matcher.info.flags & MatcherFlags.ENDED:
                break
            text.append(id)
        said = self.tokenizer.detokenize(text, flags=2).decode()  # KEEP_SPACE
        self.assertTrue(re.fullmatch(r" the [a-z]{3,6}\.", said), said)
