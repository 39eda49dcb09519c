// A thread that exchanges rows with the other ranks while its caller computes: it packs, sends and
// unpacks them. One all-gather at a time. The thread owns its rows and the rank group until wait().
// SPDX-License-Identifier: MIT
#pragma once

#include "base/thread.hpp"
#include "distributed/group.hpp"

#include <condition_variable>
#include <mutex>

namespace ggufx::model {

class Messenger final : public SliceRunner {
public:
    // Without a thread from the system, post() does the work. Throws std::bad_alloc.
    static Owned create(const Ref<Host> &host, RankGroup &ranks, const Slicing &slicing);
    static constexpr uint64_t bytes() { return sizeof(Messenger); }
    Messenger(const Ref<Host> &host, RankGroup &ranks, const Slicing &slicing)
        : SliceRunner(slicing), host_(host), ranks_(ranks) {}
    Messenger(const Messenger &) = delete;

    Status run(const SlicedBatch &batch, Failure *failure) override;

    // Requires that no all-gather is pending. Context and operation must stay valid until wait().
    void post(const Context &context, const op::AllGather &all_gather);
    // Returns the result of the posted all-gather, or ok if none was posted. Leaves `failure`
    // unchanged on success.
    Status wait(Failure *failure);

private:
    ~Messenger() = default;
    void destroy() override;
    static void serve(void *self);
    void serve();
    void work();
    // A child of fork has the messenger without its thread.
    bool has_thread() const { return pid_ == process_id(); }

    const Ref<Host> host_;
    RankGroup &ranks_;
    Thread thread_;
    int64_t pid_ = 0; // process that has the thread; 0: there is none

    std::mutex mutex_;
    std::condition_variable changed_;
    const Context *context_ = nullptr; // posted
    const op::AllGather *all_gather_ = nullptr;
    bool is_under_way_ = false, stops_ = false;
    Status status_ = Status::ok;
    Failure failure_ = {};
};

} // namespace ggufx::model
