# serve: all pairs of request fields of each endpoint, streamed and not. Fields, values and schemas come from the table
# of the server (src/cli/serve/api): an answer is valid against the description, or a refusal that names one of the two.
# SPDX-License-Identifier: MIT
import concurrent.futures
import itertools
import json
import os
import random
import re
import unittest

import serve_schema
import tool
from api_answers import POSTS
from api_fields import GROUPS
from serve_api import reranker
from serve_case import Served

TEMPLATE = (b"{# <tool_call> #}{% for t in tools or [] %}{{ t.function.name }} {% endfor %}"
            b"{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}")
TOOLS = {"chat": [{"type": "function", "function": {"name": "weather"}}], "responses": [{"type": "function", "name": "weather"}]}
# Fields that some fields need. Those of the pair itself come first.
NEEDS = {
    ("chat", "top_logprobs"): {"logprobs": True},
    ("chat", "tool_choice"): {"tools": TOOLS["chat"]},
    ("chat", "continue_final_message"): {"messages": [{"role": "user", "content": "Once"}, {"role": "assistant", "content": "The"}]},
    ("responses", "top_logprobs"): {"include": ["message.output_text.logprobs"]},
    ("responses", "tool_choice"): {"tools": TOOLS["responses"]},
    ("apply_template", "tool_choice"): {"tools": TOOLS["chat"]},
}
LENGTHS = {"chat": ("max_tokens", "max_completion_tokens"), "completions": ("max_tokens",), "responses": ("max_output_tokens",)}
# Fields that this model or server refuses with every value.
REFUSED = {("completions", "suffix")}
LAST = {"response.completed", "response.incomplete"}
# Values that most fields do not have.
VALUES = [None, True, -1, 0, 1, 9, 21, 1.5, 3.0, 1e9, 2**33, 2**64, "", "x" * 200, "auto", "tool", [], {}, [1], [2.0], ["a"], [[]], [{}], [None],
          {"a": 1}, {"5": 1000}, {"x": 1}, {"messages": 1}, {"type": "x"}, {"type": None}, {"name": 5}, {"effort": "x"}, {"role": "user"},
          [{"type": "function"}], [{"role": "user", "content": [{"type": "text"}]}], [{"type": "message"}], [{"type": "reasoning", "role": "user"}],
          [{"type": "web_search_call", "x": 1}], [{"type": "web_search_2025_08_26", "x": 1}], {"type": "json_schema"},
          {"type": "text", "json_schema": {"schema": {}}}, {"format": {"type": "json_schema"}}, {"type": "function", "function": {}}]
WRONG = re.compile(r"^\S+ is not .*, but |^unknown field: |^\S+ is missing$")


class Bodies:
    """Bodies with a pair of fields: each example in turn, and random values."""

    def __init__(self, name, seed=1):
        self.name, self.group, self.random = name, GROUPS[name], random.Random(seed)
        self.examples = {row.name: itertools.cycle(row.examples()) for row in self.group.rows}

    def body(self, names, is_random):
        values = {n: self.group.row(n).sample(self.random) if is_random else next(self.examples[n]) for n in names}
        needs = {k: v for n in names for k, v in NEEDS.get((self.name, n), {}).items()}
        required = {row.name: row.examples()[0] for row in self.group.rows if row.required}
        lengths = LENGTHS.get(self.name, ())
        length = {lengths[0]: 2} if lengths and not set(lengths) & set(values) else {}
        return {**required, **length, **needs, **values}

    def all(self):
        """(names of a pair, body): streamed and not where the endpoint has streams."""
        streams = [False, True] if any(row.name == "stream" for row in self.group.rows) else [None]
        names = [row.name for row in self.group.rows]
        pairs = list(itertools.combinations(names, 2)) or [(names[0], names[0])]
        for pair, is_random, stream in itertools.product(pairs[::tool.STEP], (False, True), streams):
            if stream is None or "stream" in pair:
                yield pair, self.body(pair, is_random)
            else:
                yield pair, {**self.body(pair, is_random), "stream": stream}


def events(content):
    out = []
    for block in content.decode().split("\n\n")[:-1]:
        data = [line[len("data: "):] for line in block.split("\n") if line.startswith("data: ")]
        if data:
            out.append(data[0] if data[0] == "[DONE]" else json.loads(data[0]))
    return out


def check_stream(path, content):
    all_of = events(content)
    if path.endswith("/responses"):
        assert all_of[-1]["type"] in LAST, all_of[-1]
    else:
        assert all_of.pop() == "[DONE]", content[-300:]
    for event in all_of:
        assert "error" not in event, event  # described, but no answer
        serve_schema.check(path, "POST", None, 200, event, "text/event-stream")


def check(server, path, pair, body):
    """Returns whether the request succeeds."""
    serve_schema.check_request(path, body)
    with server.open(path, body) as response:
        content, status = response.read(), response.status
        if status == 200 and response.headers["Content-Type"] == "text/event-stream":
            assert body["stream"]
            check_stream(path, content)
            return True
    answer = json.loads(content)
    serve_schema.check(path, "POST", body, status, answer)
    if status == 200:
        assert not body.get("stream")
        return True
    assert status == 400, answer
    assert any(name in (answer["error"]["param"] or "") or name in answer["error"]["message"] for name in pair), answer
    return False


@unittest.skipUnless(serve_schema.jsonschema, "no python3-jsonschema")
class Pairs(Served):
    def check_all(self, server, path, body_path=None):
        name = POSTS[path][2]
        passed = set()

        def one(case):
            pair, body = case
            try:
                return pair if check(server, body_path or path, pair, body) else ()
            except Exception as error:
                raise AssertionError("%s %s: %s" % (path, json.dumps(body), error)) from error
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for pair in pool.map(one, Bodies(name).all()):
                passed.update(pair)
        if tool.STEP == 1:
            refused = {row.name for row in GROUPS[name].rows} - passed
            self.assertEqual({(name, field) for field in refused}, {one for one in REFUSED if one[0] == name})
        self.assertTrue(passed)

    def setUp(self):
        super().setUp()
        folder = self.path("slots")
        os.mkdir(folder)
        self.server = self.serve("--template", self.path("pairs.jinja", TEMPLATE), "--embeddings", "--parallel", "8", "--slot-dir", folder)

    def test_chats(self):
        self.check_all(self.server, "/v1/chat/completions")

    def test_responses(self):
        self.check_all(self.server, "/v1/responses")

    def test_completions(self):
        self.check_all(self.server, "/v1/completions")

    def test_what_needs_no_generation(self):
        for path in ("/v1/embeddings", "/tokenize", "/detokenize", "/apply-template"):
            with self.subTest(path):
                self.check_all(self.server, path)
        self.server.ask("/v1/completions", {"prompt": "Once upon a time there was a girl who liked the sun.", "max_tokens": 1})
        for name in ("save", "restore"):
            slot = max(self.server.ask("/slots")[1], key=lambda s: s["n_tokens"])["id"]
            self.check_all(self.server, "/slots/{id}/" + name, "/slots/%d/%s" % (slot, name))

    def test_a_value_is_refused_by_its_name_if_the_description_lacks_it(self):
        def one(case):
            path, field, body = case
            is_described = serve_schema.is_described(path, body)
            with self.server.open(path.replace("{id}", "0"), body) as response:
                answer = None if response.status == 200 else json.loads(response.read())
            is_wrong = answer is not None and WRONG.search(answer["error"]["message"])
            if bool(is_wrong) == is_described or is_wrong and not answer["error"]["param"].startswith(field):
                raise AssertionError("%s %s: %s" % (path, json.dumps(body), answer))
            return not is_wrong
        cases = [(path, row.name, {**Bodies(post[2]).body((), False), row.name: value}) for path, post in POSTS.items()
                 for row in GROUPS[post[2]].rows for value in VALUES if post[2] != "rerank"]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            passed = list(pool.map(one, cases[::tool.STEP]))
        self.assertTrue(any(passed) and not all(passed))

    def test_rerank(self):
        self.check_all(self.serve(model=reranker(self)), "/v1/rerank")

    def test_the_table_in_the_documentation_is_that_of_the_server(self):
        self.assertEqual(serve_schema.api.page()[0], serve_schema.api.page()[1], "run src/cli/serve/api/api.py --write")


if __name__ == "__main__":
    tool.main()
