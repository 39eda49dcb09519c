"""Memory of the conformance programs: numbers, texts, arrays, structs and callbacks of a story at their addresses.

Every program has one block of memory, the arena, at address A. Constants lie at its start; the statements of a step
write the rest. Statements look alike in all languages: templates/conformance.* define put, peek, show and the others.

SPDX-License-Identifier: MIT
"""
import pathlib
import random
import re
import struct
from dataclasses import dataclass, field

import roles
from story import Fault, line_text

CODES = {"int8_t": "b", "uint8_t": "B", "int16_t": "h", "uint16_t": "H", "int32_t": "i", "uint32_t": "I",
         "int64_t": "q", "uint64_t": "Q", "size_t": "Q", "float": "f", "double": "d", "char": "c", "void": "c",
         "ggufx_status": "i"}
SHORT = {"u16": "uint16_t", "i32": "int32_t", "f32": "float"}  # element types of a void * that a story may name
BYTE_COUNTS = ("n_bytes", "size", "n", "length")  # lengths of a void * in bytes; others count elements
STRUCT_BYTES = 1024  # room of one struct; more than any has
KEPT_BYTES = 2 << 20  # room for the bytes that a callback is given
IMAGE_BYTES = 1 << 24  # room for constants
RECORD_BYTES = 48  # `user` of callbacks: calls, number and result of the call that fails, data, position, size


def width(c):
    """Bytes of a value of a C type."""
    return 8 if "*" in c else struct.calcsize("=" + CODES[roles.base_of(c)])


@dataclass
class Step:
    line: int
    source: dict
    function: object
    before: list = field(default_factory=list)  # statements
    arguments: list = field(default_factory=list)  # (parameter, how, text or address)
    result: int = 0  # address
    after: list = field(default_factory=list)
    kinds: dict = field(default_factory=dict)  # path -> (C type; one, many, text or structs; name)


@dataclass
class Plan:
    steps: list = field(default_factory=list)
    image: bytearray = field(default_factory=lambda: bytearray(64))
    size: int = IMAGE_BYTES
    fields: dict = field(default_factory=dict)  # (struct, member) -> index
    structs: dict = field(default_factory=dict)  # name -> index
    shown: dict = field(default_factory=dict)  # struct -> statements that show its members
    hooks: dict = field(default_factory=dict)  # (owner, name) -> (index, Declaration)
    kinds: dict = field(default_factory=dict)  # those of the callbacks, which a later step may call


class Arena:
    """Lays values out for the current step."""

    def __init__(self, api, root, variables):
        self.api, self.root, self.variables = api, root, variables
        self.plan, self.step = Plan(), None
        self.places = {}  # "step.path" -> (address, count or text of one, bytes of an element)
        self.objects = {}  # name -> (type, address)

    def refuse(self, what):
        raise Fault(f"{self.step.line}: {self.step.source.get('call')}: {what}")

    # ---- memory ----

    def constant(self, data):
        """The address of bytes, which a NUL follows."""
        at = len(self.plan.image)
        self.plan.image += data + bytes(16 - len(data) % 16)
        if len(self.plan.image) > IMAGE_BYTES:
            self.refuse(f"the constants of the story take more than {IMAGE_BYTES} bytes")
        return at

    def room(self, n):
        at, self.plan.size = self.plan.size, self.plan.size + (n + 31) // 16 * 16
        return at

    def put(self, place, n, value):
        self.step.before.append(f"put({place}, {n}, {value})")

    def size_of(self, name):
        return f"size({self.plan.structs.setdefault(name, len(self.plan.structs))})"

    def field(self, name, member):
        return f"field({self.plan.fields.setdefault((name, member), len(self.plan.fields))})"

    def keep(self, path, at, count, n):
        """Names an output, which later steps may take."""
        self.places[f"{self.step.source.get('as')}.{path}"] = at, count, n

    # ---- values ----

    def text_of(self, value):
        for name, path in self.variables.items():
            value = value.replace(name, path)
        return value.encode()

    def number(self, c, value, path):
        """A number as its bits."""
        if isinstance(value, str) and value.startswith("GGUFX_"):
            if missing := [p for p in value.split("|") if p not in self.api.constants]:
                self.refuse(f"{path}: no constant {missing[0]}")
            value = sum(self.api.constants[p].value for p in value.split("|"))
        code = CODES[roles.base_of(c)]
        if code in "fd" and value in ("nan", "inf", "-inf"):
            value = float(value)
        try:
            return int.from_bytes(struct.pack("<" + code, value if not isinstance(value, bool) else None), "little")
        except (struct.error, OverflowError):
            self.refuse(f"{path}: {line_text(value)} is no {c}")

    def packed(self, c, values, path):
        if not isinstance(values, list):
            self.refuse(f"{path}: {line_text(values)} is no list")
        return b"".join(self.number(c, v, path).to_bytes(width(c), "little") for v in values)

    def data(self, c, value, path):
        """(address, number of elements, bytes of an element) of an input."""
        base = roles.base_of(c)
        n, key = width(base), next(iter(value), "") if isinstance(value, dict) else ""
        if key == "from" and value[key] in self.places:
            return self.places[value[key]]
        if isinstance(value, str) and n == 1:
            data = self.text_of(value)
        elif key in SHORT and base == "void":
            data, n = self.packed(SHORT[key], value[key], path), width(SHORT[key])
        elif key == "hex":
            data = bytes.fromhex(value[key])
        elif key == "file":
            data = pathlib.Path(self.root, self.text_of(value[key]).decode()).read_bytes()
        elif key == "noise":
            draw, n = random.Random(value.get("seed", 1)), 4
            data = struct.pack(f"<{value[key]}f", *(draw.randrange(-64, 65) / 64 for _ in range(value[key])))
        elif isinstance(value, list):
            data = self.packed(base, value, path)
        else:
            self.refuse(f"{path}: {line_text(value)} is no {c}")
        return self.constant(data), len(data) // n, n

    def object_at(self, base, name, path):
        kind, at = self.objects.get(name, ("", 0))
        if kind != base:
            self.refuse(f"{path}: no {base} is named {line_text(name)}")
        return f"peek(A + {at}, 8)"

    def pointer(self, d, value, path):
        """(address, length) as text, of what a parameter or member points to."""
        base = roles.base_of(d.type)
        if base in self.api.structs:
            if "length" in d.meaning:
                return self.structs(base, value, path)
            return f"A + {self.struct(base, value, path)}", "0"
        if base in self.api.objects and d.type.count("*") == 1:
            return self.object_at(base, value, path), "0"
        if d.type.count("*") == 2:
            return self.pointers(d, value, path)
        if not d.type.startswith("const"):
            return f"A + {self.output(d, value, path)}", str(value)
        at, count, n = self.data(d.type, value, path)
        in_bytes = base == "void" and d.meaning.get("length") in BYTE_COUNTS
        return f"A + {at}", f"{count} * {n}" if in_bytes else str(count)

    def pointers(self, d, values, path):
        """An array of objects, texts or output arrays."""
        base, at = roles.base_of(d.type), self.room(8 * len(values))
        for i, value in enumerate(values):
            if base in self.api.objects:
                target = self.object_at(base, value, path)
            elif d.type.startswith("const"):
                target = f"A + {self.data('const char *', value, path)[0]}"
            else:
                target = f"A + {self.output(d, value, f'{path}.{i}')}"
            self.put(f"A + {at + 8 * i}", 8, target)
        return f"A + {at}", str(len(values))

    # ---- structs ----

    def struct(self, name, value, path):
        at = self.room(STRUCT_BYTES)
        self.fill(name, value, f"A + {at}", path)
        return at

    def structs(self, name, values, path):
        if not isinstance(values, list):
            self.refuse(f"{path}: {line_text(values)} is no list")
        at = self.room(STRUCT_BYTES * len(values))
        for i, value in enumerate(values):
            self.fill(name, value, f"A + {at} + {i} * {self.size_of(name)}", f"{path}.{i}")
        return f"A + {at}", str(len(values))

    def fill_text(self, value, place, path):
        """Writes a ggufx_text: its address and size."""
        at, count, _ = self.data("const char *", value, path)
        self.put(f"{place} + {self.field('ggufx_text', 'data')}", 8, f"A + {at}")
        self.put(f"{place} + {self.field('ggufx_text', 'size')}", 8, str(count))

    def fill(self, name, value, place, path):
        """Writes the members of a struct at a place."""
        if name == "ggufx_text":
            return self.fill_text(value, place, path)
        known = {m.name: m for m in self.api.structs[name].members}
        if not isinstance(value, dict):
            self.refuse(f"{path}: {line_text(value)} is no {name}")
        if unknown := value.keys() - known.keys():
            self.refuse(f"{path}: {name} has no member {min(unknown)}")
        if "struct_size" in known and "struct_size" not in value:
            self.put(f"{place} + {self.field(name, 'struct_size')}", 4, self.size_of(name))
        hooks = {}
        for key, v in value.items():
            d = known[key]
            length = self.member(name, d, v, f"{place} + {self.field(name, key)}", f"{path}.{key}", hooks)
            told = known.get(d.meaning.get("length"))
            if told and told.meaning["role"] == "length" and told.name not in value:
                self.put(f"{place} + {self.field(name, told.name)}", width(told.type), length)
        for user, answers in hooks.items():
            self.put(f"{place} + {self.field(name, user)}", 8, f"A + {self.record(answers, path)}")

    def member(self, name, d, value, place, path, hooks):
        """Writes a member. Returns its length."""
        role = d.meaning["role"]
        if d.array and isinstance(value, list):
            n = width(d.type)
            for i, v in enumerate(value):
                self.put(f"{place} + {i * n}", n, hex(self.number(d.type, v, path)))
            return "0"
        if d.array or role in ("reserved", "address", "user"):
            self.refuse(f"{path}: cannot be set")
        if role == "callback":
            hooks.setdefault(d.meaning["user"], []).append((d, value))
            self.put(place, 8, f"hook({self.hook(name, d)})")
        elif d.type == "ggufx_text":
            self.fill_text(value, place, path)
        elif "*" in d.type:
            target, length = self.pointer(d, value, path)
            self.put(place, 8, target)
            return length
        else:
            self.put(place, width(d.type), hex(self.number(d.type, value, path)))
        return "0"

    # ---- callbacks ----

    @staticmethod
    def is_kept(d):
        """Whether a callback is given bytes, which it keeps."""
        return any(p.type == "const void *" for p in d.parameters)

    def record(self, answers, path):
        """The address of what the `user` of callbacks points to."""
        given = {}
        for d, value in answers:
            if unknown := value.keys() - {"fail", "data"}:
                self.refuse(f"{path}: {d.name} has no {min(unknown)}")
            given.update(value)
        n, result = given.get("fail", [0, 0])
        at = self.constant(struct.pack("<6Q", 0, n, self.number("int32_t", result, path), 0, 0, 0))
        data = self.room(KEPT_BYTES)
        if "data" in given:
            data, count, n = self.data("const void *", given["data"], path)
            self.put(f"A + {at + 40}", 8, f"{count} * {n}")
        self.put(f"A + {at + 24}", 8, f"A + {data}")
        for d, _ in answers:
            if self.is_kept(d):  # also by a call that fails
                path = f"{path}.{d.name}" if path != d.name else path
                self.show(0, path, "void", "many", f"A + {data}", f"peek(A + {at + 32}, 8)")
                self.keep(path, data, f"peek(A + {at + 32}, 8)", 1)
        return at

    def hook(self, owner, d):
        """The index of a callback, which shows its arguments, but for progress."""
        if "*" in d.type or any(p.parameters is not None for p in d.parameters):
            self.refuse(f"{d.name}: a callback of this kind has no general answer")
        own, self.step.kinds = self.step.kinds, self.plan.kinds
        for p in d.parameters if owner != "ggufx_progress" else ():
            role, base, path = p.meaning["role"], roles.base_of(p.type), f"{d.name}.{p.name}"
            if role == "struct_in":
                self.show_struct(base, path)
            elif base in self.api.structs and role.startswith("array"):
                self.size_of(base)
                self.kind(path, base, "structs")
            elif role.startswith("array") and base != "void":
                self.kind(path, base, "many")
            elif role in ("scalar", "text"):
                self.kind(path, p.type, "one" if role == "scalar" else "text")
        self.step.kinds = own
        return self.plan.hooks.setdefault((owner, d.name), (len(self.plan.hooks), d))[0]

    # ---- results ----

    def kind(self, path, c, how, name=""):
        self.step.kinds[path] = (roles.base_of(c), how, name or f"{self.step.function.name}.{path}")

    def show(self, when, path, c, how, address, n):
        self.kind(path, c, how)
        self.step.after.append(f'show({when}, "{path}", "", {address}, {n})')

    def output(self, d, count, path):
        """The address of an array that the call fills in."""
        if not isinstance(count, int) or isinstance(count, bool):
            self.refuse(f"{path}: {line_text(count)} is no number of elements")
        n = width(roles.base_of(d.type))
        at = self.room(count * n)
        self.show(1, path, d.type, "many", f"A + {at}", count * n)
        self.keep(path, at, count, n)
        return at

    def show_struct(self, name, path):
        """Makes the statements that show a struct, and the kinds of its members here."""
        lines, widths = [], {m.name: width(m.type) for m in self.api.structs[name].members if roles.base_of(m.type) in CODES}
        for m in self.api.structs[name].members:
            role, base, length = m.meaning["role"], roles.base_of(m.type), m.meaning.get("length", "")
            place, member = f"at + {self.field(name, m.name)}", f'when, path, ".{m.name}"'
            told = [w for w in re.findall(r"[\w.]+", length) if w not in widths]
            if m.name == "struct_size" or role not in ("head", "scalar", "string", "text", "array") or told:
                continue
            if m.type == "ggufx_text":
                size = f"peek({place} + {self.field('ggufx_text', 'size')}, 8)"
                lines.append(f"show({member}, peek({place}, 8), {size})")
                self.kind(f"{path}.{m.name}", "char", "text", f"{name}.{m.name}")
                continue
            if role == "string":
                lines.append(f"show_string({member}, peek({place}, 8))")
            elif m.array or "*" not in m.type:
                n = int({"GGUFX_MAX_DIMS": "4"}.get(m.array, m.array or "1"))
                lines.append(f"show({member}, {place}, {n * width(base)})")
            elif base in CODES:
                count = re.sub(r"\w+", lambda x: f"peek(at + {self.field(name, x[0])}, {widths[x[0]]})", length)
                lines.append(f"show({member}, peek({place}, 8), {count} * {width(base)})")
            how = "text" if role != "scalar" and base == "char" else "many" if role == "array" else "one"
            self.kind(f"{path}.{m.name}", m.type, how, f"{name}.{m.name}")
        self.plan.shown[name] = lines

    def struct_code(self, name):
        """The layout of a struct of plain numbers for Python's struct."""
        return "@" + "".join(CODES[roles.base_of(m.type)] for m in self.api.structs[name].members) + "0Q"
