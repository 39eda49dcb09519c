/*
 * Histories in the forms that templates expect: arguments of calls, empty contents, text parts,
 * ids, tools with missing members. One small template of each kind.
 * SPDX-License-Identifier: MIT
 */
#include "../text_of.h"
#include "chat_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS(body)                                                                                \
    "{% for m in messages %}[{{ m.role }}]{{ m.content or '' }}"                                   \
    "{% for t in m.tool_calls or [] %}<{{ t.function.name }}>" body "{% endfor %}{% endfor %}"
static const char by_items[] =
    CALLS("{% for k, v in t.function.arguments.items() %}{{ k }}={{ v }};{% endfor %}");
static const char by_filter[] =
    CALLS("{% for k, v in t.function.arguments | items %}{{ k }}={{ v }};{% endfor %}");
static const char by_json[] = CALLS("{{ t.function.arguments | tojson }}");
static const char by_sum[] = CALLS("{{ '(' + t.function.arguments + ')' }}");
static const char by_print[] = CALLS("{{ t.function.arguments }}");
static const char by_either[] =
    CALLS("{% if t.function.arguments is string %}{{ t.function.arguments }}{% else %}"
          "{{ t.function.arguments | tojson }}{% endif %}");
static const char unseen[] = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}";

/* Renders a conversation with a call; `arguments` is the JSON after the name. */
static rendered render_call(const char *text, const char *content, const char *arguments) {
    static char json[1024];
    ggufx_chat_request request = {.struct_size = sizeof request};
    snprintf(json, sizeof json,
             "[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\"%s,\"tool_calls\":[{"
             "\"id\":\"a23456789\",\"type\":\"function\",\"function\":{\"name\":\"f\"%s}}]},"
             "{\"role\":\"tool\",\"tool_call_id\":\"a23456789\",\"content\":\"ok\"}]",
             content, arguments);
    request.messages_json = text_of(json);
    return render_with(text, &request);
}

static void assert_call(const char *text, const char *arguments, const char *want) {
    char whole[256];
    rendered r = render_call(text, ",\"content\":\"\"", arguments);
    if (r.status != GGUFX_OK) fail_msg("%s: %s", arguments, r.error.message);
    snprintf(whole, sizeof whole, "[user]hi[assistant]<f>%s[tool]ok", want);
    assert_string_equal(r.text, whole);
    rendered_free(&r);
}

static const char *const empty[] = {"",
                                    ",\"arguments\":null",
                                    ",\"arguments\":\"\"",
                                    ",\"arguments\":\" \\n\"",
                                    ",\"arguments\":\"null\"",
                                    ",\"arguments\":\"{}\"",
                                    ",\"arguments\":{}"};
#define AS_OBJECT ",\"arguments\":{\"a\":\"b\",\"n\":1}"
#define AS_TEXT ",\"arguments\":\"{\\\"a\\\":\\\"b\\\",\\\"n\\\":1}\""

static void test_arguments_are_what_the_template_takes(void **state) {
    static const struct {
        const char *text, *none, *some;
    } rows[] = {{by_items, "", "a=b;n=1;"},
                {by_filter, "", "a=b;n=1;"},
                {by_json, "{}", "{\"a\": \"b\", \"n\": 1}"},
                {by_either, "{}", "{\"a\": \"b\", \"n\": 1}"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t k = 0; k < sizeof empty / sizeof *empty; k++)
            assert_call(rows[i].text, empty[k], rows[i].none);
        assert_call(rows[i].text, AS_OBJECT, rows[i].some);
        assert_call(rows[i].text, AS_TEXT, rows[i].some);
    }
}

/* Arguments that are already JSON text stay unchanged, byte by byte. */
static void test_arguments_are_json_text_where_the_template_joins_them(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof empty / sizeof *empty; k++) {
        assert_call(by_sum, empty[k], "({})");
        assert_call(by_print, empty[k], "{}");
    }
    assert_call(by_sum, AS_OBJECT, "({\"a\": \"b\", \"n\": 1})");
    assert_call(by_sum, AS_TEXT, "({\"a\":\"b\",\"n\":1})");
    assert_call(by_print, AS_OBJECT, "{\"a\": \"b\", \"n\": 1}");
    assert_call(by_print, AS_TEXT, "{\"a\":\"b\",\"n\":1}");
    assert_call(by_print, ",\"arguments\":\"{\\\"a\\\":\"", "{\"a\":"); /* as the client sent it */
}

static void test_arguments_that_are_no_object_are_named(void **state) {
    static const struct {
        const char *arguments, *shown;
    } rows[] = {{",\"arguments\":\"{\\\"a\\\":\"", "{\"a\":"},
                {",\"arguments\":\"[1]\"", "[1]"},
                {",\"arguments\":[1]", "[1]"},
                {",\"arguments\":7", "7"},
                {",\"arguments\":\"\\\"{}\\\"\"", "\"{}\""}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char want[160];
        rendered r = render_call(by_items, ",\"content\":\"\"", rows[i].arguments);
        assert_int_equal(r.status, GGUFX_E_MALFORMED);
        assert_int_equal(r.error.index, 1);
        snprintf(want, sizeof want,
                 "messages[1].tool_calls[0].function.arguments is not a JSON object, but %s",
                 rows[i].shown);
        assert_string_equal(r.error.message, want);
        rendered_free(&r);
    }
}

static void assert_content(const char *text, const char *content, const char *want) {
    rendered r = render_call(text, content, AS_OBJECT);
    if (r.status != GGUFX_OK) fail_msg("%s", r.error.message);
    assert_string_equal(r.text, want);
    rendered_free(&r);
}

/* Some templates write calls only if the content is null; others print "None" for null or fail. */
static void test_the_absent_content_of_a_call_is_what_the_template_takes(void **state) {
    static const char if_none[] =
        "{% for m in messages %}{% if m.content is none %}<{{ m.tool_calls[0].function.arguments | "
        "tojson }}>{% else %}[{{ m.role }}]{{ m.content }}{% endif %}{% endfor %}";
    static const char prints[] = "{% for m in messages %}[{{ m.role }}]{{ m.content }}"
                                 "{% for t in m.tool_calls %}<{{ t.function.arguments | tojson }}>"
                                 "{% endfor %}{% endfor %}";
    static const char adds[] = "{% for m in messages %}{{ '[' + m.role + ']' + m.content }}"
                               "{% for t in m.tool_calls %}<{{ t.function.arguments | tojson }}>"
                               "{% endfor %}{% endfor %}";
    static const char turn[] = "{% for m in messages %}{% for t in m.tool_calls %}<{{ "
                               "t.function.arguments | tojson }}>{% endfor %}"
                               "{% if m.content is not none %}[{{ m.role }}]{{ m.content }}"
                               "{% endif %}{% endfor %}";
    static const char *const absent[] = {"", ",\"content\":null"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_content(if_none, absent[i], "[user]hi<{\"a\": \"b\", \"n\": 1}>[tool]ok");
        assert_content(prints, absent[i], "[user]hi[assistant]<{\"a\": \"b\", \"n\": 1}>[tool]ok");
        assert_content(adds, absent[i], "[user]hi[assistant]<{\"a\": \"b\", \"n\": 1}>[tool]ok");
        assert_content(turn, absent[i], "[user]hi<{\"a\": \"b\", \"n\": 1}>[tool]ok");
    }
    assert_content(turn, ",\"content\":\"\"",
                   "[user]hi<{\"a\": \"b\", \"n\": 1}>[assistant][tool]ok");
    assert_content(prints, ",\"content\":\"None\"",
                   "[user]hi[assistant]None<{\"a\": \"b\", \"n\": 1}>[tool]ok");
}

static rendered render_messages(const char *text, const char *messages, const char *tools) {
    ggufx_chat_request request = {.struct_size = sizeof request};
    request.messages_json = text_of(messages);
    request.tools = text_of(tools);
    request.flags = GGUFX_CHAT_CLOCK;
    return render_with(text, &request);
}

static void assert_messages(const char *text, const char *messages, const char *tools,
                            const char *want) {
    rendered r = render_messages(text, messages, tools);
    if (r.status != GGUFX_OK) fail_msg("%s: %s", messages, r.error.message);
    assert_string_equal(r.text, want);
    rendered_free(&r);
}

#define PART(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
static void test_text_parts_are_parts_where_the_template_takes_parts(void **state) {
    static const char takes_both[] =
        "{% for m in messages %}[{{ m.role }}]{% if m.content is string %}{{ m.content }}{% else %}"
        "{% for p in m.content %}{{ p.text }}/{% endfor %}{% endif %}{% endfor %}";
    static const char takes_parts[] = "{% for m in messages %}[{{ m.role }}]{% for p in m.content "
                                      "%}{{ p.text }}/{% endfor %}{% endfor %}";
    static const char takes_text[] = "{% for m in messages %}[{{ m.role }}]{{ m.content + '/' }}"
                                     "{% endfor %}";
    static const char users_alone[] = /* accepts both only for the user */
        "{% for m in messages %}[{{ m.role }}]{% if m.role == 'user' and m.content is not string %}"
        "{% for p in m.content %}{{ p.text }}/{% endfor %}{% else %}{{ m.content }}{% endif %}"
        "{% endfor %}";
    static const char parts[] = "[{\"role\":\"system\",\"content\":[" PART(
        "a") "]},{\"role\":"
             "\"user\",\"content\":[" PART("b") "," PART("c") "]}]";
    static const char texts[] = "[{\"role\":\"system\",\"content\":\"a\"},{\"role\":\"user\","
                                "\"content\":\"bc\"}]";
    static const char image[] = "[{\"role\":\"user\",\"content\":[" PART("b") ",{\"type\":"
                                                                              "\"image\"}]}]";
    (void)state;
    assert_messages(takes_both, parts, NULL, "[system]a/[user]b/c/");
    assert_messages(takes_both, texts, NULL, "[system]a[user]bc");
    assert_messages(takes_parts, parts, NULL, "[system]a/[user]b/c/");
    assert_messages(takes_parts, texts, NULL, "[system]a/[user]bc/");
    assert_messages(takes_text, parts, NULL, "[system]a/[user]bc/");
    assert_messages(unseen, parts, NULL, "[system]a[user]bc");
    assert_messages(users_alone, parts, NULL, "[system]a[user]b/c/");
    assert_messages(unseen, "[{\"role\":\"user\",\"content\":[]}]", NULL, "[user]");
    rendered r = render_messages(takes_text, image, NULL); /* not only text: unchanged */
    assert_int_equal(r.status, GGUFX_E_VALUE);
    rendered_free(&r);
}

/* Joined parts keep the user's origin. */
static void test_joined_parts_are_the_users(void **state) {
    char who[64];
    (void)state;
    rendered r = render_messages(
        unseen, "[{\"role\":\"user\",\"content\":[" PART("b") "," PART("c") "]}]", NULL);
    assert_string_equal(r.text, "[user]bc");
    origins(who, &r);
    assert_string_equal(who, "ttttttuu");
    rendered_free(&r);
}

static void test_empty_calls_are_none(void **state) {
    static const char text[] = "{% for m in messages %}{% if 'tool_calls' in m %}calls{% else %}"
                               "{{ m.content }}{% endif %}{% endfor %}";
    (void)state;
    for (int i = 0; i < 2; i++)
        assert_messages(text,
                        i ? "[{\"role\":\"assistant\",\"content\":\"a\",\"tool_calls\":[]}]"
                          : "[{\"role\":\"assistant\",\"content\":\"a\",\"tool_calls\":null}]",
                        NULL, "a");
}

static void test_reasoning_has_the_name_that_the_template_reads(void **state) {
    static const char *const names[] = {"reasoning_content", "thinking", "reasoning", "thought"};
    static const char messages[] =
        "[{\"role\":\"assistant\",\"reasoning_content\":\"why\",\"content\":\"so\"}]";
    char text[256];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(text, sizeof text,
                 "{%% for m in messages %%}({{ m.%s }}){{ m.content or '' }}{%% endfor %%}",
                 names[i]);
        assert_messages(text, messages, NULL, "(why)so");
    }
    /* A template that refuses both gets only the content. */
    assert_messages("{% for m in messages %}{% if m.thinking and m.content %}"
                    "{{ raise_exception('both') }}{% endif %}{{ m.thinking }}{{ m.content }}"
                    "{% endfor %}",
                    messages, NULL, "so");
}

static void test_tools_may_lack_members(void **state) {
    static const char strict[] =
        "{% for t in tools %}{{ t.function.name + ':' + t.function.description + ':' + "
        "t.function.parameters.type }}{% for k, v in t.function.parameters.properties.items() %}"
        "{{ ' ' + k + ' ' + v.description }}{% endfor %};{% endfor %}";
    static const char easy[] = "{{ tools | tojson }}";
    static const char hi[] = "[{\"role\":\"user\",\"content\":\"hi\"}]";
    static const char bare[] = "[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]";
    (void)state;
    assert_messages(strict, hi, bare, "f::object;");
    assert_messages(strict, hi,
                    "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"description\":null,"
                    "\"parameters\":null}}]",
                    "f::object;");
    assert_messages(strict, hi,
                    "[{\"function\":{\"name\":\"f\",\"description\":\"d\",\"parameters\":{"
                    "\"properties\":{\"a\":{\"type\":\"string\"},\"b\":true}}}}]",
                    "f:d:object a  b ;");
    /* If the template misses nothing, nothing is added. */
    assert_messages(easy, hi, bare, "[{\"type\": \"function\", \"function\": {\"name\": \"f\"}}]");
    rendered r = render_messages("{{ other + 'x' }}", hi, bare); /* its own fault */
    assert_int_equal(r.status, GGUFX_E_VALUE);
    assert_non_null(strstr(r.error.message, "'other' is undefined"));
    rendered_free(&r);
}

/* Templates of Mistral models require such ids. */
static void test_ids_are_made_where_the_template_refuses_those_there_are(void **state) {
    static const char strict[] =
        "{% for m in messages %}{% for t in m.tool_calls or [] %}{% if t.id is not defined or "
        "t.id | length != 9 %}{{ raise_exception('ids have 9 letters') }}{% endif %}<{{ t.id }}>"
        "{% endfor %}{% if m.role == 'tool' %}{{ m.tool_call_id }}={{ m.content }};{% endif %}"
        "{% endfor %}";
    static const char any[] = "{{ messages[0].tool_calls[0].id }}";
#define CALL(id) "{\"type\":\"function\"" id ",\"function\":{\"name\":\"f\",\"arguments\":{}}}"
    static const char without[] = "[{\"role\":\"assistant\",\"tool_calls\":[" CALL("") "," CALL(
        "") "]},{\"role\":\"tool\","
            "\"content\":\"x\"},{\"role\":\"tool\",\"content\":\"y\"},{\"role\":\"assistant\","
            "\"tool_calls\":[" CALL("") "]},{\"role\":\"tool\",\"content\":\"z\"}]";
    static const char longer[] =
        "[{\"role\":\"assistant\",\"tool_calls\":[" CALL(",\"id\":\"call_abcdef\"") "," CALL(
            ",\"id\":\"b23456789\"") "]},{\"role\":\"tool\",\"content\":\"y\",\"tool_call_id\":"
                                     "\"b23456789\"},{\"role\":\"tool\",\"content\":\"x\",\"tool_"
                                     "call_id\":\"call_abcdef\"}]";
    (void)state;
    assert_messages(strict, without, NULL,
                    "<call00001><call00002>call00001=x;call00002=y;<call00003>call00003=z;");
    assert_messages(strict, longer, NULL, "<call00001><b23456789>b23456789=y;call00001=x;");
    assert_messages(any, longer, NULL, "call_abcdef");
}

/* Templates older than the variable `tools`, and those of an engine whose filters return lists. */
static void test_templates_of_other_engines_find_their_variables(void **state) {
    static const char hi[] = "[{\"role\":\"user\",\"content\":\"hi\"}]";
    static const char tools[] = "[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]";
    (void)state;
    assert_messages("{{ functions + '|' + datetime }}", hi, tools,
                    "[\n    {\n        \"name\": \"f\",\n        \"description\": \"\",\n"
                    "        \"parameters\": {\n            \"type\": \"object\",\n"
                    "            \"additionalProperties\": {},\n            \"properties\": {}\n"
                    "        }\n    }\n]|1970-01-01 00:00:00");
    assert_messages("{{ functions + '|' }}", hi, NULL, "[]|");
    assert_messages("{{ tools | map(attribute='function') | map(attribute='name') | tojson }}", hi,
                    tools, "[\"f\"]");
    assert_messages("{{ functions is defined }}", hi, tools, "False");
}

static void test_several_system_messages_are_one_where_the_template_refuses_them(void **state) {
    static const char one[] = "{% for m in messages %}{% if m.role == 'system' and not loop.first "
                              "%}{{ raise_exception('first') }}{% endif %}[{{ m.role }}]"
                              "{{ m.content }}{% endfor %}";
    static const char systems[] = "[{\"role\":\"system\",\"content\":\"a\"},{\"role\":\"system\","
                                  "\"content\":[" PART("b") "]},{\"role\":\"user\",\"content\":"
                                                            "\"c\"}]";
    (void)state;
    assert_messages(one, systems, NULL, "[system]a\n\nb[user]c");
    assert_messages(unseen, systems, NULL, "[system]a[system]b[user]c");
    rendered r = render_messages(one,
                                 "[{\"role\":\"user\",\"content\":\"c\"},{\"role\":\"system\","
                                 "\"content\":\"a\"}]",
                                 NULL);
    assert_int_equal(r.status, GGUFX_E_MISMATCH);
    rendered_free(&r);
}

static void test_several_calls_are_several_messages_where_the_template_takes_one(void **state) {
    static const char one[] =
        "{% for m in messages %}{% if (m.tool_calls or []) | length > 1 %}"
        "{{ raise_exception('one') }}{% endif %}[{{ m.role }}]{{ m.content }}"
        "{% for t in m.tool_calls %}<{{ t.function.name }}>{% endfor %}{% endfor %}";
    static const char any[] =
        "{% for m in messages %}{{ (m.tool_calls or []) | length }}{% endfor %}";
#define NAMED(name) "{\"type\":\"function\",\"function\":{\"name\":\"" name "\"}}"
#define RESULT(text) "{\"role\":\"tool\",\"content\":\"" text "\"}"
    static const char both[] =
        "[{\"role\":\"assistant\",\"content\":\"x\",\"tool_calls\":[" NAMED("f") "," NAMED(
            "g") "]}," RESULT("1") "," RESULT("2") ",{\"role\":\"user\",\"content\":\"y\"}]";
    static const char early[] =
        "[{\"role\":\"assistant\",\"tool_calls\":[" NAMED("f") "," NAMED("g") "]}," RESULT("1") "]";
    (void)state;
    assert_messages(one, both, NULL, "[assistant]x<f>[tool]1[assistant]<g>[tool]2[user]y");
    assert_messages(one, early, NULL, "[assistant]<f>[tool]1[assistant]<g>");
    assert_messages(any, both, NULL, "2000");
}

/* ---- calls that a template leaves out ---- */

#define MESSAGES(body) "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}" body
/* Each names the markers of its models' calls, and renders none. */
static const char lists[] = "{% if tools %}<|tool_call|>{% endif %}" MESSAGES("");
static const char python[] = "{% if tools %}<|tool_list_start|>{% endif %}" MESSAGES("");
static const char lines[] = "{% if tools %}<tool_call>{% endif %}" MESSAGES("");
static const char tags[] = "{% if tools %}<function=><parameter=>{% endif %}" MESSAGES("");
static const char actions[] = "{% if tools %}Action: ```json{% endif %}" MESSAGES("");

#define TWO                                                                                        \
    "[{\"role\":\"assistant\",\"content\":%s,\"tool_calls\":[{\"type\":\"function\",\"function\":" \
    "{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":\\\"b \\\\\\\"c\\\\\\\"\\\",\\\"n\\\":1.50}\"}},"  \
    "{\"type\":\"function\",\"function\":{\"name\":\"g\",\"arguments\":{\"l\":[true,null],\"o\":"  \
    "{\"k\":\"v\"}}}}]},{\"role\":\"tool\",\"content\":\"1\"}]"

static void test_calls_that_a_template_leaves_out_become_content(void **state) {
    static const struct {
        const char *text, *content, *want;
    } rows[] = {
        {lists, "null",
         "[assistant]<|tool_call|>[{\"name\": \"f\", \"arguments\": {\"a\":\"b \\\"c\\\"\","
         "\"n\":1.50}}, {\"name\": \"g\", \"arguments\": {\"l\": [true, null], \"o\": "
         "{\"k\": \"v\"}}}][tool]1"},
        {python, "\"\"",
         "[assistant]<|tool_call_start|>[f(a=\"b \\\"c\\\"\", n=1.50), g(l=[True, None], "
         "o={\"k\": \"v\"})]<|tool_call_end|>[tool]1"},
        {python, "\"Yes.\"",
         "[assistant]Yes.<|tool_call_start|>[f(a=\"b \\\"c\\\"\", n=1.50), g(l=[True, None], "
         "o={\"k\": \"v\"})]<|tool_call_end|>[tool]1"},
        {lines, "\"Yes.\"",
         "[assistant]Yes.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\":\"b \\\"c\\\"\","
         "\"n\":1.50}}\n</tool_call>\n<tool_call>\n{\"name\": \"g\", \"arguments\": {\"l\": "
         "[true, null], \"o\": {\"k\": \"v\"}}}\n</tool_call>[tool]1"},
        {lines, "[" PART("Yes.") "]",
         "[assistant]Yes.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\":\"b \\\"c\\\"\","
         "\"n\":1.50}}\n</tool_call>\n<tool_call>\n{\"name\": \"g\", \"arguments\": {\"l\": "
         "[true, null], \"o\": {\"k\": \"v\"}}}\n</tool_call>[tool]1"},
        {tags, "\"\"",
         "[assistant]<tool_call>\n<function=f>\n<parameter=a>\nb \"c\"\n</parameter>\n"
         "<parameter=n>\n1.50\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n"
         "<function=g>\n<parameter=l>\n[true, null]\n</parameter>\n<parameter=o>\n{\"k\": \"v\"}"
         "\n</parameter>\n</function>\n</tool_call>[tool]1"},
        {actions, "\"Yes.\"",
         "[assistant]Yes.\nAction: ```json\n[\n    {\n        \"tool_name\": \"f\",\n"
         "        \"parameters\": {\"a\":\"b \\\"c\\\"\",\"n\":1.50}\n    },\n    {\n"
         "        \"tool_name\": \"g\",\n        \"parameters\": {\"l\": [true, null], \"o\": "
         "{\"k\": \"v\"}}\n    }\n]```[tool]1"},
        /* The form of calls is not known. */
        {unseen, "\"Yes.\"", "[assistant]Yes.[tool]1"},
    };
    char json[1024];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(json, sizeof json, TWO, rows[i].content);
        assert_messages(rows[i].text, json, NULL, rows[i].want);
    }
}

/* Markers become control tokens, text of a client does not. */
static void test_markers_of_written_calls_are_the_templates(void **state) {
    char who[128];
    (void)state;
    rendered r = render_messages(
        python,
        "[{\"role\":\"assistant\",\"content\":\"a\",\"tool_calls\":[{\"function\":{\"name\":"
        "\"<|f|>\",\"arguments\":{\"k\":\"<|v|>\",\"<|n|>\":1}}}]}]",
        NULL);
    if (r.status != GGUFX_OK) fail_msg("%s", r.error.message);
    assert_string_equal(r.text, "[assistant]a<|tool_call_start|>[<|f|>(k=\"<|v|>\", <|n|>=1)]"
                                "<|tool_call_end|>");
    origins(who, &r);
    assert_string_equal(who, "tttttttttttutttttttttttttttttttt"
                             "uuuuututuuuuuuuttuuuuututt"
                             "ttttttttttttttttt");
    rendered_free(&r);
}

static void test_arguments_of_written_calls_are_objects(void **state) {
    static const struct {
        const char *arguments, *want;
    } rows[] = {{"", "{}"},
                {",\"arguments\":null", "{}"},
                {",\"arguments\":\" \"", "{}"},
                {",\"arguments\":\"null\"", "{}"},
                {",\"arguments\":\" {\\\"a\\\": 1}\\n\"", "{\"a\": 1}"},
                {",\"arguments\":\"[1]\"", NULL},
                {",\"arguments\":7", NULL}};
    char want[128];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rendered r = render_call(lists, ",\"content\":null", rows[i].arguments);
        if (rows[i].want) {
            snprintf(want, sizeof want,
                     "[user]hi[assistant]<|tool_call|>[{\"name\": \"f\", \"arguments\": %s}]"
                     "[tool]ok",
                     rows[i].want);
            assert_string_equal(r.text, want);
        } else {
            assert_int_equal(r.status, GGUFX_E_MALFORMED);
            assert_int_equal(r.error.index, 1);
            assert_non_null(strstr(r.error.message, "arguments is not a JSON object"));
        }
        rendered_free(&r);
    }
}

/* DeepSeek's first templates write calls where the content is null alone. */
static void test_content_does_not_hide_calls(void **state) {
    static const char either[] =
        "{% for m in messages %}[{{ m.role }}]{% if m.content is not none %}{{ m.content }}"
        "{% else %}{% for t in m.tool_calls %}<tool_call>\n{{ '{\"name\": \"' + t.function.name + "
        "'\", \"arguments\": ' + t.function.arguments + '}' }}\n</tool_call>{% endfor %}"
        "{% endif %}{% endfor %}";
#define WRITTEN "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\":\"b\",\"n\":1}}\n</tool_call>"
    static const char *const contents[][2] = {{"", ""},
                                              {",\"content\":null", ""},
                                              {",\"content\":\"\"", ""},
                                              {",\"content\":\"Yes.\"", "Yes.\n"}};
    char want[256];
    (void)state;
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        rendered r = render_call(either, contents[i][0], AS_TEXT);
        if (r.status != GGUFX_OK) fail_msg("%s", r.error.message);
        snprintf(want, sizeof want, "[user]hi[assistant]%s" WRITTEN "[tool]ok", contents[i][1]);
        assert_string_equal(r.text, want);
        rendered_free(&r);
    }
}

static rendered render_continued(const char *text, const char *messages, uint32_t flags) {
    ggufx_chat_request request = {.struct_size = sizeof request};
    request.messages_json = text_of(messages);
    request.flags = flags;
    return render_with(text, &request);
}

static void test_the_last_message_goes_on(void **state) {
    static const char turns[] = "{% for m in messages %}<{{ m.role }}>"
                                "{% if m.reasoning_content %}({{ m.reasoning_content }}){% endif %}"
                                "{{ m.content | trim }}</>{% endfor %}"
                                "{% if add_generation_prompt %}<assistant>{% endif %}end";
    static const struct {
        const char *message, *want;
    } rows[] = {
        {"\"content\":\"so \"", "<user>hi</><assistant>so "},
        {"\"content\":\"\"", "<user>hi</><assistant>"},
        {"\"content\":null", "<user>hi</><assistant>"},
        {"\"content\":\"so\",\"reasoning_content\":\"why\"", "<user>hi</><assistant>(why)so"},
        {"\"content\":\"\",\"reasoning_content\":\"why \"", "<user>hi</><assistant>(why "},
        {"\"content\":[" PART("a") "," PART("b ") "]", "<user>hi</><assistant>ab "}};
    char json[256], who[64];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(json, sizeof json,
                 "[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\",%s}]",
                 rows[i].message);
        rendered r = render_continued(turns, json, GGUFX_CHAT_CONTINUE);
        if (r.status != GGUFX_OK) fail_msg("%s: %s", json, r.error.message);
        assert_string_equal(r.text, rows[i].want);
        origins(who, &r);
        if (i == 0) assert_string_equal(who, "ttttttuuttttttttttttttuuu");
        rendered_free(&r);
    }
    const struct {
        const char *text, *messages;
        uint32_t flags;
        ggufx_status status;
    } faults[] = {{turns, "[]", GGUFX_CHAT_CONTINUE, GGUFX_E_ARGUMENT},
                  {turns, json, GGUFX_CHAT_CONTINUE | GGUFX_CHAT_GENERATE, GGUFX_E_ARGUMENT},
                  {"{{ messages[0].content }}", json, GGUFX_CHAT_CONTINUE, GGUFX_E_UNSUPPORTED},
                  {turns, "[{\"role\":\"assistant\",\"content\":[{\"type\":\"image\"}]}]",
                   GGUFX_CHAT_CONTINUE, GGUFX_E_ARGUMENT}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        rendered r = render_continued(faults[i].text, faults[i].messages, faults[i].flags);
        assert_int_equal(r.status, faults[i].status);
        rendered_free(&r);
    }
}

static ggufx_status render_history(void *context, ggufx_runtime *rt, ggufx_error *error) {
    static const char messages[] = "[{\"role\":\"user\",\"content\":[" PART("a") "," PART(
        "b") "]},{\"role\":\"assistant\","
             "\"tool_calls\":[" CALL("") "]},{\"role\":\"tool\",\"content\":\"x\"}]";
    ggufx_chat_template_options options = {.struct_size = sizeof options};
    ggufx_chat_request request = {.struct_size = sizeof request};
    ggufx_chat_template *chat = NULL;
    const char *const *const texts = context; /* a template and what it renders */
    char text[256];
    size_t n = 0;
    options.text = text_of(texts[0]);
    request.messages_json = text_of(messages);
    ggufx_status status = ggufx_chat_template_create(&chat, rt, NULL, &options, error);
    if (status != GGUFX_OK) return status;
    status = ggufx_chat_template_render(text, sizeof text, &n, chat, &request, error);
    if (status == GGUFX_OK) assert_memory_equal(text, texts[1], strlen(texts[1]));
    ggufx_chat_template_destroy(chat);
    return status;
}

static void test_every_allocation_may_fail(void **state) {
    static const char *const texts[][2] = {
        {"{% for m in messages %}{{ m.content }}{% for t in m.tool_calls %}{{ t.id + "
         "t.function.arguments }}{% endfor %}{% endfor %}",
         "abcall00001{}x"},
        {python, "[user]ab[assistant]<|tool_call_start|>[f()]<|tool_call_end|>[tool]x"}};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_true(fault_run(render_history, (void *)(uintptr_t)texts[i]) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments_are_what_the_template_takes),
        cmocka_unit_test(test_arguments_are_json_text_where_the_template_joins_them),
        cmocka_unit_test(test_arguments_that_are_no_object_are_named),
        cmocka_unit_test(test_the_absent_content_of_a_call_is_what_the_template_takes),
        cmocka_unit_test(test_text_parts_are_parts_where_the_template_takes_parts),
        cmocka_unit_test(test_joined_parts_are_the_users),
        cmocka_unit_test(test_empty_calls_are_none),
        cmocka_unit_test(test_reasoning_has_the_name_that_the_template_reads),
        cmocka_unit_test(test_tools_may_lack_members),
        cmocka_unit_test(test_ids_are_made_where_the_template_refuses_those_there_are),
        cmocka_unit_test(test_templates_of_other_engines_find_their_variables),
        cmocka_unit_test(test_several_system_messages_are_one_where_the_template_refuses_them),
        cmocka_unit_test(test_several_calls_are_several_messages_where_the_template_takes_one),
        cmocka_unit_test(test_calls_that_a_template_leaves_out_become_content),
        cmocka_unit_test(test_markers_of_written_calls_are_the_templates),
        cmocka_unit_test(test_arguments_of_written_calls_are_objects),
        cmocka_unit_test(test_content_does_not_hide_calls),
        cmocka_unit_test(test_the_last_message_goes_on),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, chat_setup, chat_teardown);
}
