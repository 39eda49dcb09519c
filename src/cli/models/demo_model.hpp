// The demo model embedded in this program.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"

#include <string_view>

namespace ggufx::cli {

std::string_view demo_model();                 // its bytes
File open_demo_model(const ggufx_runtime *rt); // without a copy

} // namespace ggufx::cli
