// ggufx bench all: products of every type on every instruction set.
// SPDX-License-Identifier: MIT
#include "bench/product_figures.hpp"

namespace ggufx::cli {

static int bench_all(Globals globals, const ProductOptions &options) {
    if (globals.isa == "best") globals.isa = "all";
    return measure_types(globals, options);
}

void add_bench_all(Tool &tool, Command &bench) {
    auto options = std::make_shared<ProductOptions>();
    ProductOptions &products = *options;
    products.verb = "all";
    products.types = {"all"};
    products.n = {1, 8, 512};
    products.m = 1792;
    products.rounds = 3;
    Command sub = bench.add_command("all", "products of every type and instruction set");
    sub.option("--type", products.types, "tensor types (default all)").value("TYPES").list();
    sub.option("--n", products.n, "numbers of vectors (default 1,8,512)").list().between(1u, 4096u);
    sub.option("-m,--m", products.m, "rows of a matrix (default 1792)").between(1u, 1u << 20);
    sub.option("-k,--k", products.k, "values of a row (default 4096)").between(1u, 1u << 20);
    sub.option("-r,--rounds", products.rounds, "rounds of kernels, reads and peaks (default 3)")
        .between(1u, 1000u);
    sub.option("--cache", products.cache,
               "location of the weights: memory, or l2 (1 MiB per thread) (default memory)")
        .one_of({"memory", "l2"});
    add_clock(sub, products.clock);
    sub.flag("--markdown", products.markdown, "print the table as Markdown");
    sub.examples("  ggufx bench all -t 1 --markdown\n"
                 "  ggufx bench all --type q4_K,q6_K --json");
    tool.verbs.emplace_back(sub, [&tool, options] { return bench_all(tool.globals, *options); });
}

} // namespace ggufx::cli
