// See vocabulary.hpp.
// SPDX-License-Identifier: MIT
#include "grammar/vocabulary.hpp"

#include <algorithm>

namespace ggufx::grammar {

Vocabulary::Vocabulary(Ref<Host> host)
    : host_(std::move(host)), bytes_(HostAllocator<char>(host_.get())),
      tokens_(HostAllocator<Token>(host_.get())), nodes_(HostAllocator<TrieNode>(host_.get())),
      end_tokens_(HostAllocator<int32_t>(host_.get())) {}

void Vocabulary::release() {
    if (!refs_.release()) return;
    const Ref<Host> keep = host_;
    unmake(*keep, this);
}

void Vocabulary::add(std::string_view bytes, bool ends) {
    const auto id = static_cast<int32_t>(tokens_.size());
    if (ends || bytes.size() > kMostTokenBytes) bytes = {};
    if (bytes_.size() + bytes.size() > UINT32_MAX)
        fail(Status::limit, {}, "the tokens have over 4 GiB of text");
    if (ends) end_tokens_.push_back(id);
    tokens_.push_back(
        {static_cast<uint32_t>(bytes_.size()), static_cast<uint16_t>(bytes.size()), ends, -1});
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    longest_ = std::max(longest_, static_cast<uint32_t>(bytes.size()));
}

void Vocabulary::build() {
    Vector<int32_t> order{HostAllocator<int32_t>(host_.get())};
    for (size_t id = 0; id < tokens_.size(); id++)
        if (tokens_[id].n > 0) order.push_back(static_cast<int32_t>(id));
    const auto text = [&](int32_t id) { return bytes(static_cast<size_t>(id)); };
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
        const int less = text(a).compare(text(b));
        return less < 0 || (less == 0 && a < b);
    });
    nodes_.push_back({0, -1, 0, 0});
    uint32_t open[kMostTokenBytes + 1] = {}; // the node of each depth on the way to the last token
    uint32_t depth = 0;
    const auto close = [&](uint32_t until) {
        for (; depth > until; depth--)
            nodes_[open[depth]].next = static_cast<uint32_t>(nodes_.size());
    };
    std::string_view before;
    int32_t last = -1;
    for (const int32_t id : order) {
        const std::string_view now = text(id);
        if (now == before) { // ids ascend
            tokens_[static_cast<size_t>(last)].same = id;
            last = id;
            continue;
        }
        uint32_t shared = 0;
        while (shared < before.size() && shared < now.size() && before[shared] == now[shared])
            shared++;
        close(shared);
        for (; depth < now.size(); open[depth] = static_cast<uint32_t>(nodes_.size() - 1)) {
            nodes_.push_back(
                {0, -1, static_cast<uint16_t>(depth + 1), static_cast<uint8_t>(now[depth])});
            depth++;
        }
        nodes_.back().token = id;
        before = now;
        last = id;
    }
    close(0);
    nodes_[0].next = static_cast<uint32_t>(nodes_.size());
}

} // namespace ggufx::grammar
