// Generators of run, demo, chat and bench: their events, the reason of an end, draft tokens.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/model_options.hpp"

namespace ggufx::cli {

using Generator = std::unique_ptr<ggufx_generator, Destroyer<ggufx_generator_destroy>>;

// A draft model that cannot be used is a usage error.
Generator make_generator(ggufx_session *session, const ggufx_generator_options &options);
ggufx_generator_facts generator_facts(const ggufx_generator *generator);
std::vector<int32_t> generator_tokens(const ggufx_generator *generator); // prompt and output
// Returns the next event. A signal cancels the generation: text that was held back follows, then
// the end. Throws Failure if the generation ends with an error.
ggufx_event next_event(ggufx_generator *generator);

inline std::string_view event_text(const ggufx_event &event) {
    return {event.text.data, event.text.size};
}

// Returns "stop" or "length", the words of the OpenAI API. As in `serve`, a full context is
// "length".
const char *finish_reason(ggufx_end end);
// `option` raises the limit, such as "--ctx"; empty: there is none.
std::string context_full_text(size_t n_context, const std::string &option);

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
