// Probabilities of tokens, and which of several endings a model expects.
// SPDX-License-Identifier: MIT
using System;
using System.Linq;
using System.Runtime.InteropServices;
using System.Threading;

namespace Ggufx
{
    /// <summary>Probabilities of tokens.</summary>
    public static unsafe class Logprobs
    {
        /// <summary>Fills ids and logprobs, of equal length, with the likeliest tokens and the natural logarithms of
        /// their probabilities; gives that of the token chosen, 0 where that is null.</summary>
        public static float Of(Runtime rt, ReadOnlySpan<float> logits, Span<int> ids, Span<float> logprobs, int? chosen = null)
        {
            Check.Length(logprobs.Length, ids.Length, "logprobs");
            NativeError e;
            float one = 0;
            fixed (float* from = &MemoryMarshal.GetReference(logits))
            fixed (int* to = &MemoryMarshal.GetReference(ids))
            fixed (float* values = &MemoryMarshal.GetReference(logprobs))
                Check.Ok(NativeMethods.ggufx_logprobs(to, values, Native.Size(ids.Length), chosen == null ? null : &one,
                    rt.Handle, from, Native.Size(logits.Length), chosen ?? 0, &e), &e);
            return one;
        }
    }

    public sealed unsafe partial class Session
    {
        /// <summary>Logarithms of the probabilities of several endings of one context, each summed over its tokens.
        /// The session must be empty and is so again afterwards.</summary>
        public double[] Endings(ReadOnlySpan<int> context, int[][] endings, CancellationToken token = default(CancellationToken),
            IProgress<Progress> progress = null)
        {
            var every = endings.SelectMany(ending => ending).Concat(new[] { 0 }).ToArray(); // never empty
            var lengths = endings.Select(ending => Native.Size(ending.Length)).Concat(new[] { UIntPtr.Zero }).ToArray();
            var results = new double[endings.Length + 1];
            NativeProgress native;
            NativeError e;
            using (var hook = Hook.Watching(token, progress))
                fixed (int* from = &MemoryMarshal.GetReference(context))
                fixed (int* ids = every)
                fixed (UIntPtr* n = lengths)
                fixed (double* to = results)
                    Hook.End(hook, NativeMethods.ggufx_measure_endings(to, Handle, from, Native.Size(context.Length), ids, n,
                        Native.Size(endings.Length), Hook.Fill(hook, &native), &e), &e);
            Array.Resize(ref results, endings.Length);
            return results;
        }
    }
}
