// Plan of a step: the tokens that it computes.
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

// Sets the order to the slots for which `is` holds, by ascending key.
template <class Is, class Key> void Scheduler::find_slots(const Is &is, const Key &key) {
    order_.clear();
    for (uint32_t i = 0; i < places_.size(); i++)
        if (is(i)) order_.push_back(i);
    std::ranges::stable_sort(order_, {}, key);
}

// Finds the slots with pending prefill on this path, the shortest first.
void Scheduler::find_reading(Path path) {
    find_slots([&](uint32_t i) { return reads(i) && part(i).path == path; },
               [&](uint32_t i) { return n_left(i); });
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

// Divides a chunk equally among owners; tokens unused by short prompts go to longer ones. Answers
// of preempted requests come after all prompts.
Path Scheduler::plan_prompts() {
    Path path = Path::tiles;
    find_reading(path);
    if (order_.empty()) find_reading(path = Path::rows);
    const auto n_reading = [&](uint32_t place) -> size_t & {
        return owners_.find(places_[place].job->owner)->second.n_reading;
    };
    size_t n_owners = 0;
    for (const uint32_t i : order_) n_owners += n_reading(i)++ == 0;
    size_t room = std::max(prompt_tokens(), order_.size()), n_after = order_.size();
    items_.clear();
    for (const uint32_t i : order_) {
        const Job &job = *places_[i].job;
        n_after--;
        const size_t fair = room / n_owners / n_reading(i);
        size_t n = std::min(part(i).n, std::clamp<size_t>(fair, 1, room - n_after));
        // A preempted request with a next token computes its prompt again, after all its scores.
        const bool scores = job.scores && !job.has_next && n_held(i) < job.prompt.size();
        if (scores) n = std::min(n, kScoredChunk);
        room -= n;
        if (--n_reading(i) == 0) n_owners--;
        items_.push_back({i, job.writer.get(), static_cast<uint32_t>(n), scores});
    }
    return path;
}

// One token of each answer, the oldest request first.
Path Scheduler::plan_answers() {
    find_slots([&](uint32_t i) { return writes(i); }, [&](uint32_t i) { return places_[i].began; });
    items_.clear();
    for (const uint32_t i : order_) items_.push_back({i, places_[i].job->writer.get(), 1, false});
    return options_.answers;
}

// Updates the mean rate of the items.
void Scheduler::note_rate(Path path, double seconds) {
    if (seconds <= 0) return;
    size_t n_tokens = 0;
    for (const DecodeBackend::Item &item : items_) n_tokens += item.n_tokens;
    const double now = static_cast<double>(n_tokens) / seconds;
    double &rate = prompts_had_turn_ && path == Path::tiles ? prompt_rate_ : answer_rate_;
    rate = rate == 0 ? now : 0.75 * rate + 0.25 * now;
}

} // namespace ggufx::cli
