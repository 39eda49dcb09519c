// Blocks to f32, all types: formats/decode.hpp as it stands.
// SPDX-License-Identifier: MIT
#include "formats/all.hpp"
#include "formats/decode.hpp"
#include "kernels/loops/families.hpp"

namespace ggufx {
namespace kernels {

const Dequant scalar::kDequant[fmt::kTypeIds] = {
#define X(NAME, ...) {fmt::decode_blocks<fmt::NAME>},
#define REMOVED(...) {nullptr},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
