// CPU features used by kernels, detected once per process.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace ggufx::cpu {

// Bits as GGUFX_CPU_* in include/ggufx/base.h.
enum : uint64_t {
    avx2 = 1, // with FMA and F16C
    avxvnni = 2,
    avx512 = 4, // F, BW, VL, DQ and VNNI, enabled by the operating system
    avx512vbmi = 8,
    avx512bitalg = 16,
    neon = 0x10000,
    neon_dot = 0x20000,
    neon_i8mm = 0x40000,
};

uint64_t features();          // cached in one atomic word; detection is idempotent
uint64_t features_builtin();  // own CPUID/XGETBV/hwcap detection, without cpuinfo
uint32_t usable_processors(); // processors that this thread may run on, at least 1

} // namespace ggufx::cpu
