// Tokenizer: text to token ids and back. Tokens matched whole come first, then the encoder of the
// vocabulary's kind. Contract: include/ggufx/model.h.
// SPDX-License-Identifier: MIT
#pragma once

#include "tokenizer/detokenizer.hpp"
#include "tokenizer/encoder.hpp"
#include "tokenizer/whole.hpp"

namespace ggufx::model {

struct TokenizeOptions {
    bool add_special = false;       // adds BOS, EOS and separator as the file asks
    bool parse_special = false;     // encodes text of control tokens as these tokens
    const Origin *origin = nullptr; // allows control tokens in the template's bytes only
    Progress progress;              // polled between tokens that are matched whole
};

class Tokenizer {
public:
    // Throws Error / std::bad_alloc.
    explicit Tokenizer(Ref<gguf::File> file);
    ~Tokenizer();
    Tokenizer(const Tokenizer &) = delete;

    const Vocab &vocab() const { return vocab_; }

    // Appends ids. Throws Error (argument: over 2^29 bytes; cancelled; unsupported: no texts; vocab)
    // / std::bad_alloc.
    void tokenize(Ids &ids, std::string_view text, const TokenizeOptions &options) const;

    // Finds a template's marker tokens for an Origin, see WholeTokens.
    void find_marks(Marks &out, const Vector<std::string_view> &literals) const {
        whole_.find_marks(out, literals);
    }

    // Writes at most `capacity` bytes and returns the total; the caller has checked the ids.
    // `last`: also writes bytes held in the state.
    size_t detokenize(char *out, size_t capacity, const int32_t *ids, size_t n_ids,
                      const DetokenizeOptions &options, DetokenizeState &state, bool last) const;

private:
    void tokenize_plain(Ids &ids, std::string_view text, Controls controls) const;
    int32_t find_mask() const;

    Vocab vocab_;
    WholeTokens whole_;
    int32_t mask_;     // absorbs the white space before it
    Encoder *encoder_; // allocated from the host; null without texts
};

} // namespace ggufx::model
