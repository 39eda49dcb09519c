// Counters and histograms in the Prometheus text format.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/grammar_cache.hpp"
#include "serve/scheduler.hpp"

#include <map>
#include <mutex>
#include <vector>

namespace ggufx::cli {

class Histogram {
public:
    // Upper bounds of the buckets; one more bucket counts larger values. Default: seconds.
    explicit Histogram(std::vector<double> bounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                     0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0})
        : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}
    void add(double value);
    std::string text(const std::string &name, const std::string &help) const;

private:
    std::vector<double> bounds_;
    std::vector<uint64_t> counts_;
    double sum_ = 0;
};

class Metrics {
public:
    void request(int status);
    void log_lost();                  // a line of the access log
    void waited(double seconds);      // time in the queue
    void first_token(double seconds); // time to first token, from the arrival of the request
    void between_tokens(double seconds);
    void step(double seconds, const SchedulerCounts &counts);
    void memory(const BackendMemory &memory);
    void grammars(const GrammarCache::Counts &grammars);
    void weights(const ggufx_file_memory_facts &weights);
    SchedulerCounts counts() const;
    std::string text() const;

private:
    mutable std::mutex mutex_;
    std::map<int, uint64_t> requests_; // counts per status
    Histogram queue_, first_, between_, step_;
    Histogram widths_{{1, 2, 4, 8, 16, 32, 64}}; // sequences of a step
    uint64_t n_log_lost_ = 0;
    SchedulerCounts counts_;
    BackendMemory memory_ = {};
    GrammarCache::Counts grammars_;
    ggufx_file_memory_facts weights_ = {};
};

} // namespace ggufx::cli
