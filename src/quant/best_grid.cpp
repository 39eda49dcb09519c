// Layouts of blocks with a codebook, and the search for better ones from several starts.
// SPDX-License-Identifier: MIT
#include "formats/all.hpp"
#include "quant/point_search.hpp"

#include <float.h>
#include <string.h>

namespace ggufx::quant {

namespace {

// Returns the sizes and bit positions of a format, for a codebook of groups of n_dims values.
template <class F> constexpr GridLayout layout_of(uint32_t type, int n_dims, float unit) {
    GridLayout l = {};
    l.type = type;
    l.n_dims = n_dims;
    l.sub = l.part = F::kGroup;
    l.unit = unit;
    l.low_index = F::index_low_at;
    if constexpr (requires { F::index_high_at(0u); }) l.high_index = F::index_high_at;
    l.scale = F::scale_at;
    l.n_scales = 1 << F::scale_at(0).low.n;
    if constexpr (requires { F::signs_at(0u); }) {
        const fmt::Field signs = F::signs_at(0);
        l.signs = F::signs_at;
        l.sign_bits = static_cast<int>(signs.low.n + signs.high.n);
    }
    if constexpr (requires { F::shift_at(0u); }) {
        l.shift = F::shift_at;
        l.shifts = true;
    }
    return l;
}
template <size_t N> constexpr GridLayout levels(GridLayout l, const float (&values)[N]) {
    for (size_t i = 0; i < N; i++) l.levels[i] = values[i];
    return l;
}
// Sets the number of values per shift, for sub-blocks with several shifts.
constexpr GridLayout parts_of(GridLayout l, int n) {
    l.part = n;
    return l;
}

constexpr float kTwoBit[] = {8, 25, 43}, kTernary[] = {-1, 0, 1};
constexpr float kXxs[] = {4, 12, 20, 28, 36, 44, 52, 62}, kOdd[] = {1, 3, 5, 7, 9, 11, 13, 15};

constexpr GridLayout kGridLayouts[] = {
    levels(layout_of<fmt::IQ2_XXS>(fmt::id::IQ2_XXS, 8, 0.125f), kTwoBit),
    levels(layout_of<fmt::IQ2_XS>(fmt::id::IQ2_XS, 8, 0.125f), kTwoBit),
    levels(layout_of<fmt::IQ2_S>(fmt::id::IQ2_S, 8, 0.125f), kTwoBit),
    levels(layout_of<fmt::IQ3_XXS>(fmt::id::IQ3_XXS, 4, 0.25f), kXxs),
    levels(layout_of<fmt::IQ3_S>(fmt::id::IQ3_S, 4, 1.0f), kOdd),
    levels(layout_of<fmt::IQ1_S>(fmt::id::IQ1_S, 8, 1.0f), kTernary),
    parts_of(levels(layout_of<fmt::IQ1_M>(fmt::id::IQ1_M, 8, 1.0f), kTernary), 8),
};

consteval bool has_grid_layout(uint32_t type) {
    for (const GridLayout &layout : kGridLayouts)
        if (layout.type == type) return true;
    return false;
}
#define X(NAME, ID, ...) static_assert(has_grid_layout(ID) == fmt::HasCodebook<fmt::NAME>);
#define REMOVED(...)
#include "formats/formats.def"

} // namespace

const GridLayout *grid_layout(uint32_t type) {
    for (const GridLayout &layout : kGridLayouts)
        if (layout.type == type) return &layout;
    return nullptr;
}

uint16_t grid_scale(const uint8_t *block, uint32_t type) {
    if (type != fmt::id::IQ1_M) return load_u16le(block);
    unsigned bits = 0;
    for (unsigned i = 0; i < 4; i++)
        bits |= static_cast<unsigned>(fmt::read_field(block, fmt::IQ1_M::d_at(i))) << (4 * i);
    return static_cast<uint16_t>(bits);
}

void set_grid_scale(uint8_t *block, uint32_t type, uint16_t bits) {
    if (type != fmt::id::IQ1_M) return store_u16le(block, bits);
    for (unsigned i = 0; i < 4; i++) fmt::write_field(block, fmt::IQ1_M::d_at(i), bits >> (4 * i));
}

using namespace rounding;

namespace {

// Start scales of the search, as multiples of the reference's scale.
constexpr float kPointStarts[] = {1.0f, 0.93f, 1.07f};

} // namespace

void improve_points(uint8_t *block, const GridLayout &layout, const kernels::GridLists &grid,
                    const float *x, const float *w) {
    const PointSearch search(layout, grid, x, w);
    PointState start, best;
    search.take_apart(&start, block);
    if (!(start.d > 0.0f && start.d <= 65504.0f)) return;
    double least = DBL_MAX;
    for (const float factor : kPointStarts) {
        PointState next = start;
        next.d = f16_to_f32(f32_to_f16(start.d * factor));
        if (!(next.d > 0.0f && next.d <= 65504.0f)) continue;
        const double error = search.descend(&next, 2);
        if (error < least) least = error, best = next;
    }
    if (least < DBL_MAX) search.put_together(block, best);
}

} // namespace ggufx::quant
