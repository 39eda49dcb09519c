// Scheduler steps: prefill chunks and decode steps alternate.
// SPDX-License-Identifier: MIT
#include "serve/scheduler.hpp"

#include <algorithm>

namespace ggufx::cli {

namespace {

constexpr size_t kFirstChunk = 32; // prefill chunk in tokens while the rate is unknown
// Smallest chunk beside decodes, and without them: matrix products of fewer tokens are slow.
constexpr size_t kLeast = 4, kLeastAlone = 64;
constexpr double kShared = 10; // seconds after which an owner counts as gone
// Chunk of a prompt whose logits are all requested; bounds the memory.
constexpr size_t kScoredChunk = 16;
constexpr size_t kGrowth = 256; // answer tokens reserved at once

size_t sum_tokens(std::span<const DecodeBackend::Item> items) {
    size_t n = 0;
    for (const DecodeBackend::Item &item : items) n += item.n_tokens;
    return n;
}

} // namespace

size_t Scheduler::n_left(uint32_t place) const {
    const size_t all = places_[place].job->codes.size(), held = n_held(place);
    return held < all ? all - held : 0;
}

// Returns the next tokens to compute, from a prompt or from the answer of a preempted request.
Scheduler::Part Scheduler::part(uint32_t place) const {
    const Job &job = *places_[place].job;
    const size_t held = n_held(place), n_prompt = job.prompt.size();
    if (held >= n_prompt) return {job.codes.size() - held, options_.answers};
    return {n_prompt - held, Path::tiles};
}

// Notes whether several owners have requests.
void Scheduler::note_owners() {
    const auto n = std::count_if(owners_.begin(), owners_.end(), [](const auto &one) {
        return one.second.n_running > 0 || !one.second.queue.empty();
    });
    if (n > 1) shared_until_ = clock_() + kShared;
}

// Limits a prefill chunk to the maximum delay of running decodes, and of the next request of another
// owner.
size_t Scheduler::prompt_tokens() const {
    bool alone = true;
    for (uint32_t i = 0; i < places_.size(); i++) alone = alone && !writes(i);
    const size_t most = backend_.n_batch();
    if (alone && clock_() >= shared_until_) return most;
    if (prompt_rate_ == 0) return std::min(kFirstChunk, most);
    const double n = prompt_rate_ * options_.prompt_seconds;
    const size_t least = std::min(alone ? kLeastAlone : kLeast, most);
    return n >= static_cast<double>(most) ? most : std::max(static_cast<size_t>(n), least);
}

// Sets the order to the slots with pending prefill on this path, the shortest first.
void Scheduler::find_reading(Path path) {
    order_.clear();
    for (uint32_t i = 0; i < places_.size(); i++)
        if (reads(i) && part(i).path == path) order_.push_back(i);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](uint32_t a, uint32_t b) { return n_left(a) < n_left(b); });
}

// Divides a chunk equally among owners; tokens unused by short prompts go to longer ones.
void Scheduler::plan_chunk() {
    const auto n_reading = [&](uint32_t place) -> size_t & {
        return owners_.find(places_[place].job->owner)->second.n_reading;
    };
    size_t n_owners = 0;
    for (const uint32_t i : order_) n_owners += n_reading(i)++ == 0;
    size_t room = std::max(prompt_tokens(), order_.size()), n_after = order_.size();
    items_.clear();
    for (const uint32_t i : order_) {
        const Job &job = *places_[i].job;
        const Part of = part(i);
        n_after--;
        const size_t fair = room / n_owners / n_reading(i);
        size_t n = std::min(of.n, std::clamp<size_t>(fair, 1, room - n_after));
        // A preempted request with a next token computes its prompt again, after all its scores.
        const bool scored = job.scores && !job.has_next && n_held(i) < job.prompt.size();
        if (scored) n = std::min(n, kScoredChunk);
        room -= n;
        if (--n_reading(i) == 0) n_owners--;
        items_.push_back({i, job.writer.get(), static_cast<uint32_t>(n)});
    }
}

void Scheduler::read_prompts() {
    Path path = Path::tiles;
    find_reading(path);
    if (order_.empty()) find_reading(path = Path::rows);
    plan_chunk();
    const double start = clock_();
    run(path);
    note_rate(path == Path::tiles ? prompt_rate_ : answer_rate_, start);
}

// Updates a mean rate by the items of the call that began at `start`.
void Scheduler::note_rate(double &rate, double start) const {
    const double seconds = clock_() - start;
    if (seconds <= 0) return;
    const double now = static_cast<double>(sum_tokens(items_)) / seconds;
    rate = rate == 0 ? now : 0.75 * rate + 0.25 * now;
}

// Preempts the youngest request if memory is short.
void Scheduler::write_tokens() {
    order_.clear();
    for (uint32_t i = 0; i < places_.size(); i++)
        if (writes(i)) order_.push_back(i);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](uint32_t a, uint32_t b) { return places_[a].began < places_[b].began; });
    for (const uint32_t i : order_) {
        while (places_[i].job && n_held(i) >= places_[i].reserved &&
               !make_room(i, n_held(i) + std::min(places_[i].job->most, kGrowth))) {
            const uint32_t victim = *youngest({});
            if (victim == i && n_running_ == 1) {
                places_[i].job->writer->fail("the KV cache is full", Fault::memory);
                release(i);
                break;
            }
            put_back(victim);
            forget(victim);
        }
    }
    items_.clear();
    for (const uint32_t i : order_)
        if (places_[i].job && writes(i)) items_.push_back({i, places_[i].job->writer.get(), 1});
    if (items_.empty()) return;
    const double start = clock_();
    run(options_.answers);
    note_rate(answer_rate_, start);
}

void Scheduler::step() {
    drop_gone();
    admit();
    note_owners();
    bool is_reading = false, is_writing = false;
    for (uint32_t i = 0; i < places_.size(); i++) {
        is_reading = is_reading || reads(i);
        is_writing = is_writing || writes(i);
    }
    if (!is_reading && !is_writing) return;
    counts_.n_steps++;
    prompts_had_turn_ = is_reading && !(is_writing && prompts_had_turn_);
    prompts_had_turn_ ? read_prompts() : write_tokens();
}

// Retries the items of a failed batch one by one, so that a fault of one request does not end the
// others.
void Scheduler::run(Path path) {
    const auto all_gone = [this] {
        return std::all_of(items_.begin(), items_.end(), [&](const DecodeBackend::Item &item) {
            return places_[item.sequence].job->writer->is_gone();
        });
    };
    counts_.width = static_cast<uint32_t>(items_.size());
    try {
        backend_.step(items_, path, all_gone);
    } catch (const DecodeBackend::Refused &refused) {
        // Dropped in the next step.
        if (refused.why == DecodeBackend::Refused::Why::cancelled) return;
        if (refused.why == DecodeBackend::Refused::Why::memory && make_memory())
            return; // retry in the next step
        for (const DecodeBackend::Item &item : items_) run_alone(item, path);
        return;
    }
    for (const DecodeBackend::Item &item : items_) finish(item, path);
}

// Frees memory after a call ran out of it: evicts cached prefixes, then preempts the youngest
// request.
bool Scheduler::make_memory() {
    bool any = false;
    while (drop_oldest(UINT32_MAX)) any = true;
    if (any || n_running_ < 2) return any;
    const uint32_t victim = *youngest({});
    put_back(victim);
    forget(victim);
    return true;
}

void Scheduler::run_alone(const DecodeBackend::Item &item, Path path) {
    const std::shared_ptr<Job> job = places_[item.sequence].job;
    try {
        backend_.step({&item, 1}, path, [&] { return job->writer->is_gone(); });
    } catch (const DecodeBackend::Refused &refused) {
        using Why = DecodeBackend::Refused::Why;
        if (refused.why == Why::cancelled) return;
        job->writer->fail(refused.what(),
                          refused.why == Why::memory ? Fault::memory : Fault::internal);
        release(item.sequence);
        return;
    }
    finish(item, path);
}

// The session has the item's tokens from here on: after an error its slot is forgotten.
void Scheduler::finish(const DecodeBackend::Item &item, Path path) {
    isolate([&] { done(item, path); },
            [&](const char *why, Fault fault) { fail(item.sequence, why, fault); });
}

void Scheduler::charge(uint32_t place, size_t n) {
    owners_.find(places_[place].job->owner)->second.deficit -= static_cast<int64_t>(n);
}

// Notes the tokens that the session has computed: none if a fault of another item has held it up.
void Scheduler::done(const DecodeBackend::Item &item, Path path) {
    const uint32_t place = item.sequence;
    Job &job = *places_[place].job;
    const auto end = static_cast<size_t>(backend_.n_tokens(place));
    const size_t held = std::min(n_held(place), end), n = end - held;
    const bool again = held >= job.prompt.size() && n_left(place) > 0;
    std::vector<int32_t> ids(n);
    backend_.read(place, held, ids);
    std::vector<PrefixIndex::Code> codes;
    for (const int32_t id : ids)
        codes.push_back(static_cast<PrefixIndex::Code>(id) << 1 |
                        static_cast<PrefixIndex::Code>(path));
    index_.append(place, codes);
    charge(place, n);
    (again                      ? counts_.n_again
     : held < job.prompt.size() ? counts_.n_prompt_tokens
                                : counts_.n_answer_tokens) += n;
    if (held + n >= job.prompt.size()) job.is_read = true;
    if (!job.writer->advance()) release(place);
}

void Scheduler::stop(const char *why) noexcept {
    for (uint32_t i = 0; i < places_.size(); i++) {
        if (!places_[i].job) continue;
        places_[i].job->writer->stop(why);
        release(i);
    }
    for (auto &[number, owner] : owners_) {
        for (const std::shared_ptr<Job> &job : owner.queue) {
            job->is_read = true;
            job->writer->stop(why);
        }
        owner.queue.clear();
    }
    n_waiting_ = 0;
}

// Forgets all slots: their content may be what has failed.
void Scheduler::fail_all(const char *why, Fault fault) noexcept {
    for (uint32_t i = 0; i < places_.size(); i++) fail(i, why, fault);
    for (auto &[number, owner] : owners_)
        while (!owner.queue.empty()) refuse(std::shared_ptr<Job>(owner.queue.front()), why, fault);
}

} // namespace ggufx::cli
