/*
 * GGUFX_QUANTIZE_REFINED: no block has a larger error than the reference's, the total is smaller,
 * the same bytes everywhere. Blocks that the reference corrupts dequantize right.
 * SPDX-License-Identifier: MIT
 */
#include "matmul_fixture.h"
#include "ok.h"
#include "weight_calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { kColumns = 768, kRows = 4, kValues = kColumns * kRows };

static ggufx_type_facts facts_of(uint32_t type) {
    ggufx_type_facts facts = {.struct_size = sizeof facts};
    if (ggufx_type_info(&facts, type, NULL) != GGUFX_OK) facts.flags = 0;
    return facts;
}

/* Bell-shaped values; the last row has groups of zeros, single values and groups of other
 * magnitudes. */
static float *weights_of_a_model(void) {
    float *x = random_values((size_t)kValues * 4, 11);
    for (size_t i = 0; i < kValues; i++)
        x[i] = 0.02f * (x[i] + x[kValues + i] + x[2 * kValues + i] + x[3 * kValues + i]);
    for (size_t i = 0; i < kColumns; i++) {
        float *last = x + (size_t)kColumns * (kRows - 1) + i;
        if (i / 32 % 5 == 1) *last = 0.0f;
        if (i / 32 % 5 == 2) *last = i % 32 == 7 ? *last : 0.0f;
        if (i / 32 % 5 == 3) *last *= 0x1p-12f;
    }
    return x;
}

struct Coded {
    uint8_t bytes[kValues * 4];
    float values[kValues];
    size_t n_bytes;
};

static void encode(struct Coded *out, const ggufx_runtime *rt, uint32_t type, int32_t mode,
                   const float *x, const float *imatrix) {
    ggufx_quantize_args options = {.struct_size = sizeof options};
    uint64_t row_bytes = 0;
    options.mode = mode;
    options.imatrix = imatrix;
    OK(ggufx_type_row_bytes(&row_bytes, type, kColumns, ok_error()));
    out->n_bytes = (size_t)row_bytes * kRows;
    OK(quantize_rows(out->bytes, out->n_bytes, rt, type, x, kRows, kColumns, &options, ok_error()));
    OK(dequantize_blocks(out->values, kValues, rt, type, out->bytes, out->n_bytes, ok_error()));
}

static double error_of(const float *y, const float *x, const float *w, size_t first, size_t n) {
    double error = 0;
    for (size_t i = first; i < first + n; i++)
        error += (w ? w[i % kColumns] : 1.0) * ((double)y[i] - x[i]) * ((double)y[i] - x[i]);
    return error;
}

/* Types whose scale is already optimal without an imatrix, or that have no choice. */
static int has_no_choice(uint32_t type, int weighted) {
    return facts_of(type).block_values == 1 || (type == GGUFX_TYPE_Q1_0 && !weighted);
}

static void check_type(const ggufx_runtime *rt, uint32_t type, const float *x, const float *w) {
    static struct Coded reference, best;
    encode(&reference, rt, type, GGUFX_QUANTIZE_REFERENCE, x, w);
    encode(&best, rt, type, GGUFX_QUANTIZE_REFINED, x, w);
    const size_t n = facts_of(type).block_values;
    for (size_t i = 0; i < kValues; i += n) {
        /* Tolerance of one ulp: some sums have another order. */
        const double was = error_of(reference.values, x, w, i, n);
        assert_true(error_of(best.values, x, w, i, n) <= was * (1 + 1e-12));
    }
    const double before = error_of(reference.values, x, w, 0, kValues);
    const double after = error_of(best.values, x, w, 0, kValues);
    if (has_no_choice(type, w != NULL)) return;
    if (!(after < before * 0.9999)) print_error("type %u: %g, not below %g\n", type, after, before);
    assert_true(after < before * 0.9999);
}

static void test_no_block_is_worse_and_the_whole_is_better(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float *x = weights_of_a_model(), w[kColumns];
    for (size_t i = 0; i < kColumns; i++) w[i] = expf(sinf((float)i * 1.7f) * 2.0f);
    size_t n_types = 0;
    for (uint32_t type = 0; type < 43; type++) {
        if (!(facts_of(type).flags & GGUFX_TYPE_HAS_QUANTIZE)) continue;
        check_type(rt, type, x, w);
        n_types++;
        if (type == GGUFX_TYPE_IQ2_XXS || type == GGUFX_TYPE_IQ2_XS || type == GGUFX_TYPE_IQ1_S)
            continue; /* they require an imatrix */
        check_type(rt, type, x, NULL);
    }
    assert_true(n_types == 28);
    free(x);
    ggufx_runtime_destroy(rt);
}

/* The weights of the search emphasize large values: w * sqrt(1 + x^2 / mean of x^2 in the
 * block). */
static float *stressed_weights(const float *x, const float *w, size_t block_values) {
    float *v = malloc(kValues * sizeof *v);
    assert_non_null(v);
    for (size_t first = 0; first < kValues; first += block_values) {
        double mean = 0;
        for (size_t i = first; i < first + block_values; i++) mean += (double)x[i] * x[i];
        mean /= (double)block_values;
        for (size_t i = first; i < first + block_values; i++) {
            const double factor = mean > 0 ? sqrt(1 + (double)x[i] * x[i] / mean) : 1;
            v[i] = (float)((w ? w[i % kColumns] : 1.0) * factor);
        }
    }
    return v;
}

static double stressed_error(const float *y, const float *x, const float *v) {
    double error = 0;
    for (size_t i = 0; i < (size_t)kColumns * (kRows - 1); i++)
        error += v[i] * ((double)y[i] - x[i]) * ((double)y[i] - x[i]);
    return error;
}

/* Remaining shares of the reference's squared error, with a margin: with the promised weights, and
 * with the search's weights. (A search with the promised weights alone leaves more of the second:
 * IQ3_S with weights.) */
struct goal {
    uint32_t type;
    double promised, searched;
};

static void check_goals(const struct goal *goals, size_t n_goals, const float *x, const float *w) {
    static struct Coded reference, best;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    const size_t n = (size_t)kColumns * (kRows - 1); /* all but the last row */
    for (size_t i = 0; i < n_goals; i++) {
        const struct goal *goal = &goals[i];
        float *v = stressed_weights(x, w, facts_of(goal->type).block_values);
        encode(&reference, rt, goal->type, GGUFX_QUANTIZE_REFERENCE, x, w);
        encode(&best, rt, goal->type, GGUFX_QUANTIZE_REFINED, x, w);
        const double promised =
            error_of(best.values, x, w, 0, n) / error_of(reference.values, x, w, 0, n);
        const double searched =
            stressed_error(best.values, x, v) / stressed_error(reference.values, x, v);
        free(v);
        if (!(promised < goal->promised && searched < goal->searched))
            print_error("type %u: %g, %g\n", goal->type, promised, searched);
        assert_true(promised < goal->promised);
        assert_true(searched < goal->searched);
    }
    ggufx_runtime_destroy(rt);
}

static void test_bell_shaped_values_gain_what_the_search_can_give(void **state) {
    (void)state;
    const struct goal plain[] = {
        {GGUFX_TYPE_Q4_1, 0.77, 0.782},   {GGUFX_TYPE_Q5_1, 0.75, 0.754},
        {GGUFX_TYPE_Q2_K, 0.87, 0.92},    {GGUFX_TYPE_Q5_K, 0.918, 0.914},
        {GGUFX_TYPE_Q8_0, 0.835, 0.826},  {GGUFX_TYPE_Q4_0, 0.91, 0.889},
        {GGUFX_TYPE_TQ2_0, 0.325, 0.328}, {GGUFX_TYPE_IQ1_M, 0.525, 0.608},
        {GGUFX_TYPE_IQ2_S, 0.855, 0.887}, {GGUFX_TYPE_IQ3_XXS, 0.778, 0.834},
        {GGUFX_TYPE_IQ3_S, 0.66, 0.729}};
    const struct goal weighted[] = {
        {GGUFX_TYPE_IQ1_S, 0.885, 0.95},   {GGUFX_TYPE_IQ1_M, 0.89, 0.93},
        {GGUFX_TYPE_IQ2_XXS, 0.865, 0.88}, {GGUFX_TYPE_IQ2_XS, 0.88, 0.883},
        {GGUFX_TYPE_IQ2_S, 0.906, 0.923},  {GGUFX_TYPE_IQ3_XXS, 0.9, 0.909},
        {GGUFX_TYPE_IQ3_S, 0.813, 0.831},  {GGUFX_TYPE_Q2_K, 0.964, 0.967},
        {GGUFX_TYPE_Q4_0, 0.99, 1.016},    {GGUFX_TYPE_Q3_K, 0.9985, 1.007}};
    float *x = weights_of_a_model(), w[kColumns];
    for (size_t i = 0; i < kColumns; i++) w[i] = expf(sinf((float)i * 1.7f) * 1.5f);
    check_goals(plain, sizeof plain / sizeof *plain, x, NULL);
    check_goals(weighted, sizeof weighted / sizeof *weighted, x, w);
    free(x);
}

/* The same values in another order. */
static void test_tq1_0_has_the_values_of_tq2_0(void **state) {
    (void)state;
    static struct Coded one, two;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float *x = weights_of_a_model();
    encode(&one, rt, GGUFX_TYPE_TQ1_0, GGUFX_QUANTIZE_REFINED, x, NULL);
    encode(&two, rt, GGUFX_TYPE_TQ2_0, GGUFX_QUANTIZE_REFINED, x, NULL);
    assert_memory_equal(one.values, two.values, sizeof one.values);
    free(x);
    ggufx_runtime_destroy(rt);
}

static void test_sets_and_threads_give_the_same_bytes(void **state) {
    (void)state;
    const uint32_t types[] = {GGUFX_TYPE_Q4_0,  GGUFX_TYPE_Q4_K,  GGUFX_TYPE_Q6_K,
                              GGUFX_TYPE_IQ3_S, GGUFX_TYPE_MXFP4, GGUFX_TYPE_IQ4_XS,
                              GGUFX_TYPE_IQ1_M, GGUFX_TYPE_IQ2_S, GGUFX_TYPE_IQ3_XXS};
    static struct Coded one, other;
    ggufx_runtime *scalar = make_runtime(GGUFX_ISA_SCALAR, 1);
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 3);
    float *x = weights_of_a_model();
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        encode(&one, scalar, types[t], GGUFX_QUANTIZE_REFINED, x, NULL);
        encode(&other, rt, types[t], GGUFX_QUANTIZE_REFINED, x, NULL);
        assert_memory_equal(one.bytes, other.bytes, one.n_bytes);
    }
    free(x);
    ggufx_runtime_destroy(rt);
    ggufx_runtime_destroy(scalar);
}

/* After a group of zeros, the reference writes wrong codes for IQ3_S. */
static void test_zero_groups_of_iq3_s_do_not_spoil_the_others(void **state) {
    (void)state;
    static struct Coded reference, best;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float *x = random_values(kValues, 5);
    for (size_t i = 0; i < kValues; i++) x[i] = i % 256 < 32 ? 0.0f : x[i];
    encode(&reference, rt, GGUFX_TYPE_IQ3_S, GGUFX_QUANTIZE_REFERENCE, x, NULL);
    encode(&best, rt, GGUFX_TYPE_IQ3_S, GGUFX_QUANTIZE_REFINED, x, NULL);
    double square = 0;
    for (size_t i = 0; i < kValues; i++) square += (double)x[i] * x[i];
    assert_true(error_of(reference.values, x, NULL, 0, kValues) > 0.5 * square);
    assert_true(error_of(best.values, x, NULL, 0, kValues) < 0.03 * square);
    free(x);
    ggufx_runtime_destroy(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_block_is_worse_and_the_whole_is_better),
        cmocka_unit_test(test_bell_shaped_values_gain_what_the_search_can_give),
        cmocka_unit_test(test_tq1_0_has_the_values_of_tq2_0),
        cmocka_unit_test(test_sets_and_threads_give_the_same_bytes),
        cmocka_unit_test(test_zero_groups_of_iq3_s_do_not_spoil_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
