// Chunk by chunk: decodes all tokens but the last, projects only the scored rows, 32 at a time, and
// adds the negative log-likelihoods in order of position.
// SPDX-License-Identifier: MIT
#include "eval/perplexity.hpp"

#include "base/math.hpp"
#include "run/rows.hpp"
#include "sampling/logprobs.hpp"

#include <algorithm>
#include <inttypes.h>
#include <math.h>

namespace ggufx::model {

namespace {

class PerplexityRun {
public:
    PerplexityRun(Session &session, const PerplexityTask &task)
        : session_(session), task_(task),
          n_vocab_(static_cast<size_t>(session.model().shape().n_vocab)),
          chunk_(task.text.n_context, HostAllocator<int32_t>(session.model().host().get())),
          logits_(kScoredGroup * n_vocab_, HostAllocator<float>(session.model().host().get())) {}

    Status chunk(size_t index, Failure *failure);
    PerplexityResult result() const {
        return sums_.result(n_chunks_, n_chunks_ * task_.text.n_context);
    }

private:
    Status score(size_t position, size_t row, size_t n, Failure *failure);
    template <class Fn> Status watch(const Fn &fn);
    static int32_t report(void *self, uint64_t done, uint64_t total);
    Watchers watchers() {
        return {task_.progress.report ? Progress{this, report} : Progress{}, nullptr};
    }

    Session &session_;
    const PerplexityTask &task_;
    size_t n_vocab_;
    Vector<int32_t> chunk_;
    Vector<float> logits_;
    double losses_[kScoredGroup];
    LossSums sums_;
    uint64_t n_chunks_ = 0;
    uint64_t n_done_ = 0; // tokens
};

int32_t PerplexityRun::report(void *self, uint64_t done, uint64_t) {
    const auto *run = static_cast<const PerplexityRun *>(self);
    const Chunks &text = run->task_.text;
    return run->task_.progress.cancelled(run->n_done_ + done, text.count() * text.end_scored());
}

template <class Fn> Status PerplexityRun::watch(const Fn &fn) {
    Status status = Status::ok;
    for (size_t i = 0; i < task_.n_watchers && status == Status::ok; i++)
        status = fn(*task_.watchers[i]);
    return status;
}

// Scores rows row .. row + n - 1 of the latest batch. They start at `position` of the
// chunk and predict the next token.
Status PerplexityRun::score(size_t position, size_t row, size_t n, Failure *failure) {
    Status status = session_.project(logits_.data(), row, n, failure);
    if (status != Status::ok) return status;
    const kernels::RowKernels &rows = *kernels::rows_of(session_.model().engine().kernels());
    status = for_rows(*session_.model().host(), n, 8 * n_vocab_, [&](size_t i) {
        const float *logits = logits_.data() + i * n_vocab_;
        float largest = logits[0];
        for (size_t k = 1; k < n_vocab_; k++) largest = std::max(largest, logits[k]);
        const size_t next = static_cast<size_t>(chunk_[position + i + 1]);
        const double hit = static_cast<double>(logits[next]) - static_cast<double>(largest);
        losses_[i] = sampling::log_sum_exp(rows, logits, n_vocab_, largest) - hit;
    });
    if (status != Status::ok) return set_failure(failure, status, {}, "the executor failed");
    const CanonicalFp canonical;
    for (size_t i = 0; i < n; i++) sums_.add(losses_[i]);
    return watch([&](ScoredRows &watcher) {
        return watcher.rows(logits_.data(), n, chunk_.data() + position + 1, losses_, failure);
    });
}

Status PerplexityRun::chunk(size_t index, Failure *failure) {
    task_.text.copy(chunk_.data(), index);
    const size_t first = task_.text.first_scored(), end = task_.text.end_scored();
    Status status =
        watch([&](ScoredRows &watcher) { return watcher.begin_chunk(chunk_.data(), failure); });
    for (size_t done = 0; done < end && status == Status::ok;) {
        const size_t batch = std::min<size_t>(end - done, session_.n_batch());
        status = session_.advance(chunk_.data() + done, batch, failure, watchers());
        for (size_t at = std::max(first, done); at < done + batch && status == Status::ok;) {
            const size_t n = std::min(kScoredGroup, done + batch - at);
            status = score(at, at - done, n, failure);
            at += n;
        }
        done += batch;
        n_done_ += batch;
    }
    n_chunks_++;
    if (status != Status::ok) return status;
    return watch([&](ScoredRows &watcher) { return watcher.end_chunk(failure); });
}

} // namespace

PerplexityResult LossSums::result(uint64_t n_chunks, uint64_t n_tokens) const {
    const CanonicalFp canonical;
    const double n = static_cast<double>(n_);
    const double mean = sum_ / n;
    const double variance = sum_of_squares_ / n - mean * mean;
    const double perplexity = exp_f64(mean);
    const double error = variance > 0.0 && n_ > 1 ? sqrt(variance / (n - 1.0)) : 0.0;
    return {perplexity, error * perplexity, n_chunks, n_tokens, n_};
}

Status perplexity(PerplexityResult *out, Session &session, const PerplexityTask &task,
                  Failure *failure) {
    Status status = check_chunks(session, task.text, failure);
    if (status != Status::ok) return status;
    PerplexityRun run(session, task);
    for (size_t i = 0; i < task.text.count() && status == Status::ok; i++) {
        status = run.chunk(i, failure);
        (void)session.truncate(0, 0, nullptr); // to 0 tokens: cannot fail
        if (status != Status::ok || !task.report) continue;
        const int32_t result = task.report(task.user, run.result());
        if (result != 0) {
            status =
                set_failure(failure, ended_by_host(result), {},
                            "cancelled after %" PRIu64 " chunks", static_cast<uint64_t>(i + 1));
        }
    }
    if (status == Status::ok) *out = run.result();
    return status;
}

} // namespace ggufx::model
