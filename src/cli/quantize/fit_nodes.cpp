// SPDX-License-Identifier: MIT
#include "quantize/fit_nodes.hpp"

#include <bit>

namespace ggufx::cli {

namespace {

// Typical values for hosts of each kind; not measured by this project.
constexpr Link kLinks[] = {
    {"1g", "1 Gbit/s Ethernet, TCP", 60e-6, 0.117e9},
    {"10g", "10 Gbit/s Ethernet, TCP", 25e-6, 1.15e9},
    {"25g", "25 Gbit/s Ethernet, TCP", 20e-6, 2.8e9},
    {"100g", "100 Gbit/s Ethernet, TCP", 18e-6, 9e9},
    {"rdma", "100 Gbit/s RoCE or InfiniBand HDR", 2.5e-6, 11.5e9},
    {"ndr", "InfiniBand NDR, 400 Gbit/s", 2e-6, 45e9},
};

ggufx_estimate_facts estimate(const ggufx_runtime *rt, const ggufx_file *file,
                              const ggufx_estimate_options &options) {
    return facts<ggufx_estimate_facts>([&](ggufx_estimate_facts *out, ggufx_error *error) {
        return ggufx_estimate(out, rt, file, &options, error);
    });
}

double with_link(double per_second, double seconds) {
    return per_second > 0 ? 1 / (1 / per_second + seconds) : 0;
}

} // namespace

std::vector<std::string> link_names() {
    std::vector<std::string> names;
    for (const Link &link : kLinks) names.emplace_back(link.name);
    return names;
}

const Link *find_link(const std::string &name) {
    for (const Link &link : kLinks)
        if (name == link.name) return &link;
    return nullptr;
}

Nodes nodes_of(const ggufx_runtime *rt, const ggufx_file *file, ggufx_estimate_options options) {
    options.flags &= ~GGUFX_ESTIMATE_HAS_FILE_TYPE;
    options.file_type = 0;
    Nodes nodes;
    uint64_t most = 0, received = 0;
    for (options.rank = 0; options.rank < options.n_ranks; options.rank++) {
        const ggufx_estimate_facts of_rank = estimate(rt, file, options);
        received += of_rank.received_bytes;
        if (of_rank.total_bytes <= most) continue;
        most = of_rank.total_bytes;
        nodes.largest = options.rank;
    }
    nodes.sent_bytes = received / (options.n_ranks - 1); // by all other ranks
    return nodes;
}

double link_seconds(const ggufx_estimate_facts &facts, uint32_t n_ranks, const Link &link) {
    const auto n_steps = static_cast<uint32_t>(std::bit_width(n_ranks - 1)); // ceil(log2)
    return facts.n_messages * n_steps * link.seconds +
           static_cast<double>(facts.received_bytes) / link.bytes_per_second;
}

void add_link(ggufx_estimate_facts &facts, const ggufx_runtime *rt, const ggufx_file *file,
              const ggufx_estimate_options &options, const Nodes &nodes, const Link &link) {
    const uint32_t n_ranks = options.n_ranks;
    if (options.flags & GGUFX_ESTIMATE_LAYERS) {
        ggufx_estimate_options whole = options;
        whole.flags &= ~GGUFX_ESTIMATE_LAYERS;
        whole.n_ranks = whole.rank = 0;
        whole.flags |= GGUFX_ESTIMATE_HAS_TYPE_K | GGUFX_ESTIMATE_HAS_TYPE_V;
        whole.type_k = facts.type_k;
        whole.type_v = facts.type_v;
        const ggufx_estimate_facts one = estimate(rt, file, whole);
        facts.tokens_per_second = one.tokens_per_second;
        facts.tokens_per_second_full = one.tokens_per_second_full;
        facts.received_bytes = nodes.sent_bytes;
    }
    const double seconds = link_seconds(facts, n_ranks, link);
    facts.tokens_per_second = with_link(facts.tokens_per_second, seconds);
    facts.tokens_per_second_full = with_link(facts.tokens_per_second_full, seconds);
}

} // namespace ggufx::cli
