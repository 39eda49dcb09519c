// A compiled grammar over a vocabulary, immutable and shared; a matcher follows one sequence
// through it. The contract is that of include/ggufx/grammar.h.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/masks.hpp"
#include "grammar/schema.hpp"

namespace ggufx::grammar {

constexpr uint64_t kMostSource = 16 << 20; // bytes of a grammar's source

enum class Source { gbnf, json_schema };

struct GrammarOptions {
    Source source = Source::gbnf;
    std::string_view text;
    SchemaOptions schema;
    uint64_t max_steps = 0, max_memory = 0; // 0: depends on the size of the text
    Progress progress;                      // polled with the steps done so far
};

class Grammar {
public:
    // Throws Error (cancelled, limit, malformed, unsupported, value) / std::bad_alloc.
    Grammar(Ref<Host> host, Ref<Vocabulary> vocabulary, const GrammarOptions &options);

    const GrammarProgram &program() const { return program_; }
    const Vocabulary &vocabulary() const { return *vocabulary_; }
    MaskCache &masks() const { return masks_; }
    const Ref<Host> &host() const { return host_; }

private:
    Ref<Host> host_;
    Ref<Vocabulary> vocabulary_;
    GrammarProgram program_;
    mutable MaskCache masks_;
};

class Matcher {
public:
    // at the start of a sequence. Throws like PushdownAutomaton::step
    explicit Matcher(const Grammar &grammar);
    // Clones a matcher: same position, same history. Throws std::bad_alloc.
    Matcher(const Grammar &grammar, const Matcher &other);
    ~Matcher();
    Matcher(const Matcher &) = delete;
    Matcher &operator=(const Matcher &) = delete;

    uint64_t length() const { return history_.size() - 1; } // tokens
    bool has_ended() const { return history_.back() == kNowhere; }
    bool is_whole() const { return machine_.is_whole(history_.back()); }

    // Accepts all tokens or none. Throws Error (value: a token does not match, with its index in
    // the list; limit) / std::bad_alloc. Ids must be of the vocabulary.
    void accept(const int32_t *ids, size_t n);
    void roll_back(uint64_t n) { history_.resize(history_.size() - static_cast<size_t>(n)); }

    // Sets a bit for each allowed token. Throws Error (limit; state: the sequence has ended;
    // mismatch: no token of the vocabulary is allowed) / std::bad_alloc.
    void fill(uint32_t *bits);
    size_t n_words() const { return (grammar_.vocabulary().size() + 31) / 32; }

private:
    static constexpr uint64_t kMostWalked = 1 << 20; // nodes, for the parts of a mask
    static constexpr uint32_t kMostCut = 64;         // frames of a stack in the key of a mask
    Position after(Position position, int32_t id, size_t index);
    void allow_fitting(uint32_t *bits, Position position);
    struct Start { // start of a mask: tokens that are known without a walk
        Alphabet alphabet;
        uint32_t run; // length in characters
        const uint32_t *bits;
    };
    Start find_start(Position position) const;
    template <class Visit> void walk_rest(const Start &start, Position position, Visit &&visit);
    const Mask *find_mask(Position cut_place, bool leaves);
    bool add_leaf(Mask &mask, uint32_t node, Position position) const;
    void mask_by_walk(Mask &mask, Position cut_place, bool leaves);
    const Mask *find_part(Stack *cut_at, Position position, Stack base, bool leaves);
    bool mask_by_parts(Mask &mask, Position cut_place, bool leaves, const Vector<Stack> &bases);
    Mask *make_mask(Position cut_place, bool leaves, Vector<uint32_t> &key, uint64_t hash);
    void tidy();

    const Grammar &grammar_;
    PushdownAutomaton machine_;
    Vector<Position> history_;   // before each token, and now; kNowhere after the end
    Vector<Position> positions_; // positions of a walk
    struct Known {
        Position position;
        bool leaves;
        const Mask *mask;
    };
    Known known_[256] = {}; // recently cut positions and their masks
    Mask *own_ = nullptr;   // a mask that the cache had no room for
    uint64_t n_walked_ = 0; // nodes walked in this call
    size_t tidy_at_;        // size of the machine in bytes
};

} // namespace ggufx::grammar
