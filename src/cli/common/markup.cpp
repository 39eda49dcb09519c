// SPDX-License-Identifier: MIT
#include "common/markup.hpp"

#include "common/text.hpp"

namespace ggufx::cli {

std::string markup(std::string_view text) {
    std::string out;
    for (const char c : escape(text)) {
        switch (c) {
        case '&':
            out += "&amp;";
            break;
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '"':
            out += "&quot;";
            break;
        default:
            out += c;
        }
    }
    return out;
}

} // namespace ggufx::cli
