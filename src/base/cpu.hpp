// CPU features used by kernels, detected once per process.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace ggufx::cpu {

// Bits as GGUFX_CPU_* in include/ggufx/base.h.
enum : uint64_t {
#define GGUFX_FEATURE(name, constant, bit) name = bit,
#include "base/cpu_features.def"
#undef GGUFX_FEATURE
};

uint64_t features();          // cached in one atomic word; detection is idempotent
uint64_t features_builtin();  // own CPUID/XGETBV/hwcap detection, without cpuinfo
uint32_t usable_processors(); // processors that this thread may run on, at least 1

} // namespace ggufx::cpu
