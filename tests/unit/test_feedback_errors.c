/*
 * Quantization with feedback: refused arguments and values with their messages, cancelled calls,
 * failed allocations.
 * SPDX-License-Identifier: MIT
 */
#include "feedback_fixture.h"

static float *rows, *inputs;

static int setup(void **state) {
    (void)state;
    rows = random_values((size_t)kRows * kColumns, 3);
    inputs = correlated_inputs(kInputs, 21);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    free(rows);
    free(inputs);
    return 0;
}

static ggufx_status add(ggufx_moments *m, size_t n_columns, const float *y, const float *x,
                        ggufx_error *e) {
    const ggufx_moments_inputs in = {
        .struct_size = sizeof in, .n = 2, .n_columns = n_columns, .rows = y, .source_rows = x};
    return ggufx_moments_add(m, &in, e);
}

static uint64_t inputs_of(const ggufx_moments *m) {
    ggufx_moments_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_moments_info(&facts, m, ok_error()));
    return facts.n_inputs;
}

static void test_moments_refuse_wrong_arguments(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    ggufx_moments *m = NULL;
    ggufx_error e;
    assert_int_equal(ggufx_moments_create(NULL, rt, 32, 0, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_moments_create(&m, NULL, 32, 0, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_moments_create(&m, rt, 0, 0, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_moments_create(&m, rt, 32, 2, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_moments_create(&m, rt, SIZE_MAX, 0, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(e.value, SIZE_MAX);
    assert_null(m);
    for (uint32_t drift = 0; drift < 2; drift++) {
        OK(ggufx_moments_create(&m, rt, kColumns, drift ? GGUFX_MOMENTS_DRIFT : 0, ok_error()));
        assert_int_equal(add(m, kColumns - 1, inputs, drift ? inputs : NULL, &e), GGUFX_E_ARGUMENT);
        assert_int_equal(e.limit, kColumns);
        assert_int_equal(add(m, kColumns, inputs, drift ? NULL : inputs, &e), GGUFX_E_ARGUMENT);
        assert_int_equal(add(m, kColumns, NULL, NULL, &e), GGUFX_E_ARGUMENT);
        assert_int_equal(ggufx_moments_add(m, NULL, &e), GGUFX_E_ARGUMENT);
        assert_int_equal(ggufx_moments_info(NULL, m, &e), GGUFX_E_ARGUMENT);
        assert_int_equal(inputs_of(m), 0);
        ggufx_moments_destroy(m);
    }
    ggufx_moments_destroy(NULL);
    ggufx_runtime_destroy(rt);
}

static void test_values_that_are_no_numbers_are_named(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    ggufx_moments *m = NULL;
    ggufx_feedback_facts facts = {.struct_size = sizeof facts};
    float bad[2 * kColumns] = {0};
    uint8_t out[kMostBytes];
    ggufx_error e;
    OK(ggufx_moments_create(&m, rt, kColumns, GGUFX_MOMENTS_DRIFT, ok_error()));
    const float values[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        bad[kColumns + 7] = values[i];
        assert_int_equal(add(m, kColumns, bad, inputs, &e), GGUFX_E_VALUE);
        assert_int_equal(e.index, 1);
        assert_int_equal(add(m, kColumns, inputs, bad, &e), GGUFX_E_VALUE);
    }
    assert_int_equal(inputs_of(m), 0); /* still usable */
    add_inputs(m, inputs, inputs, kInputs);
    float *const other = malloc(sizeof(float) * kRows * kColumns);
    assert_non_null(other);
    memcpy(other, rows, sizeof(float) * kRows * kColumns);
    other[5 * kColumns + 3] = NAN;
    const ggufx_feedback_args args = feedback_args(GGUFX_TYPE_Q4_0, other, m);
    assert_int_equal(ggufx_quantize_feedback(out, sizeof out, rt, &args, &facts, &e),
                     GGUFX_E_VALUE);
    assert_int_equal(e.index, 5);
    free(other);
    ggufx_moments_destroy(m);
    ggufx_runtime_destroy(rt);
}

static ggufx_status try_with(const ggufx_runtime *rt, const ggufx_feedback_args *args,
                             ggufx_error *e) {
    static uint8_t out[kMostBytes];
    ggufx_feedback_facts facts = {.struct_size = sizeof facts};
    return ggufx_quantize_feedback(out, sizeof out, rt, args, &facts, e);
}

static void test_quantization_refuses_wrong_arguments(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    ggufx_moments *m = moments_of(rt, inputs, NULL, kInputs), *few = NULL, *narrow = NULL;
    ggufx_moments *zeros = NULL, *drift = moments_of(rt, inputs, inputs, kInputs);
    float *const nothing = calloc((size_t)4 * kColumns * kColumns, sizeof *nothing);
    ggufx_feedback_facts facts = {.struct_size = sizeof facts};
    uint8_t out[64];
    ggufx_error e;
    OK(ggufx_moments_create(&few, rt, kColumns, 0, ok_error()));
    OK(ggufx_moments_create(&narrow, rt, 32, 0, ok_error()));
    OK(ggufx_moments_create(&zeros, rt, kColumns, 0, ok_error()));
    add_inputs(few, inputs, NULL, 4 * kColumns - 1);
    add_inputs(zeros, nothing, NULL, 4 * kColumns);
    ggufx_feedback_args args = feedback_args(GGUFX_TYPE_Q4_K, rows, m);
    OK(try_with(rt, &args, ok_error()));
    assert_int_equal(try_with(NULL, &args, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(try_with(rt, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_quantize_feedback(out, sizeof out, rt, &args, NULL, &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_quantize_feedback(out, sizeof out, rt, &args, &facts, &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_quantize_feedback(NULL, 99999, rt, &args, &facts, &e), GGUFX_E_ARGUMENT);
    args.moments = NULL;
    assert_int_equal(try_with(rt, &args, &e), GGUFX_E_ARGUMENT);
    args.moments = few;
    assert_int_equal(try_with(rt, &args, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(e.value, 4 * kColumns - 1);
    assert_int_equal(e.limit, 4 * kColumns);
    add_inputs(few, inputs, NULL, 1);
    OK(try_with(rt, &args, ok_error()));
    args.moments = zeros;
    assert_int_equal(try_with(rt, &args, &e), GGUFX_E_ARGUMENT);
    assert_non_null(strstr(e.message, "zero"));
    args.moments = m;
    args.kept_out = narrow;
    assert_int_equal(try_with(rt, &args, &e), GGUFX_E_SHAPE);
    args.kept_out = drift;
    assert_int_equal(try_with(rt, &args, &e), GGUFX_E_ARGUMENT);
    args.kept_out = NULL;
    args.n_cols = 512;
    assert_int_equal(try_with(rt, &args, &e), GGUFX_E_SHAPE);
    args.n_cols = kColumns;
    args.n_passes = 101;
    assert_int_equal(try_with(rt, &args, &e), GGUFX_E_ARGUMENT);
    args.n_passes = 0;
    args.flags = GGUFX_FEEDBACK_DAMPING;
    const double dampings[] = {0, -1, 101, NAN, INFINITY};
    for (size_t i = 0; i < 5; i++) {
        args.damping = dampings[i];
        assert_int_equal(try_with(rt, &args, &e), GGUFX_E_ARGUMENT);
    }
    args.flags = 4;
    assert_int_not_equal(try_with(rt, &args, &e), GGUFX_OK);
    args.flags = 0;
    const uint32_t types[] = {
        GGUFX_TYPE_F32, GGUFX_TYPE_F16, GGUFX_TYPE_BF16, GGUFX_TYPE_TQ1_0, 4, 999};
    for (size_t i = 0; i < 6; i++) {
        args.type = types[i];
        assert_int_equal(try_with(rt, &args, &e), GGUFX_E_TYPE);
    }
    free(nothing);
    ggufx_moments_destroy(m);
    ggufx_moments_destroy(few);
    ggufx_moments_destroy(narrow);
    ggufx_moments_destroy(zeros);
    ggufx_moments_destroy(drift);
    ggufx_runtime_destroy(rt);
}

static void test_inputs_beyond_f32_are_refused(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float *const large = malloc((size_t)4 * kColumns * kColumns * sizeof *large);
    ggufx_error e;
    assert_non_null(large);
    for (size_t i = 0; i < (size_t)4 * kColumns * kColumns; i++) large[i] = 1e30f * inputs[i];
    ggufx_moments *m = moments_of(rt, large, NULL, 4 * kColumns);
    const ggufx_feedback_args args = feedback_args(GGUFX_TYPE_Q4_0, rows, m);
    assert_int_equal(try_with(rt, &args, &e), GGUFX_E_VALUE);
    assert_non_null(strstr(e.message, "f32"));
    ggufx_moments_destroy(m);
    free(large);
    ggufx_runtime_destroy(rt);
}

/* Rows of zeros, of one value, and of the largest values keep finite blocks. */
static void test_extreme_rows(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    ggufx_moments *m = moments_of(rt, inputs, inputs, kInputs);
    ggufx_feedback_facts facts = {.struct_size = sizeof facts};
    float *const extreme = calloc((size_t)kRows * kColumns, sizeof *extreme);
    static uint8_t out[kMostBytes];
    static float values[kRows * kColumns];
    extreme[1 * kColumns + 9] = 1.0f;
    for (size_t k = 0; k < kColumns; k++) {
        extreme[2 * kColumns + k] = 1e-30f * rows[k];
        extreme[3 * kColumns + k] = 30000.0f * rows[k];
        extreme[4 * kColumns + k] = 1.0f;
        extreme[5 * kColumns + k] = k % 32 ? 0.0f : rows[k];
    }
    const uint32_t types[] = {GGUFX_TYPE_Q4_0,    GGUFX_TYPE_Q4_K,  GGUFX_TYPE_Q2_K,
                              GGUFX_TYPE_IQ2_XXS, GGUFX_TYPE_IQ3_S, GGUFX_TYPE_MXFP4,
                              GGUFX_TYPE_IQ1_M};
    for (size_t t = 0; t < 7; t++) {
        const ggufx_feedback_args args = feedback_args(types[t], extreme, m);
        OK(ggufx_quantize_feedback(out, sizeof out, rt, &args, &facts, ok_error()));
        ggufx_tensor *tensor = NULL;
        const matrix blocks = {types[t],           kRows, kColumns, bytes_of(types[t]) / kRows, 0,
                               bytes_of(types[t]), out};
        tensor = wrap_matrix(rt, &blocks);
        OK(ggufx_dequantize(values, kRows * kColumns, rt, tensor, 0, kRows, ok_error()));
        for (size_t i = 0; i < kRows * kColumns; i++) assert_true(isfinite(values[i]));
        ggufx_tensor_destroy(tensor);
    }
    free(extreme);
    ggufx_moments_destroy(m);
    ggufx_runtime_destroy(rt);
}

static void test_cancelled_calls(void **state) {
    (void)state;
    for (uint32_t threads = 1; threads <= 2; threads++) {
        ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, threads);
        ggufx_moments *m = moments_of(rt, inputs, inputs, kInputs);
        for (uint64_t at = 0; at < 40; at += 3) {
            polls p = {.cancel_at = at};
            const ggufx_progress progress = poll_progress(&p);
            ggufx_feedback_args args = feedback_args(GGUFX_TYPE_IQ2_S, rows, m);
            ggufx_error e;
            args.progress = &progress;
            const ggufx_status status = try_with(rt, &args, &e);
            if (status == GGUFX_OK) break;
            assert_int_equal(status, GGUFX_E_CANCELLED);
        }
        /* Incomplete sums of a cancelled call are not used. */
        polls p = {.cancel_at = 3};
        const ggufx_progress progress = poll_progress(&p);
        const ggufx_moments_inputs in = {.struct_size = sizeof in,
                                         .n = kInputs,
                                         .n_columns = kColumns,
                                         .rows = inputs,
                                         .source_rows = inputs,
                                         .progress = &progress};
        ggufx_error e;
        assert_int_equal(ggufx_moments_add(m, &in, &e), GGUFX_E_CANCELLED);
        assert_int_equal(add(m, kColumns, inputs, inputs, &e), GGUFX_E_STATE);
        const ggufx_feedback_args args = feedback_args(GGUFX_TYPE_Q4_0, rows, m);
        assert_int_equal(try_with(rt, &args, &e), GGUFX_E_STATE);
        ggufx_moments_destroy(m);
        ggufx_runtime_destroy(rt);
    }
}

static ggufx_status whole(void *context, ggufx_runtime *rt, ggufx_error *e) {
    const uint32_t type = *(const uint32_t *)context;
    ggufx_moments *m = NULL, *kept = NULL;
    ggufx_status status = ggufx_moments_create(&m, rt, kColumns, GGUFX_MOMENTS_DRIFT, e);
    if (status == GGUFX_OK)
        status = ggufx_moments_create(&kept, rt, kColumns, GGUFX_MOMENTS_DRIFT, e);
    if (status == GGUFX_OK) {
        add_inputs(m, inputs, inputs, 16 * kColumns);
        add_inputs(kept, inputs, inputs, 64);
        ggufx_feedback_args args = feedback_args(type, rows, m);
        args.kept_out = kept;
        status = try_with(rt, &args, e);
    }
    ggufx_moments_destroy(m);
    ggufx_moments_destroy(kept);
    return status;
}

static void test_failed_allocations(void **state) {
    (void)state;
    uint32_t types[] = {GGUFX_TYPE_Q4_K, GGUFX_TYPE_IQ2_S};
    for (size_t t = 0; t < 2; t++) assert_true(fault_run(whole, &types[t]) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments_refuse_wrong_arguments),
        cmocka_unit_test(test_values_that_are_no_numbers_are_named),
        cmocka_unit_test(test_quantization_refuses_wrong_arguments),
        cmocka_unit_test(test_inputs_beyond_f32_are_refused),
        cmocka_unit_test(test_extreme_rows),
        cmocka_unit_test(test_cancelled_calls),
        cmocka_unit_test(test_failed_allocations),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
