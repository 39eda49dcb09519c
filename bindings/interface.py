"""The public headers as data: functions, structs, enumerations, constants and objects.

The headers are the only description of the interface: plain C99 that a person reads, with naming rules (roles.py)
by which a program knows the meaning of each parameter and member. Everything that repeats the headers is generated
from this reader: api.json, ggufx/loader.h, manual pages, declarations of the bindings, tables of the tests.

usage: interface.py INCLUDE OUTPUT     (writes api.json; exit 1, with file and line, for a header that has faults)
SPDX-License-Identifier: MIT
"""
import json
import pathlib
import re
import sys
from dataclasses import dataclass, field

COMMENT = re.compile(r"/\*.*?\*/", re.S)
STRUCT = re.compile(r"typedef struct (ggufx_\w+) \{(.*?)\} \1;", re.S)
MEMBER = re.compile(r"((?:\s*/\*.*?\*/)*)\s*([^;/]+?);((?:[ \t]*/\*.*?\*/)?)", re.S)
ENUM = re.compile(r"\benum \{(.*?)\};", re.S)
ENUMERATOR = re.compile(r"((?:/\*(?:(?!\*/).)*\*/\s*)*)(GGUFX_\w+) = (-?\d+),?((?:[ \t]*/\*.*?\*/)?)", re.S)
MACRO = re.compile(r"^#define (GGUFX_\w+) (0x[0-9a-f]+|\d+|UINT64_MAX)u?[ \t]*((?:/\*.*?\*/)?)$", re.M | re.S)
OBJECT = re.compile(r"typedef struct (ggufx_\w+) \1;")
INTEGER = re.compile(r"^typedef (u?int\d+_t) (ggufx_\w+);", re.M)
FUNCTION = re.compile(r"^GGUFX_API\b([^;]*);", re.M)
FLAGS = ("_flags", "_features")  # ends of the names of sets of bits
# Members that mean the same in every struct: name, comment.
CONVENTIONS = [
    (r"struct_size", "Bytes of this struct, set by the caller."),
    (r"reserved", "0."),
    (r"user", "First argument of the functions."),
    (r"\w+_length", "Bytes of the string before it."),
    (r"n_(\w+)", r"Number of \1."),
]
GENERATED = "loader.h"  # written from the other headers
MOST_PARAMETERS = 8  # of a function; one that needs more takes a struct


class Faults(Exception):
    """Headers that break the rules: a list of "file:line: what"."""


@dataclass
class Declaration:
    """A parameter or member. The type of a callback is that of its result."""
    type: str
    name: str
    array: str = ""  # elements of a fixed array
    parameters: list = None  # of a callback
    line: int = 0
    doc: str = ""
    enumeration: str = ""  # name of its integer type; type is then the integer itself
    tags: dict = field(default_factory=dict)
    meaning: dict = field(default_factory=dict)  # role and what belongs to it, by roles.py


@dataclass
class Function:
    header: str
    line: int
    result: str
    name: str
    signature: str  # parameters as C
    parameters: list
    comment: str
    contract: dict = field(default_factory=dict)  # errors, threads, allocates, since

    def __str__(self):
        return f"{self.header}:{self.line}: {self.name}"


@dataclass
class Struct:
    header: str
    line: int
    name: str
    comment: str
    members: list


@dataclass
class Constant:
    header: str
    line: int
    name: str
    value: int
    doc: str


@dataclass
class Enumeration:
    """A named integer type with its constants, which follow its declaration."""
    header: str
    line: int
    name: str
    type: str  # of the integer
    comment: str
    constants: list = field(default_factory=list)

    @property
    def is_flags(self):
        return self.name.endswith(FLAGS)

    @property
    def title(self):
        """ggufx_io_mode -> IoMode"""
        if self.name == "ggufx_type":  # Type is a word of several languages
            return "TensorType"
        return "".join(word.capitalize() for word in self.name.split("_")[1:])

    def members(self):
        """(name without the words that all constants share, Constant)"""
        return [("OK" if c.name == "GGUFX_OK" else "_".join(c.name.split("_")[self.n_common_words():]), c)
                for c in self.constants]

    def n_common_words(self):
        rows = [c.name.split("_") for c in self.constants if c.name != "GGUFX_OK"]
        if len(rows) == 1:  # the words of the type
            rows.append(self.name.upper().split("_"))
        most = min(row.index("HAS") if "HAS" in row else len(row) - 1 for row in rows)
        return max(2, next((i for i in range(most) if len({row[i] for row in rows}) > 1), most))


@dataclass
class Interface:
    functions: list
    structs: dict  # name -> Struct
    constants: dict  # name -> Constant
    enumerations: dict  # name -> Enumeration
    objects: dict  # name of an opaque type -> its comment


def header_paths(include):
    """The headers that people write."""
    return [p for p in sorted(pathlib.Path(include, "ggufx").glob("*.h")) if p.name != GENERATED]


def words(comment):
    """The text of a comment, without its stars."""
    text = re.sub(r"^\s*/\*|\*/\s*$", "", comment.strip())
    return "\n".join(re.sub(r"^\s*\*(?: |$)", "", line) for line in text.split("\n")).strip()


def split_top(text):
    """'a, void (*f)(b, c)' -> ['a', 'void (*f)(b, c)']"""
    parts, depth, part = [], 0, ""
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += c
    return [p for p in [*parts, part] if p.strip() not in ("", "void")]


def declaration(text, line=0):
    """Reads 'const float *x', 'char id[40]' or 'void (*f)(void *user)'."""
    text = " ".join(text.split())
    if match := re.match(r"^(.*?)\(\*(\w+)\)\((.*)\)$", text):
        parameters = [declaration(p, line) for p in split_top(match[3])]
        return Declaration(match[1].strip(), match[2], parameters=parameters, line=line)
    match = re.match(r"^(.*?)(\w+)(?:\[(\w+)\])?$", text)
    if not match:
        raise ValueError(text)
    return Declaration(match[1].strip(), match[2], match[3] or "", line=line)


def doc_of(member):
    """The comment of a member, or that of its naming convention; '' if it has neither."""
    if member.doc or member.parameters is not None:
        return member.doc or "Described in the comment of the struct."
    if member.enumeration or re.fullmatch(r"ggufx_\w+", member.type):
        return f"See `{member.enumeration or member.type}`."
    for pattern, text in CONVENTIONS:
        if match := re.fullmatch(pattern, member.name):
            return match.expand(text).replace("_", " ")
    return ""


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def comment_above(text, at):
    """The comment that ends on the line before a position, or ''."""
    above = text[:at]
    return words(above[above.rindex("/*"):]) if above.endswith("*/\n") else ""


def read_functions(header, text):
    for match in FUNCTION.finditer(text):
        line, flat = line_of(text, match.start()), " ".join(match[1].split())
        parts = re.match(r"(.*?[ *])(ggufx_\w+) ?\((.*)\)$", flat)
        if not parts:
            raise Faults([f"{header}:{line}: cannot read prototype: {flat}"])
        parameters, at = [], match.start(1) + match[1].index("(") + 1
        for part in split_top(text[at:match.end() - 2]):
            begin = text.index(part, at)
            at = begin + len(part)
            parameters.append(declaration(part, line_of(text, begin + len(part) - len(part.lstrip()))))
        yield Function(header, line, parts[1].strip(), parts[2], parts[3], parameters,
                       comment_above(text, match.start()))


def read_structs(header, text):
    for match in STRUCT.finditer(text):
        members = []
        for part in MEMBER.finditer(match[2]):
            member = declaration(part[2], line_of(text, match.start(2) + part.start(2)))
            member.doc = words(part[3]) or " ".join(words(c) for c in COMMENT.findall(part[1]))
            members.append(member)
        yield Struct(header, line_of(text, match.start()), match[1], comment_above(text, match.start()), members)


def read_constants(header, text):
    """Yields constants with the position of each."""
    for body in ENUM.finditer(text):
        for part in ENUMERATOR.finditer(body[1]):
            at = body.start(1) + part.start(2)
            yield at, Constant(header, line_of(text, at), part[2], int(part[3]), words(part[4] or part[1]))
    for part in MACRO.finditer(text):
        value = 2**64 - 1 if part[2] == "UINT64_MAX" else int(part[2], 0)
        yield part.start(), Constant(header, line_of(text, part.start()), part[1], value,
                                     words(part[3]) or comment_above(text, part.start()))


def read_enumerations(header, text, constants):
    """Constants belong to the integer type before them, up to an empty line."""
    blank = COMMENT.sub(lambda match: re.sub(r"[^\n]", "*", match[0]).replace("\n\n", "\n*"), text)
    starts = [match.start() for match in INTEGER.finditer(text)]
    for match in INTEGER.finditer(text):
        end = min(at for at in [*starts, blank.find("\n\n", match.end())] if at > match.start())
        found = [c for at, c in constants if match.end() < at < end]
        yield Enumeration(header, line_of(text, match.start()), match[2], match[1], comment_above(text, match.start()),
                          found)


def leftovers(header, text):
    """Yields what none of the readers above has understood."""
    def blank(match):
        return "\n" * match[0].count("\n")

    for pattern in (COMMENT, FUNCTION, STRUCT, OBJECT, INTEGER):
        text = pattern.sub(blank, text)
    text = ENUM.sub(lambda match: ENUMERATOR.sub(blank, match[1]), text)
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(r"#define GGUFX_\w+ ", line) and not line.startswith("#define GGUFX_API ") and not MACRO.match(line):
            yield f"{header}:{number}: cannot read macro: {line}"
        elif line.strip() and not re.match(r'#|extern "C" \{$|\}$', line):
            yield f"{header}:{number}: cannot read: {line.strip()}"


def resolve(declarations, enumerations):
    """Replaces named integer types by the integers."""
    for d in declarations:
        base = re.search(r"ggufx_\w+", d.type)
        if base and base[0] in enumerations and base[0] != "ggufx_status":
            d.enumeration = base[0]
            d.type = d.type.replace(base[0], enumerations[base[0]].type)
        resolve(d.parameters or [], enumerations)


def read_syntax(include):
    found = Interface([], {}, {}, {}, {})
    for path in header_paths(include):
        text = path.read_text(encoding="utf-8")
        found.functions += read_functions(path.name, text)
        found.structs.update({s.name: s for s in read_structs(path.name, text)})
        constants = list(read_constants(path.name, text))
        found.constants.update({c.name: c for _, c in constants})
        found.enumerations.update({e.name: e for e in read_enumerations(path.name, text, constants)})
        found.objects.update({m[1]: comment_above(text, m.start()) for m in OBJECT.finditer(text)})
    for owner in found.functions:
        resolve(owner.parameters, found.enumerations)
    for owner in found.structs.values():
        resolve(owner.members, found.enumerations)
    return found


def enumeration_faults(found):
    for e in found.enumerations.values():
        if not e.constants:
            yield f"{e.header}:{e.line}: {e.name}: no constants follow it"
        if not e.comment and e.name != "ggufx_status":
            yield f"{e.header}:{e.line}: {e.name}: no comment"


def parameter_faults(found):
    for f in found.functions:
        if len(f.parameters) > MOST_PARAMETERS:
            yield (f"{f.header}:{f.line}: {f.name}: {len(f.parameters)} parameters, "
                   f"at most {MOST_PARAMETERS}: put some into a struct")


def read(include):
    """The interface of a folder of headers; raises Faults if they break a rule."""
    import contract
    import roles
    found = read_syntax(include)
    faults = [*roles.assign(found), *contract.read(found), *enumeration_faults(found), *parameter_faults(found)]
    for path in header_paths(include):
        faults += leftovers(path.name, path.read_text(encoding="utf-8"))
    if faults:
        raise Faults(sorted(faults, key=lambda f: (f.split(":")[0], int(f.split(":")[1]))))
    return found


def load(include):
    """The interface of a folder of headers, for programs: faults end them."""
    try:
        return read(include)
    except Faults as faults:
        sys.exit("\n".join(f"{include}/ggufx/{fault}" for fault in faults.args[0]))


# ---- api.json --------------------------------------------------------------------------------------------------

def as_json(d):
    out = {"name": d.name, "type": d.type}
    if d.enumeration:
        out["enumeration"] = d.enumeration
    if d.array:
        out["array"] = d.array
    if d.parameters is not None:
        out = {"name": d.name, "type": "callback", "result": d.type, "parameters": [as_json(p) for p in d.parameters]}
    return {**out, **d.meaning}


def describe(found):
    """The whole interface as one JSON value."""
    macros = {name: c.value for name, c in found.constants.items()}
    return {
        "library": "ggufx",
        "version": ".".join(str(macros[f"GGUFX_VERSION_{part}"]) for part in ("MAJOR", "MINOR", "PATCH")),
        "abi": macros["GGUFX_ABI_VERSION"],
        "objects": [{"name": name, "doc": doc} for name, doc in found.objects.items()],
        "enumerations": [{"name": e.name, "type": e.type, "flags": e.is_flags, "doc": e.comment,
                          "constants": [c.name for c in e.constants]} for e in found.enumerations.values()],
        "constants": [{"name": c.name, "value": c.value, "header": c.header, "doc": c.doc}
                      for c in found.constants.values()],
        "structs": [{"name": s.name, "header": s.header, "sized": s.members[0].name == "struct_size",
                     "members": [{**as_json(m), "doc": doc_of(m)} for m in s.members], "doc": s.comment}
                    for s in found.structs.values()],
        "functions": [{"name": f.name, "header": f.header, "result": f.result,
                       "parameters": [as_json(p) for p in f.parameters], **f.contract, "doc": f.comment}
                      for f in found.functions],
    }


def main():
    include, output = sys.argv[1:]
    text = json.dumps(describe(load(include)), indent=1, ensure_ascii=False)
    pathlib.Path(output).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
