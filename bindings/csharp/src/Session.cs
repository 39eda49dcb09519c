// One conversation, and the perplexity of a text.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;
using System.Threading;

namespace Ggufx
{
    /// <summary>How a session is made; 0 is the default.</summary>
    public sealed class SessionOptions
    {
        public uint Context, Batch;
        public KvType TypeK, TypeV;
        public MatmulFlags MatmulFlags;
    }

    /// <summary>What the attention of a layer read and gave; valid during the call only.</summary>
    public unsafe struct AttentionView
    {
        public readonly uint Layer;
        public readonly ulong FirstToken;
        public readonly int Tokens;
        private readonly float* _q, _k, _v, _out;
        private readonly int _heads, _kvHeads;

        internal AttentionView(uint layer, ulong first, int n, float* q, float* k, float* v, float* o, int heads, int kvHeads)
        {
            Layer = layer;
            FirstToken = first;
            Tokens = n;
            _q = q;
            _k = k;
            _v = v;
            _out = o;
            _heads = heads;
            _kvHeads = kvHeads;
        }

        public ReadOnlySpan<float> Q { get { return new ReadOnlySpan<float>(_q, Tokens * _heads); } }
        public ReadOnlySpan<float> K { get { return new ReadOnlySpan<float>(_k, Tokens * _kvHeads); } }
        public ReadOnlySpan<float> V { get { return new ReadOnlySpan<float>(_v, Tokens * _kvHeads); } }
        public ReadOnlySpan<float> Out { get { return new ReadOnlySpan<float>(_out, Tokens * _heads); } }
    }

    /// <summary>Looks at attention; false ends the decode with CANCELLED.</summary>
    public delegate bool AttentionHook(AttentionView view);

    /// <summary>Perplexity of a text.</summary>
    public sealed unsafe class Perplexity
    {
        public readonly double Value, StandardError;
        public readonly ulong Chunks, Tokens, Scored;

        internal Perplexity(NativePerplexityFacts* p)
        {
            Value = p->perplexity;
            StandardError = p->standard_error;
            Chunks = p->n_chunks;
            Tokens = p->n_tokens;
            Scored = p->n_scored;
        }
    }

    /// <summary>One conversation: its cache, position and last logits.</summary>
    public sealed unsafe class Session : IDisposable
    {
        private readonly SessionHandle _handle;
        private readonly int _heads, _kvHeads;

        public Session(Model model, SessionOptions options = null)
        {
            options = options ?? new SessionOptions();
            var info = model.Info;
            _heads = (int)(info.Heads * info.HeadDim);
            _kvHeads = (int)(info.KvHeads * info.HeadDim);
            var o = default(NativeSessionOptions);
            o.struct_size = (uint)sizeof(NativeSessionOptions);
            o.n_context = options.Context;
            o.n_batch = options.Batch;
            o.type_k = (uint)options.TypeK;
            o.type_v = (uint)options.TypeV;
            o.matmul_flags = (uint)options.MatmulFlags;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_session_create(out _handle, model.Handle, &o, &e), &e);
        }

        public void Dispose() { _handle.Dispose(); }

        /// <summary>Append tokens and compute the logits after the last one, all or nothing;
        /// allLogits is empty, or filled with those of every token.</summary>
        public void Decode(ReadOnlySpan<int> tokens, Span<float> allLogits = default(Span<float>), AttentionHook attention = null,
            CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            var o = default(NativeDecodeOptions);
            o.struct_size = (uint)sizeof(NativeDecodeOptions);
            NativeProgress native;
            var shown = default(NativeAttentionHook);
            NativeError e;
            var hook = Hook.Watching(token, progress);
            o.progress = Hook.Fill(hook, &native);
            if (attention != null)
            {
                hook = hook ?? new Hook();
                hook.OnLayer = attention;
                hook.Heads = _heads;
                hook.KvHeads = _kvHeads;
                shown.struct_size = (uint)sizeof(NativeAttentionHook);
                shown.user = hook.User;
                shown.layer = Functions.OnLayer;
                o.attention = &shown;
            }
            try
            {
                fixed (int* from = &MemoryMarshal.GetReference(tokens))
                fixed (float* all = &MemoryMarshal.GetReference(allLogits))
                {
                    if (allLogits.Length != 0)
                    {
                        o.flags = (uint)DecodeFlags.AllLogits;
                        o.logits = all;
                        o.n_logits = Native.Size(allLogits.Length);
                    }
                    Hook.End(hook, NativeMethods.ggufx_session_decode(_handle, from, Native.Size(tokens.Length), &o, &e), &e);
                }
            }
            finally { if (hook != null) hook.Dispose(); }
        }

        /// <summary>The logits after the last token.</summary>
        public void Logits(Span<float> to)
        {
            NativeError e;
            fixed (float* p = &MemoryMarshal.GetReference(to))
                Check.Ok(NativeMethods.ggufx_session_logits(p, Native.Size(to.Length), _handle, &e), &e);
        }

        /// <summary>Tokens in the conversation.</summary>
        public ulong Length { get { return NativeMethods.ggufx_session_length(_handle); } }

        public void Truncate(ulong nTokens)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_session_truncate(_handle, nTokens, &e), &e);
        }

        /// <summary>Score tokens in chunks of nContext, bos (unless -1) first in each; report may
        /// return false to stop.</summary>
        public Perplexity Score(ReadOnlySpan<int> tokens, uint nContext, int bos, Func<Perplexity, bool> report = null)
        {
            var o = default(NativePerplexityFacts);
            o.struct_size = (uint)sizeof(NativePerplexityFacts);
            NativeError e;
            using (var hook = new Hook { OnChunk = report ?? (p => true) })
                fixed (int* from = &MemoryMarshal.GetReference(tokens))
                    Hook.End(hook, NativeMethods.ggufx_perplexity(&o, _handle, from, Native.Size(tokens.Length), nContext, bos, Functions.OnChunk, hook.User, &e), &e);
            return new Perplexity(&o);
        }
    }
}
