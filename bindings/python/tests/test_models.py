"""Tokens, conversations and perplexity.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from unittest import mock

import numpy as np

import ggufx
from ggufx import (
    AttentionView, DecodeFlags, DetokenizeFlags, Detokenizer, Embedder, EmbedFlags, End, Event, EventKind, Generator,
    GeneratorFlags, LayerKind, MatmulFlags, Model, Pooling, PreFlags, Prompt, Sampler, Session, Status, TokenFlags, Tokenizer, TokenizeFlags, TokenizerFlags)

from .common import Case, item


class Models(Case):
    def story(self, top_k: int = 1, temperature: float = 0) -> str:
        file = self.demo()
        model, tokenizer = Model(self.rt, file), Tokenizer(file)
        session, info = Session(model), model.info
        file.close()
        model.close()  # the session keeps its dependencies alive
        sampler = Sampler(self.rt, info.n_vocab, 7)
        sampler.add_top_k(top_k)
        sampler.add_temperature(temperature)
        generator = Generator(session, sampler=sampler, tokenizer=tokenizer, max_tokens=34)
        session.close()
        return "".join(event.text for event in generator.prompt("Once upon a time"))

    def test_the_demo_model_tells_a_story(self) -> None:
        told = self.story()
        self.assertGreater(len(told), 60, told)
        self.assertEqual(Model(self.rt, self.demo()).complete("Once upon a time", max_tokens=34), told)
        warm = self.story(40, 1.5)
        self.assertEqual(told, self.story())
        self.assertEqual(self.story(40, 1.5), warm)
        self.assertNotEqual(told, warm)

    def test_ids_one_by_one_give_whole_characters(self) -> None:
        tokenizer, text = Tokenizer(self.demo()), "The little dog, \u00e9\U0001f600!"
        ids = tokenizer.tokenize(text).tolist()
        half, = (id for id in ids if tokenizer.token_info(id).text == b"<0xC3>")
        out = Detokenizer(tokenizer, DetokenizeFlags.FLUSH)  # which it takes out
        for _ in range(2):
            parts = [out.push([id]) for id in ids]
            self.assertEqual("".join(parts), text)
            self.assertGreaterEqual(parts.count(""), 4)  # incomplete characters
            self.assertEqual(out.finish(), "")
            self.assertEqual(out.push([half]), "")
            self.fails(Status.ARGUMENT, out.push, [5000])
            self.assertEqual(out.finish(), "\ufffd")
            self.assertEqual(out.push(ids) + out.finish(), text)
        tokenizer.close()
        self.assertRaises(ggufx.ClosedError, out.push, ids)

    def test_special_tokens_and_pre_tokenizers(self) -> None:
        tokenizer = Tokenizer(self.demo())
        info = tokenizer.info
        self.assertEqual(info.flags, TokenizerFlags.ADD_BOS | TokenizerFlags.ADD_SPACE)
        self.assertIsNone(info.pre)
        self.assertEqual((info.eos, info.fim_prefix), (2, -1))
        every = [ggufx.pre_tokenizer_at(i) for i in range(ggufx.pre_tokenizer_count())]
        named = {pre.name: pre for pre in every}
        self.assertGreater(len(named), 70)
        self.assertTrue(all(pre.rules for pre in named.values()))
        llama = named["llama-bpe"]
        self.assertTrue(llama.flags & PreFlags.IGNORE_MERGES)
        steps = (llama.pipeline or "").split("\0")
        self.assertTrue(steps[0].startswith("S(?i:") and steps[1:] == ["B", ""], llama)
        self.assertEqual(named["gpt-2"].pipeline, "G\0")
        self.assertTrue(llama.unicode.startswith("15."))

    def test_generation_ends(self) -> None:
        file = self.demo()
        session = Session(Model(self.rt, file), n_context=8)
        generator = Generator(session, flags=GeneratorFlags.IDS_ONLY | GeneratorFlags.IGNORE_EOG)
        prompt = Prompt(tokens=[1, 300])
        *events, end = generator.prompt(prompt)
        self.assertEqual((len(events), end.kind, end.end), (7, EventKind.END, End.CONTEXT))
        self.assertEqual(len(session), 8)
        self.fails(Status.CANCELLED, list, generator.prompt(prompt, progress=lambda d, t: False))
        self.assertEqual(len(session), 1)  # which the prompt shares, and no other
        older = generator.prompt(prompt)
        next(older)
        newer = generator.prompt(prompt)
        self.assertEqual(list(older), [])
        older.close()
        self.assertEqual(len(list(newer)), len(events) + 1)
        broken_off = generator.prompt(prompt)
        self.assertEqual(next(broken_off).kind, EventKind.TEXT)
        broken_off.close()
        self.assertEqual(generator.next().end, End.CANCELLED)
        self.assertEqual([event.tokens for event in generator.prompt(prompt)][:7], [event.tokens for event in events])
        self.fails(Status.UNSUPPORTED, generator.prompt, "text")
        fault = Event(EventKind.END, End.ERROR, Status.VALUE, 0, "no number", ())
        with mock.patch.object(Generator, "next", return_value=fault):
            self.assertEqual(str(self.fails(Status.VALUE, list, generator.prompt(prompt))), "VALUE: no number")

    def test_layers_and_other_keys(self) -> None:
        file = self.demo()
        model = Model(self.rt, file)
        info = model.info
        for i in range(info.n_layers):
            layer = model.layer_info(i)
            self.assertEqual((layer.kind, layer.kv_layer, layer.flags), (LayerKind.ATTENTION, i, 0))
            self.assertEqual((layer.n_heads, layer.n_kv_heads), (info.n_heads, info.n_kv_heads))
            self.assertEqual((layer.head_dim_k, layer.head_dim_v, layer.window), (64, 64, 0))
            self.assertIsNone(layer.sink_logits)
        self.fails(Status.ARGUMENT, model.layer_info, info.n_layers)
        self.assertIn("token_embd", file.model_describe_graph())
        other = Model(self.rt, file, overrides={"llama.context_length": 77})
        self.assertEqual(other.info.n_context, 77)
        for wrong in ({"llama.nosuch": 1}, {"llama.context_length": "many"},
                      {"llama.context_length": "7\0"}, {"llama.context_length": True}):
            self.fails(Status.ARGUMENT, Model, self.rt, file, overrides=wrong)
        seen: list[tuple[int, int]] = []

        def stop(done: int, total: int) -> bool:
            seen.append((done, total))
            return done < 3
        self.fails(Status.CANCELLED, Model, self.rt, file, progress=stop)
        self.assertEqual(seen, [(1, 4), (2, 4), (3, 4)])

    def test_tokens(self) -> None:
        tokenizer = Tokenizer(self.demo())
        info = tokenizer.info
        self.assertEqual((info.kind, len(tokenizer), info.bos, info.eos), ("llama", 1024, 1, 2))
        text = "The little dog, \u00e9\U0001f600!"
        self.assertEqual(tokenizer.detokenize_text(tokenizer.tokenize(text)), text)
        self.assertEqual(tokenizer.tokenize(text).dtype, np.int32)
        self.assertEqual(tokenizer.tokenize("").size, 0)
        self.assertEqual(tokenizer.detokenize([]), b"")
        self.assertTrue(tokenizer.token_info(2).flags & TokenFlags.EOG)
        self.assertEqual(tokenizer.token_info(2).text, b"</s>")
        self.fails(Status.ARGUMENT, tokenizer.token_info, 1024)
        self.fails(Status.ARGUMENT, tokenizer.detokenize, [5000])
        self.fails(Status.ARGUMENT, tokenizer.detokenize, [2**31])
        self.fails(Status.ARGUMENT, tokenizer.detokenize, np.array([5], np.int64))

    def test_decode(self) -> None:
        session = Session(Model(self.rt, self.demo()), n_context=16, matmul_flags=MatmulFlags.BATCH_INVARIANT)
        ids = [1, 300, 301, 302]
        items = [item(0, ids, DecodeFlags.ALL_LOGITS)]
        self.fails(Status.CANCELLED, session.decode, items, progress=lambda done, total: False)
        seen: list[AttentionView] = []

        def look(view: AttentionView) -> bool:
            seen.append(view)
            shapes = view.q.shape, view.k.shape, view.v.shape
            return shapes == ((4, 4, 64), (4, 2, 64), (4, 2, 64)) and bool(view.out.any())
        every = session.decode(items, attention=look)
        self.assertEqual([v.layer for v in seen], [0, 1, 2, 3])
        self.fails(Status.STATE, lambda: seen[0].q)  # its memory is another one's now
        session.truncate(0, 0)
        self.same(every[3:], session.decode([item(0, ids)]))
        session.truncate(0, 2)
        full = self.fails(Status.CAPACITY, session.decode, [item(0, [0] * 15)])
        self.assertEqual((full.value, full.limit), (15, 14))
        self.assertEqual(self.fails(Status.ARGUMENT, session.decode, [item(0, [1, 4000])]).index, 0)
        self.fails(Status.ARGUMENT, session.decode, items, logits=np.empty((3, 1024), np.float32))
        self.fails(Status.CANCELLED, session.decode, items, attention=lambda view: False)

        def broken(view: AttentionView) -> None:
            raise RuntimeError("mine")
        with self.assertRaisesRegex(RuntimeError, "mine"):
            session.decode(items, attention=broken)
        self.assertEqual(len(session), 2)

    def test_perplexity(self) -> None:
        file = self.demo()
        session = Session(Model(self.rt, file))
        text = "Once upon a time there was a little dog. The dog was happy. " * 6
        ids = Tokenizer(file).tokenize(text)
        running: list[float] = []

        def report(p: ggufx.EvalFacts) -> None:
            running.append(p.perplexity)
        result = session.eval_perplexity(ids, 32, 1, report=report)
        self.assertGreater(result.perplexity, 1)
        self.assertEqual((result.n_chunks, result.perplexity), (len(running), running[-1]))
        self.assertEqual(session.eval_perplexity(ids, 32, 1), result)
        self.fails(Status.CANCELLED, session.eval_perplexity, ids, 32, -1, report=lambda p: False)
        self.fails(Status.ARGUMENT, Sampler(self.rt, 8, 0).add_top_p, -1)

    def test_texts_become_vectors(self) -> None:
        file = self.demo()
        model = Model(self.rt, file)
        self.assertEqual(model.info.flags, 0)  # it predicts; any model embeds
        texts = [[1, 300, 301], [5], [1, 302, 303, 304, 305]]
        embedder = Embedder(model)
        info = embedder.info
        self.assertEqual((info.pooling, info.dimensions), (Pooling.LAST, 256))
        every = embedder.embed(texts)
        self.assertEqual(every.shape, (3, 256))
        for text, row in zip(texts, every):
            self.same(embedder.embed([np.array(text, np.int32)])[0], row)
        rows = Embedder(model, n_context=4, pooling=Pooling.NONE, flags=EmbedFlags.TRUNCATE).embed(texts)
        self.assertEqual(rows.shape, (3 + 1 + 4, 256))
        self.same(rows[2], every[0])
        unit = Embedder(model, dimensions=16, flags=EmbedFlags.NORMALIZE).embed(texts[:1])
        self.near(float((unit * unit).sum()), 1, 1e-5)
        out = np.empty((3, 256), np.float32)
        self.assertIs(embedder.embed(texts, out=out), out)
        self.same(out, every)
        self.assertGreater(self.rt.embedder_estimate(file), self.rt.embedder_estimate(file, n_context=8, n_batch=8))
        self.assertEqual(self.fails(Status.ARGUMENT, embedder.embed, [[1], []]).index, 1)
        self.fails(Status.ARGUMENT, embedder.embed, [])
        self.fails(Status.ARGUMENT, embedder.embed, texts, out=np.empty((2, 256), np.float32))
        self.fails(Status.CANCELLED, embedder.embed, texts, progress=lambda done, total: False)
        self.fails(Status.UNSUPPORTED, Embedder, model, pooling=Pooling.RANK)
        embedder.close()
        self.fails(Status.STATE, embedder.embed, texts)
