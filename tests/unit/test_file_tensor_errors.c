/*
 * Faults of the tensor directory: each with its own status and the offset of the field at fault.
 * SPDX-License-Identifier: MIT
 */
#include "file_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Builds a file with one tensor whose directory entry can be changed; returns the entry's
 * offset. */
static size_t one_tensor(gb *b, const char *name, uint32_t type, uint32_t n_dims,
                         const uint64_t *ne, uint64_t offset, size_t data) {
    size_t at;
    unsigned char zeros[512] = {0};
    gb_begin(b, 3, 0);
    at = gb_tensor_at(b, name, type, n_dims, ne, offset);
    gb_data(b);
    gb_bytes(b, zeros, data);
    return at;
}

static void test_names_dims_and_types_of_tensors_are_checked(void **state) {
    const uint64_t ne[5] = {32, 1, 1, 1, 1}, odd[1] = {33}, minus[1] = {UINT64_MAX};
    char name[65];
    size_t at;
    gb b;
    (void)state;
    memset(name, 'n', 64);
    name[64] = 0;
    at = one_tensor(&b, name, 0, 1, ne, 0, 128);
    expect(&b, 0, GGUFX_E_NAME, at);
    name[63] = 0;
    one_tensor(&b, name, 0, 1, ne, 0, 128);
    expect(&b, 0, GGUFX_OK, 0);
    one_tensor(&b, "", 0, 1, ne, 0, 128);
    expect(&b, 0, GGUFX_OK, 0);
    at = one_tensor(&b, "w", 0, 5, ne, 0, 128);
    expect(&b, 0, GGUFX_E_NDIMS, at + 9);
    at = one_tensor(&b, "w", 2, 1, odd, 0, 128);
    expect(&b, 0, GGUFX_E_SHAPE, at + 13);
    at = one_tensor(&b, "w", 24, 1, minus, 0, 128);
    expect(&b, 0, GGUFX_E_SHAPE, at + 13);
    at = one_tensor(&b, "w", 4, 1, ne, 0, 128);
    expect(&b, 0, GGUFX_E_TYPE, at + 21);
    at = one_tensor(&b, "w", 43, 1, ne, 0, 128);
    expect(&b, 0, GGUFX_E_TYPE, at + 21);
    at = one_tensor(&b, "w", 43, 1, ne, 0, 128);
    expect(&b, GGUFX_OPEN_UNKNOWN_TYPES, GGUFX_OK, 0);
}

static void test_products_that_wrap_are_refused(void **state) {
    static const uint64_t dims[][4] = {
        {UINT64_C(1) << 32, UINT64_C(1) << 32, 1, 1},
        {UINT64_C(1) << 33, UINT64_C(1) << 31, 1, 1},
        {1u << 16, 1u << 16, 1u << 16, 1u << 16},
        {UINT64_C(0x7fffffffffffffff), 2, 1, 1},
        {UINT64_C(1) << 61, 1, 1, 1},
        {(UINT64_C(1) << 62) - 1, 1, 1, 1},
    };
    const uint64_t halves[2] = {UINT64_C(1) << 32, UINT64_C(1) << 31}; /* the bytes would fit */
    size_t i, at;
    gb b;
    (void)state;
    for (i = 0; i < sizeof dims / sizeof *dims; i++) {
        at = one_tensor(&b, "w", GGUFX_TYPE_F64, 4, dims[i], 0, 128);
        expect(&b, 0, GGUFX_E_OVERFLOW, at + 13);
    }
    at = one_tensor(&b, "w", GGUFX_TYPE_Q4_0, 2, halves, 0, 128);
    expect(&b, 0, GGUFX_E_OVERFLOW, at + 13);
}

static void test_a_zero_dimension_makes_an_empty_tensor(void **state) {
    static const uint64_t dims[][3] = {
        {0, 5, 7}, {32, 0, 7}, {32, 5, 0}, {0, UINT64_C(1) << 62, UINT64_C(1) << 62}};
    size_t i;
    (void)state;
    for (i = 0; i < 4; i++) {
        gb b;
        one_tensor(&b, "w", GGUFX_TYPE_F32, 3, dims[i], 0, 0);
        expect(&b, 0, GGUFX_OK, 0);
    }
}

static void test_offsets_stay_aligned_inside_and_apart(void **state) {
    const uint64_t ne[1] = {32}, huge[1] = {UINT64_C(1) << 50}, odd[1] = {33};
    size_t at;
    gb b;
    (void)state;
    at = one_tensor(&b, "w", 0, 1, ne, 31, 256);
    expect(&b, 0, GGUFX_E_OFFSET, at + 25);
    at = one_tensor(&b, "w", 0, 1, ne, 16, 256);
    expect(&b, 0, GGUFX_E_OFFSET, at + 25);
    at = one_tensor(&b, "w", 0, 1, ne, 256, 256);
    expect(&b, 0, GGUFX_E_BOUNDS, at + 25);
    at = one_tensor(&b, "w", 0, 1, ne, UINT64_C(0) - 64, 256);
    expect(&b, 0, GGUFX_E_BOUNDS, at + 25);
    at = one_tensor(&b, "w", 0, 1, huge, 0, 256);
    expect(&b, 0, GGUFX_E_BOUNDS, at + 13);
    one_tensor(&b, "w", 0, 1, ne, 0, 100); /* truncated */
    expect(&b, 0, GGUFX_E_BOUNDS, b.n);
    gb_begin(&b, 3, 0);
    gb_tensor_at(&b, "a", 0, 1, ne, 0);
    at = gb_tensor_at(&b, "b", 0, 1, ne, 96);
    gb_data(&b);
    gb_bytes(&b, (unsigned char[256]){0}, 256);
    expect(&b, 0, GGUFX_E_OFFSET, at + 25);
    gb_begin(&b, 3, 0);
    gb_tensor_at(&b, "a", GGUFX_TYPE_I8, 1, odd, 0); /* its last byte is the first one of b */
    at = gb_tensor_at(&b, "b", 0, 1, ne, 32);
    gb_data(&b);
    gb_bytes(&b, (unsigned char[256]){0}, 256);
    expect(&b, 0, GGUFX_E_OFFSET, at + 25);
}

static void test_tensor_names_are_unique_by_bytes(void **state) {
    const uint64_t ne[1] = {8};
    size_t at;
    gb b;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_tensor(&b, "a", 0, 1, ne, 32);
    at = gb_tensor(&b, "a", 0, 1, ne, 32);
    gb_data(&b);
    gb_bytes(&b, (unsigned char[64]){0}, 64);
    expect(&b, 0, GGUFX_E_DUPLICATE, at);
    gb_begin(&b, 3, 0);
    gb_tensor(&b, "ab", 0, 1, ne, 32);
    at = gb_tensor(&b, "ab", 0, 1, ne, 32);
    b.data[at + 9] = 0; /* "a", NUL: other bytes, and no C string like the first */
    gb_data(&b);
    gb_bytes(&b, (unsigned char[64]){0}, 64);
    expect(&b, GGUFX_OPEN_STRICT, GGUFX_OK, 0);
    gb_begin(&b, 3, 0);
    gb_tensor(&b, "a", 0, 1, ne, 32);
    at = gb_tensor(&b, "ax", 0, 1, ne, 32);
    b.data[at + 9] = 0; /* the same name to ggml */
    gb_data(&b);
    gb_bytes(&b, (unsigned char[64]){0}, 64);
    {
        ggufx_error error;
        assert_int_equal(open_as(&b, b.n, 0, &error), GGUFX_OK);
    }
    expect(&b, GGUFX_OPEN_STRICT, GGUFX_E_DUPLICATE, at);
}

static void test_gaps_and_any_order_are_accepted_unless_strict(void **state) {
    const uint64_t ne[1] = {8};
    size_t at;
    gb b;
    (void)state;
    gb_begin(&b, 3, 0);
    at = gb_tensor_at(&b, "a", 0, 1, ne, 64);
    gb_tensor_at(&b, "b", 0, 1, ne, 0);
    gb_data(&b);
    gb_bytes(&b, (unsigned char[96]){0}, 96);
    {
        ggufx_error error;
        assert_int_equal(open_as(&b, b.n, 0, &error), GGUFX_OK);
    }
    expect(&b, GGUFX_OPEN_STRICT, GGUFX_E_OFFSET, at + 25);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_dims_and_types_of_tensors_are_checked),
        cmocka_unit_test(test_products_that_wrap_are_refused),
        cmocka_unit_test(test_a_zero_dimension_makes_an_empty_tensor),
        cmocka_unit_test(test_offsets_stay_aligned_inside_and_apart),
        cmocka_unit_test(test_tensor_names_are_unique_by_bytes),
        cmocka_unit_test(test_gaps_and_any_order_are_accepted_unless_strict),
    };
    return cmocka_run_group_tests(tests, file_setup, file_teardown);
}
