// Text for HTML and SVG.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace ggufx::cli {

// Like escape() of text.hpp, with entities for the special characters of markup. For elements and
// for attributes in double quotes.
std::string markup(std::string_view text);

} // namespace ggufx::cli
