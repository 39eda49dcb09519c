/*
 * ggufx_quantize: loss of blocks, effect of an imatrix, known bytes. All bytes:
 * tests/golden.
 * SPDX-License-Identifier: MIT
 */
#include "ok.h"
#include "quantize_fixture.h"
#include "weight_calls.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { kRows = 6 };

/* Error of a round trip relative to the norm of x. */
static double relative_error(const ggufx_runtime *rt, uint32_t type, const float *x,
                             const ggufx_quantize_args *options) {
    const size_t n = kRows * kColumns, n_bytes = (size_t)row_bytes_of(type, kColumns) * kRows;
    uint8_t *blocks = malloc(n_bytes);
    float *y = malloc(n * sizeof *y);
    double error = 0, norm = 0;
    OK(quantize_rows(blocks, n_bytes, rt, type, x, kRows, kColumns, options, ok_error()));
    OK(dequantize_blocks(y, n, rt, type, blocks, n_bytes, ok_error()));
    for (size_t i = 0; i < n; i++) {
        error += (double)(y[i] - x[i]) * (y[i] - x[i]);
        norm += (double)x[i] * x[i];
    }
    free(y);
    free(blocks);
    return sqrt(error / norm);
}

/* Relative error limit for uniform values. Floats: half a step of the mantissa. Codes of b bits
 * (scales included): 2^-b times the cost of uneven steps and coarse scales, 2.8 at most (MXFP4);
 * two levels reach 0.5. */
static double error_limit(uint32_t type) {
    switch (type) {
    case GGUFX_TYPE_F32:
        return 0.0;
    case GGUFX_TYPE_F16:
        return pow(2.0, -12);
    case GGUFX_TYPE_BF16:
        return pow(2.0, -9);
    default:
        break;
    }
    const double limit = 3.0 * pow(2.0, -(double)row_bytes_of(type, kColumns) * 8 / kColumns);
    return limit < 0.6 ? limit : 0.6;
}

static void test_round_trips_lose_what_the_bits_of_the_type_cost(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 2);
    float *x = random_values(kRows * kColumns, 7), *w = malloc(kColumns * sizeof *w);
    ggufx_quantize_args options = defaults();
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
    const uint32_t types[] = {GGUFX_TYPE_Q4_0, GGUFX_TYPE_Q2_K, GGUFX_TYPE_Q4_K, GGUFX_TYPE_IQ4_XS};
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float *x = random_values(kColumns, 3), *w = malloc(kColumns * sizeof *w);
    float plain[kColumns], weighted[kColumns];
    uint8_t blocks[kColumns];
    for (size_t i = 0; i < kColumns; i++) w[i] = i % 8 ? 0.01f : 10.0f;
    ggufx_quantize_args options = defaults();
    for (size_t t = 0; t < 4; t++) {
        const size_t n_bytes = (size_t)row_bytes_of(types[t], kColumns);
        double error[2] = {0, 0};
        options.imatrix = NULL;
        quantize_rows(blocks, n_bytes, rt, types[t], x, 1, kColumns, &options, NULL);
        dequantize_blocks(plain, kColumns, rt, types[t], blocks, n_bytes, NULL);
        options.imatrix = w;
        quantize_rows(blocks, n_bytes, rt, types[t], x, 1, kColumns, &options, NULL);
        dequantize_blocks(weighted, kColumns, rt, types[t], blocks, n_bytes, NULL);
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
    OK(quantize_rows(out, 34, rt, GGUFX_TYPE_Q8_0, x, 1, 32, NULL, ok_error()));
    assert_memory_equal(out, expected, 34);
    memset(x, 0, sizeof x);
    memset(expected, 0x88, 18); /* all zero: scale -0, codes 8 */
    expected[0] = 0, expected[1] = 0x80;
    OK(quantize_rows(out, 18, rt, GGUFX_TYPE_Q4_0, x, 1, 32, NULL, ok_error()));
    assert_memory_equal(out, expected, 18);
    ggufx_runtime_destroy(rt);
}

/* Magnitudes of the e2m1 codes; code 8 is 0 as well, never -0. */
static const double kLevels[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

static double level_of(int code) {
    return code < 8 ? kLevels[code] : -kLevels[code - 8];
}

/* Returns the code whose level times d is nearest to x, the first of equals; levels beyond f32 are
 * excluded. */
static int nearest_level(float x, double d) {
    int best = 0;
    double least = INFINITY;
    for (int code = 0; code < 16; code++) {
        const double level = level_of(code) * d, error = fabs(level - x);
        if (fabs(level) > FLT_MAX || error >= least) continue;
        least = error;
        best = code;
    }
    return best;
}

/* Largest magnitudes of blocks and the resulting exponent: the low byte of floor(log2) - 2 + 127,
 * and 0 in place of the NaN 255. */
static const struct {
    float most;
    uint8_t e;
} kMxfp4Blocks[] = {
    {0x1p-149f, 232}, {0x1p-130f, 251},  {0x1.8p-128f, 253},    {0x1.fffep-127f, 254},
    {0x1p-126f, 0},   {0x1.8p-126f, 0},  {0x1.fffffep-126f, 0}, {0x1p-125f, 0},
    {0x1.8p-125f, 0}, {0x1p-124f, 1},    {0x1.4p-123f, 2},      {0x1p-2f, 123},
    {0x1p127f, 252},  {0x1.8p127f, 252}, {0x1.fp127f, 252},     {FLT_MAX, 253},
};

static void test_mxfp4_exponents_are_never_nan(void **state) {
    (void)state;
    static const float kParts[8] = {1, -1, 0.5f, -0.25f, 0.7f, -0.1f, 0, -0.0f};
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    for (size_t b = 0; b < sizeof kMxfp4Blocks / sizeof *kMxfp4Blocks; b++) {
        const uint8_t e = kMxfp4Blocks[b].e;
        const double d = ldexp(1, e - 127);
        float x[32], y[32];
        uint8_t block[17], expected[17] = {e};
        for (size_t i = 0; i < 32; i++) x[i] = kMxfp4Blocks[b].most * kParts[i % 8];
        for (size_t i = 0; i < 32; i++)
            expected[1 + i % 16] |= (uint8_t)(nearest_level(x[i], d) << (i < 16 ? 0 : 4));
        OK(quantize_rows(block, 17, rt, GGUFX_TYPE_MXFP4, x, 1, 32, NULL, ok_error()));
        assert_memory_equal(block, expected, 17);
        OK(dequantize_blocks(y, 32, rt, GGUFX_TYPE_MXFP4, block, 17, ok_error()));
        for (size_t i = 0; i < 32; i++)
            assert_true(y[i] == (float)(level_of(nearest_level(x[i], d)) * d));
    }
    ggufx_runtime_destroy(rt);
}

/* Unsigned E4M3 scales of 16 values: 0 if a sixth of the largest rounds below 2^-9, at most 448. */
static void test_nvfp4_scales_stay_within_a_byte(void **state) {
    (void)state;
    static const struct {
        float most;
        uint8_t scale;
    } kGroups[] = {
        {0x1p-149f, 0}, {0x1p-126f, 0}, {0x1.8p-126f, 0},   {0x1.7p-8f, 0},
        {0x1.8p-8f, 1}, {6.0f, 0x38},   {6 * 448.0f, 0x7e}, {FLT_MAX, 0x7e},
    };
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    for (size_t g = 0; g < sizeof kGroups / sizeof *kGroups; g++) {
        float x[64], y[64];
        uint8_t block[36];
        for (size_t i = 0; i < 64; i++) x[i] = i % 2 ? -kGroups[g].most : kGroups[g].most;
        OK(quantize_rows(block, 36, rt, GGUFX_TYPE_NVFP4, x, 1, 64, NULL, ok_error()));
        for (size_t i = 0; i < 4; i++) assert_int_equal(block[i], kGroups[g].scale);
        OK(dequantize_blocks(y, 64, rt, GGUFX_TYPE_NVFP4, block, 36, ok_error()));
        /* A byte s is s * 2^-9 below 8, (1 + (s & 7) / 8) * 2^((s >> 3) - 7) above. */
        const int s = kGroups[g].scale;
        const double d = s < 8 ? s * 0x1p-9 : ldexp(1 + (s & 7) / 8.0, (s >> 3) - 7);
        for (size_t i = 0; i < 64; i++)
            assert_true(y[i] == (float)(level_of(nearest_level(x[i], d)) * d));
    }
    ggufx_runtime_destroy(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips_lose_what_the_bits_of_the_type_cost),
        cmocka_unit_test(test_an_imatrix_moves_the_error_to_columns_that_matter_less),
        cmocka_unit_test(test_known_values_give_known_bytes),
        cmocka_unit_test(test_mxfp4_exponents_are_never_nan),
        cmocka_unit_test(test_nvfp4_scales_stay_within_a_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
