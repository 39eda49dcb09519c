/* SPDX-License-Identifier: MIT */
#include "measure_fixture.h"

#include <stdlib.h>
#include <string.h>

void make_tokens(int32_t *tokens) {
    for (size_t i = 0; i < N; i++) tokens[i] = (int32_t)((i * i * 17 + 3 * i + 9) % TINY_VOCAB);
}

tiny_options other_model(void) {
    tiny_options options = {0};
    options.rope_factor = 1.25f;
    return options;
}

ggufx_status write_piece(void *user, const void *data, size_t n) {
    saved_file *file = user;
    if (file->fail_at && file->n + n > file->fail_at) return GGUFX_E_IO;
    assert_true(n <= FILE_BYTES - file->n);
    memcpy(file->bytes + file->n, data, n);
    file->n += n;
    return GGUFX_OK;
}

ggufx_status read_piece(void *user, void *data, size_t n) {
    saved_file *file = user;
    if (n > file->n - file->at) return GGUFX_E_TRUNCATED;
    memcpy(data, file->bytes + file->at, n);
    file->at += n;
    return GGUFX_OK;
}

void begin_rows(fixture *f, const tiny_options *model, uint32_t n_batch) {
    ggufx_session_options options = {.struct_size = sizeof options};
    begin_session(f, model, n_batch);
    ggufx_session_destroy(f->session);
    options.n_batch = n_batch;
    options.flags = GGUFX_SESSION_HAS_TYPE_K | GGUFX_SESSION_HAS_TYPE_V;
    options.type_k = options.type_v = GGUFX_TYPE_F32;
    options.matmul_flags = GGUFX_MATMUL_BATCH_INVARIANT | GGUFX_MATMUL_F32;
    MUST(f, ggufx_session_create(&f->session, f->model, &options, &f->error));
}

ggufx_status measure(fixture *f, ggufx_eval_facts *facts, size_t n, int32_t bos,
                     const ggufx_eval_options *options) {
    int32_t tokens[N];
    make_tokens(tokens);
    memset(facts, 0, sizeof *facts);
    facts->struct_size = sizeof *facts;
    return ggufx_eval_perplexity(facts, f->session, tokens, n, CHUNK, bos, options, &f->error);
}

saved_file *save(uint32_t stride) {
    saved_file *file = calloc(1, sizeof *file);
    ggufx_eval_options options = {.struct_size = sizeof options};
    ggufx_eval_facts facts;
    fixture f;
    begin_rows(&f, NULL, 0);
    options.stride = stride;
    options.write = write_piece;
    options.write_user = file;
    MUST(&f, measure(&f, &facts, N, TINY_BOS, &options));
    assert_int_equal(facts.flags, 0);
    assert_true(facts.kl == 0);
    end(&f);
    return file;
}
