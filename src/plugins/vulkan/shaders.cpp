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

// Capabilities stand first, behind five words of header; modes of execution follow the entry point,
// whose number is the second word behind its first.
std::vector<uint32_t> words_with(const Shader &shader, const FloatModes &modes) {
    constexpr uint32_t kHeader = 5, kEntryPoint = 15, kExecutionMode = 16, kCapability = 17;
    struct Mode {
        bool wanted;
        uint32_t capability, mode;
    };
    const Mode all[] = {{modes.keep_subnormals, 4464, 4459},
                        {modes.keep_special, 4466, 4461},
                        {modes.nearest_even, 4467, 4462}};
    const uint32_t *at = shader.words, *end = at + shader.n_bytes / sizeof *at;
    std::vector<uint32_t> out(at, at + kHeader);
    for (const Mode &m : all)
        if (m.wanted) out.insert(out.end(), {2u << 16 | kCapability, m.capability});
    for (at += kHeader; at < end; at += *at >> 16) {
        out.insert(out.end(), at, at + (*at >> 16));
        if ((*at & 0xffffu) != kEntryPoint) continue;
        for (const Mode &m : all)
            if (m.wanted) out.insert(out.end(), {4u << 16 | kExecutionMode, at[2], m.mode, 32});
    }
    return out;
}

} // namespace ggufx::vulkan
