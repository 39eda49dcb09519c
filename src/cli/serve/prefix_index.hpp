// Which sequence begins as a prompt does: a chain of hashes over whole pages, compared by tokens,
// never by hashes alone. A token counts together with the path that computed it. Pure.
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
    static constexpr size_t kPage = 64;         // tokens
    static constexpr size_t kLeastShared = 16;  // tokens: fewer are sooner computed than copied
    static constexpr size_t kMostCompared = 16; // sequences of one hash

    // `secret`: hashes of one process tell nothing about those of another.
    PrefixIndex(uint32_t n_sequences, uint64_t secret, Mix mix = mixed);

    void begin(uint32_t sequence, uint64_t owner); // it holds nothing, and is the owner's
    void append(uint32_t sequence, std::span<const Code> codes);
    void cut(uint32_t sequence, size_t n);
    std::span<const Code> codes(uint32_t sequence) const { return rows_[sequence].codes; }
    uint64_t owner(uint32_t sequence) const { return rows_[sequence].owner; }

    struct Found {
        uint32_t sequence = 0;
        size_t n = 0; // tokens at its begin that are wanted, too; 0: nobody has any
    };
    Found find(uint64_t owner, std::span<const Code> wanted) const;

    static uint64_t mixed(uint64_t hash, uint64_t value);

private:
    struct Row {
        std::vector<Code> codes;
        std::vector<uint64_t> hashes; // of its first 16, 64, 128, 192 ... codes
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
