// Which types have an encoder, by id. The costs are measured on one core (README.md).
// SPDX-License-Identifier: MIT
#include "quant/blocks.hpp"
#include "quant/neighbours.hpp"

namespace ggufx::quant {

namespace {

// id, picoseconds per value (with an imatrix where that is slower), needs an imatrix, looks at the
// whole row, codebook, function
constexpr Encoder kEncoders[] = {
    {0, 500, false, false, nullptr, encode_f32},
    {1, 2000, false, false, nullptr, encode_f16},
    {2, 100'000, false, true, nullptr, encode_q4_0},
    {3, 300'000, false, true, nullptr, encode_q4_1},
    {6, 100'000, false, true, nullptr, encode_q5_0},
    {7, 300'000, false, true, nullptr, encode_q5_1},
    {8, 4000, false, false, nullptr, encode_q8_0},
    {10, 300'000, false, false, nullptr, encode_q2_k},
    {11, 200'000, false, false, nullptr, encode_q3_k},
    {12, 300'000, false, false, nullptr, encode_q4_k},
    {13, 300'000, false, false, nullptr, encode_q5_k},
    {14, 100'000, false, false, nullptr, encode_q6_k},
    {20, 300'000, false, false, nullptr, encode_iq4_nl},
    {23, 300'000, false, false, nullptr, encode_iq4_xs},
    {30, 1000, false, false, nullptr, encode_bf16},
    {34, 10'000, false, false, nullptr, encode_tq1_0},
    {35, 10'000, false, false, nullptr, encode_tq2_0},
    {39, 40'000, false, false, nullptr, encode_mxfp4},
    {40, 40'000, false, false, nullptr, encode_nvfp4},
    {41, 4000, false, false, nullptr, encode_q1_0},
    {42, 4000, false, false, nullptr, encode_q2_0},
    {16, 400'000, true, false, &kSpecIq2Xxs, encode_iq2_xxs},
    {17, 1'000'000, true, false, &kSpecIq2Xs, encode_iq2_xs},
    {22, 400'000, false, false, &kSpecIq2S, encode_iq2_s},
    {18, 500'000, false, false, &kSpecIq3Xxs, encode_iq3_xxs},
    {21, 400'000, false, false, &kSpecIq3S, encode_iq3_s},
    {19, 400'000, true, false, &kSpecIq1, encode_iq1_s},
    {29, 1'000'000, false, false, &kSpecIq1, encode_iq1_m},
};

} // namespace

const Encoder *encoder(uint32_t type) {
    for (const Encoder &e : kEncoders)
        if (e.type == type) return &e;
    return nullptr;
}

} // namespace ggufx::quant
