// The array of a set's encoders. Its quant_vec.hpp is included before, and
//   GGUFX_SET     the set's namespace
//   GGUFX_ARRAY   the name of the array
// Costs are measured on one core with AVX-512: they decide how much makes a task.
// SPDX-License-Identifier: MIT
#include "kernels/loops/encode_floats.hpp"
#include "kernels/loops/encode_iq1_m.hpp"
#include "kernels/loops/encode_iq1_s.hpp"
#include "kernels/loops/encode_iq23.hpp"
#include "kernels/loops/encode_iq4.hpp"
#include "kernels/loops/encode_k_signed.hpp"
#include "kernels/loops/encode_small.hpp"
#include "kernels/table.hpp"

namespace ggufx {
namespace kernels {
namespace GGUFX_SET {
namespace {

constexpr uint32_t kLanes = QuantVec::kLanes;

// By type id; null where there is none.
template <uint32_t Id> constexpr Encode kEncodeOf = {};
template <> constexpr Encode kEncodeOf<0> = {encode_f32<QuantVec>, 400, 1024};
template <> constexpr Encode kEncodeOf<1> = {encode_f16<QuantVec>, 400, 1024};
template <> constexpr Encode kEncodeOf<30> = {encode_bf16<QuantVec>, 400, 1024};
template <> constexpr Encode kEncodeOf<2> = {encode_q4_0<QuantVec>, 8000, 4 * kLanes};
template <> constexpr Encode kEncodeOf<3> = {encode_q4_1<QuantVec>, 20'000, 4 * kLanes};
template <> constexpr Encode kEncodeOf<6> = {encode_q5_0<QuantVec>, 8000, 4 * kLanes};
template <> constexpr Encode kEncodeOf<7> = {encode_q5_1<QuantVec>, 20'000, 4 * kLanes};
template <> constexpr Encode kEncodeOf<8> = {encode_q8_0<QuantVec>, 500, 4 * kLanes};
template <> constexpr Encode kEncodeOf<20> = {encode_iq4_nl<QuantVec>, 13'000, 4 * kLanes};
template <> constexpr Encode kEncodeOf<23> = {encode_iq4_xs<QuantVec>, 10'000, kLanes};
template <> constexpr Encode kEncodeOf<16> = {encode_iq2_xxs<QuantVec>, 40'000, kLanes};
template <> constexpr Encode kEncodeOf<17> = {encode_grid<QuantVec, Iq2Xs>, 100'000, 2};
template <> constexpr Encode kEncodeOf<22> = {encode_grid<QuantVec, Iq2S>, 60'000, 2};
template <> constexpr Encode kEncodeOf<18> = {encode_grid<QuantVec, Iq3Xxs>, 80'000, 2};
template <> constexpr Encode kEncodeOf<21> = {encode_grid<QuantVec, Iq3S>, 60'000, 2};
template <> constexpr Encode kEncodeOf<19> = {encode_iq1_s<QuantVec>, 60'000, 2};
template <> constexpr Encode kEncodeOf<29> = {encode_iq1_m<QuantVec>, 60'000, 2};
template <> constexpr Encode kEncodeOf<34> = {encode_tq1_0<QuantVec>, 2000, kLanes};
template <> constexpr Encode kEncodeOf<35> = {encode_tq2_0<QuantVec>, 1000, kLanes};
template <> constexpr Encode kEncodeOf<39> = {encode_mxfp4<QuantVec>, 2000, 4 * kLanes};
template <> constexpr Encode kEncodeOf<40> = {encode_nvfp4<QuantVec>, 2000, 4 * kLanes};
template <> constexpr Encode kEncodeOf<41> = {encode_q1_0<QuantVec>, 1000, kLanes};
template <> constexpr Encode kEncodeOf<42> = {encode_q2_0<QuantVec>, 1000, kLanes};
template <> constexpr Encode kEncodeOf<10> = {encode_q2_k<QuantVec>, 20'000, kLanes};
template <> constexpr Encode kEncodeOf<11> = {encode_q3_k<QuantVec>, 10'000, kLanes};
template <> constexpr Encode kEncodeOf<12> = {encode_q4_k<QuantVec>, 20'000, kLanes};
template <> constexpr Encode kEncodeOf<13> = {encode_q5_k<QuantVec>, 20'000, kLanes};
template <> constexpr Encode kEncodeOf<14> = {encode_q6_k<QuantVec>, 10'000, kLanes};

constexpr Encode with_look(Encode e) {
    if (e.lanes) e.all_finite = kernels::all_finite<QuantVec>;
    return e;
}

} // namespace
} // namespace GGUFX_SET

constinit const Encode GGUFX_ARRAY[fmt::kTypeIds] = {
#define X(NAME, ID, ...) GGUFX_SET::with_look(GGUFX_SET::kEncodeOf<ID>),
#define REMOVED(...) {},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
