// Decodes the context once, then each continuation after it, which is truncated again.
// SPDX-License-Identifier: MIT
#include "eval/choices.hpp"

#include "base/checked.hpp"
#include "run/rows.hpp"
#include "sampling/logprobs.hpp"

#include <algorithm>
#include <inttypes.h>

namespace ggufx::model {

namespace {

constexpr size_t kRows = 32; // rows of logits at once

class ChoicesRun {
public:
    ChoicesRun(Session &session, const ChoicesTask &task)
        : session_(session), task_(task),
          rows_(*kernels::rows_of(session.model().engine().kernels())),
          n_vocab_(static_cast<size_t>(session.model().shape().n_vocab)),
          logits_(kRows * n_vocab_, HostAllocator<float>(session.model().host().get())),
          sums_(task.n_continuations, 0.0, HostAllocator<double>(session.model().host().get())) {}

    Status check(Failure *failure);
    Status run(Failure *failure);
    const Vector<double> &sums() const { return sums_; }

private:
    Status decode(const int32_t *tokens, size_t n, size_t n_logits, Failure *failure);
    Status context(Failure *failure);
    Status continuation(size_t index, Failure *failure);
    static int32_t report(void *self, uint64_t done, uint64_t total);

    Session &session_;
    const ChoicesTask &task_;
    const kernels::RowKernels &rows_;
    size_t n_vocab_;
    Vector<float> logits_;
    Vector<double> sums_;
    uint64_t n_done_ = 0, n_all_ = 0;
};

int32_t ChoicesRun::report(void *self, uint64_t done, uint64_t) {
    const auto *run = static_cast<const ChoicesRun *>(self);
    return run->task_.progress.cancelled(run->n_done_ + done, run->n_all_);
}

Status ChoicesRun::check(Failure *failure) {
    if (session_.length(0) != 0)
        return set_failure(failure, Status::state, {},
                           "the session holds %" PRIu64 " tokens, it must be empty",
                           session_.length(0));
    n_all_ = task_.n_context;
    uint64_t longest = 0;
    for (size_t i = 0; i < task_.n_continuations; i++) {
        const uint64_t n = task_.continuations[i].n;
        if (n == 0)
            return set_failure(failure, Status::argument, {kNone, i},
                               "continuation %zu has no tokens", i);
        longest = std::max(longest, n);
        if (!checked::add(&n_all_, n_all_, n - 1))
            return set_failure(failure, Status::argument, {kNone, i},
                               "continuation %zu is too long", i);
    }
    if (task_.n_context > session_.n_context() ||
        longest - 1 > session_.n_context() - task_.n_context)
        return set_failure(failure, Status::capacity, {.limit = session_.n_context()},
                           "a context of %" PRIu64 " and a continuation of %" PRIu64
                           " tokens do not fit: the session has room for %" PRIu32,
                           static_cast<uint64_t>(task_.n_context), longest, session_.n_context());
    Status status = session_.check_ids(task_.context, task_.n_context, failure);
    for (size_t i = 0; i < task_.n_continuations && status == Status::ok; i++) {
        status =
            session_.check_ids(task_.continuations[i].tokens, task_.continuations[i].n, failure);
        if (status != Status::ok && failure) failure->index = i;
    }
    return status;
}

Status ChoicesRun::decode(const int32_t *tokens, size_t n, size_t n_logits, Failure *failure) {
    const BatchItem item = {0, tokens, n, n_logits, false};
    BatchOptions options;
    if (task_.progress.report) options.progress = {this, report};
    options.logits = n_logits ? logits_.data() : nullptr;
    const Status status = session_.decode_batch(&item, 1, options, failure);
    if (status == Status::ok) n_done_ += n;
    return status;
}

// Returns the log-probability of `token` for the row.
double score(const kernels::RowKernels &rows, const float *logits, size_t n_vocab, int32_t token) {
    const float largest = *std::max_element(logits, logits + n_vocab);
    const double hit = static_cast<double>(logits[token]) - static_cast<double>(largest);
    return hit - sampling::log_sum_exp(rows, logits, n_vocab, largest);
}

// Decodes the context; its last row predicts the first token of every continuation.
Status ChoicesRun::context(Failure *failure) {
    const Status status = decode(task_.context, task_.n_context, 1, failure);
    if (status != Status::ok) return status;
    const CanonicalFp canonical;
    for (size_t i = 0; i < task_.n_continuations; i++)
        sums_[i] = score(rows_, logits_.data(), n_vocab_, task_.continuations[i].tokens[0]);
    return Status::ok;
}

Status ChoicesRun::continuation(size_t index, Failure *failure) {
    const int32_t *const tokens = task_.continuations[index].tokens;
    const size_t n = task_.continuations[index].n - 1;
    for (size_t done = 0; done < n;) {
        const size_t batch = std::min(kRows, n - done);
        Status status = decode(tokens + done, batch, batch, failure);
        if (status != Status::ok) return status;
        double scores[kRows];
        status = for_rows(*session_.model().host(), batch, 8 * n_vocab_, [&](size_t i) {
            scores[i] = score(rows_, logits_.data() + i * n_vocab_, n_vocab_, tokens[done + i + 1]);
        });
        if (status != Status::ok) return set_failure(failure, status, {}, "the executor failed");
        const CanonicalFp canonical;
        for (size_t i = 0; i < batch; i++) sums_[index] += scores[i];
        done += batch;
    }
    return session_.truncate(0, task_.n_context, failure);
}

Status ChoicesRun::run(Failure *failure) {
    Status status = context(failure);
    for (size_t i = 0; i < task_.n_continuations && status == Status::ok; i++)
        status = continuation(i, failure);
    return status;
}

} // namespace

Status score_continuations(double *out, Session &session, const ChoicesTask &task,
                           Failure *failure) {
    ChoicesRun run(session, task);
    Status status = run.check(failure);
    if (status != Status::ok) return status;
    status = run.run(failure);
    (void)session.truncate(0, 0, nullptr); // to 0 tokens: cannot fail
    if (status == Status::ok) std::copy(run.sums().begin(), run.sums().end(), out);
    return status;
}

} // namespace ggufx::model
