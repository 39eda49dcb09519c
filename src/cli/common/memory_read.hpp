// Memory read bandwidth of this machine, for the roofline of benchmarks and to find the speed of
// each rank of a group.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"
#include "common/timing.hpp"

#include <cstdint>

namespace ggufx::cli {

enum class PageSize { small, huge }; // 4 KiB and 2 MiB on x86_64

// A buffer from mmap that is initialised only once, aligned to 2 MiB. Huge pages need a system that
// has them.
class ColdBuffer {
public:
    explicit ColdBuffer(size_t n_bytes, PageSize pages = PageSize::huge);
    ~ColdBuffer();
    ColdBuffer(const ColdBuffer &) = delete;
    ColdBuffer &operator=(const ColdBuffer &) = delete;
    uint8_t *data() const { return data_; }
    size_t size() const { return size_; }
    // Repeats a pattern through the whole buffer.
    void fill(const std::vector<uint8_t> &pattern);

private:
    uint8_t *data_;
    size_t size_;
    void *memory_;
    size_t mapped_;
};

// A way to read memory: number of concurrent streams, with or without software prefetch.
struct ReadVariant {
    unsigned streams;
    bool prefetch;
};
extern const ReadVariant kReadVariants[4];

// Returns "avx512", "avx2" or "vector16": the widest loads that the runtime's CPU features allow.
const char *read_isa(const ggufx_runtime *rt);

// Reads n bytes once with `threads` threads; returns GB/s.
double read_gbps(const ggufx_runtime *rt, const uint8_t *data, size_t n, unsigned threads,
                 const ReadVariant &variant, Clock clock = Clock::wall);

} // namespace ggufx::cli
