/*
 * Grammars that try to hang or to exhaust memory: each is refused or matched soon, on a small
 * stack. Memory is bounded by the text.
 * SPDX-License-Identifier: MIT
 */
#include "grammar_fixture.h"
#include "ok.h"
#include "slow.h"
#include "test_step.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static vocab v;

typedef struct job {
    const char *text;
    uint32_t kind;
    size_t n_tokens; /* accepted letters "a" */
    ggufx_status status;
    ggufx_error error;
} job;

/* Compiles, then computes up to 2,000 masks and accepts letters "a". */
static void *run_job(void *p) {
    job *j = p;
    ggufx_grammar *grammar = NULL;
    ggufx_matcher *m = NULL;
    uint32_t bits[N_WORDS];
    const int32_t a = FIRST_BYTE + 'a';
    j->status = create_grammar(&grammar, rt, &v, j->kind, j->text, strlen(j->text), &j->error);
    if (j->status == GGUFX_OK) j->status = ggufx_matcher_create(&m, grammar, &j->error);
    while (j->status == GGUFX_OK && j->n_tokens < 2000) {
        j->status = ggufx_matcher_mask(bits, N_WORDS, m, &j->error);
        if (j->status == GGUFX_OK) j->status = ggufx_matcher_accept(m, &a, 1, &j->error);
        if (j->status == GGUFX_OK) j->n_tokens++;
    }
    ggufx_matcher_destroy(m);
    ggufx_grammar_destroy(grammar);
    return NULL;
}

/* want: GGUFX_E_INTERNAL accepts any status. */
static void assert_kind_ends(uint32_t kind, const char *text, ggufx_status want) {
    job j = {.text = text, .kind = kind};
    pthread_attr_t attributes;
    pthread_t thread;
    const clock_t start = clock();
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, SLOW ? 4 << 20 : 128 << 10), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run_job, &j), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (want != GGUFX_E_INTERNAL ? j.status != want : j.status == GGUFX_E_INTERNAL)
        fail_msg("%.70s: %s %s", text, ggufx_status_name(j.status), j.error.message);
    if (j.status != GGUFX_OK) assert_true(j.error.message[0]);
    if (!SLOW && seconds > 5) fail_msg("%.70s: %.1f s", text, seconds);
}

static void assert_ends(const char *text, ggufx_status want) {
    assert_kind_ends(GGUFX_GRAMMAR_GBNF, text, want);
}

static void test_ambiguous_grammars_end(void **state) {
    static const struct {
        const char *text;
        ggufx_status status;
    } rows[] = {
        {"root ::= s\ns ::= \"a\" s x | \"a\" s y | \"a\"\nx ::= \"b\"\ny ::= \"b\"",
         GGUFX_E_LIMIT},
        {"root ::= s\ns ::= \"a\" s s | \"a\"", GGUFX_OK},
        {"root ::= (\"a\" | \"aa\" | \"aaa\"){0,1000000000}", GGUFX_OK},
        {"root ::= ((\"a\"{1,1000000000}){1,1000000000}){1,1000000000}", GGUFX_E_LIMIT},
        {"root ::= ((\"a\"?){1,1000000000}){1,1000000000}", GGUFX_E_LIMIT},
        {"root ::= (\"\" | \"\"){0,4000000000} \"b\"", GGUFX_E_LIMIT},
        {"root ::= ((\"\"*)*)* \"a\"*", GGUFX_OK},
        {"root ::= ((\"a\"?)*)* \"b\"?", GGUFX_OK},
        {"root ::= \"a\"{1,4294967294}", GGUFX_OK},
        {"root ::= \"a\"{1,4294967295}", GGUFX_E_LIMIT},
        {"root ::= x\nx ::= \"a\" x? y?\ny ::= \"b\"", GGUFX_OK},
        {"root ::= (\"a\"{0,9}{0,9}{0,9}{0,9}{0,9}{0,9}{0,9}{0,9}{0,9})", GGUFX_E_LIMIT},
        {"root ::= (((((\"a\"*)*)*)*)*)* | (\"a\"+)+", GGUFX_OK},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_ends(rows[i].text, rows[i].status);
}

/* Calls within the limit of one call also stay within the limit of a whole text. */
static void test_a_text_of_costly_calls_ends(void **state) {
    char text[1024], *at = text + sprintf(text, "root ::= r0\n");
    ggufx_error error;
    size_t n = 0;
    const int32_t a = FIRST_BYTE + 'a';
    (void)state;
    for (int i = 0; i < 14; i++)
        at += sprintf(at, "r%d ::= r%d \"p\" | r%d \"q\"\n", i, i + 1, i + 1);
    sprintf(at, "r14 ::= [a-z]{1,100000}\n");
    ggufx_matcher *m = new_matcher(&v, 0, text), *other = NULL;
    while (ggufx_matcher_accept(m, &a, 1, &error) == GGUFX_OK) assert_true(++n < 10000);
    assert_true(n > 20);
    assert_int_equal(error.status, GGUFX_E_LIMIT);
    assert_non_null(strstr(error.message, "for each call of a text"));
    OK(ggufx_matcher_clone(&other, m, ok_error())); /* the clone has no new budget */
    assert_int_equal(ggufx_matcher_accept(other, &a, 1, &error), GGUFX_E_LIMIT);
    ggufx_matcher_destroy(other);
    ggufx_matcher_destroy(m);
}

/* Returns n times `open`, then `middle`, then n times `close`. */
static char *nested(size_t n, const char *open, const char *middle, const char *close) {
    const size_t size = strlen(open) * n + strlen(middle) + strlen(close) * n + 16;
    char *out = malloc(size), *at = out + sprintf(out, "root ::= ");
    for (size_t i = 0; i < n; i++) at += sprintf(at, "%s", open);
    at += sprintf(at, "%s", middle);
    for (size_t i = 0; i < n; i++) at += sprintf(at, "%s", close);
    return out;
}

static void test_nesting_ends(void **state) {
    (void)state;
    char *text = nested(100000, "(", "\"a\"", ")");
    assert_ends(text, GGUFX_E_LIMIT);
    free(text);
    text = nested(60, "(", "\"a\"", ")*");
    assert_ends(text, GGUFX_OK);
    free(text);
    text = nested(100000, "(", "\"a\"", "");
    assert_ends(text, GGUFX_E_LIMIT);
    free(text);
    text = nested(100000, "\"a\" | ", "\"a\"", "");
    assert_ends(text, GGUFX_E_VALUE); /* nothing follows one letter */
    free(text);
}

/* A text of a million tokens takes memory for each token, not for the search on the way. */
static void test_memory_stays_within_what_the_text_needs(void **state) {
    fault f;
    ggufx_grammar *grammar = NULL;
    ggufx_matcher *m = NULL;
    ggufx_error error;
    static const char text[] = "root ::= (\"a\" [b-y]{0,30000} \"z\")*";
    uint32_t bits[N_WORDS];
    const int n = SLOW ? 2000 : 100000;
    (void)state;
    fault_init(&f);
    ggufx_runtime *own = fault_runtime(&f, 1);
    OK(create_grammar(&grammar, own, &v, 0, text, sizeof text - 1, &error));
    OK(ggufx_matcher_create(&m, grammar, ok_error()));
    fault_reset(&f);
    for (int i = 0; i < n; i++) {
        const int32_t id = FIRST_BYTE + (i % 25000 == 0 ? 'a' : i % 25000 == 24999 ? 'z' : 'c');
        OK(ggufx_matcher_accept(m, &id, 1, ok_error()));
        if (i % 16 == 0) OK(ggufx_matcher_mask(bits, N_WORDS, m, ok_error()));
        if (i % 100 == 99) OK(ggufx_matcher_rollback(m, 0, ok_error()));
    }
    assert_true(f.peak_bytes < (long long)n * 400 + (96 << 20));
    ggufx_matcher_destroy(m);
    ggufx_grammar_destroy(grammar);
    ggufx_runtime_destroy(own);
    assert_int_equal(f.live, 0);
}

static int setup(void **state) {
    if (writer_setup(state) != 0) return -1;
    v = grammar_vocab();
    return 0;
}

static int teardown(void **state) {
    close_vocab(&v);
    return writer_teardown(state);
}

/* Returns `head`, then n times `item` with its number in place of %d, then `tail`. */
static char *repeated(const char *head, size_t n, const char *item, const char *tail) {
    char *out = malloc(strlen(head) + strlen(tail) + n * (strlen(item) + 24) + 1);
    char *at = out + sprintf(out, "%s", head);
    for (size_t i = 0; i < n; i++) {
        const char *number = strstr(item, "%d");
        if (i > 0) *at++ = ',';
        if (number)
            at += sprintf(at, "%.*s%zu%s", (int)(number - item), item, i, number + 2);
        else
            at += sprintf(at, "%s", item);
    }
    sprintf(at, "%s", tail);
    return out;
}

static void test_schemas_made_to_explode_end(void **state) {
    static const struct {
        const char *head, *item, *tail;
        size_t n;
    } rows[] = {
        {"{\"allOf\":[", "{\"anyOf\":[{\"minLength\":%d},{\"maxLength\":9},{\"type\":\"null\"}]}",
         "]}", 40},
        {"{\"oneOf\":[", "{\"properties\":{\"a\":{},\"b%d\":{\"type\":\"null\"}}}", "]}", 60},
        {"{\"not\":{\"oneOf\":[", "{\"minimum\":%d}", "]}}", 90},
        {"{\"allOf\":[", "{\"if\":{\"required\":[\"k%d\"]},\"then\":{\"minProperties\":1}}", "]}",
         40},
        {"{\"dependentRequired\":{", "\"k%d\":[\"z\"]", "}}", 40},
        {"{\"type\":\"object\",\"patternProperties\":{", "\"a.*%d\":{}", "}}", 20},
        {"{\"allOf\":[", "{\"contains\":{\"minimum\":%d}}", "]}", 20},
        {"{\"type\":\"array\",\"maxItems\":1000000,\"contains\":{\"enum\":[", "%d", "]}}", 3},
        {"{\"type\":\"object\",\"allOf\":[", "{\"not\":{\"additionalProperties\":{\"const\":%d}}}",
         "]}", 12},
        {"{\"allOf\":[", "{\"multipleOf\":99%d7}", "]}", 9},
        {"{\"type\":\"number\",\"allOf\":[", "{\"not\":{\"const\":1.23%d}}", "]}", 300},
        {"{\"type\":\"string\",\"allOf\":[", "{\"pattern\":\"x.{%d}y\"}", "]}", 30},
        {"{\"type\":\"string\",\"allOf\":[", "{\"pattern\":\"(?=.*a.{1%d}b)\"}", "]}", 30},
        {"{\"type\":\"string\",\"minLength\":3,\"pattern\":\"^(a|aa|aaa){1,400}$\",\"not\":{"
         "\"enum\":[",
         "\"%d\"", "]}}", 9},
        {"{\"type\":\"string\",\"maxLength\":99999,\"allOf\":[", "{\"pattern\":\"a%d\"}", "]}", 2},
        {"{\"enum\":[", "{\"a\":[%d]}", "]}", 5000},
        {"{\"anyOf\":[", "{\"const\":{\"a\":[%d]}}", "],\"unevaluatedProperties\":false}", 30},
        {"{\"properties\":{", "\"p%d\":{\"$ref\":\"#\",\"not\":{\"$ref\":\"#/properties/p1\"}}",
         "}}", 30},
        {"{\"type\":\"object\",\"minProperties\":200,\"properties\":{", "\"p%d\":{}",
         "},\"additionalProperties\":false}", 400},
        {"{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"enum\":[", "%d", "]}}", 5000},
        {"{\"not\":{\"anyOf\":[", "{\"a\":%d}", "]}}", 400000},
        {"{\"type\":\"string\",\"dependentRequired\":{", "\"k%d\":[]", "}}", 100000},
        {"{\"type\":\"object\",\"patternProperties\":{", "\"^[0-9%d]\":{}", "}}", 60000},
        {"{\"type\":\"object\",\"anyOf\":[{\"a\":1},{\"b\":1}],\"allOf\":[",
         "{\"required\":[\"k%d\"]}", "]}", 20000},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i += test_step_sanitized()) {
        char *text = repeated(rows[i].head, rows[i].n, rows[i].item, rows[i].tail);
        assert_kind_ends(GGUFX_GRAMMAR_JSON_SCHEMA, text, GGUFX_E_INTERNAL);
        free(text);
    }
}

/* Cost of a list for each entry of another list. */
static void test_schemas_of_two_long_lists_end(void **state) {
    static const struct {
        const char *head, *item, *middle, *other, *tail;
        size_t n, n_others;
    } rows[] = {
        {"{\"enum\":[", "%d", "],\"not\":{\"enum\":[", "1%d", "]}}", 2000, 3000},
        {"{\"enum\":[", "\"k%d\"", "],\"allOf\":[", "{\"pattern\":\"k%d|.\"}", "]}", 40000, 8000},
        {"{\"enum\":[", "%d", "],\"allOf\":[", "{\"multipleOf\":9%d1}", "]}", 400, 90},
        {"{\"type\":\"object\",\"properties\":{", "\"k%d\":{}", "},\"patternProperties\":{",
         "\"^[a-z%d]\":{}", "}}", 10000, 10000},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *head = repeated(rows[i].head, rows[i].n, rows[i].item, rows[i].middle);
        char *text = repeated(head, rows[i].n_others, rows[i].other, rows[i].tail);
        assert_kind_ends(GGUFX_GRAMMAR_JSON_SCHEMA, text, GGUFX_E_INTERNAL);
        free(text);
        free(head);
    }
}

/* Too many branches are not compared, and too many paths are not copied. */
static void test_memory_of_schemas_stays_within_bounds(void **state) {
    static const struct {
        const char *head, *item, *tail;
        size_t n;
    } rows[] = {
        {"{\"oneOf\":[", "{\"a\":%d}", "]}", 20000},
        {"{\"not\":{\"oneOf\":[", "{\"minimum\":%d}", "]}}", 1400},
        {"{\"type\":\"string\",\"pattern\":\"[", "\\\\p{L}", "]\"}", 60000},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fault f;
        ggufx_grammar *grammar = NULL;
        ggufx_error error;
        char *text = repeated(rows[i].head, rows[i].n, rows[i].item, rows[i].tail);
        fault_init(&f);
        ggufx_runtime *own = fault_runtime(&f, 1);
        assert_int_equal(create_grammar(&grammar, own, &v, GGUFX_GRAMMAR_JSON_SCHEMA, text,
                                        strlen(text), &error),
                         GGUFX_E_LIMIT);
        assert_true(f.peak_bytes < 400 << 20);
        ggufx_runtime_destroy(own);
        assert_int_equal(f.live, 0);
        free(text);
    }
}

static void test_schemas_within_schemas_end(void **state) {
    static const char *const steps[] = {
        "{\"not\":",           "{\"items\":", "{\"contains\":", "{\"additionalProperties\":",
        "{\"propertyNames\":", "{\"if\":"};
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        char *text = nested(90, steps[i], "{\"const\":[\"a\"]}", "}");
        assert_kind_ends(GGUFX_GRAMMAR_JSON_SCHEMA, text + strlen("root ::= "), GGUFX_E_INTERNAL);
        free(text);
    }
    char *text = nested(30, "{\"oneOf\":[{\"type\":\"null\"},{\"minimum\":3},", "true", "]}");
    assert_kind_ends(GGUFX_GRAMMAR_JSON_SCHEMA, text + strlen("root ::= "), GGUFX_E_INTERNAL);
    free(text);
    text = nested(36, "(?:a|", "b", ")*");
    char *const schema = malloc(strlen(text) + 99);
    sprintf(schema, "{\"type\":\"string\",\"minLength\":1,\"pattern\":\"%s\"}",
            text + strlen("root ::= "));
    assert_kind_ends(GGUFX_GRAMMAR_JSON_SCHEMA, schema, GGUFX_E_INTERNAL);
    free(schema);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schemas_made_to_explode_end),
        cmocka_unit_test(test_schemas_of_two_long_lists_end),
        cmocka_unit_test(test_memory_of_schemas_stays_within_bounds),
        cmocka_unit_test(test_schemas_within_schemas_end),
        cmocka_unit_test(test_ambiguous_grammars_end),
        cmocka_unit_test(test_a_text_of_costly_calls_ends),
        cmocka_unit_test(test_nesting_ends),
        cmocka_unit_test(test_memory_stays_within_what_the_text_needs),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
