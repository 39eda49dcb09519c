/*
 * The compute part of exercise_run(): products and the demo model.
 * SPDX-License-Identifier: MIT
 */
#include "../text_of.h"
#include "../unit/weight_calls.h"
#include "exercise.h"

#include <stdlib.h>
#include <string.h>

/* ---- products ------------------------------------------------------------------------------- */

enum { kColumns = 256, kRows = 96, kVectors = 5 };

void exercise_fill(float *x, size_t n) {
    uint32_t state = 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)((int32_t)state >> 8) * 0x1p-23f; /* exact in any mode */
    }
}

static ggufx_status run_slices(exercise *e, const ggufx_runtime *rt, const ggufx_tensor *w,
                               float *out) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_tensor *slice = NULL, *wrapped = NULL;
    ggufx_tensor_facts facts = {.struct_size = sizeof facts};
    ggufx_tensor_options options = {
        .struct_size = sizeof options, .n_dims = 2, .ne = {kColumns, 8}};
    TRY(a->tensor_slice(&slice, w, 1, 8, 8, &e->error));
    TRY(a->tensor_info(&facts, slice, &e->error));
    MUST(facts.n_rows == 8 && facts.row_bytes * 8 == facts.n_bytes);
    options.type = facts.type;
    options.data = a->tensor_data(slice);
    options.n_bytes = facts.n_bytes;
    TRY(a->tensor_create(&wrapped, rt, &options, &e->error));
    TRY(a->dequantize(out, kColumns * 8, rt, wrapped, 0, 8, &e->error));
    exercise_mix(e, out, kColumns * 8, sizeof *out);
    TRY(a->dequantize(out, kColumns, rt, slice, 0, 1, &e->error));
    exercise_mix(e, out, kColumns, sizeof *out);
end:
    a->tensor_destroy(wrapped);
    a->tensor_destroy(slice);
    return status;
}

/* Quantizes x[kColumns * kVectors], without and with an importance matrix. */
static ggufx_status run_quantize(exercise *e, const ggufx_runtime *rt, const float *x) {
    static const uint32_t types[] = {GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q4_0,  GGUFX_TYPE_Q4_K,
                                     GGUFX_TYPE_Q6_K, GGUFX_TYPE_IQ3_S, GGUFX_TYPE_MXFP4};
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    enum { kBytes = 272 * kVectors }; /* Q8_0 is the longest */
    uint8_t *out = calloc(kBytes, 1);
    float *imatrix = calloc(kColumns, sizeof *imatrix);
    ggufx_quantize_args args = {.struct_size = sizeof args, .n_rows = kVectors, .n_cols = kColumns};
    args.rows = x;
    args.progress = e->progress;
    for (size_t i = 0; i < kColumns; i++) imatrix[i] = 0.5f + (float)(i % 7);
    for (size_t i = 0; i < 2 * sizeof types / sizeof *types; i++) {
        args.type = types[i / 2];
        args.imatrix = i % 2 ? imatrix : NULL;
        TRY(a->quantize(out, kBytes, rt, &args, &e->error));
        exercise_mix(e, out, kBytes, 1);
    }
end:
    free(imatrix);
    free(out);
    return status;
}

/* Quantizes x[kColumns * kVectors] for inputs that are shifted parts of x. */
static ggufx_status run_feedback(exercise *e, const ggufx_runtime *rt, const float *x) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_moments *moments = NULL;
    ggufx_moments_facts facts = {.struct_size = sizeof facts};
    ggufx_feedback_facts found = {.struct_size = sizeof found};
    enum { kWidth = 32, kRows = kColumns * kVectors / kWidth, kBytes = 18 * kRows };
    const ggufx_moments_inputs inputs = {.struct_size = sizeof inputs,
                                         .n = kRows - 1,
                                         .n_columns = kWidth,
                                         .rows = x + 7,
                                         .source_rows = x,
                                         .progress = e->progress};
    ggufx_feedback_args args = {.struct_size = sizeof args,
                                .type = GGUFX_TYPE_Q4_0,
                                .n_rows = kRows,
                                .n_cols = kWidth,
                                .rows = x};
    uint8_t *out = calloc(kBytes, 1);
    TRY(a->moments_create(&moments, rt, kWidth, GGUFX_MOMENTS_DRIFT, &e->error));
    for (size_t i = 0; i < 16 * kWidth; i += kRows - 1)
        TRY(a->moments_add(moments, &inputs, &e->error));
    TRY(a->moments_info(&facts, moments, &e->error));
    args.moments = args.kept_out = moments;
    args.progress = e->progress;
    TRY(a->quantize_feedback(out, kBytes, rt, &args, &found, &e->error));
    exercise_mix(e, out, kBytes, 1);
end:
    a->moments_destroy(moments);
    free(out);
    return status;
}

/* Multiplies several matrices in one call, then the same rows as experts. */
static ggufx_status run_lists(exercise *e, const ggufx_runtime *rt, const ggufx_tensor *rows,
                              const float *x, float *y, const ggufx_matmul_options *options) {
    enum { kExperts = 4, kUsed = 2, kResults = kUsed * kVectors };
    static const uint32_t ids[kResults] = {0, 3, 3, 1, 0, 3, 3, 0, 2, 3};
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_tensor *experts = NULL;
    ggufx_tensor_facts facts = {.struct_size = sizeof facts};
    ggufx_tensor_options shape = {.struct_size = sizeof shape, .n_dims = 3};
    ggufx_product products[2];
    for (size_t i = 0; i < 2; i++) {
        products[i] = (ggufx_product){.struct_size = sizeof *products, .w = rows, .n = 1};
        products[i].x = x;
        products[i].n_x = kColumns;
        products[i].y = y + i * kRows;
        products[i].n_y = kRows;
    }
    TRY(a->matmul(rt, products, 2, options, &e->error));
    exercise_mix(e, y, 2 * kRows, sizeof *y);
    TRY(a->tensor_info(&facts, rows, &e->error));
    shape.type = facts.type;
    shape.ne[0] = kColumns;
    shape.ne[1] = kRows / kExperts;
    shape.ne[2] = kExperts;
    shape.data = a->tensor_data(rows);
    shape.n_bytes = facts.n_bytes;
    TRY(a->tensor_create(&experts, rt, &shape, &e->error));
    products->w = experts;
    products->n_x = kColumns * kVectors;
    products->n = kVectors;
    products->n_y = kRows / kExperts * kResults;
    products->ids = ids;
    products->n_used = kUsed;
    TRY(a->matmul(rt, products, 1, options, &e->error));
    exercise_mix(e, y, kRows / kExperts * kResults, sizeof *y);
end:
    a->tensor_destroy(experts);
    return status;
}

ggufx_status exercise_products(exercise *e, const ggufx_runtime *rt, const ggufx_file *file) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_tensor *rows = NULL;
    size_t at = 0;
    float *x = calloc(kColumns * kVectors, sizeof *x), *y = calloc(kColumns * 8, sizeof *y);
    ggufx_matmul_options options = {.struct_size = sizeof options};
    options.progress = e->progress;
    exercise_fill(x, kColumns * kVectors);
    TRY(run_quantize(e, rt, x));
    TRY(run_feedback(e, rt, x));
    TRY(a->file_tensor_find(&at, file, "token_embd.weight", 17, &e->error));
    TRY(run_slices(e, rt, a->file_tensor(file, at), y));
    TRY(a->tensor_slice(&rows, a->file_tensor(file, at), 1, 0, kRows, &e->error));
    for (uint32_t flags = 0; flags <= GGUFX_MATMUL_INT16; flags++) {
        options.flags = flags;
        TRY(a->matvec(y, kRows, rt, rows, x, kColumns, &options, &e->error));
        exercise_mix(e, y, kRows, sizeof *y);
        const ggufx_product product = {.struct_size = sizeof product,
                                       .w = rows,
                                       .x = x,
                                       .n_x = kColumns * kVectors,
                                       .n = kVectors,
                                       .y = y,
                                       .n_y = kRows * kVectors};
        TRY(a->matmul(rt, &product, 1, &options, &e->error));
        exercise_mix(e, y, kRows * kVectors, sizeof *y);
        TRY(run_lists(e, rt, rows, x, y, &options));
    }
end:
    a->tensor_destroy(rows);
    free(x);
    free(y);
    return status;
}

/* ---- model ---------------------------------------------------------------------------------- */

enum { kIds = 16 };

/* Checks a token sequence against a grammar, forward and with rollback. */
static ggufx_status run_grammar(exercise *e, const ggufx_runtime *rt,
                                const ggufx_tokenizer *tokenizer, uint32_t n_vocab) {
    static const char text[] = "root ::= [a-z ]{1,40} \".\"";
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_grammar *grammar = NULL;
    ggufx_matcher *matcher = NULL, *other = NULL;
    ggufx_sampler *sampler = NULL;
    ggufx_grammar_options options = {.struct_size = sizeof options};
    ggufx_matcher_facts facts = {.struct_size = sizeof facts};
    uint32_t bits[4096];
    float *logits = calloc(n_vocab, sizeof *logits);
    int32_t id = -1;
    MUST(logits);
    options.text = text_of(text);
    TRY(a->grammar_create(&grammar, rt, tokenizer, &options, &e->error));
    TRY(a->matcher_create(&matcher, grammar, &e->error));
    TRY(a->sampler_create(&sampler, rt, n_vocab, 0, &e->error));
    TRY(a->sampler_add_top_k(sampler, 1, &e->error));
    TRY(a->matcher_mask(bits, 4096, matcher, &e->error));
    TRY(a->sampler_sample(&id, NULL, sampler, matcher, logits, n_vocab, &e->error));
    MUST(bits[id / 32] >> id % 32 & 1);
    TRY(a->matcher_clone(&other, matcher, &e->error));
    TRY(a->matcher_rollback(other, 1, &e->error));
    TRY(a->matcher_accept(other, &id, 1, &e->error));
    TRY(a->matcher_info(&facts, other, &e->error));
    MUST(facts.n_tokens == 1 && facts.n_vocab == n_vocab);
end:
    free(logits);
    a->sampler_destroy(sampler);
    a->matcher_destroy(other);
    a->matcher_destroy(matcher);
    a->grammar_destroy(grammar);
    return status;
}

static ggufx_status run_tokenizer(exercise *e, const ggufx_runtime *rt, const ggufx_file *file,
                                  int32_t *ids) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_tokenizer *tokenizer = NULL;
    ggufx_tokenizer_facts facts = {.struct_size = sizeof facts};
    ggufx_token_facts token = {.struct_size = sizeof token};
    ggufx_detokenizer_state state = {0};
    ggufx_pre_tokenizer_facts pre = {.struct_size = sizeof pre};
    static const char text[] = "Once upon a time a small fox";
    char back[64];
    size_t n = 0, n_back = 0;
    TRY(a->tokenizer_create(&tokenizer, file, &e->error));
    TRY(a->tokenizer_info(&facts, tokenizer, &e->error));
    TRY(a->tokenize(ids, kIds, &n, tokenizer, text, sizeof text - 1, 0, &e->error));
    MUST(n >= 4);
    TRY(a->detokenize(back, sizeof back, &n_back, tokenizer, ids, n, 0, &e->error));
    MUST(n_back == sizeof text - 1 && memcmp(back, text, n_back) == 0);
    TRY(a->detokenize_stream(back, sizeof back, &n_back, &state, tokenizer, ids, n, &e->error));
    MUST(n_back == sizeof text - 1 && memcmp(back, text, n_back) == 0);
    TRY(a->token_info(&token, tokenizer, ids[0], &e->error));
    for (size_t i = 0; i < a->pre_tokenizer_count(); i++)
        TRY(a->pre_tokenizer_at(&pre, i, &e->error));
    MUST(pre.name && pre.rules && pre.unicode[0]);
    TRY(run_grammar(e, rt, tokenizer, facts.n_tokens));
    for (size_t i = n; i < kIds; i++) ids[i] = ids[i % n];
end:
    a->tokenizer_destroy(tokenizer);
    return status;
}

/* Collects an importance matrix of two chunks. */
static ggufx_status collect(exercise *e, ggufx_session *session, const int32_t *ids, size_t n) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_imatrix *imatrix = NULL;
    ggufx_imatrix_entry entry = {.struct_size = sizeof entry};
    ggufx_imatrix_options options = {.struct_size = sizeof options};
    options.dataset = "ids";
    options.progress = e->progress;
    TRY(a->imatrix_create(&imatrix, session, ids, n, (uint32_t)(n / 2), -1, &options, &e->error));
    TRY(a->imatrix_entry_at(&entry, imatrix, 0, &e->error));
    MUST(entry.counts[0] == (float)(n / 2 * 2));
    exercise_mix(e, entry.sums, entry.n_columns, sizeof *entry.sums);
end:
    a->imatrix_destroy(imatrix);
    return status;
}

typedef struct logits_file {
    size_t n, at;
    uint8_t bytes[1 << 18];
} logits_file;

static ggufx_status put_logits(void *user, const void *data, size_t n) {
    CALLED();
    logits_file *file = user;
    MUST(n <= sizeof file->bytes - file->n);
    memcpy(file->bytes + file->n, data, n);
    file->n += n;
    return GGUFX_OK;
}

static ggufx_status get_logits(void *user, void *data, size_t n) {
    CALLED();
    logits_file *file = user;
    if (n > file->n - file->at) return GGUFX_E_TRUNCATED;
    memcpy(data, file->bytes + file->at, n);
    file->at += n;
    return GGUFX_OK;
}

static int32_t keep_row(void *user, const ggufx_eval_row *rows, size_t n) {
    CALLED();
    *(ggufx_eval_row *)user = rows[n - 1];
    return 0;
}

static int32_t on_chunk(void *user, const ggufx_eval_facts *running) {
    const ggufx_progress *progress = ((exercise *)user)->progress;
    return progress ? progress->report(progress->user, running->n_chunks, 0) : 0;
}

/* Saves logits and compares against them; scores two continuations of one and two tokens. */
static ggufx_status measure(exercise *e, const ggufx_runtime *rt, ggufx_session *session,
                            const int32_t *ids, size_t n) {
    const ggufx_functions *a = e->api;
    const ggufx_token_list endings[2] = {{ids + 2, 1}, {ids + 3, 2}};
    ggufx_status status = GGUFX_OK;
    ggufx_eval_facts facts = {.struct_size = sizeof facts};
    ggufx_eval_options options = {.struct_size = sizeof options};
    ggufx_eval_row last;
    double scores[2];
    logits_file *file = calloc(1, sizeof *file);
    MUST(file);
    options.report = on_chunk;
    options.report_user = e;
    TRY(a->eval_perplexity(&facts, session, ids, n, (uint32_t)n, -1, &options, &e->error));
    exercise_mix(e, &facts.perplexity, 1, sizeof facts.perplexity);
    options.stride = 1;
    options.progress = e->progress;
    options.write = put_logits;
    options.write_user = file;
    TRY(a->eval_perplexity(&facts, session, ids, n, (uint32_t)n - 1, -1, &options, &e->error));
    options.write = NULL;
    options.write_user = NULL;
    options.read = get_logits;
    options.read_user = file;
    options.rows = keep_row;
    options.rows_user = &last;
    TRY(a->eval_perplexity(&facts, session, ids, n, (uint32_t)n - 1, -1, &options, &e->error));
    MUST(facts.flags == (GGUFX_EVAL_COMPARED | GGUFX_EVAL_SAME_MODEL));
    exercise_mix(e, &facts.kl, 1, sizeof facts.kl);
    TRY(a->eval_merge(&facts, rt, &last, 1, 2, (uint32_t)n - 1, GGUFX_EVAL_COMPARED, &e->error));
    exercise_mix(e, &facts.kl, 1, sizeof facts.kl);
    TRY(a->eval_continuations(scores, session, ids, 2, endings, 2, e->progress, &e->error));
    exercise_mix(e, scores, 2, sizeof *scores);
end:
    free(file);
    return status;
}

static int32_t on_attention(void *user, uint32_t layer, uint64_t first, size_t n, const float *q,
                            const float *k, const float *v, const float *out) {
    CALLED();
    exercise *e = user;
    (void)first, (void)n, (void)q, (void)k, (void)v;
    MUST(out[0] == out[0]);
    return e->progress ? e->progress->report(e->progress->user, layer, 0) : 0;
}

static ggufx_status on_candidates(void *user, ggufx_candidate *candidates, size_t n) {
    CALLED();
    MUST(n > 0);
    candidates[0].logit = 1.0f;
    return user ? GGUFX_OK : GGUFX_E_CANCELLED;
}

/* Adds samplers of each kind. */
static ggufx_status add_samplers(exercise *e, ggufx_sampler *chain) {
    static const ggufx_logit_bias bias = {1, 0.5f};
    const ggufx_functions *a = e->api;
    const ggufx_penalty_options penalties = {
        .struct_size = sizeof penalties, .repeat = 1.1f, .last_n = 64};
    ggufx_status status = GGUFX_OK;
    TRY(a->sampler_add_logit_bias(chain, &bias, 1, &e->error));
    TRY(a->sampler_add_penalties(chain, &penalties, &e->error));
#define FILTER1(id, ID, Type, name, order, type, number, example)                                  \
    TRY(a->sampler_add_##id(chain, example, &e->error));
#define FILTER2(id, ID, Type, name, order, type, first, second, example_a, example_b)              \
    TRY(a->sampler_add_##id(chain, example_a, example_b, &e->error));
#include "../../src/sampling/samplers.def"
    TRY(a->sampler_add_temperature(chain, 0.8f, NULL, &e->error));
    TRY(a->sampler_add_mirostat(chain, NULL, &e->error));
end:
    return status;
}

/* Applies a chain of three samplers and its clone, and log-probabilities. */
static ggufx_status use_chain(exercise *e, const ggufx_runtime *rt, const float *logits,
                              uint32_t n_vocab) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_sampler *chain = NULL, *clone = NULL;
    const ggufx_dry_options dry = {.struct_size = sizeof dry, .multiplier = 0.8f, .last_n = 64};
    int32_t id = 0, other = 0, ids[3];
    float logprobs[3], logprob = 0;
    TRY(a->sampler_create(&chain, rt, n_vocab, 7, &e->error));
    TRY(a->sampler_add_top_k(chain, 40, &e->error));
    TRY(a->sampler_add_dry(chain, &dry, &e->error));
    TRY(a->sampler_add_host(chain, on_candidates, e, &e->error));
    for (int i = 0; i < 4; i++) {
        TRY(a->sampler_sample(&id, &logprob, chain, NULL, logits, n_vocab, &e->error));
        TRY(a->sampler_accept(chain, &id, 1, &e->error));
        exercise_mix(e, &id, 1, sizeof id);
    }
    TRY(a->sampler_clone(&clone, chain, &e->error));
    TRY(a->sampler_sample(&id, NULL, chain, NULL, logits, n_vocab, &e->error));
    TRY(a->sampler_sample(&other, NULL, clone, NULL, logits, n_vocab, &e->error));
    MUST(id == other);
    TRY(a->sampler_reset(clone, &e->error));
    TRY(add_samplers(e, clone));
    TRY(a->sampler_sample(&id, NULL, clone, NULL, logits, n_vocab, &e->error));
    TRY(a->logprobs(ids, logprobs, 3, rt, logits, n_vocab, NULL, &e->error));
    exercise_mix(e, logprobs, 3, sizeof *logprobs);
    TRY(a->logprobs(NULL, &logprob, 1, rt, logits, n_vocab, ids + 2, &e->error));
    MUST(memcmp(&logprob, logprobs + 2, sizeof logprob) == 0);
end:
    a->sampler_destroy(clone);
    a->sampler_destroy(chain);
    return status;
}

static ggufx_status use_session(exercise *e, const ggufx_runtime *rt, ggufx_session *session,
                                const int32_t *ids, float *logits, uint32_t n_vocab) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_sampler *sampler = NULL;
    ggufx_attention_hook hook = {.struct_size = sizeof hook, .user = e, .layer = on_attention};
    const ggufx_decode_item item = {
        .struct_size = sizeof item, .flags = GGUFX_DECODE_LOGITS, .tokens = ids, .n_tokens = 5};
    ggufx_decode_options options = {.struct_size = sizeof options};
    int32_t id = 0;
    options.progress = e->progress;
    options.logits = logits;
    options.n_logits = n_vocab;
    options.attention = &hook;
    TRY(a->session_decode(session, &item, 1, &options, &e->error));
    exercise_mix(e, logits, n_vocab, sizeof *logits);
    TRY(a->sampler_create(&sampler, rt, n_vocab, 0, &e->error));
    TRY(a->sampler_add_top_k(sampler, 40, &e->error));
    TRY(a->sampler_add_temperature(sampler, 0.8f, NULL, &e->error));
    TRY(a->sampler_sample(&id, NULL, sampler, NULL, logits, n_vocab, &e->error));
    exercise_mix(e, &id, 1, sizeof id);
    TRY(use_chain(e, rt, logits, n_vocab));
    MUST(a->session_length(session, 0) == 5);
    TRY(a->session_truncate(session, 0, 0, &e->error));
    TRY(measure(e, rt, session, ids, kIds));
    TRY(collect(e, session, ids, kIds));
end:
    a->sampler_destroy(sampler);
    return status;
}

/* Estimates sizes: unchanged, with a recipe, and the best quantization mix. The demo model is
 * already quantized. */
static ggufx_status run_estimates(exercise *e, const ggufx_runtime *rt, const ggufx_file *file) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_estimate_facts whole = {.struct_size = sizeof whole}, less = whole;
    ggufx_estimate_options options = {.struct_size = sizeof options};
    ggufx_quantizer_options job = {.struct_size = sizeof job};
    char graph[4096];
    size_t n_graph = 0;
    TRY(a->model_describe_graph(graph, sizeof graph, &n_graph, file, &e->error));
    options.n_context = 4096;
    TRY(a->estimate(&whole, rt, file, &options, &e->error));
    options.memory_bytes = whole.total_bytes - 1;
    TRY(a->recommend(&less, rt, file, &options, &e->error));
    MUST(less.total_bytes < whole.total_bytes && (less.flags & GGUFX_ESTIMATE_FITS));
    job.flags = GGUFX_QUANTIZER_ALLOW_REQUANTIZE;
    options.quantizer = &job;
    options.flags = GGUFX_ESTIMATE_HAS_FILE_TYPE | GGUFX_ESTIMATE_IMATRIX;
    options.file_type = 2;
    TRY(a->estimate(&less, rt, file, &options, &e->error));
    MUST(less.weight_bytes < whole.weight_bytes && less.loss > whole.loss);
end:
    return status;
}

/* Embeds two sequences, the second above the limit and truncated; reads their first eight
 * values. */
static ggufx_status run_embedder(exercise *e, const ggufx_runtime *rt, const ggufx_file *file,
                                 const ggufx_model *model, const int32_t *ids) {
    const ggufx_functions *a = e->api;
    const ggufx_token_list texts[] = {{ids, 3}, {ids + 3, kIds - 3}};
    ggufx_status status = GGUFX_OK;
    ggufx_embedder *embedder = NULL;
    ggufx_embed_options options = {.struct_size = sizeof options};
    ggufx_embedder_facts facts = {.struct_size = sizeof facts};
    float out[16];
    uint64_t n_bytes = 0;
    options.flags = GGUFX_EMBED_NORMALIZE | GGUFX_EMBED_TRUNCATE;
    options.n_context = 5;
    options.dimensions = 8;
    TRY(a->embedder_estimate(&n_bytes, rt, file, &options, &e->error));
    TRY(a->embedder_create(&embedder, model, &options, &e->error));
    TRY(a->embedder_info(&facts, embedder, &e->error));
    MUST(n_bytes > 0 && facts.dimensions == 8 && facts.pooling == GGUFX_POOLING_LAST);
    TRY(a->embed(out, 16, embedder, texts, 2, e->progress, &e->error));
    exercise_mix(e, out, 16, sizeof *out);
end:
    a->embedder_destroy(embedder);
    return status;
}

ggufx_status exercise_model(exercise *e, const ggufx_runtime *rt, const ggufx_file *file) {
    const ggufx_functions *a = e->api;
    ggufx_model *model = NULL;
    ggufx_session *session = NULL;
    ggufx_model_options options = {.struct_size = sizeof options};
    ggufx_session_options session_options = {.struct_size = sizeof session_options};
    ggufx_model_facts facts = {.struct_size = sizeof facts};
    ggufx_layer_facts layer = {.struct_size = sizeof layer};
    ggufx_session_facts made = {.struct_size = sizeof made};
    int32_t ids[kIds];
    float *logits = NULL;
    ggufx_status status = run_tokenizer(e, rt, file, ids);
    if (status != GGUFX_OK) return status;
    status = run_estimates(e, rt, file);
    if (status != GGUFX_OK) return status;
    TRY(a->model_create(&model, rt, file, &options, &e->error));
    TRY(a->model_info(&facts, model, &e->error));
    TRY(a->model_layer_info(&layer, model, 0, &e->error));
    logits = calloc(facts.n_vocab, sizeof *logits);
    session_options.n_context = 2 * kIds;
    session_options.n_batch = 8;
    TRY(a->session_create(&session, model, &session_options, &e->error));
    TRY(a->session_info(&made, session, &e->error));
    MUST(made.n_context == 2 * kIds && made.n_batch == 8);
    TRY(use_session(e, rt, session, ids, logits, facts.n_vocab));
    TRY(exercise_batch(e, model, ids, facts.n_vocab));
    TRY(exercise_generator(e, file, model));
    TRY(exercise_group(e, rt, file, ids, facts.n_vocab));
    TRY(run_embedder(e, rt, file, model, ids));
    TRY(exercise_adapter(e, rt, file, model, ids, facts.n_vocab));
end:
    a->session_destroy(session);
    a->model_destroy(model);
    free(logits);
    return status;
}
