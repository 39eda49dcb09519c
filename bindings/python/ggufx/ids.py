# Written by bindings/raw.py from include/ggufx; a test compares them.
# SPDX-License-Identifier: MIT
from enum import IntFlag as _Flags

from ._enum import Id as _Id


class AdapterKind(_Id):
    """Kinds of adapters, and the keys by which a file is recognized."""

    LORA = 1
    CONTROL = 2


class Status(_Id):
    """Status codes."""

    OK = 0
    ARGUMENT = -1
    MEMORY = -2
    IO = -3
    TRUNCATED = -4
    MAGIC = -5
    VERSION = -6
    ENDIAN = -7
    MALFORMED = -8
    LIMIT = -9
    TYPE = -10
    UNSUPPORTED = -11
    NOT_FOUND = -12
    CAPACITY = -13
    CANCELLED = -14
    CHECKSUM = -15
    MISMATCH = -16
    STATE = -17
    INTERNAL = -18
    DEVICE = -19
    COUNT = -32
    LENGTH = -33
    KEY = -34
    VALUE_TYPE = -35
    VALUE = -36
    DUPLICATE = -37
    ALIGNMENT = -38
    NAME = -39
    NDIMS = -40
    SHAPE = -41
    OVERFLOW = -42
    OFFSET = -43
    BOUNDS = -44
    SPLIT = -45
    VOCAB = -48
    HYPERPARAMETER = -49
    MISSING = -50


class LogLevel(_Id):
    """Levels of a log message or finding."""

    ERROR = 1
    WARNING = 2
    INFO = 3
    DEBUG = 4


class Isa(_Id):
    """Instruction sets of the kernels."""

    BEST = 0
    SCALAR = 1
    AVX2 = 2
    AVXVNNI = 3
    AVX512 = 4
    NEON = 16
    NEON_DOT = 17
    NEON_I8MM = 18


class CpuFeatures(_Flags):
    """Features of a processor."""

    AVX2 = 1
    AVXVNNI = 2
    AVX512 = 4
    AVX512VBMI = 8
    AVX512BITALG = 16
    NEON = 65536
    NEON_DOT = 131072
    NEON_I8MM = 262144


class DecodeFlags(_Flags):
    """Flags of an item of a batch."""

    LOGITS = 1
    ALL_LOGITS = 2
    CHECKPOINT = 4
    HIDDEN = 8
    ALL_HIDDEN = 16


class DecodeOptionsFlags(_Flags):
    """Flags of a batch."""

    HAS_MATMUL_FLAGS = 1
    KEEP_NAN = 2


class ChatFlags(_Flags):
    """Flags of a rendering."""

    GENERATE = 1
    THINK = 2
    NO_THINK = 4
    CLOCK = 8
    CONTINUE = 16


class ChatFeatures(_Flags):
    """Features of a template."""

    TAKES_TOOLS = 1
    CALLS = 2
    REASONS = 4
    CHANNELS = 8


class ChatCallForm(_Id):
    """Forms of tool calls."""

    NONE = 0
    OBJECT = 1
    KEYED = 2
    NAMED = 3
    TAGGED = 4


class ChatNotation(_Id):
    """Notations of the arguments of GGUFX_CHAT_CALL_NAMED."""

    JSON = 0
    PYTHON = 1
    QUOTED = 2


class ChatParserFlags(_Flags):
    """Flags of a parser."""

    NO_CALLS = 1
    KEEP_REASONING = 2


class ChatParserStateFlags(_Flags):
    """State of a parser."""

    REASONING = 1


class DeviceOpenFlags(_Flags):
    """Flags for opening a device."""

    ALLOW_INEXACT = 1
    FMA_F64 = 2
    FMA_F32 = 4


class DeviceFlags(_Flags):
    """Properties of a device."""

    UNUSABLE = 1
    UNIFIED = 2
    INT_DOT = 4
    SOFTWARE = 8
    EXACT = 16
    LOST = 32


class Fma(_Id):
    """Implementations of fma (fused multiply-add) on a device."""

    UNKNOWN = 0
    DEVICE = 1
    F64 = 2
    F32 = 3


class VulkanFeatures(_Flags):
    """Features that the owner of a VkDevice has enabled."""

    FLOAT64 = 1
    INT_DOT = 2
    MEMORY_BUDGET = 4


class Pooling(_Id):
    """Pooling of the hidden states of an input."""

    DEFAULT = 0
    MEAN = 1
    FIRST = 2
    LAST = 3
    RANK = 4
    NONE = 5


class EmbedFlags(_Flags):
    """Flags of embeddings."""

    NORMALIZE = 1
    TRUNCATE = 2


class EstimateFlags(_Flags):
    """Flags of an estimate."""

    HAS_FILE_TYPE = 1
    IMATRIX = 2
    LAYERS = 32
    FITS = 4
    NEEDS_IMATRIX = 8
    UNSUPPORTED = 16
    HAS_TYPE_K = 64
    HAS_TYPE_V = 128


class EvalFlags(_Flags):
    """Flags of a measurement and of its rows."""

    COMPARED = 1
    SAME_MODEL = 2
    SAME_TOP = 4


class EventKind(_Id):
    """Kind of an event."""

    NONE = 0
    TEXT = 1
    REASONING = 2
    TOOL_CALL = 3
    TOOL_ARGUMENTS = 4
    PROMPT = 5
    END = 6
    TOOL_ID = 7


class End(_Id):
    """Reason for which a generation has ended."""

    NONE = 0
    EOG = 1
    STOP = 2
    LENGTH = 3
    CONTEXT = 4
    GRAMMAR = 5
    CANCELLED = 6
    ERROR = 7
    TOOL_CALL = 8


class MomentsFlags(_Flags):
    """Flags of moments."""

    DRIFT = 1


class FeedbackFlags(_Flags):
    """Flags of a quantization with feedback."""

    KEEP_TARGET = 1
    DAMPING = 2


class IoMode(_Id):
    """How tensor data are loaded."""

    AUTO = 0
    MAP = 1
    READ = 2


class OpenFlags(_Flags):
    """Flags for opening a file."""

    METADATA_ONLY = 1
    POPULATE = 2
    HUGE_PAGES = 4
    LOCK = 8
    STRICT = 16
    LEGACY_V1 = 32
    UNKNOWN_TYPES = 64
    SINGLE = 128
    COPY = 256
    HUGE_AUTO = 512
    REREAD = 1024


class ValueType(_Id):
    """Types of metadata values, with the ids that GGUF files contain."""

    U8 = 0
    I8 = 1
    U16 = 2
    I16 = 3
    U32 = 4
    I32 = 5
    F32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    U64 = 10
    I64 = 11
    F64 = 12


class ValidateFlags(_Flags):
    """Flags of a validation."""

    DEEP = 1
    STRICT = 2


class GeneratorFlags(_Flags):
    """Flags of ggufx_generator_options."""

    TILED_DECODE = 1
    SPECIAL_TOKENS = 2
    IGNORE_EOG = 4
    IDS_ONLY = 8
    SCORE_PROMPT = 16
    LOGPROBS = 32
    KEEP_REASONING = 64
    HAS_MAX_REASONING = 128
    SAMPLE_OUTPUT = 256


class PromptFlags(_Flags):
    """Flags of ggufx_prompt."""

    APPEND = 1
    PARSE_SPECIAL = 2
    CHECKPOINT = 4
    REUSE_ANSWERS = 8
    KEEP_RANDOM = 16


class ChatPromptFlags(_Flags):
    """Flags of ggufx_chat_prompt_options."""

    KEEP_REASONING = 1
    ONE_CALL = 2


class ToolChoice(_Id):
    """Tool calls of the output."""

    AUTO = 0
    NONE = 1
    REQUIRED = 2


class ForkFlags(_Flags):
    """Flags of ggufx_fork_options."""

    RESEED = 1


class GeneratorState(_Id):
    """State of a generator."""

    EMPTY = 0
    PREFILL = 1
    DECODE = 2
    SUSPENDED = 3
    ENDED = 4


class GrammarKind(_Id):
    """Languages in which a grammar is written."""

    GBNF = 0
    JSON_SCHEMA = 1


class GrammarFlags(_Flags):
    """Flags of grammars of JSON."""

    COMPACT = 1
    ANY_ORDER = 2
    NO_FORMATS = 4
    ANY_NUMBER = 8
    ANY_SPACE = 16


class MatcherFlags(_Flags):
    """State of a matcher."""

    COMPLETE = 1
    ENDED = 2


class GroupFlags(_Flags):
    """Flags of a communicator."""

    SHARED_MEMORY = 1


class GroupOptionsFlags(_Flags):
    """Flags of a partition."""

    PIPELINE = 1


class ImatrixFormat(_Id):
    """File formats, and flags that are added to the format of a file to write."""

    GGUF = 0
    DAT = 1
    NO_REPLACE = 256
    EXACT = 512


class ImatrixFlags(_Flags):
    """Flags of a collection."""

    OUTPUT = 1


class WindowKind(_Id):
    """Attention window of w positions."""

    SLIDING = 0
    CHUNKED = 1
    SYMMETRIC = 2


class KvFlags(_Flags):
    """Flags of a cache, and of a layer."""

    FIT_TQ3_0 = 1
    CENTRE_ALL = 2
    CENTRE_NONE = 4
    V_IN_K = 8
    HAS_TYPE_K = 16
    HAS_TYPE_V = 32
    CENTRE_BEFORE_ROPE = 64


class RopeStyle(_Id):
    """Position encoding of the keys, for ggufx_kv_shift."""

    UNKNOWN = 0
    NONE = 1
    INTERLEAVED = 2
    NEOX = 3


class AttendFlags(_Flags):
    """Flags of attention."""

    ALL = 1


class MatmulFlags(_Flags):
    """Flags of products."""

    F32 = 1
    BATCH_INVARIANT = 2
    TILED = 8
    INT16 = 4


class TokenizeFlags(_Flags):
    """Flags of ggufx_tokenize."""

    ADD_SPECIAL = 1
    PARSE_SPECIAL = 2


class DetokenizeFlags(_Flags):
    """Flags of ggufx_detokenize."""

    KEEP_SPECIAL = 1
    KEEP_SPACE = 2
    CLEAN_SPACES = 4
    FLUSH = 8


class TokenFlags(_Flags):
    """Properties of a token."""

    UNKNOWN = 1
    CONTROL = 2
    USER_DEFINED = 4
    UNUSED = 8
    BYTE = 16
    EOG = 32


class TokenizerFlags(_Flags):
    """Properties of a tokenizer."""

    ADD_BOS = 1
    ADD_EOS = 2
    ADD_SEP = 4
    ADD_SPACE = 8
    CLEAN_SPACES = 16


class PreFlags(_Flags):
    """Properties of a pre-tokenizer."""

    ADD_BOS = 1
    IGNORE_MERGES = 2
    ADD_SEP = 4
    KEEP_SPACES = 8


class ModelFlags(_Flags):
    """Properties of a model."""

    EMBEDDING_ONLY = 1
    EMBEDS = 2


class LayerKind(_Id):
    """Kinds of layers."""

    ATTENTION = 1
    RECURRENT = 2


class LayerFlags(_Flags):
    """Properties of a layer."""

    V_IN_K = 1


class SessionFlags(_Flags):
    """Flags of a session."""

    HAS_TYPE_K = 1
    HAS_TYPE_V = 2


class QuantizeMode(_Id):
    """Algorithms that choose scales and codes."""

    REFERENCE = 0
    REFINED = 1


class QuantizerFlags(_Flags):
    """Flags of a plan."""

    PURE = 1
    LEAVE_OUTPUT = 2
    COPY_ONLY = 4
    ALLOW_REQUANTIZE = 8
    NO_FALLBACK = 16
    KEEP_SPLIT = 32
    OUTPUT_TYPE = 64
    EMBEDDING_TYPE = 128
    REFINED = 256
    NO_REPLACE = 512


class QuantizerReason(_Id):
    """Reasons for the type of a tensor."""

    RECIPE = 0
    OVERRIDE = 1
    KEPT = 2
    SAME = 3
    FALLBACK = 4


class QuantizerRunFlags(_Flags):
    """Flags of a run."""

    RESUME = 1
    KEEP = 2
    MEASURE = 4


class SamplerKind(_Id):
    """Samplers of a chain in the order of a file (general.sampling.sequence)."""

    TOP_K = 1
    TOP_P = 2
    MIN_P = 3
    TYPICAL = 4
    TOP_N_SIGMA = 5
    XTC = 6
    TEMPERATURE = 7
    PENALTIES = 8
    DRY = 9


class SamplingFlags(_Flags):
    """Keys general.sampling.* of a file, and tokenizer.ggml.suppress_tokens."""

    TEMPERATURE = 1
    TOP_K = 2
    TOP_P = 4
    MIN_P = 8
    XTC_PROBABILITY = 16
    XTC_THRESHOLD = 32
    LAST_N = 64
    REPEAT = 128
    MIROSTAT = 256
    TAU = 512
    ETA = 1024
    SEQUENCE = 2048
    SUPPRESSED = 4096


class TensorType(_Id):
    """Types of tensors and of KV caches."""

    F32 = 0
    F16 = 1
    Q4_0 = 2
    Q4_1 = 3
    Q5_0 = 6
    Q5_1 = 7
    Q8_0 = 8
    Q8_1 = 9
    Q2_K = 10
    Q3_K = 11
    Q4_K = 12
    Q5_K = 13
    Q6_K = 14
    Q8_K = 15
    IQ2_XXS = 16
    IQ2_XS = 17
    IQ3_XXS = 18
    IQ1_S = 19
    IQ4_NL = 20
    IQ3_S = 21
    IQ2_S = 22
    IQ4_XS = 23
    I8 = 24
    I16 = 25
    I32 = 26
    I64 = 27
    F64 = 28
    IQ1_M = 29
    BF16 = 30
    TQ1_0 = 34
    TQ2_0 = 35
    MXFP4 = 39
    NVFP4 = 40
    Q1_0 = 41
    Q2_0 = 42
    ROT_Q5_0 = 1024
    ROT_Q4_0 = 1025
    ROT_IQ4_NL = 1026
    TQ3_0 = 1027
    TQ3_0_RESIDUAL = 1028
    GX2 = 1029
    GX3 = 1030
    GX4 = 1031


class TypeFlags(_Flags):
    """Properties of a type."""

    IS_QUANTIZED = 1
    IS_FLOAT = 2
    IS_INTEGER = 4
    IS_ACTIVATION = 8
    HAS_MATVEC = 16
    HAS_QUANTIZE = 32
    IN_FILES = 64
    IN_CACHES = 128


class WriterFlags(_Flags):
    """Flags of a writer."""

    BIG_ENDIAN = 1


class WriteFlags(_Flags):
    """Flags of a write."""

    NO_REPLACE = 1


class EditFlags(_Flags):
    """Flags of an edit, at most one."""

    IN_PLACE = 1
    REWRITE = 2


# Numbers with a meaning of their own.
ADAPTER_MAX_USES = 64
ALL_SEQUENCES = 4294967295
ESTIMATE_AS_IS = 4294967295
MAX_DIMS = 4
KV_NO_SINK_TOKENS = 4294967295
TYPE_KEEP = 4294967295
KV_ALL_LAYERS = 4294967295
MATMUL_MAX_PRODUCTS = 64
SESSION_NO_CHECKPOINTS = 4294967295
QUANTIZER_DEFAULT_TYPE = 4294967295
SAMPLER_MAX_LAST_N = 1048576
SAMPLER_MAX_SAMPLERS = 64
SAMPLING_MAX_SAMPLERS = 16
VERSION_MAJOR = 0
VERSION_MINOR = 1
VERSION_PATCH = 0
ABI_VERSION = 1
