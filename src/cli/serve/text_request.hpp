// A request for text, shared by its sequences: best_of per prompt.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/model_host.hpp"
#include "serve/reply.hpp"

namespace ggufx::cli {

struct TextRequest {
    Wanted wanted;
    std::shared_ptr<Reply> reply;
    std::shared_ptr<const SamplingOptions> sampling;
    double taken;                // time at which the request was accepted
    double deadline;             // time at which the request expires; 0: never
    SharedPrompt chat = {};      // NULL: the prompt is that of the job
    bool scores = false;         // log-probabilities of the prompt are returned, too
    bool echoes_special = false; // the echoed text spells its special tokens
};

} // namespace ggufx::cli
