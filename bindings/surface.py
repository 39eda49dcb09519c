"""The plain part of the safe layers, in the words of no language: classes, calls, structs and enumerations.

Everything here follows by rules from the roles that interface.py finds; a table names only what no rule can tell.
Each language has a writer, gen_LANGUAGE.py, that turns this into its own code; bindings/README.md tells how.

usage: surface.py [NAME]     (shows the calls, or those with this name in theirs)
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys
from dataclasses import dataclass, field

import contract
import interface
from roles import base_of, rows_of, stars_of

INCLUDE = pathlib.Path(__file__).resolve().parent.parent / "include"

# ---- tables ----------------------------------------------------------------------------------------------------

# Classes by another name than their object's.
CLASS_WORDS = {"ggufx_kv": "kv_cache"}
# Calls that every language has by hand, and no rule of by_hand() can tell.
HAND = {
    "ggufx_runtime_create": "hooks",
    "ggufx_writer_set_array": "elements of any type",
}
# Two-call buffers of char that are no whole text.
BYTES = {"ggufx_detokenize", "ggufx_detokenize_stream"}
# Texts of files that need not be UTF-8, and are shown to no person.
BYTE_MEMBERS = {("ggufx_token_facts", "text")}
# Structs by another name than those of options, of which all zero means default.
OPTIONS = ("_options", "_request", "_kv_layer")
# Lengths of an optional array that have no other meaning; others must be given without it, too.
ONLY_LENGTHS = {"n_layer_options"}
TAKEN = "The memory is not copied: it is kept until the last user of the object is gone, and must not change before."
# 0 or 1, where the comment does not begin with "1 if".
BOOLS = {"ggufx_has", "ggufx_adapter_has_tensor", "ggufx_file_meta_bool.out", "ggufx_writer_set_bool.value",
         "ggufx_file_recover_edit.out", "ggufx_edit_facts.in_place", "ggufx_chat_span.user"}


# ---- model -----------------------------------------------------------------------------------------------------

@dataclass
class Value:
    """A parameter of a call, a field of a struct, a parameter of a callback, or a result.

    kind        what it is to a user                                              set, too
    ----------  ----------------------------------------------------------------  ---------------------------
    number      integer or float                                                  type, enumeration
    bool        0 or 1                                                            type
    string      UTF-8 without NUL (in C: NUL-terminated)
    path        the same, name of a file or folder
    text        UTF-8 of any bytes, with its length in C                          json, length
    bytes       any bytes, read or returned                                       length
    array       numbers                                                           type, enumeration, length
    values      floats of the type that the member `type` tells                   length
    structs     structs, one after the other                                      struct, length
    texts       texts                                                             struct if it is one of C, length
    objects     objects                                                           object, length
    object      object of the library                                             object, exclusive, keeps
    options     struct whose fields are optional arguments; nested in a struct:   struct
                a value of its own, which may be left out
    struct      struct that is read                                               struct
    facts       struct that is returned, or that a callback gets                  struct
    state       struct that the caller keeps, and the call changes                struct
    hook        struct of functions of the program, kept by an object             struct
    progress    function of the program that sees progress and may cancel
    callback    function of the program                                           parameters, type, kept
    buffer      array of the caller that is written; in a callback: that it fills type, length
    buffers     arrays of the caller that are written                             type, length
    address     address of something foreign

    Not seen by a user (way "derived"):
    length      number of elements of `arrays`, which are equally long
    lengths     array of the lengths of the texts in `arrays`
    capacity, needed    of the two-call buffer(s) in `arrays`
    size        struct_size, or bytes of one struct of an array                   struct
    user        first argument of the callbacks
    destroy     callback that lets go of what {takes} took
    reserved    0
    error       where the error is written
    """
    name: str
    kind: str
    way: str = "in"  # "in", "out", "derived"
    c: interface.Declaration = None
    type: str = ""  # in C: of a number, of the elements of an array, of the result of a callback
    enumeration: str = ""  # name of the enumeration or set of flags of a number
    struct: str = ""
    object: str = ""
    optional: bool = False  # may be left out
    exclusive: bool = False  # object: no other call at the same time
    keeps: bool = False  # object: must outlive the one that the call makes
    takes: bool = False  # memory: in use until the library calls destroy(user)
    two_call: bool = False  # CAPACITY says how much is needed
    borrows: str = ""  # result that belongs to this parameter
    length: str = ""  # expression of names of the call or struct, "n * m" or "sum(n)"; of a fixed array a number
    arrays: list = field(default_factory=list)  # values that a derived one belongs to
    parameters: list = None  # of a callback, its user apart
    kept: bool = False  # callback: called after the call, too
    json: bool = False
    none: bool = False  # GGUFX_NONE stands for "absent"
    flag: tuple = ()  # (enumeration, member) that says that the number counts although it is 0
    fixed: bool = False  # an array inside of the struct
    doc: str = ""


@dataclass
class Call:
    """A function of the library as a constructor, method or function of a language."""
    c: interface.Function
    owner: str  # C name of the object whose class has it, or ""
    kind: str  # "constructor", "static" (makes an object), "method", "info" (a method without inputs), "function"
    words: list  # of its name, in lower case; of a constructor ["create"]
    arguments: list  # a Value for each parameter in C, in that order; also "self"
    result: Value  # of C other than a status: number, bool, string, object, address; or None
    hand: str = ""  # why it is written by hand; "" if it is generated
    doc: str = ""  # contract without its fixed lines, with names as in C: see told()

    @property
    def name(self):
        return self.c.name

    @property
    def this(self):
        """The object that it is called on; None of constructors, static ones and functions."""
        return next((v for v in self.arguments if v.way == "in" and v.kind == "object" and v.name == self.this_name), None)

    this_name: str = ""

    @property
    def inputs(self):
        """What a user passes, beside the object itself, in the order of C."""
        return [v for v in self.arguments if v.way == "in" and v.name != self.this_name]

    @property
    def outputs(self):
        """What a user gets, in the order of C."""
        return [v for v in self.arguments if v.way == "out"] + ([self.result] if self.result else [])

    @property
    def fails(self):
        return self.c.result == "ggufx_status"

    @property
    def errors(self):
        return self.c.contract.get("errors", [])

    @property
    def locks(self):
        """(object argument, exclusive) of those that need a lock; none of a call beside a running one."""
        if re.search(r"beside|while other calls", self.c.contract.get("threads", "")):
            return []
        return [(v, v.exclusive) for v in self.arguments if v.kind == "object" and v.way == "in"]


@dataclass
class Class:
    c: str  # ggufx_session
    words: list
    doc: str
    calls: list
    mutable: bool  # some call needs it alone: it has a lock
    together: str = ""  # C name of the object that it is made from, whose lock it shares

    @property
    def generated(self):
        return [c for c in self.calls if not c.hand]

    @property
    def lists(self):
        return lists_of(self.calls)

    @property
    def is_stream(self):
        """Whether it takes a prompt and gives events until an end: an iterator in each language."""
        return {"ggufx_prompt", "ggufx_event"} <= {v.struct for c in self.calls for v in c.arguments}


@dataclass
class List:
    """Calls that describe a list: x_count, x_at (or x), x_find (or None)."""
    words: list
    count: Call
    at: Call
    find: Call


@dataclass
class Struct:
    c: interface.Struct
    words: list
    role: str  # "options", "facts", "hook", "plain"
    sized: bool
    fields: list  # a Value for each member in C, in that order

    @property
    def shown(self):
        """The fields that a user sets or reads."""
        return [v for v in self.fields if v.way != "derived"]

    @property
    def doc(self):
        return self.c.comment


@dataclass
class Enumeration:
    name: str  # in words joined by capitals
    type: str  # in C
    flags: bool
    doc: str
    members: list  # (NAME, C name, value, comment)

    @property
    def words(self):
        return [w.lower() for w in re.findall(r"[A-Z][a-z0-9]*", self.name)]


@dataclass
class Surface:
    api: interface.Interface
    classes: dict  # C name of the object -> Class
    functions: list  # calls that belong to no class
    structs: dict  # C name -> Struct
    enumerations: dict  # name -> Enumeration

    @property
    def calls(self):
        return [call for c in self.classes.values() for call in c.calls] + self.functions

    @property
    def lists(self):
        """The lists that belong to no class."""
        return lists_of(self.functions)

    def has_hook(self, value):
        """Whether a field needs a hook: a language that has none for it leaves the field out."""
        return value.kind == "hook" or (value.kind == "options" and
                                        any(map(self.has_hook, self.structs[value.struct].shown)))

    def structs_by_way(self, calls):
        """(names of the structs that a user reads, of those that a user fills in) of these calls."""
        ways = {"out": set(), "in": set()}

        def add(value, way):
            for p in value.parameters or []:
                add(p, "out")
            if value.struct and value.kind not in ("size", "progress", "hook") and value.struct not in ways[way]:
                ways[way].add(value.struct)
                for inner in self.structs[value.struct].shown:
                    add(inner, way)
        for call in calls:
            for v in call.arguments:
                if v.way in ways:
                    add(v, v.way)
                if v.kind == "state":
                    add(v, "out")
        return ways["out"], ways["in"]

    def keeps_callbacks(self, name):
        """Whether an object keeps functions of the program, which copies of it share."""
        return any(v.kind == "callback" and v.kept for c in self.classes[name].calls for v in c.arguments)

    def copied_callbacks(self, call):
        """Objects in the options of a new object that it copies, with the functions that they keep."""
        made = any(v.kind == "object" for v in call.outputs)
        return [(v, f) for v in call.inputs if made and v.kind == "options" for f in self.structs[v.struct].shown
                if f.kind == "object" and self.keeps_callbacks(f.object)]

    def used_structs(self, calls):
        """Names of the structs that these calls name, with those inside of them."""
        found = []

        def add(value):
            for v in [value, *(value.parameters or [])]:
                if v.struct and v.kind not in ("size", "progress") and v.struct not in found:
                    found.append(v.struct)
                    for more in self.structs[v.struct].shown:
                        if not self.has_hook(more):
                            add(more)
        for call in calls:
            for v in call.arguments:
                add(v)
        return found


# ---- numbers ---------------------------------------------------------------------------------------------------

def enumeration_of(api, d):
    """Name of the enumeration of a number, or ""."""
    name = d.enumeration or ("ggufx_status" if d.type == "ggufx_status" else "")
    return api.enumerations[name].title if name else ""


def is_bool(where, d, doc):
    return f"{where}.{d.name}" in BOOLS or (doc.startswith("1 if ") and "int32_t" in d.type)


def number(api, value, where, d):
    value.type = base_of(d.type)
    value.kind = "bool" if is_bool(where, d, value.doc) else "number"
    value.none = "GGUFX_NONE" in value.doc
    if value.kind == "number":
        value.enumeration = enumeration_of(api, d)
    return value


# ---- parameters ------------------------------------------------------------------------------------------------

def is_hook(struct):
    return (any(m.name == "user" for m in struct.members) and any(m.parameters is not None for m in struct.members)
            and not struct.name.endswith(("_options", "_progress")))


def is_text_struct(struct):
    return [m.meaning.get("role") for m in struct.members] == ["text", "length"] or struct.name == "ggufx_text"


def struct_kind(api, d):
    struct = api.structs[base_of(d.type)]
    if struct.name == "ggufx_text":
        return "text"
    if is_hook(struct):
        return "hook"
    return "options" if struct.name.endswith("_options") else "struct"


def array_in(api, value, d, neighbours):
    base = base_of(d.type)
    if base in api.structs:
        value.kind, value.struct = ("texts" if is_text_struct(api.structs[base]) else "structs"), base
    elif base in api.objects:
        value.kind, value.object = "objects", base
    elif base == "char" and stars_of(d.type) == 2:
        value.kind = "texts"
    elif base == "void" and value.length == f"n_{d.name}" and any(n.enumeration == "ggufx_type" for n in neighbours):
        value.kind = "values"
    elif base in ("void", "char"):
        value.kind = "bytes"
    else:
        value.kind, value.type = "array", base
        if any(n.type.count("*") == 2 and base_of(n.type) == "char" and n.meaning.get("length") == value.length
               for n in neighbours):
            value.kind, value.way = "lengths", "derived"
        else:
            value.enumeration = enumeration_of(api, d)
    return value


def two_call(api, value, where, d):
    base = base_of(d.type)
    value.way, value.two_call = "out", True
    if base in api.structs:
        value.kind, value.struct = "structs", base
    elif base == "char":
        value.kind = "bytes" if where in BYTES else "text"
    else:
        value.kind, value.type = "array", base
    return value


def text(value, where, d):
    role = d.meaning["role"]
    value.kind = "text" if role == "text" else "string"
    if value.kind == "string" and re.search(r"(^|_)path$", d.name):
        value.kind = "path"
    value.json = value.kind == "text" and value.doc.startswith("JSON ")
    return value


def callback(api, value, where, d):
    value.kind, value.type, value.takes = "callback", base_of(d.type), False
    if d.name == "destroy":
        value.kind, value.way = "destroy", "derived"
    for p in d.parameters:
        p.doc = p.doc or ""
    inner = [value_of(api, f"{where}.{d.name}", p, d.parameters) for p in d.parameters]
    value.parameters = [v for v in inner if v.kind != "user"]
    for v in value.parameters:
        if v.kind in ("struct", "facts"):
            v.kind = "facts"
    mark(inner)
    return value


def value_of(api, where, d, neighbours):
    """The Value of a parameter or member, by its role."""
    m, base = d.meaning, base_of(d.type)
    value = Value(d.name, m["role"], c=d, optional=m.get("nullable", False), keeps=m.get("keeps", False),
                  takes=m.get("takes", False), length=m.get("length", ""), doc=tidy(d.doc))
    role = m["role"]
    if base == "ggufx_text" and stars_of(d.type) == 0:
        value.kind = "bytes" if (where, d.name) in BYTE_MEMBERS else "text"
        value.json = value.doc.startswith("JSON ")
    elif role in ("scalar", "scalar_out"):
        number(api, value, where, d)
        value.way = "out" if role == "scalar_out" else "in"
    elif role == "text_out":
        value.kind, value.way, value.borrows = "text", "out", m["borrows"]
    elif role in ("text", "string"):
        text(value, where, d)
    elif role == "new":
        value.kind, value.way, value.object = "object", "out", base
    elif role == "object":
        value.object, value.exclusive = base, m.get("exclusive", "const" not in d.type)
    elif role in ("options", "struct_in", "struct"):
        value.kind, value.struct = ("progress" if base == "ggufx_progress" else struct_kind(api, d)), base
        if role == "options":
            value.kind = "options"
    elif role == "struct_inout":
        value.kind, value.struct = "state", base
    elif role == "struct_out":
        value.kind, value.way, value.struct = "facts", "out", base
    elif role == "buffer_out":
        two_call(api, value, where, d)
    elif role == "array_in" or (role == "array" and (d.type.startswith("const") or "*const" in d.type)):
        array_in(api, value, d, neighbours)
    elif role == "array" and d.array:
        value.fixed, value.length, value.type = True, d.array, base
        value.kind = "string" if base == "char" else "array"
        if value.kind == "array":
            number(api, value, where, d)
            value.kind = "array"
    elif role in ("array", "array_out", "array_inout"):
        value.kind, value.type = "buffer", base
    elif role == "arrays_out":
        value.kind, value.type = "buffers", base
    elif role == "callback":
        callback(api, value, where, d)
    elif role in ("length", "capacity", "needed", "user", "error", "reserved"):
        value.way, value.type = "derived", base
    return value


def names_in(expression):
    return [n for n in re.findall(r"[a-z_][\w.]*", expression) if n != "sum"]


def mark(values):
    """Connects lengths with their arrays, and decides which arrays the call can make itself."""
    by_name = {v.name: v for v in values}
    told = {v.length for v in values if v.way == "in" and v.kind not in ("buffer", "buffers")}
    for v in values:
        if v.kind == "buffer" and v.c.meaning["role"] == "array_out":
            known = [by_name.get(n) for n in names_in(v.length)]
            if v.type != "void" and known and all(k is not None and (k.way == "in" or k.name in told) for k in known):
                v.kind, v.way = "array", "out"
    for v in values:
        mine = [a.name for a in values if a is not v and (
            a.length == v.name or a.c.meaning.get(v.kind) == v.name or
            (v.kind == "lengths" and a.kind == "texts" and a.length == v.length))]
        only = mine and (v.name in ONLY_LENGTHS or all(by_name[n].kind == "buffer" for n in mine))
        if v.kind in ("length", "lengths", "capacity", "needed") or (v.kind == "number" and only):
            v.arrays, v.way = mine, "derived"
            v.kind = "length" if v.kind == "number" else v.kind


# ---- calls -----------------------------------------------------------------------------------------------------

def result_of(api, f):
    """A result that is no status."""
    base = base_of(f.result)
    if f.result in ("void", "ggufx_status"):
        return None
    value = Value("result", "number", "out", c=interface.Declaration(f.result, "result"), type=base)
    if f.result == "const char *":
        value.kind, value.optional = "string", "NULL" in f.comment
    elif base in api.objects:
        value.kind, value.object, value.optional = "object", base, True
        value.borrows = next(p.name for p in f.parameters if p.meaning["role"] == "object")
    elif stars_of(f.result):
        value.kind = "address"
    elif f.name in BOOLS:
        value.kind = "bool"
    return value


def prefix_of(api, name):
    """The object that a function's name begins with."""
    return max((o for o in api.objects if name.startswith(o + "_")), key=len, default="")


def place_of(api, f):
    """(object, kind, name of the parameter that is the object itself) of a function."""
    objects = [p for p in f.parameters if p.meaning.get("role") == "object" and not p.meaning.get("nullable")]
    made = next((base_of(p.type) for p in f.parameters if p.meaning.get("role") == "new"), "")
    named = prefix_of(api, f.name)
    this = next((p for p in objects if base_of(p.type) == named), None)
    if made and (this is None or f.name == f"{made}_create"):
        return made, "constructor" if f.name == f"{made}_create" else "static", ""
    this = this or (objects[0] if objects else None)
    if this is None:
        return "", "function", ""
    return base_of(this.type), "method", this.name


def words_of(name, owner):
    name = name.removeprefix(owner + "_") if owner else name
    return name.removeprefix("ggufx_").split("_")


def lists_of(calls):
    by_words = {tuple(c.words): c for c in calls}
    for count in calls:
        if count.words[-1] == "count" and not count.inputs:
            words = tuple(count.words[:-1])
            yield List(list(words), count, by_words.get((*words, "at")) or by_words.get(words),
                       by_words.get((*words, "find")))


def by_hand(surface, call):
    """Why a call is written by hand, or "". Rules first."""
    values = call.arguments + [v for a in call.arguments if a.kind in ("options", "struct", "structs")
                               for v in surface.structs[a.struct].fields if a.kind != "structs" or v.kind == "buffer"]
    if any(v.takes for v in values):
        return "ownership of memory"
    if any(v.kind == "hook" and not v.optional for v in call.arguments):
        return "hooks"
    if any(v.kind == "callback" and v.kept for v in values):
        return "a callback that is kept"
    if any(v.kind == "state" for v in call.arguments):
        return "state of the caller"
    if any(v.kind in ("buffer", "buffers") for v in values):
        return "views of the caller's memory"
    if any(v.kind == "address" for v in values + call.outputs):
        return "addresses"
    if any(v.two_call and not any(d.kind == "needed" and d.name.endswith("needed") for d in call.arguments
                                  if v.name in d.arrays) for v in call.arguments):
        return "a buffer without its needed size"
    return HAND.get(call.name, "")


def read_call(api, f):
    owner, kind, this = place_of(api, f)
    rows = dict(row for row in parameter_rows(f.comment))
    for p in f.parameters:
        p.doc = p.doc or rows.get(p.name, "")
    values = [value_of(api, f.name, p, f.parameters) for p in f.parameters]
    mark(values)
    for v in values:
        v.optional = v.optional or v.kind == "progress"
    call = Call(f, owner, kind, words_of(f.name, owner), values, result_of(api, f), this_name=this,
                doc=tidy(contract.parts_of(f.comment)[0]))
    if any(v.takes for v in values):  # how C lets go of memory
        call.doc = "\n\n".join(TAKEN if "destroy(user)" in p else p for p in call.doc.split("\n\n"))
    if kind == "method" and not call.inputs and call.words[-1] == "info":
        call.kind = "info"
    return call


def is_left_out(f):
    """Initializers and destructors: every language has its own way."""
    return f.name.endswith("_destroy")


# ---- structs ---------------------------------------------------------------------------------------------------

def field_of(api, struct, d):
    doc = tidy(d.doc)
    if d.name == "struct_size":
        return Value(d.name, "size", "derived", d, base_of(d.type), struct=struct.name)
    if d.meaning["role"] in ("head", "reserved") and d.name != "flags":
        return Value(d.name, "reserved", "derived", d, base_of(d.type))
    if d.name == "flags" and not d.enumeration:  # none is defined
        return Value(d.name, "reserved", "derived", d, base_of(d.type))
    if d.name == "flags":
        value = Value(d.name, "number", c=d, doc=doc, optional=role_of(api, struct) != "facts")
        return number(api, value, struct.name, d)
    value = value_of(api, struct.name, d, struct.members)
    if value.way == "in" and is_filled(api, struct) and (struct.name.endswith(OPTIONS) or value.kind != "object"):
        value.optional = True
    return value


def is_sized(struct):
    return struct.members[0].name == "struct_size"


def is_filled(api, struct):
    """A struct of a user, of which zeros mean defaults."""
    return struct.name.endswith(OPTIONS) or (is_sized(struct) and role_of(api, struct) == "plain")


def is_output(api, struct):
    """A struct that the library fills in."""
    given = [p for f in api.functions for p in f.parameters if p.meaning.get("role") in ("struct_out", "buffer_out")]
    given += [q for f in api.functions for p in f.parameters for q in p.parameters or []]
    given += [q for s in api.structs.values() for p in s.members for q in p.parameters or []]
    return any(base_of(p.type) == struct.name for p in given)


def role_of(api, struct):
    name = struct.name
    if is_hook(struct):
        return "hook"
    if name.endswith(OPTIONS):
        return "options"
    return "facts" if is_sized(struct) and is_output(api, struct) else "plain"


def read_struct(api, struct):
    fields = [field_of(api, struct, d) for d in struct.members]
    mark(fields)
    if role_of(api, struct) != "options":
        for v in fields:  # fixed arrays have their length beside them
            if v.kind == "array" and v.fixed and any(o.name == "n_dims" for o in fields):
                v.arrays = ["n_dims"]
    return Struct(struct, words_of(struct.name, ""), role_of(api, struct), is_sized(struct), fields)


def keep_callbacks(surface):
    """A callback in the options of a constructor is called later, too; so is one whose user must live on."""
    for call in surface.calls:
        for v in call.arguments:
            if v.kind == "callback" and "must live as long" in call.c.comment:
                v.kept = True
            if v.kind in ("options", "struct"):
                struct = surface.structs[v.struct]
                users = " ".join(d.doc for d in struct.c.members if d.meaning.get("role") == "user")
                for inner in struct.fields:
                    if inner.kind == "callback" and (call.kind == "constructor" or struct.c.name == "ggufx_device_options" or
                                                     "must live as long" in users):
                        inner.kept = True


def find_flags(surface):
    """Finds the numbers that a flag belongs to: type_k and HAS_TYPE_K."""
    for struct in surface.structs.values():
        flags = next((v.enumeration for v in struct.fields if v.name == "flags"), "")
        known = [member for member, _, _, _ in surface.enumerations[flags].members] if flags else []
        for v in struct.fields:
            if v.kind == "number" and f"HAS_{v.name.upper()}" in known:
                v.flag = (flags, f"HAS_{v.name.upper()}")


# ---- comments --------------------------------------------------------------------------------------------------

TAGS = re.compile(r"\{(?:null|keeps|takes|len: [^}]*)\} ?")
ONLY_C = re.compile(r" ?(?:`?\w+`?->struct_size must be set|`?options`? may be NULL|\(UTF-8 path\))[.]?")
NAME = re.compile(r"\b(ggufx_\w+|GGUFX_[A-Z0-9_]+\*?|NULL\b)")
ROW = re.compile(r"^`?(\w+(?:, \w+)*)`?  +(\S.*)$")


def tidy(comment):
    """A comment without tags and sentences that only C needs."""
    return re.sub(r"\n{3,}", "\n\n", ONLY_C.sub("", TAGS.sub("", comment))).strip()


def parameter_rows(comment):
    """(name, text) of the rows of a contract that describe one parameter."""
    for names, text in rows_of(comment, ROW):
        for name in names:
            yield name, tidy(text)


def told(text, refer):
    """A comment with the names of C replaced: refer(name) gives the words of a language, or None to keep it.

    Names are those of functions, structs, objects, constants, "GGUFX_TYPE_*" for all with a prefix, and "NULL".
    """
    return NAME.sub(lambda m: refer(m[1]) or m[1], text)


# ---- the whole -------------------------------------------------------------------------------------------------

def read_enumerations(api):
    return {e.title: Enumeration(e.title, e.type, e.is_flags, e.comment,
                                 [(member, c.name, c.value, c.doc) for member, c in e.members()])
            for e in api.enumerations.values()}


def read(api):
    """The surface of an interface."""
    surface = Surface(api, {}, [], {}, read_enumerations(api))
    for o, doc in api.objects.items():
        words = words_of(CLASS_WORDS.get(o, o), "")
        mutable = any(p.meaning.get("exclusive") and base_of(p.type) == o and not f.name.endswith("_destroy")
                      for f in api.functions for p in f.parameters)
        with_other = re.search(r"together with its (\w+)", doc)
        surface.classes[o] = Class(o, words, tidy(contract.parts_of(doc)[0]), [], mutable,
                                   f"ggufx_{with_other[1]}" if with_other else "")
    for s in api.structs.values():
        surface.structs[s.name] = read_struct(api, s)
    for f in api.functions:
        if not is_left_out(f):
            call = read_call(api, f)
            (surface.classes[call.owner].calls if call.owner else surface.functions).append(call)
    find_flags(surface)
    keep_callbacks(surface)
    for call in surface.calls:
        call.hand = by_hand(surface, call)
    sure = {c.name: c.hand for c in surface.calls}
    wrong = [n for n in HAND if sure.get(n) != HAND[n]]
    if wrong:
        sys.exit(f"surface.py: HAND: unknown, or told by a rule: {', '.join(wrong)}")
    return surface


def load(include=INCLUDE):
    return read(interface.load(include))


def shown(value):
    more = value.enumeration or value.struct or value.object or value.type
    return f"{value.name}: {value.kind}" + (f" {more}" if more else "") + ("?" if value.optional else "") + \
        (f"[{value.length}]" if value.length else "")


def show(call):
    inputs, outputs = ", ".join(map(shown, call.inputs)), ", ".join(map(shown, call.outputs))
    name = ".".join(filter(None, [call.owner.removeprefix("ggufx_"), "_".join(call.words)]))
    lock = "" if not call.this else "&mut " if call.this.exclusive else "&"
    return f"{call.kind} {lock}{name}({inputs}) -> ({outputs})" + (f"   # by hand: {call.hand}" if call.hand else "")


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    for call in load().calls:
        if wanted in call.name:
            print(show(call))


if __name__ == "__main__":
    main()
