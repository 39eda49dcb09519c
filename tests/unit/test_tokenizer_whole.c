/*
 * Tokens that are matched whole, against the rule. The longest token claims its occurrences first,
 * then the lower id, then the leftmost. An occurrence is a token if both ends are free.
 * SPDX-License-Identifier: MIT
 */
#include "ok.h"
#include "vocab_fixture.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 16384, SHORT_TEXT = 256, MAX_TOKENS = 48, LONGEST = 64 };

static uint64_t seed = 1;

static uint32_t below(uint32_t n) {
    return (uint32_t)(scrambled(seed++) >> 33) % n;
}

typedef struct rule_state {
    const vocab_token *tokens;
    size_t n_tokens;
    const char *text;
    size_t n;
    int32_t owner[MAX_TEXT]; /* the token that claims a byte, or -1 */
    int start[MAX_TEXT];
} rule_state;

static void claim_all(rule_state *s, size_t id) {
    const vocab_token *t = &s->tokens[id];
    for (size_t i = 0; i + t->length <= s->n; i++) {
        if (memcmp(s->text + i, t->text, t->length) != 0) continue;
        if (s->owner[i] >= 0 || s->owner[i + t->length - 1] >= 0) continue;
        for (size_t k = 0; k < t->length; k++) s->owner[i + k] = (int32_t)id;
        s->start[i] = 1;
    }
}

/* Returns the ids of a text: claimed tokens, and single-byte tokens for the other bytes. Each
 * letter has a normal single-byte token without merges. */
static size_t by_the_rule(int32_t *ids, const vocab_token *tokens, size_t n_tokens,
                          const char *text, size_t n, int special) {
    static rule_state s;
    s = (rule_state){.tokens = tokens, .n_tokens = n_tokens, .text = text, .n = n};
    for (size_t i = 0; i < n; i++) s.owner[i] = -1, s.start[i] = 0;
    for (size_t length = LONGEST; length > 0; length--)
        for (size_t id = 0; id < n_tokens; id++)
            if (tokens[id].length == length &&
                (tokens[id].kind == 4 || (special && tokens[id].kind == 3)))
                claim_all(&s, id);
    size_t n_ids = 0;
    for (size_t i = 0; i < n; i++) {
        if (s.start[i]) ids[n_ids++] = s.owner[i];
        if (s.owner[i] < 0) ids[n_ids++] = text[i] - 'a';
    }
    return n_ids;
}

/* Creates normal tokens a, b, c, then random whole ones, with duplicate texts among them. */
static size_t random_tokens(vocab_token *tokens, char *texts, uint32_t letters, uint32_t longest) {
    const size_t n = 4 + below(MAX_TOKENS - 4);
    const int controls = below(2) == 1;
    for (size_t id = 0; id < n; id++) {
        char *text = texts + id * longest;
        tokens[id] = (vocab_token){text, 1, 0, 1};
        if (id < 3) {
            text[0] = (char)('a' + id);
            continue;
        }
        tokens[id].length = 1 + below(longest);
        tokens[id].kind = controls && below(3) == 0 ? 3 : 4;
        for (size_t i = 0; i < tokens[id].length; i++) text[i] = (char)('a' + below(letters));
    }
    return n;
}

static void compare(const vocab_token *tokens, size_t n_tokens, const char *text, size_t n) {
    vocab v = open_vocab(tokens, n_tokens);
    int mergeable = 0; /* merges form control tokens from their letters if there are no others */
    for (size_t id = 0; id < n_tokens; id++) mergeable |= tokens[id].kind == 3;
    for (int special = mergeable; special < 2; special++) {
        static int32_t want[MAX_TEXT], got[MAX_TEXT];
        size_t n_got = 0;
        const size_t n_want = by_the_rule(want, tokens, n_tokens, text, n, special);
        OK(ggufx_tokenize(got, MAX_TEXT, &n_got, v.tokenizer, text, n,
                          special ? GGUFX_TOKENIZE_PARSE_SPECIAL : 0, ok_error()));
        assert_int_equal(n_got, n_want);
        assert_memory_equal(got, want, n_want * sizeof *want);
    }
    close_vocab(&v);
}

static void test_random_tokens_are_claimed_by_the_rule(void **state) {
    (void)state;
    for (int round = 0; round < 3000; round++) {
        char texts[MAX_TOKENS * LONGEST];
        static char text[MAX_TEXT];
        vocab_token tokens[MAX_TOKENS];
        const uint32_t letters = 1 + below(3), longest = 1 + below(below(2) ? 6 : LONGEST);
        const size_t n_tokens = random_tokens(tokens, texts, letters, longest);
        const size_t n = below(round % 100 ? SHORT_TEXT : MAX_TEXT); /* short or long text */
        for (size_t i = 0; i < n; i++) text[i] = (char)('a' + below(letters));
        compare(tokens, n_tokens, text, n);
    }
}

/* Tokens a, aa, aaa ... and texts of one letter: every position has every token. */
static void test_nested_tokens_are_claimed_by_the_rule(void **state) {
    (void)state;
    char text[LONGEST];
    vocab_token tokens[MAX_TOKENS];
    memset(text, 'a', sizeof text);
    for (int round = 0; round < 200; round++) {
        const size_t n_tokens = 4 + below(MAX_TOKENS - 4);
        const size_t n = below(round % 20 ? SHORT_TEXT : MAX_TEXT);
        for (size_t id = 0; id < n_tokens; id++)
            tokens[id] = (vocab_token){text, id < 3 ? 1 : 1 + below(40), 0, id < 3 ? 1 : 4};
        char *broken = malloc(n + 1);
        memset(broken, 'a', n + 1);
        for (uint32_t i = below(4); n && i > 0; i--) broken[below((uint32_t)n)] = 'b';
        tokens[1] = (vocab_token){"b", 1, 0, 1};
        compare(tokens, n_tokens, broken, n);
        free(broken);
    }
}

/* A control token that is not parsed does not hide a user-defined token of the same text. */
static void test_a_control_token_of_the_same_text_counts_only_when_parsed(void **state) {
    (void)state;
    const vocab_token tokens[] = {
        {"a", 1, 0, 1}, {"b", 1, 0, 1}, {"c", 1, 0, 1}, {"ab", 2, 0, 3}, {"ab", 2, 0, 4}};
    static const int32_t want[2][3] = {{4, 2, 4}, {3, 2, 3}};
    vocab v = open_vocab(tokens, 5);
    for (int special = 0; special < 2; special++) {
        int32_t got[8];
        size_t n = 0;
        OK(ggufx_tokenize(got, 8, &n, v.tokenizer, S("abcab"),
                          special ? GGUFX_TOKENIZE_PARSE_SPECIAL : 0, ok_error()));
        assert_int_equal(n, 3);
        assert_memory_equal(got, want[special], sizeof want[special]);
    }
    close_vocab(&v);
}

static void test_too_much_text_of_whole_tokens_is_refused(void **state) {
    (void)state;
    enum { N = 65, LENGTH = 1 << 20 };
    vocab_token tokens[N];
    char *text = malloc(LENGTH);
    memset(text, 'a', LENGTH);
    for (size_t i = 0; i < N; i++) tokens[i] = (vocab_token){text, LENGTH, 0, 4};
    ggufx_file *file = vocab_file(tokens, N);
    ggufx_tokenizer *tokenizer = NULL;
    ggufx_error e;
    expect(ggufx_tokenizer_create(&tokenizer, file, &e), GGUFX_E_LIMIT, &e, "67108864");
    assert_int_equal(e.index, 64);
    assert_null(tokenizer);
    ggufx_file_destroy(file);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_tokens_are_claimed_by_the_rule),
        cmocka_unit_test(test_nested_tokens_are_claimed_by_the_rule),
        cmocka_unit_test(test_a_control_token_of_the_same_text_counts_only_when_parsed),
        cmocka_unit_test(test_too_much_text_of_whole_tokens_is_refused),
    };
    return cmocka_run_group_tests(tests, writer_setup, writer_teardown);
}
