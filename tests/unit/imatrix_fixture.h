/*
 * Small importance matrices in both formats, for their tests.
 * SPDX-License-Identifier: MIT
 */
#ifndef IMATRIX_FIXTURE_H
#define IMATRIX_FIXTURE_H

#include "writer_folder.h"

enum { kColumns = 3, kExperts = 2 };
extern const float kSums[kColumns * kExperts], kCounts[kExperts];

/* Writes the keys of a GGUF imatrix. */
void header(gb *b);
/* Builds one entry of two experts; `counts` is the name of its second tensor, n its matrices. */
void build(gb *b, const char *counts, uint64_t n);
void put32(gb *b, int32_t v);
/* Builds a .dat file with one entry of two values, and with the newer trailer when `whole`. */
void build_dat(gb *b, int32_t calls, int whole);
/* Opens bytes that must be valid. */
ggufx_imatrix *open_it(const gb *b);
ggufx_imatrix_facts facts_of(const ggufx_imatrix *imatrix);

#endif
