# serve and chat: tool calls, reasoning and structured output of models that generate a given text. Whole and streamed
# answers of the server, /v1/responses and `ggufx chat` give the same results.
# SPDX-License-Identifier: MIT
import json
import os

import tool
from scripted import pieces, scripted_model
from serve_calls import CHAT, FORMS, RESPONSES, calls_of
from serve_case import STORY, Served, text_of

PROPERTIES = {"city": {"type": "string"}, "days": {"type": "integer"}, "exact": {"type": "boolean"}, "list": {"type": "array"}, "more": {"type": "object"}}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "d", "parameters": {"type": "object", "properties": PROPERTIES}}},
         {"type": "function", "function": {"name": "now", "description": "d", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}}}]
HERMES = FORMS["object"]["template"]
SCHEMA = {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"], "additionalProperties": False}
FORM = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}


def found(message):
    """Returns a message's contents in a common form."""
    value = lambda given: json.loads(given) if isinstance(given, str) else given  # chat writes objects
    calls = [(one["function"]["name"], value(one["function"]["arguments"])) for one in message.get("tool_calls") or []]
    return (message.get("content") or "").strip(), (message.get("reasoning_content") or "").strip(), calls


def reasoning_of(chunks):
    return "".join(choice["delta"].get("reasoning_content", "") for chunk in chunks if chunk != "[DONE]" for choice in chunk["choices"])


class Scripted(Served):
    def says(self, text, template=HERMES, *args, size=4, **options):
        while "<|bot|>".endswith(pieces(text, size)[-1]):  # the prompt's end is no part of the script
            size += 1
        model = self.path("script.gguf", scripted_model(pieces(text, size), template, **options))
        return self.serve(*args, model=model)

    def answer(self, server, **fields):
        status, answer = server.ask(CHAT, {"messages": STORY, "temperature": 0, **fields})
        self.assertEqual(status, 200, answer)
        return answer["choices"][0]

    def test_server_stream_responses_and_chat_find_the_same_calls(self):
        rows = [(name, row["template"], one) for name, row in FORMS.items() for one in row.get("written", []) if "prompt" not in one]
        for name, template, one in tool.stepped(rows):
            with self.subTest(name, text=one["output"]):
                want = (one.get("content", ""), one.get("reasoning", ""), [(call[0], call[1]) for call in one["calls"]])
                server = self.says(one["output"], template)
                choice = self.answer(server, tools=TOOLS)
                self.assertEqual((found(choice["message"]), choice["finish_reason"]), (want, "tool_calls" if want[2] else "stop"))
                chunks = server.stream(CHAT, {"messages": STORY, "tools": TOOLS, "temperature": 0})
                streamed = {"content": text_of(chunks)[0], "reasoning_content": reasoning_of(chunks), "tool_calls": calls_of(chunks)}
                self.assertEqual((found(streamed), text_of(chunks)[1]), (want, choice["finish_reason"]))
                flat = [{"type": "function", **t["function"]} for t in TOOLS]
                output = server.ask(RESPONSES, {"input": STORY[0]["content"], "tools": flat, "temperature": 0})[1]["output"]
                self.assertEqual([(item["name"], json.loads(item["arguments"])) for item in output if item["type"] == "function_call"], want[2])
                tools = self.path("tools.json", json.dumps(TOOLS).encode())
                with open(self.path("lines.txt", b"Once\n"), "rb") as lines:
                    ended = tool.run("chat", os.path.join(self.folder, "script.gguf"), "--tools", tools, "--temp", "0", "--json", stdin=lines)
                self.assertEqual((ended.returncode, found(json.loads(ended.stdout.decode().splitlines()[0]))), (0, want))

    def test_without_tools_a_call_is_text(self):
        text = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
        choice = self.answer(self.says(text))
        self.assertEqual((choice["message"]["content"], choice["finish_reason"]), (text, "stop"))

    def test_one_call_alone_where_several_are_not_wanted(self):
        call = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
        server = self.says("One." + call + call)
        self.assertEqual(len(self.answer(server, tools=TOOLS)["message"]["tool_calls"]), 2)
        for size in (4, 200):
            choice = self.answer(self.says("One." + call + call, size=size), tools=TOOLS, parallel_tool_calls=False)
            self.assertEqual((found(choice["message"]), choice["finish_reason"]), (("One.", "", [("now", {})]), "tool_calls"))

    def test_reasoning_comes_before_the_grammar(self):
        opened = HERMES.replace("{{ '<|bot|>' }}{% endif -%}", "{{ '<|bot|><think>\\n' }}{% endif -%}")
        self.assertNotEqual(opened, HERMES)
        why = "Why {not} JSON?"
        for template, text, markers in ((opened, why + "</think>", ()), (HERMES, "<think>" + why + "</think>", ("<think>",))):
            script = [*markers, *pieces(text[len("".join(markers)):])]
            model = self.path("script.gguf", scripted_model(script, template, user=("<think>", "</think>")))
            server = self.serve(model=model)
            message = self.answer(server, response_format=FORM, max_tokens=500)["message"]
            self.assertEqual((message["reasoning_content"], json.loads(message["content"])["a"] in (1, 2)), (why, True))
            choice = self.answer(server, tools=TOOLS[1:], tool_choice="required", max_tokens=500)
            self.assertEqual((found(choice["message"]), choice["finish_reason"]), (("", why, [("now", {})]), "tool_calls"))
            # Effort "none" answers at once.
            message = self.answer(server, response_format=FORM, reasoning_effort="none", max_tokens=500)["message"]
            self.assertEqual(("reasoning_content" in message, json.loads(message["content"])["a"] in (1, 2)), (False, True))
        # Reasoning that the model does not close ends when the model stops.
        server = self.says(why, opened)
        message = self.answer(server, response_format=FORM, max_tokens=500)["message"]
        self.assertEqual((message["reasoning_content"], json.loads(message["content"])["a"] in (1, 2)), (why, True))

    def test_an_answer_in_a_form_or_a_call(self):
        call = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
        script = ["<tool_call>", *pieces(call[len("<tool_call>"):])]
        server = self.serve(model=self.path("script.gguf", scripted_model(script, HERMES, user=("<tool_call>",))))
        choice = self.answer(server, response_format=FORM, tools=TOOLS, max_tokens=500)
        self.assertEqual((found(choice["message"]), choice["finish_reason"]), (("", "", [("now", {})]), "tool_calls"))
        server = self.serve(model=self.path("script.gguf", scripted_model(["{", '"a"', ":", "2", "}"], HERMES, user=("<tool_call>",))))
        choice = self.answer(server, response_format=FORM, tools=TOOLS, max_tokens=500)
        self.assertEqual((json.loads(choice["message"]["content"]), choice["finish_reason"]), ({"a": 2}, "stop"))
        self.assertIn("response_format", self.refused(400, "invalid_value", server.ask(CHAT, {
            "messages": STORY, "response_format": FORM, "tools": TOOLS, "tool_choice": "required"})))

    def test_forced_parameters_keep_to_their_schemas(self):
        properties = {"city": {"enum": ["Rome", "Oslo"]}, "note": {"type": "string", "maxLength": 5}, "days": {"type": "integer", "minimum": 3, "maximum": 4},
                      "exact": {"type": "boolean"}, "list": {"type": "array", "items": {"const": "x"}, "minItems": 1, "maxItems": 2}}
        tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": properties, "required": list(properties)}}}]
        for name in ("tagged", "tagged with types", "keys and values in tags", "Python"):
            with self.subTest(name):
                server = self.says("x", FORMS[name]["template"])
                for seed in range(3):
                    choice = self.answer(server, tools=tools, tool_choice="required", temperature=1.5, seed=seed, max_tokens=300)
                    (_, arguments), = found(choice["message"])[2]
                    self.assertEqual((choice["finish_reason"], set(arguments)), ("tool_calls", set(properties)))
                    self.assertIn(arguments["city"], ("Rome", "Oslo"))
                    self.assertLessEqual(len(arguments["note"]), 5, (seed, choice["message"]))
                    self.assertIn(arguments["days"], (3, 4))
                    self.assertIn(arguments["exact"], (True, False))
                    self.assertIn(arguments["list"], (["x"], ["x", "x"]))

    def test_a_maximum_length_counts_no_part_of_the_end_marker(self):
        for script in (["Rome", "\n<", "/para", "meter>"], ["Ro", "me</", "param", "eter>"], ["Rome\n", "</par", "ameter>"]):
            model = self.path("script.gguf", scripted_model(script, FORMS["tagged"]["template"]))
            server = self.serve(model=model)
            for most in (2, 2.0, 4, 5, 6, 10, 17, 1e2): # JSON Schema counts 2.0 as an integer
                tools = [{"type": "function", "function": {"name": "f", "parameters": {
                    "type": "object", "properties": {"city": {"type": "string", "maxLength": most}}, "required": ["city"]}}}]
                choice = self.answer(server, tools=tools, tool_choice="required", max_tokens=300)
                self.assertEqual(found(choice["message"])[2], [("f", {"city": "Rome"[:int(most)]})], (script, most))


if __name__ == "__main__":
    tool.main()
