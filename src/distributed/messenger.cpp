// SPDX-License-Identifier: MIT
#include "distributed/messenger.hpp"

#include "distributed/all_gather.hpp"

namespace ggufx::model {

Messenger::Owned Messenger::create(const Ref<Host> &host) {
    Owned messenger(make<Messenger>(*host, host));
    if (messenger->thread_.start(serve, messenger.get())) messenger->pid_ = process_id();
    return messenger;
}

// In the child of a fork the condition variable still counts the parent's thread as a waiter. Its
// destructor would wait for that thread, so the child only frees the memory.
void Messenger::Destroy::operator()(Messenger *messenger) const {
    const Ref<Host> host = messenger->host_;
    const bool inherited = messenger->pid_ && !messenger->has_thread();
    if (messenger->has_thread()) {
        {
            const std::lock_guard lock(messenger->mutex_);
            messenger->stops_ = true;
        }
        messenger->changed_.notify_all();
        messenger->thread_.join();
    }
    if (!inherited) messenger->~Messenger();
    host->free(messenger, sizeof *messenger, alignof(Messenger));
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
    status_ = run_aside(*context_, *all_gather_, &failure_);
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
