// SPDX-License-Identifier: MIT
#include "serve/prefix_index.hpp"

#include <algorithm>

namespace ggufx::cli {

namespace {

// Returns the number of codes covered by the first n_nodes nodes of a chain.
size_t node_end(size_t n_nodes) {
    if (n_nodes == 0) return 0;
    return n_nodes == 1 ? PrefixIndex::kLeastShared : (n_nodes - 1) * PrefixIndex::kPage;
}

} // namespace

// Finisher of splitmix64, applied to hash * 0x9e3779b97f4a7c15 + value + 0x9e3779b97f4a7c15.
uint64_t PrefixIndex::mixed(uint64_t hash, uint64_t value) {
    uint64_t x = hash * 0x9e3779b97f4a7c15u + value + 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

PrefixIndex::PrefixIndex(uint32_t n_sequences, uint64_t secret, Mix mix)
    : secret_(secret), mix_(mix), rows_(n_sequences) {}

uint64_t PrefixIndex::next_hash(uint64_t hash, std::span<const Code> codes, size_t node) const {
    for (size_t i = node_end(node); i < node_end(node + 1); i++) hash = mix_(hash, codes[i]);
    return hash;
}

void PrefixIndex::drop_node(uint32_t sequence) {
    Row &row = rows_[sequence];
    const auto [begin, end] = nodes_.equal_range(row.hashes.back());
    const auto at = std::find_if(begin, end, [&](const auto &n) { return n.second == sequence; });
    if (at != end) nodes_.erase(at);
    row.hashes.pop_back();
}

void PrefixIndex::begin(uint32_t sequence, uint64_t owner) {
    cut(sequence, 0);
    rows_[sequence].owner = owner;
}

void PrefixIndex::append(uint32_t sequence, std::span<const Code> codes) {
    Row &row = rows_[sequence];
    row.codes.insert(row.codes.end(), codes.begin(), codes.end());
    while (node_end(row.hashes.size() + 1) <= row.codes.size()) {
        const uint64_t before = row.hashes.empty() ? first_hash(row.owner) : row.hashes.back();
        const uint64_t hash = next_hash(before, row.codes, row.hashes.size());
        row.hashes.push_back(hash); // first: a node without its hash would never be dropped
        nodes_.emplace(hash, sequence);
    }
}

void PrefixIndex::cut(uint32_t sequence, size_t n) {
    Row &row = rows_[sequence];
    row.codes.resize(std::min(n, row.codes.size()));
    while (node_end(row.hashes.size()) > row.codes.size()) drop_node(sequence);
}

// Returns the sequence with this hash that shares the longest prefix with `wanted`.
PrefixIndex::Found PrefixIndex::compare(uint64_t hash, size_t n_known, uint64_t owner,
                                        std::span<const Code> wanted) const {
    Found best;
    size_t n_compared = 0;
    const auto [begin, end] = nodes_.equal_range(hash);
    for (auto at = begin; at != end && n_compared < kMostCompared; ++at, n_compared++) {
        const Row &row = rows_[at->second];
        if (row.owner != owner) continue;
        const size_t most = std::min(row.codes.size(), wanted.size());
        const auto last = wanted.begin() + static_cast<ptrdiff_t>(most);
        const auto differs = std::mismatch(wanted.begin(), last, row.codes.begin()).first;
        const auto n = static_cast<size_t>(differs - wanted.begin());
        if (n >= n_known && n > best.n) best = {at->second, n};
    }
    return best;
}

PrefixIndex::Found PrefixIndex::find(uint64_t owner, std::span<const Code> wanted) const {
    std::vector<uint64_t> hashes;
    uint64_t hash = first_hash(owner);
    while (node_end(hashes.size() + 1) <= wanted.size()) {
        hash = next_hash(hash, wanted, hashes.size());
        if (!nodes_.contains(hash)) break; // a longer match would contain this node, too
        hashes.push_back(hash);
    }
    for (; !hashes.empty(); hashes.pop_back()) {
        const Found found = compare(hashes.back(), node_end(hashes.size()), owner, wanted);
        if (found.n > 0) return found;
    }
    return {};
}

} // namespace ggufx::cli
