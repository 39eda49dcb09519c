/*
 * Chunked and symmetric windows of layers. They have the bits of calls with the same window on a
 * layer that keeps all tokens. test_kv_fused compares those calls with doubles. Also their memory
 * and refusals.
 * usage: test_kv_windows [OPERATIONS]; default 3000
 * SPDX-License-Identifier: MIT
 */
#include "../instruction_sets.h"
#include "kv_bytes.h"
#include "kv_expect.h"
#include "kv_types.h"
#include "ok.h"
#include "test_step.h"

#include <stdio.h>

enum { kDim = 32, kHeads = 2, kRow = kDim, kQuery = kHeads * kDim };
enum { kAll, kChunked, kSymmetric, kLayers }; /* layers by their window */
enum { kMost = 700 };

static ggufx_kv *make_cache(const ggufx_runtime *rt, uint32_t type, uint32_t window,
                            uint32_t n_sequences, uint32_t flags) {
    const ggufx_kv_layer_options layers[kLayers] = {kv_window(0, 0),
                                                    kv_window(window, GGUFX_KV_WINDOW_CHUNKED),
                                                    kv_window(window, GGUFX_KV_WINDOW_SYMMETRIC)};
    ggufx_kv_options shape = kv_shape(1, kHeads, kDim, kDim, type, type);
    shape.flags |= flags;
    shape.n_layers = shape.n_layer_options = kLayers;
    shape.layers = layers;
    shape.n_sequences = n_sequences;
    shape.rope_style = GGUFX_ROPE_NEOX;
    return kv_make(rt, &shape);
}

static ggufx_status append(ggufx_kv *kv, uint32_t sequence, size_t n, const int32_t *positions,
                           const float *x) {
    ggufx_status status = GGUFX_OK;
    for (uint32_t l = 0; status == GGUFX_OK && l < kLayers; l++)
        status = kv_append_rows(kv, l, sequence, n, positions, x, n * kRow, x, n * kRow, NULL);
    return status;
}

typedef struct answer {
    float out[kMost * kQuery], lse[kMost * kHeads];
    ggufx_status status;
} answer;

/* kind: that of the call's window; 0 positions: those of the last n tokens. */
static void ask(answer *a, const ggufx_kv *kv, uint32_t layer, uint32_t sequence, size_t n,
                const int32_t *positions, const float *q, uint32_t window, uint32_t kind) {
    ggufx_attend_options options = {.struct_size = sizeof options};
    options.window = window;
    options.window_kind = kind;
    a->status = kv_attend_rows(a->out, n * kQuery, a->lse, n * kHeads, kv, layer, sequence, q,
                               n * kQuery, n, positions, &options, NULL);
}

static int same(const answer *a, const answer *b, size_t n) {
    return memcmp(a->out, b->out, n * kQuery * sizeof *a->out) == 0 &&
           memcmp(a->lse, b->lse, n * kHeads * sizeof *a->lse) == 0;
}

static uint32_t draw(uint64_t *random, uint32_t n) {
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*random >> 33) % n;
}

/* The tokens of an append attend before the next append: both kinds of layer give the bits of
 * windows in the call. */
static void check_appended(const ggufx_kv *kv, uint32_t sequence, size_t n, uint32_t window,
                           const float *q) {
    static answer want, got;
    ask(&want, kv, kAll, sequence, n, NULL, q, window, GGUFX_KV_WINDOW_CHUNKED);
    ask(&got, kv, kChunked, sequence, n, NULL, q, 0, 0);
    assert_int_equal(want.status, GGUFX_OK);
    assert_int_equal(got.status, GGUFX_OK);
    assert_true(same(&want, &got, n));
    ask(&want, kv, kAll, sequence, n, NULL, q, window, GGUFX_KV_WINDOW_SYMMETRIC);
    ask(&got, kv, kSymmetric, sequence, n, NULL, q, 0, 0);
    assert_int_equal(want.status, GGUFX_OK);
    assert_int_equal(got.status, GGUFX_OK);
    assert_true(same(&want, &got, n));
}

static void test_layers_give_the_bits_of_windows_of_calls(void **state) {
    (void)state;
    static const uint32_t windows[] = {16, 64, 100};
    ggufx_runtime *rt = kv_runtime(NULL, 2, NULL);
    float *x = kv_random(kMost * kRow, 3), *q = kv_random(kMost * kQuery, 4);
    for (size_t t = 0; t < kTypeCount; t++)
        for (size_t w = 0; w < 3; w++) {
            if (test_step() > 1 && w != t % 3) continue;
            ggufx_kv *kv = make_cache(rt, kTypes[t], windows[w], 1, 0);
            uint64_t random = t * 3 + w;
            for (size_t at = 0, n; at < kMost; at += n) { /* random sizes */
                n = 1 + draw(&random, draw(&random, 2) ? 9 : 130);
                if (n > kMost - at) n = kMost - at;
                assert_int_equal(append(kv, 0, n, NULL, x + at * kRow), GGUFX_OK);
                check_appended(kv, 0, n, windows[w], q + at * kQuery);
            }
            ggufx_kv_destroy(kv);
        }
    free(x);
    free(q);
    ggufx_runtime_destroy(rt);
}

static ggufx_runtime *runtime_of(int32_t isa) {
    ggufx_runtime_options options = {.struct_size = sizeof options};
    options.isa = isa;
    ggufx_runtime *rt = NULL;
    const ggufx_status status = ggufx_runtime_create(&rt, &options, NULL);
    assert_true(status == GGUFX_OK || status == GGUFX_E_UNSUPPORTED);
    return rt;
}

static void test_every_instruction_set_gives_the_same_bits(void **state) {
    (void)state;
    static uint64_t want[kTypeCount];
    static answer a;
    enum { kTokens = 333 };
    float *x = kv_random(kTokens * kRow, 3), *q = kv_random(kTokens * kQuery, 4);
    for (size_t i = 0; i < kInstructionSetCount; i++) {
        ggufx_runtime *rt = runtime_of(kInstructionSets[i]);
        for (size_t t = 0; rt && t < kTypeCount; t++) {
            ggufx_kv *kv = make_cache(rt, kTypes[t], 100, 1, 0);
            assert_int_equal(append(kv, 0, kTokens, NULL, x), GGUFX_OK);
            uint64_t hash = 0xcbf29ce484222325u;
            for (uint32_t l = kChunked; l < kLayers; l++) {
                ask(&a, kv, l, 0, kTokens, NULL, q, 0, 0);
                assert_int_equal(a.status, GGUFX_OK);
                hash = kv_hash(kv_hash(hash, a.out, kTokens * kQuery), a.lse, kTokens * kHeads);
            }
            if (i == 0) want[t] = hash;
            assert_int_equal(hash, want[t]);
            ggufx_kv_destroy(kv);
        }
        ggufx_runtime_destroy(rt);
    }
    free(x);
    free(q);
}

/* ---- random operations ---------------------------------------------------------------------- */

enum { kSequences = 3 };

typedef struct world {
    ggufx_kv *kv;
    uint32_t window;
    uint64_t random;
    const float *x, *q;
} world;

static size_t length_of(const world *w, uint32_t s) {
    uint64_t n = 0;
    OK(ggufx_kv_length(&n, w->kv, s, ok_error()));
    return (size_t)n;
}

/* Returns the number of tokens that the chunked layer has dropped, i.e. cannot read. */
static size_t dropped_of(const world *w, uint32_t s) {
    size_t low = 0, high = length_of(w, s);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (kv_read_rows(NULL, 0, NULL, 0, w->kv, kChunked, s, middle, 1, NULL) == GGUFX_OK)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int32_t position_at(const world *w, uint32_t s, size_t token) {
    int32_t p = 0;
    OK(ggufx_kv_positions(&p, w->kv, s, token, 1, ok_error()));
    return p;
}

static int32_t last_position(const world *w, uint32_t s) {
    const size_t n = length_of(w, s);
    return n ? position_at(w, s, n - 1) : 0;
}

/* A query at any position is refused if and only if its chunk begins before the first held
 * token. */
static void check_anywhere(world *w, uint32_t s) {
    static answer want, got;
    const int32_t last = last_position(w, s);
    const int32_t p = draw(&w->random, 2) ? last - (int32_t)draw(&w->random, 20)
                                          : (int32_t)draw(&w->random, (uint32_t)last + 3);
    if (p < 0) return;
    ask(&want, w->kv, kAll, s, 1, &p, w->q, w->window, GGUFX_KV_WINDOW_SYMMETRIC);
    ask(&got, w->kv, kSymmetric, s, 1, &p, w->q, 0, 0);
    assert_true(want.status == GGUFX_OK && got.status == GGUFX_OK && same(&want, &got, 1));
    const size_t dropped = dropped_of(w, s);
    const int32_t begin = p - p % (int32_t)w->window;
    const int misses =
        dropped && position_at(w, s, dropped - 1) >= begin && position_at(w, s, 0) <= p;
    ask(&want, w->kv, kAll, s, 1, &p, w->q, w->window, GGUFX_KV_WINDOW_CHUNKED);
    ask(&got, w->kv, kChunked, s, 1, &p, w->q, 0, 0);
    assert_int_equal(want.status, GGUFX_OK);
    assert_int_equal(got.status, misses ? GGUFX_E_STATE : GGUFX_OK);
    if (!misses) assert_true(same(&want, &got, 1));
}

static void append_some(world *w, uint32_t s) {
    const size_t held = length_of(w, s), room = kMost - held;
    size_t n = 1 + draw(&w->random, draw(&w->random, 2) ? 9 : 150);
    if (n > room) n = room;
    if (n == 0) return;
    int32_t positions[150], next = held ? last_position(w, s) + 1 : 0;
    const uint32_t gap = draw(&w->random, 4) ? 1 : 3;
    for (size_t i = 0; i < n; i++) {
        positions[i] = next + (int32_t)draw(&w->random, gap);
        next = positions[i] + 1;
    }
    const size_t from = draw(&w->random, kMost - 150);
    assert_int_equal(append(w->kv, s, n, positions, w->x + from * kRow), GGUFX_OK);
    check_appended(w->kv, s, n, w->window, w->q + from * kQuery);
}

/* Hash of the tokens of all layers, and of the visible ones of the chunked layer. Slots after the
 * last token of a page are unspecified. */
static uint64_t digest(const world *w, uint32_t s) {
    static float k[kMost * kRow], v[kMost * kRow];
    static int32_t positions[kMost];
    const size_t n = length_of(w, s), dropped = dropped_of(w, s);
    uint64_t hash = 0xcbf29ce484222325u + n * 31 + dropped;
    OK(ggufx_kv_positions(positions, w->kv, s, 0, n, ok_error()));
    for (size_t i = 0; i < n; i++) hash = (hash ^ (uint32_t)positions[i]) * 0x100000001b3u;
    for (uint32_t l = 0; l < kLayers; l++) {
        const size_t first = l == kChunked ? dropped : 0, held = (n - first) * kRow;
        OK(kv_read_rows(k, held, v, held, w->kv, l, s, first, n - first, ok_error()));
        hash = kv_hash(kv_hash(hash, k, held), v, held);
    }
    return hash;
}

static void begin_and_go_back(world *w, uint32_t s) {
    const uint64_t before = digest(w, s);
    OK(ggufx_kv_begin(w->kv, s, ok_error()));
    for (uint32_t i = draw(&w->random, 4); i > 0; i--) append_some(w, s);
    OK(ggufx_kv_rollback(w->kv, s, ok_error()));
    assert_int_equal(digest(w, s), before);
}

static void save_and_load(world *w, uint32_t from, uint32_t to) {
    kv_bytes saved = kv_saved(w->kv, from);
    OK(ggufx_kv_load(w->kv, to, kv_bytes_read, &saved, ok_error()));
    kv_bytes again = kv_saved(w->kv, to);
    assert_int_equal(saved.n, again.n);
    assert_memory_equal(saved.data, again.data, saved.n);
    free(saved.data);
    free(again.data);
}

/* Layers with different tokens pack their pages differently, which changes the order of sums: the
 * sequence ends here. */
static void pack(world *w, uint32_t s, int lossless) {
    const uint64_t before = digest(w, s);
    OK(ggufx_kv_compact(w->kv, s, NULL, ok_error()));
    if (lossless) assert_int_equal(digest(w, s), before);
    OK(ggufx_kv_truncate(w->kv, s, 0, ok_error()));
}

/* May be refused for dropped tokens or invalid arguments; then nothing changes. */
static void edit(world *w, uint32_t s) {
    const uint64_t length = length_of(w, s), a = draw(&w->random, (uint32_t)length + 1);
    const uint64_t b = draw(&w->random, (uint32_t)length + 2);
    const uint64_t first = a < b ? a : b, n = a < b ? b - a : a - b;
    const uint64_t copied = draw(&w->random, 2) ? 0 : first;
    const uint32_t other = draw(&w->random, kSequences);
    kv_bytes before = kv_saved(w->kv, GGUFX_ALL_SEQUENCES);
    ggufx_status status = GGUFX_OK;
    switch (draw(&w->random, 5)) {
    case 0:
        status = ggufx_kv_truncate(w->kv, s, draw(&w->random, (uint32_t)length + 1), NULL);
        break;
    case 1:
        status = ggufx_kv_truncate(w->kv, s, length * 15 / 16, NULL);
        break;
    case 2:
        status = ggufx_kv_remove(w->kv, s, first, n, NULL);
        break;
    case 3:
        status = ggufx_kv_copy(w->kv, s, other, copied, length - copied, NULL);
        break;
    default:
        status = ggufx_kv_shift(w->kv, s, first, length - first, (int32_t)draw(&w->random, 40) - 20,
                                NULL);
        break;
    }
    if (status != GGUFX_OK) {
        assert_true(status == GGUFX_E_STATE || status == GGUFX_E_ARGUMENT);
        kv_bytes after = kv_saved(w->kv, GGUFX_ALL_SEQUENCES);
        assert_int_equal(before.n, after.n);
        assert_memory_equal(before.data, after.data, after.n);
        free(after.data);
    }
    free(before.data);
}

static long n_operations = 3000;

static void test_random_operations_keep_layers_equal(void **state) {
    (void)state;
    static const uint32_t types[] = {GGUFX_TYPE_F16, GGUFX_TYPE_BF16, GGUFX_TYPE_Q8_0,
                                     GGUFX_TYPE_GX4};
    static const uint32_t windows[] = {16, 64, 100, 37};
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    float *x = kv_random(kMost * kRow, 3), *q = kv_random(kMost * kQuery, 4);
    for (size_t t = 0; t < 4; t++) {
        /* means are learned from a layer's tokens, and one of these layers has fewer */
        world w = {make_cache(rt, types[t], windows[t], kSequences, GGUFX_KV_CENTRE_NONE),
                   windows[t], t, x, q};
        for (long i = 0; i < n_operations / 4; i++) {
            const uint32_t s = draw(&w.random, kSequences), what = draw(&w.random, 100);
            if (what < 40)
                append_some(&w, s);
            else if (what < 70)
                check_anywhere(&w, s);
            else if (what < 75)
                begin_and_go_back(&w, s);
            else if (what < 78)
                save_and_load(&w, s, draw(&w.random, kSequences));
            else if (what < 80)
                pack(&w, s, t < 2);
            else if (what < 83)
                OK(ggufx_kv_commit(w.kv, s, ok_error()));
            else
                edit(&w, s);
        }
        ggufx_kv_destroy(w.kv);
    }
    free(x);
    free(q);
    ggufx_runtime_destroy(rt);
}

/* ---- memory, refusals ----------------------------------------------------------------------- */

static uint64_t pages_of(const ggufx_kv *kv, uint32_t layer) {
    ggufx_kv_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_kv_info(&facts, kv, layer, ok_error()));
    return facts.n_pages;
}

static void
test_chunks_outside_of_all_windows_are_given_back_and_symmetric_windows_keep_all(void **state) {
    (void)state;
    static const uint32_t types[] = {GGUFX_TYPE_F16, GGUFX_TYPE_Q8_0},
                          windows[] = {16, 64, 100, 300};
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    float *x = kv_random(64 * kRow, 3);
    for (size_t t = 0; t < 2; t++)
        for (size_t w = 0; w < 4; w++) {
            ggufx_kv *kv = make_cache(rt, types[t], windows[w], 1, 0);
            for (size_t i = 0; i < 60; i++) {
                assert_int_equal(append(kv, 0, 50, NULL, x), GGUFX_OK);
                /* a chunk, the append, a page split at both ends; spare pages and sinks */
                assert_true(pages_of(kv, kChunked) <= (windows[w] + 50) / 64 + 2 + 4);
            }
            assert_true(pages_of(kv, kSymmetric) >= 3000 / 64);
            OK(kv_read_rows(NULL, 0, NULL, 0, kv, kSymmetric, 0, 0, 3000, ok_error()));
            ggufx_kv_destroy(kv);
        }
    free(x);
    ggufx_runtime_destroy(rt);
}

static void test_reserved_layers_take_no_more_memory(void **state) {
    (void)state;
    static const uint32_t types[] = {GGUFX_TYPE_F32, GGUFX_TYPE_Q4_0},
                          windows[] = {16, 64, 100, 300};
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    float *x = kv_random(64 * kRow, 3);
    for (size_t t = 0; t < 2; t++)
        for (size_t w = 0; w < 4; w++) {
            ggufx_kv *kv = make_cache(rt, types[t], windows[w], 1, 0);
            OK(ggufx_kv_reserve(kv, 0, 4000, ok_error()));
            const long before = memory.requests;
            /* calls of four appends; quantized types would need an additional F16 page */
            for (size_t i = 0; i < 80; i++) {
                if (t == 0 && i % 4 == 0) OK(ggufx_kv_begin(kv, 0, ok_error()));
                assert_int_equal(append(kv, 0, 50, NULL, x), GGUFX_OK);
                if (i % 4 == 3) OK(ggufx_kv_commit(kv, 0, ok_error()));
            }
            assert_int_equal(memory.requests, before);
            ggufx_kv_destroy(kv);
        }
    free(x);
    ggufx_runtime_destroy(rt);
}

static void test_kinds_that_are_none_are_refused(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    static const uint32_t wrong[][2] = {{16, 3}, {16, UINT32_MAX}, {0, 1}, {0, 2}};
    ggufx_kv *kv = make_cache(rt, GGUFX_TYPE_F16, 16, 1, 0);
    for (size_t i = 0; i < 4; i++) {
        ggufx_kv_layer_options layer = kv_window(wrong[i][0], wrong[i][1]);
        ggufx_kv_options shape = kv_shape(1, kHeads, kDim, kDim, GGUFX_TYPE_F16, GGUFX_TYPE_F16);
        shape.n_layer_options = 1;
        shape.layers = &layer;
        ggufx_kv *none = NULL;
        uint64_t bytes;
        EXPECT(GGUFX_E_ARGUMENT, "window_kind", ggufx_kv_create(&none, rt, &shape, error));
        EXPECT(GGUFX_E_ARGUMENT, "window_kind", ggufx_kv_estimate(&bytes, rt, &shape, 10, error));
        ggufx_attend_options options = {.struct_size = sizeof options};
        options.window = wrong[i][0];
        options.window_kind = wrong[i][1];
        float q[kQuery] = {0}, out[kQuery];
        const int32_t p = 0;
        EXPECT(GGUFX_E_ARGUMENT, "window_kind",
               kv_attend_rows(out, kQuery, NULL, 0, kv, 0, 0, q, kQuery, 1, &p, &options, error));
    }
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
}

static ggufx_kv *one_layer(const ggufx_runtime *rt, uint32_t window, uint32_t kind) {
    const ggufx_kv_layer_options layer = kv_window(window, kind);
    ggufx_kv_options shape = kv_shape(1, kHeads, kDim, kDim, GGUFX_TYPE_F16, GGUFX_TYPE_F16);
    shape.n_layer_options = 1;
    shape.layers = &layer;
    return kv_make(rt, &shape);
}

static void test_snapshots_tell_kinds_of_windows_apart(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    for (uint32_t from = 0; from < 3; from++)
        for (uint32_t to = 0; to < 3; to++) {
            ggufx_kv *a = one_layer(rt, 16, from), *b = one_layer(rt, 16, to);
            kv_bytes saved = kv_saved(a, 0);
            ggufx_error error;
            const ggufx_status status = ggufx_kv_load(b, 0, kv_bytes_read, &saved, &error);
            assert_int_equal(status, from == to ? GGUFX_OK : GGUFX_E_MISMATCH);
            if (from != to) assert_non_null(strstr(error.message, "kind of window"));
            /* the format of sliding windows is unchanged */
            if (from == 0) assert_int_equal(saved.data[16 + 4 * (11 + 3)], 0);
            free(saved.data);
            ggufx_kv_destroy(a);
            ggufx_kv_destroy(b);
        }
    ggufx_runtime_destroy(rt);
}

int main(int argc, char **argv) {
    if (argc > 1) n_operations = atol(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_give_the_bits_of_windows_of_calls),
        cmocka_unit_test(test_every_instruction_set_gives_the_same_bits),
        cmocka_unit_test(test_random_operations_keep_layers_equal),
        cmocka_unit_test(
            test_chunks_outside_of_all_windows_are_given_back_and_symmetric_windows_keep_all),
        cmocka_unit_test(test_reserved_layers_take_no_more_memory),
        cmocka_unit_test(test_kinds_that_are_none_are_refused),
        cmocka_unit_test(test_snapshots_tell_kinds_of_windows_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
