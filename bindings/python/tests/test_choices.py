"""Probabilities of tokens and endings, importance matrices of a model.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import numpy as np

import ggufx
from ggufx import Imatrix, Model, Session, Status

from .common import Case, item

CONTEXT = [1, 300, 301]


class Choices(Case):
    def session(self) -> Session:
        return Session(Model(self.rt, self.demo()), n_context=64)

    def test_logarithms_are_those_of_the_formula(self) -> None:
        logits = np.array([0.5, 3, -np.inf, 3, 1], np.float32)
        want = logits.astype(float) - np.log(np.exp(logits.astype(float)).sum())
        ids, values = self.rt.logprobs(3, logits)
        self.assertEqual(ids.tolist(), [1, 3, 4])
        self.near(values, want[[1, 3, 4]], 1e-6)
        ids, values = self.rt.logprobs(2, logits, tokens=[2, 0])
        self.assertEqual((ids.tolist(), values[0]), ([2, 0], -np.inf))
        self.assertAlmostEqual(values[1], want[0], 6)
        self.fails(Status.ARGUMENT, self.rt.logprobs, -1, logits)
        self.fails(Status.ARGUMENT, self.rt.logprobs, 6, logits)
        e = self.fails(Status.ARGUMENT, self.rt.logprobs, 2, logits, tokens=[4, 5])
        self.assertEqual(e.index, 1)
        self.fails(Status.VALUE, self.rt.logprobs, 1, np.full(2, np.nan, np.float32))

    def test_endings_have_the_sums_of_their_tokens(self) -> None:
        session, endings = self.session(), [[302], [303, 304], [302, 305, 306]]
        got, want = session.eval_continuations(CONTEXT, endings), []
        for ending in endings:
            total = 0.0
            for i, id in enumerate(ending):
                logits = session.decode([item(0, CONTEXT if i == 0 else [ending[i - 1]])])
                total += float(self.rt.logprobs(1, logits[0], tokens=[id])[1][0])
            want.append(total)
            session.truncate(0, 0)
        self.near(got, want, 0.05)  # products of one column and of many have other bits
        self.fails(Status.ARGUMENT, session.eval_continuations, CONTEXT, [[302], []])
        self.fails(Status.CAPACITY, session.eval_continuations, CONTEXT, [[302] * 64])
        self.fails(Status.CANCELLED, session.eval_continuations, CONTEXT, [[302]],
                   progress=lambda done, total: False)
        self.assertEqual(len(session), 0)

    def test_a_matrix_is_collected(self) -> None:
        session, tokens = self.session(), list(range(300, 380))
        m = Imatrix(session, tokens, 32, 1, dataset="text")
        self.assertEqual((m.info.n_chunks, m.info.chunk_tokens, m.dataset_at(0)), (2, 32, "text"))
        self.assertEqual(m.entries["blk.0.attn_q.weight"].counts.tolist(), [64])
        self.assertTrue((m.entries["blk.0.ffn_down.weight"].sums >= 0).all())
        self.assertNotIn("output.weight", m.entries)
        with_output = Imatrix(session, np.array(tokens, np.int32), 32, 1, flags=ggufx.ImatrixFlags.OUTPUT)
        self.assertEqual(len(with_output.entries), len(m.entries) + 1)
        self.same(with_output.entries["blk.0.attn_q.weight"].sums, m.entries["blk.0.attn_q.weight"].sums)
        self.fails(Status.ARGUMENT, Imatrix, session, tokens[:31], 32, -1)

        def fault(done: int, total: int) -> None:
            raise KeyError("of the program")
        with self.assertRaises(KeyError):
            Imatrix(session, tokens, 32, -1, progress=fault)
        self.assertEqual(len(session), 0)
