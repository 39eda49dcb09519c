# chat: conversations through pipes and, with keys and Ctrl-C, in a terminal.
# SPDX-License-Identifier: MIT
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import tool
from tool import MODEL

TEMPLATE = ("{# <tool_call> #}{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}"
            "{% if add_generation_prompt %}[assistant]{% endif %}")
SHORT = ("--temp", "0", "-n", "8")
# A conversation that ends with a call, as a model would write it.
CALL = json.dumps({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "", "tool_calls": [
    {"id": "call00001", "type": "function", "function": {"name": "f", "arguments": {"a": "$(x); `y` 'z'", "n": [1]}}}]}]}).encode()


class Chat(tool.Case):
    def setUp(self):
        super().setUp()
        self.template = self.path("template.jinja", TEMPLATE.encode())

    def talk(self, text, *args, code=0, **options):
        """Returns standard output and error of a chat through a pipe."""
        path = self.path("lines.txt", text.encode())
        with open(path, "rb") as lines:
            result = tool.run("chat", *args, stdin=lines, **options)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stdout.decode(), result.stderr.decode()


class Pipe(Chat):
    def test_the_embedded_model_answers_line_by_line(self):
        out, said = self.talk("Once upon a time\nThe sun\n", *SHORT)
        lines = self.talk("Once upon a time\nThe sun\n", MODEL, *SHORT, "--json")[0].splitlines()
        answers = [json.loads(line)["content"] for line in lines]
        self.assertEqual((len(answers), said), (2, ""))
        self.assertTrue(all(len(answer) > 8 for answer in answers), answers)
        self.assertEqual(out, "".join(a if a.endswith("\n") else a + "\n" for a in answers))
        story = self.ok("run", MODEL, "-p", "Once upon a time", *SHORT).decode()
        self.assertEqual(story, answers[0] + "\n")  # the template adds nothing to a first turn

    def test_an_answer_is_what_run_makes_of_the_prompt(self):
        answers = [json.loads(line) for line in self.talk(
            "Once upon\n", MODEL, "--template", self.template, "--json", *SHORT)[0].splitlines()]
        prompt = "<s>[user]Once upon\n[assistant]"
        text = self.ok("run", MODEL, "-p", prompt[3:], *SHORT).decode()
        self.assertEqual(answers[0]["content"] + "\n", text)
        self.assertEqual((answers[0]["role"], answers[0]["schema"]), ("assistant", 1))
        self.assertEqual((answers[0]["tokens"], answers[0]["cached_tokens"]), (8, 0))

    def test_each_answer_keeps_to_a_grammar_or_schema(self):
        grammar = 'root ::= " the " ("cat" | "dog") [a-z ]{3,9} "."'
        lines = self.talk("Once upon\nThe sun\n", MODEL, "--temp", "1", "--grammar", grammar)[0].splitlines()
        self.assertEqual(len(lines), 2)
        for line in lines:
            self.assertRegex(line, r"^ the (cat|dog)[a-z ]{3,9}\.$")
        schema = self.path("schema.json", b'{"type":"array","items":{"enum":["x",1]},"minItems":1,"maxItems":3}')
        for answer in self.talk("a\nb\n", MODEL, "--template", self.template, "--json",
                                "--json-schema", schema)[0].splitlines():
            items = json.loads(json.loads(answer)["content"])
            self.assertTrue(1 <= len(items) <= 3 and all(item in ("x", 1) for item in items), items)
        self.assertIn("rule 'x'", self.talk("a\n", "--grammar", "root ::= x", code=2)[1])
        self.talk("a\n", "--grammar", grammar, "--json-schema", "{}", code=2)
        self.talk("a\n", "--grammar", grammar, "--tools", schema, code=2)

    def test_drafted_answers_do_not_depend_on_the_draft_source(self):
        text = "Once upon a time\nThe dog and the dog and the dog\nAnd the dog\n"
        grammar = 'root ::= " the " ("cat" | "dog") [a-z ]{3,9} "."'
        for more in (SHORT, ("--seed", "5", "--repeat-penalty", "1.1", "--ctk", "gx4", "-n", "30"),
                     ("--seed", "6", "--grammar", grammar), ("--temp", "0", "--ctx", "128")):
            args = (MODEL, "--template", self.template, "--json", *more)
            lookup, draft, *plain = [
                [json.loads(line) for line in self.talk(text, *args, *guess)[0].splitlines()]
                for guess in (("--lookup",), ("--draft", MODEL), *([()] if more == SHORT else []))]
            self.assertEqual(len(lookup), 3)
            self.assertTrue(all("accepted_tokens" not in a for answers in plain for a in answers))
            for other in (draft, *plain):
                self.assertEqual([(a["content"], a["tokens"]) for a in lookup],
                                 [(a["content"], a["tokens"]) for a in other])
            self.assertGreater(draft[-1]["accepted_tokens"], draft[0]["accepted_tokens"])
            self.assertGreaterEqual(draft[-1]["draft_tokens"], draft[-1]["accepted_tokens"])
        self.talk("a\n", MODEL, "--lookup", "--draft", MODEL, code=2)
        self.talk("a\n", MODEL, "--draft", self.path("none.gguf"), code=1)

    def test_an_answer_of_channels_has_no_grammar(self):
        channels = self.path("channels.jinja", (TEMPLATE + "{# <|channel|>final<|message|> #}").encode())
        said = self.talk("a\n", MODEL, "--template", channels, "--grammar", 'root ::= "a"', code=4)[1]
        self.assertIn("channel headers", said)

    def test_what_prompts_share_stays_in_the_cache(self):
        answers = [json.loads(line) for line in self.talk(
            "a\nb\nc\n", MODEL, "--template", self.template, "--json", *SHORT)[0].splitlines()]
        self.assertEqual(len(answers), 3)
        for before, after in zip(answers, answers[1:]):
            self.assertGreaterEqual(after["cached_tokens"], before["prompt_tokens"] - 2)
            self.assertGreater(after["prompt_tokens"], after["cached_tokens"])

    def test_a_cache_gives_the_answers_of_whole_prompts(self):
        saved = self.path("two.json")
        whole = [json.loads(line) for line in self.talk(
            "The dog\nThe cat\n", MODEL, "--template", self.template, "--json",
            *SHORT)[0].splitlines()]
        self.talk("The dog\n", MODEL, "--template", self.template, *SHORT, "--save", saved)
        again = json.loads(self.talk("The cat\n", MODEL, "--template", self.template, "--json", *SHORT,
                                     "--load", saved)[0])
        self.assertEqual(again["content"], whole[1]["content"])
        self.assertEqual(again["cached_tokens"], 0)

    def test_lines_of_a_pipe_are_no_commands(self):
        target = self.path("no.json")
        out, said = self.talk(f"/save {target}\n", MODEL, *SHORT)
        self.assertFalse(os.path.exists(target))
        self.assertEqual((len(out) > 8, said), (True, ""))

    def test_the_oldest_turns_go_and_never_the_system(self):
        saved = self.path("all.json")
        lines = "".join(f"This is line {i} of many long lines that say little.\n" for i in range(6))
        out, said = self.talk(lines, MODEL, "--template", self.template, "--system", "Be brief.",
                              "--ctx", "128", *SHORT, "--save", saved)
        self.assertEqual(len(out.splitlines()), 6)
        self.assertIn("the context of 128 tokens is full: the 2 oldest turns were removed (use --ctx N)\n", said)
        turns = tool.read_json(saved)["messages"]
        self.assertEqual(turns[0], {"role": "system", "content": "Be brief."})
        self.assertIn("line 5", turns[-2]["content"])
        self.assertNotIn("line 0", json.dumps(turns))

    def test_an_answer_says_why_it_ended(self):
        end = ("--logit-bias", "2+1000")  # the end-of-generation token
        for args, reason, full in ((("-n", "3"), "length", False), (end, "stop", False),
                                   (("--ctx", "64", "--logit-bias", "2-1000"), "length", True)):
            out, said = self.talk("Once\n", MODEL, "--template", self.template, "--seed", "1", "--json", *args)
            answer = json.loads(out)
            self.assertEqual((answer["finish_reason"], answer["context_full"], answer["seed"]), (reason, full, 1), args)
            full_text = "generation stopped: the context of 64 tokens is full (use --ctx N)\n"
            self.assertEqual(said, full_text if full else "")

    def test_a_seed_is_drawn_unless_it_is_given(self):
        args = (MODEL, "--template", self.template, "--json", "--temp", "2", "-n", "40")
        ask = lambda *more: [json.loads(line) for line in self.talk("Once\nUpon\n", *args, *more)[0].splitlines()]
        drawn = [ask(), ask("--seed", "-1")]
        self.assertNotEqual(drawn[0][0]["seed"], drawn[1][0]["seed"])
        self.assertNotEqual(drawn[0][0]["content"], drawn[1][0]["content"])
        again = ask("--seed", drawn[0][0]["seed"])
        self.assertEqual([a["content"] for a in again], [a["content"] for a in drawn[0]])

    def test_the_random_numbers_of_a_chat_go_on(self):
        # The prompt is the last message alone.
        template = self.path("last.jinja", b"{{ messages[-1].content }}")
        args = (MODEL, "--template", template, "--json", "--temp", "2", "-n", "40")
        ask = lambda n, seed: [json.loads(line)["content"] for line in self.talk("Once\n" * n, *args, "--seed", seed)[0].splitlines()]
        answers = ask(3, 7)
        self.assertEqual(len(set(answers)), 3)
        self.assertEqual(answers, ask(3, 7))
        self.assertEqual(answers[:1], ask(1, 7))

    def test_a_message_larger_than_the_context_is_refused(self):
        said = self.talk("word " * 400 + "\n", MODEL, "--ctx", "128", code=2)[1]
        self.assertRegex(said, r"the prompt has \d+ tokens, the context holds 128 \(use --ctx\)")

    def test_transcripts(self):
        as_json, as_text = self.path("a.json"), self.path("a.md")
        for path in (as_json, as_text):
            self.talk("The dog\n", MODEL, *SHORT, "--system", "S", "--save", path)
        kept = tool.read_json(as_json)
        self.assertEqual(kept["schema"], 1)
        self.assertEqual([m["role"] for m in kept["messages"]], ["system", "user", "assistant"])
        with open(as_text, encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.startswith("# Conversation\n\n## system\n\nS\n\n## user\n\nThe dog\n"))
        self.assertIn(kept["messages"][2]["content"], text)
        self.talk("x\n", MODEL, *SHORT, "--save", as_json, code=1)  # the file exists
        self.assertEqual(tool.read_json(as_json), kept)
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["a.json", "a.md", "lines.txt", "template.jinja"])
        for bad in (b"{", b'{"messages":3}', b'{"messages":[{"content":"x"}]}'):
            self.fails(3, "chat", MODEL, "--load", self.path("bad.json", bad))

    def test_tools_are_reported_and_nothing_is_run(self):
        tools = self.path("tools.json", b'[{"type":"function","function":{"name":"f"}}]')
        template = self.path("tools.jinja", b"{# <tool_call> #}{% for t in tools %}<{{ t.function.name }}>{% endfor %}"
                                            b"{% for m in messages %}{{ m.content }}{% endfor %}")
        answer = json.loads(self.talk("Hi\n", MODEL, "--template", template, "--tools", tools, "--json",
                                      *SHORT)[0])
        without = json.loads(self.talk("Hi\n", MODEL, "--template", template, "--json", *SHORT)[0])
        self.assertGreater(answer["prompt_tokens"], without["prompt_tokens"])
        self.fails(2, "chat", MODEL, "--tools", self.path("no.json", b"{}"))

    def test_a_call_is_printed_and_the_next_line_is_its_result(self):
        # A conversation that ends with a call, as a model would write it.
        kept = self.path("call.json", json.dumps({"messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "", "tool_calls": [
                {"type": "function", "function": {"name": "f", "arguments": {"a": 1}}}]}]}).encode())
        saved = self.path("after.json")
        self.talk("42\n", MODEL, "--template", self.template, "--load", kept, "--save", saved, *SHORT)
        turns = tool.read_json(saved)["messages"]
        self.assertEqual(turns[2], {"role": "tool", "content": "42", "name": "f"})
        self.assertEqual(turns[1]["tool_calls"][0]["function"], {"name": "f", "arguments": {"a": 1}})

    def test_each_call_gets_a_line_of_its_own(self):
        kept = self.path("calls.json", json.dumps({"messages": [
            {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "", "tool_calls": [
                {"id": "a1", "function": {"name": "f", "arguments": {}}},
                {"id": "a2", "function": {"name": "g", "arguments": "{}"}}]}]}).encode())
        saved = self.path("after.json")
        out = self.talk("1\n2\nBye\n", MODEL, "--template", self.template, "--load", kept, "--save", saved, *SHORT)[0]
        turns = tool.read_json(saved)["messages"]
        self.assertEqual([m["role"] for m in turns], ["user", "assistant", "tool", "tool", "assistant", "user", "assistant"])
        self.assertEqual(turns[2], {"role": "tool", "content": "1", "tool_call_id": "a1", "name": "f"})
        self.assertEqual(turns[3], {"role": "tool", "content": "2", "tool_call_id": "a2", "name": "g"})
        self.assertEqual(len(out.splitlines()), 2)

    def test_a_history_has_the_form_that_the_template_takes(self):
        # A template that iterates arguments and writes calls if there is no content; results are named by their ids.
        template = self.path("walks.jinja", b"{% for m in messages %}{% if m.content is none %}{% for t in m.tool_calls %}"
                             b"{% for k, v in t.function.arguments.items() %}{{ k }}{{ v }}{% endfor %}{% endfor %}{% else %}{{ m.content }}{% endif %}"
                             b"{{ m.name }}{% endfor %}")
        calls = [{"id": "a1", "function": {"name": "f", "arguments": ""}}, {"id": "a2", "function": {"name": "g", "arguments": "{\"k\": \"v\"}"}}]
        history = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "", "tool_calls": calls},
                   {"role": "tool", "content": "two", "tool_call_id": "a2"}, {"role": "tool", "content": "one", "tool_call_id": "a1"}]
        prompt = "HikvtwogonefBye"
        kept = self.path("calls.json", json.dumps({"messages": history}).encode())
        answer = json.loads(self.talk("Bye\n", MODEL, "--template", template, "--load", kept, "--json", *SHORT)[0])
        self.assertEqual(answer["prompt_tokens"], int(self.ok("tokenize", MODEL, "-p", prompt, "--count")))
        self.assertEqual(answer["content"] + "\n", self.ok("run", MODEL, "-p", prompt, *SHORT).decode())

    def test_an_answer_begins_as_requested(self):
        args = (MODEL, "--template", self.template)
        answer = json.loads(self.talk("Once upon\n", *args, "--prefill", "there was ", "--json", *SHORT)[0])
        text = self.ok("run", MODEL, "-p", "[user]Once upon\n[assistant]there was ", *SHORT).decode()
        self.assertEqual((answer["content"] + "\n", answer["tokens"]), ("there was " + text, 8))
        out = self.talk("Once upon\nThe sun\n", *args, "--prefill", "there was ", *SHORT)[0]
        self.assertEqual(out.splitlines()[0], answer["content"].splitlines()[0])
        self.assertEqual(out.count("there was "), 2)
        self.fails(2, "chat", *args, "--prefill", "x", "--grammar", 'root ::= "a"')
        self.fails(2, "chat", MODEL, "--prefill", "\udcff")

    def test_an_answer_goes_on(self):
        history = [{"role": "user", "content": "Once upon"}, {"role": "assistant", "content": "there was"}]
        kept = self.path("kept.json", json.dumps({"messages": history}).encode())
        answer = json.loads(self.talk("", MODEL, "--template", self.template, "--load", kept, "--continue", "--json", *SHORT)[0])
        text = self.ok("run", MODEL, "-p", "[user]Once upon\n[assistant]there was", *SHORT).decode()
        self.assertEqual(answer["content"] + "\n", "there was" + text)
        saved = self.path("after.json")
        lines = self.talk("The sun\n", MODEL, "--template", self.template, "--load", kept, "--continue", "--json", "--save", saved, *SHORT)[0].splitlines()
        turns = tool.read_json(saved)["messages"]
        self.assertEqual([turn["role"] for turn in turns], ["user", "assistant", "user", "assistant"])
        self.assertEqual([turns[1]["content"], turns[3]["content"]], [json.loads(line)["content"] for line in lines])
        asked = self.path("asked.json", json.dumps({"messages": history[:1]}).encode())
        self.assertIn("does not end with an answer", self.fails(2, "chat", MODEL, "--load", asked, "--continue"))
        self.assertIn("does not end with an answer", self.fails(2, "chat", MODEL, "--load", self.path("call.json", CALL), "--continue"))

    def test_a_program_is_never_run_from_a_pipe(self):
        target = os.path.join(self.folder, "touched")
        kept = self.path("call.json", CALL)
        tools = self.path("tools.json", json.dumps([
            {"type": "function", "function": {"name": "f"}, "command": ["touch", target]}]).encode())
        for lines in ("y\n", "yes\ny\n", ""):
            self.talk(lines, MODEL, "--template", self.template, "--load", kept, "--tools", tools, *SHORT)
        self.assertFalse(os.path.exists(target))

    def test_tools_that_are_wrong_are_refused(self):
        for bad, said in ((b"{}", "not a list"), (b"[1]", "without a name"), (b'[{"name":"f","command":"ls"}]', "not a list of"),
                          (b'[{"name":"f","command":[]}]', "not a list of"), (b'[{"name":"f","command":["a",1]}]', "not a string"),
                          (b'[{"name":"f","command":["a"],"timeout":0}]', "seconds"), (b"[", "--tools")):
            path = self.path("tools.json", bad)
            result = tool.run("chat", MODEL, "--tools", path)
            self.assertIn(result.returncode, (2, 3), bad)
            self.assertIn(said, result.stderr.decode(), bad)

    def test_a_program_is_not_shown_to_the_model(self):
        shown = self.path("shown.jinja", b"{# <tool_call> #}{{ tools | tojson }}{% for m in messages %}{{ m.content }}{% endfor %}")
        plain = self.path("plain.json", b'[{"type":"function","function":{"name":"f"}}]')
        more = self.path("more.json", b'[{"type":"function","command":["ls"],"function":{"name":"f"},"timeout":5}]')
        answers = [json.loads(self.talk("Hi\n", MODEL, "--template", shown, "--tools", path, "--json", *SHORT)[0])
                   for path in (plain, more)]
        self.assertEqual(answers[0]["prompt_tokens"], answers[1]["prompt_tokens"])
        self.assertEqual(answers[0]["content"], answers[1]["content"])

    def test_transcripts_are_read_back_as_they_were(self):
        messages = [
            {"role": "system", "content": "## user\n\nno heading"},
            {"role": "user", "content": "> quoted\n\n\\## user\n```json call\n{}\n```\n"},
            {"role": "assistant", "content": "", "reasoning_content": "\nfirst\n\n> second\n", "tool_calls": [
                {"id": "call00001", "type": "function", "function": {"name": "f", "arguments": {"a": "\n```\n"}}},
                {"type": "function", "function": {"name": "g", "arguments": {}}}]},
            {"role": "tool", "content": "", "tool_call_id": "call00001", "name": "f"},
            {"role": "tool", "content": "\n\n", "name": "g"},
            {"role": "assistant", "content": "\\> a\n## b c\n##\n# Conversation\n\u00e9\u200b\n"}]
        path = self.path("a.json", json.dumps({"messages": messages}).encode())
        for target in ("b.md", "c.json", "d.md", "e.json"):
            to = os.path.join(self.folder, target)
            self.talk("", MODEL, "--load", path, "--save", to)
            path = to
        self.assertEqual(tool.read_json(path)["messages"], messages)
        for bad in (b"# Talk\n", b"# Conversation\nuser", b"# Conversation\n\n## A B\n\nx\n", b"# Conversation\n\nx"):
            self.fails(3, "chat", MODEL, "--load", self.path("bad.md", bad))

    def test_templates(self):
        chatml = json.loads(self.talk("Hi\n", MODEL, "--template", "chatml", "--json", *SHORT)[0])
        own = json.loads(self.talk("Hi\n", MODEL, "--json", *SHORT)[0])
        self.assertGreater(chatml["prompt_tokens"], own["prompt_tokens"])
        self.assertIn('"chatmk" is neither a file nor a format, did you mean "chatml"?',
                      self.fails(2, "chat", MODEL, "--template", "chatmk"))
        self.assertIn("line 1", self.fails(3, "chat", MODEL, "--template", self.path("bad", b"{% if %}")))
        plain = self.path("plain.gguf", tool.gguf([tool.ARCHITECTURE]))
        self.assertIn("the model has no chat template; use --template", self.fails(4, "chat", plain))

    def test_text_that_is_not_utf8_is_refused(self):
        path = self.path("bad.txt", b"a\xff\n")
        with open(path, "rb") as lines:
            self.assertIn("byte 1 (0xff)", self.fails(3, "chat", MODEL, stdin=lines))
        self.assertIn("--system: byte 1 (0xff)", self.fails(2, "chat", MODEL, "--system", os.fsdecode(b"a\xff")))


class Terminal(Chat):
    """A chat in a terminal of its own."""

    def start(self, *args, columns=80, **variables):
        self.master, slave = tool.on_pseudo_terminal(pty.openpty)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        environment = tool.environment(**{"TERM": "xterm", "LC_ALL": "C.UTF-8", **variables})
        self.process = subprocess.Popen(
            [*tool.WRAPPER, tool.TOOL, "chat", *map(str, args)], stdin=slave, stdout=slave,
            stderr=slave, env=environment, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.seen = ""
        self.addCleanup(self.end, self.process, self.master)

    @staticmethod
    def end(process, master):
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(master)

    def until(self, pattern, seconds=60):
        """Returns the output up to a pattern, which later calls do not see again."""
        limit = time.monotonic() + seconds
        while True:
            match = re.search(pattern, self.seen)
            if match:
                before, self.seen = self.seen[:match.end()], self.seen[match.end():]
                return before
            self.assertLess(time.monotonic(), limit, (pattern, self.seen))
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self.master, 65536).decode("utf-8", "replace")
                except OSError:  # the terminal is closed
                    self.assertRegex(self.seen, pattern)

    def until_prompt(self):
        """Waits for the prompt and the line editor: the terminal's own line editing deletes bytes, not characters."""
        self.until("> ")
        limit = time.monotonic() + 60
        while termios.tcgetattr(self.master)[3] & termios.ICANON:
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.01)

    def type(self, text):
        os.write(self.master, text.encode())

    def leave(self):
        self.type("/quit\r")
        self.assertEqual(self.process.wait(timeout=30), 0)

    def test_a_conversation(self):
        self.start(MODEL, *SHORT)
        self.until("see /help")
        self.until("> ")
        self.type("Once upon a time\r")
        self.until(r"\[8 tokens, [\d.]+/s, \d+/512\]")
        self.type("/stats\r")
        self.until(r"answers  8 tokens")
        self.type("/undo\r")
        self.until("removed: Once upon a time")
        self.type("/undo\r")
        self.until("there is no turn to undo")
        self.type("/system Be kind\r")
        self.until("the system message is set")
        self.type("/hlep\r")
        self.until("/hlep is not a command, did you mean \"/help\"")
        self.type("The sun\r")
        self.until(r"\[8 tokens")
        self.type("/retry\r")
        self.until(r"\[8 tokens")
        self.type("/continue\r")
        self.until(r"\[8 tokens")
        target = os.path.join(self.folder, "kept.json")
        self.type(f"/save {target}\r")
        self.until("3 turns")
        self.type(f"/load {target}\r")
        self.until("3 turns")
        self.leave()
        self.assertEqual([m["content"] for m in tool.read_json(target)["messages"]][:2],
                         ["Be kind", "The sun"])

    def test_the_seed_is_shown_and_set(self):
        self.start(MODEL, "--template", self.template, "--temp", "2", "-n", "20", "--seed", "7", "--repeat-penalty", "1.1")
        self.until("> ")
        for said, shown in (("/seed", "the seed is 7\r"), ("/seed x", '/seed: "x" is not a whole number'),
                            ("/seed -1", r"the seed is \d+\r"), ("/seed 9", "the seed is 9\r")):
            self.type(said + "\r")
            self.until(shown)
        for _ in range(2):
            self.type("Once\r")
            self.until(r"\[\d+ tokens")
            self.type("/undo\r")
            self.until("removed")
            self.type("/seed 0x9\r")
            self.until("the seed is 9\r")
        self.type("Once\r")
        self.until(r"\[\d+ tokens")
        target = os.path.join(self.folder, "kept.json")
        self.type(f"/save {target}\r")
        self.until("2 turns")
        self.leave()
        pipe = self.talk("Once\n", MODEL, "--template", self.template, "--temp", "2", "-n", "20", "--seed", "9", "--json",
                         "--repeat-penalty", "1.1")[0]
        self.assertEqual(tool.read_json(target)["messages"][1]["content"], json.loads(pipe)["content"])

    def start_long_answer(self):
        # The answer takes seconds. If it had ended, the terminal would drop unread output at the interrupt.
        self.start(MODEL, "--ctx", "32768", "--temp", "1", "--grammar", "root ::= [a-z ]{20000}")
        self.until("> ")
        self.type("Once\r")
        # A character of the answer, after control sequences of the line.
        self.until(r"Once\r\n(\x1b\[[\d;?]*[A-Za-z]|\s)*[a-z]")

    def test_ctrl_c_ends_the_answer_and_then_the_chat(self):
        self.start_long_answer()
        self.type("\x03")
        self.until("interrupted")
        self.until("> ")
        self.assertIsNone(self.process.poll())
        target = os.path.join(self.folder, "kept.json")
        self.type(f"/save {target}\r")
        self.until("2 turns")
        self.assertRegex(tool.read_json(target)["messages"][1]["content"], "^[a-z ]+$")  # a part of the answer
        self.until("> ")
        self.type("abc\x03")
        self.until("Ctrl-C again, Ctrl-D or /quit leaves")
        self.until("> ")
        self.type("\x03")
        self.assertEqual(self.process.wait(timeout=30), 0)

    def wait_while_busy(self):
        """Waits until the chat takes no more CPU time: it waits for the terminal."""
        spent, since = None, time.monotonic()
        while time.monotonic() - since < 0.5:
            now = tool.ticks(self.process.pid)
            if now != spent:
                spent, since = now, time.monotonic()
            time.sleep(0.05)

    def test_ctrl_c_ends_an_answer_that_ctrl_s_has_stopped(self):
        self.start_long_answer()
        self.type("\x13")
        self.wait_while_busy()
        self.type("\x03")
        self.until("interrupted")
        self.until("> ")
        self.leave()

    def start_with_tool(self, **program):
        tools = self.path("tools.json", json.dumps([{"type": "function", "function": {"name": "f"}, **program}]).encode())
        self.start(MODEL, "--template", self.template, "--load", self.path("call.json", CALL), "--tools", tools, *SHORT,
                   columns=400)

    def end_with_saved(self):
        self.until(r"\[\d+ tokens")  # the model may end its answer
        target = os.path.join(self.folder, f"kept{time.monotonic_ns()}.json")
        self.type(f"/save {target}\r")
        self.until("turns")
        self.leave()
        return tool.read_json(target)["messages"]

    def test_a_program_runs_when_it_is_said_so(self):
        script = self.path("script.py", b"import sys; print(sys.argv[1:]); print(sys.stdin.read())")
        self.start_with_tool(command=["python3", script, "--", "{a}", "{absent}", "{n}"])
        shown = self.until(r"run it\? \[y/N\] ")
        self.assertIn(f"it would run python3 {script} -- " + r"""'$(x); `y` '\''z'\''' '[1]'""", shown)
        self.type("y\r")
        turns = self.end_with_saved()
        self.assertEqual(turns[2], {"role": "tool", "tool_call_id": "call00001", "name": "f", "content":
                                    "['--', \"$(x); `y` 'z'\", '[1]']\n{\"a\":\"$(x); `y` 'z'\",\"n\":[1]}\n"})
        self.assertEqual(turns[3]["role"], "assistant")

    def test_no_program_runs_without_a_yes(self):
        target = os.path.join(self.folder, "touched")
        for said in ("\r", "n\r", "yess\r", "\x03"):
            self.start_with_tool(command=["touch", target])
            self.until(r"run it\? \[y/N\] ")
            self.type(said)
            self.until("nothing was run: type the result of f")
            self.until("result> ")
            self.type("mine\r")
            self.assertEqual(self.end_with_saved()[2]["content"], "mine")
            self.assertFalse(os.path.exists(target))

    def test_programs_are_bounded(self):
        many = "import sys; sys.stdout.buffer.write(b'\\xff' + b'x' * 200000); sys.exit(3)"
        child = "import os, time; os.fork() or time.sleep(60); print('parent', flush=True)"
        self.start_with_tool(command=["python3", "-c", many])
        self.until(r"run it\? \[y/N\] ")
        self.type("y\r")
        self.until("\ufffdx{65535}\r\n\\.\\.\\. and 134465 bytes more\r\n\\[exit code 3\\]")
        self.until("the prompt has .* tokens, the context holds 512")
        self.until("result> ")  # asked again
        self.leave()
        left = "setsid sh -c 'while :; do echo x; done' & sleep 0.3"  # in no process group that is killed
        self.start_with_tool(command=["sh", "-c", left])
        self.until(r"run it\? \[y/N\] ")
        self.type("y\r")
        self.until("bytes more")
        self.until("result> ")
        self.leave()
        rows = [(["sh", "-c", "echo begun; sleep 60"], 1, "^begun\n\\[no end within 1 s\\]$"),
                (["python3", "-c", child], 60, "^parent\n$"), (["/no/such"], 60, "^\\[cannot run it: No such file"),
                (["sh", "-c", "kill -9 $$"], 60, "^\\[ended by signal 9\\]$"), (["true"], 60, "^$")]
        for command, timeout, content in rows:
            self.start_with_tool(command=command, timeout=timeout)
            self.until(r"run it\? \[y/N\] ")
            begun = time.monotonic()
            self.type("y\r")
            self.assertRegex(self.end_with_saved()[2]["content"], content)
            self.assertLess(time.monotonic() - begun, 50)

    def test_ctrl_c_ends_a_program_and_not_the_chat(self):
        self.start_with_tool(command=["sh", "-c", "echo begun; sleep 600"])
        self.until(r"run it\? \[y/N\] ")
        self.type("y\r")
        time.sleep(1)
        self.type("\x03")
        self.assertEqual(self.end_with_saved()[2]["content"], "begun\n[interrupted]")

    def test_a_paste_is_one_message(self):
        target = os.path.join(self.folder, "kept.json")
        self.start(MODEL, *SHORT)
        self.until("> ")
        self.type("".join(f"l{i}\r" for i in range(100)))
        self.until(r"\[8 tokens")
        self.type(f"/save {target}\r")
        self.until("2 turns")
        self.leave()
        self.assertEqual(tool.read_json(target)["messages"][0]["content"],
                         "\n".join(f"l{i}" for i in range(100)))

    def test_text_is_utf8_in_every_locale(self):
        for locale in ("C", "POSIX", "", "xx_XX.ISO-8859-1", "C.UTF-8"):
            self.start(MODEL, *SHORT, LC_ALL=locale, LC_CTYPE=locale, LANG=locale)
            self.until_prompt()
            self.type("Größe 日本x\x7f\x7f語 \U0001f680\r")  # two characters are deleted
            self.until(r"\[8 tokens")
            self.type("/system Süß\r")
            self.until("the system message is set")
            self.until_prompt()
            self.type("\x1b[A\x1b[A\r")  # the message again, from the history
            self.until(r"\[8 tokens")
            target = os.path.join(self.folder, f"größe{time.monotonic_ns()}.json")
            self.type(f"/save {target}\r")
            self.until("turns")
            self.leave()
            turns = [m["content"] for m in tool.read_json(target)["messages"]]
            self.assertEqual([turns[0], turns[1], turns[3]], ["Süß"] + 2 * ["Größe 日語 \U0001f680"], locale)

    def test_bytes_that_are_not_utf8_are_shown_as_such(self):
        self.start(MODEL, *SHORT)
        self.until_prompt()
        os.write(self.master, b"a\xf6b\xc3 c\xe6\x97\r")  # incomplete: the last byte needs another one
        self.until(r"\[8 tokens")
        target = os.path.join(self.folder, "kept.json")
        self.type(f"/save {target}\r")
        self.until("2 turns")
        self.leave()
        self.assertEqual(tool.read_json(target)["messages"][0]["content"], "a\ufffdb\ufffd c\ufffd")

    def test_several_lines(self):
        target = os.path.join(self.folder, "kept.json")
        self.start(MODEL, *SHORT)
        for lines in (['a\\', "b"], ['"""', "c", "", "d", '"""'], ["//e"]):
            for line in lines:
                self.until(r"(> |\.\.\. )")
                time.sleep(0.2)
                self.type(line + "\r")
            self.until(r"\[8 tokens")
        self.until("> ")
        self.type(f"/save {target}\r")
        self.until("6 turns")
        self.leave()
        said = [m["content"] for m in tool.read_json(target)["messages"] if m["role"] == "user"]
        self.assertEqual(said, ["a\nb", "c\n\nd", "/e"])

    def test_colours_and_their_absence(self):
        for variables, colours in (({}, True), ({"NO_COLOR": "1"}, False)):
            self.start(MODEL, *SHORT, columns=40, **variables)
            self.until("> ")
            self.type("The sun\r")
            shown = self.until(r"\[8 tokens, [\d.]+/s, \d+/512\]")
            self.assertEqual("\x1b[2m" in shown, colours, shown)
            self.type("/help\r")
            for line in self.until("stops an answer").splitlines():
                self.assertLess(len(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line)), 41, line)
            self.leave()

    def test_the_window_may_change(self):
        self.start(MODEL, *SHORT)
        self.until("> ")
        self.type("The s")
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
        os.killpg(self.process.pid, signal.SIGWINCH)
        time.sleep(0.2)
        self.type("un" + " is warm" * 6 + "\x01")
        self.until(r"\x1b\[1?A")  # moves to the first of two rows
        self.type("\r")
        self.until(r"\[8 tokens")
        self.leave()


if __name__ == "__main__":
    tool.main()
