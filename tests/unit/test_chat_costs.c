/*
 * Cost of rendering and compiling at 1 x and 4 x the size: turns, keys, tokens of a template.
 * SPDX-License-Identifier: MIT
 */
#include "../parser_events.h"
#include "../text_of.h"
#include "cost.h"
#include "ok.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    ggufx_chat_template *chat;
    char *text, *json, *out;
    size_t capacity;
} job;

static const char turns[] =
    "{% set ns = namespace(all='', seen=[]) %}{% for m in messages %}<|{{ m.role }}|>"
    "{% if m.content is string and '</think>' in m.content %}{{ m.content.split('</think>')[-1] }}"
    "{% else %}{{ m.content | trim }}{% endif %}{{ m | tojson }}{% set ns.all = ns.all ~ m.content "
    "%}"
    "{% endfor %}{{ ns.all | length }}{{ messages | map(attribute='role') | join(',') }}";

static ggufx_chat_template *chat_of(const char *text) {
    ggufx_chat_template_options options = {.struct_size = sizeof options};
    ggufx_chat_template *chat = NULL;
    ggufx_error error;
    options.text = text_of(text);
    if (ggufx_chat_template_create(&chat, rt, NULL, &options, &error) != GGUFX_OK)
        fail_msg("%s", error.message);
    return chat;
}

/* n messages, of 40 to 600 bytes. */
static void *conversation(size_t n) {
    job *j = calloc(1, sizeof *j);
    size_t at = 0;
    j->chat = chat_of(turns);
    j->json = malloc(800 * n + 16);
    j->json[at++] = '[';
    for (size_t i = 0; i < n; i++) {
        at += (size_t)sprintf(j->json + at, "%s{\"role\":\"%s\",\"content\":\"<think>a</think> ",
                              i ? "," : "", i % 2 ? "assistant" : "user");
        for (size_t k = scrambled(i) % 600; k > 0; k--) j->json[at++] = k % 7 ? 'x' : ' ';
        at += (size_t)sprintf(j->json + at, "\"}");
    }
    j->json[at++] = ']';
    j->json[at] = 0;
    j->capacity = 4 * at;
    j->out = malloc(j->capacity);
    return j;
}

static void render(void *work) {
    job *j = work;
    ggufx_chat_request request = {.struct_size = sizeof request};
    ggufx_error error;
    size_t n = 0;
    request.messages_json = text_of(j->json);
    if (ggufx_chat_template_render(j->out, j->capacity, &n, j->chat, &request, &error))
        fail_msg("%s", error.message);
}

static void finish(void *work) {
    job *j = work;
    ggufx_chat_template_destroy(j->chat);
    free(j->text);
    free(j->json);
    free(j->out);
    free(j);
}

/* An object with n keys, looked up and iterated. */
static void *keys(size_t n) {
    job *j = calloc(1, sizeof *j);
    size_t at = 0;
    j->chat = chat_of("{% for k, v in messages[0].items() %}{{ messages[0][k] }}{% endfor %}");
    j->json = malloc(40 * n + 16);
    at += (size_t)sprintf(j->json, "[{");
    for (size_t i = 0; i < n; i++)
        at += (size_t)sprintf(j->json + at, "%s\"%llx\":%u", i ? "," : "",
                              (unsigned long long)scrambled(i), (unsigned)i % 10);
    sprintf(j->json + at, "}]");
    j->capacity = 16 * n;
    j->out = malloc(j->capacity);
    return j;
}

/* A template of n statements. */
static void *statements(size_t n) {
    job *j = calloc(1, sizeof *j);
    size_t at = 0;
    j->text = malloc(100 * n + 1);
    for (size_t i = 0; i < n; i++)
        at += (size_t)sprintf(j->text + at,
                              " {%% if v%zu == [1, 'a\\n'] and not x %%}{{ v%zu | upper ~ 1 }} "
                              "{#- c -#} {%% endif %%}\n",
                              i, i);
    return j;
}

static void compile(void *work) {
    job *j = work;
    j->chat = chat_of(j->text);
}

/* An output of n times `text`, parsed in chunks of 7 bytes. */
typedef struct told_job {
    ggufx_chat_parser *parser;
    const char *text;
    size_t n;
} told_job;

static void *output_of(size_t n, const char *format, const char *head, const char *text) {
    told_job *j = calloc(1, sizeof *j);
    ggufx_chat_parser_options options = {.struct_size = sizeof options};
    const size_t length = strlen(text), n_head = strlen(head);
    char *all = malloc(n_head + n * length);
    ggufx_chat_template *const chat = chat_of(format);
    options.chat = chat;
    OK(ggufx_chat_parser_create(&j->parser, rt, &options, ok_error()));
    ggufx_chat_template_destroy(chat);
    memcpy(all, head, n_head);
    for (size_t i = 0; i < n; i++) memcpy(all + n_head + i * length, text, length);
    j->text = all;
    j->n = n_head + n * length;
    return j;
}

#define TAGGED "<think><tool_call><function=x><parameter=y>"
#define OUTPUT(name, format, head, text)                                                           \
    static void *name(size_t n) {                                                                  \
        return output_of(n, format, head, text);                                                   \
    }
OUTPUT(open_calls, "<tool_call>", "", "<tool_call>{")
OUTPUT(open_functions, TAGGED, "", "x <function=f>")
OUTPUT(open_names, "[TOOL_CALLS] [ARGS]", "", "[TOOL_CALLS]f")
OUTPUT(halves, "<tool_call><|python_tag|>", "", "<tool_cal\n<|python_ta<\n")
OUTPUT(open_headers, "<|channel|><|message|>", "", "<|channel|>x <|end|> to=f")
OUTPUT(quoted_markers, TAGGED, "<function=f><parameter=p>",
       "</parameter> <parameter=p>x</function> <tool_call>")
OUTPUT(many_parameters, TAGGED, "<tool_call><function=f>", "<parameter=p>1</parameter>\n")
OUTPUT(spaces_after_values, TAGGED, "<tool_call><function=f><parameter=p>", "</parameter>      ")
OUTPUT(calls_in_reasoning, TAGGED, "<think>", "<function=f></function> no\n")
OUTPUT(keyword_arguments, "<|tool_call_start|>", "<|tool_call_start|>[f(", "a='(\\'',")
OUTPUT(quoted_arguments, "<|tool_call>call:", "<|tool_call>call:f{", "k:<|\"|>}<|\"|>,")
OUTPUT(many_calls, "<tool_call>", "",
       "<tool_call>{\"name\":\"f\",\"arguments\":\"{}\"}</tool_call>\n")

static void tell(void *work) {
    told_job *j = work;
    for (size_t i = 0; i < j->n; i += 7) {
        assert_int_equal(
            ggufx_chat_parser_feed(j->parser, j->text + i, j->n - i < 7 ? j->n - i : 7, NULL), 0);
        for (ggufx_event event; next_event(&event, j->parser);) {}
    }
    OK(ggufx_chat_parser_finish(j->parser, ok_error()));
}

static void told(void *work) {
    told_job *j = work;
    ggufx_chat_parser_destroy(j->parser);
    free((void *)j->text);
    free(j);
}

int main(void) {
    const cost_case cases[] = {
        {"turns of a conversation", 250, conversation, render, finish, .bytes_each = 4096},
        {"keys of an object", 1000, keys, render, finish, 0},
        {"statements of a template", 300, statements, compile, finish, 0},
        {"calls that do not end", 4000, open_calls, tell, told, 0},
        {"functions that do not end", 4000, open_functions, tell, told, 0},
        {"names that do not end", 2000, open_names, tell, told, 0},
        {"halves of markers", 4000, halves, tell, told, 0},
        {"headers without a message", 4000, open_headers, tell, told, 0},
        {"markers within a value", 2000, quoted_markers, tell, told, 0},
        {"parameters of one name", 4000, many_parameters, tell, told, 0},
        {"spaces after ends of values", 4000, spaces_after_values, tell, told, 0},
        {"calls that reasoning mentions", 4000, calls_in_reasoning, tell, told, 0},
        {"keyword arguments", 4000, keyword_arguments, tell, told, 0},
        {"arguments between markers", 4000, quoted_arguments, tell, told, 0},
        {"calls in a row", 1000, many_calls, tell, told, 0},
    };
    return run_cost_cases(cases, sizeof cases / sizeof *cases);
}
