// IQ2_S on NEON.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq2_s.hpp"
#include "kernels/neon/grid.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <> struct Unpack<fmt::IQ2_S> : NibbleScales<Unpack<fmt::IQ2_S>, fmt::IQ2_S> {};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
