// SPDX-License-Identifier: MIT
#include "generate/step.hpp"

#include "generate/generator.hpp"

#include <inttypes.h>

#include <algorithm>

namespace ggufx::generate {

Steps::Steps(model::Session &session)
    : session_(session), owners_(session.n_sequences(), nullptr,
                                 HostAllocator<Generator *>(session.model().host().get())),
      items_(HostAllocator<Taken>(session.model().host().get())),
      batch_(HostAllocator<model::BatchItem>(session.model().host().get())),
      logits_(HostAllocator<float>(session.model().host().get())) {
    items_.reserve(owners_.size());
    batch_.reserve(owners_.size());
}

void Steps::claim(uint32_t sequence, Generator *generator) {
    if (sequence >= owners_.size())
        fail(Status::argument, {.index = sequence},
             "sequence %" PRIu32 ": the session has %" PRIu64 " sequences", sequence,
             static_cast<uint64_t>(owners_.size()));
    if (owners_[sequence])
        fail(Status::state, {.index = sequence}, "sequence %" PRIu32 " has another generator",
             sequence);
    owners_[sequence] = generator;
}

void Steps::forget(const Generator *generator) {
    std::replace(owners_.begin(), owners_.end(), const_cast<Generator *>(generator),
                 static_cast<Generator *>(nullptr));
    bool any = false;
    for (Taken &item : items_) {
        if (item.generator == generator) item.generator = nullptr;
        any = any || item.generator;
    }
    if (!any) end();
}

// Ends the step in flight, if there is one; the session drops its part of it.
void Steps::end() {
    if (is_open_) session_.abandon_step();
    for (const Taken &item : items_)
        if (item.generator) item.generator->drop_drafts();
    is_open_ = false;
    items_.clear();
}

// ---- begin

void Steps::end_cancelled(const Item *items, size_t n_items) {
    for (size_t i = 0; i < n_items; i++) {
        Generator &generator = *items[i].generator;
        if (generator.is_cancelled() && generator.has_work()) generator.end_now(End::cancelled);
    }
}

// Chooses the mode of the step: different modes of items take turns.
bool Steps::choose_mode(const Item *items, size_t n_items) {
    int least = -1, next = -1;
    for (size_t i = 0; i < n_items; i++) {
        const Generator &generator = *items[i].generator;
        if (!generator.has_work()) continue;
        const int mode = generator.next_mode();
        if (least < 0 || mode < least) least = mode;
        if (mode > mode_ && (next < 0 || mode < next)) next = mode;
    }
    if (least < 0) return false;
    mode_ = static_cast<uint8_t>(next < 0 ? least : next);
    return true;
}

bool Steps::takes_part(const Generator &generator) const {
    return generator.has_work() && generator.next_mode() == mode_;
}

// Throws std::bad_alloc and the errors of the generators; no step is in flight then.
void Steps::begin(const Item *items, size_t n_items) {
    end_cancelled(items, n_items);
    for (size_t i = 0; i < n_items; i++)
        if (items[i].generator->has_work()) items[i].generator->prepare();
    if (!choose_mode(items, n_items)) return;
    for (size_t i = 0; i < n_items; i++) {
        if (!takes_part(*items[i].generator)) continue;
        items_.push_back({items[i], i, {}, false});
        items[i].generator->begin_drafts();
    }
}

// Makes the drafts of all generators, one after the other.
Status Steps::draft(const Options &options, bool *complete, Failure *failure) {
    *complete = true;
    Status status = Status::ok;
    model::Budget budget(options.budget_us, options.clock);
    for (size_t i = 0; i < items_.size() && status == Status::ok && *complete; i++) {
        Generator *const generator = items_[i].generator;
        if (!generator || !generator->has_drafts()) continue;
        Drafts::Part part = {{this, report}, 0, options.clock};
        (void)budget.lap();
        if (options.budget_us) part.budget_us = budget.left_us();
        status = generator->run_drafts(part, complete, failure);
    }
    return status;
}

// Divides the tokens of a batch among the items: each gets what it asks for, and those that ask for
// none share the rest. If that does not fit, all of them share.
void Steps::plan() {
    std::erase_if(items_, [](const Taken &item) { return !item.generator; });
    size_t room = session_.n_batch(), n_sharing = 0, n_asked = 0;
    for (const Taken &item : items_) {
        n_asked += std::min(item.n_tokens, room);
        n_sharing += item.n_tokens == 0;
    }
    const bool fits = n_asked + n_sharing <= room;
    if (fits)
        room -= n_asked;
    else
        n_sharing = items_.size();
    for (Taken &item : items_) {
        size_t most = item.n_tokens;
        const bool shares = !fits || most == 0;
        const size_t fair = shares ? std::max<size_t>(room / n_sharing--, 1) : most;
        if (most == 0 || most > fair) most = fair;
        item.batch = item.generator->next_tokens(most);
        if (shares) room -= std::min(room, item.batch.n);
    }
}

// Opens the step in the session, or runs it at once in a group.
Status Steps::open(Failure *failure) {
    for (const Taken &item : items_)
        if (item.generator) item.generator->prepare(); // the session may have changed meanwhile
    plan();
    size_t n_rows = 0;
    batch_.clear();
    for (const Taken &item : items_) {
        n_rows += item.batch.n_logits;
        batch_.push_back(item.batch);
    }
    const size_t n_logits = n_rows * session_.logits_size();
    if (logits_.size() < n_logits) logits_.resize(n_logits);
    products_ = model::with_mode(session_.matmul_options(), mode_);
    model::BatchOptions options;
    options.logits = logits_.data();
    options.matmul = &products_;
    options.keeps_nan = true;
    options.use = {this, [](void *self, Failure *why) {
                       return static_cast<Steps *>(self)->use_outputs(why);
                   }};
    options.progress = {this, report};
    if (session_.model().peers())
        return session_.decode_batch(batch_.data(), batch_.size(), options, failure);
    const Status status = session_.open_step(batch_.data(), batch_.size(), options, failure);
    is_open_ = status == Status::ok;
    return status;
}

// ---- run

bool Steps::all_cancelled() const {
    return std::all_of(items_.begin(), items_.end(), [](const Taken &item) {
        return !item.generator || item.generator->is_cancelled();
    });
}

int32_t Steps::report(void *user, uint64_t done, uint64_t total) {
    const Steps &self = *static_cast<Steps *>(user);
    return self.all_cancelled() || self.progress_.cancelled(done, total);
}

// Samples the next tokens, before the session commits the step.
Status Steps::use_outputs(Failure *failure) {
    const float *logits = logits_.data();
    Status status = Status::ok;
    try {
        for (Taken &item : items_) {
            const float *const rows = logits;
            logits += item.batch.n_logits * session_.logits_size();
            if (!item.generator) continue;
            item.generator->begin_undo();
            item.is_used = true;
            item.generator->take(item.batch, rows);
        }
        return Status::ok;
    } catch (const Error &error) {
        if (failure) *failure = error.failure;
        status = static_cast<Status>(error.failure.status);
    } catch (const std::bad_alloc &) {
        status = set_failure(failure, Status::memory, {}, "the allocator has no memory left");
    }
    for (const Taken &item : items_)
        if (item.is_used) item.generator->undo();
    return status;
}

void Steps::keep() {
    is_open_ = false;
    for (const Taken &item : items_)
        if (item.generator) item.generator->keep(item.batch);
    end();
}

// Writes the index of the caller's item in place of that of the call.
void Steps::name_item(Status status, Failure *failure) const {
    // Failures of a group have the index of a rank, and name it.
    if (!failure || strncmp(failure->message, "item ", 5) != 0) return;
    if (failure->index >= items_.size()) return;
    const size_t index = items_[static_cast<size_t>(failure->index)].index;
    const char *const text = strchr(failure->message, ':');
    Failure out = {};
    At at = at_of(*failure);
    at.index = index;
    (void)set_failure(&out, status, at, "item %" PRIu64 "%s", static_cast<uint64_t>(index),
                      text ? text : "");
    *failure = out;
}

// Goes on with the step in flight.
Status Steps::advance(const Options &options, bool *complete, Failure *failure) {
    model::Budget budget(options.budget_us, options.clock);
    Status status = Status::ok;
    *complete = false;
    if (!is_open_) {
        status = draft(options, complete, failure);
        if (status != Status::ok || !*complete) return status;
        status = open(failure);
        if (status != Status::ok) name_item(status, failure);
        *complete = status == Status::ok && !is_open_; // in a group: in one call
        if (status != Status::ok || *complete) return status;
    }
    model::StepOptions step;
    step.progress = {this, report};
    step.clock = options.clock;
    (void)budget.lap();
    if (options.budget_us) step.budget_us = budget.left_us();
    status = session_.advance_step(step, complete, failure);
    if (status != Status::ok) is_open_ = false;
    return status;
}

Status Steps::run(const Options &options, bool *complete, Failure *failure) {
    const Status status = advance(options, complete, failure);
    if (status == Status::ok) {
        if (*complete) keep();
        return status;
    }
    if (status == Status::cancelled && all_cancelled()) {
        for (const Taken &item : items_)
            if (item.generator && !item.generator->has_ended())
                item.generator->end_now(End::cancelled);
        end();
        *complete = true;
        return Status::ok;
    }
    if (status == Status::value) return isolate(options, complete, failure);
    end();
    return status;
}

// A value of one item, such as a key that its cache cannot hold, has failed the pass of all: runs
// one of them alone, by turns and without drafts, so that the fault ends the one that has it.
Status Steps::isolate(const Options &options, bool *complete, Failure *failure) {
    std::erase_if(items_, [](const Taken &item) { return !item.generator; });
    if (items_.size() > 1 || (!items_.empty() && items_[0].generator->has_drafted())) {
        const Taken one = items_[n_isolated_++ % items_.size()];
        end();
        items_.push_back(one);
        return run(options, complete, failure);
    }
    if (!items_.empty())
        items_[0].generator->end_now(End::error, Status::value,
                                     failure ? failure->message
                                             : "a value of the model is not finite");
    end();
    *complete = true;
    return Status::ok;
}

Status Steps::step(const Item *items, size_t n_items, const Options &options, bool *complete,
                   Failure *failure) {
    progress_ = options.progress;
    *complete = true;
    Status status = Status::ok;
    try {
        if (!is_in_flight()) begin(items, n_items);
        return is_in_flight() ? run(options, complete, failure) : Status::ok;
    } catch (const Error &error) {
        if (failure) *failure = error.failure;
        status = static_cast<Status>(error.failure.status);
    } catch (const std::bad_alloc &) {
        status = set_failure(failure, Status::memory, {}, "the allocator has no memory left");
    }
    end();
    return status;
}

} // namespace ggufx::generate
