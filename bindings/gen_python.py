"""Writes the plain part of Python's safe layer, and the classes of its errors.

SPDX-License-Identifier: MIT
"""
import keyword
import re
import textwrap

import surface as model

NOTE = "# Generated from include/ggufx by python3 bindings/raw.py --write; a test compares them.\n" \
       "# SPDX-License-Identifier: MIT\n"
# Classes that modules by hand extend: ggufx exports those.
EXTENDED = {"ggufx_runtime", "ggufx_file", "ggufx_tensor", "ggufx_session", "ggufx_tokenizer", "ggufx_matcher",
            "ggufx_imatrix", "ggufx_job", "ggufx_writer", "ggufx_embedder", "ggufx_speculator"}
# Bases by hand of generated classes, with the shapes that VIEWS need.
BASES = {"ggufx_kv": "KvShapes", "ggufx_session": "SessionShapes", "ggufx_matcher": "MatcherShapes"}
# Calls with views of arrays: shapes of the results, which may be given as buffers, and numbers that arrays tell.
_QUERIES = {"n_queries": "self._queries(q_)", "out": "(n_queries, *self._result)", "lse": "n_queries * self._query[0]"}
VIEWS = {
    "ggufx_adapter_add_rows": {"n_rows": "len(rows_)"},
    "ggufx_kv_append": {"n_tokens": "self._tokens(k_)"},
    "ggufx_kv_append_batch": {},
    "ggufx_kv_append_half": {"n_tokens": "self._tokens(k_)"},
    "ggufx_kv_attend": _QUERIES,
    "ggufx_kv_attend_batch": {"out": "(sequences_.size, *self._result)", "lse": "sequences_.size * self._query[0]"},
    "ggufx_kv_read": {"k": "(n_tokens, *self._key)", "v": "(n_tokens, *self._value)"},
    "ggufx_kv_scores": {**_QUERIES, "out": "(n_queries, self._query[0], self.length(sequence))"},
    "ggufx_matcher_mask": {"out_bits": "(self._n_words,)"},
    "ggufx_session_decode": {"logits": "(tokens_.size if flags & DecodeFlags.ALL_LOGITS else 0, self.n_vocab)"},
    "ggufx_session_decode_batch": {
        "logits": "(rows_of(items, BatchFlags.LOGITS, BatchFlags.ALL_LOGITS), self.n_vocab)",
        "embeddings": "rows_of(items, BatchFlags.EMBED, BatchFlags.ALL_EMBED) * self.n_embedding"},
    "ggufx_session_logits": {"out": "(self.n_vocab,)"},
}
# Hooks of one call: the type of the function, and the address of the struct.
HOOKS = {"ggufx_attention_hook": ("AttentionHook", "self._attention({}, call_)")}
# Structs that the modules by hand have in another form.
INNER = {"ggufx_runtime_options", "ggufx_vulkan_options", "ggufx_detokenize_state", "ggufx_candidate",
         "ggufx_sampling_facts"}
# Calls that an idiom replaces.
LEFT_OUT = {"ggufx_file_tensor"}
# Calls with kept callbacks that are by hand here, too.
KEPT_BY_HAND = {"ggufx_speculator_create", "ggufx_device_adopt_vulkan"}
# Fields that a module by hand fills, or that are of no use without others.
SKIPPED = {("ggufx_quantize_options", "imatrix"), ("ggufx_device_options", "cache_store")}
# Names that the generated module uses; none is that of a parameter.
SUPPORT = {
    "._buffers": ["Array", "Buffer", "Doubles", "Floats", "Ints", "Ints32", "F32", "F64", "I32", "I64", "SIZE",
                  "U16", "U32", "U64", "U8", "address", "address_or_none", "copied", "count", "fresh", "numbers",
                  "raw_bytes", "reads", "records", "room_for", "structs_at", "writes", "equal"],
    "._callbacks": ["Following", "Progress", "callback", "fill_whole"],
    "._shapes": [*BASES.values(), "AttentionHook", "rows_of"],
    "._facts": ["Path", "Text", "bytes_at", "path_bytes", "terminated", "text_at", "text_or_none", "to_bytes"],
    "._handle": ["KINDS", "Object", "Self", "borrowed"],
    "._keep": ["Keep", "Room", "Structs", "asked_twice"],
    "._library": ["lib"],
    "._error": ["present"],
    ".errors": ["check"],
}
DTYPES = {"int8_t": "I8", "uint8_t": "U8", "int16_t": "I16", "uint16_t": "U16", "int32_t": "I32", "uint32_t": "U32",
          "int64_t": "I64", "uint64_t": "U64", "size_t": "SIZE", "float": "F32", "double": "F64"}
CTYPES = {"void": "None", "float": "c_float", "double": "c_double", "size_t": "c_size_t", "ggufx_status": "c_int32"}
# What comments say of memory that Python copies.
OF_MEMORY = re.compile(r"[;,]? *(valid for the life of the process|not NUL-terminated|(valid|lives) as long as the \w+)")
# Exceptions with another name or base than Error, and what Python calls the same.
ERROR_NAMES = {"MEMORY": "OutOfMemory", "TYPE": "TensorType", "KEY": "FileKey", "VALUE": "FileValue",
               "OVERFLOW": "FileOverflow", "NAME": "FileName"}
FILE_ERRORS = {"TRUNCATED", "MAGIC", "VERSION", "ENDIAN", "MALFORMED", "CHECKSUM"}
MODEL_ERRORS = {"VOCAB", "HPARAM", "HYPERPARAMETER", "MISSING"}
ALSO = {"ARGUMENT": "ValueError", "MEMORY": "MemoryError", "IO": "OSError", "TYPE": "ValueError",
        "UNSUPPORTED": "NotImplementedError", "NOT_FOUND": "KeyError", "STATE": "RuntimeError",
        "INTERNAL": "RuntimeError", "DEVICE": "RuntimeError"}


def name_of(name):
    return name + "_" if keyword.iskeyword(name) else name


def camel(words):
    return "".join(w[:1].upper() + w[1:] for w in words)


def ctype(c):
    if "*" in c:
        return "c_void_p"
    return CTYPES.get(c, f"c_{c.removesuffix('_t')}")


def wrap(line, indent, more="    "):
    """A long line, broken after commas inside of brackets: of the outermost ones, if those are enough."""
    pieces, depth, start = [], 0, 0
    for i, c in enumerate(line):
        depth += (c in "([{") - (c in ")]}")
        if c == " " and line[i - 1] == "," and (depth == 1 or (depth == 2 and i - start > 90)):
            pieces.append(line[start:i])
            start = i + 1
    pieces.append(line[start:])
    lines, now = [], indent + pieces[0]
    for piece in pieces[1:]:
        if len(now) + 1 + len(piece) > 112:
            lines.append(now)
            now = indent + more + piece
        else:
            now += " " + piece
    return "\n".join([*lines, now]) + "\n"


def quoted(text, indent):
    lines = text.replace("\\", "\\\\").replace('"""', "'''").split("\n")
    end = " " if lines[-1].endswith('"') else ""
    if len(lines) == 1:
        return f'{indent}"""{lines[0]}{end}"""\n'
    return f'{indent}"""' + "\n".join(line and (indent if i else "") + line for i, line in enumerate(lines)) + \
        f'\n{indent}"""\n'


def sentence(text):
    """A comment of a member as a sentence."""
    first = re.match(r"[a-z]+(?=[ ,:.;]|$)", text)
    text = (text[0].upper() + text[1:] if first else text).strip()
    return text if text.endswith((".", ":", "...")) else text + "."


class Writer:
    def __init__(self, surface):
        self.surface = surface
        for call in surface.calls:
            if call.name in VIEWS or (call.hand == "a callback that is kept" and call.name not in KEPT_BY_HAND):
                call.hand = ""
            call.hand = call.hand or ("an idiom" if call.name in LEFT_OUT else "")
        self.calls = [c for c in surface.calls if not c.hand]
        self.structs = [s for s in surface.used_structs(surface.calls) if not self.is_inner(s)]
        self.read_structs, self.filled_structs = surface.structs_by_way(self.calls)
        self.thunks = {}  # (result, parameters in C) -> name
        self.by_name = {c.name: c for c in surface.calls}
        self.constants = {c: (e.name, m) for e in surface.enumerations.values() for m, c, _, _ in e.members}

    def is_inner(self, name):
        """Structs that users never see: hooks, and texts."""
        struct = self.surface.structs[name]
        return struct.role == "hook" or model.is_text_struct(struct.c) or name in INNER

    # ---- names -------------------------------------------------------------------------------------------------

    def class_name(self, c):
        return camel(self.surface.classes[c].words)

    def struct_name(self, c):
        return camel(self.surface.structs[c].words)

    def call_name(self, call):
        return name_of("_".join(call.words))

    def refer(self, name, enumeration=""):
        """The words of Python for a name of C, in the comment of a number of an enumeration."""
        if name == "NULL":
            return "None"
        if name.endswith("*"):
            found = {self.constants.get(c, ("",))[0] for c in self.surface.api.constants if c.startswith(name[:-1])}
            return found.pop() if len(found) == 1 and found != {""} else enumeration or None
        if name in self.constants:
            enumeration, member = self.constants[name]
            return f"{enumeration}.{member}"
        if call := self.by_name.get(name):
            owner = self.class_name(call.owner) if call.owner else ""
            return owner if call.kind == "constructor" else ".".join(filter(None, [owner, self.call_name(call)]))
        if name in self.surface.classes:
            return self.class_name(name)
        if name in self.surface.structs:
            return self.struct_name(name)
        if name.endswith("_destroy"):
            return "close"
        return name.removeprefix("GGUFX_").removeprefix("ggufx_")

    def doc(self, text, indent, otherwise=""):
        return quoted(model.told(text, self.refer) or otherwise, indent)

    def doc_of_field(self, v):
        return quoted(sentence(model.told(OF_MEMORY.sub("", v.doc), lambda n: self.refer(n, v.enumeration))), "    ")

    def doc_of_struct(self, s):
        """A struct without a comment is named after the call that has it."""
        call = next((c for c in self.surface.calls for v in c.arguments if v.struct == s.c.name), None)
        name = self.refer(call.name) if call else ""
        what = {"options": f"Options of {name}.", "facts": f"Result of {name}."}.get(s.role, f"{camel(s.words)}.")
        return self.doc(s.doc, "    ", what)

    # ---- types -------------------------------------------------------------------------------------------------

    def type_in(self, v):
        """The annotation of something that a user passes."""
        kind = {
            "bool": "bool", "string": "Text", "path": "Path", "text": "Text", "bytes": "Buffer", "texts": "Sequence[Text]",
            "progress": "Progress",
        }.get(v.kind)
        if v.json:
            kind = "Any"
        elif v.kind == "number":
            kind = "float" if v.type in ("float", "double") else "int"
        elif v.kind == "array":
            kind = "Buffer" if v.type in ("float", "double", "uint8_t") else "Ints"
        elif v.kind == "object":
            kind = self.class_name(v.object)
        elif v.kind == "objects":
            kind = f"Sequence[{self.class_name(v.object)}]"
        elif v.kind in ("options", "struct"):
            kind = self.struct_name(v.struct)
        elif v.kind == "structs":
            kind = "Mapping[str, object]" if self.is_mapping(v.struct) else f"Sequence[{self.struct_name(v.struct)}]"
        elif v.kind == "callback":
            kind = self.callback_type(v)
        assert kind, v
        return kind + " | None" if v.optional and v.kind not in ("number", "bool") and not v.json else kind

    def type_out(self, v):
        kind = {"bool": "bool", "string": "str", "path": "str", "text": "str", "bytes": "bytes", "array": "Array"}.get(v.kind)
        if v.kind == "number":
            kind = v.enumeration or ("float" if v.type in ("float", "double") else "int")
            return kind + " | None" if v.none else kind
        if v.kind == "array":
            kind = {"I32": "Ints32", "F32": "Floats", "F64": "Doubles"}.get(DTYPES[v.type], "Array")
            if v.fixed:
                kind = f"tuple[{v.enumeration or 'int'}, ...]"
        elif v.kind == "facts":
            kind = self.struct_name(v.struct)
        elif v.kind == "structs":
            kind = f"tuple[{self.struct_name(v.struct)}, ...]"
        elif v.kind == "object":
            kind = self.class_name(v.object)
        assert kind, v
        always = v.two_call or v.way == "out" and v.name != "result"  # optional outputs are always asked for
        return kind + " | None" if v.optional and not always else kind

    def is_mapping(self, struct):
        return [v.name for v in self.surface.structs[struct].shown] == ["key", "value"]

    def callback_type(self, v):
        inner = []
        for p in v.parameters:
            if p.way != "derived":
                inner.append("Array" if p.type in self.surface.structs else "int" if p.kind == "buffer"
                             else self.type_out(p))
        result = "Buffer" if "int" in inner and any(p.kind == "buffer" for p in v.parameters) else "object"
        return f"Callable[[{', '.join(inner)}], {result}]"

    # ---- callbacks ---------------------------------------------------------------------------------------------

    def thunk(self, v):
        key = (ctype(v.type), *[ctype(q.type) for q in v.c.parameters if q.name != "user"])
        return self.thunks.setdefault(key, f"_CALL_{len(self.thunks) + 1}")

    def convert(self, v):
        """A lambda that calls the function of a program with what C passed."""
        raw = [f"{q.name}_" for q in v.c.parameters if q.name != "user"]  # no names of functions here
        given = []
        for p in v.parameters:
            if p.way == "derived":
                continue
            if p.kind == "buffer" and p.type not in self.surface.structs:
                return f"lambda f, {', '.join(raw)}: fill_whole({p.name}_, {p.length}_, f)"
            given.append(self.read(p, f"{p.name}_"))
        return f"lambda f, {', '.join(raw)}: f({', '.join(given)})"

    def read(self, p, at):
        """A parameter of a callback as Python has it."""
        if p.kind == "number":
            return f"{p.enumeration}({at})" if p.enumeration else at
        if p.kind == "bytes":
            return f"string_at({at}, {p.length}_)"
        if p.kind == "text":
            return f"text_at({at}, {p.length}_)"
        if p.kind == "buffer":
            return f"records(_raw.{p.type}, {at}, {p.length}_)"
        if p.kind == "facts":
            return f"{self.struct_name(p.struct)}._of(cast({at}, POINTER(_raw.{p.struct})).contents)"
        if p.kind == "structs":
            return (f"tuple({self.struct_name(p.struct)}._of(o) for o in "
                    f"cast({at}, POINTER(_raw.{p.struct}))[:{p.length}_])")
        raise ValueError(p)

    # ---- structs -----------------------------------------------------------------------------------------------

    def fields_in(self, name):
        shown = [v for v in self.surface.structs[name].shown if not self.surface.has_hook(v) and
                 (v.kind != "callback" or v.type in ("void", "int32_t", "ggufx_status")) and
                 v.kind not in ("buffer", "address") and (name, v.name) not in SKIPPED]
        return sorted(shown, key=lambda v: v.optional)

    def views_in(self, call, v):
        """Buffers and hooks of the options of a call."""
        views = VIEWS.get(call.name, {})
        return [f for f in self.surface.structs[v.struct].shown if f.struct in HOOKS or
                (f.kind == "buffer" and f.name in views)] if views else []

    def default(self, v):
        if not v.optional:
            return ""
        return {"number": "0.0" if v.type in ("float", "double") else "0", "bool": "False"}.get(v.kind, "None")

    def facts_field(self, v):
        o = f"o.{name_of(v.name)}"
        if v.kind == "number":
            value = f"present({o})" if v.none else o
            return f"{v.enumeration}({value})" if v.enumeration else value
        if v.kind == "bool":
            return f"{o} != 0"
        if v.kind in ("string", "path"):
            if v.fixed:
                return f'{o}.decode("utf-8", "replace")'
            return f"text_or_none({o})" if v.optional else f"text_at({o})"
        if v.kind in ("text", "bytes"):
            o, n = (o, f"o.{v.length}") if v.length else (f"{o}.data", f"{o}.size")
            if v.kind == "bytes":
                return f"bytes_at({o}, {n})"
            return f"text_or_none({o}, {n})" if v.optional else f"text_at({o}, {n})"
        if v.kind == "array" and v.fixed:
            each = f"{v.enumeration}(x) for x in {o}" if v.enumeration else o
            return f"tuple({each})" + (f"[: o.{v.arrays[0]}]" if v.arrays else "")
        if v.kind == "array":
            shape = "".join(f"o.{n}, " for n in v.length.split(" * "))
            return f"copied({o}, ({shape.strip()}), {DTYPES[v.type]}, {v.optional})"
        if v.kind == "structs":
            return f"structs_at(_raw.{v.struct}, {o}, o.{v.length}, {self.struct_name(v.struct)}._of)"
        raise ValueError(v)

    def fill(self, v):
        """Statements that put a field of a dataclass into the struct of C."""
        to, value, n = f"o.{name_of(v.name)}", f"self.{name_of(v.name)}", v.length
        lengths = f", o.{n}" if n and not v.fixed and any(n == d for d in self.derived) else ""
        if v.kind in ("number", "bool"):
            return f"{to} = {value}"
        if v.kind == "object":
            return f'{to} = keep.object({value}, "{v.object}")'
        if v.kind in ("string", "path"):
            return f"{to} = keep.{v.kind}({value})"
        if v.kind == "text":
            method = "json" if v.json else "text"
            return f"{to}, o.{n} = keep.{method}({value})" if n else f"{to}.data, {to}.size = keep.{method}({value})"
        if v.kind == "texts":
            return f"{to}, o.{n} = keep.texts_of(_raw.{v.struct}, {value})"
        if v.kind == "bytes":
            return f"{to}, o.{n} = keep.bytes({value}, \"{v.name}\")"
        if v.kind == "array":
            if lengths and len(self.derived[n]) > 1:
                arrays = ", ".join(f"self.{name_of(a)}" for a in self.derived[n])
                return f"{to}, o.{n} = keep.array({value}, {DTYPES[v.type]}, \"{v.name}\")[0], equal({arrays})"
            if lengths:
                return f"{to}, o.{n} = keep.array({value}, {DTYPES[v.type]}, \"{v.name}\")"
            size = re.sub(r"([a-z_]\w*)", r"self.\1", n)
            return f"{to} = keep.array({value}, {DTYPES[v.type]}, \"{v.name}\", {size})[0]"
        if v.kind == "structs":
            of = f"_pairs({self.struct_name(v.struct)}, {value})" if self.is_mapping(v.struct) else value
            return f"{to}, o.{n} = keep.structs(_raw.{v.struct}, {of})"
        if v.kind == "objects":
            return f'{to}, o.{n} = keep.objects({value}, "{v.object}")'
        if v.kind in ("options", "struct"):
            return f"{to} = keep.struct(_raw.{v.struct}, {value})"
        if v.kind == "progress":
            return f"{to} = keep.follow({value})"
        if v.kind == "callback":
            user = name_of(v.c.meaning["user"])
            method = "stays" if v.kept else "on"
            return f"{to}, o.{user} = keep.{method}({self.thunk(v)}, {value}, {self.convert(v)})"
        raise ValueError(v)

    def struct(self, name):
        s = self.surface.structs[name]
        self.derived = {v.name: v.arrays for v in s.fields if v.way == "derived" and v.kind == "length"}
        facts, fills = name in self.read_structs, name not in self.read_structs or name in self.filled_structs
        shown = s.shown if facts else self.fields_in(name)
        shown = [v for v in shown if not (facts and v.name == "n_dims")]
        text = f"\n\n@dataclass{'(frozen=True)' if facts else ''}\nclass {self.struct_name(name)}:\n"
        text += self.doc_of_struct(s) + "\n"
        for v in shown:
            default = "" if facts else self.default(v)
            text += f"    {name_of(v.name)}: {self.type_out(v) if facts else self.type_in(v)}" + \
                (f" = {default}" if default else "") + "\n"
            if v.doc:
                text += self.doc_of_field(v)
        if facts:
            text += f"\n    @classmethod\n    def _of(cls, o: _raw.{name}) -> {self.struct_name(name)}:\n"
            text += wrap("return cls(" + ", ".join(self.facts_field(v) for v in shown) + ")", "        ")
        if fills:
            sized = "        o.struct_size = sizeof(o)\n" if s.sized else ""
            keep = "Following" if self.follows(name) else "Keep"
            text += f"\n    def _fill(self, o: _raw.{name}, keep: {keep}) -> None:\n" + sized
            text += "".join(f"        o.{v.name} = sizeof(_raw.{v.struct})\n" for v in s.fields
                            if v.kind == "size" and v.name != "struct_size")
            text += "".join(wrap(self.fill(v), "        ") for v in shown)
        return text

    def follows(self, name):
        """Whether a struct has functions of the program in it."""
        return any(v.kind in ("progress", "callback") or (v.kind in ("options", "struct") and self.follows(v.struct))
                   for v in self.fields_in(name))

    # ---- calls -------------------------------------------------------------------------------------------------

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
                    (more if f.optional else first).append(f"{name_of(f.name)}: {self.type_in(f)}" +
                                                           (f" = {self.default(f)}" if f.optional else ""))
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
        if v.kind == "text" and v.struct:
            return [f"{n} = _raw.{v.struct}()"], f"byref({n})"
        if v.kind == "text":
            return [f"{n}, {n}_n = c_void_p(), c_size_t()"], f"byref({n})"
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
            return [f"{n}_ = call_.texts_of(_raw.{v.struct}, {n})[0]"], f"{n}_"
        if v.kind == "texts":
            return [f"{n}_, {n}_lengths = call_.texts({n})"], f"{n}_"
        if v.kind == "structs":
            return [f"{n}_ = call_.structs(_raw.{v.struct}, {n})[0]"], f"{n}_"
        if v.kind == "objects":
            return [f'{n}_ = call_.objects({n}, "{v.object}")[0]'], f"{n}_"
        if v.kind == "struct":
            return [f"{n}_ = call_.struct(_raw.{v.struct}, {n})"], f"{n}_"
        if v.kind == "options":
            given = ", ".join(f"{name_of(f.name)}={name_of(f.name)}" for f in self.fields_in(v.struct))
            made = f"{self.struct_name(v.struct)}({given})"
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
            return [f"{n}_, {user}_ = call_.on({self.thunk(v)}, {n}, {self.convert(v)})"], f"{n}_"
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
            return f"text_at({n}.data, {n}.size)" if v.struct else f"text_at({n}.value, {n}_n.value)"
        return n

    def guard(self, call):
        """Locks and contexts around the call."""
        names = []
        for v, alone in call.locks:
            if self.surface.classes[v.object].mutable:
                turns = f"{'self' if v.name == call.this_name else name_of(v.name)}._turns.{'changing' if alone else 'reading'}"
                names.append(f"(nullcontext() if {name_of(v.name)} is None else {turns})" if v.optional else turns)
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
        kept = any(f.kept and f.kind == "callback" for v in call.inputs if v.kind in ("options", "struct")
                   for f in self.fields_in(v.struct))
        if made is None:
            values = [self.result(v) for v in call.outputs] + [f"{name_of(v.name)}_" for v in self.filled(call)]
            keeps = ["self._callbacks = [*self._callbacks, *call_.callbacks]"] if kept else []
            return keeps + ([f"return {', '.join(values)}"] if values else [])
        lasting = [f"{name_of(v.name)}._handle" for v in call.inputs if v.keeps]
        lasts = [f"own.keeps = [{', '.join(lasting)}]"] if lasting else []
        if call.kind == "constructor":
            asked = ", asked_" if self.asks(call) else ", callbacks=call_.callbacks" if kept else ""
            return lasts + [f"self._take(own, {self.parent(call)}{asked})"]
        if call.kind == "static":
            return lasts + [f"return cls._made(own, {self.parent(call)})"]
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

    # ---- files -------------------------------------------------------------------------------------------------

    def cls(self, c):
        text = f"\n\nclass {self.class_name(c.c)}({BASES.get(c.c, 'Object')}):\n" + self.doc(c.doc, "    ", f"{c.words[0]}.")
        text += f'\n    _kind = "{c.c}"\n    _mutable = {c.mutable}\n'
        text += f'    _together = "{c.together}"\n' if c.together else ""
        for call in c.generated:
            text += "\n" + self.call(call)
        return text

    def safe(self):
        structs = "".join(self.struct(s) for s in self.structs)
        classes = "".join(self.cls(c) for c in self.surface.classes.values())
        functions = "".join("\n\n" + self.call(c) for c in self.surface.functions if not c.hand)
        thunks = "".join(f"{n} = callback({', '.join(key)})\n" for key, n in self.thunks.items())
        public = [self.struct_name(s) for s in self.structs] + \
            [self.class_name(c) for c in self.surface.classes if c not in EXTENDED] + \
            [self.call_name(c) for c in self.surface.functions if not c.hand]
        used = sorted(e for e in self.surface.enumerations if f"{e}." in str(VIEWS) or
                      re.search(rf"\b{e}\(|: {e}\b|\[{e}\b|-> {e}\b|, {e}\b", structs + classes + functions))
        body = thunks + structs + classes + functions
        every = "".join(f'    "{n}",\n' for n in sorted(public))
        support = {**SUPPORT, ".ids": used}
        imports = ""
        for module, names in support.items():
            here = sorted(n for n in names if re.search(rf"\b{n}\b", body))
            if here:
                imports += wrap(f"from {module} import ({', '.join(here)})", "")
        ctypes = sorted(n for n in ("POINTER", "byref", "cast", "sizeof", "string_at", "c_void_p", "c_size_t", "c_double",
                                    "c_float", "c_int32", "c_int64", "c_uint32", "c_uint64")
                        if re.search(rf"\b{n}\b", body))
        typing = sorted(n for n in ("Any", "Callable", "Mapping", "Sequence") if re.search(rf"\b{n}\b", body))
        context = "from contextlib import nullcontext\n" if "nullcontext()" in body else ""
        pairs = "" if "_pairs(" not in body else (
            "\n\ndef _pairs(kind: Callable[[Any, Any], Any], of: Mapping[str, object] | None) -> list[Any] | None:\n"
            "    return None if of is None else [kind(key, written(value)) for key, value in of.items()]\n")
        if pairs:
            imports = imports.replace("from ._facts import (", "from ._facts import (written, ")
        return (NOTE + '"""The plain part of the package: see bindings/gen_python.py."""\n'
                "from __future__ import annotations\n\n" + context + wrap(f"from ctypes import ({', '.join(ctypes)})", "") +
                f"from dataclasses import dataclass\nfrom typing import {', '.join(typing)}\n\nfrom . import _raw\n" +
                imports + f"\n__all__ = [\n{every}]\n\n" + body.split("\n\n@dataclass", 1)[0] + pairs +
                "\n\n@dataclass" + body.split("\n\n@dataclass", 1)[1])


def error_name(code):
    return ERROR_NAMES.get(code, "".join(w.capitalize() for w in code.split("_"))) + "Error"


def errors(surface):
    """A class for each status, with the comment of the header."""
    text, names = "", []
    for member, c, value, doc in surface.enumerations["Status"].members:
        if value == 0:
            continue
        base = "ModelError" if member in MODEL_ERRORS else \
            "FileError" if member in FILE_ERRORS or value <= -32 else "Error"
        bases = ", ".join(filter(None, [base, ALSO.get(member)]))
        names.append(error_name(member))
        text += f"\n\nclass {names[-1]}({bases}):\n" + quoted(doc[:1].upper() + doc[1:] + ".", "    ") + \
            f"\n    code = Status.{member}\n"
    every = "".join(f'    "{n}",\n' for n in names)
    return (NOTE + "from ._error import Error, FileError, ModelError\nfrom .ids import Status\n\n"
            f"__all__ = [\n{every}]\n" + text)


def files(surface):
    return {"bindings/python/ggufx/_safe.py": lambda: Writer(surface).safe(),
            "bindings/python/ggufx/_codes.py": lambda: errors(surface)}
