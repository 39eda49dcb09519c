// Sum of the 32-bit words of device memory: a checksum, and a measurement of memory bandwidth.
// SPDX-License-Identifier: MIT
#include "device/device.hpp"

#include <algorithm>

namespace ggufx::device {

namespace {

constexpr uint64_t kSumBytes = plugin::kReadSums * sizeof(uint32_t);

// Launches one read; its partial sums go to y after those of n_before earlier launches.
Status launch_read(Backend &backend, const Scratch &scratch, plugin::Span from, uint64_t n_bytes,
                   uint64_t n_before, Failure *failure) {
    plugin::Job job = {};
    job.w = from;
    plugin::Launch launch = {};
    launch.op = plugin::Op::read;
    launch.k = n_bytes;
    launch.x = {scratch.x.id, 0};
    launch.y = {scratch.y.id, n_before * kSumBytes};
    launch.jobs = &job;
    launch.n_jobs = 1;
    Status status = backend.launch(launch, failure);
    if (status == Status::ok) status = backend.submit(failure); // keeps submissions short
    return status;
}

// Downloads the partial sums of n launches and adds them to *sum.
Status collect(uint32_t *sum, Backend &backend, const Scratch &scratch, uint64_t n,
               Failure *failure) {
    Status status = backend.barrier(failure);
    if (status == Status::ok)
        status = backend.copy({scratch.y_staging.id, 0}, {scratch.y.id, 0}, n * kSumBytes, failure);
    if (status == Status::ok) status = backend.submit(failure);
    if (status == Status::ok) status = backend.finish(failure);
    if (status != Status::ok) return status;
    const auto *sums = static_cast<const uint32_t *>(scratch.y_staging.mapped);
    for (uint64_t i = 0; i < n * plugin::kReadSums; i++) *sum += sums[i];
    return status;
}

} // namespace

Status Device::sum_words(uint32_t *sum, plugin::Span at, uint64_t n, Failure *failure) {
    const plugin::Facts &facts = backend_.facts();
    // Limits of one launch: the readable range, and as many bytes as it has multiply-adds. Reading
    // takes less time than multiplying.
    const uint64_t most = std::max<uint64_t>(
        16, std::min({facts.range_bytes, facts.launch_values, uint64_t{1} << 30}) / 16 * 16);
    const uint64_t room = scratch_.results * sizeof(float) / kSumBytes;
    Status status = backend_.usable(failure);
    while (n > 0 && status == Status::ok) {
        uint64_t n_launches = 0;
        for (; n > 0 && n_launches < room && status == Status::ok; n_launches++) {
            const uint64_t piece = std::min(most, n);
            status = launch_read(backend_, scratch_, at, piece, n_launches, failure);
            at.at += piece;
            n -= piece;
        }
        if (status == Status::ok) status = collect(sum, backend_, scratch_, n_launches, failure);
    }
    if (status != Status::ok) backend_.drain(); // the next call reuses scratch
    return status;
}

} // namespace ggufx::device
