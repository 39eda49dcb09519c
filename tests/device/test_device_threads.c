/*
 * One device, many threads: concurrent uploads, products, slices and queries. The last handle is
 * freed while other threads work.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/weight_calls.h"
#include "fake_fixture.h"

#include <pthread.h>

enum { kThreads = 6, kRounds = 12 };

typedef struct worker {
    const ggufx_runtime *rt;
    const ggufx_device *device;
    const ggufx_tensor *shared;
    const matrix *m;
    const float *x;
    const float *want;
    unsigned number;
    int failed;
} worker;

/* cmocka's asserts only work on its own thread. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            me->failed = __LINE__;                                                                 \
            return NULL;                                                                           \
        }                                                                                          \
    } while (0)

static void *work(void *arg) {
    worker *me = arg;
    const size_t rows = (size_t)me->m->n_rows, cols = (size_t)me->m->n_cols;
    float *y = malloc(rows * sizeof *y);
    uint8_t *bytes = malloc((size_t)me->m->n_bytes);
    const uint64_t ne[2] = {cols, rows};
    for (unsigned round = 0; round < kRounds; round++) {
        ggufx_tensor *here = NULL, *there = NULL, *slice = NULL;
        ggufx_device_facts facts = {.struct_size = sizeof facts};
        MUST(tensor_of(&here, me->rt, me->m->type, 2, ne, 0, me->m->data, me->m->n_bytes, "w", NULL,
                       NULL, NULL) == GGUFX_OK);
        MUST(ggufx_tensor_upload(&there, me->device, here, NULL, NULL) == GGUFX_OK);
        MUST(ggufx_tensor_slice(&slice, me->shared, 1, me->number, rows - me->number, NULL) ==
             GGUFX_OK);
        MUST(ggufx_matvec(y, rows, me->rt, there, me->x, cols, NULL, NULL) == GGUFX_OK);
        MUST(memcmp(y, me->want, rows * sizeof *y) == 0);
        MUST(ggufx_matvec(y, rows - me->number, me->rt, slice, me->x, cols, NULL, NULL) ==
             GGUFX_OK);
        MUST(memcmp(y, me->want + me->number, (rows - me->number) * sizeof *y) == 0);
        MUST(ggufx_device_info(&facts, me->device, NULL) == GGUFX_OK);
        MUST(ggufx_tensor_download(bytes, (size_t)me->m->n_bytes, there, NULL) == GGUFX_OK);
        MUST(memcmp(bytes, me->m->data, (size_t)me->m->n_bytes) == 0);
        ggufx_tensor_destroy(slice);
        ggufx_tensor_destroy(there);
        ggufx_tensor_destroy(here);
    }
    free(bytes);
    free(y);
    return NULL;
}

static void test_threads_share_a_device(void **state) {
    (void)state;
    for (int unmapped = 0; unmapped < 2; unmapped++) {
        fake->unmapped = unmapped;
        fake->n_busy = 1;
        fake_host host = begin_fake(0);
        matrix m = random_matrix(GGUFX_TYPE_Q6_K, 64, 512, 0);
        ggufx_tensor *here = wrap_matrix(host.rt, &m), *shared = upload(host.device, here);
        float *x = random_values(512, 9), *want = product(host.rt, &m, x, 1, 0);
        pthread_t threads[kThreads];
        worker workers[kThreads];
        for (unsigned i = 0; i < kThreads; i++) {
            workers[i] = (worker){host.rt, host.device, shared, &m, x, want, i, 0};
            assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
        }
        for (unsigned i = 0; i < kThreads; i++) {
            pthread_join(threads[i], NULL);
            if (workers[i].failed) fail_msg("thread %u: line %d", i, workers[i].failed);
        }
        free(x);
        free(want);
        ggufx_tensor_destroy(shared);
        ggufx_tensor_destroy(here);
        free_matrix(&m);
        end_fake(&host);
    }
}

int main(int argc, char **argv) {
    use_fake(argc > 1 ? argv[1] : "");
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads_share_a_device)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
