// Adds up words without other work, to measure memory bandwidth. READ_SUMS invocations share the
// bytes and read 16 at a time.
// SPDX-License-Identifier: MIT
#version 450
#extension GL_GOOGLE_include_directive : require
#include "language.glsl"
layout(local_size_x = 64) in;

#define READ_SUMS 16384u // plugin::kReadSums

// Aliases of `weights` and `ys`.
layout(std430, binding = 0) readonly buffer Weights4 { uvec4 weights4[]; };
layout(std430, binding = 4) buffer ReadWords { uint words[]; };

void main() {
    uint sum = 0u, first = push.first / 16u, n = push.k / 16u;
    for (uint i = gl_GlobalInvocationID.x; OP == OP_READ && i < n; i += READ_SUMS) {
        uvec4 v = weights4[first + i];
        sum += v.x + v.y + v.z + v.w;
    }
    if (OP == OP_READ) words[push.y + gl_GlobalInvocationID.x] = sum;
}
