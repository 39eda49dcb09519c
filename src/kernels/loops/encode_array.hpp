// The array of a set's encoders. Its quant_vec.hpp is included before, and
//   GGUFX_SET     the set's namespace
//   GGUFX_ARRAY   the name of the array
// Costs are measured on one core with AVX-512: they decide how much makes a task.
// SPDX-License-Identifier: MIT
#include "kernels/loops/encode_k_signed.hpp"
#include "kernels/table.hpp"

namespace ggufx {
namespace kernels {
namespace GGUFX_SET {
namespace {

constexpr uint32_t kLanes = QuantVec::kLanes;

// By type id; null where there is none.
template <uint32_t Id> constexpr Encode kEncodeOf = {nullptr, 0, 0};
template <> constexpr Encode kEncodeOf<10> = {encode_q2_k<QuantVec>, 20'000, kLanes};
template <> constexpr Encode kEncodeOf<11> = {encode_q3_k<QuantVec>, 10'000, kLanes};
template <> constexpr Encode kEncodeOf<12> = {encode_q4_k<QuantVec>, 20'000, kLanes};
template <> constexpr Encode kEncodeOf<13> = {encode_q5_k<QuantVec>, 20'000, kLanes};
template <> constexpr Encode kEncodeOf<14> = {encode_q6_k<QuantVec>, 10'000, kLanes};

} // namespace
} // namespace GGUFX_SET

const Encode GGUFX_ARRAY[fmt::kTypeIds] = {
#define X(NAME, ID, ...) GGUFX_SET::kEncodeOf<ID>,
#define REMOVED(...) {nullptr, 0, 0},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
