// The page of ggufx bench all: every type and set under the roofs of the machine.
// SPDX-License-Identifier: MIT
#pragma once

#include "bench/product_figures.hpp"

namespace ggufx::cli {

// What another program reached, measured elsewhere.
struct PeerFigure {
    std::string peer, type;
    uint64_t n;
    double gbps; // of weights
};

struct RooflinePage {
    std::string clock; // "wall" or "processor"
    uint64_t k = 0;
    std::vector<ProductFigures> figures;
    std::vector<PeerFigure> peers;
};

// One page: no scripts, nothing from other places; every text from outside is escaped.
std::string roofline_html(const RooflinePage &page);

} // namespace ggufx::cli
