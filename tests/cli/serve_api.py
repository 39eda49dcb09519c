# serve: answers of /v1/responses, rerank, slots and the rarer fields of completions. Each is checked against the
# OpenAPI description, which has the same fields as the server.
# SPDX-License-Identifier: MIT
import json
import math
import os
import re
import subprocess
import unittest

import adapter_files
import serve_schema
import tool
from embed import python_with_numpy
from serve_case import STORY, Served

CHAT, TEXT, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"
# argv: folder of the generator, path of the generated model.
RERANKER = """
import sys
sys.path.insert(0, sys.argv[1])
import make_models
b = make_models.MODELS["llama-linear"]()
b.mat("cls.output", 1, 64, 1.0, True)
b.key(pooling_type=4)
b.save(sys.argv[2], False)
"""
TOOLS = [{"type": "function", "name": "weather", "description": "of a city",
          "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]


def reranker(case):
    """Returns the path of a generated model that ranks documents."""
    model = case.path("rank.gguf")
    subprocess.run([python_with_numpy(), "-c", RERANKER, tool.REFERENCE, model], check=True,
                   env=tool.environment(PYTHONDONTWRITEBYTECODE="1"))
    return model


def typed(response):
    """Returns the events of /v1/responses, after checking that `event:` equals the type in `data:`."""
    out = []
    for block in response.read().decode().split("\n\n"):
        if block.startswith("event: "):
            name, data = block.split("\n", 1)
            out.append(json.loads(data[len("data: "):]))
            assert out[-1]["type"] == name[len("event: "):], block
    return out


class Responses(Served):
    def setUp(self):
        super().setUp()
        self.server = self.serve()

    def respond(self, **fields):
        status, answer = self.server.ask(RESPONSES, {"input": STORY[0]["content"], "max_output_tokens": 12, "seed": 3, **fields})
        self.assertEqual(status, 200, answer)
        return answer

    def test_it_says_what_a_chat_says(self):
        answer = self.respond()
        chat = self.server.ask(CHAT, {"messages": STORY, "max_tokens": 12, "seed": 3})[1]
        item, = answer["output"]
        self.assertEqual(item["content"][0]["text"], chat["choices"][0]["message"]["content"])
        self.assertEqual((answer["status"], answer["incomplete_details"]), ("incomplete", {"reason": "max_output_tokens"}))
        self.assertEqual((answer["usage"]["output_tokens"], answer["usage"]["input_tokens"]), (12, chat["usage"]["prompt_tokens"]))
        stopped = self.respond(instructions="Be brief.", max_output_tokens=400, seed=4)
        self.assertEqual((stopped["status"], stopped["incomplete_details"], stopped["instructions"]), ("completed", None, "Be brief."))
        system = [{"role": "system", "content": "Be brief."}, *STORY]
        chat = self.server.ask(CHAT, {"messages": system, "max_tokens": 400, "seed": 4})[1]
        self.assertEqual(stopped["output"][0]["content"][0]["text"], chat["choices"][0]["message"]["content"])

    def test_a_stream_makes_the_same_object(self):
        fields = {"include": ["message.output_text.logprobs"], "top_logprobs": 2}
        whole = self.respond(**fields)
        body = {"input": STORY[0]["content"], "max_output_tokens": 12, "seed": 3, "stream": True, **fields}
        with self.server.open(RESPONSES, body) as response:
            self.assertEqual(response.headers["Content-Type"], "text/event-stream")
            events = typed(response)
        for event in events:
            serve_schema.check(RESPONSES, "POST", None, 200, event, "text/event-stream")
        self.assertEqual([event["sequence_number"] for event in events], list(range(len(events))))
        kinds = [event["type"] for event in events]
        self.assertEqual(kinds[:4], ["response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"])
        self.assertEqual(kinds[-4:], ["response.output_text.done", "response.content_part.done", "response.output_item.done", "response.incomplete"])
        deltas = [event for event in events if event["type"] == "response.output_text.delta"]
        text = whole["output"][0]["content"][0]
        self.assertEqual("".join(d["delta"] for d in deltas), text["text"])
        self.assertEqual([l for d in deltas for l in d["logprobs"]], text["logprobs"])
        last = events[-1]["response"]
        for answer in (whole, last):
            for name in ("id", "created_at"):
                answer.pop(name)
            answer["usage"].pop("input_tokens_details")
            answer["output"][0].pop("id")
        self.assertEqual(whole, last)

    def test_a_conversation_of_items(self):
        items = [{"role": "user", "content": [{"type": "input_text", "text": "Once upon a time"}]},
                 {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
                  "content": [{"type": "output_text", "text": "there was", "annotations": [], "logprobs": []}]},
                 {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]},
                 {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": "{\"city\": \"Bonn\"}"},
                 {"type": "function_call_output", "call_id": "call_1", "output": "rain"},
                 {"role": "user", "content": "and then"}]
        template = self.path("tools.jinja", b"{# <tool_call> #}{% for t in tools or [] %}{{ t.function.name }} {% endfor %}{% for m in messages %}{{ m.content }} {% endfor %}")
        self.server = self.serve("--template", template)
        answer = self.respond(input=items, tools=TOOLS, metadata={"a": "b"}, reasoning={"effort": "low"}, text={"format": {"type": "text"}})
        self.assertEqual((answer["tools"], answer["metadata"], answer["reasoning"]["effort"]), (TOOLS, {"a": "b"}, "low"))
        schema = {"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"], "additionalProperties": False}
        form = {"type": "json_schema", "name": "x", "schema": schema, "strict": True}
        answer = self.respond(text={"format": form}, max_output_tokens=200)
        self.assertIn(json.loads(answer["output"][0]["content"][0]["text"])["n"], (1, 2))

    def test_what_it_cannot_do_is_reported(self):
        for fields in ({"store": True}, {"background": True}, {"previous_response_id": "resp_1"}, {"truncation": "auto"}, {"nonsense": 1},
                       {"input": []}, {"input": [{"type": "item_reference", "id": "x"}]}, {"input": [{"role": "king", "content": "x"}]},
                       {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]}, {"tools": [{"type": "banana"}]},
                       {"tool_choice": "required"}, {"stream_options": {"nonsense": 1}}, {"include": ["file_search_call.results"]}, {"top_logprobs": 2}, {"max_output_tokens": 0},
                       {"text": {"format": {"type": "xml"}}}, {"reasoning": {"effort": "much"}}, {"input": [{"type": "function_call", "name": "f"}]}):
            with self.subTest(fields):
                status, answer = self.server.ask(RESPONSES, {"input": "x", **fields})
                self.assertEqual(status, 400, answer)
                self.assertIn(list(fields)[0].split(".")[0], answer["error"]["message"])


class Completions(Served):
    def setUp(self):
        super().setUp()
        self.server = self.serve("--parallel", "8")

    def complete(self, **fields):
        status, answer = self.server.ask(TEXT, {"prompt": "Once upon a time", "max_tokens": 8, "seed": 5, **fields})
        self.assertEqual(status, 200, answer)
        return answer

    def test_the_best_of_many(self):
        all_of = self.complete(n=5, logprobs=0)
        best = self.complete(n=2, best_of=5, logprobs=0)
        mean = lambda choice: sum(choice["logprobs"]["token_logprobs"]) / len(choice["logprobs"]["token_logprobs"])
        want = sorted(sorted(all_of["choices"], key=mean, reverse=True)[:2], key=lambda c: c["index"])
        self.assertEqual([c["text"] for c in best["choices"]], [c["text"] for c in want])
        self.assertEqual([c["index"] for c in best["choices"]], [0, 1])
        self.assertEqual(best["usage"]["completion_tokens"], all_of["usage"]["completion_tokens"])
        self.assertEqual(self.server.ask(TEXT, {"prompt": "x", "n": 3, "best_of": 2})[0], 400)
        self.assertEqual(self.server.ask(TEXT, {"prompt": "x", "best_of": 2, "stream": True})[0], 400)

    def test_an_echo_with_logprobs_scores_the_prompt(self):
        prompt = "Once upon a time there was a girl who liked the sun. " * 3
        ids = self.server.ask("/tokenize", {"content": prompt, "add_special": True})[1]["tokens"]
        for _ in range(2):  # the second request uses the cache, without prefill
            scored = self.complete(prompt=prompt, echo=True, logprobs=2, max_tokens=0)["choices"][0]
            self.assertEqual((scored["text"], scored["finish_reason"]), (prompt, "length"))
            self.assertEqual(len(scored["logprobs"]["tokens"]), len(ids))
            self.assertIsNone(scored["logprobs"]["token_logprobs"][0])
            self.assertIsNone(scored["logprobs"]["top_logprobs"][0])
        # each has the logprobs that decoding the token would give
        for n in (2, len(ids) - 1):
            bias = {str(ids[n]): 100}
            one = self.complete(prompt=ids[:n], max_tokens=1, logprobs=1, logit_bias=bias, temperature=0)["choices"][0]
            self.assertEqual(one["logprobs"]["tokens"], scored["logprobs"]["tokens"][n:n + 1])
            top = scored["logprobs"]["top_logprobs"][n]
            self.assertEqual(max(top.values()), max(one["logprobs"]["top_logprobs"][0].values()))
        both = self.complete(prompt=prompt, echo=True, logprobs=1)["choices"][0]
        plain = self.complete(prompt=prompt, logprobs=1)["choices"][0]
        self.assertEqual(both["text"], prompt + plain["text"])
        self.assertEqual(both["logprobs"]["token_logprobs"][len(ids):], plain["logprobs"]["token_logprobs"])
        self.assertEqual(both["logprobs"]["token_logprobs"][1:len(ids)], scored["logprobs"]["token_logprobs"][1:])
        self.assertEqual(self.server.ask(TEXT, {"prompt": "x", "max_tokens": 0})[0], 400)

    def test_a_streamed_echo_is_the_whole_one(self):
        ids = self.server.ask("/tokenize", {"content": "The sun", "add_special": True})[1]["tokens"]
        for fields in ({}, {"n": 2}, {"logprobs": 2}, {"prompt": [ids, "One day"], "n": 2, "logprobs": 1}, {"logprobs": 0, "max_tokens": 0}):
            with self.subTest(fields):
                body = {"prompt": "Once upon a time", "max_tokens": 4, "seed": 5, "echo": True, **fields}
                want = self.complete(**body)["choices"]
                texts, logprobs = [""] * len(want), [[] for _ in want]
                for event in self.server.stream(TEXT, body)[:-1]:
                    for choice in event["choices"]:
                        texts[choice["index"]] += choice["text"]
                        logprobs[choice["index"]] += (choice["logprobs"] or {}).get("token_logprobs", [])
                self.assertEqual(texts, [c["text"] for c in want])
                self.assertEqual(logprobs, [(c["logprobs"] or {}).get("token_logprobs", []) for c in want])

    def test_scores_of_a_prompt_are_those_of_perplexity(self):
        ids = self.server.ask("/tokenize", {"content": "The sun was warm and the dog was happy.", "add_special": True})[1]["tokens"]
        two = self.complete(prompt=[ids, ids[:4]], echo=True, logprobs=0, max_tokens=0)["choices"]
        first, second = (c["logprobs"]["token_logprobs"] for c in two)
        self.assertEqual(first[1:4], second[1:4])
        self.assertTrue(all(-40 < p < 0 and math.isfinite(p) for p in first[1:]))

    def test_conversations_keep_to_themselves(self):
        prompt = "Once upon a time there was a girl who liked the sun and the dog." * 2

        def cached(**fields):
            return self.complete(prompt=prompt, max_tokens=1, **fields)["usage"]["prompt_tokens_details"]["cached_tokens"]
        self.assertEqual([cached(), cached(id_conversation="a"), cached(id_conversation="b")], [0, 0, 0])
        self.assertGreater(min(cached(), cached(id_conversation="a"), cached(id_conversation="b")), 16)

    def test_answers_name_their_prefix_and_their_request(self):
        with self.server.open(CHAT, {"messages": STORY, "max_tokens": 1}, headers={"X-Request-Id": "mine-1"}) as one, \
                self.server.open(CHAT, {"messages": STORY, "max_tokens": 2, "stream": True}) as two:
            self.assertEqual(one.headers["X-Request-Id"], "mine-1")
            self.assertRegex(two.headers["X-Request-Id"], "^req_[A-Za-z0-9]{24}$")
            self.assertRegex(one.headers["X-Ggufx-Prefix"], "^[0-9a-f]{16}$")
            self.assertEqual(one.headers["X-Ggufx-Prefix"], two.headers["X-Ggufx-Prefix"])


class WhiteSpace(Served):
    """JSON by a schema: a model that prefers white space to everything else."""

    SCHEMA = {"type": "object", "properties": {"a": {"enum": [1]}, "b": {"type": "array", "items": {"enum": [1]}, "maxItems": 2}}, "required": ["a", "b"],
              "additionalProperties": False}
    FORM = {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}}
    CALL = {"tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}], "tool_choice": "required"}

    def setUp(self):
        super().setUp()
        template = self.path("tools.jinja", b"{% for t in tools or [] %}{{ t.function.name }}{% endfor %}{% for m in messages %}{{ m.content }}{% endfor %}<tool_call>")
        self.args = ("--template", template)

    def gaps(self, server, fields, **more):
        """Returns the white space between values and punctuation of an answer, and before colons."""
        ids = server.ask("/tokenize", {"content": " \n\t"})[1]["tokens"]
        bias = {str(id): 100 for id in ids + [3 + byte for byte in b" \n\t"]}
        status, answer = server.ask(CHAT, {"messages": STORY, "temperature": 0, "max_tokens": 400, "logit_bias": bias, **fields, **more})
        self.assertEqual(status, 200, answer)
        choice = answer["choices"][0]
        text = choice["message"]["content"] if "response_format" in fields else choice["message"]["tool_calls"][0]["function"]["arguments"]
        if choice["finish_reason"] != "length":
            self.assertEqual(json.loads(text)["a"], 1)
        colons = [gap for gap in re.findall(r'"(\s*):', text)]
        return max(re.findall(r"\s*", text), key=len), max(colons or [""], key=len), choice["finish_reason"]

    def test_gaps_are_limited_unless_a_request_says_otherwise(self):
        server = self.share(*self.args)
        for fields in (self.FORM, self.CALL):
            with self.subTest(fields):
                longest, before_colon, reason = self.gaps(server, fields)
                self.assertLessEqual((len(longest), longest.count("\n")), (21, 1))
                self.assertGreater(len(longest), 0)
                self.assertEqual(before_colon, "")
                self.assertIn(reason, ("stop", "tool_calls"))
                self.assertEqual(self.gaps(server, fields, json_whitespace="none"), ("", "", reason))
                self.assertEqual(self.gaps(server, fields, json_whitespace="limited"), (longest, "", reason))
                longest, _, reason = self.gaps(server, fields, json_whitespace="any")
                self.assertGreater(len(longest), 100)
                self.assertEqual(reason, "length")

    def test_the_server_has_a_default(self):
        server = self.serve(*self.args, "--json-whitespace", "none")
        self.assertEqual(self.gaps(server, self.FORM)[0], "")
        self.assertGreater(len(self.gaps(server, self.FORM, json_whitespace="limited")[0]), 0)
        form = {"format": {"type": "json_schema", "name": "x", "schema": self.SCHEMA}}
        item, = server.ask(RESPONSES, {"input": "x", "text": form, "temperature": 0, "max_output_tokens": 100})[1]["output"]
        self.assertNotRegex(item["content"][0]["text"], r"\s")
        for path, body in ((CHAT, {"messages": STORY}), (RESPONSES, {"input": "x"})):
            for value in ("some", 1):
                status, answer = server.ask(path, {**body, "json_whitespace": value})
                self.assertEqual((status, answer["error"]["param"]), (400, "json_whitespace"))


class Slots(Served):
    def test_adapters_are_of_the_whole_server(self):
        tuned, nothing = self.path("lora.gguf", adapter_files.lora()), self.path("control.gguf", adapter_files.control())
        body = {"prompt": "Once upon a time", "max_tokens": 24, "temperature": 0}
        texts, prints = [], []
        for args in ([], ["--lora", tuned + ":40"], ["--control-vector", nothing + ":0"]):
            status, answer = self.serve(*args).ask("/v1/completions", body)
            self.assertEqual(status, 200)
            texts.append(answer["choices"][0]["text"])
            prints.append(answer["system_fingerprint"])
        self.assertNotEqual(texts[0], texts[1])
        self.assertEqual(texts[0], texts[2])
        self.assertNotEqual(prints[0], prints[1])

    def test_a_slot_is_saved_and_restored(self):
        folder = self.path("slots")
        os.mkdir(folder)
        server = self.serve("--parallel", "2", "--slot-dir", folder)
        body = {"prompt": "Once upon a time there was a girl who liked the sun and the dog." * 2, "max_tokens": 5, "seed": 1}
        want = server.ask(TEXT, body)[1]
        slots = server.ask("/slots")[1]
        slot = max(slots, key=lambda s: s["n_tokens"])
        self.assertEqual((slot["state"], slot["n_tokens"]), ("free", want["usage"]["prompt_tokens"]))
        self.assertEqual(server.ask("/slots/%d/save" % slot["id"], {"filename": "one"}), (200, {"id": slot["id"], "n_tokens": slot["n_tokens"]}))
        self.assertEqual(os.listdir(folder), ["one.slot"])
        self.assertEqual(os.stat(os.path.join(folder, "one.slot")).st_mode & 0o777, 0o600)
        self.assertEqual(server.end(), 0)
        server = self.serve("--parallel", "2", "--slot-dir", folder)
        self.assertEqual(server.ask("/slots/1/restore", {"filename": "one"})[0], 200)
        again = server.ask(TEXT, body)[1]
        self.assertEqual(again["choices"], want["choices"])
        self.assertEqual(again["usage"]["prompt_tokens_details"]["cached_tokens"], slot["n_tokens"] - 1)
        for path, body, status in (("/slots/9/save", {"filename": "x"}, 404), ("/slots/0/save", {"filename": "../x"}, 400), ("/slots/0/save", {"filename": ".x"}, 400),
                                   ("/slots/0/save", {"filename": ""}, 400), ("/slots/0/save", {}, 400), ("/slots/0/burn", {"filename": "x"}, 404),
                                   ("/slots/x/save", {"filename": "x"}, 404), ("/slots/0/restore", {"filename": "none"}, 404), ("/slots/", {}, 404)):
            with self.subTest((path, body)):
                self.assertEqual(server.ask(path, body)[0], status)

    def test_files_that_are_no_snapshots_are_refused(self):
        folder = self.path("slots")
        os.mkdir(folder)
        server = self.serve("--parallel", "2", "--slot-dir", folder)
        server.ask(TEXT, {"prompt": "Once upon a time there was a girl who liked the sun and the dog.", "max_tokens": 2})
        slot = max(server.ask("/slots")[1], key=lambda s: s["n_tokens"])["id"]
        self.assertEqual(server.ask("/slots/%d/save" % slot, {"filename": "good"})[0], 200)
        with open(os.path.join(folder, "good.slot"), "rb") as file:
            good = file.read()
        for i, content in enumerate([b"", b"nonsense", good[:10], good[:60], good[:-1], good + b"x", *(
                good[:at] + bytes([good[at] ^ 1]) + good[at + 1:] for at in (3, 12, 20, 36, 44, 60, 120, len(good) // 2, len(good) - 5))]):
            with self.subTest(i):
                with open(os.path.join(folder, "bad.slot"), "wb") as file:
                    file.write(content)
                self.refused(400, "invalid_snapshot", server.ask("/slots/0/restore", {"filename": "bad"}))
        other = self.serve("--parallel", "2", "--slot-dir", folder, "--ctk", "q8_0")
        self.assertIn("another model", self.refused(400, "invalid_snapshot", other.ask("/slots/0/restore", {"filename": "good"})))
        self.assertEqual(server.ask("/slots/0/restore", {"filename": "good"})[0], 200)
        hidden = self.serve()
        self.assertEqual([hidden.ask("/slots")[0], hidden.ask("/slots/0/save", {"filename": "x"})[0]], [404, 404])

    def test_a_key_sees_only_its_own_slots(self):
        folder = self.path("slots")
        os.mkdir(folder)
        keys = self.path("keys", b"first-key-0123456789\nsecond-key-0123456789\n")
        server = self.serve("--parallel", "2", "--slot-dir", folder, "--api-key-file", keys)
        mine, other = ({"headers": {"Authorization": "Bearer %s-key-0123456789" % name}} for name in ("first", "second"))
        server.ask(TEXT, {"prompt": "Once upon a time there was a girl who liked the sun and the dog.", "max_tokens": 2}, **mine)
        slot = max(server.ask("/slots", **mine)[1], key=lambda s: s["n_tokens"])["id"]
        self.assertNotIn(slot, [s["id"] for s in server.ask("/slots", **other)[1]])
        self.assertEqual(server.ask("/slots/%d/save" % slot, {"filename": "x"}, **other)[0], 404)
        self.assertEqual(server.ask("/slots/%d/save" % slot, {"filename": "x"}, **mine)[0], 200)
        self.assertEqual(server.ask("/slots/%d/restore" % (1 - slot), {"filename": "x"}, **other)[0], 404)
        self.assertEqual(server.ask("/slots/%d/restore" % slot, {"filename": "x"}, **other)[0], 404)


class Rerank(Served):
    def test_scores_are_those_of_embed(self):
        model = reranker(self)
        documents = ["The sun is warm.", "A dog ran.", "Cats sleep all day."]
        server = self.serve(model=model)
        status, answer = server.ask("/v1/rerank", {"query": "dogs", "documents": documents, "return_documents": True})
        self.assertEqual(status, 200, answer)
        want = self.lines("embed", model, *documents, "--rerank", "dogs")
        order = sorted(range(3), key=lambda i: -want[i]["score"])
        self.assertEqual([(r["index"], r["document"]["text"], r["relevance_score"]) for r in answer["results"]],
                         [(i, documents[i], want[i]["score"]) for i in order])
        two = server.ask("/v1/rerank", {"query": "dogs", "documents": [{"text": d} for d in documents], "top_n": 2})[1]
        self.assertEqual([(r["index"], r["relevance_score"]) for r in two["results"]], [(r["index"], r["relevance_score"]) for r in answer["results"][:2]])
        for fields in ({"documents": []}, {"documents": [1]}, {"query": None}, {"top_n": 0}):
            self.assertEqual(server.ask("/v1/rerank", {"query": "x", "documents": ["y"], **fields})[0], 400)
        self.refused(400, "unsupported", self.serve().ask("/v1/rerank", {"query": "x", "documents": ["y"]}))
        self.refused(400, "unsupported", server.ask("/v1/embeddings", {"input": "x"}))


class Description(Served):
    def test_it_is_sent_and_true(self):
        server = self.serve("--slots")
        status, sent = server.ask("/openapi.json")
        self.assertEqual((status, sent), (200, serve_schema.document()))
        for path in ("/health", "/livez", "/props", "/slots", "/v1/models"):
            self.assertEqual(server.ask(path)[0], 200, path)

    @unittest.skipUnless(serve_schema.jsonschema, "no python3-jsonschema")
    def test_fields_of_requests_are_those_that_are_read(self):
        server = self.serve()
        for path, name, base in ((CHAT, "ChatRequest", {"messages": STORY, "max_tokens": 1}), (TEXT, "CompletionRequest", {"prompt": "x", "max_tokens": 1}),
                                 (RESPONSES, "ResponsesRequest", {"input": "x", "max_output_tokens": 1})):
            for field in serve_schema.document()["components"]["schemas"][name]["properties"]:
                if field not in base:
                    status, answer = server.ask(path, {**base, field: None})  # null equals an absent field
                    self.assertEqual(status, 200, (field, answer))


if __name__ == "__main__":
    tool.main()
