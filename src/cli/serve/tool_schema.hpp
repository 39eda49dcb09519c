// Normalization of tool schemas: earlier JSON Schema drafts, other spellings, and keywords that
// grammars do not support.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/json.hpp"

namespace ggufx::cli {

// Returns the schema in draft 2020-12. Unsupported keywords are removed, so that it accepts more.
// The first of them are listed in `widened`, each with the JSON pointer of its schema.
Json modern_schema(const Json &schema, std::vector<std::string> &widened);

} // namespace ggufx::cli
