# Templates generated from seeds, against python3-jinja2: the same text, or an error in both. Every construct, filter,
# test and method that templates can use occurs; words and numbers are those of tests/data/chat/make_templates.py.
#
# differential.py LIBRARY [N_TEMPLATES [FIRST_SEED]]
# SPDX-License-Identifier: MIT
import importlib.util
import json
import os
import random
import re
import sys
import unittest
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
DEBIANS = "/usr/bin/python3"  # the interpreter with Debian's packages


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def load():
    os.environ["GGUFX_LIBRARY"] = sys.argv[1]
    sys.path.insert(0, os.path.join(HERE, "..", "..", "bindings", "python"))
    try:
        import jinja2  # noqa: F401
        import numpy  # noqa: F401
    except ImportError:
        if sys.executable != DEBIANS and os.access(DEBIANS, os.X_OK):
            os.execv(DEBIANS, [DEBIANS, *sys.argv])
        skip("no python3-jinja2 and python3-numpy")
    import ggufx
    spec = importlib.util.spec_from_file_location(
        "make_templates", os.path.join(HERE, "..", "data", "chat", "make_templates.py"))
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return ggufx, made


ggufx, MADE = load()
VARIABLES = MADE.VARIABLES
CLOCK = 1732287845
NAMES = sorted(VARIABLES) + ["x", "i", "absent", "loop", "ns"]
TEXTS = ["'a'", "''", "'Ab c'", "'x, y'", "'\\n'", "\"it's\"", "'ß\\u00e9'", "'7'", "' 12 '", "'%s'", "'{}'"]
NUMBERS = ["0", "1", "2", "-1", "3", "7", "10", "2.5", "-0.5", "100", "1e3"]
KEYS = ["'name'", "'b'", "'nested'", "'x'", "0", "1", "-1", "'k'", "", "0, 1"]
ATTRIBUTES = ["name", "nested", "b", "a", "items", "first", "age", "city", "role", "content"]
FILTERS = ["upper", "lower", "capitalize", "title", "string", "trim", "length", "list", "first", "last", "reverse",
           "sort", "unique", "sum", "min", "max", "join", "abs", "int", "float", "round", "escape", "safe", "tojson",
           "items", "dictsort", "wordcount", "count", "urlencode", "default('d')", "default('d', true)", "join(', ')",
           "replace('a', 'b')", "indent", "indent(2, true)", "truncate(5)", "truncate(5, true, '')", "center(9)",
           "batch(2) | list", "slice(2) | list", "map('upper') | list", "map(attribute='name') | list",
           "select | list", "select('odd') | list", "reject('none') | list", "selectattr('name') | list",
           "selectattr('age', 'gt', 26) | list", "rejectattr('tags', 'defined') | list", "groupby('age')",
           "tojson(indent=2)", "sort(reverse=true)", "sort(attribute='name')", "map('string') | join('|')", "attr('name')",
           "sum(start=1)", "dictsort(by='value')", "round(1)", "int(3)", "trim('ab')", "format(1)", "d('z')",
           "map('length') | list", "unique | list", "batch(3, '-') | list"]
TESTS = ["defined", "undefined", "none", "boolean", "true", "false", "integer", "float", "number", "string", "mapping",
         "sequence", "iterable", "callable", "odd", "even", "divisibleby(3)", "lower", "upper", "sameas(none)",
         "in([1, 'a'])", "eq(1)", "ne('a')", "lt(3)", "ge(2)", "escaped", "filter", "test"]
METHODS = ["strip()", "split()", "split(',')", "split(' ', 1)", "upper()", "lower()", "title()", "startswith('a')",
           "endswith(('b', 'c'))", "replace('a', '')", "find('b')", "count('a')", "join(['1', '2'])", "splitlines()",
           "lstrip('a')", "rstrip()", "partition(' ')", "rsplit(',', 1)", "isdigit()", "capitalize()", "zfill(5)",
           "ljust(4)", "center(7, '*')", "removeprefix('a')", "items()", "keys()", "values()", "get('a')",
           "get('zz', 1)", "copy()", "index(1)", "format(1, a=2)", "swapcase()", "isalpha()", "expandtabs()"]
BINARY = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "and", "or", "in", "not in"]


# For values of one kind.
STRING_FILTERS = ["upper", "lower", "capitalize", "title", "trim", "escape", "safe", "tojson", "urlencode", "reverse", "indent",
                  "indent(2, true)", "indent(1, blank=true)", "truncate(5)", "truncate(7, true, '')", "center(9)", "string",
                  "replace('a', 'b')", "replace('', '-')", "default('d', true)", "trim('ab ')", "forceescape", "e",
                  "list | join", "format"]
STRING_METHODS = ["strip()", "upper()", "lower()", "title()", "replace('a', '')", "replace('a', 'b', 1)", "lstrip('a')",
                  "rstrip()", "capitalize()", "zfill(5)", "ljust(4)", "rjust(4, '.')", "center(7, '*')", "removeprefix('a')",
                  "removesuffix('c')", "swapcase()", "expandtabs()", "join(['1', '2'])", "strip(' \\n')"]
NUMBER_LISTS = ["sort", "sort(reverse=true)", "reverse", "unique", "select('odd')", "reject('odd')", "map('string')", "map('abs')",
                "batch(2)", "batch(3, 0)", "slice(2)", "slice(3, 'x')", "select('gt', 2)", "select('in', [1, 2])", "map('round')"]
WORD_LISTS = ["sort", "sort(case_sensitive=true)", "unique", "unique(true)", "map('upper')", "map('length')", "map('replace', 'p', 'q')",
              "select('string')", "reject('eq', 'fig')", "map('first')", "reverse", "map('title')", "select('lower')"]
PEOPLE_LISTS = ["sort(attribute='age')", "sort(attribute='city.name')", "sort(attribute='age,name')", "map(attribute='name')",
                "map(attribute='tags', default=0)", "selectattr('age', 'eq', 30)", "selectattr('tags')", "rejectattr('tags', 'defined')",
                "groupby('age')", "groupby('city.name')", "map(attribute='city') | map(attribute='name')", "unique(attribute='age')",
                "selectattr('name', 'in', ['Ann', 'bob'])", "rejectattr('age', 'lt', 28)"]
ANY_LISTS = ["reverse", "map('string')", "select", "reject", "select('string')", "select('defined')", "batch(2)", "map('tojson')",
             "reject('none')", "slice(2)", "map('default', 1)"]
TESTS_OF_ALL = ["defined", "undefined", "none", "boolean", "true", "false", "integer", "float", "number", "string", "mapping",
                "sequence", "iterable", "callable", "sameas(none)", "eq(1)", "ne('a')", "in([1, 'a'])"]
WILD = 0.06  # share of expressions of any type


class Maker:
    """Generates a template from one random state."""

    def __init__(self, seed):
        self.r = random.Random(seed)

    def atom(self):
        r = self.r
        return r.choice([r.choice(NAMES), r.choice(NAMES), r.choice(TEXTS), r.choice(NUMBERS), "true", "none", "false"])

    def expression(self, depth=0):
        """Returns an expression, mostly of the right type, sometimes of any."""
        if self.r.random() < WILD:
            return self.wild(depth)
        return self.r.choice([self.string, self.string, self.number, self.list, self.mapping, self.truth])(depth)

    def string(self, depth):
        r, of = self.r, lambda: self.string(depth + 1)
        if depth > 2 or r.random() < 0.3:
            return r.choice(["name", "text", "uni", "quote", "empty", *TEXTS])
        return r.choice([
            lambda: f"({of()} ~ {self.expression(depth + 1)})", lambda: f"({of()} + {of()})",
            lambda: f"({of()} * {r.randrange(3)})", lambda: f"({of()} | {r.choice(STRING_FILTERS)})",
            lambda: f"({of()}).{r.choice(STRING_METHODS)}", lambda: f"({of()})[{self.bound()}:{self.bound()}]",
            lambda: f"({self.list(depth + 1)} | join({r.choice(TEXTS)}))", lambda: f"({self.expression(depth + 1)} | string)",
            lambda: f"({self.expression(depth + 1)} | tojson{r.choice(['', '(indent=2)', '(sort_keys=true)'])})",
            lambda: f"('%s|%5s|%r' % ({of()}, {of()}, {of()}))", lambda: f"'{{0}}-{{1}}'.format({of()}, {self.number(9)})",
            lambda: f"({of()} if {self.truth(depth + 1)} else {of()})", lambda: "strftime_now('%d %b %Y %H:%M')",
            lambda: f"({self.list(depth + 1)} | map('string') | {r.choice(['first', 'last'])} | default('q'))"])()

    def number(self, depth):
        r, of = self.r, lambda: self.number(depth + 1)
        if depth > 2 or r.random() < 0.3:
            return r.choice(["n", "m", "zero", "f", "g", *NUMBERS])
        return r.choice([
            lambda: f"({of()} {r.choice('+-*')} {of()})", lambda: f"({of()} {r.choice(['/', '//', '%'])} {r.choice(['2', '3', '-7', '2.5'])})",
            lambda: f"({of()} ** {r.choice(['0', '1', '2', '3'])})", lambda: f"(-{of()})",
            lambda: f"({of()} | {r.choice(['abs', 'int', 'float', 'round', 'round(1)'])})",
            lambda: f"({self.string(depth + 1)} | {r.choice(['length', 'wordcount', 'int', 'int(-1)', 'float', 'count'])})",
            lambda: f"({self.list(depth + 1)} | length)", lambda: "(numbers | sum)", lambda: f"({self.string(9)}).find({r.choice(TEXTS)})",
            lambda: f"({self.string(9)}).count('a')", lambda: f"(numbers | {r.choice(['min', 'max', 'first', 'last'])})",
            lambda: f"({self.truth(depth + 1)} | int)"])()

    def list(self, depth):
        r = self.r
        if depth > 2 or r.random() < 0.3:
            return r.choice(["numbers", "words", "mixed", "people", "messages", "[]", "[1, 'a', none]", "(1, 2)"])
        return r.choice([
            lambda: "[" + ", ".join(self.expression(depth + 1) for _ in range(r.randrange(4))) + "]",
            lambda: f"({self.string(depth + 1)}).{r.choice(['split()', 'splitlines()', 'rsplit(none, 1)'])}",
            lambda: f"({self.list(depth + 1)})[{self.bound()}:{self.bound()}:{r.choice(['', '2', '-1'])}]",
            lambda: f"({self.string(depth + 1)} | list)", lambda: f"range({r.choice(['3', '1, 6', '5, 0, -2'])})",
            lambda: f"(numbers | {r.choice(NUMBER_LISTS)} | list)", lambda: f"(words | {r.choice(WORD_LISTS)} | list)",
            lambda: f"(people | {r.choice(PEOPLE_LISTS)} | list)", lambda: f"({self.list(depth + 1)} + {self.list(9)})",
            lambda: f"({self.list(depth + 1)} | {r.choice(ANY_LISTS)} | list)", lambda: "(d | dictsort)",
            lambda: f"({self.mapping(depth + 1)}).{r.choice(['items()', 'keys()', 'values()'])} | list"])()

    def mapping(self, depth):
        r = self.r
        if depth > 2 or r.random() < 0.5:
            return r.choice(["d", "d.nested", "people[0]", "{}", "{'a': 1, 'b': none}", "tools[0].function"])
        return r.choice([
            lambda: "{" + ", ".join(f"{r.choice(TEXTS)}: {self.expression(depth + 1)}" for _ in range(r.randrange(3))) + "}",
            lambda: f"dict(a={self.expression(depth + 1)})", lambda: "(people | first)", lambda: "(messages | last)"])()

    def truth(self, depth):
        r, of = self.r, lambda: self.expression(depth + 1)
        if depth > 2 or r.random() < 0.2:
            return r.choice(["yes", "no", "true", "false", "nothing", "absent is defined"])
        return r.choice([
            lambda: f"({of()} is {r.choice(['', 'not '])}{r.choice(TESTS_OF_ALL)})", lambda: f"({of()} {r.choice(['==', '!='])} {of()})",
            lambda: f"({self.number(depth + 1)} {r.choice(['<', '<=', '>', '>='])} {self.number(depth + 1)})",
            lambda: f"({self.number(9)} is {r.choice(['odd', 'even', 'divisibleby(3)', 'gt(2)', 'lt(1)'])})",
            lambda: f"(not {self.truth(depth + 1)})", lambda: f"({self.truth(depth + 1)} {r.choice(['and', 'or'])} {of()})",
            lambda: f"({of()} {r.choice(['in', 'not in'])} {self.list(depth + 1)})",
            lambda: f"({r.choice(TEXTS)} in {self.string(depth + 1)})", lambda: f"({r.choice(TEXTS)} in {self.mapping(depth + 1)})",
            lambda: f"({self.string(9)}).{r.choice(['startswith', 'endswith'])}({r.choice(TEXTS)})",
            lambda: f"({self.string(9)}).{r.choice(['isdigit()', 'isalpha()', 'isupper()', 'islower()', 'isspace()', 'isalnum()'])}"])()

    def wild(self, depth=0):
        r, inner = self.r, lambda: self.wild(depth + 1)
        if depth > 2 or r.random() < 0.2:
            return self.atom()
        kind = r.randrange(15)
        if kind < 2:
            return f"({inner()} {r.choice(BINARY)} {inner()})"
        if kind < 5:
            return f"{self.closed(depth)} | {r.choice(FILTERS)}"
        if kind == 5:
            return f"({self.closed(depth)} is {r.choice(['', 'not '])}{r.choice(TESTS)})"
        if kind == 6:
            return f"({inner()} if {inner()}" + (f" else {inner()})" if r.random() < 0.8 else ")")
        if kind == 7:
            return f"{r.choice(NAMES)}.{r.choice(METHODS)}"
        if kind == 8:
            return f"{self.closed(depth)}[{r.choice(KEYS)}]"
        if kind == 9:
            return f"{r.choice(NAMES)}.{r.choice(ATTRIBUTES)}"
        if kind == 10:
            return f"{r.choice(NAMES)}[{self.bound()}:{self.bound()}:{r.choice(['', '2', '-1'])}]"
        if kind == 11:
            return "[" + ", ".join(inner() for _ in range(r.randrange(4))) + "]"
        if kind == 12:
            return "{" + ", ".join(f"'k{i}': {inner()}" for i in range(r.randrange(3))) + "}"
        if kind == 13:
            return r.choice(["range(3)", "range(1, 6, 2)", "dict(a=1)", "namespace(a=1).a", "strftime_now('%Y-%m-%d')",
                             "not x", "-n", "(1, 2)", "1 < n <= 7", "m + n * 2", "'%s-%d' % (name, n)", "loop.index"])
        return f"({r.choice(['not ', '-', '+'])}{self.atom()})"

    def closed(self, depth):
        of = self.wild(depth + 1)
        return of if of.isidentifier() or of[0] in "([{'\"" else f"({of})"

    def bound(self):
        return self.r.choice(["", "", "1", "-1", "2", "0"])

    def tag(self, inside):
        r = self.r
        left, right = r.choice(["{%", "{%", "{%-", "{%+"]), r.choice(["%}", "%}", "-%}"])
        return f"{left} {inside} {right}"

    def text(self):
        return self.r.choice(["", " ", "\n", "a", "  b\n", "\n\n  ", "x\n", "{ ", "# ", " \t"])

    def body(self, depth):
        return "".join(self.part(depth) for _ in range(self.r.randint(1, 3)))

    def part(self, depth):
        r, t = self.r, self.tag
        inner = lambda: self.body(depth + 1)  # noqa: E731
        kind = r.randrange(14 if depth < 3 else 5)
        if kind < 4:
            left, right = r.choice([("{{", "}}"), ("{{", "}}"), ("{{-", "}}"), ("{{", "-}}")])
            return f"{left} {self.expression()} {right}" + self.text()
        if kind == 4:
            return self.text() + r.choice(["{# c #}", "{#- c -#}", "{% raw %}{{ x }}{% endraw %}", ""])
        if kind < 7:
            out = t("if " + self.expression()) + inner()
            if r.random() < 0.3:
                out += t("elif " + self.expression()) + inner()
            return out + (t("else") + inner() if r.random() < 0.5 else "") + t("endif")
        if kind < 10:
            of = r.choice(["numbers", "words", "people", "messages", "d", "d.items()", "range(3)", "name", "mixed",
                           self.expression(1)])
            target = "x, i" if of == "d.items()" or r.random() < 0.05 else r.choice(["x", "i"])
            out = t(f"for {target} in {of}" + (f" if {self.expression(1)}" if r.random() < 0.2 else ""))
            out += inner() + r.choice(["", "{{ loop.index }}", "{{ loop.last }}", "{{ loop.previtem }}", "{{ loop.revindex0 }}",
                                       "{{ loop.changed(x) }}", "{{ loop.cycle('a', 'b') }}"])
            if r.random() < 0.2:
                out += t("if loop.index > 1") + t(r.choice(["break", "continue"])) + t("endif")
            return out + (t("else") + inner() if r.random() < 0.2 else "") + t("endfor")
        if kind == 10:
            name = r.choice(["x", "i", "y"])
            if r.random() < 0.3:
                return t(f"set {name}" + r.choice(["", " | upper", " | trim"])) + inner() + t("endset")
            if r.random() < 0.3:
                return t("set ns = namespace(a=0)") + t(f"set ns.a = {self.expression()}") + "{{ ns.a }}"
            return t(f"set {name} = {self.expression()}")
        if kind == 11:
            out = t(r.choice(["macro mac(a, b=2)", "macro mac(a='q')", "macro mac()"])) + inner()
            out += r.choice(["{{ a }}{{ b }}", "{{ varargs }}", "{{ caller() if caller }}", ""]) + t("endmacro")
            call = r.choice(["mac()", f"mac({self.expression(1)})", "mac(1, b=3)", "mac(b=1)"])
            if r.random() < 0.2:
                return out + t("call " + call) + inner() + t("endcall")
            return out + "{{ " + call + " }}"
        if kind == 12:
            return t("filter " + r.choice(["upper", "trim", "indent(2)", "replace('a', 'b')", "title"])) + inner() + t(
                "endfilter")
        return t(f"with x = {self.expression(1)}") + inner() + t("endwith")


def of_jinja(env, text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            out = env.from_string(text).render(**json.loads(json.dumps(VARIABLES)))
            out.encode()
            return out
        except Exception:  # any exception counts as an error
            return None


def of_ours(rt, text):
    try:
        chat = ggufx.ChatTemplate(rt, text=text)
        variables = {name: value for name, value in VARIABLES.items() if name != "messages"}
        request = ggufx.ChatRequest(messages_json=VARIABLES["messages"], variables=variables, flags=ggufx.ChatFlags.CLOCK,
                                    unix_time=CLOCK)
        return chat.render(request)
    except ggufx.Error:
        return None


# Differences documented in src/chat/README.md, which are not compared.
def is_told(text, theirs, ours):
    if theirs is not None:  # addresses; generators, which are iterated once or never; limits
        return any(part in theirs for part in (" at 0x", "<function", "ITERATOR", "iterator", "LoopContext")) or \
            re.search(r"\| items|\bloop \||\bin loop\b", text) is not None or len(theirs) > 1_000_000
    return re.search(r"\bis (not )?\w+ (not|if|in|recursive)\b", text) is not None or re.search(r"is (test|filter)\b", text)


class Differential(unittest.TestCase):
    def test_templates_of_seeds(self):
        env, rt = MADE.environment(), ggufx.Runtime(threads=1)
        n_texts = n_errors = 0
        for seed in range(FIRST, FIRST + COUNT):
            text = Maker(seed).body(0)
            theirs, ours = of_jinja(env, text), of_ours(rt, text)
            if theirs != ours and is_told(text, theirs, ours):
                continue
            self.assertEqual(theirs, ours, (seed, text))
            n_texts += theirs is not None
            n_errors += theirs is None
        print(f"{n_texts} texts, {n_errors} errors")
        self.assertGreater(n_texts, COUNT // 3)


COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 1500
FIRST = int(sys.argv[3]) if len(sys.argv) > 3 else 0

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
