/*
 * Fuzz target: an output of a model, told apart in two ways of cutting, which must agree. The first
 * byte says which marks count, the second how it is cut.
 * SPDX-License-Identifier: MIT
 */
#include "chat_main.h"

#include <ggufx/ggufx.h>

#include <stdlib.h>
#include <string.h>

const char *const chat_seeds[] = {
    "\x01\x03<think>\nhm\n</think>\n\nHi <b>there</b>\n",
    "\x08\x02<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>commentary "
    "to=functions.f <|constrain|>json<|message|>{\"a\":1}<|call|>",
    "\x11\x05<think>a</think><tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": "
    "\"}\\\"{\"}}\n</tool_call>\n",
    "\x20\x07<tool_call>\n<function=f>\n<parameter=s>\n12\n</parameter>\n</function>\n</tool_call>",
    "\x40\x04[TOOL_CALLS]f[ARGS]{\"a\": [1]}[TOOL_CALLS] "
    "[{\"name\":\"f\",\"arguments\":{}},{\"name\":\"g\",\"arguments\":\"{}\"}]",
    "\x80\x09<|python_tag|>{\"name\":\"f\",\"parameters\":{}}; {\"name\":\"g\",\"parameters\":{}}",
    "\xff\x03<|channel>thought x<channel|>[THINK]y[/THINK]\xf0\x9f\x98\x80\xff\xc3",
    "\xf7\x01{\"name\": \"f\", \"parameters\": "
    "{}}<function=g><parameter=x>1</parameter></function>",
    NULL,
};
const char chat_seed_end[] = "";
const size_t chat_seed_end_length = 0;

static ggufx_runtime *rt;

/* Pieces of one kind and call, joined. */
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

static int32_t on_event(void *user, uint32_t kind, uint64_t call, const char *text, size_t length) {
    told *t = user;
    if (length == 0 || ((uint8_t)text[0] & 0xc0) == 0x80) abort();
    if (kind != t->kind || call != t->call) {
        const char head[3] = {0, (char)kind, (char)call};
        put(t, head, 3);
    }
    t->kind = kind;
    t->call = call;
    put(t, text, length);
    return 0;
}

static told parse(const uint8_t *data, size_t size, uint32_t styles, size_t piece) {
    ggufx_chat_parser_options options;
    ggufx_chat_parser *parser = NULL;
    told t = {0};
    ggufx_chat_parser_options_init(&options);
    options.styles = styles;
    options.user = &t;
    options.event = on_event;
    if (ggufx_chat_parser_create(&parser, rt, &options, NULL) != GGUFX_OK) abort();
    for (size_t i = 0; i < size; i += piece) {
        const size_t n = piece < size - i ? piece : size - i;
        if (ggufx_chat_parser_feed(parser, (const char *)data + i, n, NULL) != GGUFX_OK) abort();
    }
    if (ggufx_chat_parser_finish(parser, NULL) != GGUFX_OK) abort();
    ggufx_chat_parser_destroy(parser);
    return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!rt && ggufx_runtime_create(&rt, NULL, NULL) != GGUFX_OK) abort();
    if (size < 2) return 0;
    told whole = parse(data + 2, size - 2, data[0], size);
    told cut = parse(data + 2, size - 2, data[0], 1u + data[1] % 16u);
    if (whole.n != cut.n || (whole.n > 0 && memcmp(whole.text, cut.text, whole.n) != 0)) abort();
    free(whole.text);
    free(cut.text);
    return 0;
}
