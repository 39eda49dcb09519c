"""Which constant of the headers belongs to which enumeration of the bindings.

SPDX-License-Identifier: MIT
"""

# Prefix after GGUFX_ (a whole name where no underscore ends it), name of the enumeration (None: a plain number),
# integer in the C interface, bits?, its comment. The first row that fits counts.
GROUPS = [
    ("E_", "Status", "i32", False, "What a call returned; values never change"),
    ("ADAPTER_MOST_", None, "u32", False, ""),
    ("ADAPTER_ALL_", None, "u32", False, ""),
    ("ADAPTER_", "AdapterKind", "u32", False, "What an adapter adds to a model"),
    ("LOG_", "LogLevel", "i32", False, "Weight of a message or finding"),
    ("ISA_", "Isa", "i32", False, "Instruction set of the kernels"),
    ("CPU_", "CpuFeatures", "u64", True, "What was found in this processor"),
    ("TYPE_IS_", "TypeFlags", "u32", True, "Properties of a tensor type"),
    ("TYPE_HAS_", "TypeFlags", "u32", True, "Properties of a tensor type"),
    ("TYPE_", "TensorType", "u32", False, "Type of a tensor: the id in the file"),
    ("KV_ROPE_", "RopeStyle", "u32", False, "How keys carry their positions"),
    ("KV_WINDOW_", "WindowKind", "u32", False, "What tokens see of others through a window"),
    ("KV_HALF_", "HalfFormat", "u32", False, "Format of 16-bit keys and values"),
    ("KV_FIT_", "KvFlags", "u32", True, "Flags of a KV cache"),
    ("KV_CENTRE_", "KvFlags", "u32", True, "Flags of a KV cache"),
    ("KV_V_IN_K", "KvFlags", "u32", True, "Flags of a KV cache"),
    ("KV_NO_SINKS", None, "u32", False, ""),
    ("KV_ALL_", None, "u32", False, ""),
    ("KV_KEEP_TYPE", None, "u32", False, ""),
    ("KV_", "KvType", "u32", False, "Type of the keys or values of a cache"),
    ("IMATRIX_", "ImatrixFormat", "i32", False, "Format of an importance matrix in a file"),
    ("IO_", "IoMode", "i32", False, "How tensor data get into memory"),
    ("OPEN_", "OpenFlags", "u32", True, "Flags of an open"),
    ("VALUE_", "MetaType", "i32", False, "Type of a metadata value"),
    ("VALIDATE_", "ValidateFlags", "u32", True, "Flags of a check"),
    ("QUANTIZE_", "QuantizeMode", "i32", False, "Way to choose scales and codes"),
    ("MATMUL_", "MatmulFlags", "u32", True, "Flags of products"),
    ("ATTEND_", "AttendFlags", "u32", True, "Flags of attention"),
    ("TOKENIZE_", "TokenizeFlags", "u32", True, "Flags of text to ids"),
    ("DETOKENIZE_", "DetokenizeFlags", "u32", True, "Flags of ids to text"),
    ("TOKENIZER_", "TokenizerFlags", "u32", True, "Properties of a tokenizer"),
    ("SPECIAL_", "SpecialToken", "u32", False, "A token with a meaning of its own"),
    ("PRE_", "PreFlags", "u32", True, "Properties of a pre-tokenizer"),
    ("TOKEN_", "TokenFlags", "u32", True, "Properties of a token"),
    ("DEVICE_ALLOW_BOUNDED", "DeviceOptions", "u32", True, "Flags of opening a device"),
    ("DEVICE_FMA_", "DeviceOptions", "u32", True, "Flags of opening a device"),
    ("DEVICE_", "DeviceFlags", "u32", True, "Properties of a device"),
    ("VULKAN_", "VulkanFeatures", "u32", True, "What the owner of a VkDevice turned on"),
    ("FMA_", "Fma", "u32", False, "How a device calculates fma"),
    ("DECODE_", "DecodeFlags", "u32", True, "Flags of a decode"),
    ("MODEL_", "ModelFlags", "u32", True, "Properties of a model"),
    ("POOLING_", "Pooling", "u32", False, "What becomes of the hidden states of a text"),
    ("EMBED_", "EmbedFlags", "u32", True, "Flags of embeddings"),
    ("LAYER_V_IN_K", "LayerFlags", "u32", True, "Properties of a layer"),
    ("LAYER_", "LayerKind", "u32", False, "What mixes the tokens of a layer"),
    ("WRITE_", "WriteFlags", "u32", True, "Flags of a writer"),
    ("EDIT_", "EditFlags", "u32", True, "Flags of an edit"),
    ("JOB_REASON_", "JobReason", "i32", False, "Why a tensor gets its type"),
    ("JOB_BY_", None, "u32", False, ""),
    ("JOB_KEEP_SPLIT", "JobFlags", "u32", True, "Flags of a quantization's plan"),
    ("JOB_RESUME", "JobRunFlags", "u32", True, "Flags of a quantization's run"),
    ("JOB_KEEP", "JobRunFlags", "u32", True, "Flags of a quantization's run"),
    ("JOB_MEASURE", "JobRunFlags", "u32", True, "Flags of a quantization's run"),
    ("JOB_", "JobFlags", "u32", True, "Flags of a quantization's plan"),
    ("CHAT_ANSWER", None, "u32", False, ""),
    ("CHAT_REASONING", None, "u32", False, ""),
    ("CHAT_CALL_NAME", None, "u32", False, ""),
    ("CHAT_CALL_ARGUMENTS", None, "u32", False, ""),
    ("CHAT_CALL_ID", None, "u32", False, ""),
    ("CHAT_CALL_", "ChatCallForm", "u32", False, "Form of tool calls"),
    ("CHAT_NOTATION_", "ChatNotation", "u32", False, "Notation of the arguments of tool calls"),
    ("CHAT_TAKES_TOOLS", None, "u32", False, ""),
    ("CHAT_CALLS", None, "u32", False, ""),
    ("CHAT_REASONS", None, "u32", False, ""),
    ("CHAT_CHANNELS", None, "u32", False, ""),
    ("CHAT_PARSER_", None, "u32", False, ""),
    ("CHAT_", "ChatFlags", "u32", True, "Flags of a rendering"),
    ("LINK_MOST_", None, "u32", False, ""),
    ("LINK_", "LinkKind", "u32", False, "What a link of a sampler's chain does"),
    ("MEASURE_", "MeasureFlags", "u32", True, "What a measurement could compare"),
    ("GRAMMAR_GBNF", None, "u32", False, ""),
    ("GRAMMAR_JSON_SCHEMA", None, "u32", False, ""),
    ("GRAMMAR_", "GrammarFlags", "u32", True, "Flags of a grammar of JSON"),
    ("ESTIMATE_AS_IS", None, "u32", False, ""),
    ("ESTIMATE_", "EstimateFlags", "u32", True, "Flags of an estimate, asked and answered"),
]


def fits(prefix, short):
    return short.startswith(prefix) if prefix.endswith("_") else short == prefix


def group_of(name):
    """The row of GROUPS of 'GGUFX_TYPE_Q4_K' with the member's name ('Q4_K'); else plain."""
    short = name.removeprefix("GGUFX_")
    if short == "OK":
        return GROUPS[0], "OK"
    row = next((row for row in GROUPS if fits(row[0], short)), None)
    if not row or not row[1]:
        return None, short
    whole = row[1] in ("TypeFlags", "KvFlags", "LayerFlags", "JobFlags", "JobRunFlags", "DeviceOptions")  # several prefixes: keep them
    return row, short[short.index("_") + 1 if whole else len(row[0]):]


def grouped(constants):
    """{enumeration: (row, [(member, C name, value)])} and [(C name, value)] of the rest."""
    groups, rest = {}, []
    for name, value in constants.items():
        row, member = group_of(name)
        if row:
            groups.setdefault(row[1], (row, []))[1].append((member, name, value))
        else:
            rest.append((name, value))
    return groups, rest


def integer_of(name):
    row, _ = group_of(name)
    if row:
        return row[2]
    return "usize" if "MAX_" in name else "u32"


def words(member):
    """NOT_FOUND -> NotFound"""
    return "".join(w[:1] + w[1:].lower() for w in member.split("_"))
