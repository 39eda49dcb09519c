// Table of the encoders of a set. Included after the quant_vec.hpp of the set, with
//   GGUFX_SET     the set's namespace
// Costs are measured on one core with AVX-512. They decide the size of tasks.
// SPDX-License-Identifier: MIT
#include "kernels/loops/encode_iq1_m.hpp"
#include "kernels/loops/encode_iq1_s.hpp"
#include "kernels/loops/encode_iq23.hpp"
#include "kernels/loops/encode_iq4.hpp"
#include "kernels/loops/encode_k_signed.hpp"
#include "kernels/loops/encode_small.hpp"
#include "kernels/loops/families.hpp"

namespace ggufx {
namespace kernels {
namespace {

// ---- F32, F16, BF16: value by value -------------------------------------------------------------

template <class V> void encode_f32(const EncodeJob &job) {
    // all hosts of these sets are little-endian
    __builtin_memcpy(job.out, job.x, job.n_blocks * sizeof(float));
}

template <class V> GGUFX_INLINE void store_bf16(uint8_t *to, Lane<V> a) {
    const typename V::Vi bits = V::as_int(a.v);
    const typename V::Vi odd = V::and_i(V::template shift_right<16>(bits), V::set1_i(1));
    const typename V::Vi sum = V::add_i(V::add_i(bits, V::set1_i(0x7fff)), odd);
    V::store_words(to, V::and_i(V::template shift_right<16>(sum), V::set1_i(0xffff)));
}

// Stores kLanes words per vector; the last, partial vector passes through a buffer.
template <class V, class Store> GGUFX_INLINE void encode_words(const EncodeJob &job, Store store) {
    constexpr size_t L = V::kLanes;
    size_t i = 0;
    for (; i + L <= job.n_blocks; i += L) store(job.out + 2 * i, Lane<V>(V::load(job.x + i)));
    if (i == job.n_blocks) return;
    uint8_t rest[2 * L];
    store(rest, load_some<V>(job.x + i, job.n_blocks - i));
    for (size_t b = 0; b < 2 * (job.n_blocks - i); b++) job.out[2 * i + b] = rest[b];
}

template <class V> void encode_f16(const EncodeJob &job) {
    encode_words<V>(job, [](uint8_t *to, Lane<V> a) { V::store_half(to, a.v); });
}
template <class V> void encode_bf16(const EncodeJob &job) {
    encode_words<V>(job, [](uint8_t *to, Lane<V> a) { store_bf16<V>(to, a); });
}

} // namespace

namespace GGUFX_SET {
namespace {

constexpr uint32_t kLanes = QuantVec::kLanes;

struct Encoder {
    void (*run)(const EncodeJob &job);
    uint32_t value_ps, lanes;
};
// Indexed by type id; null for types without an encoder.
template <uint32_t Id> constexpr Encoder kEncoderOf = {};
#define ENCODER(NAME, ...) template <> constexpr Encoder kEncoderOf<fmt::id::NAME> = {__VA_ARGS__};
ENCODER(F32, encode_f32<QuantVec>, 400, 1024)
ENCODER(F16, encode_f16<QuantVec>, 400, 1024)
ENCODER(BF16, encode_bf16<QuantVec>, 400, 1024)
ENCODER(Q4_0, encode_q4_0<QuantVec>, 8000, 4 * kLanes)
ENCODER(Q4_1, encode_q4_1<QuantVec>, 20'000, 4 * kLanes)
ENCODER(Q5_0, encode_q5_0<QuantVec>, 8000, 4 * kLanes)
ENCODER(Q5_1, encode_q5_1<QuantVec>, 20'000, 4 * kLanes)
ENCODER(Q8_0, encode_q8_0<QuantVec>, 500, 4 * kLanes)
ENCODER(IQ4_NL, encode_iq4_nl<QuantVec>, 13'000, 4 * kLanes)
ENCODER(IQ4_XS, encode_iq4_xs<QuantVec>, 10'000, kLanes)
ENCODER(IQ2_XXS, encode_iq2_xxs<QuantVec>, 40'000, kLanes)
ENCODER(IQ2_XS, encode_grid<QuantVec, Iq2Xs>, 100'000, 2)
ENCODER(IQ2_S, encode_grid<QuantVec, Iq2S>, 60'000, 2)
ENCODER(IQ3_XXS, encode_grid<QuantVec, Iq3Xxs>, 80'000, 2)
ENCODER(IQ3_S, encode_grid<QuantVec, Iq3S>, 60'000, 2)
ENCODER(IQ1_S, encode_iq1_s<QuantVec>, 60'000, 2)
ENCODER(IQ1_M, encode_iq1_m<QuantVec>, 60'000, 2)
ENCODER(TQ1_0, encode_tq1_0<QuantVec>, 2000, kLanes)
ENCODER(TQ2_0, encode_tq2_0<QuantVec>, 1000, kLanes)
ENCODER(MXFP4, encode_mxfp4<QuantVec>, 2000, 4 * kLanes)
ENCODER(NVFP4, encode_nvfp4<QuantVec>, 2000, 4 * kLanes)
ENCODER(Q1_0, encode_q1_0<QuantVec>, 1000, kLanes)
ENCODER(Q2_0, encode_q2_0<QuantVec>, 1000, kLanes)
ENCODER(Q2_K, encode_q2_k<QuantVec>, 20'000, kLanes)
ENCODER(Q3_K, encode_q3_k<QuantVec>, 10'000, kLanes)
ENCODER(Q4_K, encode_q4_k<QuantVec>, 20'000, kLanes)
ENCODER(Q5_K, encode_q5_k<QuantVec>, 20'000, kLanes)
ENCODER(Q6_K, encode_q6_k<QuantVec>, 10'000, kLanes)
#undef ENCODER

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
