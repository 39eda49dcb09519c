// SPDX-License-Identifier: MIT
#include "serve/metrics.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ggufx::cli {

void Histogram::add(double value) {
    const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value);
    counts_[static_cast<size_t>(at - bounds_.begin())]++;
    sum_ += value;
}

std::string Histogram::text(const std::string &name, const std::string &help) const {
    std::string out = fmt::format("# HELP {} {}\n# TYPE {} histogram\n", name, help, name);
    uint64_t n = 0;
    for (size_t i = 0; i < bounds_.size(); i++) {
        n += counts_[i];
        out += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, bounds_[i], n);
    }
    n += counts_.back();
    out += fmt::format("{}_bucket{{le=\"+Inf\"}} {}\n{}_sum {}\n{}_count {}\n", name, n, name, sum_,
                       name, n);
    return out;
}

void Metrics::request(int status) {
    const std::lock_guard lock(mutex_);
    requests_[status]++;
}

void Metrics::log_lost() {
    const std::lock_guard lock(mutex_);
    n_log_lost_++;
}

void Metrics::waited(double seconds) {
    const std::lock_guard lock(mutex_);
    queue_.add(seconds);
}

void Metrics::first_token(double seconds) {
    const std::lock_guard lock(mutex_);
    first_.add(seconds);
}

void Metrics::between_tokens(double seconds) {
    const std::lock_guard lock(mutex_);
    between_.add(seconds);
}

void Metrics::step(double seconds, const SchedulerCounts &counts) {
    const std::lock_guard lock(mutex_);
    if (counts.n_steps != counts_.n_steps) {
        step_.add(seconds);
        widths_.add(counts.width);
    }
    counts_ = counts;
}

void Metrics::memory(const BackendMemory &memory) {
    const std::lock_guard lock(mutex_);
    memory_ = memory;
}

void Metrics::grammars(const GrammarCache::Counts &grammars) {
    const std::lock_guard lock(mutex_);
    grammars_ = grammars;
}

void Metrics::weights(const ggufx_file_memory_facts &weights) {
    const std::lock_guard lock(mutex_);
    weights_ = weights;
}

SchedulerCounts Metrics::counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
}

std::string Metrics::text() const {
    const std::lock_guard lock(mutex_);
    std::string out = "# HELP ggufx_requests_total Finished requests, by HTTP status.\n"
                      "# TYPE ggufx_requests_total counter\n";
    for (const auto &[status, n] : requests_)
        out += fmt::format("ggufx_requests_total{{status=\"{}\"}} {}\n", status, n);
    const auto add = [&](const char *name, const char *kind, const char *help, uint64_t value) {
        out += fmt::format("# HELP ggufx_{} {}\n# TYPE ggufx_{} {}\nggufx_{} {}\n", name, help,
                           name, kind, name, value);
    };
    add("prompt_tokens_total", "counter", "Prompt tokens computed.", counts_.n_prompt_tokens);
    add("cached_tokens_total", "counter", "Prompt tokens taken from the prefix cache.",
        counts_.n_cached_tokens);
    add("generation_tokens_total", "counter", "Generated tokens computed.",
        counts_.n_answer_tokens);
    add("steps_total", "counter", "Calls of the model.", counts_.n_steps);
    add("cancelled_total", "counter", "Requests cancelled because the client disconnected.",
        counts_.n_left);
    add("running", "gauge", "Running requests.", counts_.n_running);
    add("waiting", "gauge", "Queued requests.", counts_.n_waiting);
    add("kv_cache_tokens", "gauge", "Tokens in the KV caches of all slots.", counts_.n_held);
    add("prefix_cache_tokens", "gauge", "Tokens in slots without a running request.",
        counts_.n_kept);
    add("preempted_total", "counter", "Preempted requests.", counts_.n_preempted);
    add("recomputed_tokens_total", "counter", "Tokens recomputed after preemption.",
        counts_.n_again);
    add("evicted_total", "counter", "Cached prefixes evicted to free a slot.", counts_.n_dropped);
    add("cache_bytes", "gauge", "Memory of the KV caches in bytes.", memory_.bytes);
    add("pages", "gauge", "Pages of the KV caches: 64 tokens of a layer each.", memory_.n_pages);
    add("shared_pages", "gauge", "References to pages that several slots share.",
        memory_.n_shared_pages);
    add("weights_mapped_bytes", "gauge", "Weights in memory-mapped files.", weights_.mapped_bytes);
    add("weights_copied_bytes", "gauge", "Weights copied into memory.", weights_.copied_bytes);
    if (weights_.huge_bytes != GGUFX_NONE)
        add("weights_huge_bytes", "gauge", "Weights in huge pages.", weights_.huge_bytes);
    add("grammars_compiled_total", "counter", "Compilations of JSON Schemas.",
        grammars_.n_compiled);
    add("grammars_cached_total", "counter", "Grammars taken from the cache.", grammars_.n_cached);
    add("grammar_cache_entries", "gauge", "Grammars in the cache.", grammars_.n_entries);
    add("grammar_cache_bytes", "gauge", "Memory of the grammars in the cache, with their masks.",
        grammars_.n_bytes);
    add("access_log_lost_total", "counter", "Lines lost from the access log.", n_log_lost_);
    out += widths_.text("ggufx_step_sequences", "Sequences per call of the model.");
    out += queue_.text("ggufx_queue_seconds", "Time in the queue.");
    out += first_.text("ggufx_first_token_seconds", "Time to the first token.");
    out += between_.text("ggufx_token_seconds", "Time between two tokens of a request.");
    out += step_.text("ggufx_step_seconds", "Time of a call of the model.");
    return out;
}

} // namespace ggufx::cli
