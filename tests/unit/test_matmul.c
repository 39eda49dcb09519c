/*
 * ggufx_matvec and ggufx_matmul through the public headers: contracts, bits that do not depend on
 * threads or executors, cancelling, no allocation.
 * SPDX-License-Identifier: MIT
 */
#include "matmul_fixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

static const uint32_t kTypes[] = {GGUFX_TYPE_F32,  GGUFX_TYPE_F16,  GGUFX_TYPE_Q4_0,
                                  GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q4_K, GGUFX_TYPE_Q6_K,
                                  GGUFX_TYPE_Q2_K, GGUFX_TYPE_Q4_1};
#define N_TYPES (sizeof kTypes / sizeof kTypes[0])

/* y[n][n_rows] of m times n columns of x, columns dense. */
static float *product(const ggufx_runtime *rt, const matrix *m, const float *x, size_t n,
                      uint32_t flags) {
    ggufx_matmul_options options;
    ggufx_error error;
    ggufx_tensor *w = wrap_matrix(rt, m);
    const size_t rows = (size_t)m->n_rows, cols = (size_t)m->n_cols;
    float *y = malloc((n * rows + 1) * sizeof *y);
    ggufx_matmul_options_init(&options);
    options.flags = flags;
    if (ggufx_matmul(y, 0, n * rows, rt, w, x, 0, n * cols, n, &options, &error) != GGUFX_OK) {
        fail_msg("matmul: %s", error.message);
    }
    ggufx_tensor_destroy(w);
    return y;
}

static void test_matvec_of_a_known_block_is_the_defined_sum(void **state) {
    (void)state;
    /* Q8_0: d = 0.5, codes 1, 2, .. 32; x = 254 everywhere: d_a = 2, q = 127. */
    uint8_t block[34] = {0x00, 0x38};
    float x[32], y = 0.0f;
    for (int i = 0; i < 32; i++) {
        block[2 + i] = (uint8_t)(i + 1);
        x[i] = 254.0f;
    }
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    const matrix m = {GGUFX_TYPE_Q8_0, 1, 32, 34, 34, 34, block};
    ggufx_tensor *w = wrap_matrix(rt, &m);
    assert_int_equal(ggufx_matvec(&y, 1, rt, w, x, 32, NULL, NULL), GGUFX_OK);
    assert_true(y == 0.5f * 528.0f * 254.0f);
    ggufx_tensor_destroy(w);
    ggufx_runtime_destroy(rt);
}

static void test_matvec_refuses_wrong_lengths_and_handles(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    matrix m = random_matrix(GGUFX_TYPE_Q4_0, 3, 64, 0);
    ggufx_tensor *w = wrap_matrix(rt, &m);
    float x[64] = {0}, y[3];
    ggufx_error e;
    assert_int_equal(ggufx_matvec(y, 2, rt, w, x, 64, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_matvec(y, 4, rt, w, x, 64, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_matvec(y, 3, rt, w, x, 63, NULL, &e), GGUFX_E_ARGUMENT);
    assert_non_null(strstr(e.message, "63"));
    assert_int_equal(ggufx_matvec(NULL, 3, rt, w, x, 64, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_matvec(y, 3, rt, w, NULL, 64, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_matvec(y, 3, NULL, w, x, 64, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_matvec(y, 3, rt, NULL, x, 64, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_matvec(y, 3, rt, w, NULL, 64, NULL, NULL), GGUFX_E_ARGUMENT);
    ggufx_tensor_destroy(w);
    free_matrix(&m);
    ggufx_runtime_destroy(rt);
}

static void test_matmul_refuses_overlap_short_buffers_and_narrow_columns(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    matrix m = random_matrix(GGUFX_TYPE_Q4_0, 8, 64, 0);
    ggufx_tensor *w = wrap_matrix(rt, &m);
    float x[256] = {0}, y[64];
    ggufx_error e;
    assert_int_equal(ggufx_matmul(x + 100, 0, 16, rt, w, x, 0, 128, 2, NULL, &e),
                     GGUFX_E_ARGUMENT);
    assert_non_null(strstr(e.message, "overlap"));
    assert_int_equal(ggufx_matmul(x + 128, 0, 16, rt, w, x, 0, 128, 2, NULL, &e), GGUFX_OK);
    assert_int_equal(ggufx_matmul(y, 0, 15, rt, w, x, 0, 128, 2, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_matmul(y, 0, 16, rt, w, x, 0, 127, 2, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_matmul(y, 7, 16, rt, w, x, 0, 128, 2, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_matmul(y, 0, 16, rt, w, x, 63, 128, 2, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_matmul(y, 0, SIZE_MAX, rt, w, x, SIZE_MAX / 2, SIZE_MAX, SIZE_MAX, NULL,
                                  &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_matmul(y, 0, 0, rt, w, x, 0, 0, 0, NULL, &e), GGUFX_OK);
    ggufx_tensor_destroy(w);
    free_matrix(&m);
    ggufx_runtime_destroy(rt);
}

static void test_matvec_refuses_types_that_are_only_decoded(void **state) {
    (void)state;
    const uint32_t types[] = {GGUFX_TYPE_I8, GGUFX_TYPE_I32, GGUFX_TYPE_F64, GGUFX_TYPE_Q8_1,
                              GGUFX_TYPE_Q8_K};
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        matrix m = random_matrix(types[i], 1, 256, 0);
        ggufx_tensor *w = wrap_matrix(rt, &m);
        float x[256] = {0}, y;
        ggufx_error e;
        ggufx_type_facts facts = {.struct_size = sizeof facts};
        assert_int_equal(ggufx_matvec(&y, 1, rt, w, x, 256, NULL, &e), GGUFX_E_TYPE);
        assert_int_equal(ggufx_type_info(&facts, types[i], NULL), GGUFX_OK);
        assert_non_null(strstr(e.message, facts.name));
        assert_false(facts.flags & GGUFX_TYPE_HAS_MATVEC);
        ggufx_tensor_destroy(w);
        free_matrix(&m);
    }
    ggufx_runtime_destroy(rt);
}

static void test_every_type_that_says_so_has_all_products(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float *x = random_values(4 * 256, 1);
    for (uint32_t type = 0; type < 64; type++) {
        ggufx_type_facts facts = {.struct_size = sizeof facts};
        if (ggufx_type_info(&facts, type, NULL) != GGUFX_OK) continue;
        assert_non_null(ggufx_runtime_kernel_name(rt, type));
        if (!(facts.flags & GGUFX_TYPE_HAS_MATVEC)) continue;
        matrix m = random_matrix(type, 5, 256, 0);
        for (uint32_t flags = 0; flags < 2; flags++) {
            free(product(rt, &m, x, 1, flags));
            free(product(rt, &m, x, 4, flags));
        }
        free_matrix(&m);
    }
    free(x);
    ggufx_runtime_destroy(rt);
}

static void test_options_with_unknown_flags_are_refused(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    matrix m = random_matrix(GGUFX_TYPE_F32, 1, 4, 0);
    ggufx_tensor *w = wrap_matrix(rt, &m);
    float x[4] = {0}, y;
    ggufx_matmul_options options;
    ggufx_matmul_options_init(&options);
    options.flags = 0x8000u;
    assert_int_equal(ggufx_matvec(&y, 1, rt, w, x, 4, &options, NULL), GGUFX_E_ARGUMENT);
    ggufx_tensor_destroy(w);
    free_matrix(&m);
    ggufx_runtime_destroy(rt);
}

static void test_one_to_three_columns_have_the_bits_of_matvec(void **state) {
    (void)state;
    enum { rows = 37, cols = 512 };
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 2);
    float *x = random_values(3 * cols, 2);
    for (size_t t = 0; t < N_TYPES; t++) {
        matrix m = random_matrix(kTypes[t], rows, cols, 0);
        ggufx_tensor *w = wrap_matrix(rt, &m);
        for (size_t n = 1; n <= 3; n++) {
            float *y = product(rt, &m, x, n, 0), one[rows];
            for (size_t c = 0; c < n; c++) {
                assert_int_equal(ggufx_matvec(one, rows, rt, w, x + c * cols, cols, NULL, NULL),
                                 GGUFX_OK);
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

static void test_columns_apart_leave_the_floats_between_alone(void **state) {
    (void)state;
    enum { rows = 19, cols = 256, n = 5, ldx = cols + 3, ldy = rows + 2 };
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    for (size_t t = 0; t < N_TYPES; t++) {
        matrix m = random_matrix(kTypes[t], rows, cols, 0);
        ggufx_tensor *w = wrap_matrix(rt, &m);
        float *x = random_values(n * ldx, 3), y[n * ldy], dense[n * cols];
        for (size_t c = 0; c < n; c++) memcpy(dense + c * cols, x + c * ldx, cols * sizeof *x);
        for (size_t i = 0; i < n * ldy; i++) y[i] = -7.0f;
        assert_int_equal(ggufx_matmul(y, ldy, (n - 1) * ldy + rows, rt, w, x, ldx,
                                      (n - 1) * ldx + cols, n, NULL, NULL),
                         GGUFX_OK);
        float *want = product(rt, &m, dense, n, 0);
        for (size_t c = 0; c < n; c++) {
            assert_equal_bits(y + c * ldy, want + c * rows, rows);
            for (size_t r = rows; r < ldy; r++) assert_true(y[c * ldy + r] == -7.0f);
        }
        free(want);
        free(x);
        ggufx_tensor_destroy(w);
        free_matrix(&m);
    }
    ggufx_runtime_destroy(rt);
}

static void test_strided_rows_and_slices_have_the_bits_of_dense_ones(void **state) {
    (void)state;
    enum { rows = 21, cols = 512 };
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    for (size_t t = 0; t < N_TYPES; t++) {
        matrix wide = random_matrix(kTypes[t], rows + 4, 2 * cols, 0);
        ggufx_tensor *w = wrap_matrix(rt, &wide), *some_rows = NULL, *part = NULL;
        assert_int_equal(ggufx_tensor_slice(&some_rows, w, 1, 3, rows, NULL), GGUFX_OK);
        assert_int_equal(ggufx_tensor_slice(&part, some_rows, 0, cols, cols, NULL), GGUFX_OK);
        matrix copy = random_matrix(kTypes[t], rows, cols, 0);
        for (size_t r = 0; r < rows; r++) {
            memcpy(copy.data + r * copy.stride, wide.data + (r + 3) * wide.stride + copy.row_bytes,
                   copy.row_bytes);
        }
        for (size_t n = 1; n <= 4; n += 3) {
            float *x = random_values(n * cols, 4), y[4 * rows], *want = product(rt, &copy, x, n, 0);
            assert_int_equal(
                ggufx_matmul(y, 0, n * rows, rt, part, x, 0, n * cols, n, NULL, NULL), GGUFX_OK);
            assert_equal_bits(y, want, n * rows);
            free(want);
            free(x);
        }
        ggufx_tensor_destroy(w);
        ggufx_tensor_destroy(some_rows);
        ggufx_tensor_destroy(part);
        free_matrix(&wide);
        free_matrix(&copy);
    }
    ggufx_runtime_destroy(rt);
}

static void test_bits_do_not_depend_on_threads_or_executor(void **state) {
    (void)state;
    enum { rows = 1500, cols = 512 };
    const ggufx_executor hosts[] = {serial_executor(), reverse_executor(), thread_executor(3)};
    float *x = random_values(6 * cols, 5);
    for (size_t t = 0; t < N_TYPES; t++) {
        matrix m = random_matrix(kTypes[t], rows, cols, 0);
        const size_t columns[] = {1, 3, 6};
        for (size_t i = 0; i < 3; i++) {
            ggufx_runtime *alone = make_runtime(GGUFX_ISA_BEST, 1);
            float *want = product(alone, &m, x, columns[i], 0);
            for (uint32_t variant = 0; variant < 5; variant++) {
                ggufx_runtime_options options;
                ggufx_runtime_options_init(&options);
                if (variant < 3) options.executor = &hosts[variant];
                else options.threads = variant == 3 ? 2 : 8;
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

static void test_bits_do_not_depend_on_the_instruction_set(void **state) {
    (void)state;
    enum { rows = 70, cols = 768, n = 4 };
    const int32_t sets[] = {GGUFX_ISA_AVX2, GGUFX_ISA_AVXVNNI, GGUFX_ISA_AVX512, GGUFX_ISA_NEON,
                            GGUFX_ISA_NEON_DOT, GGUFX_ISA_BEST};
    float *x = random_values(n * cols, 6);
    ggufx_runtime *scalar = make_runtime(GGUFX_ISA_SCALAR, 1);
    for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++) {
        ggufx_runtime_options options;
        ggufx_runtime *rt = NULL;
        ggufx_runtime_options_init(&options);
        options.isa = sets[s];
        if (ggufx_runtime_create(&rt, &options, NULL) != GGUFX_OK) continue; /* not this machine */
        for (size_t t = 0; t < N_TYPES; t++) {
            matrix m = random_matrix(kTypes[t], rows, cols, 0);
            for (uint32_t flags = 0; flags <= GGUFX_MATMUL_F32; flags++) {
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
    ggufx_runtime_options options;
    ggufx_runtime_options_init(&options);
    options.workspace_bytes = 64 << 10;
    ggufx_runtime *small = make_runtime_with(&options), *large = make_runtime(GGUFX_ISA_BEST, 0);
    float *x = random_values(n * cols, 7);
    for (size_t t = 0; t < N_TYPES; t++) {
        matrix m = random_matrix(kTypes[t], rows, cols, 0);
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
    enum { rows = 3, cols = 131072, n = 3 };
    const uint32_t types[] = {GGUFX_TYPE_Q4_0, GGUFX_TYPE_Q2_K};
    ggufx_runtime_options options;
    ggufx_runtime_options_init(&options);
    options.workspace_bytes = 64 << 10;
    ggufx_runtime *small = make_runtime_with(&options), *large = make_runtime(GGUFX_ISA_BEST, 1);
    float *x = random_values(n * cols, 15);
    for (size_t t = 0; t < 2; t++) {
        matrix m = random_matrix(types[t], rows, cols, 0);
        for (uint32_t flags = 0; flags <= GGUFX_MATMUL_F32; flags++) {
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

static void test_column_that_does_not_fit_the_workspace_is_a_limit(void **state) {
    (void)state;
    enum { cols = 262144 };
    ggufx_runtime_options options;
    ggufx_runtime_options_init(&options);
    options.workspace_bytes = 64 << 10;
    ggufx_runtime *rt = make_runtime_with(&options);
    matrix m = random_matrix(GGUFX_TYPE_Q4_0, 1, cols, 0);
    ggufx_tensor *w = wrap_matrix(rt, &m);
    float *x = random_values(4 * cols, 8), y[4];
    ggufx_error e;
    assert_int_equal(ggufx_matvec(y, 1, rt, w, x, cols, NULL, &e), GGUFX_E_LIMIT);
    assert_non_null(strstr(e.message, "workspace_bytes"));
    assert_int_equal(ggufx_matmul(y, 0, 4, rt, w, x, 0, 4 * cols, 4, NULL, &e), GGUFX_E_LIMIT);
    ggufx_tensor_destroy(w);
    free_matrix(&m);
    ggufx_runtime_destroy(rt);
    free(x);
}

static void test_nan_and_infinity_in_x_give_one_nan_and_minus_zero_is_not_stored(void **state) {
    (void)state;
    enum { rows = 5, cols = 256 };
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    for (size_t t = 0; t < N_TYPES; t++) {
        matrix m = random_matrix(kTypes[t], rows, cols, 0);
        const int quantized = kTypes[t] != GGUFX_TYPE_F32 && kTypes[t] != GGUFX_TYPE_F16;
        float *x = random_values(4 * cols, 9);
        for (size_t n = 1; n <= 4; n += 3) {
            for (size_t c = 0; c < n; c++) x[c * cols + 77] = float_of(0xffc12345u);
            float *y = product(rt, &m, x, n, 0);
            for (size_t i = 0; i < n * rows; i++) assert_int_equal(bits_of(y[i]), 0x7fc00000u);
            free(y);
            for (size_t c = 0; c < n; c++) x[c * cols + 77] = float_of(0xff800000u);
            y = product(rt, &m, x, n, 0);
            for (size_t i = 0; quantized && i < n * rows; i++) {
                assert_int_equal(bits_of(y[i]), 0x7fc00000u);
            }
            free(y);
        }
        for (size_t i = 0; i < 4 * cols; i++) x[i] = -0.0f;
        for (size_t n = 1; n <= 4; n += 3) {
            for (uint32_t flags = 0; flags <= GGUFX_MATMUL_F32; flags++) {
                float *y = product(rt, &m, x, n, flags);
                for (size_t i = 0; i < n * rows; i++) assert_int_equal(bits_of(y[i]), 0u);
                free(y);
            }
        }
        free(x);
        free_matrix(&m);
    }
    ggufx_runtime_destroy(rt);
}

static void test_rows_without_values_give_zeros(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    matrix m = random_matrix(GGUFX_TYPE_Q4_0, 3, 0, 0);
    ggufx_tensor *w = wrap_matrix(rt, &m);
    float x[1] = {0}, y[3] = {1, 1, 1};
    assert_int_equal(ggufx_matvec(y, 3, rt, w, x, 0, NULL, NULL), GGUFX_OK);
    for (int i = 0; i < 3; i++) assert_int_equal(bits_of(y[i]), 0u);
    ggufx_tensor_destroy(w);
    free_matrix(&m);
    ggufx_runtime_destroy(rt);
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
            for (uint32_t flags = 0; flags <= GGUFX_MATMUL_F32; flags++) {
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

static size_t heap_in_use(void) {
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

static void test_products_never_allocate(void **state) {
    (void)state;
    enum { rows = 900, cols = 512, n = 9 };
    counting count = {0, 0};
    const ggufx_allocator allocator = counting_allocator(&count);
    const ggufx_executor executor = reverse_executor();
    ggufx_runtime_options options;
    ggufx_runtime_options_init(&options);
    options.allocator = &allocator;
    options.executor = &executor;
    ggufx_runtime *rt = make_runtime_with(&options);
    float *x = random_values(n * cols, 11), *y = malloc(n * rows * sizeof *y);
    for (size_t t = 0; t < N_TYPES; t++) {
        matrix m = random_matrix(kTypes[t], rows, cols, 0);
        ggufx_tensor *w = wrap_matrix(rt, &m);
        for (uint32_t flags = 0; flags <= GGUFX_MATMUL_F32; flags++) {
            ggufx_matmul_options mm;
            ggufx_matmul_options_init(&mm);
            mm.flags = flags;
            const size_t calls = count.calls, heap = heap_in_use();
            for (size_t columns = 1; columns <= n; columns += 4) {
                assert_int_equal(ggufx_matmul(y, 0, n * rows, rt, w, x, 0, n * cols, columns, &mm,
                                              NULL),
                                 GGUFX_OK);
            }
            assert_int_equal(count.calls, calls);
            assert_int_equal(heap_in_use(), heap);
        }
        ggufx_tensor_destroy(w);
        free_matrix(&m);
    }
    ggufx_runtime_destroy(rt);
    assert_int_equal(count.live, 0);
    free(x);
    free(y);
}

typedef struct poll {
    uint64_t n_polls, cancel_at, last, total;
} poll;

static int32_t count_polls(void *user, uint64_t done, uint64_t total) {
    poll *p = user;
    assert_true(done >= p->last && done <= total);
    p->last = done;
    p->total = total;
    return p->n_polls++ == p->cancel_at;
}

static ggufx_status polled_product(const ggufx_runtime *rt, const ggufx_tensor *w, float *y,
                                   const float *x, size_t n, poll *p, ggufx_error *e) {
    ggufx_matmul_options options;
    ggufx_progress progress = {.struct_size = sizeof progress};
    ggufx_tensor_facts facts = {.struct_size = sizeof facts};
    ggufx_matmul_options_init(&options);
    progress.user = p;
    progress.report = count_polls;
    options.progress = &progress;
    assert_int_equal(ggufx_tensor_info(&facts, w, NULL), GGUFX_OK);
    const size_t cols = (size_t)facts.ne[0], rows = (size_t)facts.ne[1];
    return ggufx_matmul(y, 0, n * rows, rt, w, x, 0, n * cols, n, &options, e);
}

static void test_cancel_at_each_poll_ends_the_product(void **state) {
    (void)state;
    enum { rows = 3000, cols = 1024, n = 5 };
    matrix m = random_matrix(GGUFX_TYPE_Q4_0, rows, cols, 0);
    float *x = random_values(n * cols, 12), *y = malloc(n * rows * sizeof *y);
    for (uint32_t threads = 1; threads <= 2; threads++) {
        ggufx_runtime *rt = make_runtime(GGUFX_ISA_SCALAR, threads);
        ggufx_tensor *w = wrap_matrix(rt, &m);
        for (size_t columns = 1; columns <= n; columns += n - 1) {
            poll never = {0, UINT64_MAX, 0, 0};
            ggufx_error e;
            float *want = product(rt, &m, x, columns, 0);
            assert_int_equal(polled_product(rt, w, y, x, columns, &never, &e), GGUFX_OK);
            assert_equal_bits(y, want, columns * rows);
            assert_true(never.n_polls >= 2);
            for (uint64_t k = 0; k < never.n_polls; k++) {
                poll one = {0, k, 0, 0};
                assert_int_equal(polled_product(rt, w, y, x, columns, &one, &e),
                                 GGUFX_E_CANCELLED);
                assert_int_equal(one.n_polls, k + 1);
            }
            free(want);
        }
        ggufx_tensor_destroy(w);
        ggufx_runtime_destroy(rt);
    }
    free(x);
    free(y);
    free_matrix(&m);
}

static ggufx_status refuse(void *user, uint32_t n_tasks,
                           void (*task)(void *, uint32_t, uint32_t), void *ctx) {
    (void)user;
    (void)n_tasks;
    (void)task;
    (void)ctx;
    return GGUFX_E_STATE;
}

static void test_failure_of_the_executor_is_returned(void **state) {
    (void)state;
    ggufx_executor broken = serial_executor();
    broken.parallel_for = refuse;
    ggufx_runtime_options options;
    ggufx_runtime_options_init(&options);
    options.executor = &broken;
    options.isa = GGUFX_ISA_SCALAR;
    ggufx_runtime *rt = make_runtime_with(&options);
    matrix m = random_matrix(GGUFX_TYPE_Q4_0, 2000, 1024, 0);
    ggufx_tensor *w = wrap_matrix(rt, &m);
    float *x = random_values(1024, 13), *y = malloc(2000 * sizeof *y);
    ggufx_error e;
    assert_int_equal(ggufx_matvec(y, 2000, rt, w, x, 1024, NULL, &e), GGUFX_E_STATE);
    assert_int_equal(e.status, GGUFX_E_STATE);
    free(x);
    free(y);
    ggufx_tensor_destroy(w);
    free_matrix(&m);
    ggufx_runtime_destroy(rt);
}

typedef struct caller {
    const ggufx_runtime *rt;
    const matrix *m;
    float *x, *want; /* its own: shared memory would show */
    int n_wrong;
} caller;

static void *call_often(void *arg) {
    caller *c = arg;
    const size_t rows = (size_t)c->m->n_rows, cols = (size_t)c->m->n_cols;
    ggufx_tensor *w = NULL;
    const uint64_t ne[2] = {cols, rows};
    float *y = malloc(4 * rows * sizeof *y);
    c->n_wrong += ggufx_tensor_wrap(&w, c->rt, c->m->type, 2, ne, 0, c->m->data, c->m->n_bytes,
                                    NULL, NULL, NULL, NULL) != GGUFX_OK;
    for (int i = 0; i < 20; i++) {
        const ggufx_status status =
            ggufx_matmul(y, 0, 4 * rows, c->rt, w, c->x, 0, 4 * cols, 4, NULL, NULL);
        c->n_wrong += status != GGUFX_OK || memcmp(y, c->want, 4 * rows * sizeof *y) != 0;
    }
    ggufx_tensor_destroy(w);
    free(y);
    return NULL;
}

/* More callers than the small workspace serves at once: they wait for each other. */
static void test_concurrent_calls_share_one_runtime(void **state) {
    (void)state;
    enum { n_callers = 12, rows = 64, cols = 4096 };
    ggufx_runtime_options options;
    ggufx_runtime_options_init(&options);
    options.workspace_bytes = 64 << 10;
    options.threads = 2;
    ggufx_runtime *rt = make_runtime_with(&options);
    matrix m = random_matrix(GGUFX_TYPE_Q4_K, rows, cols, 0);
    pthread_t threads[n_callers];
    caller callers[n_callers];
    for (int i = 0; i < n_callers; i++) {
        float *x = random_values(4 * cols, 14 + (uint64_t)i);
        callers[i] = (caller){rt, &m, x, product(rt, &m, x, 4, 0), 0};
    }
    for (int i = 0; i < n_callers; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < n_callers; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(callers[i].n_wrong, 0);
        free(callers[i].x);
        free(callers[i].want);
    }
    free_matrix(&m);
    ggufx_runtime_destroy(rt);
}

typedef struct nested {
    const ggufx_runtime *rt;
    const ggufx_tensor *w;
    const float *x;
    float *y;
    size_t rows, cols;
    int busy, n_calls;
} nested;

/* A job system that runs other products on this stack before the tasks of this one. */
static ggufx_status run_others_first(void *user, uint32_t n_tasks,
                                     void (*task)(void *, uint32_t, uint32_t), void *ctx) {
    nested *other = user;
    if (!other->busy) {
        other->busy = 1;
        for (int i = 0; i < 3; i++) {
            other->n_calls += ggufx_matvec(other->y, other->rows, other->rt, other->w, other->x,
                                           other->cols, NULL, NULL) == GGUFX_OK;
        }
        other->busy = 0;
    }
    for (uint32_t i = 0; i < n_tasks; i++) task(ctx, i, 0);
    return GGUFX_OK;
}

static void test_calls_inside_calls_have_workspace_of_their_own(void **state) {
    (void)state;
    enum { rows = 600, cols = 512 };
    nested other = {.rows = rows, .cols = cols};
    ggufx_executor executor = serial_executor();
    ggufx_runtime_options options;
    executor.user = &other;
    executor.parallel_for = run_others_first;
    ggufx_runtime_options_init(&options);
    options.executor = &executor;
    options.isa = GGUFX_ISA_SCALAR; /* slow enough for tasks */
    ggufx_runtime *rt = make_runtime_with(&options), *plain = make_runtime(GGUFX_ISA_SCALAR, 1);
    matrix m = random_matrix(GGUFX_TYPE_Q4_0, rows, cols, 0);
    float *x = random_values(2 * cols, 16), y[rows], inner[rows];
    float *want = product(plain, &m, x, 1, 0), *want_inner = product(plain, &m, x + cols, 1, 0);
    other.rt = rt;
    other.w = wrap_matrix(rt, &m);
    other.x = x + cols;
    other.y = inner;
    assert_int_equal(ggufx_matvec(y, rows, rt, other.w, x, cols, NULL, NULL), GGUFX_OK);
    assert_int_equal(other.n_calls, 3);
    assert_equal_bits(y, want, rows);
    assert_equal_bits(inner, want_inner, rows);
    free(want);
    free(want_inner);
    free(x);
    ggufx_tensor_destroy((ggufx_tensor *)(uintptr_t)other.w);
    free_matrix(&m);
    ggufx_runtime_destroy(plain);
    ggufx_runtime_destroy(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matvec_of_a_known_block_is_the_defined_sum),
        cmocka_unit_test(test_matvec_refuses_wrong_lengths_and_handles),
        cmocka_unit_test(test_matmul_refuses_overlap_short_buffers_and_narrow_columns),
        cmocka_unit_test(test_matvec_refuses_types_that_are_only_decoded),
        cmocka_unit_test(test_every_type_that_says_so_has_all_products),
        cmocka_unit_test(test_options_with_unknown_flags_are_refused),
        cmocka_unit_test(test_one_to_three_columns_have_the_bits_of_matvec),
        cmocka_unit_test(test_columns_apart_leave_the_floats_between_alone),
        cmocka_unit_test(test_strided_rows_and_slices_have_the_bits_of_dense_ones),
        cmocka_unit_test(test_bits_do_not_depend_on_threads_or_executor),
        cmocka_unit_test(test_bits_do_not_depend_on_the_instruction_set),
        cmocka_unit_test(test_workspace_size_does_not_change_bits),
        cmocka_unit_test(test_columns_that_do_not_fit_together_have_the_same_bits),
        cmocka_unit_test(test_column_that_does_not_fit_the_workspace_is_a_limit),
        cmocka_unit_test(test_nan_and_infinity_in_x_give_one_nan_and_minus_zero_is_not_stored),
        cmocka_unit_test(test_rows_without_values_give_zeros),
        cmocka_unit_test(test_callers_fp_mode_changes_no_bit_and_is_restored),
        cmocka_unit_test(test_products_never_allocate),
        cmocka_unit_test(test_cancel_at_each_poll_ends_the_product),
        cmocka_unit_test(test_failure_of_the_executor_is_returned),
        cmocka_unit_test(test_concurrent_calls_share_one_runtime),
        cmocka_unit_test(test_calls_inside_calls_have_workspace_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
