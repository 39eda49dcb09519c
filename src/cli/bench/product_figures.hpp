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

// Measures all types and prints the figures of each, as JSON lines or as a table. Returns the exit
// code: a failed check if bits differ.
int measure_types(const Globals &globals, const ProductOptions &options);

} // namespace ggufx::cli
