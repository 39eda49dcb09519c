# serve and chat: special tokens. Completions parse them in prompts, and write them into texts on request. As stop
# strings they stop. Answers with a chat template never contain them.
# SPDX-License-Identifier: MIT
import json

import tool
from scripted import scripted_model
from serve_case import STORY, Served, events, text_of

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
PLAIN = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}<|assistant|>"
TURNS = ("<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<|odd|>", "<|end_of_text|>")
# The output of models with channels, and of one that calls tools.
CHANNELS = "{% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endfor %}<|start|>assistant"
CALLS = """{% for t in tools %}{{ t.function.name }}{% endfor %}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% for c in m.tool_calls or [] %}\
<|invoke|>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}<|done|>{% endfor %}{% endfor %}<|assistant|>"""
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]


def is_text(piece):
    return "\ufffd" not in piece.decode(errors="replace")


class Scripted(Served):
    def model(self, script, template=PLAIN, control=TURNS, **more):
        name = self.path("script%d.gguf" % len(self.models))
        self.models.append(name)
        with open(name, "wb") as file:
            file.write(scripted_model(script, template, control=control, other=[t for t in control if t not in script], **more))
        return name

    def setUp(self):
        super().setUp()
        self.models = []


class Prompts(Served):
    def setUp(self):
        super().setUp()
        self.server = self.share()

    def n_tokens(self, prompt, **fields):
        status, answer = self.server.ask(TEXT, {"prompt": prompt, "max_tokens": 1, **fields})
        self.assertEqual(status, 200, answer)
        return answer["usage"]["prompt_tokens"], answer["choices"][0]["text"]

    def test_special_tokens_in_prompts_are_read(self):
        ids = lambda text, **fields: self.server.ask("/tokenize", {"content": text, **fields})[1]["tokens"]
        plain = ids("Once upon", add_special=True)
        self.assertEqual(plain[0], 1)
        for prompt, want in (("Once upon", plain), ("<s>Once upon", plain), ("<s>", [1]), ("<s><s>Once", [1, 1, *ids("Once")]),
                             ("Once</s> upon", [*ids("Once", add_special=True), 2, *ids(" upon")]), ("</s>Once", [1, 2, *ids("Once")])):
            with self.subTest(prompt):
                self.assertEqual(self.n_tokens(prompt, temperature=0), self.n_tokens(want, temperature=0))
                self.assertEqual(self.n_tokens(prompt)[0], len(want))
                spelled = ids(prompt, add_special=True, parse_special=False)
                self.assertEqual(self.n_tokens(prompt, parse_special=False)[0], len(spelled))
        self.assertGreater(len(ids("<s>Once", parse_special=False)), 3)
        for field in ("parse_special", "return_special"):
            for value in ("yes", 1):
                status, answer = self.server.ask(TEXT, {"prompt": "x", field: value})
                self.assertEqual((status, answer["error"]["param"]), (400, field))

    def test_texts_around_a_gap_are_text_unless_asked_for(self):
        model = self.path("gaps.gguf")
        self.ok("set", tool.MODEL, *("tokenizer.ggml.fim_%s_token_id:u32=%d" % one for one in (("pre", 300), ("suf", 301), ("mid", 302))), "-o", model)
        server = self.serve(model=model)
        n = lambda **fields: server.ask(TEXT, {"prompt": "<s>", "suffix": "</s>", "max_tokens": 1, **fields})[1]["usage"]["prompt_tokens"]
        self.assertEqual(n(parse_special=True), 5)
        self.assertGreater(n(), 7)
        self.assertEqual(n(), n(parse_special=False))


class Parts(Served):
    """Tokens that are parts of a character: the demo model writes them at a high temperature."""
    def test_responses_have_the_logprobs_of_chats(self):
        server, n_parts = self.share(), 0
        more = {"temperature": 8, "top_logprobs": 2}
        for seed in range(20):
            chat = server.ask(CHAT, {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 40, "seed": seed, "logprobs": True, **more})[1]["choices"][0]
            want = chat["logprobs"]["content"]
            body = {"input": "Hi", "max_output_tokens": 40, "seed": seed, "include": ["message.output_text.logprobs"], **more}
            part = server.ask("/v1/responses", body)[1]["output"][-1]["content"][0]
            self.assertEqual((part["text"], part["logprobs"]), (chat["message"]["content"], want))
            with server.open("/v1/responses", {**body, "stream": True}) as response:
                deltas = [event for event in events(response) if event["type"] == "response.output_text.delta"]
            self.assertEqual("".join(event["delta"] for event in deltas), part["text"])
            self.assertEqual([one for event in deltas for one in event["logprobs"]], want)
            self.assertEqual(b"".join(bytes(one["bytes"]) for one in want).replace(b"<s>", b"").replace(b"<unk>", b"").decode(errors="replace"), part["text"])
            n_parts += sum(not is_text(bytes(one["bytes"])) for one in want)
        self.assertGreater(n_parts, 10)

    def check_offsets(self, choice, pieces):
        """Each offset counts the characters before the one that the token is in."""
        text, before = choice["text"], b""
        for piece, offset in zip(pieces, choice["logprobs"]["text_offset"], strict=True):
            whole = (before + piece).decode(errors="replace")
            first = len((before + piece[:1]).decode(errors="replace")) - 1
            self.assertEqual((offset, text[:len(whole)]), (first, whole), (text, before, piece))
            before += piece

    def test_text_offsets_count_characters(self):
        server = self.share()
        for seed in range(20):
            body = {"prompt": "The", "max_tokens": 40, "seed": seed, "temperature": 8, "logprobs": 0}
            choice = server.ask(TEXT, body)[1]["choices"][0]
            if "\ufffd" not in choice["text"] and all("\ufffd" not in token for token in choice["logprobs"]["tokens"]):
                self.check_offsets(choice, [token.encode() for token in choice["logprobs"]["tokens"]])
        for prompt in ("\u00e9\U0001f600 the", "\u65e5\u672c and \u00fc", "plain"):
            choice = server.ask(TEXT, {"prompt": prompt, "max_tokens": 5, "echo": True, "logprobs": 0, "seed": 1})[1]["choices"][0]
            tokens = server.ask("/tokenize", {"content": prompt, "add_special": True, "with_pieces": True})[1]["tokens"]
            offsets, n = choice["logprobs"]["text_offset"], len(tokens)
            self.assertTrue(choice["text"].startswith(prompt))
            self.assertEqual(offsets[:2], [0, 0])  # BOS has no text
            self.assertEqual(offsets[n], len(prompt))
            self.assertEqual(offsets, sorted(offsets))
            parts = [offset for token, offset in zip(choice["logprobs"]["tokens"][:n], offsets) if token == "\ufffd"]
            self.assertLessEqual({prompt[offset] for offset in parts}, set("\u00e9\U0001f600\u65e5\u672c\u00fc"))
            self.assertEqual("\U0001f600" in prompt, parts.count(1) == 4)  # four bytes, one character
            for token, offset in zip(choice["logprobs"]["tokens"][2:], offsets[2:]):
                if "\ufffd" not in token:
                    self.assertEqual(choice["text"][offset:offset + len(token)], token)


class Texts(Scripted):
    def complete(self, server, **fields):
        status, answer = server.ask(TEXT, {"prompt": "x", "temperature": 0, "max_tokens": 20, "logprobs": 0, **fields})
        self.assertEqual(status, 200, answer)
        choice = answer["choices"][0]
        chunks = server.stream(TEXT, {"prompt": "x", "temperature": 0, "max_tokens": 20, **fields})
        self.assertEqual("".join(c["choices"][0]["text"] for c in chunks[:-1]), choice["text"])
        return choice

    def test_they_are_written_where_that_is_asked_for(self):
        server = self.serve(model=self.model(["Hello ", "there", "<|user|>", "More", " text"]))
        choice = self.complete(server)
        self.assertEqual((choice["text"], choice["finish_reason"]), ("Hello thereMore text", "stop"))
        self.assertEqual(choice["logprobs"]["text_offset"], [0, 6, 11, 11, 15])
        choice = self.complete(server, return_special=True)
        self.assertEqual(choice["text"], "Hello there<|user|>More text")
        self.assertEqual(choice["logprobs"]["text_offset"], [0, 6, 11, 19, 23])
        echo = server.ask(TEXT, {"prompt": [1, 5], "echo": True, "return_special": True, "max_tokens": 1})[1]["choices"][0]["text"]
        self.assertTrue(echo.startswith("<s>"), echo)

    def test_a_stop_string_may_spell_them(self):
        server = self.serve(model=self.model(["Hello ", "there", "\n", "<|user|>", "\nMore", " text"]))
        for stop, want in (("<|user|>", "Hello there\n"), ("\n<|user|>", "Hello there"), ("there\n<|user|>\nM", "Hello "), ("|>\nMore", "Hello there\n"),
                           ("user", "Hello there\n"), (["nothing", "<|user|>\nMore t", "text"], "Hello there\n"), (["nothing", "text"], "Hello there\n\nMore "), ("x", "Hello there\n\nMore te"),
                           ("<|user|>More", "Hello there\n\nMore text")):
            with self.subTest(stop):
                choice = self.complete(server, stop=stop)
                self.assertEqual((choice["text"], choice["finish_reason"]), (want, "stop"))
        self.assertEqual(self.complete(server, stop="|>\nMore", return_special=True)["text"], "Hello there\n<|user")
        choice = self.complete(server, stop="zzz")  # offsets are those of the text
        self.assertEqual(choice["logprobs"]["text_offset"], [0, 6, 11, 12, 12, 17])


class Answers(Scripted):
    def answer(self, server, **fields):
        body = {"messages": STORY, "temperature": 0, "max_tokens": 30, **fields}
        status, answer = server.ask(CHAT, body)
        self.assertEqual(status, 200, answer)
        choice = answer["choices"][0]
        streamed = text_of(server.stream(CHAT, body))
        self.assertEqual(streamed[:2], (choice["message"]["content"] or "", choice["finish_reason"]))
        return choice["message"]["content"], choice["finish_reason"], answer["usage"]["completion_tokens"]

    def chat(self, model):
        path = self.path("line.txt", b"hi\n")
        with open(path, "rb") as line:
            out = json.loads(tool.run("chat", model, "--json", "--temp", "0", "-n", "30", stdin=line).stdout)
        return out["content"], out["finish_reason"], out["tokens"]

    def test_no_special_token_is_in_the_content(self):
        for script, content, n in ((["Hello ", "<|odd|>", "there"], "Hello there", 4),  # no meaning here: dropped
                                   (["Hello ", "there", "<|user|>", "More"], "Hello there", 3),  # another role's turn: the end
                                   (["Hello ", "there", "<|system|>", "More"], "Hello there", 3),
                                   (["Hello ", "there", "<|end_of_text|>", "More"], "Hello there", 3),  # another model's end
                                   (["Hello ", "<s>", "there"], "Hello there", 4), (["<|odd|>", "<|odd|>", "Hi"], "Hi", 4), (["<|user|>"], "", 1)):
            with self.subTest(script):
                model = self.model(script)
                server = self.serve(model=model)
                self.assertEqual(self.answer(server), (content, "stop", n))
                self.assertEqual(self.chat(model), (content, "stop", n))
                self.assertEqual(server.end(), 0)

    def test_characters_around_them_stay_whole(self):
        model = self.model(["Gr", "\u00fc", "<|odd|>", "\u00dfe \u4e2d", "<|odd|>", "\n", " end"])
        self.assertEqual(self.answer(self.serve(model=model))[0], "Gr\u00fc\u00dfe \u4e2d\n end")

    def test_stop_strings_spell_them(self):
        server = self.serve(model=self.model(["Hello ", "there", "\n", "<|odd|>", "More"]))
        for stop, content in (("<|odd|>", "Hello there\n"), ("\n<|odd|>", "Hello there"), ("<|odd|>Mo", "Hello there\n"), ("odd", "Hello there\n"), ("zz", "Hello there\nMore")):
            self.assertEqual(self.answer(server, stop=stop)[0], content, stop)

    def test_channels_have_ends_of_their_own(self):
        marks = ("<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|return|>", "<|call|>", "<|odd|>")
        template = "<|channel|>{# <|message|> #}" + CHANNELS
        head = ["<|channel|>", "final", "<|message|>"]
        for script, content in (([*head, "Hello", "</s>", "More"], "Hello"), ([*head, "Hello", "<|return|>"], "Hello"), ([*head, "He", "<|odd|>", "llo"], "Hello"),
                                ([*head, "Hello ", "<|message|>", "there"], "Hello there"), ([*head, "Hello", "<|constrain|>"], "Hello")):
            with self.subTest(script):
                model = self.model(script, template, marks)
                server = self.serve(model=model)
                self.assertEqual(self.answer(server)[:2], (content, "stop"))
                self.assertEqual(self.chat(model)[:2], (content, "stop"))
                self.assertEqual(server.end(), 0)

    def test_markers_of_calls_are_no_text(self):
        marks = (*TURNS, "<|invoke|>", "<|done|>")
        whole = ["So ", "<|invoke|>", '{"name": "f", ', '"arguments": {}}', "<|done|>"]
        model = self.model(whole, CALLS, marks)
        server = self.serve(model=model)
        message = server.ask(CHAT, {"messages": STORY, "temperature": 0, "tools": TOOLS})[1]["choices"][0]["message"]
        self.assertEqual((message["content"].strip(), message["tool_calls"][0]["function"]), ("So", {"name": "f", "arguments": "{}"}))
        self.assertEqual(self.answer(server)[0].replace(" ", ""), 'So{"name":"f","arguments":{}}')  # no tools: text without its markers
        # A truncated call, or none, is text without its markers.
        for script, content in ((["So ", "<|invoke|>", "nothing", "<|done|>", " more"], "So nothing more"), (["So ", "<|invoke|>"], "So "), (["<|done|>", "So"], "So")):
            with self.subTest(script):
                server = self.serve(model=self.model(script, CALLS, marks))
                self.assertEqual(self.answer(server, tools=TOOLS)[0].strip(), content.strip())
                self.assertEqual(server.end(), 0)


if __name__ == "__main__":
    tool.main()
