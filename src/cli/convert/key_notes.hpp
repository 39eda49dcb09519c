// Settings of JSON files that nothing carries over: whether they would change what a model says.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/json.hpp"

#include <span>

namespace ggufx::cli {

// A setting without an effect at this value, written as in JSON: "1", "true", "\"softmax\"".
struct NeutralSetting {
    std::string_view name, value;
};

// The value is the neutral one of its name, where `known` has some; else it is null, false or
// empty.
bool is_neutral(std::string_view name, const Json &value, std::span<const NeutralSetting> known);

// "FILE: NAME is VALUE: it is not used ..."
std::string unused_note(const std::string &file, const std::string &name, const Json &value);

} // namespace ggufx::cli
