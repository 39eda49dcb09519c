"""Writes the plain part of C#'s safe layer: classes, options and facts, and the functions that the library calls.

SPDX-License-Identifier: MIT
"""
import re

import languages
import surface as model
from gen_csharp_body import CREATED, Body
from gen_csharp_values import FILLED, Values
from gen_csharp_words import AMBIGUOUS, camel, enumeration_name, parameter, sentence, tagged, wrap

NOTE = "// Written by bindings/raw.py from include/ggufx; a test compares them.\n// SPDX-License-Identifier: MIT\n"
# Reasons of calls by hand that are none here: a span is memory of the caller.
VIEWS = {"views of the caller's memory", "state of the caller"}
LOCALS = {"e", "scope", "made", "result"}  # of generated code
STREAMS = {"WriteFunction": "Writer", "ReadFunction": "Reader"}  # functions of a Stream


class Writer(Values):
    def __init__(self, surface):
        self.surface = surface
        self.calls = [c for c in surface.calls if not self.is_hand(c)]
        names = surface.used_structs(self.calls)
        names += [p.type for c in self.calls for a in c.arguments for v in [a, *self.inner(a)] if self.is_told(v)
                  for p in v.parameters if p.type in surface.structs]
        for name in sorted(FILLED):
            if name in surface.structs:
                call = model.Value("options", "struct", struct=name)
                names += [n for n in self.inner_structs(call) if n not in names]
        self.read, self.written = surface.structs_by_way(self.calls)
        self.in_arrays = {"out": self.structs_in_arrays("out", self.read), "in": self.structs_in_arrays("in", self.written | FILLED)}
        self.structs = [n for n in surface.structs if n in names and not self.is_inner(n)]
        self.text_structs = [n for n in surface.structs if n in names and self.is_text(n)]
        self.by_name = {c.name: c for c in surface.calls}
        self.constants = {c: (e, m) for e in surface.enumerations.values() for m, c, _, _ in e.members}
        self.statuses = {m: f"Status.{languages.sharp_member('Status', m)}"
                         for m, _, _, _ in surface.enumerations["Status"].members if m not in AMBIGUOUS}
        self.members = {v.name: self.property(n, v) for n, struct in surface.structs.items() for v in struct.shown}
        self.delegates = {}  # name -> (result, parameters)
        self.thunks = {}  # name -> text

    def structs_in_arrays(self, way, names):
        """Names of the structs that stand in arrays which go this way; what a callback gets comes from the library."""
        values = [a for c in self.calls for a in c.arguments if a.way == way]
        values += [v for n in names if n in self.surface.structs for v in self.surface.structs[n].shown]
        if way == "out":
            given = [a for c in self.calls for a in c.arguments]
            given += [v for n in self.written for v in self.surface.structs[n].shown]
            values += [p for v in given for p in v.parameters or []]
        return {v.struct for v in values if v.kind == "structs"}

    def is_hand(self, call):
        fields = [f for v in call.arguments if v.kind in ("options", "struct", "structs")
                  for f in self.surface.structs[v.struct].fields]
        if call.hand in VIEWS:
            return any(v.kind in ("buffers", "address") or (v.kind == "structs" and any(
                f.kind == "buffer" for f in self.surface.structs[v.struct].fields)) for v in call.arguments)
        if call.hand == "a callback that is kept":
            return any(v.struct in FILLED for v in call.arguments) or any(v.kind == "address" for v in call.arguments + fields) or \
                not all(self.is_told(f) or f.optional for f in fields if f.kind == "callback")
        if call.hand == "hooks":
            hooks = [v for v in call.arguments if v.kind == "hook"]
            return not hooks or not all(self.function_of(v.struct) for v in hooks)
        return bool(call.hand)

    @staticmethod
    def is_told(v):
        """Whether a callback has a delegate in C#: it gets values, bytes and structs, and tells how to go on."""
        return v.kind == "callback" and v.type in ("void", "int32_t", "ggufx_status") and all(
            p.way != "out" and p.kind not in ("address", "array", "callback") for p in v.parameters) and bool(v.parameters)

    def inner_structs(self, value):
        found = []
        if value.struct and value.kind not in ("size", "progress"):
            found.append(value.struct)
            for more in self.surface.structs[value.struct].shown:
                if not self.surface.has_hook(more):
                    found += self.inner_structs(more)
        return found

    def is_text(self, name):
        return model.is_text_struct(self.surface.structs[name].c)

    def is_inner(self, name):
        return self.surface.structs[name].role == "hook" or self.is_text(name)

    # ---- calls -------------------------------------------------------------------------------------------------

    def bytes_overload(self, call):
        """The text of a call that may be cut anywhere: it is given as bytes, too."""
        texts = [v for v in call.inputs if v.kind == "text" and not v.json]
        return texts[0] if len(texts) == 1 and texts[0].name == "text" else None

    def default(self, v):
        if v.kind in ("array", "buffer"):
            return f"default({self.type_in(v)})"
        return "0" if v.kind == "number" else "null"

    def parameters(self, call):
        """[(declaration, name, value)] in the order of the signature: what may be left out comes last."""
        first, out, last = [], [], []
        for v in call.inputs:
            name = parameter(v.name)
            if v.kind == "progress":
                last += [("CancellationToken token = default(CancellationToken)", "token", None),
                         ("IProgress<Progress> progress = null", "progress", v)]
            elif v.optional or v.name == "flags":
                last.append((f"{self.type_in(v)} {name} = {self.default(v)}", name, v))
                last += [(f"{self.type_in(f)} {parameter(f.name)} = {self.default(f)}", parameter(f.name), f)
                         for f in self.buffers(v)]
            else:
                first.append((f"{'ref ' if v.kind == 'state' else ''}{self.type_in(v)} {name}", name, v))
        taken = {name for _, name, _ in first + last}
        for v in call.outputs[1:]:
            name = self.out_name(v, taken)
            out.append((f"out {self.type_out(v)} {name}", name, v))
        if not out and not last and first and first[-1][2].kind in ("structs", "texts", "objects"):
            name, v = first[-1][1:]
            first[-1] = (f"params {self.listed(v)}[] {name}", name, v)
        names = [name for _, name, _ in first + out + last]
        assert len(set(names)) == len(names) and not set(names) & LOCALS, (call.name, names)
        return first + out + last

    def buffers(self, v):
        """Memory of the caller in options: a span of its own."""
        return [f for f in self.surface.structs[v.struct].fields if f.kind == "buffer"] if v.kind == "options" else []

    @staticmethod
    def out_name(v, taken):
        name = parameter(v.name.removeprefix("out_"))
        return name if name not in taken else parameter(v.name)

    def body(self, call, given):
        return Body(self, call, given).text()

    def signature(self, call, given, name, result, modifiers=""):
        start = "" if call.kind != "function" or not given or not given[0][2] or not given[0][2].enumeration else "this "
        return wrap(f"public {modifiers}{result}{name}({start}{', '.join(d for d, _, _ in given)})", "        ")

    def is_property(self, call):
        """Facts, and what cannot fail."""
        return not call.inputs and (call.kind == "info" or (
            not call.fails and len(call.outputs) == 1 and (call.this is None or not call.this.exclusive)))

    def call(self, call):
        given = self.parameters(call)
        doc = self.contract(call, [(n, v) for _, n, v in given], "        ")
        result = (self.type_out(call.outputs[0]) if call.outputs else "void") + " "
        static = "static " if call.kind in ("static", "function") else ""
        body = self.body(call, given)
        if call.kind == "constructor":
            return doc + self.signature(call, given, self.class_name(call.owner), "") + f"        {{\n{body}        }}\n"
        if self.is_property(call):
            lines = body.split("\n")[:-1]
            if len(lines) == 1:
                return doc + f"        public {static}{result}{camel(call.words)} {{ get {{ {lines[0].strip()} }} }}\n"
            inner = "".join("    " + line + "\n" if line else "\n" for line in lines)
            return doc + f"        public {static}{result}{camel(call.words)}\n        {{\n            get\n            {{\n{inner}" + \
                "            }\n        }\n"
        text = doc + self.signature(call, given, camel(call.words), result, static) + f"        {{\n{body}        }}\n"
        if v := self.bytes_overload(call):
            bytes_ = self.retyped(given, v, "string", "ReadOnlySpan<byte>")
            text = doc + self.signature(call, given, camel(call.words), result, static) + \
                self.passed_on(call, given, {v.name: "Native.Bytes({})"}) + "\n" + \
                tagged("summary", "The same for UTF-8, which may be cut anywhere.", "        ") + \
                self.signature(call, bytes_, camel(call.words), result, static) + \
                f"        {{\n{Body(self, call, bytes_, v).text()}        }}\n"
        for v in call.inputs:
            if v.kind == "callback" and (make := STREAMS.get(kind := self.delegate(v))):
                text += "\n" + tagged("summary", "The same with a stream, which stays the caller's.", "        ") + \
                    self.signature(call, self.retyped(given, v, kind, "Stream"), camel(call.words), result, static) + \
                    self.passed_on(call, given, {v.name: f"Streams.{make}({{}})"})
        if any(v.two_call and v.kind == "bytes" for v in call.outputs):
            text += "\n" + tagged("summary", "The same as a string; invalid UTF-8 is replaced.", "        ") + \
                self.signature(call, given, camel(call.words) + "Text", "string ", static) + \
                self.passed_on(call, given, {}, "Encoding.UTF8.GetString({})")
        return text

    @staticmethod
    def retyped(given, value, before, after):
        """The parameters of an overload: one of them has another type."""
        return [(d.replace(before, after, 1) if v is value else d, n, v) for d, n, v in given]

    @staticmethod
    def passed_on(call, given, changed, result="{}"):
        """The body of an overload: it makes other arguments, or another result, of its own."""
        passed = ", ".join(re.match("(?:out |ref )?", d)[0] + changed.get(v and v.name, "{}").format(n) for d, n, v in given)
        called = result.format(f"{camel(call.words)}({passed})")
        return "        {\n" + wrap(f"{'return ' if call.outputs else ''}{called};", "            ") + "        }\n"

    # ---- lists -------------------------------------------------------------------------------------------------

    def lists(self, calls, lists):
        """Enumerations of what calls describe by an index: as many as a call or a fact counts, or until one is null."""
        facts = next((self.surface.structs[c.outputs[0].struct].shown for c in calls if c.kind == "info"), [])
        static = "static " if calls and not calls[0].owner else ""
        found = [(x.at, x.words, f"i < {camel(x.count.words)}") for x in lists if x.at]
        for c in calls:
            words = c.words[:-1]
            if c.words[-1] == "at" and any(v.name == f"n_{self.plural(words)}" for v in facts):
                found.append((c, words, f"i < (long)Info.{camel(self.plural(words).split('_'))}"))
            if [v.kind for v in c.outputs] == ["string"] and c.result.optional and [v.name for v in c.inputs] == ["index"]:
                found.append((c, c.words, f"{camel(c.words)}(i) != null"))
        for c, words, more in found:
            yield ("\n" + tagged("summary", f"Results of {camel(c.words)}, in order.", "        ") +
                   f"        public {static}IEnumerable<{self.type_out(c.outputs[0])}> {camel(self.plural(words).split('_'))}\n        {{\n"
                   f"            get {{ for (long i = 0; {more}; i++) yield return {camel(c.words)}(i); }}\n        }}\n")

    @staticmethod
    def plural(words):
        return re.sub(r"y$", "ie", "_".join(words)) + "s"

    # ---- files -------------------------------------------------------------------------------------------------

    def cls(self, c):
        name, handle = self.class_name(c.c), self.handle(c.c)
        doc = sentence(self.told(c.doc, {})) or camel(c.words) + "."
        if c.mutable:
            doc += " A call that changes it is exclusive: another one at the same time fails with Status.State."
        text = tagged("summary", doc, "    ") + f"    public sealed unsafe partial class {name} : IDisposable\n    {{\n"
        text += f"        private readonly {handle} _made;\n\n"
        if not any(x.kind == "constructor" for x in self.generated(c)) or self.is_made(c.c):
            text += f"        internal {name}({handle} made) {{ _made = made; }}\n\n"
        text += f"        internal {handle} Handle {{ get {{ return _made.Live(this); }} }}\n\n"
        text += tagged("summary", "Closes it, without waiting: a call that runs on another thread ends with its result and frees it.",
                       "        ") + "        public void Dispose() { _made.Dispose(); }\n"
        for x in self.generated(c):
            if x.name in CREATED:
                given = ", ".join(f"{self.type_in(v)} {parameter(v.name)}" for v in x.inputs)
                text += f"\n        partial void Created({given});\n"
        calls = self.generated(c)
        return text + "".join("\n" + self.call(x) for x in calls) + "".join(self.lists(calls, c.lists)) + "    }\n"

    def generated(self, c):
        return [x for x in c.calls if x in self.calls]

    def is_made(self, c):
        return any(v.object == c and x.kind != "constructor" for x in self.surface.calls for v in x.outputs)

    def classes(self):
        parts = [self.cls(c) for c in self.surface.classes.values()]
        calls = [c for c in self.surface.functions if c in self.calls]
        functions = [*map(self.call, calls), "".join(self.lists(calls, self.surface.lists)).lstrip("\n")]
        parts.append(tagged("summary", "Calls that need no object.", "    ") +
                     "    public static unsafe partial class Library\n    {\n" + "\n".join(functions) + "    }\n")
        return self.file(parts)

    def values(self):
        parts = [self.struct(s) for s in self.structs]
        if self.text_structs:
            parts.append("    internal sealed unsafe partial class Scope\n    {\n" +
                         "\n".join(self.text_struct(s) for s in self.text_structs) + "    }\n")
        return self.file(parts)

    def enumerations(self):
        parts, taken = [], set()
        for e in self.surface.enumerations.values():
            taken |= {c for _, c, _, _ in e.members}
            text = self.summary(e.doc, {}, "    ", f"{enumeration_name(e.name)}.") + ("    [Flags]\n" if e.flags else "")
            text += f"    public enum {enumeration_name(e.name)} : {languages.SHARP[e.type]}\n    {{\n"
            if e.flags:
                text += tagged("summary", "No flag.", "        ") + "        None = 0,\n"
            for member, c, value, doc in e.members:
                text += self.summary(doc, {}, "        ", f"{c}.") + \
                    f"        {languages.sharp_member(e.name, member)} = {value},\n"
            parts.append(text + "    }\n")
        text = tagged("summary", "Numbers with a meaning of their own.", "    ") + "    public static class Constants\n    {\n"
        for c in self.surface.api.constants.values():
            if c.name not in taken and c.name != "GGUFX_NONE":  # which is null
                name = camel(w.capitalize() for w in c.name.removeprefix("GGUFX_").split("_"))
                text += self.summary(c.doc, {}, "        ", f"{c.name}.") + f"        public const uint {name} = {c.value};\n"
        return self.file([*parts, text + "    }\n"])

    def callbacks(self):
        self.classes(), self.values()
        progress = self.surface.structs["ggufx_progress"]
        self.thunk(progress.shown[0], progress.words)
        hooks = {self.struct_name(n): n for n in self.surface.structs if self.function_of(n)}
        parts = []
        for name, given in self.delegates.items():
            doc = ("Fills data as a whole; an exception ends the call." if "(Span<byte>" in given else
                   "Takes data; an exception ends the call." if given.startswith("void") else
                   "Changes the elements; false or an exception ends the call.")
            if name in hooks:
                doc = self.told(self.hook_doc(hooks[name]), {}) + " An exception ends the call."
            parts.append(tagged("summary", doc, "    ") + f"    public delegate {given.format(name)};\n")
        thunks = "\n".join(self.thunks.values())
        parts.append("    /// The functions of a program, as the library calls them.\n"
                     f"    internal static unsafe class Callbacks\n    {{\n{thunks}    }}\n")
        return self.file(parts)

    @staticmethod
    def file(parts):
        text = "\n".join(parts)
        needs = {"System": r"IDisposable|IntPtr|Span<|Func<|IProgress|\[Flags\]", "System.Collections.Generic": r"IReadOnlyList|IDictionary|IEnumerable",
                 "System.IO": r"\bStream \w",
                 "System.Runtime.InteropServices": r"UnmanagedFunctionPointer|MemoryMarshal|StructLayout",
                 "System.Text": r"Encoding\.", "System.Threading": r"CancellationToken"}
        using = "".join(f"using {n};\n" for n, pattern in needs.items() if re.search(pattern, text))
        return f"{NOTE}#pragma warning disable 1573 // parameters whose names tell enough\n{using}\nnamespace Ggufx\n{{\n{text}}}\n"


def files(surface):
    writer = Writer(surface)
    return {"bindings/csharp/src/Classes.g.cs": writer.classes, "bindings/csharp/src/Values.g.cs": writer.values,
            "bindings/csharp/src/Callbacks.g.cs": writer.callbacks, "bindings/csharp/src/Enums.g.cs": writer.enumerations}
