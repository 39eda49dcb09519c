/*
 * ggufx_matvec_many: the bits of single products, one fork and join, refusals, polls.
 * SPDX-License-Identifier: MIT
 */
#include "matmul_fixture.h"
#include "test_step.h"
#include "weight_calls.h"

#include <stdlib.h>
#include <string.h>

enum { kMost = 40 };

/* Matrices of different types and numbers of rows with equally long rows, and buffers for their
 * results. */
typedef struct bundle {
    size_t n, cols;
    matrix m[kMost];
    const ggufx_tensor *w[kMost];
    float *y[kMost];
    size_t n_y[kMost];
} bundle;

static void make_bundle(bundle *b, const ggufx_runtime *rt, size_t n, size_t cols) {
    b->n = n;
    b->cols = cols;
    for (size_t i = 0; i < n; i++) {
        b->n_y[i] = 1 + (i * 37) % 300;
        b->m[i] = random_matrix(product_types[i % N_PRODUCT_TYPES], b->n_y[i], cols, 0);
        b->w[i] = wrap_matrix(rt, &b->m[i]);
        b->y[i] = calloc(b->n_y[i], sizeof(float));
    }
}

static void free_bundle(bundle *b) {
    for (size_t i = 0; i < b->n; i++) {
        ggufx_tensor_destroy((ggufx_tensor *)(uintptr_t)b->w[i]);
        free_matrix(&b->m[i]);
        free(b->y[i]);
    }
}

static ggufx_status many(bundle *b, const ggufx_runtime *rt, const float *x, uint32_t flags,
                         polls *p, ggufx_error *e) {
    ggufx_progress progress;
    const ggufx_matmul_options options = options_with(flags, &progress, p);
    return matvec_many(b->y, b->n_y, rt, b->w, b->n, x, b->cols, &options, e);
}

static void test_each_result_has_the_bits_of_matvec(void **state) {
    (void)state;
    const size_t numbers[] = {0, 1, 2, 3, 16, 17, kMost};
    for (uint32_t threads = 1; threads <= 2; threads++) {
        ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, threads);
        float *x = random_values(512, 1);
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
            for (size_t mode = 0; mode < N_PRODUCT_MODES; mode += test_step_sanitized()) {
                const uint32_t flags = product_modes[mode];
                if (threads > 1 && flags) continue; /* as without threads */
                bundle b;
                make_bundle(&b, rt, numbers[i], 512);
                assert_int_equal(many(&b, rt, x, flags, NULL, NULL), GGUFX_OK);
                for (size_t k = 0; k < b.n; k++) {
                    float *want = product(rt, &b.m[k], x, 1, flags);
                    assert_equal_bits(b.y[k], want, b.n_y[k]);
                    free(want);
                }
                free_bundle(&b);
            }
        }
        free(x);
        ggufx_runtime_destroy(rt);
    }
}

static void test_packed_columns_that_do_not_fit_together_have_the_same_bits(void **state) {
    (void)state;
    ggufx_runtime_options options = {.struct_size = sizeof options};
    options.workspace_bytes = 64 << 10;
    ggufx_runtime *small = make_runtime_with(&options), *large = make_runtime(GGUFX_ISA_BEST, 1);
    enum { cols = 65536 };
    float *x = random_values(cols, 2);
    bundle b;
    make_bundle(&b, small, 9, cols);
    for (size_t mode = 0; mode < N_PRODUCT_MODES; mode += test_step_sanitized()) {
        const uint32_t flags = product_modes[mode];
        if (flags & GGUFX_MATMUL_TILED) continue; /* tiles take four times as much */
        assert_int_equal(many(&b, small, x, flags, NULL, NULL), GGUFX_OK);
        for (size_t k = 0; k < b.n; k++) {
            float *want = product(large, &b.m[k], x, 1, flags);
            assert_equal_bits(b.y[k], want, b.n_y[k]);
            free(want);
        }
    }
    free_bundle(&b);
    free(x);
    ggufx_runtime_destroy(small);
    ggufx_runtime_destroy(large);
}

typedef struct counted {
    int n_calls;
    uint32_t n_tasks;
} counted;

static ggufx_status count_forks(void *user, uint32_t n_tasks,
                                void (*task)(void *, uint32_t, uint32_t), void *ctx) {
    counted *count = user;
    count->n_calls++;
    count->n_tasks += n_tasks;
    for (uint32_t i = 0; i < n_tasks; i++) task(ctx, i, i % 4);
    return GGUFX_OK;
}

static void test_all_matrices_share_one_fork_and_join(void **state) {
    (void)state;
    counted count = {0, 0};
    ggufx_executor executor = serial_executor();
    ggufx_runtime_options options = {.struct_size = sizeof options};
    executor.user = &count;
    executor.parallel_for = count_forks;
    options.executor = &executor;
    options.isa = GGUFX_ISA_SCALAR; /* slow enough for tasks */
    ggufx_runtime *rt = make_runtime_with(&options);
    float *x = random_values(1024, 3);
    bundle b;
    make_bundle(&b, rt, 16, 1024);
    assert_int_equal(many(&b, rt, x, 0, NULL, NULL), GGUFX_OK);
    assert_int_equal(count.n_calls, 1);
    assert_true(count.n_tasks >= 4);
    free_bundle(&b);
    free(x);
    ggufx_runtime_destroy(rt);
}

static void test_wrong_arguments_are_refused_before_anything_is_computed(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float *x = random_values(256, 4), x_and_y[512] = {0};
    ggufx_error e;
    bundle b;
    make_bundle(&b, rt, 3, 256);
#define REFUSED(text, call)                                                                        \
    do {                                                                                           \
        assert_int_equal(call, GGUFX_E_ARGUMENT);                                                  \
        assert_non_null(strstr(e.message, text));                                                  \
        for (size_t i_ = 0; i_ < b.n_y[0]; i_++) assert_true(b.y[0][i_] == 0.0f);                  \
    } while (0)
    REFUSED("x holds 224", matvec_many(b.y, b.n_y, rt, b.w, 3, x, 224, NULL, &e));
    REFUSED("rt", matvec_many(b.y, b.n_y, NULL, b.w, 3, x, 256, NULL, &e));
    REFUSED("rt", matvec_many(b.y, b.n_y, NULL, b.w, 0, x, 256, NULL, &e));
    REFUSED("products must be set", ggufx_matmul(rt, NULL, 3, NULL, &e));
    REFUSED("must be set", matvec_many(b.y, b.n_y, rt, b.w, 3, NULL, 256, NULL, &e));
    REFUSED("limit is 64", matvec_many(b.y, b.n_y, rt, b.w, 65, x, 256, NULL, &e));
    b.n_y[2]--;
    REFUSED("y holds", matvec_many(b.y, b.n_y, rt, b.w, 3, x, 256, NULL, &e));
    assert_int_equal(e.index, 2);
    b.n_y[2]++;
    const ggufx_tensor *w = b.w[1];
    b.w[1] = NULL;
    REFUSED("w is not", matvec_many(b.y, b.n_y, rt, b.w, 3, x, 256, NULL, &e));
    b.w[1] = w;
    float *y = b.y[2];
    b.y[2] = b.y[1] + b.n_y[1] - 1;
    REFUSED("y of product 1", matvec_many(b.y, b.n_y, rt, b.w, 3, x, 256, NULL, &e));
    assert_int_equal(e.index, 2);
    b.y[2] = x_and_y + 255;
    REFUSED("overlaps x", matvec_many(b.y, b.n_y, rt, b.w, 3, x_and_y, 256, NULL, &e));
    b.y[2] = y;
    matrix decoded = random_matrix(GGUFX_TYPE_Q8_K, b.n_y[2], 256, 0);
    ggufx_tensor *only_decoded = wrap_matrix(rt, &decoded);
    w = b.w[2];
    b.w[2] = only_decoded;
    assert_int_equal(matvec_many(b.y, b.n_y, rt, b.w, 3, x, 256, NULL, &e), GGUFX_E_TYPE);
    assert_int_equal(e.index, 2);
    assert_true(b.y[0][0] == 0.0f);
    b.w[2] = w;
    assert_int_equal(matvec_many(b.y, b.n_y, rt, b.w, 3, x, 256, NULL, &e), GGUFX_OK);
    ggufx_tensor_destroy(only_decoded);
    free_matrix(&decoded);
    free_bundle(&b);
    free(x);
    ggufx_runtime_destroy(rt);
}

static void test_cancel_at_each_poll_ends_the_call(void **state) {
    (void)state;
    float *x = random_values(4096, 5);
    for (uint32_t threads = 1; threads <= 2; threads++) {
        ggufx_runtime *rt = make_runtime(GGUFX_ISA_SCALAR, threads);
        polls never = {0, UINT64_MAX, 0, 0};
        ggufx_error e;
        bundle b;
        make_bundle(&b, rt, 20, 4096);
        uint64_t n_values = 0;
        for (size_t i = 0; i < b.n; i++) n_values += b.n_y[i];
        assert_int_equal(many(&b, rt, x, 0, &never, &e), GGUFX_OK);
        assert_int_equal(never.total, n_values);
        assert_true(never.n_polls >= (threads == 1 ? 3 : 1));
        for (uint64_t k = 0; k < never.n_polls; k++) {
            polls one = {0, k, 0, 0};
            assert_cancelled(many(&b, rt, x, 0, &one, &e), &one, threads);
        }
        free_bundle(&b);
        ggufx_runtime_destroy(rt);
    }
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_result_has_the_bits_of_matvec),
        cmocka_unit_test(test_packed_columns_that_do_not_fit_together_have_the_same_bits),
        cmocka_unit_test(test_all_matrices_share_one_fork_and_join),
        cmocka_unit_test(test_wrong_arguments_are_refused_before_anything_is_computed),
        cmocka_unit_test(test_cancel_at_each_poll_ends_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
