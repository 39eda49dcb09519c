// See scheduler.hpp. What a text gives does not depend on anything decided here: prompts and tokens
// go through products without regard to neighbours, and a copied beginning has its own bits.
// SPDX-License-Identifier: MIT
#include "serve/scheduler.hpp"

#include <algorithm>
#include <numeric>

namespace ggufx::cli {

namespace {

constexpr size_t kLeastShared = 16;  // tokens: less is sooner computed than copied
constexpr size_t kWorthWaiting = 64; // tokens of a prompt being read that another one has, too
constexpr size_t kFirstChunk = 32;   // tokens, while the rate is not known

size_t common(std::span<const int32_t> a, std::span<const int32_t> b) {
    const size_t n = std::min(a.size(), b.size());
    return static_cast<size_t>(
        std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(n), b.begin()).first -
        a.begin());
}

} // namespace

Scheduler::Scheduler(Machine &machine, const SchedulerOptions &options, Clock clock)
    : machine_(machine), options_(options), clock_(std::move(clock)),
      places_(machine.n_sequences()) {}

void Scheduler::add(std::shared_ptr<Job> job) {
    queues_[job->owner].push_back(std::move(job));
    n_waiting_++;
}

SchedulerCounts Scheduler::counts() const {
    SchedulerCounts out = counts_;
    out.n_running = static_cast<uint32_t>(n_running_);
    out.n_waiting = static_cast<uint32_t>(n_waiting_);
    for (const Place &place : places_) out.n_held += place.ids.size();
    return out;
}

// A free place keeps its tokens: the next prompt may begin with them.
void Scheduler::release(Place &place) {
    place.job->is_read = true;
    place.job.reset();
    place.last_used = ++uses_;
    n_running_--;
}

void Scheduler::drop_gone() {
    for (Place &place : places_) {
        if (!place.job || !place.job->writer->is_gone()) continue;
        counts_.n_left++;
        release(place);
    }
    for (auto &[owner, queue] : queues_) {
        n_waiting_ -= std::erase_if(queue, [&](const std::shared_ptr<Job> &job) {
            if (!job->writer->is_gone()) return false;
            counts_.n_left++;
            return job->is_read = true;
        });
    }
    std::erase_if(queues_, [](const auto &queue) { return queue.second.empty(); });
}

// ---- admission ----

// Owners in turn, of each the oldest first.
void Scheduler::admit() {
    size_t n_refused = 0; // owners whose oldest one has to wait
    while (!queues_.empty() && n_refused < queues_.size() && n_running_ < places_.size()) {
        auto at = queues_.upper_bound(last_owner_);
        if (at == queues_.end()) at = queues_.begin();
        last_owner_ = at->first;
        if (!try_to_admit(at->second.front())) {
            n_refused++;
            continue;
        }
        n_refused = 0;
        n_waiting_--;
        at->second.pop_front();
        if (at->second.empty()) queues_.erase(at);
    }
    for (auto &[owner, queue] : queues_)
        for (const std::shared_ptr<Job> &job : queue) job->writer->pass();
}

Scheduler::Donor Scheduler::find_donor(const Job &job) const {
    const std::span<const int32_t> wanted(job.prompt.data(), job.prompt.size() - 1);
    Donor out;
    if (!job.share) return out;
    for (uint32_t i = 0; i < places_.size(); i++) {
        const Place &place = places_[i];
        if (place.owner != job.owner && !options_.share_prefixes) continue;
        const size_t n = common(wanted, {place.ids.data(), place.n_shareable});
        if (n > out.n) {
            out.n = n;
            out.place = i;
        }
        if (place.reads()) out.n_soon = std::max(out.n_soon, common(wanted, place.job->prompt));
    }
    if (out.n < kLeastShared) out.n = 0;
    return out;
}

std::optional<uint32_t> Scheduler::free_place(uint32_t unless) const {
    std::optional<uint32_t> out;
    for (uint32_t i = 0; i < places_.size(); i++) {
        if (places_[i].job || i == unless) continue;
        if (!out || places_[i].last_used < places_[*out].last_used) out = i;
    }
    return out;
}

// How many tokens of the prompt the place has afterwards.
size_t Scheduler::take_place(uint32_t place, const Job &job, const Donor &donor) {
    Place &to = places_[place];
    if (donor.n > 0 && place == donor.place) {
        machine_.truncate(place, donor.n);
        to.ids.resize(donor.n);
        return donor.n;
    }
    machine_.truncate(place, 0);
    to.ids.clear();
    if (donor.n == 0 || !machine_.copy(donor.place, place, donor.n)) return 0;
    to.ids.assign(job.prompt.begin(), job.prompt.begin() + static_cast<ptrdiff_t>(donor.n));
    places_[donor.place].last_used = ++uses_;
    return donor.n;
}

// A conversation that goes on stays in its place; other beginnings are copied, so that they stay.
bool Scheduler::try_to_admit(const std::shared_ptr<Job> &job) {
    if (job->first && !job->first->is_read) return false;
    const Donor donor = find_donor(*job);
    if (donor.n_soon >= donor.n + kWorthWaiting) return false;
    const Place &from = places_[donor.place];
    const bool goes_on = donor.n > 0 && !from.job && donor.n * 2 >= from.ids.size();
    constexpr uint32_t any = UINT32_MAX;
    std::optional<uint32_t> place = donor.place;
    if (!goes_on) place = free_place(donor.n > 0 ? donor.place : any);
    if (!place) place = free_place(any); // the donor itself
    if (!place) return false;
    const size_t n_cached = take_place(*place, *job, donor);
    Place &to = places_[*place];
    to.n_shareable = n_cached;
    to.owner = job->owner;
    to.job = job;
    n_running_++;
    counts_.n_cached_tokens += n_cached;
    job->writer->begin(n_cached);
    return true;
}

// ---- steps ----

// While others write, a chunk takes no longer than they may wait.
size_t Scheduler::prompt_tokens() const {
    const bool alone = std::none_of(places_.begin(), places_.end(),
                                    [](const Place &place) { return place.writes(); });
    const size_t most = machine_.n_batch();
    if (alone) return most;
    if (prompt_rate_ == 0) return std::min(kFirstChunk, most);
    const double n = prompt_rate_ * options_.prompt_seconds;
    return n >= static_cast<double>(most) ? most : std::max<size_t>(static_cast<size_t>(n), 4);
}

// Prompts share a chunk; what short ones do not use is the longer ones'.
void Scheduler::read_prompts() {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < places_.size(); i++)
        if (places_[i].reads()) order.push_back(i);
    const auto n_left = [&](uint32_t i) {
        return places_[i].job->prompt.size() - places_[i].ids.size();
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return n_left(a) < n_left(b); });
    size_t room = std::max(prompt_tokens(), order.size());
    std::vector<Machine::Item> items;
    for (size_t i = 0; i < order.size(); i++) {
        const Place &place = places_[order[i]];
        const size_t n = std::min(n_left(order[i]), room / (order.size() - i));
        room -= n;
        items.push_back(
            {order[i], {place.job->prompt.data() + place.ids.size(), n}, n == n_left(order[i])});
    }
    const double start = clock_();
    run(items, Path::tiles);
    const double seconds = clock_() - start;
    const size_t n = std::transform_reduce(items.begin(), items.end(), size_t{0}, std::plus<>(),
                                           [](const Machine::Item &i) { return i.ids.size(); });
    if (seconds <= 0) return;
    const double rate = static_cast<double>(n) / seconds;
    prompt_rate_ = prompt_rate_ == 0 ? rate : 0.75 * prompt_rate_ + 0.25 * rate;
}

void Scheduler::write_tokens() {
    std::vector<Machine::Item> items;
    for (uint32_t i = 0; i < places_.size(); i++)
        if (places_[i].writes()) items.push_back({i, {&places_[i].next, 1}, true});
    run(items, options_.answers);
}

void Scheduler::step() {
    drop_gone();
    admit();
    bool reads = false, writes = false;
    for (const Place &place : places_) {
        reads = reads || place.reads();
        writes = writes || place.writes();
    }
    if (!reads && !writes) return;
    counts_.n_steps++;
    prompts_had_turn_ = reads && !(writes && prompts_had_turn_);
    prompts_had_turn_ ? read_prompts() : write_tokens();
}

void Scheduler::forget_free() {
    for (uint32_t i = 0; i < places_.size(); i++) {
        if (places_[i].job) continue;
        machine_.truncate(i, 0);
        places_[i].ids.clear();
        places_[i].n_shareable = 0;
    }
}

// What fails for all is tried alone: nobody's fault ends a neighbour's text.
void Scheduler::run(std::vector<Machine::Item> &items, Path path) {
    const auto all_gone = [&] {
        return std::all_of(items.begin(), items.end(), [&](const Machine::Item &item) {
            return places_[item.sequence].job->writer->is_gone();
        });
    };
    try {
        const float *logits = machine_.decode(items, path, all_gone);
        for (const Machine::Item &item : items) {
            done(item, path, logits);
            if (item.wants_logits) logits += machine_.n_vocab();
        }
    } catch (const Machine::Refused &refused) {
        if (refused.why == Machine::Refused::Why::cancelled) return; // they are dropped next
        if (refused.why == Machine::Refused::Why::memory) forget_free();
        for (const Machine::Item &item : items) run_alone(item, path);
    }
}

void Scheduler::run_alone(const Machine::Item &item, Path path) {
    Place &place = places_[item.sequence];
    try {
        done(item, path,
             machine_.decode({&item, 1}, path, [&] { return place.job->writer->is_gone(); }));
    } catch (const Machine::Refused &refused) {
        if (refused.why == Machine::Refused::Why::cancelled) return;
        place.job->writer->fail(refused.what(), refused.why == Machine::Refused::Why::memory);
        release(place);
    }
}

void Scheduler::done(const Machine::Item &item, Path path, const float *logits) {
    Place &place = places_[item.sequence];
    const bool is_answer = place.writes();
    place.ids.insert(place.ids.end(), item.ids.begin(), item.ids.end());
    (is_answer ? counts_.n_answer_tokens : counts_.n_prompt_tokens) += item.ids.size();
    if (path == Path::tiles && place.n_shareable + item.ids.size() == place.ids.size())
        place.n_shareable = place.ids.size();
    if (place.ids.size() >= place.job->prompt.size()) place.job->is_read = true;
    if (!item.wants_logits) return;
    if (const auto next = place.job->writer->next({logits, machine_.n_vocab()}))
        place.next = *next;
    else
        release(place);
}

void Scheduler::stop() {
    for (Place &place : places_) {
        if (!place.job) continue;
        place.job->writer->stop();
        release(place);
    }
    for (auto &[owner, queue] : queues_) {
        for (const std::shared_ptr<Job> &job : queue) {
            job->is_read = true;
            job->writer->stop();
        }
    }
    queues_.clear();
    n_waiting_ = 0;
}

} // namespace ggufx::cli
