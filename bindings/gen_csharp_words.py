"""Names and comments of C#, for gen_csharp.py.

SPDX-License-Identifier: MIT
"""
import re
import textwrap

import languages
import surface as model

# Classes by another name than their words: System.IO has a File.
CLASSES = {"ggufx_file": "GgufFile"}
# Enumerations by another name: System has a ValueType.
ENUMERATIONS = {"ValueType": "MetaType"}
KEYWORDS = {"as", "base", "bool", "byte", "case", "char", "checked", "class", "const", "decimal", "default", "do", "double",
            "else", "enum", "event", "explicit", "extern", "false", "finally", "fixed", "float", "for", "foreach", "goto",
            "if", "implicit", "in", "int", "interface", "internal", "is", "lock", "long", "namespace", "new", "null",
            "object", "operator", "out", "override", "params", "private", "protected", "public", "readonly", "ref",
            "return", "sbyte", "sealed", "short", "sizeof", "static", "string", "struct", "switch", "this", "throw",
            "true", "try", "typeof", "uint", "ulong", "unchecked", "unsafe", "ushort", "using", "virtual", "void",
            "volatile", "while"}
# Sentences that only C needs.
ONLY_C = re.compile(r"\*out_\w*needed|`\w*capacity`|->struct_size|\*out is|`?out`? is as before|may be NULL\b|cannot be cancelled")
# Statuses whose names are other words of the comments, too.
AMBIGUOUS = {"OK", "NAME", "KEY", "TYPE", "VALUE", "LENGTH", "COUNT", "LIMIT", "DEVICE"}
WIDTH = 130


def camel(words):
    return "".join(w[:1].upper() + w[1:] for w in words)


def enumeration_name(name):
    return ENUMERATIONS.get(name, name)


def field(name):
    """The name of a member in the struct of C."""
    return languages.RESERVED.get(name, name)


def parameter(name):
    words = name.split("_")
    name = words[0] + camel(words[1:])
    return "to" if name == "out" else "@" + name if name in KEYWORDS else name


def pointer(name):
    return "p" + camel(name.split("_"))


def sharp(c):
    """A number as users see it."""
    return "long" if c == "size_t" else languages.SHARP[c]


def wrap(line, indent, more="    "):
    """A long line, broken after commas inside of the outermost brackets, or before its operators."""
    if len(indent) + len(line) <= WIDTH:
        return indent + line + "\n"
    lines, now, depth, piece = [], "", 0, ""
    pieces = []
    for i, c in enumerate(line):
        depth += (c in "([{" or bool(re.match(r"<\w", line[i:]))) - (c in ")]}" or bool(re.match(r"[\w\]]>", line[i - 1:])))
        piece += c
        if c == "," and depth <= 2 and not re.search(r"<[^<>()]*$", line[:i]) and line[i + 1:i + 2] == " ":
            pieces.append(piece)
            piece = ""
    pieces.append(piece)
    for piece in pieces:
        start = indent if not lines else indent + more
        if now and len(start) + len(now) + len(piece) > WIDTH:
            lines.append(start + now.strip())
            now = piece
        else:
            now += piece
    lines.append((indent + more if lines else indent) + now.strip())
    return "\n".join(lines) + "\n"


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def sentence(text):
    """A comment of a member as a sentence."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"^(\[[^\]]*\]) *$", "", text)
    if text and text[0].islower() and not re.match(r"\w*[A-Z_0-9]|\w+\.\w", text):
        text = text[0].upper() + text[1:]
    return text if not text or text[-1] in ".:!?" else text + "."


def tagged(tag, text, indent, attribute=""):
    """An element of XML documentation."""
    lines = textwrap.wrap(f"<{tag}{attribute}>{text}</{tag}>" if tag else text, WIDTH - len(indent) - 4, break_long_words=False,
                          break_on_hyphens=False)
    return "".join(f"{indent}/// {line}\n" for line in lines)


def name_words(name):
    return [w if w.isupper() else w.lower() for w in re.findall(r"[A-Z][a-z0-9]*", name)]


class Words:
    """The words of C# for names and comments of C."""

    def class_name(self, c):
        return CLASSES.get(c) or camel(self.surface.classes[c].words)

    def struct_name(self, c):
        return camel(self.surface.structs[c].words)

    def handle(self, c):
        return languages.camel(c) + "Handle"

    def native(self, c):
        return "Native" + languages.camel(c)

    def property(self, struct, v):
        """n_tokens -> Tokens, unless another member has this name; Value where the struct has it."""
        short = v.name if v.type in ("float", "double") else v.name.removeprefix("n_")
        others = {o.name for o in self.surface.structs[struct].shown}
        name = camel((v.name if short in others and short != v.name else short).split("_"))
        return "Value" if name == self.struct_name(struct) else name

    def refer(self, name):
        """The words of C# for a name of C."""
        if name == "NULL":
            return "null"
        if name.endswith("*"):
            found = {self.constants[c][0].name for c in self.surface.api.constants
                     if c.startswith(name[:-1]) and c in self.constants}
            return found.pop() if len(found) == 1 else None
        if name in self.constants:
            enumeration, member = self.constants[name]
            return f"{enumeration_name(enumeration.name)}.{languages.sharp_member(enumeration.name, member)}"
        if call := self.by_name.get(name):
            owner = self.class_name(call.owner) if call.owner else "Library"
            return owner if call.kind == "constructor" else f"{owner}.{camel(call.words)}"
        if name in self.surface.classes:
            return self.class_name(name)
        if name in self.surface.structs:
            return self.struct_name(name)
        if name in self.surface.api.constants:
            return "Constants." + camel(w.capitalize() for w in name.removeprefix("GGUFX_").split("_"))
        if name.endswith("_destroy"):
            return "Dispose"
        return name.removeprefix("GGUFX_").removeprefix("ggufx_")

    # ---- comments ----------------------------------------------------------------------------------------------

    def told(self, text, names):
        """A comment in the words of C#; names: of members or parameters in C -> in C#."""
        said = [x for x in re.split(r"(?<=\.)\s+", " ".join(text.split())) if not ONLY_C.search(x)]
        text = " ".join(said).replace(" in *out", "").replace("*out", "the result")
        text = re.sub(r"\b[Rr]eturns (.*?) as 0 or 1\b", r"Returns \1", text)
        text = re.sub(r"(?:Returns )?1 if (.*?), else 0\b", r"Whether \1", text)
        text = re.sub(r"(\w+)->(\w+)", lambda m: f"{m[1]}.{camel(m[2].split('_'))}", text)
        text = model.told(text, self.refer)
        text = re.sub(r"`(\w+)`", lambda m: names.get(m[1], m[1]), text)
        text = re.sub(r"(?<![\w.\"/])[a-z]\w*_\w+(?![\w(]|\.\w)", lambda m: names.get(m[0]) or self.members.get(m[0], m[0]), text)
        text = re.sub(r"(?<![\w.\"])[A-Z][A-Z_]+(?![\w\"])", lambda m: self.statuses.get(m[0], m[0]), text)
        return escaped(text)

    def summary(self, text, names, indent, otherwise):
        return tagged("summary", sentence(self.told(text, names)) or otherwise, indent)

    def contract(self, call, parameters, indent):
        """The documentation of a call: summary, remarks, parameters, result, errors."""
        names = {v.name: parameter(v.name.removeprefix("out_")) for v in call.arguments}
        rows, lines, skip = dict(model.parameter_rows(call.c.comment)), [], False
        for line in call.doc.split("\n"):
            match = model.ROW.match(line)
            skip = bool(match and match[1].split(", ")[0] in {v.name for v in call.arguments}) or \
                (skip and line.startswith("  "))
            if not skip:
                lines.append(line)
        paragraphs = [p for p in re.split(r"\n\s*\n", "\n".join(lines)) if p.strip()]
        first = sentence(self.told(paragraphs[0], names)) if paragraphs else ""
        text = tagged("summary", first or camel(call.words) + ".", indent)
        more = [line for p in paragraphs[1:] for line in self.paragraph(p, names)]
        for name, v in parameters:
            doc = sentence(self.told(rows.get(v.name, "") if v else "", names))
            doc = doc or {"token": "Cancels the call.", "progress": "Receives the progress of the call."}.get(name, "")
            if doc:
                text += tagged("param", doc, indent, f' name="{name.lstrip("@")}"')
        first = call.outputs[0] if call.outputs else None
        if first and first.kind != "object" and (doc := sentence(self.told(rows.get(first.name, ""), names))):
            text += tagged("returns", doc, indent)
        if call.errors:
            errors = ", ".join(languages.sharp_member("Status", e) for e in call.errors)
            text += tagged("exception", errors + ".", indent, ' cref="GgufxException"')
        if more:
            text += f"{indent}/// <remarks>\n" + "".join(tagged("", line, indent) for line in more) + f"{indent}/// </remarks>\n"
        return text

    def paragraph(self, text, names):
        """The elements of a paragraph, or of a list whose items begin with a hyphen."""
        head, *items = [self.told(x, names) for x in re.split(r"(?:^|\n)- ", text)]
        lines = [f"<para>{head}</para>"] if head else []
        if items:
            lines += ['<list type="bullet">', *[f"<item>{x}</item>" for x in items], "</list>"]
        return lines
