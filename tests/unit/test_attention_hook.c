/*
 * ggufx_attention_hook: its arrays equal the results of a cache owned by the caller. The hook can
 * stop a decode, which then changes nothing.
 * SPDX-License-Identifier: MIT
 */
#include "kv_calls.h"
#include "model_fixture.h"

#include <string.h>

enum {
    N = 30,
    BATCH = 8,
    WIDTH_Q = TINY_HEADS * TINY_HEAD_DIM,
    WIDTH_K = TINY_KV_HEADS * TINY_HEAD_DIM
};

typedef struct viewer {
    fixture *f;
    ggufx_kv *kv;
    uint64_t seen[TINY_LAYERS]; /* tokens */
    unsigned calls, stop_at;    /* 0 = never */
} viewer;

/* Passes the keys, values and queries through a cache of its own and expects the same bits. */
static int32_t look(void *user, uint32_t layer, uint64_t first, size_t n, const float *q,
                    const float *k, const float *v, const float *out) {
    viewer *self = user;
    float mine[BATCH * WIDTH_Q];
    assert_true(layer < TINY_LAYERS);
    assert_in_range(n, 1, BATCH);
    assert_int_equal(first, self->seen[layer]);
    self->seen[layer] += n;
    if (++self->calls == self->stop_at) return GGUFX_E_IO;
    if (!self->kv) return 0;
    MUST(self->f, kv_append_rows(self->kv, layer, 0, n, NULL, k, n * WIDTH_K, v, n * WIDTH_K,
                                 &self->f->error));
    MUST(self->f, kv_attend_rows(mine, n * WIDTH_Q, NULL, 0, self->kv, layer, 0, q, n * WIDTH_Q, n,
                                 NULL, NULL, &self->f->error));
    assert_memory_equal(mine, out, n * WIDTH_Q * sizeof *mine);
    return 0;
}

/* logits: TINY_VOCAB floats. */
static ggufx_status decode(fixture *f, size_t n, const ggufx_attention_hook *hook, float *logits) {
    int32_t tokens[N];
    const ggufx_decode_options options = {
        .logits = logits, .n_logits = TINY_VOCAB, .attention = hook};
    for (int32_t i = 0; i < N; i++) tokens[i] = (i * 37 + 5) % TINY_VOCAB;
    return decode_with(f->session, tokens, n, GGUFX_DECODE_LOGITS, &options, &f->error);
}

static ggufx_attention_hook hook_of(viewer *self) {
    ggufx_attention_hook hook;
    memset(&hook, 0, sizeof hook);
    hook.struct_size = sizeof hook;
    hook.user = self;
    hook.layer = look;
    return hook;
}

static void test_the_hook_shows_what_attention_read_and_gave(void **state) {
    ggufx_kv_options shape = {.struct_size = sizeof shape};
    float logits[TINY_VOCAB];
    fixture f;
    viewer self = {&f, NULL, {0, 0}, 0, 0};
    ggufx_attention_hook hook = hook_of(&self);
    (void)state;
    begin_session(&f, NULL, BATCH);
    shape.n_layers = TINY_LAYERS;
    shape.n_kv_heads = TINY_KV_HEADS;
    shape.n_q_heads = TINY_HEADS;
    shape.head_dim_k = TINY_HEAD_DIM;
    shape.flags = GGUFX_KV_HAS_TYPE_K | GGUFX_KV_HAS_TYPE_V;
    shape.type_k = shape.type_v = GGUFX_TYPE_F32;
    MUST(&f, ggufx_kv_create(&self.kv, f.rt, &shape, &f.error));
    MUST(&f, decode(&f, N, &hook, logits));
    MUST(&f, decode(&f, 3, &hook, logits)); /* continues after the first one */
    assert_int_equal(self.calls, TINY_LAYERS * ((N + BATCH - 1) / BATCH + 1));
    assert_int_equal(self.seen[0], N + 3);
    assert_int_equal(self.seen[1], N + 3);
    ggufx_kv_destroy(self.kv);
    end(&f);
}

static void test_the_hook_changes_no_bit(void **state) {
    float plain[TINY_VOCAB], seen[TINY_VOCAB];
    fixture f;
    viewer self = {&f, NULL, {0, 0}, 0, 0};
    ggufx_attention_hook hook = hook_of(&self);
    (void)state;
    begin_session(&f, NULL, BATCH);
    MUST(&f, decode(&f, N, NULL, plain));
    MUST(&f, ggufx_session_truncate(f.session, 0, 0, &f.error));
    MUST(&f, decode(&f, N, &hook, seen));
    assert_memory_equal(plain, seen, sizeof plain);
    end(&f);
}

static void test_the_hook_can_stop_a_decode_which_leaves_no_trace(void **state) {
    float want[TINY_VOCAB], got[TINY_VOCAB];
    fixture f;
    (void)state;
    begin_session(&f, NULL, BATCH);
    MUST(&f, decode(&f, 5, NULL, got));
    MUST(&f, decode(&f, 12, NULL, want));
    MUST(&f, ggufx_session_truncate(f.session, 0, 5, &f.error));
    for (unsigned stop_at = 1; stop_at <= TINY_LAYERS * 2; stop_at++) {
        viewer self = {&f, NULL, {5, 5}, 0, stop_at};
        ggufx_attention_hook hook = hook_of(&self);
        FAILS(&f, GGUFX_E_IO, "of 12 tokens", decode(&f, 12, &hook, got)); /* the hook's status */
        assert_int_equal(self.calls, stop_at);
        assert_int_equal(ggufx_session_length(f.session, 0), 5);
    }
    MUST(&f, decode(&f, 12, NULL, got));
    assert_memory_equal(got, want, sizeof got);
    end(&f);
}

static void test_bad_hooks_are_refused(void **state) {
    const ggufx_decode_item items[2] = {{.struct_size = sizeof(ggufx_decode_item), .sequence = 0},
                                        {.struct_size = sizeof(ggufx_decode_item), .sequence = 1}};
    ggufx_decode_options two = {.struct_size = sizeof two};
    float logits[TINY_VOCAB];
    fixture f;
    viewer self = {&f, NULL, {0, 0}, 0, 0};
    ggufx_attention_hook hook = hook_of(&self);
    (void)state;
    begin_session(&f, NULL, BATCH);
    hook.layer = NULL;
    FAILS(&f, GGUFX_E_ARGUMENT, "layer", decode(&f, 2, &hook, logits));
    hook = hook_of(&self);
    hook.flags = 1;
    FAILS(&f, GGUFX_E_ARGUMENT, "ggufx_attention_hook.flags", decode(&f, 2, &hook, logits));
    hook = hook_of(&self);
    hook.struct_size = 0;
    FAILS(&f, GGUFX_E_ARGUMENT, "ggufx_attention_hook.struct_size", decode(&f, 2, &hook, logits));
    hook = hook_of(&self);
    two.attention = &hook;
    ggufx_session_destroy(f.session);
    const ggufx_session_options options = {.struct_size = sizeof options, .n_sequences = 2};
    MUST(&f, ggufx_session_create(&f.session, f.model, &options, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "one item",
          ggufx_session_decode(f.session, items, 2, &two, &f.error));
    assert_int_equal(self.calls, 0);
    assert_int_equal(ggufx_session_length(f.session, 0), 0);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_hook_shows_what_attention_read_and_gave),
        cmocka_unit_test(test_the_hook_changes_no_bit),
        cmocka_unit_test(test_the_hook_can_stop_a_decode_which_leaves_no_trace),
        cmocka_unit_test(test_bad_hooks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
