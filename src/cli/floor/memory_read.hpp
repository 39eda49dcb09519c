// Plain reads of memory, as fast as this machine has them: what benchmarks are compared with, and how
// the ranks of a group find out how fast each of them is.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/api.hpp"
#include "floor/timing.hpp"

#include <cstdint>

namespace ggufx::cli {

// Memory on its own pages that is never initialised twice; huge pages where the system gives them.
class ColdBuffer {
public:
    explicit ColdBuffer(size_t n_bytes);
    ~ColdBuffer();
    ColdBuffer(const ColdBuffer &) = delete;
    ColdBuffer &operator=(const ColdBuffer &) = delete;
    uint8_t *data() const { return data_; }
    size_t size() const { return size_; }
    // Repeat a pattern through the whole buffer.
    void fill(const std::vector<uint8_t> &pattern);

private:
    uint8_t *data_;
    size_t size_;
    size_t mapped_;
};

// One way to read memory: how many places at once, and whether with software prefetch.
struct ReadVariant {
    unsigned streams;
    bool prefetch;
};
extern const ReadVariant kReadVariants[4];

// "avx512", "avx2" or "vector16": the widest loads of this machine (features of the runtime).
const char *read_isa(const ggufx_runtime *rt);

// Reads n bytes once with `threads` threads; returns GB/s.
double read_gbps(const ggufx_runtime *rt, const uint8_t *data, size_t n, unsigned threads,
                 const ReadVariant &variant, Clock clock = Clock::wall);

} // namespace ggufx::cli
