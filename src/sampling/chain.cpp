// SPDX-License-Identifier: MIT
#include "sampling/chain.hpp"

#include "base/fpenv.hpp"
#include "base/math.hpp"
#include "sampling/logprobs.hpp"

namespace ggufx::sampling {

Chain::Chain(const Ref<Host> &host, uint32_t n_vocab, const kernels::RowKernels &rows,
             uint64_t seed)
    : rows_(rows), seed_(seed), random_(seed), candidates_(host, n_vocab, rows),
      samplers_(HostAllocator<Sampler>(host.get())) {}

Chain::Checkpoint Chain::checkpoint() const {
    return {random_, ends() ? std::get<Mirostat>(samplers_.back()).chosen : Mirostat::Chosen()};
}

void Chain::rollback(const Checkpoint &checkpoint) {
    random_ = checkpoint.random;
    if (ends()) std::get<Mirostat>(samplers_.back()).chosen = checkpoint.chosen;
}

Chain::State Chain::state() const {
    return {random_.state(), ends() ? std::get<Mirostat>(samplers_.back()).mu : 0};
}

void Chain::restore(const State &state) {
    random_ = Random(state.random);
    if (ends()) std::get<Mirostat>(samplers_.back()).mu = state.mu;
}

bool Chain::ends() const {
    return !samplers_.empty() && std::holds_alternative<Mirostat>(samplers_.back());
}

Status Chain::sample(int32_t *out_id, float *out_logprob, const float *logits, size_t n,
                     const Allowed &allowed, Failure *failure) {
    const CanonicalFp canonical;
    Status status = candidates_.load(logits, n, allowed, failure);
    if (status != Status::ok) return status;
    Random random = random_; // a failed call draws nothing
    Step step = {candidates_, random, failure};
    for (Sampler &sampler : samplers_) {
        status = std::visit([&](auto &s) { return s.apply(step); }, sampler);
        if (status != Status::ok) return status;
    }
    const double total = candidates_.weigh();
    const size_t place = candidates_.draw(random.uniform(), total);
    const int32_t id = candidates_.id(place);
    if (ends()) {
        const double p = static_cast<double>(candidates_.weight(place)) / total;
        std::get<Mirostat>(samplers_.back()).chosen = {id, -log_f64(p) / kLn2};
    }
    random_ = random;
    *out_id = id;
    if (out_logprob) *out_logprob = Logprobs(rows_, logits, n).of(logits[id]);
    return Status::ok;
}

void Chain::accept(int32_t id) {
    const CanonicalFp canonical;
    for (Sampler &sampler : samplers_) {
        std::visit(
            [&](auto &s) {
                if constexpr (requires { s.accept(id); }) s.accept(id);
            },
            sampler);
    }
}

void Chain::reset() {
    random_ = Random(seed_);
    for (Sampler &sampler : samplers_) {
        std::visit(
            [&](auto &s) {
                if constexpr (requires { s.reset(); }) s.reset();
            },
            sampler);
    }
}

} // namespace ggufx::sampling
