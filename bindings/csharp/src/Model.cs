// Tokenizer, model, session, sampler, perplexity.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

namespace Ggufx
{
    /// <summary>Facts of a tokenizer; ids are -1 when there is none.</summary>
    public sealed class TokenizerInfo
    {
        /// <summary>Kind of the vocabulary.</summary>
        public string Kind { get; internal set; }
        /// <summary>Number of tokens.</summary>
        public uint Tokens { get; internal set; }
        /// <summary>Beginning-of-sequence token (BOS).</summary>
        public int Bos { get; internal set; }
        /// <summary>Id that ends one.</summary>
        public int Eos { get; internal set; }
        /// <summary>Token for unknown text (UNK).</summary>
        public int Unknown { get; internal set; }
        /// <summary>Properties of the tokenizer.</summary>
        public TokenizerFlags Flags { get; internal set; }
        /// <summary>Pre-tokenizer of byte-level BPE, "llama-bpe"; else null.</summary>
        public string Pre { get; internal set; }
    }

    /// <summary>Facts of a token.</summary>
    public sealed class TokenInfo
    {
        /// <summary>Number of the token.</summary>
        public int Id { get; internal set; }
        /// <summary>Properties of the token.</summary>
        public TokenFlags Flags { get; internal set; }
        /// <summary>Its score in the vocabulary.</summary>
        public float Score { get; internal set; }
        /// <summary>Its bytes as the file stores them.</summary>
        public byte[] Text { get; internal set; }
    }

    /// <summary>Text to ids and back; immutable, keeps its file's data alive.</summary>
    public sealed unsafe class Tokenizer : IDisposable
    {
        private readonly TokenizerHandle _made;

        internal TokenizerHandle Handle { get { return _made.Live(this); } }

        /// <summary>The tokenizer that a file describes.</summary>
        public Tokenizer(GgufFile file)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_tokenizer_create(out _made, file.Handle, &e), &e);
        }

        /// <summary>Close it. Does not wait: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Facts of it.</summary>
        public TokenizerInfo Info
        {
            get
            {
                var o = default(NativeTokenizerFacts);
                o.struct_size = (uint)sizeof(NativeTokenizerFacts);
                NativeError e;
                Check.Ok(NativeMethods.ggufx_tokenizer_info(&o, Handle, &e), &e);
                return new TokenizerInfo
                {
                    Kind = Native.Text(o.kind), Tokens = o.n_tokens, Bos = o.bos, Eos = o.eos, Unknown = o.unknown,
                    Flags = (TokenizerFlags)o.flags, Pre = o.pre == null ? null : Native.Text(o.pre),
                };
            }
        }

        /// <summary>Id of a special token, by its key, else by its text; -1 when there is
        /// none.</summary>
        public int Special(SpecialToken which)
        {
            return NativeMethods.ggufx_tokenizer_special(Handle, (uint)which);
        }

        /// <summary>Describe a token.</summary>
        public TokenInfo Token(int id)
        {
            var o = default(NativeTokenFacts);
            o.struct_size = (uint)sizeof(NativeTokenFacts);
            NativeError e;
            using (new Hold(Handle))
            {
                Check.Ok(NativeMethods.ggufx_token_info(&o, Handle, id, &e), &e);
                var text = new byte[(int)o.text_length];
                if (text.Length != 0) Marshal.Copy((IntPtr)o.text, text, 0, text.Length);
                return new TokenInfo { Id = o.id, Flags = (TokenFlags)o.flags, Score = o.score, Text = text };
            }
        }

        /// <summary>Token ids of a text.</summary>
        public int[] Encode(string text, TokenizeFlags flags = 0)
        {
            byte[] bytes = Encoding.UTF8.GetBytes(text + "\0");
            var ids = new int[bytes.Length + 2];
            for (;;)
            {
                UIntPtr needed;
                NativeError e;
                int status;
                fixed (byte* from = bytes)
                fixed (int* to = ids)
                    status = NativeMethods.ggufx_tokenize(to, Native.Size(ids.Length), &needed, Handle, from, Native.Size(bytes.Length - 1), (uint)flags, &e);
                bool larger = status == (int)Status.Capacity && (int)needed > ids.Length;
                if (!larger) Check.Ok(status, &e);
                Array.Resize(ref ids, (int)needed);
                if (!larger) return ids;
            }
        }

        /// <summary>Bytes of ids; one id may be part of a character.</summary>
        public byte[] DecodeBytes(ReadOnlySpan<int> ids, DetokenizeFlags flags = 0)
        {
            var bytes = new byte[8 * ids.Length + 1];
            for (;;)
            {
                UIntPtr needed;
                NativeError e;
                int status;
                fixed (int* from = &MemoryMarshal.GetReference(ids))
                fixed (byte* to = bytes)
                    status = NativeMethods.ggufx_detokenize(to, Native.Size(bytes.Length), &needed, Handle, from, Native.Size(ids.Length), (uint)flags, &e);
                bool larger = status == (int)Status.Capacity && (int)needed > bytes.Length;
                if (!larger) Check.Ok(status, &e);
                Array.Resize(ref bytes, (int)needed);
                if (!larger) return bytes;
            }
        }

        /// <summary>The text of ids, whose bytes are UTF-8.</summary>
        public string Decode(ReadOnlySpan<int> ids, DetokenizeFlags flags = 0)
        {
            return Encoding.UTF8.GetString(DecodeBytes(ids, flags));
        }
    }

    /// <summary>Facts of a model.</summary>
    public sealed class ModelInfo
    {
        /// <summary>Name of the architecture.</summary>
        public string Architecture { get; internal set; }
        /// <summary>Values of all weights.</summary>
        public ulong Parameters { get; internal set; }
        /// <summary>Bytes of all weights.</summary>
        public ulong WeightBytes { get; internal set; }
        /// <summary>Tokens of the vocabulary.</summary>
        public uint Vocab { get; internal set; }
        /// <summary>Trained context in tokens.</summary>
        public uint Context { get; internal set; }
        /// <summary>Values of a token's vector.</summary>
        public uint Embedding { get; internal set; }
        /// <summary>Number of layers.</summary>
        public uint Layers { get; internal set; }
        /// <summary>Query heads of a layer.</summary>
        public uint Heads { get; internal set; }
        /// <summary>Key and value heads of a layer.</summary>
        public uint KvHeads { get; internal set; }
        /// <summary>Values of a head.</summary>
        public uint HeadDim { get; internal set; }
        /// <summary>Whether it predicts tokens, and how it makes embeddings.</summary>
        public ModelFlags Flags { get; internal set; }
    }

    /// <summary>Options of a model.</summary>
    public sealed class ModelOptions
    {
        /// <summary>Keys of the file as if they had these values: "llama.rope.freq_base".</summary>
        public IDictionary<string, string> Overrides { get; set; }
        /// <summary>Ends the call when it is cancelled.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>Receives the number of layers bound.</summary>
        public IProgress<Progress> Progress { get; set; }
    }

    /// <summary>Facts of a layer.</summary>
    public sealed class LayerInfo
    {
        /// <summary>Kind of token mixing.</summary>
        public LayerKind Kind { get; internal set; }
        /// <summary>Properties of it.</summary>
        public LayerFlags Flags { get; internal set; }
        /// <summary>Query heads of attention; else 0.</summary>
        public uint Heads { get; internal set; }
        /// <summary>Key and value heads.</summary>
        public uint KvHeads { get; internal set; }
        /// <summary>Values of a query and a key.</summary>
        public uint HeadDimK { get; internal set; }
        /// <summary>Values of a value and a result.</summary>
        public uint HeadDimV { get; internal set; }
        /// <summary>Tokens it sees; 0: all.</summary>
        public uint Window { get; internal set; }
        /// <summary>Layer whose keys and values it reads, usually its own.</summary>
        public uint ReadsLayer { get; internal set; }
        /// <summary>Scale of scores; 0: 1 / sqrt(HeadDimK).</summary>
        public float Scale { get; internal set; }
        /// <summary>Soft cap of scores; 0: none.</summary>
        public float Softcap { get; internal set; }
        /// <summary>State of a recurrent layer, per sequence.</summary>
        public ulong StateBytes { get; internal set; }
        /// <summary>A logit per head; empty: none.</summary>
        public float[] Sinks { get; internal set; }

        /// Values per token of queries, keys, values (none where they are part of the keys), results.
        internal int[] Widths()
        {
            uint v = (Flags & LayerFlags.VInK) != 0 ? 0 : KvHeads * HeadDimV;
            return new[] { (int)(Heads * HeadDimK), (int)(KvHeads * HeadDimK), (int)v, (int)(Heads * HeadDimV) };
        }
    }

    /// <summary>Weights bound to a graph; immutable, keeps its file's data alive.</summary>
    public sealed unsafe class Model : IDisposable
    {
        private readonly ModelHandle _made;

        internal ModelHandle Handle { get { return _made.Live(this); } }

        /// <summary>Bind a file to the graph of its architecture; no weight is copied.</summary>
        public Model(Runtime rt, GgufFile file, ModelOptions options = null)
        {
            options = options ?? new ModelOptions();
            var o = default(NativeModelOptions);
            o.struct_size = (uint)sizeof(NativeModelOptions);
            NativeProgress native;
            NativeError e;
            using (var overrides = new Overrides(options.Overrides))
            {
                var hook = Hook.Watching(options.Token, options.Progress);
                try
                {
                    fixed (NativeModelOverride* list = overrides.List)
                    {
                        o.overrides = list;
                        o.n_overrides = Native.Size(overrides.List.Length);
                        o.progress = Hook.Fill(hook, &native);
                        Hook.End(hook, NativeMethods.ggufx_model_create(out _made, rt.Handle, file.Handle, &o, &e), &e);
                    }
                }
                finally { if (hook != null) hook.Dispose(); }
            }
        }

        /// C strings for the duration of a call.
        private sealed class Overrides : IDisposable
        {
            internal readonly NativeModelOverride[] List;
            private readonly List<IntPtr> _texts = new List<IntPtr>();

            internal Overrides(IDictionary<string, string> from)
            {
                List = new NativeModelOverride[from == null ? 0 : from.Count];
                if (from == null) return;
                int i = 0;
                try
                {
                    foreach (var pair in from)
                    {
                        List[i].key = Text(pair.Key);
                        List[i++].value = Text(pair.Value);
                    }
                }
                catch
                {
                    Dispose();
                    throw;
                }
            }

            private byte* Text(string text)
            {
                byte[] bytes = Native.Utf8(text);
                IntPtr memory = Marshal.AllocHGlobal(bytes.Length);
                _texts.Add(memory);
                Marshal.Copy(bytes, 0, memory, bytes.Length);
                return (byte*)memory;
            }

            public void Dispose()
            {
                foreach (IntPtr text in _texts) Marshal.FreeHGlobal(text);
                _texts.Clear();
            }
        }

        /// <summary>Describe a layer.</summary>
        public LayerInfo Layer(uint layer)
        {
            var o = default(NativeLayerFacts);
            o.struct_size = (uint)sizeof(NativeLayerFacts);
            NativeError e;
            using (new Hold(Handle))
            {
                Check.Ok(NativeMethods.ggufx_model_layer(&o, Handle, layer, &e), &e);
                var sinks = new float[o.sinks == null ? 0 : (int)o.n_heads];
                if (sinks.Length != 0) Marshal.Copy((IntPtr)o.sinks, sinks, 0, sinks.Length);
                return new LayerInfo
                {
                    Kind = (LayerKind)o.kind, Flags = (LayerFlags)o.flags, Heads = o.n_heads,
                    KvHeads = o.n_kv_heads, HeadDimK = o.head_dim_k, HeadDimV = o.head_dim_v,
                    Window = o.window, ReadsLayer = o.reads_layer, Scale = o.scale,
                    Softcap = o.softcap, StateBytes = o.state_bytes, Sinks = sinks,
                };
            }
        }

        /// <summary>Close it. Does not wait: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Facts of it.</summary>
        public ModelInfo Info
        {
            get
            {
                var o = default(NativeModelFacts);
                o.struct_size = (uint)sizeof(NativeModelFacts);
                NativeError e;
                Check.Ok(NativeMethods.ggufx_model_info(&o, Handle, &e), &e);
                return new ModelInfo
                {
                    Architecture = Native.Text(o.architecture), Parameters = o.n_parameters,
                    WeightBytes = o.weight_bytes, Vocab = o.n_vocab, Context = o.n_context,
                    Embedding = o.n_embedding, Layers = o.n_layers, Heads = o.n_heads,
                    KvHeads = o.n_kv_heads, HeadDim = o.head_dim, Flags = (ModelFlags)o.flags,
                };
            }
        }
    }
}
