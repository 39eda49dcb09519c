/*
 * Calls on weights with the members of their structs as parameters: tensors, products, blocks.
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIGHT_CALLS_H
#define WEIGHT_CALLS_H

#include <ggufx/matmul.h>
#include <ggufx/quant.h>
#include <string.h>

static inline ggufx_status tensor_of(ggufx_tensor **out, const ggufx_runtime *rt, uint32_t type,
                                     uint32_t n_dims, const uint64_t *ne, uint64_t row_stride,
                                     const void *data, uint64_t n_bytes, const char *name,
                                     void (*destroy)(void *user), void *user, ggufx_error *error) {
    ggufx_tensor_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.type = type;
    options.n_dims = n_dims;
    for (uint32_t i = 0; ne && i < n_dims && i < GGUFX_MAX_DIMS; i++) options.ne[i] = ne[i];
    options.row_stride = row_stride;
    options.data = data;
    options.n_bytes = n_bytes;
    options.name = name;
    options.destroy = destroy;
    options.user = user;
    return ggufx_tensor_create(out, rt, &options, error);
}

static inline ggufx_product product_of(const ggufx_tensor *w, const float *x, size_t ldx,
                                       size_t n_x, size_t n, float *y, size_t ldy, size_t n_y) {
    ggufx_product product;
    memset(&product, 0, sizeof product);
    product.struct_size = sizeof product;
    product.w = w;
    product.x = x;
    product.n_x = n_x;
    product.ldx = ldx;
    product.n = n;
    product.y = y;
    product.n_y = n_y;
    product.ldy = ldy;
    return product;
}

/* Computes one product of n columns. */
static inline ggufx_status matmul(float *y, size_t ldy, size_t n_y, const ggufx_runtime *rt,
                                  const ggufx_tensor *w, const float *x, size_t ldx, size_t n_x,
                                  size_t n, const ggufx_matmul_options *options,
                                  ggufx_error *error) {
    const ggufx_product product = product_of(w, x, ldx, n_x, n, y, ldy, n_y);
    return ggufx_matmul(rt, &product, 1, options, error);
}

/* Computes the products of n columns and n_used experts each. */
static inline ggufx_status matmul_id(float *y, size_t ldy, size_t n_y, const ggufx_runtime *rt,
                                     const ggufx_tensor *w, const uint32_t *ids, size_t n_used,
                                     const float *x, size_t ldx, size_t n_x, size_t n,
                                     const ggufx_matmul_options *options, ggufx_error *error) {
    ggufx_product product = product_of(w, x, ldx, n_x, n, y, ldy, n_y);
    product.ids = ids;
    product.n_used = n_used;
    return ggufx_matmul(rt, &product, 1, options, error);
}

/* Computes the products of several matrices and one vector. */
static inline ggufx_status matvec_many(float *const *y, const size_t *n_y, const ggufx_runtime *rt,
                                       const ggufx_tensor *const *w, size_t n_w, const float *x,
                                       size_t n_x, const ggufx_matmul_options *options,
                                       ggufx_error *error) {
    ggufx_product products[GGUFX_MATMUL_MAX_PRODUCTS];
    for (size_t i = 0; i < n_w && i < GGUFX_MATMUL_MAX_PRODUCTS; i++)
        products[i] = product_of(w[i], x, 0, n_x, 1, y[i], 0, n_y[i]);
    return ggufx_matmul(rt, products, n_w, options, error);
}

/* Quantizes rows; `options` has mode, imatrix and progress, or is NULL. */
static inline ggufx_status quantize_rows(void *out, size_t n_bytes, const ggufx_runtime *rt,
                                         uint32_t type, const float *rows, size_t n_rows,
                                         size_t n_cols, const ggufx_quantize_args *options,
                                         ggufx_error *error) {
    ggufx_quantize_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    if (options) args = *options;
    args.type = type;
    args.rows = rows;
    args.n_rows = n_rows;
    args.n_cols = n_cols;
    return ggufx_quantize(out, n_bytes, rt, &args, error);
}

/* Dequantizes whole blocks as one row. */
static inline ggufx_status dequantize_blocks(float *out, size_t n, const ggufx_runtime *rt,
                                             uint32_t type, const void *bytes, size_t n_bytes,
                                             ggufx_error *error) {
    ggufx_type_facts facts;
    memset(&facts, 0, sizeof facts);
    facts.struct_size = sizeof facts;
    ggufx_status status = ggufx_type_info(&facts, type, error);
    if (status != GGUFX_OK) return status;
    const uint64_t values = n_bytes / facts.block_bytes * facts.block_values;
    ggufx_tensor *tensor = NULL;
    status = tensor_of(&tensor, rt, type, 1, &values, 0, bytes, n_bytes, NULL, NULL, NULL, error);
    if (status == GGUFX_OK) status = ggufx_dequantize(out, n, rt, tensor, 0, 1, error);
    ggufx_tensor_destroy(tensor);
    return status;
}

#endif
