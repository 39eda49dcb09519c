/*
 * Random operations on a KV cache compared with a simple model of it: lists of tokens per sequence.
 * The key of each token contains its name, so that a read identifies the token.
 * usage: test_kv_random [OPERATIONS]; default: the environment's GGUFX_TEST_OPERATIONS, or 100000
 * SPDX-License-Identifier: MIT
 */
#include "kv_fixture.h"
#include "ok.h"

#include <math.h>
#include <stdio.h>

enum { kDim = 16, kSequences = 4, kLayers = 2, kMost = 400 };

typedef struct token {
    float value;
    int32_t position;
} token;

typedef struct list {
    token tokens[kMost];
    size_t n;
} list;

typedef struct world {
    ggufx_kv *kv;
    list lists[kSequences];
    uint64_t random;
    kv_memory *memory;
} world;

static uint32_t draw(world *w, uint32_t n) {
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(w->random >> 33) % n;
}

/* Half-integers below 128: exact in F16 and BF16, distinct after Q8_0. */
static float new_value(world *w) {
    return (float)(1 + draw(w, 255)) * 0.5f;
}

static int32_t last_position(const list *l) {
    return l->n ? l->tokens[l->n - 1].position : -1;
}

static void append(world *w, uint32_t s) {
    list *l = &w->lists[s];
    const size_t room = kMost - l->n, want = draw(w, 4) ? 1 + draw(w, 8) : 1 + draw(w, 150);
    const size_t n = want < room ? want : room;
    const int given = (int)draw(w, 3) == 0;
    int32_t positions[kMost], next = last_position(l) + 1;
    float *x = calloc(n * kDim + 1, sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) {
        const float value = new_value(w);
        positions[i] = next + (given ? (int32_t)draw(w, 3) : 0);
        next = positions[i] + 1;
        for (size_t j = 0; j < kDim; j++) x[i * kDim + j] = value;
        l->tokens[l->n + i] = (token){value, positions[i]};
    }
    w->memory->fail_at = draw(w, 10) ? 0 : 1 + draw(w, 4);
    ggufx_status status = GGUFX_OK;
    for (uint32_t layer = 0; status == GGUFX_OK && layer < kLayers; layer++)
        status = kv_append_rows(w->kv, layer, s, n, given ? positions : NULL, x, n * kDim, x,
                                n * kDim, NULL);
    w->memory->fail_at = 0;
    if (status == GGUFX_OK)
        l->n += n;
    else
        assert_int_equal(status, GGUFX_E_MEMORY);
    if (status != GGUFX_OK) OK(ggufx_kv_rollback(w->kv, s, ok_error()));
    free(x);
}

static void cut(world *w, uint32_t s) {
    list *l = &w->lists[s];
    const uint64_t n = draw(w, (uint32_t)l->n + 1);
    OK(ggufx_kv_truncate(w->kv, s, n, ok_error()));
    l->n = (size_t)n;
}

static void range(world *w, const list *l, size_t *first, size_t *end) {
    const size_t a = draw(w, (uint32_t)l->n + 1), b = draw(w, (uint32_t)l->n + 1);
    *first = a < b ? a : b;
    *end = a < b ? b : a;
}

static int may_fail(world *w) {
    const int fails = draw(w, 8) == 0;
    w->memory->fail_at = fails ? 1 : 0;
    return fails;
}

static void take_out(world *w, uint32_t s) {
    list *l = &w->lists[s];
    size_t first, end;
    range(w, l, &first, &end);
    may_fail(w);
    const ggufx_status status = ggufx_kv_remove(w->kv, s, first, end - first, NULL);
    w->memory->fail_at = 0;
    if (status == GGUFX_E_MEMORY) return;
    assert_int_equal(status, GGUFX_OK);
    memmove(l->tokens + first, l->tokens + end, (l->n - end) * sizeof *l->tokens);
    l->n -= end - first;
}

static void copy(world *w, uint32_t from) {
    const uint32_t to = draw(w, kSequences);
    size_t first, end;
    range(w, &w->lists[from], &first, &end);
    may_fail(w);
    const ggufx_status status = ggufx_kv_copy(w->kv, from, to, first, end - first, NULL);
    w->memory->fail_at = 0;
    if (status == GGUFX_E_MEMORY) return;
    if (from == to || w->lists[to].n) {
        assert_int_equal(status, GGUFX_E_STATE);
        return;
    }
    assert_int_equal(status, GGUFX_OK);
    const list *l = &w->lists[from];
    list *target = &w->lists[to];
    for (size_t i = first; i < end; i++) target->tokens[target->n++] = l->tokens[i];
}

static void shift(world *w, uint32_t s) {
    list *l = &w->lists[s];
    size_t first, end;
    int32_t last = 0; /* positions are not negative */
    range(w, l, &first, &end);
    const int32_t delta = (int32_t)draw(w, 21) - 10;
    int fits = 1;
    for (size_t i = 0; i < l->n; i++) {
        const int32_t p = l->tokens[i].position, now = p + (i >= first && i < end ? delta : 0);
        fits &= now >= last;
        last = now;
    }
    may_fail(w);
    const ggufx_status status = ggufx_kv_shift(w->kv, s, first, end - first, delta, NULL);
    w->memory->fail_at = 0;
    if (status == GGUFX_E_MEMORY) return;
    assert_int_equal(status, fits ? GGUFX_OK : GGUFX_E_ARGUMENT);
    for (size_t i = first; fits && i < end; i++) l->tokens[i].position += delta;
}

static void check(world *w, uint32_t s) {
    const list *l = &w->lists[s];
    uint64_t length = 0;
    static int32_t positions[kMost];
    static float k[kMost * kDim], v[kMost * kDim];
    OK(ggufx_kv_length(&length, w->kv, s, ok_error()));
    assert_int_equal(length, l->n);
    OK(ggufx_kv_positions(positions, w->kv, s, 0, l->n, ok_error()));
    for (size_t i = 0; i < l->n; i++) assert_int_equal(positions[i], l->tokens[i].position);
    const size_t first = draw(w, (uint32_t)l->n + 1), n = draw(w, (uint32_t)(l->n - first) + 1);
    for (uint32_t layer = 0; layer < kLayers; layer++) {
        OK(kv_read_rows(k, n * kDim, v, n * kDim, w->kv, layer, s, first, n, ok_error()));
        for (size_t i = 0; i < n; i++) {
            const float want = l->tokens[first + i].value;
            for (size_t j = 0; j < kDim; j++)
                if (!(fabsf(k[i * kDim + j] - want) <= want * 0x1p-8f) ||
                    !(fabsf(v[i * kDim + j] - want) <= want * 0x1p-8f))
                    fail_msg("sequence %u token %zu: %g, %g, want %g", s, first + i,
                             (double)k[i * kDim + j], (double)v[i * kDim + j], (double)want);
        }
    }
}

/* Attention returns a mean of the visible values. */
static void attend(world *w, uint32_t s) {
    const list *l = &w->lists[s];
    if (l->n == 0) return;
    float q[kDim] = {0}, out[kDim];
    const int32_t last = last_position(l);
    const int32_t position = (int32_t)draw(w, (uint32_t)(last > 0 ? last : 0) + 3);
    OK(kv_attend_rows(out, kDim, NULL, 0, w->kv, draw(w, kLayers), s, q, kDim, 1, &position, NULL,
                      ok_error()));
    double sum = 0;
    size_t n = 0;
    for (; n < l->n && l->tokens[n].position <= position; n++) sum += (double)l->tokens[n].value;
    const double want = n ? sum / (double)n : 0;
    if (!(fabs((double)out[3] - want) <= 0.01 * want))
        fail_msg("sequence %u: mean %g, want %g", s, (double)out[3], want);
}

static int32_t perhaps(void *user, uint64_t done, uint64_t total) {
    assert_true(done < total);
    return draw(user, 20) == 0;
}

/* Converts one layer or all, one stream or both, between types that keep the values distinct. */
static void requantize(world *w) {
    static const uint32_t types[] = {GGUFX_TYPE_F32,  GGUFX_TYPE_F16,  GGUFX_TYPE_BF16,
                                     GGUFX_TYPE_Q8_0, GGUFX_TYPE_KEEP, GGUFX_TYPE_Q8_0};
    const uint32_t layer = draw(w, kLayers + 1), k = types[draw(w, 6)], v = types[draw(w, 6)];
    const ggufx_progress progress = {.user = w, .report = perhaps};
    const int fails = may_fail(w);
    const ggufx_status status = ggufx_kv_requantize(
        w->kv, layer < kLayers ? layer : GGUFX_KV_ALL_LAYERS, k, v, &progress, NULL);
    w->memory->fail_at = 0;
    if (status != GGUFX_OK && status != GGUFX_E_CANCELLED)
        assert_true(fails && status == GGUFX_E_MEMORY);
}

static void compact(world *w, uint32_t s) {
    const ggufx_progress progress = {.user = w, .report = perhaps};
    const int fails = may_fail(w);
    const ggufx_status status =
        ggufx_kv_compact(w->kv, draw(w, 3) ? s : GGUFX_ALL_SEQUENCES, &progress, NULL);
    w->memory->fail_at = 0;
    if (status != GGUFX_OK && status != GGUFX_E_CANCELLED)
        assert_true(fails && status == GGUFX_E_MEMORY);
}

static void operate(world *w) {
    const uint32_t s = draw(w, kSequences), what = draw(w, 100);
    if (what < 45)
        append(w, s);
    else if (what < 53)
        cut(w, s);
    else if (what < 65)
        take_out(w, s);
    else if (what < 73)
        copy(w, s);
    else if (what < 81)
        shift(w, s);
    else if (what < 82)
        requantize(w);
    else if (what < 83)
        compact(w, s);
    else if (what < 88)
        attend(w, s);
    else if (what == 88) {
        OK(ggufx_kv_keep(w->kv, s, ok_error()));
        for (uint32_t i = 0; i < kSequences; i++)
            if (i != s) w->lists[i].n = 0;
    } else if (what == 89) {
        (void)ggufx_kv_reserve(w->kv, s, draw(w, kMost), NULL);
    } else
        check(w, s);
}

static long n_operations = 100000; /* 1.2 s of one core */

static void test_random_operations_agree_with_lists_of_tokens(void **state) {
    (void)state;
    static world w;
    static const uint32_t types[3][4] = {
        {GGUFX_TYPE_F16, GGUFX_TYPE_F32, GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q8_0},
        {GGUFX_TYPE_Q8_0, GGUFX_TYPE_BF16, GGUFX_TYPE_F32, GGUFX_TYPE_Q8_0},
        {GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q8_0, GGUFX_TYPE_F16, GGUFX_TYPE_F16}};
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    const long live = memory.live;
    for (int t = 0; t < 3; t++) {
        ggufx_kv_options shape = kv_shape(1, 1, kDim, kDim, 0, 0);
        const ggufx_kv_layer_options layers[2] = {kv_types_of_layer(types[t][0], types[t][1]),
                                                  kv_types_of_layer(types[t][2], types[t][3])};
        shape.n_layers = shape.n_layer_options = kLayers;
        shape.layers = layers;
        shape.n_sequences = kSequences;
        shape.rope_style = GGUFX_ROPE_NONE; /* keys keep their values when shifted */
        shape.n_sink_tokens = t == 2 ? GGUFX_KV_NO_SINK_TOKENS : 0;
        memset(&w, 0, sizeof w);
        w.kv = kv_make(rt, &shape);
        w.memory = &memory;
        w.random = 77 + (uint64_t)t;
        for (long i = 0; i < n_operations / 3; i++) operate(&w);
        for (uint32_t s = 0; s < kSequences; s++) check(&w, s);
        ggufx_kv_destroy(w.kv);
        assert_int_equal(memory.live, live);
    }
    ggufx_runtime_destroy(rt);
    assert_int_equal(memory.live, 0);
}

int main(int argc, char **argv) {
    const char *given = argc > 1 ? argv[1] : getenv("GGUFX_TEST_OPERATIONS");
    if (given) n_operations = atol(given);
    printf("%ld operations\n", n_operations);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_operations_agree_with_lists_of_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
