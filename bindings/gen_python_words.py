"""Tables and words of Python's safe layer, for gen_python.py.

SPDX-License-Identifier: MIT
"""
import keyword
import re

# Classes that modules by hand extend: ggufx exports those.
EXTENDED = {"ggufx_runtime", "ggufx_file", "ggufx_tensor", "ggufx_session", "ggufx_tokenizer", "ggufx_writer"}
# Bases by hand of generated classes, with the shapes that VIEWS need.
BASES = {"ggufx_embedder": "EmbedderShapes", "ggufx_kv": "KvShapes", "ggufx_matcher": "MatcherShapes",
         "ggufx_session": "SessionShapes"}
# Calls with views of arrays: shapes of the results, which may be given as buffers, and numbers that arrays tell.
_QUERIES = {"n_queries": "self._queries(q)", "out": "(queries_.n_queries, *self._result)",
            "lse": "queries_.n_queries * self._query[0]"}
VIEWS = {
    "ggufx_adapter_add_rows": {"n_rows": "len(rows_)"},
    "ggufx_embed": {"out": "(self._rows(texts), self._info.dimensions)"},
    "ggufx_kv_append": {"n_tokens": "self._tokens(k)"},
    "ggufx_kv_attend": _QUERIES,
    "ggufx_kv_read": {"k": "(n_tokens, *self._key)", "v": "(n_tokens, *self._value)"},
    "ggufx_kv_scores": {**_QUERIES, "out": "(queries_.n_queries, self._query[0], self.length(sequence))"},
    "ggufx_matcher_mask": {"out_bits": "(self._n_words,)"},
    "ggufx_session_decode": {
        "logits": "(rows_of(items, DecodeFlags.LOGITS, DecodeFlags.ALL_LOGITS), self.n_vocab)",
        "hidden": "rows_of(items, DecodeFlags.HIDDEN, DecodeFlags.ALL_HIDDEN) * self.n_embedding"},
}
# Structs whose fields are arguments of the call, like fields of options.
FLAT = {"ggufx_kv_tokens", "ggufx_kv_queries", "ggufx_kv_range"}
# Fields without a default.
ALWAYS = {"layer", "sequence", "k", "q", "first", "n_tokens"}
# Hooks of one call: the type of the function, and the address of the struct.
HOOKS = {"ggufx_attention_hook": ("AttentionHook", "self._attention({}, call_)")}
# Structs that the modules by hand have in another form.
INNER = {"ggufx_tensor_options", "ggufx_quantize_args", "ggufx_feedback_args", "ggufx_feedback_facts", "ggufx_product", "ggufx_runtime_options", "ggufx_vulkan_options", "ggufx_detokenizer_state", "ggufx_candidate",
         "ggufx_sampling_facts"}
# Calls that an idiom replaces.
LEFT_OUT = {"ggufx_file_tensor"}
# Calls with kept callbacks that are by hand here, too.
KEPT_BY_HAND = {"ggufx_device_create_vulkan"}
# Fields that a module by hand fills, or that are of no use without others.
SKIPPED = {("ggufx_device_options", "cache_store")}
# Names that the generated module uses; none is that of a parameter.
SUPPORT = {
    "._buffers": ["Array", "Buffer", "Doubles", "Floats", "Ints", "Ints32", "F32", "F64", "I32", "I64", "SIZE",
                  "U16", "U32", "U64", "U8", "address", "address_or_none", "copied", "count", "fresh", "numbers",
                  "raw_bytes", "reads", "records", "room_for", "structs_at", "writes", "equal"],
    "._callbacks": ["DESTROY", "Following", "Progress", "callback", "fill_whole", "lend"],
    "._shapes": [*BASES.values(), "AttentionHook", "rows_of"],
    "._facts": ["Path", "Text", "bytes_at", "path_bytes", "terminated", "text_at", "text_or_none", "to_bytes"],
    "._handle": ["CLASSES", "KINDS", "Object", "Self", "borrowed", "turns_of"],
    "._keep": ["Keep", "Room", "Structs", "asked_twice"],
    "._library": ["lib"],
    ".lists": ["Listed"],
    "._error": ["present"],
    ".errors": ["check", "class_of"],
}
DTYPES = {"void": "U8", "int8_t": "I8", "uint8_t": "U8", "int16_t": "I16", "uint16_t": "U16", "int32_t": "I32", "uint32_t": "U32",
          "int64_t": "I64", "uint64_t": "U64", "size_t": "SIZE", "float": "F32", "double": "F64"}
CTYPES = {"void": "None", "float": "c_float", "double": "c_double", "size_t": "c_size_t", "ggufx_status": "c_int32"}
# Parts of comments about the lifetime of memory, which Python copies.
OF_MEMORY = re.compile(r"[;,]? *(valid for the life of the process|not NUL-terminated|(valid|lives) as long as the \w+)")


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
