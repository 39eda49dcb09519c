/*
 * Parsing of model output: every format of reasoning and calls, every split into chunks, text
 * without markers.
 * SPDX-License-Identifier: MIT
 */
#include "../parser_events.h"
#include "../text_of.h"
#include "chat_fixture.h"
#include "ok.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Events as text: "A:..." answer, "R:..." reasoning, "N0:..." name, "J0:..." arguments. */
typedef struct told {
    char text[4096];
    size_t n;
    uint32_t kind;
    uint64_t call;
} told;

static void note(told *t, const ggufx_event *event) {
    const uint32_t kind = event->kind;
    assert_true(event->text.size > 0 && event->n_tokens == 0);
    assert_true(((uint8_t)event->text.data[0] & 0xc0) != 0x80); /* not within a character */
    assert_true((kind >= 1 && kind <= 4) || kind == GGUFX_EVENT_TOOL_ID);
    assert_true(t->n + event->text.size + 32 < sizeof t->text);
    if (kind != t->kind || event->index != t->call) {
        t->n += (size_t)sprintf(t->text + t->n, "%s%c", t->n ? "\n" : "", "?ARNJ??I"[kind]);
        if (kind >= 3) t->n += (size_t)sprintf(t->text + t->n, "%d", (int)event->index);
        t->text[t->n++] = ':';
    }
    memcpy(t->text + t->n, event->text.data, event->text.size);
    t->n += event->text.size;
    t->text[t->n] = 0;
    t->kind = kind;
    t->call = event->index;
}

static void take_events(told *t, ggufx_chat_parser *parser) {
    for (ggufx_event event; next_event(&event, parser);) note(t, &event);
}

static ggufx_status create_parser(ggufx_chat_parser **parser, const ggufx_runtime *rt,
                                  const char *template_text, const char *prompt, const char *tools,
                                  ggufx_error *error) {
    ggufx_chat_template_options of = {.struct_size = sizeof of};
    ggufx_chat_parser_options options = {.struct_size = sizeof options};
    ggufx_chat_template *chat = NULL;
    ggufx_status status = GGUFX_OK;
    of.text = text_of(template_text);
    if (template_text) status = ggufx_chat_template_create(&chat, rt, NULL, &of, error);
    if (status != GGUFX_OK) return status;
    options.chat = chat;
    options.prompt = text_of(prompt);
    options.tools = text_of(tools);
    status = ggufx_chat_parser_create(parser, rt, &options, error);
    ggufx_chat_template_destroy(chat); /* the parser keeps its references */
    return status;
}

static ggufx_chat_parser *parser_of(const char *template_text, const char *prompt,
                                    const char *tools) {
    ggufx_chat_parser *parser = NULL;
    ggufx_error error;
    if (create_parser(&parser, chat_rt, template_text, prompt, tools, &error))
        fail_msg("%s", error.message);
    return parser;
}

static void feed(told *t, ggufx_chat_parser *parser, const char *text, size_t n) {
    OK(ggufx_chat_parser_feed(parser, text, n, ok_error()));
    take_events(t, parser);
}

static void finish(told *t, ggufx_chat_parser *parser) {
    OK(ggufx_chat_parser_finish(parser, ok_error()));
    take_events(t, parser);
}

/* Reasoning stays unchanged, for every split into chunks. */
static void test_reasoning_may_stay_in_the_answer(void **state) {
    static const char think[] = "<think>", harmony[] = "<|channel|><|message|>";
    static const struct {
        const char *template_text, *prompt, *text, *want;
    } rows[] = {{think, NULL, "<think>\nwhy\n\n</think>\n\nSo", "A:<think>\nwhy\n\n</think>\n\nSo"},
                {think, "<think>\n", "why</think>So", "A:why</think>So"},
                {harmony, NULL,
                 "<|channel|>analysis<|message|>why\n<|end|><|start|>assistant<|channel|>"
                 "final<|message|>So<|return|>",
                 "A:<|channel|>analysis<|message|>why\n<|end|>So"},
                {harmony, NULL, "<|channel|>final<|message|>So", "A:So"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t step = 1; step < 100; step += 13) {
            told t = {0};
            ggufx_chat_template_options of = {.struct_size = sizeof of};
            ggufx_chat_parser_options options = {.struct_size = sizeof options};
            ggufx_chat_template *chat = NULL;
            ggufx_chat_parser *parser = NULL;
            const size_t length = strlen(rows[i].text);
            of.text = text_of(rows[i].template_text);
            OK(ggufx_chat_template_create(&chat, chat_rt, NULL, &of, ok_error()));
            options.flags = GGUFX_CHAT_PARSER_KEEP_REASONING;
            options.chat = chat;
            options.prompt = text_of(rows[i].prompt);
            OK(ggufx_chat_parser_create(&parser, chat_rt, &options, ok_error()));
            ggufx_chat_template_destroy(chat);
            for (size_t at = 0; at < length; at += step)
                feed(&t, parser, rows[i].text + at, length - at < step ? length - at : step);
            finish(&t, parser);
            assert_string_equal(t.text, rows[i].want);
            ggufx_chat_parser_destroy(parser);
        }
    }
}

typedef struct output {
    const char *template_text, *prompt, *text, *want;
} output;

#define TOOLS                                                                                      \
    "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"properties\":{"        \
    "\"s\":{\"type\":\"string\"},\"n\":{\"type\":\"integer\"}}}}},"                                \
    "{\"function\":{\"name\":\"t\",\"parameters\":{\"$defs\":{\"S\":{\"type\":\"string\"}},"       \
    "\"properties\":{\"opt\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]},\"one\":{"    \
    "\"oneOf\":"                                                                                   \
    "[{\"type\":\"string\"},{\"type\":\"null\"}]},\"ref\":{\"$ref\":\"#/$defs/"                    \
    "S\"},\"all\":{\"allOf\":["                                                                    \
    "{\"type\":\"string\"}]},\"enum\":{\"enum\":[\"1\",\"2\"]},\"const\":{\"const\":\"7\"},"       \
    "\"pat\":{"                                                                                    \
    "\"pattern\":\"^[0-9]+$\"},\"is\":{\"type\":[\"integer\",\"string\"]},\"b\":{\"type\":"        \
    "\"boolean\"},"                                                                                \
    "\"i\":{\"type\":\"integer\"},\"a\":{\"type\":\"array\"},\"o\":{\"type\":\"object\"},"         \
    "\"iopt\":{"                                                                                   \
    "\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"null\"}]},\"up\":{\"type\":\"STRING\"}}}}}]"
/* Templates with the markers of a format. */
#define THINK "{{ '<think>' }}"
#define BRACKET "{{ '[THINK]' }}"
#define GEMMA "<|channel>thought"
#define HARMONY "<|start|><|channel|><|message|>"
#define HERMES "<tool_call>"
#define XML "<tool_call><function=x><parameter=y>"
#define MISTRAL "[TOOL_CALLS] [ARGS]"
#define MISTRAL_LIST "[TOOL_CALLS]"
#define LLAMA "<|start_header_id|>ipython"

static const output outputs[] = {
    {NULL, NULL, "plain <think>x</think> <tool_call>{}", "A:plain <think>x</think> <tool_call>{}"},
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
     "<|start|>assistant to=functions.f<|channel|>commentary json<|message|><|call|>"
     "<|start|>assistant<|channel|>commentary<|message|>Now.<|end|>",
     "N0:f\nJ0:{}\nA:Now."},
    {HARMONY, NULL, "<|channel|>analysis<|end|><|start|>assistant<|channel|>final<|message|>Hello",
     "A:Hello"},
    {HARMONY, NULL, "<|channel|>commentary<|return|><|channel|>final<|message|>a", "A:a"},
    {HARMONY, NULL, "<|channel|>x<|start|>assistant<|channel|>analysis<|message|>b<|end|>c",
     "R:b\nA:c"},
    {HARMONY, NULL, "<|channel|>commentary to=functions.other<|message|>{}<|call|>", "R:{}"},
    {HARMONY, NULL, "<|channel|>analysis to=python code<|message|>1+1<|call|>", "R:1+1"},
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
    {HERMES THINK, NULL,
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
    /* Values that quote markers. */
    {XML, NULL,
     "<tool_call>\n<function=w>\n<parameter=path>\na.txt\n</parameter>\n<parameter=content>\nuse "
     "<function=foo>..</function> here and <parameter=x>y</parameter> too\n</parameter>\n"
     "</function>\n</tool_call>",
     "N0:w\nJ0:{\"path\": \"a.txt\", \"content\": \"use <function=foo>..</function> here and "
     "<parameter=x>y</parameter> too\"}"},
    {XML, NULL,
     "<tool_call><function=w><parameter=content>Do\n<tool_call>\n<function=f>\n<parameter=a>\n1\n"
     "</parameter>\n</function>\n</tool_call>\nso.</parameter></function></tool_call>after",
     "N0:w\nJ0:{\"content\": \"Do\\n<tool_call>\\n<function=f>\\n<parameter=a>\\n1\\n</parameter>"
     "\\n</function>\\n</tool_call>\\nso.\"}\nA:after"},
    {XML, NULL, /* a marker of a call that the value only mentions */
     "<tool_call><function=w><parameter=content>a <function= b</parameter></function></tool_call>"
     "<tool_call><function=f><parameter=s>2</parameter></function></tool_call>",
     "N0:w\nJ0:{\"content\": \"a <function= b\"}\nN1:f\nJ1:{\"s\": \"2\"}"},
    {XML, NULL, /* no parameter of the tool, or a repeated one */
     "<tool_call><function=f><parameter=s>a</parameter> <parameter=zz>b</parameter> "
     "<parameter=s>c</parameter></function></tool_call>",
     "N0:f\nJ0:{\"s\": \"a</parameter> <parameter=zz>b</parameter> <parameter=s>c\"}"},
    {XML, NULL, /* without the marker that ends the last value */
     "<tool_call><function=f><parameter=n>\n7\n</function></tool_call>", "N0:f\nJ0:{\"n\": 7}"},
    {XML, NULL, "<tool_call><function=f><parameter=s>cut </param",
     "A:<tool_call><function=f><parameter=s>cut </param"},
    /* Types follow the schema. */
    {XML, NULL,
     "<function=t><parameter=opt>42</parameter><parameter=one>null</parameter><parameter=ref>42"
     "</parameter><parameter=all>42</parameter><parameter=enum>1</parameter><parameter=const>7"
     "</parameter><parameter=pat>42</parameter><parameter=is>9</parameter></function>",
     "N0:t\nJ0:{\"opt\": \"42\", \"one\": null, \"ref\": \"42\", \"all\": \"42\", \"enum\": \"1\", "
     "\"const\": \"7\", \"pat\": \"42\", \"is\": \"9\"}"},
    {XML, NULL,
     "<function=t><parameter=b>True</parameter><parameter=i>12345678901234567890123</parameter>"
     "<parameter=a>['a', \"b\"]</parameter><parameter=o>{'k': (1, None)}</parameter>"
     "<parameter=iopt>None</parameter><parameter=up>FALSE</parameter></function>",
     "N0:t\nJ0:{\"b\": true, \"i\": 12345678901234567890123, \"a\": [\"a\", \"b\"], \"o\": {\"k\": "
     "[1, "
     "null]}, \"iopt\": null, \"up\": \"FALSE\"}"},
    {XML, NULL,
     "<function=unknown><parameter=a>1</parameter><parameter=b>True</parameter></function>",
     "N0:unknown\nJ0:{\"a\": 1, \"b\": \"True\"}"},
    /* A call within reasoning ends it, a mention does not. */
    {THINK XML, "<think>\n",
     "I will call.\n<tool_call>\n<function=f>\n<parameter=s>\nParis\n</parameter>\n</function>\n"
     "</tool_call>",
     "R:I will call.\nN0:f\nJ0:{\"s\": \"Paris\"}"},
    {THINK XML, "<think>\n", "The marker <tool_call> begins a call. I answer.\n</think>\n\nHi",
     "R:The marker <tool_call> begins a call. I answer.\nA:Hi"},
    {THINK HERMES, "<think>",
     "Maybe `<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>`? No.</think>No",
     "R:Maybe `<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>`? No.\nA:No"},
    {THINK HERMES, "<think>",
     "Now <tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"g\"}"
     "</tool_call></think>ok",
     "R:Now \nN0:f\nJ0:{}\nN1:g\nJ1:{}\nA:ok"},
    /* Empty arguments, or arguments as text. */
    {HERMES, NULL, "<tool_call>{\"name\":\"f\",\"arguments\":\"\"}</tool_call>", "N0:f\nJ0:{}"},
    {HERMES, NULL, "<tool_call>{\"name\":\"f\",\"arguments\":null}</tool_call>", "N0:f\nJ0:{}"},
    {HERMES, NULL, "<tool_call>{\"name\":\"f\"}</tool_call>", "N0:f\nJ0:{}"},
    {HERMES, NULL, "<tool_call>{'name': 'f', 'arguments': {'s': True}}</tool_call>",
     "N0:f\nJ0:{\"s\": true}"},
    {HERMES, NULL, "<tool_call>{\"name\":\"f\",\"arguments\":\"Paris\"}</tool_call>",
     "A:<tool_call>{\"name\":\"f\",\"arguments\":\"Paris\"}</tool_call>"},
    {HERMES, NULL, "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"x\ny\"}}</tool_call>",
     "N0:f\nJ0:{\"a\": \"x\\ny\"}"},
    {HERMES, NULL, /* a broken call does not hide the next one */
     "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}</tool_call><tool_call>{\"name\":\"f\","
     "\"arguments\":{}}</tool_call>",
     "A:<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}</tool_call>\nN0:f\nJ0:{}"},
    {MISTRAL, NULL, "[TOOL_CALLS]f[ARGS]{\"a\": [1]}[TOOL_CALLS]g[CALL_ID]12[ARGS]{}",
     "N0:f\nJ0:{\"a\": [1]}\nN1:g\nI1:12\nJ1:{}"},
    {MISTRAL_LIST, NULL,
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
    {HARMONY HERMES LLAMA, NULL, "<|channel|>final<|message|>x", "A:x"},
};

static bool has_calls(const char *text) {
    return text && (strstr(text, "call") || strstr(text, "CALL") || strstr(text, "|>"));
}

static void check(const output *o, const told *t, const char *how) {
    if (strcmp(t->text, o->want) != 0)
        fail_msg("%s (%s):\n%s\nnot\n%s", o->text, how, t->text, o->want);
}

static void test_every_cut_of_an_output_gives_the_same_events(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        const output *o = &outputs[i];
        const size_t n = strlen(o->text);
        for (size_t cut = 0; cut <= n + 1; cut++) { /* n + 1: byte by byte */
            told t = {0};
            ggufx_chat_parser *parser =
                parser_of(o->template_text, o->prompt, has_calls(o->template_text) ? TOOLS : NULL);
            char how[32];
            snprintf(how, sizeof how, "cut %d", (int)cut);
            if (cut <= n) {
                feed(&t, parser, o->text, cut);
                feed(&t, parser, o->text + cut, n - cut);
            }
            for (size_t k = 0; cut > n && k < n; k++) feed(&t, parser, o->text + k, 1);
            finish(&t, parser);
            assert_int_equal(ggufx_chat_parser_finish(parser, NULL), GGUFX_E_STATE);
            assert_int_equal(ggufx_chat_parser_feed(parser, "x", 1, NULL), GGUFX_E_STATE);
            ggufx_chat_parser_destroy(parser);
            check(o, &t, how);
        }
    }
}

static void test_an_answer_is_passed_on_at_once(void **state) {
    told t = {0};
    (void)state;
    ggufx_chat_parser *parser = parser_of(THINK HERMES, NULL, NULL);
    feed(&t, parser, "Hel", 3);
    assert_string_equal(t.text, "A:Hel");
    feed(&t, parser, "lo <", 4);
    assert_string_equal(t.text, "A:Hello ");
    feed(&t, parser, "b", 1);
    assert_string_equal(t.text, "A:Hello <b");
    ggufx_chat_parser_destroy(parser);
}

/* Passed on by the same feed, not by the next one or at the end. */
static void test_text_after_a_call_is_passed_on_at_once(void **state) {
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
        ggufx_chat_parser *parser = parser_of(cases[i].template_text, NULL, NULL);
        feed(&t, parser, cases[i].text, strlen(cases[i].text));
        check(&cases[i], &t, "one feed");
        ggufx_chat_parser_destroy(parser);
    }
}

static ggufx_chat_template_facts facts_of(const char *text) {
    ggufx_chat_template_options options = {.struct_size = sizeof options};
    ggufx_chat_template_facts facts = {.struct_size = sizeof facts};
    ggufx_chat_template *chat = NULL;
    options.text = text_of(text);
    OK(ggufx_chat_template_create(&chat, chat_rt, NULL, &options, ok_error()));
    OK(ggufx_chat_template_info(&facts, chat, ok_error()));
    ggufx_chat_template_destroy(chat);
    return facts; /* its strings are freed with the template */
}

static void test_formats_are_known_by_the_markers_of_a_template(void **state) {
    static const struct {
        const char *text;
        uint32_t flags, form;
    } cases[] = {
        {THINK HERMES, GGUFX_CHAT_CALLS | GGUFX_CHAT_REASONS, GGUFX_CHAT_CALL_OBJECT},
        {XML "{{ tools }}", GGUFX_CHAT_CALLS | GGUFX_CHAT_TAKES_TOOLS, GGUFX_CHAT_CALL_TAGGED},
        {"<tool_call><arg_key><arg_value>", GGUFX_CHAT_CALLS, GGUFX_CHAT_CALL_TAGGED},
        {MISTRAL BRACKET, GGUFX_CHAT_CALLS | GGUFX_CHAT_REASONS, GGUFX_CHAT_CALL_NAMED},
        {HARMONY, GGUFX_CHAT_CALLS | GGUFX_CHAT_REASONS | GGUFX_CHAT_CHANNELS,
         GGUFX_CHAT_CALL_NONE},
        {GEMMA, GGUFX_CHAT_REASONS, GGUFX_CHAT_CALL_NONE},
        {LLAMA, GGUFX_CHAT_CALLS, GGUFX_CHAT_CALL_OBJECT},
        {"x", 0, GGUFX_CHAT_CALL_NONE},
        {"{{ tools }}", GGUFX_CHAT_TAKES_TOOLS, GGUFX_CHAT_CALL_NONE},
        {"{{ messages | tojson }}", 0, GGUFX_CHAT_CALL_NONE}, /* no markers in text of messages */
        {"{% for m in messages %}{{ m | tojson }}{% endfor %}<tool_call>", GGUFX_CHAT_CALLS,
         GGUFX_CHAT_CALL_OBJECT},
    };
    (void)state;
    ggufx_chat_template_facts none = {.struct_size = sizeof none};
    assert_int_equal(ggufx_chat_template_info(&none, NULL, NULL), GGUFX_E_ARGUMENT);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ggufx_chat_template_facts facts = facts_of(cases[i].text);
        if (facts.flags != cases[i].flags || facts.call_form != cases[i].form)
            fail_msg("%s: flags %u form %u", cases[i].text, facts.flags, facts.call_form);
    }
}

static void test_tools_of_an_unknown_format_are_refused(void **state) {
    ggufx_chat_parser *parser = NULL;
    ggufx_error error;
    (void)state;
    assert_int_equal(create_parser(&parser, chat_rt, "{{ tools }}", NULL, TOOLS, &error),
                     GGUFX_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "GGUFX_CHAT_PARSER_NO_CALLS"));
    assert_null(parser);
    assert_int_equal(create_parser(&parser, chat_rt, "{{ tools }}", NULL, " [ ]\n", &error),
                     GGUFX_OK);
    ggufx_chat_parser_destroy(parser);
    /* It names the marker of a known form, and writes calls in another one. */
    assert_int_equal(
        create_parser(&parser, chat_rt,
                      "{{ tools }}{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}"
                      "<tool_call><{{ c.function.name }}>{% for k, v in "
                      "c.function.arguments.items() %}<{{ k }}>{{ v }}</{{ k }}>{% endfor %}"
                      "</{{ c.function.name }}></tool_call>{% endfor %}{% endfor %}",
                      NULL, TOOLS, &error),
        GGUFX_E_UNSUPPORTED);
    assert_null(parser);
}

static void test_a_parser_says_where_it_is(void **state) {
    told t = {0};
    ggufx_chat_parser_facts facts = {.struct_size = sizeof facts};
    (void)state;
    ggufx_chat_parser *parser = parser_of(THINK HERMES, "<think>\n", NULL);
    assert_int_equal(ggufx_chat_parser_info(&facts, NULL, NULL), GGUFX_E_ARGUMENT);
    OK(ggufx_chat_parser_info(&facts, parser, ok_error()));
    assert_int_equal(facts.flags, GGUFX_CHAT_PARSER_REASONING);
    assert_string_equal(facts.reasoning_close, "</think>");
    feed(&t, parser, "a</think><tool_call>{\"name\":\"f\"}</tool_call>", 43);
    OK(ggufx_chat_parser_info(&facts, parser, ok_error()));
    assert_int_equal(facts.flags, 0);
    assert_string_equal(facts.reasoning_close, "");
    assert_int_equal(facts.n_calls, 1);
    assert_string_equal(t.text, "R:a\nN0:f\nJ0:{}");
    ggufx_chat_parser_destroy(parser);
}

static void test_calls_of_the_parser_are_checked(void **state) {
    ggufx_chat_parser_options options = {.struct_size = sizeof options};
    ggufx_chat_parser *parser = NULL;
    (void)state;
    ggufx_event event = {.struct_size = sizeof event};
    assert_int_equal(ggufx_chat_parser_create(NULL, chat_rt, &options, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_chat_parser_create(&parser, NULL, &options, NULL), GGUFX_E_ARGUMENT);
    options.flags = 4;
    assert_int_equal(ggufx_chat_parser_create(&parser, chat_rt, &options, NULL), GGUFX_E_ARGUMENT);
    options.flags = GGUFX_CHAT_PARSER_NO_CALLS;
    options.tools = text_of("[");
    assert_int_equal(ggufx_chat_parser_create(&parser, chat_rt, &options, NULL), GGUFX_E_MALFORMED);
    options.tools.data = NULL;
    assert_int_equal(ggufx_chat_parser_create(&parser, chat_rt, &options, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_chat_parser_feed(NULL, "", 0, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_chat_parser_finish(NULL, NULL), GGUFX_E_ARGUMENT);
    parser = parser_of(NULL, NULL, NULL);
    assert_int_equal(ggufx_chat_parser_feed(parser, NULL, 1, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_chat_parser_poll(NULL, parser, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_chat_parser_poll(&event, NULL, NULL), GGUFX_E_ARGUMENT);
    OK(ggufx_chat_parser_poll(&event, parser, ok_error()));
    assert_int_equal(event.kind, GGUFX_EVENT_NONE);
    event.struct_size = 4;
    assert_int_equal(ggufx_chat_parser_poll(&event, parser, NULL), GGUFX_E_ARGUMENT);
    ggufx_chat_parser_destroy(parser);
    ggufx_chat_parser_destroy(NULL);
}

static ggufx_status parse_all(void *context, ggufx_runtime *rt, ggufx_error *error) {
    (void)context;
    /* Each run of fault_run compiles the templates again, so only some outputs of each format are
     * tested. */
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i += 9) {
        ggufx_chat_parser *parser = NULL;
        const char *const tools = has_calls(outputs[i].template_text) ? TOOLS : NULL;
        ggufx_status status =
            create_parser(&parser, rt, outputs[i].template_text, outputs[i].prompt, tools, error);
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
        cmocka_unit_test(test_reasoning_may_stay_in_the_answer),
        cmocka_unit_test(test_every_cut_of_an_output_gives_the_same_events),
        cmocka_unit_test(test_an_answer_is_passed_on_at_once),
        cmocka_unit_test(test_text_after_a_call_is_passed_on_at_once),
        cmocka_unit_test(test_formats_are_known_by_the_markers_of_a_template),
        cmocka_unit_test(test_tools_of_an_unknown_format_are_refused),
        cmocka_unit_test(test_a_parser_says_where_it_is),
        cmocka_unit_test(test_calls_of_the_parser_are_checked),
        cmocka_unit_test(test_every_allocation_of_the_parser_may_fail),
    };
    return cmocka_run_group_tests(tests, chat_setup, chat_teardown);
}
