/*
 * What the tests of products and decoding share: made-up weights, runtimes, executors, a counting
 * allocator.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TESTS_MATMUL_FIXTURE_H
#define GGUFX_TESTS_MATMUL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ggufx/ggufx.h>

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

/* A runtime that must come into being; isa GGUFX_ISA_*, threads as in the options. */
ggufx_runtime *make_runtime(int32_t isa, uint32_t threads);
ggufx_runtime *make_runtime_with(const ggufx_runtime_options *options);

/* Executors of a host: in order, in reverse order, and on threads made for each call. */
ggufx_executor serial_executor(void);
ggufx_executor reverse_executor(void);
ggufx_executor thread_executor(uint32_t max_workers);

/* Counts what it gives out; *live and *calls outlive the runtime. */
typedef struct counting {
    size_t live, calls;
} counting;
ggufx_allocator counting_allocator(counting *count);

uint32_t bits_of(float f);
float float_of(uint32_t bits);
void assert_equal_bits(const float *a, const float *b, size_t n);

#endif
