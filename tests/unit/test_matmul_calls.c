/*
 * Products and their host: workspace, memory, the executor, polls, concurrent callers.
 * SPDX-License-Identifier: MIT
 */
#include "matmul_fixture.h"
#include "ok.h"
#include "weight_calls.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <dirent.h>
#include <unistd.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif

static void test_column_that_does_not_fit_the_workspace_is_a_limit(void **state) {
    (void)state;
    enum { cols = 262144 };
    ggufx_runtime_options options = {.struct_size = sizeof options};
    options.workspace_bytes = 64 << 10;
    ggufx_runtime *rt = make_runtime_with(&options);
    matrix m = random_matrix(GGUFX_TYPE_Q4_0, 1, cols, 0);
    ggufx_tensor *w = wrap_matrix(rt, &m);
    float *x = random_values(4 * cols, 8), y[4];
    ggufx_error e;
    assert_int_equal(ggufx_matvec(y, 1, rt, w, x, cols, NULL, &e), GGUFX_E_LIMIT);
    assert_non_null(strstr(e.message, "workspace_bytes"));
    assert_int_equal(matmul(y, 0, 4, rt, w, x, 0, 4 * cols, 4, NULL, &e), GGUFX_E_LIMIT);
    ggufx_tensor_destroy(w);
    free_matrix(&m);
    ggufx_runtime_destroy(rt);
    free(x);
}

#if defined(__linux__)
/* Returns the number of threads of this process. */
static int n_threads(void) {
    int n = 0;
    DIR *const folder = opendir("/proc/self/task");
    assert_non_null(folder);
    while (readdir(folder)) n++;
    closedir(folder);
    return n - 2; /* . and .. */
}

/* A joined thread stays listed for a moment. */
static void assert_threads(int want) {
    for (int i = 0; i < 2000 && n_threads() != want; i++) usleep(1000);
    assert_int_equal(n_threads(), want);
}

static void *end_at_once(void *unused) {
    return unused;
}

/* Threads start with the first call that has work for them, one fewer than requested: the caller is
 * the first. There are at most as many as processors. */
static void test_own_threads_are_as_many_as_asked_for(void **state) {
    (void)state;
    enum { rows = 512, cols = 4096 };
    pthread_t first; /* in the process: some sanitizers start one of their own */
    assert_int_equal(pthread_create(&first, NULL, end_at_once, NULL), 0);
    assert_int_equal(pthread_join(first, NULL), 0);
    ggufx_runtime *const all = make_runtime(0, 0);
    ggufx_runtime_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_runtime_info(&facts, all, ok_error()));
    ggufx_runtime_destroy(all);
    usleep(50000); /* until ended threads are gone */
    const int before = n_threads();
    matrix m = random_matrix(GGUFX_TYPE_Q4_0, rows, cols, 0);
    float *x = random_values(cols, 8), y[rows];
    for (uint32_t asked = 1; asked <= 3 && asked <= facts.threads; asked++) {
        ggufx_runtime *const rt = make_runtime(0, asked);
        ggufx_tensor *const w = wrap_matrix(rt, &m);
        OK(ggufx_matvec(y, rows, rt, w, x, cols, NULL, ok_error()));
        assert_threads(before + (int)asked - 1);
        ggufx_tensor_destroy(w);
        ggufx_runtime_destroy(rt);
    }
    assert_threads(before);
    free_matrix(&m);
    free(x);
}
#endif

static size_t heap_in_use(void) {
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

static void test_products_never_allocate(void **state) {
    (void)state;
    enum { rows = 900, cols = 512, n = 9 };
    fault count;
    const ggufx_executor executor = reverse_executor();
    ggufx_runtime_options options = {.struct_size = sizeof options};
    fault_init(&count);
    options.allocator = &count.allocator;
    options.executor = &executor;
    ggufx_runtime *rt = make_runtime_with(&options);
    float *x = random_values(n * cols, 11), *y = malloc(n * rows * sizeof *y);
    for (size_t t = 0; t < N_PRODUCT_TYPES; t++) {
        matrix m = random_matrix(product_types[t], rows, cols, 0);
        ggufx_tensor *w = wrap_matrix(rt, &m);
        for (size_t mode = 0; mode < N_PRODUCT_MODES; mode++) {
            const uint32_t flags = product_modes[mode];
            ggufx_matmul_options mm = {.struct_size = sizeof mm};
            mm.flags = flags;
            const long calls = count.calls;
            const size_t heap = heap_in_use();
            for (size_t columns = 1; columns <= n; columns += 4) {
                OK(matmul(y, 0, n * rows, rt, w, x, 0, n * cols, columns, &mm, ok_error()));
            }
            assert_int_equal(count.calls, calls);
            assert_int_equal(heap_in_use(), heap);
        }
        ggufx_tensor_destroy(w);
        free_matrix(&m);
    }
    ggufx_runtime_destroy(rt);
    assert_int_equal(count.live, 0);
    free(x);
    free(y);
}

static ggufx_status polled_product(const ggufx_runtime *rt, const ggufx_tensor *w, float *y,
                                   const float *x, size_t n, polls *p, ggufx_error *e) {
    ggufx_progress progress;
    const ggufx_matmul_options options = options_with(0, &progress, p);
    ggufx_tensor_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_tensor_info(&facts, w, ok_error()));
    const size_t cols = (size_t)facts.ne[0], rows = (size_t)facts.ne[1];
    return matmul(y, 0, n * rows, rt, w, x, 0, n * cols, n, &options, e);
}

static void test_cancel_at_each_poll_ends_the_product(void **state) {
    (void)state;
    enum { rows = 3000, cols = 1024, n = 5 };
    matrix m = random_matrix(GGUFX_TYPE_Q4_0, rows, cols, 0);
    float *x = random_values(n * cols, 12), *y = malloc(n * rows * sizeof *y);
    for (uint32_t threads = 1; threads <= 2; threads++) {
        ggufx_runtime *rt = make_runtime(GGUFX_ISA_SCALAR, threads);
        ggufx_tensor *w = wrap_matrix(rt, &m);
        for (size_t columns = 1; columns <= n; columns += n - 1) {
            polls never = {0, UINT64_MAX, 0, 0};
            ggufx_error e;
            float *want = product(rt, &m, x, columns, 0);
            assert_int_equal(polled_product(rt, w, y, x, columns, &never, &e), GGUFX_OK);
            assert_equal_bits(y, want, columns * rows);
            assert_true(never.n_polls >= (threads == 1 ? 2 : 1));
            for (uint64_t k = 0; k < never.n_polls; k++) {
                polls one = {0, k, 0, 0};
                const ggufx_status status = polled_product(rt, w, y, x, columns, &one, &e);
                assert_cancelled(status, &one, threads);
                if (status == GGUFX_OK) assert_equal_bits(y, want, columns * rows);
            }
            free(want);
        }
        ggufx_tensor_destroy(w);
        ggufx_runtime_destroy(rt);
    }
    free(x);
    free(y);
    free_matrix(&m);
}

static ggufx_status refuse(void *user, uint32_t n_tasks, void (*task)(void *, uint32_t, uint32_t),
                           void *ctx) {
    (void)user;
    (void)n_tasks;
    (void)task;
    (void)ctx;
    return GGUFX_E_STATE;
}

static void test_failure_of_the_executor_is_returned(void **state) {
    (void)state;
    ggufx_executor broken = serial_executor();
    broken.parallel_for = refuse;
    ggufx_runtime_options options = {.struct_size = sizeof options};
    options.executor = &broken;
    options.isa = GGUFX_ISA_SCALAR;
    ggufx_runtime *rt = make_runtime_with(&options);
    matrix m = random_matrix(GGUFX_TYPE_Q4_0, 2000, 1024, 0);
    ggufx_tensor *w = wrap_matrix(rt, &m);
    float *x = random_values(1024, 13), *y = malloc(2000 * sizeof *y);
    ggufx_error e;
    assert_int_equal(ggufx_matvec(y, 2000, rt, w, x, 1024, NULL, &e), GGUFX_E_STATE);
    assert_int_equal(e.status, GGUFX_E_STATE);
    free(x);
    free(y);
    ggufx_tensor_destroy(w);
    free_matrix(&m);
    ggufx_runtime_destroy(rt);
}

typedef struct caller {
    const ggufx_runtime *rt;
    const matrix *m;
    float *x, *want; /* one each: shared memory would be detected */
    int n_wrong;
} caller;

static void *call_often(void *arg) {
    caller *c = arg;
    const size_t rows = (size_t)c->m->n_rows, cols = (size_t)c->m->n_cols;
    ggufx_tensor *w = NULL;
    const uint64_t ne[2] = {cols, rows};
    float *y = malloc(4 * rows * sizeof *y);
    c->n_wrong += tensor_of(&w, c->rt, c->m->type, 2, ne, 0, c->m->data, c->m->n_bytes, NULL, NULL,
                            NULL, NULL) != GGUFX_OK;
    for (int i = 0; i < 20; i++) {
        const ggufx_status status =
            matmul(y, 0, 4 * rows, c->rt, w, c->x, 0, 4 * cols, 4, NULL, NULL);
        c->n_wrong += status != GGUFX_OK || memcmp(y, c->want, 4 * rows * sizeof *y) != 0;
    }
    ggufx_tensor_destroy(w);
    free(y);
    return NULL;
}

/* More callers than the small workspace can serve at once: they wait for each other. */
static void test_concurrent_calls_share_one_runtime(void **state) {
    (void)state;
    enum { n_callers = 12, rows = 64, cols = 4096 };
    ggufx_runtime_options options = {.struct_size = sizeof options};
    options.workspace_bytes = 64 << 10;
    options.threads = 2;
    ggufx_runtime *rt = make_runtime_with(&options);
    matrix m = random_matrix(GGUFX_TYPE_Q4_K, rows, cols, 0);
    pthread_t threads[n_callers];
    caller callers[n_callers];
    for (int i = 0; i < n_callers; i++) {
        float *x = random_values(4 * cols, 14 + (uint64_t)i);
        callers[i] = (caller){rt, &m, x, product(rt, &m, x, 4, 0), 0};
    }
    for (int i = 0; i < n_callers; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < n_callers; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(callers[i].n_wrong, 0);
        free(callers[i].x);
        free(callers[i].want);
    }
    free_matrix(&m);
    ggufx_runtime_destroy(rt);
}

typedef struct nested {
    const ggufx_runtime *rt;
    const ggufx_tensor *w;
    const float *x;
    float *y;
    size_t rows, cols;
    int busy, n_calls;
} nested;

/* A job system that runs other products on this stack before the tasks of this one. */
static ggufx_status run_others_first(void *user, uint32_t n_tasks,
                                     void (*task)(void *, uint32_t, uint32_t), void *ctx) {
    nested *other = user;
    if (!other->busy) {
        other->busy = 1;
        for (int i = 0; i < 3; i++) {
            other->n_calls += ggufx_matvec(other->y, other->rows, other->rt, other->w, other->x,
                                           other->cols, NULL, NULL) == GGUFX_OK;
        }
        other->busy = 0;
    }
    for (uint32_t i = 0; i < n_tasks; i++) task(ctx, i, 0);
    return GGUFX_OK;
}

static void test_calls_inside_calls_have_workspace_of_their_own(void **state) {
    (void)state;
    enum { rows = 600, cols = 512 };
    nested other = {.rows = rows, .cols = cols};
    ggufx_executor executor = serial_executor();
    ggufx_runtime_options options = {.struct_size = sizeof options};
    executor.user = &other;
    executor.parallel_for = run_others_first;
    options.executor = &executor;
    options.isa = GGUFX_ISA_SCALAR; /* slow enough for tasks */
    ggufx_runtime *rt = make_runtime_with(&options), *plain = make_runtime(GGUFX_ISA_SCALAR, 1);
    matrix m = random_matrix(GGUFX_TYPE_Q4_0, rows, cols, 0);
    float *x = random_values(2 * cols, 16), y[rows], inner[rows];
    float *want = product(plain, &m, x, 1, 0), *want_inner = product(plain, &m, x + cols, 1, 0);
    other.rt = rt;
    other.w = wrap_matrix(rt, &m);
    other.x = x + cols;
    other.y = inner;
    OK(ggufx_matvec(y, rows, rt, other.w, x, cols, NULL, ok_error()));
    assert_int_equal(other.n_calls, 3);
    assert_equal_bits(y, want, rows);
    assert_equal_bits(inner, want_inner, rows);
    free(want);
    free(want_inner);
    free(x);
    ggufx_tensor_destroy((ggufx_tensor *)(uintptr_t)other.w);
    free_matrix(&m);
    ggufx_runtime_destroy(plain);
    ggufx_runtime_destroy(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#if defined(__linux__)
        cmocka_unit_test(test_own_threads_are_as_many_as_asked_for),
#endif
        cmocka_unit_test(test_column_that_does_not_fit_the_workspace_is_a_limit),
        cmocka_unit_test(test_products_never_allocate),
        cmocka_unit_test(test_cancel_at_each_poll_ends_the_product),
        cmocka_unit_test(test_failure_of_the_executor_is_returned),
        cmocka_unit_test(test_concurrent_calls_share_one_runtime),
        cmocka_unit_test(test_calls_inside_calls_have_workspace_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
