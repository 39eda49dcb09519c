/*
 * ggufx_dequantize and ggufx_dequantize_blocks through the public headers: contracts, ranges,
 * strides, conversions. The golden suite tests the values of every type.
 * SPDX-License-Identifier: MIT
 */
#include "matmul_fixture.h"
#include "ok.h"
#include "weight_calls.h"

#include <stdlib.h>
#include <string.h>

static void test_dequantize_gives_the_values_of_a_known_block(void **state) {
    (void)state;
    uint8_t block[34] = {0x00, 0xb8}; /* Q8_0, d = -0.5 */
    float out[33];
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    for (int i = 0; i < 32; i++) block[2 + i] = (uint8_t)(i - 16);
    out[32] = 9.0f;
    OK(dequantize_blocks(out, 32, rt, GGUFX_TYPE_Q8_0, block, 34, ok_error()));
    for (int i = 0; i < 32; i++) assert_true(out[i] == -0.5f * (float)(i - 16));
    assert_true(out[32] == 9.0f);
    ggufx_runtime_destroy(rt);
}

static void test_dequantize_refuses_short_input_and_output(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    const uint8_t bytes[68] = {0};
    const uint64_t values = 64;
    float out[64];
    ggufx_tensor *w = NULL;
    ggufx_error e;
    assert_int_equal(
        tensor_of(&w, rt, GGUFX_TYPE_Q8_0, 1, &values, 0, bytes, 67, NULL, NULL, NULL, &e),
        GGUFX_E_BOUNDS);
    OK(tensor_of(&w, rt, GGUFX_TYPE_Q8_0, 1, &values, 0, bytes, 68, NULL, NULL, NULL, ok_error()));
    assert_int_equal(ggufx_dequantize(out, 63, rt, w, 0, 1, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_dequantize(NULL, 64, rt, w, 0, 1, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_dequantize(out, 64, NULL, w, 0, 1, &e), GGUFX_E_ARGUMENT);
    OK(ggufx_dequantize(NULL, 0, rt, w, 1, 0, ok_error()));
    ggufx_tensor_destroy(w);
    ggufx_runtime_destroy(rt);
}

static void test_removed_and_unknown_types_have_texts_of_their_own(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    const uint8_t bytes[32] = {0};
    float out[64];
    ggufx_error e;
    assert_int_equal(dequantize_blocks(out, 64, rt, 4, bytes, 20, &e), GGUFX_E_TYPE);
    assert_non_null(strstr(e.message, "Q4_2"));
    assert_int_equal(dequantize_blocks(out, 64, rt, 43, bytes, 20, &e), GGUFX_E_TYPE);
    assert_non_null(strstr(e.message, "43"));
    assert_int_equal(dequantize_blocks(out, 64, rt, UINT32_MAX, bytes, 20, &e), GGUFX_E_TYPE);
    ggufx_runtime_destroy(rt);
}

static void test_integers_and_doubles_round_to_the_nearest_float(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float out[2];
    /* 2^24 + 1 and 2^24 + 3: ties to even. */
    const uint8_t i32[8] = {1, 0, 0, 1, 3, 0, 0, 1};
    OK(dequantize_blocks(out, 2, rt, GGUFX_TYPE_I32, i32, 8, ok_error()));
    assert_true(out[0] == 16777216.0f && out[1] == 16777220.0f);
    const uint8_t i8[2] = {0x80, 0x7f};
    OK(dequantize_blocks(out, 2, rt, GGUFX_TYPE_I8, i8, 2, ok_error()));
    assert_true(out[0] == -128.0f && out[1] == 127.0f);
    const uint8_t f64[8] = {0, 0, 0, 0x30, 0, 0, 0xf0, 0x3f}; /* 1 + 3 * 2^-24: up */
    OK(dequantize_blocks(out, 1, rt, GGUFX_TYPE_F64, f64, 8, ok_error()));
    assert_int_equal(bits_of(out[0]), 0x3f800002u);
    ggufx_runtime_destroy(rt);
}

static void test_row_ranges_equal_parts_of_the_whole(void **state) {
    (void)state;
    enum { rows = 23, cols = 512 };
    const uint32_t types[] = {GGUFX_TYPE_F16, GGUFX_TYPE_Q4_0, GGUFX_TYPE_Q4_K, GGUFX_TYPE_Q6_K};
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 2);
    float *whole = malloc(rows * cols * sizeof *whole), *part = malloc(rows * cols * sizeof *part);
    for (size_t t = 0; t < 4; t++) {
        matrix m = random_matrix(types[t], rows, cols, 0);
        ggufx_tensor *w = wrap_matrix(rt, &m);
        OK(ggufx_dequantize(whole, rows * cols, rt, w, 0, rows, ok_error()));
        for (size_t first = 0; first < rows; first += 5) {
            const size_t n = rows - first < 7 ? rows - first : 7;
            OK(ggufx_dequantize(part, n * cols, rt, w, first, n, ok_error()));
            assert_equal_bits(part, whole + first * cols, n * cols);
        }
        ggufx_tensor_destroy(w);
        free_matrix(&m);
    }
    free(whole);
    free(part);
    ggufx_runtime_destroy(rt);
}

static void test_dequantize_refuses_ranges_outside_and_short_output(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    matrix m = random_matrix(GGUFX_TYPE_Q4_0, 3, 64, 0);
    ggufx_tensor *w = wrap_matrix(rt, &m);
    float out[192];
    ggufx_error e;
    assert_int_equal(ggufx_dequantize(out, 192, rt, w, 0, 3, &e), GGUFX_OK);
    assert_int_equal(ggufx_dequantize(out, 191, rt, w, 0, 3, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_dequantize(out, 192, rt, w, 1, 3, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_dequantize(out, 192, rt, w, 4, 0, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_dequantize(out, 192, rt, w, UINT64_MAX, 2, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_dequantize(out, 192, rt, w, 0, UINT64_MAX / 32, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_dequantize(NULL, 192, rt, w, 0, 1, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_dequantize(out, 192, rt, w, 3, 0, &e), GGUFX_OK);
    assert_int_equal(ggufx_dequantize(out, 192, NULL, w, 0, 1, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_dequantize(out, 192, rt, NULL, 0, 1, &e), GGUFX_E_ARGUMENT);
    ggufx_tensor_destroy(w);
    free_matrix(&m);
    ggufx_runtime_destroy(rt);
}

static void test_strided_rows_decode_like_dense_ones_on_any_number_of_threads(void **state) {
    (void)state;
    enum { rows = 700, cols = 512 };
    matrix strided = random_matrix(GGUFX_TYPE_Q4_K, rows, cols, 288 + 31);
    matrix dense = random_matrix(GGUFX_TYPE_Q4_K, rows, cols, 0);
    float *a = malloc(rows * cols * sizeof *a), *b = malloc(rows * cols * sizeof *b);
    for (size_t r = 0; r < rows; r++) {
        memcpy(dense.data + r * dense.stride, strided.data + r * strided.stride, dense.row_bytes);
    }
    for (uint32_t threads = 1; threads <= 3; threads++) {
        ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, threads);
        ggufx_tensor *ws = wrap_matrix(rt, &strided), *wd = wrap_matrix(rt, &dense);
        OK(ggufx_dequantize(a, rows * cols, rt, ws, 0, rows, ok_error()));
        OK(ggufx_dequantize(b, rows * cols, rt, wd, 0, rows, ok_error()));
        assert_equal_bits(a, b, rows * cols);
        ggufx_tensor_destroy(ws);
        ggufx_tensor_destroy(wd);
        ggufx_runtime_destroy(rt);
    }
    free(a);
    free(b);
    free_matrix(&strided);
    free_matrix(&dense);
}

static void test_dequantize_never_allocates(void **state) {
    (void)state;
    enum { rows = 900, cols = 512 };
    fault count;
    const ggufx_executor executor = serial_executor();
    ggufx_runtime_options options = {.struct_size = sizeof options};
    fault_init(&count);
    options.allocator = &count.allocator;
    options.executor = &executor;
    ggufx_runtime *rt = make_runtime_with(&options);
    matrix m = random_matrix(GGUFX_TYPE_Q6_K, rows, cols, 0);
    ggufx_tensor *w = wrap_matrix(rt, &m);
    float *out = malloc(rows * cols * sizeof *out);
    const long calls = count.calls;
    OK(ggufx_dequantize(out, rows * cols, rt, w, 0, rows, ok_error()));
    assert_int_equal(count.calls, calls);
    free(out);
    ggufx_tensor_destroy(w);
    free_matrix(&m);
    ggufx_runtime_destroy(rt);
    assert_int_equal(count.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dequantize_gives_the_values_of_a_known_block),
        cmocka_unit_test(test_dequantize_refuses_short_input_and_output),
        cmocka_unit_test(test_removed_and_unknown_types_have_texts_of_their_own),
        cmocka_unit_test(test_integers_and_doubles_round_to_the_nearest_float),
        cmocka_unit_test(test_row_ranges_equal_parts_of_the_whole),
        cmocka_unit_test(test_dequantize_refuses_ranges_outside_and_short_output),
        cmocka_unit_test(test_strided_rows_decode_like_dense_ones_on_any_number_of_threads),
        cmocka_unit_test(test_dequantize_never_allocates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
