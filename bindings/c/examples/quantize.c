/* Dequantizes the rows of a tensor to f32, quantizes them to Q4_K and back; prints
 * sizes and errors.
 * SPDX-License-Identifier: MIT */
#include "example.h"

int main(int argc, char **argv) {
    ggufx_runtime *rt = NULL;
    ggufx_file *file = open_file(&rt, argc, argv);
    size_t index = 0;
    uint64_t row_bytes = 0;
    must(ggufx_file_tensor_find(&index, file, "token_embd.weight", 17, &error));
    const ggufx_tensor *tensor = ggufx_file_tensor(file, index);
    ggufx_tensor_facts info = {.struct_size = sizeof info};
    must(ggufx_tensor_info(&info, tensor, &error));
    must(ggufx_type_row_bytes(&row_bytes, GGUFX_TYPE_Q4_K, info.ne[0], &error));
    size_t n_cols = (size_t)info.ne[0], n_rows = (size_t)info.n_rows, n = n_rows * n_cols;
    size_t n_bytes = n_rows * (size_t)row_bytes;
    float *before = malloc(n * sizeof *before), *after = malloc(n * sizeof *after);
    void *blocks = malloc(n_bytes);
    if (!before || !after || !blocks) return 1;
    must(ggufx_dequantize(before, n, rt, tensor, 0, info.n_rows, &error));
    ggufx_quantize_args args = {.struct_size = sizeof args, .type = GGUFX_TYPE_Q4_K};
    args.rows = before;
    args.n_rows = n_rows;
    args.n_cols = n_cols;
    must(ggufx_quantize(blocks, n_bytes, rt, &args, &error));
    ggufx_tensor_options options = {.struct_size = sizeof options, .type = GGUFX_TYPE_Q4_K};
    options.n_dims = 2;
    options.ne[0] = n_cols;
    options.ne[1] = n_rows;
    options.data = blocks;
    options.n_bytes = n_bytes;
    ggufx_tensor *smaller = NULL;
    must(ggufx_tensor_create(&smaller, rt, &options, &error));
    must(ggufx_dequantize(after, n, rt, smaller, 0, n_rows, &error));
    double sum = 0;
    for (size_t i = 0; i < n; ++i) {
        sum += ((double)after[i] - before[i]) * ((double)after[i] - before[i]);
    }
    printf("%llu bytes, as q4_K %zu, squared error %.6f\n", (unsigned long long)info.n_bytes,
           n_bytes, sum);
    ggufx_tensor_destroy(smaller);
    free(before);
    free(after);
    free(blocks);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    return 0;
}
