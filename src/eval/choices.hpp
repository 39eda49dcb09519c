// Scores the continuations of a multiple-choice question: log-probabilities.
// SPDX-License-Identifier: MIT
#pragma once

#include "run/session.hpp"

namespace ggufx::model {

struct ChoicesTask {
    const int32_t *context;
    size_t n_context;
    const TokenList *continuations;
    size_t n_continuations;
    Progress progress; // tokens done
};

// Writes out[n_continuations] completely, or nothing on a failure. The session is empty before and
// after. Throws std::bad_alloc.
Status score_continuations(double *out, Session &session, const ChoicesTask &task,
                           Failure *failure);

} // namespace ggufx::model
