"""The form of Rust's generated text: as rustfmt writes it with rust/rustfmt.toml, so that no formatter is needed to
compare it; and documentation comments from those of C.

SPDX-License-Identifier: MIT
"""
import re
import textwrap

WIDTH = 100


# ---- form ------------------------------------------------------------------------------------------------------

def group(head, items, tail, brackets="()"):
    """head(items)tail in one line, or with a line for each item."""
    space = " " if brackets == "{}" and items else ""
    line = head + brackets[0] + space + ", ".join(items) + space + brackets[1] + tail
    if len(line) <= WIDTH or not items:
        return line
    indent = re.match(r" *", head)[0]
    inner = "".join(textwrap.indent(item, indent + "    ") + ",\n" for item in items)
    return f"{head}{brackets[0]}\n{inner}{indent}{brackets[1]}{tail}"


def invoke(head, name, arguments, tail, indent):
    """head unsafe { sys::name(arguments) } tail"""
    line = f"{indent}{head}unsafe {{ sys::{name}({', '.join(arguments)}) }}{tail}"
    if len(line) <= WIDTH:
        return line
    inner = group(f"{indent}    sys::{name}", arguments, "")
    return f"{indent}{head}unsafe {{\n{inner}\n{indent}}}{tail}"


def arguments_of(text):
    """The arguments of a call, by the commas outside of brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts]


def statement(line, indent):
    """A statement in one line; a longer one is broken after its sign, or at its arguments."""
    text = indent + line
    if len(text) <= WIDTH:
        return text
    if match := re.match(r"(\w+)\((.*)\)(\?;)$", line):
        return group(indent + match[1], arguments_of(match[2]), match[3])
    if " = " in line:
        to, value = line.split(" = ", 1)
        return f"{indent}{to} =\n{indent}    {value}"
    return text


def use(module, names):
    """The declaration of names, in as few lines as possible."""
    if names == ["self"] or len(names) < 2:
        return f"use {module};\n" if names == ["self"] else f"use {module}::{names[0]};\n"
    line = f"use {module}::{{{', '.join(names)}}};\n"
    if len(line) <= WIDTH:
        return line
    filled = textwrap.fill(", ".join(names) + ",", WIDTH, initial_indent="    ", subsequent_indent="    ")
    return f"use {module}::{{\n{filled}\n}};\n"


# ---- documentation ---------------------------------------------------------------------------------------------

ROW = re.compile(r"^`?(\w+(?:, \w+)*)`?  +(\S.*)$")


# Words with underscores, elements, and shapes.
SHAPE = r"(?:\[\w[^\[\]]*\])+"
NAMES = re.compile(rf"(?<![\w.])[a-z]\w*(?:_\w+)+(?:\.\w+)*\b(?!\()|\b[a-z]\w*{SHAPE}|{SHAPE}")
FIRST = re.compile(r"[a-z]+(?=[\s,.;:]|$)")


def escaped(text):
    """Names and shapes become code; other brackets are neither links nor tags."""
    parts = re.split(r"(\[?`[^`]*`\]?)", text)
    for i in range(0, len(parts), 2):
        named = NAMES.sub(lambda m: f"`{m[0]}`", parts[i])
        inner = re.split(r"(`[^`]*`)", named)
        inner[::2] = [re.sub(r"[\[\]<>]|(?<=\S)\*|\*(?=\S)", r"\\\g<0>", p) for p in inner[::2]]
        parts[i] = "".join(inner)
    return "".join(parts)


def paragraphs(text):
    """(first indent, other indent, text) of each paragraph and item, None between those that an empty line parts."""
    rows = []
    for line in text.split("\n"):
        if not line.strip():
            rows.append(None)
        elif match := ROW.match(line):
            names = ", ".join(f"`{n}`" for n in match[1].split(", "))
            rows.append(["- ", f"{names}: {match[2]}"])
        elif line.lstrip().startswith("- "):
            rows.append(["- ", line.lstrip()[2:]])
        elif rows and rows[-1] and (rows[-1][0] == "" or line.startswith(" ")):
            rows[-1][1] += " " + line.strip()
        else:
            if rows and rows[-1]:
                rows.append(None)
            rows.append(["", line.strip()])
    lists = []  # a list begins after an empty line
    for row in rows:
        if row and lists and lists[-1] and row[0] != lists[-1][0]:
            lists.append(None)
        lists.append(row)
    return lists


def comment(text, indent):
    """A documentation comment."""
    lines = []
    for row in paragraphs(FIRST.sub(lambda m: m[0].capitalize(), text, 1) if FIRST.match(text) else text):
        if row is None:
            lines.append("")
            continue
        first, more = row[0], "  " if row[0] else ""
        lines += textwrap.wrap(escaped(row[1]), WIDTH - 4 - len(indent), initial_indent=first, subsequent_indent=more,
                               break_long_words=False, break_on_hyphens=False)
    joined = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
    return "".join(f"{indent}///{' ' + line if line else ''}\n" for line in joined.split("\n"))
