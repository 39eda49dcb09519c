// SPDX-License-Identifier: MIT
#include "models/drafts.hpp"

#include "common/signals.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

void add_draft_options(Command &sub, DraftOptions &options) {
    Option draft = sub.option("--draft", options.draft,
                              "draft model for speculative decoding, with the same vocabulary; the "
                              "generated text stays the same")
                       .value("FILE");
    Option lookup = sub.flag(
        "--lookup", options.lookup,
        "prompt lookup: take draft tokens from earlier text; the generated text stays the same");
    draft.excludes(lookup);
}

Drafts::Drafts(const ggufx_runtime *rt, const DraftOptions &options, const ggufx_session *session)
    : any_(options.any()), options_(sized<ggufx_draft_options>()) {
    if (options.draft.empty()) return;
    const ggufx_progress cancel = cancel_hook();
    file_ = open_file(rt, options.draft, 0, &cancel);
    model_ = make_model(rt, file_.get(), {});
    SessionOptions draft;
    draft.n_context = session_facts(session).n_context;
    session_ = make_session(rt, file_.get(), model_.get(), draft);
    options_.session = session_.get();
}

std::string acceptance_text(uint64_t n_accepted, uint64_t n_drafted) {
    const double share =
        n_drafted ? 100.0 * static_cast<double>(n_accepted) / static_cast<double>(n_drafted) : 0;
    return fmt::format("{} of {} draft tokens accepted ({:.1f} %)", n_accepted, n_drafted, share);
}

} // namespace ggufx::cli
