"""Names, types, options and facts of Rust's safe layer.

SPDX-License-Identifier: MIT
"""
import re

import languages
import surface as model
from gen_rust_form import comment, group, statement

# Objects whose struct is written by hand: they have more than the object of C. With their lifetime.
EXTENDED = {"ggufx_tensor": "<'_>", "ggufx_session": ""}
# Extended objects with no member besides the object of C.
PLAIN = {"ggufx_tensor"}
# Structs that modules by hand have in another form, or that a state of the program is.
INNER = {"ggufx_vulkan_options", "ggufx_tensor_options", "ggufx_detokenizer_state", "ggufx_sampling_facts"}
# Reasons in not_bound.txt for calls that other languages write by hand: Rust has slices.
VIEWS = {"views of the caller's memory", "state of the caller"}
# Items of a list by hand: their lists in words, and calls that the module by hand has in another form. Calls of the
# list by number are theirs.
ITEMS = {"ggufx_file": {"meta": ("at", "array_nested")}}
ANY = "'_"  # lifetime
METHODS = {"create": "new", "clone": "try_clone"}  # clones may fail
SCALARS = {k: v for k, v in languages.RUST.items() if v[0] in "iuf"}


def camel(words):
    return "".join(w[:1].upper() + w[1:] for w in words)


class Values:
    def __init__(self, surface):
        self.surface = surface
        self.by_name = {c.name: c for c in surface.calls}
        self.constants = {c: (e.name, m) for e in surface.enumerations.values() for m, c, _, _ in e.members}
        self.structs = [s for s in surface.used_structs(surface.calls) if not self.is_inner(s)]
        self.generated = {c.name for c in surface.calls if not self.by_hand(c)}
        self.thunks, self.known, self.read = {}, {}, set()  # name -> text; name -> ways(); see is_read()
        for name in self.structs:
            if not self.is_read(name) or self.is_written(name):
                self.ways(name)

    def is_inner(self, name):
        struct = self.surface.structs[name]
        return struct.role == "hook" or model.is_text_struct(struct.c) or name in INNER

    def by_hand(self, call):
        """Why a call is written by hand here, or ""."""
        made = [v for v in call.outputs if v.kind == "object"]
        if any(v.borrows or v.object in EXTENDED.keys() - PLAIN for v in made):
            return "a struct with more than the object"
        fields = [f for v in call.arguments if v.struct in self.surface.structs and v.kind != "size"
                  for f in self.surface.structs[v.struct].shown]
        if call.hand == "a callback that is kept":
            return call.hand if any(f.kind == "address" for f in fields) or call.owner in EXTENDED else ""
        if call.hand not in VIEWS:
            return "" if any(v.takes for v in call.arguments) else call.hand
        names = {v.name for v in call.arguments}
        for v in call.arguments:
            known = set(model.names_in(v.length)) <= names or call.owner in EXTENDED  # a field
            if v.kind == "buffers" or not known or any(f.kind == "hook" for f in fields):
                return call.hand
        return ""

    # ---- names -------------------------------------------------------------------------------------------------

    def class_name(self, c):
        return camel(self.surface.classes[c].words)

    def struct_name(self, c):
        return camel(self.surface.structs[c].words)

    def call_name(self, call):
        name = "_".join(call.words)
        return languages.rust_name(METHODS.get(name, name) if call.owner else name)

    def refer(self, name):
        """The words of Rust for a name of C; a link, if it is sure to be there."""
        if name in ("NULL", "GGUFX_NONE"):
            return "`None`"
        if name.endswith("*"):
            found = {e for c, (e, _) in self.constants.items() if c.startswith(name[:-1])}
            return f"[`{found.pop()}`]" if len(found) == 1 else f"`{name}`"
        if name in self.constants:
            enumeration, member = self.constants[name]
            return f"[`{enumeration}::{member}`]"
        if name in self.surface.api.constants:
            return f"[`sys::{name}`]"
        if call := self.by_name.get(name):
            words = "::".join(filter(None, [self.class_name(call.owner) if call.owner else "", self.call_name(call)]))
            return f"[`{words}`]" if name in self.generated else f"`{words}`"
        if name in self.surface.classes:
            return f"[`{self.class_name(name)}`]"
        if name in self.structs:
            return f"[`{self.struct_name(name)}`]"
        return "`drop`" if name.endswith("_destroy") else f"`{name}`"

    def doc(self, text, indent, otherwise="", enumeration=""):
        if enumeration:
            text = re.sub(r"\bGGUFX_[A-Z_]+_\*", f"[`{enumeration}`]", text)
        text = model.told(text.strip() or otherwise, self.refer)
        text = re.sub(r"`(\[`[^`]*`\]|`[^`]*`)`", r"\1", text)  # names that were code already
        return comment(text, indent)

    # ---- types -------------------------------------------------------------------------------------------------

    def is_passing(self, v):
        """Whether a text is there until the next call only: it is copied."""
        return v.kind == "text" and "until the next call" in v.doc

    def keeps(self, name):
        """Whether an object keeps callbacks, of its own or of one that it copies."""
        return self.surface.keeps_callbacks(name) or any(map(self.surface.copied_callbacks, self.surface.classes[name].calls))

    def number(self, v):
        return v.enumeration or SCALARS[v.type]

    def has_life(self, name):
        """Whether a struct borrows something."""
        return any(self.borrows(name, v) for v in self.fields(name))

    def borrows(self, name, v):
        if v.kind in ("options", "struct", "facts") or (v.kind == "structs" and self.is_read(name)):
            return self.has_life(v.struct)
        return v.kind not in ("number", "bool") and not v.fixed and not self.is_passing(v)

    def is_moved(self, name):
        """Whether a struct has something that the call uses up."""
        return any(v.kind in ("progress", "callback", "buffer") or
                   (v.kind in ("options", "struct") and self.is_moved(v.struct)) for v in self.fields(name))

    def is_listed(self, name):
        """Whether a struct that the call uses up comes in lists."""
        return self.is_moved(name) and any(v.kind == "structs" and v.struct == name
                                           for c in self.surface.calls for v in c.arguments)

    def is_alone(self, name):
        """Whether a struct has something that no other call may use at the same time."""
        return self.is_moved(name) or any((v.kind == "object" and v.exclusive) or
                                          (v.kind in ("options", "struct", "structs") and self.is_alone(v.struct))
                                          for v in self.fields(name))

    def life(self, name, life="'_"):
        return f"{self.struct_name(name)}<{life}>" if self.has_life(name) else self.struct_name(name)

    def object(self, v, life=""):
        alone = "mut " if v.exclusive else ""
        own = EXTENDED.get(v.object, "").replace("'_", life.strip() or "'_")
        return f"&{life}{alone}{self.class_name(v.object)}{own}"

    def type_in(self, v, life=""):
        """Of a parameter (life ""), or of a field ("'a ")."""
        one = {"bool": "bool", "string": f"&{life}str", "bytes": f"&{life}[u8]"}.get(v.kind)
        if v.takes:
            one = "impl AsRef<[u8]> + Send + Sync + 'static"
        elif v.kind == "path":
            one = f"&{life}Path" if life else "impl AsRef<Path>"
        elif v.kind == "text":
            one = f"&{life}str" if life or v.optional else "impl AsRef<[u8]>"
        elif v.kind == "number":
            return self.number(v)
        elif v.kind == "array":
            one = f"&{life}[{self.number(v)}]"
        elif v.kind == "values":
            one = f"Values<{life.strip() or ANY}>"
        elif v.kind == "buffer":
            one = f"&{life}mut [{SCALARS.get(v.type, 'u8')}]"
        elif v.kind == "texts":
            one = f"&{life}[&{life}str]" if life else "&[impl AsRef<[u8]>]"
        elif v.kind == "structs":
            alone = "mut " if self.is_alone(v.struct) else ""
            one = f"&{life}{alone}[{self.life(v.struct, life.strip() or ANY)}]"
        elif v.kind == "objects":
            one = f"&{life}[{self.object(v, life)}]"
        elif v.kind == "object":
            one = self.object(v, life)
        elif v.kind in ("options", "struct"):
            one = self.life(v.struct, life.strip() or ANY)
        elif v.kind == "progress":
            one = f"&{life}mut Progress<{life.strip() or ANY}>"
        elif v.kind == "callback":
            one = f"impl {self.kept_type(v)} + 'static" if v.kept else self.callback_type(v, life)
        elif v.kind == "state":
            one = f"&mut sys::{v.struct}"
        assert one, v
        if v.kind == "bool" or not v.optional or (not life and v.kind == "options") or \
                (life and v.kind in ("array", "structs", "objects", "texts")):
            return one
        return f"Option<{one}>"

    def type_out(self, v, life="'_"):
        one = {"bool": "bool", "bytes": "Vec<u8>", "text": "String"}.get(v.kind)
        if v.kind == "number":
            return f"Option<{self.number(v)}>" if v.none else self.number(v)
        if v.kind == "string":
            one = "String" if v.fixed else f"&{life} str" if life != "'_" else "&str"
            return f"Option<{one}>" if v.optional else one
        if v.kind in ("text", "bytes") and not v.two_call and not self.is_passing(v):
            one = f"&{life} [u8]" if life != "'_" else "&[u8]"
            return f"Option<{one}>" if v.optional and v.way == "in" else one
        if v.kind == "array" and v.fixed:
            return f"[{self.number(v)}; {languages.elements(v.c)}]"
        if v.kind == "array":
            one = f"Vec<{self.number(v)}>" if v.way == "out" else f"&{life} [{self.number(v)}]".replace("'_ ", "")
            return f"Option<{one}>" if v.optional and v.way == "in" else one
        if v.kind == "facts":
            one = self.life(v.struct, life)
        elif v.kind == "structs":
            one = f"Vec<{self.life(v.struct, life)}>"
        elif v.kind == "object":
            one = self.class_name(v.object) + EXTENDED.get(v.object, "").replace("_", "static")
        assert one, v
        return one

    # ---- callbacks ---------------------------------------------------------------------------------------------

    def is_stream(self, v):
        """"write" or "read", if it is that of a stream, else ""."""
        shown = [p.kind for p in v.parameters if p.way != "derived" and p.type not in self.surface.structs]
        return {("bytes",): "write", ("buffer",): "read"}.get(tuple(shown), "") if v.type != "void" else ""

    def callback_result(self, v):
        if v.type == "void":
            return ""
        return "io::Result<()>" if any(p.kind == "bytes" or (p.kind == "buffer" and p.type not in self.surface.structs)
                                       for p in v.parameters) else "ControlFlow<()>"

    def callback_type(self, v, life=""):
        if stream := self.is_stream(v):
            bare = "dyn " + stream.capitalize()
        else:
            inner = []
            for p in v.parameters:
                if p.way != "derived":
                    kind = {"bytes": "&[u8]", "text": "&[u8]", "buffer": "&mut [u8]"}.get(p.kind)
                    if p.type in self.surface.structs:
                        kind = f"&mut [{self.struct_name(p.type)}]"
                    elif p.kind in ("facts", "structs"):
                        one = self.life(p.struct)
                        kind = f"&{one}" if p.kind == "facts" else f"&[{one}]"
                    inner.append(kind or self.type_out(p))
            result = self.callback_result(v)
            bare = f"dyn FnMut({', '.join(inner)})" + (f" -> {result}" if result else "")
        return f"&{life}mut ({bare} + {life.strip()})" if life else f"&mut {bare}"

    def kept_type(self, v):
        return self.callback_type(v).removeprefix("&mut dyn ").replace("FnMut", "Fn") + " + Send + Sync"

    def thunk(self, words, v):
        """Name of the function that C calls; its text is kept."""
        if stream := self.is_stream(v):
            return f"on_{stream}"
        name, given = f"on_{'_'.join(words)}_{v.name}", []
        for p in v.parameters:
            if p.way == "derived":
                continue
            n = languages.rust_name(p.name)
            given.append({
                "number": lambda: f"{p.enumeration}({n})" if p.enumeration else n,
                "bytes": lambda: f"items({n}.cast(), {p.length})",
                "text": lambda: f"items({n}.cast(), {p.length})",
                "buffer": lambda: f"from_raw_parts_mut({n}, {p.length})" if p.type in self.surface.structs
                else f"blank({n}, {p.length})",
                "string": lambda: f"string({n})",
                "facts": lambda: f"&{self.struct_name(p.struct)}::of(&*{n})",
                "structs": lambda: f"&list(items({n}, {p.length}), {self.struct_name(p.struct)}::of)",
            }[p.kind]())
        result = self.callback_result(v)
        stop, run = {"": ("()", "{}"), "io::Result<()>": ("sys::GGUFX_E_IO", "status({})"),
                     "ControlFlow<()>": ("sys::GGUFX_E_CANCELLED", "flow({})")}[result]
        types = [re.sub(r"\b(?=c_|ggufx_)", "sys::", languages.rust_type(q.type)) for q in v.c.parameters]
        head = group(f"unsafe extern \"C\" fn {name}",
                     [f"{languages.rust_name(q.name)}: {t}" for q, t in zip(v.c.parameters, types)],
                     (" -> i32" if result else "") + " {")
        run_type = f"&*user.cast::<Box<dyn {self.kept_type(v)}>>" if v.kept else f"&mut *user.cast::<{self.callback_type(v)}>"
        self.thunks[name] = head + f"\n    let run = {run_type}();\n" + \
            f"    guarded({stop}, || {run.format('run(' + ', '.join(given) + ')')})" + ("" if result else ";") + "\n}\n"
        return name

    # ---- structs -----------------------------------------------------------------------------------------------

    def fields(self, name):
        return [v for v in self.surface.structs[name].shown
                if not self.surface.has_hook(v) and not v.kept and v.kind != "address"]

    def field_type(self, name, v, facts):
        if facts:
            return self.type_out(v, "'a")
        return f"Option<{self.number(v)}>" if v.flag else self.type_in(v, "'a ")

    def is_text(self, v):
        """Whether a text is one member in C."""
        return v.c.type == "ggufx_text"

    def of_field(self, name, v):
        """A field from the struct of C."""
        n = languages.rust_name(v.name)
        o = f"o.{n}"
        if v.kind == "number":
            value = f"present({o})" if v.none else o
            return f"{v.enumeration}({value})" if v.enumeration else value
        if v.kind == "bool":
            return f"{o} != 0"
        if v.kind in ("string", "path"):
            return f"fixed_string(&{o})" if v.fixed else f"string{'_or_none' if v.optional else ''}({o})"
        if v.kind == "array" and v.fixed:
            return f"{o}.map({v.enumeration})" if v.enumeration else o
        get = "items_or_none" if v.optional else "items"
        if v.kind in ("text", "bytes"):
            at, length = (f"{o}.data", f"{o}.size") if self.is_text(v) else (o, f"o.{v.length}")
            of = f"{get}({at}.cast(), {length})"
            return f"String::from_utf8_lossy({of}).into_owned()" if self.is_passing(v) else of
        length = "(" + " * ".join(f"o.{x}" for x in v.length.split(" * ")) + ") as usize"
        if " * " not in length:
            length = f"o.{v.length}" + ("" if self.type_of(name, v.length) == "usize" else " as usize")
        if v.kind == "array":
            return f"{get}({o}{'.cast()' if v.enumeration else ''}, {length})"
        if v.kind == "structs":
            return f"list(items({o}, {length}), {self.struct_name(v.struct)}::of)"
        raise ValueError(v)

    def type_of(self, struct, name):
        return SCALARS[next(m.type for m in self.surface.structs[struct].c.members if m.name == name)]

    def fill(self, name, v):
        """Statements that put a field into the struct of C."""
        n = languages.rust_name(v.name)
        if v.flag:
            flag = "::".join(v.flag)
            return [f"if let Some({n}) = self.{n} {{", f"    o.{n} = {n}{'.0' if v.enumeration else ''};",
                    f"    o.flags |= {flag}.0;", "}"]
        return getattr(self, f"fill_{v.kind}")(name, v, f"o.{n}", f"self.{n}")

    def told(self, name, v):
        """The member that has the length of a field, or None."""
        return next((f for f in self.surface.structs[name].fields if f.name == v.length and f.way == "derived"), None)

    def length_of(self, name, v, expression):
        """The statement that sets it."""
        kind = self.type_of(name, v.length)
        return f"o.{v.length} = {expression}" + ("" if kind == "usize" else f" as {kind}") + ";"

    def fill_number(self, name, v, to, value):
        return [f"{to} = {value}{'.0' if v.enumeration else ''};"]

    def fill_bool(self, name, v, to, value):
        return [f"{to} = {value}.into();"]

    def fill_string(self, name, v, to, value):
        return [f"{to} = held.{v.kind}({value if v.optional else f'Some({value})'})?;"]

    fill_path = fill_string

    def fill_text(self, name, v, to, value):
        n = languages.rust_name(v.name)
        if v.kind == "text":
            value += ".map(str::as_bytes)" if v.optional else ".as_bytes()"
        first = f"let {n} = {value if v.optional else f'Some({value})'};"
        if self.is_text(v):
            return [first, f"{to} = sys::ggufx_text {{ data: optional({n}).cast(), size: count({n}) }};"]
        return [first, f"{to} = optional({n}).cast();", self.length_of(name, v, f"count({n})")]

    fill_bytes = fill_text

    def fill_object(self, name, v, to, value):
        if not v.optional:
            return [f"{to} = {value}.as_raw();"]
        if v.exclusive:
            return [f"{to} = {value}.as_ref().map_or(null_mut(), |x| x.as_raw());"]
        cast = "" if v.object in EXTENDED else " as *const _"
        return [f"{to} = {value}.map_or(null(), |x| x.as_raw(){cast});"]

    def fill_progress(self, name, v, to, value):
        return [f"{to} = held.progress({value});"]

    def fill_callback(self, name, v, to, value):
        n, user = languages.rust_name(v.name), v.c.meaning["user"]
        thunk = self.thunk(self.surface.structs[name].words, v)
        return [f"if let Some({n}) = {value} {{", f"    {to} = Some({thunk});",
                f"    o.{user} = held.put({n}).cast();", "}"]

    def fill_buffer(self, name, v, to, value):
        n, cast = languages.rust_name(v.name), ".cast()" if v.type == "void" else ""
        if not v.optional:
            return [f"{to} = {value}.as_mut_ptr(){cast};", self.length_of(name, v, f"{value}.len()")]
        borrow = "&mut " if self.is_listed(name) else ""
        return [f"if let Some({n}) = {borrow}{value} {{", f"    {to} = {n}.as_mut_ptr(){cast};",
                f"    {self.length_of(name, v, f'{n}.len()')}", "}"]

    def fill_array(self, name, v, to, value):
        told, lines = self.told(name, v), []
        have = f"filled({value}).map(<[_]>::len)" if v.optional else f"Some({value}.len())"
        if told and told.arrays[0] != v.name:
            lines.append(f'exactly("{v.name}", {have}, {self.len_of(told)} as u64)?;')
        elif not told and set(model.names_in(v.length)) <= {f.name for f in self.fields(name)}:
            many = self.times(v.length, lambda x: f"self.{x}", lambda x: self.type_of(name, x))
            lines.append(f'exactly("{v.name}", {have}, {many})?;')
        at = f"optional(filled({value}))" if v.optional else f"{value}.as_ptr()"
        lines.append(f"{to} = {at}{'.cast()' if v.enumeration else ''};")
        return [*lines, self.length_of(name, v, self.len_of(told))] if told and told.arrays[0] == v.name else lines

    def fill_values(self, name, v, to, value):
        n = languages.rust_name(v.name)
        get = f"{value}.map(|x| x.of(self.type_, \"{v.name}\"))" + ".transpose()?.unwrap_or((null(), 0))" if v.optional \
            else f"{value}.of(self.type_, \"{v.name}\")?"
        return [f"let {n} = {get};", f"{to} = {n}.0;", self.length_of(name, v, f"{n}.1")]

    def fill_list(self, name, v, to, value, make):
        return [f"{to} = held.list({value}.iter().map({make};", self.length_of(name, v, f"{value}.len()")]

    def fill_texts(self, name, v, to, value):
        return [f"let text = |x: &&str| {self.text_of(v.struct, 'x')};",
                *self.fill_list(name, v, to, value, "text).collect())")]

    def fill_objects(self, name, v, to, value):
        return self.fill_list(name, v, to, value, "|x| x.as_raw() as *const _).collect())")

    def fill_structs(self, name, v, to, value):
        raw = self.raw_call(v.struct)
        collect = "collect::<Result<_>>()?)" if raw.endswith("?") else "collect())"
        return self.fill_list(name, v, to, value, f"|x| x.{raw.rstrip('?')}).{collect}")

    def fill_options(self, name, v, to, value):
        n, raw = languages.rust_name(v.name), self.raw_call(v.struct)
        if not v.optional:
            return [f"{to} = held.put({value}.{raw});"]
        borrow = "" if self.is_moved(v.struct) else "&"
        return [f"if let Some({n}) = {borrow}{value} {{", f"    {to} = held.put({n}.{raw});", "}"]

    fill_struct = fill_options

    def text_of(self, struct, x):
        """A text as a struct of C."""
        at, n = (m.name for m in self.surface.structs[struct].c.members)
        return f"sys::{struct} {{ {at}: {x}.as_ptr().cast(), {n}: {x}.len() }}"

    def len_of(self, told):
        """Elements of arrays that are equally long: of the first one that is given."""
        first, *more = [f"self.{languages.rust_name(n)}" for n in told.arrays]
        return f"{first}.len()" if not more else f"count(filled({first}){''.join(f'.or(filled({m}))' for m in more)})"

    def times(self, length, say, kind):
        """A length as u64."""
        parts = []
        for n in length.split(" * "):
            if inner := re.fullmatch(r"sum\((\w+)\)", n):
                parts.append(f"sum({say(inner[1])})")
            else:
                parts.append(say(n) if kind(n) == "u64" else f"{say(n)} as u64")
        return parts[0] if len(parts) == 1 else f"product(&[{', '.join(parts)}])"

    def ways(self, name):
        """(whether the struct of C has pointers to what is made for it, whether that may fail)"""
        if name not in self.known:
            text = "\n".join(line for v in self.fields(name) for line in self.fill(name, v))
            self.known[name] = ("held" in text, "?" in text)
        return self.known[name]

    def raw_call(self, name, held="held"):
        return f"raw({held})?" if any(self.ways(name)) else "raw()"

    def is_read(self, name):
        """Whether a struct comes from the library."""
        if not self.read:
            values = [v for c in self.surface.calls for a in c.arguments for v in [
                *([a] if a.way == "out" else []), *(a.parameters or []),
                *[p for f in self.inner(a) for p in f.parameters or []]]]
            names = [v.struct for v in values if v.kind in ("facts", "structs")]
            for outer in names:  # grows
                names += [v.struct for v in self.fields(outer) if v.kind == "structs" and v.struct not in names]
            self.read = set(names)
        return name in self.read

    def inner(self, v):
        return self.fields(v.struct) if v.struct and v.kind in ("options", "struct") else []

    def struct(self, name):
        s = self.surface.structs[name]
        facts = self.is_read(name)
        fields = self.fields(name)
        life = "<'a>" if self.has_life(name) else ""
        derived = ["Clone", "Debug"]
        if facts:
            derived.append("PartialEq")
            if not any(v.fixed and v.kind == "string" or v.kind == "structs" for v in fields):
                derived.insert(1, "Copy")
        else:
            derived = ([] if self.is_alone(name) else ["Clone", "Copy", "Debug"]) + \
                ([] if any(not v.optional and v.kind in ("object", "buffer") for v in fields) else ["Default"])
        text = self.doc(s.doc, "", f"{' '.join(s.words)}".capitalize() + ".")
        text += f"#[derive({', '.join(derived)})]\n" if derived else ""
        if any(v.kind == "callback" for v in fields):
            text += "#[allow(clippy::type_complexity)]\n"
        text += f"pub struct {self.struct_name(name)}{life} {{\n"
        for v in fields:
            words = v.name.replace("_", " ")
            otherwise = f"Number of {words[2:]}." if words.startswith("n ") else words + "."
            field = f"    pub {languages.rust_name(v.name)}: {self.field_type(name, v, facts)},\n"
            doc = "" if self.is_passing(v) else v.doc.removeprefix("as long: ")
            text += self.doc(doc, "    ", otherwise, v.enumeration) + field
        text += "}\n\n"
        text += self.of(name, life) if facts else ""
        return text + (self.raw(name) if not facts or self.is_written(name) else "")

    def of(self, name, life):
        fields = [(languages.rust_name(v.name), self.of_field(name, v)) for v in self.fields(name)]
        body = group(f"        {self.struct_name(name)} ", [n if n == x else f"{n}: {x}" for n, x in fields], "", "{}")
        return f"impl{life} {self.struct_name(name)}{life} {{\n" + \
            f"    pub(crate) unsafe fn of(o: &sys::{name}) -> Self {{\n{body}\n    }}\n}}\n"

    def raw(self, name):
        s = self.surface.structs[name]
        this = "&mut self" if self.is_listed(name) else "self" if self.is_moved(name) else "&self"
        holds, fails = self.ways(name)
        fails = holds or fails
        held = ", held: &Keep" if holds else ", _: &Keep" if fails else ""
        result = f"Result<sys::{name}>" if fails else f"sys::{name}"
        lines = [f"let mut o = sized!({name});" if s.sized else f"let mut o: sys::{name} = unsafe {{ zeroed() }};"]
        for v in self.fields(name):
            lines += self.fill(name, v)
        body = "".join(statement(line, "        ") + "\n" for line in [*lines, "Ok(o)" if fails else "o"])
        own = "<'_>" if self.has_life(name) else ""
        return f"impl {self.struct_name(name)}{own} {{\n" + \
            f"    pub(crate) fn raw({this}{held}) -> {result} {{\n{body}    }}\n}}\n"

    def is_written(self, name):
        """Whether a struct that comes from the library goes into it, too."""
        return any(v.struct == name and v.way == "in" and v.kind in ("struct", "structs", "options")
                   for c in self.surface.calls for a in c.arguments
                   for v in [a, *self.inner(a)])
