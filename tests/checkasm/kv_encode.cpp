// Compares the quantization of KV pages with the scalar reference: every type, stream, head length,
// group of a page and instruction set. Pages and error measures are identical; no access outside
// the operands.
// SPDX-License-Identifier: MIT
#include "kernels/kv_encode.hpp"
#include "kernels/kv.hpp"

#include "base/cpu.hpp"
#include "base/fpenv.hpp"
#include "data.hpp"
#include "kernels/dispatch.hpp"

#include <stdio.h>
#include <string.h>
#include <vector>

namespace {

using namespace ggufx;
using namespace ggufx::kernels;
using namespace testdata;

long n_checked, n_failed;

constexpr const char *kNames[kKvEncodings] = {"f32",  "f16",  "bf16", "q8_0",   "q5_1",
                                              "q5_0", "q4_1", "q4_0", "iq4_nl", "tq3_0",
                                              "res.", "gx2",  "gx3",  "gx4",    "fitted"};
constexpr uint32_t kHeads[] = {64, 80, 96, 128, 192, 256, 576};

void report(bool ok, const Kernels &isa, const char *what, const char *type, uint32_t n,
            uint32_t more) {
    n_checked++;
    if (!ok && n_failed++ < 20)
        printf("FAILED %s %s %s, %u coordinates, case %u\n", isa.name, what, type, n, more);
}

KvKind kind_of(uint32_t encoding) {
    return encoding == kKvFitted ? KvKind::tq3_0 : static_cast<KvKind>(encoding);
}

// Distribution of a vector; each lane of a group gets one of these.
enum class Shape : uint32_t {
    normal,   // bell-shaped, as after a transform
    spread,   // very different scales
    outlier,  // one value far above the others
    ties,     // multiples of a power of two: halfway cases of every rounding
    equal,    // one magnitude
    zero,     // zeros of either sign
    borders,  // thresholds of TQ3_0 codes, and its levels
    tiny,     // subnormal or nearly subnormal
    faint,    // scales too small for f16, squares within f32
    large,    // scales too large for f16
    huge,     // sums overflow
    one_sign, // far from zero
    nearly,   // floats just below halves, at scale 1
};
constexpr uint32_t kShapes = 13;

float value_of(Shape shape, Random &random) {
    float bell = 0.0f;
    for (int i = 0; i < 6; i++) bell += random.unit();
    switch (shape) {
    case Shape::normal:
        return bell;
    case Shape::spread:
        return bell * (random.below(4) ? 0x1p-9f : 30.0f);
    case Shape::outlier:
        return random.below(40) ? bell * 0.1f : 50.0f * random.unit();
    case Shape::ties:
        return static_cast<float>(static_cast<int32_t>(random.below(255)) - 127) * 0.5f;
    case Shape::equal:
        return random.below(2) ? 0.75f : -0.75f;
    case Shape::zero:
        return random.below(2) ? 0.0f : -0.0f;
    case Shape::borders: {
        constexpr float at[4] = {kTq3Outer, kTq3Threshold, 0.453f, 0.0f};
        return at[random.below(4)] * (random.below(2) ? 4.0f : -4.0f);
    }
    case Shape::faint:
        return bell * 0x1p-66f;
    case Shape::tiny:
        return bell * (random.below(2) ? 0x1p-24f : 0x1p-140f);
    case Shape::large:
        return bell * 0x1p19f;
    case Shape::huge:
        return bell * 0x1p126f;
    case Shape::one_sign:
        return 40.0f + random.unit();
    case Shape::nearly: {
        if (random.below(8) == 0) return 127.0f;
        const float half = static_cast<float>(random.below(4)) + 0.5f;
        const float below = f32_from_bits(f32_bits(half) - 1);
        return random.below(2) ? below : -below;
    }
    }
    return 0.0f;
}

void fill_lanes(float *x, uint32_t n, Random &random) {
    for (uint32_t t = 0; t < kKvGroup; t++) {
        const auto shape = static_cast<Shape>(random.below(3) ? random.below(kShapes) : 0);
        for (uint32_t i = 0; i < n; i++) x[size_t(i) * kKvGroup + t] = value_of(shape, random);
    }
}

bool same_floats(const float *a, const float *b, size_t n) { // all NaN are equal
    for (size_t i = 0; i < n; i++)
        if (f32_bits(a[i]) != f32_bits(b[i]) && (a[i] == a[i] || b[i] == b[i])) return false;
    return true;
}

// Buffers of one call, each at the end of accessible pages.
struct Memory {
    Guarded x, code, path, page;
    explicit Memory(uint32_t padded, uint32_t page_bytes)
        : x(size_t(padded) * kKvGroup * sizeof(float)), code(size_t(padded) * kKvGroup),
          path(size_t(padded) * kKvGroup), page(page_bytes) {}
    KvVectors vectors() const { return {x.floats(), code.data(), path.data()}; }
};

void check_encode(const Kernels &isa, const Kernels &scalar, uint32_t encoding, KvStream stream,
                  uint32_t head, Random &random) {
    const KvFormat &f = kv_format(kind_of(encoding));
    const uint32_t padded = (head + kKvStrip - 1) / kKvStrip * kKvStrip;
    const uint32_t n = f.vector_scale ? head : padded;
    const KvLayout l = kv_layout_codes(f, n);
    const Memory got(padded, l.bytes), want(padded, l.bytes);
    fill_lanes(got.x.floats(), n, random);
    memcpy(want.x.floats(), got.x.floats(), size_t(n) * kKvGroup * sizeof(float));
    for (uint32_t i = 0; i < l.bytes; i++)
        got.page.data()[i] = want.page.data()[i] = static_cast<uint8_t>(random.next());
    const uint32_t group = random.below(4);
    if (n % kKvStrip != 0) // bits of coordinates after the head are unspecified
        memset(got.page.data(), 0, l.scales), memset(want.page.data(), 0, l.scales);
    KvLost lost[2];
    const CanonicalFp canonical;
    kv_pages_of(isa)->encoders->encode[encoding]({got.page.data(), stream, group}, got.vectors(), n,
                                                 lost[0]);
    kv_pages_of(scalar)->encoders->encode[encoding]({want.page.data(), stream, group},
                                                    want.vectors(), n, lost[1]);
    report(memcmp(got.page.data(), want.page.data(), l.bytes) == 0, isa,
           stream == KvStream::k ? "keys of" : "values of", kNames[encoding], head, group);
    report(same_floats(lost[0].error, lost[1].error, kKvGroup) &&
               same_floats(lost[0].square, lost[1].square, kKvGroup),
           isa, "loss of", kNames[encoding], head, group);
    report(memcmp(got.x.data(), want.x.data(), size_t(n) * kKvGroup * sizeof(float)) == 0, isa,
           "vectors after", kNames[encoding], head, group);
}

KvLanes random_lanes(Random &random) {
    if (random.below(2)) return {0, kKvGroup};
    const uint32_t first = random.below(kKvGroup);
    return {first, first + 1 + random.below(kKvGroup - first)};
}

uint16_t random_half(Random &random) { // finite, either sign, also subnormal
    return static_cast<uint16_t>(random.below(8) ? random.below(0x7c00) : random.below(0x400)) |
           static_cast<uint16_t>(random.below(2) << 15);
}

// Input floats: f32 at and between f16 values, f16 and bf16 of any finite size that f16 can hold.
void fill_rows(uint8_t *row, KvKind kind, uint32_t n, Random &random) {
    for (uint32_t i = 0; i < n; i++) {
        const float half = f16_to_f32(random_half(random));
        const uint16_t b = f32_to_bf16(half * 0.9f);
        const float other = half * (1.0f + 0x1p-11f * static_cast<float>(random.below(3)));
        const float fits = other < 65504.0f && other > -65504.0f ? other : half;
        if (kind == KvKind::f32) memcpy(row + 4 * i, &fits, 4);
        if (kind == KvKind::f16) store_u16le(row + 2 * i, f32_to_f16(half));
        if (kind == KvKind::bf16) store_u16le(row + 2 * i, b);
    }
}

void check_load(const Kernels &isa, const Kernels &scalar, KvKind kind, uint32_t n,
                Random &random) {
    const KvLanes lanes = random_lanes(random);
    const size_t bytes = n * kv_format(kind).float_bytes;
    const size_t stride = bytes + 2 * random.below(40) * kv_format(kind).float_bytes;
    const Guarded rows(stride * (lanes.end - lanes.first - 1) + bytes);
    for (uint32_t t = 0; t < lanes.end - lanes.first; t++)
        fill_rows(rows.data() + t * stride, kind, n, random);
    const size_t all = size_t(n) * kKvGroup;
    const Guarded got(all * sizeof(float)), want(all * sizeof(float)), halves(all * 2);
    for (size_t i = 0; i < all; i++) got.floats()[i] = want.floats()[i] = random.unit();
    for (size_t i = 0; i < all; i++) store_u16le(halves.data() + 2 * i, random_half(random));
    const KvRowsOf view = {rows.data(), stride, kind};
    const CanonicalFp canonical;
    kv_pages_of(isa)->encoders->load_rows(got.floats(), view, lanes, n);
    kv_pages_of(scalar)->encoders->load_rows(want.floats(), view, lanes, n);
    report(memcmp(got.data(), want.data(), all * sizeof(float)) == 0, isa, "rows of",
           kNames[static_cast<uint32_t>(kind)], n, lanes.first * 100 + lanes.end);
    kv_pages_of(isa)->encoders->load_columns(got.floats(), halves.data(), lanes, n);
    kv_pages_of(scalar)->encoders->load_columns(want.floats(), halves.data(), lanes, n);
    report(memcmp(got.data(), want.data(), all * sizeof(float)) == 0, isa, "columns", "", n,
           lanes.first * 100 + lanes.end);
}

void check_halves(const Kernels &isa, const Kernels &scalar, uint32_t n, Random &random) {
    const Guarded x(n * sizeof(float)), got(n * 2), want(n * 2);
    fill_rows(x.data(), KvKind::f32, n, random);
    const CanonicalFp canonical;
    kv_pages_of(isa)->encoders->to_halves(got.data(), x.floats(), n);
    kv_pages_of(scalar)->encoders->to_halves(want.data(), x.floats(), n);
    report(memcmp(got.data(), want.data(), n * 2) == 0, isa, "halves", "", n, 0);
}

// Dequantizes the keys of one group into rows; rows of other groups stay unchanged.
void check_decode(const Kernels &isa, const Kernels &scalar, uint32_t kind, uint32_t n,
                  Random &random) {
    const KvFormat &f = kKvFormats[kind];
    const KvLayout l = k_layout(f, n);
    const Guarded page(l.bytes);
    for (uint32_t i = 0; i < l.bytes; i++) page.data()[i] = static_cast<uint8_t>(random.next());
    for (uint32_t i = f.bits ? l.scales : 0; i < l.bytes && f.float_bytes != 4; i += 2)
        store_u16le(page.data() + i, random_half(random));
    for (uint32_t i = 0; i < l.bytes && f.float_bytes == 4; i += 4)
        store_f32le(page.data() + i, random.unit());
    const size_t bytes = v_layout(kKvFormats[0], n).bytes;
    const Guarded got(bytes), want(bytes);
    for (size_t i = 0; i < bytes / 4; i++) got.floats()[i] = want.floats()[i] = random.unit();
    const uint32_t group = random.below(4);
    const CanonicalFp canonical;
    kv_pages_of(isa)->encoders->decode[kind](got.floats(), page.data(), n, group);
    kv_pages_of(scalar)->encoders->decode[kind](want.floats(), page.data(), n, group);
    report(memcmp(got.data(), want.data(), bytes) == 0, isa, "decoded", kNames[kind], n, group);
}

void check_transforms(const Kernels &isa, const Kernels &scalar, uint32_t n, Random &random) {
    const size_t all = size_t(n) * kKvGroup;
    const Guarded got(all * sizeof(float)), want(all * sizeof(float)), mu(n * sizeof(float)),
        eq(n * sizeof(float));
    for (uint32_t i = 0; i < n; i++) {
        mu.floats()[i] = random.unit();
        eq.floats()[i] = 1.5f + random.unit();
    }
    fill_lanes(got.floats(), n, random);
    memcpy(want.floats(), got.floats(), all * sizeof(float));
    const float *spread = random.below(2) ? eq.floats() : nullptr;
    const CanonicalFp canonical;
    kv_pages_of(isa)->encoders->centre(got.floats(), mu.floats(), spread, n);
    kv_pages_of(scalar)->encoders->centre(want.floats(), mu.floats(), spread, n);
    report(same_floats(got.floats(), want.floats(), all), isa, "centring", "", n, 0);
    for (const KvTransform transform : {KvTransform::head, KvTransform::tq3}) {
        if (transform == KvTransform::tq3 && n % kKvStrip != 0) continue;
        kv_pages_of(isa)->encoders->rotate(transform, got.floats(), n);
        kv_pages_of(scalar)->encoders->rotate(transform, want.floats(), n);
        report(same_floats(got.floats(), want.floats(), all), isa, "transform", "", n,
               static_cast<uint32_t>(transform));
    }
}

void check_set(const Kernels &isa, const Kernels &scalar, Random &random) {
    for (uint32_t encoding = 0; encoding < kKvEncodings; encoding++) {
        if (!kv_pages_of(scalar)->encoders->encode[encoding]) continue;
        for (const uint32_t head : kHeads)
            for (const KvStream stream : {KvStream::k, KvStream::v})
                for (int i = 0; i < 4; i++)
                    check_encode(isa, scalar, encoding, stream, head, random);
    }
    for (const KvKind kind : {KvKind::f32, KvKind::f16, KvKind::bf16})
        for (const uint32_t n : {1u, 3u, 8u, 15u, 16u, 17u, 33u, 72u, 80u, 128u, 576u})
            for (int i = 0; i < 12; i++) check_load(isa, scalar, kind, n, random);
    for (const uint32_t n : {16u, 48u, 64u, 1024u})
        for (int i = 0; i < 12; i++) check_halves(isa, scalar, n, random);
    for (uint32_t kind = 0; kind < kKvKinds; kind++)
        for (const uint32_t n : {16u, 48u, 64u, 72u, 80u, 96u, 128u, 576u}) {
            const KvFormat &f = kKvFormats[kind];
            const uint32_t fits = f.bits == 0      ? n
                                  : f.vector_scale ? n / 16 * 16
                                                   : (n + 31) / 32 * 32;
            for (int i = 0; i < 4; i++) check_decode(isa, scalar, kind, fits, random);
        }
    for (const uint32_t n : {1u, 6u, 12u, 16u, 32u, 64u, 72u, 80u, 96u, 128u, 192u, 256u, 576u})
        for (int i = 0; i < 6; i++) check_transforms(isa, scalar, n, random);
}

} // namespace

int main() {
    const Kernels *all[16];
    const size_t n = list(all, 16, cpu::features());
    Random random(17);
    for (size_t i = 0; i < n; i++) check_set(*all[i], *all[0], random);
    printf("%ld checks over %zu instruction sets, %ld failed\n", n_checked, n, n_failed);
    return n_failed != 0;
}
