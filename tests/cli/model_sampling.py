# Sampling defaults in a model's file (general.sampling.*) and suppressed tokens: info, run, chat, demo and serve use
# them unless the user sets options. unit/test_sampling_defaults.c tests the C call.
# SPDX-License-Identifier: MIT
import json
import subprocess

import tool
from tool import MODEL

# Every key, and the equivalent options of run.
FILTERS = {"temp": 0.6, "top_k": 12, "top_p": 0.9, "min_p": 0.02, "xtc_probability": 0.25, "xtc_threshold": 0.15,
           "penalty_last_n": 24, "penalty_repeat": 1.3, "mirostat": 0, "mirostat_tau": 4, "mirostat_eta": 0.2}
OPTIONS = {"temp": "--temp", "top_k": "--top-k", "top_p": "--top-p", "min_p": "--min-p", "xtc_probability": "--xtc-probability",
           "xtc_threshold": "--xtc-threshold", "penalty_last_n": "--repeat-last-n", "penalty_repeat": "--repeat-penalty",
           "mirostat": "--mirostat", "mirostat_tau": "--mirostat-ent", "mirostat_eta": "--mirostat-lr", "sequence": "--samplers"}
SEQUENCE = "penalties;top_k;min_p;top_p;xtc;temperature"
TYPES = {"top_k": "i32", "penalty_last_n": "i32", "mirostat": "i32", "sequence": "str"}
TEXT = ("-p", "Once upon a time there was", "-n", "40", "--seed", "11")


def changes(keys):
    return ["general.sampling.%s:%s=%s" % (key, TYPES.get(key, "f32"), value) for key, value in keys.items()]


def options(keys):
    return [word for key, value in keys.items() for word in (OPTIONS[key], str(value))]


class ModelSampling(tool.Case):
    def with_keys(self, keys, *more):
        path = self.path("keys-%d.gguf" % len(self.made))
        self.made.append(path)
        self.ok("set", MODEL, *changes(keys), *more, "-o", path, "-q")
        return path

    def setUp(self):
        super().setUp()
        self.made = []

    def ids(self, *args):
        return [line["id"] for line in self.lines("run", *args)]

    def text_of_chat(self, *args):
        result = tool.run("chat", *args, "--json", "-n", "30", "--seed", "5", input=b"Once upon a time\n", stdin=None)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line)["content"] for line in result.stdout.splitlines()]

    def test_every_key_means_its_option(self):
        for keys in (FILTERS | {"sequence": SEQUENCE}, FILTERS | {"mirostat": 2}, FILTERS | {"mirostat": 1}, {"temp": 0}):
            path = self.with_keys(keys)
            self.assertEqual(self.ids(path, *TEXT), self.ids(MODEL, *TEXT, *options(keys)))
            self.assertEqual(self.text_of_chat(path), self.text_of_chat(MODEL, *options(keys)))
        self.assertNotEqual(self.ids(self.with_keys(FILTERS), *TEXT), self.ids(MODEL, *TEXT))

    def test_an_option_of_the_user_wins(self):
        path = self.with_keys(FILTERS)
        for own in ({"temp": 1.1}, {"top_k": 3, "penalty_repeat": 1}, {"mirostat": 2, "mirostat_tau": 3}, {"sequence": "top_k;temperature"}):
            self.assertEqual(self.ids(path, *TEXT, *options(own)), self.ids(MODEL, *TEXT, *options(FILTERS | own)))
        # An order that would disable the option is ignored.
        path = self.with_keys({"top_k": 20, "sequence": "top_k;temperature"})
        self.assertEqual(self.ids(path, *TEXT), self.ids(MODEL, *TEXT, "--top-k", "20", "--samplers", "top_k;temperature"))
        self.assertEqual(self.ids(path, *TEXT, "--min-p", "0.3"), self.ids(MODEL, *TEXT, "--top-k", "20", "--min-p", "0.3"))
        # An order given by the user has filters, and disables the model's Mirostat.
        path = self.with_keys({"mirostat": 2})
        own = ("--samplers", "top_k;temperature")
        self.assertEqual(self.ids(path, *TEXT, *own), self.ids(MODEL, *TEXT, *own))

    def test_info_shows_them(self):
        path = self.with_keys(FILTERS | {"sequence": SEQUENCE}, "tokenizer.ggml.suppress_tokens:i32[]=7,9")
        self.assertEqual(self.json("info", path)["sampling"], FILTERS | {"sequence": SEQUENCE, "suppress_tokens": [7, 9]})
        card = self.ok("info", path).decode()
        self.assertIn("temp 0.6, top_k 12, top_p 0.9", card)
        self.assertIn("2 suppressed tokens", card)
        self.assertNotIn("sampling", self.json("info", MODEL))

    def test_unusable_values_are_warned_of_and_ignored(self):
        path = self.with_keys({"temp": 0.5, "top_p": 7, "penalty_last_n": -9, "sequence": "top_k;nonsense"})
        result = tool.run("run", path, *TEXT)
        self.assertEqual(result.returncode, 0, result.stderr)
        said = result.stderr.decode()
        for key in ("top_p", "penalty_last_n", "sequence"):
            self.assertIn("general.sampling.%s has an unusable value" % key, said)
        self.assertNotIn("general.sampling.temp", said)
        self.assertEqual(self.json("info", path)["sampling"], {"temp": 0.5, "ignored": ["top_p", "penalty_last_n", "sequence"]})
        self.assertEqual(self.ids(path, *TEXT, "-q"), self.ids(MODEL, *TEXT, "--temp", "0.5"))

    def test_suppressed_tokens_are_never_chosen(self):
        args = ("-p", "Once upon a time", "-n", "30", "--temp", "0")
        plain = self.ids(MODEL, *args)
        never = sorted(set(plain[:6]))
        path = self.with_keys({}, "tokenizer.ggml.suppress_tokens:i32[]=" + ",".join(map(str, never + [99999999])))
        for more in ((), ("--logit-bias", "%d+50" % never[0]), ("--lookup",), ("--top-k", "1", "--samplers", "top_k")):
            ids = self.ids(path, *args, *more)
            self.assertFalse(set(never) & set(ids), more)
        self.assertEqual(self.ids(path, *args), self.ids(MODEL, *args, *[w for i in never for w in ("--logit-bias", "%d=-inf" % i)]))

    def test_the_server_uses_them(self):
        try:
            from serve_case import Server
        except ImportError as error:
            self.skipTest(str(error))
        if b"serve" not in tool.run("--help").stdout:
            self.skipTest("no serve")
        body = {"prompt": "Once upon a time there was", "max_tokens": 30, "seed": 11}

        def answers(path, *args, **more):
            server = Server(*args, model=path)
            try:
                text = server.ask("/v1/completions", body | more)[1]["choices"][0]["text"]
                return text, server.ask("/props")[1]["sampling"]
            finally:
                server.process.terminate()
                server.process.communicate(timeout=60)
        keys = {"temp": 0.6, "top_k": 12, "top_p": 0.9, "min_p": 0.02}
        path = self.with_keys(keys)
        text, props = answers(path)
        self.assertEqual(text, answers(MODEL, temperature=0.6, top_k=12, top_p=0.9, min_p=0.02)[0])
        self.assertEqual(props["model"], keys)
        self.assertEqual({k: round(props[k], 6) for k in ("temperature", "top_k", "top_p", "min_p")},
                         {"temperature": 0.6, "top_k": 12, "top_p": 0.9, "min_p": 0.02})
        text, props = answers(path, "--temp", "1.2", top_k=5)
        self.assertEqual(text, answers(MODEL, temperature=1.2, top_k=5, top_p=0.9, min_p=0.02)[0])
        self.assertEqual(round(props["temperature"], 6), 1.2)
        # Keys that requests do not have.
        plain = self.ids(MODEL, "-p", body["prompt"], "-n", "30", "--temp", "0")
        path = self.with_keys({"penalty_repeat": 1.4, "penalty_last_n": 16}, "tokenizer.ggml.suppress_tokens:i32[]=%d" % plain[1])
        want = self.ok("run", path, "-p", body["prompt"], "-n", "30", "--temp", "0").decode()
        self.assertEqual(answers(path, temperature=0)[0].strip(), want.strip())


if __name__ == "__main__":
    tool.main()
