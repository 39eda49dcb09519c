// f16, bf16, E8M0 and UE4M3 against their definition in exact arithmetic and against conversions in
// integer arithmetic. Also against vectors of the real ggml if GGUFX_TEST_DATA exists.
// SPDX-License-Identifier: MIT
#include "golden.hpp"

#include <math.h>
#include <stdlib.h>

namespace golden {

using namespace ggufx;

namespace {

// The value of a f16 that is not NaN, by the textbook formula in double.
double f16_value(uint32_t h) {
    const int exponent = static_cast<int>((h >> 10) & 31), mantissa = static_cast<int>(h & 1023);
    double v = exponent == 31  ? HUGE_VAL
               : exponent == 0 ? ldexp(mantissa, -24)
                               : ldexp(1024 + mantissa, exponent - 25);
    return h & 0x8000 ? -v : v;
}

// Returns the nearest f16, found by search over all of them: |x| is between two neighbours low, low
// + 1.
uint16_t nearest_f16(float x) {
    const double a = fabs(static_cast<double>(x));
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    if (x != x) return sign | 0x7e00;
    uint32_t low = 0, high = 0x7c00; // invariant: value(low) <= a < value(high), or a = Inf
    if (a == HUGE_VAL) return sign | 0x7c00;
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        (f16_value(middle) <= a ? low : high) = middle;
    }
    const double up = high == 0x7c00 ? 65536.0 : f16_value(high); // Inf takes the place of 65536
    const double below = a - f16_value(low), above = up - a;
    const bool take_high = above < below || (above == below && (low & 1));
    return static_cast<uint16_t>(sign | (take_high ? high : low));
}

void check_f16_decode(Report &r) {
    for (uint32_t h = 0; h < 0x10000; h++) {
        const float f = f16_to_f32(static_cast<uint16_t>(h));
        if ((h & 0x7fff) > 0x7c00) {
            r.check(f != f && f32_to_f16(f) == ((h & 0x8000) | 0x7e00), "f16 %04x: NaN", h);
            continue;
        }
        r.check(static_cast<double>(f) == f16_value(h) && signbit(f) == (h >> 15 != 0),
                "f16 %04x decodes to %a", h, static_cast<double>(f));
        r.check(f32_to_f16(f) == h, "f16 %04x does not come back", h);
    }
}

void check_f16_encode(Report &r) {
    // Every exponent with mantissas around the rounding points, and their neighbours.
    for (uint32_t exponent = 0; exponent < 256; exponent++) {
        for (uint32_t top = 0; top < 2048; top += 37) {
            for (const uint32_t low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu}) {
                const uint32_t bits = exponent << 23 | (((top << 12) ^ low) & 0x7fffff);
                for (const uint32_t sign : {0u, 0x80000000u}) {
                    const float f = f32_from_bits(bits | sign);
                    r.check(f32_to_f16(f) == nearest_f16(f), "f32 %08x to f16",
                            static_cast<unsigned>(bits | sign));
                }
            }
        }
    }
}

// Returns the bits of a float rounded to nearest, ties to even, in integer arithmetic: `n_mantissa`
// bits of mantissa, exponents of normal numbers from `least` to `most`.
uint32_t rounded_bits(uint32_t bits, int n_mantissa, int least, int most) {
    const uint32_t sign = bits >> 31, infinity = (1u << (15 - n_mantissa)) - 1;
    const int exponent = static_cast<int>(bits >> 23 & 255);
    if (exponent == 255) return sign << 15 | infinity << n_mantissa;
    const uint64_t mantissa = (bits & 0x7fffff) | (exponent > 0 ? 0x800000 : 0);
    const int power = exponent > 0 ? exponent - 127 : -126; // power of the first mantissa bit
    int n_dropped = 23 - n_mantissa + (power < least ? least - power : 0);
    if (n_dropped > 40) n_dropped = 40;
    const uint64_t half = uint64_t{1} << (n_dropped - 1), rest = mantissa & (2 * half - 1);
    uint64_t kept = mantissa >> n_dropped;
    if (rest > half || (rest == half && kept % 2 == 1)) kept++;
    // The first bit of a normal number, and a carry out of the mantissa, add one to the exponent.
    const auto biased = static_cast<uint64_t>(power < least ? 0 : power - least);
    const uint64_t out = (biased << n_mantissa) + kept;
    const auto largest = static_cast<uint64_t>(most - least + 2) << n_mantissa;
    return sign << 15 | (out >= largest ? infinity << n_mantissa : static_cast<uint32_t>(out));
}

// All exponents and kept bits, with every kind of dropped bits; also NaN.
template <class Convert>
void check_by_integers(Report &r, const char *name, int n_mantissa, int least, int most,
                       Convert convert) {
    const int n_dropped = 23 - n_mantissa;
    const uint32_t half = 1u << (n_dropped - 1);
    for (uint32_t top = 0; top < 1u << (32 - n_dropped); top++) {
        for (const uint32_t low : {0u, 1u, half - 1, half, half + 1, 2 * half - 1}) {
            const uint32_t bits = top << n_dropped | low;
            if ((bits & 0x7fffffff) > 0x7f800000) continue;
            const uint32_t got = convert(f32_from_bits(bits));
            const uint32_t want = rounded_bits(bits, n_mantissa, least, most);
            r.check(got == want, "f32 %08x: %s %04x, not %04x", static_cast<unsigned>(bits), name,
                    static_cast<unsigned>(got), static_cast<unsigned>(want));
        }
    }
}

void check_bf16(Report &r) {
    for (uint32_t b = 0; b < 0x10000; b++) {
        const uint16_t in = static_cast<uint16_t>(b);
        const float f = bf16_to_f32(in);
        const bool nan = (b & 0x7fff) > 0x7f80;
        r.check(f32_bits(f) == b << 16, "bf16 %04x", b);
        r.check(f32_to_bf16(f) == (nan ? in | 0x40 : in), "bf16 %04x does not come back", b);
        if (nan || (b & 0x7fff) == 0x7f80) continue;
        // Halfway to the next value rounds to the even one, a bit more or less to the nearer.
        const uint16_t next = static_cast<uint16_t>(b + 1);
        const uint16_t even = b & 1 ? next : in;
        r.check(f32_to_bf16(f32_from_bits(b << 16 | 0x7fff)) == in, "bf16 %04x below", b);
        r.check(f32_to_bf16(f32_from_bits(b << 16 | 0x8000)) == even, "bf16 %04x tie", b);
    }
}

void check_bytes(Report &r) {
    for (int e = 0; e < 256; e++) {
        const uint8_t byte = static_cast<uint8_t>(e);
        r.check(static_cast<double>(e8m0_half_to_f32(byte)) == ldexp(1.0, e - 128), "E8M0 %d", e);
        const double want = e == 255 ? HUGE_VAL : ldexp(1.0, e - 127);
        r.check(static_cast<double>(e8m0_to_f32(byte)) == want, "whole E8M0 %d", e);
        const int exponent = (e >> 3) & 15, mantissa = e & 7;
        double v = exponent == 0 ? ldexp(mantissa, -9) : ldexp(8 + mantissa, exponent - 10);
        if (e == 0x7f) v = 0;
        r.check(static_cast<double>(ue4m3_half_to_f32(byte)) == v / 2, "UE4M3 %d", e);
        // From 256 on (exponent 15) the encoder has one value, the largest.
        if (e < 0x7f)
            r.check(f32_to_ue4m3(static_cast<float>(v)) == (e < 120 ? e : 0x7e),
                    "UE4M3 %d does not come back", e);
    }
    // A tie rounds up, also to odd codes; bits below the first dropped one never count.
    for (int e = 0; e < 119; e++) {
        const double v = e < 8 ? ldexp(e, -9) : ldexp(8 + (e & 7), (e >> 3) - 10);
        const double half_step = ldexp(0.5, e < 8 ? -9 : (e >> 3) - 10);
        const float tie = static_cast<float>(v + half_step);
        r.check(f32_to_ue4m3(tie) == (e == 7 ? 7 : e + 1), "UE4M3 %d tie", e);
        const float below = e < 8 ? tie * 0.999f : nextafterf(tie, 0.0f);
        r.check(f32_to_ue4m3(below) == e, "UE4M3 %d below the tie", e);
    }
    r.check(f32_to_ue4m3(1e9f) == 0x7e, "UE4M3 does not saturate");
    r.check(f32_to_ue4m3(-1.0f) == 0, "UE4M3 of a negative number");
}

// Compares one file of results with get(i) for each element i.
template <class Get>
void compare_file(Report &r, const std::string &folder, const char *file, size_t n_items,
                  size_t item_bytes, Get get) {
    Bytes data;
    if (!r.check(read_file(&data, folder + "/" + file) && data.size() == n_items * item_bytes,
                 "%s is missing or has the wrong size", file))
        return;
    for (size_t i = 0; i < n_items; i++) {
        uint32_t want = data[i * item_bytes];
        if (item_bytes == 2) want = load_u16le(&data[i * 2]);
        if (item_bytes == 4) want = load_u32le(&data[i * 4]);
        const uint32_t got = get(i);
        r.check(got == want, "%s item %zu: %08x, expected %08x", file, i,
                static_cast<unsigned>(got), static_cast<unsigned>(want));
    }
}

float float_at(const Bytes &bytes, size_t i) {
    return load_f32le(&bytes[4 * i]);
}

// Compares with vectors of the real ggml.
void check_stored(Report &r) {
    const std::string folder = shared_folder("golden");
    if (folder.empty()) return r.note("stored vectors: skipped, no GGUFX_TEST_DATA/formats/golden");
    Bytes in, ue;
    if (!r.check(read_file(&in, folder + "/conv_f32_input_bits.bin") &&
                     read_file(&ue, folder + "/conv_ue4m3_input_bits.bin") && in.size() > 4000 &&
                     ue.size() > 400,
                 "conversion inputs are missing"))
        return;
    const size_t n_in = in.size() / 4, n_ue = ue.size() / 4;
    const auto byte = [](size_t i) { return static_cast<uint8_t>(i); };
    compare_file(r, folder, "conv_f16_to_f32_bits.bin", 65536, 4,
                 [](size_t i) { return f32_bits(f16_to_f32(static_cast<uint16_t>(i))); });
    compare_file(r, folder, "conv_f32_to_f16.bin", n_in, 2,
                 [&](size_t i) { return f32_to_f16(float_at(in, i)); });
    compare_file(r, folder, "conv_f32_to_bf16.bin", n_in, 2,
                 [&](size_t i) { return f32_to_bf16(float_at(in, i)); });
    compare_file(r, folder, "conv_e8m0_to_f32_bits.bin", 256, 4,
                 [&](size_t i) { return f32_bits(e8m0_to_f32(byte(i))); });
    compare_file(r, folder, "conv_e8m0_half_to_f32_bits.bin", 256, 4,
                 [&](size_t i) { return f32_bits(e8m0_half_to_f32(byte(i))); });
    compare_file(r, folder, "conv_ue4m3_half_to_f32_bits.bin", 256, 4,
                 [&](size_t i) { return f32_bits(ue4m3_half_to_f32(byte(i))); });
    compare_file(r, folder, "conv_f32_to_ue4m3.bin", n_ue, 1,
                 [&](size_t i) { return f32_to_ue4m3(float_at(ue, i)); });
}

} // namespace

int test_conversions_match_their_definition(Report &r, const std::string &) {
    check_f16_decode(r);
    check_f16_encode(r);
    check_by_integers(r, "f16", 10, -14, 15, f32_to_f16);
    check_by_integers(r, "bf16", 7, -126, 127, f32_to_bf16);
    check_bf16(r);
    check_bytes(r);
    check_stored(r);
    return r.exit_code();
}

} // namespace golden
