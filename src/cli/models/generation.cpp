// SPDX-License-Identifier: MIT
#include "models/generation.hpp"

#include "common/signals.hpp"
#include "models/sampling.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

Generator make_generator(ggufx_session *session, const ggufx_generator_options &options) {
    ggufx_generator *generator = nullptr;
    ggufx_error error;
    const ggufx_status status = ggufx_generator_create(&generator, session, &options, &error);
    if (status == GGUFX_E_MISMATCH && options.draft && options.draft->session)
        throw Failure(kUsage, std::string("--draft: ") + error.message);
    if (status != GGUFX_OK) throw Failure(exit_code(status), error);
    return Generator(generator);
}

ggufx_generator_facts generator_facts(const ggufx_generator *generator) {
    return facts<ggufx_generator_facts>([&](ggufx_generator_facts *out, ggufx_error *error) {
        return ggufx_generator_info(out, generator, error);
    });
}

std::vector<int32_t> generator_tokens(const ggufx_generator *generator) {
    const ggufx_generator_facts facts = generator_facts(generator);
    std::vector<int32_t> out(static_cast<size_t>(facts.n_prompt + facts.n_tokens));
    size_t needed = 0;
    call([&](ggufx_error *error) {
        return ggufx_generator_tokens(out.data(), out.size(), &needed, generator, error);
    });
    return out;
}

ggufx_event next_event(ggufx_generator *generator) {
    const ggufx_progress cancel = cancel_hook();
    auto options = sized<ggufx_step_options>();
    options.progress = &cancel;
    auto event = sized<ggufx_event>();
    ggufx_error error;
    ggufx_status status = ggufx_generator_next(&event, generator, &options, &error);
    if (status == GGUFX_E_CANCELLED) {
        ggufx_generator_cancel(generator);
        status = ggufx_generator_next(&event, generator, nullptr, &error);
    }
    if (status != GGUFX_OK) throw Failure(exit_code(status), error);
    if (event.kind == GGUFX_EVENT_END && event.end == GGUFX_END_ERROR)
        throw Failure(exit_code(event.status), std::string(event_text(event)));
    return event;
}

const char *finish_reason(ggufx_end end) {
    return end == GGUFX_END_LENGTH || end == GGUFX_END_CONTEXT ? "length" : "stop";
}

std::string context_full_text(size_t n_context, const std::string &option) {
    return fmt::format("generation stopped: the context of {} tokens is full{}", n_context,
                       option.empty() ? "" : " (use " + option + " N)");
}

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
