# serve: reasoning options of a request (budgets, formats, efforts, template variables) and messages to continue.
# SPDX-License-Identifier: MIT
import json
import os

import tool
from scripted import pieces, scripted_model
from serve_case import STORY, Served, text_of

CHAT, TEXT, RESPONSES, APPLY = "/v1/chat/completions", "/v1/completions", "/v1/responses", "/apply-template"
# Properties of a template, and reasoning that it, or the model, opens.
TEMPLATE = """{%% for t in tools or [] %%}({{ t.function.name }}){%% endfor %%}{%% for m in messages %%}[{{ m.role }}]\
{%% if m.reasoning_content %%}<think>{{ m.reasoning_content }}</think>{%% endif %%}{{ m.content or '' }}\
{%% for c in m.tool_calls or [] %%}<tool_call>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}</tool_call>{%% endfor %%}\
{%% if m.role == 'assistant' %%}<end>{%% endif %%}{%% endfor %%}{%% if add_generation_prompt %%}[bot]%s{%% endif %%}"""
PLAIN, OPENED = TEMPLATE % "", TEMPLATE % "<think>\n"
SHOWS = "{{ enable_thinking }},{{ reasoning_effort }},{{ verbosity }},{{ style }},{{ list }}{% for m in messages %}{{ m.content }}{% endfor %}"
CHANNELS = "<|channel|>{# <|message|> #}{% for m in messages %}<|start|>{{ m.role }}{% if m.role == 'assistant' %}<|channel|>{{ 'analysis' if m.thinking else 'final' }}\
{% endif %}<|message|>{{ m.thinking or m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}"
MARKS = ("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>")
WORDS = ["one ", "two ", "three ", "four "]
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}}}]
FORM = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"enum": [7]}}}


def words(n):
    return "".join(WORDS[:n])


class Scripted(Served):
    def setUp(self):
        super().setUp()
        self.n = 0

    def says(self, script, template=PLAIN, control=(), **more):
        self.n += 1
        more = {"control": control, "other": [mark for mark in control if mark not in script], **more}
        with open(self.path("script%d.gguf" % self.n), "wb") as file:
            file.write(scripted_model(script, template, **more))
        return self.serve(model=file.name)

    def answer(self, server, **fields):
        """Returns content and reasoning of an answer, equal to those of a stream, and its tokens."""
        body = {"messages": STORY, "temperature": 0, "max_tokens": 60, **fields}
        status, answer = server.ask(CHAT, body)
        self.assertEqual(status, 200, answer)
        message = answer["choices"][0]["message"]
        chunks = server.stream(CHAT, body)
        reasoning = "".join(c["delta"].get("reasoning_content", "") for chunk in chunks if chunk != "[DONE]" for c in chunk["choices"])
        self.assertEqual((text_of(chunks)[0], reasoning), (message["content"] or "", message.get("reasoning_content", "")))
        return message["content"], message.get("reasoning_content"), answer["usage"]["completion_tokens"]


class Budgets(Scripted):
    SCRIPT = ["<think>", *WORDS, "</think>", "\n\n", "So ", "it is"]

    def test_reasoning_ends_where_the_budget_does(self):
        user = ("<think>", "</think>")
        for template, script in ((PLAIN, self.SCRIPT), (OPENED, self.SCRIPT[1:])):
            server = self.says(script, template, user=user)
            opens = len(script) - len(self.SCRIPT) + 1
            for fields, n in (({}, 4), ({"thinking_budget": -1}, 4), ({"thinking_budget": 9}, 4), ({"thinking_budget": 4}, 4), ({"thinking_budget": 3}, 3),
                              ({"thinking_budget": 1}, 1), ({"reasoning_budget": 2}, 2), ({"reasoning": {"max_tokens": 2}}, 2), ({"thinking_budget": 0}, 0),
                              ({"thinking_budget": 2, "reasoning_budget": 2, "stop": "zzz"}, 2), ({"thinking_budget": None, "reasoning": {"max_tokens": None}}, 4)):
                with self.subTest((template, fields)):
                    content, reasoning, tokens = self.answer(server, **fields)
                    self.assertEqual((content, reasoning), ("So it is", words(n) or None))
                    self.assertEqual(tokens, opens + n + 5)  # the marker, a line break, two tokens and the end

    def test_a_form_comes_after_a_budget(self):
        for template, script in ((PLAIN, self.SCRIPT), (OPENED, self.SCRIPT[1:])):
            server = self.says(script, template, user=("<think>", "</think>"))
            for n in (0, 2):
                self.assertEqual(self.answer(server, response_format=FORM, thinking_budget=n, enable_thinking=True)[:2], ("7", words(n) or None))
            message = server.ask(CHAT, {"messages": STORY, "temperature": 0, "tools": TOOLS, "tool_choice": "required", "thinking_budget": 1, "json_whitespace": "none"})[1]
            # Tokens of the call are no reasoning.
            self.assertLess(message["usage"]["completion_tokens_details"]["reasoning_tokens"], message["usage"]["completion_tokens"] - 2)
            message = message["choices"][0]["message"]
            self.assertEqual((message["reasoning_content"], message["tool_calls"][0]["function"]), (words(1), {"name": "f", "arguments": "{}"}))

    def test_channels_have_a_budget(self):
        script = ["<|channel|>", "analysis", "<|message|>", *WORDS, "<|end|>", "<|start|>", "assistant", "<|channel|>", "final", "<|message|>", "So ", "it is", "<|return|>"]
        server = self.says(script, CHANNELS, control=MARKS)
        for n in (0, 1, 3, 4, 9):
            self.assertEqual(self.answer(server, thinking_budget=n, enable_thinking=True)[:2], ("So it is", words(min(n, 4)) or None))

    def test_responses_have_one(self):
        server = self.says(self.SCRIPT, user=("<think>", "</think>"))
        for fields, n in (({}, 4), ({"reasoning": {"max_tokens": 2}}, 2), ({"thinking_budget": 3}, 3)):
            answer = server.ask(RESPONSES, {"input": "x", "temperature": 0, **fields})[1]
            self.assertEqual([item["content"][0]["text"] for item in answer["output"]], [words(n), "So it is"])


class Formats(Scripted):
    def test_reasoning_stays_in_the_content_where_that_is_asked_for(self):
        text = "<think>\nwhy\n\nnot\n</think>\n\nSo it is"
        for template, script, raw in ((PLAIN, pieces(text), text), (OPENED, pieces(text[len("<think>\n"):]), text[len("<think>\n"):])):
            server = self.says(script, template)
            for form in ("auto", "deepseek", None):
                self.assertEqual(self.answer(server, reasoning_format=form)[:2], ("So it is", "why\n\nnot"))
            self.assertEqual(self.answer(server, reasoning_format="none")[:2], (raw, None))
            usage = [server.ask(CHAT, {"messages": STORY, "temperature": 0, "reasoning_format": form})[1]["usage"]["completion_tokens_details"]["reasoning_tokens"]
                     for form in ("none", "auto")]
            self.assertGreater(min(usage), 2)
        server = self.says(["[THINK]", "why", "[/THINK]", "So"], "[THINK]" + PLAIN, control=("[THINK]", "[/THINK]"))
        self.assertEqual(self.answer(server)[:2], ("So", "why"))
        self.assertEqual(self.answer(server, reasoning_format="none")[:2], ("[THINK]why[/THINK]So", None))

    def test_calls_and_budgets_stay_what_they_are(self):
        script = ["<think>", *WORDS, "</think>", "\n\n", "So ", *pieces('<tool_call>{"name": "f", "arguments": {}}</tool_call>', 5)]
        server = self.says(script, user=("<think>", "</think>"))
        body = {"messages": STORY, "temperature": 0, "tools": TOOLS, "reasoning_format": "none"}
        for fields, n in (({}, 4), ({"thinking_budget": 2}, 2)):
            message = server.ask(CHAT, {**body, **fields})[1]["choices"][0]["message"]
            self.assertEqual((message["content"].strip(), message["tool_calls"][0]["function"]["name"]), ("<think>%s</think>\n\nSo" % words(n), "f"))
            self.assertNotIn("reasoning_content", message)

    def test_channels_are_written_too(self):
        script = ["<|channel|>", "analysis", "<|message|>", "why", "<|end|>", "<|start|>", "assistant", "<|channel|>", "final", "<|message|>", "So", "<|return|>"]
        server = self.says(script, CHANNELS, control=MARKS)
        self.assertEqual(self.answer(server)[:2], ("So", "why"))
        self.assertEqual(self.answer(server, reasoning_format="none")[:2], ("<|channel|>analysis<|message|>why<|end|>So", None))


class Variables(Served):
    def setUp(self):
        super().setUp()
        self.server = self.share("--template", self.path("shows.jinja", SHOWS.encode()))

    def test_templates_find_them(self):
        for fields, want in (({}, ",,,,"), ({"enable_thinking": True}, "True,,,,"), ({"enable_thinking": False}, "False,,,,"), ({"thinking_budget": 0}, "False,,,,"),
                             ({"thinking_budget": 0, "enable_thinking": True}, "True,,,,"), ({"reasoning_effort": "none"}, "False,none,,,"),
                             *(({"reasoning_effort": effort}, ",%s,,," % effort) for effort in ("minimal", "low", "medium", "high", "xhigh")),
                             ({"chat_template_kwargs": {"style": "x", "list": [1, None]}}, ",,,x,[1, None]"), ({"chat_template_kwargs": {}}, ",,,,"),
                             ({"chat_template_kwargs": {"enable_thinking": False, "reasoning_effort": "odd"}}, "False,odd,,,"),
                             ({"chat_template_kwargs": {"enable_thinking": False}, "enable_thinking": True}, "True,,,,")):
            with self.subTest(fields):
                status, answer = self.server.ask(APPLY, {"messages": STORY, **fields})
                self.assertEqual((status, answer.get("prompt")), (200, want + "Once upon a time"), answer)
        n = lambda **fields: self.server.ask(CHAT, {"messages": STORY, "max_tokens": 1, **fields})[1]["usage"]["prompt_tokens"]
        self.assertEqual(n(reasoning={"enabled": False}), n(enable_thinking=False))
        self.assertEqual(n(reasoning={"effort": "low"}), n(reasoning_effort="low"))
        self.assertEqual(n(verbosity="high"), n(chat_template_kwargs={"verbosity": "high"}))
        self.assertNotEqual(n(verbosity="high"), n())
        tokens = self.server.ask(RESPONSES, {"input": "Once upon a time", "max_output_tokens": 1, "chat_template_kwargs": {"style": "x"}, "enable_thinking": True})[1]
        self.assertEqual(tokens["usage"]["input_tokens"], n(chat_template_kwargs={"style": "x"}, enable_thinking=True))

    def test_wrong_fields_are_named(self):
        for fields, name in (({"enable_thinking": "yes"}, None), ({"enable_thinking": 1}, None), ({"thinking_budget": "9"}, None), ({"thinking_budget": -2}, None),
                             ({"thinking_budget": 1.5}, None), ({"thinking_budget": 2**31}, None), ({"reasoning_budget": True}, None), ({"chat_template_kwargs": []}, None),
                             ({"chat_template_kwargs": {"messages": []}}, None), ({"chat_template_kwargs": "x"}, None), ({"reasoning_format": "xml"}, None),
                             ({"reasoning_format": 1}, None), ({"reasoning_effort": "huge"}, None), ({"reasoning_effort": "none", "enable_thinking": True}, "enable_thinking"),
                             ({"thinking_budget": 1, "reasoning_budget": 2}, "reasoning_budget"), ({"add_generation_prompt": 1}, None), ({"continue_final_message": "yes"}, None),
                             ({"reasoning": {"max_tokens": "x"}}, "reasoning.max_tokens"), ({"reasoning": {"effort": "huge"}}, "reasoning.effort"), ({"reasoning": 1}, None),
                             ({"reasoning": {"exclude": True}}, "reasoning.exclude"), ({"reasoning": {"effort": "low"}, "reasoning_effort": "high"}, "reasoning.effort")):
            with self.subTest(fields):
                status, answer = self.server.ask(CHAT, {"messages": STORY, **fields})
                self.assertEqual((status, answer["error"]["param"]), (400, name or list(fields)[0]), answer)
                if "reasoning" not in fields and not list(fields)[0].endswith("message") and "add_generation_prompt" not in fields:
                    self.assertEqual(self.server.ask(RESPONSES, {"input": "x", **fields})[0], 400)


class Continued(Scripted):
    def test_the_last_message_goes_on(self):
        server = self.serve("--template", self.path("plain.jinja", PLAIN.encode()))
        prompt = lambda messages, **fields: server.ask(APPLY, {"messages": STORY + messages, **fields})[1]["prompt"]
        said = [{"role": "assistant", "content": "there was "}]
        start = "[user]Once upon a time"
        self.assertEqual(prompt(said), start + "[assistant]there was ")
        self.assertEqual(prompt(said, continue_final_message=True, add_generation_prompt=False), start + "[assistant]there was ")
        self.assertEqual(prompt(said, continue_final_message=False), start + "[assistant]there was <end>[bot]")
        self.assertEqual(prompt(said, add_generation_prompt=True), start + "[assistant]there was <end>[bot]")
        self.assertEqual(prompt(said, add_generation_prompt=False, continue_final_message=False), start + "[assistant]there was <end>")
        self.assertEqual(prompt([], add_generation_prompt=False), start)
        self.assertEqual(prompt([{"role": "assistant", "content": ""}]), start + "[assistant]")
        self.assertEqual(prompt([{"role": "assistant", "content": [{"type": "text", "text": "a "}, {"type": "text", "text": "b "}]}]), start + "[assistant]a b ")
        self.assertEqual(prompt([{"role": "assistant", "content": "", "reasoning_content": "I think"}]), start + "[assistant]<think>I think")
        self.assertEqual(prompt([{"role": "assistant", "content": "So", "reasoning_content": "I think"}]), start + "[assistant]<think>I think</think>So")
        call = [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}]
        self.assertTrue(prompt(call).endswith("</tool_call><end>[bot]"))
        for messages, fields, name in (([], {"continue_final_message": True}, "continue_final_message"), (call, {"continue_final_message": True}, "continue_final_message"),
                                       (said, {"continue_final_message": True, "add_generation_prompt": True}, "add_generation_prompt"),
                                       (said, {"continue_final_message": True, "response_format": FORM}, "continue_final_message")):
            status, answer = server.ask(CHAT, {"messages": STORY + messages, **fields})
            self.assertEqual((status, answer["error"]["param"]), (400, name))
        # the answer is the model's continuation of this prompt
        for fields in ({}, {"seed": 3, "temperature": 1}):
            text = server.ask(TEXT, {"prompt": prompt(said), "max_tokens": 9, "temperature": 0, **fields})[1]
            chat = server.ask(CHAT, {"messages": STORY + said, "max_tokens": 9, "temperature": 0, **fields})[1]
            self.assertEqual((chat["choices"][0]["message"]["content"], chat["usage"]["prompt_tokens"]), (text["choices"][0]["text"], text["usage"]["prompt_tokens"]))
        form = server.ask(CHAT, {"messages": STORY + said, "response_format": FORM, "max_tokens": 9})[1]
        self.assertEqual(form["choices"][0]["message"]["content"], "7")  # structured output starts a new answer
        hides = self.serve("--template", self.path("hides.jinja", b"{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}"))
        status, answer = hides.ask(CHAT, {"messages": STORY + said})
        self.assertEqual(status, 400)
        self.assertIn("does not write the text of the last message", answer["error"]["message"])

    def test_what_follows_is_read_as_a_part_of_the_message(self):
        rest = ["two ", "three", "</think>", "\n\n", "So"]
        for template in (PLAIN, OPENED):
            server = self.says(rest, template, user=("<think>", "</think>"))
            answer = lambda **message: self.answer(server, messages=STORY + [{"role": "assistant", **message}])[:2]
            self.assertEqual(answer(content="", reasoning_content="one "), ("So", "two three"))  # within reasoning
            self.assertEqual(answer(content="<think>one "), ("So", "two three"))
            self.assertEqual(answer(content="one ")[1], None)  # within the answer
            self.assertEqual(answer(content="<think>x</think>one ")[1], None)
            self.assertEqual(answer(content="one ", reasoning_content="x")[1], None)
            self.assertEqual(self.answer(server, messages=STORY + [{"role": "assistant", "content": "<think>one "}], thinking_budget=1)[:2], ("So", "two "))
        server = self.says(["assistant ", "goes on", "<|return|>"], CHANNELS, control=MARKS)
        self.assertEqual(self.answer(server, messages=STORY + [{"role": "assistant", "content": "The "}])[:2], ("assistant goes on", None))
        self.assertEqual(self.answer(server, messages=STORY + [{"role": "assistant", "content": "", "reasoning_content": "The "}])[:2], ("", "assistant goes on"))

    def test_every_published_template_goes_on(self):
        folder = tool.shared("data", "chat", "templates")
        for name in tool.stepped(sorted(name for name in os.listdir(folder) if name.endswith(".jinja"))):
            with self.subTest(name):
                server = self.serve("--template", os.path.join(folder, name))
                prompt = server.ask(APPLY, {"messages": STORY + [{"role": "assistant", "content": "there was "}]})[1]["prompt"]
                self.assertTrue(prompt.endswith("there was "), prompt[-80:])
                self.assertEqual(server.end(), 0)


if __name__ == "__main__":
    tool.main()
