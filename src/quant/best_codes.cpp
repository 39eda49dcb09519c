// Local search in blocks of codes and scales. Codes are the nearest for given scales, sub-scales
// vary by a few steps, block scales are the least-squares fit of given codes. Repeats until the
// error stops decreasing, from several starts.
// SPDX-License-Identifier: MIT
#include "base/round.hpp"
#include "formats/all.hpp"
#include "quant/code_numbers.hpp"

#include <string.h>

namespace ggufx::quant {

namespace {

float mx_scale(int code) {
    return e8m0_half_to_f32(static_cast<uint8_t>(code));
}
float nv_scale(int code) {
    return ue4m3_half_to_f32(static_cast<uint8_t>(code));
}

constexpr int8_t kSigns[2] = {-1, 1};
// The levels of FP4 in ascending order, with one of its two zeros, and their codes.
constexpr int8_t kFp4[15] = {-12, -8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12};
constexpr uint8_t kFp4Codes[15] = {15, 14, 13, 12, 11, 10, 9, 0, 1, 2, 3, 4, 5, 6, 7};

// Returns the sizes and bit positions of a format with codes first .. first + n - 1.
template <class F> constexpr BlockLayout layout_of(uint32_t type, int first, int n) {
    BlockLayout l = {.type = type, .n_values = F::kValues, .n_groups = 1};
    l.first_code = first;
    l.n_codes = n;
    l.code_at = F::code_at;
    if constexpr (requires { F::scale_at(0u); }) {
        l.scale_at = F::scale_at;
        l.n_groups = F::kValues / F::kGroup;
    }
    if constexpr (requires { F::min_at(0u); }) l.min_at = F::min_at;
    using Block = typename F::Block;
    if constexpr (requires(Block b) { b.d; }) {
        if (sizeof(Block::d) == 2) l.d = offsetof(Block, d);
    }
    if constexpr (requires(Block b) { b.dmin; }) l.dmin = offsetof(Block, dmin);
    if constexpr (requires(Block b) { b.m; }) l.dmin = offsetof(Block, m), l.n_mins = 1;
    return l;
}
// Sets the values of codes 0 .. n - 1.
constexpr BlockLayout levels(BlockLayout l, const int8_t *of, const uint8_t *codes = nullptr) {
    l.levels = of;
    l.level_codes = codes;
    return l;
}
constexpr BlockLayout scales(BlockLayout l, int first, int n, float (*value)(int) = nullptr) {
    l.first_scale = first;
    l.n_scales = n;
    l.scale_value = value;
    return l;
}
constexpr BlockLayout mins(BlockLayout l, int n) {
    l.n_mins = n;
    return l;
}
// Codes stored as signed bytes.
constexpr BlockLayout signed_codes(BlockLayout l) {
    l.flip_code = 128;
    return l;
}
constexpr BlockLayout signed_scales(BlockLayout l) {
    l.flip_scale = 128;
    return l;
}

constexpr BlockLayout kLayouts[] = {
    layout_of<fmt::Q4_0>(fmt::id::Q4_0, -8, 16),
    layout_of<fmt::Q4_1>(fmt::id::Q4_1, 0, 16),
    layout_of<fmt::Q5_0>(fmt::id::Q5_0, -16, 32),
    layout_of<fmt::Q5_1>(fmt::id::Q5_1, 0, 32),
    signed_codes(layout_of<fmt::Q8_0>(fmt::id::Q8_0, -128, 256)),
    levels(layout_of<fmt::Q1_0>(fmt::id::Q1_0, 0, 2), kSigns),
    layout_of<fmt::Q2_0>(fmt::id::Q2_0, -1, 4),
    layout_of<fmt::TQ2_0>(fmt::id::TQ2_0, -1, 3),
    levels(layout_of<fmt::IQ4_NL>(fmt::id::IQ4_NL, 0, 16), fmt::kCodesIq4),
    levels(scales(layout_of<fmt::MXFP4>(fmt::id::MXFP4, 0, 15), 0, 255, mx_scale), kFp4, kFp4Codes),
    levels(scales(layout_of<fmt::NVFP4>(fmt::id::NVFP4, 0, 15), 0, 127, nv_scale), kFp4, kFp4Codes),
    mins(scales(layout_of<fmt::Q2_K>(fmt::id::Q2_K, 0, 4), 0, 16), 16),
    scales(layout_of<fmt::Q3_K>(fmt::id::Q3_K, -4, 8), -32, 64),
    mins(scales(layout_of<fmt::Q4_K>(fmt::id::Q4_K, 0, 16), 0, 64), 64),
    mins(scales(layout_of<fmt::Q5_K>(fmt::id::Q5_K, 0, 32), 0, 64), 64),
    signed_scales(scales(layout_of<fmt::Q6_K>(fmt::id::Q6_K, -32, 64), -128, 256)),
    levels(scales(layout_of<fmt::IQ4_XS>(fmt::id::IQ4_XS, 0, 16), -32, 64), fmt::kCodesIq4),
};

consteval bool has_layout(uint32_t type) {
    for (const BlockLayout &layout : kLayouts)
        if (layout.type == type) return true;
    return false;
}
// Checks that all quantized types have a layout. best_grid.cpp has those with a codebook; TQ1_0
// uses the layout of TQ2_0.
#define X(NAME, ID, TEXT, VALUES, BYTES, KIND, ...)                                                \
    static_assert(fmt::Kind::k##KIND != fmt::Kind::kQuantized || has_layout(ID) ||                 \
                  ID == fmt::id::TQ1_0 || fmt::HasCodebook<fmt::NAME>);
#define REMOVED(...)
#include "formats/formats.def"

} // namespace

const BlockLayout *block_layout(uint32_t type) {
    for (const BlockLayout &layout : kLayouts)
        if (layout.type == type) return &layout;
    return nullptr;
}

using namespace rounding;

namespace {

constexpr int kCodePasses = 4, kReach = 2;

class Search : public CodeNumbers {
public:
    Search(const BlockLayout &layout, const float *x, const float *w)
        : CodeNumbers(layout), x_(x), w_(w) {}

    // Repeats the local search until nothing changes; returns the error.
    double descend(CodeState *s) const {
        double error = 0;
        for (int k = 0; k < l_.n_groups; k++) error += place(s, k, s->scale[k], s->min[k], nullptr);
        for (int pass = 0; pass < kCodePasses; pass++) {
            double next_error = 0;
            CodeState next = *s;
            for (int k = 0; k < l_.n_groups; k++) next_error += best_group(&next, k);
            if (next_error < error) *s = next, error = next_error;
            next = *s;
            if (!refit(&next)) return error;
            next_error = 0;
            for (int k = 0; k < l_.n_groups; k++)
                next_error += place(&next, k, next.scale[k], next.min[k], nullptr);
            if (!(next_error < error)) return error;
            *s = next, error = next_error;
        }
        return error;
    }

private:
    // Chooses the codes of group k for a scale and minimum; writes them to `to` (null: to the
    // state). Returns their error.
    double place(CodeState *s, int k, int scale, int min, uint8_t *to) const {
        const float d = s->d * scale_value(scale), m = s->dmin * to_f32(min);
        const float id = inverse(d);
        uint8_t *code = to ? to : s->code + ptrdiff_t{k} * group_;
        double error = 0;
        for (int i = 0; i < group_; i++) {
            const int at = k * group_ + i;
            code[i] = low8(nearest_code((x_[at] + m) * id));
            const float diff = d * level(code[i]) - m - x_[at];
            error += static_cast<double>((w_ ? w_[at] : 1.0f) * diff * diff);
        }
        return error;
    }
    // Tries sub-scales near the group's own, each with the best minimum for its codes.
    double best_group(CodeState *s, int k) const {
        uint8_t code[kBlockValues];
        double least = place(s, k, s->scale[k], s->min[k], nullptr);
        const int scale0 = s->scale[k], min0 = s->min[k], reach = l_.n_scales ? kReach : 0;
        const auto offer = [&](int scale, int min) {
            const double error = place(s, k, scale, min, code);
            if (!(error < least)) return;
            least = error;
            s->scale[k] = scale, s->min[k] = min;
            memcpy(s->code + ptrdiff_t{k} * group_, code, static_cast<size_t>(group_));
        };
        for (int scale = scale0 - reach; scale <= scale0 + reach; scale++) {
            if (scale < 0 || (l_.n_scales && scale >= l_.n_scales)) continue;
            offer(scale, min0);
            if (l_.n_mins <= 1 || s->dmin == 0.0f) continue;
            const int min = best_min(*s, k, scale, code);
            if (min != min0) offer(scale, min);
        }
        return least;
    }
    int best_min(const CodeState &s, int k, int scale, const uint8_t *code) const {
        const float d = s.d * scale_value(scale);
        float sum = 0.0f, weights = 0.0f;
        for (int i = 0; i < group_; i++) {
            const int at = k * group_ + i;
            const float weight = w_ ? w_[at] : 1.0f;
            sum += weight * (d * level(code[i]) - x_[at]);
            weights += weight;
        }
        const float wanted = sum * inverse(weights * s.dmin), most = to_f32(l_.n_mins - 1);
        return wanted > 0.0f ? nearest(wanted < most ? wanted : most) : 0;
    }
    // Fits d and dmin by least squares. Returns false if there is nothing to fit or nothing
    // changes.
    bool refit(CodeState *s) const {
        if (l_.d < 0) return false;
        double aa = 0, ab = 0, bb = 0, ax = 0, bx = 0;
        for (int i = 0; i < l_.n_values; i++) {
            const int k = i / group_;
            const double w = w_ ? static_cast<double>(w_[i]) : 1.0, x = static_cast<double>(x_[i]);
            const auto a = static_cast<double>(scale_value(s->scale[k]) * level(s->code[i]));
            const double b = l_.n_mins ? -s->min[k] : 0.0;
            aa += w * a * a, ab += w * a * b, bb += w * b * b, ax += w * a * x, bx += w * b * x;
        }
        const double det = aa * bb - ab * ab;
        double d = aa > 0 ? ax / aa : 0, dmin = static_cast<double>(s->dmin);
        if (det > 1e-9 * aa * bb) {
            d = (ax * bb - bx * ab) / det;
            dmin = (bx * aa - ax * ab) / det;
        } else if (l_.n_mins && aa > 0) {
            d = (ax - ab * dmin) / aa;
        }
        const float new_d = rounded_f16(static_cast<float>(d));
        const float new_dmin = rounded_f16(static_cast<float>(dmin));
        if (new_d == s->d && new_dmin == s->dmin) return false;
        s->d = new_d, s->dmin = new_dmin;
        return true;
    }

    const float *x_, *w_;
};

// Start scales of the search, as multiples of the reference's scale.
constexpr float kCodeStarts[] = {1.0f,  0.8f, 0.84f, 0.88f, 0.91f, 0.94f, 0.97f, 1.03f,
                                 1.06f, 1.1f, 1.14f, 1.18f, 0.7f,  0.6f,  0.5f};

} // namespace

void improve_codes(uint8_t *block, const BlockLayout &layout, const float *x, const float *w) {
    const Search search(layout, x, w);
    CodeState start, best;
    search.take_apart(&start, block);
    if (!(magnitude(start.d) < 65504.0f && magnitude(start.dmin) < 65504.0f)) return;
    best = start;
    double least = search.descend(&best);
    for (const float factor : kCodeStarts) {
        if (factor == 1.0f || layout.d < 0) continue;
        // the sub-scales adapt
        if (layout.n_groups > 1 && factor != 0.97f && factor != 1.03f) continue;
        CodeState next = start;
        next.d = rounded_f16(start.d * factor);
        const double error = search.descend(&next);
        if (error < least) least = error, best = next;
    }
    search.put_together(block, best);
}

} // namespace ggufx::quant
