// SPDX-License-Identifier: MIT
#include "bench/model_runs.hpp"

#include "bench/blocks.hpp"
#include "floor/signals.hpp"
#include "floor/timing.hpp"

#include <cmath>
#include <fmt/format.h>

namespace ggufx::cli {

const std::vector<ProductMode> kProductModes = {{"default", 0},
                                                {"rows", GGUFX_MATMUL_BATCH_INVARIANT},
                                                {"tiles", GGUFX_MATMUL_TILES},
                                                {"precise", GGUFX_MATMUL_PRECISE},
                                                {"f32", GGUFX_MATMUL_F32}};

std::string ModelTest::name() const {
    std::string first = prompt ? fmt::format("pp{}", prompt) : "";
    if (!predict) return first;
    return fmt::format("{}{}tg{}", first, prompt ? "+" : "", predict);
}

ModelRuns::ModelRuns(Session session, const ModelCase &first, uint32_t n_vocab, unsigned n_context)
    : session_(std::move(session)), sequences_(first.sequences), products_(first.products->flags),
      ids_(size_t{sequences_} * n_context), logits_(size_t{sequences_} * n_vocab),
      items_(sequences_) {
    Random random(1);
    for (int32_t &id : ids_) id = static_cast<int32_t>(random.next() % n_vocab);
}

// Tokens first .. first + n - 1 of every sequence.
void ModelRuns::append(unsigned first, unsigned n, uint32_t products, bool logits) {
    const ggufx_progress cancel = cancel_hook();
    const size_t n_context = ids_.size() / sequences_;
    for (unsigned i = 0; i < sequences_; i++)
        items_[i] = {i, logits ? GGUFX_BATCH_LOGITS : 0, &ids_[i * n_context + first], n};
    ggufx_batch_options options;
    ggufx_batch_options_init(&options);
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

// To the depth. Its last token comes anew before each round, and with it, untimed, whatever a cut
// left to compute again.
void ModelRuns::fill(unsigned depth) {
    if (filled_ + 1 < depth)
        append(filled_, depth - 1 - filled_, products_ & ~GGUFX_MATMUL_BATCH_INVARIANT, false);
    const unsigned before = depth ? depth - 1 : 0;
    for (unsigned i = 0; i < sequences_; i++)
        call([&](ggufx_error *error) {
            return ggufx_session_sequence_truncate(session_.get(), i, before, error);
        });
    filled_ = before;
    if (depth) append(before, 1, products_, false);
}

std::vector<double> ModelRuns::measure(const ModelTest &test, unsigned depth, unsigned rounds,
                                       Progress &progress) {
    std::vector<double> rates;
    for (unsigned round = 0; round < rounds; round++) {
        check_interrupt();
        progress.update(round, rounds, test.name());
        fill(depth);
        const double seconds = seconds_of([&] {
            if (test.prompt) append(depth, test.prompt, products_, true);
            for (unsigned i = 0; i < test.predict; i++)
                append(depth + test.prompt + i, 1, products_, true);
        });
        rates.push_back(double{1} * sequences_ * test.tokens() / seconds);
    }
    return rates;
}

Spread spread_of(const std::vector<double> &values) {
    const auto n = static_cast<double>(values.size());
    double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    for (const double value : values) squares += (value - sum / n) * (value - sum / n);
    return {sum / n, n > 1 ? std::sqrt(squares / (n - 1)) : 0};
}

} // namespace ggufx::cli
