"""Metadata of GGUF files, written and read: only what vocabularies need. Standard library only.

SPDX-License-Identifier: MIT
"""
import struct

ALIGNMENT = 32
NUMBERS = ("<B", "<b", "<H", "<h", "<I", "<i", "<f", "<?", None, None, "<Q", "<q", "<d")  # by type id
STRING, ARRAY = 8, 9
U8, U32, I32, F32, BOOL = 0, 4, 5, 6, 7


def string(value):
    data = value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
    return struct.pack("<Q", len(data)) + data


def value_bytes(kind, value):
    return string(value) if kind == STRING else struct.pack(NUMBERS[kind], value)


def entry(key, kind, value):
    """Returns one key; `kind` is a type id, or (type id,) for an array of it."""
    if isinstance(kind, tuple):
        elements = b"".join(value_bytes(kind[0], v) for v in value)
        return string(key) + struct.pack("<IIQ", ARRAY, kind[0], len(value)) + elements
    return string(key) + struct.pack("<I", kind) + value_bytes(kind, value)


def write(path, keys):
    """Writes a file without tensors. keys: {key: (kind, value)}."""
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, len(keys))
    data += b"".join(entry(key, kind, value) for key, (kind, value) in keys.items())
    data += bytes(-len(data) % ALIGNMENT)
    with open(path, "wb") as file:
        file.write(data)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, form):
        value = struct.unpack_from(form, self.data, self.at)[0]
        self.at += struct.calcsize(form)
        return value

    def string(self):
        length = self.number("<Q")
        self.at += length
        return self.data[self.at - length:self.at]

    def value(self, kind):
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            element, count = self.number("<I"), self.number("<Q")
            return [self.value(element) for _ in range(count)]
        return self.number(NUMBERS[kind])


def read(path):
    """Returns {key: value} of a little-endian file; strings are bytes."""
    with open(path, "rb") as file:
        reader = Reader(file.read())
    if reader.data[:4] != b"GGUF":
        raise SystemExit(f"{path} is no GGUF file")
    reader.at = 16
    count = reader.number("<Q")
    keys = {}
    for _ in range(count):
        key = reader.string().decode()
        keys[key] = reader.value(reader.number("<I"))
    return keys
