/*
 * Many queries in a call, whose pages are dequantized once for all of them. They have the bits of
 * single calls, for every type, option and remainder of rows, over shifted pages and with NaN and
 * infinities.
 * SPDX-License-Identifier: MIT
 */
#include "kv_naive.h"
#include "ok.h"

enum { kHeads = 6, kDim = 48, kMost = 46, kHeld = 64 * 11 + 23, kOut = kHeads * kDim };

static const float kSlopes[kHeads] = {0.5f, 0.25f, 0.125f, 0.01f, 0.0f, -0.01f};
static const float kSinks[kHeads] = {0.5f, 4.0f, -3.0f, 0.0f, 1.0f, 40.0f};
static const mask kMasks[] = {
    {0, 0, 0, NULL, NULL, 0},
    {GGUFX_ATTEND_ALL, 0, 0, NULL, NULL, 0},
    {0, 70, 0, NULL, NULL, 0},
    {0, 70, 0, NULL, NULL, GGUFX_KV_WINDOW_CHUNKED},
    {0, 70, 0, NULL, NULL, GGUFX_KV_WINDOW_SYMMETRIC},
    {0, 0, 3.0, kSlopes, kSinks, 0},
};

static void attend(float *out, float *lse, const ggufx_kv *kv, const mask *m, const float *q,
                   size_t n, const int32_t *at) {
    ggufx_attend_options options = {.struct_size = sizeof options};
    options.flags = m->flags;
    options.window = m->window;
    options.window_kind = m->kind;
    options.softcap = (float)m->softcap;
    options.alibi_slopes = m->slopes;
    options.n_alibi_slopes = m->slopes ? kHeads : 0;
    options.sink_logits = m->sinks;
    options.n_sink_logits = m->sinks ? kHeads : 0;
    OK(kv_attend_rows(out, n * kOut, lse, n * kHeads, kv, 0, 0, q, n * kOut, n, at, &options,
                      ok_error()));
}

/* All at once against one by one. */
static void check_many(const ggufx_kv *kv, const mask *m, const float *q, size_t n,
                       const int32_t *at) {
    static float out[kMost * kOut], lse[kMost * kHeads];
    float one[kOut], one_lse[kHeads];
    attend(out, lse, kv, m, q, n, at);
    for (size_t i = 0; i < n; i++) {
        attend(one, one_lse, kv, m, q + i * kOut, 1, at + i);
        assert_memory_equal(one, out + i * kOut, sizeof one);
        assert_memory_equal(one_lse, lse + i * kHeads, sizeof one_lse);
    }
}

enum { kPlainPages, kShifted, kCut };

static void check_types(const ggufx_runtime *rt, uint32_t type_k, uint32_t type_v, int change) {
    ggufx_kv_options shape = kv_shape(2, kHeads, kDim, kDim, type_k, type_v);
    if (change == kShifted) shape.rope_style = GGUFX_ROPE_INTERLEAVED;
    ggufx_kv *kv = kv_make(rt, &shape);
    float *x = kv_random((size_t)kHeld * 2 * kDim, 1), *q = kv_random(kMost * kOut, 2);
    for (size_t i = 0; i < (size_t)kHeld * 2 * kDim; i++) x[i] *= 3.0f;
    kv_fill(kv, &shape, 0, kHeld, 100, NULL, x, x);
    if (change == kShifted) OK(ggufx_kv_shift(kv, 0, 200, kHeld - 200, 5, ok_error()));
    if (change == kCut) /* the next page keeps its last slots */
        OK(ggufx_kv_remove(kv, 0, 240, 70, ok_error()));
    for (size_t i = 0; i < kOut; i++) q[i + 9 * kOut] *= 40.0f; /* exceeds the slack of 8 */
    q[5 * kOut + kDim + 3] = NAN;
    q[7 * kOut + 5] = 3e38f; /* scores become infinite */
    q[7 * kOut + 6] = 3e38f;
    int32_t at[kMost];
    for (int i = 0; i < kMost; i++) at[i] = i < 4 ? kHeld + 4 - i : i * 131 % (kHeld + 5);
    at[11] = kHeld + 200; /* sees no token with a window */
    for (size_t m = 0; m < sizeof kMasks / sizeof *kMasks; m++) {
        check_many(kv, kMasks + m, q, kMost - m, at); /* 138 rows per KV head, 135, ... 123 */
        check_many(kv, kMasks + m, q + 3 * kOut, 4 + m, at + 3);
    }
    ggufx_kv_destroy(kv);
    free(x);
    free(q);
}

static void test_many_queries_give_the_bits_of_single_ones(void **state) {
    (void)state;
    ggufx_runtime *one = kv_runtime(NULL, 1, NULL), *two = kv_runtime(NULL, 2, NULL);
    for (size_t t = 0; t < kTypeCount; t++)
        check_types(t % 2 ? one : two, kTypes[t], kTypes[(t * 5 + 3) % kTypeCount], (int)t % 3);
    ggufx_runtime_destroy(one);
    ggufx_runtime_destroy(two);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_queries_give_the_bits_of_single_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
