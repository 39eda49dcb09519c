/*
 * What the tests of devices share: weights there and here, products of both side by side.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TESTS_DEVICE_FIXTURE_H
#define GGUFX_TESTS_DEVICE_FIXTURE_H

#include "../unit/mixture.h"

#include <stdlib.h>
#include <string.h>

/* Weights that an encoder made of random values, so that results are numbers; of types without one
 * random bytes. */
matrix quantized_matrix(const ggufx_runtime *rt, uint32_t type, uint64_t n_rows, uint64_t n_cols,
                        uint64_t stride);

/* Types that can be multiplied, ascending; filled by list_multiplied_types. */
extern uint32_t multiplied_types[64];
extern size_t n_multiplied_types;
void list_multiplied_types(void);

ggufx_tensor *upload(const ggufx_device *device, const ggufx_tensor *w);

/* What was compared: results there with those here. */
typedef struct tally {
    uint64_t n_compared, n_different, n_nan; /* NaN on both sides, which says little */
} tally;

/* Columns `n` at once under `flags`, each result counted; the device must have launched something for
 * them, and what lies between the columns is as it was. */
void compare_product(tally *t, const ggufx_runtime *rt, const ggufx_device *device,
                     const ggufx_tensor *there, const ggufx_tensor *here, size_t n, uint32_t flags);
/* All results have the same bits. */
void assert_same_product(const ggufx_runtime *rt, const ggufx_device *device,
                         const ggufx_tensor *there, const ggufx_tensor *here, size_t n,
                         uint32_t flags);

/* A call on experts that lie there, `w`, has the bits of the same here. */
void assert_same_mixture(const ggufx_runtime *rt, const ggufx_device *device, const mixture *here,
                         const ggufx_tensor *w, uint32_t flags);
/* The same for experts of this type: all of them or few, in no order, twice for a column, by one column
 * and by several. */
void assert_experts_have_the_bits_of_here(const ggufx_runtime *rt, const ggufx_device *device,
                                          uint32_t type, const uint32_t *modes, size_t n_modes);

uint64_t launches_of(const ggufx_device *device);

/* Slices of rows and columns there, which may begin at odd bytes, have the bits of those here. */
void assert_slices_have_the_bits_of_here(const ggufx_runtime *rt, const ggufx_device *device);

/* Lists without an entry, no columns, no experts of a column, matrices without rows in a list: a result
 * each, of nothing, and the device is not asked for it. */
void assert_empty_lists_are_results(const ggufx_runtime *rt, const ggufx_device *device);

/* The bytes of `there` are those of m. */
void assert_bytes_come_back(const ggufx_tensor *there, const matrix *m);

/* The sums of the words of `there`, and of n of its rows from `first` on, are those of m, rows filled
 * up with zeros. */
void assert_word_sums(const ggufx_tensor *there, const matrix *m, uint64_t first, uint64_t n);

#endif
