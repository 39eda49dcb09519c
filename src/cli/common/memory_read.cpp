// SPDX-License-Identifier: MIT
#include "common/memory_read.hpp"

#include "common/read_loop.hpp"
#include "common/signals.hpp"
#include "common/team_timing.hpp"

#include <atomic>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace ggufx::cli {

const ReadVariant kReadVariants[4] = {{1, false}, {1, true}, {4, false}, {4, true}};

// Loops may prefetch past the end; the slack keeps those addresses in this mapping.
ColdBuffer::ColdBuffer(size_t n_bytes, PageSize pages) : size_(n_bytes) {
    constexpr size_t kAlign = size_t{2} << 20, kSlack = size_t{1} << 16;
    mapped_ = n_bytes + kSlack + kAlign;
    memory_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    // Only a hint: works without huge pages.
    madvise(memory_, mapped_, pages == PageSize::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#else
    (void)pages;
#endif
    data_ = static_cast<uint8_t *>(memory_);
    data_ += -reinterpret_cast<uintptr_t>(data_) % kAlign;
}

ColdBuffer::~ColdBuffer() {
    munmap(memory_, mapped_);
}

void ColdBuffer::fill(const std::vector<uint8_t> &pattern) {
    for (size_t at = 0; at < size_; at += pattern.size()) {
        check_interrupt();
        std::memcpy(data_ + at, pattern.data(), std::min(pattern.size(), size_ - at));
    }
}

const char *read_isa(const ggufx_runtime *rt) {
    const uint64_t features = runtime_facts(rt).features;
    if ((features & GGUFX_CPU_AVX512) && read_loop_avx512(1, false)) return "avx512";
    return (features & GGUFX_CPU_AVX2) && read_loop_avx2(1, false) ? "avx2" : "vector16";
}

static ReadLoop choose_loop(const ggufx_runtime *rt, const ReadVariant &variant) {
    const std::string isa = read_isa(rt);
    if (isa == "avx512") return read_loop_avx512(variant.streams, variant.prefetch);
    if (isa == "avx2") return read_loop_avx2(variant.streams, variant.prefetch);
    return read_loop_baseline(variant.streams, variant.prefetch);
}

double read_gbps(const ggufx_runtime *rt, const uint8_t *data, size_t n, unsigned threads,
                 const ReadVariant &variant, Clock clock) {
    const ReadLoop loop = choose_loop(rt, variant);
    // Threads take pieces dynamically, as kernels do. With fixed shares, the thread farthest from
    // the memory would determine the time.
    const size_t piece = threads == 1 ? n / 1024 * 1024 : size_t{1} << 20;
    std::atomic<size_t> next = 0;
    std::atomic<uint64_t> digest = 0; // keeps the compiler from removing the loads
    const double seconds = team_seconds(clock, threads, [&](unsigned) {
        for (size_t at; (at = next.fetch_add(piece)) + piece <= n;)
            digest += loop(data + at, piece);
    });
    const size_t n_read = n / piece * piece;
    return static_cast<double>(n_read) / seconds / 1e9;
}

} // namespace ggufx::cli
