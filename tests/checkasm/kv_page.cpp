// Layout of quantized KV pages. Every token reads back, tokens do not overlap, every bit of a page
// belongs to one token, and offsets follow docs/contributing/kv-cache.md.
// SPDX-License-Identifier: MIT
#include "kernels/kv_page.hpp"

#include "data.hpp"

#include <stdio.h>
#include <string.h>
#include <vector>

namespace {

using namespace ggufx;
using namespace ggufx::kernels;
using testdata::Random;

long n_checked, n_failed;

void check(bool ok, const char *what, uint32_t kind, uint32_t d) {
    n_checked++;
    if (!ok && n_failed++ < 20) printf("FAILED kind %u, %u coordinates: %s\n", kind, d, what);
}

constexpr KvStream kStreams[] = {KvStream::k, KvStream::v};
constexpr uint32_t kDims[] = {1, 16, 31, 32, 33, 48, 64, 80, 96, 128, 192, 256, 576};

struct Token {
    std::vector<uint8_t> codes;
    std::vector<uint16_t> scales, mins;
};

uint32_t n_scales(const KvFormat &f, const KvLayout &l) {
    return f.vector_scale ? 1 : l.strips;
}

void place(std::vector<uint8_t> &page, KvStream stream, const KvFormat &f, const KvLayout &l,
           uint32_t t, const Token &token) {
    kv_place_codes(page.data(), stream, f, l.d, t, token.codes.data());
    for (uint32_t s = 0; s < n_scales(f, l); s++) {
        store_u16le(page.data() + kv_scale_at(stream, f, l.d, t, s), token.scales[s]);
        if (f.mins) store_u16le(page.data() + kv_min_at(stream, f, l.d, t, s), token.mins[s]);
    }
}

bool holds(const std::vector<uint8_t> &page, KvStream stream, const KvFormat &f, const KvLayout &l,
           uint32_t t, const Token &token) {
    std::vector<uint8_t> codes(l.d);
    kv_read_codes(codes.data(), page.data(), stream, f, l.d, t);
    bool ok = codes == token.codes;
    for (uint32_t s = 0; s < n_scales(f, l); s++) {
        ok &= load_u16le(page.data() + kv_scale_at(stream, f, l.d, t, s)) == token.scales[s];
        if (f.mins)
            ok &= load_u16le(page.data() + kv_min_at(stream, f, l.d, t, s)) == token.mins[s];
    }
    return ok;
}

Token random_token(const KvFormat &f, const KvLayout &l, Random &random) {
    Token t;
    for (uint32_t c = 0; c < l.d; c++)
        t.codes.push_back(static_cast<uint8_t>(random.below(1u << f.bits)));
    for (uint32_t s = 0; s < l.strips; s++) {
        t.scales.push_back(static_cast<uint16_t>(random.next()));
        t.mins.push_back(static_cast<uint16_t>(random.next()));
    }
    return t;
}

// Tokens written in any order, some of them twice, all read back.
void check_round_trip(uint32_t kind, KvStream stream, uint32_t d, Random &random) {
    const KvFormat &f = kKvFormats[kind];
    const KvLayout l = stream == KvStream::k ? k_layout(f, d) : v_layout(f, d);
    std::vector<uint8_t> page(l.bytes);
    for (uint8_t &byte : page) byte = static_cast<uint8_t>(random.next());
    std::vector<Token> tokens(kKvTokens);
    for (uint32_t i = 0; i < 2 * kKvTokens; i++) {
        const uint32_t t = i < kKvTokens ? i * 37 % kKvTokens : random.below(kKvTokens);
        tokens[t] = random_token(f, l, random);
        place(page, stream, f, l, t, tokens[t]);
    }
    bool ok = true;
    for (uint32_t t = 0; t < kKvTokens; t++) ok &= holds(page, stream, f, l, t, tokens[t]);
    check(ok, "a token does not come back", kind, d);
}

// With whole strips every bit of the page belongs to one token: writing ones to all tokens fills
// the page. One token sets exactly its share of the bits.
void check_every_bit(uint32_t kind, KvStream stream, uint32_t d) {
    const KvFormat &f = kKvFormats[kind];
    const KvLayout l = kv_layout_codes(f, d);
    Token ones;
    ones.codes.assign(d, static_cast<uint8_t>((1u << f.bits) - 1));
    ones.scales.assign(l.strips, 0xffff);
    ones.mins.assign(l.strips, 0xffff);
    std::vector<uint8_t> page(l.bytes), alone(l.bytes);
    for (uint32_t t = 0; t < kKvTokens; t++) place(page, stream, f, l, t, ones);
    bool full = true;
    for (const uint8_t byte : page) full &= byte == 0xff;
    check(full, "a bit of the page belongs to no token", kind, d);
    place(alone, stream, f, l, 41, ones);
    uint32_t n = 0;
    for (const uint8_t byte : alone) n += static_cast<uint32_t>(__builtin_popcount(byte));
    check(n == l.bytes * 8 / kKvTokens, "a token does not have its share of the bits", kind, d);
}

void check_floats(uint32_t kind, uint32_t d) {
    const KvFormat &f = kKvFormats[kind];
    std::vector<uint8_t> k(k_layout(f, d).bytes / f.float_bytes);
    std::vector<uint8_t> v(v_layout(f, d).bytes / f.float_bytes);
    bool once = true;
    for (uint32_t t = 0; t < kKvTokens; t++) {
        for (uint32_t c = 0; c < d; c++) {
            once &= k.at(k_float_at(d, t, c))++ == 0;
            once &= v.at(v_float_at(d, t, c))++ == 0;
        }
    }
    check(once, "two floats share a place", kind, d);
}

// Each coordinate's predecessor is the one before it in the chain, and the chain has all
// coordinates.
void check_chain(uint32_t d) {
    std::vector<int> seen_k(d), seen_v(d);
    bool ok = true;
    for (uint32_t j = 0; j < d; j++) {
        const uint32_t k = k_chain(d, j), v = v_chain(d, j);
        ok &= seen_k.at(k)++ == 0 && seen_v.at(v)++ == 0;
        ok &= k_previous(d, k) == (j ? static_cast<int32_t>(k_chain(d, j - 1)) : -1);
        ok &= v_previous(d, v) == (j ? static_cast<int32_t>(v_chain(d, j - 1)) : -1);
    }
    check(ok, "the chain of a trellis", 0, d);
}

bool at(KvField field, uint32_t byte, uint32_t shift) {
    return field.byte == byte && field.shift == shift;
}

// Offsets and sizes calculated by hand from docs/contributing/kv-cache.md.
void check_places() {
    const KvFormat &q8 = kv_format(KvKind::q8_0), &q4 = kv_format(KvKind::q4_0);
    const KvFormat &gx3 = kv_format(KvKind::gx3), &q51 = kv_format(KvKind::q5_1);
    bool ok = kv_layout_codes(q8, 128).bytes == 8704 && kv_layout_codes(q4, 128).bytes == 4608;
    ok &= kv_layout_codes(gx3, 128).bytes == 50 * 64 && kv_layout_codes(gx3, 80).bytes == 38 * 64;
    ok &= kv_layout_codes(q51, 64).bytes == 48 * 64 && kv_layout_codes(q51, 64).mins == 44 * 64;
    ok &= kv_layout_codes(gx3, 128).high == 2048 && kv_layout_codes(gx3, 128).scales == 3072;
    // token 18, coordinate 37 of 128: group 1, code register 32 + 9, lane 2, byte 1
    ok &= at(k_field(4, 8, 18, 37), 41 * 64 + 9, 0) && at(k_field(4, 4, 18, 37), 20 * 64 + 9, 4);
    ok &= at(k_field(4, 2, 18, 37), 10 * 64 + 9, 2) && at(k_field(4, 1, 18, 37), 5 * 64 + 9, 1);
    // strip 1, quad 4, first half: code register 32 + 8, lane 5, byte 2
    ok &= at(v_field(8, 18, 37), 40 * 64 + 22, 0) && at(v_field(4, 18, 37), 20 * 64 + 22, 0);
    ok &= at(v_field(2, 26, 53), 11 * 64 + 22, 2) && at(v_field(1, 26, 53), 5 * 64 + 22, 5);
    ok &= k_scale_at(q4, 4, 18, 3) == (7 * 16 + 2) * 2 && k_scale_at(gx3, 4, 18, 0) == 36;
    ok &= v_scale_at(18, 3) == (3 * 64 + 18) * 2;
    ok &= k_float_at(128, 18, 37) == (128 + 37) * 16 + 2;
    ok &= v_float_at(128, 18, 70) == 4096 + 18 * 64 + 6 && v_float_at(80, 18, 70) == 4096 + 294;
    check(ok, "a place differs from the documentation", 0, 128);
}

// Code tables: the value of a code.
void check_values() {
    const auto value = [](KvKind kind, uint32_t code, uint32_t before) {
        return kv_code_value(kv_format(kind), code, before);
    };
    bool ok = value(KvKind::q8_0, 1, 0) == -127 && value(KvKind::q8_0, 255, 9) == 127;
    ok &= value(KvKind::q5_1, 31, 0) == 31 && value(KvKind::q5_0, 31, 0) == 15;
    ok &= value(KvKind::q4_0, 0, 0) == -8 && value(KvKind::iq4_nl, 8, 3) == 1;
    ok &= value(KvKind::tq3_0, 4, 0) == -10 && value(KvKind::tq3_0_residual, 4, 0) == -103;
    ok &= value(KvKind::gx4, 15, 6) == 127 && value(KvKind::gx2, 0, 1) == -125;
    ok &= value(KvKind::gx3, 1, 7) == 127 && value(KvKind::gx3, 5, 4) == -127;
    for (uint32_t kind = 0; kind < kKvKinds; kind++) {
        const KvFormat &f = kKvFormats[kind];
        for (uint32_t code = 0; code < 1u << f.bits && f.table[0]; code++)
            for (uint32_t before = 0; before < 4; before++) {
                const int32_t c = kv_code_value(f, code, before);
                ok &= c >= -127 && c <= 127;
            }
    }
    check(ok, "the value of a code", 0, 0);
    const uint8_t codes[16] = {3, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0};
    int32_t k[16], v[16];
    kv_values(k, codes, KvStream::k, kv_format(KvKind::gx2), 16);
    kv_values(v, codes, KvStream::v, kv_format(KvKind::gx2), 16);
    // K: 0, 4, 8, 12, 1, 5, ...: coordinate 1 follows 12; V of 16: in coordinate order
    ok = k[0] == 90 - 18 && k[4] == 26 + 17 && k[1] == -88 + 37 && k[5] == -25 - 18;
    ok &= v[0] == 90 - 18 && v[1] == -88 + 17 && v[5] == -25 - 37;
    check(ok, "the values of a chain", 0, 16);
}

} // namespace

int main() {
    Random random(3);
    for (uint32_t kind = 0; kind < kKvKinds; kind++) {
        for (const uint32_t d : kDims) {
            if (!kKvFormats[kind].bits) {
                check_floats(kind, d);
                continue;
            }
            for (const KvStream stream : kStreams) {
                check_round_trip(kind, stream, d, random);
                if (d % kKvStrip == 0) check_every_bit(kind, stream, d);
            }
        }
    }
    for (uint32_t d = 16; d <= 576; d += 16) check_chain(d);
    check_places();
    check_values();
    printf("%ld checks, %ld failed\n", n_checked, n_failed);
    return n_failed != 0;
}
