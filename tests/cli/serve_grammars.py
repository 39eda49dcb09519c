"""ggufx serve: grammars of tools and answers: compiled once for each key, within limits of steps and memory for a request.
SPDX-License-Identifier: MIT
"""
import concurrent.futures
import json
import sys

from serve_calls import CHAT, FORMS, RESPONSES
from serve_case import STORY, Served
import tool
from tool import main

KIB, MIB = 1 << 10, 1 << 20
KEYS = ("first-key-0123456789", "second-key-0123456789")


def tool_of(name, properties, **others):
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties, **{"additionalProperties": False, **others}}}}


def ordinary(i):
    """Returns a tool with a schema of 1 KB, as agents have."""
    kinds = ("string", "integer", "boolean", "number")
    return tool_of("tool_%d" % i, {"p%d_%d" % (i, k): {"type": kinds[k % 4], "description": "what it is for " * 4} for k in range(9)}, required=["p%d_1" % i])


def large(i):
    """Returns a tool with a schema of 1 KB, whose grammar takes 500 KB: bounds with many digits."""
    return tool_of("large_%d" % i, {"p%d" % k: {"type": "number", "minimum": -k * 1.5 - i, "maximum": 1000 + k * 7.25 + i} for k in range(15)})


def long(i):
    """Returns a tool with a schema of 0.4 KB, whose compilation takes over 2 million steps: patterns of names."""
    return tool_of("long_%d" % i, {}, patternProperties={"a{%d}b|c{%d}x%d" % (k + 3, k + 5, i): {"type": "integer"} for k in range(8)})


def endless(i):
    """Returns a tool with a schema that has no grammar, as its compilation takes more than its limit of steps."""
    return tool_of("endless_%d" % i, {}, additionalProperties=True, allOf=[{"anyOf": [{"required": ["a%d_%d" % (k, i)]}, {"required": ["b%d_%d" % (k, i)]}]} for k in range(7)])

SLOW = tool.SANITIZED or bool(tool.WRAPPER)  # the limit of processor time comes before those that are counted


class Grammars(Served):
    def template(self, form):
        return self.path(form + ".jinja", FORMS[form]["template"].replace("tools | tojson", "tools | length").encode())

    def count(self, server, **options):
        return tuple(int(server.metric(name, **options)) for name in ("grammars_compiled_total", "grammars_cached_total"))

    def ask(self, server, tools, choice="required", **options):
        return server.ask(CHAT, {"messages": STORY, "tools": tools, "tool_choice": choice, "max_tokens": 8, "seed": 1}, **options)

    def compiled(self, server, *args, **options):
        """Returns how many grammars a request compiles, and how many it finds."""
        before = self.count(server)
        self.assertEqual(self.ask(server, *args, **options)[0], 200)
        return tuple(b - a for a, b in zip(before, self.count(server)))

    def test_the_grammars_of_tools_are_compiled_once(self):
        tools = [ordinary(i) for i in range(40)]
        for form, n in (("object", 40), ("tagged", 40 * 9), ("Python", 40 * 9)):
            with self.subTest(form):
                server = self.serve("--template", self.template(form))
                self.assertEqual(self.compiled(server, tools, "auto"), (0, 0))
                compiled = self.compiled(server, tools)[0]
                self.assertTrue(0 < compiled <= n, compiled)
                self.assertEqual(self.compiled(server, tools), (0, compiled))
                self.assertEqual(self.compiled(server, tools[::-1]), (0, compiled))
                self.assertEqual(self.compiled(server, tools, {"type": "function", "function": {"name": "tool_3"}})[0], 0)
                # Equal schemas of a request have one grammar, under any name.
                same = [tool_of("same_%d" % i, {"a": {"type": "integer", "minimum": 7}}) for i in range(64)]
                self.assertEqual(self.compiled(server, same), (1, 0))
                self.assertLess(server.metric("grammar_cache_bytes"), 40 * 256 * KIB)

    def test_the_grammar_of_an_answer_is_compiled_once(self):
        server = self.share()
        schema = {"type": "object", "properties": {"a": {"enum": ["b", "c"]}}, "required": ["a"], "additionalProperties": False}
        form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
        before = self.count(server)
        for _ in range(3):
            answer = server.ask(CHAT, {"messages": STORY, "response_format": form, "max_tokens": 40, "seed": 1})[1]
            self.assertIn(json.loads(answer["choices"][0]["message"]["content"])["a"], ("b", "c"))
        server.ask(RESPONSES, {"input": "Once", "text": {"format": {"type": "json_schema", "name": "x", "schema": schema}}, "max_output_tokens": 8})
        self.assertEqual([b - a for a, b in zip(before, self.count(server))], [1, 3])
        for whitespace in ("none", "any"):  # another grammar of the same schema
            server.ask(CHAT, {"messages": STORY, "response_format": form, "json_whitespace": whitespace, "max_tokens": 8})
        self.assertEqual([b - a for a, b in zip(before, self.count(server))], [3, 3])

    def test_a_request_has_limits_of_memory_and_steps(self):
        server = self.serve("--template", self.template("object"))
        self.ask(server, [ordinary(0)])
        for make, first, words in ((large, "large_", "bytes of memory"), (long, "long_", "steps to compile")):
            with self.subTest(first):
                tools = [make(i) for i in range(512)]
                n_bytes = len(json.dumps(tools))
                before = self.peak(server)
                message = self.refused(400, "too_much_work", self.ask(server, tools))
                if not SLOW:
                    self.assertIn(words, message)
                    self.assertIn('function "%s' % first, message)
                    # In the same way from the cache, and alone.
                    self.assertEqual(self.refused(400, "too_much_work", self.ask(server, tools)), message)
                if sys.platform == "linux" and not tool.WRAPPER and not tool.SANITIZED:
                    self.assertLess(self.peak(server) - before, 2 * (16 * n_bytes + 16 * MIB) + 64 * MIB)
                self.assertEqual(self.ask(server, tools[:8])[0], 200)
                self.assertEqual(self.ask(server, tools, {"type": "function", "function": {"name": first + "500"}})[0], 200)
        # Schemas without a grammar count, too. Few of them fail only their own calls.
        self.assertEqual(self.ask(server, [endless(0), ordinary(1)])[0], 200)
        message = self.refused(400, "too_much_work", self.ask(server, [endless(i) for i in range(512)]))
        if not SLOW:
            self.assertIn("steps to compile", message)
        named = {"type": "function", "function": {"name": "endless_0"}}
        self.assertIn("anyOf", self.refused(400, "invalid_value", self.ask(server, [endless(0), ordinary(1)], named)))
        self.assertEqual(self.ask(server, [ordinary(i) for i in range(512)])[0], 200)

    @staticmethod
    def peak(server):
        if sys.platform != "linux":
            return 0
        with open("/proc/%d/status" % server.process.pid, encoding="ascii") as file:
            return next(int(line.split()[1]) * KIB for line in file if line.startswith("VmHWM"))

    def test_large_schemas_keep_to_the_limits(self):
        server = self.share()
        for schema in ({"enum": ["country/%05d" % i for i in range(20000)]},
                       {"type": "object", "properties": {"n%d" % k: {"type": "object", "properties": {"p%d" % i: {"type": "string"} for i in range(50)}} for k in range(100)}}):
            form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
            self.assertEqual(server.ask(CHAT, {"messages": STORY, "response_format": form, "max_tokens": 2, "seed": 1})[0], 200)

    def test_a_key_evicts_only_its_own_grammars(self):
        keys = self.path("keys", "\n".join(KEYS).encode())
        server = self.serve("--template", self.template("object"), "--api-key-file", keys)
        server.checks = False  # of large bodies, which other tests compare
        mine, other = ({"headers": {"Authorization": "Bearer " + key}} for key in KEYS)
        ask = lambda *args, **options: self.assertEqual(self.ask(server, *args, **options)[0], 200)
        count = lambda: self.count(server, **mine)
        ask([ordinary(0)], **mine)
        first = count()
        ask([ordinary(0)], **other)  # nobody has the grammars of another key
        self.assertEqual(count(), (first[0] + 1, first[1]))
        for begin in range(0, 4608, 512):
            ask([tool_of("t%d" % i, {"a%d" % i: {"type": "integer"}}) for i in range(begin, begin + 512)], **other)
        before = count()
        self.assertEqual(server.metric("grammar_cache_entries", **mine), 4096)
        ask([ordinary(0)], **mine)
        self.assertEqual(count(), (before[0], before[1] + 1))
        ask([ordinary(0)], **other)  # the oldest of its key
        self.assertEqual(count(), (before[0] + 1, before[1] + 1))
        # The limit of bytes holds, too.
        for begin in range(0, 192, 24):
            ask([large(i) for i in range(begin, begin + 24)], **other)
            self.assertLess(server.metric("grammar_cache_bytes", **mine), 65 * MIB)
        before = count()
        ask([ordinary(0)], **mine)
        self.assertEqual(count()[0], before[0])

    def test_many_requests_at_once_share_the_cache(self):
        keys = self.path("keys", "\n".join(KEYS).encode())
        server = self.serve("--template", self.template("tagged"), "--api-key-file", keys, "--parallel", 4)
        headers = [{"headers": {"Authorization": "Bearer " + key}} for key in KEYS]

        def ask(i):
            tools = [tool_of("t%d" % k, {"a": {"type": "integer", "minimum": k}}, required=["a"]) for k in range(i % 5, i % 5 + 8)]
            body = {"messages": STORY, "tools": tools, "tool_choice": "required", "max_tokens": 60, "seed": 1, "temperature": 0}
            status, answer = server.ask(CHAT, body, **headers[i % 2])
            self.assertEqual(status, 200, answer)
            return i % 5, json.dumps(answer["choices"][0]["message"]["tool_calls"][0]["function"])
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(len(set(pool.map(ask, range(40)))), 5)

    def test_work_is_linear_in_a_schema(self):
        """Schemas whose references, lists or names would multiply. Each must end within the limits."""
        many = 3000
        cases = {"references": dict(properties={"p%d" % i: {"$ref": "#/$defs/d%d" % i} for i in range(many)}, **{"$defs": {"d%d" % i: {"type": "string"} for i in range(many)}}),
                 "one list": dict(properties={"p%d" % i: {"$ref": "#/$defs/d"} for i in range(many)}, **{"$defs": {"d": {"enum": ["v%d" % i for i in range(many)]}}}),
                 "required": dict(properties={"p%d" % i: {"type": "string"} for i in range(many)}, required=["p%d" % i for i in range(many)]),
                 "nested": dict(properties={}, allOf=[{"$ref": "#/$defs/d0"}] * 9, **{"$defs": {
                     "d%d" % i: {"allOf": [{"$ref": "#/$defs/d%d" % (i + 1)}] * 9} for i in range(12)}}),
                 "names": dict(properties={"x" * 100 * KIB: {"type": "object", "properties": {"a%d" % i: {"type": "array", "uniqueItems": True} for i in range(many)}}})}
        for form in ("object", "tagged"):
            server = self.serve("--template", self.template(form))
            for name, parameters in cases.items():
                with self.subTest(name, form=form):
                    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", **parameters}}}]
                    body = {"messages": STORY, "tools": tools, "tool_choice": "required", "max_tokens": 2, "seed": 1}
                    with server.open(CHAT, body) as response:
                        self.assertLess(len(response.headers.get("X-Ggufx-Ignored", "")), 20 * KIB)
                        self.assertIn(response.status, (200, 400))
                        self.assertNotIn(b"processor time", response.read())


if __name__ == "__main__":
    main()
