"""Conversations as texts and ids, and outputs told apart.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import ggufx
from ggufx import (
    Chat, ChatEvent, ChatFlags, ChatParser, ChatRequest, ChatStyles, Status, Tokenizer,
    TokenizeFlags, chat_formats)

from .common import Case

HELLO = [{"role": "user", "content": "Hi </s> \u00e9"}]
TEMPLATE = ("{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}</s>{% endfor %}"
            "{% if add_generation_prompt %}[assistant]{% endif %}")


class Chats(Case):
    def test_a_conversation_is_text(self) -> None:
        chat = Chat(self.rt, text=TEMPLATE, bos="<s>")
        said = chat.render(HELLO)
        self.assertEqual(said.text, "<s>[user]Hi </s> \u00e9</s>[assistant]")
        self.assertEqual(said.runs, ((9, False), (19, True), (34, False)))
        self.assertEqual(chat.render(ChatRequest(HELLO, generate=False)).text[-4:], "</s>")
        longer = [{"role": "user", "content": "x" * 9000}] * 50
        self.assertEqual(len(chat.render(longer).text), 3 + 50 * (9000 + 10) + 11)
        self.assertEqual(len(chat.render(longer).runs), 101)
        more = Chat(self.rt, text="{{ enable_thinking }} {{ tools }} {{ n }} {{ reasoning_effort }}"
                                  " {{ documents[0].t }} {{ strftime_now('%Y') }}")
        request = ChatRequest([], tools=[], documents=[{"t": 1}], variables={"n": 2}, thinking=False,
                              reasoning_effort="high", clock=0)
        self.assertEqual(more.render(request).text, "False [] 2 high 1 1970")
        self.fails(Status.MALFORMED, Chat, self.rt, text="{% if %}")
        self.fails(Status.NOT_FOUND, Chat, self.rt, format="no such")
        self.fails(Status.VALUE, more.render, [])

    def test_formats_have_names(self) -> None:
        names = chat_formats()
        self.assertIn("chatml", names)
        for name in names:
            self.assertIn("Hi", Chat(self.rt, format=name).render(HELLO).text)

    def test_no_text_of_a_user_is_a_control_token(self) -> None:
        file = self.demo()
        tokenizer = Tokenizer(file)
        chat = Chat(self.rt, file, text=TEMPLATE)
        ids = chat.tokenize(tokenizer, HELLO).tolist()
        self.assertEqual((ids[0], ids.count(1), ids.count(2)), (1, 1, 1))
        plain = tokenizer.encode(chat.render(HELLO).text, TokenizeFlags.PARSE_SPECIAL).tolist()
        self.assertEqual(plain.count(2), 2)
        self.assertEqual(chat.tokenize(tokenizer, HELLO, TokenizeFlags.ADD_SPECIAL).tolist(), ids)
        self.assertGreater(len(chat.tokenize(tokenizer, HELLO * 500)), 4000)
        self.fails(Status.ARGUMENT, chat.tokenize, tokenizer, HELLO, 64)

    def test_what_a_model_says_is_told_apart(self) -> None:
        styles = ChatStyles.THINK | ChatStyles.HERMES
        said = '<think>hm</think>Hi<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>'
        parser = ChatParser(self.rt, styles)
        told = [event for c in said for event in parser.feed(c)] + parser.finish()
        texts: dict[int, str] = {}
        for event in told:
            texts[event.kind] = texts.get(event.kind, "") + event.text
        self.assertEqual(texts, {ggufx.CHAT_REASONING: "hm", ggufx.CHAT_ANSWER: "Hi",
                                 ggufx.CHAT_CALL_NAME: "f",
                                 ggufx.CHAT_CALL_ARGUMENTS: '{"a":1}'})
        self.fails(Status.STATE, parser.feed, "x")
        opened = ChatParser(self.rt, styles, "...<think>\n", [])
        self.assertEqual(opened.feed("so"), [ChatEvent(ggufx.CHAT_REASONING, 0, "so")])
        self.assertEqual(Chat(self.rt, text="<think>").styles, ChatStyles.THINK)
        self.assertEqual(int(ChatFlags.GENERATE), 1)
        self.fails(Status.MALFORMED, ChatParser, self.rt, styles, "", [float("nan")])
