"""Well-formed files of every kind with their dumps, and files that only a strict reader refuses.

SPDX-License-Identifier: MIT
"""
import struct

from file_writer import TYPES, File

NAME = ("general.architecture", "str", "llama")
TEXT = "h\u00e9llo \u4e16\u754c \U0001f642 \u2713"
LIMITS = {"u8": (0, 255), "i8": (-128, 127), "u16": (0, 65535), "i16": (-32768, 32767), "u32": (0, 2**32 - 1),
          "i32": (-2**31, 2**31 - 1), "u64": (0, 2**64 - 1), "i64": (-2**63, 2**63 - 1), "bool": (False, True),
          "f32": (-0.0, 1.1754943508222875e-38, float("inf")), "f64": (-1.25, 5e-324, 1.7976931348623157e308)}


def every_value():
    keys = [NAME]
    for kind, values in LIMITS.items():
        keys += [(f"one.{kind}.{i}", kind, v) for i, v in enumerate(values)]
        keys.append((f"list.{kind}", "arr", (kind, list(values) * 2)))
    keys += [("text", "str", TEXT), ("text.empty", "str", ""), ("text.nul", "str", "a\0b"), ("text.long", "str", "xyz" * 700),
             ("text.bytes", "str", b"\xff\xfe caf\xe9"), ("\u043a\u043b\u044e\u0447", "str", TEXT),
             ("list.text", "arr", ("str", ["", "a", TEXT, "b" * 300])), ("list.long", "arr", ("i32", [i * i for i in range(1500)]))]
    return keys


def plain_tensors():
    return [(f"t.{TYPES[t][0]}", (5 + i, 3), t) for i, t in enumerate((0, 1, 28, 24, 25, 26, 27))]


def dumped():
    """Yields (name, file) of every file with a dump."""
    yield "values_le.gguf", File(every_value(), plain_tensors())
    yield "values_be.gguf", File(every_value(), plain_tensors(), big_endian=True)
    yield "values_v2.gguf", File(every_value(), plain_tensors(), version=2)
    yield "values_v1.gguf", File(every_value(), plain_tensors(), version=1)
    yield "nothing.gguf", File()
    yield "keys_only.gguf", File([NAME, ("a", "u32", 7)])
    yield "empty_arrays.gguf", File([NAME] + [(f"empty.{k}", "arr", (k, [])) for k in LIMITS] + [("empty.str", "arr", ("str", []))],
                                    [("w", (4,), 0)])
    blocks = [(f"t.{name}", (2 * values, 3), t) for t, (name, values, _) in TYPES.items()]
    yield "tensor_types.gguf", File([NAME], blocks)
    yield "dims.gguf", File([NAME], [("one", (3,), 0), ("two", (3, 5), 0), ("three", (64, 2, 3), 8), ("four", (2, 3, 1, 5), 1),
                                     ("n" * 63, (1,), 0), ("none", (), 0)])
    yield "zero_sizes.gguf", File([NAME], [("a", (0,), 0), ("b", (32, 0), 2), ("c", (4,), 0), ("d", (4, 1, 0), 1)])
    for alignment in (8, 16, 64, 4096):
        yield f"align{alignment}.gguf", File([NAME, ("general.alignment", "u32", alignment)], [("a", (5,), 0), ("b", (7,), 0)],
                                             alignment=alignment)
    yield "no_name.gguf", File([NAME], [("", (8,), 0), (b"\xc3\x28", (8,), 0)])
    whole = [(f"blk.{i}.weight", (32, i + 1), 0) for i in range(5)]
    for part, tensors in enumerate((whole[:2], whole[2:4], whole[4:])):
        yield f"set-{part + 1:05d}-of-00003.gguf", File(split_keys(part, 3, 5), tensors, seed=part)
    for part, tensors in enumerate(((), whole[:3])):
        yield f"headset-{part + 1:05d}-of-00002.gguf", File(split_keys(part, 2, 3), tensors, seed=part)
    yield "sums.gguf", File([("general.type", "str", "imatrix"), ("imatrix.datasets", "arr", ("str", ["a.txt"])),
                             ("imatrix.chunk_count", "u32", 3), ("imatrix.chunk_size", "u32", 512)],
                            [("w.in_sum2", (32, 2), 0, struct.pack("<64f", *range(64))), ("w.counts", (1, 2), 0, struct.pack("<2f", 9, 0))])
    tail = File([NAME], [("a", (3,), 0)])
    tail.data = tail.data[:tail.data_offset + 12]
    yield "no_final_padding.gguf", tail
    more = File([NAME], [("a", (3,), 0)])
    more.data += b"bytes after the data"
    yield "bytes_after_data.gguf", more
    head = File([NAME], [("a", (64,), 0)])
    head.data = head.data[:head.data_offset]
    yield "head_only.gguf", head


def split_keys(part, n_parts, n_tensors):
    keys = [("split.no", "u16", part), ("split.count", "u16", n_parts), ("split.tensors.count", "i32", n_tensors)]
    return [NAME, ("general.name", "str", "a set")] + keys if part == 0 else keys


def undumped():
    """Yields (name, bytes, whether strict mode refuses it) of files without a dump; those named bad_ are refused in
    every mode."""
    two = File([NAME, ("a", "u32", 1)], [("a", (8,), 0), ("b", (8,), 0)])
    first, second = two.marks["tensor", 0, "offset"], two.marks["tensor", 1, "offset"]
    yield "gap.gguf", two.changed(second, "Q", 64) + bytes(32), True
    swapped = bytearray(two.changed(("tensor", 0, "offset"), "Q", 32))
    swapped[second:second + 8] = bytes(8)
    yield "not_in_order.gguf", bytes(swapped), True
    yield "first_not_at_zero.gguf", File([NAME], [("a", (8,), 0)]).changed(("tensor", 0, "offset"), "Q", 32) + bytes(32), True
    yield "key_no_utf8.gguf", bytes(File([NAME, (b"\xff\xfe", "u32", 1)]).data), False
    nested = File([NAME, ("n", "arr", ("u32", [1]))])
    inner = struct.pack("<IQ", 9, 1) + struct.pack("<IQI", 4, 1, 7)
    yield "nested_array.gguf", bytes(nested.data[:nested.marks["key", 1, "element"]]) + inner, True
    yield "bad_magic.gguf", b"GGUX" + bytes(two.data[4:]), True
    yield "bad_version.gguf", two.changed("version", "I", 9), True
    yield "bad_key_twice.gguf", bytes(File([NAME, NAME]).data), True
    yield "bad_name_twice.gguf", bytes(File([NAME], [("a", (8,), 0), ("a", (8,), 0)]).data), True
    yield "bad_type.gguf", two.changed(("tensor", 0, "type"), "I", 5), True
    yield "bad_overlap.gguf", two.changed(("tensor", 1, "offset"), "Q", 0), True
    yield "bad_offset.gguf", two.changed(first, "Q", 1 << 40), True
    yield "bad_cut.gguf", bytes(two.data[:two.marks["tensor", 1, "type"] + 2]), True
