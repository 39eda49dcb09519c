/*
 * JSON schemas as grammars: what fits, what does not, what is refused and where.
 * SPDX-License-Identifier: MIT
 */
#include "grammar_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA GGUFX_GRAMMAR_JSON_SCHEMA

static vocab v;

static int setup(void **state) {
    if (writer_setup(state) != 0) return -1;
    v = grammar_vocab();
    return 0;
}

static int teardown(void **state) {
    close_vocab(&v);
    return writer_teardown(state);
}

typedef struct row {
    const char *schema, *fits[4], *misfits[5];
} row;

static void check_rows(const row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < 4 && rows[i].fits[k]; k++)
            assert_fits(&v, SCHEMA, rows[i].schema, rows[i].fits[k]);
        for (size_t k = 0; k < 5 && rows[i].misfits[k]; k++)
            assert_misfits(&v, SCHEMA, rows[i].schema, rows[i].misfits[k]);
    }
}

static void test_scalars(void **state) {
    static const row rows[] = {
        {"true",
         {"null", "[1,{\"a\":\"b\"}]", "-1.5e+3", "\"\\ud83d\\ude00\\n\""},
         {"", "nul", "01", "\"\\ud83d\"", "[1,]"}},
        {"{\"type\":\"integer\"}", {"0", "-12", "900"}, {"1.5", "-", "00", "1e3"}},
        {"{\"type\":\"integer\",\"minimum\":-12,\"maximum\":105}",
         {"-12", "0", "99", "105"},
         {"-13", "106", "-20", "1000", "007"}},
        {"{\"type\":\"integer\",\"exclusiveMinimum\":9.5,\"exclusiveMaximum\":12}",
         {"10", "11"},
         {"9", "12", "1"}},
        {"{\"type\":\"integer\",\"minimum\":9223372036854775}",
         {"9223372036854775", "99999999999999999"},
         {"9223372036854774", "-1"}},
        {"{\"type\":\"integer\",\"maximum\":-7}", {"-7", "-10", "-100"}, {"-6", "0", "7"}},
        {"{\"type\":[\"null\",\"boolean\"]}", {"null", "true", "false"}, {"0", "\"\""}},
        {"{\"type\":\"string\",\"minLength\":1,\"maxLength\":3}",
         {"\"a\"", "\"\xc3\xa9\\u00e9\xe2\x82\xac\"", "\"\\ud83d\\ude00bc\""},
         {"\"\"", "\"abcd\""}},
        {"{\"enum\":[\"a\\n\",1,null,[true,{\"b\":2.5}]]}",
         {"\"a\\n\"", "1", "null", "[true, {\"b\":2.5}]"},
         {"\"a\"", "true", "[true]"}},
        {"{\"enum\":[\"a\",1,\"abc\",true],\"type\":[\"string\",\"integer\"],\"maxLength\":2}",
         {"\"a\"", "1"},
         {"true", "\"abc\""}},
        {"{\"const\":\"\\u0001\\\"\xc3\xa9\"}", {"\"\\u0001\\\"\xc3\xa9\""}, {"\"\""}},
    };
    (void)state;
    check_rows(rows, sizeof rows / sizeof *rows);
}

static void test_patterns_and_formats(void **state) {
    static const row rows[] = {
        {"{\"type\":\"string\",\"pattern\":\"^[a-c]{2,3}-\\\\d+$\"}",
         {"\"ab-1\"", "\"abc-00\""},
         {"\"a-1\"", "\"abcc-1\"", "\"ab-\"", "\"xab-1\""}},
        {"{\"type\":\"string\",\"pattern\":\"b|^x$\"}",
         {"\"abc\"", "\"x\"", "\"b\""},
         {"\"xx\"", "\"\""}},
        {"{\"type\":\"string\",\"pattern\":\"^(?:\\\"|\\\\\\\\|[\\\\n\xc3\xa9]|\\\\u20ac)+$\"}",
         {"\"\\\"\\\\\"", "\"\xc3\xa9\\n\xe2\x82\xac\""},
         {"\"a\"", "\"\"\"", "\"\\t\""}},
        {"{\"type\":\"string\",\"pattern\":\"^\\\\S\\\\s\\\\w\\\\W.$\"}",
         {"\"x a-b\""},
         {"\"  a-b\"", "\"x aab\""}},
        {"{\"type\":\"string\",\"format\":\"date\"}",
         {"\"2024-02-29\"", "\"2000-02-29\"", "\"2023-12-31\""},
         {"\"2023-02-29\"", "\"1900-02-29\"", "\"2023-04-31\"", "\"2023-13-01\""}},
        {"{\"type\":\"string\",\"format\":\"date-time\"}",
         {"\"2023-12-31T23:59:59.5+01:00\""},
         {"\"2023-12-31T24:00:00Z\"", "\"2023-12-31\""}},
        {"{\"type\":\"string\",\"format\":\"ipv4\"}",
         {"\"255.0.19.200\""},
         {"\"256.0.0.1\"", "\"1.2.3\""}},
        {"{\"type\":\"string\",\"format\":\"no-such\"}", {"\"x\""}, {"1"}},
    };
    (void)state;
    check_rows(rows, sizeof rows / sizeof *rows);
}

static void test_arrays_and_objects(void **state) {
    static const row rows[] = {
        {"{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":1,\"maxItems\":3}",
         {"[1]", "[1, 2,\n 3]"},
         {"[]", "[1,2,3,4]", "[\"a\"]", "[1,]"}},
        {"{\"type\":\"array\",\"prefixItems\":[{\"type\":\"null\"},{\"type\":\"boolean\"}],"
         "\"items\":false}",
         {"[]", "[null]", "[ null , true ]"},
         {"[true]", "[null,true,1]"}},
        {"{\"type\":\"array\",\"prefixItems\":[{\"type\":\"null\"}],\"minItems\":2,\"maxItems\":3}",
         {"[null,1]", "[null,1,\"a\"]"},
         {"[null]", "[null,1,2,3]"}},
        {"{\"type\":\"array\",\"maxItems\":0}", {"[]", "[ ]"}, {"[1]"}},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":true,\"c\":{"
         "\"const\":"
         "1}},\"required\":[\"b\",\"z\"],\"additionalProperties\":false}",
         {NULL},
         {"{\"b\":1,\"z\":1}"}},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":true,\"c\":{"
         "\"const\":"
         "1}},\"required\":[\"b\"],\"additionalProperties\":false}",
         {"{\"b\":[]}", "{\"a\":1,\"b\":null,\"c\":1}", "{ \"b\" : 1 , \"c\" : 1 }"},
         {"{}", "{\"a\":1}", "{\"b\":1,\"a\":1}", "{\"b\":1,\"d\":1}", "{\"a\":\"\",\"b\":1}"}},
        {"{\"type\":\"object\",\"properties\":{\"ab\":{\"type\":\"null\"},\"a\\u00e9\":{}},"
         "\"additionalProperties\":{\"type\":\"integer\"}}",
         {"{}", "{\"ab\":null,\"abc\":1,\"\":2}", "{\"a\":1}", "{\"a\xc3\xa9\":\"x\",\"\\n\":1}"},
         {"{\"ab\":1}", "{\"a\":\"x\"}", "{\"a\\u0062\":1}", "{\"abc\":null}"}},
        {"{\"properties\":{\"a\":{\"type\":\"integer\"}}}",
         {"1", "{\"a\":1,\"b\":[]}", "\"x\""},
         {"{\"a\":\"x\"}"}},
    };
    (void)state;
    assert_refused(&v, SCHEMA, rows[4].schema, GGUFX_E_VALUE, "no text fits");
    check_rows(rows, 4);
    check_rows(rows + 5, sizeof rows / sizeof *rows - 5);
}

static void test_what_is_taken_away_or_named_by_a_pattern(void **state) {
    static const row rows[] = {
        {"{\"not\":{\"type\":[\"object\",\"string\"]}}", {"1", "[{}]", "null"}, {"{}", "\"a\""}},
        {"{\"not\":{\"enum\":[\"a\",\"\\n\",true,null,\"\"]}}",
         {"\"b\"", "\"aa\"", "false", "1"},
         {"\"a\"", "\"\\n\"", "true", "null", "\"\""}},
        {"{\"enum\":[1,2,\"a\",[3]],\"not\":{\"enum\":[2,[3]]}}", {"1", "\"a\""}, {"2", "[3]"}},
        {"{\"type\":\"boolean\",\"not\":{\"const\":false}}", {"true"}, {"false"}},
        {"{\"allOf\":[{\"type\":[\"null\",\"boolean\",\"integer\"]},{\"not\":{\"enum\":[true,false]"
         "}},"
         "{\"not\":{\"type\":\"number\"}}]}",
         {"null"},
         {"true", "false", "1"}},
        {"{\"type\":\"object\",\"patternProperties\":{\"^x-\":{\"type\":\"integer\"}},"
         "\"additionalProperties\":false}",
         {"{}", "{\"x-\":1}", "{\"x-a\":1, \"x-\\n\":2}"},
         {"{\"a\":1}", "{\"x-a\":\"b\"}", "{\"xx-\":1}"}},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"null\"},\"xbc\":true},"
         "\"required\":"
         "[\"a\"],\"patternProperties\":{\"^x.$\":{\"type\":\"integer\"}},\"additionalProperties\":"
         "false,"
         "\"allOf\":[{\"additionalProperties\":{\"enum\":[7,null,\"7\"]}}]}",
         {"{\"a\":null}", "{\"a\":null,\"xc\":7}", "{\"a\":null,\"xbc\":\"7\",\"xd\":7}"},
         {"{\"xc\":7}", "{\"a\":null,\"xc\":6}", "{\"a\":null,\"xbc\":true}",
          "{\"a\":null,\"xcc\":7}"}},
        {"{\"type\":\"string\",\"patternProperties\":{\"a\":1,\"b\":2},\"then\":false,"
         "\"maxContains\":1}",
         {"\"a\""},
         {"{}"}},
    };
    (void)state;
    check_rows(rows, sizeof rows / sizeof *rows);
}

static void test_combinations_and_references(void **state) {
    static const row rows[] = {
        {"{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\",\"maxLength\":1}]}",
         {"1", "\"a\""},
         {"\"ab\"", "null"}},
        {"{\"type\":[\"integer\",\"string\"],\"allOf\":[{\"minimum\":5},{\"maximum\":7},{"
         "\"minLength\":2}]}",
         {"5", "7", "\"ab\""},
         {"4", "8", "\"a\""}},
        {"{\"oneOf\":[{\"type\":\"null\"},{\"enum\":[1,2]},{\"const\":3}]}",
         {"null", "2", "3"},
         {"4"}},
        {"{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"k\":{\"const\":\"a\"}},\"required\":["
         "\"k\"]},"
         "{\"type\":\"object\",\"properties\":{\"k\":{\"enum\":[\"b\",\"c\"]}},\"required\":[\"k\"]"
         "}]}",
         {"{\"k\":\"a\"}", "{\"k\":\"c\",\"x\":1}"},
         {"{\"k\":\"d\"}", "{}"}},
        {"{\"$ref\":\"#/$defs/a~1b%25\",\"$defs\":{\"a/"
         "b%\":{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}}}}",
         {"[]", "[[],[[]]]"},
         {"1", "[1]"}},
        {"{\"$defs\":{\"x\":{\"$anchor\":\"n\",\"type\":\"null\"}},\"items\":{\"$ref\":\"#n\"},"
         "\"type\":\"array\"}",
         {"[null]"},
         {"[1]"}},
        {"{\"allOf\":[{\"properties\":{\"a\":{\"type\":\"integer\"}},\"additionalProperties\":"
         "false},"
         "{\"required\":[\"a\"],\"properties\":{\"a\":{\"minimum\":3}}}],\"type\":\"object\"}",
         {"{\"a\":3}"},
         {"{\"a\":2}", "{}", "{\"a\":3,\"b\":1}"}},
        {"{\"$ref\":\"#\"}", {"1", "[]"}, {"x"}},
    };
    (void)state;
    check_rows(rows, sizeof rows / sizeof *rows);
}

static void test_what_is_not_supported_is_refused_by_name_and_place(void **state) {
    static const struct {
        const char *schema;
        ggufx_status status;
        const char *message;
    } rows[] = {
        {"{\"not\":{}}", GGUFX_E_UNSUPPORTED, "#: the keyword 'not'"},
        {"{\"items\":{\"not\":{\"type\":\"null\",\"enum\":[1]}}}", GGUFX_E_UNSUPPORTED,
         "#/items: the keyword 'not'"},
        {"{\"not\":{\"type\":\"integer\"}}", GGUFX_E_UNSUPPORTED, "'not' of integers"},
        {"{\"not\":{\"const\":5}}", GGUFX_E_UNSUPPORTED, "'not' of a number"},
        {"{\"type\":\"string\",\"not\":{\"const\":\"a\"},\"minLength\":2}", GGUFX_E_UNSUPPORTED,
         "'not' of strings beside"},
        {"{\"not\":{\"type\":\"foo\"}}", GGUFX_E_MALFORMED, "#/not: 'type'"},
        {"{\"patternProperties\":{\"^a\":{}}}", GGUFX_E_UNSUPPORTED, "#: 'patternProperties'"},
        {"{\"patternProperties\":{\"^a\":{},\"b\":{}},\"additionalProperties\":false}",
         GGUFX_E_UNSUPPORTED, "of one pattern"},
        {"{\"patternProperties\":{\"^a\":{}},\"additionalProperties\":false,\"required\":[\"b\","
         "\"ab\"]}",
         GGUFX_E_UNSUPPORTED, "no named property matches"},
        {"{\"properties\":{\"xb\":{}},\"patternProperties\":{\"^x.$\":{}},\"additionalProperties\":"
         "false}",
         GGUFX_E_UNSUPPORTED, "no named property matches"},
        {"{\"patternProperties\":{\"(\":{}},\"additionalProperties\":false}", GGUFX_E_MALFORMED,
         "closing"},
        {"{\"patternProperties\":3}", GGUFX_E_MALFORMED, "no object"},
        {"{\"then\":{},\"if\":{}}", GGUFX_E_UNSUPPORTED, "'then'"},
        {"{\"properties\":{\"x\":{\"items\":{\"contains\":1}}}}", GGUFX_E_UNSUPPORTED,
         "#/properties/x/items: the keyword 'contains'"},
        {"{\"made-up\":1}", GGUFX_E_UNSUPPORTED, "'made-up'"},
        {"{\"type\":\"number\",\"minimum\":1}", GGUFX_E_UNSUPPORTED, "'minimum'"},
        {"{\"type\":\"string\",\"pattern\":\"a\",\"minLength\":2}", GGUFX_E_UNSUPPORTED,
         "'minLength'"},
        {"{\"type\":\"string\",\"pattern\":\"(?=a)\"}", GGUFX_E_UNSUPPORTED, "assertion"},
        {"{\"type\":\"string\",\"pattern\":\"(a)\\\\1\"}", GGUFX_E_UNSUPPORTED, "escape"},
        {"{\"type\":\"string\",\"pattern\":\"(a\"}", GGUFX_E_MALFORMED, "closing"},
        {"{\"$ref\":\"#/nowhere\"}", GGUFX_E_UNSUPPORTED, "leads nowhere"},
        {"{\"$ref\":\"http://x/y\"}", GGUFX_E_UNSUPPORTED, "out of the schema"},
        {"{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"number\"}]}", GGUFX_E_UNSUPPORTED,
         "#/oneOf: branches 0 and 1"},
        {"{\"oneOf\":[{\"anyOf\":[{\"$ref\":\"#\"}]},{\"$ref\":\"#\"}]}", GGUFX_E_UNSUPPORTED,
         "branches"},
        {"{\"type\":\"foo\"}", GGUFX_E_MALFORMED, "'type'"},
        {"{\"properties\":{\"a\":3}}", GGUFX_E_MALFORMED, "#/properties/a: a schema is"},
        {"{\"enum\":[]}", GGUFX_E_VALUE, "no text fits"},
        {"false", GGUFX_E_VALUE, "no text fits"},
        {"{\"a\":\n 1,}", GGUFX_E_MALFORMED, "line 2, column 4"},
        {"{\"a\"", GGUFX_E_MALFORMED, "line 1, column 5"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_refused(&v, SCHEMA, rows[i].schema, rows[i].status, rows[i].message);
}

static void test_too_many_alternatives_are_refused(void **state) {
    char *text = malloc(1 << 20), *at = text;
    (void)state;
    at += sprintf(at, "{\"allOf\":[");
    for (int k = 0; k < 6; k++) {
        at += sprintf(at, "%s{\"anyOf\":[", k ? "," : "");
        for (int i = 0; i < 30; i++) at += sprintf(at, "%s{\"minLength\":%d}", i ? "," : "", i);
        at += sprintf(at, "]}");
    }
    sprintf(at, "]}");
    assert_refused(&v, SCHEMA, text, GGUFX_E_LIMIT, "too many alternatives");
    at = text;
    for (int i = 0; i < 200; i++) at += sprintf(at, "{\"items\":");
    at += sprintf(at, "true");
    for (int i = 0; i < 200; i++) at += sprintf(at, "}");
    assert_refused(&v, SCHEMA, text, GGUFX_E_LIMIT, "nested deeper");
    free(text);
}

static void test_compact_schemas_have_no_white_space(void **state) {
    static const char text[] = "{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}";
    ggufx_grammar_options options;
    ggufx_grammar *grammar = NULL;
    ggufx_matcher *m = NULL;
    ggufx_error error;
    (void)state;
    ggufx_grammar_options_init(&options);
    options.kind = SCHEMA;
    options.flags = GGUFX_GRAMMAR_COMPACT;
    options.text = text;
    options.text_length = sizeof text - 1;
    OK(ggufx_grammar_create(&grammar, rt, v.tokenizer, &options, NULL));
    OK(ggufx_matcher_create(&m, grammar, NULL));
    ggufx_grammar_destroy(grammar);
    OK(accept_text(m, "[1,2", NULL));
    expect(accept_text(m, " ", &error), GGUFX_E_VALUE, &error, "does not fit");
    OK(accept_text(m, ",3]", NULL));
    assert_int_equal(matcher_flags(m), GGUFX_MATCHER_WHOLE);
    ggufx_matcher_destroy(m);
}

static const char person[] =
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"maxLength\":20},\"age\":{"
    "\"type\":\"integer\",\"minimum\":0,\"maximum\":150},\"tags\":{\"type\":\"array\",\"items\":{"
    "\"enum\":[\"a\",\"b\"]}},\"next\":{\"oneOf\":[{\"type\":\"null\"},{\"$ref\":\"#\"}]},\"id\":{"
    "\"type\":\"string\",\"pattern\":\"^[a-z]{3}$\"},"
    "\"more\":{\"properties\":{\"a\":{\"not\":{\"enum\":[\"a\",true]}}},\"patternProperties\":{\"^"
    "x\":{}},"
    "\"additionalProperties\":false}},\"required\":[\"name\"],"
    "\"additionalProperties\":{\"type\":\"null\"}}";

static void test_masks_of_schemas_have_the_tokens_that_are_accepted(void **state) {
    static const char text[] = "{\"name\": \"ab\xc3\xa9\", \"age\": 12, \"tags\":[\"a\",\"b\"], "
                               "\"next\":{\"name\":\"\"},\"id\":\"abc\",\"x\":null}";
    ggufx_matcher *m = new_matcher(&v, SCHEMA, person);
    (void)state;
    for (const char *c = text; *c; c++) {
        const char one[2] = {*c, 0};
        assert_mask(&v, m);
        OK(accept_text(m, one, NULL));
    }
    assert_int_equal(matcher_flags(m), GGUFX_MATCHER_WHOLE);
    ggufx_matcher_destroy(m);
}

static ggufx_status use_schema(void *context, ggufx_runtime *own, ggufx_error *error) {
    ggufx_grammar *grammar = NULL;
    const ggufx_status status =
        create_grammar(&grammar, own, &v, SCHEMA, person, sizeof person - 1, error);
    (void)context;
    ggufx_grammar_destroy(grammar);
    return status;
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    assert_true(fault_run(use_schema, NULL) > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_patterns_and_formats),
        cmocka_unit_test(test_arrays_and_objects),
        cmocka_unit_test(test_what_is_taken_away_or_named_by_a_pattern),
        cmocka_unit_test(test_combinations_and_references),
        cmocka_unit_test(test_what_is_not_supported_is_refused_by_name_and_place),
        cmocka_unit_test(test_too_many_alternatives_are_refused),
        cmocka_unit_test(test_compact_schemas_have_no_white_space),
        cmocka_unit_test(test_masks_of_schemas_have_the_tokens_that_are_accepted),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
