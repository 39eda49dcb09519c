// The numbers of a block of codes and scales: unpacked, packed and as values.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/round.hpp"
#include "quant/best.hpp"

namespace ggufx::quant {

using namespace rounding;

constexpr int kBlockValues = 256; // most values of a block

inline float rounded_f16(float v) {
    return f16_to_f32(f32_to_f16(v));
}

// Unpacked block. Codes count from the lowest level.
struct CodeState {
    float d = 1.0f, dmin = 0.0f; // value = d * scale * level - dmin * min
    int scale[16] = {}, min[16] = {};
    uint8_t code[kBlockValues] = {};
};

class CodeNumbers {
public:
    explicit CodeNumbers(const BlockLayout &layout)
        : l_(layout), group_(layout.n_values / layout.n_groups) {}

    void take_apart(CodeState *s, const uint8_t *block) const {
        if (l_.d >= 0) s->d = f16_to_f32(load_u16le(block + l_.d));
        if (l_.dmin >= 0) s->dmin = f16_to_f32(load_u16le(block + l_.dmin));
        if (l_.n_mins == 1) s->dmin = -s->dmin; // Q4_1 and Q5_1 add the minimum
        for (int k = 0; k < l_.n_groups; k++) {
            s->scale[k] =
                l_.scale_at ? fmt::read_field(block, l_.scale_at(unsigned(k))) ^ l_.flip_scale : 0;
            s->min[k] = l_.min_at ? fmt::read_field(block, l_.min_at(unsigned(k))) : l_.n_mins;
        }
        for (int i = 0; i < l_.n_values; i++) {
            const int stored = fmt::read_field(block, l_.code_at(unsigned(i))) ^ l_.flip_code;
            s->code[i] = low8(l_.level_codes ? rank_of(stored) : stored);
        }
    }
    void put_together(uint8_t *block, const CodeState &s) const {
        if (l_.d >= 0) store_f16(block + l_.d, s.d);
        if (l_.dmin >= 0) store_f16(block + l_.dmin, l_.n_mins == 1 ? -s.dmin : s.dmin);
        for (int k = 0; k < l_.n_groups; k++) {
            if (l_.scale_at)
                fmt::write_field(block, l_.scale_at(unsigned(k)), s.scale[k] ^ l_.flip_scale);
            if (l_.min_at) fmt::write_field(block, l_.min_at(unsigned(k)), s.min[k]);
        }
        for (int i = 0; i < l_.n_values; i++) {
            const int code = l_.level_codes ? l_.level_codes[s.code[i]] : s.code[i];
            fmt::write_field(block, l_.code_at(unsigned(i)), code ^ l_.flip_code);
        }
    }

protected:
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
               : l_.n_scales  ? to_f32(l_.first_scale + code)
                              : 1.0f;
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

    const BlockLayout &l_;
    const int group_; // values with one sub-scale
};

} // namespace ggufx::quant
