/*
 * Implementation of grammar_fixture.h.
 * SPDX-License-Identifier: MIT
 */
#include "grammar_fixture.h"
#include "ok.h"

#include <stdio.h>
#include <string.h>

vocab v;

vocab grammar_vocab(void) {
    static const char *const words[N_VOCAB - FIRST_WORD] = {
        "aa",
        "ab",
        "abc",
        "\":",
        "\",\"",
        "\"}",
        "true",
        "}}",
        "12",
        "\xc3\xa9",
        "ab",
        "\xc3\xa9",
        "abcd",
        "abcdefghijklmno",
        "abcdefghijklmnop",
        "abcdefghijklmnopq",
        "abcdefghijklmnopqrstuvwxyz",
        "AB_9",
        "ab cd",
        " a",
        "   ",
        "a-b",
        "b\"",
        "ab\\",
        "\"ab",
        "\"ab\",\"abc",
        "a\"}",
        "\x7f",
        "b\xc3",
        "\xa9"
        "b",
        "\xe2\x82\xac\xe2\x82\xac",
        "\xe2\x82\xac\xe2\x82",
        "\xc2\xa0",
        "\xe3\x80\x80"
        "a",
        "\xf0\x9f\x98\x80"
        "ab",
        "\xed\xa0\x80"
        "a",
    };
    static char names[256][8];
    vocab_token tokens[N_VOCAB] = {{"<unk>", 5, 0, 2}, {"<s>", 3, 0, 3}, {"</s>", 4, 0, 3}};
    for (int i = 0; i < 256; i++) {
        snprintf(names[i], sizeof names[i], "<0x%02X>", (unsigned)i);
        tokens[FIRST_BYTE + i] = (vocab_token){names[i], 6, 0, 6};
    }
    for (int i = FIRST_WORD; i < N_VOCAB; i++) {
        const char *const word = words[i - FIRST_WORD];
        tokens[i] = (vocab_token){word, strlen(word), 0, 1};
    }
    return open_vocab(tokens, N_VOCAB);
}

int grammar_setup(void **state) {
    if (writer_setup(state) != 0) return -1;
    v = grammar_vocab();
    return 0;
}

int grammar_teardown(void **state) {
    close_vocab(&v);
    return writer_teardown(state);
}

size_t token_bytes(const vocab *v, int32_t id, char out[64]) {
    size_t n = 0;
    OK(ggufx_detokenize(out, 64, &n, v->tokenizer, &id, 1, GGUFX_DETOKENIZE_KEEP_SPACE,
                        ok_error()));
    return n;
}

ggufx_status create_grammar(ggufx_grammar **out, const ggufx_runtime *runtime, const vocab *v,
                            uint32_t kind, const char *text, size_t length, ggufx_error *error) {
    ggufx_grammar_options options = {.struct_size = sizeof options};
    options.kind = kind;
    options.text = (ggufx_text){text, length};
    return ggufx_grammar_create(out, runtime, v->tokenizer, &options, error);
}

ggufx_matcher *new_matcher(const vocab *v, uint32_t kind, const char *text) {
    ggufx_grammar *grammar = NULL;
    ggufx_matcher *m = NULL;
    ggufx_error error;
    if (create_grammar(&grammar, rt, v, kind, text, strlen(text), &error) != GGUFX_OK)
        fail_msg("%s: %s", text, error.message);
    OK(ggufx_matcher_create(&m, grammar, ok_error()));
    ggufx_grammar_destroy(grammar);
    return m;
}

ggufx_status accept_text(ggufx_matcher *m, const char *text, ggufx_error *error) {
    for (; *text; text++) {
        const int32_t id = FIRST_BYTE + (uint8_t)*text;
        const ggufx_status status = ggufx_matcher_accept(m, &id, 1, error);
        if (status != GGUFX_OK) return status;
    }
    return GGUFX_OK;
}

uint32_t matcher_flags(const ggufx_matcher *m) {
    ggufx_matcher_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_matcher_info(&facts, m, ok_error()));
    assert_int_equal(facts.n_vocab, N_VOCAB);
    assert_int_equal(facts.n_words, N_WORDS);
    return facts.flags;
}

int has_bit(const uint32_t *bits, int32_t id) {
    return (int)(bits[id / 32] >> id % 32 & 1);
}

static int fits(const vocab *v, uint32_t kind, const char *grammar, const char *text) {
    ggufx_matcher *m = new_matcher(v, kind, grammar);
    const int fit = accept_text(m, text, NULL) == GGUFX_OK && (matcher_flags(m) & 1);
    ggufx_matcher_destroy(m);
    return fit;
}

void assert_fits(const vocab *v, uint32_t kind, const char *grammar, const char *text) {
    if (!fits(v, kind, grammar, text)) fail_msg("%s does not fit %s", text, grammar);
}

void assert_misfits(const vocab *v, uint32_t kind, const char *grammar, const char *text) {
    if (fits(v, kind, grammar, text)) fail_msg("%s fits %s", text, grammar);
}

void assert_refused(const vocab *v, uint32_t kind, const char *grammar, ggufx_status want,
                    const char *message) {
    ggufx_grammar *out = NULL;
    ggufx_error error;
    memset(&error, 0, sizeof error);
    const ggufx_status got = create_grammar(&out, rt, v, kind, grammar, strlen(grammar), &error);
    if (got != want || !strstr(error.message, message))
        fail_msg("%.99s: %s %s", grammar, ggufx_status_name(got), error.message);
    assert_null(out);
}

void assert_mask(const vocab *v, ggufx_matcher *m) {
    uint32_t bits[N_WORDS + 1];
    (void)v;
    OK(ggufx_matcher_mask(bits, N_WORDS + 1, m, ok_error()));
    assert_int_equal(bits[N_WORDS], 0);
    for (int32_t id = 0; id < N_VOCAB; id++) {
        const int fit = ggufx_matcher_accept(m, &id, 1, NULL) == GGUFX_OK;
        if (fit) OK(ggufx_matcher_rollback(m, 1, ok_error()));
        if (fit != has_bit(bits, id)) fail_msg("token %d: %d", (int)id, fit);
    }
}
