// Mirostat (Basu et al., 2020): generates with a target surprisal. Version 1 estimates the slope of
// the probabilities from the first m ranks, and from it the number of ranks to keep. Version 2
// keeps the ranks whose surprisal is at most mu.
// SPDX-License-Identifier: MIT
#include "base/math.hpp"
#include "sampling/samplers.hpp"

namespace ggufx::sampling {

// Returns the number of ranks: (e 2^mu / (1 - n^-e))^(1 / s), e = s - 1, with the exponent s of
// Zipf's law.
size_t Mirostat::keep_by_slope(Candidates &candidates) const {
    const size_t n = candidates.rank(nullptr, m);
    double with = 0.0, squares = 0.0;
    for (size_t i = 0; i + 1 < n; i++) {
        const double t = log_f64(static_cast<double>(i + 2) / static_cast<double>(i + 1));
        with += t * (static_cast<double>(candidates.ranked(i).logit) -
                     static_cast<double>(candidates.ranked(i + 1).logit));
        squares += t * t;
    }
    const double s = with / squares, e = s - 1.0;
    const double all = static_cast<double>(candidates.n_vocab());
    const double k = pow_f64(e * exp_f64(mu * kLn2) / (1.0 - pow_f64(all, -e)), 1.0 / s);
    const size_t most = candidates.n();
    if (!(k >= 1.0)) return 1; // also for NaN
    return k < static_cast<double>(most) ? static_cast<size_t>(k) : most;
}

size_t Mirostat::keep_by_surprise(Candidates &candidates) const {
    const double least = candidates.weigh() * exp_f64(-mu * kLn2);
    const double top = static_cast<double>(candidates.largest());
    size_t above = 0;
    for (size_t most = 128;; most = candidates.more_ranks(most)) {
        const size_t n = candidates.rank(nullptr, most);
        for (; above < n; above++) {
            const double below = static_cast<double>(candidates.ranked(above).logit) - top;
            if (!(static_cast<double>(exp_f32(static_cast<float>(below))) >= least))
                return above ? above : 1;
        }
        if (n < most) return n;
    }
}

Status Mirostat::apply(Step &step) {
    Candidates &candidates = step.candidates;
    const size_t kept = version == 1 ? keep_by_slope(candidates) : keep_by_surprise(candidates);
    candidates.keep_ranked(candidates.rank(nullptr, kept));
    return Status::ok;
}

void Mirostat::accept(int32_t id) {
    if (id != chosen.id) return; // the id was not drawn here
    mu -= static_cast<double>(eta) * (chosen.surprise - static_cast<double>(tau));
    chosen = {};
}

void Mirostat::reset() {
    mu = 2.0 * static_cast<double>(tau);
    chosen = {};
}

} // namespace ggufx::sampling
