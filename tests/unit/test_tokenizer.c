/*
 * Tokenization through the public headers, with the small vocabulary of tiny_model.c.
 * SPDX-License-Identifier: MIT
 */
#include "tokenizer_fixture.h"

#include <stdlib.h>
#include <string.h>

static void test_tokenize_merges_the_best_score_first(void **state) {
    fixture f;
    (void)state;
    begin_tokenizer(&f, 0);
    assert_pieces(&f, "the", 0, SP "the");
    assert_pieces(&f, "then", 0, SP "the|n");
    assert_pieces(&f, "hand and sing", 0, SP "h|an|d|" SP "|an|d|" SP "s|ing");
    assert_pieces(&f, "the  the", 0, SP "the|" SP "|" SP "the");
    assert_pieces(&f, "", 0, "");
    assert_pieces(&f, " ", 0, SP "|" SP);
    end(&f);
}

static void test_tokenize_takes_the_leftmost_of_equal_pairs(void **state) {
    fixture f;
    (void)state;
    begin_tokenizer(&f, 0);
    assert_pieces(&f, "eee", 0, SP "|ee|e");
    assert_pieces(&f, "eeeee", 0, SP "|ee|ee|e");
    end(&f);
}

static void test_tokenize_falls_back_to_bytes(void **state) {
    fixture f;
    (void)state;
    begin_tokenizer(&f, 0);
    assert_pieces(&f, "\xc3\xa9", 0, SP "|\xc3\xa9");
    assert_pieces(&f, "\xe6\x97\xa5!", 0, SP "|<0xE6>|<0x97>|<0xA5>|<0x21>");
    assert_pieces(&f,
                  "\xff"
                  "e\x80",
                  0, SP "|<0xFF>|<0x65>|<0x80>"); /* a lead byte of four bytes */
    assert_pieces(&f,
                  "\x80"
                  "e",
                  0, SP "|<0x80>|e");
    end(&f);
}

static void test_tokenize_keeps_nul_bytes(void **state) {
    fixture f;
    int32_t ids[MAX_IDS];
    char text[8];
    size_t n = 0;
    (void)state;
    begin_tokenizer(&f, 0);
    n = encode(&f, ids, "a\0e", 3, 0);
    assert_int_equal(n, 3);
    assert_int_equal(ids[1], 3); /* <0x00> */
    MUST(&f, ggufx_detokenize(text, sizeof text, &n, f.tokenizer, ids, n, 0, &f.error));
    assert_int_equal(n, 3);
    assert_memory_equal(text, "a\0e", 3);
    end(&f);
}

static void test_tokenize_uses_the_unknown_token_without_bytes(void **state) {
    fixture f;
    (void)state;
    begin_tokenizer(&f, TINY_VOCAB_NO_BYTES);
    assert_pieces(&f, "a!e", 0, SP "a|<unk>|e");
    end(&f);
}

static void test_tokenize_fails_on_a_byte_without_a_token(void **state) {
    tiny_options options;
    fixture f;
    int32_t ids[8];
    size_t n = 0;
    (void)state;
    memset(&options, 0, sizeof options);
    options.vocab_fault = TINY_VOCAB_NO_UNKNOWN;
    options.skip = "tokenizer.ggml.unknown_token_id";
    begin(&f, &options);
    MUST(&f, ggufx_tokenizer_create(&f.tokenizer, f.file, &f.error));
    MUST(&f, ggufx_tokenize(ids, 8, &n, f.tokenizer, "the", 3, 0, &f.error));
    FAILS(&f, GGUFX_E_VOCAB, "0x21",
          ggufx_tokenize(ids, 8, &n, f.tokenizer, "the!", 4, 0, &f.error));
    end(&f);
}

static void test_tokenize_adds_bos_and_eos_as_the_file_asks(void **state) {
    fixture f;
    (void)state;
    begin_tokenizer(&f, 0);
    assert_pieces(&f, "the", GGUFX_TOKENIZE_ADD_SPECIAL, "<s>|" SP "the");
    assert_pieces(&f, "", GGUFX_TOKENIZE_ADD_SPECIAL, "<s>");
    end(&f);
    begin_tokenizer(&f, TINY_VOCAB_EOS);
    assert_pieces(&f, "the", GGUFX_TOKENIZE_ADD_SPECIAL, "<s>|t|he|</s>");
    end(&f);
}

static void test_tokenize_parses_control_tokens_only_when_asked(void **state) {
    fixture f;
    (void)state;
    begin_tokenizer(&f, 0);
    assert_pieces(&f, "a<s>the", GGUFX_TOKENIZE_PARSE_SPECIAL, SP "a|<s>|" SP "the");
    assert_pieces(&f, "<|ctl|>", GGUFX_TOKENIZE_PARSE_SPECIAL, "<|ctl|>");
    assert_pieces(&f, "<s>", 0, SP "|<0x3C>|s|<0x3E>");
    end(&f);
}

static void test_tokenize_always_matches_user_tokens_whole(void **state) {
    fixture f;
    (void)state;
    begin_tokenizer(&f, 0);
    assert_pieces(&f, "the<|user|>the", 0, SP "the|<|user|>|" SP "the");
    assert_pieces(&f, "<|user|><|user|>", GGUFX_TOKENIZE_PARSE_SPECIAL, "<|user|>|<|user|>");
    end(&f);
}

static void test_tokenize_reports_the_needed_capacity(void **state) {
    fixture f;
    int32_t ids[2] = {-7, -7};
    size_t n = 0;
    (void)state;
    begin_tokenizer(&f, 0);
    FAILS(&f, GGUFX_E_CAPACITY, "3 tokens",
          ggufx_tokenize(ids, 1, &n, f.tokenizer, "the the", 7, GGUFX_TOKENIZE_ADD_SPECIAL,
                         &f.error));
    assert_int_equal(n, 3);
    assert_int_equal(ids[0], TINY_BOS);
    assert_int_equal(ids[1], -7);
    FAILS(&f, GGUFX_E_CAPACITY, "buffer",
          ggufx_tokenize(NULL, 0, &n, f.tokenizer, "the", 3, 0, &f.error));
    assert_int_equal(n, 1);
    end(&f);
}

/* Quadratic merging would take minutes here. */
static void test_tokenize_is_quick_on_a_megabyte(void **state) {
    enum { LENGTH = 1 << 20 };
    fixture f;
    char *text = malloc(LENGTH);
    int32_t *ids = malloc(LENGTH * sizeof *ids);
    size_t n = 0;
    (void)state;
    begin_tokenizer(&f, 0);
    for (size_t i = 0; i < LENGTH; i++) text[i] = "hetan "[i * i % 6];
    MUST(&f, ggufx_tokenize(ids, LENGTH, &n, f.tokenizer, text, LENGTH, 0, &f.error));
    assert_true(n > LENGTH / 8 && n < LENGTH);
    memset(text, 'h', LENGTH);
    MUST(&f, ggufx_tokenize(ids, LENGTH, &n, f.tokenizer, text, LENGTH, 0, &f.error));
    free(text);
    free(ids);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokenize_merges_the_best_score_first),
        cmocka_unit_test(test_tokenize_takes_the_leftmost_of_equal_pairs),
        cmocka_unit_test(test_tokenize_falls_back_to_bytes),
        cmocka_unit_test(test_tokenize_keeps_nul_bytes),
        cmocka_unit_test(test_tokenize_uses_the_unknown_token_without_bytes),
        cmocka_unit_test(test_tokenize_fails_on_a_byte_without_a_token),
        cmocka_unit_test(test_tokenize_adds_bos_and_eos_as_the_file_asks),
        cmocka_unit_test(test_tokenize_parses_control_tokens_only_when_asked),
        cmocka_unit_test(test_tokenize_always_matches_user_tokens_whole),
        cmocka_unit_test(test_tokenize_reports_the_needed_capacity),
        cmocka_unit_test(test_tokenize_is_quick_on_a_megabyte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
