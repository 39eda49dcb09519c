/*
 * Slices of tensors: rows, matrices, columns, lifetimes.
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"
#include "ok.h"
#include "tensor_fixture.h"
#include "weight_calls.h"

#include <string.h>

static float first_of(const ggufx_tensor *t, uint64_t row) {
    const ggufx_tensor_facts facts = facts_of(t);
    float stored, y;
    memcpy(&stored, (const char *)ggufx_tensor_data(t) + row * facts.row_stride, sizeof stored);
    put_le(&y, stored); /* its own inverse */
    return y;
}

static void test_slices_take_rows_matrices_and_columns(void **state) {
    float x[6 * 5];
    int destroyed = 0;
    ggufx_tensor *t, *s = NULL, *u = NULL;
    ggufx_tensor_facts facts;
    ggufx_error error;
    (void)state;
    fill(x, 5);
    t = wrap(x, 5, &destroyed);
    OK(ggufx_tensor_slice(&s, t, 2, 1, 1, ok_error())); /* second matrix */
    facts = facts_of(s);
    assert_true(facts.ne[0] == 4 && facts.ne[1] == 3 && facts.ne[2] == 1);
    assert_int_equal(facts.n_rows, 3);
    assert_int_equal(facts.n_bytes, 48);
    assert_true(first_of(s, 0) == 100 && first_of(s, 2) == 120);
    OK(ggufx_tensor_slice(&u, s, 1, 1, 2, ok_error())); /* its rows 1 and 2 */
    assert_int_equal(facts_of(u).n_rows, 2);
    assert_true(first_of(u, 0) == 110 && first_of(u, 1) == 120);
    ggufx_tensor_destroy(u);
    ggufx_tensor_destroy(s);
    OK(ggufx_tensor_slice(&s, t, 0, 2, 2, ok_error())); /* columns 2 and 3 */
    facts = facts_of(s);
    assert_int_equal(facts.row_bytes, 8);
    assert_int_equal(facts.row_stride, 20);
    assert_int_equal(facts.n_rows, 6);
    assert_int_equal(facts.n_bytes, 48);
    assert_true(first_of(s, 0) == 2 && first_of(s, 5) == 122);
    ggufx_tensor_destroy(s);
    OK(ggufx_tensor_slice(&s, t, 1, 1, 1, ok_error())); /* row 1 of each */
    assert_int_equal(facts_of(s).n_rows, 2);
    assert_int_equal(facts_of(s).row_stride, 60);
    assert_true(first_of(s, 0) == 10 && first_of(s, 1) == 110);
    ggufx_tensor_destroy(s);
    assert_int_equal(ggufx_tensor_slice(&s, t, 1, 0, 2, &error), GGUFX_E_UNSUPPORTED);
    assert_null(s);
    OK(ggufx_tensor_slice(&s, t, 1, 0, 3, ok_error())); /* all of it */
    assert_int_equal(facts_of(s).n_rows, 6);
    ggufx_tensor_destroy(s);
    assert_int_equal(ggufx_tensor_slice(&s, t, 1, 2, 2, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_slice(&s, t, 1, UINT64_MAX, 2, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_slice(&s, t, 4, 0, 1, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_slice(&s, NULL, 0, 0, 1, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_slice(NULL, t, 0, 0, 1, &error), GGUFX_E_ARGUMENT);
    OK(ggufx_tensor_slice(&s, t, 2, 1, 0, ok_error())); /* nothing */
    assert_int_equal(facts_of(s).n_bytes, 0);
    assert_null(ggufx_tensor_data(s));
    ggufx_tensor_destroy(s);
    ggufx_tensor_destroy(t);
    assert_int_equal(destroyed, 1);
}

static void test_column_slices_stay_on_block_borders(void **state) {
    const uint64_t ne[2] = {96, 2};
    unsigned char blocks[6 * 34];
    ggufx_tensor *t = NULL, *s = NULL;
    float y[64];
    size_t i;
    (void)state;
    for (i = 0; i < 6; i++) {
        blocks[i * 34] = 0, blocks[i * 34 + 1] = 0x3c;
        memset(blocks + i * 34 + 2, (int)i + 1, 32);
    }
    OK(tensor_of(&t, rt, GGUFX_TYPE_Q8_0, 2, ne, 0, blocks, sizeof blocks, NULL, NULL, NULL,
                 ok_error()));
    assert_int_equal(ggufx_tensor_slice(&s, t, 0, 16, 32, NULL), GGUFX_E_SHAPE);
    assert_int_equal(ggufx_tensor_slice(&s, t, 0, 32, 16, NULL), GGUFX_E_SHAPE);
    OK(ggufx_tensor_slice(&s, t, 0, 32, 32, ok_error()));
    assert_int_equal(facts_of(s).row_stride, 102);
    OK(ggufx_dequantize(y, 64, rt, s, 0, 2, ok_error()));
    assert_true(y[0] == 2 && y[31] == 2 && y[32] == 5 && y[63] == 5);
    ggufx_tensor_destroy(s);
    ggufx_tensor_destroy(t);
}

static void test_slices_keep_their_owner_in_any_order(void **state) {
    int order;
    (void)state;
    for (order = 0; order < 4; order++) {
        fault memory;
        ggufx_runtime *own;
        float x[6 * 4];
        const uint64_t ne[3] = {4, 3, 2};
        int destroyed = 0;
        ggufx_tensor *t = NULL, *s = NULL, *u = NULL;
        fault_init(&memory);
        own = fault_runtime(&memory, 1);
        fill(x, 4);
        OK(tensor_of(&t, own, 0, 3, ne, 0, x, sizeof x, "name", count_one, &destroyed, ok_error()));
        OK(ggufx_tensor_slice(&s, t, 2, 1, 1, ok_error()));
        OK(ggufx_tensor_slice(&u, s, 1, 2, 1, ok_error()));
        if (order & 1) ggufx_runtime_destroy(own);
        ggufx_tensor_destroy(order & 2 ? s : t);
        ggufx_tensor_destroy(order & 2 ? t : s);
        assert_int_equal(destroyed, 0);
        assert_true(first_of(u, 0) == 120);
        assert_memory_equal(facts_of(u).name.data, "name", 4);
        ggufx_tensor_destroy(u);
        assert_int_equal(destroyed, 1);
        if (!(order & 1)) ggufx_runtime_destroy(own);
        assert_int_equal(memory.live, 0);
        assert_int_equal(memory.destroyed, 1);
    }
}

static void test_slices_of_file_tensors_keep_the_file(void **state) {
    fault memory;
    ggufx_runtime *own;
    gb b;
    int destroyed = 0;
    ggufx_file *f = NULL;
    ggufx_tensor *s = NULL;
    ggufx_tensor_facts facts;
    (void)state;
    gb_everything(&b, 3, 0);
    fault_init(&memory);
    own = fault_runtime(&memory, 1);
    OK(ggufx_open_memory(&f, own, b.data, b.n, count_one, &destroyed, NULL, ok_error()));
    OK(ggufx_tensor_slice(&s, ggufx_file_tensor(f, 1), 1, 2, 1, ok_error()));
    ggufx_runtime_destroy(own);
    ggufx_file_destroy(f);
    assert_int_equal(destroyed, 0);
    facts = facts_of(s);
    assert_memory_equal(facts.name.data, "matrix", 6);
    assert_int_equal(facts.file_offset, b.data_start + 32 + 68);
    assert_int_equal(((const unsigned char *)ggufx_tensor_data(s))[2], 64);
    ggufx_tensor_destroy(s);
    assert_int_equal(destroyed, 1);
    assert_int_equal(memory.live, 0);
    gb_free(&b);
}

static ggufx_status wrap_and_slice(void *context, ggufx_runtime *own, ggufx_error *error) {
    static const float x[32];
    const uint64_t ne[1] = {32};
    int destroyed = 0;
    ggufx_tensor *t = NULL, *s = NULL;
    ggufx_status status =
        tensor_of(&t, own, 0, 1, ne, 0, x, sizeof x, "name", count_one, &destroyed, error);
    (void)context;
    if (status == GGUFX_OK) status = ggufx_tensor_slice(&s, t, 0, 8, 8, error);
    ggufx_tensor_destroy(s);
    ggufx_tensor_destroy(t);
    assert_int_equal(destroyed, 1);
    return status;
}

static void test_wrap_and_slice_survive_each_failing_allocation(void **state) {
    (void)state;
    assert_true(fault_run(wrap_and_slice, NULL) > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices_take_rows_matrices_and_columns),
        cmocka_unit_test(test_column_slices_stay_on_block_borders),
        cmocka_unit_test(test_slices_keep_their_owner_in_any_order),
        cmocka_unit_test(test_slices_of_file_tensors_keep_the_file),
        cmocka_unit_test(test_wrap_and_slice_survive_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, file_setup, file_teardown);
}
