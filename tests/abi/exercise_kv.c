/*
 * The KV cache part of exercise_run().
 * SPDX-License-Identifier: MIT
 */
#include "exercise.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kTokens = 70, kHeads = 2, kQueries = 4, kDim = 64, kRow = kHeads * kDim };

struct snapshot {
    uint8_t data[1 << 17];
    size_t n, at;
};

static ggufx_status write_snapshot(void *user, const void *data, size_t n) {
    CALLED();
    struct snapshot *s = user;
    if (n > sizeof s->data - s->n) return GGUFX_E_IO;
    memcpy(s->data + s->n, data, n);
    s->n += n;
    return GGUFX_OK;
}

static ggufx_status read_snapshot(void *user, void *data, size_t n) {
    CALLED();
    struct snapshot *s = user;
    if (n > s->n - s->at) return GGUFX_E_TRUNCATED;
    memcpy(data, s->data + s->at, n);
    s->at += n;
    return GGUFX_OK;
}

/* Expects 11 tokens in both sequences. */
static ggufx_status use_file(exercise *e, ggufx_kv *kv) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    uint64_t length = 0;
    char path[] = "/tmp/ggufx-exercise-XXXXXX"; /* unique, because runs are concurrent */
    const int fd = mkstemp(path);
    MUST(fd >= 0 && close(fd) == 0);
    TRY(a->kv_save_file(kv, 1, path, &e->error));
    TRY(a->kv_truncate(kv, 0, 0, &e->error));
    TRY(a->kv_load_file(kv, 0, path, &e->error));
    TRY(a->kv_length(&length, kv, 0, &e->error));
    MUST(length == 11);
end:
    MUST(unlink(path) == 0);
    return status;
}

/* Expects 10 tokens in sequence 0. */
static ggufx_status use_sequences(exercise *e, ggufx_kv *kv, const float *in, float *out) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    const uint32_t sequences[4] = {1, 0, 1, 1};
    const int32_t positions[4] = {10, 20, 10, 11};
    ggufx_kv_tokens tokens = {.struct_size = sizeof tokens, .n_tokens = 4};
    ggufx_kv_queries queries = {.struct_size = sizeof queries, .sequence = 1, .n_queries = 1};
    ggufx_kv_range range = {.struct_size = sizeof range, .sequence = 1, .n_tokens = 11};
    uint64_t length = 0;
    uint16_t half[2 * kRow];
    tokens.sequences = sequences;
    tokens.positions = positions;
    tokens.k = tokens.v = in;
    tokens.n_k = tokens.n_v = 4 * kRow;
    queries.q = in;
    queries.n_q = kQueries * kDim;
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);
    MUST(snapshot != NULL);
    for (size_t i = 0; i < 2 * kRow; i++) half[i] = (uint16_t)(0x3800 + i);
    TRY(a->kv_copy(kv, 0, 1, 0, 10, &e->error));
    TRY(a->kv_append(kv, &tokens, &e->error));
    tokens = (ggufx_kv_tokens){.struct_size = sizeof tokens, .type = GGUFX_TYPE_BF16};
    tokens.sequence = 1;
    tokens.n_tokens = 2;
    tokens.k = tokens.v = half;
    tokens.n_k = tokens.n_v = 2 * kRow;
    TRY(a->kv_append(kv, &tokens, &e->error));
    TRY(a->kv_shift(kv, 1, 5, 10, 3, &e->error));
    TRY(a->kv_remove(kv, 1, 2, 4, &e->error));
    TRY(a->kv_length(&length, kv, 1, &e->error));
    MUST(length == 11);
    TRY(a->kv_read(out, 11 * kRow, NULL, 0, kv, &range, &e->error));
    exercise_mix(e, out, 11 * kRow, sizeof *out);
    TRY(a->kv_scores(out, kQueries * 11, kv, &queries, 0, &e->error));
    exercise_mix(e, out, kQueries * 11, sizeof *out);
    TRY(a->kv_keep(kv, 1, &e->error));
    TRY(a->kv_save(kv, 1, write_snapshot, snapshot, &e->error));
    TRY(a->kv_load(kv, 0, read_snapshot, snapshot, &e->error));
    TRY(a->kv_length(&length, kv, 0, &e->error));
    MUST(length == 11 && snapshot->at == snapshot->n);
    TRY(use_file(e, kv));
    TRY(a->kv_remove(kv, 1, 5, 3, &e->error));
    TRY(a->kv_compact(kv, GGUFX_ALL_SEQUENCES, e->progress, &e->error));
    TRY(a->kv_requantize(kv, 0, GGUFX_TYPE_GX3, GGUFX_TYPE_F32, e->progress, &e->error));
    range.sequence = 0;
    TRY(a->kv_read(out, 11 * kRow, NULL, 0, kv, &range, &e->error));
    exercise_mix(e, out, 11 * kRow, sizeof *out);
end:
    free(snapshot);
    return status;
}

static ggufx_status use_kv(exercise *e, ggufx_kv *kv, const float *in, float *out) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_attend_options options = {.struct_size = sizeof options};
    ggufx_kv_facts facts = {.struct_size = sizeof facts};
    ggufx_kv_tokens tokens = {.struct_size = sizeof tokens, .n_tokens = kTokens};
    ggufx_kv_queries queries = {.struct_size = sizeof queries, .n_queries = 2};
    const ggufx_kv_range range = {.struct_size = sizeof range, .first = 1, .n_tokens = 3};
    uint64_t length = 0;
    int32_t positions[3];
    const uint32_t both[2] = {0, 0};
    options.progress = e->progress;
    TRY(a->kv_reserve(kv, 0, kTokens, &e->error));
    tokens.k = tokens.v = in;
    tokens.n_k = tokens.n_v = kTokens * kRow;
    TRY(a->kv_append(kv, &tokens, &e->error));
    queries.q = in;
    queries.n_q = 2 * kQueries * kDim;
    TRY(a->kv_attend(out, 2 * kQueries * kDim, NULL, 0, kv, &queries, &options, &e->error));
    exercise_mix(e, out, 2 * kQueries * kDim, sizeof *out);
    queries.sequences = both;
    TRY(a->kv_attend(out, 2 * kQueries * kDim, NULL, 0, kv, &queries, &options, &e->error));
    exercise_mix(e, out, 2 * kQueries * kDim, sizeof *out);
    TRY(a->kv_read(out, 3 * kRow, out + 3 * kRow, 3 * kRow, kv, &range, &e->error));
    exercise_mix(e, out, 6 * kRow, sizeof *out);
    TRY(a->kv_positions(positions, kv, 0, 5, 3, &e->error));
    TRY(a->kv_truncate(kv, 0, 10, &e->error));
    TRY(a->kv_rollback(kv, 0, &e->error));
    TRY(a->kv_begin(kv, 0, &e->error));
    TRY(a->kv_commit(kv, 0, &e->error));
    TRY(a->kv_length(&length, kv, 0, &e->error));
    MUST(length == 10 && positions[2] == 7);
    TRY(a->kv_info(&facts, kv, GGUFX_KV_ALL_LAYERS, &e->error));
    MUST(facts.n_plain_pages > 0);
    TRY(use_sequences(e, kv, in, out));
    TRY(a->kv_clear(kv, &e->error));
end:
    return status;
}

/* Uses a cache whose values are part of the keys, as in MLA. */
static ggufx_status use_keys(exercise *e, const ggufx_runtime *rt, ggufx_kv_options options,
                             const float *in, float *out) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_kv *kv = NULL;
    ggufx_attend_options attend = {.struct_size = sizeof attend};
    ggufx_kv_tokens tokens = {.struct_size = sizeof tokens, .n_tokens = kTokens};
    ggufx_kv_queries queries = {.struct_size = sizeof queries, .n_queries = 1};
    attend.progress = e->progress;
    options.flags = GGUFX_KV_V_IN_K;
    options.type_v = 0;
    options.head_dim_v = kDim / 2;
    TRY(a->kv_create(&kv, rt, &options, &e->error));
    tokens.k = in;
    tokens.n_k = kTokens * kRow;
    TRY(a->kv_append(kv, &tokens, &e->error));
    queries.q = in;
    queries.n_q = kQueries * kDim;
    TRY(a->kv_attend(out, kQueries * kDim / 2, NULL, 0, kv, &queries, &attend, &e->error));
    exercise_mix(e, out, kQueries * kDim / 2, sizeof *out);
end:
    a->kv_destroy(kv);
    return status;
}

ggufx_status exercise_kv(exercise *e, const ggufx_runtime *rt) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_kv *kv = NULL;
    uint64_t bytes = 0;
    ggufx_kv_options options = {.struct_size = sizeof options};
    float *in = calloc(kTokens * kRow, sizeof *in), *out = calloc(kTokens * kRow, sizeof *out);
    exercise_fill(in, kTokens * kRow);
    options.n_layers = 1;
    options.n_kv_heads = kHeads;
    options.n_q_heads = kQueries;
    options.head_dim_k = kDim;
    options.type_k = GGUFX_TYPE_GX4;
    options.type_v = GGUFX_TYPE_Q8_0;
    options.n_sequences = 2;
    options.n_sink_tokens = 4; /* the page after the sinks is quantized */
    options.rope_style = GGUFX_ROPE_NEOX;
    TRY(a->kv_estimate(&bytes, rt, &options, kTokens, &e->error));
    MUST(bytes > 0);
    TRY(a->kv_create(&kv, rt, &options, &e->error));
    TRY(a->kv_calibrate(kv, 0, in, NULL, kRow, NULL, 0, &e->error));
    TRY(use_kv(e, kv, in, out));
    TRY(use_keys(e, rt, options, in, out));
end:
    a->kv_destroy(kv);
    free(in);
    free(out);
    return status;
}
