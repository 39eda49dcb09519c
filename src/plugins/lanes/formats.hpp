// Kernel source of lanes/ in C++: a struct per tensor type with the names of formats.def. Include
// after a language environment (host.hpp, ../cuda/language.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter" // formats need not use all parameters

namespace ggufx::lanes {
namespace {

constexpr uint MINS_NONE = 0, MINS_FLOAT = 1, MINS_INTEGER = 2; // as fmt::Mins

#include "plugins/lanes/arithmetic.inc"

#include "plugins/lanes/bytes.inc"

#include "plugins/lanes/activations.inc"
#include "plugins/lanes/sums.inc"

#include "plugins/lanes/probe.inc"

struct Q4_0 {
#include "plugins/lanes/q4_0.inc"
#include "plugins/lanes/unit.inc"
};
struct Q4_1 {
#include "plugins/lanes/q4_1.inc"
#include "plugins/lanes/unit.inc"
};
struct Q5_0 {
#include "plugins/lanes/q5_0.inc"
#include "plugins/lanes/unit.inc"
};
struct Q5_1 {
#include "plugins/lanes/q5_1.inc"
#include "plugins/lanes/unit.inc"
};
struct Q8_0 {
#include "plugins/lanes/q8_0.inc"
#include "plugins/lanes/unit.inc"
};
struct Q2_K {
#include "plugins/lanes/q2_k.inc"
#include "plugins/lanes/unit.inc"
};
struct Q3_K {
#include "plugins/lanes/q3_k.inc"
#include "plugins/lanes/unit.inc"
};
struct Q4_K {
#include "plugins/lanes/q4_k.inc"
#include "plugins/lanes/unit.inc"
};
struct Q5_K {
#include "plugins/lanes/q5_k.inc"
#include "plugins/lanes/unit.inc"
};
struct Q6_K {
#include "plugins/lanes/q6_k.inc"
#include "plugins/lanes/unit.inc"
};
struct IQ2_XXS {
#include "plugins/lanes/iq2_xxs.inc"
#include "plugins/lanes/unit.inc"
};
struct IQ2_XS {
#include "plugins/lanes/iq2_xs.inc"
#include "plugins/lanes/unit.inc"
};
struct IQ3_XXS {
#include "plugins/lanes/iq3_xxs.inc"
#include "plugins/lanes/unit.inc"
};
struct IQ1_S {
#include "plugins/lanes/iq1_s.inc"
#include "plugins/lanes/unit.inc"
};
struct IQ4_NL {
#include "plugins/lanes/iq4_nl.inc"
#include "plugins/lanes/unit.inc"
};
struct IQ3_S {
#include "plugins/lanes/iq3_s.inc"
#include "plugins/lanes/unit.inc"
};
struct IQ2_S {
#include "plugins/lanes/iq2_s.inc"
#include "plugins/lanes/unit.inc"
};
struct IQ4_XS {
#include "plugins/lanes/iq4_xs.inc"
#include "plugins/lanes/unit.inc"
};
struct IQ1_M {
#include "plugins/lanes/iq1_m.inc"
#include "plugins/lanes/unit.inc"
};
struct TQ1_0 {
#include "plugins/lanes/tq1_0.inc"
#include "plugins/lanes/unit.inc"
};
struct TQ2_0 {
#include "plugins/lanes/tq2_0.inc"
#include "plugins/lanes/unit.inc"
};
struct MXFP4 {
#include "plugins/lanes/mxfp4.inc"
#include "plugins/lanes/unit.inc"
};
struct NVFP4 {
#include "plugins/lanes/nvfp4.inc"
#include "plugins/lanes/unit.inc"
};
struct Q1_0 {
#include "plugins/lanes/q1_0.inc"
#include "plugins/lanes/unit.inc"
};
struct Q2_0 {
#include "plugins/lanes/q2_0.inc"
#include "plugins/lanes/unit.inc"
};
struct F32 {
#include "plugins/lanes/f32.inc"
};
struct F16 {
#include "plugins/lanes/f16.inc"
};
struct BF16 {
#include "plugins/lanes/bf16.inc"
};

} // namespace
} // namespace ggufx::lanes

#pragma GCC diagnostic pop
