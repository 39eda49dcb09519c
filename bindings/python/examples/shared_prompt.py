"""Shared prefix: a common prompt is computed once, and sequences share its KV cache.

SPDX-License-Identifier: MIT
"""
import sys

import ggufx

PROMPT = ("Once upon a time Nib was in the village. The old book was under the bed. "
          "The sun was warm. Nib and Tuft played and sang. "
          "Soon it was getting dark. That night they went home. The next day they baked a cake.")
MORE = [" Nib was", " The sun"]

with ggufx.Runtime() as rt, ggufx.File.open(rt, sys.argv[1]) as file:
    model, tokenizer = ggufx.Model(rt, file), ggufx.Tokenizer(file)
    session = ggufx.Session(model, n_sequences=len(MORE) + 1)
    sampler = ggufx.Sampler(rt, model.info.n_vocab, 0)
    sampler.add_top_k(1)  # greedy
    ids = tokenizer.tokenize(PROMPT, flags=ggufx.TokenizeFlags.ADD_SPECIAL)
    session.decode([ggufx.DecodeItem(0, flags=ggufx.DecodeFlags.CHECKPOINT, tokens=ids)])
    for i, text in enumerate(MORE, 1):
        session.copy(0, i, len(ids))
        more = tokenizer.tokenize(text).tolist()
        row = session.decode([ggufx.DecodeItem(i, flags=ggufx.DecodeFlags.LOGITS, tokens=more)])[0]
        for _ in range(8):
            more.append(sampler.sample(row)[0])
            row = session.decode([ggufx.DecodeItem(i, flags=ggufx.DecodeFlags.LOGITS, tokens=more[-1:])])[0]
        print(tokenizer.detokenize_text(more))
    facts = session.info
    print(f"{facts.n_tokens} tokens, {facts.n_shared_pages} shared pages")
