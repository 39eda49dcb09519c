// Text to token ids and back: tokens matched whole, then what the kind of vocabulary does.
// The contract is that of include/ggufx/model.h.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/tokenizer/detokenizer.hpp"
#include "model/tokenizer/encoder.hpp"
#include "model/tokenizer/whole.hpp"

namespace ggufx::model {

struct TokenizeOptions {
    bool add_special = false;       // BOS, EOS and separator as the file asks
    bool parse_special = false;     // control tokens in the text are themselves
    const Origin *origin = nullptr; // they are where the template wrote them, and nowhere else
};

class Tokenizer {
public:
    // Throws Error / std::bad_alloc.
    explicit Tokenizer(Ref<gguf::File> file);
    ~Tokenizer();
    Tokenizer(const Tokenizer &) = delete;

    const Vocab &vocab() const { return vocab_; }

    // Appends to ids. Throws Error (argument: over 2^29 bytes; unsupported: no texts; vocab) /
    // std::bad_alloc.
    void tokenize(Vector<int32_t> &ids, std::string_view text,
                  const TokenizeOptions &options) const;

    // For an Origin: the user-defined tokens that are marks of a template, see WholeTokens.
    void find_marks(Marks &out, const Vector<std::string_view> &literals) const {
        whole_.find_marks(out, literals);
    }

    // Writes at most `capacity` bytes and returns how many there are; ids are checked before.
    // `last`: what waits in the state is written, too.
    size_t detokenize(char *out, size_t capacity, const int32_t *ids, size_t n_ids,
                      const DetokenizeOptions &options, DetokenizeState &state, bool last) const;

private:
    void tokenize_plain(Vector<int32_t> &ids, std::string_view text, Controls controls) const;
    int32_t find_mask() const;

    Vocab vocab_;
    WholeTokens whole_;
    int32_t mask_;     // takes the white space in front of it
    Encoder *encoder_; // of the host's memory; null without texts
};

} // namespace ggufx::model
