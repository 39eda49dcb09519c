/*
 * Sampling defaults of a file: every key, values out of range, suppressed tokens.
 * SPDX-License-Identifier: MIT
 */
#include "file_fixture.h"

#include <math.h>
#include <string.h>

enum { ALL = 8191 };

static void key_f32(gb *b, const char *key, float v) {
    gb_key(b, key, GGUFX_VALUE_F32);
    gb_f32(b, v);
}

static void key_i32(gb *b, const char *key, int32_t v) {
    gb_key(b, key, GGUFX_VALUE_I32);
    gb_u32(b, (uint32_t)v);
}

static void begin(gb *b) {
    gb_begin(b, 3, 0);
    gb_key_string(b, "general.architecture", "llama");
    gb_key_u32(b, "llama.vocab_size", 100);
}

static ggufx_file *opened(gb *b) {
    gb_data(b);
    return open_bytes(b, 0);
}

static ggufx_sampling_facts facts_of(const ggufx_file *file) {
    ggufx_sampling_facts facts = {.struct_size = sizeof facts};
    ggufx_error error;
    assert_int_equal(ggufx_file_sampling(&facts, NULL, 0, file, &error), GGUFX_OK);
    return facts;
}

static void test_every_key_is_given(void **state) {
    gb b;
    ggufx_error error;
    int32_t ids[4] = {-7, -7, -7, -7};
    (void)state;
    begin(&b);
    key_f32(&b, "general.sampling.temp", 0.6f);
    key_i32(&b, "general.sampling.top_k", 20);
    key_f32(&b, "general.sampling.top_p", 0.95f);
    key_f32(&b, "general.sampling.min_p", 0.01f);
    key_f32(&b, "general.sampling.xtc_probability", 0.5f);
    key_f32(&b, "general.sampling.xtc_threshold", 0.2f);
    key_i32(&b, "general.sampling.penalty_last_n", -1);
    key_f32(&b, "general.sampling.penalty_repeat", 1.05f);
    key_i32(&b, "general.sampling.mirostat", 2);
    key_f32(&b, "general.sampling.mirostat_tau", 4.0f);
    key_f32(&b, "general.sampling.mirostat_eta", 0.2f);
    gb_key_string(&b, "general.sampling.sequence", "penalties;top-k;nucleus;temp");
    gb_key_array(&b, "tokenizer.ggml.suppress_tokens", GGUFX_VALUE_I32, 5);
    const int32_t suppressed[] = {50, 7, -1, 100, 50};
    for (size_t i = 0; i < 5; i++) gb_u32(&b, (uint32_t)suppressed[i]);
    ggufx_file *file = opened(&b);
    ggufx_sampling_facts facts = facts_of(file);
    assert_int_equal(facts.flags, ALL);
    assert_int_equal(facts.ignored, 0);
    assert_true(facts.temperature == 0.6f && facts.top_p == 0.95f && facts.min_p == 0.01f);
    assert_true(facts.xtc_probability == 0.5f && facts.xtc_threshold == 0.2f);
    assert_true(facts.repeat == 1.05f && facts.tau == 4.0f && facts.eta == 0.2f);
    assert_int_equal(facts.top_k, 20);
    assert_int_equal(facts.last_n, GGUFX_SAMPLER_MAX_LAST_N);
    assert_int_equal(facts.mirostat, 2);
    const uint32_t samplers[] = {GGUFX_SAMPLER_PENALTIES, GGUFX_SAMPLER_TOP_K, GGUFX_SAMPLER_TOP_P,
                                 GGUFX_SAMPLER_TEMPERATURE};
    assert_int_equal(facts.n_samplers, 4);
    assert_memory_equal(facts.samplers, samplers, sizeof samplers);
    assert_int_equal(facts.n_suppressed, 2);
    assert_int_equal(ggufx_file_sampling(&facts, ids, 1, file, &error), GGUFX_E_CAPACITY);
    assert_int_equal(facts.n_suppressed, 2);
    assert_true(ids[0] == 7 && ids[1] == -7);
    assert_int_equal(ggufx_file_sampling(&facts, ids, 4, file, &error), GGUFX_OK);
    assert_true(ids[0] == 7 && ids[1] == 50 && ids[2] == -7);
    ggufx_file_destroy(file);
    gb_free(&b);
}

static void test_a_file_without_keys_has_no_defaults(void **state) {
    gb b;
    (void)state;
    begin(&b);
    ggufx_file *file = opened(&b);
    const ggufx_sampling_facts facts = facts_of(file);
    assert_true(facts.flags == 0 && facts.ignored == 0 && facts.n_samplers == 0);
    ggufx_file_destroy(file);
    gb_free(&b);
}

/* Each is ignored; the others still apply. */
static void test_unusable_values_are_ignored_and_named(void **state) {
    gb b;
    (void)state;
    begin(&b);
    key_f32(&b, "general.sampling.temp", -1.0f);
    key_f32(&b, "general.sampling.top_k", 2.5f);
    key_f32(&b, "general.sampling.top_p", 1.5f);
    key_f32(&b, "general.sampling.min_p", NAN);
    gb_key_string(&b, "general.sampling.xtc_probability", "0.5");
    key_f32(&b, "general.sampling.xtc_threshold", INFINITY);
    key_i32(&b, "general.sampling.penalty_last_n", 2000000);
    key_f32(&b, "general.sampling.penalty_repeat", -0.5f);
    key_i32(&b, "general.sampling.mirostat", 3);
    key_f32(&b, "general.sampling.mirostat_tau", 1e9f);
    key_f32(&b, "general.sampling.mirostat_eta", 0.25f);
    gb_key_string(&b, "general.sampling.sequence", "top_k;nonsense");
    gb_key_u32(&b, "tokenizer.ggml.suppress_tokens", 5);
    ggufx_file *file = opened(&b);
    const ggufx_sampling_facts facts = facts_of(file);
    assert_int_equal(facts.flags, GGUFX_SAMPLING_ETA);
    assert_int_equal(facts.ignored, ALL - GGUFX_SAMPLING_ETA);
    assert_true(facts.eta == 0.25f && facts.temperature == 0 && facts.top_k == 0);
    assert_true(facts.n_samplers == 0 && facts.n_suppressed == 0);
    ggufx_file_destroy(file);
    gb_free(&b);
}

static void test_any_type_of_number_counts(void **state) {
    gb b;
    (void)state;
    begin(&b);
    gb_key(&b, "general.sampling.temp", GGUFX_VALUE_F64);
    gb_f64(&b, 0.75);
    key_f32(&b, "general.sampling.top_k", 40.0f);
    gb_key_u32(&b, "general.sampling.top_p", 1);
    key_i32(&b, "general.sampling.penalty_last_n", 0);
    key_i32(&b, "general.sampling.mirostat", 0);
    gb_key_array(&b, "tokenizer.ggml.suppress_tokens", GGUFX_VALUE_U64, 2);
    gb_u64(&b, UINT64_MAX);
    gb_u64(&b, 99);
    ggufx_file *file = opened(&b);
    const ggufx_sampling_facts facts = facts_of(file);
    assert_int_equal(facts.ignored, 0);
    assert_int_equal(facts.flags, GGUFX_SAMPLING_TEMPERATURE | GGUFX_SAMPLING_TOP_K |
                                      GGUFX_SAMPLING_TOP_P | GGUFX_SAMPLING_LAST_N |
                                      GGUFX_SAMPLING_MIROSTAT | GGUFX_SAMPLING_SUPPRESSED);
    assert_true(facts.temperature == 0.75f && facts.top_k == 40 && facts.top_p == 1);
    assert_int_equal(facts.n_suppressed, 1);
    ggufx_file_destroy(file);
    gb_free(&b);
}

static void test_a_sequence_has_a_limit(void **state) {
    gb b;
    char text[200] = "dry";
    (void)state;
    begin(&b);
    for (size_t i = 1; i < GGUFX_SAMPLING_MAX_SAMPLERS; i++) strcat(text, ";xtc");
    gb_key_string(&b, "general.sampling.sequence", text);
    ggufx_file *file = opened(&b);
    assert_int_equal(facts_of(file).n_samplers, GGUFX_SAMPLING_MAX_SAMPLERS);
    ggufx_file_destroy(file);
    gb_free(&b);
    begin(&b);
    strcat(text, ";xtc");
    gb_key_string(&b, "general.sampling.sequence", text);
    file = opened(&b);
    assert_int_equal(facts_of(file).ignored, GGUFX_SAMPLING_SEQUENCE);
    ggufx_file_destroy(file);
    gb_free(&b);
}

static void test_wrong_calls_are_refused(void **state) {
    gb b;
    ggufx_error error;
    (void)state;
    begin(&b);
    ggufx_file *file = opened(&b);
    ggufx_sampling_facts facts = {.struct_size = sizeof facts};
    assert_int_equal(ggufx_file_sampling(NULL, NULL, 0, file, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_file_sampling(&facts, NULL, 0, NULL, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_file_sampling(&facts, NULL, 1, file, &error), GGUFX_E_ARGUMENT);
    facts.struct_size = 0;
    assert_int_equal(ggufx_file_sampling(&facts, NULL, 0, file, &error), GGUFX_E_ARGUMENT);
    ggufx_file_destroy(file);
    gb_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key_is_given),
        cmocka_unit_test(test_a_file_without_keys_has_no_defaults),
        cmocka_unit_test(test_unusable_values_are_ignored_and_named),
        cmocka_unit_test(test_any_type_of_number_counts),
        cmocka_unit_test(test_a_sequence_has_a_limit),
        cmocka_unit_test(test_wrong_calls_are_refused),
    };
    return cmocka_run_group_tests(tests, file_setup, file_teardown);
}
