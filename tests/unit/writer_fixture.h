/*
 * Shared by the tests of writing: a runtime, writers with the keys and tensors of gb_everything,
 * and a sink that stores the written bytes.
 * SPDX-License-Identifier: MIT
 */
#ifndef WRITER_FIXTURE_H
#define WRITER_FIXTURE_H

#include "fault.h"
#include "gguf_builder.h"
#include "ok.h"

extern ggufx_runtime *rt; /* for the whole group */
int writer_setup(void **state);
int writer_teardown(void **state);

/* Asserts that the call failed with the status, filled `e` and has `text` in its message. */
void expect(ggufx_status got, ggufx_status want, const ggufx_error *e, const char *text);

/* A string and its length. */
#define S(text) (text), sizeof(text) - 1

ggufx_writer *new_writer(const ggufx_runtime *own, uint32_t version, int big_endian);
/* Wraps memory as a tensor. */
ggufx_tensor *wrap(uint32_t type, uint32_t n_dims, uint64_t ne0, uint64_t ne1, const void *data,
                   uint64_t n_bytes);
/* Sets the keys and tensors of gb_everything, each through its specific call. */
ggufx_status fill_everything(ggufx_writer *w, const ggufx_runtime *own, ggufx_error *error);

/* Written bytes of each part. fail_at: refuse the byte with this number. */
enum { MAX_PARTS = 16 };
typedef struct kept {
    gb part[MAX_PARTS];
    uint32_t n_parts;
    size_t n, largest, fail_at;
} kept;
ggufx_status kept_write(void *user, uint32_t part, const void *data, size_t n);
void kept_free(kept *k);

/* Writes into memory with default options; the first part's bytes stay in k. */
void write_kept(ggufx_writer *w, kept *k, const ggufx_write_options *options);
void assert_bytes(const gb *got, const void *want, size_t n);

/* Opens bytes that outlive the file. */
ggufx_file *open_bytes(const gb *bytes, uint32_t flags);

#endif
