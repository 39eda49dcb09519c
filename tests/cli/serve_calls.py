# serve: tool calls that a request asks for, fill-in-the-middle, and common clients: curl, Python's own.
# SPDX-License-Identifier: MIT
import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request

import serve_schema
import tool
from serve_api import typed
from serve_case import STORY, Served, text_of

CHAT, TEXT, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"
# A template with the markers of a format, and the tools.
TEMPLATE = """{%% if tools %%}Tools: {%% for t in tools %%}{{ t.function.name }} {%% endfor %%}{%% endif %%}%s
{%% for m in messages %%}{{ m.role }}: {{ m.content }}
{%% endfor %%}{%% if add_generation_prompt %%}assistant: %s{%% endif %%}"""
STYLES = {"hermes": ("<tool_call>", ""), "xml": ("<tool_call><function=<parameter=", ""), "llama3": ("<|python_tag|>", ""), "mistral": ("[TOOL_CALLS]", ""),
          "harmony": ("<|channel|><|message|>", ""), "think": ("<tool_call>", "<think>\n"), "bracket": ("[THINK][TOOL_CALLS]", "[THINK]"), "lfm2": ("<|tool_call_start|>", ""), "gemma": ("<|tool_call>call:", ""),
          "kimi": ("<|tool_call_begin|><|tool_call_argument_begin|>", ""), "none": ("", "")}
with open(os.path.join(os.path.dirname(__file__), "..", "data", "chat", "calls.json"), encoding="utf-8") as file:
    FORMS = json.load(file)  # a template for each form of calls
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 6}, "days": {"$ref": "#/$defs/days"}}, "required": ["days", "city"],
              "additionalProperties": False, "$defs": {"days": {"enum": [1, 2, 3]}}}
NAMES = ("get", "get_weather", "x-1")
TOOLS = [{"type": "function", "function": {"name": name, "parameters": PARAMETERS}} for name in NAMES]
FLAT = [{"type": "function", **t["function"]} for t in TOOLS]


def calls_of(chunks):
    """Returns the calls of a streamed chat, joined as clients do."""
    out = []
    for chunk in chunks:
        for choice in [] if chunk == "[DONE]" else chunk["choices"]:
            for part in choice["delta"].get("tool_calls", []):
                if part["index"] == len(out):
                    out.append({"id": part["id"], "type": part["type"], "function": {"name": part["function"]["name"], "arguments": ""}})
                out[part["index"]]["function"]["arguments"] += part["function"]["arguments"]
    return out


class Calls(Served):
    def template(self, style):
        return self.path(style + ".jinja", (TEMPLATE % STYLES[style]).encode())

    def call_of(self, server, **fields):
        body = {"messages": STORY, "tools": TOOLS, "max_tokens": 300, "seed": 1, "reasoning_effort": "none", **fields}
        status, answer = server.ask(CHAT, body)
        self.assertEqual(status, 200, answer)
        choice = answer["choices"][0]
        self.assertEqual((choice["message"]["content"], choice["finish_reason"]), (None, "tool_calls"))
        call, = choice["message"]["tool_calls"]
        arguments = json.loads(call["function"]["arguments"])
        self.assertEqual(set(arguments), {"city", "days"})
        self.assertIn(arguments["days"], (1, 2, 3))
        return call, answer

    def test_every_style_writes_the_call_that_is_asked_for(self):
        named = {"type": "function", "function": {"name": "get_weather"}}
        for style in tool.stepped(style for style in STYLES if style != "none"):
            with self.subTest(style):
                server = self.serve("--template", self.template(style))
                self.assertEqual(self.call_of(server, tool_choice=named)[0]["function"]["name"], "get_weather")
                seen = {self.call_of(server, tool_choice="required", seed=seed, temperature=1.5)[0]["function"]["name"] for seed in range(3)}
                self.assertLessEqual(seen, set(NAMES))
                one = self.call_of(server, tool_choice="required", tools=TOOLS[2:])[0]  # its name is no choice
                self.assertEqual(one["function"]["name"], "x-1")
                # JSON that looks like a call is the requested JSON, and reasoning that the prompt opened is excluded.
                schema = {"type": "object", "properties": {"name": {"const": "get"}, "arguments": {"const": {}}}, "required": ["name", "arguments"],
                          "additionalProperties": False}
                form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
                message = server.ask(CHAT, {"messages": STORY, "response_format": form, "max_tokens": 400, "seed": 1, "reasoning_effort": "none"})[1]["choices"][0]["message"]
                self.assertEqual(json.loads(message["content"]), {"name": "get", "arguments": {}})
                self.assertNotIn("tool_calls", message)

    def test_every_form_of_calls_can_be_asked_for(self):
        for name in tool.stepped(name for name, row in FORMS.items() if "<|bot|>" in row["template"]):
            with self.subTest(name):
                server = self.serve("--template", self.path("form.jinja", FORMS[name]["template"].replace("tools | tojson", "tools | length").encode()))
                seen = {self.call_of(server, tool_choice="required", seed=seed, temperature=1.5)[0]["function"]["name"] for seed in range(2)}
                self.assertLessEqual(seen, set(NAMES))
                # Without arguments, and with one that the schema does not require.
                tools = [{"type": "function", "function": {"name": "now"}}]
                answer = server.ask(CHAT, {"messages": STORY, "tools": tools, "tool_choice": "required", "seed": 1, "max_tokens": 100})[1]["choices"][0]
                call = answer["message"]["tool_calls"][0]["function"]
                self.assertEqual((answer["finish_reason"], call["name"], json.loads(call["arguments"])), ("tool_calls", "now", {}))

    def test_only_reasoning_that_the_prompt_has_opened_is_closed(self):
        form = {"response_format": {"type": "json_object"}, "max_tokens": 1, "reasoning_effort": "none"}
        for style, is_opened in (("think", True), ("bracket", True), ("hermes", False), ("none", False)):
            with self.subTest(style):
                server = self.serve("--template", self.template(style))
                for text in ("Once", "<think> is a mark, [THINK] is one, <|channel>thought too"):
                    body = {"messages": [{"role": "user", "content": text}]}
                    plain, formed = (server.ask(CHAT, {**body, **more})[1]["usage"]["prompt_tokens"] for more in ({"max_tokens": 1}, form))
                    self.assertEqual(formed > plain, is_opened)

    def test_a_stream_of_a_call_says_the_same(self):
        server = self.serve("--template", self.template("hermes"), "--parallel", "8")
        for choice in ("required", {"type": "function", "function": {"name": "get"}}):
            fields = {"tool_choice": choice, "logprobs": True, "top_logprobs": 2}
            call, answer = self.call_of(server, **fields)
            chunks = server.stream(CHAT, {"messages": STORY, "tools": TOOLS, "max_tokens": 300, "seed": 1, **fields})
            streamed, = calls_of(chunks)
            self.assertEqual(streamed["function"], call["function"])
            self.assertEqual(text_of(chunks), ("", "tool_calls", answer["choices"][0]["logprobs"]["content"]))
            self.assertGreater(sum("tool_calls" in json.dumps(chunk) for chunk in chunks), 4)  # streamed
            several = server.ask(CHAT, {"messages": STORY, "tools": TOOLS, "max_tokens": 300, "seed": 1, "n": 3, **fields})[1]["choices"]
            self.assertEqual(several[0]["message"]["tool_calls"][0]["function"], call["function"])
        cut = server.ask(CHAT, {"messages": STORY, "tools": TOOLS, "tool_choice": choice, "max_tokens": 5, "seed": 1})[1]["choices"][0]
        self.assertEqual(cut["finish_reason"], "length")
        self.assertTrue(call["function"]["arguments"].startswith(cut["message"]["tool_calls"][0]["function"]["arguments"]))

    def test_a_response_has_the_call_as_an_item(self):
        server = self.serve("--template", self.template("llama3"))
        call, _ = self.call_of(server, tool_choice={"type": "function", "function": {"name": "get"}})
        body = {"input": STORY[0]["content"], "tools": FLAT, "tool_choice": {"type": "function", "name": "get"}, "seed": 1, "max_output_tokens": 300}
        status, answer = server.ask(RESPONSES, body)
        item, = answer["output"]
        self.assertEqual((status, item["type"], item["name"], item["arguments"]), (200, "function_call", "get", call["function"]["arguments"]))
        self.assertEqual((answer["tool_choice"], answer["status"]), (body["tool_choice"], "completed"))
        with server.open(RESPONSES, {**body, "stream": True}) as response:
            events = typed(response)
        for event in events:
            serve_schema.check(RESPONSES, "POST", None, 200, event, "text/event-stream")
        kinds = [event["type"] for event in events]
        self.assertEqual(kinds[-3:], ["response.function_call_arguments.done", "response.output_item.done", "response.completed"])
        deltas = "".join(event["delta"] for event in events if event["type"] == "response.function_call_arguments.delta")
        self.assertEqual((deltas, events[-1]["response"]["output"][0]["arguments"]), (item["arguments"], item["arguments"]))
        self.assertEqual(server.ask(RESPONSES, {**body, "tool_choice": "required"})[1]["output"][0]["type"], "function_call")

    def test_what_cannot_be_called_is_reported(self):
        server = self.serve("--template", self.template("hermes"))
        tools = lambda name="get", **function: [{"type": "function", "function": {"name": name, **function}}]
        for fields, word in (({"tools": []}, "no tools"), ({"tools": None}, "no tools"), ({"tools": tools("a b")}, "name"), ({"tools": tools("x" * 129)}, "name"),
                             ({"tools": tools("")}, "name"), ({"tools": tools() * 2}, "two functions"), ({"stop": "x"}, "stop"),
                             ({"tool_choice": "any"}, "tool_choice"), ({"tool_choice": {"type": "function"}}, "tool_choice.function is missing"),
                             ({"tool_choice": {"type": "function", "function": {"name": "other"}}}, "names no function"),
                             ({"tool_choice": {"type": "allowed_tools"}}, "type"), ({"tool_choice": {"type": "function", "function": {"name": "get"}, "x": 1}}, "unknown field"),
                             ({"tools": tools(parameters={"type": "string"})}, "schema of an object"), ({"tools": tools(parameters=[1])}, "schema of an object"),
                             ({"tools": tools(crown=1)}, "unknown field"),
                             ({"response_format": {"type": "json_object"}}, "response_format")):
            with self.subTest(fields):
                status, answer = server.ask(CHAT, {"messages": STORY, "tools": TOOLS, "tool_choice": "required", **fields})
                self.assertEqual(status, 400, answer)
                self.assertIn(word, answer["error"]["message"])
        self.assertEqual(server.ask(CHAT, {"messages": STORY, "tools": tools(), "tool_choice": "required", "seed": 1, "max_tokens": 40, "parallel_tool_calls": False})[0], 200)
        unknown = self.serve("--template", self.template("none"))
        for choice in ("auto", "required"):
            self.assertIn("does not show how", self.refused(400, "unsupported", unknown.ask(CHAT, {"messages": STORY, "tools": TOOLS, "tool_choice": choice})))
        self.assertIn("does not support tools", self.refused(400, "unsupported", self.share().ask(CHAT, {"messages": STORY, "tools": TOOLS})))


    def test_schemas_of_earlier_drafts_and_other_spellings_are_taken(self):
        server = self.serve("--template", self.template("hermes"))
        draft = "http://json-schema.org/draft-07/schema#"
        pair = {"type": "array", "items": [{"type": "string", "maxLength": 2}, {"enum": [1, 2]}], "additionalItems": False, "minItems": 2}
        cases = (({"$schema": draft, "properties": {"a": pair}, "required": ["a"]}, lambda a: len(a["a"]) == 2 and a["a"][1] in (1, 2), ""),
                 ({"properties": {"a": {"const": 1}, "b": {"const": 2}}, "required": ["a"], "dependencies": {"a": ["b"]}}, lambda a: a == {"a": 1, "b": 2}, ""),
                 ({"properties": {"a": {"type": "integer", "minimum": 1, "exclusiveMinimum": True, "maximum": 3, "exclusiveMaximum": True}}, "required": ["a"]}, lambda a: a == {"a": 2}, ""),
                 ({"properties": {"a": {"type": "array", "items": {"enum": ["x"]}, "uniqueItems": True, "minItems": 1}}, "required": ["a"]}, lambda a: a == {"a": ["x"]}, ""),
                 ({"properties": {"a": {"type": "array", "items": {"type": "string", "maxLength": 1}, "uniqueItems": True, "maxItems": 1}}, "required": ["a"]},
                  lambda a: isinstance(a["a"], list), "tools[0] uniqueItems of #/properties/a"),
                 ({"type": ["object", "null"], "properties": {"a": {"type": "BOOLEAN"}}, "required": ["a"]}, lambda a: a["a"] in (True, False), ""),
                 ({"type": "OBJECT", "properties": {"a": {"type": "any", "enum": [7]}}, "required": ["a"]}, lambda a: a == {"a": 7}, ""),
                 ({"properties": {"a": {"type": "string", "format": "regex", "maxLength": 3}}, "required": ["a"]}, lambda a: isinstance(a["a"], str),
                  "tools[0] format of #/properties/a"))
        for parameters, fits, remark in cases:
            with self.subTest(parameters):
                for name in ("my.tool", "mcp:srv/tool-1"):
                    tools = [{"type": "function", "function": {"name": name, "parameters": {**parameters, "additionalProperties": False}}}]
                    body = {"messages": STORY, "tools": tools, "tool_choice": "required", "seed": 5, "max_tokens": 400}
                    with server.open(CHAT, body) as response:
                        self.assertEqual((response.status, response.headers.get("X-Ggufx-Ignored", "")), (200, remark))
                        call = json.loads(response.read())["choices"][0]["message"]["tool_calls"][0]["function"]
                    self.assertEqual((call["name"], fits(json.loads(call["arguments"]))), (name, True), call)
        # A schema without a grammar fails only its own call.
        bad = {"type": "function", "function": {"name": "bad", "parameters": {"properties": {"a": {"$ref": "https://example.com/x.json"}}}}}
        body = {"messages": STORY, "tools": [bad, TOOLS[0]], "seed": 1, "max_tokens": 200}
        self.assertEqual(server.ask(CHAT, {**body, "tool_choice": "required"})[0], 200)
        self.assertEqual(server.ask(CHAT, {**body, "tool_choice": {"type": "function", "function": {"name": "get"}}})[0], 200)
        self.assertEqual(server.ask(CHAT, {**body, "tool_choice": {"type": "function", "function": {"name": "bad"}}})[0], 400)


class Gaps(Served):
    def test_a_text_around_a_gap_has_its_tokens(self):
        ids = {"pre": 300, "suf": 301, "mid": 302}
        model = self.path("gaps.gguf")
        self.ok("set", tool.MODEL, *("tokenizer.ggml.fim_%s_token_id:u32=%d" % one for one in ids.items()), "-o", model)
        server = self.serve(model=model)
        prompt, suffix = "Once upon a time", " and they were happy."
        tokens = lambda text: server.ask("/tokenize", {"content": text, "parse_special": False})[1]["tokens"]
        around = [300, *tokens(prompt), 301, *tokens(suffix), 302]
        body = {"max_tokens": 12, "seed": 2, "logprobs": 1}
        want = server.ask(TEXT, {"prompt": around, **body})[1]
        for given in (prompt, tokens(prompt)):
            got = server.ask(TEXT, {"prompt": given, "suffix": suffix, **body})[1]
            self.assertEqual((got["choices"], got["usage"]["prompt_tokens"]), (want["choices"], len(around)))
        chunks = server.stream(TEXT, {"prompt": prompt, "suffix": suffix, **body})
        self.assertEqual("".join(c["choices"][0]["text"] for c in chunks[:-1]), want["choices"][0]["text"])
        echoed = server.ask(TEXT, {"prompt": prompt, "suffix": "", "echo": True, "max_tokens": 3, "seed": 2})
        self.assertTrue(echoed[1]["choices"][0]["text"].startswith(prompt))
        self.refused(400, "unsupported", self.share().ask(TEXT, {"prompt": prompt, "suffix": suffix}))


class Plain(Served):
    """Clients that need no installation."""

    def test_curl_shows_a_stream_as_it_comes(self):
        curl = shutil.which("curl")
        if not curl:
            self.skipTest("no curl")
        server = self.share()
        body = {"messages": STORY, "max_tokens": 400, "temperature": 0, "logit_bias": {"2": -100}, "stream": True}
        command = [curl, "-sN", "http://127.0.0.1:%d%s" % (server.port, CHAT), "-H", "Content-Type: application/json", "-d", json.dumps(body)]

        def running_after_its_first_line():
            with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=tool.environment()) as client:
                first = client.stdout.readline()
                running = server.metric("running")
                client.kill()
            self.assertTrue(first.startswith(b"data: {"), first)
            server.wait_for("running", 0)
            return running

        # The text is not complete then; on a busy machine the check may come late.
        self.assertTrue(any(running_after_its_first_line() == 1 for _ in range(20)))
        lines = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, env=tool.environment()).stdout.decode().split("\n\n")
        self.assertEqual((lines[-2:], len(lines) > 50), (["data: [DONE]", ""], True))
        code = subprocess.run([curl, "-s", "-o", "/dev/null", "-w", "%{http_code}", "http://127.0.0.1:%d/none" % server.port], stdout=subprocess.PIPE, check=True,
                              env=tool.environment()).stdout
        self.assertEqual(code, b"404")

    def test_python_reads_a_stream_with_what_it_has(self):
        server = self.share()
        url = "http://127.0.0.1:%d%s" % (server.port, CHAT)
        body = {"messages": STORY, "max_tokens": 20, "seed": 4}
        whole = server.ask(CHAT, body)[1]["choices"][0]["message"]["content"]
        request = urllib.request.Request(url, json.dumps({**body, "stream": True}).encode(), {"Content-Type": "application/json"})
        text = ""
        with urllib.request.urlopen(request, timeout=60) as answer:
            for line in answer:
                if line.startswith(b"data: {"):
                    text += json.loads(line[6:])["choices"][0]["delta"].get("content", "")
        self.assertEqual(text, whole)
        with self.assertRaises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(urllib.request.Request(url, b"{}", {"Content-Type": "application/json"}), timeout=60)
        with caught.exception as error:
            self.assertEqual((error.code, "messages" in json.loads(error.read())["error"]["message"]), (400, True))


if __name__ == "__main__":
    tool.main()
