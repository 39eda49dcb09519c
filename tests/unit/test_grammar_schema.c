/*
 * JSON Schema as grammars: accepted and rejected texts, refused schemas with the position.
 * SPDX-License-Identifier: MIT
 */
#include "../text_of.h"
#include "grammar_fixture.h"
#include "ok.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA GGUFX_GRAMMAR_JSON_SCHEMA

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

static void test_scalars_follow_their_keywords(void **state) {
    static const row rows[] = {
        {"true",
         {"null", "[1,{\"a\":\"b\"}]", "-1.5e+3", "\"\\ud83d\\ude00\\n\""},
         {"", "nul", "01", "\"\\ud83d\"", "[1,]"}},
        {"{\"type\":\"integer\"}",
         {"-12", "0", "-0", "10000000000000000000"},
         {"1.5", "00", "1.0", "1e0", "0.0"}},
        {"{\"type\":\"integer\",\"minimum\":-12,\"maximum\":105}",
         {"-12", "0", "99", "105"},
         {"-13", "106", "-20", "1000", "007"}},
        {"{\"type\":\"integer\",\"exclusiveMinimum\":9.5,\"exclusiveMaximum\":12}",
         {"10", "11"},
         {"9", "12", "1"}},
        {"{\"type\":\"integer\",\"minimum\":9223372036854775}",
         {"9223372036854775", "99999999999999999"},
         {"9223372036854774", "-1"}},
        {"{\"type\":\"number\",\"exclusiveMinimum\":-0.25,\"maximum\":1e2}",
         {"-0.2499", "0", "100.0", "1e2"},
         {"-0.25", "-2.5e-1", "100.001", "1.01e+2", "-1"}},
        {"{\"type\":\"number\",\"minimum\":1e-7}", {"1e-07", "0.0000001", "7e20"}, {"9.9e-8", "0"}},
        {"{\"type\":\"number\",\"maximum\":100}",
         {"-1", "1.5", "1e-2", "100"},
         {":1", "1:5", "1.:", "1e:5", "--1"}},
        {"{\"type\":\"number\",\"minimum\":2}",
         {"2", "1e1", "2e-0"},
         {"1e-5", "9e-1", "2e-1", "-1e5", "0.9e0"}},
        {"{\"type\":\"number\",\"exclusiveMaximum\":2}",
         {"1e-5", "9e-1", "1.5", "-1e5"},
         {"2", "1e1", "2e-0"}},
        {"{\"multipleOf\":0.25}", {"1.75", "-2", "0.250", "\"x\""}, {"0.3", "1.125"}},
        {"{\"type\":\"integer\",\"multipleOf\":1000}",
         {"0", "-7000", "12000"},
         {"100", "1500", "1.2e4"}},
        {"{\"const\":18446744073709551616}",
         {"18446744073709551616"},
         {"18446744073709551617", "18446744073709551616.0", "1.8446744073709552e19"}},
        {"{\"type\":\"number\",\"enum\":[2.0,0.5]}", {"2", "0.5", "0.50", "5e-1"}, {"2.0", "2e0"}},
        {"{\"type\":\"integer\",\"maximum\":-7}", {"-7", "-10", "-100"}, {"-6", "0", "7"}},
        {"{\"type\":[\"null\",\"boolean\"]}", {"null", "true", "false"}, {"0", "\"\""}},
        {"{\"type\":\"string\",\"minLength\":1,\"maxLength\":3}",
         {"\"a\"", "\"\xc3\xa9\\u00e9\xe2\x82\xac\"", "\"\\ud83d\\ude00bc\""},
         {"\"\"", "\"abcd\""}},
        {"{\"enum\":[\"a\\n\",1,null,[true,{\"b\":2.5}]]}",
         {"\"a\\u000A\"", "1", "null", "[true, {\"b\":2.5}]"},
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
         {"{\"b\":[]}", "{\"a\":1,\"b\":null,\"c\":1}", "{ \"b\": 1 , \"c\": 1 }"},
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

static void test_lists_and_members_are_counted(void **state) {
    static const row rows[] = {
        {"{\"type\":\"array\",\"contains\":true,\"minContains\":2}",
         {"[1,2]", "[null,[],3]"},
         {"[]", "[1]"}},
        {"{\"type\":\"array\",\"contains\":true,\"maxContains\":1}",
         {"[1]", "[[]]"},
         {"[]", "[1,2]"}},
        {"{\"type\":\"array\",\"not\":{\"contains\":{\"const\":1}}}",
         {"[]", "[2]", "[2,\"1\"]"},
         {"[1]", "[2,1]", "[1,2]"}},
        {"{\"type\":[\"array\",\"null\"],\"contains\":false}", {"null"}, {"[]", "[1]", "[1,2]"}},
        {"{\"type\":\"object\",\"minProperties\":1}",
         {"{\"a\":1}", "{\"a\":1,\"b\":2}"},
         {"{}", "[]"}},
        {"{\"type\":\"object\",\"required\":[\"a\"],\"minProperties\":2}",
         {"{\"a\":1,\"b\":2}"},
         {"{}", "{\"a\":1}"}},
        {"{\"type\":\"object\",\"minProperties\":1,\"not\":{\"additionalProperties\":{\"type\":"
         "\"integer\"}}}",
         {"{\"a\":\"x\"}", "{\"a\":1,\"b\":null}", "{\"a\":null,\"b\":1}"},
         {"{}", "{\"a\":1}", "{\"a\":1,\"b\":2}"}},
    };
    (void)state;
    check_rows(rows, sizeof rows / sizeof *rows);
    assert_refused(&v, SCHEMA,
                   "{\"type\":\"object\",\"minProperties\":2,\"not\":{\"additionalProperties\":{"
                   "\"type\":\"integer\"}}}",
                   GGUFX_E_UNSUPPORTED, "minProperties");
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
        {"{\"not\":{}}", GGUFX_E_VALUE, "no text fits"},
        {"{\"not\":{\"type\":\"foo\"}}", GGUFX_E_MALFORMED, "#/not: 'type'"},
        {"{\"patternProperties\":{\"(\":{}},\"additionalProperties\":false}", GGUFX_E_MALFORMED,
         "closing"},
        {"{\"patternProperties\":3}", GGUFX_E_MALFORMED, "not an object"},
        {"{\"minItems\":-1}", GGUFX_E_MALFORMED, "'minItems' is not a count"},
        {"{\"minItems\":1.5}", GGUFX_E_MALFORMED, "'minItems' is not a count"},
        {"{\"minimum\":\"1\"}", GGUFX_E_MALFORMED, "'minimum' is not a number"},
        {"{\"multipleOf\":0}", GGUFX_E_MALFORMED, "'multipleOf'"},
        {"{\"minimum\":1e999}", GGUFX_E_LIMIT, "over 400 digits"},
        {"{\"properties\":{\"x\":{\"items\":{\"contains\":1}}}}", GGUFX_E_MALFORMED,
         "#/properties/x/items/contains: a schema is"},
        {"{\"properties\":{\"x\":{\"uniqueItems\":true}}}", GGUFX_E_UNSUPPORTED,
         "#/properties/x: 'uniqueItems'"},
        {"{\"dependencies\":{}}", GGUFX_E_UNSUPPORTED, "earlier draft"},
        {"{\"$schema\":\"x:y\"}", GGUFX_E_UNSUPPORTED, "'$schema'"},
        {"{\"format\":\"regex\"}", GGUFX_E_UNSUPPORTED, "the format 'regex'"},
        {"{\"minProperties\":2}", GGUFX_E_UNSUPPORTED, "'minProperties'"},
        {"{\"type\":\"string\",\"pattern\":\"(?<=a)\"}", GGUFX_E_UNSUPPORTED, "unsupported group"},
        {"{\"type\":\"string\",\"pattern\":\"((?=a).)*\"}", GGUFX_E_UNSUPPORTED,
         "assertion within a repetition"},
        {"{\"type\":\"string\",\"pattern\":\"(a)\\\\1\"}", GGUFX_E_UNSUPPORTED, "escape"},
        {"{\"type\":\"string\",\"pattern\":\"\\\\p{Script=Greek}\"}", GGUFX_E_UNSUPPORTED,
         "category"},
        {"{\"type\":\"string\",\"pattern\":\"(a\"}", GGUFX_E_MALFORMED, "closing"},
        {"{\"$ref\":\"#/nowhere\"}", GGUFX_E_UNSUPPORTED, "leads nowhere"},
        {"{\"$ref\":\"http://x/y\"}", GGUFX_E_UNSUPPORTED, "out of the schema"},
        {"{\"oneOf\":[{\"anyOf\":[{\"$ref\":\"#\"}]},{\"$ref\":\"#\"}]}", GGUFX_E_VALUE,
         "no text fits"},
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

/* Exponents of any length, beyond all machine numbers. */
static void test_exponents_without_end_are_refused(void **state) {
    (void)state;
    for (int sign = 0; sign < 2; sign++)
        for (char digit = '1'; digit <= '9'; digit++)
            for (int n = 4; n < 40; n++) {
                char text[128], *at = text + sprintf(text, "{\"minimum\":1%s", sign ? "e-" : "e");
                memset(at, digit, (size_t)n);
                strcpy(at + n, "}");
                assert_refused(&v, SCHEMA, text, GGUFX_E_LIMIT, "over 400 digits");
            }
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
    assert_refused(&v, SCHEMA, text, GGUFX_E_LIMIT, "alternatives");
    at = text;
    for (int i = 0; i < 200; i++) at += sprintf(at, "{\"items\":");
    at += sprintf(at, "true");
    for (int i = 0; i < 200; i++) at += sprintf(at, "}");
    assert_refused(&v, SCHEMA, text, GGUFX_E_LIMIT, "nested deeper");
    free(text);
}

static void test_compact_schemas_have_no_white_space(void **state) {
    static const char text[] = "{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}";
    ggufx_grammar_options options = {.struct_size = sizeof options};
    ggufx_grammar *grammar = NULL;
    ggufx_matcher *m = NULL;
    ggufx_error error;
    (void)state;
    options.kind = SCHEMA;
    options.flags = GGUFX_GRAMMAR_COMPACT;
    options.text = text_of(text);
    OK(ggufx_grammar_create(&grammar, rt, v.tokenizer, &options, ok_error()));
    OK(ggufx_matcher_create(&m, grammar, ok_error()));
    ggufx_grammar_destroy(grammar);
    OK(accept_text(m, "[1,2", NULL));
    expect(accept_text(m, " ", &error), GGUFX_E_VALUE, &error, "does not fit");
    OK(accept_text(m, ",3]", NULL));
    assert_int_equal(matcher_flags(m), GGUFX_MATCHER_COMPLETE);
    ggufx_matcher_destroy(m);
}

#define BLANKS20 "                    "
/* Tests a gap, which `at` marks in `form`. */
static int fits_gap(const char *schema, uint32_t flags, const char *form, const char *gap) {
    char text[512];
    ggufx_grammar_options options = {.struct_size = sizeof options};
    ggufx_grammar *grammar = NULL;
    ggufx_matcher *m = NULL;
    size_t n = 0;
    options.kind = SCHEMA;
    options.flags = flags;
    options.text = text_of(schema);
    OK(ggufx_grammar_create(&grammar, rt, v.tokenizer, &options, ok_error()));
    OK(ggufx_matcher_create(&m, grammar, ok_error()));
    ggufx_grammar_destroy(grammar);
    for (; *form; form++) {
        const char *const from = *form == '@' ? gap : form;
        const size_t length = *form == '@' ? strlen(gap) : 1;
        memcpy(text + n, from, length);
        n += length;
    }
    text[n] = 0;
    const int fit = accept_text(m, text, NULL) == GGUFX_OK && (matcher_flags(m) & 1);
    ggufx_matcher_destroy(m);
    return fit;
}

static void test_white_space_is_limited_at_every_gap(void **state) {
    static const char *const schemas[] = {
        "true", "{\"type\":[\"object\",\"array\"]}",
        "{\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":true},\"items\":{\"enum\":[1,2]}}",
        ("{\"properties\":{\"a\":{\"type\":\"integer\"}},\"maxProperties\":3,\"items\":true,"
         "\"contains\":{\"const\":1},\"minContains\":0,\"maxContains\":1}"),
        "{\"items\":{\"enum\":[1,2]},\"uniqueItems\":true}"};
    static const char *const gaps[] = {"{@}",
                                       "[@]",
                                       "[@1]",
                                       "[1@]",
                                       "[1@,2]",
                                       "[1,@2]",
                                       "{@\"a\":1}",
                                       "{\"a\":@1}",
                                       "{\"a\":1@}",
                                       "{\"a\":1@,\"b\":2}",
                                       "{\"a\":1,@\"b\":2}"};
    static const struct {
        const char *gap;
        int fits;
    } rows[] = {{"", 1},       {" ", 1},           {"\n", 1},
                {"\r\n\t", 1}, {"\n" BLANKS20, 1}, {"\n" BLANKS20 " ", 0},
                {"  ", 0},     {"\t", 0},          {"\n\n", 0},
                {" \n", 0},    {"\n \n", 0}};
    (void)state;
    for (size_t s = 0; s < sizeof schemas / sizeof *schemas; s++) {
        for (uint32_t order = 0; order <= GGUFX_GRAMMAR_ANY_ORDER;
             order += GGUFX_GRAMMAR_ANY_ORDER) {
            for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
                for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                    if (fits_gap(schemas[s], order, gaps[g], rows[i].gap) != rows[i].fits)
                        fail_msg("%s, %s: \"%s\" is %s", schemas[s], gaps[g], rows[i].gap,
                                 rows[i].fits ? "refused" : "taken");
            }
            for (size_t i = 1; i < sizeof rows / sizeof *rows; i++) {
                assert_false(fits_gap(schemas[s], order, "{\"a\"@:1}", rows[i].gap));
                assert_false(fits_gap(schemas[s], order, "@[]", rows[i].gap));
                assert_false(fits_gap(schemas[s], order, "[]@", rows[i].gap));
            }
        }
    }
}

static void test_any_white_space_where_it_is_asked_for(void **state) {
    static const char text[] = "{\"properties\":{\"a\":{\"type\":\"integer\"}}}";
    static const char *const gaps[] = {"{@}", "[1@,2]", "{\"a\":@1}", "{\"a\"@:1}"};
    ggufx_grammar_options options = {.struct_size = sizeof options};
    ggufx_grammar *grammar = NULL;
    (void)state;
    for (size_t g = 0; g < 4; g++) {
        assert_true(fits_gap(text, GGUFX_GRAMMAR_ANY_SPACE, gaps[g],
                             BLANKS20 BLANKS20 "\n\n \r\t" BLANKS20 BLANKS20 "\n"));
        assert_false(fits_gap(text, GGUFX_GRAMMAR_ANY_SPACE, gaps[g], "\v"));
        assert_false(fits_gap(text, GGUFX_GRAMMAR_COMPACT, gaps[g], " "));
        assert_true(fits_gap(text, GGUFX_GRAMMAR_COMPACT, gaps[g], ""));
    }
    options.kind = SCHEMA;
    options.flags = GGUFX_GRAMMAR_COMPACT | GGUFX_GRAMMAR_ANY_SPACE;
    options.text = text_of(text);
    assert_int_equal(ggufx_grammar_create(&grammar, rt, v.tokenizer, &options, NULL),
                     GGUFX_E_ARGUMENT);
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
    assert_int_equal(matcher_flags(m), GGUFX_MATCHER_COMPLETE);
    ggufx_matcher_destroy(m);
}

/* Returns a matcher of a grammar with flags. */
static ggufx_matcher *new_flagged(const char *schema, uint32_t flags) {
    ggufx_grammar_options options = {.struct_size = sizeof options};
    ggufx_grammar *grammar = NULL;
    ggufx_matcher *m = NULL;
    options.kind = SCHEMA;
    options.flags = flags;
    options.text = text_of(schema);
    OK(ggufx_grammar_create(&grammar, rt, v.tokenizer, &options, ok_error()));
    OK(ggufx_matcher_create(&m, grammar, ok_error()));
    ggufx_grammar_destroy(grammar);
    return m;
}

static const char in_any_order[] =
    "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":-3},\"ab\":{"
    "\"multipleOf\":0.5,\"type\":\"number\"},\"c\":{\"type\":\"array\",\"items\":{\"enum\":[\"x\","
    "\"y\",1]},\"uniqueItems\":true,\"contains\":{\"const\":1}}},\"required\":[\"a\",\"c\"],"
    "\"patternProperties\":{\"^p(?!q)\":{\"type\":\"string\",\"pattern\":\"b\",\"maxLength\":3}},"
    "\"propertyNames\":{\"maxLength\":3},\"maxProperties\":4,\"not\":{\"required\":[\"z\"]}}";

static void test_members_may_come_in_any_order(void **state) {
    static const struct {
        const char *text;
        int fits;
    } rows[] = {
        {"{\"c\":[1],\"a\":0}", 1},
        {"{\"a\":0,\"c\":[\"y\",1]}", 1},
        {"{\"pa\":\"ab\", \"c\":[1,\"x\",\"y\"], \"ab\":-1.5, \"a\":7}", 1},
        {"{\"q\":{}, \"c\":[1], \"q\":null, \"a\":-3}", 1},
        {"{\"c\":[1]}", 0},
        {"{\"c\":[1],\"a\":-4}", 0},
        {"{\"c\":[1],\"a\":1,\"c\":[1]}", 0},
        {"{\"c\":[1,1],\"a\":1}", 0},
        {"{\"c\":[\"x\"],\"a\":1}", 0},
        {"{\"a\":1,\"pa\":\"x\",\"c\":[1]}", 0},
        {"{\"a\":1,\"long\":1,\"c\":[1]}", 0},
        {"{\"a\":1,\"z\":1,\"c\":[1]}", 0},
        {"{\"a\":1,\"k\":1,\"l\":1,\"m\":1,\"c\":[1]}", 0},
        {"{\"a\":1,\"c\":[1],}", 0},
    };
    ggufx_matcher *m = new_flagged(in_any_order, GGUFX_GRAMMAR_ANY_ORDER);
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ggufx_matcher *own = NULL;
        OK(ggufx_matcher_clone(&own, m, ok_error()));
        const int fits = accept_text(own, rows[i].text, NULL) == GGUFX_OK &&
                         (matcher_flags(own) & GGUFX_MATCHER_COMPLETE) != 0;
        if (fits != rows[i].fits) fail_msg("%s: %d", rows[i].text, fits);
        ggufx_matcher_destroy(own);
    }
    for (const char *c = rows[2].text; *c; c++) {
        const char one[2] = {*c, 0};
        assert_mask(&v, m);
        OK(accept_text(m, one, NULL));
    }
    ggufx_matcher_destroy(m);
}

enum { N_LETTERS = 18, N_LONG = N_LETTERS * N_LETTERS * N_LETTERS, FIRST_LONG = FIRST_WORD + 8 };
enum { N_LARGE = FIRST_LONG + N_LONG };

/* Vocabulary of bytes, of tokens that continue after the end of a name or a value, and of thousands
 * with the same first letter. Masks must use the whole rest of a name, or too many of the latter
 * stay undecided. */
static vocab large_vocab(void) {
    static const char *const words[] = {"a\":",     "\":\"q", "a\": 1,\"", "\",\"q",
                                        "q\":{\"q", "\"}",    "1,\"ab",    "}}"};
    static char names[256][8], texts[N_LONG][5];
    static vocab_token tokens[N_LARGE] = {{"<unk>", 5, 0, 2}, {"<s>", 3, 0, 3}, {"</s>", 4, 0, 3}};
    for (int i = 0; i < 256; i++) {
        snprintf(names[i], sizeof names[i], "<0x%02X>", (unsigned)i);
        tokens[FIRST_BYTE + i] = (vocab_token){names[i], 6, 0, 6};
    }
    for (int i = 0; i < FIRST_LONG - FIRST_WORD; i++)
        tokens[FIRST_WORD + i] = (vocab_token){words[i], strlen(words[i]), 0, 1};
    for (int i = 0; i < N_LONG; i++) {
        const char text[5] = {'q', (char)('a' + i / (N_LETTERS * N_LETTERS)),
                              (char)('a' + i / N_LETTERS % N_LETTERS), (char)('a' + i % N_LETTERS)};
        memcpy(texts[i], text, 5);
        tokens[FIRST_LONG + i] = (vocab_token){texts[i], 4, 0, 1};
    }
    return open_vocab(tokens, N_LARGE);
}

static void test_masks_of_parts_have_the_tokens_that_are_accepted(void **state) {
    static const char text[] = "{\"qa\":1, \"qqq\":{\"q\":0},\"a\": 1,\"ab\":\"q\"}";
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"ab\":{\"type\":"
        "\"string\",\"maxLength\":3},\"qa\":{\"type\":\"integer\"},\"qabc\":{\"type\":"
        "\"object\"}},\"additionalProperties\":{\"type\":[\"object\",\"integer\"]}}";
    const vocab small = v;
    uint32_t bits[(N_LARGE + 31) / 32];
    size_t n_fit = 0;
    (void)state;
    v = large_vocab();
    ggufx_matcher *m = new_flagged(schema, GGUFX_GRAMMAR_ANY_ORDER);
    for (const char *c = text; *c; c++) {
        const char one[2] = {*c, 0};
        OK(ggufx_matcher_mask(bits, sizeof bits / sizeof *bits, m, ok_error()));
        for (int32_t id = 0; id < N_LARGE; id++) {
            if (id >= FIRST_LONG && id % 7 != 0) continue; /* the others are similar */
            const int fit = ggufx_matcher_accept(m, &id, 1, NULL) == GGUFX_OK;
            if (fit) OK(ggufx_matcher_rollback(m, 1, ok_error()));
            if (fit != has_bit(bits, id)) fail_msg("token %d before %s: %d", (int)id, c, fit);
            n_fit += (size_t)fit;
        }
        OK(accept_text(m, one, NULL));
    }
    assert_true(n_fit > 5 * N_LONG / 7);
    ggufx_matcher_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_matcher_info(&facts, m, ok_error()));
    assert_int_equal(facts.flags, GGUFX_MATCHER_COMPLETE);
    ggufx_matcher_destroy(m);
    close_vocab(&v);
    v = small;
}

static void test_formats_may_say_nothing(void **state) {
    static const char schema[] = "{\"type\":\"string\",\"format\":\"date\"}";
    ggufx_matcher *m = new_flagged(schema, GGUFX_GRAMMAR_NO_FORMATS);
    (void)state;
    OK(accept_text(m, "\"x\"", NULL));
    ggufx_matcher_destroy(m);
    assert_misfits(&v, SCHEMA, schema, "\"x\"");
}

static void test_integers_may_have_any_form(void **state) {
    static const struct {
        const char *schema, *fits[4], *misfits[4];
    } rows[] = {
        {"{\"type\":\"integer\"}",
         {"-12", "1.000", "1.5E+1", "-0.0e3"},
         {"1.5", "15e-1", "1.25e1", "1e308"}},
        {"{\"type\":\"integer\",\"multipleOf\":1000}",
         {"-7000", "1.2e4", "1000.0"},
         {"1500", "1.25e3"}},
        {"{\"const\":18446744073709551616}",
         {"18446744073709551616", "18446744073709551616.0", "1.8446744073709551616e19"},
         {"18446744073709551617", "1.8446744073709552e19"}},
        {"{\"enum\":[1]}", {"1", "1.0", "1e0", "1E+00"}, {"1.1", "1e1", "2.0"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        for (size_t k = 0; k < 4; k++) {
            if (rows[i].fits[k]) {
                ggufx_matcher *m = new_flagged(rows[i].schema, GGUFX_GRAMMAR_ANY_NUMBER);
                OK(accept_text(m, rows[i].fits[k], NULL));
                assert_true(matcher_flags(m) & GGUFX_MATCHER_COMPLETE);
                ggufx_matcher_destroy(m);
            }
            if (rows[i].misfits[k]) {
                ggufx_matcher *m = new_flagged(rows[i].schema, GGUFX_GRAMMAR_ANY_NUMBER);
                assert_true(accept_text(m, rows[i].misfits[k], NULL) != GGUFX_OK ||
                            !(matcher_flags(m) & GGUFX_MATCHER_COMPLETE));
                ggufx_matcher_destroy(m);
            }
        }
}

/* Returns how many digits follow a text until one does not match, or `most`. */
static size_t digits_after(const char *schema, uint32_t flags, const char *text, char digit,
                           size_t most) {
    ggufx_matcher *m = new_flagged(schema, flags);
    const int32_t id = FIRST_BYTE + (uint8_t)digit;
    size_t n = 0;
    if (accept_text(m, text, NULL) == GGUFX_OK)
        while (n < most && ggufx_matcher_accept(m, &id, 1, NULL) == GGUFX_OK) n++;
    ggufx_matcher_destroy(m);
    return n;
}

/* A model cannot write digits for ever, whichever part of a number they belong to. */
static void test_numbers_have_a_last_digit(void **state) {
    static const char *const schemas[] = {
        "{}",
        "{\"type\":\"integer\"}",
        "{\"type\":\"number\"}",
        "{\"type\":\"integer\",\"minimum\":0}",
        "{\"type\":\"number\",\"exclusiveMinimum\":0.5}",
        "{\"type\":\"number\",\"maximum\":1e30}",
        "{\"type\":\"number\",\"minimum\":-1.5,\"maximum\":1.5}",
        "{\"type\":\"integer\",\"multipleOf\":1}",
        "{\"type\":\"integer\",\"multipleOf\":7}",
        "{\"type\":\"number\",\"multipleOf\":0.01}",
        "{\"type\":\"number\",\"multipleOf\":1000}",
        "{\"type\":\"number\",\"not\":{\"type\":\"integer\"}}",
        "{\"type\":\"number\",\"not\":{\"const\":5}}",
        "{\"type\":\"integer\",\"not\":{\"multipleOf\":3}}",
        "{\"enum\":[1.5,1,0,0.1,9]}",
    };
    static const char *const begins[] = {"", "-", "1", "1.", "1.5", "0.", "0.1", "1e", "1e+", "9"};
    (void)state;
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++)
        for (size_t k = 0; k < sizeof begins / sizeof *begins; k++)
            for (char digit = '0'; digit <= '9'; digit = (char)(digit + 3))
                if (digits_after(schemas[i], 0, begins[k], digit, 500) > 32)
                    fail_msg("%s: \"%s\" and any number of %c", schemas[i], begins[k], digit);
    const char *const integer = "{\"type\":\"integer\"}", *const number = "{\"type\":\"number\"}";
    assert_int_equal(digits_after(integer, 0, "", '9', 500), 20);
    assert_int_equal(digits_after(integer, 0, "-", '9', 500), 20);
    assert_int_equal(digits_after(number, 0, "", '9', 500), 20);
    assert_int_equal(digits_after(number, 0, "1.", '9', 500), 20);
    assert_int_equal(digits_after(number, 0, "1e-", '9', 500), 3);
    assert_int_equal(digits_after(integer, GGUFX_GRAMMAR_ANY_NUMBER, "", '9', 500), 500);
    assert_int_equal(digits_after(number, GGUFX_GRAMMAR_ANY_NUMBER, "1.", '9', 500), 500);
    /* Schemas that need more digits have them. */
    assert_fits(&v, SCHEMA, "{\"type\":\"integer\",\"minimum\":1e30}",
                "1000000000000000000000000000000");
    assert_fits(&v, SCHEMA, "{\"type\":\"integer\",\"exclusiveMinimum\":99999999999999999999}",
                "100000000000000000000");
    assert_fits(&v, SCHEMA, "{\"const\":1.0000000000000000000000001}",
                "1.0000000000000000000000001");
    assert_fits(&v, SCHEMA, "{\"type\":\"number\",\"exclusiveMinimum\":0,\"maximum\":1e-30}",
                "0.000000000000000000000000000001");
    assert_fits(&v, SCHEMA, "{\"type\":\"integer\",\"multipleOf\":1e25,\"minimum\":1}",
                "10000000000000000000000000");
}

static void test_characters_are_written_as_programs_write_them(void **state) {
    static const row rows[] = {
        {"{\"const\":\"a/\xc3\xa9\xf0\x9f\x98\x80\\n\"}",
         {"\"a/\xc3\xa9\xf0\x9f\x98\x80\\n\"", "\"a\\/\\u00e9\\ud83d\\ude00\\u000a\"",
          "\"a/\\u00E9\xf0\x9f\x98\x80\\u000A\""},
         {"\"\\u0061/\xc3\xa9\xf0\x9f\x98\x80\\n\"", "\"a/\\u00e8\\ud83d\\ude00\\n\"",
          "\"a/\xc3\xa9\\ud83d\\n\""}},
        {"{\"type\":\"string\",\"pattern\":\"^[^a-z]+$\"}",
         {"\"\\u00e9\xc3\xa9\\t\\\"\"", "\"\\uFFFF\\uDBFF\\uDFFF\\u007f\""},
         {"\"\\u0041\"", "\"\\ud800\"", "\"\\u00e\""}},
        {"{\"type\":\"object\",\"properties\":{\"\xc3\xa9\":{\"type\":\"null\"}},"
         "\"additionalProperties\":{\"type\":\"integer\"}}",
         {"{\"\\u00e9\":null,\"\\u00e8\":1}", "{\"\xc3\xa9\":null}"},
         {"{\"\\u00e9\":1}", "{\"\xc3\xa9\":1}", "{\"e\":null}"}},
    };
    (void)state;
    check_rows(rows, sizeof rows / sizeof *rows);
}

static ggufx_status use_schema(void *context, ggufx_runtime *own, ggufx_error *error) {
    ggufx_grammar *grammar = NULL;
    const char *const text = context;
    const ggufx_status status =
        create_grammar(&grammar, own, &v, SCHEMA, text, strlen(text), error);
    ggufx_grammar_destroy(grammar);
    return status;
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    static const char numbers[] = "{\"type\":\"number\",\"minimum\":3,\"multipleOf\":2}";
    static const char others[] =
        "{\"if\":{\"properties\":{\"a\":{\"pattern\":\"^(?!x)\"}}},\"then\":{\"oneOf\":[{"
        "\"required\":["
        "\"a\"]},{\"const\":[1]}]},\"unevaluatedProperties\":false,\"$id\":\"http://x.y/z\"}";
    const char *const schemas[] = {person, numbers, others};
    for (size_t i = 0; i < 3; i++)
        assert_true(fault_run(use_schema, (void *)(uintptr_t)schemas[i]) > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars_follow_their_keywords),
        cmocka_unit_test(test_patterns_and_formats),
        cmocka_unit_test(test_arrays_and_objects),
        cmocka_unit_test(test_lists_and_members_are_counted),
        cmocka_unit_test(test_what_is_taken_away_or_named_by_a_pattern),
        cmocka_unit_test(test_combinations_and_references),
        cmocka_unit_test(test_what_is_not_supported_is_refused_by_name_and_place),
        cmocka_unit_test(test_exponents_without_end_are_refused),
        cmocka_unit_test(test_too_many_alternatives_are_refused),
        cmocka_unit_test(test_compact_schemas_have_no_white_space),
        cmocka_unit_test(test_white_space_is_limited_at_every_gap),
        cmocka_unit_test(test_any_white_space_where_it_is_asked_for),
        cmocka_unit_test(test_masks_of_schemas_have_the_tokens_that_are_accepted),
        cmocka_unit_test(test_members_may_come_in_any_order),
        cmocka_unit_test(test_masks_of_parts_have_the_tokens_that_are_accepted),
        cmocka_unit_test(test_formats_may_say_nothing),
        cmocka_unit_test(test_integers_may_have_any_form),
        cmocka_unit_test(test_numbers_have_a_last_digit),
        cmocka_unit_test(test_characters_are_written_as_programs_write_them),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, grammar_setup, grammar_teardown);
}
