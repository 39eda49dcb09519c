// Attention on KV cache pages, one value at a time: reference definition of
// docs/reproducibility/attention.md, "Attention bits". The functions of kv_page.hpp read the codes.
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/scalar/canonical.hpp"

#include "kernels/kv.hpp"
#include "kernels/kv_encode.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

// ---- query rows for integer keys: a scale per 32 coordinates, or per head if the keys have one --

constexpr uint32_t kInfinite = 0x7f800000u, kTinyQuery = 0x0d800000u; // bits of infinity, 2^-100

// Stores one code: four adjacent coordinates of a row, then the other rows.
inline void put_code(const KvQueryRow &to, uint32_t c, int32_t code) {
    const bool wide = kv_format(to.kind).wide_query;
    int8_t *four = to.codes + (size_t(c / 4) * (wide ? 2 : 1) * to.width + to.row) * 4 + c % 4;
    const int32_t high = wide ? (code + 64) >> 7 : code;
    four[0] = static_cast<int8_t>(high);
    if (wide) four[size_t(to.width) * 4] = static_cast<int8_t>(code - 128 * high);
}

// Quantizes coordinates first .. end - 1, which share scale `index`.
inline bool pack_block(const KvQueryRow &to, const float *x, uint32_t first, uint32_t end,
                       uint32_t index) {
    uint32_t largest = 0;
    for (uint32_t c = first; c < end; c++) {
        const uint32_t magnitude = f32_bits(x[c]) & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    const KvFormat &f = kv_format(to.kind);
    const bool finite = largest < kInfinite, zero = largest < kTinyQuery || !finite;
    const float amax = zero ? 1.0f : f32_from_bits(largest),
                most = f.wide_query ? 16256.0f : 127.0f;
    const float inverse = most / amax, d = zero ? 0.0f : amax / most;
    int32_t sum = 0;
    for (uint32_t c = first; c < end; c++) {
        const int32_t code = zero ? 0 : nearest_even(x[c] * inverse);
        put_code(to, c, code);
        sum += code;
    }
    const size_t at = size_t(index) * to.width + to.row;
    to.d_q[at] = d * f.unit;
    to.s_q[at] = d * static_cast<float>(sum);
    to.q_sum[at] = sum;
    return finite;
}

inline bool kv_pack(const KvQueryRow &to, const float *x, uint32_t n) {
    for (uint32_t c = n; c % kKvStrip != 0; c++) put_code(to, c, 0);
    if (kv_format(to.kind).vector_scale) return pack_block(to, x, 0, n, 0);
    bool finite = true;
    for (uint32_t c = 0; c < n; c += kKvStrip)
        finite &= pack_block(to, x, c, c + kKvStrip, c / kKvStrip);
    return finite;
}

inline void kv_rotate(KvTransform transform, float *x, uint32_t n) {
    kv_rotate_text(transform, x, n, 1);
}
inline void kv_unrotate(KvTransform transform, float *x, uint32_t n) {
    kv_unrotate_text(transform, x, n, 1);
}

inline float kv_dot(const float *a, const float *b, uint32_t n) {
    float chain[2] = {0.0f, 0.0f};
    for (uint32_t c = 0; c < n; c++) chain[c % 2] = __builtin_fmaf(a[c], b[c], chain[c % 2]);
    return chain[0] + chain[1];
}

inline void kv_dots(float *out, const float *x, const float *y, uint32_t n, uint32_t rows) {
    for (uint32_t r = 0; r < rows; r++) {
        float lane[16] = {};
        for (uint32_t i = 0; i < n; i++)
            lane[i % 16] = __builtin_fmaf(x[size_t(r) * n + i], y[i], lane[i % 16]);
        out[r] = tree(lane);
    }
}

// ---- pages -------------------------------------------------------------------------------------

constexpr float kWeightCodes = 16256.0f;      // 15-bit weights: 127 * 128
constexpr uint32_t kTinyWeight = 0x0d800000u; // bits of 2^-100

// exp of step 4 for x <= 8.
float exp_d3(float x) {
    if (x < -87.0f) return 0.0f;
    const float n = (x * 1.44269504f + 0x1.8p23f) - 0x1.8p23f;
    float r = __builtin_fmaf(-n, 0.693359375f, x);
    r = __builtin_fmaf(-n, -2.12194440e-4f, r);
    float p = 1.9875691500e-4f;
    p = __builtin_fmaf(p, r, 1.3981999507e-3f);
    p = __builtin_fmaf(p, r, 8.3334519073e-3f);
    p = __builtin_fmaf(p, r, 4.1665795894e-2f);
    p = __builtin_fmaf(p, r, 1.6666665459e-1f);
    p = __builtin_fmaf(p, r, 5.0000001201e-1f);
    p = __builtin_fmaf(p, r * r, r + 1.0f);
    return f32_from_bits(f32_bits(p) + (static_cast<uint32_t>(static_cast<int32_t>(n)) << 23));
}

float load_float(KvKind kind, const uint8_t *page, uint32_t at) {
    if (kind == KvKind::f32) return load_f32le(page + 4 * size_t(at));
    const uint16_t bits = load_u16le(page + 2 * size_t(at));
    return kind == KvKind::f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
}

// One integer page of a stream.
struct Page {
    const KvFormat &f;
    KvStream stream;
    KvLayout l;
    const uint8_t *data;

    uint32_t code(uint32_t token, uint32_t c) const {
        const uint32_t low = f.low_bits();
        const bool k = stream == KvStream::k;
        const uint32_t code =
            kv_get(data, k ? k_field(l.strips, low, token, c) : v_field(low, token, c), low);
        if (!f.high_bits()) return code;
        const KvField at = k ? k_field(l.strips, 1, token, c) : v_field(1, token, c);
        return code | kv_get(data + l.high, at, 1) << low;
    }
    int32_t value(uint32_t token, uint32_t c) const {
        int32_t before = -1;
        if (f.trellis) before = stream == KvStream::k ? k_previous(l.d, c) : v_previous(l.d, c);
        return kv_code_value(f, code(token, c),
                             before < 0 ? 0 : code(token, static_cast<uint32_t>(before)));
    }
    float scale(uint32_t token, uint32_t strip) const {
        return f16_to_f32(load_u16le(data + kv_scale_at(stream, f, l.d, token, strip)));
    }
    float minimum(uint32_t token, uint32_t strip) const {
        return f16_to_f32(load_u16le(data + kv_min_at(stream, f, l.d, token, strip)));
    }
    // A strip is whole, even after the last coordinate: a transform may have mixed it with the
    // others.
    uint32_t strip_end(uint32_t strip) const {
        return f.vector_scale ? l.d : (strip + 1) * kKvStrip;
    }
    uint32_t scales() const { return f.vector_scale ? 1 : l.strips; }
};

// ---- keys -------------------------------------------------------------------------------------

template <uint32_t Rows> int32_t query_code(const KvQuery &q, bool wide, uint32_t row, uint32_t c) {
    const uint32_t planes = wide ? 2 : 1;
    const int8_t *four = q.q + (size_t(c / 4) * planes * Rows + row) * 4 + c % 4;
    return wide ? 128 * four[0] + four[Rows * 4] : four[0];
}

template <uint32_t Rows>
float integer_score(const Page &page, const KvQuery &q, uint32_t row, uint32_t token) {
    float s = 0.0f;
    for (uint32_t b = 0; b < page.scales(); b++) {
        int32_t sum = 0;
        for (uint32_t c = b * kKvStrip; c < page.strip_end(b); c++)
            sum += query_code<Rows>(q, page.f.wide_query, row, c) * page.value(token, c);
        const float d = page.scale(token, b) * q.d_q[b * Rows + row];
        s = __builtin_fmaf(static_cast<float>(sum), d, s);
        if (page.f.mins) s = __builtin_fmaf(page.minimum(token, b), q.s_q[b * Rows + row], s);
    }
    return s;
}

template <uint32_t Rows>
float float_score(KvKind kind, const uint8_t *page, const KvQuery &q, uint32_t row,
                  uint32_t token) {
    float chain[2] = {0.0f, 0.0f}; // even and odd coordinates
    for (uint32_t c = 0; c < q.d; c++) {
        const float k = load_float(kind, page, k_float_at(q.d, token, c));
        chain[c % 2] = __builtin_fmaf(q.x[c * Rows + row], k, chain[c % 2]);
    }
    return chain[0] + chain[1];
}

template <uint32_t Kind, uint32_t Rows>
void score(float *s, const KvQuery &q, const uint8_t *data, KvTokens tokens, const KvAhead &) {
    constexpr KvKind kind = static_cast<KvKind>(Kind);
    const KvFormat &f = kKvFormats[Kind];
    const Page page = {f, KvStream::k, k_layout(f, q.d), data};
    for (uint32_t t = tokens.first; t < tokens.end; t++)
        for (uint32_t row = 0; row < Rows; row++) {
            float &to = s[row * kKvTokens + t];
            to = (f.bits ? integer_score<Rows>(page, q, row, t)
                         : float_score<Rows>(kind, data, q, row, t)) *
                 q.scale;
            if (f.bits && q.bias) to += q.bias[row];
        }
}

// ---- values -----------------------------------------------------------------------------------

// 15-bit weights of a page in one block, and the factor that scales their sums back (D1).
struct Weights {
    int32_t w[kKvTokens];
    float k;
};

Weights page_weights(const Page &page, const float *p, uint32_t strip) {
    Weights r;
    float w[kKvTokens];
    uint32_t largest = 0;
    for (uint32_t t = 0; t < kKvTokens; t++) {
        w[t] = p[t] * page.scale(t, strip);
        const uint32_t magnitude = f32_bits(w[t]) & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    const bool none = largest < kTinyWeight;
    const float m = f32_from_bits(largest);
    const float inverse = none ? 0.0f : kWeightCodes / m;
    for (uint32_t t = 0; t < kKvTokens; t++) r.w[t] = nearest_even(w[t] * inverse);
    r.k = none ? 0.0f : m / kWeightCodes * page.f.unit;
    return r;
}

// Returns the sum over tokens of weights times minimums of a block.
float sum_of_minimums(const Page &page, const float *p, uint32_t strip) {
    float lane[kLanes] = {};
    for (uint32_t t = 0; t < kKvTokens; t++)
        lane[t % kLanes] = __builtin_fmaf(p[t], page.minimum(t, strip), lane[t % kLanes]);
    return tree(lane);
}

void accumulate_integers(float *o, const Page &page, const float *p) {
    for (uint32_t b = 0; b < page.scales(); b++) {
        const Weights weights = page_weights(page, p, b);
        const float minimum = page.f.mins ? sum_of_minimums(page, p, b) : 0.0f;
        for (uint32_t c = b * kKvStrip; c < page.strip_end(b); c++) {
            int32_t sum = 0;
            for (uint32_t t = 0; t < kKvTokens; t++) sum += weights.w[t] * page.value(t, c);
            o[c] = __builtin_fmaf(static_cast<float>(sum), weights.k, o[c]);
            if (page.f.mins) o[c] = o[c] + minimum;
        }
    }
}

template <uint32_t Kind, uint32_t Rows>
void accumulate(float *o, uint32_t d, const float *p, const uint8_t *data, KvTokens tokens,
                const KvAhead &) {
    constexpr KvKind kind = static_cast<KvKind>(Kind);
    const KvFormat &f = kKvFormats[Kind];
    const Page page = {f, KvStream::v, v_layout(f, d), data};
    for (uint32_t row = 0; row < Rows; row++, p += kKvTokens, o += kv_sum_floats(d)) {
        if (f.bits) {
            accumulate_integers(o, page, p);
            continue;
        }
        for (uint32_t c = 0; c < d; c++)
            for (uint32_t t = tokens.first; t < tokens.end; t++)
                o[c] = __builtin_fmaf(p[t], load_float(kind, data, v_float_at(d, t, c)), o[c]);
    }
}

// ---- rows -------------------------------------------------------------------------------------

float weigh(float *s, KvTokens tokens, float *m, float *l) {
    uint32_t worst = 0;
    float largest = -__builtin_inff(), factor = 1.0f;
    for (uint32_t t = tokens.first; t < tokens.end; t++) {
        const uint32_t magnitude = f32_bits(s[t]) & 0x7fffffffu;
        worst = magnitude > worst ? magnitude : worst;
        largest = s[t] > largest ? s[t] : largest;
    }
    if (worst >= 0x7f800000u) return __builtin_nanf("");
    if (largest > *m + 8.0f) {
        factor = exp_d3(*m - largest);
        *l = *l * factor;
        *m = largest + 0.0f; // no -0
    }
    float lane[kLanes] = {};
    for (uint32_t t = 0; t < kKvTokens; t++) {
        const bool seen = t >= tokens.first && t < tokens.end;
        s[t] = seen ? exp_d3(s[t] - *m) : 0.0f;
        lane[t % kLanes] += s[t];
    }
    *l = *l + tree(lane);
    return factor;
}

void scale(float *o, float a, uint32_t n) {
    for (uint32_t j = 0; j < n; j++) o[j] = o[j] * a;
}

void merge(float *total, const float *chunk, float a, float b, uint32_t n) {
    for (uint32_t j = 0; j < n; j++) total[j] = __builtin_fmaf(chunk[j], b, total[j] * a);
}

template <uint32_t K>
constexpr KvKernels kKind = {{score<K, 1>, score<K, 2>, score<K, 4>},
                             {accumulate<K, 1>, accumulate<K, 2>, accumulate<K, 4>}};
constexpr auto kKinds =
    for_kv_kinds<KvKernels>([]<KvKind K>() { return kKind<static_cast<uint32_t>(K)>; });

} // namespace
} // namespace scalar

const KvPages scalar::kKvPages = {&kScalarKvEncoders,
                                  scalar::kKinds.of,
                                  scalar::weigh,
                                  scalar::scale,
                                  scalar::merge,
                                  scalar::kv_pack,
                                  scalar::kv_rotate,
                                  scalar::kv_unrotate,
                                  scalar::kv_dot,
                                  scalar::kv_dots,
                                  false};

} // namespace kernels
} // namespace ggufx
