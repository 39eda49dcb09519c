// References of schemas to each other (RFC 3986).
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <string_view>

namespace ggufx::grammar {

// What a reference means where `base` is the address of the text that has it; either may be empty.
Vector<char> resolve_uri(const Host *host, std::string_view base, std::string_view reference);

} // namespace ggufx::grammar
