// Checks of appended tokens: capacity, ids, positions, embeddings.
// SPDX-License-Identifier: MIT
#include "run/session.hpp"

#include <inttypes.h>
#include <math.h>

namespace ggufx::model {

Status Session::check_ids(const int32_t *tokens, size_t n, Failure *failure) const {
    for (size_t i = 0; i < n; i++) {
        if (tokens[i] >= 0 && static_cast<uint64_t>(tokens[i]) < model_.shape().n_vocab) continue;
        return set_failure(failure, Status::argument, {kNone, i},
                           "token %" PRIu64 " is %" PRId32 ", the vocabulary has %" PRIu64
                           " tokens",
                           static_cast<uint64_t>(i), tokens[i], model_.shape().n_vocab);
    }
    return Status::ok;
}

static Status check_room(uint64_t length, size_t n, uint32_t n_context, Failure *failure) {
    const uint64_t left = n_context - length;
    if (n <= left) return Status::ok;
    return set_failure(failure, Status::capacity, {.value = n, .limit = left},
                       "%" PRIu64 " tokens do not fit: %" PRIu64 " of %" PRIu32 " are used",
                       static_cast<uint64_t>(n), length, n_context);
}

// Returns the number of learned position embeddings; without them positions have no limit below
// INT32_MAX.
int32_t Session::end_of_positions() const {
    const uint32_t learned = model_.shape().n_positions;
    return learned ? static_cast<int32_t>(learned) : INT32_MAX;
}

// Checks that positions ascend, after those in the sequence.
Status Session::check_positions(const BatchItem &item, Failure *failure) const {
    const int64_t next = sequences_[item.sequence].next_position();
    const int64_t end = end_of_positions();
    int64_t least = next;
    for (size_t i = 0; i < item.n; i++) {
        const int64_t position = item.positions ? item.positions[i] : next + int64_t(i);
        if (position < least || position >= end)
            return set_failure(failure, Status::argument, {kNone, i},
                               "token %" PRIu64 " is at position %" PRId64 ", it must be %" PRId64
                               " to %" PRId64,
                               static_cast<uint64_t>(i), position, least, end - 1);
        least = position + 1;
    }
    return Status::ok;
}

Status Session::check_embeddings(const BatchItem &item, Failure *failure) const {
    const size_t width = model_.shape().n_embd;
    for (size_t i = 0; i < item.n * width; i++)
        if (!isfinite(item.embeddings[i]))
            return set_failure(failure, Status::value, {kNone, i},
                               "value %" PRIu64 " of the embedding of token %" PRIu64
                               " is not finite",
                               static_cast<uint64_t>(i % width), static_cast<uint64_t>(i / width));
    return Status::ok;
}

Status Session::check_tokens(const BatchItem &item, Failure *failure) const {
    const uint64_t length = sequences_[item.sequence].length;
    Status status = check_room(length, item.n, n_context_, failure);
    if (status == Status::ok) status = check_positions(item, failure);
    if (status == Status::ok && item.tokens) status = check_ids(item.tokens, item.n, failure);
    if (status == Status::ok && item.embeddings) status = check_embeddings(item, failure);
    return status;
}

Status Session::check_item(const BatchItem &item, size_t index, Failure *failure) const {
    const uint64_t at = index;
    const auto refuse = [&](const char *what) {
        return set_failure(failure, Status::argument, {.index = at}, "item %" PRIu64 ": %s", at,
                           what);
    };
    if (item.sequence >= sequences_.size())
        return set_failure(failure, Status::argument, {.index = at},
                           "item %" PRIu64 ": sequence %" PRIu32 ", the session has %" PRIu64, at,
                           item.sequence, static_cast<uint64_t>(sequences_.size()));
    if ((!item.tokens && !item.embeddings) || item.n == 0)
        return refuse("tokens must hold at least one id, or embeddings one row");
    if (sequences_[item.sequence].end) return refuse("its sequence has an earlier item");
    Failure why = {};
    const Status status = check_tokens(item, &why);
    if (status == Status::ok) return status;
    return set_failure(failure, status, {.index = at, .value = why.value, .limit = why.limit},
                       "item %" PRIu64 ": %s", at, why.message);
}

Status Session::check_items(const BatchItem *items, size_t n_items, Failure *failure) {
    Status status = Status::ok;
    size_t n = 0;
    while (n < n_items && status == Status::ok) {
        status = check_item(items[n], n, failure);
        if (status == Status::ok) sequences_[items[n++].sequence].end = 1;
    }
    while (n-- > 0) sequences_[items[n].sequence].end = 0;
    return status;
}

} // namespace ggufx::model
