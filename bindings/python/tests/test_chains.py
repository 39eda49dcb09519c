"""Samplers as chains, drafts of generators, texts measured against saved logits, texts edited.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import asyncio
import gc
import io
from typing import Callable

import numpy as np

import ggufx
from ggufx import (
    DecodeFlags, DecodeItem, DraftOptions, End, EventKind, Generator, GeneratorFlags, Grammar, LogitBias, MatmulFlags,
    EvalFacts, EvalFlags, Model, Prompt, Sampler, Session, Status, Tokenizer)
from ggufx._buffers import Array

from .common import Case, item

LOGITS = np.array([0.5, 3, 2.5, -1, 2.9, 0], np.float32)
PROMPT = [300 + i % 8 for i in range(40)]


def draws(sampler: Sampler) -> list[int]:
    return [sampler.sample(LOGITS)[0] for _ in range(40)]


def only_three(list: Array) -> None:
    list["logit"] = np.where(list["id"] == 3, 1, -np.inf)


class Chains(Case):
    def chain(self) -> Sampler:
        return Sampler(self.rt, 6, 7)

    def test_every_sampler_does_what_it_says(self) -> None:
        biases = [LogitBias(1, -np.inf), LogitBias(4, -100), LogitBias(2, -100), LogitBias(0, 20)]
        adds: list[tuple[Callable[[Sampler], None], set[int]]] = [
            (lambda s: s.add_top_k(1), {1}), (lambda s: s.add_top_p(0.5), {1, 4}), (lambda s: s.add_min_p(0.5), {1, 2, 4}),
            (lambda s: s.add_typical(0.4), {4, 2}), (lambda s: s.add_top_n_sigma(0.3), {1, 4}),
            (lambda s: s.add_xtc(1, 0.2), {2, 0, 3, 5}), (lambda s: s.add_temperature(0), {1}),
            (lambda s: s.add_logit_bias(biases), {0}), (lambda s: s.add_mirostat(tau=0.1), {1}),
            (lambda s: s.add_host(only_three), {3})]
        for i, (add, ids) in enumerate(adds):
            with self.subTest(i):
                sampler = self.chain()
                add(sampler)
                self.assertLessEqual(set(draws(sampler)), ids)

    def test_clones_go_on_as_the_first_one(self) -> None:
        first = self.chain()
        first.add_temperature(2)
        before, second = draws(first), first.clone()
        after = draws(second)
        self.assertEqual(draws(first), after)
        self.assertNotEqual(before, after)
        first.reset()
        self.assertEqual(draws(first), before)
        first.close()
        self.assertRaises(ggufx.ClosedError, first.reset)

    def test_a_host_may_stop_or_raise(self) -> None:
        stops = self.chain()
        stops.add_host(lambda list: False)
        self.fails(Status.CANCELLED, stops.sample, LOGITS)

        def broken(list: Array) -> None:
            raise KeyError("of the program")

        sampler = self.chain()
        sampler.add_host(broken)
        clone = sampler.clone()
        del sampler  # the clone keeps the custom sampler
        gc.collect()
        for _ in range(2):
            self.assertRaises(KeyError, clone.sample, LOGITS)
        sampler = Sampler(self.rt, 1024, 0)
        sampler.add_host(broken)
        events = Model(self.rt, self.demo()).generate("Nib", sampler=sampler)
        del sampler  # so does a generator
        gc.collect()
        self.assertRaises(KeyError, next, events)
        last = self.chain()
        last.add_mirostat(version=1)
        self.fails(Status.STATE, last.add_top_k, 1)
        self.fails(Status.ARGUMENT, self.chain().add_min_p, 1.5)
        self.fails(Status.DUPLICATE, self.chain().add_logit_bias, [LogitBias(1, 1), LogitBias(1, 1)])


class Drafts(Case):
    def session(self) -> Session:
        return Session(Model(self.rt, self.demo()), n_context=256)

    def generated(self, draft: DraftOptions | None = None) -> tuple[list[int], int]:
        """Ids of sixty tokens, and the number of drafts."""
        session = self.session()
        generator = Generator(session, flags=GeneratorFlags.IDS_ONLY | GeneratorFlags.IGNORE_EOG, max_tokens=60,
                              sampler=Sampler(self.rt, 1024, 3), draft=draft)
        session.close()  # it stays as long as the generator
        *events, end = generator.prompt(Prompt(tokens=PROMPT))
        ids = [token.id for event in events for token in event.tokens]
        info = generator.info
        self.assertEqual((end.end, len(ids), info.n_tokens), (End.LENGTH, 60, 60))
        self.assertLessEqual(info.n_accepted, info.n_drafted)
        return ids, info.n_drafted

    def test_drafts_change_no_id(self) -> None:
        want, none = self.generated()
        self.assertEqual((self.generated(DraftOptions(n_match=2))[0], none), (want, 0))
        ids, drafted = self.generated(DraftOptions(self.session()))
        self.assertEqual(ids, want)
        self.assertGreater(drafted, 0)

    def test_asyncio_runs_while_tokens_are_computed(self) -> None:
        model = Model(self.rt, self.demo())

        async def story(n: int, texts: list[str]) -> None:
            async for event in model.agenerate("Once upon a time", max_tokens=n):
                texts.append(event.text)

        async def both() -> tuple[list[str], list[str]]:
            whole: list[str] = []
            part: list[str] = []
            task = asyncio.ensure_future(story(200, part))
            await story(12, whole)
            while not part and not task.done():
                await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            return whole, part

        whole, part = asyncio.run(both())
        self.assertEqual("".join(whole), model.complete("Once upon a time", max_tokens=12))
        self.assertLess(len(part), 200)
        self.assertRaises(ValueError, asyncio.run, story(-1, []))

    def test_a_cancelled_call_changes_nothing(self) -> None:
        session, tokenizer = self.session(), Tokenizer(self.demo())
        grammar = Grammar(self.rt, tokenizer, text='root ::= "once"')
        generator = Generator(session, grammar=grammar, draft=DraftOptions())
        self.fails(Status.STATE, generator.next)
        generator.set_prompt(Prompt(tokens=[1, 300]))
        self.fails(Status.CANCELLED, generator.next, progress=lambda done, total: False)
        self.assertEqual((generator.info.n_tokens, session.length(0)), (0, 0))
        text = ""
        while (event := generator.next()).kind != EventKind.END:
            text += event.text
        self.assertEqual((text, event.end), ("once", End.EOG))
        self.fails(Status.LIMIT, Generator, self.session(), draft=DraftOptions(n_draft=32))
        self.fails(Status.ARGUMENT, Generator, session, sequence=1, draft=DraftOptions(session))

    def test_a_text_is_measured_against_saved_logits(self) -> None:
        session, tokens = Session(Model(self.rt, self.demo()), n_context=64), range(300, 428)
        path, saved, seen = self.folder / "logits", io.BytesIO(), []
        first = session.eval_perplexity(list(tokens), 64, 1, save_path=path)
        session.eval_perplexity(list(tokens), 64, 1, write=saved.write)
        self.assertEqual(path.read_bytes(), saved.getvalue())
        self.assertEqual((first.n_chunks, first.flags), (2, 0))
        saved.seek(0)

        def report(running: EvalFacts) -> None:
            seen.append(running.n_chunks)

        same = session.eval_perplexity(list(tokens), 64, 1, read=saved.read, report=report)
        self.assertLess(same.kl, 1e-6)
        self.assertEqual((same.same_top_token, seen, same.perplexity), (1, [1, 2], first.perplexity))
        self.assertEqual(same.flags, EvalFlags.COMPARED | EvalFlags.SAME_MODEL)
        self.fails(Status.MISMATCH, session.eval_perplexity, list(tokens)[1:], 63, 1, reference_path=path)
        self.fails(Status.IO, session.eval_perplexity, list(tokens), 64, 1, reference_path=self.folder / "none")
        self.assertEqual(session.eval_perplexity(list(tokens), 64, 1, stride=16).n_chunks, 5)
        self.fails(Status.CANCELLED, session.eval_perplexity, list(tokens), 64, -1, report=lambda m: False)
        self.assertEqual(len(session), 0)

    def test_texts_are_edited(self) -> None:
        model, ids = Model(self.rt, self.demo()), list(range(300, 340))
        session = Session(model, n_context=300, n_sequences=3, n_context_total=128,
                          matmul_flags=MatmulFlags.TILED)
        self.assertEqual(session.info.n_context_total, 128)
        table = self.demo().tensor("token_embd.weight")
        rows = table.dequantize(first=300, n=40, rt=self.rt)
        hidden = np.empty((41, model.info.n_embedding), np.float32)
        both = session.decode(
            [item(0, ids, DecodeFlags.LOGITS | DecodeFlags.ALL_HIDDEN),
             DecodeItem(1, flags=DecodeFlags.LOGITS | DecodeFlags.HIDDEN, input_rows=rows, positions=range(40))], hidden=hidden)
        self.same(both[0], both[1])
        self.same(hidden[39], hidden[40])
        self.assertGreaterEqual(session.info.embedded_bytes, rows.nbytes)
        session.remove(0, 4, 10)
        session.shift(0, 4, 26, -10)
        left, positions = session.tokens(0, 0, 30)
        self.assertEqual(left.tolist(), ids[:4] + ids[14:])
        self.assertEqual(positions.tolist(), list(range(30)))
        self.fails(Status.ARGUMENT, session.remove, 0, 4, 27)
        self.fails(Status.ARGUMENT, session.shift, 0, 4, 2, 5)
        self.fails(Status.ARGUMENT, session.decode, [item(2, ids, positions=[1])])
        before = session.info.n_tokens_left
        full = self.fails(Status.CAPACITY, session.decode, [item(2, [300] * 300)])
        self.assertEqual((full.index, session.info.n_tokens_left), (0, before))
        saved = io.BytesIO()
        session.save(ggufx.ALL_SEQUENCES, saved.write)
        session.truncate(0, 0)
        saved.seek(0)
        session.load(ggufx.ALL_SEQUENCES, saved.read)
        self.assertEqual([session.length(i) for i in range(3)], [30, 40, 0])
