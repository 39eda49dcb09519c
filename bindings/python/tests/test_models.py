"""Tokens, conversations and perplexity.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from typing import Any

import numpy as np

import ggufx
from ggufx import (
    AttentionView, KvType, MatmulFlags, Model, Sampler, Session, Status, TokenFlags, Tokenizer,
    TokenizeFlags)

from .common import Case


class Models(Case):
    def story(self, **how: Any) -> str:
        file = self.demo()
        model, tokenizer = Model(self.rt, file), Tokenizer(file)
        session, info = Session(model), model.info
        file.close()
        model.close()  # the session keeps what it needs
        sampler = Sampler(self.rt, info.n_vocab, **how)
        ids = tokenizer.encode("Once upon a time", TokenizeFlags.ADD_SPECIAL).tolist()
        ids += session.generate(ids, sampler, 40 - len(ids), tokenizer=tokenizer)
        return tokenizer.decode(ids)

    def test_the_demo_model_tells_a_story(self) -> None:
        told = self.story()
        self.assertTrue(told.startswith("Once upon a time") and len(told) > 60, told)
        warm: dict[str, Any] = dict(temperature=1.5, top_k=40, seed=7)
        self.assertEqual(told, self.story())
        self.assertEqual(self.story(**warm), self.story(**warm))
        self.assertNotEqual(told, self.story(**warm))

    def test_generation_ends(self) -> None:
        file = self.demo()
        session, sampler = Session(Model(self.rt, file), n_context=8), Sampler(self.rt, 1024)
        self.assertEqual(len(list(session.generate([1, 300], sampler))), 7)  # the context is full
        self.assertEqual(len(session), 8)
        session.truncate(0)
        self.assertEqual(len(list(session.generate([1, 300], sampler, 3))), 3)
        self.assertEqual(len(session), 4)  # the last one given is not decoded
        self.fails(Status.CANCELLED, list, session.generate([5], sampler,
                                                            progress=lambda d, t: False))
        self.assertEqual(len(session), 4)

    def test_tokens(self) -> None:
        tokenizer = Tokenizer(self.demo())
        info = tokenizer.info
        self.assertEqual((info.kind, len(tokenizer), info.bos, info.eos), ("llama", 1024, 1, 2))
        text = "The little dog, \u00e9\U0001f600!"
        self.assertEqual(tokenizer.decode(tokenizer.encode(text)), text)
        self.assertEqual(tokenizer.encode(text).dtype, np.int32)
        self.assertEqual(tokenizer.encode("").size, 0)
        self.assertEqual(tokenizer.decode_bytes([]), b"")
        self.assertTrue(tokenizer.token(2).flags & TokenFlags.END)
        self.assertEqual(tokenizer.token(2).text, b"</s>")
        self.fails(Status.ARGUMENT, tokenizer.token, 1024)
        self.fails(Status.ARGUMENT, tokenizer.decode, [5000])
        self.fails(Status.ARGUMENT, tokenizer.decode, [2**31])
        self.fails(Status.ARGUMENT, tokenizer.decode, np.array([5], np.int64))

    def test_decode(self) -> None:
        session = Session(Model(self.rt, self.demo()), n_context=16)
        ids = [1, 300, 301, 302]
        self.fails(Status.CANCELLED, session.decode, ids, progress=lambda done, total: False)
        self.fails(Status.STATE, session.logits)
        seen: list[AttentionView] = []
        every = np.empty((4, 1024), np.float32)

        def look(view: AttentionView) -> bool:
            seen.append(view)
            shapes = view.q.shape, view.k.shape, view.v.shape
            return shapes == ((4, 4, 64), (4, 2, 64), (4, 2, 64)) and bool(view.out.any())
        session.decode(ids, every, attention=look)
        self.assertEqual([v.layer for v in seen], [0, 1, 2, 3])
        self.fails(Status.STATE, lambda: seen[0].q)  # its memory is another one's now
        self.same(every[3], session.logits())
        session.truncate(2)
        self.fails(Status.CAPACITY, session.decode, [0] * 15)
        self.assertEqual(self.fails(Status.ARGUMENT, session.decode, [1, 4000]).index, 1)
        self.fails(Status.ARGUMENT, session.decode, ids, np.empty((3, 1024), np.float32))
        self.fails(Status.CANCELLED, session.decode, ids, attention=lambda view: False)

        def broken(view: AttentionView) -> None:
            raise RuntimeError("mine")
        with self.assertRaisesRegex(RuntimeError, "mine"):
            session.decode(ids, attention=broken)
        self.assertEqual(len(session), 2)

    def test_perplexity(self) -> None:
        file = self.demo()
        session = Session(Model(self.rt, file))
        text = "Once upon a time there was a little dog. The dog was happy. " * 6
        ids = Tokenizer(file).encode(text)
        running: list[float] = []

        def report(p: ggufx.Perplexity) -> None:
            running.append(p.perplexity)
        result = session.score(ids, 32, 1, report)
        self.assertGreater(result.perplexity, 1)
        self.assertEqual((result.n_chunks, result.perplexity), (len(running), running[-1]))
        self.assertEqual(session.score(ids, 32, 1), result)
        self.fails(Status.CANCELLED, session.score, ids, 32, report=lambda p: False)
        self.fails(Status.ARGUMENT, Sampler, self.rt, 8, top_p=-1)

    def test_options_of_sessions(self) -> None:
        model, ids = Model(self.rt, self.demo()), [1, 300, 301, 302]
        f32: Any = KvType.F32
        seen = set()
        hows: list[dict[str, Any]] = [
            {}, {"type_k": f32}, {"type_v": f32}, {"type_k": f32, "type_v": f32},
            {"matmul_flags": MatmulFlags.F32}]
        for how in hows:
            session = Session(model, **how)
            session.decode(ids)
            seen.add(float(session.logits()[5]))
        self.assertEqual(len(seen), 5)
        batches: list[tuple[int, int]] = []

        def look(view: AttentionView) -> None:
            batches.append((view.first_token, view.n_tokens))
        Session(model, n_batch=2).decode(ids, attention=look)
        self.assertEqual(batches, [(0, 2)] * 4 + [(2, 2)] * 4)

    def test_options_of_samplers(self) -> None:
        logits = np.arange(4, dtype=np.float32)

        def draws(**how: Any) -> list[int]:
            sampler = Sampler(self.rt, 4, temperature=100, **how)
            return [sampler.sample(logits)[0] for _ in range(30)]
        one: list[dict[str, Any]] = [{"top_k": 1}, {"top_p": 0.01}, {"min_p": 0.9}, {"top_p": 0.2}]
        for how in one:
            self.assertEqual(set(draws(**how)), {3})
        self.assertIn(2, draws(min_p=0.2))  # 0.37 of the likeliest one's
        self.assertEqual(draws(seed=1), draws(seed=1))
        self.assertNotEqual(draws(seed=1), draws(seed=2))
        id, logprob = Sampler(self.rt, 4).sample(logits)
        self.assertEqual(id, 3)
        self.near(logprob, np.log(np.exp(3) / np.exp(logits).sum()), 1e-5)
        self.fails(Status.VALUE, Sampler(self.rt, 4).sample, np.full(4, np.nan, np.float32))
