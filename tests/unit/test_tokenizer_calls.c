/*
 * Detokenization, facts of tokenizers, refused vocabularies and arguments.
 * SPDX-License-Identifier: MIT
 */
#include "gguf_builder.h"
#include "ok.h"
#include "tokenizer_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_detokenize_gives_the_text_back(void **state) {
    static const char *const texts[] = {"the sand",
                                        " the",
                                        "",
                                        "  ",
                                        "a \xe6\x97\xa5 b\n\t",
                                        "<|user|>the",
                                        "the \xc3\xa9t\xc3\xa9."};
    fixture f;
    (void)state;
    begin_tokenizer(&f, 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int32_t ids[MAX_IDS];
        char text[64];
        size_t n = encode(&f, ids, texts[i], strlen(texts[i]), GGUFX_TOKENIZE_ADD_SPECIAL);
        MUST(&f, ggufx_detokenize(text, sizeof text - 1, &n, f.tokenizer, ids, n, 0, &f.error));
        text[n] = '\0';
        if (i == 5)
            assert_string_equal(text, "<|user|> the"); /* a space before each piece */
        else
            assert_string_equal(text, texts[i]);
    }
    end(&f);
}

static void test_detokenize_keeps_what_the_flags_say(void **state) {
    fixture f;
    int32_t ids[3];
    char text[32];
    size_t n = 0;
    (void)state;
    begin_tokenizer(&f, 0);
    ids[0] = TINY_BOS;
    ids[1] = id_of(&f, SP "the");
    ids[2] = TINY_CONTROL;
    MUST(&f, ggufx_detokenize(text, 32, &n, f.tokenizer, ids, 3, GGUFX_DETOKENIZE_KEEP_SPECIAL,
                              &f.error));
    assert_int_equal(n, 13);
    assert_memory_equal(text, "<s>the<|ctl|>", n);
    MUST(&f, ggufx_detokenize(text, 32, &n, f.tokenizer, ids, 3, GGUFX_DETOKENIZE_KEEP_SPACE,
                              &f.error));
    assert_int_equal(n, 4);
    assert_memory_equal(text, " the", n);
    FAILS(&f, GGUFX_E_CAPACITY, "3 bytes",
          ggufx_detokenize(text, 2, &n, f.tokenizer, ids, 3, 0, &f.error));
    assert_int_equal(n, 3);
    end(&f);
}

static void test_token_info_describes_each_kind(void **state) {
    static const struct {
        int32_t id;
        uint32_t flags;
        const char *text;
    } cases[] = {
        {0, GGUFX_TOKEN_UNKNOWN, "<unk>"},
        {1, GGUFX_TOKEN_CONTROL, "<s>"},
        {2, GGUFX_TOKEN_CONTROL | GGUFX_TOKEN_EOG, "</s>"},
        {13, GGUFX_TOKEN_BYTE, "<0x0A>"},
        {260, 0, "e"},
        {TINY_USER, GGUFX_TOKEN_USER_DEFINED, "<|user|>"},
    };
    fixture f;
    (void)state;
    begin_tokenizer(&f, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ggufx_token_facts facts;
        memset(&facts, 0, sizeof facts);
        facts.struct_size = sizeof facts;
        MUST(&f, ggufx_token_info(&facts, f.tokenizer, cases[i].id, &f.error));
        assert_int_equal(facts.flags, cases[i].flags);
        assert_int_equal(facts.id, cases[i].id);
        assert_int_equal(facts.text.size, strlen(cases[i].text));
        assert_memory_equal(facts.text.data, cases[i].text, facts.text.size);
    }
    end(&f);
}

static void test_tokenizer_info_names_kind_and_special_ids(void **state) {
    fixture f;
    ggufx_tokenizer_facts facts;
    (void)state;
    begin_tokenizer(&f, 0);
    memset(&facts, 0, sizeof facts);
    facts.struct_size = sizeof facts;
    MUST(&f, ggufx_tokenizer_info(&facts, f.tokenizer, &f.error));
    assert_string_equal(facts.kind, "llama");
    assert_int_equal(facts.n_tokens, TINY_VOCAB);
    assert_int_equal(facts.bos, TINY_BOS);
    assert_int_equal(facts.eos, TINY_EOS);
    assert_int_equal(facts.unknown, 0);
    assert_int_equal(ggufx_has("tokenizer:llama"), 1);
    end(&f);
}

static void assert_create_fails(const tiny_options *options, ggufx_status status,
                                const char *text) {
    fixture f;
    ggufx_tokenizer *tokenizer = (ggufx_tokenizer *)&f;
    begin(&f, options);
    FAILS(&f, status, text, ggufx_tokenizer_create(&tokenizer, f.file, &f.error));
    assert_null(tokenizer);
    end(&f);
}

static void test_tokenizer_create_rejects_unusable_vocabularies(void **state) {
    static const struct {
        int fault;
        ggufx_status status;
        const char *text;
    } cases[] = {
        {TINY_VOCAB_SHORT_SCORES, GGUFX_E_VOCAB, "scores has 3 elements for 302 tokens"},
        {TINY_VOCAB_SHORT_TYPES, GGUFX_E_VOCAB, "token_type has 3 elements for 302 tokens"},
        {TINY_VOCAB_BAD_BYTE, GGUFX_E_VOCAB, "<0x-1>"},
        {TINY_VOCAB_NAN_SCORE, GGUFX_E_VOCAB, "score of token 280"},
        {TINY_VOCAB_BAD_TYPE, GGUFX_E_VOCAB, "type of token 270 is 9"},
        {TINY_VOCAB_OTHER_KIND, GGUFX_E_UNSUPPORTED, "plamo2"},
    };
    static const char *const missing[] = {"tokenizer.ggml.model", "tokenizer.ggml.tokens",
                                          "tokenizer.ggml.scores"};
    static const char *const ids[] = {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id",
                                      "tokenizer.ggml.unknown_token_id"};
    tiny_options options;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memset(&options, 0, sizeof options);
        options.vocab_fault = cases[i].fault;
        assert_create_fails(&options, cases[i].status, cases[i].text);
    }
    for (size_t i = 0; i < 3; i++) {
        memset(&options, 0, sizeof options);
        options.skip = missing[i];
        assert_create_fails(&options, GGUFX_E_MISSING, missing[i]);
        memset(&options, 0, sizeof options);
        options.change = ids[i];
        options.value = TINY_VOCAB;
        assert_create_fails(&options, GGUFX_E_VOCAB, ids[i]);
    }
    memset(&options, 0, sizeof options);
    options.no_vocab = 1;
    options.extra_string = "tokenizer.ggml.tokens";
    assert_create_fails(&options, GGUFX_E_MISSING, "tokenizer.ggml.model");
}

/* Builds a vocabulary of three tokens, one of whose keys has another type or is too long. */
enum {
    PLAIN,
    TEXT_TOKENS,
    LONG_TOKEN,
    ONE_SCORE,
    WHOLE_SCORES,
    ONE_KIND,
    FLOAT_KINDS,
    TEXT_ID,
    MINUS_ID
};

static void odd_vocab(gb *b, int odd) {
    static const char *const pieces[] = {"<unk>", "<s>", "a"};
    static const uint32_t kinds[] = {2, 3, 1};
    gb_begin(b, 3, 0);
    gb_key_string(b, "tokenizer.ggml.model", "llama");
    if (odd == TEXT_TOKENS) {
        gb_key_string(b, "tokenizer.ggml.tokens", "a");
    } else {
        char *const large = calloc(1, (1 << 20) + 2);
        assert_non_null(large);
        memset(large, 'a', (1 << 20) + 1);
        gb_key_array(b, "tokenizer.ggml.tokens", GGUFX_VALUE_STRING, 3);
        for (int i = 0; i < 3; i++) gb_string(b, i == 2 && odd == LONG_TOKEN ? large : pieces[i]);
        free(large);
    }
    if (odd == ONE_SCORE) {
        gb_key_u32(b, "tokenizer.ggml.scores", 0);
    } else {
        const int whole = odd == WHOLE_SCORES;
        gb_key_array(b, "tokenizer.ggml.scores", whole ? GGUFX_VALUE_U32 : GGUFX_VALUE_F32, 3);
        for (int i = 0; i < 3; i++) gb_u32(b, 0);
    }
    if (odd == ONE_KIND) {
        gb_key_u32(b, "tokenizer.ggml.token_type", 1);
    } else {
        const int floats = odd == FLOAT_KINDS;
        gb_key_array(b, "tokenizer.ggml.token_type", floats ? GGUFX_VALUE_F32 : GGUFX_VALUE_I32, 3);
        for (int i = 0; i < 3; i++) gb_u32(b, kinds[i]);
    }
    if (odd == TEXT_ID) {
        gb_key_string(b, "tokenizer.ggml.bos_token_id", "1");
    } else {
        gb_key(b, "tokenizer.ggml.bos_token_id", GGUFX_VALUE_I32);
        gb_u32(b, odd == MINUS_ID ? UINT32_MAX : 1);
    }
    gb_data(b);
}

static void test_keys_of_other_types_are_refused_by_their_name(void **state) {
    static const char *const texts[] = {
        [TEXT_TOKENS] = "tokens is not an array of strings",
        [LONG_TOKEN] = "token 2 has 1048577 bytes",
        [ONE_SCORE] = "scores is not an array",
        [WHOLE_SCORES] = "scores is not an array of floats",
        [ONE_KIND] = "token_type is not an array",
        [FLOAT_KINDS] = "token_type is not an array of integers",
        [TEXT_ID] = "bos_token_id is not an integer",
        [MINUS_ID] = "bos_token_id is -1",
    };
    (void)state;
    for (int odd = PLAIN; odd <= MINUS_ID; odd++) {
        gb b;
        ggufx_runtime *rt = NULL;
        ggufx_file *file = NULL;
        ggufx_tokenizer *tokenizer = NULL;
        ggufx_error error;
        odd_vocab(&b, odd);
        OK(ggufx_runtime_create(&rt, NULL, ok_error()));
        OK(ggufx_open_memory(&file, rt, b.data, b.n, NULL, NULL, NULL, ok_error()));
        const ggufx_status status = ggufx_tokenizer_create(&tokenizer, file, &error);
        assert_int_equal(status, odd == PLAIN ? GGUFX_OK : GGUFX_E_VOCAB);
        if (odd != PLAIN && !strstr(error.message, texts[odd])) fail_msg("%s", error.message);
        ggufx_tokenizer_destroy(tokenizer);
        ggufx_file_destroy(file);
        ggufx_runtime_destroy(rt);
        gb_free(&b);
    }
}

static void test_tokenizer_create_accepts_odd_but_clear_vocabularies(void **state) {
    static const int faults[] = {TINY_VOCAB_DUPLICATES, TINY_VOCAB_U8_TYPES, TINY_VOCAB_NO_TYPES};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        fixture f;
        begin_tokenizer(&f, faults[i]);
        assert_pieces(&f, "anhe!", 0, SP "|an|he|<0x21>");
        assert_true(id_of(&f, "he") < TINY_USER - 1); /* the first of two */
        end(&f);
    }
}

static void test_tokenizer_calls_refuse_bad_arguments(void **state) {
    fixture f;
    int32_t ids[4] = {1, TINY_VOCAB, -1, 0};
    char text[4];
    size_t n = 0;
    ggufx_token_facts facts;
    ggufx_tokenizer_facts info;
    (void)state;
    begin_tokenizer(&f, 0);
    FAILS(&f, GGUFX_E_ARGUMENT, "out", ggufx_tokenizer_create(NULL, f.file, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "file",
          ggufx_tokenizer_create(&(ggufx_tokenizer *){NULL}, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_tokenize(ids, 4, &n, NULL, "a", 1, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_tokenize(NULL, 4, &n, f.tokenizer, "a", 1, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_tokenize(ids, 4, NULL, f.tokenizer, "a", 1, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "text",
          ggufx_tokenize(ids, 4, &n, f.tokenizer, NULL, 1, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "flags",
          ggufx_tokenize(ids, 4, &n, f.tokenizer, "a", 1, 4, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "",
          ggufx_detokenize(NULL, 4, &n, f.tokenizer, ids, 1, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "",
          ggufx_detokenize(text, 4, NULL, f.tokenizer, ids, 1, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_detokenize(text, 4, &n, NULL, ids, 1, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "",
          ggufx_detokenize(text, 4, &n, f.tokenizer, NULL, 1, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "flags",
          ggufx_detokenize(text, 4, &n, f.tokenizer, ids, 1, 8, &f.error));
    assert_int_equal(ggufx_detokenize(text, 4, &n, f.tokenizer, ids, 2, 0, &f.error),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(f.error.index, 1);
    FAILS(&f, GGUFX_E_ARGUMENT, "-1",
          ggufx_detokenize(text, 4, &n, f.tokenizer, ids + 2, 1, 0, &f.error));
    facts.struct_size = sizeof facts;
    FAILS(&f, GGUFX_E_ARGUMENT, "302", ggufx_token_info(&facts, f.tokenizer, TINY_VOCAB, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_token_info(&facts, f.tokenizer, -1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_token_info(NULL, f.tokenizer, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_token_info(&facts, NULL, 0, &f.error));
    facts.struct_size = 0;
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_token_info(&facts, f.tokenizer, 0, &f.error));
    info.struct_size = sizeof info;
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_tokenizer_info(NULL, f.tokenizer, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_tokenizer_info(&info, NULL, &f.error));
    ggufx_tokenizer_destroy(NULL);
    end(&f);
}

static ggufx_status use_tokenizer(void *context, ggufx_runtime *rt, ggufx_error *error) {
    ggufx_file *file = NULL;
    ggufx_tokenizer *tokenizer = NULL;
    int32_t ids[64];
    size_t n = 0;
    (void)context;
    ggufx_status status = open_tiny(&file, rt, NULL, error);
    if (status == GGUFX_OK) status = ggufx_tokenizer_create(&tokenizer, file, error);
    if (status == GGUFX_OK) {
        status = ggufx_tokenize(ids, 64, &n, tokenizer, "the <s> sand<|user|> ing", 24,
                                GGUFX_TOKENIZE_PARSE_SPECIAL, error);
    }
    ggufx_tokenizer_destroy(tokenizer);
    ggufx_file_destroy(file);
    return status;
}

static void test_tokenizer_survives_each_failing_allocation(void **state) {
    (void)state;
    assert_true(fault_run(use_tokenizer, NULL) > 8);
}

static void test_detokenize_does_not_allocate(void **state) {
    fixture f;
    int32_t ids[4] = {1, 260, 270, 13};
    char text[64];
    size_t n = 0;
    (void)state;
    begin_tokenizer(&f, 0);
    fault_reset(&f.memory);
    MUST(&f, ggufx_detokenize(text, sizeof text, &n, f.tokenizer, ids, 4, 0, &f.error));
    assert_int_equal(f.memory.calls, 0);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_detokenize_gives_the_text_back),
        cmocka_unit_test(test_detokenize_keeps_what_the_flags_say),
        cmocka_unit_test(test_token_info_describes_each_kind),
        cmocka_unit_test(test_tokenizer_info_names_kind_and_special_ids),
        cmocka_unit_test(test_tokenizer_create_rejects_unusable_vocabularies),
        cmocka_unit_test(test_keys_of_other_types_are_refused_by_their_name),
        cmocka_unit_test(test_tokenizer_create_accepts_odd_but_clear_vocabularies),
        cmocka_unit_test(test_tokenizer_calls_refuse_bad_arguments),
        cmocka_unit_test(test_tokenizer_survives_each_failing_allocation),
        cmocka_unit_test(test_detokenize_does_not_allocate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
