/*
 * ggufx/types.h: types of tensors and of KV caches.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TYPES_H
#define GGUFX_TYPES_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types of tensors and of KV caches. Ids below 1024 are those that GGUF files contain; 4, 5,
 * 31 .. 33 and 36 .. 38 were removed from the format. Caches take F32, F16, BF16, Q8_0, Q5_1, Q5_0,
 * Q4_1, Q4_0, IQ4_NL, and the types from 1024 on, which no file has. */
typedef uint32_t ggufx_type;
enum {
    GGUFX_TYPE_F32 = 0,
    GGUFX_TYPE_F16 = 1,
    GGUFX_TYPE_Q4_0 = 2,
    GGUFX_TYPE_Q4_1 = 3,
    GGUFX_TYPE_Q5_0 = 6,
    GGUFX_TYPE_Q5_1 = 7,
    GGUFX_TYPE_Q8_0 = 8,
    GGUFX_TYPE_Q8_1 = 9,
    GGUFX_TYPE_Q2_K = 10,
    GGUFX_TYPE_Q3_K = 11,
    GGUFX_TYPE_Q4_K = 12,
    GGUFX_TYPE_Q5_K = 13,
    GGUFX_TYPE_Q6_K = 14,
    GGUFX_TYPE_Q8_K = 15,
    GGUFX_TYPE_IQ2_XXS = 16,
    GGUFX_TYPE_IQ2_XS = 17,
    GGUFX_TYPE_IQ3_XXS = 18,
    GGUFX_TYPE_IQ1_S = 19,
    GGUFX_TYPE_IQ4_NL = 20,
    GGUFX_TYPE_IQ3_S = 21,
    GGUFX_TYPE_IQ2_S = 22,
    GGUFX_TYPE_IQ4_XS = 23,
    GGUFX_TYPE_I8 = 24,
    GGUFX_TYPE_I16 = 25,
    GGUFX_TYPE_I32 = 26,
    GGUFX_TYPE_I64 = 27,
    GGUFX_TYPE_F64 = 28,
    GGUFX_TYPE_IQ1_M = 29,
    GGUFX_TYPE_BF16 = 30,
    GGUFX_TYPE_TQ1_0 = 34,
    GGUFX_TYPE_TQ2_0 = 35,
    GGUFX_TYPE_MXFP4 = 39,
    GGUFX_TYPE_NVFP4 = 40,
    GGUFX_TYPE_Q1_0 = 41,
    GGUFX_TYPE_Q2_0 = 42,
    /* ROT types: the blocks of Q5_0, Q4_0, IQ4_NL after a Hadamard transform of the head */
    GGUFX_TYPE_ROT_Q5_0 = 1024,
    GGUFX_TYPE_ROT_Q4_0 = 1025,
    GGUFX_TYPE_ROT_IQ4_NL = 1026,
    GGUFX_TYPE_TQ3_0 = 1027, /* 32 values in 14 bytes, as published: the third bit is not read */
    GGUFX_TYPE_TQ3_0_RESIDUAL = 1028, /* the same bytes with all three bits read */
    /* GX types: 2, 3 or 4 bits per value and one scale per head; head_dim is a multiple of 16 */
    GGUFX_TYPE_GX2 = 1029,
    GGUFX_TYPE_GX3 = 1030,
    GGUFX_TYPE_GX4 = 1031
};

/* Properties of a type. */
typedef uint32_t ggufx_type_flags;
#define GGUFX_TYPE_IS_QUANTIZED 1u  /* blocks of codes with scales */
#define GGUFX_TYPE_IS_FLOAT 2u      /* F64, F32, F16, BF16 */
#define GGUFX_TYPE_IS_INTEGER 4u    /* I8, I16, I32, I64 */
#define GGUFX_TYPE_IS_ACTIVATION 8u /* Q8_1, Q8_K: computed at run time, not meant for files */
#define GGUFX_TYPE_HAS_MATVEC 16u   /* usable as the weight of ggufx_matvec */
#define GGUFX_TYPE_HAS_QUANTIZE 32u /* usable as the result of ggufx_quantize */
#define GGUFX_TYPE_IN_FILES 64u     /* a type of tensors */
#define GGUFX_TYPE_IN_CACHES 128u   /* a type of KV caches, which pad heads to whole blocks */

typedef struct ggufx_type_facts {
    uint32_t struct_size; /* set by the caller */
    ggufx_type_flags flags;
    ggufx_type id;
    uint32_t block_values; /* values per block; 0: the head is the block (GX types) */
    uint32_t block_bytes;  /* bytes per block; 0 if block_values is 0 */
    uint32_t reserved;
    const char *name; /* name as ggml spells it: "q4_K"; valid for the life of the process */
} ggufx_type_facts;

/* Describes a type. out->struct_size must be set.
 * Errors: ARGUMENT, TYPE (the message tells removed from unknown ids).
 * Threads: any.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_type_info(ggufx_type_facts *out, ggufx_type type, ggufx_error *error);

/* Finds a type by name, regardless of case: "Q4_K".
 * Errors: ARGUMENT, NOT_FOUND (the message suggests the nearest name).
 * Threads: any.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_type_find(ggufx_type *out, const char *name, ggufx_error *error);

/* Returns the bytes of a row of n values of a tensor in *out.
 * Errors: ARGUMENT, TYPE (also for types of caches alone), SHAPE (n is not a multiple of the block), OVERFLOW.
 * Threads: any.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_type_row_bytes(uint64_t *out, ggufx_type type, uint64_t n,
                                            ggufx_error *error);

/* Returns the name of the instruction set whose matvec kernel computes a tensor type: "avx512". An
 * unknown type gives NULL.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API const char *ggufx_runtime_kernel_name(const ggufx_runtime *rt, ggufx_type type);

#ifdef __cplusplus
}
#endif

#endif
