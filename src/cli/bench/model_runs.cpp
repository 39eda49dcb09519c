// SPDX-License-Identifier: MIT
#include "bench/model_runs.hpp"

#include "bench/blocks.hpp"
#include "common/signals.hpp"
#include "common/timing.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace ggufx::cli {

const std::vector<ProductMode> kProductModes = {{"default", 0},
                                                {"row-wise", GGUFX_MATMUL_BATCH_INVARIANT},
                                                {"tiled", GGUFX_MATMUL_TILES},
                                                {"precise", GGUFX_MATMUL_PRECISE},
                                                {"f32", GGUFX_MATMUL_F32}};

std::string ModelTest::name() const {
    std::string first = prompt ? fmt::format("pp{}", prompt) : "";
    if (!predict) return first;
    return fmt::format("{}{}tg{}", first, prompt ? "+" : "", predict);
}

TextIds random_text(size_t n, uint32_t n_vocab) {
    Random random(1);
    TextIds ids(n);
    for (int32_t &id : ids) id = static_cast<int32_t>(random.next() % n_vocab);
    return ids;
}

TextIds repeating_text(size_t n, uint32_t n_vocab) {
    constexpr size_t kSpan = 60;
    Random random(2);
    TextIds ids = random_text(n, n_vocab);
    for (size_t i = kSpan + 10; i + kSpan <= n; i += kSpan + 3 + random.next() % 8)
        std::copy_n(ids.begin() + static_cast<ptrdiff_t>(random.next() % (i - kSpan)), kSpan,
                    ids.begin() + static_cast<ptrdiff_t>(i));
    return ids;
}

void add_turned(TextIds &to, const TextIds &text, size_t sequence, size_t n) {
    for (size_t i = 0; i < n; i++) to.push_back(text[(sequence * 37 + i) % text.size()]);
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
    drafter_.emplace(rt, options, session_.get(), std::vector<int32_t>());
    ggufx_sampler *sampler = nullptr;
    call([&](ggufx_error *error) {
        return ggufx_sampler_create_chain(&sampler, rt, n_vocab, 1, error);
    });
    chooser_.reset(sampler);
    auto link = sized<ggufx_sampler_link>();
    link.kind = GGUFX_LINK_HOST;
    link.link = choose;
    link.user = this;
    call([&](ggufx_error *error) { return ggufx_sampler_add(sampler, &link, error); });
}

// Forces the next token of the text. All candidates are present: no sampler has removed any.
int32_t ModelRuns::choose(void *self, ggufx_candidate *candidates, size_t n) {
    ModelRuns &runs = *static_cast<ModelRuns *>(self);
    const int32_t id = runs.ids_[runs.chosen_++];
    for (size_t i = 0; i < n; i++)
        candidates[i].logit = candidates[i].id == id ? 0 : -std::numeric_limits<float>::infinity();
    return 0;
}

// Decodes tokens first .. first + n - 1 of every sequence.
void ModelRuns::append(unsigned first, unsigned n, uint32_t products, bool logits) {
    const ggufx_progress cancel = cancel_hook();
    const size_t n_context = ids_.size() / sequences_;
    for (unsigned i = 0; i < sequences_; i++)
        items_[i] =
            batch_item(i, logits ? GGUFX_BATCH_LOGITS : 0, {&ids_[i * n_context + first], n});
    auto options = sized<ggufx_batch_options>();
    options.flags = GGUFX_BATCH_MATMUL;
    options.matmul_flags = products;
    options.progress = &cancel;
    options.item_size = sizeof items_[0];
    if (logits) {
        options.logits = logits_.data();
        options.n_logits = logits_.size();
    }
    call([&](ggufx_error *error) {
        return ggufx_session_decode_batch(session_.get(), items_.data(), items_.size(), &options,
                                          error);
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
            return ggufx_session_sequence_truncate(session_.get(), i, before, error);
        });
    filled_ = before;
    if (depth && drafter_)
        know(before);
    else if (depth)
        append(before, 1, products_, false);
}

// Decodes a token whose logits the session keeps; drafting begins with them.
void ModelRuns::know(unsigned place) {
    const int32_t id = ids_[place];
    call([&](ggufx_error *error) {
        return ggufx_session_decode(session_.get(), &id, 1, nullptr, error);
    });
}

// Decodes tokens first .. first + n - 1 speculatively.
void ModelRuns::guess(unsigned first, unsigned n) {
    chosen_ = first;
    for (unsigned done = 0; done < n; done++) {
        while (!drafter_->ask(chooser_.get(), nullptr, n - done)) check_interrupt();
        (void)drafter_->take();
    }
}

Rates ModelRuns::measure(const ModelTest &test, unsigned depth, unsigned rounds,
                         Progress &progress) {
    Rates rates = {{}, std::numeric_limits<double>::quiet_NaN()};
    const ggufx_speculator_facts before = drafter_ ? drafter_->facts() : ggufx_speculator_facts{};
    for (unsigned round = 0; round < rounds; round++) {
        check_interrupt();
        progress.update(round, rounds, test.name());
        fill(depth);
        const double seconds = seconds_of([&] { compute(test, depth); });
        rates.per_second.push_back(double{1} * sequences_ * test.tokens() / seconds);
    }
    if (!drafter_) return rates;
    const ggufx_speculator_facts after = drafter_->facts();
    const auto drafted = static_cast<double>(after.n_drafted - before.n_drafted);
    if (drafted > 0)
        rates.accepted = static_cast<double>(after.n_accepted - before.n_accepted) / drafted;
    return rates;
}

void ModelRuns::compute(const ModelTest &test, unsigned depth) {
    const unsigned first = depth + test.prompt;
    if (!drafter_) {
        if (test.prompt) append(depth, test.prompt, products_, true);
        for (unsigned i = 0; i < test.predict; i++) append(first + i, 1, products_, true);
        return;
    }
    if (test.prompt > 1) append(depth, test.prompt - 1, products_, false);
    if (test.prompt) know(first - 1);
    guess(first, test.predict);
}

Spread spread_of(const std::vector<double> &values) {
    const auto n = static_cast<double>(values.size());
    double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    for (const double value : values) squares += (value - sum / n) * (value - sum / n);
    return {sum / n, n > 1 ? std::sqrt(squares / (n - 1)) : 0};
}

} // namespace ggufx::cli
