// Matrices of a model that are uploaded to a device.
// SPDX-License-Identifier: MIT
#pragma once

#include "device/rows.hpp"
#include "run/placement.hpp"

namespace ggufx::abi {

class DeviceWeights final : public model::Placer {
public:
    // device null: no matrices are uploaded. Progress can cancel, but always gets 0 of 1.
    DeviceWeights(const Ref<Host> &host, Ref<device::Device> device, const Progress &progress)
        : device_(std::move(device)), progress_(progress),
          rows_(HostAllocator<Ref<device::Rows>>(host.get())) {}

    matmul::RemoteRows place(const gguf::Tensor &tensor) override;
    uint64_t n_bytes() const { return n_bytes_; }

private:
    Ref<device::Device> device_;
    Progress progress_;
    Vector<Ref<device::Rows>> rows_;
    uint64_t n_bytes_ = 0;
};

} // namespace ggufx::abi
