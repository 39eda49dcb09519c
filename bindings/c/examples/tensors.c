/* Open a file and list its tensors: name, type, values per row and rows.
 * SPDX-License-Identifier: MIT */
#include "example.h"

int main(int argc, char **argv) {
    ggufx_runtime *rt = NULL;
    ggufx_file *file = open_file(&rt, argc, argv);
    for (size_t i = 0; i < ggufx_file_tensor_count(file); ++i) {
        ggufx_tensor_facts tensor = {.struct_size = sizeof tensor};
        ggufx_type_facts type = {.struct_size = sizeof type};
        must(ggufx_tensor_info(&tensor, ggufx_file_tensor(file, i), &error));
        must(ggufx_type_info(&type, tensor.type, &error));
        printf("%.*s %s %llu x %llu\n", (int)tensor.name.size, tensor.name.data, type.name,
               (unsigned long long)tensor.ne[0], (unsigned long long)tensor.n_rows);
    }
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    return 0;
}
