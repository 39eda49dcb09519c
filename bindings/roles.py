"""The naming rules of the public headers: the role of each parameter and member.

A role follows from type, name and neighbours. A tag in braces begins the row of a parameter in the contract, or the
comment of a member, if a rule cannot tell:

    {null}       may be NULL
    {len: n * m} number of elements
    {keeps}      must outlive the object that the call creates
    {takes}      stays in use until the library calls destroy(user)

SPDX-License-Identifier: MIT
"""
import re

SCALARS = {"int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "size_t",
           "float", "double", "char", "void", "ggufx_status"}
COUNTS = {"size_t", "uint64_t", "uint32_t"}
# Lengths without the name of their array.
PLAIN_LENGTHS = {"n", "length", "size", "count"}
# Outputs by other names than out_x.
OUTPUTS = {"y", "k", "v", "lse", "dst"}
CAPACITIES = ("capacity", "most")
# Structs of which all zero means default: their pointers may be NULL.
OPTIONAL = ("_options", "_request")
# Callbacks that a hook need not have.
LEFT_OUT = {"destroy", "close"}
TAGS = {"null": False, "keeps": False, "takes": False, "len": True}  # name -> has a value
TAG = re.compile(r"\{([^}]*)\}\s*")
ROW = re.compile(r"^`?(\w+(?:, \w+)*)`? +(\{.*)$")


def base_of(c):
    return re.sub(r"\b(const|struct)\b|[ *]", "", c)


def stars_of(c):
    return c.count("*")


# ---- tags ------------------------------------------------------------------------------------------------------

def split_tags(text):
    """'{null} {len: n} the rest' -> ({'null': '', 'len': 'n'}, 'the rest')"""
    tags, at = {}, 0
    while match := TAG.match(text, at):
        name, _, value = match[1].partition(":")
        tags[name.strip()] = value.strip()
        at = match.end()
    return tags, text[at:]


def rows_of(comment, row=ROW):
    """(names, text) of each row of a contract that matches `row`; it ends before the next line that is not indented."""
    lines = comment.split("\n")
    for i, line in enumerate(lines):
        if match := row.match(line):
            rest = [match[2]]
            for more in lines[i + 1:]:
                if not more.startswith("  "):
                    break
                rest.append(more.strip())
            yield match[1].split(", "), " ".join(rest)


def tag_faults(tags):
    for name, value in tags.items():
        if name not in TAGS:
            yield f"unknown tag {{{name}}}"
        elif TAGS[name] != bool(value):
            yield f"tag {{{name}}} {'needs a value' if TAGS[name] else 'has a value'}"


def apply_tags(d, tags, role_of_array):
    """Adds the tags to what the rules found, and returns the faults."""
    faults = list(tag_faults(tags))
    for name, key, value in (("null", "nullable", True), ("keeps", "keeps", True), ("takes", "takes", True),
                             ("len", "length", tags.get("len"))):
        if name in tags and d.meaning.get(key) == value:
            faults.append(f"tag {{{name}}} is not needed")
        elif name in tags:
            d.meaning[key] = value
    if "len" in tags:
        d.meaning.pop("capacity", None)
        if d.meaning.get("role") not in ("array", "array_in", "array_out", "array_inout", "arrays_out"):
            d.meaning["role"] = role_of_array
    return faults


# ---- parameters ------------------------------------------------------------------------------------------------

def is_output(d):
    return d.name.startswith("out") or d.name in OUTPUTS


def is_number_output(d):
    return is_output(d) and stars_of(d.type) == 1 and "const" not in d.type and base_of(d.type) in SCALARS


def array_role(d):
    if "*const *" in d.type and not d.type.startswith("const"):
        return "arrays_out"
    if d.type.startswith("const") or "*const" in d.type:
        return "array_in"
    return "array_out" if is_output(d) else "array_inout"


def is_count(d):
    return d.type in COUNTS and (d.name in PLAIN_LENGTHS or d.name.startswith("n_") or d.name.endswith("_length"))


def length_after(parameters, i):
    """The name of the length of pointer i: n_x or x_length anywhere, else the count that follows."""
    name = parameters[i].name.removeprefix("out_")
    names = [p.name for p in parameters if p.type in COUNTS]
    for wanted in (f"n_{name}", f"{name}_length"):
        if wanted in names:
            return wanted
    if i + 1 < len(parameters) and is_count(parameters[i + 1]):
        return parameters[i + 1].name
    return ""


def buffer_of(parameters, i):
    """A two-call buffer: T *out, size_t capacity, size_t *out_needed. Several outputs may share the capacity."""
    at = i + 1
    while at < len(parameters) and is_number_output(parameters[i]) and is_number_output(parameters[at]):
        at += 1
    if at >= len(parameters) or not parameters[at].name.endswith(CAPACITIES):
        return None
    needed = next((p.name for p in parameters[at + 1:] if re.fullmatch(r"out_(\w+_)?(needed|n)", p.name)), "")
    return {"role": "buffer_out", "capacity": parameters[at].name, **({"needed": needed} if needed else {})}


def of_object(d, stars):
    if stars == 2 and "const" not in d.type and is_output(d):
        return {"role": "new"}
    if stars == 1:
        return {"role": "object", "exclusive": "const" not in d.type}
    return {}


def of_struct(found, parameters, i, stars):
    d = parameters[i]
    if stars != 1:
        return {}
    if d.name == "options" and "const" in d.type:
        return {"role": "options", "nullable": True}
    if length := length_after(parameters, i):
        return {"role": array_role(d), "length": length}
    if "const" in d.type:
        return {"role": "struct_in"}
    if d.type == "ggufx_text *" and is_output(d):
        return {"role": "text_out", "borrows": next(p.name for p in parameters if base_of(p.type) in found.objects)}
    if buffer := buffer_of(parameters, i):
        return buffer
    return {"role": "struct_out" if is_output(d) else "struct_inout"}


def of_pointer(found, parameters, i, stars):
    d, length = parameters[i], length_after(parameters, i)
    if d.type == "void *" and d.name in ("user", "ctx"):
        return {"role": "user"}
    if d.type == "const char *":
        return {"role": "text", "length": length} if length else {"role": "string"}
    if buffer := "const" not in d.type and buffer_of(parameters, i):
        return buffer
    if length and not (is_output(d) and not d.type.startswith("const") and d.type != "void *" and
                       length not in (f"n_{d.name}", "n", "n_out", "n_bytes", "n_words")):
        return {"role": array_role(d), "length": length}
    if stars == 1 and d.name.startswith("out") and base_of(d.type) != "void":
        return {"role": "scalar_out"}
    return {}


def meaning_of(found, parameters, i):
    """What the rules say about a parameter; {} if they cannot tell."""
    d = parameters[i]
    base, stars = base_of(d.type), stars_of(d.type)
    if d.parameters is not None:
        user = next((p.name for p in parameters[i + 1:i + 2] + parameters[:1] if p.type == "void *"), "")
        return {"role": "callback", "user": user, **({"nullable": True} if d.name in LEFT_OUT else {})}
    if stars == 0:
        return {"role": "scalar"}
    if base == "ggufx_error":
        return {"role": "error", "nullable": True}
    if base == "ggufx_progress":
        return {"role": "progress", "nullable": True}
    if base in found.objects:
        more = of_object(d, stars)
        return more or ({"role": "array_in", "length": length} if (length := length_after(parameters, i)) else {})
    return of_struct(found, parameters, i, stars) if base in found.structs else of_pointer(found, parameters, i, stars)


def mark_lengths(declarations, tagged):
    """Lengths, capacities and counts belong to their arrays: a binding does not ask for them.

    A tagged length is only told by an array that the caller passes and that is never NULL.
    """
    by_name = {d.name: d for d in declarations}
    for d in declarations:
        for key in ("length", "capacity", "needed"):
            other = by_name.get(d.meaning.get(key))
            told = d.name not in tagged or (d.meaning.get("role") == "array_in" and not d.meaning.get("nullable"))
            if other is not None and told and other.meaning.get("role") in ("scalar", "scalar_out"):
                other.meaning = {"role": key, "of": d.name}


# ---- members ---------------------------------------------------------------------------------------------------

def meaning_of_member(found, struct, d):
    names = {m.name for m in struct.members}
    base, stars = base_of(d.type), stars_of(d.type)
    optional = {"nullable": True} if struct.name.endswith(OPTIONAL) or d.name in LEFT_OUT else {}
    if d.name in ("struct_size", "flags"):
        return {"role": "head"}
    if d.name == "reserved":
        return {"role": "reserved"}
    if d.parameters is not None:
        own = f"{d.name}_user"
        shared = [m.name for m in struct.members if m.type == "void *" and m.name.endswith("user")]
        return {"role": "callback", "user": own if own in names else (shared or [""])[0], **optional}
    if d.type == "void *" and (d.name == "user" or d.name.endswith("_user")):
        return {"role": "user"}
    if d.array:
        return {"role": "array"}
    if stars == 0:
        return {"role": "scalar"}
    if base in found.objects and stars == 1:
        return {"role": "object", **optional}
    length = next((n for n in (f"n_{d.name}", f"{d.name}_length", "length") if n in names), "")
    if d.type == "const char *":
        return {"role": "text", "length": length, **optional} if length else {"role": "string", **optional}
    if length:
        return {"role": "array", "length": length, **optional}
    if base in found.structs:
        return {"role": "struct", **optional}
    return {"role": "address", **optional} if base == "void" else {}


# ---- the whole interface ---------------------------------------------------------------------------------------

def faults_of(found, d, tag_faults):
    yield from tag_faults
    if "role" not in d.meaning:
        yield "no rule gives it a role: name its length n_x, or add a tag"
    base = base_of(d.type)
    if base not in SCALARS and base not in found.objects and base not in found.structs:
        yield f"unknown type {base}"


def assign_callback(found, name, callback):
    """Parameters that a callback gets; where no rule fits, the comment of the hook describes the address."""
    for i, d in enumerate(callback.parameters):
        d.meaning = meaning_of(found, callback.parameters, i) or {"role": "address"}
        if callback.name == "read" and d.meaning["role"] == "array_inout":
            d.meaning["role"] = "array_out"
        yield from ((d.line, f"{name}: {d.name}: {fault}") for fault in faults_of(found, d, []))
        if d.parameters is not None:
            yield from assign_callback(found, f"{name}: {d.name}", d)
    mark_lengths(callback.parameters, {})


def assign_all(found, name, declarations, rule, tags, role_of_array):
    """Gives each parameter or member its role. Yields (line, fault)."""
    for i, d in enumerate(declarations):
        d.meaning = rule(i)
        faults = apply_tags(d, tags.get(d.name, {}), role_of_array(d))
        yield from ((d.line, f"{name}: {d.name}: {fault}") for fault in faults_of(found, d, faults))
        if d.parameters is not None:
            yield from assign_callback(found, f"{name}: {d.name}", d)
    mark_lengths(declarations, {n for n, t in tags.items() if "len" in t})


def assign_struct(found, struct):
    tags = {}
    for d in struct.members:
        tags[d.name], d.doc = split_tags(d.doc)
    return assign_all(found, struct.name, struct.members,
                      lambda i: meaning_of_member(found, struct, struct.members[i]), tags, lambda d: "array")


def assign_function(found, f):
    tags = {}
    for names, text in rows_of(f.comment):
        tags.update({name: split_tags(text)[0] for name in names})
    known = {p.name for p in f.parameters}
    yield from ((f.line, f"{f.name}: {name}: a tag of no parameter") for name in tags if name not in known)
    yield from assign_all(found, f.name, f.parameters,
                          lambda i: meaning_of(found, f.parameters, i), tags, array_role)


def assign(found):
    """Gives all parameters and members their roles. Yields the faults as "file:line: what"."""
    for all_of_kind, rule in ((found.structs.values(), assign_struct), (found.functions, assign_function)):
        for x in all_of_kind:
            yield from (f"{x.header}:{line}: {fault}" for line, fault in rule(found, x))
