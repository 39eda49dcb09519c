// Products of F32, F16 and BF16 rows of any length (section 5), with the layout of blocks.comp.
// SPDX-License-Identifier: MIT
#version 450
#extension GL_GOOGLE_include_directive : require
#include "language.glsl"
#include "format.inc"
#include "rows.glsl"

void main() {
    uint row = row_of_group(), lane = gl_LocalInvocationID.x;
    uint at = push.first + row * push.stride;
    if (OP == OP_DOTS_F32) {
        float sums[3] = float[3](0.0, 0.0, 0.0);
        for (uint i = lane; row < push.n_rows && i < push.k; i += 16u) {
            float w = value_of(at + i * kBytes);
            UNROLL for (uint c = 0u; c < COLUMNS; c++)
                sums[c] = fma1(w, xs[push.x + (push.column + c) * push.k + i], sums[c]);
        }
        store_dots(sums, row, lane);
    }
    uint column = gl_WorkGroupID.y * 16u + lane;
    if (OP == OP_CHAINS_F32 && row < push.n_rows && column < push.n) {
        float chain = 0.0;
        uint x = push.x + (push.column + column) * push.k;
        for (uint i = 0u; i < push.k; i += CHAIN_STEPS)
            UNROLL for (uint j = 0u; j < CHAIN_STEPS; j++)
                if (i + j < push.k)
                    chain = fma1(value_of(at + (i + j) * kBytes), xs[x + i + j], chain);
        store(column, row, chain);
    }
}
