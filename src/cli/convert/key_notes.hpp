// Settings of JSON files that a GGUF has no key for, and whether they would change the output.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/json.hpp"

#include <span>

namespace ggufx::cli {

// A value without effect, written as in JSON: "1", "true", "\"softmax\"".
struct NeutralSetting {
    std::string_view name, value;
};

// Returns whether the value is the neutral one for its name in `known`; without one there, whether
// it is null, false or empty.
bool is_neutral(std::string_view name, const Json &value, std::span<const NeutralSetting> known);

// Returns "FILE: NAME is VALUE: it is not used ...".
std::string unused_note(const std::string &file, const std::string &name, const Json &value);

} // namespace ggufx::cli
