// Speculative decoding: options, draft model, acceptance rate.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/sampling.hpp"

namespace ggufx::cli {

struct DraftOptions {
    std::string draft;   // file of a draft model
    bool lookup = false; // prompt lookup
    bool any() const { return lookup || !draft.empty(); }
};
void add_draft_options(Command &sub, DraftOptions &options);

// Source of draft tokens. It must outlive its generator.
class Drafts {
public:
    Drafts() = default; // none
    Drafts(const ggufx_runtime *rt, const DraftOptions &options, const ggufx_session *session);
    const ggufx_draft_options *get() const { return any_ ? &options_ : nullptr; }

private:
    File file_; // with a draft model only
    Model model_;
    Session session_;
    bool any_ = false;
    ggufx_draft_options options_ = {};
};

// Returns the accepted and drafted tokens, and the acceptance rate.
std::string acceptance_text(uint64_t n_accepted, uint64_t n_drafted);

} // namespace ggufx::cli
