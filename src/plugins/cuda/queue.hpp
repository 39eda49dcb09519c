// CUDA queue: a stream, which executes in order, and an event per submission.
// SPDX-License-Identifier: MIT
#pragma once

#include "plugins/cuda/arguments.hpp"
#include "plugins/cuda/device.hpp"

#include <deque>
#include <vector>

namespace ggufx::cuda {

class Queue {
public:
    explicit Queue(Device &device);
    ~Queue(); // waits for pending work
    Queue(const Queue &) = delete;
    Queue &operator=(const Queue &) = delete;

    void copy(plugin::Span to, plugin::Span from, uint64_t bytes);
    void launch(const plugin::Launch &launch);
    uint64_t submit();
    bool wait(uint64_t ticket, uint64_t timeout_ns); // false: not done within the timeout

private:
    struct Size {
        uint32_t x, y;
        uint64_t shared_bytes;
    };
    struct Submission {
        uint64_t ticket;
        Event event;
    };
    card::Arguments arguments(const plugin::Launch &launch);
    void run(Function function, const Size &size, card::Arguments &arguments);
    void dots(const plugin::Launch &launch, uint32_t text, card::Arguments &arguments);
    void packed_dots(const plugin::Launch &launch, uint32_t text);

    Device &device_;
    const Driver &driver_;
    Stream stream_ = nullptr;
    uint64_t ticket_ = 0, done_ = 0;
    std::deque<Submission> submitted_;
    std::vector<Event> idle_;
};

} // namespace ggufx::cuda
