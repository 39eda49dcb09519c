// SPDX-License-Identifier: MIT
#include "abi/device_weights.hpp"

namespace ggufx::abi {

namespace {

// Reports 0 of 1: the model's progress counts layers, not bytes of one matrix.
int32_t still_binding(void *user, uint64_t, uint64_t) {
    return static_cast<const Progress *>(user)->cancelled(0, 1);
}

} // namespace

matmul::RemoteRows DeviceWeights::place(const gguf::Tensor &t) {
    const Progress progress = {&progress_, progress_.report ? still_binding : nullptr};
    const matmul::Weights w = {t.type, t.data, t.row_stride, t.n_rows, t.ne[0]};
    rows_.reserve(rows_.size() + 1);
    rows_.push_back(device::Rows::upload(device_, w, progress));
    n_bytes_ += t.n_bytes;
    return rows_.back()->remote();
}

} // namespace ggufx::abi
