// The AVX-VNNI layer: products of int8 with vpdpbusd; the rest comes from the layers below.
// SPDX-License-Identifier: MIT
#include "kernels/avxvnni/families.hpp"

namespace ggufx {
namespace kernels {

extern const Layer kAvxVnniLayer;
const Layer kAvxVnniLayer = {Isa::avxvnni, "avxvnni", nullptr, kAvxVnniMatvec, nullptr,
                             kAvxVnniGemm, nullptr,   nullptr, nullptr,        nullptr};

} // namespace kernels
} // namespace ggufx
