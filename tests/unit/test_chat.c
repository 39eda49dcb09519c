/*
 * Chat templates through the public header: messages, options, the origin of each byte, and every
 * refusal with its position.
 * SPDX-License-Identifier: MIT
 */
#include "../text_of.h"
#include "chat_fixture.h"
#include "ok.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ggufx_chat_message message(const char *role, const char *content) {
    const ggufx_chat_message out = {
        .struct_size = sizeof out, .role = text_of(role), .content = text_of(content)};
    return out;
}

static const char loop[] = "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}"
                           "</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

static void test_messages_are_rendered_by_the_template(void **state) {
    const ggufx_chat_message messages[] = {
        message("system", "Be kind."),
        message("user", "Hi </> <s>"),
    };
    ggufx_chat_request request = {.struct_size = sizeof request};
    char who[128];
    (void)state;
    request.messages = messages;
    request.n_messages = 2;
    request.flags = GGUFX_CHAT_GENERATE;
    rendered r = render_with(loop, &request);
    assert_int_equal(r.status, GGUFX_OK);
    assert_string_equal(r.text, "<s><system>Be kind.</><user>Hi </> <s></><assistant>");
    origins(who, &r);
    assert_string_equal(who, "tttttttttttuuuuuuuutttttttttuuuuuuuuuutttttttttttttt");
    rendered_free(&r);
}

static void test_members_of_a_message(void **state) {
    static const char text[] =
        "{% for m in messages %}{{ m.content[0].text }}|{{ m.tool_calls[0].function.name }}|"
        "{{ m.name }}|{{ m.content is none }}{% endfor %}";
    ggufx_chat_message m[2] = {message("user", "unused"), message("assistant", NULL)};
    ggufx_chat_request request = {.struct_size = sizeof request};
    (void)state;
    m[0].parts = text_of("[{\"type\":\"text\",\"text\":\"Look\"}]");
    m[0].tool_calls = text_of("[{\"function\":{\"name\":\"f\"}}]");
    m[0].extra = text_of("{\"name\":\"Ann\",\"unused\":1}");
    request.messages = m;
    request.n_messages = 1;
    rendered r = render_with(text, &request);
    assert_int_equal(r.status, GGUFX_OK);
    assert_string_equal(r.text, "Look|f|Ann|False");
    rendered_free(&r);
    request.messages = m + 1;
    r = render_with("{{ messages[0].content is none }}{{ messages[0].tool_calls is defined }}",
                    &request);
    assert_string_equal(r.text, "TrueFalse");
    rendered_free(&r);
}

static void test_options_are_variables(void **state) {
    static const char text[] =
        "{{ enable_thinking }}|{{ reasoning_effort }}|{{ tools | length }}|{{ documents | tojson "
        "}}|"
        "{{ add_generation_prompt }}|{{ other }}|{{ strftime_now('%d %B %Y') }}|{{ pad_token }}";
    ggufx_chat_request request = {.struct_size = sizeof request};
    (void)state;
    request.flags = GGUFX_CHAT_NO_THINK | GGUFX_CHAT_CLOCK;
    request.unix_time = 1732233600;
    request.reasoning_effort = text_of("high");
    request.tools = text_of("[{},{}]");
    request.documents = text_of("[{\"t\":1.0}]");
    request.variables = text_of("{\"other\":[1,\"a\"],\"pad_token\":\"<p>\"}");
    rendered r = render_with(text, &request);
    assert_int_equal(r.status, GGUFX_OK);
    assert_string_equal(r.text, "False|high|2|[{\"t\": 1.0}]|False|[1, 'a']|22 November 2024|<p>");
    rendered_free(&r);
    request.flags = GGUFX_CHAT_THINK;
    r = render_with("{{ enable_thinking }}{{ strftime_now is defined }}", &request);
    assert_string_equal(r.text, "TrueFalse");
    rendered_free(&r);
    assert_renders("{{ enable_thinking is defined }}{{ tools is defined }}", NULL, "FalseFalse");
}

static void test_numbers_in_braces_are_written_as_python_writes_them(void **state) {
    (void)state;
    assert_renders("{{ '{}|{:8}|{:<6}|{:^7}|{:+}'.format(1.5, 2.25, 0.5, 1.5, 3.0) }}", NULL,
                   "1.5|    2.25|0.5   |  1.5  |+3.0");
    assert_renders("{{ '{:.2f}|{:.1e}|{:b}|{:x}'.format(1.005, 1234.5, 5, 255) }}", NULL,
                   "1.00|1.2e+03|101|ff");
    /* Python prints 3.1 here; the library refuses it instead of printing something else. */
    rendered r = render("{{ '{:.2}'.format(3.14159) }}", NULL);
    assert_int_equal(r.status, GGUFX_E_VALUE);
    rendered_free(&r);
}

static void test_lists_are_ordered_by_their_first_difference(void **state) {
    (void)state;
    assert_renders("{{ [1, 2] < [1, 3] }}{{ [1] < [1, 2] }}{{ [2] < [1, 2] }}{{ [] < [0] }}"
                   "{{ [[1, 2], 0] > [[1, 1], 9] }}{{ [1, 2] < [1, 2] }}{{ [1, 2] <= [1, 2] }}",
                   NULL, "TrueTrueFalseTrueTrueFalseTrue");
}

static void test_a_users_text_stays_a_users_whatever_is_done_with_it(void **state) {
    static const struct {
        const char *text, *want, *who;
    } cases[] = {
        {"[{{ u }}]", "[ab <x>]", "tuuuuuut"},
        {"{{ ' ' ~ u ~ 1 }}", " ab <x>1", "tuuuuuut"},
        {"{{ ('-' + u + '-').strip('-') }}", "ab <x>", "uuuuuu"},
        {"{{ u.replace('b', '<e>') }}", "a<e> <x>", "utttuuuu"},
        {"{{ ('<' ~ u).split(' ') | join('|') }}", "<ab|<x>", "tuutuuu"},
        {"{{ (u ~ 'tail')[4:8] }}", "x>ta", "uutt"},
        {"{{ ('t' ~ u) | upper }}{{ u | title }}", "TAB <X>Ab <X>", "tuuuuuuuuuuuu"},
        {"{{ [u, 't'] | tojson }}", "[\"ab <x>\", \"t\"]", "tuuuuuuuutttttt"},
        {"{{ 'x%sx' | format(u) }}{{ 'y{}y'.format(u) }}", "xab <x>xyab <x>y", "tuuuuuuttuuuuuut"},
        {"{{ {'k': u} }}", "{'k': 'ab <x>'}", "ttttttuuuuuuuut"},
        {"{{ n + 1 }}{{ n }}{{ l | length }}{{ l }}", "872[1, 2]", "uutuuuuuu"},
        {"{% set x %}t{{ u }}t{% endset %}{{ x[:-2] }}", "tab <x", "tuuuuu"},
        {"{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(u)[::-1] }}", ">>x< ba<", "tuuuuuut"},
        {"{{ 'ab' if u else '' }}{{ u == 'ab <x>' }}", "abTrue", "tttttt"},
        {"{{ u | indent(1, true) }}{{ '\\n' ~ u | trim }}", " ab <x>\nab <x>", "tuuuuuutuuuuuu"},
        {"{{ u * 2 }}{{ u | e }}", "ab <x>ab <x>ab &lt;x&gt;", "uuuuuuuuuuuuuuuuuuuuuuuu"},
        {"{% for c in u %}{{ c }}{% endfor %}", "ab <x>", "uuuuuu"},
        {"{{ u | list | last }}{{ u | first }}{{ u[::-1] }}", ">a>x< ba", "uuuuuuuu"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char who[128];
        rendered r = render(cases[i].text, "{\"u\":\"ab <x>\",\"n\":7,\"l\":[1,2]}");
        if (r.status != GGUFX_OK) fail_msg("%s: %s", cases[i].text, r.error.message);
        assert_string_equal(r.text, cases[i].want);
        origins(who, &r);
        if (strcmp(who, cases[i].who) != 0)
            fail_msg("%s: %s is %s, not %s", cases[i].text, r.text, who, cases[i].who);
        rendered_free(&r);
    }
}

static void test_only_known_roles_are_the_templates(void **state) {
    ggufx_chat_request request = {.struct_size = sizeof request};
    char who[64];
    (void)state;
    request.messages_json = text_of("[{\"role\":\"user\"},{\"role\":\"us<er\"}]");
    rendered r = render_with("{% for m in messages %}<|{{ m.role }}|>{% endfor %}", &request);
    assert_string_equal(r.text, "<|user|><|us<er|>");
    origins(who, &r);
    assert_string_equal(who, "ttttttttttuuuuutt");
    rendered_free(&r);
}

static void test_errors_have_line_and_column(void **state) {
    (void)state;
    assert_fails("a\nbc {{ x.y }}", NULL, GGUFX_E_VALUE, "line 2, column 8: 'x' is undefined");
    assert_fails("a\r\nb\xc3\xa9 {% if %}", NULL, GGUFX_E_MALFORMED, "line 2, column 10:");
    assert_fails("{{ raise_exception('no ' ~ 1) }}", NULL, GGUFX_E_MISMATCH, "no 1");
    assert_fails("{% include 'a' %}", NULL, GGUFX_E_UNSUPPORTED, "'include' is not supported");
    assert_fails("{% for x in y %}", NULL, GGUFX_E_MALFORMED, "does not end");
    assert_fails("{{ 1 / 0 }}", NULL, GGUFX_E_VALUE, "division by zero");
    assert_fails("{{ 'x' | nothing }}", NULL, GGUFX_E_VALUE, "no filter named 'nothing'");
    assert_fails("{{ strftime_now('%Y') }}", NULL, GGUFX_E_VALUE, "'strftime_now' is undefined");
    assert_fails("{{ 9223372036854775807 + 1 }}", NULL, GGUFX_E_LIMIT, "beyond 64 bits");
    rendered r = render("a\r\n{{ x.y }}", NULL);
    assert_int_equal(r.error.offset, 7);
    rendered_free(&r);
    assert_fails("\xff", NULL, GGUFX_E_MALFORMED, "not valid UTF-8");
}

static void test_json_is_strict(void **state) {
    static const char *const bad[] = {
        "{",           "[1,]",           "{\"a\":1,}",       "{a:1}",
        "{\"a\" 1}",   "{\"a\":01}",     "{\"a\":1.}",       "{\"a\":.5}",
        "{\"a\":+1}",  "{\"a\":\"\n\"}", "{\"a\":\"\\x\"}",  "{\"a\":\"\\u12\"}",
        "{\"a\":nul}", "{} x",           "{\"a\":\"",        "{\"a\":1e}",
        "{\"a\":NaN}", "{\"a\":'b'}",    "{\"a\":\"\xff\"}", "",
        " ",           "{\"a\":1e999}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (!*bad[i]) continue;
        assert_fails("{{ a }}", bad[i], GGUFX_E_MALFORMED, "variables: JSON has");
    }
    assert_fails("{{ a }}", "[1]", GGUFX_E_VALUE, "an object is wanted");
    assert_renders(
        "{{ a }}",
        "{\"a\":1,\"a\":[\"\\u00e9\\ud83d\\ude00\\ud800x\", -0.0, 12345678901234567890, true]}",
        "['\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbdx', -0.0, 1.2345678901234567e+19, True]");
    char deep[600];
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"a\":", 5);
    deep[sizeof deep - 1] = 0;
    assert_fails("{{ a }}", deep, GGUFX_E_LIMIT, "nested deeper than 96");
}

/* n nested lists around a number. */
static void test_values_are_compared_as_deep_as_they_may_be(void **state) {
    static const char *const signs[] = {"==", "<", ">="};
    static const char *const wants[] = {"True", "False", "True"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        for (int n = 100; n <= 101; n++) {
            char text[300];
            snprintf(text, sizeof text,
                     "{%% set ns = namespace(a=1, b=1) %%}{%% for i in range(%d) %%}"
                     "{%% set ns.a = [ns.a] %%}{%% set ns.b = [ns.b] %%}{%% endfor %%}"
                     "{{ ns.a %s ns.b }}",
                     n, signs[i]);
            if (n == 100)
                assert_renders(text, NULL, wants[i]);
            else
                assert_fails(text, NULL, GGUFX_E_LIMIT, "values nested deeper than 100");
        }
    }
}

static void test_numbers_of_both_kinds_are_compared(void **state) {
    (void)state;
    assert_renders("{{ 1.5 < 2 }} {{ 2 < 1.5 }} {{ 2 > 1.5 }} {{ 1 == 1.0 }} {{ 1.0 == 1 }} "
                   "{{ 3 == 2.5 }} {{ -0.5 < 0 }} {{ 7 <= 7.0 }} {{ 1e30 > 9 }}",
                   NULL, "True False True True True False True True True");
    assert_renders("{{ 1 + 0.5 }} {{ 0.5 + 1 }} {{ 3 * 0.5 }} {{ 7 // 2.0 }} {{ 2.5 - 1 }}", NULL,
                   "1.5 1.5 1.5 3.0 1.5");
}

static void test_loops_know_what_is_before_and_after(void **state) {
    (void)state;
    assert_renders("{% for i in [4, 5, 6] %}{% if not loop.first %}{{ loop.previtem }}<{% endif %}"
                   "{{ i }}{% if not loop.last %}<{{ loop.nextitem }}{% endif %} {% endfor %}",
                   NULL, "4<5 4<5<6 5<6 ");
}

static void test_items_of_what_has_some(void **state) {
    (void)state;
    assert_renders(
        "{{ 'abc'[1] }}{{ 'abc'[-1] }}{{ range(5, 9)[2] }}{{ (7, 8)[1] }}{{ [7, 8][-2] }}", NULL,
        "bc787");
    assert_renders("{{ 'abc'[3] is defined }} {{ range(2)[2] is defined }} {{ [7][1] is defined }} "
                   "{{ [7]['a'] is defined }} {{ 7[0] is defined }} {{ {'a': 1}[0] is defined }}",
                   NULL, "False False False False False False");
    assert_renders("{{ [7, 8, 7]['count'](7) }} {{ 'abc'['upper']() }} {{ {1: 2}[1] }}", NULL,
                   "2 ABC 2");
}

static void test_operands_are_named_in_their_order(void **state) {
    (void)state;
    assert_fails("{{ [1] - 'a' }}", NULL, GGUFX_E_VALUE, "for -: 'list' and 'str'");
    assert_fails("{{ 'a' ** [1] }}", NULL, GGUFX_E_VALUE, "'str' and 'list'");
    assert_fails("{{ none // 2 }}", NULL, GGUFX_E_VALUE, "for //: 'NoneType' and 'int'");
    assert_fails("{{ {} < 'a' }}", NULL, GGUFX_E_VALUE, "'dict' and 'str'");
}

static void test_what_is_popped_is_there_no_more(void **state) {
    (void)state;
    assert_renders("{% set d = {'a': 1, 'b': 2} %}{{ d.pop('a') }} {{ d }} {{ d.pop('x', 7) }} "
                   "{{ d.pop('b') }} {{ d }}",
                   NULL, "1 {'b': 2} 7 2 {}");
    assert_fails("{{ {'a': 1}.pop('x') }}", NULL, GGUFX_E_VALUE, "the key is not in the dict");
}

static void test_braces_of_a_format_stand_for_one(void **state) {
    (void)state;
    assert_renders("{{ a.format(7) }}", "{\"a\":\"{{{}}} {{}}\"}", "{7} {}");
    assert_fails("{{ a.format(7) }}", "{\"a\":\"{{}\"}", GGUFX_E_VALUE, "Single '}'");
}

static void test_calls_are_checked(void **state) {
    ggufx_chat_template_options options = {.struct_size = sizeof options};
    ggufx_chat_request request = {.struct_size = sizeof request};
    ggufx_chat_template *chat = NULL;
    ggufx_error error;
    size_t n = 0;
    ggufx_chat_message bad = message("user", "\xc3");
    (void)state;
    assert_int_equal(ggufx_chat_template_create(&chat, chat_rt, NULL, &options, &error),
                     GGUFX_E_ARGUMENT);
    options.format = text_of("no such");
    assert_int_equal(ggufx_chat_template_create(&chat, chat_rt, NULL, &options, &error),
                     GGUFX_E_NOT_FOUND);
    options.text = text_of("x");
    assert_int_equal(ggufx_chat_template_create(&chat, chat_rt, NULL, &options, &error),
                     GGUFX_E_ARGUMENT);
    options.format.data = NULL;
    assert_int_equal(ggufx_chat_template_create(&chat, chat_rt, NULL, &options, &error),
                     GGUFX_E_ARGUMENT);
    options.format.size = 0;
    assert_int_equal(ggufx_chat_template_create(NULL, chat_rt, NULL, &options, &error),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_chat_template_create(&chat, NULL, NULL, &options, &error),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_chat_template_create(&chat, chat_rt, NULL, &options, &error), GGUFX_OK);
#define RENDER() ggufx_chat_template_render(NULL, 0, &n, chat, &request, &error)
    assert_int_equal(RENDER(), GGUFX_E_CAPACITY);
    assert_int_equal(n, 1);
    assert_true(error.value == 1 && error.limit == 0);
    request.flags = GGUFX_CHAT_THINK | GGUFX_CHAT_NO_THINK;
    assert_int_equal(RENDER(), GGUFX_E_ARGUMENT);
    request.flags = 1u << 30;
    assert_int_equal(RENDER(), GGUFX_E_ARGUMENT);
    request.flags = GGUFX_CHAT_CLOCK;
    request.unix_time = INT64_MAX;
    assert_int_equal(RENDER(), GGUFX_E_ARGUMENT);
    request.flags = 0;
    request.tools.size = 1;
    assert_int_equal(RENDER(), GGUFX_E_ARGUMENT);
    request.tools.size = 0;
    request.n_messages = 1;
    assert_int_equal(RENDER(), GGUFX_E_ARGUMENT);
    request.messages = &bad;
    assert_int_equal(RENDER(), GGUFX_E_MALFORMED);
    assert_int_equal(error.offset, 0);
    assert_int_equal(error.index, 0);
    bad.struct_size = 4;
    assert_int_equal(RENDER(), GGUFX_E_ARGUMENT);
    request.messages_json = text_of("[]");
    assert_int_equal(RENDER(), GGUFX_E_ARGUMENT);
    request.messages = NULL;
    request.n_messages = 0;
    request.messages_json.data = "{}";
    assert_int_equal(RENDER(), GGUFX_E_VALUE);
    assert_int_equal(ggufx_chat_template_render(NULL, 0, &n, NULL, &request, &error),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_chat_template_render(NULL, 0, NULL, chat, &request, &error),
                     GGUFX_E_ARGUMENT);
    ggufx_chat_template_destroy(chat);
    ggufx_chat_template_destroy(NULL);
}

static void test_a_buffer_that_is_too_small_gets_what_fits(void **state) {
    ggufx_chat_template_options options = {.struct_size = sizeof options};
    ggufx_chat_request request = {.struct_size = sizeof request};
    ggufx_chat_template *chat = NULL;
    ggufx_error error;
    ggufx_chat_span runs[2] = {{0, 9}, {0, 9}};
    char text[4] = "____";
    size_t n = 0, n_runs = 0;
    (void)state;
    options.text = text_of("ab{{ u }}");
    request.variables = text_of("{\"u\":\"cd\"}");
    assert_int_equal(ggufx_chat_template_create(&chat, chat_rt, NULL, &options, &error), GGUFX_OK);
    assert_int_equal(ggufx_chat_template_render(text, 3, &n, chat, &request, &error),
                     GGUFX_E_CAPACITY);
    assert_int_equal(ggufx_chat_template_spans(runs, 1, &n_runs, chat, &request, &error),
                     GGUFX_E_CAPACITY);
    assert_memory_equal(text, "abc_", 4);
    assert_int_equal(n, 4);
    assert_int_equal(n_runs, 2);
    assert_int_equal(runs[0].end, 2);
    assert_int_equal(runs[1].user, 9);
    assert_int_equal(ggufx_chat_template_render(text, 4, &n, chat, &request, &error), GGUFX_OK);
    assert_int_equal(ggufx_chat_template_spans(runs, 2, &n_runs, chat, &request, &error), GGUFX_OK);
    assert_int_equal(runs[1].end, 4);
    assert_int_equal(runs[1].user, 1);
    ggufx_chat_template_destroy(chat);
}

static void test_formats_have_names(void **state) {
    size_t n = 0;
    (void)state;
    for (; ggufx_chat_template_builtin_name(n); n++) {
        ggufx_chat_template_options options = {.struct_size = sizeof options};
        ggufx_chat_template *chat = NULL;
        options.format = text_of(ggufx_chat_template_builtin_name(n));
        OK(ggufx_chat_template_create(&chat, chat_rt, NULL, &options, ok_error()));
        ggufx_chat_template_destroy(chat);
    }
    assert_int_equal(n, 53);
    assert_null(ggufx_chat_template_builtin_name(SIZE_MAX));
}

/* ---- failing allocations ----- */

static ggufx_status create_and_render(void *context, ggufx_runtime *rt, ggufx_error *error) {
    ggufx_chat_template_options options = {.struct_size = sizeof options};
    ggufx_chat_request request = {.struct_size = sizeof request};
    ggufx_chat_template *chat = NULL;
    char text[4096];
    size_t n = 0;
    (void)context;
    options.text =
        text_of("{% macro m(a, b=2) %}{{ a }}{{ b }}{{ caller() }}{% endmacro %}"
                "{% for k, v in d.items() recursive %}{% set x %}{{ k | upper }}{% endset %}"
                "{{ x ~ v }}{% endfor %}{% call m(1) %}c{% endcall %}{{ d | tojson(indent=2) }}"
                "{% set ns = namespace(l=[]) %}{% for i in range(300) %}"
                "{% set ns.l = ns.l + [i] %}{% endfor %}{{ ns.l | sort | map('string') | join }}"
                "{{ 'é' * 400 }}{{ d.values() | list | unique | list | length }}");
    request.variables =
        text_of("{\"d\":{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,"
                "\"i\":9,\"j\":10,\"k\":\"\\u00e9\"}}");
    ggufx_status status = ggufx_chat_template_create(&chat, rt, NULL, &options, error);
    if (status != GGUFX_OK) return status;
    status = ggufx_chat_template_render(text, sizeof text, &n, chat, &request, error);
    ggufx_chat_template_destroy(chat);
    return status;
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    assert_true(fault_run(create_and_render, NULL) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_are_rendered_by_the_template),
        cmocka_unit_test(test_members_of_a_message),
        cmocka_unit_test(test_options_are_variables),
        cmocka_unit_test(test_numbers_in_braces_are_written_as_python_writes_them),
        cmocka_unit_test(test_lists_are_ordered_by_their_first_difference),
        cmocka_unit_test(test_a_users_text_stays_a_users_whatever_is_done_with_it),
        cmocka_unit_test(test_only_known_roles_are_the_templates),
        cmocka_unit_test(test_errors_have_line_and_column),
        cmocka_unit_test(test_json_is_strict),
        cmocka_unit_test(test_values_are_compared_as_deep_as_they_may_be),
        cmocka_unit_test(test_numbers_of_both_kinds_are_compared),
        cmocka_unit_test(test_loops_know_what_is_before_and_after),
        cmocka_unit_test(test_items_of_what_has_some),
        cmocka_unit_test(test_operands_are_named_in_their_order),
        cmocka_unit_test(test_what_is_popped_is_there_no_more),
        cmocka_unit_test(test_braces_of_a_format_stand_for_one),
        cmocka_unit_test(test_calls_are_checked),
        cmocka_unit_test(test_a_buffer_that_is_too_small_gets_what_fits),
        cmocka_unit_test(test_formats_have_names),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, chat_setup, chat_teardown);
}
