// Handle of include/ggufx/device.h.
// SPDX-License-Identifier: MIT
#pragma once

#include "abi/handles.hpp"

struct ggufx_device {
    ggufx::abi::Tag tag = ggufx::abi::Tag::device;
    ggufx::Ref<ggufx::device::Device> device;
    explicit ggufx_device(ggufx::Ref<ggufx::device::Device> d) : device(std::move(d)) {}
};
