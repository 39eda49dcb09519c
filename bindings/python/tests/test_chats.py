"""Conversations as texts and ids, and outputs as answer, reasoning and tool calls.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import itertools
from typing import Any

import ggufx
from ggufx import (
    ChatTemplate, ChatFlags, ChatMessage, ChatParser, ChatParserFacts, ChatParserFlags, ChatParserStateFlags,
    ChatRequest, ChatSpan, EventKind, Status, Tokenizer, TokenizeFlags, chat_template_builtin_name)

from .common import Case

HELLO = [{"role": "user", "content": "Hi </s> \u00e9"}]
TEMPLATE = ("{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}</s>{% endfor %}"
            "{% if add_generation_prompt %}[assistant]{% endif %}")
# Calls as [CALL]NAME[ID]ID[ARGS]{...}[END].
CALLS = ("{{ tools }}{% for m in messages %}<think>{{ m.reasoning_content }}</think>{{ m.content }}"
         "{% for c in m.tool_calls %}[CALL]{{ c.function.name }}[ID]{{ c.id }}"
         "[ARGS]{{ c.function.arguments | tojson }}[END]{% endfor %}{% endfor %}")
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {
    "type": "object", "properties": {"a": {"type": "integer"}, "s": {"type": "string"}}}}}]


def asked(messages: list[dict[str, str]]) -> ChatRequest:
    return ChatRequest(flags=ChatFlags.GENERATE, messages_json=messages)


class Chats(Case):
    def test_a_conversation_is_text(self) -> None:
        chat = ChatTemplate(self.rt, text=TEMPLATE, bos_token="<s>")
        said = chat.render(asked(HELLO))
        self.assertEqual(said, "<s>[user]Hi </s> \u00e9</s>[assistant]")
        self.assertEqual(chat.spans(asked(HELLO)), (ChatSpan(9, False), ChatSpan(19, True), ChatSpan(34, False)))
        self.assertEqual(chat.render(ChatRequest(messages_json=HELLO))[-4:], "</s>")
        longer = [{"role": "user", "content": "x" * 9000}] * 50
        self.assertEqual(len(chat.render(asked(longer))), 3 + 50 * (9000 + 10) + 11)
        self.assertEqual(len(chat.spans(asked(longer))), 101)
        same = [ChatMessage("user", HELLO[0]["content"])]
        self.assertEqual(chat.render(ChatRequest(flags=ChatFlags.GENERATE, messages=same)), said)
        more = ChatTemplate(self.rt, text="{{ enable_thinking }} {{ tools }} {{ n }} {{ reasoning_effort }}"
                                  " {{ documents[0].t }} {{ strftime_now('%Y') }}")
        request = ChatRequest(messages_json=[], tools=[], documents=[{"t": 1}], variables={"n": 2},
                              flags=ChatFlags.NO_THINK | ChatFlags.CLOCK, reasoning_effort="high", unix_time=0)
        self.assertEqual(more.render(request), "False [] 2 high 1 1970")
        self.fails(Status.MALFORMED, ChatTemplate, self.rt, text="{% if %}")
        self.fails(Status.NOT_FOUND, ChatTemplate, self.rt, format="no such")
        self.fails(Status.VALUE, more.render, asked([]))
        self.fails(Status.CANCELLED, chat.render, ChatRequest(
            messages_json=HELLO * 2000, progress=lambda done, total: False))

    def test_formats_have_names(self) -> None:
        names = list(iter(map(chat_template_builtin_name, itertools.count()).__next__, None))
        self.assertIn("chatml", names)
        for name in names:
            self.assertIn("Hi", ChatTemplate(self.rt, format=name).render(asked(HELLO)))

    def test_no_text_of_a_user_is_a_control_token(self) -> None:
        file = self.demo()
        tokenizer = Tokenizer(file)
        chat = ChatTemplate(self.rt, file=file, text=TEMPLATE)
        ids = chat.tokenize(tokenizer, asked(HELLO)).tolist()
        self.assertEqual((ids[0], ids.count(1), ids.count(2)), (1, 1, 1))
        plain = tokenizer.tokenize(chat.render(asked(HELLO)), flags=TokenizeFlags.PARSE_SPECIAL).tolist()
        self.assertEqual(plain.count(2), 2)
        self.assertEqual(chat.tokenize(tokenizer, asked(HELLO), flags=TokenizeFlags.ADD_SPECIAL).tolist(), ids)
        self.assertGreater(len(chat.tokenize(tokenizer, asked(HELLO * 500))), 4000)
        self.fails(Status.ARGUMENT, chat.tokenize, tokenizer, asked(HELLO), flags=64)

    def test_an_output_is_split_into_reasoning_answer_and_calls(self) -> None:
        chat = ChatTemplate(self.rt, text=CALLS)
        said = 'hm</think>Hi[CALL]f[ID]x7[ARGS]{"a":1}[END][CALL]g[ARGS]{}[END]'
        parser = ChatParser(self.rt, chat=chat, prompt="...<think>\n", tools=TOOLS)
        chat.close()  # the parser keeps the format
        self.assertEqual(parser.info, ChatParserFacts(ggufx.ChatParserStateFlags.REASONING, 0, "</think>"))
        for c in said:
            parser.feed(c)
        parser.finish()
        texts: dict[tuple[EventKind, int], str] = {}
        while (event := parser.poll()).kind != EventKind.NONE:
            texts[event.kind, event.index] = texts.get((event.kind, event.index), "") + event.text
        self.assertEqual(list(texts.items()), [
            ((EventKind.REASONING, 0), "hm"), ((EventKind.TEXT, 0), "Hi"),
            ((EventKind.TOOL_CALL, 0), "f"), ((EventKind.TOOL_ID, 0), "x7"),
            ((EventKind.TOOL_ARGUMENTS, 0), '{"a":1}'),
            ((EventKind.TOOL_CALL, 1), "g"), ((EventKind.TOOL_ARGUMENTS, 1), "{}")])
        self.assertEqual(parser.info, ChatParserFacts(ChatParserStateFlags(0), 2, ""))
        self.fails(Status.STATE, parser.feed, "x")
        self.assertEqual(int(ChatFlags.GENERATE), 1)

    def test_tools_need_a_known_format(self) -> None:
        unknown, written = ChatTemplate(self.rt, text="{{ tools }}"), 'Hi[CALL]f[ARGS]{"a":1}[END]'
        for chat in (unknown, None):
            self.fails(Status.UNSUPPORTED, self.answer, written, chat=chat, tools=TOOLS)
            self.assertEqual(self.answer(written, chat=chat), written)
            self.assertEqual(self.answer(written, chat=chat, tools=TOOLS, flags=ChatParserFlags.NO_CALLS), written)
        known = ChatTemplate(self.rt, text=CALLS)
        self.assertEqual(self.answer(written, chat=known, flags=ChatParserFlags.NO_CALLS), written)
        self.fails(Status.MALFORMED, self.answer, "", chat=known, tools=[float("nan")])
        known.close()
        with self.assertRaises(ggufx.ClosedError):
            self.answer("", chat=known)

    def answer(self, text: str, **how: Any) -> str:
        """Returns the text events of an output."""
        parser = ChatParser(self.rt, **how)
        parser.feed(text)
        answer = ""
        while (event := parser.poll()).kind == EventKind.TEXT:
            answer += event.text
        return answer
