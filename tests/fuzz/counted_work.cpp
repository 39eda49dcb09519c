// Work that is counted: comparisons, which everything but the kernels reports where it is built for a
// search (-Dfuzz=true). Every turn of a loop has one; time and the machine's load do not matter.
// SPDX-License-Identifier: MIT
#include "counted_work.hpp"

#include <cstdint>

namespace {
uint64_t g_comparisons; // the cases run on one thread
}

uint64_t counted_work() {
    return g_comparisons;
}

// What the compiler puts before comparisons and switches calls these. None may be counted itself.
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
