// Table of the scalar encoders, the reference for the encoders of all other sets.
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/scalar/encode_iq1.hpp"
#include "kernels/scalar/encode_iq23.hpp"
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
#define ENCODER(NAME, VALUE_PS, ...)                                                               \
    template <>                                                                                    \
    constexpr Encoder kEncoderOf<fmt::NAME> = {each_block<fmt::NAME, __VA_ARGS__>, VALUE_PS};
ENCODER(F32, 500, encode_f32)
ENCODER(F16, 2000, encode_f16)
ENCODER(Q4_0, 100'000, encode_signed<fmt::Q4_0, 8>)
ENCODER(Q4_1, 300'000, encode_line<fmt::Q4_1, 15>)
ENCODER(Q5_0, 100'000, encode_signed<fmt::Q5_0, 16>)
ENCODER(Q5_1, 300'000, encode_line<fmt::Q5_1, 31>)
ENCODER(Q8_0, 4000, encode_q8_0)
ENCODER(Q2_K, 300'000, encode_q2_k)
ENCODER(Q3_K, 200'000, encode_q3_k)
ENCODER(Q4_K, 300'000, encode_q4_k)
ENCODER(Q5_K, 300'000, encode_q5_k)
ENCODER(Q6_K, 100'000, encode_q6_k)
ENCODER(IQ4_NL, 300'000, encode_iq4_nl)
ENCODER(IQ4_XS, 300'000, encode_iq4_xs)
ENCODER(BF16, 1000, encode_bf16)
ENCODER(TQ1_0, 10'000, encode_tq1_0)
ENCODER(TQ2_0, 10'000, encode_tq2_0)
ENCODER(MXFP4, 40'000, encode_mxfp4)
ENCODER(NVFP4, 40'000, encode_nvfp4)
ENCODER(Q1_0, 4000, encode_q1_0)
ENCODER(Q2_0, 4000, encode_q2_0)
ENCODER(IQ2_XXS, 400'000, encode_iq2_xxs)
ENCODER(IQ2_XS, 1'000'000, encode_iq2_xs)
ENCODER(IQ2_S, 400'000, encode_iq2_s)
ENCODER(IQ3_XXS, 500'000, encode_iq3_xxs)
ENCODER(IQ3_S, 400'000, encode_iq3_s)
ENCODER(IQ1_S, 400'000, encode_iq1_s)
ENCODER(IQ1_M, 1'000'000, encode_iq1_m)
#undef ENCODER

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
