# Options of llama.cpp that commands with a model accept: the list, and the same results as the options.
# SPDX-License-Identifier: MIT
import os
import re

import tool
from tool import MODEL, SOURCE, run

# Commands with a model, and what each needs beside it. Those without a value of `ends` are compared by failures alone.
COMMANDS = {
    ("run",): ["-q"], ("chat",): ["-q"], ("serve",): [], ("tokenize",): ["--only-ids", "-p", "Once"],
    ("perplexity",): ["-f", "TEXT", "-q"], ("kv-eval",): ["-f", "TEXT", "--chunks", "1", "-q", "--k", "f16"],
    ("embed",): ["-q", "--lines", "Once"], ("fit",): [], ("imatrix", "collect"): ["-f", "TEXT", "--to", "TO", "-q"],
    ("bench", "model"): [], ("bench", "tokenize"): [], ("bench", "grammar"): [],
}
FAILS_ALONE = (("serve",), ("bench", "model"), ("bench", "tokenize"), ("bench", "grammar"), ("kv-eval",), ("imatrix", "collect"))
# Options -> a value that is accepted, and one that is refused (None: any is accepted).
VALUES = {
    "MODEL": (MODEL, "no/such.gguf"), "--ctx": ("64", "x"), "--predict": ("3", "x"), "--prompt-tokens": ("8", "x"),
    "--depth": ("8", "x"), "--rounds": ("1", "x"), "--device-layers": ("1", "x"), "--seed": ("3", "x"), "--temp": ("0.5", "x"),
    "--typical-p": ("0.5", "x"), "--top-n-sigma": ("1", "x"), "--logit-bias": ("300+4", "x"), "--ctk": ("q8_0", "q9"),
    "--ctv": ("q8_0", "q9"), "--batch": ("32", "x"), "--parallel": ("2", "x"), "--draft": (MODEL, "no/such.gguf"),
    "--system": ("Speak.", None), "--grammar": ('root ::= "a" | "b"', "no/such"), "--json-schema": ('{"type":"boolean"}', "{"), "--lora": ("no/such.gguf:0.5", "no/such.gguf"),
    "--control-vector": ("no/such.gguf:0.5", "no/such.gguf"), "--alias": ("name", None), "--slot-dir": ("/", "no/such"),
}
REPEATABLE = {"MODEL", "--lora", "--control-vector", "--logit-bias"}


def plain(page):
    return page.decode().replace("\\-", "-").replace("\\fB", "").replace("\\fI", "").replace("\\fR", "")


class Aliases(tool.Case):
    pages = {}

    def manual(self):
        """{command: [(names, option)]} of the manual page."""
        if not Aliases.pages:
            for section in re.split(r"^\.SS ", plain(self.ok("manual")), flags=re.M)[1:]:
                name, _, rest = section.partition("\n")
                listed = rest.partition("Options of llama.cpp that are accepted:\n")[2].partition("\n.PP")[0]
                Aliases.pages[tuple(name.split())] = [
                    (re.findall(r"--?[\w-]+", names), option) for names, option in
                    re.findall(r"^\.TP\n(.*)\n(?:as |the argument )?(.*)$", listed, re.M)]
        return Aliases.pages

    def commands(self):
        return {command: listed for command, listed in self.manual().items() if listed}

    def words(self, command, option):
        """A command line but for the model and one option."""
        text = self.path("text", b"Once there was a fox. " * 80)
        words = [{"TEXT": text, "TO": self.path("to")}.get(word, word) for word in COMMANDS[command]]
        if command == ("run",):
            words += [word for name, value in (("--predict", "4"), ("--seed", "1")) if name != option for word in (name, value)]
            words += [] if option in ("--json-schema", "--grammar") else ["-p", "Once"]
        if command == ("chat",):
            words += ["--predict", "4"] * (option != "--predict") + ["--seed", "1"] * (option != "--seed")
        if command == ("perplexity",) and option != "--ctx":
            words += ["--ctx", "64"]
        if command == ("bench", "model") and option == "--draft":
            words += ["--speculate", "draft", "--products", "row-wise"]
        if command == ("embed",) and option == "--batch":
            words += ["--ctx", "32"]
        return words

    def given(self, command, name, value):
        option_first = [name, value] if name.startswith("-") else [value]
        model = [] if name in ("MODEL", "-m", "--model") else [MODEL]
        option = name
        for names, meaning in self.commands()[command]:
            option = meaning if name in names else option
        result = run(*command, *model, *option_first, *self.words(command, option))
        return result.returncode, result.stdout, result.stderr

    def test_list_is_that_of_the_documentation(self):
        with open(os.path.join(SOURCE, "docs", "cli.md"), encoding="utf-8") as file:
            table = file.read().partition("\n## Options of llama.cpp\n")[2].partition("\n## ")[0]
        documented = {}
        for names, option, commands in re.findall(r"^\| (`.*?) \| (.*?) \| (.*) \|$", table, re.M):
            for command in re.findall(r"`([\w -]+)`", commands):
                for name in re.findall(r"--?[\w-]+", names):
                    documented[(tuple(command.split()), name)] = option.strip("`")
        found = {(command, name): option if "no effect" not in option else "none"
                 for command, listed in self.commands().items() for names, option in listed for name in names}
        if ("serve",) not in self.manual():  # built without libmicrohttpd
            documented = {key: option for key, option in documented.items() if key[0] != ("serve",)}
        self.assertEqual(found, documented)
        self.assertGreater(len({name for _, name in found}), 20)

    def test_only_commands_with_a_model_have_them_and_none_hides_an_option(self):
        for command, listed in self.manual().items():
            usage = self.ok(*command, "--help").decode()
            has_model = re.search(r"^Usage: .* \[?MODEL\b", usage, re.M) is not None
            self.assertEqual(bool(listed), has_model, command)
            options = set(re.findall(r"^  (?:(-\w),)?(--[\w-]+)", usage + self.ok("--help").decode(), re.M))
            options = {name for pair in options for name in pair if name}
            names = [name for group, _ in listed for name in group]
            self.assertEqual(len(names), len(set(names)), command)
            self.assertEqual(set(names) & options, set(), command)
            for _, option in listed:
                self.assertIn(re.split("[:=]", option)[0], [*options, "MODEL", "no effect"], command)
        self.assertLessEqual(set(self.commands()), set(COMMANDS))

    def test_each_gives_the_same_as_its_option(self):
        n_compared = 0
        for command, listed in self.commands().items():
            for names, option in listed:
                if option not in VALUES:
                    continue
                good, bad = VALUES[option]
                values = [bad] if bad else []
                if command not in FAILS_ALONE:
                    values.append(good)
                for value in values:
                    expected = self.given(command, option, value)
                    self.assertTrue(value == good or expected[0] != 0, (command, option, value))
                    for name in names:
                        self.assertEqual(self.given(command, name, value), expected, (command, name))
                        n_compared += 1
                if option in REPEATABLE or command[0] in ("bench", "fit"):
                    continue
                for name in names:  # both are one option
                    twice = run(*command, MODEL, name, good, option, good, *self.words(command, option))
                    self.assertIn(f"{option} is given more than once", twice.stderr.decode(), (command, name))
        self.assertGreater(n_compared, 60)

    def test_flash_attention_is_accepted_and_changes_nothing(self):
        options = ("-n", "4", "--seed", "1")
        expected = self.ok("run", MODEL, "Once", *options)
        for words in (["-fa"], ["-fa", "on"], ["-fa", "off"], ["--flash-attn", "auto"], ["--flash-attn"], ["--flash-attn=on"], ["-fa", "1"]):
            self.assertEqual(self.ok("run", MODEL, "Once", *words, *options), expected)
            self.assertEqual(self.ok("run", MODEL, *words, "-p", "Once", *options), expected)
        self.assertIn('unexpected argument "maybe"', self.fails(2, "run", MODEL, "Once", "-fa", "maybe", *options))

    def test_a_flag_may_stand_for_an_option_with_a_value(self):
        self.assertIn("--weights is given more than once", self.fails(2, "serve", MODEL, "--no-mmap", "--weights", "copy"))
        self.assertIn("--port", self.fails(2, "serve", MODEL, "--no-mmap", "--port", "x"))
        self.assertIn("--weights", self.fails(2, "serve", MODEL, "--no-mmap=yes"))
        words = ("run", MODEL, "Once", "-n", "4", "--seed", "1")
        self.assertEqual(self.ok(*words, "--no-mmap"), self.ok(*words, "--weights", "map"))

    def test_values_and_words_after_two_dashes_stay(self):
        options = ("-n", "6", "--seed", "1")
        for prompt in ("-c", "-ngl", "-m", "-fa", "--ctx-size"):
            expected = self.ok("run", MODEL, f"--prompt={prompt}", *options)
            self.assertEqual(self.ok("run", MODEL, *options, "-p", prompt), expected, prompt)
            self.assertEqual(self.ok("run", MODEL, *options, "--", prompt), expected, prompt)
            self.assertEqual(self.ok("run", MODEL, *options, "-qp", prompt), expected, prompt)
        expected = self.ok("run", MODEL, "-p", "Once", *options)
        self.assertEqual(self.ok("run", MODEL, "-pOnce", *options), expected)
        self.assertEqual(self.ok("run", MODEL, "-p", "Once", "-o", "-", "-c", "64", *options), expected)

    def test_model_option_may_stand_anywhere(self):
        expected = self.ok("run", MODEL, "-p", "Once", "-n", "6", "--seed", "1")
        for words in (["-m", MODEL, "-p", "Once"], ["Once", "-m", MODEL], ["-p", "Once", "--model", MODEL], [f"--model={MODEL}", "Once"]):
            self.assertEqual(self.ok("run", *words, "-n", "6", "--seed", "1"), expected, words)
            self.assertEqual(self.ok("-q", "run", "-n", "6", "--seed", "1", *words), expected, words)
        with open(MODEL, "rb") as file:
            self.assertEqual(self.ok("run", "-m", "-", "Once", "-n", "6", "--seed", "1", stdin=file), expected)
        os.symlink(MODEL, self.path("-x.gguf"))
        self.assertEqual(self.ok("run", "-m", "-x.gguf", "Once", "-n", "6", "--seed", "1", cwd=self.folder), expected)
        self.assertIn("-m is given more than once: give it once", self.fails(2, "run", "-m", MODEL, "-m", MODEL))
        self.assertIn("-m needs a value: -m MODEL", self.fails(2, "run", "-m"))
        self.assertIn('no option "-m"', self.fails(2, "info", MODEL, "-m", MODEL))  # no model to run

    def test_shells_complete_after_them(self):
        for words in (["-c", "64", "--ct"], ["-ctk", "q8_0", "--ct"], ["-m", MODEL, "--ct"], ["-fa", "on", "--ct"]):
            answer = self.ok("--complete", "run", *words).decode().splitlines()
            self.assertEqual([line.split("\t")[0] for line in answer], ["words", "--ctx", "--ctk", "--ctv"], words)
        answer = self.ok("--complete", "run", "-m", MODEL, "-ctk", "gx").decode().split()
        self.assertEqual(answer[1:], ["gx2", "gx3", "gx4"])

    def test_other_meanings_are_not_accepted(self):
        for name in ("-b", "--batch-size", "--override-kv", "--chat-template", "-r", "--keep", "--mlock"):
            self.assertIn("no option", self.fails(2, "chat", MODEL, name, "1"), name)


if __name__ == "__main__":
    tool.main()
