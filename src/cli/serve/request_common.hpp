// Of request.cpp and request_chat.cpp: fields that both kinds of texts have.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/fields.hpp"
#include "serve/request.hpp"

namespace ggufx::cli {

constexpr size_t kMostStops = 16, kMostBiases = 4096, kMostTop = 20, kMostTexts = 8;
constexpr size_t kMostStopBytes = 4096; // of each
constexpr size_t kMostNameBytes = 128;  // of conversations and snapshots

inline std::string index_of(const std::string &list, size_t i) {
    return list + "[" + std::to_string(i) + "]";
}

void read_sampling(Fields &fields, Wanted &out, const SamplingDefaults &defaults);
void read_cache_use(Fields &fields, Wanted &out);
// Functions lie within "function" in chats.
enum class ToolForm { nested, flat };
// tools, tool_choice and parallel_tool_calls.
void read_tools(Fields &fields, ChatWanted &out, ToolForm form);
// How hard the model shall think, by one of the published words.
void read_effort(Fields &fields, const char *name, ChatWanted &out);
// Tokens of reasoning at most; -1: as many as it likes.
void read_budget(Fields &fields, const char *name, ChatWanted &out);
// All other fields of reasoning, and variables of the template; the effort was read.
void read_thinking(Fields &fields, ChatWanted &out);
// json_whitespace: of JSON that a grammar keeps to.
void read_white_space(Fields &fields, Wanted &out);
// The published verbosity, a variable of the template. Gives it, or the default.
std::string read_verbosity(Fields &fields, ChatWanted &out);
// All but max_tokens and logprobs, whose forms differ.
void read_common(Fields &fields, Wanted &out, const SamplingDefaults &defaults);

} // namespace ggufx::cli
