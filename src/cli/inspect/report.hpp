// Data of ggufx report: figures of each tensor, and the page made from them.
// SPDX-License-Identifier: MIT
#pragma once

#include "inspect/tensor_diff.hpp"

#include <array>
#include <map>

namespace ggufx::cli {

constexpr size_t kWeightBins = 64; // -4 .. 4 times the rms of the tensor

struct TensorReport {
    std::string name, kind, type; // kind: without layer and ".weight"
    uint64_t n_values = 0, n_bytes = 0;
    double rms = 0, largest = 0;
    uint64_t n_invalid = 0; // NaN or infinite
    bool compared = false;  // the reference has this tensor
    double error = 0;       // relative rmse
    double max_error = 0;
};

struct CodeHistogram {
    std::string type;
    std::vector<uint64_t> counts; // by code, lowest first
    int lowest = 0;
};

struct ModelReport {
    std::string file, reference, name, architecture;
    uint64_t n_values = 0, n_bytes = 0;
    std::vector<TensorReport> tensors;
    std::map<std::string, std::array<uint64_t, kWeightBins>> weights; // by kind
    std::vector<CodeHistogram> codes;                                 // by type
    std::vector<std::pair<std::string, uint64_t>> sizes; // bytes by type, largest first
    std::vector<size_t> worst; // up to twenty, largest error (without reference: rms) first
};

// Counts the codes of a tensor in memory; does nothing for types without integer codes.
void count_codes(ModelReport &report, const ggufx_tensor *tensor, const ggufx_tensor_facts &info);

// Returns a self-contained page: no scripts, no external resources, all text from files escaped.
std::string report_html(const ModelReport &report);

} // namespace ggufx::cli
