// Text inside HTML and SVG.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace ggufx::cli {

// As escape() of text.hpp, and with entities where markup has signs of its own; good for elements
// and for attributes in double quotes.
std::string markup(std::string_view text);

} // namespace ggufx::cli
