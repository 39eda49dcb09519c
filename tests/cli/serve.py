# serve: objects of its endpoints, refusals, and answers that do not depend on concurrent requests.
# SPDX-License-Identifier: MIT
import base64
import json
import struct

import tool
from serve_case import STORY, Served, text_of

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"


class Objects(Served):
    def setUp(self):
        super().setUp()
        self.server = self.serve("--embeddings")

    def chat(self, **fields):
        status, answer = self.server.ask(CHAT, {"messages": STORY, "max_tokens": 12, "seed": 3, **fields})
        self.assertEqual(status, 200, answer)
        return answer

    def test_a_chat_has_the_published_object(self):
        answer = self.chat()
        self.assertEqual(set(answer), {"id", "object", "created", "model", "system_fingerprint", "seed", "choices",
                                       "usage", "timings"})
        self.assertEqual((answer["object"], answer["seed"]), ("chat.completion", 3))
        choice, = answer["choices"]
        self.assertEqual(set(choice), {"index", "message", "logprobs", "finish_reason"})
        self.assertEqual(choice["finish_reason"], "length")
        self.assertEqual(choice["message"]["role"], "assistant")
        self.assertEqual(answer["usage"]["completion_tokens"], 12)
        self.assertEqual(answer["usage"]["total_tokens"], answer["usage"]["prompt_tokens"] + 12)

    def test_a_stream_says_what_one_piece_says(self):
        whole = self.chat(logprobs=True, top_logprobs=2)
        chunks = self.server.stream(CHAT, {"messages": STORY, "max_tokens": 12, "seed": 3, "logprobs": True,
                                           "top_logprobs": 2, "stream_options": {"include_usage": True}})
        choice = whole["choices"][0]
        self.assertEqual(text_of(chunks), (choice["message"]["content"], "length", choice["logprobs"]["content"]))
        self.assertEqual(chunks[-1], "[DONE]")
        self.assertEqual(chunks[-2]["choices"], [])
        self.assertEqual(chunks[-2]["usage"]["completion_tokens"], 12)
        self.assertTrue(all(chunk["usage"] is None for chunk in chunks[:-2]))
        self.assertEqual({chunk["id"] for chunk in chunks[:-1]}, {chunks[0]["id"]})
        self.assertEqual(chunks[0]["choices"][0]["delta"]["role"], "assistant")

    def test_logprobs_are_sums_of_text_and_fall(self):
        choice = self.chat(logprobs=True, top_logprobs=3)["choices"][0]
        tokens = choice["logprobs"]["content"]
        self.assertEqual(len(tokens), 12)
        self.assertEqual("".join(t["token"] for t in tokens), choice["message"]["content"])
        for token in tokens:
            self.assertEqual(bytes(token["bytes"]).decode(), token["token"])
            tops = [top["logprob"] for top in token["top_logprobs"]]
            self.assertEqual((len(tops), tops), (3, sorted(tops, reverse=True)))
            self.assertLessEqual(token["logprob"], tops[0])

    def test_a_drawn_seed_gives_the_answer_again(self):
        first = self.chat(seed=None)
        again = self.chat(seed=first["seed"])
        other = self.chat(seed=first["seed"] + 1)
        self.assertEqual(first["choices"], again["choices"])
        self.assertNotEqual(first["choices"], other["choices"])
        self.assertEqual(first["system_fingerprint"], again["system_fingerprint"])

    def test_an_answer_at_temperature_0_is_what_run_makes(self):
        answer = self.chat(temperature=0)["choices"][0]["message"]["content"]
        story = self.ok("run", tool.MODEL, "-p", STORY[0]["content"], "--temp", "0", "-n", "12").decode()
        self.assertEqual(answer + "\n", story)

    def test_stop_texts_end_it_and_are_not_sent(self):
        whole = self.chat(max_tokens=60, temperature=0)["choices"][0]["message"]["content"]
        stop = whole[20:24]  # across boundaries of tokens
        for top in (None, 0):
            fields = {} if top is None else {"logprobs": True}
            choice = self.chat(max_tokens=60, temperature=0, stop=[stop, "never"], **fields)["choices"][0]
            self.assertEqual(choice["message"]["content"], whole[:whole.index(stop)])
            self.assertEqual(choice["finish_reason"], "stop")
        chunks = self.server.stream(CHAT, {"messages": STORY, "max_tokens": 60, "temperature": 0, "stop": stop})
        self.assertEqual(text_of(chunks)[:2], (whole[:whole.index(stop)], "stop"))

    def test_several_texts_are_each_of_their_seed(self):
        three = self.chat(n=3)
        self.assertEqual([c["index"] for c in three["choices"]], [0, 1, 2])
        for i, choice in enumerate(three["choices"]):
            alone = self.chat(seed=3 + i)["choices"][0]
            self.assertEqual({**choice, "index": 0}, alone)
        self.assertEqual(three["usage"]["completion_tokens"], 36)
        self.assertEqual(three["usage"]["prompt_tokens"], self.chat()["usage"]["prompt_tokens"])

    def test_answers_keep_to_a_schema(self):
        schema = {"type": "object", "properties": {"n": {"enum": [1, 2]}, "b": {"type": "boolean"}},
                  "required": ["n", "b"], "additionalProperties": False}
        form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": True}}
        for seed in range(4):
            answer = json.loads(self.chat(response_format=form, seed=seed, max_tokens=200)["choices"][0]["message"]["content"])
            self.assertEqual(set(answer), {"n", "b"})
            self.assertIn(answer["n"], (1, 2))
        text = self.chat(response_format={"type": "json_object"}, max_tokens=5)["choices"][0]["message"]["content"]
        self.assertEqual(text.lstrip()[:1], "{")
        bad = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object", "minProperties": 2}}}
        message = self.refused(400, "invalid_value", self.server.ask(CHAT, {"messages": STORY, "response_format": bad}))
        self.assertIn("minProperties", message)

    def test_completions_take_texts_ids_and_lists(self):
        ids = self.server.ask("/tokenize", {"content": "Once upon", "add_special": True})[1]["tokens"]
        body = {"max_tokens": 6, "seed": 5, "logprobs": 1}
        one = self.server.ask(TEXT, {"prompt": "Once upon", **body})[1]
        by_ids = self.server.ask(TEXT, {"prompt": ids, **body})[1]
        self.assertEqual((one["object"], one["choices"]), ("text_completion", by_ids["choices"]))
        logprobs = one["choices"][0]["logprobs"]
        self.assertEqual("".join(logprobs["tokens"]), one["choices"][0]["text"])
        self.assertEqual(logprobs["text_offset"][0], 0)
        two = self.server.ask(TEXT, {"prompt": ["Once upon", "The sun"], "n": 2, **body})[1]
        self.assertEqual([c["index"] for c in two["choices"]], [0, 1, 2, 3])
        self.assertEqual(two["choices"][0], one["choices"][0])
        echoed = self.server.ask(TEXT, {"prompt": "Once upon", "max_tokens": 6, "seed": 5, "echo": True})[1]
        self.assertEqual(echoed["choices"][0]["text"], "Once upon" + one["choices"][0]["text"])
        biased = self.server.ask(TEXT, {"prompt": "Once upon", "max_tokens": 3, "logit_bias": {str(ids[-1]): 100}})[1]
        self.assertEqual(biased["usage"]["completion_tokens"], 3)
        self.assertEqual(self.server.ask("/tokenize", {"content": biased["choices"][0]["text"]})[1]["tokens"][-1], ids[-1])

    def test_ids_pieces_and_templates(self):
        text = "Once upon a time é\n"
        tokens = self.server.ask("/tokenize", {"content": text, "with_pieces": True})[1]["tokens"]
        ids = [token["id"] for token in tokens]
        self.assertEqual(ids, self.server.ask("/tokenize", {"content": text})[1]["tokens"])
        self.assertEqual(self.server.ask("/detokenize", {"tokens": ids})[1], {"content": text})
        self.assertEqual(self.server.ask("/apply-template", {"messages": STORY})[1]["prompt"].count("Once upon a time"), 1)

    def test_models_props_health_and_metrics(self):
        status, models = self.server.ask("/v1/models")
        name = models["data"][0]["id"]
        self.assertEqual((status, models["object"], name), (200, "list", "ggufx tiny stories"))
        self.assertEqual(self.server.ask("/v1/models/ggufx%20tiny%20stories")[1], models["data"][0])
        self.refused(404, "model_not_found", self.server.ask("/v1/models/other"))
        self.assertEqual(self.server.ask("/health"), (200, {"status": "ok"}))
        self.assertEqual(self.server.ask("/props")[1]["n_context"], 512)
        self.chat()
        self.server.wait_for("running", 0)
        self.assertEqual(self.server.metric("generation_tokens_total"), 11)  # the last one is not computed

    def test_vectors_are_those_of_embed(self):
        answer = self.server.ask("/v1/embeddings", {"input": ["Once", "The sun"], "model": "ggufx tiny stories"})[1]
        self.assertEqual((answer["object"], [d["index"] for d in answer["data"]]), ("list", [0, 1]))
        want = [line["embedding"] for line in self.lines("embed", tool.MODEL, "Once", "The sun")]
        for data, row in zip(answer["data"], want):
            self.assertEqual(struct.pack("<256f", *data["embedding"]), struct.pack("<256f", *row))
        coded = self.server.ask("/v1/embeddings", {"input": "Once", "encoding_format": "base64"})[1]["data"][0]
        self.assertEqual(base64.b64decode(coded["embedding"]), struct.pack("<256f", *want[0]))
        short = self.server.ask("/v1/embeddings", {"input": "Once", "dimensions": 8})[1]["data"][0]["embedding"]
        self.assertEqual(len(short), 8)
        self.assertAlmostEqual(sum(v * v for v in short), 1, places=5)


class Neighbours(Served):
    """Batch invariance: concurrent requests change no byte of an answer."""

    def test_answers_among_64_are_those_alone(self):
        bodies = self.requests(64)
        single = self.answers(self.serve("--parallel", "1"), bodies, 1, 0)
        server = self.serve("--parallel", "64", "--prompt-share", "1")
        for seed in (1, 2):  # the second time prefixes are cached
            self.assertEqual(self.answers(server, bodies, 64, seed), single)
        self.assertGreater(server.metric("cached_tokens_total"), 0)
        self.assertEqual(self.answers(self.serve("--parallel", "3", "--batch", "7"), bodies, 16, 3), single)

    def test_with_tiles_and_small_caches_too(self):
        bodies = self.requests(16)
        for args in tool.stepped((("--decode", "tiled"), ("--ctk", "gx4", "--ctv", "gx3"))):
            with self.subTest(args):
                single = self.answers(self.serve("--parallel", "1", *args), bodies, 1, 0)
                self.assertEqual(self.answers(self.serve("--parallel", "16", *args), bodies, 16, 1), single)

    def test_a_conversation_that_goes_on_is_as_if_it_were_new(self):
        server, fresh = self.serve("--parallel", "2"), self.serve("--parallel", "2")
        messages = [{"role": "user", "content": "Once upon a time there was a girl who liked the sun and the dog."}]
        for turn in range(3):
            body = {"messages": messages, "max_tokens": 30, "seed": turn}
            warm = server.ask(CHAT, body)[1]
            cold = fresh.ask(CHAT, {**body, "cache_prompt": False})[1]
            self.assertEqual(warm["choices"], cold["choices"])
            self.assertEqual(cold["usage"]["prompt_tokens_details"]["cached_tokens"], 0)
            messages = messages + [{"role": "assistant", "content": warm["choices"][0]["message"]["content"]},
                                   {"role": "user", "content": "And then?"}]
        self.assertGreater(warm["usage"]["prompt_tokens_details"]["cached_tokens"], 16)


tool.main()
