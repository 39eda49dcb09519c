// Compares attention on KV pages with the scalar reference: every kind of page, instruction set and
// number of rows. Bit-identical results; no access outside the operands.
// SPDX-License-Identifier: MIT
#include "base/cpu.hpp"
#include "base/fpenv.hpp"
#include "data.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/kv.hpp"
#include "kv_wide.hpp"

#include <stdio.h>
#include <string.h>
#include <vector>

namespace {

using namespace ggufx;
using namespace ggufx::kernels;
using namespace testdata;

long n_checked, n_failed;

constexpr const char *kNames[kKvKinds] = {"f32",        "f16",  "bf16", "q8_0",   "q5_1",
                                          "q5_0",       "q4_1", "q4_0", "iq4_nl", "tq3_0",
                                          "tq3_0 res.", "gx2",  "gx3",  "gx4"};

void report(bool ok, const Kernels &isa, const char *what, uint32_t kind, uint32_t d, uint32_t rows,
            KvTokens tokens) {
    n_checked++;
    if (!ok && n_failed++ < 20)
        printf("FAILED %s %s %s, %u coordinates, %u rows, tokens %u..%u\n", isa.name, what,
               kNames[kind], d, rows, tokens.first, tokens.end);
}

uint16_t random_scale(Values values, bool is_signed, Random &random) {
    uint32_t bits = 0x2000 + random.below(0x2000);                                 // 2^-7 .. 2
    if (values == Values::bounds) bits = 0x7bff;                                   // 65504
    if (values == Values::special && random.below(3) == 0) bits = random.below(4); // subnormals, 0
    if (is_signed && random.below(2)) bits |= 0x8000;
    return static_cast<uint16_t>(bits);
}

// Fills a page with random codes, or with one code at a limit.
void fill_page(uint8_t *page, const KvFormat &f, const KvLayout &l, Values values, Random &random) {
    for (uint32_t i = 0; i < l.bytes; i++)
        page[i] = static_cast<uint8_t>(values == Values::bounds ? 0 - (random.next() & 1)
                                                                : random.next());
    if (!f.bits) {
        for (uint32_t i = 0; i < l.bytes; i += f.float_bytes) {
            const float x = random.unit() * (values == Values::bounds ? 60000.0f : 3.0f);
            if (f.float_bytes == 4)
                store_f32le(page + i, x);
            else // f16 or bf16 of moderate size, either sign, sometimes subnormal
                store_u16le(page + i, static_cast<uint16_t>((random.next() & 0x83ffu) |
                                                            (random.below(8) ? 0x3c00u : 0u)));
        }
        return;
    }
    for (uint32_t i = l.scales; i < l.mins; i += 2)
        store_u16le(page + i, random_scale(values, f.signed_scales, random));
    for (uint32_t i = l.mins; i < l.bytes; i += 2)
        store_u16le(page + i, random_scale(values, true, random));
}

// Query rows for one kind of page, with their own memory.
struct Query {
    std::vector<float> x, d_q, s_q, bias;
    std::vector<int8_t> q, pairs;
    std::vector<int32_t> sum;
    KvQuery view;

    Query(const KvFormat &f, uint32_t d, uint32_t rows, Values values, Random &random) {
        const uint32_t strips = (d + 31) / 32, planes = f.wide_query ? 2 : 1;
        const uint32_t n_scales = f.vector_scale ? 1 : strips;
        x.resize(size_t(d) * rows);
        for (float &v : x) v = random.unit();
        q.assign(size_t(strips) * 32 * planes * rows, 0);
        sum.assign(size_t(n_scales) * rows, 0);
        for (uint32_t row = 0; row < rows; row++) {
            for (uint32_t c = 0; c < d; c++) {
                const int32_t most = f.wide_query ? 16256 : 127;
                int32_t code =
                    static_cast<int32_t>(random.below(static_cast<uint32_t>(2 * most + 1))) - most;
                if (values == Values::bounds) code = random.below(2) ? most : -most;
                int8_t *four = q.data() + (size_t(c / 4) * planes * rows + row) * 4 + c % 4;
                const int32_t high = f.wide_query ? (code + 64) >> 7 : code;
                four[0] = static_cast<int8_t>(high);
                if (f.wide_query) four[rows * 4] = static_cast<int8_t>(code - 128 * high);
                sum[(f.vector_scale ? 0 : c / 32) * rows + row] += code;
            }
        }
        for (uint32_t i = 0; i < n_scales * rows; i++) {
            d_q.push_back(random.unit() * 0.01f);
            s_q.push_back(random.unit());
        }
        for (uint32_t i = 0; i < rows; i++) bias.push_back(random.unit());
        view = {d,          0.088f,     x.data(),   q.data(),
                d_q.data(), s_q.data(), sum.data(), random.below(2) ? bias.data() : nullptr};
        pairs = q;
        if (f.wide_query) planes_to_pairs(pairs.data(), strips * 8, rows);
    }
    // The query in the layout of an instruction set.
    KvQuery of(const KvPages &set, const KvFormat &f) const {
        KvQuery query = view;
        if (f.wide_query && set.wide_pairs) query.q = pairs.data();
        return query;
    }
};

bool same_bits(const float *a, const float *b, size_t n) {
    return memcmp(a, b, n * sizeof *a) == 0;
}

struct Case {
    const Kernels *isa, *scalar;
    uint32_t kind, d, rows;
    KvTokens tokens;
    Values values;
};

const KvKernels &kernels_of(const Case &c, const Kernels &set) {
    return kv_kernels(set, static_cast<KvKind>(c.kind));
}

uint32_t summed(const Case &c) {
    return kv_summed(static_cast<KvKind>(c.kind), c.d);
}

void check_score(const Case &c, Random &random) {
    const KvFormat &f = kKvFormats[c.kind];
    const KvLayout l = k_layout(f, c.d);
    const Guarded page(l.bytes);
    fill_page(page.data(), f, l, c.values, random);
    const Query query(f, c.d, c.rows, c.values, random);
    alignas(64) float got[kKvRows * kKvTokens], want[kKvRows * kKvTokens];
    const uint32_t i = kv_rows_index(c.rows);
    const uint8_t *at = page.data();
    const KvAhead ahead = {{at, at, at + 64, at}, 3};
    const CanonicalFp canonical;
    const KvPages &set = *kv_pages_of(*c.isa);
    kernels_of(c, *c.isa).score[i](got, query.of(set, f), page.data(), c.tokens, ahead);
    kernels_of(c, *c.scalar).score[i](want, query.view, page.data(), c.tokens, ahead);
    bool ok = true;
    for (uint32_t row = 0; row < c.rows; row++)
        ok &= same_bits(got + row * kKvTokens + c.tokens.first,
                        want + row * kKvTokens + c.tokens.first, c.tokens.end - c.tokens.first);
    report(ok, *c.isa, "score", c.kind, c.d, c.rows, c.tokens);
}

// Softmax weights; some rows see fewer tokens, and a row may see none.
void fill_weights(float *p, const Case &c, Random &random) {
    for (uint32_t row = 0; row < c.rows; row++) {
        const bool none = c.rows > 1 && random.below(8) == 0;
        const uint32_t end = c.tokens.end - random.below(3);
        for (uint32_t t = 0; t < kKvTokens; t++) {
            const bool seen = !none && t >= c.tokens.first && t < end;
            float weight = random.unit();
            weight = weight * weight;
            if (c.values == Values::special) weight *= random.below(2) ? 0x1p-90f : 0x1p-30f;
            if (c.values == Values::bounds) weight = 1.0f;
            p[row * kKvTokens + t] = seen ? weight : 0.0f;
        }
    }
}

void check_accumulate(const Case &c, Random &random) {
    const KvFormat &f = kKvFormats[c.kind];
    const KvLayout l = v_layout(f, c.d);
    const Guarded page(l.bytes);
    fill_page(page.data(), f, l, c.values, random);
    const size_t n = kv_sum_floats(c.d);
    const Guarded got(n * c.rows * sizeof(float)), want(n * c.rows * sizeof(float));
    for (size_t i = 0; i < n * c.rows; i++) got.floats()[i] = want.floats()[i] = random.unit();
    alignas(64) float p[kKvRows * kKvTokens];
    fill_weights(p, c, random);
    const uint32_t i = kv_rows_index(c.rows);
    const uint8_t *at = page.data();
    const KvAhead ahead = {{at, at + 64, at, at}, 5};
    const CanonicalFp canonical;
    kernels_of(c, *c.isa).accumulate[i](got.floats(), c.d, p, page.data(), c.tokens, ahead);
    kernels_of(c, *c.scalar).accumulate[i](want.floats(), c.d, p, page.data(), c.tokens, ahead);
    bool ok = true;
    for (uint32_t row = 0; row < c.rows; row++)
        ok &= same_bits(got.floats() + row * n, want.floats() + row * n, summed(c));
    report(ok, *c.isa, "accumulate", c.kind, c.d, c.rows, c.tokens);
}

// Prepared pages. Memory outside the prepared part is NaN, so that a read outside of it shows.
void check_ready_score(const Case &c, Random &random) {
    const KvReady &ready = kernels_of(c, *c.isa).ready;
    const KvFormat &f = kKvFormats[c.kind];
    const KvLayout l = k_layout(f, c.d);
    const Guarded page(l.bytes), made(kv_ready_bytes(c.d));
    fill_page(page.data(), f, l, c.values, random);
    memset(made.data(), 0xff, kv_ready_bytes(c.d));
    const Query query(f, c.d, kKvRows, c.values, random);
    alignas(64) float got[kKvRows * kKvTokens], want[kKvRows * kKvTokens];
    const CanonicalFp canonical;
    ready.keys(made.data(), page.data(), c.d, c.tokens);
    ready.score(got, query.of(*kv_pages_of(*c.isa), f), made.data(), c.tokens, {});
    kernels_of(c, *c.scalar).score[2](want, query.view, page.data(), c.tokens, {});
    bool ok = true;
    for (uint32_t row = 0; row < kKvRows; row++)
        ok &= same_bits(got + row * kKvTokens + c.tokens.first,
                        want + row * kKvTokens + c.tokens.first, c.tokens.end - c.tokens.first);
    report(ok, *c.isa, "ready score", c.kind, c.d, kKvRows, c.tokens);
}

void check_ready_accumulate(const Case &c, Random &random) {
    const KvReady &ready = kernels_of(c, *c.isa).ready;
    const KvFormat &f = kKvFormats[c.kind];
    const KvLayout l = v_layout(f, c.d);
    const Guarded page(l.bytes), made(kv_ready_bytes(c.d));
    fill_page(page.data(), f, l, c.values, random);
    memset(made.data(), 0xff, kv_ready_bytes(c.d));
    const size_t n = kv_sum_floats(c.d), n_all = n * kKvRows;
    const Guarded got(n_all * sizeof(float)), want(n_all * sizeof(float));
    for (size_t i = 0; i < n_all; i++) got.floats()[i] = want.floats()[i] = random.unit();
    alignas(64) float p[kKvRows * kKvTokens];
    fill_weights(p, c, random);
    const CanonicalFp canonical;
    ready.values(made.data(), page.data(), c.d, c.tokens);
    ready.accumulate(got.floats(), c.d, p, made.data(), c.tokens, {});
    kernels_of(c, *c.scalar).accumulate[2](want.floats(), c.d, p, page.data(), c.tokens, {});
    bool ok = true;
    for (uint32_t row = 0; row < kKvRows; row++)
        ok &= same_bits(got.floats() + row * n, want.floats() + row * n, summed(c));
    report(ok, *c.isa, "ready accumulate", c.kind, c.d, kKvRows, c.tokens);
}

void check_weigh(const Kernels &isa, const Kernels &scalar, Random &random) {
    alignas(64) float got[kKvTokens], want[kKvTokens];
    const uint32_t first = random.below(64), end = first + 1 + random.below(64 - first);
    const float reach = random.below(2) ? 4.0f : 120.0f;
    for (float &s : got) s = random.unit() * reach;
    if (random.below(16) == 0) got[random.below(64)] = f32_from_bits(0x7f800000u);
    if (random.below(16) == 0) got[random.below(64)] = f32_from_bits(0x7fc00000u);
    if (random.below(4) == 0) got[first] = -0.0f;
    if (random.below(8) == 0)
        for (float &s : got) s = -0.0f;
    memcpy(want, got, sizeof got);
    const float m0 = random.below(3) ? random.unit() * 20.0f : -__builtin_inff();
    float m1 = m0, m2 = m0, l1 = random.unit() + 1.0f, l2 = l1;
    const CanonicalFp canonical;
    const float f1 = kv_pages_of(isa)->weigh(got, {first, end}, &m1, &l1);
    const float f2 = kv_pages_of(scalar)->weigh(want, {first, end}, &m2, &l2);
    const bool refused = f1 != f1 && f2 != f2;
    const bool ok = refused || (same_bits(&f1, &f2, 1) && same_bits(&m1, &m2, 1) &&
                                same_bits(&l1, &l2, 1) && same_bits(got, want, kKvTokens));
    report(ok, isa, "weigh", 0, 0, 1, {first, end});
}

void check_rows(const Kernels &isa, const Kernels &scalar, uint32_t n, Random &random) {
    const Guarded a(n * sizeof(float)), b(n * sizeof(float)), chunk(n * sizeof(float));
    fill_values(a.floats(), n, Values::plain, random);
    fill_values(chunk.floats(), n, Values::plain, random);
    memcpy(b.floats(), a.floats(), n * sizeof(float));
    const float x = random.unit(), y = random.unit();
    const CanonicalFp canonical;
    kv_pages_of(isa)->merge(a.floats(), chunk.floats(), x, y, n);
    kv_pages_of(scalar)->merge(b.floats(), chunk.floats(), x, y, n);
    kv_pages_of(isa)->scale(a.floats(), x, n);
    kv_pages_of(scalar)->scale(b.floats(), x, n);
    report(same_bits(a.floats(), b.floats(), n), isa, "rows", 0, n, 1, {0, 0});
}

void check_dots(const Kernels &isa, const Kernels &scalar, uint32_t n, uint32_t rows,
                Random &random) {
    const Guarded x(size_t{rows} * n * sizeof(float)), y(n * sizeof(float));
    fill_values(x.floats(), rows * n, Values::plain, random);
    fill_values(y.floats(), n, Values::plain, random);
    float got[kKvRows], want[kKvRows];
    const CanonicalFp canonical;
    kv_pages_of(isa)->dots(got, x.floats(), y.floats(), n, rows);
    kv_pages_of(scalar)->dots(want, x.floats(), y.floats(), n, rows);
    report(same_bits(got, want, rows), isa, "dots", 0, n, rows, {0, 0});
}

void check_kind(const Kernels &isa, const Kernels &scalar, uint32_t kind, Random &random) {
    constexpr uint32_t dims[] = {1, 3, 16, 33, 48, 64, 72, 80, 96, 112, 128, 192, 256, 576};
    const KvTokens ranges[] = {{0, 64}, {0, 1}, {0, 37}, {15, 17}, {21, 64}, {63, 64}, {48, 49}};
    for (const uint32_t d : dims) {
        if (kKvFormats[kind].trellis && d % 16) continue;
        for (const uint32_t rows : {1u, 2u, 4u}) {
            for (const Values values : kAllValues) {
                const KvTokens tokens = ranges[random.below(2) ? 0 : random.below(7)];
                const Case c = {&isa, &scalar, kind, d, rows, tokens, values};
                check_score(c, random);
                check_accumulate(c, random);
                if (rows < kKvRows || !kernels_of(c, isa).ready.score) continue;
                check_ready_score(c, random);
                check_ready_accumulate(c, random);
            }
        }
    }
}

} // namespace

int main() {
    const Kernels *all[16];
    const size_t n = list(all, 16, cpu::features());
    Random random(11);
    for (size_t i = 0; i < n; i++) {
        for (uint32_t kind = 0; kind < kKvKinds; kind++) check_kind(*all[i], *all[0], kind, random);
        for (int k = 0; k < 4000; k++) check_weigh(*all[i], *all[0], random);
        for (uint32_t k = 32; k <= 576; k += 32) check_rows(*all[i], *all[0], k, random);
        for (const uint32_t rows : {1u, 2u, 4u})
            for (uint32_t k = 16; k <= 1024; k += 16) check_dots(*all[i], *all[0], k, rows, random);
    }
    printf("%ld checks over %zu instruction sets, %ld failed\n", n_checked, n, n_failed);
    return n_failed != 0;
}
