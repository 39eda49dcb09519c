// The links of a chain, each with its numbers: what they take away, or how they change logits.
// docs/reproducibility/models.md has their definitions.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/sampling/candidates.hpp"
#include "model/sampling/random.hpp"
#include "model/sampling/window.hpp"

#include <variant>

struct ggufx_candidate; // the host's name of a Candidate

namespace ggufx::sampling {

// What a link works on.
struct Step {
    Candidates &candidates;
    Random &random;
    Failure *failure;
};

// Sum of weight * (logit - top), after weigh(). Below -100 the weight is 0.
inline double sum_below(Candidates &candidates, double top) {
    return candidates.sum([=](float logit, float weight) {
        const double below = static_cast<double>(logit) - top;
        return static_cast<double>(weight) * (below > -100.0 ? below : -100.0);
    });
}

// ---- filters ----

struct TopK {
    uint32_t k;
    Status apply(Step &step);
};

struct TopP {
    float p;
    Status apply(Step &step);
};

struct MinP {
    float p;
    Status apply(Step &step);
};

struct Typical {
    float p;
    Status apply(Step &step);
};

struct TopNSigma {
    float n_sigma;
    Status apply(Step &step);
};

struct Xtc {
    float probability, threshold;
    Status apply(Step &step);
};

// ---- changes ----

struct Temperature {
    float temperature, range, exponent; // range 0: the same temperature always
    Status apply(Step &step);
};

struct Penalties {
    float repetition, frequency, presence;
    Window window;
    Status apply(Step &step);
    void accept(int32_t id) { window.add(id); }
    void reset() { window.clear(); }
};

struct Bias {
    struct Entry {
        int32_t id;
        float bias;
    };
    Vector<Entry> entries; // ids ascending, each once
    Status apply(Step &step);
};

// Of the last tokens: what would go on a text that stood there before. Linear in the window.
class Dry {
public:
    Dry(const Host *host, uint32_t n_vocab, uint32_t n_last);
    float multiplier = 0, base = 0;
    uint32_t allowed_length = 0;
    Vector<int32_t> breakers; // ascending
    Status apply(Step &step);
    void accept(int32_t id);
    void reset();

private:
    static constexpr uint32_t kNowhere = UINT32_MAX;
    bool breaks(int32_t id) const;
    int32_t back(size_t i) const; // the i-th of the last tokens, 0 = the last one
    void find_repeats();
    float penalty(uint32_t length) const;

    Vector<int32_t> ring_;
    size_t next_ = 0, n_ = 0;
    struct Repeat {
        int32_t id;
        uint32_t length; // of the longest one that the id goes on
    };
    Vector<uint32_t> same_;   // Z-function of the tokens from the last one back
    Vector<Repeat> repeats_;  // of a sample, in no order
    Vector<uint32_t> places_; // [n_vocab] in it, else kNowhere
};

// ---- mirostat ----

constexpr double kLn2 = 0x1.62e42fefa39efp-1;

// Steers to a surprise (bits): the candidates whose surprise is not above mu, which is moved
// by that of each accepted token.
struct Mirostat {
    uint32_t version; // 1 or 2
    float tau, eta;
    uint32_t m; // of version 1
    double mu;
    struct Chosen {
        int32_t id = -1;
        double surprise = 0;
    } chosen; // by the last sample
    Status apply(Step &step);
    void accept(int32_t id);
    void reset();

private:
    size_t keep_by_slope(Candidates &candidates) const;
    size_t keep_by_surprise(Candidates &candidates) const;
};

// ---- the host's ----

struct HostSampler {
    void *user;
    int32_t (*link)(void *user, ggufx_candidate *candidates, size_t n);
    Status apply(Step &step);
};

using SamplerStep = std::variant<TopK, TopP, MinP, Typical, TopNSigma, Xtc, Temperature, Penalties,
                                 Bias, Dry, Mirostat, HostSampler>;

} // namespace ggufx::sampling
