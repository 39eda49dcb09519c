"""The program of a conformance plan in each language, over the declarations that raw.py writes.

Statements look alike in all languages; templates/conformance.* define their functions. A language adds how it calls a
function, where a struct has its members, and how it is called back.

SPDX-License-Identifier: MIT
"""
import pathlib

import languages
import roles
from arena import width

TEMPLATES = pathlib.Path(__file__).resolve().parent / "templates"


class Language:
    """Parts that are alike; each class below says what differs."""
    end, indent = ";", "    "
    record, result = "", ""  # first statements of a callback
    word = staticmethod(lambda name: name)  # of a parameter

    def __init__(self, api, plan):
        self.api, self.plan = api, plan

    def program(self):
        text, plan = (TEMPLATES / self.template).read_text(encoding="utf-8"), self.plan
        parts = {
            "FIELDS": [self.field_row(s, m) for s, m in plan.fields],
            "SIZES": [self.size_row(s) for s in plan.structs],
            "SHOWS": [self.function(f"show_{s}", True, lines or ["done(0)"]) for s, lines in plan.shown.items()],
            "HOOKS": [self.hook_function(i, owner, d) for (owner, _), (i, d) in plan.hooks.items()],
            "TABLE": [self.hook_row(i) for i, _ in plan.hooks.values()],
            "STEPS": [self.function(f"step_{i}", False, [*s.before, *self.call(s), *s.after]) for i, s in enumerate(plan.steps)],
            "CALLS": [f"{2 * self.indent}step_{i}," for i in range(len(plan.steps))],
            "ARENA": [str(plan.size)],
        }
        for name, lines in parts.items():
            text = text.replace(f"@{name}@", "\n".join(lines))
        return text

    def body(self, lines):
        return "".join(f"{self.indent}{line}{self.end}\n" for line in lines)

    def arguments(self, step):
        return [self.argument(*a) for a in step.arguments]

    def stored(self, step, call):
        """A statement that keeps the result of a call in the arena."""
        c = step.function.result
        return call if c == "void" else f"put(A + {step.result}, {width(c)}, {self.bits(c, call)})"

    def call(self, step):
        return [self.stored(step, self.prefix(step.function.name) + f"({', '.join(self.arguments(step))})")]

    def hook_body(self, owner, d):
        """Shows what a callback is given, fills in what it is asked for, and keeps bytes."""
        lines = [self.record, self.result]
        if owner == "ggufx_progress":
            return self.body(lines)
        at = {p.name: self.bits(p.type, self.word(p.name)) for p in d.parameters}
        position = "peek(record + 24, 8) + " + at.get("offset", "peek(record + 32, 8)")
        lines.append(f'called("{d.name}")')
        for p in d.parameters:
            role, base, n = p.meaning["role"], roles.base_of(p.type), at.get(p.meaning.get("length"))
            name, here = f'"{d.name}", ".{p.name}"', at[p.name]
            if role == "scalar":
                lines += [f"put(A + 16, 8, {here})", f"show(0, {name}, A + 16, {width(p.type)})"]
            elif role == "struct_in":
                lines.append(f'show_{base}(0, "{d.name}.{p.name}", {here})')
            elif role == "scalar_out" and p.name == "out":
                lines.append(f"put({here}, 8, peek(record + 40, 8))")
            elif role in ("array_out", "array_in") and base == "void":
                pair = (here, position) if role == "array_out" else (position, here)
                lines += [f"copy_bytes({pair[0]}, {pair[1]}, {n})", f"put(record + 32, 8, peek(record + 32, 8) + {n})"]
            elif role.startswith(("array", "text")):
                size = f"size({self.plan.structs[base]})" if base in self.api.structs else width(base)
                lines.append(f"show(0, {name}, {here}, {n} * {size})")
        return self.body(lines)


class C(Language):
    template = "conformance.c.in"
    record = "const uint64_t record = (uint64_t)(uintptr_t)user"
    result = "const int64_t result = reply(record)"

    def field_row(self, s, m):
        return f"    offsetof({s}, {m}),"

    def size_row(self, s):
        return f"    sizeof({s}),"

    def function(self, name, shows, lines):
        parameters = "int when, const char *path, uint64_t at" if shows else "void"
        return f"static void {name}({parameters}) {{\n{self.body(lines)}}}\n"

    def bits(self, c, text):
        return f"(uint64_t)(uintptr_t)({text})" if "*" in c else f"(uint64_t)({text})"

    def prefix(self, name):
        return f"API({name.removeprefix('ggufx_')})"

    def argument(self, d, how, text):
        if how == "number":
            return f"f{8 * width(d.type)}({text})" if d.type in ("float", "double") else f"({d.type})({text})"
        return {"null": "NULL", "hook": f"hook_{text}"}.get(how, f"(void *)({text})")

    def hook_row(self, i):
        return f"    case {i}: return (uint64_t)(uintptr_t)hook_{i};"

    def hook_function(self, i, owner, d):
        inner = ", ".join(f"{p.type} {p.name}" for p in d.parameters)
        unused = "".join(f"    (void){p.name};\n" for p in d.parameters)
        end = "(void)result" if d.type == "void" else f"return ({d.type})result"
        return f"static {d.type} hook_{i}({inner}) {{\n{self.hook_body(owner, d)}{unused}    {end};\n}}\n"


class Rust(Language):
    template = "conformance.rs.in"
    record, result = "let record = user as u64", "let result = reply(record)"
    word = staticmethod(languages.rust_name)

    def field_row(self, s, m):
        return f"    offset!({s}, {languages.rust_name(m)}),"

    def size_row(self, s):
        return f"    std::mem::size_of::<{s}>() as u64,"

    def function(self, name, shows, lines):
        return f"unsafe fn {name}({'when: i32, path: &str, at: u64' if shows else ''}) {{\n{self.body(lines)}}}\n"

    def bits(self, c, text):
        return f"({text}) as u64"

    def prefix(self, name):
        return name

    def argument(self, d, how, text):
        if how == "null":
            return "None" if d.parameters is not None else "std::ptr::null_mut()"
        if how == "hook":
            return f"Some(hook_{text})"
        c = languages.rust_type(d.type)
        if d.type in ("float", "double"):
            return f"{c}::from_bits({text})"
        return f"{text}u64 as {c}" if text.isalnum() else f"({text}) as {c}"

    def hook_row(self, i):
        return f"        {i} => hook_{i} as usize as u64,"

    def hook_function(self, i, owner, d):
        inner = ", ".join(languages.rust_parameter(p) for p in d.parameters)
        c = languages.rust_type(d.type)
        result, end = ("", "") if d.type == "void" else (f" -> {c}", f"    result as {c}\n")
        return f'unsafe extern "C" fn hook_{i}({inner}){result} {{\n{self.hook_body(owner, d)}{end}}}\n'


class Go(Language):
    template, end, indent = "conformance.go.in", "", "\t"
    record, result = "record := uint64(uintptr(user))", "result := reply(record)"
    KEYWORDS = ("type", "range", "map", "func", "select")  # to which cgo adds an underscore

    def type(self, c):
        base, stars = roles.base_of(c), c.count("*")
        return "*" * (stars - 1) + "unsafe.Pointer" if base == "void" else "*" * stars + f"C.{base}"

    def field_row(self, s, m):
        return f"\tuint64(unsafe.Offsetof((C.{s}{{}}).{'_' + m if m in self.KEYWORDS else m})),"

    def size_row(self, s):
        return f"\tuint64(unsafe.Sizeof(C.{s}{{}})),"

    def function(self, name, shows, lines):
        return f"func {name}({'when int, path string, at uint64' if shows else ''}) {{\n{self.body(lines)}}}\n"

    def bits(self, c, text):
        return f"uint64(uintptr(unsafe.Pointer({text})))" if "*" in c else f"uint64({text})"

    def prefix(self, name):
        return f"C.{name}"

    def argument(self, d, how, text):
        if how in ("null", "hook"):
            return "nil" if how == "null" else f"(*[0]byte)(C.hook_{text})"
        # A named integer is a type of its own to cgo.
        name = getattr(d, "enumeration", "")
        c = "*" * d.type.count("*") + f"C.{name}" if name else self.type(d.type)
        if d.type in ("float", "double"):
            return f"{c}(math.Float{8 * width(d.type)}frombits({text}))"
        if how == "number":
            return f"{c}(signed({text}))" if d.type.startswith("int") or d.type == "ggufx_status" else f"{c}({text})"
        return f"({c})(pointer({text}))"

    def hook_row(self, i):
        return f"\tcase {i}:\n\t\treturn uint64(uintptr(C.hook_{i}))"

    def hook_function(self, i, owner, d):
        inner = ", ".join(f"{p.name} {self.type(p.type)}" for p in d.parameters)
        c = self.type(d.type) if d.type != "void" else ""
        end = f"return {c}(result)" if c else "_ = result"
        return f"//export hook_{i}\nfunc hook_{i}({inner}) {c} {{\n{self.hook_body(owner, d)}\t{end}\n}}\n"

    def program(self):
        """With the callbacks as cgo declares them: without const."""
        rows = [f"{d.type} hook_{i}({', '.join(p.type.replace('const ', '') for p in d.parameters)});"
                for i, d in self.plan.hooks.values()]
        return super().program().replace("@DECLARATIONS@", "\n".join(rows))


class Sharp(Language):
    template, indent = "conformance.cs.in", "            "
    record, result = "ulong record = (ulong)user", "long result = reply(record)"
    word = staticmethod(lambda name: languages.RESERVED.get(name, name))

    def type(self, c):
        return languages.sharp_type(c, self.api.objects, True)

    def field_row(self, s, m):
        return f'            (ulong)Marshal.OffsetOf(typeof(Native{languages.camel(s)}), "{self.word(m)}"),'

    def size_row(self, s):
        return f"            (ulong)sizeof(Native{languages.camel(s)}),"

    def function(self, name, shows, lines):
        parameters = "int when, string path, ulong at" if shows else ""
        return f"        static void {name}({parameters})\n        {{\n{self.body(lines)}        }}\n"

    def bits(self, c, text):
        return f"(ulong)({text})"

    @staticmethod
    def nulls_of(step):
        """Parameters whose object is NULL, for which a SafeHandle has no value."""
        return [d.name for d, how, _ in step.arguments if how == "null" and d.meaning["role"] == "object"]

    def prefix(self, step):
        name = "_".join([step.function.name, *self.nulls_of(step)])
        return f"Nulls.{name}" if self.nulls_of(step) else f"NativeMethods.{name}"

    def call(self, step):
        if step.function.name.endswith("_destroy"):
            return [f"Close({'0' if self.nulls_of(step) else step.arguments[0][2]})"]
        new = [(languages.camel(roles.base_of(d.type)), text) for d, how, text in step.arguments if how == "new"]
        lines = [f"{c}Handle made" for c, _ in new]
        lines.append(self.stored(step, self.prefix(step) + f"({', '.join(self.arguments(step))})"))
        lines += [f"Keep({text}, made)" for _, text in new]
        if roles.base_of(step.function.result) in self.api.objects:
            owner = next(self.argument(*a) for a in step.arguments if a[1] == "object")
            at = f"A + {step.result}"
            lines.append(f"Keep({at}, new TensorHandle({owner}, (IntPtr)(long)peek({at}, 8)))")
        return lines

    def argument(self, d, how, text):
        if how == "null":
            return "IntPtr.Zero" if d.parameters is not None or d.meaning["role"] == "object" else "null"
        if how in ("hook", "new"):
            return "out made" if how == "new" else f"(IntPtr)(long)hook({text})"
        if d.type in ("float", "double"):
            return f"F{8 * width(d.type)}({text})"
        c = languages.sharp_type(d.type, self.api.objects, False)
        return f"({c})Held({text})" if how == "object" else f"unchecked(({c})({text}))"

    def hook_row(self, i):
        return f"                case {i}: return (ulong)Marshal.GetFunctionPointerForDelegate(kept_{i});"

    def hook_function(self, i, owner, d):
        inner = ", ".join(languages.sharp_field(p, self.api.objects).rstrip(";") for p in d.parameters)
        c, end = self.type(d.type), "" if d.type == "void" else f"            return ({self.type(d.type)})result;\n"
        return (f"        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]\n        delegate {c} Type_{i}({inner});\n"
                f"        static readonly Type_{i} kept_{i} = hook_{i};\n"
                f"        static {c} hook_{i}({inner})\n        {{\n{self.hook_body(owner, d)}{end}        }}\n")

    def null_function(self, step):
        """The declaration of a function with addresses in place of the handles that are NULL."""
        f, nulls = step.function, self.nulls_of(step)
        inner = ", ".join(f"IntPtr {self.word(p.name)}" if p.name in nulls else
                          languages.sharp_parameter(p, self.api.objects) for p in f.parameters)
        return (f'        [DllImport("ggufx", CallingConvention = CallingConvention.Cdecl, EntryPoint = "{f.name}")]\n'
                f"        internal static extern {self.type(f.result)} {self.prefix(step).removeprefix('Nulls.')}({inner});")

    def program(self):
        rows = {self.prefix(s): self.null_function(s) for s in self.plan.steps if self.nulls_of(s)}
        return super().program().replace("@NULLS@", "\n".join(rows.values()))


class Python(Language):
    template, end = "conformance.py.in", ""
    record, result = "record = user", "result = reply(record)"

    def field_row(self, s, m):
        return f"    raw.{s}.{languages.python_name(m)}.offset,"

    def size_row(self, s):
        return f"    sizeof(raw.{s}),"

    def function(self, name, shows, lines):
        return f"def {name}({'when, path, at' if shows else ''}):\n{self.body(lines)}\n"

    def bits(self, c, text):
        return f"({text} or 0)" if "*" in c else text

    def prefix(self, name):
        return f"lib.{name}"

    def argument(self, d, how, text):
        if how == "number":
            return f"number({languages.python_type(d.type)}, {text})"
        return {"null": "None", "hook": f"hook({text})"}.get(how, text)

    def hook_row(self, i):
        return f"    hook_{i},"

    def hook_function(self, i, owner, d):
        kinds = [languages.python_type(p.type) for p in d.parameters]
        result = "None" if d.type == "void" else languages.python_type(d.type)
        inner = ", ".join(p.name for p in d.parameters)
        end = "" if d.type == "void" else "    return result\n"
        return f"@CFUNCTYPE({', '.join([result, *kinds])})\ndef hook_{i}({inner}):\n{self.hook_body(owner, d)}{end}\n"


LANGUAGES = {"c": C, "rust": Rust, "go": Go, "csharp": Sharp, "python": Python}
