// Samples one id from logits: greedy, or a random draw after the filters top-k, top-p, min-p and
// temperature. The same seed, options and logits give the same ids on every machine
// (docs/reproducibility/models.md).
// SPDX-License-Identifier: MIT
#pragma once

#include "model/sampling/candidates.hpp"
#include "model/sampling/random.hpp"

namespace ggufx::model {

using sampling::Allowed;
using sampling::Random;

struct SamplerOptions {
    float temperature = 0.0f; // 0 = greedy
    float top_p = 0.0f;       // 0 or >= 1 = off
    float min_p = 0.0f;       // 0 = off
    uint32_t top_k = 0;       // 0 = off
    uint64_t seed = 0;
};

class Sampler {
public:
    // Throws std::bad_alloc; the options are checked by the caller.
    Sampler(const Ref<Host> &host, uint32_t n_vocab, const kernels::RowKernels &rows,
            const SamplerOptions &options);

    uint32_t n_vocab() const { return static_cast<uint32_t>(candidates_.size()); }

    // Samples an id; n in 1 .. n_vocab. Never allocates or throws. Fails with value. *out_logprob
    // is the log-probability among all n.
    Status sample(int32_t *out_id, float *out_logprob, const float *logits, size_t n,
                  const Allowed &allowed, Failure *failure);

    // State of the random generator, for rollback.
    using Checkpoint = Random;
    Checkpoint checkpoint() const { return random_; }
    void rollback(const Random &random) { random_ = random; }
    void reset() { random_ = Random(options_.seed); }
    void reseed(uint64_t seed) { random_ = Random(options_.seed = seed); }

private:
    struct Weighed {
        float logit;
        int32_t id;
        float weight; // exp(logit - largest), later with the temperature
        // Order of likelihood: the larger logit, the lower id among equals.
        bool operator<(const Weighed &o) const {
            return logit < o.logit || (logit == o.logit && id > o.id);
        }
    };
    size_t gather(const float *logits, size_t n, float largest, const Allowed &allowed);
    size_t keep_likeliest(size_t n);
    size_t drop_unlikely(size_t n);
    int32_t draw(size_t n, float largest);
    bool filters() const {
        return options_.top_k > 0 || options_.min_p > 0.0f ||
               (options_.top_p > 0.0f && options_.top_p < 1.0f);
    }
    struct Draw {
        const float *logits;
        size_t n;
        float largest; // among the allowed tokens
        const Allowed &allowed;
    };
    size_t weigh_part(float *weights, size_t part, const Draw &from) const;
    int32_t draw_any(const Draw &from);

    const kernels::RowKernels &rows_;
    SamplerOptions options_;
    Vector<Weighed> candidates_;
    Vector<double> sums_; // cumulative weights up to the end of each part of the vocabulary
    Random random_;
};

// Returns log of the sum of exp(logits - largest), in binary64, ascending ids. Needs CanonicalFp.
double log_sum_exp(const kernels::RowKernels &rows, const float *logits, size_t n, float largest);

} // namespace ggufx::model
