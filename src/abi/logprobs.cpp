// Log-probabilities: include/ggufx/sampler.h.
// SPDX-License-Identifier: MIT
#include "model/sampling/logprobs.hpp"
#include "abi/guard.hpp"
#include "abi/model_handles.hpp"
#include "base/fpenv.hpp"

#include <ggufx/sampler.h>
#include <inttypes.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

const kernels::RowKernels &row_kernels(const ggufx_runtime *rt) {
    return *kernels::rows_of(rt->engine->kernels());
}

Status check_logprobs(const ggufx_runtime *rt, const float *logits, size_t n, size_t k,
                      bool has_room, Failure *failure) {
    if (!alive(rt, Tag::runtime) || !logits || !has_room)
        return set_failure(failure, Status::argument, {}, "outputs, rt and logits must be set");
    if (n == 0 || n > INT32_MAX || k > n)
        return set_failure(failure, Status::argument, {},
                           "n is %" PRIu64 ": it must be 1 to 2^31 - 1, and k (%" PRIu64
                           ") no more",
                           static_cast<uint64_t>(n), static_cast<uint64_t>(k));
    const float most = sampling::largest_of(row_kernels(rt), logits, n);
    if (most == __builtin_inff()) return sampling::bad_logit(logits, failure);
    if (most != sampling::kGone) return Status::ok;
    return set_failure(failure, Status::value, {}, "no logit is finite");
}

} // namespace

extern "C" ggufx_status ggufx_logprobs(int32_t *out_ids, float *out_logprobs, size_t k,
                                       const ggufx_runtime *rt, const float *logits, size_t n,
                                       ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        const CanonicalFp canonical;
        const Status status =
            check_logprobs(rt, logits, n, k, k == 0 || (out_ids && out_logprobs), failure);
        if (status != Status::ok) return status;
        const sampling::Logprobs logprobs(row_kernels(rt), logits, n);
        sampling::find_likeliest(out_ids, out_logprobs, k, logits, n);
        for (size_t i = 0; i < k; i++) out_logprobs[i] = logprobs.of(out_logprobs[i]);
        return Status::ok;
    });
}

extern "C" ggufx_status ggufx_token_logprob(float *out, const ggufx_runtime *rt,
                                            const float *logits, size_t n, int32_t token,
                                            ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        const CanonicalFp canonical;
        const Status status = check_logprobs(rt, logits, n, 0, out != nullptr, failure);
        if (status != Status::ok) return status;
        if (token < 0 || static_cast<size_t>(token) >= n)
            return set_failure(failure, Status::argument, {},
                               "token is %" PRId32 ", there are %" PRIu64 " tokens", token,
                               static_cast<uint64_t>(n));
        *out = sampling::Logprobs(row_kernels(rt), logits, n).of(logits[token]);
        return Status::ok;
    });
}
