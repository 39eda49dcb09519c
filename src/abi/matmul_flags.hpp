// Flags GGUFX_MATMUL_* of a product and of a session.
// SPDX-License-Identifier: MIT
#pragma once

#include "matmul/matmul.hpp"

#include <ggufx/matmul.h>

namespace ggufx::abi {

constexpr uint32_t kMatmulFlags =
    GGUFX_MATMUL_F32 | GGUFX_MATMUL_BATCH_INVARIANT | GGUFX_MATMUL_INT16 | GGUFX_MATMUL_TILED;

// flags: known ones. Throws when two exclude each other; `name` names their option in the message.
inline matmul::Options matmul_options(uint32_t flags, const char *name) {
    matmul::Options options;
    options.f32_activations = (flags & GGUFX_MATMUL_F32) != 0;
    options.batch_invariant = (flags & GGUFX_MATMUL_BATCH_INVARIANT) != 0;
    options.tiles = (flags & GGUFX_MATMUL_TILED) != 0;
    options.precise = (flags & GGUFX_MATMUL_INT16) != 0;
    if (options.f32_activations && options.precise) {
        fail(Status::argument, {}, "%s: F32 and INT16 exclude each other", name);
    }
    if (options.batch_invariant && options.tiles)
        fail(Status::argument, {}, "%s: BATCH_INVARIANT and TILED exclude each other", name);
    return options;
}

} // namespace ggufx::abi
