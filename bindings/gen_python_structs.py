"""Structs of the safe layer as dataclasses of Python, for gen_python.py.

SPDX-License-Identifier: MIT
"""
import re

import surface as model
from gen_python_words import (
    DTYPES, FLAT, HOOKS, INNER, KEPT_BY_HAND, LEFT_OUT, OF_MEMORY, SKIPPED, VIEWS, camel, ctype, name_of, quoted, sentence, wrap)


class Structs:
    """Names, types, callbacks and structs."""

    def __init__(self, surface):
        self.surface = surface
        for call in surface.calls:
            if call.name in VIEWS or call.hand == "state of the caller" or any(v.takes for v in call.arguments) or \
                    (call.hand == "a callback that is kept" and call.name not in KEPT_BY_HAND):
                call.hand = ""
            call.hand = call.hand or ("an idiom" if call.name in LEFT_OUT else "")
        for v in (v for call in surface.calls for v in call.arguments if v.struct in FLAT):
            v.kind = "options"
        self.calls = [c for c in surface.calls if not c.hand]
        self.structs = [s for s in surface.used_structs(surface.calls) if not self.is_inner(s)]
        self.read_structs, self.filled_structs = surface.structs_by_way(self.calls)
        self.thunks = {}  # (result, parameters in C) -> name
        self.by_name = {c.name: c for c in surface.calls}
        self.constants = {c: (e.name, m) for e in surface.enumerations.values() for m, c, _, _ in e.members}

    def is_inner(self, name):
        """Structs that users never see: hooks, and texts."""
        struct = self.surface.structs[name]
        return struct.role == "hook" or model.is_text_struct(struct.c) or name in INNER or self.is_array(name)

    def is_array(self, name):
        """Whether a struct stands for an array of numbers: it has no other field."""
        return [v.kind for v in self.surface.structs[name].shown] == ["array"] and not self.surface.structs[name].sized

    # ---- names -------------------------------------------------------------------------------------------------

    def class_name(self, c):
        return camel(self.surface.classes[c].words)

    def struct_name(self, c):
        return camel(self.surface.structs[c].words)

    def call_name(self, call):
        return name_of("_".join(call.words))

    def refer(self, name, enumeration=""):
        """The words of Python for a name of C, in the comment of a number of an enumeration."""
        if name == "NULL":
            return "None"
        if name.endswith("*"):
            found = {self.constants.get(c, ("",))[0] for c in self.surface.api.constants if c.startswith(name[:-1])}
            return found.pop() if len(found) == 1 and found != {""} else enumeration or None
        if name in self.constants:
            enumeration, member = self.constants[name]
            return f"{enumeration}.{member}"
        if call := self.by_name.get(name):
            owner = self.class_name(call.owner) if call.owner else ""
            return owner if call.kind == "constructor" else ".".join(filter(None, [owner, self.call_name(call)]))
        if name in self.surface.classes:
            return self.class_name(name)
        if name in self.surface.structs:
            return self.struct_name(name)
        if name.endswith("_destroy"):
            return "close"
        return name.removeprefix("GGUFX_").removeprefix("ggufx_")

    def doc(self, text, indent, otherwise=""):
        return quoted(model.told(text, self.refer) or otherwise, indent)

    def doc_of_field(self, v):
        return quoted(sentence(model.told(OF_MEMORY.sub("", v.doc), lambda n: self.refer(n, v.enumeration))), "    ")

    def doc_of_struct(self, s):
        """A struct without a comment is named after the call that has it."""
        call = next((c for c in self.surface.calls for v in c.arguments if v.struct == s.c.name), None)
        name = self.refer(call.name) if call else ""
        what = {"options": f"Options of {name}.", "facts": f"Result of {name}."}.get(s.role, f"{camel(s.words)}.")
        return self.doc(s.doc, "    ", what)

    # ---- types -------------------------------------------------------------------------------------------------

    def type_in(self, v):
        """The annotation of something that a user passes."""
        kind = {
            "bool": "bool", "string": "Text", "path": "Path", "text": "Text", "bytes": "Buffer", "texts": "Sequence[Text]", "values": "Buffer",
            "progress": "Progress",
        }.get(v.kind)
        if v.json:
            kind = "Any"
        elif v.kind == "number":
            kind = "float" if v.type in ("float", "double") else "int"
        elif v.kind == "array":
            kind = "Buffer" if v.type in ("float", "double", "uint8_t") else "Ints"
        elif v.kind == "object":
            kind = self.class_name(v.object)
        elif v.kind == "objects":
            kind = f"Sequence[{self.class_name(v.object)}]"
        elif v.kind in ("options", "struct"):
            kind = self.struct_name(v.struct)
        elif v.kind == "structs":
            kind = "Mapping[str, object]" if self.is_mapping(v.struct) else \
                "Sequence[Ints]" if self.is_array(v.struct) else f"Sequence[{self.struct_name(v.struct)}]"
        elif v.kind == "callback":
            kind = self.callback_type(v)
        elif v.kind == "state":
            kind = f"_raw.{v.struct}"
        assert kind, v
        return kind + " | None" if v.flag or v.optional and v.kind not in ("number", "bool") and not v.json else kind

    def type_out(self, v):
        kind = {"bool": "bool", "string": "str", "path": "str", "text": "str", "bytes": "bytes", "array": "Array"}.get(v.kind)
        if v.kind == "number":
            kind = v.enumeration or ("float" if v.type in ("float", "double") else "int")
            return kind + " | None" if v.none else kind
        if v.kind == "array":
            kind = {"I32": "Ints32", "F32": "Floats", "F64": "Doubles"}.get(DTYPES[v.type], "Array")
            if v.fixed:
                kind = f"tuple[{v.enumeration or 'int'}, ...]"
        elif v.kind == "facts":
            kind = self.struct_name(v.struct)
        elif v.kind == "structs":
            kind = f"tuple[{self.struct_name(v.struct)}, ...]"
        elif v.kind == "object":
            kind = self.class_name(v.object)
        assert kind, v
        always = v.two_call or v.way == "out" and v.name != "result"  # optional outputs are always asked for
        return kind + " | None" if v.optional and not always else kind

    def is_mapping(self, struct):
        return [v.name for v in self.surface.structs[struct].shown] == ["key", "value"]

    def callback_type(self, v):
        inner = []
        for p in v.parameters:
            if p.way != "derived":
                inner.append("Array" if p.type in self.surface.structs else "int" if p.kind == "buffer"
                             else self.type_out(p))
        result = "Buffer" if "int" in inner and any(p.kind == "buffer" for p in v.parameters) else "object"
        return f"Callable[[{', '.join(inner)}], {result}]"

    # ---- callbacks ---------------------------------------------------------------------------------------------

    def thunk(self, v):
        key = (ctype(v.type), *[ctype(q.type) for q in v.c.parameters if q.name != "user"])
        return self.thunks.setdefault(key, f"_CALL_{len(self.thunks) + 1}")

    def convert(self, v):
        """A lambda that calls the function of a program with what C passed."""
        raw = [f"{q.name}_" for q in v.c.parameters if q.name != "user"]  # no names of functions here
        given = []
        for p in v.parameters:
            if p.way == "derived":
                continue
            if p.kind == "buffer" and p.type not in self.surface.structs:
                return f"lambda f, {', '.join(raw)}: fill_whole({p.name}_, {p.length}_, f)"
            given.append(self.read(p, f"{p.name}_"))
        return f"lambda f, {', '.join(raw)}: f({', '.join(given)})"

    def read(self, p, at):
        """A parameter of a callback as Python has it."""
        if p.kind == "number":
            return f"{p.enumeration}({at})" if p.enumeration else at
        if p.kind == "bytes":
            return f"string_at({at}, {p.length}_)"
        if p.kind == "text":
            return f"text_at({at}, {p.length}_)"
        if p.kind == "buffer":
            return f"records(_raw.{p.type}, {at}, {p.length}_)"
        if p.kind == "facts":
            return f"{self.struct_name(p.struct)}._of(cast({at}, POINTER(_raw.{p.struct})).contents)"
        if p.kind == "structs":
            return (f"tuple({self.struct_name(p.struct)}._of(o) for o in "
                    f"cast({at}, POINTER(_raw.{p.struct}))[:{p.length}_])")
        raise ValueError(p)

    # ---- structs -----------------------------------------------------------------------------------------------

    def fields_in(self, name):
        shown = [v for v in self.surface.structs[name].shown if not self.surface.has_hook(v) and
                 (v.kind != "callback" or v.type in ("void", "int32_t", "ggufx_status")) and
                 v.kind not in ("buffer", "address") and (name, v.name) not in SKIPPED]
        return sorted(shown, key=lambda v: (v.optional, v.name == "flags"))

    def views_in(self, call, v):
        """Buffers and hooks of the options of a call."""
        views = VIEWS.get(call.name, {})
        return [f for f in self.surface.structs[v.struct].shown if f.struct in HOOKS or
                (f.kind == "buffer" and f.name in views)] if views else []

    def default(self, v):
        if v.flag:
            return "None"
        if not v.optional:
            return ""
        return {"number": "0.0" if v.type in ("float", "double") else "0", "bool": "False"}.get(v.kind, "None")

    def facts_field(self, v):
        o = f"o.{name_of(v.name)}"
        if v.kind == "number":
            value = f"present({o})" if v.none else o
            return f"{v.enumeration}({value})" if v.enumeration else value
        if v.kind == "bool":
            return f"{o} != 0"
        if v.kind in ("string", "path"):
            if v.fixed:
                return f'{o}.decode("utf-8", "replace")'
            return f"text_or_none({o})" if v.optional else f"text_at({o})"
        if v.kind in ("text", "bytes"):
            o, n = (o, f"o.{v.length}") if v.length else (f"{o}.data", f"{o}.size")
            if v.kind == "bytes":
                return f"bytes_at({o}, {n})"
            return f"text_or_none({o}, {n})" if v.optional else f"text_at({o}, {n})"
        if v.kind == "array" and v.fixed:
            each = f"{v.enumeration}(x) for x in {o}" if v.enumeration else o
            return f"tuple({each})" + (f"[: o.{v.arrays[0]}]" if v.arrays else "")
        if v.kind == "array":
            shape = "".join(f"o.{n}, " for n in v.length.split(" * "))
            return f"copied({o}, ({shape.strip()}), {DTYPES[v.type]}, {v.optional})"
        if v.kind == "structs":
            return f"structs_at(_raw.{v.struct}, {o}, o.{v.length}, {self.struct_name(v.struct)}._of)"
        raise ValueError(v)

    def fill(self, v):
        """Statements that put a field of a dataclass into the struct of C."""
        to, value, n = f"o.{name_of(v.name)}", f"self.{name_of(v.name)}", v.length
        lengths = f", o.{n}" if n and not v.fixed and any(n == d for d in self.derived) else ""
        if v.flag:
            return f"if {value} is not None:\n    {to} = {value}\n    o.flags |= {'.'.join(v.flag)}"
        if v.kind in ("number", "bool"):
            return f"{to} {'|=' if v.name == 'flags' else '='} {value}"
        if v.kind == "object":
            return f'{to} = keep.object({value}, "{v.object}")'
        if v.kind in ("string", "path"):
            return f"{to} = keep.{v.kind}({value})"
        if v.kind == "text":
            method = "json" if v.json else "text"
            return f"{to}, o.{n} = keep.{method}({value})" if n else f"{to}.data, {to}.size = keep.{method}({value})"
        if v.kind == "texts":
            return f"{to}, o.{n} = keep.addressed(_raw.{v.struct}, keep.text, {value})"
        if v.kind == "bytes":
            return f"{to}, o.{n} = keep.bytes({value}, \"{v.name}\")"
        if v.kind == "values":
            return f"{to}, o.{n} = keep.values({value}, self.type, \"{v.name}\")"
        if v.kind == "array":
            if lengths and len(self.derived[n]) > 1:
                arrays = ", ".join(f"self.{name_of(a)}" for a in self.derived[n])
                return f"{to}, o.{n} = keep.array({value}, {DTYPES[v.type]}, \"{v.name}\")[0], equal({arrays})"
            if lengths:
                return f"{to}, o.{n} = keep.array({value}, {DTYPES[v.type]}, \"{v.name}\")"
            size = re.sub(r"([a-z_]\w*)", r"self.\1", n)
            return f"{to} = keep.array({value}, {DTYPES[v.type]}, \"{v.name}\", {size})[0]"
        if v.kind == "structs":
            of = f"_pairs({self.struct_name(v.struct)}, {value})" if self.is_mapping(v.struct) else value
            return f"{to}, o.{n} = keep.structs(_raw.{v.struct}, {of})"
        if v.kind == "objects":
            return f'{to}, o.{n} = keep.objects({value}, "{v.object}")'
        if v.kind in ("options", "struct"):
            return f"{to} = keep.struct(_raw.{v.struct}, {value})"
        if v.kind == "progress":
            return f"{to} = keep.follow({value})"
        if v.kind == "callback":
            user = name_of(v.c.meaning["user"])
            method = "stays" if v.kept else "on"
            return f"{to}, o.{user} = keep.{method}({self.thunk(v)}, {value}, {self.convert(v)})"
        raise ValueError(v)

    def struct(self, name):
        s = self.surface.structs[name]
        self.derived = {v.name: v.arrays for v in s.fields if v.way == "derived" and v.kind == "length"}
        facts, fills = name in self.read_structs, name not in self.read_structs or name in self.filled_structs
        shown = s.shown if facts else self.fields_in(name)
        shown = [v for v in shown if not (facts and v.name == "n_dims")]
        text = f"\n\n@dataclass{'(frozen=True)' if facts else ''}\nclass {self.struct_name(name)}:\n"
        text += self.doc_of_struct(s) + "\n"
        for v in shown:
            default = "" if facts else self.default(v)
            text += f"    {name_of(v.name)}: {self.type_out(v) if facts else self.type_in(v)}" + \
                (f" = {default}" if default else "") + "\n"
            if v.doc:
                text += self.doc_of_field(v)
        if facts:
            text += f"\n    @classmethod\n    def _of(cls, o: _raw.{name}) -> {self.struct_name(name)}:\n"
            text += wrap("return cls(" + ", ".join(self.facts_field(v) for v in shown) + ")", "        ")
        if fills:
            sized = "        o.struct_size = sizeof(o)\n" if s.sized else ""
            keep = "Following" if self.follows(name) else "Keep"
            text += f"\n    def _fill(self, o: _raw.{name}, keep: {keep}) -> None:\n" + sized
            text += "".join(wrap(line, "        ") for v in shown for line in self.fill(v).split("\n"))
        return text

    def follows(self, name):
        """Whether a struct has functions of the program in it."""
        return any(v.kind in ("progress", "callback") or (v.kind in ("options", "struct") and self.follows(v.struct))
                   for v in self.fields_in(name))
