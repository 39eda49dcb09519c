// Chat template of chat and serve.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"

namespace ggufx::cli {

using ChatTemplate = std::unique_ptr<ggufx_chat_template, Destroyer<ggufx_chat_template_destroy>>;

// `name`: a built-in format or a file; empty: that of the model. Returns NULL if the model has none.
ChatTemplate open_chat_template(const ggufx_runtime *rt, const ggufx_file *file,
                                const std::string &name);
// Throws Failure if `name` is neither a format nor a file, or if the model has no template.
ChatTemplate require_chat_template(const ggufx_runtime *rt, const ggufx_file *file,
                                   const std::string &name);
ggufx_chat_template_facts chat_facts(const ggufx_chat_template *chat);
// Returns a request with the local time; the other members are 0.
ggufx_chat_request chat_request();

} // namespace ggufx::cli
