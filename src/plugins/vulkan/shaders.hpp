// Compiled programs (shaders.py): modules of SPIR-V, each with all operations of a type.
// SPDX-License-Identifier: MIT
#pragma once

#include "device/plugin.hpp"

#include <stddef.h>
#include <vector>

namespace ggufx::vulkan {

struct Shader {
    uint32_t type;       // of products
    uint32_t operations; // bit o: the module has plugin::Op o
    uint32_t fmas;       // bit v: it calculates plugin::Fma v
    bool f64, int_dot;   // it needs a device that has it
    const uint32_t *words;
    size_t n_bytes;
};
const Shader *shaders();

constexpr uint32_t kNoShader = UINT32_MAX;
// The number of the module for an operation, of a type in the case of products: the one that uses most
// of what the device has.
uint32_t find_shader(plugin::Op op, uint32_t type, plugin::Fma fma, bool f64, bool int_dot);

// What a driver is told of binary32 where it may choose: without it some flush subnormal numbers.
struct FloatModes {
    bool keep_subnormals, keep_special, nearest_even;
};
// The module's words with these execution modes (SPIR-V 1.5, 3.6) for its one entry.
std::vector<uint32_t> words_with(const Shader &shader, const FloatModes &modes);

} // namespace ggufx::vulkan
