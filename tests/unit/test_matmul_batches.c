/*
 * Partition of products with many columns: batches, and pieces for workers.
 * SPDX-License-Identifier: MIT
 */
#include "matmul_fixture.h"
#include "ok.h"
#include "weight_calls.h"

#include <stdlib.h>

/* Distinct numbers of finished columns, as seen by polls. */
typedef struct batches {
    uint64_t done[16];
    size_t n;
} batches;

static int32_t note_done(void *user, uint64_t done, uint64_t total) {
    batches *b = user;
    (void)total;
    if (b->n == 0 || b->done[b->n - 1] != done) {
        assert_true(b->n < 16);
        b->done[b->n++] = done;
    }
    return 0;
}

static void check_parts(int32_t isa) {
    enum { rows = 64, cols = 256, n = 300 };
    ggufx_runtime_options options = {.struct_size = sizeof options};
    ggufx_matmul_options mm = {.struct_size = sizeof mm};
    batches b = {.n = 0};
    const ggufx_progress progress = {.user = &b, .report = note_done};
    options.workspace_bytes = 64 << 10;
    options.threads = 1;
    options.isa = isa;
    ggufx_runtime *rt = make_runtime_with(&options);
    matrix m = random_matrix(GGUFX_TYPE_Q4_0, rows, cols, 0);
    ggufx_tensor *w = wrap_matrix(rt, &m);
    float *x = random_values(n * cols, 17), *y = malloc(n * rows * sizeof *y);
    mm.progress = &progress;
    OK(matmul(y, 0, n * rows, rt, w, x, 0, n * cols, n, &mm, ok_error()));
    assert_true(b.n >= 2);
    const uint64_t first = b.done[1] - b.done[0], last = (uint64_t)n * rows - b.done[b.n - 1];
    assert_true(last <= first && last >= first / 4 * 3);
    for (size_t i = 2; i < b.n; i++) assert_int_equal(b.done[i] - b.done[i - 1], first);
    free(x);
    free(y);
    ggufx_tensor_destroy(w);
    free_matrix(&m);
    ggufx_runtime_destroy(rt);
}

/* Columns beyond the workspace are processed in parts of about the same size: a last part of a few
 * columns would cost as much unpacking as the others. */
static void test_columns_are_taken_in_parts_of_one_size(void **state) {
    (void)state;
    check_parts(GGUFX_ISA_SCALAR);
    check_parts(GGUFX_ISA_BEST);
}

/* With many columns the last tiles are split into pieces of columns: odd numbers of columns, rows
 * and workers. */
static void test_pieces_of_the_last_tiles_change_no_bit(void **state) {
    (void)state;
    enum { rows = 307, cols = 256, n = 131 };
    static const uint32_t types[] = {GGUFX_TYPE_Q4_0, GGUFX_TYPE_Q2_K, GGUFX_TYPE_Q6_K,
                                     GGUFX_TYPE_F16};
    static const uint32_t modes[] = {0, GGUFX_MATMUL_INT16, GGUFX_MATMUL_F32};
    const ggufx_executor executors[] = {thread_executor(3), reverse_executor()};
    ggufx_runtime *alone = make_runtime(GGUFX_ISA_BEST, 1);
    float *x = random_values(n * cols, 18);
    for (size_t t = 0; t < 4; t++) {
        matrix m = random_matrix(types[t], rows, cols, 0);
        for (size_t mode = 0; mode < 3; mode++) {
            float *want = product(alone, &m, x, n, modes[mode]);
            for (size_t i = 0; i < 2; i++) {
                ggufx_runtime_options options = {.struct_size = sizeof options};
                options.executor = &executors[i];
                ggufx_runtime *rt = make_runtime_with(&options);
                float *y = product(rt, &m, x, n, modes[mode]);
                assert_equal_bits(y, want, n * rows);
                free(y);
                ggufx_runtime_destroy(rt);
            }
            free(want);
        }
        free_matrix(&m);
    }
    free(x);
    ggufx_runtime_destroy(alone);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_are_taken_in_parts_of_one_size),
        cmocka_unit_test(test_pieces_of_the_last_tiles_change_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
