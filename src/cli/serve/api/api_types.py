"""Types of request fields: in words, as JSON Schema, and as values for tests.

SPDX-License-Identifier: MIT
"""
import json
import string

I32, U32, I64 = 2**31 - 1, 2**32 - 1, 2**63 - 1


def listed(words, last="and"):
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def amount(low, high, of):
    if high is None:
        return f" of {low} or more {of}" if low else ""
    return f" of {low} to {high} {of}" if low else f" of at most {high} {of}"


class Type:
    """`kind` is the name in field_type.hpp; `phrase` completes "the value is not ...". Subclasses replace the defaults."""
    kind, phrase = "any", "anything"
    low, high = 0, None  # of a number; bytes of a text; entries of a list or a map
    words = ()           # values of an enumeration, as JSON; names that an object may not have
    parts = ()           # alternatives; type of the entries
    group = None         # name of the group of fields

    def schema(self):
        return {}

    def examples(self):
        return [{"any": [1]}]

    def sample(self, random):
        return random.choice(self.examples())


anything = Type()


class Flag(Type):
    kind, phrase = "flag", "true or false"

    def schema(self):
        return {"type": "boolean"}

    def examples(self):
        return [True, False]


flag = Flag()


class number(Type):
    kind = "number"

    def __init__(self, low=None, high=None):
        self.low, self.high = low, high
        self.phrase = "a number" if high is None else f"a number from {low} to {high}"

    def schema(self):
        return {"type": "number"} if self.high is None else {"type": "number", "minimum": self.low, "maximum": self.high}

    def examples(self):
        return [1.5] if self.high is None else [self.low, self.low + (min(self.high, 2) - self.low) / 4]

    def sample(self, random):
        return 2.5 if self.high is None else random.choice([self.low, self.high, random.uniform(self.low, self.high)])


class whole(Type):
    kind = "whole"  # -1, where it is allowed, equals an absent field

    def __init__(self, low, high):
        self.low, self.high = low, high
        self.phrase = f"a whole number from {low} to {high}"

    def schema(self):
        return {"type": "integer", "minimum": self.low, "maximum": self.high}

    def examples(self):
        return [max(self.low, 1), min(self.high, self.low + 3)]

    def sample(self, random):
        return random.choice([self.low, self.high, random.randint(self.low, self.high)])


class text(Type):
    """`letters`: the allowed characters; a name does not begin with a full stop."""
    kind = "text"

    def __init__(self, low=0, high=None, letters=""):
        self.low, self.high, self.letters = low, high, letters
        self.phrase = "a string" + amount(low, high, "bytes")
        if letters:
            self.words = (letters,)
            self.phrase = f"a name of {low} to {high} letters, digits, '.', '_' and '-'"

    def schema(self):
        out = {"type": "string"}
        if self.letters:
            return {**out, "pattern": "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,%d}$" % (self.high - 1)}
        if self.low:
            out["minLength"] = self.low
        if self.high:
            out["maxLength"] = self.high
        return out

    def examples(self):
        return ["a" * max(self.low, 1)]

    def sample(self, random):
        letters = self.letters.replace(".", "") or string.ascii_letters + " \"\\\n\u00e4\u4e16"
        n = random.randint(max(self.low, 1), min(self.high or 40, 40))
        return "".join(random.choice(letters) for _ in range(n)).encode()[:self.high].decode(errors="ignore")


class words(Type):
    kind = "words"

    def __init__(self, *values):
        self.words = values
        self.phrase = "one of " + listed(values) if len(values) > 1 else f'"{values[0]}"'

    def schema(self):
        return {"enum": list(self.words)} if len(self.words) > 1 else {"const": self.words[0]}

    def examples(self):
        return list(self.words)


class only(Type):
    """The only values that the server accepts; they have no effect. None: the field must be absent or null."""
    kind = "only"

    def __init__(self, *values):
        self.values = values
        self.words = tuple(json.dumps(value) for value in values)
        self.phrase = f"{listed(self.words, 'or')} (no other value is supported)" if values else "null (the field is not supported)"

    def schema(self):
        if not self.values:
            return {"type": "null"}
        return {"enum": list(self.values)} if len(self.values) > 1 else {"const": self.values[0]}

    def examples(self):
        return list(self.values) or [None]


class each(Type):
    """A list."""
    kind = "list"

    def __init__(self, of, low=0, high=None):
        self.parts, self.low, self.high = (of,), low, high
        self.phrase = "a list" + amount(low, high, "entries")

    def schema(self):
        out = {"type": "array", "items": self.parts[0].schema()}
        if self.low:
            out["minItems"] = self.low
        if self.high:
            out["maxItems"] = self.high
        return out

    def examples(self):
        return [[value] for value in self.parts[0].examples()]

    def sample(self, random):
        return [self.parts[0].sample(random) for _ in range(random.randint(max(self.low, 1), 3))]


class by_token(Type):
    """An object whose names are token ids."""
    kind = "map"

    def __init__(self, of, high):
        self.parts, self.high = (of,), high
        self.phrase = f"an object with at most {high} token ids"

    def schema(self):
        return {"type": "object", "maxProperties": self.high, "propertyNames": {"pattern": "^[0-9]+$"},
                "additionalProperties": self.parts[0].schema()}

    def examples(self):
        return [{"5": value, "17": value} for value in self.parts[0].examples()]

    def sample(self, random):
        return {str(random.randrange(300)): self.parts[0].sample(random) for _ in range(3)}


class open_object(Type):
    """An object with any members, except the given ones."""
    kind = "object"

    def __init__(self, *without):
        self.words = without
        self.phrase = "an object" + (" without " + listed(without) if without else "")

    def schema(self):
        out = {"type": "object"}
        if self.words:
            out["not"] = {"anyOf": [{"required": [name]} for name in self.words]}
        return out

    def examples(self):
        return [{"a": "b"}]


class group(Type):
    """An object with the fields of a group."""
    kind, phrase = "group", "an object"
    tables = {}  # filled by api_fields.py

    def __init__(self, name):
        self.group = name

    def schema(self):
        return {"$ref": "#/components/schemas/" + self.tables[self.group].component}

    def examples(self):
        return self.tables[self.group].examples()

    def sample(self, random):
        return self.tables[self.group].sample(random)


class either(Type):
    kind = "either"

    def __init__(self, *parts, phrase=None):
        self.parts = parts
        self.phrase = phrase or listed([part.phrase for part in parts], "or")

    def schema(self):
        return {"anyOf": [part.schema() for part in self.parts]}

    def examples(self):
        return [value for part in self.parts for value in part.examples()]

    def sample(self, random):
        return random.choice(self.parts).sample(random)
