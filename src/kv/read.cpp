// One head of one token in a page: stores and reads floats, decodes encoded vectors. Reading back
// at current positions. Scores of all tokens that a layer holds, for eviction policies and
// inspection: they use decoded keys, not the integer arithmetic of attention.
// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"
#include "base/fpenv.hpp"
#include "base/half.hpp"
#include "kv/state.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

using namespace kernels;

size_t element_at(Side side, uint32_t n, uint32_t slot, uint32_t i) {
    return side == Side::k ? k_float_at(n, slot, i) : v_float_at(n, slot, i);
}

// k * eq + mu, v + mu.
void undo_calibration(const HeadCalibration &c, Side side, float *x, uint32_t n) {
    for (uint32_t i = 0; side == Side::k && c.mu_k && i < n; i++)
        x[i] = x[i] * c.eq_k[i] + c.mu_k[i];
    for (uint32_t i = 0; side == Side::v && c.mu_v && i < n; i++) x[i] += c.mu_v[i];
}

} // namespace

float source_value(const void *data, SourceType type, size_t at) {
    if (type == SourceType::f32) return static_cast<const float *>(data)[at];
    const uint16_t half = static_cast<const uint16_t *>(data)[at];
    return type == SourceType::f16 ? f16_to_f32(half) : bf16_to_f32(half);
}

namespace {

typedef uint32_t FourWords __attribute__((vector_size(16)));
typedef float FourFloats __attribute__((vector_size(16)));

// Converts four f32 that f16 can hold, as f32_to_f16. Adding 0.5 leaves f16's subnormals in the low
// bits, rounded; larger ones round by carrying.
FourWords four_halves(const float *x) {
    FourWords bits;
    memcpy(&bits, x, sizeof bits);
    const FourWords magnitude = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
    FourFloats value;
    memcpy(&value, &magnitude, sizeof value);
    value += 0.5f;
    FourWords small;
    memcpy(&small, &value, sizeof small);
    small -= 0x3f000000u;
    const FourWords normal = ((magnitude + 0xfffu + (magnitude >> 13 & 1u)) >> 13) - (112u << 10);
    const FourWords is_small = static_cast<FourWords>(magnitude < 0x38800000u); // 2^-14
    return sign | (small & is_small) | (normal & ~is_small);
}

void put_halves(uint8_t *to, size_t step, const float *x, uint32_t n) {
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const FourWords halves = four_halves(x + i);
        for (uint32_t j = 0; j < 4; j++)
            store_u16le(to + (i + j) * step, static_cast<uint16_t>(halves[j]));
    }
    for (; i < n; i++) store_u16le(to + i * step, f32_to_f16(x[i]));
}

} // namespace

void store_source(uint8_t *page, KvKind kind, Side side, uint32_t n, uint32_t slot,
                  const void *data, SourceType type, size_t at) {
    if (kind == KvKind::f16 && type == SourceType::f32) { // in runs of constant stride
        const uint32_t run = side == Side::k ? n : 64;
        for (uint32_t i = 0; i < n; i += run)
            put_halves(page + 2 * element_at(side, n, slot, i), side == Side::k ? 2 * kKvGroup : 2,
                       static_cast<const float *>(data) + at + i, n - i < run ? n - i : run);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const size_t to = element_at(side, n, slot, i);
        const float x = source_value(data, type, at + i);
        if (kind == KvKind::f32)
            store_f32le(page + 4 * to, x);
        else
            store_u16le(page + 2 * to, kind == KvKind::f16 ? f32_to_f16(x) : f32_to_bf16(x));
    }
}

void copy_floats(uint8_t *to, const uint8_t *from, KvKind kind, Side side, uint32_t n,
                 uint32_t slot) {
    const size_t bytes = kv_format(kind).float_bytes;
    for (uint32_t i = 0; i < n; i++) {
        const size_t at = element_at(side, n, slot, i) * bytes;
        for (size_t b = 0; b < bytes; b++) to[at + b] = from[at + b];
    }
}

namespace {

void read_floats(float *out, const uint8_t *page, KvKind kind, Side side, uint32_t head_dim,
                 uint32_t slot, uint32_t first, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const size_t at = element_at(side, head_dim, slot, first + i);
        if (kind == KvKind::f32)
            out[i] = load_f32le(page + 4 * at);
        else
            out[i] = kind == KvKind::f16 ? f16_to_f32(load_u16le(page + 2 * at))
                                         : bf16_to_f32(load_u16le(page + 2 * at));
    }
}

// Codes, scales and minimums of one slot.
struct Held {
    uint8_t code[kMaxCodes];
    uint16_t scale[kMaxCodes / 32], min[kMaxCodes / 32];

    void read(const uint8_t *page, const KvFormat &format, Side side, uint32_t padded,
              uint32_t slot) {
        const KvStream stream = kernel_stream(side);
        kv_read_codes(code, page, stream, format, padded, slot);
        const uint32_t n_scales = format.vector_scale ? 1 : padded / 32;
        for (uint32_t i = 0; i < n_scales; i++) {
            scale[i] = load_u16le(page + kv_scale_at(stream, format, padded, slot, i));
            if (format.mins) min[i] = load_u16le(page + kv_min_at(stream, format, padded, slot, i));
        }
    }
};

} // namespace

void read_part(const Cache::State &state, const StoredVector &from, uint32_t first, uint32_t n,
               float *out) {
    const BlockShape &shape = from.layer.shape[from.block.form];
    // values in keys are their first coordinates, which are never rotated
    const Side side = state.config.v_in_k ? Side::k : from.side;
    const bool k = side == Side::k;
    const TypeOps &type = k ? *shape.k : *shape.v;
    const uint32_t all = state.head_dim(side);
    const uint8_t *page = page_of(from.block, shape, side, from.head);
    if (type.is_float()) {
        read_floats(out, page, type.kind, side, all, from.slot, first, n);
        return;
    }
    Held held;
    float x[kMaxCodes];
    held.read(page, type.format(), side, padded_values(type, all), from.slot);
    decode_vector(type, x, {held.code, held.scale, held.min}, all, side);
    HeadCalibration c = from.calibration;
    float mean[kMaxCodes];
    if (k && c.mu_k && from.layer.before_rope) {
        rotated_mean(state, from.layer, from.block, c.mu_k, mean);
        c.mu_k = mean;
    }
    undo_calibration(c, side, x, all);
    for (uint32_t i = 0; i < n; i++) out[i] = x[first + i];
}

namespace {

Status check_range(const Track &track, uint64_t first, uint64_t n, Failure *failure) {
    const uint64_t length = track.n_tokens;
    if (first > length || n > length - first)
        return set_failure(failure, Status::argument, {.index = first},
                           "tokens %llu + %llu end after the last of %llu tokens", ull(first),
                           ull(n), ull(length));
    if (n == 0 || first >= track.n_dropped) return Status::ok;
    return set_failure(
        failure, Status::argument, {.index = first},
        "the window of the layer has dropped token %llu and keeps tokens from %llu on", ull(first),
        ull(track.n_dropped));
}

// Iterator over the page and slot of consecutive tokens.
struct Walk {
    const Track &track;
    size_t page = 0;
    uint64_t skip;

    Walk(const Track &t, uint64_t first) : track(t), skip(first - t.n_dropped) { settle(); }
    void settle() {
        while (page < track.n_pages && skip >= track.pages[page].n) skip -= track.pages[page++].n;
    }
    const PageRef &ref() const { return track.pages[page]; }
    uint32_t slot() const { return ref().first + static_cast<uint32_t>(skip); }
    void next() {
        skip++;
        settle();
    }
};

} // namespace

Status Cache::read(float *k, float *v, uint32_t layer_index, uint32_t sequence, uint64_t first,
                   uint64_t n_tokens, Failure *failure) const {
    const State &s = *state_;
    const Config &c = s.config;
    Status status = check_layer(c, layer_index, failure);
    if (status == Status::ok) status = check_sequence(c, sequence, failure);
    if (status != Status::ok) return status;
    const Layer &layer = s.layers[layer_index];
    const Track &track = s.track(layer_index, sequence);
    status = check_range(track, first, n_tokens, failure);
    if (status != Status::ok || n_tokens == 0) return status;
    const CanonicalFp fp;
    float *const calibration = calibration_of(layer, track);
    Walk walk(track, first);
    for (uint64_t t = 0; t < n_tokens; t++, walk.next()) {
        const PageRef &page = walk.ref();
        for (uint32_t h = 0; h < c.n_kv_heads; h++) {
            const HeadCalibration centring = calibration_head(c, layer, calibration, h);
            const auto get = [&](Side side, uint32_t n, float *out) {
                read_part(s, {layer, centring, *page.block, walk.slot(), h, side}, 0, n, out);
            };
            if (k) {
                get(Side::k, c.head_dim_k, k);
                rotate_position(s, k, page.delta);
                k += c.head_dim_k;
            }
            if (v) {
                get(Side::v, c.head_dim_v, v);
                v += c.head_dim_v;
            }
        }
    }
    return Status::ok;
}

Status Cache::positions(int32_t *out, uint32_t sequence, uint64_t first, uint64_t n,
                        Failure *failure) const {
    const State &s = *state_;
    Status status = check_sequence(s.config, sequence, failure);
    if (status != Status::ok) return status;
    const Track &track = s.track(0, sequence);
    status = check_range(track, first, n, failure);
    if (status != Status::ok || n == 0) return status;
    Walk walk(track, first);
    for (uint64_t i = 0; i < n; i++, walk.next())
        out[i] = walk.ref().block->positions[walk.slot()] + walk.ref().delta;
    return Status::ok;
}

namespace {

constexpr uint32_t kTile = 128;

// Dot product in two chains, over even and odd coordinates; q is rotated for the page's shift.
float score(const Cache::State &s, const Layer &layer, const HeadCalibration &calibration,
            const PageRef &page, uint32_t i, uint32_t head, const float *q, float scale) {
    float even = 0.0f, odd = 0.0f, key[kTile];
    for (uint32_t first = 0; first < s.config.head_dim_k; first += kTile) {
        const uint32_t left = s.config.head_dim_k - first, n = left < kTile ? left : kTile;
        read_part(s, {layer, calibration, *page.block, page.first + i, head, Side::k}, first, n,
                  key);
        for (uint32_t c = 0; c < n; c++) {
            float &chain = c % 2 ? odd : even;
            chain = __builtin_fmaf(q[first + c], key[c], chain);
        }
    }
    return (even + odd) * scale;
}

void score_head(const Cache::State &s, const Layer &layer, const Track &track, uint32_t head,
                const float *q, float scale, float *out) {
    float turned[kMaxCodes];
    const HeadCalibration calibration =
        calibration_head(s.config, layer, calibration_of(layer, track), head);
    for (uint64_t i = 0; i < track.n_dropped; i++) *out++ = -__builtin_inff();
    for (size_t p = 0; p < track.n_pages; p++) {
        const PageRef &page = track.pages[p];
        const float *query = q;
        if (page.delta && s.config.head_dim_k <= kMaxCodes) { // create() checks that for RoPE
            for (uint32_t c = 0; c < s.config.head_dim_k; c++) turned[c] = q[c];
            rotate_position(s, turned, -page.delta);
            query = turned;
        }
        for (uint32_t i = 0; i < page.n; i++)
            *out++ = score(s, layer, calibration, page, i, head, query, scale);
    }
}

} // namespace

Status Cache::scores(float *out, size_t n_out, uint32_t layer, uint32_t sequence, const float *q,
                     size_t n_queries, float scale, Failure *failure) const {
    const State &s = *state_;
    const Config &c = s.config;
    Status status = check_layer(c, layer, failure);
    if (status == Status::ok) status = check_sequence(c, sequence, failure);
    if (status != Status::ok) return status;
    const Track &track = s.track(layer, sequence);
    const uint64_t heads = uint64_t(n_queries) * c.n_q_heads;
    uint64_t want = 0;
    if (__builtin_mul_overflow(heads, track.n_tokens, &want) || want != n_out)
        return set_failure(
            failure, Status::argument, {},
            "out has %zu floats; %llu heads of queries over %llu tokens need another "
            "number",
            n_out, static_cast<unsigned long long>(heads),
            static_cast<unsigned long long>(track.n_tokens));
    if ((f32_bits(scale) & 0x7fffffffu) >= 0x7f800000u)
        return set_failure(failure, Status::argument, {}, "the scale is NaN or infinite");
    const CanonicalFp fp;
    if (scale == 0.0f)
        scale = static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(c.head_dim_k)));
    for (uint64_t i = 0; want && i < heads; i++) {
        const uint32_t q_head = static_cast<uint32_t>(i % c.n_q_heads);
        score_head(s, s.layers[layer], track, q_head / (c.n_q_heads / c.n_kv_heads),
                   q + i * c.head_dim_k, scale, out + i * track.n_tokens);
    }
    return Status::ok;
}

} // namespace ggufx::kv
