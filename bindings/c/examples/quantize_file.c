/* Quantizes a whole model by the recipe Q4_K_M, to the same bytes as the reference quantizer.
 * usage: quantize_file MODEL.gguf OUT.gguf
 * SPDX-License-Identifier: MIT */
#include "example.h"

int main(int argc, char **argv) {
    ggufx_runtime *rt = NULL;
    ggufx_file *file = open_file(&rt, argc - (argc == 2), argv);
    ggufx_quantizer_options options = {.struct_size = sizeof options};
    ggufx_quantizer_facts plan = {.struct_size = sizeof plan};
    ggufx_quantizer *job = NULL;
    uint32_t recipe = 0;
    options.flags = GGUFX_QUANTIZER_ALLOW_REQUANTIZE; /* the demo's model is Q8_0 already */
    must(ggufx_file_type_find(&recipe, "Q4_K_M", &error));
    must(ggufx_quantizer_create(&job, rt, file, recipe, &options, &error));
    must(ggufx_quantizer_info(&plan, job, &error));
    must(ggufx_quantizer_run(job, argv[2], NULL, &error));
    printf("%llu tensors, %llu bytes become %llu\n", (unsigned long long)plan.n_tensors,
           (unsigned long long)plan.bytes_in, (unsigned long long)plan.bytes_out);
    ggufx_quantizer_destroy(job);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    return 0;
}
