// Activations of a batch: where each array stands in one buffer. The same arithmetic gives a
// session its memory and an estimate its bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/arch/hparams.hpp"

namespace ggufx::model {

// Offsets in floats of arrays of n_batch rows, each on a cache line.
struct ScratchLayout {
    ScratchLayout(const HyperParameters &hp, uint64_t n_batch);

    size_t bytes() const; // throws limit: more than the address space

    size_t x, h, angles, q, k, v, a;
    size_t gate, up; // in the place of q .. a: attention and feed-forward never live at once

private:
    size_t add(uint64_t values);

    uint64_t n_batch_, at_ = 0, end_ = 0;
    bool ok_ = true;
};

// Activations of up to n_batch tokens, carved out of one buffer at create.
class Scratch {
public:
    // Throws Error (limit) / std::bad_alloc.
    Scratch(const Ref<Host> &host, const HyperParameters &hp, size_t n_batch);

    float *x;             // [n][n_embd]: the residual stream
    float *h;             // [n][n_embd]: its norm, or what is added to it
    float *q, *k, *v, *a; // [n][heads][head_dim]; a: result of attention
    float *gate, *up;     // [n][n_ff]
    float *angles;        // [n][rope_dims / 2][2]: cos, sin

private:
    Buffer memory_;
};

} // namespace ggufx::model
