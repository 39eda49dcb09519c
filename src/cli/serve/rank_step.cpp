// SPDX-License-Identifier: MIT
#include "serve/rank_step.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace ggufx::cli {

namespace {

struct Head {
    uint64_t n_bytes; // bytes of all messages
    uint32_t kind, path, sequence, from;
    uint64_t n_tokens, n_items;
};

struct ItemHead { // header before the ids of all items
    uint32_t sequence, logits;
    uint64_t n_ids;
};

template <class T> void append(std::vector<uint8_t> &out, const T *values, size_t n) {
    const auto *const bytes = reinterpret_cast<const uint8_t *>(values);
    out.insert(out.end(), bytes, bytes + n * sizeof *values);
}

void require(bool ok, const char *what) {
    if (!ok) throw std::invalid_argument(what);
}

} // namespace

void StepBytes::put(const RankStep &step) {
    uint64_t n_bytes = sizeof(Head) + step.items.size() * sizeof(ItemHead) + step.snapshot.size();
    for (const RankStep::Item &item : step.items) n_bytes += item.ids.size_bytes();
    if (n_bytes > kMost)
        throw std::length_error("the step is too large for a message to the ranks");
    const Head head = {n_bytes,
                       static_cast<uint32_t>(step.kind),
                       static_cast<uint32_t>(step.path),
                       step.sequence,
                       step.from,
                       step.n_tokens,
                       step.items.size()};
    bytes_.clear();
    bytes_.reserve(std::max<size_t>(kFirst, n_bytes));
    append(bytes_, &head, 1);
    for (const RankStep::Item &item : step.items) {
        const ItemHead of = {item.sequence, static_cast<uint32_t>(item.logits), item.ids.size()};
        append(bytes_, &of, 1);
    }
    for (const RankStep::Item &item : step.items) append(bytes_, item.ids.data(), item.ids.size());
    append(bytes_, step.snapshot.data(), step.snapshot.size());
    bytes_.resize(std::max<size_t>(kFirst, n_bytes));
}

std::span<uint8_t> StepBytes::first() {
    bytes_.resize(std::max(kFirst, bytes_.size()));
    return std::span(bytes_).first(kFirst);
}

void StepBytes::make_room_for_rest() {
    Head head;
    std::memcpy(&head, bytes_.data(), sizeof head);
    if (head.n_bytes > kMost)
        throw std::length_error("the step is too large for a message to the ranks");
    bytes_.resize(std::max<size_t>(kFirst, head.n_bytes));
}

RankStep StepBytes::get(uint32_t n_sequences) const {
    Head head;
    std::memcpy(&head, bytes_.data(), sizeof head);
    RankStep out = {.kind = static_cast<RankStep::Kind>(head.kind)};
    require(head.kind >= 1 && head.kind <= static_cast<uint32_t>(RankStep::Kind::end), "kind");
    require(head.path <= static_cast<uint32_t>(Path::rows), "kind of products");
    require(head.sequence < n_sequences && head.from < n_sequences, "sequence");
    require(head.n_bytes >= sizeof head && head.n_bytes <= bytes_.size(), "length");
    require(head.n_items <= n_sequences, "number of items");
    out.path = static_cast<Path>(head.path);
    out.sequence = head.sequence;
    out.from = head.from;
    out.n_tokens = head.n_tokens;

    std::span left = std::span(bytes_).first(head.n_bytes).subspan(sizeof head);
    require(left.size() >= head.n_items * sizeof(ItemHead), "length");
    std::span heads = left.first(head.n_items * sizeof(ItemHead));
    left = left.subspan(heads.size());
    for (; !heads.empty(); heads = heads.subspan(sizeof(ItemHead))) {
        ItemHead item;
        std::memcpy(&item, heads.data(), sizeof item);
        require(item.sequence < n_sequences, "sequence");
        require(item.logits <= static_cast<uint32_t>(RankStep::Logits::all), "logits");
        require(item.n_ids >= 1 && item.n_ids <= left.size() / sizeof(int32_t), "number of tokens");
        // Both headers are multiples of the id size, so that the ids are aligned.
        const auto *const ids = reinterpret_cast<const int32_t *>(left.data());
        out.items.push_back({item.sequence,
                             {ids, static_cast<size_t>(item.n_ids)},
                             static_cast<RankStep::Logits>(item.logits)});
        left = left.subspan(static_cast<size_t>(item.n_ids) * sizeof(int32_t));
    }
    require((out.kind == RankStep::Kind::decode) == !out.items.empty(), "items");
    require(out.kind == RankStep::Kind::load || left.empty(), "length");
    out.snapshot = left;
    return out;
}

} // namespace ggufx::cli
