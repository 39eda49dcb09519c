/*
 * Every fault of a file has its own status and the byte offset of the field at fault: headers,
 * keys, truncation.
 * SPDX-License-Identifier: MIT
 */
#include "file_fixture.h"

#include <stdlib.h>
#include <string.h>

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
    expect(&b, 0, GGUFX_E_VALUE_TYPE, 24 + 9);
    gb_begin(&b, 3, 0);
    gb_key_array(&b, "k", 0x80000000u, 1), gb_u64(&b, 0);
    gb_data(&b);
    expect(&b, 0, GGUFX_E_VALUE_TYPE, 24 + 9 + 4);
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
    expect(&b, 0, GGUFX_E_VALUE_TYPE, 24 + 8 + 17);
}

static void test_strict_refuses_what_ggml_refuses(void **state) {
    gb b;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_key_array(&b, "k", GGUFX_VALUE_ARRAY, 1), gb_array(&b, GGUFX_VALUE_U8, 1), gb_u8(&b, 1);
    gb_data(&b);
    expect(&b, GGUFX_OPEN_STRICT, GGUFX_E_VALUE_TYPE, 24 + 9 + 4);
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
        unsigned char *exact = malloc(n ? n : 1); /* ASan detects reads past the end */
        gb cut = {.data = exact};
        ggufx_status status;
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

/* A file with two keys, the second one a string, and n_tensors tensors; returns the offsets of its
 * parts. */
typedef struct places {
    size_t key, text, tensors;
} places;

static places two_keys(gb *b, int n_tensors) {
    const uint64_t ne[2] = {32, 2};
    places at;
    int i;
    gb_begin(b, 3, 0);
    gb_key_u32(b, "first", 7);
    at.key = b->n;
    gb_key_string(b, "second", "text");
    at.text = b->n - 12;
    at.tensors = b->n;
    for (i = 0; i < n_tensors; i++) gb_tensor(b, i ? "weight" : "bias", GGUFX_TYPE_F32, 2, ne, 256);
    gb_data(b);
    if (n_tensors == 0) b->n = at.tensors; /* no padding */
    for (i = 0; i < n_tensors * 64; i++) gb_f32(b, (float)i + 0.1f);
    return at;
}

static void one_more(gb *b, size_t at, ggufx_status status) {
    gb_set_u64(b, at, b->data[at] + 1u); /* it was below 255 */
    expect(b, 0, status, at);
}

/* If a number is too large by one, the fault is that number, not the following bytes or the end of
 * the file. */
static void test_numbers_one_too_large_are_found(void **state) {
    int n;
    (void)state;
    for (n = 0; n < 3; n++) {
        gb b;
        places at = two_keys(&b, n);
        expect(&b, 0, GGUFX_OK, 0);
        two_keys(&b, n);
        one_more(&b, at.key, GGUFX_E_LENGTH);
        two_keys(&b, n);
        one_more(&b, at.text, n ? GGUFX_E_LENGTH : GGUFX_E_TRUNCATED);
        two_keys(&b, n);
        one_more(&b, 16, GGUFX_E_COUNT);
        two_keys(&b, n);
        if (n > 0)
            one_more(&b, 8, GGUFX_E_COUNT);
        else
            gb_free(&b);
    }
}

/* A file without tensors may have padding after its directory. */
static void test_a_key_too_many_is_found_before_padding(void **state) {
    gb b;
    (void)state;
    two_keys(&b, 0);
    gb_pad(&b);
    one_more(&b, 16, GGUFX_E_COUNT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_magic_and_version_are_checked),
        cmocka_unit_test(test_numbers_one_too_large_are_found),
        cmocka_unit_test(test_a_key_too_many_is_found_before_padding),
        cmocka_unit_test(test_version_1_needs_its_flag),
        cmocka_unit_test(test_counts_that_cannot_fit_are_refused),
        cmocka_unit_test(test_lengths_that_cannot_fit_are_refused),
        cmocka_unit_test(test_keys_must_be_named_and_unique),
        cmocka_unit_test(test_value_types_are_checked),
        cmocka_unit_test(test_alignment_is_a_power_of_two_of_type_u32),
        cmocka_unit_test(test_strict_refuses_what_ggml_refuses),
        cmocka_unit_test(test_arrays_nest_8_deep_and_not_9),
        cmocka_unit_test(test_inner_arrays_have_a_budget),
        cmocka_unit_test(test_every_prefix_of_a_file_is_refused),
        cmocka_unit_test(test_cut_files_are_truncated_at_their_end),
    };
    return cmocka_run_group_tests(tests, file_setup, file_teardown);
}
