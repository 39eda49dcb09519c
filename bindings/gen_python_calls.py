"""Calls of the safe layer as methods of Python, for gen_python.py.

SPDX-License-Identifier: MIT
"""
import re
import textwrap

from gen_python_structs import Structs
from gen_python_words import ALWAYS, BASES, DTYPES, FLAT, HOOKS, SUPPORT, VIEWS, ctype, name_of, wrap


class Calls(Structs):
    """Signatures and bodies."""

    def parameters(self, call):
        """(required, optional) as they stand in a signature."""
        first, more = [], []
        views = VIEWS.get(call.name, {})
        for v in call.inputs:
            if v.kind == "number" and v.name in views:
                continue
            if v.kind == "buffer":
                if v.name in views:
                    more.append(f"{name_of(v.name)}: Buffer | None = None")
                else:
                    first.append(f"{name_of(v.name)}: Buffer")
            elif v.kind == "options":
                for f in self.fields_in(v.struct):
                    if f.name in views and f.kind == "number":
                        continue
                    always = v.struct in FLAT and f.name in ALWAYS
                    kind = self.type_in(f).removesuffix(" | None") if always else self.type_in(f)
                    default = f" = {self.default(f)}" if f.optional and not always else ""
                    (more if default else first).append(f"{name_of(f.name)}: {kind}{default}")
                for f in self.views_in(call, v):
                    kind = HOOKS[f.struct][0] if f.struct in HOOKS else "Buffer"
                    more.append(f"{name_of(f.name)}: {kind} | None = None")
            elif v.optional:
                more.append(f"{name_of(v.name)}: {self.type_in(v)} = {self.default(v)}")
            elif v.name == "flags":
                more.append("flags: int = 0")
            else:
                first.append(f"{name_of(v.name)}: {self.type_in(v)}")
        names = [p.split(":")[0] for p in first + more]
        assert len(set(names)) == len(names), (call.name, names)
        hidden = set(names) & {"e", "own", *(name for of in SUPPORT.values() for name in of)}
        assert not hidden, f"{call.name}: {hidden}: give the function of the package another name"
        return first, more

    def prepare(self, call, v):
        """(statements before the call, expression in it) of one parameter in C."""
        n = name_of(v.name)
        if v.name == call.this_name and v.kind == "object":
            return [], "own" if self.needs_own(call) else "self._handle"
        if v.kind == "error":
            return [], "byref(e)"
        if v.kind in ("user", "destroy") and (taken := next((a for a in call.arguments if a.takes), None)):
            return [], f"lend({name_of(taken.name)}_)" if v.kind == "user" else "DESTROY"
        if v.kind == "user":
            return [], f"{n}_"
        if v.way == "derived":
            return [], self.derived_expression(call, v)
        if v.way == "out":
            return self.prepare_output(call, v, n)
        return self.prepare_input(call, v, n)

    def derived_expression(self, call, v):
        arrays = [a for a in call.arguments if a.name in v.arrays]
        if v.kind == "lengths":
            return f"{name_of(arrays[0].name)}_lengths"
        if v.kind == "capacity":
            return f"{arrays[0].name}.n"
        if v.kind == "needed":
            return f"byref({arrays[0].name}.needed)"
        known = [a for a in arrays if a.way == "in"]
        if not known:  # of a text that is borrowed
            return f"byref({arrays[0].name}_n)"
        a, n = known[0], name_of(known[0].name)
        if a.kind == "text":
            return f"0 if {n}_ is None else len({n}_)" if a.optional else f"len({n}_)"
        if a.kind == "bytes":
            return f"{n}_.nbytes"
        if a.kind in ("structs", "texts", "objects"):
            return f"len({n})"
        return "count(" + ", ".join(f"{name_of(x.name)}_" for x in known) + ")" if len(known) > 1 or a.optional else f"{n}_.size"

    def prepare_output(self, call, v, n):
        if v.kind == "object":
            return [f'own = KINDS["{v.object}"]()'], "byref(own)"
        if v.kind == "facts":
            size = f"struct_size=sizeof(_raw.{v.struct})" if self.surface.structs[v.struct].sized else ""
            return [f"{n} = _raw.{v.struct}({size})"], f"byref({n})"
        if v.two_call:
            start = self.start(call, v)
            kind = f"_raw.{v.struct}" if v.kind == "structs" else "U8" if v.kind in ("text", "bytes") else DTYPES[v.type]
            room = "Structs" if v.kind == "structs" else "Room"
            return [f"{n} = {room}({kind}, {start})"], f"{n}.at"
        if v.kind == "array":
            length = re.sub(r"sum\((\w+)\)", r"int(\1_.sum())", v.length)
            told = next((a for a in call.arguments if a.name == v.length and a.way == "derived"), None)
            if told:
                length = self.derived_expression(call, told)
            return [f"{n} = fresh({length}, {DTYPES[v.type]})"], f"address({n})"
        if v.kind == "text":
            return [f"{n} = _raw.ggufx_text()"], f"byref({n})"
        return [f"{n} = {ctype(v.type)}()"], f"byref({n})"

    def start(self, call, v):
        """Room for the first try: what most inputs need."""
        if v.kind == "structs":
            return "64"
        sizes = [f"len({name_of(a.name)}_)" if a.kind == "text" else f"{name_of(a.name)}_.size"
                 for a in call.inputs if a.kind in ("text", "array") and not a.optional]
        each = "8 * " if v.kind in ("text", "bytes") else ""
        return " + ".join(["1024", *[each + s for s in sizes]])

    def prepare_input(self, call, v, n):
        no = f"None if {n} is None else " if v.optional else ""
        views = VIEWS.get(call.name, {})
        if v.kind in ("number", "bool"):
            return [f"{n} = {views[v.name]}"] if v.name in views else [], n
        if v.kind == "buffer" and v.optional and not views[v.name].startswith("("):
            return [f'{n}_ = {no}writes({n}, {DTYPES[v.type]}, "{n}", {views[v.name]})'], f"address_or_none({n}_)"
        if v.kind == "buffer" and v.name in views:
            return [f'{n}_ = room_for({n}, {views[v.name]}, {DTYPES[v.type]}, "{n}")'], f"address({n}_)"
        if v.kind == "buffer":
            return [f'{n}_ = writes({n}, {DTYPES[v.type]}, "{n}")'], f"address({n}_)"
        if v.kind == "object":
            return [], f"{no}{n}._handle"
        if v.kind == "state":
            return [], f"byref({n})"
        if v.kind == "string":
            return [], f"{no}terminated({n})"
        if v.kind == "path":
            return [], f"{no}path_bytes({n})"
        if v.kind == "text":
            return [f"{n}_ = {no}to_bytes({n})"], f"{n}_"
        if v.kind == "bytes" or (v.kind == "array" and v.type == "uint8_t"):
            return [f'{n}_ = {no}raw_bytes({n}, "{n}")'], f"address({n}_)"
        if v.kind == "array":
            reader = "reads" if v.type in ("float", "double") else "numbers"
            told = next((a for a in call.arguments if a.name == v.length and a.way == "derived"), None)
            size = "" if told else ", " + re.sub(r"sum\((\w+)\)", r"int(\1_.sum())", v.length)
            get = "address_or_none" if v.optional else "address"
            return [f'{n}_ = {no}{reader}({n}, {DTYPES[v.type]}, "{n}"{size})'], f"{get}({n}_)"
        if v.kind == "texts" and v.struct:
            return [f"{n}_ = call_.addressed(_raw.{v.struct}, call_.text, {n})[0]"], f"{n}_"
        if v.kind == "texts":
            return [f"{n}_, {n}_lengths = call_.texts({n})"], f"{n}_"
        if v.kind == "structs" and self.is_array(v.struct):
            dtype = DTYPES[self.surface.structs[v.struct].shown[0].type]
            return [f'{n}_ = call_.addressed(_raw.{v.struct}, lambda x: call_.array(x, {dtype}, "{n}"), {n})[0]'], f"{n}_"
        if v.kind == "structs":
            return [f"{n}_ = call_.structs(_raw.{v.struct}, {n})[0]"], f"{n}_"
        if v.kind == "objects":
            return [f'{n}_ = call_.objects({n}, "{v.object}")[0]'], f"{n}_"
        if v.kind == "struct":
            return [f"{n}_ = call_.struct(_raw.{v.struct}, {n})"], f"{n}_"
        if v.kind == "options":
            told = {f.name: views[f.name] for f in self.fields_in(v.struct) if f.kind == "number" and f.name in views}
            given = ", ".join(f"{name_of(f.name)}={told.get(f.name, name_of(f.name))}" for f in self.fields_in(v.struct))
            made = f"{self.struct_name(v.struct)}({given})"
            if told:
                return [f"{n}_ = call_.made(_raw.{v.struct}, {made})"], f"byref({n}_)"
            if self.views_in(call, v):
                lines = [f"{n}_ = call_.made(_raw.{v.struct}, {made})"]
                for f in self.views_in(call, v):
                    lines += self.view(f, name_of(f.name), f"{n}_", views)
                return lines, f"byref({n}_)"
            if self.asks(call):
                return [f"asked_ = {made}", f"{n}_ = call_.struct(_raw.{v.struct}, asked_)"], f"{n}_"
            return [f"{n}_ = call_.struct(_raw.{v.struct}, {made})"], f"{n}_"
        if v.kind == "progress":
            return [], f"call_.follow({n})"
        if v.kind == "callback":
            user = name_of(v.c.meaning["user"])
            method = "stays" if v.kept else "on"
            return [f"{n}_, {user}_ = call_.{method}({self.thunk(v)}, {n}, {self.convert(v)})"], f"{n}_"
        raise ValueError(v)

    def view(self, f, n, to, views):
        """Statements that put a buffer or hook into options."""
        if f.struct in HOOKS:
            return [f"{to}.{n} = {HOOKS[f.struct][1].format(n)}"]
        if views[f.name].startswith("("):
            room = f'{n}_ = room_for({n}, {views[f.name]}, {DTYPES[f.type]}, "{n}")'
        else:
            room = f'{n}_ = None if {n} is None else writes({n}, {DTYPES[f.type]}, "{n}", {views[f.name]})'
        return [room, f"{to}.{n}, {to}.{f.length} = address_or_none({n}_), count({n}_)"]

    def needs_own(self, call):
        """Whether the handle must live until the result is copied."""
        return bool(call.this) and any(v.kind in ("facts", "text") and not v.two_call or v.borrows for v in call.outputs)

    def result(self, v):
        n = name_of(v.name)
        if v.name == "result":
            if v.kind == "bool":
                return "result_ != 0"
            if v.kind == "string":
                return 'None if result_ is None else result_.decode()' if v.optional else '(result_ or b"").decode()'
            return f"{v.enumeration}(result_)" if v.enumeration else "result_"
        if v.kind in ("number", "bool"):
            value = f"{n}.value" + (" != 0" if v.kind == "bool" else "")
            return f"{v.enumeration}({value})" if v.enumeration else value
        if v.kind == "facts":
            return f"{self.struct_name(v.struct)}._of({n})"
        if v.two_call:
            kind = f".structs({self.struct_name(v.struct)}._of)" if v.kind == "structs" else f".{v.kind}()"
            return n + kind
        if v.kind == "text":
            return f"text_at({n}.data, {n}.size)"
        return n

    def guard(self, call):
        """Locks and contexts around the call."""
        names = []
        for v, alone in call.locks:
            if self.surface.classes[v.object].mutable:
                own = "self" if v.name == call.this_name else name_of(v.name)
                turns = f"turns_of({own})" if v.optional else f"{own}._turns"
                names.append(f"{turns}.{'changing' if alone else 'reading'}")
        if any(v.kind in ("progress", "callback") or (v.kind in ("options", "struct") and self.follows(v.struct))
               for v in call.inputs):
            names.append("Following() as call_")
        elif any(v.kind in ("options", "struct", "structs", "texts", "objects") for v in call.inputs):
            names.append("Keep() as call_")
        return names

    def body(self, call):
        before, arguments = [], []
        # Results may depend on inputs, and inputs on others that tell their lengths.
        views = VIEWS.get(call.name, {})

        def order(v):
            return (v.way == "out", v.kind == "buffer" and v.name in views, v.length in views or "sum(" in v.length,
                    v.name in views)
        for v in sorted(call.arguments, key=order):
            before += self.prepare(call, v)[0]
        if self.needs_own(call):
            before.insert(0, "own = self._handle")
        arguments = [self.prepare(call, v)[1] for v in call.arguments]
        invoked = f"lib.{call.name}({', '.join(arguments)})"
        guards = self.guard(call)
        follow = any("Following" in g for g in guards)
        lines = ["e = _raw.ggufx_error()"] if call.fails else []
        end = "call_.end" if follow else "check"
        if call.this and self.surface.classes[call.owner].mutable and call.this.exclusive:
            end = "self._check"
        done = "e, call_" if end == "self._check" and follow else "e"
        rooms = [v.name for v in call.outputs if v.two_call]
        if rooms:
            run = [f"check(asked_twice(lambda: {invoked}, {', '.join(rooms)}), e)"]
        elif call.fails:
            run = [f"{end}({invoked}, {done})"]
        elif call.result:
            run = [f"result_ = {invoked}"]
        else:
            run = [invoked]
        after = self.ending(call)
        inside = before + run + after
        out = "".join(wrap(line, "") for line in lines)
        if guards:
            body = "".join(wrap(line, "") for line in inside)
            return out + f"with {', '.join(guards)}:\n" + textwrap.indent(body, "    ")
        return out + "".join(wrap(line, "") for line in inside)

    def parent(self, call):
        first = next((v for v in call.inputs if v.kind == "object"), None)
        return "self" if call.this else name_of(first.name) if first else "None"

    def ending(self, call):
        made = next((v for v in call.outputs if v.kind == "object"), None)
        kept = any(f.kept and f.kind == "callback" for v in call.inputs
                   for f in (self.fields_in(v.struct) if v.kind in ("options", "struct") else [v]))
        if made is None:
            values = [self.result(v) for v in call.outputs] + [f"{name_of(v.name)}_" for v in self.filled(call)]
            keeps = ["self._callbacks = [*self._callbacks, *call_.callbacks]"] if kept else []
            return keeps + ([f"return {', '.join(values)}"] if values else [])
        lasting = [f"{name_of(v.name)}._handle" for v in call.inputs if v.keeps]
        lasts = [f"own.keeps = [{', '.join(lasting)}]"] if lasting else []
        callbacks = ", callbacks=call_.callbacks" if kept or self.surface.copied_callbacks(call) else ""
        if call.kind == "constructor":
            asked = ", asked_" if self.asks(call) else callbacks
            return lasts + [f"self._take(own, {self.parent(call)}{asked})"]
        if call.kind == "static":
            return lasts + [f"return cls._made(own, {self.parent(call)}{callbacks})"]
        if made.borrows:
            return [f'return borrowed("{made.object}", result_, own, self)']
        return [f"return type(self)._made(own, {self.parent(call)})"]

    def asks(self, call):
        """Whether a class by hand looks at the options of a constructor."""
        return call.kind == "constructor" and call.owner in BASES and any(v.kind == "options" for v in call.inputs)

    def filled(self, call):
        """Buffers that are results."""
        views = VIEWS.get(call.name, {})
        inner = [f for v in call.inputs if v.kind == "options" for f in self.views_in(call, v)]
        return [v for v in call.inputs + inner if v.kind == "buffer" and views.get(v.name, "").startswith("(")]

    def call(self, call):
        first, more = self.parameters(call)
        results = [self.type_out(v) for v in call.outputs] + \
            ["Floats" if v.type == "float" else "Array" for v in self.filled(call)]
        result = "None" if not results else results[0] if len(results) == 1 else f"tuple[{', '.join(results)}]"
        head, name, this = "", self.call_name(call), "self"
        made = any(v.kind == "object" and not v.borrows for v in call.outputs)
        if call.kind == "constructor":
            name, result = "__init__", "None"
        elif call.kind == "static":
            head, this, result = "@classmethod\n", "cls: type[Self]", "Self"
        elif call.kind == "info":
            head = "@property\n"
        elif made:
            this, result = "self: Self", "Self"
        given = ([] if call.kind == "function" else [this]) + first + (["*", *more] if more else [])
        indent = "" if call.kind == "function" else "    "
        text = head + wrap(f"def {name}({', '.join(given)}) -> {result}:", "", "        ") + \
            self.doc(call.doc, "    ", f"{name}.") + textwrap.indent(self.body(call), "    ")
        return textwrap.indent(text, indent)
