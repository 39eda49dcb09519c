// Collects an importance matrix: sums of squares of the inputs of a model's matrices over the
// tokens of a text, chunk by chunk.
// SPDX-License-Identifier: MIT
#pragma once

#include "eval/chunks.hpp"
#include "job/imatrix.hpp"

namespace ggufx::model {

struct CollectTask {
    Chunks text;
    bool with_output;  // includes the output matrix
    Progress progress; // tokens done
};

// Writes entries in the order of the file's tensors, for all matrices of the layers. The session is
// empty before and after. Throws Error (value: a sum that is not finite), std::bad_alloc.
Status collect(job::Imatrix *out, Session &session, const CollectTask &task, Failure *failure);

} // namespace ggufx::model
