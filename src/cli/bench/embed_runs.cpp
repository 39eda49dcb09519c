// SPDX-License-Identifier: MIT
#include "bench/embed_runs.hpp"

#include "common/signals.hpp"
#include "common/timing.hpp"
#include "models/text_model.hpp"

#include <algorithm>
#include <limits>

namespace ggufx::cli {

EmbedRuns::EmbedRuns(const ggufx_model *model, const ModelCase &which, const TextIds &text,
                     unsigned n_tokens)
    : sequences_(which.sequences), text_(text) {
    auto options = sized<ggufx_embed_options>();
    options.n_context = n_tokens;
    options.n_batch = std::max(which.batch, n_tokens);
    options.matmul_flags = which.products->flags;
    ggufx_embedder_facts facts;
    embedder_ = make_embedder(model, options, facts);
    dimensions_ = facts.dimensions;
}

Rates EmbedRuns::measure(const ModelTest &test, unsigned rounds, Progress &progress) {
    Rates rates = {{}, std::numeric_limits<double>::quiet_NaN()};
    TextIds ids;
    for (unsigned i = 0; i < sequences_; i++) add_turned(ids, text_, i, test.prompt);
    const std::vector<size_t> lengths(sequences_, test.prompt);
    const std::vector<ggufx_token_list> texts = token_lists(ids, lengths);
    std::vector<float> out(sequences_ * dimensions_);
    const ggufx_progress cancel = cancel_hook();
    for (unsigned round = 0; round < rounds; round++) {
        check_interrupt();
        progress.update(round, rounds, test.name());
        const double seconds = seconds_of([&] {
            call([&](ggufx_error *error) {
                return ggufx_embed(out.data(), out.size(), embedder_.get(), texts.data(),
                                   texts.size(), &cancel, error);
            });
        });
        rates.per_second.push_back(static_cast<double>(ids.size()) / seconds);
    }
    return rates;
}

} // namespace ggufx::cli
