// Written by bindings/raw.py from include/ggufx; a test compares them.
// SPDX-License-Identifier: MIT
#pragma warning disable 1573 // parameters whose names tell enough
using System;

namespace Ggufx
{
    /// <summary>Kinds of adapters, and the keys by which a file is recognized.</summary>
    public enum AdapterKind : uint
    {
        /// <summary>general.type "adapter", adapter.type "lora".</summary>
        Lora = 1,
        /// <summary>general.architecture "controlvector".</summary>
        Control = 2,
    }

    /// <summary>Status codes.</summary>
    public enum Status : int
    {
        /// <summary>Success.</summary>
        Ok = 0,
        /// <summary>The call breaks its contract: null, length, type, range.</summary>
        Argument = -1,
        /// <summary>The allocator returned null.</summary>
        Memory = -2,
        /// <summary>The system failed to open, read, map or write; SystemError.</summary>
        Io = -3,
        /// <summary>The file ends inside a field.</summary>
        Truncated = -4,
        /// <summary>Not a GGUF file.</summary>
        Magic = -5,
        /// <summary>A GGUF version or an option struct that this library does not know.</summary>
        Version = -6,
        /// <summary>Byte order not usable here.</summary>
        Endian = -7,
        /// <summary>Any other fault of the file.</summary>
        Malformed = -8,
        /// <summary>Over a documented limit.</summary>
        Limit = -9,
        /// <summary>Unknown, removed or unsuitable tensor type.</summary>
        Type = -10,
        /// <summary>Well-formed, but not implemented by this library.</summary>
        Unsupported = -11,
        /// <summary>No such key, tensor, type or file.</summary>
        NotFound = -12,
        /// <summary>Full, or the buffer is too small; nothing was changed.</summary>
        Capacity = -13,
        /// <summary>A callback asked to stop; nothing was changed.</summary>
        Cancelled = -14,
        /// <summary>Stored and computed checksum differ.</summary>
        Checksum = -15,
        /// <summary>Two objects do not fit together.</summary>
        Mismatch = -16,
        /// <summary>Not allowed now: calls in the wrong order.</summary>
        State = -17,
        /// <summary>A fault of this library: please report it.</summary>
        Internal = -18,
        /// <summary>A device failed or is lost; SystemError: its driver's number.</summary>
        Device = -19,
        /// <summary>A count larger than the file can hold.</summary>
        Count = -32,
        /// <summary>A string length larger than the file can hold.</summary>
        Length = -33,
        /// <summary>Empty or unusable key.</summary>
        Key = -34,
        /// <summary>Unknown value type, or not the type that the key must have.</summary>
        ValueType = -35,
        /// <summary>A value outside of its range.</summary>
        Value = -36,
        /// <summary>The same key or tensor name twice.</summary>
        Duplicate = -37,
        /// <summary>general.alignment is unusable, or not a power of two.</summary>
        Alignment = -38,
        /// <summary>Unusable tensor name.</summary>
        Name = -39,
        /// <summary>More than 4 dimensions.</summary>
        Ndims = -40,
        /// <summary>Negative dimension, or a row that is not whole blocks.</summary>
        Shape = -41,
        /// <summary>A product or sum of sizes exceeds 2^63.</summary>
        Overflow = -42,
        /// <summary>Tensor offset unaligned, out of order or overlapping.</summary>
        Offset = -43,
        /// <summary>Tensor data end after the file.</summary>
        Bounds = -44,
        /// <summary>The parts of a split model do not fit together.</summary>
        Split = -45,
        /// <summary>Unusable vocabulary.</summary>
        Vocab = -48,
        /// <summary>Unusable hyper-parameter.</summary>
        Hyperparameter = -49,
        /// <summary>A tensor or key that the model needs is absent.</summary>
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
        /// <summary>The best that the processor has.</summary>
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
        /// <summary>With FMA and F16C.</summary>
        AVX2 = 1,
        /// <summary>int8 dot products of 256 bits.</summary>
        AVXVNNI = 2,
        /// <summary>F, BW, VL, DQ and VNNI, enabled by the system.</summary>
        AVX512 = 4,
        /// <summary>Byte permutations.</summary>
        AVX512VBMI = 8,
        /// <summary>Bit counts.</summary>
        AVX512BITALG = 16,
        /// <summary>Every 64-bit Arm processor.</summary>
        NEON = 65536,
        /// <summary>int8 dot products.</summary>
        NEON_DOT = 131072,
        /// <summary>int8 matrix products.</summary>
        NEON_I8MM = 262144,
    }

    /// <summary>Flags of an item of a batch.</summary>
    [Flags]
    public enum DecodeFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Logits of the item's last token.</summary>
        Logits = 1,
        /// <summary>Logits of each of its tokens.</summary>
        AllLogits = 2,
        /// <summary>Keeps a checkpoint of recurrent states at the end of the item's tokens: the end of a system prompt, or of a
        /// turn. Truncations and copies that end there recompute nothing. It takes one of Checkpoints; when these run out, the
        /// first such checkpoint of a sequence stays. No effect on models without recurrent layers.</summary>
        Checkpoint = 4,
        /// <summary>Hidden state of its last token, after the last norm.</summary>
        Hidden = 8,
        /// <summary>Hidden states of each of its tokens.</summary>
        AllHidden = 16,
    }

    /// <summary>Flags of a batch.</summary>
    [Flags]
    public enum DecodeOptionsFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Uses MatmulFlags of these options in place of those of the session. A server may use MatmulFlags.Tiled for
        /// prompts and MatmulFlags.BatchInvariant for generated tokens. Recomputed tokens keep the mode of their first
        /// computation.</summary>
        HasMatmulFlags = 1,
        /// <summary>Logits and hidden states may hold NaN; without it the call fails with VALUE. The other ranks of a group need
        /// it to repeat a Session.Step.</summary>
        KeepNan = 2,
    }

    /// <summary>Flags of a rendering.</summary>
    [Flags]
    public enum ChatFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>add_generation_prompt: opens the turn of the assistant.</summary>
        Generate = 1,
        /// <summary>enable_thinking is true.</summary>
        Think = 2,
        /// <summary>enable_thinking is false; undefined without both flags.</summary>
        NoThink = 4,
        /// <summary>UnixTime is set; defines strftime_now.</summary>
        Clock = 8,
        /// <summary>The model continues the last message; the prompt ends with its content.</summary>
        Continue = 16,
    }

    /// <summary>Features of a template.</summary>
    [Flags]
    public enum ChatFeatures : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>The template reads the tools of a request.</summary>
        TakesTools = 1,
        /// <summary>Tool calls of its models are recognized.</summary>
        Calls = 2,
        /// <summary>Reasoning of its models is recognized.</summary>
        Reasons = 4,
        /// <summary>End-of-generation tokens separate the channels of an answer.</summary>
        Channels = 8,
    }

    /// <summary>Forms of tool calls.</summary>
    public enum ChatCallForm : uint
    {
        /// <summary>Not known, or messages of ChatFeatures.Channels.</summary>
        None = 0,
        /// <summary>{"name": NAME, "arguments": {...}}.</summary>
        Object = 1,
        /// <summary>{NAME: {...}}.</summary>
        Keyed = 2,
        /// <summary>NAME, a separator, the arguments.</summary>
        Named = 3,
        /// <summary>NAME, then each parameter between markers.</summary>
        Tagged = 4,
    }

    /// <summary>Notations of the arguments of ChatCallForm.Named.</summary>
    public enum ChatNotation : uint
    {
        /// <summary>GGUFX_CHAT_NOTATION_JSON.</summary>
        Json = 0,
        /// <summary>(key=value, ...).</summary>
        Python = 1,
        /// <summary>{key:value, ...}, strings between CallQuote.</summary>
        Quoted = 2,
    }

    /// <summary>Flags of a parser.</summary>
    [Flags]
    public enum ChatParserFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Tool calls are text of the answer.</summary>
        NoCalls = 1,
        /// <summary>Reasoning is text of the answer, with its markers.</summary>
        KeepReasoning = 2,
    }

    /// <summary>State of a parser.</summary>
    [Flags]
    public enum ChatParserStateFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>The output is within reasoning.</summary>
        Reasoning = 1,
    }

    /// <summary>Flags for opening a device.</summary>
    [Flags]
    public enum DeviceOpenFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Open it even if its arithmetic is not exact.</summary>
        AllowInexact = 1,
        /// <summary>Compute fma in binary64, for tests.</summary>
        FmaF64 = 2,
        /// <summary>Compute fma in binary32, for tests.</summary>
        FmaF32 = 4,
    }

    /// <summary>Properties of a device.</summary>
    [Flags]
    public enum DeviceFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Cannot be opened; see DeviceFacts.reason.</summary>
        Unusable = 1,
        /// <summary>Shares the memory of the CPU.</summary>
        Unified = 2,
        /// <summary>Has an instruction for int8 dot products.</summary>
        IntDot = 4,
        /// <summary>Software device on the CPU; slower than no device.</summary>
        Software = 8,
        /// <summary>Opened; its results are bit-identical to those of the CPU.</summary>
        Exact = 16,
        /// <summary>Failed; every later call on it fails too.</summary>
        Lost = 32,
    }

    /// <summary>Implementations of fma (fused multiply-add) on a device.</summary>
    public enum Fma : uint
    {
        /// <summary>Not opened.</summary>
        Unknown = 0,
        /// <summary>Its own instruction.</summary>
        Device = 1,
        /// <summary>Exact emulation in binary64.</summary>
        F64 = 2,
        /// <summary>Exact emulation in binary32.</summary>
        F32 = 3,
    }

    /// <summary>Features that the owner of a VkDevice has enabled.</summary>
    [Flags]
    public enum VulkanFeatures : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Feature shaderFloat64.</summary>
        Float64 = 1,
        /// <summary>VK_KHR_shader_integer_dot_product and its feature.</summary>
        IntDot = 2,
        /// <summary>Extension VK_EXT_memory_budget.</summary>
        MemoryBudget = 4,
    }

    /// <summary>Pooling of the hidden states of an input.</summary>
    public enum Pooling : uint
    {
        /// <summary>As the file says. Else LAST for causal attention, MEAN otherwise.</summary>
        Default = 0,
        /// <summary>GGUFX_POOLING_MEAN.</summary>
        Mean = 1,
        /// <summary>First token (CLS).</summary>
        First = 2,
        /// <summary>Last token.</summary>
        Last = 3,
        /// <summary>Scores of a reranker, for a query and a document in one input.</summary>
        Rank = 4,
        /// <summary>No pooling: one row per token, without dense_2 and dense_3.</summary>
        None = 5,
    }

    /// <summary>Flags of embeddings.</summary>
    [Flags]
    public enum EmbedFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Normalize results to length 1.</summary>
        Normalize = 1,
        /// <summary>Truncate inputs to their first Context tokens.</summary>
        Truncate = 2,
    }

    /// <summary>Flags of an estimate: _FITS, _NEEDS_IMATRIX and _UNSUPPORTED of its result, the others of its options.</summary>
    [Flags]
    public enum EstimateFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>FileType counts even if it is 0.</summary>
        HasFileType = 1,
        /// <summary>Assume an imatrix with an entry for every tensor.</summary>
        Imatrix = 2,
        /// <summary>Pipeline parallelism, as with GroupOptionsFlags.Pipeline.</summary>
        Layers = 32,
        /// <summary>TotalBytes &lt;= MemoryBytes, or there is no limit.</summary>
        Fits = 4,
        /// <summary>The mix requires an imatrix.</summary>
        NeedsImatrix = 8,
        /// <summary>Model does not support this architecture. The bytes of model, caches and sessions are those of a llama model
        /// of this shape; all layers keep the whole context.</summary>
        Unsupported = 16,
        /// <summary>TypeK counts even if it is 0 (TensorType.F32).</summary>
        HasTypeK = 64,
        /// <summary>TypeV counts even if it is 0.</summary>
        HasTypeV = 128,
    }

    /// <summary>Flags of a measurement and of its rows.</summary>
    [Flags]
    public enum EvalFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Facts: saved logits were read, the fields about them are set.</summary>
        Compared = 1,
        /// <summary>Facts: these logits are of the same model and adapters.</summary>
        SameModel = 2,
        /// <summary>Row: the likeliest token is that of the saved logits.</summary>
        SameTop = 4,
    }

    /// <summary>Kind of an event.</summary>
    public enum EventKind : uint
    {
        /// <summary>Nothing yet.</summary>
        None = 0,
        /// <summary>A piece of the answer.</summary>
        Text = 1,
        /// <summary>A piece of the reasoning.</summary>
        Reasoning = 2,
        /// <summary>A tool call begins: text is the name of the function.</summary>
        ToolCall = 3,
        /// <summary>A piece of its arguments, a JSON object.</summary>
        ToolArguments = 4,
        /// <summary>The prompt was computed.</summary>
        Prompt = 5,
        /// <summary>The last event.</summary>
        End = 6,
        /// <summary>The id of a tool call, if the model wrote one.</summary>
        ToolId = 7,
    }

    /// <summary>Reason for which a generation has ended.</summary>
    public enum End : uint
    {
        /// <summary>It has not.</summary>
        None = 0,
        /// <summary>An end-of-generation token.</summary>
        Eog = 1,
        /// <summary>A stop string.</summary>
        Stop = 2,
        /// <summary>MaxTokens.</summary>
        Length = 3,
        /// <summary>The context is full.</summary>
        Context = 4,
        /// <summary>The grammar allows no further token.</summary>
        Grammar = 5,
        /// <summary>Generator.Cancel.</summary>
        Cancelled = 6,
        /// <summary>A fault of this generator alone.</summary>
        Error = 7,
        /// <summary>The one tool call is complete: see ChatPromptOptions.</summary>
        ToolCall = 8,
    }

    /// <summary>Flags of moments.</summary>
    [Flags]
    public enum MomentsFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Also sum (x - y) y^T: y is the input in the quantized model, x the one in the source model.
        /// Runtime.QuantizeFeedback then aims at the outputs of the source model.</summary>
        Drift = 1,
    }

    /// <summary>Flags of a quantization with feedback.</summary>
    [Flags]
    public enum FeedbackFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Aim at the rows themselves, although the moments have drift.</summary>
        KeepTarget = 1,
        /// <summary>Use damping.</summary>
        Damping = 2,
    }

    /// <summary>How tensor data are loaded.</summary>
    public enum IoMode : int
    {
        /// <summary>Memory-map if possible, else read.</summary>
        Auto = 0,
        /// <summary>Memory-map or fail.</summary>
        Map = 1,
        /// <summary>Read into memory of the runtime's allocator.</summary>
        Read = 2,
    }

    /// <summary>Flags for opening a file.</summary>
    [Flags]
    public enum OpenFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Tensor data are neither needed nor readable: the file may end anywhere after its tensor directory.</summary>
        MetadataOnly = 1,
        /// <summary>Read all mapped pages now.</summary>
        Populate = 2,
        /// <summary>Copy tensor data into huge pages.</summary>
        HugePages = 4,
        /// <summary>Lock the data in memory; Status.Io if the system does not allow it.</summary>
        Lock = 8,
        /// <summary>Refuse files that ggml's reader refuses: gaps, order, nesting.</summary>
        Strict = 16,
        /// <summary>Accept version 1 (2023; 32-bit counts).</summary>
        LegacyV1 = 32,
        /// <summary>List tensors of unknown type; their data are not readable.</summary>
        UnknownTypes = 64,
        /// <summary>Open this file alone, even if it is a part of a split set.</summary>
        Single = 128,
        /// <summary>GgufFile.OpenMemory: copy the bytes.</summary>
        Copy = 256,
        /// <summary>The same as HUGE_PAGES where that pays.</summary>
        HugeAuto = 512,
        /// <summary>Read a file again that is in the page cache in small pages.</summary>
        Reread = 1024,
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
        /// <summary>Check all tensor data: NaN, infinities, bad scales.</summary>
        Deep = 1,
        /// <summary>Report as errors what ggml's reader refuses.</summary>
        Strict = 2,
    }

    /// <summary>Flags of GeneratorOptions.</summary>
    [Flags]
    public enum GeneratorFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Computes tokens with MatmulFlags.Tiled too: faster from about 10 sequences on.</summary>
        TiledDecode = 1,
        /// <summary>Text contains the text of control tokens.</summary>
        SpecialTokens = 2,
        /// <summary>End-of-generation tokens do not end it.</summary>
        IgnoreEog = 4,
        /// <summary>No tokenizer: TEXT events have a token and no text.</summary>
        IdsOnly = 8,
        /// <summary>PROMPT events have the tokens of the prompt.</summary>
        ScorePrompt = 16,
        /// <summary>Tokens of events have log-probabilities.</summary>
        Logprobs = 32,
        /// <summary>Reasoning is TEXT, with its markers.</summary>
        KeepReasoning = 64,
        /// <summary>MaxReasoning counts.</summary>
        HasMaxReasoning = 128,
        /// <summary>The sampler sees the tokens of the output alone: penalties leave those of the prompt out.</summary>
        SampleOutput = 256,
    }

    /// <summary>Flags of Prompt.</summary>
    [Flags]
    public enum PromptFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>After the tokens of the sequence, which all stay.</summary>
        Append = 1,
        /// <summary>"&lt;s&gt;" in a text is the control token.</summary>
        ParseSpecial = 2,
        /// <summary>Keeps a checkpoint at its end: see DecodeFlags.Checkpoint.</summary>
        Checkpoint = 4,
        /// <summary>Also reuses tokens of the sequence that were generated, not only those of prompts. That is faster, but the
        /// logits may have other bits than those of a new sequence.</summary>
        ReuseAnswers = 8,
        /// <summary>Random numbers go on after those of earlier outputs.</summary>
        KeepRandom = 16,
    }

    /// <summary>Flags of ChatPromptOptions.</summary>
    [Flags]
    public enum ChatPromptFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Reasoning is TEXT, with its markers.</summary>
        KeepReasoning = 1,
        /// <summary>The output ends after one tool call (End.ToolCall).</summary>
        OneCall = 2,
    }

    /// <summary>Tool calls of the output.</summary>
    public enum ToolChoice : uint
    {
        /// <summary>The model decides.</summary>
        Auto = 0,
        /// <summary>Calls are TEXT.</summary>
        None = 1,
        /// <summary>The output is one tool call, after reasoning.</summary>
        Required = 2,
    }

    /// <summary>Flags of ForkOptions.</summary>
    [Flags]
    public enum ForkFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Seed counts.</summary>
        Reseed = 1,
    }

    /// <summary>State of a generator.</summary>
    public enum GeneratorState : uint
    {
        /// <summary>It has no prompt.</summary>
        Empty = 0,
        /// <summary>Tokens are to be computed before the next one.</summary>
        Prefill = 1,
        /// <summary>The next step gives a token.</summary>
        Decode = 2,
        /// <summary>It has no sequence.</summary>
        Suspended = 3,
        /// <summary>GGUFX_GENERATOR_STATE_ENDED.</summary>
        Ended = 4,
    }

    /// <summary>Languages in which a grammar is written.</summary>
    public enum GrammarKind : uint
    {
        /// <summary>GBNF, the notation of llama.cpp. Rules have the form `name ::= alternatives`; one of them is root. Each is on
        /// a line of its own, except that lines may break within parentheses and around `|`. `#` starts a comment. Names consist
        /// of letters, digits, - and _. A part of a rule is one of: - a "literal" - a [class] or [^class] of characters and
        /// ranges - `.`, which is any character - the name of a rule, or a (group) `?`, `*`, `+`, `{n}`, `{n,}` or `{n,m}` after
        /// a part repeat it. Escapes in literals and classes are: - `\n`, `\r`, `\t` - a backslash before itself, a quote, [, ],
        /// ^ or - - `\xHH`, `\uHHHH`, `\UHHHHHHHH`: a character by its number.</summary>
        Gbnf = 0,
        /// <summary>JSON Schema (draft 2020-12). The language consists of the JSON values that the schema accepts, and no others.
        /// Spelling of values: - Members of an object come in the order of the schema. Its own properties come first, then those
        /// of schemas that also apply, then names that are only required, then others in any order. With GrammarFlags.AnyOrder
        /// all may come in any order. A member that the schema names comes once. - White space between values and punctuation is
        /// optional: one space, or a line break and up to 20 spaces or tabs. There is none before a colon, before the whole value
        /// and after it. GrammarFlags.AnySpace allows any amount of white space. - Strings without a pattern, and member names
        /// that the schema leaves open, may escape characters in any way. - Given names, values of enum and const, and strings
        /// with a pattern have fewer spellings. Each character is written as itself, or escaped if programs usually escape it.
        /// These are controls, quote, slash, backslash and all beyond ASCII; hexadecimal digits have either case. - If only
        /// "number" is required, numbers have any form of JSON. Otherwise they consist of digits, with a fraction that may end in
        /// zeros, or of one digit, a fraction and an exponent up to 307. - Integers, and whole numbers of enum or const, consist
        /// of digits alone, which any host parses as an integer. With GrammarFlags.AnyNumber 1.0, 1e0 and 1.5E+3 are integers
        /// too, but 10e-1 is not. - Numbers count with all their digits, as text, even if a host parses them as floats. - Numbers
        /// have at most 20 digits before the point, 20 after it and 3 in the exponent, so that an output ends. If a number of the
        /// schema has more, one digit more than that. With GrammarFlags.AnyNumber, or a multipleOf above 100 without its decimal
        /// point that is no power of ten, there is no limit. All keywords of the draft are known. Status.Unsupported are the
        /// following; the message has the keyword and the JSON pointer of its schema: - references to other documents -
        /// uniqueItems, except of values that are listed, for example by enum - minProperties above the number of required
        /// members plus one, if other members are allowed - not of uniqueItems and `unevaluated*` - multipleOf above 10,000,
        /// except powers of ten (with other divisors numbers have no exponent) - lookbehind, back references and word borders in
        /// pattern, and assertions in unbounded repetitions - keywords of earlier drafts that have another name in this one
        /// Unknown keywords are ignored, as the draft requires. `$schema` is ignored if it is one of json-schema.org. LIMIT means
        /// excessive complexity: over 4,096 alternatives of schemas, over 16,384 states of a string or number, and similar.
        /// format is an assertion unless GrammarFlags.NoFormats is set. Known formats are: - date, time, date-time (without leap
        /// seconds), duration - uuid, email, idn-email, hostname, ipv4, ipv6 - uri, iri, uri-reference, iri-reference,
        /// uri-template, json-pointer, relative-json-pointer idn-hostname and regex are Status.Unsupported; other names are
        /// ignored. In patterns `\d` and `\w` are the classes of ASCII. `\s` matches characters that both ECMA-262 and Python
        /// call white space, and `\p` knows general categories.</summary>
        JsonSchema = 1,
    }

    /// <summary>Flags of grammars of JSON.</summary>
    [Flags]
    public enum GrammarFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Schemas: JSON without white space.</summary>
        Compact = 1,
        /// <summary>Schemas: members of objects in any order.</summary>
        AnyOrder = 2,
        /// <summary>Schemas: format is an annotation.</summary>
        NoFormats = 4,
        /// <summary>Schemas: integers in any form of a number, as 1.0 or 1e0; numbers of any length.</summary>
        AnyNumber = 8,
        /// <summary>Schemas: any amount of white space; not with COMPACT.</summary>
        AnySpace = 16,
    }

    /// <summary>State of a matcher.</summary>
    [Flags]
    public enum MatcherFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>The output is complete: it may end here.</summary>
        Complete = 1,
        /// <summary>An end-of-generation token was accepted.</summary>
        Ended = 2,
    }

    /// <summary>Flags of a communicator.</summary>
    [Flags]
    public enum GroupFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>All ranks are on one machine: messages are cheap, and no computation overlaps with them.</summary>
        SharedMemory = 1,
    }

    /// <summary>Flags of a partition.</summary>
    [Flags]
    public enum GroupOptionsFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Pipeline parallelism: a rank has whole layers.</summary>
        Pipeline = 1,
    }

    /// <summary>File formats, and flags that are added to the format of a file to write.</summary>
    public enum ImatrixFormat : int
    {
        /// <summary>GGUFX_IMATRIX_GGUF.</summary>
        Gguf = 0,
        /// <summary>.dat: one count per tensor, in calls of imatrix.chunk_size tokens.</summary>
        Dat = 1,
        /// <summary>Flag: Status.Io (exists) if a file has the name.</summary>
        NoReplace = 256,
        /// <summary>Flag for GGUF: also store the sums before rounding, so that merging files loses nothing. Takes 36 bytes per
        /// column in place of 4. Other programs ignore them.</summary>
        Exact = 512,
    }

    /// <summary>Flags of a collection.</summary>
    [Flags]
    public enum ImatrixFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Include the output matrix, for which an imatrix is rarely used.</summary>
        Output = 1,
    }

    /// <summary>Attention window of w positions: the positions j that the token at position i sees.</summary>
    public enum WindowKind : uint
    {
        /// <summary>I - w &lt; j &lt;= i.</summary>
        Sliding = 0,
        /// <summary>W * floor(i / w) &lt;= j &lt;= i.</summary>
        Chunked = 1,
        /// <summary>Positions with |i - j| &lt;= floor(w / 2), also later tokens: for encoders. Queries see the tokens that
        /// exist, so append all tokens before the first query.</summary>
        Symmetric = 2,
    }

    /// <summary>Flags of a cache, and of a layer.</summary>
    [Flags]
    public enum KvFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Search the scales of TQ3_0: lower error, same bytes.</summary>
        FitTq30 = 1,
        /// <summary>Subtracts means and equalizes channels for all quantized types; see KvCache.Calibrate. The default is GX
        /// types only.</summary>
        CentreAll = 2,
        /// <summary>The same for no type.</summary>
        CentreNone = 4,
        /// <summary>The values of a head are the first HeadDimV coordinates of its keys (MLA). Values take no memory and are not
        /// appended. TypeV is TypeK, or not given. RoPE rotates the coordinates after HeadDimV.</summary>
        VInK = 8,
        /// <summary>TypeK counts even if it is 0 (TensorType.F32).</summary>
        HasTypeK = 16,
        /// <summary>TypeV counts even if it is 0.</summary>
        HasTypeV = 32,
        /// <summary>Centred keys: the mean is that of keys before RoPE, rotated for each page; see KvCache.Calibrate. Lower error
        /// where keys have a constant part before RoPE, as those of most models. Needs RopeStyle INTERLEAVED or NEOX, and
        /// frequencies of at most 1 radian per position.</summary>
        CentreBeforeRope = 64,
    }

    /// <summary>Position encoding of the keys, for KvCache.Shift.</summary>
    public enum RopeStyle : uint
    {
        /// <summary>Cannot be shifted.</summary>
        Unknown = 0,
        /// <summary>No RoPE.</summary>
        None = 1,
        /// <summary>RoPE of coordinates 2i and 2i + 1.</summary>
        Interleaved = 2,
        /// <summary>RoPE of coordinates i and i + RopeDims / 2.</summary>
        Neox = 3,
    }

    /// <summary>Flags of attention.</summary>
    [Flags]
    public enum AttendFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Every query sees every token; otherwise windows decide, or the causal mask. Status.State for a sequence from
        /// which a window has dropped tokens.</summary>
        All = 1,
    }

    /// <summary>Flags of products.</summary>
    [Flags]
    public enum MatmulFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Uses f32 activations with quantized weights too: relative error about 1e-6 instead of 1e-2, about 3 times the
        /// time if compute-bound. F16, BF16 and F32 weights always use them.</summary>
        F32 = 1,
        /// <summary>Each column of a result has the bits of Runtime.Matvec of that column, for any number of columns. Costs
        /// nothing up to about ten columns; many columns of quantized weights take up to three times as long.</summary>
        BatchInvariant = 2,
        /// <summary>Each column of a result has the bits of a product with four columns or more, for any number of columns. This
        /// is the batch-invariant mode for many columns. With quantized weights one to three columns take about as long as four:
        /// two to four times as long as without. Not together with MatmulFlags.BatchInvariant.</summary>
        Tiled = 8,
        /// <summary>Uses 15-bit instead of 8-bit activations with quantized weights: relative error about 4e-5 instead of 1e-2.
        /// Takes 1.3 to 2.1 times the time if compute-bound, and less if memory-bound. Not together with MatmulFlags.F32; no
        /// effect on F16, BF16 and F32 weights.</summary>
        Int16 = 4,
    }

    /// <summary>Flags of Tokenizer.Tokenize.</summary>
    [Flags]
    public enum TokenizeFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Add BOS, EOS or a separator as the file asks.</summary>
        AddSpecial = 1,
        /// <summary>"&lt;s&gt;" in the text is the control token.</summary>
        ParseSpecial = 2,
    }

    /// <summary>Flags of Tokenizer.Detokenize.</summary>
    [Flags]
    public enum DetokenizeFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Write control tokens too.</summary>
        KeepSpecial = 1,
        /// <summary>Keep the space that the tokenizer added before the text.</summary>
        KeepSpace = 2,
        /// <summary>Remove spaces before punctuation, as llama.cpp does.</summary>
        CleanSpaces = 4,
        /// <summary>Tokenizer.DetokenizeStream: no more ids follow.</summary>
        Flush = 8,
    }

    /// <summary>Properties of a token.</summary>
    [Flags]
    public enum TokenFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Stands for text without a token.</summary>
        Unknown = 1,
        /// <summary>"&lt;s&gt;": has no text of its own.</summary>
        Control = 2,
        /// <summary>User-defined: matched as a whole in every text.</summary>
        UserDefined = 4,
        /// <summary>Never produced by the tokenizer.</summary>
        Unused = 8,
        /// <summary>One byte, "&lt;0x0A&gt;".</summary>
        Byte = 16,
        /// <summary>End-of-generation token: EOS, EOT, EOM.</summary>
        Eog = 32,
    }

    /// <summary>Properties of a tokenizer.</summary>
    [Flags]
    public enum TokenizerFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>ADD_SPECIAL adds BOS before a text.</summary>
        AddBos = 1,
        /// <summary>ADD_SPECIAL adds EOS after a text.</summary>
        AddEos = 2,
        /// <summary>A separator is added after a text, or between two.</summary>
        AddSep = 4,
        /// <summary>A space is added before a text.</summary>
        AddSpace = 8,
        /// <summary>DetokenizeFlags.CleanSpaces has an effect.</summary>
        CleanSpaces = 16,
    }

    /// <summary>Properties of a pre-tokenizer.</summary>
    [Flags]
    public enum PreFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Texts start with BOS unless the file says otherwise.</summary>
        AddBos = 1,
        /// <summary>Pieces that are tokens are used without merges.</summary>
        IgnoreMerges = 2,
        /// <summary>Pairs of texts have a separator.</summary>
        AddSep = 4,
        /// <summary>DetokenizeFlags.CleanSpaces has no effect.</summary>
        KeepSpaces = 8,
    }

    /// <summary>Properties of a model.</summary>
    [Flags]
    public enum ModelFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Predicts no tokens: use embed.h; it has no sessions.</summary>
        EmbeddingOnly = 1,
        /// <summary>The file describes pooling for embeddings or scores.</summary>
        Embeds = 2,
    }

    /// <summary>Kinds of layers.</summary>
    public enum LayerKind : uint
    {
        /// <summary>Keys and values of all tokens, or of a window.</summary>
        Attention = 1,
        /// <summary>A recurrent state of constant size.</summary>
        Recurrent = 2,
    }

    /// <summary>Properties of a layer.</summary>
    [Flags]
    public enum LayerFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Values are the first HeadDimV coordinates of keys.</summary>
        VInK = 1,
    }

    /// <summary>Flags of a session.</summary>
    [Flags]
    public enum SessionFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>TypeK counts even if it is 0 (TensorType.F32).</summary>
        HasTypeK = 1,
        /// <summary>TypeV counts even if it is 0.</summary>
        HasTypeV = 2,
    }

    /// <summary>Algorithms that choose scales and codes.</summary>
    public enum QuantizeMode : int
    {
        /// <summary>Bytes of ggml's quantizer.</summary>
        Reference = 0,
        /// <summary>An improvement of these bytes: no block has a larger squared error, weighted by the imatrix. Takes some
        /// microseconds per value. Since: 0.1.</summary>
        Refined = 1,
    }

    /// <summary>Flags of a plan.</summary>
    [Flags]
    public enum QuantizerFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>The main type of the mix for all tensors.</summary>
        Pure = 1,
        /// <summary>output.weight keeps its type.</summary>
        LeaveOutput = 2,
        /// <summary>All tensors keep their types.</summary>
        CopyOnly = 4,
        /// <summary>Accept quantized input.</summary>
        AllowRequantize = 8,
        /// <summary>Status.Shape if rows are not whole blocks of the type.</summary>
        NoFallback = 16,
        /// <summary>Write a split set, with the parts of the input.</summary>
        KeepSplit = 32,
        /// <summary>Use OutputType.</summary>
        OutputType = 64,
        /// <summary>Use EmbeddingType.</summary>
        EmbeddingType = 128,
        /// <summary>Blocks of QuantizeMode.Refined: lower error, other bytes.</summary>
        Refined = 256,
        /// <summary>Status.Io (exists) if a file has the output's name.</summary>
        NoReplace = 512,
    }

    /// <summary>Reasons for the type of a tensor.</summary>
    public enum QuantizerReason : int
    {
        /// <summary>The quantization mix.</summary>
        Recipe = 0,
        /// <summary>An override: Quantizer.OverrideTypes, OutputType, EmbeddingType.</summary>
        Override = 1,
        /// <summary>Norms, vectors and other tensors that are never quantized.</summary>
        Kept = 2,
        /// <summary>It has this type already.</summary>
        Same = 3,
        /// <summary>Rows are not whole blocks of wanted: a type with smaller blocks, or F16.</summary>
        Fallback = 4,
    }

    /// <summary>Flags of a run.</summary>
    [Flags]
    public enum QuantizerRunFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Continue an interrupted run with the same input and options.</summary>
        Resume = 1,
        /// <summary>If cancelled, or the disk is full: keep the files for a resume.</summary>
        Keep = 2,
        /// <summary>Fill QuantizerTensorFacts.rmse.</summary>
        Measure = 4,
    }

    /// <summary>Samplers of a chain in the order of a file (general.sampling.sequence).</summary>
    public enum SamplerKind : uint
    {
        /// <summary>GGUFX_SAMPLER_TOP_K.</summary>
        TopK = 1,
        /// <summary>GGUFX_SAMPLER_TOP_P.</summary>
        TopP = 2,
        /// <summary>GGUFX_SAMPLER_MIN_P.</summary>
        MinP = 3,
        /// <summary>GGUFX_SAMPLER_TYPICAL.</summary>
        Typical = 4,
        /// <summary>GGUFX_SAMPLER_TOP_N_SIGMA.</summary>
        TopNSigma = 5,
        /// <summary>GGUFX_SAMPLER_XTC.</summary>
        Xtc = 6,
        /// <summary>GGUFX_SAMPLER_TEMPERATURE.</summary>
        Temperature = 7,
        /// <summary>GGUFX_SAMPLER_PENALTIES.</summary>
        Penalties = 8,
        /// <summary>GGUFX_SAMPLER_DRY.</summary>
        Dry = 9,
    }

    /// <summary>Keys general.sampling.* of a file, and tokenizer.ggml.suppress_tokens.</summary>
    [Flags]
    public enum SamplingFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Temp.</summary>
        Temperature = 1,
        /// <summary>TopK.</summary>
        TopK = 2,
        /// <summary>TopP.</summary>
        TopP = 4,
        /// <summary>MinP.</summary>
        MinP = 8,
        /// <summary>XtcProbability.</summary>
        XtcProbability = 16,
        /// <summary>XtcThreshold.</summary>
        XtcThreshold = 32,
        /// <summary>penalty_last_n.</summary>
        LastN = 64,
        /// <summary>penalty_repeat.</summary>
        Repeat = 128,
        /// <summary>Mirostat.</summary>
        Mirostat = 256,
        /// <summary>mirostat_tau.</summary>
        Tau = 512,
        /// <summary>mirostat_eta.</summary>
        Eta = 1024,
        /// <summary>Sequence.</summary>
        Sequence = 2048,
        /// <summary>suppress_tokens, with at least one id.</summary>
        Suppressed = 4096,
    }

    /// <summary>Types of tensors and of KV caches. Ids below 1024 are those that GGUF files contain; 4, 5, 31 .. 33 and 36 .. 38
    /// were removed from the format. Caches take F32, F16, BF16, Q8_0, Q5_1, Q5_0, Q4_1, Q4_0, IQ4_NL, and the types from 1024
    /// on, which no file has.</summary>
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
        /// <summary>ROT types: the blocks of Q5_0, Q4_0, IQ4_NL after a Hadamard transform of the head.</summary>
        ROT_Q5_0 = 1024,
        /// <summary>GGUFX_TYPE_ROT_Q4_0.</summary>
        ROT_Q4_0 = 1025,
        /// <summary>GGUFX_TYPE_ROT_IQ4_NL.</summary>
        ROT_IQ4_NL = 1026,
        /// <summary>32 values in 14 bytes, as published: the third bit is not read.</summary>
        TQ3_0 = 1027,
        /// <summary>The same bytes with all three bits read.</summary>
        TQ3_0_RESIDUAL = 1028,
        /// <summary>GX types: 2, 3 or 4 bits per value and one scale per head; HeadDim is a multiple of 16.</summary>
        GX2 = 1029,
        /// <summary>GGUFX_TYPE_GX3.</summary>
        GX3 = 1030,
        /// <summary>GGUFX_TYPE_GX4.</summary>
        GX4 = 1031,
    }

    /// <summary>Properties of a type.</summary>
    [Flags]
    public enum TypeFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Blocks of codes with scales.</summary>
        IS_QUANTIZED = 1,
        /// <summary>F64, F32, F16, BF16.</summary>
        IS_FLOAT = 2,
        /// <summary>I8, I16, I32, I64.</summary>
        IS_INTEGER = 4,
        /// <summary>Q8_1, Q8_K: computed at run time, not meant for files.</summary>
        IS_ACTIVATION = 8,
        /// <summary>Usable as the weight of Runtime.Matvec.</summary>
        HAS_MATVEC = 16,
        /// <summary>Usable as the result of Runtime.Quantize.</summary>
        HAS_QUANTIZE = 32,
        /// <summary>A type of tensors.</summary>
        IN_FILES = 64,
        /// <summary>A type of KV caches, which pad heads to whole blocks.</summary>
        IN_CACHES = 128,
    }

    /// <summary>Flags of a writer.</summary>
    [Flags]
    public enum WriterFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Numbers and tensor data of the file are big-endian.</summary>
        BigEndian = 1,
    }

    /// <summary>Flags of a write.</summary>
    [Flags]
    public enum WriteFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Status.Io (exists) if a file has the name, also if it is created during the write.</summary>
        NoReplace = 1,
    }

    /// <summary>Flags of an edit, at most one.</summary>
    [Flags]
    public enum EditFlags : uint
    {
        /// <summary>No flag.</summary>
        None = 0,
        /// <summary>Edit in place, or fail with Status.Capacity.</summary>
        InPlace = 1,
        /// <summary>Write a new file, even if an edit in place is possible.</summary>
        Rewrite = 2,
    }

    /// <summary>Numbers with a meaning of their own.</summary>
    public static class Constants
    {
        /// <summary>Adapters of a sequence.</summary>
        public const uint AdapterMaxUses = 64;
        /// <summary>All sequences, in place of a sequence index.</summary>
        public const uint AllSequences = 4294967295;
        /// <summary>FileType of tensors that stay as they are.</summary>
        public const uint EstimateAsIs = 4294967295;
        /// <summary>Dimensions of a tensor.</summary>
        public const uint MaxDims = 4;
        /// <summary>No attention sinks: SinkTokens is 0.</summary>
        public const uint KvNoSinkTokens = 4294967295;
        /// <summary>The present type of a layer.</summary>
        public const uint TypeKeep = 4294967295;
        /// <summary>All layers, in place of a layer index.</summary>
        public const uint KvAllLayers = 4294967295;
        /// <summary>Products of one Runtime.Matmul.</summary>
        public const uint MatmulMaxProducts = 64;
        /// <summary>No checkpoints, except the state before the last decode.</summary>
        public const uint SessionNoCheckpoints = 4294967295;
        /// <summary>No override: the type of the quantization mix.</summary>
        public const uint QuantizerDefaultType = 4294967295;
        /// <summary>Tokens that a sampler looks back.</summary>
        public const uint SamplerMaxLastN = 1048576;
        /// <summary>Samplers of a chain.</summary>
        public const uint SamplerMaxSamplers = 64;
        /// <summary>Entries of SamplingFacts.samplers.</summary>
        public const uint SamplingMaxSamplers = 16;
        /// <summary>Incremented when the binary interface breaks, from 1 on.</summary>
        public const uint VersionMajor = 0;
        /// <summary>Incremented when functions are added.</summary>
        public const uint VersionMinor = 1;
        /// <summary>Incremented for fixes.</summary>
        public const uint VersionPatch = 0;
        /// <summary>The result of Library.AbiVersion() in a library that these headers fit.</summary>
        public const uint AbiVersion = 1;
    }
}
