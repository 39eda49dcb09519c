// Attention over a cache, its contents and its snapshots.
// SPDX-License-Identifier: MIT
using System;
using System.IO;
using System.Runtime.InteropServices;
using System.Threading;

namespace Ggufx
{
    /// <summary>Options of attention; all unset is causal.</summary>
    public sealed class AttendOptions
    {
        /// <summary>Flags; none is the default.</summary>
        public AttendFlags Flags { get; set; }
        /// <summary>Factor of the scores; 0: 1 / sqrt(HeadDimK).</summary>
        public float Scale { get; set; }
        /// <summary>Scores are softcap * tanh(score / softcap); 0: as they are.</summary>
        public float Softcap { get; set; }
        /// <summary>Positions that a query sees; 0: as the layer. It sees what both show.</summary>
        public uint Window { get; set; }
        /// <summary>Attention pattern within the window.</summary>
        public WindowKind WindowKind { get; set; }
        /// <summary>Slopes of ALiBi, one per query head, or null.</summary>
        public float[] AlibiSlopes { get; set; }
        /// <summary>Logits of the sinks, one per query head, or null.</summary>
        public float[] SinkLogits { get; set; }
        /// <summary>Ends the call when it is cancelled.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>Receives the progress of the call.</summary>
        public IProgress<Progress> Progress { get; set; }
    }

    public sealed unsafe partial class KvCache
    {
        private static readonly AttendOptions Causal = new AttendOptions();

        /// <summary>Attention of nQueries queries over a layer of a sequence; lse may be empty,
        /// positions empty: those of the last tokens. Allocates nothing unless it is followed.</summary>
        public void Attend(Span<float> to, Span<float> lse, uint layer, uint sequence, ReadOnlySpan<float> q, int nQueries,
            ReadOnlySpan<int> positions = default(ReadOnlySpan<int>), AttendOptions options = null)
        {
            Attend(to, lse, layer, sequence, default(ReadOnlySpan<uint>), q, nQueries, positions, options ?? Causal);
        }

        /// <summary>One query of each of sequences.</summary>
        public void AttendBatch(Span<float> to, Span<float> lse, uint layer, ReadOnlySpan<uint> sequences, ReadOnlySpan<float> q,
            ReadOnlySpan<int> positions = default(ReadOnlySpan<int>), AttendOptions options = null)
        {
            if (sequences.Length == 0) throw Check.Argument("ARGUMENT: no sequences");
            Attend(to, lse, layer, 0, sequences, q, sequences.Length, positions, options ?? Causal);
        }

        private void Attend(Span<float> to, Span<float> lse, uint layer, uint sequence, ReadOnlySpan<uint> sequences,
            ReadOnlySpan<float> q, int n, ReadOnlySpan<int> positions, AttendOptions options)
        {
            Positions(positions, n);
            if (lse.Length != 0) Check.Length(lse.Length, (long)n * _qHeads, "values of lse");
            var o = default(NativeAttendOptions);
            o.struct_size = (uint)sizeof(NativeAttendOptions);
            o.flags = (uint)options.Flags;
            o.scale = options.Scale;
            o.softcap = options.Softcap;
            o.window = options.Window;
            o.window_kind = (uint)options.WindowKind;
            NativeProgress native;
            NativeError e;
            var hook = Hook.Watching(options.Token, options.Progress);
            o.progress = Hook.Fill(hook, &native);
            try
            {
                fixed (float* slopes = options.AlibiSlopes)
                fixed (float* sinks = options.SinkLogits)
                fixed (float* p = &MemoryMarshal.GetReference(to))
                fixed (float* l = &MemoryMarshal.GetReference(lse))
                fixed (uint* s = &MemoryMarshal.GetReference(sequences))
                fixed (float* from = &MemoryMarshal.GetReference(q))
                fixed (int* positioned = &MemoryMarshal.GetReference(positions))
                {
                    o.alibi_slopes = slopes;
                    o.n_alibi_slopes = Native.Size(options.AlibiSlopes == null ? 0 : options.AlibiSlopes.Length);
                    o.sink_logits = sinks;
                    o.n_sink_logits = Native.Size(options.SinkLogits == null ? 0 : options.SinkLogits.Length);
                    float* sums = lse.Length == 0 ? null : l;
                    int* at = positions.Length == 0 ? null : positioned;
                    int status = sequences.Length != 0
                        ? NativeMethods.ggufx_kv_attend_batch(p, Native.Size(to.Length), sums, Handle, layer, s, from, Native.Size(q.Length), Native.Size(n), at, &o, &e)
                        : NativeMethods.ggufx_kv_attend(p, Native.Size(to.Length), sums, Handle, layer, sequence, from, Native.Size(q.Length), Native.Size(n), at, &o, &e);
                    Hook.End(hook, status, &e);
                }
            }
            finally { if (hook != null) hook.Dispose(); }
        }

        /// <summary>Decode tokens first .. first + n - 1 of a layer; an empty span is not filled.</summary>
        public void Read(Span<float> k, Span<float> v, uint layer, uint sequence, ulong first, ulong n)
        {
            NativeError e;
            fixed (float* pk = &MemoryMarshal.GetReference(k))
            fixed (float* pv = &MemoryMarshal.GetReference(v))
                Check.Ok(NativeMethods.ggufx_kv_read(k.Length == 0 ? null : pk, Native.Size(k.Length), v.Length == 0 ? null : pv, Native.Size(v.Length), Handle, layer, sequence, first, n, &e), &e);
        }

        /// <summary>Scores of queries against every token of a layer.</summary>
        public void Scores(Span<float> to, uint layer, uint sequence, ReadOnlySpan<float> q, int nQueries, float scale = 0)
        {
            NativeError e;
            fixed (float* p = &MemoryMarshal.GetReference(to))
            fixed (float* from = &MemoryMarshal.GetReference(q))
                Check.Ok(NativeMethods.ggufx_kv_scores(p, Native.Size(to.Length), Handle, layer, sequence, from, Native.Size(q.Length), Native.Size(nQueries), scale, &e), &e);
        }

        /// <summary>Write a snapshot of a sequence, or of Constants.KvAllSequences.</summary>
        public void Save(uint sequence, Stream to)
        {
            NativeError e;
            using (var hook = new Hook { OnWrite = (part, data, n) => CopyTo(to, data, n) })
                Hook.End(hook, NativeMethods.ggufx_kv_save(Handle, sequence, Functions.Write, hook.User, &e), &e);
        }

        internal static void CopyTo(Stream to, byte* data, int n)
        {
            var buffer = new byte[n];
            Marshal.Copy((IntPtr)data, buffer, 0, n);
            to.Write(buffer, 0, n);
        }

        /// <summary>Replace a sequence, or all, by a snapshot; whole or not at all.</summary>
        public void Load(uint sequence, Stream from)
        {
            NativeError e;
            using (var hook = new Hook { OnRead = (offset, data, n) => GgufFile.ReadAll(from, data, n) })
                Hook.End(hook, NativeMethods.ggufx_kv_load(Handle, sequence, Functions.Read, hook.User, &e), &e);
        }

        /// <summary>Write a snapshot to a file, which is replaced whole or not at all.</summary>
        public void Save(uint sequence, string path)
        {
            NativeError e;
            fixed (byte* text = Native.Utf8(path))
                Check.Ok(NativeMethods.ggufx_kv_save_path(Handle, sequence, text, &e), &e);
        }

        /// <summary>Replace a sequence, or all, by a snapshot in a file.</summary>
        public void Load(uint sequence, string path)
        {
            NativeError e;
            fixed (byte* text = Native.Utf8(path))
                Check.Ok(NativeMethods.ggufx_kv_load_path(Handle, sequence, text, &e), &e);
        }
    }
}
