// Product speeds of each runner. References from the same rounds: plain reads of the same memory,
// and the multiply-add peak of the instruction set.
// SPDX-License-Identifier: MIT
#pragma once

#include "bench/products.hpp"
#include "common/json.hpp"

namespace ggufx::cli {

struct ProductFigures {
    std::string type, isa, mode;
    uint64_t n, m;
    unsigned threads;
    double gbps, read_gbps; // GB/s of weights
    double gops, peak_gops;
    bool bits_equal; // to the bits of the scalar kernels

    double of_read() const { return gbps / read_gbps; }
    double of_peak() const { return gops / peak_gops; }
};

// Returns one entry per runner.
std::vector<ProductFigures> measure_products(const Globals &globals, const ProductOptions &options,
                                             std::vector<Runner> &runners, const Weights &w,
                                             const ColdBuffer &buffer);

Table product_table();
// Prints JSON lines to `out`, or adds rows to `table`.
void report(const Globals &globals, const ProductOptions &options,
            const std::vector<ProductFigures> &figures, Output &out, Table &table);

// Measures all types, and calls use(figures) after each. Returns whether all bits are equal.
template <class Use>
bool measure_types(const Globals &globals, const ProductOptions &options, const Use &use) {
    constexpr size_t kL2Bytes = size_t{1} << 20; // per thread
    std::vector<Runner> runners = make_runners(globals, options.n);
    unsigned threads = 1;
    for (const Runner &runner : runners) threads = std::max(threads, runner.threads());
    ColdBuffer buffer(options.cache == "memory" ? kColdBytes : kL2Bytes * threads);
    bool all_equal = true;
    for (const std::string &type : types_with(GGUFX_TYPE_HAS_MATVEC, options.types)) {
        const Weights w = make_weights(runners[0].runtime(), type, options, buffer);
        const std::vector<ProductFigures> figures =
            measure_products(globals, options, runners, w, buffer);
        for (const ProductFigures &f : figures) all_equal = all_equal && f.bits_equal;
        use(figures);
    }
    return all_equal;
}

} // namespace ggufx::cli
