// Embeddings of texts, and scores of rerankers.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading;

namespace Ggufx
{
    /// <summary>Options of an embedder; 0 is the default.</summary>
    public sealed unsafe class EmbedOptions
    {
        /// <summary>Maximum tokens of a text; 0: the trained context, at most 8,192.</summary>
        public uint Context { get; set; }
        /// <summary>Tokens computed at once; 0: 512, or Context.</summary>
        public uint Batch { get; set; }
        /// <summary>Pooling of a text's hidden states.</summary>
        public Pooling Pooling { get; set; }
        /// <summary>Values of a result that are kept, the first ones; 0: all.</summary>
        public uint Dimensions { get; set; }
        /// <summary>Normalization of the results; truncation of texts.</summary>
        public EmbedFlags Flags { get; set; }
        /// <summary>Flags of the products.</summary>
        public MatmulFlags MatmulFlags { get; set; }

        internal static NativeEmbedOptions Fill(EmbedOptions options)
        {
            options = options ?? new EmbedOptions();
            var o = default(NativeEmbedOptions);
            o.struct_size = (uint)sizeof(NativeEmbedOptions);
            o.flags = (uint)options.Flags;
            o.n_context = options.Context;
            o.n_batch = options.Batch;
            o.pooling = (uint)options.Pooling;
            o.dimensions = options.Dimensions;
            o.matmul_flags = (uint)options.MatmulFlags;
            return o;
        }
    }

    /// <summary>Facts of an embedder.</summary>
    public sealed class EmbedderInfo
    {
        /// <summary>Maximum tokens of a text.</summary>
        public uint Context { get; internal set; }
        /// <summary>Tokens computed at once.</summary>
        public uint Batch { get; internal set; }
        /// <summary>Never Default.</summary>
        public Pooling Pooling { get; internal set; }
        /// <summary>Values of a result; for Rank, the file's classes.</summary>
        public uint Dimensions { get; internal set; }
        /// <summary>Before the first of them are kept.</summary>
        public uint FullDimensions { get; internal set; }
    }

    /// <summary>Computes embeddings; keeps its model's data alive.</summary>
    public sealed unsafe partial class Embedder : IDisposable
    {
        private readonly EmbedderHandle _made;

        internal EmbedderHandle Handle { get { return _made.Live(this); } }

        /// <summary>Create an embedder and allocate all its memory.</summary>
        public Embedder(Model model, EmbedOptions options = null)
        {
            NativeEmbedOptions o = EmbedOptions.Fill(options);
            NativeError e;
            Check.Ok(NativeMethods.ggufx_embedder_create(out _made, model.Handle, &o, &e), &e);
            var f = default(NativeEmbedderFacts);
            f.struct_size = (uint)sizeof(NativeEmbedderFacts);
            Check.Ok(NativeMethods.ggufx_embedder_info(&f, Handle, &e), &e);
            Info = new EmbedderInfo { Context = f.n_context, Batch = f.n_batch, Pooling = (Pooling)f.pooling, Dimensions = f.dimensions, FullDimensions = f.full_dimensions };
        }

        /// <summary>Close it. Does not wait: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Facts of it.</summary>
        public EmbedderInfo Info { get; private set; }

        /// <summary>Memory of such an embedder in bytes, without its model.</summary>
        public static ulong Estimate(Runtime rt, GgufFile file, EmbedOptions options = null)
        {
            NativeEmbedOptions o = EmbedOptions.Fill(options);
            ulong bytes;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_embedder_estimate(&bytes, rt.Handle, file.Handle, &o, &e), &e);
            return bytes;
        }

        /// <summary>Fill to with a row for each text, with Pooling.None for each token that is
        /// used. The inputs are concatenated; text i has lengths[i] tokens.</summary>
        public void Embed(Span<float> to, ReadOnlySpan<int> tokens, ReadOnlySpan<UIntPtr> lengths,
            CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            NativeProgress native;
            NativeError e;
            using (var hook = Hook.Watching(token, progress))
                fixed (float* p = &MemoryMarshal.GetReference(to))
                fixed (int* from = &MemoryMarshal.GetReference(tokens))
                fixed (UIntPtr* ends = &MemoryMarshal.GetReference(lengths))
                    Hook.End(hook, NativeMethods.ggufx_embed(p, Native.Size(to.Length), Handle, from, Native.Size(tokens.Length), ends, Native.Size(lengths.Length), Hook.Fill(hook, &native), &e), &e);
        }

        /// <summary>A row of Dimensions values for each text, with Pooling.None for each token.</summary>
        public float[] Embed(IReadOnlyList<int[]> texts, CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            var all = new List<int>();
            var lengths = new UIntPtr[texts.Count];
            int rows = 0;
            for (int i = 0; i < texts.Count; i++)
            {
                all.AddRange(texts[i]);
                lengths[i] = Native.Size(texts[i].Length);
                rows += Info.Pooling == Pooling.None ? (int)Math.Min((uint)texts[i].Length, Info.Context) : 1;
            }
            var to = new float[rows * (int)Info.Dimensions];
            Embed(to, all.ToArray(), lengths, token, progress);
            return to;
        }
    }
}
