// Handle of an importance matrix: include/ggufx/imatrix.h.
// SPDX-License-Identifier: MIT
#pragma once

#include "abi/guard.hpp"
#include "job/imatrix.hpp"

#include <ggufx/imatrix.h>

struct ggufx_imatrix {
    explicit ggufx_imatrix(ggufx::Ref<ggufx::job::Imatrix> i) : imatrix(std::move(i)) {}
    ggufx::abi::Tag tag = ggufx::abi::Tag::imatrix;
    ggufx::Ref<ggufx::job::Imatrix> imatrix; // immutable; changes replace it
};

namespace ggufx::abi {

inline const job::Imatrix &imatrix_of(const ggufx_imatrix *handle) {
    require(alive(handle, Tag::imatrix), "imatrix must be set");
    return *handle->imatrix;
}

} // namespace ggufx::abi
