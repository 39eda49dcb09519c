/*
 * Shared by the tests of products and dequantization: generated weights, runtimes, executors,
 * polls.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TESTS_MATMUL_FIXTURE_H
#define GGUFX_TESTS_MATMUL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault.h"

/* Fixed integer generator: the same data on every host. */
uint32_t next_random(uint64_t *state);

/* x[n]: multiples of 2^-20 in [-1, 1). */
float *random_values(size_t n, uint64_t seed);

/* Rows of random codes with scales of moderate size, `stride` bytes apart (0: dense). */
typedef struct matrix {
    uint32_t type;
    uint64_t n_rows, n_cols, row_bytes, stride, n_bytes;
    uint8_t *data;
} matrix;
matrix random_matrix(uint32_t type, uint64_t n_rows, uint64_t n_cols, uint64_t stride);
void free_matrix(matrix *m);
ggufx_tensor *wrap_matrix(const ggufx_runtime *rt, const matrix *m);

/* Creates a runtime that must succeed; isa GGUFX_ISA_*, threads as in the options. */
ggufx_runtime *make_runtime(int32_t isa, uint32_t threads);
ggufx_runtime *make_runtime_with(const ggufx_runtime_options *options);

/* Executors of a host: in order, in reverse order, and on new threads for each call. */
ggufx_executor serial_executor(void);
ggufx_executor reverse_executor(void);
ggufx_executor thread_executor(uint32_t max_workers);

/* Types of all kinds: float, offsets, minimums, scales per 32 and per 16. */
#define N_PRODUCT_TYPES 8
extern const uint32_t product_types[N_PRODUCT_TYPES];

/* Flags of every product mode. */
#define N_PRODUCT_MODES 9
extern const uint32_t product_modes[N_PRODUCT_MODES];

/* Returns y[n][n_rows] of m times n columns of x, columns dense; the caller frees it. */
float *product(const ggufx_runtime *rt, const matrix *m, const float *x, size_t n, uint32_t flags);

/* Progress callback that checks its numbers and cancels at poll number cancel_at, from 0. */
typedef struct polls {
    uint64_t n_polls, cancel_at, last, total;
} polls;
ggufx_progress poll_progress(polls *p);
/* Asserts that a call was cancelled at a poll. With several threads polls depend on the clock, so
 * the call may have finished before that poll. */
void assert_cancelled(ggufx_status status, const polls *p, uint32_t threads);

/* Returns options with these flags and, unless p is NULL, with *progress set up for it. */
ggufx_matmul_options options_with(uint32_t flags, ggufx_progress *progress, polls *p);

uint32_t bits_of(float f);
float float_of(uint32_t bits);
void assert_equal_bits(const float *a, const float *b, size_t n);

#endif
