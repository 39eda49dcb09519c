// SPDX-License-Identifier: MIT
#include "graph/partition.hpp"

#include <algorithm>

namespace ggufx::model {

namespace {

// n * part / all, rounded to nearest; part <= all, sums of at most kMostRanks speeds.
uint64_t share_of(uint64_t n, uint64_t part, uint64_t all) {
    const uint64_t whole = n / all * part, rest = n % all * part;
    return whole + (rest + all / 2) / all;
}

} // namespace

Borders Partition::assign(uint64_t n, uint32_t unit) const {
    Borders out(size_ + 1, 0, HostAllocator<uint32_t>(host_));
    uint64_t all = 0, sum = 0;
    for (uint32_t i = 0; i < size_; i++) all += speed(i);
    const uint64_t n_units = n / unit;
    for (uint32_t i = 0; i < size_; i++) {
        sum += speed(i);
        const uint64_t end = sum == all ? n : share_of(n_units, sum, all) * unit;
        out[i + 1] = static_cast<uint32_t>(end == n_units * unit ? n : end);
    }
    return out;
}

// Assigns n items to ranks first .. first + n_ranks - 1: out[i + 1] is the end of rank first + i;
// out[0] is set by the caller.
void Partition::assign_each(uint32_t *out, uint64_t n, uint32_t first, uint32_t n_ranks) const {
    uint64_t all = 0, sum = 0;
    for (uint32_t i = 0; i < n_ranks; i++) all += speed(first + i);
    const uint64_t start = out[0];
    for (uint32_t i = 0; i < n_ranks; i++) {
        sum += speed(first + i);
        const uint64_t most = start + n - (n_ranks - 1 - i); // leaves one for each later rank
        const uint64_t end = std::min(start + share_of(n, sum, all), most);
        out[i + 1] = static_cast<uint32_t>(std::max<uint64_t>(end, out[i] + uint64_t{1}));
    }
}

Borders Partition::assign_each(uint64_t n) const {
    Borders out(size_ + 1, 0, HostAllocator<uint32_t>(host_));
    assign_each(out.data(), n, 0, size_);
    return out;
}

HeadPartition Partition::heads(uint32_t n, uint32_t n_kv) const {
    const uint32_t group = n / n_kv; // query heads per KV head
    const Borders none(size_ + 1, 0, HostAllocator<uint32_t>(host_));
    HeadPartition out = {0, n, 0, n_kv, none, none};
    if (size_ <= n_kv) {
        const Borders kv = out.kv_borders = assign_each(n_kv);
        for (uint32_t i = 0; i <= size_; i++) out.borders[i] = kv[i] * group;
        out.first_kv = kv[rank_];
        out.n_kv = kv[rank_ + 1] - kv[rank_];
        out.first = out.borders[rank_];
        out.n = out.n_kv * group;
        return out;
    }
    for (uint32_t k = 0; k < n_kv; k++) { // ranks that share a KV head
        const uint32_t first = static_cast<uint32_t>(uint64_t{k} * size_ / n_kv);
        const uint32_t end = static_cast<uint32_t>((k + uint64_t{1}) * size_ / n_kv);
        const uint32_t n_ranks = std::min(end - first, group);
        out.borders[first] = k * group;
        assign_each(out.borders.data() + first, group, first, n_ranks);
        for (uint32_t i = first + n_ranks; i < end; i++) out.borders[i + 1] = (k + 1) * group;
        for (uint32_t i = first; i < end; i++) out.kv_borders[i + 1] = k + 1;
        if (rank_ < first || rank_ >= end) continue;
        const uint32_t own = out.borders[rank_ + 1] - out.borders[rank_];
        out.first = own ? out.borders[rank_] : (k + 1) * group - 1;
        out.n = own ? own : 1;
        out.first_kv = k;
        out.n_kv = 1;
    }
    return out;
}

} // namespace ggufx::model
