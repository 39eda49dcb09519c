// Prefix cache index: finds the sequence that shares the longest prefix with a prompt. A chain of
// hashes over whole pages selects candidates; tokens are always compared. A token counts together
// with the compute path that processed it. No side effects.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace ggufx::cli {

class PrefixIndex {
public:
    using Code = uint32_t; // id * 2 + path
    using Mix = uint64_t (*)(uint64_t hash, uint64_t value);
    static constexpr size_t kPage = 64; // tokens per page
    // Minimum prefix in tokens: recomputing fewer is faster than copying.
    static constexpr size_t kLeastShared = 16;
    static constexpr size_t kMostCompared = 16; // candidate sequences per hash

    // `secret`: random seed per process, so that hashes reveal nothing about another process.
    PrefixIndex(uint32_t n_sequences, uint64_t secret, Mix mix = mixed);

    void begin(uint32_t sequence, uint64_t owner); // resets a sequence to empty, for this owner
    void append(uint32_t sequence, std::span<const Code> codes);
    void cut(uint32_t sequence, size_t n);
    std::span<const Code> codes(uint32_t sequence) const { return rows_[sequence].codes; }
    uint64_t owner(uint32_t sequence) const { return rows_[sequence].owner; }

    struct Found {
        uint32_t sequence = 0;
        size_t n = 0; // tokens in the shared prefix; 0: no match
    };
    Found find(uint64_t owner, std::span<const Code> wanted) const;

    static uint64_t mixed(uint64_t hash, uint64_t value);

private:
    struct Row {
        std::vector<Code> codes;
        std::vector<uint64_t> hashes; // hashes of its first 16, 64, 128, 192 ... codes
        uint64_t owner = 0;
    };
    uint64_t first_hash(uint64_t owner) const { return mix_(secret_, owner); }
    uint64_t next_hash(uint64_t hash, std::span<const Code> codes, size_t node) const;
    void drop_node(uint32_t sequence);
    Found compare(uint64_t hash, size_t n_known, uint64_t owner,
                  std::span<const Code> wanted) const;

    uint64_t secret_;
    Mix mix_;
    std::vector<Row> rows_;
    std::unordered_multimap<uint64_t, uint32_t> nodes_;
};

} // namespace ggufx::cli
