// The KV cache.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;
using System.Threading;

namespace Ggufx
{
    /// <summary>Settings that differ per layer.</summary>
    public struct KvLayer
    {
        /// <summary>Type of the keys; DEFAULT: the cache's type.</summary>
        public KvType TypeK { get; set; }
        /// <summary>Type of the values; DEFAULT: the cache's type.</summary>
        public KvType TypeV { get; set; }
        /// <summary>Attention window in positions; 0: all up to its own.</summary>
        public uint Window { get; set; }
        /// <summary>Attention pattern within the window.</summary>
        public WindowKind WindowKind { get; set; }
    }

    /// <summary>Shape and types of a cache; 0 is the default.</summary>
    public sealed class KvOptions
    {
        /// <summary>Flags; none is the default.</summary>
        public KvFlags Flags { get; set; }
        /// <summary>Number of layers.</summary>
        public uint Layers { get; set; }
        /// <summary>Key and value heads of a layer.</summary>
        public uint KvHeads { get; set; }
        /// <summary>Query heads of a layer.</summary>
        public uint QHeads { get; set; }
        /// <summary>Values of a key head.</summary>
        public uint HeadDimK { get; set; }
        /// <summary>Values of a value head; 0: as HeadDimK.</summary>
        public uint HeadDimV { get; set; }
        /// <summary>Number of sequences; 0: 1.</summary>
        public uint Sequences { get; set; }
        /// <summary>Type of the keys.</summary>
        public KvType TypeK { get; set; }
        /// <summary>Type of the values.</summary>
        public KvType TypeV { get; set; }
        /// <summary>Tokens of a sequence at most; 0: as memory allows.</summary>
        public ulong MaxTokens { get; set; }
        /// <summary>A number of the program's; snapshots of another one are refused.</summary>
        public ulong Model { get; set; }
        /// <summary>First tokens kept as F16 (BF16: as F32); 0: 64; Constants.KvNoSinks: none.</summary>
        public uint Sinks { get; set; }
        /// <summary>How keys carry their positions.</summary>
        public RopeStyle RopeStyle { get; set; }
        /// <summary>Dimensions of a head that are turned; 0: all.</summary>
        public uint RopeDims { get; set; }
        /// <summary>Base of the frequencies; 0: 10000.</summary>
        public float RopeBase { get; set; }
        /// <summary>Factor of positions; 0: 1.</summary>
        public float RopeScale { get; set; }
        /// <summary>RoPE frequencies in radians per position, instead of base and scale; null:
        /// those.</summary>
        public double[] RopeFrequencies { get; set; }
        /// <summary>null, or one per layer.</summary>
        public KvLayer[] LayerOptions { get; set; }
    }

    /// <summary>Facts of a layer or cache.</summary>
    public sealed class KvStats
    {
        /// <summary>Type of the keys.</summary>
        public KvType TypeK { get; internal set; }
        /// <summary>Type of the values.</summary>
        public KvType TypeV { get; internal set; }
        /// <summary>Tokens held.</summary>
        public ulong Tokens { get; internal set; }
        /// <summary>Pages in use.</summary>
        public ulong Pages { get; internal set; }
        /// <summary>Pages of first and last tokens, which are not encoded.</summary>
        public ulong PlainPages { get; internal set; }
        /// <summary>Pages that several sequences share.</summary>
        public ulong SharedPages { get; internal set; }
        /// <summary>Bytes of all pages.</summary>
        public ulong PageBytes { get; internal set; }
        /// <summary>Bytes of a token.</summary>
        public ulong BytesPerToken { get; internal set; }
        /// <summary>Bits of a value, on average.</summary>
        public double BitsPerValue { get; internal set; }
        /// <summary>Mean squared error of the keys over their mean square.</summary>
        public double KError { get; internal set; }
        /// <summary>Mean squared error of the values over their mean square.</summary>
        public double VError { get; internal set; }
    }

    /// <summary>Keys and values of layers and sequences, and attention over them.</summary>
    public sealed unsafe partial class KvCache : IDisposable
    {
        private readonly KvHandle _made;

        internal KvHandle Handle { get { return _made.Live(this); } }
        private readonly int _qHeads;

        /// <summary>Create an empty cache.</summary>
        public KvCache(Runtime rt, KvOptions options)
        {
            NativeError e;
            var native = NativeOf(options);
            fixed (NativeKvLayer* layers = LayersOf(options))
            fixed (double* frequencies = options.RopeFrequencies)
            {
                native.layers = layers;
                native.rope_frequencies = frequencies;
                Check.Ok(NativeMethods.ggufx_kv_create(out _made, rt.Handle, &native, &e), &e);
            }
            _qHeads = (int)options.QHeads;
        }

        /// <summary>Bytes of such a cache once nTokens are reserved in every sequence.</summary>
        public static ulong Estimate(Runtime rt, KvOptions options, ulong nTokens)
        {
            ulong o;
            NativeError e;
            var native = NativeOf(options);
            fixed (NativeKvLayer* layers = LayersOf(options))
            fixed (double* frequencies = options.RopeFrequencies)
            {
                native.layers = layers;
                native.rope_frequencies = frequencies;
                Check.Ok(NativeMethods.ggufx_kv_estimate(&o, rt.Handle, &native, nTokens, &e), &e);
            }
            return o;
        }

        private static NativeKvLayer[] LayersOf(KvOptions options)
        {
            if (options.LayerOptions == null) return null;
            return Array.ConvertAll(options.LayerOptions, l => new NativeKvLayer
            {
                type_k = (uint)l.TypeK, type_v = (uint)l.TypeV, window = l.Window,
                window_kind = (uint)l.WindowKind,
            });
        }

        private static NativeKvOptions NativeOf(KvOptions o)
        {
            return new NativeKvOptions
            {
                struct_size = (uint)sizeof(NativeKvOptions), flags = (uint)o.Flags, n_layers = o.Layers,
                n_kv_heads = o.KvHeads, n_q_heads = o.QHeads, head_dim_k = o.HeadDimK,
                head_dim_v = o.HeadDimV, type_k = (uint)o.TypeK, type_v = (uint)o.TypeV,
                n_sequences = o.Sequences, max_tokens = o.MaxTokens, n_sinks = o.Sinks,
                rope_style = (uint)o.RopeStyle, rope_dims = o.RopeDims, rope_base = o.RopeBase,
                rope_scale = o.RopeScale, model = o.Model,
                n_rope_frequencies = Native.Size(o.RopeFrequencies == null ? 0 : o.RopeFrequencies.Length),
                n_layer_options = o.LayerOptions == null ? 0 : (uint)o.LayerOptions.Length,
            };
        }

        /// <summary>Close it. Does not wait: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Reserve all pages for nTokens of a sequence.</summary>
        public void Reserve(uint sequence, ulong nTokens)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_kv_reserve(Handle, sequence, nTokens, &e), &e);
        }

        private static void Positions(ReadOnlySpan<int> positions, int n)
        {
            if (positions.Length != 0 || n < 0) Check.Length(positions.Length, n, "positions");
        }

        /// <summary>Append nTokens tokens to a layer of a sequence, all or nothing; positions empty:
        /// the next ones. v is empty when values are part of the keys.</summary>
        public void Append(uint layer, uint sequence, int nTokens, ReadOnlySpan<float> k, ReadOnlySpan<float> v, ReadOnlySpan<int> positions = default(ReadOnlySpan<int>))
        {
            Positions(positions, nTokens);
            NativeError e;
            fixed (int* at = &MemoryMarshal.GetReference(positions))
            fixed (float* pk = &MemoryMarshal.GetReference(k))
            fixed (float* pv = &MemoryMarshal.GetReference(v))
                Check.Ok(NativeMethods.ggufx_kv_append(Handle, layer, sequence, Native.Size(nTokens), positions.Length == 0 ? null : at, pk, Native.Size(k.Length), v.Length == 0 ? null : pv, Native.Size(v.Length), &e), &e);
        }

        /// <summary>Append from values of 16 bits.</summary>
        public void AppendHalf(uint layer, uint sequence, int nTokens, HalfFormat format, ReadOnlySpan<ushort> k, ReadOnlySpan<ushort> v, ReadOnlySpan<int> positions = default(ReadOnlySpan<int>))
        {
            Positions(positions, nTokens);
            NativeError e;
            fixed (int* at = &MemoryMarshal.GetReference(positions))
            fixed (ushort* pk = &MemoryMarshal.GetReference(k))
            fixed (ushort* pv = &MemoryMarshal.GetReference(v))
                Check.Ok(NativeMethods.ggufx_kv_append_half(Handle, layer, sequence, Native.Size(nTokens), positions.Length == 0 ? null : at, (uint)format, pk, Native.Size(k.Length), v.Length == 0 ? null : pv, Native.Size(v.Length), &e), &e);
        }

        /// <summary>Append a token to each of sequences at its position, all or nothing.</summary>
        public void AppendBatch(uint layer, ReadOnlySpan<uint> sequences, ReadOnlySpan<int> positions, ReadOnlySpan<float> k, ReadOnlySpan<float> v)
        {
            Check.Length(positions.Length, sequences.Length, "positions");
            NativeError e;
            fixed (uint* to = &MemoryMarshal.GetReference(sequences))
            fixed (int* at = &MemoryMarshal.GetReference(positions))
            fixed (float* pk = &MemoryMarshal.GetReference(k))
            fixed (float* pv = &MemoryMarshal.GetReference(v))
                Check.Ok(NativeMethods.ggufx_kv_append_batch(Handle, layer, Native.Size(sequences.Length), to, at, pk, Native.Size(k.Length), v.Length == 0 ? null : pv, Native.Size(v.Length), &e), &e);
        }

        /// <summary>Tokens of a sequence.</summary>
        public ulong Length(uint sequence)
        {
            ulong o;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_kv_length(&o, Handle, sequence, &e), &e);
            return o;
        }

        /// <summary>Positions of tokens first .. of a sequence.</summary>
        public void Positions(uint sequence, ulong first, Span<int> to)
        {
            NativeError e;
            fixed (int* p = &MemoryMarshal.GetReference(to))
                Check.Ok(NativeMethods.ggufx_kv_positions(p, Handle, sequence, first, (ulong)to.Length, &e), &e);
        }

        /// <summary>Keep the first nTokens of a sequence.</summary>
        public void Truncate(uint sequence, ulong nTokens)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_kv_truncate(Handle, sequence, nTokens, &e), &e);
        }

        /// <summary>Begin a transaction: Rollback undoes all appends until Commit.</summary>
        public void Begin(uint sequence)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_kv_begin(Handle, sequence, &e), &e);
        }

        /// <summary>Commits the appended tokens; ends the call.</summary>
        public void Commit(uint sequence)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_kv_commit(Handle, sequence, &e), &e);
        }

        /// <summary>Roll back to Begin, or truncate all layers to the shortest one.</summary>
        public void Rollback(uint sequence)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_kv_rollback(Handle, sequence, &e), &e);
        }

        /// <summary>Remove the tokens at positions p0 .. p1 - 1.</summary>
        public void Remove(uint sequence, int p0, int p1)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_kv_remove(Handle, sequence, p0, p1, &e), &e);
        }

        /// <summary>Copy tokens of another sequence into an empty one.</summary>
        public void Copy(uint from, uint to, int p0, int p1)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_kv_copy(Handle, from, to, p0, p1, &e), &e);
        }

        /// <summary>Add delta to the positions p0 .. p1 - 1.</summary>
        public void Shift(uint sequence, int p0, int p1, int delta)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_kv_shift(Handle, sequence, p0, p1, delta, &e), &e);
        }

        /// <summary>Drop all sequences but one.</summary>
        public void Keep(uint sequence)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_kv_keep(Handle, sequence, &e), &e);
        }

        /// <summary>Drop all tokens.</summary>
        public void Clear()
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_kv_clear(Handle, &e), &e);
        }

        /// <summary>Set the means and equalisers of a layer; empty: 0 and 1.</summary>
        public void Calibrate(uint layer, ReadOnlySpan<float> muK, ReadOnlySpan<float> eqK, ReadOnlySpan<float> muV)
        {
            int n = muK.Length != 0 ? muK.Length : eqK.Length;
            if (eqK.Length != 0) Check.Length(eqK.Length, n, "equalisers");
            NativeError e;
            fixed (float* mu = &MemoryMarshal.GetReference(muK))
            fixed (float* eq = &MemoryMarshal.GetReference(eqK))
            fixed (float* v = &MemoryMarshal.GetReference(muV))
                Check.Ok(NativeMethods.ggufx_kv_calibrate(Handle, layer, muK.Length == 0 ? null : mu, eqK.Length == 0 ? null : eq, Native.Size(n), muV.Length == 0 ? null : v, Native.Size(muV.Length), &e), &e);
        }

        /// <summary>Requantize the keys and values of a layer, or of Constants.KvAllLayers; null:
        /// unchanged.</summary>
        public void Requantize(uint layer, KvType? typeK, KvType? typeV, CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            NativeProgress native;
            NativeError e;
            using (var hook = Hook.Watching(token, progress))
                Hook.End(hook, NativeMethods.ggufx_kv_requantize(Handle, layer, typeK.HasValue ? (uint)typeK.Value : Constants.KvKeepType, typeV.HasValue ? (uint)typeV.Value : Constants.KvKeepType, Hook.Fill(hook, &native), &e), &e);
        }

        /// <summary>Make few pages of the parts of pages in a sequence.</summary>
        public void Compact(uint sequence, CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            NativeProgress native;
            NativeError e;
            using (var hook = Hook.Watching(token, progress))
                Hook.End(hook, NativeMethods.ggufx_kv_compact(Handle, sequence, Hook.Fill(hook, &native), &e), &e);
        }

        /// <summary>Describe a layer, or the cache (Constants.KvAllLayers).</summary>
        public KvStats Stats(uint layer)
        {
            var o = default(NativeKvFacts);
            o.struct_size = (uint)sizeof(NativeKvFacts);
            NativeError e;
            Check.Ok(NativeMethods.ggufx_kv_stats(&o, Handle, layer, &e), &e);
            return new KvStats
            {
                TypeK = (KvType)o.type_k, TypeV = (KvType)o.type_v, Tokens = o.n_tokens,
                Pages = o.n_pages, PlainPages = o.n_plain_pages, SharedPages = o.n_shared_pages,
                PageBytes = o.page_bytes, BytesPerToken = o.bytes_per_token,
                BitsPerValue = o.bits_per_value, KError = o.k_error, VError = o.v_error,
            };
        }
    }
}
