/* SPDX-License-Identifier: MIT */
#include "chat_fixture.h"
#include "../text_of.h"

#include <stdlib.h>
#include <string.h>

ggufx_runtime *chat_rt;

int chat_setup(void **state) {
    (void)state;
    return ggufx_runtime_create(&chat_rt, NULL, NULL) == GGUFX_OK ? 0 : -1;
}

int chat_teardown(void **state) {
    (void)state;
    ggufx_runtime_destroy(chat_rt);
    return 0;
}

rendered render_with(const char *text, const ggufx_chat_request *request) {
    rendered r = {0};
    ggufx_chat_template_options options = {.struct_size = sizeof options};
    ggufx_chat_request none = {.struct_size = sizeof none};
    ggufx_chat_template *chat = NULL;
    options.text = text_of(text);
    options.bos_token = text_of("<s>");
    r.status = ggufx_chat_template_create(&chat, chat_rt, NULL, &options, &r.error);
    if (r.status != GGUFX_OK) return r;
    if (!request) request = &none;
    r.status = ggufx_chat_template_render(NULL, 0, &r.length, chat, request, &r.error);
    if (r.status == GGUFX_E_CAPACITY || r.status == GGUFX_OK) {
        const size_t n = r.length;
        r.text = calloc(n + 1, 1);
        r.status = ggufx_chat_template_render(r.text, n, &r.length, chat, request, &r.error);
        if (r.status == GGUFX_OK)
            r.status = ggufx_chat_template_spans(r.runs, 256, &r.n_runs, chat, request, &r.error);
        assert_int_equal(r.length, n);
    }
    ggufx_chat_template_destroy(chat);
    return r;
}

rendered render(const char *text, const char *variables) {
    ggufx_chat_request request = {.struct_size = sizeof request};
    request.variables = text_of(variables);
    return render_with(text, &request);
}

void rendered_free(rendered *r) {
    free(r->text);
    r->text = NULL;
}

void assert_renders(const char *text, const char *variables, const char *want) {
    rendered r = render(text, variables);
    if (r.status != GGUFX_OK) fail_msg("%s: %s", text, r.error.message);
    assert_string_equal(r.text, want);
    rendered_free(&r);
}

void assert_fails(const char *text, const char *variables, ggufx_status want, const char *message) {
    rendered r = render(text, variables);
    if (r.status != want || !strstr(r.error.message, message))
        fail_msg("%.60s: %s %s, not %s %s", text, ggufx_status_name(r.status),
                 r.status ? r.error.message : r.text, ggufx_status_name(want), message);
    rendered_free(&r);
}

void origins(char *out, const rendered *r) {
    size_t at = 0;
    for (size_t i = 0; i < r->n_runs; i++)
        while (at < r->runs[i].end) out[at++] = r->runs[i].user ? 'u' : 't';
    assert_int_equal(at, r->length);
    out[at] = 0;
}
