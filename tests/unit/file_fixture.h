/*
 * Shared by the tests of reading: a runtime, and files opened from bytes in memory.
 * SPDX-License-Identifier: MIT
 */
#ifndef FILE_FIXTURE_H
#define FILE_FIXTURE_H

#include "gguf_builder.h"

#include <ggufx/ggufx.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

extern ggufx_runtime *rt; /* for the whole group */
int file_setup(void **state);
int file_teardown(void **state);

/* Opens bytes that outlive the file; version 1 is accepted, too. */
ggufx_file *open_bytes(const gb *b, uint32_t flags);
/* Returns the index of a key that must exist. */
size_t find(const ggufx_file *f, const char *key);
/* Returns the status of an open. Checks that mapped, read and metadata-only opens agree, except
 * that metadata-only opens may ignore data beyond the end of the file (BOUNDS). */
ggufx_status open_as(const gb *b, size_t n, uint32_t flags, ggufx_error *error);
/* Opens the bytes and expects this status; an error names this offset. Frees the bytes. */
void expect(gb *b, uint32_t flags, ggufx_status status, uint64_t offset);

#endif
