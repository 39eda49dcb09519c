/*
 * RoPE frequencies given by the caller: shifted keys equal keys rotated for their positions, in
 * doubles; invalid tables are refused.
 * SPDX-License-Identifier: MIT
 */
#include "kv_bytes.h"
#include "kv_expect.h"
#include "ok.h"

#include <math.h>

enum { kDim = 24, kTurned = 20, kPairs = kTurned / 2, kTokens = 90, kDelta = 37 };

/* Scaled and stretched pairs, as in models; no base gives these. */
static void make_frequencies(double *f) {
    for (int i = 0; i < kPairs; i++)
        f[i] = pow(50000.0, -2.0 * i / kTurned) / (i < 3 ? 1.0 : 1.0 + 2.7 * i);
}

static ggufx_kv_options shape_of(uint32_t style, uint32_t type, const double *f) {
    ggufx_kv_options shape = kv_shape(1, 1, kDim, kDim, type, type);
    shape.rope_style = style;
    shape.rope_dims = kTurned;
    shape.rope_frequencies = f;
    shape.n_rope_frequencies = f ? kPairs : 0;
    return shape;
}

/* x rotated to position p, in doubles. */
static void rotate(double *out, const float *x, uint32_t style, const double *f, double p) {
    for (int i = 0; i < kDim; i++) out[i] = (double)x[i];
    for (int i = 0; i < kPairs; i++) {
        const int a = style == GGUFX_ROPE_NEOX ? i : 2 * i;
        const int b = style == GGUFX_ROPE_NEOX ? i + kPairs : 2 * i + 1;
        const double c = cos(p * f[i]), s = sin(p * f[i]);
        out[a] = (double)x[a] * c - (double)x[b] * s;
        out[b] = (double)x[a] * s + (double)x[b] * c;
    }
}

static ggufx_kv *filled(const ggufx_runtime *rt, const ggufx_kv_options *shape, const float *x,
                        const double *f) {
    ggufx_kv *kv = kv_make(rt, shape);
    float *k = calloc(kTokens * kDim, sizeof *k);
    assert_non_null(k);
    for (int t = 0; t < kTokens; t++) {
        double turned[kDim];
        rotate(turned, x + t * kDim, shape->rope_style, f, t);
        for (int i = 0; i < kDim; i++) k[t * kDim + i] = (float)turned[i];
    }
    kv_fill(kv, shape, 0, kTokens, kTokens, NULL, k, x);
    free(k);
    return kv;
}

/* Attention weights of one query over keys at positions t + kDelta, t >= 10. */
static double expected(const float *x, const float *q, uint32_t style, const double *f, int out) {
    double score[kTokens], most = -INFINITY, l = 0, sum = 0;
    for (int t = 0; t < kTokens; t++) {
        double key[kDim];
        rotate(key, x + t * kDim, style, f, t < 10 ? t : t + kDelta);
        score[t] = 0;
        for (int i = 0; i < kDim; i++) score[t] += key[i] * (double)q[i] / sqrt(kDim);
        most = fmax(most, score[t]);
    }
    for (int t = 0; t < kTokens; t++) {
        const double p = exp(score[t] - most);
        l += p;
        sum += p * (double)x[t * kDim + out];
    }
    return sum / l;
}

static void test_shifted_keys_rotate_by_the_frequencies_that_were_given(void **state) {
    (void)state;
    static const uint32_t styles[] = {GGUFX_ROPE_INTERLEAVED, GGUFX_ROPE_NEOX};
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    float *x = kv_random(kTokens * kDim, 1), *q = kv_random(kDim, 2), read[kTokens * kDim];
    double f[kPairs];
    make_frequencies(f);
    for (size_t s = 0; s < 2; s++) {
        double given[kPairs];
        memcpy(given, f, sizeof f);
        const ggufx_kv_options shape = shape_of(styles[s], GGUFX_TYPE_F32, given);
        ggufx_kv *kv = filled(rt, &shape, x, f);
        memset(given, 0, sizeof given); /* read at create only */
        OK(ggufx_kv_shift(kv, 0, 10, kv_rest(kv, 0, 10), kDelta, ok_error()));
        OK(kv_read_rows(read, kTokens * kDim, NULL, 0, kv, 0, 0, 0, kTokens, ok_error()));
        for (int t = 0; t < kTokens; t++) {
            double want[kDim];
            rotate(want, x + t * kDim, styles[s], f, t < 10 ? t : t + kDelta);
            for (int i = 0; i < kDim; i++) /* two roundings of values below 2 */
                assert_true(fabs(want[i] - (double)read[t * kDim + i]) <= 0x1p-22);
        }
        float out[kDim];
        kv_attend(out, NULL, kv, &shape, 0, q, 1, NULL, GGUFX_ATTEND_ALL, 0);
        for (int i = 0; i < kDim; i++)
            assert_true(fabs((double)out[i] - expected(x, q, styles[s], f, i)) <= 1e-6);
        ggufx_kv_destroy(kv);
    }
    free(x);
    free(q);
    ggufx_runtime_destroy(rt);
}

static void test_a_table_of_the_same_frequencies_is_a_base(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    float *x = kv_random(kTokens * kDim, 1), a[kTokens * kDim], b[kTokens * kDim];
    double f[kPairs];
    for (int i = 0; i < kPairs; i++) f[i] = pow(10000.0, -2.0 * i / kTurned);
    const ggufx_kv_options table = shape_of(GGUFX_ROPE_INTERLEAVED, GGUFX_TYPE_F16, f);
    const ggufx_kv_options base = shape_of(GGUFX_ROPE_INTERLEAVED, GGUFX_TYPE_F16, NULL);
    ggufx_kv *one = filled(rt, &table, x, f), *other = filled(rt, &base, x, f);
    OK(ggufx_kv_shift(one, 0, 0, kv_rest(one, 0, 0), 1000, ok_error()));
    OK(ggufx_kv_shift(other, 0, 0, kv_rest(other, 0, 0), 1000, ok_error()));
    assert_int_equal(kv_read_rows(a, kTokens * kDim, NULL, 0, one, 0, 0, 0, kTokens, NULL), 0);
    assert_int_equal(kv_read_rows(b, kTokens * kDim, NULL, 0, other, 0, 0, 0, kTokens, NULL), 0);
    for (int i = 0; i < kTokens * kDim; i++) /* pow of two libraries may differ in the last bit */
        assert_true(fabsf(a[i] - b[i]) <= 0x1p-22f);
    ggufx_kv_destroy(one);
    ggufx_kv_destroy(other);
    free(x);
    ggufx_runtime_destroy(rt);
}

static void test_tables_that_do_not_fit_are_refused(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    double f[kPairs];
    make_frequencies(f);
    ggufx_kv_options o = shape_of(GGUFX_ROPE_INTERLEAVED, GGUFX_TYPE_F16, f);
    ggufx_kv *kv = NULL;
    uint64_t bytes;
    const size_t wrong[] = {1, kPairs - 1, kPairs + 1, SIZE_MAX};
    for (size_t i = 0; i < 4; i++) {
        o.n_rope_frequencies = wrong[i];
        EXPECT(GGUFX_E_ARGUMENT, "say 10", ggufx_kv_create(&kv, rt, &o, error));
        EXPECT(GGUFX_E_ARGUMENT, "say 10", ggufx_kv_estimate(&bytes, rt, &o, 9, error));
    }
    o.n_rope_frequencies = 0;
    EXPECT(GGUFX_E_ARGUMENT, "go together", ggufx_kv_create(&kv, rt, &o, error));
    o = shape_of(GGUFX_ROPE_INTERLEAVED, GGUFX_TYPE_F16, NULL);
    o.n_rope_frequencies = kPairs;
    EXPECT(GGUFX_E_ARGUMENT, "go together", ggufx_kv_create(&kv, rt, &o, error));
    for (uint32_t style = GGUFX_ROPE_UNKNOWN; style <= GGUFX_ROPE_NONE; style++) {
        o = shape_of(style, GGUFX_TYPE_F16, f); /* no rotation */
        EXPECT(GGUFX_E_ARGUMENT, "say 0", ggufx_kv_create(&kv, rt, &o, error));
    }
    static const double odd[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        make_frequencies(f);
        f[4] = odd[i];
        o = shape_of(GGUFX_ROPE_INTERLEAVED, GGUFX_TYPE_F16, f);
        EXPECT(GGUFX_E_ARGUMENT, "rope_frequencies[4]", ggufx_kv_create(&kv, rt, &o, error));
        assert_int_equal(last_index, 4);
    }
    ggufx_runtime_destroy(rt);
}

/* The sine of more than 2^31 radians is not computed. */
static void test_shifts_that_rotate_too_far_are_refused(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    float *x = kv_random(kTokens * kDim, 1);
    double f[kPairs] = {0, 0, -0x1p20};
    const ggufx_kv_options table = shape_of(GGUFX_ROPE_INTERLEAVED, GGUFX_TYPE_F16, f);
    ggufx_kv_options scaled = shape_of(GGUFX_ROPE_INTERLEAVED, GGUFX_TYPE_F16, NULL);
    scaled.rope_scale = 0x1p20f;
    for (int i = 0; i < 2; i++) {
        ggufx_kv *kv = kv_make(rt, i ? &scaled : &table);
        kv_fill(kv, &table, 0, kTokens, kTokens, NULL, x, x);
        kv_bytes before = kv_saved(kv, 0);
        EXPECT(GGUFX_E_ARGUMENT, "2^31", ggufx_kv_shift(kv, 0, 0, kv_rest(kv, 0, 0), 2049, error));
        EXPECT(GGUFX_E_ARGUMENT, "2^31",
               ggufx_kv_shift(kv, 0, 85, kv_rest(kv, 0, 85), 1 << 20, error));
        kv_bytes after = kv_saved(kv, 0);
        assert_int_equal(before.n, after.n);
        assert_memory_equal(before.data, after.data, after.n);
        OK(ggufx_kv_shift(kv, 0, 0, kv_rest(kv, 0, 0), 2048, ok_error()));
        EXPECT(GGUFX_E_ARGUMENT, "2^31", ggufx_kv_shift(kv, 0, 0, kv_rest(kv, 0, 0), 1, error));
        free(before.data);
        free(after.data);
        ggufx_kv_destroy(kv);
    }
    free(x);
    ggufx_runtime_destroy(rt);
}

static void test_snapshots_of_other_frequencies_are_refused(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    float *x = kv_random(kTokens * kDim, 1);
    double f[kPairs], g[kPairs];
    make_frequencies(f);
    make_frequencies(g);
    g[kPairs - 1] = nextafter(g[kPairs - 1], 1.0);
    const ggufx_kv_options shapes[] = {shape_of(GGUFX_ROPE_INTERLEAVED, GGUFX_TYPE_F16, f),
                                       shape_of(GGUFX_ROPE_INTERLEAVED, GGUFX_TYPE_F16, g),
                                       shape_of(GGUFX_ROPE_INTERLEAVED, GGUFX_TYPE_F16, NULL)};
    for (int from = 0; from < 3; from++)
        for (int to = 0; to < 3; to++) {
            ggufx_kv *a = filled(rt, &shapes[from], x, f), *b = kv_make(rt, &shapes[to]);
            OK(ggufx_kv_shift(a, 0, 20, kv_rest(a, 0, 20), 3, ok_error()));
            kv_bytes saved = kv_saved(a, 0);
            ggufx_error error;
            const ggufx_status status = ggufx_kv_load(b, 0, kv_bytes_read, &saved, &error);
            assert_int_equal(status, from == to ? GGUFX_OK : GGUFX_E_MISMATCH);
            if (from != to && from < 2 && to < 2)
                assert_non_null(strstr(error.message, "rope_frequencies"));
            free(saved.data);
            ggufx_kv_destroy(a);
            ggufx_kv_destroy(b);
        }
    free(x);
    ggufx_runtime_destroy(rt);
}

static void test_the_table_is_counted(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv_options o = shape_of(GGUFX_ROPE_INTERLEAVED, GGUFX_TYPE_F16, NULL), none = o;
    none.rope_style = GGUFX_ROPE_NONE;
    uint64_t with = 0, without = 0;
    OK(ggufx_kv_estimate(&with, rt, &o, 0, ok_error()));
    OK(ggufx_kv_estimate(&without, rt, &none, 0, ok_error()));
    assert_int_equal(with - without, kPairs * sizeof(double));
    ggufx_runtime_destroy(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shifted_keys_rotate_by_the_frequencies_that_were_given),
        cmocka_unit_test(test_a_table_of_the_same_frequencies_is_a_base),
        cmocka_unit_test(test_tables_that_do_not_fit_are_refused),
        cmocka_unit_test(test_shifts_that_rotate_too_far_are_refused),
        cmocka_unit_test(test_snapshots_of_other_frequencies_are_refused),
        cmocka_unit_test(test_the_table_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
