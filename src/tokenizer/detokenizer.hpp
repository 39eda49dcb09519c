// Detokenizer: token ids to bytes, for each kind of vocabulary. Options: space clean-up as in
// transformers, whole characters only.
// SPDX-License-Identifier: MIT
#pragma once

#include "tokenizer/vocab.hpp"

namespace ggufx::model {

struct DetokenizeOptions {
    bool keep_special = false;
    bool keep_space = false;
    bool clean_spaces = false;     // by the vocabulary's own setting
    bool whole_characters = false; // holds back incomplete characters
};

// State between two parts of a text.
struct DetokenizeState {
    uint8_t started = 0;     // a text token has been seen
    uint8_t marks = 0;       // a held space waits for the next byte
    uint8_t quote = 0;       // held bytes of " '"
    uint8_t contraction = 0; // held bytes: 1: " ", 2: " '", otherwise these and this letter
    uint8_t n_held = 0, held[3] = {}; // held bytes of a character
    bool is_possible() const {
        return started <= 1 && marks <= 1 && quote <= 2 && n_held <= 3 &&
               (contraction <= 2 || contraction == 'r' || contraction == 'v');
    }
};

// Counts all bytes, and stores those that fit.
class Sink {
public:
    Sink(char *out, size_t capacity) : out_(out), capacity_(capacity) {}
    void put(char c) {
        if (needed_ < capacity_) out_[needed_] = c;
        needed_++;
    }
    size_t needed() const { return needed_; }

private:
    char *out_;
    size_t capacity_, needed_ = 0;
};

// Writes the bytes of ids, which the caller has checked; never allocates.
class Detokenizer {
public:
    Detokenizer(Sink &sink, const Vocab &vocab, const DetokenizeOptions &options,
                DetokenizeState &state)
        : sink_(sink), vocab_(vocab), options_(options), state_(state),
          cleans_(options.clean_spaces && vocab.cleans_spaces()) {}
    void put(int32_t id);
    void finish(); // writes held bytes

private:
    void put_text(std::string_view text); // for a normal token
    void put_byte(char c) {
        if (cleans_)
            clean_marks(c);
        else
            hold(c);
    }
    void put_bytes(std::string_view bytes) {
        for (const char c : bytes) put_byte(c);
    }
    void clean_marks(char c);
    void clean_quotes(char c);
    void clean_contractions(char c);
    void hold(char c);
    void let_go();

    Sink &sink_;
    const Vocab &vocab_;
    const DetokenizeOptions &options_;
    DetokenizeState &state_;
    const bool cleans_;
};

} // namespace ggufx::model
