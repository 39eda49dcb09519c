// Speculative decoding: several tokens at little more than the cost of one.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Ggufx
{
    /// <summary>Proposes draft tokens for a sequence that consists of text, then last: writes ids
    /// into guess and returns their number.</summary>
    public delegate int Guess(ReadOnlySpan<int> text, int last, Span<int> guess);

    /// <summary>Options of speculative decoding; all unset is prompt lookup.</summary>
    public sealed class SpeculatorOptions
    {
        /// <summary>A session of a smaller model with the same vocabulary.</summary>
        public Session Draft { get; set; }
        /// <summary>Draft tokens from a callback; not together with Draft.</summary>
        public Guess Guess { get; set; }
        /// <summary>End-of-generation token ids.</summary>
        public int[] Stops { get; set; }
        /// <summary>Maximum draft tokens per step; 0: 15.</summary>
        public uint Most { get; set; }
        /// <summary>N-gram length for prompt lookup; 0: 3.</summary>
        public uint Match { get; set; }
    }

    /// <summary>Draft tokens and their acceptance.</summary>
    public struct SpeculatorInfo
    {
        /// <summary>Calls that gave something.</summary>
        public ulong Calls { get; internal set; }
        /// <summary>Tokens they gave.</summary>
        public ulong Tokens { get; internal set; }
        /// <summary>Draft tokens.</summary>
        public ulong Drafted { get; internal set; }
        /// <summary>Accepted draft tokens: chosen by the sampler.</summary>
        public ulong Accepted { get; internal set; }
    }

    /// Draft callback of the program, kept while a speculator uses it.
    internal sealed unsafe class HostGuess
    {
        private readonly Guess _guess;
        private readonly GCHandle _self;
        private Exception _caught;

        internal HostGuess(Guess guess)
        {
            _guess = guess;
            _self = GCHandle.Alloc(this, GCHandleType.Weak);
        }

        ~HostGuess()
        {
            if (_self.IsAllocated) _self.Free();
        }

        internal void* User { get { return (void*)GCHandle.ToIntPtr(_self); } }

        internal static int Run(void* user, int* guess, int most, int* text, int n, int last)
        {
            var host = (HostGuess)GCHandle.FromIntPtr((IntPtr)user).Target;
            if (host._caught != null) return 0;
            try
            {
                return host._guess(new ReadOnlySpan<int>(text, n), last, new Span<int>(guess, most));
            }
            catch (Exception e)
            {
                host._caught = e;
                return 0;
            }
        }

        internal void Rethrow()
        {
            var caught = _caught;
            _caught = null;
            if (caught != null) ExceptionDispatchInfo.Capture(caught).Throw();
        }
    }

    /// <summary>Speculative decoding on a session: its ids are exactly those of decoding token by
    /// token, whatever the draft tokens are. One call at a time, also on its sessions.</summary>
    public sealed unsafe class Speculator : IDisposable
    {
        private readonly SpeculatorHandle _made;
        private readonly Session _session, _draft;
        private readonly HostGuess _host;
        private SessionHandle _ofSession, _ofDraft; // which stay until it is freed

        internal SpeculatorHandle Handle { get { return _made.Live(this); } }

        /// <summary>For sequence 0 of a session whose products are BatchInvariant or Tiles.</summary>
        public Speculator(Session session, SpeculatorOptions options = null)
        {
            options = options ?? new SpeculatorOptions();
            _session = session;
            _draft = options.Draft;
            var o = default(NativeSpeculatorOptions);
            o.struct_size = (uint)sizeof(NativeSpeculatorOptions);
            o.n_draft = options.Most;
            o.n_match = options.Match;
            if (options.Guess != null)
            {
                _host = new HostGuess(options.Guess);
                o.guess = Functions.Guess;
                o.user = _host.User;
            }
            bool made = false;
            try
            {
                Keep(session, ref _ofSession);
                if (_draft != null) Keep(_draft, ref _ofDraft);
                o.draft = _draft == null ? IntPtr.Zero : _ofDraft.DangerousGetHandle();
                NativeError e;
                fixed (int* stops = options.Stops)
                {
                    o.stops = stops;
                    o.n_stops = Native.Size(stops == null ? 0 : options.Stops.Length);
                    Check.Ok(NativeMethods.ggufx_speculator_create(out _made, _ofSession, &o, &e), &e);
                }
                made = true;
            }
            finally
            {
                if (!made) Free();
            }
        }

        private static void Keep(Session session, ref SessionHandle kept)
        {
            bool added = false;
            var handle = session.Handle;
            handle.DangerousAddRef(ref added);
            kept = handle;
        }

        private void Free()
        {
            if (_made != null) _made.Dispose();
            var session = Interlocked.Exchange(ref _ofSession, null);
            if (session != null) session.DangerousRelease();
            var draft = Interlocked.Exchange(ref _ofDraft, null);
            if (draft != null) draft.DangerousRelease();
        }

        /// <summary>Frees what nothing shows any more.</summary>
        ~Speculator() { Free(); }

        /// <summary>Close it; its sessions stay. Does not wait: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose()
        {
            Free();
            GC.SuppressFinalize(this);
        }

        /// <summary>Write the next tokens, at least one, to ids; returns their number. logprobs may
        /// be empty, matcher null. The last id is not in the session yet. After a failure nothing
        /// has changed.</summary>
        public int Next(Span<int> ids, Span<float> logprobs, Sampler sampler, Matcher matcher = null,
            CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            if (logprobs.Length > 0) Check.Length(logprobs.Length, ids.Length, "logprobs");
            UIntPtr n = UIntPtr.Zero;
            NativeProgress native;
            NativeError e;
            using (var session = new Hold(_session.Handle))
            using (var draft = new Hold((_draft ?? _session).Handle))
            using (var hook = Hook.Watching(token, progress))
                fixed (int* to = &MemoryMarshal.GetReference(ids))
                fixed (float* first = &MemoryMarshal.GetReference(logprobs))
                {
                    float* values = logprobs.Length > 0 ? first : null; // of an empty array it is no NULL
                    var watch = Hook.Fill(hook, &native);
                    int status = matcher == null
                        ? NativeMethods.ggufx_speculator_next_any(to, values, Native.Size(ids.Length), &n, Handle, sampler.Handle, IntPtr.Zero, watch, &e)
                        : NativeMethods.ggufx_speculator_next(to, values, Native.Size(ids.Length), &n, Handle, sampler.Handle,
                            matcher.Handle, watch, &e);
                    if (_host != null) _host.Rethrow();
                    if (status != (int)Status.Ok && hook != null) Hook.End(hook, status, &e);
                    sampler.End(status, &e);
                }
            GC.KeepAlive(this);
            return (int)n;
        }

        /// <summary>Draft tokens and their acceptance.</summary>
        public SpeculatorInfo Info
        {
            get
            {
                var o = default(NativeSpeculatorFacts);
                o.struct_size = (uint)sizeof(NativeSpeculatorFacts);
                NativeError e;
                Check.Ok(NativeMethods.ggufx_speculator_info(&o, Handle, &e), &e);
                return new SpeculatorInfo { Calls = o.n_calls, Tokens = o.n_tokens, Drafted = o.n_drafted, Accepted = o.n_accepted };
            }
        }
    }
}
