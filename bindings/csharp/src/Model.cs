// Tokenizer, model, session, sampler, perplexity.
// SPDX-License-Identifier: MIT
using System;
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
        /// <summary>Id that begins a text.</summary>
        public int Bos { get; internal set; }
        /// <summary>Id that ends one.</summary>
        public int Eos { get; internal set; }
        /// <summary>Id of what the vocabulary lacks.</summary>
        public int Unknown { get; internal set; }
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
                return new TokenizerInfo { Kind = Native.Text(o.kind), Tokens = o.n_tokens, Bos = o.bos, Eos = o.eos, Unknown = o.unknown };
            }
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

        /// <summary>Ids of a text.</summary>
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
    }

    /// <summary>Weights bound to a graph; immutable, keeps its file's data alive.</summary>
    public sealed unsafe class Model : IDisposable
    {
        private readonly ModelHandle _made;

        internal ModelHandle Handle { get { return _made.Live(this); } }

        /// <summary>Bind a file to the graph of its architecture; no weight is copied.</summary>
        public Model(Runtime rt, GgufFile file)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_model_create(out _made, rt.Handle, file.Handle, null, &e), &e);
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
                    KvHeads = o.n_kv_heads, HeadDim = o.head_dim,
                };
            }
        }
    }

    /// <summary>How ids are chosen; all unset is greedy.</summary>
    public sealed class SamplerOptions
    {
        /// <summary>Temperature; 0: the likeliest.</summary>
        public float Temperature { get; set; }
        /// <summary>Keep the likeliest that reach this probability together; 0: all.</summary>
        public float TopP { get; set; }
        /// <summary>Keep those at least this likely, relative to the likeliest; 0: all.</summary>
        public float MinP { get; set; }
        /// <summary>Keep this many of the likeliest; 0: all.</summary>
        public uint TopK { get; set; }
        /// <summary>Seed of the random numbers.</summary>
        public ulong Seed { get; set; }
    }

    /// <summary>Chooses ids; holds its random state.</summary>
    public sealed unsafe class Sampler : IDisposable
    {
        private readonly SamplerHandle _made;

        internal SamplerHandle Handle { get { return _made.Live(this); } }

        /// <summary>A sampler for vocabularies of up to this many tokens.</summary>
        public Sampler(Runtime rt, uint vocab, SamplerOptions options = null)
        {
            options = options ?? new SamplerOptions();
            var o = default(NativeSamplerOptions);
            o.struct_size = (uint)sizeof(NativeSamplerOptions);
            o.temperature = options.Temperature;
            o.top_p = options.TopP;
            o.min_p = options.MinP;
            o.top_k = options.TopK;
            o.seed = options.Seed;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_sampler_create(out _made, rt.Handle, vocab, &o, &e), &e);
        }

        /// <summary>Close it. Does not wait: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>An id, and the logarithm of its probability before the filters.</summary>
        public int Sample(ReadOnlySpan<float> logits, out float logprob)
        {
            int id;
            float p;
            NativeError e;
            fixed (float* from = &MemoryMarshal.GetReference(logits))
                Check.Ok(NativeMethods.ggufx_sampler_sample(&id, &p, Handle, from, Native.Size(logits.Length), &e), &e);
            logprob = p;
            return id;
        }
    }
}
