# Written by bindings/raw.py from include/ggufx; a test compares them.
# SPDX-License-Identifier: MIT
from __future__ import annotations

from ctypes import (Array, Structure, c_char, c_char_p, c_double, c_float, c_int32, c_int64,
    c_size_t, c_uint32, c_uint64, c_void_p)
from typing import Any, Callable

from ._checked import Checked


class ggufx_adapter_options(Checked):
    struct_size: int
    flags: int
    first_layer: int
    last_layer: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("first_layer", c_uint32),
        ("last_layer", c_uint32),
    ]


class ggufx_adapter_facts(Structure):
    struct_size: int
    flags: int
    kind: int
    n_targets: int
    rank: int
    reserved: int
    alpha: float
    fingerprint: int
    memory_bytes: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("kind", c_uint32),
        ("n_targets", c_uint32),
        ("rank", c_uint32),
        ("reserved", c_uint32),
        ("alpha", c_double),
        ("fingerprint", c_uint64),
        ("memory_bytes", c_uint64),
    ]


class ggufx_adapter_use(Checked):
    adapter: int | None
    scale: float
    reserved: int
    _fields_ = [
        ("adapter", c_void_p),
        ("scale", c_float),
        ("reserved", c_uint32),
    ]


class ggufx_error(Structure):
    status: int
    system_error: int
    offset: int
    index: int
    value: int
    limit: int
    reserved: Array[Any]
    message: bytes
    _fields_ = [
        ("status", c_int32),
        ("system_error", c_int32),
        ("offset", c_uint64),
        ("index", c_uint64),
        ("value", c_uint64),
        ("limit", c_uint64),
        ("reserved", c_uint64 * 3),
        ("message", c_char * 448),
    ]


class ggufx_allocator(Checked):
    struct_size: int
    flags: int
    user: int | None
    alloc: int | None
    free: int | None
    destroy: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("user", c_void_p),
        ("alloc", c_void_p),
        ("free", c_void_p),
        ("destroy", c_void_p),
    ]


class ggufx_log(Checked):
    struct_size: int
    flags: int
    user: int | None
    write: int | None
    destroy: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("user", c_void_p),
        ("write", c_void_p),
        ("destroy", c_void_p),
    ]


class ggufx_executor(Checked):
    struct_size: int
    flags: int
    max_workers: int
    reserved: int
    user: int | None
    parallel_for: int | None
    destroy: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("max_workers", c_uint32),
        ("reserved", c_uint32),
        ("user", c_void_p),
        ("parallel_for", c_void_p),
        ("destroy", c_void_p),
    ]


class ggufx_text(Checked):
    data: int | None
    size: int
    _fields_ = [
        ("data", c_void_p),
        ("size", c_size_t),
    ]


class ggufx_progress(Checked):
    report: int | None
    user: int | None
    _fields_ = [
        ("report", c_void_p),
        ("user", c_void_p),
    ]


class ggufx_runtime_options(Checked):
    struct_size: int
    flags: int
    allocator: int | None
    log: int | None
    executor: int | None
    threads: int
    isa: int
    workspace_bytes: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("allocator", c_void_p),
        ("log", c_void_p),
        ("executor", c_void_p),
        ("threads", c_uint32),
        ("isa", c_int32),
        ("workspace_bytes", c_uint64),
    ]


class ggufx_runtime_facts(Structure):
    struct_size: int
    flags: int
    isa: int
    threads: int
    features: int
    isa_name: int | None
    allocator_name: int | None
    workspace_bytes: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("isa", c_int32),
        ("threads", c_uint32),
        ("features", c_uint64),
        ("isa_name", c_void_p),
        ("allocator_name", c_void_p),
        ("workspace_bytes", c_uint64),
    ]


class ggufx_decode_item(Checked):
    struct_size: int
    flags: int
    sequence: int
    reserved: int
    tokens: int | None
    n_tokens: int
    input_rows: int | None
    n_input_rows: int
    positions: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("sequence", c_uint32),
        ("reserved", c_uint32),
        ("tokens", c_void_p),
        ("n_tokens", c_size_t),
        ("input_rows", c_void_p),
        ("n_input_rows", c_size_t),
        ("positions", c_void_p),
    ]


class ggufx_attention_hook(Checked):
    struct_size: int
    flags: int
    user: int | None
    layer: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("user", c_void_p),
        ("layer", c_void_p),
    ]


class ggufx_decode_options(Checked):
    struct_size: int
    flags: int
    progress: int | None
    logits: int | None
    n_logits: int
    matmul_flags: int
    reserved: int
    hidden: int | None
    n_hidden: int
    attention: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("progress", c_void_p),
        ("logits", c_void_p),
        ("n_logits", c_size_t),
        ("matmul_flags", c_uint32),
        ("reserved", c_uint32),
        ("hidden", c_void_p),
        ("n_hidden", c_size_t),
        ("attention", c_void_p),
    ]


class ggufx_chat_template_options(Checked):
    struct_size: int
    flags: int
    text: ggufx_text
    name: ggufx_text
    format: ggufx_text
    bos_token: ggufx_text
    eos_token: ggufx_text
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("text", ggufx_text),
        ("name", ggufx_text),
        ("format", ggufx_text),
        ("bos_token", ggufx_text),
        ("eos_token", ggufx_text),
    ]


class ggufx_chat_message(Checked):
    struct_size: int
    flags: int
    role: ggufx_text
    content: ggufx_text
    parts: ggufx_text
    tool_calls: ggufx_text
    extra: ggufx_text
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("role", ggufx_text),
        ("content", ggufx_text),
        ("parts", ggufx_text),
        ("tool_calls", ggufx_text),
        ("extra", ggufx_text),
    ]


class ggufx_chat_request(Checked):
    struct_size: int
    flags: int
    messages: int | None
    n_messages: int
    messages_json: ggufx_text
    tools: ggufx_text
    documents: ggufx_text
    variables: ggufx_text
    reasoning_effort: ggufx_text
    unix_time: int
    max_steps: int
    max_memory: int
    max_output: int
    progress: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("messages", c_void_p),
        ("n_messages", c_size_t),
        ("messages_json", ggufx_text),
        ("tools", ggufx_text),
        ("documents", ggufx_text),
        ("variables", ggufx_text),
        ("reasoning_effort", ggufx_text),
        ("unix_time", c_int64),
        ("max_steps", c_uint64),
        ("max_memory", c_uint64),
        ("max_output", c_uint64),
        ("progress", c_void_p),
    ]


class ggufx_chat_span(Checked):
    end: int
    user: int
    _fields_ = [
        ("end", c_uint64),
        ("user", c_uint64),
    ]


class ggufx_chat_template_facts(Structure):
    struct_size: int
    flags: int
    call_form: int
    call_notation: int
    reasoning_open: int | None
    reasoning_close: int | None
    call_prefix: int | None
    call_middle: int | None
    call_end: int | None
    call_before_key: int | None
    call_after_key: int | None
    call_after_key_other: int | None
    call_after_value: int | None
    call_quote: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("call_form", c_uint32),
        ("call_notation", c_uint32),
        ("reasoning_open", c_void_p),
        ("reasoning_close", c_void_p),
        ("call_prefix", c_void_p),
        ("call_middle", c_void_p),
        ("call_end", c_void_p),
        ("call_before_key", c_void_p),
        ("call_after_key", c_void_p),
        ("call_after_key_other", c_void_p),
        ("call_after_value", c_void_p),
        ("call_quote", c_void_p),
    ]


class ggufx_chat_parser_options(Checked):
    struct_size: int
    flags: int
    chat: int | None
    prompt: ggufx_text
    tools: ggufx_text
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("chat", c_void_p),
        ("prompt", ggufx_text),
        ("tools", ggufx_text),
    ]


class ggufx_chat_parser_facts(Structure):
    struct_size: int
    flags: int
    n_calls: int
    reasoning_close: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("n_calls", c_uint64),
        ("reasoning_close", c_void_p),
    ]


class ggufx_device_options(Checked):
    struct_size: int
    flags: int
    plugin_path: int | None
    cache_load: int | None
    cache_store: int | None
    cache_user: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("plugin_path", c_void_p),
        ("cache_load", c_void_p),
        ("cache_store", c_void_p),
        ("cache_user", c_void_p),
    ]


class ggufx_device_facts(Structure):
    struct_size: int
    flags: int
    fma: int
    reserved: int
    memory_bytes: int
    free_bytes: int
    used_bytes: int
    max_allocation: int
    n_launches: int
    id: bytes
    name: bytes
    driver: bytes
    reason: bytes
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("fma", c_uint32),
        ("reserved", c_uint32),
        ("memory_bytes", c_uint64),
        ("free_bytes", c_uint64),
        ("used_bytes", c_uint64),
        ("max_allocation", c_uint64),
        ("n_launches", c_uint64),
        ("id", c_char * 40),
        ("name", c_char * 128),
        ("driver", c_char * 96),
        ("reason", c_char * 224),
    ]


class ggufx_vulkan_options(Checked):
    struct_size: int
    flags: int
    get_instance_proc_addr: int | None
    instance: int | None
    physical_device: int | None
    device: int | None
    queue: int | None
    queue_family: int
    reserved: int
    lock: int | None
    unlock: int | None
    user: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("get_instance_proc_addr", c_void_p),
        ("instance", c_void_p),
        ("physical_device", c_void_p),
        ("device", c_void_p),
        ("queue", c_void_p),
        ("queue_family", c_uint32),
        ("reserved", c_uint32),
        ("lock", c_void_p),
        ("unlock", c_void_p),
        ("user", c_void_p),
    ]


class ggufx_embed_options(Checked):
    struct_size: int
    flags: int
    n_context: int
    n_batch: int
    pooling: int
    dimensions: int
    matmul_flags: int
    reserved: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("n_context", c_uint32),
        ("n_batch", c_uint32),
        ("pooling", c_uint32),
        ("dimensions", c_uint32),
        ("matmul_flags", c_uint32),
        ("reserved", c_uint32),
    ]


class ggufx_embedder_facts(Structure):
    struct_size: int
    flags: int
    n_context: int
    n_batch: int
    pooling: int
    dimensions: int
    full_dimensions: int
    reserved: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("n_context", c_uint32),
        ("n_batch", c_uint32),
        ("pooling", c_uint32),
        ("dimensions", c_uint32),
        ("full_dimensions", c_uint32),
        ("reserved", c_uint32),
    ]


class ggufx_estimate_options(Checked):
    struct_size: int
    flags: int
    file_type: int
    n_context: int
    n_batch: int
    n_sessions: int
    type_k: int
    type_v: int
    quantizer: int | None
    memory_bytes: int
    bandwidth: float
    n_context_total: int
    n_checkpoints: int
    n_sequences: int
    adapters: int | None
    n_adapters: int
    device_memory_bytes: int
    weights: int | None
    n_ranks: int
    rank: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("file_type", c_uint32),
        ("n_context", c_uint32),
        ("n_batch", c_uint32),
        ("n_sessions", c_uint32),
        ("type_k", c_uint32),
        ("type_v", c_uint32),
        ("quantizer", c_void_p),
        ("memory_bytes", c_uint64),
        ("bandwidth", c_double),
        ("n_context_total", c_uint64),
        ("n_checkpoints", c_uint32),
        ("n_sequences", c_uint32),
        ("adapters", c_void_p),
        ("n_adapters", c_size_t),
        ("device_memory_bytes", c_uint64),
        ("weights", c_void_p),
        ("n_ranks", c_uint32),
        ("rank", c_uint32),
    ]


class ggufx_estimate_facts(Structure):
    struct_size: int
    flags: int
    file_type: int
    n_context: int
    n_batch: int
    n_sessions: int
    type_k: int
    type_v: int
    max_context: int
    n_messages: int
    n_parameters: int
    weight_bytes: int
    file_bytes: int
    runtime_bytes: int
    model_bytes: int
    kv_bytes: int
    session_bytes: int
    total_bytes: int
    token_weight_bytes: int
    token_kv_bytes: int
    bits_per_weight: float
    weight_error: float
    loss: float
    tokens_per_second: float
    tokens_per_second_full: float
    adapter_file_bytes: int
    adapter_bytes: int
    device_bytes: int
    device_bytes_all: int
    n_device_layers: int
    n_layers: int
    rank_weight_bytes: int
    received_bytes: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("file_type", c_uint32),
        ("n_context", c_uint32),
        ("n_batch", c_uint32),
        ("n_sessions", c_uint32),
        ("type_k", c_uint32),
        ("type_v", c_uint32),
        ("max_context", c_uint32),
        ("n_messages", c_uint32),
        ("n_parameters", c_uint64),
        ("weight_bytes", c_uint64),
        ("file_bytes", c_uint64),
        ("runtime_bytes", c_uint64),
        ("model_bytes", c_uint64),
        ("kv_bytes", c_uint64),
        ("session_bytes", c_uint64),
        ("total_bytes", c_uint64),
        ("token_weight_bytes", c_uint64),
        ("token_kv_bytes", c_uint64),
        ("bits_per_weight", c_double),
        ("weight_error", c_double),
        ("loss", c_double),
        ("tokens_per_second", c_double),
        ("tokens_per_second_full", c_double),
        ("adapter_file_bytes", c_uint64),
        ("adapter_bytes", c_uint64),
        ("device_bytes", c_uint64),
        ("device_bytes_all", c_uint64),
        ("n_device_layers", c_uint32),
        ("n_layers", c_uint32),
        ("rank_weight_bytes", c_uint64),
        ("received_bytes", c_uint64),
    ]


class ggufx_eval_row(Checked):
    loss: float
    reference_loss: float
    kl_divergence: float
    flags: int
    token: int
    _fields_ = [
        ("loss", c_double),
        ("reference_loss", c_double),
        ("kl_divergence", c_double),
        ("flags", c_uint32),
        ("token", c_int32),
    ]


class ggufx_eval_facts(Structure):
    struct_size: int
    flags: int
    perplexity: float
    standard_error: float
    n_chunks: int
    n_tokens: int
    n_scored: int
    reference_perplexity: float
    reference_error: float
    log_ratio: float
    log_ratio_error: float
    kl: float
    kl_error: float
    kl_median: float
    kl_median_error: float
    kl_99: float
    kl_99_error: float
    kl_max: float
    same_top_token: float
    same_top_token_error: float
    rms_delta_p: float
    rms_delta_p_error: float
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("perplexity", c_double),
        ("standard_error", c_double),
        ("n_chunks", c_uint64),
        ("n_tokens", c_uint64),
        ("n_scored", c_uint64),
        ("reference_perplexity", c_double),
        ("reference_error", c_double),
        ("log_ratio", c_double),
        ("log_ratio_error", c_double),
        ("kl", c_double),
        ("kl_error", c_double),
        ("kl_median", c_double),
        ("kl_median_error", c_double),
        ("kl_99", c_double),
        ("kl_99_error", c_double),
        ("kl_max", c_double),
        ("same_top_token", c_double),
        ("same_top_token_error", c_double),
        ("rms_delta_p", c_double),
        ("rms_delta_p_error", c_double),
    ]


class ggufx_eval_options(Checked):
    struct_size: int
    flags: int
    stride: int
    reserved: int
    save_path: int | None
    write: int | None
    write_user: int | None
    reference_path: int | None
    read: int | None
    read_user: int | None
    report: int | None
    report_user: int | None
    progress: int | None
    rows: int | None
    rows_user: int | None
    reference_chunk: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("stride", c_uint32),
        ("reserved", c_uint32),
        ("save_path", c_void_p),
        ("write", c_void_p),
        ("write_user", c_void_p),
        ("reference_path", c_void_p),
        ("read", c_void_p),
        ("read_user", c_void_p),
        ("report", c_void_p),
        ("report_user", c_void_p),
        ("progress", c_void_p),
        ("rows", c_void_p),
        ("rows_user", c_void_p),
        ("reference_chunk", c_uint64),
    ]


class ggufx_logprob(Checked):
    id: int
    logprob: float
    _fields_ = [
        ("id", c_int32),
        ("logprob", c_float),
    ]


class ggufx_event_token(Checked):
    id: int
    logprob: float
    offset: int
    top: int | None
    n_top: int
    _fields_ = [
        ("id", c_int32),
        ("logprob", c_float),
        ("offset", c_uint64),
        ("top", c_void_p),
        ("n_top", c_size_t),
    ]


class ggufx_event(Checked):
    struct_size: int
    flags: int
    kind: int
    end: int
    status: int
    index: int
    text: ggufx_text
    tokens: int | None
    n_tokens: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("kind", c_uint32),
        ("end", c_uint32),
        ("status", c_int32),
        ("index", c_uint32),
        ("text", ggufx_text),
        ("tokens", c_void_p),
        ("n_tokens", c_size_t),
    ]


class ggufx_moments_facts(Structure):
    struct_size: int
    flags: int
    n_columns: int
    n_inputs: int
    memory_bytes: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("n_columns", c_uint64),
        ("n_inputs", c_uint64),
        ("memory_bytes", c_uint64),
    ]


class ggufx_moments_inputs(Checked):
    struct_size: int
    flags: int
    n: int
    n_columns: int
    rows: int | None
    source_rows: int | None
    progress: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("n", c_size_t),
        ("n_columns", c_size_t),
        ("rows", c_void_p),
        ("source_rows", c_void_p),
        ("progress", c_void_p),
    ]


class ggufx_feedback_args(Checked):
    struct_size: int
    flags: int
    type: int
    n_passes: int
    n_rows: int
    n_cols: int
    rows: int | None
    moments: int | None
    kept_out: int | None
    damping: float
    progress: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("type", c_uint32),
        ("n_passes", c_uint32),
        ("n_rows", c_size_t),
        ("n_cols", c_size_t),
        ("rows", c_void_p),
        ("moments", c_void_p),
        ("kept_out", c_void_p),
        ("damping", c_double),
        ("progress", c_void_p),
    ]


class ggufx_feedback_facts(Structure):
    struct_size: int
    flags: int
    is_used: int
    reserved: int
    error_before: float
    error_after: float
    kept_out_change: float
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("is_used", c_int32),
        ("reserved", c_uint32),
        ("error_before", c_double),
        ("error_after", c_double),
        ("kept_out_change", c_double),
    ]


class ggufx_open_options(Checked):
    struct_size: int
    flags: int
    dialect: int
    io: int
    progress: int | None
    max_metadata_bytes: int
    max_keys: int
    max_tensors: int
    max_string_bytes: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("dialect", c_int32),
        ("io", c_int32),
        ("progress", c_void_p),
        ("max_metadata_bytes", c_uint64),
        ("max_keys", c_uint64),
        ("max_tensors", c_uint64),
        ("max_string_bytes", c_uint64),
    ]


class ggufx_io(Checked):
    struct_size: int
    flags: int
    user: int | None
    size: int | None
    read_at: int | None
    map: int | None
    unmap: int | None
    close: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("user", c_void_p),
        ("size", c_void_p),
        ("read_at", c_void_p),
        ("map", c_void_p),
        ("unmap", c_void_p),
        ("close", c_void_p),
    ]


class ggufx_file_facts(Structure):
    struct_size: int
    flags: int
    version: int
    big_endian: int
    alignment: int
    n_parts: int
    meta_end: int
    data_offset: int
    file_size: int
    n_meta: int
    n_tensors: int
    n_values: int
    n_bytes: int
    n_missing: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("version", c_uint32),
        ("big_endian", c_uint32),
        ("alignment", c_uint64),
        ("n_parts", c_uint64),
        ("meta_end", c_uint64),
        ("data_offset", c_uint64),
        ("file_size", c_uint64),
        ("n_meta", c_uint64),
        ("n_tensors", c_uint64),
        ("n_values", c_uint64),
        ("n_bytes", c_uint64),
        ("n_missing", c_uint64),
    ]


class ggufx_file_memory_facts(Structure):
    struct_size: int
    flags: int
    mapped_bytes: int
    copied_bytes: int
    resident_bytes: int
    huge_bytes: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("mapped_bytes", c_uint64),
        ("copied_bytes", c_uint64),
        ("resident_bytes", c_uint64),
        ("huge_bytes", c_uint64),
    ]


class ggufx_meta_facts(Structure):
    struct_size: int
    flags: int
    type: int
    element_type: int
    key: ggufx_text
    count: int
    offset: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("type", c_int32),
        ("element_type", c_int32),
        ("key", ggufx_text),
        ("count", c_uint64),
        ("offset", c_uint64),
    ]


class ggufx_tensor_facts(Structure):
    struct_size: int
    flags: int
    type: int
    n_dims: int
    ne: Array[Any]
    row_bytes: int
    row_stride: int
    n_rows: int
    n_bytes: int
    offset: int
    file_offset: int
    part: int
    memory_kind: int
    name: ggufx_text
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("type", c_uint32),
        ("n_dims", c_uint32),
        ("ne", c_uint64 * 4),
        ("row_bytes", c_uint64),
        ("row_stride", c_uint64),
        ("n_rows", c_uint64),
        ("n_bytes", c_uint64),
        ("offset", c_uint64),
        ("file_offset", c_uint64),
        ("part", c_uint32),
        ("memory_kind", c_uint32),
        ("name", ggufx_text),
    ]


class ggufx_tensor_options(Checked):
    struct_size: int
    flags: int
    type: int
    n_dims: int
    ne: Array[Any]
    row_stride: int
    data: int | None
    n_bytes: int
    name: int | None
    destroy: int | None
    user: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("type", c_uint32),
        ("n_dims", c_uint32),
        ("ne", c_uint64 * 4),
        ("row_stride", c_uint64),
        ("data", c_void_p),
        ("n_bytes", c_uint64),
        ("name", c_void_p),
        ("destroy", c_void_p),
        ("user", c_void_p),
    ]


class ggufx_finding_facts(Structure):
    struct_size: int
    severity: int
    status: int
    reserved: int
    offset: int
    index: int
    text: int | None
    name: ggufx_text
    _fields_ = [
        ("struct_size", c_uint32),
        ("severity", c_int32),
        ("status", c_int32),
        ("reserved", c_uint32),
        ("offset", c_uint64),
        ("index", c_uint64),
        ("text", c_void_p),
        ("name", ggufx_text),
    ]


class ggufx_draft_options(Checked):
    struct_size: int
    flags: int
    session: int | None
    sequence: int
    n_draft: int
    n_match: int
    reserved: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("session", c_void_p),
        ("sequence", c_uint32),
        ("n_draft", c_uint32),
        ("n_match", c_uint32),
        ("reserved", c_uint32),
    ]


class ggufx_generator_options(Checked):
    struct_size: int
    flags: int
    sequence: int
    max_tokens: int
    tokenizer: int | None
    sampler: int | None
    grammar: int | None
    chat: int | None
    stops: int | None
    n_stops: int
    draft: int | None
    n_logprobs: int
    max_reasoning: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("sequence", c_uint32),
        ("max_tokens", c_uint32),
        ("tokenizer", c_void_p),
        ("sampler", c_void_p),
        ("grammar", c_void_p),
        ("chat", c_void_p),
        ("stops", c_void_p),
        ("n_stops", c_size_t),
        ("draft", c_void_p),
        ("n_logprobs", c_uint32),
        ("max_reasoning", c_uint32),
    ]


class ggufx_grammar_source(Checked):
    struct_size: int
    flags: int
    user: int | None
    find: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("user", c_void_p),
        ("find", c_void_p),
    ]


class ggufx_chat_prompt_options(Checked):
    struct_size: int
    flags: int
    chat: int | None
    tokenizer: int | None
    request: int | None
    tool_choice: int
    grammar_flags: int
    tool_name: ggufx_text
    tools: ggufx_text
    call_id: ggufx_text
    schema: ggufx_text
    grammars: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("chat", c_void_p),
        ("tokenizer", c_void_p),
        ("request", c_void_p),
        ("tool_choice", c_uint32),
        ("grammar_flags", c_uint32),
        ("tool_name", ggufx_text),
        ("tools", ggufx_text),
        ("call_id", ggufx_text),
        ("schema", ggufx_text),
        ("grammars", c_void_p),
    ]


class ggufx_prompt_part(Checked):
    struct_size: int
    flags: int
    text: ggufx_text
    tokens: int | None
    n_tokens: int
    rows: int | None
    n_rows: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("text", ggufx_text),
        ("tokens", c_void_p),
        ("n_tokens", c_size_t),
        ("rows", c_void_p),
        ("n_rows", c_size_t),
    ]


class ggufx_prompt(Checked):
    struct_size: int
    flags: int
    text: ggufx_text
    tokens: int | None
    n_tokens: int
    messages: int | None
    parts: int | None
    n_parts: int
    chat: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("text", ggufx_text),
        ("tokens", c_void_p),
        ("n_tokens", c_size_t),
        ("messages", c_void_p),
        ("parts", c_void_p),
        ("n_parts", c_size_t),
        ("chat", c_void_p),
    ]


class ggufx_step_item(Checked):
    struct_size: int
    flags: int
    generator: int | None
    n_tokens: int
    reserved: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("generator", c_void_p),
        ("n_tokens", c_uint32),
        ("reserved", c_uint32),
    ]


class ggufx_step_options(Checked):
    struct_size: int
    flags: int
    budget_us: int
    progress: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("budget_us", c_uint64),
        ("progress", c_void_p),
    ]


class ggufx_fork_options(Checked):
    struct_size: int
    flags: int
    sequence: int
    reserved: int
    seed: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("sequence", c_uint32),
        ("reserved", c_uint32),
        ("seed", c_uint64),
    ]


class ggufx_generator_facts(Structure):
    struct_size: int
    flags: int
    state: int
    end: int
    sequence: int
    n_events: int
    n_prompt: int
    n_prompt_reused: int
    n_prompt_left: int
    n_tokens: int
    n_reasoning: int
    n_drafted: int
    n_accepted: int
    memory_bytes: int
    sum_logprobs: float
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("state", c_uint32),
        ("end", c_uint32),
        ("sequence", c_uint32),
        ("n_events", c_uint32),
        ("n_prompt", c_uint64),
        ("n_prompt_reused", c_uint64),
        ("n_prompt_left", c_uint64),
        ("n_tokens", c_uint64),
        ("n_reasoning", c_uint64),
        ("n_drafted", c_uint64),
        ("n_accepted", c_uint64),
        ("memory_bytes", c_uint64),
        ("sum_logprobs", c_double),
    ]


class ggufx_grammar_options(Checked):
    struct_size: int
    flags: int
    kind: int
    reserved: int
    text: ggufx_text
    progress: int | None
    max_steps: int
    max_memory: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("kind", c_uint32),
        ("reserved", c_uint32),
        ("text", ggufx_text),
        ("progress", c_void_p),
        ("max_steps", c_uint64),
        ("max_memory", c_uint64),
    ]


class ggufx_matcher_facts(Structure):
    struct_size: int
    flags: int
    n_tokens: int
    n_vocab: int
    n_words: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("n_tokens", c_uint64),
        ("n_vocab", c_uint32),
        ("n_words", c_uint32),
    ]


class ggufx_group(Checked):
    struct_size: int
    flags: int
    user: int | None
    rank: int
    size: int
    allgather: int | None
    allgatherv: int | None
    broadcast: int | None
    barrier: int | None
    abort: int | None
    destroy: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("user", c_void_p),
        ("rank", c_uint32),
        ("size", c_uint32),
        ("allgather", c_void_p),
        ("allgatherv", c_void_p),
        ("broadcast", c_void_p),
        ("barrier", c_void_p),
        ("abort", c_void_p),
        ("destroy", c_void_p),
    ]


class ggufx_group_options(Checked):
    struct_size: int
    flags: int
    group: int | None
    weights: int | None
    timeout_ms: int
    start_timeout_ms: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("group", c_void_p),
        ("weights", c_void_p),
        ("timeout_ms", c_uint32),
        ("start_timeout_ms", c_uint32),
    ]


class ggufx_imatrix_facts(Structure):
    struct_size: int
    flags: int
    n_entries: int
    n_datasets: int
    n_chunks: int
    chunk_tokens: int
    format: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("n_entries", c_uint64),
        ("n_datasets", c_uint64),
        ("n_chunks", c_uint64),
        ("chunk_tokens", c_uint32),
        ("format", c_int32),
    ]


class ggufx_imatrix_entry(Checked):
    struct_size: int
    flags: int
    name: ggufx_text
    n_columns: int
    n_matrices: int
    sums: int | None
    counts: int | None
    values: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("name", ggufx_text),
        ("n_columns", c_uint64),
        ("n_matrices", c_uint64),
        ("sums", c_void_p),
        ("counts", c_void_p),
        ("values", c_void_p),
    ]


class ggufx_imatrix_options(Checked):
    struct_size: int
    flags: int
    dataset: int | None
    progress: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("dataset", c_void_p),
        ("progress", c_void_p),
    ]


class ggufx_kv_layer_options(Checked):
    struct_size: int
    flags: int
    type_k: int
    type_v: int
    window: int
    window_kind: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("type_k", c_uint32),
        ("type_v", c_uint32),
        ("window", c_uint32),
        ("window_kind", c_uint32),
    ]


class ggufx_kv_options(Checked):
    struct_size: int
    flags: int
    n_layers: int
    n_kv_heads: int
    n_q_heads: int
    head_dim_k: int
    head_dim_v: int
    type_k: int
    type_v: int
    n_sequences: int
    max_tokens: int
    n_sink_tokens: int
    rope_style: int
    rope_dims: int
    rope_base: float
    rope_scale: float
    n_layer_options: int
    layers: int | None
    model: int
    rope_frequencies: int | None
    n_rope_frequencies: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("n_layers", c_uint32),
        ("n_kv_heads", c_uint32),
        ("n_q_heads", c_uint32),
        ("head_dim_k", c_uint32),
        ("head_dim_v", c_uint32),
        ("type_k", c_uint32),
        ("type_v", c_uint32),
        ("n_sequences", c_uint32),
        ("max_tokens", c_uint64),
        ("n_sink_tokens", c_uint32),
        ("rope_style", c_uint32),
        ("rope_dims", c_uint32),
        ("rope_base", c_float),
        ("rope_scale", c_float),
        ("n_layer_options", c_uint32),
        ("layers", c_void_p),
        ("model", c_uint64),
        ("rope_frequencies", c_void_p),
        ("n_rope_frequencies", c_size_t),
    ]


class ggufx_kv_tokens(Checked):
    struct_size: int
    flags: int
    layer: int
    sequence: int
    type: int
    reserved: int
    n_tokens: int
    sequences: int | None
    positions: int | None
    k: int | None
    n_k: int
    v: int | None
    n_v: int
    k_stride: int
    v_stride: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("layer", c_uint32),
        ("sequence", c_uint32),
        ("type", c_uint32),
        ("reserved", c_uint32),
        ("n_tokens", c_size_t),
        ("sequences", c_void_p),
        ("positions", c_void_p),
        ("k", c_void_p),
        ("n_k", c_size_t),
        ("v", c_void_p),
        ("n_v", c_size_t),
        ("k_stride", c_size_t),
        ("v_stride", c_size_t),
    ]


class ggufx_attend_options(Checked):
    struct_size: int
    flags: int
    scale: float
    softcap: float
    window: int
    window_kind: int
    alibi_slopes: int | None
    n_alibi_slopes: int
    sink_logits: int | None
    n_sink_logits: int
    progress: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("scale", c_float),
        ("softcap", c_float),
        ("window", c_uint32),
        ("window_kind", c_uint32),
        ("alibi_slopes", c_void_p),
        ("n_alibi_slopes", c_size_t),
        ("sink_logits", c_void_p),
        ("n_sink_logits", c_size_t),
        ("progress", c_void_p),
    ]


class ggufx_kv_queries(Checked):
    struct_size: int
    flags: int
    layer: int
    sequence: int
    n_queries: int
    sequences: int | None
    positions: int | None
    q: int | None
    n_q: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("layer", c_uint32),
        ("sequence", c_uint32),
        ("n_queries", c_size_t),
        ("sequences", c_void_p),
        ("positions", c_void_p),
        ("q", c_void_p),
        ("n_q", c_size_t),
    ]


class ggufx_kv_range(Checked):
    struct_size: int
    flags: int
    layer: int
    sequence: int
    first: int
    n_tokens: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("layer", c_uint32),
        ("sequence", c_uint32),
        ("first", c_uint64),
        ("n_tokens", c_uint64),
    ]


class ggufx_kv_facts(Structure):
    struct_size: int
    flags: int
    type_k: int
    type_v: int
    n_tokens: int
    n_pages: int
    n_plain_pages: int
    n_shared_pages: int
    page_bytes: int
    bytes_per_token: int
    bits_per_value: float
    k_error: float
    v_error: float
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("type_k", c_uint32),
        ("type_v", c_uint32),
        ("n_tokens", c_uint64),
        ("n_pages", c_uint64),
        ("n_plain_pages", c_uint64),
        ("n_shared_pages", c_uint64),
        ("page_bytes", c_uint64),
        ("bytes_per_token", c_uint64),
        ("bits_per_value", c_double),
        ("k_error", c_double),
        ("v_error", c_double),
    ]


class ggufx_matmul_options(Checked):
    struct_size: int
    flags: int
    progress: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("progress", c_void_p),
    ]


class ggufx_product(Checked):
    struct_size: int
    flags: int
    w: int | None
    x: int | None
    n_x: int
    ldx: int
    n: int
    y: int | None
    n_y: int
    ldy: int
    ids: int | None
    n_used: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("w", c_void_p),
        ("x", c_void_p),
        ("n_x", c_size_t),
        ("ldx", c_size_t),
        ("n", c_size_t),
        ("y", c_void_p),
        ("n_y", c_size_t),
        ("ldy", c_size_t),
        ("ids", c_void_p),
        ("n_used", c_size_t),
    ]


class ggufx_token_list(Checked):
    tokens: int | None
    n_tokens: int
    _fields_ = [
        ("tokens", c_void_p),
        ("n_tokens", c_size_t),
    ]


class ggufx_detokenizer_state(Checked):
    waiting: int
    flags: int
    reserved: int
    _fields_ = [
        ("waiting", c_uint64),
        ("flags", c_uint32),
        ("reserved", c_uint32),
    ]


class ggufx_token_facts(Structure):
    struct_size: int
    flags: int
    id: int
    score: float
    text: ggufx_text
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("id", c_int32),
        ("score", c_float),
        ("text", ggufx_text),
    ]


class ggufx_tokenizer_facts(Structure):
    struct_size: int
    flags: int
    kind: int | None
    n_tokens: int
    bos: int
    eos: int
    unknown: int
    pre: int | None
    eot: int
    eom: int
    separator: int
    pad: int
    mask: int
    fim_prefix: int
    fim_suffix: int
    fim_middle: int
    fim_pad: int
    fim_repository: int
    fim_separator: int
    reserved: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("kind", c_void_p),
        ("n_tokens", c_uint32),
        ("bos", c_int32),
        ("eos", c_int32),
        ("unknown", c_int32),
        ("pre", c_void_p),
        ("eot", c_int32),
        ("eom", c_int32),
        ("separator", c_int32),
        ("pad", c_int32),
        ("mask", c_int32),
        ("fim_prefix", c_int32),
        ("fim_suffix", c_int32),
        ("fim_middle", c_int32),
        ("fim_pad", c_int32),
        ("fim_repository", c_int32),
        ("fim_separator", c_int32),
        ("reserved", c_uint32),
    ]


class ggufx_pre_tokenizer_facts(Structure):
    struct_size: int
    flags: int
    name: int | None
    rules: int | None
    pipeline: ggufx_text
    unicode: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("name", c_void_p),
        ("rules", c_void_p),
        ("pipeline", ggufx_text),
        ("unicode", c_void_p),
    ]


class ggufx_model_override(Checked):
    key: int | None
    value: int | None
    _fields_ = [
        ("key", c_void_p),
        ("value", c_void_p),
    ]


class ggufx_model_options(Checked):
    struct_size: int
    flags: int
    overrides: int | None
    n_overrides: int
    progress: int | None
    group: int | None
    device: int | None
    n_device_layers: int
    reserved: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("overrides", c_void_p),
        ("n_overrides", c_size_t),
        ("progress", c_void_p),
        ("group", c_void_p),
        ("device", c_void_p),
        ("n_device_layers", c_uint32),
        ("reserved", c_uint32),
    ]


class ggufx_model_facts(Structure):
    struct_size: int
    flags: int
    architecture: int | None
    n_parameters: int
    weight_bytes: int
    n_vocab: int
    n_context: int
    n_embedding: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    n_device_layers: int
    identity: int
    device_bytes: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("architecture", c_void_p),
        ("n_parameters", c_uint64),
        ("weight_bytes", c_uint64),
        ("n_vocab", c_uint32),
        ("n_context", c_uint32),
        ("n_embedding", c_uint32),
        ("n_layers", c_uint32),
        ("n_heads", c_uint32),
        ("n_kv_heads", c_uint32),
        ("head_dim", c_uint32),
        ("n_device_layers", c_uint32),
        ("identity", c_uint64),
        ("device_bytes", c_uint64),
    ]


class ggufx_layer_facts(Structure):
    struct_size: int
    flags: int
    kind: int
    n_heads: int
    n_kv_heads: int
    head_dim_k: int
    head_dim_v: int
    window: int
    kv_layer: int
    scale: float
    softcap: float
    reserved: int
    state_bytes: int
    sink_logits: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("kind", c_uint32),
        ("n_heads", c_uint32),
        ("n_kv_heads", c_uint32),
        ("head_dim_k", c_uint32),
        ("head_dim_v", c_uint32),
        ("window", c_uint32),
        ("kv_layer", c_uint32),
        ("scale", c_float),
        ("softcap", c_float),
        ("reserved", c_uint32),
        ("state_bytes", c_uint64),
        ("sink_logits", c_void_p),
    ]


class ggufx_session_options(Checked):
    struct_size: int
    flags: int
    n_context: int
    n_batch: int
    type_k: int
    type_v: int
    matmul_flags: int
    reserved: int
    n_context_total: int
    n_checkpoints: int
    n_sequences: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("n_context", c_uint32),
        ("n_batch", c_uint32),
        ("type_k", c_uint32),
        ("type_v", c_uint32),
        ("matmul_flags", c_uint32),
        ("reserved", c_uint32),
        ("n_context_total", c_uint64),
        ("n_checkpoints", c_uint32),
        ("n_sequences", c_uint32),
    ]


class ggufx_session_facts(Structure):
    struct_size: int
    flags: int
    n_context: int
    n_batch: int
    type_k: int
    type_v: int
    n_sequences: int
    reserved: int
    n_context_total: int
    cache_bytes: int
    n_pages: int
    n_shared_pages: int
    n_tokens: int
    n_tokens_left: int
    embedded_bytes: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("n_context", c_uint32),
        ("n_batch", c_uint32),
        ("type_k", c_uint32),
        ("type_v", c_uint32),
        ("n_sequences", c_uint32),
        ("reserved", c_uint32),
        ("n_context_total", c_uint64),
        ("cache_bytes", c_uint64),
        ("n_pages", c_uint64),
        ("n_shared_pages", c_uint64),
        ("n_tokens", c_uint64),
        ("n_tokens_left", c_uint64),
        ("embedded_bytes", c_uint64),
    ]


class ggufx_quantize_args(Checked):
    struct_size: int
    flags: int
    type: int
    mode: int
    n_rows: int
    n_cols: int
    rows: int | None
    imatrix: int | None
    progress: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("type", c_uint32),
        ("mode", c_int32),
        ("n_rows", c_size_t),
        ("n_cols", c_size_t),
        ("rows", c_void_p),
        ("imatrix", c_void_p),
        ("progress", c_void_p),
    ]


class ggufx_file_type_facts(Structure):
    struct_size: int
    flags: int
    name: int | None
    file_type: int
    type: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("name", c_void_p),
        ("file_type", c_uint32),
        ("type", c_uint32),
    ]


class ggufx_quantizer_feedback(Checked):
    struct_size: int
    flags: int
    tokens: int | None
    n_tokens: int
    n_context: int
    bos: int
    n_passes: int
    reserved: int
    damping: float
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("tokens", c_void_p),
        ("n_tokens", c_size_t),
        ("n_context", c_uint32),
        ("bos", c_int32),
        ("n_passes", c_uint32),
        ("reserved", c_uint32),
        ("damping", c_double),
    ]


class ggufx_quantizer_options(Checked):
    struct_size: int
    flags: int
    output_type: int
    embedding_type: int
    imatrix: int | None
    imatrix_name: int | None
    reserve_bytes: int
    feedback: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("output_type", c_uint32),
        ("embedding_type", c_uint32),
        ("imatrix", c_void_p),
        ("imatrix_name", c_void_p),
        ("reserve_bytes", c_uint64),
        ("feedback", c_void_p),
    ]


class ggufx_quantizer_facts(Structure):
    struct_size: int
    flags: int
    n_tensors: int
    n_parts: int
    n_values: int
    bytes_in: int
    bytes_out: int
    file_bytes: int
    n_fallbacks: int
    n_missing: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("n_tensors", c_uint64),
        ("n_parts", c_uint64),
        ("n_values", c_uint64),
        ("bytes_in", c_uint64),
        ("bytes_out", c_uint64),
        ("file_bytes", c_uint64),
        ("n_fallbacks", c_uint64),
        ("n_missing", c_uint64),
    ]


class ggufx_quantizer_tensor_facts(Structure):
    struct_size: int
    flags: int
    name: ggufx_text
    ne: Array[Any]
    n_dims: int
    from_: int
    to: int
    wanted: int
    reason: int
    imatrix: int
    part: int
    reserved: int
    bytes_in: int
    bytes_out: int
    rmse: float
    seconds: float
    error_before: float
    error_after: float
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("name", ggufx_text),
        ("ne", c_uint64 * 4),
        ("n_dims", c_uint32),
        ("from_", c_uint32),
        ("to", c_uint32),
        ("wanted", c_uint32),
        ("reason", c_int32),
        ("imatrix", c_int32),
        ("part", c_uint32),
        ("reserved", c_uint32),
        ("bytes_in", c_uint64),
        ("bytes_out", c_uint64),
        ("rmse", c_double),
        ("seconds", c_double),
        ("error_before", c_double),
        ("error_after", c_double),
    ]


class ggufx_quantizer_run_options(Checked):
    struct_size: int
    flags: int
    progress: int | None
    tensor_done: int | None
    user: int | None
    shard: int
    n_shards: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("progress", c_void_p),
        ("tensor_done", c_void_p),
        ("user", c_void_p),
        ("shard", c_uint32),
        ("n_shards", c_uint32),
    ]


class ggufx_temperature_options(Checked):
    struct_size: int
    flags: int
    range: float
    exponent: float
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("range", c_float),
        ("exponent", c_float),
    ]


class ggufx_penalty_options(Checked):
    struct_size: int
    flags: int
    repeat: float
    frequency: float
    presence: float
    last_n: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("repeat", c_float),
        ("frequency", c_float),
        ("presence", c_float),
        ("last_n", c_uint32),
    ]


class ggufx_dry_options(Checked):
    struct_size: int
    flags: int
    multiplier: float
    base: float
    allowed_length: int
    last_n: int
    sequence_breakers: int | None
    n_sequence_breakers: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("multiplier", c_float),
        ("base", c_float),
        ("allowed_length", c_uint32),
        ("last_n", c_uint32),
        ("sequence_breakers", c_void_p),
        ("n_sequence_breakers", c_size_t),
    ]


class ggufx_logit_bias(Checked):
    id: int
    bias: float
    _fields_ = [
        ("id", c_int32),
        ("bias", c_float),
    ]


class ggufx_mirostat_options(Checked):
    struct_size: int
    flags: int
    version: int
    m: int
    tau: float
    eta: float
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("version", c_uint32),
        ("m", c_uint32),
        ("tau", c_float),
        ("eta", c_float),
    ]


class ggufx_candidate(Checked):
    id: int
    logit: float
    _fields_ = [
        ("id", c_int32),
        ("logit", c_float),
    ]


class ggufx_sampling_facts(Structure):
    struct_size: int
    flags: int
    ignored: int
    top_k: int
    temperature: float
    top_p: float
    min_p: float
    xtc_probability: float
    xtc_threshold: float
    repeat: float
    last_n: int
    mirostat: int
    tau: float
    eta: float
    n_samplers: int
    samplers: Array[Any]
    reserved: int
    n_suppressed: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("ignored", c_uint32),
        ("top_k", c_uint32),
        ("temperature", c_float),
        ("top_p", c_float),
        ("min_p", c_float),
        ("xtc_probability", c_float),
        ("xtc_threshold", c_float),
        ("repeat", c_float),
        ("last_n", c_uint32),
        ("mirostat", c_uint32),
        ("tau", c_float),
        ("eta", c_float),
        ("n_samplers", c_uint32),
        ("samplers", c_uint32 * 16),
        ("reserved", c_uint32),
        ("n_suppressed", c_uint64),
    ]


class ggufx_type_facts(Structure):
    struct_size: int
    flags: int
    id: int
    block_values: int
    block_bytes: int
    reserved: int
    name: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("id", c_uint32),
        ("block_values", c_uint32),
        ("block_bytes", c_uint32),
        ("reserved", c_uint32),
        ("name", c_void_p),
    ]


class ggufx_writer_options(Checked):
    struct_size: int
    flags: int
    version: int
    reserved: int
    reserve_bytes: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("version", c_uint32),
        ("reserved", c_uint32),
        ("reserve_bytes", c_uint64),
    ]


class ggufx_tensor_stream(Checked):
    struct_size: int
    flags: int
    user: int | None
    read: int | None
    destroy: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("user", c_void_p),
        ("read", c_void_p),
        ("destroy", c_void_p),
    ]


class ggufx_write_options(Checked):
    struct_size: int
    flags: int
    progress: int | None
    max_part_bytes: int
    max_part_tensors: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("progress", c_void_p),
        ("max_part_bytes", c_uint64),
        ("max_part_tensors", c_uint64),
    ]


class ggufx_writer_facts(Structure):
    struct_size: int
    flags: int
    n_meta: int
    n_tensors: int
    n_parts: int
    n_bytes: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("n_meta", c_uint64),
        ("n_tensors", c_uint64),
        ("n_parts", c_uint64),
        ("n_bytes", c_uint64),
    ]


class ggufx_edit_options(Checked):
    struct_size: int
    flags: int
    progress: int | None
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("progress", c_void_p),
    ]


class ggufx_edit_facts(Structure):
    struct_size: int
    flags: int
    in_place: int
    reserved: int
    n_bytes: int
    reserve_bytes: int
    n_written: int
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("in_place", c_uint32),
        ("reserved", c_uint32),
        ("n_bytes", c_uint64),
        ("reserve_bytes", c_uint64),
        ("n_written", c_uint64),
    ]


STRUCTS: list[type[Structure]] = [
    ggufx_adapter_options,
    ggufx_adapter_facts,
    ggufx_adapter_use,
    ggufx_error,
    ggufx_allocator,
    ggufx_log,
    ggufx_executor,
    ggufx_text,
    ggufx_progress,
    ggufx_runtime_options,
    ggufx_runtime_facts,
    ggufx_decode_item,
    ggufx_attention_hook,
    ggufx_decode_options,
    ggufx_chat_template_options,
    ggufx_chat_message,
    ggufx_chat_request,
    ggufx_chat_span,
    ggufx_chat_template_facts,
    ggufx_chat_parser_options,
    ggufx_chat_parser_facts,
    ggufx_device_options,
    ggufx_device_facts,
    ggufx_vulkan_options,
    ggufx_embed_options,
    ggufx_embedder_facts,
    ggufx_estimate_options,
    ggufx_estimate_facts,
    ggufx_eval_row,
    ggufx_eval_facts,
    ggufx_eval_options,
    ggufx_logprob,
    ggufx_event_token,
    ggufx_event,
    ggufx_moments_facts,
    ggufx_moments_inputs,
    ggufx_feedback_args,
    ggufx_feedback_facts,
    ggufx_open_options,
    ggufx_io,
    ggufx_file_facts,
    ggufx_file_memory_facts,
    ggufx_meta_facts,
    ggufx_tensor_facts,
    ggufx_tensor_options,
    ggufx_finding_facts,
    ggufx_draft_options,
    ggufx_generator_options,
    ggufx_grammar_source,
    ggufx_chat_prompt_options,
    ggufx_prompt_part,
    ggufx_prompt,
    ggufx_step_item,
    ggufx_step_options,
    ggufx_fork_options,
    ggufx_generator_facts,
    ggufx_grammar_options,
    ggufx_matcher_facts,
    ggufx_group,
    ggufx_group_options,
    ggufx_imatrix_facts,
    ggufx_imatrix_entry,
    ggufx_imatrix_options,
    ggufx_kv_layer_options,
    ggufx_kv_options,
    ggufx_kv_tokens,
    ggufx_attend_options,
    ggufx_kv_queries,
    ggufx_kv_range,
    ggufx_kv_facts,
    ggufx_matmul_options,
    ggufx_product,
    ggufx_token_list,
    ggufx_detokenizer_state,
    ggufx_token_facts,
    ggufx_tokenizer_facts,
    ggufx_pre_tokenizer_facts,
    ggufx_model_override,
    ggufx_model_options,
    ggufx_model_facts,
    ggufx_layer_facts,
    ggufx_session_options,
    ggufx_session_facts,
    ggufx_quantize_args,
    ggufx_file_type_facts,
    ggufx_quantizer_feedback,
    ggufx_quantizer_options,
    ggufx_quantizer_facts,
    ggufx_quantizer_tensor_facts,
    ggufx_quantizer_run_options,
    ggufx_temperature_options,
    ggufx_penalty_options,
    ggufx_dry_options,
    ggufx_logit_bias,
    ggufx_mirostat_options,
    ggufx_candidate,
    ggufx_sampling_facts,
    ggufx_type_facts,
    ggufx_writer_options,
    ggufx_tensor_stream,
    ggufx_write_options,
    ggufx_writer_facts,
    ggufx_edit_options,
    ggufx_edit_facts,
]


class Functions:
    ggufx_adapter_create: Callable[..., int]
    ggufx_adapter_destroy: Callable[..., None]
    ggufx_adapter_info: Callable[..., int]
    ggufx_session_set_adapters: Callable[..., int]
    ggufx_embedder_set_adapters: Callable[..., int]
    ggufx_adapter_has_tensor: Callable[..., int]
    ggufx_adapter_add_rows: Callable[..., int]
    ggufx_status_name: Callable[..., bytes | None]
    ggufx_version: Callable[..., bytes | None]
    ggufx_abi_version: Callable[..., int]
    ggufx_struct_size: Callable[..., int]
    ggufx_has: Callable[..., int]
    ggufx_runtime_create: Callable[..., int]
    ggufx_runtime_destroy: Callable[..., None]
    ggufx_runtime_info: Callable[..., int]
    ggufx_session_decode: Callable[..., int]
    ggufx_session_length: Callable[..., int]
    ggufx_session_truncate: Callable[..., int]
    ggufx_session_remove: Callable[..., int]
    ggufx_session_shift: Callable[..., int]
    ggufx_session_tokens: Callable[..., int]
    ggufx_session_copy: Callable[..., int]
    ggufx_session_save: Callable[..., int]
    ggufx_session_load: Callable[..., int]
    ggufx_session_save_file: Callable[..., int]
    ggufx_session_load_file: Callable[..., int]
    ggufx_chat_template_create: Callable[..., int]
    ggufx_chat_template_destroy: Callable[..., None]
    ggufx_chat_template_builtin_name: Callable[..., bytes | None]
    ggufx_chat_template_render: Callable[..., int]
    ggufx_chat_template_spans: Callable[..., int]
    ggufx_chat_template_tokenize: Callable[..., int]
    ggufx_chat_template_info: Callable[..., int]
    ggufx_chat_parser_create: Callable[..., int]
    ggufx_chat_parser_destroy: Callable[..., None]
    ggufx_chat_parser_feed: Callable[..., int]
    ggufx_chat_parser_finish: Callable[..., int]
    ggufx_chat_parser_poll: Callable[..., int]
    ggufx_chat_parser_info: Callable[..., int]
    ggufx_device_list: Callable[..., int]
    ggufx_device_open: Callable[..., int]
    ggufx_device_create_vulkan: Callable[..., int]
    ggufx_device_detach: Callable[..., None]
    ggufx_device_destroy: Callable[..., None]
    ggufx_device_info: Callable[..., int]
    ggufx_tensor_upload: Callable[..., int]
    ggufx_tensor_download: Callable[..., int]
    ggufx_tensor_checksum: Callable[..., int]
    ggufx_embedder_create: Callable[..., int]
    ggufx_embedder_destroy: Callable[..., None]
    ggufx_embedder_estimate: Callable[..., int]
    ggufx_embedder_info: Callable[..., int]
    ggufx_embed: Callable[..., int]
    ggufx_estimate: Callable[..., int]
    ggufx_recommend: Callable[..., int]
    ggufx_eval_perplexity: Callable[..., int]
    ggufx_eval_merge: Callable[..., int]
    ggufx_eval_continuations: Callable[..., int]
    ggufx_moments_create: Callable[..., int]
    ggufx_moments_destroy: Callable[..., None]
    ggufx_moments_info: Callable[..., int]
    ggufx_moments_add: Callable[..., int]
    ggufx_quantize_feedback: Callable[..., int]
    ggufx_open: Callable[..., int]
    ggufx_open_fd: Callable[..., int]
    ggufx_open_memory: Callable[..., int]
    ggufx_open_io: Callable[..., int]
    ggufx_file_destroy: Callable[..., None]
    ggufx_file_info: Callable[..., int]
    ggufx_file_memory: Callable[..., int]
    ggufx_file_meta_count: Callable[..., int]
    ggufx_file_meta_at: Callable[..., int]
    ggufx_file_meta_find: Callable[..., int]
    ggufx_file_meta_u64: Callable[..., int]
    ggufx_file_meta_i64: Callable[..., int]
    ggufx_file_meta_f64: Callable[..., int]
    ggufx_file_meta_bool: Callable[..., int]
    ggufx_file_meta_string: Callable[..., int]
    ggufx_file_meta_array_u64: Callable[..., int]
    ggufx_file_meta_array_i64: Callable[..., int]
    ggufx_file_meta_array_f64: Callable[..., int]
    ggufx_file_meta_array_string: Callable[..., int]
    ggufx_file_meta_array_nested: Callable[..., int]
    ggufx_file_tensor_count: Callable[..., int]
    ggufx_file_tensor: Callable[..., int | None]
    ggufx_file_tensor_find: Callable[..., int]
    ggufx_tensor_info: Callable[..., int]
    ggufx_tensor_data: Callable[..., int | None]
    ggufx_tensor_create: Callable[..., int]
    ggufx_tensor_slice: Callable[..., int]
    ggufx_tensor_destroy: Callable[..., None]
    ggufx_file_validate: Callable[..., int]
    ggufx_generator_create: Callable[..., int]
    ggufx_generator_destroy: Callable[..., None]
    ggufx_chat_prompt_create: Callable[..., int]
    ggufx_chat_prompt_destroy: Callable[..., None]
    ggufx_chat_prompt_tokens: Callable[..., int]
    ggufx_generator_set_prompt: Callable[..., int]
    ggufx_generator_poll: Callable[..., int]
    ggufx_session_step: Callable[..., int]
    ggufx_generator_next: Callable[..., int]
    ggufx_generator_cancel: Callable[..., None]
    ggufx_generator_suspend: Callable[..., int]
    ggufx_generator_resume: Callable[..., int]
    ggufx_generator_truncate: Callable[..., int]
    ggufx_generator_fork: Callable[..., int]
    ggufx_generator_save: Callable[..., int]
    ggufx_generator_load: Callable[..., int]
    ggufx_generator_tokens: Callable[..., int]
    ggufx_generator_info: Callable[..., int]
    ggufx_grammar_create: Callable[..., int]
    ggufx_grammar_destroy: Callable[..., None]
    ggufx_matcher_create: Callable[..., int]
    ggufx_matcher_clone: Callable[..., int]
    ggufx_matcher_destroy: Callable[..., None]
    ggufx_matcher_accept: Callable[..., int]
    ggufx_matcher_rollback: Callable[..., int]
    ggufx_matcher_mask: Callable[..., int]
    ggufx_matcher_info: Callable[..., int]
    ggufx_writer_copy_shard: Callable[..., int]
    ggufx_imatrix_open: Callable[..., int]
    ggufx_imatrix_open_memory: Callable[..., int]
    ggufx_imatrix_destroy: Callable[..., None]
    ggufx_imatrix_info: Callable[..., int]
    ggufx_imatrix_entry_at: Callable[..., int]
    ggufx_imatrix_find: Callable[..., int]
    ggufx_imatrix_dataset_at: Callable[..., int]
    ggufx_imatrix_keep_entries: Callable[..., int]
    ggufx_imatrix_merge: Callable[..., int]
    ggufx_imatrix_create: Callable[..., int]
    ggufx_imatrix_write: Callable[..., int]
    ggufx_kv_create: Callable[..., int]
    ggufx_kv_estimate: Callable[..., int]
    ggufx_kv_destroy: Callable[..., None]
    ggufx_kv_reserve: Callable[..., int]
    ggufx_kv_append: Callable[..., int]
    ggufx_kv_attend: Callable[..., int]
    ggufx_kv_read: Callable[..., int]
    ggufx_kv_scores: Callable[..., int]
    ggufx_kv_length: Callable[..., int]
    ggufx_kv_positions: Callable[..., int]
    ggufx_kv_truncate: Callable[..., int]
    ggufx_kv_begin: Callable[..., int]
    ggufx_kv_commit: Callable[..., int]
    ggufx_kv_rollback: Callable[..., int]
    ggufx_kv_remove: Callable[..., int]
    ggufx_kv_copy: Callable[..., int]
    ggufx_kv_shift: Callable[..., int]
    ggufx_kv_keep: Callable[..., int]
    ggufx_kv_calibrate: Callable[..., int]
    ggufx_kv_save: Callable[..., int]
    ggufx_kv_load: Callable[..., int]
    ggufx_kv_save_file: Callable[..., int]
    ggufx_kv_load_file: Callable[..., int]
    ggufx_kv_requantize: Callable[..., int]
    ggufx_kv_compact: Callable[..., int]
    ggufx_kv_clear: Callable[..., int]
    ggufx_kv_info: Callable[..., int]
    ggufx_matvec: Callable[..., int]
    ggufx_matmul: Callable[..., int]
    ggufx_tokenizer_create: Callable[..., int]
    ggufx_tokenizer_destroy: Callable[..., None]
    ggufx_tokenize: Callable[..., int]
    ggufx_detokenize: Callable[..., int]
    ggufx_detokenize_stream: Callable[..., int]
    ggufx_token_info: Callable[..., int]
    ggufx_tokenizer_info: Callable[..., int]
    ggufx_pre_tokenizer_count: Callable[..., int]
    ggufx_pre_tokenizer_at: Callable[..., int]
    ggufx_model_create: Callable[..., int]
    ggufx_model_destroy: Callable[..., None]
    ggufx_model_info: Callable[..., int]
    ggufx_model_layer_info: Callable[..., int]
    ggufx_model_describe_graph: Callable[..., int]
    ggufx_session_create: Callable[..., int]
    ggufx_session_destroy: Callable[..., None]
    ggufx_session_info: Callable[..., int]
    ggufx_dequantize: Callable[..., int]
    ggufx_quantize: Callable[..., int]
    ggufx_file_type_count: Callable[..., int]
    ggufx_file_type_at: Callable[..., int]
    ggufx_file_type_find: Callable[..., int]
    ggufx_quantizer_create: Callable[..., int]
    ggufx_quantizer_destroy: Callable[..., None]
    ggufx_quantizer_info: Callable[..., int]
    ggufx_quantizer_tensor_at: Callable[..., int]
    ggufx_quantizer_override_types: Callable[..., int]
    ggufx_quantizer_tensor_error: Callable[..., int]
    ggufx_quantizer_run: Callable[..., int]
    ggufx_quantizer_finish: Callable[..., int]
    ggufx_sampler_create: Callable[..., int]
    ggufx_sampler_destroy: Callable[..., None]
    ggufx_sampler_sample: Callable[..., int]
    ggufx_sampler_accept: Callable[..., int]
    ggufx_sampler_reset: Callable[..., int]
    ggufx_sampler_clone: Callable[..., int]
    ggufx_sampler_add_top_k: Callable[..., int]
    ggufx_sampler_add_top_p: Callable[..., int]
    ggufx_sampler_add_min_p: Callable[..., int]
    ggufx_sampler_add_typical: Callable[..., int]
    ggufx_sampler_add_top_n_sigma: Callable[..., int]
    ggufx_sampler_add_xtc: Callable[..., int]
    ggufx_sampler_add_temperature: Callable[..., int]
    ggufx_sampler_add_penalties: Callable[..., int]
    ggufx_sampler_add_dry: Callable[..., int]
    ggufx_sampler_add_logit_bias: Callable[..., int]
    ggufx_sampler_add_mirostat: Callable[..., int]
    ggufx_sampler_add_host: Callable[..., int]
    ggufx_file_sampling: Callable[..., int]
    ggufx_logprobs: Callable[..., int]
    ggufx_type_info: Callable[..., int]
    ggufx_type_find: Callable[..., int]
    ggufx_type_row_bytes: Callable[..., int]
    ggufx_runtime_kernel_name: Callable[..., bytes | None]
    ggufx_writer_create: Callable[..., int]
    ggufx_writer_destroy: Callable[..., None]
    ggufx_writer_set_u64: Callable[..., int]
    ggufx_writer_set_i64: Callable[..., int]
    ggufx_writer_set_f64: Callable[..., int]
    ggufx_writer_set_bool: Callable[..., int]
    ggufx_writer_set_string: Callable[..., int]
    ggufx_writer_set_array: Callable[..., int]
    ggufx_writer_set_array_string: Callable[..., int]
    ggufx_writer_set_value: Callable[..., int]
    ggufx_writer_unset: Callable[..., int]
    ggufx_writer_rename: Callable[..., int]
    ggufx_writer_copy_meta: Callable[..., int]
    ggufx_writer_add_tensor: Callable[..., int]
    ggufx_writer_copy_tensors: Callable[..., int]
    ggufx_writer_add_stream: Callable[..., int]
    ggufx_writer_info: Callable[..., int]
    ggufx_writer_write: Callable[..., int]
    ggufx_writer_write_stream: Callable[..., int]
    ggufx_writer_edit_info: Callable[..., int]
    ggufx_writer_edit: Callable[..., int]
    ggufx_file_recover_edit: Callable[..., int]


PROTOTYPES: dict[str, tuple[Any, list[Any]]] = {
    "ggufx_adapter_create": (c_int32, [c_void_p, "ggufx_model", "ggufx_file", c_void_p, c_void_p]),
    "ggufx_adapter_destroy": (None, ["ggufx_adapter"]),
    "ggufx_adapter_info": (c_int32, [c_void_p, "ggufx_adapter", c_void_p]),
    "ggufx_session_set_adapters": (c_int32, ["ggufx_session", c_uint32, c_void_p, c_size_t,
        c_void_p]),
    "ggufx_embedder_set_adapters": (c_int32, ["ggufx_embedder", c_void_p, c_size_t, c_void_p]),
    "ggufx_adapter_has_tensor": (c_int32, ["ggufx_adapter", c_size_t]),
    "ggufx_adapter_add_rows": (c_int32, [c_void_p, c_size_t, "ggufx_adapter", c_size_t, c_uint64,
        c_uint64, c_float, c_void_p]),
    "ggufx_status_name": (c_char_p, [c_int32]),
    "ggufx_version": (c_char_p, []),
    "ggufx_abi_version": (c_uint32, []),
    "ggufx_struct_size": (c_size_t, [c_void_p]),
    "ggufx_has": (c_int32, [c_void_p]),
    "ggufx_runtime_create": (c_int32, [c_void_p, c_void_p, c_void_p]),
    "ggufx_runtime_destroy": (None, ["ggufx_runtime"]),
    "ggufx_runtime_info": (c_int32, [c_void_p, "ggufx_runtime", c_void_p]),
    "ggufx_session_decode": (c_int32, ["ggufx_session", c_void_p, c_size_t, c_void_p, c_void_p]),
    "ggufx_session_length": (c_uint64, ["ggufx_session", c_uint32]),
    "ggufx_session_truncate": (c_int32, ["ggufx_session", c_uint32, c_uint64, c_void_p]),
    "ggufx_session_remove": (c_int32, ["ggufx_session", c_uint32, c_uint64, c_uint64, c_void_p]),
    "ggufx_session_shift": (c_int32, ["ggufx_session", c_uint32, c_uint64, c_uint64, c_int32,
        c_void_p]),
    "ggufx_session_tokens": (c_int32, [c_void_p, c_void_p, "ggufx_session", c_uint32, c_uint64,
        c_uint64, c_void_p]),
    "ggufx_session_copy": (c_int32, ["ggufx_session", c_uint32, c_uint32, c_uint64, c_void_p]),
    "ggufx_session_save": (c_int32, ["ggufx_session", c_uint32, c_void_p, c_void_p, c_void_p]),
    "ggufx_session_load": (c_int32, ["ggufx_session", c_uint32, c_void_p, c_void_p, c_void_p]),
    "ggufx_session_save_file": (c_int32, ["ggufx_session", c_uint32, c_void_p, c_void_p]),
    "ggufx_session_load_file": (c_int32, ["ggufx_session", c_uint32, c_void_p, c_void_p]),
    "ggufx_chat_template_create": (c_int32, [c_void_p, "ggufx_runtime", "ggufx_file", c_void_p,
        c_void_p]),
    "ggufx_chat_template_destroy": (None, ["ggufx_chat_template"]),
    "ggufx_chat_template_builtin_name": (c_char_p, [c_size_t]),
    "ggufx_chat_template_render": (c_int32, [c_void_p, c_size_t, c_void_p, "ggufx_chat_template",
        c_void_p, c_void_p]),
    "ggufx_chat_template_spans": (c_int32, [c_void_p, c_size_t, c_void_p, "ggufx_chat_template",
        c_void_p, c_void_p]),
    "ggufx_chat_template_tokenize": (c_int32, [c_void_p, c_size_t, c_void_p, "ggufx_chat_template",
        "ggufx_tokenizer", c_void_p, c_uint32, c_void_p]),
    "ggufx_chat_template_info": (c_int32, [c_void_p, "ggufx_chat_template", c_void_p]),
    "ggufx_chat_parser_create": (c_int32, [c_void_p, "ggufx_runtime", c_void_p, c_void_p]),
    "ggufx_chat_parser_destroy": (None, ["ggufx_chat_parser"]),
    "ggufx_chat_parser_feed": (c_int32, ["ggufx_chat_parser", c_void_p, c_size_t, c_void_p]),
    "ggufx_chat_parser_finish": (c_int32, ["ggufx_chat_parser", c_void_p]),
    "ggufx_chat_parser_poll": (c_int32, [c_void_p, "ggufx_chat_parser", c_void_p]),
    "ggufx_chat_parser_info": (c_int32, [c_void_p, "ggufx_chat_parser", c_void_p]),
    "ggufx_device_list": (c_int32, [c_void_p, c_size_t, c_void_p, "ggufx_runtime", c_void_p,
        c_void_p]),
    "ggufx_device_open": (c_int32, [c_void_p, "ggufx_runtime", c_void_p, c_void_p, c_void_p]),
    "ggufx_device_create_vulkan": (c_int32, [c_void_p, "ggufx_runtime", c_void_p, c_void_p,
        c_void_p]),
    "ggufx_device_detach": (None, ["ggufx_device"]),
    "ggufx_device_destroy": (None, ["ggufx_device"]),
    "ggufx_device_info": (c_int32, [c_void_p, "ggufx_device", c_void_p]),
    "ggufx_tensor_upload": (c_int32, [c_void_p, "ggufx_device", "ggufx_tensor", c_void_p,
        c_void_p]),
    "ggufx_tensor_download": (c_int32, [c_void_p, c_size_t, "ggufx_tensor", c_void_p]),
    "ggufx_tensor_checksum": (c_int32, [c_void_p, "ggufx_tensor", c_void_p]),
    "ggufx_embedder_create": (c_int32, [c_void_p, "ggufx_model", c_void_p, c_void_p]),
    "ggufx_embedder_destroy": (None, ["ggufx_embedder"]),
    "ggufx_embedder_estimate": (c_int32, [c_void_p, "ggufx_runtime", "ggufx_file", c_void_p,
        c_void_p]),
    "ggufx_embedder_info": (c_int32, [c_void_p, "ggufx_embedder", c_void_p]),
    "ggufx_embed": (c_int32, [c_void_p, c_size_t, "ggufx_embedder", c_void_p, c_size_t, c_void_p,
        c_void_p]),
    "ggufx_estimate": (c_int32, [c_void_p, "ggufx_runtime", "ggufx_file", c_void_p, c_void_p]),
    "ggufx_recommend": (c_int32, [c_void_p, "ggufx_runtime", "ggufx_file", c_void_p, c_void_p]),
    "ggufx_eval_perplexity": (c_int32, [c_void_p, "ggufx_session", c_void_p, c_size_t, c_uint32,
        c_int32, c_void_p, c_void_p]),
    "ggufx_eval_merge": (c_int32, [c_void_p, "ggufx_runtime", c_void_p, c_size_t, c_uint64,
        c_uint32, c_uint32, c_void_p]),
    "ggufx_eval_continuations": (c_int32, [c_void_p, "ggufx_session", c_void_p, c_size_t, c_void_p,
        c_size_t, c_void_p, c_void_p]),
    "ggufx_moments_create": (c_int32, [c_void_p, "ggufx_runtime", c_size_t, c_uint32, c_void_p]),
    "ggufx_moments_destroy": (None, ["ggufx_moments"]),
    "ggufx_moments_info": (c_int32, [c_void_p, "ggufx_moments", c_void_p]),
    "ggufx_moments_add": (c_int32, ["ggufx_moments", c_void_p, c_void_p]),
    "ggufx_quantize_feedback": (c_int32, [c_void_p, c_size_t, "ggufx_runtime", c_void_p, c_void_p,
        c_void_p]),
    "ggufx_open": (c_int32, [c_void_p, "ggufx_runtime", c_void_p, c_void_p, c_void_p]),
    "ggufx_open_fd": (c_int32, [c_void_p, "ggufx_runtime", c_int32, c_uint64, c_uint64, c_void_p,
        c_void_p]),
    "ggufx_open_memory": (c_int32, [c_void_p, "ggufx_runtime", c_void_p, c_size_t, c_void_p,
        c_void_p, c_void_p, c_void_p]),
    "ggufx_open_io": (c_int32, [c_void_p, "ggufx_runtime", c_void_p, c_void_p, c_void_p]),
    "ggufx_file_destroy": (None, ["ggufx_file"]),
    "ggufx_file_info": (c_int32, [c_void_p, "ggufx_file", c_void_p]),
    "ggufx_file_memory": (c_int32, [c_void_p, "ggufx_file", c_void_p]),
    "ggufx_file_meta_count": (c_size_t, ["ggufx_file"]),
    "ggufx_file_meta_at": (c_int32, [c_void_p, "ggufx_file", c_size_t, c_void_p]),
    "ggufx_file_meta_find": (c_int32, [c_void_p, "ggufx_file", c_void_p, c_size_t, c_void_p]),
    "ggufx_file_meta_u64": (c_int32, [c_void_p, "ggufx_file", c_size_t, c_void_p]),
    "ggufx_file_meta_i64": (c_int32, [c_void_p, "ggufx_file", c_size_t, c_void_p]),
    "ggufx_file_meta_f64": (c_int32, [c_void_p, "ggufx_file", c_size_t, c_void_p]),
    "ggufx_file_meta_bool": (c_int32, [c_void_p, "ggufx_file", c_size_t, c_void_p]),
    "ggufx_file_meta_string": (c_int32, [c_void_p, "ggufx_file", c_size_t, c_void_p]),
    "ggufx_file_meta_array_u64": (c_int32, [c_void_p, "ggufx_file", c_size_t, c_uint64, c_size_t,
        c_void_p]),
    "ggufx_file_meta_array_i64": (c_int32, [c_void_p, "ggufx_file", c_size_t, c_uint64, c_size_t,
        c_void_p]),
    "ggufx_file_meta_array_f64": (c_int32, [c_void_p, "ggufx_file", c_size_t, c_uint64, c_size_t,
        c_void_p]),
    "ggufx_file_meta_array_string": (c_int32, [c_void_p, "ggufx_file", c_size_t, c_uint64,
        c_void_p]),
    "ggufx_file_meta_array_nested": (c_int32, [c_void_p, "ggufx_file", c_size_t, c_uint64,
        c_void_p]),
    "ggufx_file_tensor_count": (c_size_t, ["ggufx_file"]),
    "ggufx_file_tensor": (c_void_p, ["ggufx_file", c_size_t]),
    "ggufx_file_tensor_find": (c_int32, [c_void_p, "ggufx_file", c_void_p, c_size_t, c_void_p]),
    "ggufx_tensor_info": (c_int32, [c_void_p, "ggufx_tensor", c_void_p]),
    "ggufx_tensor_data": (c_void_p, ["ggufx_tensor"]),
    "ggufx_tensor_create": (c_int32, [c_void_p, "ggufx_runtime", c_void_p, c_void_p]),
    "ggufx_tensor_slice": (c_int32, [c_void_p, "ggufx_tensor", c_uint32, c_uint64, c_uint64,
        c_void_p]),
    "ggufx_tensor_destroy": (None, ["ggufx_tensor"]),
    "ggufx_file_validate": (c_int32, ["ggufx_file", c_uint32, c_void_p, c_void_p, c_void_p,
        c_void_p]),
    "ggufx_generator_create": (c_int32, [c_void_p, "ggufx_session", c_void_p, c_void_p]),
    "ggufx_generator_destroy": (None, ["ggufx_generator"]),
    "ggufx_chat_prompt_create": (c_int32, [c_void_p, c_void_p, c_void_p]),
    "ggufx_chat_prompt_destroy": (None, ["ggufx_chat_prompt"]),
    "ggufx_chat_prompt_tokens": (c_int32, [c_void_p, c_size_t, c_void_p, "ggufx_chat_prompt",
        c_void_p]),
    "ggufx_generator_set_prompt": (c_int32, ["ggufx_generator", c_void_p, c_void_p]),
    "ggufx_generator_poll": (c_int32, [c_void_p, "ggufx_generator", c_void_p]),
    "ggufx_session_step": (c_int32, [c_void_p, "ggufx_session", c_void_p, c_size_t, c_void_p,
        c_void_p]),
    "ggufx_generator_next": (c_int32, [c_void_p, "ggufx_generator", c_void_p, c_void_p]),
    "ggufx_generator_cancel": (None, ["ggufx_generator"]),
    "ggufx_generator_suspend": (c_int32, ["ggufx_generator", c_void_p]),
    "ggufx_generator_resume": (c_int32, [c_void_p, "ggufx_generator", c_uint32, c_void_p]),
    "ggufx_generator_truncate": (c_int32, ["ggufx_generator", c_uint64, c_void_p]),
    "ggufx_generator_fork": (c_int32, [c_void_p, "ggufx_generator", c_void_p, c_void_p]),
    "ggufx_generator_save": (c_int32, ["ggufx_generator", c_void_p, c_void_p, c_void_p]),
    "ggufx_generator_load": (c_int32, [c_void_p, "ggufx_session", c_void_p, c_void_p, c_void_p,
        c_void_p]),
    "ggufx_generator_tokens": (c_int32, [c_void_p, c_size_t, c_void_p, "ggufx_generator",
        c_void_p]),
    "ggufx_generator_info": (c_int32, [c_void_p, "ggufx_generator", c_void_p]),
    "ggufx_grammar_create": (c_int32, [c_void_p, "ggufx_runtime", "ggufx_tokenizer", c_void_p,
        c_void_p]),
    "ggufx_grammar_destroy": (None, ["ggufx_grammar"]),
    "ggufx_matcher_create": (c_int32, [c_void_p, "ggufx_grammar", c_void_p]),
    "ggufx_matcher_clone": (c_int32, [c_void_p, "ggufx_matcher", c_void_p]),
    "ggufx_matcher_destroy": (None, ["ggufx_matcher"]),
    "ggufx_matcher_accept": (c_int32, ["ggufx_matcher", c_void_p, c_size_t, c_void_p]),
    "ggufx_matcher_rollback": (c_int32, ["ggufx_matcher", c_uint64, c_void_p]),
    "ggufx_matcher_mask": (c_int32, [c_void_p, c_size_t, "ggufx_matcher", c_void_p]),
    "ggufx_matcher_info": (c_int32, [c_void_p, "ggufx_matcher", c_void_p]),
    "ggufx_writer_copy_shard": (c_int32, ["ggufx_writer", "ggufx_file", c_uint32, c_uint32,
        c_void_p, c_uint32, c_void_p]),
    "ggufx_imatrix_open": (c_int32, [c_void_p, "ggufx_runtime", c_void_p, c_void_p, c_void_p]),
    "ggufx_imatrix_open_memory": (c_int32, [c_void_p, "ggufx_runtime", c_void_p, c_size_t,
        c_void_p]),
    "ggufx_imatrix_destroy": (None, ["ggufx_imatrix"]),
    "ggufx_imatrix_info": (c_int32, [c_void_p, "ggufx_imatrix", c_void_p]),
    "ggufx_imatrix_entry_at": (c_int32, [c_void_p, "ggufx_imatrix", c_size_t, c_void_p]),
    "ggufx_imatrix_find": (c_int32, [c_void_p, "ggufx_imatrix", c_void_p, c_size_t, c_void_p]),
    "ggufx_imatrix_dataset_at": (c_int32, [c_void_p, "ggufx_imatrix", c_size_t, c_void_p]),
    "ggufx_imatrix_keep_entries": (c_int32, ["ggufx_imatrix", c_void_p, c_size_t, c_void_p]),
    "ggufx_imatrix_merge": (c_int32, ["ggufx_imatrix", "ggufx_imatrix", c_void_p]),
    "ggufx_imatrix_create": (c_int32, [c_void_p, "ggufx_session", c_void_p, c_size_t, c_uint32,
        c_int32, c_void_p, c_void_p]),
    "ggufx_imatrix_write": (c_int32, ["ggufx_imatrix", c_void_p, c_int32, c_void_p, c_void_p]),
    "ggufx_kv_create": (c_int32, [c_void_p, "ggufx_runtime", c_void_p, c_void_p]),
    "ggufx_kv_estimate": (c_int32, [c_void_p, "ggufx_runtime", c_void_p, c_uint64, c_void_p]),
    "ggufx_kv_destroy": (None, ["ggufx_kv"]),
    "ggufx_kv_reserve": (c_int32, ["ggufx_kv", c_uint32, c_uint64, c_void_p]),
    "ggufx_kv_append": (c_int32, ["ggufx_kv", c_void_p, c_void_p]),
    "ggufx_kv_attend": (c_int32, [c_void_p, c_size_t, c_void_p, c_size_t, "ggufx_kv", c_void_p,
        c_void_p, c_void_p]),
    "ggufx_kv_read": (c_int32, [c_void_p, c_size_t, c_void_p, c_size_t, "ggufx_kv", c_void_p,
        c_void_p]),
    "ggufx_kv_scores": (c_int32, [c_void_p, c_size_t, "ggufx_kv", c_void_p, c_float, c_void_p]),
    "ggufx_kv_length": (c_int32, [c_void_p, "ggufx_kv", c_uint32, c_void_p]),
    "ggufx_kv_positions": (c_int32, [c_void_p, "ggufx_kv", c_uint32, c_uint64, c_uint64, c_void_p]),
    "ggufx_kv_truncate": (c_int32, ["ggufx_kv", c_uint32, c_uint64, c_void_p]),
    "ggufx_kv_begin": (c_int32, ["ggufx_kv", c_uint32, c_void_p]),
    "ggufx_kv_commit": (c_int32, ["ggufx_kv", c_uint32, c_void_p]),
    "ggufx_kv_rollback": (c_int32, ["ggufx_kv", c_uint32, c_void_p]),
    "ggufx_kv_remove": (c_int32, ["ggufx_kv", c_uint32, c_uint64, c_uint64, c_void_p]),
    "ggufx_kv_copy": (c_int32, ["ggufx_kv", c_uint32, c_uint32, c_uint64, c_uint64, c_void_p]),
    "ggufx_kv_shift": (c_int32, ["ggufx_kv", c_uint32, c_uint64, c_uint64, c_int32, c_void_p]),
    "ggufx_kv_keep": (c_int32, ["ggufx_kv", c_uint32, c_void_p]),
    "ggufx_kv_calibrate": (c_int32, ["ggufx_kv", c_uint32, c_void_p, c_void_p, c_size_t, c_void_p,
        c_size_t, c_void_p]),
    "ggufx_kv_save": (c_int32, ["ggufx_kv", c_uint32, c_void_p, c_void_p, c_void_p]),
    "ggufx_kv_load": (c_int32, ["ggufx_kv", c_uint32, c_void_p, c_void_p, c_void_p]),
    "ggufx_kv_save_file": (c_int32, ["ggufx_kv", c_uint32, c_void_p, c_void_p]),
    "ggufx_kv_load_file": (c_int32, ["ggufx_kv", c_uint32, c_void_p, c_void_p]),
    "ggufx_kv_requantize": (c_int32, ["ggufx_kv", c_uint32, c_uint32, c_uint32, c_void_p,
        c_void_p]),
    "ggufx_kv_compact": (c_int32, ["ggufx_kv", c_uint32, c_void_p, c_void_p]),
    "ggufx_kv_clear": (c_int32, ["ggufx_kv", c_void_p]),
    "ggufx_kv_info": (c_int32, [c_void_p, "ggufx_kv", c_uint32, c_void_p]),
    "ggufx_matvec": (c_int32, [c_void_p, c_size_t, "ggufx_runtime", "ggufx_tensor", c_void_p,
        c_size_t, c_void_p, c_void_p]),
    "ggufx_matmul": (c_int32, ["ggufx_runtime", c_void_p, c_size_t, c_void_p, c_void_p]),
    "ggufx_tokenizer_create": (c_int32, [c_void_p, "ggufx_file", c_void_p]),
    "ggufx_tokenizer_destroy": (None, ["ggufx_tokenizer"]),
    "ggufx_tokenize": (c_int32, [c_void_p, c_size_t, c_void_p, "ggufx_tokenizer", c_void_p,
        c_size_t, c_uint32, c_void_p]),
    "ggufx_detokenize": (c_int32, [c_void_p, c_size_t, c_void_p, "ggufx_tokenizer", c_void_p,
        c_size_t, c_uint32, c_void_p]),
    "ggufx_detokenize_stream": (c_int32, [c_void_p, c_size_t, c_void_p, c_void_p, "ggufx_tokenizer",
        c_void_p, c_size_t, c_void_p]),
    "ggufx_token_info": (c_int32, [c_void_p, "ggufx_tokenizer", c_int32, c_void_p]),
    "ggufx_tokenizer_info": (c_int32, [c_void_p, "ggufx_tokenizer", c_void_p]),
    "ggufx_pre_tokenizer_count": (c_size_t, []),
    "ggufx_pre_tokenizer_at": (c_int32, [c_void_p, c_size_t, c_void_p]),
    "ggufx_model_create": (c_int32, [c_void_p, "ggufx_runtime", "ggufx_file", c_void_p, c_void_p]),
    "ggufx_model_destroy": (None, ["ggufx_model"]),
    "ggufx_model_info": (c_int32, [c_void_p, "ggufx_model", c_void_p]),
    "ggufx_model_layer_info": (c_int32, [c_void_p, "ggufx_model", c_uint32, c_void_p]),
    "ggufx_model_describe_graph": (c_int32, [c_void_p, c_size_t, c_void_p, "ggufx_file", c_void_p]),
    "ggufx_session_create": (c_int32, [c_void_p, "ggufx_model", c_void_p, c_void_p]),
    "ggufx_session_destroy": (None, ["ggufx_session"]),
    "ggufx_session_info": (c_int32, [c_void_p, "ggufx_session", c_void_p]),
    "ggufx_dequantize": (c_int32, [c_void_p, c_size_t, "ggufx_runtime", "ggufx_tensor", c_uint64,
        c_uint64, c_void_p]),
    "ggufx_quantize": (c_int32, [c_void_p, c_size_t, "ggufx_runtime", c_void_p, c_void_p]),
    "ggufx_file_type_count": (c_size_t, []),
    "ggufx_file_type_at": (c_int32, [c_void_p, c_size_t, c_void_p]),
    "ggufx_file_type_find": (c_int32, [c_void_p, c_void_p, c_void_p]),
    "ggufx_quantizer_create": (c_int32, [c_void_p, "ggufx_runtime", "ggufx_file", c_uint32,
        c_void_p, c_void_p]),
    "ggufx_quantizer_destroy": (None, ["ggufx_quantizer"]),
    "ggufx_quantizer_info": (c_int32, [c_void_p, "ggufx_quantizer", c_void_p]),
    "ggufx_quantizer_tensor_at": (c_int32, [c_void_p, "ggufx_quantizer", c_size_t, c_void_p]),
    "ggufx_quantizer_override_types": (c_int32, ["ggufx_quantizer", c_void_p, c_size_t, c_void_p]),
    "ggufx_quantizer_tensor_error": (c_int32, [c_void_p, "ggufx_quantizer", c_size_t, c_uint32,
        c_uint64, c_void_p, c_void_p]),
    "ggufx_quantizer_run": (c_int32, ["ggufx_quantizer", c_void_p, c_void_p, c_void_p]),
    "ggufx_quantizer_finish": (c_int32, ["ggufx_quantizer", c_void_p, c_void_p, c_void_p]),
    "ggufx_sampler_create": (c_int32, [c_void_p, "ggufx_runtime", c_uint32, c_uint64, c_void_p]),
    "ggufx_sampler_destroy": (None, ["ggufx_sampler"]),
    "ggufx_sampler_sample": (c_int32, [c_void_p, c_void_p, "ggufx_sampler", "ggufx_matcher",
        c_void_p, c_size_t, c_void_p]),
    "ggufx_sampler_accept": (c_int32, ["ggufx_sampler", c_void_p, c_size_t, c_void_p]),
    "ggufx_sampler_reset": (c_int32, ["ggufx_sampler", c_void_p]),
    "ggufx_sampler_clone": (c_int32, [c_void_p, "ggufx_sampler", c_void_p]),
    "ggufx_sampler_add_top_k": (c_int32, ["ggufx_sampler", c_uint32, c_void_p]),
    "ggufx_sampler_add_top_p": (c_int32, ["ggufx_sampler", c_float, c_void_p]),
    "ggufx_sampler_add_min_p": (c_int32, ["ggufx_sampler", c_float, c_void_p]),
    "ggufx_sampler_add_typical": (c_int32, ["ggufx_sampler", c_float, c_void_p]),
    "ggufx_sampler_add_top_n_sigma": (c_int32, ["ggufx_sampler", c_float, c_void_p]),
    "ggufx_sampler_add_xtc": (c_int32, ["ggufx_sampler", c_float, c_float, c_void_p]),
    "ggufx_sampler_add_temperature": (c_int32, ["ggufx_sampler", c_float, c_void_p, c_void_p]),
    "ggufx_sampler_add_penalties": (c_int32, ["ggufx_sampler", c_void_p, c_void_p]),
    "ggufx_sampler_add_dry": (c_int32, ["ggufx_sampler", c_void_p, c_void_p]),
    "ggufx_sampler_add_logit_bias": (c_int32, ["ggufx_sampler", c_void_p, c_size_t, c_void_p]),
    "ggufx_sampler_add_mirostat": (c_int32, ["ggufx_sampler", c_void_p, c_void_p]),
    "ggufx_sampler_add_host": (c_int32, ["ggufx_sampler", c_void_p, c_void_p, c_void_p]),
    "ggufx_file_sampling": (c_int32, [c_void_p, c_void_p, c_size_t, "ggufx_file", c_void_p]),
    "ggufx_logprobs": (c_int32, [c_void_p, c_void_p, c_size_t, "ggufx_runtime", c_void_p, c_size_t,
        c_void_p, c_void_p]),
    "ggufx_type_info": (c_int32, [c_void_p, c_uint32, c_void_p]),
    "ggufx_type_find": (c_int32, [c_void_p, c_void_p, c_void_p]),
    "ggufx_type_row_bytes": (c_int32, [c_void_p, c_uint32, c_uint64, c_void_p]),
    "ggufx_runtime_kernel_name": (c_char_p, ["ggufx_runtime", c_uint32]),
    "ggufx_writer_create": (c_int32, [c_void_p, "ggufx_runtime", c_void_p, c_void_p]),
    "ggufx_writer_destroy": (None, ["ggufx_writer"]),
    "ggufx_writer_set_u64": (c_int32, ["ggufx_writer", c_void_p, c_size_t, c_int32, c_uint64,
        c_void_p]),
    "ggufx_writer_set_i64": (c_int32, ["ggufx_writer", c_void_p, c_size_t, c_int32, c_int64,
        c_void_p]),
    "ggufx_writer_set_f64": (c_int32, ["ggufx_writer", c_void_p, c_size_t, c_int32, c_double,
        c_void_p]),
    "ggufx_writer_set_bool": (c_int32, ["ggufx_writer", c_void_p, c_size_t, c_int32, c_void_p]),
    "ggufx_writer_set_string": (c_int32, ["ggufx_writer", c_void_p, c_size_t, c_void_p, c_size_t,
        c_void_p]),
    "ggufx_writer_set_array": (c_int32, ["ggufx_writer", c_void_p, c_size_t, c_int32, c_void_p,
        c_size_t, c_void_p]),
    "ggufx_writer_set_array_string": (c_int32, ["ggufx_writer", c_void_p, c_size_t, c_void_p,
        c_void_p, c_size_t, c_void_p]),
    "ggufx_writer_set_value": (c_int32, ["ggufx_writer", c_void_p, c_size_t, c_int32, c_void_p,
        c_size_t, c_void_p]),
    "ggufx_writer_unset": (c_int32, ["ggufx_writer", c_void_p, c_size_t, c_void_p]),
    "ggufx_writer_rename": (c_int32, ["ggufx_writer", c_void_p, c_size_t, c_void_p, c_size_t,
        c_void_p]),
    "ggufx_writer_copy_meta": (c_int32, ["ggufx_writer", "ggufx_file", c_void_p]),
    "ggufx_writer_add_tensor": (c_int32, ["ggufx_writer", "ggufx_tensor", c_void_p, c_size_t,
        c_void_p]),
    "ggufx_writer_copy_tensors": (c_int32, ["ggufx_writer", "ggufx_file", c_void_p]),
    "ggufx_writer_add_stream": (c_int32, ["ggufx_writer", c_void_p, c_size_t, c_uint32, c_uint32,
        c_void_p, c_void_p, c_void_p]),
    "ggufx_writer_info": (c_int32, [c_void_p, "ggufx_writer", c_void_p, c_void_p]),
    "ggufx_writer_write": (c_int32, ["ggufx_writer", c_void_p, c_void_p, c_void_p]),
    "ggufx_writer_write_stream": (c_int32, ["ggufx_writer", c_void_p, c_void_p, c_void_p,
        c_void_p]),
    "ggufx_writer_edit_info": (c_int32, [c_void_p, "ggufx_writer", "ggufx_file", c_void_p,
        c_void_p]),
    "ggufx_writer_edit": (c_int32, [c_void_p, "ggufx_writer", "ggufx_file", c_void_p, c_void_p,
        c_void_p]),
    "ggufx_file_recover_edit": (c_int32, [c_void_p, "ggufx_runtime", c_void_p, c_void_p]),
}
