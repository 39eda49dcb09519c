// The NEON layers: what these sets have themselves; the rest comes from the layers below.
// SPDX-License-Identifier: MIT
#include "kernels/loops/matvec_f32.hpp"
#include "kernels/neon/families.hpp"
#include "kernels/neon/vec.hpp"

namespace ggufx {
namespace kernels {

extern const KvPages GGUFX_NEON_TABLE(KvPages); // not of i8mm

#ifdef GGUFX_NEON_I8MM
// Useful where two columns meet two rows: in tiles.
extern const Layer kNeonI8mmLayer;
const Layer kNeonI8mmLayer = {Isa::neon_i8mm, "neon_i8mm",   nullptr, nullptr,
                              nullptr,        kNeonI8mmGemm, nullptr, nullptr,
                              nullptr,        nullptr};
#elif defined(GGUFX_NEON_DOT)
// Decoding and f32 activations have no dot products of bytes: those of the NEON layer.
extern const Layer kNeonDotLayer;
const Layer kNeonDotLayer = {Isa::neon_dot, "neon_dot", nullptr, kNeonDotMatvec, nullptr,
                             kNeonDotGemm,  nullptr,    nullptr, nullptr,        &kNeonDotKvPages};
#else
extern const Layer kNeonLayer;
const Layer kNeonLayer = {Isa::neon,      "neon",       kNeonDequant, kNeonMatvec,
                          kNeonMatvecF32, kNeonGemm,    kNeonGemmF32, sum_groups<neon::Vec>,
                          nullptr,        &kNeonKvPages};
#endif

} // namespace kernels
} // namespace ggufx
