/*
 * ggufx_matvec and ggufx_matmul through the public headers: contracts, shapes, special values.
 * SPDX-License-Identifier: MIT
 */
#include "matmul_fixture.h"
#include "ok.h"
#include "weight_calls.h"

#include <stdlib.h>
#include <string.h>

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
    OK(ggufx_matvec(&y, 1, rt, w, x, 32, NULL, ok_error()));
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
    assert_int_equal(matmul(x + 100, 0, 16, rt, w, x, 0, 128, 2, NULL, &e), GGUFX_E_ARGUMENT);
    assert_non_null(strstr(e.message, "overlap"));
    assert_int_equal(matmul(x + 128, 0, 16, rt, w, x, 0, 128, 2, NULL, &e), GGUFX_OK);
    assert_int_equal(matmul(y, 0, 15, rt, w, x, 0, 128, 2, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(matmul(y, 0, 16, rt, w, x, 0, 127, 2, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(matmul(y, 7, 16, rt, w, x, 0, 128, 2, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(matmul(y, 0, 16, rt, w, x, 63, 128, 2, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(matmul(y, 0, SIZE_MAX, rt, w, x, SIZE_MAX / 2, SIZE_MAX, SIZE_MAX, NULL, &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(matmul(y, 0, 0, rt, w, x, 0, 0, 0, NULL, &e), GGUFX_OK);
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
        OK(ggufx_type_info(&facts, types[i], ok_error()));
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
        for (size_t mode = 0; mode < N_PRODUCT_MODES; mode++) {
            const uint32_t flags = product_modes[mode];
            free(product(rt, &m, x, 1, flags));
            free(product(rt, &m, x, 4, flags));
        }
        free_matrix(&m);
    }
    free(x);
    ggufx_runtime_destroy(rt);
}

static void test_options_with_unknown_or_contrary_flags_are_refused(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    matrix m = random_matrix(GGUFX_TYPE_F32, 1, 4, 0);
    ggufx_tensor *w = wrap_matrix(rt, &m);
    float x[4] = {0}, y;
    ggufx_matmul_options options = {.struct_size = sizeof options};
    options.flags = 0x8000u;
    assert_int_equal(ggufx_matvec(&y, 1, rt, w, x, 4, &options, NULL), GGUFX_E_ARGUMENT);
    options.flags = GGUFX_MATMUL_F32 | GGUFX_MATMUL_INT16;
    assert_int_equal(ggufx_matvec(&y, 1, rt, w, x, 4, &options, NULL), GGUFX_E_ARGUMENT);
    options.flags = GGUFX_MATMUL_TILED | GGUFX_MATMUL_BATCH_INVARIANT;
    assert_int_equal(ggufx_matvec(&y, 1, rt, w, x, 4, &options, NULL), GGUFX_E_ARGUMENT);
    options.flags = GGUFX_MATMUL_TILED | GGUFX_MATMUL_INT16;
    OK(ggufx_matvec(&y, 1, rt, w, x, 4, &options, ok_error()));
    options.flags = GGUFX_MATMUL_INT16 | GGUFX_MATMUL_BATCH_INVARIANT;
    OK(ggufx_matvec(&y, 1, rt, w, x, 4, &options, ok_error()));
    ggufx_tensor_destroy(w);
    free_matrix(&m);
    ggufx_runtime_destroy(rt);
}

static void test_columns_apart_leave_the_floats_between_alone(void **state) {
    (void)state;
    enum { rows = 19, cols = 256, n = 5, ldx = cols + 3, ldy = rows + 2 };
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    for (size_t t = 0; t < N_PRODUCT_TYPES; t++) {
        matrix m = random_matrix(product_types[t], rows, cols, 0);
        ggufx_tensor *w = wrap_matrix(rt, &m);
        float *x = random_values(n * ldx, 3), y[n * ldy], dense[n * cols];
        for (size_t c = 0; c < n; c++) memcpy(dense + c * cols, x + c * ldx, cols * sizeof *x);
        for (size_t i = 0; i < n * ldy; i++) y[i] = -7.0f;
        OK(matmul(y, ldy, (n - 1) * ldy + rows, rt, w, x, ldx, (n - 1) * ldx + cols, n, NULL,
                  ok_error()));
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
    for (size_t t = 0; t < N_PRODUCT_TYPES; t++) {
        matrix wide = random_matrix(product_types[t], rows + 4, 2 * cols, 0);
        ggufx_tensor *w = wrap_matrix(rt, &wide), *some_rows = NULL, *part = NULL;
        OK(ggufx_tensor_slice(&some_rows, w, 1, 3, rows, ok_error()));
        OK(ggufx_tensor_slice(&part, some_rows, 0, cols, cols, ok_error()));
        matrix copy = random_matrix(product_types[t], rows, cols, 0);
        for (size_t r = 0; r < rows; r++) {
            memcpy(copy.data + r * copy.stride, wide.data + (r + 3) * wide.stride + copy.row_bytes,
                   copy.row_bytes);
        }
        for (size_t n = 1; n <= 4; n += 3) {
            float *x = random_values(n * cols, 4), y[4 * rows], *want = product(rt, &copy, x, n, 0);
            OK(matmul(y, 0, n * rows, rt, part, x, 0, n * cols, n, NULL, ok_error()));
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

static void test_nan_and_infinity_in_x_give_one_nan_and_minus_zero_is_not_stored(void **state) {
    (void)state;
    enum { rows = 5, cols = 256 };
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    for (size_t t = 0; t < N_PRODUCT_TYPES; t++) {
        matrix m = random_matrix(product_types[t], rows, cols, 0);
        const int quantized =
            product_types[t] != GGUFX_TYPE_F32 && product_types[t] != GGUFX_TYPE_F16;
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
            for (size_t mode = 0; mode < N_PRODUCT_MODES; mode++) {
                const uint32_t flags = product_modes[mode];
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
    OK(ggufx_matvec(y, 3, rt, w, x, 0, NULL, ok_error()));
    for (int i = 0; i < 3; i++) assert_int_equal(bits_of(y[i]), 0u);
    ggufx_tensor_destroy(w);
    free_matrix(&m);
    ggufx_runtime_destroy(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matvec_of_a_known_block_is_the_defined_sum),
        cmocka_unit_test(test_matvec_refuses_wrong_lengths_and_handles),
        cmocka_unit_test(test_matmul_refuses_overlap_short_buffers_and_narrow_columns),
        cmocka_unit_test(test_matvec_refuses_types_that_are_only_decoded),
        cmocka_unit_test(test_every_type_that_says_so_has_all_products),
        cmocka_unit_test(test_options_with_unknown_or_contrary_flags_are_refused),
        cmocka_unit_test(test_columns_apart_leave_the_floats_between_alone),
        cmocka_unit_test(test_strided_rows_and_slices_have_the_bits_of_dense_ones),
        cmocka_unit_test(test_nan_and_infinity_in_x_give_one_nan_and_minus_zero_is_not_stored),
        cmocka_unit_test(test_rows_without_values_give_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
