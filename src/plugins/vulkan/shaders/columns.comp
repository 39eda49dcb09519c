// Packs columns of x or computes sums of groups; one invocation per 32 or 16 values.
// SPDX-License-Identifier: MIT
#version 450
#extension GL_GOOGLE_include_directive : require
#include "language.glsl"
layout(local_size_x = 64) in;

void pack(uint column, uint b) {
    uint x = push.x + column * push.k + 32u * b, u = 0u;
    for (uint i = 0u; i < 32u; i++) u = larger_magnitude(u, xs[x + i]);
    bool two = OP == OP_PACK15;
    ActScale scale = act_scale(u, two ? 16256.0 : 127.0);
    uint high_at = push.packed + column * push.plane * (two ? 2u : 1u) + b * ACT_WORDS;
    uint low_at = high_at + push.plane;
    int high_sums[2] = int[2](0, 0), low_sums[2] = int[2](0, 0);
    for (uint w = 0u; w < 8u; w++) {
        uint high_word = 0u, low_word = 0u;
        for (uint i = 0u; i < 4u; i++) {
            int q = act_code(xs[x + 4u * w + i], scale), high = two ? high_code(q) : q;
            int low = q - 128 * high;
            high_word |= (uint(high) & 255u) << 8u * i;
            low_word |= (uint(low) & 255u) << 8u * i;
            high_sums[w >> 2u] += high;
            low_sums[w >> 2u] += low;
        }
        packed_words[high_at + w] = high_word;
        if (two) packed_words[low_at + w] = low_word;
    }
    int sum = high_sums[0] + high_sums[1];
    if (two) sum = 128 * sum + low_sums[0] + low_sums[1];
    packed_words[high_at + ACT_D] = as_uint(scale.d);
    packed_words[high_at + ACT_S] = as_uint(mul1(scale.d, f32_of(sum)));
    packed_words[high_at + ACT_SUMS] = packed_sums(high_sums[0], high_sums[1]);
    if (two) packed_words[low_at + ACT_SUMS] = packed_sums(low_sums[0], low_sums[1]);
}

// Reduction tree of section 3 over lanes with one or two values.
void sum_group(uint column, uint g) {
    uint x = push.x + column * push.k + push.group * g;
    float v[16];
    for (uint i = 0u; i < 16u; i++) {
        v[i] = xs[x + i];
        if (push.group == 32u) v[i] = add1(v[i], xs[x + 16u + i]);
    }
    UNROLL for (uint i = 0u; i < 8u; i++) v[i] = add1(v[i], v[i + 8u]);
    UNROLL for (uint i = 0u; i < 4u; i++) v[i] = add1(v[i], v[i + 4u]);
    x_sums[push.sums + column * (push.k / push.group) + g] =
        add1(add1(v[0], v[2]), add1(v[1], v[3]));
}

void main() {
    uint i = gl_GlobalInvocationID.x, column = gl_WorkGroupID.y;
    if (i >= push.k / (OP == OP_SUMS ? push.group : 32u)) return;
    if (OP == OP_SUMS) {
        sum_group(column, i);
    } else {
        pack(column, i);
    }
}
