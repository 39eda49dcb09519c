// Written by bindings/raw.py from include/ggufx; a test compares them.
// SPDX-License-Identifier: MIT
use crate::{c_char, ggufx_status};
use core::ffi::c_void;
use core::marker::{PhantomData, PhantomPinned};
use core::mem::size_of;

#[repr(C)]
pub struct ggufx_adapter {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct ggufx_chat_parser {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct ggufx_chat_prompt {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct ggufx_chat_template {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct ggufx_device {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct ggufx_embedder {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct ggufx_file {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct ggufx_generator {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct ggufx_grammar {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct ggufx_imatrix {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct ggufx_kv {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct ggufx_matcher {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct ggufx_model {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct ggufx_moments {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct ggufx_quantizer {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct ggufx_runtime {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct ggufx_sampler {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct ggufx_session {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct ggufx_tensor {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct ggufx_tokenizer {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct ggufx_writer {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_adapter_options {
    pub struct_size: u32,
    pub flags: u32,
    pub first_layer: u32,
    pub last_layer: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_adapter_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub kind: u32,
    pub n_targets: u32,
    pub rank: u32,
    pub reserved: u32,
    pub alpha: f64,
    pub fingerprint: u64,
    pub memory_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_adapter_use {
    pub adapter: *const ggufx_adapter,
    pub scale: f32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_error {
    pub status: i32,
    pub system_error: i32,
    pub offset: u64,
    pub index: u64,
    pub value: u64,
    pub limit: u64,
    pub reserved: [u64; 3],
    pub message: [c_char; 448],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_allocator {
    pub struct_size: u32,
    pub flags: u32,
    pub user: *mut c_void,
    pub alloc: Option<unsafe extern "C" fn(user: *mut c_void, size: usize, align: usize) -> *mut
        c_void>,
    pub free: Option<unsafe extern "C" fn(user: *mut c_void, ptr: *mut c_void, size: usize, align:
        usize)>,
    pub destroy: Option<unsafe extern "C" fn(user: *mut c_void)>,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_log {
    pub struct_size: u32,
    pub flags: u32,
    pub user: *mut c_void,
    pub write: Option<unsafe extern "C" fn(user: *mut c_void, level: i32, text: *const c_char,
        length: usize)>,
    pub destroy: Option<unsafe extern "C" fn(user: *mut c_void)>,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_executor {
    pub struct_size: u32,
    pub flags: u32,
    pub max_workers: u32,
    pub reserved: u32,
    pub user: *mut c_void,
    pub parallel_for: Option<unsafe extern "C" fn(user: *mut c_void, n_tasks: u32, task:
        Option<unsafe extern "C" fn(ctx: *mut c_void, index: u32, worker: u32)>, ctx: *mut c_void)
        -> ggufx_status>,
    pub destroy: Option<unsafe extern "C" fn(user: *mut c_void)>,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_text {
    pub data: *const c_char,
    pub size: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_progress {
    pub report: Option<unsafe extern "C" fn(user: *mut c_void, done: u64, total: u64) ->
        ggufx_status>,
    pub user: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_runtime_options {
    pub struct_size: u32,
    pub flags: u32,
    pub allocator: *const ggufx_allocator,
    pub log: *const ggufx_log,
    pub executor: *const ggufx_executor,
    pub threads: u32,
    pub isa: i32,
    pub workspace_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_runtime_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub isa: i32,
    pub threads: u32,
    pub features: u64,
    pub isa_name: *const c_char,
    pub allocator_name: *const c_char,
    pub workspace_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_decode_item {
    pub struct_size: u32,
    pub flags: u32,
    pub sequence: u32,
    pub reserved: u32,
    pub tokens: *const i32,
    pub n_tokens: usize,
    pub input_rows: *const f32,
    pub n_input_rows: usize,
    pub positions: *const i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_attention_hook {
    pub struct_size: u32,
    pub flags: u32,
    pub user: *mut c_void,
    pub layer: Option<unsafe extern "C" fn(user: *mut c_void, layer: u32, first_token: u64,
        n_tokens: usize, q: *const f32, k: *const f32, v: *const f32, out: *const f32) ->
        ggufx_status>,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_decode_options {
    pub struct_size: u32,
    pub flags: u32,
    pub progress: *const ggufx_progress,
    pub logits: *mut f32,
    pub n_logits: usize,
    pub matmul_flags: u32,
    pub reserved: u32,
    pub hidden: *mut f32,
    pub n_hidden: usize,
    pub attention: *const ggufx_attention_hook,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_chat_template_options {
    pub struct_size: u32,
    pub flags: u32,
    pub text: ggufx_text,
    pub name: ggufx_text,
    pub format: ggufx_text,
    pub bos_token: ggufx_text,
    pub eos_token: ggufx_text,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_chat_message {
    pub struct_size: u32,
    pub flags: u32,
    pub role: ggufx_text,
    pub content: ggufx_text,
    pub parts: ggufx_text,
    pub tool_calls: ggufx_text,
    pub extra: ggufx_text,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_chat_request {
    pub struct_size: u32,
    pub flags: u32,
    pub messages: *const ggufx_chat_message,
    pub n_messages: usize,
    pub messages_json: ggufx_text,
    pub tools: ggufx_text,
    pub documents: ggufx_text,
    pub variables: ggufx_text,
    pub reasoning_effort: ggufx_text,
    pub unix_time: i64,
    pub max_steps: u64,
    pub max_memory: u64,
    pub max_output: u64,
    pub progress: *const ggufx_progress,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_chat_span {
    pub end: u64,
    pub user: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_chat_template_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub call_form: u32,
    pub call_notation: u32,
    pub reasoning_open: *const c_char,
    pub reasoning_close: *const c_char,
    pub call_prefix: *const c_char,
    pub call_middle: *const c_char,
    pub call_end: *const c_char,
    pub call_before_key: *const c_char,
    pub call_after_key: *const c_char,
    pub call_after_key_other: *const c_char,
    pub call_after_value: *const c_char,
    pub call_quote: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_chat_parser_options {
    pub struct_size: u32,
    pub flags: u32,
    pub chat: *const ggufx_chat_template,
    pub prompt: ggufx_text,
    pub tools: ggufx_text,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_chat_parser_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub n_calls: u64,
    pub reasoning_close: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_device_options {
    pub struct_size: u32,
    pub flags: u32,
    pub plugin_path: *const c_char,
    pub cache_load: Option<unsafe extern "C" fn(user: *mut c_void, key: *const c_char, out: *mut
        c_void, capacity: u64) -> u64>,
    pub cache_store: Option<unsafe extern "C" fn(user: *mut c_void, key: *const c_char, data: *const
        c_void, n_bytes: u64)>,
    pub cache_user: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_device_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub fma: u32,
    pub reserved: u32,
    pub memory_bytes: u64,
    pub free_bytes: u64,
    pub used_bytes: u64,
    pub max_allocation: u64,
    pub n_launches: u64,
    pub id: [c_char; 40],
    pub name: [c_char; 128],
    pub driver: [c_char; 96],
    pub reason: [c_char; 224],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_vulkan_options {
    pub struct_size: u32,
    pub flags: u32,
    pub get_instance_proc_addr: *mut c_void,
    pub instance: *mut c_void,
    pub physical_device: *mut c_void,
    pub device: *mut c_void,
    pub queue: *mut c_void,
    pub queue_family: u32,
    pub reserved: u32,
    pub lock: Option<unsafe extern "C" fn(user: *mut c_void)>,
    pub unlock: Option<unsafe extern "C" fn(user: *mut c_void)>,
    pub user: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_embed_options {
    pub struct_size: u32,
    pub flags: u32,
    pub n_context: u32,
    pub n_batch: u32,
    pub pooling: u32,
    pub dimensions: u32,
    pub matmul_flags: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_embedder_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub n_context: u32,
    pub n_batch: u32,
    pub pooling: u32,
    pub dimensions: u32,
    pub full_dimensions: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_estimate_options {
    pub struct_size: u32,
    pub flags: u32,
    pub file_type: u32,
    pub n_context: u32,
    pub n_batch: u32,
    pub n_sessions: u32,
    pub type_k: u32,
    pub type_v: u32,
    pub quantizer: *const ggufx_quantizer_options,
    pub memory_bytes: u64,
    pub bandwidth: f64,
    pub n_context_total: u64,
    pub n_checkpoints: u32,
    pub n_sequences: u32,
    pub adapters: *const *const ggufx_file,
    pub n_adapters: usize,
    pub device_memory_bytes: u64,
    pub weights: *const u32,
    pub n_ranks: u32,
    pub rank: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_estimate_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub file_type: u32,
    pub n_context: u32,
    pub n_batch: u32,
    pub n_sessions: u32,
    pub type_k: u32,
    pub type_v: u32,
    pub max_context: u32,
    pub n_messages: u32,
    pub n_parameters: u64,
    pub weight_bytes: u64,
    pub file_bytes: u64,
    pub runtime_bytes: u64,
    pub model_bytes: u64,
    pub kv_bytes: u64,
    pub session_bytes: u64,
    pub total_bytes: u64,
    pub token_weight_bytes: u64,
    pub token_kv_bytes: u64,
    pub bits_per_weight: f64,
    pub weight_error: f64,
    pub loss: f64,
    pub tokens_per_second: f64,
    pub tokens_per_second_full: f64,
    pub adapter_file_bytes: u64,
    pub adapter_bytes: u64,
    pub device_bytes: u64,
    pub device_bytes_all: u64,
    pub n_device_layers: u32,
    pub n_layers: u32,
    pub rank_weight_bytes: u64,
    pub received_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_eval_row {
    pub loss: f64,
    pub reference_loss: f64,
    pub kl_divergence: f64,
    pub flags: u32,
    pub token: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_eval_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub perplexity: f64,
    pub standard_error: f64,
    pub n_chunks: u64,
    pub n_tokens: u64,
    pub n_scored: u64,
    pub reference_perplexity: f64,
    pub reference_error: f64,
    pub log_ratio: f64,
    pub log_ratio_error: f64,
    pub kl: f64,
    pub kl_error: f64,
    pub kl_median: f64,
    pub kl_median_error: f64,
    pub kl_99: f64,
    pub kl_99_error: f64,
    pub kl_max: f64,
    pub same_top_token: f64,
    pub same_top_token_error: f64,
    pub rms_delta_p: f64,
    pub rms_delta_p_error: f64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_eval_options {
    pub struct_size: u32,
    pub flags: u32,
    pub stride: u32,
    pub reserved: u32,
    pub save_path: *const c_char,
    pub write: Option<unsafe extern "C" fn(user: *mut c_void, data: *const c_void, n: usize) ->
        ggufx_status>,
    pub write_user: *mut c_void,
    pub reference_path: *const c_char,
    pub read: Option<unsafe extern "C" fn(user: *mut c_void, data: *mut c_void, n: usize) ->
        ggufx_status>,
    pub read_user: *mut c_void,
    pub report: Option<unsafe extern "C" fn(user: *mut c_void, running: *const ggufx_eval_facts) ->
        ggufx_status>,
    pub report_user: *mut c_void,
    pub progress: *const ggufx_progress,
    pub rows: Option<unsafe extern "C" fn(user: *mut c_void, rows: *const ggufx_eval_row, n: usize)
        -> ggufx_status>,
    pub rows_user: *mut c_void,
    pub reference_chunk: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_logprob {
    pub id: i32,
    pub logprob: f32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_event_token {
    pub id: i32,
    pub logprob: f32,
    pub offset: u64,
    pub top: *const ggufx_logprob,
    pub n_top: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_event {
    pub struct_size: u32,
    pub flags: u32,
    pub kind: u32,
    pub end: u32,
    pub status: ggufx_status,
    pub index: u32,
    pub text: ggufx_text,
    pub tokens: *const ggufx_event_token,
    pub n_tokens: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_moments_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub n_columns: u64,
    pub n_inputs: u64,
    pub memory_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_moments_inputs {
    pub struct_size: u32,
    pub flags: u32,
    pub n: usize,
    pub n_columns: usize,
    pub rows: *const f32,
    pub source_rows: *const f32,
    pub progress: *const ggufx_progress,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_feedback_args {
    pub struct_size: u32,
    pub flags: u32,
    pub type_: u32,
    pub n_passes: u32,
    pub n_rows: usize,
    pub n_cols: usize,
    pub rows: *const f32,
    pub moments: *const ggufx_moments,
    pub kept_out: *const ggufx_moments,
    pub damping: f64,
    pub progress: *const ggufx_progress,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_feedback_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub is_used: i32,
    pub reserved: u32,
    pub error_before: f64,
    pub error_after: f64,
    pub kept_out_change: f64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_open_options {
    pub struct_size: u32,
    pub flags: u32,
    pub dialect: i32,
    pub io: i32,
    pub progress: *const ggufx_progress,
    pub max_metadata_bytes: u64,
    pub max_keys: u64,
    pub max_tensors: u64,
    pub max_string_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_io {
    pub struct_size: u32,
    pub flags: u32,
    pub user: *mut c_void,
    pub size: Option<unsafe extern "C" fn(user: *mut c_void, out: *mut u64) -> ggufx_status>,
    pub read_at: Option<unsafe extern "C" fn(user: *mut c_void, offset: u64, dst: *mut c_void, n:
        usize) -> ggufx_status>,
    pub map: Option<unsafe extern "C" fn(user: *mut c_void, offset: u64, n: usize) -> *const
        c_void>,
    pub unmap: Option<unsafe extern "C" fn(user: *mut c_void, data: *const c_void, n: usize)>,
    pub close: Option<unsafe extern "C" fn(user: *mut c_void)>,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_file_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub version: u32,
    pub big_endian: u32,
    pub alignment: u64,
    pub n_parts: u64,
    pub meta_end: u64,
    pub data_offset: u64,
    pub file_size: u64,
    pub n_meta: u64,
    pub n_tensors: u64,
    pub n_values: u64,
    pub n_bytes: u64,
    pub n_missing: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_file_memory_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub mapped_bytes: u64,
    pub copied_bytes: u64,
    pub resident_bytes: u64,
    pub huge_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_meta_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub type_: i32,
    pub element_type: i32,
    pub key: ggufx_text,
    pub count: u64,
    pub offset: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_tensor_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub type_: u32,
    pub n_dims: u32,
    pub ne: [u64; 4],
    pub row_bytes: u64,
    pub row_stride: u64,
    pub n_rows: u64,
    pub n_bytes: u64,
    pub offset: u64,
    pub file_offset: u64,
    pub part: u32,
    pub memory_kind: u32,
    pub name: ggufx_text,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_tensor_options {
    pub struct_size: u32,
    pub flags: u32,
    pub type_: u32,
    pub n_dims: u32,
    pub ne: [u64; 4],
    pub row_stride: u64,
    pub data: *const c_void,
    pub n_bytes: u64,
    pub name: *const c_char,
    pub destroy: Option<unsafe extern "C" fn(user: *mut c_void)>,
    pub user: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_finding_facts {
    pub struct_size: u32,
    pub severity: i32,
    pub status: ggufx_status,
    pub reserved: u32,
    pub offset: u64,
    pub index: u64,
    pub text: *const c_char,
    pub name: ggufx_text,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_draft_options {
    pub struct_size: u32,
    pub flags: u32,
    pub session: *mut ggufx_session,
    pub sequence: u32,
    pub n_draft: u32,
    pub n_match: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_generator_options {
    pub struct_size: u32,
    pub flags: u32,
    pub sequence: u32,
    pub max_tokens: u32,
    pub tokenizer: *const ggufx_tokenizer,
    pub sampler: *const ggufx_sampler,
    pub grammar: *const ggufx_grammar,
    pub chat: *const ggufx_chat_template,
    pub stops: *const ggufx_text,
    pub n_stops: usize,
    pub draft: *const ggufx_draft_options,
    pub n_logprobs: u32,
    pub max_reasoning: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_grammar_source {
    pub struct_size: u32,
    pub flags: u32,
    pub user: *mut c_void,
    pub find: Option<unsafe extern "C" fn(user: *mut c_void, out: *mut *const ggufx_grammar, schema:
        *const c_char, schema_length: usize, function: *const c_char, function_length: usize) ->
        ggufx_status>,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_chat_prompt_options {
    pub struct_size: u32,
    pub flags: u32,
    pub chat: *const ggufx_chat_template,
    pub tokenizer: *const ggufx_tokenizer,
    pub request: *const ggufx_chat_request,
    pub tool_choice: u32,
    pub grammar_flags: u32,
    pub tool_name: ggufx_text,
    pub tools: ggufx_text,
    pub call_id: ggufx_text,
    pub schema: ggufx_text,
    pub grammars: *const ggufx_grammar_source,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_prompt_part {
    pub struct_size: u32,
    pub flags: u32,
    pub text: ggufx_text,
    pub tokens: *const i32,
    pub n_tokens: usize,
    pub rows: *const f32,
    pub n_rows: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_prompt {
    pub struct_size: u32,
    pub flags: u32,
    pub text: ggufx_text,
    pub tokens: *const i32,
    pub n_tokens: usize,
    pub messages: *const ggufx_chat_request,
    pub parts: *const ggufx_prompt_part,
    pub n_parts: usize,
    pub chat: *const ggufx_chat_prompt,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_step_item {
    pub struct_size: u32,
    pub flags: u32,
    pub generator: *mut ggufx_generator,
    pub n_tokens: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_step_options {
    pub struct_size: u32,
    pub flags: u32,
    pub budget_us: u64,
    pub progress: *const ggufx_progress,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_fork_options {
    pub struct_size: u32,
    pub flags: u32,
    pub sequence: u32,
    pub reserved: u32,
    pub seed: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_generator_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub state: u32,
    pub end: u32,
    pub sequence: u32,
    pub n_events: u32,
    pub n_prompt: u64,
    pub n_prompt_reused: u64,
    pub n_prompt_left: u64,
    pub n_tokens: u64,
    pub n_reasoning: u64,
    pub n_drafted: u64,
    pub n_accepted: u64,
    pub memory_bytes: u64,
    pub sum_logprobs: f64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_grammar_options {
    pub struct_size: u32,
    pub flags: u32,
    pub kind: u32,
    pub reserved: u32,
    pub text: ggufx_text,
    pub progress: *const ggufx_progress,
    pub max_steps: u64,
    pub max_memory: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_matcher_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub n_tokens: u64,
    pub n_vocab: u32,
    pub n_words: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_group {
    pub struct_size: u32,
    pub flags: u32,
    pub user: *mut c_void,
    pub rank: u32,
    pub size: u32,
    pub allgather: Option<unsafe extern "C" fn(user: *mut c_void, out: *mut c_void, in_: *const
        c_void, n_bytes: usize, timeout_ms: u32, error: *mut ggufx_error) -> ggufx_status>,
    pub allgatherv: Option<unsafe extern "C" fn(user: *mut c_void, out: *mut c_void, in_: *const
        c_void, n_bytes: *const usize, offsets: *const usize, timeout_ms: u32, error: *mut
        ggufx_error) -> ggufx_status>,
    pub broadcast: Option<unsafe extern "C" fn(user: *mut c_void, data: *mut c_void, n_bytes: usize,
        root: u32, timeout_ms: u32, error: *mut ggufx_error) -> ggufx_status>,
    pub barrier: Option<unsafe extern "C" fn(user: *mut c_void, timeout_ms: u32, error: *mut
        ggufx_error) -> ggufx_status>,
    pub abort: Option<unsafe extern "C" fn(user: *mut c_void, why: *const ggufx_error)>,
    pub destroy: Option<unsafe extern "C" fn(user: *mut c_void)>,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_group_options {
    pub struct_size: u32,
    pub flags: u32,
    pub group: *const ggufx_group,
    pub weights: *const u32,
    pub timeout_ms: u32,
    pub start_timeout_ms: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_imatrix_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub n_entries: u64,
    pub n_datasets: u64,
    pub n_chunks: u64,
    pub chunk_tokens: u32,
    pub format: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_imatrix_entry {
    pub struct_size: u32,
    pub flags: u32,
    pub name: ggufx_text,
    pub n_columns: u64,
    pub n_matrices: u64,
    pub sums: *const f32,
    pub counts: *const f32,
    pub values: *const f32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_imatrix_options {
    pub struct_size: u32,
    pub flags: u32,
    pub dataset: *const c_char,
    pub progress: *const ggufx_progress,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_kv_layer_options {
    pub struct_size: u32,
    pub flags: u32,
    pub type_k: u32,
    pub type_v: u32,
    pub window: u32,
    pub window_kind: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_kv_options {
    pub struct_size: u32,
    pub flags: u32,
    pub n_layers: u32,
    pub n_kv_heads: u32,
    pub n_q_heads: u32,
    pub head_dim_k: u32,
    pub head_dim_v: u32,
    pub type_k: u32,
    pub type_v: u32,
    pub n_sequences: u32,
    pub max_tokens: u64,
    pub n_sink_tokens: u32,
    pub rope_style: u32,
    pub rope_dims: u32,
    pub rope_base: f32,
    pub rope_scale: f32,
    pub n_layer_options: u32,
    pub layers: *const ggufx_kv_layer_options,
    pub model: u64,
    pub rope_frequencies: *const f64,
    pub n_rope_frequencies: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_kv_tokens {
    pub struct_size: u32,
    pub flags: u32,
    pub layer: u32,
    pub sequence: u32,
    pub type_: u32,
    pub reserved: u32,
    pub n_tokens: usize,
    pub sequences: *const u32,
    pub positions: *const i32,
    pub k: *const c_void,
    pub n_k: usize,
    pub v: *const c_void,
    pub n_v: usize,
    pub k_stride: usize,
    pub v_stride: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_attend_options {
    pub struct_size: u32,
    pub flags: u32,
    pub scale: f32,
    pub softcap: f32,
    pub window: u32,
    pub window_kind: u32,
    pub alibi_slopes: *const f32,
    pub n_alibi_slopes: usize,
    pub sink_logits: *const f32,
    pub n_sink_logits: usize,
    pub progress: *const ggufx_progress,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_kv_queries {
    pub struct_size: u32,
    pub flags: u32,
    pub layer: u32,
    pub sequence: u32,
    pub n_queries: usize,
    pub sequences: *const u32,
    pub positions: *const i32,
    pub q: *const f32,
    pub n_q: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_kv_range {
    pub struct_size: u32,
    pub flags: u32,
    pub layer: u32,
    pub sequence: u32,
    pub first: u64,
    pub n_tokens: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_kv_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub type_k: u32,
    pub type_v: u32,
    pub n_tokens: u64,
    pub n_pages: u64,
    pub n_plain_pages: u64,
    pub n_shared_pages: u64,
    pub page_bytes: u64,
    pub bytes_per_token: u64,
    pub bits_per_value: f64,
    pub k_error: f64,
    pub v_error: f64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_matmul_options {
    pub struct_size: u32,
    pub flags: u32,
    pub progress: *const ggufx_progress,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_product {
    pub struct_size: u32,
    pub flags: u32,
    pub w: *const ggufx_tensor,
    pub x: *const f32,
    pub n_x: usize,
    pub ldx: usize,
    pub n: usize,
    pub y: *mut f32,
    pub n_y: usize,
    pub ldy: usize,
    pub ids: *const u32,
    pub n_used: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_token_list {
    pub tokens: *const i32,
    pub n_tokens: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_detokenizer_state {
    pub waiting: u64,
    pub flags: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_token_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub id: i32,
    pub score: f32,
    pub text: ggufx_text,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_tokenizer_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub kind: *const c_char,
    pub n_tokens: u32,
    pub bos: i32,
    pub eos: i32,
    pub unknown: i32,
    pub pre: *const c_char,
    pub eot: i32,
    pub eom: i32,
    pub separator: i32,
    pub pad: i32,
    pub mask: i32,
    pub fim_prefix: i32,
    pub fim_suffix: i32,
    pub fim_middle: i32,
    pub fim_pad: i32,
    pub fim_repository: i32,
    pub fim_separator: i32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_pre_tokenizer_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub name: *const c_char,
    pub rules: *const c_char,
    pub pipeline: ggufx_text,
    pub unicode: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_model_override {
    pub key: *const c_char,
    pub value: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_model_options {
    pub struct_size: u32,
    pub flags: u32,
    pub overrides: *const ggufx_model_override,
    pub n_overrides: usize,
    pub progress: *const ggufx_progress,
    pub group: *const ggufx_group_options,
    pub device: *const ggufx_device,
    pub n_device_layers: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_model_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub architecture: *const c_char,
    pub n_parameters: u64,
    pub weight_bytes: u64,
    pub n_vocab: u32,
    pub n_context: u32,
    pub n_embedding: u32,
    pub n_layers: u32,
    pub n_heads: u32,
    pub n_kv_heads: u32,
    pub head_dim: u32,
    pub n_device_layers: u32,
    pub identity: u64,
    pub device_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_layer_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub kind: u32,
    pub n_heads: u32,
    pub n_kv_heads: u32,
    pub head_dim_k: u32,
    pub head_dim_v: u32,
    pub window: u32,
    pub kv_layer: u32,
    pub scale: f32,
    pub softcap: f32,
    pub reserved: u32,
    pub state_bytes: u64,
    pub sink_logits: *const f32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_session_options {
    pub struct_size: u32,
    pub flags: u32,
    pub n_context: u32,
    pub n_batch: u32,
    pub type_k: u32,
    pub type_v: u32,
    pub matmul_flags: u32,
    pub reserved: u32,
    pub n_context_total: u64,
    pub n_checkpoints: u32,
    pub n_sequences: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_session_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub n_context: u32,
    pub n_batch: u32,
    pub type_k: u32,
    pub type_v: u32,
    pub n_sequences: u32,
    pub reserved: u32,
    pub n_context_total: u64,
    pub cache_bytes: u64,
    pub n_pages: u64,
    pub n_shared_pages: u64,
    pub n_tokens: u64,
    pub n_tokens_left: u64,
    pub embedded_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_quantize_args {
    pub struct_size: u32,
    pub flags: u32,
    pub type_: u32,
    pub mode: i32,
    pub n_rows: usize,
    pub n_cols: usize,
    pub rows: *const f32,
    pub imatrix: *const f32,
    pub progress: *const ggufx_progress,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_file_type_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub name: *const c_char,
    pub file_type: u32,
    pub type_: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_quantizer_feedback {
    pub struct_size: u32,
    pub flags: u32,
    pub tokens: *const i32,
    pub n_tokens: usize,
    pub n_context: u32,
    pub bos: i32,
    pub n_passes: u32,
    pub reserved: u32,
    pub damping: f64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_quantizer_options {
    pub struct_size: u32,
    pub flags: u32,
    pub output_type: u32,
    pub embedding_type: u32,
    pub imatrix: *const ggufx_imatrix,
    pub imatrix_name: *const c_char,
    pub reserve_bytes: u64,
    pub feedback: *const ggufx_quantizer_feedback,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_quantizer_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub n_tensors: u64,
    pub n_parts: u64,
    pub n_values: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub file_bytes: u64,
    pub n_fallbacks: u64,
    pub n_missing: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_quantizer_tensor_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub name: ggufx_text,
    pub ne: [u64; 4],
    pub n_dims: u32,
    pub from: u32,
    pub to: u32,
    pub wanted: u32,
    pub reason: i32,
    pub imatrix: i32,
    pub part: u32,
    pub reserved: u32,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub rmse: f64,
    pub seconds: f64,
    pub error_before: f64,
    pub error_after: f64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_quantizer_run_options {
    pub struct_size: u32,
    pub flags: u32,
    pub progress: *const ggufx_progress,
    pub tensor_done: Option<unsafe extern "C" fn(user: *mut c_void, index: usize, tensor: *const
        ggufx_quantizer_tensor_facts) -> ggufx_status>,
    pub user: *mut c_void,
    pub shard: u32,
    pub n_shards: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_temperature_options {
    pub struct_size: u32,
    pub flags: u32,
    pub range: f32,
    pub exponent: f32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_penalty_options {
    pub struct_size: u32,
    pub flags: u32,
    pub repeat: f32,
    pub frequency: f32,
    pub presence: f32,
    pub last_n: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_dry_options {
    pub struct_size: u32,
    pub flags: u32,
    pub multiplier: f32,
    pub base: f32,
    pub allowed_length: u32,
    pub last_n: u32,
    pub sequence_breakers: *const i32,
    pub n_sequence_breakers: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_logit_bias {
    pub id: i32,
    pub bias: f32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_mirostat_options {
    pub struct_size: u32,
    pub flags: u32,
    pub version: u32,
    pub m: u32,
    pub tau: f32,
    pub eta: f32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_candidate {
    pub id: i32,
    pub logit: f32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_sampling_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub ignored: u32,
    pub top_k: u32,
    pub temperature: f32,
    pub top_p: f32,
    pub min_p: f32,
    pub xtc_probability: f32,
    pub xtc_threshold: f32,
    pub repeat: f32,
    pub last_n: u32,
    pub mirostat: u32,
    pub tau: f32,
    pub eta: f32,
    pub n_samplers: u32,
    pub samplers: [u32; 16],
    pub reserved: u32,
    pub n_suppressed: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_type_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub id: u32,
    pub block_values: u32,
    pub block_bytes: u32,
    pub reserved: u32,
    pub name: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_writer_options {
    pub struct_size: u32,
    pub flags: u32,
    pub version: u32,
    pub reserved: u32,
    pub reserve_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_tensor_stream {
    pub struct_size: u32,
    pub flags: u32,
    pub user: *mut c_void,
    pub read: Option<unsafe extern "C" fn(user: *mut c_void, offset: u64, dst: *mut c_void, n:
        usize) -> ggufx_status>,
    pub destroy: Option<unsafe extern "C" fn(user: *mut c_void)>,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_write_options {
    pub struct_size: u32,
    pub flags: u32,
    pub progress: *const ggufx_progress,
    pub max_part_bytes: u64,
    pub max_part_tensors: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_writer_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub n_meta: u64,
    pub n_tensors: u64,
    pub n_parts: u64,
    pub n_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_edit_options {
    pub struct_size: u32,
    pub flags: u32,
    pub progress: *const ggufx_progress,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ggufx_edit_facts {
    pub struct_size: u32,
    pub flags: u32,
    pub in_place: u32,
    pub reserved: u32,
    pub n_bytes: u64,
    pub reserve_bytes: u64,
    pub n_written: u64,
}

/// Each struct's C name, NUL-terminated, and its size here.
pub const SIZES: [(&str, usize); 104] = [
    ("ggufx_adapter_options\0", size_of::<ggufx_adapter_options>()),
    ("ggufx_adapter_facts\0", size_of::<ggufx_adapter_facts>()),
    ("ggufx_adapter_use\0", size_of::<ggufx_adapter_use>()),
    ("ggufx_error\0", size_of::<ggufx_error>()),
    ("ggufx_allocator\0", size_of::<ggufx_allocator>()),
    ("ggufx_log\0", size_of::<ggufx_log>()),
    ("ggufx_executor\0", size_of::<ggufx_executor>()),
    ("ggufx_text\0", size_of::<ggufx_text>()),
    ("ggufx_progress\0", size_of::<ggufx_progress>()),
    ("ggufx_runtime_options\0", size_of::<ggufx_runtime_options>()),
    ("ggufx_runtime_facts\0", size_of::<ggufx_runtime_facts>()),
    ("ggufx_decode_item\0", size_of::<ggufx_decode_item>()),
    ("ggufx_attention_hook\0", size_of::<ggufx_attention_hook>()),
    ("ggufx_decode_options\0", size_of::<ggufx_decode_options>()),
    ("ggufx_chat_template_options\0", size_of::<ggufx_chat_template_options>()),
    ("ggufx_chat_message\0", size_of::<ggufx_chat_message>()),
    ("ggufx_chat_request\0", size_of::<ggufx_chat_request>()),
    ("ggufx_chat_span\0", size_of::<ggufx_chat_span>()),
    ("ggufx_chat_template_facts\0", size_of::<ggufx_chat_template_facts>()),
    ("ggufx_chat_parser_options\0", size_of::<ggufx_chat_parser_options>()),
    ("ggufx_chat_parser_facts\0", size_of::<ggufx_chat_parser_facts>()),
    ("ggufx_device_options\0", size_of::<ggufx_device_options>()),
    ("ggufx_device_facts\0", size_of::<ggufx_device_facts>()),
    ("ggufx_vulkan_options\0", size_of::<ggufx_vulkan_options>()),
    ("ggufx_embed_options\0", size_of::<ggufx_embed_options>()),
    ("ggufx_embedder_facts\0", size_of::<ggufx_embedder_facts>()),
    ("ggufx_estimate_options\0", size_of::<ggufx_estimate_options>()),
    ("ggufx_estimate_facts\0", size_of::<ggufx_estimate_facts>()),
    ("ggufx_eval_row\0", size_of::<ggufx_eval_row>()),
    ("ggufx_eval_facts\0", size_of::<ggufx_eval_facts>()),
    ("ggufx_eval_options\0", size_of::<ggufx_eval_options>()),
    ("ggufx_logprob\0", size_of::<ggufx_logprob>()),
    ("ggufx_event_token\0", size_of::<ggufx_event_token>()),
    ("ggufx_event\0", size_of::<ggufx_event>()),
    ("ggufx_moments_facts\0", size_of::<ggufx_moments_facts>()),
    ("ggufx_moments_inputs\0", size_of::<ggufx_moments_inputs>()),
    ("ggufx_feedback_args\0", size_of::<ggufx_feedback_args>()),
    ("ggufx_feedback_facts\0", size_of::<ggufx_feedback_facts>()),
    ("ggufx_open_options\0", size_of::<ggufx_open_options>()),
    ("ggufx_io\0", size_of::<ggufx_io>()),
    ("ggufx_file_facts\0", size_of::<ggufx_file_facts>()),
    ("ggufx_file_memory_facts\0", size_of::<ggufx_file_memory_facts>()),
    ("ggufx_meta_facts\0", size_of::<ggufx_meta_facts>()),
    ("ggufx_tensor_facts\0", size_of::<ggufx_tensor_facts>()),
    ("ggufx_tensor_options\0", size_of::<ggufx_tensor_options>()),
    ("ggufx_finding_facts\0", size_of::<ggufx_finding_facts>()),
    ("ggufx_draft_options\0", size_of::<ggufx_draft_options>()),
    ("ggufx_generator_options\0", size_of::<ggufx_generator_options>()),
    ("ggufx_grammar_source\0", size_of::<ggufx_grammar_source>()),
    ("ggufx_chat_prompt_options\0", size_of::<ggufx_chat_prompt_options>()),
    ("ggufx_prompt_part\0", size_of::<ggufx_prompt_part>()),
    ("ggufx_prompt\0", size_of::<ggufx_prompt>()),
    ("ggufx_step_item\0", size_of::<ggufx_step_item>()),
    ("ggufx_step_options\0", size_of::<ggufx_step_options>()),
    ("ggufx_fork_options\0", size_of::<ggufx_fork_options>()),
    ("ggufx_generator_facts\0", size_of::<ggufx_generator_facts>()),
    ("ggufx_grammar_options\0", size_of::<ggufx_grammar_options>()),
    ("ggufx_matcher_facts\0", size_of::<ggufx_matcher_facts>()),
    ("ggufx_group\0", size_of::<ggufx_group>()),
    ("ggufx_group_options\0", size_of::<ggufx_group_options>()),
    ("ggufx_imatrix_facts\0", size_of::<ggufx_imatrix_facts>()),
    ("ggufx_imatrix_entry\0", size_of::<ggufx_imatrix_entry>()),
    ("ggufx_imatrix_options\0", size_of::<ggufx_imatrix_options>()),
    ("ggufx_kv_layer_options\0", size_of::<ggufx_kv_layer_options>()),
    ("ggufx_kv_options\0", size_of::<ggufx_kv_options>()),
    ("ggufx_kv_tokens\0", size_of::<ggufx_kv_tokens>()),
    ("ggufx_attend_options\0", size_of::<ggufx_attend_options>()),
    ("ggufx_kv_queries\0", size_of::<ggufx_kv_queries>()),
    ("ggufx_kv_range\0", size_of::<ggufx_kv_range>()),
    ("ggufx_kv_facts\0", size_of::<ggufx_kv_facts>()),
    ("ggufx_matmul_options\0", size_of::<ggufx_matmul_options>()),
    ("ggufx_product\0", size_of::<ggufx_product>()),
    ("ggufx_token_list\0", size_of::<ggufx_token_list>()),
    ("ggufx_detokenizer_state\0", size_of::<ggufx_detokenizer_state>()),
    ("ggufx_token_facts\0", size_of::<ggufx_token_facts>()),
    ("ggufx_tokenizer_facts\0", size_of::<ggufx_tokenizer_facts>()),
    ("ggufx_pre_tokenizer_facts\0", size_of::<ggufx_pre_tokenizer_facts>()),
    ("ggufx_model_override\0", size_of::<ggufx_model_override>()),
    ("ggufx_model_options\0", size_of::<ggufx_model_options>()),
    ("ggufx_model_facts\0", size_of::<ggufx_model_facts>()),
    ("ggufx_layer_facts\0", size_of::<ggufx_layer_facts>()),
    ("ggufx_session_options\0", size_of::<ggufx_session_options>()),
    ("ggufx_session_facts\0", size_of::<ggufx_session_facts>()),
    ("ggufx_quantize_args\0", size_of::<ggufx_quantize_args>()),
    ("ggufx_file_type_facts\0", size_of::<ggufx_file_type_facts>()),
    ("ggufx_quantizer_feedback\0", size_of::<ggufx_quantizer_feedback>()),
    ("ggufx_quantizer_options\0", size_of::<ggufx_quantizer_options>()),
    ("ggufx_quantizer_facts\0", size_of::<ggufx_quantizer_facts>()),
    ("ggufx_quantizer_tensor_facts\0", size_of::<ggufx_quantizer_tensor_facts>()),
    ("ggufx_quantizer_run_options\0", size_of::<ggufx_quantizer_run_options>()),
    ("ggufx_temperature_options\0", size_of::<ggufx_temperature_options>()),
    ("ggufx_penalty_options\0", size_of::<ggufx_penalty_options>()),
    ("ggufx_dry_options\0", size_of::<ggufx_dry_options>()),
    ("ggufx_logit_bias\0", size_of::<ggufx_logit_bias>()),
    ("ggufx_mirostat_options\0", size_of::<ggufx_mirostat_options>()),
    ("ggufx_candidate\0", size_of::<ggufx_candidate>()),
    ("ggufx_sampling_facts\0", size_of::<ggufx_sampling_facts>()),
    ("ggufx_type_facts\0", size_of::<ggufx_type_facts>()),
    ("ggufx_writer_options\0", size_of::<ggufx_writer_options>()),
    ("ggufx_tensor_stream\0", size_of::<ggufx_tensor_stream>()),
    ("ggufx_write_options\0", size_of::<ggufx_write_options>()),
    ("ggufx_writer_facts\0", size_of::<ggufx_writer_facts>()),
    ("ggufx_edit_options\0", size_of::<ggufx_edit_options>()),
    ("ggufx_edit_facts\0", size_of::<ggufx_edit_facts>()),
];
