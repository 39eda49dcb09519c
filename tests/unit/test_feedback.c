/*
 * Quantization with feedback: outputs have a smaller error than those of GGUFX_QUANTIZE_REFINED, as
 * computed here from the inputs; the same bytes for all instruction sets and thread counts; the
 * target of the source model; kept-out inputs.
 * SPDX-License-Identifier: MIT
 */
#include "feedback_fixture.h"
#include "weight_calls.h"

/* FNV-1a */
static uint64_t hash_of(const uint8_t *data, size_t n) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) hash = (hash ^ data[i]) * 0x100000001b3u;
    return hash;
}

/* Every type with codes, and the hash of its blocks for the rows and inputs of this test. */
static const struct {
    uint32_t type;
    uint64_t hash;
} kTypes[] = {
    {GGUFX_TYPE_Q4_0, 0x6ca8b949c2adb062u},    {GGUFX_TYPE_Q4_1, 0x1b83e39f6fedb1dbu},
    {GGUFX_TYPE_Q5_0, 0x446f899900f8cc43u},    {GGUFX_TYPE_Q5_1, 0x06a7ba709b2d79fbu},
    {GGUFX_TYPE_Q8_0, 0x57a77a2f0d9141b2u},    {GGUFX_TYPE_Q1_0, 0x6854e8bbffb98285u},
    {GGUFX_TYPE_Q2_0, 0xf9b6ffc78a5f438fu},    {GGUFX_TYPE_TQ2_0, 0x730984fcdc5963afu},
    {GGUFX_TYPE_IQ4_NL, 0xd5265dbf88e8233au},  {GGUFX_TYPE_IQ4_XS, 0xf187a73a30f136fcu},
    {GGUFX_TYPE_MXFP4, 0x393a6dbe5934b4c2u},   {GGUFX_TYPE_NVFP4, 0x6a2006a66bd440cdu},
    {GGUFX_TYPE_Q2_K, 0x367d234e9a863706u},    {GGUFX_TYPE_Q3_K, 0xc5ba427fa3185602u},
    {GGUFX_TYPE_Q4_K, 0x542363e42f74e0e2u},    {GGUFX_TYPE_Q5_K, 0x13962acbfc46133bu},
    {GGUFX_TYPE_Q6_K, 0xef83642022951833u},    {GGUFX_TYPE_IQ1_S, 0xf6291f3566a39d16u},
    {GGUFX_TYPE_IQ1_M, 0x7845d5a36d16f3d9u},   {GGUFX_TYPE_IQ2_XXS, 0xfe2251f65051ce3du},
    {GGUFX_TYPE_IQ2_XS, 0xd3131453dfbb78acu},  {GGUFX_TYPE_IQ2_S, 0xeca90e3b260418a3u},
    {GGUFX_TYPE_IQ3_XXS, 0xfa2a346a41dd47a0u}, {GGUFX_TYPE_IQ3_S, 0xeaa0e6b34d83edf8u},
};
enum { kNTypes = sizeof kTypes / sizeof *kTypes };

struct Data {
    ggufx_runtime *rt;
    float *rows, *y, *kept;
    ggufx_moments *moments, *kept_moments;
    float imatrix[kColumns]; /* mean squares */
};

static int setup(void **state) {
    struct Data *d = calloc(1, sizeof *d);
    assert_non_null(d);
    d->rt = make_runtime(GGUFX_ISA_BEST, 2);
    d->rows = random_values((size_t)kRows * kColumns, 3);
    d->y = correlated_inputs(kInputs, 21);
    d->kept = correlated_inputs(kKept, 41);
    d->moments = moments_of(d->rt, d->y, NULL, kInputs);
    d->kept_moments = moments_of(d->rt, d->kept, NULL, kKept);
    for (size_t k = 0; k < kColumns; k++) {
        double sum = 0;
        for (size_t i = 0; i < kInputs; i++)
            sum += (double)d->y[i * kColumns + k] * d->y[i * kColumns + k];
        d->imatrix[k] = (float)(sum / kInputs);
    }
    *state = d;
    return 0;
}

static int teardown(void **state) {
    struct Data *d = *state;
    ggufx_moments_destroy(d->moments);
    ggufx_moments_destroy(d->kept_moments);
    ggufx_runtime_destroy(d->rt);
    free(d->rows);
    free(d->y);
    free(d->kept);
    free(d);
    return 0;
}

static ggufx_feedback_facts quantize(uint8_t *out, const ggufx_runtime *rt,
                                     const ggufx_feedback_args *args) {
    ggufx_feedback_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_quantize_feedback(out, bytes_of(args->type), rt, args, &facts, ok_error()));
    return facts;
}

static void refine(uint8_t *out, const struct Data *d, uint32_t type) {
    const ggufx_quantize_args args = {.struct_size = sizeof args,
                                      .type = type,
                                      .mode = GGUFX_QUANTIZE_REFINED,
                                      .n_rows = kRows,
                                      .n_cols = kColumns,
                                      .rows = d->rows,
                                      .imatrix = d->imatrix};
    OK(ggufx_quantize(out, bytes_of(type), d->rt, &args, ok_error()));
}

static double error_of(const struct Data *d, uint32_t type, const uint8_t *blocks, const float *x,
                       size_t n) {
    static float values[kRows * kColumns];
    OK(dequantize_blocks(values, kRows * kColumns, d->rt, type, blocks, bytes_of(type),
                         ok_error()));
    return output_error(d->rows, x, values, x, n);
}

/* The facts agree with errors computed from the inputs, and feedback lowers them. */
static void test_errors_of_outputs(void **state) {
    const struct Data *d = *state;
    static uint8_t before[kMostBytes], after[kMostBytes];
    const double outputs = output_error(d->rows, d->y, NULL, NULL, kInputs);
    for (size_t t = 0; t < kNTypes; t++) {
        ggufx_feedback_args args = feedback_args(kTypes[t].type, d->rows, d->moments);
        args.kept_out = d->kept_moments;
        refine(before, d, args.type);
        const ggufx_feedback_facts facts = quantize(after, d->rt, &args);
        const double was = error_of(d, args.type, before, d->y, kInputs) / outputs;
        const double is = error_of(d, args.type, after, d->y, kInputs) / outputs;
        const double change = (error_of(d, args.type, after, d->kept, kKept) -
                               error_of(d, args.type, before, d->kept, kKept)) /
                              outputs;
        assert_int_equal(facts.is_used, 1);
        if (!(is < 0.5 * was)) print_error("type %u: %g, then %g\n", args.type, was, is);
        assert_true(is < 0.5 * was);
        assert_true(fabs(facts.error_before - was) < 2e-3 * was);
        assert_true(fabs(facts.error_after - is) < 2e-3 * was);
        assert_true(fabs(facts.kept_out_change - change) < 2e-3 * was);
    }
}

static void test_bytes_are_the_same_everywhere(void **state) {
    const struct Data *d = *state;
    static uint8_t out[kMostBytes];
    static const struct {
        int32_t isa;
        uint32_t threads;
    } runs[] = {{GGUFX_ISA_SCALAR, 1}, {GGUFX_ISA_BEST, 1}, {GGUFX_ISA_BEST, 3}};
    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
        ggufx_runtime *rt = make_runtime(runs[r].isa, runs[r].threads);
        ggufx_moments *m = NULL;
        OK(ggufx_moments_create(&m, rt, kColumns, 0, ok_error()));
        for (size_t i = 0, n; i < kInputs; i += n) { /* in calls of 1, 2, 4, ... inputs */
            n = i + 1 < kInputs - i ? i + 1 : kInputs - i;
            add_inputs(m, d->y + i * kColumns, NULL, n);
        }
        for (size_t t = 0; t < kNTypes; t++) {
            const ggufx_feedback_args args = feedback_args(kTypes[t].type, d->rows, m);
            (void)quantize(out, rt, &args);
            const uint64_t hash = hash_of(out, bytes_of(args.type));
            if (hash != kTypes[t].hash)
                print_error("type %u, run %zu: 0x%016llxu\n", args.type, r,
                            (unsigned long long)hash);
            assert_true(hash == kTypes[t].hash);
        }
        ggufx_moments_destroy(m);
        ggufx_runtime_destroy(rt);
    }
}

/* Rows by themselves have the bytes that they have together. */
static void test_rows_are_independent(void **state) {
    const struct Data *d = *state;
    static uint8_t whole[kMostBytes], part[kMostBytes];
    ggufx_feedback_args args = feedback_args(GGUFX_TYPE_Q4_K, d->rows, d->moments);
    (void)quantize(whole, d->rt, &args);
    const size_t row = bytes_of(args.type) / kRows;
    args.n_rows = 1;
    for (size_t r = 0; r < kRows; r++) {
        args.rows = d->rows + r * kColumns;
        (void)quantize(part, d->rt, &args);
        assert_memory_equal(part, whole + r * row, row);
    }
    args.n_rows = 0;
    (void)quantize(part, d->rt, &args);
}

/* With drift the outputs come closer to those of the source model. */
static void test_target_of_the_source_model(void **state) {
    const struct Data *d = *state;
    static uint8_t out[kMostBytes];
    static float values[kRows * kColumns];
    float *const x = malloc((size_t)kInputs * kColumns * sizeof *x);
    assert_non_null(x);
    /* inputs of the source: the next column has a share in each */
    for (size_t i = 0; i < (size_t)kInputs * kColumns; i++)
        x[i] = d->y[i] + 0.05f * d->y[i / kColumns * kColumns + (i + 1) % kColumns];
    ggufx_moments *m = moments_of(d->rt, d->y, x, kInputs);
    ggufx_moments *kept = moments_of(d->rt, d->y, x, kKept);
    for (size_t t = 0; t < kNTypes; t++) {
        ggufx_feedback_args args = feedback_args(kTypes[t].type, d->rows, m);
        double errors[2];
        args.kept_out = kept;
        for (int keep = 0; keep < 2; keep++) {
            args.flags = keep ? GGUFX_FEEDBACK_KEEP_TARGET : 0;
            assert_int_equal(quantize(out, d->rt, &args).is_used, 1);
            OK(dequantize_blocks(values, kRows * kColumns, d->rt, args.type, out,
                                 bytes_of(args.type), ok_error()));
            errors[keep] = output_error(d->rows, x, values, d->y, kInputs);
        }
        assert_true(errors[0] < errors[1]);
    }
    ggufx_moments_destroy(m);
    ggufx_moments_destroy(kept);
    free(x);
}

/* Feedback that does not help kept-out inputs is not used. */
static void test_kept_out_inputs_decide(void **state) {
    const struct Data *d = *state;
    static uint8_t before[kMostBytes], after[kMostBytes];
    float *const other = random_values((size_t)kKept * kColumns, 77); /* without correlations */
    ggufx_moments *m = moments_of(d->rt, other, NULL, kKept);
    ggufx_feedback_args args = feedback_args(GGUFX_TYPE_Q4_0, d->rows, d->moments);
    args.kept_out = m;
    refine(before, d, args.type);
    const ggufx_feedback_facts facts = quantize(after, d->rt, &args);
    assert_int_equal(facts.is_used, 0);
    assert_true(facts.kept_out_change > 0);
    assert_memory_equal(after, before, bytes_of(args.type));
    ggufx_moments_destroy(m);
    free(other);
}

static void test_moments_are_described(void **state) {
    const struct Data *d = *state;
    ggufx_moments_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_moments_info(&facts, d->moments, ok_error()));
    assert_int_equal(facts.n_columns, kColumns);
    assert_int_equal(facts.n_inputs, kInputs);
    assert_int_equal(facts.flags, 0);
    assert_true(facts.memory_bytes >= sizeof(double) * kColumns * kColumns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors_of_outputs),
        cmocka_unit_test(test_bytes_are_the_same_everywhere),
        cmocka_unit_test(test_rows_are_independent),
        cmocka_unit_test(test_target_of_the_source_model),
        cmocka_unit_test(test_kept_out_inputs_decide),
        cmocka_unit_test(test_moments_are_described),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
