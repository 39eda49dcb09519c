"""Writes the plain part of Rust's safe layer: classes and functions (calls.rs), options and facts (values.rs).

SPDX-License-Identifier: MIT
"""
import re

import languages
import surface as model
from gen_rust_form import group, invoke, statement, use
from gen_rust_values import EXTENDED, ITEMS, SCALARS, Values

NOTE = "// Written by bindings/raw.py from include/ggufx; a test compares them. See bindings/gen_rust.py.\n" \
       "// SPDX-License-Identifier: MIT\n"


# The iterator of a class that gives events.
STREAM = """
impl Generator {
    /// Sets a prompt, and gives its events; [`EventKind::END`] is the last one. A fault of this
    /// generator alone is an error. Dropping the iterator before the end cancels the output.
    pub fn prompt<'a>(&mut self, prompt: impl Into<Prompt<'a>>) -> Result<Events<'_>> {
        self.set_prompt(prompt.into())?;
        Ok(Events { generator: self, ended: false })
    }
}

/// The events of a prompt: see [`Generator::prompt`].
#[derive(Debug)]
pub struct Events<'g> {
    generator: &'g mut Generator,
    ended: bool,
}

impl Iterator for Events<'_> {
    type Item = Result<Event>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let event = match self.generator.next(Default::default()) {
            Ok(event) if event.end == End::ERROR => Err(Error::new(event.status, event.text)),
            event => event,
        };
        self.ended = !matches!(&event, Ok(event) if event.kind != EventKind::END);
        Some(event)
    }
}

impl Drop for Events<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.generator.cancel();
        }
    }
}

impl<'a> From<&'a str> for Prompt<'a> {
    fn from(text: &'a str) -> Self {
        Prompt { text: Some(text), ..Default::default() }
    }
}
"""


class Writer(Values):
    # ---- calls -------------------------------------------------------------------------------------------------

    def parameter(self, v):
        mutable = "mut " if (v.kind == "buffer" and v.optional) or (v.kind == "callback" and not v.kept) else ""
        return f"{mutable}{languages.rust_name(v.name)}: {self.type_in(v)}"

    def say(self, call):
        """How a length is said: name -> expression."""
        def of(name):
            told = next((a for a in call.arguments if a.name == name), None)
            if told is not None and told.way == "derived":
                return self.length(call, told)
            return languages.rust_name(name) if told else f"self.{name}"
        return of

    def kind_of(self, call):
        def of(name):
            told = next((a for a in call.arguments if a.name == name), None)
            if told is None:  # a field of an object with more than the object of C
                return "u64"
            return "usize" if told.way == "derived" else SCALARS.get(told.type, "usize")
        return of

    def first(self, call, v):
        """The array that tells a derived length."""
        arrays = [a for a in call.arguments if a.name in v.arrays]
        return next((a for a in arrays if a.way == "in"), arrays[0])

    def length(self, call, v):
        """A derived length as usize."""
        first = self.first(call, v)
        n = languages.rust_name(first.name)
        if first.optional and first.kind == "buffer":
            return f"{n}.as_deref().map_or(0, <[_]>::len)"
        if first.optional and first.kind == "text":
            return f"{n}.map_or(0, str::len)"
        if first.optional:  # the first of those that are given
            others = [a for a in call.arguments if a.name in v.arrays and a.way == "in" and a is not first]
            return "count(" + n + "".join(f".or({languages.rust_name(o.name)})" for o in others) + ")"
        return f"{n}.len()"

    def derived(self, call, v):
        arrays = [a for a in call.arguments if a.name in v.arrays]
        n = languages.rust_name(arrays[0].name) if arrays else ""
        if v.kind == "error":
            return "e"
        if v.kind in ("user", "destroy") and any(a.takes for a in call.arguments):
            return "user" if v.kind == "user" else "Some(RELEASE)"
        if v.kind == "user":
            callback = next(a for a in call.arguments if a.kind == "callback" and a.c.meaning["user"] == v.name)
            n = languages.rust_name(callback.name)
            if callback.kept:
                return f"Arc::as_ptr(&{n}) as *mut sys::c_void"
            return f"{n}.as_mut().map_or(null_mut(), user_of)" if callback.optional else f"user_of(&mut {n})"
        if v.kind == "lengths":
            return f"{n}_lengths.as_ptr()"
        if v.kind == "capacity":
            return f"{n}.size()" + self.cast("usize", v)
        if v.kind == "needed":
            return f"&mut {n}.needed"
        if v.kind in ("reserved", "next"):
            return "0" if v.kind == "reserved" else "null()"
        if all(a.way == "out" for a in arrays):  # of a text that is borrowed
            return f"&mut {n}_n"
        if arrays[0].takes:
            return v.name
        return self.length(call, v) + self.cast("usize", v)

    def cast(self, kind, v):
        wanted = SCALARS[v.type]
        return "" if wanted == kind else f" as {wanted}"

    def prepare(self, call, v):
        """(statements before the call, expression in it) of one parameter in C."""
        n = languages.rust_name(v.name)
        if v.name == call.this_name and v.kind == "object":
            return [], "self.as_raw()"
        if v.way == "derived":
            return [], self.derived(call, v)
        return self.output(call, v, n) if v.way == "out" else getattr(self, f"input_{v.kind}")(call, v, n)

    def output(self, call, v, n):
        if v.kind == "object":
            return [f"let mut {n} = null_mut();"], f"&mut {n}"
        if v.kind == "facts":
            sized = self.surface.structs[v.struct].sized
            made = f"sized!({v.struct})" if sized else f"unsafe {{ zeroed::<sys::{v.struct}>() }}"
            return [f"let mut {n} = {made};"], f"&mut {n}"
        if v.two_call:
            at = ".cast()" if v.kind in ("text", "bytes") else ""
            kind = "u8" if at else f"sys::{v.struct}" if v.kind == "structs" else SCALARS[v.type]
            lines = [f"let mut {n} = unsafe {{ Room::<{kind}>::new({self.start(call, v)}) }};"]
            if v.kind == "structs" and self.surface.structs[v.struct].sized:  # the first one tells it of all
                lines.append(f"unsafe {{ (*{n}.at()).struct_size = size::<{kind}>() }};")
            return lines, f"{n}.at(){at}"
        if v.kind == "array":
            many = self.times(v.length, self.say(call), self.kind_of(call))
            kind = SCALARS[v.type]
            return [f"let mut {n} = zeros::<{kind}>({many})?;"], f"{n}.as_mut_ptr()"
        if v.kind == "text":
            return [f"let mut {n} = sys::ggufx_text {{ data: null(), size: 0 }};"], f"&mut {n}"
        zero = "0.0" if v.type in ("float", "double") else "0"
        return [f"let mut {n} = {zero};"], f"&mut {n}"

    def start(self, call, v):
        """Room for the first try: what most inputs need."""
        if v.kind == "structs":
            return "64"
        each = "8 * " if v.kind in ("text", "bytes") else ""
        sizes = [f"{each}{languages.rust_name(a.name)}.len()" for a in call.inputs
                 if a.kind in ("text", "array") and not a.optional]
        return " + ".join([*sizes, "64" if sizes else "4096"])

    def input_number(self, call, v, n):
        return [], n + (".0" if v.enumeration else "")

    def input_bool(self, call, v, n):
        return [], f"{n}.into()"

    def input_object(self, call, v, n):
        return [], f"{n}.map_or(null_mut(), |x| x.as_raw())" if v.optional else f"{n}.as_raw()"

    def input_string(self, call, v, n):
        if v.optional:
            return [f"let {n} = held.string({n})?;"], n
        if call.fails:
            return [f"let {n} = c_string({n})?;"], f"{n}.as_ptr().cast()"
        return [f"let {n} = match c_string({n}) {{", f"    Ok({n}) => {n},",
                "    Err(_) => return Default::default(),", "};"], f"{n}.as_ptr().cast()"

    def input_path(self, call, v, n):
        return [f"let {n} = path_string({n}.as_ref())?;"], f"{n}.as_ptr().cast()"

    def input_text(self, call, v, n):
        if v.optional:
            return [], f"optional({n}.map(str::as_bytes)).cast()"
        return [f"let {n} = {n}.as_ref();"], f"{n}.as_ptr().cast()"

    def input_bytes(self, call, v, n):
        if v.takes:
            return [f"let ({n}, {v.length}, user) = lend(Box::new({n}));"], f"{n}.cast()"
        return [], f"optional({n}).cast()" if v.optional else f"{n}.as_ptr().cast()"

    def input_array(self, call, v, n):
        at = f"optional({n})" if v.optional else f"{n}.as_ptr()"
        return self.checks(call, v, n), at + (".cast()" if v.enumeration else "")

    def input_buffer(self, call, v, n):
        at = f"optional_mut(&mut {n})" if v.optional else f"{n}.as_mut_ptr()"
        return self.checks(call, v, n), at + (".cast()" if v.type == "void" else "")

    def input_texts(self, call, v, n):
        if v.struct:
            return [f"let {n}: Vec<_> = {n}", "    .iter()", "    .map(AsRef::as_ref)",
                    f"    .map(|x: &[u8]| {self.text_of(v.struct, 'x')})", "    .collect();"], f"{n}.as_ptr()"
        return [f"let {n}_lengths: Vec<usize> = {n}.iter().map(|t| t.as_ref().len()).collect();",
                f"let {n}: Vec<*const sys::c_char> = {n}.iter().map(|t| t.as_ref().as_ptr().cast()).collect();"], \
            f"{n}.as_ptr()"

    def input_structs(self, call, v, n):
        raw = self.raw_call(v.struct, "&held")
        each = "x." + raw.rstrip("?") if raw.endswith("?") else f"Ok(x.{raw})"
        each_of = "iter_mut" if self.is_listed(v.struct) else "iter"
        return [f"let {n} = unsafe {{ List::of({n}.{each_of}().map(|x| {each})) }}?;"], f"{n}.at()"

    def input_objects(self, call, v, n):
        return [f"let {n}: Vec<_> = {n}.iter().map(|x| x.as_raw() as *const _).collect();"], f"{n}.as_ptr()"

    def input_options(self, call, v, n):
        lines, known = [], {f.name for f in self.surface.structs[v.struct].fields}
        for f in self.fields(v.struct):
            if f.kind == "array" and not set(model.names_in(f.length)) <= known:  # a parameter tells its length
                many = self.times(f.length, self.say(call), self.kind_of(call))
                lines.append(f'exactly("{f.name}", filled({n}.{f.name}).map(<[_]>::len), {many})?;')
        return [*lines, f"let {n} = {n}.{self.raw_call(v.struct, '&held')};"], f"&{n}"

    input_struct = input_options

    def input_state(self, call, v, n):
        return [], n

    def input_progress(self, call, v, n):
        return [], f"held.progress({n})"

    def input_callback(self, call, v, n):
        thunk = self.thunk(call.words, v)
        if v.kept:
            return [f"let {n}: Arc<Box<dyn {self.kept_type(v)}>> = Arc::new(Box::new({n}));"], f"Some({thunk})"
        return [], f"{n}.as_ref().map(|_| {thunk} as _)" if v.optional else f"Some({thunk})"

    def checks(self, call, v, n):
        """That an array is as long as C takes it to be."""
        told = next((a for a in call.arguments if a.name == v.length), None)
        if told is not None and told.way == "derived" and self.first(call, told) is v:
            return []
        have = f"{n}.{'as_deref().' if v.kind == 'buffer' else ''}map(<[_]>::len)" if v.optional else f"Some({n}.len())"
        if not v.length:
            return []
        return [f'exactly("{v.name}", {have}, {self.times(v.length, self.say(call), self.kind_of(call))})?;']

    def result(self, call, v):
        n = languages.rust_name(v.name)
        if v.kind in ("number", "bool"):
            value = f"{n} != 0" if v.kind == "bool" else f"present({n})" if v.none else n
            return f"{v.enumeration}({value})" if v.enumeration else value
        if v.kind == "string":
            return f"unsafe {{ string{'_or_none' if v.optional else ''}({n}) }}"
        if v.kind == "facts":
            return f"unsafe {{ {self.struct_name(v.struct)}::of(&{n}) }}"
        if v.kind == "object":
            kept = "" if not self.keeps(v.object) else ", kept" if self.surface.copied_callbacks(call) else \
                ", self.kept.clone()" if call.this else ", Vec::new()"
            return f"{self.class_name(v.object)}::of_raw({n}{kept})"
        if v.two_call:
            if v.kind == "text":
                return f"lossy({n}.filled())"
            if v.kind == "structs":
                return f"unsafe {{ list(&{n}.filled(), {self.struct_name(v.struct)}::of) }}"
            return f"{n}.filled()"
        if v.kind == "text":
            return f"unsafe {{ items({n}.data.cast(), {n}.size) }}"
        return n

    def results(self, call, life=""):
        life = life or ("'_" if call.this else "'static")
        types = [self.type_out(v, life) for v in call.outputs]
        if any(v.kind == "object" for v in call.outputs):
            types = ["Self" if t == self.class_name(call.owner) else t for v, t in zip(call.outputs, types)]
        one = types[0] if len(types) == 1 else f"({', '.join(types)})"
        return f"Result<{one}>" if call.fails else one if types else ""

    def body(self, call, indent):
        before, arguments = [], {}
        for v in sorted(call.arguments, key=lambda v: (v.takes, v.way == "out", "sum(" in v.length)):
            lines, arguments[v.name] = self.prepare(call, v)
            before += lines
        if any("held" in x for x in [*before, *arguments.values()]):
            before.insert(0, "let held = Keep::new();")
        given = [arguments[v.name] for v in call.arguments]
        for v, f in self.surface.copied_callbacks(call):
            before.insert(0, f"let kept = {v.name}.{f.name}.map_or_else(Vec::new, |x| x.kept.clone());")
        lines = [statement(line, indent) for line in before]
        values = [self.result(call, v) for v in call.outputs]
        value = values[0] if len(values) == 1 else f"({', '.join(values)})"
        rooms = [languages.rust_name(v.name) for v in call.outputs if v.two_call]
        check = "watched" if any(map(self.is_watched, call.inputs)) else "check"
        if rooms:
            grows = " | ".join(f"{r}.grows(&done)" for r in rooms)
            grows = f"({grows})" if len(rooms) > 1 else grows
            deep = indent + "    "
            lines += [f"{indent}loop {{", invoke(f"let done = {check}(|e| ", call.name, given, ");", deep),
                      f"{deep}if !{grows} {{", f"{deep}    done?;", group(f"{deep}    return Ok", [value], ";"),
                      f"{deep}}}", f"{indent}}}"]
        elif call.fails and (kept := [languages.rust_name(v.name) for v in call.inputs if v.kept]):
            lines += [invoke(f"{check}(|e| ", call.name, given, ")?;", indent),
                      *[f"{indent}self.kept.push({n});" for n in kept], f"{indent}Ok(())"]
        elif call.fails and not values:
            lines.append(invoke(f"{check}(|e| ", call.name, given, ")", indent))
        elif call.fails:
            lines += [invoke(f"{check}(|e| ", call.name, given, ")?;", indent), group(f"{indent}Ok", [value], "")]
        elif values == ["result"]:
            lines.append(invoke("", call.name, given, "", indent))
        elif call.result:
            lines += [invoke("let result = ", call.name, given, ";", indent), indent + value]
        else:
            lines.append(invoke("", call.name, given, "", indent))
        return "\n".join(lines) + "\n"

    def is_watched(self, v):
        """Whether a function of the program is called."""
        return v.kind == "progress" or (v.kind == "callback" and not v.kept) or (v.kind in ("options", "struct") and
                                                      any(map(self.is_watched, self.fields(v.struct))))

    def contract(self, call):
        errors = ", ".join(f"`{e}`" for e in call.errors)
        return call.doc + (f"\n\nErrors: {errors}." if errors else "")

    def call(self, call, indent):
        receiver = [] if not call.this else ["&mut self" if call.this.exclusive else "&self"]
        given = receiver + [self.parameter(v) for v in call.inputs]
        result = self.results(call)
        if call.fails and not call.outputs:
            result = "Result<()>"
        tail = (f" -> {result}" if result else "") + " {"
        words = " ".join(call.words) + "."
        complex_ = any(v.kind == "callback" and v.optional for v in call.inputs)
        allow = f"{indent}#[allow(clippy::type_complexity)]\n" if complex_ else ""
        return self.doc(self.contract(call), indent, words) + allow + \
            group(f"{indent}pub fn {self.call_name(call)}", given, tail) + "\n" + self.body(call, indent + "    ") + \
            f"{indent}}}\n"

    # ---- files -------------------------------------------------------------------------------------------------

    def cls(self, c):
        text = ""
        if c.c not in EXTENDED:
            doc = self.doc(c.doc, "    ", f"{' '.join(c.words)}.")
            more = " {\n        kept: Vec<Arc<dyn Any + Send + Sync>> // callbacks, shared with clones\n    }" \
                if self.keeps(c.c) else ""
            text = f"\nhandle! {{\n{doc}    {self.class_name(c.c)}({c.c}, {c.c}_destroy){more}\n}}\n"
        calls = [self.call(call, "    ") for call in c.calls if call.name in self.generated]
        if calls:
            text += f"\nimpl {self.class_name(c.c)}{EXTENDED.get(c.c, '')} {{\n" + "\n".join(calls) + "}\n"
        text += "".join(self.item(c, words) for words in ITEMS.get(c.c, ()))
        return text + (STREAM if c.is_stream else "")

    def item(self, c, words):
        """The calls of a list by number as methods of its items."""
        life = "'f"
        methods = []
        for call in c.calls:
            name, inputs = "_".join(call.words[1:]), call.inputs
            if call.words[0] == words and [v.name for v in inputs[:1]] == ["index"] and name not in ITEMS[c.c][words]:
                head = group(f"    pub fn {name}", ["&self", *map(self.parameter, inputs[1:])],
                             f" -> {self.results(call, life)} {{")
                given = ", ".join(["self.index", *[languages.rust_name(v.name) for v in inputs[1:]]])
                methods.append(self.doc(self.contract(call), "    ") + head +
                               f"\n        self.{c.words[0]}.{self.call_name(call)}({given})\n    }}\n")
        return f"\nimpl<{life}> {words.capitalize()}<{life}> {{\n" + "\n".join(methods) + "}\n"

    def imports(self, body):
        """The use declarations that a file needs, as rustfmt sorts them."""
        support = {
            "crate::handle": ["fixed_string", "handle", "items", "items_or_none", "present", "size", "sized", "string",
                              "string_or_none", "zeroed"],
            "crate::io": ["lend", "RELEASE"],
            "crate::keep": ["c_string", "count", "exactly", "filled", "list", "lossy", "optional", "optional_mut",
                            "path_string", "product", "sum", "user_of", "zeros", "Keep", "List", "Room"],
            "crate::watch": ["blank", "check", "flow", "guarded", "on_read", "on_write", "status", "watched"],
            "std::any": ["Any"], "std::io": ["self", "Read", "Write"], "std::ops": ["ControlFlow"], "std::path": ["Path"],
            "std::ptr": ["null", "null_mut"], "std::slice": ["from_raw_parts_mut"], "std::sync": ["Arc"]}
        code, found = re.sub(r"///.*|pub fn \w+", "", body), {}
        for module, names in support.items():
            traits = {"self": r"\bio::Result", "Any": r"\bdyn Any\b", "Read": r"\bdyn Read\b", "Write": r"\bdyn Write\b"}
            found[module] = [n for n in names
                             if re.search(traits.get(n, rf"(?<![.:\w]){n}\b(?=[(!)<>;,]|::)"), code)]
        lines = [use(module, names) for module, names in found.items() if names]
        lines += ["use crate::*;\n", "use ggufx_sys as sys;\n"]
        return "".join(sorted(lines, key=lambda line: line.replace("*", "~")))

    def files(self):
        """(calls.rs, values.rs)"""
        self.thunks = {}
        body = "".join(self.cls(c) for c in self.surface.classes.values())
        body += "".join("\n" + self.call(c, "") for c in self.surface.functions if c.name in self.generated)
        body += "".join("\n" + t for t in self.thunks.values())
        self.thunks = {}
        values = "".join("\n" + self.struct(s) for s in self.structs)
        values += "".join("\n" + t for t in self.thunks.values())
        calls_doc = "//! Classes and functions: a call of each is unsafe where it passes what its arguments own.\n"
        values_doc = "//! Options and facts.\n"
        return (NOTE + calls_doc + self.imports(body) + body, NOTE + values_doc + self.imports(values) + values)


def files(surface):
    made = []

    def text(i):
        if not made:
            made.extend(Writer(surface).files())
        return made[i]
    return {"bindings/rust/ggufx/src/calls.rs": lambda: text(0), "bindings/rust/ggufx/src/values.rs": lambda: text(1)}
