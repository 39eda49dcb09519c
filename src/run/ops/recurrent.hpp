// Recurrent operations: a token's result depends on the state after the previous tokens. They are
// defined token by token, so splitting a prompt into batches changes no bit.
// SPDX-License-Identifier: MIT
#pragma once

#include "run/ops/context.hpp"

namespace ggufx::model {

Status run(const Context &c, const op::Conv &s, Failure *failure);
Status run(const Context &c, const op::Delta &s, Failure *failure);
Status run(const Context &c, const op::Scan &s, Failure *failure);
Status run(const Context &c, const op::ScanEach &s, Failure *failure);

} // namespace ggufx::model
