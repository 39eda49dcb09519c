// Which tokens are computed next: many texts in the sequences of one model, each step either a
// chunk of prompts or one token of every text that is being written. Pure: time, model and readers
// are the caller's, so that tests have their own.
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

namespace ggufx::cli {

// The two ways of products whose bits do not depend on neighbours (matmul.h).
enum class Path : uint32_t { tiles, rows };

// What the caches of a machine take.
struct BackendMemory {
    uint64_t bytes, n_pages, n_shared_pages;
};

// Sequences with caches: a session, or what a test has in its place.
class DecodeBackend {
public:
    enum class Logits { none, last, all };
    struct Item {
        uint32_t sequence;
        std::span<const int32_t> ids; // to append
        Logits logits;                // of which of them
        size_t n_rows() const {
            return logits == Logits::all ? ids.size() : logits == Logits::last ? 1 : 0;
        }
    };
    // A call that was not done, and has changed nothing.
    struct Refused : std::runtime_error {
        enum class Why { cancelled, memory, other };
        Refused(Why why_, const std::string &text) : std::runtime_error(text), why(why_) {}
        Why why;
    };

    virtual ~DecodeBackend() = default;
    virtual uint32_t n_sequences() const = 0;
    virtual uint32_t n_vocab() const = 0;
    virtual uint32_t n_batch() const = 0; // tokens that are computed at once
    // Logits of the items that want them, row after row, valid until the next call. Throws Refused.
    virtual const float *decode(std::span<const Item> items, Path path,
                                const std::function<bool()> &is_cancelled) = 0;
    virtual void truncate(uint32_t sequence, uint64_t n_tokens) = 0;
    // Lets the empty sequence `to` begin as `from`; false: there is no memory for it.
    virtual bool copy(uint32_t from, uint32_t to, uint64_t n_tokens) = 0;
    // Memory for so many tokens of a sequence: more is taken, what is beyond is given back. False:
    // there is none left, and nothing has changed.
    virtual bool reserve(uint32_t sequence, uint64_t n_tokens) = 0;
    virtual BackendMemory memory() const { return {}; }
    // A machine of several processes wants beat() about every second when nothing else is called.
    virtual bool beats() const { return false; }
    virtual void beat() {}
};

// A text being written: what becomes of its logits.
class Writer {
public:
    virtual ~Writer() = default;
    virtual bool is_gone() = 0;              // nobody reads it any more
    virtual bool is_late() { return false; } // it has had the time that a request has
    virtual void begin(size_t n_cached) = 0; // of its prompt, so many tokens are there already
    virtual void pass() = 0;                 // it waits
    // Logits of prompt tokens first .. of a job that wants them.
    virtual void score(size_t first, std::span<const float> logits) { (void)first, (void)logits; }
    // The token to go on with; nothing: the text has ended, and its reader knows.
    virtual std::optional<int32_t> next(std::span<const float> logits) = 0;
    virtual void fail(const std::string &why, bool is_full) = 0; // no more of it comes
    virtual void stop(const std::string &why) = 0;               // it ends here
};

struct Job {
    std::vector<int32_t> prompt; // >= 1
    uint64_t owner = 0;          // takes turns with others
    uint64_t cache = 0;          // beginnings are shared with jobs of the same number
    size_t most = SIZE_MAX;      // tokens of its answer
    bool share = true;           // begin with what a cache has
    bool scores = false;         // logits of the whole prompt are wanted
    std::shared_ptr<Writer> writer;
    // Another one with this prompt: it is read once, by that one.
    std::shared_ptr<Job> first;

    // The scheduler's.
    bool is_read = false; // the prompt; or it never will be
    bool has_begun = false;
    std::vector<int32_t> answer; // of a text that gave its place back: what had been computed,
    std::optional<int32_t> next; // and what comes then
    std::vector<PrefixIndex::Code> codes; // prompt and answer
    double waits_since = 0;
};

struct SchedulerOptions {
    uint32_t n_parallel = UINT32_MAX; // texts at once
    double prompt_seconds = 0.1; // a token of others waits at most so long for a chunk of prompts
    Path answers = Path::rows;   // how tokens are computed; prompts always go through tiles
    // An owner without a text in work waits so long before one of those who have several gives
    // a place back.
    double patience_seconds = 10;
    uint64_t secret = 0; // of the hashes of beginnings
};

struct SchedulerCounts {
    uint64_t n_steps = 0, n_prompt_tokens = 0, n_cached_tokens = 0, n_answer_tokens = 0;
    uint64_t n_again = 0;     // tokens computed once more for texts that had given a place back
    uint64_t n_left = 0;      // texts whose reader went
    uint64_t n_preempted = 0; // places given back
    uint64_t n_dropped = 0;   // kept beginnings that made room
    uint32_t n_running = 0, n_waiting = 0;
    uint64_t n_held = 0, n_kept = 0; // tokens in all caches; of those, of texts that have ended
    uint32_t width = 0;              // texts of the last step
};

// A sequence as people see it.
struct SlotView {
    enum class State { free, reads, writes } state;
    uint64_t cache;
    size_t n_tokens, n_prompt; // held; of those, at their begin, computed as prompts are
};

class Scheduler {
public:
    using Clock = std::function<double()>; // seconds
    Scheduler(DecodeBackend &machine, const SchedulerOptions &options, Clock clock);

    void add(std::shared_ptr<Job> job);
    bool is_idle() const { return n_waiting_ == 0 && n_running_ == 0; }
    void step();                       // returns after one call of the machine at most
    void stop(const std::string &why); // ends every text
    SchedulerCounts counts() const;

    SlotView slot(uint32_t sequence) const;
    std::span<const PrefixIndex::Code> held(uint32_t sequence) const {
        return index_.codes(sequence);
    }
    // A free sequence that no text took since holds what `codes` says.
    void restored(uint32_t sequence, uint64_t cache, std::span<const PrefixIndex::Code> codes);

private:
    struct SequenceSlot { // a sequence
        uint64_t last_used = 0;
        std::shared_ptr<Job> job; // NULL: it is free, and keeps what it holds
        int32_t next = 0;         // to be computed, once all before it is
        uint64_t began = 0;       // the youngest has the largest
        uint64_t reserved = 0;    // tokens
    };
    struct Owner {
        std::deque<std::shared_ptr<Job>> queue;
        int64_t deficit = 0; // tokens that it may have computed before others have theirs
        size_t n_running = 0;
    };
    struct Part { // of what a place has to compute before its text goes on
        std::span<const int32_t> ids;
        Path path;
        bool is_last;
    };
    size_t n_held(uint32_t place) const { return index_.codes(place).size(); }
    size_t n_left(uint32_t place) const;
    bool reads(uint32_t place) const { return places_[place].job && n_left(place) > 0; }
    bool writes(uint32_t place) const { return places_[place].job && n_left(place) == 0; }
    Part part(uint32_t place) const;

    // scheduler.cpp: who gets a place
    void drop_gone();
    void drop_queued();
    void admit();
    bool try_to_admit(uint64_t owner);
    void start(uint32_t place, const std::shared_ptr<Job> &job, size_t n_cached);
    std::optional<uint64_t> next_owner(const std::vector<uint64_t> &refused);
    void refill();
    void give_turns();
    size_t soon(const Job &job, std::span<const PrefixIndex::Code> wanted) const;
    std::optional<uint32_t> free_place(uint32_t unless) const;
    size_t take_place(uint32_t place, const Job &job, const PrefixIndex::Found &donor);
    bool make_room(uint32_t place, uint64_t n_tokens);
    bool drop_oldest(uint32_t unless);
    void forget(uint32_t place);
    void put_back(uint32_t place);
    std::optional<uint32_t> youngest(std::optional<uint64_t> owner) const;
    void release(uint32_t place);

    // scheduler_steps.cpp: what is computed
    void read_prompts();
    void write_tokens();
    size_t prompt_tokens() const; // of a chunk
    std::vector<uint32_t> reading_order(Path path) const;
    void run(std::vector<DecodeBackend::Item> &items, Path path);
    bool make_memory();
    void run_alone(const DecodeBackend::Item &item, Path path);
    void done(const DecodeBackend::Item &item, Path path, const float *logits);
    void charge(uint32_t place, size_t n);

    DecodeBackend &machine_;
    SchedulerOptions options_;
    Clock clock_;
    PrefixIndex index_; // and what each sequence holds
    std::vector<SequenceSlot> places_;
    std::map<uint64_t, Owner> owners_;
    uint64_t last_owner_ = 0;
    size_t n_waiting_ = 0, n_running_ = 0;
    uint64_t uses_ = 0;
    bool prompts_had_turn_ = false;
    double prompt_rate_ = 0; // tokens per second, 0 = not known
    SchedulerCounts counts_;
};

} // namespace ggufx::cli
