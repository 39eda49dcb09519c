// Compares every kernel of every instruction set of this machine with the scalar reference:
// bit-identical results, no access outside the operands. The scalar kernels run too, for the
// bounds.
//   checkasm [--isa NAME] [--type NAME] [--seed N]    checkasm --coverage
// SPDX-License-Identifier: MIT
#include "../unit/test_step.h"
#include "base/cpu.hpp"
#include "base/fpenv.hpp"
#include "choices.hpp"
#include "data.hpp"
#include "fmaf.hpp"
#include "output.hpp"
#include "product.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

using namespace ggufx;
using namespace ggufx::kernels;
using namespace testdata;

long n_checked, n_failed;

bool is_called(const Kernels &kernels, const char *name) {
    return strcmp(kernels.name, name) == 0 || strcmp(set_name(kernels), name) == 0;
}

struct Shape {
    size_t rows, blocks, n;
    bool by_rows = false; // defined like n = 1..3: row-wise
};

// Row and column counts around the steps of kernels: 4 streams, 16 lanes, 6 columns, 32 rows.
constexpr Shape kShapes[] = {
    {1, 1, 1},        {4, 1, 1},        {1, 2, 2},        {3, 3, 3},        {5, 5, 1},
    {8, 7, 2},        {9, 8, 1},        {17, 9, 3},       {130, 1, 1},      {131, 2, 1},
    {33, 4, 3},       {2, 16, 1},       {7, 17, 2},       {4, 31, 1},       {5, 33, 1},
    {3, 64, 3},       {2, 100, 1},      {1, 1, 4},        {31, 2, 5},       {32, 1, 6},
    {33, 3, 7},       {2, 5, 8},        {65, 2, 13},      {5, 17, 4},       {16, 4, 12},
    {1, 33, 30},      {40, 9, 4},       {3, 64, 6},       {6, 2, 17},       {9, 3, 64},
    {4, 16, 4, true}, {9, 33, 5, true}, {1, 17, 6, true}, {21, 3, 7, true}, {6, 64, 8, true},
};

// Rows of whole vectors, for float types too: zero padding after a row would turn a -0 into +0.
constexpr Shape kWholeRows[] = {{16, 1, 1}, {16, 5, 2}, {32, 2, 3}, {16, 4, 4}, {64, 3, 7}};

const char *shape_text(const Shape &s) {
    static char text[64];
    snprintf(text, sizeof text, "%zu rows x %zu blocks, n = %zu", s.rows, s.blocks, s.n);
    return text;
}

void compare(const Kernels &kernels, const fmt::TypeInfo &type, const char *what, const Shape &s,
             const Output &got, const Output &want) {
    n_checked++;
    for (size_t c = 0; c < s.n; c++) {
        for (size_t r = 0; r < s.rows; r++) {
            if (got.bits(r, c) == want.bits(r, c)) continue;
            if (n_failed++ < 40) {
                printf("FAILED %s %s %s, %s: row %zu column %zu: bits %08x, scalar %08x\n",
                       set_name(kernels), type.name, what, shape_text(s), r, c,
                       static_cast<unsigned>(got.bits(r, c)),
                       static_cast<unsigned>(want.bits(r, c)));
            }
            return;
        }
    }
    if (!got.canaries_live() && n_failed++ < 40) {
        printf("FAILED %s %s %s, %s: wrote outside of y\n", set_name(kernels), type.name, what,
               shape_text(s));
    }
}

size_t row_values(const fmt::TypeInfo &type, const Shape &s) {
    // Float types have rows of any length, also ones that are no multiple of a vector.
    return type.block_values == 1 ? s.blocks * 16 + (s.rows % 16) : s.blocks * type.block_values;
}

// n: number of columns that defines the product.
const char *product_name(Mode mode, size_t n) {
    if (mode == Mode::int8) return n < 4 ? "matvec" : "gemm";
    if (mode == Mode::precise) return n < 4 ? "matvec_precise" : "gemm_precise";
    return n < 4 ? "matvec_f32" : "gemm_f32";
}

// Computes the expected bits. Row-wise products are computed for each column separately.
bool multiply_text(Out y, const Kernels &scalar, Product p) {
    if (!p.by_rows) return multiply(y, scalar, p);
    const size_t n = p.n;
    p.n = 1;
    for (size_t c = 0; c < n; c++, p.x += p.ldx, y.y += y.ld) {
        if (!multiply(y, scalar, p)) return false;
    }
    return true;
}

void check_products(const Kernels &kernels, const Kernels &scalar, const fmt::TypeInfo &type,
                    const Shape &s, Blocks blocks, Values values, Random &random) {
    const size_t k = row_values(type, s), row_bytes = k / type.block_values * type.block_bytes;
    const size_t stride = row_bytes + random.below(2) * (1 + random.below(70));
    const Guarded w(stride * (s.rows - 1) + row_bytes);
    for (size_t r = 0; r < s.rows; r++) {
        fill_blocks(w.data() + r * stride, type.id, k / type.block_values, blocks, random);
    }
    const size_t ldx = k + random.below(5);
    const Guarded x((ldx * (s.n - 1) + k) * sizeof(float));
    fill_values(x.floats(), ldx * (s.n - 1) + k, values, random);
    for (const Mode mode : kAllModes) {
        const size_t scratch = random.below(2) ? kScratchMin : kScratchBest;
        Product p = {type.id,  {w.data(), stride, s.rows, k}, x.floats(), ldx, s.n, mode, scratch,
                     s.by_rows};
        const size_t n = p.defined_as();
        if (&kernels != &scalar && same_kernel(kernels, scalar, type.id, n, mode)) continue;
        const Output got(s.rows, s.n), want(s.rows, s.n);
        if (!multiply_text(want.out(), scalar, p)) continue;
        p.in_streams = random.below(2) != 0;
        multiply(got.out(), kernels, p);
        compare(kernels, type, product_name(mode, n), s, got, want);
    }
}

// Float products that underflow with a negative sign are stored as +0.
void check_minus_zero(const Kernels &kernels, const fmt::TypeInfo &type, const Shape &s) {
    const size_t k = row_values(type, s), row_bytes = k * type.block_bytes;
    const Guarded w(row_bytes * s.rows), x(k * s.n * sizeof(float));
    for (size_t i = 0; i < row_bytes * s.rows; i++) w.data()[i] = 0;
    for (size_t i = type.block_bytes - 1; i < row_bytes * s.rows; i += type.block_bytes) {
        w.data()[i] = 0x2c; // high byte of a number of magnitude 2^-4 or below
    }
    for (size_t i = 0; i < k * s.n; i++) x.floats()[i] = -0x1p-149f;
    const Output got(s.rows, s.n);
    const Product p = {type.id, {w.data(), row_bytes, s.rows, k}, x.floats(), k, s.n, Mode::f32};
    if (!multiply(got.out(), kernels, p)) return;
    n_checked++;
    for (size_t c = 0; c < s.n; c++) {
        for (size_t r = 0; r < s.rows; r++) {
            if (got.bits(r, c) == 0) continue;
            if (n_failed++ < 40) {
                printf("FAILED %s %s %s, %s: -0\n", set_name(kernels), type.name,
                       product_name(Mode::f32, s.n), shape_text(s));
            }
            return;
        }
    }
}

void check_dequant(const Kernels &kernels, const Kernels &scalar, const fmt::TypeInfo &type,
                   size_t n_blocks, Blocks blocks, Random &random) {
    const size_t n = n_blocks * type.block_values;
    const Guarded w(n_blocks * type.block_bytes);
    fill_blocks(w.data(), type.id, n_blocks, blocks, random);
    const Output got(n, 1), want(n, 1);
    const CanonicalFp canonical;
    find(scalar, &Layer::dequant, type.id)->run(want.out().y, w.data(), n_blocks);
    find(kernels, &Layer::dequant, type.id)->run(got.out().y, w.data(), n_blocks);
    compare(kernels, type, "dequant", {n, n_blocks, 1}, got, want);
}

// Compares the low planes. The split of a code into planes is free, so only the combined value
// counts.
bool equal_planes(const Act &a, const Act &b, size_t padded) {
    int64_t squares[2] = {0, 0};
    for (size_t i = 0; i < padded; i++) {
        const int low_a = plane_codes(a, 1)[i], low_b = plane_codes(b, 1)[i];
        const int64_t qa = 128 * a.q[i] + low_a, qb = 128 * b.q[i] + low_b;
        if (low_a < -64 || low_a > 64 || low_b < -64 || low_b > 64) return false;
        squares[0] += qa * qa;
        squares[1] += qb * qb;
    }
    bool equal = squares[0] == squares[1];
    for (size_t g = 0; g < padded / 16; g++) {
        equal =
            equal && 128 * a.s16[g] + plane_sums(a, 1)[g] == 128 * b.s16[g] + plane_sums(b, 1)[g];
    }
    return equal;
}

// Compares packed activations, except for the order of codes and the padding.
void check_pack(const Kernels &kernels, const Kernels &scalar, const fmt::TypeInfo &type, size_t k,
                Mode mode, const PackedOrder &order, Values values, Random &random) {
    const bool precise = mode == Mode::precise;
    const Matvec *tested = find_matvec(kernels, type.id, mode);
    if (!tested || k % 32 != 0) return;
    const Guarded x(k * sizeof(float));
    fill_values(x.floats(), k, values, random);
    alignas(64) static uint8_t memory[2][64 * 1024];
    if (act_precise_bytes(k) > sizeof memory[0]) return;
    memset(memory, 0x5a, sizeof memory);
    const Act got = act_at(memory[0], k), want = act_at(memory[1], k);
    const CanonicalFp canonical;
    tested->pack(got, x.floats());
    find_matvec(scalar, type.id, mode)->pack(want, x.floats());
    n_checked++;
    const size_t padded = (k + kActPad - 1) / kActPad * kActPad;
    bool ok = !precise || equal_planes(got, want, padded);
    for (size_t g = 0; g < padded / 16 && !precise; g++)
        ok = ok && order.sum(got, g) == order.factor() * want.s16[g];
    for (size_t b = 0; b < padded / 32; b++) {
        ok = ok && f32_bits(order.d(got, b)) == f32_bits(want.d[b]);
        if (!order.has_s()) continue;
        const float s = order.s(got, b); // NaN bits are unspecified
        ok = ok && (f32_bits(s) == f32_bits(want.s[b]) || (s != s && want.s[b] != want.s[b]));
    }
    int64_t squares[2] = {0, 0};
    for (size_t i = 0; i < padded; i++) {
        squares[0] += got.q[i] * got.q[i];
        squares[1] += want.q[i] * want.q[i];
    }
    if ((!ok || (!precise && squares[0] != squares[1])) && n_failed++ < 40) {
        printf("FAILED %s %s pack%s, k = %zu\n", set_name(kernels), type.name,
               precise ? " in two planes" : "", k);
    }
}

void check_sums(const Kernels &kernels, const Kernels &scalar, const fmt::TypeInfo &type,
                Values values, Random &random) {
    const MatvecF32 *tested = find(kernels, &Layer::matvec_f32, type.id),
                    *text = find(scalar, &Layer::matvec_f32, type.id);
    if (!tested || !text->sum) return;
    for (const size_t group : {size_t{16}, size_t{32}}) {
        const size_t k = 32 * (1 + random.below(40));
        const Guarded x(k * sizeof(float)), got(k / group * sizeof(float)),
            want(k / group * sizeof(float));
        fill_values(x.floats(), k, values, random);
        const CanonicalFp canonical;
        text->sum(want.floats(), x.floats(), k, group);
        tested->sum(got.floats(), x.floats(), k, group);
        n_checked++;
        for (size_t g = 0; g < k / group; g++) {
            const float a = got.floats()[g], b = want.floats()[g];
            if (f32_bits(a) == f32_bits(b) || (a != a && b != b)) continue;
            if (n_failed++ < 40) {
                printf("FAILED %s %s sum, group %zu\n", set_name(kernels), type.name, group);
            }
            break;
        }
    }
}

void check_type(const Kernels &kernels, const Kernels &scalar, const fmt::TypeInfo &type,
                uint64_t seed) {
    Random random(seed * 1000 + type.id);
    const size_t step = test_step();
    size_t at = type.id;
    for (const Blocks blocks : kAllBlocks) {
        for (const size_t n : {size_t{1}, size_t{2}, size_t{17}, size_t{64}, size_t{131}}) {
            check_dequant(kernels, scalar, type, n, blocks, random);
        }
        for (const Values values : kAllValues) {
            for (const Shape &s : kShapes) {
                if (at++ % step == 0)
                    check_products(kernels, scalar, type, s, blocks, values, random);
            }
            at++; // shifts the sampling, so that each shape meets other contents
        }
    }
    if (type.kind == fmt::Kind::kFloat) {
        for (const Shape &s : kWholeRows) check_minus_zero(kernels, type, s);
    }
    const Matvec *matvec = find_matvec(kernels, type.id, Mode::int8);
    const PackedOrder as_they_come, order = matvec ? PackedOrder(*matvec) : as_they_come;
    for (const Values values : kAllValues) {
        check_sums(kernels, scalar, type, values, random);
        for (const Shape &s : kShapes) {
            const size_t k = row_values(type, s);
            check_pack(kernels, scalar, type, k, Mode::int8, order, values, random);
            check_pack(kernels, scalar, type, k, Mode::precise, as_they_come, values, random);
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    const char *only_isa = nullptr, *only_type = nullptr;
    uint64_t seed = 1;
    const Kernels *list[8];
    const size_t n = kernels::list(list, 8, cpu::features());
    for (int i = 1; i < argc; i++) {
        const bool more = i + 1 < argc;
        if (strcmp(argv[i], "--coverage") == 0) {
            print_coverage(list, n);
            return 0;
        }
        if (strcmp(argv[i], "--isa") == 0 && more)
            only_isa = argv[++i];
        else if (strcmp(argv[i], "--type") == 0 && more)
            only_type = argv[++i];
        else if (strcmp(argv[i], "--seed") == 0 && more)
            seed = strtoull(argv[++i], nullptr, 0);
        else {
            fprintf(stderr, "use: checkasm [--isa NAME] [--type NAME] [--seed N] | --coverage\n");
            return 2;
        }
    }
    n_failed += count_wrong_fmaf(&n_checked) + count_wrong_choices(&n_checked);
    long n_done = 0; // pairs of a type and an instruction set
    for (size_t i = 0; i < n; i++) {
        if (only_isa && !is_called(*list[i], only_isa)) continue;
        const long failed_before = n_failed, checked_before = n_checked;
        for (uint32_t id = 0; id < fmt::kTypeIds; id++) {
            const fmt::TypeInfo *type = fmt::type_info(id);
            if (!type || (only_type && strcmp(type->name, only_type) != 0)) continue;
            check_type(*list[i], *list[0], *type, seed);
            n_done++;
        }
        printf("%s: %ld checks, %ld failed\n", set_name(*list[i]), n_checked - checked_before,
               n_failed - failed_before);
    }
    printf("%ld checks, %ld failed\n", n_checked, n_failed);
    if (n_done == 0) {
        fprintf(stderr, "checkasm: no such type, or not a set of this machine\n");
        return 2;
    }
    return n_failed == 0 && n_checked > 0 ? 0 : 1;
}
