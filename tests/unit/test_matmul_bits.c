/*
 * The bits of a product do not depend on neighbouring columns, threads, executors, instruction
 * sets, workspace or the caller's floating-point mode.
 * SPDX-License-Identifier: MIT
 */
#include "../instruction_sets.h"
#include "matmul_fixture.h"
#include "ok.h"
#include "test_step.h"

#include <math.h>
#include <stdlib.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

static void test_one_to_three_columns_have_the_bits_of_matvec(void **state) {
    (void)state;
    enum { rows = 37, cols = 512 };
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 2);
    float *x = random_values(3 * cols, 2);
    for (size_t t = 0; t < N_PRODUCT_TYPES; t += test_step_sanitized()) {
        matrix m = random_matrix(product_types[t], rows, cols, 0);
        ggufx_tensor *w = wrap_matrix(rt, &m);
        for (size_t n = 1; n <= 3; n++) {
            float *y = product(rt, &m, x, n, 0), one[rows];
            for (size_t c = 0; c < n; c++) {
                OK(ggufx_matvec(one, rows, rt, w, x + c * cols, cols, NULL, ok_error()));
                assert_equal_bits(one, y + c * rows, rows);
            }
            free(y);
        }
        ggufx_tensor_destroy(w);
        free_matrix(&m);
    }
    free(x);
    ggufx_runtime_destroy(rt);
}

static void test_invariant_columns_have_the_bits_of_matvec_whatever_their_number(void **state) {
    (void)state;
    enum { rows = 37, cols = 512, most = 50 };
    const size_t numbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 47, 48, 49, most};
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 2);
    float *x = random_values(most * cols, 17);
    for (size_t t = 0; t < N_PRODUCT_TYPES; t += test_step_sanitized()) {
        matrix m = random_matrix(product_types[t], rows, cols, 0);
        const uint32_t modes[] = {0, GGUFX_MATMUL_F32, GGUFX_MATMUL_INT16};
        for (size_t mode = 0; mode < 3; mode++) {
            const uint32_t flags = modes[mode];
            for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
                float *y = product(rt, &m, x, numbers[i], flags | GGUFX_MATMUL_BATCH_INVARIANT);
                for (size_t c = 0; c < numbers[i]; c++) {
                    float *want = product(rt, &m, x + c * cols, 1, flags);
                    assert_equal_bits(y + c * rows, want, rows);
                    free(want);
                }
                free(y);
            }
        }
        free_matrix(&m);
    }
    free(x);
    ggufx_runtime_destroy(rt);
}

static void check_tiles(int32_t isa, uint32_t threads) {
    enum { rows = 37, cols = 512, most = 21 };
    static const uint32_t modes[] = {0, GGUFX_MATMUL_F32, GGUFX_MATMUL_INT16};
    static const size_t numbers[] = {1, 2, 3, 4, 5, 7, most};
    ggufx_runtime *rt = make_runtime(isa, threads);
    float *x = random_values(most * cols, 20);
    for (size_t t = 0; t < N_PRODUCT_TYPES; t += test_step_sanitized()) {
        matrix m = random_matrix(product_types[t], rows, cols, 0);
        for (size_t mode = 0; mode < 3; mode++) {
            float *want = product(rt, &m, x, most, modes[mode]);
            for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
                const size_t n = numbers[i], first = most - n;
                float *y = product(rt, &m, x + first * cols, n, modes[mode] | GGUFX_MATMUL_TILED);
                assert_equal_bits(y, want + first * rows, n * rows);
                free(y);
            }
            free(want);
        }
        free_matrix(&m);
    }
    free(x);
    ggufx_runtime_destroy(rt);
}

static void test_tiles_have_the_bits_of_many_columns_whatever_their_number(void **state) {
    (void)state;
    check_tiles(GGUFX_ISA_BEST, 2);
    check_tiles(GGUFX_ISA_BEST, 1);
    check_tiles(GGUFX_ISA_SCALAR, 1);
}

/* Large enough that rows are processed in parts, once per three columns while they are cached. */
static void test_invariant_bits_of_long_rows(void **state) {
    (void)state;
    enum { rows = 150, cols = 16384, n = 7 };
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    matrix m = random_matrix(GGUFX_TYPE_Q8_0, rows, cols, 0);
    float *x = random_values(n * cols, 18);
    float *y = product(rt, &m, x, n, GGUFX_MATMUL_BATCH_INVARIANT);
    for (size_t c = 0; c < n; c++) {
        float *want = product(rt, &m, x + c * cols, 1, 0);
        assert_equal_bits(y + c * rows, want, rows);
        free(want);
    }
    free(y);
    free(x);
    free_matrix(&m);
    ggufx_runtime_destroy(rt);
}

/* Root mean square of a - b over that of b. */
static double relative_error(const float *a, const float *b, size_t n) {
    double errors = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double d = (double)a[i] - (double)b[i];
        errors += d * d;
        squares += (double)b[i] * (double)b[i];
    }
    return sqrt(errors / squares);
}

static void test_precise_products_are_between_the_default_and_f32(void **state) {
    (void)state;
    enum { rows = 200, cols = 1024 };
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float *x = random_values(5 * cols, 19);
    for (size_t t = 0; t < N_PRODUCT_TYPES; t += test_step_sanitized()) {
        matrix m = random_matrix(product_types[t], rows, cols, 0);
        const int quantized =
            product_types[t] != GGUFX_TYPE_F32 && product_types[t] != GGUFX_TYPE_F16;
        for (size_t n = 1; n <= 5; n += 4) {
            float *exact = product(rt, &m, x, n, GGUFX_MATMUL_F32);
            float *y8 = product(rt, &m, x, n, 0), *y15 = product(rt, &m, x, n, GGUFX_MATMUL_INT16);
            if (quantized) {
                const double e8 = relative_error(y8, exact, n * rows);
                const double e15 = relative_error(y15, exact, n * rows);
                assert_true(e8 > 1e-3 && e8 < 2e-2);
                assert_true(e15 > 1e-6 && e15 < e8 / 60);
            } else {
                assert_equal_bits(y15, y8, n * rows);
            }
            free(exact);
            free(y8);
            free(y15);
        }
        free_matrix(&m);
    }
    free(x);
    ggufx_runtime_destroy(rt);
}

static void test_bits_do_not_depend_on_threads_or_executor(void **state) {
    (void)state;
    enum { rows = 1500, cols = 512 };
    float *x = random_values(6 * cols, 5);
    for (size_t t = 0; t < N_PRODUCT_TYPES; t += test_step_sanitized()) {
        matrix m = random_matrix(product_types[t], rows, cols, 0);
        const size_t columns[] = {1, 3, 6};
        for (size_t i = 0; i < 3; i++) {
            ggufx_runtime *alone = make_runtime(GGUFX_ISA_BEST, 1);
            float *want = product(alone, &m, x, columns[i], 0);
            for (uint32_t n = 0; n <= 9; n++) { /* threads of the host, also more than processors */
                const ggufx_executor host = n == 0   ? serial_executor()
                                            : n == 1 ? reverse_executor()
                                                     : thread_executor(n);
                ggufx_runtime_options options = {.struct_size = sizeof options};
                if (n <= 8)
                    options.executor = &host;
                else
                    options.threads = 8; /* the library's own */
                ggufx_runtime *rt = make_runtime_with(&options);
                float *y = product(rt, &m, x, columns[i], 0);
                assert_equal_bits(y, want, columns[i] * rows);
                free(y);
                ggufx_runtime_destroy(rt);
            }
            free(want);
            ggufx_runtime_destroy(alone);
        }
        free_matrix(&m);
    }
    free(x);
}

/* A row-wise prompt with enough columns that several threads pack them. */
static void test_many_columns_row_by_row_do_not_depend_on_the_executor(void **state) {
    (void)state;
    enum { rows = 40, cols = 1024, n = 150 };
    static const uint32_t types[] = {GGUFX_TYPE_Q4_K, GGUFX_TYPE_Q2_K, GGUFX_TYPE_Q4_1,
                                     GGUFX_TYPE_F16};
    static const uint32_t ways[] = {0, GGUFX_MATMUL_INT16, GGUFX_MATMUL_F32};
    float *x = random_values((size_t)n * cols, 7);
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        matrix m = random_matrix(types[t], rows, cols, 0);
        for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
            const uint32_t flags = GGUFX_MATMUL_BATCH_INVARIANT | ways[way];
            ggufx_runtime *alone = make_runtime(GGUFX_ISA_BEST, 1);
            float *want = product(alone, &m, x, n, flags);
            for (uint32_t threads = 1; threads <= 3; threads += 2) {
                const ggufx_executor host =
                    threads == 1 ? reverse_executor() : thread_executor(threads);
                ggufx_runtime_options options = {.struct_size = sizeof options};
                options.executor = &host;
                ggufx_runtime *rt = make_runtime_with(&options);
                float *y = product(rt, &m, x, n, flags);
                assert_equal_bits(y, want, (size_t)n * rows);
                free(y);
                ggufx_runtime_destroy(rt);
            }
            free(want);
            ggufx_runtime_destroy(alone);
        }
        free_matrix(&m);
    }
    free(x);
}

static void test_bits_do_not_depend_on_the_instruction_set(void **state) {
    (void)state;
    enum { rows = 70, cols = 768, n = 4 };
    float *x = random_values(n * cols, 6);
    ggufx_runtime *scalar = make_runtime(GGUFX_ISA_SCALAR, 1);
    for (size_t s = 1; s < kInstructionSetCount; s++) { /* after scalar */
        ggufx_runtime_options options = {.struct_size = sizeof options};
        ggufx_runtime *rt = NULL;
        options.isa = kInstructionSets[s];
        if (ggufx_runtime_create(&rt, &options, NULL) != GGUFX_OK) continue; /* unsupported */
        for (size_t t = 0; t < N_PRODUCT_TYPES; t += test_step_sanitized()) {
            matrix m = random_matrix(product_types[t], rows, cols, 0);
            for (size_t mode = 0; mode < N_PRODUCT_MODES; mode++) {
                const uint32_t flags = product_modes[mode];
                for (size_t columns = 1; columns <= n; columns += n - 1) {
                    float *want = product(scalar, &m, x, columns, flags);
                    float *y = product(rt, &m, x, columns, flags);
                    assert_equal_bits(y, want, columns * rows);
                    free(want);
                    free(y);
                }
            }
            free_matrix(&m);
        }
        ggufx_runtime_destroy(rt);
    }
    ggufx_runtime_destroy(scalar);
    free(x);
}

static void test_workspace_size_does_not_change_bits(void **state) {
    (void)state;
    enum { rows = 33, cols = 8192, n = 17 };
    ggufx_runtime_options options = {.struct_size = sizeof options};
    options.workspace_bytes = 64 << 10;
    ggufx_runtime *small = make_runtime_with(&options), *large = make_runtime(GGUFX_ISA_BEST, 0);
    float *x = random_values(n * cols, 7);
    for (size_t t = 0; t < N_PRODUCT_TYPES; t += test_step_sanitized()) {
        matrix m = random_matrix(product_types[t], rows, cols, 0);
        for (size_t columns = 3; columns <= n; columns += n - 3) {
            float *want = product(large, &m, x, columns, 0);
            float *y = product(small, &m, x, columns, 0);
            assert_equal_bits(y, want, columns * rows);
            free(want);
            free(y);
        }
        free_matrix(&m);
    }
    free(x);
    ggufx_runtime_destroy(small);
    ggufx_runtime_destroy(large);
}

/* One or two of three columns fit at a time: packed codes, and sums of x in the f32 mode. */
static void test_columns_that_do_not_fit_together_have_the_same_bits(void **state) {
    (void)state;
    enum { rows = 3, cols = 98304, n = 3 };
    const uint32_t types[] = {GGUFX_TYPE_Q4_0, GGUFX_TYPE_Q2_K};
    ggufx_runtime_options options = {.struct_size = sizeof options};
    options.workspace_bytes = 64 << 10;
    ggufx_runtime *small = make_runtime_with(&options), *large = make_runtime(GGUFX_ISA_BEST, 1);
    float *x = random_values(n * cols, 15);
    for (size_t t = 0; t < 2; t++) {
        matrix m = random_matrix(types[t], rows, cols, 0);
        for (size_t mode = 0; mode < N_PRODUCT_MODES; mode++) {
            const uint32_t flags = product_modes[mode];
            if (flags & GGUFX_MATMUL_TILED) continue; /* tiles take four times as much */
            float *want = product(large, &m, x, n, flags), *y = product(small, &m, x, n, flags);
            assert_equal_bits(y, want, n * rows);
            free(want);
            free(y);
        }
        free_matrix(&m);
    }
    free(x);
    ggufx_runtime_destroy(small);
    ggufx_runtime_destroy(large);
}

/* MXFP4 with e = 0: scales are subnormal, so a host that flushes them would change the result. */
static void test_callers_fp_mode_changes_no_bit_and_is_restored(void **state) {
    (void)state;
#if defined(__SSE__)
    enum { rows = 600, cols = 256 };
    const unsigned modes[] = {0x1f80u, 0x9fc0u, 0x7f80u, 0xffc0u}; /* FTZ + DAZ, to zero, both */
    float *x = random_values(4 * cols, 10);
    matrix m = random_matrix(GGUFX_TYPE_MXFP4, rows, cols, 0);
    for (size_t i = 0; i < m.n_bytes; i += 17) m.data[i] = (uint8_t)(i % 3);
    for (uint32_t threads = 1; threads <= 2; threads++) {
        ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, threads);
        for (size_t n = 1; n <= 4; n += 3) {
            for (size_t mode = 0; mode < N_PRODUCT_MODES; mode++) {
                const uint32_t flags = product_modes[mode];
                float *want = product(rt, &m, x, n, flags);
                int any = 0;
                for (size_t i = 0; i < n * rows; i++) any |= want[i] != 0.0f;
                assert_true(any);
                for (size_t k = 1; k < 4; k++) {
                    const unsigned before = _mm_getcsr();
                    _mm_setcsr(modes[k]);
                    float *y = product(rt, &m, x, n, flags);
                    const unsigned after = _mm_getcsr();
                    _mm_setcsr(before);
                    assert_int_equal(after & 0xffc0u, modes[k] & 0xffc0u);
                    assert_equal_bits(y, want, n * rows);
                    free(y);
                }
                free(want);
            }
        }
        ggufx_runtime_destroy(rt);
    }
    free_matrix(&m);
    free(x);
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_to_three_columns_have_the_bits_of_matvec),
        cmocka_unit_test(test_invariant_columns_have_the_bits_of_matvec_whatever_their_number),
        cmocka_unit_test(test_tiles_have_the_bits_of_many_columns_whatever_their_number),
        cmocka_unit_test(test_invariant_bits_of_long_rows),
        cmocka_unit_test(test_precise_products_are_between_the_default_and_f32),
        cmocka_unit_test(test_bits_do_not_depend_on_threads_or_executor),
        cmocka_unit_test(test_many_columns_row_by_row_do_not_depend_on_the_executor),
        cmocka_unit_test(test_bits_do_not_depend_on_the_instruction_set),
        cmocka_unit_test(test_workspace_size_does_not_change_bits),
        cmocka_unit_test(test_columns_that_do_not_fit_together_have_the_same_bits),
        cmocka_unit_test(test_callers_fp_mode_changes_no_bit_and_is_restored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
