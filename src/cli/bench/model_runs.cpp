// SPDX-License-Identifier: MIT
#include "bench/model_runs.hpp"

#include "common/signals.hpp"
#include "common/timing.hpp"
#include "models/sampling.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace ggufx::cli {

std::string ModelTest::name() const {
    std::string first = prompt ? fmt::format("pp{}", prompt) : "";
    if (!predict) return first;
    return fmt::format("{}{}tg{}", first, prompt ? "+" : "", predict);
}

ModelRuns::ModelRuns(const ggufx_runtime *rt, Session session, const ModelCase &first,
                     uint32_t n_vocab, const TextIds &text, const std::string &draft)
    : session_(std::move(session)), sequences_(first.sequences), products_(first.products->flags),
      logits_(size_t{sequences_} * n_vocab), items_(sequences_) {
    for (size_t i = 0; i < sequences_; i++) add_turned(ids_, text, i, text.size());
    if (first.guesser == DraftSource::none) return;
    DraftOptions options;
    options.lookup = first.guesser == DraftSource::lookup;
    if (!options.lookup) options.draft = draft;
    drafts_ = Drafts(rt, options, session_.get());
    chooser_ = make_chain(rt, n_vocab, 1);
    call([&](ggufx_error *error) {
        return ggufx_sampler_add_host(chooser_.get(), choose, this, error);
    });
}

// Forces the next token of the text. All candidates are present: no sampler has removed any.
ggufx_status ModelRuns::choose(void *self, ggufx_candidate *candidates, size_t n) {
    ModelRuns &runs = *static_cast<ModelRuns *>(self);
    const int32_t id = runs.ids_[runs.chosen_++];
    for (size_t i = 0; i < n; i++)
        candidates[i].logit = candidates[i].id == id ? 0 : -std::numeric_limits<float>::infinity();
    return GGUFX_OK;
}

// Decodes tokens first .. first + n - 1 of every sequence.
void ModelRuns::append(unsigned first, unsigned n, uint32_t products, bool logits) {
    const size_t n_context = ids_.size() / sequences_;
    for (unsigned i = 0; i < sequences_; i++)
        items_[i] =
            batch_item(i, logits ? GGUFX_DECODE_LOGITS : 0, {&ids_[i * n_context + first], n});
    const ggufx_progress cancel = cancel_hook();
    auto options = batch_options(products, logits ? std::span(logits_) : std::span<float>());
    options.progress = &cancel;
    call([&](ggufx_error *error) {
        return ggufx_session_decode(session_.get(), items_.data(), items_.size(), &options, error);
    });
}

// Fills the context to `depth`. Its last token is decoded again before each round. This also
// repeats, untimed, the work that a truncation leaves.
void ModelRuns::fill(unsigned depth) {
    if (filled_ + 1 < depth)
        append(filled_, depth - 1 - filled_, products_ & ~GGUFX_MATMUL_BATCH_INVARIANT, false);
    const unsigned before = depth ? depth - 1 : 0;
    for (unsigned i = 0; i < sequences_; i++)
        call([&](ggufx_error *error) {
            return ggufx_session_truncate(session_.get(), i, before, error);
        });
    filled_ = before;
    if (depth) append(before, 1, products_, false);
}

// A generator with the tokens after depth - 1 as its prompt, so that nothing is truncated.
Generator ModelRuns::make_generator(const ModelTest &test, unsigned depth) const {
    auto options = sized<ggufx_generator_options>();
    options.flags = GGUFX_GENERATOR_IDS_ONLY;
    if (products_ & GGUFX_MATMUL_TILED) options.flags |= GGUFX_GENERATOR_TILED_DECODE;
    options.max_tokens = test.predict;
    options.sampler = chooser_.get();
    options.draft = drafts_.get();
    Generator generator = cli::make_generator(session_.get(), options);
    auto prompt = sized<ggufx_prompt>();
    prompt.flags = GGUFX_PROMPT_APPEND;
    prompt.tokens = &ids_[depth - 1];
    prompt.n_tokens = test.prompt + 1;
    set_prompt(generator.get(), prompt);
    return generator;
}

void ModelRuns::warm_up(const ModelTest &test, unsigned depth) {
    fill(depth);
    compute({test.prompt, std::min(test.predict, 1u)}, depth);
}

Rates ModelRuns::measure(const ModelTest &test, unsigned depth, unsigned rounds,
                         Progress &progress) {
    Rates rates = {};
    warm_up(test, depth);
    const bool drafts = drafts_.get() && test.predict;
    uint64_t n_drafted = 0, n_accepted = 0;
    for (unsigned round = 0; round < rounds; round++) {
        check_interrupt();
        progress.update(round, rounds, test.name());
        fill(drafts ? depth - 1 : depth);
        const Generator generator = drafts ? make_generator(test, depth) : nullptr;
        chosen_ = depth + test.prompt;
        const double seconds = seconds_of([&] {
            if (drafts)
                generate(generator.get(), [](const ggufx_event &) { check_interrupt(); });
            else
                compute(test, depth);
        });
        rates.per_second.push_back(double{1} * sequences_ * test.tokens() / seconds);
        if (!drafts) continue;
        const ggufx_generator_facts facts = generator_facts(generator.get());
        n_drafted += facts.n_drafted;
        n_accepted += facts.n_accepted;
    }
    rates.accepted = static_cast<double>(n_accepted) / static_cast<double>(n_drafted);
    return rates;
}

void ModelRuns::compute(const ModelTest &test, unsigned depth) {
    if (test.prompt) append(depth, test.prompt, products_, true);
    for (unsigned i = 0; i < test.predict; i++) append(depth + test.prompt + i, 1, products_, true);
}

} // namespace ggufx::cli
