"""Writes the plain part of Go's safe layer: classes, structs, and the functions that C calls.

SPDX-License-Identifier: MIT
"""
import re

import surface as model
from gen_go_structs import Structs
from gen_go_words import (
    NOTE, WIDTH, aligned, comment, go_function, indented, lower, named, one_statement, words, wrapped)
from roles import base_of


class Writer(Structs):
    def prepare(self, call, v):
        """(statements before the call, the argument in C)"""
        n, c = lower(v.name), "c" + words(v.name)
        if v.kind == "error":
            return [], "run.e"
        if v.kind == "user":
            return [], self.user_of(call, v)
        if v.way == "derived":
            several = [lower(a.name) for a in call.arguments if a.name in v.arrays and a.way == "in" and v.kind == "length"]
            if len(several) > 1:
                lens = ", ".join(f"len({a})" for a in several)
                return [f'{c} := C.{base_of(v.type)}(run.same("{", ".join(several)}", {lens}))'], c
            return [], self.derived(call, v)
        if v.way == "out":
            return self.prepare_output(call, v, n)
        if v.kind == "number":
            if v.type == "size_t":
                return [f'{c} := run.size("{n}", {n})'], c
            return [], f"C.{v.type}({n})"
        if v.kind == "bool":
            return [], f"flag({n})"
        if v.kind in ("string", "path"):
            return [f"{c} := run.{'optional' if v.optional else 'text'}({n})"], c
        if v.kind == "text":
            return [], f"{'optionalChars' if v.optional else 'chars'}({n})"
        if v.kind == "bytes":
            return [], f"address({n})" if base_of(v.c.type) == "void" else f"(*C.{base_of(v.c.type)})(address({n}))"
        if v.kind in ("array", "buffer"):
            check = self.length_check(call, v, n)
            return check, f"address({n})" if v.type == "void" else f"(*C.{base_of(v.c.type)})(address({n}))"
        if v.kind == "object":
            how = self.use(v, call)
            at = self.receiver(v.object) if v is self.home(call) else n
            if v.optional:
                return [f"var {c} *C.{v.object}", f"if {at} != nil {{\n\t{c} = {at}.enter(run, {how})\n}}"], c
            return [f"{c} := {at}.enter(run, {how})"], c
        if v.kind == "objects":
            return [f"{c} := objects[C.{v.object}](run, {n})"], c
        if v.kind in ("options", "struct", "state"):
            return [f"{c} := one[C.{v.struct}](run, {n})", *self.struct_checks(call, v, n)], c
        if v.kind == "structs":
            return [f"{c} := list[C.{v.struct}](run, {n})"], c
        if v.kind == "texts" and v.struct:
            return [f"{c} := (*C.{v.struct})(run.texts({n}))"], c
        if v.kind == "texts":
            return [f"{c}, {c}Lengths := run.textArrays({n})"], c
        if v.kind == "progress":
            return ["progress := run.watch(watch)"], "progress"
        if v.kind == "callback":
            keep = "keep" if v.kept else "callback"
            lines = [f"{c}, {c}User := run.{keep}({n}, C.{self.thunk(v)})"]
            if v.optional:
                lines = [f"var {c} *[0]byte", f"var {c}User unsafe.Pointer",
                         f"if {n} != nil {{\n\t{c}, {c}User = run.{keep}({n}, C.{self.thunk(v)})\n}}"]
            else:
                lines.insert(0, f'if {n} == nil {{\n\treturn {self.failed(call, "argument(" + chr(34) + n + " is nil" + chr(34) + ")")}\n}}')
            return lines, c
        raise ValueError(v)

    def failed(self, call, error):
        kinds = [self.type_out(v) for v in call.outputs]
        return ", ".join([self.zero(k) for k in kinds] + [error])

    def user_of(self, call, v):
        own = next(a for a in call.arguments if a.kind in ("callback", "destroy") and a.c.meaning.get("user") == v.name)
        return f"c{words(own.name)}User"

    def length_of(self, call, expression):
        """An expression of Go for the length of an array: of numbers of the call."""
        names = {a.name: a for a in call.arguments}

        def one(m):
            a = names.get(m[1])
            if a is None:
                assert m[1] in self.remembered(call.owner), (call.name, m[1])
                return f"int({self.receiver(call.owner)}.{lower(m[1])})"
            if a.way == "derived":
                known = next(x for x in call.arguments if x.name in a.arrays and x.way == "in")
                return f"len({lower(known.name)})"
            return lower(a.name) if a.type == "size_t" else f"int({lower(a.name)})"
        if summed := re.fullmatch(r"sum\((\w+)\)", expression):
            return f"sum({lower(summed[1])})"
        text = re.sub(r"\b([a-z]\w*)\b", one, expression)
        return f"product({text.replace(' * ', ', ')})" if " * " in text else text

    def length_check(self, call, v, n):
        told = next((a for a in call.arguments if a.name == v.length and a.way == "derived"), None)
        if told or not v.length:
            return []
        missing = f"{n} == nil" if v.optional else "false"
        return [f'run.equal("{n}", len({n}), {missing}, {self.length_of(call, v.length)})']

    def struct_checks(self, call, v, n):
        """Arrays of options whose length is a number of the call."""
        known = {a.name for a in call.arguments}
        for f in self.shown(v.struct):
            if f.kind == "array" and f.length in known and f.length not in {x.name for x in self.surface.structs[v.struct].fields}:
                at = f"{n}.{self.fields[v.struct][f.name]}"
                yield (f'if {n} != nil {{\n\trun.equal("{self.fields[v.struct][f.name]}", len({at}), {at} == nil, '
                       f"{self.length_of(call, f.length)})\n}}")

    def derived(self, call, v):
        arrays = [a for a in call.arguments if a.name in v.arrays]
        if v.kind == "lengths":
            return f"c{words(arrays[0].name)}Lengths"
        if v.kind == "capacity":
            return f"C.{v.type}(len({lower(arrays[0].name)}))"
        if v.kind == "needed":
            return lower(v.name)
        known = [a for a in arrays if a.way == "in"]
        if not known:  # of a text that is borrowed
            return f"{lower(arrays[0].name)}Length"
        return f"C.{base_of(v.type)}(len({lower(known[0].name)}))"

    def prepare_output(self, call, v, n):
        if v.kind == "object":
            return [f"made := slot[*C.{v.object}](run)"], "made"
        if v.kind == "facts":
            lines = [f"var {n} C.{v.struct}"]
            if self.surface.structs[v.struct].sized:
                lines.append(f"{n}.struct_size = C.uint32_t(unsafe.Sizeof({n}))")
            return lines, f"&{n}"
        if v.two_call:
            return self.two_call(call, v, n)
        if v.kind == "array":
            return [f"{n} := make([]{self.element(v)}, {self.length_of(call, v.length)})"], f"(*C.{v.type})(address({n}))"
        if v.kind == "text":
            return [f"{n} := slot[C.ggufx_text](run)"], n
        return [f"{n} := slot[C.{v.type}](run)"], n

    def two_call(self, call, v, n):
        start = "+".join(["1024", *[f"8*len({lower(a.name)})" if v.kind in ("text", "bytes") else f"len({lower(a.name)})"
                                      for a in call.inputs if a.kind in ("text", "array") and not a.optional]])
        needed = self.needed(call, v)
        lines = []
        if needed and needed.arrays[0] == v.name:
            lines.append(f"{lower(needed.name)} := slot[C.size_t](run)")
        if v.kind == "structs":
            zeros = f"{n} := make([]C.{v.struct}, 64)"
            sized = self.surface.structs[v.struct].sized
            return [*lines, zeros, *([f"sizes({n})"] if sized else [])], f"(*C.{v.struct})(address({n}))"
        kind = "byte" if v.kind in ("text", "bytes") else self.element(v)
        c = "char" if v.kind in ("text", "bytes") else v.type
        return [*lines, f"{n} := make([]{kind}, {start})"], f"(*C.{c})(address({n}))"

    def result(self, v, call=None):
        n = lower(v.name)
        if v.two_call:
            cut = f"{n}[:*{lower(self.needed(call, v).name)}]"
            if v.kind == "structs":
                return f"structsOf(&{n}[0], int(*{lower(self.needed(call, v).name)}), {go_function(self.struct_name(v.struct))})"
            return f"string({cut})" if v.kind in ("text", "bytes") else cut
        if v.kind == "number":
            return f"{self.number(v)}(*{n})"
        if v.kind == "bool":
            return f"*{n} != 0"
        if v.kind == "facts":
            return f"{go_function(self.struct_name(v.struct))}(&{n})"
        if v.kind == "text":
            return f"string(view({n}.data, {n}.size))"
        return n

    def plain_result(self, v, invoked):
        if v.kind == "bool":
            return f"{invoked} != 0"
        if v.kind == "string":
            return f"C.GoString({invoked})"
        return f"{self.number(v)}({invoked})"

    def made(self, call, v):
        """The object that a call made."""
        go = self.class_name(v.object)
        parent = self.home(call)
        keeps = [p for p in call.arguments if p.kind == "object" and p.way == "in" and
                 (p.keeps or (p is parent and call.kind == "constructor"))]
        holds = "".join(f", {self.receiver(p.object) if p is parent else lower(p.name)}.handle" for p in keeps)
        same = f"{self.receiver(parent.object)}.handle" if parent and parent.object == v.object else "nil"
        hold = f"run.hold(unsafe.Pointer(*made), destroy{go}, {same}{holds})"
        numbers = self.remembered(v.object) if call.kind == "constructor" else {}
        return f"&{go}{{{', '.join([hold, *(lower(n) for n in numbers)])}}}"

    def together(self, call, made):
        """The object whose lock a new one shares."""
        other = self.surface.classes[made.object].together
        found = next((v for v in call.arguments if v.kind == "object" and v.way == "in" and v.object == other), None)
        return found and (self.receiver(other) if found is self.home(call) else lower(found.name))

    def gives_error(self, call):
        return call.fails or call.result is None or call.result.type == "int32_t" and call.result.kind == "number"

    def keeps_callbacks(self, call):
        return any((v.kind == "callback" and v.kept) or (v.kind in ("options", "struct") and any(
            f.kind == "callback" and f.kept for f in self.shown(v.struct))) for v in call.arguments)

    def signature(self, call):
        home = self.home(call)
        given = []
        for v in call.arguments:
            if v.way == "in" and v is not home:
                given.append(("watch" if v.kind == "progress" else lower(v.name), self.type_in(v)))
        # Neighbours of one type share it.
        parts = []
        for i, (n, kind) in enumerate(given):
            parts.append(n if i + 1 < len(given) and given[i + 1][1] == kind else f"{n} {kind}")
        results = [(lower(v.name.removeprefix("out_")) if v.name != "out" else "", self.type_out(v)) for v in call.outputs]
        kinds = [k for _, k in results] + (["error"] if self.gives_error(call) else [])
        if len(results) > 1:
            taken = {n for n, _ in given}
            out = ", ".join(f"{'text' if not n else n + 'Value' if n in taken else n} {k}" for n, k in results)
            back = f"({out}, err error)"
        else:
            back = f"({', '.join(kinds)})" if len(kinds) > 1 else kinds[0]
        on = f"({self.receiver(home.object)} *{self.class_name(home.object)}) " if home else ""
        names = [n for n, _ in given]
        assert not home or self.receiver(home.object) not in names, call.name
        return f"func {on}{self.call_name(call)}({', '.join(parts)}) {back} {{"

    def call(self, call):
        home = self.home(call)
        order = sorted(call.arguments, key=lambda v: (v.way == "out", v is not home))
        before, after = [], []
        for v in order:
            lines, _ = self.prepare(call, v)
            (after if v.way == "out" else before).extend(lines)
        arguments = [self.prepare(call, v)[1] for v in call.arguments]
        invoked = f"C.{call.name}({', '.join(arguments)})"
        uses = call.fails or any("run" in line for line in before)
        lines = ["run := begin()", "defer run.end()"] if uses else []
        first = [v for v in call.arguments if v.kind == "callback"]
        lines = [line for line in before if first and line.startswith("if ") and "== nil" in line] + lines + \
            [line for line in before if not (first and line.startswith("if ") and "== nil" in line)]
        failed = self.failed(call, "run.err")
        if not self.gives_error(call):
            failed = self.zero(self.type_out(call.result))
        if before:
            lines.append(f"if run.err != nil {{\n\treturn {failed}\n}}")
        if home and any(re.search(rf"\b{self.receiver(home.object)}\.n[A-Z]", line) for line in before):
            lines.insert(3, lines[-1])  # the receiver may be nil
        lines += after
        lines += self.ending(call, invoked)
        body = "".join(wrapped(line, 1) if "\n" not in line else indented(line, 1) for line in lines)
        return "\n" + self.call_doc(call) + wrapped(self.signature(call), 0) + body + "}\n"

    def ending(self, call, invoked):
        twos = [v for v in call.outputs if v.two_call]
        values = [self.result(v, call) for v in call.outputs if v.name != "result" and v.kind != "object"]
        if twos:
            zeros = self.failed(call, "err")
            grow = [f"grow(&{lower(v.name)}, int(*{lower(self.needed(call, v).name)}), err)" for v in twos]
            again = [f"if !{grow[0]} {{\n\t\treturn {zeros}\n\t}}"] if len(grow) == 1 else [
                f"grown := {grow[0]}", f"if !{grow[1]} && !grown {{\n\t\treturn {zeros}\n\t}}"]
            again += [f"sizes({lower(v.name)})" for v in twos if v.kind == "structs" and self.surface.structs[v.struct].sized]
            done = wrapped(f"err := run.done({invoked})", 1).rstrip("\n")
            kept = "".join(f"\t\t*{lower(v.name)} = {go_function(self.struct_name(v.struct))}(c{words(v.name)})\n"
                           for v in call.inputs if v.kind == "state")
            return ["for {\n" + done + f"\n\tif err == nil {{\n{kept}\t\treturn {', '.join(values)}, nil\n\t}}\n\t" +
                    "\n\t".join(again) + "\n}"]
        made = next((v for v in call.outputs if v.kind == "object"), None)
        if call.fails:
            keep = [f"run.adopt({self.receiver(self.home(call).object)}.handle)"] if self.keeps_callbacks(call) and not made else []
            if not values and not made and not keep:
                return [f"return run.done({invoked})"]
            good = [self.made(call, made)] if made else values
            if made and (other := self.together(call, made)):
                keep.append(f"run.together = {other}.handle")
            if call.kind == "constructor":
                for n, (options, f) in self.remembered(made.object).items():
                    o = lower(options.name)
                    keep += [f"var {lower(n)} {self.number(f)}",
                             f"if {o} != nil {{\n\t{lower(n)} = {o}.{self.fields[options.struct][n]}\n}}"]
            head = [f"if err := run.done({invoked}); err != nil {{\n\treturn {self.failed(call, 'err')}\n}}"]
            if len(head[0].split("\n")[0]) > WIDTH - 4:
                head = [f"err {'=' if len(call.outputs) > 1 else ':='} run.done({invoked})", f"if err != nil {{\n\treturn {self.failed(call, 'err')}\n}}"]
            return head + keep + [f"return {', '.join([*good, 'nil'])}"]
        if call.result is None:
            return [invoked, "return nil"]
        if call.result.kind == "object":  # of the receiver
            go, owner = self.class_name(call.result.object), self.home(call)
            handle = (f"handle{{p: unsafe.Pointer(p), owner: {self.receiver(owner.object)}.handle, "
                      f'owned: "{go.lower()}\'s {" ".join(self.surface.classes[owner.object].words)}"}}')
            return [f"p := {invoked}", "if p == nil {\n\treturn nil\n}", f"return &{go}{{&{handle}}}"]
        value = self.plain_result(call.result, invoked)
        return [f"return {value}{', nil' if self.gives_error(call) else ''}"]

    def cls(self, c):
        go, r = self.class_name(c.c), self.receiver(c.c)
        doc = comment(named(go, self.told(c.doc, {})))
        what = " ".join(c.words)
        what = what.replace("kv ", "KV ")
        remembered = aligned([("", lower(n), self.number(f)) for n, (_, f) in self.remembered(c.c).items()])
        fields = f" {{\n\t*handle\n{remembered}}}" if remembered else "{ *handle }"
        return (f"\n{doc}type {go} struct{fields}\n"
                f"\n// Close lets go of the {what}. Calls that run end well; may be called again.\n"
                f"func ({r} *{go}) Close() error {{\n\tif {r} == nil {{\n\t\treturn nil\n\t}}\n\treturn {r}.close()\n}}\n"
                f"\nfunc ({r} *{go}) enter(run *running, how use) *C.{c.c} {{\n\tif {r} == nil {{\n"
                f'\t\trun.fail(argument("the {what} is nil"))\n\t\treturn nil\n\t}}\n'
                f'\treturn (*C.{c.c})(run.enter({r}.handle, "{what}", how))\n}}\n'
                f"\n{one_statement(f'func destroy{go}(p unsafe.Pointer)', f'C.{c.c}_destroy((*C.{c.c})(p))')}")

    def classes(self):
        text = ""
        for c in self.surface.classes.values():
            text += self.cls(c)
            text += "".join(self.call(x) for x in self.calls if (h := self.home(x)) and h.object == c.c)
        text += "".join(self.call(x) for x in self.calls if not self.home(x))
        io = 'import (\n\t"io"\n\t"unsafe"\n)\n' if re.search(r"\bio\.", text) else 'import "unsafe"\n'
        return NOTE + '\npackage ggufx\n\n// #include "safe.h"\nimport "C"\n\n' + io + text


def files(surface):
    own = model.read(surface.api)  # other writers mark the calls that they have by hand

    def made(part):
        return lambda: getattr(Writer(own), part)()
    return {"bindings/go/structs_safe.go": made("structs"), "bindings/go/objects_safe.go": made("classes"),
            "bindings/go/callbacks_safe.go": made("callbacks"), "bindings/go/safe.h": made("header")}

