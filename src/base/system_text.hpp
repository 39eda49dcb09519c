// Error numbers of a system and their messages; the messages are the same on all systems.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx::io {
namespace {

struct SystemText {
    int32_t error;
    const char *text;
};

template <size_t N> const char *text_of(int32_t error, const SystemText (&table)[N]) {
    for (const SystemText &known : table)
        if (known.error == error) return known.text;
    return "system error";
}

} // namespace
} // namespace ggufx::io
