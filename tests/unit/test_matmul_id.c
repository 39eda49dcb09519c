/*
 * ggufx_matmul_id: each expert's results are one product of their own, whatever their order; ids
 * are checked; workspace, threads and polls.
 * SPDX-License-Identifier: MIT
 */
#include "matmul_fixture.h"

#include <stdlib.h>
#include <string.h>

/* A stack of experts and a call on n columns with n_used experts each. */
typedef struct mixture {
    size_t n_experts, rows, cols, n, n_used, ldx, ldy;
    matrix m; /* the rows of all experts */
    ggufx_tensor *w;
    uint32_t *ids;
    float *x, *y;
} mixture;

static size_t x_length(const mixture *t) { return (t->n - 1) * t->ldx + t->cols; }
static size_t y_length(const mixture *t) { return (t->n * t->n_used - 1) * t->ldy + t->rows; }

static void make_mixture(mixture *t, const ggufx_runtime *rt, uint32_t type) {
    const uint64_t ne[3] = {t->cols, t->rows, t->n_experts};
    uint64_t random = 9;
    t->m = random_matrix(type, t->rows * t->n_experts, t->cols, 0);
    assert_int_equal(ggufx_tensor_wrap(&t->w, rt, type, 3, ne, 0, t->m.data, t->m.n_bytes, "e",
                                       NULL, NULL, NULL),
                     GGUFX_OK);
    t->ldx = t->cols + 5;
    t->ldy = t->rows + 3;
    t->x = random_values(x_length(t), 7);
    t->y = malloc(y_length(t) * sizeof(float));
    t->ids = malloc(t->n * t->n_used * sizeof *t->ids);
    /* Uneven: low numbers are frequent, so groups of all sizes come up. */
    for (size_t i = 0; i < t->n * t->n_used; i++) {
        const uint32_t r = next_random(&random) % 256;
        t->ids[i] = (uint32_t)(r * r * t->n_experts >> 16);
    }
    for (size_t i = 0; i < y_length(t); i++) t->y[i] = -7.0f;
}

static void free_mixture(mixture *t) {
    ggufx_tensor_destroy(t->w);
    free_matrix(&t->m);
    free(t->ids);
    free(t->x);
    free(t->y);
}

static ggufx_status run(const mixture *t, const ggufx_runtime *rt, uint32_t flags, polls *p,
                        ggufx_error *e) {
    ggufx_matmul_options options;
    ggufx_progress progress;
    ggufx_matmul_options_init(&options);
    options.flags = flags;
    if (p) {
        progress = poll_progress(p);
        options.progress = &progress;
    }
    return ggufx_matmul_id(t->y, t->ldy, y_length(t), rt, t->w, t->ids, t->n_used, t->x, t->ldx,
                           x_length(t), t->n, &options, e);
}

/* Gathers the columns of each expert and compares with ggufx_matmul; counts groups per way. */
static void assert_groups(const mixture *t, const ggufx_runtime *rt, uint32_t flags,
                          size_t n_groups[2]) {
    const size_t n_results = t->n * t->n_used;
    float *x = malloc(n_results * t->cols * sizeof *x);
    for (uint32_t e = 0; e < t->n_experts; e++) {
        size_t n = 0;
        for (size_t r = 0; r < n_results; r++) {
            if (t->ids[r] != e) continue;
            memcpy(x + n++ * t->cols, t->x + r / t->n_used * t->ldx, t->cols * sizeof *x);
        }
        if (n == 0) continue;
        n_groups[n >= 4]++;
        matrix one = t->m;
        one.data += e * t->rows * t->m.stride;
        one.n_rows = t->rows;
        one.n_bytes = t->rows * t->m.stride;
        float *want = product(rt, &one, x, n, flags);
        n = 0;
        for (size_t r = 0; r < n_results; r++) {
            if (t->ids[r] == e) assert_equal_bits(t->y + r * t->ldy, want + n++ * t->rows, t->rows);
        }
        free(want);
    }
    for (size_t i = 0; i < y_length(t); i++) {
        if (i % t->ldy >= t->rows) assert_true(t->y[i] == -7.0f);
    }
    free(x);
}

static void test_each_expert_has_the_bits_of_its_own_product(void **state) {
    (void)state;
    static const struct {
        size_t n_experts, rows, cols, n, n_used;
    } shapes[] = {{8, 70, 256, 1, 8}, {8, 300, 256, 2, 3},  {8, 33, 512, 3, 2},
                  {16, 37, 256, 40, 2}, {3, 65, 256, 50, 1}, {60, 20, 256, 70, 4},  {1, 400, 256, 100, 1}};
    for (uint32_t threads = 1; threads <= 2; threads++) {
        ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, threads);
        for (size_t type = 0; type < N_PRODUCT_TYPES; type++) {
            size_t n_groups[2] = {0, 0};
            for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
                mixture t = {shapes[s].n_experts, shapes[s].rows,   shapes[s].cols,
                             shapes[s].n,         shapes[s].n_used, .w = NULL};
                make_mixture(&t, rt, product_types[type]);
                for (size_t mode = 0; mode < N_PRODUCT_MODES; mode++) {
                    const uint32_t flags = product_modes[mode];
                    if (threads > 1 && flags) continue; /* as without threads */
                    ggufx_error e;
                    if (run(&t, rt, flags, NULL, &e) != GGUFX_OK) fail_msg("%s", e.message);
                    assert_groups(&t, rt, flags, n_groups);
                }
                free_mixture(&t);
            }
            assert_true(n_groups[0] > 10 && n_groups[1] > 10);
        }
        ggufx_runtime_destroy(rt);
    }
}

/* Little memory, many workers: groups in parts, scratch from the stack. */
static void test_workspace_and_workers_change_no_bit(void **state) {
    (void)state;
    const ggufx_executor wide = thread_executor(16);
    ggufx_runtime_options options;
    ggufx_runtime_options_init(&options);
    options.workspace_bytes = 64 << 10;
    ggufx_runtime *small = make_runtime_with(&options);
    options.executor = &wide;
    ggufx_runtime *workers = make_runtime_with(&options), *large = make_runtime(GGUFX_ISA_BEST, 1);
    const ggufx_runtime *runtimes[] = {small, workers};
    for (size_t type = 0; type < N_PRODUCT_TYPES; type++) {
        mixture t = {5, 40, 2048, 80, 2, .w = NULL};
        make_mixture(&t, large, product_types[type]);
        for (size_t mode = 0; mode < N_PRODUCT_MODES; mode++) {
            const uint32_t flags = product_modes[mode];
            for (size_t i = 0; i < 2; i++) {
                size_t n_groups[2] = {0, 0};
                ggufx_error e;
                if (run(&t, runtimes[i], flags, NULL, &e) != GGUFX_OK) fail_msg("%s", e.message);
                assert_groups(&t, large, flags, n_groups); /* of one product each */
            }
        }
        free_mixture(&t);
    }
    ggufx_runtime_destroy(small);
    ggufx_runtime_destroy(workers);
    ggufx_runtime_destroy(large);
}

static void test_a_column_per_result_is_a_call_with_one_expert_each(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    mixture t = {4, 40, 256, 12, 1, .w = NULL};
    size_t n_groups[2] = {0, 0};
    make_mixture(&t, rt, GGUFX_TYPE_Q4_K);
    for (size_t i = 0; i < t.n; i++) t.ids[i] = (uint32_t)(i / 2 % 4); /* two of each in a row */
    assert_int_equal(run(&t, rt, 0, NULL, NULL), GGUFX_OK);
    assert_groups(&t, rt, 0, n_groups);
    free_mixture(&t);
    ggufx_runtime_destroy(rt);
}

static void test_three_results_at_uneven_distances_of_many_rows(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    mixture t = {2, 600, 256, 4, 1, .w = NULL};
    size_t n_groups[2] = {0, 0};
    make_mixture(&t, rt, GGUFX_TYPE_Q4_0);
    for (size_t i = 0; i < t.n; i++) t.ids[i] = i == 2; /* 0, 1, 3 go through one expert */
    assert_int_equal(run(&t, rt, 0, NULL, NULL), GGUFX_OK);
    assert_groups(&t, rt, 0, n_groups);
    free_mixture(&t);
    ggufx_runtime_destroy(rt);
}

static void test_ids_and_shapes_are_checked_before_anything_is_computed(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    mixture t = {4, 40, 256, 6, 2, .w = NULL};
    ggufx_error e;
    make_mixture(&t, rt, GGUFX_TYPE_Q4_K);
    const size_t n_x = x_length(&t), n_y = y_length(&t);
#define CALL(w, ids, used, n_y, n_x, n)                                                            \
    ggufx_matmul_id(t.y, t.ldy, n_y, rt, w, ids, used, t.x, t.ldx, n_x, n, NULL, &e)
#define REFUSED(text, call)                                                                        \
    do {                                                                                           \
        assert_int_equal(call, GGUFX_E_ARGUMENT);                                                  \
        assert_non_null(strstr(e.message, text));                                                  \
        for (size_t i_ = 0; i_ < n_y; i_++) assert_true(t.y[i_] == -7.0f);                         \
    } while (0)
    t.ids[11] = 4;
    REFUSED("ids[11] is 4", CALL(t.w, t.ids, 2, n_y, n_x, 6));
    assert_int_equal(e.index, 11);
    t.ids[11] = UINT32_MAX;
    REFUSED("there are 4 experts", CALL(t.w, t.ids, 2, n_y, n_x, 6));
    t.ids[11] = 3;
    REFUSED("ids must be set", CALL(t.w, NULL, 2, n_y, n_x, 6));
    REFUSED("y holds", CALL(t.w, t.ids, 2, n_y - 1, n_x, 6));
    REFUSED("x holds", CALL(t.w, t.ids, 2, n_y, n_x - 1, 6));
    REFUSED("too many", CALL(t.w, t.ids, SIZE_MAX, n_y, n_x, 6));
    REFUSED("w is not", CALL(NULL, t.ids, 2, n_y, n_x, 6));
    REFUSED("overlap", ggufx_matmul_id(t.y, 0, 80, rt, t.w, t.ids, 2, t.y + 79, 0, 256, 1, NULL, &e));
    REFUSED("ldy", ggufx_matmul_id(t.y, 39, n_y, rt, t.w, t.ids, 2, t.x, 0, n_x, 6, NULL, &e));
    ggufx_tensor *deep = NULL;
    const uint64_t ne[4] = {256, 40, 2, 2};
    assert_int_equal(ggufx_tensor_wrap(&deep, rt, t.m.type, 4, ne, 0, t.m.data, t.m.n_bytes, "d",
                                       NULL, NULL, NULL),
                     GGUFX_OK);
    REFUSED("ne3", CALL(deep, t.ids, 2, n_y, n_x, 6));
    ggufx_tensor_destroy(deep);
    assert_int_equal(CALL(t.w, NULL, 0, 0, n_x, 6), GGUFX_OK);
    assert_int_equal(CALL(t.w, NULL, 2, 0, 0, 0), GGUFX_OK);
    free_mixture(&t);
    ggufx_runtime_destroy(rt);
}

static void test_more_results_than_the_workspace_can_sort_are_a_limit(void **state) {
    (void)state;
    enum { n = 70000 }; /* 4 bytes each; the workspace is 4 * 64 KiB */
    ggufx_runtime_options options;
    ggufx_runtime_options_init(&options);
    options.workspace_bytes = 64 << 10;
    ggufx_runtime *rt = make_runtime_with(&options);
    matrix m = random_matrix(GGUFX_TYPE_Q4_0, 1, 32, 0);
    ggufx_tensor *w = wrap_matrix(rt, &m);
    float x[32] = {0}, *y = malloc(n * sizeof *y);
    uint32_t *ids = calloc(n, sizeof *ids);
    ggufx_error e;
    assert_int_equal(ggufx_matmul_id(y, 0, n, rt, w, ids, n, x, 0, 32, 1, NULL, &e),
                     GGUFX_E_LIMIT);
    assert_non_null(strstr(e.message, "workspace_bytes"));
    assert_int_equal(ggufx_matmul_id(y, 0, n, rt, w, ids, n / 2, x, 0, 32, 1, NULL, &e), GGUFX_OK);
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
    assert_int_equal(ggufx_tensor_wrap(&w, rt, GGUFX_TYPE_Q4_0, 3, ne, 0, y, 0, "e", NULL, NULL,
                                       NULL),
                     GGUFX_OK);
    assert_int_equal(ggufx_matmul_id(y, 0, 6, rt, w, ids, 2, NULL, 0, 0, 1, NULL, NULL), GGUFX_OK);
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
        assert_int_equal(run(&t, rt, 0, &never, &e), GGUFX_OK);
        assert_int_equal(never.total, 60 * 200);
        assert_true(never.n_polls >= 4);
        for (uint64_t k = 0; k < never.n_polls; k++) {
            polls one = {0, k, 0, 0};
            assert_int_equal(run(&t, rt, 0, &one, &e), GGUFX_E_CANCELLED);
            assert_int_equal(one.n_polls, k + 1);
        }
        free_mixture(&t);
        ggufx_runtime_destroy(rt);
    }
}

static void test_calls_never_allocate(void **state) {
    (void)state;
    fault f;
    fault_init(&f);
    ggufx_runtime *rt = fault_runtime(&f, 1);
    mixture t = {16, 50, 256, 40, 2, .w = NULL};
    make_mixture(&t, rt, GGUFX_TYPE_Q4_K);
    const long calls = f.calls;
    assert_int_equal(run(&t, rt, 0, NULL, NULL), GGUFX_OK);
    assert_int_equal(f.calls, calls);
    free_mixture(&t);
    ggufx_runtime_destroy(rt);
    assert_int_equal(f.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_expert_has_the_bits_of_its_own_product),
        cmocka_unit_test(test_workspace_and_workers_change_no_bit),
        cmocka_unit_test(test_a_column_per_result_is_a_call_with_one_expert_each),
        cmocka_unit_test(test_three_results_at_uneven_distances_of_many_rows),
        cmocka_unit_test(test_ids_and_shapes_are_checked_before_anything_is_computed),
        cmocka_unit_test(test_more_results_than_the_workspace_can_sort_are_a_limit),
        cmocka_unit_test(test_rows_without_values_give_zeros),
        cmocka_unit_test(test_cancel_at_each_poll_ends_the_call),
        cmocka_unit_test(test_calls_never_allocate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
