// The page under "/" and the description of the interface, as they are compiled in (embed.py).
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace ggufx::cli {

std::string_view page_html();
std::string_view page_script_hash(); // "sha256-...", of what stands in its one <script>
std::string_view page_style_hash();
std::string_view openapi_json();

} // namespace ggufx::cli
