// IQ2_XS on AVX2.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq2_xs.hpp"
#include "kernels/avx2/grid.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <> struct Unpack<fmt::IQ2_XS> : NibbleScales<Unpack<fmt::IQ2_XS>, fmt::IQ2_XS> {};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
