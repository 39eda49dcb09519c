/*
 * Preload library that flips one bit of products and dequantized values on every instruction set
 * except scalar. Tests use it to see how the tool reports a wrong kernel.
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <ggufx/ggufx.h>

#include <dlfcn.h>
#include <string.h>

static void flip(const ggufx_runtime *rt, float *first) {
    ggufx_runtime_facts facts;
    uint32_t bits;
    memset(&facts, 0, sizeof facts);
    facts.struct_size = sizeof facts;
    if (ggufx_runtime_info(&facts, rt, NULL) != GGUFX_OK || !strcmp(facts.isa_name, "scalar"))
        return;
    memcpy(&bits, first, sizeof bits);
    bits ^= 1;
    memcpy(first, &bits, sizeof bits);
}

ggufx_status ggufx_matmul(const ggufx_runtime *rt, const ggufx_product *products, size_t n_products,
                          const ggufx_matmul_options *options, ggufx_error *error) {
    ggufx_status (*real)(const ggufx_runtime *, const ggufx_product *, size_t,
                         const ggufx_matmul_options *, ggufx_error *);
    ggufx_status status;
    *(void **)&real = dlsym(RTLD_NEXT, "ggufx_matmul");
    status = real(rt, products, n_products, options, error);
    if (status == GGUFX_OK && n_products > 0) flip(rt, products->y);
    return status;
}

ggufx_status ggufx_dequantize(float *out, size_t n_out, const ggufx_runtime *rt,
                              const ggufx_tensor *tensor, uint64_t first_row, uint64_t n_rows,
                              ggufx_error *error) {
    ggufx_status (*real)(float *, size_t, const ggufx_runtime *, const ggufx_tensor *, uint64_t,
                         uint64_t, ggufx_error *);
    ggufx_status status;
    *(void **)&real = dlsym(RTLD_NEXT, "ggufx_dequantize");
    status = real(out, n_out, rt, tensor, first_row, n_rows, error);
    if (status == GGUFX_OK && n_out > 0) flip(rt, out);
    return status;
}
