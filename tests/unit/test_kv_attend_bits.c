/*
 * Attention over a KV cache: the bits of its definition, for any split of the work.
 * SPDX-License-Identifier: MIT
 */
#include "kv_data.h"
#include "ok.h"

#include <fenv.h>
#include <math.h>
#include <pthread.h>

#define FNV_START 0xcbf29ce484222325u

static const uint32_t kTypes[] = {GGUFX_TYPE_F32, GGUFX_TYPE_F16, GGUFX_TYPE_BF16, GGUFX_TYPE_Q8_0};

static void test_number_of_queries_and_sizes_of_appends_do_not_change_bits(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 2, NULL);
    static const size_t steps[] = {200, 1, 7, 64};
    for (size_t type = 0; type < 4; type++) {
        const ggufx_kv_options shape = kv_shape(2, 4, 40, 40, kTypes[type], kTypes[type]);
        data d = make_data(shape, 300, 6, 3);
        float *first = malloc(d.n_out * sizeof *first);
        assert_non_null(first);
        for (size_t i = 0; i < 4; i++) {
            ggufx_kv *kv = kv_make(rt, &shape);
            kv_fill(kv, &shape, 0, d.n, steps[i], NULL, d.k, d.v);
            kv_attend(d.out, d.lse, kv, &shape, 0, d.q, 6, NULL, 0, 0);
            if (i == 0) memcpy(first, d.out, d.n_out * sizeof *first);
            assert_memory_equal(first, d.out, d.n_out * sizeof *first);
            for (size_t query = 0; query < 6; query++) {
                const int32_t position = 294 + (int32_t)query;
                float one[160], lse[4];
                kv_attend(one, lse, kv, &shape, 0, d.q + query * 160, 1, &position, 0, 0);
                assert_memory_equal(one, first + query * 160, sizeof one);
                assert_memory_equal(lse, d.lse + query * 4, sizeof lse);
            }
            ggufx_kv_destroy(kv);
        }
        free(first);
        free_data(&d);
    }
    ggufx_runtime_destroy(rt);
}

static ggufx_status run_backwards(void *user, uint32_t n, void (*task)(void *, uint32_t, uint32_t),
                                  void *ctx) {
    ++*(int *)user;
    while (n-- > 0) task(ctx, n, 0);
    return GGUFX_OK;
}

static void test_threads_executors_modes_and_instructions_do_not_change_bits(void **state) {
    (void)state;
    int calls = 0;
    const ggufx_executor executor = {.struct_size = sizeof executor,
                                     .max_workers = 2,
                                     .user = &calls,
                                     .parallel_for = run_backwards};
    const ggufx_kv_options shape = kv_shape(2, 8, 64, 64, GGUFX_TYPE_Q8_0, GGUFX_TYPE_F16);
    data d = make_data(shape, 700, 3, 11);
    float *first = malloc(d.n_out * sizeof *first);
    assert_non_null(first);
    for (uint32_t i = 0; i < 7; i++) {
        ggufx_runtime *rt =
            i == 6 ? kv_scalar_runtime() : kv_runtime(NULL, i, i == 4 ? &executor : NULL);
        ggufx_kv *kv = kv_make(rt, &shape);
#if defined(__SSE__) || defined(__aarch64__)
        if (i == 5) fesetround(FE_UPWARD);
#endif
        kv_fill(kv, &shape, 0, d.n, d.n, NULL, d.k, d.v);
        kv_attend(d.out, d.lse, kv, &shape, 0, d.q, 3, NULL, 0, 0);
#if defined(__SSE__) || defined(__aarch64__)
        if (i == 5) assert_int_equal(fegetround(), FE_UPWARD);
#endif
        fesetround(FE_TONEAREST);
        if (i == 0) memcpy(first, d.out, d.n_out * sizeof *first);
        assert_memory_equal(first, d.out, d.n_out * sizeof *first);
        ggufx_kv_destroy(kv);
        ggufx_runtime_destroy(rt);
    }
    assert_true(calls >= 2); /* append and attend were both large enough to be split */
    free(first);
    free_data(&d);
}

typedef struct worker {
    const ggufx_kv *kv;
    const data *d;
    float *out;
} worker;

static void *attend_repeatedly(void *user) {
    worker *w = user;
    for (int i = 0; i < 6; i++) {
        memset(w->out, 0, w->d->n_out * sizeof *w->out);
        if (kv_attend_rows(w->out, w->d->n_out, NULL, 0, w->kv, 0, 0, w->d->q,
                           w->d->n_queries * 4 * 32, w->d->n_queries, NULL, NULL, NULL) != GGUFX_OK)
            return NULL;
        if (memcmp(w->out, w->d->out, w->d->n_out * sizeof *w->out) != 0) return NULL;
    }
    return w;
}

static void test_attends_may_run_at_once(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 2, NULL);
    const ggufx_kv_options shape = kv_shape(2, 4, 32, 32, GGUFX_TYPE_F16, GGUFX_TYPE_F16);
    data d = make_data(shape, 500, 4, 5);
    ggufx_kv *kv = kv_make(rt, &shape);
    kv_fill(kv, &shape, 0, d.n, d.n, NULL, d.k, d.v);
    kv_attend(d.out, NULL, kv, &shape, 0, d.q, 4, NULL, 0, 0);
    pthread_t threads[4];
    worker workers[4];
    for (int i = 0; i < 4; i++) {
        workers[i] = (worker){kv, &d, malloc(d.n_out * sizeof *d.out)};
        assert_int_equal(pthread_create(&threads[i], NULL, attend_repeatedly, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, &workers[i]);
        free(workers[i].out);
    }
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    free_data(&d);
}

static void test_many_value_columns_are_summed_in_parts_with_the_same_bits(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv_options wide = kv_shape(1, 2, 16, 1100, GGUFX_TYPE_F32, GGUFX_TYPE_F32), narrow = wide;
    narrow.head_dim_v = 300;
    data d = make_data(wide, 100, 1, 21), e = make_data(narrow, 100, 1, 21);
    for (size_t t = 0; t < 100; t++) memcpy(e.v + t * 300, d.v + t * 1100 + 800, 300 * sizeof *e.v);
    ggufx_kv *a = kv_make(rt, &wide), *b = kv_make(rt, &narrow);
    kv_fill(a, &wide, 0, 100, 100, NULL, d.k, d.v);
    kv_fill(b, &narrow, 0, 100, 100, NULL, d.k, e.v);
    kv_attend(d.out, d.lse, a, &wide, 0, d.q, 1, NULL, 0, 0);
    kv_attend(e.out, e.lse, b, &narrow, 0, d.q, 1, NULL, 0, 0);
    kv_check(d.out, d.lse, a, &wide, 0, d.q, 1, NULL, NULL, 0);
    assert_memory_equal(d.out + 800, e.out, 300 * sizeof *e.out);
    assert_memory_equal(d.lse, e.lse, 2 * sizeof *e.lse);
    ggufx_kv_destroy(a);
    ggufx_kv_destroy(b);
    ggufx_runtime_destroy(rt);
    free_data(&d);
    free_data(&e);
}

/* Checks both queries of d against kv_reference; steep scores exceed the slack of 8 within a
 * chunk. */
static void check_text(const ggufx_kv *kv, const data *d) {
    const uint32_t dk = d->shape.head_dim_k, dv = d->shape.head_dim_v;
    const size_t row_k = 2 * dk, row_v = 2 * dv, n = d->n;
    float *k = malloc(n * row_k * sizeof *k), *v = malloc(n * row_v * sizeof *v), out[40], m, l;
    assert_true(k && v && dv == 40);
    OK(kv_read_rows(k, n * row_k, v, n * row_v, kv, 0, 0, 0, n, ok_error()));
    for (size_t i = 0; i < 2 * 4; i++) {
        const size_t head = i % 4 / 2, visible = n - 1 + i / 4;
        kv_reference(out, &m, &l, d->q + i * dk, k + head * dk, row_k, v + head * dv, row_v,
                     visible, dk, dv, (float)(1 / sqrt((double)dk)));
        assert_memory_equal(out, d->out + i * dv, sizeof out);
        const double lse = (double)m + log((double)l); /* libm: to a unit in the last place */
        assert_true(fabs(lse - (double)d->lse[i]) <= fabs(lse) * 0x1p-23);
    }
    free(k);
    free(v);
}

/* The bits of docs/reproducibility/attention.md on every processor: a change needs a `bits:` line
 * in CHANGELOG.md. */
static void test_attention_follows_its_text_and_keeps_its_bits(void **state) {
    (void)state;
    static const uint64_t want[4] = {0x0aa07e01a9892d04u, 0xd548785f96dcc732u, 0xcc310bc484fbd171u,
                                     0xb16c86387ec87621u};
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    int differ = 0;
    for (size_t type = 0; type < 4; type++) {
        ggufx_kv_options shape = kv_shape(2, 4, 48, 40, kTypes[type], kTypes[type]);
        shape.n_sink_tokens = GGUFX_KV_NO_SINK_TOKENS; /* whole pages of 64 */
        data d = make_data(shape, 1100, 2, 77);
        for (size_t i = 0; i < 2 * 4 * 48; i++) d.q[i] *= 4.0f; /* spreads the weights */
        for (size_t i = 300 * 96; i < 1000 * 96; i++) {
            const float factor =
                (float)(i / 96) * 0x1p-7f; /* exact, also with excess precision in C */
            d.k[i] *= factor;
        }
        ggufx_kv *kv = kv_make(rt, &shape);
        kv_fill(kv, &shape, 0, d.n, d.n, NULL, d.k, d.v);
        kv_attend(d.out, d.lse, kv, &shape, 0, d.q, 2, NULL, 0, 0);
        if (type < 3) check_text(kv, &d); /* quantized pages: checkasm and test_kv_fused */
        const uint64_t got = kv_hash(kv_hash(FNV_START, d.out, d.n_out), d.lse, 8);
        if (got != want[type])
            print_error("type %u: 0x%016llx\n", kTypes[type], (unsigned long long)got);
        differ += got != want[type];
        ggufx_kv_destroy(kv);
        free_data(&d);
    }
    assert_int_equal(differ, 0);
    ggufx_runtime_destroy(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number_of_queries_and_sizes_of_appends_do_not_change_bits),
        cmocka_unit_test(test_threads_executors_modes_and_instructions_do_not_change_bits),
        cmocka_unit_test(test_attends_may_run_at_once),
        cmocka_unit_test(test_many_value_columns_are_summed_in_parts_with_the_same_bits),
        cmocka_unit_test(test_attention_follows_its_text_and_keeps_its_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
