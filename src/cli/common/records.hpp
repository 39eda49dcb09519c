// Records (objects with the same members) as rows of CSV (RFC 4180) or SQL statements.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/json.hpp"

namespace ggufx::cli {

// Returns a string as it is, any other value as JSON.
std::string field_text(const Json &value);

// `first`: also prints the column names, or the statement that creates the table.
void print_csv(Output &out, const Json &record, bool first);
void print_sql(Output &out, const Json &record, const std::string &table, bool first);

} // namespace ggufx::cli
