/*
 * Shared by the tests of devices: weights on the device and in host memory, and their products
 * compared.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TESTS_DEVICE_FIXTURE_H
#define GGUFX_TESTS_DEVICE_FIXTURE_H

#include "../unit/mixture.h"

#include <stdlib.h>
#include <string.h>

/* Returns weights quantized from random values, so that results are finite. Types without a
 * quantizer get random bytes. */
matrix quantized_matrix(const ggufx_runtime *rt, uint32_t type, uint64_t n_rows, uint64_t n_cols,
                        uint64_t stride);

/* Types with products, ascending; filled by list_multiplied_types. */
extern uint32_t multiplied_types[64];
extern size_t n_multiplied_types;
void list_multiplied_types(void);

ggufx_tensor *upload(const ggufx_device *device, const ggufx_tensor *w);

/* Counts of compared device and host results. */
typedef struct tally {
    uint64_t n_compared, n_different, n_nan; /* n_nan: NaN on both sides, weak evidence */
} tally;

/* Multiplies `n` columns with `flags` and counts each result. The device must have launched kernels
 * for them, and gaps between the columns stay unchanged. */
void compare_product(tally *t, const ggufx_runtime *rt, const ggufx_device *device,
                     const ggufx_tensor *there, const ggufx_tensor *here, size_t n, uint32_t flags);
/* Asserts bit-identical results. */
void assert_same_product(const ggufx_runtime *rt, const ggufx_device *device,
                         const ggufx_tensor *there, const ggufx_tensor *here, size_t n,
                         uint32_t flags);

/* Asserts that a product of experts on the device, `w`, is bit-identical to the same on the
 * host. */
void assert_same_mixture(const ggufx_runtime *rt, const ggufx_device *device, const mixture *here,
                         const ggufx_tensor *w, uint32_t flags);
/* The same for experts of this type: all or few of them, in no order, repeated for a column, with
 * one column and several. */
void assert_experts_have_the_bits_of_here(const ggufx_runtime *rt, const ggufx_device *device,
                                          uint32_t type, const uint32_t *modes, size_t n_modes);

uint64_t launches_of(const ggufx_device *device);

/* Asserts that slices of rows and columns on the device, also at odd byte offsets, have the bits of
 * the host's slices. */
void assert_slices_have_the_bits_of_here(const ggufx_runtime *rt, const ggufx_device *device);

/* Asserts that empty work succeeds without launches: lists without entries, no columns, no experts
 * of a column, matrices without rows in a list. */
void assert_empty_lists_are_results(const ggufx_runtime *rt, const ggufx_device *device);

/* Asserts that the downloaded bytes of `there` are those of m. */
void assert_bytes_come_back(const ggufx_tensor *there, const matrix *m);

/* Asserts the word sums of `there`, and of n of its rows from `first`, against m; rows are padded
 * with zeros. */
void assert_word_sums(const ggufx_tensor *there, const matrix *m, uint64_t first, uint64_t n);

#endif
