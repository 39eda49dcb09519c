// Counter of comparisons, which all code but the kernels reports in a build for fuzzing
// (-Dfuzz=true). Every iteration of a loop has one, and the count is independent of time and
// machine load.
// SPDX-License-Identifier: MIT
#include "counted_work.hpp"

#include <cstdint>

namespace {
uint64_t g_comparisons; // cases are single-threaded
}

uint64_t counted_work() {
    return g_comparisons;
}

// Called by compiler instrumentation before comparisons and switches. These functions must not be
// instrumented themselves.
#define COUNTED __attribute__((no_sanitize("coverage")))
extern "C" {
COUNTED void __sanitizer_cov_trace_cmp1(uint8_t, uint8_t) {
    g_comparisons++;
}
COUNTED void __sanitizer_cov_trace_cmp2(uint16_t, uint16_t) {
    g_comparisons++;
}
COUNTED void __sanitizer_cov_trace_cmp4(uint32_t, uint32_t) {
    g_comparisons++;
}
COUNTED void __sanitizer_cov_trace_cmp8(uint64_t, uint64_t) {
    g_comparisons++;
}
COUNTED void __sanitizer_cov_trace_const_cmp1(uint8_t, uint8_t) {
    g_comparisons++;
}
COUNTED void __sanitizer_cov_trace_const_cmp2(uint16_t, uint16_t) {
    g_comparisons++;
}
COUNTED void __sanitizer_cov_trace_const_cmp4(uint32_t, uint32_t) {
    g_comparisons++;
}
COUNTED void __sanitizer_cov_trace_const_cmp8(uint64_t, uint64_t) {
    g_comparisons++;
}
COUNTED void __sanitizer_cov_trace_switch(uint64_t, uint64_t *) {
    g_comparisons++;
}
COUNTED void __sanitizer_cov_8bit_counters_init(uint8_t *, uint8_t *) {}
COUNTED void __sanitizer_cov_pcs_init(const uintptr_t *, const uintptr_t *) {}
COUNTED void __sanitizer_cov_trace_pc_indir(uintptr_t) {}
COUNTED void __sanitizer_cov_trace_div4(uint32_t) {}
COUNTED void __sanitizer_cov_trace_div8(uint64_t) {}
COUNTED void __sanitizer_cov_trace_gep(uintptr_t) {}
}
