// Sampler: include/ggufx/model.h.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/model_handles.hpp"
#include "abi/options.hpp"

#include <ggufx/model.h>
#include <inttypes.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

void check_number(float value, float most, const char *name) {
    if (value >= 0.0f && value <= most) return;
    fail(Status::argument, {}, "ggufx_sampler_options.%s is %g: it must be 0 to %g", name,
         static_cast<double>(value), static_cast<double>(most));
}

model::SamplerOptions import_sampler_options(const ggufx_sampler_options *in) {
    const auto options = import_options(in, 0, "ggufx_sampler_options");
    check_number(options.temperature, 0x1.fffffep127f, "temperature");
    check_number(options.top_p, 1.0f, "top_p");
    check_number(options.min_p, 1.0f, "min_p"); // above 1 no token would remain
    return {options.temperature, options.top_p, options.min_p, options.top_k, options.seed};
}

} // namespace

Status ggufx::abi::check_sample(const int32_t *out_id, const ggufx_sampler *sampler,
                                const float *logits, size_t n, Failure *failure) {
    if (!out_id || !logits || !alive(sampler, Tag::sampler)) {
        return set_failure(failure, Status::argument, {}, "out_id, sampler and logits must be set");
    }
    const uint32_t n_vocab =
        std::visit([](const auto &s) { return s.n_vocab(); }, sampler->sampler);
    if (n == 0 || n > n_vocab) {
        return set_failure(failure, Status::argument, {},
                           "n is %" PRIu64 ", the sampler takes 1 to %" PRIu32 " logits",
                           static_cast<uint64_t>(n), n_vocab);
    }
    return Status::ok;
}

extern "C" ggufx_status ggufx_sampler_create(ggufx_sampler **out, const ggufx_runtime *rt,
                                             uint32_t n_vocab, const ggufx_sampler_options *options,
                                             ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        require(n_vocab > 0 && n_vocab <= INT32_MAX, "n_vocab must be 1 to 2^31 - 1");
        const model::SamplerOptions imported = import_sampler_options(options);
        *out = make<ggufx_sampler>(*rt->host, RuntimeRef::share(const_cast<ggufx_runtime *>(rt)),
                                   std::in_place_type<model::Sampler>, rt->host, n_vocab,
                                   *kernels::rows_of(rt->engine->kernels()), imported);
    });
}

extern "C" void ggufx_sampler_destroy(ggufx_sampler *sampler) {
    const NoCancel whole;
    if (!alive(sampler, Tag::sampler)) return;
    const RuntimeRef keep = sampler->runtime;
    destroy_object(keep->host, sampler);
}

extern "C" ggufx_status ggufx_sampler_sample(int32_t *out_id, float *out_logprob,
                                             ggufx_sampler *sampler, const float *logits, size_t n,
                                             ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        const Status status = check_sample(out_id, sampler, logits, n, failure);
        if (status != Status::ok) return status;
        return std::visit(
            [&](auto &s) { return s.sample(out_id, out_logprob, logits, n, {}, failure); },
            sampler->sampler);
    });
}
