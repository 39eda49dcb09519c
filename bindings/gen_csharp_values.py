"""Options, facts and callbacks in C#, for gen_csharp.py.

SPDX-License-Identifier: MIT
"""
import re

import languages
import surface as model
from gen_csharp_words import Words, camel, enumeration_name, field, name_words, parameter, sentence, sharp, tagged, wrap

# Structs that code by hand fills, beside those of generated calls.
FILLED = {"ggufx_runtime_options"}


class Values(Words):
    """Types of values, structs, and the functions that the library calls."""

    # ---- types -------------------------------------------------------------------------------------------------

    def element(self, v):
        return enumeration_name(v.enumeration) or sharp(v.type)

    def is_mapping(self, struct):
        return [(v.name, v.kind) for v in self.surface.structs[struct].shown] == [("key", "string"), ("value", "string")]

    def listed(self, v):
        """The type of an element of a list."""
        if v.kind == "structs":
            return self.struct_name(v.struct)
        return self.class_name(v.object) if v.kind == "objects" else "string"

    def type_in(self, v):
        if v.kind == "number":
            kind = enumeration_name(v.enumeration) or sharp(v.type)
            return kind + "?" if v.none else kind
        if v.kind == "array":
            return f"ReadOnlySpan<{self.element(v)}>"
        if v.kind == "buffer":
            return f"Span<{'byte' if v.type == 'void' else self.element(v)}>"
        if v.kind in ("structs", "texts", "objects"):
            if v.kind == "structs" and self.is_mapping(v.struct):
                return "IDictionary<string, string>"
            return f"IReadOnlyList<{self.listed(v)}>"
        if v.kind == "object":
            return self.class_name(v.object)
        if v.kind in ("options", "struct", "state"):
            return self.struct_name(v.struct)
        if v.kind == "callback":
            return self.delegate(v)
        if v.kind == "hook":
            return self.hook_type(v.struct)
        return {"bool": "bool", "string": "string", "path": "string", "text": "string", "bytes": "ReadOnlySpan<byte>",
                "values": "Array"}[v.kind]

    def type_out(self, v):
        if v.kind == "number":
            return (enumeration_name(v.enumeration) or sharp(v.type)) + ("?" if v.none else "")
        if v.kind == "array":
            return self.element(v) + "[]"
        if v.kind in ("facts", "struct"):
            return self.struct_name(v.struct)
        if v.kind == "structs":
            return self.struct_name(v.struct) + "[]"
        if v.kind == "object":
            return self.class_name(v.object)
        return {"bool": "bool", "string": "string", "path": "string", "text": "string", "bytes": "byte[]"}[v.kind]

    # ---- callbacks ---------------------------------------------------------------------------------------------

    def passes_data(self, v):
        """Whether a callback takes or fills bytes: it fails by an exception alone."""
        return any(p.kind == "bytes" or p.kind == "buffer" and p.type == "void" for p in v.parameters)

    def spanned(self, p):
        """The type of memory that a callback gets."""
        kind = self.struct_name(p.type) if p.type in self.surface.structs else "byte"
        return f"{'Span' if p.kind == 'buffer' else 'ReadOnlySpan'}<{kind}>"

    def delegate(self, v, name=""):
        """The type of a callback to a user; one of its own gets the name."""
        shown = [p for p in v.parameters if p.way != "derived"]
        if not any(p.kind in ("bytes", "buffer") for p in shown):
            types = [self.type_out(p) for p in shown]
            return f"Action<{', '.join(types)}>" if v.type == "void" else f"Func<{', '.join([*types, 'bool'])}>"
        given = ", ".join(f"{self.spanned(p) if p.kind in ('bytes', 'buffer') else self.type_out(p)} {parameter(p.name)}"
                          for p in shown)
        given = f"{'void' if self.passes_data(v) or v.type == 'void' else 'bool'} {{}}({given})"
        name = name or camel(v.name.split("_")) + "Function"
        if self.delegates.get(name, given) != given:
            name = camel(p.name for p in shown if p.kind not in ("bytes", "buffer")) + name
        self.delegates[name] = given
        return name

    def function_of(self, name):
        """The one function of a hook that the library destroys: C# takes it alone. None of other structs."""
        struct = self.surface.structs[name]
        alone = struct.role == "hook" and len(struct.shown) == 1 and any(v.kind == "destroy" for v in struct.fields)
        return struct.shown[0] if alone and self.is_told(struct.shown[0]) else None

    def hook_type(self, name):
        return self.delegate(self.function_of(name), self.struct_name(name))

    def hook_doc(self, name):
        """The comment of a hook, as that of its function."""
        doc = model.tidy(self.surface.structs[name].doc)
        return re.sub(rf"(?<=\.)(\s+){self.function_of(name).name}\b", r"\1It", doc)

    def hook(self, name, value):
        """The hook of a function: the library destroys it, also after a failure of the call."""
        f, native = self.function_of(name), self.native(name)
        thunk = self.thunk(f, self.surface.structs[name].words, self.hook_type(name))
        return (f"new {native} {{ struct_size = (uint)sizeof({native}), {f.c.meaning['user']} = new Callback({value}).User, "
                f"{field(f.name)} = {thunk}, destroy = Functions.Destroy }}")

    def thunk(self, v, where, kind=""):
        """The function in C# whose address the library gets."""
        kind = kind or self.delegate(v)
        name = kind.removesuffix("Function") if kind.endswith("Function") else camel(where) + camel(v.name.split("_"))
        if name in self.thunks:
            return "Callbacks." + name
        raw = [p for p in v.c.parameters if p.name != "user"]
        head = ", ".join(["void* user", *[f"{self.raw_type(p)} {parameter(p.name)}" for p in raw]])
        lengths = {p.name: f"checked((int){parameter(p.name)})" for p in v.parameters if p.kind == "length"}
        given = ", ".join(self.passed(p, lengths) for p in v.parameters if p.way != "derived")
        result = "void" if v.type == "void" else "int"
        run = f"(({kind})callback.Function)({given})"
        if self.passes_data(v):
            run, failed, fine = f"{run};", "callback.Failed(e)", "return (int)Status.Ok;"
        elif v.type == "void":
            run, failed, fine = f"{run};", "", ""
        else:
            run, failed, fine = f"return {run} ? (int)Status.Ok : (int)Status.Cancelled;", "callback.Ended(e)", ""
        stop = "return;" if v.type == "void" else "return (int)Status.Cancelled;"
        body = (f"            var callback = Callback.Of(user);\n            if (callback.Stopped) {stop}\n            try\n            {{\n" +
                wrap(run, "                ") + (f"                {fine}\n" if fine else "") +
                "            }\n" + (f"            catch (Exception e)\n            {{\n                return {failed};\n            }}\n"
                                       if failed else "            catch (Exception) { } // a message is not worth the program\n"))
        self.thunks[name] = (
            "        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]\n" +
            wrap(f"private delegate {result} {name}Fn({head});", "        ") +
            f"        internal static readonly IntPtr {name} = Functions.Keep(new {name}Fn(On{name}));\n\n"
            f"        [MonoPInvokeCallback(typeof({name}Fn))]\n" +
            wrap(f"private static {result} On{name}({head})", "        ") + f"        {{\n{body}        }}\n")
        return "Callbacks." + name

    def raw_type(self, p):
        return languages.sharp_type(p.type, set(self.surface.classes), True)

    def passed(self, p, lengths):
        """A parameter of a callback as C# has it."""
        n = parameter(p.name)
        if p.kind == "number":
            kind = enumeration_name(p.enumeration) or sharp(p.type)
            return n if kind == languages.SHARP[p.type] else f"({kind}){n}"
        if p.kind in ("bytes", "buffer"):
            return f"new {self.spanned(p)}({n}, {lengths[p.length]})"
        if p.kind == "text":
            return f"Native.Text({n}, {parameter(p.length)})"
        if p.kind == "string":
            return f"Native.Text({n})"
        if p.kind == "facts":
            return f"new {self.struct_name(p.struct)}({n})"
        if p.kind == "structs":
            return f"{self.struct_name(p.struct)}.All({n}, {lengths[p.length]})"
        raise ValueError(p)

    # ---- structs -----------------------------------------------------------------------------------------------

    def fields_in(self, name):
        """What a user sets; hooks of several functions and functions of other forms are added by hand."""
        users = [v.c.meaning["user"] for v in self.surface.structs[name].shown if v.kind == "callback"]
        return [v for v in self.surface.structs[name].shown if
                (not self.surface.has_hook(v) or self.function_of(v.struct)) and
                (self.is_told(v) and self.is_followed(name) and users.count(v.c.meaning["user"]) == 1
                 if v.kind == "callback" else v.kind not in ("buffer", "address"))]

    def is_followed(self, name):
        """Whether a generated call takes the struct: its callbacks run in that call."""
        return any(v.struct == name for c in self.calls for a in c.arguments for v in [a, *self.inner(a)])

    def inner(self, v):
        return self.surface.structs[v.struct].shown if v.struct and v.kind in ("options", "struct") else []

    def is_read(self, name):
        return name in self.read

    def is_written(self, name):
        return name in self.written or name in FILLED

    def is_facts(self, name):
        """Whether a struct only comes from the library."""
        return self.surface.structs[name].role == "facts" or (self.is_read(name) and not self.is_written(name))

    def needs_scope(self, name):
        return any(v.kind not in ("number", "bool") for v in self.fields_in(name))

    def type_among(self, v, struct):
        """The name of a struct's type, which a property of another type may hide."""
        hidden = any(self.property(struct, o) == self.struct_name(v.struct) and o.struct != v.struct
                     for o in self.surface.structs[struct].shown)
        return ("Ggufx." if hidden else "") + self.struct_name(v.struct)

    def from_native(self, struct, v):
        """An expression of C# for a field that the library has filled."""
        o = "o->"
        f = o + field(v.name)
        if v.kind == "number":
            if v.none:
                return f"Native.Present({f})"
            kind = enumeration_name(v.enumeration) or sharp(v.type)
            return f if kind == languages.SHARP[v.type] else f"({kind}){f}"
        if v.kind == "bool":
            return f"{f} != 0"
        if v.kind in ("string", "path"):
            if v.fixed:
                return f"Native.Text({f}, {languages.elements(v.c)})"
            return f"Native.TextOrNull({f})" if v.optional else f"Native.Text({f})"
        if v.kind in ("text", "bytes"):
            at, n = (f, o + field(v.length)) if v.length else (f"{f}.data", f"{f}.size")
            if v.kind == "bytes":
                return f"Native.Copy<byte>({at}, {n})"
            return f"Native.TextOrNull({at}, {n})" if v.optional else f"Native.Text({at}, {n})"
        if v.kind == "array" and v.fixed:
            return f"Native.Copy<{self.element(v)}>({f}, {o + v.arrays[0] if v.arrays else languages.elements(v.c)})"
        if v.kind == "array":
            n = re.sub(r"([a-z_]\w*)", lambda m: o + m[1], v.length)
            return f"Native.Copy<{self.element(v)}>({f}, {f'checked({n})' if '*' in n else n})"
        if v.kind == "structs":
            return f"{self.type_among(v, struct)}.All({f}, checked((int){o}{v.length}))"
        raise ValueError(v)

    def fill(self, struct, v):
        """A statement that puts a property into the struct of C."""
        to, value, n = f"o->{field(v.name)}", self.property(struct, v), v.length
        if v.flag:
            flag = f"{v.flag[0]}.{languages.sharp_member(*v.flag)}"
            return f"if ({value}.HasValue) o->flags |= (uint){flag};\n{to} = ({languages.SHARP[v.type]}){value}.GetValueOrDefault();"
        if v.kind == "number":
            if v.none:
                return f"{to} = {value} ?? {languages.SHARP[v.type]}.MaxValue;"
            if v.type == "size_t":
                return f"{to} = Native.Size({value}, \"{value}\");"
            return f"{to} = ({languages.SHARP[v.type]}){value};" if v.enumeration else f"{to} = {value};"
        if v.kind == "bool":
            return f"{to} = {value} ? 1{'u' if v.type.startswith('u') else ''} : 0;"
        derived = next((d for d in self.surface.structs[struct].fields if d.name == n and d.way == "derived"), None)
        if v.kind == "object":
            return f"{to} = scope.Object({value} == null ? null : {value}.Handle);"
        if v.kind in ("string", "path"):
            return f"{to} = scope.String({value});"
        if v.kind == "text":
            if not n:
                return f"{to}.data = scope.Text({value}, out {to}.size);"
            return f"{to} = scope.Text({value}, out o->{field(n)});"
        if v.kind in ("options", "struct"):
            kind = self.native(v.struct)
            scope = ", scope" if self.needs_scope(v.struct) else ""
            return f"{to} = {self.type_among(v, struct)}.Of({value}, ({kind}*)scope.Memory(1, sizeof({kind})){scope});"
        if v.kind == "progress":
            return f"{to} = scope.Follow(Token, Progress);"
        if v.kind == "hook":
            kind = self.native(v.struct)
            return (f"{to} = {value} == null ? null : ({kind}*)scope.Memory(1, sizeof({kind}));\n"
                    f"if ({value} != null) *{to} = {self.hook(v.struct, value)};")
        if v.kind == "callback":
            user = field(v.c.meaning["user"])
            how = "Kept" if v.kept else "User"
            return (f"{to} = {value} == null ? IntPtr.Zero : {self.thunk(v, [self.struct_name(struct)])};\n"
                    f"if ({value} != null) o->{user} = scope.{how}({value});")
        if v.kind == "values":
            return f'{to} = scope.Values({value}, Type, "{value}", out o->{field(n)});'
        made = {"bytes": f"scope.Array({value})", "array": f"({languages.SHARP.get(v.type)}*)scope.Array({value})",
                "objects": f"scope.Objects({value}, x => x.Handle)",
                "texts": f"scope.{self.struct_name(v.struct)}s({value})" if v.struct else "",
                "structs": f"{self.type_among(v, struct)}.Of({value}, scope)" if v.struct else ""}[v.kind]
        size = "Length" if v.kind in ("array", "bytes") else "Count"
        text = f"{to} = {made};"
        if derived and len(derived.arrays) == 1:
            count = f"{value} == null ? 0 : {value}.{size}"
            kind = languages.SHARP[derived.type]
            text += "\n" + (f"o->{field(n)} = Native.Size({count});" if kind == "UIntPtr" else f"o->{field(n)} = ({kind})({count});")
        elif derived:
            if derived.arrays[0] == v.name:  # once, for all
                fields = {f.name: f for f in self.surface.structs[struct].fields}
                names = [self.property(struct, fields[a]) for a in derived.arrays]
                lengths = ", ".join(f"{x} == null ? 0 : {x}.Length" for x in names)
                text = f'o->{field(n)} = Native.Size(Check.Same("{", ".join(names)}", {lengths}));\n' + text
        else:
            fields = {f.name: f for f in self.surface.structs[struct].fields}
            if not all(name in fields for name in model.names_in(n)):
                return text  # the call tells and checks it
            length = re.sub(r"([a-z_]\w*)", lambda m: self.property(struct, fields[m[1]]), n)
            text = f"if ({value} != null) Check.Length({value}.Length, {length}, \"{value}\");\n" + text
        return text

    def property_text(self, struct, v, names, access):
        name = self.property(struct, v)
        if v.kind == "progress":
            doc = sentence(self.told(v.doc.split("NULL")[0].strip(" ;"), names))
            return (tagged("summary", "Cancels the call.", "        ") +
                    "        public CancellationToken Token { get; set; }\n" +
                    tagged("summary", doc or "Receives the progress of the call.", "        ") +
                    "        public IProgress<Progress> Progress { get; set; }\n")
        if access == "set":
            kind = self.type_in(v).replace("ReadOnlySpan<byte>", "byte[]")
            kind = re.sub(r"^ReadOnlySpan<(\w+)>$", r"\1[]", kind) + ("?" if v.flag else "")
        else:
            kind = self.type_out(v)
        doc = re.sub(r"^1: (\w)", lambda m: m[1].upper(), v.doc) if v.kind == "bool" else v.doc
        doc = self.hook_doc(v.struct) if v.kind == "hook" else doc
        return self.summary(doc, names, "        ", sentence(" ".join(name_words(name)))) + \
            f"        public {kind} {name} {{ get; {access}; }}\n"

    def struct(self, name):
        s = self.surface.structs[name]
        facts, title, native = self.is_facts(name), self.struct_name(name), self.native(name)
        hidden = {v.arrays[0] for v in s.fields if v.fixed and v.arrays}
        shown = [v for v in s.shown if v.name not in hidden] if facts else self.fields_in(name)
        names = {v.name: self.property(name, v) for v in s.fields}
        value = not facts and s.role == "plain" and not s.sized
        text = self.summary(model.tidy(s.doc), names, "    ", sentence(" ".join(s.words)))
        text += f"    public {'partial struct' if value else 'sealed partial class'} {title}\n    {{\n"
        text += "".join(self.property_text(name, v, names, "private set" if facts else "set") for v in shown)
        scope = ", Scope scope" if not facts and self.needs_scope(name) else ""
        if facts or self.is_read(name):
            text += f"\n        internal unsafe {title}({native}* o){' : this()' if value else ''}\n        {{\n" + "".join(
                wrap(f"{self.property(name, v)} = {self.from_native(name, v)};", "            ") for v in shown) + "        }\n"
        if name in self.in_arrays["out"]:
            text += (f"\n        internal static unsafe {title}[] All({native}* from, int n)\n        {{\n"
                     f"            var all = new {title}[n];\n"
                     f"            for (int i = 0; i < n; i++) all[i] = new {title}(&from[i]);\n"
                     "            return all;\n        }\n")
        if value and not self.is_read(name) and all(v.kind == "number" for v in s.fields):
            text = text.replace(f"    public partial struct {title}", f"    [StructLayout(LayoutKind.Sequential)]\n    public partial struct {title}")
        if not facts and (self.is_written(name) or not value):
            sizes = [(v.name, self.native(v.struct)) for v in s.fields if v.kind == "size"]
            blank = any(v.kind == "buffer" for v in s.fields)  # a call sets them, without options too
            start = f"var o = default({native});" if blank else f"*o = default({native});"
            lines = [start] + [f"o->{n} = (uint)sizeof({k});" for n, k in sizes]
            if blank:
                inner = "".join(f"            {x.replace('o->', 'o.')}\n" for x in [*lines, "return o;"])
                text += f"\n        internal static unsafe {native} Blank()\n        {{\n{inner}        }}\n"
                lines = ["*o = Blank();"]
            for v in shown:
                lines += self.fill(name, v).split("\n")
            text += f"\n        internal unsafe void Fill({native}* o{scope})\n        {{\n" + \
                "".join(wrap(x, "            ") for x in lines) + "        }\n"
            text += self.of(name, title, native, scope, value)
        return text + "    }\n"

    def of(self, name, title, native, scope, value):
        """Where a call has the struct, or an array of them."""
        text = ""
        if not value:
            text += (f"\n        internal static unsafe {native}* Of({title} from, {native}* o{scope})\n        {{\n"
                     f"            if (from == null) return null;\n            from.Fill(o{', scope' if scope else ''});\n"
                     "            return o;\n        }\n")
        if name in self.in_arrays["in"]:
            mapped = self.is_mapping(name)
            kind = "IDictionary<string, string>" if mapped else f"IReadOnlyList<{title}>"
            each = (f"            int i = 0;\n            foreach (var pair in from)\n"
                    f"                new {title} {{ Key = pair.Key, Value = pair.Value }}.Fill(&list[i++]{', scope' if scope else ''});\n"
                    if mapped else
                    f"            for (int i = 0; i < from.Count; i++) from[i].Fill(&list[i]{', scope' if scope else ''});\n")
            text += (f"\n        internal static unsafe {native}* Of({kind} from, Scope scope)\n        {{\n"
                     f"            if (from == null) return null;\n"
                     f"            var list = ({native}*)scope.Memory(from.Count, sizeof({native}));\n{each}"
                     "            return list;\n        }\n")
        return text

    def text_struct(self, name):
        """Texts as structs of an address and a length."""
        at, n = [m.name for m in self.surface.structs[name].c.members][:2]
        native = self.native(name)
        return (f"        internal {native}* {self.struct_name(name)}s(IReadOnlyList<string> texts)\n        {{\n"
                f"            if (texts == null) return null;\n"
                f"            var list = ({native}*)Memory(texts.Count, sizeof({native}));\n"
                f"            for (int i = 0; i < texts.Count; i++) list[i].{field(at)} = Text(texts[i], out list[i].{field(n)});\n"
                "            return list;\n        }\n")
