// Values that lie in keys: a page of keys as an F32 page of values, in the basis that sums are in,
// for the kernels that sum values of floats. One page is decoded for all groups beside each other,
// sixteen tokens at a time, as their codes lie side by side.
// SPDX-License-Identifier: MIT
#include "kv/attend.hpp"

#include "base/bytes.hpp"
#include "base/half.hpp"

namespace ggufx::kv {

namespace {

using namespace kernels;

// Pages are little-endian everywhere.
void put(float *to, float x) {
    store_f32le(reinterpret_cast<uint8_t *>(to), x);
}

// The integer of every code after every state of the chain.
struct CodeValues {
    int32_t value[4][256];

    explicit CodeValues(const KvFormat &f) {
        for (uint32_t before = 0; before < (f.trellis ? 4u : 1u); before++)
            for (uint32_t code = 0; code < 1u << f.bits; code++)
                value[before][code] = kv_code_value(f, code, before);
    }
};

// 64 codes of a register: byte 4 t + b is coordinate 4 reg + b of token t of the group.
void read_register(uint8_t *codes, const uint8_t *page, const KvFormat &f, const KvLayout &l,
                   uint32_t reg) {
    const uint32_t bits = f.low_bits(), mask = (1u << bits) - 1;
    const KvField low = kv_field(bits, reg, 0), high = kv_field(1, reg, 0);
    for (uint32_t i = 0; i < 64; i++)
        codes[i] = static_cast<uint8_t>(uint32_t{page[low.byte + i]} >> low.shift & mask);
    if (!f.high_bits()) return;
    for (uint32_t i = 0; i < 64; i++) {
        const uint32_t bit = uint32_t{page[l.high + high.byte + i]} >> high.shift & 1u;
        codes[i] = static_cast<uint8_t>(codes[i] | bit << bits);
    }
}

// fl(c * fl(scale * unit)), then the minimum: as README.md decodes, without the way back.
void decode_group(const CodeValues &table, const KvFormat &f, const uint8_t *page, uint32_t n,
                  uint32_t group, float *values) {
    const KvLayout l = kv_layout_codes(f, n);
    const uint32_t n_regs = n / 4, base = group * l.strips * 8, token = group * kKvGroup;
    uint8_t codes[2][64] = {};
    if (f.trellis) { // a coordinate below 4 follows the last register's byte before it
        read_register(codes[0], page, f, l, base + n_regs - 1);
        for (uint32_t i = 64; i-- > 0;) codes[1][i] = i % 4 ? codes[0][i - 1] : uint8_t{0};
    }
    float d[kKvGroup], m[kKvGroup] = {};
    for (uint32_t reg = 0; reg < n_regs; reg++) {
        uint8_t *now = codes[reg % 2];
        const uint8_t *before = codes[1 - reg % 2];
        for (uint32_t t = 0; t < kKvGroup && (reg == 0 || (!f.vector_scale && reg % 8 == 0)); t++) {
            const uint32_t strip = reg / 8;
            const uint8_t *scale = page + kv_scale_at(KvStream::k, f, n, token + t, strip);
            d[t] = f16_to_f32(load_u16le(scale)) * f.unit;
            if (f.mins) m[t] = f16_to_f32(load_u16le(scale + (l.mins - l.scales)));
        }
        read_register(now, page, f, l, base + reg);
        float *to = values + v_float_at(n, token, 4 * reg);
        const uint32_t width = v_float_width(n, reg / 16);
        for (uint32_t i = 0; i < 64; i++) {
            const int32_t c = table.value[f.trellis ? before[i] % 4 : 0][now[i]];
            const float product = static_cast<float>(c) * d[i / 4];
            put(to + i / 4 * width + i % 4, f.mins ? product + m[i / 4] : product);
        }
    }
}

// Float keys: [coordinate][16 tokens] to rows.
void turn_group(const AttendCall &call, KvKind kind, const uint8_t *page, uint32_t n,
                uint32_t group, float *columns, float *values) {
    const size_t first = k_float_at(n, group * kKvGroup, 0), count = size_t(n) * kKvGroup;
    if (kind == KvKind::f16)
        call.kernels->encoders->load_columns(columns, page + 2 * first, {0, 16}, n);
    for (size_t i = 0; kind == KvKind::bf16 && i < count; i++)
        columns[i] = bf16_to_f32(load_u16le(page + 2 * (first + i)));
    for (size_t i = 0; kind == KvKind::f32 && i < count; i++)
        columns[i] = load_f32le(page + 4 * (first + i));
    for (uint32_t t = 0; t < kKvGroup; t++)
        for (uint32_t c = 0; c < n; c += 64) {
            float *to = values + v_float_at(n, group * kKvGroup + t, c);
            for (uint32_t j = 0; j < 64 && j < n - c; j++)
                put(to + j, columns[(c + j) * kKvGroup + t]);
        }
}

} // namespace

uint32_t value_coordinates(const AttendCall &call, const TypeOps &k_type) {
    const uint32_t n = call.state->config.head_dim_k;
    return k_type.is_float() ? n : padded_values(k_type, n);
}

const uint8_t *values_of_keys(const AttendCall &call, const PageRef &page, uint32_t head,
                              AttendLocal &local) {
    const BlockShape &shape = call.layer->shape[page.block->form];
    const uint8_t *keys = page.block->data() + head * shape.k_head;
    auto *values = reinterpret_cast<uint8_t *>(local.values);
    if (local.decoded == keys && local.decoded_from == page.first) return values;
    const uint32_t n = value_coordinates(call, *shape.k);
    const uint32_t group = page.first / kKvGroup, end = page.first + page.n;
    if (shape.k->is_float()) {
        for (uint32_t g = group; g * kKvGroup < end; g++)
            turn_group(call, shape.k->kind, keys, n, g, local.columns, local.values);
    } else {
        const KvFormat &format = shape.k->format();
        const CodeValues table(format);
        for (uint32_t g = group; g * kKvGroup < end; g++)
            decode_group(table, format, keys, n, g, local.values);
    }
    local.decoded = keys;
    local.decoded_from = page.first;
    return values;
}

} // namespace ggufx::kv
