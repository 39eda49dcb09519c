// Sampler chains in an order chosen by the caller.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;

namespace Ggufx
{
    /// <summary>Token that may be sampled; a Logit of -infinity removes it.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct Candidate
    {
        /// <summary>Id of the vocabulary.</summary>
        public int Id { get; set; }
        /// <summary>Its logit.</summary>
        public float Logit { get; set; }
    }

    /// <summary>Added to the logit of a token.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct LogitBias
    {
        /// <summary>Id of the vocabulary.</summary>
        public int Id { get; set; }
        /// <summary>Value added to the logit; -infinity bans the token.</summary>
        public float Bias { get; set; }
    }

    /// <summary>Changes logits of the candidates that are left, or their order; false ends the call as cancelled.
    /// A sampler and its clones may call it on several threads.</summary>
    public delegate bool SamplerLink(Span<Candidate> candidates);

    /// <summary>Sampler of a chain: its kind decides which members are used; zeros are
    /// defaults.</summary>
    public sealed class Link
    {
        /// <summary>Kind of sampler.</summary>
        public LinkKind Kind { get; set; }
        /// <summary>TopK: how many.</summary>
        public uint K { get; set; }
        /// <summary>TopP, MinP, Typical: a probability.</summary>
        public float P { get; set; }
        /// <summary>TopNSigma: standard deviations.</summary>
        public float NSigma { get; set; }
        /// <summary>Xtc: how often.</summary>
        public float Probability { get; set; }
        /// <summary>Xtc: from which probability on.</summary>
        public float Threshold { get; set; }
        /// <summary>Temperature: divisor of the logits.</summary>
        public float Temperature { get; set; }
        /// <summary>Temperature: by how much the entropy changes it.</summary>
        public float Range { get; set; }
        /// <summary>Temperature: exponent of the entropy.</summary>
        public float Exponent { get; set; }
        /// <summary>Penalties, Dry: number of last accepted tokens considered.</summary>
        public uint Last { get; set; }
        /// <summary>Penalties: repetition penalty, a divisor.</summary>
        public float Repetition { get; set; }
        /// <summary>Penalties: subtracted for each time.</summary>
        public float Frequency { get; set; }
        /// <summary>Penalties: subtracted once.</summary>
        public float Presence { get; set; }
        /// <summary>Dry: multiplier of the penalty.</summary>
        public float Multiplier { get; set; }
        /// <summary>Dry: base of the penalty's growth.</summary>
        public float Base { get; set; }
        /// <summary>Dry: length of repeats without a penalty.</summary>
        public uint AllowedLength { get; set; }
        /// <summary>Dry: ids that end a repeat (sequence breakers).</summary>
        public int[] Breakers { get; set; }
        /// <summary>Bias: values to add, each id once.</summary>
        public LogitBias[] Biases { get; set; }
        /// <summary>Mirostat: the surprise that is kept.</summary>
        public float Tau { get; set; }
        /// <summary>Mirostat: how fast.</summary>
        public float Eta { get; set; }
        /// <summary>Mirostat 1: tokens that the slope is taken of.</summary>
        public uint M { get; set; }
        /// <summary>Mirostat: 1 or 2.</summary>
        public uint Version { get; set; }
        /// <summary>Host: sampler supplied by the program.</summary>
        public SamplerLink Host { get; set; }
    }

    /// Sampler supplied by the program, kept while a chain uses it.
    internal sealed unsafe class HostLink
    {
        [ThreadStatic] private static Exception s_caught;
        private readonly SamplerLink _link;
        private readonly GCHandle _self;

        internal HostLink(SamplerLink link)
        {
            _link = link;
            _self = GCHandle.Alloc(this, GCHandleType.Weak);
        }

        ~HostLink()
        {
            if (_self.IsAllocated) _self.Free();
        }

        internal void* User { get { return (void*)GCHandle.ToIntPtr(_self); } }

        internal static int Run(void* user, Candidate* candidates, int n)
        {
            try
            {
                var link = (HostLink)GCHandle.FromIntPtr((IntPtr)user).Target;
                return link._link(new Span<Candidate>(candidates, n)) ? 0 : 1;
            }
            catch (Exception e)
            {
                s_caught = e;
                return 1;
            }
        }

        /// Rethrows the exception of a custom sampler that a call on this thread ran.
        internal static void Rethrow()
        {
            var caught = s_caught;
            s_caught = null;
            if (caught != null) ExceptionDispatchInfo.Capture(caught).Throw();
        }
    }

    public sealed unsafe partial class Sampler
    {
        private List<HostLink> _hosts = new List<HostLink>();

        private Sampler(SamplerHandle made, List<HostLink> hosts)
        {
            _made = made;
            _hosts = hosts;
        }

        /// <summary>Empty sampler chain for vocabularies of up to this many tokens: it samples from
        /// the unmodified logits.</summary>
        public static Sampler Chain(Runtime rt, uint vocab, ulong seed)
        {
            SamplerHandle made;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_sampler_create_chain(out made, rt.Handle, vocab, seed, &e), &e);
            return new Sampler(made, new List<HostLink>());
        }

        /// <summary>Append a sampler to the chain.</summary>
        public void Add(Link link)
        {
            var o = default(NativeSamplerLink);
            o.struct_size = (uint)sizeof(NativeSamplerLink);
            o.kind = (uint)link.Kind;
            o.k = link.K;
            o.p = link.P;
            o.n_sigma = link.NSigma;
            o.probability = link.Probability;
            o.threshold = link.Threshold;
            o.temperature = link.Temperature;
            o.range = link.Range;
            o.exponent = link.Exponent;
            o.repetition = link.Repetition;
            o.frequency = link.Frequency;
            o.presence = link.Presence;
            o.n_last = link.Last;
            o.multiplier = link.Multiplier;
            o.base_ = link.Base;
            o.allowed_length = link.AllowedLength;
            o.tau = link.Tau;
            o.eta = link.Eta;
            o.m = link.M;
            o.version = link.Version;
            HostLink host = null;
            if (link.Host != null)
            {
                host = new HostLink(link.Host);
                o.link = Functions.Link;
                o.user = host.User;
            }
            NativeError e;
            fixed (int* breakers = link.Breakers)
            fixed (LogitBias* biases = link.Biases)
            {
                o.breakers = breakers;
                o.n_breakers = Native.Size(breakers == null ? 0 : link.Breakers.Length);
                o.biases = (NativeLogitBias*)biases;
                o.n_biases = Native.Size(biases == null ? 0 : link.Biases.Length);
                Check.Ok(NativeMethods.ggufx_sampler_add(Handle, &o, &e), &e);
            }
            if (host != null) _hosts.Add(host);
        }

        /// <summary>Record tokens appended to the sequence, from any source; all or none.</summary>
        public void Accept(params int[] ids)
        {
            NativeError e;
            fixed (int* from = ids)
                Check.Ok(NativeMethods.ggufx_sampler_accept(Handle, from, Native.Size(ids.Length), &e), &e);
        }

        /// <summary>Reset to the initial state, with the same samplers.</summary>
        public void Reset()
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_sampler_reset(Handle, &e), &e);
        }

        /// <summary>Copy with the same state: it continues exactly as this one.</summary>
        public Sampler Clone()
        {
            SamplerHandle made;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_sampler_clone(out made, Handle, &e), &e);
            return new Sampler(made, new List<HostLink>(_hosts));
        }

        /// Ends a call that may have run custom samplers, which live as long as the chain.
        internal void End(int status, NativeError* record)
        {
            GC.KeepAlive(_hosts);
            if (_hosts.Count > 0) HostLink.Rethrow();
            Check.Ok(status, record);
        }
    }
}
