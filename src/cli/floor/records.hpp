// Records, objects with the same members each, as rows of CSV (RFC 4180) or statements of SQL.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/json.hpp"

namespace ggufx::cli {

// A text as it is, anything else as JSON writes it.
std::string field_text(const Json &value);

// first: names come before.
void print_csv(Output &out, const Json &record, bool first);
void print_sql(Output &out, const Json &record, const std::string &table, bool first);

} // namespace ggufx::cli
