// Readers that chats, completions and responses share.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/fields.hpp"
#include "serve/request.hpp"

namespace ggufx::cli {

void read_sampling(Fields &fields, Wanted &out, const SamplingDefaults &defaults);
void read_cache_use(Fields &fields, Wanted &out);
// Chat requests nest functions and schemas in an object; /v1/responses is flat.
enum class Nesting { nested, flat };
// Reads tools, tool_choice and parallel_tool_calls.
void read_tools(Fields &fields, ChatWanted &out, Nesting nesting);
// Reads the form of the answer from the object that describes it; call read_tools first.
void read_form(Fields format, ChatWanted &out, Nesting nesting);
// Returns a string as it is, or a list of text parts in the form of the template.
Json read_content(const Fields &fields, Fields::Name name, const Json &content);
void read_effort(Fields &fields, Fields::TextName name, ChatWanted &out);
// Reads the maximum number of reasoning tokens.
void read_budget(Fields &fields, Fields::WholeName name, ChatWanted &out);
// Reads all other reasoning fields and the template variables; call read_effort first.
void read_thinking(Fields &fields, ChatWanted &out);
// Reads json_whitespace: white space in grammar-constrained JSON.
void read_white_space(Fields &fields, Wanted &out);
// Reads the published verbosity, a template variable. Returns its value or the default.
std::string read_verbosity(Fields &fields, ChatWanted &out);
// Reads all fields except max_tokens and logprobs, whose forms differ.
void read_common(Fields &fields, Wanted &out, const SamplingDefaults &defaults);

} // namespace ggufx::cli
