// A file with the rows of one rank of a group (distributed/rank_writer.hpp): the row ranges of
// whole tensors that it holds. Its keys are untrusted: rows must be within the tensor's shape, in
// order, and match the number of rows in the file.
// SPDX-License-Identifier: MIT
#pragma once

#include "graph/binder.hpp"

#include <string_view>

namespace ggufx::model {

// A rank of a group, and the assignment: rows by speeds (null: equal speeds), or whole layers.
struct RankOptions {
    uint32_t rank = 0, size = 1;
    const uint32_t *speeds = nullptr;
    bool by_layers = false;
};
// Returns what ranks have, for messages.
inline const char *assigned_text(bool by_layers) {
    return by_layers ? "whole layers" : "rows of each matrix";
}

// Rows of a tensor; dimensions 1, 2 and 3 are flattened.
struct RowRange {
    uint64_t first = 0, n = 0;
};

namespace rank_key {
constexpr std::string_view kRank = "ggufx.rank.no";
constexpr std::string_view kSize = "ggufx.rank.count";
constexpr std::string_view kSpeeds = "ggufx.rank.speeds";   // u32 [count]
constexpr std::string_view kTensors = "ggufx.rank.tensors"; // u64 [tensors][kTensorNumbers]
constexpr std::string_view kRows = "ggufx.rank.rows";       // u64 [ranges][first, n], by tensors
constexpr std::string_view kAll[] = {kRank, kSize, kSpeeds, kTensors, kRows};
// u32 1: pipeline parallelism, whole layers
constexpr std::string_view kLayers = "ggufx.rank.layers";
} // namespace rank_key
// dimensions 1, 2, 3 of the whole, its head_sum, its number of ranges
constexpr size_t kTensorNumbers = 5;

// Returns a checksum of the first bytes of a tensor, for comparison between ranks.
uint64_t head_sum_of(const gguf::Tensor &t);

class RankFile final : public PartialTensors {
public:
    // Reads the keys; any file is valid input. Throws split, std::bad_alloc.
    explicit RankFile(const gguf::File &file);
    RankFile(const RankFile &) = delete;
    RankFile &operator=(const RankFile &) = delete;

    bool is_part() const { return ranks_.size > 0; } // otherwise the file has a whole model
    const RankOptions &ranks() const { return ranks_; }
    // Returns the ranks, with the file's options for its own rank; throws mismatch if they differ.
    RankOptions check(const RankOptions &ranks) const;
    // Returns the number of keys of the original model file.
    uint64_t n_model_keys() const;

    gguf::Tensor whole(size_t tensor) const override;
    void require_all(size_t tensor) const override;
    uint64_t head_sum(size_t tensor) const;
    // Returns the row in the file for row `first`; throws split unless all n are there, adjacent.
    uint64_t find(size_t tensor, uint64_t first, uint64_t n) const;

private:
    bool has_all(size_t tensor) const;
    struct Entry {
        uint64_t ne[3], head_sum;
        size_t ranges; // index of the first range
    };
    struct Stored {
        RowRange rows;
        uint64_t at = 0; // among the file's rows of the tensor
    };
    void read(const size_t (&keys)[5], size_t layers);
    void read_ranges(const gguf::Tensor &t, size_t keys, Entry &entry, uint64_t n_ranges);
    uint64_t number(size_t key, uint64_t element) const;
    [[noreturn]] void refuse(size_t key, const char *format, ...) const GGUFX_PRINTF(3, 4);

    const gguf::File &file_;
    RankOptions ranks_ = {0, 0, nullptr};
    Vector<uint32_t> speeds_;
    Vector<Entry> tensors_; // and an end entry
    Vector<Stored> ranges_;
};

} // namespace ggufx::model
