// Speculative decoding: several tokens at little more than the cost of one.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;
using System.Threading;

namespace Ggufx
{
    /// <summary>Proposes draft tokens for a sequence that consists of text, then last: writes ids
    /// into guess and returns their number.</summary>
    public delegate int Guess(ReadOnlySpan<int> text, int last, Span<int> guess);

    public sealed partial class SpeculatorOptions
    {
        /// <summary>Draft tokens from a callback; not together with Draft.</summary>
        public Guess Guess { get; set; }
    }

    public sealed unsafe partial class Speculator
    {
        private readonly Session _session, _draft;

        /// <summary>For sequence 0 of a session whose products are BatchInvariant or Tiles. The sessions stay as long
        /// as this object.</summary>
        public Speculator(Session session, SpeculatorOptions options = null)
        {
            options = options ?? new SpeculatorOptions();
            _session = session;
            _draft = options.Draft;
            NativeSpeculatorOptions native;
            NativeError e;
            KeptCallback guess = options.Guess == null ? null : new KeptCallback(options.Guess);
            using (var scope = Scope.New())
            {
                options.Fill(&native, scope);
                if (guess != null)
                {
                    native.guess = Functions.Guess;
                    native.user = guess.User;
                }
                using (session.Handle.Changing())
                    scope.End(NativeMethods.ggufx_speculator_create(out _made, session.Handle, &native, &e), &e);
            }
            _made.Hold(session.Handle);
            if (_draft != null) _made.Hold(_draft.Handle);
            if (guess != null) _made.Hold(guess);
        }

        /// <summary>Write the next tokens, at least one, to ids; returns their number. logprobs may
        /// be empty, matcher null. The last id is not in the session yet. After a failure nothing
        /// has changed.</summary>
        public int Next(Span<int> ids, Span<float> logprobs, Sampler sampler, Matcher matcher = null,
            CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            if (logprobs.Length > 0) Check.Length(logprobs.Length, ids.Length, "logprobs");
            UIntPtr n = UIntPtr.Zero;
            NativeError e;
            using (Handle.Changing())
            using (_session.Handle.Changing())
            using (_draft == null ? default(Turn) : _draft.Handle.Changing())
            using (sampler.Handle.Changing())
            using (matcher == null ? default(Turn) : matcher.Handle.Changing())
            using (var scope = Scope.Of(token, progress))
                fixed (int* to = &MemoryMarshal.GetReference(ids))
                fixed (float* values = &MemoryMarshal.GetReference(logprobs))
                {
                    int status = NativeMethods.ggufx_speculator_next(to, logprobs.Length > 0 ? values : null, Native.Size(ids.Length), &n, Handle,
                        sampler.Handle, matcher == null ? MatcherHandle.None : matcher.Handle, Scope.Progress(scope), &e);
                    Thrown.Rethrow(); // of Guess, after which the library goes on
                    Scope.End(scope, status, &e);
                }
            return (int)n;
        }
    }
}
