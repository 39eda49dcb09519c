// A model that computes logits by arithmetic, and a client, for the scheduler of the server. Both can
// fail at any point.
// SPDX-License-Identifier: MIT
#pragma once

#include "check.hpp"
#include "serve/scheduler.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace ggufx::cli {

using Ids = std::vector<int32_t>;

// Fails the n-th point that is passed from now on; each kind of failure in turn.
class FaultPlan {
public:
    void fail_at(long n, int kind) { left_ = n, kind_ = kind; }
    bool is_used() const { return left_ == 0; } // the failure has happened
    static constexpr int kKinds = 4;

    // A point of the backend, at which nothing has changed.
    void pass_backend() {
        using Refused = DecodeBackend::Refused;
        if (!is_turn()) return;
        if (kind_ == 0) throw Refused(Refused::Why::memory, "no memory");
        if (kind_ == 1) throw Refused(Refused::Why::other, "a fault");
        throw Refused(Refused::Why::cancelled, "cancelled");
    }
    void pass_writer() {
        if (!is_turn()) return;
        if (kind_ == 0) throw std::bad_alloc();
        throw std::runtime_error("a fault");
    }

private:
    bool is_turn() { return left_ > 0 && --left_ == 0; }
    long left_ = -1;
    int kind_ = 0;
};

// A token's logits depend on all tokens before it and their modes, so that any mix-up by the
// scheduler changes the output.
class FakeMachine : public DecodeBackend {
public:
    FakeMachine(uint32_t n_sequences, uint32_t n_batch)
        : rows_(n_sequences), reserved_(n_sequences), n_batch_(n_batch),
          logits_((n_sequences + n_batch) * 2) {
        seen_.reserve(n_sequences);
    }
    uint32_t n_sequences() const override { return static_cast<uint32_t>(rows_.size()); }
    uint32_t n_vocab() const override { return 2; }
    uint32_t n_batch() const override { return n_batch_; }

    const float *decode(std::span<const Item> items, Path path,
                        const std::function<bool()> &is_cancelled) override {
        n_calls++;
        seen_.clear();
        uint64_t n = 0;
        for (const Item &item : items) {
            CHECK(std::find(seen_.begin(), seen_.end(), item.sequence) == seen_.end());
            seen_.push_back(item.sequence);
            CHECK(!item.ids.empty());
            n += item.ids.size();
        }
        most = std::max(most, n);
        time += 0.001 * static_cast<double>(n);
        if (is_cancelled()) throw Refused(Refused::Why::cancelled, "cancelled");
        faults.pass_backend();
        refuse_ids(items);
        size_t row = 0;
        for (const Item &item : items) {
            for (size_t i = 0; i < item.ids.size(); i++) {
                push(item.sequence, item.ids[i] * 2 + (path == Path::rows));
                if (item.logits == Logits::all ||
                    (item.logits == Logits::last && i + 1 == item.ids.size()))
                    logits_.at(2 * row++) = value(rows_[item.sequence]);
            }
        }
        return logits_.data();
    }
    void truncate(uint32_t sequence, uint64_t n) override {
        if (n > rows_[sequence].size()) throw Refused(Refused::Why::other, "it has fewer tokens");
        rows_[sequence].resize(n);
    }
    bool copy(uint32_t from, uint32_t to, uint64_t n) override {
        CHECK(rows_[to].empty() && from != to);
        if (n > rows_[from].size()) throw Refused(Refused::Why::other, "it has fewer tokens");
        faults.pass_backend();
        if (refuses_copies) return false;
        for (size_t i = 0; i < n; i++) push(to, rows_[from][i]);
        n_copies++;
        return true;
    }
    // A snapshot is the tokens; an odd last byte is in excess.
    void load(uint32_t sequence, std::string_view snapshot) override {
        faults.pass_backend();
        rows_[sequence].clear();
        for (size_t i = 0; i + 4 <= snapshot.size(); i += 4) {
            int32_t code = 0;
            std::memcpy(&code, snapshot.data() + i, 4);
            push(sequence, code);
        }
        faults.pass_backend(); // as if there were bytes in excess
        if (snapshot.size() % 4 != 0) throw Refused(Refused::Why::other, "bytes in excess");
    }
    bool holds(uint32_t sequence, std::span<const PrefixIndex::Code> codes) const override {
        return std::equal(codes.begin(), codes.end(), rows_[sequence].begin(),
                          rows_[sequence].end(), [](PrefixIndex::Code code, int32_t has) {
                              return code == static_cast<PrefixIndex::Code>(has);
                          });
    }
    // Memory for `room` tokens in total, if that is set.
    bool reserve(uint32_t sequence, uint64_t n) override {
        uint64_t others = 0;
        for (size_t i = 0; i < reserved_.size(); i++)
            if (i != sequence) others += std::max<uint64_t>(reserved_[i], rows_[i].size());
        if (room > 0 && others + n > room) return false;
        reserved_[sequence] = n;
        return true;
    }
    static float value(const Ids &row) {
        uint32_t hash = 7;
        for (const int32_t id : row) hash = (hash ^ static_cast<uint32_t>(id)) * 16777619u;
        return static_cast<float>(hash % 1000);
    }
    // Takes the memory of all sequences, as a session does at its creation.
    void take_memory(size_t n_tokens) {
        for (Ids &row : rows_) row.reserve(n_tokens);
    }
    void lose_tokens(uint32_t sequence) { rows_[sequence].clear(); }

    double time = 0;
    uint64_t n_calls = 0, n_copies = 0, most = 0;
    uint64_t room = 0;
    int32_t fails_at = -1, full_at = -1, n_full = 0;
    bool refuses_copies = false;
    FaultPlan faults;

private:
    void refuse_ids(std::span<const Item> items) {
        for (const Item &item : items)
            for (const int32_t id : item.ids) {
                if (id == fails_at) throw Refused(Refused::Why::other, "a NaN");
                if (id == full_at && n_full > 0) {
                    n_full--;
                    throw Refused(Refused::Why::memory, "no memory");
                }
            }
    }
    void push(uint32_t sequence, int32_t code) { rows_[sequence].push_back(code); }

    std::vector<Ids> rows_;
    std::vector<uint64_t> reserved_;
    uint32_t n_batch_;
    std::vector<float> logits_;
    std::vector<uint32_t> seen_;
};

struct FakeWriter : Writer {
    FakeWriter(FakeMachine &backend_, size_t n) : machine(backend_), n_wanted(n) { out.reserve(n); }
    bool is_gone() noexcept override { return gone; }
    bool is_late() noexcept override { return late; }
    void score(size_t first, std::span<const float> logits) override {
        if (first == 0) scores.clear(); // after a preemption
        CHECK(first == scores.size() && out.empty());
        machine.faults.pass_writer();
        for (size_t i = 0; i < logits.size(); i += 2)
            scores.push_back(static_cast<int32_t>(logits[i]));
    }
    void begin(size_t n) override {
        CHECK(begun == 0 || machine.n_calls == 0);
        machine.faults.pass_writer();
        n_cached = n;
        begun = machine.n_calls;
    }
    void pass() noexcept override { n_passed++; }
    std::optional<int32_t> next(std::span<const float> logits) override {
        machine.faults.pass_writer();
        out.push_back(static_cast<int32_t>(logits[0]));
        if (last > 0) longest = std::max(longest, machine.time - last);
        last = machine.time;
        if (out.size() < n_wanted) return out.back();
        ended = machine.n_calls;
        is_whole = true;
        return {};
    }
    void fail(const char *why, Fault fault_) noexcept override {
        CHECK(!has_ended());
        std::snprintf(failure_, sizeof failure_, "%s", why);
        failure = failure_;
        fault = fault_;
    }
    void stop(const char *) noexcept override {
        CHECK(!has_ended());
        stopped = true;
    }
    bool is_full() const { return !failure.empty() && fault == Fault::memory; }
    bool has_ended() const { return is_whole || stopped || !failure.empty(); }

    FakeMachine &machine;
    size_t n_wanted, n_cached = 0;
    uint64_t n_passed = 0, begun = 0, ended = 0;
    Ids out, scores;
    double last = 0, longest = 0;
    bool gone = false, late = false, stopped = false, is_whole = false;
    std::string_view failure;
    Fault fault = Fault::internal;

private:
    char failure_[64] = {}; // errors need no memory
};

inline Ids made(int32_t first, size_t n) {
    Ids out;
    for (size_t i = 0; i < n; i++) out.push_back(first + static_cast<int32_t>(i % 50));
    return out;
}

} // namespace ggufx::cli
