// SPDX-License-Identifier: MIT
#include "distributed/rank_file.hpp"

#include "base/checked.hpp"
#include "base/crc64.hpp"
#include "gguf/split_name.hpp"
#include "graph/partition.hpp"

#include <algorithm>
#include <inttypes.h>

namespace ggufx::model {

namespace {

constexpr size_t kLook = 64; // bytes at the start of each tensor that ranks compare
constexpr uint64_t kMostValues = INT64_MAX;

bool are_alike(const uint32_t *speeds, uint32_t n) {
    return !speeds || std::all_of(speeds, speeds + n, [&](uint32_t s) { return s == speeds[0]; });
}

} // namespace

uint64_t head_sum_of(const gguf::Tensor &t) {
    return t.data ? crc64(0, t.data, static_cast<size_t>(std::min<uint64_t>(t.n_bytes, kLook))) : 0;
}

RankFile::RankFile(const gguf::File &file)
    : file_(file), speeds_(HostAllocator<uint32_t>(file.host().get())),
      tensors_(HostAllocator<Entry>(file.host().get())),
      ranges_(HostAllocator<Stored>(file.host().get())) {
    size_t keys[5];
    size_t n_there = 0;
    for (size_t i = 0; i < std::size(keys); i++) {
        keys[i] = file.find_meta(rank_key::kAll[i]);
        n_there += keys[i] != gguf::kNotFound;
    }
    const size_t layers = file.find_meta(rank_key::kLayers);
    if (n_there == 0 && layers == gguf::kNotFound) return;
    for (size_t i = 0; i < std::size(keys); i++)
        if (keys[i] == gguf::kNotFound)
            fail(Status::split, {}, "key %s is missing: the file has rows of one rank of a group",
                 rank_key::kAll[i].data());
    try {
        read(keys, layers);
    } catch (Error &e) { // keys of a wrong type are reported like wrong values
        const auto status = static_cast<Status>(e.failure.status);
        if (status == Status::kvtype || status == Status::value)
            e.failure.status = static_cast<int32_t>(Status::split);
        throw;
    }
}

void RankFile::refuse(size_t key, const char *format, ...) const {
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    (void)print_text_v(text, sizeof text, format, arguments);
    va_end(arguments);
    const gguf::MetaEntry entry = file_.meta(key);
    fail(Status::split, {entry.offset, key}, "key %.*s: %s", static_cast<int>(entry.key.size()),
         entry.key.data(), text);
}

uint64_t RankFile::number(size_t key, uint64_t element) const {
    return file_.get_u64(key, element);
}

void RankFile::read(const size_t (&keys)[5], size_t layers) {
    const auto &[no, count, speeds, tensors, rows] = keys;
    const bool by_layers = layers != gguf::kNotFound;
    if (by_layers && file_.get_u64(layers) != 1)
        refuse(layers, "it is %" PRIu64 ", not 1", file_.get_u64(layers));
    const uint64_t size = file_.get_u64(count), rank = file_.get_u64(no);
    if (size < 2 || size > kMostRanks)
        refuse(count, "%" PRIu64 " is not a number of ranks from 2 to %" PRIu32, size, kMostRanks);
    if (rank >= size)
        refuse(no, "%" PRIu64 " is not a rank of %" PRIu64 ", the first is 0", rank, size);
    if (file_.meta(speeds).count != size)
        refuse(speeds, "it has %" PRIu64 " numbers, the group %" PRIu64 " ranks",
               file_.meta(speeds).count, size);
    for (uint32_t i = 0; i < size; i++) {
        const uint64_t speed = number(speeds, i);
        if (speed < 1 || speed > kMostSpeed)
            refuse(speeds, "that of rank %" PRIu32 " is %" PRIu64 ", not 1 .. %" PRIu32, i, speed,
                   kMostSpeed);
        speeds_.push_back(static_cast<uint32_t>(speed));
    }
    const uint64_t n = file_.n_tensors();
    if (file_.meta(tensors).count != n * kTensorNumbers)
        refuse(tensors,
               "it has %" PRIu64 " numbers, %zu for each of %" PRIu64 " tensors are %" PRIu64,
               file_.meta(tensors).count, kTensorNumbers, n, n * kTensorNumbers);
    for (size_t i = 0; i < n; i++) {
        const gguf::Tensor t = file_.tensor(i);
        const uint64_t from = i * kTensorNumbers;
        Entry entry = {
            {number(tensors, from), number(tensors, from + 1), number(tensors, from + 2)},
            number(tensors, from + 3),
            ranges_.size()};
        uint64_t n_rows = 0, values = 0, bytes = 0;
        if (*std::max_element(entry.ne, std::end(entry.ne)) > kMostValues ||
            !checked::mul(&n_rows, entry.ne[0], entry.ne[1]) ||
            !checked::mul(&n_rows, n_rows, entry.ne[2]) ||
            !checked::mul(&values, n_rows, t.ne[0]) || !checked::mul(&bytes, n_rows, t.row_bytes) ||
            std::max(values, bytes) > kMostValues)
            refuse(tensors,
                   "[%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64
                   "] of tensor %zu are too many values",
                   t.ne[0], entry.ne[0], entry.ne[1], entry.ne[2], i);
        read_ranges(t, rows, entry, number(tensors, from + 4));
        tensors_.push_back(entry);
    }
    if (file_.meta(rows).count != 2 * ranges_.size())
        refuse(rows, "it has %" PRIu64 " numbers, the ranges of the tensors are %zu",
               file_.meta(rows).count, ranges_.size());
    tensors_.push_back({{0, 0, 0}, 0, ranges_.size()});
    ranks_ = {static_cast<uint32_t>(rank), static_cast<uint32_t>(size), speeds_.data(), by_layers};
}

// Reads row ranges: in order, not empty, within the whole tensor, with as many rows as the file
// has.
void RankFile::read_ranges(const gguf::Tensor &t, size_t key, Entry &entry, uint64_t n_ranges) {
    const uint64_t n_rows = entry.ne[0] * entry.ne[1] * entry.ne[2]; // checked before
    const uint64_t n_there = file_.meta(key).count / 2 - ranges_.size();
    const Quoted name(t.name.data(), t.name.size());
    if (n_ranges > n_there)
        refuse(key, "%" PRIu64 " ranges of tensor %s, %" PRIu64 " are left", n_ranges, name.c_str(),
               n_there);
    uint64_t end = 0, n_stored = 0;
    for (uint64_t i = 0; i < n_ranges; i++) {
        const uint64_t at = 2 * ranges_.size();
        const RowRange r = {number(key, at), number(key, at + 1)};
        if (r.n == 0 || r.first < end || r.first > n_rows || r.n > n_rows - r.first)
            refuse(key,
                   "%" PRIu64 " rows from %" PRIu64 " on of tensor %s, which has %" PRIu64
                   " rows, those before end at %" PRIu64,
                   r.n, r.first, name.c_str(), n_rows, end);
        ranges_.push_back({r, n_stored});
        n_stored += r.n;
        end = r.first + r.n;
    }
    if (n_stored != t.n_rows)
        refuse(key, "%" PRIu64 " rows of tensor %s, the file has %" PRIu64, n_stored, name.c_str(),
               t.n_rows);
}

uint64_t RankFile::n_model_keys() const {
    uint64_t n = 0;
    for (size_t i = 0; i < file_.n_meta(); i++) {
        const std::string_view key = file_.meta(i).key;
        n += !gguf::is_split_key(key) && key != rank_key::kLayers &&
             std::find(std::begin(rank_key::kAll), std::end(rank_key::kAll), key) ==
                 std::end(rank_key::kAll);
    }
    return n;
}

RankOptions RankFile::check(const RankOptions &given) const {
    if (!is_part()) return given;
    if (given.size == 1)
        fail(Status::mismatch, {.index = ranks_.rank},
             "the file is for rank %" PRIu32 " of %" PRIu32 ": its model needs a group of %" PRIu32
             " ranks",
             ranks_.rank, ranks_.size, ranks_.size);
    if (given.rank != ranks_.rank || given.size != ranks_.size)
        fail(Status::mismatch, {.index = given.rank},
             "the file is for rank %" PRIu32 " of %" PRIu32 ", but this is rank %" PRIu32
             " of %" PRIu32,
             ranks_.rank, ranks_.size, given.rank, given.size);
    if (given.by_layers != ranks_.by_layers)
        fail(Status::mismatch, {.index = given.rank},
             "the file was split for ranks with %s, but this one has %s",
             assigned_text(ranks_.by_layers), assigned_text(given.by_layers));
    if (!given.speeds ||
        (are_alike(given.speeds, given.size) && are_alike(ranks_.speeds, given.size)))
        return ranks_;
    for (uint32_t i = 0; i < given.size; i++)
        if (given.speeds[i] != ranks_.speeds[i])
            fail(Status::mismatch, {.index = given.rank},
                 "the file was split for a weight of rank %" PRIu32 " of %" PRIu32 ", not %" PRIu32,
                 i, ranks_.speeds[i], given.speeds[i]);
    return ranks_;
}

gguf::Tensor RankFile::whole(size_t tensor) const {
    gguf::Tensor t = file_.tensor(tensor);
    if (!is_part()) return t;
    const bool is_there = has_all(tensor);
    t.n_rows = 1;
    for (size_t i = 0; i < 3; i++) t.n_rows *= t.ne[i + 1] = tensors_[tensor].ne[i];
    t.n_bytes = t.n_rows * t.row_bytes;
    if (!is_there) t.data = nullptr;
    return t;
}

bool RankFile::has_all(size_t tensor) const {
    if (!is_part()) return true;
    const Entry &e = tensors_[tensor];
    return file_.tensor(tensor).n_rows == e.ne[0] * e.ne[1] * e.ne[2];
}

void RankFile::require_all(size_t tensor) const {
    if (!has_all(tensor)) (void)find(tensor, 0, whole(tensor).n_rows); // fails
}

uint64_t RankFile::head_sum(size_t tensor) const {
    return is_part() ? tensors_[tensor].head_sum : head_sum_of(file_.tensor(tensor));
}

uint64_t RankFile::find(size_t tensor, uint64_t first, uint64_t n) const {
    const Stored *const begin = ranges_.data() + tensors_[tensor].ranges;
    const Stored *const end = ranges_.data() + tensors_[tensor + 1].ranges;
    const Stored *const behind = std::upper_bound(
        begin, end, first, [](uint64_t row, const Stored &s) { return row < s.rows.first; });
    if (behind != begin) {
        const Stored &s = behind[-1];
        const uint64_t from = first - s.rows.first;
        if (from <= s.rows.n && n <= s.rows.n - from) return s.at + from;
    }
    const std::string_view name = file_.tensor_name(tensor);
    fail(Status::split, {.index = tensor},
         "rank %" PRIu32 " reads rows %" PRIu64 " .. %" PRIu64
         " of tensor %s, which its file does not have: it was split by another version, or before "
         "an override",
         ranks_.rank, first, first + (n ? n - 1 : 0), Quoted(name).c_str());
}

} // namespace ggufx::model
