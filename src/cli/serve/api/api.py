"""Writes what is made from the table of request fields (api_fields.py) and of answers (api_answers.py).

usage: api.py HEADER OPENAPI DICTIONARY     the build: constants of the readers, openapi.json, words for fuzzing
       api.py [--write]                     compares the tables in docs/server.md, or writes them
SPDX-License-Identifier: MIT
"""
import json
import pathlib
import sys

import api_answers
from api_fields import BODIES, GROUPS, ROWS
from api_answers import ref

DOCS = pathlib.Path(__file__).resolve().parents[4] / "docs" / "server.md"


# ---- openapi.json ----

def described(row):
    schema = row.type.schema()
    if schema and not row.required and schema != {"type": "null"}:
        schema = api_answers.maybe(schema)
    schema = {**schema, "description": ("extension: " if row.extension else "") + row.doc}
    return schema if row.default is None else {**schema, "default": row.default}


def variant(group, tags):
    """The objects with one of these tags, which have the same fields."""
    rows = group.rows_of(tags[0])
    properties = {row.name: described(row) for row in rows}
    if group.tag:
        is_tagged = group.row(group.tag).default not in tags
        tag = api_answers.one_of(*tags)
        properties[group.tag] = {**(tag if is_tagged else api_answers.maybe(tag)), "description": group.row(group.tag).doc}
    return {"type": "object", "properties": properties,
            "required": [row.name for row in rows if row.required or group.tag == row.name and is_tagged], "additionalProperties": False}


def group_schema(group):
    tags_of = {}  # by the fields that they have
    for tag in group.tags():
        tags_of.setdefault(tuple(map(id, group.rows_of(tag))), []).append(tag)
    out = [variant(group, tags) for tags in tags_of.values()]
    if group.skipped:
        pattern = "^(%s)%s$" % ("|".join(group.skipped), "(_20.*)?" if group.dated else "")
        out.append({"type": "object", "properties": {group.tag: {"type": "string", "pattern": pattern}}, "required": [group.tag],
                    "description": group.note})
    return out[0] if len(out) == 1 else {"anyOf": out}


def content(schema, kind="application/json"):
    return {kind: {"schema": schema}}


def operation(name, summary, answers, errors, path):
    out = {"operationId": name, "summary": summary,
           "responses": {"200": {"description": "the answer", "content": answers},
                         **{str(code): {"$ref": "#/components/responses/E%d" % code} for code in sorted(errors)}}}
    if "{id}" in path:
        of_slot = path.startswith("/slots")
        out["parameters"] = [{"name": "id", "in": "path", "required": True, "schema": api_answers.COUNT if of_slot else api_answers.TEXT}]
    return out


def with_body(method, path, name, summary, body, answer, event=None):
    answers = content(answer)
    if event:
        answers |= content(event, "text/event-stream")
    out = operation(name, summary, answers, api_answers.ERRORS, path)
    return {method: {**out, "requestBody": {"required": True, "content": content(ref(GROUPS[body].component))}}}


def get(path, name, summary, answer, errors, kind):
    out = operation(name, summary, content(answer, kind), errors, path)
    return {"get": out if 401 in errors else {**out, "security": []}}


def openapi():
    errors = {"E%d" % code: {"description": text, "content": content(ref("Error"))} for code, text in api_answers.ERRORS.items()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "ggufx serve", "version": "0.1", "summary": "The OpenAI API, served by a model in a GGUF file",
                 "license": {"name": "MIT", "identifier": "MIT"},
                 "description": "Unknown fields are refused (400), unless the server runs with --lenient; null is the same as absent. "
                                "Streams end with data: [DONE], those of /v1/responses with their last event."},
        "servers": [{"url": "http://127.0.0.1:8080"}],
        "security": [{"key": []}],
        "paths": {**{path: with_body("post", path, *rest) for path, rest in api_answers.POSTS.items()},
                  **{path: with_body("delete", path, *rest) for path, rest in api_answers.DELETES.items()},
                  **{path: get(path, *rest) for path, rest in api_answers.GETS.items()}},
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}, "responses": errors,
                       "schemas": {**{group.component: group_schema(group) for group in GROUPS.values()}, **api_answers.SCHEMAS}}}


# ---- constants of the readers ----

class Header:
    """Each object is written once, after those that it points to."""

    def __init__(self):
        self.lines, self.names = [], {}

    def constant(self, what, kind, value, is_array=False):
        key = (what, kind, value)
        if key not in self.names:
            self.names[key] = f"{what}_{len(self.names)}"
            self.lines.append(f"inline constexpr {kind} {self.names[key]}{'[]' if is_array else ''} = {value};")
        return self.names[key]

    def array(self, what, kind, values):
        return self.constant(what, kind, "{" + ", ".join(values) + "}", True) if values else "{}"

    def words(self, words):
        return self.array("words", "std::string_view", [literal(word) for word in words])

    def type(self, of):
        parts = self.array("parts", "const Type *", ["&" + self.type(part) for part in of.parts])
        low, high = of.low or 0, 2**63 - 1 if of.high is None else of.high
        is_number = of.kind == "number"
        numbers = f"{low}, {high}, 0, 0" if not is_number else f"0, 0, {float(low)}, {float(high)}" if of.high is not None else "0, 0, -kAny, kAny"
        group = "&" + self.group(of.group) if of.group else "nullptr"
        return self.constant("type", "Type", f"{{Type::Kind::{of.kind}, {literal(of.phrase)}, {numbers}, {self.words(of.words)}, {parts}, {group}}}")

    def row(self, row, tags):
        word = row.default if isinstance(row.default, str) else ""
        number = float(row.default or 0) if not word else 0.0
        when = sum(1 << tags.index(tag) for tag in row.when)
        truths = [str(bool(t)).lower() for t in (row.required, row.has_no_effect, row.default is not None)]
        return f"{{{literal(row.name)}, &{self.type(row.type)}, {', '.join(truths)}, {number}, {literal(word)}, {when}u}}"

    def group(self, name):
        group = GROUPS[name]
        rows = self.array("rows", "Row", [self.row(row, group.tags()) for row in group.rows])
        return self.constant("group", "Group", f"{{{literal(name)}, {rows}, {literal(group.tag or '')}, {self.words(group.skipped)}, "
                                               f"{str(group.dated).lower()}}}")

    def text(self):
        names = {name: self.group(name) for name in GROUPS}
        lines = "\n".join(self.lines)
        ends = "\n".join(f"inline constexpr const Group &{name} = fields_table::{of};" for name, of in names.items())
        every = ", ".join("&group::" + name for name in names)
        return ('// Written by api.py from api_fields.py.\n#pragma once\n\n#include "serve/field_type.hpp"\n\n'
                f"namespace ggufx::cli {{\n\nnamespace fields_table {{\n{lines}\n}} // namespace fields_table\n\n"
                f"namespace group {{\n{ends}\n}} // namespace group\n\n"
                f"inline constexpr const Group *kGroups[] = {{{every}}};\n\n}} // namespace ggufx::cli\n")


def literal(text):
    return json.dumps(text)  # ASCII: equal to a literal of C++


# ---- words for fuzzing ----

NUMBERS = ("null", "true", "false", "1e400", "-1", "0.5", "18446744073709551616", "\\\\ud800", "[[", "]]", "{}")


def words_of(type):
    own = [json.dumps(word) for word in type.words] if type.kind == "words" else list(type.words) if type.kind == "only" else []
    return own + [word for part in type.parts for word in words_of(part)]


def dictionary():
    names = [json.dumps(row.name) + ":" for _, row in ROWS]
    values = [word for _, row in ROWS for word in words_of(row.type)]
    quoted = [json.dumps(word) for word in dict.fromkeys(names + values)]
    return "# Words of requests.\n" + "\n".join(quoted + [f'"{number}"' for number in NUMBERS]) + "\n"


# ---- the tables of docs/server.md ----

def nested_groups(type):
    """(suffix, name) of the groups in a type."""
    if type.group:
        yield "", type.group
    for part in type.parts:
        for suffix, name in nested_groups(part):
            yield ("[]" if type.kind == "list" else "") + suffix, name


def paths():
    """The path of each nested group, as in messages[].content[]."""
    out = {}

    def visit(group, prefix):
        for row in GROUPS[group].rows:
            for suffix, name in nested_groups(row.type):
                path = prefix + row.name + suffix
                if path not in out.setdefault(name, []):
                    out[name].append(path)
                    visit(name, path + ".")
    for body in BODIES:
        visit(body, "")
    return out


def table():
    places = {body: [body.replace("_", "-")] for body in BODIES}
    nested = paths()
    lines = {}  # names by the rest of the line
    for groups, row in ROWS:
        where = [place for name in groups for place in places.get(name) or ["`%s`" % path for path in nested[name]]]
        value = row.type.phrase + ("" if row.default is None else ", default " + json.dumps(row.default)) + (", required" if row.required else "")
        rest = "%s | %s | %s" % (", ".join(dict.fromkeys(where)), value, row.doc)
        lines.setdefault(rest, []).append("`%s`%s" % (row.name, "\\*" if row.extension else ""))
    head = "| field | in | value | meaning |\n|---|---|---|---|\n"
    return head + "".join("| %s | %s |\n" % (", ".join(names), rest) for rest, names in lines.items())


def endpoints():
    """Rows of methods and paths with their purpose."""
    parts = (("POST", api_answers.POSTS), ("DELETE", api_answers.DELETES), ("GET", api_answers.GETS))
    rows = [(method, path, row[1], row[3] if method == "GET" else api_answers.ERRORS) for method, rows in parts for path, row in rows.items()]
    return "| path | purpose |\n|---|---|\n" + "".join(
        "| %s %s | %s |\n" % (method, path, purpose if 401 in errors else purpose + " (no key)") for method, path, purpose, errors in rows)


BEGIN, END = "<!-- Written by src/cli/serve/api/api.py --write -->\n", "<!-- end -->\n"


def page():
    """docs/server.md as it is, and with the tables of endpoints and of fields."""
    text = DOCS.read_text(encoding="utf-8")
    first, *rest = text.split(BEGIN)
    return text, first + "".join(BEGIN + "\n" + made() + "\n" + END + part.split(END)[1]
                                 for made, part in zip((endpoints, table), rest, strict=True))


def main():
    if len(sys.argv) == 4:
        made = (Header().text(), json.dumps(openapi(), separators=(",", ":"), ensure_ascii=False) + "\n", dictionary())
        for path, text in zip(sys.argv[1:], made):
            pathlib.Path(path).write_text(text, encoding="utf-8")
        return
    now, want = page()
    if now != want and "--write" in sys.argv:
        DOCS.write_text(want, encoding="utf-8")
    elif now != want:
        sys.exit("docs/server.md differs from the tables: run src/cli/serve/api/api.py --write")


if __name__ == "__main__":
    main()
