// Sampler chains: include/ggufx/sampler.h. sampler_add.cpp adds their samplers.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/model_handles.hpp"

#include <ggufx/sampler.h>
#include <inttypes.h>

using namespace ggufx;
using namespace ggufx::abi;

extern "C" ggufx_status ggufx_sampler_create(ggufx_sampler **out, const ggufx_runtime *rt,
                                             uint32_t n_vocab, uint64_t seed, ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        require(n_vocab > 0 && n_vocab <= INT32_MAX, "n_vocab must be 1 to 2^31 - 1");
        *out =
            make<ggufx_sampler>(*rt->host, RuntimeRef::share(const_cast<ggufx_runtime *>(rt)),
                                rt->host, n_vocab, *kernels::rows_of(rt->engine->kernels()), seed);
    });
}

extern "C" void ggufx_sampler_destroy(ggufx_sampler *sampler) {
    const NoCancel whole;
    if (!alive(sampler, Tag::sampler)) return;
    const RuntimeRef keep = sampler->runtime;
    destroy_object(keep->host, sampler);
}

extern "C" ggufx_status ggufx_sampler_sample(int32_t *out_id, float *out_logprob,
                                             ggufx_sampler *sampler, ggufx_matcher *matcher,
                                             const float *logits, size_t n, ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        if (!out_id || !logits || !alive(sampler, Tag::sampler))
            return set_failure(failure, Status::argument, {},
                               "out_id, sampler and logits must be set");
        sampling::Chain &chain = sampler->chain;
        if (n == 0 || n > chain.n_vocab())
            return set_failure(failure, Status::argument, {},
                               "n is %" PRIu64 ", the sampler takes 1 to %" PRIu32 " logits",
                               static_cast<uint64_t>(n), chain.n_vocab());
        if (matcher)
            return sample_matching(out_id, out_logprob, chain, matcher, logits, n, failure);
        return chain.sample(out_id, out_logprob, logits, n, {}, failure);
    });
}

extern "C" ggufx_status ggufx_sampler_accept(ggufx_sampler *sampler, const int32_t *ids, size_t n,
                                             ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        if (!alive(sampler, Tag::sampler) || (!ids && n))
            return set_failure(failure, Status::argument, {}, "sampler and ids must be set");
        const int64_t n_vocab = sampler->chain.n_vocab();
        for (size_t i = 0; i < n; i++) {
            if (ids[i] < 0 || ids[i] >= n_vocab)
                return set_failure(failure, Status::argument, {kNone, i},
                                   "id %" PRId32 " is not one of %" PRId64 " tokens", ids[i],
                                   n_vocab);
        }
        for (size_t i = 0; i < n; i++) sampler->chain.accept(ids[i]);
        return Status::ok;
    });
}

extern "C" ggufx_status ggufx_sampler_reset(ggufx_sampler *sampler, ggufx_error *error) {
    return guard(error, [&] {
        require(alive(sampler, Tag::sampler), "sampler must be set");
        sampler->chain.reset();
    });
}

extern "C" ggufx_status ggufx_sampler_clone(ggufx_sampler **out, const ggufx_sampler *sampler,
                                            ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(sampler, Tag::sampler), "out and sampler must be set");
        *out = make<ggufx_sampler>(*sampler->runtime->host, sampler->runtime, sampler->chain);
    });
}
