// Written by bindings/raw.py from include/ggufx; a test compares them.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;

namespace Ggufx
{
    /// <summary>What a call returned; values never change.</summary>
    public enum Status : int
    {
        Ok = 0,
        Argument = -1,
        Memory = -2,
        Io = -3,
        Truncated = -4,
        Magic = -5,
        Version = -6,
        Endian = -7,
        Malformed = -8,
        Limit = -9,
        Type = -10,
        Unsupported = -11,
        NotFound = -12,
        Capacity = -13,
        Cancelled = -14,
        Checksum = -15,
        Mismatch = -16,
        State = -17,
        Internal = -18,
        Count = -32,
        Length = -33,
        Key = -34,
        Kvtype = -35,
        Value = -36,
        Duplicate = -37,
        Alignment = -38,
        Name = -39,
        Ndims = -40,
        Shape = -41,
        Overflow = -42,
        Offset = -43,
        Bounds = -44,
        Split = -45,
        Vocab = -48,
        Hparam = -49,
        Missing = -50,
    }

    /// <summary>Weight of a message or finding.</summary>
    public enum LogLevel : int
    {
        Error = 1,
        Warning = 2,
        Info = 3,
        Debug = 4,
    }

    /// <summary>Instruction set of the kernels.</summary>
    public enum Isa : int
    {
        Best = 0,
        Scalar = 1,
        Avx2 = 2,
        Avxvnni = 3,
        Avx512 = 4,
        Neon = 16,
        NeonDot = 17,
        NeonI8mm = 18,
    }

    /// <summary>What was found in this processor.</summary>
    [Flags]
    public enum CpuFeatures : ulong
    {
        None = 0,
        AVX2 = 1,
        AVXVNNI = 2,
        AVX512 = 4,
        AVX512VBMI = 8,
        AVX512BITALG = 16,
        NEON = 65536,
        NEON_DOT = 131072,
        NEON_I8MM = 262144,
    }

    /// <summary>Flags of an estimate, asked and answered.</summary>
    [Flags]
    public enum EstimateFlags : uint
    {
        None = 0,
        FileType = 1,
        Imatrix = 2,
        Fits = 4,
        NeedsImatrix = 8,
        NoGraph = 16,
    }

    /// <summary>How tensor data get into memory.</summary>
    public enum IoMode : int
    {
        Auto = 0,
        Map = 1,
        Read = 2,
    }

    /// <summary>Type of a metadata value.</summary>
    public enum MetaType : int
    {
        U8 = 0,
        I8 = 1,
        U16 = 2,
        I16 = 3,
        U32 = 4,
        I32 = 5,
        F32 = 6,
        BOOL = 7,
        STRING = 8,
        ARRAY = 9,
        U64 = 10,
        I64 = 11,
        F64 = 12,
    }

    /// <summary>Flags of an open.</summary>
    [Flags]
    public enum OpenFlags : uint
    {
        None = 0,
        MetadataOnly = 1,
        Populate = 2,
        HugePages = 4,
        Lock = 8,
        Strict = 16,
        LegacyV1 = 32,
        UnknownTypes = 64,
        Single = 128,
        Copy = 256,
    }

    /// <summary>Flags of a check.</summary>
    [Flags]
    public enum ValidateFlags : uint
    {
        None = 0,
        Deep = 1,
        Strict = 2,
    }

    /// <summary>Format of an importance matrix in a file.</summary>
    public enum ImatrixFormat : int
    {
        Gguf = 0,
        Dat = 1,
        NoReplace = 256,
    }

    /// <summary>Why a tensor gets its type.</summary>
    public enum JobReason : int
    {
        Recipe = 0,
        Chosen = 1,
        Kept = 2,
        Same = 3,
        Fallback = 4,
    }

    /// <summary>Flags of a quantization's plan.</summary>
    [Flags]
    public enum JobFlags : uint
    {
        None = 0,
        Pure = 1,
        LeaveOutput = 2,
        OnlyCopy = 4,
        AllowRequantize = 8,
        NoFallback = 16,
        KeepSplit = 32,
        OutputType = 64,
        EmbeddingType = 128,
        Best = 256,
        NoReplace = 512,
    }

    /// <summary>Flags of a quantization's run.</summary>
    [Flags]
    public enum JobRunFlags : uint
    {
        None = 0,
        Resume = 1,
        Keep = 2,
        Measure = 4,
    }

    /// <summary>How keys carry their positions.</summary>
    public enum RopeStyle : uint
    {
        Unknown = 0,
        None = 1,
        Pairs = 2,
        Halves = 3,
    }

    /// <summary>Format of 16-bit keys and values.</summary>
    public enum HalfFormat : uint
    {
        F16 = 1,
        Bf16 = 2,
    }

    /// <summary>Flags of a KV cache.</summary>
    [Flags]
    public enum KvFlags : uint
    {
        None = 0,
        FitTq30 = 1,
        CentreAll = 2,
        CentreNone = 4,
        VInK = 8,
    }

    /// <summary>Flags of attention.</summary>
    [Flags]
    public enum AttendFlags : uint
    {
        None = 0,
        All = 1,
    }

    /// <summary>Flags of products.</summary>
    [Flags]
    public enum MatmulFlags : uint
    {
        None = 0,
        F32 = 1,
        BatchInvariant = 2,
        Precise = 4,
    }

    /// <summary>Flags of text to ids.</summary>
    [Flags]
    public enum TokenizeFlags : uint
    {
        None = 0,
        AddSpecial = 1,
        ParseSpecial = 2,
    }

    /// <summary>Flags of ids to text.</summary>
    [Flags]
    public enum DetokenizeFlags : uint
    {
        None = 0,
        KeepSpecial = 1,
        KeepSpace = 2,
    }

    /// <summary>Properties of a token.</summary>
    [Flags]
    public enum TokenFlags : uint
    {
        None = 0,
        Unknown = 1,
        Control = 2,
        User = 4,
        Unused = 8,
        Byte = 16,
        End = 32,
    }

    /// <summary>Flags of a decode.</summary>
    [Flags]
    public enum DecodeFlags : uint
    {
        None = 0,
        AllLogits = 1,
    }

    /// <summary>Way to choose scales and codes.</summary>
    public enum QuantizeMode : int
    {
        Reference = 0,
        Best = 1,
    }

    /// <summary>Type of a tensor: the id in the file.</summary>
    public enum TensorType : uint
    {
        F32 = 0,
        F16 = 1,
        Q4_0 = 2,
        Q4_1 = 3,
        Q5_0 = 6,
        Q5_1 = 7,
        Q8_0 = 8,
        Q8_1 = 9,
        Q2_K = 10,
        Q3_K = 11,
        Q4_K = 12,
        Q5_K = 13,
        Q6_K = 14,
        Q8_K = 15,
        IQ2_XXS = 16,
        IQ2_XS = 17,
        IQ3_XXS = 18,
        IQ1_S = 19,
        IQ4_NL = 20,
        IQ3_S = 21,
        IQ2_S = 22,
        IQ4_XS = 23,
        I8 = 24,
        I16 = 25,
        I32 = 26,
        I64 = 27,
        F64 = 28,
        IQ1_M = 29,
        BF16 = 30,
        TQ1_0 = 34,
        TQ2_0 = 35,
        MXFP4 = 39,
        NVFP4 = 40,
        Q1_0 = 41,
        Q2_0 = 42,
    }

    /// <summary>Type of the keys or values of a cache.</summary>
    public enum KvType : uint
    {
        DEFAULT = 0,
        F32 = 1,
        F16 = 2,
        BF16 = 3,
        Q8_0 = 8,
        Q5_1 = 9,
        Q5_0 = 10,
        Q4_1 = 11,
        Q4_0 = 12,
        IQ4_NL = 13,
        ROT_Q5_0 = 32,
        ROT_Q4_0 = 33,
        ROT_IQ4_NL = 34,
        TQ3_0 = 64,
        TQ3_0_RESIDUAL = 65,
        GX2 = 72,
        GX3 = 73,
        GX4 = 74,
    }

    /// <summary>Properties of a tensor type.</summary>
    [Flags]
    public enum TypeFlags : uint
    {
        None = 0,
        IS_QUANTIZED = 1,
        IS_FLOAT = 2,
        IS_INTEGER = 4,
        IS_ACTIVATION = 8,
        HAS_MATVEC = 16,
        HAS_QUANTIZE = 32,
    }

    /// <summary>Flags of a writer.</summary>
    [Flags]
    public enum WriteFlags : uint
    {
        None = 0,
        BigEndian = 1,
        NoReplace = 1,
    }

    /// <summary>Flags of an edit.</summary>
    [Flags]
    public enum EditFlags : uint
    {
        None = 0,
        InPlace = 1,
        Rewrite = 2,
    }

    /// <summary>Numbers with a meaning of their own.</summary>
    public static class Constants
    {
        public const uint EstimateAsIs = 4294967295;
        public const uint MaxDims = 4;
        public const uint JobByRecipe = 4294967295;
        public const uint KvNoSinks = 4294967295;
        public const uint KvAllSequences = 4294967295;
        public const uint KvKeepType = 4294967295;
        public const uint KvAllLayers = 4294967295;
        public const uint MatvecMaxMatrices = 64;
        public const uint VersionMajor = 0;
        public const uint VersionMinor = 1;
        public const uint VersionPatch = 0;
        public const uint AbiVersion = 1;
    }
}
