// What an importance matrix says of a model: sums of squares of what its matrices are multiplied by
// over the tokens of a text, chunk by chunk.
// SPDX-License-Identifier: MIT
#pragma once

#include "job/imatrix.hpp"
#include "model/chunks.hpp"

namespace ggufx::model {

struct CollectTask {
    Chunks text;
    bool with_output;  // the matrix of the logits too
    Progress progress; // tokens done
};

// Entries in the order of the file's tensors, for all matrices of the layers. The session is empty
// before and after. Throws Error (value: a sum that is not finite), std::bad_alloc.
Status collect(job::Imatrix *out, Session &session, const CollectTask &task, Failure *failure);

} // namespace ggufx::model
