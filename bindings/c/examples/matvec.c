/* y = W x, straight from the quantized blocks of a file.
 * SPDX-License-Identifier: MIT */
#include "example.h"

int main(int argc, char **argv) {
    ggufx_runtime *rt = NULL;
    ggufx_file *file = open_file(&rt, argc, argv);
    size_t index = 0;
    must(ggufx_file_tensor_find(&index, file, "token_embd.weight", 17, &error));
    const ggufx_tensor *w = ggufx_file_tensor(file, index);
    ggufx_tensor_facts info = {.struct_size = sizeof info};
    must(ggufx_tensor_info(&info, w, &error));
    size_t n_cols = (size_t)info.ne[0], n_rows = (size_t)info.n_rows;
    float *x = malloc(n_cols * sizeof *x), *y = malloc(n_rows * sizeof *y);
    if (!x || !y) return 1;
    for (size_t i = 0; i < n_cols; ++i) x[i] = (float)(i % 7) - 3;
    must(ggufx_matvec(y, n_rows, rt, w, x, n_cols, NULL, &error));
    printf("%zu rows, y[0] = %.6f, y[%zu] = %.6f\n", n_rows, y[0], n_rows - 1, y[n_rows - 1]);
    free(x);
    free(y);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    return 0;
}
