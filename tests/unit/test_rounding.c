/*
 * Statistics, estimates and measures do not depend on the floating-point mode of the caller:
 * rounding, subnormals, unmasked exceptions. The mode is restored.
 * SPDX-License-Identifier: MIT
 */
#include "../abi/fp_mode.h"
#include "kv_calls.h"
#include "model_fixture.h"
#include "ok.h"
#include "temporary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_HEAD = 64, N_TOKENS = 200, N_RESULTS = 32 };

static fixture f;
static ggufx_kv *kv;
static char path[TEMPORARY_PATH];

/* Numbers of all calls, one after another. Times are left out. */
typedef struct results {
    double values[N_RESULTS];
    size_t n;
} results;

static void add(results *r, double value) {
    assert_true(r->n < N_RESULTS);
    r->values[r->n++] = value;
}

static void take_kv(results *r) {
    ggufx_kv_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_kv_info(&facts, kv, 0, ok_error()));
    add(r, facts.k_error);
    add(r, facts.v_error);
}

static void take_estimate(results *r,
                          ggufx_status (*call)(ggufx_estimate_facts *, const ggufx_runtime *,
                                               const ggufx_file *, const ggufx_estimate_options *,
                                               ggufx_error *)) {
    ggufx_estimate_facts facts = {.struct_size = sizeof facts};
    ggufx_estimate_options options = {.struct_size = sizeof options};
    options.bandwidth = 1e9 / 3;
    options.memory_bytes = 1 << 26;
    OK(call(&facts, f.rt, f.file, &options, ok_error()));
    add(r, facts.bits_per_weight);
    add(r, facts.weight_error);
    add(r, facts.loss);
    add(r, facts.tokens_per_second);
    add(r, facts.tokens_per_second_full);
}

static void take_job(results *r) {
    ggufx_quantizer_options options = {.struct_size = sizeof options};
    ggufx_quantizer_run_options how = {.struct_size = sizeof how};
    ggufx_quantizer *job = NULL;
    ggufx_quantizer_facts facts = {.struct_size = sizeof facts};
    double measured = 0;
    OK(ggufx_quantizer_create(&job, f.rt, f.file, 2 /* Q4_0 */, &options, ok_error()));
    OK(ggufx_quantizer_info(&facts, job, ok_error()));
    for (size_t i = 0; i < facts.n_tensors; i++) {
        ggufx_quantizer_tensor_facts t = {.struct_size = sizeof t};
        OK(ggufx_quantizer_tensor_at(&t, job, i, ok_error()));
        if (t.to != GGUFX_TYPE_Q4_0) continue;
        OK(ggufx_quantizer_tensor_error(&measured, job, i, GGUFX_TYPE_Q4_0, 0, NULL, ok_error()));
        add(r, measured);
        break;
    }
    how.flags = GGUFX_QUANTIZER_MEASURE;
    OK(ggufx_quantizer_run(job, path, &how, ok_error()));
    for (size_t i = 0, n = 0; i < facts.n_tensors && n < 4; i++) {
        ggufx_quantizer_tensor_facts t = {.struct_size = sizeof t};
        OK(ggufx_quantizer_tensor_at(&t, job, i, ok_error()));
        if (t.to != GGUFX_TYPE_Q4_0) continue;
        add(r, t.rmse);
        n++;
    }
    ggufx_quantizer_destroy(job);
}

static results take_all(void) {
    results r = {{0}, 0};
    take_kv(&r);
    take_estimate(&r, ggufx_estimate);
    take_estimate(&r, ggufx_recommend);
    take_job(&r);
    return r;
}

static void check_mode(uint64_t mode, const results *want) {
    const uint64_t usual = get_mode();
    set_mode(mode);
    const results got = take_all();
    const uint64_t after = get_mode();
    set_mode(usual);
    assert_true(after == mode);
    assert_int_equal(got.n, want->n);
    for (size_t i = 0; i < got.n; i++)
        if (memcmp(&got.values[i], &want->values[i], sizeof *got.values) != 0)
            fail_msg("number %zu is %.17g, and %.17g in mode 0x%llx", i, want->values[i],
                     got.values[i], (unsigned long long)mode);
}

static void test_modes_of_the_caller_change_no_number(void **state) {
    (void)state;
    const results want = take_all();
    assert_true(want.n > 12);
    for (size_t i = 0; i < sizeof kForeignModes / sizeof *kForeignModes; i++)
        check_mode(kForeignModes[i], &want);
}

/* An inexact result would end the process. */
static void test_unmasked_exceptions_are_not_raised(void **state) {
    (void)state;
#if defined(__SSE2__)
    const results want = take_all();
    check_mode(0x1f80 & ~0x1000u, &want);
#else
    skip();
#endif
}

static int open_all(void **state) {
    static float k[N_TOKENS * N_HEAD];
    ggufx_kv_options options = {.struct_size = sizeof options};
    (void)state;
    if (temporary_make() != 0) return -1;
    snprintf(path, sizeof path, "%s/out.gguf", temporary_folder());
    begin(&f, NULL);
    options.n_layers = options.n_kv_heads = options.n_q_heads = 1;
    options.head_dim_k = N_HEAD;
    options.type_k = options.type_v = GGUFX_TYPE_Q4_0;
    for (size_t i = 0; i < N_TOKENS * N_HEAD; i++)
        k[i] = (float)((i * 2654435761u >> 8) % 2001) / 1000.f - 1;
    if (ggufx_kv_create(&kv, f.rt, &options, NULL) != GGUFX_OK) return -1;
    return kv_append_rows(kv, 0, 0, N_TOKENS, NULL, k, N_TOKENS * N_HEAD, k, N_TOKENS * N_HEAD,
                          NULL);
}

static int close_all(void **state) {
    (void)state;
    ggufx_kv_destroy(kv);
    end(&f);
    temporary_clean();
    return temporary_remove();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modes_of_the_caller_change_no_number),
        cmocka_unit_test(test_unmasked_exceptions_are_not_raised),
    };
    if (!FP_MODE_KNOWN) return 77;
    return cmocka_run_group_tests(tests, open_all, close_all);
}
