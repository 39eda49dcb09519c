// SPDX-License-Identifier: MIT
#include "models/sampling.hpp"

#include "models/text_model.hpp"

namespace ggufx::cli {

void add_sampling_options(Command &sub, SamplingOptions &options) {
    sub.option("--temp", options.temperature, "temperature, 0 = always the likeliest; default 0.8")
        .within(0.0, 1e6);
    sub.option("--top-k", options.top_k, "keep the k likeliest, 0 = all; default 40");
    sub.option("--top-p", options.top_p, "keep the likeliest up to this probability; default 0.95")
        .within(0.0, 1.0);
    sub.option("--min-p", options.min_p, "drop below this share of the likeliest; default 0.05")
        .within(0.0, 1.0);
    sub.option("--seed", options.seed, "random seed; the same seed gives the same ids; default 1");
}

Sampler make_sampler(const ggufx_runtime *rt, uint32_t n_vocab, const SamplingOptions &options) {
    ggufx_sampler_options of;
    ggufx_sampler_options_init(&of);
    of.temperature = options.temperature;
    of.top_k = options.top_k;
    of.top_p = options.top_p;
    of.min_p = options.min_p;
    of.seed = options.seed;
    ggufx_sampler *sampler = nullptr;
    call([&](ggufx_error *error) {
        return ggufx_sampler_create(&sampler, rt, n_vocab, &of, error);
    });
    return Sampler(sampler);
}

void add_session_options(Command &sub, SessionOptions &options) {
    sub.option("--ctx", options.n_context,
               "tokens of context; default those of the model, at most 8192");
    add_model_options(sub, options.making);
    sub.option("--ctk", options.type_k, "type of the cached keys; default f16").value("KVTYPE");
    sub.option("--ctv", options.type_v, "type of the cached values; default f16").value("KVTYPE");
}

Session make_session(const ggufx_runtime *rt, const ggufx_file *file, const ggufx_model *model,
                     const SessionOptions &options) {
    return make_session(rt, file, model, options.n_context,
                        kv_type_from_name(options.type_k, "--ctk"),
                        kv_type_from_name(options.type_v, "--ctv"));
}

} // namespace ggufx::cli
