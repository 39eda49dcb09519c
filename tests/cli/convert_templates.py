# convert: chat templates at all locations in folders, and back.
# SPDX-License-Identifier: MIT
import os

import tool
from convert_case import Convert
from tool import MODEL

KEY = "tokenizer.chat_template"


class Templates(Convert):
    def setUp(self):
        super().setUp()
        self.source = self.exported(MODEL)
        self.change_json(self.source, "tokenizer_config.json", lambda c: c.pop("chat_template"))

    def templates(self, *warnings):
        """Returns {name: text} of the GGUF, "" for the default one."""
        path, keys, told = self.converted(self.source)
        self.assertEqual(len(told), len(warnings), told)
        for text, words in zip(told, warnings):
            for word in words:
                self.assertIn(word, text)
        self.last = path
        named = {k[len(KEY) + 1:]: v for k, v in keys.items() if k.startswith(KEY + ".")}
        names = keys.get("tokenizer.chat_templates", {"values": []})["values"]
        self.assertEqual(sorted(names), sorted(named))
        return {**({"": keys[KEY]} if KEY in keys else {}), **named}

    def set_config(self, value):
        self.change_json(self.source, "tokenizer_config.json", chat_template=value)

    def test_none(self):
        self.assertEqual(self.templates(), {})
        self.set_config(None)
        self.assertEqual(self.templates(), {})

    def test_a_template_file_wins_over_the_config(self):
        text = "{% for m in messages %}\n\u2581{{ m.content }}{% endfor %}\r\n"
        self.write_text(self.source, "chat_template.jinja", text)
        self.assertEqual(self.templates(), {"": text})
        self.set_config("config")
        self.assertEqual(self.templates(), {"": text})

    def test_a_template_file_keeps_the_named_ones_of_the_config(self):
        self.write_text(self.source, "chat_template.jinja", "file")
        self.set_config([{"name": "default", "template": "A"}, {"name": "rag", "template": "R"}])
        self.assertEqual(self.templates(), {"": "file", "rag": "R"})

    def test_a_list_of_named_templates(self):
        self.set_config([{"name": "tool_use", "template": "T"}, {"name": "default", "template": "D"},
                         {"name": "rag", "template": "R"}])
        self.assertEqual(self.templates(), {"": "D", "tool_use": "T", "rag": "R"})
        self.assertEqual(self.keys(self.last)["tokenizer.chat_templates"][1]["values"], ["tool_use", "rag"])
        self.set_config({"default": "D", "tool_use": "T"})
        self.assertEqual(self.templates(), {"": "D", "tool_use": "T"})
        self.set_config([{"name": "tool_use", "template": "T"}])
        self.assertEqual(self.templates(), {"tool_use": "T"})

    def test_the_folder_of_named_templates(self):
        self.write_text(self.source, "additional_chat_templates/tool_use.jinja", "T")
        self.write_text(self.source, "additional_chat_templates/notes.txt", "no template")
        self.set_config([{"name": "default", "template": "D"}, {"name": "tool_use", "template": "old"}])
        self.assertEqual(self.templates(), {"": "D", "tool_use": "T"})
        self.write_text(self.source, "chat_template.jinja", "A")
        self.write_text(self.source, "additional_chat_templates/rag.jinja", "R")
        self.assertEqual(self.templates(), {"": "A", "tool_use": "T", "rag": "R"})

    def test_the_template_of_a_processor(self):
        self.change_json(self.source, "chat_template.json", chat_template="P")
        self.assertEqual(self.templates(), {"": "P"})
        self.set_config("P")
        self.assertEqual(self.templates(), {"": "P"})
        self.set_config("C")
        self.assertEqual(self.templates(("chat_template.json", "tokenizer_config.json")), {"": "C"})
        self.write_text(self.source, "chat_template.jinja", "J")
        self.assertEqual(self.templates(("chat_template.json", "ignored")), {"": "J"})

    def test_names_that_keys_do_not_take(self):
        self.set_config([{"name": "default", "template": "D"}, {"name": "tool-use", "template": "T"}])
        self.assertEqual(self.templates(("tool-use", "tool_use")), {"": "D", "tool_use": "T"})
        self.write_text(self.source, "additional_chat_templates/tool_use.jinja", "U")
        message = self.fails(3, "convert", self.source, "-o", self.path("x.gguf"))
        self.assertIn('"tool-use"', message)
        self.assertIn('"tool_use"', message)

    def test_values_that_are_no_templates(self):
        self.set_config([{"name": "default", "template": "D"}, {"name": "", "template": "x"}, {"name": "n"}, 3])
        self.assertEqual(self.templates(("entry 1",), ("entry 2",), ("entry 3",)), {"": "D"})
        self.set_config(7)
        self.assertEqual(self.templates(("not a text",)), {})
        self.write_text(self.source, "chat_template.jinja", b"ab\xff")
        message = self.fails(3, "convert", self.source, "-o", self.path("x.gguf"))
        self.assertIn("chat_template.jinja", message)
        self.assertIn("byte 2", message)

    def test_all_templates_survive_a_round_trip(self):
        self.set_config([{"name": "tool_use", "template": "T"}, {"name": "default", "template": "D"},
                         {"name": "rag", "template": "R"}])
        self.templates()
        back = self.exported(self.last, "back")
        stored = tool.read_json(os.path.join(back, "tokenizer_config.json"))["chat_template"]
        self.assertEqual({t["name"]: t["template"] for t in stored}, {"default": "D", "tool_use": "T", "rag": "R"})
        _, keys, warnings = self.converted(back)
        self.assertEqual(warnings, [])
        self.assertEqual(keys, {k: v[1] for k, v in self.keys(self.last).items()})
        # A file of another program may lack the list of names.
        bare = self.path("bare.gguf")
        self.ok("unset", self.last, "tokenizer.chat_templates", "-o", bare)
        stored = tool.read_json(os.path.join(self.exported(bare, "bare"), "tokenizer_config.json"))["chat_template"]
        self.assertEqual({t["name"]: t["template"] for t in stored}, {"default": "D", "tool_use": "T", "rag": "R"})


if __name__ == "__main__":
    tool.main()
