/*
 * Calls that take structs with pointers or callbacks, in flat arguments: Go may neither put its
 * pointers into structs it passes nor hand functions to C. `user` is a cgo.Handle, 0 for none.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_GO_BRIDGE_H
#define GGUFX_GO_BRIDGE_H

#include "hooks.h"
#include "plain.h"

/* ---- runtime and files ---------------------------------------------------------------------- */

static inline ggufx_status ggufx_go_runtime(ggufx_runtime **out, uint32_t threads, int32_t isa,
                                            uint64_t workspace, uintptr_t log, uintptr_t jobs,
                                            uint32_t max_workers, uintptr_t memory,
                                            ggufx_error *e) {
    const ggufx_log l = {sizeof l, 0, (void *)log, ggufx_go_on_log, ggufx_go_on_destroy};
    const ggufx_executor x = {
        sizeof x,           0, max_workers, 0, (void *)jobs, ggufx_go_on_parallel_for,
        ggufx_go_on_destroy};
    const ggufx_allocator a = {
        sizeof a,           0, (void *)memory, ggufx_go_on_alloc, ggufx_go_on_free,
        ggufx_go_on_destroy};
    ggufx_runtime_options o = {.struct_size = sizeof o};
    o.threads = threads;
    o.isa = isa;
    o.workspace_bytes = workspace;
    if (log) o.log = &l;
    if (jobs) o.executor = &x;
    if (memory) o.allocator = &a;
    return ggufx_runtime_create(out, &o, e);
}

enum { GGUFX_GO_PATH, GGUFX_GO_FD, GGUFX_GO_MEMORY, GGUFX_GO_IO };

/* source: a path, or bytes that are copied; reader: the handle of an io.ReaderAt. */
static inline ggufx_status ggufx_go_open(ggufx_file **out, const ggufx_runtime *rt, int how,
                                         void *source, uint64_t n, uint64_t offset, int32_t fd,
                                         uintptr_t reader, const ggufx_open_options *options,
                                         uintptr_t user, ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    const ggufx_io io = {sizeof io,           0,    (void *)reader,     ggufx_go_on_size,
                         ggufx_go_on_read_at, NULL, NULL, ggufx_go_on_destroy};
    ggufx_open_options o = *options;
    o.progress = progress;
    switch (how) {
    case GGUFX_GO_PATH:
        return ggufx_open(out, rt, source, &o, e);
    case GGUFX_GO_FD:
        return ggufx_open_fd(out, rt, fd, offset, n, &o, e);
    case GGUFX_GO_MEMORY:
        return ggufx_open_memory(out, rt, source, (size_t)n, NULL, NULL, &o, e);
    default:
        return ggufx_open_io(out, rt, &io, &o, e);
    }
}

static inline ggufx_status ggufx_go_validate(const ggufx_file *file, uint32_t flags, uintptr_t user,
                                             int watched, ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    return ggufx_validate(file, flags, ggufx_go_on_finding, (void *)user, watched ? progress : NULL,
                          e);
}

static inline void ggufx_go_free(void *memory) {
    free(memory);
}
/* data is memory of C's that is freed with the tensor, or kept by a Go handle. */
static inline ggufx_status ggufx_go_wrap(ggufx_tensor **out, const ggufx_runtime *rt, uint32_t type,
                                         uint32_t n_dims, const uint64_t *ne, uint64_t stride,
                                         void *data, uint64_t n_bytes, const char *name,
                                         uintptr_t keep, ggufx_error *e) {
    if (keep)
        return ggufx_tensor_wrap(out, rt, type, n_dims, ne, stride, data, n_bytes, name,
                                 ggufx_go_on_destroy, (void *)keep, e);
    return ggufx_tensor_wrap(out, rt, type, n_dims, ne, stride, data, n_bytes, name, ggufx_go_free,
                             data, e);
}

static inline ggufx_status ggufx_go_model(ggufx_model **out, const ggufx_runtime *rt,
                                          const ggufx_file *file,
                                          const ggufx_model_override *overrides, size_t n,
                                          uintptr_t user, ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    ggufx_model_options o = {.struct_size = sizeof o};
    o.overrides = overrides;
    o.n_overrides = n;
    o.progress = progress;
    return ggufx_model_create(out, rt, file, &o, e);
}

/* ---- products ------------------------------------------------------------------------------- */

/* Objects come as void *, as in plain.h. */

#define GGUFX_GO_MATMUL(flag_bits, user)                                                           \
    GGUFX_GO_WATCH(user);                                                                          \
    const ggufx_matmul_options o = {sizeof o, flag_bits, progress}

static inline ggufx_status ggufx_go_matvec(float *y, size_t n_y, void *rt, void *w, const float *x,
                                           size_t n_x, uint32_t flags, uintptr_t user,
                                           ggufx_error *e) {
    GGUFX_GO_MATMUL(flags, user);
    return ggufx_matvec(y, n_y, rt, w, x, n_x, &o, e);
}
static inline ggufx_status ggufx_go_matmul(float *y, size_t ldy, size_t n_y, void *rt, void *w,
                                           const float *x, size_t ldx, size_t n_x, size_t n,
                                           uint32_t flags, uintptr_t user, ggufx_error *e) {
    GGUFX_GO_MATMUL(flags, user);
    return ggufx_matmul(y, ldy, n_y, rt, w, x, ldx, n_x, n, &o, e);
}
static inline ggufx_status ggufx_go_matmul_id(float *y, size_t ldy, size_t n_y, void *rt, void *w,
                                              const uint32_t *ids, size_t n_used, const float *x,
                                              size_t ldx, size_t n_x, size_t n, uint32_t flags,
                                              uintptr_t user, ggufx_error *e) {
    GGUFX_GO_MATMUL(flags, user);
    return ggufx_matmul_id(y, ldy, n_y, rt, w, ids, n_used, x, ldx, n_x, n, &o, e);
}
/* The results are concatenated in y; n_w <= GGUFX_MATVEC_MAX_MATRICES. */
static inline ggufx_status ggufx_go_matvec_many(float *y, const size_t *n_y, void *rt, void *w,
                                                size_t n_w, const float *x, size_t n_x,
                                                uint32_t flags, uintptr_t user, ggufx_error *e) {
    GGUFX_GO_MATMUL(flags, user);
    float *at[GGUFX_MATVEC_MAX_MATRICES];
    size_t i;
    for (i = 0; i < n_w; i++) {
        at[i] = y;
        y += n_y[i];
    }
    return ggufx_matvec_many(at, n_y, rt, w, n_w, x, n_x, &o, e);
}
static inline ggufx_status ggufx_go_quantize(void *out, size_t n_bytes, void *rt, uint32_t type,
                                             const float *rows, size_t n_rows, size_t n_cols,
                                             int32_t mode, const float *imatrix, uintptr_t user,
                                             ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    ggufx_quantize_options o = {.struct_size = sizeof o};
    o.mode = mode;
    o.imatrix = imatrix;
    o.progress = progress;
    return ggufx_quantize_blocks(out, n_bytes, rt, type, rows, n_rows, n_cols, &o, e);
}

static inline ggufx_status ggufx_go_imatrix_open(ggufx_imatrix **out, const ggufx_runtime *rt,
                                                 const char *path, uintptr_t user, ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    return ggufx_imatrix_open(out, rt, path, progress, e);
}
static inline ggufx_status ggufx_go_imatrix_write(const ggufx_imatrix *imatrix, const char *path,
                                                  int32_t format, uintptr_t user, ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    return ggufx_imatrix_write(imatrix, path, format, progress, e);
}

/* ---- KV cache ------------------------------------------------------------------------------- */

/* out: a cache, or else its estimate for n_tokens. */
static inline ggufx_status ggufx_go_kv(ggufx_kv **out, uint64_t *estimate, uint64_t n_tokens,
                                       const ggufx_runtime *rt, const ggufx_kv_options *options,
                                       const ggufx_kv_layer *layers, const double *frequencies,
                                       ggufx_error *e) {
    ggufx_kv_options o = *options;
    o.layers = layers;
    o.rope_frequencies = frequencies;
    return out ? ggufx_kv_create(out, rt, &o, e) : ggufx_kv_estimate(estimate, rt, &o, n_tokens, e);
}

/* sequences: one query of each, else n_queries of `sequence`. */
static inline ggufx_status
ggufx_go_attend(float *out, size_t n_out, float *lse, void *kv, uint32_t layer, uint32_t sequence,
                const uint32_t *sequences, const float *q, size_t n_q, size_t n_queries,
                const int32_t *positions, uint32_t flags, float scale, float softcap,
                uint32_t window, uint32_t window_kind, const float *slopes, size_t n_slopes,
                const float *sinks, size_t n_sinks, uintptr_t user, ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    ggufx_attend_options o = {.struct_size = sizeof o};
    o.flags = flags;
    o.scale = scale;
    o.softcap = softcap;
    o.window = window;
    o.window_kind = window_kind;
    o.alibi_slopes = slopes;
    o.n_alibi_slopes = n_slopes;
    o.sink_logits = sinks;
    o.n_sink_logits = n_sinks;
    o.progress = progress;
    if (sequences)
        return ggufx_kv_attend_batch(out, n_out, lse, kv, layer, sequences, q, n_q, n_queries,
                                     positions, &o, e);
    return ggufx_kv_attend(out, n_out, lse, kv, layer, sequence, q, n_q, n_queries, positions, &o,
                           e);
}
static inline ggufx_status ggufx_go_kv_requantize(ggufx_kv *kv, uint32_t layer, uint32_t type_k,
                                                  uint32_t type_v, uintptr_t user, ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    return ggufx_kv_requantize(kv, layer, type_k, type_v, progress, e);
}
static inline ggufx_status ggufx_go_kv_compact(ggufx_kv *kv, uint32_t sequence, uintptr_t user,
                                               ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    return ggufx_kv_compact(kv, sequence, progress, e);
}
static inline ggufx_status ggufx_go_kv_save(const ggufx_kv *kv, uint32_t sequence, uintptr_t user,
                                            ggufx_error *e) {
    return ggufx_kv_save(kv, sequence, ggufx_go_on_write, (void *)user, e);
}
static inline ggufx_status ggufx_go_kv_load(ggufx_kv *kv, uint32_t sequence, uintptr_t user,
                                            ggufx_error *e) {
    return ggufx_kv_load(kv, sequence, ggufx_go_on_read, (void *)user, e);
}

/* ---- models --------------------------------------------------------------------------------- */

static inline ggufx_status ggufx_go_decode(void *session, const int32_t *tokens, size_t n,
                                           float *logits, size_t n_logits, int attention,
                                           uintptr_t user, ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    const ggufx_attention_hook hook = {sizeof hook, 0, (void *)user, ggufx_go_on_layer};
    ggufx_decode_options o = {.struct_size = sizeof o};
    if (logits) o.flags = GGUFX_DECODE_ALL_LOGITS;
    o.logits = logits;
    o.n_logits = n_logits;
    o.progress = progress;
    if (attention) o.attention = &hook;
    return ggufx_session_decode(session, tokens, n, &o, e);
}
/* items: memory of C's, with the tokens that they point at; see sequences.go. */
static inline ggufx_status ggufx_go_decode_batch(void *session, void *items, size_t n,
                                                 float *logits, size_t n_logits, float *hidden,
                                                 size_t n_hidden, uint32_t flags,
                                                 uint32_t matmul_flags, uintptr_t user,
                                                 ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    ggufx_batch_options o = {.struct_size = sizeof o};
    o.flags = flags;
    o.progress = progress;
    o.logits = logits;
    o.n_logits = n_logits;
    o.embeddings = hidden;
    o.n_embeddings = n_hidden;
    o.item_size = sizeof(ggufx_batch_item);
    o.matmul_flags = matmul_flags;
    return ggufx_session_decode_batch(session, items, n, &o, e);
}
static inline ggufx_status ggufx_go_session_save(const ggufx_session *session, uint32_t sequence,
                                                 uintptr_t user, ggufx_error *e) {
    return ggufx_session_save(session, sequence, ggufx_go_on_write, (void *)user, e);
}
static inline ggufx_status ggufx_go_session_load(ggufx_session *session, uint32_t sequence,
                                                 uintptr_t user, ggufx_error *e) {
    return ggufx_session_load(session, sequence, ggufx_go_on_read, (void *)user, e);
}
static inline ggufx_status ggufx_go_embed(float *out, size_t n_out, void *embedder,
                                          const int32_t *tokens, size_t n_tokens,
                                          const size_t *lengths, size_t n_texts, uintptr_t user,
                                          ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    return ggufx_embed(out, n_out, embedder, tokens, n_tokens, lengths, n_texts, progress, e);
}
static inline ggufx_status ggufx_go_perplexity(ggufx_perplexity_facts *out, ggufx_session *session,
                                               const int32_t *tokens, size_t n, uint32_t n_context,
                                               int32_t bos, uintptr_t user, ggufx_error *e) {
    return ggufx_perplexity(out, session, tokens, n, n_context, bos,
                            user ? ggufx_go_on_chunk : NULL, (void *)user, e);
}

/* ---- conversations -------------------------------------------------------------------------- */

/* Strings are concatenated; an empty one is not set. */
static inline const char *ggufx_go_text(const char **texts, size_t n, size_t *out_n) {
    const char *const at = n ? *texts : NULL;
    *texts += n;
    *out_n = n;
    return at;
}
static inline ggufx_status ggufx_go_chat(ggufx_chat **out, const ggufx_runtime *rt,
                                         const ggufx_file *file, const char *texts, const size_t *n,
                                         ggufx_error *e) {
    ggufx_chat_options o = {.struct_size = sizeof o};
    o.text = ggufx_go_text(&texts, n[0], &o.text_length);
    o.name = ggufx_go_text(&texts, n[1], &o.name_length);
    o.format = ggufx_go_text(&texts, n[2], &o.format_length);
    o.bos_token = ggufx_go_text(&texts, n[3], &o.bos_token_length);
    o.eos_token = ggufx_go_text(&texts, n[4], &o.eos_token_length);
    return ggufx_chat_create(out, rt, file, &o, e);
}
static inline ggufx_chat_request ggufx_go_chat_request(const char *texts, const size_t *n,
                                                       uint32_t flags, int64_t clock) {
    ggufx_chat_request r = {.struct_size = sizeof r};
    r.flags = flags;
    r.clock = clock;
    r.messages_json = ggufx_go_text(&texts, n[0], &r.messages_json_length);
    r.tools = ggufx_go_text(&texts, n[1], &r.tools_length);
    r.documents = ggufx_go_text(&texts, n[2], &r.documents_length);
    r.variables = ggufx_go_text(&texts, n[3], &r.variables_length);
    r.reasoning_effort = ggufx_go_text(&texts, n[4], &r.reasoning_effort_length);
    return r;
}
static inline ggufx_status ggufx_go_chat_render(char *out, size_t capacity, size_t *needed,
                                                ggufx_chat_run *runs, size_t run_capacity,
                                                size_t *n_runs, const ggufx_chat *chat,
                                                const char *texts, const size_t *n, uint32_t flags,
                                                int64_t clock, ggufx_error *e) {
    const ggufx_chat_request r = ggufx_go_chat_request(texts, n, flags, clock);
    return ggufx_chat_render(out, capacity, needed, runs, run_capacity, n_runs, chat, &r, e);
}
static inline ggufx_status
ggufx_go_chat_tokenize(int32_t *out, size_t capacity, size_t *needed, const ggufx_chat *chat,
                       const ggufx_tokenizer *tokenizer, const char *texts, const size_t *n,
                       uint32_t flags, int64_t clock, uint32_t tokenize_flags, ggufx_error *e) {
    const ggufx_chat_request r = ggufx_go_chat_request(texts, n, flags, clock);
    return ggufx_chat_tokenize(out, capacity, needed, chat, tokenizer, &r, tokenize_flags, e);
}
static inline ggufx_status ggufx_go_chat_parser(ggufx_chat_parser **out, const ggufx_runtime *rt,
                                                const ggufx_chat *chat, uint32_t flags,
                                                const char *texts, const size_t *n, uintptr_t user,
                                                ggufx_error *e) {
    ggufx_chat_parser_options o = {.struct_size = sizeof o};
    o.flags = flags;
    o.chat = chat;
    o.prompt = ggufx_go_text(&texts, n[0], &o.prompt_length);
    o.tools = ggufx_go_text(&texts, n[1], &o.tools_length);
    o.user = (void *)user;
    o.event = ggufx_go_on_chat_event;
    return ggufx_chat_parser_create(out, rt, &o, e);
}

static inline ggufx_status ggufx_go_grammar(ggufx_grammar **out, const ggufx_runtime *rt,
                                            const ggufx_tokenizer *tokenizer, uint32_t kind,
                                            const char *text, size_t n, uint32_t flags,
                                            ggufx_error *e) {
    ggufx_grammar_options o = {.struct_size = sizeof o};
    o.flags = flags;
    o.kind = kind;
    o.text = text;
    o.text_length = n;
    return ggufx_grammar_create(out, rt, tokenizer, &o, e);
}

/* The strings are concatenated. */
static inline ggufx_status ggufx_go_stop(ggufx_stop **out, const ggufx_runtime *rt,
                                         const char *texts, const size_t *lengths, size_t count,
                                         ggufx_error *e) {
    ggufx_stop_text *of = malloc((count ? count : 1) * sizeof *of);
    ggufx_status status;
    size_t i;
    if (!of) return GGUFX_E_MEMORY; /* the record is the caller's, all zero */
    for (i = 0; i < count; i++) {
        of[i].text = texts;
        of[i].length = lengths[i];
        texts += lengths[i];
    }
    status = ggufx_stop_create(out, rt, of, count, e);
    free(of);
    return status;
}

/* breakers and biases belong to the sampler; host: a cgo.Handle, 0 for none. */
static inline ggufx_status ggufx_go_sampler_add(ggufx_sampler *sampler,
                                                const ggufx_sampler_link *link,
                                                const int32_t *breakers,
                                                const ggufx_logit_bias *biases, uintptr_t host,
                                                ggufx_error *e) {
    ggufx_sampler_link l = *link;
    l.breakers = breakers;
    l.biases = biases;
    l.link = host ? ggufx_go_on_link : NULL;
    l.user = (void *)host;
    return ggufx_sampler_add(sampler, &l, e);
}

static inline ggufx_status ggufx_go_speculator(ggufx_speculator **out, ggufx_session *session,
                                               ggufx_session *draft, uintptr_t host,
                                               const int32_t *stops, size_t n_stops,
                                               uint32_t n_draft, uint32_t n_match, ggufx_error *e) {
    ggufx_speculator_options o = {.struct_size = sizeof o};
    o.draft = draft;
    o.guess = host ? ggufx_go_on_guess : NULL;
    o.user = (void *)host;
    o.stops = stops;
    o.n_stops = n_stops;
    o.n_draft = n_draft;
    o.n_match = n_match;
    return ggufx_speculator_create(out, session, &o, e);
}
static inline ggufx_status ggufx_go_speculator_next(int32_t *ids, float *logprobs, size_t capacity,
                                                    size_t *n, ggufx_speculator *speculator,
                                                    ggufx_sampler *sampler, ggufx_matcher *matcher,
                                                    uintptr_t user, ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    return ggufx_speculator_next(ids, logprobs, capacity, n, speculator, sampler, matcher, progress,
                                 e);
}

/* ---- measures ------------------------------------------------------------------------------- */

enum { GGUFX_GO_SAVES = 1, GGUFX_GO_COMPARES = 2, GGUFX_GO_REPORTS = 4, GGUFX_GO_WATCHES = 8 };

/* what: selects the callbacks of `user`. */
static inline ggufx_status ggufx_go_measure(ggufx_measure_facts *out, ggufx_session *session,
                                            const int32_t *tokens, size_t n, uint32_t n_context,
                                            int32_t bos, uint32_t stride, const char *save,
                                            const char *base, int what, uintptr_t user,
                                            ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    ggufx_measure_options o = {.struct_size = sizeof o};
    o.stride = stride;
    o.save_path = save;
    o.base_path = base;
    o.write = what & GGUFX_GO_SAVES ? ggufx_go_on_write : NULL;
    o.read = what & GGUFX_GO_COMPARES ? ggufx_go_on_read : NULL;
    o.report = what & GGUFX_GO_REPORTS ? ggufx_go_on_measure : NULL;
    o.progress = what & GGUFX_GO_WATCHES ? progress : NULL;
    o.write_user = o.read_user = o.report_user = (void *)user;
    return ggufx_measure(out, session, tokens, n, n_context, bos, &o, e);
}

static inline ggufx_status ggufx_go_endings(double *out, ggufx_session *session,
                                            const int32_t *context, size_t n_context,
                                            const int32_t *endings, const size_t *n_tokens,
                                            size_t n, uintptr_t user, ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    return ggufx_measure_endings(out, session, context, n_context, endings, n_tokens, n, progress,
                                 e);
}
static inline ggufx_status ggufx_go_collect(ggufx_imatrix **out, ggufx_session *session,
                                            const int32_t *tokens, size_t n, uint32_t n_context,
                                            int32_t bos, uint32_t flags, const char *dataset,
                                            uintptr_t user, ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    ggufx_imatrix_options o = {.struct_size = sizeof o};
    o.flags = flags;
    o.dataset = dataset;
    o.progress = progress;
    return ggufx_imatrix_collect(out, session, tokens, n, n_context, bos, &o, e);
}

/* ---- writing -------------------------------------------------------------------------------- */

/* The strings are concatenated. */
static inline ggufx_status ggufx_go_writer_strings(ggufx_writer *writer, const char *key, size_t n,
                                                   const char *texts, const size_t *lengths,
                                                   size_t count, ggufx_error *e) {
    const char **at = malloc((count ? count : 1) * sizeof *at);
    ggufx_status status;
    size_t i;
    if (!at) return GGUFX_E_MEMORY; /* the record is the caller's, all zero */
    for (i = 0; i < count; i++) {
        at[i] = texts;
        texts += lengths[i];
    }
    status = ggufx_writer_set_array_string(writer, key, n, at, lengths, count, e);
    free(at);
    return status;
}
static inline ggufx_status ggufx_go_writer_stream(ggufx_writer *writer, const char *name, size_t n,
                                                  uint32_t type, uint32_t n_dims,
                                                  const uint64_t *ne, uintptr_t user,
                                                  ggufx_error *e) {
    const ggufx_tensor_stream s = {sizeof s,           0, (void *)user, ggufx_go_on_read_at,
                                   ggufx_go_on_destroy};
    return ggufx_writer_add_stream(writer, name, n, type, n_dims, ne, &s, e);
}
/* path, or NULL: through the handle. out_info: only describes the write. */
static inline ggufx_status ggufx_go_writer_write(ggufx_writer *writer, const char *path,
                                                 ggufx_writer_facts *out_info, uint64_t max_bytes,
                                                 uint64_t max_tensors, uintptr_t user, int watched,
                                                 ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    ggufx_write_options o = {.struct_size = sizeof o};
    o.progress = watched ? progress : NULL;
    o.max_part_bytes = max_bytes;
    o.max_part_tensors = max_tensors;
    if (out_info) return ggufx_writer_info(out_info, writer, &o, e);
    if (path) return ggufx_writer_write(writer, path, &o, e);
    return ggufx_writer_write_stream(writer, ggufx_go_on_part, (void *)user, &o, e);
}

#endif
