// See counting.hpp.
// SPDX-License-Identifier: MIT
#include "bench/counting.hpp"

#include <algorithm>
#include <cstdlib>

namespace ggufx::cli {

static void *counted_alloc(void *user, size_t size, size_t align) {
    auto *counter = static_cast<Counter *>(user);
    const size_t step = std::max(align, sizeof(void *)); // aligned_alloc() needs a multiple of it
    const size_t rounded = std::max((size + step - 1) / step * step, step);
    counter->now += size;
    counter->peak = std::max(counter->peak, counter->now);
    counter->calls += 1;
    return std::aligned_alloc(step, rounded);
}

static void counted_free(void *user, void *ptr, size_t size, size_t) {
    static_cast<Counter *>(user)->now -= size;
    std::free(ptr);
}

Runtime counting_runtime(Counter &counter) {
    ggufx_allocator allocator = {};
    allocator.struct_size = sizeof allocator;
    allocator.user = &counter;
    allocator.alloc = counted_alloc;
    allocator.free = counted_free;
    auto options = sized<ggufx_runtime_options>();
    options.allocator = &allocator;
    options.threads = 1;
    ggufx_runtime *rt = nullptr;
    call([&](ggufx_error *error) { return ggufx_runtime_create(&rt, &options, error); });
    return Runtime(rt);
}

} // namespace ggufx::cli
