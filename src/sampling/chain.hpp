// Sampler chain: samplers in the order of the caller, then a draw.
// SPDX-License-Identifier: MIT
#pragma once

#include "sampling/samplers.hpp"

namespace ggufx::sampling {

class Chain {
public:
    // Throws std::bad_alloc.
    Chain(const Ref<Host> &host, uint32_t n_vocab, const kernels::RowKernels &rows, uint64_t seed);

    uint32_t n_vocab() const { return candidates_.n_vocab(); }
    size_t n_samplers() const { return samplers_.size(); }
    bool ends() const; // mirostat, which must be last, is in the chain
    // Throws std::bad_alloc.
    void add(Sampler &&sampler) { samplers_.push_back(std::move(sampler)); }

    // Samples an id; n in 1 .. n_vocab. Never allocates or throws; a failure changes nothing.
    // *out_logprob is the log-probability among all n.
    Status sample(int32_t *out_id, float *out_logprob, const float *logits, size_t n,
                  const Allowed &allowed, Failure *failure);
    void accept(int32_t id); // 0 .. n_vocab - 1; never allocates or throws
    void reset();
    void reseed(uint64_t seed) { random_ = Random(seed_ = seed); }

    // State that a sample changes, for rollback.
    struct Checkpoint {
        Random random;
        Mirostat::Chosen chosen;
    };
    Checkpoint checkpoint() const;
    void rollback(const Checkpoint &checkpoint);

    // State between tokens that the accepted ids do not determine.
    struct State {
        uint64_t random;
        double mu; // that of mirostat, else 0
    };
    State state() const;
    void restore(const State &state);

private:
    const kernels::RowKernels &rows_;
    uint64_t seed_;
    Random random_;
    Candidates candidates_;
    Vector<Sampler> samplers_;
};

} // namespace ggufx::sampling
