// Operations along the tokens of a sequence: each token's result depends on what the ones before left.
// They are defined token after token, so no cut of a prompt changes a bit.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/ops/context.hpp"

namespace ggufx::model {

Status run(const Context &c, const op::Conv &s, Failure *failure);
Status run(const Context &c, const op::Delta &s, Failure *failure);
Status run(const Context &c, const op::Scan &s, Failure *failure);
Status run(const Context &c, const op::ScanEach &s, Failure *failure);

} // namespace ggufx::model
