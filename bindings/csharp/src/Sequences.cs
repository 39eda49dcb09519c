// Many conversations in one session.
// SPDX-License-Identifier: MIT
using System;
using System.IO;
using System.Runtime.InteropServices;
using System.Threading;

namespace Ggufx
{
    /// <summary>Which logits of an item are computed.</summary>
    public enum Want
    {
        /// <summary>One row: the logits after its last token.</summary>
        Last,
        /// <summary>No row.</summary>
        None,
        /// <summary>A row for each of its tokens.</summary>
        All,
    }

    /// <summary>Tokens to append to a sequence.</summary>
    public struct BatchItem
    {
        /// <summary>Tokens for a sequence, another one in each item of a call.</summary>
        public BatchItem(uint sequence, ReadOnlyMemory<int> tokens, Want want = Want.Last, bool mark = false) : this()
        {
            Sequence = sequence;
            Tokens = tokens;
            Want = want;
            Mark = mark;
        }

        /// <summary>Number of the sequence.</summary>
        public uint Sequence { get; set; }
        /// <summary>Tokens or rows to append.</summary>
        public ReadOnlyMemory<int> Tokens { get; set; }
        /// <summary>Which logits are computed.</summary>
        public Want Want { get; set; }
        /// <summary>Sets a checkpoint: truncation and copies can return to the end of these tokens
        /// without recomputation.</summary>
        public bool Mark { get; set; }
        /// <summary>Embedding rows for the first layer instead of those of the tokens; empty: the
        /// tokens' own. Without tokens, the number of rows counts.</summary>
        public ReadOnlyMemory<float> Rows { get; set; }
        /// <summary>Positions in the sequence, ascending, one per token; empty: without
        /// gaps.</summary>
        public ReadOnlyMemory<int> Positions { get; set; }
        /// <summary>Hidden states to return, those after the last norm.</summary>
        public Hidden Hidden { get; set; }

        internal int Count(int width)
        {
            int n = Tokens.Length == 0 && Rows.Length > 0 ? Rows.Length / width : Tokens.Length;
            if (Positions.Length > 0) Check.Length(Positions.Length, n, "Positions");
            return n;
        }

        internal int LogitRows(int n) { return Want == Want.Last ? 1 : Want == Want.None ? 0 : n; }

        internal uint Flags
        {
            get
            {
                uint logits = Want == Want.Last ? (uint)BatchFlags.Logits : Want == Want.None ? 0 : (uint)BatchFlags.AllLogits;
                uint hidden = Hidden == Hidden.Last ? (uint)BatchFlags.Embed : Hidden == Hidden.None ? 0 : (uint)BatchFlags.AllEmbed;
                return logits | hidden | (Mark ? (uint)BatchFlags.Mark : 0);
            }
        }
    }

    /// <summary>Which hidden states of an item are given.</summary>
    public enum Hidden
    {
        /// <summary>No row.</summary>
        None,
        /// <summary>Hidden state of its last token.</summary>
        Last,
        /// <summary>A row for each of its tokens.</summary>
        All,
    }

    /// <summary>Memory of a session's KV caches.</summary>
    public sealed class SessionMemory
    {
        /// <summary>Bytes for keys, values and states.</summary>
        public ulong CacheBytes { get; internal set; }
        /// <summary>Pages, each of 64 tokens of a layer, used or not; shared ones count once.</summary>
        public ulong Pages { get; internal set; }
        /// <summary>References to pages that other sequences hold, too.</summary>
        public ulong SharedPages { get; internal set; }
        /// <summary>Tokens of all sequences.</summary>
        public ulong Tokens { get; internal set; }
        /// <summary>With ContextTotal: tokens for which memory is left, in whole pages.</summary>
        public ulong TokensLeft { get; internal set; }
        /// <summary>Bytes of rows that were given.</summary>
        public ulong RowBytes { get; internal set; }
    }

    /// Items, followed by their data, in C memory for the duration of a call.
    internal unsafe struct NativeItems : IDisposable
    {
        internal readonly NativeBatchItem* List;

        internal NativeItems(ReadOnlySpan<BatchItem> items, int width)
        {
            long bytes = (long)items.Length * sizeof(NativeBatchItem);
            foreach (var item in items)
            {
                if (item.Want < Want.Last || item.Want > Want.All) throw Check.Argument("ARGUMENT: no such Want: " + item.Want);
                if (item.Hidden < Hidden.None || item.Hidden > Hidden.All) throw Check.Argument("ARGUMENT: no such Hidden: " + item.Hidden);
                item.Count(width);
                bytes += ((long)item.Tokens.Length + item.Positions.Length + item.Rows.Length) * sizeof(int);
            }
            List = (NativeBatchItem*)Marshal.AllocHGlobal((IntPtr)(bytes + 1));
            byte* at = (byte*)(List + items.Length);
            for (int i = 0; i < items.Length; i++)
            {
                List[i] = default(NativeBatchItem);
                List[i].sequence = items[i].Sequence;
                List[i].flags = items[i].Flags;
                List[i].n_tokens = Native.Size(items[i].Count(width));
                List[i].n_embeddings = Native.Size(items[i].Rows.Length);
                List[i].tokens = (int*)Place(ref at, items[i].Tokens);
                List[i].embeddings = (float*)Place(ref at, items[i].Rows);
                List[i].positions = (int*)Place(ref at, items[i].Positions);
            }
        }

        /// Numbers of four bytes; null where there are none.
        private static void* Place<T>(ref byte* at, ReadOnlyMemory<T> from) where T : struct
        {
            if (from.Length == 0) return null;
            byte* to = at;
            from.Span.CopyTo(new Span<T>(to, from.Length));
            at += from.Length * sizeof(int);
            return to;
        }

        public void Dispose() { Marshal.FreeHGlobal((IntPtr)List); }
    }

    /// Operations on sequences 0 .. Sequences - 1; calls without a sequence number use sequence 0.
    public sealed unsafe partial class Session
    {
        /// <summary>Append tokens to many sequences, all or nothing, and fill logits with the rows
        /// that the items want, in their order. matmul overrides the session's flags. A failure's
        /// Index is the item.</summary>
        public void DecodeBatch(ReadOnlySpan<BatchItem> items, Span<float> logits, MatmulFlags? matmul = null,
            CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            DecodeBatch(items, logits, Span<float>.Empty, matmul, token, progress);
        }

        /// <summary>The same, which fills hidden with the hidden states that the items want.</summary>
        public void DecodeBatch(ReadOnlySpan<BatchItem> items, Span<float> logits, Span<float> hidden,
            MatmulFlags? matmul = null, CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            var o = default(NativeBatchOptions);
            o.struct_size = (uint)sizeof(NativeBatchOptions);
            o.item_size = (uint)sizeof(NativeBatchItem);
            if (matmul.HasValue)
            {
                o.flags = (uint)BatchOptionsFlags.Matmul;
                o.matmul_flags = (uint)matmul.Value;
            }
            NativeProgress native;
            NativeError e;
            using (var of = new NativeItems(items, _width))
            using (var hook = Hook.Watching(token, progress))
                fixed (float* to = &MemoryMarshal.GetReference(logits))
                fixed (float* states = &MemoryMarshal.GetReference(hidden))
                {
                    o.progress = Hook.Fill(hook, &native);
                    o.logits = to;
                    o.n_logits = Native.Size(logits.Length);
                    o.embeddings = states;
                    o.n_embeddings = Native.Size(hidden.Length);
                    Hook.End(hook, NativeMethods.ggufx_session_decode_batch(Handle, of.List, Native.Size(items.Length), &o, &e), &e);
                }
        }

        /// <summary>Append tokens to many sequences: the rows of logits that the items want, in their order.</summary>
        public float[] DecodeBatch(ReadOnlySpan<BatchItem> items, MatmulFlags? matmul = null,
            CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            long rows = 0;
            foreach (var item in items) rows += item.LogitRows(item.Count(_width));
            var logits = new float[rows * _vocab];
            DecodeBatch(items, logits, matmul, token, progress);
            return logits;
        }

        /// <summary>Tokens of a sequence; 0 of one that there is not.</summary>
        public ulong SequenceLength(uint sequence)
        {
            return NativeMethods.ggufx_session_sequence_length(Handle, sequence);
        }

        /// <summary>Keep the first nTokens of a sequence.</summary>
        public void TruncateSequence(uint sequence, ulong nTokens)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_session_sequence_truncate(Handle, sequence, nTokens, &e), &e);
        }

        /// <summary>Copy into an empty sequence the first nTokens of another one; they share
        /// memory.</summary>
        public void CopySequence(uint from, uint to, ulong nTokens)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_session_sequence_copy(Handle, from, to, nTokens, &e), &e);
        }

        /// <summary>Take tokens first .. first + nTokens - 1 out; later tokens keep their positions
        /// and cache entries.</summary>
        public void RemoveTokens(uint sequence, ulong first, ulong nTokens)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_session_sequence_remove(Handle, sequence, first, nTokens, &e), &e);
        }

        /// <summary>Add delta to positions of tokens first .. first + nTokens - 1.</summary>
        public void ShiftTokens(uint sequence, ulong first, ulong nTokens, int delta)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_session_sequence_shift(Handle, sequence, first, nTokens, delta, &e), &e);
        }

        /// <summary>Ids of the tokens of a sequence, and their positions.</summary>
        public int[] Tokens(uint sequence, out int[] positions)
        {
            ulong n = SequenceLength(sequence);
            var ids = new int[n + 1]; // never empty
            var places = new int[n + 1];
            NativeError e;
            fixed (int* to = ids)
            fixed (int* at = places)
                Check.Ok(NativeMethods.ggufx_session_sequence_tokens(to, at, Handle, sequence, 0, n, &e), &e);
            Array.Resize(ref ids, (int)n);
            Array.Resize(ref places, (int)n);
            positions = places;
            return ids;
        }

        /// <summary>Memory of its KV caches.</summary>
        public SessionMemory Memory
        {
            get
            {
                var o = default(NativeSessionMemoryFacts);
                o.struct_size = (uint)sizeof(NativeSessionMemoryFacts);
                NativeError e;
                Check.Ok(NativeMethods.ggufx_session_memory(&o, Handle, &e), &e);
                return new SessionMemory { CacheBytes = o.cache_bytes, Pages = o.n_pages, SharedPages = o.n_shared_pages, Tokens = o.n_tokens, TokensLeft = o.n_tokens_left, RowBytes = o.embedded_bytes };
            }
        }

        /// <summary>Write a snapshot of a sequence, or of Constants.SessionAll.</summary>
        public void Save(uint sequence, Stream to)
        {
            NativeError e;
            using (var hook = new Hook { OnWrite = (part, data, n) => KvCache.CopyTo(to, data, n) })
                Hook.End(hook, NativeMethods.ggufx_session_save(Handle, sequence, Functions.Write, hook.User, &e), &e);
        }

        /// <summary>Replace a sequence, or all, by a snapshot; whole or not at all.</summary>
        public void Load(uint sequence, Stream from)
        {
            NativeError e;
            using (var hook = new Hook { OnRead = (offset, data, n) => GgufFile.ReadAll(from, data, n) })
                Hook.End(hook, NativeMethods.ggufx_session_load(Handle, sequence, Functions.Read, hook.User, &e), &e);
        }

        /// <summary>Write a snapshot to a file, which is replaced whole or not at all.</summary>
        public void Save(uint sequence, string path)
        {
            NativeError e;
            fixed (byte* text = Native.Utf8(path))
                Check.Ok(NativeMethods.ggufx_session_save_path(Handle, sequence, text, &e), &e);
        }

        /// <summary>Replace a sequence by a snapshot in a file.</summary>
        public void Load(uint sequence, string path)
        {
            NativeError e;
            fixed (byte* text = Native.Utf8(path))
                Check.Ok(NativeMethods.ggufx_session_load_path(Handle, sequence, text, &e), &e);
        }
    }
}
