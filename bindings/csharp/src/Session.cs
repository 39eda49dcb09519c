// Sessions, and the perplexity of a text.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;
using System.Threading;

namespace Ggufx
{
    /// <summary>Options of a session; 0 is the default.</summary>
    public sealed class SessionOptions
    {
        /// <summary>Tokens of the conversation; 0: the trained context, 8192 where that is more.</summary>
        public uint Context { get; set; }
        /// <summary>Tokens computed at once; 0: 512.</summary>
        public uint Batch { get; set; }
        /// <summary>Type of the cache's keys.</summary>
        public KvType TypeK { get; set; }
        /// <summary>Type of the cache's values.</summary>
        public KvType TypeV { get; set; }
        /// <summary>Flags of the products.</summary>
        public MatmulFlags MatmulFlags { get; set; }
        /// <summary>States of recurrent layers kept for Truncate; 0: 8, or Constants.SessionNoCheckpoints.</summary>
        public uint Checkpoints { get; set; }
        /// <summary>Conversations, each of Context tokens; 0: 1.</summary>
        public uint Sequences { get; set; }
        /// <summary>Total tokens of the sequences' shared memory; 0: each has its own.</summary>
        public ulong ContextTotal { get; set; }
    }

    /// <summary>Options of a session with defaults filled in.</summary>
    public sealed class SessionInfo
    {
        /// <summary>Tokens that it holds at most.</summary>
        public uint Context { get; internal set; }
        /// <summary>Tokens computed at once.</summary>
        public uint Batch { get; internal set; }
        /// <summary>Type of the cache's keys.</summary>
        public KvType TypeK { get; internal set; }
        /// <summary>Type of the cache's values.</summary>
        public KvType TypeV { get; internal set; }
        /// <summary>Conversations that it holds.</summary>
        public uint Sequences { get; internal set; }
        /// <summary>Total tokens of the sequences' shared memory; 0: each has its own.</summary>
        public ulong ContextTotal { get; internal set; }
    }

    /// <summary>Inputs and outputs of a layer's attention; valid during the call only.</summary>
    public readonly unsafe ref struct AttentionView
    {
        private readonly float* _q, _k, _v, _out;
        private readonly int[] _widths;

        internal AttentionView(uint layer, ulong first, int n, float* q, float* k, float* v, float* o, int[] widths)
        {
            Layer = layer;
            FirstToken = first;
            Tokens = n;
            _q = q;
            _k = k;
            _v = v;
            _out = o;
            _widths = widths;
        }

        /// <summary>Number of the layer.</summary>
        public uint Layer { get; }
        /// <summary>Number of the first token in the conversation.</summary>
        public ulong FirstToken { get; }
        /// <summary>Number of tokens.</summary>
        public int Tokens { get; }
        /// <summary>Queries, [Tokens][Heads][HeadDimK] of the layer.</summary>
        public ReadOnlySpan<float> Q { get { return new ReadOnlySpan<float>(_q, Tokens * _widths[0]); } }
        /// <summary>Keys, [Tokens][KvHeads][HeadDimK].</summary>
        public ReadOnlySpan<float> K { get { return new ReadOnlySpan<float>(_k, Tokens * _widths[1]); } }
        /// <summary>Values, [Tokens][KvHeads][HeadDimV]; empty where they are part of the keys.</summary>
        public ReadOnlySpan<float> V { get { return new ReadOnlySpan<float>(_v, Tokens * _widths[2]); } }
        /// <summary>Output of attention, [Tokens][Heads][HeadDimV].</summary>
        public ReadOnlySpan<float> Out { get { return new ReadOnlySpan<float>(_out, Tokens * _widths[3]); } }
    }

    /// <summary>Looks at attention; false ends the decode with CANCELLED.</summary>
    public delegate bool AttentionHook(AttentionView view);

    /// <summary>Perplexity of a text.</summary>
    public sealed unsafe class Perplexity
    {
        /// <summary>The perplexity.</summary>
        public double Value { get; private set; }
        /// <summary>Its standard error.</summary>
        public double StandardError { get; private set; }
        /// <summary>Chunks so far.</summary>
        public ulong Chunks { get; private set; }
        /// <summary>Tokens read.</summary>
        public ulong Tokens { get; private set; }
        /// <summary>Tokens scored.</summary>
        public ulong Scored { get; private set; }

        internal Perplexity(NativePerplexityFacts* p)
        {
            Value = p->perplexity;
            StandardError = p->standard_error;
            Chunks = p->n_chunks;
            Tokens = p->n_tokens;
            Scored = p->n_scored;
        }
    }

    /// <summary>Session: KV cache, position and last logits of one sequence, or of
    /// several.</summary>
    public sealed unsafe partial class Session : IDisposable
    {
        private readonly SessionHandle _made;

        internal SessionHandle Handle { get { return _made.Live(this); } }
        private readonly int[][] _widths; // of the layers
        private readonly int _vocab, _width;

        /// <summary>Create a session and allocate all its memory.</summary>
        public Session(Model model, SessionOptions options = null)
        {
            options = options ?? new SessionOptions();
            var info = model.Info;
            _vocab = (int)info.Vocab;
            _width = (int)info.Embedding;
            _widths = new int[info.Layers][];
            for (uint i = 0; i < info.Layers; i++) _widths[i] = model.Layer(i).Widths();
            var o = default(NativeSessionOptions);
            o.struct_size = (uint)sizeof(NativeSessionOptions);
            o.n_context = options.Context;
            o.n_batch = options.Batch;
            o.type_k = (uint)options.TypeK;
            o.type_v = (uint)options.TypeV;
            o.matmul_flags = (uint)options.MatmulFlags;
            o.n_checkpoints = options.Checkpoints;
            o.n_sequences = options.Sequences;
            o.n_context_total = options.ContextTotal;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_session_create(out _made, model.Handle, &o, &e), &e);
        }

        /// <summary>Close it. Does not wait: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Options with defaults filled in.</summary>
        public SessionInfo Info
        {
            get
            {
                var o = default(NativeSessionFacts);
                o.struct_size = (uint)sizeof(NativeSessionFacts);
                NativeError e;
                Check.Ok(NativeMethods.ggufx_session_info(&o, Handle, &e), &e);
                return new SessionInfo { Context = o.n_context, Batch = o.n_batch, TypeK = (KvType)o.type_k, TypeV = (KvType)o.type_v, Sequences = o.n_sequences, ContextTotal = o.n_context_total };
            }
        }

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
                hook.Widths = _widths;
                shown.struct_size = (uint)sizeof(NativeAttentionHook);
                shown.user = hook.User;
                shown.layer = Functions.Layer;
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
                    Hook.End(hook, NativeMethods.ggufx_session_decode(Handle, from, Native.Size(tokens.Length), &o, &e), &e);
                }
            }
            finally { if (hook != null) hook.Dispose(); }
        }

        /// <summary>The logits after the last token.</summary>
        public void Logits(Span<float> to)
        {
            NativeError e;
            fixed (float* p = &MemoryMarshal.GetReference(to))
                Check.Ok(NativeMethods.ggufx_session_logits(p, Native.Size(to.Length), Handle, &e), &e);
        }

        /// <summary>Tokens in the conversation.</summary>
        public ulong Length { get { return NativeMethods.ggufx_session_length(Handle); } }

        /// <summary>Keep the first nTokens; the logits are gone until the next decode.</summary>
        public void Truncate(ulong nTokens)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_session_truncate(Handle, nTokens, &e), &e);
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
                    Hook.End(hook, NativeMethods.ggufx_perplexity(&o, Handle, from, Native.Size(tokens.Length), nContext, bos, Functions.Chunk, hook.User, &e), &e);
            return new Perplexity(&o);
        }
    }
}
