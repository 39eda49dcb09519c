/*
 * Tensors of files, wrapped memory and slices: shapes, strides, lifetimes.
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"
#include "gguf_builder.h"

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

static ggufx_tensor_facts facts_of(const ggufx_tensor *t) {
    ggufx_tensor_facts facts = {.struct_size = sizeof facts};
    assert_int_equal(ggufx_tensor_info(&facts, t, NULL), GGUFX_OK);
    return facts;
}

static void count_one(void *user) {
    ++*(int *)user;
}

/* f32 [4][3][2], values 100 * i2 + 10 * i1 + i0, rows `stride` floats apart */
/* A float as files hold it: little-endian, on any host. */
static void put_le(float *to, float value) {
    unsigned char bytes[4];
    uint32_t bits;
    int i;
    memcpy(&bits, &value, 4);
    for (i = 0; i < 4; i++) bytes[i] = (unsigned char)(bits >> 8 * i);
    memcpy(to, bytes, 4);
}

static void fill(float *x, size_t stride) {
    size_t i, k;
    for (i = 0; i < 6; i++)
        for (k = 0; k < 4; k++)
            put_le(x + i * stride + k, (float)(100 * (i / 3) + 10 * (i % 3) + k));
}

static ggufx_tensor *wrap(const float *x, uint64_t stride, int *destroyed) {
    const uint64_t ne[3] = {4, 3, 2};
    ggufx_tensor *t = NULL;
    ggufx_error error;
    if (ggufx_tensor_wrap(&t, rt, GGUFX_TYPE_F32, 3, ne, stride * 4, x, (5 * stride + 4) * 4, "x",
                          count_one, destroyed, &error) != GGUFX_OK)
        fail_msg("%s", error.message);
    return t;
}

static void test_file_tensors_are_described_and_found(void **state) {
    gb b;
    ggufx_file *f = NULL;
    ggufx_tensor_facts facts;
    size_t index = 0;
    ggufx_error error;
    (void)state;
    gb_everything(&b, 3, 0);
    assert_int_equal(ggufx_open_memory(&f, rt, b.data, b.n, NULL, NULL, NULL, NULL), GGUFX_OK);
    assert_int_equal(ggufx_file_tensor_find(&index, f, "matrix", 6, NULL), GGUFX_OK);
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
    assert_int_equal(facts.name_length, 6);
    assert_memory_equal(facts.name, "matrix", 6);
    facts = facts_of(ggufx_file_tensor(f, 2));
    assert_int_equal(facts.n_dims, 0);
    assert_int_equal(facts.n_rows, 1);
    assert_int_equal(facts.n_bytes, 2);
    assert_null(ggufx_file_tensor(f, 3));
    assert_int_equal(ggufx_file_tensor_find(&index, f, "matrix2", 7, &error), GGUFX_E_NOT_FOUND);
    assert_int_equal(ggufx_file_tensor_find(&index, f, "matri", 5, &error), GGUFX_E_NOT_FOUND);
    assert_non_null(strstr(error.message, "matri"));
    assert_int_equal(ggufx_file_tensor_find(NULL, f, "matrix", 6, NULL), GGUFX_E_ARGUMENT);
    ggufx_tensor_destroy((ggufx_tensor *)(uintptr_t)ggufx_file_tensor(f, 1)); /* left alone */
    assert_non_null(ggufx_tensor_data(ggufx_file_tensor(f, 1)));
    ggufx_file_destroy(f);
    gb_free(&b);
}

static void test_unknown_types_are_listed_without_data(void **state) {
    const uint64_t ne[2] = {100, 7};
    gb b;
    ggufx_file *f = NULL;
    ggufx_open_options o;
    ggufx_tensor_facts facts;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_tensor_at(&b, "w", 200, 2, ne, 0);
    gb_data(&b);
    gb_bytes(&b, (unsigned char[64]){0}, 64);
    ggufx_open_options_init(&o);
    o.flags = GGUFX_OPEN_UNKNOWN_TYPES;
    assert_int_equal(ggufx_open_memory(&f, rt, b.data, b.n, NULL, NULL, &o, NULL), GGUFX_OK);
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
    assert_memory_equal(facts.name, "x", 1);
    assert_int_equal(ggufx_dequantize(y, 24, rt, t, 0, 6, NULL), GGUFX_OK);
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
    assert_int_equal(ggufx_tensor_wrap(&t, rt, 0, 2, ne, 0, x, 255, NULL, count_one, &n, &e),
                     GGUFX_E_BOUNDS);
    assert_int_equal(ggufx_tensor_wrap(&t, rt, 0, 2, ne, 127, x, 256, NULL, count_one, &n, &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_wrap(&t, rt, 0, 2, ne, 129, x, 256, NULL, count_one, &n, &e),
                     GGUFX_E_BOUNDS);
    assert_int_equal(ggufx_tensor_wrap(&t, rt, 0, 5, ne, 0, x, 256, NULL, count_one, &n, &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_wrap(&t, rt, 8, 1, odd, 0, x, 256, NULL, count_one, &n, &e),
                     GGUFX_E_SHAPE);
    assert_int_equal(ggufx_tensor_wrap(&t, rt, 5, 1, ne, 0, x, 256, NULL, count_one, &n, &e),
                     GGUFX_E_TYPE);
    assert_int_equal(ggufx_tensor_wrap(&t, rt, 99, 1, ne, 0, x, 256, NULL, count_one, &n, &e),
                     GGUFX_E_TYPE);
    assert_int_equal(ggufx_tensor_wrap(&t, rt, 0, 2, wrap_ne, 0, x, 256, NULL, count_one, &n, &e),
                     GGUFX_E_OVERFLOW);
    assert_int_equal(ggufx_tensor_wrap(&t, rt, 0, 2, ne, UINT64_MAX - 128, x, UINT64_MAX, NULL,
                                       count_one, &n, &e),
                     GGUFX_OK); /* one stride still fits 64 bits ... */
    ggufx_tensor_destroy(t);
    assert_int_equal(
        ggufx_tensor_wrap(&t, rt, 0, 2, ne, UINT64_MAX, x, UINT64_MAX, NULL, count_one, &n, &e),
        GGUFX_E_OVERFLOW); /* ... and this one does not */
    assert_int_equal(ggufx_tensor_wrap(&t, rt, 0, 2, ne, 0, NULL, 256, NULL, count_one, &n, &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_wrap(&t, NULL, 0, 2, ne, 0, x, 256, NULL, count_one, &n, &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_wrap(NULL, rt, 0, 2, ne, 0, x, 256, NULL, count_one, &n, &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_wrap(&t, rt, 0, 2, NULL, 0, x, 256, NULL, count_one, &n, &e),
                     GGUFX_E_ARGUMENT);
    assert_null(t);
    assert_int_equal(n, 14);
}

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
    assert_int_equal(ggufx_tensor_slice(&s, t, 2, 1, 1, NULL), GGUFX_OK); /* second matrix */
    facts = facts_of(s);
    assert_true(facts.ne[0] == 4 && facts.ne[1] == 3 && facts.ne[2] == 1);
    assert_int_equal(facts.n_rows, 3);
    assert_int_equal(facts.n_bytes, 48);
    assert_true(first_of(s, 0) == 100 && first_of(s, 2) == 120);
    assert_int_equal(ggufx_tensor_slice(&u, s, 1, 1, 2, NULL), GGUFX_OK); /* its rows 1 and 2 */
    assert_int_equal(facts_of(u).n_rows, 2);
    assert_true(first_of(u, 0) == 110 && first_of(u, 1) == 120);
    ggufx_tensor_destroy(u);
    ggufx_tensor_destroy(s);
    assert_int_equal(ggufx_tensor_slice(&s, t, 0, 2, 2, NULL), GGUFX_OK); /* columns 2 and 3 */
    facts = facts_of(s);
    assert_int_equal(facts.row_bytes, 8);
    assert_int_equal(facts.row_stride, 20);
    assert_int_equal(facts.n_rows, 6);
    assert_int_equal(facts.n_bytes, 48);
    assert_true(first_of(s, 0) == 2 && first_of(s, 5) == 122);
    ggufx_tensor_destroy(s);
    assert_int_equal(ggufx_tensor_slice(&s, t, 1, 1, 1, NULL), GGUFX_OK); /* row 1 of each */
    assert_int_equal(facts_of(s).n_rows, 2);
    assert_int_equal(facts_of(s).row_stride, 60);
    assert_true(first_of(s, 0) == 10 && first_of(s, 1) == 110);
    ggufx_tensor_destroy(s);
    assert_int_equal(ggufx_tensor_slice(&s, t, 1, 0, 2, &error), GGUFX_E_UNSUPPORTED);
    assert_null(s);
    assert_int_equal(ggufx_tensor_slice(&s, t, 1, 0, 3, NULL), GGUFX_OK); /* all of it */
    assert_int_equal(facts_of(s).n_rows, 6);
    ggufx_tensor_destroy(s);
    assert_int_equal(ggufx_tensor_slice(&s, t, 1, 2, 2, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_slice(&s, t, 1, UINT64_MAX, 2, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_slice(&s, t, 4, 0, 1, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_slice(&s, NULL, 0, 0, 1, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_slice(NULL, t, 0, 0, 1, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_slice(&s, t, 2, 1, 0, NULL), GGUFX_OK); /* nothing */
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
    assert_int_equal(ggufx_tensor_wrap(&t, rt, GGUFX_TYPE_Q8_0, 2, ne, 0, blocks, sizeof blocks,
                                       NULL, NULL, NULL, NULL),
                     GGUFX_OK);
    assert_int_equal(ggufx_tensor_slice(&s, t, 0, 16, 32, NULL), GGUFX_E_SHAPE);
    assert_int_equal(ggufx_tensor_slice(&s, t, 0, 32, 16, NULL), GGUFX_E_SHAPE);
    assert_int_equal(ggufx_tensor_slice(&s, t, 0, 32, 32, NULL), GGUFX_OK);
    assert_int_equal(facts_of(s).row_stride, 102);
    assert_int_equal(ggufx_dequantize(y, 64, rt, s, 0, 2, NULL), GGUFX_OK);
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
        assert_int_equal(ggufx_tensor_wrap(&t, own, 0, 3, ne, 0, x, sizeof x, "name", count_one,
                                           &destroyed, NULL),
                         GGUFX_OK);
        assert_int_equal(ggufx_tensor_slice(&s, t, 2, 1, 1, NULL), GGUFX_OK);
        assert_int_equal(ggufx_tensor_slice(&u, s, 1, 2, 1, NULL), GGUFX_OK);
        if (order & 1) ggufx_runtime_destroy(own);
        ggufx_tensor_destroy(order & 2 ? s : t);
        ggufx_tensor_destroy(order & 2 ? t : s);
        assert_int_equal(destroyed, 0);
        assert_true(first_of(u, 0) == 120);
        assert_memory_equal(facts_of(u).name, "name", 4);
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
    assert_int_equal(ggufx_open_memory(&f, own, b.data, b.n, count_one, &destroyed, NULL, NULL),
                     GGUFX_OK);
    assert_int_equal(ggufx_tensor_slice(&s, ggufx_file_tensor(f, 1), 1, 2, 1, NULL), GGUFX_OK);
    ggufx_runtime_destroy(own);
    ggufx_file_destroy(f);
    assert_int_equal(destroyed, 0);
    facts = facts_of(s);
    assert_memory_equal(facts.name, "matrix", 6);
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
        ggufx_tensor_wrap(&t, own, 0, 1, ne, 0, x, sizeof x, "name", count_one, &destroyed, error);
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
        cmocka_unit_test(test_file_tensors_are_described_and_found),
        cmocka_unit_test(test_unknown_types_are_listed_without_data),
        cmocka_unit_test(test_wrap_gives_strided_rows),
        cmocka_unit_test(test_wrap_refuses_what_does_not_fit_and_destroys_once),
        cmocka_unit_test(test_slices_take_rows_matrices_and_columns),
        cmocka_unit_test(test_column_slices_stay_on_block_borders),
        cmocka_unit_test(test_slices_keep_their_owner_in_any_order),
        cmocka_unit_test(test_slices_of_file_tensors_keep_the_file),
        cmocka_unit_test(test_wrap_and_slice_survive_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
