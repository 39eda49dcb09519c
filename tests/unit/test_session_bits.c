/*
 * Sessions: the same bits for any instruction set, thread count, batch and after a truncation.
 * SPDX-License-Identifier: MIT
 */
#include "session_fixture.h"

#include <string.h>

/* FNV-1a over the bits of the logits: one value for every instruction set and thread count. */
static void test_logits_have_the_same_bits_for_any_isa_and_thread_count(void **state) {
    static const int32_t isas[] = {GGUFX_ISA_SCALAR, GGUFX_ISA_BEST, GGUFX_ISA_BEST};
    static const uint32_t threads[] = {1, 1, 4};
    uint64_t first[2] = {0, 0};
    int32_t tokens[N];
    (void)state;
    make_tokens(tokens, N);
    for (int run = 0; run < 6; run++) {
        float logits[TINY_VOCAB];
        uint64_t hash = 0xcbf29ce484222325u;
        ggufx_runtime_options rt_options = {.struct_size = sizeof rt_options};
        tiny_options options;
        fixture f;
        memset(&f, 0, sizeof f);
        memset(&options, 0, sizeof options);
        options.weight_type = run % 2 ? GGUFX_TYPE_Q8_0 : GGUFX_TYPE_F32;
        rt_options.isa = isas[run / 2];
        rt_options.threads = threads[run / 2];
        MUST(&f, ggufx_runtime_create(&f.rt, &rt_options, &f.error));
        MUST(&f, open_tiny(&f.file, f.rt, &options, &f.error));
        MUST(&f, ggufx_model_create(&f.model, f.rt, f.file, NULL, &f.error));
        MUST(&f, ggufx_session_create(&f.session, f.model, NULL, &f.error));
        decode(&f, tokens, N - 1, NULL);
        decode(&f, tokens + N - 1, 1, logits);
        for (int i = 0; i < TINY_VOCAB; i++) {
            uint32_t bits;
            memcpy(&bits, &logits[i], 4);
            hash = (hash ^ bits) * 0x100000001b3u;
        }
        if (run < 2) first[run] = hash;
        assert_true(hash == first[run % 2]);
        ggufx_session_destroy(f.session);
        ggufx_model_destroy(f.model);
        ggufx_file_destroy(f.file);
        ggufx_runtime_destroy(f.rt);
    }
    assert_true(first[0] != first[1]);
}

static void test_decode_gives_the_same_bits_however_single_tokens_come(void **state) {
    float a[TINY_VOCAB], b[TINY_VOCAB];
    int32_t tokens[N];
    fixture f;
    (void)state;
    make_tokens(tokens, N);
    begin_session(&f, NULL, 1);
    decode(&f, tokens, N, a);
    MUST(&f, ggufx_session_truncate(f.session, 0, 0, &f.error));
    for (int i = 0; i < N; i++) decode(&f, tokens + i, 1, b);
    assert_memory_equal(a, b, sizeof a);
    end(&f);
}

static void test_invariant_products_make_batches_and_single_tokens_equal(void **state) {
    float a[TINY_VOCAB], b[TINY_VOCAB], plain[TINY_VOCAB];
    int32_t tokens[N];
    ggufx_session_options options = {.struct_size = sizeof options};
    fixture f;
    (void)state;
    make_tokens(tokens, N);
    begin_session(&f, NULL, 0);
    decode(&f, tokens, N, plain);
    ggufx_session_destroy(f.session);
    options.flags = GGUFX_SESSION_HAS_TYPE_K | GGUFX_SESSION_HAS_TYPE_V;
    options.type_k = options.type_v = GGUFX_TYPE_F32;
    options.matmul_flags = GGUFX_MATMUL_F32 | GGUFX_MATMUL_BATCH_INVARIANT;
    MUST(&f, ggufx_session_create(&f.session, f.model, &options, &f.error));
    decode(&f, tokens, N, a);
    MUST(&f, ggufx_session_truncate(f.session, 0, 0, &f.error));
    for (int i = 0; i < N; i++) decode(&f, tokens + i, 1, b);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_not_equal(a, plain, sizeof a);
    end(&f);
}

static void test_truncate_forgets_and_repeats_exactly(void **state) {
    float a[TINY_VOCAB], b[TINY_VOCAB];
    int32_t tokens[N];
    fixture f;
    (void)state;
    make_tokens(tokens, N);
    begin_session(&f, NULL, 0);
    decode(&f, tokens, 20, NULL);
    decode(&f, tokens + 20, 1, a);
    MUST(&f, ggufx_session_truncate(f.session, 0, 20, &f.error));
    assert_int_equal(ggufx_session_length(f.session, 0), 20);
    decode(&f, tokens + 30, 5, NULL); /* other tokens, then a truncation */
    MUST(&f, ggufx_session_truncate(f.session, 0, 20, &f.error));
    decode(&f, tokens + 20, 1, b);
    assert_memory_equal(a, b, sizeof a);
    FAILS(&f, GGUFX_E_ARGUMENT, "22", ggufx_session_truncate(f.session, 0, 22, &f.error));
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logits_have_the_same_bits_for_any_isa_and_thread_count),
        cmocka_unit_test(test_decode_gives_the_same_bits_however_single_tokens_come),
        cmocka_unit_test(test_invariant_products_make_batches_and_single_tokens_equal),
        cmocka_unit_test(test_truncate_forgets_and_repeats_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
