// The commands in the table of verbs.cpp; each folder defines its own.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/tool.hpp"

#include <string_view>

namespace ggufx::cli {

// Declares the common options and the command that the first word names. Declares all commands if
// it names none, and for the manual.
void add_verbs(Tool &tool, std::string_view first);
// Names of commands in llama.cpp and ollama, with the command to use here.
std::vector<OtherWord> other_words();

void add_demo(Tool &tool);
void add_info(Tool &tool);
void add_validate(Tool &tool);
void add_types(Tool &tool);
void add_completion(Tool &tool);
void add_convert(Tool &tool);
void add_cpu(Tool &tool);
void add_dequant(Tool &tool);
void add_devices(Tool &tool);
void add_diff(Tool &tool);
void add_embed(Tool &tool);
void add_extract(Tool &tool);
void add_fit(Tool &tool);
void add_help(Tool &tool);
void add_manual(Tool &tool);
void add_merge(Tool &tool);
void add_split(Tool &tool);
void add_set(Tool &tool);
void add_unset(Tool &tool);
void add_rename(Tool &tool);
void add_report(Tool &tool);
void add_run(Tool &tool);
void add_chat(Tool &tool);
void add_serve(Tool &tool); // only if built with libmicrohttpd
void add_tokenize(Tool &tool);
void add_perplexity(Tool &tool);
void add_kv_eval(Tool &tool);
void add_quantize(Tool &tool);
void add_imatrix(Tool &tool);
void add_bench(Tool &tool);
void add_selftest(Tool &tool);
void add_version(Tool &tool);

} // namespace ggufx::cli
