// Which of several continuations of a context a model expects: logarithms of their probabilities.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/session.hpp"

namespace ggufx::model {

struct ChoicesTask {
    const int32_t *context;
    size_t n_context;
    const int32_t *continuations; // one after another
    const size_t *n_tokens;       // of each
    size_t n_continuations;
    Progress progress; // tokens done
};

// out[n_continuations] is written whole or not at all. The session is empty before and after. Throws
// std::bad_alloc.
Status score_continuations(double *out, Session &session, const ChoicesTask &task,
                           Failure *failure);

} // namespace ggufx::model
