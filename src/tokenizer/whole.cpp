// Builds and runs the automaton. See whole.hpp.
// SPDX-License-Identifier: MIT
#include "tokenizer/whole.hpp"

#include "base/unicode.hpp"
#include "base/utf8.hpp"
#include "tokenizer/claims.hpp"

#include <algorithm>
#include <functional>
#include <inttypes.h>
#include <string.h>

namespace ggufx::model {

namespace {

bool is_whole(const Token &token) {
    return token.length > 0 && (token.kind == TokenKind::user || token.kind == TokenKind::control ||
                                token.kind == TokenKind::unknown);
}

// Every text has white space and single letters. Treating those of a template as markers would
// change the tokens of a user's text, and they start nothing.
bool may_mark(const Token &token) {
    if (token.kind != TokenKind::user || token.control) return false;
    size_t n = 0, n_white = 0; // characters
    for (std::string_view text = token.view(); !text.empty(); n++) {
        const Character c = first_character(text);
        n_white += c.code == 0x2581 || is_white_space(c.code);
        text.remove_prefix(c.length);
    }
    return n > 1 && n_white < n;
}

// Orders texts by their reversed bytes.
bool reversed_before(std::string_view a, std::string_view b) {
    return std::lexicographical_compare(
        a.rbegin(), a.rend(), b.rbegin(), b.rend(),
        [](char x, char y) { return static_cast<uint8_t>(x) < static_cast<uint8_t>(y); });
}

} // namespace

WholeTokens::WholeTokens(const Vocab &vocab)
    : tokens_(HostAllocator<Whole>(vocab.host().get())),
      first_(HostAllocator<uint32_t>(vocab.host().get())),
      fail_(HostAllocator<uint32_t>(vocab.host().get())),
      byte_(HostAllocator<uint8_t>(vocab.host().get())), user_(vocab.host().get()),
      all_(vocab.host().get()) {
    take_tokens(vocab);
    build_nodes(vocab);
    link_nodes();
    link_tokens(user_);
    link_tokens(all_);
}

void WholeTokens::take_tokens(const Vocab &vocab) {
    if (vocab.kind() == VocabKind::none) return;
    uint64_t n_bytes = 0;
    for (size_t i = 0; i < vocab.size(); i++) {
        if (!is_whole(vocab[i])) continue;
        tokens_.push_back(
            {static_cast<int32_t>(i), vocab[i].length, 0, vocab[i].control, may_mark(vocab[i])});
        n_bytes += vocab[i].length;
        if (n_bytes > kMaxWholeBytes)
            fail(Status::limit, {.index = i, .limit = kMaxWholeBytes},
                 "the user-defined and control tokens have more than %" PRIu64 " bytes of text",
                 kMaxWholeBytes);
    }
    std::sort(tokens_.begin(), tokens_.end(), [](const Whole &a, const Whole &b) {
        return a.length != b.length ? a.length > b.length : a.id < b.id;
    });
}

// Builds nodes level by level, from the tokens in the order of their reversed texts: texts that
// share a node are adjacent.
void WholeTokens::build_nodes(const Vocab &vocab) {
    struct Range {
        uint32_t begin, end; // range of sorted tokens
    };
    const Host *host = vocab.host().get();
    const auto text = [&](uint32_t t) { return vocab[static_cast<size_t>(tokens_[t].id)].view(); };
    Vector<uint32_t> sorted{HostAllocator<uint32_t>(host)};
    for (uint32_t t = 0; t < tokens_.size(); t++) sorted.push_back(t);
    std::sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) {
        const std::string_view x = text(a), y = text(b);
        return x != y ? reversed_before(x, y) : a < b;
    });
    Vector<Range> level{HostAllocator<Range>(host)}, next{HostAllocator<Range>(host)};
    level.push_back({0, static_cast<uint32_t>(sorted.size())});
    byte_.push_back(0);
    for (uint32_t depth = 0; !level.empty(); depth++) {
        for (const Range &range : level) {
            uint32_t user = kNone32, any = kNone32, at = range.begin;
            for (; at < range.end && text(sorted[at]).size() == depth; at++) { // equal texts
                any = std::min(any, sorted[at]);
                tokens_[sorted[at]].node = static_cast<uint32_t>(all_.at.size());
                const auto id = static_cast<size_t>(tokens_[sorted[at]].id);
                if (vocab[id].kind == TokenKind::user) user = std::min(user, sorted[at]);
            }
            user_.at.push_back(user);
            all_.at.push_back(any);
            first_.push_back(static_cast<uint32_t>(byte_.size()));
            while (at < range.end) {
                const auto last = [&](uint32_t i) {
                    const std::string_view s = text(sorted[i]);
                    return static_cast<uint8_t>(s[s.size() - 1 - depth]);
                };
                const uint32_t begin = at;
                while (at < range.end && last(at) == last(begin)) at++;
                byte_.push_back(last(begin));
                next.push_back({begin, at});
            }
        }
        level.swap(next);
        next.clear();
    }
    first_.push_back(static_cast<uint32_t>(byte_.size()));
}

// Returns the child for a byte, 0 when there is none: the root is no child.
uint32_t WholeTokens::child(uint32_t node, uint8_t byte) const {
    if (node == 0) return root_[byte];
    const auto begin = byte_.begin() + first_[node], end = byte_.begin() + first_[node + 1];
    const auto at = std::lower_bound(begin, end, byte);
    return at == end || *at != byte ? 0 : static_cast<uint32_t>(at - byte_.begin());
}

uint32_t WholeTokens::step(uint32_t node, uint8_t byte) const {
    uint32_t to = child(node, byte);
    while (to == 0 && node != 0) {
        node = fail_[node];
        to = child(node, byte);
    }
    return to;
}

void WholeTokens::link_nodes() {
    const auto n = static_cast<uint32_t>(byte_.size());
    fail_.assign(n, 0);
    memset(root_, 0, sizeof root_);
    for (uint32_t c = first_[0]; c < first_[1]; c++) root_[byte_[c]] = c;
    for (uint32_t node = 1; node < n; node++)
        for (uint32_t c = first_[node]; c < first_[node + 1]; c++)
            fail_[c] = step(fail_[node], byte_[c]);
}

// Links tokens from shallow to deep nodes: shorter tokens are linked already.
void WholeTokens::link_tokens(Matches &matches) const {
    matches.shorter.resize(tokens_.size());
    for (size_t node = 1; node < byte_.size(); node++) {
        const uint32_t token = matches.at[node], next = matches.at[fail_[node]];
        if (token == kNone32) {
            matches.at[node] = next;
            continue;
        }
        const auto depth = [&](uint32_t t) { return t == kNone32 ? 0 : matches.shorter[t].depth; };
        const auto jump = [&](uint32_t t) { return t == kNone32 ? t : matches.shorter[t].jump; };
        const uint32_t far = jump(next); // two equal jumps become one, so their lengths double
        const bool equal = depth(next) - depth(far) == depth(far) - depth(jump(far));
        matches.shorter[token] = {next, equal ? jump(far) : next, depth(next) + 1};
    }
}

// Returns the longest of a token and its shorter prefix tokens with at most `limit` bytes, or
// kNone32.
uint32_t WholeTokens::Matches::fitting(const WholeTokens &all, uint32_t token,
                                       uint32_t limit) const {
    while (token != kNone32 && all.tokens_[token].length > limit) {
        const Shorter &link = shorter[token];
        const bool far = link.jump != kNone32 && all.tokens_[link.jump].length > limit;
        token = far ? link.jump : link.next;
    }
    return token;
}

void WholeTokens::find_marks(Marks &out, const Vector<std::string_view> &literals) const {
    Vector<uint8_t> seen(tokens_.size(), 0, HostAllocator<uint8_t>(first_.get_allocator().host()));
    for (const std::string_view literal : literals) {
        uint32_t node = 0;
        for (size_t i = literal.size(); i-- > 0;) {
            node = step(node, static_cast<uint8_t>(literal[i]));
            // Once a token was seen, so were all of its shorter ones.
            for (uint32_t t = user_.at[node]; t != kNone32 && !seen[t]; t = user_.shorter[t].next) {
                seen[t] = 1;
                if (tokens_[t].may_mark) out.ids.push_back(tokens_[t].id);
            }
        }
    }
    std::sort(out.ids.begin(), out.ids.end());
    out.free.assign(tokens_.size(), kNone32);
    for (auto t = static_cast<uint32_t>(tokens_.size()); t-- > 0;) { // shorter ones first
        const uint32_t next = user_.shorter[t].next;
        const bool mark = seen[t] && tokens_[t].may_mark;
        const bool free = !tokens_[t].control && !mark;
        out.free[t] = free ? t : next == kNone32 ? kNone32 : out.free[next];
    }
}

// Decides which tokens may be matched at a position.
class WholeTokens::Rule {
public:
    Rule(const WholeTokens &all, bool parse_special, const Origin *origin)
        : all_(all), matches_(parse_special ? all.all_ : all.user_), origin_(origin) {}

    // Returns the longest token of at most `limit` bytes at `place`, whose text the automaton has
    // read up to `node`; or kNone32.
    uint32_t longest(uint32_t node, uint32_t place, uint32_t limit) const {
        if (!origin_) return matches_.fitting(all_, matches_.at[node], limit);
        uint32_t free = all_.user_.fitting(all_, all_.user_.at[node], limit);
        if (free != kNone32) free = origin_->marks().free[free];
        const uint32_t own = std::min(limit, origin_->own(place));
        return std::min(free, all_.all_.fitting(all_, all_.all_.at[node], own));
    }

private:
    const WholeTokens &all_;
    const Matches &matches_;
    const Origin *origin_;
};

// Calls hit(token, place) for the longest token at every position that has one, from the last
// position to the first, until it returns false.
template <class Hit>
void WholeTokens::scan(std::string_view text, const Rule &rule, const Hit &hit) const {
    uint32_t node = 0;
    for (size_t i = text.size(); i-- > 0;) {
        node = step(node, static_cast<uint8_t>(text[i]));
        const auto place = static_cast<uint32_t>(i);
        const uint32_t token =
            all_.at[node] == kNone32 ? kNone32 : rule.longest(node, place, kNone32);
        if (token != kNone32 && !hit(token, place)) return;
    }
}

// Matches in a text in the order of ranks, then positions. Ordinary texts have a few, which are
// sorted; for others only the positions are stored, in one group per token.
class WholeTokens::Hits {
public:
    Hits(const WholeTokens &all, const Rule &rule, std::string_view text)
        : few_(all.first_.get_allocator()), places_(all.first_.get_allocator()),
          ends_(all.first_.get_allocator()) {
        all.scan(text, rule, [&](uint32_t token, uint32_t place) {
            few_.push_back(uint64_t{token} << 32 | place);
            return few_.size() <= kFew;
        });
        n_ = few_.size();
        std::sort(few_.begin(), few_.end());
        if (n_ > kFew) group(all, rule, text);
    }
    bool empty() const { return at_ == n_; }
    uint64_t front() const {
        return few_.empty() ? uint64_t{rank_} << 32 | places_[at_] : few_[at_];
    }
    void pop() {
        at_++;
        if (few_.empty() && at_ < n_) skip_empty();
    }

private:
    static constexpr size_t kFew = 4096;

    void group(const WholeTokens &all, const Rule &rule, std::string_view text) {
        few_.clear();
        ends_.assign(all.tokens_.size(), 0);
        all.scan(text, rule, [&](uint32_t token, uint32_t) { return ++ends_[token], true; });
        n_ = 0;
        for (uint32_t &end : ends_) end = static_cast<uint32_t>(n_ += end);
        places_.resize(n_);
        all.scan(text, rule, [&](uint32_t token, uint32_t place) {
            return places_[--ends_[token]] = place, true; // ends_ becomes the starts
        });
        skip_empty();
    }
    void skip_empty() {
        while (rank_ + 1 < ends_.size() && ends_[rank_ + 1] <= at_) rank_++;
    }

    Vector<uint64_t> few_;    // rank, position
    Vector<uint32_t> places_; // for all ranks
    Vector<uint32_t> ends_;   // start of each rank's positions
    size_t n_ = 0, at_ = 0;
    uint32_t rank_ = 0;
};

std::optional<WholeTokens::Pieces> WholeTokens::find(std::string_view text, bool parse_special,
                                                     const Origin *origin) const {
    const Rule rule(*this, parse_special, origin);
    const Host *host = first_.get_allocator().host();
    Hits hits(*this, rule, text);
    if (hits.empty()) return std::nullopt;
    Pieces out{HostAllocator<Piece>(host)};
    Vector<uint64_t> again{
        HostAllocator<uint64_t>(host)}; // a heap: the lowest rank and position on top
    Claims claims(host, static_cast<uint32_t>(text.size()));
    while (!hits.empty() || !again.empty()) {
        uint64_t hit;
        if (again.empty() || (!hits.empty() && hits.front() < again.front())) {
            hit = hits.front();
            hits.pop();
        } else {
            std::pop_heap(again.begin(), again.end(), std::greater<>());
            hit = again.back();
            again.pop_back();
        }
        const uint32_t token = static_cast<uint32_t>(hit >> 32), start = static_cast<uint32_t>(hit);
        if (claims.holds(start)) continue;
        const uint32_t length = tokens_[token].length;
        if (!claims.holds(start + length - 1)) {
            claims.add(start, length);
            out.push_back({start, token});
            continue;
        }
        const uint32_t shorter =
            rule.longest(tokens_[token].node, start, claims.next(start) - start);
        if (shorter == kNone32) continue;
        again.push_back(uint64_t{shorter} << 32 | start);
        std::push_heap(again.begin(), again.end(), std::greater<>());
    }
    std::sort(out.begin(), out.end(),
              [](const Piece &a, const Piece &b) { return a.start < b.start; });
    return out;
}

} // namespace ggufx::model
