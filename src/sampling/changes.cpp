// Samplers that change logits: temperature, penalties, biases, host samplers.
// SPDX-License-Identifier: MIT
#include "base/math.hpp"
#include "sampling/samplers.hpp"

namespace ggufx::sampling {

namespace {

// Returns the entropy of the candidates divided by the entropy of a uniform distribution: 0 .. 1.
double evenness(Candidates &candidates) {
    const double n = static_cast<double>(candidates.n_left());
    if (n < 2.0) return 0.0;
    const double total = candidates.weigh();
    const double top = static_cast<double>(candidates.largest());
    const double mean = sum_below(candidates, top);
    const double share = (log_f64(total) - mean / total) / log_f64(n);
    return share < 0.0 ? 0.0 : share > 1.0 ? 1.0 : share;
}

constexpr float kColdest = 0x1p-20f; // below it only the most likely remains

} // namespace

Status Temperature::apply(Step &step) {
    Candidates &candidates = step.candidates;
    float t = temperature;
    if (range > 0.0f) {
        const double low = temperature > range ? static_cast<double>(temperature - range) : 0.0;
        const double high = static_cast<double>(temperature) + static_cast<double>(range);
        const double even = evenness(candidates);
        const double raised = even > 0.0 ? pow_f64(even, static_cast<double>(exponent)) : 0.0;
        t = static_cast<float>(low + (high - low) * raised);
    }
    if (t < kColdest)
        candidates.keep_likeliest();
    else if (t != 1.0f)
        candidates.change_all([t](float logit) { return bounded(logit / t); });
    return Status::ok;
}

Status Penalties::apply(Step &step) {
    step.candidates.change_some(
        window.n_seen(), [&](size_t i) { return window.seen(i).id; },
        [&](int32_t id) { return window.find(id); },
        [&](size_t i, float logit) {
            const float scaled = logit > 0.0f ? logit / repeat : logit * repeat;
            const float counted = static_cast<float>(window.seen(i).count) * frequency;
            return bounded(scaled - (counted + presence));
        });
    return Status::ok;
}

Status LogitBias::apply(Step &step) {
    const auto find = [&](int32_t id) {
        const auto at = std::lower_bound(entries.begin(), entries.end(), id,
                                         [](const Entry &e, int32_t i) { return e.id < i; });
        return at != entries.end() && at->id == id ? static_cast<size_t>(at - entries.begin())
                                                   : entries.size();
    };
    step.candidates.change_some(
        entries.size(), [&](size_t i) { return entries[i].id; }, find,
        [&](size_t i, float logit) {
            const float bias = entries[i].bias;
            return bias == kGone ? kGone : bounded(logit + bias);
        });
    if (step.candidates.largest() != kGone) return Status::ok;
    return set_failure(step.failure, Status::value, {}, "the biases leave no token");
}

Status HostSampler::apply(Step &step) {
    size_t n = 0;
    Candidate *const lent = step.candidates.lend(&n);
    const int32_t result = change(user, reinterpret_cast<ggufx_candidate *>(lent), n);
    if (result != 0)
        return set_failure(step.failure, static_cast<Status>(result), {},
                           "a sampler of the host failed");
    const Status status = step.candidates.take_back(n, step.failure);
    if (status != Status::ok) return status;
    if (step.candidates.largest() != kGone) return Status::ok;
    return set_failure(step.failure, Status::value, {}, "a sampler of the host leaves no token");
}

} // namespace ggufx::sampling
