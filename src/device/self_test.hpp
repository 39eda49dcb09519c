// Self-test of a device's arithmetic: kProbeCases generated cases per operation, including the
// corner cases of binary32, compared with IEEE 754. It finds the usable fma variants, and whether
// all other operations of kernels have the processor's bits (plugins/lanes/probe.inc).
// SPDX-License-Identifier: MIT
#pragma once

#include "device/plugin.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::device {

constexpr uint32_t kProbeCases = 16384;
constexpr uint32_t kProbeOperands = 3; // arrays of kProbeCases words, one after the other
constexpr uint32_t kProbeResults = 11; // the same

constexpr size_t kProbeOperandBytes = sizeof(uint32_t) * kProbeCases * kProbeOperands;
constexpr size_t kProbeResultBytes = sizeof(uint32_t) * kProbeCases * kProbeResults;

void make_probe(uint32_t *operands);

struct ProbeVerdict {
    bool fma[plugin::kFmaVariants];
    const char *fault;    // first operation, except fma, that is not exact; null if all are
    uint32_t n_different; // number of its differing cases
    uint32_t operands[kProbeOperands], got, wanted; // first differing case
};
// Compares results with the processor's. The caller has set the canonical floating-point
// environment.
ProbeVerdict judge_probe(const uint32_t *operands, const uint32_t *results);

} // namespace ggufx::device
