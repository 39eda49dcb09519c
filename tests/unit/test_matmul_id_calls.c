/*
 * ggufx_matmul_id: checks of ids and shapes, limits, polls, memory.
 * SPDX-License-Identifier: MIT
 */
#include "mixture.h"
#include "ok.h"
#include "weight_calls.h"

static void test_ids_and_shapes_are_checked_before_anything_is_computed(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    mixture t = {4, 40, 256, 6, 2, .w = NULL};
    ggufx_error e;
    make_mixture(&t, rt, GGUFX_TYPE_Q4_K);
    const size_t n_x = x_length(&t), n_y = y_length(&t);
#define CALL(w, ids, used, n_y, n_x, n)                                                            \
    matmul_id(t.y, t.ldy, n_y, rt, w, ids, used, t.x, t.ldx, n_x, n, NULL, &e)
#define REFUSED(text, call)                                                                        \
    do {                                                                                           \
        assert_int_equal(call, GGUFX_E_ARGUMENT);                                                  \
        assert_non_null(strstr(e.message, text));                                                  \
        for (size_t i_ = 0; i_ < n_y; i_++) assert_true(t.y[i_] == -7.0f);                         \
    } while (0)
    t.ids[11] = 4;
    REFUSED("ids[11] is 4", CALL(t.w, t.ids, 2, n_y, n_x, 6));
    assert_int_equal(e.index, 0);
    t.ids[11] = UINT32_MAX;
    REFUSED("there are 4 experts", CALL(t.w, t.ids, 2, n_y, n_x, 6));
    t.ids[11] = 3;
    REFUSED("ids must be set", CALL(t.w, NULL, 2, n_y, n_x, 6));
    REFUSED("y holds", CALL(t.w, t.ids, 2, n_y - 1, n_x, 6));
    REFUSED("x holds", CALL(t.w, t.ids, 2, n_y, n_x - 1, 6));
    REFUSED("too many", CALL(t.w, t.ids, SIZE_MAX, n_y, n_x, 6));
    REFUSED("w is not", CALL(NULL, t.ids, 2, n_y, n_x, 6));
    REFUSED("overlap", matmul_id(t.y, 0, 80, rt, t.w, t.ids, 2, t.y + 79, 0, 256, 1, NULL, &e));
    REFUSED("ldy", matmul_id(t.y, 39, n_y, rt, t.w, t.ids, 2, t.x, 0, n_x, 6, NULL, &e));
    ggufx_tensor *deep = NULL;
    const uint64_t ne[4] = {256, 40, 2, 2};
    OK(tensor_of(&deep, rt, t.m.type, 4, ne, 0, t.m.data, t.m.n_bytes, "d", NULL, NULL,
                 ok_error()));
    REFUSED("ne3", CALL(deep, t.ids, 2, n_y, n_x, 6));
    ggufx_tensor_destroy(deep);
    assert_int_equal(CALL(t.w, t.ids, 0, 0, n_x, 6), GGUFX_OK);
    assert_int_equal(CALL(t.w, t.ids, 2, 0, 0, 0), GGUFX_OK);
    free_mixture(&t);
    ggufx_runtime_destroy(rt);
}

static void test_more_results_than_the_workspace_can_sort_are_a_limit(void **state) {
    (void)state;
    enum { n = 70000 }; /* 4 bytes each; the workspace is 4 * 64 KiB */
    ggufx_runtime_options options = {.struct_size = sizeof options};
    options.workspace_bytes = 64 << 10;
    ggufx_runtime *rt = make_runtime_with(&options);
    matrix m = random_matrix(GGUFX_TYPE_Q4_0, 1, 32, 0);
    ggufx_tensor *w = wrap_matrix(rt, &m);
    float x[32] = {0}, *y = malloc(n * sizeof *y);
    uint32_t *ids = calloc(n, sizeof *ids);
    ggufx_error e;
    assert_int_equal(matmul_id(y, 0, n, rt, w, ids, n, x, 0, 32, 1, NULL, &e), GGUFX_E_LIMIT);
    assert_non_null(strstr(e.message, "workspace_bytes"));
    assert_int_equal(matmul_id(y, 0, n, rt, w, ids, n / 2, x, 0, 32, 1, NULL, &e), GGUFX_OK);
    free(ids);
    free(y);
    ggufx_tensor_destroy(w);
    free_matrix(&m);
    ggufx_runtime_destroy(rt);
}

static void test_rows_without_values_give_zeros(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    const uint64_t ne[3] = {0, 3, 2};
    const uint32_t ids[2] = {1, 0};
    float y[6] = {1, 1, 1, 1, 1, 1};
    ggufx_tensor *w = NULL;
    OK(tensor_of(&w, rt, GGUFX_TYPE_Q4_0, 3, ne, 0, y, 0, "e", NULL, NULL, ok_error()));
    OK(matmul_id(y, 0, 6, rt, w, ids, 2, NULL, 0, 0, 1, NULL, ok_error()));
    for (int i = 0; i < 6; i++) assert_int_equal(bits_of(y[i]), 0u);
    ggufx_tensor_destroy(w);
    ggufx_runtime_destroy(rt);
}

static void test_cancel_at_each_poll_ends_the_call(void **state) {
    (void)state;
    for (uint32_t threads = 1; threads <= 2; threads++) {
        ggufx_runtime *rt = make_runtime(GGUFX_ISA_SCALAR, threads);
        mixture t = {30, 200, 1024, 30, 2, .w = NULL};
        polls never = {0, UINT64_MAX, 0, 0};
        ggufx_error e;
        make_mixture(&t, rt, GGUFX_TYPE_Q4_0);
        assert_int_equal(run_mixture(&t, rt, 0, &never, &e), GGUFX_OK);
        assert_int_equal(never.total, 60 * 200);
        assert_true(never.n_polls >= (threads == 1 ? 4 : 1));
        for (uint64_t k = 0; k < never.n_polls; k++) {
            polls one = {0, k, 0, 0};
            assert_cancelled(run_mixture(&t, rt, 0, &one, &e), &one, threads);
        }
        free_mixture(&t);
        ggufx_runtime_destroy(rt);
    }
}

static ggufx_status count_forks(void *user, uint32_t n_tasks,
                                void (*task)(void *, uint32_t, uint32_t), void *ctx) {
    ++*(int *)user;
    for (uint32_t i = 0; i < n_tasks; i++) task(ctx, i, i % 4);
    return GGUFX_OK;
}

/* Columns of all experts are packed in one task group and multiplied in another: sixteen
 * together. */
static void test_experts_share_forks_and_joins(void **state) {
    (void)state;
    int n_calls[2] = {0, 0};
    for (int many = 0; many < 2; many++) {
        ggufx_executor executor = serial_executor();
        ggufx_runtime_options options = {.struct_size = sizeof options};
        executor.user = &n_calls[many];
        executor.parallel_for = count_forks;
        options.executor = &executor;
        options.isa = GGUFX_ISA_SCALAR; /* slow enough for tasks */
        ggufx_runtime *rt = make_runtime_with(&options);
        mixture t = {many ? 16 : 1, 100, 1024, many ? 256 : 16, 1, .w = NULL};
        make_mixture(&t, rt, GGUFX_TYPE_Q4_0);
        n_calls[many] = 0;
        assert_int_equal(run_mixture(&t, rt, GGUFX_MATMUL_TILED, NULL, NULL), GGUFX_OK);
        free_mixture(&t);
        ggufx_runtime_destroy(rt);
    }
    assert_true(n_calls[0] >= 1);
    assert_true(n_calls[1] <= n_calls[0] + 1);
}

static void test_calls_never_allocate(void **state) {
    (void)state;
    fault f;
    fault_init(&f);
    ggufx_runtime *rt = fault_runtime(&f, 1);
    mixture t = {16, 50, 256, 40, 2, .w = NULL};
    make_mixture(&t, rt, GGUFX_TYPE_Q4_K);
    const long calls = f.calls;
    assert_int_equal(run_mixture(&t, rt, 0, NULL, NULL), GGUFX_OK);
    assert_int_equal(f.calls, calls);
    free_mixture(&t);
    ggufx_runtime_destroy(rt);
    assert_int_equal(f.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_and_shapes_are_checked_before_anything_is_computed),
        cmocka_unit_test(test_more_results_than_the_workspace_can_sort_are_a_limit),
        cmocka_unit_test(test_rows_without_values_give_zeros),
        cmocka_unit_test(test_cancel_at_each_poll_ends_the_call),
        cmocka_unit_test(test_experts_share_forks_and_joins),
        cmocka_unit_test(test_calls_never_allocate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
