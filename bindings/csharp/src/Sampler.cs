// Logits to an id.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;

namespace Ggufx
{
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
    public sealed unsafe partial class Sampler : IDisposable
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
                End(NativeMethods.ggufx_sampler_sample(&id, &p, Handle, from, Native.Size(logits.Length), &e), &e);
            logprob = p;
            return id;
        }

        /// <summary>An id among those that fit, which the matcher accepts, and the logarithm of its probability among all.</summary>
        public int SampleMatching(Matcher matcher, ReadOnlySpan<float> logits, out float logprob)
        {
            int id;
            float p;
            NativeError e;
            fixed (float* from = &MemoryMarshal.GetReference(logits))
                End(NativeMethods.ggufx_sampler_sample_matching(&id, &p, Handle, matcher.Handle, from, Native.Size(logits.Length), &e), &e);
            logprob = p;
            return id;
        }
    }
}
