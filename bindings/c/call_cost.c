/* Call overhead: nanoseconds of the smallest product (one row of 32 values) and of a 4096 x 4096
 * one of Q4_K, the best of several rounds. Used by cost.py.
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 199309L
#include "examples/example.h"

#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static ggufx_tensor *weights(ggufx_runtime *rt, size_t rows, size_t columns, uint32_t type) {
    uint64_t row_bytes = 0;
    ggufx_tensor *w = NULL;
    must(ggufx_type_row_bytes(&row_bytes, type, columns, &error));
    const size_t n = rows * (size_t)row_bytes;
    float *values = malloc(rows * columns * sizeof *values);
    void *blocks = malloc(n);
    if (!values || !blocks) exit(1);
    for (size_t i = 0; i < rows * columns; i++) values[i] = (float)(i % 17) - 8;
    ggufx_quantize_args args = {.struct_size = sizeof args, .type = type};
    args.rows = values;
    args.n_rows = rows;
    args.n_cols = columns;
    must(ggufx_quantize(blocks, n, rt, &args, &error));
    ggufx_tensor_options options = {.struct_size = sizeof options, .type = type, .n_dims = 2};
    options.ne[0] = columns;
    options.ne[1] = rows;
    options.data = options.user = blocks;
    options.n_bytes = n;
    options.destroy = free;
    must(ggufx_tensor_create(&w, rt, &options, &error));
    free(values);
    return w;
}

static double best(int rounds, int calls, const ggufx_runtime *rt, const ggufx_tensor *w, float *y,
                   size_t rows, const float *x, size_t columns) {
    double least = 1e300;
    for (int round = 0; round < rounds; round++) {
        const double start = now();
        for (int i = 0; i < calls; i++)
            must(ggufx_matvec(y, rows, rt, w, x, columns, NULL, &error));
        const double each = (now() - start) / calls;
        if (each < least) least = each;
    }
    return least;
}

int main(void) {
    static float x[4096], y[4096];
    ggufx_runtime *rt = NULL;
    ggufx_runtime_options options = {.struct_size = sizeof options, .threads = 1};
    must(ggufx_runtime_create(&rt, &options, &error));
    for (int i = 0; i < 4096; i++) x[i] = 1;
    ggufx_tensor *small = weights(rt, 1, 32, GGUFX_TYPE_Q8_0);
    ggufx_tensor *large = weights(rt, 4096, 4096, GGUFX_TYPE_Q4_K);
    const double of_small = best(20, 20000, rt, small, y, 1, x, 32);
    const double of_large = best(100, 5, rt, large, y, 4096, x, 4096);
    printf("%.1f %.0f\n", of_small, of_large);
    ggufx_tensor_destroy(small);
    ggufx_tensor_destroy(large);
    ggufx_runtime_destroy(rt);
    return 0;
}
