# Shared by the tests of schemas: the Python binding with the library of the build, a vocabulary, texts that match.
# SPDX-License-Identifier: MIT
import json
import os
import sys
import unittest


DEBIANS = "/usr/bin/python3"  # the interpreter with Debian's packages


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def load():
    """Returns the binding, or exits with the name of a missing part. argv: library, model."""
    library, model = sys.argv[1:3]
    del sys.argv[1:3]
    os.environ["GGUFX_LIBRARY"] = library
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, os.path.join(here, "..", "..", "bindings", "python"))
    try:
        import numpy  # noqa: F401
    except ImportError:
        if sys.executable != DEBIANS and os.access(DEBIANS, os.X_OK):
            os.execv(DEBIANS, [DEBIANS, sys.argv[0], library, model, *sys.argv[1:]])
        skip("no NumPy, which the binding needs (python3-numpy)")
    import ggufx
    return ggufx, model


ggufx, MODEL = load()


def validator():
    """Returns jsonschema's class for the draft, None if it is not installed."""
    try:
        import jsonschema
    except ImportError:
        return None
    return getattr(jsonschema, "Draft202012Validator", None)


class Case(unittest.TestCase):
    FIRST_BYTE = 3  # id of the demo model's token of the byte 0; the others follow

    @classmethod
    def setUpClass(cls):
        cls.rt = ggufx.Runtime(threads=1)
        cls.tokenizer = ggufx.Tokenizer(ggufx.File.open(cls.rt, MODEL))

    def grammar(self, schema, **options):
        text = schema if isinstance(schema, (str, bytes)) else text_of(schema)
        return ggufx.Grammar(self.rt, self.tokenizer, kind=ggufx.GrammarKind.JSON_SCHEMA, text=text, **options)

    def fits(self, grammar, text):
        """Returns whether a whole text matches, byte by byte."""
        matcher = ggufx.Matcher(grammar)
        try:
            matcher.accept([self.FIRST_BYTE + byte for byte in text.encode()])
        except ValueError:
            return False
        return bool(matcher.info.flags & ggufx.MatcherFlags.COMPLETE)


def text_of(value, **options):
    return json.dumps(value, ensure_ascii=False, **options)
