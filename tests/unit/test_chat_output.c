/*
 * What models say, told apart: each style, each cut of the text, and what is no mark.
 * SPDX-License-Identifier: MIT
 */
#include "chat_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Events as text: "A:..." answer, "R:..." reasoning, "N0:..." name, "J0:..." arguments. */
typedef struct told {
    char text[4096];
    size_t n;
    uint32_t kind;
    uint64_t call;
    unsigned stop_at, count;
} told;

static int32_t on_event(void *user, uint32_t kind, uint64_t call, const char *text, size_t length) {
    told *t = user;
    if (t->stop_at && ++t->count == t->stop_at) return 1;
    assert_true(length > 0);
    assert_true(((uint8_t)text[0] & 0xc0) != 0x80); /* no part of a character */
    assert_true(kind >= 1 && kind <= 4);
    assert_true(t->n + length + 32 < sizeof t->text);
    if (kind != t->kind || call != t->call) {
        t->n += (size_t)sprintf(t->text + t->n, "%s%c", t->n ? "\n" : "", "?ARNJ"[kind]);
        if (kind >= 3) t->n += (size_t)sprintf(t->text + t->n, "%d", (int)call);
        t->text[t->n++] = ':';
    }
    memcpy(t->text + t->n, text, length);
    t->n += length;
    t->text[t->n] = 0;
    t->kind = kind;
    t->call = call;
    return 0;
}

static ggufx_chat_parser *parser_of(told *t, uint32_t styles, const char *prompt,
                                    const char *tools) {
    ggufx_chat_parser_options options;
    ggufx_chat_parser *parser = NULL;
    ggufx_error error;
    ggufx_chat_parser_options_init(&options);
    options.styles = styles;
    options.prompt = prompt;
    options.prompt_length = prompt ? strlen(prompt) : 0;
    options.tools = tools;
    options.tools_length = tools ? strlen(tools) : 0;
    options.user = t;
    options.event = on_event;
    if (ggufx_chat_parser_create(&parser, chat_rt, &options, &error)) fail_msg("%s", error.message);
    return parser;
}

static void feed(ggufx_chat_parser *parser, const char *text, size_t n) {
    assert_int_equal(ggufx_chat_parser_feed(parser, text, n, NULL), GGUFX_OK);
}

typedef struct output {
    uint32_t styles;
    const char *prompt, *text, *want;
} output;

#define TOOLS                                                                                      \
    "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"properties\":{"        \
    "\"s\":{\"type\":\"string\"},\"n\":{\"type\":\"integer\"}}}}}]"
enum {
    THINK = 1,
    BRACKET = 2,
    GEMMA = 4,
    HARMONY = 8,
    HERMES = 16,
    XML = 32,
    MISTRAL = 64,
    LLAMA = 128
};

static const output outputs[] = {
    {0, NULL, "plain <think>x</think> <tool_call>{}", "A:plain <think>x</think> <tool_call>{}"},
    {THINK, NULL, "<think>\nhm\n\n</think>\n\nHi <b>there\n", "R:hm\nA:Hi <b>there\n"},
    {THINK, NULL, "\n <think>a\n\nb</think>c", "A:\n \nR:a\n\nb\nA:c"},
    {THINK, NULL, "No <think>x</think>", "A:No <think>x</think>"},
    {THINK, NULL, "<think></think>\nyes", "A:yes"},
    {THINK, NULL, "<think>never closed </thin", "R:never closed </thin"},
    {THINK, "<|assistant|>\n<think>\n", "inside</think>out", "R:inside\nA:out"},
    {THINK, "<think>\n\n</think>\n\n", "out", "A:out"},
    {THINK, NULL, "<thi", "A:<thi"},
    {THINK, NULL, "<\xc3\xa9\xf0\x9f\x98\x80>", "A:<\xc3\xa9\xf0\x9f\x98\x80>"},
    {THINK, NULL, "a\xff\xc3z\xf0\x9f\x98", "A:a\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd"},
    {BRACKET, NULL, "[THINK]a[b][/THINK]c[/THINK]", "R:a[b]\nA:c[/THINK]"},
    {GEMMA, NULL, "<|channel>thought\nhm\n<channel|>ok", "R:hm\nA:ok"},
    {HARMONY, NULL,
     "<|channel|>analysis<|message|>hm\n<|end|><|start|>assistant<|channel|>final<|message|>Hi<|"
     "return|>",
     "R:hm\nA:Hi"},
    {HARMONY, NULL,
     "<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>commentary "
     "to=functions.f <|constrain|>json<|message|>{\"a\":1,\n\"b\":2}<|call|>",
     "R:x\nN0:f\nJ0:{\"a\":1,\n\"b\":2}"},
    {HARMONY, NULL,
     "<|start|>assistant to=functions.g<|channel|>commentary json<|message|>{}<|call|>"
     "<|start|>assistant<|channel|>commentary<|message|>Now.<|end|>",
     "N0:g\nJ0:{}\nA:Now."},
    {HARMONY, NULL, "plain, with no header", "A:plain, with no header"},
    {HARMONY, NULL, "a", "A:a"},
    {HARMONY, NULL, "<|channel|>fin", ""},
    {HARMONY, NULL, "<|channel|>final<|message|>a < b <| c", "A:a < b <| c"},
    {HERMES, NULL,
     "Look:\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"}\\\"{\", \"b\": "
     "1.50}}\n</tool_call>\n"
     "<tool_call>{\"name\":\"g\",\"arguments\":\"{\\\"x\\\":1}\"}</tool_call>\ndone",
     "A:Look:\nN0:f\nJ0:{\"a\": \"}\\\"{\", \"b\": 1.50}\nN1:g\nJ1:{\"x\":1}\nA:done"},
    {HERMES, NULL, "<tool_call>{\"name\": 5}</tool_call>x",
     "A:<tool_call>{\"name\": 5}</tool_call>x"},
    {HERMES, NULL, "a\n<tool_call>not", "A:a\n<tool_call>not"},
    {HERMES, NULL, "<tool_call> {\"name\": \"f\", \"argum",
     "A:<tool_call> {\"name\": \"f\", \"argum"},
    {HERMES, NULL, "<tool_call>{\"name\":\"f\",\"arguments\":{}} more", "N0:f\nJ0:{}\nA:more"},
    {HERMES | THINK, NULL,
     "<think>\nuse it "
     "<tool_call></think>\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call><think>b</"
     "think>c",
     "R:use it <tool_call>\nN0:f\nJ0:{}\nR:b\nA:c"},
    {XML, NULL,
     "<tool_call>\n<function=f>\n<parameter=s>\n12\n</parameter>\n<parameter=n>\n12\n</parameter>\n"
     "<parameter=t>\na <b>\n\"c\"\n</parameter>\n<parameter=l>[1, {\"x\": "
     "null}]</parameter>\n</function>\n</tool_call>\nok",
     "N0:f\nJ0:{\"s\": \"12\", \"n\": 12, \"t\": \"a <b>\\n\\\"c\\\"\", \"l\": [1, {\"x\": "
     "null}]}\nA:ok"},
    {XML, NULL, "<function=g></function> <function=h>\n</function>", "N0:g\nJ0:{}\nN1:h\nJ1:{}"},
    {XML, NULL, "<function=g>junk</function>", "A:<function=g>junk</function>"},
    {XML, NULL, "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>", "N0:f\nJ0:{}"},
    {MISTRAL, NULL, "[TOOL_CALLS]f[ARGS]{\"a\": [1]}[TOOL_CALLS]g[CALL_ID]12[ARGS]{}",
     "N0:f\nJ0:{\"a\": [1]}\nN1:g\nJ1:{}"},
    {MISTRAL, NULL,
     "Hi[TOOL_CALLS] [{\"name\":\"f\",\"arguments\":{\"a\":1},\"id\":\"x\"}, "
     "{\"name\":\"g\",\"arguments\":{}}]",
     "A:Hi\nN0:f\nJ0:{\"a\":1}\nN1:g\nJ1:{}"},
    {MISTRAL, NULL, "[TOOL_CALLS]oops", "A:[TOOL_CALLS]oops"},
    {MISTRAL, NULL, "[TOOL", "A:[TOOL"},
    {LLAMA, NULL, "{\"name\": \"f\", \"parameters\": {\"a\": 1}}", "N0:f\nJ0:{\"a\": 1}"},
    {LLAMA, NULL,
     "<|python_tag|>{\"type\":\"function\",\"name\":\"f\",\"parameters\":{}}; "
     "{\"name\":\"g\",\"parameters\":{}}",
     "N0:f\nJ0:{}\nN1:g\nJ1:{}"},
    {LLAMA, NULL, "{\"x\": 1} is JSON", "A:{\"x\": 1} is JSON"},
    {LLAMA, NULL, "{ open", "A:{ open"},
    {LLAMA, NULL, "<|python_tag|>print(1)", "A:<|python_tag|>print(1)"},
    {255, NULL, "<|channel|>final<|message|>x", "A:x"},
};

static void check(const output *o, const told *t, const char *how) {
    if (strcmp(t->text, o->want) != 0)
        fail_msg("%s (%s):\n%s\nnot\n%s", o->text, how, t->text, o->want);
}

static void test_outputs_are_told_apart_at_every_cut(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        const output *o = &outputs[i];
        const size_t n = strlen(o->text);
        for (size_t cut = 0; cut <= n + 1; cut++) { /* n + 1: byte by byte */
            told t = {0};
            ggufx_chat_parser *parser = parser_of(&t, o->styles, o->prompt, TOOLS);
            char how[32];
            snprintf(how, sizeof how, "cut %d", (int)cut);
            if (cut <= n) {
                feed(parser, o->text, cut);
                feed(parser, o->text + cut, n - cut);
            }
            for (size_t k = 0; cut > n && k < n; k++) feed(parser, o->text + k, 1);
            assert_int_equal(ggufx_chat_parser_finish(parser, NULL), GGUFX_OK);
            assert_int_equal(ggufx_chat_parser_finish(parser, NULL), GGUFX_E_STATE);
            assert_int_equal(ggufx_chat_parser_feed(parser, "x", 1, NULL), GGUFX_E_STATE);
            ggufx_chat_parser_destroy(parser);
            check(o, &t, how);
        }
    }
}

static void test_an_answer_is_told_at_once(void **state) {
    told t = {0};
    (void)state;
    ggufx_chat_parser *parser = parser_of(&t, THINK | HERMES, NULL, NULL);
    feed(parser, "Hel", 3);
    assert_string_equal(t.text, "A:Hel");
    feed(parser, "lo <", 4);
    assert_string_equal(t.text, "A:Hello ");
    feed(parser, "b", 1);
    assert_string_equal(t.text, "A:Hello <b");
    ggufx_chat_parser_destroy(parser);
}

/* Of one feed, not only with the next one or at the end. */
static void test_what_stands_behind_a_call_is_told_at_once(void **state) {
    static const output cases[] = {
        {HERMES, NULL, "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>b ",
         "N0:f\nJ0:{}\nA:b "},
        {XML, NULL, "<tool_call><function=f></function></tool_call>b ", "N0:f\nJ0:{}\nA:b "},
        {MISTRAL, NULL, "[TOOL_CALLS]f[ARGS]{}b ", "N0:f\nJ0:{}\nA:b "},
        {LLAMA, NULL, "{\"name\":\"f\",\"parameters\":{}}b ", "N0:f\nJ0:{}\nA:b "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        told t = {0};
        ggufx_chat_parser *parser = parser_of(&t, cases[i].styles, NULL, NULL);
        feed(parser, cases[i].text, strlen(cases[i].text));
        check(&cases[i], &t, "one feed");
        ggufx_chat_parser_destroy(parser);
    }
}

static void test_styles_come_from_the_template(void **state) {
    static const struct {
        const char *text;
        uint32_t styles;
    } cases[] = {
        {"{{ '<think>' }}{{ '<tool_call>' }}", THINK | HERMES},
        {"<tool_call><function=x>", XML},
        {"<tool_call><arg_key>", 0},
        {"[TOOL_CALLS][THINK]", MISTRAL | BRACKET},
        {"<|channel|><|message|>", HARMONY},
        {"<|channel>thought", GEMMA},
        {"<|start_header_id|>ipython", LLAMA},
        {"x", 0},
    };
    (void)state;
    assert_int_equal(ggufx_chat_styles(NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ggufx_chat_options options;
        ggufx_chat *chat = NULL;
        ggufx_chat_options_init(&options);
        options.text = cases[i].text;
        options.text_length = strlen(cases[i].text);
        assert_int_equal(ggufx_chat_create(&chat, chat_rt, NULL, &options, NULL), GGUFX_OK);
        assert_int_equal(ggufx_chat_styles(chat), cases[i].styles);
        ggufx_chat_destroy(chat);
    }
}

static void test_calls_of_the_parser_are_checked(void **state) {
    ggufx_chat_parser_options options;
    ggufx_chat_parser *parser = NULL;
    told t = {.stop_at = 1};
    (void)state;
    ggufx_chat_parser_options_init(&options);
    assert_int_equal(ggufx_chat_parser_create(&parser, chat_rt, &options, NULL), GGUFX_E_ARGUMENT);
    options.event = on_event;
    assert_int_equal(ggufx_chat_parser_create(NULL, chat_rt, &options, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_chat_parser_create(&parser, NULL, &options, NULL), GGUFX_E_ARGUMENT);
    options.styles = 256;
    assert_int_equal(ggufx_chat_parser_create(&parser, chat_rt, &options, NULL), GGUFX_E_ARGUMENT);
    options.styles = 0;
    options.tools = "[";
    options.tools_length = 1;
    assert_int_equal(ggufx_chat_parser_create(&parser, chat_rt, &options, NULL), GGUFX_E_MALFORMED);
    options.tools = NULL;
    assert_int_equal(ggufx_chat_parser_create(&parser, chat_rt, &options, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_chat_parser_feed(NULL, "", 0, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_chat_parser_finish(NULL, NULL), GGUFX_E_ARGUMENT);
    parser = parser_of(&t, 0, NULL, NULL);
    assert_int_equal(ggufx_chat_parser_feed(parser, NULL, 1, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_chat_parser_feed(parser, "x", 1, NULL), GGUFX_E_CANCELLED);
    assert_int_equal(ggufx_chat_parser_feed(parser, "x", 1, NULL), GGUFX_E_STATE);
    ggufx_chat_parser_destroy(parser);
    ggufx_chat_parser_destroy(NULL);
}

static ggufx_status parse_all(void *context, ggufx_runtime *rt, ggufx_error *error) {
    (void)context;
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        ggufx_chat_parser_options options;
        ggufx_chat_parser *parser = NULL;
        told t = {0};
        ggufx_chat_parser_options_init(&options);
        options.styles = outputs[i].styles;
        options.user = &t;
        options.event = on_event;
        options.tools = TOOLS;
        options.tools_length = strlen(TOOLS);
        ggufx_status status = ggufx_chat_parser_create(&parser, rt, &options, error);
        if (status != GGUFX_OK) return status;
        status = ggufx_chat_parser_feed(parser, outputs[i].text, strlen(outputs[i].text), error);
        if (status == GGUFX_OK) status = ggufx_chat_parser_finish(parser, error);
        ggufx_chat_parser_destroy(parser);
        if (status != GGUFX_OK) return status;
    }
    return GGUFX_OK;
}

static void test_every_allocation_of_the_parser_may_fail(void **state) {
    (void)state;
    assert_true(fault_run(parse_all, NULL) > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs_are_told_apart_at_every_cut),
        cmocka_unit_test(test_an_answer_is_told_at_once),
        cmocka_unit_test(test_what_stands_behind_a_call_is_told_at_once),
        cmocka_unit_test(test_styles_come_from_the_template),
        cmocka_unit_test(test_calls_of_the_parser_are_checked),
        cmocka_unit_test(test_every_allocation_of_the_parser_may_fail),
    };
    return cmocka_run_group_tests(tests, chat_setup, chat_teardown);
}
