// Assignment of a job's rows to workgroups, and stores of results.
// SPDX-License-Identifier: MIT

#define ROWS 8u // rows per workgroup
// Unrolled steps of a chain: lavapipe ends all loops of an invocation after 65,535 iterations in
// total (kMostOfProcessor in queue.cpp).
#define CHAIN_STEPS 4u
layout(local_size_x = 16, local_size_y = 8) in;

shared float lane_sums[ROWS][3][16];

uint row_of_group() {
    return gl_WorkGroupID.x * ROWS + gl_LocalInvocationID.y;
}

void store(uint column, uint row, float sum) {
    ys[push.y + column * push.ldy + row] = stored(sum);
}

// Reduces the lanes of a row; invocation c computes column c.
void store_dots(float sums[3], uint row, uint lane) {
    uint r = gl_LocalInvocationID.y;
    UNROLL for (uint c = 0u; c < COLUMNS; c++) lane_sums[r][c][lane] = sums[c];
    barrier();
    if (lane >= COLUMNS || row >= push.n_rows) return;
    float v[16];
    UNROLL for (uint i = 0u; i < 16u; i++) v[i] = lane_sums[r][lane][i];
    UNROLL for (uint i = 0u; i < 8u; i++) v[i] = add1(v[i], v[i + 8u]);
    UNROLL for (uint i = 0u; i < 4u; i++) v[i] = add1(v[i], v[i + 4u]);
    store(lane, row, add1(add1(v[0], v[2]), add1(v[1], v[3])));
}
