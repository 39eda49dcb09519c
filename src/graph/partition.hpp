// Tensor parallelism: assigns rows and heads to the ranks of a group, in order, by the speed of
// each rank.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

namespace ggufx::model {

constexpr uint32_t kMostRanks = 256;
constexpr uint32_t kMostSpeed = 1u << 20;

// Boundaries of n items on the ranks of a group: [n_ranks + 1], from 0 to n.
using Borders = Vector<uint32_t>;

struct HeadPartition {
    uint32_t first = 0, n = 0, first_kv = 0, n_kv = 0; // heads that the rank computes
    // Boundaries of heads whose results, or keys and values, each rank sends.
    Borders borders{HostAllocator<uint32_t>(nullptr)}, kv_borders = borders;
};

class Partition {
public:
    // speeds [size], 1 .. kMostSpeed, or null: equal speeds. They must outlive the partition.
    explicit Partition(const Host *host, uint32_t rank = 0, uint32_t size = 1,
                       const uint32_t *speeds = nullptr)
        : host_(host), rank_(rank), size_(size), speeds_(speeds) {}

    bool is_whole() const { return size_ == 1; }
    uint32_t rank() const { return rank_; }
    uint32_t size() const { return size_; }

    // Assigns n items in multiples of `unit`; the last rank that has any takes the remainder. A
    // rank may have none.
    Borders assign(uint64_t n, uint32_t unit) const;
    // Assigns at least one of n >= size items to each rank.
    Borders assign_each(uint64_t n) const;
    // Assigns query heads and their KV heads as evenly as possible. More ranks than KV heads share
    // them. A rank without a query head recomputes one and sends nothing.
    HeadPartition heads(uint32_t n, uint32_t n_kv) const;
    // The same for items that cannot be shared (groups of a state): a rank without any recomputes
    // the last.
    HeadPartition groups(uint32_t n) const { return heads(n, n); }
    // Returns the granularity of columns per rank: a block of packed activations, if it divides the
    // width.
    static uint32_t unit_of(uint32_t width) { return width % 32 ? 1 : 32; }

private:
    uint64_t speed(uint32_t rank) const { return speeds_ ? speeds_[rank] : 1; }
    void assign_each(uint32_t *out, uint64_t n, uint32_t first, uint32_t n_ranks) const;

    const Host *host_;
    uint32_t rank_, size_;
    const uint32_t *speeds_;
};

} // namespace ggufx::model
