// Resolution of references between schemas (RFC 3986).
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <string_view>

namespace ggufx::grammar {

// Resolves a reference against the URI of the document that contains it; either may be empty.
Vector<char> resolve_uri(const Host *host, std::string_view base, std::string_view reference);

} // namespace ggufx::grammar
