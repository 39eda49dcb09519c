// Tool results in a conversation: each result gets the id and name of its call. Results are sorted
// by the order of the calls, since templates without ids rely on it.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/fields.hpp"

namespace ggufx::cli {

// Returns the `arguments` field of a call for the library: a JSON object, given as an object or as
// its text. "", white space and null become {}. Throws ApiError for anything else.
Json call_arguments(Fields &call);

// Returns the messages for the template. Calls without an id get one. A result without a call id
// belongs to the next call that has no result. A result of an unknown call comes last.
Json link_results(std::vector<Json> messages);

} // namespace ggufx::cli
