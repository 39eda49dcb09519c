// Written by bindings/raw.py from include/ggufx; a test compares them.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;

namespace Ggufx
{
    /// <summary>Kinds of adapters, and the keys by which a file is recognized.</summary>
    public enum AdapterKind : uint
    {
        /// <summary>GGUFX_ADAPTER_LORA.</summary>
        Lora = 1,
        /// <summary>GGUFX_ADAPTER_CONTROL.</summary>
        Control = 2,
    }

    /// <summary>Status codes.</summary>
    public enum Status : int
    {
        /// <summary>GGUFX_OK.</summary>
        Ok = 0,
        /// <summary>GGUFX_E_ARGUMENT.</summary>
        Argument = -1,
        /// <summary>GGUFX_E_MEMORY.</summary>
        Memory = -2,
        /// <summary>GGUFX_E_IO.</summary>
        Io = -3,
        /// <summary>GGUFX_E_TRUNCATED.</summary>
        Truncated = -4,
        /// <summary>GGUFX_E_MAGIC.</summary>
        Magic = -5,
        /// <summary>GGUFX_E_VERSION.</summary>
        Version = -6,
        /// <summary>GGUFX_E_ENDIAN.</summary>
        Endian = -7,
        /// <summary>GGUFX_E_MALFORMED.</summary>
        Malformed = -8,
        /// <summary>GGUFX_E_LIMIT.</summary>
        Limit = -9,
        /// <summary>GGUFX_E_TYPE.</summary>
        Type = -10,
        /// <summary>GGUFX_E_UNSUPPORTED.</summary>
        Unsupported = -11,
        /// <summary>GGUFX_E_NOT_FOUND.</summary>
        NotFound = -12,
        /// <summary>GGUFX_E_CAPACITY.</summary>
        Capacity = -13,
        /// <summary>GGUFX_E_CANCELLED.</summary>
        Cancelled = -14,
        /// <summary>GGUFX_E_CHECKSUM.</summary>
        Checksum = -15,
        /// <summary>GGUFX_E_MISMATCH.</summary>
        Mismatch = -16,
        /// <summary>GGUFX_E_STATE.</summary>
        State = -17,
        /// <summary>GGUFX_E_INTERNAL.</summary>
        Internal = -18,
        /// <summary>GGUFX_E_DEVICE.</summary>
        Device = -19,
        /// <summary>GGUFX_E_COUNT.</summary>
        Count = -32,
        /// <summary>GGUFX_E_LENGTH.</summary>
        Length = -33,
        /// <summary>GGUFX_E_KEY.</summary>
        Key = -34,
        /// <summary>GGUFX_E_KVTYPE.</summary>
        Kvtype = -35,
        /// <summary>GGUFX_E_VALUE.</summary>
        Value = -36,
        /// <summary>GGUFX_E_DUPLICATE.</summary>
        Duplicate = -37,
        /// <summary>GGUFX_E_ALIGNMENT.</summary>
        Alignment = -38,
        /// <summary>GGUFX_E_NAME.</summary>
        Name = -39,
        /// <summary>GGUFX_E_NDIMS.</summary>
        Ndims = -40,
        /// <summary>GGUFX_E_SHAPE.</summary>
        Shape = -41,
        /// <summary>GGUFX_E_OVERFLOW.</summary>
        Overflow = -42,
        /// <summary>GGUFX_E_OFFSET.</summary>
        Offset = -43,
        /// <summary>GGUFX_E_BOUNDS.</summary>
        Bounds = -44,
        /// <summary>GGUFX_E_SPLIT.</summary>
        Split = -45,
        /// <summary>GGUFX_E_VOCAB.</summary>
        Vocab = -48,
        /// <summary>GGUFX_E_HPARAM.</summary>
        Hparam = -49,
        /// <summary>GGUFX_E_MISSING.</summary>
        Missing = -50,
    }

    /// <summary>Levels of a log message or finding.</summary>
    public enum LogLevel : int
    {
        /// <summary>GGUFX_LOG_ERROR.</summary>
        Error = 1,
        /// <summary>GGUFX_LOG_WARNING.</summary>
        Warning = 2,
        /// <summary>GGUFX_LOG_INFO.</summary>
        Info = 3,
        /// <summary>GGUFX_LOG_DEBUG.</summary>
        Debug = 4,
    }

    /// <summary>Instruction sets of the kernels.</summary>
    public enum Isa : int
    {
        /// <summary>GGUFX_ISA_BEST.</summary>
        Best = 0,
        /// <summary>GGUFX_ISA_SCALAR.</summary>
        Scalar = 1,
        /// <summary>GGUFX_ISA_AVX2.</summary>
        Avx2 = 2,
        /// <summary>GGUFX_ISA_AVXVNNI.</summary>
        Avxvnni = 3,
        /// <summary>GGUFX_ISA_AVX512.</summary>
        Avx512 = 4,
        /// <summary>GGUFX_ISA_NEON.</summary>
        Neon = 16,
        /// <summary>GGUFX_ISA_NEON_DOT.</summary>
        NeonDot = 17,
        /// <summary>GGUFX_ISA_NEON_I8MM.</summary>
        NeonI8mm = 18,
    }

    /// <summary>Features of a processor.</summary>
    [Flags]
    public enum CpuFeatures : ulong
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_CPU_AVX2.</summary>
        AVX2 = 1,
        /// <summary>GGUFX_CPU_AVXVNNI.</summary>
        AVXVNNI = 2,
        /// <summary>GGUFX_CPU_AVX512.</summary>
        AVX512 = 4,
        /// <summary>GGUFX_CPU_AVX512VBMI.</summary>
        AVX512VBMI = 8,
        /// <summary>GGUFX_CPU_AVX512BITALG.</summary>
        AVX512BITALG = 16,
        /// <summary>GGUFX_CPU_NEON.</summary>
        NEON = 65536,
        /// <summary>GGUFX_CPU_NEON_DOT.</summary>
        NEON_DOT = 131072,
        /// <summary>GGUFX_CPU_NEON_I8MM.</summary>
        NEON_I8MM = 262144,
    }

    /// <summary>Flags of an item of a batch.</summary>
    [Flags]
    public enum BatchFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_BATCH_LOGITS.</summary>
        Logits = 1,
        /// <summary>GGUFX_BATCH_ALL_LOGITS.</summary>
        AllLogits = 2,
        /// <summary>GGUFX_BATCH_MARK.</summary>
        Mark = 4,
        /// <summary>GGUFX_BATCH_EMBED.</summary>
        Embed = 8,
        /// <summary>GGUFX_BATCH_ALL_EMBED.</summary>
        AllEmbed = 16,
    }

    /// <summary>Flags of a batch.</summary>
    [Flags]
    public enum BatchOptionsFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_BATCH_MATMUL.</summary>
        Matmul = 1,
    }

    /// <summary>Flags of a rendering.</summary>
    [Flags]
    public enum ChatFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_CHAT_GENERATE.</summary>
        Generate = 1,
        /// <summary>GGUFX_CHAT_THINK.</summary>
        Think = 2,
        /// <summary>GGUFX_CHAT_NO_THINK.</summary>
        NoThink = 4,
        /// <summary>GGUFX_CHAT_CLOCK.</summary>
        Clock = 8,
        /// <summary>GGUFX_CHAT_CONTINUE.</summary>
        Continue = 16,
    }

    /// <summary>Features of a template.</summary>
    [Flags]
    public enum ChatFeatures : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_CHAT_TAKES_TOOLS.</summary>
        TakesTools = 1,
        /// <summary>GGUFX_CHAT_CALLS.</summary>
        Calls = 2,
        /// <summary>GGUFX_CHAT_REASONS.</summary>
        Reasons = 4,
        /// <summary>GGUFX_CHAT_CHANNELS.</summary>
        Channels = 8,
    }

    /// <summary>Forms of tool calls.</summary>
    public enum ChatCallForm : uint
    {
        /// <summary>GGUFX_CHAT_CALL_NONE.</summary>
        None = 0,
        /// <summary>GGUFX_CHAT_CALL_OBJECT.</summary>
        Object = 1,
        /// <summary>GGUFX_CHAT_CALL_KEYED.</summary>
        Keyed = 2,
        /// <summary>GGUFX_CHAT_CALL_NAMED.</summary>
        Named = 3,
        /// <summary>GGUFX_CHAT_CALL_TAGGED.</summary>
        Tagged = 4,
    }

    /// <summary>Notations of the arguments of GGUFX_CHAT_CALL_NAMED.</summary>
    public enum ChatNotation : uint
    {
        /// <summary>GGUFX_CHAT_NOTATION_JSON.</summary>
        Json = 0,
        /// <summary>GGUFX_CHAT_NOTATION_PYTHON.</summary>
        Python = 1,
        /// <summary>GGUFX_CHAT_NOTATION_QUOTED.</summary>
        Quoted = 2,
    }

    /// <summary>Kinds of parser events.</summary>
    public enum ChatEventKind : uint
    {
        /// <summary>GGUFX_CHAT_ANSWER.</summary>
        Answer = 1,
        /// <summary>GGUFX_CHAT_REASONING.</summary>
        Reasoning = 2,
        /// <summary>GGUFX_CHAT_CALL_NAME.</summary>
        CallName = 3,
        /// <summary>GGUFX_CHAT_CALL_ARGUMENTS.</summary>
        CallArguments = 4,
        /// <summary>GGUFX_CHAT_CALL_ID.</summary>
        CallId = 5,
    }

    /// <summary>Flags of a parser.</summary>
    [Flags]
    public enum ChatParserFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_CHAT_PARSER_NO_CALLS.</summary>
        NoCalls = 1,
        /// <summary>GGUFX_CHAT_PARSER_KEEP_REASONING.</summary>
        KeepReasoning = 2,
    }

    /// <summary>State of a parser.</summary>
    [Flags]
    public enum ChatParserStateFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_CHAT_PARSER_REASONING.</summary>
        Reasoning = 1,
    }

    /// <summary>Flags for opening a device.</summary>
    [Flags]
    public enum DeviceOpenFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_DEVICE_ALLOW_BOUNDED.</summary>
        AllowBounded = 1,
        /// <summary>GGUFX_DEVICE_FMA_F64.</summary>
        FmaF64 = 2,
        /// <summary>GGUFX_DEVICE_FMA_F32.</summary>
        FmaF32 = 4,
    }

    /// <summary>Properties of a device.</summary>
    [Flags]
    public enum DeviceFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_DEVICE_UNUSABLE.</summary>
        Unusable = 1,
        /// <summary>GGUFX_DEVICE_UNIFIED.</summary>
        Unified = 2,
        /// <summary>GGUFX_DEVICE_INT_DOT.</summary>
        IntDot = 4,
        /// <summary>GGUFX_DEVICE_PROCESSOR.</summary>
        Processor = 8,
        /// <summary>GGUFX_DEVICE_EXACT.</summary>
        Exact = 16,
        /// <summary>GGUFX_DEVICE_LOST.</summary>
        Lost = 32,
    }

    /// <summary>Implementations of fma (fused multiply-add) on a device.</summary>
    public enum Fma : uint
    {
        /// <summary>GGUFX_FMA_UNKNOWN.</summary>
        Unknown = 0,
        /// <summary>GGUFX_FMA_DEVICE.</summary>
        Device = 1,
        /// <summary>GGUFX_FMA_F64.</summary>
        F64 = 2,
        /// <summary>GGUFX_FMA_F32.</summary>
        F32 = 3,
    }

    /// <summary>Features that the owner of a VkDevice has enabled.</summary>
    [Flags]
    public enum VulkanFeatures : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_VULKAN_FLOAT64.</summary>
        Float64 = 1,
        /// <summary>GGUFX_VULKAN_INT_DOT.</summary>
        IntDot = 2,
        /// <summary>GGUFX_VULKAN_MEMORY_BUDGET.</summary>
        MemoryBudget = 4,
    }

    /// <summary>Pooling of the hidden states of an input.</summary>
    public enum Pooling : uint
    {
        /// <summary>GGUFX_POOLING_DEFAULT.</summary>
        Default = 0,
        /// <summary>GGUFX_POOLING_MEAN.</summary>
        Mean = 1,
        /// <summary>GGUFX_POOLING_FIRST.</summary>
        First = 2,
        /// <summary>GGUFX_POOLING_LAST.</summary>
        Last = 3,
        /// <summary>GGUFX_POOLING_RANK.</summary>
        Rank = 4,
        /// <summary>GGUFX_POOLING_NONE.</summary>
        None = 5,
    }

    /// <summary>Flags of embeddings.</summary>
    [Flags]
    public enum EmbedFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_EMBED_NORMALIZE.</summary>
        Normalize = 1,
        /// <summary>GGUFX_EMBED_CUT.</summary>
        Cut = 2,
    }

    /// <summary>Flags of an estimate.</summary>
    [Flags]
    public enum EstimateFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_ESTIMATE_FILE_TYPE.</summary>
        FileType = 1,
        /// <summary>GGUFX_ESTIMATE_IMATRIX.</summary>
        Imatrix = 2,
        /// <summary>GGUFX_ESTIMATE_LAYERS.</summary>
        Layers = 32,
        /// <summary>GGUFX_ESTIMATE_FITS.</summary>
        Fits = 4,
        /// <summary>GGUFX_ESTIMATE_NEEDS_IMATRIX.</summary>
        NeedsImatrix = 8,
        /// <summary>GGUFX_ESTIMATE_NO_GRAPH.</summary>
        NoGraph = 16,
    }

    /// <summary>How tensor data are loaded.</summary>
    public enum IoMode : int
    {
        /// <summary>GGUFX_IO_AUTO.</summary>
        Auto = 0,
        /// <summary>GGUFX_IO_MAP.</summary>
        Map = 1,
        /// <summary>GGUFX_IO_READ.</summary>
        Read = 2,
    }

    /// <summary>Flags for opening a file.</summary>
    [Flags]
    public enum OpenFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_OPEN_METADATA_ONLY.</summary>
        MetadataOnly = 1,
        /// <summary>GGUFX_OPEN_POPULATE.</summary>
        Populate = 2,
        /// <summary>GGUFX_OPEN_HUGE_PAGES.</summary>
        HugePages = 4,
        /// <summary>GGUFX_OPEN_LOCK.</summary>
        Lock = 8,
        /// <summary>GGUFX_OPEN_STRICT.</summary>
        Strict = 16,
        /// <summary>GGUFX_OPEN_LEGACY_V1.</summary>
        LegacyV1 = 32,
        /// <summary>GGUFX_OPEN_UNKNOWN_TYPES.</summary>
        UnknownTypes = 64,
        /// <summary>GGUFX_OPEN_SINGLE.</summary>
        Single = 128,
        /// <summary>GGUFX_OPEN_COPY.</summary>
        Copy = 256,
    }

    /// <summary>Types of metadata values, with the ids that GGUF files contain.</summary>
    public enum MetaType : int
    {
        /// <summary>GGUFX_VALUE_U8.</summary>
        U8 = 0,
        /// <summary>GGUFX_VALUE_I8.</summary>
        I8 = 1,
        /// <summary>GGUFX_VALUE_U16.</summary>
        U16 = 2,
        /// <summary>GGUFX_VALUE_I16.</summary>
        I16 = 3,
        /// <summary>GGUFX_VALUE_U32.</summary>
        U32 = 4,
        /// <summary>GGUFX_VALUE_I32.</summary>
        I32 = 5,
        /// <summary>GGUFX_VALUE_F32.</summary>
        F32 = 6,
        /// <summary>GGUFX_VALUE_BOOL.</summary>
        BOOL = 7,
        /// <summary>GGUFX_VALUE_STRING.</summary>
        STRING = 8,
        /// <summary>GGUFX_VALUE_ARRAY.</summary>
        ARRAY = 9,
        /// <summary>GGUFX_VALUE_U64.</summary>
        U64 = 10,
        /// <summary>GGUFX_VALUE_I64.</summary>
        I64 = 11,
        /// <summary>GGUFX_VALUE_F64.</summary>
        F64 = 12,
    }

    /// <summary>Flags of a validation.</summary>
    [Flags]
    public enum ValidateFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_VALIDATE_DEEP.</summary>
        Deep = 1,
        /// <summary>GGUFX_VALIDATE_STRICT.</summary>
        Strict = 2,
    }

    /// <summary>Flags of ggufx_generator_options.</summary>
    [Flags]
    public enum GeneratorFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_GENERATOR_TILED_DECODE.</summary>
        TiledDecode = 1,
        /// <summary>GGUFX_GENERATOR_SPECIAL_TOKENS.</summary>
        SpecialTokens = 2,
        /// <summary>GGUFX_GENERATOR_IGNORE_EOG.</summary>
        IgnoreEog = 4,
        /// <summary>GGUFX_GENERATOR_IDS_ONLY.</summary>
        IdsOnly = 8,
        /// <summary>GGUFX_GENERATOR_SCORE_PROMPT.</summary>
        ScorePrompt = 16,
        /// <summary>GGUFX_GENERATOR_LOGPROBS.</summary>
        Logprobs = 32,
        /// <summary>GGUFX_GENERATOR_KEEP_REASONING.</summary>
        KeepReasoning = 64,
        /// <summary>GGUFX_GENERATOR_HAS_MAX_REASONING.</summary>
        HasMaxReasoning = 128,
    }

    /// <summary>Flags of ggufx_prompt.</summary>
    [Flags]
    public enum PromptFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_PROMPT_APPEND.</summary>
        Append = 1,
        /// <summary>GGUFX_PROMPT_PARSE_SPECIAL.</summary>
        ParseSpecial = 2,
        /// <summary>GGUFX_PROMPT_CHECKPOINT.</summary>
        Checkpoint = 4,
        /// <summary>GGUFX_PROMPT_REUSE_ANSWERS.</summary>
        ReuseAnswers = 8,
    }

    /// <summary>Kind of an event.</summary>
    public enum EventKind : uint
    {
        /// <summary>GGUFX_EVENT_NONE.</summary>
        None = 0,
        /// <summary>GGUFX_EVENT_TEXT.</summary>
        Text = 1,
        /// <summary>GGUFX_EVENT_REASONING.</summary>
        Reasoning = 2,
        /// <summary>GGUFX_EVENT_TOOL_CALL.</summary>
        ToolCall = 3,
        /// <summary>GGUFX_EVENT_TOOL_ARGUMENTS.</summary>
        ToolArguments = 4,
        /// <summary>GGUFX_EVENT_PROMPT.</summary>
        Prompt = 5,
        /// <summary>GGUFX_EVENT_END.</summary>
        End = 6,
        /// <summary>GGUFX_EVENT_TOOL_ID.</summary>
        ToolId = 7,
    }

    /// <summary>Reason for which a generation has ended.</summary>
    public enum End : uint
    {
        /// <summary>GGUFX_END_NONE.</summary>
        None = 0,
        /// <summary>GGUFX_END_EOG.</summary>
        Eog = 1,
        /// <summary>GGUFX_END_STOP.</summary>
        Stop = 2,
        /// <summary>GGUFX_END_LENGTH.</summary>
        Length = 3,
        /// <summary>GGUFX_END_CONTEXT.</summary>
        Context = 4,
        /// <summary>GGUFX_END_GRAMMAR.</summary>
        Grammar = 5,
        /// <summary>GGUFX_END_CANCELLED.</summary>
        Cancelled = 6,
        /// <summary>GGUFX_END_ERROR.</summary>
        Error = 7,
    }

    /// <summary>Flags of ggufx_fork_options.</summary>
    [Flags]
    public enum ForkFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_FORK_RESEED.</summary>
        Reseed = 1,
    }

    /// <summary>State of a generator.</summary>
    public enum GeneratorState : uint
    {
        /// <summary>GGUFX_GENERATOR_STATE_EMPTY.</summary>
        Empty = 0,
        /// <summary>GGUFX_GENERATOR_STATE_PREFILL.</summary>
        Prefill = 1,
        /// <summary>GGUFX_GENERATOR_STATE_DECODE.</summary>
        Decode = 2,
        /// <summary>GGUFX_GENERATOR_STATE_SUSPENDED.</summary>
        Suspended = 3,
        /// <summary>GGUFX_GENERATOR_STATE_ENDED.</summary>
        Ended = 4,
    }

    /// <summary>Languages in which a grammar is written.</summary>
    public enum GrammarKind : uint
    {
        /// <summary>GGUFX_GRAMMAR_GBNF.</summary>
        Gbnf = 0,
        /// <summary>GGUFX_GRAMMAR_JSON_SCHEMA.</summary>
        JsonSchema = 1,
    }

    /// <summary>Flags of grammars of JSON.</summary>
    [Flags]
    public enum GrammarFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_GRAMMAR_COMPACT.</summary>
        Compact = 1,
        /// <summary>GGUFX_GRAMMAR_ANY_ORDER.</summary>
        AnyOrder = 2,
        /// <summary>GGUFX_GRAMMAR_NO_FORMATS.</summary>
        NoFormats = 4,
        /// <summary>GGUFX_GRAMMAR_ANY_NUMBER.</summary>
        AnyNumber = 8,
        /// <summary>GGUFX_GRAMMAR_ANY_SPACE.</summary>
        AnySpace = 16,
    }

    /// <summary>State of a matcher.</summary>
    [Flags]
    public enum MatcherFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_MATCHER_WHOLE.</summary>
        Whole = 1,
        /// <summary>GGUFX_MATCHER_ENDED.</summary>
        Ended = 2,
    }

    /// <summary>Flags of a communicator.</summary>
    [Flags]
    public enum GroupFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_GROUP_ONE_MACHINE.</summary>
        OneMachine = 1,
    }

    /// <summary>Flags of a partition.</summary>
    [Flags]
    public enum GroupOptionsFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_GROUP_LAYERS.</summary>
        Layers = 1,
    }

    /// <summary>File formats, and flags that are added to the format of a file to write.</summary>
    public enum ImatrixFormat : int
    {
        /// <summary>GGUFX_IMATRIX_GGUF.</summary>
        Gguf = 0,
        /// <summary>GGUFX_IMATRIX_DAT.</summary>
        Dat = 1,
        /// <summary>GGUFX_IMATRIX_NO_REPLACE.</summary>
        NoReplace = 256,
        /// <summary>GGUFX_IMATRIX_EXACT.</summary>
        Exact = 512,
    }

    /// <summary>Flags of a collection.</summary>
    [Flags]
    public enum CollectFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_COLLECT_OUTPUT.</summary>
        Output = 1,
    }

    /// <summary>Flags of a plan.</summary>
    [Flags]
    public enum JobFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_JOB_PURE.</summary>
        Pure = 1,
        /// <summary>GGUFX_JOB_LEAVE_OUTPUT.</summary>
        LeaveOutput = 2,
        /// <summary>GGUFX_JOB_ONLY_COPY.</summary>
        OnlyCopy = 4,
        /// <summary>GGUFX_JOB_ALLOW_REQUANTIZE.</summary>
        AllowRequantize = 8,
        /// <summary>GGUFX_JOB_NO_FALLBACK.</summary>
        NoFallback = 16,
        /// <summary>GGUFX_JOB_KEEP_SPLIT.</summary>
        KeepSplit = 32,
        /// <summary>GGUFX_JOB_OUTPUT_TYPE.</summary>
        OutputType = 64,
        /// <summary>GGUFX_JOB_EMBEDDING_TYPE.</summary>
        EmbeddingType = 128,
        /// <summary>GGUFX_JOB_BEST.</summary>
        Best = 256,
        /// <summary>GGUFX_JOB_NO_REPLACE.</summary>
        NoReplace = 512,
    }

    /// <summary>Reasons for the type of a tensor.</summary>
    public enum JobReason : int
    {
        /// <summary>GGUFX_JOB_REASON_RECIPE.</summary>
        Recipe = 0,
        /// <summary>GGUFX_JOB_REASON_CHOSEN.</summary>
        Chosen = 1,
        /// <summary>GGUFX_JOB_REASON_KEPT.</summary>
        Kept = 2,
        /// <summary>GGUFX_JOB_REASON_SAME.</summary>
        Same = 3,
        /// <summary>GGUFX_JOB_REASON_FALLBACK.</summary>
        Fallback = 4,
    }

    /// <summary>Flags of a run.</summary>
    [Flags]
    public enum JobRunFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_JOB_RESUME.</summary>
        Resume = 1,
        /// <summary>GGUFX_JOB_KEEP.</summary>
        Keep = 2,
        /// <summary>GGUFX_JOB_MEASURE.</summary>
        Measure = 4,
    }

    /// <summary>Attention window of w positions.</summary>
    public enum WindowKind : uint
    {
        /// <summary>GGUFX_KV_WINDOW_SLIDING.</summary>
        Sliding = 0,
        /// <summary>GGUFX_KV_WINDOW_CHUNKED.</summary>
        Chunked = 1,
        /// <summary>GGUFX_KV_WINDOW_SYMMETRIC.</summary>
        Symmetric = 2,
    }

    /// <summary>Flags of a cache.</summary>
    [Flags]
    public enum KvFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_KV_FIT_TQ3_0.</summary>
        FitTq30 = 1,
        /// <summary>GGUFX_KV_CENTRE_ALL.</summary>
        CentreAll = 2,
        /// <summary>GGUFX_KV_CENTRE_NONE.</summary>
        CentreNone = 4,
        /// <summary>GGUFX_KV_V_IN_K.</summary>
        VInK = 8,
    }

    /// <summary>Position encoding of the keys, for ggufx_kv_shift.</summary>
    public enum RopeStyle : uint
    {
        /// <summary>GGUFX_KV_ROPE_UNKNOWN.</summary>
        Unknown = 0,
        /// <summary>GGUFX_KV_ROPE_NONE.</summary>
        None = 1,
        /// <summary>GGUFX_KV_ROPE_PAIRS.</summary>
        Pairs = 2,
        /// <summary>GGUFX_KV_ROPE_HALVES.</summary>
        Halves = 3,
    }

    /// <summary>Formats of 16-bit keys and values.</summary>
    public enum HalfFormat : uint
    {
        /// <summary>GGUFX_KV_HALF_F16.</summary>
        F16 = 1,
        /// <summary>GGUFX_KV_HALF_BF16.</summary>
        Bf16 = 2,
    }

    /// <summary>Flags of attention.</summary>
    [Flags]
    public enum AttendFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_ATTEND_ALL.</summary>
        All = 1,
    }

    /// <summary>Flags of products.</summary>
    [Flags]
    public enum MatmulFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_MATMUL_F32.</summary>
        F32 = 1,
        /// <summary>GGUFX_MATMUL_BATCH_INVARIANT.</summary>
        BatchInvariant = 2,
        /// <summary>GGUFX_MATMUL_TILES.</summary>
        Tiles = 8,
        /// <summary>GGUFX_MATMUL_PRECISE.</summary>
        Precise = 4,
    }

    /// <summary>Flags of a measurement and of its rows.</summary>
    [Flags]
    public enum MeasureFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_MEASURE_COMPARED.</summary>
        Compared = 1,
        /// <summary>GGUFX_MEASURE_SAME_MODEL.</summary>
        SameModel = 2,
        /// <summary>GGUFX_MEASURE_SAME_TOP.</summary>
        SameTop = 4,
    }

    /// <summary>Flags of ggufx_tokenize.</summary>
    [Flags]
    public enum TokenizeFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_TOKENIZE_ADD_SPECIAL.</summary>
        AddSpecial = 1,
        /// <summary>GGUFX_TOKENIZE_PARSE_SPECIAL.</summary>
        ParseSpecial = 2,
    }

    /// <summary>Flags of ggufx_detokenize.</summary>
    [Flags]
    public enum DetokenizeFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_DETOKENIZE_KEEP_SPECIAL.</summary>
        KeepSpecial = 1,
        /// <summary>GGUFX_DETOKENIZE_KEEP_SPACE.</summary>
        KeepSpace = 2,
        /// <summary>GGUFX_DETOKENIZE_CLEAN_SPACES.</summary>
        CleanSpaces = 4,
        /// <summary>GGUFX_DETOKENIZE_LAST.</summary>
        Last = 8,
    }

    /// <summary>Properties of a token.</summary>
    [Flags]
    public enum TokenFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_TOKEN_UNKNOWN.</summary>
        Unknown = 1,
        /// <summary>GGUFX_TOKEN_CONTROL.</summary>
        Control = 2,
        /// <summary>GGUFX_TOKEN_USER.</summary>
        User = 4,
        /// <summary>GGUFX_TOKEN_UNUSED.</summary>
        Unused = 8,
        /// <summary>GGUFX_TOKEN_BYTE.</summary>
        Byte = 16,
        /// <summary>GGUFX_TOKEN_END.</summary>
        End = 32,
    }

    /// <summary>Properties of a tokenizer.</summary>
    [Flags]
    public enum TokenizerFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_TOKENIZER_ADD_BOS.</summary>
        AddBos = 1,
        /// <summary>GGUFX_TOKENIZER_ADD_EOS.</summary>
        AddEos = 2,
        /// <summary>GGUFX_TOKENIZER_ADD_SEP.</summary>
        AddSep = 4,
        /// <summary>GGUFX_TOKENIZER_ADD_SPACE.</summary>
        AddSpace = 8,
        /// <summary>GGUFX_TOKENIZER_CLEAN_SPACES.</summary>
        CleanSpaces = 16,
    }

    /// <summary>Special tokens.</summary>
    public enum SpecialToken : uint
    {
        /// <summary>GGUFX_SPECIAL_BOS.</summary>
        Bos = 0,
        /// <summary>GGUFX_SPECIAL_EOS.</summary>
        Eos = 1,
        /// <summary>GGUFX_SPECIAL_EOT.</summary>
        Eot = 2,
        /// <summary>GGUFX_SPECIAL_EOM.</summary>
        Eom = 3,
        /// <summary>GGUFX_SPECIAL_UNKNOWN.</summary>
        Unknown = 4,
        /// <summary>GGUFX_SPECIAL_SEPARATOR.</summary>
        Separator = 5,
        /// <summary>GGUFX_SPECIAL_PAD.</summary>
        Pad = 6,
        /// <summary>GGUFX_SPECIAL_MASK.</summary>
        Mask = 7,
        /// <summary>GGUFX_SPECIAL_FIM_PREFIX.</summary>
        FimPrefix = 8,
        /// <summary>GGUFX_SPECIAL_FIM_SUFFIX.</summary>
        FimSuffix = 9,
        /// <summary>GGUFX_SPECIAL_FIM_MIDDLE.</summary>
        FimMiddle = 10,
        /// <summary>GGUFX_SPECIAL_FIM_PAD.</summary>
        FimPad = 11,
        /// <summary>GGUFX_SPECIAL_FIM_REPOSITORY.</summary>
        FimRepository = 12,
        /// <summary>GGUFX_SPECIAL_FIM_SEPARATOR.</summary>
        FimSeparator = 13,
    }

    /// <summary>Properties of a pre-tokenizer.</summary>
    [Flags]
    public enum PreFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_PRE_ADD_BOS.</summary>
        AddBos = 1,
        /// <summary>GGUFX_PRE_IGNORE_MERGES.</summary>
        IgnoreMerges = 2,
        /// <summary>GGUFX_PRE_ADD_SEP.</summary>
        AddSep = 4,
        /// <summary>GGUFX_PRE_KEEP_SPACES.</summary>
        KeepSpaces = 8,
    }

    /// <summary>Properties of a model.</summary>
    [Flags]
    public enum ModelFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_MODEL_EMBEDS_ONLY.</summary>
        EmbedsOnly = 1,
        /// <summary>GGUFX_MODEL_EMBEDS.</summary>
        Embeds = 2,
    }

    /// <summary>Kinds of layers.</summary>
    public enum LayerKind : uint
    {
        /// <summary>GGUFX_LAYER_ATTENTION.</summary>
        Attention = 1,
        /// <summary>GGUFX_LAYER_RECURRENT.</summary>
        Recurrent = 2,
    }

    /// <summary>Properties of a layer.</summary>
    [Flags]
    public enum LayerFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_LAYER_V_IN_K.</summary>
        VInK = 1,
    }

    /// <summary>Flags of a decode.</summary>
    [Flags]
    public enum DecodeFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_DECODE_ALL_LOGITS.</summary>
        AllLogits = 1,
    }

    /// <summary>Algorithms that choose scales and codes.</summary>
    public enum QuantizeMode : int
    {
        /// <summary>GGUFX_QUANTIZE_REFERENCE.</summary>
        Reference = 0,
        /// <summary>GGUFX_QUANTIZE_BEST.</summary>
        Best = 1,
    }

    /// <summary>Kinds of samplers in a chain.</summary>
    public enum LinkKind : uint
    {
        /// <summary>GGUFX_LINK_TOP_K.</summary>
        TopK = 1,
        /// <summary>GGUFX_LINK_TOP_P.</summary>
        TopP = 2,
        /// <summary>GGUFX_LINK_MIN_P.</summary>
        MinP = 3,
        /// <summary>GGUFX_LINK_TYPICAL.</summary>
        Typical = 4,
        /// <summary>GGUFX_LINK_TOP_N_SIGMA.</summary>
        TopNSigma = 5,
        /// <summary>GGUFX_LINK_XTC.</summary>
        Xtc = 6,
        /// <summary>GGUFX_LINK_TEMPERATURE.</summary>
        Temperature = 7,
        /// <summary>GGUFX_LINK_PENALTIES.</summary>
        Penalties = 8,
        /// <summary>GGUFX_LINK_DRY.</summary>
        Dry = 9,
        /// <summary>GGUFX_LINK_BIAS.</summary>
        Bias = 10,
        /// <summary>GGUFX_LINK_MIROSTAT.</summary>
        Mirostat = 11,
        /// <summary>GGUFX_LINK_HOST.</summary>
        Host = 12,
    }

    /// <summary>Keys general.sampling.* of a file, and tokenizer.ggml.suppress_tokens.</summary>
    [Flags]
    public enum SamplingFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_SAMPLING_TEMPERATURE.</summary>
        Temperature = 1,
        /// <summary>GGUFX_SAMPLING_TOP_K.</summary>
        TopK = 2,
        /// <summary>GGUFX_SAMPLING_TOP_P.</summary>
        TopP = 4,
        /// <summary>GGUFX_SAMPLING_MIN_P.</summary>
        MinP = 8,
        /// <summary>GGUFX_SAMPLING_XTC_PROBABILITY.</summary>
        XtcProbability = 16,
        /// <summary>GGUFX_SAMPLING_XTC_THRESHOLD.</summary>
        XtcThreshold = 32,
        /// <summary>GGUFX_SAMPLING_N_LAST.</summary>
        NLast = 64,
        /// <summary>GGUFX_SAMPLING_REPETITION.</summary>
        Repetition = 128,
        /// <summary>GGUFX_SAMPLING_MIROSTAT.</summary>
        Mirostat = 256,
        /// <summary>GGUFX_SAMPLING_TAU.</summary>
        Tau = 512,
        /// <summary>GGUFX_SAMPLING_ETA.</summary>
        Eta = 1024,
        /// <summary>GGUFX_SAMPLING_LINKS.</summary>
        Links = 2048,
        /// <summary>GGUFX_SAMPLING_SUPPRESSED.</summary>
        Suppressed = 4096,
    }

    /// <summary>Tensor types, with the ids that GGUF files contain.</summary>
    public enum TensorType : uint
    {
        /// <summary>GGUFX_TYPE_F32.</summary>
        F32 = 0,
        /// <summary>GGUFX_TYPE_F16.</summary>
        F16 = 1,
        /// <summary>GGUFX_TYPE_Q4_0.</summary>
        Q4_0 = 2,
        /// <summary>GGUFX_TYPE_Q4_1.</summary>
        Q4_1 = 3,
        /// <summary>GGUFX_TYPE_Q5_0.</summary>
        Q5_0 = 6,
        /// <summary>GGUFX_TYPE_Q5_1.</summary>
        Q5_1 = 7,
        /// <summary>GGUFX_TYPE_Q8_0.</summary>
        Q8_0 = 8,
        /// <summary>GGUFX_TYPE_Q8_1.</summary>
        Q8_1 = 9,
        /// <summary>GGUFX_TYPE_Q2_K.</summary>
        Q2_K = 10,
        /// <summary>GGUFX_TYPE_Q3_K.</summary>
        Q3_K = 11,
        /// <summary>GGUFX_TYPE_Q4_K.</summary>
        Q4_K = 12,
        /// <summary>GGUFX_TYPE_Q5_K.</summary>
        Q5_K = 13,
        /// <summary>GGUFX_TYPE_Q6_K.</summary>
        Q6_K = 14,
        /// <summary>GGUFX_TYPE_Q8_K.</summary>
        Q8_K = 15,
        /// <summary>GGUFX_TYPE_IQ2_XXS.</summary>
        IQ2_XXS = 16,
        /// <summary>GGUFX_TYPE_IQ2_XS.</summary>
        IQ2_XS = 17,
        /// <summary>GGUFX_TYPE_IQ3_XXS.</summary>
        IQ3_XXS = 18,
        /// <summary>GGUFX_TYPE_IQ1_S.</summary>
        IQ1_S = 19,
        /// <summary>GGUFX_TYPE_IQ4_NL.</summary>
        IQ4_NL = 20,
        /// <summary>GGUFX_TYPE_IQ3_S.</summary>
        IQ3_S = 21,
        /// <summary>GGUFX_TYPE_IQ2_S.</summary>
        IQ2_S = 22,
        /// <summary>GGUFX_TYPE_IQ4_XS.</summary>
        IQ4_XS = 23,
        /// <summary>GGUFX_TYPE_I8.</summary>
        I8 = 24,
        /// <summary>GGUFX_TYPE_I16.</summary>
        I16 = 25,
        /// <summary>GGUFX_TYPE_I32.</summary>
        I32 = 26,
        /// <summary>GGUFX_TYPE_I64.</summary>
        I64 = 27,
        /// <summary>GGUFX_TYPE_F64.</summary>
        F64 = 28,
        /// <summary>GGUFX_TYPE_IQ1_M.</summary>
        IQ1_M = 29,
        /// <summary>GGUFX_TYPE_BF16.</summary>
        BF16 = 30,
        /// <summary>GGUFX_TYPE_TQ1_0.</summary>
        TQ1_0 = 34,
        /// <summary>GGUFX_TYPE_TQ2_0.</summary>
        TQ2_0 = 35,
        /// <summary>GGUFX_TYPE_MXFP4.</summary>
        MXFP4 = 39,
        /// <summary>GGUFX_TYPE_NVFP4.</summary>
        NVFP4 = 40,
        /// <summary>GGUFX_TYPE_Q1_0.</summary>
        Q1_0 = 41,
        /// <summary>GGUFX_TYPE_Q2_0.</summary>
        Q2_0 = 42,
    }

    /// <summary>Properties of a tensor type or KV cache type.</summary>
    [Flags]
    public enum TypeFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_TYPE_IS_QUANTIZED.</summary>
        IS_QUANTIZED = 1,
        /// <summary>GGUFX_TYPE_IS_FLOAT.</summary>
        IS_FLOAT = 2,
        /// <summary>GGUFX_TYPE_IS_INTEGER.</summary>
        IS_INTEGER = 4,
        /// <summary>GGUFX_TYPE_IS_ACTIVATION.</summary>
        IS_ACTIVATION = 8,
        /// <summary>GGUFX_TYPE_HAS_MATVEC.</summary>
        HAS_MATVEC = 16,
        /// <summary>GGUFX_TYPE_HAS_QUANTIZE.</summary>
        HAS_QUANTIZE = 32,
    }

    /// <summary>KV cache types.</summary>
    public enum KvType : uint
    {
        /// <summary>GGUFX_KV_DEFAULT.</summary>
        DEFAULT = 0,
        /// <summary>GGUFX_KV_F32.</summary>
        F32 = 1,
        /// <summary>GGUFX_KV_F16.</summary>
        F16 = 2,
        /// <summary>GGUFX_KV_BF16.</summary>
        BF16 = 3,
        /// <summary>GGUFX_KV_Q8_0.</summary>
        Q8_0 = 8,
        /// <summary>GGUFX_KV_Q5_1.</summary>
        Q5_1 = 9,
        /// <summary>GGUFX_KV_Q5_0.</summary>
        Q5_0 = 10,
        /// <summary>GGUFX_KV_Q4_1.</summary>
        Q4_1 = 11,
        /// <summary>GGUFX_KV_Q4_0.</summary>
        Q4_0 = 12,
        /// <summary>GGUFX_KV_IQ4_NL.</summary>
        IQ4_NL = 13,
        /// <summary>GGUFX_KV_ROT_Q5_0.</summary>
        ROT_Q5_0 = 32,
        /// <summary>GGUFX_KV_ROT_Q4_0.</summary>
        ROT_Q4_0 = 33,
        /// <summary>GGUFX_KV_ROT_IQ4_NL.</summary>
        ROT_IQ4_NL = 34,
        /// <summary>GGUFX_KV_TQ3_0.</summary>
        TQ3_0 = 64,
        /// <summary>GGUFX_KV_TQ3_0_RESIDUAL.</summary>
        TQ3_0_RESIDUAL = 65,
        /// <summary>GGUFX_KV_GX2.</summary>
        GX2 = 72,
        /// <summary>GGUFX_KV_GX3.</summary>
        GX3 = 73,
        /// <summary>GGUFX_KV_GX4.</summary>
        GX4 = 74,
    }

    /// <summary>Flags of a writer.</summary>
    [Flags]
    public enum WriterFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_WRITE_BIG_ENDIAN.</summary>
        BigEndian = 1,
    }

    /// <summary>Flags of a write.</summary>
    [Flags]
    public enum WriteFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_WRITE_NO_REPLACE.</summary>
        NoReplace = 1,
    }

    /// <summary>Flags of an edit, at most one.</summary>
    [Flags]
    public enum EditFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>GGUFX_EDIT_IN_PLACE.</summary>
        InPlace = 1,
        /// <summary>GGUFX_EDIT_REWRITE.</summary>
        Rewrite = 2,
    }

    /// <summary>Numbers with a meaning of their own.</summary>
    public static class Constants
    {
        /// <summary>GGUFX_ADAPTER_MOST_USES.</summary>
        public const uint AdapterMostUses = 64;
        /// <summary>GGUFX_ADAPTER_ALL_SEQUENCES.</summary>
        public const uint AdapterAllSequences = 4294967295;
        /// <summary>GGUFX_SESSION_ALL.</summary>
        public const uint SessionAll = 4294967295;
        /// <summary>GGUFX_ESTIMATE_AS_IS.</summary>
        public const uint EstimateAsIs = 4294967295;
        /// <summary>GGUFX_MAX_DIMS.</summary>
        public const uint MaxDims = 4;
        /// <summary>GGUFX_JOB_BY_RECIPE.</summary>
        public const uint JobByRecipe = 4294967295;
        /// <summary>GGUFX_KV_NO_SINKS.</summary>
        public const uint KvNoSinks = 4294967295;
        /// <summary>GGUFX_KV_ALL_SEQUENCES.</summary>
        public const uint KvAllSequences = 4294967295;
        /// <summary>GGUFX_KV_KEEP_TYPE.</summary>
        public const uint KvKeepType = 4294967295;
        /// <summary>GGUFX_KV_ALL_LAYERS.</summary>
        public const uint KvAllLayers = 4294967295;
        /// <summary>GGUFX_MATVEC_MAX_MATRICES.</summary>
        public const uint MatvecMaxMatrices = 64;
        /// <summary>GGUFX_SESSION_NO_CHECKPOINTS.</summary>
        public const uint SessionNoCheckpoints = 4294967295;
        /// <summary>GGUFX_LINK_MOST_LAST.</summary>
        public const uint LinkMostLast = 1048576;
        /// <summary>GGUFX_LINK_MOST_LINKS.</summary>
        public const uint LinkMostLinks = 64;
        /// <summary>GGUFX_SAMPLING_MOST_LINKS.</summary>
        public const uint SamplingMostLinks = 16;
        /// <summary>GGUFX_SPECULATOR_MOST_DRAFTED.</summary>
        public const uint SpeculatorMostDrafted = 31;
        /// <summary>GGUFX_SPECULATOR_MOST_STOPS.</summary>
        public const uint SpeculatorMostStops = 1024;
        /// <summary>GGUFX_VERSION_MAJOR.</summary>
        public const uint VersionMajor = 0;
        /// <summary>GGUFX_VERSION_MINOR.</summary>
        public const uint VersionMinor = 1;
        /// <summary>GGUFX_VERSION_PATCH.</summary>
        public const uint VersionPatch = 0;
        /// <summary>GGUFX_ABI_VERSION.</summary>
        public const uint AbiVersion = 1;
    }
}
