// SPDX-License-Identifier: MIT
#include "serve/samplers.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ggufx::cli {

// Bit set of the samplers whose parameters in the request or on the server differ from the model's
// defaults.
static uint32_t links_asked(const ModelSampling &model, const Wanted &wanted) {
    uint32_t out = 0;
    const auto need = [&](uint32_t key, auto value, auto of_model, auto off, uint32_t kind) {
        if (value != (model.has(key) ? of_model : off)) out |= 1u << kind;
    };
    const SamplingDefaults &s = wanted.sampling;
    const ggufx_sampling_facts &f = model.facts;
    need(GGUFX_SAMPLING_TEMPERATURE, s.temperature, f.temperature, 1.0f, GGUFX_LINK_TEMPERATURE);
    need(GGUFX_SAMPLING_TOP_K, s.top_k, f.top_k, 0u, GGUFX_LINK_TOP_K);
    need(GGUFX_SAMPLING_TOP_P, s.top_p, f.top_p, 1.0f, GGUFX_LINK_TOP_P);
    need(GGUFX_SAMPLING_MIN_P, s.min_p, f.min_p, 0.0f, GGUFX_LINK_MIN_P);
    if (wanted.frequency_penalty != 0 || wanted.presence_penalty != 0)
        out |= 1u << GGUFX_LINK_PENALTIES;
    return out;
}

Sampler make_request_sampler(const ModelHost &host, const SamplingOptions &options) {
    try {
        return make_sampler(host.rt(), host.facts().n_vocab, options, host.tokenizer());
    } catch (const Failure &failure) {
        throw ApiError(failure.exit_code == kUsage ? 400 : 503, failure.what(), "logit_bias",
                       "invalid_value");
    }
}

std::shared_ptr<const SamplingOptions> checked_sampling(const ModelHost &host,
                                                        const Wanted &wanted) {
    auto out = std::make_shared<SamplingOptions>(host.sampling());
    out->temperature = wanted.sampling.temperature;
    out->top_k = wanted.sampling.top_k;
    out->top_p = wanted.sampling.top_p;
    out->min_p = wanted.sampling.min_p;
    const ModelSampling &model = host.model_sampling();
    if (!model.orders(links_asked(model, wanted))) out->samplers.clear();
    out->frequency_penalty = wanted.frequency_penalty;
    out->presence_penalty = wanted.presence_penalty;
    const uint32_t n_last =
        model.has(GGUFX_SAMPLING_N_LAST) ? out->repeat_last_n : host.n_context();
    out->repeat_last_n = std::min({n_last, host.n_context(), GGUFX_LINK_MOST_LAST});
    for (const ggufx_logit_bias &bias : wanted.biases)
        out->biases.push_back(fmt::format("{}={}", bias.id, bias.bias));
    make_request_sampler(host, *out);
    return out;
}

} // namespace ggufx::cli
