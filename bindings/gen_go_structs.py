"""Structs of Go, and the functions of a program that C calls.

SPDX-License-Identifier: MIT
"""
import re
import textwrap

import surface as model
from gen_go_names import FILLED, HOOKS, Names
from gen_go_words import (
    NOTE, aligned, comment, declared, go_function, lower, member, named, types_only, whether, wrapped)
from roles import base_of, stars_of


class Structs(Names):
    def __init__(self, surface):
        super().__init__(surface)
        self.thunks = {}  # (result, parameters in C, type in Go) -> (name, value)
        self.ins, self.outs = [], []
        self.find_structs()

    # ---- callbacks ---------------------------------------------------------------------------------------------

    def callback_type(self, v):
        shown = [p for p in v.parameters if p.way != "derived"]
        if len(shown) == 1 and shown[0].kind == "bytes":
            return "io.Writer"
        if len(shown) == 1 and shown[0].kind == "buffer" and shown[0].type == "void":
            return "io.Reader"
        inner = ", ".join(f"{lower(p.name)} {self.callback_parameter(p)}" for p in shown)
        result = {"void": "", "size_t": " int", "uint64_t": " int"}.get(v.type, " error")
        return f"func({inner}){result}"

    def callback_parameter(self, p):
        if p.kind == "bytes" or (p.kind in ("buffer", "array") and p.type == "void"):
            return "[]byte"
        if p.kind in ("buffer", "array"):
            return "[]" + self.element(p)
        return self.type_out(p)

    def thunk(self, v):
        """The name of the exported function that calls a function of this type."""
        kind = self.callback_type(v)
        key = (v.type, tuple(p.type for p in v.c.parameters), kind)
        return self.thunks.setdefault(key, (f"ggufxGoCall{len(self.thunks) + 1}", v))[0]

    def thunk_c(self, d):
        """Type of a parameter in C, as cgo writes it: without const."""
        return re.sub(r"\bconst\b ?", "", d.type).replace(" *", " *").strip()

    def thunk_go(self, d):
        base, stars = base_of(d.type), stars_of(d.type)
        if base == "void":
            return "unsafe.Pointer"
        return "*" * stars + "C." + base

    def thunk_text(self, key, name, v):
        result, _, kind = key
        head = ", ".join(f"{lower(d.name)} {self.thunk_go(d)}" for d in v.c.parameters)
        back = "" if result == "void" else f" C.{result}"
        moves = "true" if any(p.kind in ("bytes", "buffer") and p.type in ("", "void") for p in v.parameters) else "false"
        given = [self.callback_value(p) for p in v.parameters if p.way != "derived"]
        if kind == "io.Writer":
            body = [f"\t_, err := f.Write({given[0]})", "\treturn err"]
        elif kind == "io.Reader":
            body = [f"\t_, err := io.ReadFull(f, {given[0]})", "\treturn err"]
        elif result == "void":
            body = [f"\tf({', '.join(given)})", "\treturn nil"]
        elif kind.endswith(" int"):
            body = [wrapped(f"n = f({', '.join(given)})", 2)[1:-1], "\treturn nil"]
        else:
            body = [f"\treturn f({', '.join(given)})"]
        call = "\n\t".join([f"set.guard({moves}, func() error {{", *body, "})"])
        if result == "void":
            call = "\t" + call
        elif kind.endswith(" int"):
            call = f"\tn := 0\n\t{call}\n\treturn C.{result}(n)"
        else:
            call = f"\treturn C.{result}({call})"
        return (f"\n//export {name}\n" + wrapped(f"func {name}({head}){back} {{", 0) +
                f"\tf, set := functionOf[{re.sub(r'[(]([^)]*)[)]', types_only, kind, count=1)}](user)\n{call}\n}}\n")

    def callback_value(self, p):
        n = lower(p.name)
        length = lower(p.length or next((d.name for d in [p.c] if 0), "") or "")
        if p.kind in ("buffer", "array", "bytes") and not p.length:
            length = lower(p.c.meaning.get("capacity") or p.c.meaning.get("length"))
        if p.kind == "number":
            return f"{self.number(p)}({n})"
        if p.kind == "string":
            return f"C.GoString({n})"
        if p.kind == "text":
            return f"string(view({n}, {length}))"
        if p.kind == "facts":
            return f"{go_function(self.struct_name(p.struct))}({n})"
        if p.kind == "structs":
            return f"structsOf({n}, int({length}), {go_function(self.struct_name(p.struct))})"
        element = "byte" if p.kind == "bytes" or p.type == "void" else self.element(p)
        at = n if p.kind == "bytes" or p.type == "void" else f"unsafe.Pointer({n})"
        return f"unsafe.Slice((*{element})({at}), int({length}))"

    def callbacks(self):
        text = "".join(self.thunk_text(key, *value) for key, value in self.thunks.items())
        io = 'import (\n\t"io"\n\t"unsafe"\n)\n' if "io." in text else 'import "unsafe"\n'
        return NOTE + '\npackage ggufx\n\n// #include "safe.h"\nimport "C"\n\n' + io + text

    def header(self):
        externs = ""
        for (result, _, _), (name, v) in self.thunks.items():
            head = f"extern {'int32_t' if result == 'ggufx_status' else result} {name}("
            given = ", ".join(declared(self.thunk_c(d), d.name) for d in v.c.parameters)
            externs += "\n".join(textwrap.wrap(f"{head}{given});", 100, subsequent_indent=" " * len(head))) + "\n"
        objects = "".join(f"struct {c} {{\n    char unused;\n}};\n" for c in self.surface.classes)
        note = NOTE.replace("// ", "/* ", 1).replace("\n// ", "\n * ").rstrip() + " */\n"
        return (note + "#ifndef GGUFX_GO_SAFE_H\n#define GGUFX_GO_SAFE_H\n\n#include <ggufx/ggufx.h>\n#include <stdlib.h>\n\n"
                "/* Never looked into. cgo passes a pointer to a complete type without an allocation. */\n" + objects +
                "\n/* Go functions, in callbacks_safe.go. */\n" + externs + "\n#endif\n")

    # ---- structs -----------------------------------------------------------------------------------------------

    def find_structs(self):
        def into(name, into_list):
            struct = self.surface.structs[name]
            if name in into_list or struct.role == "hook" or model.is_text_struct(struct.c):
                return
            into_list.append(name)
            for v in self.shown(name):
                if v.kind in ("options", "structs", "struct") and v.struct:
                    into(v.struct, into_list)
                if v.kind == "callback":
                    from_callback(v)

        def from_callback(v):
            self.thunk(v)
            for p in v.parameters:
                if p.struct:
                    into(p.struct, self.outs)
                elif p.type in self.surface.structs:
                    into(p.type, self.outs)
        for name in FILLED:
            into(name, self.ins)
        for call in self.surface.calls:
            for v in call.arguments:
                if not call.go:  # by hand; the structs of arrays are generated
                    if v.kind == "structs" and v.way == "in":
                        into(v.struct, self.ins)
                elif v.kind in ("options", "struct", "structs", "state") and v.way == "in":
                    into(v.struct, self.ins)
                    if v.kind == "state":
                        into(v.struct, self.outs)
                elif v.way == "out" and v.struct:
                    into(v.struct, self.outs)
                elif v.kind == "callback":
                    from_callback(v)

    def shown(self, name):
        return [v for v in self.surface.structs[name].shown if (not self.surface.has_hook(v) or v.struct in HOOKS) and
                v.kind not in ("buffer", "address") and not (v.kind == "callback" and not v.c.meaning.get("user"))]

    def purpose(self, struct):
        """The comment of a struct that has none: the call that takes or returns it."""
        users = [c for c in self.calls for v in c.arguments if v.struct == struct.c.name]
        if struct.role == "options":
            return f"options of {self.refer(users[0].name)}. All zero means default." if users else ""
        return f"result of {self.refer(users[0].name)}." if users else ""

    def struct(self, name):
        struct = self.surface.structs[name]
        go, names = self.struct_name(name), self.fields[name]
        fields = []  # (comment, name, type)
        for v in self.shown(name):
            kind = "Watch" if v.kind == "progress" else self.type_in(v) if name in self.ins else self.type_out(v)
            doc = self.told(re.sub(r"^\[n_\w+\],? ?", "", " ".join(v.doc.split())), names)
            if v.name == "flags" and re.fullmatch(r"\w+\*?\.?", doc):
                doc = ""
            doc = whether(doc) if v.kind == "bool" else doc
            doc = doc[:1].upper() + doc[1:] if re.match("[a-z]+[ ,]", doc) else doc
            fields.append((comment(doc, "\t") if doc else "", names[v.name], kind))
        doc = named(go, self.told(struct.doc, names) if struct.doc else self.purpose(struct))
        text = "\n" + comment(doc) + f"type {go} struct {{\n{aligned(fields)}}}\n"
        if name in self.ins:
            text += self.write(name)
        if name in self.outs:
            text += self.read(name)
        return text

    def read(self, name):
        """The function that copies a struct of C."""
        go = self.struct_name(name)
        lines = "".join(wrapped(f"to.{self.fields[name][v.name]} = {self.field_out(v)}", 1) for v in self.shown(name)
                        if v.way == "in")
        return f"\nfunc {go_function(go)}(from *C.{name}) (to {go}) {{\n{lines}\treturn to\n}}\n"

    def field_out(self, v):
        at = f"from.{member(v.name)}"
        if v.kind == "number":
            return f"{self.number(v)}({at})"
        if v.kind == "bool":
            return f"{at} != 0"
        if v.kind in ("string", "path"):
            return f"C.GoString(&{at}[0])" if v.fixed else f"C.GoString({at})"
        if v.kind in ("text", "bytes"):
            if not v.length:
                return f"string(view({at}.data, {at}.size))"
            return f"string(view({at}, from.{v.length}))"
        if v.kind == "structs":
            return f"structsOf({at}, int(from.{v.length}), {go_function(self.struct_name(v.struct))})"
        if v.kind == "array" and v.fixed:
            return f"*(*{self.type_out(v)})(unsafe.Pointer(&{at}))"
        if v.kind == "array":
            n = "*".join(f"int(from.{x})" for x in v.length.split(" * "))
            return f"copied[{self.element(v)}](unsafe.Pointer({at}), {n})"
        raise ValueError(v)

    def write(self, name):
        """The method that writes a struct into memory of C."""
        struct = self.surface.structs[name]
        lines = []
        for v in struct.fields:
            if v.kind == "size" and v.struct:
                lines.append(f"to.{member(v.name)} = C.{v.type}(unsafe.Sizeof(C.{v.struct}{{}}))")
        used = set()
        for v in self.shown(name):
            lines += self.field_in(name, v)
            used.add(v.name)
        for v in struct.fields:
            if v.kind == "length" and set(v.arrays) & used:
                lines += self.field_length(name, v)
        for v in self.shown(name):  # arrays whose length is a number of its own
            told = v.length.split(" * ")
            if v.kind == "array" and all(any(f.name == n and f.kind == "number" for f in struct.fields) for n in told):
                at, counts = f"o.{self.fields[name][v.name]}", [f"int(o.{self.fields[name][n]})" for n in told]
                n = counts[0] if len(counts) == 1 else f"product({', '.join(counts)})"
                lines.append(f'run.equal("{self.fields[name][v.name]}", len({at}), {at} == nil, {n})')
        text = "".join(wrapped(line, 1) if "\n" not in line else textwrap.indent(line, "\t") + "\n" for line in lines)
        return f"\nfunc (o *{self.struct_name(name)}) write(run *running, to *C.{name}) {{\n{text}}}\n"

    def field_in(self, name, v):
        at, to = f"o.{self.fields[name][v.name]}", f"to.{member(v.name)}"
        if v.kind == "number":
            if v.type == "size_t":
                return [f'{to} = run.size("{self.fields[name][v.name]}", {at})']
            return [f"{to} = C.{v.type}({at})"]
        if v.kind == "bool":
            return [f"if {at} {{\n\t{to} = 1\n}}"]
        if v.kind in ("string", "path"):
            return [f"{to} = run.{'optional' if v.optional else 'text'}({at})"]
        if v.kind == "text" and not v.length:
            return [f"{to}.data, {to}.size = run.copied({at})"]
        if v.kind == "text":
            return [f"{to}, to.{v.length} = run.copied({at})"]
        if v.kind == "progress":
            return [f"{to} = run.watch(&{at})"]
        if v.kind == "hook":
            return [f"{to} = run.{HOOKS[v.struct][:1].lower()}{HOOKS[v.struct][1:]}({at})"]
        if v.kind in ("options", "struct"):
            return [f"{to} = one[C.{v.struct}](run, {at})"]
        if v.kind == "object":
            held = f"\n\trun.held = append(run.held, {at}.handle)" if v.keeps else ""
            return [f"if {at} != nil {{\n\t{to} = {at}.enter(run, {self.use(v)}){held}\n}}"]
        if v.kind == "objects":
            return [f"{to} = objects[C.{v.object}](run, {at})"]
        if v.kind == "structs":
            return [f"{to} = list[C.{v.struct}](run, {at})"]
        if v.kind == "texts":
            return [f"{to} = (*C.{v.struct})(run.texts({at}))"]
        if v.kind == "values":
            name_ = self.fields[name][v.name]
            return [f'{to}, to.{v.length} = values(run, "{name_}", o.{self.fields[name]["type"]}, {at})']
        if v.kind == "array":
            return [f"{to} = (*C.{base_of(v.c.type)})(place(run, {at}))"]
        if v.kind == "callback":
            user = v.c.meaning["user"]
            keep = "keep" if v.kept else "callback"
            return [f"if {at} != nil {{\n\t{to}, to.{user} = run.{keep}({at}, C.{self.thunk(v)})\n}}"]
        raise ValueError(v)

    def field_length(self, name, v):
        arrays = [f for f in self.shown(name) if f.name in v.arrays and f.kind not in ("text", "values")]
        if not arrays:
            return []
        lens = [f"len(o.{self.fields[name][f.name]})" for f in arrays]
        n = lens[0] if len(lens) == 1 else f"run.same(\"{', '.join(self.fields[name][f.name] for f in arrays)}\", {', '.join(lens)})"
        return [f"to.{member(v.name)} = C.{base_of(v.c.type)}({n})"]

    def structs(self):
        names = [s for s in self.surface.structs if s in self.ins or s in self.outs]
        body = "".join(self.struct(s) for s in names)
        imports = ['"io"'] if "io." in body else []
        imports = "import (\n\t" + "\n\t".join([*imports, '"unsafe"']) + "\n)\n" if imports else 'import "unsafe"\n'
        return NOTE + '\npackage ggufx\n\n// #include "safe.h"\nimport "C"\n\n' + imports + body
