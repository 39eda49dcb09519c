// Chat templates: the default one, and those of a purpose ("tool_use"), between the files of a
// folder and the keys tokenizer.chat_template, .NAME and tokenizer.chat_templates (their names).
// SPDX-License-Identifier: MIT
#pragma once

#include "convert/model_folder.hpp"
#include "models/key_writer.hpp"

namespace ggufx::cli {

struct ChatTemplates {
    std::string text; // empty: no default one
    std::vector<std::pair<std::string, std::string>> named;
};

// A file of a template wins over the key of its name in tokenizer_config.json, as in transformers;
// that key wins over chat_template.json. Names have letters, digits and "_": others become "_".
ChatTemplates read_templates(ModelFolder &folder);
void set_templates(KeyWriter &keys, const ChatTemplates &templates);

ChatTemplates templates_of(const ggufx_file *file);
// The value of chat_template in tokenizer_config.json; null without templates.
Json templates_json(const ChatTemplates &templates);

} // namespace ggufx::cli
