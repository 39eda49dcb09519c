/*
 * Helpers of the KV cache tests: caches, fixed random data, attention in double precision and a
 * runtime whose allocator counts and fails on request.
 * SPDX-License-Identifier: MIT
 */
#ifndef KV_FIXTURE_H
#define KV_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <ggufx/kv.h>

#include "kv_calls.h"

/* Counting allocator: the fail_at-th request from now on gets NULL (0 = never). */
typedef struct kv_memory {
    long live, requests, fail_at;
} kv_memory;

/* Creates a runtime. NULL memory = the default allocator; threads 0 = default. */
ggufx_runtime *kv_runtime(kv_memory *memory, uint32_t threads, const ggufx_executor *executor);
ggufx_runtime *kv_scalar_runtime(void); /* GGUFX_ISA_SCALAR */
/* Fixture of a group of tests whose state is a runtime with two threads. */
int kv_set_up(void **state);
int kv_tear_down(void **state);

/* Returns options of one layer and one sequence, with four sinks. */
ggufx_kv_options kv_shape(uint32_t n_kv_heads, uint32_t n_q_heads, uint32_t head_dim_k,
                          uint32_t head_dim_v, uint32_t type_k, uint32_t type_v);
int kv_is_float(uint32_t type); /* F32, F16 or BF16 */
/* Options of a layer: with a window and the types of the cache; with types of its own. */
ggufx_kv_layer_options kv_window(uint32_t window, uint32_t kind);
ggufx_kv_layer_options kv_types_of_layer(uint32_t type_k, uint32_t type_v);
ggufx_kv *kv_make(const ggufx_runtime *rt, const ggufx_kv_options *options);

/* Returns n floats in [-1, 1), the same for the same seed; free() them. */
float *kv_random(size_t n, uint32_t seed);

/* Appends n tokens of k and v (whole arrays) to layer 0 of a sequence, `step` at a time, and
 * commits. Full pages are then quantized, and queries see the values of ggufx_kv_read. */
void kv_fill(ggufx_kv *kv, const ggufx_kv_options *shape, uint32_t sequence, size_t n, size_t step,
             const int32_t *positions, const float *k, const float *v);

/* Computes attention with buffer lengths from the shape; asserts success. */
void kv_attend(float *out, float *lse, const ggufx_kv *kv, const ggufx_kv_options *shape,
               uint32_t sequence, const float *q, size_t n_queries, const int32_t *positions,
               uint32_t flags, float scale);

/*
 * Computes the same in doubles over the values of ggufx_kv_read and compares it with `out` and
 * `lse`. key_positions holds one position per token, positions one per query (NULL: all tokens are
 * visible).
 *
 * Tolerance, from the order of operations in docs/reproducibility/attention.md with u = 2^-24: a
 * score is a chain of head_dim/2 fma, one sum and one product, so it errs by at most e =
 * (head_dim/2 + 3) u S with S = scale * sum |q k|. A weight errs by e + |s - m| u + 1.2e-7
 * relatively. Numerator and denominator each add n roundings, every merge a few more.
 */
void kv_check(const float *out, const float *lse, const ggufx_kv *kv, const ggufx_kv_options *shape,
              uint32_t sequence, const float *q, size_t n_queries, const int32_t *positions,
              const int32_t *key_positions, double scale);

/*
 * Computes one query head by the definition in docs/reproducibility/attention.md, bit for bit.
 * Inputs are the dequantized rows of its KV head, row_k and row_v floats apart, n >= 1 visible
 * tokens. lse is m + log(l), computed by the caller.
 */
void kv_reference(float *out, float *m, float *l, const float *q, const float *k, size_t row_k,
                  const float *v, size_t row_v, size_t n, uint32_t dk, uint32_t dv, float scale);

/* FNV-1a over the bits of n floats. */
uint64_t kv_hash(uint64_t hash, const float *x, size_t n);
uint32_t kv_bits(float x);

#endif
