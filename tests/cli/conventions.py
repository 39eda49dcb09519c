# Exit codes, streams, pipes, signals and files: properties that all commands share.
# SPDX-License-Identifier: MIT
import json
import os
import pty
import re
import signal
import subprocess
import time
import unicodedata
import unittest

import tool
from tool import MODEL, TOOL, WRAPPER, environment, run


class Usage(tool.Case):
    def test_help_prints_examples_and_succeeds(self):
        for verb in ([], ["info"], ["validate"], ["run"], ["perplexity"], ["embed"], ["kv-eval"], ["dequant"], ["fit"],
                     ["demo"], ["bench", "matvec"], ["bench", "read"], ["bench", "open"],
                     ["bench", "grammar"], ["bench", "tokenize"], ["selftest"]):
            for flag in ("-h", "--help"):
                self.assertIn(b"Examples:", self.ok(*verb, flag), verb)

    def test_no_verb_is_a_usage_error(self):
        self.assertIn("a command is required", self.fails(2))
        self.assertIn("Try: ggufx bench --help", self.fails(2, "bench"))

    def test_unknown_verb_names_the_nearest(self):
        for words, said in ((["inof"], 'no command "inof", did you mean "info"?'),
                            (["--json", "-o", "x", "qantize", "a"], 'no command "qantize", did you mean "quantize"?'),
                            (["bench", "matvek"], 'no command "matvek", did you mean "matvec"?'),
                            (["untie"], 'no command "untie"\n'), (["lits"], 'no command "lits"\n'),
                            (["rnu"], 'no command "rnu", did you mean "run"?'), (["quantze"], 'did you mean "quantize"?'),
                            (["fi"], 'no command "fi"\n'), (["Run"], 'no command "Run", did you mean "run"?'),
                            (["llama-perplexity"], 'did you mean "perplexity"?'), (["inof", "--help"], 'did you mean "info"?'),
                            (["types", "Q99"], 'no type is called "Q99"; "ggufx types" lists them\n'),
                            (["types", "q4_kk"], 'did you mean "q4_K"?'), (["run", MODEL, "--m", "1"], 'no option "--m"\n'),
                            (["run", MODEL, "--ctk", "q9"], 'no type is called "q9"; known: f32 '),
                            (["run", MODEL, "--ctv", "q4_K"], 'q4_K is a type of tensors, not of KV caches; known: f32 '),
                            (["types", "gx4"], 'gx4 is a type of KV caches, not of tensors'),
                            (["quantize", MODEL, "x", "Q99"], 'no recipe is called "Q99"\n')):
            self.assertIn(said, self.fails(2, *words))

    def test_words_of_other_programs_are_known(self):
        for word, advice in (("list", "there is no model store"), ("ls", "there is no model store"), ("ps", "no model store"),
                             ("pull", "other programs download"), ("show", '"ggufx info FILE"'), ("generate", '"ggufx run MODEL"'),
                             ("main", '"ggufx run MODEL"'), ("llama-cli", '"ggufx run MODEL"'), ("llama-server", '"ggufx serve MODEL"'),
                             ("ppl", '"ggufx perplexity MODEL -f TEXT"'), ("embeddings", '"ggufx embed MODEL TEXT"'),
                             ("convert_hf_to_gguf.py", '"ggufx convert FOLDER -o FILE"'), ("llama-gguf-split", '"ggufx split"'),
                             ("llama-bench", "did you mean \"bench\"?"), ("llama-quantize", "did you mean \"quantize\"?")):
            message = self.fails(2, word, "x")
            self.assertIn(f'no command "{word}"', message)
            self.assertIn(advice, message, word)
            self.assertEqual(self.fails(2, "help", word), message)
        # Every suggested command exists.
        commands = {words[0] for words in all_helps(self) if words}
        source = tool.os.path.join(tool.SOURCE, "src", "cli", "verbs.cpp")
        with open(source, encoding="utf-8") as file:
            advised = set(re.findall(r'\\"ggufx ([a-z-]+)', file.read()))
        self.assertGreater(len(advised), 10)
        self.assertLessEqual(advised - {"serve"}, commands)

    def test_help_is_a_command_too(self):
        for words in ((), ("run",), ("bench",), ("bench", "matvec"), ("help",)):
            self.assertEqual(self.ok("help", *words), self.ok(*words, "--help"), words)
            self.assertEqual(self.ok("--json", "help", *words), self.ok(*words, "--help"), words)
        for words in (("nope",), ("bench", "nope"), ("inof",)):
            self.assertEqual(self.fails(2, "help", *words), self.fails(2, *words), words)
        self.assertIn('unexpected argument "foo"', self.fails(2, "cpu", "foo"))

    def test_unknown_option_names_the_nearest_and_the_help(self):
        self.assertIn('no option "--jsno", did you mean "--json"?', self.fails(2, "types", "--jsno=1"))
        for verb in ([], ["types"], ["bench", "matvec"]):
            self.assertIn("Try: ggufx%s --help" % "".join(" " + word for word in verb), self.fails(2, *verb, "--no"))

    def test_unknown_type_names_the_nearest(self):
        self.assertIn("q4_K", self.fails(2, "types", "q4_kk"))

    def test_bad_option_values_are_usage_errors(self):
        for args in (["types", "--color", "pink"], ["types", "-t", "-1"], ["run"],
                     ["run", MODEL, "--temp", "-1"], ["run", MODEL, "--tokens", "1,x"],
                     ["run", MODEL, "-p", "a", "--tokens", "1"], ["cpu", "--isa", "sse9"],
                     ["run", MODEL, "--ctk", "q9"], ["info"], ["bench"]):
            self.fails(2, *args)

    def test_mistakes_of_options_are_said_in_plain_words(self):
        for args, said in ((("run", "m", "--temp", "-1"), '--temp: "-1" is not a number from 0 to 1000000\n'),
                           (("run", "m", "--min-p", "2"), '--min-p: "2" is not a number from 0 to 1\n'),
                           (("fit", "m", "--bandwidth", "0"), '--bandwidth: "0" is not a number from 0.001 to 1000000000\n'),
                           (("fit", "m", "--ctx", "5,0"), '--ctx: "0" is not a whole number from 1 to 2147483647\n'),
                           (("cpu", "-t", "5000"), '--threads: "5000" is not a whole number from 0 to 4096\n'),
                           (("run", "m", "--mirostat", "3"), '--mirostat: "3" is not a whole number from 0 to 2\n'),
                           (("types", "--color", "pink"), '--color: "pink" is not one of auto, always, never\n'),
                           (("types", "--color", "alwas"), ', never, did you mean "always"?\n'),
                           (("completion", "ksh"), 'SHELL: "ksh" is not one of bash, zsh, fish'),
                           (("run", "m", "-p"), "--prompt needs a value: --prompt TEXT\n"),
                           (("run", "m", "--temp="), "--temp needs a value: --temp X\n"),
                           (("run", "m", "-n"), "--predict needs a value: --predict N\n"),
                           (("run", "m", "--temp", "1", "--temp", "2"), "--temp is given more than once: give it once\n"),
                           (("run", "m", "-p", "a", "-f", "b"), "--prompt and --file cannot be used together: give one of them\n"),
                           (("run", "m", "--json=3"), "--json takes no value\n"), (("run", "m", "--echo=no"), "--echo takes no value\n"),
                           (("run", "m", "-f", ""), "--file: FILE must not be empty\n"), (("run",), "MODEL is required\n")):
            self.assertIn(said, self.fails(2, *args), args)
        self.assertIn('GGUFX_COLOR: --color: "pink" is not one of', run("cpu", env=environment(GGUFX_COLOR="pink")).stderr.decode())

    def test_no_message_of_the_parser_is_shown(self):
        """Tests each option of each command, without its value and with an invalid one."""
        n, raw = 0, re.compile(r"not in|[Rr]equired [A-Z]|At [Mm]ost|excludes|[Cc]ould not|UINT|FLOAT")
        for verb, usage in tool.stepped(all_helps(self).items()):
            for option, value in re.findall(r"^  (?:-\w,)?(--[a-z][\w-]*)(?: ([\w|,.]+))?(?:  |$)", usage, re.M):
                if option in ("--help", "--version"):
                    continue
                bad = [option + "=x"] if not value or value[0] in "NX" and len(value.split(",")[0]) == 1 or "|" in value else []
                for words in [[option]] * bool(value) + [[word] for word in bad]:
                    message = self.fails(2, *verb, *words)
                    self.assertIn(option, message, (verb, words))
                    self.assertNotRegex(message, raw, (verb, words))
                    n += 1
        self.assertGreater(n, 100 / tool.STEP)

    def test_numbers_are_whole_or_finite_and_within_their_type(self):
        for option, *values in (("--seed", "", "-2", "nan", "1.5", "0x", "18446744073709551616"),
                                ("--top-k", "", " 1", "1K", "4294967296"), ("-t", "", "-1"),
                                ("--temp", "", "nan", "inf", "1e999", "1x"), ("--top-p", "nan")):
            for value in values:
                message = self.fails(2, "run", MODEL, "-n", "1", option, value)
                self.assertIn(repr(value).replace("'", '"'), message)
        run_with = lambda seed: self.ok("run", MODEL, "-n", "8", "--seed", seed)
        self.assertEqual(run_with("010"), run_with("10"))
        self.assertEqual(run_with("0x10"), run_with("16"))
        run_with("18446744073709551615")

    def test_values_that_name_something_are_not_empty(self):
        out = self.path("out.gguf")
        for args in (["types", "-o", ""], ["run", MODEL, "-f", ""], ["run", MODEL, "--tokens", ""],
                     ["run", MODEL, "--logits", ""], ["split", MODEL, out, "--max-size", ""],
                     ["split", MODEL, out, "--max-tensors", "0"], ["set", MODEL, "a=1", "-o", ""],
                     ["set", MODEL, "a=1", "-o", out, "--reserve", ""],
                     ["dequant", MODEL, "token_embd.weight", "--rows", ""],
                     ["quantize", MODEL, out, "Q8_0", "--shard", ""], ["fit", "--shape", ""]):
            self.assertIn(next(word for word in args[::-1] if word.startswith("-")).lstrip("-"),
                          self.fails(2, *args))
        self.assertEqual(os.listdir(self.folder), [])

    def test_options_work_before_and_after_the_verb(self):
        before = run("--json", "types", "f16").stdout
        self.assertEqual(before, self.ok("types", "f16", "--json"))
        self.assertEqual(json.loads(before)["types"][0]["id"], 1)

    def test_four_variables_stand_for_options(self):
        with_variables = lambda *args, **extra: run(*args, env=environment(**extra))
        self.assertIn(b"\x1b[1m", with_variables("info", MODEL, GGUFX_COLOR="always").stdout)
        out = with_variables("info", MODEL, "--color", "never", GGUFX_COLOR="always").stdout
        self.assertNotIn(b"\x1b", out)  # the command line takes precedence
        text = self.path("text.txt", b"Once there was a fox. " * 80)
        result = with_variables("perplexity", MODEL, "-f", text, "--ctx", "64", GGUFX_PROGRESS="json")
        self.assertIn(b'"progress"', result.stderr)
        isas = lambda result: {json.loads(line)["isa"] for line in result.stdout.splitlines()}
        bench = ("bench", "dequant", "-k", "256", "-r", "1", "--json")
        self.assertEqual(isas(with_variables(*bench, GGUFX_ISA="scalar", GGUFX_THREADS="1")), {"scalar"})
        for name, value in (("THREADS", "x"), ("COLOR", "pink"), ("PROGRESS", "0"), ("ISA", "sse9")):
            result = with_variables("cpu", **{"GGUFX_" + name: value})
            self.assertEqual(result.returncode, 2, name)
            if name != "ISA":
                self.assertIn(b"the variable GGUFX_" + name.encode(), result.stderr)
            self.assertEqual(with_variables("cpu", **{"GGUFX_" + name: ""}).returncode, 0)

    def test_caches_are_measured_whatever_their_type(self):
        """The limit only has room for the caches."""
        pairs = ["f16", "bf16", "q8_0", "iq4_nl", "gx4", "gx3/tq3_0"]
        out = self.ok("bench", "kv", "--types", ",".join(pairs), "--kv", "2100", "-r", "1", "-t", "1", "--cache", "cpu", "--json")
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([row["k"] for row in rows], [pair.partition("/")[0] for pair in pairs])

    def test_no_other_variable_is_read(self):
        options = set(re.findall(r"--([a-z][\w-]*)", self.ok("manual").decode().replace("\\", "")))
        self.assertGreater(len(options), 80)
        names = {name.upper().replace("-", "_") for name in options | {"model", "file", "ref", "in"}}
        extra = {"GGUFX_" + name: "banana" for name in names - {"THREADS", "ISA", "COLOR", "PROGRESS"}}
        for args in (["types"], ["info", MODEL], ["run", MODEL, "-p", "a", "-n", "2", "--seed", "1"], ["fit", MODEL],
                     ["dequant", MODEL, "output_norm.weight"], ["validate", MODEL],
                     ["quantize", MODEL, "x", "Q4_0", "--allow-requantize", "--dry-run"]):
            self.assertEqual(run(*args, env=environment(**extra)).stdout, self.ok(*args), args)

    def test_mistakes_in_values_name_their_option(self):
        text, out = self.path("t.txt", b"Once there was a fox. " * 80), self.path("o")
        quantize = ["quantize", MODEL, out, "--allow-requantize", "--type"]
        for args, option in ((["run", MODEL, "-p", "a", "--ctk", "q9"], "--ctk"),
                             (["run", MODEL, "-p", "a", "--ctv", "q9"], "--ctv"),
                             (["perplexity", MODEL, "-f", text, "--ctx", "64", "--ctk", "q9"], "--ctk"),
                             (["kv-eval", MODEL, "-f", text, "--k", "q9"], "--k"),
                             (["kv-eval", MODEL, "-f", text, "--v", "q9"], "--v"),
                             (["fit", MODEL, "--kv", "q9"], "--kv"),
                             (["fit", "--shape", "qwen3-4b", "--type", "Q4_K_X"], "--type"),
                             ([*quantize, "Q4_K_X"], "--type"),
                             ([*quantize, "Q4_0", "--output-type", "q9"], "--output-type"),
                             ([*quantize, "Q4_0", "--embd-type", "q9"], "--embd-type"),
                             ([*quantize, "Q4_0", "--tensor-type", "a=q9"], "--tensor-type"),
                             ([*quantize, "Q4_0", "--target-bpw", "4", "--candidates", "q9"], "--candidates"),
                             (["bench", "matvec", "--type", "q9"], "--type"),
                             (["bench", "kv", "--types", "q9"], "--types"),
                             (["bench", "quantize", "--type", "q9"], "--type"),
                             (["bench", "model", MODEL, "--ctv", "q9"], "--ctv"),
                             (["selftest", "--type", "q9"], "--type"),
                             (["cpu", "--isa", "sse9"], "--isa"), (["cpu", "-t", "1,2"], "--threads")):
            self.assertTrue(self.fails(2, *args).startswith("ggufx: " + option + ": "), args)
        self.assertEqual(os.listdir(self.folder), ["t.txt"])

    def test_errors_are_json_on_stderr_with_json(self):
        error = json.loads(self.fails(1, "info", self.path("absent.gguf"), "--json"))["error"]
        self.assertEqual((error["exit"], error["status"]), (1, "NOT_FOUND"))

    def test_control_characters_of_arguments_are_not_printed(self):
        message = self.fails(1, "info", self.path("\x1b[31mred\n.gguf"))
        self.assertNotIn("\x1b", message)
        self.assertEqual(message.count("\n"), 1)


def all_helps(case, *before):
    """Returns the help of every command that has one, by its words; the tool's own help has no words."""
    usage = case.ok(*before, "--help").decode()
    found = {before: usage}
    if "\nCommands:\n" in usage:
        names = re.findall(r"^  ([a-z][\w-]*) ", usage.split("\nCommands:\n")[1].split("\n\n")[0], re.M)
        for name in names:
            found.update(all_helps(case, *before, name))
    return found


class Help(tool.Case):
    texts = {}  # cached

    def helps(self):
        found = Help.texts = Help.texts or all_helps(self)
        self.assertGreater(len(found), 35)
        return found

    def test_no_line_is_wider_than_80_columns(self):
        for verb, usage in self.helps().items():
            for line in usage.splitlines():
                self.assertLessEqual(len(line), 80, (verb, line))
                self.assertEqual(line, line.rstrip(), verb)

    def test_each_verb_shows_its_own_examples(self):
        helps = self.helps()
        for verb, usage in helps.items():
            shown = re.findall(r"^  (?:.*\| |.*&& |eval .*\()?ggufx .*", usage, re.M)
            for line in shown:
                self.assertIn(" ".join(["ggufx", *verb]), line, verb)
            if len(verb) > 0:
                self.assertNotIn("Exit codes", usage, verb)
                self.assertIn("Options of every command", usage, verb)
        self.assertNotIn("Examples:", helps["bench",])

    def test_a_letter_has_one_meaning(self):
        meanings = {}
        for verb, usage in self.helps().items():
            for letter, name in re.findall(r"^  (-\w)(?:,(--[\w-]+))?", usage, re.M):
                meanings.setdefault(letter, {})[name] = verb
        self.assertEqual({letter: names for letter, names in meanings.items() if len(names) > 1}, {})
        self.assertEqual({letter: [*names][0] for letter, names in meanings.items()},
                         {"-h": "--help", "-o": "--output", "-t": "--threads", "-q": "--quiet",
                          "-v": "--verbose", "-d": "--depth", "-f": "--file", "-n": "--predict",
                          "-p": "--prompt", "-k": "--k", "-m": "--m", "-r": "--rounds"})

    def test_defaults_are_called_so(self):
        n = 0
        for verb, usage in self.helps().items():
            text = re.sub(r"\n {26}", " ", usage)
            for line in re.findall(r"^  -.*", text, re.M):
                self.assertNotRegex(line, r"; (?!default )[\w.,/-]+$", verb)
                n += "default " in line
        self.assertGreater(n, 50)


class Streams(tool.Case):
    def test_full_disk_is_reported(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        for args in (["types"], ["info", MODEL], ["cpu", "--json"], ["demo", "-n", "4"],
                     ["run", MODEL, "-n", "2"], ["demo", "--export", "-"], ["--help"],
                     ["--version"], ["run", "--help"]):
            with open("/dev/full", "wb") as full:
                result = subprocess.run([*WRAPPER, TOOL, *args], stdout=full,
                                        stderr=subprocess.PIPE, env=environment())
            self.assertEqual(result.returncode, 1, args)
            self.assertIn(b"No space left", result.stderr)
        self.assertIn("No space left", self.fails(1, "types", "-o", "/dev/full"))

    def test_closed_output_is_an_error(self):
        result = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *WRAPPER, TOOL, "types"],
                                stderr=subprocess.PIPE, env=environment())
        self.assertEqual(result.returncode, 1, result.stderr)

    def test_closed_input_and_errors_do_no_harm(self):
        result = subprocess.run(["sh", "-c", 'exec "$@" <&- 2>&-', "sh", *WRAPPER, TOOL, "types"],
                                stdout=subprocess.PIPE, env=environment())
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"q4_K", result.stdout)
        result = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *WRAPPER, TOOL, "run", MODEL,
                                 "-f", "-"], stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                                env=environment())
        self.assertEqual((result.returncode, result.stdout), (1, b""))

    def test_reader_that_leaves_ends_the_tool_quietly(self):
        process = subprocess.Popen([*WRAPPER, TOOL, "demo", "--export", "-"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment())
        process.stdout.read(10)
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertIn(process.wait(timeout=60), (-signal.SIGPIPE, 128 + signal.SIGPIPE))

    def test_pipes_get_tabs_and_no_colour(self):
        for args in (["types"], ["info", MODEL], ["cpu"]):
            out = self.ok(*args)
            self.assertIn(b"\t", out)
            self.assertNotIn(b"\x1b", out)
        self.assertIn(b"\x1b[", self.ok("info", MODEL, "--color", "always"))

    def test_progress_is_silent_without_a_terminal_and_json_on_demand(self):
        text = self.path("text.txt", b"Once there was a fox. " * 80)
        args = ("perplexity", MODEL, "-f", text, "--ctx", "64")
        self.ok(*args)
        result = run(*args, "--progress", "json")
        lines = [json.loads(line) for line in result.stderr.splitlines()]
        self.assertEqual(lines[-1]["done"], lines[-1]["total"])
        self.assertEqual(lines[-1]["progress"], "perplexity")

    def test_a_dash_is_standard_input(self):
        with open(MODEL, "rb") as file:
            model = file.read()
        for args in (["info", "-"], ["validate", "--deep", "-"], ["fit", "-"], ["diff", MODEL, "-"],
                     ["dequant", "-", "output_norm.weight"], ["run", "-", "-p", "Once", "-n", "4", "--seed", "1"]):
            named = [MODEL if word == "-" else word for word in args]
            expected = self.ok(*named).replace(os.fsencode(MODEL), b"-") if args[0] != "diff" else self.ok(*named)
            with open(MODEL, "rb") as file:
                self.assertEqual(self.ok(*args, stdin=file), expected, args)
            piped = subprocess.run([*WRAPPER, TOOL, *args], input=model, stdout=subprocess.PIPE, env=environment())
            self.assertEqual(piped.stdout, expected, args)
        start = subprocess.run([*WRAPPER, TOOL, "info", "-", "--json"], input=model[:40000], stdout=subprocess.PIPE,
                               env=environment())  # a running download
        self.assertEqual(len(json.loads(start.stdout)["tensors"]), 38)
        self.assertIn("standard input: ", self.fails(3, "info", "-"))
        for args in (["set", "-", "a=1"], ["unset", "-", "a"], ["rename", "-", "a=b"], ["info", "-", "--sha256", "--json"]):
            self.fails(2, *args, cwd=self.folder)
        self.assertEqual(os.listdir(self.folder), [])
        before = self.ok("set", MODEL, "a=@-", "-o", self.path("o"), "--dry-run", stdin=subprocess.DEVNULL)
        self.assertIn(b"(absent) -> str", before)

    def test_tables_fit_the_terminal(self):
        long = "blk.0." + "x" * 52
        names = [(f"{long}{i}", (32, 1), 0, 128 * i) for i in range(2)]
        wide = self.path("wide.gguf", tool.gguf(kv=[tool.ARCHITECTURE, ("tokenizer.list", 9,
                         tool.struct.pack("<IQ", 8, 6) + tool.string("日本語の文字列" * 5) * 6)],
                         tensors=names, data=bytes(256)))
        for args in (["info", MODEL], ["info", wide], ["fit", MODEL], ["types"], ["cpu"],
                     ["fit", "--shape", "qwen3-4b", "--ram", "6G", "--bandwidth", "40"],
                     ["fit", "--shape", "llama3.1-70b", "--ram", "16G", "--bandwidth", "40", "--nodes", "4", "--link", "100g"],
                     ["fit", "--shape", "llama3.1-405b", "--ram", "500G", "--kv", "all", "--ctx", "8192,4096"],
                     ["quantize", MODEL, "x", "Q4_0", "--allow-requantize", "--dry-run"]):
            for env, width in (({}, 80), ({"COLUMNS": "100"}, 100), ({"COLUMNS": "x"}, 80)):
                text = self.on_terminal(*args, NO_COLOR="1", **env).decode().replace("\r\n", "\n")
                columns = lambda line: sum(1 + (ord(c) >= 0x2e80) for c in line)
                widest = max((line for line in text.splitlines() if self.folder not in line and MODEL not in line), key=columns)
                self.assertLessEqual(columns(widest), width, (args, widest))
                self.assertEqual([line for line in text.splitlines() if line != line.rstrip()][:1], [], args)
        text = self.on_terminal("info", wide, NO_COLOR="1").decode()
        self.assertIn("…", text)
        # A pipe gets everything, for any width.
        piped = run("info", wide, env=environment(COLUMNS="80")).stdout.decode()
        self.assertIn(f"{long}1\tf32\t32 x 1", piped)
        text = self.on_terminal("fit", "--shape", "qwen3-4b", "--ram", "6G", NO_COLOR="1").decode()
        self.assertIn("columns not shown at this width: workspace, error", text)
        self.assertIn("* needs an imatrix", text)

    def test_columns_stand_below_each_other_in_every_script(self):
        texts = ["plain", "u\u0308ber", "\u0e01\u0e34\u0e48", "\u0928\u093c\u0947", "\u2764\ufe0f", "\u05e9\u05c1", "\u65e5\u672c"]
        tensors = [(name, (32, 1), 0, 128 * i) for i, name in enumerate(texts)]
        path = self.path("names.gguf", tool.gguf(kv=[tool.ARCHITECTURE], tensors=tensors, data=bytes(128 * len(texts))))
        lines = self.on_terminal("info", path, "--tensors", NO_COLOR="1").decode().splitlines()
        width = lambda c: 0 if unicodedata.combining(c) or unicodedata.category(c) == "Mn" else 1 + (c in "\u65e5\u672c")
        starts = {sum(map(width, line.split("f32")[0])) for line in lines if "f32" in line}
        self.assertEqual(len([line for line in lines if "f32" in line]), len(texts))
        self.assertEqual(len(starts), 1, lines)

    def test_tables_keep_the_columns_with_the_answer(self):
        text = self.path("text.txt", b"Once there was a fox. " * 80)
        other, imatrix, broken = self.path("other.gguf"), self.path("imatrix.gguf"), self.path("broken.gguf")
        self.ok("quantize", MODEL, other, "Q4_0", "--allow-requantize", "-q")
        self.ok("imatrix", "collect", MODEL, "-f", text, "--ctx", "64", "--chunks", "1", "--to", imatrix, "-q")
        with open(MODEL, "rb") as whole, open(broken, "wb") as part:
            part.write(whole.read(200000))
        one = ("-m", "64", "-k", "256", "-r", "1", "--type", "q4_0", "--isa", "scalar")
        for args, columns in ((["fit", "--shape", "qwen3-4b", "--ram", "6G"], "type,kv types,total,fits"),
                              (["fit", "--shape", "qwen3-4b", "--ram", "6G", "--vram", "2G", "--bandwidth", "40", "--ctx",
                                "8192,4096", "--kv", "all"], "type,kv types,context,total,fits,layers there,tok/s"),
                              (["kv-eval", MODEL, "-f", text, "--ctx", "64", "--chunks", "1", "-q"], "k,v,cache,perplexity,KL"),
                              (["diff", MODEL, other, "--values"], "values,different"), (["imatrix", "show", imatrix], "sum,active %"),
                              (["info", broken, "--tensors"], "tensor,type"), (["bench", "matvec", *one], "GB/s,bits equal"),
                              (["bench", "kv", "--kv", "64", "-r", "1", "-q"], "tokens,ms,bits equal"),
                              (["bench", "model", MODEL, "-n", "2", "--prompt-tokens", "4", "-r", "1", "-q"], "test,tokens/s")):
            for env in tool.stepped(({}, {"COLUMNS": "80"}, {"COLUMNS": "60"})):
                lines = self.on_terminal(*args, NO_COLOR="1", code=None, **env).decode().splitlines()
                titles = [re.split(r"  +", line.strip()) for line in lines]
                want = columns.split(",")
                self.assertTrue(any(set(want) <= set(found) for found in titles), (args, env, lines))
        self.assertIn("data missing", self.on_terminal("info", broken, "--tensors", NO_COLOR="1").decode())
        # Findings are printed completely, even on narrow terminals.
        said = [finding["message"] for finding in json.loads(run("validate", broken, "--json").stdout)["findings"]]
        shown = self.on_terminal("validate", broken, NO_COLOR="1", COLUMNS="40", code=None).decode()
        for message in said:
            self.assertIn(message, shown)

    def on_terminal(self, *args, code=0, **env):
        """Returns the output on a terminal; any exit code is accepted if `code` is None."""
        master, slave = tool.on_pseudo_terminal(pty.openpty)
        process = subprocess.Popen([*WRAPPER, TOOL, *args], stdout=slave, stdin=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=environment(TERM="xterm", **env))
        os.close(slave)
        out = b""
        while True:
            try:
                chunk = os.read(master, 65536)
            except OSError:  # Linux: the other end is closed
                break
            if not chunk:
                break
            out += chunk
        os.close(master)
        ended = process.wait(timeout=60)
        self.assertEqual(ended, ended if code is None else code)
        return out

    def test_terminals_get_alignment_and_colour_unless_refused(self):
        out = self.on_terminal("types")
        self.assertIn(b"\x1b[1m", out)
        self.assertNotIn(b"\t", out)
        self.assertNotIn(b"\x1b", self.on_terminal("types", NO_COLOR="1"))
        self.assertNotIn(b"\x1b", self.on_terminal("types", "--color", "never"))

    def test_terminals_never_get_control_characters_of_a_file(self):
        evil = tool.gguf(kv=[tool.ARCHITECTURE,
                             ("evil\x1b]0;title\x07", 8, tool.string("\x1b[2J\r\x9b1m‮bad\xff"))])
        path = self.path("evil.gguf", evil)
        for out in (self.on_terminal("info", path, NO_COLOR="1"), self.ok("info", path)):
            text = out.replace(b"\r\n", b"\n")
            self.assertNotIn(b"\x1b", text)
            self.assertNotIn(b"\r", text)
            self.assertNotIn(b"\x07", text)
            self.assertNotIn("‮".encode(), text)
            self.assertIn(b"\\x1b[2J", text)


class Interrupted(tool.Case):
    def on_terminal(self, *args):
        """Sends Ctrl-C after the first output; returns the output and the exit code."""
        pid, terminal = tool.on_pseudo_terminal(pty.fork)
        if pid == 0:
            os.execvpe(WRAPPER[0] if WRAPPER else TOOL, [*WRAPPER, TOOL, *args], environment(NO_COLOR="1"))
        out = os.read(terminal, 100)
        os.write(terminal, b"\x03")
        try:
            while chunk := os.read(terminal, 65536):
                out += chunk
        except OSError:
            pass
        os.close(terminal)
        return out.replace(b"^C", b"").decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def test_run_and_demo_say_so_on_a_line_of_its_own(self):
        prompt = self.path("prompt", b"Once upon a time there was a fox. " * 30)
        for args in (["run", MODEL, "-f", prompt, "--seed", "1"], ["demo"]):
            text, code = self.on_terminal(*args, "--isa", "scalar", "-t", "1")
            self.assertEqual(code, 130, text)
            self.assertTrue(text.endswith("\r\nggufx: interrupted\r\n"), text)

    def test_reads_and_writes_that_wait_say_so(self):
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        self.addCleanup(os.close, write)
        for args, options in ((["run", MODEL, "-f", "-"], {"stdin": read, "stdout": subprocess.DEVNULL}),
                              (["demo", "--export", "-"], {"stdout": write, "stdin": subprocess.DEVNULL})):
            process = subprocess.Popen([*WRAPPER, TOOL, *args], stderr=subprocess.PIPE, env=environment(), **options)
            time.sleep(1)  # it waits by then, or is not that far yet: both end
            process.send_signal(signal.SIGINT)
            try:
                _, message = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                self.fail(f"{args}: it waits on")
            code = process.returncode
            self.assertIn((code, message), ((130, b"ggufx: interrupted\n"), (-signal.SIGINT, b"")), args)


class Files(tool.Case):
    def test_output_replaces_a_file_only_with_force(self):
        target = self.path("out.json", b"old")
        self.assertIn("--force", self.fails(1, "types", "--json", "-o", target))
        with open(target, "rb") as file:
            self.assertEqual(file.read(), b"old")
        self.ok("types", "--json", "-o", target, "--force")
        self.assertEqual(tool.read_json(target)["schema"], 1)
        self.assertEqual(os.listdir(self.folder), ["out.json"])

    def test_names_of_files_keep_their_bytes_in_json(self):
        with open(MODEL, "rb") as file:
            model = self.path(os.fsdecode(b"\xff.gguf"), file.read())
        made = self.path(os.fsdecode(b"\xfe"))
        in_hex = lambda path: {"hex": os.fsencode(path).hex()}
        value = self.json("split", model, made, "--dry-run")
        self.assertEqual(value["file"], in_hex(model))
        self.assertEqual(value["outputs"], [in_hex(made + "-00001-of-00001.gguf")])
        value = self.json("set", model, "a=1", "-o", made)
        self.assertEqual((value["file"], value["output"]), (in_hex(model), in_hex(made)))
        value = self.json("quantize", model, made, "Q8_0", "--allow-requantize", "--dry-run")
        self.assertEqual(value["output"], in_hex(made))

    def test_failed_run_leaves_no_file(self):
        self.fails(1, "dequant", MODEL, "absent.weight", "-o", self.path("out.npy"))
        self.fails(2, "run", MODEL, "-p", "a", "--ctk", "q9", "-o", self.path("out.txt"))
        self.assertEqual(os.listdir(self.folder), [])

    def test_nothing_is_made_where_the_report_on_it_cannot_go(self):
        parts = self.path("parts")
        self.ok("split", MODEL, os.path.join(self.folder, "s"), "--max-tensors", "20", "-q")
        before = sorted(os.listdir(self.folder))
        for args in (["split", MODEL, parts], ["merge", self.path("s-00001-of-00002.gguf")],
                     ["quantize", MODEL, parts, "Q8_0", "--allow-requantize"],
                     ["report", MODEL, "--html", parts, "--json"]):
            self.fails(1, *args, "-o", self.path("no/such/folder"))
            self.assertEqual(sorted(os.listdir(self.folder)), before, args)

    def test_a_model_is_not_written_to_a_pipe_or_over_its_report(self):
        out, part = self.path("out"), self.path("s-00001-of-00002.gguf")
        self.ok("split", MODEL, self.path("s"), "--max-tensors", "20", "-q")
        before = sorted(os.listdir(self.folder))
        for args in (["set", part, "a=1", "-o", "-"], ["merge", part, "-"],
                     ["merge", part, out, "-o", out],
                     ["quantize", MODEL, out, "Q8_0", "--allow-requantize", "-o", out],
                     ["split", MODEL, out, "-o", out + "-00001-of-00001.gguf"]):
            self.fails(2, *args, cwd=self.folder)
            self.assertEqual(sorted(os.listdir(self.folder)), before, args)

    def test_text_without_end_is_refused(self):
        if not os.path.exists("/dev/zero"):
            self.skipTest("no /dev/zero")
        self.assertIn("268435456", self.fails(1, "perplexity", MODEL, "-f", "/dev/zero"))

    def test_unwritable_places_are_reported(self):
        self.fails(1, "types", "-o", self.path("no/such/folder"))
        self.fails(1, "types", "-o", self.folder)

    def interrupted(self, number, *args):
        process = subprocess.Popen([*WRAPPER, TOOL, *args], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, env=environment())
        deadline = time.monotonic() + 60
        while not os.listdir(self.folder) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertTrue(os.listdir(self.folder), "the run began no file")
        process.send_signal(number)
        process.stderr.read()
        process.stderr.close()
        return process.wait(timeout=60)

    def test_interrupt_removes_the_partial_output(self):
        args = ("bench", "matvec", "-r", "1000", "-o", self.path("bench.txt"))
        self.assertEqual(self.interrupted(signal.SIGINT, *args), 130)
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEqual(self.interrupted(signal.SIGTERM, *args), 143)
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    tool.main()
