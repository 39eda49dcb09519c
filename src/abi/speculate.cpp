// Speculative decoding: include/ggufx/speculate.h.
// SPDX-License-Identifier: MIT
#include "abi/grammar_handles.hpp"
#include "abi/guard.hpp"
#include "abi/model_handles.hpp"
#include "abi/options.hpp"

#include <ggufx/sampler.h>
#include <ggufx/speculate.h>
#include <inttypes.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

static_assert(GGUFX_SPECULATOR_MOST_DRAFTED == model::kMostDrafted);

uint32_t import_count(uint32_t given, uint32_t most, const char *name) {
    if (given <= most) return given;
    fail(Status::argument, {}, "ggufx_speculator_options.%s is %" PRIu32 ": at most %" PRIu32, name,
         given, most);
}

void import_stops(model::SpeculatorOptions &out, const ggufx_speculator_options &in,
                  uint64_t n_vocab) {
    require(in.stops || in.n_stops == 0, "ggufx_speculator_options.stops must be set");
    if (in.n_stops > GGUFX_SPECULATOR_MOST_STOPS)
        fail(Status::limit, {}, "ggufx_speculator_options.n_stops is %" PRIu64 ", the limit is %u",
             static_cast<uint64_t>(in.n_stops), GGUFX_SPECULATOR_MOST_STOPS);
    for (size_t i = 0; i < in.n_stops; i++) {
        if (in.stops[i] >= 0 && static_cast<uint64_t>(in.stops[i]) < n_vocab) continue;
        fail(Status::argument, {kNone, i},
             "ggufx_speculator_options.stops: id %" PRId32 " is not one of %" PRIu64 " tokens",
             in.stops[i], n_vocab);
    }
    out.stops = in.stops;
    out.n_stops = in.n_stops;
}

model::SpeculatorOptions import_speculator_options(const ggufx_speculator_options *options,
                                                   const ggufx_session &session) {
    const auto in = import_options(options, 0, "ggufx_speculator_options");
    model::SpeculatorOptions out;
    require(!in.draft || !in.guess, "ggufx_speculator_options: draft and guess exclude each other");
    require(!in.user || in.guess, "ggufx_speculator_options.user needs guess");
    const bool by_lookup = !in.draft && !in.guess;
    require(by_lookup || in.n_match == 0, "ggufx_speculator_options.n_match needs prompt lookup");
    if (in.draft) {
        require(alive(in.draft, Tag::session), "ggufx_speculator_options.draft must be a session");
        require(in.draft != &session, "ggufx_speculator_options.draft must be another session");
        check_vocabularies(session.model->model, in.draft->model->model);
        out.draft = &in.draft->session;
    }
    out.draft_source = {in.user, in.guess};
    out.n_draft = import_count(in.n_draft, model::kMostDrafted, "n_draft");
    out.n_match = import_count(in.n_match, model::kMostMatched, "n_match");
    import_stops(out, in, session.model->model.shape().n_vocab);
    return out;
}

// Samples tokens with the public functions.
struct Choice {
    ggufx_sampler *sampler;
    ggufx_matcher *matcher;

    static Status choose(void *self, int32_t *id, float *logprob, const float *logits, size_t n,
                         Failure *failure) {
        const Choice &choice = *static_cast<Choice *>(self);
        auto *error = reinterpret_cast<ggufx_error *>(failure);
        const ggufx_status status =
            choice.matcher ? ggufx_sampler_sample_matching(id, logprob, choice.sampler,
                                                           choice.matcher, logits, n, error)
                           : ggufx_sampler_sample(id, logprob, choice.sampler, logits, n, error);
        // Cannot fail: a sampled id is in the vocabulary.
        if (status == GGUFX_OK) (void)ggufx_sampler_accept(choice.sampler, id, 1, nullptr);
        return static_cast<Status>(status);
    }
};

} // namespace

extern "C" ggufx_status ggufx_speculator_create(ggufx_speculator **out, ggufx_session *session,
                                                const ggufx_speculator_options *options,
                                                ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(session, Tag::session), "out and session must be set");
        const model::SpeculatorOptions imported = import_speculator_options(options, *session);
        const matmul::Options &matmul = session->session.matmul_options();
        require(matmul.batch_invariant || matmul.tiles,
                "the session's logits depend on how many tokens are computed at once: "
                "ggufx_session_options.matmul_flags needs BATCH_INVARIANT or TILES");
        *out = make<ggufx_speculator>(*session->model->model.host(), session->model,
                                      session->session, imported);
    });
}

extern "C" void ggufx_speculator_destroy(ggufx_speculator *speculator) {
    const NoCancel whole;
    if (!alive(speculator, Tag::speculator)) return;
    const Ref<ggufx_model> keep = speculator->model;
    destroy_object(keep->model.host(), speculator);
}

extern "C" ggufx_status ggufx_speculator_next(int32_t *out_ids, float *out_logprobs,
                                              size_t capacity, size_t *out_n,
                                              ggufx_speculator *speculator, ggufx_sampler *sampler,
                                              ggufx_matcher *matcher,
                                              const ggufx_progress *progress, ggufx_error *error) {
    if (out_n) *out_n = 0;
    return guard(error, [&] {
        require(out_ids && capacity && out_n, "out_ids and out_n must be set, capacity above 0");
        require(alive(speculator, Tag::speculator), "speculator must be set");
        require(alive(sampler, Tag::sampler), "sampler must be set");
        require(!matcher || alive(matcher, Tag::matcher), "matcher must be a matcher or NULL");
        const Progress imported = import_progress(progress);
        Choice choice = {sampler, matcher};
        return speculator->speculator.next(out_ids, out_logprobs, capacity, out_n,
                                           {&choice, Choice::choose}, imported, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_speculator_info(ggufx_speculator_facts *out,
                                              const ggufx_speculator *speculator,
                                              ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(speculator, Tag::speculator), "out and speculator must be set");
        const model::Speculator::Counts &counts = speculator->speculator.counts();
        ggufx_speculator_facts facts = {};
        facts.n_calls = counts.n_calls;
        facts.n_tokens = counts.n_tokens;
        facts.n_drafted = counts.n_drafted;
        facts.n_accepted = counts.n_accepted;
        facts.bytes = speculator->speculator.bytes();
        export_struct(out, facts, "ggufx_speculator_facts");
    });
}
