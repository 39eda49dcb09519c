/*
 * Sessions: logits against doubles, greedy ids, types of cache.
 * SPDX-License-Identifier: MIT
 */
#include "session_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Error of logits (about 10 at most): f32 against doubles through two layers. Ten times tighter
 * than for whole models in data/README (abs 1e-3, rel 1e-4), because the model is small. */
#define TOLERANCE 1e-4

static void assert_close(const float *got, const double *want, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (fabs((double)got[i] - want[i]) > TOLERANCE * (1.0 + fabs(want[i]))) {
            fail_msg("logit %zu is %.9g, not %.9g", i, (double)got[i], want[i]);
        }
    }
}

static void check_against_doubles(const tiny_options *options, uint32_t n_batch) {
    float *logits = malloc(N * TINY_VOCAB * sizeof *logits);
    double *want = malloc(N * TINY_VOCAB * sizeof *want);
    int32_t tokens[N];
    fixture f;
    make_tokens(tokens, N);
    tiny_reference(want, tokens, N, options);
    begin_session(&f, options, n_batch); /* f32 activations */
    MUST(&f, decode_all(f.session, tokens, N, logits, N * TINY_VOCAB, &f.error));
    assert_close(logits, want, N * TINY_VOCAB);
    assert_int_equal(ggufx_session_length(f.session, 0), N);
    end(&f);
    free(logits);
    free(want);
}

static void test_decode_agrees_with_doubles(void **state) {
    (void)state;
    check_against_doubles(NULL, 0);
    check_against_doubles(NULL, 1);
    check_against_doubles(NULL, 7);
}

static void test_decode_agrees_with_doubles_for_each_variant_of_the_graph(void **state) {
    tiny_options options;
    (void)state;
    memset(&options, 0, sizeof options);
    options.untied = 1;
    check_against_doubles(&options, 0);
    memset(&options, 0, sizeof options);
    options.rope_freqs = 1;
    check_against_doubles(&options, 0);
    memset(&options, 0, sizeof options);
    options.rope_factor = 4.0f;
    check_against_doubles(&options, 0);
    memset(&options, 0, sizeof options);
    options.weight_type = GGUFX_TYPE_Q8_0;
    check_against_doubles(&options, 0);
    memset(&options, 0, sizeof options);
    options.skip = "llama.attention.head_count_kv"; /* then q and k differ: refused */
    {
        fixture f;
        begin(&f, &options);
        FAILS(&f, GGUFX_E_SHAPE, "attn_k",
              ggufx_model_create(&f.model, f.rt, f.file, NULL, &f.error));
        end(&f);
    }
}

/* The greedy continuation of the random model: the same ids on every machine. */
static void test_greedy_ids_are_those_of_every_machine(void **state) {
    static const int32_t plain[12] = {6, 301, 169, 56, 108, 41, 50, 156, 156, 156, 156, 296};
    static const int32_t q8_0[12] = {6, 6, 6, 6, 206, 301, 249, 249, 108, 214, 296, 296};
    (void)state;
    for (int quantized = 0; quantized < 2; quantized++) {
        tiny_options options;
        int32_t tokens[6];
        float logits[TINY_VOCAB];
        fixture f;
        memset(&options, 0, sizeof options);
        options.weight_type = quantized ? GGUFX_TYPE_Q8_0 : GGUFX_TYPE_F32;
        begin_session(&f, &options, 0);
        make_tokens(tokens, 6);
        decode(&f, tokens, 6, logits);
        for (int i = 0; i < 12; i++) {
            const int32_t id = argmax(logits, TINY_VOCAB);
            assert_int_equal(id, (quantized ? q8_0 : plain)[i]);
            decode(&f, &id, 1, logits);
        }
        end(&f);
    }
}

static void test_session_kv_types_stay_near_f32(void **state) {
    static const uint32_t types[] = {0, GGUFX_TYPE_F16, GGUFX_TYPE_BF16, GGUFX_TYPE_Q8_0};
    /* Error of logits with a spread of about 3: relative error of a cached value times the few
     * layers. */
    static const double limits[] = {0.02, 0.02, 0.15, 0.15};
    enum { LONG = 90 }; /* more than the first 64, which BF16 keeps as F32 */
    float want[TINY_VOCAB], got[TINY_VOCAB];
    int32_t tokens[LONG];
    (void)state;
    make_tokens(tokens, LONG);
    for (int i = 0; i < 4; i++) {
        ggufx_session_options options = {.struct_size = sizeof options};
        double worst = 0;
        fixture f;
        begin_session(&f, NULL, 0);
        decode(&f, tokens, LONG, want);
        ggufx_session_destroy(f.session);
        f.session = NULL;
        options.type_k = options.type_v = types[i];
        MUST(&f, ggufx_session_create(&f.session, f.model, &options, &f.error));
        decode(&f, tokens, LONG, got);
        for (int j = 0; j < TINY_VOCAB; j++) {
            worst = fmax(worst, fabs((double)got[j] - (double)want[j]));
        }
        assert_true(worst > 0 && worst <= limits[i]);
        end(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode_agrees_with_doubles),
        cmocka_unit_test(test_decode_agrees_with_doubles_for_each_variant_of_the_graph),
        cmocka_unit_test(test_greedy_ids_are_those_of_every_machine),
        cmocka_unit_test(test_session_kv_types_stay_near_f32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
