// A compiled grammar over a vocabulary, immutable and shared; a matcher follows one text through it.
// The contract is that of include/ggufx/grammar.h.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/masks.hpp"
#include "grammar/schema.hpp"

namespace ggufx::grammar {

constexpr uint64_t kMostSource = 16 << 20; // bytes of a grammar

enum class Source { gbnf, json_schema };

struct GrammarOptions {
    Source source = Source::gbnf;
    std::string_view text;
    SchemaOptions schema;
};

class Grammar {
public:
    // Throws Error (limit, malformed, unsupported, value) / std::bad_alloc.
    Grammar(Ref<Host> host, Ref<Vocabulary> vocabulary, const GrammarOptions &options);

    const Program &program() const { return program_; }
    const Vocabulary &vocabulary() const { return *vocabulary_; }
    MaskCache &masks() const { return masks_; }
    const Ref<Host> &host() const { return host_; }

private:
    Ref<Host> host_;
    Ref<Vocabulary> vocabulary_;
    Program program_;
    mutable MaskCache masks_;
};

class Matcher {
public:
    explicit Matcher(const Grammar &grammar); // at the begin of a text. Throws as step
    // At the same place, with the same tokens behind it. Throws std::bad_alloc.
    Matcher(const Grammar &grammar, const Matcher &other);
    ~Matcher();
    Matcher(const Matcher &) = delete;
    Matcher &operator=(const Matcher &) = delete;

    uint64_t length() const { return history_.size() - 1; } // tokens
    bool has_ended() const { return history_.back() == kNowhere; }
    bool is_whole() const { return machine_.is_whole(history_.back()); }

    // All of them or none. Throws Error (value: one does not fit, its place in the list; limit) /
    // std::bad_alloc. Ids are of the vocabulary.
    void accept(const int32_t *ids, size_t n);
    void roll_back(uint64_t n) { history_.resize(history_.size() - static_cast<size_t>(n)); }

    // A bit for each token. Throws Error (limit; state: the text has ended; mismatch: nothing of
    // the vocabulary goes on) / std::bad_alloc.
    void fill(uint32_t *bits);
    size_t n_words() const { return (grammar_.vocabulary().size() + 31) / 32; }

private:
    static constexpr uint64_t kMostWalked = 1 << 20; // nodes, for the parts of a mask
    static constexpr uint32_t kMostCut = 64; // frames of a stack that a mask is looked up by
    Place after(Place place, int32_t id, size_t index);
    void allow_fitting(uint32_t *bits, Place place);
    struct Start { // of a mask: what is known without a walk, and what a walk has to look at
        Alphabet alphabet;
        uint32_t run; // characters
        const uint32_t *bits;
    };
    Start find_start(Place place) const;
    template <class Visit> void walk_rest(const Start &start, Place place, Visit &&visit);
    const Mask *find_mask(Place cut_place, bool leaves);
    bool add_leaf(Mask &mask, uint32_t node, Place place) const;
    void mask_by_walk(Mask &mask, Place cut_place, bool leaves);
    const Mask *find_part(Stack *cut_at, Place place, Stack base, bool leaves);
    bool mask_by_parts(Mask &mask, Place cut_place, bool leaves, const Vector<Stack> &bases);
    Mask *make_mask(Place cut_place, bool leaves, Vector<uint32_t> &key, uint64_t hash);
    void tidy();

    const Grammar &grammar_;
    Machine machine_;
    Vector<Place> history_; // in front of each token, and now; kNowhere behind the end
    Vector<Place> places_;  // of a walk
    struct Known {
        Place place;
        bool leaves;
        const Mask *mask;
    };
    Known known_[256] = {}; // places that were cut lately and their masks
    Mask *own_ = nullptr;   // one that the cache had no room for
    uint64_t n_walked_ = 0; // nodes, in this call
    size_t tidy_at_;        // bytes of the machine
};

} // namespace ggufx::grammar
