// Matcher, see grammar.hpp. A mask has the tokens that the tops of the stacks allow, which is
// cached. Tokens that continue below them are checked one by one; they are few, because few bytes
// leave a rule.
// SPDX-License-Identifier: MIT
#include "grammar/grammar.hpp"

#include <algorithm>
#include <inttypes.h>
#include <string.h>

namespace ggufx::grammar {

namespace {

constexpr size_t kTidyBytes = 16 << 20;

uint64_t hash_key(const Vector<uint32_t> &key) {
    uint64_t h = key.size();
    for (const uint32_t v : key) {
        h = (h ^ v) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

} // namespace

Matcher::Matcher(const Grammar &grammar)
    : grammar_(grammar), machine_(grammar.host().get(), grammar.program()),
      history_(HostAllocator<Position>(grammar.host().get())),
      positions_(grammar.vocabulary().longest() + 1, HostAllocator<Position>(grammar.host().get())),
      tidy_at_(kTidyBytes) {
    history_.push_back(machine_.start());
}

Matcher::Matcher(const Grammar &grammar, const Matcher &other)
    : grammar_(grammar), machine_(grammar.host().get(), grammar.program()),
      history_(other.history_), positions_(other.positions_), tidy_at_(other.tidy_at_) {
    machine_.copy(other.machine_, history_);
}

Matcher::~Matcher() {
    unmake(*grammar_.host(), own_);
}

// Resets the limits of a call, and drops positions that the history does not need once there are
// many.
void Matcher::tidy() {
    machine_.begin_work();
    n_walked_ = 0;
    if (machine_.bytes() < tidy_at_) return;
    machine_.keep(history_);
    memset(known_, 0, sizeof known_);
    const size_t twice = 2 * machine_.bytes();
    tidy_at_ = twice > kTidyBytes ? twice : kTidyBytes;
}

Position Matcher::after(Position position, int32_t id, size_t index) {
    const auto token = static_cast<size_t>(id);
    const Vocabulary &vocabulary = grammar_.vocabulary();
    const char *why = "does not fit the grammar";
    if (position == kNowhere) {
        why = "follows the end of the text";
    } else if (vocabulary.ends(token)) {
        if (machine_.is_whole(position)) return kNowhere;
        why = "ends a text that is not whole";
    } else if (vocabulary.bytes(token).empty()) {
        why = "is no text";
    } else {
        for (const char c : vocabulary.bytes(token))
            position = machine_.step(position, static_cast<uint8_t>(c));
        if (position != kNowhere) return position;
    }
    fail(Status::value, {kNone, index}, "token %" PRId32 " %s", id, why);
}

void Matcher::accept(const int32_t *ids, size_t n) {
    tidy();
    const size_t before = history_.size();
    try {
        for (size_t i = 0; i < n; i++) {
            if (i > 0) tidy();
            history_.push_back(after(history_.back(), ids[i], i));
        }
    } catch (...) {
        history_.resize(before);
        throw;
    }
}

// ---- masks ----

// Finds the alphabet whose runs include the most allowed tokens.
Matcher::Start Matcher::find_start(Position position) const {
    const Vocabulary &vocabulary = grammar_.vocabulary();
    Start best = {};
    uint32_t most = 0;
    for (unsigned i = 0; i < kAlphabets; i++) {
        const auto alphabet = static_cast<Alphabet>(i);
        const Runs &runs = vocabulary.runs(alphabet);
        const uint32_t n = machine_.run(position, alphabet);
        const bool all = n >= vocabulary.longest();
        const uint32_t row = all ? kMostRun + 1u : std::min<uint32_t>(n, kMostRun);
        if (i > 0 && runs.n_tokens[row] <= most) continue;
        most = runs.n_tokens[row];
        best = {alphabet, all ? kNoEnd : n, runs.bits.data() + row * n_words()};
    }
    return best;
}

// Calls visit(token, node number, position) like walk(), except for nodes whose tokens are known
// already.
template <class Visit>
void Matcher::walk_rest(const Start &start, Position position, Visit &&visit) {
    const Vocabulary &vocabulary = grammar_.vocabulary();
    const Runs &runs = vocabulary.runs(start.alphabet);
    const auto walk_tree = [&](const Tree &tree) {
        walk(machine_, tree.nodes, 0, position, positions_.data(), [&](uint32_t i, Position at) {
            return visit(tree.nodes[i].token, tree.origins[i], at);
        });
    };
    const bool some = start.run < kMostRun;
    if (some && !(start.run > 0 && machine_.ends_run(position, start.alphabet, start.run))) {
        walk(
            machine_, vocabulary.nodes(), 0, position, positions_.data(),
            [&](uint32_t i) { return runs.nodes[i] <= start.run; },
            [&](uint32_t i, Position at) { return visit(vocabulary.nodes()[i].token, i, at); });
        return;
    }
    walk_tree(runs.foreign);
    if (!some && start.run != kNoEnd) walk_tree(runs.longer);
}

// Adds a node with tokens below it as a leaf, if the tops of the stacks have ended. Returns false
// if nothing below it needs a visit.
bool Matcher::add_leaf(Mask &mask, uint32_t node, Position position) const {
    const Vector<TrieNode> &nodes = grammar_.vocabulary().nodes();
    if (!machine_.has_beyond(position) || nodes[node].next == node + 1) return true;
    mask.n_below += nodes[node].next - node - 1;
    if (mask.n_below > kMostBelow) mask.crowded = true;
    if (!mask.crowded) mask.leaves.push_back(node);
    return !mask.crowded && machine_.n_stacks(position) > 1;
}

void Matcher::mask_by_walk(Mask &mask, Position cut_place, bool leaves) {
    const Start start = find_start(cut_place);
    mask.bits.assign(start.bits, start.bits + n_words());
    walk_rest(start, cut_place, [&](int32_t token, uint32_t node, Position position) {
        n_walked_++;
        allow(mask.bits.data(), grammar_.vocabulary(), token);
        return !leaves || add_leaf(mask, node, position);
    });
}

// Finds a mask of few frames on top of a part, which many positions share.
const Mask *Matcher::find_part(Stack *cut_at, Position position, Stack base, bool leaves) {
    for (Stack at = base;; at = machine_.below(at)) {
        const bool last = at == kBeyond;
        const Position part = machine_.part(position, base, at, grammar_.vocabulary().longest());
        const Mask *const mask = find_mask(part, !last || leaves);
        *cut_at = at;
        if (last || !mask->crowded) return mask;
    }
}

// Returns false if the parts take too long, when one walk may not.
bool Matcher::mask_by_parts(Mask &mask, Position cut_place, bool leaves,
                            const Vector<Stack> &bases) {
    const Vocabulary &vocabulary = grammar_.vocabulary();
    mask.bits.assign(n_words(), 0);
    for (const Stack base : bases) {
        Stack at = base;
        const Mask *const part = find_part(&at, cut_place, base, leaves);
        mask.crowded |= part->crowded;
        if (mask.crowded) return true;
        if (n_walked_ > kMostWalked) return false;
        part->add_to(mask.bits.data());
        if (part->leaves.empty()) continue;
        const Position behind = machine_.resume(at); // kBeyond itself: only the frames below
        for (const uint32_t leaf : part->leaves) {
            if (mask.crowded) return true;
            if (leaves && !add_leaf(mask, leaf, behind)) continue;
            walk(machine_, vocabulary.nodes(), leaf, behind, positions_.data(),
                 [&](uint32_t node, Position position) {
                     allow(mask.bits.data(), vocabulary, vocabulary.nodes()[node].token);
                     return !leaves || add_leaf(mask, node, position);
                 });
        }
    }
    std::sort(mask.leaves.begin(), mask.leaves.end());
    mask.leaves.erase(std::unique(mask.leaves.begin(), mask.leaves.end()), mask.leaves.end());
    return true;
}

Mask *Matcher::make_mask(Position cut_place, bool leaves, Vector<uint32_t> &key, uint64_t hash) {
    const Host *const host = grammar_.host().get();
    Mask *const mask = make<Mask>(*host, host);
    try {
        Vector<Stack> bases{HostAllocator<Stack>(host)};
        const bool parts = machine_.find_bases(bases, cut_place) && bases.size() > 1;
        if (!parts || !mask_by_parts(*mask, cut_place, leaves, bases)) {
            mask->leaves.clear();
            mask->n_below = 0;
            mask_by_walk(*mask, cut_place, leaves);
        }
        if (mask->crowded) {
            mask->bits = Vector<uint32_t>(HostAllocator<uint32_t>(host));
            mask->leaves = Vector<uint32_t>(HostAllocator<uint32_t>(host));
        }
        mask->list_few();
        mask->hash = hash;
        mask->key.swap(key);
    } catch (...) {
        unmake(*host, mask);
        throw;
    }
    return mask;
}

const Mask *Matcher::find_mask(Position cut_place, bool leaves) {
    Known &known = known_[(2 * cut_place + leaves) % (sizeof known_ / sizeof *known_)];
    if (known.mask && known.position == cut_place && known.leaves == leaves) return known.mask;
    Vector<uint32_t> key{HostAllocator<uint32_t>(grammar_.host().get())};
    machine_.describe(key, cut_place);
    key.push_back(leaves);
    const uint64_t hash = hash_key(key);
    const Mask *found = grammar_.masks().find(key, hash);
    if (!found) {
        Mask *const mask = make_mask(cut_place, leaves, key, hash);
        found = mask;
        if (!grammar_.masks().add(mask)) {
            unmake(*grammar_.host(), own_);
            return own_ = mask;
        }
    }
    known = {cut_place, leaves, found};
    return found;
}

void Matcher::allow_fitting(uint32_t *bits, Position position) {
    const Vocabulary &vocabulary = grammar_.vocabulary();
    const Vector<TrieNode> &nodes = vocabulary.nodes();
    Stack base = kEnd;
    bool cuts = machine_.find_common(&base, position);
    const uint32_t top = cuts ? machine_.depth(base) : 0;
    for (uint32_t i = 0; cuts && i < machine_.n_stacks(position); i++) {
        const Stack stack = machine_.stacks(position)[i];
        cuts = stack <= kBeyond || machine_.depth(stack) - top <= kMostCut;
    }
    while (cuts) {
        const Position cut_place = machine_.cut(position, base, vocabulary.longest());
        const Mask *const mask = find_mask(cut_place, base != kEnd); // nothing follows kEnd
        if (!mask->crowded) {
            mask->add_to(bits);
            if (mask->leaves.empty()) return;
            const Position rest = machine_.resume(base);
            for (const uint32_t leaf : mask->leaves) {
                walk(machine_, nodes, leaf, rest, positions_.data(), [&](uint32_t i, Position) {
                    allow(bits, vocabulary, nodes[i].token);
                    return true;
                });
            }
            return;
        }
        cuts = base != kEnd && top - machine_.depth(base) < kMostCut;
        base = machine_.below(base);
    }
    const Start start = find_start(position);
    for (size_t i = 0; i < n_words(); i++) bits[i] |= start.bits[i];
    walk_rest(start, position, [&](int32_t token, uint32_t, Position) {
        allow(bits, vocabulary, token);
        return true;
    });
}

void Matcher::fill(uint32_t *bits) {
    tidy();
    const Position position = history_.back();
    if (position == kNowhere) fail(Status::state, {}, "the text has ended");
    const Vocabulary &vocabulary = grammar_.vocabulary();
    memset(bits, 0, n_words() * sizeof *bits);
    allow_fitting(bits, position);
    if (machine_.is_whole(position))
        for (const int32_t id : vocabulary.end_tokens()) bits[id / 32] |= uint32_t{1} << id % 32;
    bool any = false;
    for (size_t i = 0; i < n_words() && !any; i++) any = bits[i] != 0;
    if (!any) fail(Status::mismatch, {}, "no token of the vocabulary fits the grammar here");
}

} // namespace ggufx::grammar
