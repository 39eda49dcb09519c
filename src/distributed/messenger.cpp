// SPDX-License-Identifier: MIT
#include "distributed/messenger.hpp"

#include "distributed/wavefront.hpp"

namespace ggufx::model {

SliceRunner::Owned Messenger::create(const Ref<Host> &host, RankGroup &ranks,
                                     const Slicing &slicing) {
    Messenger *const messenger = make<Messenger>(*host, host, ranks, slicing);
    Owned owned(messenger);
    if (messenger->thread_.start(serve, messenger)) messenger->pid_ = process_id();
    return owned;
}

// Slices do not pay within one machine: messages cost almost nothing there, and two products of
// half the rows cost more than one.
SliceRunner::Owned RankGroup::make_slice_runner(const Ref<Host> &host, const Graph &graph,
                                                uint32_t n_batch) {
    Slicing slicing = slicing_of(graph, size(), n_batch);
    if (slicing.most == 1) return nullptr;
    if (is_one_machine() && !graph.by_layers) slicing.least_rows = UINT32_MAX;
    return Messenger::create(host, *this, slicing);
}

// In the child of a fork the condition variable still counts the parent's thread as a waiter. Its
// destructor would wait for that thread, so the child only frees the memory.
void Messenger::destroy() {
    const Ref<Host> host = host_;
    const bool inherited = pid_ && !has_thread();
    if (has_thread()) {
        {
            const std::lock_guard lock(mutex_);
            stops_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    if (!inherited) this->~Messenger();
    host->free(this, sizeof *this, alignof(Messenger));
}

Status Messenger::run(const SlicedBatch &batch, Failure *failure) {
    return Wavefront(batch, *this, ranks_).run(failure);
}

void Messenger::serve(void *self) {
    static_cast<Messenger *>(self)->serve();
}

void Messenger::serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return is_under_way_ || stops_; });
        if (!is_under_way_) return;
        lock.unlock();
        work();
        lock.lock();
        is_under_way_ = false;
        changed_.notify_all();
    }
}

void Messenger::work() {
    status_ = ranks_.exchange_aside(*context_, *all_gather_, &failure_);
}

void Messenger::post(const Context &context, const op::AllGather &all_gather) {
    context_ = &context;
    all_gather_ = &all_gather;
    if (!has_thread()) return work();
    {
        const std::lock_guard lock(mutex_);
        is_under_way_ = true;
    }
    changed_.notify_all();
}

Status Messenger::wait(Failure *failure) {
    if (has_thread()) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !is_under_way_; });
    }
    const Status status = status_;
    if (status != Status::ok && failure) *failure = failure_;
    status_ = Status::ok;
    return status;
}

} // namespace ggufx::model
