/*
 * Every fault of a file gives its own code and the byte offset of the field at fault.
 * SPDX-License-Identifier: MIT
 */
#include "gguf_builder.h"

#include <ggufx/ggufx.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static ggufx_runtime *rt;

static int setup(void **state) {
    (void)state;
    return ggufx_runtime_create(&rt, NULL, NULL) == GGUFX_OK ? 0 : -1;
}
static int teardown(void **state) {
    (void)state;
    ggufx_runtime_destroy(rt);
    return 0;
}

/* How an open ends; checks that mapped, read and metadata-only opens agree. */
static ggufx_status open_as(const gb *b, size_t n, uint32_t flags, ggufx_error *error) {
    ggufx_status first = GGUFX_OK;
    int i;
    for (i = 0; i < 4; i++) {
        ggufx_open_options o;
        ggufx_file *f = NULL;
        ggufx_status status;
        ggufx_open_options_init(&o);
        o.flags = flags | (i & 1 ? GGUFX_OPEN_METADATA_ONLY : 0);
        o.io = i & 2 ? GGUFX_IO_READ : GGUFX_IO_AUTO;
        memset(error, 0, sizeof *error);
        status = ggufx_open_memory(&f, rt, b->data, n, NULL, NULL, &o, error);
        assert_int_equal(f != NULL, status == GGUFX_OK);
        assert_int_equal(error->status, status);
        ggufx_file_destroy(f);
        if (i == 0) first = status;
        if (status != first)
            fail_msg("variant %d gives %s, variant 0 %s", i, ggufx_status_name(status),
                     ggufx_status_name(first));
    }
    return first;
}

static void expect(gb *b, uint32_t flags, ggufx_status status, uint64_t offset) {
    ggufx_error error;
    const ggufx_status got = open_as(b, b->n, flags, &error);
    if (got != status)
        fail_msg("%s instead of %s: %s", ggufx_status_name(got), ggufx_status_name(status),
                 error.message);
    if (status != GGUFX_OK && error.offset != offset)
        fail_msg("offset %llu instead of %llu: %s", (unsigned long long)error.offset,
                 (unsigned long long)offset, error.message);
    gb_free(b);
}

static void test_magic_and_version_are_checked(void **state) {
    gb b;
    ggufx_error error;
    (void)state;
    gb_minimal(&b);
    memcpy(b.data, "GGJT", 4);
    assert_int_equal(open_as(&b, b.n, 0, &error), GGUFX_E_MAGIC);
    assert_int_equal(error.offset, 0);
    assert_non_null(strstr(error.message, "before GGUF"));
    gb_free(&b);
    gb_minimal(&b);
    gb_set_u32(&b, 4, 0);
    expect(&b, 0, GGUFX_E_VERSION, 4);
    gb_minimal(&b);
    gb_set_u32(&b, 4, 4);
    expect(&b, 0, GGUFX_E_VERSION, 4);
    gb_minimal(&b);
    gb_set_u32(&b, 4, 0x00030000);
    expect(&b, 0, GGUFX_E_VERSION, 4);
    gb_minimal(&b);
    gb_set_u32(&b, 4, 0x03000000);
    expect(&b, 0, GGUFX_E_ENDIAN, 4); /* only its version is swapped */
}

static void test_version_1_needs_its_flag(void **state) {
    gb b;
    ggufx_error error;
    (void)state;
    gb_everything(&b, 1, 0);
    assert_int_equal(open_as(&b, b.n, 0, &error), GGUFX_E_VERSION);
    assert_int_equal(error.offset, 4);
    assert_non_null(strstr(error.message, "GGUFX_OPEN_LEGACY_V1"));
    expect(&b, GGUFX_OPEN_LEGACY_V1, GGUFX_OK, 0);
}

static void test_counts_that_cannot_fit_are_refused(void **state) {
    gb b;
    (void)state;
    gb_minimal(&b);
    gb_set_u64(&b, 8, UINT64_MAX);
    expect(&b, 0, GGUFX_E_COUNT, 8);
    gb_minimal(&b);
    gb_set_u64(&b, 8, b.n / 24 + 1);
    expect(&b, 0, GGUFX_E_COUNT, 8);
    gb_minimal(&b);
    gb_set_u64(&b, 16, UINT64_C(1) << 60);
    expect(&b, 0, GGUFX_E_COUNT, 16);
    gb_begin(&b, 3, 0);
    gb_key_array(&b, "k", GGUFX_VALUE_U32, 5), gb_bytes(&b, "0123456789abcdef", 16);
    gb_data(&b);
    expect(&b, 0, GGUFX_E_COUNT, 24 + 9 + 4 + 4);
    gb_begin(&b, 3, 0);
    gb_key_array(&b, "k", GGUFX_VALUE_U64, UINT64_C(1) << 61);
    gb_data(&b);
    expect(&b, 0, GGUFX_E_COUNT, 24 + 9 + 4 + 4);
    gb_begin(&b, 3, 0);
    gb_key_array(&b, "k", GGUFX_VALUE_STRING, UINT64_MAX), gb_u64(&b, 0);
    gb_data(&b);
    expect(&b, 0, GGUFX_E_COUNT, 24 + 9 + 4 + 4);
}

static void test_lengths_that_cannot_fit_are_refused(void **state) {
    gb b;
    (void)state;
    gb_minimal(&b);
    gb_set_u64(&b, 24, UINT64_MAX);
    expect(&b, 0, GGUFX_E_LENGTH, 24);
    gb_minimal(&b);
    gb_set_u64(&b, 24 + 8 + 20 + 4, UINT64_MAX - 7);
    expect(&b, 0, GGUFX_E_LENGTH, 24 + 8 + 20 + 4);
    gb_begin(&b, 3, 0);
    gb_key_array(&b, "k", GGUFX_VALUE_STRING, 2), gb_string(&b, "x");
    gb_u64(&b, UINT64_C(1) << 63);
    gb_data(&b);
    expect(&b, 0, GGUFX_E_LENGTH, 24 + 9 + 4 + 12 + 9);
}

static void test_keys_must_be_named_and_unique(void **state) {
    gb b;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_key_string(&b, "", "x");
    gb_data(&b);
    expect(&b, 0, GGUFX_E_KEY, 24);
    gb_begin(&b, 3, 0);
    gb_key_u32(&b, "a", 1);
    gb_key_u32(&b, "b", 1);
    gb_key_string(&b, "a", "x");
    gb_key_u32(&b, "b", 1);
    gb_data(&b);
    expect(&b, 0, GGUFX_E_DUPLICATE, 24 + 2 * 17);
}

static void test_value_types_are_checked(void **state) {
    gb b;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_key(&b, "k", 13), gb_u64(&b, 0);
    gb_data(&b);
    expect(&b, 0, GGUFX_E_KVTYPE, 24 + 9);
    gb_begin(&b, 3, 0);
    gb_key_array(&b, "k", 0x80000000u, 1), gb_u64(&b, 0);
    gb_data(&b);
    expect(&b, 0, GGUFX_E_KVTYPE, 24 + 9 + 4);
}

static void test_alignment_is_a_power_of_two_of_type_u32(void **state) {
    static const uint32_t bad[] = {0, 3, 24, 0xffffffffu};
    size_t i;
    gb b;
    (void)state;
    for (i = 0; i < 4; i++) {
        gb_begin(&b, 3, 0);
        gb_key_u32(&b, "general.alignment", bad[i]);
        gb_data(&b);
        expect(&b, 0, GGUFX_E_ALIGNMENT, 24 + 8 + 17 + 4);
    }
    gb_begin(&b, 3, 0);
    gb_key(&b, "general.alignment", GGUFX_VALUE_U64), gb_u64(&b, 32);
    gb_data(&b);
    expect(&b, 0, GGUFX_E_KVTYPE, 24 + 8 + 17);
}

/* A file with one tensor whose directory entry can be bent; the entry's offset comes back. */
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
    const uint64_t halves[2] = {UINT64_C(1) << 32, UINT64_C(1) << 31}; /* bytes would fit */
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
    one_tensor(&b, "w", 0, 1, ne, 0, 100); /* cut off */
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
    b.data[at + 9] = 0; /* for ggml the same name */
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

static void test_strict_refuses_what_ggml_refuses(void **state) {
    gb b;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_key_array(&b, "k", GGUFX_VALUE_ARRAY, 1), gb_array(&b, GGUFX_VALUE_U8, 1), gb_u8(&b, 1);
    gb_data(&b);
    expect(&b, GGUFX_OPEN_STRICT, GGUFX_E_KVTYPE, 24 + 9 + 4);
    gb_everything(&b, 3, 1);
    expect(&b, GGUFX_OPEN_STRICT, GGUFX_E_ENDIAN, 4);
    gb_minimal(&b);
    expect(&b, GGUFX_OPEN_STRICT, GGUFX_OK, 0);
}

static void test_arrays_nest_8_deep_and_not_9(void **state) {
    int depth, i;
    (void)state;
    for (depth = 8; depth <= 9; depth++) {
        gb b;
        gb_begin(&b, 3, 0);
        gb_key_array(&b, "k", GGUFX_VALUE_ARRAY, 1);
        for (i = 2; i < depth; i++) gb_array(&b, GGUFX_VALUE_ARRAY, 1);
        gb_array(&b, GGUFX_VALUE_U8, 1), gb_u8(&b, 7);
        gb_data(&b);
        expect(&b, 0, depth == 8 ? GGUFX_OK : GGUFX_E_LIMIT, 24 + 9 + 4 + 8 * 12);
    }
}

static void test_inner_arrays_have_a_budget(void **state) {
    gb b;
    unsigned i;
    ggufx_error error;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_key_array(&b, "k", GGUFX_VALUE_ARRAY, 70000);
    for (i = 0; i < 70000; i++) gb_array(&b, GGUFX_VALUE_U8, 0);
    gb_data(&b);
    assert_int_equal(open_as(&b, b.n, 0, &error), GGUFX_E_LIMIT);
    gb_free(&b);
}

static void test_every_prefix_of_a_file_is_refused(void **state) {
    gb b;
    size_t n;
    (void)state;
    gb_everything(&b, 3, 0);
    for (n = 0; n < b.n; n++) {
        ggufx_error error;
        unsigned char *exact = malloc(n ? n : 1); /* a read past the end shows under ASan */
        gb cut = {.data = exact};
        ggufx_status status;
        if (n == b.data_start) { /* all of the directory: fine for metadata alone */
            free(exact);
            continue;
        }
        memcpy(exact, b.data, n);
        status = open_as(&cut, n, 0, &error);
        free(exact);
        if (n <= b.n - 32 && status == GGUFX_OK) fail_msg("prefix of %zu bytes was accepted", n);
        if (status != GGUFX_OK) assert_true(error.offset <= n);
    }
    gb_free(&b);
}

static void test_cut_files_are_truncated_at_their_end(void **state) {
    static const size_t at[] = {5, 15, 23};
    size_t i;
    (void)state;
    for (i = 0; i < 3; i++) {
        gb b;
        gb_minimal(&b);
        b.n = at[i];
        expect(&b, 0, GGUFX_E_TRUNCATED, at[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_magic_and_version_are_checked),
        cmocka_unit_test(test_version_1_needs_its_flag),
        cmocka_unit_test(test_counts_that_cannot_fit_are_refused),
        cmocka_unit_test(test_lengths_that_cannot_fit_are_refused),
        cmocka_unit_test(test_keys_must_be_named_and_unique),
        cmocka_unit_test(test_value_types_are_checked),
        cmocka_unit_test(test_alignment_is_a_power_of_two_of_type_u32),
        cmocka_unit_test(test_names_dims_and_types_of_tensors_are_checked),
        cmocka_unit_test(test_products_that_wrap_are_refused),
        cmocka_unit_test(test_a_zero_dimension_makes_an_empty_tensor),
        cmocka_unit_test(test_offsets_stay_aligned_inside_and_apart),
        cmocka_unit_test(test_tensor_names_are_unique_by_bytes),
        cmocka_unit_test(test_gaps_and_any_order_are_accepted_unless_strict),
        cmocka_unit_test(test_strict_refuses_what_ggml_refuses),
        cmocka_unit_test(test_arrays_nest_8_deep_and_not_9),
        cmocka_unit_test(test_inner_arrays_have_a_budget),
        cmocka_unit_test(test_every_prefix_of_a_file_is_refused),
        cmocka_unit_test(test_cut_files_are_truncated_at_their_end),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
