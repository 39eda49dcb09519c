// Compares queries for integer pages, transforms of one vector and dot products with means with the
// scalar reference, for every instruction set. Bit-identical results; no access outside the
// operands.
// SPDX-License-Identifier: MIT
#include "kernels/kv.hpp"

#include "base/cpu.hpp"
#include "base/fpenv.hpp"
#include "data.hpp"
#include "kernels/dispatch.hpp"
#include "kv_wide.hpp"

#include <stdio.h>
#include <string.h>

namespace {

using namespace ggufx;
using namespace ggufx::kernels;
using namespace testdata;

long n_checked, n_failed;

void report(bool ok, const Kernels &isa, const char *what, uint32_t kind, uint32_t n,
            uint32_t more) {
    n_checked++;
    if (!ok && n_failed++ < 20)
        printf("FAILED %s %s, kind %u, %u coordinates, case %u\n", isa.name, what, kind, n, more);
}

bool same_bytes(const Guarded &a, const Guarded &b, size_t n) {
    return memcmp(a.data(), b.data(), n) == 0;
}

// Memory of a query's rows, filled with canary bytes.
struct Packed {
    size_t n_codes, n_scales;
    Guarded codes, d_q, s_q, q_sum;
    Packed(uint32_t n, uint32_t planes, uint32_t width)
        : n_codes(size_t(n + 31) / 32 * 32 * planes * width), n_scales(size_t(n + 31) / 32 * width),
          codes(n_codes), d_q(n_scales * 4), s_q(n_scales * 4), q_sum(n_scales * 4) {
        memset(codes.data(), 0x5a, n_codes);
        for (const Guarded *g : {&d_q, &s_q, &q_sum}) memset(g->data(), 0x5a, n_scales * 4);
    }
    KvQueryRow row(KvKind kind, uint32_t r, uint32_t width) const {
        return {kind,
                r,
                width,
                reinterpret_cast<int8_t *>(codes.data()),
                d_q.floats(),
                s_q.floats(),
                reinterpret_cast<int32_t *>(q_sum.data())};
    }
};

bool finite(const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!(x[i] - x[i] == 0.0f)) return false;
    return true;
}

void check_pack(const Kernels &isa, const Kernels &scalar, uint32_t kind, uint32_t n,
                uint32_t width, Random &random) {
    const KvFormat &f = kKvFormats[kind];
    const Packed got(n, f.wide_query ? 2 : 1, width), want(n, f.wide_query ? 2 : 1, width);
    bool ok = true;
    const CanonicalFp canonical;
    for (uint32_t r = 0; r < width; r++) {
        const Guarded x(n * sizeof(float));
        fill_values(x.floats(), n, kAllValues[random.below(3)], random);
        if (random.below(4) == 0) // halfway between codes
            for (uint32_t i = 0; i < n; i++)
                x.floats()[i] =
                    static_cast<float>(static_cast<int32_t>(random.below(255)) - 127) / 2;
        const auto k = static_cast<KvKind>(kind);
        const bool a = kv_pages_of(isa)->pack(got.row(k, r, width), x.floats(), n);
        const bool b = kv_pages_of(scalar)->pack(want.row(k, r, width), x.floats(), n);
        ok &= a == b && b == finite(x.floats(), n);
    }
    if (f.wide_query && kv_pages_of(isa)->wide_pairs)
        planes_to_pairs(reinterpret_cast<int8_t *>(want.codes.data()), (n + 31) / 32 * 8, width);
    ok &= same_bytes(got.codes, want.codes, got.n_codes);
    for (const auto part : {&Packed::d_q, &Packed::s_q, &Packed::q_sum})
        ok &= same_bytes(got.*part, want.*part, got.n_scales * 4);
    report(ok, isa, "pack", kind, n, width);
}

void check_turns(const Kernels &isa, const Kernels &scalar, uint32_t n, Random &random) {
    for (const KvTransform transform : {KvTransform::none, KvTransform::head, KvTransform::tq3}) {
        if (transform == KvTransform::tq3 && n % 32 != 0) continue;
        const size_t bytes = n * sizeof(float);
        const Guarded got(bytes), want(bytes), before(bytes);
        fill_values(got.floats(), n, Values::plain, random);
        if (random.below(2)) got.floats()[random.below(n)] = -0.0f;
        memcpy(want.data(), got.data(), bytes);
        memcpy(before.data(), got.data(), bytes);
        const CanonicalFp canonical;
        kv_pages_of(isa)->rotate(transform, got.floats(), n);
        kv_pages_of(scalar)->rotate(transform, want.floats(), n);
        report(same_bytes(got, want, bytes), isa, "rotate", 0, n, uint32_t(transform));
        kv_pages_of(isa)->unrotate(transform, got.floats(), n);
        kv_pages_of(scalar)->unrotate(transform, want.floats(), n);
        report(same_bytes(got, want, bytes), isa, "unrotate", 0, n, uint32_t(transform));
        bool near = true;
        float largest = 0.0f;
        for (uint32_t i = 0; i < n; i++) {
            const float x = __builtin_fabsf(before.floats()[i]);
            largest = x > largest ? x : largest;
        }
        for (uint32_t i = 0; i < n; i++)
            near &= __builtin_fabsf(got.floats()[i] - before.floats()[i]) <= largest * 0x1p-19f;
        report(near, isa, "there and back", 0, n, uint32_t(transform));
    }
}

void check_dot(const Kernels &isa, const Kernels &scalar, uint32_t n, Random &random) {
    const Guarded a(n * sizeof(float)), b(n * sizeof(float));
    fill_values(a.floats(), n, Values::plain, random);
    fill_values(b.floats(), n, Values::plain, random);
    const CanonicalFp canonical;
    const float got = kv_pages_of(isa)->dot(a.floats(), b.floats(), n);
    const float want = kv_pages_of(scalar)->dot(a.floats(), b.floats(), n);
    report(f32_bits(got) == f32_bits(want), isa, "dot", 0, n, 0);
}

void check_set(const Kernels &isa, const Kernels &scalar, Random &random) {
    for (uint32_t kind = 0; kind < kKvKinds; kind++) {
        const KvFormat &f = kKvFormats[kind];
        for (uint32_t n = f.vector_scale ? 16 : 32; f.bits && n <= 576; n += n < 128 ? 16 : 64) {
            if (!f.vector_scale && n % 32 != 0) continue;
            for (const uint32_t width : {1u, 2u, 4u})
                for (int i = 0; i < 4; i++) check_pack(isa, scalar, kind, n, width, random);
        }
    }
    for (const uint32_t n : {1u, 2u, 6u, 8u, 12u, 16u, 24u, 32u, 40u, 64u, 72u, 80u, 96u, 128u,
                             192u, 256u, 512u, 576u, 1024u}) {
        for (int i = 0; i < 4; i++) check_turns(isa, scalar, n, random);
        for (int i = 0; i < 4; i++) check_dot(isa, scalar, n + random.below(2), random);
    }
}

} // namespace

int main() {
    const Kernels *all[16];
    const size_t n = list(all, 16, cpu::features());
    Random random(23);
    for (size_t i = 0; i < n; i++) check_set(*all[i], *all[0], random);
    printf("%ld checks over %zu instruction sets, %ld failed\n", n_checked, n, n_failed);
    return n_failed != 0;
}
