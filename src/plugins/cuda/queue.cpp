// SPDX-License-Identifier: MIT
#include "plugins/cuda/queue.hpp"

#include <algorithm>
#include <time.h>

namespace ggufx::cuda {

using plugin::Launch;
using plugin::Op;

static_assert(card::kJobs == plugin::kMaxJobs && card::kReadWords == plugin::kReadSums &&
              card::kActBytes == 4 * plugin::kActWords);

namespace {

constexpr uint64_t kMostValues = 1 << 29; // per row: kernels count its bytes in 32 bits

uint32_t groups_of(uint64_t n, uint32_t each) {
    return static_cast<uint32_t>((n + each - 1) / each);
}

bool is_dots(Op op) {
    return op == Op::dots8 || op == Op::dots15 || op == Op::dots_f32;
}
bool has_type(Op op) {
    return is_dots(op) || op == Op::chains8 || op == Op::chains15 || op == Op::chains_f32;
}

uint64_t rows_of(const Launch &launch) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < launch.n_jobs; i++) n += launch.jobs[i].n_rows;
    return n;
}

void sleep_a_little() {
    const timespec time = {0, 20000};
    nanosleep(&time, nullptr);
}

uint64_t now_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

} // namespace

Queue::Queue(Device &device) : device_(device), driver_(device.driver()) {
    const Current current(driver_, device.context());
    check(driver_.StreamCreate(&stream_, kStreamNonBlocking), "a queue");
}

// Errors are ignored: the resources belong to the lost device.
Queue::~Queue() {
    if (driver_.PushCurrent(device_.context()) != kSuccess) return;
    driver_.StreamSynchronize(stream_);
    for (const Submission &submission : submitted_) driver_.EventDestroy(submission.event);
    for (Event event : idle_) driver_.EventDestroy(event);
    driver_.StreamDestroy(stream_);
    Context popped = nullptr;
    driver_.PopCurrent(&popped);
}

void Queue::copy(plugin::Span to, plugin::Span from, uint64_t bytes) {
    const Current current(driver_, device_.context());
    check(driver_.MemcpyAsync(Device::address(to), Device::address(from),
                              static_cast<size_t>(bytes), stream_),
          "a copy");
}

uint64_t Queue::submit() {
    const Current current(driver_, device_.context());
    Event event = nullptr;
    if (idle_.empty()) {
        check(driver_.EventCreate(&event, kEventNoTiming), "a submission");
        idle_.push_back(event);
    }
    submitted_.push_back({ticket_ + 1, idle_.back()});
    const int result = driver_.EventRecord(idle_.back(), stream_);
    if (result != kSuccess) submitted_.pop_back();
    check(result, "a submission");
    idle_.pop_back();
    return ++ticket_;
}

bool Queue::wait(uint64_t ticket, uint64_t timeout_ns) {
    const Current current(driver_, device_.context());
    constexpr uint64_t kSpinNs = 1'000'000; // a sleep takes longer than most products
    const uint64_t begin = now_ns();
    while (done_ < ticket) {
        if (submitted_.empty()) return true;
        const Submission next = submitted_.front();
        const int result = driver_.EventQuery(next.event);
        if (result == kSuccess) {
            idle_.push_back(next.event);
            submitted_.pop_front();
            done_ = next.ticket;
            continue;
        }
        if (result != kNotReady) check(result, "waiting");
        const uint64_t waited = now_ns() - begin;
        if (waited >= timeout_ns) return false;
        if (waited > kSpinNs) sleep_a_little();
    }
    return true;
}

// ---- launches -----------------------------------------------------------------------------------

card::Arguments Queue::arguments(const Launch &launch) {
    card::Arguments a = {};
    const auto at = [](plugin::Span span) { return static_cast<uintptr_t>(Device::address(span)); };
    a.x = reinterpret_cast<const float *>(at(launch.x));
    a.packed = reinterpret_cast<unsigned *>(at(launch.packed));
    a.sums = reinterpret_cast<float *>(at(launch.sums));
    a.y = reinterpret_cast<float *>(at(launch.y));
    a.book = reinterpret_cast<const unsigned char *>(at(launch.book));
    a.k = launch.k;
    a.n = launch.n;
    a.group = launch.group;
    a.n_jobs = launch.n_jobs;
    for (uint32_t i = 0; i < launch.n_jobs; i++) {
        const plugin::Job &job = launch.jobs[i];
        a.jobs[i] = {reinterpret_cast<const unsigned char *>(at(job.w)),
                     job.stride,
                     job.y,
                     job.ldy,
                     job.n_rows,
                     job.column};
    }
    return a;
}

void Queue::run(Function function, const Size &size, card::Arguments &arguments) {
    void *parameters[] = {&arguments};
    if (size.x == 0 || size.y == 0) return;
    check(driver_.LaunchKernel(function, size.x, size.y, 1, card::kThreads, 1, 1,
                               static_cast<unsigned>(size.shared_bytes), stream_, parameters,
                               nullptr),
          "a launch");
}

// Launches as many blocks as are resident at a time; each iterates over rows.
void Queue::dots(const Launch &launch, uint32_t text, card::Arguments &arguments) {
    const uint32_t kernel = kernel_of(launch.op, launch.n);
    const uint32_t planes = launch.op == Op::dots15 ? 2 : 1;
    uint64_t shared = card::ring_bytes(text_at(text).segment_bytes);
    const uint64_t columns =
        launch.op == Op::dots_f32 ? 0 : card::act_bytes(launch.k, launch.n, planes);
    arguments.in_shared = columns > 0 && shared + columns <= device_.shared_bytes();
    if (arguments.in_shared) shared += columns;
    const uint64_t most =
        uint64_t{device_.n_processors()} * device_.blocks_at_once(text, kernel, shared);
    const uint64_t blocks = groups_of(rows_of(launch), card::kBlockRows);
    run(device_.function(text, kernel), {static_cast<uint32_t>(std::min(most, blocks)), 1, shared},
        arguments);
}

// Blocks load the packed columns of one offset, so jobs with different first columns go in separate
// launches.
void Queue::packed_dots(const Launch &launch, uint32_t text) {
    Launch part = launch;
    for (uint32_t i = 0; i < launch.n_jobs; i += part.n_jobs) {
        part.jobs = launch.jobs + i;
        part.n_jobs = 1;
        while (i + part.n_jobs < launch.n_jobs &&
               part.jobs[part.n_jobs].column == part.jobs[0].column)
            part.n_jobs++;
        card::Arguments a = arguments(part);
        dots(part, text, a);
    }
}

void Queue::launch(const Launch &launch) {
    const Current current(driver_, device_.context());
    if (launch.n_jobs > card::kJobs) fail(GGUFX_E_INTERNAL, 0, "%u jobs", launch.n_jobs);
    if (is_dots(launch.op) && (launch.n == 0 || launch.n > plugin::kDotColumns))
        fail(GGUFX_E_INTERNAL, 0, "dots of %u columns", launch.n);
    if (has_type(launch.op) && launch.k > kMostValues)
        fail(GGUFX_E_UNSUPPORTED, 0, "rows of %llu values are too long, of more than %llu",
             static_cast<unsigned long long>(launch.k),
             static_cast<unsigned long long>(kMostValues));
    const uint32_t text = find_text(has_type(launch.op) ? launch.type : kAnyType);
    if (text == n_texts())
        fail(GGUFX_E_UNSUPPORTED, 0, "there are no kernels for type %u", launch.type);
    if (launch.op == Op::dots8 || launch.op == Op::dots15) return packed_dots(launch, text);
    card::Arguments a = arguments(launch);
    if (launch.op == Op::dots_f32) return dots(launch, text, a);
    const Function function = device_.function(text, kernel_of(launch.op, 1));
    switch (launch.op) {
    case Op::probe:
        return run(function, {groups_of(launch.n, card::kThreads), 1, 0}, a);
    case Op::pack8:
    case Op::pack15:
        return run(function, {groups_of(launch.k / 4, card::kThreads), launch.n, 0}, a);
    case Op::sums:
        return run(function, {groups_of(launch.k / launch.group, card::kThreads), launch.n, 0}, a);
    case Op::read:
        return run(function, {card::kReadWords / card::kThreads, 1, 0}, a);
    default:
        return run(
            function,
            {groups_of(rows_of(launch), card::kBlockRows), groups_of(launch.n, card::kColumns), 0},
            a);
    }
}

} // namespace ggufx::cuda
