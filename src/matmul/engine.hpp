// Internal state of the engine and the check of weights.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/format.hpp"
#include "kernels/table.hpp"
#include "matmul/matmul.hpp"
#include "matmul/workspace.hpp"

namespace ggufx::matmul {

struct Engine::State {
    Ref<Host> host;
    const kernels::Kernels *kernels;
    Workspace workspace;
    State(Ref<Host> h, const kernels::Kernels *k, uint64_t workspace_bytes)
        : host(h), kernels(k), workspace(h, workspace_bytes) {}
};

// Checks type and shape of weights. Sets *type, or *failure on error.
Status check(const fmt::TypeInfo **type, const Weights &w, Failure *failure);

} // namespace ggufx::matmul
