// Admission, fair queueing and preemption. Scheduling does not change the output. Both compute
// paths are batch-invariant, a copied prefix has the same bits, and recomputed tokens take their
// original path.
// SPDX-License-Identifier: MIT
#include "serve/scheduler.hpp"

#include <algorithm>
#include <limits>

namespace ggufx::cli {

namespace {

// Wait for a running prefill that will share this many more tokens.
constexpr size_t kWorthWaiting = 64;

using Code = PrefixIndex::Code;

size_t common(std::span<const Code> a, std::span<const Code> b) {
    const size_t n = std::min(a.size(), b.size());
    const auto end = a.begin() + static_cast<ptrdiff_t>(n);
    return static_cast<size_t>(std::mismatch(a.begin(), end, b.begin()).first - a.begin());
}

} // namespace

Scheduler::Scheduler(DecodeBackend &machine, const SchedulerOptions &options, Clock clock)
    : backend_(machine), options_(options), clock_(std::move(clock)),
      index_(machine.n_sequences(), options.secret), places_(machine.n_sequences()) {
    options_.n_parallel = std::min(options.n_parallel, machine.n_sequences());
    order_.reserve(machine.n_sequences());
    items_.reserve(machine.n_sequences());
}

void Scheduler::add(std::shared_ptr<Job> job) {
    const auto queue = [&] {
        for (const int32_t id : job->prompt) job->codes.push_back(code_of(id, Path::tiles));
        job->waits_since = clock_();
        owners_[job->owner].queue.push_back(job);
        n_waiting_++;
    };
    isolate(queue, [&](const char *why, Fault fault) {
        job->is_read = true;
        job->writer->fail(why, fault);
    });
}

bool Scheduler::is_consistent() const {
    for (uint32_t i = 0; i < places_.size(); i++)
        if (!backend_.holds(i, index_.codes(i))) return false;
    return true;
}

SchedulerCounts Scheduler::counts() const {
    SchedulerCounts out = counts_;
    out.n_running = static_cast<uint32_t>(n_running_);
    out.n_waiting = static_cast<uint32_t>(n_waiting_);
    for (uint32_t i = 0; i < places_.size(); i++) {
        out.n_held += n_held(i);
        if (!places_[i].job) out.n_kept += n_held(i);
    }
    return out;
}

SlotView Scheduler::slot(uint32_t sequence) const {
    const auto codes = index_.codes(sequence);
    const auto is_rows = [](Code code) { return (code & 1) != 0; };
    const auto end = std::find_if(codes.begin(), codes.end(), is_rows);
    return {reads(sequence)    ? SlotView::State::reads
            : writes(sequence) ? SlotView::State::writes
                               : SlotView::State::free,
            index_.owner(sequence), codes.size(), static_cast<size_t>(end - codes.begin())};
}

void Scheduler::restore(uint32_t sequence, uint64_t cache, std::span<const Code> codes,
                        std::string_view snapshot) {
    try {
        backend_.load(sequence, snapshot);
        if (!backend_.holds(sequence, codes))
            throw DecodeBackend::Refused(Fault::internal,
                                         "the snapshot does not hold the tokens that it names");
        index_.begin(sequence, cache);
        index_.append(sequence, codes);
    } catch (const std::exception &) {
        if (!backend_.holds(sequence, index_.codes(sequence))) forget(sequence);
        throw;
    }
    places_[sequence].last_used = ++uses_;
}

// ---- free slots ----

// Empties a slot, in the index even if the session fails: take_place() empties the session again
// before a request gets the slot.
void Scheduler::forget(uint32_t place) noexcept {
    index_.begin(place, 0);
    try {
        backend_.truncate(place, 0);
    } catch (const std::exception &) {} // a lost backend reports it in the next call
}

void Scheduler::vacate(uint32_t place) noexcept {
    SequenceSlot &at = places_[place];
    owners_.find(at.job->owner)->second.n_running--;
    at.job.reset();
    n_running_--;
    is_full_ = false;
    at.last_used = ++uses_;
}

// A free slot keeps its prefix for later prompts: the tokens that were computed by prefill.
void Scheduler::release(uint32_t place) noexcept {
    places_[place].job->is_read = true;
    places_[place].job->writer->close();
    vacate(place);
    const size_t n = slot(place).n_prompt;
    try {
        if (n < n_held(place)) backend_.truncate(place, n);
        index_.cut(place, n);
    } catch (const std::exception &) { forget(place); }
}

// Ends a request in its slot after an error. The slot is forgotten, since index and session may
// differ.
void Scheduler::fail(uint32_t place, const char *why, Fault fault) noexcept {
    const std::shared_ptr<Job> job = places_[place].job;
    if (job) {
        job->is_read = true;
        vacate(place);
        job->writer->fail(why, fault);
        job->writer->close();
    }
    forget(place);
}

// Keeps the codes of the computed tokens of an answer in its request.
void Scheduler::keep_answer(uint32_t place) {
    Job &job = *places_[place].job;
    const auto held = index_.codes(place);
    job.codes.assign(held.begin(), held.end());
    job.has_next = true;
}

// Preempts a request: it returns to the queue and later continues where it was, by the same compute
// path.
void Scheduler::put_back(uint32_t place) {
    const std::shared_ptr<Job> job = places_[place].job;
    const auto queue = [&] {
        if (writes(place)) keep_answer(place);
        job->writer->suspend();
        owners_[job->owner].queue.push_front(job);
        vacate(place);
        job->waits_since = clock_();
        n_waiting_++;
        counts_.n_preempted++;
    };
    isolate(queue, [&](const char *why, Fault fault) { fail(place, why, fault); });
}

std::optional<uint32_t> Scheduler::youngest(std::optional<uint64_t> owner) const {
    std::optional<uint32_t> out;
    for (uint32_t i = 0; i < places_.size(); i++) {
        const SequenceSlot &place = places_[i];
        if (!place.job || (owner && place.job->owner != *owner)) continue;
        if (!out || place.began > places_[*out].began) out = i;
    }
    return out;
}

bool Scheduler::drop_oldest() {
    std::optional<uint32_t> oldest;
    for (uint32_t i = 0; i < places_.size(); i++) {
        if (places_[i].job || n_held(i) == 0) continue;
        if (!oldest || places_[i].last_used < places_[*oldest].last_used) oldest = i;
    }
    if (!oldest) return false;
    forget(*oldest);
    counts_.n_dropped++;
    return true;
}

// Ends the requests, running and waiting, whose client ends(writer) has notified.
template <class Ends> void Scheduler::end_if(const Ends &ends) {
    for (uint32_t i = 0; i < places_.size(); i++)
        if (places_[i].job && ends(*places_[i].job->writer)) release(i);
    for (auto &[number, owner] : owners_)
        n_waiting_ -= std::erase_if(owner.queue, [&](const std::shared_ptr<Job> &job) {
            return ends(*job->writer) && (job->is_read = true);
        });
}

void Scheduler::drop_gone() {
    end_if([&](Writer &writer) {
        if (writer.is_gone()) return ++counts_.n_left > 0;
        if (!writer.is_late()) return false;
        writer.stop("the request timed out");
        return true;
    });
    std::erase_if(owners_, [](const auto &one) {
        return one.second.queue.empty() && one.second.n_running == 0 && one.second.deficit >= 0;
    });
}

void Scheduler::stop(const char *why) noexcept {
    end_if([why](Writer &writer) {
        writer.stop(why);
        return true;
    });
}

// Forgets all slots: their content may be what has failed.
void Scheduler::fail_all(const char *why, Fault fault) noexcept {
    for (uint32_t i = 0; i < places_.size(); i++) fail(i, why, fault);
    for (auto &[number, owner] : owners_)
        while (!owner.queue.empty()) refuse(std::shared_ptr<Job>(owner.queue.front()), why, fault);
}

// ---- admission ----

// Adds as many rounds of quanta as the first waiting owner needs to have tokens left.
void Scheduler::refill() {
    int64_t best = INT64_MIN;
    for (const auto &[number, owner] : owners_)
        if (!owner.queue.empty()) best = std::max(best, owner.deficit);
    const int64_t rounds = best > 0 ? 0 : -best / kQuantum + 1;
    for (auto &[number, owner] : owners_)
        owner.deficit = std::min(owner.deficit + rounds * kQuantum, kQuantum);
}

// Deficit round robin: returns the next waiting owner that has tokens left in this round.
std::optional<uint64_t> Scheduler::next_owner() {
    refill();
    for (const bool in_debt : {false, true}) {
        auto at = owners_.upper_bound(last_owner_);
        for (size_t i = 0; i < owners_.size(); i++, ++at) {
            if (at == owners_.end()) at = owners_.begin();
            if (at->second.queue.empty() || (at->second.deficit <= 0) != in_debt) continue;
            if (!at->second.is_refused) return at->first;
        }
    }
    return {};
}

void Scheduler::clear_refusals() {
    for (auto &[number, owner] : owners_) owner.is_refused = false;
}

// Admits the oldest request of each owner's queue first.
void Scheduler::admit() {
    clear_refusals();
    while (!is_full_ && n_waiting_ > 0 && n_running_ < options_.n_parallel) {
        const auto owner = next_owner();
        if (!owner) break;
        if (try_to_admit(*owner))
            clear_refusals();
        else
            owners_[*owner].is_refused = true;
        last_owner_ = *owner;
    }
    give_turns();
    for (auto &[number, owner] : owners_)
        for (const std::shared_ptr<Job> &job : owner.queue) job->writer->pass();
}

// Estimates the time in which a preempted request gets where it was.
double Scheduler::recompute_seconds(uint32_t place) const {
    const SlotView held = slot(place);
    const auto seconds = [](size_t n, double rate) {
        if (n == 0) return 0.0;
        return rate > 0 ? static_cast<double>(n) / rate : std::numeric_limits<double>::infinity();
    };
    return seconds(held.n_prompt, prompt_rate_) +
           seconds(held.n_tokens - held.n_prompt, answer_rate_);
}

// Fairness: one owner may use all slots, but is preempted if another owner has none. The other one
// waits as long as the lost work takes.
void Scheduler::give_turns() {
    if (n_running_ < options_.n_parallel || n_waiting_ == 0) return;
    const auto most =
        std::max_element(owners_.begin(), owners_.end(), [](const auto &a, const auto &b) {
            return a.second.n_running < b.second.n_running;
        });
    if (most->second.n_running < 2) return;
    std::optional<double> since;
    for (const auto &[number, owner] : owners_) {
        if (owner.n_running > 0 || owner.queue.empty() || owner.deficit < most->second.deficit)
            continue;
        const double begin = owner.queue.front()->waits_since;
        since = std::min(since.value_or(begin), begin);
    }
    if (!since) return;
    const uint32_t victim = *youngest(most->first);
    const double least = std::min(options_.patience_seconds, recompute_seconds(victim));
    if (clock_() - *since < least) return;
    put_back(victim);
    last_owner_ = most->first;
}

// Returns the tokens that this prompt will share with a prompt in prefill.
size_t Scheduler::soon(const Job &job, std::span<const Code> wanted) const {
    size_t n = 0;
    for (uint32_t i = 0; i < places_.size(); i++)
        if (reads(i) && index_.owner(i) == job.cache)
            n = std::max(n, common(wanted, places_[i].job->codes));
    return n;
}

std::optional<uint32_t> Scheduler::free_place(uint32_t unless) const {
    std::optional<uint32_t> out;
    for (uint32_t i = 0; i < places_.size(); i++) {
        if (places_[i].job || i == unless) continue;
        if (!out || places_[i].last_used < places_[*out].last_used) out = i;
    }
    return out;
}

// Assigns a slot; returns the number of `job`'s tokens that it holds afterwards. A prefix that the
// session refuses is computed.
size_t Scheduler::take_place(uint32_t place, const Job &job, const PrefixIndex::Found &donor) {
    try {
        if (donor.n > 0 && take_prefix(place, job, donor)) return donor.n;
    } catch (const DecodeBackend::Refused &) {
        if (!places_[donor.sequence].job) forget(donor.sequence);
    }
    index_.begin(place, job.cache);
    backend_.truncate(place, 0);
    return 0;
}

// Returns false if there is no memory for a copy.
bool Scheduler::take_prefix(uint32_t place, const Job &job, const PrefixIndex::Found &donor) {
    if (place == donor.sequence) {
        backend_.truncate(place, donor.n);
        index_.cut(place, donor.n);
        return true;
    }
    index_.begin(place, job.cache);
    backend_.truncate(place, 0);
    if (!backend_.copy(donor.sequence, place, donor.n)) return false;
    index_.append(place, std::span(job.codes).first(donor.n));
    places_[donor.sequence].last_used = ++uses_;
    return true;
}

void Scheduler::start(uint32_t place, const std::shared_ptr<Job> &job, size_t n_cached) {
    SequenceSlot &at = places_[place];
    Owner &owner = owners_[job->owner];
    owner.queue.pop_front();
    owner.n_running++;
    n_waiting_--;
    n_running_++;
    at.job = job;
    at.began = ++uses_;
    job->writer->start(place, job->prompt);
    index_.cut(place, static_cast<size_t>(backend_.n_tokens(place)));
    if (job->has_begun) return;
    job->has_begun = true;
    counts_.n_cached_tokens += n_cached;
    job->writer->begin(n_cached);
}

// Ends a request that waits at the front of its queue with an error.
void Scheduler::refuse(const std::shared_ptr<Job> &job, const char *why, Fault fault) noexcept {
    owners_.find(job->owner)->second.queue.pop_front();
    n_waiting_--;
    job->is_read = true;
    job->writer->fail(why, fault);
    job->writer->close();
}

// Returns false if the oldest request of this owner has to wait.
bool Scheduler::try_to_admit(uint64_t number) {
    const std::shared_ptr<Job> job = owners_[number].queue.front();
    std::optional<uint32_t> place;
    bool is_admitted = true; // or ended
    isolate([&] { is_admitted = admit_job(job, place); },
            [&](const char *why, Fault fault) {
                const bool waits = !place || places_[*place].job != job;
                if (place) fail(*place, why, fault);
                if (waits) refuse(job, why, fault);
            });
    return is_admitted;
}

// A conversation that continues reuses its slot; other prefixes are copied, so that the donor keeps
// them.
bool Scheduler::admit_job(const std::shared_ptr<Job> &job, std::optional<uint32_t> &place) {
    if (job->first && !job->first->is_read) return false;
    const auto wanted = std::span<const Code>(job->codes).first(job->codes.size() - !job->has_next);
    PrefixIndex::Found donor;
    if (job->share && !job->scores) {
        donor = index_.find(job->cache, wanted);
        if (soon(*job, wanted) >= donor.n + kWorthWaiting) return false;
    }
    const bool goes_on =
        donor.n > 0 && !places_[donor.sequence].job && donor.n * 2 >= n_held(donor.sequence);
    constexpr uint32_t any = UINT32_MAX;
    place = donor.sequence;
    if (!goes_on) place = free_place(donor.n > 0 ? donor.sequence : any);
    if (!place) place = free_place(any); // reuses the donor's slot
    if (!place) return false;
    const size_t n_cached = take_place(*place, *job, donor);
    start(*place, job, n_cached);
    return true;
}

} // namespace ggufx::cli
