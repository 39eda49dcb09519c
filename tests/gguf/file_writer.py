"""GGUF files written field by field, with the offset of each field and the expected dump.

SPDX-License-Identifier: MIT
"""
import hashlib
import struct

VALUES = ["u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "str", "arr", "u64", "i64", "f64"]
FORMS = dict(zip(VALUES, "BbHhIif?__Qqd"))
# Tensor types by id: name, values in a block, bytes of a block.
TYPES = {
    0: ("f32", 1, 4), 1: ("f16", 1, 2), 2: ("q4_0", 32, 18), 3: ("q4_1", 32, 20), 6: ("q5_0", 32, 22), 7: ("q5_1", 32, 24),
    8: ("q8_0", 32, 34), 9: ("q8_1", 32, 36), 10: ("q2_K", 256, 84), 11: ("q3_K", 256, 110), 12: ("q4_K", 256, 144),
    13: ("q5_K", 256, 176), 14: ("q6_K", 256, 210), 15: ("q8_K", 256, 292), 16: ("iq2_xxs", 256, 66), 17: ("iq2_xs", 256, 74),
    18: ("iq3_xxs", 256, 98), 19: ("iq1_s", 256, 50), 20: ("iq4_nl", 32, 18), 21: ("iq3_s", 256, 110), 22: ("iq2_s", 256, 82),
    23: ("iq4_xs", 256, 136), 24: ("i8", 1, 1), 25: ("i16", 1, 2), 26: ("i32", 1, 4), 27: ("i64", 1, 8), 28: ("f64", 1, 8),
    29: ("iq1_m", 256, 56), 30: ("bf16", 1, 2), 34: ("tq1_0", 256, 54), 35: ("tq2_0", 256, 66), 39: ("mxfp4", 32, 17),
    40: ("nvfp4", 64, 36), 41: ("q1_0", 128, 18), 42: ("q2_0", 64, 18),
}
ALIGNMENT = 32


class Numbers:
    """Bytes and numbers from a seed, the same in every Python."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (self.state >> 33) % n

    def bytes(self, n):
        return bytes(self.below(256) for _ in range(n))


def n_bytes(type_id, ne):
    _, values, size = TYPES[type_id]
    rows = 1
    for n in ne[1:]:
        rows *= n
    return (ne[0] if ne else 1) // values * size * rows


def padded(n, alignment):
    return -(-n // alignment) * alignment


def shown(text):
    """Returns a string of a dump; invalid UTF-8 in hexadecimal."""
    if isinstance(text, str):
        return text
    try:
        return text.decode()
    except UnicodeDecodeError:
        return {"hex": text.hex()}


class File:
    """A file in memory. keys: (key, type, value), an array as ("arr", (element type, values)).

    tensors: (name, ne, type id[, data]); without data, random bytes from the seed. `marks` has the offset of each
    field: "n_tensors", "n_kv", ("key", i, field), ("tensor", i, field)."""

    def __init__(self, keys=(), tensors=(), version=3, big_endian=False, alignment=ALIGNMENT, seed=1):
        self.order, self.version = ">" if big_endian else "<", version
        self.narrow = version == 1  # 32-bit counts, lengths and dims
        self.alignment, self.big_endian = alignment, big_endian
        self.data, self.marks = bytearray(b"GGUF"), {}
        self.keys, self.tensors = list(keys), [t if len(t) > 3 else (*t, None) for t in tensors]
        self.numbers = Numbers(seed)
        self.write()

    def mark(self, *name):
        self.marks[name if len(name) > 1 else name[0]] = len(self.data)

    def put(self, form, *values):
        self.data += struct.pack(self.order + form, *values)

    def put_count(self, n):
        self.put("I" if self.narrow else "Q", n)

    def put_string(self, text):
        text = text.encode() if isinstance(text, str) else text
        self.put_count(len(text))
        self.data += text

    def put_value(self, kind, value, name):
        if kind == "str":
            self.put_string(value)
        elif kind == "arr":
            element, values = value
            self.mark(*name, "element")
            self.put("I", VALUES.index(element))
            self.mark(*name, "count")
            self.put_count(len(values))
            for k, v in enumerate(values):
                self.mark(*name, "value", k)
                self.put_value(element, v, (*name, "value", k))
        else:
            self.put(FORMS[kind], value)

    def write(self):
        self.mark("version")
        self.put("I", self.version)
        self.mark("n_tensors")
        self.put_count(len(self.tensors))
        self.mark("n_kv")
        self.put_count(len(self.keys))
        for i, (key, kind, value) in enumerate(self.keys):
            self.mark("key", i, "name")
            self.put_string(key)
            self.mark("key", i, "type")
            self.put("I", VALUES.index(kind))
            self.mark("key", i, "value")
            self.put_value(kind, value, ("key", i))
        offset, self.offsets = 0, []
        for i, (name, ne, type_id, _) in enumerate(self.tensors):
            self.offsets.append(offset)
            self.mark("tensor", i, "name")
            self.put_string(name)
            self.mark("tensor", i, "n_dims")
            self.put("I", len(ne))
            self.mark("tensor", i, "dims")
            for n in ne:
                self.put_count(n)
            self.mark("tensor", i, "type")
            self.put("I", type_id)
            self.mark("tensor", i, "offset")
            self.put("Q", offset)
            offset = padded(offset + n_bytes(type_id, ne), self.alignment)
        self.meta_end = len(self.data)
        self.data_offset = padded(self.meta_end, self.alignment) if self.tensors else self.meta_end
        if self.tensors:
            self.pad()
        for _, ne, type_id, data in self.tensors:
            size = n_bytes(type_id, ne)
            self.data += self.numbers.bytes(size) if data is None else data
            self.pad()

    def pad(self):
        self.data += bytes(-len(self.data) % self.alignment)

    # ---- faults

    def changed(self, at, form, *values):
        """Returns the bytes with the field at a mark overwritten."""
        start = at if isinstance(at, int) else self.marks[at]
        new = struct.pack(self.order + form, *values)
        return bytes(self.data[:start]) + new + bytes(self.data[start + len(new):])

    # ---- the expected dump

    def dump_value(self, kind, value):
        if kind == "str":
            return shown(value)
        if kind == "arr":
            element, values = value
            return {"elem": element, "n": len(values), "values": [self.dump_value(element, v) for v in values]}
        if kind in ("u64", "i64"):
            return str(value)
        if kind in ("f32", "f64"):
            stored = struct.pack(">" + FORMS[kind], value)
            return {"v": repr(struct.unpack(">" + FORMS[kind], stored)[0]), "bits": stored.hex()}
        return value

    def dump(self):
        data = bytes(self.data)
        tensors = []
        for (name, ne, type_id, _), offset in zip(self.tensors, self.offsets):
            start, size = self.data_offset + offset, n_bytes(type_id, ne)
            tensors.append({"name": shown(name), "type": TYPES[type_id][0], "type_id": type_id, "ne": list(ne), "offset": offset,
                            "abs_offset": start, "nbytes": size, "sha256": hashlib.sha256(data[start:start + size]).hexdigest(),
                            "complete": start + size <= len(data)})
        keys = [{"key": shown(key), "type": kind, "value": self.dump_value(kind, value)} for key, kind, value in self.keys]
        return {"version": self.version, "endian": "big" if self.big_endian else "little", "alignment": self.alignment,
                "meta_end": self.meta_end, "data_offset": self.data_offset, "file_size": len(data), "kv": keys,
                "tensors": tensors}
