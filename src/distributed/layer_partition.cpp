// SPDX-License-Identifier: MIT
#include "distributed/layer_partition.hpp"

#include <algorithm>

namespace ggufx::model {

namespace {

constexpr uint64_t kCostBytes = 4096;             // bytes per unit of cost
constexpr uint64_t kMostCost = uint64_t{1} << 42; // all layers; the product with a speed fits
                                                  // 64 bits

// Calls f(weights) for each weight that an operation multiplies by.
template <class F> void each_product(const Op &s, const F &f) {
    if (const auto *p = std::get_if<op::Product>(&s))
        for (uint32_t i = 0; i < p->n; i++) f(p->to[i].weights);
    if (const auto *h = std::get_if<op::HeadProduct>(&s)) f(h->weights);
    if (const auto *e = std::get_if<op::ExpertProduct>(&s))
        for (uint32_t i = 0; i < std::max(e->separate, 1u); i++) f(e->weights + i);
}

// Layers that must stay together, and their cost.
struct Unit {
    uint32_t first;
    uint64_t cost;
};

uint64_t cost_of(const Graph &p, uint32_t first, uint32_t end) {
    uint64_t cost = 0;
    for (uint32_t i = first; i < end; i++)
        each_product(p.ops[i], [&](uint32_t weights) {
            const matmul::Weights &w = p.weights[weights].w;
            cost = std::min(cost + w.n_rows * w.stride / kCostBytes + 1, kMostCost);
        });
    return cost;
}

Vector<Unit> units_of(const Graph &p) {
    Vector<Unit> out{HostAllocator<Unit>(p.ops.get_allocator())};
    for (uint32_t layer = 0; layer < p.layer_ends.size(); layer++) {
        const uint32_t first = layer ? p.layer_ends[layer - 1] : p.first_layer_op,
                       end = p.layer_ends[layer];
        uint32_t together = layer; // the first layer of the unit
        for (uint32_t i = first; i < end; i++)
            if (const auto *attend = std::get_if<op::Attend>(&p.ops[i]))
                together =
                    std::min(together, p.caches[attend->cache].layers[attend->layer].model_layer);
        out.push_back({layer, cost_of(p, first, end)});
        while (out.back().first > together) {
            const uint64_t cost = out.back().cost;
            out.pop_back();
            out.back().cost = std::min(out.back().cost + cost, kMostCost);
        }
    }
    return out;
}

class LayerAssigner {
public:
    // tail: the cost of the last rank's output, besides its layers.
    LayerAssigner(const Vector<Unit> &units, uint64_t tail, const RankOptions &ranks)
        : units_(units), tail_(tail), ranks_(ranks),
          starts_(ranks.size + 1, 0, HostAllocator<uint32_t>(units.get_allocator())) {
        for (const Unit &unit : units) total_ = std::min(total_ + unit.cost, kMostCost);
        total_ += tail;
    }

    // Returns the first unit of each rank, and the number of units.
    Vector<uint32_t> run() {
        uint64_t least = 0,
                 most = total_; // longest time of a rank; the last value is sufficient
        while (least < most) {
            const uint64_t middle = least + (most - least) / 2;
            if (starts(middle))
                most = middle;
            else
                least = middle + 1;
        }
        (void)starts(most); // earliest start of each rank
        Vector<uint32_t> out(starts_);
        uint64_t left = total_, speeds = 0;
        for (uint32_t rank = 0; rank < ranks_.size; rank++) speeds += speed(rank);
        uint32_t at = 0;
        for (uint32_t rank = 0; rank < ranks_.size; rank++) {
            out[rank] = at;
            const uint64_t want =
                left / speeds * speed(rank) + left % speeds * speed(rank) / speeds;
            uint64_t own = rank + 1 == ranks_.size ? tail_ : 0;
            for (; at < units_.size(); own += units_[at++].cost) {
                const uint64_t cost = units_[at].cost;
                const bool must = at < starts_[rank + 1], may = own + cost <= most * speed(rank);
                if (!must && !(may && own + cost / 2 <= want)) break;
            }
            left -= std::min(left, own);
            speeds -= speed(rank);
        }
        return out;
    }

private:
    uint64_t speed(uint32_t rank) const { return ranks_.speeds ? ranks_.speeds[rank] : 1; }
    // Fills ranks from the last to the first within a time; returns whether all units are assigned.
    bool starts(uint64_t time) {
        uint32_t at = starts_[ranks_.size] = static_cast<uint32_t>(units_.size());
        for (uint32_t rank = ranks_.size; rank-- > 0; starts_[rank] = at) {
            uint64_t room = time * speed(rank);
            const uint64_t own = rank + 1 == ranks_.size ? tail_ : 0;
            if (own > room) return false;
            room -= own;
            while (at > 0 && units_[at - 1].cost <= room) room -= units_[--at].cost;
        }
        return at == 0;
    }

    const Vector<Unit> &units_;
    const uint64_t tail_;
    const RankOptions &ranks_;
    Vector<uint32_t> starts_;
    uint64_t total_ = 0;
};

} // namespace

Vector<uint32_t> assign_layers(const Graph &whole, const RankOptions &ranks) {
    const Vector<Unit> units = units_of(whole);
    const uint64_t tail =
        cost_of(whole, whole.first_op(PartKind::hidden), whole.first_op(PartKind::pool));
    Vector<uint32_t> out = LayerAssigner(units, tail, ranks).run();
    for (uint32_t &start : out)
        start = start < units.size() ? units[start].first
                                     : static_cast<uint32_t>(whole.layer_ends.size());
    return out;
}

} // namespace ggufx::model
