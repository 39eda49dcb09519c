// Special tokens in the output of a model that answers by a chat template: which of them its parser
// reads, which end the answer, and which are no part of it.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/api.hpp"

#include <deque>
#include <string>
#include <unordered_map>

namespace ggufx::cli {

class OutputTokens {
public:
    enum class Use {
        text,   // a part of the output, as other tokens
        hidden, // no part of the answer
        end     // it opens a turn of somebody else, and so ends the answer
    };
    OutputTokens() = default; // without a template: all are text
    OutputTokens(const ggufx_runtime *rt, const ggufx_chat *chat, const ggufx_tokenizer *tokenizer);

    // `has_calls`: tool calls are parsed, so their markers are read.
    Use use(int32_t id, bool has_calls) const;
    bool is_marker(int32_t id, bool has_calls) const;

private:
    enum class Kind { other, marker, call_marker, turn };
    std::unordered_map<int32_t, Kind> kinds_; // of tokens that are no text
};

// Marker tokens that the parser takes for text after all, as where a call is cut: they are no part of
// the answer either.
class StrayMarkers {
public:
    void expect(const std::string &marker) { markers_.push_back(marker); } // it is fed next
    void settle() { n_settled_ = markers_.size(); }                        // after that feed
    void clear() { markers_.clear(), n_settled_ = 0; }                     // a call came of them
    // Text of an event without the markers. One that is not in it became a marker.
    std::string without(std::string_view text);

private:
    std::deque<std::string> markers_;
    size_t n_settled_ = 0;
};

} // namespace ggufx::cli
