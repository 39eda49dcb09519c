"""Semantic search: finds the text most similar to a question by cosine similarity.

SPDX-License-Identifier: MIT
"""
import sys

import ggufx

TEXTS = ["The old book was under the bed.", "Nib and Nib played in the village.",
         "The sun was warm and the sky was blue."]

with ggufx.Runtime() as rt, ggufx.File.open(rt, sys.argv[1]) as file:
    tokenizer = ggufx.Tokenizer(file)
    embedder = ggufx.Embedder(ggufx.Model(rt, file), pooling=ggufx.Pooling.MEAN, flags=ggufx.EmbedFlags.NORMALIZE)
    vectors = embedder.embed([tokenizer.tokenize(text) for text in [*TEXTS, "Where is the book?"]])
    cosines = vectors[:-1] @ vectors[-1]
    for cosine, text in sorted(zip(cosines, TEXTS), reverse=True):
        print(f"{cosine:.3f} {text}")
