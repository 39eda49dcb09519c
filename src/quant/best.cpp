// Search for a better block with three sets of error weights: growing with the values as in the
// reference (perplexity follows these), growing less, or exactly those of the promise. The promise
// is less error than the reference's block, weighted by the importance matrix alone. The first
// result that keeps it replaces the block.
// SPDX-License-Identifier: MIT
#include "quant/best.hpp"

#include "base/round.hpp"
#include "formats/all.hpp"
#include "quant/quantize.hpp"

#include <math.h>
#include <string.h>

namespace ggufx::quant {

using namespace rounding;

namespace {

constexpr int kMaxValues = 256, kMaxBytes = 256;

// Values of a block, and the error of a candidate block.
struct Target {
    const fmt::TypeInfo &type;
    const float *x;
    DecodeFn decode;
    const kernels::GridLists *grid;

    int n() const { return static_cast<int>(type.block_values); }
    double error(const uint8_t *block, const float *w) const {
        float y[kMaxValues];
        double sum = 0;
        decode(y, block, 1);
        for (int i = 0; i < n(); i++) {
            const double diff = static_cast<double>(y[i]) - static_cast<double>(x[i]);
            sum += (w ? static_cast<double>(w[i]) : 1.0) * diff * diff;
        }
        return sum;
    }
};

// Writes v = w * (1 + x^2 / mean)^(1/2), or ^(1/4) if n_roots is 2.
void stress_large_values(float *v, const Target &t, const float *w, int n_roots) {
    double squares = 0;
    for (int i = 0; i < t.n(); i++)
        squares += static_cast<double>(t.x[i]) * static_cast<double>(t.x[i]);
    const double inverse_mean = squares > 0 ? t.n() / squares : 0;
    for (int i = 0; i < t.n(); i++) {
        const double x = static_cast<double>(t.x[i]);
        double factor = sqrt(1 + x * x * inverse_mean);
        if (n_roots == 2) factor = sqrt(factor);
        v[i] = (w ? w[i] : 1.0f) * static_cast<float>(factor);
    }
}

// Exponents to try, strongest first, as numbers of square roots; 0 roots are the weights of the
// promise. With an importance matrix, 3-bit types have lower perplexity if large values count less
// (tests/bench/quantize.md).
struct Roots {
    int first, of[3];
};
Roots roots_of(uint32_t type, bool weighted) {
    return {!weighted                  ? 0
            : type == fmt::id::IQ3_S   ? 2
            : type == fmt::id::IQ3_XXS ? 1
                                       : 0,
            {1, 2, 0}};
}

// Refits the f16 scale by least squares; the rest of the block stays.
void improve_scale(uint8_t *block, const Target &t, const float *w) {
    const float d = f16_to_f32(grid_scale(block, t.type.id));
    if (!(magnitude(d) > 0.0f && magnitude(d) <= 65504.0f)) return;
    float y[kMaxValues];
    double yy = 0, xy = 0;
    t.decode(y, block, 1);
    for (int i = 0; i < t.n(); i++) {
        const double weight = w ? static_cast<double>(w[i]) : 1.0;
        yy += weight * static_cast<double>(y[i]) * static_cast<double>(y[i]);
        xy += weight * static_cast<double>(t.x[i]) * static_cast<double>(y[i]);
    }
    if (!(yy > 0)) return;
    set_grid_scale(block, t.type.id,
                   f32_to_f16(static_cast<float>(static_cast<double>(d) * xy / yy)));
}

// Encodes one block of a type without a codebook with the scalar encoder.
void encode_block(uint32_t type, void *block, const float *x) {
    encoder(type)->run({static_cast<uint8_t *>(block), x, 1, nullptr, 0, 1, 0.0f, nullptr});
}

// Improves a TQ1_0 block as TQ2_0, which has the same values in another layout.
void improve_trits(uint8_t *block, const Target &t, const float *w) {
    fmt::TQ2_0::Block pairs;
    float trits[fmt::TQ2_0::kValues];
    encode_block(fmt::id::TQ2_0, &pairs, t.x);
    improve_codes(fmt::bytes_of(&pairs), *block_layout(fmt::id::TQ2_0), t.x, w);
    for (unsigned i = 0; i < fmt::TQ2_0::kValues; i++)
        trits[i] = to_f32(fmt::TQ2_0::code(pairs, i));
    encode_block(fmt::id::TQ1_0, block, trits);
    memcpy(block + offsetof(fmt::TQ1_0::Block, d), pairs.d, sizeof pairs.d);
}

template <class Change>
void keep_if_better(uint8_t *block, const Target &t, const float *w, Change change) {
    uint8_t tried[kMaxBytes];
    memcpy(tried, block, t.type.block_bytes);
    change(tried);
    if (t.error(tried, w) < t.error(block, w)) memcpy(block, tried, t.type.block_bytes);
}

void search(uint8_t *block, const Target &t, const float *w) {
    if (t.type.id == fmt::id::TQ1_0) return improve_trits(block, t, w);
    if (const BlockLayout *layout = block_layout(t.type.id))
        return improve_codes(block, *layout, t.x, w);
    const GridLayout *layout = t.grid ? grid_layout(t.type.id) : nullptr;
    if (!layout) return;
    keep_if_better(block, t, w, [&](uint8_t *tried) { improve_scale(tried, t, w); });
    keep_if_better(block, t, w,
                   [&](uint8_t *tried) { improve_points(tried, *layout, *t.grid, t.x, w); });
}

} // namespace

void improve_block(uint8_t *block, const fmt::TypeInfo &type, const float *x, const float *w,
                   DecodeFn decode, const kernels::GridLists *grid) {
    const Target t = {type, x, decode, grid};
    if (t.n() == 1) return; // floats
    const double promised = t.error(block, w);
    const Roots roots = roots_of(type.id, w != nullptr);
    for (int i = roots.first; i < 3; i++) {
        const int n_roots = roots.of[i];
        float stressed[kMaxValues];
        const float *v = n_roots ? stressed : w;
        if (n_roots) stress_large_values(stressed, t, w, n_roots);
        uint8_t tried[kMaxBytes];
        memcpy(tried, block, type.block_bytes);
        search(tried, t, v);
        if (!(t.error(tried, w) < promised && t.error(tried, v) <= t.error(block, v))) continue;
        memcpy(block, tried, type.block_bytes);
        return;
    }
}

uint64_t improve_ps(const fmt::TypeInfo &type) {
    switch (type.id) {
    case fmt::id::IQ4_NL:
        return 8'000'000; // tries every boundary between two levels
    case fmt::id::IQ1_S:
    case fmt::id::IQ1_M:
        return 3'000'000;
    default:
        return type.block_values < 256 ? 2'500'000 : 1'500'000;
    }
}

} // namespace ggufx::quant
