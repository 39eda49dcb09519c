// Self-test, one invocation per case.
// SPDX-License-Identifier: MIT
#version 450
#extension GL_GOOGLE_include_directive : require
#include "language.glsl"
#ifndef PROBE_F32
#define PROBE_WITHOUT_F32
#endif
#include "probe.inc"
layout(local_size_x = 64) in;

void main() {
    uint i = gl_GlobalInvocationID.x, n = push.n_rows;
    if (OP == OP_PROBE && i < n) {
        uint a = as_uint(xs[i]), b = as_uint(xs[n + i]), c = as_uint(xs[2u * n + i]);
        for (uint which = 0u; which < PROBE_RESULTS; which++)
            ys[which * n + i] = as_float(probe_result(which, a, b, c));
    }
}
