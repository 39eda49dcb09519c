// Chat templates, the default and named ones ("tool_use"), between files of a model folder and GGUF
// keys: tokenizer.chat_template, .NAME, and tokenizer.chat_templates with their names.
// SPDX-License-Identifier: MIT
#pragma once

#include "convert/model_folder.hpp"
#include "models/key_writer.hpp"

namespace ggufx::cli {

struct ChatTemplates {
    std::string text; // empty: no default template
    std::vector<std::pair<std::string, std::string>> named;
};

// Precedence, as in transformers: a template file, its name's key in tokenizer_config.json,
// chat_template.json. Characters in names other than letters, digits and "_" become "_".
ChatTemplates read_templates(ModelFolder &folder);
void set_templates(KeyWriter &keys, const ChatTemplates &templates);

ChatTemplates templates_of(const ggufx_file *file);
// Returns the value of chat_template in tokenizer_config.json; null without templates.
Json templates_json(const ChatTemplates &templates);

} // namespace ggufx::cli
