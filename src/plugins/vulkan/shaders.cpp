// SPDX-License-Identifier: MIT
#include "plugins/vulkan/shaders.hpp"

#include <ggufx/types.h>

// Written by shaders.py.
extern "C" const uint32_t ggufx_shaders[];

namespace ggufx::vulkan {

namespace {

using plugin::Op;

constexpr uint32_t kAnyType = UINT32_MAX, kAnyFma = UINT32_MAX;

constexpr uint32_t bit(Op op) {
    return 1u << static_cast<uint32_t>(op);
}

const Shader kShaders[] = {
#include "shaders_table.inc"
};
constexpr uint32_t kCount = sizeof kShaders / sizeof kShaders[0];

} // namespace

const Shader *shaders() {
    return kShaders;
}

uint32_t find_shader(Op op, uint32_t type, plugin::Fma fma, bool f64, bool int_dot) {
    uint32_t best = kNoShader, best_score = 0;
    for (uint32_t i = 0; i < kCount; i++) {
        const Shader &s = kShaders[i];
        if (!(s.operations & bit(op)) || (s.type != kAnyType && s.type != type)) continue;
        if (!(s.fmas >> static_cast<uint32_t>(fma) & 1)) continue;
        if (s.f64 > f64 || s.int_dot > int_dot) continue;
        const uint32_t score = 1 + 2u * s.f64 + s.int_dot;
        if (score <= best_score) continue;
        best = i;
        best_score = score;
    }
    return best;
}

} // namespace ggufx::vulkan
