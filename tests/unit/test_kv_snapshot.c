/*
 * Snapshots of a KV cache: bit-exact round trips. Damaged snapshots and those of another cache are
 * refused and change nothing.
 * SPDX-License-Identifier: MIT
 */
#include "kv_bytes.h"
#include "ok.h"

enum { kDim = 16, kHeads = 2, kRow = kDim * kHeads };

static ggufx_kv_options shape_of(uint32_t type_k, uint32_t type_v) {
    ggufx_kv_options shape = kv_shape(kHeads, 2 * kHeads, kDim, kDim, type_k, type_v);
    shape.n_layers = 2;
    shape.n_sequences = 2;
    shape.rope_style = GGUFX_ROPE_INTERLEAVED;
    return shape;
}

/* Sinks, quantized pages, partial pages, a shift, an unquantized last page; the second sequence
 * shares some. Layers hold different values, so that each has its own calibration. */
static ggufx_kv *filled(const ggufx_runtime *rt, const ggufx_kv_options *shape, uint32_t seed) {
    ggufx_kv *kv = kv_make(rt, shape);
    float *x = kv_random(2 * 200 * kRow, seed);
    for (uint32_t layer = 0; layer < 2; layer++) {
        const float *of_layer = x + layer * 200 * kRow;
        OK(kv_append_rows(kv, layer, 0, 200, NULL, of_layer, 200 * kRow, of_layer, 200 * kRow,
                          ok_error()));
    }
    OK(ggufx_kv_commit(kv, 0, ok_error()));
    OK(ggufx_kv_remove(kv, 0, 20, 10, ok_error()));
    assert_int_equal(ggufx_kv_shift(kv, 0, 90, kv_rest(kv, 0, 90), -5, NULL), GGUFX_E_ARGUMENT);
    OK(ggufx_kv_shift(kv, 0, 90, kv_rest(kv, 0, 90), 5, ok_error()));
    OK(ggufx_kv_copy(kv, 0, 1, 10, 125, ok_error()));
    free(x);
    return kv;
}

static void attend_both(const ggufx_kv *kv, float out[2][2 * kRow]) {
    float *q = kv_random(2 * kRow, 5);
    for (uint32_t s = 0; s < 2; s++)
        OK(kv_attend_rows(out[s], 2 * kRow, NULL, 0, kv, 1, s, q, 2 * kRow, 1, NULL, NULL,
                          ok_error()));
    free(q);
}

static void assert_same(const kv_bytes *a, const kv_bytes *b) {
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->data, b->data, a->n);
}

static void test_what_was_saved_comes_back_and_goes_on(void **state) {
    (void)state;
    static const uint32_t types[][2] = {{GGUFX_TYPE_F32, GGUFX_TYPE_BF16},
                                        {GGUFX_TYPE_GX4, GGUFX_TYPE_GX3},
                                        {GGUFX_TYPE_Q5_1, GGUFX_TYPE_TQ3_0},
                                        {GGUFX_TYPE_F16, GGUFX_TYPE_ROT_IQ4_NL}};
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    for (size_t t = 0; t < 4; t++) {
        const ggufx_kv_options shape = shape_of(types[t][0], types[t][1]);
        ggufx_kv *a = filled(rt, &shape, 1), *b = filled(rt, &shape, 2), *c = kv_make(rt, &shape);
        float want[2][2 * kRow], got[2][2 * kRow];
        attend_both(a, want);
        kv_bytes all = kv_saved(a, GGUFX_ALL_SEQUENCES);
        OK(ggufx_kv_load(b, GGUFX_ALL_SEQUENCES, kv_bytes_read, &all, ok_error()));
        assert_int_equal(all.at, all.n);
        attend_both(b, got);
        assert_memory_equal(want, got, sizeof want);
        kv_bytes again = kv_saved(b, GGUFX_ALL_SEQUENCES);
        assert_same(&all, &again);
        kv_bytes one = kv_saved(a, 1); /* into an empty sequence */
        OK(ggufx_kv_load(c, 0, kv_bytes_read, &one, ok_error()));
        kv_bytes back = kv_saved(c, 0);
        assert_same(&one, &back);
        /* both continue equally */
        float *x = kv_random(100 * kRow, 9);
        for (size_t i = 0; i < 2; i++) {
            ggufx_kv *kv = i ? b : a;
            for (uint32_t layer = 0; layer < 2; layer++)
                OK(kv_append_rows(kv, layer, 0, 100, NULL, x, 100 * kRow, x, 100 * kRow,
                                  ok_error()));
        }
        attend_both(a, want);
        attend_both(b, got);
        assert_memory_equal(want, got, sizeof want);
        ggufx_kv_destroy(a);
        ggufx_kv_destroy(b);
        ggufx_kv_destroy(c);
        free(all.data);
        free(again.data);
        free(one.data);
        free(back.data);
        free(x);
    }
    ggufx_runtime_destroy(rt);
    assert_int_equal(memory.live, 0);
}

/* Appends tokens of x from `from` to `to`, then those of `other` up to `end`, in both layers of
 * sequence 0. */
static void append_of(ggufx_kv *kv, const float *x, size_t from, size_t to, const float *other,
                      size_t end) {
    for (uint32_t layer = 0; layer < 2; layer++) {
        const size_t n[2] = {(to - from) * kRow, (end - to) * kRow};
        const float *at[2] = {x + from * kRow, other + to * kRow};
        for (size_t i = 0; i < 2; i++)
            if (n[i])
                OK(kv_append_rows(kv, layer, 0, n[i] / kRow, NULL, at[i], n[i], at[i], n[i],
                                  ok_error()));
    }
}

/* Appends as a session's call does, and rolls back. */
static void append_and_go_back(ggufx_kv *kv, const float *x, size_t held, size_t n) {
    OK(ggufx_kv_begin(kv, 0, ok_error()));
    append_of(kv, x, held, held, x, held + n);
    OK(ggufx_kv_rollback(kv, 0, ok_error()));
}

enum { kKept = 41, kAll = 70 };
static const uint32_t own_types[][2] = {
    {GGUFX_TYPE_F32, GGUFX_TYPE_BF16},     {GGUFX_TYPE_BF16, GGUFX_TYPE_F32},
    {GGUFX_TYPE_F16, GGUFX_TYPE_F16},      {GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q8_0},
    {GGUFX_TYPE_Q5_1, GGUFX_TYPE_Q5_0},    {GGUFX_TYPE_Q4_0, GGUFX_TYPE_Q4_1},
    {GGUFX_TYPE_TQ3_0, GGUFX_TYPE_Q5_1},   {GGUFX_TYPE_GX4, GGUFX_TYPE_GX3},
    {GGUFX_TYPE_GX3, GGUFX_TYPE_GX2},      {GGUFX_TYPE_GX2, GGUFX_TYPE_GX4},
    {GGUFX_TYPE_IQ4_NL, GGUFX_TYPE_TQ3_0}, {GGUFX_TYPE_ROT_IQ4_NL, GGUFX_TYPE_IQ4_NL}};
enum { kOwnTypes = sizeof own_types / sizeof own_types[0] };

/* A snapshot has only the tokens of its sequence: neither tokens that were truncated, nor those of
 * another sequence in a shared page. */
static void test_slots_without_a_token_are_not_saved(void **state) {
    (void)state;
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    float *x = kv_random(kAll * kRow, 3), *other = kv_random(kAll * kRow, 4);
    for (size_t t = 0; t < kOwnTypes; t++) {
        ggufx_kv_options shape = shape_of(own_types[t][0], own_types[t][1]);
        if (t % 2) shape.n_sink_tokens = GGUFX_KV_NO_SINK_TOKENS;
        ggufx_kv *fresh = kv_make(rt, &shape), *cut = kv_make(rt, &shape);
        append_of(fresh, x, 0, kKept, x, kKept);
        append_of(cut, x, 0, kKept, other, 60);
        OK(ggufx_kv_truncate(cut, 0, kKept, ok_error()));
        append_and_go_back(cut, other, kKept, 20);
        kv_bytes want = kv_saved(fresh, 0), got = kv_saved(cut, 0);
        assert_same(&want, &got);
        free(got.data);
        append_of(cut, x, kKept, kKept, other, 60);
        OK(ggufx_kv_copy(cut, 0, 1, 0, kKept, ok_error()));
        got = kv_saved(cut, 1);
        assert_same(&want, &got);
        free(got.data);
        free(want.data);
        ggufx_kv_destroy(fresh);
        ggufx_kv_destroy(cut);
    }
    free(x);
    free(other);
    ggufx_runtime_destroy(rt);
}

/* The same for quantized pages, whose codes share bytes; held tokens are restored, bit for bit. */
static void test_codes_of_other_tokens_are_not_saved(void **state) {
    (void)state;
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    float *x = kv_random(3 * kAll * kRow, 3), *other = kv_random(3 * kAll * kRow, 4);
    for (size_t t = 3; t < kOwnTypes; t++) {
        ggufx_kv_options shape = shape_of(own_types[t][0], own_types[t][1]);
        shape.flags |= GGUFX_KV_CENTRE_NONE; /* calibration would depend on the whole page */
        shape.n_sink_tokens = GGUFX_KV_NO_SINK_TOKENS;
        ggufx_kv *a = kv_make(rt, &shape), *b = kv_make(rt, &shape), *c = kv_make(rt, &shape);
        append_of(a, x, 0, kKept, x, 3 * kAll);
        append_of(b, x, 0, kKept, other, 3 * kAll);
        ggufx_kv *const both[2] = {a, b};
        for (size_t i = 0; i < 2; i++) {
            OK(ggufx_kv_commit(both[i], 0, ok_error()));
            OK(ggufx_kv_truncate(both[i], 0, kKept, ok_error()));
            /* Parts of one page: the slots between have no owner, and the page stays one. */
            OK(ggufx_kv_remove(both[i], 0, 7, 12, ok_error()));
        }
        kv_bytes want = kv_saved(a, 0), got = kv_saved(b, 0);
        assert_same(&want, &got);
        OK(ggufx_kv_load(c, 0, kv_bytes_read, &got, ok_error()));
        float held[2][2 * kRow], loaded[2][2 * kRow], *q = kv_random(2 * kRow, 5);
        ggufx_kv *const answer[2] = {b, c};
        float *const out[2] = {held[0], loaded[0]};
        for (size_t i = 0; i < 2; i++)
            OK(kv_attend_rows(out[i], 2 * kRow, NULL, 0, answer[i], 1, 0, q, 2 * kRow, 1, NULL,
                              NULL, ok_error()));
        assert_memory_equal(held[0], loaded[0], sizeof held[0]);
        free(q);
        free(want.data);
        free(got.data);
        ggufx_kv_destroy(a);
        ggufx_kv_destroy(b);
        ggufx_kv_destroy(c);
    }
    free(x);
    free(other);
    ggufx_runtime_destroy(rt);
}

/* A load that must fail, without a change to the cache's contents and memory. */
static ggufx_status refused(ggufx_kv *kv, uint32_t sequence, kv_bytes *from, const kv_bytes *held,
                            kv_memory *memory) {
    const long live = memory->live;
    ggufx_error error;
    from->at = 0;
    const ggufx_status status = ggufx_kv_load(kv, sequence, kv_bytes_read, from, &error);
    if (status == GGUFX_OK) fail_msg("%zu bytes were accepted", from->n);
    assert_int_equal(error.status, status);
    assert_true(error.message[0] != 0);
    assert_int_equal(memory->live, live);
    memory->fail_at = 0;
    kv_bytes now = kv_saved(kv, GGUFX_ALL_SEQUENCES);
    assert_same(held, &now);
    free(now.data);
    return status;
}

static void test_damaged_snapshots_are_refused_and_nothing_is_changed(void **state) {
    (void)state;
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    const ggufx_kv_options shape = shape_of(GGUFX_TYPE_GX2, GGUFX_TYPE_Q4_0);
    ggufx_kv *a = filled(rt, &shape, 1), *b = filled(rt, &shape, 2);
    kv_bytes good = kv_saved(a, GGUFX_ALL_SEQUENCES), held = kv_saved(b, GGUFX_ALL_SEQUENCES);
    const size_t n = good.n;
    for (size_t cut = 0; cut < n; cut += cut < 400 ? 1 : 509) {
        good.n = cut;
        assert_int_equal(refused(b, GGUFX_ALL_SEQUENCES, &good, &held, &memory), GGUFX_E_TRUNCATED);
    }
    good.n = n;
    for (size_t at = 0; at < n; at += at < 600 ? 1 : 211) {
        good.data[at] ^= (uint8_t)(1u << at % 8);
        refused(b, GGUFX_ALL_SEQUENCES, &good, &held, &memory);
        good.data[at] ^= (uint8_t)(1u << at % 8);
    }
    good.data[n / 2] ^= 4;
    assert_int_equal(refused(b, GGUFX_ALL_SEQUENCES, &good, &held, &memory), GGUFX_E_CHECKSUM);
    good.data[n / 2] ^= 4;
    for (long at = 1; at < 40; at++) {
        good.fail_at = at * at;
        assert_int_equal(refused(b, GGUFX_ALL_SEQUENCES, &good, &held, &memory), GGUFX_E_IO);
    }
    good.fail_at = 0;
    for (long at = 1; at < 30; at++) {
        memory.fail_at = at;
        assert_int_equal(refused(b, GGUFX_ALL_SEQUENCES, &good, &held, &memory), GGUFX_E_MEMORY);
    }
    ggufx_error error;
    assert_int_equal(ggufx_kv_load(b, 0, NULL, NULL, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_load(NULL, 0, kv_bytes_read, &good, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_load(b, 2, kv_bytes_read, &good, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_save(b, 2, kv_bytes_write, &good, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_save(b, 0, NULL, NULL, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_save(NULL, 0, kv_bytes_write, &good, &error), GGUFX_E_ARGUMENT);
    kv_bytes broken = {.fail_at = 5};
    assert_int_equal(ggufx_kv_save(b, 0, kv_bytes_write, &broken, &error), GGUFX_E_IO);
    assert_int_equal(broken.calls, 5);
    good.at = 0; /* the undamaged one loads */
    assert_int_equal(ggufx_kv_load(b, GGUFX_ALL_SEQUENCES, kv_bytes_read, &good, &error), GGUFX_OK);
    ggufx_kv_destroy(a);
    ggufx_kv_destroy(b);
    ggufx_runtime_destroy(rt);
    free(good.data);
    free(held.data);
    free(broken.data);
    assert_int_equal(memory.live, 0);
}

static void test_snapshots_of_other_caches_are_refused_by_name(void **state) {
    (void)state;
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    const ggufx_kv_options shape = shape_of(GGUFX_TYPE_GX3, GGUFX_TYPE_Q8_0);
    ggufx_kv *a = filled(rt, &shape, 1);
    kv_bytes saved = kv_saved(a, 0), held = kv_saved(a, GGUFX_ALL_SEQUENCES);
    assert_int_equal(refused(a, GGUFX_ALL_SEQUENCES, &saved, &held, &memory), GGUFX_E_MISMATCH);
    assert_int_equal(refused(a, 0, &held, &held, &memory), GGUFX_E_MISMATCH);
    const ggufx_kv_layer_options layers[2] = {kv_window(0, 0), kv_window(77, 0)};
    for (int what = 0; what < 9; what++) {
        static const char *names[] = {"type_k",     "type_v",    "n_sink_tokens",
                                      "rope_style", "model",     "window",
                                      "head_dim_v", "rope_base", "centring"};
        ggufx_kv_options o = shape;
        if (what == 0) o.type_k = GGUFX_TYPE_GX4;
        if (what == 1) o.type_v = GGUFX_TYPE_Q5_0;
        if (what == 2) o.n_sink_tokens = 5;
        if (what == 3) o.rope_style = GGUFX_ROPE_NEOX;
        if (what == 4) o.model = 1;
        if (what == 5) o.layers = layers, o.n_layer_options = 2;
        if (what == 6) o.head_dim_v = 32;
        if (what == 7) o.rope_base = 500000;
        if (what == 8) o.flags |= GGUFX_KV_CENTRE_NONE;
        ggufx_kv *b = kv_make(rt, &o);
        ggufx_error error;
        saved.at = 0;
        assert_int_equal(ggufx_kv_load(b, 0, kv_bytes_read, &saved, &error), GGUFX_E_MISMATCH);
        if (!strstr(error.message, names[what])) fail_msg("\"%s\"", error.message);
        ggufx_kv_destroy(b);
    }
    ggufx_kv_options small = shape;
    small.max_tokens = 100;
    ggufx_kv *b = kv_make(rt, &small);
    saved.at = 0;
    assert_int_equal(ggufx_kv_load(b, 0, kv_bytes_read, &saved, NULL), GGUFX_E_CAPACITY);
    ggufx_kv_destroy(b);
    b = filled(rt, &shape, 2); /* other means, in pages of sequence 1: each keeps its own */
    float before[2][2 * kRow], after[2][2 * kRow], wanted[2][2 * kRow];
    attend_both(a, wanted);
    attend_both(b, before);
    saved.at = 0;
    OK(ggufx_kv_load(b, 0, kv_bytes_read, &saved, ok_error()));
    attend_both(b, after);
    assert_memory_equal(after[0], wanted[0], sizeof *after);
    assert_memory_equal(after[1], before[1], sizeof *after);
    ggufx_kv_destroy(b);
    ggufx_kv_destroy(a);
    ggufx_runtime_destroy(rt);
    free(saved.data);
    free(held.data);
    assert_int_equal(memory.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_saved_comes_back_and_goes_on),
        cmocka_unit_test(test_slots_without_a_token_are_not_saved),
        cmocka_unit_test(test_codes_of_other_tokens_are_not_saved),
        cmocka_unit_test(test_damaged_snapshots_are_refused_and_nothing_is_changed),
        cmocka_unit_test(test_snapshots_of_other_caches_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
