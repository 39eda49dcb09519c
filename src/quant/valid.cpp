// Check of encoded blocks for scales that are not finite.
// SPDX-License-Identifier: MIT
#include "quant/quantize.hpp"

#include "formats/all.hpp"

namespace ggufx::quant {

namespace {

bool is_finite_f16(uint16_t bits) {
    return (bits & 0x7c00u) != 0x7c00u;
}
// A scale field of a block: f16, or a format without infinities.
template <size_t N> bool is_good_scale(const uint8_t (&field)[N]) {
    return N != 2 || is_finite_f16(load_u16le(field));
}

template <class F> bool is_good(const uint8_t *data) {
    const auto &block = *reinterpret_cast<const typename F::Block *>(data);
    if constexpr (requires { block.v; }) {
        const uint32_t bits = f32_bits(F::value(block));
        return (bits & 0x7f800000u) != 0x7f800000u;
    } else if constexpr (requires { block.e; }) {
        return block.e != 255; // NaN of E8M0
    } else if constexpr (requires { F::d_at(0u); }) {
        // The upper half of an f16 that is stored in 4-bit parts.
        return is_finite_f16(
            static_cast<uint16_t>(read(block, F::d_at(3)) << 12 | read(block, F::d_at(2)) << 8));
    } else {
        bool good = is_good_scale(block.d);
        if constexpr (requires { block.m; }) good = good && is_good_scale(block.m);
        if constexpr (requires { block.dmin; }) good = good && is_good_scale(block.dmin);
        return good;
    }
}

using IsGood = bool (*)(const uint8_t *);

// Check for the types that encoders write.
template <class F, fmt::Kind K> consteval IsGood check_of() {
    if constexpr (K == fmt::Kind::kQuantized ||
                  (K == fmt::Kind::kFloat && sizeof(typename F::Block) <= 4))
        return is_good<F>;
    else
        return nullptr;
}
constexpr IsGood kChecks[fmt::kTypeIds] = {
#define X(NAME, ID, TEXT, VALUES, BYTES, KIND, ...) check_of<fmt::NAME, fmt::Kind::k##KIND>(),
#define REMOVED(...) nullptr,
#include "formats/formats.def"
};

} // namespace

size_t first_bad_block(uint32_t type, const uint8_t *blocks, size_t n_blocks) {
    const IsGood is_good = kChecks[type];
    const size_t block_bytes = fmt::type_info(type)->block_bytes;
    for (size_t i = 0; is_good && i < n_blocks; i++)
        if (!is_good(blocks + i * block_bytes)) return i;
    return SIZE_MAX;
}

} // namespace ggufx::quant
