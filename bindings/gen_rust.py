"""Writes the plain part of Rust's safe layer: classes and functions (calls.rs), options and facts (values.rs).

The text is as rustfmt writes it with rust/rustfmt.toml, so that no formatter is needed to compare it.
SPDX-License-Identifier: MIT
"""
import re
import textwrap

import languages
import surface as model

NOTE = "// Written by bindings/raw.py from include/ggufx; a test compares them. See bindings/gen_rust.py.\n" \
       "// SPDX-License-Identifier: MIT\n"
WIDTH = 100
# Objects whose struct is written by hand: they have more than the object of C. With their lifetime.
EXTENDED = {"ggufx_tensor": "<'_>", "ggufx_session": "", "ggufx_sampler": "", "ggufx_chat_parser": "",
            "ggufx_kv": "", "ggufx_speculator": "<'_>"}
# Those of them that need nothing beside the object of C.
PLAIN = {"ggufx_tensor"}
# Structs that modules by hand have in another form.
INNER = {"ggufx_vulkan_options", "ggufx_detokenize_state", "ggufx_sampling_facts"}
# What other languages view by hand; slices are Rust's own.
VIEWS = {"views of the caller's memory", "views of KV"}
ANY = "'_"  # lifetime
METHODS = {"create": "new", "clone": "try_clone"}  # clones may fail
SCALARS = {k: v for k, v in languages.RUST.items() if v[0] in "iuf"}


def camel(words):
    return "".join(w[:1].upper() + w[1:] for w in words)


# ---- form ------------------------------------------------------------------------------------------------------

def group(head, items, tail, brackets="()"):
    """head(items)tail in one line, or with a line for each item."""
    space = " " if brackets == "{}" and items else ""
    line = head + brackets[0] + space + ", ".join(items) + space + brackets[1] + tail
    if len(line) <= WIDTH or not items:
        return line
    indent = re.match(r" *", head)[0]
    inner = "".join(textwrap.indent(item, indent + "    ") + ",\n" for item in items)
    return f"{head}{brackets[0]}\n{inner}{indent}{brackets[1]}{tail}"


def invoke(head, name, arguments, tail, indent):
    """head unsafe { sys::name(arguments) } tail"""
    line = f"{indent}{head}unsafe {{ sys::{name}({', '.join(arguments)}) }}{tail}"
    if len(line) <= WIDTH:
        return line
    inner = group(f"{indent}    sys::{name}", arguments, "")
    return f"{indent}{head}unsafe {{\n{inner}\n{indent}}}{tail}"


def arguments_of(text):
    """The arguments of a call, by the commas outside of brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts]


def let(name, value, indent):
    """A let; a value that does not fit stands in a line of its own."""
    line = f"{indent}let {name} = {value};"
    return line if len(line) <= WIDTH else f"{indent}let {name} =\n{indent}    {value};"


# ---- documentation ---------------------------------------------------------------------------------------------

ROW = re.compile(r"^`?(\w+(?:, \w+)*)`?  +(\S.*)$")


def escaped(text):
    """Names and shapes become code; other brackets are neither links nor tags."""
    parts = re.split(r"(\[?`[^`]*`\]?)", text)
    for i in range(0, len(parts), 2):
        named = re.sub(r"(?<![\w.])[a-z]\w*(?:_\w+)+\b(?!\()|(?:\[\w[^\[\]]*\])+", lambda m: f"`{m[0]}`", parts[i])
        inner = re.split(r"(`[^`]*`)", named)
        inner[::2] = [re.sub(r"[\[\]<>]|(?<=\S)\*|\*(?=\S)", r"\\\g<0>", p) for p in inner[::2]]
        parts[i] = "".join(inner)
    return "".join(parts)


def paragraphs(text):
    """(first indent, other indent, text) of each paragraph and item, None between those that an empty line parts."""
    rows = []
    for line in text.split("\n"):
        if not line.strip():
            rows.append(None)
        elif match := ROW.match(line):
            names = ", ".join(f"`{n}`" for n in match[1].split(", "))
            rows.append(["- ", f"{names}: {match[2]}"])
        elif line.lstrip().startswith("- "):
            rows.append(["- ", line.lstrip()[2:]])
        elif rows and rows[-1] and (rows[-1][0] == "" or line.startswith(" ")):
            rows[-1][1] += " " + line.strip()
        else:
            if rows and rows[-1]:
                rows.append(None)
            rows.append(["", line.strip()])
    lists = []  # a list begins after an empty line
    for row in rows:
        if row and lists and lists[-1] and row[0] != lists[-1][0]:
            lists.append(None)
        lists.append(row)
    return lists


class Writer:
    def __init__(self, surface):
        self.surface = surface
        self.by_name = {c.name: c for c in surface.calls}
        self.constants = {c: (e.name, m) for e in surface.enumerations.values() for m, c, _, _ in e.members}
        self.structs = [s for s in surface.used_structs(surface.calls) if not self.is_inner(s)]
        self.generated = {c.name for c in surface.calls if not self.by_hand(c)}
        self.calls = [c for c in surface.calls if c.name in self.generated]
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
            alone = call.owner in EXTENDED or any(v.kept for v in call.arguments) or any(f.kind == "address" for f in fields)
            return call.hand if alone else ""
        if call.hand not in VIEWS:
            return call.hand
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
        if name == "NULL":
            return "`None`"
        if name.endswith("*"):
            found = {self.constants.get(c, ("",))[0] for c in self.surface.api.constants if c.startswith(name[:-1])}
            return f"[`{found.pop()}`]" if len(found) == 1 and found != {""} else f"`{name}`"
        if name in self.constants:
            enumeration, member = self.constants[name]
            return f"[`{enumeration}::{member}`]"
        if call := self.by_name.get(name):
            words = "::".join(filter(None, [self.class_name(call.owner) if call.owner else "", self.call_name(call)]))
            return f"[`{words}`]" if name in self.generated else f"`{words}`"
        if name in self.surface.classes:
            return f"[`{self.class_name(name)}`]"
        if name in self.structs:
            return f"[`{self.struct_name(name)}`]"
        return "`drop`" if name.endswith("_destroy") else f"`{name}`"

    def doc(self, text, indent, otherwise=""):
        text = model.told(text.strip() or otherwise, self.refer)
        text = re.sub(r"`(\[`[^`]*`\]|`[^`]*`)`", r"\1", text)  # names that were code already
        lines = []
        for row in paragraphs(text[:1].upper() + text[1:]):
            if row is None:
                lines.append("")
                continue
            first, more = row[0], "  " if row[0] else ""
            lines += textwrap.wrap(escaped(row[1]), WIDTH - 4 - len(indent), initial_indent=first, subsequent_indent=more,
                                   break_long_words=False, break_on_hyphens=False)
        joined = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
        return "".join(f"{indent}///{' ' + line if line else ''}\n" for line in joined.split("\n"))

    # ---- types -------------------------------------------------------------------------------------------------

    def number(self, v):
        return v.enumeration or SCALARS[v.type]

    def raw_number(self, v):
        return f"{v.name}.0" if v.enumeration else v.name

    def has_life(self, name):
        """Whether a struct borrows something."""
        return any(self.borrows(name, v) for v in self.fields(name))

    def borrows(self, name, v):
        if v.kind in ("options", "struct", "facts") or (v.kind == "structs" and self.is_read(name)):
            return self.has_life(v.struct)
        return v.kind not in ("number", "bool") and not v.fixed

    def is_moved(self, name):
        """Whether a struct has something that the call uses up."""
        return any(v.kind in ("progress", "callback", "buffer") or
                   (v.kind in ("options", "struct") and self.is_moved(v.struct)) for v in self.fields(name))

    def is_alone(self, name):
        """Whether a struct has something that no other call may use at the same time."""
        return self.is_moved(name) or any((v.kind == "object" and v.exclusive) or
                                          (v.kind in ("options", "struct", "structs") and self.is_alone(v.struct))
                                          for v in self.fields(name))

    def life(self, name, life="'_"):
        return f"{self.struct_name(name)}<{life}>" if self.has_life(name) else self.struct_name(name)

    def object(self, v, life=""):
        alone = "mut " if v.exclusive else ""
        return f"&{life}{alone}{self.class_name(v.object)}{EXTENDED.get(v.object, '')}"

    def type_in(self, v, life=""):
        """Of a parameter (life ""), or of a field ("'a ")."""
        one = {"bool": "bool", "string": f"&{life}str", "bytes": f"&{life}[u8]"}.get(v.kind)
        if v.kind == "path":
            one = f"&{life}Path" if life else "impl AsRef<Path>"
        elif v.kind == "text":
            one = f"&{life}str" if life or v.optional else "impl AsRef<[u8]>"
        elif v.kind == "number":
            return self.number(v)
        elif v.kind == "array":
            one = f"&{life}[{self.number(v)}]"
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
            one = self.callback_type(v, life)
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
        if v.kind in ("text", "bytes") and not v.two_call:
            one = f"&{life} [u8]" if life != "'_" else "&[u8]"
            return f"Option<{one}>" if v.optional and v.way == "in" else one
        if v.kind == "array" and v.fixed:
            return f"[{self.number(v)}; {self.elements(v)}]"
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

    def elements(self, v):
        return languages.elements(v.c)

    # ---- callbacks ---------------------------------------------------------------------------------------------

    def is_stream(self, v):
        """"write" or "read", if it is that of a stream, else ""."""
        shown = [p.kind for p in v.parameters if p.way != "derived"]
        return {("bytes",): "write", ("buffer",): "read"}.get(tuple(shown), "") if v.type != "void" else ""

    def callback_result(self, v):
        if v.type == "void":
            return ""
        return "io::Result<()>" if any(p.kind in ("bytes", "buffer") for p in v.parameters) else "ControlFlow<()>"

    def callback_type(self, v, life=""):
        if stream := self.is_stream(v):
            bare = "dyn " + stream.capitalize()
        else:
            inner = []
            for p in v.parameters:
                if p.way != "derived":
                    kind = {"bytes": "&[u8]", "text": "&[u8]", "buffer": "&mut [u8]"}.get(p.kind)
                    if p.kind in ("facts", "structs"):
                        one = self.life(p.struct)
                        kind = f"&{one}" if p.kind == "facts" else f"&[{one}]"
                    inner.append(kind or self.type_out(p))
            result = self.callback_result(v)
            bare = f"dyn FnMut({', '.join(inner)})" + (f" -> {result}" if result else "")
        return f"&{life}mut ({bare} + {life.strip()})" if life else f"&mut {bare}"

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
                "buffer": lambda: f"blank({n}, {p.length})",
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
        self.thunks[name] = head + f"\n    let run = &mut *user.cast::<{self.callback_type(v)}>();\n" + \
            f"    guarded({stop}, || {run.format('run(' + ', '.join(given) + ')')})" + ("" if result else ";") + "\n}\n"
        return name

    # ---- structs -----------------------------------------------------------------------------------------------

    def fields(self, name):
        return [v for v in self.surface.structs[name].shown
                if not self.surface.has_hook(v) and not v.kept and v.kind != "address"]

    def presence(self, name, v):
        """The flag that says that a field counts, or ""."""
        flags = next((f for f in self.surface.structs[name].fields if f.name == "flags"), None)
        member = f"HAS_{v.name.upper()}"
        if flags is None or not flags.enumeration or v.kind != "number":
            return ""
        known = [m for m, _, _, _ in self.surface.enumerations[flags.enumeration].members]
        return f"{flags.enumeration}::{member}" if member in known else ""

    def field_type(self, name, v, facts):
        if facts:
            return self.type_out(v, "'a")
        return f"Option<{self.number(v)}>" if self.presence(name, v) else self.type_in(v, "'a ")

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
            return f"{get}({at}.cast(), {length})"
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
        n, s = languages.rust_name(v.name), f"self.{languages.rust_name(v.name)}"
        to, length = f"o.{n}", ""
        told = next((f for f in self.surface.structs[name].fields if f.name == v.length and f.way == "derived"), None)
        if told:
            kind = self.type_of(name, v.length)
            length = f"o.{v.length} = {{}}" + ("" if kind == "usize" else f" as {kind}") + ";"
        lines = []
        if flag := self.presence(name, v):
            return [f"if let Some({n}) = {s} {{", f"    {to} = {n}{'.0' if v.enumeration else ''};",
                    f"    o.flags |= {flag}.0;", "}"]
        if v.kind == "number":
            return [f"{to} = {s}{'.0' if v.enumeration else ''};"]
        if v.kind == "bool":
            return [f"{to} = {s}.into();"]
        if v.kind in ("string", "path"):
            given = s if v.optional else f"Some({s})"
            return [f"{to} = held.{v.kind}({given})?;"]
        if v.kind in ("text", "bytes"):
            given = f"{s}.map(str::as_bytes)" if v.kind == "text" and v.optional else \
                s if v.kind == "bytes" and v.optional else f"Some({s}{'.as_bytes()' if v.kind == 'text' else ''})"
            at = f"let {n} = {given};"
            if self.is_text(v):
                return [at, f"{to} = sys::ggufx_text {{ data: optional({n}).cast(), size: count({n}) }};"]
            return [at, f"{to} = optional({n}).cast();", length.format(f"count({n})")]
        if v.kind == "object":
            get = "|x| x.as_raw()"
            null = "null_mut()" if v.exclusive else "null()"
            cast = " as *const _" if not v.exclusive and v.object not in EXTENDED and v.optional else ""
            borrow = ".as_ref()" if v.exclusive else ""
            return [f"{to} = {s}{borrow}.map_or({null}, {get}{cast});" if v.optional else f"{to} = {s}.as_raw();"]
        if v.kind == "progress":
            return [f"{to} = held.progress({s});"]
        if v.kind == "callback":
            user = v.c.meaning["user"]
            return [f"if let Some({n}) = {s} {{", f"    {to} = Some({self.thunk(self.surface.structs[name].words, v)});",
                    f"    o.{user} = held.put({n}).cast();", "}"]
        if v.kind == "buffer":
            cast = ".cast()" if v.type == "void" else ""
            if v.optional:
                return [f"if let Some({n}) = {s} {{", f"    {to} = {n}.as_mut_ptr(){cast};",
                        f"    {length.format(f'{n}.len()')}", "}"]
            return [f"{to} = {s}.as_mut_ptr(){cast};", length.format(f"{s}.len()")]
        if v.kind == "array":
            cast = ".cast()" if v.enumeration else ""
            if told and told.arrays[0] != v.name:
                lines.append(f'exactly("{v.name}", {self.len_or_none(v, s)}, {self.len_of(name, told)} as u64)?;')
            elif not told and set(model.names_in(v.length)) <= {f.name for f in self.fields(name)}:
                lines.append(f'exactly("{v.name}", {self.len_or_none(v, s)}, {self.times(v.length, lambda x: f"self.{x}", lambda x: self.type_of(name, x))})?;')
            at = f"optional(filled({s}))" if v.optional else f"{s}.as_ptr()"
            lines.append(f"{to} = {at}{cast};")
            if told and told.arrays[0] == v.name:
                lines.append(length.format(self.len_of(name, told)))
            return lines
        if v.kind in ("structs", "objects", "texts"):
            if v.kind == "texts":
                lines.append(f"let text = |x: &&str| {self.text_of(v.struct, 'x')};")
                make = f"{s}.iter().map(text).collect()"
            elif v.kind == "objects":
                make = f"{s}.iter().map(|x| x.as_raw() as *const _).collect()"
            else:
                raw = self.raw_call(v.struct)
                make = f"{s}.iter().map(|x| x.{raw.rstrip('?')}).collect" + ("::<Result<_>>()?" if raw.endswith("?") else "()")
            return [*lines, f"{to} = held.list({make});", length.format(f"{s}.len()")]
        if v.kind in ("options", "struct"):
            if v.optional:
                borrow = "" if self.is_moved(v.struct) else "&"
                return [f"if let Some({n}) = {borrow}{s} {{", f"    {to} = held.put({n}.{self.raw_call(v.struct)});", "}"]
            return [f"{to} = held.put({s}.{self.raw_call(v.struct)});"]
        raise ValueError(v)

    def text_of(self, struct, x):
        """A text as a struct of C."""
        at, n = (m.name for m in self.surface.structs[struct].c.members)
        return f"sys::{struct} {{ {at}: {x}.as_ptr().cast(), {n}: {x}.len() }}"

    def len_or_none(self, v, s):
        return f"filled({s}).map(<[_]>::len)" if v.optional else f"Some({s}.len())"

    def len_of(self, name, told):
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
            text += self.doc(v.doc, "    ", otherwise) + field
        text += "}\n\n"
        return text + (self.of(name, life) if facts else "") + (self.raw(name) if not facts or self.is_written(name) else "")

    def of(self, name, life):
        fields = [(languages.rust_name(v.name), self.of_field(name, v)) for v in self.fields(name)]
        body = group(f"        {self.struct_name(name)} ", [n if n == x else f"{n}: {x}" for n, x in fields], "", "{}")
        return f"impl{life} {self.struct_name(name)}{life} {{\n" + \
            f"    pub(crate) unsafe fn of(o: &sys::{name}) -> Self {{\n{body}\n    }}\n}}\n"

    def raw(self, name):
        s = self.surface.structs[name]
        this = "self" if self.is_moved(name) else "&self"
        holds, fails = self.ways(name)
        fails = holds or fails
        held = ", held: &Keep" if holds else ", _: &Keep" if fails else ""
        result = f"Result<sys::{name}>" if fails else f"sys::{name}"
        lines = [f"let mut o = sized!({name});" if s.sized else f"let mut o: sys::{name} = unsafe {{ zeroed() }};"]
        lines += [f"o.{v.name} = size::<sys::{v.struct}>(){'' if SCALARS[v.type] == 'u32' else f' as {SCALARS[v.type]}'};"
                  for v in s.fields if v.kind == "size" and v.name != "struct_size"]
        for v in self.fields(name):
            lines += self.fill(name, v)
        body = "".join(self.statement(line) for line in [*lines, "Ok(o)" if fails else "o"])
        own = "<'_>" if self.has_life(name) else ""
        return f"impl {self.struct_name(name)}{own} {{\n" + \
            f"    pub(crate) fn raw({this}{held}) -> {result} {{\n{body}    }}\n}}\n"

    def is_written(self, name):
        """Whether a struct that comes from the library goes into it, too."""
        return any(v.struct == name and v.way == "in" and v.kind in ("struct", "structs", "options")
                   for c in self.surface.calls for a in c.arguments
                   for v in [a, *self.inner(a)])

    def statement(self, line):
        """A statement of a body; an assignment that is too long is broken after its sign."""
        text = "        " + line
        if len(text) > WIDTH and line.startswith("exactly"):
            return self.broken(line, "        ") + "\n"
        if len(text) > WIDTH and " = " in line:
            to, value = line.split(" = ", 1)
            text = f"        {to} =\n            {value}"
        return text + "\n"

    # ---- calls -------------------------------------------------------------------------------------------------

    def parameter(self, v):
        mutable = "mut " if (v.kind == "buffer" and v.optional) or v.kind == "callback" else ""
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
        if v.kind == "user":
            callback = next(a for a in call.arguments if a.kind == "callback" and a.c.meaning["user"] == v.name)
            n = languages.rust_name(callback.name)
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
        return self.prepare_output(call, v, n) if v.way == "out" else self.prepare_input(call, v, n)

    def prepare_output(self, call, v, n):
        if v.kind == "object":
            return [f"let mut {n} = null_mut();"], f"&mut {n}"
        if v.kind == "facts":
            sized = self.surface.structs[v.struct].sized
            made = f"sized!({v.struct})" if sized else f"unsafe {{ zeroed::<sys::{v.struct}>() }}"
            return [f"let mut {n} = {made};"], f"&mut {n}"
        if v.two_call:
            kind = f"sys::{v.struct}" if v.kind == "structs" else "u8" if v.kind in ("text", "bytes") else SCALARS[v.type]
            at = ".cast()" if v.kind in ("text", "bytes") else ""
            lines = [f"let mut {n} = unsafe {{ Room::<{kind}>::new({self.start(call, v)}) }};"]
            if v.kind == "structs" and self.surface.structs[v.struct].sized:  # the first one tells it of all
                lines.append(f"unsafe {{ (*{n}.at()).struct_size = size::<{kind}>() }};")
            return lines, f"{n}.at(){at}"
        if v.kind == "array":
            many = self.times(v.length, self.say(call), self.kind_of(call))
            kind = SCALARS[v.type]
            return [f"let mut {n} = zeros::<{kind}>({many})?;"], f"{n}.as_mut_ptr()"
        if v.kind == "text" and self.is_pointer_text(v):
            return [f"let mut {n} = null();", f"let mut {n}_n = 0;"], f"&mut {n}"
        if v.kind == "text":
            return [f"let mut {n} = sys::ggufx_text {{ data: null(), size: 0 }};"], f"&mut {n}"
        zero = "0.0" if v.type in ("float", "double") else "0"
        return [f"let mut {n} = {zero};"], f"&mut {n}"

    def is_pointer_text(self, v):
        return "ggufx_text" not in v.c.type

    def start(self, call, v):
        """Room for the first try: what most inputs need."""
        if v.kind == "structs":
            return "64"
        each = "8 * " if v.kind in ("text", "bytes") else ""
        sizes = [f"{each}{languages.rust_name(a.name)}.len()" for a in call.inputs
                 if a.kind in ("text", "array") and not a.optional]
        return " + ".join([*sizes, "64" if sizes else "4096"])

    def prepare_input(self, call, v, n):
        if v.kind == "number":
            return [], self.raw_number(v).replace(v.name, n, 1)
        if v.kind == "bool":
            return [], f"{n}.into()"
        if v.kind == "object":
            return [], f"{n}.map_or(null_mut(), |x| x.as_raw())" if v.optional else f"{n}.as_raw()"
        if v.kind == "string":
            if v.optional:
                return [f"let {n} = held.string({n})?;"], n
            if not call.fails:
                return [f"let {n} = match c_string({n}) {{", f"    Ok({n}) => {n},",
                        "    Err(_) => return Default::default(),", "};"], f"{n}.as_ptr().cast()"
            return [f"let {n} = c_string({n})?;"], f"{n}.as_ptr().cast()"
        if v.kind == "path":
            return [f"let {n} = path_string({n}.as_ref())?;"], f"{n}.as_ptr().cast()"
        if v.kind == "text":
            if v.optional:
                return [], f"optional({n}.map(str::as_bytes)).cast()"
            return [f"let {n} = {n}.as_ref();"], f"{n}.as_ptr().cast()"
        if v.kind == "bytes":
            return [], f"optional({n}).cast()" if v.optional else f"{n}.as_ptr().cast()"
        if v.kind == "array":
            cast = ".cast()" if v.enumeration else ""
            return self.checks(call, v, n), (f"optional({n})" if v.optional else f"{n}.as_ptr()") + cast
        if v.kind == "buffer":
            cast = ".cast()" if v.type == "void" else ""
            return self.checks(call, v, n), (f"optional_mut(&mut {n})" if v.optional else f"{n}.as_mut_ptr()") + cast
        if v.kind == "texts" and v.struct:
            return [f"let {n}: Vec<_> = {n}", "    .iter()", "    .map(AsRef::as_ref)",
                    f"    .map(|x: &[u8]| {self.text_of(v.struct, 'x')})", "    .collect();"], f"{n}.as_ptr()"
        if v.kind == "texts":
            return [f"let {n}_lengths: Vec<usize> = {n}.iter().map(|t| t.as_ref().len()).collect();",
                    f"let {n}: Vec<*const sys::c_char> =", f"    {n}.iter().map(|t| t.as_ref().as_ptr().cast()).collect();"], \
                f"{n}.as_ptr()"
        if v.kind == "structs":
            raw = self.raw_call(v.struct, "&held")
            each = "x." + raw.rstrip("?") if raw.endswith("?") else f"Ok(x.{raw})"
            return [f"let {n} = unsafe {{ List::of({n}.iter().map(|x| {each})) }}?;"], f"{n}.at()"
        if v.kind == "objects":
            return [f"let {n}: Vec<_> = {n}.iter().map(|x| x.as_raw() as *const _).collect();"], f"{n}.as_ptr()"
        if v.kind in ("options", "struct"):
            lines = []
            for f in self.fields(v.struct):
                names = set(model.names_in(f.length))
                if f.kind == "array" and names and not names <= {g.name for g in self.surface.structs[v.struct].fields}:
                    many = self.times(f.length, self.say(call), self.kind_of(call))
                    lines.append(f'exactly("{f.name}", filled({n}.{f.name}).map(<[_]>::len), {many})?;')
            return [*lines, f"let {n} = {n}.{self.raw_call(v.struct, '&held')};"], f"&{n}"
        if v.kind == "progress":
            return [], f"held.progress({n})"
        if v.kind == "callback":
            thunk = self.thunk(call.words, v)
            return [], f"{n}.as_ref().map(|_| {thunk} as _)" if v.optional else f"Some({thunk})"
        raise ValueError(v)

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
            return f"{self.class_name(v.object)}::of_raw({n})"
        if v.two_call:
            if v.kind == "text":
                return f"lossy({n}.filled())"
            if v.kind == "structs":
                return f"unsafe {{ list(&{n}.filled(), {self.struct_name(v.struct)}::of) }}"
            return f"{n}.filled()"
        if v.kind == "text":
            return f"unsafe {{ items({n}.cast(), {n}_n) }}" if self.is_pointer_text(v) else \
                f"unsafe {{ items({n}.data.cast(), {n}.size) }}"
        return n

    def results(self, call):
        life = "'_" if call.this else "'static"
        types = [self.type_out(v, life) for v in call.outputs]
        if any(v.kind == "object" for v in call.outputs):
            types = ["Self" if t == self.class_name(call.owner) else t for v, t in zip(call.outputs, types)]
        one = types[0] if len(types) == 1 else f"({', '.join(types)})"
        return f"Result<{one}>" if call.fails else one if types else ""

    def body(self, call, indent):
        before, arguments = [], {}
        for v in sorted(call.arguments, key=lambda v: (v.way == "out", "sum(" in v.length)):
            lines, arguments[v.name] = self.prepare(call, v)
            before += lines
        if any("held" in x for x in [*before, *arguments.values()]):
            before.insert(0, "let held = Keep::new();")
        given = [arguments[v.name] for v in call.arguments]
        lines = [indent + line if len(indent + line) <= WIDTH else self.broken(line, indent) for line in before]
        values = [self.result(call, v) for v in call.outputs]
        value = values[0] if len(values) == 1 else f"({', '.join(values)})"
        rooms = [languages.rust_name(v.name) for v in call.outputs if v.two_call]
        calls_back = any(v.kind in ("progress", "callback") or (v.kind in ("options", "struct") and self.calls_back(v.struct))
                         for v in call.inputs)
        check = "watched" if calls_back else "check"
        if rooms:
            grows = " | ".join(f"{r}.grows(&done)" for r in rooms)
            grows = f"({grows})" if len(rooms) > 1 else grows
            deep = indent + "    "
            lines += [f"{indent}loop {{", invoke(f"let done = {check}(|e| ", call.name, given, ");", deep),
                      f"{deep}if !{grows} {{", f"{deep}    done?;", group(f"{deep}    return Ok", [value], ";"), f"{deep}}}",
                      f"{indent}}}"]
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

    def broken(self, line, indent):
        """A statement that is too long for its line."""
        if line.startswith("let ") and " = " in line:
            name, value = line.removeprefix("let ").removesuffix(";").split(" = ", 1)
            return let(name, value, indent)
        if match := re.match(r"exactly\((.*)\)\?;$", line):
            return group(f"{indent}exactly", arguments_of(match[1]), "?;")
        return indent + line

    def calls_back(self, name):
        return any(v.kind in ("progress", "callback") or (v.kind in ("options", "struct") and self.calls_back(v.struct))
                   for v in self.fields(name))

    def call(self, call, indent):
        receiver = [] if not call.this else ["&mut self" if call.this.exclusive else "&self"]
        given = receiver + [self.parameter(v) for v in call.inputs]
        errors = ", ".join(f"`{e}`" for e in call.errors)
        text = call.doc + (f"\n\nErrors: {errors}." if errors else "")
        result = self.results(call)
        if call.fails and not call.outputs:
            result = "Result<()>"
        tail = (f" -> {result}" if result else "") + " {"
        words = " ".join(call.words) + "."
        allow = f"{indent}#[allow(clippy::type_complexity)]\n" if any(v.kind == "callback" and v.optional for v in call.inputs) else ""
        return self.doc(text, indent, words) + allow + \
            group(f"{indent}pub fn {self.call_name(call)}", given, tail) + "\n" + self.body(call, indent + "    ") + \
            f"{indent}}}\n"

    # ---- files -------------------------------------------------------------------------------------------------

    def cls(self, c):
        text = ""
        if c.c not in EXTENDED:
            doc = self.doc(c.doc, "    ", f"{' '.join(c.words)}.")
            text = f"\nhandle! {{\n{doc}    {self.class_name(c.c)}({c.c}, {c.c}_destroy)\n}}\n"
        calls = [self.call(call, "    ") for call in c.calls if call.name in self.generated]
        if calls:
            text += f"\nimpl {self.class_name(c.c)}{EXTENDED.get(c.c, '')} {{\n" + "\n".join(calls) + "}\n"
        return text

    def imports(self, body):
        """The use declarations that a file needs, as rustfmt sorts them."""
        support = {
            "crate::handle": ["fixed_string", "handle", "items", "items_or_none", "present", "size", "sized", "string",
                              "string_or_none", "zeroed"],
            "crate::keep": ["c_string", "count", "exactly", "filled", "list", "lossy", "optional", "optional_mut",
                            "path_string", "product", "sum", "user_of", "zeros", "Keep", "List", "Room"],
            "crate::watch": ["blank", "check", "flow", "guarded", "on_read", "on_write", "status", "watched"],
            "std::io": ["self", "Read", "Write"], "std::ops": ["ControlFlow"], "std::path": ["Path"],
            "std::ptr": ["null", "null_mut"]}
        lines = []
        for module, names in support.items():
            here = [n for n in names if re.search(rf"\bio::Result" if n == "self" else rf"\bdyn {n}\b" if n in ("Read", "Write") else
                                                  rf"(?<![.:\w]){n}\b(?=[(!)<>;,]|::)", re.sub(r"///.*|pub fn \w+", "", body))]
            if len(here) == 1 and here != ["self"]:
                lines.append(f"use {module}::{here[0]};")
            elif here == ["self"]:
                lines.append(f"use {module};")
            elif here:
                lines.append(f"use {module}::{{{', '.join(here)}}};")
        lines = sorted([*lines, "use crate::*;", "use ggufx_sys as sys;"], key=lambda line: line.replace("*", "~"))
        return "".join(line if len(line) <= WIDTH else self.imported(line) for line in (x + "\n" for x in lines))

    def imported(self, line):
        """A list of names in as few lines as possible."""
        head, names = line.rstrip("};\n").split("{")
        filled = textwrap.fill(names + ",", WIDTH, initial_indent="    ", subsequent_indent="    ")
        return f"{head}{{\n{filled}\n}};\n"

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
