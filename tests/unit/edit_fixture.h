/*
 * A small model in a file and edits of it, for the tests of editing.
 * SPDX-License-Identifier: MIT
 */
#ifndef EDIT_FIXTURE_H
#define EDIT_FIXTURE_H

#include "writer_folder.h"

enum { N = 3000 }; /* values of each of the two tensors */

/* general.name, a key that is longer than a sector, two tensors; room for `reserve` bytes. */
void make_model(uint64_t reserve);
/* The model at path. */
ggufx_file *open_model(void);
/* A writer with all that the file has. */
ggufx_writer *copy_of(const ggufx_file *f);
/* The whole file; to be freed. */
unsigned char *bytes_of(const char *name, size_t *n);
/* A whole file. */
void put_bytes(const char *name, const void *bytes, size_t n);
/* The value of a string key. */
void assert_text(const ggufx_file *f, const char *key, const char *want);
/* Bytes of "ggufx.reserve", UINT64_MAX without it. */
uint64_t reserve_of(const ggufx_file *f);
/* Edit general.name and give what was done. */
ggufx_edit_facts rename_model(const char *name, uint32_t flags);

#endif
