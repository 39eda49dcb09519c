/*
 * Shared by the tests of editing: a small model in a file, and edits of it.
 * SPDX-License-Identifier: MIT
 */
#ifndef EDIT_FIXTURE_H
#define EDIT_FIXTURE_H

#include "writer_folder.h"

enum { N = 3000 }; /* values of each of the two tensors */

/* Writes a model: general.name, a key longer than a sector, two tensors; `reserve` bytes of
 * reserved space. */
void make_model(uint64_t reserve);
/* Opens the model at path. */
ggufx_file *open_model(void);
/* Returns a writer with all keys and tensors of the file. */
ggufx_writer *copy_of(const ggufx_file *f);
/* Reads the whole file; the caller frees it. */
unsigned char *bytes_of(const char *name, size_t *n);
/* Writes a whole file. */
void put_bytes(const char *name, const void *bytes, size_t n);
/* Asserts the value of a string key. */
void assert_text(const ggufx_file *f, const char *key, const char *want);
/* Returns the size of "ggufx.reserve", or UINT64_MAX without it. */
uint64_t reserve_of(const ggufx_file *f);
/* Edits general.name and returns the facts of the edit. */
ggufx_edit_facts rename_model(const char *name, uint32_t flags);

#endif
