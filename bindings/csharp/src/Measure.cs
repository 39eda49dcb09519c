// Log-probabilities, perplexity, KL divergence from another model, and multiple-choice scores.
// SPDX-License-Identifier: MIT
using System;
using System.IO;
using System.Linq;
using System.Runtime.InteropServices;
using System.Threading;

namespace Ggufx
{
    /// <summary>Probabilities of tokens.</summary>
    public static unsafe class Logprobs
    {
        /// <summary>Fills ids and logprobs, of equal length, with the likeliest tokens and the
        /// natural logarithms of their probabilities; returns that of the sampled token, 0 if it is
        /// null.</summary>
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

    /// <summary>Perplexity of a text and KL divergence from saved logits; the members of the latter
    /// are 0 without saved logits. Members that end in Error are standard errors.</summary>
    public sealed unsafe class Measure
    {
        /// <summary>Whether saved logits were read, and were of a model with the same weights' fingerprint.</summary>
        public MeasureFlags Flags { get; private set; }
        /// <summary>The perplexity.</summary>
        public double Perplexity { get; private set; }
        /// <summary>Its standard error.</summary>
        public double StandardError { get; private set; }
        /// <summary>Chunks so far.</summary>
        public ulong Chunks { get; private set; }
        /// <summary>Tokens of all chunks.</summary>
        public ulong Tokens { get; private set; }
        /// <summary>Predictions scored.</summary>
        public ulong Scored { get; private set; }
        /// <summary>Perplexity of the saved logits.</summary>
        public double BasePerplexity { get; private set; }
        /// <summary>Its standard error.</summary>
        public double BaseError { get; private set; }
        /// <summary>log(Perplexity / BasePerplexity).</summary>
        public double LogRatio { get; private set; }
        /// <summary>Its standard error.</summary>
        public double LogRatioError { get; private set; }
        /// <summary>Mean divergence of a prediction from the saved one.</summary>
        public double KL { get; private set; }
        /// <summary>Its standard error.</summary>
        public double KLError { get; private set; }
        /// <summary>The median.</summary>
        public double KLMedian { get; private set; }
        /// <summary>Its error.</summary>
        public double KLMedianError { get; private set; }
        /// <summary>99 of 100 are below.</summary>
        public double KL99 { get; private set; }
        /// <summary>Its error.</summary>
        public double KL99Error { get; private set; }
        /// <summary>The largest.</summary>
        public double KLMax { get; private set; }
        /// <summary>Share of predictions with the same likeliest token.</summary>
        public double SameTop { get; private set; }
        /// <summary>Its standard error.</summary>
        public double SameTopError { get; private set; }
        /// <summary>RMS difference of the probabilities of the actual tokens.</summary>
        public double RmsDifference { get; private set; }
        /// <summary>Its standard error.</summary>
        public double RmsDifferenceError { get; private set; }

        internal Measure(NativeMeasureFacts* m)
        {
            Flags = (MeasureFlags)m->flags;
            Perplexity = m->perplexity;
            StandardError = m->standard_error;
            Chunks = m->n_chunks;
            Tokens = m->n_tokens;
            Scored = m->n_scored;
            BasePerplexity = m->base_perplexity;
            BaseError = m->base_error;
            LogRatio = m->log_ratio;
            LogRatioError = m->log_ratio_error;
            KL = m->kl;
            KLError = m->kl_error;
            KLMedian = m->kl_median;
            KLMedianError = m->kl_median_error;
            KL99 = m->kl_99;
            KL99Error = m->kl_99_error;
            KLMax = m->kl_max;
            SameTop = m->same_top;
            SameTopError = m->same_top_error;
            RmsDifference = m->rms_dp;
            RmsDifferenceError = m->rms_dp_error;
        }
    }

    /// <summary>Options of a measurement; all unset is the default.</summary>
    public sealed class MeasureOptions
    {
        /// <summary>Stride between the starts of chunks in tokens; 0: chunks do not
        /// overlap.</summary>
        public uint Stride { get; set; }
        /// <summary>Id of the first token of each chunk; null: the text's own.</summary>
        public int? Bos { get; set; }
        /// <summary>File for the logits of all predictions.</summary>
        public string SavePath { get; set; }
        /// <summary>Stream for them.</summary>
        public Stream Save { get; set; }
        /// <summary>File with saved ones to compare with.</summary>
        public string BasePath { get; set; }
        /// <summary>Stream with them.</summary>
        public Stream Base { get; set; }
        /// <summary>Sees the running result after each chunk; false stops.</summary>
        public Func<Measure, bool> Report { get; set; }
    }

    public sealed unsafe partial class Session
    {
        /// <summary>Perplexity of tokens in chunks of nContext, and the divergence from saved
        /// logits. The session must be empty; it is empty again afterwards.</summary>
        public Measure Measure(ReadOnlySpan<int> tokens, uint nContext, MeasureOptions options = null,
            CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            options = options ?? new MeasureOptions();
            var o = default(NativeMeasureOptions);
            o.struct_size = (uint)sizeof(NativeMeasureOptions);
            o.stride = options.Stride;
            var result = default(NativeMeasureFacts);
            result.struct_size = (uint)sizeof(NativeMeasureFacts);
            NativeProgress native;
            NativeError e;
            using (var hook = new Hook { Token = token, Reports = progress, OnMeasure = options.Report })
            {
                if (options.Save != null)
                {
                    hook.OnWrite = (part, data, n) => KvCache.CopyTo(options.Save, data, n);
                    o.write = Functions.Write;
                }
                if (options.Base != null)
                {
                    hook.OnRead = (offset, data, n) => GgufFile.ReadAll(options.Base, data, n);
                    o.read = Functions.Read;
                }
                if (options.Report != null) o.report = Functions.Measure;
                o.write_user = o.read_user = o.report_user = hook.User;
                o.progress = Hook.Fill(token.CanBeCanceled || progress != null ? hook : null, &native);
                fixed (int* from = &MemoryMarshal.GetReference(tokens))
                fixed (byte* save = options.SavePath == null ? null : Native.Utf8(options.SavePath))
                fixed (byte* saved = options.BasePath == null ? null : Native.Utf8(options.BasePath))
                {
                    o.save_path = save;
                    o.base_path = saved;
                    Hook.End(hook, NativeMethods.ggufx_measure(&result, Handle, from, Native.Size(tokens.Length), nContext,
                        options.Bos ?? -1, &o, &e), &e);
                }
            }
            return new Measure(&result);
        }

        /// <summary>Log-probabilities of several continuations of one context, each summed over its
        /// tokens. The session must be empty; it is empty again afterwards.</summary>
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
