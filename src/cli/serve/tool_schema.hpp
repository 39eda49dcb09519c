// Schemas of tools as clients write them: earlier drafts, other spellings, keywords that no grammar knows.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/json.hpp"

namespace ggufx::cli {

// The schema in draft 2020-12. Keywords that grammars do not know are left out, so that it accepts
// more; each of them is named in `widened`, with the JSON pointer of its schema.
Json modern_schema(const Json &schema, std::vector<std::string> &widened);

} // namespace ggufx::cli
