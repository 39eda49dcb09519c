"""Names, types and comments of Go for the surface of the library.

SPDX-License-Identifier: MIT
"""
import re

import surface as model
from gen_go_words import (
    CAPITALS, comment, common, constant, lower, named, whether, without, words)

NUMBERS = {"int8_t": "int8", "uint8_t": "uint8", "int16_t": "int16", "uint16_t": "uint16", "int32_t": "int32",
           "uint32_t": "uint32", "int64_t": "int64", "uint64_t": "uint64", "size_t": "int", "float": "float32",
           "double": "float64", "ggufx_status": "int32"}
# Reasons of surface.py that are none in Go, whose slices are views.
PLAIN = {"views of the caller's memory", "a callback that is kept", "state of the caller"}
# Structs of functions that objects keep: their types, each of which a method of running by that name writes.
HOOKS = {"ggufx_log": "LogFunction", "ggufx_executor": "Executor", "ggufx_allocator": "Allocator"}
# Structs that code by hand writes, beside those of generated calls.
FILLED = {"ggufx_runtime_options"}
# Calls that an idiom replaces.
LEFT_OUT = {"ggufx_abi_version", "ggufx_struct_size", "ggufx_status_name"}


class Names:
    def __init__(self, surface):
        self.surface = surface
        for c in surface.calls:
            c.go = not (c.name in LEFT_OUT or (c.hand and (c.hand not in PLAIN or self.needs_hand(c))))
        self.calls = [c for c in surface.calls if c.go]
        for x in [x for c in surface.classes.values() for x in c.lists] + list(surface.lists):
            if x.at and x.at.words == x.words:  # its name alone is that of what finds one by its name
                x.at.words = [*x.words, "at"]
        self.by_name = {c.name: c for c in surface.calls}
        self.constants = {c: constant(e.name, m) for e in surface.enumerations.values() for m, c, _, _ in e.members}
        self.fields = {s: self.field_names(s) for s in surface.structs}

    def needs_hand(self, call):
        """Whether a call has what Go's rules forbid: addresses of slices inside of structs."""
        if any(v.kind == "buffers" for v in call.arguments):
            return True
        if any(v.kind in ("options", "struct", "structs") and
               any(f.kind in ("buffer", "address") or (f.kind == "hook" and not f.optional)
                   for f in self.surface.structs[v.struct].shown) for v in call.arguments):
            return True
        known = {v.name for v in call.arguments} | set(self.remembered(call.owner))
        return any(v.kind in ("buffer", "array") and not set(model.names_in(v.length)) <= known for v in call.arguments) or \
            any(v.two_call and not self.needed(call, v) for v in call.arguments)

    @staticmethod
    def needed(call, v):
        return next((d for d in call.arguments if d.kind == "needed" and v.name in d.arrays), None)

    def remembered(self, c):
        """Options that a class remembers: its calls have arrays of that many elements."""
        if not c:
            return {}
        calls = self.surface.classes[c].calls
        made = next((x for x in calls if x.kind == "constructor"), None)
        options = next((v for v in made.inputs if v.kind == "options"), None) if made else None
        if not options:
            return {}
        fields = {f.name: f for f in self.surface.structs[options.struct].shown if f.kind == "number"}
        wanted = {n for x in calls for v in x.arguments if v.kind in ("array", "buffer")
                  for n in model.names_in(v.length) if n not in {a.name for a in x.arguments}}
        return {n: (options, f) for n, f in fields.items() if n in wanted}

    def class_name(self, c):
        return words("_".join(self.surface.classes[c].words))

    def struct_name(self, c):
        return words("_".join(self.surface.structs[c].words))

    def receiver(self, c):
        first = self.surface.classes[c].words[0]
        return first if first in CAPITALS else first[0]

    def field_names(self, name):
        """Counts are named without n_, if nothing else has that name; progress is a Watch."""
        shown = self.surface.structs[name].shown
        names = {v.name for v in shown}
        out = {}
        for v in shown:
            count = v.name.startswith("n_") and v.type not in ("float", "double")
            short = v.name[2:] if count else v.name
            out[v.name] = "Watch" if v.kind == "progress" else words(f"num_{short}" if count and short in names else short)
        return out

    def call_name(self, call):
        if call.kind not in ("constructor", "static") or not call.owner:
            return words("_".join(call.words))
        if call.kind == "constructor":
            return "New" + self.class_name(call.owner)
        if not call.name.startswith(call.owner + "_"):
            return words("_".join(call.words))
        verb, *rest = call.words
        verb = "new" if verb == "create" else verb
        return words("_".join([verb, call.owner.removeprefix("ggufx_"), *rest]))

    def use(self, v, call=None):
        """How a call uses an object; one that no call changes needs no lock."""
        if call and not call.locks:
            return "beside"
        return "alone" if v.exclusive and self.surface.classes[v.object].mutable else "shared"

    def home(self, call):
        """The value that the method is called on: objects are made by the first one that they are made from."""
        if call.this:
            return call.this
        return next((v for v in call.inputs if v.kind == "object" and not v.optional), None)

    def refer(self, name):
        """The words of Go for a name of C."""
        if name == "NULL":
            return "nil"
        if name.endswith("*"):
            found = {self.constants[c] for c in self.constants if c.startswith(name[:-1])}
            return None if not found else re.sub(r"(.*)\*.*", r"\1", common(found)) + "*"
        if name in self.constants:
            return self.constants[name]
        if call := self.by_name.get(name):
            home = self.home(call)
            return (self.class_name(home.object) + "." if home else "") + self.call_name(call)
        if name in self.surface.classes:
            return self.class_name(name)
        if name in self.surface.structs:
            return self.struct_name(name)
        if name.endswith("_destroy"):
            return "Close"
        if name.startswith("GGUFX_"):
            return words(name.removeprefix("GGUFX_"))
        return None

    def complete(self, text):
        """GGUFX_KV_FIT, _CENTRE and _V -> GGUFX_KV_FIT, GGUFX_KV_CENTRE and GGUFX_KV_V"""
        def whole(first, short):
            parts = first.split("_")
            tries = ("_".join(parts[:k]) + short for k in range(len(parts) - 1, 0, -1))
            return next((name for name in tries if name in self.constants), short)

        return re.sub(r"(GGUFX_\w+)((?:(?:,| or| and| \.\.|/)? _[A-Z][A-Z0-9_]*)+)",
                      lambda m: m[1] + re.sub(r"(?<=[ /])_[A-Z]\w*", lambda s: whole(m[1], s[0]), m[2]), text)

    def told(self, text, names):
        """A comment in the words of Go; names are those of parameters or fields, by their C names."""
        text = re.sub(r"\b\w+->(\w+)", r"\1", self.complete(text))
        text = model.told(text, self.refer)
        text = re.sub(r"(?<![\w*])[A-Z_]{2,}\b", lambda m: self.constants.get("GGUFX_E_" + m[0], m[0]), text)
        return re.sub(r"(?<![\w.\"])[a-z]\w*_\w+\b", lambda m: names.get(m[0], m[0]), text)

    def call_doc(self, call):
        names = {n: f for v in call.arguments if v.struct in self.fields for n, f in self.fields[v.struct].items()}
        names.update({v.name: lower(v.name.removeprefix("out_")) for v in call.arguments})
        for v in call.arguments:
            if v.kind == "length" and v.arrays:
                names[v.name] = f"len({lower(v.arrays[0])})"
        names["progress"] = "watch"
        if any(v.name == "out" and v.way == "out" for v in call.arguments):
            names["out"] = "result"
        hidden = {v.name for v in call.arguments if v.way == "derived" or v.kind == "options"}
        kept, skip = [], False
        for line in call.doc.split("\n"):  # rows of parameters that Go has no name for
            row = model.ROW.match(line)
            if row:
                left = [n for n in row[1].split(", ") if n not in hidden]
                skip = not left or row[1] == "error"
                line = f"{', '.join(names.get(n, n) for n in left)}  {row[2]}"
            elif not line.startswith("  "):
                skip = False
            if not skip:
                kept.append(line)
        only_c = [v.name for v in call.arguments if v.kind in ("capacity", "needed")]
        doc = without("\n".join(kept), only_c)
        if call.result and call.result.kind == "string":
            doc = doc.replace("NULL", '""')
        doc = self.told(doc, names)
        if any(v.kind == "bool" for v in call.outputs):
            doc = whether(doc)
        grows = any(v.two_call for v in call.outputs)  # the call is made again with more room
        if errors := [constant("Status", e) for e in call.errors if not (grows and e == "CAPACITY")]:
            doc += "\n\nErrors: " + ", ".join(errors) + "."
        return comment(named(self.call_name(call), doc))

    def number(self, v):
        return words(v.enumeration) if v.enumeration else NUMBERS[v.type]

    def element(self, v):
        """Type of an element of a slice, which C reads and writes in place."""
        if v.enumeration:
            return words(v.enumeration)
        if v.type in self.surface.structs:
            return self.struct_name(v.type)
        return {"void": "byte", "char": "byte", "uint8_t": "byte", "size_t": "uint"}.get(v.type, NUMBERS.get(v.type))

    def type_in(self, v):
        if v.kind == "number":
            return self.number(v)
        if v.kind in ("bool",):
            return "bool"
        if v.kind in ("string", "path", "text"):
            return "string"
        if v.kind == "bytes":
            return "[]byte"
        if v.kind == "values":
            return "any"
        if v.kind in ("array", "buffer"):
            return "[]" + self.element(v)
        if v.kind == "object":
            return "*" + self.class_name(v.object)
        if v.kind == "objects":
            return "[]*" + self.class_name(v.object)
        if v.kind in ("options", "struct", "state"):
            return "*" + self.struct_name(v.struct)
        if v.kind == "structs":
            return "[]" + self.struct_name(v.struct)
        if v.kind == "texts":
            return "[]string"
        if v.kind == "progress":
            return "*Watch"
        if v.kind == "hook":
            return HOOKS[v.struct]
        if v.kind == "callback":
            return self.callback_type(v)
        raise ValueError(v)

    def type_out(self, v):
        if v.kind == "bool":
            return "bool"
        if v.kind in ("string", "path", "text", "bytes"):
            return "string"
        if v.kind == "number":
            return self.number(v)
        if v.kind == "array" and v.fixed:
            return f"[{self.size(v)}]{self.element(v)}"
        if v.kind == "array":
            return "[]" + self.element(v)
        if v.kind == "facts":
            return self.struct_name(v.struct)
        if v.kind == "structs":
            return "[]" + self.struct_name(v.struct)
        if v.kind == "object":
            return "*" + self.class_name(v.object)
        raise ValueError(v)

    def size(self, v):
        constant_ = self.surface.api.constants.get(v.length)
        return constant_.value if constant_ else v.length

    def zero(self, kind):
        if kind == "string":
            return '""'
        if kind == "bool":
            return "false"
        if kind[0] in "*[" or kind == "error":
            return "nil"
        return kind + "{}" if kind in map(self.struct_name, self.outs) else "0"
