// Scheduler steps: prefill chunks and decode steps alternate.
// SPDX-License-Identifier: MIT
#include "serve/scheduler.hpp"

#include <algorithm>

namespace ggufx::cli {

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
    const Path path = prompts_had_turn_ ? plan_prompts() : plan_answers();
    const double start = clock_();
    compute_all(path);
    note_rate(path, clock_() - start);
}

// Retries the items of a failed batch one by one, so that a fault of one request does not end the
// others.
void Scheduler::compute_all(Path path) {
    counts_.width = static_cast<uint32_t>(items_.size());
    const auto refused = compute(items_, path);
    if (!refused || refused->fault == Fault::cancelled) return;   // dropped in the next step
    if (refused->fault == Fault::memory && make_memory()) return; // retry in the next step
    for (const DecodeBackend::Item &item : items_) {
        const auto alone = compute({&item, 1}, path);
        if (!alone || alone->fault == Fault::cancelled) continue;
        places_[item.sequence].job->writer->fail(alone->what(), alone->fault);
        release(item.sequence);
    }
}

// Makes one backend call. Returns its error, if any.
std::optional<DecodeBackend::Refused> Scheduler::compute(std::span<const DecodeBackend::Item> items,
                                                         Path path) {
    const auto all_gone = [items] {
        return std::ranges::all_of(items, [](const auto &item) { return item.writer->is_gone(); });
    };
    try {
        backend_.step(items, path, all_gone);
    } catch (const DecodeBackend::Refused &refused) { return refused; }
    // The session has the items' tokens from here on: after an error the slot is forgotten.
    for (const DecodeBackend::Item &item : items)
        isolate([&] { finish(item, path); },
                [&](const char *why, Fault fault) { fail(item.sequence, why, fault); });
    return {};
}

// Frees memory after a call ran out of it: evicts cached prefixes, then preempts the youngest
// request.
bool Scheduler::make_memory() {
    bool any = false;
    while (drop_oldest()) any = true;
    if (any || n_running_ < 2) return any;
    const uint32_t victim = *youngest({});
    put_back(victim);
    forget(victim);
    is_full_ = n_running_ > 0;
    return true;
}

// Notes the tokens that the session has computed: none if a fault of another item has held it up.
void Scheduler::finish(const DecodeBackend::Item &item, Path path) {
    const uint32_t place = item.sequence;
    Job &job = *places_[place].job;
    const auto end = static_cast<size_t>(backend_.n_tokens(place));
    const size_t held = std::min(n_held(place), end), n = end - held;
    uint64_t &count = held < job.prompt.size() ? counts_.n_prompt_tokens
                      : n_left(place) > 0      ? counts_.n_again
                                               : counts_.n_answer_tokens;
    std::vector<int32_t> ids(n);
    backend_.read(place, held, ids);
    std::vector<PrefixIndex::Code> codes;
    for (const int32_t id : ids) codes.push_back(code_of(id, path));
    index_.append(place, codes);
    owners_.find(job.owner)->second.deficit -= static_cast<int64_t>(n);
    count += n;
    if (held + n >= job.prompt.size()) job.is_read = true;
    if (!job.writer->advance()) release(place);
}

} // namespace ggufx::cli
