// IQ2_XS on AVX-512.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq2_xs.hpp"
#include "kernels/avx512/grid.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

template <> struct Unpack<fmt::IQ2_XS> : NibbleScales<Unpack<fmt::IQ2_XS>, fmt::IQ2_XS> {};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
