// Table of the scalar encoders, the reference for the encoders of all other sets.
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/scalar/encode_iq1.hpp"
#include "kernels/scalar/encode_iq2.hpp"
#include "kernels/scalar/encode_iq3.hpp"
#include "kernels/scalar/encode_iq4.hpp"
#include "kernels/scalar/encode_k.hpp"
#include "kernels/scalar/encode_simple.hpp"
#include "kernels/scalar/encode_small.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

struct Encoder {
    void (*run)(const EncodeJob &job);
    uint32_t value_ps; // measured on one core; 0: no encoder
};

// Empty for types without an encoder: integers, F64, activation types.
template <class F> constexpr Encoder kEncoderOf = {};
template <> constexpr Encoder kEncoderOf<fmt::F32> = {each_block<fmt::F32, encode_f32>, 500};
template <> constexpr Encoder kEncoderOf<fmt::F16> = {each_block<fmt::F16, encode_f16>, 2000};
template <>
constexpr Encoder kEncoderOf<fmt::Q4_0> = {each_block<fmt::Q4_0, encode_signed<fmt::Q4_0, 8>>,
                                           100'000};
template <>
constexpr Encoder kEncoderOf<fmt::Q4_1> = {each_block<fmt::Q4_1, encode_line<fmt::Q4_1, 15>>,
                                           300'000};
template <>
constexpr Encoder kEncoderOf<fmt::Q5_0> = {each_block<fmt::Q5_0, encode_signed<fmt::Q5_0, 16>>,
                                           100'000};
template <>
constexpr Encoder kEncoderOf<fmt::Q5_1> = {each_block<fmt::Q5_1, encode_line<fmt::Q5_1, 31>>,
                                           300'000};
template <> constexpr Encoder kEncoderOf<fmt::Q8_0> = {each_block<fmt::Q8_0, encode_q8_0>, 4000};
template <> constexpr Encoder kEncoderOf<fmt::Q2_K> = {each_block<fmt::Q2_K, encode_q2_k>, 300'000};
template <> constexpr Encoder kEncoderOf<fmt::Q3_K> = {each_block<fmt::Q3_K, encode_q3_k>, 200'000};
template <> constexpr Encoder kEncoderOf<fmt::Q4_K> = {each_block<fmt::Q4_K, encode_q4_k>, 300'000};
template <> constexpr Encoder kEncoderOf<fmt::Q5_K> = {each_block<fmt::Q5_K, encode_q5_k>, 300'000};
template <> constexpr Encoder kEncoderOf<fmt::Q6_K> = {each_block<fmt::Q6_K, encode_q6_k>, 100'000};
template <>
constexpr Encoder kEncoderOf<fmt::IQ4_NL> = {each_block<fmt::IQ4_NL, encode_iq4_nl>, 300'000};
template <>
constexpr Encoder kEncoderOf<fmt::IQ4_XS> = {each_block<fmt::IQ4_XS, encode_iq4_xs>, 300'000};
template <> constexpr Encoder kEncoderOf<fmt::BF16> = {each_block<fmt::BF16, encode_bf16>, 1000};
template <>
constexpr Encoder kEncoderOf<fmt::TQ1_0> = {each_block<fmt::TQ1_0, encode_tq1_0>, 10'000};
template <>
constexpr Encoder kEncoderOf<fmt::TQ2_0> = {each_block<fmt::TQ2_0, encode_tq2_0>, 10'000};
template <>
constexpr Encoder kEncoderOf<fmt::MXFP4> = {each_block<fmt::MXFP4, encode_mxfp4>, 40'000};
template <>
constexpr Encoder kEncoderOf<fmt::NVFP4> = {each_block<fmt::NVFP4, encode_nvfp4>, 40'000};
template <> constexpr Encoder kEncoderOf<fmt::Q1_0> = {each_block<fmt::Q1_0, encode_q1_0>, 4000};
template <> constexpr Encoder kEncoderOf<fmt::Q2_0> = {each_block<fmt::Q2_0, encode_q2_0>, 4000};
template <>
constexpr Encoder kEncoderOf<fmt::IQ2_XXS> = {each_block<fmt::IQ2_XXS, encode_iq2_xxs>, 400'000};
template <>
constexpr Encoder kEncoderOf<fmt::IQ2_XS> = {each_block<fmt::IQ2_XS, encode_iq2_xs>, 1'000'000};
template <>
constexpr Encoder kEncoderOf<fmt::IQ2_S> = {each_block<fmt::IQ2_S, encode_iq2_s>, 400'000};
template <>
constexpr Encoder kEncoderOf<fmt::IQ3_XXS> = {each_block<fmt::IQ3_XXS, encode_iq3_xxs>, 500'000};
template <>
constexpr Encoder kEncoderOf<fmt::IQ3_S> = {each_block<fmt::IQ3_S, encode_iq3_s>, 400'000};
template <>
constexpr Encoder kEncoderOf<fmt::IQ1_S> = {each_block<fmt::IQ1_S, encode_iq1_s>, 400'000};
template <>
constexpr Encoder kEncoderOf<fmt::IQ1_M> = {each_block<fmt::IQ1_M, encode_iq1_m>, 1'000'000};

// Without branches, so that the compiler may vectorize it.
bool all_finite(const float *x, size_t n) {
    uint32_t carry = 0; // carries into the sign bit if the exponent is all ones
    for (size_t i = 0; i < n; i++) carry |= (f32_bits(x[i]) & 0x7fffffffu) + 0x00800000u;
    return !(carry >> 31);
}

constexpr size_t kUnitValues = 256; // values per unit of work

template <class F, Kind K> consteval Encode entry(const EncodeNeeds &needs) {
    constexpr Encoder encoder = kEncoderOf<F>;
    static_assert(K != Kind::Quantized || encoder.value_ps != 0);
    if (encoder.value_ps == 0) return {};
    const uint32_t lanes = F::kValues < kUnitValues ? kUnitValues / F::kValues : 1;
    return {encoder.run, encoder.value_ps, lanes, needs, all_finite};
}

} // namespace

constinit const Family<Encode> kEncoders = {{
#define X(NAME, ID, TEXT, VALUES, BYTES, KIND, ...) entry<fmt::NAME, Kind::KIND>(kEncodeNeeds<ID>),
#define REMOVED(...) {},
#include "formats/formats.def"
}};

} // namespace scalar
} // namespace kernels
} // namespace ggufx
