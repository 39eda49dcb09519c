// The best of several plain reads, and the multiply-add peak, with the same number of threads.
// SPDX-License-Identifier: MIT
#include "bench/roofs.hpp"
#include "common/team_timing.hpp"

namespace ggufx::cli {

static double best_median(const std::vector<double> *rates, size_t n) {
    double best = 0;
    for (size_t i = 0; i < n; i++) best = std::max(best, median(rates[i]));
    return best;
}

void ReadRoof::measure(const ggufx_runtime *rt, const ColdBuffer &buffer) {
    const size_t part = std::min(size_t{32} << 20, buffer.size());
    for (size_t v = 0; v < 4; v++) {
        next_ = (next_ + 1) % (buffer.size() / part);
        rates_[v].push_back(
            read_gbps(rt, buffer.data() + next_ * part, part, threads_, kReadVariants[v], clock_));
    }
}

double ReadRoof::gbps() const {
    return best_median(rates_, 4);
}

void PeakRoof::measure() {
    constexpr double kOps = 8e8; // about a millisecond of the fastest loops
    const PeakLoops all = peak_loops(isa_, f32_);
    for (size_t i = 0; i < all.n; i++) {
        const PeakLoop &loop = all.loops[i];
        const bool vectors = isa_ != GGUFX_ISA_SCALAR;
        const double ops = vectors ? kOps : kOps / 64;
        const auto turns = static_cast<uint64_t>(ops / loop.ops_per_turn);
        const double seconds = team_seconds(clock_, threads_, [&](unsigned) { loop.run(turns); });
        rates_[i].push_back(static_cast<double>(turns) * loop.ops_per_turn * threads_ / seconds /
                            1e9);
    }
}

double PeakRoof::gops() const {
    return best_median(rates_.data(), rates_.size());
}

} // namespace ggufx::cli
