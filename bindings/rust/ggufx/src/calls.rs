// Written by bindings/raw.py from include/ggufx; a test compares them. See bindings/gen_rust.py.
// SPDX-License-Identifier: MIT
//! Classes and functions: a call of each is unsafe where it passes what its arguments own.
use crate::handle::{handle, items, size, sized, string, string_or_none};
use crate::io::{lend, RELEASE};
use crate::keep::{
    c_string, count, exactly, list, lossy, optional, optional_mut, path_string, user_of, zeros,
    Keep, List, Room,
};
use crate::watch::{check, flow, guarded, on_read, on_write, status, watched};
use crate::*;
use ggufx_sys as sys;
use std::any::Any;
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::slice::from_raw_parts_mut;
use std::sync::Arc;

handle! {
    /// An adapter bound to a model. Immutable; keeps both alive.
    Adapter(ggufx_adapter, ggufx_adapter_destroy)
}

impl Adapter {
    /// Binds the file of an adapter to a model.
    ///
    /// Tensors are read once and used in place:
    ///
    /// - LoRA: "NAME.lora_a" `[n, rank]` and "NAME.lora_b" `[rank, m]` for a tensor NAME `[n, m]`
    ///   of the model, of any type with a matrix product. For an embedding matrix `[rank, m]` and
    ///   `[rank, n]` are accepted as well. Tensors of experts have one matrix per expert; all
    ///   experts may share one A.
    /// - Control vector: "direction.L" `[n_embedding]` for layer L.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `TYPE`, `UNSUPPORTED`, `MISMATCH`, `VALUE_TYPE`, `VALUE`,
    /// `MISSING`.
    pub fn new(model: &Model, file: &File, options: AdapterOptions) -> Result<Self> {
        let options = options.raw();
        let mut out = null_mut();
        check(|e| unsafe {
            sys::ggufx_adapter_create(&mut out, model.as_raw(), file.as_raw(), &options, e)
        })?;
        Ok(Adapter::of_raw(out))
    }

    /// Describes an adapter.
    ///
    /// Errors: `ARGUMENT`.
    pub fn info(&self) -> Result<AdapterFacts> {
        let mut out = sized!(ggufx_adapter_facts);
        check(|e| unsafe { sys::ggufx_adapter_info(&mut out, self.as_raw(), e) })?;
        Ok(unsafe { AdapterFacts::of(&out) })
    }

    /// Returns 1 if the adapter changes a tensor of the model's file, given by its index, else 0.
    pub fn has_tensor(&self, tensor: usize) -> bool {
        let result = unsafe { sys::ggufx_adapter_has_tensor(self.as_raw(), tensor) };
        result != 0
    }

    /// Adds s B A to rows of a tensor of the model's file, as a merge of the adapter does.
    ///
    /// - `rows`: f32 `[n_rows][ne0]`.
    /// - `tensor`: index of the tensor in the model's file.
    /// - `first_row`: first row, counted through all matrices of the tensor.
    ///
    /// Rows of a tensor that the adapter does not change stay as they are.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`.
    pub fn add_rows(
        &self,
        rows: &mut [f32],
        tensor: usize,
        first_row: u64,
        n_rows: u64,
        scale: f32,
    ) -> Result<()> {
        check(|e| unsafe {
            sys::ggufx_adapter_add_rows(
                rows.as_mut_ptr(),
                rows.len(),
                self.as_raw(),
                tensor,
                first_row,
                n_rows,
                scale,
                e,
            )
        })
    }
}

handle! {
    /// Allocator, log, executor and chosen kernels. Objects that are created from a runtime keep it
    /// alive.
    ///
    /// After a fork the child may use and destroy objects that no other thread used at the time of
    /// the fork. The threads of the pool stay in the parent, so calls on an inherited runtime run
    /// on the caller's thread.
    Runtime(ggufx_runtime, ggufx_runtime_destroy)
}

impl Runtime {
    /// Describes a runtime.
    ///
    /// Errors: `ARGUMENT`.
    pub fn info(&self) -> Result<RuntimeFacts<'_>> {
        let mut out = sized!(ggufx_runtime_facts);
        check(|e| unsafe { sys::ggufx_runtime_info(&mut out, self.as_raw(), e) })?;
        Ok(unsafe { RuntimeFacts::of(&out) })
    }

    /// Lists devices, with the reason if a plugin or device cannot be used.
    ///
    /// Writes at most `capacity` entries of `out[0]`.struct_size bytes each (set in the first one).
    /// *`out_needed` is the number of all devices. Devices are not opened. An empty list is no
    /// error.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `CAPACITY`.
    pub fn device_list(&self, options: DeviceOptions<'_>) -> Result<Vec<DeviceFacts>> {
        let held = Keep::new();
        let options = options.raw(&held)?;
        let mut out = unsafe { Room::<sys::ggufx_device_facts>::new(64) };
        unsafe { (*out.at()).struct_size = size::<sys::ggufx_device_facts>() };
        loop {
            let done = check(|e| unsafe {
                sys::ggufx_device_list(
                    out.at(),
                    out.size(),
                    &mut out.needed,
                    self.as_raw(),
                    &options,
                    e,
                )
            });
            if !out.grows(&done) {
                done?;
                return Ok(unsafe { list(&out.filled(), DeviceFacts::of) });
            }
        }
    }

    /// Returns the exact bytes that [`Embedder::new`] allocates for a model of this file.
    ///
    /// The model itself is not included: see [`Runtime::estimate`]. The file may be opened for
    /// metadata only.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `LIMIT`, `TYPE`, `UNSUPPORTED`, `CANCELLED`, `MISMATCH`,
    /// `DEVICE`, `VALUE_TYPE`, `SHAPE`, `SPLIT`, `HYPERPARAMETER`, `MISSING`.
    pub fn embedder_estimate(&self, file: &File, options: EmbedOptions) -> Result<u64> {
        let options = options.raw();
        let mut out = 0;
        check(|e| unsafe {
            sys::ggufx_embedder_estimate(&mut out, self.as_raw(), file.as_raw(), &options, e)
        })?;
        Ok(out)
    }

    /// Estimates the memory of a model, as stored or under a quantization mix (`file_type`).
    ///
    /// The file may be opened for metadata only, and may consist of its header alone. options may
    /// be `None`;
    ///
    /// - `model_bytes` + `kv_bytes` + `session_bytes` are the exact bytes that the allocator
    ///   returns later, for a runtime with as many threads as `rt`. With `n_context_total` they are
    ///   the maximum.
    /// - `file_bytes` are the exact bytes that [`Quantizer::run`] writes.
    /// - For a rank of a group the bytes of model, caches, sessions and those read per token are of
    ///   this rank. A quantization mix decides the packing of its messages.
    /// - Not included: the directory of the opened file (about 200 bytes per tensor and key),
    ///   tokenizer, sampler, threads and their stacks.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `TYPE`, `UNSUPPORTED`, `MISMATCH`, `VALUE_TYPE`,
    /// `VALUE`, `SHAPE`, `OVERFLOW`, `SPLIT`, `HYPERPARAMETER`, `MISSING`.
    pub fn estimate(&self, file: &File, options: EstimateOptions<'_>) -> Result<EstimateFacts> {
        let held = Keep::new();
        let options = options.raw(&held)?;
        let mut out = sized!(ggufx_estimate_facts);
        check(|e| unsafe {
            sys::ggufx_estimate(&mut out, self.as_raw(), file.as_raw(), &options, e)
        })?;
        Ok(unsafe { EstimateFacts::of(&out) })
    }

    /// Recommends the quantization mix and KV cache types with the least loss that fit into
    /// `memory_bytes`.
    ///
    /// They must fit with `n_context` tokens; 0 is the default of `Session::new`. Candidates are
    /// combinations of:
    ///
    /// - Weights: the file as it is, and every mix that needs no imatrix or has one. Mixes are
    ///   tried if the file has no quantized tensor or the job allows requantization. If `file_type`
    ///   is given, only this mix is tried.
    /// - KV cache types: a ladder from F16 down. If `type_k` or `type_v` is given, only these are
    ///   tried.
    ///
    /// facts.loss is the expected KL divergence from the file as it is with an F32 cache, in nats
    /// per token. It is the sum of a part for the weights, proportional to the square of
    /// `weight_error`, and a part for keys and values. `weight_error` is the root mean square, over
    /// all values, of the relative error of a type on Gaussian values. The errors are those of the
    /// reference quantizer, with the imatrix if there is one.
    ///
    /// The losses come from measurements of one small model. They rank candidates and predict no
    /// loss of another model. If losses are equal, the candidate with fewer bytes is chosen.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `TYPE`, `UNSUPPORTED`, `CAPACITY`, `MISMATCH`,
    /// `VALUE_TYPE`, `VALUE`, `SHAPE`, `OVERFLOW`, `SPLIT`, `HYPERPARAMETER`, `MISSING`.
    pub fn recommend(&self, file: &File, options: EstimateOptions<'_>) -> Result<EstimateFacts> {
        let held = Keep::new();
        let options = options.raw(&held)?;
        let mut out = sized!(ggufx_estimate_facts);
        check(|e| unsafe {
            sys::ggufx_recommend(&mut out, self.as_raw(), file.as_raw(), &options, e)
        })?;
        Ok(unsafe { EstimateFacts::of(&out) })
    }

    /// Computes the results of predictions that were measured in several runs.
    ///
    /// They have the bits of one run over the whole text if the rows are all of its rows in the
    /// order of the text.
    ///
    /// - `rows`: `[n_rows]` as `rows` of [`EvalOptions`] got them.
    /// - `n_chunks`: number of their chunks, of `n_context` tokens each; copied to the facts.
    /// - `flags`: [`EvalFlags::COMPARED`] with saved logits; _SAME_MODEL is copied to the facts.
    ///
    /// After a failure \*out is as before.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `VALUE`.
    pub fn eval_merge(
        &self,
        rows: &[EvalRow],
        n_chunks: u64,
        n_context: u32,
        flags: EvalFlags,
    ) -> Result<EvalFacts> {
        let rows = unsafe { List::of(rows.iter().map(|x| Ok(x.raw()))) }?;
        let mut out = sized!(ggufx_eval_facts);
        check(|e| unsafe {
            sys::ggufx_eval_merge(
                &mut out,
                self.as_raw(),
                rows.at(),
                rows.len(),
                n_chunks,
                n_context,
                flags.0,
                e,
            )
        })?;
        Ok(unsafe { EvalFacts::of(&out) })
    }

    /// Quantizes rows for inputs with given moments, with the same bytes on every machine and
    /// thread count.
    ///
    /// Begins with the blocks of [`QuantizeMode::REFINED`], where the imatrix is the mean square of
    /// each column. Coordinate descent then lowers the squared error of the outputs, averaged over
    /// the inputs: it changes codes, scales and minimums one at a time.
    /// docs/reproducibility/feedback.md is the definition. A change of the target
    /// ([`MomentsFlags::DRIFT`]) needs at least 16 inputs per column.
    ///
    /// - `out`: as in [`Runtime::quantize`].
    /// - `out_facts`: the result;
    ///
    /// Each call prepares the moments again, in time proportional to the cube of `n_cols` with
    /// [`MomentsFlags::DRIFT`]: pass all rows with the same inputs at once.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `TYPE`, `CANCELLED`, `VALUE`, `SHAPE`.
    pub fn quantize_feedback(
        &self,
        out: &mut [u8],
        args: FeedbackArgs<'_>,
    ) -> Result<FeedbackFacts> {
        let held = Keep::new();
        let args = args.raw(&held)?;
        let mut out_facts = sized!(ggufx_feedback_facts);
        watched(|e| unsafe {
            sys::ggufx_quantize_feedback(
                out.as_mut_ptr().cast(),
                out.len(),
                self.as_raw(),
                &args,
                &mut out_facts,
                e,
            )
        })?;
        Ok(unsafe { FeedbackFacts::of(&out_facts) })
    }

    /// Returns the bytes that a cache allocates after `n_tokens` tokens are reserved in every
    /// sequence.
    ///
    /// Appending these tokens takes no more. The object of the handle is included.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `TYPE`.
    pub fn kv_estimate(&self, options: KvOptions<'_>, n_tokens: u64) -> Result<u64> {
        let held = Keep::new();
        let options = options.raw(&held)?;
        let mut out = 0;
        check(|e| unsafe {
            sys::ggufx_kv_estimate(&mut out, self.as_raw(), &options, n_tokens, e)
        })?;
        Ok(out)
    }

    /// Computes y = W x for one vector.
    ///
    /// - `w`: a tensor of any type with [`TypeFlags::HAS_MATVEC`]: rows = ne1 * ne2 * ne3, columns
    ///   = ne0.
    /// - `x`: f32, `n_x` = ne0 values.
    /// - `y`: f32, `n_y` = rows values; must not overlap x.
    ///
    /// A NaN in x gives NaN (bits 0x7fc00000) in every y. So does an infinity with 8-bit
    /// activations; with f32 activations it follows IEEE 754. -0 is stored as +0.
    ///
    /// Sums run in f32, also before their scales are applied. If |x| is above about 1e30 they can
    /// overflow to an infinity or NaN, although the exact result is finite. An MXFP4 scale (up to
    /// 2^127) times the scale of 8- or 15-bit activations can be infinite; codes that are 0 then
    /// give NaN.
    ///
    /// Errors: `ARGUMENT`, `LIMIT`, `TYPE`, `UNSUPPORTED`, `CANCELLED`.
    pub fn matvec(
        &self,
        y: &mut [f32],
        w: &Tensor<'_>,
        x: &[f32],
        options: MatmulOptions<'_>,
    ) -> Result<()> {
        let held = Keep::new();
        let options = options.raw(&held)?;
        watched(|e| unsafe {
            sys::ggufx_matvec(
                y.as_mut_ptr(),
                y.len(),
                self.as_raw(),
                w.as_raw(),
                x.as_ptr(),
                x.len(),
                &options,
                e,
            )
        })
    }

    /// Computes several products, such as query, key and value of one input, or those of experts.
    ///
    /// Neighbouring products of the same x, ldx and n, without experts, are computed together: x is
    /// packed once, and the executor gets the rows of all matrices. Their bits are those of single
    /// products. n = 1 .. 3 columns have the bits of [`Runtime::matvec`].
    ///
    /// With ids, result r = j * `n_used` + i is expert `ids[r]` times column j. For one column per
    /// result (down projection) pass n results with `n_used` = 1. All results of one expert are one
    /// product. Their bits are those of as many columns as the expert has results: 1 .. 3, or 4 and
    /// more. [`MatmulFlags::BATCH_INVARIANT`] and [`MatmulFlags::TILED`] remove this dependence.
    ///
    /// - `products`: at most [`sys::GGUFX_MATMUL_MAX_PRODUCTS`]; no y overlaps an x or another y.
    ///
    /// Otherwise as [`Runtime::matvec`]. All products are checked before anything is computed,
    /// except for their types and the workspace.
    ///
    /// Errors: `ARGUMENT`, `LIMIT`, `TYPE`, `UNSUPPORTED`, `CANCELLED`.
    pub fn matmul(&self, products: &mut [Product<'_>], options: MatmulOptions<'_>) -> Result<()> {
        let held = Keep::new();
        let products = unsafe { List::of(products.iter_mut().map(|x| x.raw(&held))) }?;
        let options = options.raw(&held)?;
        watched(|e| unsafe {
            sys::ggufx_matmul(self.as_raw(), products.at(), products.len(), &options, e)
        })
    }

    /// Dequantizes rows of a tensor to f32, bit-exact with the definition of the formats.
    ///
    /// - `out`: f32, `[n_rows][ne0]`, dense; `n_out` \>= `n_rows` * ne0 floats.
    /// - `first_row`: first row, counted over all outer dimensions: ne1 * ne2 * ne3 rows.
    ///
    /// I8 .. I64 and F64 are converted to f32 (round to nearest even).
    ///
    /// Errors: `ARGUMENT`, `TYPE`, `UNSUPPORTED`.
    pub fn dequantize(
        &self,
        out: &mut [f32],
        tensor: &Tensor<'_>,
        first_row: u64,
        n_rows: u64,
    ) -> Result<()> {
        check(|e| unsafe {
            sys::ggufx_dequantize(
                out.as_mut_ptr(),
                out.len(),
                self.as_raw(),
                tensor.as_raw(),
                first_row,
                n_rows,
                e,
            )
        })
    }

    /// Quantizes rows to blocks, with the same bytes on every machine and thread count.
    ///
    /// - `out`: `n_bytes` \>= `n_rows` * [`type_row_bytes`](type, `n_cols`), written dense,
    ///   little-endian fields; must not overlap the rows. Unspecified after an error.
    ///
    /// Types without a search (Q8_0, F16, ...) ignore the imatrix. IQ2_XXS, IQ2_XS and IQ1_S need
    /// one. IQ3_S has the bytes of the reference also in this case: a group of 32 zeros shifts the
    /// codes of later groups. Such blocks dequantize to wrong values; [`QuantizeMode::REFINED`]
    /// avoids them. IQ1, IQ2 and IQ3 begin each call with tables, which take up to 1 MB and tens of
    /// ms: pass many rows.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `TYPE`, `UNSUPPORTED`, `CANCELLED`, `VALUE`, `SHAPE`.
    pub fn quantize(&self, out: &mut [u8], args: QuantizeArgs<'_>) -> Result<()> {
        let held = Keep::new();
        let args = args.raw(&held)?;
        watched(|e| unsafe {
            sys::ggufx_quantize(out.as_mut_ptr().cast(), out.len(), self.as_raw(), &args, e)
        })
    }

    /// Computes the natural log-probabilities of the k likeliest among n tokens, or of k given
    /// tokens.
    ///
    /// - `out_ids`: the k likeliest by rank, k \<= n, or the given tokens; may be `None` if k is 0
    ///   or tokens are given.
    /// - `out_logprobs`: their log-probabilities; may be `None` if k is 0.
    /// - `tokens`: ids below n; `None`: the k likeliest.
    ///
    /// Each is logit - largest - log(sum of weights) in binary64, rounded once; the sum is that of
    /// a vocabulary. The log-probability of a logit of -infinity is -infinity.
    ///
    /// Errors: `ARGUMENT`, `VALUE`.
    pub fn logprobs(
        &self,
        k: usize,
        logits: &[f32],
        tokens: Option<&[i32]>,
    ) -> Result<(Vec<i32>, Vec<f32>)> {
        exactly("tokens", tokens.map(<[_]>::len), k as u64)?;
        let mut out_ids = zeros::<i32>(k as u64)?;
        let mut out_logprobs = zeros::<f32>(k as u64)?;
        check(|e| unsafe {
            sys::ggufx_logprobs(
                out_ids.as_mut_ptr(),
                out_logprobs.as_mut_ptr(),
                k,
                self.as_raw(),
                logits.as_ptr(),
                logits.len(),
                optional(tokens),
                e,
            )
        })?;
        Ok((out_ids, out_logprobs))
    }

    /// Returns the name of the instruction set whose matvec kernel computes a tensor type:
    /// "avx512". An unknown type gives `None`.
    pub fn kernel_name(&self, type_: TensorType) -> Option<&str> {
        let result = unsafe { sys::ggufx_runtime_kernel_name(self.as_raw(), type_.0) };
        unsafe { string_or_none(result) }
    }

    /// Finishes an edit in place that a crash interrupted, or restores a split set after an
    /// interrupted replace.
    ///
    /// For a set, `path` is that of any part. The old parts are restored, or deleted if all new
    /// parts have their names. The log tells (INFO) how much was left to do.
    ///
    /// - `out`: 1 if there was an interruption, else 0.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `NOT_FOUND`, `STATE`.
    pub fn file_recover_edit(&self, path: impl AsRef<Path>) -> Result<bool> {
        let path = path_string(path.as_ref())?;
        let mut out = 0;
        check(|e| unsafe {
            sys::ggufx_file_recover_edit(&mut out, self.as_raw(), path.as_ptr().cast(), e)
        })?;
        Ok(out != 0)
    }
}

handle! {
    /// A compiled template. Immutable.
    ChatTemplate(ggufx_chat_template, ggufx_chat_template_destroy)
}

impl ChatTemplate {
    /// Compiles a chat template: options-\>text, a built-in format, or else the template of a file.
    ///
    /// - `file`: read by the call and not kept; `None` if it is not needed.
    ///
    /// Time and memory are linear in the size of the template, which is at most 16 MiB.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `MALFORMED`, `LIMIT`, `UNSUPPORTED`, `NOT_FOUND`,
    /// `VALUE_TYPE`.
    pub fn new(
        rt: &Runtime,
        file: Option<&File>,
        options: ChatTemplateOptions<'_>,
    ) -> Result<Self> {
        let options = options.raw();
        let mut out = null_mut();
        check(|e| unsafe {
            sys::ggufx_chat_template_create(
                &mut out,
                rt.as_raw(),
                file.map_or(null_mut(), |x| x.as_raw()),
                &options,
                e,
            )
        })?;
        Ok(ChatTemplate::of_raw(out))
    }

    /// Renders a conversation as a prompt.
    ///
    /// Writes at most `capacity` bytes (no NUL) and always sets *`out_needed`; CAPACITY if that is
    /// larger. [`ChatTemplate::spans`] tells which bytes came from users.
    ///
    /// JSON is parsed strictly (RFC 8259, 96 levels). The last of equal names counts. An integer
    /// beyond 64 bits becomes a float.
    ///
    /// Messages are converted to the form that the template supports, if their own form fails or
    /// loses content:
    ///
    /// - Arguments of calls are an object or JSON text. "", null and absent arguments are {}.
    ///   Arguments that are no JSON object are MALFORMED if the template wants one; the message
    ///   quotes them, index is the message.
    /// - An absent content of a message with calls is "" or null.
    /// - Lists of text parts stay lists, or are joined.
    /// - Calls that a template leaves out become a part of the content, in the form that its models
    ///   write ([`ChatTemplate::info`]). Results that a template leaves out stay left out.
    ///
    /// If a template fails, it is run a second time, with the same limits. That run fills in
    /// missing descriptions, parameters, call ids (nine letters and digits) and names of results.
    /// It merges system messages into one at the start. A third run has one call per message.
    ///
    /// With [`ChatFlags::CONTINUE`], and without [`ChatFlags::GENERATE`], the prompt ends after the
    /// content of the last message, so that the model continues it. If it only has
    /// `reasoning_content`, the prompt ends after that.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `MALFORMED`, `LIMIT`, `UNSUPPORTED`, `CAPACITY`, `CANCELLED`,
    /// `MISMATCH`, `VALUE`.
    pub fn render(&self, request: ChatRequest<'_>) -> Result<String> {
        let held = Keep::new();
        let request = request.raw(&held)?;
        let mut out = unsafe { Room::<u8>::new(4096) };
        loop {
            let done = watched(|e| unsafe {
                sys::ggufx_chat_template_render(
                    out.at().cast(),
                    out.size(),
                    &mut out.needed,
                    self.as_raw(),
                    &request,
                    e,
                )
            });
            if !out.grows(&done) {
                done?;
                return Ok(lossy(out.filled()));
            }
        }
    }

    /// Renders a conversation and returns the spans of the prompt; neighbouring spans differ in
    /// origin.
    ///
    /// Writes at most `capacity` spans and always sets *`out_needed`; CAPACITY if that is larger.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `MALFORMED`, `LIMIT`, `UNSUPPORTED`, `CAPACITY`, `CANCELLED`,
    /// `MISMATCH`, `VALUE`.
    pub fn spans(&self, request: ChatRequest<'_>) -> Result<Vec<ChatSpan>> {
        let held = Keep::new();
        let request = request.raw(&held)?;
        let mut out = unsafe { Room::<sys::ggufx_chat_span>::new(64) };
        loop {
            let done = watched(|e| unsafe {
                sys::ggufx_chat_template_spans(
                    out.at(),
                    out.size(),
                    &mut out.needed,
                    self.as_raw(),
                    &request,
                    e,
                )
            });
            if !out.grows(&done) {
                done?;
                return Ok(unsafe { list(&out.filled(), ChatSpan::of) });
            }
        }
    }

    /// Renders a conversation and tokenizes it, so that text of the user never becomes a control
    /// token.
    ///
    /// A control token is recognized only if the template wrote all of its bytes; elsewhere it is
    /// plain text. This holds for:
    ///
    /// - [`TokenFlags::CONTROL`] and [`TokenFlags::UNKNOWN`], and [`TokenFlags::USER_DEFINED`]
    ///   tokens that separate channels or messages
    /// - other user-defined tokens whose text is in the template, in its strings, or is a marker of
    ///   the output ("\<think\>"). White space and single characters are excluded.
    ///
    /// All other user-defined tokens are recognized everywhere. Without such tokens in the messages
    /// the ids are those of [`Tokenizer::tokenize`] with [`TokenizeFlags::PARSE_SPECIAL`].
    ///
    /// request-\>progress is also polled between tokens that are recognized as a whole.
    ///
    /// With [`TokenizeFlags::ADD_SPECIAL`] in `flags`, BOS is added once at the start if the file
    /// asks for it; nothing is added at the end. Writes at most `capacity` ids and always sets
    /// *`out_needed`; CAPACITY if that is larger.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `MALFORMED`, `LIMIT`, `UNSUPPORTED`, `CAPACITY`, `CANCELLED`,
    /// `MISMATCH`, `VALUE`, `VOCAB`.
    pub fn tokenize(
        &self,
        tokenizer: &Tokenizer,
        request: ChatRequest<'_>,
        flags: TokenizeFlags,
    ) -> Result<Vec<i32>> {
        let held = Keep::new();
        let request = request.raw(&held)?;
        let mut out_ids = unsafe { Room::<i32>::new(4096) };
        loop {
            let done = watched(|e| unsafe {
                sys::ggufx_chat_template_tokenize(
                    out_ids.at(),
                    out_ids.size(),
                    &mut out_ids.needed,
                    self.as_raw(),
                    tokenizer.as_raw(),
                    &request,
                    flags.0,
                    e,
                )
            });
            if !out_ids.grows(&done) {
                done?;
                return Ok(out_ids.filled());
            }
        }
    }

    /// Describes a template.
    ///
    /// The format of tool calls and reasoning is detected by rendering a conversation with known
    /// calls. If the template does not write them, it may contain known markers.
    ///
    /// Errors: `ARGUMENT`.
    pub fn info(&self) -> Result<ChatTemplateFacts<'_>> {
        let mut out = sized!(ggufx_chat_template_facts);
        check(|e| unsafe { sys::ggufx_chat_template_info(&mut out, self.as_raw(), e) })?;
        Ok(unsafe { ChatTemplateFacts::of(&out) })
    }
}

handle! {
    /// Splits the output of a model into answer, reasoning and tool calls, while it is generated.
    /// Exclusive.
    ChatParser(ggufx_chat_parser, ggufx_chat_parser_destroy)
}

impl ChatParser {
    /// Creates a parser. The template may be destroyed before the parser.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `MALFORMED`, `LIMIT`, `UNSUPPORTED`.
    pub fn new(rt: &Runtime, options: ChatParserOptions<'_>) -> Result<Self> {
        let options = options.raw();
        let mut out = null_mut();
        check(|e| unsafe { sys::ggufx_chat_parser_create(&mut out, rt.as_raw(), &options, e) })?;
        Ok(ChatParser::of_raw(out))
    }

    /// Parses the next bytes of the output, which must include special tokens
    /// ([`DetokenizeFlags::KEEP_SPECIAL`]).
    ///
    /// The events wait for [`ChatParser::poll`]. The pieces into which the output is split do not
    /// change the text of a kind or call. Bytes that may become a marker are held back, and a call
    /// until it is complete (at most 16 MiB). Invalid UTF-8 becomes U+FFFD. Line breaks beside
    /// markers are dropped. An incomplete call is text of the answer.
    ///
    /// Arguments become a JSON object:
    ///
    /// - Missing arguments, null and an empty text become {}.
    /// - Values between markers get their types from the schema of the tool. A parameter that may
    ///   be a string is one, unless it is null and the schema allows null. Others are read as JSON
    ///   or as a Python literal; numbers keep all digits.
    /// - Without a schema, a value that is valid JSON is read as such.
    /// - The last of repeated parameters in an object counts. Parameters outside of the schema are
    ///   passed on; missing ones stay missing.
    /// - A value that quotes markers ends at the first legal end: markers of calls within it nest.
    ///   A parameter that is repeated or not in the schema starts only after the white space of the
    ///   template.
    ///
    /// An unclosed call within reasoning ends the reasoning, unless text follows it.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `STATE`.
    pub fn feed(&mut self, text: impl AsRef<[u8]>) -> Result<()> {
        let text = text.as_ref();
        check(|e| unsafe {
            sys::ggufx_chat_parser_feed(self.as_raw(), text.as_ptr().cast(), text.len(), e)
        })
    }

    /// Ends the output; bytes that were held back become events.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `STATE`.
    pub fn finish(&mut self) -> Result<()> {
        check(|e| unsafe { sys::ggufx_chat_parser_finish(self.as_raw(), e) })
    }

    /// Takes the next event; [`EventKind::NONE`] when there is none.
    ///
    /// Errors: `ARGUMENT`.
    pub fn poll(&mut self) -> Result<Event> {
        let mut out = sized!(ggufx_event);
        check(|e| unsafe { sys::ggufx_chat_parser_poll(&mut out, self.as_raw(), e) })?;
        Ok(unsafe { Event::of(&out) })
    }

    /// Describes the position of a parser in the output.
    ///
    /// Errors: `ARGUMENT`.
    pub fn info(&self) -> Result<ChatParserFacts<'_>> {
        let mut out = sized!(ggufx_chat_parser_facts);
        check(|e| unsafe { sys::ggufx_chat_parser_info(&mut out, self.as_raw(), e) })?;
        Ok(unsafe { ChatParserFacts::of(&out) })
    }
}

handle! {
    /// An opened device. Tensors in its memory, and models, keep it alive.
    Device(ggufx_device, ggufx_device_destroy)
}

impl Device {
    /// Opens a device by its id in the list. "auto" selects the first usable device that is not
    /// software.
    ///
    /// Its arithmetic is tested. Shaders are compiled on first use. Plugins and drivers stay loaded
    /// until the process ends. After a fork the child must not use devices of the parent.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `UNSUPPORTED`, `DEVICE`.
    pub fn open(rt: &Runtime, id: &str, options: DeviceOptions<'_>) -> Result<Self> {
        let held = Keep::new();
        let id = c_string(id)?;
        let options = options.raw(&held)?;
        let mut out = null_mut();
        check(|e| unsafe {
            sys::ggufx_device_open(&mut out, rt.as_raw(), id.as_ptr().cast(), &options, e)
        })?;
        Ok(Device::of_raw(out))
    }

    /// Frees everything on a device, including the data of its tensors.
    ///
    /// The call waits for running work, then frees memory, pipelines and queues. Later calls on the
    /// device and its tensors fail with DEVICE. The handles must still be destroyed, in any order.
    /// An engine calls this before it destroys its VkDevice.
    pub fn detach(&mut self) {
        unsafe { sys::ggufx_device_detach(self.as_raw()) }
    }

    /// Describes an opened device.
    ///
    /// Errors: `ARGUMENT`.
    pub fn info(&self) -> Result<DeviceFacts> {
        let mut out = sized!(ggufx_device_facts);
        check(|e| unsafe { sys::ggufx_device_info(&mut out, self.as_raw(), e) })?;
        Ok(unsafe { DeviceFacts::of(&out) })
    }
}

handle! {
    /// Scratch memory, and keys and values of one layer. Exclusive. Keeps its model alive.
    Embedder(ggufx_embedder, ggufx_embedder_destroy)
}

impl Embedder {
    /// Replaces the adapters of an embedder, for all inputs of later calls.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `MISMATCH`.
    pub fn set_adapters(&mut self, uses: &[AdapterUse<'_>]) -> Result<()> {
        let uses = unsafe { List::of(uses.iter().map(|x| Ok(x.raw()))) }?;
        check(|e| unsafe {
            sys::ggufx_embedder_set_adapters(self.as_raw(), uses.at(), uses.len(), e)
        })
    }

    /// Creates an embedder and allocates all its memory.
    ///
    /// An input is computed as a whole, so the scratch memory is for at least `n_context` tokens.
    /// options may be `None`.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `UNSUPPORTED`.
    pub fn new(model: &Model, options: EmbedOptions) -> Result<Self> {
        let options = options.raw();
        let mut out = null_mut();
        check(|e| unsafe { sys::ggufx_embedder_create(&mut out, model.as_raw(), &options, e) })?;
        Ok(Embedder::of_raw(out))
    }

    /// Describes an embedder.
    ///
    /// Errors: `ARGUMENT`.
    pub fn info(&self) -> Result<EmbedderFacts> {
        let mut out = sized!(ggufx_embedder_facts);
        check(|e| unsafe { sys::ggufx_embedder_info(&mut out, self.as_raw(), e) })?;
        Ok(unsafe { EmbedderFacts::of(&out) })
    }

    /// Embeds inputs of token ids.
    ///
    /// - `out`: f32 `[n_texts][dimensions]`, `n_out` floats in all. With [`Pooling::NONE`] one row
    ///   per used token. Undefined after a failure.
    /// - `texts`: the inputs, at least one id each. They include the special tokens that the model
    ///   was trained with ([`TokenizeFlags::ADD_SPECIAL`]).
    /// - `progress`: counts tokens, polled between layers and within products. `None`: cannot be
    ///   cancelled.
    ///
    /// Token types are 0 for models that have them. As many inputs as fit are computed together.
    /// Models with recurrent layers, or layers that read the keys of another layer, compute one at
    /// a time.
    ///
    /// Errors: `ARGUMENT`, `CANCELLED`, `VALUE`.
    pub fn embed(
        &mut self,
        out: &mut [f32],
        texts: &[TokenList<'_>],
        progress: Option<&mut Progress<'_>>,
    ) -> Result<()> {
        let held = Keep::new();
        let texts = unsafe { List::of(texts.iter().map(|x| Ok(x.raw()))) }?;
        watched(|e| unsafe {
            sys::ggufx_embed(
                out.as_mut_ptr(),
                out.len(),
                self.as_raw(),
                texts.at(),
                texts.len(),
                held.progress(progress),
                e,
            )
        })
    }
}

handle! {
    /// Second moments of the inputs of a matrix: sums of y y^T, where y is an input.
    Moments(ggufx_moments, ggufx_moments_destroy)
}

impl Moments {
    /// Creates moments without inputs, for a matrix with `n_columns` columns. Memory: 8 bytes per
    /// pair of columns, 16 with [`MomentsFlags::DRIFT`].
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`.
    pub fn new(rt: &Runtime, n_columns: usize, flags: MomentsFlags) -> Result<Self> {
        let mut out = null_mut();
        check(|e| unsafe {
            sys::ggufx_moments_create(&mut out, rt.as_raw(), n_columns, flags.0, e)
        })?;
        Ok(Moments::of_raw(out))
    }

    /// Describes moments.
    ///
    /// Errors: `ARGUMENT`.
    pub fn info(&self) -> Result<MomentsFacts> {
        let mut out = sized!(ggufx_moments_facts);
        check(|e| unsafe { sys::ggufx_moments_info(&mut out, self.as_raw(), e) })?;
        Ok(unsafe { MomentsFacts::of(&out) })
    }

    /// Adds inputs to moments. The sums are binary64, in the order of the inputs: they depend
    /// neither on threads and machine nor on how the inputs are split into calls.
    ///
    /// Errors: `ARGUMENT`, `CANCELLED`, `VALUE`.
    pub fn add(&mut self, inputs: MomentsInputs<'_>) -> Result<()> {
        let held = Keep::new();
        let inputs = inputs.raw(&held)?;
        watched(|e| unsafe { sys::ggufx_moments_add(self.as_raw(), &inputs, e) })
    }
}

handle! {
    /// An opened file: metadata and tensor directory. Immutable.
    File(ggufx_file, ggufx_file_destroy)
}

impl File {
    /// Opens a GGUF file by its UTF-8 path.
    ///
    /// Any part of a split set ("x-00002-of-00003.gguf") opens the whole set. Big-endian files are
    /// supported; their tensor data are byte-swapped into memory at open.
    ///
    /// Tensor data in huge pages (2 MiB) are read faster. A mapping of a file has them without a
    /// copy if its file system and the page cache do (Linux). Otherwise:
    ///
    /// - [`OpenFlags::HUGE_PAGES`] with [`IoMode::AUTO`] copies a file into memory of the runtime's
    ///   allocator, with all threads, and ends its mapping. Without huge pages, the file stays
    ///   mapped, and the log has a warning. With [`IoMode::READ`] it requests huge pages for the
    ///   data that are read.
    /// - [`OpenFlags::HUGE_AUTO`] does so for 32 MiB and more, only if the mapping has small pages
    ///   and memory is free. The copy must leave half of its size of the machine's memory, and of
    ///   the limits of the process and its control groups.
    /// - [`OpenFlags::REREAD`] drops the file from the page cache before it is mapped, if it has
    ///   small pages there. Pages that other processes have mapped stay.
    ///
    /// If another process changes a mapped file in place:
    ///
    /// - Keys, numbers, names, shapes, and strings up to 4 KiB outside of arrays keep the values of
    ///   the open.
    /// - Tensor data, array elements and longer strings may change, but views of them never leave
    ///   the file. A string of an array whose length no longer fits is MALFORMED.
    /// - A truncated file raises SIGBUS at the next access to a missing page, like any mapping.
    ///
    /// [`IoMode::READ`], a copy in huge pages, or [`OpenFlags::COPY`] for memory, protects against
    /// such changes. Borrowed memory and maps of callbacks behave like mapped files.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `TRUNCATED`, `MAGIC`, `VERSION`, `ENDIAN`, `MALFORMED`,
    /// `LIMIT`, `TYPE`, `UNSUPPORTED`, `NOT_FOUND`, `CANCELLED`, `COUNT`, `LENGTH`, `KEY`,
    /// `VALUE_TYPE`, `VALUE`, `DUPLICATE`, `ALIGNMENT`, `NAME`, `NDIMS`, `SHAPE`, `OVERFLOW`,
    /// `OFFSET`, `BOUNDS`, `SPLIT`.
    pub fn open(rt: &Runtime, path: impl AsRef<Path>, options: OpenOptions<'_>) -> Result<Self> {
        let held = Keep::new();
        let path = path_string(path.as_ref())?;
        let options = options.raw(&held)?;
        let mut out = null_mut();
        watched(|e| unsafe {
            sys::ggufx_open(&mut out, rt.as_raw(), path.as_ptr().cast(), &options, e)
        })?;
        Ok(File::of_raw(out))
    }

    /// Opens `length` bytes at `offset` of a file descriptor, such as a model inside an archive.
    ///
    /// length 0 means up to the end of the file. The descriptor is duplicated: the caller keeps and
    /// closes its own. POSIX only, else UNSUPPORTED.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `TRUNCATED`, `MAGIC`, `VERSION`, `ENDIAN`, `MALFORMED`,
    /// `LIMIT`, `TYPE`, `UNSUPPORTED`, `NOT_FOUND`, `CANCELLED`, `COUNT`, `LENGTH`, `KEY`,
    /// `VALUE_TYPE`, `VALUE`, `DUPLICATE`, `ALIGNMENT`, `NAME`, `NDIMS`, `SHAPE`, `OVERFLOW`,
    /// `OFFSET`, `BOUNDS`, `SPLIT`.
    pub fn open_fd(
        rt: &Runtime,
        fd: i32,
        offset: u64,
        length: u64,
        options: OpenOptions<'_>,
    ) -> Result<Self> {
        let held = Keep::new();
        let options = options.raw(&held)?;
        let mut out = null_mut();
        watched(|e| unsafe {
            sys::ggufx_open_fd(&mut out, rt.as_raw(), fd, offset, length, &options, e)
        })?;
        Ok(File::of_raw(out))
    }

    /// Opens a GGUF file in memory.
    ///
    /// - `data`: the bytes of the file.
    ///
    /// The memory is not copied: it is kept until the last user of the object is gone, and must not
    /// change before.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `TRUNCATED`, `MAGIC`, `VERSION`, `ENDIAN`, `MALFORMED`,
    /// `LIMIT`, `TYPE`, `UNSUPPORTED`, `NOT_FOUND`, `CANCELLED`, `COUNT`, `LENGTH`, `KEY`,
    /// `VALUE_TYPE`, `VALUE`, `DUPLICATE`, `ALIGNMENT`, `NAME`, `NDIMS`, `SHAPE`, `OVERFLOW`,
    /// `OFFSET`, `BOUNDS`, `SPLIT`.
    pub fn open_memory(
        rt: &Runtime,
        data: impl AsRef<[u8]> + Send + Sync + 'static,
        options: OpenOptions<'_>,
    ) -> Result<Self> {
        let held = Keep::new();
        let options = options.raw(&held)?;
        let mut out = null_mut();
        let (data, size, user) = lend(Box::new(data));
        watched(|e| unsafe {
            sys::ggufx_open_memory(
                &mut out,
                rt.as_raw(),
                data.cast(),
                size,
                Some(RELEASE),
                user,
                &options,
                e,
            )
        })?;
        Ok(File::of_raw(out))
    }

    /// Describes a file.
    ///
    /// Errors: `ARGUMENT`.
    pub fn info(&self) -> Result<FileFacts> {
        let mut out = sized!(ggufx_file_facts);
        check(|e| unsafe { sys::ggufx_file_info(&mut out, self.as_raw(), e) })?;
        Ok(unsafe { FileFacts::of(&out) })
    }

    /// Describes the memory of a file's tensor data.
    ///
    /// A mapping has only the pages that this process has used. The kernel counts them during the
    /// call, which takes about a millisecond per GB.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`.
    pub fn memory(&self) -> Result<FileMemoryFacts> {
        let mut out = sized!(ggufx_file_memory_facts);
        check(|e| unsafe { sys::ggufx_file_memory(&mut out, self.as_raw(), e) })?;
        Ok(unsafe { FileMemoryFacts::of(&out) })
    }

    /// Returns the number of keys.
    pub fn meta_count(&self) -> usize {
        unsafe { sys::ggufx_file_meta_count(self.as_raw()) }
    }

    /// Describes the key `index`, in file order.
    ///
    /// Errors: `ARGUMENT`.
    pub fn meta_at(&self, index: usize) -> Result<MetaFacts<'_>> {
        let mut out = sized!(ggufx_meta_facts);
        check(|e| unsafe { sys::ggufx_file_meta_at(&mut out, self.as_raw(), index, e) })?;
        Ok(unsafe { MetaFacts::of(&out) })
    }

    /// Finds the index of a key of `length` bytes.
    ///
    /// Errors: `ARGUMENT`, `NOT_FOUND`.
    pub fn meta_find(&self, key: impl AsRef<[u8]>) -> Result<usize> {
        let key = key.as_ref();
        let mut out = 0;
        check(|e| unsafe {
            sys::ggufx_file_meta_find(&mut out, self.as_raw(), key.as_ptr().cast(), key.len(), e)
        })?;
        Ok(out)
    }

    /// Returns the value of a key as an unsigned integer.
    ///
    /// The scalar getters convert types without loss:
    ///
    /// - u64 and i64 accept any integer type whose value fits, and bool as 0 or 1.
    /// - f64 accepts f32, f64 and integers up to 2^53.
    /// - bool accepts only bool; any non-zero byte is true.
    ///
    /// An array of exactly one such element is accepted as a scalar.
    ///
    /// Errors: `ARGUMENT`, `VALUE_TYPE`, `VALUE`.
    pub fn meta_u64(&self, index: usize) -> Result<u64> {
        let mut out = 0;
        check(|e| unsafe { sys::ggufx_file_meta_u64(&mut out, self.as_raw(), index, e) })?;
        Ok(out)
    }

    /// Returns the value of a key as a signed integer.
    ///
    /// Errors: `ARGUMENT`, `VALUE_TYPE`, `VALUE`.
    pub fn meta_i64(&self, index: usize) -> Result<i64> {
        let mut out = 0;
        check(|e| unsafe { sys::ggufx_file_meta_i64(&mut out, self.as_raw(), index, e) })?;
        Ok(out)
    }

    /// Returns the value of a key as a floating-point number.
    ///
    /// Errors: `ARGUMENT`, `VALUE_TYPE`, `VALUE`.
    pub fn meta_f64(&self, index: usize) -> Result<f64> {
        let mut out = 0.0;
        check(|e| unsafe { sys::ggufx_file_meta_f64(&mut out, self.as_raw(), index, e) })?;
        Ok(out)
    }

    /// Returns the value of a bool key as 0 or 1.
    ///
    /// Errors: `ARGUMENT`, `VALUE_TYPE`, `VALUE`.
    pub fn meta_bool(&self, index: usize) -> Result<bool> {
        let mut out = 0;
        check(|e| unsafe { sys::ggufx_file_meta_bool(&mut out, self.as_raw(), index, e) })?;
        Ok(out != 0)
    }

    /// Returns a view of a string, borrowed from the file.
    ///
    /// Errors: `ARGUMENT`, `MALFORMED`, `VALUE_TYPE`.
    pub fn meta_string(&self, index: usize) -> Result<&[u8]> {
        let mut out = sys::ggufx_text { data: null(), size: 0 };
        check(|e| unsafe { sys::ggufx_file_meta_string(&mut out, self.as_raw(), index, e) })?;
        Ok(unsafe { items(out.data.cast(), out.size) })
    }

    /// Copies elements first .. first + n - 1 of an array of numbers or bools, converted as the
    /// scalar getters do.
    ///
    /// - `out`: the elements. A scalar counts as an array of one.
    ///
    /// Errors: `ARGUMENT`, `VALUE_TYPE`, `VALUE`.
    pub fn meta_array_u64(&self, index: usize, first: u64, n: usize) -> Result<Vec<u64>> {
        let mut out = zeros::<u64>(n as u64)?;
        check(|e| unsafe {
            sys::ggufx_file_meta_array_u64(out.as_mut_ptr(), self.as_raw(), index, first, n, e)
        })?;
        Ok(out)
    }

    /// Copies array elements as signed integers.
    ///
    /// - `out`: the elements.
    ///
    /// Errors: `ARGUMENT`, `VALUE_TYPE`, `VALUE`.
    pub fn meta_array_i64(&self, index: usize, first: u64, n: usize) -> Result<Vec<i64>> {
        let mut out = zeros::<i64>(n as u64)?;
        check(|e| unsafe {
            sys::ggufx_file_meta_array_i64(out.as_mut_ptr(), self.as_raw(), index, first, n, e)
        })?;
        Ok(out)
    }

    /// Copies array elements as floating-point numbers.
    ///
    /// - `out`: the elements.
    ///
    /// Errors: `ARGUMENT`, `VALUE_TYPE`, `VALUE`.
    pub fn meta_array_f64(&self, index: usize, first: u64, n: usize) -> Result<Vec<f64>> {
        let mut out = zeros::<f64>(n as u64)?;
        check(|e| unsafe {
            sys::ggufx_file_meta_array_f64(out.as_mut_ptr(), self.as_raw(), index, first, n, e)
        })?;
        Ok(out)
    }

    /// Returns a view of element i of an array of strings, borrowed from the file.
    ///
    /// The first call on an array builds a sparse table of offsets, which can fail with MEMORY.
    /// Later calls are quick.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `MALFORMED`, `VALUE_TYPE`.
    pub fn meta_array_string(&self, index: usize, i: u64) -> Result<&[u8]> {
        let mut out = sys::ggufx_text { data: null(), size: 0 };
        check(|e| unsafe {
            sys::ggufx_file_meta_array_string(&mut out, self.as_raw(), index, i, e)
        })?;
        Ok(unsafe { items(out.data.cast(), out.size) })
    }

    /// Returns the index of element i of an array of arrays.
    ///
    /// [`File::meta_at`] and the array getters accept this index like that of a key. It is not
    /// below [`File::meta_count`].
    ///
    /// Errors: `ARGUMENT`, `VALUE_TYPE`.
    pub fn meta_array_nested(&self, index: usize, i: u64) -> Result<usize> {
        let mut out_index = 0;
        check(|e| unsafe {
            sys::ggufx_file_meta_array_nested(&mut out_index, self.as_raw(), index, i, e)
        })?;
        Ok(out_index)
    }

    /// Returns the number of tensors of all parts.
    pub fn tensor_count(&self) -> usize {
        unsafe { sys::ggufx_file_tensor_count(self.as_raw()) }
    }

    /// Finds the index of a tensor by its name of `length` bytes.
    ///
    /// Errors: `ARGUMENT`, `NOT_FOUND`.
    pub fn tensor_find(&self, name: impl AsRef<[u8]>) -> Result<usize> {
        let name = name.as_ref();
        let mut out = 0;
        check(|e| unsafe {
            sys::ggufx_file_tensor_find(
                &mut out,
                self.as_raw(),
                name.as_ptr().cast(),
                name.len(),
                e,
            )
        })?;
        Ok(out)
    }

    /// Checks an opened file more thoroughly than the open did.
    ///
    /// - `report`: called for each finding; a result other than [`Status::OK`] ends the check with
    ///   it.
    /// - `flags`: [`ValidateFlags`].
    /// - `progress`: may be `None`; reported in bytes checked.
    ///
    /// The result is [`Status::OK`] also if there were findings.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `UNSUPPORTED`, `CANCELLED`.
    pub fn validate(
        &self,
        flags: ValidateFlags,
        mut report: &mut dyn FnMut(&FindingFacts<'_>) -> ControlFlow<()>,
        progress: Option<&mut Progress<'_>>,
    ) -> Result<()> {
        let held = Keep::new();
        watched(|e| unsafe {
            sys::ggufx_file_validate(
                self.as_raw(),
                flags.0,
                Some(on_validate_report),
                user_of(&mut report),
                held.progress(progress),
                e,
            )
        })
    }

    /// Writes the graph of a file's model as readable text: a line per operation, equal layers
    /// once.
    ///
    /// The file may be opened for metadata only. Writes at most `capacity` bytes (no NUL) and
    /// always sets *`out_needed`; CAPACITY if that is larger. The wording may change between
    /// versions.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `LIMIT`, `TYPE`, `UNSUPPORTED`, `CAPACITY`, `CANCELLED`,
    /// `MISMATCH`, `DEVICE`, `VALUE_TYPE`, `SHAPE`, `SPLIT`, `HYPERPARAMETER`, `MISSING`.
    pub fn model_describe_graph(&self) -> Result<String> {
        let mut out = unsafe { Room::<u8>::new(4096) };
        loop {
            let done = check(|e| unsafe {
                sys::ggufx_model_describe_graph(
                    out.at().cast(),
                    out.size(),
                    &mut out.needed,
                    self.as_raw(),
                    e,
                )
            });
            if !out.grows(&done) {
                done?;
                return Ok(lossy(out.filled()));
            }
        }
    }
}

impl<'f> Meta<'f> {
    /// Returns the value of a key as an unsigned integer.
    ///
    /// The scalar getters convert types without loss:
    ///
    /// - u64 and i64 accept any integer type whose value fits, and bool as 0 or 1.
    /// - f64 accepts f32, f64 and integers up to 2^53.
    /// - bool accepts only bool; any non-zero byte is true.
    ///
    /// An array of exactly one such element is accepted as a scalar.
    ///
    /// Errors: `ARGUMENT`, `VALUE_TYPE`, `VALUE`.
    pub fn u64(&self) -> Result<u64> {
        self.file.meta_u64(self.index)
    }

    /// Returns the value of a key as a signed integer.
    ///
    /// Errors: `ARGUMENT`, `VALUE_TYPE`, `VALUE`.
    pub fn i64(&self) -> Result<i64> {
        self.file.meta_i64(self.index)
    }

    /// Returns the value of a key as a floating-point number.
    ///
    /// Errors: `ARGUMENT`, `VALUE_TYPE`, `VALUE`.
    pub fn f64(&self) -> Result<f64> {
        self.file.meta_f64(self.index)
    }

    /// Returns the value of a bool key as 0 or 1.
    ///
    /// Errors: `ARGUMENT`, `VALUE_TYPE`, `VALUE`.
    pub fn bool(&self) -> Result<bool> {
        self.file.meta_bool(self.index)
    }

    /// Returns a view of a string, borrowed from the file.
    ///
    /// Errors: `ARGUMENT`, `MALFORMED`, `VALUE_TYPE`.
    pub fn string(&self) -> Result<&'f [u8]> {
        self.file.meta_string(self.index)
    }

    /// Copies elements first .. first + n - 1 of an array of numbers or bools, converted as the
    /// scalar getters do.
    ///
    /// - `out`: the elements. A scalar counts as an array of one.
    ///
    /// Errors: `ARGUMENT`, `VALUE_TYPE`, `VALUE`.
    pub fn array_u64(&self, first: u64, n: usize) -> Result<Vec<u64>> {
        self.file.meta_array_u64(self.index, first, n)
    }

    /// Copies array elements as signed integers.
    ///
    /// - `out`: the elements.
    ///
    /// Errors: `ARGUMENT`, `VALUE_TYPE`, `VALUE`.
    pub fn array_i64(&self, first: u64, n: usize) -> Result<Vec<i64>> {
        self.file.meta_array_i64(self.index, first, n)
    }

    /// Copies array elements as floating-point numbers.
    ///
    /// - `out`: the elements.
    ///
    /// Errors: `ARGUMENT`, `VALUE_TYPE`, `VALUE`.
    pub fn array_f64(&self, first: u64, n: usize) -> Result<Vec<f64>> {
        self.file.meta_array_f64(self.index, first, n)
    }

    /// Returns a view of element i of an array of strings, borrowed from the file.
    ///
    /// The first call on an array builds a sparse table of offsets, which can fail with MEMORY.
    /// Later calls are quick.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `MALFORMED`, `VALUE_TYPE`.
    pub fn array_string(&self, i: u64) -> Result<&'f [u8]> {
        self.file.meta_array_string(self.index, i)
    }
}

impl Tensor<'_> {
    /// Copies a tensor to the memory of a device.
    ///
    /// The result is a tensor with the same type, shape, name and bytes, `memory_kind` 1 and
    /// `Tensor::data` `None`. It can be sliced and multiplied. The file of `w` may be destroyed.
    /// progress may be `None`; it is reported in bytes. After an error no memory stays allocated.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `TYPE`, `UNSUPPORTED`, `CANCELLED`, `DEVICE`,
    /// `SHAPE`.
    pub fn upload(
        &self,
        device: &Device,
        progress: Option<&mut Progress<'_>>,
    ) -> Result<Tensor<'static>> {
        let held = Keep::new();
        let mut out = null_mut();
        watched(|e| unsafe {
            sys::ggufx_tensor_upload(
                &mut out,
                device.as_raw(),
                self.as_raw(),
                held.progress(progress),
                e,
            )
        })?;
        Ok(Tensor::of_raw(out))
    }

    /// Copies the bytes of a tensor from the memory of a device: n = its `n_bytes`, rows dense.
    ///
    /// Errors: `ARGUMENT`, `DEVICE`.
    pub fn download(&self, out: &mut [u8]) -> Result<()> {
        check(|e| unsafe {
            sys::ggufx_tensor_download(out.as_mut_ptr().cast(), out.len(), self.as_raw(), e)
        })
    }

    /// Computes the sum of all words of a tensor on its device, modulo 2^32.
    ///
    /// The words of a row are little-endian, of 32 bits, padded with zeros. The device reads each
    /// byte once and does nothing else, so the time is that of reading, and a lower bound for a
    /// product.
    ///
    /// Errors: `ARGUMENT`, `UNSUPPORTED`, `DEVICE`.
    pub fn checksum(&self) -> Result<u32> {
        let mut out = 0;
        check(|e| unsafe { sys::ggufx_tensor_checksum(&mut out, self.as_raw(), e) })?;
        Ok(out)
    }

    /// Describes a tensor.
    ///
    /// Errors: `ARGUMENT`.
    pub fn info(&self) -> Result<TensorFacts<'_>> {
        let mut out = sized!(ggufx_tensor_facts);
        check(|e| unsafe { sys::ggufx_tensor_info(&mut out, self.as_raw(), e) })?;
        Ok(unsafe { TensorFacts::of(&out) })
    }

    /// Creates a view of indices first .. first + n - 1 of dimension `dim` of a tensor.
    ///
    /// Along dimension 0 (columns) both must be multiples of the block. The slice shares the data
    /// and keeps their owner alive.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `UNSUPPORTED`, `SHAPE`.
    pub fn slice(&self, dim: u32, first: u64, n: u64) -> Result<Tensor<'static>> {
        let mut out = null_mut();
        check(|e| unsafe { sys::ggufx_tensor_slice(&mut out, self.as_raw(), dim, first, n, e) })?;
        Ok(Tensor::of_raw(out))
    }
}

handle! {
    /// The generation loop of one sequence. Exclusive, together with its session. Keeps the
    /// session, the tokenizer, the grammar and the chat template alive.
    Generator(ggufx_generator, ggufx_generator_destroy) {
        kept: Vec<Arc<dyn Any + Send + Sync>> // callbacks, shared with clones
    }
}

impl Generator {
    /// Creates a generator on a sequence of a session.
    ///
    /// Tokens that the sequence holds stay: a prompt reuses the prefix that it shares with them.
    /// The sampler, 28 bytes per token of the vocabulary, is the largest part of its memory.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `UNSUPPORTED`, `MISMATCH`, `STATE`, `VOCAB`,
    /// `MISSING`.
    pub fn new(session: &mut Session, options: GeneratorOptions<'_>) -> Result<Self> {
        let kept = options.sampler.map_or_else(Vec::new, |x| x.kept.clone());
        let held = Keep::new();
        let options = options.raw(&held)?;
        let mut out = null_mut();
        check(|e| unsafe { sys::ggufx_generator_create(&mut out, session.as_raw(), &options, e) })?;
        Ok(Generator::of_raw(out, kept))
    }

    /// Sets the prompt and starts again.
    ///
    /// Sampler, grammar and stop strings are reset, queued events are dropped. The sequence is
    /// truncated to the tokens that it shares with the prompt, except the last one of the prompt,
    /// whose logits are needed. Nothing is computed: the next step does that. With
    /// [`PromptFlags::APPEND`] the prompt may be empty; the last token of the sequence is then
    /// computed again.
    ///
    /// A text or messages get the special tokens that the file asks for, except with
    /// [`PromptFlags::APPEND`].
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `MALFORMED`, `LIMIT`, `UNSUPPORTED`, `NOT_FOUND`, `CAPACITY`,
    /// `MISMATCH`, `STATE`, `VALUE_TYPE`, `VALUE`, `VOCAB`.
    pub fn set_prompt(&mut self, prompt: Prompt<'_>) -> Result<()> {
        let held = Keep::new();
        let prompt = prompt.raw(&held)?;
        watched(|e| unsafe { sys::ggufx_generator_set_prompt(self.as_raw(), &prompt, e) })
    }

    /// Takes the next queued event; [`EventKind::NONE`] when there is none. Computes nothing.
    ///
    /// Errors: `ARGUMENT`.
    pub fn poll(&mut self) -> Result<Event> {
        let mut out = sized!(ggufx_event);
        check(|e| unsafe { sys::ggufx_generator_poll(&mut out, self.as_raw(), e) })?;
        Ok(unsafe { Event::of(&out) })
    }

    /// Takes the next event: a queued one, else that of the next steps of this generator alone.
    ///
    /// [`EventKind::NONE`] means that a budget is used up. After END it is END again. PROMPT events
    /// are left out without [`GeneratorFlags::SCORE_PROMPT`]. A suspended generator that is
    /// cancelled gives its END, without a step.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `UNSUPPORTED`, `CAPACITY`, `CANCELLED`, `STATE`, `VALUE`.
    pub fn next(&mut self, options: StepOptions<'_>) -> Result<Event> {
        let held = Keep::new();
        let options = options.raw(&held)?;
        let mut out = sized!(ggufx_event);
        watched(|e| unsafe { sys::ggufx_generator_next(&mut out, self.as_raw(), &options, e) })?;
        Ok(unsafe { Event::of(&out) })
    }

    /// Asks a generator to end: after the queued events its next step gives END. A step that
    /// computes only cancelled generators ends within 5 ms. Never waits.
    pub fn cancel(&self) {
        unsafe { sys::ggufx_generator_cancel(self.as_raw()) }
    }

    /// Gives the sequence back, for another generator (preemption). Tokens, sampler and events
    /// stay.
    ///
    /// Errors: `ARGUMENT`, `UNSUPPORTED`, `STATE`.
    pub fn suspend(&mut self) -> Result<()> {
        check(|e| unsafe { sys::ggufx_generator_suspend(self.as_raw(), e) })
    }

    /// Continues a suspended generator with a sequence that no generator has.
    ///
    /// Tokens that the sequence holds already are reused. The next steps compute the others again,
    /// each in its mode and so with the same bits.
    ///
    /// - `out_n_reused`: tokens that the sequence holds already.
    ///
    /// Errors: `ARGUMENT`, `STATE`.
    pub fn resume(&mut self, sequence: u32) -> Result<u64> {
        let mut out_n_reused = 0;
        check(|e| unsafe {
            sys::ggufx_generator_resume(&mut out_n_reused, self.as_raw(), sequence, e)
        })?;
        Ok(out_n_reused)
    }

    /// Keeps the first `n_tokens` tokens of prompt and output, at least one, and goes on from
    /// there.
    ///
    /// The next steps compute the last of them again and generate another output: random numbers go
    /// on. Penalties, grammar and parser are replayed. Queued events are dropped, and an end is
    /// revoked.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `STATE`.
    pub fn truncate(&mut self, n_tokens: u64) -> Result<()> {
        check(|e| unsafe { sys::ggufx_generator_truncate(self.as_raw(), n_tokens, e) })
    }

    /// Creates a copy of a generator, with its state and its queued events, on an empty sequence
    /// that shares the caches.
    ///
    /// Several outputs for one prompt: step until one token of the prompt is left, fork with other
    /// seeds, and step all of them.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `MISMATCH`, `STATE`.
    pub fn fork(&mut self, options: ForkOptions) -> Result<Self> {
        let options = options.raw();
        let mut out = null_mut();
        check(|e| unsafe { sys::ggufx_generator_fork(&mut out, self.as_raw(), &options, e) })?;
        Ok(Generator::of_raw(out, self.kept.clone()))
    }

    /// Writes a snapshot: token ids, the state of the sampler and queued events, about 5 bytes per
    /// token. [`Session::save`] saves the caches.
    ///
    /// - `write`: called with consecutive pieces of the snapshot. A status other than
    ///   [`Status::OK`] ends the call, which returns it.
    ///
    /// Errors: `ARGUMENT`, `UNSUPPORTED`, `STATE`.
    pub fn save(&self, mut write: &mut dyn Write) -> Result<()> {
        watched(|e| unsafe {
            sys::ggufx_generator_save(self.as_raw(), Some(on_write), user_of(&mut write), e)
        })
    }

    /// Creates a generator from a snapshot, with the options of the saved one.
    ///
    /// Grammar, sampler, chat template and drafts are those of the options; the others are
    /// compared. Tokens that the sequence holds already are reused, the others are computed again.
    ///
    /// - `read`: fills all n bytes and returns [`Status::OK`], or returns another status, which
    ///   ends the call. At the end of the data it returns [`Status::TRUNCATED`].
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `TRUNCATED`, `MAGIC`, `VERSION`, `MALFORMED`, `LIMIT`,
    /// `UNSUPPORTED`, `CHECKSUM`, `MISMATCH`, `STATE`, `VOCAB`, `MISSING`.
    pub fn load(
        session: &mut Session,
        options: GeneratorOptions<'_>,
        mut read: &mut dyn Read,
    ) -> Result<Self> {
        let kept = options.sampler.map_or_else(Vec::new, |x| x.kept.clone());
        let held = Keep::new();
        let options = options.raw(&held)?;
        let mut out = null_mut();
        watched(|e| unsafe {
            sys::ggufx_generator_load(
                &mut out,
                session.as_raw(),
                &options,
                Some(on_read),
                user_of(&mut read),
                e,
            )
        })?;
        Ok(Generator::of_raw(out, kept))
    }

    /// Copies the token ids of prompt and output.
    ///
    /// Writes at most `capacity` ids and always sets *`out_needed` to their full number; CAPACITY
    /// if that is larger. The last one is not computed yet.
    ///
    /// Errors: `ARGUMENT`, `CAPACITY`.
    pub fn tokens(&self) -> Result<Vec<i32>> {
        let mut out_ids = unsafe { Room::<i32>::new(4096) };
        loop {
            let done = check(|e| unsafe {
                sys::ggufx_generator_tokens(
                    out_ids.at(),
                    out_ids.size(),
                    &mut out_ids.needed,
                    self.as_raw(),
                    e,
                )
            });
            if !out_ids.grows(&done) {
                done?;
                return Ok(out_ids.filled());
            }
        }
    }

    /// Describes a generator.
    ///
    /// Errors: `ARGUMENT`.
    pub fn info(&self) -> Result<GeneratorFacts> {
        let mut out = sized!(ggufx_generator_facts);
        check(|e| unsafe { sys::ggufx_generator_info(&mut out, self.as_raw(), e) })?;
        Ok(unsafe { GeneratorFacts::of(&out) })
    }
}

impl Generator {
    /// Sets a prompt, and gives its events; [`EventKind::END`] is the last one. A fault of this
    /// generator alone is an error. Dropping the iterator before the end cancels the output.
    pub fn prompt<'a>(&mut self, prompt: impl Into<Prompt<'a>>) -> Result<Events<'_>> {
        self.set_prompt(prompt.into())?;
        Ok(Events { generator: self, ended: false })
    }
}

/// The events of a prompt: see [`Generator::prompt`].
#[derive(Debug)]
pub struct Events<'g> {
    generator: &'g mut Generator,
    ended: bool,
}

impl Iterator for Events<'_> {
    type Item = Result<Event>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let event = match self.generator.next(Default::default()) {
            Ok(event) if event.end == End::ERROR => Err(Error::new(event.status, event.text)),
            event => event,
        };
        self.ended = !matches!(&event, Ok(event) if event.kind != EventKind::END);
        Some(event)
    }
}

impl Drop for Events<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.generator.cancel();
        }
    }
}

impl<'a> From<&'a str> for Prompt<'a> {
    fn from(text: &'a str) -> Self {
        Prompt { text: Some(text), ..Default::default() }
    }
}

handle! {
    /// A conversation made ready: its tokens, the form of its output, and what the output must be.
    /// Immutable.
    ChatPrompt(ggufx_chat_prompt, ggufx_chat_prompt_destroy)
}

impl ChatPrompt {
    /// Renders a conversation, tokenizes it, and compiles the grammars of its output.
    ///
    /// request-\>progress is polled by all parts. The prompt keeps chat and tokenizer alive.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `MALFORMED`, `LIMIT`, `UNSUPPORTED`, `NOT_FOUND`, `CAPACITY`,
    /// `CANCELLED`, `MISMATCH`, `VALUE`, `VOCAB`.
    pub fn new(options: ChatPromptOptions<'_>) -> Result<Self> {
        let held = Keep::new();
        let options = options.raw(&held)?;
        let mut out = null_mut();
        watched(|e| unsafe { sys::ggufx_chat_prompt_create(&mut out, &options, e) })?;
        Ok(ChatPrompt::of_raw(out))
    }

    /// Copies the token ids of a prompt.
    ///
    /// Writes at most `capacity` ids and always sets *`out_needed` to their full number; CAPACITY
    /// if that is larger.
    ///
    /// Errors: `ARGUMENT`, `CAPACITY`.
    pub fn tokens(&self) -> Result<Vec<i32>> {
        let mut out_ids = unsafe { Room::<i32>::new(4096) };
        loop {
            let done = check(|e| unsafe {
                sys::ggufx_chat_prompt_tokens(
                    out_ids.at(),
                    out_ids.size(),
                    &mut out_ids.needed,
                    self.as_raw(),
                    e,
                )
            });
            if !out_ids.grows(&done) {
                done?;
                return Ok(out_ids.filled());
            }
        }
    }
}

handle! {
    /// A grammar compiled for a vocabulary. Immutable.
    Grammar(ggufx_grammar, ggufx_grammar_destroy)
}

impl Grammar {
    /// Compiles a grammar for the vocabulary of a tokenizer.
    ///
    /// The grammar does not need the tokenizer afterwards. The first grammar of a tokenizer takes
    /// longer. Time and memory are linear in the text, which is at most 16 MiB. Combinations of
    /// schemas, and repetitions of parts that may be empty, take more. They end at `max_steps`, of
    /// some 10 ns each, or at `max_memory`. Tokens of more than 512 bytes never match.
    ///
    /// Errors at a position of the grammar have its line and column in the message, and its byte in
    /// offset.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `MALFORMED`, `LIMIT`, `UNSUPPORTED`, `CANCELLED`, `VALUE`.
    pub fn new(rt: &Runtime, tokenizer: &Tokenizer, options: GrammarOptions<'_>) -> Result<Self> {
        let held = Keep::new();
        let options = options.raw(&held)?;
        let mut out = null_mut();
        watched(|e| unsafe {
            sys::ggufx_grammar_create(&mut out, rt.as_raw(), tokenizer.as_raw(), &options, e)
        })?;
        Ok(Grammar::of_raw(out))
    }
}

handle! {
    /// The state of one output in a grammar. Keeps the grammar alive. Exclusive.
    Matcher(ggufx_matcher, ggufx_matcher_destroy)
}

impl Matcher {
    /// Creates a matcher at the start of an output.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`.
    pub fn new(grammar: &Grammar) -> Result<Self> {
        let mut out = null_mut();
        check(|e| unsafe { sys::ggufx_matcher_create(&mut out, grammar.as_raw(), e) })?;
        Ok(Matcher::of_raw(out))
    }

    /// Creates a copy of a matcher, including its history for rollback. Time is linear in the
    /// accepted tokens.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`.
    pub fn try_clone(&self) -> Result<Self> {
        let mut out = null_mut();
        check(|e| unsafe { sys::ggufx_matcher_clone(&mut out, self.as_raw(), e) })?;
        Ok(Matcher::of_raw(out))
    }

    /// Appends n tokens to the output, all of them or none.
    ///
    /// An end-of-generation token matches if the output is complete; nothing can follow it.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `VALUE`.
    pub fn accept(&mut self, ids: &[i32]) -> Result<()> {
        check(|e| unsafe { sys::ggufx_matcher_accept(self.as_raw(), ids.as_ptr(), ids.len(), e) })
    }

    /// Removes the last `n_tokens` tokens from the output.
    ///
    /// Errors: `ARGUMENT`.
    pub fn rollback(&mut self, n_tokens: u64) -> Result<()> {
        check(|e| unsafe { sys::ggufx_matcher_rollback(self.as_raw(), n_tokens, e) })
    }

    /// Computes the token mask: a bit per token of the vocabulary, set if it may come next.
    ///
    /// Token `id` is bit id % 32, counted from the lowest, of word id / 32. Words after the
    /// vocabulary become 0. End-of-generation tokens are set if the output is complete. Masks are
    /// cached for all matchers of the grammar, in at most 64 MiB.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `CAPACITY`, `MISMATCH`, `STATE`, `VALUE`.
    pub fn mask(&mut self, out_bits: &mut [u32]) -> Result<()> {
        check(|e| unsafe {
            sys::ggufx_matcher_mask(out_bits.as_mut_ptr(), out_bits.len(), self.as_raw(), e)
        })
    }

    /// Describes the state of a matcher.
    ///
    /// Errors: `ARGUMENT`.
    pub fn info(&self) -> Result<MatcherFacts> {
        let mut out = sized!(ggufx_matcher_facts);
        check(|e| unsafe { sys::ggufx_matcher_info(&mut out, self.as_raw(), e) })?;
        Ok(unsafe { MatcherFacts::of(&out) })
    }
}

handle! {
    /// Entries in the order of their file. Quantization jobs keep what they need of it.
    Imatrix(ggufx_imatrix, ggufx_imatrix_destroy)
}

impl Imatrix {
    /// Reads an imatrix file at a UTF-8 path. The first bytes decide the format.
    ///
    /// The counts of a .dat file are calls, which are taken as 512 tokens each. progress may be
    /// `None`.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `TRUNCATED`, `MAGIC`, `VERSION`, `ENDIAN`, `MALFORMED`,
    /// `LIMIT`, `TYPE`, `UNSUPPORTED`, `NOT_FOUND`, `CANCELLED`, `COUNT`, `LENGTH`, `KEY`,
    /// `VALUE_TYPE`, `VALUE`, `DUPLICATE`, `ALIGNMENT`, `NAME`, `NDIMS`, `SHAPE`, `OVERFLOW`,
    /// `OFFSET`, `BOUNDS`, `SPLIT`, `MISSING`.
    pub fn open(
        rt: &Runtime,
        path: impl AsRef<Path>,
        progress: Option<&mut Progress<'_>>,
    ) -> Result<Self> {
        let held = Keep::new();
        let path = path_string(path.as_ref())?;
        let mut out = null_mut();
        watched(|e| unsafe {
            sys::ggufx_imatrix_open(
                &mut out,
                rt.as_raw(),
                path.as_ptr().cast(),
                held.progress(progress),
                e,
            )
        })?;
        Ok(Imatrix::of_raw(out))
    }

    /// Reads an imatrix from memory, which may be freed after the call.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `TRUNCATED`, `MAGIC`, `VERSION`, `ENDIAN`, `MALFORMED`,
    /// `LIMIT`, `TYPE`, `UNSUPPORTED`, `NOT_FOUND`, `CANCELLED`, `COUNT`, `LENGTH`, `KEY`,
    /// `VALUE_TYPE`, `VALUE`, `DUPLICATE`, `ALIGNMENT`, `NAME`, `NDIMS`, `SHAPE`, `OVERFLOW`,
    /// `OFFSET`, `BOUNDS`, `SPLIT`, `MISSING`.
    pub fn open_memory(rt: &Runtime, data: &[u8]) -> Result<Self> {
        let mut out = null_mut();
        check(|e| unsafe {
            sys::ggufx_imatrix_open_memory(
                &mut out,
                rt.as_raw(),
                data.as_ptr().cast(),
                data.len(),
                e,
            )
        })?;
        Ok(Imatrix::of_raw(out))
    }

    /// Describes an imatrix.
    ///
    /// Errors: `ARGUMENT`.
    pub fn info(&self) -> Result<ImatrixFacts> {
        let mut out = sized!(ggufx_imatrix_facts);
        check(|e| unsafe { sys::ggufx_imatrix_info(&mut out, self.as_raw(), e) })?;
        Ok(unsafe { ImatrixFacts::of(&out) })
    }

    /// Describes entry `index`.
    ///
    /// Errors: `ARGUMENT`.
    pub fn entry_at(&self, index: usize) -> Result<ImatrixEntry<'_>> {
        let mut out = sized!(ggufx_imatrix_entry);
        check(|e| unsafe { sys::ggufx_imatrix_entry_at(&mut out, self.as_raw(), index, e) })?;
        Ok(unsafe { ImatrixEntry::of(&out) })
    }

    /// Finds the index of the entry for a weight tensor by name.
    ///
    /// Errors: `ARGUMENT`, `NOT_FOUND`.
    pub fn find(&self, name: impl AsRef<[u8]>) -> Result<usize> {
        let name = name.as_ref();
        let mut out_index = 0;
        check(|e| unsafe {
            sys::ggufx_imatrix_find(
                &mut out_index,
                self.as_raw(),
                name.as_ptr().cast(),
                name.len(),
                e,
            )
        })?;
        Ok(out_index)
    }

    /// Returns the name of dataset `index`, as a view that is valid until the imatrix is changed.
    ///
    /// Errors: `ARGUMENT`.
    pub fn dataset_at(&self, index: usize) -> Result<&[u8]> {
        let mut out = sys::ggufx_text { data: null(), size: 0 };
        check(|e| unsafe { sys::ggufx_imatrix_dataset_at(&mut out, self.as_raw(), index, e) })?;
        Ok(unsafe { items(out.data.cast(), out.size) })
    }

    /// Keeps the entries i with `keep[i]` != 0 and removes the others. n is the number of entries.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`.
    pub fn keep_entries(&mut self, keep: &[u8]) -> Result<()> {
        check(|e| unsafe {
            sys::ggufx_imatrix_keep_entries(self.as_raw(), keep.as_ptr(), keep.len(), e)
        })
    }

    /// Adds the sums and counts of another imatrix. New entries are appended.
    ///
    /// Sums that were just collected, or read with [`ImatrixFormat::EXACT`], are added exactly and
    /// rounded once. The result is then independent of the number and order of the parts of a
    /// dataset.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `MISMATCH`, `VALUE`.
    pub fn merge(&mut self, other: &Imatrix) -> Result<()> {
        check(|e| unsafe { sys::ggufx_imatrix_merge(self.as_raw(), other.as_raw(), e) })
    }

    /// Collects an imatrix: runs a model over token ids and sums the squared inputs of its
    /// matrices.
    ///
    /// The ids are processed in independent chunks of `n_context` tokens. Token 0 of each chunk is
    /// replaced by the id `bos` unless that is -1. A rest shorter than a chunk is dropped. Entries
    /// are in the order of the model's tensors. Experts, and heads with matrices of their own, are
    /// counted separately.
    ///
    /// Sums are computed in binary64, in the order of the tokens of a chunk. Chunks are added
    /// exactly, each rounded to a multiple of 2^-127, and the sum is rounded once. A dataset can
    /// therefore be split between chunks: collect each part, then [`Imatrix::merge`] gives the same
    /// bits.
    ///
    /// session must be empty and hold `n_context` tokens; it is empty again afterwards. options may
    /// be `None`. Memory: 40 bytes per column, of each expert, in addition to those of the result.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `CANCELLED`, `STATE`, `VALUE`.
    pub fn new(
        session: &mut Session,
        tokens: &[i32],
        n_context: u32,
        bos: i32,
        options: ImatrixOptions<'_>,
    ) -> Result<Self> {
        let held = Keep::new();
        let options = options.raw(&held)?;
        let mut out = null_mut();
        watched(|e| unsafe {
            sys::ggufx_imatrix_create(
                &mut out,
                session.as_raw(),
                tokens.as_ptr(),
                tokens.len(),
                n_context,
                bos,
                &options,
                e,
            )
        })?;
        Ok(Imatrix::of_raw(out))
    }

    /// Writes an imatrix to a file of a format (`GGUFX_IMATRIX_*`).
    ///
    /// The file is written as PATH.part and then renamed. It replaces an existing one, unless
    /// [`ImatrixFormat::NO_REPLACE`] is added to the format. A .dat file keeps only the first
    /// dataset, and one count per tensor: its values agree to one rounding. progress may be `None`.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `LIMIT`, `CANCELLED`, `STATE`, `NAME`.
    pub fn write(
        &self,
        path: impl AsRef<Path>,
        format: ImatrixFormat,
        progress: Option<&mut Progress<'_>>,
    ) -> Result<()> {
        let held = Keep::new();
        let path = path_string(path.as_ref())?;
        watched(|e| unsafe {
            sys::ggufx_imatrix_write(
                self.as_raw(),
                path.as_ptr().cast(),
                format.0,
                held.progress(progress),
                e,
            )
        })
    }
}

handle! {
    /// Keys and values per layer and sequence.
    KvCache(ggufx_kv, ggufx_kv_destroy)
}

impl KvCache {
    /// Creates an empty cache.
    ///
    /// Pages of 64 tokens are allocated when they are needed, or earlier by [`KvCache::reserve`].
    ///
    /// With quantized types the first `n_sink_tokens` of a sequence stay F16, and so does the page
    /// of its last token. A page is quantized once, when a token is appended after it. A query sees
    /// the page of the last token that it sees in F16, and all earlier pages quantized. This holds
    /// for any partition of the tokens into appends. Pages that are filled within one append
    /// therefore keep both forms until the next append to that layer and sequence, or
    /// [`KvCache::commit`]. Queries of the appended tokens must come before. Queries of older
    /// tokens see the form that is left.
    ///
    /// With BF16 the first `n_sink_tokens` stay F32, in a page of twice the size. The first page
    /// has room for 64 tokens for any `n_sink_tokens`. Heads of quantized types have at most 1024
    /// values; those of GX types have a multiple of 16.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `TYPE`.
    pub fn new(rt: &Runtime, options: KvOptions<'_>) -> Result<Self> {
        let held = Keep::new();
        let options = options.raw(&held)?;
        let mut out = null_mut();
        check(|e| unsafe { sys::ggufx_kv_create(&mut out, rt.as_raw(), &options, e) })?;
        Ok(KvCache::of_raw(out))
    }

    /// Reserves the pages of `n_tokens` tokens of a sequence in every layer.
    ///
    /// Appends up to that length then neither fail with MEMORY nor allocate, with these limits:
    ///
    /// - Layers with a quantized type: appends of at most 64 tokens. Longer ones take an F16 page
    ///   for each 64 further tokens until the next append. Between [`KvCache::begin`] and its end
    ///   they take one more if appends do not end with pages.
    /// - Other layers with a window: appends of at most 1024 tokens.
    /// - A later copy or removal can require pages that were not reserved.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `CAPACITY`.
    pub fn reserve(&mut self, sequence: u32, n_tokens: u64) -> Result<()> {
        check(|e| unsafe { sys::ggufx_kv_reserve(self.as_raw(), sequence, n_tokens, e) })
    }

    /// Appends tokens to one layer of a sequence, or of several, all or nothing.
    ///
    /// Bits: queries of these tokens before the next append are independent of the partition into
    /// appends. Queries of older tokens may depend on it until [`KvCache::commit`]. A failed
    /// executor costs only parallelism: the work is done on this thread.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `TYPE`, `CAPACITY`, `VALUE`.
    pub fn append(&mut self, tokens: KvTokens<'_>) -> Result<()> {
        let held = Keep::new();
        let tokens = tokens.raw(&held)?;
        check(|e| unsafe { sys::ggufx_kv_append(self.as_raw(), &tokens, e) })
    }

    /// Computes the attention of queries over one layer of a sequence, or each of its own sequence.
    ///
    /// Query head h reads KV head h / (`n_q_heads` / `n_kv_heads`). The bits and the memory of a
    /// query are independent of the other queries.
    ///
    /// - `out`: f32, `[n_queries][n_q_heads][head_dim_v]`, `n_out` floats in all.
    /// - `lse`: f32, `[n_queries][n_q_heads]`, `n_lse` floats in all: log of the sum of exp(score).
    /// - `options`: `None` = defaults.
    ///
    /// A query that sees no token gives 0 and lse = -infinity; with a sink, lse is its logit. A NaN
    /// or infinity in a query head, or a score that overflows, gives NaN (0x7fc00000) in that
    /// head's output and lse. After a cancellation out and lse are unspecified.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `CANCELLED`, `STATE`.
    pub fn attend(
        &self,
        out: &mut [f32],
        mut lse: Option<&mut [f32]>,
        queries: KvQueries<'_>,
        options: AttendOptions<'_>,
    ) -> Result<()> {
        let held = Keep::new();
        let queries = queries.raw(&held)?;
        let options = options.raw(&held)?;
        watched(|e| unsafe {
            sys::ggufx_kv_attend(
                out.as_mut_ptr(),
                out.len(),
                optional_mut(&mut lse),
                lse.as_deref().map_or(0, <[_]>::len),
                self.as_raw(),
                &queries,
                &options,
                e,
            )
        })
    }

    /// Dequantizes tokens of a layer to f32.
    ///
    /// The result is in the basis in which they were appended, with shifted keys at their current
    /// positions.
    ///
    /// - `k`: `[n_tokens][n_kv_heads][head_dim_k]`.
    /// - `v`: `[n_tokens][n_kv_heads][head_dim_v]`.
    ///
    /// Errors: `ARGUMENT`.
    pub fn read(
        &self,
        mut k: Option<&mut [f32]>,
        mut v: Option<&mut [f32]>,
        range: KvRange,
    ) -> Result<()> {
        let range = range.raw();
        check(|e| unsafe {
            sys::ggufx_kv_read(
                optional_mut(&mut k),
                k.as_deref().map_or(0, <[_]>::len),
                optional_mut(&mut v),
                v.as_deref().map_or(0, <[_]>::len),
                self.as_raw(),
                &range,
                e,
            )
        })
    }

    /// Computes the scores of queries against every token of a layer, without masks and biases.
    ///
    /// A score is q.k * scale in f32, with the keys of [`KvCache::read`]. Attention computes scores
    /// of quantized keys in integers, so its own differ in the last bits. Tokens that a window has
    /// dropped have the score -infinity.
    ///
    /// - `out`: f32, `[n_queries][n_q_heads][tokens of the layer]`, `n_out` floats in all.
    /// - `queries`: of one sequence, without positions.
    /// - `scale`: 0 = 1 / sqrt(`head_dim_k`).
    ///
    /// Errors: `ARGUMENT`.
    pub fn scores(&self, out: &mut [f32], queries: KvQueries<'_>, scale: f32) -> Result<()> {
        let held = Keep::new();
        let queries = queries.raw(&held)?;
        check(|e| unsafe {
            sys::ggufx_kv_scores(out.as_mut_ptr(), out.len(), self.as_raw(), &queries, scale, e)
        })
    }

    /// Returns the number of tokens of a sequence: the minimum over its layers.
    ///
    /// Errors: `ARGUMENT`.
    pub fn length(&self, sequence: u32) -> Result<u64> {
        let mut out = 0;
        check(|e| unsafe { sys::ggufx_kv_length(&mut out, self.as_raw(), sequence, e) })?;
        Ok(out)
    }

    /// Copies the positions of tokens first .. first + n - 1 of a sequence (first layer).
    ///
    /// - `out`: the positions.
    ///
    /// Errors: `ARGUMENT`.
    pub fn positions(&self, sequence: u32, first: u64, n: u64) -> Result<Vec<i32>> {
        let mut out = zeros::<i32>(n)?;
        check(|e| unsafe {
            sys::ggufx_kv_positions(out.as_mut_ptr(), self.as_raw(), sequence, first, n, e)
        })?;
        Ok(out)
    }

    /// Keeps the first `n_tokens` tokens of a sequence in every layer.
    ///
    /// Nothing is quantized again, and the memory stays allocated. The cut may go through a
    /// quantized page. If the F16 form of that page is left, later tokens are appended to it, as if
    /// the removed tokens had never existed. Otherwise the page stays quantized, and the next token
    /// starts a new page. The F16 form is left:
    ///
    /// - after the last append, until the next one or [`KvCache::commit`]
    /// - for the page in which the last call began ([`KvCache::begin`])
    ///
    /// Errors: `ARGUMENT`, `STATE`.
    pub fn truncate(&mut self, sequence: u32, n_tokens: u64) -> Result<()> {
        check(|e| unsafe { sys::ggufx_kv_truncate(self.as_raw(), sequence, n_tokens, e) })
    }

    /// Begins a call on a sequence, so that [`KvCache::rollback`] can restore its present content
    /// bit by bit.
    ///
    /// This includes pages that were not quantized, and pages that windows drop later. The call
    /// ends with [`KvCache::commit`], [`KvCache::begin`], [`KvCache::truncate`] to fewer tokens, or
    /// a function that removes, shifts, requantizes, compacts or loads.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`.
    pub fn begin(&mut self, sequence: u32) -> Result<()> {
        check(|e| unsafe { sys::ggufx_kv_begin(self.as_raw(), sequence, e) })
    }

    /// Commits the appends to a sequence, after the queries of its tokens.
    ///
    /// The copies for a rollback, and the F16 forms of quantized pages, are freed. In layers with a
    /// quantized type some bits depend on the sizes of the appends since the last commit:
    ///
    /// - Queries of tokens older than the last append see their page in F16 if that form is left,
    ///   otherwise quantized.
    /// - Tokens appended after a cut within such a page continue it in F16 if that form is left.
    ///   Otherwise the page stays quantized and cut. Cuts are [`KvCache::truncate`],
    ///   [`KvCache::remove`] of the last tokens and [`KvCache::copy`] of the first ones.
    ///
    /// The start of the last append decides which pages have both forms. Other bits never depend on
    /// the sizes:
    ///
    /// - layers with float types only
    /// - results of [`KvCache::read`], [`KvCache::scores`] and [`KvCache::save`]
    /// - queries of the tokens of the last append
    ///
    /// After this call no bits do: every page is quantized except the sinks and the page of the
    /// last token.
    ///
    /// Errors: `ARGUMENT`.
    pub fn commit(&mut self, sequence: u32) -> Result<()> {
        check(|e| unsafe { sys::ggufx_kv_commit(self.as_raw(), sequence, e) })
    }

    /// Rolls a sequence back to [`KvCache::begin`].
    ///
    /// Without [`KvCache::begin`] all layers are cut to [`KvCache::length`], for an append that
    /// failed after some of the layers.
    ///
    /// Errors: `ARGUMENT`, `STATE`.
    pub fn rollback(&mut self, sequence: u32) -> Result<()> {
        check(|e| unsafe { sys::ggufx_kv_rollback(self.as_raw(), sequence, e) })
    }

    /// Removes tokens `first` .. first + `n_tokens` - 1 of a sequence from every layer.
    ///
    /// Other tokens keep their positions. A page is freed when none of its tokens is left.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `STATE`.
    pub fn remove(&mut self, sequence: u32, first: u64, n_tokens: u64) -> Result<()> {
        check(|e| unsafe { sys::ggufx_kv_remove(self.as_raw(), sequence, first, n_tokens, e) })
    }

    /// Copies tokens `first` .. first + `n_tokens` - 1 of a sequence to an empty one.
    ///
    /// Both share the pages. An append to a shared page copies it first. The tokens keep their
    /// positions.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `STATE`.
    pub fn copy(&mut self, from: u32, to: u32, first: u64, n_tokens: u64) -> Result<()> {
        check(|e| unsafe { sys::ggufx_kv_copy(self.as_raw(), from, to, first, n_tokens, e) })
    }

    /// Adds delta to the positions of tokens `first` .. first + `n_tokens` - 1 of a sequence.
    ///
    /// Stored keys do not change: queries are rotated in the opposite direction, so shifting back
    /// restores every bit.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `UNSUPPORTED`, `STATE`.
    pub fn shift(&mut self, sequence: u32, first: u64, n_tokens: u64, delta: i32) -> Result<()> {
        check(|e| unsafe {
            sys::ggufx_kv_shift(self.as_raw(), sequence, first, n_tokens, delta, e)
        })
    }

    /// Clears all sequences except one and frees their pages.
    ///
    /// Errors: `ARGUMENT`.
    pub fn keep(&mut self, sequence: u32) -> Result<()> {
        check(|e| unsafe { sys::ggufx_kv_keep(self.as_raw(), sequence, e) })
    }

    /// Sets the means and equalizers of a layer, for all sequences, also after [`KvCache::clear`].
    ///
    /// By default each sequence computes them from the first page that it quantizes, so that
    /// sequences do not change each other's bits. Stored keys are (k - `mu_k`) / `eq_k`, stored
    /// values v - `mu_v`; results are corrected for it.
    ///
    /// With [`KvFlags::CENTRE_BEFORE_ROPE`] `mu_k` is the mean of keys before RoPE. A stored key is
    /// then (k - R `mu_k`) / `eq_k`. R is the average rotation of the 64 positions from that of the
    /// page's first token on, when the page is quantized. All keys of a page have the same R, also
    /// with positions that skip or repeat; shifts do not change it.
    ///
    /// - `mu_k`: f32, `[n_kv_heads][head_dim_k]`; `None` = 0.
    /// - `eq_k`: f32, `[n_kv_heads][head_dim_k]`, above 0; `None` = 1.
    /// - `mu_v`: f32, `[n_kv_heads][head_dim_v]`; `None` = 0.
    ///
    /// Errors: `ARGUMENT`, `UNSUPPORTED`, `STATE`.
    pub fn calibrate(
        &mut self,
        layer: u32,
        mu_k: Option<&[f32]>,
        eq_k: Option<&[f32]>,
        mu_v: Option<&[f32]>,
    ) -> Result<()> {
        exactly("eq_k", eq_k.map(<[_]>::len), count(mu_k.or(eq_k)) as u64)?;
        check(|e| unsafe {
            sys::ggufx_kv_calibrate(
                self.as_raw(),
                layer,
                optional(mu_k),
                optional(eq_k),
                count(mu_k.or(eq_k)),
                optional(mu_v),
                count(mu_v),
                e,
            )
        })
    }

    /// Writes a snapshot of a sequence, or of all ([`sys::GGUFX_ALL_SEQUENCES`]).
    ///
    /// Quantized pages are written as they are. Shared pages are written for each sequence.
    ///
    /// - `write`: called with consecutive pieces of the snapshot. A status other than
    ///   [`Status::OK`] ends the call, which returns it.
    ///
    /// Errors: `ARGUMENT`.
    pub fn save(&self, sequence: u32, mut write: &mut dyn Write) -> Result<()> {
        watched(|e| unsafe {
            sys::ggufx_kv_save(self.as_raw(), sequence, Some(on_write), user_of(&mut write), e)
        })
    }

    /// Replaces a sequence, or all, by a snapshot of [`KvCache::save`], of one sequence or of all.
    ///
    /// The cache must have the layers, heads, types, windows, sinks, RoPE and model of the saved
    /// one. Loaded tokens give every bit that the saved ones gave. Memory reserved for a replaced
    /// sequence is freed.
    ///
    /// - `read`: fills all n bytes and returns [`Status::OK`], or returns another status, which
    ///   ends the call. At the end of the data it returns [`Status::TRUNCATED`].
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `MAGIC`, `VERSION`, `MALFORMED`, `CAPACITY`, `CHECKSUM`,
    /// `MISMATCH`.
    pub fn load(&mut self, sequence: u32, mut read: &mut dyn Read) -> Result<()> {
        watched(|e| unsafe {
            sys::ggufx_kv_load(self.as_raw(), sequence, Some(on_read), user_of(&mut read), e)
        })
    }

    /// Writes a snapshot to a file by atomic replace.
    ///
    /// The snapshot is written as PATH.part, synced to disk and renamed. An existing file is
    /// replaced as a whole or stays as it was. A failed call leaves no file. A new file is private
    /// to its owner (mode 0600), because it contains the conversation. A replaced file keeps its
    /// mode; a symbolic link stays, and its target is replaced.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `STATE`.
    pub fn save_file(&self, sequence: u32, path: impl AsRef<Path>) -> Result<()> {
        let path = path_string(path.as_ref())?;
        check(|e| unsafe {
            sys::ggufx_kv_save_file(self.as_raw(), sequence, path.as_ptr().cast(), e)
        })
    }

    /// Replaces a sequence, or all, by a snapshot in a file, which must end with the snapshot.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `TRUNCATED`, `MAGIC`, `VERSION`, `MALFORMED`,
    /// `CAPACITY`, `CHECKSUM`, `MISMATCH`.
    pub fn load_file(&mut self, sequence: u32, path: impl AsRef<Path>) -> Result<()> {
        let path = path_string(path.as_ref())?;
        check(|e| unsafe {
            sys::ggufx_kv_load_file(self.as_raw(), sequence, path.as_ptr().cast(), e)
        })
    }

    /// Changes the types of keys and values of a layer, or of all ([`sys::GGUFX_KV_ALL_LAYERS`]).
    ///
    /// The content is dequantized and quantized again. A smaller type loses precision; a larger one
    /// does not restore it. A type that does not change keeps every bit. Positions, shifts and page
    /// sharing stay. With quantized types the last tokens of a sequence stay F16. Its first
    /// `n_sink_tokens` stay F16, or F32 with BF16, if the sequence still begins at its first page.
    ///
    /// - `type_k`, `type_v`: `GGUFX_TYPE_*`; [`sys::GGUFX_TYPE_KEEP`] = as it is.
    /// - `progress`: `None`: cannot be cancelled. Counts heads of pages.
    ///
    /// The new pages of all layers of the call exist beside the old ones until it ends: one layer
    /// per call needs the least memory. Reserved pages without tokens are freed; reserve them
    /// again. Means and equalizers stay where they existed; other keys and values get theirs from
    /// the first page that is quantized. Pages keep their tokens, so the memory can differ from
    /// [`Runtime::kv_estimate`] by a page per sequence and layer.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `TYPE`, `UNSUPPORTED`, `CANCELLED`, `VALUE`.
    pub fn requantize(
        &mut self,
        layer: u32,
        type_k: TensorType,
        type_v: TensorType,
        progress: Option<&mut Progress<'_>>,
    ) -> Result<()> {
        let held = Keep::new();
        watched(|e| unsafe {
            sys::ggufx_kv_requantize(
                self.as_raw(),
                layer,
                type_k.0,
                type_v.0,
                held.progress(progress),
                e,
            )
        })
    }

    /// Merges partly filled pages of a sequence, or of all ([`sys::GGUFX_ALL_SEQUENCES`]), and
    /// frees unused pages.
    ///
    /// Truncations, removals and shifts leave such pages. Neighbouring parts with equal shifts are
    /// merged into as few pages as they fill. Full pages, shared pages, sinks and the page for the
    /// next token are not changed. Reserved pages stay.
    ///
    /// This is lossy for quantized types: the tokens of merged parts are dequantized and quantized
    /// once more. Float types keep their values.
    ///
    /// - `progress`: `None`: cannot be cancelled. Counts heads of pages.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `UNSUPPORTED`, `CANCELLED`.
    pub fn compact(&mut self, sequence: u32, progress: Option<&mut Progress<'_>>) -> Result<()> {
        let held = Keep::new();
        watched(|e| unsafe {
            sys::ggufx_kv_compact(self.as_raw(), sequence, held.progress(progress), e)
        })
    }

    /// Removes all tokens of all sequences and frees the pages.
    ///
    /// Errors: `ARGUMENT`.
    pub fn clear(&mut self) -> Result<()> {
        check(|e| unsafe { sys::ggufx_kv_clear(self.as_raw(), e) })
    }

    /// Describes a layer, or the cache ([`sys::GGUFX_KV_ALL_LAYERS`]).
    ///
    /// Errors: `ARGUMENT`.
    pub fn info(&self, layer: u32) -> Result<KvFacts> {
        let mut out = sized!(ggufx_kv_facts);
        check(|e| unsafe { sys::ggufx_kv_info(&mut out, self.as_raw(), layer, e) })?;
        Ok(unsafe { KvFacts::of(&out) })
    }
}

handle! {
    /// Converts text to token ids and back. Immutable; keeps its file alive.
    Tokenizer(ggufx_tokenizer, ggufx_tokenizer_destroy)
}

impl Tokenizer {
    /// Creates the tokenizer that a file describes.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `UNSUPPORTED`, `VOCAB`, `MISSING`.
    pub fn new(file: &File) -> Result<Self> {
        let mut out = null_mut();
        check(|e| unsafe { sys::ggufx_tokenizer_create(&mut out, file.as_raw(), e) })?;
        Ok(Tokenizer::of_raw(out))
    }

    /// Tokenizes a UTF-8 text. Invalid bytes become byte tokens if the vocabulary has them.
    ///
    /// Writes at most `capacity` ids and always sets *`out_needed` to their full number; CAPACITY
    /// if that is larger.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `UNSUPPORTED`, `CAPACITY`, `VOCAB`.
    pub fn tokenize(&self, text: impl AsRef<[u8]>, flags: TokenizeFlags) -> Result<Vec<i32>> {
        let text = text.as_ref();
        let mut out_ids = unsafe { Room::<i32>::new(text.len() + 64) };
        loop {
            let done = check(|e| unsafe {
                sys::ggufx_tokenize(
                    out_ids.at(),
                    out_ids.size(),
                    &mut out_ids.needed,
                    self.as_raw(),
                    text.as_ptr().cast(),
                    text.len(),
                    flags.0,
                    e,
                )
            });
            if !out_ids.grows(&done) {
                done?;
                return Ok(out_ids.filled());
            }
        }
    }

    /// Converts token ids to text, not NUL-terminated. One id may be a part of a character.
    ///
    /// Writes at most `capacity` bytes and always sets *`out_needed`; CAPACITY if that is larger.
    /// The text is unchanged, except with [`DetokenizeFlags::CLEAN_SPACES`] in vocabularies with
    /// [`TokenizerFlags::CLEAN_SPACES`]. These then lose spaces:
    ///
    /// - "?", "!", ".", ",", "'s", "'m", "'re", "'ve": the space before them
    /// - "'" between two spaces: both
    ///
    /// Errors: `ARGUMENT`, `CAPACITY`.
    pub fn detokenize(&self, ids: &[i32], flags: DetokenizeFlags) -> Result<Vec<u8>> {
        let mut out = unsafe { Room::<u8>::new(8 * ids.len() + 64) };
        loop {
            let done = check(|e| unsafe {
                sys::ggufx_detokenize(
                    out.at().cast(),
                    out.size(),
                    &mut out.needed,
                    self.as_raw(),
                    ids.as_ptr(),
                    ids.len(),
                    flags.0,
                    e,
                )
            });
            if !out.grows(&done) {
                done?;
                return Ok(out.filled());
            }
        }
    }

    /// Converts token ids to text as [`Tokenizer::detokenize`] does, for ids that come one after
    /// another (streaming).
    ///
    /// Bytes of a character are kept in \*state until it is complete or invalid. Each part is
    /// therefore valid UTF-8 if the text is. With [`DetokenizeFlags::FLUSH`] all bytes are written.
    /// The parts together are the bytes that [`Tokenizer::detokenize`] returns for all ids. After a
    /// failure the state is as before.
    ///
    /// Errors: `ARGUMENT`, `CAPACITY`.
    pub fn detokenize_stream(
        &self,
        state: &mut sys::ggufx_detokenizer_state,
        ids: &[i32],
    ) -> Result<Vec<u8>> {
        let mut out = unsafe { Room::<u8>::new(8 * ids.len() + 64) };
        loop {
            let done = check(|e| unsafe {
                sys::ggufx_detokenize_stream(
                    out.at().cast(),
                    out.size(),
                    &mut out.needed,
                    state,
                    self.as_raw(),
                    ids.as_ptr(),
                    ids.len(),
                    e,
                )
            });
            if !out.grows(&done) {
                done?;
                return Ok(out.filled());
            }
        }
    }

    /// Describes a token.
    ///
    /// Errors: `ARGUMENT`.
    pub fn token_info(&self, id: i32) -> Result<TokenFacts<'_>> {
        let mut out = sized!(ggufx_token_facts);
        check(|e| unsafe { sys::ggufx_token_info(&mut out, self.as_raw(), id, e) })?;
        Ok(unsafe { TokenFacts::of(&out) })
    }

    /// Describes a tokenizer.
    ///
    /// Errors: `ARGUMENT`.
    pub fn info(&self) -> Result<TokenizerFacts<'_>> {
        let mut out = sized!(ggufx_tokenizer_facts);
        check(|e| unsafe { sys::ggufx_tokenizer_info(&mut out, self.as_raw(), e) })?;
        Ok(unsafe { TokenizerFacts::of(&out) })
    }
}

handle! {
    /// Weights bound to the graph of an architecture. Immutable; keeps its file alive.
    Model(ggufx_model, ggufx_model_destroy)
}

impl Model {
    /// Creates a model: binds the weights of a file to the graph of its architecture.
    ///
    /// Weights are not copied, except to a device.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `LIMIT`, `TYPE`, `UNSUPPORTED`, `CANCELLED`, `MISMATCH`,
    /// `DEVICE`, `VALUE_TYPE`, `SHAPE`, `SPLIT`, `HYPERPARAMETER`, `MISSING`.
    pub fn new(rt: &Runtime, file: &File, options: ModelOptions<'_>) -> Result<Self> {
        let held = Keep::new();
        let options = options.raw(&held)?;
        let mut out = null_mut();
        watched(|e| unsafe {
            sys::ggufx_model_create(&mut out, rt.as_raw(), file.as_raw(), &options, e)
        })?;
        Ok(Model::of_raw(out))
    }

    /// Describes a model.
    ///
    /// Errors: `ARGUMENT`.
    pub fn info(&self) -> Result<ModelFacts<'_>> {
        let mut out = sized!(ggufx_model_facts);
        check(|e| unsafe { sys::ggufx_model_info(&mut out, self.as_raw(), e) })?;
        Ok(unsafe { ModelFacts::of(&out) })
    }

    /// Describes a layer.
    ///
    /// Errors: `ARGUMENT`.
    pub fn layer_info(&self, layer: u32) -> Result<LayerFacts<'_>> {
        let mut out = sized!(ggufx_layer_facts);
        check(|e| unsafe { sys::ggufx_model_layer_info(&mut out, self.as_raw(), layer, e) })?;
        Ok(unsafe { LayerFacts::of(&out) })
    }
}

impl Session {
    /// Replaces the adapters of an empty sequence by a list.
    ///
    /// `n_uses` 0 removes all adapters. Truncating the sequence keeps them. The session allocates,
    /// and keeps, the buffers that `n_batch` tokens with these adapters need (included in
    /// [`Runtime::estimate`]).
    ///
    /// After an error nothing has changed.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `MISMATCH`, `STATE`.
    pub fn set_adapters(&mut self, sequence: u32, uses: &[AdapterUse<'_>]) -> Result<()> {
        let uses = unsafe { List::of(uses.iter().map(|x| Ok(x.raw()))) }?;
        check(|e| unsafe {
            sys::ggufx_session_set_adapters(self.as_raw(), sequence, uses.at(), uses.len(), e)
        })
    }

    /// Returns the number of tokens of a sequence; 0 if there is no such sequence.
    pub fn length(&self, sequence: u32) -> u64 {
        unsafe { sys::ggufx_session_length(self.as_raw(), sequence) }
    }

    /// Keeps the first `n_tokens` tokens of a sequence. With `n_tokens` 0 it is like new.
    ///
    /// The next decode continues with the bits of a sequence that decoded only these tokens. (The
    /// bits of products depend on how many tokens are computed at once, 1 to 3 or more, and in
    /// models with experts also on which. With [`MatmulFlags::BATCH_INVARIANT`] no truncation or
    /// batch changes a bit.)
    ///
    /// The call itself takes almost no time. The next decode recomputes the tokens that the caches
    /// have lost in addition to the removed ones. It starts from the last position at or before
    /// `n_tokens` that satisfies all of these conditions:
    ///
    /// - Quantized keys and values: the end of a page of 64 tokens, or any position in the first
    ///   page, the last one and the page where the last decode began.
    /// - Layers with a window: the start, or any of the last 320 positions, counted from the
    ///   largest length that the sequence had.
    /// - Recurrent layers: the start of the last decode, or a checkpoint (`n_checkpoints`).
    ///   Checkpoints are at ends of decodes, and of batches within one, that reached another page
    ///   of 64 tokens. If there are too few, the distances of the remaining ones from the end about
    ///   double.
    ///
    /// So at most 63 tokens are recomputed in most models, and the whole sequence at worst. Several
    /// truncations before that decode are allowed. If that decode fails or is cancelled, the
    /// following one starts the recomputation again.
    ///
    /// Errors: `ARGUMENT`.
    pub fn truncate(&mut self, sequence: u32, n_tokens: u64) -> Result<()> {
        check(|e| unsafe { sys::ggufx_session_truncate(self.as_raw(), sequence, n_tokens, e) })
    }

    /// Removes tokens `first` .. first + `n_tokens` - 1 from a sequence.
    ///
    /// Later tokens keep their positions, keys and values, which were computed with the removed
    /// tokens. The call is therefore cheap, but the result differs from a sequence that never had
    /// them. For that, call [`Session::truncate`] and decode the rest again. Later truncations
    /// recompute only the tokens that they must, without the removed ones.
    ///
    /// To continue in a full context, remove the oldest tokens and close the gap with
    /// [`Session::shift`].
    ///
    /// After an error nothing has changed.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `UNSUPPORTED`, `STATE`.
    pub fn remove(&mut self, sequence: u32, first: u64, n_tokens: u64) -> Result<()> {
        check(|e| unsafe { sys::ggufx_session_remove(self.as_raw(), sequence, first, n_tokens, e) })
    }

    /// Adds delta to the positions of tokens `first` .. first + `n_tokens` - 1, which must stay
    /// ascending.
    ///
    /// Stored keys do not change; queries are rotated in the opposite direction. Shifting back
    /// therefore restores every bit.
    ///
    /// After an error nothing has changed.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `UNSUPPORTED`, `STATE`.
    pub fn shift(&mut self, sequence: u32, first: u64, n_tokens: u64, delta: i32) -> Result<()> {
        check(|e| unsafe {
            sys::ggufx_session_shift(self.as_raw(), sequence, first, n_tokens, delta, e)
        })
    }

    /// Copies the ids and positions of tokens `first` .. first + `n_tokens` - 1.
    ///
    /// - `out_ids`: token ids.
    /// - `out_positions`: their positions.
    ///
    /// Errors: `ARGUMENT`.
    pub fn tokens(&self, sequence: u32, first: u64, n_tokens: u64) -> Result<(Vec<i32>, Vec<i32>)> {
        let mut out_ids = zeros::<i32>(n_tokens)?;
        let mut out_positions = zeros::<i32>(n_tokens)?;
        check(|e| unsafe {
            sys::ggufx_session_tokens(
                out_ids.as_mut_ptr(),
                out_positions.as_mut_ptr(),
                self.as_raw(),
                sequence,
                first,
                n_tokens,
                e,
            )
        })?;
        Ok((out_ids, out_positions))
    }

    /// Copies the first `n_tokens` tokens of a sequence to an empty one, sharing a prefix.
    ///
    /// Later results have the bits that they would have if `to` had decoded these tokens itself.
    /// Pages of keys and values, and recurrent states, are shared. The next call recomputes the
    /// tokens after the last position that [`Session::truncate`] could keep: at most 63 in most
    /// models.
    ///
    /// After an error nothing has changed.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `MISMATCH`, `STATE`.
    pub fn copy(&mut self, from: u32, to: u32, n_tokens: u64) -> Result<()> {
        check(|e| unsafe { sys::ggufx_session_copy(self.as_raw(), from, to, n_tokens, e) })
    }

    /// Writes a snapshot of a sequence, or of all ([`sys::GGUFX_ALL_SEQUENCES`]).
    ///
    /// It contains tokens, keys, values and states as stored, without logits and checkpoints.
    /// Shared pages are written for each sequence and are no longer shared after a load. A load can
    /// therefore exceed `n_context_total` (CAPACITY).
    ///
    /// A rank of a group writes only tokens. Any rank can do so, even after the group has lost one.
    /// A session without a group, or a group of any size, can load them. Its next call recomputes
    /// the caches, each token in its original mode. The bits are the same with
    /// [`MatmulFlags::BATCH_INVARIANT`] or [`MatmulFlags::TILED`]. Sequences with removed or
    /// shifted tokens are refused (UNSUPPORTED), because recomputation would change them.
    ///
    /// - `write`: called with consecutive pieces of the snapshot. A status other than
    ///   [`Status::OK`] ends the call, which returns it.
    ///
    /// Errors: `ARGUMENT`, `UNSUPPORTED`, `VALUE`.
    pub fn save(&self, sequence: u32, mut write: &mut dyn Write) -> Result<()> {
        watched(|e| unsafe {
            sys::ggufx_session_save(self.as_raw(), sequence, Some(on_write), user_of(&mut write), e)
        })
    }

    /// Replaces a sequence, or all, by a snapshot of [`Session::save`].
    ///
    /// The snapshot must contain one sequence, or as many as the session has. Model, adapters and
    /// cache types must be equal. Later results have every bit that they would have had in the
    /// saved session. During the load, memory for both the old and the new content is needed. In a
    /// group, all ranks call this with the same snapshot (else MISMATCH), which one rank has
    /// written.
    ///
    /// - `read`: fills all n bytes and returns [`Status::OK`], or returns another status, which
    ///   ends the call. At the end of the data it returns [`Status::TRUNCATED`].
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `MAGIC`, `VERSION`, `MALFORMED`, `CAPACITY`, `CHECKSUM`,
    /// `MISMATCH`.
    pub fn load(&mut self, sequence: u32, mut read: &mut dyn Read) -> Result<()> {
        watched(|e| unsafe {
            sys::ggufx_session_load(self.as_raw(), sequence, Some(on_read), user_of(&mut read), e)
        })
    }

    /// Writes a snapshot to a file
    ///
    /// The file is written, replaced and protected as that of [`KvCache::save_file`].
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `UNSUPPORTED`, `STATE`, `VALUE`.
    pub fn save_file(&self, sequence: u32, path: impl AsRef<Path>) -> Result<()> {
        let path = path_string(path.as_ref())?;
        check(|e| unsafe {
            sys::ggufx_session_save_file(self.as_raw(), sequence, path.as_ptr().cast(), e)
        })
    }

    /// Replaces a sequence, or all, by a snapshot in a file, which must end with the snapshot.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `TRUNCATED`, `MAGIC`, `VERSION`, `MALFORMED`,
    /// `CAPACITY`, `CHECKSUM`, `MISMATCH`.
    pub fn load_file(&mut self, sequence: u32, path: impl AsRef<Path>) -> Result<()> {
        let path = path_string(path.as_ref())?;
        check(|e| unsafe {
            sys::ggufx_session_load_file(self.as_raw(), sequence, path.as_ptr().cast(), e)
        })
    }

    /// Measures the perplexity of a model over token ids, and its KL divergence from saved logits.
    ///
    /// The ids are processed in independent chunks of `n_context` tokens. Token 0 of each is
    /// replaced by the id `bos` unless that is -1. Tokens that fill no chunk are dropped. Logits
    /// can be saved for a later comparison. With [`MatmulFlags::BATCH_INVARIANT`] or
    /// [`MatmulFlags::TILED`] the results are independent of `n_batch` and threads.
    ///
    /// Saved logits take 16 + 2 * vocabulary bytes per prediction, in steps of (largest - least) /
    /// 65,535: the divergence of a model from itself is about 1e-8. They are streamed; memory is
    /// that of 32 rows and 4 bytes per prediction. The documentation ("File format notes")
    /// describes the format.
    ///
    /// session must be empty and hold `n_context` tokens; it is empty again afterwards. options may
    /// be `None`. After a failure no file is left, and \*out is as before.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `TRUNCATED`, `MAGIC`, `VERSION`, `MALFORMED`,
    /// `CANCELLED`, `CHECKSUM`, `MISMATCH`, `STATE`, `VALUE`.
    pub fn eval_perplexity(
        &mut self,
        tokens: &[i32],
        n_context: u32,
        bos: i32,
        options: EvalOptions<'_>,
    ) -> Result<EvalFacts> {
        let held = Keep::new();
        let options = options.raw(&held)?;
        let mut out = sized!(ggufx_eval_facts);
        watched(|e| unsafe {
            sys::ggufx_eval_perplexity(
                &mut out,
                self.as_raw(),
                tokens.as_ptr(),
                tokens.len(),
                n_context,
                bos,
                &options,
                e,
            )
        })?;
        Ok(unsafe { EvalFacts::of(&out) })
    }

    /// Computes the log-probabilities of several continuations of one context: a multiple-choice
    /// question.
    ///
    /// - `out`: sum over the tokens of a continuation.
    /// - `context`: `[n_context]` token ids, at least one.
    /// - `continuations`: at least one id each.
    /// - `progress`: counts tokens; `None`: none.
    ///
    /// session must be empty and hold the context and the longest continuation; it is empty again
    /// afterwards. The context is computed once. After a failure `out` is as before.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `CAPACITY`, `CANCELLED`, `STATE`, `VALUE`.
    pub fn eval_continuations(
        &mut self,
        context: &[i32],
        continuations: &[TokenList<'_>],
        progress: Option<&mut Progress<'_>>,
    ) -> Result<Vec<f64>> {
        let held = Keep::new();
        let continuations = unsafe { List::of(continuations.iter().map(|x| Ok(x.raw()))) }?;
        let mut out = zeros::<f64>(continuations.len() as u64)?;
        watched(|e| unsafe {
            sys::ggufx_eval_continuations(
                out.as_mut_ptr(),
                self.as_raw(),
                context.as_ptr(),
                context.len(),
                continuations.at(),
                continuations.len(),
                held.progress(progress),
                e,
            )
        })?;
        Ok(out)
    }

    /// Computes a step of generators of a session: one pass over the weights.
    ///
    /// It computes a chunk of the prompt of generators that have one left, or one token of others.
    /// If items are of both kinds, steps of the kinds take turns. With
    /// [`GeneratorFlags::TILED_DECODE`] a step has both. [`Generator::poll`] gives the events.
    /// Generators that have ended are left out.
    ///
    /// With a budget the call returns OK when that is used up, at most one group of operations
    /// later. The step is then in flight: the next call goes on with it, whatever its items are,
    /// and begins no other one. Calls that change the session are STATE meanwhile. If all of its
    /// generators are cancelled or destroyed, it is abandoned.
    ///
    /// - `out_complete`: 1 if no step is in flight afterwards, else 0.
    ///
    /// A fault of one generator, such as NaN in its logits or a limit of its grammar, ends that one
    /// with [`End::ERROR`]. After a failure no generator has changed, except that cancelled ones
    /// may have ended.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `UNSUPPORTED`, `CAPACITY`, `CANCELLED`, `VALUE`.
    pub fn step(&mut self, items: &mut [StepItem<'_>], options: StepOptions<'_>) -> Result<bool> {
        let held = Keep::new();
        let items = unsafe { List::of(items.iter().map(|x| Ok(x.raw()))) }?;
        let options = options.raw(&held)?;
        let mut out_complete = 0;
        watched(|e| unsafe {
            sys::ggufx_session_step(
                &mut out_complete,
                self.as_raw(),
                items.at(),
                items.len(),
                &options,
                e,
            )
        })?;
        Ok(out_complete != 0)
    }

    /// Describes a session. Takes time linear in the number of pages.
    ///
    /// Errors: `ARGUMENT`.
    pub fn info(&self) -> Result<SessionFacts> {
        let mut out = sized!(ggufx_session_facts);
        check(|e| unsafe { sys::ggufx_session_info(&mut out, self.as_raw(), e) })?;
        Ok(unsafe { SessionFacts::of(&out) })
    }
}

handle! {
    /// A quantization: planned, running or finished.
    Quantizer(ggufx_quantizer, ggufx_quantizer_destroy)
}

impl Quantizer {
    /// Plans the quantization of a file by a quantization mix.
    ///
    /// The quantizer keeps the file. A file opened for metadata only can be planned, but not run.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `TYPE`, `UNSUPPORTED`, `MISMATCH`, `VALUE_TYPE`, `SHAPE`.
    pub fn new(
        rt: &Runtime,
        file: &File,
        file_type: u32,
        options: QuantizerOptions<'_>,
    ) -> Result<Self> {
        let held = Keep::new();
        let options = options.raw(&held)?;
        let mut out = null_mut();
        check(|e| unsafe {
            sys::ggufx_quantizer_create(
                &mut out,
                rt.as_raw(),
                file.as_raw(),
                file_type,
                &options,
                e,
            )
        })?;
        Ok(Quantizer::of_raw(out))
    }

    /// Describes a plan.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`.
    pub fn info(&self) -> Result<QuantizerFacts> {
        let mut out = sized!(ggufx_quantizer_facts);
        check(|e| unsafe { sys::ggufx_quantizer_info(&mut out, self.as_raw(), e) })?;
        Ok(unsafe { QuantizerFacts::of(&out) })
    }

    /// Describes tensor `index`, in the order of the output.
    ///
    /// Errors: `ARGUMENT`.
    pub fn tensor_at(&self, index: usize) -> Result<QuantizerTensorFacts<'_>> {
        let mut out = sized!(ggufx_quantizer_tensor_facts);
        check(|e| unsafe { sys::ggufx_quantizer_tensor_at(&mut out, self.as_raw(), index, e) })?;
        Ok(unsafe { QuantizerTensorFacts::of(&out) })
    }

    /// Overrides the types of tensors: `types[i]` is for tensor i, or
    /// [`sys::GGUFX_QUANTIZER_DEFAULT_TYPE`].
    ///
    /// Replaces all earlier overrides. An override changes no other tensor: mixes that count layers
    /// also count overridden tensors. Tensors that are never quantized keep their type
    /// ([`QuantizerReason::KEPT`]). Rows that are not whole blocks get a fallback
    /// ([`QuantizerReason::FALLBACK`]).
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `TYPE`, `UNSUPPORTED`, `MISMATCH`, `VALUE_TYPE`, `SHAPE`.
    pub fn override_types(&mut self, types: &[TensorType]) -> Result<()> {
        check(|e| unsafe {
            sys::ggufx_quantizer_override_types(
                self.as_raw(),
                types.as_ptr().cast(),
                types.len(),
                e,
            )
        })
    }

    /// Measures the root mean squared error (RMSE) that a type would cause in tensor `index`.
    ///
    /// The error is unweighted and comes from up to `max_values` values in evenly spaced rows (0:
    /// all values).
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `TYPE`, `UNSUPPORTED`, `CANCELLED`, `VALUE`, `SHAPE`.
    pub fn tensor_error(
        &self,
        index: usize,
        type_: TensorType,
        max_values: u64,
        progress: Option<&mut Progress<'_>>,
    ) -> Result<f64> {
        let held = Keep::new();
        let mut out = 0.0;
        watched(|e| unsafe {
            sys::ggufx_quantizer_tensor_error(
                &mut out,
                self.as_raw(),
                index,
                type_.0,
                max_values,
                held.progress(progress),
                e,
            )
        })?;
        Ok(out)
    }

    /// Runs a quantizer: quantizes all tensors and writes the file by atomic replace.
    ///
    /// With [`QuantizerFlags::KEEP_SPLIT`] the output is a set, PREFIX-00001-of-0000N.gguf, where
    /// PREFIX is the path without ".gguf". The file is written as PATH.part, synced to disk and
    /// renamed, unless [`QuantizerFlags::NO_REPLACE`] is set and the name exists. It replaces an
    /// existing file atomically, a set as [`Writer::write`] does.
    ///
    /// PATH.part.log lists the complete tensors. After a kill or a power failure
    /// [`QuantizerRunFlags::RESUME`] continues; without this flag PATH.part is started again. A
    /// resumed run verifies the existing tensors by checksums. Memory: about 32 MiB and one row for
    /// any model, plus the tables of IQ types. Feedback needs more: 16 to 28 bytes per pair of
    /// columns of the widest matrix, its rows as f32, and the activations of the text twice. It
    /// makes its tensors first, in the order of the model; a resumed run computes the activations
    /// again.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `UNSUPPORTED`, `CANCELLED`, `MISMATCH`, `STATE`,
    /// `VALUE`.
    pub fn run(&mut self, path: impl AsRef<Path>, options: QuantizerRunOptions<'_>) -> Result<()> {
        let held = Keep::new();
        let path = path_string(path.as_ref())?;
        let options = options.raw(&held)?;
        watched(|e| unsafe {
            sys::ggufx_quantizer_run(self.as_raw(), path.as_ptr().cast(), &options, e)
        })
    }

    /// Completes the file after all shards: checks every tensor in PATH.part, writes the metadata,
    /// renames.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `UNSUPPORTED`, `NOT_FOUND`, `CANCELLED`, `MISMATCH`,
    /// `STATE`, `VALUE`.
    pub fn finish(
        &mut self,
        path: impl AsRef<Path>,
        progress: Option<&mut Progress<'_>>,
    ) -> Result<()> {
        let held = Keep::new();
        let path = path_string(path.as_ref())?;
        watched(|e| unsafe {
            sys::ggufx_quantizer_finish(
                self.as_raw(),
                path.as_ptr().cast(),
                held.progress(progress),
                e,
            )
        })
    }
}

handle! {
    /// A chain of samplers, with its random state and the tokens that it accepted; exclusive.
    Sampler(ggufx_sampler, ggufx_sampler_destroy) {
        kept: Vec<Arc<dyn Any + Send + Sync>> // callbacks, shared with clones
    }
}

impl Sampler {
    /// Creates an empty chain for vocabularies of up to `n_vocab` tokens, which samples from the
    /// unchanged logits.
    ///
    /// Takes 28 bytes per token of the vocabulary.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`.
    pub fn new(rt: &Runtime, n_vocab: u32, seed: u64) -> Result<Self> {
        let mut out = null_mut();
        check(|e| unsafe { sys::ggufx_sampler_create(&mut out, rt.as_raw(), n_vocab, seed, e) })?;
        Ok(Sampler::of_raw(out, Vec::new()))
    }

    /// Samples an id from n logits.
    ///
    /// With a matcher, the chain only sees matching tokens with ids below n, and the matcher
    /// accepts the chosen id. A call that fails changes neither sampler nor matcher.
    ///
    /// - `out_logprob`: the natural log-probability of the id among all n tokens.
    /// - `matcher`: tokens that may be sampled; `None`: all.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `CAPACITY`, `MISMATCH`, `STATE`, `VALUE`.
    pub fn sample(&mut self, matcher: Option<&mut Matcher>, logits: &[f32]) -> Result<(i32, f32)> {
        let mut out_id = 0;
        let mut out_logprob = 0.0;
        check(|e| unsafe {
            sys::ggufx_sampler_sample(
                &mut out_id,
                &mut out_logprob,
                self.as_raw(),
                matcher.map_or(null_mut(), |x| x.as_raw()),
                logits.as_ptr(),
                logits.len(),
                e,
            )
        })?;
        Ok((out_id, out_logprob))
    }

    /// Appends tokens to the history of a sampler, all or none, whether it sampled them or not.
    ///
    /// Tokens of a prompt may be appended too.
    ///
    /// Errors: `ARGUMENT`.
    pub fn accept(&mut self, ids: &[i32]) -> Result<()> {
        check(|e| unsafe { sys::ggufx_sampler_accept(self.as_raw(), ids.as_ptr(), ids.len(), e) })
    }

    /// Resets a sampler: no accepted tokens, the random state of the seed, the same chain.
    ///
    /// Errors: `ARGUMENT`.
    pub fn reset(&mut self) -> Result<()> {
        check(|e| unsafe { sys::ggufx_sampler_reset(self.as_raw(), e) })
    }

    /// Creates a copy of a sampler with its state.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`.
    pub fn try_clone(&self) -> Result<Self> {
        let mut out = null_mut();
        check(|e| unsafe { sys::ggufx_sampler_clone(&mut out, self.as_raw(), e) })?;
        Ok(Sampler::of_raw(out, self.kept.clone()))
    }

    /// Keeps the k likeliest candidates.
    ///
    /// - `k`: 0: off.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `STATE`.
    pub fn add_top_k(&mut self, k: u32) -> Result<()> {
        check(|e| unsafe { sys::ggufx_sampler_add_top_k(self.as_raw(), k, e) })
    }

    /// Keeps the fewest candidates by rank whose p sum up to p or more (Holtzman et al., 2020).
    ///
    /// - `p`: 0 to 1; 0 and 1: off.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `STATE`.
    pub fn add_top_p(&mut self, p: f32) -> Result<()> {
        check(|e| unsafe { sys::ggufx_sampler_add_top_p(self.as_raw(), p, e) })
    }

    /// Keeps candidates with at least p times the largest weight, which is 1 (Nguyen et al., 2024).
    ///
    /// - `p`: 0 to 1; 0: off.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `STATE`.
    pub fn add_min_p(&mut self, p: f32) -> Result<()> {
        check(|e| unsafe { sys::ggufx_sampler_add_min_p(self.as_raw(), p, e) })
    }

    /// Locally typical sampling: keeps the fewest candidates whose p sum up to p or more, in the
    /// order of the distance of -log p from the entropy (Meister et al., 2023).
    ///
    /// The entropy is log total - (sum of w * (logit - largest)) / total. Distances are computed in
    /// binary64 and rounded to binary32. If they are equal, the lower id comes first.
    ///
    /// - `p`: 0 to 1; 0 and 1: off.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `STATE`.
    pub fn add_typical(&mut self, p: f32) -> Result<()> {
        check(|e| unsafe { sys::ggufx_sampler_add_typical(self.as_raw(), p, e) })
    }

    /// Keeps logits of at least the largest minus `n_sigma` standard deviations of the remaining
    /// logits (Tang et al., 2025).
    ///
    /// The deviation is in binary64: the mean, then the sum of squared differences from it, / n,
    /// root.
    ///
    /// - `n_sigma`: 0: off.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `STATE`.
    pub fn add_top_n_sigma(&mut self, n_sigma: f32) -> Result<()> {
        check(|e| unsafe { sys::ggufx_sampler_add_top_n_sigma(self.as_raw(), n_sigma, e) })
    }

    /// Exclude top choices: if two or more candidates have a p of at least `threshold`, only the
    /// least likely of them stays.
    ///
    /// Takes one draw per sample. Candidates stay ordered by id or by rank as before.
    ///
    /// - `probability`: 0 to 1: how often it acts; 0: off, without a draw.
    /// - `threshold`: 0 to 1; 0 is 0.1.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `STATE`.
    pub fn add_xtc(&mut self, probability: f32, threshold: f32) -> Result<()> {
        check(|e| unsafe { sys::ggufx_sampler_add_xtc(self.as_raw(), probability, threshold, e) })
    }

    /// Divides logits by the temperature.
    ///
    /// - `temperature`: below 2^-20 only the likeliest candidate stays (greedy sampling).
    /// - `options`: may be `None`: a constant temperature.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `STATE`.
    pub fn add_temperature(&mut self, temperature: f32, options: TemperatureOptions) -> Result<()> {
        let options = options.raw();
        check(|e| unsafe {
            sys::ggufx_sampler_add_temperature(self.as_raw(), temperature, &options, e)
        })
    }

    /// Penalizes tokens that occur c times in the last accepted tokens: by `repeat`, then by c *
    /// frequency + presence.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `STATE`.
    pub fn add_penalties(&mut self, options: PenaltyOptions) -> Result<()> {
        let options = options.raw();
        check(|e| unsafe { sys::ggufx_sampler_add_penalties(self.as_raw(), &options, e) })
    }

    /// Don't repeat yourself (DRY): penalizes tokens that would extend a repeated sequence.
    ///
    /// If the last L of `last_n` accepted tokens occurred before, L \>= `allowed_length`, the token
    /// that followed loses multiplier * base^(L - `allowed_length`), rounded once. The largest L of
    /// each token counts. Repeats do not cross a sequence breaker, and sequence breakers are not
    /// penalized.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `STATE`.
    pub fn add_dry(&mut self, options: DryOptions<'_>) -> Result<()> {
        let options = options.raw();
        check(|e| unsafe { sys::ggufx_sampler_add_dry(self.as_raw(), &options, e) })
    }

    /// Adds biases to logits; -infinity bans a token.
    ///
    /// - `biases`: each id once; copied.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `STATE`, `DUPLICATE`.
    pub fn add_logit_bias(&mut self, biases: &[LogitBias]) -> Result<()> {
        let biases = unsafe { List::of(biases.iter().map(|x| Ok(x.raw()))) }?;
        check(|e| unsafe {
            sys::ggufx_sampler_add_logit_bias(self.as_raw(), biases.at(), biases.len(), e)
        })
    }

    /// Mirostat, version 1 or 2 (Basu et al., 2021): keeps the surprise -log2 p of tokens near tau.
    /// Must be last in a chain.
    ///
    /// mu starts as 2 tau. Accepting the drawn token subtracts eta times the excess of its
    /// surprise, among the candidates kept, over tau. Version 2 keeps the ranks up to the first
    /// whose surprise is above mu. Version 1 keeps (e 2^mu / (1 - `n_vocab`^-e))^(1 / s) ranks. s
    /// is the slope of log p over log rank of the m likeliest, e = s - 1; log(p / p') is the
    /// difference of the logits.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `STATE`.
    pub fn add_mirostat(&mut self, options: MirostatOptions) -> Result<()> {
        let options = options.raw();
        check(|e| unsafe { sys::ggufx_sampler_add_mirostat(self.as_raw(), &options, e) })
    }

    /// Adds a sampler of the host: `apply` changes the logits of the n remaining candidates.
    ///
    /// They come by id or by rank and may be reordered. -infinity removes a candidate; one must
    /// stay. OK goes on, any other status ends the call with it. It must not call into the sampler.
    ///
    /// - `user`: must live as long as the sampler and its clones.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `STATE`.
    pub fn add_host(
        &mut self,
        apply: impl Fn(&mut [Candidate]) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Result<()> {
        let apply: Arc<Box<dyn Fn(&mut [Candidate]) -> ControlFlow<()> + Send + Sync>> =
            Arc::new(Box::new(apply));
        check(|e| unsafe {
            sys::ggufx_sampler_add_host(
                self.as_raw(),
                Some(on_add_host_apply),
                Arc::as_ptr(&apply) as *mut sys::c_void,
                e,
            )
        })?;
        self.kept.push(apply);
        Ok(())
    }
}

handle! {
    /// The content of a file to write: keys and tensors in the order in which they were added.
    Writer(ggufx_writer, ggufx_writer_destroy)
}

impl Writer {
    /// Sets the content of a writer to the file of one rank: the keys of a model, and its rows of
    /// the tensors.
    ///
    /// The rank opens this file in place of the model's file, with the same results. Other ranks
    /// may open their own files or the whole. All keys of `file` are copied, as
    /// [`Writer::copy_meta`] does. Keys "ggufx.rank.\*" name the rank, its rows and the original
    /// shapes. For each tensor the file contains:
    ///
    /// - the rows that rank `rank` of `n_ranks` reads, as a tensor of two dimensions if these are
    ///   not all
    /// - embeddings, norms and biases as a whole
    /// - one row, if the rank does not read the tensor
    ///
    /// Parameters:
    ///
    /// - `weights`: as in `ggufx_group_options`; `None`: equal. A group without weights uses those
    ///   of the file.
    /// - `flags`: [`GroupOptionsFlags::PIPELINE`] for pipeline parallelism: all rows of the rank's
    ///   matrices, one row of others.
    ///
    /// [`Model::new`] refuses such a file without a group, or for another group, rank, weights or
    /// kind of parallelism (MISMATCH). It refuses rows that the shapes have no room for (SPLIT).
    ///
    /// After an error the writer is as before.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `ENDIAN`, `LIMIT`, `TYPE`, `UNSUPPORTED`, `CANCELLED`,
    /// `MISMATCH`, `DEVICE`, `VALUE_TYPE`, `DUPLICATE`, `NAME`, `SHAPE`, `SPLIT`, `HYPERPARAMETER`,
    /// `MISSING`.
    pub fn copy_shard(
        &mut self,
        file: &File,
        rank: u32,
        n_ranks: u32,
        weights: Option<&[u32]>,
        flags: GroupOptionsFlags,
    ) -> Result<()> {
        exactly("weights", weights.map(<[_]>::len), n_ranks as u64)?;
        check(|e| unsafe {
            sys::ggufx_writer_copy_shard(
                self.as_raw(),
                file.as_raw(),
                rank,
                n_ranks,
                optional(weights),
                flags.0,
                e,
            )
        })
    }

    /// Creates an empty writer.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `VERSION`.
    pub fn new(rt: &Runtime, options: WriterOptions) -> Result<Self> {
        let options = options.raw();
        let mut out = null_mut();
        check(|e| unsafe { sys::ggufx_writer_create(&mut out, rt.as_raw(), &options, e) })?;
        Ok(Writer::of_raw(out))
    }

    /// Sets a key of `length` bytes to an integer of type [`ValueType::U8`] .. _I64, or _BOOL for 0
    /// and 1.
    ///
    /// An existing key keeps its position and gets the new value. "general.alignment" must be a U32
    /// and a power of two; it decides the layout of the file (32 without it).
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `KEY`, `VALUE_TYPE`, `VALUE`, `ALIGNMENT`.
    pub fn set_u64(&mut self, key: impl AsRef<[u8]>, type_: ValueType, value: u64) -> Result<()> {
        let key = key.as_ref();
        check(|e| unsafe {
            sys::ggufx_writer_set_u64(
                self.as_raw(),
                key.as_ptr().cast(),
                key.len(),
                type_.0,
                value,
                e,
            )
        })
    }

    /// Sets a key to a signed integer.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `KEY`, `VALUE_TYPE`, `VALUE`, `ALIGNMENT`.
    pub fn set_i64(&mut self, key: impl AsRef<[u8]>, type_: ValueType, value: i64) -> Result<()> {
        let key = key.as_ref();
        check(|e| unsafe {
            sys::ggufx_writer_set_i64(
                self.as_raw(),
                key.as_ptr().cast(),
                key.len(),
                type_.0,
                value,
                e,
            )
        })
    }

    /// Sets a key to a number of type [`ValueType::F32`] (rounded to nearest) or _F64.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `KEY`, `VALUE_TYPE`, `VALUE`, `ALIGNMENT`.
    pub fn set_f64(&mut self, key: impl AsRef<[u8]>, type_: ValueType, value: f64) -> Result<()> {
        let key = key.as_ref();
        check(|e| unsafe {
            sys::ggufx_writer_set_f64(
                self.as_raw(),
                key.as_ptr().cast(),
                key.len(),
                type_.0,
                value,
                e,
            )
        })
    }

    /// Sets a key to a bool: any value except 0 is true.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `KEY`, `VALUE_TYPE`, `VALUE`, `ALIGNMENT`.
    pub fn set_bool(&mut self, key: impl AsRef<[u8]>, value: bool) -> Result<()> {
        let key = key.as_ref();
        check(|e| unsafe {
            sys::ggufx_writer_set_bool(
                self.as_raw(),
                key.as_ptr().cast(),
                key.len(),
                value.into(),
                e,
            )
        })
    }

    /// Sets a key to a string of any `n_text` bytes, copied.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `KEY`, `VALUE_TYPE`, `VALUE`, `ALIGNMENT`.
    pub fn set_string(&mut self, key: impl AsRef<[u8]>, text: impl AsRef<[u8]>) -> Result<()> {
        let key = key.as_ref();
        let text = text.as_ref();
        check(|e| unsafe {
            sys::ggufx_writer_set_string(
                self.as_raw(),
                key.as_ptr().cast(),
                key.len(),
                text.as_ptr().cast(),
                text.len(),
                e,
            )
        })
    }

    /// Sets a key to an array of strings, copied. String i has `lengths[i]` bytes.
    ///
    /// - `texts`: any bytes.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `KEY`, `VALUE_TYPE`, `VALUE`, `ALIGNMENT`.
    pub fn set_array_string(
        &mut self,
        key: impl AsRef<[u8]>,
        texts: &[impl AsRef<[u8]>],
    ) -> Result<()> {
        let key = key.as_ref();
        let texts_lengths: Vec<usize> = texts.iter().map(|t| t.as_ref().len()).collect();
        let texts: Vec<*const sys::c_char> =
            texts.iter().map(|t| t.as_ref().as_ptr().cast()).collect();
        check(|e| unsafe {
            sys::ggufx_writer_set_array_string(
                self.as_raw(),
                key.as_ptr().cast(),
                key.len(),
                texts.as_ptr(),
                texts_lengths.as_ptr(),
                texts.len(),
                e,
            )
        })
    }

    /// Sets a key to a value of any type, also arrays of arrays, given as bytes of a little-endian
    /// file.
    ///
    /// Numbers have their width. A string is a u64 length and bytes. An array is a u32 element
    /// type, a u64 count and elements. All of it is checked.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `TRUNCATED`, `LIMIT`, `COUNT`, `KEY`, `VALUE_TYPE`, `VALUE`,
    /// `ALIGNMENT`.
    pub fn set_value(
        &mut self,
        key: impl AsRef<[u8]>,
        type_: ValueType,
        value: &[u8],
    ) -> Result<()> {
        let key = key.as_ref();
        check(|e| unsafe {
            sys::ggufx_writer_set_value(
                self.as_raw(),
                key.as_ptr().cast(),
                key.len(),
                type_.0,
                value.as_ptr().cast(),
                value.len(),
                e,
            )
        })
    }

    /// Removes a key.
    ///
    /// Errors: `ARGUMENT`, `NOT_FOUND`.
    pub fn unset(&mut self, key: impl AsRef<[u8]>) -> Result<()> {
        let key = key.as_ref();
        check(|e| unsafe {
            sys::ggufx_writer_unset(self.as_raw(), key.as_ptr().cast(), key.len(), e)
        })
    }

    /// Renames a key, which keeps its position and value.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `NOT_FOUND`, `KEY`, `VALUE_TYPE`, `DUPLICATE`, `ALIGNMENT`.
    pub fn rename(&mut self, key: impl AsRef<[u8]>, new_key: impl AsRef<[u8]>) -> Result<()> {
        let key = key.as_ref();
        let new_key = new_key.as_ref();
        check(|e| unsafe {
            sys::ggufx_writer_rename(
                self.as_raw(),
                key.as_ptr().cast(),
                key.len(),
                new_key.as_ptr().cast(),
                new_key.len(),
                e,
            )
        })
    }

    /// Sets all keys of a file, byte for byte.
    ///
    /// Exceptions: split.no, split.count and split.tensors.count of a set that was opened as one.
    /// "ggufx.split.id" is only copied from a part that was opened alone.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`.
    pub fn copy_meta(&mut self, file: &File) -> Result<()> {
        check(|e| unsafe { sys::ggufx_writer_copy_meta(self.as_raw(), file.as_raw(), e) })
    }

    /// Adds a tensor of a file, memory (`Tensor::new`) or a slice.
    ///
    /// The source is kept until the writer is destroyed; the handle may be destroyed before.
    ///
    /// - `name`: `None`: the name of the tensor.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `ENDIAN`, `LIMIT`, `TYPE`, `UNSUPPORTED`, `DUPLICATE`, `NAME`.
    pub fn add_tensor(&mut self, tensor: &Tensor<'_>, name: Option<&str>) -> Result<()> {
        check(|e| unsafe {
            sys::ggufx_writer_add_tensor(
                self.as_raw(),
                tensor.as_raw(),
                optional(name.map(str::as_bytes)).cast(),
                name.map_or(0, str::len),
                e,
            )
        })
    }

    /// Adds all tensors of a file, or none.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `ENDIAN`, `LIMIT`, `TYPE`, `UNSUPPORTED`, `DUPLICATE`, `NAME`.
    pub fn copy_tensors(&mut self, file: &File) -> Result<()> {
        check(|e| unsafe { sys::ggufx_writer_copy_tensors(self.as_raw(), file.as_raw(), e) })
    }

    /// Describes the result of a write with these options (`None`: default).
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `OVERFLOW`.
    pub fn info(&self, options: WriteOptions<'_>) -> Result<WriterFacts> {
        let held = Keep::new();
        let options = options.raw(&held)?;
        let mut out = sized!(ggufx_writer_facts);
        watched(|e| unsafe { sys::ggufx_writer_info(&mut out, self.as_raw(), &options, e) })?;
        Ok(unsafe { WriterFacts::of(&out) })
    }

    /// Writes the file, or the parts of a set, to a UTF-8 path by atomic replace.
    ///
    /// The file is written as PATH.part, synced to disk and renamed. It replaces an existing file,
    /// even a source of the tensors, and takes over its mode and, if permitted, its owner. A
    /// symbolic link stays, and its target is replaced. Links under names that the library makes
    /// up, PATH.part and parts of a set, are refused. After a failure an existing file is
    /// unchanged, and PATH.part is deleted.
    ///
    /// The parts of a set are renamed after all of them are complete, the first one last. The files
    /// that they replace are kept as PATH.part.old meanwhile. After a failure they are restored;
    /// after a kill [`Runtime::file_recover_edit`] or the next write restores them. All parts have
    /// the same key "ggufx.split.id", so that a mixture of two sets is refused (SPLIT).
    ///
    /// A write beyond RLIMIT_FSIZE raises SIGXFSZ, which ends a process that does not ignore it.
    /// This library never changes signals: a host that ignores it gets IO.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `LIMIT`, `CANCELLED`, `STATE`, `OVERFLOW`.
    pub fn write(&mut self, path: impl AsRef<Path>, options: WriteOptions<'_>) -> Result<()> {
        let held = Keep::new();
        let path = path_string(path.as_ref())?;
        let options = options.raw(&held)?;
        watched(|e| unsafe {
            sys::ggufx_writer_write(self.as_raw(), path.as_ptr().cast(), &options, e)
        })
    }

    /// Writes through a callback.
    ///
    /// write gets the parts in order, numbered from 0, each with its bytes in order, at most 512
    /// KiB per call. It returns [`Status::OK`] after it has taken all n bytes; another result ends
    /// the write with IO.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `LIMIT`, `CANCELLED`, `STATE`, `OVERFLOW`.
    pub fn write_stream(
        &mut self,
        mut write: &mut dyn FnMut(u32, &[u8]) -> io::Result<()>,
        options: WriteOptions<'_>,
    ) -> Result<()> {
        let held = Keep::new();
        let options = options.raw(&held)?;
        watched(|e| unsafe {
            sys::ggufx_writer_write_stream(
                self.as_raw(),
                Some(on_write_stream_write),
                user_of(&mut write),
                &options,
                e,
            )
        })
    }

    /// Describes the effect of [`Writer::edit`].
    ///
    /// The writer holds the new content of `file`. Create it with the file's version and byte
    /// order. Call [`Writer::copy_meta`] and [`Writer::copy_tensors`], or [`Writer::add_tensor`] in
    /// the file's order to rename tensors. Then change keys with `ggufx_writer_set_`\*, _unset and
    /// _rename.
    ///
    /// The edit is made in place under these conditions; the size of "ggufx.reserve" is adapted:
    ///
    /// - The tensors are those of the file, in its order.
    /// - Only keys and names change, and `reserve_bytes` is 0.
    /// - The new metadata fit before the tensor data.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `LIMIT`, `CAPACITY`, `OVERFLOW`.
    pub fn edit_info(&self, file: &File, options: EditOptions<'_>) -> Result<EditFacts> {
        let held = Keep::new();
        let options = options.raw(&held)?;
        let mut out = sized!(ggufx_edit_facts);
        watched(|e| unsafe {
            sys::ggufx_writer_edit_info(&mut out, self.as_raw(), file.as_raw(), &options, e)
        })?;
        Ok(unsafe { EditFacts::of(&out) })
    }

    /// Edits the file at `path`, from which `file` was opened.
    ///
    /// - `out`: the effect of the edit.
    ///
    /// A new file is written as [`Writer::write`] does. An edit in place writes only the changed
    /// bytes before the tensor data. At every moment the disk has all of the old metadata or all of
    /// the new:
    ///
    /// - Changes within one sector of 512 bytes are one write.
    /// - Larger changes are first stored in a journal, PATH.patch, which stays until they are on
    ///   the disk in the file too.
    ///
    /// A failed write is undone. After a crash [`Runtime::file_recover_edit`] finishes the edit;
    /// until then the file may not open. Other processes that have the file mapped see the changes.
    ///
    /// Errors: `ARGUMENT`, `MEMORY`, `IO`, `LIMIT`, `NOT_FOUND`, `CAPACITY`, `CANCELLED`, `STATE`,
    /// `OVERFLOW`.
    pub fn edit(
        &mut self,
        file: &File,
        path: impl AsRef<Path>,
        options: EditOptions<'_>,
    ) -> Result<EditFacts> {
        let held = Keep::new();
        let path = path_string(path.as_ref())?;
        let options = options.raw(&held)?;
        let mut out = sized!(ggufx_edit_facts);
        watched(|e| unsafe {
            sys::ggufx_writer_edit(
                &mut out,
                self.as_raw(),
                file.as_raw(),
                path.as_ptr().cast(),
                &options,
                e,
            )
        })?;
        Ok(unsafe { EditFacts::of(&out) })
    }
}

/// Returns the name of a status code without its prefix: "TRUNCATED", "OK" for 0. The result is
/// never `None`.
pub fn status_name(status: Status) -> Option<&'static str> {
    let result = unsafe { sys::ggufx_status_name(status.0) };
    unsafe { string_or_none(result) }
}

/// Returns the version of the library as text: "0.1.0".
pub fn version() -> &'static str {
    let result = unsafe { sys::ggufx_version() };
    unsafe { string(result) }
}

/// Returns the version of the binary interface, to compare with [`sys::GGUFX_ABI_VERSION`].
pub fn abi_version() -> u32 {
    unsafe { sys::ggufx_abi_version() }
}

/// Returns the size in bytes that this library has for a public struct: 512 for "`ggufx_error`". An
/// unknown name gives 0.
pub fn struct_size(struct_name: &str) -> usize {
    let struct_name = match c_string(struct_name) {
        Ok(struct_name) => struct_name,
        Err(_) => return Default::default(),
    };
    unsafe { sys::ggufx_struct_size(struct_name.as_ptr().cast()) }
}

/// Returns 1 if this library has a feature, else 0.
///
/// Features are:
///
/// - "type:`q4_K`", "kv:f16", "isa:avx2": a tensor type, a KV cache type, an instruction set
/// - "arch:llama": an architecture (general.architecture)
/// - "vocab:gpt2" or "tokenizer:gpt2": a kind of vocabulary (tokenizer.ggml.model)
/// - "pre:llama-bpe": a pre-tokenizer (tokenizer.ggml.pre)
/// - "chat", "mimalloc", "cpuinfo": a part of the build
pub fn has(feature: &str) -> bool {
    let feature = match c_string(feature) {
        Ok(feature) => feature,
        Err(_) => return Default::default(),
    };
    let result = unsafe { sys::ggufx_has(feature.as_ptr().cast()) };
    result != 0
}

/// Returns the name of built-in format `index`, or `None` after the last one.
///
/// The name is valid for the life of the process.
pub fn chat_template_builtin_name(index: usize) -> Option<&'static str> {
    let result = unsafe { sys::ggufx_chat_template_builtin_name(index) };
    unsafe { string_or_none(result) }
}

/// Returns the number of pre-tokenizers of this library.
pub fn pre_tokenizer_count() -> usize {
    unsafe { sys::ggufx_pre_tokenizer_count() }
}

/// Describes pre-tokenizer `index`.
///
/// Errors: `ARGUMENT`.
pub fn pre_tokenizer_at(index: usize) -> Result<PreTokenizerFacts<'static>> {
    let mut out = sized!(ggufx_pre_tokenizer_facts);
    check(|e| unsafe { sys::ggufx_pre_tokenizer_at(&mut out, index, e) })?;
    Ok(unsafe { PreTokenizerFacts::of(&out) })
}

/// Returns the number of quantization mixes.
pub fn file_type_count() -> usize {
    unsafe { sys::ggufx_file_type_count() }
}

/// Describes quantization mix `index`, in order of descending bits.
///
/// Errors: `ARGUMENT`.
pub fn file_type_at(index: usize) -> Result<FileTypeFacts<'static>> {
    let mut out = sized!(ggufx_file_type_facts);
    check(|e| unsafe { sys::ggufx_file_type_at(&mut out, index, e) })?;
    Ok(unsafe { FileTypeFacts::of(&out) })
}

/// Finds the value of general.file_type by name, regardless of case. "Q4_K" is Q4_K_M.
///
/// Errors: `ARGUMENT`, `NOT_FOUND`.
pub fn file_type_find(name: &str) -> Result<u32> {
    let name = c_string(name)?;
    let mut out = 0;
    check(|e| unsafe { sys::ggufx_file_type_find(&mut out, name.as_ptr().cast(), e) })?;
    Ok(out)
}

/// Describes a type.
///
/// Errors: `ARGUMENT`, `TYPE`.
pub fn type_info(type_: TensorType) -> Result<TypeFacts<'static>> {
    let mut out = sized!(ggufx_type_facts);
    check(|e| unsafe { sys::ggufx_type_info(&mut out, type_.0, e) })?;
    Ok(unsafe { TypeFacts::of(&out) })
}

/// Finds a type by name, regardless of case: "Q4_K".
///
/// Errors: `ARGUMENT`, `NOT_FOUND`.
pub fn type_find(name: &str) -> Result<TensorType> {
    let name = c_string(name)?;
    let mut out = 0;
    check(|e| unsafe { sys::ggufx_type_find(&mut out, name.as_ptr().cast(), e) })?;
    Ok(TensorType(out))
}

/// Returns the bytes of a row of n values of a tensor in \*out.
///
/// Errors: `ARGUMENT`, `TYPE`, `SHAPE`, `OVERFLOW`.
pub fn type_row_bytes(type_: TensorType, n: u64) -> Result<u64> {
    let mut out = 0;
    check(|e| unsafe { sys::ggufx_type_row_bytes(&mut out, type_.0, n, e) })?;
    Ok(out)
}

unsafe extern "C" fn on_validate_report(
    user: *mut sys::c_void,
    finding: *const sys::ggufx_finding_facts,
) -> i32 {
    let run = &mut *user.cast::<&mut dyn FnMut(&FindingFacts<'_>) -> ControlFlow<()>>();
    guarded(sys::GGUFX_E_CANCELLED, || flow(run(&FindingFacts::of(&*finding))))
}

unsafe extern "C" fn on_add_host_apply(
    user: *mut sys::c_void,
    candidates: *mut sys::ggufx_candidate,
    n: usize,
) -> i32 {
    let run = &*user.cast::<Box<dyn Fn(&mut [Candidate]) -> ControlFlow<()> + Send + Sync>>();
    guarded(sys::GGUFX_E_CANCELLED, || flow(run(from_raw_parts_mut(candidates, n))))
}

unsafe extern "C" fn on_write_stream_write(
    user: *mut sys::c_void,
    part: u32,
    data: *const sys::c_void,
    n: usize,
) -> i32 {
    let run = &mut *user.cast::<&mut dyn FnMut(u32, &[u8]) -> io::Result<()>>();
    guarded(sys::GGUFX_E_IO, || status(run(part, items(data.cast(), n))))
}
