// Properties of the nodes of a grammar before it is compiled: which can be completed, which may be
// empty, whether a rule begins with itself.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/syntax.hpp"

namespace ggufx::grammar {

struct Properties {
    explicit Properties(const Host *host)
        : fits(HostAllocator<uint8_t>(host)), empty(HostAllocator<uint8_t>(host)) {}
    Vector<uint8_t> fits;  // [nodes]: some string matches
    Vector<uint8_t> empty; // [nodes]: the empty string matches
};

// Linear in the syntax. Throws std::bad_alloc.
void find_properties(Properties &out, const Syntax &syntax);

// Throws Error (unsupported) with the rule's name if one can begin with itself before a byte is
// taken; std::bad_alloc.
void refuse_left_recursion(const Syntax &syntax, const Properties &properties,
                           std::string_view source);

} // namespace ggufx::grammar
