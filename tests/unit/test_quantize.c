/*
 * ggufx_quantize_blocks: round trips, arguments, unusable values, imatrix, threads, cancelling.
 * The bytes themselves: tests/golden.
 * SPDX-License-Identifier: MIT
 */
#include "matmul_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kColumns = 1024, kRows = 6 };

static uint64_t row_bytes_of(uint32_t type, uint64_t n) {
    uint64_t bytes = 0;
    assert_int_equal(ggufx_row_bytes(&bytes, type, n, NULL), GGUFX_OK);
    return bytes;
}

static uint32_t flags_of(uint32_t type) {
    ggufx_type_facts facts = {.struct_size = sizeof facts};
    return ggufx_type_info(&facts, type, NULL) == GGUFX_OK ? facts.flags : 0;
}

static ggufx_quantize_options defaults(void) {
    ggufx_quantize_options options;
    ggufx_quantize_options_init(&options);
    return options;
}

/* Positive weights, some of them zero. */
static float *weights(size_t n) {
    float *w = malloc(n * sizeof *w);
    for (size_t i = 0; i < n; i++) w[i] = (float)(i % 11) * 0.25f;
    return w;
}

/* Error of a round trip over the norm of x. */
static double relative_error(const ggufx_runtime *rt, uint32_t type, const float *x,
                             const ggufx_quantize_options *options) {
    const size_t n = kRows * kColumns, n_bytes = (size_t)row_bytes_of(type, kColumns) * kRows;
    uint8_t *blocks = malloc(n_bytes);
    float *y = malloc(n * sizeof *y);
    double error = 0, norm = 0;
    assert_int_equal(
        ggufx_quantize_blocks(blocks, n_bytes, rt, type, x, kRows, kColumns, options, NULL),
        GGUFX_OK);
    assert_int_equal(ggufx_dequantize_blocks(y, n, rt, type, blocks, n_bytes, NULL), GGUFX_OK);
    for (size_t i = 0; i < n; i++) {
        error += (double)(y[i] - x[i]) * (y[i] - x[i]);
        norm += (double)x[i] * x[i];
    }
    free(y);
    free(blocks);
    return sqrt(error / norm);
}

/* Relative error for uniform values: half a step of the mantissa for floats; for codes of b bits
 * (scales included) 2^-b times what uneven steps and coarse scales cost, 2.8 at most (MXFP4); two
 * levels reach 0.5. */
static double error_limit(uint32_t type) {
    switch (type) {
    case GGUFX_TYPE_F32: return 0.0;
    case GGUFX_TYPE_F16: return pow(2.0, -12);
    case GGUFX_TYPE_BF16: return pow(2.0, -9);
    default: break;
    }
    const double limit = 3.0 * pow(2.0, -(double)row_bytes_of(type, kColumns) * 8 / kColumns);
    return limit < 0.6 ? limit : 0.6;
}

static void test_round_trips_lose_what_the_bits_of_the_type_cost(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 2);
    float *x = random_values(kRows * kColumns, 7), *w = malloc(kColumns * sizeof *w);
    ggufx_quantize_options options = defaults();
    for (size_t i = 0; i < kColumns; i++) w[i] = 1.0f;
    options.imatrix = w;
    size_t n_types = 0;
    for (uint32_t type = 0; type < 43; type++) {
        if (!(flags_of(type) & GGUFX_TYPE_HAS_QUANTIZE)) continue;
        assert_true(relative_error(rt, type, x, &options) <= error_limit(type));
        n_types++;
    }
    assert_true(n_types == 28);
    free(w);
    free(x);
    ggufx_runtime_destroy(rt);
}

static void test_an_imatrix_moves_the_error_to_columns_that_matter_less(void **state) {
    (void)state;
    const uint32_t types[] = {GGUFX_TYPE_Q4_0, GGUFX_TYPE_Q2_K, GGUFX_TYPE_Q4_K,
                              GGUFX_TYPE_IQ4_XS};
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float *x = random_values(kColumns, 3), *w = malloc(kColumns * sizeof *w);
    float plain[kColumns], weighted[kColumns];
    uint8_t blocks[kColumns];
    for (size_t i = 0; i < kColumns; i++) w[i] = i % 8 ? 0.01f : 10.0f;
    ggufx_quantize_options options = defaults();
    for (size_t t = 0; t < 4; t++) {
        const size_t n_bytes = (size_t)row_bytes_of(types[t], kColumns);
        double error[2] = {0, 0};
        options.imatrix = NULL;
        ggufx_quantize_blocks(blocks, n_bytes, rt, types[t], x, 1, kColumns, &options, NULL);
        ggufx_dequantize_blocks(plain, kColumns, rt, types[t], blocks, n_bytes, NULL);
        options.imatrix = w;
        ggufx_quantize_blocks(blocks, n_bytes, rt, types[t], x, 1, kColumns, &options, NULL);
        ggufx_dequantize_blocks(weighted, kColumns, rt, types[t], blocks, n_bytes, NULL);
        for (size_t i = 0; i < kColumns; i++) {
            error[0] += w[i] * (plain[i] - x[i]) * (plain[i] - x[i]);
            error[1] += w[i] * (weighted[i] - x[i]) * (weighted[i] - x[i]);
        }
        assert_true(error[1] < error[0]);
    }
    free(w);
    free(x);
    ggufx_runtime_destroy(rt);
}

static void test_known_values_give_known_bytes(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float x[32] = {0};
    uint8_t out[34], expected[34] = {0};
    x[0] = -127.0f, x[1] = 0.5f, x[2] = 1.0f, x[31] = -0.5f; /* half away from zero, d = 1 */
    expected[1] = 0x3c, expected[2] = 0x81, expected[3] = 1, expected[4] = 1, expected[33] = 0xff;
    assert_int_equal(ggufx_quantize_blocks(out, 34, rt, GGUFX_TYPE_Q8_0, x, 1, 32, NULL, NULL),
                     GGUFX_OK);
    assert_memory_equal(out, expected, 34);
    memset(x, 0, sizeof x);
    memset(expected, 0x88, 18); /* all zero: scale -0, codes 8 */
    expected[0] = 0, expected[1] = 0x80;
    assert_int_equal(ggufx_quantize_blocks(out, 18, rt, GGUFX_TYPE_Q4_0, x, 1, 32, NULL, NULL),
                     GGUFX_OK);
    assert_memory_equal(out, expected, 18);
    ggufx_runtime_destroy(rt);
}

static void test_wrong_arguments_are_refused_and_named(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float x[512] = {0}, w[256];
    uint8_t out[1024];
    ggufx_error e;
    ggufx_quantize_options options = defaults();
    const uint32_t q8 = GGUFX_TYPE_Q8_0;
    assert_int_equal(ggufx_quantize_blocks(out, 34, NULL, q8, x, 1, 32, NULL, &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_quantize_blocks(NULL, 34, rt, q8, x, 1, 32, NULL, &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_quantize_blocks(out, 34, rt, q8, NULL, 1, 32, NULL, &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_quantize_blocks(out, 33, rt, q8, x, 1, 32, NULL, &e), GGUFX_E_ARGUMENT);
    assert_non_null(strstr(e.message, "33"));
    assert_int_equal(ggufx_quantize_blocks(out, 67, rt, q8, x, 2, 32, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_quantize_blocks(out, 1024, rt, q8, x, SIZE_MAX, 32, NULL, &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_quantize_blocks(out, 1024, rt, q8, x, 1, 33, NULL, &e), GGUFX_E_SHAPE);
    assert_non_null(strstr(e.message, "33"));
    assert_int_equal(ggufx_quantize_blocks(out, 1024, rt, 4, x, 1, 32, NULL, &e), GGUFX_E_TYPE);
    assert_non_null(strstr(e.message, "Q4_2"));
    assert_int_equal(ggufx_quantize_blocks(out, 1024, rt, 99, x, 1, 32, NULL, &e), GGUFX_E_TYPE);
    options.mode = 77;
    assert_int_equal(ggufx_quantize_blocks(out, 34, rt, q8, x, 1, 32, &options, &e),
                     GGUFX_E_UNSUPPORTED);
    options.mode = 0;
    options.flags = 1;
    assert_int_not_equal(ggufx_quantize_blocks(out, 34, rt, q8, x, 1, 32, &options, &e), GGUFX_OK);
    options.flags = 0;
    for (size_t i = 0; i < 256; i++) w[i] = 1.0f;
    w[200] = -1.0f;
    options.imatrix = w;
    assert_int_equal(ggufx_quantize_blocks(out, 1024, rt, GGUFX_TYPE_Q4_K, x, 2, 256, &options, &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(e.index, 200);
    w[200] = NAN;
    assert_int_equal(ggufx_quantize_blocks(out, 1024, rt, GGUFX_TYPE_Q4_K, x, 2, 256, &options, &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_quantize_blocks(NULL, 0, rt, q8, NULL, 0, 32, NULL, &e), GGUFX_OK);
    assert_int_equal(ggufx_quantize_blocks(NULL, 0, rt, q8, NULL, 3, 0, NULL, &e), GGUFX_OK);
    ggufx_runtime_destroy(rt);
}

static void test_types_that_need_an_imatrix_say_so(void **state) {
    (void)state;
    const uint32_t types[] = {GGUFX_TYPE_IQ2_XXS, GGUFX_TYPE_IQ2_XS, GGUFX_TYPE_IQ1_S};
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float x[256] = {0};
    uint8_t out[128];
    ggufx_error e;
    for (size_t t = 0; t < 3; t++) {
        assert_int_equal(ggufx_quantize_blocks(out, sizeof out, rt, types[t], x, 1, 256, NULL, &e),
                         GGUFX_E_ARGUMENT);
        assert_non_null(strstr(e.message, "needs an imatrix"));
    }
    ggufx_runtime_destroy(rt);
}

static void test_types_without_an_encoder_are_named(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float x[256] = {0};
    uint8_t out[2048];
    ggufx_error e;
    ggufx_type_facts facts = {.struct_size = sizeof facts};
    for (uint32_t type = 0; type < 43; type++) {
        if (ggufx_type_info(&facts, type, NULL) != GGUFX_OK) continue;
        if (facts.flags & GGUFX_TYPE_HAS_QUANTIZE) continue;
        assert_int_equal(ggufx_quantize_blocks(out, sizeof out, rt, type, x, 1, 256, NULL, &e),
                         GGUFX_E_UNSUPPORTED);
        assert_non_null(strstr(e.message, facts.name));
    }
    assert_false(flags_of(GGUFX_TYPE_I8) & GGUFX_TYPE_HAS_QUANTIZE);
    assert_false(flags_of(GGUFX_TYPE_Q8_K) & GGUFX_TYPE_HAS_QUANTIZE);
    assert_true(flags_of(GGUFX_TYPE_Q4_K) & GGUFX_TYPE_HAS_QUANTIZE);
    ggufx_runtime_destroy(rt);
}

/* The first of several, whether values are looked at beforehand (searches) or on the way. */
static void test_the_first_bad_value_is_named(void **state) {
    (void)state;
    const uint32_t bad[] = {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xff800001u};
    const uint32_t types[] = {GGUFX_TYPE_F32,  GGUFX_TYPE_F16,   GGUFX_TYPE_Q4_0, GGUFX_TYPE_Q8_0,
                              GGUFX_TYPE_Q4_K, GGUFX_TYPE_TQ2_0, GGUFX_TYPE_Q1_0, GGUFX_TYPE_IQ4_XS};
    enum { kMany = 64 };
    const size_t n = (size_t)kMany * kColumns, places[] = {0, 3 * kColumns + 77, n / 2, n - 1};
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 2);
    float *x = random_values(n, 5);
    uint8_t *out = malloc(4 * n);
    char text[64];
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t i = 0; i < 4; i++) {
            ggufx_error e;
            float kept[4];
            for (size_t k = i; k < 4; k++)
                kept[k] = x[places[k]], x[places[k]] = float_of(bad[(i + k) % 4]);
            assert_int_equal(ggufx_quantize_blocks(out, 4 * n, rt, types[t], x, kMany, kColumns,
                                                   NULL, &e),
                             GGUFX_E_VALUE);
            snprintf(text, sizeof text, "row %zu, column %zu ", places[i] / kColumns,
                     places[i] % kColumns);
            assert_int_equal(e.index, places[i] / kColumns);
            assert_non_null(strstr(e.message, text));
            for (size_t k = i; k < 4; k++) x[places[k]] = kept[k];
        }
    free(out);
    free(x);
    ggufx_runtime_destroy(rt);
}

static void test_threads_and_executors_change_no_byte(void **state) {
    (void)state;
    enum { rows = 12 };
    float *x = random_values(rows * kColumns, 9), *w = weights(kColumns);
    ggufx_quantize_options options = defaults();
    options.imatrix = w;
    for (uint32_t type = 0; type < 43; type++) {
        if (!(flags_of(type) & GGUFX_TYPE_HAS_QUANTIZE)) continue;
        const size_t n_bytes = (size_t)row_bytes_of(type, kColumns) * rows;
        uint8_t *expected = malloc(n_bytes), *out = malloc(n_bytes);
        for (uint32_t how = 1; how <= 4; how++) {
            const ggufx_executor reverse = reverse_executor();
            ggufx_runtime_options o;
            ggufx_runtime_options_init(&o);
            o.threads = how;
            if (how == 4) o.executor = &reverse;
            ggufx_runtime *rt = make_runtime_with(&o);
            memset(out, (int)how, n_bytes);
            assert_int_equal(
                ggufx_quantize_blocks(out, n_bytes, rt, type, x, rows, kColumns, &options, NULL),
                GGUFX_OK);
            if (how == 1) memcpy(expected, out, n_bytes);
            assert_memory_equal(out, expected, n_bytes);
            ggufx_runtime_destroy(rt);
        }
        free(out);
        free(expected);
    }
    free(w);
    free(x);
}

static void test_progress_counts_blocks_and_every_poll_can_cancel(void **state) {
    (void)state;
    enum { rows = 640 }; /* 10 ms and more on any set */
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float *x = random_values(rows * kColumns, 2);
    const size_t n_bytes = (size_t)row_bytes_of(GGUFX_TYPE_Q4_K, kColumns) * rows;
    uint8_t *out = malloc(n_bytes);
    polls p = {0, UINT64_MAX, 0, 0};
    ggufx_progress progress = poll_progress(&p);
    ggufx_quantize_options options = defaults();
    options.progress = &progress;
    assert_int_equal(ggufx_quantize_blocks(out, n_bytes, rt, GGUFX_TYPE_Q4_K, x, rows, kColumns,
                                           &options, NULL),
                     GGUFX_OK);
    assert_int_equal(p.total, rows * kColumns / 256);
    assert_true(p.n_polls > 3);
    for (uint64_t k = 0; k < p.n_polls; k++) {
        ggufx_error e;
        polls stop = {0, k, 0, 0};
        progress.user = &stop;
        assert_int_equal(ggufx_quantize_blocks(out, n_bytes, rt, GGUFX_TYPE_Q4_K, x, rows,
                                               kColumns, &options, &e),
                         GGUFX_E_CANCELLED);
        assert_int_equal(stop.n_polls, k + 1);
        assert_int_equal(e.status, GGUFX_E_CANCELLED);
    }
    free(out);
    free(x);
    ggufx_runtime_destroy(rt);
}

static void test_rows_may_stand_at_any_address_of_a_float_and_blocks_at_any(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float *x = random_values(513, 4);
    uint8_t aligned[1100], odd[1101];
    float *copy = malloc(512 * sizeof *copy);
    memcpy(copy, x + 1, 512 * sizeof *copy);
    const size_t n_bytes = (size_t)row_bytes_of(GGUFX_TYPE_Q6_K, 512);
    ggufx_quantize_blocks(aligned, n_bytes, rt, GGUFX_TYPE_Q6_K, copy, 1, 512, NULL, NULL);
    ggufx_quantize_blocks(odd + 1, n_bytes, rt, GGUFX_TYPE_Q6_K, x + 1, 1, 512, NULL, NULL);
    assert_memory_equal(aligned, odd + 1, n_bytes);
    free(copy);
    free(x);
    ggufx_runtime_destroy(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips_lose_what_the_bits_of_the_type_cost),
        cmocka_unit_test(test_an_imatrix_moves_the_error_to_columns_that_matter_less),
        cmocka_unit_test(test_known_values_give_known_bytes),
        cmocka_unit_test(test_wrong_arguments_are_refused_and_named),
        cmocka_unit_test(test_types_that_need_an_imatrix_say_so),
        cmocka_unit_test(test_types_without_an_encoder_are_named),
        cmocka_unit_test(test_the_first_bad_value_is_named),
        cmocka_unit_test(test_threads_and_executors_change_no_byte),
        cmocka_unit_test(test_progress_counts_blocks_and_every_poll_can_cancel),
        cmocka_unit_test(test_rows_may_stand_at_any_address_of_a_float_and_blocks_at_any),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
