// SPDX-License-Identifier: MIT
#include "model/arch/scratch.hpp"

#include "base/checked.hpp"

namespace ggufx::model {

ScratchLayout::ScratchLayout(const HyperParameters &hp, uint64_t n_batch) : n_batch_(n_batch) {
    x = add(hp.n_embd);
    h = add(hp.n_embd);
    angles = add(hp.rope_dims);
    const uint64_t shared = at_;
    q = add(uint64_t{hp.n_heads} * hp.head_dim_k);
    k = add(uint64_t{hp.n_kv_heads} * hp.head_dim_k);
    v = add(uint64_t{hp.n_kv_heads} * hp.head_dim_v);
    a = add(uint64_t{hp.n_heads} * hp.head_dim_v);
    at_ = shared;
    gate = add(hp.n_ff);
    up = add(hp.n_ff);
}

size_t ScratchLayout::add(uint64_t values) {
    const size_t start = static_cast<size_t>(at_);
    uint64_t n = 0;
    ok_ = ok_ && checked::mul(&n, n_batch_, values) && checked::round_up(&n, n, 16) &&
          checked::add(&at_, at_, n);
    if (at_ > end_) end_ = at_;
    return start;
}

size_t ScratchLayout::bytes() const {
    uint64_t n = 0;
    size_t out = 0;
    if (!ok_ || !checked::mul(&n, end_, sizeof(float)) || !checked::to_size(&out, n)) {
        fail(Status::limit, {}, "the activations of one batch exceed the address space");
    }
    return out;
}

Scratch::Scratch(const Ref<Host> &host, const HyperParameters &hp, size_t n_batch) {
    const ScratchLayout layout(hp, n_batch);
    memory_ = Buffer(host, layout.bytes());
    float *base = reinterpret_cast<float *>(memory_.data());
    x = base + layout.x;
    h = base + layout.h;
    angles = base + layout.angles;
    q = base + layout.q;
    k = base + layout.k;
    v = base + layout.v;
    a = base + layout.a;
    gate = base + layout.gate;
    up = base + layout.up;
}

} // namespace ggufx::model
