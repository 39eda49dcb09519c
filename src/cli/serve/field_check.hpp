// Checks of JSON objects against the tables of fields.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/api_error.hpp"
#include "serve/field_type.hpp"

#include <optional>

namespace ggufx::cli {

// The fields of one object: those of its group that its tag has.
struct ObjectForm {
    const Group *group;
    uint32_t tag; // a bit, or all without a tag
    bool is_skipped = false;
    const Row *find(std::string_view name) const; // NULL: unknown field
    bool has(const Row &row) const { return row.when == 0 || (row.when & tag) != 0; }
};

ObjectForm form_of(const Json &object, const Group &group);

// Throws ApiError for the first field at any depth that has another type, is out of range, missing
// or unknown. null counts as absent. `lenient`: ignores unknown fields.
void check_fields(const Json &body, const Group &group, bool lenient);

// Returns a whole number, also one with a fraction of zero (16.0), as JSON Schema counts it.
std::optional<uint64_t> whole_of(const Json &value);

std::optional<int32_t> token_id(std::string_view digits);

} // namespace ggufx::cli
