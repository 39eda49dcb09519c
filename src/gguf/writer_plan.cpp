// Parts of a new file and their exact sizes, as this reader and ggml's expect them. Tensors are in
// order, each padded to the alignment, including the last one.
// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"
#include "base/checked.hpp"
#include "base/crc64.hpp"
#include "gguf/limits.hpp"
#include "gguf/split_name.hpp"
#include "gguf/writer.hpp"

#include <inttypes.h>

namespace ggufx::gguf {

namespace {

constexpr uint64_t kHeader = 4 + 4 + 8 + 8;
constexpr uint64_t kMaxParts = UINT16_MAX; // split.count is a u16

// Bytes of a key with a value of n bytes; split.no and split.count are u16, split.tensors.count is
// i32.
constexpr uint64_t pair_bytes(std::string_view name, uint64_t n) {
    return 8 + name.size() + 4 + n;
}
constexpr uint64_t kSplitKeys = pair_bytes("split.no", 2) + pair_bytes("split.count", 2) +
                                pair_bytes("split.tensors.count", 4) + pair_bytes(kSplitId, 8);
constexpr uint64_t kSplitKeyCount = 4;

[[noreturn]] void fail_size() {
    fail(Status::overflow, {}, "the file would be larger than 2^63 - 1 bytes");
}

uint64_t sum(uint64_t a, uint64_t b) {
    uint64_t out = 0;
    if (!checked::add(&out, a, b) || out > INT64_MAX) fail_size();
    return out;
}

uint64_t padded(uint64_t n, uint64_t alignment) {
    uint64_t out = 0;
    if (!checked::round_up(&out, n, alignment) || out > INT64_MAX) fail_size();
    return out;
}

} // namespace

uint64_t WritePlan::split_id() const {
    constexpr uint64_t kLooked = 4096;
    uint64_t crc = 0;
    const auto add = [&](const void *data, uint64_t n) {
        crc = crc64(crc, data, static_cast<size_t>(n));
    };
    const auto add_number = [&](uint64_t v) {
        uint8_t bytes[8];
        store_u64le(bytes, v);
        add(bytes, sizeof bytes);
    };
    for (const WriterKey &key : writer_.keys())
        if (in_first_part(key)) add(key.bytes.data(), key.bytes.size());
    for (const uint64_t v : {limits_.max_bytes, limits_.max_tensors,
                             writer_.options().reserve_bytes, uint64_t{writer_.options().version}})
        add_number(v);
    for (const WriterTensor &t : writer_.tensors()) {
        add(t.name().data(), t.name().size());
        add_number(t.view.type);
        for (uint32_t i = 0; i < t.view.n_dims; i++) add_number(t.view.ne[i]);
        if (t.stream.read || t.view.n_bytes == 0) continue;
        // Rows may be strided, and longer than kLooked.
        add(t.view.data, t.view.row_bytes < kLooked ? t.view.row_bytes : kLooked);
        for (uint64_t row = 1; row < t.view.n_rows && (row + 1) * t.view.row_bytes <= kLooked;
             row++)
            add(t.view.data + row * t.view.row_stride, t.view.row_bytes);
    }
    return crc;
}

bool WritePlan::in_first_part(const WriterKey &key) const {
    const std::string_view name = key.name();
    if (writer_.options().reserve_bytes && name == kReserveKey) return false; // written separately
    return !limits_.splits() || !is_split_key(name);
}

PartPlan WritePlan::begin_part(size_t part) const {
    PartPlan out;
    out.meta_end = kHeader;
    uint32_t n_nested = 0;
    each_key(part, [&](const WriterKey &key) {
        out.n_keys++;
        out.meta_end = sum(out.meta_end, key.bytes.size());
        n_nested += key.n_nested;
        if (n_nested > kMaxNested)
            fail(Status::limit, {.limit = kMaxNested}, "more than %" PRIu32 " arrays inside arrays",
                 kMaxNested);
    });
    if (limits_.splits()) {
        out.n_keys += kSplitKeyCount;
        out.meta_end = sum(out.meta_end, kSplitKeys);
    }
    if (const uint64_t room = writer_.options().reserve_bytes; room && part == 0) {
        out.n_keys++;
        out.meta_end = sum(out.meta_end, pair_bytes(kReserveKey, sum(room, 4 + 8)));
    }
    out.data_offset = out.n_bytes = out.meta_end; // without tensors nothing is padded
    return out;
}

PartPlan WritePlan::with_tensor(const PartPlan &part, const WriterTensor &t) const {
    PartPlan out = part;
    const uint64_t n_data = part.n_bytes - part.data_offset;
    out.n_tensors++;
    out.meta_end += 8 + t.name().size() + 4 + 8 * uint64_t{t.view.n_dims} + 4 + 8;
    out.data_offset = padded(out.meta_end, alignment_);
    out.n_bytes = sum(out.data_offset, sum(n_data, padded(t.view.n_bytes, alignment_)));
    return out;
}

// Returns whether the part may grow to `with`. A tensor too large for any part gets a part of its
// own; so does metadata.
bool WritePlan::fits(const PartPlan &part, const PartPlan &with) const {
    if (part.n_tensors == 0 && !parts_.empty()) return true;
    if (limits_.max_tensors && with.n_tensors > limits_.max_tensors) return false;
    return !limits_.max_bytes || with.n_bytes <= limits_.max_bytes;
}

void WritePlan::add_part(const PartPlan &part) {
    if (part.meta_end > kMaxMetadata)
        fail(Status::limit, {.value = part.meta_end, .limit = kMaxMetadata},
             "metadata of %" PRIu64 " bytes; the limit is %" PRIu64, part.meta_end, kMaxMetadata);
    if (parts_.size() == kMaxParts)
        fail(Status::limit, {.limit = kMaxParts}, "more than %" PRIu64 " parts; allow larger ones",
             kMaxParts);
    n_bytes_ = sum(n_bytes_, part.n_bytes);
    parts_.push_back(part);
}

WritePlan::WritePlan(const Writer &writer, const SplitLimits &limits)
    : writer_(writer), limits_(limits), alignment_(writer.alignment()),
      parts_(HostAllocator<PartPlan>(writer.host().get())) {
    PartPlan part = begin_part(0);
    const PartPlan later = limits.splits() ? begin_part(1) : part;
    for (size_t i = 0; i < writer.tensors().size(); i++) {
        PartPlan with = with_tensor(part, writer.tensors()[i]);
        if (!fits(part, with)) {
            add_part(part);
            part = later;
            part.first = i;
            with = with_tensor(part, writer.tensors()[i]);
        }
        part = with;
    }
    add_part(part);
}

} // namespace ggufx::gguf
