// Trie of a vocabulary's tokens, see vocabulary.hpp.
// SPDX-License-Identifier: MIT
#include "grammar/vocabulary.hpp"

#include <algorithm>

namespace ggufx::grammar {

Vocabulary::Vocabulary(Ref<Host> host)
    : host_(std::move(host)), bytes_(HostAllocator<char>(host_.get())),
      tokens_(HostAllocator<Token>(host_.get())), nodes_(HostAllocator<TrieNode>(host_.get())),
      end_tokens_(HostAllocator<int32_t>(host_.get())), runs_(HostAllocator<Runs>(host_.get())) {}

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
    uint32_t open[kMostTokenBytes + 1] = {}; // node at each depth on the path to the last token
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
    for (unsigned i = 0; i < kAlphabets; i++) find_runs(static_cast<Alphabet>(i));
}

// Copies the tokens whose kind is `wanted`, with the nodes that lead to them.
void Vocabulary::pick(Tree &out, const Vector<uint8_t> &kinds, uint8_t wanted) const {
    uint32_t above[kMostTokenBytes + 1] = {}; // path in this trie
    uint32_t open[kMostTokenBytes + 1] = {};  // path in the new trie; n_open entries
    uint32_t n_open = 1;
    const auto add = [&](uint32_t origin) {
        open[n_open++] = static_cast<uint32_t>(out.nodes.size());
        out.nodes.push_back(nodes_[origin]);
        out.nodes.back().token = -1;
        out.origins.push_back(origin);
    };
    const auto close = [&](uint32_t depth) {
        while (n_open > depth + 1)
            out.nodes[open[--n_open]].next = static_cast<uint32_t>(out.nodes.size());
    };
    out.nodes.push_back({0, -1, 0, 0});
    out.origins.push_back(0);
    for (uint32_t i = 1; i < nodes_.size(); i++) {
        const TrieNode &node = nodes_[i];
        if (n_open > node.depth) close(node.depth - 1u);
        above[node.depth] = i;
        if (node.token < 0 || kinds[i] != wanted) continue;
        while (n_open <= node.depth) add(above[n_open]);
        out.nodes.back().token = node.token;
    }
    close(0);
    out.nodes[0].next = static_cast<uint32_t>(out.nodes.size());
}

void Vocabulary::find_runs(Alphabet alphabet) {
    constexpr uint32_t any = kMostRun + 1u;
    Runs &runs = runs_.emplace_back(host_.get());
    Vector<uint8_t> kinds(nodes_.size(), 0, HostAllocator<uint8_t>(host_.get()));
    runs.bits.assign((any + 1) * n_words(), 0);
    runs.nodes.assign(nodes_.size(), 0);
    const auto list = [&](uint32_t row, int32_t id) {
        for (; id >= 0; id = same(static_cast<size_t>(id))) {
            runs.bits[row * n_words() + static_cast<size_t>(id) / 32] |= uint32_t{1} << id % 32;
            runs.n_tokens[row]++;
        }
    };
    uint32_t above[kMostTokenBytes + 1] = {};
    for (uint32_t i = 1; i < nodes_.size(); i++) {
        const TrieNode &node = nodes_[i];
        above[node.depth] = i;
        if (node.token < 0) continue;
        const uint32_t n = count_letters(alphabet, bytes(static_cast<size_t>(node.token)));
        const uint8_t run = n == kForeign   ? kForeignHere
                            : n <= kMostRun ? static_cast<uint8_t>(n)
                                            : kLonger;
        kinds[i] = run;
        for (uint32_t k = node.depth + 1u; k-- > 0 && runs.nodes[above[k]] < run;)
            runs.nodes[above[k]] = run;
        if (n != kForeign) list(any, node.token);
        if (run <= kMostRun) list(run, node.token);
    }
    for (size_t i = n_words(); i < any * n_words(); i++) runs.bits[i] |= runs.bits[i - n_words()];
    for (uint32_t row = 1; row < any; row++) runs.n_tokens[row] += runs.n_tokens[row - 1];
    pick(runs.longer, kinds, kLonger);
    pick(runs.foreign, kinds, kForeignHere);
}

} // namespace ggufx::grammar
