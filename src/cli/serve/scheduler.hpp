// Which tokens are computed next: many texts in the sequences of one model, each step either a
// chunk of prompts or one token of every text that is being written. Pure: time, model and readers
// are the caller's, so that tests have their own.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace ggufx::cli {

// The two ways of products whose bits do not depend on neighbours (matmul.h).
enum class Path { tiles, rows };

// Sequences with caches: a session, or what a test has in its place.
class Machine {
public:
    struct Item {
        uint32_t sequence;
        std::span<const int32_t> ids; // to append
        bool wants_logits;            // of the last one
    };
    // A call that was not done, and has changed nothing.
    struct Refused : std::runtime_error {
        enum class Why { cancelled, memory, other };
        Refused(Why why_, const std::string &text) : std::runtime_error(text), why(why_) {}
        Why why;
    };

    virtual ~Machine() = default;
    virtual uint32_t n_sequences() const = 0;
    virtual uint32_t n_vocab() const = 0;
    virtual uint32_t n_batch() const = 0; // tokens that are computed at once
    // Logits of the items that want them, a row each, valid until the next call. Throws Refused.
    virtual const float *decode(std::span<const Item> items, Path path,
                                const std::function<bool()> &is_cancelled) = 0;
    virtual void truncate(uint32_t sequence, uint64_t n_tokens) = 0;
    // Lets the empty sequence `to` begin as `from`; false: there is no memory for it.
    virtual bool copy(uint32_t from, uint32_t to, uint64_t n_tokens) = 0;
};

// A text being written: what becomes of its logits.
class Writer {
public:
    virtual ~Writer() = default;
    virtual bool is_gone() = 0;              // nobody reads it any more
    virtual void begin(size_t n_cached) = 0; // of its prompt, so many tokens are there already
    virtual void pass() = 0;                 // it waits
    // The token to go on with; nothing: the text has ended, and its reader knows.
    virtual std::optional<int32_t> next(std::span<const float> logits) = 0;
    virtual void fail(const std::string &why, bool is_full) = 0; // no more of it comes
    virtual void stop() = 0;                                     // it ends here for the server ends
};

struct Job {
    std::vector<int32_t> prompt; // >= 1
    uint64_t owner = 0;          // takes turns with others; beginnings are not shared with them
    std::shared_ptr<Writer> writer;
    bool share = true; // begin with what a cache has
    // Another one with this prompt: it is read once, by that one.
    std::shared_ptr<Job> first;
    bool is_read = false; // the prompt; or it never will be
};

struct SchedulerOptions {
    double prompt_seconds = 0.1; // a token of others waits at most so long for a chunk of prompts
    Path answers = Path::rows;   // how tokens are computed; prompts always go through tiles
    bool share_prefixes = false; // between owners
};

struct SchedulerCounts {
    uint64_t n_steps = 0, n_prompt_tokens = 0, n_cached_tokens = 0, n_answer_tokens = 0;
    uint64_t n_left = 0; // texts whose reader went
    uint32_t n_running = 0, n_waiting = 0;
    uint64_t n_held = 0; // tokens in all caches
};

class Scheduler {
public:
    using Clock = std::function<double()>; // seconds
    Scheduler(Machine &machine, const SchedulerOptions &options, Clock clock);

    void add(std::shared_ptr<Job> job);
    bool is_idle() const { return n_waiting_ == 0 && n_running_ == 0; }
    void step(); // returns after one call of the machine at most
    void stop(); // ends every text
    SchedulerCounts counts() const;

private:
    struct Place {                // a sequence
        std::vector<int32_t> ids; // what it holds
        size_t n_shareable = 0;   // the first ones, computed as prompts are
        uint64_t owner = 0, last_used = 0;
        std::shared_ptr<Job> job; // NULL: it is free, and keeps what it holds
        int32_t next = 0;         // to be computed, once the prompt is
        bool reads() const { return job && ids.size() < job->prompt.size(); }
        bool writes() const { return job && ids.size() >= job->prompt.size(); }
    };
    struct Donor {
        uint32_t place = 0;
        size_t n = 0;      // tokens that are there
        size_t n_soon = 0; // that some prompt being read will have
    };
    void drop_gone();
    void admit();
    bool try_to_admit(const std::shared_ptr<Job> &job);
    Donor find_donor(const Job &job) const;
    std::optional<uint32_t> free_place(uint32_t unless) const;
    size_t take_place(uint32_t place, const Job &job, const Donor &donor);
    void read_prompts();
    void write_tokens();
    size_t prompt_tokens() const; // of a chunk
    void run(std::vector<Machine::Item> &items, Path path);
    void run_alone(const Machine::Item &item, Path path);
    void done(const Machine::Item &item, Path path, const float *logits);
    void release(Place &place);
    void forget_free();

    Machine &machine_;
    SchedulerOptions options_;
    Clock clock_;
    std::vector<Place> places_;
    std::map<uint64_t, std::deque<std::shared_ptr<Job>>> queues_; // of owners
    uint64_t last_owner_ = 0;
    size_t n_waiting_ = 0, n_running_ = 0;
    uint64_t uses_ = 0;
    bool prompts_had_turn_ = false;
    double prompt_rate_ = 0; // tokens per second, 0 = not known
    SchedulerCounts counts_;
};

} // namespace ggufx::cli
