// SPDX-License-Identifier: MIT
#include "serve/samplers.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ggufx::cli {

// Bit set of the samplers whose parameters in the request or on the server differ from the model's
// defaults.
static uint32_t samplers_asked(const ModelSampling &model, const Wanted &wanted) {
    uint32_t out = 0;
    const SamplingDefaults &s = wanted.sampling;
    const ggufx_sampling_facts &f = model.facts;
#define SERVED(KEY, field, type, off, least, most, long_name, help)                                \
    if (s.field != (model.has(GGUFX_SAMPLING_##KEY) ? f.field : off))                              \
        out |= 1u << GGUFX_SAMPLER_##KEY;
#include "sampling/samplers.def"
    if (wanted.frequency_penalty != 0 || wanted.presence_penalty != 0)
        out |= 1u << GGUFX_SAMPLER_PENALTIES;
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
#define SERVED(KEY, field, type, off, least, most, long_name, help)                                \
    out->field = wanted.sampling.field;
#include "sampling/samplers.def"
    const ModelSampling &model = host.model_sampling();
    if (!model.orders(samplers_asked(model, wanted))) out->samplers.clear();
    out->frequency_penalty = wanted.frequency_penalty;
    out->presence_penalty = wanted.presence_penalty;
    const uint32_t last_n =
        model.has(GGUFX_SAMPLING_LAST_N) ? out->repeat_last_n : host.n_context();
    out->repeat_last_n = std::min({last_n, host.n_context(), GGUFX_SAMPLER_MAX_LAST_N});
    for (const ggufx_logit_bias &bias : wanted.biases)
        out->biases.push_back(fmt::format("{}={}", bias.id, bias.bias));
    make_request_sampler(host, *out);
    return out;
}

} // namespace ggufx::cli
