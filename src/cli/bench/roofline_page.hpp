// The page of ggufx bench all: every type and instruction set under the rooflines of the machine.
// SPDX-License-Identifier: MIT
#pragma once

#include "bench/product_figures.hpp"

namespace ggufx::cli {

// A figure of another program, measured elsewhere.
struct PeerFigure {
    std::string peer, type;
    uint64_t n;
    double gbps; // GB/s of weights
};

struct RooflinePage {
    std::string clock; // "wall" or "processor"
    uint64_t k = 0;
    std::vector<ProductFigures> figures;
    std::vector<PeerFigure> peers;
};

// Returns a self-contained page: no scripts, no external resources, all external text escaped.
std::string roofline_html(const RooflinePage &page);

} // namespace ggufx::cli
