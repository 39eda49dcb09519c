"""Files with one fault each: the class of the error and the byte offset that a reader must report.

The offset is that of the faulty field, or the end of the file if bytes are missing.

SPDX-License-Identifier: MIT
"""
import struct

from file_writer import TYPES, File, Numbers, n_bytes
from sample_files import NAME

HUGE = {"minus1": 2**64 - 1, "minus2": 2**64 - 2, "2p63": 2**63, "2p32": 2**32, "2p61": 2**61, "1gi": 1 << 30}
REMOVED_TYPES, UNKNOWN_TYPES = (4, 5, 31, 32, 33, 36, 37, 38), (43, 99, 137, 1 << 31, 2**32 - 1)
HEADER, LEAST_TENSOR = 24, 24  # bytes of the header, and of a tensor without name and dims
LENGTH, COUNT = "LENGTH|TRUNCATED", "COUNT|TRUNCATED"


class Cases:
    def __init__(self):
        self.list = []

    def add(self, category, name, data, expect, code="OK", offset=None, note="", **more):
        self.list.append(({"name": name, "category": category, "expect": expect, "code": code, "error_offset": offset, "note": note,
                           "file": f"public/{name}.gguf", "size": len(data), "meta_only": "reject"} | more, bytes(data)))

    def reject(self, category, name, data, code, offset, **more):
        self.add(category, name, data, "reject", code, offset, **more)

    def accept(self, category, name, data):
        self.add(category, name, data, "accept")


def small():
    return File([NAME, ("k.text", "str", "some text"), ("k.list", "arr", ("u32", [1, 2, 3]))],
                [("first", (8, 2), 0), ("second", (32, 3), 2)])


def header_cases(cases):
    base = small()
    for n in (1, 3, 4, 6, 8, 11, 15, 16, 20, 23):
        cases.reject("header", f"header_cut_{n:02}", base.data[:n], "TRUNCATED|MAGIC" if n < 4 else "TRUNCATED", n)
    cases.reject("header", "no_bytes", b"", "TRUNCATED", 0)
    for name, magic in (("ggjt", b"GGJT"), ("zip", b"PK\3\4"), ("swapped", b"FUGG"), ("zeros", bytes(4)), ("lower", b"gguf")):
        cases.reject("header", "magic_" + name, magic + base.data[4:], "MAGIC", 0)
    for version in (0, 4, 5, 99, 0x7fffffff):
        cases.reject("header", f"version_{version:x}", base.changed("version", "I", version), "VERSION", 4)
    cases.reject("header", "version_swapped", base.changed("version", "I", 0x04000000), "ENDIAN|VERSION", 4)
    cases.reject("header", "version_1", File([NAME], version=1).data, "VERSION", 4)
    cases.accept("header", "version_2", base.changed("version", "I", 2))
    cases.add("header", "big_endian", File([NAME], [("a", (4,), 0)], big_endian=True).data, "either", "ENDIAN", 4)
    for field in ("n_tensors", "n_kv"):
        for name, n in {**HUGE, "int64max": 2**63 - 1, "one_more_than_fits": len(base.data)}.items():
            cases.reject("count", f"{field}_{name}", base.changed(field, "Q", n), COUNT, base.marks[field])


def key_cases(cases):
    base = small()
    at = base.marks
    for name, n in HUGE.items():
        cases.reject("length", f"key_length_{name}", base.changed(("key", 1, "name"), "Q", n), LENGTH, at["key", 1, "name"])
        cases.reject("length", f"text_length_{name}", base.changed(("key", 1, "value"), "Q", n), LENGTH, at["key", 1, "value"])
    for kind in (13, 14, 63, 255, 0x7fffffff, 1 << 31, 2**32 - 1):
        cases.reject("kv", f"value_type_{kind:x}", base.changed(("key", 1, "type"), "I", kind), "VALUE_TYPE", at["key", 1, "type"])
        cases.reject("array", f"element_type_{kind:x}", base.changed(("key", 2, "element"), "I", kind), "VALUE_TYPE", None)
    for element, values in (("u8", [1]), ("u32", [1, 2]), ("f64", [1.5]), ("bool", [True]), ("str", ["a", "bc"])):
        one = File([NAME, ("list", "arr", (element, values))])
        for name, n in {**HUGE, "one_more": len(values) + 1}.items():
            cases.reject("array", f"array_{element}_{name}", one.changed(("key", 1, "count"), "Q", n),
                         "COUNT|TRUNCATED|LENGTH", None if (element, name) == ("str", "one_more") else one.marks["key", 1, "count"])
    texts = File([NAME, ("list", "arr", ("str", ["aa", "bb", "cc"]))])
    for name, n in HUGE.items():
        cases.reject("array", f"array_text_length_{name}", texts.changed(("key", 1, "value", 1), "Q", n), LENGTH,
                     texts.marks["key", 1, "value", 1])
    empty = File([NAME, ("", "u32", 1)])
    cases.reject("kv", "key_empty", empty.data, "KEY", empty.marks["key", 1, "name"])
    for kind, value in (("u32", 1), ("str", "other")):
        twice = File([NAME, ("same", "u32", 1), ("b", "u8", 2), ("same", kind, value)])
        cases.reject("kv", f"key_twice_{kind}", twice.data, "DUPLICATE", None)
    cases.add("kv", "key_65535", File([NAME, ("k" * 65535, "u8", 1)]).data, "either", "OK|LENGTH|KEY")
    cases.add("kv", "key_nul", File([NAME, ("x", "u8", 1), ("x\0y", "u8", 2)]).data, "either", "OK|KEY")
    cases.add("kv", "key_no_utf8", File([NAME, (b"\xc3(", "u8", 1)]).data, "either", "OK|KEY")
    cases.accept("kv", "many_keys", File([NAME] + [(f"key.{i}", "u32", i) for i in range(3000)]).data)
    cases.accept("kv", "no_architecture", File([("a", "u32", 1)]).data)
    cases.accept("kv", "long_list_of_texts", File([NAME, ("list", "arr", ("str", [f"text {i}" for i in range(4000)]))]).data)


def alignment_cases(cases):
    for n in (0, 3, 5, 24, 33, 1 << 31, 2**32 - 1):
        one = File([NAME, ("general.alignment", "u32", n)], [("a", (8,), 0)])
        cases.reject("alignment", f"alignment_{n}", one.data, "ALIGNMENT|BOUNDS|OVERFLOW", None)
    for kind, value in (("u16", 32), ("u64", 32), ("i32", 32), ("f32", 32.0), ("bool", True), ("str", "32"), ("arr", ("u32", [32]))):
        one = File([NAME, ("general.alignment", kind, value)], [("a", (8,), 0)])
        cases.reject("alignment", f"alignment_type_{kind}", one.data, "VALUE_TYPE|ALIGNMENT", None)
    for n in (8, 16, 128, 1024):
        two = [("a", (5,), 0), ("b", (7,), 0)]
        cases.accept("valid", f"alignment_{n}", File([NAME, ("general.alignment", "u32", n)], two, alignment=n).data)


def shape_cases(cases):
    base = small()
    at = base.marks
    for n in (5, 6, 9, 255, 0x7fffffff, 2**32 - 1):
        cases.reject("tensor", f"n_dims_{n:x}", base.changed(("tensor", 0, "n_dims"), "I", n), "NDIMS", at["tensor", 0, "n_dims"])
    shapes = {"minus1": (0, (2**64 - 1, 1)), "int64min": (0, (2**63, 1)), "int64max": (0, (2**63 - 1, 1)), "2p32_2p32": (0, (2**32, 2**32)),
              "2p33_2p31": (0, (2**33, 2**31)), "f64_2p61": (28, (2**61, 1)), "f32_2p62": (0, (2**62, 1)), "i8_twice_max": (24, (2**63 - 1, 2)),
              "q8_0_2p60": (8, (2**60, 2**3)), "iq1_s_2p60": (19, (2**60, 2**3)), "2p42_1": (0, (2**42 + 1, 2**21)),
              "pad_wraps": (0, (2**62 - 1, 1)), "2p40": (0, (2**40, 1)), "i8_64k_64k": (24, (65536, 65536 * 64))}
    for name, (kind, ne) in shapes.items():
        one = File([NAME], [("t", (32, 1), kind if kind != 19 else 0)])
        data = bytearray(one.changed(("tensor", 0, "dims"), "QQ", *ne))
        struct.pack_into("<I", data, one.marks["tensor", 0, "type"], kind)
        small_enough = name in ("2p40", "i8_64k_64k")  # a possible size of a file
        cases.reject("overflow", "shape_" + name, data, "SHAPE|OVERFLOW|BOUNDS", one.marks["tensor", 0, "dims"],
                     meta_only="accept" if small_enough else "reject")
    zero = File([NAME], [("t", (4, 0, 2), 0), ("u", (0,), 2), ("v", (8,), 0)])
    cases.accept("valid", "dims_of_zero", zero.data)
    cases.add("overflow", "zero_times_huge", zero.changed(("tensor", 0, "dims"), "QQQ", 0, 2**62, 2**62), "either", "OK|SHAPE|OVERFLOW")
    sums = File([NAME], [("a", (8,), 24), ("b", (8,), 24)])
    huge = bytearray(sums.changed(("tensor", 0, "dims"), "Q", 2**63 - 64))
    struct.pack_into("<Q", huge, sums.marks["tensor", 1, "dims"], 2**63 - 64)
    struct.pack_into("<Q", huge, sums.marks["tensor", 1, "offset"], 2**63 - 64)
    cases.reject("overflow", "sizes_add_up_past_2p64", huge, "OVERFLOW|BOUNDS|SHAPE", None)


def type_cases(cases):
    base = small()
    at = base.marks
    for kind in REMOVED_TYPES + UNKNOWN_TYPES:
        cases.reject("type", f"type_{kind:x}", base.changed(("tensor", 0, "type"), "I", kind), "TYPE", at["tensor", 0, "type"])
    for kind, (name, block, size) in TYPES.items():
        ok = File([NAME], [("w", (2 * block, 2), kind)], seed=kind)
        internal = name in ("q8_1", "q8_K")
        cases.add("valid", f"type_ok_{name}", ok.data, "either" if internal else "accept", "OK|TYPE" if internal else "OK")
        if block > 1:
            cases.reject("type", f"row_of_{name}", ok.changed(("tensor", 0, "dims"), "Q", block - 1), "SHAPE", ok.marks["tensor", 0, "dims"])
            half = ok.changed(("tensor", 0, "dims"), "QQ", block // 2, 8)  # whole blocks, but no whole rows
            cases.reject("type", f"half_rows_of_{name}", half, "SHAPE", ok.marks["tensor", 0, "dims"])
        if not internal:
            rows = n_bytes(kind, (4 * block, 3))
            cases.accept("data", f"data_ones_{name}", File([NAME], [("w", (4 * block, 3), kind, b"\xff" * rows)]).data)
            noise = Numbers(1000 + kind).bytes(rows)
            cases.accept("data", f"data_noise_{name}", File([NAME], [("w", (4 * block, 3), kind, noise)]).data)
    odd = struct.pack("<8f", float("nan"), float("inf"), float("-inf"), -0.0, 1e-45, 3.4e38, 1, -1)
    cases.accept("data", "data_no_numbers", File([NAME], [("w", (8,), 0, odd)]).data)


def name_cases(cases):
    base = small()
    at = base.marks
    for name, n in HUGE.items():
        cases.reject("tensor", f"name_length_{name}", base.changed(("tensor", 0, "name"), "Q", n), LENGTH + "|NAME", at["tensor", 0, "name"])
    long = File([NAME], [("n" * 70001, (8,), 0)])
    cases.reject("tensor", "name_70001", long.data, "NAME", long.marks["tensor", 0, "name"])
    twice = File([NAME], [("a", (8,), 0), ("b", (8,), 0), ("a", (4,), 0)])
    cases.reject("tensor", "name_twice", twice.data, "DUPLICATE", twice.marks["tensor", 2, "name"])
    cases.accept("valid", "name_63", File([NAME], [("n" * 63, (8,), 0)]).data)
    for name, text in (("64", "n" * 64), ("empty", ""), ("no_utf8", b"\xff\xfe")):
        cases.add("tensor", "name_" + name, File([NAME], [(text, (8,), 0)]).data, "either", "OK|NAME")
    cases.add("tensor", "name_nul", File([NAME], [("w", (8,), 0), ("w\0x", (8,), 0)]).data, "either", "OK|NAME|DUPLICATE")


def offset_cases(cases):
    two = File([NAME], [("a", (8,), 0), ("b", (8,), 0)])
    at = two.marks["tensor", 1, "offset"]
    for name, n, meta in (("1", 1, "reject"), ("31", 31, "reject"), ("33", 33, "reject"), ("minus1", 2**64 - 1, "reject"),
                          ("minus32", 2**64 - 32, "reject"), ("2p63", 2**63, "reject"), ("behind_the_data", 64, "accept"),
                          ("far", 1 << 40, "accept"), ("overlap", 0, "reject")):
        cases.reject("offset", "offset_" + name, two.changed(at, "Q", n), "OFFSET|BOUNDS", at, meta_only=meta)
    odd = File([NAME], [("a", (33,), 24), ("b", (8,), 24)])
    at_odd = odd.marks["tensor", 1, "offset"]
    cases.reject("offset", "offset_overlaps_by_a_byte", odd.changed(at_odd, "Q", 32), "OFFSET|BOUNDS", at_odd)
    cases.add("offset", "gap", two.changed(at, "Q", 96) + bytes(64), "either", "OFFSET|OK")
    swapped = bytearray(two.changed(("tensor", 0, "offset"), "Q", 32))
    swapped[at:at + 8] = bytes(8)
    cases.add("offset", "not_in_order", swapped, "either", "OFFSET|OK")


def cut_cases(cases):
    base = small()
    end = base.data_offset + 64 + n_bytes(2, (32, 3))  # end of the last value
    # Some bytes within each field of the directory, and within the data.
    places = sorted({at + 1 for name, at in base.marks.items() if isinstance(name, tuple)})
    for n in places:
        fits = len(base.tensors) * LEAST_TENSOR <= n - HEADER  # otherwise the reader refuses the count first
        cases.reject("truncation", f"cut_{n}", base.data[:n], *(("TRUNCATED", n) if fits else (COUNT, base.marks["n_tensors"])))
    cases.reject("truncation", "cut_before_data", base.data[:base.data_offset], "TRUNCATED|BOUNDS", base.data_offset, meta_only="accept")
    for n in (base.data_offset + 1, base.data_offset + 64, end - 1):
        cases.reject("truncation", f"cut_data_{n}", base.data[:n], "BOUNDS", n, meta_only="accept")
    cases.accept("truncation", "cut_padding", base.data[:end])
    cases.accept("valid", "more_bytes", base.data + b"more")


# ---- models: the container is valid ------------------------------------------------------------

N_TOKENS, N_EMBEDDING, N_HIDDEN, N_HEADS = 40, 32, 64, 4


def vocabulary():
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(16)] + [chr(97 + i) for i in range(N_TOKENS - 19)]
    types = [2, 3, 3] + [6] * 16 + [1] * (N_TOKENS - 19)
    return {"tokenizer.ggml.model": ("str", "llama"), "tokenizer.ggml.tokens": ("arr", ("str", tokens)),
            "tokenizer.ggml.scores": ("arr", ("f32", [-float(i) for i in range(N_TOKENS)])),
            "tokenizer.ggml.token_type": ("arr", ("i32", types)), "tokenizer.ggml.bos_token_id": ("u32", 1),
            "tokenizer.ggml.eos_token_id": ("u32", 2)}


def model_keys():
    sizes = {"context_length": 64, "embedding_length": N_EMBEDDING, "block_count": 2, "feed_forward_length": N_HIDDEN,
             "attention.head_count": N_HEADS, "attention.head_count_kv": 2, "rope.dimension_count": N_EMBEDDING // N_HEADS}
    return {"general.architecture": ("str", "llama")} | {"llama." + k: ("u32", v) for k, v in sizes.items()} | {
        "llama.attention.layer_norm_rms_epsilon": ("f32", 1e-5)} | vocabulary()


def model_tensors():
    e, h = N_EMBEDDING, N_HIDDEN
    shapes = {"token_embd.weight": (e, N_TOKENS), "output_norm.weight": (e,), "output.weight": (e, N_TOKENS)}
    for i in range(2):
        parts = {"attn_norm": (e,), "attn_q": (e, e), "attn_k": (e, e // 2), "attn_v": (e, e // 2), "attn_output": (e, e),
                 "ffn_norm": (e,), "ffn_gate": (e, h), "ffn_up": (e, h), "ffn_down": (h, e)}
        shapes |= {f"blk.{i}.{name}.weight": ne for name, ne in parts.items()}
    return shapes


def model(keys=None, without=(), tensors=None, leave_out=(), kinds=None):
    """Returns a model with some keys and tensors changed or left out."""
    have = {k: v for k, v in (model_keys() | (keys or {})).items() if k not in without}
    shapes = {k: v for k, v in (model_tensors() | (tensors or {})).items() if k not in leave_out}
    return File([(k, *v) for k, v in have.items()],
                [(k, ne, (kinds or {}).get(k, 0), None if k in (kinds or {}) else bytes(n_bytes(0, ne))) for k, ne in shapes.items()]).data


def model_cases(cases):
    def refuse(code, name, data, **more):
        cases.add("model", "model_" + name, data, "open_ok_model_reject", code, None, **more)

    cases.accept("model", "model_sound", model())
    tokens, scores, types = (vocabulary()["tokenizer.ggml." + k][1][1] for k in ("tokens", "scores", "token_type"))
    key = "tokenizer.ggml."
    refuse("VOCAB", "scores_short", model({key + "scores": ("arr", ("f32", scores[:-1]))}))
    refuse("VOCAB", "scores_are_bytes", model({key + "scores": ("arr", ("u8", [0] * N_TOKENS))}))
    refuse("VOCAB", "score_is_no_number", model({key + "scores": ("arr", ("f32", scores[:-1] + [float("nan")]))}))
    refuse("VOCAB", "types_short", model({key + "token_type": ("arr", ("i32", types[:-1]))}))
    refuse("VOCAB", "type_7", model({key + "token_type": ("arr", ("i32", types[:-1] + [7]))}))
    refuse("VOCAB", "type_negative", model({key + "token_type": ("arr", ("i32", types[:-1] + [-1]))}))
    refuse("VOCAB", "types_are_floats", model({key + "token_type": ("arr", ("f32", [1.0] * N_TOKENS))}))
    refuse("VOCAB", "no_tokens", model({key + "tokens": ("arr", ("str", []))}))
    refuse("VOCAB", "tokens_are_numbers", model({key + "tokens": ("arr", ("u32", [1] * N_TOKENS))}))
    refuse("VOCAB", "byte_token_is_no_byte", model({key + "tokens": ("arr", ("str", tokens[:5] + ["<0x-1>"] + tokens[6:]))}))
    for name in ("bos", "eos", "unknown", "padding"):
        refuse("VOCAB", f"{name}_too_large", model({f"{key}{name}_token_id": ("u32", N_TOKENS)}))
    refuse("VOCAB", "bos_negative", model({key + "bos_token_id": ("i32", -1)}))
    refuse("VOCAB", "eos_is_text", model({key + "eos_token_id": ("str", "2")}))
    refuse("MISSING", "scores_missing", model(without=[key + "scores"]), of="tokenizer")
    refuse("MISSING", "tokens_missing", model(without=[key + "tokens"]), of="tokenizer")
    refuse("UNSUPPORTED", "other_tokenizer", model({key + "model": ("str", "none_such")}), of="tokenizer")
    cases.add("model", "model_tokens_twice", model({key + "tokens": ("arr", ("str", tokens[:-1] + ["a"]))}), "open_ok_model_either", "VOCAB|OK")
    cases.add("model", "model_types_u32", model({key + "token_type": ("arr", ("u32", types))}), "open_ok_model_either", "VOCAB|OK")

    for name, at, values in (("heads", "attention.head_count", (0, 5, 7, 2**32 - 1)), ("kv_heads", "attention.head_count_kv", (3, 8)),
                             ("blocks", "block_count", (0, 2**31, 2**32 - 1)), ("embedding", "embedding_length", (0, 2**32 - 1)),
                             ("context", "context_length", (0,))):
        for value in values:
            refuse("HYPERPARAMETER", f"{name}_{value}", model({"llama." + at: ("u32", value)}))
    refuse("MISSING", "no_tensors", model(leave_out=model_tensors()))
    for name in ("token_embd", "output_norm", "blk.1.attn_q", "blk.0.attn_v", "blk.1.ffn_down", "blk.0.ffn_norm"):
        refuse("MISSING", "without_" + name, model(leave_out=[name + ".weight"]))
    for name in ("embedding_length", "block_count", "attention.head_count", "attention.layer_norm_rms_epsilon", "context_length"):
        refuse("MISSING", "without_" + name, model(without=["llama." + name]))
    e, h = N_EMBEDDING, N_HIDDEN
    for name, ne in (("token_embd", (e - 1, N_TOKENS)), ("output_norm", (e + 1,)), ("blk.0.attn_k", (e, e)), ("blk.1.ffn_down", (e, h)),
                     ("blk.0.attn_q", (e, e, 2)), ("output", (e, N_TOKENS - 1))):
        refuse("SHAPE", "shape_of_" + name, model(tensors={name + ".weight": ne}))
    refuse("SPLIT", "split_count_is_text", model({"split.count": ("str", "3")}))
    cases.add("model", "model_one_of_three", model({"split.no": ("u16", 0), "split.count": ("u16", 3), "split.tensors.count": ("i32", 60)}),
              "open_ok_model_either", "SPLIT")
    other = {"general.architecture": ("str", "none_such")}
    refuse("UNSUPPORTED", "other_architecture", model(other))


def all_cases():
    cases = Cases()
    for add in (header_cases, key_cases, alignment_cases, shape_cases, type_cases, name_cases, offset_cases, cut_cases, model_cases):
        add(cases)
    return cases.list
