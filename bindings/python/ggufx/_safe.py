# Generated from include/ggufx by python3 bindings/raw.py --write; a test compares them.
# SPDX-License-Identifier: MIT
"""The plain part of the package: see bindings/gen_python.py."""
from __future__ import annotations

from ctypes import (POINTER, byref, c_double, c_float, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p,
    cast, sizeof, string_at)
from dataclasses import dataclass
from typing import (Any, AsyncGenerator as AsyncIteration, Callable, Generator as Iteration, Mapping, Sequence)

from . import _raw
from ._buffers import (Array, Buffer, Doubles, F32, F64, Floats, I32, I64, Ints, Ints32, U32, U64, U8, address,
    address_or_none, copied, count, equal, fresh, numbers, raw_bytes, reads, records, room_for, structs_at,
    writes)
from ._callbacks import (DESTROY, Following, Progress, callback, fill_whole, lend)
from ._shapes import (AttentionHook, EmbedderShapes, KvShapes, MatcherShapes, SessionShapes, rows_of)
from ._facts import (written, Path, Text, bytes_at, path_bytes, terminated, text_at, text_or_none, to_bytes)
from ._handle import (CLASSES, KINDS, Object, Self, borrowed, turns_of)
from ._keep import (Keep, Room, Structs, asked_twice)
from ._library import (lib)
from .lists import (Listed)
from ._error import (present)
from .errors import (check, class_of)
from .ids import (AdapterKind, ChatCallForm, ChatFeatures, ChatNotation, ChatParserStateFlags, CpuFeatures,
    DecodeFlags, DecodeOptionsFlags, DeviceFlags, End, EstimateFlags, EvalFlags, EventKind, Fma, GeneratorFlags,
    GeneratorState, ImatrixFormat, Isa, KvFlags, LayerFlags, LayerKind, LogLevel, MatcherFlags, ModelFlags,
    MomentsFlags, Pooling, PreFlags, QuantizerReason, SessionFlags, Status, TensorType, TokenFlags,
    TokenizerFlags, TypeFlags, ValueType)

__all__ = [
    "Adapter",
    "AdapterFacts",
    "AdapterOptions",
    "AdapterUse",
    "AttendOptions",
    "ChatMessage",
    "ChatParser",
    "ChatParserFacts",
    "ChatParserOptions",
    "ChatPrompt",
    "ChatPromptOptions",
    "ChatRequest",
    "ChatSpan",
    "ChatTemplate",
    "ChatTemplateFacts",
    "ChatTemplateOptions",
    "DecodeItem",
    "DecodeOptions",
    "Device",
    "DeviceFacts",
    "DeviceOptions",
    "DraftOptions",
    "DryOptions",
    "EditFacts",
    "EditOptions",
    "EmbedOptions",
    "Embedder",
    "EmbedderFacts",
    "EstimateFacts",
    "EstimateOptions",
    "EvalFacts",
    "EvalOptions",
    "EvalRow",
    "Event",
    "EventToken",
    "FileFacts",
    "FileMemoryFacts",
    "FileTypeFacts",
    "FindingFacts",
    "ForkOptions",
    "Generator",
    "GeneratorFacts",
    "GeneratorOptions",
    "Grammar",
    "GrammarOptions",
    "Imatrix",
    "ImatrixEntry",
    "ImatrixFacts",
    "ImatrixOptions",
    "KvCache",
    "KvFacts",
    "KvLayerOptions",
    "KvOptions",
    "KvQueries",
    "KvRange",
    "KvTokens",
    "LayerFacts",
    "LogitBias",
    "Logprob",
    "Matcher",
    "MatcherFacts",
    "MatmulOptions",
    "MetaFacts",
    "MirostatOptions",
    "Model",
    "ModelFacts",
    "ModelOptions",
    "ModelOverride",
    "Moments",
    "MomentsFacts",
    "MomentsInputs",
    "OpenOptions",
    "PenaltyOptions",
    "PreTokenizerFacts",
    "Prompt",
    "PromptPart",
    "Quantizer",
    "QuantizerFacts",
    "QuantizerFeedback",
    "QuantizerOptions",
    "QuantizerRunOptions",
    "QuantizerTensorFacts",
    "RuntimeFacts",
    "Sampler",
    "SessionFacts",
    "SessionOptions",
    "StepItem",
    "StepOptions",
    "TemperatureOptions",
    "TensorFacts",
    "TokenFacts",
    "TokenizerFacts",
    "TypeFacts",
    "WriteOptions",
    "WriterFacts",
    "WriterOptions",
    "abi_version",
    "chat_template_builtin_name",
    "file_type_at",
    "file_type_count",
    "file_type_find",
    "has",
    "pre_tokenizer_at",
    "pre_tokenizer_count",
    "status_name",
    "struct_size",
    "type_find",
    "type_info",
    "type_row_bytes",
    "version",
]

_CALL_1 = callback(c_int32, c_void_p, c_size_t)
_CALL_2 = callback(c_int32, c_void_p)
_CALL_3 = callback(c_int32, c_size_t, c_void_p)
_CALL_4 = callback(c_int32, c_uint32, c_void_p, c_size_t)


def _pairs(kind: Callable[[Any, Any], Any], of: Mapping[str, object] | None) -> list[Any] | None:
    return None if of is None else [kind(key, written(value)) for key, value in of.items()]


async def _ended(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    import asyncio  # takes longer than the whole package

    task, cancelled = asyncio.ensure_future(asyncio.to_thread(call, *args, **options)), None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        task.exception()  # is seen
        raise cancelled
    return task.result()


@dataclass
class AdapterOptions:
    """Options of an adapter. All zero means default."""

    first_layer: int = 0
    """Control vector: first layer that it is added to, counted from 0."""
    last_layer: int = 0
    """Control vector: last layer that it is added to; 0 = the last one."""

    def _fill(self, o: _raw.ggufx_adapter_options, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.first_layer = self.first_layer
        o.last_layer = self.last_layer


@dataclass(frozen=True)
class AdapterFacts:
    """Result of Adapter.info."""

    kind: AdapterKind
    n_targets: int
    """Tensors (LoRA) or layers (control vector) of the model that it changes."""
    rank: int
    """The largest rank; 0 for a control vector."""
    alpha: float
    """0: none."""
    fingerprint: int
    """Equal for adapters with equal content and equal options."""
    memory_bytes: int
    """Bytes that it takes from the allocator."""

    @classmethod
    def _of(cls, o: _raw.ggufx_adapter_facts) -> AdapterFacts:
        return cls(AdapterKind(o.kind), o.n_targets, o.rank, o.alpha, o.fingerprint, o.memory_bytes)


@dataclass(frozen=True)
class RuntimeFacts:
    """Result of Runtime.info."""

    isa: Isa
    """Isa in use."""
    threads: int
    """Workers that a call may use."""
    features: CpuFeatures
    """CpuFeatures detected in this process."""
    isa_name: str
    """"avx512"."""
    allocator_name: str
    """"mimalloc", "system" or "host"."""
    workspace_bytes: int
    """As in the options, or the default."""

    @classmethod
    def _of(cls, o: _raw.ggufx_runtime_facts) -> RuntimeFacts:
        return cls(Isa(o.isa), o.threads, CpuFeatures(o.features), text_at(o.isa_name),
            text_at(o.allocator_name), o.workspace_bytes)


@dataclass(frozen=True)
class DeviceFacts:
    """Result of Runtime.device_list."""

    flags: DeviceFlags
    fma: Fma
    memory_bytes: int
    """Memory of the device."""
    free_bytes: int
    """Free memory now, according to its driver; 0: not opened, or not known."""
    used_bytes: int
    """Memory used by this Device and its tensors."""
    max_allocation: int
    """Bytes of one allocation; larger tensors are split."""
    n_launches: int
    """Operations since it was opened."""
    id: str
    """"vulkan:0"; "vulkan" for a plugin without a device."""
    name: str
    """Name according to its driver."""
    driver: str
    """Driver and version."""
    reason: str
    """Reason why it is unusable or not exact, else empty."""

    @classmethod
    def _of(cls, o: _raw.ggufx_device_facts) -> DeviceFacts:
        return cls(DeviceFlags(o.flags), Fma(o.fma), o.memory_bytes, o.free_bytes, o.used_bytes,
            o.max_allocation, o.n_launches, o.id.decode("utf-8", "replace"), o.name.decode("utf-8", "replace"),
            o.driver.decode("utf-8", "replace"), o.reason.decode("utf-8", "replace"))


@dataclass
class DeviceOptions:
    """Options of a device. All zero means default."""

    plugin_path: Path | None = None
    """Folder of the plugins, or one plugin; None: the folder of this library's file. Relative paths
    are refused in processes with elevated privileges (set-user-ID).
    """
    flags: int = 0

    def _fill(self, o: _raw.ggufx_device_options, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.plugin_path = keep.path(self.plugin_path)
        o.flags |= self.flags


@dataclass
class EmbedOptions:
    """Options of Runtime.embedder_estimate."""

    n_context: int = 0
    """Tokens of an input; 0 = the trained context, at most 8,192."""
    n_batch: int = 0
    """Tokens computed at once, at least n_context; 0 = 512."""
    pooling: int = 0
    dimensions: int = 0
    """Number of values to keep, from the first on (Matryoshka), before normalization; 0 = all."""
    matmul_flags: int = 0
    """MatmulFlags of all products."""
    flags: int = 0

    def _fill(self, o: _raw.ggufx_embed_options, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.n_context = self.n_context
        o.n_batch = self.n_batch
        o.pooling = self.pooling
        o.dimensions = self.dimensions
        o.matmul_flags = self.matmul_flags
        o.flags |= self.flags


@dataclass(frozen=True)
class EstimateFacts:
    """Result of Runtime.estimate."""

    flags: EstimateFlags
    """EstimateFlags.FITS, _NEEDS_IMATRIX, _UNSUPPORTED."""
    file_type: int
    """Quantization mix, or ESTIMATE_AS_IS."""
    n_context: int
    """Tokens of each session, defaults included."""
    n_batch: int
    """Tokens computed at once."""
    n_sessions: int
    """Number of sessions in parallel."""
    type_k: TensorType
    """Type of the keys."""
    type_v: TensorType
    """Type of the values."""
    max_context: int
    """Largest n_context that fits into memory_bytes, up to the larger of the trained and the
    requested context; 0: none.
    """
    n_messages: int
    """Sequential messages of all ranks to all per token; 0 without a group."""
    n_parameters: int
    """Values of all tensors except tables of RoPE factors."""
    weight_bytes: int
    """Bytes of all tensors."""
    file_bytes: int
    """Exact bytes of the file or files, weight_bytes included."""
    runtime_bytes: int
    """Workspaces of products, allocated when a runtime is created."""
    model_bytes: int
    """Bytes that Model allocates."""
    kv_bytes: int
    """KV caches of all sessions."""
    session_bytes: int
    """All other bytes that Session allocates, for all sessions."""
    total_bytes: int
    """Sum of file_bytes, runtime_bytes, model_bytes, kv_bytes, session_bytes and the bytes of
    adapters. A rank of a group has rank_weight_bytes in place of file_bytes.
    """
    token_weight_bytes: int
    """Bytes of weights that are read per token. This includes the used experts only, and one row of
    the embedding.
    """
    token_kv_bytes: int
    """Bytes of keys and values per token, which each later token reads."""
    bits_per_weight: float
    """weight_bytes in bits over n_parameters."""
    weight_error: float
    """See Runtime.recommend."""
    loss: float
    """See Runtime.recommend."""
    tokens_per_second: float
    """Upper bound for an empty context: bandwidth / token_weight_bytes."""
    tokens_per_second_full: float
    """Upper bound for a full context, keys and values included; 0: no bandwidth."""
    adapter_file_bytes: int
    """Bytes of the adapters' files."""
    adapter_bytes: int
    """Bytes that Adapter and Session.set_adapters allocate for the adapters, in
    all sessions.
    """
    device_bytes: int
    """Device memory for the output matrix and the last n_device_layers layers, of
    device_memory_bytes; 0: not even one layer fits. Equals DeviceFacts.used_bytes, to the
    byte if no matrix is larger than max_allocation.
    """
    device_bytes_all: int
    """Device memory for all layers."""
    n_device_layers: int
    """Largest number of last layers that fit into device_memory_bytes."""
    n_layers: int
    """Layers of the model."""
    rank_weight_bytes: int
    """Bytes of weights that the rank reads, with one row of the embedding per token of the context.
    Without a group: weight_bytes.
    """
    received_bytes: int
    """Bytes received from other ranks per token, in 8-bit mode."""

    @classmethod
    def _of(cls, o: _raw.ggufx_estimate_facts) -> EstimateFacts:
        return cls(EstimateFlags(o.flags), o.file_type, o.n_context, o.n_batch, o.n_sessions,
            TensorType(o.type_k), TensorType(o.type_v), o.max_context, o.n_messages, o.n_parameters,
            o.weight_bytes, o.file_bytes, o.runtime_bytes, o.model_bytes, o.kv_bytes, o.session_bytes,
            o.total_bytes, o.token_weight_bytes, o.token_kv_bytes, o.bits_per_weight, o.weight_error, o.loss,
            o.tokens_per_second, o.tokens_per_second_full, o.adapter_file_bytes, o.adapter_bytes,
            o.device_bytes, o.device_bytes_all, o.n_device_layers, o.n_layers, o.rank_weight_bytes,
            o.received_bytes)


@dataclass
class EstimateOptions:
    """Options of an estimate. All zero means default."""

    file_type: int | None = None
    """Quantization mix, as in Quantizer; 0 without EstimateFlags.HAS_FILE_TYPE = the
    tensors stay as they are.
    """
    n_context: int = 0
    """Tokens of each session; 0 = as Session."""
    n_batch: int = 0
    """Tokens computed at once; 0 = 512."""
    n_sessions: int = 0
    """Number of sessions in parallel; 0 = 1."""
    type_k: int | None = None
    """Type of the keys; 0 without EstimateFlags.HAS_TYPE_K = F16."""
    type_v: int | None = None
    """Type of the values; 0 without EstimateFlags.HAS_TYPE_V = F16. Runtime.recommend chooses both
    types if neither is given.
    """
    quantizer: QuantizerOptions | None = None
    """As in Quantizer; None: default."""
    memory_bytes: int = 0
    """Limit of total_bytes; 0: no limit."""
    bandwidth: float = 0.0
    """Memory bandwidth of all threads in bytes per second; 0: no speeds."""
    n_context_total: int = 0
    """As in SessionOptions, of each session; the estimate is the maximum."""
    n_checkpoints: int = 0
    """As in SessionOptions, of each session."""
    n_sequences: int = 0
    """As in SessionOptions, of each session."""
    adapters: Sequence[File] | None = None
    """[n_adapters], at most 64: LoRA adapters and control vectors (adapter.h) that all sessions use
    together. Their files may be opened for metadata only.
    """
    device_memory_bytes: int = 0
    """Free memory of a device (device.h); 0: no device."""
    weights: Ints | None = None
    """As in GroupOptions; None: equal. For one rank of a group (group.h),
    with tensor parallelism or with EstimateFlags.LAYERS.
    """
    n_ranks: int = 0
    """Ranks of the group, at most 256; 0 = 1, or those of a rank's file (group.h)."""
    rank: int = 0
    """Index of the rank; ignored for a rank's file with n_ranks 0."""
    flags: int = 0
    """EstimateFlags, _IMATRIX, _LAYERS."""

    def _fill(self, o: _raw.ggufx_estimate_options, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        if self.file_type is not None:
            o.file_type = self.file_type
            o.flags |= EstimateFlags.HAS_FILE_TYPE
        o.n_context = self.n_context
        o.n_batch = self.n_batch
        o.n_sessions = self.n_sessions
        if self.type_k is not None:
            o.type_k = self.type_k
            o.flags |= EstimateFlags.HAS_TYPE_K
        if self.type_v is not None:
            o.type_v = self.type_v
            o.flags |= EstimateFlags.HAS_TYPE_V
        o.quantizer = keep.struct(_raw.ggufx_quantizer_options, self.quantizer)
        o.memory_bytes = self.memory_bytes
        o.bandwidth = self.bandwidth
        o.n_context_total = self.n_context_total
        o.n_checkpoints = self.n_checkpoints
        o.n_sequences = self.n_sequences
        o.adapters, o.n_adapters = keep.objects(self.adapters, "ggufx_file")
        o.device_memory_bytes = self.device_memory_bytes
        o.weights = keep.array(self.weights, U32, "weights", self.n_ranks)[0]
        o.n_ranks = self.n_ranks
        o.rank = self.rank
        o.flags |= self.flags


@dataclass
class QuantizerOptions:
    """Options of a plan. All zero means default."""

    output_type: int = 0
    """TensorType of output.weight."""
    embedding_type: int = 0
    """TensorType of token_embd.weight."""
    imatrix: Imatrix | None = None
    """Kept as it is now; later changes or its destruction have no effect."""
    imatrix_name: Text | None = None
    """For the key quantize.imatrix.file; may be None."""
    reserve_bytes: int = 0
    """As in WriterOptions."""
    feedback: QuantizerFeedback | None = None
    """None: none. Quantizes the matrices of the layers one after the other: each one for the inputs that
    the quantized matrices before it compute, towards the outputs of the model in the file.
    Tensors that it makes need no imatrix. Not with QuantizerFlags.KEEP_SPLIT or shards.
    """
    flags: int = 0

    def _fill(self, o: _raw.ggufx_quantizer_options, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.output_type = self.output_type
        o.embedding_type = self.embedding_type
        o.imatrix = keep.object(self.imatrix, "ggufx_imatrix")
        o.imatrix_name = keep.string(self.imatrix_name)
        o.reserve_bytes = self.reserve_bytes
        o.feedback = keep.struct(_raw.ggufx_quantizer_feedback, self.feedback)
        o.flags |= self.flags


@dataclass
class QuantizerFeedback:
    """A calibration text: matrices are quantized for the inputs that they get (feedback.h)."""

    tokens: Ints | None = None
    """Ids of the text, copied. Whole chunks of n_context tokens count; every eighth
    one decides whether feedback is used.
    """
    n_context: int = 0
    """Tokens per chunk, at least 4; 0: 512."""
    bos: int = 0
    """Replaces token 0 of each chunk; -1: none."""
    n_passes: int = 0
    """Passes of the descent, at most 100; 0: 4."""
    damping: float = 0.0
    """As in FeedbackArgs; 0: by the length of the text."""

    def _fill(self, o: _raw.ggufx_quantizer_feedback, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.tokens, o.n_tokens = keep.array(self.tokens, I32, "tokens")
        o.n_context = self.n_context
        o.bos = self.bos
        o.n_passes = self.n_passes
        o.damping = self.damping


@dataclass(frozen=True)
class EvalFacts:
    """Results of a measurement. Errors are standard errors. The error of a quantile is half the
    distance between the values one standard error of its rank below and above it. Logarithms are
    natural.
    """

    flags: EvalFlags
    """EvalFlags.COMPARED, _SAME_MODEL."""
    perplexity: float
    """Exp of the mean negative log-likelihood."""
    standard_error: float
    """Standard error of the perplexity."""
    n_chunks: int
    n_tokens: int
    """Tokens of all chunks; overlaps count repeatedly."""
    n_scored: int
    """Predictions scored."""
    reference_perplexity: float
    """Perplexity of the saved logits."""
    reference_error: float
    """Standard error of reference_perplexity."""
    log_ratio: float
    """log(perplexity / reference_perplexity)."""
    log_ratio_error: float
    """Standard error of log_ratio, from pairs of losses."""
    kl: float
    """Mean KL divergence per prediction: sum p log(p / q), p of the saved logits, q of the model."""
    kl_error: float
    """Standard error of kl."""
    kl_median: float
    """Median KL divergence; 0 in running results, as are all quantiles."""
    kl_median_error: float
    """Error of kl_median."""
    kl_99: float
    """99th percentile of the KL divergence."""
    kl_99_error: float
    """Error of kl_99."""
    kl_max: float
    """Maximum KL divergence."""
    same_top_token: float
    """Share of predictions with the same likeliest token."""
    same_top_token_error: float
    """Standard error of same_top_token."""
    rms_delta_p: float
    """Root mean square of q - p of the token in the text, 0 .. 1."""
    rms_delta_p_error: float
    """Standard error of rms_delta_p."""

    @classmethod
    def _of(cls, o: _raw.ggufx_eval_facts) -> EvalFacts:
        return cls(EvalFlags(o.flags), o.perplexity, o.standard_error, o.n_chunks, o.n_tokens, o.n_scored,
            o.reference_perplexity, o.reference_error, o.log_ratio, o.log_ratio_error, o.kl, o.kl_error,
            o.kl_median, o.kl_median_error, o.kl_99, o.kl_99_error, o.kl_max, o.same_top_token,
            o.same_top_token_error, o.rms_delta_p, o.rms_delta_p_error)


@dataclass(frozen=True)
class EvalRow:
    """A prediction that was scored."""

    loss: float
    """Negative log-likelihood of the token in the text."""
    reference_loss: float
    """The same for the saved logits; 0 without them, as are the next two."""
    kl_divergence: float
    """Sum p log(p / q), p of the saved logits, q of the model."""
    flags: EvalFlags
    """EvalFlags.SAME_TOP."""
    token: int
    """Token in the text."""

    @classmethod
    def _of(cls, o: _raw.ggufx_eval_row) -> EvalRow:
        return cls(o.loss, o.reference_loss, o.kl_divergence, EvalFlags(o.flags), o.token)

    def _fill(self, o: _raw.ggufx_eval_row, keep: Keep) -> None:
        o.loss = self.loss
        o.reference_loss = self.reference_loss
        o.kl_divergence = self.kl_divergence
        o.flags |= self.flags
        o.token = self.token


@dataclass
class KvOptions:
    """Options of Runtime.kv_estimate."""

    n_layers: int = 0
    """At least 1; n_layers * n_sequences is at most 4,194,304."""
    n_kv_heads: int = 0
    """At least 1."""
    n_q_heads: int = 0
    """A multiple of n_kv_heads."""
    head_dim_k: int = 0
    """Values of a key head, at least 1."""
    head_dim_v: int = 0
    """Values of a value head; 0 = head_dim_k, the maximum with KvFlags.V_IN_K."""
    type_k: int | None = None
    """Type of the keys; 0 without KvFlags.HAS_TYPE_K = F16."""
    type_v: int | None = None
    """Type of the values; 0 without KvFlags.HAS_TYPE_V = F16."""
    n_sequences: int = 0
    """0 = 1."""
    max_tokens: int = 0
    """Maximum per sequence; 0 = limited by memory."""
    n_sink_tokens: int = 0
    """Attention sinks: first tokens that stay F16 with quantized types, and F32 with BF16. At most
    64; 0 = 64 (a page), KV_NO_SINK_TOKENS = none.
    """
    rope_style: int = 0
    rope_dims: int = 0
    """Coordinates that RoPE rotates, from the first on; 0 = head_dim_k. With KvFlags.V_IN_K from
    head_dim_v on; 0 = all after it.
    """
    rope_base: float = 0.0
    """0 = 10000."""
    rope_scale: float = 0.0
    """Scale of positions; 0 = 1."""
    layers: Sequence[KvLayerOptions] | None = None
    """Read by the call only; None if n_layer_options is 0."""
    model: int = 0
    """Id chosen by the caller; snapshots with another one are refused."""
    rope_frequencies: Buffer | None = None
    """[n_rope_frequencies] angle in radians by which RoPE rotates pair i per position, read by the
    call only. None: rope_scale * rope_base^(-2 i / rope_dims).
    """
    flags: int = 0
    """KvFlags.FIT_TQ3_0, _CENTRE_*, _V_IN_K, _HAS_TYPE_K, _HAS_TYPE_V."""

    def _fill(self, o: _raw.ggufx_kv_options, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.n_layers = self.n_layers
        o.n_kv_heads = self.n_kv_heads
        o.n_q_heads = self.n_q_heads
        o.head_dim_k = self.head_dim_k
        o.head_dim_v = self.head_dim_v
        if self.type_k is not None:
            o.type_k = self.type_k
            o.flags |= KvFlags.HAS_TYPE_K
        if self.type_v is not None:
            o.type_v = self.type_v
            o.flags |= KvFlags.HAS_TYPE_V
        o.n_sequences = self.n_sequences
        o.max_tokens = self.max_tokens
        o.n_sink_tokens = self.n_sink_tokens
        o.rope_style = self.rope_style
        o.rope_dims = self.rope_dims
        o.rope_base = self.rope_base
        o.rope_scale = self.rope_scale
        o.layers, o.n_layer_options = keep.structs(_raw.ggufx_kv_layer_options, self.layers)
        o.model = self.model
        o.rope_frequencies, o.n_rope_frequencies = keep.array(self.rope_frequencies, F64, "rope_frequencies")
        o.flags |= self.flags


@dataclass
class KvLayerOptions:
    """Options of one layer. Pages that no later token can see are freed, except with symmetric
    windows.
    """

    type_k: int | None = None
    """Type of the keys; 0 without KvFlags.HAS_TYPE_K = that of the cache."""
    type_v: int | None = None
    """Type of the values; 0 without KvFlags.HAS_TYPE_V = that of the cache."""
    window: int = 0
    """Positions that a token sees, see window_kind; 0 = causal, no limit."""
    window_kind: int = 0
    """WindowKind; 0 without a window."""
    flags: int = 0
    """KvFlags.HAS_TYPE_K, _HAS_TYPE_V."""

    def _fill(self, o: _raw.ggufx_kv_layer_options, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        if self.type_k is not None:
            o.type_k = self.type_k
            o.flags |= KvFlags.HAS_TYPE_K
        if self.type_v is not None:
            o.type_v = self.type_v
            o.flags |= KvFlags.HAS_TYPE_V
        o.window = self.window
        o.window_kind = self.window_kind
        o.flags |= self.flags


@dataclass
class MatmulOptions:
    """Options of Runtime.matvec."""

    progress: Progress | None = None
    """None: cannot be cancelled."""
    flags: int = 0

    def _fill(self, o: _raw.ggufx_matmul_options, keep: Following) -> None:
        o.struct_size = sizeof(o)
        o.progress = keep.follow(self.progress)
        o.flags |= self.flags


@dataclass
class ChatTemplateOptions:
    """Options of a template. Texts are UTF-8."""

    text: Text | None = None
    """A template; absent: that of the file, or `format`."""
    name: Text | None = None
    """A named template of the file, tokenizer.chat_template.NAME: "tool_use"."""
    format: Text | None = None
    """A built-in format in place of a template: "chatml"."""
    bos_token: Text | None = None
    """The variable bos_token; absent: that of the file, if it has one."""
    eos_token: Text | None = None
    """The variable eos_token; absent: that of the file, if it has one."""

    def _fill(self, o: _raw.ggufx_chat_template_options, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.text.data, o.text.size = keep.text(self.text)
        o.name.data, o.name.size = keep.text(self.name)
        o.format.data, o.format.size = keep.text(self.format)
        o.bos_token.data, o.bos_token.size = keep.text(self.bos_token)
        o.eos_token.data, o.eos_token.size = keep.text(self.eos_token)


@dataclass
class ChatRequest:
    """Input of a chat template. Texts are UTF-8; absent: the variable is undefined. A step takes about
    20 ns, and a function of the template takes steps by the bytes that it reads and writes.
    """

    messages: Sequence[ChatMessage] | None = None
    """[n_messages]."""
    messages_json: Any = None
    """JSON array of all messages, in place of `messages`."""
    tools: Any = None
    """JSON array of functions."""
    documents: Any = None
    """JSON array."""
    variables: Any = None
    """JSON object of further variables; may also name those above."""
    reasoning_effort: Text | None = None
    """"none", "minimal", "low", "medium", "high", "xhigh"."""
    unix_time: int = 0
    """Local time as seconds since 1970-01-01 00:00."""
    max_steps: int = 0
    """Steps of the template; 0 = 1,000,000, plus 128 per byte of input."""
    max_memory: int = 0
    """Bytes of its values; 0 = 32 MiB, plus 64 per byte of input."""
    max_output: int = 0
    """Bytes of output; 0 = 32 MiB, plus 16 per byte of input."""
    progress: Progress | None = None
    """Steps done, of an unknown total; None: cannot be cancelled."""
    flags: int = 0

    def _fill(self, o: _raw.ggufx_chat_request, keep: Following) -> None:
        o.struct_size = sizeof(o)
        o.messages, o.n_messages = keep.structs(_raw.ggufx_chat_message, self.messages)
        o.messages_json.data, o.messages_json.size = keep.json(self.messages_json)
        o.tools.data, o.tools.size = keep.json(self.tools)
        o.documents.data, o.documents.size = keep.json(self.documents)
        o.variables.data, o.variables.size = keep.json(self.variables)
        o.reasoning_effort.data, o.reasoning_effort.size = keep.text(self.reasoning_effort)
        o.unix_time = self.unix_time
        o.max_steps = self.max_steps
        o.max_memory = self.max_memory
        o.max_output = self.max_output
        o.progress = keep.follow(self.progress)
        o.flags |= self.flags


@dataclass
class ChatMessage:
    """A message of a conversation. Texts are UTF-8. `extra` has further members that templates read:
    name, tool_call_id, reasoning_content.
    """

    role: Text | None = None
    """"system", "user", "assistant" or "tool"."""
    content: Text | None = None
    """Absent: null, unless there are parts."""
    parts: Any = None
    """JSON array in place of content: [{"type": "text", "text": "..."}]."""
    tool_calls: Any = None
    """JSON array: [{"type": "function", "function": {...}}]."""
    extra: Any = None
    """JSON object."""

    def _fill(self, o: _raw.ggufx_chat_message, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.role.data, o.role.size = keep.text(self.role)
        o.content.data, o.content.size = keep.text(self.content)
        o.parts.data, o.parts.size = keep.json(self.parts)
        o.tool_calls.data, o.tool_calls.size = keep.json(self.tool_calls)
        o.extra.data, o.extra.size = keep.json(self.extra)


@dataclass(frozen=True)
class ChatSpan:
    """A span of prompt bytes with one origin, from the end of the previous span up to `end`."""

    end: int
    """Offset after its last byte."""
    user: bool
    """1: from messages, tools or variables; 0: from the template."""

    @classmethod
    def _of(cls, o: _raw.ggufx_chat_span) -> ChatSpan:
        return cls(o.end, o.user != 0)


@dataclass(frozen=True)
class ChatTemplateFacts:
    """Format of the reasoning and tool calls that models of a template write.

    Strings end with NUL, are never None and live as long as the template. A call consists of
    call_prefix, the name, call_middle, the arguments and call_end. "ggufxid01" in a prefix or middle
    stands for the id of the call.

    Arguments are a JSON object. For ChatCallForm.TAGGED each parameter consists of
    call_before_key, its name, call_after_key, the value and call_after_value.
    """

    flags: ChatFeatures
    call_form: ChatCallForm
    call_notation: ChatNotation
    reasoning_open: str
    """Opening marker of reasoning, or ""."""
    reasoning_close: str
    """Closing marker of reasoning."""
    call_prefix: str
    """Before the name; contains the marker of a call."""
    call_middle: str
    """Between the name and the arguments."""
    call_end: str
    """After the arguments; also ends a list of calls."""
    call_before_key: str
    """Before the name of a parameter."""
    call_after_key: str
    """Between the name of a parameter and its value."""
    call_after_key_other: str
    """The same before a value that is not a string, unless empty."""
    call_after_value: str
    """After the value of a parameter."""
    call_quote: str
    """Around strings, for ChatNotation.QUOTED."""

    @classmethod
    def _of(cls, o: _raw.ggufx_chat_template_facts) -> ChatTemplateFacts:
        return cls(ChatFeatures(o.flags), ChatCallForm(o.call_form), ChatNotation(o.call_notation),
            text_at(o.reasoning_open), text_at(o.reasoning_close), text_at(o.call_prefix),
            text_at(o.call_middle), text_at(o.call_end), text_at(o.call_before_key), text_at(o.call_after_key),
            text_at(o.call_after_key_other), text_at(o.call_after_value), text_at(o.call_quote))


@dataclass
class ChatParserOptions:
    """Options of ChatParser."""

    chat: ChatTemplate | None = None
    """Template that decides the format; None: all output is answer."""
    prompt: Text | None = None
    """The rendered prompt, or its end, which may open reasoning or a call."""
    tools: Any = None
    """JSON array of the request's tools, for parameter types."""
    flags: int = 0

    def _fill(self, o: _raw.ggufx_chat_parser_options, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.chat = keep.object(self.chat, "ggufx_chat_template")
        o.prompt.data, o.prompt.size = keep.text(self.prompt)
        o.tools.data, o.tools.size = keep.json(self.tools)
        o.flags |= self.flags


@dataclass(frozen=True)
class Event:
    """An event. Texts have whole characters: invalid UTF-8 becomes U+FFFD. They contain no part of a
    stop string and no end-of-generation token. A parser gives TEXT, REASONING, TOOL_CALL, TOOL_ID
    and TOOL_ARGUMENTS, without tokens.
    """

    kind: EventKind
    end: End
    """Why it has ended, for END."""
    status: Status
    """With End.ERROR; text is its message."""
    index: int
    """Number of the tool call, or of the stop string."""
    text: str
    """Valid until the next call with the same object."""
    tokens: tuple[EventToken, ...]
    """As long: tokens whose last byte was shown by this event. END has those that were not shown,
    such as an end-of-generation token, without those of the stop string.
    """

    @classmethod
    def _of(cls, o: _raw.ggufx_event) -> Event:
        return cls(EventKind(o.kind), End(o.end), Status(o.status), o.index, text_at(o.text.data, o.text.size),
            structs_at(_raw.ggufx_event_token, o.tokens, o.n_tokens, EventToken._of))


@dataclass(frozen=True)
class EventToken:
    """A token of an event. It never grows."""

    id: int
    """Token of the vocabulary."""
    logprob: float
    """As in Logprob, with GeneratorFlags.LOGPROBS or n_logprobs; else 0, as is that of the
    first token of a prompt.
    """
    offset: int
    """Position of its first byte among all bytes of the output."""
    top: tuple[Logprob, ...]
    """The likeliest, by rank."""

    @classmethod
    def _of(cls, o: _raw.ggufx_event_token) -> EventToken:
        return cls(o.id, o.logprob, o.offset, structs_at(_raw.ggufx_logprob, o.top, o.n_top, Logprob._of))


@dataclass(frozen=True)
class Logprob:
    """A token with its log-probability. It never grows."""

    id: int
    """Token of the vocabulary."""
    logprob: float
    """Natural logarithm, before samplers and grammar."""

    @classmethod
    def _of(cls, o: _raw.ggufx_logprob) -> Logprob:
        return cls(o.id, o.logprob)


@dataclass(frozen=True)
class ChatParserFacts:
    """Result of ChatParser.info."""

    flags: ChatParserStateFlags
    n_calls: int
    """Tool calls so far."""
    reasoning_close: str
    """Marker that ends the current reasoning."""

    @classmethod
    def _of(cls, o: _raw.ggufx_chat_parser_facts) -> ChatParserFacts:
        return cls(ChatParserStateFlags(o.flags), o.n_calls, text_at(o.reasoning_close))


@dataclass
class AdapterUse:
    """One adapter of a list, with its scale. The struct never grows."""

    adapter: Adapter
    """Need not outlive the call."""
    scale: float
    """Any finite number; 0: it adds nothing."""

    def _fill(self, o: _raw.ggufx_adapter_use, keep: Keep) -> None:
        o.adapter = keep.object(self.adapter, "ggufx_adapter")
        o.scale = self.scale


@dataclass(frozen=True)
class EmbedderFacts:
    """Result of Embedder.info."""

    n_context: int
    """Tokens of an input."""
    n_batch: int
    """Tokens computed at once."""
    pooling: Pooling
    """Pooling, never DEFAULT."""
    dimensions: int
    """Values of a result; for RANK the classes of the file, mostly 1."""
    full_dimensions: int
    """Values of a result before options.dimensions."""

    @classmethod
    def _of(cls, o: _raw.ggufx_embedder_facts) -> EmbedderFacts:
        return cls(o.n_context, o.n_batch, Pooling(o.pooling), o.dimensions, o.full_dimensions)


@dataclass(frozen=True)
class MomentsFacts:
    """Result of Moments.info."""

    flags: MomentsFlags
    n_columns: int
    n_inputs: int
    memory_bytes: int
    """Memory of the sums."""

    @classmethod
    def _of(cls, o: _raw.ggufx_moments_facts) -> MomentsFacts:
        return cls(MomentsFlags(o.flags), o.n_columns, o.n_inputs, o.memory_bytes)


@dataclass
class MomentsInputs:
    """Inputs to add to moments."""

    n: int = 0
    """Inputs: tokens."""
    n_columns: int = 0
    """Values of an input; as in the moments."""
    rows: Buffer | None = None
    """Inputs of the quantized model, dense."""
    source_rows: Buffer | None = None
    """The same inputs in the source model, with MomentsFlags.DRIFT;
    else None.
    """
    progress: Progress | None = None
    """Counts inputs; None: none."""

    def _fill(self, o: _raw.ggufx_moments_inputs, keep: Following) -> None:
        o.struct_size = sizeof(o)
        o.n = self.n
        o.n_columns = self.n_columns
        o.rows = keep.array(self.rows, F32, "rows", self.n * self.n_columns)[0]
        o.source_rows = keep.array(self.source_rows, F32, "source_rows", self.n * self.n_columns)[0]
        o.progress = keep.follow(self.progress)


@dataclass
class OpenOptions:
    """Options of File.open."""

    dialect: int = 0
    """Definition of the type ids from 41 on: 0 = ggml, the only one known."""
    io: int = 0
    progress: Progress | None = None
    """Reported in bytes; None: cannot be cancelled."""
    max_metadata_bytes: int = 0
    """Limit of the metadata; 0 = 1 GiB."""
    max_keys: int = 0
    """Limit of the number of keys; 0 = 1,048,576, at most 2^31 - 1."""
    max_tensors: int = 0
    """Limit of the tensors of one file; 0 = 1,048,576, at most 2^31 - 1."""
    max_string_bytes: int = 0
    """Limit of a key or string; 0 = 1 GiB."""
    flags: int = 0

    def _fill(self, o: _raw.ggufx_open_options, keep: Following) -> None:
        o.struct_size = sizeof(o)
        o.dialect = self.dialect
        o.io = self.io
        o.progress = keep.follow(self.progress)
        o.max_metadata_bytes = self.max_metadata_bytes
        o.max_keys = self.max_keys
        o.max_tensors = self.max_tensors
        o.max_string_bytes = self.max_string_bytes
        o.flags |= self.flags


@dataclass(frozen=True)
class FileFacts:
    """Result of File.info."""

    version: int
    """GGUF version of the first part, 1 .. 3."""
    big_endian: bool
    """1 if the file is big-endian."""
    alignment: int
    """Alignment of tensor data in bytes."""
    n_parts: int
    """Files of the set."""
    meta_end: int
    """End of the tensor directory of the first part."""
    data_offset: int
    """Start of the tensor data of the first part."""
    file_size: int
    """Bytes of all parts."""
    n_meta: int
    """Number of keys."""
    n_tensors: int
    """Number of tensors."""
    n_values: int
    """Values of all tensors."""
    n_bytes: int
    """Bytes of all tensors."""
    n_missing: int
    """Bytes of tensor data after the ends of the files; not 0 only for the head of a file, opened
    for metadata only.
    """

    @classmethod
    def _of(cls, o: _raw.ggufx_file_facts) -> FileFacts:
        return cls(o.version, o.big_endian != 0, o.alignment, o.n_parts, o.meta_end, o.data_offset, o.file_size,
            o.n_meta, o.n_tensors, o.n_values, o.n_bytes, o.n_missing)


@dataclass(frozen=True)
class FileMemoryFacts:
    """Memory of the tensor data of a file. The counts are unknown, NONE, on other systems than
    Linux.
    """

    mapped_bytes: int
    """Tensor data in mappings, or in borrowed memory."""
    copied_bytes: int
    """Tensor data in memory of the runtime's allocator."""
    resident_bytes: int
    """Part of both that is in physical memory now."""
    huge_bytes: int
    """Part of the resident bytes that is in huge pages."""

    @classmethod
    def _of(cls, o: _raw.ggufx_file_memory_facts) -> FileMemoryFacts:
        return cls(o.mapped_bytes, o.copied_bytes, o.resident_bytes, o.huge_bytes)


@dataclass(frozen=True)
class MetaFacts:
    """Result of File.meta_at."""

    type: ValueType
    element_type: ValueType
    """ValueType of the elements of an array, else -1."""
    key: str
    """Absent for a nested array."""
    count: int
    """Elements of an array, bytes of a string, else 1."""
    offset: int
    """Byte offset of the value in the file, or in the first part of a set."""

    @classmethod
    def _of(cls, o: _raw.ggufx_meta_facts) -> MetaFacts:
        return cls(ValueType(o.type), ValueType(o.element_type), text_at(o.key.data, o.key.size), o.count,
            o.offset)


@dataclass(frozen=True)
class FindingFacts:
    """A fault or remark of File.validate."""

    severity: LogLevel
    """LogLevel.ERROR, _WARNING or _INFO."""
    status: Status
    """Status that an open would return, or Status.OK for a remark."""
    offset: int | None
    """Byte offset in the file, or NONE."""
    index: int | None
    """Index of the key or tensor, or NONE."""
    text: str
    """UTF-8, NUL-terminated; valid during the call."""
    name: str
    """Name of the key or tensor."""

    @classmethod
    def _of(cls, o: _raw.ggufx_finding_facts) -> FindingFacts:
        return cls(LogLevel(o.severity), Status(o.status), present(o.offset), present(o.index), text_at(o.text),
            text_at(o.name.data, o.name.size))


@dataclass(frozen=True)
class TensorFacts:
    """Result of Tensor.info."""

    type: TensorType
    ne: tuple[int, ...]
    """Values per dimension, ne[0] along a row; 1 beyond n_dims."""
    row_bytes: int
    """Bytes of a row."""
    row_stride: int
    """Bytes from one row to the next, >= row_bytes."""
    n_rows: int
    """ne[1] * ne[2] * ne[3]."""
    n_bytes: int
    """n_rows * row_bytes, as in the file."""
    offset: int | None
    """From the start of the file's data section; NONE if wrapped."""
    file_offset: int | None
    """From the start of its file; NONE if wrapped."""
    part: int
    """Index of its file in a split set, from 0."""
    memory_kind: int
    """0: CPU memory, 1: memory of a device (device.h)."""
    name: str

    @classmethod
    def _of(cls, o: _raw.ggufx_tensor_facts) -> TensorFacts:
        return cls(TensorType(o.type), tuple(o.ne)[: o.n_dims], o.row_bytes, o.row_stride, o.n_rows, o.n_bytes,
            present(o.offset), present(o.file_offset), o.part, o.memory_kind, text_at(o.name.data, o.name.size))


@dataclass
class GeneratorOptions:
    """All zero means default."""

    sequence: int = 0
    """Sequence of the session, not in use by another generator."""
    max_tokens: int = 0
    """Tokens of an output; 0 = until the context is full."""
    tokenizer: Tokenizer | None = None
    """None: that of the model's file, created once and kept by the model."""
    sampler: Sampler | None = None
    """Copied with its state; None: greedy."""
    grammar: Grammar | None = None
    """None: any text."""
    chat: ChatTemplate | None = None
    """For messages; None: that of the model's file."""
    stops: Sequence[Text] | None = None
    """Stop strings, copied; none is empty."""
    draft: DraftOptions | None = None
    """None: no speculative decoding."""
    n_logprobs: int = 0
    """Likeliest tokens in each EventToken; at most 64."""
    max_reasoning: int | None = None
    """Tokens of reasoning after which its end is forced. It needs messages or a chat prompt, and
    has no effect with a grammar.
    """
    flags: int = 0

    def _fill(self, o: _raw.ggufx_generator_options, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.sequence = self.sequence
        o.max_tokens = self.max_tokens
        o.tokenizer = keep.object(self.tokenizer, "ggufx_tokenizer")
        o.sampler = keep.object(self.sampler, "ggufx_sampler")
        o.grammar = keep.object(self.grammar, "ggufx_grammar")
        o.chat = keep.object(self.chat, "ggufx_chat_template")
        o.stops, o.n_stops = keep.addressed(_raw.ggufx_text, keep.text, self.stops)
        o.draft = keep.struct(_raw.ggufx_draft_options, self.draft)
        o.n_logprobs = self.n_logprobs
        if self.max_reasoning is not None:
            o.max_reasoning = self.max_reasoning
            o.flags |= GeneratorFlags.HAS_MAX_REASONING
        o.flags |= self.flags


@dataclass
class DraftOptions:
    """Speculative decoding: draft tokens are computed together with the token before them, and count as
    far as the sampler draws the same. They change no event. All zero means prompt lookup: tokens
    that followed the last tokens earlier.
    """

    session: Session | None = None
    """Session of a draft model, which is smaller and has the same vocabulary; None: prompt lookup."""
    sequence: int = 0
    """Sequence of that session; the generator replaces its tokens."""
    n_draft: int = 0
    """Draft tokens of a step at most; 0 = 7, at most 31."""
    n_match: int = 0
    """Prompt lookup: last tokens that must have occurred; 0 = 3, at most 32."""

    def _fill(self, o: _raw.ggufx_draft_options, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.session = keep.object(self.session, "ggufx_session")
        o.sequence = self.sequence
        o.n_draft = self.n_draft
        o.n_match = self.n_match


@dataclass
class Prompt:
    """A prompt: one of text, tokens, messages, parts and chat."""

    text: Text | None = None
    tokens: Ints | None = None
    messages: ChatRequest | None = None
    """Rendered by the chat template. The output is then split into answer, reasoning and,
    where it has tools, tool calls.
    """
    parts: Sequence[PromptPart] | None = None
    chat: ChatPrompt | None = None
    """As messages, made ready before; without APPEND."""
    flags: int = 0

    def _fill(self, o: _raw.ggufx_prompt, keep: Following) -> None:
        o.struct_size = sizeof(o)
        o.text.data, o.text.size = keep.text(self.text)
        o.tokens, o.n_tokens = keep.array(self.tokens, I32, "tokens")
        o.messages = keep.struct(_raw.ggufx_chat_request, self.messages)
        o.parts, o.n_parts = keep.structs(_raw.ggufx_prompt_part, self.parts)
        o.chat = keep.object(self.chat, "ggufx_chat_prompt")
        o.flags |= self.flags


@dataclass
class PromptPart:
    """A part of a prompt: one of text, tokens and rows."""

    text: Text | None = None
    tokens: Ints | None = None
    rows: Buffer | None = None
    """f32 [][n_embedding], finite: inputs of the first layer, such as a soft prompt."""

    def _fill(self, o: _raw.ggufx_prompt_part, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.text.data, o.text.size = keep.text(self.text)
        o.tokens, o.n_tokens = keep.array(self.tokens, I32, "tokens")
        o.rows, o.n_rows = keep.array(self.rows, F32, "rows")


@dataclass
class StepOptions:
    """All zero means default."""

    budget_us: int = 0
    """The call returns after this time; 0: when it is complete."""
    progress: Progress | None = None
    """Counts tokens; None: only Generator.cancel ends it."""

    def _fill(self, o: _raw.ggufx_step_options, keep: Following) -> None:
        o.struct_size = sizeof(o)
        o.budget_us = self.budget_us
        o.progress = keep.follow(self.progress)


@dataclass
class ForkOptions:
    """All zero means default: the copy draws the same tokens."""

    sequence: int = 0
    """Empty, and of no other generator."""
    seed: int = 0
    """With ForkFlags.RESEED: seed of its sampler."""
    flags: int = 0

    def _fill(self, o: _raw.ggufx_fork_options, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.sequence = self.sequence
        o.seed = self.seed
        o.flags |= self.flags


@dataclass(frozen=True)
class GeneratorFacts:
    """Result of Generator.info."""

    state: GeneratorState
    end: End
    sequence: int
    """Its sequence, if it has one."""
    n_events: int
    """Queued events."""
    n_prompt: int
    """Tokens of the prompt."""
    n_prompt_reused: int
    """Tokens of the prompt that the sequence held."""
    n_prompt_left: int
    """Tokens of the prompt that are not computed yet."""
    n_tokens: int
    """Tokens generated."""
    n_reasoning: int
    """Generated tokens that are reasoning."""
    n_drafted: int
    """Draft tokens computed."""
    n_accepted: int
    """Draft tokens that the sampler drew."""
    memory_bytes: int
    """Bytes of its tokens, texts, events and drafts."""
    sum_logprobs: float
    """log-probabilities of the tokens generated since the prompt was set or cut, also those of a
    stop string; 0 without GeneratorFlags.LOGPROBS and n_logprobs.
    """

    @classmethod
    def _of(cls, o: _raw.ggufx_generator_facts) -> GeneratorFacts:
        return cls(GeneratorState(o.state), End(o.end), o.sequence, o.n_events, o.n_prompt, o.n_prompt_reused,
            o.n_prompt_left, o.n_tokens, o.n_reasoning, o.n_drafted, o.n_accepted, o.memory_bytes,
            o.sum_logprobs)


@dataclass
class ChatPromptOptions:
    """All zero means default; chat, tokenizer and request must be set.

    With `schema` or ToolChoice.REQUIRED the model may reason first, unless the request has
    ChatFlags.NO_THINK. The markers that follow are forced; names, keys and values are those of the
    schemas. Formats that write strings without quotes keep enum, const and maxLength of a string, not
    its other keywords. Events give arguments as JSON while they are written. The output ends with
    End.TOOL_CALL when the call is complete.
    """

    chat: ChatTemplate | None = None
    """The template."""
    tokenizer: Tokenizer | None = None
    """That of the generators."""
    request: ChatRequest | None = None
    """The conversation."""
    tool_choice: int = 0
    grammar_flags: int = 0
    """For grammars that the call compiles."""
    tool_name: Text | None = None
    """With ToolChoice.REQUIRED: the only function that may be called; empty: any. Without a
    name, a function whose schema is not supported takes any arguments.
    """
    tools: Text | None = None
    """With ToolChoice.REQUIRED: JSON array of the tools that may be called; absent: those
    of the request.
    """
    call_id: Text | None = None
    """Id of that call; absent: it has none."""
    schema: Any = None
    """JSON Schema of the answer. If the request has tools, the model may call them instead."""
    flags: int = 0

    def _fill(self, o: _raw.ggufx_chat_prompt_options, keep: Following) -> None:
        o.struct_size = sizeof(o)
        o.chat = keep.object(self.chat, "ggufx_chat_template")
        o.tokenizer = keep.object(self.tokenizer, "ggufx_tokenizer")
        o.request = keep.struct(_raw.ggufx_chat_request, self.request)
        o.tool_choice = self.tool_choice
        o.grammar_flags = self.grammar_flags
        o.tool_name.data, o.tool_name.size = keep.text(self.tool_name)
        o.tools.data, o.tools.size = keep.text(self.tools)
        o.call_id.data, o.call_id.size = keep.text(self.call_id)
        o.schema.data, o.schema.size = keep.json(self.schema)
        o.flags |= self.flags


@dataclass
class GrammarOptions:
    """Options of Grammar."""

    kind: int = 0
    text: Text | None = None
    """UTF-8."""
    progress: Progress | None = None
    """Steps done, of an unknown total; None: cannot be cancelled."""
    max_steps: int = 0
    """Steps of the compilation; 0 = 4,000,000, plus 2,000 per byte of text."""
    max_memory: int = 0
    """Bytes that it uses; 0 = 32 MiB, plus 2 KiB per byte of text."""
    flags: int = 0

    def _fill(self, o: _raw.ggufx_grammar_options, keep: Following) -> None:
        o.struct_size = sizeof(o)
        o.kind = self.kind
        o.text.data, o.text.size = keep.text(self.text)
        o.progress = keep.follow(self.progress)
        o.max_steps = self.max_steps
        o.max_memory = self.max_memory
        o.flags |= self.flags


@dataclass(frozen=True)
class MatcherFacts:
    """Result of Matcher.info."""

    flags: MatcherFlags
    n_tokens: int
    """Tokens accepted and not rolled back."""
    n_vocab: int
    """Tokens of the vocabulary."""
    n_words: int
    """Words of a mask."""

    @classmethod
    def _of(cls, o: _raw.ggufx_matcher_facts) -> MatcherFacts:
        return cls(MatcherFlags(o.flags), o.n_tokens, o.n_vocab, o.n_words)


@dataclass(frozen=True)
class ImatrixFacts:
    """Result of Imatrix.info."""

    n_entries: int
    n_datasets: int
    n_chunks: int
    """Chunks of the dataset; 0: not in the file."""
    chunk_tokens: int
    """Tokens per chunk."""
    format: ImatrixFormat
    """ImatrixFormat of its file."""

    @classmethod
    def _of(cls, o: _raw.ggufx_imatrix_facts) -> ImatrixFacts:
        return cls(o.n_entries, o.n_datasets, o.n_chunks, o.chunk_tokens, ImatrixFormat(o.format))


@dataclass(frozen=True)
class ImatrixEntry:
    """An entry of an imatrix. Pointers are valid until the imatrix is changed or destroyed."""

    name: str
    """Name of the weight tensor."""
    n_columns: int
    """Columns of the tensor."""
    n_matrices: int
    """Experts; 1 for other tensors."""
    sums: Floats
    """Sums of squared activations."""
    counts: Floats
    """Tokens."""
    values: Floats
    """Sums / counts, 1 without counts: the imatrix of
    QuantizeArgs.
    """

    @classmethod
    def _of(cls, o: _raw.ggufx_imatrix_entry) -> ImatrixEntry:
        return cls(text_at(o.name.data, o.name.size), o.n_columns, o.n_matrices,
            copied(o.sums, (o.n_matrices, o.n_columns,), F32, False),
            copied(o.counts, (o.n_matrices,), F32, False),
            copied(o.values, (o.n_matrices, o.n_columns,), F32, False))


@dataclass
class ImatrixOptions:
    """Options of a collection. All zero means default."""

    dataset: Text | None = None
    """Name of the dataset for the file, UTF-8; None: none."""
    progress: Progress | None = None
    """Counts tokens; None: none."""
    flags: int = 0

    def _fill(self, o: _raw.ggufx_imatrix_options, keep: Following) -> None:
        o.struct_size = sizeof(o)
        o.dataset = keep.string(self.dataset)
        o.progress = keep.follow(self.progress)
        o.flags |= self.flags


@dataclass
class KvTokens:
    """Tokens that KvCache.append appends to a layer."""

    layer: int = 0
    """Index of the layer in the cache."""
    sequence: int = 0
    """Sequence of all tokens; 0 with `sequences`."""
    type: int = 0
    """Type of k and v: TensorType.F32, _F16 or _BF16, in the host's byte order."""
    n_tokens: int = 0
    sequences: Ints | None = None
    """The sequence of each token, or None; needs positions."""
    positions: Ints | None = None
    """Not negative, and not descending within a sequence; None: the next ones (0,
    1, ... without gaps). The causal mask compares positions. Keys are stored as given: the call
    does not apply RoPE.
    """
    k: Buffer | None = None
    """[n_tokens][n_kv_heads][head_dim_k], copied (quantized)."""
    v: Buffer | None = None
    """[n_tokens][n_kv_heads][head_dim_v], copied; None with KvFlags.V_IN_K."""
    k_stride: int = 0
    """Distance of two tokens in values; 0 = dense: n_kv_heads * head_dim_k."""
    v_stride: int = 0
    """The same of v."""

    def _fill(self, o: _raw.ggufx_kv_tokens, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.layer = self.layer
        o.sequence = self.sequence
        o.type = self.type
        o.n_tokens = self.n_tokens
        o.sequences = keep.array(self.sequences, U32, "sequences", self.n_tokens)[0]
        o.positions = keep.array(self.positions, I32, "positions", self.n_tokens)[0]
        o.k, o.n_k = keep.values(self.k, self.type, "k")
        o.v, o.n_v = keep.values(self.v, self.type, "v")
        o.k_stride = self.k_stride
        o.v_stride = self.v_stride


@dataclass
class KvQueries:
    """Queries over a layer."""

    layer: int = 0
    """Index of the layer in the cache."""
    sequence: int = 0
    """Sequence of all queries; 0 with `sequences`."""
    n_queries: int = 0
    sequences: Ints | None = None
    """Query i reads sequences[i], which may repeat; None: `sequence`."""
    positions: Ints | None = None
    """Not negative; None: those of the last n_queries tokens, or with `sequences`
    that of the last token of each.
    """
    q: Buffer | None = None
    """f32, [n_queries][n_q_heads][head_dim_k]."""

    def _fill(self, o: _raw.ggufx_kv_queries, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.layer = self.layer
        o.sequence = self.sequence
        o.n_queries = self.n_queries
        o.sequences = keep.array(self.sequences, U32, "sequences", self.n_queries)[0]
        o.positions = keep.array(self.positions, I32, "positions", self.n_queries)[0]
        o.q, o.n_q = keep.array(self.q, F32, "q")


@dataclass
class AttendOptions:
    """Options of KvCache.attend."""

    scale: float = 0.0
    """Scale of the scores; 0 = 1 / sqrt(head_dim_k)."""
    softcap: float = 0.0
    """Scores become softcap * tanh(score / softcap); 0 = none."""
    window: int = 0
    """Positions that a query sees; 0 = as the layer. A query sees the intersection of its own
    window and that of the layer.
    """
    window_kind: int = 0
    """WindowKind of `window`; 0 without one."""
    alibi_slopes: Buffer | None = None
    """One per query head, or None: slope * (key position - query position) is added to a score."""
    sink_logits: Buffer | None = None
    """One per query head, or None: the score of an attention sink without a value."""
    progress: Progress | None = None
    """None: cannot be cancelled."""
    flags: int = 0
    """AttendFlags; 0 = windows or the causal mask."""

    def _fill(self, o: _raw.ggufx_attend_options, keep: Following) -> None:
        o.struct_size = sizeof(o)
        o.scale = self.scale
        o.softcap = self.softcap
        o.window = self.window
        o.window_kind = self.window_kind
        o.alibi_slopes, o.n_alibi_slopes = keep.array(self.alibi_slopes, F32, "alibi_slopes")
        o.sink_logits, o.n_sink_logits = keep.array(self.sink_logits, F32, "sink_logits")
        o.progress = keep.follow(self.progress)
        o.flags |= self.flags


@dataclass
class KvRange:
    """Tokens of a layer of a sequence: `first` .. first + n_tokens - 1."""

    layer: int = 0
    """Index of the layer in the cache."""
    sequence: int = 0
    """Index of the sequence."""
    first: int = 0
    """Index of the first token in the layer's sequence."""
    n_tokens: int = 0

    def _fill(self, o: _raw.ggufx_kv_range, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.layer = self.layer
        o.sequence = self.sequence
        o.first = self.first
        o.n_tokens = self.n_tokens


@dataclass(frozen=True)
class KvFacts:
    """Result of KvCache.info."""

    type_k: TensorType
    """Type of the keys; with KV_ALL_LAYERS the default of layers."""
    type_v: TensorType
    """Type of the values."""
    n_tokens: int
    """Tokens of all sequences, in the first layer for KV_ALL_LAYERS."""
    n_pages: int
    """Allocated pages, used or not; shared pages count once."""
    n_plain_pages: int
    """Pages among them that are not quantized: sinks and last tokens."""
    n_shared_pages: int
    """References of sequences to pages that other sequences hold too."""
    page_bytes: int
    """Bytes of the pages."""
    bytes_per_token: int
    """Bytes of quantized keys and values per token."""
    bits_per_value: float
    """Bits per value, as stored in full pages."""
    k_error: float
    """Mean squared error over mean square of quantized keys, in the basis of the type; 0 without
    any.
    """
    v_error: float
    """The same of the values; k_error with KvFlags.V_IN_K."""

    @classmethod
    def _of(cls, o: _raw.ggufx_kv_facts) -> KvFacts:
        return cls(TensorType(o.type_k), TensorType(o.type_v), o.n_tokens, o.n_pages, o.n_plain_pages,
            o.n_shared_pages, o.page_bytes, o.bytes_per_token, o.bits_per_value, o.k_error, o.v_error)


@dataclass(frozen=True)
class TokenFacts:
    """Result of Tokenizer.token_info."""

    flags: TokenFlags
    id: int
    """Index in the vocabulary."""
    score: float
    """As stored in the file."""
    text: bytes
    """As stored in the file."""

    @classmethod
    def _of(cls, o: _raw.ggufx_token_facts) -> TokenFacts:
        return cls(TokenFlags(o.flags), o.id, o.score, bytes_at(o.text.data, o.text.size))


@dataclass(frozen=True)
class TokenizerFacts:
    """Special tokens are found by their key, or else by their text or the default of the kind of
    vocabulary; an id of -1: none.
    """

    flags: TokenizerFlags
    kind: str
    """Tokenizer.ggml.model: "llama"."""
    n_tokens: int
    """Tokens of the vocabulary."""
    bos: int
    """Start of a text; [CLS]."""
    eos: int
    """End of a text."""
    unknown: int
    """Stands for text without a token."""
    pre: str | None
    """pre-tokenizer of BPE: "llama-bpe", else None."""
    eot: int
    """End of a turn."""
    eom: int
    """End of a message that a tool answers."""
    separator: int
    """Between two texts; [SEP]."""
    pad: int
    """Padding; [PAD]."""
    mask: int
    """Token to be predicted; [MASK]."""
    fim_prefix: int
    """fill-in-the-middle: before the prefix."""
    fim_suffix: int
    """Before the suffix."""
    fim_middle: int
    """Before the middle, which the model generates."""
    fim_pad: int
    """Padding."""
    fim_repository: int
    """Before the name of a repository."""
    fim_separator: int
    """Between files."""

    @classmethod
    def _of(cls, o: _raw.ggufx_tokenizer_facts) -> TokenizerFacts:
        return cls(TokenizerFlags(o.flags), text_at(o.kind), o.n_tokens, o.bos, o.eos, o.unknown,
            text_or_none(o.pre), o.eot, o.eom, o.separator, o.pad, o.mask, o.fim_prefix, o.fim_suffix,
            o.fim_middle, o.fim_pad, o.fim_repository, o.fim_separator)


@dataclass
class ModelOptions:
    """Options of Model."""

    overrides: Mapping[str, object] | None = None
    """[n_overrides], read by the call only."""
    progress: Progress | None = None
    """Counts layers; None: cannot be cancelled."""
    device: Device | None = None
    """Device (device.h) for the products of the output matrix and of the last n_device_layers
    layers. If it is exact, results are bit-identical. None: the CPU.
    """
    n_device_layers: int = 0
    """Number of last layers on the device; 0: all."""

    def _fill(self, o: _raw.ggufx_model_options, keep: Following) -> None:
        o.struct_size = sizeof(o)
        o.overrides, o.n_overrides = keep.structs(_raw.ggufx_model_override,
            _pairs(ModelOverride, self.overrides))
        o.progress = keep.follow(self.progress)
        o.device = keep.object(self.device, "ggufx_device")
        o.n_device_layers = self.n_device_layers


@dataclass
class ModelOverride:
    """Overrides a metadata value of the file, or adds a key."""

    key: Text
    """"llama.rope.freq_base"."""
    value: Text
    """A number, "true", "false" or a string, according to the key."""

    def _fill(self, o: _raw.ggufx_model_override, keep: Keep) -> None:
        o.key = keep.string(self.key)
        o.value = keep.string(self.value)


@dataclass(frozen=True)
class ModelFacts:
    """Result of Model.info."""

    flags: ModelFlags
    architecture: str
    """"llama"."""
    n_parameters: int
    """Values of all tensors."""
    weight_bytes: int
    """Bytes of all tensors."""
    n_vocab: int
    """Tokens of the vocabulary."""
    n_context: int
    """Trained context."""
    n_embedding: int
    """Values of a hidden state."""
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    """Values of a head."""
    n_device_layers: int
    """Layers on the device, beside the output matrix; 0: no device."""
    identity: int
    """Identity of the model in snapshots and saved logits: a checksum of the shapes and types of
    all matrices and of the values of all vectors.
    """
    device_bytes: int
    """Bytes of matrices on the device."""

    @classmethod
    def _of(cls, o: _raw.ggufx_model_facts) -> ModelFacts:
        return cls(ModelFlags(o.flags), text_at(o.architecture), o.n_parameters, o.weight_bytes, o.n_vocab,
            o.n_context, o.n_embedding, o.n_layers, o.n_heads, o.n_kv_heads, o.head_dim, o.n_device_layers,
            o.identity, o.device_bytes)


@dataclass(frozen=True)
class LayerFacts:
    """Result of Model.layer_info."""

    flags: LayerFlags
    kind: LayerKind
    n_heads: int
    """Query heads, as in AttentionHook; 0 without attention."""
    n_kv_heads: int
    """Heads of keys and values."""
    head_dim_k: int
    """Values of a query or key head."""
    head_dim_v: int
    """Values of a value head."""
    window: int
    """Tokens that a token sees (llama4: at most); 0 = all."""
    kv_layer: int
    """Layer of the keys and values that it reads, mostly itself."""
    scale: float
    """Scale of the scores; 0 = 1 / sqrt(head_dim_k)."""
    softcap: float
    """Soft cap of the scores; 0: none."""
    state_bytes: int
    """Bytes of the recurrent state of a sequence."""
    sink_logits: Floats | None
    """Attention sink logits, or None."""

    @classmethod
    def _of(cls, o: _raw.ggufx_layer_facts) -> LayerFacts:
        return cls(LayerFlags(o.flags), LayerKind(o.kind), o.n_heads, o.n_kv_heads, o.head_dim_k, o.head_dim_v,
            o.window, o.kv_layer, o.scale, o.softcap, o.state_bytes,
            copied(o.sink_logits, (o.n_heads,), F32, True))


@dataclass
class DecodeItem:
    """Tokens to append to a sequence. Unused fields must be 0."""

    sequence: int = 0
    """Below n_sequences; each item of a call has another one."""
    tokens: Ints | None = None
    """Read by the call only; None: with input_rows alone."""
    input_rows: Buffer | None = None
    """f32 [n_tokens][n_embedding], finite: the input of the first layer, such as an image or
    a soft prompt. None: the embeddings of the tokens.

    They replace the rows of token_embd, including the factor that some models apply. Learned
    positions are added as usual. `tokens` are then only used if a model looks ids up elsewhere;
    None means id 0. The rows are kept as long as their tokens may be recomputed.
    """
    positions: Ints | None = None
    """Positions, ascending, after that of the sequence's last token; None:
    without gaps.
    """
    flags: int = 0

    def _fill(self, o: _raw.ggufx_decode_item, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.sequence = self.sequence
        o.tokens, o.n_tokens = keep.array(self.tokens, I32, "tokens")[0], equal(self.tokens, self.positions)
        o.input_rows, o.n_input_rows = keep.array(self.input_rows, F32, "input_rows")
        o.positions, o.n_tokens = keep.array(self.positions, I32, "positions")[0], equal(self.tokens,
            self.positions)
        o.flags |= self.flags


@dataclass
class DecodeOptions:
    """Options of Session.decode."""

    progress: Progress | None = None
    """Counts tokens; None: cannot be cancelled."""
    matmul_flags: int | None = None
    """MatmulFlags with DecodeOptionsFlags.HAS_MATMUL_FLAGS, else 0."""
    flags: int = 0

    def _fill(self, o: _raw.ggufx_decode_options, keep: Following) -> None:
        o.struct_size = sizeof(o)
        o.progress = keep.follow(self.progress)
        if self.matmul_flags is not None:
            o.matmul_flags = self.matmul_flags
            o.flags |= DecodeOptionsFlags.HAS_MATMUL_FLAGS
        o.flags |= self.flags


@dataclass
class EvalOptions:
    """Options of a measurement. All zero means default."""

    stride: int = 0
    """0: separate chunks, whose second half is scored. Otherwise each chunk begins `stride` tokens
    after the previous one, and its last `stride` predictions are scored. Each of these sees at
    least n_context - stride tokens. stride is less than n_context.
    """
    save_path: Path | None = None
    """File for the logits of all scored predictions, 16 bits each, by atomic replace. None: none.
    Not together with `write`.
    """
    write: Callable[[bytes], object] | None = None
    """Gets the same bytes in place of a file. None: none."""
    reference_path: Path | None = None
    """File of saved logits to compare with. They must have the same vocabulary, chunks and first
    tokens, and may have more chunks. None: none. Not together with `read`.
    """
    read: Callable[[int], Buffer] | None = None
    """Reads all n bytes of the same from elsewhere. None: none."""
    report: Callable[[EvalFacts], object] | None = None
    """Gets the running result after each chunk. A result other than Status.OK ends the call with it.
    None: none.
    """
    progress: Progress | None = None
    """Counts tokens; None: none."""
    rows: Callable[[tuple[EvalRow, ...]], object] | None = None
    """Gets the scored predictions in the order of the text, in pieces. A result other than Status.OK
    ends the call with it. Runtime.eval_merge computes the results of a text that is measured in
    parts, cut between chunks. None: none.
    """
    reference_chunk: int = 0
    """First chunk of the saved logits that belongs to these tokens. Earlier chunks are read and
    checked.
    """

    def _fill(self, o: _raw.ggufx_eval_options, keep: Following) -> None:
        o.struct_size = sizeof(o)
        o.stride = self.stride
        o.save_path = keep.path(self.save_path)
        o.write, o.write_user = keep.on(_CALL_1, self.write, lambda f, data_, n_: f(string_at(data_, n_)))
        o.reference_path = keep.path(self.reference_path)
        o.read, o.read_user = keep.on(_CALL_1, self.read, lambda f, data_, n_: fill_whole(data_, n_, f))
        o.report, o.report_user = keep.on(_CALL_2, self.report, lambda f,
            running_: f(EvalFacts._of(cast(running_, POINTER(_raw.ggufx_eval_facts)).contents)))
        o.progress = keep.follow(self.progress)
        o.rows, o.rows_user = keep.on(_CALL_1, self.rows, lambda f, rows_,
            n_: f(tuple(EvalRow._of(o) for o in cast(rows_, POINTER(_raw.ggufx_eval_row))[:n_])))
        o.reference_chunk = self.reference_chunk


@dataclass
class StepItem:
    """A generator's part in a step."""

    generator: Generator
    """On a sequence of the session."""
    n_tokens: int = 0
    """Most tokens of its prompt in this step; 0 = its share of what fits. If more are asked for
    than n_batch, all items share it.
    """

    def _fill(self, o: _raw.ggufx_step_item, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.generator = keep.object(self.generator, "ggufx_generator")
        o.n_tokens = self.n_tokens


@dataclass
class SessionOptions:
    """Options of Session."""

    n_context: int = 0
    """Maximum number of tokens of a sequence; 0 = the trained context, at most 8192."""
    n_batch: int = 0
    """Tokens computed at once; 0 = 512."""
    type_k: int | None = None
    """Type of the keys; 0 without SessionFlags.HAS_TYPE_K = F16."""
    type_v: int | None = None
    """Type of the values; 0 without SessionFlags.HAS_TYPE_V = F16."""
    matmul_flags: int = 0
    """MatmulFlags of all products."""
    n_context_total: int = 0
    """Maximum number of tokens of all sequences together, which then share memory. It is allocated
    as tokens arrive; a shared prefix counts once; tokens without memory are CAPACITY. 0, or more
    than all sequences can hold: each has its own memory.
    """
    n_checkpoints: int = 0
    """Checkpoints of recurrent states for Session.truncate, in addition to the state
    before the last decode. At most 4096; 0 = 8, or one per 64 tokens if the context has less
    than 512; SESSION_NO_CHECKPOINTS = none. No effect on models without recurrent
    layers.
    """
    n_sequences: int = 0
    """Number of sequences of n_context tokens each (batch.h); 0 = 1, at most 65536."""
    flags: int = 0
    """SessionFlags.HAS_TYPE_K, _HAS_TYPE_V."""

    def _fill(self, o: _raw.ggufx_session_options, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.n_context = self.n_context
        o.n_batch = self.n_batch
        if self.type_k is not None:
            o.type_k = self.type_k
            o.flags |= SessionFlags.HAS_TYPE_K
        if self.type_v is not None:
            o.type_v = self.type_v
            o.flags |= SessionFlags.HAS_TYPE_V
        o.matmul_flags = self.matmul_flags
        o.n_context_total = self.n_context_total
        o.n_checkpoints = self.n_checkpoints
        o.n_sequences = self.n_sequences
        o.flags |= self.flags


@dataclass(frozen=True)
class SessionFacts:
    """Options of a session, with the defaults filled in, and the memory of its caches."""

    n_context: int
    """Maximum number of tokens of a sequence."""
    n_batch: int
    """Tokens computed at once."""
    type_k: TensorType
    """Type of the keys."""
    type_v: TensorType
    """Type of the values."""
    n_sequences: int
    """Number of sequences."""
    n_context_total: int
    """Tokens for which sequences share memory; 0: each has its own."""
    cache_bytes: int
    """Bytes allocated for keys, values and states."""
    n_pages: int
    """Allocated pages, used or not; shared pages count once. A page holds 64 tokens of a layer."""
    n_shared_pages: int
    """References of sequences to pages that other sequences hold too."""
    n_tokens: int
    """Tokens of all sequences."""
    n_tokens_left: int
    """With n_context_total: tokens that still fit, in whole pages."""
    embedded_bytes: int
    """Bytes of input rows that the caller passed."""

    @classmethod
    def _of(cls, o: _raw.ggufx_session_facts) -> SessionFacts:
        return cls(o.n_context, o.n_batch, TensorType(o.type_k), TensorType(o.type_v), o.n_sequences,
            o.n_context_total, o.cache_bytes, o.n_pages, o.n_shared_pages, o.n_tokens, o.n_tokens_left,
            o.embedded_bytes)


@dataclass(frozen=True)
class QuantizerFacts:
    """Result of Quantizer.info."""

    n_tensors: int
    n_parts: int
    """Files that a run writes."""
    n_values: int
    """Values of all tensors."""
    bytes_in: int
    """Bytes of all tensors in the input."""
    bytes_out: int
    """Bytes of all tensors in the output."""
    file_bytes: int
    """Exact bytes of all files that a run writes."""
    n_fallbacks: int
    """Tensors with QuantizerReason.FALLBACK."""
    n_missing: int
    """Tensors without an entry of the imatrix, if one was given."""

    @classmethod
    def _of(cls, o: _raw.ggufx_quantizer_facts) -> QuantizerFacts:
        return cls(o.n_tensors, o.n_parts, o.n_values, o.bytes_in, o.bytes_out, o.file_bytes, o.n_fallbacks,
            o.n_missing)


@dataclass(frozen=True)
class QuantizerTensorFacts:
    """A tensor of a plan."""

    name: str
    """."""
    ne: tuple[int, ...]
    """Values per dimension."""
    from_: TensorType
    """Type in the input."""
    to: TensorType
    """Type in the output."""
    wanted: TensorType
    """Type before a fallback."""
    reason: QuantizerReason
    imatrix: int
    """1: an entry weighs its columns; 0: no entry is used; -1: the imatrix has no entry; -2: no
    entry, but the type requires one.
    """
    part: int
    """Index of the output file."""
    bytes_in: int
    """Bytes in the input."""
    bytes_out: int
    """Bytes in the output."""
    rmse: float
    """Error of a run with QuantizerRunFlags.MEASURE; negative: not measured."""
    seconds: float
    """Time in the last run."""
    error_before: float
    """With feedback: mean squared error of the outputs, relative to their mean square, before the
    descent; 0 without.
    """
    error_after: float
    """The same of the written blocks."""

    @classmethod
    def _of(cls, o: _raw.ggufx_quantizer_tensor_facts) -> QuantizerTensorFacts:
        return cls(text_at(o.name.data, o.name.size), tuple(o.ne)[: o.n_dims], TensorType(o.from_),
            TensorType(o.to), TensorType(o.wanted), QuantizerReason(o.reason), o.imatrix, o.part, o.bytes_in,
            o.bytes_out, o.rmse, o.seconds, o.error_before, o.error_after)


@dataclass
class QuantizerRunOptions:
    """Options of a run. All zero means default."""

    progress: Progress | None = None
    """Reported in bytes of input; None: cannot be cancelled."""
    tensor_done: Callable[[int, QuantizerTensorFacts], object] | None = None
    """Called after each tensor, on the calling thread; may be None. A result other than Status.OK
    ends the run with it; the next run goes on after this tensor.
    """
    shard: int = 0
    """Number of this shard, 1 .. n_shards; 0: no shards. n_shards runs on one file system write
    their tensors to PATH.part; Quantizer.finish completes the file.
    """
    n_shards: int = 0
    flags: int = 0

    def _fill(self, o: _raw.ggufx_quantizer_run_options, keep: Following) -> None:
        o.struct_size = sizeof(o)
        o.progress = keep.follow(self.progress)
        o.tensor_done, o.user = keep.on(_CALL_3, self.tensor_done, lambda f, index_,
            tensor_: f(index_, QuantizerTensorFacts._of(cast(tensor_, POINTER(_raw.ggufx_quantizer_tensor_facts)).contents)))
        o.shard = self.shard
        o.n_shards = self.n_shards
        o.flags |= self.flags


@dataclass
class TemperatureOptions:
    """Dynamic temperature: low + (high - low) * e^exponent, low = max(0, temperature - range), high =
    temperature + range. e is the entropy over that of as many equal candidates.
    """

    range: float = 0.0
    """0: the temperature is constant."""
    exponent: float = 0.0
    """0 is 1."""

    def _fill(self, o: _raw.ggufx_temperature_options, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.range = self.range
        o.exponent = self.exponent


@dataclass
class PenaltyOptions:
    """Options of Sampler.add_penalties."""

    repeat: float = 0.0
    """Divides logits above 0, multiplies others; 0 is 1."""
    frequency: float = 0.0
    """-1e6 to 1e6, subtracted for each occurrence."""
    presence: float = 0.0
    """-1e6 to 1e6, subtracted once."""
    last_n: int = 0
    """Accepted tokens to count, at most SAMPLER_MAX_LAST_N; 0: off."""

    def _fill(self, o: _raw.ggufx_penalty_options, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.repeat = self.repeat
        o.frequency = self.frequency
        o.presence = self.presence
        o.last_n = self.last_n


@dataclass
class DryOptions:
    """Options of Sampler.add_dry."""

    multiplier: float = 0.0
    """0: off."""
    base: float = 0.0
    """1 to 1e6; 0 is 1.75."""
    allowed_length: int = 0
    """0 is 2."""
    last_n: int = 0
    """Accepted tokens to search, at most
    SAMPLER_MAX_LAST_N; 0: off.
    """
    sequence_breakers: Ints | None = None
    """[n_sequence_breakers] ids, which may repeat; copied."""

    def _fill(self, o: _raw.ggufx_dry_options, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.multiplier = self.multiplier
        o.base = self.base
        o.allowed_length = self.allowed_length
        o.last_n = self.last_n
        o.sequence_breakers, o.n_sequence_breakers = keep.array(self.sequence_breakers, I32,
            "sequence_breakers")


@dataclass
class LogitBias:
    """A value that is added to the logit of a token."""

    id: int
    """Token of the vocabulary."""
    bias: float
    """Finite, or -infinity."""

    def _fill(self, o: _raw.ggufx_logit_bias, keep: Keep) -> None:
        o.id = self.id
        o.bias = self.bias


@dataclass
class MirostatOptions:
    """Options of Sampler.add_mirostat."""

    version: int = 0
    """1 or 2; 0 is 2."""
    m: int = 0
    """Version 1: candidates of the slope, at least 2; 0 is 100."""
    tau: float = 0.0
    """Target surprise in bits; 0 is 5."""
    eta: float = 0.0
    """Learning rate; 0 is 0.1."""

    def _fill(self, o: _raw.ggufx_mirostat_options, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.version = self.version
        o.m = self.m
        o.tau = self.tau
        o.eta = self.eta


@dataclass
class WriterOptions:
    """Options of Writer."""

    version: int = 0
    """GGUF version, 2 or 3; 0 = 3."""
    reserve_bytes: int = 0
    """Space for later edits in place: the last key is "ggufx.reserve", an array of this many zeros
    (u8). It replaces one that was set or copied. 0: none is added.
    """
    flags: int = 0

    def _fill(self, o: _raw.ggufx_writer_options, keep: Keep) -> None:
        o.struct_size = sizeof(o)
        o.version = self.version
        o.reserve_bytes = self.reserve_bytes
        o.flags |= self.flags


@dataclass(frozen=True)
class WriterFacts:
    """Result of Writer.info."""

    n_meta: int
    """Keys that were set, without split and reserve keys."""
    n_tensors: int
    n_parts: int
    """Files of a write."""
    n_bytes: int
    """Exact bytes of all files."""

    @classmethod
    def _of(cls, o: _raw.ggufx_writer_facts) -> WriterFacts:
        return cls(o.n_meta, o.n_tensors, o.n_parts, o.n_bytes)


@dataclass
class WriteOptions:
    """Limits of the parts of a split set.

    With max_part_bytes or max_part_tensors the output is PREFIX-00001-of-0000N.gguf, where PREFIX is
    the path without ".gguf". The first part has the keys. Every part has split.no, split.count,
    split.tensors.count and ggufx.split.id, which replace keys that were set. A part is larger than
    max_part_bytes only if the keys, or one tensor alone, are.
    """

    progress: Progress | None = None
    """Reported in bytes; None: cannot be cancelled."""
    max_part_bytes: int = 0
    """0: no limit."""
    max_part_tensors: int = 0
    """0: no limit."""
    flags: int = 0

    def _fill(self, o: _raw.ggufx_write_options, keep: Following) -> None:
        o.struct_size = sizeof(o)
        o.progress = keep.follow(self.progress)
        o.max_part_bytes = self.max_part_bytes
        o.max_part_tensors = self.max_part_tensors
        o.flags |= self.flags


@dataclass(frozen=True)
class EditFacts:
    """Result of Writer.edit_info."""

    in_place: bool
    """1: the tensor data stay in place, neither read nor written."""
    n_bytes: int
    """Bytes of the file after the edit."""
    reserve_bytes: int
    """Space left for the next edit."""
    n_written: int
    """Bytes written; 0 from Writer.edit_info."""

    @classmethod
    def _of(cls, o: _raw.ggufx_edit_facts) -> EditFacts:
        return cls(o.in_place != 0, o.n_bytes, o.reserve_bytes, o.n_written)


@dataclass
class EditOptions:
    """Options of Writer.edit_info."""

    progress: Progress | None = None
    """Reported in bytes; None: cannot be cancelled."""
    flags: int = 0
    """EditFlags, at most one."""

    def _fill(self, o: _raw.ggufx_edit_options, keep: Following) -> None:
        o.struct_size = sizeof(o)
        o.progress = keep.follow(self.progress)
        o.flags |= self.flags


@dataclass(frozen=True)
class PreTokenizerFacts:
    """A pre-tokenizer: splits a text before BPE merges."""

    flags: PreFlags
    name: str
    """Tokenizer.ggml.pre: "llama-bpe"."""
    rules: str
    """Name of its rules; equal for pre-tokenizers that split equally."""
    pipeline: str
    """Its steps as in tokenizer.json, each terminated by NUL; absent if they are not known: 'S' and
    the pattern of a Split, 'D' single digits, 'G' the pattern and bytes of GPT-2, 'B' bytes.
    """
    unicode: str
    """Unicode version of its character classes: "15.0.0"."""

    @classmethod
    def _of(cls, o: _raw.ggufx_pre_tokenizer_facts) -> PreTokenizerFacts:
        return cls(PreFlags(o.flags), text_at(o.name), text_at(o.rules),
            text_at(o.pipeline.data, o.pipeline.size), text_at(o.unicode))


@dataclass(frozen=True)
class FileTypeFacts:
    """A quantization mix (llama.cpp: ftype)."""

    name: str
    """"Q4_K_M"."""
    file_type: int
    """Value of general.file_type: 15."""
    type: TensorType
    """TensorType of most tensors."""

    @classmethod
    def _of(cls, o: _raw.ggufx_file_type_facts) -> FileTypeFacts:
        return cls(text_at(o.name), o.file_type, TensorType(o.type))


@dataclass(frozen=True)
class TypeFacts:
    """Result of type_info."""

    flags: TypeFlags
    id: TensorType
    block_values: int
    """Values per block; 0: the head is the block (GX types)."""
    block_bytes: int
    """Bytes per block; 0 if block_values is 0."""
    name: str
    """Name as ggml spells it: "q4_K"."""

    @classmethod
    def _of(cls, o: _raw.ggufx_type_facts) -> TypeFacts:
        return cls(TypeFlags(o.flags), TensorType(o.id), o.block_values, o.block_bytes, text_at(o.name))


class Adapter(Object):
    """An adapter bound to a model. Immutable; keeps both alive."""

    _kind = "ggufx_adapter"
    _mutable = False

    def __init__(self, model: Model, file: File, *, first_layer: int = 0, last_layer: int = 0) -> None:
        """Binds the file of an adapter to a model.

        Tensors are read once and used in place:

        - LoRA: "NAME.lora_a" [n, rank] and "NAME.lora_b" [rank, m] for a tensor NAME [n, m] of the
          model, of any type with a matrix product. For an embedding matrix [rank, m] and [rank, n] are
          accepted as well. Tensors of experts have one matrix per expert; all experts may share one A.
        - Control vector: "direction.L" [n_embedding] for layer L.
        """
        e = _raw.ggufx_error()
        with Keep() as call_:
            options_ = call_.struct(_raw.ggufx_adapter_options,
                AdapterOptions(first_layer=first_layer, last_layer=last_layer))
            own = KINDS["ggufx_adapter"]()
            check(lib.ggufx_adapter_create(byref(own), model._handle, file._handle, options_, byref(e)), e)
            self._take(own, model)

    @property
    def info(self) -> AdapterFacts:
        """Describes an adapter."""
        e = _raw.ggufx_error()
        own = self._handle
        out = _raw.ggufx_adapter_facts(struct_size=sizeof(_raw.ggufx_adapter_facts))
        check(lib.ggufx_adapter_info(byref(out), own, byref(e)), e)
        return AdapterFacts._of(out)

    def has_tensor(self, tensor: int) -> bool:
        """Returns 1 if the adapter changes a tensor of the model's file, given by its index, else 0."""
        result_ = lib.ggufx_adapter_has_tensor(self._handle, tensor)
        return result_ != 0

    def add_rows(self, rows: Buffer, tensor: int, first_row: int, scale: float) -> None:
        """Adds s B A to rows of a tensor of the model's file, as a merge of the adapter does.

        rows       f32 [n_rows][ne0].
        tensor     index of the tensor in the model's file.
        first_row  first row, counted through all matrices of the tensor.

        Rows of a tensor that the adapter does not change stay as they are.
        """
        e = _raw.ggufx_error()
        rows_ = writes(rows, F32, "rows")
        n_rows = len(rows_)
        check(lib.ggufx_adapter_add_rows(address(rows_), rows_.size, self._handle, tensor, first_row,
            n_rows, scale, byref(e)), e)


class Runtime(Object):
    """Allocator, log, executor and chosen kernels. Objects that are created from a runtime keep it
    alive.

    After a fork the child may use and destroy objects that no other thread used at the time of the
    fork. The threads of the pool stay in the parent, so calls on an inherited runtime run on the
    caller's thread.
    """

    _kind = "ggufx_runtime"
    _mutable = False

    @property
    def info(self) -> RuntimeFacts:
        """Describes a runtime."""
        e = _raw.ggufx_error()
        own = self._handle
        out = _raw.ggufx_runtime_facts(struct_size=sizeof(_raw.ggufx_runtime_facts))
        check(lib.ggufx_runtime_info(byref(out), own, byref(e)), e)
        return RuntimeFacts._of(out)

    def device_list(self, *, plugin_path: Path | None = None, flags: int = 0) -> tuple[DeviceFacts, ...]:
        """Lists devices, with the reason if a plugin or device cannot be used.

        Writes at most `capacity` entries of out[0].struct_size bytes each (set in the first one).
        *out_needed is the number of all devices. Devices are not opened. An empty
        list is no error.
        """
        e = _raw.ggufx_error()
        with Keep() as call_:
            options_ = call_.struct(_raw.ggufx_device_options, DeviceOptions(plugin_path=plugin_path, flags=flags))
            out = Structs(_raw.ggufx_device_facts, 64)
            check(asked_twice(lambda: lib.ggufx_device_list(out.at, out.n, byref(out.needed), self._handle, options_, byref(e)),
                out), e)
            return out.structs(DeviceFacts._of)

    def embedder_estimate(self, file: File, *, n_context: int = 0, n_batch: int = 0, pooling: int = 0,
            dimensions: int = 0, matmul_flags: int = 0, flags: int = 0) -> int:
        """Returns the exact bytes that Embedder allocates for a model of this file.

        The model itself is not included: see Runtime.estimate. The file may be opened for metadata only.
        """
        e = _raw.ggufx_error()
        with Keep() as call_:
            options_ = call_.struct(_raw.ggufx_embed_options,
                EmbedOptions(n_context=n_context, n_batch=n_batch, pooling=pooling, dimensions=dimensions, matmul_flags=matmul_flags,
                flags=flags))
            out = c_uint64()
            check(lib.ggufx_embedder_estimate(byref(out), self._handle, file._handle, options_, byref(e)), e)
            return out.value

    def estimate(self, file: File, *, file_type: int | None = None, n_context: int = 0, n_batch: int = 0,
            n_sessions: int = 0, type_k: int | None = None, type_v: int | None = None,
            quantizer: QuantizerOptions | None = None, memory_bytes: int = 0, bandwidth: float = 0.0,
            n_context_total: int = 0, n_checkpoints: int = 0, n_sequences: int = 0,
            adapters: Sequence[File] | None = None, device_memory_bytes: int = 0, weights: Ints | None = None,
            n_ranks: int = 0, rank: int = 0, flags: int = 0) -> EstimateFacts:
        """Estimates the memory of a model, as stored or under a quantization mix (file_type).

        The file may be opened for metadata only, and may consist of its header alone. options may be
        None;

        - model_bytes + kv_bytes + session_bytes are the exact bytes that the allocator returns later,
          for a runtime with as many threads as `rt`. With n_context_total they are the maximum.
        - file_bytes are the exact bytes that Quantizer.run writes.
        - For a rank of a group the bytes of model, caches, sessions and those read per token are of this
          rank. A quantization mix decides the packing of its messages.
        - Not included: the directory of the opened file (about 200 bytes per tensor and key), tokenizer,
          sampler, threads and their stacks.
        """
        e = _raw.ggufx_error()
        with Keep() as call_:
            own = self._handle
            options_ = call_.struct(_raw.ggufx_estimate_options,
                EstimateOptions(file_type=file_type, n_context=n_context, n_batch=n_batch, n_sessions=n_sessions,
                type_k=type_k, type_v=type_v, quantizer=quantizer, memory_bytes=memory_bytes, bandwidth=bandwidth,
                n_context_total=n_context_total, n_checkpoints=n_checkpoints, n_sequences=n_sequences, adapters=adapters,
                device_memory_bytes=device_memory_bytes, weights=weights, n_ranks=n_ranks, rank=rank, flags=flags))
            out = _raw.ggufx_estimate_facts(struct_size=sizeof(_raw.ggufx_estimate_facts))
            check(lib.ggufx_estimate(byref(out), own, file._handle, options_, byref(e)), e)
            return EstimateFacts._of(out)

    def recommend(self, file: File, *, file_type: int | None = None, n_context: int = 0, n_batch: int = 0,
            n_sessions: int = 0, type_k: int | None = None, type_v: int | None = None,
            quantizer: QuantizerOptions | None = None, memory_bytes: int = 0, bandwidth: float = 0.0,
            n_context_total: int = 0, n_checkpoints: int = 0, n_sequences: int = 0,
            adapters: Sequence[File] | None = None, device_memory_bytes: int = 0, weights: Ints | None = None,
            n_ranks: int = 0, rank: int = 0, flags: int = 0) -> EstimateFacts:
        """Recommends the quantization mix and KV cache types with the least loss that fit into
        memory_bytes.

        They must fit with n_context tokens; 0 is the default of Session. Candidates are
        combinations of:

        - Weights: the file as it is, and every mix that needs no imatrix or has one. Mixes are tried if
          the file has no quantized tensor or the job allows requantization. If file_type is given, only
          this mix is tried.
        - KV cache types: a ladder from F16 down. If type_k or type_v is given, only these are tried.

        facts.loss is the expected KL divergence from the file as it is with an F32 cache, in nats per
        token. It is the sum of a part for the weights, proportional to the square of weight_error, and a
        part for keys and values. weight_error is the root mean square, over all values, of the relative
        error of a type on Gaussian values. The errors are those of the reference quantizer, with the
        imatrix if there is one.

        The losses come from measurements of one small model. They rank candidates and predict no loss of
        another model. If losses are equal, the candidate with fewer bytes is chosen.
        """
        e = _raw.ggufx_error()
        with Keep() as call_:
            own = self._handle
            options_ = call_.struct(_raw.ggufx_estimate_options,
                EstimateOptions(file_type=file_type, n_context=n_context, n_batch=n_batch, n_sessions=n_sessions,
                type_k=type_k, type_v=type_v, quantizer=quantizer, memory_bytes=memory_bytes, bandwidth=bandwidth,
                n_context_total=n_context_total, n_checkpoints=n_checkpoints, n_sequences=n_sequences, adapters=adapters,
                device_memory_bytes=device_memory_bytes, weights=weights, n_ranks=n_ranks, rank=rank, flags=flags))
            out = _raw.ggufx_estimate_facts(struct_size=sizeof(_raw.ggufx_estimate_facts))
            check(lib.ggufx_recommend(byref(out), own, file._handle, options_, byref(e)), e)
            return EstimateFacts._of(out)

    def eval_merge(self, rows: Sequence[EvalRow], n_chunks: int, n_context: int, *, flags: int = 0) -> EvalFacts:
        """Computes the results of predictions that were measured in several runs.

        They have the bits of one run over the whole text if the rows are all of its rows in the order of
        the text.

        rows      [n_rows] as `rows` of EvalOptions got them.
        n_chunks  number of their chunks, of n_context tokens each; copied to the facts.
        flags     EvalFlags.COMPARED with saved logits; _SAME_MODEL is copied to the facts.

        After a failure *out is as before.
        """
        e = _raw.ggufx_error()
        with Keep() as call_:
            own = self._handle
            rows_ = call_.structs(_raw.ggufx_eval_row, rows)[0]
            out = _raw.ggufx_eval_facts(struct_size=sizeof(_raw.ggufx_eval_facts))
            check(lib.ggufx_eval_merge(byref(out), own, rows_, len(rows), n_chunks, n_context, flags, byref(e)), e)
            return EvalFacts._of(out)

    def kv_estimate(self, n_tokens: int, *, n_layers: int = 0, n_kv_heads: int = 0, n_q_heads: int = 0,
            head_dim_k: int = 0, head_dim_v: int = 0, type_k: int | None = None, type_v: int | None = None,
            n_sequences: int = 0, max_tokens: int = 0, n_sink_tokens: int = 0, rope_style: int = 0,
            rope_dims: int = 0, rope_base: float = 0.0, rope_scale: float = 0.0,
            layers: Sequence[KvLayerOptions] | None = None, model: int = 0, rope_frequencies: Buffer | None = None,
            flags: int = 0) -> int:
        """Returns the bytes that a cache allocates after n_tokens tokens are reserved in every sequence.

        Appending these tokens takes no more. The object of the handle is included.
        """
        e = _raw.ggufx_error()
        with Keep() as call_:
            options_ = call_.struct(_raw.ggufx_kv_options,
                KvOptions(n_layers=n_layers, n_kv_heads=n_kv_heads, n_q_heads=n_q_heads, head_dim_k=head_dim_k,
                head_dim_v=head_dim_v, type_k=type_k, type_v=type_v, n_sequences=n_sequences, max_tokens=max_tokens,
                n_sink_tokens=n_sink_tokens, rope_style=rope_style, rope_dims=rope_dims, rope_base=rope_base,
                rope_scale=rope_scale, layers=layers, model=model, rope_frequencies=rope_frequencies, flags=flags))
            out = c_uint64()
            check(lib.ggufx_kv_estimate(byref(out), self._handle, options_, n_tokens, byref(e)), e)
            return out.value

    def logprobs(self, k: int, logits: Buffer, *, tokens: Ints | None = None) -> tuple[Ints32, Floats]:
        """Computes the natural log-probabilities of the k likeliest among n tokens, or of k given tokens.

        out_ids       the k likeliest by rank, k <= n, or the given tokens; may be None if k is
                      0 or tokens are given.
        out_logprobs  their log-probabilities; may be None if k is 0.
        tokens        ids below n; None: the k likeliest.

        Each is logit - largest - log(sum of weights) in binary64, rounded once; the sum is that of a
        vocabulary. The log-probability of a logit of -infinity is -infinity.
        """
        e = _raw.ggufx_error()
        logits_ = reads(logits, F32, "logits")
        tokens_ = None if tokens is None else numbers(tokens, I32, "tokens", k)
        out_ids = fresh(k, I32)
        out_logprobs = fresh(k, F32)
        check(lib.ggufx_logprobs(address(out_ids), address(out_logprobs), k, self._handle, address(logits_),
            logits_.size, address_or_none(tokens_), byref(e)), e)
        return out_ids, out_logprobs

    def kernel_name(self, type: int) -> str | None:
        """Returns the name of the instruction set whose matvec kernel computes a tensor type: "avx512". An
        unknown type gives None.
        """
        result_ = lib.ggufx_runtime_kernel_name(self._handle, type)
        return None if result_ is None else result_.decode()

    def file_recover_edit(self, path: Path) -> bool:
        """Finishes an edit in place that a crash interrupted, or restores a split set after an interrupted
        replace.

        For a set, `path` is that of any part. The old parts are restored, or deleted if all new parts
        have their names. The log tells (INFO) how much was left to do.

        out  1 if there was an interruption, else 0.
        """
        e = _raw.ggufx_error()
        out = c_int32()
        check(lib.ggufx_file_recover_edit(byref(out), self._handle, path_bytes(path), byref(e)), e)
        return out.value != 0


class ChatTemplate(Object):
    """A compiled template. Immutable."""

    _kind = "ggufx_chat_template"
    _mutable = False

    def __init__(self, rt: Runtime, *, file: File | None = None, text: Text | None = None, name: Text | None = None,
            format: Text | None = None, bos_token: Text | None = None, eos_token: Text | None = None) -> None:
        """Compiles a chat template: options->text, a built-in format, or else the template of a file.

        file  read by the call and not kept; None if it is not needed.

         Time and memory are linear in the size of the template, which is at most 16
        MiB.
        """
        e = _raw.ggufx_error()
        with Keep() as call_:
            options_ = call_.struct(_raw.ggufx_chat_template_options,
                ChatTemplateOptions(text=text, name=name, format=format, bos_token=bos_token, eos_token=eos_token))
            own = KINDS["ggufx_chat_template"]()
            check(lib.ggufx_chat_template_create(byref(own), rt._handle, None if file is None else file._handle,
                options_, byref(e)), e)
            self._take(own, rt)

    def render(self, request: ChatRequest) -> str:
        """Renders a conversation as a prompt.

        Writes at most `capacity` bytes (no NUL) and always sets *out_needed; CAPACITY if that is larger.
        ChatTemplate.spans tells which bytes came from users.

        JSON is parsed strictly (RFC 8259, 96 levels). The last of equal names counts. An integer beyond
        64 bits becomes a float.

        Messages are converted to the form that the template supports, if their own form fails or loses
        content:

        - Arguments of calls are an object or JSON text. "", null and absent arguments are {}. Arguments
          that are no JSON object are MALFORMED if the template wants one; the message quotes them, index
          is the message.
        - An absent content of a message with calls is "" or null.
        - Lists of text parts stay lists, or are joined.
        - Calls that a template leaves out become a part of the content, in the form that its models
          write (ChatTemplate.info). Results that a template leaves out stay left out.

        If a template fails, it is run a second time, with the same limits. That run fills in missing
        descriptions, parameters, call ids (nine letters and digits) and names of results. It merges
        system messages into one at the start. A third run has one call per message.

        With ChatFlags.CONTINUE, and without ChatFlags.GENERATE, the prompt ends after the content of
        the last message, so that the model continues it. If it only has reasoning_content, the prompt
        ends after that.
        """
        e = _raw.ggufx_error()
        with Following() as call_:
            request_ = call_.struct(_raw.ggufx_chat_request, request)
            out = Room(U8, 1024)
            check(asked_twice(lambda: lib.ggufx_chat_template_render(out.at, out.n, byref(out.needed), self._handle, request_, byref(e)),
                out), e)
            return out.text()

    def spans(self, request: ChatRequest) -> tuple[ChatSpan, ...]:
        """Renders a conversation and returns the spans of the prompt; neighbouring spans differ in origin.

        Writes at most `capacity` spans and always sets *out_needed; CAPACITY if that is larger.
        """
        e = _raw.ggufx_error()
        with Following() as call_:
            request_ = call_.struct(_raw.ggufx_chat_request, request)
            out = Structs(_raw.ggufx_chat_span, 64)
            check(asked_twice(lambda: lib.ggufx_chat_template_spans(out.at, out.n, byref(out.needed), self._handle, request_, byref(e)),
                out), e)
            return out.structs(ChatSpan._of)

    def tokenize(self, tokenizer: Tokenizer, request: ChatRequest, *, flags: int = 0) -> Ints32:
        """Renders a conversation and tokenizes it, so that text of the user never becomes a control token.

        A control token is recognized only if the template wrote all of its bytes; elsewhere it is plain
        text. This holds for:

        - TokenFlags.CONTROL and TokenFlags.UNKNOWN, and TokenFlags.USER_DEFINED tokens that separate
          channels or messages
        - other user-defined tokens whose text is in the template, in its strings, or is a marker of the
          output ("<think>"). White space and single characters are excluded.

        All other user-defined tokens are recognized everywhere. Without such tokens in the messages the
        ids are those of Tokenizer.tokenize with TokenizeFlags.PARSE_SPECIAL.

        request->progress is also polled between tokens that are recognized as a whole.

        With TokenizeFlags.ADD_SPECIAL in `flags`, BOS is added once at the start if the file asks for
        it; nothing is added at the end. Writes at most `capacity` ids and always sets *out_needed;
        CAPACITY if that is larger.
        """
        e = _raw.ggufx_error()
        with Following() as call_:
            request_ = call_.struct(_raw.ggufx_chat_request, request)
            out_ids = Room(I32, 1024)
            check(asked_twice(lambda: lib.ggufx_chat_template_tokenize(out_ids.at, out_ids.n, byref(out_ids.needed), self._handle, tokenizer._handle, request_, flags, byref(e)),
                out_ids), e)
            return out_ids.array()

    @property
    def info(self) -> ChatTemplateFacts:
        """Describes a template.

        The format of tool calls and reasoning is detected by rendering a conversation with known calls.
        If the template does not write them, it may contain known markers.
        """
        e = _raw.ggufx_error()
        own = self._handle
        out = _raw.ggufx_chat_template_facts(struct_size=sizeof(_raw.ggufx_chat_template_facts))
        check(lib.ggufx_chat_template_info(byref(out), own, byref(e)), e)
        return ChatTemplateFacts._of(out)


class ChatParser(Object):
    """Splits the output of a model into answer, reasoning and tool calls, while it is generated.
    Exclusive.
    """

    _kind = "ggufx_chat_parser"
    _mutable = True

    def __init__(self, rt: Runtime, *, chat: ChatTemplate | None = None, prompt: Text | None = None,
            tools: Any = None, flags: int = 0) -> None:
        """Creates a parser. The template may be destroyed before the parser."""
        e = _raw.ggufx_error()
        with Keep() as call_:
            options_ = call_.struct(_raw.ggufx_chat_parser_options,
                ChatParserOptions(chat=chat, prompt=prompt, tools=tools, flags=flags))
            own = KINDS["ggufx_chat_parser"]()
            check(lib.ggufx_chat_parser_create(byref(own), rt._handle, options_, byref(e)), e)
            self._take(own, rt)

    def feed(self, text: Text) -> None:
        """Parses the next bytes of the output, which must include special tokens
        (DetokenizeFlags.KEEP_SPECIAL).

        The events wait for ChatParser.poll. The pieces into which the output is split do not
        change the text of a kind or call. Bytes that may become a marker are held back, and a call until
        it is complete (at most 16 MiB). Invalid UTF-8 becomes U+FFFD. Line breaks beside markers are
        dropped. An incomplete call is text of the answer.

        Arguments become a JSON object:

        - Missing arguments, null and an empty text become {}.
        - Values between markers get their types from the schema of the tool. A parameter that may be a
          string is one, unless it is null and the schema allows null. Others are read as JSON or as a
          Python literal; numbers keep all digits.
        - Without a schema, a value that is valid JSON is read as such.
        - The last of repeated parameters in an object counts. Parameters outside of the schema are
          passed on; missing ones stay missing.
        - A value that quotes markers ends at the first legal end: markers of calls within it nest. A
          parameter that is repeated or not in the schema starts only after the white space of the
          template.

        An unclosed call within reasoning ends the reasoning, unless text follows it.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            text_ = to_bytes(text)
            self._check(lib.ggufx_chat_parser_feed(self._handle, text_, len(text_), byref(e)), e)

    def finish(self) -> None:
        """Ends the output; bytes that were held back become events."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_chat_parser_finish(self._handle, byref(e)), e)

    def poll(self) -> Event:
        """Takes the next event; EventKind.NONE when there is none."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            own = self._handle
            out = _raw.ggufx_event(struct_size=sizeof(_raw.ggufx_event))
            self._check(lib.ggufx_chat_parser_poll(byref(out), own, byref(e)), e)
            return Event._of(out)

    @property
    def info(self) -> ChatParserFacts:
        """Describes the position of a parser in the output."""
        e = _raw.ggufx_error()
        with self._turns.reading:
            own = self._handle
            out = _raw.ggufx_chat_parser_facts(struct_size=sizeof(_raw.ggufx_chat_parser_facts))
            check(lib.ggufx_chat_parser_info(byref(out), own, byref(e)), e)
            return ChatParserFacts._of(out)


class Device(Object):
    """An opened device. Tensors in its memory, and models, keep it alive."""

    _kind = "ggufx_device"
    _mutable = True

    @classmethod
    def open(cls: type[Self], rt: Runtime, id: Text, *, plugin_path: Path | None = None, flags: int = 0) -> Self:
        """Opens a device by its id in the list. "auto" selects the first usable device that is not
        software.

        Its arithmetic is tested. Shaders are compiled on first use. Plugins and drivers stay loaded
        until the process ends. After a fork the child must not use devices of the parent.
        """
        e = _raw.ggufx_error()
        with Keep() as call_:
            options_ = call_.struct(_raw.ggufx_device_options, DeviceOptions(plugin_path=plugin_path, flags=flags))
            own = KINDS["ggufx_device"]()
            check(lib.ggufx_device_open(byref(own), rt._handle, terminated(id), options_, byref(e)), e)
            return cls._made(own, rt)

    def detach(self) -> None:
        """Frees everything on a device, including the data of its tensors.

        The call waits for running work, then frees memory, pipelines and queues. Later calls on the
        device and its tensors fail with DEVICE. The handles must still be destroyed, in any order. An
        engine calls this before it destroys its VkDevice.
        """
        with self._turns.changing:
            lib.ggufx_device_detach(self._handle)

    @property
    def info(self) -> DeviceFacts:
        """Describes an opened device."""
        e = _raw.ggufx_error()
        with self._turns.reading:
            own = self._handle
            out = _raw.ggufx_device_facts(struct_size=sizeof(_raw.ggufx_device_facts))
            check(lib.ggufx_device_info(byref(out), own, byref(e)), e)
            return DeviceFacts._of(out)


class Embedder(EmbedderShapes):
    """Scratch memory, and keys and values of one layer. Exclusive. Keeps its model alive."""

    _kind = "ggufx_embedder"
    _mutable = True

    def set_adapters(self, uses: Sequence[AdapterUse]) -> None:
        """Replaces the adapters of an embedder, for all inputs of later calls."""
        e = _raw.ggufx_error()
        with self._turns.changing, Keep() as call_:
            uses_ = call_.structs(_raw.ggufx_adapter_use, uses)[0]
            self._check(lib.ggufx_embedder_set_adapters(self._handle, uses_, len(uses), byref(e)), e)

    def __init__(self, model: Model, *, n_context: int = 0, n_batch: int = 0, pooling: int = 0, dimensions: int = 0,
            matmul_flags: int = 0, flags: int = 0) -> None:
        """Creates an embedder and allocates all its memory.

        An input is computed as a whole, so the scratch memory is for at least n_context tokens. options
        may be None.
        """
        e = _raw.ggufx_error()
        with Keep() as call_:
            asked_ = EmbedOptions(n_context=n_context, n_batch=n_batch, pooling=pooling, dimensions=dimensions,
                matmul_flags=matmul_flags, flags=flags)
            options_ = call_.struct(_raw.ggufx_embed_options, asked_)
            own = KINDS["ggufx_embedder"]()
            check(lib.ggufx_embedder_create(byref(own), model._handle, options_, byref(e)), e)
            self._take(own, model, asked_)

    @property
    def info(self) -> EmbedderFacts:
        """Describes an embedder."""
        e = _raw.ggufx_error()
        with self._turns.reading:
            own = self._handle
            out = _raw.ggufx_embedder_facts(struct_size=sizeof(_raw.ggufx_embedder_facts))
            check(lib.ggufx_embedder_info(byref(out), own, byref(e)), e)
            return EmbedderFacts._of(out)

    def embed(self, texts: Sequence[Ints], *, out: Buffer | None = None,
            progress: Progress | None = None) -> Floats:
        """Embeds inputs of token ids.

        out       f32 [n_texts][dimensions], n_out floats in all. With Pooling.NONE one row per
                  used token. Undefined after a failure.
        texts     the inputs, at least one id each. They include the special tokens that the model was
                  trained with (TokenizeFlags.ADD_SPECIAL).
        progress  counts tokens, polled between layers and within products. None: cannot be cancelled.

        Token types are 0 for models that have them. As many inputs as fit are computed together. Models
        with recurrent layers, or layers that read the keys of another layer, compute one at a time.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Following() as call_:
            texts_ = call_.addressed(_raw.ggufx_token_list, lambda x: call_.array(x, I32, "texts"), texts)[0]
            out_ = room_for(out, (self._rows(texts), self._info.dimensions), F32, "out")
            self._check(lib.ggufx_embed(address(out_), out_.size, self._handle, texts_, len(texts), call_.follow(progress),
                byref(e)), e, call_)
            return out_


class Moments(Object):
    """Second moments of the inputs of a matrix: sums of y y^T, where y is an input."""

    _kind = "ggufx_moments"
    _mutable = True

    def __init__(self, rt: Runtime, n_columns: int, *, flags: int = 0) -> None:
        """Creates moments without inputs, for a matrix with n_columns columns. Memory: 8 bytes per pair of
        columns, 16 with MomentsFlags.DRIFT.
        """
        e = _raw.ggufx_error()
        own = KINDS["ggufx_moments"]()
        check(lib.ggufx_moments_create(byref(own), rt._handle, n_columns, flags, byref(e)), e)
        self._take(own, rt)

    @property
    def info(self) -> MomentsFacts:
        """Describes moments."""
        e = _raw.ggufx_error()
        with self._turns.reading:
            own = self._handle
            out = _raw.ggufx_moments_facts(struct_size=sizeof(_raw.ggufx_moments_facts))
            check(lib.ggufx_moments_info(byref(out), own, byref(e)), e)
            return MomentsFacts._of(out)

    def add(self, inputs: MomentsInputs) -> None:
        """Adds inputs to moments. The sums are binary64, in the order of the inputs: they depend neither on
        threads and machine nor on how the inputs are split into calls.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Following() as call_:
            inputs_ = call_.struct(_raw.ggufx_moments_inputs, inputs)
            self._check(lib.ggufx_moments_add(self._handle, inputs_, byref(e)), e, call_)


class File(Object):
    """An opened file: metadata and tensor directory. Immutable."""

    _kind = "ggufx_file"
    _mutable = False

    @classmethod
    def open(cls: type[Self], rt: Runtime, path: Path, *, dialect: int = 0, io: int = 0,
            progress: Progress | None = None, max_metadata_bytes: int = 0, max_keys: int = 0, max_tensors: int = 0,
            max_string_bytes: int = 0, flags: int = 0) -> Self:
        """Opens a GGUF file by its UTF-8 path.

        Any part of a split set ("x-00002-of-00003.gguf") opens the whole set. Big-endian files are
        supported; their tensor data are byte-swapped into memory at open.

        Tensor data in huge pages (2 MiB) are read faster. A mapping of a file has them without a copy if
        its file system and the page cache do (Linux). Otherwise:

        - OpenFlags.HUGE_PAGES with IoMode.AUTO copies a file into memory of the runtime's allocator,
          with all threads, and ends its mapping. Without huge pages, the file stays mapped, and the log
          has a warning. With IoMode.READ it requests huge pages for the data that are read.
        - OpenFlags.HUGE_AUTO does so for 32 MiB and more, only if the mapping has small pages and memory
          is free. The copy must leave half of its size of the machine's memory, and of the limits of the
          process and its control groups.
        - OpenFlags.REREAD drops the file from the page cache before it is mapped, if it has small pages
          there. Pages that other processes have mapped stay.

        If another process changes a mapped file in place:

        - Keys, numbers, names, shapes, and strings up to 4 KiB outside of arrays keep the values of the
          open.
        - Tensor data, array elements and longer strings may change, but views of them never leave the
          file. A string of an array whose length no longer fits is MALFORMED.
        - A truncated file raises SIGBUS at the next access to a missing page, like any mapping.

        IoMode.READ, a copy in huge pages, or OpenFlags.COPY for memory, protects against such changes.
        Borrowed memory and maps of callbacks behave like mapped files.
        """
        e = _raw.ggufx_error()
        with Following() as call_:
            options_ = call_.struct(_raw.ggufx_open_options,
                OpenOptions(dialect=dialect, io=io, progress=progress, max_metadata_bytes=max_metadata_bytes,
                max_keys=max_keys, max_tensors=max_tensors, max_string_bytes=max_string_bytes, flags=flags))
            own = KINDS["ggufx_file"]()
            call_.end(lib.ggufx_open(byref(own), rt._handle, path_bytes(path), options_, byref(e)), e)
            return cls._made(own, rt)

    @classmethod
    def open_fd(cls: type[Self], rt: Runtime, fd: int, offset: int, length: int, *, dialect: int = 0, io: int = 0,
            progress: Progress | None = None, max_metadata_bytes: int = 0, max_keys: int = 0, max_tensors: int = 0,
            max_string_bytes: int = 0, flags: int = 0) -> Self:
        """Opens `length` bytes at `offset` of a file descriptor, such as a model inside an archive.

        length 0 means up to the end of the file. The descriptor is duplicated: the caller keeps and
        closes its own. POSIX only, else UNSUPPORTED.
        """
        e = _raw.ggufx_error()
        with Following() as call_:
            options_ = call_.struct(_raw.ggufx_open_options,
                OpenOptions(dialect=dialect, io=io, progress=progress, max_metadata_bytes=max_metadata_bytes,
                max_keys=max_keys, max_tensors=max_tensors, max_string_bytes=max_string_bytes, flags=flags))
            own = KINDS["ggufx_file"]()
            call_.end(lib.ggufx_open_fd(byref(own), rt._handle, fd, offset, length, options_, byref(e)), e)
            return cls._made(own, rt)

    @classmethod
    def open_memory(cls: type[Self], rt: Runtime, data: Buffer, *, dialect: int = 0, io: int = 0,
            progress: Progress | None = None, max_metadata_bytes: int = 0, max_keys: int = 0, max_tensors: int = 0,
            max_string_bytes: int = 0, flags: int = 0) -> Self:
        """Opens a GGUF file in memory.

        data  the bytes of the file.

        The memory is not copied: it is kept until the last user of the object is gone, and must not change before.
        """
        e = _raw.ggufx_error()
        with Following() as call_:
            data_ = raw_bytes(data, "data")
            options_ = call_.struct(_raw.ggufx_open_options,
                OpenOptions(dialect=dialect, io=io, progress=progress, max_metadata_bytes=max_metadata_bytes,
                max_keys=max_keys, max_tensors=max_tensors, max_string_bytes=max_string_bytes, flags=flags))
            own = KINDS["ggufx_file"]()
            call_.end(lib.ggufx_open_memory(byref(own), rt._handle, address(data_), data_.nbytes, DESTROY,
                lend(data_), options_, byref(e)), e)
            return cls._made(own, rt)

    @property
    def info(self) -> FileFacts:
        """Describes a file."""
        e = _raw.ggufx_error()
        own = self._handle
        out = _raw.ggufx_file_facts(struct_size=sizeof(_raw.ggufx_file_facts))
        check(lib.ggufx_file_info(byref(out), own, byref(e)), e)
        return FileFacts._of(out)

    def memory(self) -> FileMemoryFacts:
        """Describes the memory of a file's tensor data.

        A mapping has only the pages that this process has used. The kernel counts them during the call,
        which takes about a millisecond per GB.
        """
        e = _raw.ggufx_error()
        own = self._handle
        out = _raw.ggufx_file_memory_facts(struct_size=sizeof(_raw.ggufx_file_memory_facts))
        check(lib.ggufx_file_memory(byref(out), own, byref(e)), e)
        return FileMemoryFacts._of(out)

    def meta_count(self) -> int:
        """Returns the number of keys."""
        result_ = lib.ggufx_file_meta_count(self._handle)
        return result_

    def meta_at(self, index: int) -> MetaFacts:
        """Describes the key `index`, in file order."""
        e = _raw.ggufx_error()
        own = self._handle
        out = _raw.ggufx_meta_facts(struct_size=sizeof(_raw.ggufx_meta_facts))
        check(lib.ggufx_file_meta_at(byref(out), own, index, byref(e)), e)
        return MetaFacts._of(out)

    def meta_find(self, key: Text) -> int:
        """Finds the index of a key of `length` bytes."""
        e = _raw.ggufx_error()
        key_ = to_bytes(key)
        out = c_size_t()
        check(lib.ggufx_file_meta_find(byref(out), self._handle, key_, len(key_), byref(e)), e)
        return out.value

    def meta_u64(self, index: int) -> int:
        """Returns the value of a key as an unsigned integer.

        The scalar getters convert types without loss:

        - u64 and i64 accept any integer type whose value fits, and bool as 0 or 1.
        - f64 accepts f32, f64 and integers up to 2^53.
        - bool accepts only bool; any non-zero byte is true.

        An array of exactly one such element is accepted as a scalar.
        """
        e = _raw.ggufx_error()
        out = c_uint64()
        check(lib.ggufx_file_meta_u64(byref(out), self._handle, index, byref(e)), e)
        return out.value

    def meta_i64(self, index: int) -> int:
        """Returns the value of a key as a signed integer."""
        e = _raw.ggufx_error()
        out = c_int64()
        check(lib.ggufx_file_meta_i64(byref(out), self._handle, index, byref(e)), e)
        return out.value

    def meta_f64(self, index: int) -> float:
        """Returns the value of a key as a floating-point number."""
        e = _raw.ggufx_error()
        out = c_double()
        check(lib.ggufx_file_meta_f64(byref(out), self._handle, index, byref(e)), e)
        return out.value

    def meta_bool(self, index: int) -> bool:
        """Returns the value of a bool key as 0 or 1."""
        e = _raw.ggufx_error()
        out = c_int32()
        check(lib.ggufx_file_meta_bool(byref(out), self._handle, index, byref(e)), e)
        return out.value != 0

    def meta_string(self, index: int) -> str:
        """Returns a view of a string, borrowed from the file."""
        e = _raw.ggufx_error()
        own = self._handle
        out = _raw.ggufx_text()
        check(lib.ggufx_file_meta_string(byref(out), own, index, byref(e)), e)
        return text_at(out.data, out.size)

    def meta_array_u64(self, index: int, first: int, n: int) -> Array:
        """Copies elements first .. first + n - 1 of an array of numbers or bools, converted as the scalar
        getters do.

        out  the elements. A scalar counts as an array of one.
        """
        e = _raw.ggufx_error()
        out = fresh(n, U64)
        check(lib.ggufx_file_meta_array_u64(address(out), self._handle, index, first, n, byref(e)), e)
        return out

    def meta_array_i64(self, index: int, first: int, n: int) -> Array:
        """Copies array elements as signed integers.
        out  the elements.
        """
        e = _raw.ggufx_error()
        out = fresh(n, I64)
        check(lib.ggufx_file_meta_array_i64(address(out), self._handle, index, first, n, byref(e)), e)
        return out

    def meta_array_f64(self, index: int, first: int, n: int) -> Doubles:
        """Copies array elements as floating-point numbers.
        out  the elements.
        """
        e = _raw.ggufx_error()
        out = fresh(n, F64)
        check(lib.ggufx_file_meta_array_f64(address(out), self._handle, index, first, n, byref(e)), e)
        return out

    def meta_array_string(self, index: int, i: int) -> str:
        """Returns a view of element i of an array of strings, borrowed from the file.

        The first call on an array builds a sparse table of offsets, which can fail with MEMORY. Later
        calls are quick.
        """
        e = _raw.ggufx_error()
        own = self._handle
        out = _raw.ggufx_text()
        check(lib.ggufx_file_meta_array_string(byref(out), own, index, i, byref(e)), e)
        return text_at(out.data, out.size)

    def meta_array_nested(self, index: int, i: int) -> int:
        """Returns the index of element i of an array of arrays.

        File.meta_at and the array getters accept this index like that of a key. It is not below
        File.meta_count.
        """
        e = _raw.ggufx_error()
        out_index = c_size_t()
        check(lib.ggufx_file_meta_array_nested(byref(out_index), self._handle, index, i, byref(e)), e)
        return out_index.value

    def tensor_count(self) -> int:
        """Returns the number of tensors of all parts."""
        result_ = lib.ggufx_file_tensor_count(self._handle)
        return result_

    def tensor_find(self, name: Text) -> int:
        """Finds the index of a tensor by its name of `length` bytes."""
        e = _raw.ggufx_error()
        name_ = to_bytes(name)
        out = c_size_t()
        check(lib.ggufx_file_tensor_find(byref(out), self._handle, name_, len(name_), byref(e)), e)
        return out.value

    def validate(self, report: Callable[[FindingFacts], object], *, flags: int = 0,
            progress: Progress | None = None) -> None:
        """Checks an opened file more thoroughly than the open did.

        report    called for each finding; a result other than Status.OK ends the check with it.
        flags     ValidateFlags.
        progress  may be None; reported in bytes checked.

        The result is Status.OK also if there were findings.
        """
        e = _raw.ggufx_error()
        with Following() as call_:
            report_, user_ = call_.on(_CALL_2, report, lambda f,
                finding_: f(FindingFacts._of(cast(finding_, POINTER(_raw.ggufx_finding_facts)).contents)))
            call_.end(lib.ggufx_file_validate(self._handle, flags, report_, user_, call_.follow(progress), byref(e)), e)

    def model_describe_graph(self) -> str:
        """Writes the graph of a file's model as readable text: a line per operation, equal layers once.

        The file may be opened for metadata only. Writes at most `capacity` bytes (no NUL) and always
        sets *out_needed; CAPACITY if that is larger. The wording may change between versions.
        """
        e = _raw.ggufx_error()
        out = Room(U8, 1024)
        check(asked_twice(lambda: lib.ggufx_model_describe_graph(out.at, out.n, byref(out.needed), self._handle, byref(e)),
            out), e)
        return out.text()


class Tensor(Object):
    """View of weight data with type, shape and row stride. Immutable. A tensor that File.tensor
    returns is borrowed: it is valid until the file is destroyed and must not be destroyed itself.
    """

    _kind = "ggufx_tensor"
    _mutable = False

    def upload(self: Self, device: Device, *, progress: Progress | None = None) -> Self:
        """Copies a tensor to the memory of a device.

        The result is a tensor with the same type, shape, name and bytes, memory_kind 1 and
        Tensor.data None. It can be sliced and multiplied. The file of `w` may be destroyed.
        progress may be None; it is reported in bytes. After an error no memory stays allocated.
        """
        e = _raw.ggufx_error()
        with device._turns.reading, Following() as call_:
            own = KINDS["ggufx_tensor"]()
            call_.end(lib.ggufx_tensor_upload(byref(own), device._handle, self._handle, call_.follow(progress), byref(e)),
                e)
            return type(self)._made(own, self)

    def checksum(self) -> int:
        """Computes the sum of all words of a tensor on its device, modulo 2^32.

        The words of a row are little-endian, of 32 bits, padded with zeros. The device reads each byte
        once and does nothing else, so the time is that of reading, and a lower bound for a product.
        """
        e = _raw.ggufx_error()
        out = c_uint32()
        check(lib.ggufx_tensor_checksum(byref(out), self._handle, byref(e)), e)
        return out.value

    @property
    def info(self) -> TensorFacts:
        """Describes a tensor."""
        e = _raw.ggufx_error()
        own = self._handle
        out = _raw.ggufx_tensor_facts(struct_size=sizeof(_raw.ggufx_tensor_facts))
        check(lib.ggufx_tensor_info(byref(out), own, byref(e)), e)
        return TensorFacts._of(out)

    def slice(self: Self, dim: int, first: int, n: int) -> Self:
        """Creates a view of indices first .. first + n - 1 of dimension `dim` of a tensor.

        Along dimension 0 (columns) both must be multiples of the block. The slice shares the data and
        keeps their owner alive.
        """
        e = _raw.ggufx_error()
        own = KINDS["ggufx_tensor"]()
        check(lib.ggufx_tensor_slice(byref(own), self._handle, dim, first, n, byref(e)), e)
        return type(self)._made(own, self)


class Generator(Object):
    """The generation loop of one sequence. Exclusive, together with its session. Keeps the session, the
    tokenizer, the grammar and the chat template alive.
    """

    _kind = "ggufx_generator"
    _mutable = True
    _together = "ggufx_session"

    def __init__(self, session: Session, *, sequence: int = 0, max_tokens: int = 0,
            tokenizer: Tokenizer | None = None, sampler: Sampler | None = None, grammar: Grammar | None = None,
            chat: ChatTemplate | None = None, stops: Sequence[Text] | None = None,
            draft: DraftOptions | None = None, n_logprobs: int = 0, max_reasoning: int | None = None,
            flags: int = 0) -> None:
        """Creates a generator on a sequence of a session.

        Tokens that the sequence holds stay: a prompt reuses the prefix that it shares with them. The
        sampler, 28 bytes per token of the vocabulary, is the largest part of its memory.
        """
        e = _raw.ggufx_error()
        with session._turns.changing, Keep() as call_:
            options_ = call_.struct(_raw.ggufx_generator_options,
                GeneratorOptions(sequence=sequence, max_tokens=max_tokens, tokenizer=tokenizer, sampler=sampler,
                grammar=grammar, chat=chat, stops=stops, draft=draft, n_logprobs=n_logprobs, max_reasoning=max_reasoning,
                flags=flags))
            own = KINDS["ggufx_generator"]()
            check(lib.ggufx_generator_create(byref(own), session._handle, options_, byref(e)), e)
            self._take(own, session, callbacks=call_.callbacks)

    def set_prompt(self, prompt: Prompt) -> None:
        """Sets the prompt and starts again.

        Sampler, grammar and stop strings are reset, queued events are dropped. The sequence is truncated
        to the tokens that it shares with the prompt, except the last one of the prompt, whose logits are
        needed. Nothing is computed: the next step does that. With PromptFlags.APPEND the prompt may be
        empty; the last token of the sequence is then computed again.

        A text or messages get the special tokens that the file asks for, except with
        PromptFlags.APPEND.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Following() as call_:
            prompt_ = call_.struct(_raw.ggufx_prompt, prompt)
            self._check(lib.ggufx_generator_set_prompt(self._handle, prompt_, byref(e)), e, call_)

    def poll(self) -> Event:
        """Takes the next queued event; EventKind.NONE when there is none. Computes nothing."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            own = self._handle
            out = _raw.ggufx_event(struct_size=sizeof(_raw.ggufx_event))
            self._check(lib.ggufx_generator_poll(byref(out), own, byref(e)), e)
            return Event._of(out)

    def next(self, *, budget_us: int = 0, progress: Progress | None = None) -> Event:
        """Takes the next event: a queued one, else that of the next steps of this generator alone.

        EventKind.NONE means that a budget is used up. After END it is END again. PROMPT events are
        left out without GeneratorFlags.SCORE_PROMPT. A suspended generator that is cancelled gives its
        END, without a step.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Following() as call_:
            own = self._handle
            options_ = call_.struct(_raw.ggufx_step_options, StepOptions(budget_us=budget_us, progress=progress))
            out = _raw.ggufx_event(struct_size=sizeof(_raw.ggufx_event))
            self._check(lib.ggufx_generator_next(byref(out), own, options_, byref(e)), e, call_)
            return Event._of(out)

    def cancel(self) -> None:
        """Asks a generator to end: after the queued events its next step gives END. A step that computes
        only cancelled generators ends within 5 ms. Never waits.
        """
        lib.ggufx_generator_cancel(self._handle)

    def suspend(self) -> None:
        """Gives the sequence back, for another generator (preemption). Tokens, sampler and events stay."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_generator_suspend(self._handle, byref(e)), e)

    def resume(self, sequence: int) -> int:
        """Continues a suspended generator with a sequence that no generator has.

        Tokens that the sequence holds already are reused. The next steps compute the others again, each
        in its mode and so with the same bits.

        out_n_reused  tokens that the sequence holds already.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            out_n_reused = c_uint64()
            self._check(lib.ggufx_generator_resume(byref(out_n_reused), self._handle, sequence, byref(e)), e)
            return out_n_reused.value

    def truncate(self, n_tokens: int) -> None:
        """Keeps the first n_tokens tokens of prompt and output, at least one, and goes on from there.

        The next steps compute the last of them again and generate another output: random numbers go on.
        Penalties, grammar and parser are replayed. Queued events are dropped, and an end is revoked.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_generator_truncate(self._handle, n_tokens, byref(e)), e)

    def fork(self: Self, *, sequence: int = 0, seed: int = 0, flags: int = 0) -> Self:
        """Creates a copy of a generator, with its state and its queued events, on an empty sequence that
        shares the caches.

        Several outputs for one prompt: step until one token of the prompt is left, fork with other
        seeds, and step all of them.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Keep() as call_:
            options_ = call_.struct(_raw.ggufx_fork_options, ForkOptions(sequence=sequence, seed=seed, flags=flags))
            own = KINDS["ggufx_generator"]()
            self._check(lib.ggufx_generator_fork(byref(own), self._handle, options_, byref(e)), e)
            return type(self)._made(own, self)

    def save(self, write: Callable[[bytes], object]) -> None:
        """Writes a snapshot: token ids, the state of the sampler and queued events, about 5 bytes per
        token. Session.save saves the caches.

        write  called with consecutive pieces of the snapshot. A status other than Status.OK ends the
               call, which returns it.
        """
        e = _raw.ggufx_error()
        with self._turns.reading, Following() as call_:
            write_, user_ = call_.on(_CALL_1, write, lambda f, data_, n_: f(string_at(data_, n_)))
            call_.end(lib.ggufx_generator_save(self._handle, write_, user_, byref(e)), e)

    @classmethod
    def load(cls: type[Self], session: Session, read: Callable[[int], Buffer], *, sequence: int = 0,
            max_tokens: int = 0, tokenizer: Tokenizer | None = None, sampler: Sampler | None = None,
            grammar: Grammar | None = None, chat: ChatTemplate | None = None, stops: Sequence[Text] | None = None,
            draft: DraftOptions | None = None, n_logprobs: int = 0, max_reasoning: int | None = None,
            flags: int = 0) -> Self:
        """Creates a generator from a snapshot, with the options of the saved one.

        Grammar, sampler, chat template and drafts are those of the options; the others are compared.
        Tokens that the sequence holds already are reused, the others are computed again.

        read   fills all n bytes and returns Status.OK, or returns another status, which ends the call. At
               the end of the data it returns Status.TRUNCATED.
        """
        e = _raw.ggufx_error()
        with session._turns.changing, Following() as call_:
            options_ = call_.struct(_raw.ggufx_generator_options,
                GeneratorOptions(sequence=sequence, max_tokens=max_tokens, tokenizer=tokenizer, sampler=sampler,
                grammar=grammar, chat=chat, stops=stops, draft=draft, n_logprobs=n_logprobs, max_reasoning=max_reasoning,
                flags=flags))
            read_, user_ = call_.on(_CALL_1, read, lambda f, data_, n_: fill_whole(data_, n_, f))
            own = KINDS["ggufx_generator"]()
            call_.end(lib.ggufx_generator_load(byref(own), session._handle, options_, read_, user_, byref(e)), e)
            return cls._made(own, session, callbacks=call_.callbacks)

    def tokens(self) -> Ints32:
        """Copies the token ids of prompt and output.

        Writes at most `capacity` ids and always sets *out_needed to their full number; CAPACITY if that
        is larger. The last one is not computed yet.
        """
        e = _raw.ggufx_error()
        with self._turns.reading:
            out_ids = Room(I32, 1024)
            check(asked_twice(lambda: lib.ggufx_generator_tokens(out_ids.at, out_ids.n, byref(out_ids.needed), self._handle, byref(e)),
                out_ids), e)
            return out_ids.array()

    @property
    def info(self) -> GeneratorFacts:
        """Describes a generator."""
        e = _raw.ggufx_error()
        with self._turns.reading:
            own = self._handle
            out = _raw.ggufx_generator_facts(struct_size=sizeof(_raw.ggufx_generator_facts))
            check(lib.ggufx_generator_info(byref(out), own, byref(e)), e)
            return GeneratorFacts._of(out)

    _current: object = None  # stands for the newest iterator: older ones end, and cancel nothing

    def prompt(self, prompt: Text | Prompt, *, progress: Progress | None = None) -> Iteration[Event, None, None]:
        """Sets a prompt, and gives its events; EventKind.END is the last one. A fault of this generator alone
        is raised. Closing the iterator after its first event cancels the output; a new prompt ends it.
        """
        self.set_prompt(prompt if isinstance(prompt, Prompt) else Prompt(text=prompt))
        self._current = mine = object()
        return self._events(progress, mine)

    def _events(self, progress: Progress | None, mine: object) -> Iteration[Event, None, None]:
        try:
            while self._current is mine:
                event = self.next(progress=progress)
                if event.end == End.ERROR:
                    raise class_of(event.status)(f"{event.status.name}: {event.text}")
                yield event
                if event.kind == EventKind.END:
                    return
        except GeneratorExit:
            if self._current is mine and not self.closed:
                self.cancel()
            raise


class ChatPrompt(Object):
    """A conversation made ready: its tokens, the form of its output, and what the output must be.
    Immutable.
    """

    _kind = "ggufx_chat_prompt"
    _mutable = False

    def __init__(self, *, chat: ChatTemplate | None = None, tokenizer: Tokenizer | None = None,
            request: ChatRequest | None = None, tool_choice: int = 0, grammar_flags: int = 0,
            tool_name: Text | None = None, tools: Text | None = None, call_id: Text | None = None,
            schema: Any = None, flags: int = 0) -> None:
        """Renders a conversation, tokenizes it, and compiles the grammars of its output.

        request->progress is polled by all parts. The prompt keeps chat and tokenizer alive.
        """
        e = _raw.ggufx_error()
        with Following() as call_:
            options_ = call_.struct(_raw.ggufx_chat_prompt_options,
                ChatPromptOptions(chat=chat, tokenizer=tokenizer, request=request, tool_choice=tool_choice,
                grammar_flags=grammar_flags, tool_name=tool_name, tools=tools, call_id=call_id, schema=schema, flags=flags))
            own = KINDS["ggufx_chat_prompt"]()
            call_.end(lib.ggufx_chat_prompt_create(byref(own), options_, byref(e)), e)
            self._take(own, None)

    def tokens(self) -> Ints32:
        """Copies the token ids of a prompt.

        Writes at most `capacity` ids and always sets *out_needed to their full number; CAPACITY if that
        is larger.
        """
        e = _raw.ggufx_error()
        out_ids = Room(I32, 1024)
        check(asked_twice(lambda: lib.ggufx_chat_prompt_tokens(out_ids.at, out_ids.n, byref(out_ids.needed), self._handle, byref(e)),
            out_ids), e)
        return out_ids.array()


class Grammar(Object):
    """A grammar compiled for a vocabulary. Immutable."""

    _kind = "ggufx_grammar"
    _mutable = False

    def __init__(self, rt: Runtime, tokenizer: Tokenizer, *, kind: int = 0, text: Text | None = None,
            progress: Progress | None = None, max_steps: int = 0, max_memory: int = 0, flags: int = 0) -> None:
        """Compiles a grammar for the vocabulary of a tokenizer.

        The grammar does not need the tokenizer afterwards. The first grammar of a tokenizer takes
        longer. Time and memory are linear in the text, which is at most 16 MiB. Combinations of schemas,
        and repetitions of parts that may be empty, take more. They end at max_steps, of some 10 ns each,
        or at max_memory. Tokens of more than 512 bytes never match.

        Errors at a position of the grammar have its line and column in the message, and its byte in
        offset.
        """
        e = _raw.ggufx_error()
        with Following() as call_:
            options_ = call_.struct(_raw.ggufx_grammar_options,
                GrammarOptions(kind=kind, text=text, progress=progress, max_steps=max_steps, max_memory=max_memory,
                flags=flags))
            own = KINDS["ggufx_grammar"]()
            call_.end(lib.ggufx_grammar_create(byref(own), rt._handle, tokenizer._handle, options_, byref(e)), e)
            self._take(own, rt)


class Matcher(MatcherShapes):
    """The state of one output in a grammar. Keeps the grammar alive. Exclusive."""

    _kind = "ggufx_matcher"
    _mutable = True

    def __init__(self, grammar: Grammar) -> None:
        """Creates a matcher at the start of an output."""
        e = _raw.ggufx_error()
        own = KINDS["ggufx_matcher"]()
        check(lib.ggufx_matcher_create(byref(own), grammar._handle, byref(e)), e)
        self._take(own, grammar)

    def clone(self: Self) -> Self:
        """Creates a copy of a matcher, including its history for rollback. Time is linear in the accepted
        tokens.
        """
        e = _raw.ggufx_error()
        with self._turns.reading:
            own = KINDS["ggufx_matcher"]()
            check(lib.ggufx_matcher_clone(byref(own), self._handle, byref(e)), e)
            return type(self)._made(own, self)

    def accept(self, ids: Ints) -> None:
        """Appends n tokens to the output, all of them or none.

        An end-of-generation token matches if the output is complete; nothing can follow it.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            ids_ = numbers(ids, I32, "ids")
            self._check(lib.ggufx_matcher_accept(self._handle, address(ids_), ids_.size, byref(e)), e)

    def rollback(self, n_tokens: int) -> None:
        """Removes the last n_tokens tokens from the output."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_matcher_rollback(self._handle, n_tokens, byref(e)), e)

    def mask(self, *, out_bits: Buffer | None = None) -> Array:
        """Computes the token mask: a bit per token of the vocabulary, set if it may come next.

        Token `id` is bit id % 32, counted from the lowest, of word id / 32. Words after the vocabulary
        become 0. End-of-generation tokens are set if the output is complete. Masks are cached for all
        matchers of the grammar, in at most 64 MiB.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            out_bits_ = room_for(out_bits, (self._n_words,), U32, "out_bits")
            self._check(lib.ggufx_matcher_mask(address(out_bits_), out_bits_.size, self._handle, byref(e)), e)
            return out_bits_

    @property
    def info(self) -> MatcherFacts:
        """Describes the state of a matcher."""
        e = _raw.ggufx_error()
        with self._turns.reading:
            own = self._handle
            out = _raw.ggufx_matcher_facts(struct_size=sizeof(_raw.ggufx_matcher_facts))
            check(lib.ggufx_matcher_info(byref(out), own, byref(e)), e)
            return MatcherFacts._of(out)


class Imatrix(Object):
    """Entries in the order of their file. Quantization jobs keep what they need of it."""

    _kind = "ggufx_imatrix"
    _mutable = True

    @classmethod
    def open(cls: type[Self], rt: Runtime, path: Path, *, progress: Progress | None = None) -> Self:
        """Reads an imatrix file at a UTF-8 path. The first bytes decide the format.

        The counts of a .dat file are calls, which are taken as 512 tokens each. progress may be None.
        """
        e = _raw.ggufx_error()
        with Following() as call_:
            own = KINDS["ggufx_imatrix"]()
            call_.end(lib.ggufx_imatrix_open(byref(own), rt._handle, path_bytes(path), call_.follow(progress), byref(e)), e)
            return cls._made(own, rt)

    @classmethod
    def open_memory(cls: type[Self], rt: Runtime, data: Buffer) -> Self:
        """Reads an imatrix from memory, which may be freed after the call."""
        e = _raw.ggufx_error()
        data_ = raw_bytes(data, "data")
        own = KINDS["ggufx_imatrix"]()
        check(lib.ggufx_imatrix_open_memory(byref(own), rt._handle, address(data_), data_.nbytes, byref(e)), e)
        return cls._made(own, rt)

    @property
    def info(self) -> ImatrixFacts:
        """Describes an imatrix."""
        e = _raw.ggufx_error()
        with self._turns.reading:
            own = self._handle
            out = _raw.ggufx_imatrix_facts(struct_size=sizeof(_raw.ggufx_imatrix_facts))
            check(lib.ggufx_imatrix_info(byref(out), own, byref(e)), e)
            return ImatrixFacts._of(out)

    def entry_at(self, index: int) -> ImatrixEntry:
        """Describes entry `index`."""
        e = _raw.ggufx_error()
        with self._turns.reading:
            own = self._handle
            out = _raw.ggufx_imatrix_entry(struct_size=sizeof(_raw.ggufx_imatrix_entry))
            check(lib.ggufx_imatrix_entry_at(byref(out), own, index, byref(e)), e)
            return ImatrixEntry._of(out)

    def find(self, name: Text) -> int:
        """Finds the index of the entry for a weight tensor by name."""
        e = _raw.ggufx_error()
        with self._turns.reading:
            name_ = to_bytes(name)
            out_index = c_size_t()
            check(lib.ggufx_imatrix_find(byref(out_index), self._handle, name_, len(name_), byref(e)), e)
            return out_index.value

    def dataset_at(self, index: int) -> str:
        """Returns the name of dataset `index`, as a view that is valid until the imatrix is changed."""
        e = _raw.ggufx_error()
        with self._turns.reading:
            own = self._handle
            out = _raw.ggufx_text()
            check(lib.ggufx_imatrix_dataset_at(byref(out), own, index, byref(e)), e)
            return text_at(out.data, out.size)

    def keep_entries(self, keep: Buffer) -> None:
        """Keeps the entries i with keep[i] != 0 and removes the others. n is the number of entries."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            keep_ = raw_bytes(keep, "keep")
            self._check(lib.ggufx_imatrix_keep_entries(self._handle, address(keep_), keep_.size, byref(e)), e)

    def merge(self, other: Imatrix) -> None:
        """Adds the sums and counts of another imatrix. New entries are appended.

        Sums that were just collected, or read with ImatrixFormat.EXACT, are added exactly and rounded
        once. The result is then independent of the number and order of the parts of a dataset.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, other._turns.reading:
            self._check(lib.ggufx_imatrix_merge(self._handle, other._handle, byref(e)), e)

    def __init__(self, session: Session, tokens: Ints, n_context: int, bos: int, *, dataset: Text | None = None,
            progress: Progress | None = None, flags: int = 0) -> None:
        """Collects an imatrix: runs a model over token ids and sums the squared inputs of its matrices.

        The ids are processed in independent chunks of n_context tokens. Token 0 of each chunk is
        replaced by the id `bos` unless that is -1. A rest shorter than a chunk is dropped. Entries are
        in the order of the model's tensors. Experts, and heads with matrices of their own, are counted
        separately.

        Sums are computed in binary64, in the order of the tokens of a chunk. Chunks are added exactly,
        each rounded to a multiple of 2^-127, and the sum is rounded once. A dataset can therefore be
        split between chunks: collect each part, then Imatrix.merge gives the same bits.

        session must be empty and hold n_context tokens; it is empty again afterwards. options may be
        None. Memory: 40 bytes per column, of each expert, in addition to those of the result.
        """
        e = _raw.ggufx_error()
        with session._turns.changing, Following() as call_:
            tokens_ = numbers(tokens, I32, "tokens")
            options_ = call_.struct(_raw.ggufx_imatrix_options,
                ImatrixOptions(dataset=dataset, progress=progress, flags=flags))
            own = KINDS["ggufx_imatrix"]()
            call_.end(lib.ggufx_imatrix_create(byref(own), session._handle, address(tokens_), tokens_.size,
                n_context, bos, options_, byref(e)), e)
            self._take(own, session)

    def write(self, path: Path, format: int, *, progress: Progress | None = None) -> None:
        """Writes an imatrix to a file of a format (GGUFX_IMATRIX_*).

        The file is written as PATH.part and then renamed. It replaces an existing one, unless
        ImatrixFormat.NO_REPLACE is added to the format. A .dat file keeps only the first dataset, and
        one count per tensor: its values agree to one rounding. progress may be None.
        """
        e = _raw.ggufx_error()
        with self._turns.reading, Following() as call_:
            call_.end(lib.ggufx_imatrix_write(self._handle, path_bytes(path), format, call_.follow(progress), byref(e)), e)

    @property
    def entries(self) -> Listed[ImatrixEntry]:
        """Those of entry_at, by number and by name."""
        return Listed(lambda: self.info.n_entries, self.entry_at, self.find)

    @property
    def datasets(self) -> Listed[str]:
        """Those of dataset_at, by number."""
        return Listed(lambda: self.info.n_datasets, self.dataset_at)


class KvCache(KvShapes):
    """Keys and values per layer and sequence."""

    _kind = "ggufx_kv"
    _mutable = True

    def __init__(self, rt: Runtime, *, n_layers: int = 0, n_kv_heads: int = 0, n_q_heads: int = 0,
            head_dim_k: int = 0, head_dim_v: int = 0, type_k: int | None = None, type_v: int | None = None,
            n_sequences: int = 0, max_tokens: int = 0, n_sink_tokens: int = 0, rope_style: int = 0,
            rope_dims: int = 0, rope_base: float = 0.0, rope_scale: float = 0.0,
            layers: Sequence[KvLayerOptions] | None = None, model: int = 0, rope_frequencies: Buffer | None = None,
            flags: int = 0) -> None:
        """Creates an empty cache.

        Pages of 64 tokens are allocated when they are needed, or earlier by KvCache.reserve.

        With quantized types the first n_sink_tokens of a sequence stay F16, and so does the page of its
        last token. A page is quantized once, when a token is appended after it. A query sees the page of
        the last token that it sees in F16, and all earlier pages quantized. This holds for any partition
        of the tokens into appends. Pages that are filled within one append therefore keep both forms
        until the next append to that layer and sequence, or KvCache.commit. Queries of the appended
        tokens must come before. Queries of older tokens see the form that is left.

        With BF16 the first n_sink_tokens stay F32, in a page of twice the size. The first page has room
        for 64 tokens for any n_sink_tokens. Heads of quantized types have at most 1024 values; those of
        GX types have a multiple of 16.
        """
        e = _raw.ggufx_error()
        with Keep() as call_:
            asked_ = KvOptions(n_layers=n_layers, n_kv_heads=n_kv_heads, n_q_heads=n_q_heads, head_dim_k=head_dim_k,
                head_dim_v=head_dim_v, type_k=type_k, type_v=type_v, n_sequences=n_sequences, max_tokens=max_tokens,
                n_sink_tokens=n_sink_tokens, rope_style=rope_style, rope_dims=rope_dims, rope_base=rope_base,
                rope_scale=rope_scale, layers=layers, model=model, rope_frequencies=rope_frequencies, flags=flags)
            options_ = call_.struct(_raw.ggufx_kv_options, asked_)
            own = KINDS["ggufx_kv"]()
            check(lib.ggufx_kv_create(byref(own), rt._handle, options_, byref(e)), e)
            self._take(own, rt, asked_)

    def reserve(self, sequence: int, n_tokens: int) -> None:
        """Reserves the pages of n_tokens tokens of a sequence in every layer.

        Appends up to that length then neither fail with MEMORY nor allocate, with these limits:

        - Layers with a quantized type: appends of at most 64 tokens. Longer ones take an F16 page for
          each 64 further tokens until the next append. Between KvCache.begin and its end they take one
          more if appends do not end with pages.
        - Other layers with a window: appends of at most 1024 tokens.
        - A later copy or removal can require pages that were not reserved.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_kv_reserve(self._handle, sequence, n_tokens, byref(e)), e)

    def append(self, layer: int, sequence: int, k: Buffer, *, type: int = 0, sequences: Ints | None = None,
            positions: Ints | None = None, v: Buffer | None = None, k_stride: int = 0, v_stride: int = 0) -> None:
        """Appends tokens to one layer of a sequence, or of several, all or nothing.

        Bits: queries of these tokens before the next append are independent of the partition into
        appends. Queries of older tokens may depend on it until KvCache.commit. A failed executor costs
        only parallelism: the work is done on this thread.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Keep() as call_:
            tokens_ = call_.made(_raw.ggufx_kv_tokens,
                KvTokens(layer=layer, sequence=sequence, type=type, n_tokens=self._tokens(k), sequences=sequences,
                positions=positions, k=k, v=v, k_stride=k_stride, v_stride=v_stride))
            self._check(lib.ggufx_kv_append(self._handle, byref(tokens_), byref(e)), e)

    def attend(self, layer: int, sequence: int, q: Buffer, *, out: Buffer | None = None, lse: Buffer | None = None,
            sequences: Ints | None = None, positions: Ints | None = None, scale: float = 0.0, softcap: float = 0.0,
            window: int = 0, window_kind: int = 0, alibi_slopes: Buffer | None = None,
            sink_logits: Buffer | None = None, progress: Progress | None = None, flags: int = 0) -> Floats:
        """Computes the attention of queries over one layer of a sequence, or each of its own sequence.

        Query head h reads KV head h / (n_q_heads / n_kv_heads). The bits and the memory of a query are
        independent of the other queries.

        out      f32, [n_queries][n_q_heads][head_dim_v], n_out floats in all.
        lse      f32, [n_queries][n_q_heads], n_lse floats in all: log of the sum of exp(score).
        options  None = defaults.

        A query that sees no token gives 0 and lse = -infinity; with a sink, lse is its logit. A NaN or
        infinity in a query head, or a score that overflows, gives NaN (0x7fc00000) in that head's output
        and lse. After a cancellation out and lse are unspecified.
        """
        e = _raw.ggufx_error()
        with self._turns.reading, Following() as call_:
            queries_ = call_.made(_raw.ggufx_kv_queries,
                KvQueries(layer=layer, sequence=sequence, n_queries=self._queries(q), sequences=sequences, positions=positions,
                q=q))
            options_ = call_.struct(_raw.ggufx_attend_options,
                AttendOptions(scale=scale, softcap=softcap, window=window, window_kind=window_kind, alibi_slopes=alibi_slopes,
                sink_logits=sink_logits, progress=progress, flags=flags))
            out_ = room_for(out, (queries_.n_queries, *self._result), F32, "out")
            lse_ = None if lse is None else writes(lse, F32, "lse", queries_.n_queries * self._query[0])
            call_.end(lib.ggufx_kv_attend(address(out_), out_.size, address_or_none(lse_), count(lse_),
                self._handle, byref(queries_), options_, byref(e)), e)
            return out_

    def read(self, layer: int, sequence: int, first: int, n_tokens: int, *, k: Buffer | None = None,
            v: Buffer | None = None) -> tuple[Floats, Floats]:
        """Dequantizes tokens of a layer to f32.

        The result is in the basis in which they were appended, with shifted keys at their current
        positions.

        k  [n_tokens][n_kv_heads][head_dim_k].
        v  [n_tokens][n_kv_heads][head_dim_v].
        """
        e = _raw.ggufx_error()
        with self._turns.reading, Keep() as call_:
            range_ = call_.struct(_raw.ggufx_kv_range,
                KvRange(layer=layer, sequence=sequence, first=first, n_tokens=n_tokens))
            k_ = room_for(k, (n_tokens, *self._key), F32, "k")
            v_ = room_for(v, (n_tokens, *self._value), F32, "v")
            check(lib.ggufx_kv_read(address(k_), count(k_), address(v_), count(v_), self._handle, range_, byref(e)), e)
            return k_, v_

    def scores(self, layer: int, sequence: int, q: Buffer, scale: float, *, out: Buffer | None = None,
            sequences: Ints | None = None, positions: Ints | None = None) -> Floats:
        """Computes the scores of queries against every token of a layer, without masks and biases.

        A score is q.k * scale in f32, with the keys of KvCache.read. Attention computes scores of
        quantized keys in integers, so its own differ in the last bits. Tokens that a window has dropped
        have the score -infinity.

        out      f32, [n_queries][n_q_heads][tokens of the layer], n_out floats in all.
        queries  of one sequence, without positions.
        scale    0 = 1 / sqrt(head_dim_k).
        """
        e = _raw.ggufx_error()
        with self._turns.reading, Keep() as call_:
            queries_ = call_.made(_raw.ggufx_kv_queries,
                KvQueries(layer=layer, sequence=sequence, n_queries=self._queries(q), sequences=sequences, positions=positions,
                q=q))
            out_ = room_for(out, (queries_.n_queries, self._query[0], self.length(sequence)), F32, "out")
            check(lib.ggufx_kv_scores(address(out_), out_.size, self._handle, byref(queries_), scale, byref(e)), e)
            return out_

    def length(self, sequence: int) -> int:
        """Returns the number of tokens of a sequence: the minimum over its layers."""
        e = _raw.ggufx_error()
        with self._turns.reading:
            out = c_uint64()
            check(lib.ggufx_kv_length(byref(out), self._handle, sequence, byref(e)), e)
            return out.value

    def positions(self, sequence: int, first: int, n: int) -> Ints32:
        """Copies the positions of tokens first .. first + n - 1 of a sequence (first layer).
        out  the positions.
        """
        e = _raw.ggufx_error()
        with self._turns.reading:
            out = fresh(n, I32)
            check(lib.ggufx_kv_positions(address(out), self._handle, sequence, first, n, byref(e)), e)
            return out

    def truncate(self, sequence: int, n_tokens: int) -> None:
        """Keeps the first n_tokens tokens of a sequence in every layer.

        Nothing is quantized again, and the memory stays allocated. The cut may go through a quantized
        page. If the F16 form of that page is left, later tokens are appended to it, as if the removed
        tokens had never existed. Otherwise the page stays quantized, and the next token starts a new
        page. The F16 form is left:

        - after the last append, until the next one or KvCache.commit
        - for the page in which the last call began (KvCache.begin)
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_kv_truncate(self._handle, sequence, n_tokens, byref(e)), e)

    def begin(self, sequence: int) -> None:
        """Begins a call on a sequence, so that KvCache.rollback can restore its present content bit by
        bit.

        This includes pages that were not quantized, and pages that windows drop later. The call ends
        with KvCache.commit, KvCache.begin, KvCache.truncate to fewer tokens, or a function that
        removes, shifts, requantizes, compacts or loads.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_kv_begin(self._handle, sequence, byref(e)), e)

    def commit(self, sequence: int) -> None:
        """Commits the appends to a sequence, after the queries of its tokens.

        The copies for a rollback, and the F16 forms of quantized pages, are freed. In layers with a
        quantized type some bits depend on the sizes of the appends since the last commit:

        - Queries of tokens older than the last append see their page in F16 if that form is left,
          otherwise quantized.
        - Tokens appended after a cut within such a page continue it in F16 if that form is left.
          Otherwise the page stays quantized and cut. Cuts are KvCache.truncate, KvCache.remove of the
          last tokens and KvCache.copy of the first ones.

        The start of the last append decides which pages have both forms. Other bits never depend on the
        sizes:

        - layers with float types only
        - results of KvCache.read, KvCache.scores and KvCache.save
        - queries of the tokens of the last append

        After this call no bits do: every page is quantized except the sinks and the page of the last
        token.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_kv_commit(self._handle, sequence, byref(e)), e)

    def rollback(self, sequence: int) -> None:
        """Rolls a sequence back to KvCache.begin.

        Without KvCache.begin all layers are cut to KvCache.length, for an append that failed after
        some of the layers.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_kv_rollback(self._handle, sequence, byref(e)), e)

    def remove(self, sequence: int, first: int, n_tokens: int) -> None:
        """Removes tokens `first` .. first + n_tokens - 1 of a sequence from every layer.

        Other tokens keep their positions. A page is freed when none of its tokens is left.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_kv_remove(self._handle, sequence, first, n_tokens, byref(e)), e)

    def copy(self, from_: int, to: int, first: int, n_tokens: int) -> None:
        """Copies tokens `first` .. first + n_tokens - 1 of a sequence to an empty one.

        Both share the pages. An append to a shared page copies it first. The tokens keep their
        positions.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_kv_copy(self._handle, from_, to, first, n_tokens, byref(e)), e)

    def shift(self, sequence: int, first: int, n_tokens: int, delta: int) -> None:
        """Adds delta to the positions of tokens `first` .. first + n_tokens - 1 of a sequence.

        Stored keys do not change: queries are rotated in the opposite direction, so shifting back
        restores every bit.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_kv_shift(self._handle, sequence, first, n_tokens, delta, byref(e)), e)

    def keep(self, sequence: int) -> None:
        """Clears all sequences except one and frees their pages."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_kv_keep(self._handle, sequence, byref(e)), e)

    def calibrate(self, layer: int, *, mu_k: Buffer | None = None, eq_k: Buffer | None = None,
            mu_v: Buffer | None = None) -> None:
        """Sets the means and equalizers of a layer, for all sequences, also after KvCache.clear.

        By default each sequence computes them from the first page that it quantizes, so that sequences
        do not change each other's bits. Stored keys are (k - mu_k) / eq_k, stored values v - mu_v;
        results are corrected for it.

        With KvFlags.CENTRE_BEFORE_ROPE mu_k is the mean of keys before RoPE. A stored key is then
        (k - R mu_k) / eq_k. R is the average rotation of the 64 positions from that of the page's first
        token on, when the page is quantized. All keys of a page have the same R, also with positions
        that skip or repeat; shifts do not change it.

        mu_k  f32, [n_kv_heads][head_dim_k]; None = 0.
        eq_k  f32, [n_kv_heads][head_dim_k], above 0; None = 1.
        mu_v  f32, [n_kv_heads][head_dim_v]; None = 0.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            mu_k_ = None if mu_k is None else reads(mu_k, F32, "mu_k")
            eq_k_ = None if eq_k is None else reads(eq_k, F32, "eq_k")
            mu_v_ = None if mu_v is None else reads(mu_v, F32, "mu_v")
            self._check(lib.ggufx_kv_calibrate(self._handle, layer, address_or_none(mu_k_), address_or_none(eq_k_),
                count(mu_k_, eq_k_), address_or_none(mu_v_), count(mu_v_), byref(e)), e)

    def save(self, sequence: int, write: Callable[[bytes], object]) -> None:
        """Writes a snapshot of a sequence, or of all (ALL_SEQUENCES).

        Quantized pages are written as they are. Shared pages are written for each sequence.

        write  called with consecutive pieces of the snapshot. A status other than Status.OK ends the
               call, which returns it.
        """
        e = _raw.ggufx_error()
        with self._turns.reading, Following() as call_:
            write_, user_ = call_.on(_CALL_1, write, lambda f, data_, n_: f(string_at(data_, n_)))
            call_.end(lib.ggufx_kv_save(self._handle, sequence, write_, user_, byref(e)), e)

    def load(self, sequence: int, read: Callable[[int], Buffer]) -> None:
        """Replaces a sequence, or all, by a snapshot of KvCache.save, of one sequence or of all.

        The cache must have the layers, heads, types, windows, sinks, RoPE and model of the saved one.
        Loaded tokens give every bit that the saved ones gave. Memory reserved for a replaced sequence is
        freed.

        read   fills all n bytes and returns Status.OK, or returns another status, which ends the call. At
               the end of the data it returns Status.TRUNCATED.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Following() as call_:
            read_, user_ = call_.on(_CALL_1, read, lambda f, data_, n_: fill_whole(data_, n_, f))
            self._check(lib.ggufx_kv_load(self._handle, sequence, read_, user_, byref(e)), e, call_)

    def save_file(self, sequence: int, path: Path) -> None:
        """Writes a snapshot to a file by atomic replace.

        The snapshot is written as PATH.part, synced to disk and renamed. An existing file is replaced as
        a whole or stays as it was. A failed call leaves no file. A new file is private to its owner
        (mode 0600), because it contains the conversation. A replaced file keeps its mode; a symbolic
        link stays, and its target is replaced.
        """
        e = _raw.ggufx_error()
        with self._turns.reading:
            check(lib.ggufx_kv_save_file(self._handle, sequence, path_bytes(path), byref(e)), e)

    def load_file(self, sequence: int, path: Path) -> None:
        """Replaces a sequence, or all, by a snapshot in a file, which must end with the
        snapshot.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_kv_load_file(self._handle, sequence, path_bytes(path), byref(e)), e)

    def requantize(self, layer: int, type_k: int, type_v: int, *, progress: Progress | None = None) -> None:
        """Changes the types of keys and values of a layer, or of all (KV_ALL_LAYERS).

        The content is dequantized and quantized again. A smaller type loses precision; a larger one does
        not restore it. A type that does not change keeps every bit. Positions, shifts and page sharing
        stay. With quantized types the last tokens of a sequence stay F16. Its first n_sink_tokens stay
        F16, or F32 with BF16, if the sequence still begins at its first page.

        type_k, type_v  GGUFX_TYPE_*; TYPE_KEEP = as it is.
        progress        None: cannot be cancelled. Counts heads of pages.

        The new pages of all layers of the call exist beside the old ones until it ends: one layer per
        call needs the least memory. Reserved pages without tokens are freed; reserve them again. Means
        and equalizers stay where they existed; other keys and values get theirs from the first page that
        is quantized. Pages keep their tokens, so the memory can differ from Runtime.kv_estimate by a page
        per sequence and layer.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Following() as call_:
            self._check(lib.ggufx_kv_requantize(self._handle, layer, type_k, type_v, call_.follow(progress), byref(e)), e,
                call_)

    def compact(self, sequence: int, *, progress: Progress | None = None) -> None:
        """Merges partly filled pages of a sequence, or of all (ALL_SEQUENCES), and frees unused
        pages.

        Truncations, removals and shifts leave such pages. Neighbouring parts with equal shifts are
        merged into as few pages as they fill. Full pages, shared pages, sinks and the page for the next
        token are not changed. Reserved pages stay.

        This is lossy for quantized types: the tokens of merged parts are dequantized and quantized once
        more. Float types keep their values.

        progress  None: cannot be cancelled. Counts heads of pages.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Following() as call_:
            self._check(lib.ggufx_kv_compact(self._handle, sequence, call_.follow(progress), byref(e)), e, call_)

    def clear(self) -> None:
        """Removes all tokens of all sequences and frees the pages."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_kv_clear(self._handle, byref(e)), e)

    def info(self, layer: int) -> KvFacts:
        """Describes a layer, or the cache (KV_ALL_LAYERS)."""
        e = _raw.ggufx_error()
        with self._turns.reading:
            own = self._handle
            out = _raw.ggufx_kv_facts(struct_size=sizeof(_raw.ggufx_kv_facts))
            check(lib.ggufx_kv_info(byref(out), own, layer, byref(e)), e)
            return KvFacts._of(out)


class Tokenizer(Object):
    """Converts text to token ids and back. Immutable; keeps its file alive."""

    _kind = "ggufx_tokenizer"
    _mutable = False

    def __init__(self, file: File) -> None:
        """Creates the tokenizer that a file describes."""
        e = _raw.ggufx_error()
        own = KINDS["ggufx_tokenizer"]()
        check(lib.ggufx_tokenizer_create(byref(own), file._handle, byref(e)), e)
        self._take(own, file)

    def tokenize(self, text: Text, *, flags: int = 0) -> Ints32:
        """Tokenizes a UTF-8 text. Invalid bytes become byte tokens if the vocabulary has them.

        Writes at most `capacity` ids and always sets *out_needed to their full number; CAPACITY if that
        is larger.
        """
        e = _raw.ggufx_error()
        text_ = to_bytes(text)
        out_ids = Room(I32, 1024 + len(text_))
        check(asked_twice(lambda: lib.ggufx_tokenize(out_ids.at, out_ids.n, byref(out_ids.needed), self._handle, text_, len(text_), flags, byref(e)),
            out_ids), e)
        return out_ids.array()

    def detokenize(self, ids: Ints, *, flags: int = 0) -> bytes:
        """Converts token ids to text, not NUL-terminated. One id may be a part of a character.

        Writes at most `capacity` bytes and always sets *out_needed; CAPACITY if that is larger. The text
        is unchanged, except with DetokenizeFlags.CLEAN_SPACES in vocabularies with
        TokenizerFlags.CLEAN_SPACES. These then lose spaces:

        - "?", "!", ".", ",", "'s", "'m", "'re", "'ve": the space before them
        - "'" between two spaces: both
        """
        e = _raw.ggufx_error()
        ids_ = numbers(ids, I32, "ids")
        out = Room(U8, 1024 + 8 * ids_.size)
        check(asked_twice(lambda: lib.ggufx_detokenize(out.at, out.n, byref(out.needed), self._handle, address(ids_), ids_.size, flags, byref(e)),
            out), e)
        return out.bytes()

    def detokenize_stream(self, state: _raw.ggufx_detokenizer_state, ids: Ints) -> bytes:
        """Converts token ids to text as Tokenizer.detokenize does, for ids that come one after another
        (streaming).

        Bytes of a character are kept in *state until it is complete or invalid. Each part is therefore
        valid UTF-8 if the text is. With DetokenizeFlags.FLUSH all bytes are written. The parts together
        are the bytes that Tokenizer.detokenize returns for all ids. After a failure the state is as before.
        """
        e = _raw.ggufx_error()
        ids_ = numbers(ids, I32, "ids")
        out = Room(U8, 1024 + 8 * ids_.size)
        check(asked_twice(lambda: lib.ggufx_detokenize_stream(out.at, out.n, byref(out.needed), byref(state), self._handle, address(ids_), ids_.size, byref(e)),
            out), e)
        return out.bytes()

    def token_info(self, id: int) -> TokenFacts:
        """Describes a token."""
        e = _raw.ggufx_error()
        own = self._handle
        out = _raw.ggufx_token_facts(struct_size=sizeof(_raw.ggufx_token_facts))
        check(lib.ggufx_token_info(byref(out), own, id, byref(e)), e)
        return TokenFacts._of(out)

    @property
    def info(self) -> TokenizerFacts:
        """Describes a tokenizer."""
        e = _raw.ggufx_error()
        own = self._handle
        out = _raw.ggufx_tokenizer_facts(struct_size=sizeof(_raw.ggufx_tokenizer_facts))
        check(lib.ggufx_tokenizer_info(byref(out), own, byref(e)), e)
        return TokenizerFacts._of(out)


class Model(Object):
    """Weights bound to the graph of an architecture. Immutable; keeps its file alive."""

    _kind = "ggufx_model"
    _mutable = False

    def __init__(self, rt: Runtime, file: File, *, overrides: Mapping[str, object] | None = None,
            progress: Progress | None = None, device: Device | None = None, n_device_layers: int = 0) -> None:
        """Creates a model: binds the weights of a file to the graph of its architecture.

        Weights are not copied, except to a device.
        """
        e = _raw.ggufx_error()
        with Following() as call_:
            options_ = call_.struct(_raw.ggufx_model_options,
                ModelOptions(overrides=overrides, progress=progress, device=device, n_device_layers=n_device_layers))
            own = KINDS["ggufx_model"]()
            call_.end(lib.ggufx_model_create(byref(own), rt._handle, file._handle, options_, byref(e)), e)
            self._take(own, rt)

    @property
    def info(self) -> ModelFacts:
        """Describes a model."""
        e = _raw.ggufx_error()
        own = self._handle
        out = _raw.ggufx_model_facts(struct_size=sizeof(_raw.ggufx_model_facts))
        check(lib.ggufx_model_info(byref(out), own, byref(e)), e)
        return ModelFacts._of(out)

    def layer_info(self, layer: int) -> LayerFacts:
        """Describes a layer."""
        e = _raw.ggufx_error()
        own = self._handle
        out = _raw.ggufx_layer_facts(struct_size=sizeof(_raw.ggufx_layer_facts))
        check(lib.ggufx_model_layer_info(byref(out), own, layer, byref(e)), e)
        return LayerFacts._of(out)

    def generate(self, prompt: Text | Prompt, *, max_tokens: int = 0, tokenizer: Tokenizer | None = None,
            sampler: Sampler | None = None, grammar: Grammar | None = None, chat: ChatTemplate | None = None,
            stops: Sequence[Text] | None = None, draft: DraftOptions | None = None, n_logprobs: int = 0,
            max_reasoning: int | None = None, flags: int = 0,
            progress: Progress | None = None) -> Iteration[Event, None, None]:
        """Generator.prompt in a new session; options as those of a generator."""
        session: Any = CLASSES["ggufx_session"]
        return Generator(session(self), max_tokens=max_tokens, tokenizer=tokenizer, sampler=sampler,
            grammar=grammar, chat=chat, stops=stops, draft=draft, n_logprobs=n_logprobs,
            max_reasoning=max_reasoning, flags=flags).prompt(prompt, progress=progress)

    async def agenerate(self, prompt: Text | Prompt, *, max_tokens: int = 0, tokenizer: Tokenizer | None = None,
            sampler: Sampler | None = None, grammar: Grammar | None = None, chat: ChatTemplate | None = None,
            stops: Sequence[Text] | None = None, draft: DraftOptions | None = None, n_logprobs: int = 0,
            max_reasoning: int | None = None, flags: int = 0,
            progress: Progress | None = None) -> AsyncIteration[Event, None]:
        """As generate, for asyncio: a thread computes each token. A cancelled task waits for the token under way."""
        events = await _ended(self.generate, prompt, max_tokens=max_tokens, tokenizer=tokenizer,
            sampler=sampler, grammar=grammar, chat=chat, stops=stops, draft=draft, n_logprobs=n_logprobs,
            max_reasoning=max_reasoning, flags=flags, progress=progress)
        try:
            while (event := await _ended(next, events, None)) is not None:
                yield event
        finally:
            events.close()

    def complete(self, prompt: Text | Prompt, *, max_tokens: int = 0, tokenizer: Tokenizer | None = None,
            sampler: Sampler | None = None, grammar: Grammar | None = None, chat: ChatTemplate | None = None,
            stops: Sequence[Text] | None = None, draft: DraftOptions | None = None, n_logprobs: int = 0,
            max_reasoning: int | None = None, flags: int = 0, progress: Progress | None = None) -> str:
        """The answer that generate gives, as one text."""
        events = self.generate(prompt, max_tokens=max_tokens, tokenizer=tokenizer, sampler=sampler,
            grammar=grammar, chat=chat, stops=stops, draft=draft, n_logprobs=n_logprobs,
            max_reasoning=max_reasoning, flags=flags, progress=progress)
        return "".join(event.text for event in events if event.kind == EventKind.TEXT)


class Session(SessionShapes):
    """One sequence, or many (batch.h): their KV caches and tokens. Exclusive."""

    _kind = "ggufx_session"
    _mutable = True

    def set_adapters(self, sequence: int, uses: Sequence[AdapterUse]) -> None:
        """Replaces the adapters of an empty sequence by a list.

        n_uses 0 removes all adapters. Truncating the sequence keeps them. The session allocates, and
        keeps, the buffers that n_batch tokens with these adapters need (included in Runtime.estimate).

        After an error nothing has changed.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Keep() as call_:
            uses_ = call_.structs(_raw.ggufx_adapter_use, uses)[0]
            self._check(lib.ggufx_session_set_adapters(self._handle, sequence, uses_, len(uses), byref(e)), e)

    def decode(self, items: Sequence[DecodeItem], *, progress: Progress | None = None,
            matmul_flags: int | None = None, flags: int = 0, logits: Buffer | None = None,
            hidden: Buffer | None = None, attention: AttentionHook | None = None) -> Floats:
        """Appends tokens to several sequences and computes the requested rows of logits and hidden states.

        Each of the n_items items belongs to another sequence. At most n_batch tokens of all items are
        computed at once. After a failure every sequence is as before, and the content of `logits` and
        `hidden` is undefined. The order of items decides the order of rows and changes no value.
        After Session.truncate the call may first recompute earlier tokens. These give no rows, are
        not passed to the attention hook, and are not counted by progress, which is polled meanwhile.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Following() as call_:
            items_ = call_.structs(_raw.ggufx_decode_item, items)[0]
            options_ = call_.made(_raw.ggufx_decode_options,
                DecodeOptions(progress=progress, matmul_flags=matmul_flags, flags=flags))
            logits_ = room_for(logits, (rows_of(items, DecodeFlags.LOGITS, DecodeFlags.ALL_LOGITS), self.n_vocab), F32,
                "logits")
            options_.logits, options_.n_logits = address_or_none(logits_), count(logits_)
            hidden_ = None if hidden is None else writes(hidden, F32, "hidden",
                rows_of(items, DecodeFlags.HIDDEN, DecodeFlags.ALL_HIDDEN) * self.n_embedding)
            options_.hidden, options_.n_hidden = address_or_none(hidden_), count(hidden_)
            options_.attention = self._attention(attention, call_)
            self._check(lib.ggufx_session_decode(self._handle, items_, len(items), byref(options_), byref(e)), e, call_)
            return logits_

    def length(self, sequence: int) -> int:
        """Returns the number of tokens of a sequence; 0 if there is no such sequence."""
        with self._turns.reading:
            result_ = lib.ggufx_session_length(self._handle, sequence)
            return result_

    def truncate(self, sequence: int, n_tokens: int) -> None:
        """Keeps the first n_tokens tokens of a sequence. With n_tokens 0 it is like new.

        The next decode continues with the bits of a sequence that decoded only these tokens. (The bits
        of products depend on how many tokens are computed at once, 1 to 3 or more, and in models with
        experts also on which. With MatmulFlags.BATCH_INVARIANT no truncation or batch changes a bit.)

        The call itself takes almost no time. The next decode recomputes the tokens that the caches have
        lost in addition to the removed ones. It starts from the last position at or before n_tokens that
        satisfies all of these conditions:

        - Quantized keys and values: the end of a page of 64 tokens, or any position in the first page,
          the last one and the page where the last decode began.
        - Layers with a window: the start, or any of the last 320 positions, counted from the largest
          length that the sequence had.
        - Recurrent layers: the start of the last decode, or a checkpoint (n_checkpoints). Checkpoints
          are at ends of decodes, and of batches within one, that reached another page of 64 tokens. If
          there are too few, the distances of the remaining ones from the end about double.

        So at most 63 tokens are recomputed in most models, and the whole sequence at worst. Several
        truncations before that decode are allowed. If that decode fails or is cancelled, the following
        one starts the recomputation again.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_session_truncate(self._handle, sequence, n_tokens, byref(e)), e)

    def remove(self, sequence: int, first: int, n_tokens: int) -> None:
        """Removes tokens `first` .. first + n_tokens - 1 from a sequence.

        Later tokens keep their positions, keys and values, which were computed with the removed tokens.
        The call is therefore cheap, but the result differs from a sequence that never had them. For
        that, call Session.truncate and decode the rest again. Later truncations recompute only the
        tokens that they must, without the removed ones.

        To continue in a full context, remove the oldest tokens and close the gap with
        Session.shift.

        After an error nothing has changed.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_session_remove(self._handle, sequence, first, n_tokens, byref(e)), e)

    def shift(self, sequence: int, first: int, n_tokens: int, delta: int) -> None:
        """Adds delta to the positions of tokens `first` .. first + n_tokens - 1, which must stay ascending.

        Stored keys do not change; queries are rotated in the opposite direction. Shifting back therefore
        restores every bit.

        After an error nothing has changed.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_session_shift(self._handle, sequence, first, n_tokens, delta, byref(e)), e)

    def tokens(self, sequence: int, first: int, n_tokens: int) -> tuple[Ints32, Ints32]:
        """Copies the ids and positions of tokens `first` .. first + n_tokens - 1.

        out_ids        token ids.
        out_positions  their positions.
        """
        e = _raw.ggufx_error()
        with self._turns.reading:
            out_ids = fresh(n_tokens, I32)
            out_positions = fresh(n_tokens, I32)
            check(lib.ggufx_session_tokens(address(out_ids), address(out_positions), self._handle, sequence,
                first, n_tokens, byref(e)), e)
            return out_ids, out_positions

    def copy(self, from_: int, to: int, n_tokens: int) -> None:
        """Copies the first n_tokens tokens of a sequence to an empty one, sharing a prefix.

        Later results have the bits that they would have if `to` had decoded these tokens itself. Pages
        of keys and values, and recurrent states, are shared. The next call recomputes the tokens after
        the last position that Session.truncate could keep: at most 63 in most models.

        After an error nothing has changed.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_session_copy(self._handle, from_, to, n_tokens, byref(e)), e)

    def save(self, sequence: int, write: Callable[[bytes], object]) -> None:
        """Writes a snapshot of a sequence, or of all (ALL_SEQUENCES).

        It contains tokens, keys, values and states as stored, without logits and checkpoints. Shared
        pages are written for each sequence and are no longer shared after a load. A load can therefore
        exceed n_context_total (CAPACITY).

        A rank of a group writes only tokens. Any rank can do so, even after the group has lost one. A
        session without a group, or a group of any size, can load them. Its next call recomputes the
        caches, each token in its original mode. The bits are the same with MatmulFlags.BATCH_INVARIANT
        or MatmulFlags.TILED. Sequences with removed or shifted tokens are refused (UNSUPPORTED),
        because recomputation would change them.

        write  called with consecutive pieces of the snapshot. A status other than Status.OK ends the
               call, which returns it.
        """
        e = _raw.ggufx_error()
        with self._turns.reading, Following() as call_:
            write_, user_ = call_.on(_CALL_1, write, lambda f, data_, n_: f(string_at(data_, n_)))
            call_.end(lib.ggufx_session_save(self._handle, sequence, write_, user_, byref(e)), e)

    def load(self, sequence: int, read: Callable[[int], Buffer]) -> None:
        """Replaces a sequence, or all, by a snapshot of Session.save.

        The snapshot must contain one sequence, or as many as the session has. Model, adapters and cache
        types must be equal. Later results have every bit that they would have had in the saved session.
        During the load, memory for both the old and the new content is needed. In a group, all ranks
        call this with the same snapshot (else MISMATCH), which one rank has written.

        read   fills all n bytes and returns Status.OK, or returns another status, which ends the call. At
               the end of the data it returns Status.TRUNCATED.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Following() as call_:
            read_, user_ = call_.on(_CALL_1, read, lambda f, data_, n_: fill_whole(data_, n_, f))
            self._check(lib.ggufx_session_load(self._handle, sequence, read_, user_, byref(e)), e, call_)

    def save_file(self, sequence: int, path: Path) -> None:
        """Writes a snapshot to a file

        The file is written, replaced and protected as that of KvCache.save_file.
        """
        e = _raw.ggufx_error()
        with self._turns.reading:
            check(lib.ggufx_session_save_file(self._handle, sequence, path_bytes(path), byref(e)), e)

    def load_file(self, sequence: int, path: Path) -> None:
        """Replaces a sequence, or all, by a snapshot in a file, which must end with the
        snapshot.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_session_load_file(self._handle, sequence, path_bytes(path), byref(e)), e)

    def eval_perplexity(self, tokens: Ints, n_context: int, bos: int, *, stride: int = 0,
            save_path: Path | None = None, write: Callable[[bytes], object] | None = None,
            reference_path: Path | None = None, read: Callable[[int], Buffer] | None = None,
            report: Callable[[EvalFacts], object] | None = None, progress: Progress | None = None,
            rows: Callable[[tuple[EvalRow, ...]], object] | None = None, reference_chunk: int = 0) -> EvalFacts:
        """Measures the perplexity of a model over token ids, and its KL divergence from saved logits.

        The ids are processed in independent chunks of n_context tokens. Token 0 of each is replaced by
        the id `bos` unless that is -1. Tokens that fill no chunk are dropped. Logits can be saved for a
        later comparison. With MatmulFlags.BATCH_INVARIANT or MatmulFlags.TILED the results are
        independent of n_batch and threads.

        Saved logits take 16 + 2 * vocabulary bytes per prediction, in steps of (largest - least) /
        65,535: the divergence of a model from itself is about 1e-8. They are streamed; memory is that of
        32 rows and 4 bytes per prediction. The documentation ("File format notes") describes the format.

        session must be empty and hold n_context tokens; it is empty again afterwards. options may be
        None. After a failure no file is left, and *out is as before.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Following() as call_:
            own = self._handle
            tokens_ = numbers(tokens, I32, "tokens")
            options_ = call_.struct(_raw.ggufx_eval_options,
                EvalOptions(stride=stride, save_path=save_path, write=write, reference_path=reference_path,
                read=read, report=report, progress=progress, rows=rows, reference_chunk=reference_chunk))
            out = _raw.ggufx_eval_facts(struct_size=sizeof(_raw.ggufx_eval_facts))
            self._check(lib.ggufx_eval_perplexity(byref(out), own, address(tokens_), tokens_.size, n_context,
                bos, options_, byref(e)), e, call_)
            return EvalFacts._of(out)

    def eval_continuations(self, context: Ints, continuations: Sequence[Ints], *,
            progress: Progress | None = None) -> Doubles:
        """Computes the log-probabilities of several continuations of one context: a multiple-choice
        question.

        out            sum over the tokens of a continuation.
        context        [n_context] token ids, at least one.
        continuations  at least one id each.
        progress       counts tokens; None: none.

        session must be empty and hold the context and the longest continuation; it is empty again
        afterwards. The context is computed once. After a failure `out` is as before.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Following() as call_:
            context_ = numbers(context, I32, "context")
            continuations_ = call_.addressed(_raw.ggufx_token_list, lambda x: call_.array(x, I32, "continuations"),
                continuations)[0]
            out = fresh(len(continuations), F64)
            self._check(lib.ggufx_eval_continuations(address(out), self._handle, address(context_), context_.size,
                continuations_, len(continuations), call_.follow(progress), byref(e)), e, call_)
            return out

    def step(self, items: Sequence[StepItem], *, budget_us: int = 0, progress: Progress | None = None) -> bool:
        """Computes a step of generators of a session: one pass over the weights.

        It computes a chunk of the prompt of generators that have one left, or one token of others. If
        items are of both kinds, steps of the kinds take turns. With GeneratorFlags.TILED_DECODE a step
        has both. Generator.poll gives the events. Generators that have ended are left out.

        With a budget the call returns OK when that is used up, at most one group of operations later.
        The step is then in flight: the next call goes on with it, whatever its items are, and begins no
        other one. Calls that change the session are STATE meanwhile. If all of its generators are
        cancelled or destroyed, it is abandoned.

        out_complete  1 if no step is in flight afterwards, else 0.

        A fault of one generator, such as NaN in its logits or a limit of its grammar, ends that one with
        End.ERROR. After a failure no generator has changed, except that cancelled ones may have
        ended.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Following() as call_:
            items_ = call_.structs(_raw.ggufx_step_item, items)[0]
            options_ = call_.struct(_raw.ggufx_step_options, StepOptions(budget_us=budget_us, progress=progress))
            out_complete = c_int32()
            self._check(lib.ggufx_session_step(byref(out_complete), self._handle, items_, len(items), options_, byref(e)),
                e, call_)
            return out_complete.value != 0

    def __init__(self, model: Model, *, n_context: int = 0, n_batch: int = 0, type_k: int | None = None,
            type_v: int | None = None, matmul_flags: int = 0, n_context_total: int = 0, n_checkpoints: int = 0,
            n_sequences: int = 0, flags: int = 0) -> None:
        """Creates a session and allocates all its memory.

        This is KV caches of n_context tokens for each of n_sequences, unless they share n_context_total,
        and scratch memory for n_batch tokens. The default of n_context does not
        depend on the machine; Runtime.estimate tells if it fits.
        """
        e = _raw.ggufx_error()
        with Keep() as call_:
            asked_ = SessionOptions(n_context=n_context, n_batch=n_batch, type_k=type_k, type_v=type_v,
                matmul_flags=matmul_flags, n_context_total=n_context_total, n_checkpoints=n_checkpoints,
                n_sequences=n_sequences, flags=flags)
            options_ = call_.struct(_raw.ggufx_session_options, asked_)
            own = KINDS["ggufx_session"]()
            check(lib.ggufx_session_create(byref(own), model._handle, options_, byref(e)), e)
            self._take(own, model, asked_)

    @property
    def info(self) -> SessionFacts:
        """Describes a session. Takes time linear in the number of pages."""
        e = _raw.ggufx_error()
        with self._turns.reading:
            own = self._handle
            out = _raw.ggufx_session_facts(struct_size=sizeof(_raw.ggufx_session_facts))
            check(lib.ggufx_session_info(byref(out), own, byref(e)), e)
            return SessionFacts._of(out)


class Quantizer(Object):
    """A quantization: planned, running or finished."""

    _kind = "ggufx_quantizer"
    _mutable = True

    def __init__(self, rt: Runtime, file: File, file_type: int, *, output_type: int = 0, embedding_type: int = 0,
            imatrix: Imatrix | None = None, imatrix_name: Text | None = None, reserve_bytes: int = 0,
            feedback: QuantizerFeedback | None = None, flags: int = 0) -> None:
        """Plans the quantization of a file by a quantization mix.

         The quantizer keeps the file. A file opened for metadata only can be
        planned, but not run.
        """
        e = _raw.ggufx_error()
        with Keep() as call_:
            options_ = call_.struct(_raw.ggufx_quantizer_options,
                QuantizerOptions(output_type=output_type, embedding_type=embedding_type, imatrix=imatrix, imatrix_name=imatrix_name,
                reserve_bytes=reserve_bytes, feedback=feedback, flags=flags))
            own = KINDS["ggufx_quantizer"]()
            check(lib.ggufx_quantizer_create(byref(own), rt._handle, file._handle, file_type, options_, byref(e)), e)
            self._take(own, rt)

    @property
    def info(self) -> QuantizerFacts:
        """Describes a plan."""
        e = _raw.ggufx_error()
        with self._turns.reading:
            own = self._handle
            out = _raw.ggufx_quantizer_facts(struct_size=sizeof(_raw.ggufx_quantizer_facts))
            check(lib.ggufx_quantizer_info(byref(out), own, byref(e)), e)
            return QuantizerFacts._of(out)

    def tensor_at(self, index: int) -> QuantizerTensorFacts:
        """Describes tensor `index`, in the order of the output."""
        e = _raw.ggufx_error()
        with self._turns.reading:
            own = self._handle
            out = _raw.ggufx_quantizer_tensor_facts(struct_size=sizeof(_raw.ggufx_quantizer_tensor_facts))
            check(lib.ggufx_quantizer_tensor_at(byref(out), own, index, byref(e)), e)
            return QuantizerTensorFacts._of(out)

    def override_types(self, types: Ints) -> None:
        """Overrides the types of tensors: types[i] is for tensor i, or QUANTIZER_DEFAULT_TYPE.

        Replaces all earlier overrides. An override changes no other tensor: mixes that count layers also
        count overridden tensors. Tensors that are never quantized keep their type
        (QuantizerReason.KEPT). Rows that are not whole blocks get a fallback
        (QuantizerReason.FALLBACK).
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            types_ = numbers(types, U32, "types")
            self._check(lib.ggufx_quantizer_override_types(self._handle, address(types_), types_.size, byref(e)), e)

    def tensor_error(self, index: int, type: int, max_values: int, *, progress: Progress | None = None) -> float:
        """Measures the root mean squared error (RMSE) that a type would cause in tensor `index`.

        The error is unweighted and comes from up to max_values values in evenly spaced rows (0: all
        values).
        """
        e = _raw.ggufx_error()
        with self._turns.reading, Following() as call_:
            out = c_double()
            call_.end(lib.ggufx_quantizer_tensor_error(byref(out), self._handle, index, type, max_values,
                call_.follow(progress), byref(e)), e)
            return out.value

    def run(self, path: Path, *, progress: Progress | None = None,
            tensor_done: Callable[[int, QuantizerTensorFacts], object] | None = None, shard: int = 0,
            n_shards: int = 0, flags: int = 0) -> None:
        """Runs a quantizer: quantizes all tensors and writes the file by atomic replace.

        With QuantizerFlags.KEEP_SPLIT the output is a set, PREFIX-00001-of-0000N.gguf, where PREFIX is
        the path without ".gguf". The file is written as PATH.part, synced to disk and renamed, unless
        QuantizerFlags.NO_REPLACE is set and the name exists. It replaces an existing file atomically, a
        set as Writer.write does.

        PATH.part.log lists the complete tensors. After a kill or a power failure QuantizerRunFlags.RESUME
        continues; without this flag PATH.part is started again. A resumed run verifies the existing
        tensors by checksums. Memory: about 32 MiB and one row for any model, plus the tables of IQ
        types. Feedback needs more: 16 to 28 bytes per pair of columns of the widest matrix, its rows as
        f32, and the activations of the text twice. It makes its tensors first, in the order of the
        model; a resumed run computes the activations again.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Following() as call_:
            options_ = call_.struct(_raw.ggufx_quantizer_run_options,
                QuantizerRunOptions(progress=progress, tensor_done=tensor_done, shard=shard, n_shards=n_shards,
                flags=flags))
            self._check(lib.ggufx_quantizer_run(self._handle, path_bytes(path), options_, byref(e)), e, call_)

    def finish(self, path: Path, *, progress: Progress | None = None) -> None:
        """Completes the file after all shards: checks every tensor in PATH.part, writes the metadata,
        renames.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Following() as call_:
            self._check(lib.ggufx_quantizer_finish(self._handle, path_bytes(path), call_.follow(progress), byref(e)), e,
                call_)

    @property
    def tensors(self) -> Listed[QuantizerTensorFacts]:
        """Those of tensor_at, by number."""
        return Listed(lambda: self.info.n_tensors, self.tensor_at)


class Sampler(Object):
    """A chain of samplers, with its random state and the tokens that it accepted; exclusive."""

    _kind = "ggufx_sampler"
    _mutable = True

    def __init__(self, rt: Runtime, n_vocab: int, seed: int) -> None:
        """Creates an empty chain for vocabularies of up to n_vocab tokens, which samples from the unchanged
        logits.

        Takes 28 bytes per token of the vocabulary.
        """
        e = _raw.ggufx_error()
        own = KINDS["ggufx_sampler"]()
        check(lib.ggufx_sampler_create(byref(own), rt._handle, n_vocab, seed, byref(e)), e)
        self._take(own, rt)

    def sample(self, logits: Buffer, *, matcher: Matcher | None = None) -> tuple[int, float]:
        """Samples an id from n logits.

        With a matcher, the chain only sees matching tokens with ids below n, and the matcher accepts the
        chosen id. A call that fails changes neither sampler nor matcher.

        out_logprob  the natural log-probability of the id among all n tokens.
        matcher      tokens that may be sampled; None: all.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, turns_of(matcher).changing:
            logits_ = reads(logits, F32, "logits")
            out_id = c_int32()
            out_logprob = c_float()
            self._check(lib.ggufx_sampler_sample(byref(out_id), byref(out_logprob), self._handle, None if matcher is None else matcher._handle,
                address(logits_), logits_.size, byref(e)), e)
            return out_id.value, out_logprob.value

    def accept(self, ids: Ints) -> None:
        """Appends tokens to the history of a sampler, all or none, whether it sampled them or not.

        Tokens of a prompt may be appended too.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            ids_ = numbers(ids, I32, "ids")
            self._check(lib.ggufx_sampler_accept(self._handle, address(ids_), ids_.size, byref(e)), e)

    def reset(self) -> None:
        """Resets a sampler: no accepted tokens, the random state of the seed, the same chain."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_sampler_reset(self._handle, byref(e)), e)

    def clone(self: Self) -> Self:
        """Creates a copy of a sampler with its state."""
        e = _raw.ggufx_error()
        with self._turns.reading:
            own = KINDS["ggufx_sampler"]()
            check(lib.ggufx_sampler_clone(byref(own), self._handle, byref(e)), e)
            return type(self)._made(own, self)

    def add_top_k(self, k: int) -> None:
        """Keeps the k likeliest candidates.

        k  0: off.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_sampler_add_top_k(self._handle, k, byref(e)), e)

    def add_top_p(self, p: float) -> None:
        """Keeps the fewest candidates by rank whose p sum up to p or more (Holtzman et al., 2020).

        p  0 to 1; 0 and 1: off.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_sampler_add_top_p(self._handle, p, byref(e)), e)

    def add_min_p(self, p: float) -> None:
        """Keeps candidates with at least p times the largest weight, which is 1 (Nguyen et al., 2024).

        p  0 to 1; 0: off.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_sampler_add_min_p(self._handle, p, byref(e)), e)

    def add_typical(self, p: float) -> None:
        """Locally typical sampling: keeps the fewest candidates whose p sum up to p or more, in the order
        of the distance of -log p from the entropy (Meister et al., 2023).

        The entropy is log total - (sum of w * (logit - largest)) / total. Distances are computed in
        binary64 and rounded to binary32. If they are equal, the lower id comes first.

        p  0 to 1; 0 and 1: off.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_sampler_add_typical(self._handle, p, byref(e)), e)

    def add_top_n_sigma(self, n_sigma: float) -> None:
        """Keeps logits of at least the largest minus n_sigma standard deviations of the remaining logits
        (Tang et al., 2025).

        The deviation is in binary64: the mean, then the sum of squared differences from it, / n, root.

        n_sigma  0: off.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_sampler_add_top_n_sigma(self._handle, n_sigma, byref(e)), e)

    def add_xtc(self, probability: float, threshold: float) -> None:
        """Exclude top choices: if two or more candidates have a p of at least `threshold`, only the least
        likely of them stays.

        Takes one draw per sample. Candidates stay ordered by id or by rank as before.

        probability  0 to 1: how often it acts; 0: off, without a draw.
        threshold    0 to 1; 0 is 0.1.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_sampler_add_xtc(self._handle, probability, threshold, byref(e)), e)

    def add_temperature(self, temperature: float, *, range: float = 0.0, exponent: float = 0.0) -> None:
        """Divides logits by the temperature.

        temperature  below 2^-20 only the likeliest candidate stays (greedy sampling).
        options      may be None: a constant temperature.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Keep() as call_:
            options_ = call_.struct(_raw.ggufx_temperature_options, TemperatureOptions(range=range, exponent=exponent))
            self._check(lib.ggufx_sampler_add_temperature(self._handle, temperature, options_, byref(e)), e)

    def add_penalties(self, *, repeat: float = 0.0, frequency: float = 0.0, presence: float = 0.0,
            last_n: int = 0) -> None:
        """Penalizes tokens that occur c times in the last accepted tokens: by `repeat`, then by c *
        frequency + presence.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Keep() as call_:
            options_ = call_.struct(_raw.ggufx_penalty_options,
                PenaltyOptions(repeat=repeat, frequency=frequency, presence=presence, last_n=last_n))
            self._check(lib.ggufx_sampler_add_penalties(self._handle, options_, byref(e)), e)

    def add_dry(self, *, multiplier: float = 0.0, base: float = 0.0, allowed_length: int = 0, last_n: int = 0,
            sequence_breakers: Ints | None = None) -> None:
        """Don't repeat yourself (DRY): penalizes tokens that would extend a repeated sequence.

        If the last L of last_n accepted tokens occurred before, L >= allowed_length, the token that
        followed loses multiplier * base^(L - allowed_length), rounded once. The largest L of each token
        counts. Repeats do not cross a sequence breaker, and sequence breakers are not penalized.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Keep() as call_:
            options_ = call_.struct(_raw.ggufx_dry_options,
                DryOptions(multiplier=multiplier, base=base, allowed_length=allowed_length, last_n=last_n, sequence_breakers=sequence_breakers))
            self._check(lib.ggufx_sampler_add_dry(self._handle, options_, byref(e)), e)

    def add_logit_bias(self, biases: Sequence[LogitBias]) -> None:
        """Adds biases to logits; -infinity bans a token.

        biases  each id once; copied.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Keep() as call_:
            biases_ = call_.structs(_raw.ggufx_logit_bias, biases)[0]
            self._check(lib.ggufx_sampler_add_logit_bias(self._handle, biases_, len(biases), byref(e)), e)

    def add_mirostat(self, *, version: int = 0, m: int = 0, tau: float = 0.0, eta: float = 0.0) -> None:
        """Mirostat, version 1 or 2 (Basu et al., 2021): keeps the surprise -log2 p of tokens near tau. Must
        be last in a chain.

        mu starts as 2 tau. Accepting the drawn token subtracts eta times the excess of its surprise,
        among the candidates kept, over tau. Version 2 keeps the ranks up to the first whose surprise is
        above mu. Version 1 keeps (e 2^mu / (1 - n_vocab^-e))^(1 / s) ranks. s is the slope of log p over
        log rank of the m likeliest, e = s - 1; log(p / p') is the difference of the logits.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Keep() as call_:
            options_ = call_.struct(_raw.ggufx_mirostat_options, MirostatOptions(version=version, m=m, tau=tau, eta=eta))
            self._check(lib.ggufx_sampler_add_mirostat(self._handle, options_, byref(e)), e)

    def add_host(self, apply: Callable[[Array], object]) -> None:
        """Adds a sampler of the host: `apply` changes the logits of the n remaining candidates.

        They come by id or by rank and may be reordered. -infinity removes a candidate; one must stay.
        OK goes on, any other status ends the call with it. It must not call into the sampler.

        user  must live as long as the sampler and its clones.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Following() as call_:
            apply_, user_ = call_.stays(_CALL_1, apply, lambda f, candidates_,
                n_: f(records(_raw.ggufx_candidate, candidates_, n_)))
            self._check(lib.ggufx_sampler_add_host(self._handle, apply_, user_, byref(e)), e, call_)
            self._callbacks = [*self._callbacks, *call_.callbacks]


class Writer(Object):
    """The content of a file to write: keys and tensors in the order in which they were added."""

    _kind = "ggufx_writer"
    _mutable = True

    def copy_shard(self, file: File, rank: int, n_ranks: int, *, weights: Ints | None = None,
            flags: int = 0) -> None:
        """Sets the content of a writer to the file of one rank: the keys of a model, and its rows of the
        tensors.

        The rank opens this file in place of the model's file, with the same results. Other ranks may
        open their own files or the whole. All keys of `file` are copied, as Writer.copy_meta does.
        Keys "ggufx.rank.*" name the rank, its rows and the original shapes. For each tensor the file
        contains:

        - the rows that rank `rank` of n_ranks reads, as a tensor of two dimensions if these are not all
        - embeddings, norms and biases as a whole
        - one row, if the rank does not read the tensor

        Parameters:

        weights  as in GroupOptions; None: equal. A group without weights
                 uses those of the file.
        flags    GroupOptionsFlags.PIPELINE for pipeline parallelism: all rows of the rank's matrices, one row
                 of others.

        Model refuses such a file without a group, or for another group, rank, weights or
        kind of parallelism (MISMATCH). It refuses rows that the shapes have no room for (SPLIT).

        After an error the writer is as before.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            weights_ = None if weights is None else numbers(weights, U32, "weights", n_ranks)
            self._check(lib.ggufx_writer_copy_shard(self._handle, file._handle, rank, n_ranks, address_or_none(weights_),
                flags, byref(e)), e)

    def __init__(self, rt: Runtime, *, version: int = 0, reserve_bytes: int = 0, flags: int = 0) -> None:
        """Creates an empty writer."""
        e = _raw.ggufx_error()
        with Keep() as call_:
            options_ = call_.struct(_raw.ggufx_writer_options,
                WriterOptions(version=version, reserve_bytes=reserve_bytes, flags=flags))
            own = KINDS["ggufx_writer"]()
            check(lib.ggufx_writer_create(byref(own), rt._handle, options_, byref(e)), e)
            self._take(own, rt)

    def set_u64(self, key: Text, type: int, value: int) -> None:
        """Sets a key of `length` bytes to an integer of type ValueType.U8 .. _I64, or _BOOL for 0 and 1.

        An existing key keeps its position and gets the new value. "general.alignment" must be a U32 and
        a power of two; it decides the layout of the file (32 without it).
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            key_ = to_bytes(key)
            self._check(lib.ggufx_writer_set_u64(self._handle, key_, len(key_), type, value, byref(e)), e)

    def set_i64(self, key: Text, type: int, value: int) -> None:
        """Sets a key to a signed integer."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            key_ = to_bytes(key)
            self._check(lib.ggufx_writer_set_i64(self._handle, key_, len(key_), type, value, byref(e)), e)

    def set_f64(self, key: Text, type: int, value: float) -> None:
        """Sets a key to a number of type ValueType.F32 (rounded to nearest) or _F64."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            key_ = to_bytes(key)
            self._check(lib.ggufx_writer_set_f64(self._handle, key_, len(key_), type, value, byref(e)), e)

    def set_bool(self, key: Text, value: bool) -> None:
        """Sets a key to a bool: any value except 0 is true."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            key_ = to_bytes(key)
            self._check(lib.ggufx_writer_set_bool(self._handle, key_, len(key_), value, byref(e)), e)

    def set_string(self, key: Text, text: Text) -> None:
        """Sets a key to a string of any n_text bytes, copied."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            key_ = to_bytes(key)
            text_ = to_bytes(text)
            self._check(lib.ggufx_writer_set_string(self._handle, key_, len(key_), text_, len(text_), byref(e)), e)

    def set_array_string(self, key: Text, texts: Sequence[Text]) -> None:
        """Sets a key to an array of strings, copied. String i has lengths[i] bytes.
        texts  any bytes.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Keep() as call_:
            key_ = to_bytes(key)
            texts_, texts_lengths = call_.texts(texts)
            self._check(lib.ggufx_writer_set_array_string(self._handle, key_, len(key_), texts_, texts_lengths,
                len(texts), byref(e)), e)

    def set_value(self, key: Text, type: int, value: Buffer) -> None:
        """Sets a key to a value of any type, also arrays of arrays, given as bytes of a little-endian file.

        Numbers have their width. A string is a u64 length and bytes. An array is a u32 element type, a
        u64 count and elements. All of it is checked.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            key_ = to_bytes(key)
            value_ = raw_bytes(value, "value")
            self._check(lib.ggufx_writer_set_value(self._handle, key_, len(key_), type, address(value_),
                value_.nbytes, byref(e)), e)

    def unset(self, key: Text) -> None:
        """Removes a key."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            key_ = to_bytes(key)
            self._check(lib.ggufx_writer_unset(self._handle, key_, len(key_), byref(e)), e)

    def rename(self, key: Text, new_key: Text) -> None:
        """Renames a key, which keeps its position and value."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            key_ = to_bytes(key)
            new_key_ = to_bytes(new_key)
            self._check(lib.ggufx_writer_rename(self._handle, key_, len(key_), new_key_, len(new_key_), byref(e)), e)

    def copy_meta(self, file: File) -> None:
        """Sets all keys of a file, byte for byte.

        Exceptions: split.no, split.count and split.tensors.count of a set that was opened as one.
        "ggufx.split.id" is only copied from a part that was opened alone.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_writer_copy_meta(self._handle, file._handle, byref(e)), e)

    def add_tensor(self, tensor: Tensor, *, name: Text | None = None) -> None:
        """Adds a tensor of a file, memory (Tensor) or a slice.

        The source is kept until the writer is destroyed; the handle may be destroyed before.

        name  None: the name of the tensor.
        """
        e = _raw.ggufx_error()
        with self._turns.changing:
            name_ = None if name is None else to_bytes(name)
            self._check(lib.ggufx_writer_add_tensor(self._handle, tensor._handle, name_, 0 if name_ is None else len(name_),
                byref(e)), e)

    def copy_tensors(self, file: File) -> None:
        """Adds all tensors of a file, or none."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            self._check(lib.ggufx_writer_copy_tensors(self._handle, file._handle, byref(e)), e)

    def info(self, *, progress: Progress | None = None, max_part_bytes: int = 0, max_part_tensors: int = 0,
            flags: int = 0) -> WriterFacts:
        """Describes the result of a write with these options (None: default)."""
        e = _raw.ggufx_error()
        with self._turns.reading, Following() as call_:
            own = self._handle
            options_ = call_.struct(_raw.ggufx_write_options,
                WriteOptions(progress=progress, max_part_bytes=max_part_bytes, max_part_tensors=max_part_tensors,
                flags=flags))
            out = _raw.ggufx_writer_facts(struct_size=sizeof(_raw.ggufx_writer_facts))
            call_.end(lib.ggufx_writer_info(byref(out), own, options_, byref(e)), e)
            return WriterFacts._of(out)

    def write(self, path: Path, *, progress: Progress | None = None, max_part_bytes: int = 0,
            max_part_tensors: int = 0, flags: int = 0) -> None:
        """Writes the file, or the parts of a set, to a UTF-8 path by atomic replace.

        The file is written as PATH.part, synced to disk and renamed. It replaces an existing file, even
        a source of the tensors, and takes over its mode and, if permitted, its owner. A symbolic link
        stays, and its target is replaced. Links under names that the library makes up, PATH.part and
        parts of a set, are refused. After a failure an existing file is unchanged, and PATH.part is
        deleted.

        The parts of a set are renamed after all of them are complete, the first one last. The files that
        they replace are kept as PATH.part.old meanwhile. After a failure they are restored; after a kill
        Runtime.file_recover_edit or the next write restores them. All parts have the same key
        "ggufx.split.id", so that a mixture of two sets is refused (SPLIT).

        A write beyond RLIMIT_FSIZE raises SIGXFSZ, which ends a process that does not ignore it. This
        library never changes signals: a host that ignores it gets IO.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Following() as call_:
            options_ = call_.struct(_raw.ggufx_write_options,
                WriteOptions(progress=progress, max_part_bytes=max_part_bytes, max_part_tensors=max_part_tensors,
                flags=flags))
            self._check(lib.ggufx_writer_write(self._handle, path_bytes(path), options_, byref(e)), e, call_)

    def write_stream(self, write: Callable[[int, bytes], object], *, progress: Progress | None = None,
            max_part_bytes: int = 0, max_part_tensors: int = 0, flags: int = 0) -> None:
        """Writes through a callback.

        write gets the parts in order, numbered from 0, each with its bytes in order, at most 512 KiB per
        call. It returns Status.OK after it has taken all n bytes; another result ends the write with IO.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Following() as call_:
            write_, user_ = call_.on(_CALL_4, write, lambda f, part_, data_, n_: f(part_, string_at(data_, n_)))
            options_ = call_.struct(_raw.ggufx_write_options,
                WriteOptions(progress=progress, max_part_bytes=max_part_bytes, max_part_tensors=max_part_tensors,
                flags=flags))
            self._check(lib.ggufx_writer_write_stream(self._handle, write_, user_, options_, byref(e)), e, call_)

    def edit_info(self, file: File, *, progress: Progress | None = None, flags: int = 0) -> EditFacts:
        """Describes the effect of Writer.edit.

        The writer holds the new content of `file`. Create it with the file's version and byte order.
        Call Writer.copy_meta and Writer.copy_tensors, or Writer.add_tensor in the
        file's order to rename tensors. Then change keys with writer_set_*, _unset and _rename.

        The edit is made in place under these conditions; the size of "ggufx.reserve" is adapted:

        - The tensors are those of the file, in its order.
        - Only keys and names change, and reserve_bytes is 0.
        - The new metadata fit before the tensor data.
        """
        e = _raw.ggufx_error()
        with self._turns.reading, Following() as call_:
            own = self._handle
            options_ = call_.struct(_raw.ggufx_edit_options, EditOptions(progress=progress, flags=flags))
            out = _raw.ggufx_edit_facts(struct_size=sizeof(_raw.ggufx_edit_facts))
            call_.end(lib.ggufx_writer_edit_info(byref(out), own, file._handle, options_, byref(e)), e)
            return EditFacts._of(out)

    def edit(self, file: File, path: Path, *, progress: Progress | None = None, flags: int = 0) -> EditFacts:
        """Edits the file at `path`, from which `file` was opened.

        out  the effect of the edit.

        A new file is written as Writer.write does. An edit in place writes only the changed bytes
        before the tensor data. At every moment the disk has all of the old metadata or all of the new:

        - Changes within one sector of 512 bytes are one write.
        - Larger changes are first stored in a journal, PATH.patch, which stays until they are on the
          disk in the file too.

        A failed write is undone. After a crash Runtime.file_recover_edit finishes the edit; until then the
        file may not open. Other processes that have the file mapped see the changes.
        """
        e = _raw.ggufx_error()
        with self._turns.changing, Following() as call_:
            own = self._handle
            options_ = call_.struct(_raw.ggufx_edit_options, EditOptions(progress=progress, flags=flags))
            out = _raw.ggufx_edit_facts(struct_size=sizeof(_raw.ggufx_edit_facts))
            self._check(lib.ggufx_writer_edit(byref(out), own, file._handle, path_bytes(path), options_, byref(e)), e,
                call_)
            return EditFacts._of(out)


def status_name(status: int) -> str | None:
    """Returns the name of a status code without its prefix: "TRUNCATED", "OK" for 0. The result is
    never None.
    """
    result_ = lib.ggufx_status_name(status)
    return None if result_ is None else result_.decode()


def version() -> str:
    """Returns the version of the library as text: "0.1.0"."""
    result_ = lib.ggufx_version()
    return (result_ or b"").decode()


def abi_version() -> int:
    """Returns the version of the binary interface, to compare with ABI_VERSION."""
    result_ = lib.ggufx_abi_version()
    return result_


def struct_size(struct_name: Text) -> int:
    """Returns the size in bytes that this library has for a public struct: 512 for "Error". An
    unknown name gives 0.
    """
    result_ = lib.ggufx_struct_size(terminated(struct_name))
    return result_


def has(feature: Text) -> bool:
    """Returns 1 if this library has a feature, else 0.

    Features are:

    - "type:q4_K", "kv:f16", "isa:avx2": a tensor type, a KV cache type, an instruction set
    - "arch:llama": an architecture (general.architecture)
    - "vocab:gpt2" or "tokenizer:gpt2": a kind of vocabulary (tokenizer.ggml.model)
    - "pre:llama-bpe": a pre-tokenizer (tokenizer.ggml.pre)
    - "chat", "mimalloc", "cpuinfo": a part of the build
    """
    result_ = lib.ggufx_has(terminated(feature))
    return result_ != 0


def chat_template_builtin_name(index: int) -> str | None:
    """Returns the name of built-in format `index`, or None after the last one.

    The name is valid for the life of the process.
    """
    result_ = lib.ggufx_chat_template_builtin_name(index)
    return None if result_ is None else result_.decode()


def pre_tokenizer_count() -> int:
    """Returns the number of pre-tokenizers of this library."""
    result_ = lib.ggufx_pre_tokenizer_count()
    return result_


def pre_tokenizer_at(index: int) -> PreTokenizerFacts:
    """Describes pre-tokenizer `index`."""
    e = _raw.ggufx_error()
    out = _raw.ggufx_pre_tokenizer_facts(struct_size=sizeof(_raw.ggufx_pre_tokenizer_facts))
    check(lib.ggufx_pre_tokenizer_at(byref(out), index, byref(e)), e)
    return PreTokenizerFacts._of(out)


def file_type_count() -> int:
    """Returns the number of quantization mixes."""
    result_ = lib.ggufx_file_type_count()
    return result_


def file_type_at(index: int) -> FileTypeFacts:
    """Describes quantization mix `index`, in order of descending bits."""
    e = _raw.ggufx_error()
    out = _raw.ggufx_file_type_facts(struct_size=sizeof(_raw.ggufx_file_type_facts))
    check(lib.ggufx_file_type_at(byref(out), index, byref(e)), e)
    return FileTypeFacts._of(out)


def file_type_find(name: Text) -> int:
    """Finds the value of general.file_type by name, regardless of case. "Q4_K" is Q4_K_M."""
    e = _raw.ggufx_error()
    out = c_uint32()
    check(lib.ggufx_file_type_find(byref(out), terminated(name), byref(e)), e)
    return out.value


def type_info(type: int) -> TypeFacts:
    """Describes a type."""
    e = _raw.ggufx_error()
    out = _raw.ggufx_type_facts(struct_size=sizeof(_raw.ggufx_type_facts))
    check(lib.ggufx_type_info(byref(out), type, byref(e)), e)
    return TypeFacts._of(out)


def type_find(name: Text) -> TensorType:
    """Finds a type by name, regardless of case: "Q4_K"."""
    e = _raw.ggufx_error()
    out = c_uint32()
    check(lib.ggufx_type_find(byref(out), terminated(name), byref(e)), e)
    return TensorType(out.value)


def type_row_bytes(type: int, n: int) -> int:
    """Returns the bytes of a row of n values of a tensor in *out."""
    e = _raw.ggufx_error()
    out = c_uint64()
    check(lib.ggufx_type_row_bytes(byref(out), type, n, byref(e)), e)
    return out.value
