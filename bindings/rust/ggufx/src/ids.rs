// Written by bindings/raw.py from include/ggufx; a test compares them.
// SPDX-License-Identifier: MIT
use crate::id::{bits, id};
use ggufx_sys as sys;

id! {
    /// What a call returned; values never change (`GGUFX_E_*`).
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
    COUNT = GGUFX_E_COUNT,
    LENGTH = GGUFX_E_LENGTH,
    KEY = GGUFX_E_KEY,
    KVTYPE = GGUFX_E_KVTYPE,
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
    HPARAM = GGUFX_E_HPARAM,
    MISSING = GGUFX_E_MISSING,
}

id! {
    /// Weight of a message or finding (`GGUFX_LOG_*`).
    LogLevel: i32
    ERROR = GGUFX_LOG_ERROR,
    WARNING = GGUFX_LOG_WARNING,
    INFO = GGUFX_LOG_INFO,
    DEBUG = GGUFX_LOG_DEBUG,
}

id! {
    /// Instruction set of the kernels (`GGUFX_ISA_*`).
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
    /// What was found in this processor (`GGUFX_CPU_*`).
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

id! {
    /// How tensor data get into memory (`GGUFX_IO_*`).
    IoMode: i32
    AUTO = GGUFX_IO_AUTO,
    MAP = GGUFX_IO_MAP,
    READ = GGUFX_IO_READ,
}

id! {
    /// Type of a metadata value (`GGUFX_VALUE_*`).
    MetaType: i32
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
    /// Flags of an open (`GGUFX_OPEN_*`).
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
}

bits! {
    /// Flags of a check (`GGUFX_VALIDATE_*`).
    ValidateFlags: u32
    DEEP = GGUFX_VALIDATE_DEEP,
    STRICT = GGUFX_VALIDATE_STRICT,
}

id! {
    /// Format of an importance matrix in a file (`GGUFX_IMATRIX_*`).
    ImatrixFormat: i32
    GGUF = GGUFX_IMATRIX_GGUF,
    DAT = GGUFX_IMATRIX_DAT,
}

id! {
    /// Why a tensor gets its type (`GGUFX_JOB_REASON_*`).
    JobReason: i32
    RECIPE = GGUFX_JOB_REASON_RECIPE,
    CHOSEN = GGUFX_JOB_REASON_CHOSEN,
    KEPT = GGUFX_JOB_REASON_KEPT,
    SAME = GGUFX_JOB_REASON_SAME,
    FALLBACK = GGUFX_JOB_REASON_FALLBACK,
}

bits! {
    /// Flags of a quantization's plan (`GGUFX_JOB_*`).
    JobFlags: u32
    PURE = GGUFX_JOB_PURE,
    LEAVE_OUTPUT = GGUFX_JOB_LEAVE_OUTPUT,
    ONLY_COPY = GGUFX_JOB_ONLY_COPY,
    ALLOW_REQUANTIZE = GGUFX_JOB_ALLOW_REQUANTIZE,
    NO_FALLBACK = GGUFX_JOB_NO_FALLBACK,
    KEEP_SPLIT = GGUFX_JOB_KEEP_SPLIT,
    OUTPUT_TYPE = GGUFX_JOB_OUTPUT_TYPE,
    EMBEDDING_TYPE = GGUFX_JOB_EMBEDDING_TYPE,
    BEST = GGUFX_JOB_BEST,
}

bits! {
    /// Flags of a quantization's run (`GGUFX_JOB_RESUME*`).
    JobRunFlags: u32
    RESUME = GGUFX_JOB_RESUME,
    KEEP = GGUFX_JOB_KEEP,
    MEASURE = GGUFX_JOB_MEASURE,
}

id! {
    /// How keys carry their positions (`GGUFX_KV_ROPE_*`).
    RopeStyle: u32
    UNKNOWN = GGUFX_KV_ROPE_UNKNOWN,
    NONE = GGUFX_KV_ROPE_NONE,
    PAIRS = GGUFX_KV_ROPE_PAIRS,
    HALVES = GGUFX_KV_ROPE_HALVES,
}

id! {
    /// Format of 16-bit keys and values (`GGUFX_KV_HALF_*`).
    HalfFormat: u32
    F16 = GGUFX_KV_HALF_F16,
    BF16 = GGUFX_KV_HALF_BF16,
}

bits! {
    /// Flags of a KV cache (`GGUFX_KV_FIT_*`).
    KvFlags: u32
    FIT_TQ3_0 = GGUFX_KV_FIT_TQ3_0,
    CENTRE_ALL = GGUFX_KV_CENTRE_ALL,
    CENTRE_NONE = GGUFX_KV_CENTRE_NONE,
    V_IN_K = GGUFX_KV_V_IN_K,
}

bits! {
    /// Flags of attention (`GGUFX_ATTEND_*`).
    AttendFlags: u32
    ALL = GGUFX_ATTEND_ALL,
}

bits! {
    /// Flags of products (`GGUFX_MATMUL_*`).
    MatmulFlags: u32
    F32 = GGUFX_MATMUL_F32,
    BATCH_INVARIANT = GGUFX_MATMUL_BATCH_INVARIANT,
    PRECISE = GGUFX_MATMUL_PRECISE,
}

bits! {
    /// Flags of text to ids (`GGUFX_TOKENIZE_*`).
    TokenizeFlags: u32
    ADD_SPECIAL = GGUFX_TOKENIZE_ADD_SPECIAL,
    PARSE_SPECIAL = GGUFX_TOKENIZE_PARSE_SPECIAL,
}

bits! {
    /// Flags of ids to text (`GGUFX_DETOKENIZE_*`).
    DetokenizeFlags: u32
    KEEP_SPECIAL = GGUFX_DETOKENIZE_KEEP_SPECIAL,
    KEEP_SPACE = GGUFX_DETOKENIZE_KEEP_SPACE,
}

bits! {
    /// Properties of a token (`GGUFX_TOKEN_*`).
    TokenFlags: u32
    UNKNOWN = GGUFX_TOKEN_UNKNOWN,
    CONTROL = GGUFX_TOKEN_CONTROL,
    USER = GGUFX_TOKEN_USER,
    UNUSED = GGUFX_TOKEN_UNUSED,
    BYTE = GGUFX_TOKEN_BYTE,
    END = GGUFX_TOKEN_END,
}

bits! {
    /// Flags of a decode (`GGUFX_DECODE_*`).
    DecodeFlags: u32
    ALL_LOGITS = GGUFX_DECODE_ALL_LOGITS,
}

id! {
    /// Way to choose scales and codes (`GGUFX_QUANTIZE_*`).
    QuantizeMode: i32
    REFERENCE = GGUFX_QUANTIZE_REFERENCE,
    BEST = GGUFX_QUANTIZE_BEST,
}

id! {
    /// Type of a tensor: the id in the file (`GGUFX_TYPE_*`).
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
}

id! {
    /// Type of the keys or values of a cache (`GGUFX_KV_*`).
    KvType: u32
    DEFAULT = GGUFX_KV_DEFAULT,
    F32 = GGUFX_KV_F32,
    F16 = GGUFX_KV_F16,
    BF16 = GGUFX_KV_BF16,
    Q8_0 = GGUFX_KV_Q8_0,
    Q5_1 = GGUFX_KV_Q5_1,
    Q5_0 = GGUFX_KV_Q5_0,
    Q4_1 = GGUFX_KV_Q4_1,
    Q4_0 = GGUFX_KV_Q4_0,
    IQ4_NL = GGUFX_KV_IQ4_NL,
    ROT_Q5_0 = GGUFX_KV_ROT_Q5_0,
    ROT_Q4_0 = GGUFX_KV_ROT_Q4_0,
    ROT_IQ4_NL = GGUFX_KV_ROT_IQ4_NL,
    TQ3_0 = GGUFX_KV_TQ3_0,
    TQ3_0_RESIDUAL = GGUFX_KV_TQ3_0_RESIDUAL,
    GX2 = GGUFX_KV_GX2,
    GX3 = GGUFX_KV_GX3,
    GX4 = GGUFX_KV_GX4,
}

bits! {
    /// Properties of a tensor type (`GGUFX_TYPE_IS_*`).
    TypeFlags: u32
    IS_QUANTIZED = GGUFX_TYPE_IS_QUANTIZED,
    IS_FLOAT = GGUFX_TYPE_IS_FLOAT,
    IS_INTEGER = GGUFX_TYPE_IS_INTEGER,
    IS_ACTIVATION = GGUFX_TYPE_IS_ACTIVATION,
    HAS_MATVEC = GGUFX_TYPE_HAS_MATVEC,
    HAS_QUANTIZE = GGUFX_TYPE_HAS_QUANTIZE,
}

bits! {
    /// Flags of a writer (`GGUFX_WRITE_*`).
    WriteFlags: u32
    BIG_ENDIAN = GGUFX_WRITE_BIG_ENDIAN,
}

bits! {
    /// Flags of an edit (`GGUFX_EDIT_*`).
    EditFlags: u32
    IN_PLACE = GGUFX_EDIT_IN_PLACE,
    REWRITE = GGUFX_EDIT_REWRITE,
}
