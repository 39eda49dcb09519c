// What fits into memory: bytes of weights, caches and sessions, and the recipe that loses least.
// SPDX-License-Identifier: MIT
using System;

namespace Ggufx
{
    /// <summary>What is asked; the default is the file as it is with its trained context.</summary>
    public sealed class EstimateOptions
    {
        /// <summary>As this recipe would make it; null: as it is, or left to Recommend.</summary>
        public FileType Recipe;
        /// <summary>How the recipe would be used.</summary>
        public QuantizerOptions Quantizer;
        /// <summary>An imatrix with an entry for every tensor will be there.</summary>
        public bool WithImatrix;
        /// <summary>Tokens of each session (0: the trained context), computed at once (0: 512);
        /// conversations side by side (0: 1).</summary>
        public uint Context, Batch, Sessions;
        /// <summary>Types of the caches' keys and values; DEFAULT for both leaves them to Recommend.</summary>
        public KvType TypeK, TypeV;
        /// <summary>What all of it may take; 0: no limit.</summary>
        public ulong MemoryBytes;
        /// <summary>Bytes that all threads read from memory per second; 0: no speeds.</summary>
        public double Bandwidth;
    }

    /// <summary>What a model takes, in bytes.</summary>
    public sealed unsafe class Estimate
    {
        public EstimateFlags Flags { get; private set; }
        /// <summary>Recipe, or Constants.EstimateAsIs.</summary>
        public uint FileType { get; private set; }
        public uint Context { get; private set; }
        public uint Batch { get; private set; }
        public uint Sessions { get; private set; }
        public KvType TypeK { get; private set; }
        public KvType TypeV { get; private set; }
        /// <summary>Largest context that fits; 0: none.</summary>
        public uint MaxContext { get; private set; }
        public ulong Parameters { get; private set; }
        public ulong WeightBytes { get; private set; }
        public ulong FileBytes { get; private set; }
        public ulong RuntimeBytes { get; private set; }
        public ulong ModelBytes { get; private set; }
        public ulong KvBytes { get; private set; }
        public ulong SessionBytes { get; private set; }
        /// <summary>Of the file and the four above.</summary>
        public ulong TotalBytes { get; private set; }
        /// <summary>Of weights, and of one token's keys and values, that a token reads.</summary>
        public ulong TokenWeightBytes { get; private set; }
        public ulong TokenKvBytes { get; private set; }
        public double BitsPerWeight { get; private set; }
        public double WeightError { get; private set; }
        /// <summary>Expected, in nats per token.</summary>
        public double Loss { get; private set; }
        /// <summary>At most, with an empty and with a full context; 0: no bandwidth was given.</summary>
        public double TokensPerSecond { get; private set; }
        public double TokensPerSecondFull { get; private set; }

        private Estimate(NativeEstimateFacts* o)
        {
            Flags = (EstimateFlags)o->flags;
            FileType = o->file_type;
            Context = o->n_context;
            Batch = o->n_batch;
            Sessions = o->n_sessions;
            TypeK = (KvType)o->type_k;
            TypeV = (KvType)o->type_v;
            MaxContext = o->max_context;
            Parameters = o->n_parameters;
            WeightBytes = o->weight_bytes;
            FileBytes = o->file_bytes;
            RuntimeBytes = o->runtime_bytes;
            ModelBytes = o->model_bytes;
            KvBytes = o->kv_bytes;
            SessionBytes = o->session_bytes;
            TotalBytes = o->total_bytes;
            TokenWeightBytes = o->token_weight_bytes;
            TokenKvBytes = o->token_kv_bytes;
            BitsPerWeight = o->bits_per_weight;
            WeightError = o->weight_error;
            Loss = o->loss;
            TokensPerSecond = o->tokens_per_second;
            TokensPerSecondFull = o->tokens_per_second_full;
        }

        /// <summary>What a model takes: as the file stands, or as a recipe would make it.</summary>
        public static Estimate Of(Runtime rt, GgufFile file, EstimateOptions options = null)
        {
            return Ask(rt, file, options, false);
        }

        /// <summary>The recipe and the types of cache that lose least among those that fit; Status.Capacity
        /// when nothing does.</summary>
        public static Estimate Recommend(Runtime rt, GgufFile file, EstimateOptions options = null)
        {
            return Ask(rt, file, options, true);
        }

        private static Estimate Ask(Runtime rt, GgufFile file, EstimateOptions options, bool best)
        {
            options = options ?? new EstimateOptions();
            NativeJobOptions job = (options.Quantizer ?? new QuantizerOptions()).Fill();
            var o = default(NativeEstimateOptions);
            o.struct_size = (uint)sizeof(NativeEstimateOptions);
            if (options.Recipe != null)
            {
                o.flags |= (uint)EstimateFlags.FileType;
                o.file_type = options.Recipe.Id;
            }
            if (options.WithImatrix) o.flags |= (uint)EstimateFlags.Imatrix;
            o.n_context = options.Context;
            o.n_batch = options.Batch;
            o.n_sessions = options.Sessions;
            o.type_k = (uint)options.TypeK;
            o.type_v = (uint)options.TypeV;
            o.job = &job;
            o.memory_bytes = options.MemoryBytes;
            o.bandwidth = options.Bandwidth;
            var facts = default(NativeEstimateFacts);
            facts.struct_size = (uint)sizeof(NativeEstimateFacts);
            NativeError e;
            Check.Ok(best ? NativeMethods.ggufx_recommend(&facts, rt.Handle, file.Handle, &o, &e)
                          : NativeMethods.ggufx_estimate(&facts, rt.Handle, file.Handle, &o, &e), &e);
            GC.KeepAlive(options);
            return new Estimate(&facts);
        }
    }
}
