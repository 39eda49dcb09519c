/*
 * Loss of each KV type, measured through a cache. Reads do not depend on the sizes of appends.
 * SPDX-License-Identifier: MIT
 */
#include "kv_fixture.h"
#include "ok.h"

#include <math.h>

/* Returns n values of N(0, 1) by Box and Muller: sums of twelve uniform values have short tails. */
static float *gaussian(size_t n, uint32_t seed) {
    float *x = kv_random(2 * n, seed);
    for (size_t i = 0; i < n; i++) {
        const double u = ((double)x[2 * i] + 1) / 2 + 1e-12, v = (double)x[2 * i + 1];
        x[i] = (float)(sqrt(-2 * log(u)) * cos(3.14159265358979 * v));
    }
    return x;
}

typedef struct row {
    uint32_t type, flags;
    double k_limit; /* relative mean squared error on Gaussian vectors of 128 */
} row;

/* Limits from the design of the types: GX2 0.100, GX3 0.028, GX4 0.0075, TQ3_0 0.19 (0.05, 0.11).
 * For block formats, the error of their step, a few per cent above the measured value. */
static const row kRows[] = {
    {GGUFX_TYPE_F16, 0, 1e-6},
    {GGUFX_TYPE_Q8_0, 0, 4e-5},
    {GGUFX_TYPE_Q5_1, 0, 0.0016},
    {GGUFX_TYPE_Q5_0, 0, 0.0020},
    {GGUFX_TYPE_Q4_1, 0, 0.0066},
    {GGUFX_TYPE_Q4_0, 0, 0.0080},
    {GGUFX_TYPE_IQ4_NL, 0, 0.0067},
    {GGUFX_TYPE_ROT_Q5_0, 0, 0.0020},
    {GGUFX_TYPE_ROT_Q4_0, 0, 0.0080},
    {GGUFX_TYPE_ROT_IQ4_NL, 0, 0.0067},
    {GGUFX_TYPE_TQ3_0, 0, 0.195},
    {GGUFX_TYPE_TQ3_0, GGUFX_KV_FIT_TQ3_0, 0.11},
    {GGUFX_TYPE_TQ3_0_RESIDUAL, 0, 0.05},
    {GGUFX_TYPE_GX2, 0, 0.100},
    {GGUFX_TYPE_GX3, 0, 0.028},
    {GGUFX_TYPE_GX4, 0, 0.0075},
};
enum { kNRows = sizeof kRows / sizeof *kRows };

static double error_of(const float *x, const float *y, size_t n) {
    double error = 0, square = 0;
    for (size_t i = 0; i < n; i++) {
        error += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
        square += (double)x[i] * (double)x[i];
    }
    return error / square;
}

static void test_errors_of_gaussian_vectors_stay_below_their_limits(void **state) {
    (void)state;
    enum { kTokens = 256, kHeads = 2, kDim = 128, kN = kTokens * kHeads * kDim };
    enum { kAll = kN + kHeads * kDim }; /* one more token, so that all others are quantized */
    ggufx_runtime *rt = kv_runtime(NULL, 2, NULL);
    float *k = gaussian(kAll, 1), *v = gaussian(kAll, 2), *back = malloc(2 * kN * sizeof *back);
    assert_non_null(back);
    for (size_t i = 0; i < kNRows; i++) {
        ggufx_kv_options shape = kv_shape(kHeads, kHeads, kDim, kDim, kRows[i].type, kRows[i].type);
        shape.flags |= kRows[i].flags | GGUFX_KV_CENTRE_NONE;
        shape.n_sink_tokens = GGUFX_KV_NO_SINK_TOKENS;
        ggufx_kv *kv = kv_make(rt, &shape);
        kv_fill(kv, &shape, 0, kTokens + 1, 100, NULL, k, v);
        OK(kv_read_rows(back, kN, back + kN, kN, kv, 0, 0, 0, kTokens, ok_error()));
        const double ek = error_of(k, back, kN), ev = error_of(v, back + kN, kN);
        if (!(ek <= kRows[i].k_limit && ev <= kRows[i].k_limit))
            fail_msg("type %u: errors %.5f, %.5f; limit %.5f", kRows[i].type, ek, ev,
                     kRows[i].k_limit);
        if (!kv_is_float(kRows[i].type) && !(ek > kRows[i].k_limit / 3))
            fail_msg("type %u: error %.5f is too small to be true", kRows[i].type, ek);
        ggufx_kv_facts facts = {.struct_size = sizeof facts};
        OK(ggufx_kv_info(&facts, kv, 0, ok_error()));
        if (!kv_is_float(kRows[i].type)) { /* measured while quantizing, after rounding to F16 */
            assert_true(fabs(facts.k_error - ek) <= 0.01 * ek + 1e-6);
            assert_true(fabs(facts.v_error - ev) <= 0.01 * ev + 1e-6);
        }
        ggufx_kv_destroy(kv);
    }
    ggufx_runtime_destroy(rt);
    free(k);
    free(v);
    free(back);
}

/* Head lengths that are no power of two, padded ones, K and V of different lengths and types. */
static void test_every_length_of_head_comes_back(void **state) {
    (void)state;
    static const uint32_t dims[] = {16, 48, 64, 80, 96, 128, 192, 256, 576};
    enum { kTokens = 70 };
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
        const uint32_t dk = dims[d], dv = dims[(d + 4) % 9];
        float *k = gaussian(kTokens * dk, 3), *v = gaussian(kTokens * dv, 4);
        float *k_back = malloc(kTokens * dk * sizeof *k),
              *v_back = malloc(kTokens * dv * sizeof *v);
        assert_true(k_back && v_back);
        for (size_t i = 0; i < kNRows; i++) {
            const row *other = kRows + (i + 3) % kNRows;
            ggufx_kv_options shape = kv_shape(1, 1, dk, dv, kRows[i].type, other->type);
            shape.flags |= kRows[i].flags | other->flags;
            ggufx_kv *kv = kv_make(rt, &shape);
            kv_fill(kv, &shape, 0, kTokens, kTokens, NULL, k, v);
            OK(kv_read_rows(k_back, kTokens * dk, v_back, kTokens * dv, kv, 0, 0, 0, kTokens,
                            ok_error()));
            /* few vectors and short heads: 1.5 times the limit */
            const double ek = error_of(k, k_back, kTokens * dk);
            const double ev = error_of(v, v_back, kTokens * dv);
            if (!(ek <= 1.5 * kRows[i].k_limit && ev <= 1.5 * other->k_limit))
                fail_msg("types %u, %u, heads of %u, %u: errors %.5f, %.5f", kRows[i].type,
                         other->type, dk, dv, ek, ev);
            /* sinks and the last tokens are F16 */
            assert_true(error_of(k, k_back, 4 * dk) <= 1e-6);
            assert_true(error_of(v + 68 * dv, v_back + 68 * dv, 2 * dv) <= 1e-6);
            ggufx_kv_destroy(kv);
        }
        free(k);
        free(v);
        free(k_back);
        free(v_back);
    }
    ggufx_runtime_destroy(rt);
}

/* Channels with a large mean and spread, the case for centering and equalizing. */
static void test_centring_lowers_the_error_of_biased_channels(void **state) {
    (void)state;
    enum { kTokens = 68 + 128, kDim = 64, kN = kTokens * kDim };
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    float *k = gaussian(kN, 5), *v = gaussian(kN, 6), *back = malloc(2 * kN * sizeof *back);
    double error[2][2];
    assert_non_null(back);
    for (size_t i = 0; i < kN; i++) {
        const size_t c = i % kDim;
        k[i] = k[i] * (c % 16 ? 1 : 8) + (float)(c % 7) * 3;
        v[i] += c % 5 ? 0.0f : 6.0f;
    }
    for (int centre = 0; centre < 2; centre++) {
        ggufx_kv_options shape = kv_shape(1, 1, kDim, kDim, GGUFX_TYPE_GX3, GGUFX_TYPE_Q4_0);
        shape.flags |= centre ? GGUFX_KV_CENTRE_ALL : GGUFX_KV_CENTRE_NONE;
        ggufx_kv *kv = kv_make(rt, &shape);
        kv_fill(kv, &shape, 0, kTokens, 50, NULL, k, v);
        OK(kv_read_rows(back, kN, back + kN, kN, kv, 0, 0, 0, kTokens, ok_error()));
        double *e = error[centre];
        e[0] = e[1] = 0;
        for (size_t i = 0; i < kN; i++) { /* weighted by each channel's own spread */
            const double spread = i % kDim % 16 ? 1 : 8;
            e[0] += pow(((double)k[i] - (double)back[i]) / spread, 2) / kN;
            e[1] += pow((double)v[i] - (double)back[kN + i], 2) / kN;
        }
        ggufx_kv_destroy(kv);
    }
    if (!(error[1][0] < error[0][0] / 3 && error[1][1] < error[0][1] / 2))
        fail_msg("plain %.4f, %.4f; centred %.4f, %.4f", error[0][0], error[0][1], error[1][0],
                 error[1][1]);
    ggufx_runtime_destroy(rt);
    free(k);
    free(v);
    free(back);
}

static void test_given_means_and_equalisers_are_used_and_frozen(void **state) {
    (void)state;
    enum { kTokens = 65, kDim = 32, kN = kTokens * kDim }; /* the first 64 are quantized */
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv_options shape = kv_shape(1, 1, kDim, kDim, GGUFX_TYPE_GX2, GGUFX_TYPE_Q4_0);
    shape.n_sink_tokens = GGUFX_KV_NO_SINK_TOKENS;
    float *x = gaussian(kN, 7), mu[kDim], eq[kDim], back[kDim];
    for (size_t i = 0; i < kDim; i++) {
        mu[i] = 100.0f * (float)(i + 1);
        eq[i] = i % 2 ? 1.0f : 16.0f;
    }
    for (size_t i = 0; i < kN; i++) x[i] = mu[i % kDim]; /* only the mean: nothing remains */
    ggufx_kv *kv = kv_make(rt, &shape);
    OK(ggufx_kv_calibrate(kv, 0, mu, eq, kDim, NULL, 0, ok_error()));
    assert_int_equal(ggufx_kv_calibrate(kv, 0, mu, NULL, kDim, mu, kDim, NULL),
                     GGUFX_E_UNSUPPORTED); /* Q4_0 does not center */
    assert_int_equal(ggufx_kv_calibrate(kv, 1, mu, eq, kDim, NULL, 0, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_calibrate(kv, 0, mu, eq, kDim - 1, NULL, 0, NULL), GGUFX_E_ARGUMENT);
    eq[3] = 0;
    assert_int_equal(ggufx_kv_calibrate(kv, 0, mu, eq, kDim, NULL, 0, NULL), GGUFX_E_ARGUMENT);
    eq[3] = 1;
    kv_fill(kv, &shape, 0, kTokens, 64, NULL, x, x);
    OK(kv_read_rows(back, kDim, NULL, 0, kv, 0, 0, 63, 1, ok_error()));
    assert_memory_equal(back, mu, sizeof mu);
    assert_int_equal(ggufx_kv_calibrate(kv, 0, mu, eq, kDim, NULL, 0, NULL), GGUFX_E_STATE);
    OK(ggufx_kv_truncate(kv, 0, 0, ok_error()));
    OK(ggufx_kv_calibrate(kv, 0, NULL, eq, kDim, NULL, 0, ok_error()));
    kv_fill(kv, &shape, 0, kTokens, 64, NULL, x, x);
    OK(kv_read_rows(back, kDim, NULL, 0, kv, 0, 0, 63, 1, ok_error()));
    assert_true(error_of(mu, back, kDim) > 0.001); /* two bits, the mean unknown */
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    free(x);
}

/* The stored bits of docs/reproducibility/attention.md, of all types at once: a change needs a
 * `bits:` line in CHANGELOG.md. */
static void test_stored_bits_are_the_same_everywhere(void **state) {
    (void)state;
    enum { kTokens = 140, kDim = 80, kN = kTokens * kDim };
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    float *k = kv_random(kN, 11), *v = kv_random(kN, 12), *back = malloc(2 * kN * sizeof *back);
    assert_non_null(back);
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < kNRows; i++) {
        ggufx_kv_options shape = kv_shape(1, 1, kDim, kDim, kRows[i].type, kRows[i].type);
        shape.flags |= kRows[i].flags;
        ggufx_kv *kv = kv_make(rt, &shape);
        kv_fill(kv, &shape, 0, kTokens, kTokens, NULL, k, v);
        OK(kv_read_rows(back, kN, back + kN, kN, kv, 0, 0, 0, kTokens, ok_error()));
        hash = kv_hash(hash, back, 2 * kN);
        ggufx_kv_destroy(kv);
    }
    if (hash != 0xeba8d08973c136a3ull) fail_msg("hash 0x%016llx", (unsigned long long)hash);
    ggufx_runtime_destroy(rt);
    free(k);
    free(v);
    free(back);
}

/* One token, one head: -0, zeros, one value, the largest and the smallest. */
static void test_extreme_vectors_come_back_finite(void **state) {
    (void)state;
    enum { kDim = 64 };
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    for (size_t i = 1; i < kNRows; i++) {
        for (int pattern = 0; pattern < 6; pattern++) {
            ggufx_kv_options shape = kv_shape(1, 1, kDim, kDim, kRows[i].type, kRows[i].type);
            shape.flags |= kRows[i].flags;
            shape.n_sink_tokens = GGUFX_KV_NO_SINK_TOKENS;
            float x[kDim], k[kDim], v[kDim], out[kDim];
            for (int j = 0; j < kDim; j++)
                x[j] = pattern == 0   ? 0.0f
                       : pattern == 1 ? -0.0f
                       : pattern == 2 ? (j == 5 ? 65504.0f : 0.0f)
                       : pattern == 3 ? 65504.0f
                       : pattern == 4 ? (j % 3 ? -65504.0f : 65504.0f)
                                      : 0x1p-24f;
            ggufx_kv *kv = kv_make(rt, &shape);
            for (int t = 0; t < 64; t++) kv_fill(kv, &shape, 0, 1, 1, NULL, x, x);
            OK(kv_read_rows(k, kDim, v, kDim, kv, 0, 0, 9, 1, ok_error()));
            kv_attend(out, NULL, kv, &shape, 0, v, 1, NULL, 0, 1e-12f);
            for (int j = 0; j < kDim; j++) {
                assert_true(isfinite(k[j]) && isfinite(v[j]) && isfinite(out[j]));
                if (pattern < 2) assert_true(k[j] == 0 && v[j] == 0);
            }
            ggufx_kv_destroy(kv);
        }
    }
    ggufx_runtime_destroy(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors_of_gaussian_vectors_stay_below_their_limits),
        cmocka_unit_test(test_every_length_of_head_comes_back),
        cmocka_unit_test(test_centring_lowers_the_error_of_biased_channels),
        cmocka_unit_test(test_given_means_and_equalisers_are_used_and_frozen),
        cmocka_unit_test(test_stored_bits_are_the_same_everywhere),
        cmocka_unit_test(test_extreme_vectors_come_back_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
