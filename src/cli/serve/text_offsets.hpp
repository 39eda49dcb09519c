// Offsets of tokens in a visible text, in characters, for `logprobs` of completions.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/model_host.hpp"

namespace ggufx::cli {

class TextOffsets {
public:
    explicit TextOffsets(const ModelHost &host) : host_(host) {}

    // Appends a token with these bytes; flags: those of its visible text, GGUFX_DETOKENIZE_*.
    // Returns its offset: that of the character that it begins or continues.
    uint64_t add(int32_t id, std::string_view bytes, uint32_t flags);
    void end_part(); // the next token begins a character

private:
    const ModelHost &host_;
    ggufx_detokenizer_state state_ = {};
    uint64_t n_characters_ = 0; // whole characters so far
    unsigned n_missing_ = 0;    // bytes that the character of the last token lacks
};

} // namespace ggufx::cli
