// Embedded web page for "/" and OpenAPI description (embed.py).
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace ggufx::cli {

std::string_view page_html();
std::string_view page_script_hash(); // "sha256-..." of the content of its one <script>
std::string_view page_style_hash();
std::string_view openapi_json();

} // namespace ggufx::cli
