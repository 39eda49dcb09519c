"""Probabilities of tokens and endings, texts that end a generation, importance matrices of a model.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import numpy as np

import ggufx
from ggufx import Imatrix, Model, Session, Status, Stop, StopInfo, logprobs

from .common import Case

CONTEXT = [1, 300, 301]


class Choices(Case):
    def session(self) -> Session:
        return Session(Model(self.rt, self.demo()), n_context=64)

    def test_texts_are_found_over_pieces(self) -> None:
        stop = Stop(self.rt, ["</s>", b"\xff\0"])
        self.assertEqual(stop.feed("a<"), StopInfo(None, 1, 2))
        self.assertEqual(stop.feed(b"/s"), StopInfo(None, 1, 4))
        self.assertEqual(stop.feed(">b"), StopInfo(0, 1, 5))
        self.fails(Status.STATE, stop.feed, "b")
        stop.reset()
        self.assertEqual(stop.feed(bytearray(b"</\xff\0")), StopInfo(1, 2, 4))
        self.assertEqual(self.fails(Status.ARGUMENT, Stop, self.rt, ["a", ""]).index, 1)
        self.fails(Status.LIMIT, Stop, self.rt, ["a" * 2**20, "b"])
        stop.close()
        self.assertRaises(ggufx.ClosedError, stop.reset)

    def test_logarithms_are_those_of_the_formula(self) -> None:
        logits = np.array([0.5, 3, -np.inf, 3, 1], np.float32)
        want = logits.astype(float) - np.log(np.exp(logits.astype(float)).sum())
        ids, values, chosen = logprobs(self.rt, logits, 3, 0)
        self.assertEqual(ids.tolist(), [1, 3, 4])
        self.near(values, want[[1, 3, 4]], 1e-6)
        self.assertAlmostEqual(chosen or 0, want[0], 6)
        self.assertEqual(logprobs(self.rt, logits, 0, 2)[2], -np.inf)
        self.assertIsNone(logprobs(self.rt, logits, 5)[2])
        self.fails(Status.ARGUMENT, logprobs, self.rt, logits, 6)
        self.fails(Status.ARGUMENT, logprobs, self.rt, logits, 1, 5)
        self.fails(Status.VALUE, logprobs, self.rt, np.full(2, np.nan, np.float32), 1)

    def test_endings_have_the_sums_of_their_tokens(self) -> None:
        session, endings = self.session(), [[302], [303, 304], [302, 305, 306]]
        got, want = session.endings(CONTEXT, endings), []
        for ending in endings:
            sum = 0.0
            for i, id in enumerate(ending):
                session.decode(CONTEXT if i == 0 else [ending[i - 1]])
                sum += logprobs(self.rt, session.logits(), 0, id)[2] or 0
            want.append(sum)
            session.truncate(0)
        self.near(got, want, 0.05)  # products of one column and of many have other bits
        self.fails(Status.ARGUMENT, session.endings, CONTEXT, [[302], []])
        self.fails(Status.CAPACITY, session.endings, CONTEXT, [[302] * 64])
        self.fails(Status.CANCELLED, session.endings, CONTEXT, endings,
                   progress=lambda done, total: False)
        self.assertEqual(len(session), 0)

    def test_a_matrix_is_collected(self) -> None:
        session, tokens = self.session(), list(range(300, 380))
        m = Imatrix.collect(session, tokens, 32, bos=1, dataset="text")
        self.assertEqual((m.info.n_chunks, m.info.chunk_tokens, m.dataset(0)), (2, 32, "text"))
        self.assertEqual(m["blk.0.attn_q.weight"].counts.tolist(), [64])
        self.assertTrue((m["blk.0.ffn_down.weight"].sums >= 0).all())
        self.assertNotIn("output.weight", m)
        with_output = Imatrix.collect(session, np.array(tokens, np.int32), 32, bos=1, output=True)
        self.assertEqual(len(with_output), len(m) + 1)
        self.same(with_output["blk.0.attn_q.weight"].sums, m["blk.0.attn_q.weight"].sums)
        self.fails(Status.ARGUMENT, Imatrix.collect, session, tokens[:31], 32)

        def fault(done: int, total: int) -> None:
            raise KeyError("of the program")
        with self.assertRaises(KeyError):
            Imatrix.collect(session, tokens, 32, progress=fault)
        self.assertEqual(len(session), 0)
