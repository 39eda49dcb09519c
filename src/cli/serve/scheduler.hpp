// Continuous batching scheduler: decides which tokens to compute next. Each step is a chunk of
// prompts (prefill) or one token of every running sequence (decode). Deterministic: the caller
// supplies clock, model and output, so that tests can replace them.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/prefix_index.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

struct ggufx_generator;

namespace ggufx::cli {

// Batch-invariant compute paths: blocked GEMM (tiles) and row-wise (matmul.h).
enum class Path : uint32_t { tiles, rows };

inline PrefixIndex::Code code_of(int32_t id, Path path) {
    return static_cast<PrefixIndex::Code>(id) << 1 | static_cast<PrefixIndex::Code>(path);
}

// Memory of the KV caches.
struct BackendMemory {
    uint64_t bytes, n_pages, n_shared_pages;
};

class Writer;

// Reasons for which a call or a request fails.
enum class Fault { internal, memory, model_changed, limit, cancelled };

// Backend with sequences and their caches: a session, or a mock in tests.
class DecodeBackend {
public:
    struct Item {
        uint32_t sequence;
        Writer *writer;    // that of the request in the sequence
        uint32_t n_tokens; // tokens to compute, in its prompt or an answer
        bool scores;       // needs the logits of all of them
    };
    // Error of a call that was not executed and changed nothing.
    struct Refused : std::runtime_error {
        Refused(Fault fault_, const std::string &text) : std::runtime_error(text), fault(fault_) {}
        Fault fault;
    };
    // Base of errors after which no sequence can be computed. Every later decode throws one, too.
    struct Lost {};

    virtual ~DecodeBackend() = default;
    virtual uint32_t n_sequences() const = 0;
    virtual uint32_t n_batch() const = 0; // tokens per batch
    // The calls below throw Refused or an error with the base Lost.
    // Computes tokens of all items on one path, and samples after the last one of each. Items that
    // a fault of another one has held up are as before.
    virtual void step(std::span<const Item> items, Path path,
                      const std::function<bool()> &is_cancelled) = 0;
    virtual uint64_t n_tokens(uint32_t sequence) const = 0; // does not throw
    // Copies tokens of a sequence from `first` on.
    virtual void read(uint32_t sequence, uint64_t first, std::span<int32_t> out) const = 0;
    virtual void truncate(uint32_t sequence, uint64_t n_tokens) = 0;
    // Copies the first n_tokens of `from` into the empty sequence `to`. Returns false if there is
    // no memory for it.
    virtual bool copy(uint32_t from, uint32_t to, uint64_t n_tokens) = 0;
    // Replaces a sequence by a snapshot. May have changed it if the snapshot has excess bytes.
    virtual void load(uint32_t sequence, std::string_view snapshot) = 0;
    // Whether a sequence has exactly these tokens, at positions from 0 on. Does not throw.
    virtual bool holds(uint32_t sequence, std::span<const PrefixIndex::Code> codes) const = 0;
    virtual BackendMemory memory() const { return {}; }
    // True for multi-process backends, which need beat() about every second when no other call is
    // made.
    virtual bool beats() const { return false; }
    virtual void beat() {}
};

// Generation of one request. An exception of start, begin or advance ends the request.
class Writer {
public:
    virtual ~Writer() = default;
    virtual ggufx_generator *generator() const { return nullptr; } // that of a session
    virtual bool is_gone() noexcept = 0;                           // the client disconnected
    virtual bool is_late() noexcept { return false; }              // the request timeout has passed
    // Takes a sequence that holds a prefix of its tokens: begins, or goes on after suspend().
    virtual void start(uint32_t sequence, std::span<const int32_t> prompt) = 0;
    virtual void suspend() = 0;              // gives the sequence back
    virtual void close() noexcept = 0;       // gives it back at the end
    virtual void begin(size_t n_cached) = 0; // n_cached: prompt tokens found in the prefix cache
    virtual void pass() noexcept = 0;        // called while it waits
    // Takes the output of a step. False: the generation has ended, and its client was notified.
    virtual bool advance() = 0;
    // Ends the generation with an error.
    virtual void fail(const char *why, Fault fault) noexcept = 0;
    virtual void stop(const char *why) noexcept = 0; // ends the generation early
};

struct Job {
    std::vector<int32_t> prompt; // at least one token
    uint64_t owner = 0;          // id for fair queueing
    uint64_t cache = 0;          // prefixes are shared by jobs with the same id
    bool share = true;           // use the prefix cache
    bool scores = false;         // log-probabilities of the whole prompt
    std::shared_ptr<Writer> writer;
    // Earlier job with the same prompt: it does the prefill for both.
    std::shared_ptr<Job> first;

    // State of the scheduler.
    bool is_read = false; // prefill done, or abandoned
    bool has_begun = false;
    bool has_next = false;                // preempted request: a token after its codes is sampled
    std::vector<PrefixIndex::Code> codes; // codes of the prompt, and of a preempted answer
    double waits_since = 0;
};

struct SchedulerOptions {
    uint32_t n_parallel = UINT32_MAX; // maximum running sequences
    double prompt_seconds = 0.1;      // maximum decode delay by a chunk of prefill
    Path answers = Path::rows;        // path of decode; prefill always uses tiles
    // An owner without a running request waits at most this long before an owner with several is
    // preempted.
    double patience_seconds = 10;
    uint64_t secret = 0; // seed of the prefix hashes
};

struct SchedulerCounts {
    uint64_t n_steps = 0, n_prompt_tokens = 0, n_cached_tokens = 0, n_answer_tokens = 0;
    uint64_t n_again = 0;     // tokens recomputed after preemption
    uint64_t n_left = 0;      // requests whose client disconnected
    uint64_t n_preempted = 0; // preemptions
    uint64_t n_dropped = 0;   // cached prefixes evicted
    uint32_t n_running = 0, n_waiting = 0;
    uint64_t n_held = 0, n_kept = 0; // tokens in all caches; tokens of requests that have ended
    uint32_t width = 0;              // sequences in the last step
};

// State of a slot for the /slots endpoint.
struct SlotView {
    enum class State { free, reads, writes } state;
    uint64_t cache;
    size_t n_tokens, n_prompt; // tokens held; leading tokens that were computed by prefill
};

class Scheduler {
public:
    using Clock = std::function<double()>; // seconds
    Scheduler(DecodeBackend &machine, const SchedulerOptions &options, Clock clock);

    void add(std::shared_ptr<Job> job);
    bool is_idle() const { return n_waiting_ == 0 && n_running_ == 0; }
    // Makes at most one backend call. A failure ends the request that it concerns; errors with the
    // base DecodeBackend::Lost are thrown.
    void step();
    void stop(const char *why) noexcept;                  // ends all requests early
    void fail_all(const char *why, Fault fault) noexcept; // ends all requests with an error
    SchedulerCounts counts() const;
    // Whether index and session have the same tokens.
    bool is_consistent() const;

    SlotView slot(uint32_t sequence) const;
    std::span<const PrefixIndex::Code> held(uint32_t sequence) const {
        return index_.codes(sequence);
    }
    // Loads a snapshot of the tokens `codes` into a free slot. After an error the slot has its old
    // tokens or none. Throws Refused.
    void restore(uint32_t sequence, uint64_t cache, std::span<const PrefixIndex::Code> codes,
                 std::string_view snapshot);

private:
    struct SequenceSlot { // state of one sequence
        uint64_t last_used = 0;
        std::shared_ptr<Job> job; // NULL: free, with its tokens kept for the prefix cache
        uint64_t began = 0;       // admission number; the youngest has the largest
    };
    static constexpr int64_t kQuantum = 512; // tokens per owner and round (deficit round robin)
    struct Owner {
        std::deque<std::shared_ptr<Job>> queue;
        int64_t deficit = kQuantum; // token budget left in this round
        size_t n_running = 0;
        size_t n_reading = 0;    // sequences that take part in the next chunk of prompts
        bool is_refused = false; // its oldest request has to wait
    };
    struct Part { // tokens that a slot has to compute before decode
        size_t n;
        Path path;
    };
    size_t n_held(uint32_t place) const { return index_.codes(place).size(); }
    size_t n_left(uint32_t place) const;
    bool reads(uint32_t place) const { return places_[place].job && n_left(place) > 0; }
    bool writes(uint32_t place) const { return places_[place].job && n_left(place) == 0; }
    Part part(uint32_t place) const;

    // scheduler.cpp: admission and preemption
    template <class Ends> void end_if(const Ends &ends);
    void drop_gone();
    void admit();
    bool try_to_admit(uint64_t owner);
    bool admit_job(const std::shared_ptr<Job> &job, std::optional<uint32_t> &place);
    void start(uint32_t place, const std::shared_ptr<Job> &job, size_t n_cached);
    void refuse(const std::shared_ptr<Job> &job, const char *why, Fault fault) noexcept;
    std::optional<uint64_t> next_owner();
    void clear_refusals();
    void refill();
    void give_turns();
    size_t soon(const Job &job, std::span<const PrefixIndex::Code> wanted) const;
    std::optional<uint32_t> free_place(uint32_t unless) const;
    size_t take_place(uint32_t place, const Job &job, const PrefixIndex::Found &donor);
    bool take_prefix(uint32_t place, const Job &job, const PrefixIndex::Found &donor);
    bool drop_oldest();
    void forget(uint32_t place) noexcept;
    void put_back(uint32_t place);
    void keep_answer(uint32_t place);
    double recompute_seconds(uint32_t place) const;
    std::optional<uint32_t> youngest(std::optional<uint64_t> owner) const;
    void vacate(uint32_t place) noexcept;
    void release(uint32_t place) noexcept;
    void fail(uint32_t place, const char *why, Fault fault) noexcept;
    // Calls work(); passes an error that concerns one request to fail(text, fault).
    template <class Work, class Fail> static void isolate(const Work &work, const Fail &fail);

    // scheduler_plan.cpp: tokens of the next step, in items_
    void note_owners();
    size_t prompt_tokens() const; // chunk size
    template <class Is, class Key> void find_slots(const Is &is, const Key &key);
    void find_reading(Path path);
    Path plan_prompts();
    Path plan_answers();
    void note_rate(Path path, double seconds);

    // scheduler_steps.cpp: prefill and decode
    void compute_all(Path path);
    std::optional<DecodeBackend::Refused> compute(std::span<const DecodeBackend::Item> items,
                                                  Path path);
    bool make_memory();
    void finish(const DecodeBackend::Item &item, Path path);

    DecodeBackend &backend_;
    SchedulerOptions options_;
    Clock clock_;
    PrefixIndex index_; // tokens of each sequence, and the index of prefixes
    std::vector<SequenceSlot> places_;
    // Slots and items of a step: members, so that no step needs memory for all its requests.
    std::vector<uint32_t> order_;
    std::vector<DecodeBackend::Item> items_;
    std::map<uint64_t, Owner> owners_;
    uint64_t last_owner_ = 0;
    size_t n_waiting_ = 0, n_running_ = 0;
    uint64_t uses_ = 0;
    bool prompts_had_turn_ = false;
    bool is_full_ = false;    // memory is short: nothing is admitted before a request ends
    double prompt_rate_ = 0;  // prefill tokens per second, 0 = unknown
    double shared_until_ = 0; // several owners had requests a short while before this time
    double answer_rate_ = 0;  // decode tokens per second of all sequences
    SchedulerCounts counts_;
};

template <class Work, class Fail> void Scheduler::isolate(const Work &work, const Fail &fail) {
    try {
        work();
    } catch (const DecodeBackend::Lost &) { throw; } catch (const DecodeBackend::Refused &refused) {
        fail(refused.what(), refused.fault);
    } catch (const std::bad_alloc &) {
        fail("out of memory", Fault::memory);
    } catch (const std::exception &error) { fail(error.what(), Fault::internal); }
}

} // namespace ggufx::cli
