// SPDX-License-Identifier: MIT
#include "serve/ranks.hpp"

#include "models/ranks.hpp"
#include "serve/engine_thread.hpp"
#include "serve/rank_session.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

// Start timeout in ms: a rank may still read its weights from a cold file.
constexpr uint32_t kStart = 600000;
// Timeout in ms for broadcasts of the first rank, which block until all ranks receive them. It is
// shorter than kAnswerWithin: after a loss the first rank ends its streams and releases the other
// ranks, before they take the first rank for the lost one.
constexpr uint32_t kTakenWithin = 5000;
constexpr double kHeartbeatSeconds = 1.0; // interval of heartbeat barriers

template <class Fn> void call_group(const Fn &fn) {
    ggufx_error error = {};
    if (const ggufx_status status = fn(&error); status != GGUFX_OK)
        throw RanksLost(exit_code(status), error);
}

void pass(const ggufx_group &group, std::span<uint8_t> bytes, uint32_t timeout_ms) {
    call_group([&](ggufx_error *error) {
        return group.broadcast(group.user, bytes.data(), bytes.size(), 0, timeout_ms, error);
    });
}

void meet(const ggufx_group &group, uint32_t timeout_ms) {
    call_group([&](ggufx_error *error) { return group.barrier(group.user, timeout_ms, error); });
}

} // namespace

void meet_at_start(const ggufx_group &group) {
    meet(group, kStart);
}

// ---- the first rank ----

RankBroadcaster::~RankBroadcaster() {
    if (last_step_ == 0 || lost_) return;
    try {
        send({.kind = RankStep::Kind::end});
    } catch (const std::exception &) {
        // ranks that are not reached end by their own timeout
    }
}

void RankBroadcaster::lose(const ggufx_error &why) {
    if (!lost_) lost_.emplace(exit_code(why.status), why);
    throw RanksLost(*lost_);
}

void RankBroadcaster::send(const RankStep &step) {
    bytes_.put(step);
    last_step_ = monotonic_seconds();
    pass(group_, bytes_.first(), kTakenWithin);
    if (!bytes_.rest().empty()) pass(group_, bytes_.rest(), kTakenWithin);
}

void RankBroadcaster::tell(const RankStep &step) {
    if (lost_) throw RanksLost(*lost_);
    try {
        send(step);
        if (step.kind == RankStep::Kind::beat) meet(group_, kTakenWithin);
    } catch (const RanksLost &lost) {
        lost_ = lost;
        throw;
    }
}

void RankBroadcaster::beat() {
    if (lost_ || monotonic_seconds() - last_step_ >= kHeartbeatSeconds)
        tell({.kind = RankStep::Kind::beat});
}

// ---- the others ----

namespace {

RankStep receive(const ggufx_group &group, StepBytes &bytes, uint32_t n_sequences) {
    pass(group, bytes.first(), kAnswerWithin);
    try {
        bytes.make_room_for_rest();
        if (!bytes.rest().empty()) pass(group, bytes.rest(), kAnswerWithin);
        return bytes.get(n_sequences);
    } catch (const std::logic_error &error) { // length_error, invalid_argument
        throw Failure(kRuntimeError, fmt::format("rank 0 sent an invalid step: {}", error.what()));
    }
}

// Ignores errors of a single call: they occur on all ranks alike, and the first rank handles them.
void make_call(const RankStep &step, RankSession &session) {
    using Kind = RankStep::Kind;
    try {
        if (step.kind == Kind::decode)
            session.repeat(step);
        else if (step.kind == Kind::truncate)
            session.truncate(step.sequence, step.n_tokens);
        else if (step.kind == Kind::copy)
            (void)session.copy(step.from, step.sequence, step.n_tokens);
        else if (step.kind == Kind::load)
            session.load(step.sequence, {reinterpret_cast<const char *>(step.snapshot.data()),
                                         step.snapshot.size()});
    } catch (const DecodeBackend::Refused &) {}
}

} // namespace

void follow(const ggufx_group &group, RankSession &session) {
    StepBytes bytes;
    for (;;) {
        const RankStep step = receive(group, bytes, session.n_sequences());
        if (step.kind == RankStep::Kind::end) return;
        if (step.kind == RankStep::Kind::beat)
            meet(group, kAnswerWithin);
        else
            make_call(step, session);
    }
}

} // namespace ggufx::cli
