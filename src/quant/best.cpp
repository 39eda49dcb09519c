// From the reference's blocks downhill: codes are the nearest for given scales, sub-scales are tried
// a few steps up and down, scales of blocks are the least squares for given codes. What comes out is
// decoded and kept only when it is better.
// SPDX-License-Identifier: MIT
#include "quant/best.hpp"

#include "quant/round.hpp"

#include <string.h>

namespace ggufx::quant {

namespace {

constexpr int kMaxValues = 256, kMaxBytes = 256, kPasses = 4, kReach = 2;

double error_of(const float *y, const float *x, const float *w, int n) {
    double error = 0;
    for (int i = 0; i < n; i++) {
        const double diff = static_cast<double>(y[i]) - static_cast<double>(x[i]);
        error += (w ? static_cast<double>(w[i]) : 1.0) * diff * diff;
    }
    return error;
}

int read_bits(const uint8_t *block, const Field::Bits &b) {
    return b.n ? block[b.byte] >> b.shift & ((1 << b.n) - 1) : 0;
}
int read_field(const uint8_t *block, const Field &f) {
    return read_bits(block, f.low) | read_bits(block, f.high) << f.low.n;
}
void write_bits(uint8_t *block, const Field::Bits &b, int v) {
    if (!b.n) return;
    const int mask = ((1 << b.n) - 1) << b.shift;
    block[b.byte] = low8((block[b.byte] & ~mask) | (v << b.shift & mask));
}
void write_field(uint8_t *block, const Field &f, int v) {
    write_bits(block, f.low, v);
    write_bits(block, f.high, v >> f.low.n);
}
float rounded_f16(float v) {
    return f16_to_f32(f32_to_f16(v));
}

// One block taken apart. Codes count from the lowest level on.
struct State {
    float d = 1.0f, dmin = 0.0f; // value = d * scale * level - dmin * min
    int scale[16] = {}, min[16] = {};
    uint8_t code[kMaxValues] = {};
};

class Search {
public:
    Search(const BlockLayout &layout, const float *x, const float *w)
        : l_(layout), x_(x), w_(w), group_(layout.n_values / layout.n_groups) {}

    void take_apart(State *s, const uint8_t *block) const {
        if (l_.d >= 0) s->d = f16_to_f32(load_u16le(block + l_.d));
        if (l_.dmin >= 0) s->dmin = f16_to_f32(load_u16le(block + l_.dmin));
        if (l_.n_mins == 1) s->dmin = -s->dmin; // Q4_1 and Q5_1 add it
        for (int k = 0; k < l_.n_groups; k++) {
            s->scale[k] = l_.scale_at ? read_field(block, l_.scale_at(k)) ^ l_.flip_scale : 0;
            s->min[k] = l_.min_at ? read_field(block, l_.min_at(k)) : l_.n_mins;
        }
        for (int i = 0; i < l_.n_values; i++) {
            const int stored = read_field(block, l_.code_at(i)) ^ l_.flip_code;
            s->code[i] = low8(l_.level_codes ? rank_of(stored) : stored);
        }
    }
    void put_together(uint8_t *block, const State &s) const {
        if (l_.d >= 0) store_f16(block + l_.d, s.d);
        if (l_.dmin >= 0) store_f16(block + l_.dmin, l_.n_mins == 1 ? -s.dmin : s.dmin);
        for (int k = 0; k < l_.n_groups; k++) {
            if (l_.scale_at) write_field(block, l_.scale_at(k), s.scale[k] ^ l_.flip_scale);
            if (l_.min_at) write_field(block, l_.min_at(k), s.min[k]);
        }
        for (int i = 0; i < l_.n_values; i++) {
            const int code = l_.level_codes ? l_.level_codes[s.code[i]] : s.code[i];
            write_field(block, l_.code_at(i), code ^ l_.flip_code);
        }
    }
    // Downhill until nothing changes; returns the error.
    double descend(State *s) const {
        double error = 0;
        for (int k = 0; k < l_.n_groups; k++) error += place(s, k, s->scale[k], s->min[k], nullptr);
        for (int pass = 0; pass < kPasses; pass++) {
            double next_error = 0;
            State next = *s;
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
    int rank_of(int stored) const {
        for (int i = 0; i < l_.n_codes; i++)
            if (l_.level_codes[i] == stored) return i;
        return 7; // the second zero of FP4
    }
    float level(int code) const {
        return to_f32(l_.levels ? l_.levels[code] : l_.first_code + code);
    }
    float scale_value(int code) const {
        return l_.scale_value ? l_.scale_value(code)
                              : l_.n_scales ? to_f32(l_.first_scale + code) : 1.0f;
    }
    int nearest_code(float v) const {
        if (!l_.levels) {
            const float limit = to_f32(l_.first_code + l_.n_codes - 1);
            if (!(v > to_f32(l_.first_code))) return 0;
            return v >= limit ? l_.n_codes - 1 : nearest(v) - l_.first_code;
        }
        int code = 0;
        while (code + 1 < l_.n_codes && v * 2.0f > level(code) + level(code + 1)) code++;
        return code;
    }
    // Codes of group k for a scale and minimum (into `to`, or the state's own); their error.
    double place(State *s, int k, int scale, int min, uint8_t *to) const {
        const float d = s->d * scale_value(scale), m = s->dmin * to_f32(min);
        const float id = inverse(d);
        uint8_t *code = to ? to : s->code + k * group_;
        double error = 0;
        for (int i = 0; i < group_; i++) {
            const int at = k * group_ + i;
            code[i] = low8(nearest_code((x_[at] + m) * id));
            const float diff = d * level(code[i]) - m - x_[at];
            error += static_cast<double>((w_ ? w_[at] : 1.0f) * diff * diff);
        }
        return error;
    }
    // Sub-scales near the group's own, each with the minimum that suits its codes.
    double best_group(State *s, int k) const {
        uint8_t code[kMaxValues];
        double least = place(s, k, s->scale[k], s->min[k], nullptr);
        const int scale0 = s->scale[k], min0 = s->min[k], reach = l_.n_scales ? kReach : 0;
        const auto offer = [&](int scale, int min) {
            const double error = place(s, k, scale, min, code);
            if (!(error < least)) return;
            least = error;
            s->scale[k] = scale, s->min[k] = min;
            memcpy(s->code + k * group_, code, static_cast<size_t>(group_));
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
    int best_min(const State &s, int k, int scale, const uint8_t *code) const {
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
    // Least squares of d and dmin; false when there is nothing to fit or nothing changes.
    bool refit(State *s) const {
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

    const BlockLayout &l_;
    const float *x_, *w_;
    const int group_;
};

// Where searches of blocks with one scale begin: multiples of the reference's.
constexpr float kStarts[] = {1.0f,  0.8f,  0.84f, 0.88f, 0.91f, 0.94f, 0.97f,
                             1.03f, 1.06f, 1.1f,  1.14f, 1.18f, 0.7f, 0.6f, 0.5f};

void improve_codes(uint8_t *block, const BlockLayout &layout, const float *x, const float *w) {
    const Search search(layout, x, w);
    State start, best;
    search.take_apart(&start, block);
    if (!(magnitude(start.d) < 65504.0f && magnitude(start.dmin) < 65504.0f)) return;
    best = start;
    double least = search.descend(&best);
    for (const float factor : kStarts) {
        if (factor == 1.0f || layout.d < 0) continue;
        if (layout.n_groups > 1 && factor != 0.97f && factor != 1.03f) continue; // scales follow
        State next = start;
        next.d = rounded_f16(start.d * factor);
        const double error = search.descend(&next);
        if (error < least) least = error, best = next;
    }
    search.put_together(block, best);
}

// ---- codebook types: the f16 scale alone, for what a decoder makes of the rest ----

int scale_place(uint32_t type) {
    switch (type) {
    case 16: case 17: case 18: case 19: case 21: case 22: return 0; // IQ2_*, IQ3_*, IQ1_S
    case 34: return 52;                                             // TQ1_0
    default: return -1;
    }
}
uint16_t read_scale(const uint8_t *block, uint32_t type) {
    if (type != 29) return load_u16le(block + scale_place(type));
    unsigned bits = 0; // IQ1_M: four bits on top of each word of scales
    for (int i = 0; i < 4; i++) bits |= static_cast<unsigned>(load_u16le(block + 48 + 2 * i) >> 12) << (4 * i);
    return static_cast<uint16_t>(bits);
}
void write_scale(uint8_t *block, uint32_t type, uint16_t bits) {
    if (type != 29) return store_u16le(block + scale_place(type), bits);
    for (int i = 0; i < 4; i++) {
        const unsigned codes = load_u16le(block + 48 + 2 * i) & 0x0fffu;
        store_u16le(block + 48 + 2 * i, static_cast<uint16_t>(codes | (bits >> (4 * i) & 15u) << 12));
    }
}

void improve_scale(uint8_t *block, uint32_t type, const float *x, const float *w, int n,
                   DecodeFn decode) {
    if (scale_place(type) < 0 && type != 29) return;
    const uint16_t stored = read_scale(block, type);
    const float d = f16_to_f32(stored);
    if (!(magnitude(d) > 0.0f && magnitude(d) <= 65504.0f)) return;
    float y[kMaxValues];
    double yy = 0, xy = 0;
    decode(y, block, 1);
    for (int i = 0; i < n; i++) {
        const double weight = w ? static_cast<double>(w[i]) : 1.0;
        yy += weight * static_cast<double>(y[i]) * static_cast<double>(y[i]);
        xy += weight * static_cast<double>(x[i]) * static_cast<double>(y[i]);
    }
    if (!(yy > 0)) return;
    write_scale(block, type, f32_to_f16(static_cast<float>(static_cast<double>(d) * xy / yy)));
}

} // namespace

void improve_block(uint8_t *block, const fmt::TypeInfo &type, const float *x, const float *w,
                   DecodeFn decode) {
    const auto n = static_cast<int>(type.block_values);
    if (n == 1) return; // floats
    const BlockLayout *layout = block_layout(type.id);
    uint8_t tried[kMaxBytes];
    float y[kMaxValues];
    memcpy(tried, block, type.block_bytes);
    decode(y, block, 1);
    const double before = error_of(y, x, w, n);
    if (layout) {
        improve_codes(tried, *layout, x, w);
    } else {
        improve_scale(tried, type.id, x, w, n, decode);
    }
    decode(y, tried, 1);
    if (error_of(y, x, w, n) < before) memcpy(block, tried, type.block_bytes);
}

} // namespace ggufx::quant
