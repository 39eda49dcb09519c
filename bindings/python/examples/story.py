"""Greedy generation: prefills a prompt, then decodes the most likely token at each step.

SPDX-License-Identifier: MIT
"""
import sys

import ggufx

with ggufx.Runtime() as rt, ggufx.File.open(rt, sys.argv[1]) as file:
    model, tokenizer = ggufx.Model(rt, file), ggufx.Tokenizer(file)
    session, sampler = ggufx.Session(model), ggufx.Sampler(rt, model.info.n_vocab)
    ids = tokenizer.tokenize("Once upon a time", flags=ggufx.TokenizeFlags.ADD_SPECIAL).tolist()
    for id in session.generate(ids[:], sampler, 40 - len(ids), tokenizer=tokenizer):
        ids.append(id)
    print(tokenizer.detokenize_text(ids))
