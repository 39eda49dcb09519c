// Written by bindings/raw.py from include/ggufx; a test compares them.
// SPDX-License-Identifier: MIT
use crate::*;

functions! {
    fn ggufx_adapter_create(out: *mut *mut ggufx_adapter, model: *const ggufx_model, file: *const
        ggufx_file, options: *const ggufx_adapter_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_adapter_destroy(adapter: *mut ggufx_adapter);
    fn ggufx_adapter_info(out: *mut ggufx_adapter_facts, adapter: *const ggufx_adapter, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_session_set_adapters(session: *mut ggufx_session, sequence: u32, uses: *const
        ggufx_adapter_use, n_uses: usize, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_embedder_set_adapters(embedder: *mut ggufx_embedder, uses: *const ggufx_adapter_use,
        n_uses: usize, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_adapter_has_tensor(adapter: *const ggufx_adapter, tensor: usize) -> i32;
    fn ggufx_adapter_add_rows(rows: *mut f32, n: usize, adapter: *const ggufx_adapter, tensor:
        usize, first_row: u64, n_rows: u64, scale: f32, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_status_name(status: ggufx_status) -> *const c_char;
    fn ggufx_version() -> *const c_char;
    fn ggufx_abi_version() -> u32;
    fn ggufx_struct_size(struct_name: *const c_char) -> usize;
    fn ggufx_has(feature: *const c_char) -> i32;
    fn ggufx_runtime_create(out: *mut *mut ggufx_runtime, options: *const ggufx_runtime_options,
        error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_runtime_destroy(rt: *mut ggufx_runtime);
    fn ggufx_runtime_info(out: *mut ggufx_runtime_facts, rt: *const ggufx_runtime, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_session_decode(session: *mut ggufx_session, items: *const ggufx_decode_item, n_items:
        usize, options: *const ggufx_decode_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_session_length(session: *const ggufx_session, sequence: u32) -> u64;
    fn ggufx_session_truncate(session: *mut ggufx_session, sequence: u32, n_tokens: u64, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_session_remove(session: *mut ggufx_session, sequence: u32, first: u64, n_tokens: u64,
        error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_session_shift(session: *mut ggufx_session, sequence: u32, first: u64, n_tokens: u64,
        delta: i32, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_session_tokens(out_ids: *mut i32, out_positions: *mut i32, session: *const
        ggufx_session, sequence: u32, first: u64, n_tokens: u64, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_session_copy(session: *mut ggufx_session, from: u32, to: u32, n_tokens: u64, error:
        *mut ggufx_error) -> ggufx_status;
    fn ggufx_session_save(session: *const ggufx_session, sequence: u32, write: Option<unsafe extern
        "C" fn(user: *mut c_void, data: *const c_void, n: usize) -> ggufx_status>, user: *mut
        c_void, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_session_load(session: *mut ggufx_session, sequence: u32, read: Option<unsafe extern "C"
        fn(user: *mut c_void, data: *mut c_void, n: usize) -> ggufx_status>, user: *mut c_void,
        error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_session_save_file(session: *const ggufx_session, sequence: u32, path: *const c_char,
        error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_session_load_file(session: *mut ggufx_session, sequence: u32, path: *const c_char,
        error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_chat_template_create(out: *mut *mut ggufx_chat_template, rt: *const ggufx_runtime,
        file: *const ggufx_file, options: *const ggufx_chat_template_options, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_chat_template_destroy(chat: *mut ggufx_chat_template);
    fn ggufx_chat_template_builtin_name(index: usize) -> *const c_char;
    fn ggufx_chat_template_render(out: *mut c_char, capacity: usize, out_needed: *mut usize, chat:
        *const ggufx_chat_template, request: *const ggufx_chat_request, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_chat_template_spans(out: *mut ggufx_chat_span, capacity: usize, out_needed: *mut usize,
        chat: *const ggufx_chat_template, request: *const ggufx_chat_request, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_chat_template_tokenize(out_ids: *mut i32, capacity: usize, out_needed: *mut usize,
        chat: *const ggufx_chat_template, tokenizer: *const ggufx_tokenizer, request: *const
        ggufx_chat_request, flags: u32, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_chat_template_info(out: *mut ggufx_chat_template_facts, chat: *const
        ggufx_chat_template, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_chat_parser_create(out: *mut *mut ggufx_chat_parser, rt: *const ggufx_runtime, options:
        *const ggufx_chat_parser_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_chat_parser_destroy(parser: *mut ggufx_chat_parser);
    fn ggufx_chat_parser_feed(parser: *mut ggufx_chat_parser, text: *const c_char, length: usize,
        error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_chat_parser_finish(parser: *mut ggufx_chat_parser, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_chat_parser_poll(out: *mut ggufx_event, parser: *mut ggufx_chat_parser, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_chat_parser_info(out: *mut ggufx_chat_parser_facts, parser: *const ggufx_chat_parser,
        error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_device_list(out: *mut ggufx_device_facts, capacity: usize, out_needed: *mut usize, rt:
        *const ggufx_runtime, options: *const ggufx_device_options, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_device_open(out: *mut *mut ggufx_device, rt: *const ggufx_runtime, id: *const c_char,
        options: *const ggufx_device_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_device_create_vulkan(out: *mut *mut ggufx_device, rt: *const ggufx_runtime, handles:
        *const ggufx_vulkan_options, options: *const ggufx_device_options, error: *mut ggufx_error)
        -> ggufx_status;
    fn ggufx_device_detach(device: *mut ggufx_device);
    fn ggufx_device_destroy(device: *mut ggufx_device);
    fn ggufx_device_info(out: *mut ggufx_device_facts, device: *const ggufx_device, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_tensor_upload(out: *mut *mut ggufx_tensor, device: *const ggufx_device, w: *const
        ggufx_tensor, progress: *const ggufx_progress, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_tensor_download(out: *mut c_void, n: usize, w: *const ggufx_tensor, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_tensor_checksum(out: *mut u32, w: *const ggufx_tensor, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_embedder_create(out: *mut *mut ggufx_embedder, model: *const ggufx_model, options:
        *const ggufx_embed_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_embedder_destroy(embedder: *mut ggufx_embedder);
    fn ggufx_embedder_estimate(out: *mut u64, rt: *const ggufx_runtime, file: *const ggufx_file,
        options: *const ggufx_embed_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_embedder_info(out: *mut ggufx_embedder_facts, embedder: *const ggufx_embedder, error:
        *mut ggufx_error) -> ggufx_status;
    fn ggufx_embed(out: *mut f32, n_out: usize, embedder: *mut ggufx_embedder, texts: *const
        ggufx_token_list, n_texts: usize, progress: *const ggufx_progress, error: *mut ggufx_error)
        -> ggufx_status;
    fn ggufx_estimate(out: *mut ggufx_estimate_facts, rt: *const ggufx_runtime, file: *const
        ggufx_file, options: *const ggufx_estimate_options, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_recommend(out: *mut ggufx_estimate_facts, rt: *const ggufx_runtime, file: *const
        ggufx_file, options: *const ggufx_estimate_options, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_eval_perplexity(out: *mut ggufx_eval_facts, session: *mut ggufx_session, tokens: *const
        i32, n_tokens: usize, n_context: u32, bos: i32, options: *const ggufx_eval_options, error:
        *mut ggufx_error) -> ggufx_status;
    fn ggufx_eval_merge(out: *mut ggufx_eval_facts, rt: *const ggufx_runtime, rows: *const
        ggufx_eval_row, n_rows: usize, n_chunks: u64, n_context: u32, flags: u32, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_eval_continuations(out: *mut f64, session: *mut ggufx_session, context: *const i32,
        n_context: usize, continuations: *const ggufx_token_list, n_continuations: usize, progress:
        *const ggufx_progress, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_moments_create(out: *mut *mut ggufx_moments, rt: *const ggufx_runtime, n_columns:
        usize, flags: u32, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_moments_destroy(moments: *mut ggufx_moments);
    fn ggufx_moments_info(out: *mut ggufx_moments_facts, moments: *const ggufx_moments, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_moments_add(moments: *mut ggufx_moments, inputs: *const ggufx_moments_inputs, error:
        *mut ggufx_error) -> ggufx_status;
    fn ggufx_quantize_feedback(out: *mut c_void, n_bytes: usize, rt: *const ggufx_runtime, args:
        *const ggufx_feedback_args, out_facts: *mut ggufx_feedback_facts, error: *mut ggufx_error)
        -> ggufx_status;
    fn ggufx_open(out: *mut *mut ggufx_file, rt: *const ggufx_runtime, path: *const c_char, options:
        *const ggufx_open_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_open_fd(out: *mut *mut ggufx_file, rt: *const ggufx_runtime, fd: i32, offset: u64,
        length: u64, options: *const ggufx_open_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_open_memory(out: *mut *mut ggufx_file, rt: *const ggufx_runtime, data: *const c_void,
        size: usize, destroy: Option<unsafe extern "C" fn(user: *mut c_void)>, user: *mut c_void,
        options: *const ggufx_open_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_open_io(out: *mut *mut ggufx_file, rt: *const ggufx_runtime, io: *const ggufx_io,
        options: *const ggufx_open_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_file_destroy(file: *mut ggufx_file);
    fn ggufx_file_info(out: *mut ggufx_file_facts, file: *const ggufx_file, error: *mut ggufx_error)
        -> ggufx_status;
    fn ggufx_file_memory(out: *mut ggufx_file_memory_facts, file: *const ggufx_file, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_file_meta_count(file: *const ggufx_file) -> usize;
    fn ggufx_file_meta_at(out: *mut ggufx_meta_facts, file: *const ggufx_file, index: usize, error:
        *mut ggufx_error) -> ggufx_status;
    fn ggufx_file_meta_find(out: *mut usize, file: *const ggufx_file, key: *const c_char, length:
        usize, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_file_meta_u64(out: *mut u64, file: *const ggufx_file, index: usize, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_file_meta_i64(out: *mut i64, file: *const ggufx_file, index: usize, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_file_meta_f64(out: *mut f64, file: *const ggufx_file, index: usize, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_file_meta_bool(out: *mut i32, file: *const ggufx_file, index: usize, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_file_meta_string(out: *mut ggufx_text, file: *const ggufx_file, index: usize, error:
        *mut ggufx_error) -> ggufx_status;
    fn ggufx_file_meta_array_u64(out: *mut u64, file: *const ggufx_file, index: usize, first: u64,
        n: usize, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_file_meta_array_i64(out: *mut i64, file: *const ggufx_file, index: usize, first: u64,
        n: usize, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_file_meta_array_f64(out: *mut f64, file: *const ggufx_file, index: usize, first: u64,
        n: usize, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_file_meta_array_string(out: *mut ggufx_text, file: *const ggufx_file, index: usize, i:
        u64, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_file_meta_array_nested(out_index: *mut usize, file: *const ggufx_file, index: usize, i:
        u64, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_file_tensor_count(file: *const ggufx_file) -> usize;
    fn ggufx_file_tensor(file: *const ggufx_file, index: usize) -> *const ggufx_tensor;
    fn ggufx_file_tensor_find(out: *mut usize, file: *const ggufx_file, name: *const c_char, length:
        usize, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_tensor_info(out: *mut ggufx_tensor_facts, tensor: *const ggufx_tensor, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_tensor_data(tensor: *const ggufx_tensor) -> *const c_void;
    fn ggufx_tensor_create(out: *mut *mut ggufx_tensor, rt: *const ggufx_runtime, options: *const
        ggufx_tensor_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_tensor_slice(out: *mut *mut ggufx_tensor, tensor: *const ggufx_tensor, dim: u32, first:
        u64, n: u64, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_tensor_destroy(tensor: *mut ggufx_tensor);
    fn ggufx_file_validate(file: *const ggufx_file, flags: u32, report: Option<unsafe extern "C"
        fn(user: *mut c_void, finding: *const ggufx_finding_facts) -> ggufx_status>, user: *mut
        c_void, progress: *const ggufx_progress, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_generator_create(out: *mut *mut ggufx_generator, session: *mut ggufx_session, options:
        *const ggufx_generator_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_generator_destroy(generator: *mut ggufx_generator);
    fn ggufx_chat_prompt_create(out: *mut *mut ggufx_chat_prompt, options: *const
        ggufx_chat_prompt_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_chat_prompt_destroy(prompt: *mut ggufx_chat_prompt);
    fn ggufx_chat_prompt_tokens(out_ids: *mut i32, capacity: usize, out_needed: *mut usize, prompt:
        *const ggufx_chat_prompt, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_generator_set_prompt(generator: *mut ggufx_generator, prompt: *const ggufx_prompt,
        error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_generator_poll(out: *mut ggufx_event, generator: *mut ggufx_generator, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_session_step(out_complete: *mut i32, session: *mut ggufx_session, items: *const
        ggufx_step_item, n_items: usize, options: *const ggufx_step_options, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_generator_next(out: *mut ggufx_event, generator: *mut ggufx_generator, options: *const
        ggufx_step_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_generator_cancel(generator: *const ggufx_generator);
    fn ggufx_generator_suspend(generator: *mut ggufx_generator, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_generator_resume(out_n_reused: *mut u64, generator: *mut ggufx_generator, sequence:
        u32, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_generator_truncate(generator: *mut ggufx_generator, n_tokens: u64, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_generator_fork(out: *mut *mut ggufx_generator, generator: *mut ggufx_generator,
        options: *const ggufx_fork_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_generator_save(generator: *const ggufx_generator, write: Option<unsafe extern "C"
        fn(user: *mut c_void, data: *const c_void, n: usize) -> ggufx_status>, user: *mut c_void,
        error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_generator_load(out: *mut *mut ggufx_generator, session: *mut ggufx_session, options:
        *const ggufx_generator_options, read: Option<unsafe extern "C" fn(user: *mut c_void, data:
        *mut c_void, n: usize) -> ggufx_status>, user: *mut c_void, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_generator_tokens(out_ids: *mut i32, capacity: usize, out_needed: *mut usize, generator:
        *const ggufx_generator, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_generator_info(out: *mut ggufx_generator_facts, generator: *const ggufx_generator,
        error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_grammar_create(out: *mut *mut ggufx_grammar, rt: *const ggufx_runtime, tokenizer:
        *const ggufx_tokenizer, options: *const ggufx_grammar_options, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_grammar_destroy(grammar: *mut ggufx_grammar);
    fn ggufx_matcher_create(out: *mut *mut ggufx_matcher, grammar: *const ggufx_grammar, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_matcher_clone(out: *mut *mut ggufx_matcher, matcher: *const ggufx_matcher, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_matcher_destroy(matcher: *mut ggufx_matcher);
    fn ggufx_matcher_accept(matcher: *mut ggufx_matcher, ids: *const i32, n: usize, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_matcher_rollback(matcher: *mut ggufx_matcher, n_tokens: u64, error: *mut ggufx_error)
        -> ggufx_status;
    fn ggufx_matcher_mask(out_bits: *mut u32, n_words: usize, matcher: *mut ggufx_matcher, error:
        *mut ggufx_error) -> ggufx_status;
    fn ggufx_matcher_info(out: *mut ggufx_matcher_facts, matcher: *const ggufx_matcher, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_writer_copy_shard(writer: *mut ggufx_writer, file: *const ggufx_file, rank: u32,
        n_ranks: u32, weights: *const u32, flags: u32, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_imatrix_open(out: *mut *mut ggufx_imatrix, rt: *const ggufx_runtime, path: *const
        c_char, progress: *const ggufx_progress, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_imatrix_open_memory(out: *mut *mut ggufx_imatrix, rt: *const ggufx_runtime, data:
        *const c_void, size: usize, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_imatrix_destroy(imatrix: *mut ggufx_imatrix);
    fn ggufx_imatrix_info(out: *mut ggufx_imatrix_facts, imatrix: *const ggufx_imatrix, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_imatrix_entry_at(out: *mut ggufx_imatrix_entry, imatrix: *const ggufx_imatrix, index:
        usize, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_imatrix_find(out_index: *mut usize, imatrix: *const ggufx_imatrix, name: *const c_char,
        length: usize, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_imatrix_dataset_at(out: *mut ggufx_text, imatrix: *const ggufx_imatrix, index: usize,
        error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_imatrix_keep_entries(imatrix: *mut ggufx_imatrix, keep: *const u8, n: usize, error:
        *mut ggufx_error) -> ggufx_status;
    fn ggufx_imatrix_merge(imatrix: *mut ggufx_imatrix, other: *const ggufx_imatrix, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_imatrix_create(out: *mut *mut ggufx_imatrix, session: *mut ggufx_session, tokens:
        *const i32, n_tokens: usize, n_context: u32, bos: i32, options: *const
        ggufx_imatrix_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_imatrix_write(imatrix: *const ggufx_imatrix, path: *const c_char, format: i32,
        progress: *const ggufx_progress, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_kv_create(out: *mut *mut ggufx_kv, rt: *const ggufx_runtime, options: *const
        ggufx_kv_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_kv_estimate(out: *mut u64, rt: *const ggufx_runtime, options: *const ggufx_kv_options,
        n_tokens: u64, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_kv_destroy(kv: *mut ggufx_kv);
    fn ggufx_kv_reserve(kv: *mut ggufx_kv, sequence: u32, n_tokens: u64, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_kv_append(kv: *mut ggufx_kv, tokens: *const ggufx_kv_tokens, error: *mut ggufx_error)
        -> ggufx_status;
    fn ggufx_kv_attend(out: *mut f32, n_out: usize, lse: *mut f32, n_lse: usize, kv: *const
        ggufx_kv, queries: *const ggufx_kv_queries, options: *const ggufx_attend_options, error:
        *mut ggufx_error) -> ggufx_status;
    fn ggufx_kv_read(k: *mut f32, n_k: usize, v: *mut f32, n_v: usize, kv: *const ggufx_kv, range:
        *const ggufx_kv_range, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_kv_scores(out: *mut f32, n_out: usize, kv: *const ggufx_kv, queries: *const
        ggufx_kv_queries, scale: f32, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_kv_length(out: *mut u64, kv: *const ggufx_kv, sequence: u32, error: *mut ggufx_error)
        -> ggufx_status;
    fn ggufx_kv_positions(out: *mut i32, kv: *const ggufx_kv, sequence: u32, first: u64, n: u64,
        error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_kv_truncate(kv: *mut ggufx_kv, sequence: u32, n_tokens: u64, error: *mut ggufx_error)
        -> ggufx_status;
    fn ggufx_kv_begin(kv: *mut ggufx_kv, sequence: u32, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_kv_commit(kv: *mut ggufx_kv, sequence: u32, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_kv_rollback(kv: *mut ggufx_kv, sequence: u32, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_kv_remove(kv: *mut ggufx_kv, sequence: u32, first: u64, n_tokens: u64, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_kv_copy(kv: *mut ggufx_kv, from: u32, to: u32, first: u64, n_tokens: u64, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_kv_shift(kv: *mut ggufx_kv, sequence: u32, first: u64, n_tokens: u64, delta: i32,
        error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_kv_keep(kv: *mut ggufx_kv, sequence: u32, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_kv_calibrate(kv: *mut ggufx_kv, layer: u32, mu_k: *const f32, eq_k: *const f32, n_k:
        usize, mu_v: *const f32, n_v: usize, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_kv_save(kv: *const ggufx_kv, sequence: u32, write: Option<unsafe extern "C" fn(user:
        *mut c_void, data: *const c_void, n: usize) -> ggufx_status>, user: *mut c_void, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_kv_load(kv: *mut ggufx_kv, sequence: u32, read: Option<unsafe extern "C" fn(user: *mut
        c_void, data: *mut c_void, n: usize) -> ggufx_status>, user: *mut c_void, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_kv_save_file(kv: *const ggufx_kv, sequence: u32, path: *const c_char, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_kv_load_file(kv: *mut ggufx_kv, sequence: u32, path: *const c_char, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_kv_requantize(kv: *mut ggufx_kv, layer: u32, type_k: u32, type_v: u32, progress: *const
        ggufx_progress, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_kv_compact(kv: *mut ggufx_kv, sequence: u32, progress: *const ggufx_progress, error:
        *mut ggufx_error) -> ggufx_status;
    fn ggufx_kv_clear(kv: *mut ggufx_kv, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_kv_info(out: *mut ggufx_kv_facts, kv: *const ggufx_kv, layer: u32, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_matvec(y: *mut f32, n_y: usize, rt: *const ggufx_runtime, w: *const ggufx_tensor, x:
        *const f32, n_x: usize, options: *const ggufx_matmul_options, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_matmul(rt: *const ggufx_runtime, products: *const ggufx_product, n_products: usize,
        options: *const ggufx_matmul_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_tokenizer_create(out: *mut *mut ggufx_tokenizer, file: *const ggufx_file, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_tokenizer_destroy(tokenizer: *mut ggufx_tokenizer);
    fn ggufx_tokenize(out_ids: *mut i32, capacity: usize, out_needed: *mut usize, tokenizer: *const
        ggufx_tokenizer, text: *const c_char, length: usize, flags: u32, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_detokenize(out: *mut c_char, capacity: usize, out_needed: *mut usize, tokenizer: *const
        ggufx_tokenizer, ids: *const i32, n_ids: usize, flags: u32, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_detokenize_stream(out: *mut c_char, capacity: usize, out_needed: *mut usize, state:
        *mut ggufx_detokenizer_state, tokenizer: *const ggufx_tokenizer, ids: *const i32, n_ids:
        usize, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_token_info(out: *mut ggufx_token_facts, tokenizer: *const ggufx_tokenizer, id: i32,
        error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_tokenizer_info(out: *mut ggufx_tokenizer_facts, tokenizer: *const ggufx_tokenizer,
        error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_pre_tokenizer_count() -> usize;
    fn ggufx_pre_tokenizer_at(out: *mut ggufx_pre_tokenizer_facts, index: usize, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_model_create(out: *mut *mut ggufx_model, rt: *const ggufx_runtime, file: *const
        ggufx_file, options: *const ggufx_model_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_model_destroy(model: *mut ggufx_model);
    fn ggufx_model_info(out: *mut ggufx_model_facts, model: *const ggufx_model, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_model_layer_info(out: *mut ggufx_layer_facts, model: *const ggufx_model, layer: u32,
        error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_model_describe_graph(out: *mut c_char, capacity: usize, out_needed: *mut usize, file:
        *const ggufx_file, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_session_create(out: *mut *mut ggufx_session, model: *const ggufx_model, options: *const
        ggufx_session_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_session_destroy(session: *mut ggufx_session);
    fn ggufx_session_info(out: *mut ggufx_session_facts, session: *const ggufx_session, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_dequantize(out: *mut f32, n_out: usize, rt: *const ggufx_runtime, tensor: *const
        ggufx_tensor, first_row: u64, n_rows: u64, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_quantize(out: *mut c_void, n_bytes: usize, rt: *const ggufx_runtime, args: *const
        ggufx_quantize_args, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_file_type_count() -> usize;
    fn ggufx_file_type_at(out: *mut ggufx_file_type_facts, index: usize, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_file_type_find(out: *mut u32, name: *const c_char, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_quantizer_create(out: *mut *mut ggufx_quantizer, rt: *const ggufx_runtime, file: *const
        ggufx_file, file_type: u32, options: *const ggufx_quantizer_options, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_quantizer_destroy(quantizer: *mut ggufx_quantizer);
    fn ggufx_quantizer_info(out: *mut ggufx_quantizer_facts, quantizer: *const ggufx_quantizer,
        error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_quantizer_tensor_at(out: *mut ggufx_quantizer_tensor_facts, quantizer: *const
        ggufx_quantizer, index: usize, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_quantizer_override_types(quantizer: *mut ggufx_quantizer, types: *const u32, n: usize,
        error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_quantizer_tensor_error(out: *mut f64, quantizer: *const ggufx_quantizer, index: usize,
        type_: u32, max_values: u64, progress: *const ggufx_progress, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_quantizer_run(quantizer: *mut ggufx_quantizer, path: *const c_char, options: *const
        ggufx_quantizer_run_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_quantizer_finish(quantizer: *mut ggufx_quantizer, path: *const c_char, progress: *const
        ggufx_progress, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_sampler_create(out: *mut *mut ggufx_sampler, rt: *const ggufx_runtime, n_vocab: u32,
        seed: u64, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_sampler_destroy(sampler: *mut ggufx_sampler);
    fn ggufx_sampler_sample(out_id: *mut i32, out_logprob: *mut f32, sampler: *mut ggufx_sampler,
        matcher: *mut ggufx_matcher, logits: *const f32, n: usize, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_sampler_accept(sampler: *mut ggufx_sampler, ids: *const i32, n: usize, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_sampler_reset(sampler: *mut ggufx_sampler, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_sampler_clone(out: *mut *mut ggufx_sampler, sampler: *const ggufx_sampler, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_sampler_add_top_k(sampler: *mut ggufx_sampler, k: u32, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_sampler_add_top_p(sampler: *mut ggufx_sampler, p: f32, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_sampler_add_min_p(sampler: *mut ggufx_sampler, p: f32, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_sampler_add_typical(sampler: *mut ggufx_sampler, p: f32, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_sampler_add_top_n_sigma(sampler: *mut ggufx_sampler, n_sigma: f32, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_sampler_add_xtc(sampler: *mut ggufx_sampler, probability: f32, threshold: f32, error:
        *mut ggufx_error) -> ggufx_status;
    fn ggufx_sampler_add_temperature(sampler: *mut ggufx_sampler, temperature: f32, options: *const
        ggufx_temperature_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_sampler_add_penalties(sampler: *mut ggufx_sampler, options: *const
        ggufx_penalty_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_sampler_add_dry(sampler: *mut ggufx_sampler, options: *const ggufx_dry_options, error:
        *mut ggufx_error) -> ggufx_status;
    fn ggufx_sampler_add_logit_bias(sampler: *mut ggufx_sampler, biases: *const ggufx_logit_bias,
        n_biases: usize, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_sampler_add_mirostat(sampler: *mut ggufx_sampler, options: *const
        ggufx_mirostat_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_sampler_add_host(sampler: *mut ggufx_sampler, apply: Option<unsafe extern "C" fn(user:
        *mut c_void, candidates: *mut ggufx_candidate, n: usize) -> ggufx_status>, user: *mut
        c_void, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_file_sampling(out: *mut ggufx_sampling_facts, out_suppressed: *mut i32, capacity:
        usize, file: *const ggufx_file, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_logprobs(out_ids: *mut i32, out_logprobs: *mut f32, k: usize, rt: *const ggufx_runtime,
        logits: *const f32, n: usize, tokens: *const i32, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_type_info(out: *mut ggufx_type_facts, type_: u32, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_type_find(out: *mut u32, name: *const c_char, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_type_row_bytes(out: *mut u64, type_: u32, n: u64, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_runtime_kernel_name(rt: *const ggufx_runtime, type_: u32) -> *const c_char;
    fn ggufx_writer_create(out: *mut *mut ggufx_writer, rt: *const ggufx_runtime, options: *const
        ggufx_writer_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_writer_destroy(writer: *mut ggufx_writer);
    fn ggufx_writer_set_u64(writer: *mut ggufx_writer, key: *const c_char, length: usize, type_:
        i32, value: u64, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_writer_set_i64(writer: *mut ggufx_writer, key: *const c_char, length: usize, type_:
        i32, value: i64, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_writer_set_f64(writer: *mut ggufx_writer, key: *const c_char, length: usize, type_:
        i32, value: f64, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_writer_set_bool(writer: *mut ggufx_writer, key: *const c_char, length: usize, value:
        i32, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_writer_set_string(writer: *mut ggufx_writer, key: *const c_char, length: usize, text:
        *const c_char, n_text: usize, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_writer_set_array(writer: *mut ggufx_writer, key: *const c_char, length: usize,
        element_type: i32, elements: *const c_void, count: usize, error: *mut ggufx_error) ->
        ggufx_status;
    fn ggufx_writer_set_array_string(writer: *mut ggufx_writer, key: *const c_char, length: usize,
        texts: *const *const c_char, lengths: *const usize, count: usize, error: *mut ggufx_error)
        -> ggufx_status;
    fn ggufx_writer_set_value(writer: *mut ggufx_writer, key: *const c_char, length: usize, type_:
        i32, value: *const c_void, n_bytes: usize, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_writer_unset(writer: *mut ggufx_writer, key: *const c_char, length: usize, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_writer_rename(writer: *mut ggufx_writer, key: *const c_char, length: usize, new_key:
        *const c_char, new_length: usize, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_writer_copy_meta(writer: *mut ggufx_writer, file: *const ggufx_file, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_writer_add_tensor(writer: *mut ggufx_writer, tensor: *const ggufx_tensor, name: *const
        c_char, name_length: usize, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_writer_copy_tensors(writer: *mut ggufx_writer, file: *const ggufx_file, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_writer_add_stream(writer: *mut ggufx_writer, name: *const c_char, name_length: usize,
        type_: u32, n_dims: u32, ne: *const u64, stream: *const ggufx_tensor_stream, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_writer_info(out: *mut ggufx_writer_facts, writer: *const ggufx_writer, options: *const
        ggufx_write_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_writer_write(writer: *mut ggufx_writer, path: *const c_char, options: *const
        ggufx_write_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_writer_write_stream(writer: *mut ggufx_writer, write: Option<unsafe extern "C" fn(user:
        *mut c_void, part: u32, data: *const c_void, n: usize) -> ggufx_status>, user: *mut c_void,
        options: *const ggufx_write_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_writer_edit_info(out: *mut ggufx_edit_facts, writer: *const ggufx_writer, file: *const
        ggufx_file, options: *const ggufx_edit_options, error: *mut ggufx_error) -> ggufx_status;
    fn ggufx_writer_edit(out: *mut ggufx_edit_facts, writer: *mut ggufx_writer, file: *const
        ggufx_file, path: *const c_char, options: *const ggufx_edit_options, error: *mut
        ggufx_error) -> ggufx_status;
    fn ggufx_file_recover_edit(out: *mut i32, rt: *const ggufx_runtime, path: *const c_char, error:
        *mut ggufx_error) -> ggufx_status;
}
