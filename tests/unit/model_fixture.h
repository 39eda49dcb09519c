/*
 * A runtime, the tiny model opened on it, and objects created from it.
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_FIXTURE_H
#define MODEL_FIXTURE_H

#include "decode_ids.h"
#include "fault.h"
#include "tiny_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct fixture {
    fault memory;
    ggufx_runtime *rt;
    ggufx_file *file;
    ggufx_tokenizer *tokenizer;
    ggufx_model *model;
    ggufx_session *session;
    ggufx_error error;
} fixture;

#define MUST(f, call) must((call), &(f)->error, #call)
void must(ggufx_status status, const ggufx_error *error, const char *call);

/* Expects a failure, with the error filled and `text` in its message. */
#define FAILS(f, expected, text, call) fails((call), (expected), &(f)->error, (text), #call)
void fails(ggufx_status status, ggufx_status expected, ggufx_error *error, const char *text,
           const char *call);

/* Opens the tiny model from memory on rt. */
ggufx_status open_tiny(ggufx_file **out, const ggufx_runtime *rt, const tiny_options *options,
                       ggufx_error *error);

/* Creates the runtime and the file; the rest is NULL. options may be NULL. */
void begin(fixture *f, const tiny_options *options);
/* Creates runtime, file, model and a session with an F32 cache and f32 activations. n_batch 0 =
 * default. */
void begin_session(fixture *f, const tiny_options *options, uint32_t n_batch);
/* Destroys all objects and asserts that all memory was freed. */
void end(fixture *f);

int32_t argmax(const float *logits, size_t n);

#endif
