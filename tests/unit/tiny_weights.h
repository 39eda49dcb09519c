/*
 * The weights of the tiny model as a function of tensor and index.
 * SPDX-License-Identifier: MIT
 */
#ifndef TINY_WEIGHTS_H
#define TINY_WEIGHTS_H

#include <stdint.h>

/* Returns value i of tensor `seed`: a multiple of 2^-15 in (-1, 1), times a power of two. */
static inline float weight(uint32_t seed, uint32_t i, float scale) {
    uint32_t x = seed * 0x9e3779b9u + i * 0x85ebca6bu + 12345u;
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    return (float)((int32_t)(x & 0xffffu) - 32768) * (scale / 32768.0f);
}

enum { SEED_EMBD = 1, SEED_NORM, SEED_OUTPUT, SEED_LAYER = 16 };
enum { W_ATTN_NORM, W_Q, W_K, W_V, W_O, W_FFN_NORM, W_GATE, W_UP, W_DOWN };

static inline uint32_t layer_seed(uint32_t layer, uint32_t which) {
    return SEED_LAYER * (layer + 1) + which;
}

static inline float norm_weight(uint32_t seed, uint32_t i) {
    return 1.0f + weight(seed, i, 0.25f);
}

/* Returns the code of a Q8_0 weight; all its blocks have the scale 2^-7. */
static inline int32_t weight_q8_0(uint32_t seed, uint32_t i, float scale) {
    return (int32_t)weight(seed, i, scale * 127.0f);
}

#endif
