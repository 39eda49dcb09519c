// Histograms of the integer codes of quantization types. Codes of types with a codebook are
// indices, so these types have no histogram.
// SPDX-License-Identifier: MIT
#include "inspect/report.hpp"

#include "formats/all.hpp"
#include "inspect/info.hpp"

#include <algorithm>

namespace ggufx::cli {

namespace {

using CodeFn = unsigned (*)(const uint8_t *block, unsigned i);

// Bit fields, as stored.
template <class F> unsigned code(const uint8_t *block, unsigned i) {
    return static_cast<unsigned>(fmt::read_field(block, F::code_at(i)));
}
// Signed bytes, lowest first.
template <class F> unsigned signed_code(const uint8_t *block, unsigned i) {
    return code<F>(block, i) ^ 128u;
}
// Digits of base 3.
unsigned trit(const uint8_t *block, unsigned i) {
    return static_cast<unsigned>(
        fmt::TQ1_0::digit(*reinterpret_cast<const fmt::TQ1_0::Block *>(block), i));
}

struct Codes {
    uint32_t type;
    unsigned n;
    int lowest;
    CodeFn code;
};
constexpr Codes kCodes[] = {
    {fmt::id::Q8_0, 256, -128, signed_code<fmt::Q8_0>},
    {fmt::id::Q4_0, 16, -8, code<fmt::Q4_0>},
    {fmt::id::Q4_1, 16, 0, code<fmt::Q4_1>},
    {fmt::id::Q5_0, 32, -16, code<fmt::Q5_0>},
    {fmt::id::Q5_1, 32, 0, code<fmt::Q5_1>},
    {fmt::id::Q2_K, 4, 0, code<fmt::Q2_K>},
    {fmt::id::Q3_K, 8, -4, code<fmt::Q3_K>},
    {fmt::id::Q4_K, 16, 0, code<fmt::Q4_K>},
    {fmt::id::Q5_K, 32, 0, code<fmt::Q5_K>},
    {fmt::id::Q6_K, 64, -32, code<fmt::Q6_K>},
    {fmt::id::IQ4_NL, 16, 0, code<fmt::IQ4_NL>},
    {fmt::id::IQ4_XS, 16, 0, code<fmt::IQ4_XS>},
    {fmt::id::MXFP4, 16, 0, code<fmt::MXFP4>},
    {fmt::id::NVFP4, 16, 0, code<fmt::NVFP4>},
    {fmt::id::TQ1_0, 3, -1, trit},
    {fmt::id::TQ2_0, 4, -1, code<fmt::TQ2_0>},
    {fmt::id::Q1_0, 2, 0, code<fmt::Q1_0>},
    {fmt::id::Q2_0, 4, -1, code<fmt::Q2_0>},
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
    for (uint64_t row = 0; row < info.n_rows; row++) {
        const uint8_t *bytes = data + row * info.row_stride;
        for (uint64_t at = 0; at < info.row_bytes; at += facts.block_bytes)
            for (unsigned i = 0; i < facts.block_values; i++)
                into->counts[codes->code(bytes + at, i)]++;
    }
}

} // namespace ggufx::cli
