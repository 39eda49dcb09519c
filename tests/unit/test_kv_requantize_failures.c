/*
 * ggufx_kv_requantize: complete or without effect, for any failure; refusals.
 * SPDX-License-Identifier: MIT
 */
#include "kv_requantized.h"
#include "ok.h"

static ggufx_status down(ggufx_kv *kv, const ggufx_progress *progress, ggufx_error *error) {
    return ggufx_kv_requantize(kv, GGUFX_KV_ALL_LAYERS, GGUFX_TYPE_GX3, GGUFX_TYPE_Q5_1, progress,
                               error);
}
static ggufx_status up(ggufx_kv *kv, const ggufx_progress *progress, ggufx_error *error) {
    return ggufx_kv_requantize(kv, 1, GGUFX_TYPE_F16, GGUFX_TYPE_F32, progress, error);
}

static void test_a_call_that_fails_anywhere_changes_nothing(void **state) {
    (void)state;
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    static const uint32_t from[] = {GGUFX_TYPE_F32, GGUFX_TYPE_GX4, GGUFX_TYPE_Q8_0};
    for (size_t t = 0; t < 3; t++)
        for (int polls = 0; polls < 2; polls++) {
            const long live = memory.live;
            ggufx_kv *kv = kv_shared(rt, from[t]);
            assert_true(kv_fail_each(kv, &memory, down, polls) >= 1);
            assert_true(kv_fail_each(kv, &memory, up, polls) >= 1);
            ggufx_kv_destroy(kv);
            assert_int_equal(memory.live, live);
        }
    ggufx_runtime_destroy(rt);
    assert_int_equal(memory.live, 0);
}

static void test_what_cannot_be_is_refused(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    const ggufx_kv_options shape = shape_of(GGUFX_TYPE_F32, GGUFX_TYPE_F32, 1);
    ggufx_kv *kv = kv_filled(rt, &shape);
    ggufx_error error;
    float x[kRow] = {0};
    x[40] = 65520.0f; /* becomes infinite in F16, not in BF16 */
    OK(kv_append_rows(kv, 0, 0, 1, NULL, x, kRow, x, kRow, ok_error()));
    kv_bytes held = kv_saved(kv, 0);
    const struct {
        uint32_t layer, k, v;
        ggufx_status want;
    } bad[] = {
        {0, GGUFX_TYPE_F16, GGUFX_TYPE_KEEP, GGUFX_E_VALUE},
        {0, GGUFX_TYPE_KEEP, GGUFX_TYPE_GX4, GGUFX_E_VALUE},
        {1, GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q8_0, GGUFX_E_ARGUMENT},
        {0, 4711, GGUFX_TYPE_Q8_0, GGUFX_E_TYPE},
        {0, GGUFX_TYPE_Q8_0, 4711, GGUFX_E_TYPE},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(ggufx_kv_requantize(kv, bad[i].layer, bad[i].k, bad[i].v, NULL, &error),
                         bad[i].want);
        assert_true(error.message[0] != 0);
        kv_bytes now = kv_saved(kv, 0);
        kv_assert_same(&held, &now);
        free(now.data);
    }
    assert_int_equal(ggufx_kv_requantize(NULL, 0, 0, 0, NULL, &error), GGUFX_E_ARGUMENT);
    kv_requantize_to(kv, 0, GGUFX_TYPE_BF16, GGUFX_TYPE_BF16);
    float *rest = kv_random(30 * kRow, 3);
    OK(kv_append_rows(kv, 0, 0, 30, NULL, rest, 30 * kRow, rest, 30 * kRow, ok_error()));
    free(rest);
    assert_int_equal(ggufx_kv_requantize(kv, 0, GGUFX_TYPE_GX4, 0, NULL, &error), GGUFX_E_VALUE);
    OK(ggufx_kv_remove(kv, 0, kTokens, 1, ok_error()));
    /* a removed token has no effect */
    kv_requantize_to(kv, 0, GGUFX_TYPE_GX4, GGUFX_TYPE_F16);
    ggufx_kv_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_kv_info(&facts, kv, 0, ok_error()));
    assert_int_equal(facts.type_v, GGUFX_TYPE_F16);
    ggufx_kv_destroy(kv);
    free(held.data);
    const ggufx_kv_options odd = kv_shape(1, 1, 24, 24, GGUFX_TYPE_F16, GGUFX_TYPE_F16);
    kv = kv_make(rt, &odd); /* GX requires a multiple of 16 */
    assert_int_equal(ggufx_kv_requantize(kv, 0, GGUFX_TYPE_GX4, 0, NULL, &error), GGUFX_E_ARGUMENT);
    ggufx_kv_destroy(kv);
    const ggufx_kv_options wide = kv_shape(1, 1, 1040, 16, GGUFX_TYPE_F16, GGUFX_TYPE_F16);
    kv = kv_make(rt, &wide);
    assert_int_equal(ggufx_kv_requantize(kv, 0, GGUFX_TYPE_F32, 0, NULL, &error),
                     GGUFX_E_UNSUPPORTED);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_call_that_fails_anywhere_changes_nothing),
        cmocka_unit_test(test_what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
