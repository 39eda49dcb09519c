// Products of the block format of format.inc (../shaders.py): groups of ROWS rows, sixteen
// invocations per row. In dots an invocation is one of the sixteen lanes of the canonical sum, in
// chains a column.
// SPDX-License-Identifier: MIT
#version 450
#extension GL_GOOGLE_include_directive : require
#include "language.glsl"
#include "format.inc"
#include "unit.inc"
#include "rows.glsl"

Act load_act(uint at) {
    Act a;
    UNROLL for (uint i = 0u; i < 8u; i++) a.q.w[i] = packed_words[at + i];
    a.d = as_float(packed_words[at + ACT_D]);
    a.s = as_float(packed_words[at + ACT_S]);
    uint sums = packed_words[at + ACT_SUMS];
    a.s0 = signed_half(sums);
    a.s1 = signed_half(sums >> 16u);
    return a;
}

// Activations have a high and a low plane.
const bool kTwoPlanes = OP == OP_DOTS15 || OP == OP_CHAINS15;

Sums unit_sums(Unit u, Act a, uint at) {
    Sums s = sums_of(u, a);
    if (kTwoPlanes) s = join_planes(s, sums_of(u, load_act(at + push.plane)));
    return s;
}
// Word offset of block b of a column in the packed activations.
uint act_at(uint column, uint b) {
    return push.packed + column * push.plane * (kTwoPlanes ? 2u : 1u) + b * ACT_WORDS;
}

void dots(uint row, uint lane) {
    float sums[3] = float[3](0.0, 0.0, 0.0);
    uint n_units = push.k / 32u * kUnits;
    for (uint i = lane; row < push.n_rows && i < n_units; i += 16u) {
        uint b = i / kUnits;
        Unit u = load_unit(push.first + row * push.stride, b, push.book);
        UNROLL for (uint c = 0u; c < COLUMNS; c++) {
            uint at = act_at(push.column + c, b);
            Act a = load_act(at);
            sums[c] = add_to_lane(sums[c], u, unit_sums(u, a, at), a.d, a.s, i % kUnits);
        }
    }
    store_dots(sums, row, lane);
}

// Every invocation reads all blocks and uses its two values of each.
void dots_f32(uint row, uint lane) {
    float sums[3] = float[3](0.0, 0.0, 0.0);
    for (uint b = 0u; row < push.n_rows && b < push.k / 32u; b++) {
        Unit u = load_unit(push.first + row * push.stride, b, push.book);
        UNROLL for (uint c = 0u; c < COLUMNS; c++) {
            uint column = push.column + c, x = push.x + column * push.k + 32u * b;
            sums[c] = add_f32_to_lane(sums[c], u, lane, xs[x + lane], xs[x + 16u + lane]);
            if (kMins == MINS_NONE || b % 16u != lane) continue;
            uint at = push.sums + column * (push.k / kGroup) + b * (32u / kGroup);
            if (kGroup == 32u)
                sums[c] = add_mins(sums[c], u, x_sums[at], 0.0, 0.0);
            else
                sums[c] = add_mins(sums[c], u, 0.0, x_sums[at], x_sums[at + 1u]);
        }
    }
    store_dots(sums, row, lane);
}

void chains(uint row, uint column) {
    float chain = 0.0;
    if (row >= push.n_rows || column >= push.n) return;
    for (uint b = 0u; b < push.k / 32u; b++) {
        Unit u = load_unit(push.first + row * push.stride, b, push.book);
        uint at = act_at(push.column + column, b);
        Act a = load_act(at);
        chain = add_to_chain(chain, u, unit_sums(u, a, at), a.d, a.s);
    }
    store(column, row, chain);
}

void chains_f32(uint row, uint column) {
    float chain = 0.0;
    if (row >= push.n_rows || column >= push.n) return;
    uint x = push.x + (push.column + column) * push.k;
    for (uint b = 0u; b < push.k / 32u; b++, x += 32u) {
        Unit u = load_unit(push.first + row * push.stride, b, push.book);
        for (uint i = 0u; i < 32u; i += CHAIN_STEPS)
            UNROLL for (uint j = 0u; j < CHAIN_STEPS; j++)
                chain = fma1(value_of(u, i + j), xs[x + i + j], chain);
    }
    store(column, row, chain);
}

void main() {
    uint row = row_of_group(), lane = gl_LocalInvocationID.x;
    uint column = gl_WorkGroupID.y * 16u + lane;
    if (OP == OP_DOTS8 || OP == OP_DOTS15) dots(row, lane);
    if (OP == OP_DOTS_F32) dots_f32(row, lane);
    if (OP == OP_CHAINS8 || OP == OP_CHAINS15) chains(row, column);
    if (OP == OP_CHAINS_F32) chains_f32(row, column);
}
