// SPDX-License-Identifier: MIT
#include "base/checked.hpp"
#include "graph/graph.hpp"

#include <algorithm>
#include <type_traits>

namespace ggufx::model {

namespace {

bool is_rows(const Op &op) {
    return std::visit([](const auto &s) { return s.kRows; }, op);
}

template <class S, class... Of> constexpr bool kIsOneOf = (std::is_same_v<S, Of> || ...);

bool looks_around(const Op &op) {
    return std::visit(
        []<class S>(const S &) {
            return kIsOneOf<S, op::Attend, op::Conv, op::Delta, op::Scan, op::ScanEach, op::Pool,
                            op::Embed, op::Angles, op::Temperature>;
        },
        op);
}
bool counts_rows(const Op &op) {
    return std::visit(
        []<class S>(const S &) { return kIsOneOf<S, op::ExpertProduct, op::HeadProduct>; }, op);
}

bool begins_part(const Graph &p, uint32_t op) {
    return std::any_of(std::begin(p.parts), std::end(p.parts),
                       [&](const Part &part) { return part.first_op == op; });
}

void find_ends_of_parts(Graph &p) {
    for (uint32_t i = 0; i < kParts; i++) {
        const uint64_t end = i + 1 < kParts ? p.parts[i + 1].first_op : p.ops.size();
        const auto behind = std::find_if(p.groups.begin(), p.groups.end(),
                                         [&](const Group &g) { return g.first >= end; });
        p.parts[i].end_group = static_cast<uint32_t>(behind - p.groups.begin());
    }
}

// Groups adjacent row-wise operations up to the end of a layer or part; other operations stand
// alone.
void make_groups(Graph &p) {
    size_t layer = 0;
    for (uint32_t i = 0; i < p.ops.size(); i++) {
        const bool rows = is_rows(p.ops[i]);
        const bool joins = !p.groups.empty() && p.groups.back().rows && rows &&
                           !begins_part(p, i) && !p.groups.back().ends_layer;
        if (joins)
            p.groups.back().end = i + 1;
        else
            p.groups.push_back({i, i + 1, rows, false});
        if (layer < p.layer_ends.size() && p.layer_ends[layer] == i + 1) {
            p.groups.back().ends_layer = true;
            layer++;
        }
    }
    find_ends_of_parts(p);
}

void find_kinds(Graph &p) {
    for (const Op &op : p.ops) {
        p.counts_rows |= counts_rows(op);
        const auto *s = std::get_if<op::Attend>(&op);
        p.shares_keys |= s && (s->shared || s->k.none());
    }
}

void find_rows_alone(Graph &p) {
    const uint32_t end = p.end_group(PartKind::body);
    for (uint32_t g = 0; g < end; g++) {
        bool around = false, counts = false;
        for (uint32_t i = p.groups[g].first; i < p.groups[g].end; i++) {
            around |= looks_around(p.ops[i]);
            counts |= counts_rows(p.ops[i]);
        }
        if (around) p.alone_group = g + 1;
        p.alone_counts = counts || (p.alone_counts && !around);
    }
}

void find_uses(Graph &p) {
    for (uint32_t g = 0; g < p.groups.size(); g++) {
        for (uint32_t i = p.groups[g].first; i < p.groups[g].end; i++) {
            const auto use = [&](const View &v) {
                if (v.none()) return;
                BufferInfo &buffer = p.buffers[v.buffer];
                if (buffer.first == kNoIndex) {
                    buffer.first = g;
                    buffer.first_op = i;
                }
                buffer.last = g;
                p.groups[g].values += v.width;
            };
            std::visit([&](const auto &s) { s.views(use); }, p.ops[i]);
        }
    }
}

// Rounds a row up to whole cache lines, for any batch size.
uint64_t padded(const BufferInfo &buffer) {
    return (uint64_t{buffer.width} + 15) / 16 * 16;
}

// Returns an offset where a buffer of n floats fits between the live ones, which are sorted by
// offset.
uint64_t first_gap(const Graph &p, const Vector<uint32_t> &live, uint64_t n) {
    uint64_t at = 0;
    for (const uint32_t other : live) {
        if (p.buffers[other].offset >= at + n) break;
        at = std::max(at, p.buffers[other].offset + padded(p.buffers[other]));
    }
    return at;
}

void place(Graph &p, Vector<uint32_t> &live, uint32_t buffer) {
    BufferInfo &info = p.buffers[buffer];
    std::erase_if(live, [&](uint32_t other) { return p.buffers[other].last < info.first; });
    info.offset = first_gap(p, live, padded(info));
    p.row_floats = std::max(p.row_floats, info.offset + padded(info));
    const auto behind = std::find_if(live.begin(), live.end(), [&](uint32_t other) {
        return p.buffers[other].offset > info.offset;
    });
    live.insert(behind, buffer);
}

} // namespace

Graph::Graph(const Host *host)
    : ops(HostAllocator<Op>(host)), groups(HostAllocator<Group>(host)),
      layer_ends(HostAllocator<uint32_t>(host)), buffers(HostAllocator<BufferInfo>(host)),
      weights(HostAllocator<WeightInfo>(host)), vectors(HostAllocator<float>(host)),
      frequencies(HostAllocator<double>(host)), rope_tables(HostAllocator<RopeTable>(host)),
      caches(HostAllocator<CacheInfo>(host)), states(HostAllocator<StateInfo>(host)),
      borders(HostAllocator<uint32_t>(host)), slopes(HostAllocator<float>(host)) {}

void Graph::shrink() {
    ops.shrink_to_fit();
    groups.shrink_to_fit();
    layer_ends.shrink_to_fit();
    buffers.shrink_to_fit();
    weights.shrink_to_fit();
    vectors.shrink_to_fit();
    frequencies.shrink_to_fit();
    rope_tables.shrink_to_fit();
    caches.shrink_to_fit();
    states.shrink_to_fit();
    borders.shrink_to_fit();
    slopes.shrink_to_fit();
    for (CacheInfo &cache : caches) cache.layers.shrink_to_fit();
}

uint64_t Graph::memory_bytes() const {
    const auto bytes = [](const auto &v) { return uint64_t{v.capacity()} * sizeof v[0]; };
    uint64_t total = bytes(ops) + bytes(groups) + bytes(layer_ends) + bytes(buffers) +
                     bytes(weights) + n_vector_floats * sizeof(float) + bytes(frequencies) +
                     bytes(rope_tables) + bytes(caches) + bytes(states) + bytes(borders) +
                     bytes(slopes);
    for (const CacheInfo &cache : caches) total += bytes(cache.layers);
    return total;
}

void lay_out(Graph &p) {
    const HostAllocator<uint32_t> allocator(p.ops.get_allocator().host());
    make_groups(p);
    // otherwise set from all layers, before the rank's layers were selected
    if (!p.by_layers) find_kinds(p);
    find_rows_alone(p);
    find_uses(p);
    // can be projected at any time
    p.buffers[p.stream.buffer].last = static_cast<uint32_t>(p.groups.size());
    Vector<uint32_t> order(allocator), live(allocator);
    for (uint32_t i = 0; i < p.buffers.size(); i++)
        if (!p.buffers[i].outside && p.buffers[i].first != kNoIndex) order.push_back(i);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        return p.buffers[a].first != p.buffers[b].first ? p.buffers[a].first < p.buffers[b].first
                                                        : a < b;
    });
    for (const uint32_t buffer : order) place(p, live, buffer);
}

size_t scratch_bytes(const Graph &graph, uint32_t n_rows) {
    uint64_t n = 0;
    size_t out = 0;
    if (!checked::mul(&n, graph.row_floats, n_rows) || !checked::mul(&n, n, sizeof(float)) ||
        !checked::to_size(&out, n))
        fail(Status::limit, {}, "the activations of one batch exceed the address space");
    return out;
}

} // namespace ggufx::model
