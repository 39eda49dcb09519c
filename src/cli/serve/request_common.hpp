// Shared readers of request.cpp and request_chat.cpp: fields of completions and chats.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/fields.hpp"
#include "serve/request.hpp"

namespace ggufx::cli {

constexpr size_t kMostStops = 16, kMostBiases = 4096, kMostTop = 20, kMostTexts = 8;
constexpr size_t kMostStopBytes = 4096; // bytes per stop string
constexpr size_t kMostNameBytes = 128;  // bytes in names of conversations and snapshots

inline std::string index_of(const std::string &list, size_t i) {
    return list + "[" + std::to_string(i) + "]";
}

void read_sampling(Fields &fields, Wanted &out, const SamplingDefaults &defaults);
void read_cache_use(Fields &fields, Wanted &out);
// Chat requests nest functions in "function"; /v1/responses is flat.
enum class ToolForm { nested, flat };
// Reads tools, tool_choice and parallel_tool_calls.
void read_tools(Fields &fields, ChatWanted &out, ToolForm form);
// Reads the reasoning effort, one of the published words.
void read_effort(Fields &fields, const char *name, ChatWanted &out);
// Reads the maximum number of reasoning tokens; -1: no limit.
void read_budget(Fields &fields, const char *name, ChatWanted &out);
// Reads all other reasoning fields and the template variables; call read_effort first.
void read_thinking(Fields &fields, ChatWanted &out);
// Reads json_whitespace: white space in grammar-constrained JSON.
void read_white_space(Fields &fields, Wanted &out);
// Reads the published verbosity, a template variable. Returns its value or the default.
std::string read_verbosity(Fields &fields, ChatWanted &out);
// Reads all fields except max_tokens and logprobs, whose forms differ.
void read_common(Fields &fields, Wanted &out, const SamplingDefaults &defaults);

} // namespace ggufx::cli
