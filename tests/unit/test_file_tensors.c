/*
 * Tensors of files and of wrapped memory: shapes, strides, refusals.
 * SPDX-License-Identifier: MIT
 */
#include "ok.h"
#include "tensor_fixture.h"
#include "weight_calls.h"

#include <string.h>

static void test_file_tensors_are_described_and_found(void **state) {
    gb b;
    ggufx_file *f = NULL;
    ggufx_tensor_facts facts;
    size_t index = 0;
    ggufx_error error;
    (void)state;
    gb_everything(&b, 3, 0);
    OK(ggufx_open_memory(&f, rt, b.data, b.n, NULL, NULL, NULL, ok_error()));
    OK(ggufx_file_tensor_find(&index, f, "matrix", 6, ok_error()));
    assert_int_equal(index, 1);
    facts = facts_of(ggufx_file_tensor(f, index));
    assert_int_equal(facts.type, GGUFX_TYPE_Q8_0);
    assert_int_equal(facts.n_dims, 2);
    assert_true(facts.ne[0] == 32 && facts.ne[1] == 3 && facts.ne[2] == 1 && facts.ne[3] == 1);
    assert_int_equal(facts.row_bytes, 34);
    assert_int_equal(facts.row_stride, 34);
    assert_int_equal(facts.n_rows, 3);
    assert_int_equal(facts.n_bytes, 102);
    assert_int_equal(facts.offset, 32);
    assert_int_equal(facts.file_offset, b.data_start + 32);
    assert_int_equal(facts.part, 0);
    assert_int_equal(facts.memory_kind, 0);
    assert_int_equal(facts.name.size, 6);
    assert_memory_equal(facts.name.data, "matrix", 6);
    facts = facts_of(ggufx_file_tensor(f, 2));
    assert_int_equal(facts.n_dims, 0);
    assert_int_equal(facts.n_rows, 1);
    assert_int_equal(facts.n_bytes, 2);
    assert_null(ggufx_file_tensor(f, 3));
    assert_int_equal(ggufx_file_tensor_find(&index, f, "matrix2", 7, &error), GGUFX_E_NOT_FOUND);
    assert_int_equal(ggufx_file_tensor_find(&index, f, "matri", 5, &error), GGUFX_E_NOT_FOUND);
    assert_non_null(strstr(error.message, "matri"));
    assert_int_equal(ggufx_file_tensor_find(NULL, f, "matrix", 6, NULL), GGUFX_E_ARGUMENT);
    ggufx_tensor_destroy((ggufx_tensor *)(uintptr_t)ggufx_file_tensor(f, 1)); /* not destroyed */
    assert_non_null(ggufx_tensor_data(ggufx_file_tensor(f, 1)));
    ggufx_file_destroy(f);
    gb_free(&b);
}

static void test_unknown_types_are_listed_without_data(void **state) {
    const uint64_t ne[2] = {100, 7};
    gb b;
    ggufx_file *f = NULL;
    ggufx_open_options o = {.struct_size = sizeof o};
    ggufx_tensor_facts facts;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_tensor_at(&b, "w", 200, 2, ne, 0);
    gb_data(&b);
    gb_bytes(&b, (unsigned char[64]){0}, 64);
    o.flags = GGUFX_OPEN_UNKNOWN_TYPES;
    OK(ggufx_open_memory(&f, rt, b.data, b.n, NULL, NULL, &o, ok_error()));
    facts = facts_of(ggufx_file_tensor(f, 0));
    assert_int_equal(facts.type, 200);
    assert_int_equal(facts.ne[0], 100);
    assert_int_equal(facts.n_rows, 7);
    assert_int_equal(facts.n_bytes, 0);
    assert_null(ggufx_tensor_data(ggufx_file_tensor(f, 0)));
    ggufx_file_destroy(f);
    gb_free(&b);
}

static void test_wrap_gives_strided_rows(void **state) {
    float x[6 * 7], y[24];
    int destroyed = 0, i;
    ggufx_tensor *t;
    ggufx_tensor_facts facts;
    (void)state;
    fill(x, 7);
    t = wrap(x, 7, &destroyed);
    facts = facts_of(t);
    assert_int_equal(facts.row_bytes, 16);
    assert_int_equal(facts.row_stride, 28);
    assert_int_equal(facts.n_rows, 6);
    assert_int_equal(facts.n_bytes, 96);
    assert_true(facts.offset == GGUFX_NONE && facts.file_offset == GGUFX_NONE);
    assert_memory_equal(facts.name.data, "x", 1);
    OK(ggufx_dequantize(y, 24, rt, t, 0, 6, ok_error()));
    for (i = 0; i < 24; i++)
        assert_true(y[i] == (float)(100 * (i / 12) + 10 * (i / 4 % 3) + i % 4));
    assert_int_equal(destroyed, 0);
    ggufx_tensor_destroy(t);
    assert_int_equal(destroyed, 1);
}

static void test_wrap_refuses_what_does_not_fit_and_destroys_once(void **state) {
    const uint64_t ne[2] = {32, 2}, odd[1] = {31};
    const uint64_t wrap_ne[2] = {UINT64_C(1) << 40, UINT64_C(1) << 40};
    static const float x[64];
    int n = 0;
    ggufx_tensor *t = NULL;
    ggufx_error e;
    (void)state;
    assert_int_equal(tensor_of(&t, rt, 0, 2, ne, 0, x, 255, NULL, count_one, &n, &e),
                     GGUFX_E_BOUNDS);
    assert_int_equal(tensor_of(&t, rt, 0, 2, ne, 127, x, 256, NULL, count_one, &n, &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(tensor_of(&t, rt, 0, 2, ne, 129, x, 256, NULL, count_one, &n, &e),
                     GGUFX_E_BOUNDS);
    assert_int_equal(tensor_of(&t, rt, 0, 5, ne, 0, x, 256, NULL, count_one, &n, &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(tensor_of(&t, rt, 8, 1, odd, 0, x, 256, NULL, count_one, &n, &e),
                     GGUFX_E_SHAPE);
    assert_int_equal(tensor_of(&t, rt, 5, 1, ne, 0, x, 256, NULL, count_one, &n, &e), GGUFX_E_TYPE);
    assert_int_equal(tensor_of(&t, rt, 99, 1, ne, 0, x, 256, NULL, count_one, &n, &e),
                     GGUFX_E_TYPE);
    assert_int_equal(tensor_of(&t, rt, 0, 2, wrap_ne, 0, x, 256, NULL, count_one, &n, &e),
                     GGUFX_E_OVERFLOW);
    assert_int_equal(
        tensor_of(&t, rt, 0, 2, ne, UINT64_MAX - 128, x, UINT64_MAX, NULL, count_one, &n, &e),
        GGUFX_OK); /* one stride still fits 64 bits ... */
    ggufx_tensor_destroy(t);
    assert_int_equal(
        tensor_of(&t, rt, 0, 2, ne, UINT64_MAX, x, UINT64_MAX, NULL, count_one, &n, &e),
        GGUFX_E_OVERFLOW); /* ... and this one does not */
    assert_int_equal(tensor_of(&t, rt, 0, 2, ne, 0, NULL, 256, NULL, count_one, &n, &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(tensor_of(&t, NULL, 0, 2, ne, 0, x, 256, NULL, count_one, &n, &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(tensor_of(NULL, rt, 0, 2, ne, 0, x, 256, NULL, count_one, &n, &e),
                     GGUFX_E_ARGUMENT);
    assert_null(t);
    assert_int_equal(n, 13);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_tensors_are_described_and_found),
        cmocka_unit_test(test_unknown_types_are_listed_without_data),
        cmocka_unit_test(test_wrap_gives_strided_rows),
        cmocka_unit_test(test_wrap_refuses_what_does_not_fit_and_destroys_once),
    };
    return cmocka_run_group_tests(tests, file_setup, file_teardown);
}
