// Samplers of a chain with their parameters: filters, and changes of logits. samplers.def is their
// table. Definitions: include/ggufx/sampler.h, docs/reproducibility/models.md.
// SPDX-License-Identifier: MIT
#pragma once

#include "sampling/candidates.hpp"
#include "sampling/random.hpp"
#include "sampling/window.hpp"

#include <variant>

struct ggufx_candidate; // public name of a Candidate

namespace ggufx::sampling {

// State that a sampler works on.
struct Step {
    Candidates &candidates;
    Random &random;
    Failure *failure;
};

// Returns the sum of weight * (logit - top), after weigh(). Below -100 the weight is 0.
inline double sum_below(Candidates &candidates, double top) {
    return candidates.sum([=](float logit, float weight) {
        const double below = static_cast<double>(logit) - top;
        return static_cast<double>(weight) * (below > -100.0 ? below : -100.0);
    });
}

// ---- filters ----

// is_off(): the numbers switch the filter off.
#define FILTER1(id, ID, Type, name, order, type, a, example)                                       \
    struct Type {                                                                                  \
        type a;                                                                                    \
        bool is_off() const;                                                                       \
        Status apply(Step &step);                                                                  \
    };
#define FILTER2(id, ID, Type, name, order, type, a, b, example_a, example_b)                       \
    struct Type {                                                                                  \
        type a, b;                                                                                 \
        bool is_off() const;                                                                       \
        Status apply(Step &step);                                                                  \
    };
#include "sampling/samplers.def"

// ---- changes ----

struct Temperature {
    float temperature, range, exponent; // range 0: constant temperature
    Status apply(Step &step);
};

struct Penalties {
    float repeat, frequency, presence;
    Window window;
    Status apply(Step &step);
    void accept(int32_t id) { window.add(id); }
    void reset() { window.clear(); }
};

struct LogitBias {
    struct Entry {
        int32_t id;
        float bias;
    };
    Vector<Entry> entries; // ascending ids, each once
    Status apply(Step &step);
};

// DRY: penalizes tokens that would continue a repetition in the last tokens. Linear in the window.
class Dry {
public:
    Dry(const Host *host, uint32_t n_vocab, uint32_t last_n);
    float multiplier = 0, base = 0;
    uint32_t allowed_length = 0;
    Vector<int32_t> breakers; // ascending
    Status apply(Step &step);
    void accept(int32_t id);
    void reset();

private:
    static constexpr uint32_t kNowhere = UINT32_MAX;
    bool breaks(int32_t id) const;
    int32_t back(size_t i) const; // the i-th token from the end, 0 = the last one
    void find_repeats();
    float penalty(uint32_t length) const;

    Vector<int32_t> ring_;
    size_t next_ = 0, n_ = 0;
    struct Repeat {
        int32_t id;
        uint32_t length; // length of the longest repetition that the id continues
    };
    Vector<uint32_t> same_;  // Z-function of the reversed window
    Vector<Repeat> repeats_; // for one sample: the first n_repeats_, in any order
    size_t n_repeats_ = 0;
    Vector<uint32_t> places_; // [n_vocab] index in repeats_, else kNowhere
};

// ---- mirostat ----

constexpr double kLn2 = 0x1.62e42fefa39efp-1;

// Controls the surprisal (bits): keeps candidates whose surprisal is at most mu; each accepted
// token adjusts mu.
struct Mirostat {
    uint32_t version; // 1 or 2
    float tau, eta;
    uint32_t m; // version 1 only
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

// ---- host samplers ----

struct HostSampler {
    void *user;
    int32_t (*change)(void *user, ggufx_candidate *candidates, size_t n); // returns a Status
    Status apply(Step &step);
};

#define EACH(id, ID, Type, name, order) Type,
using Sampler = std::variant<
#include "sampling/samplers.def"
    LogitBias, Mirostat, HostSampler>;

} // namespace ggufx::sampling
