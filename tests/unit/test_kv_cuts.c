/*
 * Attention has the bits of a fresh run of the same tokens, for any history. The cache under test
 * has calls of random sizes, failed calls, rollbacks and other sequences. A second cache gets the
 * remaining tokens one by one.
 * usage: test_kv_cuts [CALLS]; default: the environment's GGUFX_TEST_CALLS, or 24 per case
 * SPDX-License-Identifier: MIT
 */
#include "kv_fixture.h"
#include "kv_types.h"
#include "ok.h"

#include <stdio.h>

#include "test_step.h"

enum {
    kLayers = 2,
    kHeads = 2,
    kQHeads = 4,
    kDim = 32,
    kRow = kHeads * kDim,
    kOut = kQHeads * kDim
};
enum { kMost = 160, kLongest = 1400 }; /* tokens of a call, of the sequence */

typedef struct world {
    ggufx_kv *kv, *fresh;
    const float *x; /* source of a token's rows, by its name */
    uint32_t names[kLongest];
    size_t n;
    uint32_t next_name;
    uint64_t random;
    float out[kLayers][kMost * kOut]; /* results of a call */
} world;

static uint32_t draw(world *w, uint32_t n) {
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(w->random >> 33) % n;
}

static const float *row(const world *w, uint32_t name, uint32_t layer, uint32_t what) {
    return w->x + (name * 2654435761u + layer * 97 + what * 31) % 4096 * kOut;
}

static void gather(float *to, const world *w, const uint32_t *names, size_t n, uint32_t layer,
                   uint32_t what, size_t floats) {
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * floats, row(w, names[i], layer, what), floats * sizeof *to);
}

static ggufx_status put(const world *w, ggufx_kv *kv, uint32_t sequence, uint32_t layer,
                        const uint32_t *names, size_t n) {
    static float k[kMost * kRow], v[kMost * kRow];
    gather(k, w, names, n, layer, 0, kRow);
    gather(v, w, names, n, layer, 1, kRow);
    return kv_append_rows(kv, layer, sequence, n, NULL, k, n * kRow, v, n * kRow, NULL);
}

static ggufx_status ask(const world *w, const ggufx_kv *kv, uint32_t layer, const uint32_t *names,
                        size_t n, float *out, const ggufx_progress *progress) {
    static float q[kMost * kOut];
    gather(q, w, names, n, layer, 2, kOut);
    ggufx_attend_options options = {.struct_size = sizeof options};
    options.progress = progress;
    return kv_attend_rows(out, n * kOut, NULL, 0, kv, layer, 0, q, n * kOut, n, NULL, &options,
                          NULL);
}

static int32_t stop(void *user, uint64_t done, uint64_t total) {
    (void)user;
    (void)done;
    (void)total;
    return 1;
}

/* Appends the kept tokens one by one to the fresh cache; their results must equal those of the
 * call. */
static void keep(world *w, const uint32_t *names, size_t n) {
    float out[kOut];
    for (size_t i = 0; i < n; i++) {
        w->names[w->n++] = names[i];
        for (uint32_t layer = 0; layer < kLayers; layer++) {
            assert_int_equal(put(w, w->fresh, 0, layer, names + i, 1), GGUFX_OK);
            assert_int_equal(ask(w, w->fresh, layer, names + i, 1, out, NULL), GGUFX_OK);
            if (memcmp(out, w->out[layer] + i * kOut, sizeof out) != 0)
                fail_msg("token %zu, number %zu of %zu of its call, layer %u: other bits", w->n - 1,
                         i, n, layer);
        }
    }
}

/* A call of several appends to all layers, or to the first alone. */
static void run(world *w, const uint32_t *names, size_t n, int half) {
    for (size_t done = 0, step; done < n; done += step) {
        step = draw(w, 3) ? 1 + draw(w, 9) : 1 + draw(w, kMost);
        if (step > n - done) step = n - done;
        for (uint32_t layer = 0; layer < kLayers; layer++) {
            if (half && layer && done + step == n) return;
            assert_int_equal(put(w, w->kv, 0, layer, names + done, step), GGUFX_OK);
            assert_int_equal(
                ask(w, w->kv, layer, names + done, step, w->out[layer] + done * kOut, NULL),
                GGUFX_OK);
        }
    }
}

/* Failed calls, which must leave no trace. */
static void call_that_fails(world *w, const uint32_t *names, size_t n) {
    static const ggufx_progress progress = {.report = stop};
    if (draw(w, 2)) { /* without ggufx_kv_begin: one append to the first layer */
        assert_int_equal(put(w, w->kv, 0, 0, names, n), GGUFX_OK);
        assert_int_equal(ask(w, w->kv, 0, names, n, w->out[0], &progress), GGUFX_E_CANCELLED);
    } else {
        OK(ggufx_kv_begin(w->kv, 0, ok_error()));
        run(w, names, n, (int)draw(w, 2));
    }
    OK(ggufx_kv_rollback(w->kv, 0, ok_error()));
}

/* Some tokens of a call are rejected drafts. */
static void call_with_drafts(world *w, const uint32_t *names, size_t n) {
    if (n > 12) n = 12;
    const size_t stay = draw(w, (uint32_t)n + 1);
    OK(ggufx_kv_begin(w->kv, 0, ok_error()));
    for (uint32_t layer = 0; layer < kLayers; layer++) {
        assert_int_equal(put(w, w->kv, 0, layer, names, n), GGUFX_OK);
        assert_int_equal(ask(w, w->kv, layer, names, n, w->out[layer], NULL), GGUFX_OK);
    }
    const int before = (int)draw(w, 2);
    if (before) OK(ggufx_kv_commit(w->kv, 0, ok_error()));
    OK(ggufx_kv_truncate(w->kv, 0, w->n + stay, ok_error()));
    if (!before) OK(ggufx_kv_commit(w->kv, 0, ok_error()));
    keep(w, names, stay);
}

static void call_that_stays(world *w, const uint32_t *names, size_t n) {
    const int begun = (int)draw(w, 2);
    if (begun) OK(ggufx_kv_begin(w->kv, 0, ok_error()));
    run(w, names, n, 0);
    if (begun) OK(ggufx_kv_commit(w->kv, 0, ok_error()));
    keep(w, names, n);
}

/* Another sequence fills pages, is emptied, shares pages. */
static void neighbour(world *w) {
    uint32_t names[kMost];
    const size_t n = 1 + draw(w, kMost);
    for (size_t i = 0; i < n; i++) names[i] = 100000 + draw(w, 5000);
    const uint32_t s = 1 + draw(w, 2), what = draw(w, 4);
    if (what == 0) OK(ggufx_kv_truncate(w->kv, s, 0, ok_error()));
    if (what == 1) (void)ggufx_kv_copy(w->kv, 0, s, 0, draw(w, (uint32_t)w->n + 1), NULL);
    for (uint32_t layer = 0; what > 1 && layer < kLayers; layer++)
        assert_int_equal(put(w, w->kv, s, layer, names, n), GGUFX_OK);
}

static void check_case(const ggufx_runtime *rt, const ggufx_runtime *one, world *w,
                       ggufx_kv_options shape, long n_calls, uint32_t seed) {
    shape.n_sequences = 3;
    w->kv = kv_make(rt, &shape);
    shape.n_sequences = 1;
    w->fresh = kv_make(one, &shape);
    w->n = 0;
    w->random = seed;
    for (long i = 0; i < n_calls; i++) {
        uint32_t names[kMost];
        const uint32_t what = draw(w, 10);
        const size_t n = what < 2 ? 1 + draw(w, kMost) : 1 + draw(w, 20);
        if (w->n + n > kLongest) break;
        for (size_t t = 0; t < n; t++) names[t] = w->next_name++;
        neighbour(w);
        if (what % 5 < 2)
            call_that_stays(w, names, n);
        else if (what % 5 == 2)
            call_with_drafts(w, names, n);
        else
            call_that_fails(w, names, n);
    }
    ggufx_kv_destroy(w->kv);
    ggufx_kv_destroy(w->fresh);
}

static long n_calls = 24;

static void test_bits_are_those_of_a_fresh_run_of_the_same_tokens(void **state) {
    (void)state;
    static world w;
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 2, NULL), *one = kv_runtime(&memory, 1, NULL);
    ggufx_runtime *scalar = kv_scalar_runtime();
    w.x = kv_random(4096 * kOut + kOut, 3);
    static const uint32_t windows[] = {0, 16, 64}, sinks[] = {0, 4, GGUFX_KV_NO_SINK_TOKENS};
    size_t n = 0;
    for (size_t t = 0; t < kTypeCount; t++)
        for (size_t i = 0; i < 3; i++)
            for (size_t s = 0; s < 3; s++, n++) {
                if (n % test_step()) continue;
                ggufx_kv_options shape = kv_shape(kHeads, kQHeads, kDim, kDim, kTypes[t],
                                                  kTypes[(t * 5 + n) % kTypeCount]);
                const ggufx_kv_layer_options layers[kLayers] = {kv_window(windows[i], 0),
                                                                kv_window(0, 0)};
                shape.n_layers = shape.n_layer_options = kLayers;
                shape.layers = layers;
                shape.n_sink_tokens = sinks[s];
                if (n % 7 == 0) shape.flags |= GGUFX_KV_CENTRE_ALL;
                check_case(rt, n % 4 ? one : scalar, &w, shape, n_calls, 7 + (uint32_t)n);
            }
    free((void *)w.x);
    ggufx_runtime_destroy(rt);
    ggufx_runtime_destroy(one);
    ggufx_runtime_destroy(scalar);
    assert_int_equal(memory.live, 0);
}

int main(int argc, char **argv) {
    const char *given = argc > 1 ? argv[1] : getenv("GGUFX_TEST_CALLS");
    if (given) n_calls = atol(given);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits_are_those_of_a_fresh_run_of_the_same_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
