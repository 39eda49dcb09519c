// Special tokens in the output of a model with a chat template: markers that its parser reads,
// tokens that end the answer, and tokens that are not part of it.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"

#include <deque>
#include <string>
#include <unordered_map>

namespace ggufx::cli {

class OutputTokens {
public:
    enum class Use {
        text,   // a part of the output, like other tokens
        hidden, // not part of the answer
        end     // opens a turn of another role, and so ends the answer
    };
    OutputTokens() = default; // without a template: all are text
    OutputTokens(const ggufx_runtime *rt, const ggufx_chat *chat, const ggufx_tokenizer *tokenizer);

    // `has_calls`: tool calls are parsed, so their markers are read.
    Use use(int32_t id, bool has_calls) const;
    bool is_marker(int32_t id, bool has_calls) const;

private:
    enum class Kind { other, marker, call_marker, turn };
    std::unordered_map<int32_t, Kind> kinds_; // tokens that are not text
};

// Marker tokens that the parser returns as text, as in a truncated tool call. They are not part of
// the answer either.
class StrayMarkers {
public:
    void expect(const std::string &marker) { markers_.push_back(marker); } // before it is fed
    void settle() { n_settled_ = markers_.size(); }                        // after it was fed
    void clear() { markers_.clear(), n_settled_ = 0; }                     // a tool call took them
    // Returns an event's text without the markers. The parser has consumed absent ones.
    std::string without(std::string_view text);

private:
    std::deque<std::string> markers_;
    size_t n_settled_ = 0;
};

} // namespace ggufx::cli
