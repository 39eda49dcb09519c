// ggufx bench matvec and matmul: weights times vectors, per type, instruction set, threads and
// columns. Measures plain reads of the same memory and the multiply-add peak in the same rounds,
// and compares the bits with the scalar kernels. --device measures a GPU.
// SPDX-License-Identifier: MIT
#include "bench/device_products.hpp"
#include "bench/product_figures.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

static int bench_products(const Globals &globals, const ProductOptions &options) {
    if (options.device.any()) return bench_device_products(globals, options);
    return measure_types(globals, options);
}

static void add_verb(Tool &tool, Command &bench, const char *name, const char *text,
                     const ProductOptions &defaults, const char *example) {
    auto options = std::make_shared<ProductOptions>(defaults);
    options->verb = name;
    Command sub = bench.add_command(name, text);
    sub.option("--type", options->types, "tensor types, or all (default q4_K)")
        .value("TYPES")
        .list();
    sub.option("--n", options->n, fmt::format("numbers of vectors (default {})", defaults.n[0]))
        .list()
        .between(1u, 4096u);
    sub.option("-m,--m", options->m, fmt::format("rows of a matrix (default {})", defaults.m))
        .between(1u, 1u << 20);
    sub.option("-k,--k", options->k, "values of a row (default 4096)").between(1u, 1u << 20);
    sub.option("-r,--rounds", options->rounds, "rounds of kernels, reads and peaks (default 9)")
        .between(1u, 1000u);
    sub.option("--cache", options->cache,
               "location of the weights: memory, or l2 (1 MiB per thread) (default memory)")
        .one_of({"memory", "l2"});
    add_clock(sub, options->clock);
    add_device(sub, options->device);
    sub.flag("--f32", options->f32, "f32 activations also with quantized weights");
    sub.flag("--precise", options->precise, "activations of 15 bits; --f32 takes precedence");
    sub.flag("--row-wise", options->rows,
             "row-wise products: the result of a vector is bit-identical for every --n");
    sub.flag("--markdown", options->markdown, "print the table as Markdown");
    sub.examples(example);
    tool.verbs.emplace_back(sub,
                            [&tool, options] { return bench_products(tool.globals, *options); });
}

void add_bench_matvec(Tool &tool, Command &bench) {
    add_verb(tool, bench, "matvec", "weights times vectors, per instruction set", {},
             "  ggufx bench matvec --type q4_K,q8_0 --isa all -t 1,2 --json\n"
             "  ggufx bench matvec --type all --device auto");
    ProductOptions many;
    many.n = {512};
    many.m = 1792;
    add_verb(tool, bench, "matmul", "weights times many vectors, per instruction set", many,
             "  ggufx bench matmul --type q4_K --isa avx512 --n 8,16,512 -t 1 --json");
}

} // namespace ggufx::cli
