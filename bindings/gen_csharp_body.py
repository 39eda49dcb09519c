"""The statements of a call in C#, for gen_csharp.py.

SPDX-License-Identifier: MIT
"""
import re

import languages
from gen_csharp_words import camel, parameter, pointer, wrap

# Constructors that a partial method follows: code by hand needs something of their arguments.
CREATED = {"ggufx_session_create"}


class Body:
    """The statements of a call."""

    def __init__(self, writer, call, given, as_bytes=None):
        self.writer, self.call, self.as_bytes = writer, call, as_bytes
        self.names = {v.name: n for _, n, v in given if v is not None}
        self.lists = {n: "Length" if d.startswith("params ") else "Count" for d, n, _ in given}
        self.locals, self.using, self.before, self.fixed, self.after = [], [], [], [], []
        self.inside = []  # where memory is fixed
        self.each = []  # before each try of a two-call buffer
        self.needs = []  # of a scope: when not, or "progress"
        kinds = {v.kind for v in call.inputs} & {"options", "struct", "structs", "texts", "objects", "callback"}
        self.progress = "scope.Follow(token, progress)" if kinds else "Scope.Progress(scope)"
        self.rooms = [v for v in call.outputs if v.two_call]

    def size(self, expression, c):
        """A length in the type that C wants."""
        if c == "size_t":
            return f"Native.Size({expression})"
        return f"({languages.SHARP[c]}){expression}"

    # ---- inputs

    def argument(self, v):
        w, call = self.writer, self.call
        if v.kind == "error":
            return "&e"
        if v.name == call.this_name and v.kind == "object":
            return "Handle"
        if v.kind == "user":
            f = next(a for a in call.arguments if a.kind == "callback" and a.c.meaning["user"] == v.name)
            return f"scope.{'Kept' if f.kept else 'User'}({self.names[f.name]})"
        if v.way == "derived":
            return self.derived(v)
        if v.way == "out":
            return self.output(v)
        n = self.names.get(v.name, "")
        if v.kind == "number":
            if v.none:
                return f"{n} ?? {languages.SHARP[v.type]}.MaxValue"
            if v.type == "size_t":
                return f'Native.Size({n}, "{n.lstrip("@")}")'
            return f"({languages.SHARP[v.type]}){n}" if v.enumeration else n
        if v.kind == "bool":
            return f"{n} ? 1{'u' if v.type.startswith('u') else ''} : 0"
        if v.kind == "object":
            return f"{n} == null ? {w.handle(v.object)}.None : {n}.Handle" if v.optional else f"{n}.Handle"
        if v.kind in ("string", "path"):
            return self.pin("byte", v, f"{n} == null ? null : Native.Utf8({n})" if v.optional else f"Native.Utf8({n})")
        if v.kind == "text" and v is not self.as_bytes:
            self.locals.append(f"UIntPtr {self.length(v)};")
            return self.pin("byte", v, f"Native.Text({n}, out {self.length(v)})")
        if v.kind in ("text", "bytes", "array", "buffer"):
            return self.span(v, n)
        if v.kind in ("options", "struct"):
            native = w.native(v.struct)
            scope = ", scope" if w.needs_scope(v.struct) else ""
            self.locals.append(f"{native} {n.lstrip('@')}Native;")
            made = f"{w.struct_name(v.struct)}.Of({n}, &{n.lstrip('@')}Native{scope})"
            if scope:
                self.needs.append(f"{n} == null" if v.optional else "false")
            for f in w.fields_in(v.struct):
                if f.kind == "array" and not f.fixed and f.length in self.names:
                    field_ = f"{n}.{w.property(v.struct, f)}"
                    self.before.append(f'if ({n} != null && {field_} != null) Check.Length({field_}.Length, {self.names[f.length]}, "{f.name}");')
            if w.buffers(v):
                self.before += [f"{n}Native = {w.struct_name(v.struct)}.Blank();", f"{made};"]
                for f in w.buffers(v):
                    at = self.span(f, self.names[f.name])
                    size = next(d for d in w.surface.structs[v.struct].fields if d.name == f.length)
                    self.inside += [f"{n}Native.{f.name} = {at};",
                                    f"{n}Native.{f.length} = {self.size(self.names[f.name] + '.Length', size.type)};"]
                return f"&{n}Native"
            if not self.rooms:
                return made
            self.before.append(f"{native}* {pointer(v.name)} = {made};")  # once, not in the loop
            return pointer(v.name)
        if v.kind == "state":
            self.locals.append(f"{w.native(v.struct)} {n}Native;")
            self.before.append(f"{n}.Fill(&{n}Native);")
            self.after.append(f"{n} = new {w.struct_name(v.struct)}(&{n}Native);")
            return f"&{n}Native"
        if v.kind == "hook":
            name = n.lstrip("@")
            self.locals.append(f"{w.native(v.struct)} {name}Native;")
            self.before.append(f'Check.Given({n}, "{name}");')
            self.inside.append(f"{name}Native = {w.hook(v.struct, n)};")  # last, since only the call lets go of it
            return f"&{name}Native"
        if v.kind == "progress":
            self.needs.append("progress")
            return self.progress
        self.needs.append("false")
        if v.kind == "structs":
            return f"{w.struct_name(v.struct)}.Of({n}, scope)"
        if v.kind == "objects":
            return f"scope.Objects({n}, x => x.Handle)"
        if v.kind == "texts":
            if v.struct:
                return f"scope.{w.struct_name(v.struct)}s({n})"
            self.locals.append(f"UIntPtr* {self.length(v)};")
            return f"scope.Texts({n}, out {self.length(v)})"
        if v.kind == "callback":
            thunk = w.thunk(v, [w.class_name(call.owner), *call.words] if call.owner else call.words)
            if not v.optional:
                self.before.append(f'Check.Given({n}, "{n}");')
                return thunk
            return f"{n} == null ? IntPtr.Zero : {thunk}"
        raise ValueError(v)

    def length(self, v):
        return self.names[v.name].lstrip("@") + "Length"

    def pin(self, kind, v, what):
        name = pointer(v.name)
        self.fixed.append(f"fixed ({kind}* {name} = {what})")
        return name

    def span(self, v, n):
        """Memory of the caller."""
        kind = "byte" if v.kind in ("text", "bytes") or v.type == "void" else self.writer.element(v)
        raw = "byte" if kind == "byte" else languages.SHARP[v.type]
        if v.kind in ("array", "buffer") and v.length and v in self.call.arguments:
            self.check_length(v, n)
        if v.type == "size_t":
            return self.pin("UIntPtr", v, f'&Native.First(Native.Sizes({n}, "{n}"))')
        name = self.pin(kind, v, f"&MemoryMarshal.GetReference({n})" if v.optional else f"&Native.First({n})")
        name = f"({raw}*){name}" if raw != kind else name
        return f"{n}.Length == 0 ? null : {name}" if v.optional else name

    def expression(self, v):
        """The length of an array as told by other parameters."""
        def one(m):
            if m[1]:
                return f"Native.Sum({self.names[m[1]]})"
            for a in self.call.arguments:
                if a.name == m[2] and a.way == "derived":
                    known = [x for x in self.call.arguments if x.name in a.arrays and x.way == "in"]
                    first = min(known, key=lambda x: x.optional)
                    return f"{self.names[first.name]}.{'Count' if first.kind == 'structs' else 'Length'}"
            return self.names[m[2]] if m[2] in self.names else camel(m[2].split("_"))  # a property by hand
        return re.sub(r"sum\((\w+)\)|([a-z_]\w*)", one, v.length)

    def check_length(self, v, n):
        derived = next((d for d in self.call.arguments if d.name == v.length and d.way == "derived"), None)
        if derived is None:
            check = f'Check.Length({n}.Length, {self.longs(self.expression(v))}, "{n}");'
            self.before.append(f"if ({n}.Length != 0) {check}" if v.optional else check)

    @staticmethod
    def longs(expression):
        return f"checked((long)({expression}))" if "*" in expression else expression if "Sum" in expression else f"checked((long){expression})"

    def derived(self, v):
        call = self.call
        arrays = [a for a in call.arguments if a.name in v.arrays]
        if v.kind == "lengths":
            return self.length(arrays[0])
        if v.kind == "capacity":
            return f"Native.Size({self.room(arrays[0])}.Length)"
        if v.kind == "needed":
            return f"&{self.room(arrays[0])}Needed"
        known = [a for a in arrays if a.way == "in" and a.kind != "lengths"]
        if not known:
            return f"&{self.room(arrays[0])}Length"
        a, n = known[0], self.names[known[0].name]
        if a.kind == "text" and a is not self.as_bytes:
            return self.length(a)
        if a.kind in ("structs", "texts", "objects"):
            return self.size(f"{n}.{self.lists[n]}", v.type)
        if len(known) == 1:
            return self.size(f"{n}.Length", v.type)
        sure = next((x for x in known if not x.optional), None)
        if sure is None:
            names = [self.names[x.name] for x in known]
            lengths = ", ".join(f"{x}.Length" for x in names)
            self.before.append(f'int {parameter(v.name)} = Check.Same("{", ".join(names)}", {lengths});')
            return self.size(parameter(v.name), v.type)
        n = self.names[sure.name]
        for x in known:
            if x is not sure:
                other = self.names[x.name]
                check = f'Check.Length({other}.Length, {n}.Length, "{other}");'
                self.before.append(f"if ({other}.Length != 0) {check}" if x.optional else check)
        return self.size(f"{n}.Length", v.type)

    # ---- outputs

    def room(self, v):
        """The local variable of an output."""
        name = parameter(v.name.removeprefix("out_")).lstrip("@")
        if v.name == "out":
            name = "made" if v.kind == "object" else "result"
        if v.two_call and v in self.call.outputs[1:] and v.kind in ("structs", "text"):
            return name + "Room"  # of another type than the parameter
        return name if name not in self.names.values() else parameter(v.name)

    def output(self, v):
        w, name = self.writer, self.room(v)
        if v.kind == "object":
            if self.call.kind == "constructor":
                return "out _made"
            self.locals.append(f"{w.handle(v.object)} made;")
            return "out made"
        if v.kind == "facts":
            native = w.native(v.struct)
            self.before.append(f"var {name}Native = default({native});")
            if w.surface.structs[v.struct].sized:
                self.before.append(f"{name}Native.struct_size = (uint)sizeof({native});")
            return f"&{name}Native"
        if v.two_call:
            kind = self.room_type(v)
            self.locals.append(f"UIntPtr {name}Needed;")
            self.before.append(f"var {name} = new {kind}[{self.start(v)}];")
            if v.kind == "structs" and w.surface.structs[v.struct].sized:
                self.each.append(f"{name}[0].struct_size = (uint)sizeof({kind});")
            pinned = f"p{name[0].upper()}{name[1:]}"
            self.fixed.append(f"fixed ({kind}* {pinned} = {name})")
            return pinned
        if v.kind == "array":
            kind, pinned = w.element(v), f"p{name[0].upper()}{name[1:]}"
            derived = next((d for d in self.call.arguments if d.name == v.length and d.way == "derived"), None)
            if derived:
                a = next(a for a in self.call.arguments if a.name in derived.arrays and a.way == "in")
                n = f"{self.names[a.name]}.{'Count' if a.kind == 'structs' else 'Length'}"
            else:
                n = f'Native.Count({self.expression(v)}, "{self.expression(v)}")'
            self.before.append(f"var {name} = new {kind}[{n}];")
            self.fixed.append(f"fixed ({kind}* {pinned} = &Native.First({name}))")
            raw = languages.SHARP[v.type]
            return f"({raw}*){pinned}" if raw != kind else pinned
        if v.kind == "text":
            self.locals.append(f"NativeText {name};")
            return f"&{name}"
        self.locals.append(f"{languages.SHARP[v.type]} {name}Native;")
        return f"&{name}Native"

    def room_type(self, v):
        if v.kind == "structs":
            return self.writer.native(v.struct)
        return "byte" if v.kind in ("text", "bytes") else self.writer.element(v)

    def start(self, v):
        """Room for the first try: what most inputs need."""
        if v.kind == "structs":
            return "64"
        sizes = []
        for a in self.call.inputs:
            if a.kind == "array" and not a.optional or a is self.as_bytes:
                sizes.append(("8 * " if v.kind in ("text", "bytes") else "") + f"{self.names[a.name]}.Length")
        return " + ".join(["1024", *sizes])

    def value(self, v):
        """The expression of an output."""
        w, name = self.writer, self.room(v)
        if v.name == "result":
            return {"bool": "result != 0"}.get(v.kind) or (
                ("Native.TextOrNull(result)" if v.optional else "Native.Text(result)") if v.kind == "string" else
                f"({w.type_out(v)})result" if w.type_out(v) != languages.SHARP.get(v.type) else "result")
        if v.kind == "number":
            if v.none:
                return f"Native.Present({name}Native)"
            kind = w.type_out(v)
            return f"({kind}){name}Native" if kind != languages.SHARP[v.type] else f"{name}Native"
        if v.kind == "bool":
            return f"{name}Native != 0"
        if v.kind == "facts":
            return f"new {w.struct_name(v.struct)}(&{name}Native)"
        if v.two_call:
            if v.kind == "text":
                return f"Native.Text({name}, {name}Needed)"
            if v.kind == "structs":
                return f"Array.ConvertAll(Native.Cut({name}, {name}Needed), x => new {w.struct_name(v.struct)}(&x))"
            return f"Native.Cut({name}, {name}Needed)"
        if v.kind == "text":
            return f"Native.Text({name}.data, {name}.size)"
        return name

    # ---- the whole

    def turns(self):
        for v, alone in self.call.locks:
            if not self.writer.surface.classes[v.object].mutable:
                continue
            which = "Changing" if alone else "Reading"
            n = "" if v.name == self.call.this_name else self.names[v.name] + "."
            turn = f"{n}Handle.{which}()"
            self.using.append(f"{n[:-1]} == null ? default(Turn) : {turn}" if v.optional else turn)

    def borrows(self):
        """Whether results must be copied before the object may go."""
        w = self.writer

        def of(struct):
            return any(v.kind in ("string", "path", "text", "bytes", "array") and not v.fixed for v in w.surface.structs[struct].fields)
        return self.call.this is not None and any(
            v.borrows or v.kind == "text" and not v.two_call or v.kind == "facts" and of(v.struct) for v in self.call.outputs)

    def scope(self):
        """Most calls that nothing follows need no scope, and allocate nothing."""
        if self.needs == ["progress"] and self.progress.startswith("Scope."):
            return "Scope.Of(token, progress)"
        if "false" in self.needs or "progress" in self.needs:
            return "Scope.New()"
        return f"{' && '.join(self.needs)} ? null : Scope.New()"

    def ended(self, status):
        if self.follows():
            return f"scope.End({status}, &e);" if self.needs and self.scope() == "Scope.New()" else f"Scope.End(scope, {status}, &e);"
        return f"Check.Ok({status}, &e);"

    def follows(self):
        w = self.writer

        def inside(struct):
            return any(v.kind in ("progress", "callback") or (v.kind in ("options", "struct") and inside(v.struct))
                       for v in w.fields_in(struct))
        return any(v.kind in ("progress", "callback") or (v.kind in ("options", "struct") and inside(v.struct))
                   for v in self.call.inputs)

    def keeps_callbacks(self):
        return any(f.kept and f.kind == "callback" for v in self.call.inputs
                   for f in (self.writer.fields_in(v.struct) if v.kind in ("options", "struct") else [v]))

    def ending(self):
        """Statements after the call."""
        call, w = self.call, self.writer
        lines = []
        made = next((v for v in call.outputs if v.kind == "object"), None)
        if self.keeps_callbacks():
            own = "Handle" if made is None else "_made" if call.kind == "constructor" else "made"
            lines.append(f"{'if (scope != null) ' if self.scope() != 'Scope.New()' else ''}scope.Stay({own});")
        if made is not None and not made.borrows:
            own = "_made" if call.kind == "constructor" else "made"
            if call.this and made.object == call.owner:
                lines.append("made.Inherit(Handle);")
            for v in call.inputs:
                if v.kind == "object" and v.object == w.surface.classes[made.object].together:
                    lines.append(f"{own}.Share({self.names[v.name]}.Handle);")
            for v in call.inputs:
                if v.kind == "object" and v.keeps:
                    lines.append(f"{own}.Hold({self.names[v.name]}.Handle);")
            if call.name in CREATED:
                lines.append(f"Created({', '.join(self.names[v.name] for v in call.inputs)});")
            if call.kind != "constructor":
                lines.append(f"return new {w.class_name(made.object)}(made);")
            return lines
        if made is not None:
            return [f"return result == IntPtr.Zero ? null : new {w.class_name(made.object)}(new {w.handle(made.object)}(Handle, result));"]
        lines += self.after
        lines += [f"{self.writer.out_name(v, self.taken())} = {self.value(v)};" for v in call.outputs[1:]
                  if self.writer.out_name(v, self.taken()) != self.value(v)]
        if call.outputs:
            lines.append(f"return {self.value(call.outputs[0])};")
        return lines

    def taken(self):
        return {parameter(v.name) for v in self.call.inputs}

    def text(self):
        call = self.call
        # Outputs that are out parameters have their own names.
        outs = {self.writer.out_name(v, self.taken()) for v in call.outputs[1:]}
        for v in call.outputs:
            self.names.pop(v.name, None)
        self.turns()
        ordered = {id(v): self.argument(v) for v in sorted(call.arguments, key=lambda v: v.way == "out")}
        arguments = [ordered[id(v)] for v in call.arguments]
        invoked = f"NativeMethods.{call.name}({', '.join(arguments)})"
        if self.needs:
            self.using.append(f"var scope = {self.scope()}")
        if self.borrows() or (self.keeps_callbacks() and call.this):  # which the handle is given afterwards
            self.using.append("new Hold(Handle)")
        if call.fails:
            self.locals.append("NativeError e;")
        block = list(self.before)
        indent, lines = "            ", []
        if self.rooms:
            self.locals.append("int status;")
            grows = " | ".join(f"Native.Grows(status, ref {self.room(v)}, {self.room(v)}Needed)" for v in self.rooms)
            block += ["do", "{", *["    " + x for x in self.each + self.fixed],
                      ("        " if self.fixed else "    ") + f"status = {invoked};", "}", f"while ({grows});", self.ended("status")]
        elif call.fails and self.inside:
            block += [*self.fixed, "{", *["    " + x for x in self.inside], "    " + self.ended(invoked), "}"]
        elif call.fails:
            block += [*self.fixed, ("    " if self.fixed else "") + self.ended(invoked)]
        elif call.result is not None and (not self.simple() or self.fixed):
            self.locals.append(f"{self.raw_result()} result;")
            block += [*self.fixed, ("    " if self.fixed else "") + f"result = {invoked};"]
        elif call.result is None:
            block += [*self.fixed, ("    " if self.fixed else "") + f"{invoked};"]
        else:
            value = self.value(call.result)
            block += [f"return {value.replace('result', invoked, 1)};"]
        if not block[-1].startswith("return "):
            block += self.ending()
        block = self.declare_outs(block, outs)
        for line in self.locals:
            lines.append(wrap(line, indent))
        if self.using:
            lines += [wrap(f"using ({u})", indent) for u in self.using]
            if len(block) == 1:
                lines.append(wrap(block[0], indent + "    "))
            else:
                lines += [indent + "{\n", *[self.line(x, indent + "    ") for x in block], indent + "}\n"]
        else:
            lines += [self.line(x, indent) for x in block]
        return "".join(lines)

    @staticmethod
    def line(text, indent):
        inner = text[:len(text) - len(text.lstrip())]
        return wrap(text.strip(), indent + inner)

    def declare_outs(self, block, outs):
        """An out parameter that is its own local variable is assigned, not declared."""
        fixed = []
        for line in block:
            match = re.match(r"var (\w+) = new \w+\[", line)
            fixed.append(line.removeprefix("var ") if match and match[1] in outs and not line.startswith("var result") and
                         self.plain(match[1]) else line)
        return fixed

    def plain(self, name):
        return any(self.writer.out_name(v, self.taken()) == name and self.value(v) == name for v in self.call.outputs[1:])

    def simple(self):
        return self.call.result.kind in ("number", "bool", "string") and not self.call.result.borrows

    def raw_result(self):
        return languages.sharp_type(self.call.c.result, set(self.writer.surface.classes), True)
