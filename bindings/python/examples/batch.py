"""Continuous batching: several prompts in one session; each step decodes one token per sequence.

SPDX-License-Identifier: MIT
"""
import sys

import ggufx

PROMPTS = ["Once upon a time", "The sun", "Nib was"]

with ggufx.Runtime() as rt, ggufx.File.open(rt, sys.argv[1]) as file:
    model, tokenizer = ggufx.Model(rt, file), ggufx.Tokenizer(file)
    session = ggufx.Session(model, n_sequences=len(PROMPTS))
    sampler = ggufx.Sampler(rt, model.info.n_vocab, 0)
    sampler.add_top_k(1)  # greedy
    texts = [tokenizer.tokenize(p, flags=ggufx.TokenizeFlags.ADD_SPECIAL).tolist() for p in PROMPTS]
    new = [list(text) for text in texts]
    for _ in range(12):
        rows = session.decode([ggufx.DecodeItem(i, flags=ggufx.DecodeFlags.LOGITS, tokens=ids) for i, ids in enumerate(new)])
        new = [[sampler.sample(row)[0]] for row in rows]
        texts = [text + ids for text, ids in zip(texts, new)]
    for text in texts:
        print(tokenizer.detokenize_text(text))
