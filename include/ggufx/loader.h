/*
 * ggufx/loader.h: the functions of a library that is loaded at run time, in one table.
 *
 *     static void *get_symbol(void *library, const char *name) { return dlsym(library, name); }
 *
 *     ggufx_functions api;
 *     const char *missing = ggufx_load(&api, get_symbol, dlopen("libggufx.so.0", RTLD_NOW));
 *     if (missing == NULL) api.runtime_create(&rt, NULL, &error);
 *
 * Nothing here is linked. Needs C99 or C++.
 * Written by bindings/raw.py from the other headers.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_LOADER_H
#define GGUFX_LOADER_H

#include "ggufx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */

/* Calls X(name) for each function ggufx_name, in the order of the table. */
#define GGUFX_FUNCTIONS(X) \
    X(adapter_create) \
    X(adapter_destroy) \
    X(adapter_info) \
    X(session_set_adapters) \
    X(embedder_set_adapters) \
    X(adapter_has_tensor) \
    X(adapter_add_rows) \
    X(status_name) \
    X(version) \
    X(abi_version) \
    X(struct_size) \
    X(has) \
    X(runtime_create) \
    X(runtime_destroy) \
    X(runtime_info) \
    X(session_decode) \
    X(session_length) \
    X(session_truncate) \
    X(session_remove) \
    X(session_shift) \
    X(session_tokens) \
    X(session_copy) \
    X(session_save) \
    X(session_load) \
    X(session_save_file) \
    X(session_load_file) \
    X(chat_template_create) \
    X(chat_template_destroy) \
    X(chat_template_builtin_name) \
    X(chat_template_render) \
    X(chat_template_spans) \
    X(chat_template_tokenize) \
    X(chat_template_info) \
    X(chat_parser_create) \
    X(chat_parser_destroy) \
    X(chat_parser_feed) \
    X(chat_parser_finish) \
    X(chat_parser_poll) \
    X(chat_parser_info) \
    X(device_list) \
    X(device_open) \
    X(device_create_vulkan) \
    X(device_detach) \
    X(device_destroy) \
    X(device_info) \
    X(tensor_upload) \
    X(tensor_download) \
    X(tensor_checksum) \
    X(embedder_create) \
    X(embedder_destroy) \
    X(embedder_estimate) \
    X(embedder_info) \
    X(embed) \
    X(estimate) \
    X(recommend) \
    X(eval_perplexity) \
    X(eval_merge) \
    X(eval_continuations) \
    X(moments_create) \
    X(moments_destroy) \
    X(moments_info) \
    X(moments_add) \
    X(quantize_feedback) \
    X(open) \
    X(open_fd) \
    X(open_memory) \
    X(open_io) \
    X(file_destroy) \
    X(file_info) \
    X(file_memory) \
    X(file_meta_count) \
    X(file_meta_at) \
    X(file_meta_find) \
    X(file_meta_u64) \
    X(file_meta_i64) \
    X(file_meta_f64) \
    X(file_meta_bool) \
    X(file_meta_string) \
    X(file_meta_array_u64) \
    X(file_meta_array_i64) \
    X(file_meta_array_f64) \
    X(file_meta_array_string) \
    X(file_meta_array_nested) \
    X(file_tensor_count) \
    X(file_tensor) \
    X(file_tensor_find) \
    X(tensor_info) \
    X(tensor_data) \
    X(tensor_create) \
    X(tensor_slice) \
    X(tensor_destroy) \
    X(file_validate) \
    X(generator_create) \
    X(generator_destroy) \
    X(chat_prompt_create) \
    X(chat_prompt_destroy) \
    X(chat_prompt_tokens) \
    X(generator_set_prompt) \
    X(generator_poll) \
    X(session_step) \
    X(generator_next) \
    X(generator_cancel) \
    X(generator_suspend) \
    X(generator_resume) \
    X(generator_truncate) \
    X(generator_fork) \
    X(generator_save) \
    X(generator_load) \
    X(generator_tokens) \
    X(generator_info) \
    X(grammar_create) \
    X(grammar_destroy) \
    X(matcher_create) \
    X(matcher_clone) \
    X(matcher_destroy) \
    X(matcher_accept) \
    X(matcher_rollback) \
    X(matcher_mask) \
    X(matcher_info) \
    X(writer_copy_shard) \
    X(imatrix_open) \
    X(imatrix_open_memory) \
    X(imatrix_destroy) \
    X(imatrix_info) \
    X(imatrix_entry_at) \
    X(imatrix_find) \
    X(imatrix_dataset_at) \
    X(imatrix_keep_entries) \
    X(imatrix_merge) \
    X(imatrix_create) \
    X(imatrix_write) \
    X(kv_create) \
    X(kv_estimate) \
    X(kv_destroy) \
    X(kv_reserve) \
    X(kv_append) \
    X(kv_attend) \
    X(kv_read) \
    X(kv_scores) \
    X(kv_length) \
    X(kv_positions) \
    X(kv_truncate) \
    X(kv_begin) \
    X(kv_commit) \
    X(kv_rollback) \
    X(kv_remove) \
    X(kv_copy) \
    X(kv_shift) \
    X(kv_keep) \
    X(kv_calibrate) \
    X(kv_save) \
    X(kv_load) \
    X(kv_save_file) \
    X(kv_load_file) \
    X(kv_requantize) \
    X(kv_compact) \
    X(kv_clear) \
    X(kv_info) \
    X(matvec) \
    X(matmul) \
    X(tokenizer_create) \
    X(tokenizer_destroy) \
    X(tokenize) \
    X(detokenize) \
    X(detokenize_stream) \
    X(token_info) \
    X(tokenizer_info) \
    X(pre_tokenizer_count) \
    X(pre_tokenizer_at) \
    X(model_create) \
    X(model_destroy) \
    X(model_info) \
    X(model_layer_info) \
    X(model_describe_graph) \
    X(session_create) \
    X(session_destroy) \
    X(session_info) \
    X(dequantize) \
    X(quantize) \
    X(file_type_count) \
    X(file_type_at) \
    X(file_type_find) \
    X(quantizer_create) \
    X(quantizer_destroy) \
    X(quantizer_info) \
    X(quantizer_tensor_at) \
    X(quantizer_override_types) \
    X(quantizer_tensor_error) \
    X(quantizer_run) \
    X(quantizer_finish) \
    X(sampler_create) \
    X(sampler_destroy) \
    X(sampler_sample) \
    X(sampler_accept) \
    X(sampler_reset) \
    X(sampler_clone) \
    X(sampler_add_top_k) \
    X(sampler_add_top_p) \
    X(sampler_add_min_p) \
    X(sampler_add_typical) \
    X(sampler_add_top_n_sigma) \
    X(sampler_add_xtc) \
    X(sampler_add_temperature) \
    X(sampler_add_penalties) \
    X(sampler_add_dry) \
    X(sampler_add_logit_bias) \
    X(sampler_add_mirostat) \
    X(sampler_add_host) \
    X(file_sampling) \
    X(logprobs) \
    X(type_info) \
    X(type_find) \
    X(type_row_bytes) \
    X(runtime_kernel_name) \
    X(writer_create) \
    X(writer_destroy) \
    X(writer_set_u64) \
    X(writer_set_i64) \
    X(writer_set_f64) \
    X(writer_set_bool) \
    X(writer_set_string) \
    X(writer_set_array) \
    X(writer_set_array_string) \
    X(writer_set_value) \
    X(writer_unset) \
    X(writer_rename) \
    X(writer_copy_meta) \
    X(writer_add_tensor) \
    X(writer_copy_tensors) \
    X(writer_add_stream) \
    X(writer_info) \
    X(writer_write) \
    X(writer_write_stream) \
    X(writer_edit_info) \
    X(writer_edit) \
    X(file_recover_edit)

/* A pointer to each function, with the parameters and the contract of its header. */
typedef struct ggufx_functions {
    ggufx_status (*adapter_create)(ggufx_adapter **out, const ggufx_model *model, const ggufx_file *file, const ggufx_adapter_options *options, ggufx_error *error);
    void (*adapter_destroy)(ggufx_adapter *adapter);
    ggufx_status (*adapter_info)(ggufx_adapter_facts *out, const ggufx_adapter *adapter, ggufx_error *error);
    ggufx_status (*session_set_adapters)(ggufx_session *session, uint32_t sequence, const ggufx_adapter_use *uses, size_t n_uses, ggufx_error *error);
    ggufx_status (*embedder_set_adapters)(ggufx_embedder *embedder, const ggufx_adapter_use *uses, size_t n_uses, ggufx_error *error);
    int32_t (*adapter_has_tensor)(const ggufx_adapter *adapter, size_t tensor);
    ggufx_status (*adapter_add_rows)(float *rows, size_t n, const ggufx_adapter *adapter, size_t tensor, uint64_t first_row, uint64_t n_rows, float scale, ggufx_error *error);
    const char *(*status_name)(ggufx_status status);
    const char *(*version)(void);
    uint32_t (*abi_version)(void);
    size_t (*struct_size)(const char *struct_name);
    int32_t (*has)(const char *feature);
    ggufx_status (*runtime_create)(ggufx_runtime **out, const ggufx_runtime_options *options, ggufx_error *error);
    void (*runtime_destroy)(ggufx_runtime *rt);
    ggufx_status (*runtime_info)(ggufx_runtime_facts *out, const ggufx_runtime *rt, ggufx_error *error);
    ggufx_status (*session_decode)(ggufx_session *session, const ggufx_decode_item *items, size_t n_items, const ggufx_decode_options *options, ggufx_error *error);
    uint64_t (*session_length)(const ggufx_session *session, uint32_t sequence);
    ggufx_status (*session_truncate)(ggufx_session *session, uint32_t sequence, uint64_t n_tokens, ggufx_error *error);
    ggufx_status (*session_remove)(ggufx_session *session, uint32_t sequence, uint64_t first, uint64_t n_tokens, ggufx_error *error);
    ggufx_status (*session_shift)(ggufx_session *session, uint32_t sequence, uint64_t first, uint64_t n_tokens, int32_t delta, ggufx_error *error);
    ggufx_status (*session_tokens)(int32_t *out_ids, int32_t *out_positions, const ggufx_session *session, uint32_t sequence, uint64_t first, uint64_t n_tokens, ggufx_error *error);
    ggufx_status (*session_copy)(ggufx_session *session, uint32_t from, uint32_t to, uint64_t n_tokens, ggufx_error *error);
    ggufx_status (*session_save)(const ggufx_session *session, uint32_t sequence, ggufx_status (*write)(void *user, const void *data, size_t n), void *user, ggufx_error *error);
    ggufx_status (*session_load)(ggufx_session *session, uint32_t sequence, ggufx_status (*read)(void *user, void *data, size_t n), void *user, ggufx_error *error);
    ggufx_status (*session_save_file)(const ggufx_session *session, uint32_t sequence, const char *path, ggufx_error *error);
    ggufx_status (*session_load_file)(ggufx_session *session, uint32_t sequence, const char *path, ggufx_error *error);
    ggufx_status (*chat_template_create)(ggufx_chat_template **out, const ggufx_runtime *rt, const ggufx_file *file, const ggufx_chat_template_options *options, ggufx_error *error);
    void (*chat_template_destroy)(ggufx_chat_template *chat);
    const char *(*chat_template_builtin_name)(size_t index);
    ggufx_status (*chat_template_render)(char *out, size_t capacity, size_t *out_needed, const ggufx_chat_template *chat, const ggufx_chat_request *request, ggufx_error *error);
    ggufx_status (*chat_template_spans)(ggufx_chat_span *out, size_t capacity, size_t *out_needed, const ggufx_chat_template *chat, const ggufx_chat_request *request, ggufx_error *error);
    ggufx_status (*chat_template_tokenize)(int32_t *out_ids, size_t capacity, size_t *out_needed, const ggufx_chat_template *chat, const ggufx_tokenizer *tokenizer, const ggufx_chat_request *request, ggufx_tokenize_flags flags, ggufx_error *error);
    ggufx_status (*chat_template_info)(ggufx_chat_template_facts *out, const ggufx_chat_template *chat, ggufx_error *error);
    ggufx_status (*chat_parser_create)(ggufx_chat_parser **out, const ggufx_runtime *rt, const ggufx_chat_parser_options *options, ggufx_error *error);
    void (*chat_parser_destroy)(ggufx_chat_parser *parser);
    ggufx_status (*chat_parser_feed)(ggufx_chat_parser *parser, const char *text, size_t length, ggufx_error *error);
    ggufx_status (*chat_parser_finish)(ggufx_chat_parser *parser, ggufx_error *error);
    ggufx_status (*chat_parser_poll)(ggufx_event *out, ggufx_chat_parser *parser, ggufx_error *error);
    ggufx_status (*chat_parser_info)(ggufx_chat_parser_facts *out, const ggufx_chat_parser *parser, ggufx_error *error);
    ggufx_status (*device_list)(ggufx_device_facts *out, size_t capacity, size_t *out_needed, const ggufx_runtime *rt, const ggufx_device_options *options, ggufx_error *error);
    ggufx_status (*device_open)(ggufx_device **out, const ggufx_runtime *rt, const char *id, const ggufx_device_options *options, ggufx_error *error);
    ggufx_status (*device_create_vulkan)(ggufx_device **out, const ggufx_runtime *rt, const ggufx_vulkan_options *handles, const ggufx_device_options *options, ggufx_error *error);
    void (*device_detach)(ggufx_device *device);
    void (*device_destroy)(ggufx_device *device);
    ggufx_status (*device_info)(ggufx_device_facts *out, const ggufx_device *device, ggufx_error *error);
    ggufx_status (*tensor_upload)(ggufx_tensor **out, const ggufx_device *device, const ggufx_tensor *w, const ggufx_progress *progress, ggufx_error *error);
    ggufx_status (*tensor_download)(void *out, size_t n, const ggufx_tensor *w, ggufx_error *error);
    ggufx_status (*tensor_checksum)(uint32_t *out, const ggufx_tensor *w, ggufx_error *error);
    ggufx_status (*embedder_create)(ggufx_embedder **out, const ggufx_model *model, const ggufx_embed_options *options, ggufx_error *error);
    void (*embedder_destroy)(ggufx_embedder *embedder);
    ggufx_status (*embedder_estimate)(uint64_t *out, const ggufx_runtime *rt, const ggufx_file *file, const ggufx_embed_options *options, ggufx_error *error);
    ggufx_status (*embedder_info)(ggufx_embedder_facts *out, const ggufx_embedder *embedder, ggufx_error *error);
    ggufx_status (*embed)(float *out, size_t n_out, ggufx_embedder *embedder, const ggufx_token_list *texts, size_t n_texts, const ggufx_progress *progress, ggufx_error *error);
    ggufx_status (*estimate)(ggufx_estimate_facts *out, const ggufx_runtime *rt, const ggufx_file *file, const ggufx_estimate_options *options, ggufx_error *error);
    ggufx_status (*recommend)(ggufx_estimate_facts *out, const ggufx_runtime *rt, const ggufx_file *file, const ggufx_estimate_options *options, ggufx_error *error);
    ggufx_status (*eval_perplexity)(ggufx_eval_facts *out, ggufx_session *session, const int32_t *tokens, size_t n_tokens, uint32_t n_context, int32_t bos, const ggufx_eval_options *options, ggufx_error *error);
    ggufx_status (*eval_merge)(ggufx_eval_facts *out, const ggufx_runtime *rt, const ggufx_eval_row *rows, size_t n_rows, uint64_t n_chunks, uint32_t n_context, ggufx_eval_flags flags, ggufx_error *error);
    ggufx_status (*eval_continuations)(double *out, ggufx_session *session, const int32_t *context, size_t n_context, const ggufx_token_list *continuations, size_t n_continuations, const ggufx_progress *progress, ggufx_error *error);
    ggufx_status (*moments_create)(ggufx_moments **out, const ggufx_runtime *rt, size_t n_columns, ggufx_moments_flags flags, ggufx_error *error);
    void (*moments_destroy)(ggufx_moments *moments);
    ggufx_status (*moments_info)(ggufx_moments_facts *out, const ggufx_moments *moments, ggufx_error *error);
    ggufx_status (*moments_add)(ggufx_moments *moments, const ggufx_moments_inputs *inputs, ggufx_error *error);
    ggufx_status (*quantize_feedback)(void *out, size_t n_bytes, const ggufx_runtime *rt, const ggufx_feedback_args *args, ggufx_feedback_facts *out_facts, ggufx_error *error);
    ggufx_status (*open)(ggufx_file **out, const ggufx_runtime *rt, const char *path, const ggufx_open_options *options, ggufx_error *error);
    ggufx_status (*open_fd)(ggufx_file **out, const ggufx_runtime *rt, int32_t fd, uint64_t offset, uint64_t length, const ggufx_open_options *options, ggufx_error *error);
    ggufx_status (*open_memory)(ggufx_file **out, const ggufx_runtime *rt, const void *data, size_t size, void (*destroy)(void *user), void *user, const ggufx_open_options *options, ggufx_error *error);
    ggufx_status (*open_io)(ggufx_file **out, const ggufx_runtime *rt, const ggufx_io *io, const ggufx_open_options *options, ggufx_error *error);
    void (*file_destroy)(ggufx_file *file);
    ggufx_status (*file_info)(ggufx_file_facts *out, const ggufx_file *file, ggufx_error *error);
    ggufx_status (*file_memory)(ggufx_file_memory_facts *out, const ggufx_file *file, ggufx_error *error);
    size_t (*file_meta_count)(const ggufx_file *file);
    ggufx_status (*file_meta_at)(ggufx_meta_facts *out, const ggufx_file *file, size_t index, ggufx_error *error);
    ggufx_status (*file_meta_find)(size_t *out, const ggufx_file *file, const char *key, size_t length, ggufx_error *error);
    ggufx_status (*file_meta_u64)(uint64_t *out, const ggufx_file *file, size_t index, ggufx_error *error);
    ggufx_status (*file_meta_i64)(int64_t *out, const ggufx_file *file, size_t index, ggufx_error *error);
    ggufx_status (*file_meta_f64)(double *out, const ggufx_file *file, size_t index, ggufx_error *error);
    ggufx_status (*file_meta_bool)(int32_t *out, const ggufx_file *file, size_t index, ggufx_error *error);
    ggufx_status (*file_meta_string)(ggufx_text *out, const ggufx_file *file, size_t index, ggufx_error *error);
    ggufx_status (*file_meta_array_u64)(uint64_t *out, const ggufx_file *file, size_t index, uint64_t first, size_t n, ggufx_error *error);
    ggufx_status (*file_meta_array_i64)(int64_t *out, const ggufx_file *file, size_t index, uint64_t first, size_t n, ggufx_error *error);
    ggufx_status (*file_meta_array_f64)(double *out, const ggufx_file *file, size_t index, uint64_t first, size_t n, ggufx_error *error);
    ggufx_status (*file_meta_array_string)(ggufx_text *out, const ggufx_file *file, size_t index, uint64_t i, ggufx_error *error);
    ggufx_status (*file_meta_array_nested)(size_t *out_index, const ggufx_file *file, size_t index, uint64_t i, ggufx_error *error);
    size_t (*file_tensor_count)(const ggufx_file *file);
    const ggufx_tensor *(*file_tensor)(const ggufx_file *file, size_t index);
    ggufx_status (*file_tensor_find)(size_t *out, const ggufx_file *file, const char *name, size_t length, ggufx_error *error);
    ggufx_status (*tensor_info)(ggufx_tensor_facts *out, const ggufx_tensor *tensor, ggufx_error *error);
    const void *(*tensor_data)(const ggufx_tensor *tensor);
    ggufx_status (*tensor_create)(ggufx_tensor **out, const ggufx_runtime *rt, const ggufx_tensor_options *options, ggufx_error *error);
    ggufx_status (*tensor_slice)(ggufx_tensor **out, const ggufx_tensor *tensor, uint32_t dim, uint64_t first, uint64_t n, ggufx_error *error);
    void (*tensor_destroy)(ggufx_tensor *tensor);
    ggufx_status (*file_validate)(const ggufx_file *file, ggufx_validate_flags flags, ggufx_status (*report)(void *user, const ggufx_finding_facts *finding), void *user, const ggufx_progress *progress, ggufx_error *error);
    ggufx_status (*generator_create)(ggufx_generator **out, ggufx_session *session, const ggufx_generator_options *options, ggufx_error *error);
    void (*generator_destroy)(ggufx_generator *generator);
    ggufx_status (*chat_prompt_create)(ggufx_chat_prompt **out, const ggufx_chat_prompt_options *options, ggufx_error *error);
    void (*chat_prompt_destroy)(ggufx_chat_prompt *prompt);
    ggufx_status (*chat_prompt_tokens)(int32_t *out_ids, size_t capacity, size_t *out_needed, const ggufx_chat_prompt *prompt, ggufx_error *error);
    ggufx_status (*generator_set_prompt)(ggufx_generator *generator, const ggufx_prompt *prompt, ggufx_error *error);
    ggufx_status (*generator_poll)(ggufx_event *out, ggufx_generator *generator, ggufx_error *error);
    ggufx_status (*session_step)(int32_t *out_complete, ggufx_session *session, const ggufx_step_item *items, size_t n_items, const ggufx_step_options *options, ggufx_error *error);
    ggufx_status (*generator_next)(ggufx_event *out, ggufx_generator *generator, const ggufx_step_options *options, ggufx_error *error);
    void (*generator_cancel)(const ggufx_generator *generator);
    ggufx_status (*generator_suspend)(ggufx_generator *generator, ggufx_error *error);
    ggufx_status (*generator_resume)(uint64_t *out_n_reused, ggufx_generator *generator, uint32_t sequence, ggufx_error *error);
    ggufx_status (*generator_truncate)(ggufx_generator *generator, uint64_t n_tokens, ggufx_error *error);
    ggufx_status (*generator_fork)(ggufx_generator **out, ggufx_generator *generator, const ggufx_fork_options *options, ggufx_error *error);
    ggufx_status (*generator_save)(const ggufx_generator *generator, ggufx_status (*write)(void *user, const void *data, size_t n), void *user, ggufx_error *error);
    ggufx_status (*generator_load)(ggufx_generator **out, ggufx_session *session, const ggufx_generator_options *options, ggufx_status (*read)(void *user, void *data, size_t n), void *user, ggufx_error *error);
    ggufx_status (*generator_tokens)(int32_t *out_ids, size_t capacity, size_t *out_needed, const ggufx_generator *generator, ggufx_error *error);
    ggufx_status (*generator_info)(ggufx_generator_facts *out, const ggufx_generator *generator, ggufx_error *error);
    ggufx_status (*grammar_create)(ggufx_grammar **out, const ggufx_runtime *rt, const ggufx_tokenizer *tokenizer, const ggufx_grammar_options *options, ggufx_error *error);
    void (*grammar_destroy)(ggufx_grammar *grammar);
    ggufx_status (*matcher_create)(ggufx_matcher **out, const ggufx_grammar *grammar, ggufx_error *error);
    ggufx_status (*matcher_clone)(ggufx_matcher **out, const ggufx_matcher *matcher, ggufx_error *error);
    void (*matcher_destroy)(ggufx_matcher *matcher);
    ggufx_status (*matcher_accept)(ggufx_matcher *matcher, const int32_t *ids, size_t n, ggufx_error *error);
    ggufx_status (*matcher_rollback)(ggufx_matcher *matcher, uint64_t n_tokens, ggufx_error *error);
    ggufx_status (*matcher_mask)(uint32_t *out_bits, size_t n_words, ggufx_matcher *matcher, ggufx_error *error);
    ggufx_status (*matcher_info)(ggufx_matcher_facts *out, const ggufx_matcher *matcher, ggufx_error *error);
    ggufx_status (*writer_copy_shard)(ggufx_writer *writer, const ggufx_file *file, uint32_t rank, uint32_t n_ranks, const uint32_t *weights, ggufx_group_options_flags flags, ggufx_error *error);
    ggufx_status (*imatrix_open)(ggufx_imatrix **out, const ggufx_runtime *rt, const char *path, const ggufx_progress *progress, ggufx_error *error);
    ggufx_status (*imatrix_open_memory)(ggufx_imatrix **out, const ggufx_runtime *rt, const void *data, size_t size, ggufx_error *error);
    void (*imatrix_destroy)(ggufx_imatrix *imatrix);
    ggufx_status (*imatrix_info)(ggufx_imatrix_facts *out, const ggufx_imatrix *imatrix, ggufx_error *error);
    ggufx_status (*imatrix_entry_at)(ggufx_imatrix_entry *out, const ggufx_imatrix *imatrix, size_t index, ggufx_error *error);
    ggufx_status (*imatrix_find)(size_t *out_index, const ggufx_imatrix *imatrix, const char *name, size_t length, ggufx_error *error);
    ggufx_status (*imatrix_dataset_at)(ggufx_text *out, const ggufx_imatrix *imatrix, size_t index, ggufx_error *error);
    ggufx_status (*imatrix_keep_entries)(ggufx_imatrix *imatrix, const uint8_t *keep, size_t n, ggufx_error *error);
    ggufx_status (*imatrix_merge)(ggufx_imatrix *imatrix, const ggufx_imatrix *other, ggufx_error *error);
    ggufx_status (*imatrix_create)(ggufx_imatrix **out, ggufx_session *session, const int32_t *tokens, size_t n_tokens, uint32_t n_context, int32_t bos, const ggufx_imatrix_options *options, ggufx_error *error);
    ggufx_status (*imatrix_write)(const ggufx_imatrix *imatrix, const char *path, ggufx_imatrix_format format, const ggufx_progress *progress, ggufx_error *error);
    ggufx_status (*kv_create)(ggufx_kv **out, const ggufx_runtime *rt, const ggufx_kv_options *options, ggufx_error *error);
    ggufx_status (*kv_estimate)(uint64_t *out, const ggufx_runtime *rt, const ggufx_kv_options *options, uint64_t n_tokens, ggufx_error *error);
    void (*kv_destroy)(ggufx_kv *kv);
    ggufx_status (*kv_reserve)(ggufx_kv *kv, uint32_t sequence, uint64_t n_tokens, ggufx_error *error);
    ggufx_status (*kv_append)(ggufx_kv *kv, const ggufx_kv_tokens *tokens, ggufx_error *error);
    ggufx_status (*kv_attend)(float *out, size_t n_out, float *lse, size_t n_lse, const ggufx_kv *kv, const ggufx_kv_queries *queries, const ggufx_attend_options *options, ggufx_error *error);
    ggufx_status (*kv_read)(float *k, size_t n_k, float *v, size_t n_v, const ggufx_kv *kv, const ggufx_kv_range *range, ggufx_error *error);
    ggufx_status (*kv_scores)(float *out, size_t n_out, const ggufx_kv *kv, const ggufx_kv_queries *queries, float scale, ggufx_error *error);
    ggufx_status (*kv_length)(uint64_t *out, const ggufx_kv *kv, uint32_t sequence, ggufx_error *error);
    ggufx_status (*kv_positions)(int32_t *out, const ggufx_kv *kv, uint32_t sequence, uint64_t first, uint64_t n, ggufx_error *error);
    ggufx_status (*kv_truncate)(ggufx_kv *kv, uint32_t sequence, uint64_t n_tokens, ggufx_error *error);
    ggufx_status (*kv_begin)(ggufx_kv *kv, uint32_t sequence, ggufx_error *error);
    ggufx_status (*kv_commit)(ggufx_kv *kv, uint32_t sequence, ggufx_error *error);
    ggufx_status (*kv_rollback)(ggufx_kv *kv, uint32_t sequence, ggufx_error *error);
    ggufx_status (*kv_remove)(ggufx_kv *kv, uint32_t sequence, uint64_t first, uint64_t n_tokens, ggufx_error *error);
    ggufx_status (*kv_copy)(ggufx_kv *kv, uint32_t from, uint32_t to, uint64_t first, uint64_t n_tokens, ggufx_error *error);
    ggufx_status (*kv_shift)(ggufx_kv *kv, uint32_t sequence, uint64_t first, uint64_t n_tokens, int32_t delta, ggufx_error *error);
    ggufx_status (*kv_keep)(ggufx_kv *kv, uint32_t sequence, ggufx_error *error);
    ggufx_status (*kv_calibrate)(ggufx_kv *kv, uint32_t layer, const float *mu_k, const float *eq_k, size_t n_k, const float *mu_v, size_t n_v, ggufx_error *error);
    ggufx_status (*kv_save)(const ggufx_kv *kv, uint32_t sequence, ggufx_status (*write)(void *user, const void *data, size_t n), void *user, ggufx_error *error);
    ggufx_status (*kv_load)(ggufx_kv *kv, uint32_t sequence, ggufx_status (*read)(void *user, void *data, size_t n), void *user, ggufx_error *error);
    ggufx_status (*kv_save_file)(const ggufx_kv *kv, uint32_t sequence, const char *path, ggufx_error *error);
    ggufx_status (*kv_load_file)(ggufx_kv *kv, uint32_t sequence, const char *path, ggufx_error *error);
    ggufx_status (*kv_requantize)(ggufx_kv *kv, uint32_t layer, ggufx_type type_k, ggufx_type type_v, const ggufx_progress *progress, ggufx_error *error);
    ggufx_status (*kv_compact)(ggufx_kv *kv, uint32_t sequence, const ggufx_progress *progress, ggufx_error *error);
    ggufx_status (*kv_clear)(ggufx_kv *kv, ggufx_error *error);
    ggufx_status (*kv_info)(ggufx_kv_facts *out, const ggufx_kv *kv, uint32_t layer, ggufx_error *error);
    ggufx_status (*matvec)(float *y, size_t n_y, const ggufx_runtime *rt, const ggufx_tensor *w, const float *x, size_t n_x, const ggufx_matmul_options *options, ggufx_error *error);
    ggufx_status (*matmul)(const ggufx_runtime *rt, const ggufx_product *products, size_t n_products, const ggufx_matmul_options *options, ggufx_error *error);
    ggufx_status (*tokenizer_create)(ggufx_tokenizer **out, const ggufx_file *file, ggufx_error *error);
    void (*tokenizer_destroy)(ggufx_tokenizer *tokenizer);
    ggufx_status (*tokenize)(int32_t *out_ids, size_t capacity, size_t *out_needed, const ggufx_tokenizer *tokenizer, const char *text, size_t length, ggufx_tokenize_flags flags, ggufx_error *error);
    ggufx_status (*detokenize)(char *out, size_t capacity, size_t *out_needed, const ggufx_tokenizer *tokenizer, const int32_t *ids, size_t n_ids, ggufx_detokenize_flags flags, ggufx_error *error);
    ggufx_status (*detokenize_stream)(char *out, size_t capacity, size_t *out_needed, ggufx_detokenizer_state *state, const ggufx_tokenizer *tokenizer, const int32_t *ids, size_t n_ids, ggufx_error *error);
    ggufx_status (*token_info)(ggufx_token_facts *out, const ggufx_tokenizer *tokenizer, int32_t id, ggufx_error *error);
    ggufx_status (*tokenizer_info)(ggufx_tokenizer_facts *out, const ggufx_tokenizer *tokenizer, ggufx_error *error);
    size_t (*pre_tokenizer_count)(void);
    ggufx_status (*pre_tokenizer_at)(ggufx_pre_tokenizer_facts *out, size_t index, ggufx_error *error);
    ggufx_status (*model_create)(ggufx_model **out, const ggufx_runtime *rt, const ggufx_file *file, const ggufx_model_options *options, ggufx_error *error);
    void (*model_destroy)(ggufx_model *model);
    ggufx_status (*model_info)(ggufx_model_facts *out, const ggufx_model *model, ggufx_error *error);
    ggufx_status (*model_layer_info)(ggufx_layer_facts *out, const ggufx_model *model, uint32_t layer, ggufx_error *error);
    ggufx_status (*model_describe_graph)(char *out, size_t capacity, size_t *out_needed, const ggufx_file *file, ggufx_error *error);
    ggufx_status (*session_create)(ggufx_session **out, const ggufx_model *model, const ggufx_session_options *options, ggufx_error *error);
    void (*session_destroy)(ggufx_session *session);
    ggufx_status (*session_info)(ggufx_session_facts *out, const ggufx_session *session, ggufx_error *error);
    ggufx_status (*dequantize)(float *out, size_t n_out, const ggufx_runtime *rt, const ggufx_tensor *tensor, uint64_t first_row, uint64_t n_rows, ggufx_error *error);
    ggufx_status (*quantize)(void *out, size_t n_bytes, const ggufx_runtime *rt, const ggufx_quantize_args *args, ggufx_error *error);
    size_t (*file_type_count)(void);
    ggufx_status (*file_type_at)(ggufx_file_type_facts *out, size_t index, ggufx_error *error);
    ggufx_status (*file_type_find)(uint32_t *out, const char *name, ggufx_error *error);
    ggufx_status (*quantizer_create)(ggufx_quantizer **out, const ggufx_runtime *rt, const ggufx_file *file, uint32_t file_type, const ggufx_quantizer_options *options, ggufx_error *error);
    void (*quantizer_destroy)(ggufx_quantizer *quantizer);
    ggufx_status (*quantizer_info)(ggufx_quantizer_facts *out, const ggufx_quantizer *quantizer, ggufx_error *error);
    ggufx_status (*quantizer_tensor_at)(ggufx_quantizer_tensor_facts *out, const ggufx_quantizer *quantizer, size_t index, ggufx_error *error);
    ggufx_status (*quantizer_override_types)(ggufx_quantizer *quantizer, const ggufx_type *types, size_t n, ggufx_error *error);
    ggufx_status (*quantizer_tensor_error)(double *out, const ggufx_quantizer *quantizer, size_t index, ggufx_type type, uint64_t max_values, const ggufx_progress *progress, ggufx_error *error);
    ggufx_status (*quantizer_run)(ggufx_quantizer *quantizer, const char *path, const ggufx_quantizer_run_options *options, ggufx_error *error);
    ggufx_status (*quantizer_finish)(ggufx_quantizer *quantizer, const char *path, const ggufx_progress *progress, ggufx_error *error);
    ggufx_status (*sampler_create)(ggufx_sampler **out, const ggufx_runtime *rt, uint32_t n_vocab, uint64_t seed, ggufx_error *error);
    void (*sampler_destroy)(ggufx_sampler *sampler);
    ggufx_status (*sampler_sample)(int32_t *out_id, float *out_logprob, ggufx_sampler *sampler, ggufx_matcher *matcher, const float *logits, size_t n, ggufx_error *error);
    ggufx_status (*sampler_accept)(ggufx_sampler *sampler, const int32_t *ids, size_t n, ggufx_error *error);
    ggufx_status (*sampler_reset)(ggufx_sampler *sampler, ggufx_error *error);
    ggufx_status (*sampler_clone)(ggufx_sampler **out, const ggufx_sampler *sampler, ggufx_error *error);
    ggufx_status (*sampler_add_top_k)(ggufx_sampler *sampler, uint32_t k, ggufx_error *error);
    ggufx_status (*sampler_add_top_p)(ggufx_sampler *sampler, float p, ggufx_error *error);
    ggufx_status (*sampler_add_min_p)(ggufx_sampler *sampler, float p, ggufx_error *error);
    ggufx_status (*sampler_add_typical)(ggufx_sampler *sampler, float p, ggufx_error *error);
    ggufx_status (*sampler_add_top_n_sigma)(ggufx_sampler *sampler, float n_sigma, ggufx_error *error);
    ggufx_status (*sampler_add_xtc)(ggufx_sampler *sampler, float probability, float threshold, ggufx_error *error);
    ggufx_status (*sampler_add_temperature)(ggufx_sampler *sampler, float temperature, const ggufx_temperature_options *options, ggufx_error *error);
    ggufx_status (*sampler_add_penalties)(ggufx_sampler *sampler, const ggufx_penalty_options *options, ggufx_error *error);
    ggufx_status (*sampler_add_dry)(ggufx_sampler *sampler, const ggufx_dry_options *options, ggufx_error *error);
    ggufx_status (*sampler_add_logit_bias)(ggufx_sampler *sampler, const ggufx_logit_bias *biases, size_t n_biases, ggufx_error *error);
    ggufx_status (*sampler_add_mirostat)(ggufx_sampler *sampler, const ggufx_mirostat_options *options, ggufx_error *error);
    ggufx_status (*sampler_add_host)(ggufx_sampler *sampler, ggufx_status (*apply)(void *user, ggufx_candidate *candidates, size_t n), void *user, ggufx_error *error);
    ggufx_status (*file_sampling)(ggufx_sampling_facts *out, int32_t *out_suppressed, size_t capacity, const ggufx_file *file, ggufx_error *error);
    ggufx_status (*logprobs)(int32_t *out_ids, float *out_logprobs, size_t k, const ggufx_runtime *rt, const float *logits, size_t n, const int32_t *tokens, ggufx_error *error);
    ggufx_status (*type_info)(ggufx_type_facts *out, ggufx_type type, ggufx_error *error);
    ggufx_status (*type_find)(ggufx_type *out, const char *name, ggufx_error *error);
    ggufx_status (*type_row_bytes)(uint64_t *out, ggufx_type type, uint64_t n, ggufx_error *error);
    const char *(*runtime_kernel_name)(const ggufx_runtime *rt, ggufx_type type);
    ggufx_status (*writer_create)(ggufx_writer **out, const ggufx_runtime *rt, const ggufx_writer_options *options, ggufx_error *error);
    void (*writer_destroy)(ggufx_writer *writer);
    ggufx_status (*writer_set_u64)(ggufx_writer *writer, const char *key, size_t length, ggufx_value_type type, uint64_t value, ggufx_error *error);
    ggufx_status (*writer_set_i64)(ggufx_writer *writer, const char *key, size_t length, ggufx_value_type type, int64_t value, ggufx_error *error);
    ggufx_status (*writer_set_f64)(ggufx_writer *writer, const char *key, size_t length, ggufx_value_type type, double value, ggufx_error *error);
    ggufx_status (*writer_set_bool)(ggufx_writer *writer, const char *key, size_t length, int32_t value, ggufx_error *error);
    ggufx_status (*writer_set_string)(ggufx_writer *writer, const char *key, size_t length, const char *text, size_t n_text, ggufx_error *error);
    ggufx_status (*writer_set_array)(ggufx_writer *writer, const char *key, size_t length, ggufx_value_type element_type, const void *elements, size_t count, ggufx_error *error);
    ggufx_status (*writer_set_array_string)(ggufx_writer *writer, const char *key, size_t length, const char *const *texts, const size_t *lengths, size_t count, ggufx_error *error);
    ggufx_status (*writer_set_value)(ggufx_writer *writer, const char *key, size_t length, ggufx_value_type type, const void *value, size_t n_bytes, ggufx_error *error);
    ggufx_status (*writer_unset)(ggufx_writer *writer, const char *key, size_t length, ggufx_error *error);
    ggufx_status (*writer_rename)(ggufx_writer *writer, const char *key, size_t length, const char *new_key, size_t new_length, ggufx_error *error);
    ggufx_status (*writer_copy_meta)(ggufx_writer *writer, const ggufx_file *file, ggufx_error *error);
    ggufx_status (*writer_add_tensor)(ggufx_writer *writer, const ggufx_tensor *tensor, const char *name, size_t name_length, ggufx_error *error);
    ggufx_status (*writer_copy_tensors)(ggufx_writer *writer, const ggufx_file *file, ggufx_error *error);
    ggufx_status (*writer_add_stream)(ggufx_writer *writer, const char *name, size_t name_length, ggufx_type type, uint32_t n_dims, const uint64_t *ne, const ggufx_tensor_stream *stream, ggufx_error *error);
    ggufx_status (*writer_info)(ggufx_writer_facts *out, const ggufx_writer *writer, const ggufx_write_options *options, ggufx_error *error);
    ggufx_status (*writer_write)(ggufx_writer *writer, const char *path, const ggufx_write_options *options, ggufx_error *error);
    ggufx_status (*writer_write_stream)(ggufx_writer *writer, ggufx_status (*write)(void *user, uint32_t part, const void *data, size_t n), void *user, const ggufx_write_options *options, ggufx_error *error);
    ggufx_status (*writer_edit_info)(ggufx_edit_facts *out, const ggufx_writer *writer, const ggufx_file *file, const ggufx_edit_options *options, ggufx_error *error);
    ggufx_status (*writer_edit)(ggufx_edit_facts *out, ggufx_writer *writer, const ggufx_file *file, const char *path, const ggufx_edit_options *options, ggufx_error *error);
    ggufx_status (*file_recover_edit)(int32_t *out, const ggufx_runtime *rt, const char *path, ggufx_error *error);
} ggufx_functions;

/* clang-format on */

/* The name of a function as a string and a comma, for GGUFX_FUNCTIONS. */
#define GGUFX_SYMBOL(name) "ggufx_" #name,

/*
 * Fills the table with the functions of a library.
 *
 * get_symbol  returns the address of a function by its name, or NULL: dlsym, GetProcAddress, or the
 *             loader of an engine.
 *
 * A function that an older library lacks becomes NULL. The result is the name of the first one, or
 * NULL if the library has all. A host that does without some functions checks those that it needs:
 * `if (api.open == NULL)`.
 *
 * Threads: any.   Since: 0.1.
 */
static inline const char *
ggufx_load(ggufx_functions *out, void *(*get_symbol)(void *user, const char *name), void *user) {
    static const char *const names[] = {GGUFX_FUNCTIONS(GGUFX_SYMBOL)};
    unsigned char *bytes = (unsigned char *)out;
    const char *missing = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *const symbol = get_symbol(user, names[i]);
        /* Byte by byte, because ISO C does not convert addresses of objects to those of functions. */
        for (size_t j = 0; j < sizeof symbol; j++) *bytes++ = ((const unsigned char *)&symbol)[j];
        if (symbol == NULL && missing == NULL) missing = names[i];
    }
    return missing;
}

#ifdef __cplusplus
}
#endif

#endif
