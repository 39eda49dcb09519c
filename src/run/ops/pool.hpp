// Operations over batches of whole inputs: attention within each input, and pooling of its rows.
// SPDX-License-Identifier: MIT
#pragma once

#include "run/ops/context.hpp"

namespace ggufx::model {

Status attend_texts(const Context &c, const op::Attend &s, Failure *failure);
Status run(const Context &c, const op::Pool &s, Failure *failure);

} // namespace ggufx::model
