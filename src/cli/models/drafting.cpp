// SPDX-License-Identifier: MIT
#include "models/drafting.hpp"

#include "common/signals.hpp"
#include "models/sampling.hpp"
#include "models/text_model.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

// Checks the status of a call. Returns false if it was interrupted.
bool went(ggufx_status status, const ggufx_error &error) {
    if (status == GGUFX_E_CANCELLED) return false;
    if (status != GGUFX_OK) throw Failure(exit_code(status), error);
    return true;
}

} // namespace

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

Drafter::Drafter(const ggufx_runtime *rt, const DraftOptions &options, ggufx_session *session,
                 const std::vector<int32_t> &stops) {
    if (!options.draft.empty()) {
        const ggufx_progress cancel = cancel_hook();
        file_ = open_file(rt, options.draft, 0, &cancel);
        model_ = make_model(rt, file_.get(), {});
        SessionOptions draft;
        draft.n_context = session_facts(session).n_context;
        draft_ = make_session(rt, file_.get(), model_.get(), draft);
    }
    auto made = sized<ggufx_speculator_options>();
    made.draft = draft_.get();
    made.stops = stops.data();
    made.n_stops = stops.size();
    ggufx_speculator *speculator = nullptr;
    ggufx_error error;
    const ggufx_status status = ggufx_speculator_create(&speculator, session, &made, &error);
    if (status == GGUFX_E_MISMATCH) throw Failure(kUsage, std::string("--draft: ") + error.message);
    if (status != GGUFX_OK) throw Failure(exit_code(status), error);
    speculator_.reset(speculator);
}

bool Drafter::ask(ggufx_sampler *sampler, ggufx_matcher *matcher, size_t most) {
    constexpr size_t kMost = GGUFX_SPECULATOR_MOST_DRAFTED + 1;
    if (!ready_.empty()) return true;
    int32_t ids[kMost];
    float logprobs[kMost];
    size_t n = 0;
    const ggufx_progress cancel = cancel_hook();
    ggufx_error error;
    const ggufx_status status =
        ggufx_speculator_next(ids, logprobs, most < kMost ? most : kMost, &n, speculator_.get(),
                              sampler, matcher, &cancel, &error);
    if (!went(status, error)) return false;
    last_ = ids[n - 1];
    while (n-- > 0) ready_.push_back({ids[n], logprobs[n]});
    return true;
}

Chosen Drafter::take() {
    const Chosen chosen = ready_.back();
    ready_.pop_back();
    return chosen;
}

ggufx_speculator_facts Drafter::facts() const {
    return cli::facts<ggufx_speculator_facts>([&](ggufx_speculator_facts *out, ggufx_error *error) {
        return ggufx_speculator_info(out, speculator_.get(), error);
    });
}

std::vector<int32_t> end_ids(const ggufx_tokenizer *tokenizer, uint32_t n_vocab) {
    std::vector<int32_t> ids;
    ggufx_token_facts info = {};
    info.struct_size = sizeof info;
    for (uint32_t i = 0; tokenizer && i < n_vocab; i++) {
        const auto id = static_cast<int32_t>(i);
        if (ggufx_token_info(&info, tokenizer, id, nullptr) != GGUFX_OK) break;
        if (info.flags & GGUFX_TOKEN_END && ids.size() < GGUFX_SPECULATOR_MOST_STOPS)
            ids.push_back(id);
    }
    return ids;
}

bool feed_tiles(ggufx_session *session, std::span<const int32_t> ids) {
    const ggufx_progress cancel = cancel_hook();
    const ggufx_batch_item item = batch_item(0, 0, ids);
    auto options = sized<ggufx_batch_options>();
    options.flags = GGUFX_BATCH_MATMUL;
    options.matmul_flags = GGUFX_MATMUL_TILES;
    options.item_size = sizeof item;
    options.progress = &cancel;
    ggufx_error error;
    return went(ggufx_session_decode_batch(session, &item, 1, &options, &error), error);
}

std::string acceptance_text(const ggufx_speculator_facts &facts) {
    const double share = facts.n_drafted ? 100.0 * static_cast<double>(facts.n_accepted) /
                                               static_cast<double>(facts.n_drafted)
                                         : 0;
    return fmt::format("{} of {} draft tokens accepted ({:.1f} %), {} steps", facts.n_accepted,
                       facts.n_drafted, share, facts.n_calls);
}

} // namespace ggufx::cli
