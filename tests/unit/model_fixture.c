/* SPDX-License-Identifier: MIT */
#include "model_fixture.h"

#include <stdlib.h>
#include <string.h>

void must(ggufx_status status, const ggufx_error *error, const char *call) {
    if (status != GGUFX_OK) fail_msg("%s: %s: %s", call, ggufx_status_name(status), error->message);
}

void fails(ggufx_status status, ggufx_status expected, ggufx_error *error, const char *text,
           const char *call) {
    if (status != expected) {
        fail_msg("%s: %s, not %s: %s", call, ggufx_status_name(status), ggufx_status_name(expected),
                 error->message);
    }
    assert_int_equal(error->status, expected);
    if (!strstr(error->message, text)) {
        fail_msg("%s: no \"%s\" in \"%s\"", call, text, error->message);
    }
    memset(error, 0, sizeof *error);
}

ggufx_status open_tiny(ggufx_file **out, const ggufx_runtime *rt, const tiny_options *options,
                       ggufx_error *error) {
    size_t size = 0;
    unsigned char *data = tiny_model(&size, options);
    return ggufx_open_memory(out, rt, data, size, free, data, NULL, error);
}

void begin(fixture *f, const tiny_options *options) {
    memset(f, 0, sizeof *f);
    fault_init(&f->memory);
    f->rt = fault_runtime(&f->memory, 1);
    MUST(f, open_tiny(&f->file, f->rt, options, &f->error));
}

void begin_session(fixture *f, const tiny_options *options, uint32_t n_batch) {
    ggufx_session_options session = {.struct_size = sizeof session};
    begin(f, options);
    MUST(f, ggufx_model_create(&f->model, f->rt, f->file, NULL, &f->error));
    session.flags = GGUFX_SESSION_HAS_TYPE_K | GGUFX_SESSION_HAS_TYPE_V;
    session.type_k = session.type_v = GGUFX_TYPE_F32;
    session.n_batch = n_batch;
    session.matmul_flags = GGUFX_MATMUL_F32;
    MUST(f, ggufx_session_create(&f->session, f->model, &session, &f->error));
}

void end(fixture *f) {
    /* Owners first: the order of destruction does not matter. */
    ggufx_runtime_destroy(f->rt);
    ggufx_file_destroy(f->file);
    ggufx_model_destroy(f->model);
    ggufx_tokenizer_destroy(f->tokenizer);
    ggufx_session_destroy(f->session);
    assert_int_equal(f->memory.live, 0);
    assert_int_equal(f->memory.destroyed, 1);
}

int32_t argmax(const float *logits, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++) {
        if (logits[i] > logits[best]) best = i;
    }
    return (int32_t)best;
}
