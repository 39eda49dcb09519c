// IQ2_S on AVX-512.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq2_s.hpp"
#include "kernels/avx512/grid.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

template <> struct Unpack<fmt::IQ2_S> : NibbleScales<Unpack<fmt::IQ2_S>, fmt::IQ2_S> {};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
