/*
 * The tiny model evaluated over a generated text in chunks, with logits saved into memory.
 * SPDX-License-Identifier: MIT
 */
#ifndef MEASURE_FIXTURE_H
#define MEASURE_FIXTURE_H

#include "model_fixture.h"

enum { CHUNK = 24, N = 3 * CHUNK + 5, FILE_BYTES = 1 << 18 };

void make_tokens(int32_t *tokens); /* [N] */
/* Returns options of a slightly different model, the other one of each comparison. */
tiny_options other_model(void);

typedef struct saved_file {
    uint8_t bytes[FILE_BYTES];
    size_t n, at, fail_at;
} saved_file;
ggufx_status write_piece(void *user, const void *data, size_t n);
ggufx_status read_piece(void *user, void *data, size_t n);

/* Creates a batch-invariant session of f's model. */
void begin_rows(fixture *f, const tiny_options *model, uint32_t n_batch);
/* Measures the first n tokens. */
ggufx_status measure(fixture *f, ggufx_eval_facts *facts, size_t n, int32_t bos,
                     const ggufx_eval_options *options);
/* Saves the logits of the plain model over N tokens in chunks. */
saved_file *save(uint32_t stride);

#endif
