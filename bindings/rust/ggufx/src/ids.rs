// Written by bindings/raw.py from include/ggufx; a test compares them.
// SPDX-License-Identifier: MIT
use crate::id::{bits, id};
use ggufx_sys as sys;

id! {
    /// Kinds of adapters, and the keys by which a file is recognized (`ggufx_adapter_kind`).
    AdapterKind: u32
    LORA = GGUFX_ADAPTER_LORA,
    CONTROL = GGUFX_ADAPTER_CONTROL,
}

id! {
    /// Status codes (`ggufx_status`).
    Status: i32
    OK = GGUFX_OK,
    ARGUMENT = GGUFX_E_ARGUMENT,
    MEMORY = GGUFX_E_MEMORY,
    IO = GGUFX_E_IO,
    TRUNCATED = GGUFX_E_TRUNCATED,
    MAGIC = GGUFX_E_MAGIC,
    VERSION = GGUFX_E_VERSION,
    ENDIAN = GGUFX_E_ENDIAN,
    MALFORMED = GGUFX_E_MALFORMED,
    LIMIT = GGUFX_E_LIMIT,
    TYPE = GGUFX_E_TYPE,
    UNSUPPORTED = GGUFX_E_UNSUPPORTED,
    NOT_FOUND = GGUFX_E_NOT_FOUND,
    CAPACITY = GGUFX_E_CAPACITY,
    CANCELLED = GGUFX_E_CANCELLED,
    CHECKSUM = GGUFX_E_CHECKSUM,
    MISMATCH = GGUFX_E_MISMATCH,
    STATE = GGUFX_E_STATE,
    INTERNAL = GGUFX_E_INTERNAL,
    DEVICE = GGUFX_E_DEVICE,
    COUNT = GGUFX_E_COUNT,
    LENGTH = GGUFX_E_LENGTH,
    KEY = GGUFX_E_KEY,
    VALUE_TYPE = GGUFX_E_VALUE_TYPE,
    VALUE = GGUFX_E_VALUE,
    DUPLICATE = GGUFX_E_DUPLICATE,
    ALIGNMENT = GGUFX_E_ALIGNMENT,
    NAME = GGUFX_E_NAME,
    NDIMS = GGUFX_E_NDIMS,
    SHAPE = GGUFX_E_SHAPE,
    OVERFLOW = GGUFX_E_OVERFLOW,
    OFFSET = GGUFX_E_OFFSET,
    BOUNDS = GGUFX_E_BOUNDS,
    SPLIT = GGUFX_E_SPLIT,
    VOCAB = GGUFX_E_VOCAB,
    HYPERPARAMETER = GGUFX_E_HYPERPARAMETER,
    MISSING = GGUFX_E_MISSING,
}

id! {
    /// Levels of a log message or finding (`ggufx_log_level`).
    LogLevel: i32
    ERROR = GGUFX_LOG_ERROR,
    WARNING = GGUFX_LOG_WARNING,
    INFO = GGUFX_LOG_INFO,
    DEBUG = GGUFX_LOG_DEBUG,
}

id! {
    /// Instruction sets of the kernels (`ggufx_isa`).
    Isa: i32
    BEST = GGUFX_ISA_BEST,
    SCALAR = GGUFX_ISA_SCALAR,
    AVX2 = GGUFX_ISA_AVX2,
    AVXVNNI = GGUFX_ISA_AVXVNNI,
    AVX512 = GGUFX_ISA_AVX512,
    NEON = GGUFX_ISA_NEON,
    NEON_DOT = GGUFX_ISA_NEON_DOT,
    NEON_I8MM = GGUFX_ISA_NEON_I8MM,
}

bits! {
    /// Features of a processor (`ggufx_cpu_features`).
    CpuFeatures: u64
    AVX2 = GGUFX_CPU_AVX2,
    AVXVNNI = GGUFX_CPU_AVXVNNI,
    AVX512 = GGUFX_CPU_AVX512,
    AVX512VBMI = GGUFX_CPU_AVX512VBMI,
    AVX512BITALG = GGUFX_CPU_AVX512BITALG,
    NEON = GGUFX_CPU_NEON,
    NEON_DOT = GGUFX_CPU_NEON_DOT,
    NEON_I8MM = GGUFX_CPU_NEON_I8MM,
}

bits! {
    /// Flags of an item of a batch (`ggufx_decode_flags`).
    DecodeFlags: u32
    LOGITS = GGUFX_DECODE_LOGITS,
    ALL_LOGITS = GGUFX_DECODE_ALL_LOGITS,
    CHECKPOINT = GGUFX_DECODE_CHECKPOINT,
    HIDDEN = GGUFX_DECODE_HIDDEN,
    ALL_HIDDEN = GGUFX_DECODE_ALL_HIDDEN,
}

bits! {
    /// Flags of a batch (`ggufx_decode_options_flags`).
    DecodeOptionsFlags: u32
    HAS_MATMUL_FLAGS = GGUFX_DECODE_HAS_MATMUL_FLAGS,
    KEEP_NAN = GGUFX_DECODE_KEEP_NAN,
}

bits! {
    /// Flags of a rendering (`ggufx_chat_flags`).
    ChatFlags: u32
    GENERATE = GGUFX_CHAT_GENERATE,
    THINK = GGUFX_CHAT_THINK,
    NO_THINK = GGUFX_CHAT_NO_THINK,
    CLOCK = GGUFX_CHAT_CLOCK,
    CONTINUE = GGUFX_CHAT_CONTINUE,
}

bits! {
    /// Features of a template (`ggufx_chat_features`).
    ChatFeatures: u32
    TAKES_TOOLS = GGUFX_CHAT_TAKES_TOOLS,
    CALLS = GGUFX_CHAT_CALLS,
    REASONS = GGUFX_CHAT_REASONS,
    CHANNELS = GGUFX_CHAT_CHANNELS,
}

id! {
    /// Forms of tool calls (`ggufx_chat_call_form`).
    ChatCallForm: u32
    NONE = GGUFX_CHAT_CALL_NONE,
    OBJECT = GGUFX_CHAT_CALL_OBJECT,
    KEYED = GGUFX_CHAT_CALL_KEYED,
    NAMED = GGUFX_CHAT_CALL_NAMED,
    TAGGED = GGUFX_CHAT_CALL_TAGGED,
}

id! {
    /// Notations of the arguments of GGUFX_CHAT_CALL_NAMED (`ggufx_chat_notation`).
    ChatNotation: u32
    JSON = GGUFX_CHAT_NOTATION_JSON,
    PYTHON = GGUFX_CHAT_NOTATION_PYTHON,
    QUOTED = GGUFX_CHAT_NOTATION_QUOTED,
}

bits! {
    /// Flags of a parser (`ggufx_chat_parser_flags`).
    ChatParserFlags: u32
    NO_CALLS = GGUFX_CHAT_PARSER_NO_CALLS,
    KEEP_REASONING = GGUFX_CHAT_PARSER_KEEP_REASONING,
}

bits! {
    /// State of a parser (`ggufx_chat_parser_state_flags`).
    ChatParserStateFlags: u32
    REASONING = GGUFX_CHAT_PARSER_REASONING,
}

bits! {
    /// Flags for opening a device (`ggufx_device_open_flags`).
    DeviceOpenFlags: u32
    ALLOW_INEXACT = GGUFX_DEVICE_ALLOW_INEXACT,
    FMA_F64 = GGUFX_DEVICE_FMA_F64,
    FMA_F32 = GGUFX_DEVICE_FMA_F32,
}

bits! {
    /// Properties of a device (`ggufx_device_flags`).
    DeviceFlags: u32
    UNUSABLE = GGUFX_DEVICE_UNUSABLE,
    UNIFIED = GGUFX_DEVICE_UNIFIED,
    INT_DOT = GGUFX_DEVICE_INT_DOT,
    SOFTWARE = GGUFX_DEVICE_SOFTWARE,
    EXACT = GGUFX_DEVICE_EXACT,
    LOST = GGUFX_DEVICE_LOST,
}

id! {
    /// Implementations of fma (fused multiply-add) on a device (`ggufx_fma`).
    Fma: u32
    UNKNOWN = GGUFX_FMA_UNKNOWN,
    DEVICE = GGUFX_FMA_DEVICE,
    F64 = GGUFX_FMA_F64,
    F32 = GGUFX_FMA_F32,
}

bits! {
    /// Features that the owner of a VkDevice has enabled (`ggufx_vulkan_features`).
    VulkanFeatures: u32
    FLOAT64 = GGUFX_VULKAN_FLOAT64,
    INT_DOT = GGUFX_VULKAN_INT_DOT,
    MEMORY_BUDGET = GGUFX_VULKAN_MEMORY_BUDGET,
}

id! {
    /// Pooling of the hidden states of an input (`ggufx_pooling`).
    Pooling: u32
    DEFAULT = GGUFX_POOLING_DEFAULT,
    MEAN = GGUFX_POOLING_MEAN,
    FIRST = GGUFX_POOLING_FIRST,
    LAST = GGUFX_POOLING_LAST,
    RANK = GGUFX_POOLING_RANK,
    NONE = GGUFX_POOLING_NONE,
}

bits! {
    /// Flags of embeddings (`ggufx_embed_flags`).
    EmbedFlags: u32
    NORMALIZE = GGUFX_EMBED_NORMALIZE,
    TRUNCATE = GGUFX_EMBED_TRUNCATE,
}

bits! {
    /// Flags of an estimate (`ggufx_estimate_flags`).
    EstimateFlags: u32
    HAS_FILE_TYPE = GGUFX_ESTIMATE_HAS_FILE_TYPE,
    IMATRIX = GGUFX_ESTIMATE_IMATRIX,
    LAYERS = GGUFX_ESTIMATE_LAYERS,
    FITS = GGUFX_ESTIMATE_FITS,
    NEEDS_IMATRIX = GGUFX_ESTIMATE_NEEDS_IMATRIX,
    UNSUPPORTED = GGUFX_ESTIMATE_UNSUPPORTED,
    HAS_TYPE_K = GGUFX_ESTIMATE_HAS_TYPE_K,
    HAS_TYPE_V = GGUFX_ESTIMATE_HAS_TYPE_V,
}

bits! {
    /// Flags of a measurement and of its rows (`ggufx_eval_flags`).
    EvalFlags: u32
    COMPARED = GGUFX_EVAL_COMPARED,
    SAME_MODEL = GGUFX_EVAL_SAME_MODEL,
    SAME_TOP = GGUFX_EVAL_SAME_TOP,
}

id! {
    /// Kind of an event (`ggufx_event_kind`).
    EventKind: u32
    NONE = GGUFX_EVENT_NONE,
    TEXT = GGUFX_EVENT_TEXT,
    REASONING = GGUFX_EVENT_REASONING,
    TOOL_CALL = GGUFX_EVENT_TOOL_CALL,
    TOOL_ARGUMENTS = GGUFX_EVENT_TOOL_ARGUMENTS,
    PROMPT = GGUFX_EVENT_PROMPT,
    END = GGUFX_EVENT_END,
    TOOL_ID = GGUFX_EVENT_TOOL_ID,
}

id! {
    /// Reason for which a generation has ended (`ggufx_end`).
    End: u32
    NONE = GGUFX_END_NONE,
    EOG = GGUFX_END_EOG,
    STOP = GGUFX_END_STOP,
    LENGTH = GGUFX_END_LENGTH,
    CONTEXT = GGUFX_END_CONTEXT,
    GRAMMAR = GGUFX_END_GRAMMAR,
    CANCELLED = GGUFX_END_CANCELLED,
    ERROR = GGUFX_END_ERROR,
    TOOL_CALL = GGUFX_END_TOOL_CALL,
}

bits! {
    /// Flags of moments (`ggufx_moments_flags`).
    MomentsFlags: u32
    DRIFT = GGUFX_MOMENTS_DRIFT,
}

bits! {
    /// Flags of a quantization with feedback (`ggufx_feedback_flags`).
    FeedbackFlags: u32
    KEEP_TARGET = GGUFX_FEEDBACK_KEEP_TARGET,
    DAMPING = GGUFX_FEEDBACK_DAMPING,
}

id! {
    /// How tensor data are loaded (`ggufx_io_mode`).
    IoMode: i32
    AUTO = GGUFX_IO_AUTO,
    MAP = GGUFX_IO_MAP,
    READ = GGUFX_IO_READ,
}

bits! {
    /// Flags for opening a file (`ggufx_open_flags`).
    OpenFlags: u32
    METADATA_ONLY = GGUFX_OPEN_METADATA_ONLY,
    POPULATE = GGUFX_OPEN_POPULATE,
    HUGE_PAGES = GGUFX_OPEN_HUGE_PAGES,
    LOCK = GGUFX_OPEN_LOCK,
    STRICT = GGUFX_OPEN_STRICT,
    LEGACY_V1 = GGUFX_OPEN_LEGACY_V1,
    UNKNOWN_TYPES = GGUFX_OPEN_UNKNOWN_TYPES,
    SINGLE = GGUFX_OPEN_SINGLE,
    COPY = GGUFX_OPEN_COPY,
    HUGE_AUTO = GGUFX_OPEN_HUGE_AUTO,
    REREAD = GGUFX_OPEN_REREAD,
}

id! {
    /// Types of metadata values, with the ids that GGUF files contain (`ggufx_value_type`).
    ValueType: i32
    U8 = GGUFX_VALUE_U8,
    I8 = GGUFX_VALUE_I8,
    U16 = GGUFX_VALUE_U16,
    I16 = GGUFX_VALUE_I16,
    U32 = GGUFX_VALUE_U32,
    I32 = GGUFX_VALUE_I32,
    F32 = GGUFX_VALUE_F32,
    BOOL = GGUFX_VALUE_BOOL,
    STRING = GGUFX_VALUE_STRING,
    ARRAY = GGUFX_VALUE_ARRAY,
    U64 = GGUFX_VALUE_U64,
    I64 = GGUFX_VALUE_I64,
    F64 = GGUFX_VALUE_F64,
}

bits! {
    /// Flags of a validation (`ggufx_validate_flags`).
    ValidateFlags: u32
    DEEP = GGUFX_VALIDATE_DEEP,
    STRICT = GGUFX_VALIDATE_STRICT,
}

bits! {
    /// Flags of ggufx_generator_options (`ggufx_generator_flags`).
    GeneratorFlags: u32
    TILED_DECODE = GGUFX_GENERATOR_TILED_DECODE,
    SPECIAL_TOKENS = GGUFX_GENERATOR_SPECIAL_TOKENS,
    IGNORE_EOG = GGUFX_GENERATOR_IGNORE_EOG,
    IDS_ONLY = GGUFX_GENERATOR_IDS_ONLY,
    SCORE_PROMPT = GGUFX_GENERATOR_SCORE_PROMPT,
    LOGPROBS = GGUFX_GENERATOR_LOGPROBS,
    KEEP_REASONING = GGUFX_GENERATOR_KEEP_REASONING,
    HAS_MAX_REASONING = GGUFX_GENERATOR_HAS_MAX_REASONING,
    SAMPLE_OUTPUT = GGUFX_GENERATOR_SAMPLE_OUTPUT,
}

bits! {
    /// Flags of ggufx_prompt (`ggufx_prompt_flags`).
    PromptFlags: u32
    APPEND = GGUFX_PROMPT_APPEND,
    PARSE_SPECIAL = GGUFX_PROMPT_PARSE_SPECIAL,
    CHECKPOINT = GGUFX_PROMPT_CHECKPOINT,
    REUSE_ANSWERS = GGUFX_PROMPT_REUSE_ANSWERS,
    KEEP_RANDOM = GGUFX_PROMPT_KEEP_RANDOM,
}

bits! {
    /// Flags of ggufx_chat_prompt_options (`ggufx_chat_prompt_flags`).
    ChatPromptFlags: u32
    KEEP_REASONING = GGUFX_CHAT_PROMPT_KEEP_REASONING,
    ONE_CALL = GGUFX_CHAT_PROMPT_ONE_CALL,
}

id! {
    /// Tool calls of the output (`ggufx_tool_choice`).
    ToolChoice: u32
    AUTO = GGUFX_TOOL_CHOICE_AUTO,
    NONE = GGUFX_TOOL_CHOICE_NONE,
    REQUIRED = GGUFX_TOOL_CHOICE_REQUIRED,
}

bits! {
    /// Flags of ggufx_fork_options (`ggufx_fork_flags`).
    ForkFlags: u32
    RESEED = GGUFX_FORK_RESEED,
}

id! {
    /// State of a generator (`ggufx_generator_state`).
    GeneratorState: u32
    EMPTY = GGUFX_GENERATOR_STATE_EMPTY,
    PREFILL = GGUFX_GENERATOR_STATE_PREFILL,
    DECODE = GGUFX_GENERATOR_STATE_DECODE,
    SUSPENDED = GGUFX_GENERATOR_STATE_SUSPENDED,
    ENDED = GGUFX_GENERATOR_STATE_ENDED,
}

id! {
    /// Languages in which a grammar is written (`ggufx_grammar_kind`).
    GrammarKind: u32
    GBNF = GGUFX_GRAMMAR_GBNF,
    JSON_SCHEMA = GGUFX_GRAMMAR_JSON_SCHEMA,
}

bits! {
    /// Flags of grammars of JSON (`ggufx_grammar_flags`).
    GrammarFlags: u32
    COMPACT = GGUFX_GRAMMAR_COMPACT,
    ANY_ORDER = GGUFX_GRAMMAR_ANY_ORDER,
    NO_FORMATS = GGUFX_GRAMMAR_NO_FORMATS,
    ANY_NUMBER = GGUFX_GRAMMAR_ANY_NUMBER,
    ANY_SPACE = GGUFX_GRAMMAR_ANY_SPACE,
}

bits! {
    /// State of a matcher (`ggufx_matcher_flags`).
    MatcherFlags: u32
    COMPLETE = GGUFX_MATCHER_COMPLETE,
    ENDED = GGUFX_MATCHER_ENDED,
}

bits! {
    /// Flags of a communicator (`ggufx_group_flags`).
    GroupFlags: u32
    SHARED_MEMORY = GGUFX_GROUP_SHARED_MEMORY,
}

bits! {
    /// Flags of a partition (`ggufx_group_options_flags`).
    GroupOptionsFlags: u32
    PIPELINE = GGUFX_GROUP_PIPELINE,
}

id! {
    /// File formats, and flags that are added to the format of a file to write (`ggufx_imatrix_format`).
    ImatrixFormat: i32
    GGUF = GGUFX_IMATRIX_GGUF,
    DAT = GGUFX_IMATRIX_DAT,
    NO_REPLACE = GGUFX_IMATRIX_NO_REPLACE,
    EXACT = GGUFX_IMATRIX_EXACT,
}

bits! {
    /// Flags of a collection (`ggufx_imatrix_flags`).
    ImatrixFlags: u32
    OUTPUT = GGUFX_IMATRIX_OUTPUT,
}

id! {
    /// Attention window of w positions (`ggufx_window_kind`).
    WindowKind: u32
    SLIDING = GGUFX_KV_WINDOW_SLIDING,
    CHUNKED = GGUFX_KV_WINDOW_CHUNKED,
    SYMMETRIC = GGUFX_KV_WINDOW_SYMMETRIC,
}

bits! {
    /// Flags of a cache, and of a layer (`ggufx_kv_flags`).
    KvFlags: u32
    FIT_TQ3_0 = GGUFX_KV_FIT_TQ3_0,
    CENTRE_ALL = GGUFX_KV_CENTRE_ALL,
    CENTRE_NONE = GGUFX_KV_CENTRE_NONE,
    V_IN_K = GGUFX_KV_V_IN_K,
    HAS_TYPE_K = GGUFX_KV_HAS_TYPE_K,
    HAS_TYPE_V = GGUFX_KV_HAS_TYPE_V,
    CENTRE_BEFORE_ROPE = GGUFX_KV_CENTRE_BEFORE_ROPE,
}

id! {
    /// Position encoding of the keys, for ggufx_kv_shift (`ggufx_rope_style`).
    RopeStyle: u32
    UNKNOWN = GGUFX_ROPE_UNKNOWN,
    NONE = GGUFX_ROPE_NONE,
    INTERLEAVED = GGUFX_ROPE_INTERLEAVED,
    NEOX = GGUFX_ROPE_NEOX,
}

bits! {
    /// Flags of attention (`ggufx_attend_flags`).
    AttendFlags: u32
    ALL = GGUFX_ATTEND_ALL,
}

bits! {
    /// Flags of products (`ggufx_matmul_flags`).
    MatmulFlags: u32
    F32 = GGUFX_MATMUL_F32,
    BATCH_INVARIANT = GGUFX_MATMUL_BATCH_INVARIANT,
    TILED = GGUFX_MATMUL_TILED,
    INT16 = GGUFX_MATMUL_INT16,
}

bits! {
    /// Flags of ggufx_tokenize (`ggufx_tokenize_flags`).
    TokenizeFlags: u32
    ADD_SPECIAL = GGUFX_TOKENIZE_ADD_SPECIAL,
    PARSE_SPECIAL = GGUFX_TOKENIZE_PARSE_SPECIAL,
}

bits! {
    /// Flags of ggufx_detokenize (`ggufx_detokenize_flags`).
    DetokenizeFlags: u32
    KEEP_SPECIAL = GGUFX_DETOKENIZE_KEEP_SPECIAL,
    KEEP_SPACE = GGUFX_DETOKENIZE_KEEP_SPACE,
    CLEAN_SPACES = GGUFX_DETOKENIZE_CLEAN_SPACES,
    FLUSH = GGUFX_DETOKENIZE_FLUSH,
}

bits! {
    /// Properties of a token (`ggufx_token_flags`).
    TokenFlags: u32
    UNKNOWN = GGUFX_TOKEN_UNKNOWN,
    CONTROL = GGUFX_TOKEN_CONTROL,
    USER_DEFINED = GGUFX_TOKEN_USER_DEFINED,
    UNUSED = GGUFX_TOKEN_UNUSED,
    BYTE = GGUFX_TOKEN_BYTE,
    EOG = GGUFX_TOKEN_EOG,
}

bits! {
    /// Properties of a tokenizer (`ggufx_tokenizer_flags`).
    TokenizerFlags: u32
    ADD_BOS = GGUFX_TOKENIZER_ADD_BOS,
    ADD_EOS = GGUFX_TOKENIZER_ADD_EOS,
    ADD_SEP = GGUFX_TOKENIZER_ADD_SEP,
    ADD_SPACE = GGUFX_TOKENIZER_ADD_SPACE,
    CLEAN_SPACES = GGUFX_TOKENIZER_CLEAN_SPACES,
}

bits! {
    /// Properties of a pre-tokenizer (`ggufx_pre_flags`).
    PreFlags: u32
    ADD_BOS = GGUFX_PRE_ADD_BOS,
    IGNORE_MERGES = GGUFX_PRE_IGNORE_MERGES,
    ADD_SEP = GGUFX_PRE_ADD_SEP,
    KEEP_SPACES = GGUFX_PRE_KEEP_SPACES,
}

bits! {
    /// Properties of a model (`ggufx_model_flags`).
    ModelFlags: u32
    EMBEDDING_ONLY = GGUFX_MODEL_EMBEDDING_ONLY,
    EMBEDS = GGUFX_MODEL_EMBEDS,
}

id! {
    /// Kinds of layers (`ggufx_layer_kind`).
    LayerKind: u32
    ATTENTION = GGUFX_LAYER_ATTENTION,
    RECURRENT = GGUFX_LAYER_RECURRENT,
}

bits! {
    /// Properties of a layer (`ggufx_layer_flags`).
    LayerFlags: u32
    V_IN_K = GGUFX_LAYER_V_IN_K,
}

bits! {
    /// Flags of a session (`ggufx_session_flags`).
    SessionFlags: u32
    HAS_TYPE_K = GGUFX_SESSION_HAS_TYPE_K,
    HAS_TYPE_V = GGUFX_SESSION_HAS_TYPE_V,
}

id! {
    /// Algorithms that choose scales and codes (`ggufx_quantize_mode`).
    QuantizeMode: i32
    REFERENCE = GGUFX_QUANTIZE_REFERENCE,
    REFINED = GGUFX_QUANTIZE_REFINED,
}

bits! {
    /// Flags of a plan (`ggufx_quantizer_flags`).
    QuantizerFlags: u32
    PURE = GGUFX_QUANTIZER_PURE,
    LEAVE_OUTPUT = GGUFX_QUANTIZER_LEAVE_OUTPUT,
    COPY_ONLY = GGUFX_QUANTIZER_COPY_ONLY,
    ALLOW_REQUANTIZE = GGUFX_QUANTIZER_ALLOW_REQUANTIZE,
    NO_FALLBACK = GGUFX_QUANTIZER_NO_FALLBACK,
    KEEP_SPLIT = GGUFX_QUANTIZER_KEEP_SPLIT,
    OUTPUT_TYPE = GGUFX_QUANTIZER_OUTPUT_TYPE,
    EMBEDDING_TYPE = GGUFX_QUANTIZER_EMBEDDING_TYPE,
    REFINED = GGUFX_QUANTIZER_REFINED,
    NO_REPLACE = GGUFX_QUANTIZER_NO_REPLACE,
}

id! {
    /// Reasons for the type of a tensor (`ggufx_quantizer_reason`).
    QuantizerReason: i32
    RECIPE = GGUFX_QUANTIZER_REASON_RECIPE,
    OVERRIDE = GGUFX_QUANTIZER_REASON_OVERRIDE,
    KEPT = GGUFX_QUANTIZER_REASON_KEPT,
    SAME = GGUFX_QUANTIZER_REASON_SAME,
    FALLBACK = GGUFX_QUANTIZER_REASON_FALLBACK,
}

bits! {
    /// Flags of a run (`ggufx_quantizer_run_flags`).
    QuantizerRunFlags: u32
    RESUME = GGUFX_QUANTIZER_RESUME,
    KEEP = GGUFX_QUANTIZER_KEEP,
    MEASURE = GGUFX_QUANTIZER_MEASURE,
}

id! {
    /// Samplers of a chain in the order of a file (general.sampling.sequence) (`ggufx_sampler_kind`).
    SamplerKind: u32
    TOP_K = GGUFX_SAMPLER_TOP_K,
    TOP_P = GGUFX_SAMPLER_TOP_P,
    MIN_P = GGUFX_SAMPLER_MIN_P,
    TYPICAL = GGUFX_SAMPLER_TYPICAL,
    TOP_N_SIGMA = GGUFX_SAMPLER_TOP_N_SIGMA,
    XTC = GGUFX_SAMPLER_XTC,
    TEMPERATURE = GGUFX_SAMPLER_TEMPERATURE,
    PENALTIES = GGUFX_SAMPLER_PENALTIES,
    DRY = GGUFX_SAMPLER_DRY,
}

bits! {
    /// Keys general.sampling.* of a file, and tokenizer.ggml.suppress_tokens (`ggufx_sampling_flags`).
    SamplingFlags: u32
    TEMPERATURE = GGUFX_SAMPLING_TEMPERATURE,
    TOP_K = GGUFX_SAMPLING_TOP_K,
    TOP_P = GGUFX_SAMPLING_TOP_P,
    MIN_P = GGUFX_SAMPLING_MIN_P,
    XTC_PROBABILITY = GGUFX_SAMPLING_XTC_PROBABILITY,
    XTC_THRESHOLD = GGUFX_SAMPLING_XTC_THRESHOLD,
    LAST_N = GGUFX_SAMPLING_LAST_N,
    REPEAT = GGUFX_SAMPLING_REPEAT,
    MIROSTAT = GGUFX_SAMPLING_MIROSTAT,
    TAU = GGUFX_SAMPLING_TAU,
    ETA = GGUFX_SAMPLING_ETA,
    SEQUENCE = GGUFX_SAMPLING_SEQUENCE,
    SUPPRESSED = GGUFX_SAMPLING_SUPPRESSED,
}

id! {
    /// Types of tensors and of KV caches (`ggufx_type`).
    TensorType: u32
    F32 = GGUFX_TYPE_F32,
    F16 = GGUFX_TYPE_F16,
    Q4_0 = GGUFX_TYPE_Q4_0,
    Q4_1 = GGUFX_TYPE_Q4_1,
    Q5_0 = GGUFX_TYPE_Q5_0,
    Q5_1 = GGUFX_TYPE_Q5_1,
    Q8_0 = GGUFX_TYPE_Q8_0,
    Q8_1 = GGUFX_TYPE_Q8_1,
    Q2_K = GGUFX_TYPE_Q2_K,
    Q3_K = GGUFX_TYPE_Q3_K,
    Q4_K = GGUFX_TYPE_Q4_K,
    Q5_K = GGUFX_TYPE_Q5_K,
    Q6_K = GGUFX_TYPE_Q6_K,
    Q8_K = GGUFX_TYPE_Q8_K,
    IQ2_XXS = GGUFX_TYPE_IQ2_XXS,
    IQ2_XS = GGUFX_TYPE_IQ2_XS,
    IQ3_XXS = GGUFX_TYPE_IQ3_XXS,
    IQ1_S = GGUFX_TYPE_IQ1_S,
    IQ4_NL = GGUFX_TYPE_IQ4_NL,
    IQ3_S = GGUFX_TYPE_IQ3_S,
    IQ2_S = GGUFX_TYPE_IQ2_S,
    IQ4_XS = GGUFX_TYPE_IQ4_XS,
    I8 = GGUFX_TYPE_I8,
    I16 = GGUFX_TYPE_I16,
    I32 = GGUFX_TYPE_I32,
    I64 = GGUFX_TYPE_I64,
    F64 = GGUFX_TYPE_F64,
    IQ1_M = GGUFX_TYPE_IQ1_M,
    BF16 = GGUFX_TYPE_BF16,
    TQ1_0 = GGUFX_TYPE_TQ1_0,
    TQ2_0 = GGUFX_TYPE_TQ2_0,
    MXFP4 = GGUFX_TYPE_MXFP4,
    NVFP4 = GGUFX_TYPE_NVFP4,
    Q1_0 = GGUFX_TYPE_Q1_0,
    Q2_0 = GGUFX_TYPE_Q2_0,
    ROT_Q5_0 = GGUFX_TYPE_ROT_Q5_0,
    ROT_Q4_0 = GGUFX_TYPE_ROT_Q4_0,
    ROT_IQ4_NL = GGUFX_TYPE_ROT_IQ4_NL,
    TQ3_0 = GGUFX_TYPE_TQ3_0,
    TQ3_0_RESIDUAL = GGUFX_TYPE_TQ3_0_RESIDUAL,
    GX2 = GGUFX_TYPE_GX2,
    GX3 = GGUFX_TYPE_GX3,
    GX4 = GGUFX_TYPE_GX4,
}

bits! {
    /// Properties of a type (`ggufx_type_flags`).
    TypeFlags: u32
    IS_QUANTIZED = GGUFX_TYPE_IS_QUANTIZED,
    IS_FLOAT = GGUFX_TYPE_IS_FLOAT,
    IS_INTEGER = GGUFX_TYPE_IS_INTEGER,
    IS_ACTIVATION = GGUFX_TYPE_IS_ACTIVATION,
    HAS_MATVEC = GGUFX_TYPE_HAS_MATVEC,
    HAS_QUANTIZE = GGUFX_TYPE_HAS_QUANTIZE,
    IN_FILES = GGUFX_TYPE_IN_FILES,
    IN_CACHES = GGUFX_TYPE_IN_CACHES,
}

bits! {
    /// Flags of a writer (`ggufx_writer_flags`).
    WriterFlags: u32
    BIG_ENDIAN = GGUFX_WRITE_BIG_ENDIAN,
}

bits! {
    /// Flags of a write (`ggufx_write_flags`).
    WriteFlags: u32
    NO_REPLACE = GGUFX_WRITE_NO_REPLACE,
}

bits! {
    /// Flags of an edit, at most one (`ggufx_edit_flags`).
    EditFlags: u32
    IN_PLACE = GGUFX_EDIT_IN_PLACE,
    REWRITE = GGUFX_EDIT_REWRITE,
}
