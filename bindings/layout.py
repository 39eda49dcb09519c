"""Writes src/abi/layout.def, the sizes and offsets of the public structs in three binary interfaces.

SPDX-License-Identifier: MIT
"""
import re

NOTE = """\
// Layout of the public structs: S(struct, size), F(struct, field, offset), each for LP64 and LLP64,
// for ILP32 with 8-byte aligned uint64_t (Arm), and for i386, where uint64_t is aligned to 4.
// Written by bindings/raw.py from include/ggufx. A changed line breaks the binary interface.
// SPDX-License-Identifier: MIT
"""
POINTERS = (8, 4, 4)  # bytes in each interface
WORDS = (8, 8, 4)  # alignment of 64-bit numbers
NUMBERS = {"int8_t": 1, "uint8_t": 1, "char": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "uint32_t": 4, "float": 4,
           "ggufx_status": 4, "int64_t": 8, "uint64_t": 8, "double": 8}


class Layout:
    """Size, alignment and offsets of a struct in one binary interface."""

    def __init__(self, api, struct, which):
        self.offsets, self.holes, self.size, self.align = [], [], 0, 1
        for m in struct.members:
            size, align = self.member(api, m, which)
            at = round_up(self.size, align)
            if at > self.size:
                self.holes.append((m, at - self.size))
            self.offsets.append(at)
            self.size, self.align = at + size, max(self.align, align)
        end = round_up(self.size, max(self.align, 8) if which == 0 else self.align)
        if end > self.size:
            self.holes.append((struct.members[-1], end - self.size))
        self.size = round_up(self.size, self.align)

    @staticmethod
    def member(api, m, which):
        if m.parameters is not None or "*" in m.type or m.type == "size_t":
            return POINTERS[which], POINTERS[which]
        base = re.sub(r"\bconst\b|\s", "", m.type)
        if base in api.structs:
            inner = Layout(api, api.structs[base], which)
            return inner.size, inner.align
        size = NUMBERS[base]
        n = int(api.constants[m.array].value if m.array in api.constants else m.array or 1)
        return size * n, WORDS[which] if size == 8 else size


def round_up(n, to):
    return (n + to - 1) // to * to


def faults(api):
    """Bytes without a name cannot become a member later, and may hold anything."""
    for s in api.structs.values():
        for m, n in Layout(api, s, 0).holes:
            yield f"{s.header}:{m.line}: {s.name}: {n} bytes beside {m.name} have no name: add `uint32_t reserved`"


def header(api):
    text = NOTE
    for s in api.structs.values():
        three = [Layout(api, s, which) for which in range(3)]
        text += f"\nS({s.name}, {', '.join(str(x.size) for x in three)})\n"
        for i, m in enumerate(s.members):
            text += f"F({s.name}, {m.name}, {', '.join(str(x.offsets[i]) for x in three)})\n"
    return text
