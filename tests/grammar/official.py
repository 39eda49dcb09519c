# The official tests of JSON Schema (draft 2020-12) as Debian packages them for Perl. Each schema is supported or
# refused with a reason, and each document gets the expected verdict. GGUFX_JSON_SCHEMA_TESTS names another folder of
# them.
# SPDX-License-Identifier: MIT
import glob
import json
import os
import unittest

from grammar_case import Case, ggufx, skip

FOLDER = os.environ.get("GGUFX_JSON_SCHEMA_TESTS",
                        "/usr/share/perl5/auto/share/dist/Test-JSON-Schema-Acceptance/tests/draft2020-12")
# Reasons of refusals: see include/ggufx/grammar.h.
REASONS = ["leads out of the schema", "'$schema' names an unknown dialect", "'uniqueItems' is supported", "'minProperties' is supported",
           "'not' of 'unevaluated", "'multipleOf' is supported"]


class Official(Case):
    def test_documents_get_the_verdict_of_the_tests(self):
        flags = ggufx.GrammarFlags.ANY_ORDER | ggufx.GrammarFlags.ANY_NUMBER | ggufx.GrammarFlags.NO_FORMATS
        n = {"schemas": 0, "refused": 0, "valid": 0, "invalid": 0}
        for path in sorted(glob.glob(os.path.join(FOLDER, "*.json"))):
            with open(path, encoding="utf-8") as file:
                groups = json.load(file)
            for group in groups:
                grammar = None
                n["schemas"] += 1
                try:
                    grammar = self.grammar(json.dumps(group["schema"], ensure_ascii=False), flags=flags)
                except ggufx.Error as error:
                    if error.code != ggufx.Status.VALUE:  # no text matches
                        self.assertTrue(any(why in str(error) for why in REASONS), (path, group["description"], str(error)))
                        n["refused"] += 1
                        continue
                for test in group["tests"]:
                    text = json.dumps(test["data"], ensure_ascii=False)
                    n["valid" if test["valid"] else "invalid"] += 1
                    self.assertEqual(grammar is not None and self.fits(grammar, text), test["valid"],
                                     (path, group["description"], test["description"]))
        print(n)
        self.assertGreater(n["schemas"], 250)
        self.assertLess(n["refused"], n["schemas"] // 10)


if __name__ == "__main__":
    if not os.path.isdir(FOLDER):
        skip("no official tests (libtest-json-schema-acceptance-perl)")
    unittest.main()
