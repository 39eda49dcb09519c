# serve: histories with tool calls as clients write them, for templates of each kind. The server's answers work as
# history; bodies of agents for /v1/responses.
# SPDX-License-Identifier: MIT
import json
import os
import unittest

import tool
from scripted import pieces, scripted_model
from serve_api import typed
from serve_case import STORY, Served

CHAT, RESPONSES, APPLY = "/v1/chat/completions", "/v1/responses", "/apply-template"
# A template's rendering of a call's arguments.
WALKS = "{% for k, v in a.items() %}{{ k }}={{ v }};{% endfor %}"
FILTERS = "{% for k, v in a | items %}{{ k }}={{ v }};{% endfor %}"
JSON = "{{ a | tojson }}"
JOINS = "{{ '' + a }}"
EITHER = "{% if a is string %}{{ a }}{% else %}{{ a | tojson }}{% endif %}"
TEMPLATE = """{%% for t in tools or [] %%}({{ t.function.name + ' ' + t.function.description }}){%% endfor %%}\
{%% for m in messages %%}[{{ m.role }}]{%% if m.reasoning_content %%}<think>{{ m.reasoning_content }}</think>{%% endif %%}\
{%% if m.content is string %%}{{ m.content }}{%% elif m.content %%}{%% for p in m.content %%}{{ p.text }}/{%% endfor %%}{%% endif %%}\
{%% for t in m.tool_calls or [] %%}{%% set a = t.function.arguments %%}<tool_call>{"name": "{{ t.function.name }}", \
"arguments": %s}</tool_call>{%% endfor %%}{%% if m.role == 'tool' %%}:{{ m.name }}:{{ m.tool_call_id }}{%% endif %%}{%% endfor %%}\
{%% if add_generation_prompt %%}[assistant]{%% endif %%}"""
TOOL = {"type": "function", "function": {"name": "get"}}
FLAT = {"type": "function", "name": "get"}


def call(arguments=..., name="get", **more):
    function = {"name": name} if arguments is ... else {"name": name, "arguments": arguments}
    return {"type": "function", "function": function, **more}


def said(*calls, **more):
    return {"role": "assistant", "tool_calls": list(calls), **more}


def result(text, id=None):
    return {"role": "tool", "content": text, **({"tool_call_id": id} if id else {})}


class Histories(Served):
    def template(self, form):
        return self.path("t%d.jinja" % abs(hash(form)), (TEMPLATE % form).encode())

    def prompt(self, server, messages, **fields):
        status, answer = server.ask(APPLY, {"messages": [{"role": "user", "content": "hi"}, *messages], "continue_final_message": False, **fields})
        self.assertEqual(status, 200, answer)
        text = answer["prompt"]
        self.assertTrue(text.startswith("[user]hi") and text.endswith("[assistant]") or fields, text)
        return text[len("[user]hi"):-len("[assistant]")] if not fields else text

    def test_arguments_have_the_form_that_the_template_takes(self):
        for form, none, some in ((WALKS, "", "a=1;b=x;"), (FILTERS, "", "a=1;b=x;"), (JSON, "{}", '{"a": 1, "b": "x"}'),
                                 (EITHER, "{}", '{"a": 1, "b": "x"}'), (JOINS, "{}", None)):
            with self.subTest(form):
                server = self.serve("--template", self.template(form))
                show = lambda arguments: self.prompt(server, [said(call(arguments, id="a23456789"))]).split('"arguments": ')[1].split("}</tool_call>")[0]
                for arguments in (..., None, "", " \n", "null", "{}", {}):
                    self.assertEqual(show(arguments), none, arguments)
                for arguments in ({"a": 1, "b": "x"}, '{"a": 1, "b": "x"}', ' {"a":1,"b":"x"}'):
                    want = some or (arguments if isinstance(arguments, str) else '{"a": 1, "b": "x"}')
                    self.assertEqual(show(arguments), want)
                for arguments in ('{"a":', "[1]", [1], 7, "x", '"{}"', True):
                    status, answer = server.ask(APPLY, {"messages": [STORY[0], said(call("{}"), call(arguments))]})
                    message = self.refused(400, "invalid_value", (status, answer))
                    self.assertIn("messages[1].tool_calls[1].function.arguments is not a JSON object or the text of one, but ", message)
                    self.assertEqual(answer["error"]["param"], "messages[1].tool_calls[1].function.arguments")

    def test_results_belong_to_calls(self):
        server = self.serve("--template", self.template(JSON))
        tail = lambda messages: self.prompt(server, messages).split("</tool_call>")[-1]
        two = lambda **more: said(call("{}", name="f", **({"id": "a"} if more else {})), call("{}", name="g", **more))
        # without ids: in order, and ids are generated
        self.assertEqual(tail([two(), result("x"), result("y")]), "[tool]x:f:call00001[tool]y:g:call00002")
        # with ids: in the order of the calls
        self.assertEqual(tail([two(id="b"), result("y", "b"), result("x", "a")]), "[tool]x:f:a[tool]y:g:b")
        # a mix: the other call gets the result without an id
        self.assertEqual(tail([two(id="b"), result("y"), result("x", "a")]), "[tool]x:f:a[tool]y:g:b")
        self.assertEqual(tail([two(id="b"), result("x"), result("y", "b")]), "[tool]x:f:a[tool]y:g:b")
        # a result without its call comes last, unchanged
        self.assertEqual(tail([two(id="b"), result("z", "other"), result("x", "a")]), "[tool]x:f:a[tool]z::other")
        # each message has its own calls, and generated ids are unique
        self.assertEqual(tail([said(call("{}", name="f", id="call00001")), result("x"), said(call("{}", name="g")), result("y")]), "[tool]y:g:call00002")
        named = {**result("x"), "name": "mine"}
        self.assertEqual(tail([said(call("{}", name="f")), named]), "[tool]x:mine:call00001")

    def test_contents_of_every_form(self):
        server = self.serve("--template", self.template(JSON))
        part = lambda text: {"type": "text", "text": text}
        shown = '<tool_call>{"name": "get", "arguments": {}}</tool_call>'
        for content in ({}, {"content": None}, {"content": ""}, {"content": []}, {"content": [part("")]}):
            self.assertIn(self.prompt(server, [said(call(), **content)]), ("[assistant]" + shown, "[assistant]/" + shown), content)
        for calls in ({"tool_calls": []}, {"tool_calls": None}, {}):
            self.assertEqual(self.prompt(server, [{"role": "assistant", "content": "x", **calls}]), "[assistant]x")
        self.assertEqual(self.prompt(server, [{"role": "assistant", "tool_calls": []}]), "[assistant]")
        parts = [{"role": "user", "content": [part("a"), part("b")]}, {"role": "assistant", "content": [part("c")]}]
        self.assertEqual(self.prompt(server, parts), "[user]a/b/[assistant]c/")  # it accepts them
        plain = self.serve("--template", self.path("plain.jinja", b"{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]"))
        self.assertEqual(self.prompt(plain, parts), "[user]ab[assistant]c")  # it does not
        self.assertEqual(self.prompt(server, [{"role": "assistant", "content": "x", "reasoning": "why"}]), "[assistant]<think>why</think>x")

    def test_tools_may_lack_what_the_template_reads(self):
        server = self.serve("--template", self.template(JSON))
        for more, shown in (({}, "(get )"), ({"description": None, "parameters": None}, "(get )"), ({"description": "d"}, "(get d)")):
            tools = [{"type": "function", "function": {"name": "get", **more}}]
            self.assertEqual(self.prompt(server, [], tools=tools), shown + "[user]hi[assistant]")

    def test_an_answer_comes_back_as_it_was_sent(self):
        text = '<think>why</think>so <tool_call>{"name": "get", "arguments": {"a": "1"}}</tool_call><tool_call>{"name": "get", "arguments": {}}</tool_call>'
        model = self.path("script.gguf", scripted_model(pieces(text), TEMPLATE % JSON))
        server = self.serve(model=model)
        body = {"messages": STORY, "tools": [TOOL], "temperature": 0}
        status, answer = server.ask(CHAT, body)
        message = answer["choices"][0]["message"]
        self.assertEqual((status, message["reasoning_content"], message["content"], len(message["tool_calls"])), (200, "why", "so ", 2))
        results = [result("r%d" % i, one["id"]) for i, one in enumerate(message["tool_calls"])]
        prompt = server.ask(APPLY, {"messages": STORY + [message] + results})[1]["prompt"]
        ids = [one["id"] for one in message["tool_calls"]]
        self.assertEqual(prompt, "[user]Once upon a time[assistant]" + text + "[tool]r0:get:%s[tool]r1:get:%s[assistant]" % tuple(ids))
        self.assertEqual(server.ask(CHAT, {**body, "messages": STORY + [message] + results[::-1]})[0], 200)
        # as a stream that a client put together
        parts = {"role": "assistant", "content": "", "tool_calls": []}
        for chunk in server.stream(CHAT, body):
            for choice in [] if chunk == "[DONE]" else chunk["choices"]:
                delta = choice["delta"]
                parts["content"] += delta.get("content", "")
                for one in delta.get("tool_calls", []):
                    if one["index"] == len(parts["tool_calls"]):
                        parts["tool_calls"].append(one)
                    else:
                        parts["tool_calls"][one["index"]]["function"]["arguments"] += one["function"]["arguments"]
        prompt = server.ask(APPLY, {"messages": STORY + [parts], "continue_final_message": False})[1]["prompt"]
        self.assertEqual(prompt, "[user]Once upon a time[assistant]" + text.split("</think>")[1] + "[assistant]")
        # and as items of /v1/responses
        whole = {"input": STORY[0]["content"], "tools": [FLAT], "temperature": 0}
        status, answer = server.ask(RESPONSES, whole)
        self.assertEqual([item["type"] for item in answer["output"]], ["reasoning", "message", "function_call", "function_call"])
        outputs = [{"type": "function_call_output", "call_id": item["call_id"], "output": "r"} for item in answer["output"][2:]]
        again = server.ask(RESPONSES, {**whole, "input": [{"role": "user", "content": "Once upon a time"}, *answer["output"], *outputs]})
        self.assertEqual(again[0], 200, again)
        history = STORY + [{"role": "assistant", "reasoning_content": "why", "content": "so ", "tool_calls": [
            call(item["arguments"], id=item["call_id"]) for item in answer["output"][2:]]}, *(result("r", item["call_id"]) for item in answer["output"][2:])]
        chat = server.ask(CHAT, {**body, "messages": history})[1]
        self.assertEqual(again[1]["usage"]["input_tokens"], chat["usage"]["prompt_tokens"])


class Agents(Served):
    """Bodies that agents send to /v1/responses: accepted, or refused with the field's name."""

    def setUp(self):
        super().setUp()
        self.server = self.share("--template", self.path("agents.jinja", (TEMPLATE % JSON).encode()))

    def respond(self, **fields):
        with self.server.open(RESPONSES, {"input": "x", "max_output_tokens": 1, **fields}) as response:
            return response.status, json.loads(response.read()), response.headers["X-Ggufx-Ignored"]

    def n_input(self, items, **fields):
        status, answer = self.server.ask(RESPONSES, {"input": items, "max_output_tokens": 1, **fields})
        self.assertEqual(status, 200, answer)
        return answer["usage"]["input_tokens"]

    def test_fields_without_effect_are_accepted(self):
        for fields in ({"text": {"verbosity": "low"}}, {"text": {"verbosity": "high", "format": {"type": "text"}}}, {"client_metadata": {"a": "b"}},
                       {"reasoning": {"summary": "auto"}}, {"reasoning": {"summary": "detailed", "effort": None}},
                       *({"reasoning": {"effort": effort}} for effort in ("none", "minimal", "low", "medium", "high", "xhigh"))):
            with self.subTest(fields):
                status, answer = self.server.ask(RESPONSES, {"input": "x", "max_output_tokens": 1, **fields})
                self.assertEqual(status, 200, answer)
                self.assertEqual(answer["reasoning"]["effort"], fields.get("reasoning", {}).get("effort"))
                self.assertEqual(answer["text"]["verbosity"], fields.get("text", {}).get("verbosity", "medium"))

    def test_what_cannot_be_done_names_its_field(self):
        for fields, name in (({"reasoning": {"effort": "huge"}}, "reasoning.effort"), ({"reasoning": {"summary": "long"}}, "reasoning.summary"),
                             ({"text": {"verbosity": "loud"}}, "text.verbosity"), ({"reasoning": {"effort": 1}}, "reasoning.effort"),
                             ({"tools": [{"type": "banana"}]}, "tools[0].type"), ({"tools": [{"name": "x"}, {"type": "function"}]}, "tools[1].name"),
                             ({"tools": [FLAT], "tool_choice": {"type": "web_search"}}, "tool_choice.type"), ({"tools": [{"type": "web_search"}], "tool_choice": "required"}, "tool_choice"),
                             ({"input": [{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{"}]}, "input[0].arguments"),
                             ({"input": [{"type": "function_call_output", "call_id": "a"}]}, "input[0].output"), ({"input": [{"type": "computer_call"}]}, "input[0].type")):
            with self.subTest(fields):
                status, answer, _ = self.respond(**fields)
                self.assertEqual((status, answer["error"]["param"]), (400, name), answer)

    def test_wrong_types_are_refused(self):
        server = self.serve("--template", self.path("plain.jinja", (TEMPLATE % JSON).encode()))
        for body, param in (({"input": [{"type": "reasoning", "content": 5}]}, "content"), ({"input": "x", "tools": [3]}, "tools[0]")):
            status, answer = server.ask("/v1/responses", body)
            self.assertEqual(status, 400, answer)
            self.assertIn(param, answer["error"]["message"])

    def test_tools_that_run_elsewhere_are_passed_over_and_named(self):
        custom = {"type": "custom", "name": "apply_patch", "description": "d", "format": {"type": "grammar", "syntax": "lark", "definition": "x"}}
        for tools, ignored in (([FLAT], None), ([FLAT, {"type": "web_search"}], "tools[1]"), ([custom, FLAT, {"type": "local_shell"}], "tools[0], tools[2]"),
                               ([{"type": "web_search_preview_2025_03_11", "search_context_size": "low"}], "tools[0]")):
            with self.subTest(tools):
                status, answer, header = self.respond(tools=tools)
                self.assertEqual((status, header), (200, ignored), answer)
                self.assertEqual(answer["tools"], tools)
                self.assertEqual(self.n_input("x", tools=tools), self.n_input("x", tools=[FLAT] if FLAT in tools else []))
        status, answer, header = self.respond(input=[{"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {}}, {"role": "user", "content": "x"}])
        self.assertEqual((status, header), (200, "input[0]"), answer)

    def test_items_of_every_form(self):
        user = {"role": "user", "content": "x"}
        made = {"type": "function_call", "call_id": "c", "name": "get", "arguments": '{"a": 1}'}
        output = lambda of: {"type": "function_call_output", "call_id": "c", "output": of}
        n = lambda *items: self.n_input([user, *items])
        self.assertEqual(n(made, output('{"ok":true}')), n(made, output({"ok": True})))
        self.assertEqual(n(made, output("7")), n(made, output(7)))
        self.assertEqual(n(made, output("x")), n(made, output([{"type": "input_text", "text": "x"}])) - 1)  # the template writes "/" after a part
        self.assertEqual(n({**made, "arguments": ""}), n({**made, "arguments": "{}"}))
        self.assertEqual(n({**made, "arguments": {"a": 1}}), n(made))
        custom = {"type": "custom_tool_call", "call_id": "c", "name": "get", "input": "do"}
        self.assertEqual(n(custom, {**output("x"), "type": "custom_tool_call_output"}), n({**made, "arguments": '{"input": "do"}'}, output("x")))
        reasoning = lambda **of: {"type": "reasoning", "id": "rs_1", "summary": [], **of}
        text = lambda kind: [{"type": kind, "text": "why"}]
        self.assertEqual(n(reasoning(summary=text("summary_text")), made), n(reasoning(content=text("reasoning_text")), made))
        self.assertGreater(n(reasoning(content=text("reasoning_text")), made), n(reasoning(content=None, encrypted_content=None), made))


class Published(Served):
    """Every stored template accepts a history with tools, or reports that it does not support their role."""

    ROLES_REFUSED = ("google-gemma-2-2b-it",)

    def test_every_published_template_takes_them(self):
        folder = tool.shared("data", "chat", "templates")
        names = sorted(name for name in os.listdir(folder) if name.endswith(".jinja"))
        self.assertGreaterEqual(len(names), 55)
        tools = [{"type": "function", "function": {"name": "get", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}}]
        for name in tool.stepped(names):
            with self.subTest(name):
                server = self.serve("--template", os.path.join(folder, name))
                server.checks = False
                for content in ({}, {"content": None}, {"content": ""}, {"content": "Well."}):
                    prompts = set()
                    for arguments in ({"a": "P"}, '{"a":"P"}', '{"a": "P"}'):
                        messages = [STORY[0], said(call(arguments), call("", name="other"), **content), result("one"), result("two"), {"role": "assistant", "content": "Done."}, STORY[0]]
                        status, answer = server.ask(APPLY, {"messages": messages, "tools": tools})
                        if name[:-len(".jinja")] in self.ROLES_REFUSED:
                            self.refused(400, "invalid_value", (status, answer))
                        else:
                            self.assertEqual(status, 200, answer)
                            prompts.add(answer["prompt"].replace('{"a":"P"}', '{"a": "P"}'))
                            self.assertNotIn("None", answer["prompt"].split(STORY[0]["content"], 1)[1])
                    self.assertLessEqual(len(prompts), 1)
                self.assertEqual(server.end(), 0)


if __name__ == "__main__":
    tool.main()
