/*
 * Grammars in GBNF: accepted texts, masks against single tokens, rollback, sampling.
 * SPDX-License-Identifier: MIT
 */
#include "grammar_fixture.h"
#include "ok.h"

#include <math.h>
#include <string.h>

#define GBNF GGUFX_GRAMMAR_GBNF

static void test_parts_of_rules_fit_what_they_say(void **state) {
    static const char *const rows[][3] = {
        /* grammar, a matching text, a text that does not match */
        {"root ::= \"ab\" [c-e] | \"x\"", "abd", "abf"},
        {"root ::= [^a-c\\n]+", "xyz", "xaz"},
        {"root ::= \"a\"* \"b\"? \"c\"+", "aacc", "ab"},
        {"root ::= \"a\"{2} \"b\"{1,} \"c\"{0,2}", "aabbbcc", "aabccc"},
        {"root ::= (\"a\" | \"b\" \"c\"){2,3}", "abca", "a"},
        {"root ::= . . .", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac"},
        {"root ::= \"\\x41\\u00e9\\U0001F600\\n\\t\\\\\\\"\"", "A\xc3\xa9\xf0\x9f\x98\x80\n\t\\\"",
         "A"},
        {"# a comment\nroot ::= # another\n  item (\",\"\n item)*\n  | \"none\"\nitem ::= [0-9]",
         "1,2,3", "1,"},
        {"root ::= \"(\" root \")\" | \"\"", "((()))", "(()"},
        {"root ::= x\nx ::= \"a\" x | \"b\"", "aaab", "aaa"},
        {"root ::= \"\"", "", "a"},
        {"root ::= (\"a\"?)*", "aaa", "b"},
        {"root ::= (\"a\"? \"b\"?){3}", "abbab", "abababa"},
        {"root ::= \"a\"{1000000000} | \"b\"", "b", "aaa"},
        {"root ::= [\\x80-\\u07ff]", "\xc3\xa9", "a"},
        {"root ::= [\\u0105-\\U0001F600]", "\xe2\x82\xac", "\xc4\x84"},
        {"root ::= [\\]\\[\\-^a-]", "-", "b"},
        {"root ::= a-b_1\na-b_1 ::= \"x\"", "x", ""},
        {"root ::= \"a\" dead | \"b\"\ndead ::= \"c\" dead", "b", "a"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_fits(&v, GBNF, rows[i][0], rows[i][1]);
        assert_misfits(&v, GBNF, rows[i][0], rows[i][2]);
    }
}

/* Characters are checked by their last byte: no surrogates, no overlong forms. */
static void test_any_character_is_valid_utf8(void **state) {
    static const char *const bad[] = {
        "\xc0\x80",         "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xff",         "\x80"};
    static const char *const good[] = {"\x7f",         "\xc2\x80",         "\xdf\xbf",
                                       "\xe0\xa0\x80", "\xed\x9f\xbf",     "\xee\x80\x80",
                                       "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_misfits(&v, GBNF, "root ::= .", bad[i]);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_fits(&v, GBNF, "root ::= .", good[i]);
}

static const char json[] =
    "root ::= value\n"
    "value ::= object | array | string | number | (\"true\" | \"false\" | \"null\") ws\n"
    "object ::= \"{\" ws (string \":\" ws value (\",\" ws string \":\" ws value)*)? \"}\" ws\n"
    "array ::= \"[\" ws (value (\",\" ws value)*)? \"]\" ws\n"
    "string ::= \"\\\"\" ([^\"\\\\\\x7f\\x00-\\x1f] | \"\\\\\" [\"\\\\nrt])* \"\\\"\" ws\n"
    "number ::= \"-\"? [0-9]{1,16} (\".\" [0-9]+)? ws\n"
    "ws ::= | \" \" | \"\\n\" [ \\t]{0,20}\n";
static const char document[] = "{\"ab\": [1, 2.5, -12, true], \"\xc3\xa9\xe2\x82\xac\": {\"a\": "
                               "{\n  \"b\": null}}, \"\": \"x\\n\"}";

static void test_a_mask_has_the_tokens_that_are_accepted(void **state) {
    static const char *const words[] = {
        "root ::= [a-c]+ (\" \" [a-c]+)* \".\"", "root ::= [a-z ]*", "root ::= \"a\"{3,500} \"b\"",
        "root ::= (\"a\" | \"ab\" | \"bc\"){2,9} \"d\"",
        "root ::= x{4,6} \"\xc3\xa9\"\nx ::= \"a\" | \"\xc3\xa9\" | \"aa\""};
    static const char *const texts[] = {"abc ab.", "ab a", "aaaab", "abcabd",
                                        "aaaa\xc3\xa9\xc3\xa9"};
    (void)state;
    ggufx_matcher *m = new_matcher(&v, GBNF, json);
    for (size_t i = 0; i < sizeof document - 1; i++) {
        const char one[2] = {document[i], 0};
        assert_mask(&v, m);
        OK(accept_text(m, one, NULL));
    }
    assert_int_equal(matcher_flags(m), GGUFX_MATCHER_COMPLETE);
    assert_mask(&v, m);
    ggufx_matcher_destroy(m);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        m = new_matcher(&v, GBNF, words[k]);
        for (const char *c = texts[k]; *c; c++) {
            const char one[2] = {*c, 0};
            assert_mask(&v, m);
            OK(accept_text(m, one, NULL));
        }
        assert_mask(&v, m);
        ggufx_matcher_destroy(m);
    }
}

/* Rules that match any run of some characters, nearly any run, or a limited run. */
static void test_masks_of_runs_have_the_tokens_that_are_accepted(void **state) {
    static const char *const rows[][2] = {
        {"root ::= [^\"\\\\\\x00-\\x1f]{3,20} \"x\"?", "ab cd\xc3\xa9"
                                                       "efghijkl"},
        {"root ::= [^\"\\\\\\x7f\\x00-\\x1f]* \"\\\"\"", "ab\xe2\x82\xac"
                                                         "cd\""},
        {"root ::= ([a-z]{0,3} | [A-Z0-9]+)* \".\"", "abcdABab9."},
        {"root ::= (word \" \"?)*\nword ::= [a-zA-Z0-9_]{1,7}", "ab_9 abcdefgh"},
        {"root ::= \"\\\"\" c{5,18} \"\\\"\" \",\"\nc ::= [^\"\\\\\\x7f\\x00-\\x1f] | \"\\\\\" "
         "[nr]",
         "\"abcdefghijklmnopqr\","},
        {"root ::= [a-z]{2,16} | [a-p]{3,17} \"q\"", "abcdefghijklmnopq"},
        {"root ::= [a-z]{2,16} \"-\"* | [a-y]*", "abcdefghijklmnopqr"},
        {"root ::= ([^\\u00e9] | \"\\u00e9\")*", "a\xc3\xa9"
                                                 "b\xc3\xa8"},
        {"root ::= ([^\\u20ac] | \"\\u20acb\")*", "a\xe2\x82\xac"
                                                  "b\xc3\xa8"},
        {"root ::= [^\\x00- \\x7f\"\\\\\\x85\\u00a0\\u1680\\u2000-\\u205f\\u3000\\ufeff]+ \" \"",
         "abcd\xc3\xa9 "},
        {"root ::= [^ \"\\\\]+ \" a\"", "abcd\xc3\xa9 a"},
        {"root ::= x{3} | [b-e]+\nx ::= [a-d] | \"e\" x", "bcddd"},
        {"root ::= ((\"a\"?)* | [a-z] [a-y])* \"z\"", "aaabyabz"},
        {"root ::= x\nx ::= ([a-z] x2)?\nx2 ::= [A-Z]? x?", "abAB"},
        {"root ::= [a-z]{20,} \"-\"", "abcdefghijklmnopqrstuvwxyz-"},
    };
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        ggufx_matcher *m = new_matcher(&v, GBNF, rows[k][0]);
        for (const char *c = rows[k][1]; *c; c++) {
            const char one[2] = {*c, 0};
            assert_mask(&v, m);
            if (accept_text(m, one, NULL) != GGUFX_OK) break;
        }
        ggufx_matcher_destroy(m);
    }
}

/* Reads all output of a matcher: bits and facts. */
static void look(uint32_t out[N_WORDS + 4], ggufx_matcher *m) {
    ggufx_matcher_facts facts = {.struct_size = sizeof facts};
    memset(out, 0, (N_WORDS + 4) * sizeof *out);
    OK(ggufx_matcher_info(&facts, m, ok_error()));
    out[N_WORDS] = facts.flags;
    out[N_WORDS + 1] = (uint32_t)facts.n_tokens;
    if (!(facts.flags & GGUFX_MATCHER_ENDED)) OK(ggufx_matcher_mask(out, N_WORDS, m, ok_error()));
}

static void test_going_back_and_clones_show_the_same(void **state) {
    enum { N = sizeof document - 1 };
    static uint32_t seen[N + 1][N_WORDS + 4];
    uint32_t now[N_WORDS + 4];
    (void)state;
    ggufx_matcher *m = new_matcher(&v, GBNF, json);
    for (size_t i = 0; i <= N; i++) {
        look(seen[i], m);
        const int32_t id = FIRST_BYTE + (uint8_t)document[i];
        if (i < N) OK(ggufx_matcher_accept(m, &id, 1, ok_error()));
    }
    uint64_t length = N;
    for (uint64_t k = 1; k < 400; k++) {
        const uint64_t wanted = scrambled(k) % (N + 1);
        ggufx_matcher *clone = NULL;
        if (wanted <= length) OK(ggufx_matcher_rollback(m, length - wanted, ok_error()));
        for (; length < wanted; length++) {
            const int32_t id = FIRST_BYTE + (uint8_t)document[length];
            OK(ggufx_matcher_accept(m, &id, 1, ok_error()));
        }
        length = wanted;
        OK(ggufx_matcher_clone(&clone, m, ok_error()));
        look(now, m);
        assert_memory_equal(now, seen[wanted], sizeof now);
        look(now, clone);
        assert_memory_equal(now, seen[wanted], sizeof now);
        OK(ggufx_matcher_rollback(clone, wanted, ok_error()));
        look(now, clone);
        assert_memory_equal(now, seen[0], sizeof now);
        ggufx_matcher_destroy(clone);
    }
    ggufx_matcher_destroy(m);
}

static void test_the_end_fits_where_the_text_is_whole(void **state) {
    uint32_t bits[N_WORDS];
    const int32_t end = END_ID, a = FIRST_BYTE + 'a', control = 1;
    ggufx_error error;
    (void)state;
    ggufx_matcher *m = new_matcher(&v, GBNF, "root ::= \"ab\"");
    OK(ggufx_matcher_mask(bits, N_WORDS, m, ok_error()));
    assert_true(has_bit(bits, a) && has_bit(bits, FIRST_WORD + 1) &&
                has_bit(bits, FIRST_WORD + 10));
    assert_false(has_bit(bits, END_ID));
    expect(ggufx_matcher_accept(m, &end, 1, &error), GGUFX_E_VALUE, &error, "not whole");
    expect(ggufx_matcher_accept(m, &control, 1, &error), GGUFX_E_VALUE, &error, "no text");
    OK(accept_text(m, "ab", NULL));
    OK(ggufx_matcher_mask(bits, N_WORDS, m, ok_error()));
    for (int32_t id = 0; id < N_VOCAB; id++) assert_int_equal(has_bit(bits, id), id == END_ID);
    OK(ggufx_matcher_accept(m, &end, 1, ok_error()));
    assert_int_equal(matcher_flags(m), GGUFX_MATCHER_ENDED);
    expect(ggufx_matcher_accept(m, &a, 1, &error), GGUFX_E_VALUE, &error, "end");
    expect(ggufx_matcher_mask(bits, N_WORDS, m, &error), GGUFX_E_STATE, &error, "ended");
    OK(ggufx_matcher_rollback(m, 1, ok_error()));
    assert_int_equal(matcher_flags(m), GGUFX_MATCHER_COMPLETE);
    ggufx_matcher_destroy(m);
}

static void test_calls_that_fail_change_nothing(void **state) {
    const int32_t ids[] = {FIRST_BYTE + 'a', FIRST_BYTE + 'b', FIRST_BYTE + 'x'};
    const int32_t outside[] = {FIRST_BYTE + 'a', N_VOCAB};
    uint32_t before[N_WORDS + 4], after[N_WORDS + 4], bits[N_WORDS];
    ggufx_error error;
    ggufx_grammar *grammar = NULL;
    (void)state;
    ggufx_matcher *m = new_matcher(&v, GBNF, "root ::= \"abc\"*");
    look(before, m);
    expect(ggufx_matcher_accept(m, ids, 3, &error), GGUFX_E_VALUE, &error, "does not fit");
    assert_int_equal(error.index, 2);
    expect(ggufx_matcher_accept(m, outside, 2, &error), GGUFX_E_ARGUMENT, &error, "outside");
    assert_int_equal(error.index, 1);
    expect(ggufx_matcher_rollback(m, 1, &error), GGUFX_E_ARGUMENT, &error, "there are 0");
    expect(ggufx_matcher_mask(bits, N_WORDS - 1, m, &error), GGUFX_E_CAPACITY, &error, "words");
    look(after, m);
    assert_memory_equal(before, after, sizeof after);
    ggufx_matcher_destroy(m);
    expect(ggufx_matcher_accept(NULL, ids, 1, &error), GGUFX_E_ARGUMENT, &error, "must be set");
    expect(create_grammar(&grammar, rt, &v, 9, "", 0, &error), GGUFX_E_ARGUMENT, &error, "kind");
    ggufx_matcher_destroy(NULL);
    ggufx_grammar_destroy(NULL);
}

static void test_faults_have_line_and_column(void **state) {
    static const struct {
        const char *grammar;
        ggufx_status status;
        const char *message;
    } rows[] = {
        {"root ::= \"a\" |\n  \"b", GGUFX_E_MALFORMED, "line 2, column 3: a literal without"},
        {"root ::= \"\xc3\xa9\" [a", GGUFX_E_MALFORMED, "line 1, column 14: a class without"},
        {"root ::= (\"a\"", GGUFX_E_MALFORMED, "column 10: a group without"},
        {"root ::= x\n# y\n  x ::= y", GGUFX_E_MALFORMED, "line 3, column 9: rule 'y' is not"},
        {"x ::= \"a\"", GGUFX_E_MALFORMED, "no rule 'root'"},
        {"", GGUFX_E_MALFORMED, "no rule 'root'"},
        {"root ::= \"a\"\nroot ::= \"b\"", GGUFX_E_MALFORMED, "line 2, column 1: rule 'root' is"},
        {"root = \"a\"", GGUFX_E_MALFORMED, "no '::='"},
        {"root ::= \"a\" )", GGUFX_E_MALFORMED, "column 14: a character"},
        {"root ::= \"\\q\"", GGUFX_E_MALFORMED, "unknown escape"},
        {"root ::= \"\\u12\"", GGUFX_E_MALFORMED, "4 digits"},
        {"root ::= \"\\ud800\"", GGUFX_E_MALFORMED, "U+D800"},
        {"root ::= [z-a]", GGUFX_E_MALFORMED, "before its start"},
        {"root ::= \"a\"{3,2}", GGUFX_E_MALFORMED, "below its minimum"},
        {"root ::= \"a\"{,2}", GGUFX_E_MALFORMED, "without a number"},
        {"root ::= \"a\xff\"", GGUFX_E_MALFORMED, "column 12: a byte"},
        {"root ::= <tok>", GGUFX_E_UNSUPPORTED, "tokens by name"},
        {"root ::= x\nx ::= root \"a\" | \"b\"", GGUFX_E_UNSUPPORTED, "begin with itself"},
        {"root ::= y? root | \"b\"\ny ::= \"a\"", GGUFX_E_UNSUPPORTED, "begin with itself"},
        {"root ::= x\nx ::= \"a\" x", GGUFX_E_VALUE, "no text fits"},
        {"root ::= []", GGUFX_E_VALUE, "no text fits"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_refused(&v, GBNF, rows[i].grammar, rows[i].status, rows[i].message);
}

static void test_sampling_keeps_to_the_grammar(void **state) {
    float logits[N_VOCAB], logprob = 1;
    ggufx_sampler *sampler = NULL;
    ggufx_error error;
    int32_t id = -1;
    (void)state;
    for (int i = 0; i < N_VOCAB; i++) logits[i] = (float)(scrambled((uint64_t)i) % 64) / 16;
    logits[END_ID] = 8;
    for (uint64_t seed = 0; seed < 50; seed++) {
        ggufx_matcher *m = new_matcher(&v, GBNF, "root ::= \"ab\" [0-9]{2} (\"c\" | \"}\")");
        OK(ggufx_sampler_create(&sampler, rt, N_VOCAB, seed, ok_error()));
        OK(ggufx_sampler_add_top_k(sampler, 3, ok_error()));
        char text[64];
        size_t n = 0;
        for (int k = 0; k < 8; k++) {
            OK(ggufx_sampler_sample(&id, &logprob, sampler, m, logits, N_VOCAB, ok_error()));
            assert_true(logprob < 0);
            if (id == END_ID) break;
            n += token_bytes(&v, id, text + n);
        }
        text[n] = 0;
        assert_int_equal(id, END_ID);
        assert_int_equal(n, 5);
        assert_memory_equal(text, "ab", 2);
        assert_int_equal(matcher_flags(m), GGUFX_MATCHER_ENDED);
        expect(ggufx_sampler_sample(&id, NULL, sampler, m, logits, N_VOCAB, &error), GGUFX_E_STATE,
               &error, "ended");
        ggufx_matcher_destroy(m);
        ggufx_sampler_destroy(sampler);
    }
}

static void test_sampling_without_a_token_that_fits_fails(void **state) {
    float logits[N_VOCAB] = {0};
    ggufx_sampler *sampler = NULL;
    ggufx_error error;
    int32_t id = -7;
    (void)state;
    ggufx_matcher *m = new_matcher(&v, GBNF, "root ::= \"a\"");
    OK(ggufx_sampler_create(&sampler, rt, N_VOCAB, 0, ok_error()));
    logits[FIRST_BYTE + 'a'] = -INFINITY;
    expect(ggufx_sampler_sample(&id, NULL, sampler, m, logits, N_VOCAB, &error), GGUFX_E_VALUE,
           &error, "fits the grammar");
    /* The only token that fits is beyond the logits. */
    expect(ggufx_sampler_sample(&id, NULL, sampler, m, logits, 10, &error), GGUFX_E_VALUE, &error,
           "fits the grammar");
    assert_int_equal(id, -7);
    logits[FIRST_BYTE + 'a'] = -40;
    OK(ggufx_sampler_sample(&id, NULL, sampler, m, logits, N_VOCAB, ok_error()));
    assert_int_equal(id, FIRST_BYTE + 'a');
    ggufx_matcher_destroy(m);
    ggufx_sampler_destroy(sampler);
}

static ggufx_status use_grammar(void *context, ggufx_runtime *own, ggufx_error *error) {
    ggufx_grammar *grammar = NULL;
    ggufx_matcher *m = NULL, *clone = NULL;
    uint32_t bits[N_WORDS];
    const int32_t ids[] = {FIRST_BYTE + '{', FIRST_BYTE + '"', FIRST_WORD, FIRST_WORD + 3};
    ggufx_status status = create_grammar(&grammar, own, &v, GBNF, json, sizeof json - 1, error);
    (void)context;
    if (status == GGUFX_OK) status = ggufx_matcher_create(&m, grammar, error);
    for (size_t i = 0; status == GGUFX_OK && i < 4; i++) {
        status = ggufx_matcher_mask(bits, N_WORDS, m, error);
        if (status == GGUFX_OK) status = ggufx_matcher_accept(m, ids + i, 1, error);
    }
    if (status == GGUFX_OK) status = ggufx_matcher_clone(&clone, m, error);
    if (status == GGUFX_OK) status = ggufx_matcher_mask(bits, N_WORDS, clone, error);
    ggufx_matcher_destroy(clone);
    ggufx_matcher_destroy(m);
    ggufx_grammar_destroy(grammar);
    return status;
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    assert_true(fault_run(use_grammar, NULL) > 50);
}

/* A call that runs out of memory changes nothing: the masks stay the same. */
static void test_a_matcher_is_as_before_a_call_without_memory(void **state) {
    static const char text[] = "{\"ab\":[1,{\"c\":[[\"x\",2],null]}],\"d\":-1.5}";
    enum { STEPS = sizeof text - 1 };
    static uint32_t want[STEPS + 1][N_WORDS];
    uint32_t bits[N_WORDS];
    ggufx_grammar *grammar = NULL;
    ggufx_matcher *m = NULL;
    fault memory;
    long n_failed = 0;
    (void)state;
    fault_init(&memory);
    ggufx_runtime *const own = fault_runtime(&memory, 1);
    OK(create_grammar(&grammar, own, &v, GBNF, json, sizeof json - 1, NULL));
    OK(ggufx_matcher_create(&m, grammar, ok_error()));
    for (int i = 0; i <= STEPS; i++) {
        const int32_t id = FIRST_BYTE + (uint8_t)text[i];
        OK(ggufx_matcher_mask(want[i], N_WORDS, m, ok_error()));
        if (i < STEPS) OK(ggufx_matcher_accept(m, &id, 1, ok_error()));
    }
    ggufx_matcher_destroy(m);
    for (int at = 0; at < STEPS; at++) {
        ggufx_status status = GGUFX_E_MEMORY;
        for (long k = 1; status == GGUFX_E_MEMORY; k++) {
            const int32_t id = FIRST_BYTE + (uint8_t)text[at];
            OK(ggufx_matcher_create(&m, grammar, ok_error()));
            for (int i = 0; i < at; i++)
                OK(ggufx_matcher_accept(m, &(int32_t){FIRST_BYTE + (uint8_t)text[i]}, 1,
                                        ok_error()));
            fault_reset(&memory);
            memory.fail_at = k;
            status = ggufx_matcher_accept(m, &id, 1, NULL);
            const int accepted = status == GGUFX_OK;
            if (accepted) status = ggufx_matcher_mask(bits, N_WORDS, m, NULL);
            memory.fail_at = 0;
            n_failed += status == GGUFX_E_MEMORY;
            OK(ggufx_matcher_mask(bits, N_WORDS, m, ok_error()));
            assert_memory_equal(bits, want[at + accepted], sizeof bits);
            if (!accepted) OK(ggufx_matcher_accept(m, &id, 1, ok_error()));
            OK(ggufx_matcher_mask(bits, N_WORDS, m, ok_error()));
            assert_memory_equal(bits, want[at + 1], sizeof bits);
            ggufx_matcher_destroy(m);
        }
        assert_int_equal(status, GGUFX_OK);
    }
    assert_true(n_failed > 50);
    ggufx_grammar_destroy(grammar);
    ggufx_runtime_destroy(own);
    assert_int_equal(memory.live, 0);
}

/* An accept that ran out of memory must not affect later masks: "ab" does not match, though "b" is
 * one of the continuations of "p". */
static void test_a_step_without_memory_leaves_nothing_to_the_next_mask(void **state) {
    static const char text[] =
        "root ::= \"(\" inner \")\"\ninner ::= \"a\" | \"p\" many\nmany ::= b | c | d | e | f | g\n"
        "b ::= \"b\" many? \"1\"\nc ::= \"c\" many? \"2\"\nd ::= \"d\" many? \"3\"\n"
        "e ::= \"e\" many? \"4\"\nf ::= \"f\" many? \"5\"\ng ::= \"g\" many? \"6\"\n";
    static uint32_t want[N_WORDS], bits[N_WORDS];
    ggufx_grammar *grammar = NULL;
    ggufx_matcher *m = NULL;
    ggufx_status status = GGUFX_E_MEMORY;
    fault memory;
    long n_failed = 0;
    (void)state;
    fault_init(&memory);
    ggufx_runtime *const own = fault_runtime(&memory, 1);
    OK(create_grammar(&grammar, own, &v, GBNF, text, sizeof text - 1, NULL));
    for (long k = 0; status == GGUFX_E_MEMORY; k++) {
        OK(ggufx_matcher_create(&m, grammar, ok_error()));
        OK(ggufx_matcher_accept(m, &(int32_t){FIRST_BYTE + '('}, 1, ok_error()));
        if (k == 0) { /* the mask is cached in the grammar from now on */
            OK(ggufx_matcher_mask(want, N_WORDS, m, ok_error()));
        } else {
            fault_reset(&memory);
            memory.fail_at = k;
            status = ggufx_matcher_accept(m, &(int32_t){FIRST_BYTE + 'p'}, 1, NULL);
            memory.fail_at = 0;
        }
        if (status == GGUFX_E_MEMORY) {
            n_failed++;
            OK(ggufx_matcher_mask(bits, N_WORDS, m, ok_error()));
            assert_memory_equal(bits, want, sizeof bits);
        }
        ggufx_matcher_destroy(m);
    }
    assert_int_equal(status, GGUFX_OK);
    assert_true(n_failed > 2);
    ggufx_grammar_destroy(grammar);
    ggufx_runtime_destroy(own);
    assert_int_equal(memory.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_of_rules_fit_what_they_say),
        cmocka_unit_test(test_any_character_is_valid_utf8),
        cmocka_unit_test(test_a_mask_has_the_tokens_that_are_accepted),
        cmocka_unit_test(test_masks_of_runs_have_the_tokens_that_are_accepted),
        cmocka_unit_test(test_going_back_and_clones_show_the_same),
        cmocka_unit_test(test_the_end_fits_where_the_text_is_whole),
        cmocka_unit_test(test_calls_that_fail_change_nothing),
        cmocka_unit_test(test_faults_have_line_and_column),
        cmocka_unit_test(test_sampling_keeps_to_the_grammar),
        cmocka_unit_test(test_sampling_without_a_token_that_fits_fails),
        cmocka_unit_test(test_every_allocation_may_fail),
        cmocka_unit_test(test_a_matcher_is_as_before_a_call_without_memory),
        cmocka_unit_test(test_a_step_without_memory_leaves_nothing_to_the_next_mask),
    };
    return cmocka_run_group_tests(tests, grammar_setup, grammar_teardown);
}
