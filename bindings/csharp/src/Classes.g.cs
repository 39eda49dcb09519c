// Written by bindings/raw.py from include/ggufx; a test compares them.
// SPDX-License-Identifier: MIT
#pragma warning disable 1573 // parameters whose names tell enough
using System;
using System.Collections.Generic;
using System.IO;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

namespace Ggufx
{
    /// <summary>An adapter bound to a model. Immutable; keeps both alive.</summary>
    public sealed unsafe partial class Adapter : IDisposable
    {
        private readonly AdapterHandle _made;

        internal AdapterHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Binds the file of an adapter to a model.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Type, Unsupported, Mismatch, ValueType, Value, Missing.</exception>
        /// <remarks>
        /// <para>Tensors are read once and used in place:</para>
        /// <list type="bullet">
        /// <item>LoRA: "NAME.lora_a" [n, rank] and "NAME.lora_b" [rank, m] for a tensor NAME [n, m] of the model, of any type
        /// with a matrix product. For an embedding matrix [rank, m] and [rank, n] are accepted as well. Tensors of experts have
        /// one matrix per expert; all experts may share one A.</item>
        /// <item>Control vector: "direction.L" [Embedding] for layer L.</item>
        /// </list>
        /// </remarks>
        public Adapter(Model model, GgufFile file, AdapterOptions options = null)
        {
            NativeAdapterOptions optionsNative;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_adapter_create(out _made, model.Handle, file.Handle,
                AdapterOptions.Of(options, &optionsNative), &e), &e);
        }

        /// <summary>Describes an adapter.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public AdapterFacts Info
        {
            get
            {
                NativeError e;
                var resultNative = default(NativeAdapterFacts);
                resultNative.struct_size = (uint)sizeof(NativeAdapterFacts);
                Check.Ok(NativeMethods.ggufx_adapter_info(&resultNative, Handle, &e), &e);
                return new AdapterFacts(&resultNative);
            }
        }

        /// <summary>Whether the adapter changes a tensor of the model's file, given by its index.</summary>
        public bool HasTensor(long tensor)
        {
            return NativeMethods.ggufx_adapter_has_tensor(Handle, Native.Size(tensor, "tensor")) != 0;
        }

        /// <summary>Adds s B A to rows of a tensor of the model's file, as a merge of the adapter does.</summary>
        /// <param name="rows">f32 [nRows][ne0].</param>
        /// <param name="tensor">Index of the tensor in the model's file.</param>
        /// <param name="firstRow">First row, counted through all matrices of the tensor.</param>
        /// <exception cref="GgufxException">Argument, Memory.</exception>
        /// <remarks>
        /// <para>Rows of a tensor that the adapter does not change stay as they are.</para>
        /// </remarks>
        public void AddRows(Span<float> rows, long tensor, ulong firstRow, ulong nRows, float scale)
        {
            NativeError e;
            fixed (float* pRows = &Native.First(rows))
                Check.Ok(NativeMethods.ggufx_adapter_add_rows(pRows, Native.Size(rows.Length), Handle,
                    Native.Size(tensor, "tensor"), firstRow, nRows, scale, &e), &e);
        }
    }

    /// <summary>Allocator, log, executor and chosen kernels. Objects that are created from a runtime keep it alive. After a fork
    /// the child may use and destroy objects that no other thread used at the time of the fork. The threads of the pool stay in
    /// the parent, so calls on an inherited runtime run on the caller's thread.</summary>
    public sealed unsafe partial class Runtime : IDisposable
    {
        private readonly RuntimeHandle _made;

        internal Runtime(RuntimeHandle made) { _made = made; }

        internal RuntimeHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Describes a runtime.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public RuntimeFacts Info
        {
            get
            {
                NativeError e;
                using (new Hold(Handle))
                {
                    var resultNative = default(NativeRuntimeFacts);
                    resultNative.struct_size = (uint)sizeof(NativeRuntimeFacts);
                    Check.Ok(NativeMethods.ggufx_runtime_info(&resultNative, Handle, &e), &e);
                    return new RuntimeFacts(&resultNative);
                }
            }
        }

        /// <summary>Lists devices, with the reason if a plugin or device cannot be used.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Capacity.</exception>
        /// <remarks>
        /// <para>Devices are not opened. An empty list is no error.</para>
        /// </remarks>
        public DeviceFacts[] DeviceList(DeviceOptions options = null)
        {
            NativeDeviceOptions optionsNative;
            UIntPtr resultNeeded;
            NativeError e;
            int status;
            using (var scope = options == null ? null : Scope.New())
            {
                NativeDeviceOptions* pOptions = DeviceOptions.Of(options, &optionsNative, scope);
                var result = new NativeDeviceFacts[64];
                do
                {
                    result[0].struct_size = (uint)sizeof(NativeDeviceFacts);
                    fixed (NativeDeviceFacts* pResult = result)
                        status = NativeMethods.ggufx_device_list(pResult, Native.Size(result.Length), &resultNeeded, Handle,
                            pOptions, &e);
                }
                while (Native.Grows(status, ref result, resultNeeded));
                Check.Ok(status, &e);
                return Array.ConvertAll(Native.Cut(result, resultNeeded), x => new DeviceFacts(&x));
            }
        }

        /// <summary>Returns the exact bytes that Embedder allocates for a model of this file.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Io, Limit, Type, Unsupported, Cancelled, Mismatch, Device,
        /// ValueType, Shape, Split, Hyperparameter, Missing.</exception>
        /// <remarks>
        /// <para>The model itself is not included: see Runtime.Estimate. The file may be opened for metadata only.</para>
        /// </remarks>
        public ulong EmbedderEstimate(GgufFile file, EmbedOptions options = null)
        {
            NativeEmbedOptions optionsNative;
            ulong resultNative;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_embedder_estimate(&resultNative, Handle, file.Handle,
                EmbedOptions.Of(options, &optionsNative), &e), &e);
            return resultNative;
        }

        /// <summary>Estimates the memory of a model, as stored or under a quantization mix (FileType).</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Type, Unsupported, Mismatch, ValueType, Value, Shape,
        /// Overflow, Split, Hyperparameter, Missing.</exception>
        /// <remarks>
        /// <para>The file may be opened for metadata only, and may consist of its header alone.</para>
        /// <list type="bullet">
        /// <item>ModelBytes + KvBytes + SessionBytes are the exact bytes that the allocator returns later, for a runtime with as
        /// many threads as rt. With ContextTotal they are the maximum.</item>
        /// <item>FileBytes are the exact bytes that Quantizer.Run writes.</item>
        /// <item>For a rank of a group the bytes of model, caches, sessions and those read per token are of this rank. A
        /// quantization mix decides the packing of its messages.</item>
        /// <item>Not included: the directory of the opened file (about 200 bytes per tensor and key), tokenizer, sampler, threads
        /// and their stacks.</item>
        /// </list>
        /// </remarks>
        public EstimateFacts Estimate(GgufFile file, EstimateOptions options = null)
        {
            NativeEstimateOptions optionsNative;
            NativeError e;
            using (var scope = options == null ? null : Scope.New())
            {
                var resultNative = default(NativeEstimateFacts);
                resultNative.struct_size = (uint)sizeof(NativeEstimateFacts);
                Check.Ok(NativeMethods.ggufx_estimate(&resultNative, Handle, file.Handle,
                    EstimateOptions.Of(options, &optionsNative, scope), &e), &e);
                return new EstimateFacts(&resultNative);
            }
        }

        /// <summary>Recommends the quantization mix and KV cache types with the least loss that fit into MemoryBytes.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Type, Unsupported, Capacity, Mismatch, ValueType, Value,
        /// Shape, Overflow, Split, Hyperparameter, Missing.</exception>
        /// <remarks>
        /// <para>They must fit with Context tokens; 0 is the default of Session. Candidates are combinations of:</para>
        /// <list type="bullet">
        /// <item>Weights: the file as it is, and every mix that needs no imatrix or has one. Mixes are tried if the file has no
        /// quantized tensor or the job allows requantization. If FileType is given, only this mix is tried.</item>
        /// <item>KV cache types: a ladder from F16 down. If TypeK or TypeV is given, only these are tried.</item>
        /// </list>
        /// <para>facts.loss is the expected KL divergence from the file as it is with an F32 cache, in nats per token. It is the
        /// sum of a part for the weights, proportional to the square of WeightError, and a part for keys and values. WeightError
        /// is the root mean square, over all values, of the relative error of a type on Gaussian values. The errors are those of
        /// the reference quantizer, with the imatrix if there is one.</para>
        /// <para>The losses come from measurements of one small model. They rank candidates and predict no loss of another model.
        /// If losses are equal, the candidate with fewer bytes is chosen.</para>
        /// </remarks>
        public EstimateFacts Recommend(GgufFile file, EstimateOptions options = null)
        {
            NativeEstimateOptions optionsNative;
            NativeError e;
            using (var scope = options == null ? null : Scope.New())
            {
                var resultNative = default(NativeEstimateFacts);
                resultNative.struct_size = (uint)sizeof(NativeEstimateFacts);
                Check.Ok(NativeMethods.ggufx_recommend(&resultNative, Handle, file.Handle,
                    EstimateOptions.Of(options, &optionsNative, scope), &e), &e);
                return new EstimateFacts(&resultNative);
            }
        }

        /// <summary>Computes the results of predictions that were measured in several runs.</summary>
        /// <param name="rows">[nRows] as rows of EvalOptions got them.</param>
        /// <param name="nChunks">Number of their chunks, of nContext tokens each; copied to the facts.</param>
        /// <param name="flags">EvalFlags.Compared with saved logits; _SAME_MODEL is copied to the facts.</param>
        /// <exception cref="GgufxException">Argument, Memory, Value.</exception>
        /// <remarks>
        /// <para>They have the bits of one run over the whole text if the rows are all of its rows in the order of the
        /// text.</para>
        /// </remarks>
        public EvalFacts EvalMerge(IReadOnlyList<EvalRow> rows, ulong nChunks, uint nContext, EvalFlags flags = 0)
        {
            NativeError e;
            using (var scope = Scope.New())
            {
                var resultNative = default(NativeEvalFacts);
                resultNative.struct_size = (uint)sizeof(NativeEvalFacts);
                Check.Ok(NativeMethods.ggufx_eval_merge(&resultNative, Handle, EvalRow.Of(rows, scope), Native.Size(rows.Count),
                    nChunks, nContext, (uint)flags, &e), &e);
                return new EvalFacts(&resultNative);
            }
        }

        /// <summary>Quantizes rows for inputs with given moments, with the same bytes on every machine and thread
        /// count.</summary>
        /// <param name="to">As in Runtime.Quantize.</param>
        /// <returns>The result;.</returns>
        /// <exception cref="GgufxException">Argument, Memory, Type, Cancelled, Value, Shape.</exception>
        /// <remarks>
        /// <para>Begins with the blocks of QuantizeMode.Refined, where the imatrix is the mean square of each column. Coordinate
        /// descent then lowers the squared error of the outputs, averaged over the inputs: it changes codes, scales and minimums
        /// one at a time. docs/reproducibility/feedback.md is the definition. A change of the target (MomentsFlags.Drift) needs
        /// at least 16 inputs per column.</para>
        /// <para>Each call prepares the moments again, in time proportional to the cube of Cols with MomentsFlags.Drift: pass all
        /// rows with the same inputs at once.</para>
        /// </remarks>
        public FeedbackFacts QuantizeFeedback(Span<byte> to, FeedbackArgs args)
        {
            NativeFeedbackArgs argsNative;
            NativeError e;
            using (var scope = Scope.New())
            {
                var factsNative = default(NativeFeedbackFacts);
                factsNative.struct_size = (uint)sizeof(NativeFeedbackFacts);
                fixed (byte* pOut = &Native.First(to))
                    scope.End(NativeMethods.ggufx_quantize_feedback(pOut, Native.Size(to.Length), Handle,
                        FeedbackArgs.Of(args, &argsNative, scope), &factsNative, &e), &e);
                return new FeedbackFacts(&factsNative);
            }
        }

        /// <summary>Returns the bytes that a cache allocates after nTokens tokens are reserved in every sequence.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Type.</exception>
        /// <remarks>
        /// <para>Appending these tokens takes no more. The object of the handle is included.</para>
        /// </remarks>
        public ulong KvEstimate(ulong nTokens, KvOptions options = null)
        {
            NativeKvOptions optionsNative;
            ulong resultNative;
            NativeError e;
            using (var scope = options == null ? null : Scope.New())
            {
                Check.Ok(NativeMethods.ggufx_kv_estimate(&resultNative, Handle, KvOptions.Of(options, &optionsNative, scope),
                    nTokens, &e), &e);
                return resultNative;
            }
        }

        /// <summary>Computes y = W x for one vector.</summary>
        /// <param name="y">f32, nY = rows values; must not overlap x.</param>
        /// <param name="w">A tensor of any type with TypeFlags.HAS_MATVEC: rows = ne1 * ne2 * ne3, columns = ne0.</param>
        /// <param name="x">f32, nX = ne0 values.</param>
        /// <exception cref="GgufxException">Argument, Limit, Type, Unsupported, Cancelled.</exception>
        /// <remarks>
        /// <para>A NaN in x gives NaN (bits 0x7fc00000) in every y. So does an infinity with 8-bit activations; with f32
        /// activations it follows IEEE 754. -0 is stored as +0.</para>
        /// <para>Sums run in f32, also before their scales are applied. If |x| is above about 1e30 they can overflow to an
        /// infinity or NaN, although the exact result is finite. An MXFP4 scale (up to 2^127) times the scale of 8- or 15-bit
        /// activations can be infinite; codes that are 0 then give NaN.</para>
        /// </remarks>
        public void Matvec(Span<float> y, Tensor w, ReadOnlySpan<float> x, MatmulOptions options = null)
        {
            NativeMatmulOptions optionsNative;
            NativeError e;
            using (var scope = options == null ? null : Scope.New())
            {
                fixed (float* pY = &Native.First(y))
                fixed (float* pX = &Native.First(x))
                    Scope.End(scope, NativeMethods.ggufx_matvec(pY, Native.Size(y.Length), Handle, w.Handle, pX,
                        Native.Size(x.Length), MatmulOptions.Of(options, &optionsNative, scope), &e), &e);
            }
        }

        /// <summary>Dequantizes rows of a tensor to f32, bit-exact with the definition of the formats.</summary>
        /// <param name="to">f32, [nRows][ne0], dense; nOut &gt;= nRows * ne0 floats.</param>
        /// <param name="firstRow">First row, counted over all outer dimensions: ne1 * ne2 * ne3 rows.</param>
        /// <exception cref="GgufxException">Argument, Type, Unsupported.</exception>
        /// <remarks>
        /// <para>I8 .. I64 and F64 are converted to f32 (round to nearest even).</para>
        /// </remarks>
        public void Dequantize(Span<float> to, Tensor tensor, ulong firstRow, ulong nRows)
        {
            NativeError e;
            fixed (float* pOut = &Native.First(to))
                Check.Ok(NativeMethods.ggufx_dequantize(pOut, Native.Size(to.Length), Handle, tensor.Handle, firstRow, nRows, &e),
                    &e);
        }

        /// <summary>Quantizes rows to blocks, with the same bytes on every machine and thread count.</summary>
        /// <param name="to">nBytes &gt;= NRows * Library.TypeRowBytes(type, Cols), written dense, little-endian fields; must not
        /// overlap the rows. Unspecified after an error.</param>
        /// <exception cref="GgufxException">Argument, Memory, Type, Unsupported, Cancelled, Value, Shape.</exception>
        /// <remarks>
        /// <para>Types without a search (Q8_0, F16, ...) ignore the imatrix. IQ2_XXS, IQ2_XS and IQ1_S need one. IQ3_S has the
        /// bytes of the reference also in this case: a group of 32 zeros shifts the codes of later groups. Such blocks dequantize
        /// to wrong values; QuantizeMode.Refined avoids them. IQ1, IQ2 and IQ3 begin each call with tables, which take up to 1 MB
        /// and tens of ms: pass many rows.</para>
        /// </remarks>
        public void Quantize(Span<byte> to, QuantizeArgs args)
        {
            NativeQuantizeArgs argsNative;
            NativeError e;
            using (var scope = Scope.New())
            {
                fixed (byte* pOut = &Native.First(to))
                    scope.End(NativeMethods.ggufx_quantize(pOut, Native.Size(to.Length), Handle,
                        QuantizeArgs.Of(args, &argsNative, scope), &e), &e);
            }
        }

        /// <summary>Computes the natural log-probabilities of the k likeliest among n tokens, or of k given tokens.</summary>
        /// <param name="tokens">Ids below n; null: the k likeliest.</param>
        /// <exception cref="GgufxException">Argument, Value.</exception>
        /// <remarks>
        /// <para>Each is logit - largest - log(sum of weights) in binary64, rounded once; the sum is that of a vocabulary. The
        /// log-probability of a logit of -infinity is -infinity.</para>
        /// </remarks>
        public int[] Logprobs(long k, ReadOnlySpan<float> logits, out float[] logprobs,
            ReadOnlySpan<int> tokens = default(ReadOnlySpan<int>))
        {
            NativeError e;
            if (tokens.Length != 0) Check.Length(tokens.Length, checked((long)k), "tokens");
            var ids = new int[Native.Count(k, "k")];
            logprobs = new float[Native.Count(k, "k")];
            fixed (float* pLogits = &Native.First(logits))
            fixed (int* pTokens = &MemoryMarshal.GetReference(tokens))
            fixed (int* pIds = &Native.First(ids))
            fixed (float* pLogprobs = &Native.First(logprobs))
                Check.Ok(NativeMethods.ggufx_logprobs(pIds, pLogprobs, Native.Size(k, "k"), Handle, pLogits,
                    Native.Size(logits.Length), tokens.Length == 0 ? null : pTokens, &e), &e);
            return ids;
        }

        /// <summary>Returns the name of the instruction set whose matvec kernel computes a tensor type: "avx512". An unknown type
        /// gives null.</summary>
        public string KernelName(TensorType type)
        {
            return Native.TextOrNull(NativeMethods.ggufx_runtime_kernel_name(Handle, (uint)type));
        }

        /// <summary>Finishes an edit in place that a crash interrupted, or restores a split set after an interrupted
        /// replace.</summary>
        /// <returns>Whether there was an interruption.</returns>
        /// <exception cref="GgufxException">Argument, Memory, Io, NotFound, State.</exception>
        /// <remarks>
        /// <para>For a set, path is that of any part. The old parts are restored, or deleted if all new parts have their names.
        /// The log tells (INFO) how much was left to do.</para>
        /// </remarks>
        public bool FileRecoverEdit(string path)
        {
            int resultNative;
            NativeError e;
            fixed (byte* pPath = Native.Utf8(path))
                Check.Ok(NativeMethods.ggufx_file_recover_edit(&resultNative, Handle, pPath, &e), &e);
            return resultNative != 0;
        }
    }

    /// <summary>A compiled template. Immutable.</summary>
    public sealed unsafe partial class ChatTemplate : IDisposable
    {
        private readonly ChatTemplateHandle _made;

        internal ChatTemplateHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Compiles a chat template: options.Text, a built-in format, or else the template of a file.</summary>
        /// <param name="file">Read by the call and not kept; null if it is not needed.</param>
        /// <exception cref="GgufxException">Argument, Memory, Malformed, Limit, Unsupported, NotFound, ValueType.</exception>
        /// <remarks>
        /// <para>Time and memory are linear in the size of the template, which is at most 16 MiB.</para>
        /// </remarks>
        public ChatTemplate(Runtime rt, GgufFile file = null, ChatTemplateOptions options = null)
        {
            NativeChatTemplateOptions optionsNative;
            NativeError e;
            using (var scope = options == null ? null : Scope.New())
                Check.Ok(NativeMethods.ggufx_chat_template_create(out _made, rt.Handle,
                    file == null ? FileHandle.None : file.Handle, ChatTemplateOptions.Of(options, &optionsNative, scope), &e),
                    &e);
        }

        /// <summary>Renders a conversation as a prompt.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Malformed, Limit, Unsupported, Capacity, Cancelled, Mismatch,
        /// Value.</exception>
        /// <remarks>
        /// <para>ChatTemplate.Spans tells which bytes came from users.</para>
        /// <para>JSON is parsed strictly (RFC 8259, 96 levels). The last of equal names counts. An integer beyond 64 bits becomes
        /// a float.</para>
        /// <para>Messages are converted to the form that the template supports, if their own form fails or loses content:</para>
        /// <list type="bullet">
        /// <item>Arguments of calls are an object or JSON text. "", null and absent arguments are {}. Arguments that are no JSON
        /// object are Status.Malformed if the template wants one; the message quotes them, index is the message.</item>
        /// <item>An absent content of a message with calls is "" or null.</item>
        /// <item>Lists of text parts stay lists, or are joined.</item>
        /// <item>Calls that a template leaves out become a part of the content, in the form that its models write
        /// (ChatTemplate.Info). Results that a template leaves out stay left out.</item>
        /// </list>
        /// <para>If a template fails, it is run a second time, with the same limits. That run fills in missing descriptions,
        /// parameters, call ids (nine letters and digits) and names of results. It merges system messages into one at the start.
        /// A third run has one call per message.</para>
        /// <para>With ChatFlags.Continue, and without ChatFlags.Generate, the prompt ends after the content of the last message,
        /// so that the model continues it. If it only has reasoning_content, the prompt ends after that.</para>
        /// </remarks>
        public string Render(ChatRequest request)
        {
            NativeChatRequest requestNative;
            UIntPtr resultNeeded;
            NativeError e;
            int status;
            using (var scope = Scope.New())
            {
                NativeChatRequest* pRequest = ChatRequest.Of(request, &requestNative, scope);
                var result = new byte[1024];
                do
                {
                    fixed (byte* pResult = result)
                        status = NativeMethods.ggufx_chat_template_render(pResult, Native.Size(result.Length), &resultNeeded,
                            Handle, pRequest, &e);
                }
                while (Native.Grows(status, ref result, resultNeeded));
                scope.End(status, &e);
                return Native.Text(result, resultNeeded);
            }
        }

        /// <summary>Renders a conversation and returns the spans of the prompt; neighbouring spans differ in origin.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Malformed, Limit, Unsupported, Capacity, Cancelled, Mismatch,
        /// Value.</exception>
        public ChatSpan[] Spans(ChatRequest request)
        {
            NativeChatRequest requestNative;
            UIntPtr resultNeeded;
            NativeError e;
            int status;
            using (var scope = Scope.New())
            {
                NativeChatRequest* pRequest = ChatRequest.Of(request, &requestNative, scope);
                var result = new NativeChatSpan[64];
                do
                {
                    fixed (NativeChatSpan* pResult = result)
                        status = NativeMethods.ggufx_chat_template_spans(pResult, Native.Size(result.Length), &resultNeeded,
                            Handle, pRequest, &e);
                }
                while (Native.Grows(status, ref result, resultNeeded));
                scope.End(status, &e);
                return Array.ConvertAll(Native.Cut(result, resultNeeded), x => new ChatSpan(&x));
            }
        }

        /// <summary>Renders a conversation and tokenizes it, so that text of the user never becomes a control token.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Malformed, Limit, Unsupported, Capacity, Cancelled, Mismatch,
        /// Value, Vocab.</exception>
        /// <remarks>
        /// <para>A control token is recognized only if the template wrote all of its bytes; elsewhere it is plain text. This
        /// holds for:</para>
        /// <list type="bullet">
        /// <item>TokenFlags.Control and TokenFlags.Unknown, and TokenFlags.UserDefined tokens that separate channels or
        /// messages</item>
        /// <item>other user-defined tokens whose text is in the template, in its strings, or is a marker of the output
        /// ("&lt;think&gt;"). White space and single characters are excluded.</item>
        /// </list>
        /// <para>All other user-defined tokens are recognized everywhere. Without such tokens in the messages the ids are those
        /// of Tokenizer.Tokenize with TokenizeFlags.ParseSpecial.</para>
        /// <para>request.Progress is also polled between tokens that are recognized as a whole.</para>
        /// <para>With TokenizeFlags.AddSpecial in flags, BOS is added once at the start if the file asks for it; nothing is added
        /// at the end.</para>
        /// </remarks>
        public int[] Tokenize(Tokenizer tokenizer, ChatRequest request, TokenizeFlags flags = 0)
        {
            NativeChatRequest requestNative;
            UIntPtr idsNeeded;
            NativeError e;
            int status;
            using (var scope = Scope.New())
            {
                NativeChatRequest* pRequest = ChatRequest.Of(request, &requestNative, scope);
                var ids = new int[1024];
                do
                {
                    fixed (int* pIds = ids)
                        status = NativeMethods.ggufx_chat_template_tokenize(pIds, Native.Size(ids.Length), &idsNeeded, Handle,
                            tokenizer.Handle, pRequest, (uint)flags, &e);
                }
                while (Native.Grows(status, ref ids, idsNeeded));
                scope.End(status, &e);
                return Native.Cut(ids, idsNeeded);
            }
        }

        /// <summary>Describes a template.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        /// <remarks>
        /// <para>The format of tool calls and reasoning is detected by rendering a conversation with known calls. If the template
        /// does not write them, it may contain known markers.</para>
        /// </remarks>
        public ChatTemplateFacts Info
        {
            get
            {
                NativeError e;
                using (new Hold(Handle))
                {
                    var resultNative = default(NativeChatTemplateFacts);
                    resultNative.struct_size = (uint)sizeof(NativeChatTemplateFacts);
                    Check.Ok(NativeMethods.ggufx_chat_template_info(&resultNative, Handle, &e), &e);
                    return new ChatTemplateFacts(&resultNative);
                }
            }
        }
    }

    /// <summary>Splits the output of a model into answer, reasoning and tool calls, while it is generated. Exclusive. A call that
    /// changes it is exclusive: another one at the same time fails with Status.State.</summary>
    public sealed unsafe partial class ChatParser : IDisposable
    {
        private readonly ChatParserHandle _made;

        internal ChatParserHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Creates a parser. The template may be destroyed before the parser.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Malformed, Limit, Unsupported.</exception>
        public ChatParser(Runtime rt, ChatParserOptions options = null)
        {
            NativeChatParserOptions optionsNative;
            NativeError e;
            using (var scope = options == null ? null : Scope.New())
                Check.Ok(NativeMethods.ggufx_chat_parser_create(out _made, rt.Handle,
                    ChatParserOptions.Of(options, &optionsNative, scope), &e), &e);
        }

        /// <summary>Parses the next bytes of the output, which must include special tokens
        /// (DetokenizeFlags.KeepSpecial).</summary>
        /// <exception cref="GgufxException">Argument, Memory, State.</exception>
        /// <remarks>
        /// <para>The events wait for ChatParser.Poll. The pieces into which the output is split do not change the text of a kind
        /// or call. Bytes that may become a marker are held back, and a call until it is complete (at most 16 MiB). Invalid UTF-8
        /// becomes U+FFFD. Line breaks beside markers are dropped. An incomplete call is text of the answer.</para>
        /// <para>Arguments become a JSON object:</para>
        /// <list type="bullet">
        /// <item>Missing arguments, null and an empty text become {}.</item>
        /// <item>Values between markers get their types from the schema of the tool. A parameter that may be a string is one,
        /// unless it is null and the schema allows null. Others are read as JSON or as a Python literal; numbers keep all
        /// digits.</item>
        /// <item>Without a schema, a value that is valid JSON is read as such.</item>
        /// <item>The last of repeated parameters in an object counts. Parameters outside of the schema are passed on; missing
        /// ones stay missing.</item>
        /// <item>A value that quotes markers ends at the first legal end: markers of calls within it nest. A parameter that is
        /// repeated or not in the schema starts only after the white space of the template.</item>
        /// </list>
        /// <para>An unclosed call within reasoning ends the reasoning, unless text follows it.</para>
        /// </remarks>
        public void Feed(string text)
        {
            Feed(Native.Bytes(text));
        }

        /// <summary>The same for UTF-8, which may be cut anywhere.</summary>
        public void Feed(ReadOnlySpan<byte> text)
        {
            NativeError e;
            using (Handle.Changing())
            {
                fixed (byte* pText = &Native.First(text))
                    Check.Ok(NativeMethods.ggufx_chat_parser_feed(Handle, pText, Native.Size(text.Length), &e), &e);
            }
        }

        /// <summary>Ends the output; bytes that were held back become events.</summary>
        /// <exception cref="GgufxException">Argument, Memory, State.</exception>
        public void Finish()
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_chat_parser_finish(Handle, &e), &e);
        }

        /// <summary>Takes the next event; EventKind.None when there is none.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public Event Poll()
        {
            NativeError e;
            using (Handle.Changing())
            using (new Hold(Handle))
            {
                var resultNative = default(NativeEvent);
                resultNative.struct_size = (uint)sizeof(NativeEvent);
                Check.Ok(NativeMethods.ggufx_chat_parser_poll(&resultNative, Handle, &e), &e);
                return new Event(&resultNative);
            }
        }

        /// <summary>Describes the position of a parser in the output.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public ChatParserFacts Info
        {
            get
            {
                NativeError e;
                using (Handle.Reading())
                using (new Hold(Handle))
                {
                    var resultNative = default(NativeChatParserFacts);
                    resultNative.struct_size = (uint)sizeof(NativeChatParserFacts);
                    Check.Ok(NativeMethods.ggufx_chat_parser_info(&resultNative, Handle, &e), &e);
                    return new ChatParserFacts(&resultNative);
                }
            }
        }
    }

    /// <summary>An opened device. Tensors in its memory, and models, keep it alive. A call that changes it is exclusive: another
    /// one at the same time fails with Status.State.</summary>
    public sealed unsafe partial class Device : IDisposable
    {
        private readonly DeviceHandle _made;

        internal Device(DeviceHandle made) { _made = made; }

        internal DeviceHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Opens a device by its id in the list. "auto" selects the first usable device that is not software.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Unsupported, Device.</exception>
        /// <remarks>
        /// <para>Its arithmetic is tested. Shaders are compiled on first use. Plugins and drivers stay loaded until the process
        /// ends. After a fork the child must not use devices of the parent.</para>
        /// </remarks>
        public static Device Open(Runtime rt, string id, DeviceOptions options = null)
        {
            NativeDeviceOptions optionsNative;
            DeviceHandle made;
            NativeError e;
            using (var scope = options == null ? null : Scope.New())
            {
                fixed (byte* pId = Native.Utf8(id))
                    Check.Ok(NativeMethods.ggufx_device_open(out made, rt.Handle, pId,
                        DeviceOptions.Of(options, &optionsNative, scope), &e), &e);
                return new Device(made);
            }
        }

        /// <summary>Frees everything on a device, including the data of its tensors.</summary>
        /// <remarks>
        /// <para>The call waits for running work, then frees memory, pipelines and queues. Later calls on the device and its
        /// tensors fail with DEVICE. The handles must still be destroyed, in any order. An engine calls this before it destroys
        /// its VkDevice.</para>
        /// </remarks>
        public void Detach()
        {
            using (Handle.Changing())
                NativeMethods.ggufx_device_detach(Handle);
        }

        /// <summary>Describes an opened device.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public DeviceFacts Info
        {
            get
            {
                NativeError e;
                using (Handle.Reading())
                {
                    var resultNative = default(NativeDeviceFacts);
                    resultNative.struct_size = (uint)sizeof(NativeDeviceFacts);
                    Check.Ok(NativeMethods.ggufx_device_info(&resultNative, Handle, &e), &e);
                    return new DeviceFacts(&resultNative);
                }
            }
        }
    }

    /// <summary>Scratch memory, and keys and values of one layer. Exclusive. Keeps its model alive. A call that changes it is
    /// exclusive: another one at the same time fails with Status.State.</summary>
    public sealed unsafe partial class Embedder : IDisposable
    {
        private readonly EmbedderHandle _made;

        internal EmbedderHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Replaces the adapters of an embedder, for all inputs of later calls.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Mismatch.</exception>
        public void SetAdapters(params AdapterUse[] uses)
        {
            NativeError e;
            using (Handle.Changing())
            using (var scope = Scope.New())
                Check.Ok(NativeMethods.ggufx_embedder_set_adapters(Handle, AdapterUse.Of(uses, scope), Native.Size(uses.Length),
                    &e), &e);
        }

        /// <summary>Creates an embedder and allocates all its memory.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Unsupported.</exception>
        /// <remarks>
        /// <para>An input is computed as a whole, so the scratch memory is for at least Context tokens.</para>
        /// </remarks>
        public Embedder(Model model, EmbedOptions options = null)
        {
            NativeEmbedOptions optionsNative;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_embedder_create(out _made, model.Handle, EmbedOptions.Of(options, &optionsNative), &e),
                &e);
        }

        /// <summary>Describes an embedder.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public EmbedderFacts Info
        {
            get
            {
                NativeError e;
                using (Handle.Reading())
                {
                    var resultNative = default(NativeEmbedderFacts);
                    resultNative.struct_size = (uint)sizeof(NativeEmbedderFacts);
                    Check.Ok(NativeMethods.ggufx_embedder_info(&resultNative, Handle, &e), &e);
                    return new EmbedderFacts(&resultNative);
                }
            }
        }

        /// <summary>Embeds inputs of token ids.</summary>
        /// <param name="to">f32 [nTexts][dimensions], nOut floats in all. With Pooling.None one row per used token. Undefined
        /// after a failure.</param>
        /// <param name="texts">The inputs, at least one id each. They include the special tokens that the model was trained with
        /// (TokenizeFlags.AddSpecial).</param>
        /// <param name="token">Cancels the call.</param>
        /// <param name="progress">Counts tokens, polled between layers and within products.</param>
        /// <exception cref="GgufxException">Argument, Cancelled, Value.</exception>
        /// <remarks>
        /// <para>Token types are 0 for models that have them. As many inputs as fit are computed together. Models with recurrent
        /// layers, or layers that read the keys of another layer, compute one at a time.</para>
        /// </remarks>
        public void Embed(Span<float> to, IReadOnlyList<TokenList> texts, CancellationToken token = default(CancellationToken),
            IProgress<Progress> progress = null)
        {
            NativeError e;
            using (Handle.Changing())
            using (var scope = Scope.New())
            {
                fixed (float* pOut = &Native.First(to))
                    scope.End(NativeMethods.ggufx_embed(pOut, Native.Size(to.Length), Handle, TokenList.Of(texts, scope),
                        Native.Size(texts.Count), scope.Follow(token, progress), &e), &e);
            }
        }
    }

    /// <summary>Second moments of the inputs of a matrix: sums of y y^T, where y is an input. A call that changes it is
    /// exclusive: another one at the same time fails with Status.State.</summary>
    public sealed unsafe partial class Moments : IDisposable
    {
        private readonly MomentsHandle _made;

        internal MomentsHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Creates moments without inputs, for a matrix with nColumns columns. Memory: 8 bytes per pair of columns, 16
        /// with MomentsFlags.Drift.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit.</exception>
        public Moments(Runtime rt, long nColumns, MomentsFlags flags = 0)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_moments_create(out _made, rt.Handle, Native.Size(nColumns, "nColumns"), (uint)flags, &e),
                &e);
        }

        /// <summary>Describes moments.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public MomentsFacts Info
        {
            get
            {
                NativeError e;
                using (Handle.Reading())
                {
                    var resultNative = default(NativeMomentsFacts);
                    resultNative.struct_size = (uint)sizeof(NativeMomentsFacts);
                    Check.Ok(NativeMethods.ggufx_moments_info(&resultNative, Handle, &e), &e);
                    return new MomentsFacts(&resultNative);
                }
            }
        }

        /// <summary>Adds inputs to moments. The sums are binary64, in the order of the inputs: they depend neither on threads and
        /// machine nor on how the inputs are split into calls.</summary>
        /// <exception cref="GgufxException">Argument, Cancelled, Value.</exception>
        public void Add(MomentsInputs inputs)
        {
            NativeMomentsInputs inputsNative;
            NativeError e;
            using (Handle.Changing())
            using (var scope = Scope.New())
                scope.End(NativeMethods.ggufx_moments_add(Handle, MomentsInputs.Of(inputs, &inputsNative, scope), &e), &e);
        }
    }

    /// <summary>An opened file: metadata and tensor directory. Immutable.</summary>
    public sealed unsafe partial class GgufFile : IDisposable
    {
        private readonly FileHandle _made;

        internal GgufFile(FileHandle made) { _made = made; }

        internal FileHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Opens a GGUF file by its UTF-8 path.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Io, Truncated, Magic, Version, Endian, Malformed, Limit, Type,
        /// Unsupported, NotFound, Cancelled, Count, Length, Key, ValueType, Value, Duplicate, Alignment, Name, Ndims, Shape,
        /// Overflow, Offset, Bounds, Split.</exception>
        /// <remarks>
        /// <para>Any part of a split set ("x-00002-of-00003.gguf") opens the whole set. Big-endian files are supported; their
        /// tensor data are byte-swapped into memory at open.</para>
        /// <para>Tensor data in huge pages (2 MiB) are read faster. A mapping of a file has them without a copy if its file
        /// system and the page cache do (Linux). Otherwise:</para>
        /// <list type="bullet">
        /// <item>OpenFlags.HugePages with IoMode.Auto copies a file into memory of the runtime's allocator, with all threads, and
        /// ends its mapping. Without huge pages, the file stays mapped, and the log has a warning. With IoMode.Read it requests
        /// huge pages for the data that are read.</item>
        /// <item>OpenFlags.HugeAuto does so for 32 MiB and more, only if the mapping has small pages and memory is free. The copy
        /// must leave half of its size of the machine's memory, and of the limits of the process and its control groups.</item>
        /// <item>OpenFlags.Reread drops the file from the page cache before it is mapped, if it has small pages there. Pages that
        /// other processes have mapped stay.</item>
        /// </list>
        /// <para>If another process changes a mapped file in place:</para>
        /// <list type="bullet">
        /// <item>Keys, numbers, names, shapes, and strings up to 4 KiB outside of arrays keep the values of the open.</item>
        /// <item>Tensor data, array elements and longer strings may change, but views of them never leave the file. A string of
        /// an array whose length no longer fits is Status.Malformed.</item>
        /// <item>A truncated file raises SIGBUS at the next access to a missing page, like any mapping.</item>
        /// </list>
        /// <para>IoMode.Read, a copy in huge pages, or OpenFlags.Copy for memory, protects against such changes. Borrowed memory
        /// and maps of callbacks behave like mapped files.</para>
        /// </remarks>
        public static GgufFile Open(Runtime rt, string path, OpenOptions options = null)
        {
            NativeOpenOptions optionsNative;
            FileHandle made;
            NativeError e;
            using (var scope = options == null ? null : Scope.New())
            {
                fixed (byte* pPath = Native.Utf8(path))
                    Scope.End(scope, NativeMethods.ggufx_open(out made, rt.Handle, pPath,
                        OpenOptions.Of(options, &optionsNative, scope), &e), &e);
                return new GgufFile(made);
            }
        }

        /// <summary>Opens length bytes at offset of a file descriptor, such as a model inside an archive.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Io, Truncated, Magic, Version, Endian, Malformed, Limit, Type,
        /// Unsupported, NotFound, Cancelled, Count, Length, Key, ValueType, Value, Duplicate, Alignment, Name, Ndims, Shape,
        /// Overflow, Offset, Bounds, Split.</exception>
        /// <remarks>
        /// <para>length 0 means up to the end of the file. The descriptor is duplicated: the caller keeps and closes its own.
        /// POSIX only, else Status.Unsupported.</para>
        /// </remarks>
        public static GgufFile OpenFd(Runtime rt, int fd, ulong offset, ulong length, OpenOptions options = null)
        {
            NativeOpenOptions optionsNative;
            FileHandle made;
            NativeError e;
            using (var scope = options == null ? null : Scope.New())
            {
                Scope.End(scope, NativeMethods.ggufx_open_fd(out made, rt.Handle, fd, offset, length,
                    OpenOptions.Of(options, &optionsNative, scope), &e), &e);
                return new GgufFile(made);
            }
        }

        /// <summary>Describes a file.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public FileFacts Info
        {
            get
            {
                NativeError e;
                var resultNative = default(NativeFileFacts);
                resultNative.struct_size = (uint)sizeof(NativeFileFacts);
                Check.Ok(NativeMethods.ggufx_file_info(&resultNative, Handle, &e), &e);
                return new FileFacts(&resultNative);
            }
        }

        /// <summary>Describes the memory of a file's tensor data.</summary>
        /// <exception cref="GgufxException">Argument, Memory.</exception>
        /// <remarks>
        /// <para>A mapping has only the pages that this process has used. The kernel counts them during the call, which takes
        /// about a millisecond per GB.</para>
        /// </remarks>
        public FileMemoryFacts Memory()
        {
            NativeError e;
            var resultNative = default(NativeFileMemoryFacts);
            resultNative.struct_size = (uint)sizeof(NativeFileMemoryFacts);
            Check.Ok(NativeMethods.ggufx_file_memory(&resultNative, Handle, &e), &e);
            return new FileMemoryFacts(&resultNative);
        }

        /// <summary>Returns the number of keys.</summary>
        public long MetaCount { get { return (long)NativeMethods.ggufx_file_meta_count(Handle); } }

        /// <summary>Describes the key index, in file order.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public MetaFacts MetaAt(long index)
        {
            NativeError e;
            using (new Hold(Handle))
            {
                var resultNative = default(NativeMetaFacts);
                resultNative.struct_size = (uint)sizeof(NativeMetaFacts);
                Check.Ok(NativeMethods.ggufx_file_meta_at(&resultNative, Handle, Native.Size(index, "index"), &e), &e);
                return new MetaFacts(&resultNative);
            }
        }

        /// <summary>Finds the index of a key of length bytes.</summary>
        /// <exception cref="GgufxException">Argument, NotFound.</exception>
        public long MetaFind(string key)
        {
            UIntPtr keyLength;
            UIntPtr resultNative;
            NativeError e;
            fixed (byte* pKey = Native.Text(key, out keyLength))
                Check.Ok(NativeMethods.ggufx_file_meta_find(&resultNative, Handle, pKey, keyLength, &e), &e);
            return (long)resultNative;
        }

        /// <summary>Returns the value of a key as an unsigned integer.</summary>
        /// <exception cref="GgufxException">Argument, ValueType, Value.</exception>
        /// <remarks>
        /// <para>The scalar getters convert types without loss:</para>
        /// <list type="bullet">
        /// <item>u64 and i64 accept any integer type whose value fits, and bool as 0 or 1.</item>
        /// <item>f64 accepts f32, f64 and integers up to 2^53.</item>
        /// <item>bool accepts only bool; any non-zero byte is true.</item>
        /// </list>
        /// <para>An array of exactly one such element is accepted as a scalar.</para>
        /// </remarks>
        public ulong MetaU64(long index)
        {
            ulong resultNative;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_file_meta_u64(&resultNative, Handle, Native.Size(index, "index"), &e), &e);
            return resultNative;
        }

        /// <summary>Returns the value of a key as a signed integer.</summary>
        /// <exception cref="GgufxException">Argument, ValueType, Value.</exception>
        public long MetaI64(long index)
        {
            long resultNative;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_file_meta_i64(&resultNative, Handle, Native.Size(index, "index"), &e), &e);
            return resultNative;
        }

        /// <summary>Returns the value of a key as a floating-point number.</summary>
        /// <exception cref="GgufxException">Argument, ValueType, Value.</exception>
        public double MetaF64(long index)
        {
            double resultNative;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_file_meta_f64(&resultNative, Handle, Native.Size(index, "index"), &e), &e);
            return resultNative;
        }

        /// <summary>Returns the value of a bool key.</summary>
        /// <exception cref="GgufxException">Argument, ValueType, Value.</exception>
        public bool MetaBool(long index)
        {
            int resultNative;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_file_meta_bool(&resultNative, Handle, Native.Size(index, "index"), &e), &e);
            return resultNative != 0;
        }

        /// <summary>Returns a view of a string, borrowed from the file.</summary>
        /// <exception cref="GgufxException">Argument, Malformed, ValueType.</exception>
        public string MetaString(long index)
        {
            NativeText result;
            NativeError e;
            using (new Hold(Handle))
            {
                Check.Ok(NativeMethods.ggufx_file_meta_string(&result, Handle, Native.Size(index, "index"), &e), &e);
                return Native.Text(result.data, result.size);
            }
        }

        /// <summary>Copies elements first .. first + n - 1 of an array of numbers or bools, converted as the scalar getters
        /// do.</summary>
        /// <returns>The elements. A scalar counts as an array of one.</returns>
        /// <exception cref="GgufxException">Argument, ValueType, Value.</exception>
        public ulong[] MetaArrayU64(long index, ulong first, long n)
        {
            NativeError e;
            var result = new ulong[Native.Count(n, "n")];
            fixed (ulong* pResult = &Native.First(result))
                Check.Ok(NativeMethods.ggufx_file_meta_array_u64(pResult, Handle, Native.Size(index, "index"), first,
                    Native.Size(n, "n"), &e), &e);
            return result;
        }

        /// <summary>Copies array elements as signed integers.</summary>
        /// <returns>The elements.</returns>
        /// <exception cref="GgufxException">Argument, ValueType, Value.</exception>
        public long[] MetaArrayI64(long index, ulong first, long n)
        {
            NativeError e;
            var result = new long[Native.Count(n, "n")];
            fixed (long* pResult = &Native.First(result))
                Check.Ok(NativeMethods.ggufx_file_meta_array_i64(pResult, Handle, Native.Size(index, "index"), first,
                    Native.Size(n, "n"), &e), &e);
            return result;
        }

        /// <summary>Copies array elements as floating-point numbers.</summary>
        /// <returns>The elements.</returns>
        /// <exception cref="GgufxException">Argument, ValueType, Value.</exception>
        public double[] MetaArrayF64(long index, ulong first, long n)
        {
            NativeError e;
            var result = new double[Native.Count(n, "n")];
            fixed (double* pResult = &Native.First(result))
                Check.Ok(NativeMethods.ggufx_file_meta_array_f64(pResult, Handle, Native.Size(index, "index"), first,
                    Native.Size(n, "n"), &e), &e);
            return result;
        }

        /// <summary>Returns a view of element i of an array of strings, borrowed from the file.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Malformed, ValueType.</exception>
        /// <remarks>
        /// <para>The first call on an array builds a sparse table of offsets, which can fail with Status.Memory. Later calls are
        /// quick.</para>
        /// </remarks>
        public string MetaArrayString(long index, ulong i)
        {
            NativeText result;
            NativeError e;
            using (new Hold(Handle))
            {
                Check.Ok(NativeMethods.ggufx_file_meta_array_string(&result, Handle, Native.Size(index, "index"), i, &e), &e);
                return Native.Text(result.data, result.size);
            }
        }

        /// <summary>Returns the index of element i of an array of arrays.</summary>
        /// <exception cref="GgufxException">Argument, ValueType.</exception>
        /// <remarks>
        /// <para>GgufFile.MetaAt and the array getters accept this index like that of a key. It is not below
        /// GgufFile.MetaCount.</para>
        /// </remarks>
        public long MetaArrayNested(long index, ulong i)
        {
            UIntPtr outIndexNative;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_file_meta_array_nested(&outIndexNative, Handle, Native.Size(index, "index"), i, &e), &e);
            return (long)outIndexNative;
        }

        /// <summary>Returns the number of tensors of all parts.</summary>
        public long TensorCount { get { return (long)NativeMethods.ggufx_file_tensor_count(Handle); } }

        /// <summary>Returns the tensor index, in file order, borrowed; null if the index is out of range.</summary>
        public Tensor Tensor(long index)
        {
            IntPtr result;
            using (new Hold(Handle))
            {
                result = NativeMethods.ggufx_file_tensor(Handle, Native.Size(index, "index"));
                return result == IntPtr.Zero ? null : new Tensor(new TensorHandle(Handle, result));
            }
        }

        /// <summary>Finds the index of a tensor by its name of length bytes.</summary>
        /// <exception cref="GgufxException">Argument, NotFound.</exception>
        public long TensorFind(string name)
        {
            UIntPtr nameLength;
            UIntPtr resultNative;
            NativeError e;
            fixed (byte* pName = Native.Text(name, out nameLength))
                Check.Ok(NativeMethods.ggufx_file_tensor_find(&resultNative, Handle, pName, nameLength, &e), &e);
            return (long)resultNative;
        }

        /// <summary>Checks an opened file more thoroughly than the open did.</summary>
        /// <param name="report">Called for each finding; a result other than Status.Ok ends the check with it.</param>
        /// <param name="flags">ValidateFlags.</param>
        /// <param name="token">Cancels the call.</param>
        /// <param name="progress">Receives the progress of the call.</param>
        /// <exception cref="GgufxException">Argument, Memory, Unsupported, Cancelled.</exception>
        /// <remarks>
        /// <para>The result is Status.Ok also if there were findings.</para>
        /// </remarks>
        public void Validate(Func<FindingFacts, bool> report, ValidateFlags flags = 0,
            CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            NativeError e;
            using (var scope = Scope.New())
            {
                Check.Given(report, "report");
                scope.End(NativeMethods.ggufx_file_validate(Handle, (uint)flags, Callbacks.GgufFileValidateReport,
                    scope.User(report), scope.Follow(token, progress), &e), &e);
            }
        }

        /// <summary>Writes the graph of a file's model as readable text: a line per operation, equal layers once.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Io, Limit, Type, Unsupported, Capacity, Cancelled, Mismatch,
        /// Device, ValueType, Shape, Split, Hyperparameter, Missing.</exception>
        /// <remarks>
        /// <para>The file may be opened for metadata only. The wording may change between versions.</para>
        /// </remarks>
        public string ModelDescribeGraph()
        {
            UIntPtr resultNeeded;
            NativeError e;
            int status;
            var result = new byte[1024];
            do
            {
                fixed (byte* pResult = result)
                    status = NativeMethods.ggufx_model_describe_graph(pResult, Native.Size(result.Length), &resultNeeded, Handle,
                        &e);
            }
            while (Native.Grows(status, ref result, resultNeeded));
            Check.Ok(status, &e);
            return Native.Text(result, resultNeeded);
        }

        /// <summary>Results of MetaAt, in order.</summary>
        public IEnumerable<MetaFacts> Metas
        {
            get { for (long i = 0; i < MetaCount; i++) yield return MetaAt(i); }
        }

        /// <summary>Results of Tensor, in order.</summary>
        public IEnumerable<Tensor> Tensors
        {
            get { for (long i = 0; i < TensorCount; i++) yield return Tensor(i); }
        }
    }

    /// <summary>View of weight data with type, shape and row stride. Immutable. A tensor that GgufFile.Tensor returns is
    /// borrowed: it is valid until the file is destroyed and must not be destroyed itself.</summary>
    public sealed unsafe partial class Tensor : IDisposable
    {
        private readonly TensorHandle _made;

        internal Tensor(TensorHandle made) { _made = made; }

        internal TensorHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Copies a tensor to the memory of a device.</summary>
        /// <param name="token">Cancels the call.</param>
        /// <param name="progress">Receives the progress of the call.</param>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Type, Unsupported, Cancelled, Device, Shape.</exception>
        /// <remarks>
        /// <para>The result is a tensor with the same type, shape, name and bytes, MemoryKind 1 and Tensor.Data null. It can be
        /// sliced and multiplied. The file of w may be destroyed. After an error no memory stays allocated.</para>
        /// </remarks>
        public Tensor Upload(Device device, CancellationToken token = default(CancellationToken),
            IProgress<Progress> progress = null)
        {
            TensorHandle made;
            NativeError e;
            using (device.Handle.Reading())
            using (var scope = Scope.Of(token, progress))
            {
                Scope.End(scope, NativeMethods.ggufx_tensor_upload(out made, device.Handle, Handle, Scope.Progress(scope), &e),
                    &e);
                made.Inherit(Handle);
                return new Tensor(made);
            }
        }

        /// <summary>Copies the bytes of a tensor from the memory of a device: n = its Bytes, rows dense.</summary>
        /// <exception cref="GgufxException">Argument, Device.</exception>
        public void Download(Span<byte> to)
        {
            NativeError e;
            fixed (byte* pOut = &Native.First(to))
                Check.Ok(NativeMethods.ggufx_tensor_download(pOut, Native.Size(to.Length), Handle, &e), &e);
        }

        /// <summary>Computes the sum of all words of a tensor on its device, modulo 2^32.</summary>
        /// <exception cref="GgufxException">Argument, Unsupported, Device.</exception>
        /// <remarks>
        /// <para>The words of a row are little-endian, of 32 bits, padded with zeros. The device reads each byte once and does
        /// nothing else, so the time is that of reading, and a lower bound for a product.</para>
        /// </remarks>
        public uint Checksum()
        {
            uint resultNative;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_tensor_checksum(&resultNative, Handle, &e), &e);
            return resultNative;
        }

        /// <summary>Describes a tensor.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public TensorFacts Info
        {
            get
            {
                NativeError e;
                using (new Hold(Handle))
                {
                    var resultNative = default(NativeTensorFacts);
                    resultNative.struct_size = (uint)sizeof(NativeTensorFacts);
                    Check.Ok(NativeMethods.ggufx_tensor_info(&resultNative, Handle, &e), &e);
                    return new TensorFacts(&resultNative);
                }
            }
        }

        /// <summary>Creates a view of indices first .. first + n - 1 of dimension dim of a tensor.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Unsupported, Shape.</exception>
        /// <remarks>
        /// <para>Along dimension 0 (columns) both must be multiples of the block. The slice shares the data and keeps their owner
        /// alive.</para>
        /// </remarks>
        public Tensor Slice(uint dim, ulong first, ulong n)
        {
            TensorHandle made;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_tensor_slice(out made, Handle, dim, first, n, &e), &e);
            made.Inherit(Handle);
            return new Tensor(made);
        }
    }

    /// <summary>The generation loop of one sequence. Exclusive, together with its session. Keeps the session, the tokenizer, the
    /// grammar and the chat template alive. A call that changes it is exclusive: another one at the same time fails with
    /// Status.State.</summary>
    public sealed unsafe partial class Generator : IDisposable
    {
        private readonly GeneratorHandle _made;

        internal Generator(GeneratorHandle made) { _made = made; }

        internal GeneratorHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Creates a generator on a sequence of a session.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Unsupported, Mismatch, State, Vocab, Missing.</exception>
        /// <remarks>
        /// <para>Tokens that the sequence holds stay: a prompt reuses the prefix that it shares with them. The sampler, 28 bytes
        /// per token of the vocabulary, is the largest part of its memory.</para>
        /// </remarks>
        public Generator(Session session, GeneratorOptions options = null)
        {
            NativeGeneratorOptions optionsNative;
            NativeError e;
            using (session.Handle.Changing())
            using (var scope = options == null ? null : Scope.New())
            {
                Check.Ok(NativeMethods.ggufx_generator_create(out _made, session.Handle,
                    GeneratorOptions.Of(options, &optionsNative, scope), &e), &e);
                _made.Share(session.Handle);
            }
        }

        /// <summary>Sets the prompt and starts again.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Malformed, Limit, Unsupported, NotFound, Capacity, Mismatch, State,
        /// ValueType, Value, Vocab.</exception>
        /// <remarks>
        /// <para>Sampler, grammar and stop strings are reset, queued events are dropped. The sequence is truncated to the tokens
        /// that it shares with the prompt, except the last one of the prompt, whose logits are needed. Nothing is computed: the
        /// next step does that. With PromptFlags.Append the prompt may be empty; the last token of the sequence is then computed
        /// again.</para>
        /// <para>A text or messages get the special tokens that the file asks for, except with PromptFlags.Append.</para>
        /// </remarks>
        public void SetPrompt(Prompt prompt)
        {
            NativePrompt promptNative;
            NativeError e;
            using (Handle.Changing())
            using (var scope = Scope.New())
                scope.End(NativeMethods.ggufx_generator_set_prompt(Handle, Prompt.Of(prompt, &promptNative, scope), &e), &e);
        }

        /// <summary>Takes the next queued event; EventKind.None when there is none. Computes nothing.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public Event Poll()
        {
            NativeError e;
            using (Handle.Changing())
            using (new Hold(Handle))
            {
                var resultNative = default(NativeEvent);
                resultNative.struct_size = (uint)sizeof(NativeEvent);
                Check.Ok(NativeMethods.ggufx_generator_poll(&resultNative, Handle, &e), &e);
                return new Event(&resultNative);
            }
        }

        /// <summary>Takes the next event: a queued one, else that of the next steps of this generator alone.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Unsupported, Capacity, Cancelled, State, Value.</exception>
        /// <remarks>
        /// <para>EventKind.None means that a budget is used up. After END it is END again. PROMPT events are left out without
        /// GeneratorFlags.ScorePrompt. A suspended generator that is cancelled gives its END, without a step.</para>
        /// </remarks>
        public Event Next(StepOptions options = null)
        {
            NativeStepOptions optionsNative;
            NativeError e;
            using (Handle.Changing())
            using (var scope = options == null ? null : Scope.New())
            using (new Hold(Handle))
            {
                var resultNative = default(NativeEvent);
                resultNative.struct_size = (uint)sizeof(NativeEvent);
                Scope.End(scope, NativeMethods.ggufx_generator_next(&resultNative, Handle,
                    StepOptions.Of(options, &optionsNative, scope), &e), &e);
                return new Event(&resultNative);
            }
        }

        /// <summary>Asks a generator to end: after the queued events its next step gives END. A step that computes only cancelled
        /// generators ends within 5 ms. Never waits.</summary>
        public void Cancel()
        {
            NativeMethods.ggufx_generator_cancel(Handle);
        }

        /// <summary>Gives the sequence back, for another generator (preemption). Tokens, sampler and events stay.</summary>
        /// <exception cref="GgufxException">Argument, Unsupported, State.</exception>
        public void Suspend()
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_generator_suspend(Handle, &e), &e);
        }

        /// <summary>Continues a suspended generator with a sequence that no generator has.</summary>
        /// <returns>Tokens that the sequence holds already.</returns>
        /// <exception cref="GgufxException">Argument, State.</exception>
        /// <remarks>
        /// <para>Tokens that the sequence holds already are reused. The next steps compute the others again, each in its mode and
        /// so with the same bits.</para>
        /// </remarks>
        public ulong Resume(uint sequence)
        {
            ulong nReusedNative;
            NativeError e;
            using (Handle.Changing())
            {
                Check.Ok(NativeMethods.ggufx_generator_resume(&nReusedNative, Handle, sequence, &e), &e);
                return nReusedNative;
            }
        }

        /// <summary>Keeps the first nTokens tokens of prompt and output, at least one, and goes on from there.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, State.</exception>
        /// <remarks>
        /// <para>The next steps compute the last of them again and generate another output: random numbers go on. Penalties,
        /// grammar and parser are replayed. Queued events are dropped, and an end is revoked.</para>
        /// </remarks>
        public void Truncate(ulong nTokens)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_generator_truncate(Handle, nTokens, &e), &e);
        }

        /// <summary>Creates a copy of a generator, with its state and its queued events, on an empty sequence that shares the
        /// caches.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Mismatch, State.</exception>
        /// <remarks>
        /// <para>Several outputs for one prompt: step until one token of the prompt is left, fork with other seeds, and step all
        /// of them.</para>
        /// </remarks>
        public Generator Fork(ForkOptions options = null)
        {
            NativeForkOptions optionsNative;
            GeneratorHandle made;
            NativeError e;
            using (Handle.Changing())
            {
                Check.Ok(NativeMethods.ggufx_generator_fork(out made, Handle, ForkOptions.Of(options, &optionsNative), &e), &e);
                made.Inherit(Handle);
                return new Generator(made);
            }
        }

        /// <summary>Writes a snapshot: token ids, the state of the sampler and queued events, about 5 bytes per token.
        /// Session.Save saves the caches.</summary>
        /// <param name="write">Called with consecutive pieces of the snapshot. A status other than Status.Ok ends the call, which
        /// returns it.</param>
        /// <exception cref="GgufxException">Argument, Unsupported, State.</exception>
        public void Save(WriteFunction write)
        {
            NativeError e;
            using (Handle.Reading())
            using (var scope = Scope.New())
            {
                Check.Given(write, "write");
                scope.End(NativeMethods.ggufx_generator_save(Handle, Callbacks.Write, scope.User(write), &e), &e);
            }
        }

        /// <summary>The same with a stream, which stays the caller's.</summary>
        public void Save(Stream write)
        {
            Save(Streams.Writer(write));
        }

        /// <summary>Creates a generator from a snapshot, with the options of the saved one.</summary>
        /// <param name="read">Fills all n bytes and returns Status.Ok, or returns another status, which ends the call. At the end
        /// of the data it returns Status.Truncated.</param>
        /// <exception cref="GgufxException">Argument, Memory, Truncated, Magic, Version, Malformed, Limit, Unsupported, Checksum,
        /// Mismatch, State, Vocab, Missing.</exception>
        /// <remarks>
        /// <para>Grammar, sampler, chat template and drafts are those of the options; the others are compared. Tokens that the
        /// sequence holds already are reused, the others are computed again.</para>
        /// </remarks>
        public static Generator Load(Session session, ReadFunction read, GeneratorOptions options = null)
        {
            NativeGeneratorOptions optionsNative;
            GeneratorHandle made;
            NativeError e;
            using (session.Handle.Changing())
            using (var scope = Scope.New())
            {
                Check.Given(read, "read");
                scope.End(NativeMethods.ggufx_generator_load(out made, session.Handle,
                    GeneratorOptions.Of(options, &optionsNative, scope), Callbacks.Read, scope.User(read), &e), &e);
                made.Share(session.Handle);
                return new Generator(made);
            }
        }

        /// <summary>The same with a stream, which stays the caller's.</summary>
        public static Generator Load(Session session, Stream read, GeneratorOptions options = null)
        {
            return Load(session, Streams.Reader(read), options);
        }

        /// <summary>Copies the token ids of prompt and output.</summary>
        /// <exception cref="GgufxException">Argument, Capacity.</exception>
        /// <remarks>
        /// <para>The last one is not computed yet.</para>
        /// </remarks>
        public int[] Tokens()
        {
            UIntPtr idsNeeded;
            NativeError e;
            int status;
            using (Handle.Reading())
            {
                var ids = new int[1024];
                do
                {
                    fixed (int* pIds = ids)
                        status = NativeMethods.ggufx_generator_tokens(pIds, Native.Size(ids.Length), &idsNeeded, Handle, &e);
                }
                while (Native.Grows(status, ref ids, idsNeeded));
                Check.Ok(status, &e);
                return Native.Cut(ids, idsNeeded);
            }
        }

        /// <summary>Describes a generator.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public GeneratorFacts Info
        {
            get
            {
                NativeError e;
                using (Handle.Reading())
                {
                    var resultNative = default(NativeGeneratorFacts);
                    resultNative.struct_size = (uint)sizeof(NativeGeneratorFacts);
                    Check.Ok(NativeMethods.ggufx_generator_info(&resultNative, Handle, &e), &e);
                    return new GeneratorFacts(&resultNative);
                }
            }
        }
    }

    /// <summary>A conversation made ready: its tokens, the form of its output, and what the output must be. Immutable.</summary>
    public sealed unsafe partial class ChatPrompt : IDisposable
    {
        private readonly ChatPromptHandle _made;

        internal ChatPromptHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Renders a conversation, tokenizes it, and compiles the grammars of its output.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Malformed, Limit, Unsupported, NotFound, Capacity, Cancelled,
        /// Mismatch, Value, Vocab.</exception>
        /// <remarks>
        /// <para>request.Progress is polled by all parts. The prompt keeps chat and tokenizer alive.</para>
        /// </remarks>
        public ChatPrompt(ChatPromptOptions options = null)
        {
            NativeChatPromptOptions optionsNative;
            NativeError e;
            using (var scope = options == null ? null : Scope.New())
                Scope.End(scope, NativeMethods.ggufx_chat_prompt_create(out _made,
                    ChatPromptOptions.Of(options, &optionsNative, scope), &e), &e);
        }

        /// <summary>Copies the token ids of a prompt.</summary>
        /// <exception cref="GgufxException">Argument, Capacity.</exception>
        public int[] Tokens()
        {
            UIntPtr idsNeeded;
            NativeError e;
            int status;
            var ids = new int[1024];
            do
            {
                fixed (int* pIds = ids)
                    status = NativeMethods.ggufx_chat_prompt_tokens(pIds, Native.Size(ids.Length), &idsNeeded, Handle, &e);
            }
            while (Native.Grows(status, ref ids, idsNeeded));
            Check.Ok(status, &e);
            return Native.Cut(ids, idsNeeded);
        }
    }

    /// <summary>A grammar compiled for a vocabulary. Immutable.</summary>
    public sealed unsafe partial class Grammar : IDisposable
    {
        private readonly GrammarHandle _made;

        internal GrammarHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Compiles a grammar for the vocabulary of a tokenizer.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Malformed, Limit, Unsupported, Cancelled, Value.</exception>
        /// <remarks>
        /// <para>The grammar does not need the tokenizer afterwards. The first grammar of a tokenizer takes longer. Time and
        /// memory are linear in the text, which is at most 16 MiB. Combinations of schemas, and repetitions of parts that may be
        /// empty, take more. They end at MaxSteps, of some 10 ns each, or at MaxMemory. Tokens of more than 512 bytes never
        /// match.</para>
        /// <para>Errors at a position of the grammar have its line and column in the message, and its byte in offset.</para>
        /// </remarks>
        public Grammar(Runtime rt, Tokenizer tokenizer, GrammarOptions options = null)
        {
            NativeGrammarOptions optionsNative;
            NativeError e;
            using (var scope = options == null ? null : Scope.New())
                Scope.End(scope, NativeMethods.ggufx_grammar_create(out _made, rt.Handle, tokenizer.Handle,
                    GrammarOptions.Of(options, &optionsNative, scope), &e), &e);
        }
    }

    /// <summary>The state of one output in a grammar. Keeps the grammar alive. Exclusive. A call that changes it is exclusive:
    /// another one at the same time fails with Status.State.</summary>
    public sealed unsafe partial class Matcher : IDisposable
    {
        private readonly MatcherHandle _made;

        internal Matcher(MatcherHandle made) { _made = made; }

        internal MatcherHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Creates a matcher at the start of an output.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit.</exception>
        public Matcher(Grammar grammar)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_matcher_create(out _made, grammar.Handle, &e), &e);
        }

        /// <summary>Creates a copy of a matcher, including its history for rollback. Time is linear in the accepted
        /// tokens.</summary>
        /// <exception cref="GgufxException">Argument, Memory.</exception>
        public Matcher Clone()
        {
            MatcherHandle made;
            NativeError e;
            using (Handle.Reading())
            {
                Check.Ok(NativeMethods.ggufx_matcher_clone(out made, Handle, &e), &e);
                made.Inherit(Handle);
                return new Matcher(made);
            }
        }

        /// <summary>Appends n tokens to the output, all of them or none.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Value.</exception>
        /// <remarks>
        /// <para>An end-of-generation token matches if the output is complete; nothing can follow it.</para>
        /// </remarks>
        public void Accept(ReadOnlySpan<int> ids)
        {
            NativeError e;
            using (Handle.Changing())
            {
                fixed (int* pIds = &Native.First(ids))
                    Check.Ok(NativeMethods.ggufx_matcher_accept(Handle, pIds, Native.Size(ids.Length), &e), &e);
            }
        }

        /// <summary>Removes the last nTokens tokens from the output.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public void Rollback(ulong nTokens)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_matcher_rollback(Handle, nTokens, &e), &e);
        }

        /// <summary>Computes the token mask: a bit per token of the vocabulary, set if it may come next.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Capacity, Mismatch, State, Value.</exception>
        /// <remarks>
        /// <para>Token id is bit id % 32, counted from the lowest, of word id / 32. Words after the vocabulary become 0.
        /// End-of-generation tokens are set if the output is complete. Masks are cached for all matchers of the grammar, in at
        /// most 64 MiB.</para>
        /// </remarks>
        public void Mask(Span<uint> outBits)
        {
            NativeError e;
            using (Handle.Changing())
            {
                fixed (uint* pOutBits = &Native.First(outBits))
                    Check.Ok(NativeMethods.ggufx_matcher_mask(pOutBits, Native.Size(outBits.Length), Handle, &e), &e);
            }
        }

        /// <summary>Describes the state of a matcher.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public MatcherFacts Info
        {
            get
            {
                NativeError e;
                using (Handle.Reading())
                {
                    var resultNative = default(NativeMatcherFacts);
                    resultNative.struct_size = (uint)sizeof(NativeMatcherFacts);
                    Check.Ok(NativeMethods.ggufx_matcher_info(&resultNative, Handle, &e), &e);
                    return new MatcherFacts(&resultNative);
                }
            }
        }
    }

    /// <summary>Entries in the order of their file. Quantization jobs keep what they need of it. A call that changes it is
    /// exclusive: another one at the same time fails with Status.State.</summary>
    public sealed unsafe partial class Imatrix : IDisposable
    {
        private readonly ImatrixHandle _made;

        internal Imatrix(ImatrixHandle made) { _made = made; }

        internal ImatrixHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Reads an imatrix file at a UTF-8 path. The first bytes decide the format.</summary>
        /// <param name="token">Cancels the call.</param>
        /// <param name="progress">Receives the progress of the call.</param>
        /// <exception cref="GgufxException">Argument, Memory, Io, Truncated, Magic, Version, Endian, Malformed, Limit, Type,
        /// Unsupported, NotFound, Cancelled, Count, Length, Key, ValueType, Value, Duplicate, Alignment, Name, Ndims, Shape,
        /// Overflow, Offset, Bounds, Split, Missing.</exception>
        /// <remarks>
        /// <para>The counts of a .dat file are calls, which are taken as 512 tokens each.</para>
        /// </remarks>
        public static Imatrix Open(Runtime rt, string path, CancellationToken token = default(CancellationToken),
            IProgress<Progress> progress = null)
        {
            ImatrixHandle made;
            NativeError e;
            using (var scope = Scope.Of(token, progress))
            {
                fixed (byte* pPath = Native.Utf8(path))
                    Scope.End(scope, NativeMethods.ggufx_imatrix_open(out made, rt.Handle, pPath, Scope.Progress(scope), &e), &e);
                return new Imatrix(made);
            }
        }

        /// <summary>Reads an imatrix from memory, which may be freed after the call.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Io, Truncated, Magic, Version, Endian, Malformed, Limit, Type,
        /// Unsupported, NotFound, Cancelled, Count, Length, Key, ValueType, Value, Duplicate, Alignment, Name, Ndims, Shape,
        /// Overflow, Offset, Bounds, Split, Missing.</exception>
        public static Imatrix OpenMemory(Runtime rt, ReadOnlySpan<byte> data)
        {
            ImatrixHandle made;
            NativeError e;
            fixed (byte* pData = &Native.First(data))
                Check.Ok(NativeMethods.ggufx_imatrix_open_memory(out made, rt.Handle, pData, Native.Size(data.Length), &e), &e);
            return new Imatrix(made);
        }

        /// <summary>Describes an imatrix.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public ImatrixFacts Info
        {
            get
            {
                NativeError e;
                using (Handle.Reading())
                {
                    var resultNative = default(NativeImatrixFacts);
                    resultNative.struct_size = (uint)sizeof(NativeImatrixFacts);
                    Check.Ok(NativeMethods.ggufx_imatrix_info(&resultNative, Handle, &e), &e);
                    return new ImatrixFacts(&resultNative);
                }
            }
        }

        /// <summary>Describes entry index.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public ImatrixEntry EntryAt(long index)
        {
            NativeError e;
            using (Handle.Reading())
            using (new Hold(Handle))
            {
                var resultNative = default(NativeImatrixEntry);
                resultNative.struct_size = (uint)sizeof(NativeImatrixEntry);
                Check.Ok(NativeMethods.ggufx_imatrix_entry_at(&resultNative, Handle, Native.Size(index, "index"), &e), &e);
                return new ImatrixEntry(&resultNative);
            }
        }

        /// <summary>Finds the index of the entry for a weight tensor by name.</summary>
        /// <exception cref="GgufxException">Argument, NotFound.</exception>
        public long Find(string name)
        {
            UIntPtr nameLength;
            UIntPtr indexNative;
            NativeError e;
            using (Handle.Reading())
            {
                fixed (byte* pName = Native.Text(name, out nameLength))
                    Check.Ok(NativeMethods.ggufx_imatrix_find(&indexNative, Handle, pName, nameLength, &e), &e);
                return (long)indexNative;
            }
        }

        /// <summary>Returns the name of dataset index, as a view that is valid until the imatrix is changed.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public string DatasetAt(long index)
        {
            NativeText result;
            NativeError e;
            using (Handle.Reading())
            using (new Hold(Handle))
            {
                Check.Ok(NativeMethods.ggufx_imatrix_dataset_at(&result, Handle, Native.Size(index, "index"), &e), &e);
                return Native.Text(result.data, result.size);
            }
        }

        /// <summary>Keeps the entries i with keep[i] != 0 and removes the others. n is the number of entries.</summary>
        /// <exception cref="GgufxException">Argument, Memory.</exception>
        public void KeepEntries(ReadOnlySpan<byte> keep)
        {
            NativeError e;
            using (Handle.Changing())
            {
                fixed (byte* pKeep = &Native.First(keep))
                    Check.Ok(NativeMethods.ggufx_imatrix_keep_entries(Handle, pKeep, Native.Size(keep.Length), &e), &e);
            }
        }

        /// <summary>Adds the sums and counts of another imatrix. New entries are appended.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Mismatch, Value.</exception>
        /// <remarks>
        /// <para>Sums that were just collected, or read with ImatrixFormat.Exact, are added exactly and rounded once. The result
        /// is then independent of the number and order of the parts of a dataset.</para>
        /// </remarks>
        public void Merge(Imatrix other)
        {
            NativeError e;
            using (Handle.Changing())
            using (other.Handle.Reading())
                Check.Ok(NativeMethods.ggufx_imatrix_merge(Handle, other.Handle, &e), &e);
        }

        /// <summary>Collects an imatrix: runs a model over token ids and sums the squared inputs of its matrices.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Cancelled, State, Value.</exception>
        /// <remarks>
        /// <para>The ids are processed in independent chunks of nContext tokens. Token 0 of each chunk is replaced by the id bos
        /// unless that is -1. A rest shorter than a chunk is dropped. Entries are in the order of the model's tensors. Experts,
        /// and heads with matrices of their own, are counted separately.</para>
        /// <para>Sums are computed in binary64, in the order of the tokens of a chunk. Chunks are added exactly, each rounded to
        /// a multiple of 2^-127, and the sum is rounded once. A dataset can therefore be split between chunks: collect each part,
        /// then Imatrix.Merge gives the same bits.</para>
        /// <para>session must be empty and hold nContext tokens; it is empty again afterwards. Memory: 40 bytes per column, of
        /// each expert, in addition to those of the result.</para>
        /// </remarks>
        public Imatrix(Session session, ReadOnlySpan<int> tokens, uint nContext, int bos, ImatrixOptions options = null)
        {
            NativeImatrixOptions optionsNative;
            NativeError e;
            using (session.Handle.Changing())
            using (var scope = options == null ? null : Scope.New())
            {
                fixed (int* pTokens = &Native.First(tokens))
                    Scope.End(scope, NativeMethods.ggufx_imatrix_create(out _made, session.Handle, pTokens,
                        Native.Size(tokens.Length), nContext, bos, ImatrixOptions.Of(options, &optionsNative, scope), &e), &e);
            }
        }

        /// <summary>Writes an imatrix to a file of a format (GGUFX_IMATRIX_*).</summary>
        /// <param name="token">Cancels the call.</param>
        /// <param name="progress">Receives the progress of the call.</param>
        /// <exception cref="GgufxException">Argument, Memory, Io, Limit, Cancelled, State, Name.</exception>
        /// <remarks>
        /// <para>The file is written as PATH.part and then renamed. It replaces an existing one, unless ImatrixFormat.NoReplace
        /// is added to the format. A .dat file keeps only the first dataset, and one count per tensor: its values agree to one
        /// rounding.</para>
        /// </remarks>
        public void Write(string path, ImatrixFormat format, CancellationToken token = default(CancellationToken),
            IProgress<Progress> progress = null)
        {
            NativeError e;
            using (Handle.Reading())
            using (var scope = Scope.Of(token, progress))
            {
                fixed (byte* pPath = Native.Utf8(path))
                    Scope.End(scope, NativeMethods.ggufx_imatrix_write(Handle, pPath, (int)format, Scope.Progress(scope), &e),
                        &e);
            }
        }

        /// <summary>Results of EntryAt, in order.</summary>
        public IEnumerable<ImatrixEntry> Entries
        {
            get { for (long i = 0; i < (long)Info.Entries; i++) yield return EntryAt(i); }
        }

        /// <summary>Results of DatasetAt, in order.</summary>
        public IEnumerable<string> Datasets
        {
            get { for (long i = 0; i < (long)Info.Datasets; i++) yield return DatasetAt(i); }
        }
    }

    /// <summary>Keys and values per layer and sequence. A call that changes it is exclusive: another one at the same time fails
    /// with Status.State.</summary>
    public sealed unsafe partial class KvCache : IDisposable
    {
        private readonly KvHandle _made;

        internal KvHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Creates an empty cache.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Type.</exception>
        /// <remarks>
        /// <para>Pages of 64 tokens are allocated when they are needed, or earlier by KvCache.Reserve.</para>
        /// <para>With quantized types the first SinkTokens of a sequence stay F16, and so does the page of its last token. A page
        /// is quantized once, when a token is appended after it. A query sees the page of the last token that it sees in F16, and
        /// all earlier pages quantized. This holds for any partition of the tokens into appends. Pages that are filled within one
        /// append therefore keep both forms until the next append to that layer and sequence, or KvCache.Commit. Queries of the
        /// appended tokens must come before. Queries of older tokens see the form that is left.</para>
        /// <para>With BF16 the first SinkTokens stay F32, in a page of twice the size. The first page has room for 64 tokens for
        /// any SinkTokens. Heads of quantized types have at most 1024 values; those of GX types have a multiple of 16.</para>
        /// </remarks>
        public KvCache(Runtime rt, KvOptions options = null)
        {
            NativeKvOptions optionsNative;
            NativeError e;
            using (var scope = options == null ? null : Scope.New())
                Check.Ok(NativeMethods.ggufx_kv_create(out _made, rt.Handle, KvOptions.Of(options, &optionsNative, scope), &e),
                    &e);
        }

        /// <summary>Reserves the pages of nTokens tokens of a sequence in every layer.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Capacity.</exception>
        /// <remarks>
        /// <para>Appends up to that length then neither fail with Status.Memory nor allocate, with these limits:</para>
        /// <list type="bullet">
        /// <item>Layers with a quantized type: appends of at most 64 tokens. Longer ones take an F16 page for each 64 further
        /// tokens until the next append. Between KvCache.Begin and its end they take one more if appends do not end with
        /// pages.</item>
        /// <item>Other layers with a window: appends of at most 1024 tokens.</item>
        /// <item>A later copy or removal can require pages that were not reserved.</item>
        /// </list>
        /// </remarks>
        public void Reserve(uint sequence, ulong nTokens)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_kv_reserve(Handle, sequence, nTokens, &e), &e);
        }

        /// <summary>Appends tokens to one layer of a sequence, or of several, all or nothing.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Type, Capacity, Value.</exception>
        /// <remarks>
        /// <para>Bits: queries of these tokens before the next append are independent of the partition into appends. Queries of
        /// older tokens may depend on it until KvCache.Commit. A failed executor costs only parallelism: the work is done on this
        /// thread.</para>
        /// </remarks>
        public void Append(KvTokens tokens)
        {
            NativeKvTokens tokensNative;
            NativeError e;
            using (Handle.Changing())
            using (var scope = Scope.New())
                Check.Ok(NativeMethods.ggufx_kv_append(Handle, KvTokens.Of(tokens, &tokensNative, scope), &e), &e);
        }

        /// <summary>Computes the attention of queries over one layer of a sequence, or each of its own sequence.</summary>
        /// <param name="to">f32, [Queries][QHeads][HeadDimV], nOut floats in all.</param>
        /// <param name="lse">f32, [Queries][QHeads], nLse floats in all: log of the sum of exp(score).</param>
        /// <param name="options">Null = defaults.</param>
        /// <exception cref="GgufxException">Argument, Memory, Cancelled, State.</exception>
        /// <remarks>
        /// <para>Query head h reads KV head h / (QHeads / KvHeads). The bits and the memory of a query are independent of the
        /// other queries.</para>
        /// <para>A query that sees no token gives 0 and lse = -infinity; with a sink, lse is its logit. A NaN or infinity in a
        /// query head, or a score that overflows, gives NaN (0x7fc00000) in that head's output and lse. After a cancellation out
        /// and lse are unspecified.</para>
        /// </remarks>
        public void Attend(Span<float> to, KvQueries queries, Span<float> lse = default(Span<float>),
            AttendOptions options = null)
        {
            NativeKvQueries queriesNative;
            NativeAttendOptions optionsNative;
            NativeError e;
            using (Handle.Reading())
            using (var scope = Scope.New())
            {
                fixed (float* pOut = &Native.First(to))
                fixed (float* pLse = &MemoryMarshal.GetReference(lse))
                    scope.End(NativeMethods.ggufx_kv_attend(pOut, Native.Size(to.Length), lse.Length == 0 ? null : pLse,
                        Native.Size(lse.Length), Handle, KvQueries.Of(queries, &queriesNative, scope),
                        AttendOptions.Of(options, &optionsNative, scope), &e), &e);
            }
        }

        /// <summary>Dequantizes tokens of a layer to f32.</summary>
        /// <param name="k">[Tokens][KvHeads][HeadDimK].</param>
        /// <param name="v">[Tokens][KvHeads][HeadDimV].</param>
        /// <exception cref="GgufxException">Argument.</exception>
        /// <remarks>
        /// <para>The result is in the basis in which they were appended, with shifted keys at their current positions.</para>
        /// </remarks>
        public void Read(KvRange range, Span<float> k = default(Span<float>), Span<float> v = default(Span<float>))
        {
            NativeKvRange rangeNative;
            NativeError e;
            using (Handle.Reading())
            {
                fixed (float* pK = &MemoryMarshal.GetReference(k))
                fixed (float* pV = &MemoryMarshal.GetReference(v))
                    Check.Ok(NativeMethods.ggufx_kv_read(k.Length == 0 ? null : pK, Native.Size(k.Length),
                        v.Length == 0 ? null : pV, Native.Size(v.Length), Handle, KvRange.Of(range, &rangeNative), &e), &e);
            }
        }

        /// <summary>Computes the scores of queries against every token of a layer, without masks and biases.</summary>
        /// <param name="to">f32, [Queries][QHeads][tokens of the layer], nOut floats in all.</param>
        /// <param name="queries">Of one sequence, without positions.</param>
        /// <param name="scale">0 = 1 / sqrt(HeadDimK).</param>
        /// <exception cref="GgufxException">Argument.</exception>
        /// <remarks>
        /// <para>A score is q.k * scale in f32, with the keys of KvCache.Read. Attention computes scores of quantized keys in
        /// integers, so its own differ in the last bits. Tokens that a window has dropped have the score -infinity.</para>
        /// </remarks>
        public void Scores(Span<float> to, KvQueries queries, float scale)
        {
            NativeKvQueries queriesNative;
            NativeError e;
            using (Handle.Reading())
            using (var scope = Scope.New())
            {
                fixed (float* pOut = &Native.First(to))
                    Check.Ok(NativeMethods.ggufx_kv_scores(pOut, Native.Size(to.Length), Handle,
                        KvQueries.Of(queries, &queriesNative, scope), scale, &e), &e);
            }
        }

        /// <summary>Returns the number of tokens of a sequence: the minimum over its layers.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public ulong Length(uint sequence)
        {
            ulong resultNative;
            NativeError e;
            using (Handle.Reading())
            {
                Check.Ok(NativeMethods.ggufx_kv_length(&resultNative, Handle, sequence, &e), &e);
                return resultNative;
            }
        }

        /// <summary>Copies the positions of tokens first .. first + n - 1 of a sequence (first layer).</summary>
        /// <returns>The positions.</returns>
        /// <exception cref="GgufxException">Argument.</exception>
        public int[] Positions(uint sequence, ulong first, ulong n)
        {
            NativeError e;
            using (Handle.Reading())
            {
                var result = new int[Native.Count(n, "n")];
                fixed (int* pResult = &Native.First(result))
                    Check.Ok(NativeMethods.ggufx_kv_positions(pResult, Handle, sequence, first, n, &e), &e);
                return result;
            }
        }

        /// <summary>Keeps the first nTokens tokens of a sequence in every layer.</summary>
        /// <exception cref="GgufxException">Argument, State.</exception>
        /// <remarks>
        /// <para>Nothing is quantized again, and the memory stays allocated. The cut may go through a quantized page. If the F16
        /// form of that page is left, later tokens are appended to it, as if the removed tokens had never existed. Otherwise the
        /// page stays quantized, and the next token starts a new page. The F16 form is left:</para>
        /// <list type="bullet">
        /// <item>after the last append, until the next one or KvCache.Commit</item>
        /// <item>for the page in which the last call began (KvCache.Begin)</item>
        /// </list>
        /// </remarks>
        public void Truncate(uint sequence, ulong nTokens)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_kv_truncate(Handle, sequence, nTokens, &e), &e);
        }

        /// <summary>Begins a call on a sequence, so that KvCache.Rollback can restore its present content bit by bit.</summary>
        /// <exception cref="GgufxException">Argument, Memory.</exception>
        /// <remarks>
        /// <para>This includes pages that were not quantized, and pages that windows drop later. The call ends with
        /// KvCache.Commit, KvCache.Begin, KvCache.Truncate to fewer tokens, or a function that removes, shifts, requantizes,
        /// compacts or loads.</para>
        /// </remarks>
        public void Begin(uint sequence)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_kv_begin(Handle, sequence, &e), &e);
        }

        /// <summary>Commits the appends to a sequence, after the queries of its tokens.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        /// <remarks>
        /// <para>The copies for a rollback, and the F16 forms of quantized pages, are freed. In layers with a quantized type some
        /// bits depend on the sizes of the appends since the last commit:</para>
        /// <list type="bullet">
        /// <item>Queries of tokens older than the last append see their page in F16 if that form is left, otherwise
        /// quantized.</item>
        /// <item>Tokens appended after a cut within such a page continue it in F16 if that form is left. Otherwise the page stays
        /// quantized and cut. Cuts are KvCache.Truncate, KvCache.Remove of the last tokens and KvCache.Copy of the first
        /// ones.</item>
        /// </list>
        /// <para>The start of the last append decides which pages have both forms. Other bits never depend on the sizes:</para>
        /// <list type="bullet">
        /// <item>layers with float types only</item>
        /// <item>results of KvCache.Read, KvCache.Scores and KvCache.Save</item>
        /// <item>queries of the tokens of the last append</item>
        /// </list>
        /// <para>After this call no bits do: every page is quantized except the sinks and the page of the last token.</para>
        /// </remarks>
        public void Commit(uint sequence)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_kv_commit(Handle, sequence, &e), &e);
        }

        /// <summary>Rolls a sequence back to KvCache.Begin.</summary>
        /// <exception cref="GgufxException">Argument, State.</exception>
        /// <remarks>
        /// <para>Without KvCache.Begin all layers are cut to KvCache.Length, for an append that failed after some of the
        /// layers.</para>
        /// </remarks>
        public void Rollback(uint sequence)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_kv_rollback(Handle, sequence, &e), &e);
        }

        /// <summary>Removes tokens first .. first + nTokens - 1 of a sequence from every layer.</summary>
        /// <exception cref="GgufxException">Argument, Memory, State.</exception>
        /// <remarks>
        /// <para>Other tokens keep their positions. A page is freed when none of its tokens is left.</para>
        /// </remarks>
        public void Remove(uint sequence, ulong first, ulong nTokens)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_kv_remove(Handle, sequence, first, nTokens, &e), &e);
        }

        /// <summary>Copies tokens first .. first + nTokens - 1 of a sequence to an empty one.</summary>
        /// <exception cref="GgufxException">Argument, Memory, State.</exception>
        /// <remarks>
        /// <para>Both share the pages. An append to a shared page copies it first. The tokens keep their positions.</para>
        /// </remarks>
        public void Copy(uint from, uint to, ulong first, ulong nTokens)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_kv_copy(Handle, from, to, first, nTokens, &e), &e);
        }

        /// <summary>Adds delta to the positions of tokens first .. first + nTokens - 1 of a sequence.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Unsupported, State.</exception>
        /// <remarks>
        /// <para>Stored keys do not change: queries are rotated in the opposite direction, so shifting back restores every
        /// bit.</para>
        /// </remarks>
        public void Shift(uint sequence, ulong first, ulong nTokens, int delta)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_kv_shift(Handle, sequence, first, nTokens, delta, &e), &e);
        }

        /// <summary>Clears all sequences except one and frees their pages.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public void Keep(uint sequence)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_kv_keep(Handle, sequence, &e), &e);
        }

        /// <summary>Sets the means and equalizers of a layer, for all sequences, also after KvCache.Clear.</summary>
        /// <param name="muK">f32, [KvHeads][HeadDimK]; null = 0.</param>
        /// <param name="eqK">f32, [KvHeads][HeadDimK], above 0; null = 1.</param>
        /// <param name="muV">f32, [KvHeads][HeadDimV]; null = 0.</param>
        /// <exception cref="GgufxException">Argument, Unsupported, State.</exception>
        /// <remarks>
        /// <para>By default each sequence computes them from the first page that it quantizes, so that sequences do not change
        /// each other's bits. Stored keys are (k - muK) / eqK, stored values v - muV; results are corrected for it.</para>
        /// <para>With KvFlags.CentreBeforeRope muK is the mean of keys before RoPE. A stored key is then (k - R muK) / eqK. R is
        /// the average rotation of the 64 positions from that of the page's first token on, when the page is quantized. All keys
        /// of a page have the same R, also with positions that skip or repeat; shifts do not change it.</para>
        /// </remarks>
        public void Calibrate(uint layer, ReadOnlySpan<float> muK = default(ReadOnlySpan<float>),
            ReadOnlySpan<float> eqK = default(ReadOnlySpan<float>), ReadOnlySpan<float> muV = default(ReadOnlySpan<float>))
        {
            NativeError e;
            using (Handle.Changing())
            {
                int nK = Check.Same("muK, eqK", muK.Length, eqK.Length);
                fixed (float* pMuK = &MemoryMarshal.GetReference(muK))
                fixed (float* pEqK = &MemoryMarshal.GetReference(eqK))
                fixed (float* pMuV = &MemoryMarshal.GetReference(muV))
                    Check.Ok(NativeMethods.ggufx_kv_calibrate(Handle, layer, muK.Length == 0 ? null : pMuK,
                        eqK.Length == 0 ? null : pEqK, Native.Size(nK), muV.Length == 0 ? null : pMuV, Native.Size(muV.Length),
                        &e), &e);
            }
        }

        /// <summary>Writes a snapshot of a sequence, or of all (Constants.AllSequences).</summary>
        /// <param name="write">Called with consecutive pieces of the snapshot. A status other than Status.Ok ends the call, which
        /// returns it.</param>
        /// <exception cref="GgufxException">Argument.</exception>
        /// <remarks>
        /// <para>Quantized pages are written as they are. Shared pages are written for each sequence.</para>
        /// </remarks>
        public void Save(uint sequence, WriteFunction write)
        {
            NativeError e;
            using (Handle.Reading())
            using (var scope = Scope.New())
            {
                Check.Given(write, "write");
                scope.End(NativeMethods.ggufx_kv_save(Handle, sequence, Callbacks.Write, scope.User(write), &e), &e);
            }
        }

        /// <summary>The same with a stream, which stays the caller's.</summary>
        public void Save(uint sequence, Stream write)
        {
            Save(sequence, Streams.Writer(write));
        }

        /// <summary>Replaces a sequence, or all, by a snapshot of KvCache.Save, of one sequence or of all.</summary>
        /// <param name="read">Fills all n bytes and returns Status.Ok, or returns another status, which ends the call. At the end
        /// of the data it returns Status.Truncated.</param>
        /// <exception cref="GgufxException">Argument, Memory, Magic, Version, Malformed, Capacity, Checksum,
        /// Mismatch.</exception>
        /// <remarks>
        /// <para>The cache must have the layers, heads, types, windows, sinks, RoPE and model of the saved one. Loaded tokens
        /// give every bit that the saved ones gave. Memory reserved for a replaced sequence is freed.</para>
        /// </remarks>
        public void Load(uint sequence, ReadFunction read)
        {
            NativeError e;
            using (Handle.Changing())
            using (var scope = Scope.New())
            {
                Check.Given(read, "read");
                scope.End(NativeMethods.ggufx_kv_load(Handle, sequence, Callbacks.Read, scope.User(read), &e), &e);
            }
        }

        /// <summary>The same with a stream, which stays the caller's.</summary>
        public void Load(uint sequence, Stream read)
        {
            Load(sequence, Streams.Reader(read));
        }

        /// <summary>Writes a snapshot to a file by atomic replace.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Io, State.</exception>
        /// <remarks>
        /// <para>The snapshot is written as PATH.part, synced to disk and renamed. An existing file is replaced as a whole or
        /// stays as it was. A failed call leaves no file. A new file is private to its owner (mode 0600), because it contains the
        /// conversation. A replaced file keeps its mode; a symbolic link stays, and its target is replaced.</para>
        /// </remarks>
        public void SaveFile(uint sequence, string path)
        {
            NativeError e;
            using (Handle.Reading())
            {
                fixed (byte* pPath = Native.Utf8(path))
                    Check.Ok(NativeMethods.ggufx_kv_save_file(Handle, sequence, pPath, &e), &e);
            }
        }

        /// <summary>Replaces a sequence, or all, by a snapshot in a file, which must end with the snapshot.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Io, Truncated, Magic, Version, Malformed, Capacity, Checksum,
        /// Mismatch.</exception>
        public void LoadFile(uint sequence, string path)
        {
            NativeError e;
            using (Handle.Changing())
            {
                fixed (byte* pPath = Native.Utf8(path))
                    Check.Ok(NativeMethods.ggufx_kv_load_file(Handle, sequence, pPath, &e), &e);
            }
        }

        /// <summary>Changes the types of keys and values of a layer, or of all (Constants.KvAllLayers).</summary>
        /// <param name="typeK">GGUFX_TYPE_*; Constants.TypeKeep = as it is.</param>
        /// <param name="typeV">GGUFX_TYPE_*; Constants.TypeKeep = as it is.</param>
        /// <param name="token">Cancels the call.</param>
        /// <param name="progress">Counts heads of pages.</param>
        /// <exception cref="GgufxException">Argument, Memory, Type, Unsupported, Cancelled, Value.</exception>
        /// <remarks>
        /// <para>The content is dequantized and quantized again. A smaller type loses precision; a larger one does not restore
        /// it. A type that does not change keeps every bit. Positions, shifts and page sharing stay. With quantized types the
        /// last tokens of a sequence stay F16. Its first SinkTokens stay F16, or F32 with BF16, if the sequence still begins at
        /// its first page.</para>
        /// <para>The new pages of all layers of the call exist beside the old ones until it ends: one layer per call needs the
        /// least memory. Reserved pages without tokens are freed; reserve them again. Means and equalizers stay where they
        /// existed; other keys and values get theirs from the first page that is quantized. Pages keep their tokens, so the
        /// memory can differ from Runtime.KvEstimate by a page per sequence and layer.</para>
        /// </remarks>
        public void Requantize(uint layer, TensorType typeK, TensorType typeV,
            CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            NativeError e;
            using (Handle.Changing())
            using (var scope = Scope.Of(token, progress))
                Scope.End(scope, NativeMethods.ggufx_kv_requantize(Handle, layer, (uint)typeK, (uint)typeV, Scope.Progress(scope),
                    &e), &e);
        }

        /// <summary>Merges partly filled pages of a sequence, or of all (Constants.AllSequences), and frees unused
        /// pages.</summary>
        /// <param name="token">Cancels the call.</param>
        /// <param name="progress">Counts heads of pages.</param>
        /// <exception cref="GgufxException">Argument, Memory, Unsupported, Cancelled.</exception>
        /// <remarks>
        /// <para>Truncations, removals and shifts leave such pages. Neighbouring parts with equal shifts are merged into as few
        /// pages as they fill. Full pages, shared pages, sinks and the page for the next token are not changed. Reserved pages
        /// stay.</para>
        /// <para>This is lossy for quantized types: the tokens of merged parts are dequantized and quantized once more. Float
        /// types keep their values.</para>
        /// </remarks>
        public void Compact(uint sequence, CancellationToken token = default(CancellationToken),
            IProgress<Progress> progress = null)
        {
            NativeError e;
            using (Handle.Changing())
            using (var scope = Scope.Of(token, progress))
                Scope.End(scope, NativeMethods.ggufx_kv_compact(Handle, sequence, Scope.Progress(scope), &e), &e);
        }

        /// <summary>Removes all tokens of all sequences and frees the pages.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public void Clear()
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_kv_clear(Handle, &e), &e);
        }

        /// <summary>Describes a layer, or the cache (Constants.KvAllLayers).</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public KvFacts Info(uint layer)
        {
            NativeError e;
            using (Handle.Reading())
            {
                var resultNative = default(NativeKvFacts);
                resultNative.struct_size = (uint)sizeof(NativeKvFacts);
                Check.Ok(NativeMethods.ggufx_kv_info(&resultNative, Handle, layer, &e), &e);
                return new KvFacts(&resultNative);
            }
        }
    }

    /// <summary>Converts text to token ids and back. Immutable; keeps its file alive.</summary>
    public sealed unsafe partial class Tokenizer : IDisposable
    {
        private readonly TokenizerHandle _made;

        internal TokenizerHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Creates the tokenizer that a file describes.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Unsupported, Vocab, Missing.</exception>
        public Tokenizer(GgufFile file)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_tokenizer_create(out _made, file.Handle, &e), &e);
        }

        /// <summary>Tokenizes a UTF-8 text. Invalid bytes become byte tokens if the vocabulary has them.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Unsupported, Capacity, Vocab.</exception>
        public int[] Tokenize(string text, TokenizeFlags flags = 0)
        {
            return Tokenize(Native.Bytes(text), flags);
        }

        /// <summary>The same for UTF-8, which may be cut anywhere.</summary>
        public int[] Tokenize(ReadOnlySpan<byte> text, TokenizeFlags flags = 0)
        {
            UIntPtr idsNeeded;
            NativeError e;
            int status;
            var ids = new int[1024 + text.Length];
            do
            {
                fixed (byte* pText = &Native.First(text))
                fixed (int* pIds = ids)
                    status = NativeMethods.ggufx_tokenize(pIds, Native.Size(ids.Length), &idsNeeded, Handle, pText,
                        Native.Size(text.Length), (uint)flags, &e);
            }
            while (Native.Grows(status, ref ids, idsNeeded));
            Check.Ok(status, &e);
            return Native.Cut(ids, idsNeeded);
        }

        /// <summary>Converts token ids to text, not NUL-terminated. One id may be a part of a character.</summary>
        /// <exception cref="GgufxException">Argument, Capacity.</exception>
        /// <remarks>
        /// <para>The text is unchanged, except with DetokenizeFlags.CleanSpaces in vocabularies with TokenizerFlags.CleanSpaces.
        /// These then lose spaces:</para>
        /// <list type="bullet">
        /// <item>"?", "!", ".", ",", "'s", "'m", "'re", "'ve": the space before them</item>
        /// <item>"'" between two spaces: both</item>
        /// </list>
        /// </remarks>
        public byte[] Detokenize(ReadOnlySpan<int> ids, DetokenizeFlags flags = 0)
        {
            UIntPtr resultNeeded;
            NativeError e;
            int status;
            var result = new byte[1024 + 8 * ids.Length];
            do
            {
                fixed (int* pIds = &Native.First(ids))
                fixed (byte* pResult = result)
                    status = NativeMethods.ggufx_detokenize(pResult, Native.Size(result.Length), &resultNeeded, Handle, pIds,
                        Native.Size(ids.Length), (uint)flags, &e);
            }
            while (Native.Grows(status, ref result, resultNeeded));
            Check.Ok(status, &e);
            return Native.Cut(result, resultNeeded);
        }

        /// <summary>The same as a string; invalid UTF-8 is replaced.</summary>
        public string DetokenizeText(ReadOnlySpan<int> ids, DetokenizeFlags flags = 0)
        {
            return Encoding.UTF8.GetString(Detokenize(ids, flags));
        }

        /// <summary>Converts token ids to text as Tokenizer.Detokenize does, for ids that come one after another
        /// (streaming).</summary>
        /// <exception cref="GgufxException">Argument, Capacity.</exception>
        /// <remarks>
        /// <para>Bytes of a character are kept in *state until it is complete or invalid. Each part is therefore valid UTF-8 if
        /// the text is. With DetokenizeFlags.Flush all bytes are written. The parts together are the bytes that
        /// Tokenizer.Detokenize returns for all ids. After a failure the state is as before.</para>
        /// </remarks>
        public byte[] DetokenizeStream(ref DetokenizerState state, ReadOnlySpan<int> ids)
        {
            NativeDetokenizerState stateNative;
            UIntPtr resultNeeded;
            NativeError e;
            int status;
            state.Fill(&stateNative);
            var result = new byte[1024 + 8 * ids.Length];
            do
            {
                fixed (int* pIds = &Native.First(ids))
                fixed (byte* pResult = result)
                    status = NativeMethods.ggufx_detokenize_stream(pResult, Native.Size(result.Length), &resultNeeded,
                        &stateNative, Handle, pIds, Native.Size(ids.Length), &e);
            }
            while (Native.Grows(status, ref result, resultNeeded));
            Check.Ok(status, &e);
            state = new DetokenizerState(&stateNative);
            return Native.Cut(result, resultNeeded);
        }

        /// <summary>The same as a string; invalid UTF-8 is replaced.</summary>
        public string DetokenizeStreamText(ref DetokenizerState state, ReadOnlySpan<int> ids)
        {
            return Encoding.UTF8.GetString(DetokenizeStream(ref state, ids));
        }

        /// <summary>Describes a token.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public TokenFacts TokenInfo(int id)
        {
            NativeError e;
            using (new Hold(Handle))
            {
                var resultNative = default(NativeTokenFacts);
                resultNative.struct_size = (uint)sizeof(NativeTokenFacts);
                Check.Ok(NativeMethods.ggufx_token_info(&resultNative, Handle, id, &e), &e);
                return new TokenFacts(&resultNative);
            }
        }

        /// <summary>Describes a tokenizer.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public TokenizerFacts Info
        {
            get
            {
                NativeError e;
                using (new Hold(Handle))
                {
                    var resultNative = default(NativeTokenizerFacts);
                    resultNative.struct_size = (uint)sizeof(NativeTokenizerFacts);
                    Check.Ok(NativeMethods.ggufx_tokenizer_info(&resultNative, Handle, &e), &e);
                    return new TokenizerFacts(&resultNative);
                }
            }
        }
    }

    /// <summary>Weights bound to the graph of an architecture. Immutable; keeps its file alive.</summary>
    public sealed unsafe partial class Model : IDisposable
    {
        private readonly ModelHandle _made;

        internal ModelHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Creates a model: binds the weights of a file to the graph of its architecture.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Io, Limit, Type, Unsupported, Cancelled, Mismatch, Device,
        /// ValueType, Shape, Split, Hyperparameter, Missing.</exception>
        /// <remarks>
        /// <para>Weights are not copied, except to a device.</para>
        /// </remarks>
        public Model(Runtime rt, GgufFile file, ModelOptions options = null)
        {
            NativeModelOptions optionsNative;
            NativeError e;
            using (var scope = options == null ? null : Scope.New())
                Scope.End(scope, NativeMethods.ggufx_model_create(out _made, rt.Handle, file.Handle,
                    ModelOptions.Of(options, &optionsNative, scope), &e), &e);
        }

        /// <summary>Describes a model.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public ModelFacts Info
        {
            get
            {
                NativeError e;
                using (new Hold(Handle))
                {
                    var resultNative = default(NativeModelFacts);
                    resultNative.struct_size = (uint)sizeof(NativeModelFacts);
                    Check.Ok(NativeMethods.ggufx_model_info(&resultNative, Handle, &e), &e);
                    return new ModelFacts(&resultNative);
                }
            }
        }

        /// <summary>Describes a layer.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public LayerFacts LayerInfo(uint layer)
        {
            NativeError e;
            using (new Hold(Handle))
            {
                var resultNative = default(NativeLayerFacts);
                resultNative.struct_size = (uint)sizeof(NativeLayerFacts);
                Check.Ok(NativeMethods.ggufx_model_layer_info(&resultNative, Handle, layer, &e), &e);
                return new LayerFacts(&resultNative);
            }
        }
    }

    /// <summary>One sequence, or many (batch.h): their KV caches and tokens. Exclusive. A call that changes it is exclusive:
    /// another one at the same time fails with Status.State.</summary>
    public sealed unsafe partial class Session : IDisposable
    {
        private readonly SessionHandle _made;

        internal SessionHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        partial void Created(Model model, SessionOptions options);

        /// <summary>Replaces the adapters of an empty sequence by a list.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Mismatch, State.</exception>
        /// <remarks>
        /// <para>nUses 0 removes all adapters. Truncating the sequence keeps them. The session allocates, and keeps, the buffers
        /// that Batch tokens with these adapters need (included in Runtime.Estimate).</para>
        /// <para>After an error nothing has changed.</para>
        /// </remarks>
        public void SetAdapters(uint sequence, params AdapterUse[] uses)
        {
            NativeError e;
            using (Handle.Changing())
            using (var scope = Scope.New())
                Check.Ok(NativeMethods.ggufx_session_set_adapters(Handle, sequence, AdapterUse.Of(uses, scope),
                    Native.Size(uses.Length), &e), &e);
        }

        /// <summary>Appends tokens to several sequences and computes the requested rows of logits and hidden states.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Capacity, Cancelled, Value.</exception>
        /// <remarks>
        /// <para>Each of the nItems items belongs to another sequence. At most Batch tokens of all items are computed at once.
        /// After a failure every sequence is as before, and the content of logits and hidden is undefined. The order of items
        /// decides the order of rows and changes no value. After Session.Truncate the call may first recompute earlier tokens.
        /// These give no rows, are not passed to the attention hook, and are not counted by progress, which is polled
        /// meanwhile.</para>
        /// </remarks>
        public void Decode(IReadOnlyList<DecodeItem> items, DecodeOptions options = null,
            Span<float> logits = default(Span<float>), Span<float> hidden = default(Span<float>))
        {
            NativeDecodeOptions optionsNative;
            NativeError e;
            using (Handle.Changing())
            using (var scope = Scope.New())
            {
                optionsNative = DecodeOptions.Blank();
                DecodeOptions.Of(options, &optionsNative, scope);
                fixed (float* pLogits = &MemoryMarshal.GetReference(logits))
                fixed (float* pHidden = &MemoryMarshal.GetReference(hidden))
                {
                    optionsNative.logits = logits.Length == 0 ? null : pLogits;
                    optionsNative.n_logits = Native.Size(logits.Length);
                    optionsNative.hidden = hidden.Length == 0 ? null : pHidden;
                    optionsNative.n_hidden = Native.Size(hidden.Length);
                    scope.End(NativeMethods.ggufx_session_decode(Handle, DecodeItem.Of(items, scope), Native.Size(items.Count),
                        &optionsNative, &e), &e);
                }
            }
        }

        /// <summary>Returns the number of tokens of a sequence; 0 if there is no such sequence.</summary>
        public ulong Length(uint sequence)
        {
            using (Handle.Reading())
                return NativeMethods.ggufx_session_length(Handle, sequence);
        }

        /// <summary>Keeps the first nTokens tokens of a sequence. With nTokens 0 it is like new.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        /// <remarks>
        /// <para>The next decode continues with the bits of a sequence that decoded only these tokens. (The bits of products
        /// depend on how many tokens are computed at once, 1 to 3 or more, and in models with experts also on which. With
        /// MatmulFlags.BatchInvariant no truncation or batch changes a bit.)</para>
        /// <para>The call itself takes almost no time. The next decode recomputes the tokens that the caches have lost in
        /// addition to the removed ones. It starts from the last position at or before nTokens that satisfies all of these
        /// conditions:</para>
        /// <list type="bullet">
        /// <item>Quantized keys and values: the end of a page of 64 tokens, or any position in the first page, the last one and
        /// the page where the last decode began.</item>
        /// <item>Layers with a window: the start, or any of the last 320 positions, counted from the largest length that the
        /// sequence had.</item>
        /// <item>Recurrent layers: the start of the last decode, or a checkpoint (Checkpoints). Checkpoints are at ends of
        /// decodes, and of batches within one, that reached another page of 64 tokens. If there are too few, the distances of the
        /// remaining ones from the end about double.</item>
        /// </list>
        /// <para>So at most 63 tokens are recomputed in most models, and the whole sequence at worst. Several truncations before
        /// that decode are allowed. If that decode fails or is cancelled, the following one starts the recomputation
        /// again.</para>
        /// </remarks>
        public void Truncate(uint sequence, ulong nTokens)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_session_truncate(Handle, sequence, nTokens, &e), &e);
        }

        /// <summary>Removes tokens first .. first + nTokens - 1 from a sequence.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Unsupported, State.</exception>
        /// <remarks>
        /// <para>Later tokens keep their positions, keys and values, which were computed with the removed tokens. The call is
        /// therefore cheap, but the result differs from a sequence that never had them. For that, call Session.Truncate and
        /// decode the rest again. Later truncations recompute only the tokens that they must, without the removed ones.</para>
        /// <para>To continue in a full context, remove the oldest tokens and close the gap with Session.Shift.</para>
        /// <para>After an error nothing has changed.</para>
        /// </remarks>
        public void Remove(uint sequence, ulong first, ulong nTokens)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_session_remove(Handle, sequence, first, nTokens, &e), &e);
        }

        /// <summary>Adds delta to the positions of tokens first .. first + nTokens - 1, which must stay ascending.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Unsupported, State.</exception>
        /// <remarks>
        /// <para>Stored keys do not change; queries are rotated in the opposite direction. Shifting back therefore restores every
        /// bit.</para>
        /// <para>After an error nothing has changed.</para>
        /// </remarks>
        public void Shift(uint sequence, ulong first, ulong nTokens, int delta)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_session_shift(Handle, sequence, first, nTokens, delta, &e), &e);
        }

        /// <summary>Copies the ids and positions of tokens first .. first + nTokens - 1.</summary>
        /// <param name="positions">Their positions.</param>
        /// <returns>Token ids.</returns>
        /// <exception cref="GgufxException">Argument.</exception>
        public int[] Tokens(uint sequence, ulong first, ulong nTokens, out int[] positions)
        {
            NativeError e;
            using (Handle.Reading())
            {
                var ids = new int[Native.Count(nTokens, "nTokens")];
                positions = new int[Native.Count(nTokens, "nTokens")];
                fixed (int* pIds = &Native.First(ids))
                fixed (int* pPositions = &Native.First(positions))
                    Check.Ok(NativeMethods.ggufx_session_tokens(pIds, pPositions, Handle, sequence, first, nTokens, &e), &e);
                return ids;
            }
        }

        /// <summary>Copies the first nTokens tokens of a sequence to an empty one, sharing a prefix.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Mismatch, State.</exception>
        /// <remarks>
        /// <para>Later results have the bits that they would have if to had decoded these tokens itself. Pages of keys and
        /// values, and recurrent states, are shared. The next call recomputes the tokens after the last position that
        /// Session.Truncate could keep: at most 63 in most models.</para>
        /// <para>After an error nothing has changed.</para>
        /// </remarks>
        public void Copy(uint from, uint to, ulong nTokens)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_session_copy(Handle, from, to, nTokens, &e), &e);
        }

        /// <summary>Writes a snapshot of a sequence, or of all (Constants.AllSequences).</summary>
        /// <param name="write">Called with consecutive pieces of the snapshot. A status other than Status.Ok ends the call, which
        /// returns it.</param>
        /// <exception cref="GgufxException">Argument, Unsupported, Value.</exception>
        /// <remarks>
        /// <para>It contains tokens, keys, values and states as stored, without logits and checkpoints. Shared pages are written
        /// for each sequence and are no longer shared after a load. A load can therefore exceed ContextTotal
        /// (Status.Capacity).</para>
        /// <para>A rank of a group writes only tokens. Any rank can do so, even after the group has lost one. A session without a
        /// group, or a group of any size, can load them. Its next call recomputes the caches, each token in its original mode.
        /// The bits are the same with MatmulFlags.BatchInvariant or MatmulFlags.Tiled. Sequences with removed or shifted tokens
        /// are refused (Status.Unsupported), because recomputation would change them.</para>
        /// </remarks>
        public void Save(uint sequence, WriteFunction write)
        {
            NativeError e;
            using (Handle.Reading())
            using (var scope = Scope.New())
            {
                Check.Given(write, "write");
                scope.End(NativeMethods.ggufx_session_save(Handle, sequence, Callbacks.Write, scope.User(write), &e), &e);
            }
        }

        /// <summary>The same with a stream, which stays the caller's.</summary>
        public void Save(uint sequence, Stream write)
        {
            Save(sequence, Streams.Writer(write));
        }

        /// <summary>Replaces a sequence, or all, by a snapshot of Session.Save.</summary>
        /// <param name="read">Fills all n bytes and returns Status.Ok, or returns another status, which ends the call. At the end
        /// of the data it returns Status.Truncated.</param>
        /// <exception cref="GgufxException">Argument, Memory, Magic, Version, Malformed, Capacity, Checksum,
        /// Mismatch.</exception>
        /// <remarks>
        /// <para>The snapshot must contain one sequence, or as many as the session has. Model, adapters and cache types must be
        /// equal. Later results have every bit that they would have had in the saved session. During the load, memory for both
        /// the old and the new content is needed. In a group, all ranks call this with the same snapshot (else Status.Mismatch),
        /// which one rank has written.</para>
        /// </remarks>
        public void Load(uint sequence, ReadFunction read)
        {
            NativeError e;
            using (Handle.Changing())
            using (var scope = Scope.New())
            {
                Check.Given(read, "read");
                scope.End(NativeMethods.ggufx_session_load(Handle, sequence, Callbacks.Read, scope.User(read), &e), &e);
            }
        }

        /// <summary>The same with a stream, which stays the caller's.</summary>
        public void Load(uint sequence, Stream read)
        {
            Load(sequence, Streams.Reader(read));
        }

        /// <summary>Writes a snapshot to a file.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Io, Unsupported, State, Value.</exception>
        /// <remarks>
        /// <para>The file is written, replaced and protected as that of KvCache.SaveFile.</para>
        /// </remarks>
        public void SaveFile(uint sequence, string path)
        {
            NativeError e;
            using (Handle.Reading())
            {
                fixed (byte* pPath = Native.Utf8(path))
                    Check.Ok(NativeMethods.ggufx_session_save_file(Handle, sequence, pPath, &e), &e);
            }
        }

        /// <summary>Replaces a sequence, or all, by a snapshot in a file, which must end with the snapshot.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Io, Truncated, Magic, Version, Malformed, Capacity, Checksum,
        /// Mismatch.</exception>
        public void LoadFile(uint sequence, string path)
        {
            NativeError e;
            using (Handle.Changing())
            {
                fixed (byte* pPath = Native.Utf8(path))
                    Check.Ok(NativeMethods.ggufx_session_load_file(Handle, sequence, pPath, &e), &e);
            }
        }

        /// <summary>Measures the perplexity of a model over token ids, and its KL divergence from saved logits.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Io, Truncated, Magic, Version, Malformed, Cancelled, Checksum,
        /// Mismatch, State, Value.</exception>
        /// <remarks>
        /// <para>The ids are processed in independent chunks of nContext tokens. Token 0 of each is replaced by the id bos unless
        /// that is -1. Tokens that fill no chunk are dropped. Logits can be saved for a later comparison. With
        /// MatmulFlags.BatchInvariant or MatmulFlags.Tiled the results are independent of Batch and threads.</para>
        /// <para>Saved logits take 16 + 2 * vocabulary bytes per prediction, in steps of (largest - least) / 65,535: the
        /// divergence of a model from itself is about 1e-8. They are streamed; memory is that of 32 rows and 4 bytes per
        /// prediction. The documentation ("File format notes") describes the format.</para>
        /// <para>session must be empty and hold nContext tokens; it is empty again afterwards.</para>
        /// </remarks>
        public EvalFacts EvalPerplexity(ReadOnlySpan<int> tokens, uint nContext, int bos, EvalOptions options = null)
        {
            NativeEvalOptions optionsNative;
            NativeError e;
            using (Handle.Changing())
            using (var scope = options == null ? null : Scope.New())
            {
                var resultNative = default(NativeEvalFacts);
                resultNative.struct_size = (uint)sizeof(NativeEvalFacts);
                fixed (int* pTokens = &Native.First(tokens))
                    Scope.End(scope, NativeMethods.ggufx_eval_perplexity(&resultNative, Handle, pTokens,
                        Native.Size(tokens.Length), nContext, bos, EvalOptions.Of(options, &optionsNative, scope), &e), &e);
                return new EvalFacts(&resultNative);
            }
        }

        /// <summary>Computes the log-probabilities of several continuations of one context: a multiple-choice question.</summary>
        /// <param name="context">[nContext] token ids, at least one.</param>
        /// <param name="continuations">At least one id each.</param>
        /// <param name="token">Cancels the call.</param>
        /// <param name="progress">Counts tokens; null: none.</param>
        /// <returns>Sum over the tokens of a continuation.</returns>
        /// <exception cref="GgufxException">Argument, Memory, Capacity, Cancelled, State, Value.</exception>
        /// <remarks>
        /// <para>session must be empty and hold the context and the longest continuation; it is empty again afterwards. The
        /// context is computed once.</para>
        /// </remarks>
        public double[] EvalContinuations(ReadOnlySpan<int> context, IReadOnlyList<TokenList> continuations,
            CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            NativeError e;
            using (Handle.Changing())
            using (var scope = Scope.New())
            {
                var result = new double[continuations.Count];
                fixed (int* pContext = &Native.First(context))
                fixed (double* pResult = &Native.First(result))
                    scope.End(NativeMethods.ggufx_eval_continuations(pResult, Handle, pContext, Native.Size(context.Length),
                        TokenList.Of(continuations, scope), Native.Size(continuations.Count), scope.Follow(token, progress), &e),
                        &e);
                return result;
            }
        }

        /// <summary>Computes a step of generators of a session: one pass over the weights.</summary>
        /// <returns>Whether no step is in flight afterwards.</returns>
        /// <exception cref="GgufxException">Argument, Memory, Unsupported, Capacity, Cancelled, Value.</exception>
        /// <remarks>
        /// <para>It computes a chunk of the prompt of generators that have one left, or one token of others. If items are of both
        /// kinds, steps of the kinds take turns. With GeneratorFlags.TiledDecode a step has both. Generator.Poll gives the
        /// events. Generators that have ended are left out.</para>
        /// <para>With a budget the call returns OK when that is used up, at most one group of operations later. The step is then
        /// in flight: the next call goes on with it, whatever its items are, and begins no other one. Calls that change the
        /// session are Status.State meanwhile. If all of its generators are cancelled or destroyed, it is abandoned.</para>
        /// <para>A fault of one generator, such as NaN in its logits or a limit of its grammar, ends that one with End.Error.
        /// After a failure no generator has changed, except that cancelled ones may have ended.</para>
        /// </remarks>
        public bool Step(IReadOnlyList<StepItem> items, StepOptions options = null)
        {
            NativeStepOptions optionsNative;
            int completeNative;
            NativeError e;
            using (Handle.Changing())
            using (var scope = Scope.New())
            {
                scope.End(NativeMethods.ggufx_session_step(&completeNative, Handle, StepItem.Of(items, scope),
                    Native.Size(items.Count), StepOptions.Of(options, &optionsNative, scope), &e), &e);
                return completeNative != 0;
            }
        }

        /// <summary>Creates a session and allocates all its memory.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Type, Unsupported.</exception>
        /// <remarks>
        /// <para>This is KV caches of Context tokens for each of Sequences, unless they share ContextTotal, and scratch memory
        /// for Batch tokens. The default of Context does not depend on the machine; Runtime.Estimate tells if it fits.</para>
        /// </remarks>
        public Session(Model model, SessionOptions options = null)
        {
            NativeSessionOptions optionsNative;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_session_create(out _made, model.Handle, SessionOptions.Of(options, &optionsNative), &e),
                &e);
            Created(model, options);
        }

        /// <summary>Describes a session. Takes time linear in the number of pages.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public SessionFacts Info
        {
            get
            {
                NativeError e;
                using (Handle.Reading())
                {
                    var resultNative = default(NativeSessionFacts);
                    resultNative.struct_size = (uint)sizeof(NativeSessionFacts);
                    Check.Ok(NativeMethods.ggufx_session_info(&resultNative, Handle, &e), &e);
                    return new SessionFacts(&resultNative);
                }
            }
        }
    }

    /// <summary>A quantization: planned, running or finished. A call that changes it is exclusive: another one at the same time
    /// fails with Status.State.</summary>
    public sealed unsafe partial class Quantizer : IDisposable
    {
        private readonly QuantizerHandle _made;

        internal QuantizerHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Plans the quantization of a file by a quantization mix.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Type, Unsupported, Mismatch, ValueType, Shape.</exception>
        /// <remarks>
        /// <para>The quantizer keeps the file. A file opened for metadata only can be planned, but not run.</para>
        /// </remarks>
        public Quantizer(Runtime rt, GgufFile file, uint fileType, QuantizerOptions options = null)
        {
            NativeQuantizerOptions optionsNative;
            NativeError e;
            using (var scope = options == null ? null : Scope.New())
                Check.Ok(NativeMethods.ggufx_quantizer_create(out _made, rt.Handle, file.Handle, fileType,
                    QuantizerOptions.Of(options, &optionsNative, scope), &e), &e);
        }

        /// <summary>Describes a plan.</summary>
        /// <exception cref="GgufxException">Argument, Memory.</exception>
        public QuantizerFacts Info
        {
            get
            {
                NativeError e;
                using (Handle.Reading())
                {
                    var resultNative = default(NativeQuantizerFacts);
                    resultNative.struct_size = (uint)sizeof(NativeQuantizerFacts);
                    Check.Ok(NativeMethods.ggufx_quantizer_info(&resultNative, Handle, &e), &e);
                    return new QuantizerFacts(&resultNative);
                }
            }
        }

        /// <summary>Describes tensor index, in the order of the output.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public QuantizerTensorFacts TensorAt(long index)
        {
            NativeError e;
            using (Handle.Reading())
            using (new Hold(Handle))
            {
                var resultNative = default(NativeQuantizerTensorFacts);
                resultNative.struct_size = (uint)sizeof(NativeQuantizerTensorFacts);
                Check.Ok(NativeMethods.ggufx_quantizer_tensor_at(&resultNative, Handle, Native.Size(index, "index"), &e), &e);
                return new QuantizerTensorFacts(&resultNative);
            }
        }

        /// <summary>Overrides the types of tensors: types[i] is for tensor i, or Constants.QuantizerDefaultType.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Type, Unsupported, Mismatch, ValueType, Shape.</exception>
        /// <remarks>
        /// <para>Replaces all earlier overrides. An override changes no other tensor: mixes that count layers also count
        /// overridden tensors. Tensors that are never quantized keep their type (QuantizerReason.Kept). Rows that are not whole
        /// blocks get a fallback (QuantizerReason.Fallback).</para>
        /// </remarks>
        public void OverrideTypes(ReadOnlySpan<TensorType> types)
        {
            NativeError e;
            using (Handle.Changing())
            {
                fixed (TensorType* pTypes = &Native.First(types))
                    Check.Ok(NativeMethods.ggufx_quantizer_override_types(Handle, (uint*)pTypes, Native.Size(types.Length), &e),
                        &e);
            }
        }

        /// <summary>Measures the root mean squared error (RMSE) that a type would cause in tensor index.</summary>
        /// <param name="token">Cancels the call.</param>
        /// <param name="progress">Receives the progress of the call.</param>
        /// <exception cref="GgufxException">Argument, Memory, Type, Unsupported, Cancelled, Value, Shape.</exception>
        /// <remarks>
        /// <para>The error is unweighted and comes from up to maxValues values in evenly spaced rows (0: all values).</para>
        /// </remarks>
        public double TensorError(long index, TensorType type, ulong maxValues,
            CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            double resultNative;
            NativeError e;
            using (Handle.Reading())
            using (var scope = Scope.Of(token, progress))
            {
                Scope.End(scope, NativeMethods.ggufx_quantizer_tensor_error(&resultNative, Handle, Native.Size(index, "index"),
                    (uint)type, maxValues, Scope.Progress(scope), &e), &e);
                return resultNative;
            }
        }

        /// <summary>Runs a quantizer: quantizes all tensors and writes the file by atomic replace.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Io, Unsupported, Cancelled, Mismatch, State, Value.</exception>
        /// <remarks>
        /// <para>With QuantizerFlags.KeepSplit the output is a set, PREFIX-00001-of-0000N.gguf, where PREFIX is the path without
        /// ".gguf". The file is written as PATH.part, synced to disk and renamed, unless QuantizerFlags.NoReplace is set and the
        /// name exists. It replaces an existing file atomically, a set as Writer.Write does.</para>
        /// <para>PATH.part.log lists the complete tensors. After a kill or a power failure QuantizerRunFlags.Resume continues;
        /// without this flag PATH.part is started again. A resumed run verifies the existing tensors by checksums. Memory: about
        /// 32 MiB and one row for any model, plus the tables of IQ types. Feedback needs more: 16 to 28 bytes per pair of columns
        /// of the widest matrix, its rows as f32, and the activations of the text twice. It makes its tensors first, in the order
        /// of the model; a resumed run computes the activations again.</para>
        /// </remarks>
        public void Run(string path, QuantizerRunOptions options = null)
        {
            NativeQuantizerRunOptions optionsNative;
            NativeError e;
            using (Handle.Changing())
            using (var scope = options == null ? null : Scope.New())
            {
                fixed (byte* pPath = Native.Utf8(path))
                    Scope.End(scope, NativeMethods.ggufx_quantizer_run(Handle, pPath,
                        QuantizerRunOptions.Of(options, &optionsNative, scope), &e), &e);
            }
        }

        /// <summary>Completes the file after all shards: checks every tensor in PATH.part, writes the metadata,
        /// renames.</summary>
        /// <param name="token">Cancels the call.</param>
        /// <param name="progress">Receives the progress of the call.</param>
        /// <exception cref="GgufxException">Argument, Memory, Io, Unsupported, NotFound, Cancelled, Mismatch, State,
        /// Value.</exception>
        public void Finish(string path, CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            NativeError e;
            using (Handle.Changing())
            using (var scope = Scope.Of(token, progress))
            {
                fixed (byte* pPath = Native.Utf8(path))
                    Scope.End(scope, NativeMethods.ggufx_quantizer_finish(Handle, pPath, Scope.Progress(scope), &e), &e);
            }
        }

        /// <summary>Results of TensorAt, in order.</summary>
        public IEnumerable<QuantizerTensorFacts> Tensors
        {
            get { for (long i = 0; i < (long)Info.Tensors; i++) yield return TensorAt(i); }
        }
    }

    /// <summary>A chain of samplers, with its random state and the tokens that it accepted; exclusive. A call that changes it is
    /// exclusive: another one at the same time fails with Status.State.</summary>
    public sealed unsafe partial class Sampler : IDisposable
    {
        private readonly SamplerHandle _made;

        internal Sampler(SamplerHandle made) { _made = made; }

        internal SamplerHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Creates an empty chain for vocabularies of up to nVocab tokens, which samples from the unchanged
        /// logits.</summary>
        /// <exception cref="GgufxException">Argument, Memory.</exception>
        /// <remarks>
        /// <para>Takes 28 bytes per token of the vocabulary.</para>
        /// </remarks>
        public Sampler(Runtime rt, uint nVocab, ulong seed)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_sampler_create(out _made, rt.Handle, nVocab, seed, &e), &e);
        }

        /// <summary>Samples an id from n logits.</summary>
        /// <param name="logprob">The natural log-probability of the id among all n tokens.</param>
        /// <param name="matcher">Tokens that may be sampled; null: all.</param>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Capacity, Mismatch, State, Value.</exception>
        /// <remarks>
        /// <para>With a matcher, the chain only sees matching tokens with ids below n, and the matcher accepts the chosen id. A
        /// call that fails changes neither sampler nor matcher.</para>
        /// </remarks>
        public int Sample(ReadOnlySpan<float> logits, out float logprob, Matcher matcher = null)
        {
            int idNative;
            float logprobNative;
            NativeError e;
            using (Handle.Changing())
            using (matcher == null ? default(Turn) : matcher.Handle.Changing())
            {
                fixed (float* pLogits = &Native.First(logits))
                    Check.Ok(NativeMethods.ggufx_sampler_sample(&idNative, &logprobNative, Handle,
                        matcher == null ? MatcherHandle.None : matcher.Handle, pLogits, Native.Size(logits.Length), &e), &e);
                logprob = logprobNative;
                return idNative;
            }
        }

        /// <summary>Appends tokens to the history of a sampler, all or none, whether it sampled them or not.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        /// <remarks>
        /// <para>Tokens of a prompt may be appended too.</para>
        /// </remarks>
        public void Accept(ReadOnlySpan<int> ids)
        {
            NativeError e;
            using (Handle.Changing())
            {
                fixed (int* pIds = &Native.First(ids))
                    Check.Ok(NativeMethods.ggufx_sampler_accept(Handle, pIds, Native.Size(ids.Length), &e), &e);
            }
        }

        /// <summary>Resets a sampler: no accepted tokens, the random state of the seed, the same chain.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public void Reset()
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_sampler_reset(Handle, &e), &e);
        }

        /// <summary>Creates a copy of a sampler with its state.</summary>
        /// <exception cref="GgufxException">Argument, Memory.</exception>
        public Sampler Clone()
        {
            SamplerHandle made;
            NativeError e;
            using (Handle.Reading())
            {
                Check.Ok(NativeMethods.ggufx_sampler_clone(out made, Handle, &e), &e);
                made.Inherit(Handle);
                return new Sampler(made);
            }
        }

        /// <summary>Keeps the k likeliest candidates.</summary>
        /// <param name="k">0: off.</param>
        /// <exception cref="GgufxException">Argument, Memory, Limit, State.</exception>
        public void AddTopK(uint k)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_sampler_add_top_k(Handle, k, &e), &e);
        }

        /// <summary>Keeps the fewest candidates by rank whose p sum up to p or more (Holtzman et al., 2020).</summary>
        /// <param name="p">0 to 1; 0 and 1: off.</param>
        /// <exception cref="GgufxException">Argument, Memory, Limit, State.</exception>
        public void AddTopP(float p)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_sampler_add_top_p(Handle, p, &e), &e);
        }

        /// <summary>Keeps candidates with at least p times the largest weight, which is 1 (Nguyen et al., 2024).</summary>
        /// <param name="p">0 to 1; 0: off.</param>
        /// <exception cref="GgufxException">Argument, Memory, Limit, State.</exception>
        public void AddMinP(float p)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_sampler_add_min_p(Handle, p, &e), &e);
        }

        /// <summary>Locally typical sampling: keeps the fewest candidates whose p sum up to p or more, in the order of the
        /// distance of -log p from the entropy (Meister et al., 2023).</summary>
        /// <param name="p">0 to 1; 0 and 1: off.</param>
        /// <exception cref="GgufxException">Argument, Memory, Limit, State.</exception>
        /// <remarks>
        /// <para>The entropy is log total - (sum of w * (logit - largest)) / total. Distances are computed in binary64 and
        /// rounded to binary32. If they are equal, the lower id comes first.</para>
        /// </remarks>
        public void AddTypical(float p)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_sampler_add_typical(Handle, p, &e), &e);
        }

        /// <summary>Keeps logits of at least the largest minus nSigma standard deviations of the remaining logits (Tang et al.,
        /// 2025).</summary>
        /// <param name="nSigma">0: off.</param>
        /// <exception cref="GgufxException">Argument, Memory, Limit, State.</exception>
        /// <remarks>
        /// <para>The deviation is in binary64: the mean, then the sum of squared differences from it, / n, root.</para>
        /// </remarks>
        public void AddTopNSigma(float nSigma)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_sampler_add_top_n_sigma(Handle, nSigma, &e), &e);
        }

        /// <summary>Exclude top choices: if two or more candidates have a p of at least threshold, only the least likely of them
        /// stays.</summary>
        /// <param name="probability">0 to 1: how often it acts; 0: off, without a draw.</param>
        /// <param name="threshold">0 to 1; 0 is 0.1.</param>
        /// <exception cref="GgufxException">Argument, Memory, Limit, State.</exception>
        /// <remarks>
        /// <para>Takes one draw per sample. Candidates stay ordered by id or by rank as before.</para>
        /// </remarks>
        public void AddXtc(float probability, float threshold)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_sampler_add_xtc(Handle, probability, threshold, &e), &e);
        }

        /// <summary>Divides logits by the temperature.</summary>
        /// <param name="temperature">Below 2^-20 only the likeliest candidate stays (greedy sampling).</param>
        /// <exception cref="GgufxException">Argument, Memory, Limit, State.</exception>
        public void AddTemperature(float temperature, TemperatureOptions options = null)
        {
            NativeTemperatureOptions optionsNative;
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_sampler_add_temperature(Handle, temperature,
                    TemperatureOptions.Of(options, &optionsNative), &e), &e);
        }

        /// <summary>Penalizes tokens that occur c times in the last accepted tokens: by repeat, then by c * frequency +
        /// presence.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, State.</exception>
        public void AddPenalties(PenaltyOptions options = null)
        {
            NativePenaltyOptions optionsNative;
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_sampler_add_penalties(Handle, PenaltyOptions.Of(options, &optionsNative), &e), &e);
        }

        /// <summary>Don't repeat yourself (DRY): penalizes tokens that would extend a repeated sequence.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, State.</exception>
        /// <remarks>
        /// <para>If the last L of LastN accepted tokens occurred before, L &gt;= AllowedLength, the token that followed loses
        /// multiplier * base^(L - AllowedLength), rounded once. The largest L of each token counts. Repeats do not cross a
        /// sequence breaker, and sequence breakers are not penalized.</para>
        /// </remarks>
        public void AddDry(DryOptions options = null)
        {
            NativeDryOptions optionsNative;
            NativeError e;
            using (Handle.Changing())
            using (var scope = options == null ? null : Scope.New())
                Check.Ok(NativeMethods.ggufx_sampler_add_dry(Handle, DryOptions.Of(options, &optionsNative, scope), &e), &e);
        }

        /// <summary>Adds biases to logits; -infinity bans a token.</summary>
        /// <param name="biases">Each id once; copied.</param>
        /// <exception cref="GgufxException">Argument, Memory, Limit, State, Duplicate.</exception>
        public void AddLogitBias(params LogitBias[] biases)
        {
            NativeError e;
            using (Handle.Changing())
            using (var scope = Scope.New())
                Check.Ok(NativeMethods.ggufx_sampler_add_logit_bias(Handle, LogitBias.Of(biases, scope),
                    Native.Size(biases.Length), &e), &e);
        }

        /// <summary>Mirostat, version 1 or 2 (Basu et al., 2021): keeps the surprise -log2 p of tokens near tau. Must be last in
        /// a chain.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, State.</exception>
        /// <remarks>
        /// <para>mu starts as 2 tau. Accepting the drawn token subtracts eta times the excess of its surprise, among the
        /// candidates kept, over tau. Version 2 keeps the ranks up to the first whose surprise is above mu. Version 1 keeps (e
        /// 2^mu / (1 - Vocab^-e))^(1 / s) ranks. s is the slope of log p over log rank of the m likeliest, e = s - 1; log(p / p')
        /// is the difference of the logits.</para>
        /// </remarks>
        public void AddMirostat(MirostatOptions options = null)
        {
            NativeMirostatOptions optionsNative;
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_sampler_add_mirostat(Handle, MirostatOptions.Of(options, &optionsNative), &e), &e);
        }

        /// <summary>Adds a sampler of the host: apply changes the logits of the n remaining candidates.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, State.</exception>
        /// <remarks>
        /// <para>They come by id or by rank and may be reordered. -infinity removes a candidate; one must stay. OK goes on, any
        /// other status ends the call with it. It must not call into the sampler.</para>
        /// </remarks>
        public void AddHost(ApplyFunction apply)
        {
            NativeError e;
            using (Handle.Changing())
            using (var scope = Scope.New())
            using (new Hold(Handle))
            {
                Check.Given(apply, "apply");
                scope.End(NativeMethods.ggufx_sampler_add_host(Handle, Callbacks.Apply, scope.Kept(apply), &e), &e);
                scope.Stay(Handle);
            }
        }
    }

    /// <summary>The content of a file to write: keys and tensors in the order in which they were added. A call that changes it is
    /// exclusive: another one at the same time fails with Status.State.</summary>
    public sealed unsafe partial class Writer : IDisposable
    {
        private readonly WriterHandle _made;

        internal WriterHandle Handle { get { return _made.Live(this); } }

        /// <summary>Closes it, without waiting: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Sets the content of a writer to the file of one rank: the keys of a model, and its rows of the
        /// tensors.</summary>
        /// <param name="weights">As in GroupOptions; null: equal. A group without weights uses those of the file.</param>
        /// <param name="flags">GroupOptionsFlags.Pipeline for pipeline parallelism: all rows of the rank's matrices, one row of
        /// others.</param>
        /// <exception cref="GgufxException">Argument, Memory, Io, Endian, Limit, Type, Unsupported, Cancelled, Mismatch, Device,
        /// ValueType, Duplicate, Name, Shape, Split, Hyperparameter, Missing.</exception>
        /// <remarks>
        /// <para>The rank opens this file in place of the model's file, with the same results. Other ranks may open their own
        /// files or the whole. All keys of file are copied, as Writer.CopyMeta does. Keys "ggufx.rank.*" name the rank, its rows
        /// and the original shapes. For each tensor the file contains:</para>
        /// <list type="bullet">
        /// <item>the rows that rank rank of nRanks reads, as a tensor of two dimensions if these are not all</item>
        /// <item>embeddings, norms and biases as a whole</item>
        /// <item>one row, if the rank does not read the tensor</item>
        /// </list>
        /// <para>Parameters:</para>
        /// <para>Model refuses such a file without a group, or for another group, rank, weights or kind of parallelism
        /// (Status.Mismatch). It refuses rows that the shapes have no room for (Status.Split).</para>
        /// <para>After an error the writer is as before.</para>
        /// </remarks>
        public void CopyShard(GgufFile file, uint rank, uint nRanks, ReadOnlySpan<uint> weights = default(ReadOnlySpan<uint>),
            GroupOptionsFlags flags = 0)
        {
            NativeError e;
            using (Handle.Changing())
            {
                if (weights.Length != 0) Check.Length(weights.Length, checked((long)nRanks), "weights");
                fixed (uint* pWeights = &MemoryMarshal.GetReference(weights))
                    Check.Ok(NativeMethods.ggufx_writer_copy_shard(Handle, file.Handle, rank, nRanks,
                        weights.Length == 0 ? null : pWeights, (uint)flags, &e), &e);
            }
        }

        /// <summary>Creates an empty writer.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Version.</exception>
        public Writer(Runtime rt, WriterOptions options = null)
        {
            NativeWriterOptions optionsNative;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_writer_create(out _made, rt.Handle, WriterOptions.Of(options, &optionsNative), &e), &e);
        }

        /// <summary>Sets a key of length bytes to an integer of type MetaType.U8 .. _I64, or _BOOL for 0 and 1.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Key, ValueType, Value, Alignment.</exception>
        /// <remarks>
        /// <para>An existing key keeps its position and gets the new value. "general.alignment" must be a U32 and a power of two;
        /// it decides the layout of the file (32 without it).</para>
        /// </remarks>
        public void SetU64(string key, MetaType type, ulong value)
        {
            UIntPtr keyLength;
            NativeError e;
            using (Handle.Changing())
            {
                fixed (byte* pKey = Native.Text(key, out keyLength))
                    Check.Ok(NativeMethods.ggufx_writer_set_u64(Handle, pKey, keyLength, (int)type, value, &e), &e);
            }
        }

        /// <summary>Sets a key to a signed integer.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Key, ValueType, Value, Alignment.</exception>
        public void SetI64(string key, MetaType type, long value)
        {
            UIntPtr keyLength;
            NativeError e;
            using (Handle.Changing())
            {
                fixed (byte* pKey = Native.Text(key, out keyLength))
                    Check.Ok(NativeMethods.ggufx_writer_set_i64(Handle, pKey, keyLength, (int)type, value, &e), &e);
            }
        }

        /// <summary>Sets a key to a number of type MetaType.F32 (rounded to nearest) or _F64.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Key, ValueType, Value, Alignment.</exception>
        public void SetF64(string key, MetaType type, double value)
        {
            UIntPtr keyLength;
            NativeError e;
            using (Handle.Changing())
            {
                fixed (byte* pKey = Native.Text(key, out keyLength))
                    Check.Ok(NativeMethods.ggufx_writer_set_f64(Handle, pKey, keyLength, (int)type, value, &e), &e);
            }
        }

        /// <summary>Sets a key to a bool: any value except 0 is true.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Key, ValueType, Value, Alignment.</exception>
        public void SetBool(string key, bool value)
        {
            UIntPtr keyLength;
            NativeError e;
            using (Handle.Changing())
            {
                fixed (byte* pKey = Native.Text(key, out keyLength))
                    Check.Ok(NativeMethods.ggufx_writer_set_bool(Handle, pKey, keyLength, value ? 1 : 0, &e), &e);
            }
        }

        /// <summary>Sets a key to a string of any nText bytes, copied.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Key, ValueType, Value, Alignment.</exception>
        public void SetString(string key, string text)
        {
            UIntPtr keyLength;
            UIntPtr textLength;
            NativeError e;
            using (Handle.Changing())
            {
                fixed (byte* pKey = Native.Text(key, out keyLength))
                fixed (byte* pText = Native.Text(text, out textLength))
                    Check.Ok(NativeMethods.ggufx_writer_set_string(Handle, pKey, keyLength, pText, textLength, &e), &e);
            }
        }

        /// <summary>Sets a key to an array of strings, copied. String i has lengths[i] bytes.</summary>
        /// <param name="texts">Any bytes.</param>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Key, ValueType, Value, Alignment.</exception>
        public void SetArrayString(string key, params string[] texts)
        {
            UIntPtr keyLength;
            UIntPtr* textsLength;
            NativeError e;
            using (Handle.Changing())
            using (var scope = Scope.New())
            {
                fixed (byte* pKey = Native.Text(key, out keyLength))
                    Check.Ok(NativeMethods.ggufx_writer_set_array_string(Handle, pKey, keyLength,
                        scope.Texts(texts, out textsLength), textsLength, Native.Size(texts.Length), &e), &e);
            }
        }

        /// <summary>Sets a key to a value of any type, also arrays of arrays, given as bytes of a little-endian file.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Truncated, Limit, Count, Key, ValueType, Value,
        /// Alignment.</exception>
        /// <remarks>
        /// <para>Numbers have their width. A string is a u64 length and bytes. An array is a u32 element type, a u64 count and
        /// elements. All of it is checked.</para>
        /// </remarks>
        public void SetValue(string key, MetaType type, ReadOnlySpan<byte> value)
        {
            UIntPtr keyLength;
            NativeError e;
            using (Handle.Changing())
            {
                fixed (byte* pKey = Native.Text(key, out keyLength))
                fixed (byte* pValue = &Native.First(value))
                    Check.Ok(NativeMethods.ggufx_writer_set_value(Handle, pKey, keyLength, (int)type, pValue,
                        Native.Size(value.Length), &e), &e);
            }
        }

        /// <summary>Removes a key.</summary>
        /// <exception cref="GgufxException">Argument, NotFound.</exception>
        public void Unset(string key)
        {
            UIntPtr keyLength;
            NativeError e;
            using (Handle.Changing())
            {
                fixed (byte* pKey = Native.Text(key, out keyLength))
                    Check.Ok(NativeMethods.ggufx_writer_unset(Handle, pKey, keyLength, &e), &e);
            }
        }

        /// <summary>Renames a key, which keeps its position and value.</summary>
        /// <exception cref="GgufxException">Argument, Memory, NotFound, Key, ValueType, Duplicate, Alignment.</exception>
        public void Rename(string key, string newKey)
        {
            UIntPtr keyLength;
            UIntPtr newKeyLength;
            NativeError e;
            using (Handle.Changing())
            {
                fixed (byte* pKey = Native.Text(key, out keyLength))
                fixed (byte* pNewKey = Native.Text(newKey, out newKeyLength))
                    Check.Ok(NativeMethods.ggufx_writer_rename(Handle, pKey, keyLength, pNewKey, newKeyLength, &e), &e);
            }
        }

        /// <summary>Sets all keys of a file, byte for byte.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit.</exception>
        /// <remarks>
        /// <para>Exceptions: split.no, split.count and split.tensors.count of a set that was opened as one. "ggufx.split.id" is
        /// only copied from a part that was opened alone.</para>
        /// </remarks>
        public void CopyMeta(GgufFile file)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_writer_copy_meta(Handle, file.Handle, &e), &e);
        }

        /// <summary>Adds a tensor of a file, memory (Tensor) or a slice.</summary>
        /// <param name="name">Null: the name of the tensor.</param>
        /// <exception cref="GgufxException">Argument, Memory, Endian, Limit, Type, Unsupported, Duplicate, Name.</exception>
        /// <remarks>
        /// <para>The source is kept until the writer is destroyed; the handle may be destroyed before.</para>
        /// </remarks>
        public void AddTensor(Tensor tensor, string name = null)
        {
            UIntPtr nameLength;
            NativeError e;
            using (Handle.Changing())
            {
                fixed (byte* pName = Native.Text(name, out nameLength))
                    Check.Ok(NativeMethods.ggufx_writer_add_tensor(Handle, tensor.Handle, pName, nameLength, &e), &e);
            }
        }

        /// <summary>Adds all tensors of a file, or none.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Endian, Limit, Type, Unsupported, Duplicate, Name.</exception>
        public void CopyTensors(GgufFile file)
        {
            NativeError e;
            using (Handle.Changing())
                Check.Ok(NativeMethods.ggufx_writer_copy_tensors(Handle, file.Handle, &e), &e);
        }

        /// <summary>Adds a tensor whose data come from callbacks.</summary>
        /// <param name="ne">Values per dimension.</param>
        /// <exception cref="GgufxException">Argument, Memory, Endian, Limit, Type, Unsupported, Duplicate, Name, Shape,
        /// Overflow.</exception>
        public void AddStream(string name, TensorType type, ReadOnlySpan<ulong> ne, TensorStream stream)
        {
            UIntPtr nameLength;
            NativeTensorStream streamNative;
            NativeError e;
            using (Handle.Changing())
            {
                Check.Given(stream, "stream");
                fixed (byte* pName = Native.Text(name, out nameLength))
                fixed (ulong* pNe = &Native.First(ne))
                {
                    streamNative = new NativeTensorStream { struct_size = (uint)sizeof(NativeTensorStream),
                        user = new Callback(stream).User, read = Callbacks.TensorStreamRead, destroy = Functions.Destroy };
                    Check.Ok(NativeMethods.ggufx_writer_add_stream(Handle, pName, nameLength, (uint)type, (uint)ne.Length, pNe,
                        &streamNative, &e), &e);
                }
            }
        }

        /// <summary>Describes the result of a write with these options (null: default).</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Overflow.</exception>
        public WriterFacts Info(WriteOptions options = null)
        {
            NativeWriteOptions optionsNative;
            NativeError e;
            using (Handle.Reading())
            using (var scope = options == null ? null : Scope.New())
            {
                var resultNative = default(NativeWriterFacts);
                resultNative.struct_size = (uint)sizeof(NativeWriterFacts);
                Scope.End(scope, NativeMethods.ggufx_writer_info(&resultNative, Handle,
                    WriteOptions.Of(options, &optionsNative, scope), &e), &e);
                return new WriterFacts(&resultNative);
            }
        }

        /// <summary>Writes the file, or the parts of a set, to a UTF-8 path by atomic replace.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Io, Limit, Cancelled, State, Overflow.</exception>
        /// <remarks>
        /// <para>The file is written as PATH.part, synced to disk and renamed. It replaces an existing file, even a source of the
        /// tensors, and takes over its mode and, if permitted, its owner. A symbolic link stays, and its target is replaced.
        /// Links under names that the library makes up, PATH.part and parts of a set, are refused. After a failure an existing
        /// file is unchanged, and PATH.part is deleted.</para>
        /// <para>The parts of a set are renamed after all of them are complete, the first one last. The files that they replace
        /// are kept as PATH.part.old meanwhile. After a failure they are restored; after a kill Runtime.FileRecoverEdit or the
        /// next write restores them. All parts have the same key "ggufx.split.id", so that a mixture of two sets is refused
        /// (Status.Split).</para>
        /// <para>A write beyond RLIMIT_FSIZE raises SIGXFSZ, which ends a process that does not ignore it. This library never
        /// changes signals: a host that ignores it gets Status.Io.</para>
        /// </remarks>
        public void Write(string path, WriteOptions options = null)
        {
            NativeWriteOptions optionsNative;
            NativeError e;
            using (Handle.Changing())
            using (var scope = options == null ? null : Scope.New())
            {
                fixed (byte* pPath = Native.Utf8(path))
                    Scope.End(scope, NativeMethods.ggufx_writer_write(Handle, pPath,
                        WriteOptions.Of(options, &optionsNative, scope), &e), &e);
            }
        }

        /// <summary>Writes through a callback.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Io, Limit, Cancelled, State, Overflow.</exception>
        /// <remarks>
        /// <para>write gets the parts in order, numbered from 0, each with its bytes in order, at most 512 KiB per call. It
        /// returns Status.Ok after it has taken all n bytes; another result ends the write with Status.Io.</para>
        /// </remarks>
        public void WriteStream(PartWriteFunction write, WriteOptions options = null)
        {
            NativeWriteOptions optionsNative;
            NativeError e;
            using (Handle.Changing())
            using (var scope = Scope.New())
            {
                Check.Given(write, "write");
                scope.End(NativeMethods.ggufx_writer_write_stream(Handle, Callbacks.PartWrite, scope.User(write),
                    WriteOptions.Of(options, &optionsNative, scope), &e), &e);
            }
        }

        /// <summary>Describes the effect of Writer.Edit.</summary>
        /// <exception cref="GgufxException">Argument, Memory, Limit, Capacity, Overflow.</exception>
        /// <remarks>
        /// <para>The writer holds the new content of file. Create it with the file's version and byte order. Call Writer.CopyMeta
        /// and Writer.CopyTensors, or Writer.AddTensor in the file's order to rename tensors. Then change keys with writer_set_*,
        /// _unset and _rename.</para>
        /// <para>The edit is made in place under these conditions; the size of "ggufx.reserve" is adapted:</para>
        /// <list type="bullet">
        /// <item>The tensors are those of the file, in its order.</item>
        /// <item>Only keys and names change, and ReserveBytes is 0.</item>
        /// <item>The new metadata fit before the tensor data.</item>
        /// </list>
        /// </remarks>
        public EditFacts EditInfo(GgufFile file, EditOptions options = null)
        {
            NativeEditOptions optionsNative;
            NativeError e;
            using (Handle.Reading())
            using (var scope = options == null ? null : Scope.New())
            {
                var resultNative = default(NativeEditFacts);
                resultNative.struct_size = (uint)sizeof(NativeEditFacts);
                Scope.End(scope, NativeMethods.ggufx_writer_edit_info(&resultNative, Handle, file.Handle,
                    EditOptions.Of(options, &optionsNative, scope), &e), &e);
                return new EditFacts(&resultNative);
            }
        }

        /// <summary>Edits the file at path, from which file was opened.</summary>
        /// <returns>The effect of the edit.</returns>
        /// <exception cref="GgufxException">Argument, Memory, Io, Limit, NotFound, Capacity, Cancelled, State,
        /// Overflow.</exception>
        /// <remarks>
        /// <para>A new file is written as Writer.Write does. An edit in place writes only the changed bytes before the tensor
        /// data. At every moment the disk has all of the old metadata or all of the new:</para>
        /// <list type="bullet">
        /// <item>Changes within one sector of 512 bytes are one write.</item>
        /// <item>Larger changes are first stored in a journal, PATH.patch, which stays until they are on the disk in the file
        /// too.</item>
        /// </list>
        /// <para>A failed write is undone. After a crash Runtime.FileRecoverEdit finishes the edit; until then the file may not
        /// open. Other processes that have the file mapped see the changes.</para>
        /// </remarks>
        public EditFacts Edit(GgufFile file, string path, EditOptions options = null)
        {
            NativeEditOptions optionsNative;
            NativeError e;
            using (Handle.Changing())
            using (var scope = options == null ? null : Scope.New())
            {
                var resultNative = default(NativeEditFacts);
                resultNative.struct_size = (uint)sizeof(NativeEditFacts);
                fixed (byte* pPath = Native.Utf8(path))
                    Scope.End(scope, NativeMethods.ggufx_writer_edit(&resultNative, Handle, file.Handle, pPath,
                        EditOptions.Of(options, &optionsNative, scope), &e), &e);
                return new EditFacts(&resultNative);
            }
        }
    }

    /// <summary>Calls that need no object.</summary>
    public static unsafe partial class Library
    {
        /// <summary>Returns the name of a status code without its prefix: "TRUNCATED", "OK" for 0. The result is never
        /// null.</summary>
        public static string StatusName(this Status status)
        {
            return Native.TextOrNull(NativeMethods.ggufx_status_name((int)status));
        }

        /// <summary>Returns the version of the library as text: "0.1.0".</summary>
        public static string Version { get { return Native.Text(NativeMethods.ggufx_version()); } }

        /// <summary>Returns the version of the binary interface, to compare with Constants.AbiVersion.</summary>
        public static uint AbiVersion { get { return NativeMethods.ggufx_abi_version(); } }

        /// <summary>Returns the size in bytes that this library has for a public struct: 512 for "Error". An unknown name gives
        /// 0.</summary>
        public static long StructSize(string structName)
        {
            UIntPtr result;
            fixed (byte* pStructName = Native.Utf8(structName))
                result = NativeMethods.ggufx_struct_size(pStructName);
            return (long)result;
        }

        /// <summary>Whether this library has a feature.</summary>
        /// <remarks>
        /// <para>Features are:</para>
        /// <list type="bullet">
        /// <item>"type:q4_K", "kv:f16", "isa:avx2": a tensor type, a KV cache type, an instruction set</item>
        /// <item>"arch:llama": an architecture (general.architecture)</item>
        /// <item>"vocab:gpt2" or "tokenizer:gpt2": a kind of vocabulary (tokenizer.ggml.model)</item>
        /// <item>"pre:llama-bpe": a pre-tokenizer (tokenizer.ggml.pre)</item>
        /// <item>"chat", "mimalloc", "cpuinfo": a part of the build</item>
        /// </list>
        /// </remarks>
        public static bool Has(string feature)
        {
            int result;
            fixed (byte* pFeature = Native.Utf8(feature))
                result = NativeMethods.ggufx_has(pFeature);
            return result != 0;
        }

        /// <summary>Returns the name of built-in format index, or null after the last one.</summary>
        /// <remarks>
        /// <para>The name is valid for the life of the process.</para>
        /// </remarks>
        public static string ChatTemplateBuiltinName(long index)
        {
            return Native.TextOrNull(NativeMethods.ggufx_chat_template_builtin_name(Native.Size(index, "index")));
        }

        /// <summary>Returns the number of pre-tokenizers of this library.</summary>
        public static long PreTokenizerCount { get { return (long)NativeMethods.ggufx_pre_tokenizer_count(); } }

        /// <summary>Describes pre-tokenizer index.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public static PreTokenizerFacts PreTokenizerAt(long index)
        {
            NativeError e;
            var resultNative = default(NativePreTokenizerFacts);
            resultNative.struct_size = (uint)sizeof(NativePreTokenizerFacts);
            Check.Ok(NativeMethods.ggufx_pre_tokenizer_at(&resultNative, Native.Size(index, "index"), &e), &e);
            return new PreTokenizerFacts(&resultNative);
        }

        /// <summary>Returns the number of quantization mixes.</summary>
        public static long FileTypeCount { get { return (long)NativeMethods.ggufx_file_type_count(); } }

        /// <summary>Describes quantization mix index, in order of descending bits.</summary>
        /// <exception cref="GgufxException">Argument.</exception>
        public static FileTypeFacts FileTypeAt(long index)
        {
            NativeError e;
            var resultNative = default(NativeFileTypeFacts);
            resultNative.struct_size = (uint)sizeof(NativeFileTypeFacts);
            Check.Ok(NativeMethods.ggufx_file_type_at(&resultNative, Native.Size(index, "index"), &e), &e);
            return new FileTypeFacts(&resultNative);
        }

        /// <summary>Finds the value of general.file_type by name, regardless of case. "Q4_K" is Q4_K_M.</summary>
        /// <exception cref="GgufxException">Argument, NotFound.</exception>
        public static uint FileTypeFind(string name)
        {
            uint resultNative;
            NativeError e;
            fixed (byte* pName = Native.Utf8(name))
                Check.Ok(NativeMethods.ggufx_file_type_find(&resultNative, pName, &e), &e);
            return resultNative;
        }

        /// <summary>Describes a type.</summary>
        /// <exception cref="GgufxException">Argument, Type.</exception>
        public static TypeFacts TypeInfo(this TensorType type)
        {
            NativeError e;
            var resultNative = default(NativeTypeFacts);
            resultNative.struct_size = (uint)sizeof(NativeTypeFacts);
            Check.Ok(NativeMethods.ggufx_type_info(&resultNative, (uint)type, &e), &e);
            return new TypeFacts(&resultNative);
        }

        /// <summary>Finds a type by name, regardless of case: "Q4_K".</summary>
        /// <exception cref="GgufxException">Argument, NotFound.</exception>
        public static TensorType TypeFind(string name)
        {
            uint resultNative;
            NativeError e;
            fixed (byte* pName = Native.Utf8(name))
                Check.Ok(NativeMethods.ggufx_type_find(&resultNative, pName, &e), &e);
            return (TensorType)resultNative;
        }

        /// <summary>Returns the bytes of a row of n values of a tensor.</summary>
        /// <exception cref="GgufxException">Argument, Type, Shape, Overflow.</exception>
        public static ulong TypeRowBytes(this TensorType type, ulong n)
        {
            ulong resultNative;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_type_row_bytes(&resultNative, (uint)type, n, &e), &e);
            return resultNative;
        }

        /// <summary>Results of PreTokenizerAt, in order.</summary>
        public static IEnumerable<PreTokenizerFacts> PreTokenizers
        {
            get { for (long i = 0; i < PreTokenizerCount; i++) yield return PreTokenizerAt(i); }
        }

        /// <summary>Results of FileTypeAt, in order.</summary>
        public static IEnumerable<FileTypeFacts> FileTypes
        {
            get { for (long i = 0; i < FileTypeCount; i++) yield return FileTypeAt(i); }
        }

        /// <summary>Results of ChatTemplateBuiltinName, in order.</summary>
        public static IEnumerable<string> ChatTemplateBuiltinNames
        {
            get { for (long i = 0; ChatTemplateBuiltinName(i) != null; i++) yield return ChatTemplateBuiltinName(i); }
        }
    }
}
