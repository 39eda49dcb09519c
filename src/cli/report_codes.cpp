// How often each integer code of a type occurs. Types with a codebook have none: their codes number
// points.
// SPDX-License-Identifier: MIT
#include "report.hpp"

#include "info.hpp"

#include <algorithm>

namespace ggufx::cli {

namespace {

using Byte = uint8_t;
using CodeFn = unsigned (*)(const Byte *block, size_t i);

unsigned bits(const Byte *block, size_t byte, size_t shift, unsigned n) {
    return block[byte] >> shift & ((1u << n) - 1u);
}
// Values i and i + 16 of 32 in one byte.
template <size_t At> unsigned nibble(const Byte *b, size_t i) {
    return bits(b, At + 16 * (i / 32) + i % 16, 4 * (i / 16 % 2), 4);
}
// Values i and i + 32 of 64.
template <size_t At> unsigned wide_nibble(const Byte *b, size_t i) {
    return bits(b, At + 32 * (i / 64) + i % 32, 4 * (i / 32 % 2), 4);
}
// Values i, i + 32, i + 64 and i + 96 of 128.
template <size_t At> unsigned crumb(const Byte *b, size_t i) {
    return bits(b, At + 32 * (i / 128) + i % 32, 2 * (i % 128 / 32), 2);
}
template <size_t At, size_t High> unsigned five_bits(const Byte *b, size_t i) {
    return nibble<At>(b, i) | bits(b, High + i / 8, i % 8, 1) << 4;
}
unsigned q8_0(const Byte *b, size_t i) {
    return b[2 + i] ^ 128u;
}
unsigned q3_k(const Byte *b, size_t i) {
    return crumb<32>(b, i) | bits(b, i % 32, i / 32, 1) << 2;
}
unsigned q5_k(const Byte *b, size_t i) {
    return wide_nibble<48>(b, i) | bits(b, 16 + i % 32, i / 32, 1) << 4;
}
unsigned q6_k(const Byte *b, size_t i) {
    return bits(b, 64 * (i / 128) + i % 64, 4 * (i % 128 / 64), 4) | crumb<128>(b, i) << 4;
}
unsigned nvfp4(const Byte *b, size_t i) {
    return bits(b, 4 + 8 * (i / 16) + i % 8, 4 * (i / 8 % 2), 4);
}
unsigned q1_0(const Byte *b, size_t i) {
    return bits(b, 2 + i / 8, i % 8, 1);
}
unsigned q2_0(const Byte *b, size_t i) {
    return bits(b, 2 + i / 4, 2 * (i % 4), 2);
}
// Five digits of base 3 in a byte, as a fraction of 256.
unsigned tq1_0(const Byte *b, size_t i) {
    constexpr unsigned powers[] = {1, 3, 9, 27, 81};
    const size_t first = i < 160 ? 0 : i < 240 ? 160 : 240, apart = i < 160 ? 32 : i < 240 ? 16 : 4;
    const size_t byte = first / 5 + (i - first) % apart;
    return (b[byte] * powers[(i - first) / apart] & 255u) * 3 >> 8;
}

struct Codes {
    uint32_t type;
    unsigned n;
    int lowest;
    CodeFn code;
};
constexpr Codes kCodes[] = {
    {GGUFX_TYPE_Q8_0, 256, -128, q8_0},
    {GGUFX_TYPE_Q4_0, 16, -8, nibble<2>},
    {GGUFX_TYPE_Q4_1, 16, 0, nibble<4>},
    {GGUFX_TYPE_Q5_0, 32, -16, five_bits<6, 2>},
    {GGUFX_TYPE_Q5_1, 32, 0, five_bits<8, 4>},
    {GGUFX_TYPE_Q2_K, 4, 0, crumb<16>},
    {GGUFX_TYPE_Q3_K, 8, -4, q3_k},
    {GGUFX_TYPE_Q4_K, 16, 0, wide_nibble<16>},
    {GGUFX_TYPE_Q5_K, 32, 0, q5_k},
    {GGUFX_TYPE_Q6_K, 64, -32, q6_k},
    {GGUFX_TYPE_IQ4_NL, 16, 0, nibble<2>},
    {GGUFX_TYPE_IQ4_XS, 16, 0, nibble<8>},
    {GGUFX_TYPE_MXFP4, 16, 0, nibble<1>},
    {GGUFX_TYPE_NVFP4, 16, 0, nvfp4},
    {GGUFX_TYPE_TQ1_0, 3, -1, tq1_0},
    {GGUFX_TYPE_TQ2_0, 4, -1, crumb<0>},
    {GGUFX_TYPE_Q1_0, 2, 0, q1_0},
    {GGUFX_TYPE_Q2_0, 4, -1, q2_0},
};

} // namespace

void count_codes(ModelReport &report, const ggufx_tensor *tensor, const ggufx_tensor_facts &info) {
    const auto *codes = std::find_if(std::begin(kCodes), std::end(kCodes),
                                     [&](const Codes &c) { return c.type == info.type; });
    if (codes == std::end(kCodes)) return;
    const std::string type = type_name(info.type);
    auto into = std::find_if(report.codes.begin(), report.codes.end(),
                             [&](const CodeHistogram &h) { return h.type == type; });
    if (into == report.codes.end()) {
        report.codes.push_back({type, std::vector<uint64_t>(codes->n), codes->lowest});
        into = report.codes.end() - 1;
    }
    const ggufx_type_facts facts = type_facts(info.type);
    const auto *data = static_cast<const uint8_t *>(ggufx_tensor_data(tensor));
    for (uint64_t row = 0; row < info.n_rows; ++row) {
        const uint8_t *bytes = data + row * info.row_stride;
        for (uint64_t at = 0; at < info.row_bytes; at += facts.block_bytes)
            for (size_t i = 0; i < facts.block_values; ++i)
                ++into->counts[codes->code(bytes + at, i)];
    }
}

} // namespace ggufx::cli
