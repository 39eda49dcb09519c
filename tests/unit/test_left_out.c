/*
 * A library built without chat templates and with SentencePiece vocabularies only: calls of omitted
 * parts report it.
 * SPDX-License-Identifier: MIT
 */
#include "../text_of.h"
#include "ok.h"
#include "tiny_model.h"
#include "vocab_fixture.h"

#include <ggufx/generator.h>
#include <stdlib.h>
#include <string.h>

static const vocab_token letters[] = {
    {"<unk>", 5, 0, 2}, {"a", 1, -1, 1}, {"b", 1, -1, 1}, {"ab", 2, 0, 1}};

static void test_features_are_reported(void **state) {
    (void)state;
    assert_false(ggufx_has("chat"));
    assert_false(ggufx_has("vocab:gpt2"));
    assert_false(ggufx_has("pre:llama-bpe"));
    assert_true(ggufx_has("vocab:llama"));
    assert_true(ggufx_has("vocab:none"));
}

static void test_chats_are_refused(void **state) {
    ggufx_chat_template_options options;
    ggufx_chat_template *chat = (ggufx_chat_template *)(void *)&options;
    ggufx_error error;
    (void)state;
    options = (ggufx_chat_template_options){.struct_size = sizeof(ggufx_chat_template_options)};
    assert_int_equal(options.struct_size, sizeof options);
    options.text = text_of("{{ messages }}");
    assert_int_equal(ggufx_chat_template_create(&chat, rt, NULL, &options, &error),
                     GGUFX_E_UNSUPPORTED);
    assert_null(chat);
    assert_non_null(strstr(error.message, "without chat templates"));
    assert_null(ggufx_chat_template_builtin_name(0));
}

static void test_grammars_are_refused(void **state) {
    ggufx_grammar_options options;
    ggufx_grammar *grammar = (ggufx_grammar *)(void *)&options;
    ggufx_error error;
    vocab v = open_vocab(letters, sizeof letters / sizeof *letters);
    (void)state;
    options = (ggufx_grammar_options){.struct_size = sizeof(ggufx_grammar_options)};
    assert_int_equal(options.struct_size, sizeof options);
    options.text = text_of("root ::= \"ab\"");
    assert_int_equal(ggufx_grammar_create(&grammar, rt, v.tokenizer, &options, &error),
                     GGUFX_E_UNSUPPORTED);
    assert_null(grammar);
    assert_non_null(strstr(error.message, "without grammars"));
    ggufx_grammar_destroy(NULL);
    ggufx_matcher_destroy(NULL);
    close_vocab(&v);
}

static void test_other_vocabularies_are_refused(void **state) {
    ggufx_tokenizer *tokenizer = NULL;
    ggufx_error error;
    ggufx_file *file;
    gb b;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_key_string(&b, "tokenizer.ggml.model", "gpt2");
    gb_key_array(&b, "tokenizer.ggml.tokens", GGUFX_VALUE_STRING, 1);
    gb_string(&b, "a");
    gb_data(&b);
    file = open_copy(&b);
    assert_int_equal(ggufx_tokenizer_create(&tokenizer, file, &error), GGUFX_E_UNSUPPORTED);
    assert_null(tokenizer);
    assert_non_null(strstr(error.message, "as this library was built"));
    ggufx_file_destroy(file);
}

static void test_what_is_there_works(void **state) {
    vocab v = open_vocab(letters, sizeof letters / sizeof *letters);
    int32_t ids[4] = {0};
    size_t n = 0;
    (void)state;
    OK(ggufx_tokenize(ids, 4, &n, v.tokenizer, "abb", 3, 0, ok_error()));
    assert_int_equal(n, 2);
    assert_int_equal(ids[0], 3);
    assert_int_equal(ids[1], 2);
    close_vocab(&v);
}

/* Texts are generated; messages need a chat template. */
static void test_generators_work_without_messages(void **state) {
    const ggufx_generator_options options = {.struct_size = sizeof options, .max_tokens = 3};
    const ggufx_chat_request request = {.struct_size = sizeof request};
    const ggufx_prompt text = {.struct_size = sizeof text, .text = {"ab", 2}};
    const ggufx_prompt messages = {.struct_size = sizeof messages, .messages = &request};
    ggufx_event event = {.struct_size = sizeof event};
    ggufx_file *file = NULL;
    ggufx_model *model = NULL;
    ggufx_session *session = NULL;
    ggufx_generator *generator = NULL;
    ggufx_error error;
    size_t n = 0;
    unsigned char *data = tiny_model(&n, NULL);
    (void)state;
    OK(ggufx_open_memory(&file, rt, data, n, free, data, NULL, ok_error()));
    OK(ggufx_model_create(&model, rt, file, NULL, ok_error()));
    OK(ggufx_session_create(&session, model, NULL, ok_error()));
    OK(ggufx_generator_create(&generator, session, &options, ok_error()));
    assert_int_equal(ggufx_generator_set_prompt(generator, &messages, &error), GGUFX_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "without chat templates"));
    OK(ggufx_generator_set_prompt(generator, &text, ok_error()));
    while (event.kind != GGUFX_EVENT_END)
        OK(ggufx_generator_next(&event, generator, NULL, ok_error()));
    ggufx_generator_destroy(generator);
    ggufx_session_destroy(session);
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_features_are_reported),
        cmocka_unit_test(test_chats_are_refused),
        cmocka_unit_test(test_grammars_are_refused),
        cmocka_unit_test(test_other_vocabularies_are_refused),
        cmocka_unit_test(test_what_is_there_works),
        cmocka_unit_test(test_generators_work_without_messages),
    };
    return cmocka_run_group_tests(tests, writer_setup, writer_teardown);
}
