// References for a benchmark's figures, measured in the same rounds: plain reads of the same
// memory, and the multiply-add peak of the instruction set.
// SPDX-License-Identifier: MIT
#pragma once

#include "bench/bench.hpp"
#include "bench/peak_loop.hpp"

namespace ggufx::cli {

// The fastest of four ways to read a buffer with a number of threads.
class ReadRoof {
public:
    ReadRoof(unsigned threads, Clock clock) : threads_(threads), clock_(clock) {}
    unsigned threads() const { return threads_; }
    // Reads parts of the buffer that were not read just before.
    void measure(const ggufx_runtime *rt, const ColdBuffer &buffer);
    double gbps() const; // the best median

private:
    unsigned threads_;
    Clock clock_;
    size_t next_ = 0;
    std::vector<double> rates_[4];
};

// The fastest of an instruction set's peak loops with a number of threads.
class PeakRoof {
public:
    PeakRoof(int32_t isa, bool f32, unsigned threads, Clock clock)
        : isa_(isa), f32_(f32), threads_(threads), clock_(clock), rates_(peak_loops(isa, f32).n) {}
    bool is_of(int32_t isa, unsigned threads) const { return isa == isa_ && threads == threads_; }
    void measure();
    double gops() const; // the best median; 0 if this build has no loop

private:
    int32_t isa_;
    bool f32_;
    unsigned threads_;
    Clock clock_;
    std::vector<std::vector<double>> rates_;
};

} // namespace ggufx::cli
