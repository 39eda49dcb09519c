/*
 * Getters of keys: results, refusals, and widening rules.
 * SPDX-License-Identifier: MIT
 */
#include "file_fixture.h"
#include "ok.h"

#include <string.h>

static void test_entries_describe_keys_in_file_order(void **state) {
    gb b;
    ggufx_file *f;
    ggufx_meta_facts e = {.struct_size = sizeof e};
    ggufx_error error;
    size_t out;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_key(&b, "n", GGUFX_VALUE_U8), gb_u8(&b, 1);
    b.n_keys++;
    gb_string_n(&b, "n\0ul", 4), gb_u32(&b, GGUFX_VALUE_U8), gb_u8(&b, 2);
    gb_key_array(&b, "arr", GGUFX_VALUE_F64, 1), gb_f64(&b, 1);
    gb_key_string(&b, "str", "four");
    gb_data(&b);
    f = open_bytes(&b, 0);
    assert_int_equal(ggufx_file_meta_count(f), 4);
    OK(ggufx_file_meta_at(&e, f, 1, ok_error()));
    assert_int_equal(e.key.size, 4);
    assert_memory_equal(e.key.data, "n\0ul", 4);
    assert_int_equal(e.type, GGUFX_VALUE_U8);
    assert_int_equal(e.element_type, -1);
    assert_int_equal(e.count, 1);
    assert_int_equal(b.data[e.offset], 2);
    OK(ggufx_file_meta_find(&out, f, "n\0ul", 4, ok_error()));
    assert_int_equal(out, 1);
    OK(ggufx_file_meta_find(&out, f, "n", 1, ok_error()));
    assert_int_equal(out, 0);
    assert_int_equal(ggufx_file_meta_find(&out, f, "n\0u", 3, &error), GGUFX_E_NOT_FOUND);
    assert_int_equal(ggufx_file_meta_find(&out, f, "", 0, &error), GGUFX_E_NOT_FOUND);
    OK(ggufx_file_meta_at(&e, f, 2, ok_error()));
    assert_int_equal(e.element_type, GGUFX_VALUE_F64);
    OK(ggufx_file_meta_at(&e, f, 3, ok_error()));
    assert_int_equal(e.count, 4);
    assert_int_equal(ggufx_file_meta_at(&e, f, 4, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_file_meta_at(&e, f, SIZE_MAX, &error), GGUFX_E_ARGUMENT);
    e.struct_size = 4;
    assert_int_equal(ggufx_file_meta_at(&e, f, 0, &error), GGUFX_E_ARGUMENT);
    ggufx_file_destroy(f);
    gb_free(&b);
}

static void test_getters_refuse_what_loses_a_value(void **state) {
    gb b;
    ggufx_file *f;
    ggufx_error error;
    uint64_t u;
    int64_t i;
    double d;
    int32_t flag;
    (void)state;
    gb_everything(&b, 3, 0);
    f = open_bytes(&b, 0);
    assert_int_equal(ggufx_file_meta_u64(&u, f, find(f, "s.i8"), &error), GGUFX_E_VALUE);
    assert_non_null(strstr(error.message, "s.i8"));
    assert_non_null(strstr(error.message, "-128"));
    assert_int_equal(b.data[error.offset], 0x80);
    assert_int_equal(ggufx_file_meta_i64(&i, f, find(f, "s.u64"), &error), GGUFX_E_VALUE);
    assert_int_equal(ggufx_file_meta_f64(&d, f, find(f, "s.u64"), &error), GGUFX_E_VALUE);
    assert_int_equal(ggufx_file_meta_f64(&d, f, find(f, "s.i64"), &error), GGUFX_E_VALUE);
    assert_int_equal(ggufx_file_meta_f64(&d, f, find(f, "s.bool"), &error), GGUFX_E_VALUE_TYPE);
    assert_int_equal(ggufx_file_meta_u64(&u, f, find(f, "s.f32"), &error), GGUFX_E_VALUE_TYPE);
    assert_int_equal(ggufx_file_meta_u64(&u, f, find(f, "a.u8"), &error), GGUFX_E_VALUE_TYPE);
    assert_int_equal(ggufx_file_meta_u64(&u, f, find(f, "s.string"), &error), GGUFX_E_VALUE_TYPE);
    assert_int_equal(ggufx_file_meta_bool(&flag, f, find(f, "s.u8"), &error), GGUFX_E_VALUE_TYPE);
    assert_int_equal(ggufx_file_meta_u64(NULL, f, 0, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_file_meta_u64(&u, NULL, 0, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_file_meta_u64(&u, f, 1000000, &error), GGUFX_E_ARGUMENT);
    ggufx_file_destroy(f);
    gb_free(&b);
}

static void test_f64_takes_integers_up_to_2_to_the_53(void **state) {
    gb b;
    ggufx_file *f;
    double d;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_key(&b, "yes", GGUFX_VALUE_U64), gb_u64(&b, UINT64_C(1) << 53);
    gb_key(&b, "no", GGUFX_VALUE_U64), gb_u64(&b, (UINT64_C(1) << 53) + 1);
    gb_key(&b, "minus", GGUFX_VALUE_I64), gb_u64(&b, 0 - (UINT64_C(1) << 53));
    gb_key(&b, "less", GGUFX_VALUE_I64), gb_u64(&b, 0 - (UINT64_C(1) << 53) - 1);
    gb_data(&b);
    f = open_bytes(&b, 0);
    OK(ggufx_file_meta_f64(&d, f, 0, ok_error()));
    assert_true(d == 9007199254740992.0);
    assert_int_equal(ggufx_file_meta_f64(&d, f, 1, NULL), GGUFX_E_VALUE);
    OK(ggufx_file_meta_f64(&d, f, 2, ok_error()));
    assert_true(d == -9007199254740992.0);
    assert_int_equal(ggufx_file_meta_f64(&d, f, 3, NULL), GGUFX_E_VALUE);
    ggufx_file_destroy(f);
    gb_free(&b);
}

static void test_any_nonzero_byte_is_true(void **state) {
    gb b;
    ggufx_file *f;
    int32_t flag = 0;
    uint64_t u = 0;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_key(&b, "b", GGUFX_VALUE_BOOL), gb_u8(&b, 0xff);
    gb_data(&b);
    f = open_bytes(&b, 0);
    OK(ggufx_file_meta_bool(&flag, f, 0, ok_error()));
    assert_int_equal(flag, 1);
    OK(ggufx_file_meta_u64(&u, f, 0, ok_error()));
    assert_int_equal(u, 1);
    ggufx_file_destroy(f);
    gb_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_describe_keys_in_file_order),
        cmocka_unit_test(test_getters_refuse_what_loses_a_value),
        cmocka_unit_test(test_f64_takes_integers_up_to_2_to_the_53),
        cmocka_unit_test(test_any_nonzero_byte_is_true),
    };
    return cmocka_run_group_tests(tests, file_setup, file_teardown);
}
