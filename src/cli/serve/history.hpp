// Results of calls in a history: each gets the id and the name of its call, and the order of the
// calls, by which templates without ids tell results apart.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/fields.hpp"

namespace ggufx::cli {

// The field `arguments` of a call, as the library takes them: a JSON object, or the text of one.
// "", white space and null are {}. Throws ApiError for anything else.
Json call_arguments(Fields &call);

// Messages as templates take them. Calls without an id get one; a result without the id of a call
// belongs to the next call that has none; a result of an unknown call comes last.
Json link_results(std::vector<Json> messages);

} // namespace ggufx::cli
