// Table of the encoders of a set. Included after the quant_vec.hpp of the set, with
//   GGUFX_SET     the set's namespace
// Costs are measured on one core with AVX-512. They decide the size of tasks.
// SPDX-License-Identifier: MIT
#include "kernels/loops/encode_floats.hpp"
#include "kernels/loops/encode_iq1_m.hpp"
#include "kernels/loops/encode_iq1_s.hpp"
#include "kernels/loops/encode_iq23.hpp"
#include "kernels/loops/encode_iq4.hpp"
#include "kernels/loops/encode_k_signed.hpp"
#include "kernels/loops/encode_small.hpp"
#include "kernels/loops/families.hpp"

namespace ggufx {
namespace kernels {
namespace GGUFX_SET {
namespace {

constexpr uint32_t kLanes = QuantVec::kLanes;

struct Encoder {
    void (*run)(const EncodeJob &job);
    uint32_t value_ps, lanes;
};
// Indexed by type id; null for types without an encoder.
template <uint32_t Id> constexpr Encoder kEncoderOf = {};
template <> constexpr Encoder kEncoderOf<fmt::id::F32> = {encode_f32<QuantVec>, 400, 1024};
template <> constexpr Encoder kEncoderOf<fmt::id::F16> = {encode_f16<QuantVec>, 400, 1024};
template <> constexpr Encoder kEncoderOf<fmt::id::BF16> = {encode_bf16<QuantVec>, 400, 1024};
template <> constexpr Encoder kEncoderOf<fmt::id::Q4_0> = {encode_q4_0<QuantVec>, 8000, 4 * kLanes};
template <>
constexpr Encoder kEncoderOf<fmt::id::Q4_1> = {encode_q4_1<QuantVec>, 20'000, 4 * kLanes};
template <> constexpr Encoder kEncoderOf<fmt::id::Q5_0> = {encode_q5_0<QuantVec>, 8000, 4 * kLanes};
template <>
constexpr Encoder kEncoderOf<fmt::id::Q5_1> = {encode_q5_1<QuantVec>, 20'000, 4 * kLanes};
template <> constexpr Encoder kEncoderOf<fmt::id::Q8_0> = {encode_q8_0<QuantVec>, 500, 4 * kLanes};
template <>
constexpr Encoder kEncoderOf<fmt::id::IQ4_NL> = {encode_iq4_nl<QuantVec>, 13'000, 4 * kLanes};
template <>
constexpr Encoder kEncoderOf<fmt::id::IQ4_XS> = {encode_iq4_xs<QuantVec>, 10'000, kLanes};
template <>
constexpr Encoder kEncoderOf<fmt::id::IQ2_XXS> = {encode_iq2_xxs<QuantVec>, 40'000, kLanes};
template <>
constexpr Encoder kEncoderOf<fmt::id::IQ2_XS> = {encode_grid<QuantVec, Iq2Xs>, 100'000, 2};
template <> constexpr Encoder kEncoderOf<fmt::id::IQ2_S> = {encode_grid<QuantVec, Iq2S>, 60'000, 2};
template <>
constexpr Encoder kEncoderOf<fmt::id::IQ3_XXS> = {encode_grid<QuantVec, Iq3Xxs>, 80'000, 2};
template <> constexpr Encoder kEncoderOf<fmt::id::IQ3_S> = {encode_grid<QuantVec, Iq3S>, 60'000, 2};
template <> constexpr Encoder kEncoderOf<fmt::id::IQ1_S> = {encode_iq1_s<QuantVec>, 60'000, 2};
template <> constexpr Encoder kEncoderOf<fmt::id::IQ1_M> = {encode_iq1_m<QuantVec>, 60'000, 2};
template <> constexpr Encoder kEncoderOf<fmt::id::TQ1_0> = {encode_tq1_0<QuantVec>, 2000, kLanes};
template <> constexpr Encoder kEncoderOf<fmt::id::TQ2_0> = {encode_tq2_0<QuantVec>, 1000, kLanes};
template <>
constexpr Encoder kEncoderOf<fmt::id::MXFP4> = {encode_mxfp4<QuantVec>, 2000, 4 * kLanes};
template <>
constexpr Encoder kEncoderOf<fmt::id::NVFP4> = {encode_nvfp4<QuantVec>, 2000, 4 * kLanes};
template <> constexpr Encoder kEncoderOf<fmt::id::Q1_0> = {encode_q1_0<QuantVec>, 1000, kLanes};
template <> constexpr Encoder kEncoderOf<fmt::id::Q2_0> = {encode_q2_0<QuantVec>, 1000, kLanes};
template <> constexpr Encoder kEncoderOf<fmt::id::Q2_K> = {encode_q2_k<QuantVec>, 20'000, kLanes};
template <> constexpr Encoder kEncoderOf<fmt::id::Q3_K> = {encode_q3_k<QuantVec>, 10'000, kLanes};
template <> constexpr Encoder kEncoderOf<fmt::id::Q4_K> = {encode_q4_k<QuantVec>, 20'000, kLanes};
template <> constexpr Encoder kEncoderOf<fmt::id::Q5_K> = {encode_q5_k<QuantVec>, 20'000, kLanes};
template <> constexpr Encoder kEncoderOf<fmt::id::Q6_K> = {encode_q6_k<QuantVec>, 10'000, kLanes};

template <uint32_t Id> consteval Encode entry() {
    const Encoder e = kEncoderOf<Id>;
    if (!e.run) return {};
    return {e.run, e.value_ps, e.lanes, kEncodeNeeds<Id>, kernels::all_finite<QuantVec>};
}

} // namespace

constinit const Family<Encode> kEncoders = {{
#define X(NAME, ID, ...) entry<ID>(),
#define REMOVED(...) {},
#include "formats/formats.def"
}};

} // namespace GGUFX_SET
} // namespace kernels
} // namespace ggufx
