// What a device's arithmetic really does. Operations of kProbeCases made-up cases, at every corner of
// binary32, against what IEEE 754 says: which fma can be had, and whether everything else that kernels
// use has the processor's bits (plugins/lanes/probe.inc).
// SPDX-License-Identifier: MIT
#pragma once

#include "device/plugin.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::device {

constexpr uint32_t kProbeCases = 16384;
constexpr uint32_t kProbeOperands = 3; // arrays of kProbeCases words one after the other
constexpr uint32_t kProbeResults = 11; // the same

constexpr size_t kProbeOperandBytes = sizeof(uint32_t) * kProbeCases * kProbeOperands;
constexpr size_t kProbeResultBytes = sizeof(uint32_t) * kProbeCases * kProbeResults;

void make_probe(uint32_t *operands);

struct ProbeVerdict {
    bool fma[plugin::kFmaVariants];
    const char *fault;    // an operation that is not exact, null: all others are
    uint32_t n_different; // its cases that differ
    uint32_t operands[kProbeOperands], got, wanted; // the first of them
};
// The caller's floating-point environment is the canonical one.
ProbeVerdict judge_probe(const uint32_t *operands, const uint32_t *results);

} // namespace ggufx::device
