// Compiled shaders (shaders.py): SPIR-V modules, each with all operations of a type.
// SPDX-License-Identifier: MIT
#pragma once

#include "device/plugin.hpp"

#include <stddef.h>
#include <vector>

namespace ggufx::vulkan {

struct Shader {
    uint32_t type;       // tensor type, for products
    uint32_t operations; // bit o: the module has plugin::Op o
    uint32_t fmas;       // bit v: the module computes plugin::Fma v
    bool f64, int_dot;   // required features of the device
    const uint32_t *words;
    size_t n_bytes;
};
const Shader *shaders();

constexpr uint32_t kNoShader = UINT32_MAX;
// Returns the number of the module for an operation, and for products a type. Prefers the module
// that uses most features of the device. kNoShader: there is none.
uint32_t find_shader(plugin::Op op, uint32_t type, plugin::Fma fma, bool f64, bool int_dot);

// Execution modes of binary32 to request explicitly: without them some drivers flush subnormals.
struct FloatModes {
    bool keep_subnormals, keep_special, nearest_even;
};
// Copy of the module with these execution modes (SPIR-V 1.5, 3.6) added to its one entry point.
std::vector<uint32_t> words_with(const Shader &shader, const FloatModes &modes);

} // namespace ggufx::vulkan
