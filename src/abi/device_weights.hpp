// Matrices of a model that lie on a device.
// SPDX-License-Identifier: MIT
#pragma once

#include "device/rows.hpp"
#include "model/placement.hpp"

namespace ggufx::abi {

class DeviceWeights final : public model::Placer {
public:
    // device null: there are none. Progress is asked whether to go on; what it is told stays 0 of 1.
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
