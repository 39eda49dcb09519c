/*
 * Fuzz target: model output, parsed with two different splits into chunks, which must agree. The
 * first byte selects the format, the second one the chunks.
 * SPDX-License-Identifier: MIT
 */
#include "../parser_events.h"
#include "../text_of.h"
#include "chat_main.h"

#include <ggufx/ggufx.h>

#include <stdlib.h>
#include <string.h>

/* Templates with the markers of each format. */
static const char *const formats[] = {
    "<think>",
    "<|start|><|channel|><|message|>",
    "<think><tool_call>",
    "<think><tool_call><function=x><parameter=y>",
    "[THINK][TOOL_CALLS][ARGS]",
    "[TOOL_CALLS]",
    "<|start_header_id|>ipython",
    "<think><tool_call><arg_key><arg_value>",
    "<think><|tool_call_begin|><|tool_call_argument_begin|>",
    ("<think><\xef\xbd\x9ctool\xe2\x96\x81"
     "call\xe2\x96\x81"
     "begin\xef\xbd\x9c>```json"),
    "<|tool_call_start|>",
    "<|channel>thought<|tool_call>call:",
    "<|tool_call|>",
    "Action:```json",
    ("{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}<d:calls><d:invoke "
     "name=\"{{ "
     "c.function.name }}\">{% for k, v in c.function.arguments.items() %}<d:p name=\"{{ k }}\" "
     "string=\"{{ v is string }}\">{{ v }}</d:p>{% endfor %}</d:invoke></d:calls>{% endfor %}{% "
     "endfor %}"),
    ("{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}<f={{ c.function.name }}>{{ "
     "c.function.arguments | tojson }}</f>{% endfor %}{% endfor %}"),
    ("{% for m in messages %}{{ m.content }}{% if m.tool_calls %}<c>\n{% for c in m.tool_calls %}"
     "{{ '{\"name\": \"' ~ c.function.name ~ '\", \"arguments\": ' ~ (c.function.arguments | "
     "tojson) ~ '}\n' }}{% endfor %}</c>{% endif %}{% endfor %}"),
    ("<![CDATA[{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}<f n=\"{{ "
     "c.function.name }}\">{% for k, v in c.function.arguments.items() %}<p n=\"{{ k }}\">{{ v }}"
     "</p>{% endfor %}</f>{% endfor %}{% endfor %}"),
};
enum { N_FORMATS = sizeof formats / sizeof *formats };

static const char tools[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"$defs\":{\"S\":{"
    "\"type\":\"string\"}},\"properties\":{\"s\":{\"type\":\"string\"},\"n\":{\"type\":["
    "\"integer\",\"null\"]},\"r\":{\"anyOf\":[{\"$ref\":\"#/$defs/S\"},{\"type\":\"null\"}]},\"e\":"
    "{\"enum\":[\"1\",true]},\"o\":{\"type\":\"object\"}}}}}]";

const char *const chat_seeds[] = {
    "\x12\x03<think>\nhm\n</think>\n\nHi <b>there</b>\n",
    "\x01\x02<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>commentary "
    "to=functions.f <|constrain|>json<|message|>{\"a\":1}<|call|>",
    "\x02\x05<think>a</think><tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": "
    "\"}\\\"{\"}}\n</tool_call>\n",
    "\x03\x07<tool_call>\n<function=f>\n<parameter=s>\n12 </parameter> <parameter=q> x\n"
    "</parameter>\n<parameter=n>None</parameter></function>\n</tool_call>",
    "\x04\x04[TOOL_CALLS]f[CALL_ID]abc[ARGS]{\"a\": [1]}[TOOL_CALLS]g[ARGS]",
    "\x05\x04[TOOL_CALLS] "
    "[{\"name\":\"f\",\"arguments\":{}},{\"name\":\"g\",\"arguments\":\"{}\"}]",
    "\x06\x09<|python_tag|>{\"name\":\"f\",\"parameters\":{}}; {\"name\":\"f\",\"parameters\":{}}",
    "\x07\x03<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
    "\x08\x03<think>I call <|tool_calls_section_begin|><|tool_call_begin|>functions.f:0"
    "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
    "\x0a\x03<|tool_call_start|>[f(s='a\\'b', n=[1, {'x': None}]), g()]<|tool_call_end|>",
    "\x0b\x03<|tool_call>call:f{s:<|\"|>}<|\"|>,o:{k:[true]}}<tool_call|>",
    "\x0d\x03"
    "Action:\n```json\n[\n {\"tool_name\": \"f\", \"parameters\": {}}\n]```",
    "\x0e\x03<d:calls><d:invoke name=\"f\"><d:p name=\"s\" "
    "string=\"True\">1</d:p></d:invoke></d:calls>",
    "\x0f\x03<f=f>{\"s\": 1}</f>",
    "\x10\x04<c>\n{\"name\": \"f\", \"arguments\": {}}\n{\"name\": \"g\"}\n</c>",
    "\x11\x05<f n=\"f\"><p n=\"s\"><![CDATA[</p>]]></p><p n=\"n\">1</p></f>",
    "\x0a\x02<|tool_call_start|>[f(s='it's \"x\"' , n=1)]<|tool_call_end|>",
    NULL,
};
const char chat_seed_end[] = "";
const size_t chat_seed_end_length = 0;

static ggufx_runtime *rt;
static ggufx_chat_template *chats[N_FORMATS];

/* Deltas of one kind and call, joined. */
typedef struct told {
    char *text;
    size_t n, capacity;
    uint32_t kind;
    uint64_t call;
} told;

static void put(told *t, const char *text, size_t n) {
    if (t->n + n > t->capacity) {
        t->capacity = 2 * (t->n + n);
        t->text = realloc(t->text, t->capacity);
        if (!t->text) abort();
    }
    memcpy(t->text + t->n, text, n);
    t->n += n;
}

static void note(told *t, const ggufx_event *event) {
    if (event->text.size == 0 || ((uint8_t)event->text.data[0] & 0xc0) == 0x80) abort();
    if (event->kind != t->kind || event->index != t->call) {
        const char head[3] = {0, (char)event->kind, (char)event->index};
        put(t, head, 3);
    }
    t->kind = event->kind;
    t->call = event->index;
    put(t, event->text.data, event->text.size);
}

static void make_chats(void) {
    if (ggufx_runtime_create(&rt, NULL, NULL) != GGUFX_OK) abort();
    for (size_t i = 0; i < N_FORMATS; i++) {
        ggufx_chat_template_options options = {.struct_size = sizeof options};
        options.text = text_of(formats[i]);
        if (ggufx_chat_template_create(&chats[i], rt, NULL, &options, NULL) != GGUFX_OK) abort();
    }
}

static told parse(const uint8_t *data, size_t size, uint8_t format, size_t piece) {
    ggufx_chat_parser_options options = {.struct_size = sizeof options};
    ggufx_chat_parser *parser = NULL;
    told t = {0};
    options.chat = chats[format % N_FORMATS];
    if (format / N_FORMATS % 2 == 0 && format % N_FORMATS > 0) { options.tools = text_of(tools); }
    if (ggufx_chat_parser_create(&parser, rt, &options, NULL) != GGUFX_OK) abort();
    for (size_t i = 0; i < size; i += piece) {
        const size_t n = piece < size - i ? piece : size - i;
        if (ggufx_chat_parser_feed(parser, (const char *)data + i, n, NULL) != GGUFX_OK) abort();
    }
    if (ggufx_chat_parser_finish(parser, NULL) != GGUFX_OK) abort();
    for (ggufx_event event; next_event(&event, parser);) note(&t, &event);
    ggufx_chat_parser_destroy(parser);
    return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!rt) make_chats();
    if (size < 2) return 0;
    told whole = parse(data + 2, size - 2, data[0], size);
    told cut = parse(data + 2, size - 2, data[0], 1u + data[1] % 16u);
    if (whole.n != cut.n || (whole.n > 0 && memcmp(whole.text, cut.text, whole.n) != 0)) abort();
    free(whole.text);
    free(cut.text);
    return 0;
}
