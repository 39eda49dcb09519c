/*
 * Shared by the tests of chat templates: a template, a conversation, a rendered text with its runs.
 * SPDX-License-Identifier: MIT
 */
#ifndef CHAT_FIXTURE_H
#define CHAT_FIXTURE_H

#include "fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef struct rendered {
    ggufx_status status; /* status of the failed create or render */
    ggufx_error error;
    char *text; /* NUL-terminated */
    size_t length;
    ggufx_chat_span runs[256];
    size_t n_runs;
} rendered;

extern ggufx_runtime *chat_rt; /* created by chat_setup */
int chat_setup(void **state);
int chat_teardown(void **state);

/* Compiles a template and renders it with a request, which may be NULL. */
rendered render_with(const char *text, const ggufx_chat_request *request);
/* The same with variables as JSON, which may be NULL. */
rendered render(const char *text, const char *variables);
void rendered_free(rendered *r);

/* Asserts the rendered text, or the status of the failure. */
void assert_renders(const char *text, const char *variables, const char *want);
void assert_fails(const char *text, const char *variables, ggufx_status want, const char *message);

/* Writes 'u' (user) or 't' (template) for each byte. */
void origins(char *out, const rendered *r);

#endif
