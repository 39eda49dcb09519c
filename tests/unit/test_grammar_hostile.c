/*
 * Grammars that try to hang or to exhaust memory: each is refused or matched soon, on a small
 * stack. Memory is bounded by the text.
 * SPDX-License-Identifier: MIT
 */
#include "../text_of.h"
#include "grammar_fixture.h"
#include "ok.h"
#include "slow.h"
#include "test_step.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, SLOW ? 4 << 20 : 128 << 10), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run_job, &j), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    if (want != GGUFX_E_INTERNAL ? j.status != want : j.status == GGUFX_E_INTERNAL)
        fail_msg("%.70s: %s %s", text, ggufx_status_name(j.status), j.error.message);
    if (j.status != GGUFX_OK) assert_true(j.error.message[0]);
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

/* The status of a schema that may take these steps and bytes of memory, 0 for the defaults. */
static ggufx_status create_within(const char *text, uint64_t max_steps, uint64_t max_memory,
                                  const ggufx_progress *progress, ggufx_error *error) {
    ggufx_grammar_options options = {.struct_size = sizeof options};
    ggufx_grammar *grammar = NULL;
    options.kind = text[0] == '{' ? GGUFX_GRAMMAR_JSON_SCHEMA : GGUFX_GRAMMAR_GBNF;
    options.text = text_of(text);
    options.max_steps = max_steps;
    options.max_memory = max_memory;
    options.progress = progress;
    const ggufx_status status = ggufx_grammar_create(&grammar, rt, v.tokenizer, &options, error);
    assert_int_equal(grammar != NULL, status == GGUFX_OK);
    ggufx_grammar_destroy(grammar);
    return status;
}

static int32_t note_steps(void *user, uint64_t done, uint64_t total) {
    (void)total;
    *(uint64_t *)user = done;
    return 0;
}

/* Returns the steps of a compilation, to a few thousand. */
static uint64_t steps_of(const char *text) {
    ggufx_error error = {0};
    uint64_t steps = 0;
    const ggufx_progress progress = {note_steps, &steps};
    if (create_within(text, 0, 0, &progress, &error) != GGUFX_OK)
        fail_msg("%.70s: %s", text, error.message);
    return steps;
}

/* Returns head, n items that are separated by commas, and tail. %zu in an item is its number. */
static char *listed(size_t n, const char *head, const char *item, const char *tail) {
    char *out = malloc(strlen(head) + n * (strlen(item) + 32) + strlen(tail) + 1);
    char *at = out + sprintf(out, "%s", head);
    for (size_t i = 0; i < n; i++) {
        if (i > 0) *at++ = ',';
        for (const char *c = item; *c; c++) {
            if (strncmp(c, "%zu", 3) == 0)
                at += sprintf(at, "%zu", i), c += 2;
            else
                *at++ = *c;
        }
    }
    sprintf(at, "%s", tail);
    return out;
}

static void test_work_of_lists_is_linear(void **state) {
    static const struct {
        size_t n;
        const char *head, *item, *tail;
    } rows[] = {
        {4000, "{\"const\":[", "%zu", "]}"},
        {1000, "{\"const\":[", "[%zu,[%zu]]", "]}"},
        {1000, "{\"const\":{", "\"k%zu\":%zu", "}}"},
        {4000, "{\"prefixItems\":[", "{\"maxLength\":%zu}", "]}"},
        {2000, "{\"items\":{\"type\":\"null\"},\"minItems\":5,\"prefixItems\":[", "{\"const\":%zu}",
         "]}"},
        {2000, "{\"unevaluatedItems\":false,\"prefixItems\":[", "{\"const\":%zu}", "]}"},
        {1000, "{\"contains\":{\"type\":\"null\"},\"prefixItems\":[", "{\"const\":%zu}", "]}"},
        {800, "{\"enum\":[", "[%zu]", "]}"},
        {4000, "{\"enum\":[", "\"%zu\"", "]}"},
        {2000, "{\"type\":\"null\",\"not\":{\"const\":[", "%zu", "]}}"},
        {500, "{\"properties\":{", "\"k%zu\":{\"type\":\"string\"}", "}}"},
        {500, "{\"required\":[", "\"k%zu\"", "]}"},
        {500, "{\"anyOf\":[", "{\"const\":%zu}", "]}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t steps[2];
        for (size_t k = 0; k < 2; k++) {
            char *text = listed(rows[i].n * (k ? 4 : 1), rows[i].head, rows[i].item, rows[i].tail);
            steps[k] = steps_of(text);
            free(text);
        }
        if (steps[1] > 5 * (steps[0] + 4096))
            fail_msg("%s%s: %llu steps, %llu at 4 times the size", rows[i].head, rows[i].item,
                     (unsigned long long)steps[0], (unsigned long long)steps[1]);
    }
}

/* Short schemas whose alternatives multiply. */
static void test_small_schemas_that_explode_end(void **state) {
    static const struct {
        const char *head, *item, *tail, *keyword;
        size_t n;
    } rows[] = {
        {"{\"type\":\"object\",\"allOf\":[",
         "{\"anyOf\":[{\"required\":[\"a%zu\"]},{\"required\":[\"b%zu\"]}]}", "]}", "'anyOf'", 12},
        {"{\"type\":\"object\",\"allOf\":[",
         "{\"oneOf\":[{\"required\":[\"a%zu\"]},{\"required\":[\"b%zu\"]}]}", "]}", "'oneOf'", 12},
        {"{\"type\":\"object\",\"dependentRequired\":{", "\"a%zu\":[\"b%zu\"]", "}}",
         "'dependentRequired'", 12},
        {"{\"type\":\"object\",\"allOf\":[",
         "{\"if\":{\"required\":[\"a%zu\"]},\"then\":{\"required\":[\"b%zu\"]}}", "]}", "'if'", 12},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = listed(rows[i].n, rows[i].head, rows[i].item, rows[i].tail);
        ggufx_error error = {0};
        const ggufx_status status = create_within(text, 0, 0, NULL, &error);
        if (status != GGUFX_E_LIMIT || !strstr(error.message, rows[i].keyword))
            fail_msg("%s: %s %s", text, ggufx_status_name(status), error.message);
        assert_non_null(strstr(error.message, "max_"));
        free(text);
    }
}

/* Each limit ends the compilation of either notation; its message names the option. */
static void test_limits_of_steps_and_memory(void **state) {
    char *const rules = listed(300, "root ::= \"x\" # ", "%zu", "\n");
    char *const schema = listed(300, "{\"enum\":[", "\"%zu\"", "]}");
    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *const text = i ? rules : schema;
        ggufx_error error = {0};
        assert_int_equal(create_within(text, 0, 0, NULL, &error), GGUFX_OK);
        assert_int_equal(create_within(text, UINT64_MAX, UINT64_MAX, NULL, &error), GGUFX_OK);
        assert_int_equal(create_within(text, 1, 0, NULL, &error), GGUFX_E_LIMIT);
        assert_non_null(strstr(error.message, "1 steps to compile (use max_steps)"));
        assert_int_equal(create_within(text, 0, 1, NULL, &error), GGUFX_E_LIMIT);
        assert_non_null(strstr(error.message, "1 bytes to compile (use max_memory)"));
    }
    free(rules);
    free(schema);
}

typedef struct poll {
    uint64_t n, cancel_at;
} poll;

static int32_t count_poll(void *user, uint64_t done, uint64_t total) {
    poll *p = user;
    (void)done, (void)total;
    return ++p->n == p->cancel_at;
}

static void test_a_progress_hook_ends_a_compilation(void **state) {
    char *const texts[] = {
        listed(3000, "{\"const\":[", "%zu", "]}"),
        listed(11, "{\"type\":\"object\",\"allOf\":[",
               "{\"anyOf\":[{\"required\":[\"a%zu\"]},{\"required\":[\"b%zu\"]}]}", "]}"),
        listed(60, "{\"type\":\"array\",\"prefixItems\":[", "{\"multipleOf\":1%zu}", "]}"),
        listed(60, "{\"type\":\"array\",\"prefixItems\":[",
               "{\"type\":\"string\",\"pattern\":\"(a|b)*a(a|b){1%zu}\",\"format\":\"uri\"}", "]}"),
        listed(20000, "root ::= \"x\"* ", "", "\n"),
    };
    (void)state;
    for (char *c = texts[4]; *c; c++)
        if (*c == ',') *c = '.'; /* any character */
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        poll all = {0};
        ggufx_error error = {0};
        ggufx_progress progress = {count_poll, &all};
        (void)create_within(texts[i], 0, 0, &progress, &error);
        if (all.n < 8) fail_msg("%.60s: %llu polls", texts[i], (unsigned long long)all.n);
        for (uint64_t at = 1; at <= all.n; at += 1 + all.n / 16) {
            poll some = {0, at};
            progress.user = &some;
            assert_int_equal(create_within(texts[i], 0, 0, &progress, &error), GGUFX_E_CANCELLED);
            assert_non_null(strstr(error.message, "cancelled"));
            assert_int_equal(some.n, at);
        }
        free(texts[i]);
    }
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
        cmocka_unit_test(test_work_of_lists_is_linear),
        cmocka_unit_test(test_small_schemas_that_explode_end),
        cmocka_unit_test(test_limits_of_steps_and_memory),
        cmocka_unit_test(test_a_progress_hook_ends_a_compilation),
        cmocka_unit_test(test_schemas_made_to_explode_end),
        cmocka_unit_test(test_schemas_of_two_long_lists_end),
        cmocka_unit_test(test_memory_of_schemas_stays_within_bounds),
        cmocka_unit_test(test_schemas_within_schemas_end),
        cmocka_unit_test(test_ambiguous_grammars_end),
        cmocka_unit_test(test_a_text_of_costly_calls_ends),
        cmocka_unit_test(test_nesting_ends),
        cmocka_unit_test(test_memory_stays_within_what_the_text_needs),
    };
    return cmocka_run_group_tests(tests, grammar_setup, grammar_teardown);
}
