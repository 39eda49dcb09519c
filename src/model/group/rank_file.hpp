// A file with the rows of one rank of a group (model/group/rank_writer.hpp): which rows of which whole
// tensors they are. Nothing its keys say is believed: rows lie within the tensor's shape, in order,
// and there are as many as the file has.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/file.hpp"

#include <string_view>

namespace ggufx::model {

// Of a group's ranks one, and how rows are dealt to them (null: all alike), or whole layers.
struct RankOptions {
    uint32_t rank = 0, size = 1;
    const uint32_t *speeds = nullptr;
    bool by_layers = false;
};
// What ranks have, for messages.
inline const char *assigned_text(bool by_layers) {
    return by_layers ? "whole layers" : "rows of each matrix";
}

// Rows of a tensor, those of its dimensions 1, 2 and 3 one after another.
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
constexpr std::string_view kLayers = "ggufx.rank.layers"; // u32 1: ranks have whole ones
} // namespace rank_key
constexpr size_t kTensorNumbers = 5; // dimensions 1, 2, 3 of the whole, its head_sum, its ranges

// Of the first bytes of a tensor: by it ranks compare what they have.
uint64_t head_sum_of(const gguf::Tensor &t);

class RankFile {
public:
    // Of any file. Throws split, std::bad_alloc.
    explicit RankFile(const gguf::File &file);
    RankFile(const RankFile &) = delete;
    RankFile &operator=(const RankFile &) = delete;

    bool is_part() const { return ranks_.size > 0; } // else the file is a whole model's
    const RankOptions &ranks() const { return ranks_; }
    // What the ranks of a group are, of which this is one's file; throws mismatch where it is not.
    RankOptions check(const RankOptions &ranks) const;
    // Keys of the model's file.
    uint64_t n_model_keys() const;

    // Of the whole; its data where the file has all rows.
    gguf::Tensor whole(size_t tensor) const;
    bool has_all(size_t tensor) const;
    uint64_t head_sum(size_t tensor) const;
    // Which of the file's rows row `first` is; throws split where not all n stand there together.
    uint64_t find(size_t tensor, uint64_t first, uint64_t n) const;

private:
    struct Entry {
        uint64_t ne[3], head_sum;
        size_t ranges; // the first of them
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
    Vector<Entry> tensors_; // and an end
    Vector<Stored> ranges_;
};

} // namespace ggufx::model
