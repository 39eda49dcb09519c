/*
 * A runtime, and files opened from bytes in memory, for the tests of reading.
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

extern ggufx_runtime *rt; /* of the group */
int file_setup(void **state);
int file_teardown(void **state);

/* Opens bytes that stay; files of version 1 too. */
ggufx_file *open_bytes(const gb *b, uint32_t flags);
/* The index of a key that must be there. */
size_t find(const ggufx_file *f, const char *key);
/* How an open ends; checks that mapped, read and metadata-only opens agree, except that data beyond
 * the end of the file (BOUNDS) may be missing for the latter. */
ggufx_status open_as(const gb *b, size_t n, uint32_t flags, ggufx_error *error);
/* The bytes open so; an error names this offset. Frees them. */
void expect(gb *b, uint32_t flags, ggufx_status status, uint64_t offset);

#endif
