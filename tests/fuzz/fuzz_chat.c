/*
 * Fuzz target: a chat template and JSON variables, separated by a 0, compiled and rendered. The
 * output is valid UTF-8 that the runs cover completely; every error has a message.
 * SPDX-License-Identifier: MIT
 */
#include "chat_main.h"

#include <ggufx/ggufx.h>

#include <stdlib.h>
#include <string.h>

const char *const chat_seeds[] = {
    "{% for m in messages if m.role != 'x' %}{{ loop.index ~ m.content | trim }}{% else %}-{% "
    "endfor %}",
    "{% macro m(a, b=[1, {'x': none}], *c) %}{% endmacro %}",
    "{% macro m(a, b=2) -%} {{ caller(a) }}{{ varargs }}{{ kwargs }} {%- endmacro %}{% call(x) "
    "m(1, k=2) %}{{ x }}{% endcall %}",
    "{% set ns = namespace(a=1) %}{% set ns.a = ns.a ** 2 // 3 %}{% set x, (y, z) = 1, (2, 3) %}{{ "
    "ns.a }}{{ -x + y % z }}",
    "{% set t %}a{{ u }}b{% endset %}{{ t[1:-1:2] }}{{ t | upper | replace('A', u) | title }}{{ "
    "t.split('a', 1)[-1] }}",
    "{% for a, b in d.items() recursive %}{{ a }}{% if b is mapping %}{{ loop(b.items()) }}{% "
    "endif %}{% break %}{% endfor %}",
    "{% raw %}{{ x }}{% endraw %}{# c -#}  {%+ if u is not none and 1 < n <= 3 %}{{ '%s %5.2f' % "
    "(u, n) }}{% endif %}",
    "{{ d | tojson(indent=2) }}{{ [u, 1.5, true] | tojson(separators=(',', ':')) }}{{ d }}{{ "
    "'{:>5}|{}'.format(u, n) }}",
    "{{ l | sort(reverse=true) | map('string') | join(', ') }}{{ l | batch(2) | list }}{{ p | "
    "groupby('a') }}{{ p | selectattr('a', 'gt', 1) | list }}",
    "{{ 'a' if n else 'b' ~ u.x is defined }}{{ u.find('a') }}{{ u.title().strip('Aa').center(9, "
    "'*') }}{{ l.append(l) }}{{ l }}",
    "{% filter indent(2) %}a\nb{{ strftime_now('%d %B') }}{% endfilter %}{% with a = 1 %}{{ a }}{% "
    "endwith %}{{ u | safe + '<' }}",
    "{{ range(9)[::-2] | list }}{{ dict(a=1) }}{{ 'x' * n }}{{ \"\\u00e9\\x41\\n\" | length }}{{ u "
    "| int(base=16) }}{{ 2.5 | round }}",
    NULL,
};
const char chat_seed_end[] =
    "\0{\"u\":\"\xc3\xa9<a> "
    "b\\ud83d\\ude00\",\"n\":3,\"l\":[3,1,2],\"d\":{\"a\":1,\"b\":{\"c\":[2.5,null]}},"
    "\"p\":[{\"a\":1},{\"a\":2}],\"messages\":[{\"role\":\"user\",\"content\":\" Hi \"}]}";
const size_t chat_seed_end_length = sizeof chat_seed_end - 1;

static ggufx_runtime *rt;

static void check_text(const char *text, size_t n, const ggufx_chat_span *runs, size_t n_runs) {
    uint64_t at = 0;
    for (size_t i = 0; i < n_runs; i++) {
        if (runs[i].end <= at || runs[i].user > 1) abort();
        if (i > 0 && runs[i].user == runs[i - 1].user) abort();
        at = runs[i].end;
    }
    if (at != n) abort();
    for (size_t i = 0; i < n; i++) { /* length byte, then as many bytes */
        const unsigned char c = (unsigned char)text[i];
        const size_t more = c < 0x80   ? 0
                            : c < 0xc2 ? 9
                            : c < 0xe0 ? 1
                            : c < 0xf0 ? 2
                            : c < 0xf5 ? 3
                                       : 9;
        if (more > n - 1 - i) abort();
        for (size_t k = 0; k < more; k++)
            if (((unsigned char)text[++i] & 0xc0) != 0x80) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ggufx_runtime_options options = {.struct_size = sizeof options};
    ggufx_chat_template_options chat_options = {.struct_size = sizeof chat_options};
    ggufx_chat_request request = {.struct_size = sizeof request};
    ggufx_chat_template *chat = NULL;
    ggufx_error error;
    char *const exact = malloc(size ? size : 1); /* so that sanitizers detect reads past the end */
    const uint8_t *const zero = size ? memchr(data, 0, size) : NULL;
    const size_t n_template = zero ? (size_t)(zero - data) : size;
    static char text[1 << 20];
    static ggufx_chat_span runs[1 << 16];
    size_t n = 0, n_runs = 0;
    options.threads = 1;
    if (!rt && ggufx_runtime_create(&rt, &options, NULL) != GGUFX_OK) abort();
    if (!exact) abort();
    memset(&error, 0, sizeof error);
    if (size) memcpy(exact, data, size);
    chat_options.text = (ggufx_text){exact, n_template};
    request.flags = GGUFX_CHAT_CLOCK | GGUFX_CHAT_GENERATE;
    request.unix_time = 1732233600;
    request.max_steps = 100000;
    request.max_memory = 1 << 22;
    request.max_output = 1 << 20;
    if (zero) { request.variables = (ggufx_text){exact + n_template + 1, size - n_template - 1}; }
    if (ggufx_chat_template_create(&chat, rt, NULL, &chat_options, &error) == GGUFX_OK) {
        const ggufx_status status =
            ggufx_chat_template_render(text, sizeof text, &n, chat, &request, &error);
        if (status == GGUFX_OK) {
            if (ggufx_chat_template_spans(runs, 1 << 16, &n_runs, chat, &request, NULL)) abort();
            check_text(text, n, runs, n_runs);
        }
        if (status == GGUFX_E_INTERNAL || status == GGUFX_E_MEMORY) abort();
        if (status != GGUFX_OK && !error.message[0]) abort();
        ggufx_chat_template_facts facts = {.struct_size = sizeof facts};
        if (ggufx_chat_template_info(&facts, chat, NULL) != GGUFX_OK) abort();
        ggufx_chat_template_destroy(chat);
    } else if (!error.message[0] || error.status == GGUFX_E_INTERNAL) {
        abort();
    }
    free(exact);
    return 0;
}
