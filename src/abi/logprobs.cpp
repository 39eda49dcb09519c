// Log-probabilities: include/ggufx/sampler.h.
// SPDX-License-Identifier: MIT
#include "sampling/logprobs.hpp"
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

Status check_arguments(size_t k, size_t n, const int32_t *tokens, Failure *failure) {
    if (n == 0 || n > INT32_MAX || (!tokens && k > n))
        return set_failure(failure, Status::argument, {},
                           "n is %" PRIu64 ": it must be 1 to 2^31 - 1, and k (%" PRIu64
                           ") no more",
                           static_cast<uint64_t>(n), static_cast<uint64_t>(k));
    for (size_t i = 0; tokens && i < k; i++)
        if (tokens[i] < 0 || static_cast<size_t>(tokens[i]) >= n)
            return set_failure(failure, Status::argument, {kNone, i},
                               "token is %" PRId32 ", there are %" PRIu64 " tokens", tokens[i],
                               static_cast<uint64_t>(n));
    return Status::ok;
}

Status check_logits(const ggufx_runtime *rt, const float *logits, size_t n, Failure *failure) {
    const float most = sampling::largest_of(row_kernels(rt), logits, n);
    if (most == __builtin_inff()) return sampling::bad_logit(logits, failure);
    if (most != sampling::kGone) return Status::ok;
    return set_failure(failure, Status::value, {}, "no logit is finite");
}

} // namespace

extern "C" ggufx_status ggufx_logprobs(int32_t *out_ids, float *out_logprobs, size_t k,
                                       const ggufx_runtime *rt, const float *logits, size_t n,
                                       const int32_t *tokens, ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        const CanonicalFp canonical;
        const bool has_room = k == 0 || (out_logprobs && (out_ids || tokens));
        if (!alive(rt, Tag::runtime) || !logits || !has_room)
            return set_failure(failure, Status::argument, {}, "outputs, rt and logits must be set");
        Status status = check_arguments(k, n, tokens, failure);
        if (status == Status::ok) status = check_logits(rt, logits, n, failure);
        if (status != Status::ok) return status;
        const sampling::Logprobs logprobs(row_kernels(rt), logits, n);
        if (!tokens) sampling::find_likeliest(out_ids, out_logprobs, k, logits, n);
        for (size_t i = 0; tokens && i < k; i++) {
            if (out_ids) out_ids[i] = tokens[i];
            out_logprobs[i] = logits[tokens[i]];
        }
        for (size_t i = 0; i < k; i++) out_logprobs[i] = logprobs.of(out_logprobs[i]);
        return Status::ok;
    });
}
