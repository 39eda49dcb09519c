// A model that computes tokens by arithmetic, and a client with a generation, for the scheduler of
// the server. Both can fail at any point.
// SPDX-License-Identifier: MIT
#pragma once

#include "check.hpp"
#include "serve/scheduler.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

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
        if (kind_ == 0) throw Refused(Fault::memory, "no memory");
        if (kind_ == 1) throw Refused(Fault::internal, "a fault");
        throw Refused(Fault::cancelled, "cancelled");
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

struct FakeWriter;

// A token depends on all tokens before it and their modes, so that any mix-up by the scheduler
// changes the output.
class FakeMachine : public DecodeBackend {
public:
    FakeMachine(uint32_t n_sequences, uint32_t n_batch) : rows_(n_sequences), n_batch_(n_batch) {
        seen_.reserve(n_sequences);
    }
    uint32_t n_sequences() const override { return static_cast<uint32_t>(rows_.size()); }
    uint32_t n_batch() const override { return n_batch_; }
    uint64_t n_tokens(uint32_t sequence) const override { return rows_[sequence].size(); }
    void read(uint32_t sequence, uint64_t first, std::span<int32_t> out) const override {
        for (size_t i = 0; i < out.size(); i++) out[i] = rows_[sequence].at(first + i) / 2;
    }

    void step(std::span<const Item> items, Path path,
              const std::function<bool()> &is_cancelled) override;
    void truncate(uint32_t sequence, uint64_t n) override {
        if (n > rows_[sequence].size()) throw Refused(Fault::internal, "it has fewer tokens");
        rows_[sequence].resize(n);
    }
    bool copy(uint32_t from, uint32_t to, uint64_t n) override {
        CHECK(rows_[to].empty() && from != to);
        if (n > rows_[from].size()) throw Refused(Fault::internal, "it has fewer tokens");
        faults.pass_backend();
        if (refuses_copies || !has_room(n)) return false;
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
        if (snapshot.size() % 4 != 0) throw Refused(Fault::internal, "bytes in excess");
    }
    bool holds(uint32_t sequence, std::span<const PrefixIndex::Code> codes) const override {
        return std::equal(codes.begin(), codes.end(), rows_[sequence].begin(),
                          rows_[sequence].end(), [](PrefixIndex::Code code, int32_t has) {
                              return code == static_cast<PrefixIndex::Code>(has);
                          });
    }
    static int32_t value(const Ids &row) {
        uint32_t hash = 7;
        for (const int32_t id : row) hash = (hash ^ static_cast<uint32_t>(id)) * 16777619u;
        return static_cast<int32_t>(hash % 1000);
    }
    // Takes the memory of all sequences, as a session does at its creation.
    void take_memory(size_t n_tokens) {
        for (Ids &row : rows_) row.reserve(n_tokens);
    }
    void lose_tokens(uint32_t sequence) { rows_[sequence].clear(); }

    double time = 0;
    uint64_t n_calls = 0, n_copies = 0, most = 0;
    uint64_t room = 0; // memory for so many tokens in all sequences; 0: for any number
    int32_t fails_at = -1, full_at = -1, n_full = 0;
    bool refuses_copies = false;
    FaultPlan faults;

private:
    bool has_room(uint64_t n) const {
        for (const Ids &row : rows_) n += row.size();
        return room == 0 || n <= room;
    }
    void refuse_ids(const FakeWriter &writer, const Item &item);
    void compute(FakeWriter &writer, const Item &item, Path path);
    void push(uint32_t sequence, int32_t code) { rows_[sequence].push_back(code); }

    const Refused full_{Fault::memory, "no memory"}; // errors need no memory
    std::vector<Ids> rows_;
    uint32_t n_batch_;
    std::vector<uint32_t> seen_;
};

struct FakeWriter : Writer {
    FakeWriter(FakeMachine &backend_, size_t n) : machine(backend_), n_wanted(n) { out.reserve(n); }
    bool is_gone() noexcept override { return gone; }
    bool is_late() noexcept override { return late; }
    void start(uint32_t of, std::span<const int32_t> prompt) override {
        CHECK(!sequence && !has_ended());
        machine.faults.pass_writer();
        if (tokens.empty()) {
            tokens.reserve(prompt.size() + n_wanted);
            tokens.assign(prompt.begin(), prompt.end());
            scores.reserve(prompt.size());
            n_prompt = static_cast<ptrdiff_t>(prompt.size());
        }
        CHECK(Ids(prompt.begin(), prompt.end()) == Ids(tokens.begin(), tokens.begin() + n_prompt));
        CHECK(machine.n_tokens(of) < tokens.size());
        sequence = of;
    }
    void suspend() override {
        CHECK(sequence.has_value());
        sequence.reset();
    }
    void close() noexcept override { sequence.reset(); }
    void begin(size_t n) override {
        CHECK(begun == 0 || machine.n_calls == 0);
        machine.faults.pass_writer();
        n_cached = n;
        begun = machine.n_calls;
    }
    void pass() noexcept override { n_passed++; }
    // The token after all others.
    void draw(int32_t id) {
        CHECK(!has_drawn && out.size() < n_wanted);
        out.push_back(id);
        if (out.size() < n_wanted) tokens.push_back(id);
        has_drawn = true;
    }
    bool advance() override {
        CHECK(sequence.has_value());
        machine.faults.pass_writer();
        if (!std::exchange(has_drawn, false)) return true;
        if (last > 0) longest = std::max(longest, machine.time - last);
        last = machine.time;
        if (out.size() < n_wanted) return true;
        ended = machine.n_calls;
        is_whole = true;
        return false;
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
    Ids out, scores, tokens; // tokens: prompt and answer, with the next one
    ptrdiff_t n_prompt = 0;
    std::optional<uint32_t> sequence;
    bool is_scored = false, has_drawn = false;
    double last = 0, longest = 0;
    bool gone = false, late = false, stopped = false, is_whole = false;
    std::string_view failure;
    Fault fault = Fault::internal;

private:
    char failure_[64] = {}; // errors need no memory
};

inline void FakeMachine::refuse_ids(const FakeWriter &writer, const Item &item) {
    for (uint32_t i = 0; i < item.n_tokens; i++) {
        const int32_t id = writer.tokens.at(rows_[item.sequence].size() + i);
        if (id == fails_at) throw Refused(Fault::internal, "a NaN");
        if (id == full_at && n_full > 0) {
            n_full--;
            throw Refused(Fault::memory, "no memory");
        }
    }
}

inline void FakeMachine::compute(FakeWriter &writer, const Item &item, Path path) {
    Ids &row = rows_[item.sequence];
    const auto n_prompt = static_cast<size_t>(writer.n_prompt);
    const bool scores = writer.is_scored && writer.out.empty();
    CHECK(!scores || item.n_tokens <= 16);
    if (scores && row.empty()) writer.scores.clear(); // after a preemption
    for (uint32_t i = 0; i < item.n_tokens; i++) {
        push(item.sequence, writer.tokens.at(row.size()) * 2 + (path == Path::rows));
        if (scores && row.size() <= n_prompt) writer.scores.push_back(value(row));
    }
    if (row.size() == writer.tokens.size()) writer.draw(value(row));
}

inline void FakeMachine::step(std::span<const Item> items, Path path,
                              const std::function<bool()> &is_cancelled) {
    n_calls++;
    seen_.clear();
    uint64_t n = 0;
    for (const Item &item : items) {
        CHECK(std::find(seen_.begin(), seen_.end(), item.sequence) == seen_.end());
        seen_.push_back(item.sequence);
        CHECK(item.n_tokens > 0);
        CHECK(static_cast<FakeWriter &>(*item.writer).sequence == item.sequence);
        n += item.n_tokens;
    }
    most = std::max(most, n);
    time += 0.001 * static_cast<double>(n);
    if (is_cancelled()) throw Refused(Fault::cancelled, "cancelled");
    faults.pass_backend();
    if (!has_room(n)) throw full_;
    for (const Item &item : items) refuse_ids(static_cast<FakeWriter &>(*item.writer), item);
    for (const Item &item : items) compute(static_cast<FakeWriter &>(*item.writer), item, path);
}

inline Ids made(int32_t first, size_t n) {
    Ids out;
    for (size_t i = 0; i < n; i++) out.push_back(first + static_cast<int32_t>(i % 50));
    return out;
}

} // namespace ggufx::cli
