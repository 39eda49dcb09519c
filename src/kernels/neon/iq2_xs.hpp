// IQ2_XS on NEON.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq2_xs.hpp"
#include "kernels/neon/grid.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <> struct Unpack<fmt::IQ2_XS> : NibbleScales<Unpack<fmt::IQ2_XS>, fmt::IQ2_XS> {};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
