// Written by bindings/raw.py from include/ggufx; a test compares them. See bindings/gen_rust.py.
// SPDX-License-Identifier: MIT
//! Options and facts.
use crate::handle::{
    fixed_string, items, items_or_none, present, sized, string, string_or_none, zeroed,
};
use crate::keep::{count, exactly, filled, list, optional, product, Keep};
use crate::watch::{flow, guarded, on_read, on_write};
use crate::*;
use ggufx_sys as sys;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::ptr::{null, null_mut};

/// Options of an adapter. All zero means default.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdapterOptions {
    /// Control vector: first layer that it is added to, counted from 0
    pub first_layer: u32,
    /// Control vector: last layer that it is added to; 0 = the last one
    pub last_layer: u32,
}

impl AdapterOptions {
    pub(crate) fn raw(&self) -> sys::ggufx_adapter_options {
        let mut o = sized!(ggufx_adapter_options);
        o.first_layer = self.first_layer;
        o.last_layer = self.last_layer;
        o
    }
}

/// Adapter facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdapterFacts {
    /// Kind.
    pub kind: AdapterKind,
    /// Tensors (LoRA) or layers (control vector) of the model that it changes
    pub n_targets: u32,
    /// The largest rank; 0 for a control vector
    pub rank: u32,
    /// 0: none
    pub alpha: f64,
    /// Equal for adapters with equal content and equal options
    pub fingerprint: u64,
    /// Bytes that it takes from the allocator
    pub memory_bytes: u64,
}

impl AdapterFacts {
    pub(crate) unsafe fn of(o: &sys::ggufx_adapter_facts) -> Self {
        AdapterFacts {
            kind: AdapterKind(o.kind),
            n_targets: o.n_targets,
            rank: o.rank,
            alpha: o.alpha,
            fingerprint: o.fingerprint,
            memory_bytes: o.memory_bytes,
        }
    }
}

/// Options of a runtime. All zero means default.
#[derive(Clone, Copy, Debug, Default)]
pub struct RuntimeOptions {
    /// Threads of the own pool, the caller's included. 0 = one per usable processor, which is also
    /// the maximum: more would only take turns.
    pub threads: u32,
    /// [`Isa`], at most what was detected; UNSUPPORTED if it is absent
    pub isa: Isa,
    /// Workspace per concurrent call, allocated at creation; 0 = default
    pub workspace_bytes: u64,
}

impl RuntimeOptions {
    pub(crate) fn raw(&self) -> sys::ggufx_runtime_options {
        let mut o = sized!(ggufx_runtime_options);
        o.threads = self.threads;
        o.isa = self.isa.0;
        o.workspace_bytes = self.workspace_bytes;
        o
    }
}

/// Runtime facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RuntimeFacts<'a> {
    /// [`Isa`] in use
    pub isa: Isa,
    /// Workers that a call may use
    pub threads: u32,
    /// [`CpuFeatures`] detected in this process
    pub features: CpuFeatures,
    /// "avx512"; valid for the life of the process
    pub isa_name: &'a str,
    /// "mimalloc", "system" or "host"; valid for the life of the process
    pub allocator_name: &'a str,
    /// As in the options, or the default
    pub workspace_bytes: u64,
}

impl<'a> RuntimeFacts<'a> {
    pub(crate) unsafe fn of(o: &sys::ggufx_runtime_facts) -> Self {
        RuntimeFacts {
            isa: Isa(o.isa),
            threads: o.threads,
            features: CpuFeatures(o.features),
            isa_name: string(o.isa_name),
            allocator_name: string(o.allocator_name),
            workspace_bytes: o.workspace_bytes,
        }
    }
}

/// Device facts.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceFacts {
    /// Flags.
    pub flags: DeviceFlags,
    /// Fma.
    pub fma: Fma,
    /// Memory of the device
    pub memory_bytes: u64,
    /// Free memory now, according to its driver; 0: not opened, or not known
    pub free_bytes: u64,
    /// Memory used by this [`Device`] and its tensors
    pub used_bytes: u64,
    /// Bytes of one allocation; larger tensors are split
    pub max_allocation: u64,
    /// Operations since it was opened
    pub n_launches: u64,
    /// "vulkan:0"; "vulkan" for a plugin without a device
    pub id: String,
    /// Name according to its driver
    pub name: String,
    /// Driver and version
    pub driver: String,
    /// Reason why it is unusable or not exact, else empty
    pub reason: String,
}

impl DeviceFacts {
    pub(crate) unsafe fn of(o: &sys::ggufx_device_facts) -> Self {
        DeviceFacts {
            flags: DeviceFlags(o.flags),
            fma: Fma(o.fma),
            memory_bytes: o.memory_bytes,
            free_bytes: o.free_bytes,
            used_bytes: o.used_bytes,
            max_allocation: o.max_allocation,
            n_launches: o.n_launches,
            id: fixed_string(&o.id),
            name: fixed_string(&o.name),
            driver: fixed_string(&o.driver),
            reason: fixed_string(&o.reason),
        }
    }
}

/// Options of a device. All zero means default.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceOptions<'a> {
    /// Flags.
    pub flags: DeviceOpenFlags,
    /// Folder of the plugins, or one plugin; `None`: the folder of this library's file. Relative
    /// paths are refused in processes with elevated privileges (set-user-ID).
    pub plugin_path: Option<&'a Path>,
}

impl DeviceOptions<'_> {
    pub(crate) fn raw(&self, held: &Keep) -> Result<sys::ggufx_device_options> {
        let mut o = sized!(ggufx_device_options);
        o.flags = self.flags.0;
        o.plugin_path = held.path(self.plugin_path)?;
        Ok(o)
    }
}

/// Embed options.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmbedOptions {
    /// Flags.
    pub flags: EmbedFlags,
    /// Tokens of an input; 0 = the trained context, at most 8,192
    pub n_context: u32,
    /// Tokens computed at once, at least `n_context`; 0 = 512
    pub n_batch: u32,
    /// Pooling.
    pub pooling: Pooling,
    /// Number of values to keep, from the first on (Matryoshka), before normalization; 0 = all.
    pub dimensions: u32,
    /// [`MatmulFlags`] of all products
    pub matmul_flags: MatmulFlags,
}

impl EmbedOptions {
    pub(crate) fn raw(&self) -> sys::ggufx_embed_options {
        let mut o = sized!(ggufx_embed_options);
        o.flags = self.flags.0;
        o.n_context = self.n_context;
        o.n_batch = self.n_batch;
        o.pooling = self.pooling.0;
        o.dimensions = self.dimensions;
        o.matmul_flags = self.matmul_flags.0;
        o
    }
}

/// Estimate facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EstimateFacts {
    /// [`EstimateFlags::FITS`], _NEEDS_IMATRIX, _UNSUPPORTED
    pub flags: EstimateFlags,
    /// Quantization mix, or [`sys::GGUFX_ESTIMATE_AS_IS`]
    pub file_type: u32,
    /// Tokens of each session, defaults included
    pub n_context: u32,
    /// Tokens computed at once
    pub n_batch: u32,
    /// Number of sessions in parallel
    pub n_sessions: u32,
    /// Type of the keys
    pub type_k: TensorType,
    /// Type of the values
    pub type_v: TensorType,
    /// Largest `n_context` that fits into `memory_bytes`, up to the larger of the trained and the
    /// requested context; 0: none.
    pub max_context: u32,
    /// Sequential messages of all ranks to all per token; 0 without a group
    pub n_messages: u32,
    /// Values of all tensors except tables of RoPE factors
    pub n_parameters: u64,
    /// Bytes of all tensors
    pub weight_bytes: u64,
    /// Exact bytes of the file or files, `weight_bytes` included
    pub file_bytes: u64,
    /// Workspaces of products, allocated when a runtime is created
    pub runtime_bytes: u64,
    /// Bytes that [`Model::new`] allocates
    pub model_bytes: u64,
    /// KV caches of all sessions
    pub kv_bytes: u64,
    /// All other bytes that `Session::new` allocates, for all sessions
    pub session_bytes: u64,
    /// Sum of `file_bytes`, `runtime_bytes`, `model_bytes`, `kv_bytes`, `session_bytes` and the
    /// bytes of adapters. A rank of a group has `rank_weight_bytes` in place of `file_bytes`.
    pub total_bytes: u64,
    /// Bytes of weights that are read per token. This includes the used experts only, and one row
    /// of the embedding.
    pub token_weight_bytes: u64,
    /// Bytes of keys and values per token, which each later token reads
    pub token_kv_bytes: u64,
    /// `weight_bytes` in bits over `n_parameters`
    pub bits_per_weight: f64,
    /// See [`Runtime::recommend`]
    pub weight_error: f64,
    /// See [`Runtime::recommend`]
    pub loss: f64,
    /// Upper bound for an empty context: bandwidth / `token_weight_bytes`
    pub tokens_per_second: f64,
    /// Upper bound for a full context, keys and values included; 0: no bandwidth
    pub tokens_per_second_full: f64,
    /// Bytes of the adapters' files
    pub adapter_file_bytes: u64,
    /// Bytes that [`Adapter::new`] and [`Session::set_adapters`] allocate for the adapters, in all
    /// sessions.
    pub adapter_bytes: u64,
    /// Device memory for the output matrix and the last `n_device_layers` layers, of
    /// `device_memory_bytes`; 0: not even one layer fits. Equals [`DeviceFacts`].used_bytes, to the
    /// byte if no matrix is larger than `max_allocation`.
    pub device_bytes: u64,
    /// Device memory for all layers
    pub device_bytes_all: u64,
    /// Largest number of last layers that fit into `device_memory_bytes`
    pub n_device_layers: u32,
    /// Layers of the model
    pub n_layers: u32,
    /// Bytes of weights that the rank reads, with one row of the embedding per token of the
    /// context. Without a group: `weight_bytes`.
    pub rank_weight_bytes: u64,
    /// Bytes received from other ranks per token, in 8-bit mode
    pub received_bytes: u64,
}

impl EstimateFacts {
    pub(crate) unsafe fn of(o: &sys::ggufx_estimate_facts) -> Self {
        EstimateFacts {
            flags: EstimateFlags(o.flags),
            file_type: o.file_type,
            n_context: o.n_context,
            n_batch: o.n_batch,
            n_sessions: o.n_sessions,
            type_k: TensorType(o.type_k),
            type_v: TensorType(o.type_v),
            max_context: o.max_context,
            n_messages: o.n_messages,
            n_parameters: o.n_parameters,
            weight_bytes: o.weight_bytes,
            file_bytes: o.file_bytes,
            runtime_bytes: o.runtime_bytes,
            model_bytes: o.model_bytes,
            kv_bytes: o.kv_bytes,
            session_bytes: o.session_bytes,
            total_bytes: o.total_bytes,
            token_weight_bytes: o.token_weight_bytes,
            token_kv_bytes: o.token_kv_bytes,
            bits_per_weight: o.bits_per_weight,
            weight_error: o.weight_error,
            loss: o.loss,
            tokens_per_second: o.tokens_per_second,
            tokens_per_second_full: o.tokens_per_second_full,
            adapter_file_bytes: o.adapter_file_bytes,
            adapter_bytes: o.adapter_bytes,
            device_bytes: o.device_bytes,
            device_bytes_all: o.device_bytes_all,
            n_device_layers: o.n_device_layers,
            n_layers: o.n_layers,
            rank_weight_bytes: o.rank_weight_bytes,
            received_bytes: o.received_bytes,
        }
    }
}

/// Options of an estimate. All zero means default.
#[derive(Clone, Copy, Debug, Default)]
pub struct EstimateOptions<'a> {
    /// [`EstimateFlags`], _IMATRIX, _LAYERS
    pub flags: EstimateFlags,
    /// Quantization mix, as in [`Quantizer::new`]; 0 without [`EstimateFlags::HAS_FILE_TYPE`] = the
    /// tensors stay as they are.
    pub file_type: Option<u32>,
    /// Tokens of each session; 0 = as `Session::new`
    pub n_context: u32,
    /// Tokens computed at once; 0 = 512
    pub n_batch: u32,
    /// Number of sessions in parallel; 0 = 1
    pub n_sessions: u32,
    /// Type of the keys; 0 without [`EstimateFlags::HAS_TYPE_K`] = F16
    pub type_k: Option<TensorType>,
    /// Type of the values; 0 without [`EstimateFlags::HAS_TYPE_V`] = F16. [`Runtime::recommend`]
    /// chooses both types if neither is given.
    pub type_v: Option<TensorType>,
    /// As in [`Quantizer::new`]; `None`: default
    pub quantizer: Option<QuantizerOptions<'a>>,
    /// Limit of `total_bytes`; 0: no limit
    pub memory_bytes: u64,
    /// Memory bandwidth of all threads in bytes per second; 0: no speeds
    pub bandwidth: f64,
    /// As in [`SessionOptions`], of each session; the estimate is the maximum
    pub n_context_total: u64,
    /// As in [`SessionOptions`], of each session
    pub n_checkpoints: u32,
    /// As in [`SessionOptions`], of each session
    pub n_sequences: u32,
    /// `[n_adapters]`, at most 64: LoRA adapters and control vectors (adapter.h) that all sessions
    /// use together. Their files may be opened for metadata only.
    pub adapters: &'a [&'a File],
    /// Free memory of a device (device.h); 0: no device
    pub device_memory_bytes: u64,
    /// As in `ggufx_group_options`; `None`: equal. For one rank of a group (group.h), with tensor
    /// parallelism or with [`EstimateFlags::LAYERS`].
    pub weights: &'a [u32],
    /// Ranks of the group, at most 256; 0 = 1, or those of a rank's file (group.h)
    pub n_ranks: u32,
    /// Index of the rank; ignored for a rank's file with `n_ranks` 0
    pub rank: u32,
}

impl EstimateOptions<'_> {
    pub(crate) fn raw(&self, held: &Keep) -> Result<sys::ggufx_estimate_options> {
        let mut o = sized!(ggufx_estimate_options);
        o.flags = self.flags.0;
        if let Some(file_type) = self.file_type {
            o.file_type = file_type;
            o.flags |= EstimateFlags::HAS_FILE_TYPE.0;
        }
        o.n_context = self.n_context;
        o.n_batch = self.n_batch;
        o.n_sessions = self.n_sessions;
        if let Some(type_k) = self.type_k {
            o.type_k = type_k.0;
            o.flags |= EstimateFlags::HAS_TYPE_K.0;
        }
        if let Some(type_v) = self.type_v {
            o.type_v = type_v.0;
            o.flags |= EstimateFlags::HAS_TYPE_V.0;
        }
        if let Some(quantizer) = &self.quantizer {
            o.quantizer = held.put(quantizer.raw(held)?);
        }
        o.memory_bytes = self.memory_bytes;
        o.bandwidth = self.bandwidth;
        o.n_context_total = self.n_context_total;
        o.n_checkpoints = self.n_checkpoints;
        o.n_sequences = self.n_sequences;
        o.adapters = held.list(self.adapters.iter().map(|x| x.as_raw() as *const _).collect());
        o.n_adapters = self.adapters.len();
        o.device_memory_bytes = self.device_memory_bytes;
        exactly("weights", filled(self.weights).map(<[_]>::len), self.n_ranks as u64)?;
        o.weights = optional(filled(self.weights));
        o.n_ranks = self.n_ranks;
        o.rank = self.rank;
        Ok(o)
    }
}

/// Options of a plan. All zero means default.
#[derive(Clone, Copy, Debug, Default)]
pub struct QuantizerOptions<'a> {
    /// Flags.
    pub flags: QuantizerFlags,
    /// [`TensorType`] of output.weight
    pub output_type: TensorType,
    /// [`TensorType`] of `token_embd.weight`
    pub embedding_type: TensorType,
    /// Kept as it is now; later changes or its destruction have no effect
    pub imatrix: Option<&'a Imatrix>,
    /// For the key quantize.imatrix.file; may be `None`
    pub imatrix_name: Option<&'a str>,
    /// As in [`WriterOptions`]
    pub reserve_bytes: u64,
    /// `None`: none. Quantizes the matrices of the layers one after the other: each one for the
    /// inputs that the quantized matrices before it compute, towards the outputs of the model in
    /// the file. Tensors that it makes need no imatrix. Not with [`QuantizerFlags::KEEP_SPLIT`] or
    /// shards.
    pub feedback: Option<QuantizerFeedback<'a>>,
}

impl QuantizerOptions<'_> {
    pub(crate) fn raw(&self, held: &Keep) -> Result<sys::ggufx_quantizer_options> {
        let mut o = sized!(ggufx_quantizer_options);
        o.flags = self.flags.0;
        o.output_type = self.output_type.0;
        o.embedding_type = self.embedding_type.0;
        o.imatrix = self.imatrix.map_or(null(), |x| x.as_raw() as *const _);
        o.imatrix_name = held.string(self.imatrix_name)?;
        o.reserve_bytes = self.reserve_bytes;
        if let Some(feedback) = &self.feedback {
            o.feedback = held.put(feedback.raw());
        }
        Ok(o)
    }
}

/// A calibration text: matrices are quantized for the inputs that they get (feedback.h).
#[derive(Clone, Copy, Debug, Default)]
pub struct QuantizerFeedback<'a> {
    /// Ids of the text, copied. Whole chunks of `n_context` tokens count; every eighth one decides
    /// whether feedback is used.
    pub tokens: &'a [i32],
    /// Tokens per chunk, at least 4; 0: 512
    pub n_context: u32,
    /// Replaces token 0 of each chunk; -1: none
    pub bos: i32,
    /// Passes of the descent, at most 100; 0: 4
    pub n_passes: u32,
    /// As in [`FeedbackArgs`]; 0: by the length of the text
    pub damping: f64,
}

impl QuantizerFeedback<'_> {
    pub(crate) fn raw(&self) -> sys::ggufx_quantizer_feedback {
        let mut o = sized!(ggufx_quantizer_feedback);
        o.tokens = optional(filled(self.tokens));
        o.n_tokens = self.tokens.len();
        o.n_context = self.n_context;
        o.bos = self.bos;
        o.n_passes = self.n_passes;
        o.damping = self.damping;
        o
    }
}

/// Results of a measurement. Errors are standard errors. The error of a quantile is half the
/// distance between the values one standard error of its rank below and above it. Logarithms are
/// natural.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvalFacts {
    /// [`EvalFlags::COMPARED`], _SAME_MODEL
    pub flags: EvalFlags,
    /// Exp of the mean negative log-likelihood
    pub perplexity: f64,
    /// Standard error of the perplexity
    pub standard_error: f64,
    /// Number of chunks.
    pub n_chunks: u64,
    /// Tokens of all chunks; overlaps count repeatedly
    pub n_tokens: u64,
    /// Predictions scored
    pub n_scored: u64,
    /// Perplexity of the saved logits
    pub reference_perplexity: f64,
    /// Standard error of `reference_perplexity`
    pub reference_error: f64,
    /// log(perplexity / `reference_perplexity`)
    pub log_ratio: f64,
    /// Standard error of `log_ratio`, from pairs of losses
    pub log_ratio_error: f64,
    /// Mean KL divergence per prediction: sum p log(p / q), p of the saved logits, q of the model
    pub kl: f64,
    /// Standard error of kl
    pub kl_error: f64,
    /// Median KL divergence; 0 in running results, as are all quantiles
    pub kl_median: f64,
    /// Error of `kl_median`
    pub kl_median_error: f64,
    /// 99th percentile of the KL divergence
    pub kl_99: f64,
    /// Error of `kl_99`
    pub kl_99_error: f64,
    /// Maximum KL divergence
    pub kl_max: f64,
    /// Share of predictions with the same likeliest token
    pub same_top_token: f64,
    /// Standard error of `same_top_token`
    pub same_top_token_error: f64,
    /// Root mean square of q - p of the token in the text, 0 .. 1
    pub rms_delta_p: f64,
    /// Standard error of `rms_delta_p`
    pub rms_delta_p_error: f64,
}

impl EvalFacts {
    pub(crate) unsafe fn of(o: &sys::ggufx_eval_facts) -> Self {
        EvalFacts {
            flags: EvalFlags(o.flags),
            perplexity: o.perplexity,
            standard_error: o.standard_error,
            n_chunks: o.n_chunks,
            n_tokens: o.n_tokens,
            n_scored: o.n_scored,
            reference_perplexity: o.reference_perplexity,
            reference_error: o.reference_error,
            log_ratio: o.log_ratio,
            log_ratio_error: o.log_ratio_error,
            kl: o.kl,
            kl_error: o.kl_error,
            kl_median: o.kl_median,
            kl_median_error: o.kl_median_error,
            kl_99: o.kl_99,
            kl_99_error: o.kl_99_error,
            kl_max: o.kl_max,
            same_top_token: o.same_top_token,
            same_top_token_error: o.same_top_token_error,
            rms_delta_p: o.rms_delta_p,
            rms_delta_p_error: o.rms_delta_p_error,
        }
    }
}

/// A prediction that was scored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvalRow {
    /// Negative log-likelihood of the token in the text
    pub loss: f64,
    /// The same for the saved logits; 0 without them, as are the next two
    pub reference_loss: f64,
    /// Sum p log(p / q), p of the saved logits, q of the model
    pub kl_divergence: f64,
    /// [`EvalFlags::SAME_TOP`]
    pub flags: EvalFlags,
    /// Token in the text
    pub token: i32,
}

impl EvalRow {
    pub(crate) unsafe fn of(o: &sys::ggufx_eval_row) -> Self {
        EvalRow {
            loss: o.loss,
            reference_loss: o.reference_loss,
            kl_divergence: o.kl_divergence,
            flags: EvalFlags(o.flags),
            token: o.token,
        }
    }
}
impl EvalRow {
    pub(crate) fn raw(&self) -> sys::ggufx_eval_row {
        let mut o: sys::ggufx_eval_row = unsafe { zeroed() };
        o.loss = self.loss;
        o.reference_loss = self.reference_loss;
        o.kl_divergence = self.kl_divergence;
        o.flags = self.flags.0;
        o.token = self.token;
        o
    }
}

/// Rows of f32 to quantize with feedback.
pub struct FeedbackArgs<'a> {
    /// Flags.
    pub flags: FeedbackFlags,
    /// Type.
    pub type_: TensorType,
    /// Passes over all blocks, at most 100; 0: 4
    pub n_passes: u32,
    /// Number of rows.
    pub n_rows: usize,
    /// Values of a row; as in the moments
    pub n_cols: usize,
    /// f32, dense
    pub rows: &'a [f32],
    /// Moments of the inputs
    pub moments: &'a Moments,
    /// Moments of other inputs: feedback is used only if it lowers the error for them
    pub kept_out: Option<&'a Moments>,
    /// Share of the mean square of the inputs that is added to each square, above 0, at most 100.
    /// Default: 0.1, or 0.3 if there are fewer than 16 inputs per column.
    pub damping: f64,
    /// Counts rows, twice; `None`: none
    pub progress: Option<&'a mut Progress<'a>>,
}

impl FeedbackArgs<'_> {
    pub(crate) fn raw(self, held: &Keep) -> Result<sys::ggufx_feedback_args> {
        let mut o = sized!(ggufx_feedback_args);
        o.flags = self.flags.0;
        o.type_ = self.type_.0;
        o.n_passes = self.n_passes;
        o.n_rows = self.n_rows;
        o.n_cols = self.n_cols;
        exactly(
            "rows",
            filled(self.rows).map(<[_]>::len),
            product(&[self.n_rows as u64, self.n_cols as u64]),
        )?;
        o.rows = optional(filled(self.rows));
        o.moments = self.moments.as_raw();
        o.kept_out = self.kept_out.map_or(null(), |x| x.as_raw() as *const _);
        o.damping = self.damping;
        o.progress = held.progress(self.progress);
        Ok(o)
    }
}

/// Result of a quantization with feedback. Errors are relative to the mean square of the outputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeedbackFacts {
    /// 1: the blocks are those of the feedback; 0: it did not help, they are those without it
    pub is_used: i32,
    /// Mean squared error of the outputs without feedback
    pub error_before: f64,
    /// With feedback
    pub error_after: f64,
    /// Change of the error for the kept-out inputs; 0 without `kept_out`
    pub kept_out_change: f64,
}

impl FeedbackFacts {
    pub(crate) unsafe fn of(o: &sys::ggufx_feedback_facts) -> Self {
        FeedbackFacts {
            is_used: o.is_used,
            error_before: o.error_before,
            error_after: o.error_after,
            kept_out_change: o.kept_out_change,
        }
    }
}

/// Kv options.
#[derive(Clone, Copy, Debug, Default)]
pub struct KvOptions<'a> {
    /// [`KvFlags::FIT_TQ3_0`], _CENTRE_\*, _V_IN_K, _HAS_TYPE_K, _HAS_TYPE_V
    pub flags: KvFlags,
    /// At least 1; `n_layers` * `n_sequences` is at most 4,194,304
    pub n_layers: u32,
    /// At least 1
    pub n_kv_heads: u32,
    /// A multiple of `n_kv_heads`
    pub n_q_heads: u32,
    /// Values of a key head, at least 1
    pub head_dim_k: u32,
    /// Values of a value head; 0 = `head_dim_k`, the maximum with [`KvFlags::V_IN_K`]
    pub head_dim_v: u32,
    /// Type of the keys; 0 without [`KvFlags::HAS_TYPE_K`] = F16
    pub type_k: Option<TensorType>,
    /// Type of the values; 0 without [`KvFlags::HAS_TYPE_V`] = F16
    pub type_v: Option<TensorType>,
    /// 0 = 1
    pub n_sequences: u32,
    /// Maximum per sequence; 0 = limited by memory
    pub max_tokens: u64,
    /// Attention sinks: first tokens that stay F16 with quantized types, and F32 with BF16. At most
    /// 64; 0 = 64 (a page), [`sys::GGUFX_KV_NO_SINK_TOKENS`] = none.
    pub n_sink_tokens: u32,
    /// Rope style.
    pub rope_style: RopeStyle,
    /// Coordinates that RoPE rotates, from the first on; 0 = `head_dim_k`. With [`KvFlags::V_IN_K`]
    /// from `head_dim_v` on; 0 = all after it.
    pub rope_dims: u32,
    /// 0 = 10000
    pub rope_base: f32,
    /// Scale of positions; 0 = 1
    pub rope_scale: f32,
    /// Read by the call only; `None` if `n_layer_options` is 0
    pub layers: &'a [KvLayerOptions],
    /// Id chosen by the caller; snapshots with another one are refused
    pub model: u64,
    /// `[n_rope_frequencies]` angle in radians by which RoPE rotates pair i per position, read by
    /// the call only. `None`: `rope_scale` * `rope_base`^(-2 i / `rope_dims`).
    pub rope_frequencies: &'a [f64],
}

impl KvOptions<'_> {
    pub(crate) fn raw(&self, held: &Keep) -> Result<sys::ggufx_kv_options> {
        let mut o = sized!(ggufx_kv_options);
        o.flags = self.flags.0;
        o.n_layers = self.n_layers;
        o.n_kv_heads = self.n_kv_heads;
        o.n_q_heads = self.n_q_heads;
        o.head_dim_k = self.head_dim_k;
        o.head_dim_v = self.head_dim_v;
        if let Some(type_k) = self.type_k {
            o.type_k = type_k.0;
            o.flags |= KvFlags::HAS_TYPE_K.0;
        }
        if let Some(type_v) = self.type_v {
            o.type_v = type_v.0;
            o.flags |= KvFlags::HAS_TYPE_V.0;
        }
        o.n_sequences = self.n_sequences;
        o.max_tokens = self.max_tokens;
        o.n_sink_tokens = self.n_sink_tokens;
        o.rope_style = self.rope_style.0;
        o.rope_dims = self.rope_dims;
        o.rope_base = self.rope_base;
        o.rope_scale = self.rope_scale;
        o.layers = held.list(self.layers.iter().map(|x| x.raw()).collect());
        o.n_layer_options = self.layers.len() as u32;
        o.model = self.model;
        o.rope_frequencies = optional(filled(self.rope_frequencies));
        o.n_rope_frequencies = self.rope_frequencies.len();
        Ok(o)
    }
}

/// Options of one layer. Pages that no later token can see are freed, except with symmetric
/// windows.
#[derive(Clone, Copy, Debug, Default)]
pub struct KvLayerOptions {
    /// [`KvFlags::HAS_TYPE_K`], _HAS_TYPE_V
    pub flags: KvFlags,
    /// Type of the keys; 0 without [`KvFlags::HAS_TYPE_K`] = that of the cache
    pub type_k: Option<TensorType>,
    /// Type of the values; 0 without [`KvFlags::HAS_TYPE_V`] = that of the cache
    pub type_v: Option<TensorType>,
    /// Positions that a token sees, see `window_kind`; 0 = causal, no limit
    pub window: u32,
    /// [`WindowKind`]; 0 without a window
    pub window_kind: WindowKind,
}

impl KvLayerOptions {
    pub(crate) fn raw(&self) -> sys::ggufx_kv_layer_options {
        let mut o = sized!(ggufx_kv_layer_options);
        o.flags = self.flags.0;
        if let Some(type_k) = self.type_k {
            o.type_k = type_k.0;
            o.flags |= KvFlags::HAS_TYPE_K.0;
        }
        if let Some(type_v) = self.type_v {
            o.type_v = type_v.0;
            o.flags |= KvFlags::HAS_TYPE_V.0;
        }
        o.window = self.window;
        o.window_kind = self.window_kind.0;
        o
    }
}

/// Matmul options.
#[derive(Default)]
pub struct MatmulOptions<'a> {
    /// Flags.
    pub flags: MatmulFlags,
    /// `None`: cannot be cancelled
    pub progress: Option<&'a mut Progress<'a>>,
}

impl MatmulOptions<'_> {
    pub(crate) fn raw(self, held: &Keep) -> Result<sys::ggufx_matmul_options> {
        let mut o = sized!(ggufx_matmul_options);
        o.flags = self.flags.0;
        o.progress = held.progress(self.progress);
        Ok(o)
    }
}

/// One product Y = W X: column j of X is x + j * ldx, column j of Y is y + j * ldy.
pub struct Product<'a> {
    /// A tensor as in [`Runtime::matvec`]; with ids ne2 matrices of ne1 rows, the experts, and ne3
    /// = 1
    pub w: &'a Tensor<'a>,
    /// Columns of ne0 floats
    pub x: &'a [f32],
    /// Distance of two columns of x in floats; 0 = dense
    pub ldx: usize,
    /// Columns of x
    pub n: usize,
    /// Results, one per column of x, with ids `n_used` per column
    pub y: Option<&'a mut [f32]>,
    /// Distance of two results in floats; 0 = dense
    pub ldy: usize,
    /// Experts, below ne2 in any order; they may repeat. `None` without experts.
    pub ids: &'a [u32],
    /// Experts per column; 0 without experts
    pub n_used: usize,
}

impl Product<'_> {
    pub(crate) fn raw(&mut self, _: &Keep) -> Result<sys::ggufx_product> {
        let mut o = sized!(ggufx_product);
        o.w = self.w.as_raw();
        o.x = optional(filled(self.x));
        o.n_x = self.x.len();
        o.ldx = self.ldx;
        o.n = self.n;
        if let Some(y) = &mut self.y {
            o.y = y.as_mut_ptr();
            o.n_y = y.len();
        }
        o.ldy = self.ldy;
        exactly(
            "ids",
            filled(self.ids).map(<[_]>::len),
            product(&[self.n as u64, self.n_used as u64]),
        )?;
        o.ids = optional(filled(self.ids));
        o.n_used = self.n_used;
        Ok(o)
    }
}

/// Rows of f32 to quantize.
#[derive(Default)]
pub struct QuantizeArgs<'a> {
    /// Type.
    pub type_: TensorType,
    /// Mode.
    pub mode: QuantizeMode,
    /// Number of rows.
    pub n_rows: usize,
    /// Values of a row
    pub n_cols: usize,
    /// f32, dense
    pub rows: &'a [f32],
    /// Weights of the columns, \>= 0, or `None`
    pub imatrix: &'a [f32],
    /// Counts blocks; `None`: none
    pub progress: Option<&'a mut Progress<'a>>,
}

impl QuantizeArgs<'_> {
    pub(crate) fn raw(self, held: &Keep) -> Result<sys::ggufx_quantize_args> {
        let mut o = sized!(ggufx_quantize_args);
        o.type_ = self.type_.0;
        o.mode = self.mode.0;
        o.n_rows = self.n_rows;
        o.n_cols = self.n_cols;
        exactly(
            "rows",
            filled(self.rows).map(<[_]>::len),
            product(&[self.n_rows as u64, self.n_cols as u64]),
        )?;
        o.rows = optional(filled(self.rows));
        exactly("imatrix", filled(self.imatrix).map(<[_]>::len), self.n_cols as u64)?;
        o.imatrix = optional(filled(self.imatrix));
        o.progress = held.progress(self.progress);
        Ok(o)
    }
}

/// Options of a template. Texts are UTF-8.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChatTemplateOptions<'a> {
    /// A template; absent: that of the file, or `format`
    pub text: Option<&'a str>,
    /// A named template of the file, tokenizer.chat_template.NAME: "`tool_use`"
    pub name: Option<&'a str>,
    /// A built-in format in place of a template: "chatml"
    pub format: Option<&'a str>,
    /// The variable `bos_token`; absent: that of the file, if it has one
    pub bos_token: Option<&'a str>,
    /// The variable `eos_token`; absent: that of the file, if it has one
    pub eos_token: Option<&'a str>,
}

impl ChatTemplateOptions<'_> {
    pub(crate) fn raw(&self) -> sys::ggufx_chat_template_options {
        let mut o = sized!(ggufx_chat_template_options);
        let text = self.text.map(str::as_bytes);
        o.text = sys::ggufx_text { data: optional(text).cast(), size: count(text) };
        let name = self.name.map(str::as_bytes);
        o.name = sys::ggufx_text { data: optional(name).cast(), size: count(name) };
        let format = self.format.map(str::as_bytes);
        o.format = sys::ggufx_text { data: optional(format).cast(), size: count(format) };
        let bos_token = self.bos_token.map(str::as_bytes);
        o.bos_token = sys::ggufx_text { data: optional(bos_token).cast(), size: count(bos_token) };
        let eos_token = self.eos_token.map(str::as_bytes);
        o.eos_token = sys::ggufx_text { data: optional(eos_token).cast(), size: count(eos_token) };
        o
    }
}

/// Input of a chat template. Texts are UTF-8; absent: the variable is undefined. A step takes about
/// 20 ns, and a function of the template takes steps by the bytes that it reads and writes.
#[derive(Default)]
pub struct ChatRequest<'a> {
    /// Flags.
    pub flags: ChatFlags,
    /// `[n_messages]`
    pub messages: &'a [ChatMessage<'a>],
    /// JSON array of all messages, in place of `messages`
    pub messages_json: Option<&'a str>,
    /// JSON array of functions
    pub tools: Option<&'a str>,
    /// JSON array
    pub documents: Option<&'a str>,
    /// JSON object of further variables; may also name those above
    pub variables: Option<&'a str>,
    /// "none", "minimal", "low", "medium", "high", "xhigh"
    pub reasoning_effort: Option<&'a str>,
    /// Local time as seconds since 1970-01-01 00:00
    pub unix_time: i64,
    /// Steps of the template; 0 = 1,000,000, plus 128 per byte of input
    pub max_steps: u64,
    /// Bytes of its values; 0 = 32 MiB, plus 64 per byte of input
    pub max_memory: u64,
    /// Bytes of output; 0 = 32 MiB, plus 16 per byte of input
    pub max_output: u64,
    /// Steps done, of an unknown total; `None`: cannot be cancelled
    pub progress: Option<&'a mut Progress<'a>>,
}

impl ChatRequest<'_> {
    pub(crate) fn raw(self, held: &Keep) -> Result<sys::ggufx_chat_request> {
        let mut o = sized!(ggufx_chat_request);
        o.flags = self.flags.0;
        o.messages = held.list(self.messages.iter().map(|x| x.raw()).collect());
        o.n_messages = self.messages.len();
        let messages_json = self.messages_json.map(str::as_bytes);
        o.messages_json =
            sys::ggufx_text { data: optional(messages_json).cast(), size: count(messages_json) };
        let tools = self.tools.map(str::as_bytes);
        o.tools = sys::ggufx_text { data: optional(tools).cast(), size: count(tools) };
        let documents = self.documents.map(str::as_bytes);
        o.documents = sys::ggufx_text { data: optional(documents).cast(), size: count(documents) };
        let variables = self.variables.map(str::as_bytes);
        o.variables = sys::ggufx_text { data: optional(variables).cast(), size: count(variables) };
        let reasoning_effort = self.reasoning_effort.map(str::as_bytes);
        o.reasoning_effort =
            sys::ggufx_text { data: optional(reasoning_effort).cast(), size: count(reasoning_effort) };
        o.unix_time = self.unix_time;
        o.max_steps = self.max_steps;
        o.max_memory = self.max_memory;
        o.max_output = self.max_output;
        o.progress = held.progress(self.progress);
        Ok(o)
    }
}

/// A message of a conversation. Texts are UTF-8. `extra` has further members that templates read:
/// name, `tool_call_id`, `reasoning_content`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChatMessage<'a> {
    /// "system", "user", "assistant" or "tool"
    pub role: Option<&'a str>,
    /// Absent: null, unless there are parts
    pub content: Option<&'a str>,
    /// JSON array in place of content: \[{"type": "text", "text": "..."}\]
    pub parts: Option<&'a str>,
    /// JSON array: \[{"type": "function", "function": {...}}\]
    pub tool_calls: Option<&'a str>,
    /// JSON object
    pub extra: Option<&'a str>,
}

impl ChatMessage<'_> {
    pub(crate) fn raw(&self) -> sys::ggufx_chat_message {
        let mut o = sized!(ggufx_chat_message);
        let role = self.role.map(str::as_bytes);
        o.role = sys::ggufx_text { data: optional(role).cast(), size: count(role) };
        let content = self.content.map(str::as_bytes);
        o.content = sys::ggufx_text { data: optional(content).cast(), size: count(content) };
        let parts = self.parts.map(str::as_bytes);
        o.parts = sys::ggufx_text { data: optional(parts).cast(), size: count(parts) };
        let tool_calls = self.tool_calls.map(str::as_bytes);
        o.tool_calls =
            sys::ggufx_text { data: optional(tool_calls).cast(), size: count(tool_calls) };
        let extra = self.extra.map(str::as_bytes);
        o.extra = sys::ggufx_text { data: optional(extra).cast(), size: count(extra) };
        o
    }
}

/// A span of prompt bytes with one origin, from the end of the previous span up to `end`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChatSpan {
    /// Offset after its last byte
    pub end: u64,
    /// 1: from messages, tools or variables; 0: from the template
    pub user: bool,
}

impl ChatSpan {
    pub(crate) unsafe fn of(o: &sys::ggufx_chat_span) -> Self {
        ChatSpan { end: o.end, user: o.user != 0 }
    }
}

/// Format of the reasoning and tool calls that models of a template write.
///
/// Strings end with NUL, are never `None` and live as long as the template. A call consists of
/// `call_prefix`, the name, `call_middle`, the arguments and `call_end`. "ggufxid01" in a prefix or
/// middle stands for the id of the call.
///
/// Arguments are a JSON object. For [`ChatCallForm::TAGGED`] each parameter consists of
/// `call_before_key`, its name, `call_after_key`, the value and `call_after_value`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChatTemplateFacts<'a> {
    /// Flags.
    pub flags: ChatFeatures,
    /// Call form.
    pub call_form: ChatCallForm,
    /// Call notation.
    pub call_notation: ChatNotation,
    /// Opening marker of reasoning, or ""
    pub reasoning_open: &'a str,
    /// Closing marker of reasoning
    pub reasoning_close: &'a str,
    /// Before the name; contains the marker of a call
    pub call_prefix: &'a str,
    /// Between the name and the arguments
    pub call_middle: &'a str,
    /// After the arguments; also ends a list of calls
    pub call_end: &'a str,
    /// Before the name of a parameter
    pub call_before_key: &'a str,
    /// Between the name of a parameter and its value
    pub call_after_key: &'a str,
    /// The same before a value that is not a string, unless empty
    pub call_after_key_other: &'a str,
    /// After the value of a parameter
    pub call_after_value: &'a str,
    /// Around strings, for [`ChatNotation::QUOTED`]
    pub call_quote: &'a str,
}

impl<'a> ChatTemplateFacts<'a> {
    pub(crate) unsafe fn of(o: &sys::ggufx_chat_template_facts) -> Self {
        ChatTemplateFacts {
            flags: ChatFeatures(o.flags),
            call_form: ChatCallForm(o.call_form),
            call_notation: ChatNotation(o.call_notation),
            reasoning_open: string(o.reasoning_open),
            reasoning_close: string(o.reasoning_close),
            call_prefix: string(o.call_prefix),
            call_middle: string(o.call_middle),
            call_end: string(o.call_end),
            call_before_key: string(o.call_before_key),
            call_after_key: string(o.call_after_key),
            call_after_key_other: string(o.call_after_key_other),
            call_after_value: string(o.call_after_value),
            call_quote: string(o.call_quote),
        }
    }
}

/// Chat parser options.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChatParserOptions<'a> {
    /// Flags.
    pub flags: ChatParserFlags,
    /// Template that decides the format; `None`: all output is answer
    pub chat: Option<&'a ChatTemplate>,
    /// The rendered prompt, or its end, which may open reasoning or a call
    pub prompt: Option<&'a str>,
    /// JSON array of the request's tools, for parameter types
    pub tools: Option<&'a str>,
}

impl ChatParserOptions<'_> {
    pub(crate) fn raw(&self) -> sys::ggufx_chat_parser_options {
        let mut o = sized!(ggufx_chat_parser_options);
        o.flags = self.flags.0;
        o.chat = self.chat.map_or(null(), |x| x.as_raw() as *const _);
        let prompt = self.prompt.map(str::as_bytes);
        o.prompt = sys::ggufx_text { data: optional(prompt).cast(), size: count(prompt) };
        let tools = self.tools.map(str::as_bytes);
        o.tools = sys::ggufx_text { data: optional(tools).cast(), size: count(tools) };
        o
    }
}

/// An event. Texts have whole characters: invalid UTF-8 becomes U+FFFD. They contain no part of a
/// stop string and no end-of-generation token. A parser gives TEXT, REASONING, TOOL_CALL, TOOL_ID
/// and TOOL_ARGUMENTS, without tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Kind.
    pub kind: EventKind,
    /// Why it has ended, for END
    pub end: End,
    /// With [`End::ERROR`]; text is its message
    pub status: Status,
    /// Number of the tool call, or of the stop string
    pub index: u32,
    /// Text.
    pub text: String,
    /// Tokens whose last byte was shown by this event. END has those that were not shown, such as
    /// an end-of-generation token, without those of the stop string
    pub tokens: Vec<EventToken>,
}

impl Event {
    pub(crate) unsafe fn of(o: &sys::ggufx_event) -> Self {
        Event {
            kind: EventKind(o.kind),
            end: End(o.end),
            status: Status(o.status),
            index: o.index,
            text: String::from_utf8_lossy(items(o.text.data.cast(), o.text.size)).into_owned(),
            tokens: list(items(o.tokens, o.n_tokens), EventToken::of),
        }
    }
}

/// A token of an event. It never grows.
#[derive(Clone, Debug, PartialEq)]
pub struct EventToken {
    /// Token of the vocabulary
    pub id: i32,
    /// As in [`Logprob`], with [`GeneratorFlags::LOGPROBS`] or `n_logprobs`; else 0, as is that of
    /// the first token of a prompt
    pub logprob: f32,
    /// Position of its first byte among all bytes of the output
    pub offset: u64,
    /// The likeliest, by rank
    pub top: Vec<Logprob>,
}

impl EventToken {
    pub(crate) unsafe fn of(o: &sys::ggufx_event_token) -> Self {
        EventToken {
            id: o.id,
            logprob: o.logprob,
            offset: o.offset,
            top: list(items(o.top, o.n_top), Logprob::of),
        }
    }
}

/// A token with its log-probability. It never grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logprob {
    /// Token of the vocabulary
    pub id: i32,
    /// Natural logarithm, before samplers and grammar
    pub logprob: f32,
}

impl Logprob {
    pub(crate) unsafe fn of(o: &sys::ggufx_logprob) -> Self {
        Logprob { id: o.id, logprob: o.logprob }
    }
}

/// Chat parser facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChatParserFacts<'a> {
    /// Flags.
    pub flags: ChatParserStateFlags,
    /// Tool calls so far
    pub n_calls: u64,
    /// Marker that ends the current reasoning; lives as long as the parser
    pub reasoning_close: &'a str,
}

impl<'a> ChatParserFacts<'a> {
    pub(crate) unsafe fn of(o: &sys::ggufx_chat_parser_facts) -> Self {
        ChatParserFacts {
            flags: ChatParserStateFlags(o.flags),
            n_calls: o.n_calls,
            reasoning_close: string(o.reasoning_close),
        }
    }
}

/// One adapter of a list, with its scale. The struct never grows.
#[derive(Clone, Copy, Debug)]
pub struct AdapterUse<'a> {
    /// Need not outlive the call
    pub adapter: &'a Adapter,
    /// Any finite number; 0: it adds nothing
    pub scale: f32,
}

impl AdapterUse<'_> {
    pub(crate) fn raw(&self) -> sys::ggufx_adapter_use {
        let mut o: sys::ggufx_adapter_use = unsafe { zeroed() };
        o.adapter = self.adapter.as_raw();
        o.scale = self.scale;
        o
    }
}

/// Embedder facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmbedderFacts {
    /// Tokens of an input
    pub n_context: u32,
    /// Tokens computed at once
    pub n_batch: u32,
    /// [`Pooling`], never DEFAULT
    pub pooling: Pooling,
    /// Values of a result; for RANK the classes of the file, mostly 1
    pub dimensions: u32,
    /// Values of a result before options.dimensions
    pub full_dimensions: u32,
}

impl EmbedderFacts {
    pub(crate) unsafe fn of(o: &sys::ggufx_embedder_facts) -> Self {
        EmbedderFacts {
            n_context: o.n_context,
            n_batch: o.n_batch,
            pooling: Pooling(o.pooling),
            dimensions: o.dimensions,
            full_dimensions: o.full_dimensions,
        }
    }
}

/// Token ids of one text. It never grows.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokenList<'a> {
    /// Ids of the vocabulary
    pub tokens: &'a [i32],
}

impl TokenList<'_> {
    pub(crate) fn raw(&self) -> sys::ggufx_token_list {
        let mut o: sys::ggufx_token_list = unsafe { zeroed() };
        o.tokens = self.tokens.as_ptr();
        o.n_tokens = self.tokens.len();
        o
    }
}

/// Moments facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MomentsFacts {
    /// Flags.
    pub flags: MomentsFlags,
    /// Number of columns.
    pub n_columns: u64,
    /// Number of inputs.
    pub n_inputs: u64,
    /// Memory of the sums
    pub memory_bytes: u64,
}

impl MomentsFacts {
    pub(crate) unsafe fn of(o: &sys::ggufx_moments_facts) -> Self {
        MomentsFacts {
            flags: MomentsFlags(o.flags),
            n_columns: o.n_columns,
            n_inputs: o.n_inputs,
            memory_bytes: o.memory_bytes,
        }
    }
}

/// Inputs to add to moments.
#[derive(Default)]
pub struct MomentsInputs<'a> {
    /// Inputs: tokens
    pub n: usize,
    /// Values of an input; as in the moments
    pub n_columns: usize,
    /// Inputs of the quantized model, dense
    pub rows: &'a [f32],
    /// The same inputs in the source model, with [`MomentsFlags::DRIFT`]; else `None`
    pub source_rows: &'a [f32],
    /// Counts inputs; `None`: none
    pub progress: Option<&'a mut Progress<'a>>,
}

impl MomentsInputs<'_> {
    pub(crate) fn raw(self, held: &Keep) -> Result<sys::ggufx_moments_inputs> {
        let mut o = sized!(ggufx_moments_inputs);
        o.n = self.n;
        o.n_columns = self.n_columns;
        exactly(
            "rows",
            filled(self.rows).map(<[_]>::len),
            product(&[self.n as u64, self.n_columns as u64]),
        )?;
        o.rows = optional(filled(self.rows));
        exactly(
            "source_rows",
            filled(self.source_rows).map(<[_]>::len),
            product(&[self.n as u64, self.n_columns as u64]),
        )?;
        o.source_rows = optional(filled(self.source_rows));
        o.progress = held.progress(self.progress);
        Ok(o)
    }
}

/// Open options.
#[derive(Default)]
pub struct OpenOptions<'a> {
    /// Flags.
    pub flags: OpenFlags,
    /// Definition of the type ids from 41 on: 0 = ggml, the only one known
    pub dialect: i32,
    /// Io.
    pub io: IoMode,
    /// Reported in bytes; `None`: cannot be cancelled
    pub progress: Option<&'a mut Progress<'a>>,
    /// Limit of the metadata; 0 = 1 GiB
    pub max_metadata_bytes: u64,
    /// Limit of the number of keys; 0 = 1,048,576, at most 2^31 - 1
    pub max_keys: u64,
    /// Limit of the tensors of one file; 0 = 1,048,576, at most 2^31 - 1
    pub max_tensors: u64,
    /// Limit of a key or string; 0 = 1 GiB
    pub max_string_bytes: u64,
}

impl OpenOptions<'_> {
    pub(crate) fn raw(self, held: &Keep) -> Result<sys::ggufx_open_options> {
        let mut o = sized!(ggufx_open_options);
        o.flags = self.flags.0;
        o.dialect = self.dialect;
        o.io = self.io.0;
        o.progress = held.progress(self.progress);
        o.max_metadata_bytes = self.max_metadata_bytes;
        o.max_keys = self.max_keys;
        o.max_tensors = self.max_tensors;
        o.max_string_bytes = self.max_string_bytes;
        Ok(o)
    }
}

/// File facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileFacts {
    /// GGUF version of the first part, 1 .. 3
    pub version: u32,
    /// 1 if the file is big-endian
    pub big_endian: bool,
    /// Alignment of tensor data in bytes
    pub alignment: u64,
    /// Files of the set
    pub n_parts: u64,
    /// End of the tensor directory of the first part
    pub meta_end: u64,
    /// Start of the tensor data of the first part
    pub data_offset: u64,
    /// Bytes of all parts
    pub file_size: u64,
    /// Number of keys
    pub n_meta: u64,
    /// Number of tensors
    pub n_tensors: u64,
    /// Values of all tensors
    pub n_values: u64,
    /// Bytes of all tensors
    pub n_bytes: u64,
    /// Bytes of tensor data after the ends of the files; not 0 only for the head of a file, opened
    /// for metadata only
    pub n_missing: u64,
}

impl FileFacts {
    pub(crate) unsafe fn of(o: &sys::ggufx_file_facts) -> Self {
        FileFacts {
            version: o.version,
            big_endian: o.big_endian != 0,
            alignment: o.alignment,
            n_parts: o.n_parts,
            meta_end: o.meta_end,
            data_offset: o.data_offset,
            file_size: o.file_size,
            n_meta: o.n_meta,
            n_tensors: o.n_tensors,
            n_values: o.n_values,
            n_bytes: o.n_bytes,
            n_missing: o.n_missing,
        }
    }
}

/// Memory of the tensor data of a file. The counts are unknown, `None`, on other systems than
/// Linux.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileMemoryFacts {
    /// Tensor data in mappings, or in borrowed memory
    pub mapped_bytes: u64,
    /// Tensor data in memory of the runtime's allocator
    pub copied_bytes: u64,
    /// Part of both that is in physical memory now
    pub resident_bytes: u64,
    /// Part of the resident bytes that is in huge pages
    pub huge_bytes: u64,
}

impl FileMemoryFacts {
    pub(crate) unsafe fn of(o: &sys::ggufx_file_memory_facts) -> Self {
        FileMemoryFacts {
            mapped_bytes: o.mapped_bytes,
            copied_bytes: o.copied_bytes,
            resident_bytes: o.resident_bytes,
            huge_bytes: o.huge_bytes,
        }
    }
}

/// Meta facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetaFacts<'a> {
    /// Type.
    pub type_: ValueType,
    /// [`ValueType`] of the elements of an array, else -1
    pub element_type: ValueType,
    /// Absent for a nested array
    pub key: &'a [u8],
    /// Elements of an array, bytes of a string, else 1
    pub count: u64,
    /// Byte offset of the value in the file, or in the first part of a set
    pub offset: u64,
}

impl<'a> MetaFacts<'a> {
    pub(crate) unsafe fn of(o: &sys::ggufx_meta_facts) -> Self {
        MetaFacts {
            type_: ValueType(o.type_),
            element_type: ValueType(o.element_type),
            key: items(o.key.data.cast(), o.key.size),
            count: o.count,
            offset: o.offset,
        }
    }
}

/// A fault or remark of [`File::validate`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FindingFacts<'a> {
    /// [`LogLevel::ERROR`], _WARNING or _INFO
    pub severity: LogLevel,
    /// Status that an open would return, or [`Status::OK`] for a remark
    pub status: Status,
    /// Byte offset in the file, or `None`
    pub offset: Option<u64>,
    /// Index of the key or tensor, or `None`
    pub index: Option<u64>,
    /// UTF-8, NUL-terminated; valid during the call
    pub text: &'a str,
    /// Name of the key or tensor
    pub name: &'a [u8],
}

impl<'a> FindingFacts<'a> {
    pub(crate) unsafe fn of(o: &sys::ggufx_finding_facts) -> Self {
        FindingFacts {
            severity: LogLevel(o.severity),
            status: Status(o.status),
            offset: present(o.offset),
            index: present(o.index),
            text: string(o.text),
            name: items(o.name.data.cast(), o.name.size),
        }
    }
}

/// Tensor facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TensorFacts<'a> {
    /// Type.
    pub type_: TensorType,
    /// 0 .. 4; a tensor of 0 dimensions holds one value
    pub n_dims: u32,
    /// Values per dimension, `ne[0]` along a row; 1 beyond `n_dims`
    pub ne: [u64; 4],
    /// Bytes of a row
    pub row_bytes: u64,
    /// Bytes from one row to the next, \>= `row_bytes`
    pub row_stride: u64,
    /// `ne[1]` * `ne[2]` * `ne[3]`
    pub n_rows: u64,
    /// `n_rows` * `row_bytes`, as in the file
    pub n_bytes: u64,
    /// From the start of the file's data section; `None` if wrapped
    pub offset: Option<u64>,
    /// From the start of its file; `None` if wrapped
    pub file_offset: Option<u64>,
    /// Index of its file in a split set, from 0
    pub part: u32,
    /// 0: CPU memory, 1: memory of a device (device.h)
    pub memory_kind: u32,
    /// Name.
    pub name: &'a [u8],
}

impl<'a> TensorFacts<'a> {
    pub(crate) unsafe fn of(o: &sys::ggufx_tensor_facts) -> Self {
        TensorFacts {
            type_: TensorType(o.type_),
            n_dims: o.n_dims,
            ne: o.ne,
            row_bytes: o.row_bytes,
            row_stride: o.row_stride,
            n_rows: o.n_rows,
            n_bytes: o.n_bytes,
            offset: present(o.offset),
            file_offset: present(o.file_offset),
            part: o.part,
            memory_kind: o.memory_kind,
            name: items(o.name.data.cast(), o.name.size),
        }
    }
}

/// All zero means default.
#[derive(Default)]
pub struct GeneratorOptions<'a> {
    /// Flags.
    pub flags: GeneratorFlags,
    /// Sequence of the session, not in use by another generator
    pub sequence: u32,
    /// Tokens of an output; 0 = until the context is full
    pub max_tokens: u32,
    /// `None`: that of the model's file, created once and kept by the model
    pub tokenizer: Option<&'a Tokenizer>,
    /// Copied with its state; `None`: greedy
    pub sampler: Option<&'a Sampler>,
    /// `None`: any text
    pub grammar: Option<&'a Grammar>,
    /// For messages; `None`: that of the model's file
    pub chat: Option<&'a ChatTemplate>,
    /// Stop strings, copied; none is empty
    pub stops: &'a [&'a str],
    /// `None`: no speculative decoding
    pub draft: Option<DraftOptions<'a>>,
    /// Likeliest tokens in each [`EventToken`]; at most 64
    pub n_logprobs: u32,
    /// Tokens of reasoning after which its end is forced. It needs messages or a chat prompt, and
    /// has no effect with a grammar.
    pub max_reasoning: Option<u32>,
}

impl GeneratorOptions<'_> {
    pub(crate) fn raw(&self, held: &Keep) -> Result<sys::ggufx_generator_options> {
        let mut o = sized!(ggufx_generator_options);
        o.flags = self.flags.0;
        o.sequence = self.sequence;
        o.max_tokens = self.max_tokens;
        o.tokenizer = self.tokenizer.map_or(null(), |x| x.as_raw() as *const _);
        o.sampler = self.sampler.map_or(null(), |x| x.as_raw() as *const _);
        o.grammar = self.grammar.map_or(null(), |x| x.as_raw() as *const _);
        o.chat = self.chat.map_or(null(), |x| x.as_raw() as *const _);
        let text = |x: &&str| sys::ggufx_text { data: x.as_ptr().cast(), size: x.len() };
        o.stops = held.list(self.stops.iter().map(text).collect());
        o.n_stops = self.stops.len();
        if let Some(draft) = &self.draft {
            o.draft = held.put(draft.raw());
        }
        o.n_logprobs = self.n_logprobs;
        if let Some(max_reasoning) = self.max_reasoning {
            o.max_reasoning = max_reasoning;
            o.flags |= GeneratorFlags::HAS_MAX_REASONING.0;
        }
        Ok(o)
    }
}

/// Speculative decoding: draft tokens are computed together with the token before them, and count
/// as far as the sampler draws the same. They change no event. All zero means prompt lookup: tokens
/// that followed the last tokens earlier.
#[derive(Default)]
pub struct DraftOptions<'a> {
    /// Session of a draft model, which is smaller and has the same vocabulary; `None`: prompt
    /// lookup
    pub session: Option<&'a mut Session>,
    /// Sequence of that session; the generator replaces its tokens
    pub sequence: u32,
    /// Draft tokens of a step at most; 0 = 7, at most 31
    pub n_draft: u32,
    /// Prompt lookup: last tokens that must have occurred; 0 = 3, at most 32
    pub n_match: u32,
}

impl DraftOptions<'_> {
    pub(crate) fn raw(&self) -> sys::ggufx_draft_options {
        let mut o = sized!(ggufx_draft_options);
        o.session = self.session.as_ref().map_or(null_mut(), |x| x.as_raw());
        o.sequence = self.sequence;
        o.n_draft = self.n_draft;
        o.n_match = self.n_match;
        o
    }
}

/// A prompt: one of text, tokens, messages, parts and chat.
#[derive(Default)]
pub struct Prompt<'a> {
    /// Flags.
    pub flags: PromptFlags,
    /// Text.
    pub text: Option<&'a str>,
    /// Tokens.
    pub tokens: &'a [i32],
    /// Rendered by the chat template. The output is then split into answer, reasoning and, where it
    /// has tools, tool calls.
    pub messages: Option<ChatRequest<'a>>,
    /// Parts.
    pub parts: &'a [PromptPart<'a>],
    /// As messages, made ready before; without APPEND
    pub chat: Option<&'a ChatPrompt>,
}

impl Prompt<'_> {
    pub(crate) fn raw(self, held: &Keep) -> Result<sys::ggufx_prompt> {
        let mut o = sized!(ggufx_prompt);
        o.flags = self.flags.0;
        let text = self.text.map(str::as_bytes);
        o.text = sys::ggufx_text { data: optional(text).cast(), size: count(text) };
        o.tokens = optional(filled(self.tokens));
        o.n_tokens = self.tokens.len();
        if let Some(messages) = self.messages {
            o.messages = held.put(messages.raw(held)?);
        }
        o.parts = held.list(self.parts.iter().map(|x| x.raw()).collect());
        o.n_parts = self.parts.len();
        o.chat = self.chat.map_or(null(), |x| x.as_raw() as *const _);
        Ok(o)
    }
}

/// A part of a prompt: one of text, tokens and rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct PromptPart<'a> {
    /// Text.
    pub text: Option<&'a str>,
    /// Tokens.
    pub tokens: &'a [i32],
    /// f32 \[\]`[n_embedding]`, finite: inputs of the first layer, such as a soft prompt
    pub rows: &'a [f32],
}

impl PromptPart<'_> {
    pub(crate) fn raw(&self) -> sys::ggufx_prompt_part {
        let mut o = sized!(ggufx_prompt_part);
        let text = self.text.map(str::as_bytes);
        o.text = sys::ggufx_text { data: optional(text).cast(), size: count(text) };
        o.tokens = optional(filled(self.tokens));
        o.n_tokens = self.tokens.len();
        o.rows = optional(filled(self.rows));
        o.n_rows = self.rows.len();
        o
    }
}

/// All zero means default.
#[derive(Default)]
pub struct StepOptions<'a> {
    /// The call returns after this time; 0: when it is complete
    pub budget_us: u64,
    /// Counts tokens; `None`: only [`Generator::cancel`] ends it
    pub progress: Option<&'a mut Progress<'a>>,
}

impl StepOptions<'_> {
    pub(crate) fn raw(self, held: &Keep) -> Result<sys::ggufx_step_options> {
        let mut o = sized!(ggufx_step_options);
        o.budget_us = self.budget_us;
        o.progress = held.progress(self.progress);
        Ok(o)
    }
}

/// All zero means default: the copy draws the same tokens.
#[derive(Clone, Copy, Debug, Default)]
pub struct ForkOptions {
    /// Flags.
    pub flags: ForkFlags,
    /// Empty, and of no other generator
    pub sequence: u32,
    /// With [`ForkFlags::RESEED`]: seed of its sampler
    pub seed: u64,
}

impl ForkOptions {
    pub(crate) fn raw(&self) -> sys::ggufx_fork_options {
        let mut o = sized!(ggufx_fork_options);
        o.flags = self.flags.0;
        o.sequence = self.sequence;
        o.seed = self.seed;
        o
    }
}

/// Generator facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeneratorFacts {
    /// State.
    pub state: GeneratorState,
    /// End.
    pub end: End,
    /// Its sequence, if it has one
    pub sequence: u32,
    /// Queued events
    pub n_events: u32,
    /// Tokens of the prompt
    pub n_prompt: u64,
    /// Tokens of the prompt that the sequence held
    pub n_prompt_reused: u64,
    /// Tokens of the prompt that are not computed yet
    pub n_prompt_left: u64,
    /// Tokens generated
    pub n_tokens: u64,
    /// Generated tokens that are reasoning
    pub n_reasoning: u64,
    /// Draft tokens computed
    pub n_drafted: u64,
    /// Draft tokens that the sampler drew
    pub n_accepted: u64,
    /// Bytes of its tokens, texts, events and drafts
    pub memory_bytes: u64,
    /// log-probabilities of the tokens generated since the prompt was set or cut, also those of a
    /// stop string; 0 without [`GeneratorFlags::LOGPROBS`] and `n_logprobs`
    pub sum_logprobs: f64,
}

impl GeneratorFacts {
    pub(crate) unsafe fn of(o: &sys::ggufx_generator_facts) -> Self {
        GeneratorFacts {
            state: GeneratorState(o.state),
            end: End(o.end),
            sequence: o.sequence,
            n_events: o.n_events,
            n_prompt: o.n_prompt,
            n_prompt_reused: o.n_prompt_reused,
            n_prompt_left: o.n_prompt_left,
            n_tokens: o.n_tokens,
            n_reasoning: o.n_reasoning,
            n_drafted: o.n_drafted,
            n_accepted: o.n_accepted,
            memory_bytes: o.memory_bytes,
            sum_logprobs: o.sum_logprobs,
        }
    }
}

/// All zero means default; chat, tokenizer and request must be set.
///
/// With `schema` or [`ToolChoice::REQUIRED`] the model may reason first, unless the request has
/// [`ChatFlags::NO_THINK`]. The markers that follow are forced; names, keys and values are those of
/// the schemas. Formats that write strings without quotes keep enum, const and maxLength of a
/// string, not its other keywords. Events give arguments as JSON while they are written. The output
/// ends with [`End::TOOL_CALL`] when the call is complete.
#[derive(Default)]
pub struct ChatPromptOptions<'a> {
    /// Flags.
    pub flags: ChatPromptFlags,
    /// The template
    pub chat: Option<&'a ChatTemplate>,
    /// That of the generators
    pub tokenizer: Option<&'a Tokenizer>,
    /// The conversation
    pub request: Option<ChatRequest<'a>>,
    /// Tool choice.
    pub tool_choice: ToolChoice,
    /// For grammars that the call compiles
    pub grammar_flags: GrammarFlags,
    /// With [`ToolChoice::REQUIRED`]: the only function that may be called; empty: any. Without a
    /// name, a function whose schema is not supported takes any arguments.
    pub tool_name: Option<&'a str>,
    /// With [`ToolChoice::REQUIRED`]: JSON array of the tools that may be called; absent: those of
    /// the request
    pub tools: Option<&'a str>,
    /// Id of that call; absent: it has none
    pub call_id: Option<&'a str>,
    /// JSON Schema of the answer. If the request has tools, the model may call them instead.
    pub schema: Option<&'a str>,
}

impl ChatPromptOptions<'_> {
    pub(crate) fn raw(self, held: &Keep) -> Result<sys::ggufx_chat_prompt_options> {
        let mut o = sized!(ggufx_chat_prompt_options);
        o.flags = self.flags.0;
        o.chat = self.chat.map_or(null(), |x| x.as_raw() as *const _);
        o.tokenizer = self.tokenizer.map_or(null(), |x| x.as_raw() as *const _);
        if let Some(request) = self.request {
            o.request = held.put(request.raw(held)?);
        }
        o.tool_choice = self.tool_choice.0;
        o.grammar_flags = self.grammar_flags.0;
        let tool_name = self.tool_name.map(str::as_bytes);
        o.tool_name = sys::ggufx_text { data: optional(tool_name).cast(), size: count(tool_name) };
        let tools = self.tools.map(str::as_bytes);
        o.tools = sys::ggufx_text { data: optional(tools).cast(), size: count(tools) };
        let call_id = self.call_id.map(str::as_bytes);
        o.call_id = sys::ggufx_text { data: optional(call_id).cast(), size: count(call_id) };
        let schema = self.schema.map(str::as_bytes);
        o.schema = sys::ggufx_text { data: optional(schema).cast(), size: count(schema) };
        Ok(o)
    }
}

/// Grammar options.
#[derive(Default)]
pub struct GrammarOptions<'a> {
    /// Flags.
    pub flags: GrammarFlags,
    /// Kind.
    pub kind: GrammarKind,
    /// UTF-8
    pub text: Option<&'a str>,
    /// Steps done, of an unknown total; `None`: cannot be cancelled
    pub progress: Option<&'a mut Progress<'a>>,
    /// Steps of the compilation; 0 = 4,000,000, plus 2,000 per byte of text
    pub max_steps: u64,
    /// Bytes that it uses; 0 = 32 MiB, plus 2 KiB per byte of text
    pub max_memory: u64,
}

impl GrammarOptions<'_> {
    pub(crate) fn raw(self, held: &Keep) -> Result<sys::ggufx_grammar_options> {
        let mut o = sized!(ggufx_grammar_options);
        o.flags = self.flags.0;
        o.kind = self.kind.0;
        let text = self.text.map(str::as_bytes);
        o.text = sys::ggufx_text { data: optional(text).cast(), size: count(text) };
        o.progress = held.progress(self.progress);
        o.max_steps = self.max_steps;
        o.max_memory = self.max_memory;
        Ok(o)
    }
}

/// Matcher facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatcherFacts {
    /// Flags.
    pub flags: MatcherFlags,
    /// Tokens accepted and not rolled back
    pub n_tokens: u64,
    /// Tokens of the vocabulary
    pub n_vocab: u32,
    /// Words of a mask
    pub n_words: u32,
}

impl MatcherFacts {
    pub(crate) unsafe fn of(o: &sys::ggufx_matcher_facts) -> Self {
        MatcherFacts {
            flags: MatcherFlags(o.flags),
            n_tokens: o.n_tokens,
            n_vocab: o.n_vocab,
            n_words: o.n_words,
        }
    }
}

/// Imatrix facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImatrixFacts {
    /// Number of entries.
    pub n_entries: u64,
    /// Number of datasets.
    pub n_datasets: u64,
    /// Chunks of the dataset; 0: not in the file
    pub n_chunks: u64,
    /// Tokens per chunk
    pub chunk_tokens: u32,
    /// [`ImatrixFormat`] of its file
    pub format: ImatrixFormat,
}

impl ImatrixFacts {
    pub(crate) unsafe fn of(o: &sys::ggufx_imatrix_facts) -> Self {
        ImatrixFacts {
            n_entries: o.n_entries,
            n_datasets: o.n_datasets,
            n_chunks: o.n_chunks,
            chunk_tokens: o.chunk_tokens,
            format: ImatrixFormat(o.format),
        }
    }
}

/// An entry of an imatrix. Pointers are valid until the imatrix is changed or destroyed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImatrixEntry<'a> {
    /// Name of the weight tensor
    pub name: &'a [u8],
    /// Columns of the tensor
    pub n_columns: u64,
    /// Experts; 1 for other tensors
    pub n_matrices: u64,
    /// Sums of squared activations
    pub sums: &'a [f32],
    /// Tokens
    pub counts: &'a [f32],
    /// Sums / counts, 1 without counts: the imatrix of [`QuantizeArgs`]
    pub values: &'a [f32],
}

impl<'a> ImatrixEntry<'a> {
    pub(crate) unsafe fn of(o: &sys::ggufx_imatrix_entry) -> Self {
        ImatrixEntry {
            name: items(o.name.data.cast(), o.name.size),
            n_columns: o.n_columns,
            n_matrices: o.n_matrices,
            sums: items(o.sums, (o.n_matrices * o.n_columns) as usize),
            counts: items(o.counts, o.n_matrices as usize),
            values: items(o.values, (o.n_matrices * o.n_columns) as usize),
        }
    }
}

/// Options of a collection. All zero means default.
#[derive(Default)]
pub struct ImatrixOptions<'a> {
    /// Flags.
    pub flags: ImatrixFlags,
    /// Name of the dataset for the file, UTF-8; `None`: none
    pub dataset: Option<&'a str>,
    /// Counts tokens; `None`: none
    pub progress: Option<&'a mut Progress<'a>>,
}

impl ImatrixOptions<'_> {
    pub(crate) fn raw(self, held: &Keep) -> Result<sys::ggufx_imatrix_options> {
        let mut o = sized!(ggufx_imatrix_options);
        o.flags = self.flags.0;
        o.dataset = held.string(self.dataset)?;
        o.progress = held.progress(self.progress);
        Ok(o)
    }
}

/// Tokens that [`KvCache::append`] appends to a layer.
#[derive(Clone, Copy, Debug, Default)]
pub struct KvTokens<'a> {
    /// Index of the layer in the cache
    pub layer: u32,
    /// Sequence of all tokens; 0 with `sequences`
    pub sequence: u32,
    /// Type of k and v: [`TensorType::F32`], _F16 or _BF16, in the host's byte order
    pub type_: TensorType,
    /// Number of tokens.
    pub n_tokens: usize,
    /// The sequence of each token, or `None`; needs positions
    pub sequences: &'a [u32],
    /// Not negative, and not descending within a sequence; `None`: the next ones (0, 1, ... without
    /// gaps). The causal mask compares positions. Keys are stored as given: the call does not apply
    /// RoPE.
    pub positions: &'a [i32],
    /// `[n_tokens][n_kv_heads][head_dim_k]`, copied (quantized)
    pub k: Option<Values<'a>>,
    /// `[n_tokens][n_kv_heads][head_dim_v]`, copied; `None` with [`KvFlags::V_IN_K`]
    pub v: Option<Values<'a>>,
    /// Distance of two tokens in values; 0 = dense: `n_kv_heads` * `head_dim_k`
    pub k_stride: usize,
    /// The same of v
    pub v_stride: usize,
}

impl KvTokens<'_> {
    pub(crate) fn raw(&self, _: &Keep) -> Result<sys::ggufx_kv_tokens> {
        let mut o = sized!(ggufx_kv_tokens);
        o.layer = self.layer;
        o.sequence = self.sequence;
        o.type_ = self.type_.0;
        o.n_tokens = self.n_tokens;
        exactly("sequences", filled(self.sequences).map(<[_]>::len), self.n_tokens as u64)?;
        o.sequences = optional(filled(self.sequences));
        exactly("positions", filled(self.positions).map(<[_]>::len), self.n_tokens as u64)?;
        o.positions = optional(filled(self.positions));
        let k = self.k.map(|x| x.of(self.type_, "k")).transpose()?.unwrap_or((null(), 0));
        o.k = k.0;
        o.n_k = k.1;
        let v = self.v.map(|x| x.of(self.type_, "v")).transpose()?.unwrap_or((null(), 0));
        o.v = v.0;
        o.n_v = v.1;
        o.k_stride = self.k_stride;
        o.v_stride = self.v_stride;
        Ok(o)
    }
}

/// Queries over a layer.
#[derive(Clone, Copy, Debug, Default)]
pub struct KvQueries<'a> {
    /// Index of the layer in the cache
    pub layer: u32,
    /// Sequence of all queries; 0 with `sequences`
    pub sequence: u32,
    /// Number of queries.
    pub n_queries: usize,
    /// Query i reads `sequences[i]`, which may repeat; `None`: `sequence`
    pub sequences: &'a [u32],
    /// Not negative; `None`: those of the last `n_queries` tokens, or with `sequences` that of the
    /// last token of each
    pub positions: &'a [i32],
    /// f32, `[n_queries][n_q_heads][head_dim_k]`
    pub q: &'a [f32],
}

impl KvQueries<'_> {
    pub(crate) fn raw(&self, _: &Keep) -> Result<sys::ggufx_kv_queries> {
        let mut o = sized!(ggufx_kv_queries);
        o.layer = self.layer;
        o.sequence = self.sequence;
        o.n_queries = self.n_queries;
        exactly("sequences", filled(self.sequences).map(<[_]>::len), self.n_queries as u64)?;
        o.sequences = optional(filled(self.sequences));
        exactly("positions", filled(self.positions).map(<[_]>::len), self.n_queries as u64)?;
        o.positions = optional(filled(self.positions));
        o.q = optional(filled(self.q));
        o.n_q = self.q.len();
        Ok(o)
    }
}

/// Attend options.
#[derive(Default)]
pub struct AttendOptions<'a> {
    /// [`AttendFlags`]; 0 = windows or the causal mask
    pub flags: AttendFlags,
    /// Scale of the scores; 0 = 1 / sqrt(`head_dim_k`)
    pub scale: f32,
    /// Scores become softcap * tanh(score / softcap); 0 = none
    pub softcap: f32,
    /// Positions that a query sees; 0 = as the layer. A query sees the intersection of its own
    /// window and that of the layer.
    pub window: u32,
    /// [`WindowKind`] of `window`; 0 without one
    pub window_kind: WindowKind,
    /// One per query head, or `None`: slope * (key position - query position) is added to a score.
    pub alibi_slopes: &'a [f32],
    /// One per query head, or `None`: the score of an attention sink without a value
    pub sink_logits: &'a [f32],
    /// `None`: cannot be cancelled
    pub progress: Option<&'a mut Progress<'a>>,
}

impl AttendOptions<'_> {
    pub(crate) fn raw(self, held: &Keep) -> Result<sys::ggufx_attend_options> {
        let mut o = sized!(ggufx_attend_options);
        o.flags = self.flags.0;
        o.scale = self.scale;
        o.softcap = self.softcap;
        o.window = self.window;
        o.window_kind = self.window_kind.0;
        o.alibi_slopes = optional(filled(self.alibi_slopes));
        o.n_alibi_slopes = self.alibi_slopes.len();
        o.sink_logits = optional(filled(self.sink_logits));
        o.n_sink_logits = self.sink_logits.len();
        o.progress = held.progress(self.progress);
        Ok(o)
    }
}

/// Tokens of a layer of a sequence: `first` .. first + `n_tokens` - 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct KvRange {
    /// Index of the layer in the cache
    pub layer: u32,
    /// Index of the sequence
    pub sequence: u32,
    /// Index of the first token in the layer's sequence
    pub first: u64,
    /// Number of tokens.
    pub n_tokens: u64,
}

impl KvRange {
    pub(crate) fn raw(&self) -> sys::ggufx_kv_range {
        let mut o = sized!(ggufx_kv_range);
        o.layer = self.layer;
        o.sequence = self.sequence;
        o.first = self.first;
        o.n_tokens = self.n_tokens;
        o
    }
}

/// Kv facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KvFacts {
    /// Type of the keys; with [`sys::GGUFX_KV_ALL_LAYERS`] the default of layers
    pub type_k: TensorType,
    /// Type of the values
    pub type_v: TensorType,
    /// Tokens of all sequences, in the first layer for [`sys::GGUFX_KV_ALL_LAYERS`]
    pub n_tokens: u64,
    /// Allocated pages, used or not; shared pages count once
    pub n_pages: u64,
    /// Pages among them that are not quantized: sinks and last tokens
    pub n_plain_pages: u64,
    /// References of sequences to pages that other sequences hold too
    pub n_shared_pages: u64,
    /// Bytes of the pages
    pub page_bytes: u64,
    /// Bytes of quantized keys and values per token
    pub bytes_per_token: u64,
    /// Bits per value, as stored in full pages
    pub bits_per_value: f64,
    /// Mean squared error over mean square of quantized keys, in the basis of the type; 0 without
    /// any.
    pub k_error: f64,
    /// The same of the values; `k_error` with [`KvFlags::V_IN_K`]
    pub v_error: f64,
}

impl KvFacts {
    pub(crate) unsafe fn of(o: &sys::ggufx_kv_facts) -> Self {
        KvFacts {
            type_k: TensorType(o.type_k),
            type_v: TensorType(o.type_v),
            n_tokens: o.n_tokens,
            n_pages: o.n_pages,
            n_plain_pages: o.n_plain_pages,
            n_shared_pages: o.n_shared_pages,
            page_bytes: o.page_bytes,
            bytes_per_token: o.bytes_per_token,
            bits_per_value: o.bits_per_value,
            k_error: o.k_error,
            v_error: o.v_error,
        }
    }
}

/// Token facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenFacts<'a> {
    /// Flags.
    pub flags: TokenFlags,
    /// Index in the vocabulary
    pub id: i32,
    /// As stored in the file
    pub score: f32,
    /// As stored in the file
    pub text: &'a [u8],
}

impl<'a> TokenFacts<'a> {
    pub(crate) unsafe fn of(o: &sys::ggufx_token_facts) -> Self {
        TokenFacts {
            flags: TokenFlags(o.flags),
            id: o.id,
            score: o.score,
            text: items(o.text.data.cast(), o.text.size),
        }
    }
}

/// Special tokens are found by their key, or else by their text or the default of the kind of
/// vocabulary; an id of -1: none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenizerFacts<'a> {
    /// Flags.
    pub flags: TokenizerFlags,
    /// Tokenizer.ggml.model: "llama"; valid for the life of the process
    pub kind: &'a str,
    /// Tokens of the vocabulary
    pub n_tokens: u32,
    /// Start of a text; `[CLS]`
    pub bos: i32,
    /// End of a text
    pub eos: i32,
    /// Stands for text without a token
    pub unknown: i32,
    /// pre-tokenizer of BPE: "llama-bpe", else `None`; valid for the life of the process
    pub pre: Option<&'a str>,
    /// End of a turn
    pub eot: i32,
    /// End of a message that a tool answers
    pub eom: i32,
    /// Between two texts; `[SEP]`
    pub separator: i32,
    /// Padding; `[PAD]`
    pub pad: i32,
    /// Token to be predicted; `[MASK]`
    pub mask: i32,
    /// fill-in-the-middle: before the prefix
    pub fim_prefix: i32,
    /// Before the suffix
    pub fim_suffix: i32,
    /// Before the middle, which the model generates
    pub fim_middle: i32,
    /// Padding
    pub fim_pad: i32,
    /// Before the name of a repository
    pub fim_repository: i32,
    /// Between files
    pub fim_separator: i32,
}

impl<'a> TokenizerFacts<'a> {
    pub(crate) unsafe fn of(o: &sys::ggufx_tokenizer_facts) -> Self {
        TokenizerFacts {
            flags: TokenizerFlags(o.flags),
            kind: string(o.kind),
            n_tokens: o.n_tokens,
            bos: o.bos,
            eos: o.eos,
            unknown: o.unknown,
            pre: string_or_none(o.pre),
            eot: o.eot,
            eom: o.eom,
            separator: o.separator,
            pad: o.pad,
            mask: o.mask,
            fim_prefix: o.fim_prefix,
            fim_suffix: o.fim_suffix,
            fim_middle: o.fim_middle,
            fim_pad: o.fim_pad,
            fim_repository: o.fim_repository,
            fim_separator: o.fim_separator,
        }
    }
}

/// Model options.
#[derive(Default)]
pub struct ModelOptions<'a> {
    /// `[n_overrides]`, read by the call only
    pub overrides: &'a [ModelOverride<'a>],
    /// Counts layers; `None`: cannot be cancelled
    pub progress: Option<&'a mut Progress<'a>>,
    /// Device (device.h) for the products of the output matrix and of the last `n_device_layers`
    /// layers. If it is exact, results are bit-identical. `None`: the CPU.
    pub device: Option<&'a Device>,
    /// Number of last layers on the device; 0: all
    pub n_device_layers: u32,
}

impl ModelOptions<'_> {
    pub(crate) fn raw(self, held: &Keep) -> Result<sys::ggufx_model_options> {
        let mut o = sized!(ggufx_model_options);
        o.overrides = held.list(self.overrides.iter().map(|x| x.raw(held)).collect::<Result<_>>()?);
        o.n_overrides = self.overrides.len();
        o.progress = held.progress(self.progress);
        o.device = self.device.map_or(null(), |x| x.as_raw() as *const _);
        o.n_device_layers = self.n_device_layers;
        Ok(o)
    }
}

/// Overrides a metadata value of the file, or adds a key.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModelOverride<'a> {
    /// "llama.rope.freq_base"
    pub key: &'a str,
    /// A number, "true", "false" or a string, according to the key
    pub value: &'a str,
}

impl ModelOverride<'_> {
    pub(crate) fn raw(&self, held: &Keep) -> Result<sys::ggufx_model_override> {
        let mut o: sys::ggufx_model_override = unsafe { zeroed() };
        o.key = held.string(Some(self.key))?;
        o.value = held.string(Some(self.value))?;
        Ok(o)
    }
}

/// Model facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelFacts<'a> {
    /// Flags.
    pub flags: ModelFlags,
    /// "llama"; valid for the life of the process
    pub architecture: &'a str,
    /// Values of all tensors
    pub n_parameters: u64,
    /// Bytes of all tensors
    pub weight_bytes: u64,
    /// Tokens of the vocabulary
    pub n_vocab: u32,
    /// Trained context
    pub n_context: u32,
    /// Values of a hidden state
    pub n_embedding: u32,
    /// Number of layers.
    pub n_layers: u32,
    /// Number of heads.
    pub n_heads: u32,
    /// Number of kv heads.
    pub n_kv_heads: u32,
    /// Values of a head
    pub head_dim: u32,
    /// Layers on the device, beside the output matrix; 0: no device
    pub n_device_layers: u32,
    /// Identity of the model in snapshots and saved logits: a checksum of the shapes and types of
    /// all matrices and of the values of all vectors.
    pub identity: u64,
    /// Bytes of matrices on the device
    pub device_bytes: u64,
}

impl<'a> ModelFacts<'a> {
    pub(crate) unsafe fn of(o: &sys::ggufx_model_facts) -> Self {
        ModelFacts {
            flags: ModelFlags(o.flags),
            architecture: string(o.architecture),
            n_parameters: o.n_parameters,
            weight_bytes: o.weight_bytes,
            n_vocab: o.n_vocab,
            n_context: o.n_context,
            n_embedding: o.n_embedding,
            n_layers: o.n_layers,
            n_heads: o.n_heads,
            n_kv_heads: o.n_kv_heads,
            head_dim: o.head_dim,
            n_device_layers: o.n_device_layers,
            identity: o.identity,
            device_bytes: o.device_bytes,
        }
    }
}

/// Layer facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerFacts<'a> {
    /// Flags.
    pub flags: LayerFlags,
    /// Kind.
    pub kind: LayerKind,
    /// Query heads, as in `ggufx_attention_hook`; 0 without attention
    pub n_heads: u32,
    /// Heads of keys and values
    pub n_kv_heads: u32,
    /// Values of a query or key head
    pub head_dim_k: u32,
    /// Values of a value head
    pub head_dim_v: u32,
    /// Tokens that a token sees (llama4: at most); 0 = all
    pub window: u32,
    /// Layer of the keys and values that it reads, mostly itself
    pub kv_layer: u32,
    /// Scale of the scores; 0 = 1 / sqrt(`head_dim_k`)
    pub scale: f32,
    /// Soft cap of the scores; 0: none
    pub softcap: f32,
    /// Bytes of the recurrent state of a sequence
    pub state_bytes: u64,
    /// Attention sink logits, or `None`; valid as long as the model
    pub sink_logits: Option<&'a [f32]>,
}

impl<'a> LayerFacts<'a> {
    pub(crate) unsafe fn of(o: &sys::ggufx_layer_facts) -> Self {
        LayerFacts {
            flags: LayerFlags(o.flags),
            kind: LayerKind(o.kind),
            n_heads: o.n_heads,
            n_kv_heads: o.n_kv_heads,
            head_dim_k: o.head_dim_k,
            head_dim_v: o.head_dim_v,
            window: o.window,
            kv_layer: o.kv_layer,
            scale: o.scale,
            softcap: o.softcap,
            state_bytes: o.state_bytes,
            sink_logits: items_or_none(o.sink_logits, o.n_heads as usize),
        }
    }
}

/// Tokens to append to a sequence. Unused fields must be 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct DecodeItem<'a> {
    /// Flags.
    pub flags: DecodeFlags,
    /// Below `n_sequences`; each item of a call has another one
    pub sequence: u32,
    /// Read by the call only; `None`: with `input_rows` alone
    pub tokens: &'a [i32],
    /// f32 `[n_tokens][n_embedding]`, finite: the input of the first layer, such as an image or a
    /// soft prompt. `None`: the embeddings of the tokens.
    ///
    /// They replace the rows of `token_embd`, including the factor that some models apply. Learned
    /// positions are added as usual. `tokens` are then only used if a model looks ids up elsewhere;
    /// `None` means id 0. The rows are kept as long as their tokens may be recomputed.
    pub input_rows: &'a [f32],
    /// Positions, ascending, after that of the sequence's last token; `None`: without gaps
    pub positions: &'a [i32],
}

impl DecodeItem<'_> {
    pub(crate) fn raw(&self, _: &Keep) -> Result<sys::ggufx_decode_item> {
        let mut o = sized!(ggufx_decode_item);
        o.flags = self.flags.0;
        o.sequence = self.sequence;
        o.tokens = optional(filled(self.tokens));
        o.n_tokens = count(filled(self.tokens).or(filled(self.positions)));
        o.input_rows = optional(filled(self.input_rows));
        o.n_input_rows = self.input_rows.len();
        exactly(
            "positions",
            filled(self.positions).map(<[_]>::len),
            count(filled(self.tokens).or(filled(self.positions))) as u64,
        )?;
        o.positions = optional(filled(self.positions));
        Ok(o)
    }
}

/// Decode options.
#[derive(Default)]
pub struct DecodeOptions<'a> {
    /// Flags.
    pub flags: DecodeOptionsFlags,
    /// Counts tokens; `None`: cannot be cancelled
    pub progress: Option<&'a mut Progress<'a>>,
    /// f32 `[n_rows][n_vocab]`, a buffer of the caller, in the order of the items. Items with
    /// LOGITS have one row, items with ALL_LOGITS `n_tokens` rows. `None` if there are none.
    pub logits: Option<&'a mut [f32]>,
    /// [`MatmulFlags`] with [`DecodeOptionsFlags::HAS_MATMUL_FLAGS`], else 0
    pub matmul_flags: Option<MatmulFlags>,
    /// f32 `[n_rows][n_embedding]`: rows of HIDDEN and ALL_HIDDEN, in the order of logits
    pub hidden: Option<&'a mut [f32]>,
}

impl DecodeOptions<'_> {
    pub(crate) fn raw(self, held: &Keep) -> Result<sys::ggufx_decode_options> {
        let mut o = sized!(ggufx_decode_options);
        o.flags = self.flags.0;
        o.progress = held.progress(self.progress);
        if let Some(logits) = self.logits {
            o.logits = logits.as_mut_ptr();
            o.n_logits = logits.len();
        }
        if let Some(matmul_flags) = self.matmul_flags {
            o.matmul_flags = matmul_flags.0;
            o.flags |= DecodeOptionsFlags::HAS_MATMUL_FLAGS.0;
        }
        if let Some(hidden) = self.hidden {
            o.hidden = hidden.as_mut_ptr();
            o.n_hidden = hidden.len();
        }
        Ok(o)
    }
}

/// Options of a measurement. All zero means default.
#[derive(Default)]
#[allow(clippy::type_complexity)]
pub struct EvalOptions<'a> {
    /// 0: separate chunks, whose second half is scored. Otherwise each chunk begins `stride` tokens
    /// after the previous one, and its last `stride` predictions are scored. Each of these sees at
    /// least `n_context` - stride tokens. stride is less than `n_context`.
    pub stride: u32,
    /// File for the logits of all scored predictions, 16 bits each, by atomic replace. `None`:
    /// none. Not together with `write`.
    pub save_path: Option<&'a Path>,
    /// Gets the same bytes in place of a file. `None`: none.
    pub write: Option<&'a mut (dyn Write + 'a)>,
    /// File of saved logits to compare with. They must have the same vocabulary, chunks and first
    /// tokens, and may have more chunks. `None`: none. Not together with `read`.
    pub reference_path: Option<&'a Path>,
    /// Reads all n bytes of the same from elsewhere. `None`: none.
    pub read: Option<&'a mut (dyn Read + 'a)>,
    /// Gets the running result after each chunk. A result other than [`Status::OK`] ends the call
    /// with it. `None`: none.
    pub report: Option<&'a mut (dyn FnMut(&EvalFacts) -> ControlFlow<()> + 'a)>,
    /// Counts tokens; `None`: none
    pub progress: Option<&'a mut Progress<'a>>,
    /// Gets the scored predictions in the order of the text, in pieces. A result other than
    /// [`Status::OK`] ends the call with it. [`Runtime::eval_merge`] computes the results of a text
    /// that is measured in parts, cut between chunks. `None`: none.
    pub rows: Option<&'a mut (dyn FnMut(&[EvalRow]) -> ControlFlow<()> + 'a)>,
    /// First chunk of the saved logits that belongs to these tokens. Earlier chunks are read and
    /// checked.
    pub reference_chunk: u64,
}

impl EvalOptions<'_> {
    pub(crate) fn raw(self, held: &Keep) -> Result<sys::ggufx_eval_options> {
        let mut o = sized!(ggufx_eval_options);
        o.stride = self.stride;
        o.save_path = held.path(self.save_path)?;
        if let Some(write) = self.write {
            o.write = Some(on_write);
            o.write_user = held.put(write).cast();
        }
        o.reference_path = held.path(self.reference_path)?;
        if let Some(read) = self.read {
            o.read = Some(on_read);
            o.read_user = held.put(read).cast();
        }
        if let Some(report) = self.report {
            o.report = Some(on_eval_options_report);
            o.report_user = held.put(report).cast();
        }
        o.progress = held.progress(self.progress);
        if let Some(rows) = self.rows {
            o.rows = Some(on_eval_options_rows);
            o.rows_user = held.put(rows).cast();
        }
        o.reference_chunk = self.reference_chunk;
        Ok(o)
    }
}

/// A generator's part in a step.
pub struct StepItem<'a> {
    /// On a sequence of the session
    pub generator: &'a mut Generator,
    /// Most tokens of its prompt in this step; 0 = its share of what fits. If more are asked for
    /// than `n_batch`, all items share it.
    pub n_tokens: u32,
}

impl StepItem<'_> {
    pub(crate) fn raw(&self) -> sys::ggufx_step_item {
        let mut o = sized!(ggufx_step_item);
        o.generator = self.generator.as_raw();
        o.n_tokens = self.n_tokens;
        o
    }
}

/// Session options.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionOptions {
    /// [`SessionFlags::HAS_TYPE_K`], _HAS_TYPE_V
    pub flags: SessionFlags,
    /// Maximum number of tokens of a sequence; 0 = the trained context, at most 8192
    pub n_context: u32,
    /// Tokens computed at once; 0 = 512
    pub n_batch: u32,
    /// Type of the keys; 0 without [`SessionFlags::HAS_TYPE_K`] = F16
    pub type_k: Option<TensorType>,
    /// Type of the values; 0 without [`SessionFlags::HAS_TYPE_V`] = F16
    pub type_v: Option<TensorType>,
    /// [`MatmulFlags`] of all products
    pub matmul_flags: MatmulFlags,
    /// Maximum number of tokens of all sequences together, which then share memory. It is allocated
    /// as tokens arrive; a shared prefix counts once; tokens without memory are CAPACITY. 0, or
    /// more than all sequences can hold: each has its own memory.
    pub n_context_total: u64,
    /// Checkpoints of recurrent states for [`Session::truncate`], in addition to the state before
    /// the last decode. At most 4096; 0 = 8, or one per 64 tokens if the context has less than 512;
    /// [`sys::GGUFX_SESSION_NO_CHECKPOINTS`] = none. No effect on models without recurrent layers.
    pub n_checkpoints: u32,
    /// Number of sequences of `n_context` tokens each (batch.h); 0 = 1, at most 65536
    pub n_sequences: u32,
}

impl SessionOptions {
    pub(crate) fn raw(&self) -> sys::ggufx_session_options {
        let mut o = sized!(ggufx_session_options);
        o.flags = self.flags.0;
        o.n_context = self.n_context;
        o.n_batch = self.n_batch;
        if let Some(type_k) = self.type_k {
            o.type_k = type_k.0;
            o.flags |= SessionFlags::HAS_TYPE_K.0;
        }
        if let Some(type_v) = self.type_v {
            o.type_v = type_v.0;
            o.flags |= SessionFlags::HAS_TYPE_V.0;
        }
        o.matmul_flags = self.matmul_flags.0;
        o.n_context_total = self.n_context_total;
        o.n_checkpoints = self.n_checkpoints;
        o.n_sequences = self.n_sequences;
        o
    }
}

/// Options of a session, with the defaults filled in, and the memory of its caches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionFacts {
    /// Maximum number of tokens of a sequence
    pub n_context: u32,
    /// Tokens computed at once
    pub n_batch: u32,
    /// Type of the keys
    pub type_k: TensorType,
    /// Type of the values
    pub type_v: TensorType,
    /// Number of sequences
    pub n_sequences: u32,
    /// Tokens for which sequences share memory; 0: each has its own
    pub n_context_total: u64,
    /// Bytes allocated for keys, values and states
    pub cache_bytes: u64,
    /// Allocated pages, used or not; shared pages count once. A page holds 64 tokens of a layer
    pub n_pages: u64,
    /// References of sequences to pages that other sequences hold too
    pub n_shared_pages: u64,
    /// Tokens of all sequences
    pub n_tokens: u64,
    /// With `n_context_total`: tokens that still fit, in whole pages
    pub n_tokens_left: u64,
    /// Bytes of input rows that the caller passed
    pub embedded_bytes: u64,
}

impl SessionFacts {
    pub(crate) unsafe fn of(o: &sys::ggufx_session_facts) -> Self {
        SessionFacts {
            n_context: o.n_context,
            n_batch: o.n_batch,
            type_k: TensorType(o.type_k),
            type_v: TensorType(o.type_v),
            n_sequences: o.n_sequences,
            n_context_total: o.n_context_total,
            cache_bytes: o.cache_bytes,
            n_pages: o.n_pages,
            n_shared_pages: o.n_shared_pages,
            n_tokens: o.n_tokens,
            n_tokens_left: o.n_tokens_left,
            embedded_bytes: o.embedded_bytes,
        }
    }
}

/// Quantizer facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantizerFacts {
    /// Number of tensors.
    pub n_tensors: u64,
    /// Files that a run writes
    pub n_parts: u64,
    /// Values of all tensors
    pub n_values: u64,
    /// Bytes of all tensors in the input
    pub bytes_in: u64,
    /// Bytes of all tensors in the output
    pub bytes_out: u64,
    /// Exact bytes of all files that a run writes
    pub file_bytes: u64,
    /// Tensors with [`QuantizerReason::FALLBACK`]
    pub n_fallbacks: u64,
    /// Tensors without an entry of the imatrix, if one was given
    pub n_missing: u64,
}

impl QuantizerFacts {
    pub(crate) unsafe fn of(o: &sys::ggufx_quantizer_facts) -> Self {
        QuantizerFacts {
            n_tensors: o.n_tensors,
            n_parts: o.n_parts,
            n_values: o.n_values,
            bytes_in: o.bytes_in,
            bytes_out: o.bytes_out,
            file_bytes: o.file_bytes,
            n_fallbacks: o.n_fallbacks,
            n_missing: o.n_missing,
        }
    }
}

/// A tensor of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantizerTensorFacts<'a> {
    /// Lives as long as the quantizer
    pub name: &'a [u8],
    /// Values per dimension
    pub ne: [u64; 4],
    /// Number of dims.
    pub n_dims: u32,
    /// Type in the input
    pub from: TensorType,
    /// Type in the output
    pub to: TensorType,
    /// Type before a fallback
    pub wanted: TensorType,
    /// Reason.
    pub reason: QuantizerReason,
    /// 1: an entry weighs its columns; 0: no entry is used; -1: the imatrix has no entry; -2: no
    /// entry, but the type requires one.
    pub imatrix: i32,
    /// Index of the output file
    pub part: u32,
    /// Bytes in the input
    pub bytes_in: u64,
    /// Bytes in the output
    pub bytes_out: u64,
    /// Error of a run with [`QuantizerRunFlags::MEASURE`]; negative: not measured
    pub rmse: f64,
    /// Time in the last run
    pub seconds: f64,
    /// With feedback: mean squared error of the outputs, relative to their mean square, before the
    /// descent; 0 without.
    pub error_before: f64,
    /// The same of the written blocks
    pub error_after: f64,
}

impl<'a> QuantizerTensorFacts<'a> {
    pub(crate) unsafe fn of(o: &sys::ggufx_quantizer_tensor_facts) -> Self {
        QuantizerTensorFacts {
            name: items(o.name.data.cast(), o.name.size),
            ne: o.ne,
            n_dims: o.n_dims,
            from: TensorType(o.from),
            to: TensorType(o.to),
            wanted: TensorType(o.wanted),
            reason: QuantizerReason(o.reason),
            imatrix: o.imatrix,
            part: o.part,
            bytes_in: o.bytes_in,
            bytes_out: o.bytes_out,
            rmse: o.rmse,
            seconds: o.seconds,
            error_before: o.error_before,
            error_after: o.error_after,
        }
    }
}

/// Options of a run. All zero means default.
#[derive(Default)]
#[allow(clippy::type_complexity)]
pub struct QuantizerRunOptions<'a> {
    /// Flags.
    pub flags: QuantizerRunFlags,
    /// Reported in bytes of input; `None`: cannot be cancelled
    pub progress: Option<&'a mut Progress<'a>>,
    /// Called after each tensor, on the calling thread; may be `None`. A result other than
    /// [`Status::OK`] ends the run with it; the next run goes on after this tensor.
    pub tensor_done: Option<&'a mut (dyn FnMut(usize, &QuantizerTensorFacts<'_>) -> ControlFlow<()> + 'a)>,
    /// Number of this shard, 1 .. `n_shards`; 0: no shards. `n_shards` runs on one file system
    /// write their tensors to PATH.part; [`Quantizer::finish`] completes the file.
    pub shard: u32,
    /// Number of shards.
    pub n_shards: u32,
}

impl QuantizerRunOptions<'_> {
    pub(crate) fn raw(self, held: &Keep) -> Result<sys::ggufx_quantizer_run_options> {
        let mut o = sized!(ggufx_quantizer_run_options);
        o.flags = self.flags.0;
        o.progress = held.progress(self.progress);
        if let Some(tensor_done) = self.tensor_done {
            o.tensor_done = Some(on_quantizer_run_options_tensor_done);
            o.user = held.put(tensor_done).cast();
        }
        o.shard = self.shard;
        o.n_shards = self.n_shards;
        Ok(o)
    }
}

/// Dynamic temperature: low + (high - low) * e^exponent, low = max(0, temperature - range), high =
/// temperature + range. e is the entropy over that of as many equal candidates.
#[derive(Clone, Copy, Debug, Default)]
pub struct TemperatureOptions {
    /// 0: the temperature is constant
    pub range: f32,
    /// 0 is 1
    pub exponent: f32,
}

impl TemperatureOptions {
    pub(crate) fn raw(&self) -> sys::ggufx_temperature_options {
        let mut o = sized!(ggufx_temperature_options);
        o.range = self.range;
        o.exponent = self.exponent;
        o
    }
}

/// Penalty options.
#[derive(Clone, Copy, Debug, Default)]
pub struct PenaltyOptions {
    /// Divides logits above 0, multiplies others; 0 is 1
    pub repeat: f32,
    /// -1e6 to 1e6, subtracted for each occurrence
    pub frequency: f32,
    /// -1e6 to 1e6, subtracted once
    pub presence: f32,
    /// Accepted tokens to count, at most [`sys::GGUFX_SAMPLER_MAX_LAST_N`]; 0: off
    pub last_n: u32,
}

impl PenaltyOptions {
    pub(crate) fn raw(&self) -> sys::ggufx_penalty_options {
        let mut o = sized!(ggufx_penalty_options);
        o.repeat = self.repeat;
        o.frequency = self.frequency;
        o.presence = self.presence;
        o.last_n = self.last_n;
        o
    }
}

/// Dry options.
#[derive(Clone, Copy, Debug, Default)]
pub struct DryOptions<'a> {
    /// 0: off
    pub multiplier: f32,
    /// 1 to 1e6; 0 is 1.75
    pub base: f32,
    /// 0 is 2
    pub allowed_length: u32,
    /// Accepted tokens to search, at most [`sys::GGUFX_SAMPLER_MAX_LAST_N`]; 0: off
    pub last_n: u32,
    /// `[n_sequence_breakers]` ids, which may repeat; copied
    pub sequence_breakers: &'a [i32],
}

impl DryOptions<'_> {
    pub(crate) fn raw(&self) -> sys::ggufx_dry_options {
        let mut o = sized!(ggufx_dry_options);
        o.multiplier = self.multiplier;
        o.base = self.base;
        o.allowed_length = self.allowed_length;
        o.last_n = self.last_n;
        o.sequence_breakers = optional(filled(self.sequence_breakers));
        o.n_sequence_breakers = self.sequence_breakers.len();
        o
    }
}

/// A value that is added to the logit of a token.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogitBias {
    /// Token of the vocabulary
    pub id: i32,
    /// Finite, or -infinity
    pub bias: f32,
}

impl LogitBias {
    pub(crate) fn raw(&self) -> sys::ggufx_logit_bias {
        let mut o: sys::ggufx_logit_bias = unsafe { zeroed() };
        o.id = self.id;
        o.bias = self.bias;
        o
    }
}

/// Mirostat options.
#[derive(Clone, Copy, Debug, Default)]
pub struct MirostatOptions {
    /// 1 or 2; 0 is 2
    pub version: u32,
    /// Version 1: candidates of the slope, at least 2; 0 is 100
    pub m: u32,
    /// Target surprise in bits; 0 is 5
    pub tau: f32,
    /// Learning rate; 0 is 0.1
    pub eta: f32,
}

impl MirostatOptions {
    pub(crate) fn raw(&self) -> sys::ggufx_mirostat_options {
        let mut o = sized!(ggufx_mirostat_options);
        o.version = self.version;
        o.m = self.m;
        o.tau = self.tau;
        o.eta = self.eta;
        o
    }
}

/// Writer options.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriterOptions {
    /// Flags.
    pub flags: WriterFlags,
    /// GGUF version, 2 or 3; 0 = 3
    pub version: u32,
    /// Space for later edits in place: the last key is "ggufx.reserve", an array of this many zeros
    /// (u8). It replaces one that was set or copied. 0: none is added.
    pub reserve_bytes: u64,
}

impl WriterOptions {
    pub(crate) fn raw(&self) -> sys::ggufx_writer_options {
        let mut o = sized!(ggufx_writer_options);
        o.flags = self.flags.0;
        o.version = self.version;
        o.reserve_bytes = self.reserve_bytes;
        o
    }
}

/// Writer facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WriterFacts {
    /// Keys that were set, without split and reserve keys
    pub n_meta: u64,
    /// Number of tensors.
    pub n_tensors: u64,
    /// Files of a write
    pub n_parts: u64,
    /// Exact bytes of all files
    pub n_bytes: u64,
}

impl WriterFacts {
    pub(crate) unsafe fn of(o: &sys::ggufx_writer_facts) -> Self {
        WriterFacts {
            n_meta: o.n_meta,
            n_tensors: o.n_tensors,
            n_parts: o.n_parts,
            n_bytes: o.n_bytes,
        }
    }
}

/// Limits of the parts of a split set.
///
/// With `max_part_bytes` or `max_part_tensors` the output is PREFIX-00001-of-0000N.gguf, where
/// PREFIX is the path without ".gguf". The first part has the keys. Every part has split.no,
/// split.count, split.tensors.count and ggufx.split.id, which replace keys that were set. A part is
/// larger than `max_part_bytes` only if the keys, or one tensor alone, are.
#[derive(Default)]
pub struct WriteOptions<'a> {
    /// Flags.
    pub flags: WriteFlags,
    /// Reported in bytes; `None`: cannot be cancelled
    pub progress: Option<&'a mut Progress<'a>>,
    /// 0: no limit
    pub max_part_bytes: u64,
    /// 0: no limit
    pub max_part_tensors: u64,
}

impl WriteOptions<'_> {
    pub(crate) fn raw(self, held: &Keep) -> Result<sys::ggufx_write_options> {
        let mut o = sized!(ggufx_write_options);
        o.flags = self.flags.0;
        o.progress = held.progress(self.progress);
        o.max_part_bytes = self.max_part_bytes;
        o.max_part_tensors = self.max_part_tensors;
        Ok(o)
    }
}

/// Edit facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EditFacts {
    /// 1: the tensor data stay in place, neither read nor written
    pub in_place: bool,
    /// Bytes of the file after the edit
    pub n_bytes: u64,
    /// Space left for the next edit
    pub reserve_bytes: u64,
    /// Bytes written; 0 from [`Writer::edit_info`]
    pub n_written: u64,
}

impl EditFacts {
    pub(crate) unsafe fn of(o: &sys::ggufx_edit_facts) -> Self {
        EditFacts {
            in_place: o.in_place != 0,
            n_bytes: o.n_bytes,
            reserve_bytes: o.reserve_bytes,
            n_written: o.n_written,
        }
    }
}

/// Edit options.
#[derive(Default)]
pub struct EditOptions<'a> {
    /// [`EditFlags`], at most one
    pub flags: EditFlags,
    /// Reported in bytes; `None`: cannot be cancelled
    pub progress: Option<&'a mut Progress<'a>>,
}

impl EditOptions<'_> {
    pub(crate) fn raw(self, held: &Keep) -> Result<sys::ggufx_edit_options> {
        let mut o = sized!(ggufx_edit_options);
        o.flags = self.flags.0;
        o.progress = held.progress(self.progress);
        Ok(o)
    }
}

/// A pre-tokenizer: splits a text before BPE merges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PreTokenizerFacts<'a> {
    /// Flags.
    pub flags: PreFlags,
    /// Tokenizer.ggml.pre: "llama-bpe"; valid for the life of the process
    pub name: &'a str,
    /// Name of its rules; equal for pre-tokenizers that split equally
    pub rules: &'a str,
    /// Its steps as in tokenizer.json, each terminated by NUL; absent if they are not known: 'S'
    /// and the pattern of a Split, 'D' single digits, 'G' the pattern and bytes of GPT-2, 'B'
    /// bytes.
    pub pipeline: &'a [u8],
    /// Unicode version of its character classes: "15.0.0"; valid for the life of the process
    pub unicode: &'a str,
}

impl<'a> PreTokenizerFacts<'a> {
    pub(crate) unsafe fn of(o: &sys::ggufx_pre_tokenizer_facts) -> Self {
        PreTokenizerFacts {
            flags: PreFlags(o.flags),
            name: string(o.name),
            rules: string(o.rules),
            pipeline: items(o.pipeline.data.cast(), o.pipeline.size),
            unicode: string(o.unicode),
        }
    }
}

/// A quantization mix (llama.cpp: ftype).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileTypeFacts<'a> {
    /// "Q4_K_M"; valid for the life of the process
    pub name: &'a str,
    /// Value of general.file_type: 15
    pub file_type: u32,
    /// [`TensorType`] of most tensors
    pub type_: TensorType,
}

impl<'a> FileTypeFacts<'a> {
    pub(crate) unsafe fn of(o: &sys::ggufx_file_type_facts) -> Self {
        FileTypeFacts { name: string(o.name), file_type: o.file_type, type_: TensorType(o.type_) }
    }
}

/// Type facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TypeFacts<'a> {
    /// Flags.
    pub flags: TypeFlags,
    /// Id.
    pub id: TensorType,
    /// Values per block; 0: the head is the block (GX types)
    pub block_values: u32,
    /// Bytes per block; 0 if `block_values` is 0
    pub block_bytes: u32,
    /// Name as ggml spells it: "`q4_K`"; valid for the life of the process
    pub name: &'a str,
}

impl<'a> TypeFacts<'a> {
    pub(crate) unsafe fn of(o: &sys::ggufx_type_facts) -> Self {
        TypeFacts {
            flags: TypeFlags(o.flags),
            id: TensorType(o.id),
            block_values: o.block_values,
            block_bytes: o.block_bytes,
            name: string(o.name),
        }
    }
}

unsafe extern "C" fn on_eval_options_report(
    user: *mut sys::c_void,
    running: *const sys::ggufx_eval_facts,
) -> i32 {
    let run = &mut *user.cast::<&mut dyn FnMut(&EvalFacts) -> ControlFlow<()>>();
    guarded(sys::GGUFX_E_CANCELLED, || flow(run(&EvalFacts::of(&*running))))
}

unsafe extern "C" fn on_eval_options_rows(
    user: *mut sys::c_void,
    rows: *const sys::ggufx_eval_row,
    n: usize,
) -> i32 {
    let run = &mut *user.cast::<&mut dyn FnMut(&[EvalRow]) -> ControlFlow<()>>();
    guarded(sys::GGUFX_E_CANCELLED, || flow(run(&list(items(rows, n), EvalRow::of))))
}

unsafe extern "C" fn on_quantizer_run_options_tensor_done(
    user: *mut sys::c_void,
    index: usize,
    tensor: *const sys::ggufx_quantizer_tensor_facts,
) -> i32 {
    let run = &mut *user.cast::<&mut dyn FnMut(usize, &QuantizerTensorFacts<'_>) -> ControlFlow<()>>();
    guarded(sys::GGUFX_E_CANCELLED, || flow(run(index, &QuantizerTensorFacts::of(&*tensor))))
}
