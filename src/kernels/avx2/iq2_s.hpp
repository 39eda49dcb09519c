// IQ2_S on AVX2.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq2_s.hpp"
#include "kernels/avx2/grid.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <> struct Unpack<fmt::IQ2_S> : NibbleScales<Unpack<fmt::IQ2_S>, fmt::IQ2_S> {};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
