/*
 * Metadata of every type, version and byte order through the getters.
 * SPDX-License-Identifier: MIT
 */
#include "file_fixture.h"
#include "ok.h"

#include <stdio.h>
#include <string.h>

typedef struct variant {
    uint32_t version;
    int big_endian;
} variant;
static const variant variants[] = {{1, 0}, {2, 0}, {3, 0}, {3, 1}, {2, 1}, {1, 1}};

static void check_scalars(const ggufx_file *f) {
    uint64_t u = 0;
    int64_t i = 0;
    double d = 0;
    int32_t b = 0;
    OK(ggufx_file_meta_u64(&u, f, find(f, "s.u8"), ok_error()));
    assert_int_equal(u, 200);
    OK(ggufx_file_meta_i64(&i, f, find(f, "s.i8"), ok_error()));
    assert_int_equal(i, -128);
    OK(ggufx_file_meta_i64(&i, f, find(f, "s.u16"), ok_error()));
    assert_int_equal(i, 65535);
    OK(ggufx_file_meta_i64(&i, f, find(f, "s.i16"), ok_error()));
    assert_int_equal(i, -32768);
    OK(ggufx_file_meta_u64(&u, f, find(f, "s.u32"), ok_error()));
    assert_int_equal(u, 4294967295u);
    OK(ggufx_file_meta_f64(&d, f, find(f, "s.i32"), ok_error()));
    assert_true(d == -2147483648.0);
    OK(ggufx_file_meta_f64(&d, f, find(f, "s.f32"), ok_error()));
    assert_true(d == -1.5);
    OK(ggufx_file_meta_bool(&b, f, find(f, "s.bool"), ok_error()));
    assert_int_equal(b, 1);
    OK(ggufx_file_meta_u64(&u, f, find(f, "s.bool"), ok_error()));
    assert_int_equal(u, 1);
    OK(ggufx_file_meta_u64(&u, f, find(f, "s.u64"), ok_error()));
    assert_true(u == UINT64_MAX);
    OK(ggufx_file_meta_i64(&i, f, find(f, "s.i64"), ok_error()));
    assert_true(i == INT64_MIN);
    OK(ggufx_file_meta_f64(&d, f, find(f, "s.f64"), ok_error()));
    assert_true(d == 1e300);
    /* an array of exactly one */
    OK(ggufx_file_meta_u64(&u, f, find(f, "a.u32"), ok_error()));
    assert_int_equal(u, 42);
}

static void check_arrays(const ggufx_file *f) {
    uint64_t u[3];
    int64_t i[2];
    double d[2];
    ggufx_error error;
    OK(ggufx_file_meta_array_u64(u, f, find(f, "a.u8"), 0, 3, ok_error()));
    assert_true(u[0] == 1 && u[1] == 2 && u[2] == 3);
    OK(ggufx_file_meta_array_i64(i, f, find(f, "a.i16"), 1, 1, ok_error()));
    assert_int_equal(i[0], -1);
    OK(ggufx_file_meta_array_f64(d, f, find(f, "a.f32"), 0, 2, ok_error()));
    assert_true(d[0] == 0.5 && d[1] == 2.0);
    OK(ggufx_file_meta_array_u64(u, f, find(f, "a.bool"), 0, 2, ok_error()));
    assert_true(u[0] == 0 && u[1] == 1);
    /* a scalar is an array of one */
    OK(ggufx_file_meta_array_u64(u, f, find(f, "s.u8"), 0, 1, ok_error()));
    assert_int_equal(u[0], 200);
    OK(ggufx_file_meta_array_u64(NULL, f, find(f, "a.u8"), 3, 0, ok_error()));
    assert_int_equal(ggufx_file_meta_array_u64(u, f, find(f, "a.u8"), 2, 2, &error),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_file_meta_array_u64(u, f, find(f, "a.u8"), UINT64_MAX, 1, &error),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_file_meta_array_i64(i, f, find(f, "a.u64"), 0, 2, &error),
                     GGUFX_E_VALUE);
    assert_int_equal(error.index, 1);
    assert_int_equal(ggufx_file_meta_array_u64(u, f, find(f, "a.f32"), 0, 1, &error),
                     GGUFX_E_VALUE_TYPE);
}

static void check_strings(const ggufx_file *f) {
    ggufx_text text = {NULL, 0};
    size_t i;
    ggufx_error error;
    OK(ggufx_file_meta_string(&text, f, find(f, "s.string"), ok_error()));
    assert_int_equal(text.size, 3);
    assert_memory_equal(text.data, "a\0b", 3);
    OK(ggufx_file_meta_string(&text, f, find(f, "s.empty"), ok_error()));
    assert_int_equal(text.size, 0);
    for (i = 0; i < 200; i++) {
        char want[16];
        const size_t at = (i * 77) % 200;
        snprintf(want, sizeof want, "<%u>", (unsigned)at);
        if (at % 10 == 0) want[0] = 0;
        OK(ggufx_file_meta_array_string(&text, f, find(f, "a.string"), at, ok_error()));
        assert_int_equal(text.size, strlen(want));
        assert_memory_equal(text.data, want, text.size);
    }
    assert_int_equal(ggufx_file_meta_array_string(&text, f, find(f, "a.string"), 200, &error),
                     GGUFX_E_ARGUMENT);
    assert_null(text.data);
    assert_int_equal(ggufx_file_meta_array_string(&text, f, find(f, "a.none"), 0, &error),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_file_meta_array_string(&text, f, find(f, "a.u8"), 0, &error),
                     GGUFX_E_VALUE_TYPE);
    assert_int_equal(ggufx_file_meta_string(&text, f, find(f, "s.u8"), &error), GGUFX_E_VALUE_TYPE);
}

static size_t nested(const ggufx_file *f, size_t index, uint64_t i, int32_t type, uint64_t count) {
    size_t out = 0;
    ggufx_meta_facts e = {.struct_size = sizeof e};
    ggufx_error error;
    if (ggufx_file_meta_array_nested(&out, f, index, i, &error) != GGUFX_OK)
        fail_msg("%s", error.message);
    assert_true(out >= ggufx_file_meta_count(f));
    OK(ggufx_file_meta_at(&e, f, out, ok_error()));
    assert_int_equal(e.type, GGUFX_VALUE_ARRAY);
    assert_int_equal(e.element_type, type);
    assert_int_equal(e.count, count);
    assert_null(e.key.data);
    return out;
}

static void check_nested(const ggufx_file *f) {
    const size_t outer = find(f, "a.nested");
    uint64_t u[2] = {0, 0};
    ggufx_text text;
    size_t inner, out;
    ggufx_error error;
    OK(ggufx_file_meta_array_u64(u, f, nested(f, outer, 0, GGUFX_VALUE_U16, 2), 0, 2, ok_error()));
    assert_true(u[0] == 1 && u[1] == 2);
    nested(f, outer, 1, GGUFX_VALUE_U8, 0);
    OK(ggufx_file_meta_array_string(&text, f, nested(f, outer, 2, GGUFX_VALUE_STRING, 1), 0,
                                    ok_error()));
    assert_true(text.size == 1 && text.data[0] == 'x');
    inner = nested(f, outer, 3, GGUFX_VALUE_ARRAY, 2);
    OK(ggufx_file_meta_array_u64(u, f, nested(f, inner, 1, GGUFX_VALUE_U8, 2), 0, 2, ok_error()));
    assert_true(u[0] == 4 && u[1] == 5);
    OK(ggufx_file_meta_u64(u, f, nested(f, outer, 4, GGUFX_VALUE_I64, 1), ok_error()));
    assert_int_equal(u[0], 6);
    assert_int_equal(ggufx_file_meta_array_nested(&out, f, outer, 5, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_file_meta_array_nested(&out, f, find(f, "a.u8"), 0, &error),
                     GGUFX_E_VALUE_TYPE);
    assert_int_equal(ggufx_file_meta_u64(u, f, outer, &error), GGUFX_E_VALUE_TYPE);
}

static void test_every_value_is_read_in_every_version_and_byte_order(void **state) {
    size_t i;
    (void)state;
    for (i = 0; i < sizeof variants / sizeof *variants; i++) {
        const variant v = variants[i];
        gb b;
        ggufx_file *f;
        ggufx_file_facts facts = {.struct_size = sizeof facts};
        gb_everything(&b, v.version, v.big_endian);
        f = open_bytes(&b, 0);
        OK(ggufx_file_info(&facts, f, ok_error()));
        assert_int_equal(facts.version, v.version);
        assert_int_equal(facts.big_endian, v.big_endian);
        assert_int_equal(facts.alignment, 32);
        assert_int_equal(facts.data_offset, b.data_start);
        assert_int_equal(facts.file_size, b.n);
        assert_int_equal(facts.n_meta, b.n_keys);
        assert_int_equal(facts.n_tensors, 3);
        assert_int_equal(facts.n_values, 8 + 96 + 1);
        assert_int_equal(facts.n_bytes, 32 + 102 + 2);
        assert_int_equal(facts.n_parts, 1);
        check_scalars(f);
        check_arrays(f);
        check_strings(f);
        check_nested(f);
        ggufx_file_destroy(f);
        gb_free(&b);
    }
}

static void test_tensor_data_of_both_byte_orders_are_equal_in_memory(void **state) {
    gb little, big;
    ggufx_file *a, *b;
    size_t i;
    (void)state;
    gb_everything(&little, 3, 0);
    gb_everything(&big, 3, 1);
    assert_memory_not_equal(little.data + little.data_start, big.data + big.data_start, 32);
    a = open_bytes(&little, 0);
    b = open_bytes(&big, 0);
    for (i = 0; i < 3; i++) {
        ggufx_tensor_facts facts = {.struct_size = sizeof facts};
        const ggufx_tensor *x = ggufx_file_tensor(a, i), *y = ggufx_file_tensor(b, i);
        OK(ggufx_tensor_info(&facts, x, ok_error()));
        assert_memory_equal(ggufx_tensor_data(x), ggufx_tensor_data(y), facts.n_bytes);
    }
    ggufx_file_destroy(a);
    ggufx_file_destroy(b);
    gb_free(&little);
    gb_free(&big);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_value_is_read_in_every_version_and_byte_order),
        cmocka_unit_test(test_tensor_data_of_both_byte_orders_are_equal_in_memory),
    };
    return cmocka_run_group_tests(tests, file_setup, file_teardown);
}
