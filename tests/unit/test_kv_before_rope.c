/*
 * Centring before RoPE: errors, attention over the keys of ggufx_kv_read, equal bits of all sets,
 * and every operation of a cache on pages with rotated means.
 * SPDX-License-Identifier: MIT
 */
#include "kv_bytes.h"
#include "kv_expect.h"
#include "ok.h"

#include <math.h>

enum { kDim = 64, kTurned = 48, kPairs = kTurned / 2, kHeads = 2, kRow = kHeads * kDim };
enum { kTokens = 300, kQueries = 5, kMostQHeads = 8 };
enum { kBefore = GGUFX_KV_CENTRE_BEFORE_ROPE | GGUFX_KV_CENTRE_ALL };

static const uint32_t kTypes[] = {GGUFX_TYPE_GX4,  GGUFX_TYPE_GX3,      GGUFX_TYPE_GX2,
                                  GGUFX_TYPE_Q4_0, GGUFX_TYPE_ROT_Q4_0, GGUFX_TYPE_TQ3_0};
enum { kNTypes = sizeof kTypes / sizeof *kTypes };

static ggufx_kv_options shape_of(uint32_t type, uint32_t style, uint32_t flags) {
    ggufx_kv_options shape = kv_shape(kHeads, 4, kDim, kDim, type, GGUFX_TYPE_F16);
    shape.rope_style = style;
    shape.rope_dims = kTurned;
    shape.rope_base = 1e6f; /* most pairs turn slowly */
    shape.flags |= flags;
    return shape;
}

static void rotate(float *x, uint32_t style, double p) {
    for (int i = 0; i < kPairs; i++) {
        const int a = style == GGUFX_ROPE_NEOX ? i : 2 * i;
        const int b = style == GGUFX_ROPE_NEOX ? i + kPairs : 2 * i + 1;
        const double f = pow(1e6, -2.0 * i / kTurned), c = cos(p * f), s = sin(p * f);
        const double u = (double)x[a], v = (double)x[b];
        x[a] = (float)(u * c - v * s);
        x[b] = (float)(u * s + v * c);
    }
}

static float mean_of(int i) {
    return (float)(i % 7 - 3) * 0.7f;
}

/* Keys with a constant part before RoPE. positions NULL: 0, 1, ... */
static float *keys_of(uint32_t style, const int32_t *positions) {
    float *k = kv_random((size_t)kTokens * kRow, 1);
    for (int t = 0; t < kTokens; t++)
        for (int h = 0; h < kHeads; h++) {
            float *x = k + t * kRow + h * kDim;
            for (int i = 0; i < kDim; i++) x[i] = x[i] * 0.6f + mean_of(i + h);
            rotate(x, style, positions ? positions[t] : t);
        }
    return k;
}

typedef struct data {
    float *k, *v, *q;
} data;

static data make_data(uint32_t style, const int32_t *positions) {
    return (data){keys_of(style, positions), kv_random((size_t)kTokens * kRow, 2),
                  kv_random((size_t)kQueries * kMostQHeads * kDim, 3)};
}

static void free_data(data d) {
    free(d.k);
    free(d.v);
    free(d.q);
}

static double error_of(const ggufx_kv *kv, const float *k) {
    static float read[kTokens * kRow];
    OK(kv_read_rows(read, kTokens * kRow, NULL, 0, kv, 0, 0, 0, kTokens, ok_error()));
    double error = 0, square = 0;
    for (size_t i = 64 * kRow; i < 256 * kRow; i++) {
        error += pow((double)(read[i] - k[i]), 2);
        square += pow((double)k[i], 2);
    }
    return error / square;
}

static uint64_t length_of(const ggufx_kv *kv, uint32_t sequence) {
    uint64_t n = 0;
    OK(ggufx_kv_length(&n, kv, sequence, ok_error()));
    return n;
}

/* Attention of one query head in doubles over tokens first .. n - 1 of ggufx_kv_read. */
static void naive(double *out, const float *q, const float *k, const float *v, size_t n) {
    static double p[kTokens];
    double most = -INFINITY, l = 0;
    for (size_t t = 0; t < n; t++) {
        p[t] = 0;
        for (int i = 0; i < kDim; i++) p[t] += (double)q[i] * (double)k[t * kRow + i];
        p[t] /= sqrt(kDim);
        most = fmax(most, p[t]);
    }
    memset(out, 0, kDim * sizeof *out);
    for (size_t t = 0; t < n; t++) {
        p[t] = exp(p[t] - most);
        l += p[t];
        for (int i = 0; i < kDim; i++) out[i] += p[t] * (double)v[t * kRow + i];
    }
    for (int i = 0; i < kDim; i++) out[i] /= l;
}

/* Attention of n_queries at the last token, over its last `seen` tokens (0: all). */
static uint64_t checked(const ggufx_kv *kv, const ggufx_kv_options *shape, uint32_t sequence,
                        const float *q, size_t n_queries, uint64_t seen) {
    static float k[kTokens * kRow], v[kTokens * kRow], out[kQueries * kMostQHeads * kDim];
    const uint64_t all = length_of(kv, sequence), first = seen ? all - seen : 0, n = all - first;
    OK(kv_read_rows(k, n * kRow, v, n * kRow, kv, 0, sequence, first, n, ok_error()));
    int32_t last = 0, positions[kQueries];
    OK(ggufx_kv_positions(&last, kv, sequence, all - 1, 1, ok_error()));
    for (size_t i = 0; i < n_queries; i++) positions[i] = last;
    const uint32_t heads = shape->n_q_heads;
    kv_attend(out, NULL, kv, shape, sequence, q, n_queries, positions, 0, 0);
    for (size_t i = 0; i < n_queries * heads; i++) {
        double want[kDim];
        const size_t head = i % heads / (heads / kHeads) * kDim;
        naive(want, q + i * kDim, k + head, v + head, n);
        for (int c = 0; c < kDim; c++)
            /* codes of the query: 1/254 of its largest value, on keys without their mean */
            if (!(fabs(want[c] - (double)out[i * kDim + (size_t)c]) <= 5e-3))
                fail_msg("query head %zu, %d: %f, not %f", i, c, (double)out[i * kDim + (size_t)c],
                         want[c]);
    }
    return kv_hash(0, out, n_queries * heads * kDim);
}

static ggufx_kv *filled(const ggufx_runtime *rt, const ggufx_kv_options *shape, const data *d,
                        size_t step, const int32_t *positions) {
    ggufx_kv *kv = kv_make(rt, shape);
    kv_fill(kv, shape, 0, kTokens, step, positions, d->k, d->v);
    return kv;
}

static void test_a_constant_part_before_rope_costs_no_bits(void **state) {
    const data d = make_data(GGUFX_ROPE_NEOX, NULL);
    for (size_t i = 0; i < kNTypes; i++) {
        const ggufx_kv_options after = shape_of(kTypes[i], GGUFX_ROPE_NEOX, GGUFX_KV_CENTRE_ALL);
        const ggufx_kv_options before = shape_of(kTypes[i], GGUFX_ROPE_NEOX, kBefore);
        ggufx_kv *a = filled(*state, &after, &d, 100, NULL);
        ggufx_kv *b = filled(*state, &before, &d, 100, NULL);
        const double ea = error_of(a, d.k), eb = error_of(b, d.k);
        if (!(eb < 0.7 * ea)) fail_msg("type %u: %f after RoPE, %f before", kTypes[i], ea, eb);
        ggufx_kv_destroy(a);
        ggufx_kv_destroy(b);
    }
    free_data(d);
}

static void test_attention_adds_the_scores_of_the_means(void **state) {
    for (uint32_t style = GGUFX_ROPE_INTERLEAVED; style <= GGUFX_ROPE_NEOX; style++) {
        const data d = make_data(style, NULL);
        for (size_t i = 0; i < kNTypes; i++)
            for (uint32_t heads = 2; heads <= kMostQHeads; heads *= 2) {
                ggufx_kv_options shape = shape_of(kTypes[i], style, kBefore);
                shape.n_q_heads = heads;
                ggufx_kv *kv = filled(*state, &shape, &d, 100, NULL);
                checked(kv, &shape, 0, d.q, 1, 0);
                checked(kv, &shape, 0, d.q, kQueries, 0);
                ggufx_kv_destroy(kv);
            }
        free_data(d);
    }
}

static void test_bits_do_not_depend_on_sets_threads_and_appends(void **state) {
    (void)state;
    static const size_t steps[] = {kTokens, 64, 7, 1};
    ggufx_runtime *const runtimes[] = {kv_scalar_runtime(), kv_runtime(NULL, 1, NULL),
                                       kv_runtime(NULL, 3, NULL)};
    const data d = make_data(GGUFX_ROPE_NEOX, NULL);
    for (size_t i = 0; i < kNTypes; i++) {
        uint64_t want = 0;
        for (size_t j = 0; j < 12; j++) {
            const ggufx_kv_options shape = shape_of(kTypes[i], GGUFX_ROPE_NEOX, kBefore);
            ggufx_kv *kv = filled(runtimes[j % 3], &shape, &d, steps[j / 3], NULL);
            const uint64_t hash = checked(kv, &shape, 0, d.q, kQueries, 0);
            if (j == 0) want = hash;
            assert_int_equal(hash, want);
            ggufx_kv_destroy(kv);
        }
    }
    for (size_t i = 0; i < 3; i++) ggufx_runtime_destroy(runtimes[i]);
    free_data(d);
}

/* Keys of a constant sign, so that means differ from 0; no arithmetic of the compiler. */
static void test_bits_are_those_of_the_definition(void **state) {
    static const uint64_t golden[kNTypes] = {0x76f45d3e63e9e221u, 0x22614fac2d0b8561u,
                                             0x87423e58bb161866u, 0xe0750ac0c6bf6129u,
                                             0x9150c62ff5664e0cu, 0xc6394283f44eeff4u};
    float *k = kv_random((size_t)kTokens * kRow, 1), *v = kv_random((size_t)kTokens * kRow, 2);
    float *q = kv_random(4 * kDim, 3), out[4 * kDim];
    for (size_t i = 0; i < (size_t)kTokens * kRow; i++) k[i] = fabsf(k[i]);
    for (size_t i = 0; i < kNTypes; i++) {
        const ggufx_kv_options shape = shape_of(kTypes[i], GGUFX_ROPE_NEOX, kBefore);
        ggufx_kv *kv = kv_make(*state, &shape);
        kv_fill(kv, &shape, 0, kTokens, kTokens, NULL, k, v);
        kv_attend(out, NULL, kv, &shape, 0, q, 1, NULL, 0, 0);
        const uint64_t hash = kv_hash(0, out, 4 * kDim);
        if (hash != golden[i])
            fail_msg("type %u: hash 0x%016llx", kTypes[i], (unsigned long long)hash);
        ggufx_kv_destroy(kv);
    }
    free(k);
    free(v);
    free(q);
}

static void test_shifts_keep_stored_keys_and_move_their_means(void **state) {
    static float before[kTokens * kRow], after[kTokens * kRow];
    const data d = make_data(GGUFX_ROPE_INTERLEAVED, NULL);
    const ggufx_kv_options shape = shape_of(GGUFX_TYPE_GX3, GGUFX_ROPE_INTERLEAVED, kBefore);
    ggufx_kv *kv = filled(*state, &shape, &d, 100, NULL);
    const uint64_t hash = checked(kv, &shape, 0, d.q, 3, 0);
    OK(kv_read_rows(before, kTokens * kRow, NULL, 0, kv, 0, 0, 0, kTokens, ok_error()));
    OK(ggufx_kv_shift(kv, 0, 100, kTokens - 100, 1000, ok_error()));
    checked(kv, &shape, 0, d.q, 3, 0);
    OK(kv_read_rows(after, kTokens * kRow, NULL, 0, kv, 0, 0, 0, kTokens, ok_error()));
    for (int t = 0; t < kTokens; t++)
        for (int h = 0; h < kHeads; h++) {
            float *x = before + t * kRow + h * kDim;
            if (t >= 100) rotate(x, GGUFX_ROPE_INTERLEAVED, 1000);
            for (int i = 0; i < kDim; i++)
                assert_true(fabs((double)(x[i] - after[t * kRow + h * kDim + i])) < 1e-5);
        }
    OK(ggufx_kv_shift(kv, 0, 100, kTokens - 100, -1000, ok_error()));
    assert_int_equal(checked(kv, &shape, 0, d.q, 3, 0), hash);
    ggufx_kv_destroy(kv);
    free_data(d);
}

static void test_tokens_after_a_shift_and_cuts_match(void **state) {
    const data d = make_data(GGUFX_ROPE_NEOX, NULL);
    for (size_t i = 0; i < kNTypes; i++) {
        ggufx_kv_options shape = shape_of(kTypes[i], GGUFX_ROPE_NEOX, kBefore);
        shape.n_sequences = 3;
        ggufx_kv *kv = kv_make(*state, &shape);
        const size_t n = 230;
        kv_fill(kv, &shape, 0, n, n, NULL, d.k, d.v);
        OK(ggufx_kv_copy(kv, 0, 1, 0, 150, ok_error())); /* cuts a quantized page */
        OK(ggufx_kv_copy(kv, 0, 2, 30, 190, ok_error()));
        kv_fill(kv, &shape, 1, 100, 9, NULL, d.k + 150 * kRow, d.v); /* pages 150 .. */
        OK(ggufx_kv_remove(kv, 2, 20, 70, ok_error()));
        OK(ggufx_kv_shift(kv, 2, 20, kv_rest(kv, 2, 20), -70, ok_error()));
        kv_fill(kv, &shape, 2, 100, 50, NULL, d.k, d.v);
        OK(ggufx_kv_truncate(kv, 0, 140, ok_error()));
        kv_fill(kv, &shape, 0, 100, 64, NULL, d.k + 140 * kRow, d.v);
        for (uint32_t s = 0; s < 3; s++) checked(kv, &shape, s, d.q, kQueries, 0);
        OK(ggufx_kv_compact(kv, GGUFX_ALL_SEQUENCES, NULL, ok_error()));
        for (uint32_t s = 0; s < 3; s++) checked(kv, &shape, s, d.q, kQueries, 0);
        ggufx_kv_destroy(kv);
    }
    free_data(d);
}

/* Positions with gaps, repeated ones, and a large first one: only the error changes. */
static void test_positions_need_not_be_consecutive(void **state) {
    int32_t positions[kTokens];
    for (int t = 0; t < kTokens; t++) positions[t] = 1000000 + t / 3 * 5;
    const data d = make_data(GGUFX_ROPE_NEOX, positions);
    const ggufx_kv_options shape = shape_of(GGUFX_TYPE_GX4, GGUFX_ROPE_NEOX, kBefore);
    ggufx_kv *kv = filled(*state, &shape, &d, 50, positions);
    checked(kv, &shape, 0, d.q, kQueries, 0);
    assert_true(error_of(kv, d.k) < 0.02);
    ggufx_kv_destroy(kv);
    free_data(d);
}

static void test_means_of_the_caller_are_those_before_rope(void **state) {
    const data d = make_data(GGUFX_ROPE_NEOX, NULL);
    const ggufx_kv_options shape = shape_of(GGUFX_TYPE_GX3, GGUFX_ROPE_NEOX, kBefore);
    float mu[kRow];
    for (int i = 0; i < kRow; i++) mu[i] = mean_of(i % kDim + i / kDim);
    ggufx_kv *given = kv_make(*state, &shape), *none = kv_make(*state, &shape);
    OK(ggufx_kv_calibrate(given, 0, mu, NULL, kRow, NULL, 0, ok_error()));
    OK(ggufx_kv_calibrate(none, 0, NULL, NULL, 0, NULL, 0, ok_error()));
    kv_fill(given, &shape, 0, kTokens, 80, NULL, d.k, d.v);
    kv_fill(none, &shape, 0, kTokens, 80, NULL, d.k, d.v);
    checked(given, &shape, 0, d.q, 2, 0);
    assert_true(error_of(given, d.k) < 0.5 * error_of(none, d.k));
    ggufx_kv_destroy(given);
    ggufx_kv_destroy(none);
    free_data(d);
}

static void test_snapshots_keep_the_means_of_pages(void **state) {
    const data d = make_data(GGUFX_ROPE_NEOX, NULL);
    const ggufx_kv_options shape = shape_of(GGUFX_TYPE_GX4, GGUFX_ROPE_NEOX, kBefore);
    const ggufx_kv_options other = shape_of(GGUFX_TYPE_GX4, GGUFX_ROPE_NEOX, GGUFX_KV_CENTRE_ALL);
    ggufx_kv *kv = filled(*state, &shape, &d, 100, NULL), *to = kv_make(*state, &shape);
    ggufx_kv *plain = kv_make(*state, &other);
    OK(ggufx_kv_remove(kv, 0, 60, 40, ok_error())); /* slot 0 of a page is not saved */
    OK(ggufx_kv_shift(kv, 0, 60, kv_rest(kv, 0, 60), 500, ok_error()));
    const uint64_t hash = checked(kv, &shape, 0, d.q, 3, 0);
    kv_bytes bytes = kv_saved(kv, 0);
    OK(ggufx_kv_load(to, 0, kv_bytes_read, &bytes, ok_error()));
    assert_int_equal(checked(to, &shape, 0, d.q, 3, 0), hash);
    bytes.at = 0;
    EXPECT(GGUFX_E_MISMATCH, "centring",
           (bytes.at = 0, ggufx_kv_load(plain, 0, kv_bytes_read, &bytes, error)));
    free(bytes.data);
    ggufx_kv_destroy(kv);
    ggufx_kv_destroy(to);
    ggufx_kv_destroy(plain);
    free_data(d);
}

static void test_requantized_keys_keep_or_replace_their_means(void **state) {
    static float before[kTokens * kRow], after[kTokens * kRow];
    const data d = make_data(GGUFX_ROPE_NEOX, NULL);
    const ggufx_kv_options shape = shape_of(GGUFX_TYPE_GX4, GGUFX_ROPE_NEOX, kBefore);
    ggufx_kv *kv = filled(*state, &shape, &d, 100, NULL);
    OK(ggufx_kv_remove(kv, 0, 60, 40, ok_error()));
    const size_t n = (kTokens - 40) * kRow;
    OK(kv_read_rows(before, n, NULL, 0, kv, 0, 0, 0, kTokens - 40, ok_error()));
    OK(ggufx_kv_requantize(kv, 0, GGUFX_TYPE_KEEP, GGUFX_TYPE_GX4, NULL, ok_error()));
    OK(kv_read_rows(after, n, NULL, 0, kv, 0, 0, 0, kTokens - 40, ok_error()));
    assert_memory_equal(before, after, n * sizeof *after);
    checked(kv, &shape, 0, d.q, 1, 0);
    static const uint32_t types[] = {GGUFX_TYPE_Q4_0, GGUFX_TYPE_F16, GGUFX_TYPE_GX3};
    for (size_t i = 0; i < 3; i++) {
        OK(ggufx_kv_requantize(kv, 0, types[i], GGUFX_TYPE_KEEP, NULL, ok_error()));
        checked(kv, &shape, 0, d.q, kQueries, 0);
    }
    ggufx_kv_destroy(kv);
    free_data(d);
}

static void test_windows_drop_pages_with_means(void **state) {
    const data d = make_data(GGUFX_ROPE_NEOX, NULL);
    const ggufx_kv_layer_options layer = kv_window(90, GGUFX_KV_WINDOW_SLIDING);
    ggufx_kv_options shape = shape_of(GGUFX_TYPE_GX4, GGUFX_ROPE_NEOX, kBefore);
    shape.layers = &layer;
    shape.n_layer_options = 1;
    ggufx_kv *kv = filled(*state, &shape, &d, 20, NULL);
    checked(kv, &shape, 0, d.q, kQueries, 90);
    ggufx_kv_destroy(kv);
    free_data(d);
}

/* Values are the first coordinates, which RoPE does not rotate. */
static void test_values_in_keys_have_means_too(void **state) {
    enum { kValues = 32 };
    static float k[kTokens * kDim], read[kTokens * kDim], out[4 * kValues];
    float *noise = kv_random((size_t)kTokens * kDim, 5), *q = kv_random(4 * kDim, 6);
    ggufx_kv_options shape = kv_shape(1, 4, kDim, kValues, GGUFX_TYPE_GX4, GGUFX_TYPE_GX4);
    shape.flags |= GGUFX_KV_V_IN_K | kBefore;
    shape.rope_style = GGUFX_ROPE_NEOX;
    for (int i = 0; i < kTokens * kDim; i++) k[i] = noise[i] + mean_of(i % kDim);
    ggufx_kv *kv = kv_make(*state, &shape);
    OK(kv_append_rows(kv, 0, 0, kTokens, NULL, k, kTokens * kDim, NULL, 0, ok_error()));
    OK(ggufx_kv_commit(kv, 0, ok_error()));
    OK(kv_read_rows(read, kTokens * kDim, NULL, 0, kv, 0, 0, 0, kTokens, ok_error()));
    const int32_t last = kTokens - 1;
    kv_attend(out, NULL, kv, &shape, 0, q, 1, &last, 0, 0);
    for (int h = 0; h < 4; h++) {
        double p[kTokens], l = 0, want[kValues] = {0};
        for (int t = 0; t < kTokens; t++) {
            p[t] = 0;
            for (int i = 0; i < kDim; i++)
                p[t] += (double)q[h * kDim + i] * (double)read[t * kDim + i];
            l += p[t] = exp(p[t] / sqrt(kDim));
            for (int i = 0; i < kValues; i++) want[i] += p[t] * (double)read[t * kDim + i];
        }
        for (int i = 0; i < kValues; i++)
            assert_true(fabs(want[i] / l - (double)out[h * kValues + i]) < 1e-2);
    }
    ggufx_kv_destroy(kv);
    free(noise);
    free(q);
}

static void test_caches_that_cannot_rotate_means_are_refused(void **state) {
    ggufx_kv *kv = NULL;
    ggufx_kv_options shape = shape_of(GGUFX_TYPE_GX4, GGUFX_ROPE_NONE, kBefore);
    EXPECT(GGUFX_E_ARGUMENT, "rope_style", ggufx_kv_create(&kv, *state, &shape, error));
    shape = shape_of(GGUFX_TYPE_GX4, GGUFX_ROPE_NEOX,
                     GGUFX_KV_CENTRE_BEFORE_ROPE | GGUFX_KV_CENTRE_NONE);
    EXPECT(GGUFX_E_ARGUMENT, "exclude", ggufx_kv_create(&kv, *state, &shape, error));
    shape = shape_of(GGUFX_TYPE_GX4, GGUFX_ROPE_NEOX, kBefore);
    shape.rope_scale = 1.5f;
    EXPECT(GGUFX_E_ARGUMENT, "per position", ggufx_kv_create(&kv, *state, &shape, error));
    assert_null(kv);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_constant_part_before_rope_costs_no_bits),
        cmocka_unit_test(test_attention_adds_the_scores_of_the_means),
        cmocka_unit_test(test_bits_do_not_depend_on_sets_threads_and_appends),
        cmocka_unit_test(test_bits_are_those_of_the_definition),
        cmocka_unit_test(test_shifts_keep_stored_keys_and_move_their_means),
        cmocka_unit_test(test_tokens_after_a_shift_and_cuts_match),
        cmocka_unit_test(test_positions_need_not_be_consecutive),
        cmocka_unit_test(test_means_of_the_caller_are_those_before_rope),
        cmocka_unit_test(test_snapshots_keep_the_means_of_pages),
        cmocka_unit_test(test_requantized_keys_keep_or_replace_their_means),
        cmocka_unit_test(test_windows_drop_pages_with_means),
        cmocka_unit_test(test_values_in_keys_have_means_too),
        cmocka_unit_test(test_caches_that_cannot_rotate_means_are_refused),
    };
    return cmocka_run_group_tests(tests, kv_set_up, kv_tear_down);
}
