// Memory estimates: bytes of weights, caches and sessions, and the best recipe that fits.
// SPDX-License-Identifier: MIT
using System;

namespace Ggufx
{
    /// <summary>Options of an estimate; the default is the unchanged file with the context of a
    /// session.</summary>
    public sealed class EstimateOptions
    {
        /// <summary>As this recipe would make it; null: as it is, or left to Recommend.</summary>
        public FileType Recipe { get; set; }
        /// <summary>How the recipe would be used.</summary>
        public QuantizerOptions Quantizer { get; set; }
        /// <summary>An imatrix with an entry for every tensor will be there.</summary>
        public bool WithImatrix { get; set; }
        /// <summary>Tokens of each session; 0: as <see cref="Session"/>.</summary>
        public uint Context { get; set; }
        /// <summary>Tokens computed at once; 0: 512.</summary>
        public uint Batch { get; set; }
        /// <summary>Number of concurrent sessions; 0: 1.</summary>
        public uint Sessions { get; set; }
        /// <summary>Conversations of each session; 0: 1.</summary>
        public uint Sequences { get; set; }
        /// <summary>Per session, as in SessionOptions.</summary>
        public ulong ContextTotal { get; set; }
        /// <summary>Type of the caches' keys; DEFAULT for both leaves them to Recommend.</summary>
        public KvType TypeK { get; set; }
        /// <summary>Type of the caches' values.</summary>
        public KvType TypeV { get; set; }
        /// <summary>Memory limit in bytes; 0: no limit.</summary>
        public ulong MemoryBytes { get; set; }
        /// <summary>Bytes that all threads read from memory per second; 0: no speeds.</summary>
        public double Bandwidth { get; set; }
        /// <summary>Per session, as in SessionOptions.</summary>
        public uint Checkpoints { get; set; }
        /// <summary>Adapters' files, used by each session, all of them in each sequence; null: none.</summary>
        public GgufFile[] Adapters { get; set; }
    }

    /// <summary>Memory of a model, in bytes.</summary>
    public sealed unsafe class Estimate
    {
        /// <summary>Whether it fits, needs an imatrix, has no graph here.</summary>
        public EstimateFlags Flags { get; private set; }
        /// <summary>Recipe, or Constants.EstimateAsIs.</summary>
        public uint FileType { get; private set; }
        /// <summary>Tokens of each session.</summary>
        public uint Context { get; private set; }
        /// <summary>Tokens computed at once.</summary>
        public uint Batch { get; private set; }
        /// <summary>Number of concurrent conversations.</summary>
        public uint Sessions { get; private set; }
        /// <summary>Type of the caches' keys.</summary>
        public KvType TypeK { get; private set; }
        /// <summary>Type of the caches' values.</summary>
        public KvType TypeV { get; private set; }
        /// <summary>Largest context that fits; 0: none.</summary>
        public uint MaxContext { get; private set; }
        /// <summary>Values of all weights.</summary>
        public ulong Parameters { get; private set; }
        /// <summary>Bytes of the weights, which are in FileBytes.</summary>
        public ulong WeightBytes { get; private set; }
        /// <summary>Bytes of the file.</summary>
        public ulong FileBytes { get; private set; }
        /// <summary>Bytes of the runtime.</summary>
        public ulong RuntimeBytes { get; private set; }
        /// <summary>Bytes of the model beside its file.</summary>
        public ulong ModelBytes { get; private set; }
        /// <summary>Bytes of the caches.</summary>
        public ulong KvBytes { get; private set; }
        /// <summary>Bytes of the sessions beside their caches.</summary>
        public ulong SessionBytes { get; private set; }
        /// <summary>Sum of the file, the four members above and adapters.</summary>
        public ulong TotalBytes { get; private set; }
        /// <summary>Bytes of weights, keys and values that one token reads.</summary>
        public ulong TokenWeightBytes { get; private set; }
        /// <summary>Bytes of one token's keys and values.</summary>
        public ulong TokenKvBytes { get; private set; }
        /// <summary>Bits of a weight, on average.</summary>
        public double BitsPerWeight { get; private set; }
        /// <summary>Expected relative error of the weights.</summary>
        public double WeightError { get; private set; }
        /// <summary>Expected, in nats per token.</summary>
        public double Loss { get; private set; }
        /// <summary>At most, with an empty and with a full context; 0: no bandwidth was given.</summary>
        public double TokensPerSecond { get; private set; }
        /// <summary>Tokens per second at most, with a full context.</summary>
        public double TokensPerSecondFull { get; private set; }
        /// <summary>Bytes of the adapters' files.</summary>
        public ulong AdapterFileBytes { get; private set; }
        /// <summary>Bytes of the adapters and of their arithmetic.</summary>
        public ulong AdapterBytes { get; private set; }

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
            AdapterFileBytes = o->adapter_file_bytes;
            AdapterBytes = o->adapter_bytes;
        }

        /// <summary>Memory of a model: of the unchanged file, or after quantization by a
        /// recipe.</summary>
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
            ImatrixHandle held;
            NativeJobOptions job = (options.Quantizer ?? new QuantizerOptions()).Fill(out held);
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
            o.n_checkpoints = options.Checkpoints;
            o.n_sequences = options.Sequences;
            o.n_context_total = options.ContextTotal;
            var facts = default(NativeEstimateFacts);
            facts.struct_size = (uint)sizeof(NativeEstimateFacts);
            GgufFile[] adapters = options.Adapters ?? new GgufFile[0];
            NativeError e;
            try
            {
                using (var files = new HeldHandles(adapters.Length))
                    fixed (IntPtr* list = Array.ConvertAll(adapters, adapter => files.Add(adapter.Handle)))
                    {
                        o.adapters = list;
                        o.n_adapters = Native.Size(adapters.Length);
                        Check.Ok(best ? NativeMethods.ggufx_recommend(&facts, rt.Handle, file.Handle, &o, &e)
                                      : NativeMethods.ggufx_estimate(&facts, rt.Handle, file.Handle, &o, &e), &e);
                    }
            }
            finally { QuantizerOptions.Release(held); }
            return new Estimate(&facts);
        }
    }
}
