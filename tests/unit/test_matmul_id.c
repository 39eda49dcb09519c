/*
 * ggufx_matmul_id: each expert's results equal a product of its own, for any order, workspace and
 * threads.
 * SPDX-License-Identifier: MIT
 */
#include "mixture.h"
#include "test_step.h"

/* Gathers the columns of each expert and compares with ggufx_matmul; counts groups per kernel
 * family. */
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
    } shapes[] = {{8, 70, 256, 1, 8},   {8, 300, 256, 2, 3}, {8, 33, 512, 3, 2},
                  {16, 37, 256, 40, 2}, {3, 65, 256, 50, 1}, {60, 20, 256, 70, 4},
                  {1, 400, 256, 100, 1}};
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
                    if (flags && (mode + type + s) % test_step() != 0) continue;
                    ggufx_error e;
                    if (run_mixture(&t, rt, flags, NULL, &e) != GGUFX_OK) fail_msg("%s", e.message);
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
    ggufx_runtime_options options = {.struct_size = sizeof options};
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
                if (run_mixture(&t, runtimes[i], flags, NULL, &e) != GGUFX_OK)
                    fail_msg("%s", e.message);
                assert_groups(&t, large, flags, n_groups); /* one product each */
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
    assert_int_equal(run_mixture(&t, rt, 0, NULL, NULL), GGUFX_OK);
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
    for (size_t i = 0; i < t.n; i++) t.ids[i] = i == 2; /* columns 0, 1, 3 use one expert */
    assert_int_equal(run_mixture(&t, rt, 0, NULL, NULL), GGUFX_OK);
    assert_groups(&t, rt, 0, n_groups);
    free_mixture(&t);
    ggufx_runtime_destroy(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_expert_has_the_bits_of_its_own_product),
        cmocka_unit_test(test_workspace_and_workers_change_no_bit),
        cmocka_unit_test(test_a_column_per_result_is_a_call_with_one_expert_each),
        cmocka_unit_test(test_three_results_at_uneven_distances_of_many_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
