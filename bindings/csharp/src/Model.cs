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
        public string Kind;
        public uint Tokens;
        public int Bos, Eos, Unknown;
    }

    /// <summary>Facts of a token.</summary>
    public sealed class TokenInfo
    {
        public int Id;
        public TokenFlags Flags;
        public float Score;
        public byte[] Text;
    }

    /// <summary>Text to ids and back; immutable, keeps its file's data alive.</summary>
    public sealed unsafe class Tokenizer : IDisposable
    {
        private readonly TokenizerHandle _handle;

        public Tokenizer(GgufFile file)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_tokenizer_create(out _handle, file.Handle, &e), &e);
        }

        public void Dispose() { _handle.Dispose(); }

        public TokenizerInfo Info
        {
            get
            {
                var o = default(NativeTokenizerFacts);
                o.struct_size = (uint)sizeof(NativeTokenizerFacts);
                NativeError e;
                Check.Ok(NativeMethods.ggufx_tokenizer_info(&o, _handle, &e), &e);
                return new TokenizerInfo { Kind = Native.Text(o.kind), Tokens = o.n_tokens, Bos = o.bos, Eos = o.eos, Unknown = o.unknown };
            }
        }

        public TokenInfo Token(int id)
        {
            var o = default(NativeTokenFacts);
            o.struct_size = (uint)sizeof(NativeTokenFacts);
            NativeError e;
            Check.Ok(NativeMethods.ggufx_token_info(&o, _handle, id, &e), &e);
            var text = new byte[(int)o.text_length];
            if (text.Length != 0) Marshal.Copy((IntPtr)o.text, text, 0, text.Length);
            return new TokenInfo { Id = o.id, Flags = (TokenFlags)o.flags, Score = o.score, Text = text };
        }

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
                    status = NativeMethods.ggufx_tokenize(to, Native.Size(ids.Length), &needed, _handle, from, Native.Size(bytes.Length - 1), (uint)flags, &e);
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
                    status = NativeMethods.ggufx_detokenize(to, Native.Size(bytes.Length), &needed, _handle, from, Native.Size(ids.Length), (uint)flags, &e);
                bool larger = status == (int)Status.Capacity && (int)needed > bytes.Length;
                if (!larger) Check.Ok(status, &e);
                Array.Resize(ref bytes, (int)needed);
                if (!larger) return bytes;
            }
        }

        public string Decode(ReadOnlySpan<int> ids, DetokenizeFlags flags = 0)
        {
            return Encoding.UTF8.GetString(DecodeBytes(ids, flags));
        }
    }

    /// <summary>Facts of a model.</summary>
    public sealed class ModelInfo
    {
        public string Architecture;
        public ulong Parameters, WeightBytes;
        public uint Vocab, Context, Embedding, Layers, Heads, KvHeads, HeadDim;
    }

    /// <summary>Weights bound to a graph; immutable, keeps its file's data alive.</summary>
    public sealed unsafe class Model : IDisposable
    {
        internal readonly ModelHandle Handle;

        public Model(Runtime rt, GgufFile file)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_model_create(out Handle, rt.Handle, file.Handle, null, &e), &e);
        }

        public void Dispose() { Handle.Dispose(); }

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
        public float Temperature, TopP, MinP;
        public uint TopK;
        public ulong Seed;
    }

    /// <summary>Chooses ids; holds its random state.</summary>
    public sealed unsafe class Sampler : IDisposable
    {
        private readonly SamplerHandle _handle;

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
            Check.Ok(NativeMethods.ggufx_sampler_create(out _handle, rt.Handle, vocab, &o, &e), &e);
        }

        public void Dispose() { _handle.Dispose(); }

        /// <summary>An id, and the logarithm of its probability before the filters.</summary>
        public int Sample(ReadOnlySpan<float> logits, out float logprob)
        {
            int id;
            float p;
            NativeError e;
            fixed (float* from = &MemoryMarshal.GetReference(logits))
                Check.Ok(NativeMethods.ggufx_sampler_sample(&id, &p, _handle, from, Native.Size(logits.Length), &e), &e);
            logprob = p;
            return id;
        }
    }
}
