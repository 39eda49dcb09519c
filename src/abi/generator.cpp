// Generators: include/ggufx/generator.h.
// SPDX-License-Identifier: MIT
#include "abi/generator_handle.hpp"
#include "abi/guard.hpp"
#include "abi/options.hpp"
#include "base/checked.hpp"

#include <inttypes.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

constexpr uint32_t kGeneratorFlags =
    GGUFX_GENERATOR_TILED_DECODE | GGUFX_GENERATOR_SPECIAL_TOKENS | GGUFX_GENERATOR_IGNORE_EOG |
    GGUFX_GENERATOR_IDS_ONLY | GGUFX_GENERATOR_SCORE_PROMPT | GGUFX_GENERATOR_LOGPROBS |
    GGUFX_GENERATOR_KEEP_REASONING | GGUFX_GENERATOR_HAS_MAX_REASONING |
    GGUFX_GENERATOR_SAMPLE_OUTPUT;
constexpr uint32_t kGeneratorLogprobs = 64;
constexpr uint64_t kGeneratorStopBytes = uint64_t{1} << 20;

static_assert(sizeof(ggufx_event_token) == sizeof(generate::EventToken) &&
              offsetof(ggufx_event_token, top) == offsetof(generate::EventToken, top));
static_assert(GGUFX_EVENT_TOOL_ID == static_cast<uint32_t>(generate::EventKind::tool_id));
static_assert(GGUFX_END_TOOL_CALL == static_cast<uint32_t>(generate::End::tool_call));
static_assert(GGUFX_GENERATOR_STATE_ENDED == static_cast<uint32_t>(generate::State::ended));

// ---- create

Vector<std::string_view> import_stops(const Host *host, const ggufx_generator_options &in) {
    require(in.stops || in.n_stops == 0, "ggufx_generator_options.stops must be set");
    Vector<std::string_view> out(HostAllocator<std::string_view>{host});
    uint64_t bytes = 0;
    for (size_t i = 0; i < in.n_stops; i++) {
        const ggufx_text &text = in.stops[i];
        if (!text.data || text.size == 0)
            fail(Status::argument, {kNone, i}, "stop string %" PRIu64 " is empty",
                 static_cast<uint64_t>(i));
        if (!checked::add(&bytes, bytes, uint64_t{text.size}) || bytes > kGeneratorStopBytes)
            fail(Status::limit, {.index = i, .limit = kGeneratorStopBytes},
                 "the stop strings have more than %" PRIu64 " bytes", kGeneratorStopBytes);
        out.push_back({text.data, text.size});
    }
    return out;
}

// Returns the tokenizer of the model's file. If two threads create it at the same time, one of them
// is used.
Ref<ggufx_tokenizer> own_tokenizer(ggufx_model &model) {
    ggufx_tokenizer *known = model.tokenizer.load(Order::acquire);
    if (!known) {
        const auto file = Ref<gguf::File>::share(const_cast<gguf::File *>(&model.model.file()));
        auto made = Ref<ggufx_tokenizer>::adopt(make<ggufx_tokenizer>(*file->host(), file));
        if (model.tokenizer.replace(known, made.get(), Order::acq_rel)) known = made.detach();
    }
    return Ref<ggufx_tokenizer>::share(known);
}

Ref<ggufx_tokenizer> import_tokenizer(const ggufx_generator_options &in, ggufx_model &model) {
    const bool ids_only = (in.flags & GGUFX_GENERATOR_IDS_ONLY) != 0;
    require(!in.tokenizer || alive(in.tokenizer, Tag::tokenizer),
            "ggufx_generator_options.tokenizer must be a tokenizer");
    require(!ids_only || (!in.tokenizer && in.n_stops == 0 && !in.chat),
            "GGUFX_GENERATOR_IDS_ONLY excludes tokenizer, stops and chat");
    if (ids_only) return {};
    Ref<ggufx_tokenizer> out =
        in.tokenizer ? Ref<ggufx_tokenizer>::share(const_cast<ggufx_tokenizer *>(in.tokenizer))
                     : own_tokenizer(model);
    const uint64_t n = out->tokenizer.vocab().size(), n_vocab = model.model.shape().n_vocab;
    if (n < n_vocab)
        fail(Status::mismatch, {},
             "the tokenizer has %" PRIu64 " tokens, the model %" PRIu64
             " (GGUFX_GENERATOR_IDS_ONLY runs without)",
             n, n_vocab);
    return out;
}

sampling::Chain import_sampler(const ggufx_generator_options &in, const ggufx_model &model) {
    const auto n_vocab = static_cast<uint32_t>(model.model.shape().n_vocab);
    if (!in.sampler) {
        sampling::Chain greedy(model.model.host(), n_vocab,
                               *kernels::rows_of(model.model.engine().kernels()), 0);
        greedy.add(sampling::Temperature{});
        return greedy;
    }
    require(alive(in.sampler, Tag::sampler), "ggufx_generator_options.sampler must be a sampler");
    const uint32_t n = in.sampler->chain.n_vocab();
    if (n < n_vocab)
        fail(Status::mismatch, {}, "the sampler takes %" PRIu32 " tokens, the model has %" PRIu32,
             n, n_vocab);
    return in.sampler->chain;
}

uint32_t import_limited(uint32_t given, uint32_t most, const char *name) {
    if (given <= most) return given;
    fail(Status::limit, {.value = given, .limit = most}, "%s is %" PRIu32 ", the limit is %" PRIu32,
         name, given, most);
}

generate::GeneratorOptions import_numbers(const ggufx_generator_options &in) {
    generate::GeneratorOptions out;
    out.sequence = in.sequence;
    out.max_tokens = in.max_tokens;
    out.tiled_decode = (in.flags & GGUFX_GENERATOR_TILED_DECODE) != 0;
    out.ignores_eog = (in.flags & GGUFX_GENERATOR_IGNORE_EOG) != 0;
    out.penalizes_output = (in.flags & GGUFX_GENERATOR_SAMPLE_OUTPUT) != 0;
    out.scores_prompt = (in.flags & GGUFX_GENERATOR_SCORE_PROMPT) != 0;
    out.n_logprobs =
        import_limited(in.n_logprobs, kGeneratorLogprobs, "ggufx_generator_options.n_logprobs");
    const bool has_max = (in.flags & GGUFX_GENERATOR_HAS_MAX_REASONING) != 0;
    require(has_max || in.max_reasoning == 0,
            "ggufx_generator_options.max_reasoning needs GGUFX_GENERATOR_HAS_MAX_REASONING");
    if (has_max) out.max_reasoning = in.max_reasoning;
    out.logprobs = in.n_logprobs || (in.flags & GGUFX_GENERATOR_LOGPROBS) != 0;
    return out;
}

// Returns the session of a draft model, or null.
Ref<ggufx_session> import_drafts(std::optional<generate::DraftOptions> &out,
                                 const ggufx_generator_options &options,
                                 const ggufx_session &session) {
    if (!options.draft) return {};
    const auto in = import_options(options.draft, 0, "ggufx_draft_options");
    require(!in.session || alive(in.session, Tag::session),
            "ggufx_draft_options.session must be a session");
    require(in.session != &session, "ggufx_draft_options.session must be another session");
    require(in.session || in.sequence == 0, "ggufx_draft_options.sequence needs a session");
    require(!in.session || in.n_match == 0, "ggufx_draft_options.n_match needs prompt lookup");
    generate::DraftOptions drafts;
    drafts.sequence = in.sequence;
    drafts.n_draft =
        import_limited(in.n_draft, generate::kMostDrafted, "ggufx_draft_options.n_draft");
    drafts.n_match =
        import_limited(in.n_match, generate::kMostMatched, "ggufx_draft_options.n_match");
    if (in.session) {
        drafts.session = &in.session->session;
        if (in.sequence >= drafts.session->n_sequences())
            fail(Status::argument, {.index = in.sequence},
                 "ggufx_draft_options.sequence is %" PRIu32 ": the session has %" PRIu32
                 " sequences",
                 in.sequence, drafts.session->n_sequences());
        if (drafts.session->model().peers())
            fail(Status::unsupported, {},
                 "ggufx_draft_options.session: ranks of a group cannot draft");
        check_vocabularies(session.model->model, in.session->model->model);
    }
    out = drafts;
    return Ref<ggufx_session>::share(in.session);
}

ggufx_generator *create_generator(ggufx_session &session, const ggufx_generator_options &in) {
    ggufx_model &model = *session.model;
    const Ref<Host> &host = model.model.host();
    generate::GeneratorOptions options = import_numbers(in);
    Ref<ggufx_session> drafts = import_drafts(options.drafts, in, session);
    const auto stops = import_stops(host.get(), in);
    Ref<ggufx_tokenizer> tokenizer = import_tokenizer(in, model);
    options.grammar = import_grammar(in.grammar, tokenizer.get(), model.model.shape().n_vocab);
    const generate::Text::Options text = {tokenizer ? &tokenizer->tokenizer : nullptr,
                                          (in.flags & GGUFX_GENERATOR_SPECIAL_TOKENS) != 0,
                                          stops.data(), stops.size()};
    const RuntimeRef runtime = in.sampler ? in.sampler->runtime : model.runtime;
    sampling::Chain sampler = import_sampler(in, model);
    if (!session.steps) session.steps = make<generate::Steps>(*host, session.session);
    auto *const out =
        make<ggufx_generator>(*host, Ref<ggufx_session>::share(&session), std::move(tokenizer),
                              runtime, std::move(drafts), import_chat(in.chat), session.session,
                              *session.steps, std::move(sampler), options, text);
    out->keeps_reasoning = (in.flags & GGUFX_GENERATOR_KEEP_REASONING) != 0;
    return out;
}

void check_generator(const ggufx_generator *generator) {
    require(alive(generator, Tag::generator), "generator must be set");
}

} // namespace

extern "C" ggufx_status ggufx_generator_create(ggufx_generator **out, ggufx_session *session,
                                               const ggufx_generator_options *options,
                                               ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(session, Tag::session), "out and session must be set");
        *out = create_generator(
            *session, import_options(options, kGeneratorFlags, "ggufx_generator_options"));
    });
}

extern "C" void ggufx_generator_destroy(ggufx_generator *generator) {
    const NoCancel whole;
    if (!alive(generator, Tag::generator)) return;
    const Ref<ggufx_session> keep = generator->session;
    destroy_object(keep->model->model.host(), generator);
}

// ---- edits

extern "C" ggufx_status ggufx_generator_suspend(ggufx_generator *generator, ggufx_error *error) {
    return guard(error, [&] {
        check_generator(generator);
        generator->generator.suspend();
    });
}

extern "C" ggufx_status ggufx_generator_resume(uint64_t *out_n_reused, ggufx_generator *generator,
                                               uint32_t sequence, ggufx_error *error) {
    return guard(error, [&] {
        check_generator(generator);
        const uint64_t n = generator->generator.resume(sequence);
        if (out_n_reused) *out_n_reused = n;
    });
}

extern "C" ggufx_status ggufx_generator_truncate(ggufx_generator *generator, uint64_t n_tokens,
                                                 ggufx_error *error) {
    return guard(error, [&] {
        check_generator(generator);
        generator->generator.truncate(n_tokens < SIZE_MAX ? static_cast<size_t>(n_tokens)
                                                          : SIZE_MAX);
    });
}

extern "C" ggufx_status ggufx_generator_fork(ggufx_generator **out, ggufx_generator *generator,
                                             const ggufx_fork_options *options,
                                             ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        check_generator(generator);
        require(out, "out must be set");
        const auto in = import_options(options, GGUFX_FORK_RESEED, "ggufx_fork_options");
        const bool reseeds = (in.flags & GGUFX_FORK_RESEED) != 0;
        require(reseeds || in.seed == 0, "ggufx_fork_options.seed needs GGUFX_FORK_RESEED");
        ggufx_generator &from = *generator;
        *out = make<ggufx_generator>(*from.session->model->model.host(), from.session,
                                     from.tokenizer, from.sampler_runtime, from.drafts,
                                     import_chat(from.chat.get()), from.generator, in.sequence);
        (*out)->keeps_reasoning = from.keeps_reasoning;
        if (reseeds) (*out)->generator.reseed(in.seed);
    });
}

extern "C" ggufx_status ggufx_generator_save(const ggufx_generator *generator,
                                             ggufx_status (*write)(void *user, const void *data,
                                                                   size_t n),
                                             void *user, ggufx_error *error) {
    return guard(error, [&] {
        check_generator(generator);
        require(write, "write must be set");
        SnapshotOutput out(write, user);
        return generator->generator.save(out, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_generator_load(ggufx_generator **out, ggufx_session *session,
                                             const ggufx_generator_options *options,
                                             ggufx_status (*read)(void *user, void *data, size_t n),
                                             void *user, ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(session, Tag::session), "out and session must be set");
        require(read, "read must be set");
        ggufx_generator *const made = create_generator(
            *session, import_options(options, kGeneratorFlags, "ggufx_generator_options"));
        try {
            SnapshotInput in({read, user, nullptr});
            made->generator.load(in, {made, [](const void *self, const generate::FormatTexts &of) {
                                          return restore_format(
                                              *static_cast<const ggufx_generator *>(self), of);
                                      }});
        } catch (...) {
            ggufx_generator_destroy(made);
            throw;
        }
        *out = made;
    });
}

// ---- events

void ggufx::abi::put_event(ggufx_event *out, const generate::Event &event) {
    ggufx_event facts = {};
    facts.kind = static_cast<ggufx_event_kind>(event.kind);
    facts.end = static_cast<ggufx_end>(event.end);
    facts.status = static_cast<ggufx_status>(event.status);
    facts.index = event.index;
    facts.text = {event.text.data(), event.text.size()};
    facts.tokens = reinterpret_cast<const ggufx_event_token *>(event.tokens);
    facts.n_tokens = event.n_tokens;
    export_struct(out, facts, "ggufx_event");
}

extern "C" ggufx_status ggufx_generator_poll(ggufx_event *out, ggufx_generator *generator,
                                             ggufx_error *error) {
    return guard(error, [&] {
        check_generator(generator);
        require(out, "out must be set");
        check_output(out, "ggufx_event");
        generate::Event event;
        (void)generator->generator.poll(event);
        put_event(out, event);
    });
}

// ---- steps

namespace {

generate::Steps::Options import_step_options(const ggufx_step_options *options,
                                             const model::Session &session) {
    const auto in = import_options(options, 0, "ggufx_step_options");
    if (in.budget_us && session.model().peers())
        fail(Status::unsupported, {},
             "ggufx_step_options.budget_us: ranks of a group cannot pause in a step");
    generate::Steps::Options out;
    out.progress = import_progress(in.progress);
    out.budget_us = in.budget_us;
    return out;
}

generate::Steps::Item import_item(const ggufx_step_item &item, size_t index,
                                  const ggufx_session &session) {
    const auto at = static_cast<uint64_t>(index);
    if (!alive(item.generator, Tag::generator) || item.generator->session.get() != &session)
        fail(Status::argument, {kNone, at},
             "item %" PRIu64 ": generator must be a generator of this session", at);
    if (item.generator->generator.ids().empty())
        fail(Status::argument, {kNone, at}, "item %" PRIu64 ": its generator has no prompt", at);
    return {&item.generator->generator, item.n_tokens};
}

Vector<generate::Steps::Item> import_items(const ggufx_step_item *items, size_t n_items,
                                           const ggufx_session &session) {
    require(items || n_items == 0, "items must be set");
    const Host *const host = session.model->model.host().get();
    Vector<generate::Steps::Item> out{HostAllocator<generate::Steps::Item>(host)};
    if (n_items > session.session.n_sequences())
        fail(Status::argument, {}, "%" PRIu64 " items, the session has %" PRIu32 " sequences",
             static_cast<uint64_t>(n_items), session.session.n_sequences());
    out.reserve(n_items);
    const StructList<ggufx_step_item> list(items, n_items, 0, "ggufx_step_item");
    Vector<bool> is_used(session.session.n_sequences(), false, HostAllocator<bool>(host));
    for (size_t i = 0; i < n_items; i++) {
        const generate::Steps::Item item = import_item(list.at(i), i, session);
        if (!item.generator->has_sequence()) continue; // suspended
        out.push_back(item);
        const uint32_t sequence = item.generator->sequence();
        if (is_used[sequence])
            fail(Status::argument, {kNone, i}, "item %" PRIu64 " has the generator of another item",
                 static_cast<uint64_t>(i));
        is_used[sequence] = true;
    }
    return out;
}

} // namespace

extern "C" ggufx_status ggufx_session_step(int32_t *out_complete, ggufx_session *session,
                                           const ggufx_step_item *items, size_t n_items,
                                           const ggufx_step_options *options, ggufx_error *error) {
    if (out_complete) *out_complete = 1;
    return guard(error, [&] {
        require(alive(session, Tag::session), "session must be set");
        const auto imported = import_step_options(options, session->session);
        const auto list = import_items(items, n_items, *session);
        if (list.empty() && !(session->steps && session->steps->is_in_flight())) return Status::ok;
        bool complete = true;
        const Status status =
            session->steps->step(list.data(), list.size(), imported, &complete, failure_of(error));
        if (out_complete) *out_complete = status != Status::ok || complete;
        return status;
    });
}

namespace {

// Takes a queued event, except those of a prompt that is not scored.
bool take_event(generate::Event &out, generate::Generator &generator) {
    while (generator.poll(out))
        if (out.kind != generate::EventKind::prompt || generator.scores_prompt()) return true;
    return false;
}

} // namespace

extern "C" ggufx_status ggufx_generator_next(ggufx_event *out, ggufx_generator *generator,
                                             const ggufx_step_options *options,
                                             ggufx_error *error) {
    return guard(error, [&] {
        check_generator(generator);
        require(out, "out must be set");
        check_output(out, "ggufx_event");
        ggufx_session &session = *generator->session;
        const auto imported = import_step_options(options, session.session);
        generate::Generator &inner = generator->generator;
        if (inner.ids().empty()) fail(Status::state, {}, "the generator has no prompt");
        if (!inner.has_sequence() && !inner.has_ended()) {
            if (!inner.is_cancelled())
                fail(Status::state, {}, "the generator is suspended: resume it first");
            inner.end_suspended();
        }
        const generate::Steps::Item item = {&inner, 0};
        generate::Event event;
        for (bool complete = true; !take_event(event, inner);) {
            if (!complete) break; // the budget is used up
            if (inner.has_ended()) {
                event = inner.last();
                break;
            }
            const Status status =
                session.steps->step(&item, 1, imported, &complete, failure_of(error));
            if (status != Status::ok) return status;
        }
        put_event(out, event);
        return Status::ok;
    });
}

extern "C" void ggufx_generator_cancel(const ggufx_generator *generator) {
    if (alive(generator, Tag::generator)) generator->generator.cancel();
}

// ---- facts

extern "C" ggufx_status ggufx_generator_tokens(int32_t *out_ids, size_t capacity,
                                               size_t *out_needed, const ggufx_generator *generator,
                                               ggufx_error *error) {
    return guard(error, [&] {
        check_generator(generator);
        require(out_needed && (out_ids || capacity == 0), "out_ids and out_needed must be set");
        const Vector<int32_t> &ids = generator->generator.ids();
        *out_needed = ids.size();
        check_capacity(ids.size(), capacity, "the generator", "tokens");
        if (!ids.empty()) memcpy(out_ids, ids.data(), ids.size() * sizeof(int32_t));
    });
}

extern "C" ggufx_status ggufx_generator_info(ggufx_generator_facts *out,
                                             const ggufx_generator *generator, ggufx_error *error) {
    return guard(error, [&] {
        check_generator(generator);
        require(out, "out must be set");
        const generate::Generator::Facts in = generator->generator.facts();
        ggufx_generator_facts facts = {};
        facts.state = static_cast<ggufx_generator_state>(in.state);
        facts.end = static_cast<ggufx_end>(in.end);
        facts.sequence = in.sequence;
        facts.n_events = static_cast<uint32_t>(in.n_events);
        facts.n_prompt = in.n_prompt;
        facts.n_prompt_reused = in.n_reused;
        facts.n_prompt_left = in.n_left;
        facts.n_tokens = in.n_tokens;
        facts.n_reasoning = in.n_reasoning;
        facts.n_drafted = in.n_drafted;
        facts.n_accepted = in.n_accepted;
        facts.memory_bytes = in.bytes;
        facts.sum_logprobs = in.sum_logprobs;
        export_struct(out, facts, "ggufx_generator_facts");
    });
}
