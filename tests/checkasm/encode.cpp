// Compares the quantizers of every type and instruction set with the scalar reference, for several
// numbers of blocks. Bytes are identical, with and without an importance matrix; no access outside
// the operands.
//   checkasm_encode [--isa NAME] [--type NAME] [--seed N]
// SPDX-License-Identifier: MIT
#include "kernels/encode.hpp"
#include "base/cpu.hpp"
#include "data.hpp"
#include "kernels/dispatch.hpp"
#include "quant/quantize.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

using namespace ggufx;
using namespace testdata;

long n_checked, n_failed;

// Distribution of a group of values; it changes every 8, 16, 32 or 256 values.
enum class Shape : uint32_t {
    bell,
    scales,   // very different scales of groups
    outlier,  // one value far above the others
    ties,     // multiples of a power of two: halfway cases of every rounding
    equal,    // one magnitude
    zero,     // zeros of either sign
    nearly,   // one nonzero value
    faint,    // below the threshold that counts as zero
    tiny,     // scales too small for f16
    least,    // around the smallest normal number: exponents that end at 0
    large,    // scales too large for f16
    huge,     // sums overflow
    one_sign, // far from zero
    negative,
    far_apart, // a different magnitude for each value
};
constexpr uint32_t kShapes = 15;

float bell(Random &random) {
    float sum = 0.0f;
    for (int i = 0; i < 6; i++) sum += random.unit();
    return sum;
}

float value_of(Shape shape, Random &random) {
    const float v = bell(random);
    switch (shape) {
    case Shape::bell:
    case Shape::scales:
        return v;
    case Shape::outlier:
        return random.below(40) ? v * 0.1f : 50.0f * random.unit();
    case Shape::ties:
        return static_cast<float>(static_cast<int32_t>(random.below(255)) - 127) * 0.5f;
    case Shape::equal:
        return random.below(2) ? 0.75f : -0.75f;
    case Shape::zero:
        return random.below(2) ? 0.0f : -0.0f;
    case Shape::nearly:
        return random.below(30) ? 0.0f : v;
    case Shape::faint:
        return v * 0x1p-52f;
    case Shape::tiny:
        return v * (random.below(2) ? 0x1p-24f : 0x1p-140f);
    case Shape::least:
        return v * 0x1p-127f;
    case Shape::large:
        return v * 0x1p19f;
    case Shape::huge:
        return v * 0x1p126f;
    case Shape::one_sign:
        return 40.0f + random.unit();
    case Shape::negative:
        return -3.0f - 2.0f * random.unit();
    case Shape::far_apart: {
        const auto exponent = static_cast<uint32_t>(127 - 100 + random.below(200));
        return v * f32_from_bits(exponent << 23);
    }
    }
    return 0.0f;
}

void fill(float *x, size_t n, Random &random) {
    constexpr size_t kRuns[4] = {8, 16, 32, 256};
    for (size_t i = 0; i < n;) {
        const auto shape = static_cast<Shape>(random.below(2) ? random.below(kShapes) : 0);
        const float scale = shape == Shape::scales ? 0x1p-8f * (1.0f + bell(random)) : 1.0f;
        const size_t end = i + kRuns[random.below(4)];
        for (; i < n && i < end; i++) {
            do x[i] = value_of(shape, random) * scale;
            while ((f32_bits(x[i]) & 0x7f800000u) == 0x7f800000u);
        }
    }
}

// Importance of columns: even, of all magnitudes, partly zero, or so small that squares of sums
// lose bits.
void fill_imatrix(float *w, size_t n, Random &random) {
    const uint32_t kind = random.below(4);
    for (size_t i = 0; i < n; i++) {
        const float v = 1.0f + 0.5f * random.unit();
        if (kind == 0) w[i] = v;
        if (kind == 1) w[i] = v * f32_from_bits((127 - 20 + random.below(40)) << 23);
        if (kind == 3) w[i] = v * 0x1p-110f;
        if (kind == 2) w[i] = random.below(5) && i / 32 % 7 != 3 ? v : 0.0f;
    }
}

struct Case {
    const fmt::TypeInfo &type;
    size_t n_rows, n_blocks; // n_blocks: per row
    bool weighted;
};

void check(const kernels::Kernels &set, const kernels::Kernels &scalar, const Host &host,
           const Case &c, Random &random) {
    const size_t n_cols = c.n_blocks * c.type.block_values, n = c.n_rows * n_cols;
    const size_t n_bytes = c.n_rows * c.n_blocks * c.type.block_bytes;
    const Guarded x(n * sizeof(float)), w(n_cols * sizeof(float)), got(n_bytes), want(n_bytes);
    fill(x.floats(), n, random);
    fill_imatrix(w.floats(), n_cols, random);
    memset(got.data(), 0xaa, n_bytes);
    memset(want.data(), 0x55, n_bytes);
    const quant::Rows rows = {x.floats(), c.n_rows, n_cols, c.weighted ? w.floats() : nullptr};
    Failure failure = {};
    const Status a =
        quant::quantize({got.data(), n_bytes, c.type.id}, host, set, rows, {}, &failure);
    const Status b =
        quant::quantize({want.data(), n_bytes, c.type.id}, host, scalar, rows, {}, &failure);
    n_checked++;
    size_t at = 0;
    while (at < n_bytes && got.data()[at] == want.data()[at]) at++;
    if (a == Status::ok && b == Status::ok && at == n_bytes) return;
    if (n_failed++ < 20)
        printf("FAILED %s %s %zu x %zu blocks%s: block %zu byte %zu; %s\n", set.layers[0]->name,
               c.type.name, c.n_rows, c.n_blocks, c.weighted ? " with imatrix" : "",
               at / c.type.block_bytes, at % c.type.block_bytes, failure.message);
}

// Rows and blocks around the steps of kernels: 8 and 16 lanes, whole rows and parts.
constexpr size_t kRowsAndBlocks[][2] = {{1, 1},  {1, 2},  {2, 3}, {1, 7},  {1, 8},  {3, 5},
                                        {1, 16}, {1, 17}, {7, 3}, {2, 16}, {1, 31}, {5, 9}};

void check_type(const kernels::Kernels &set, const kernels::Kernels &scalar, const Host &host,
                uint32_t id, Random &random) {
    const fmt::TypeInfo *type = fmt::type_info(id);
    const kernels::Encode *encoder = quant::encoder(id);
    for (const auto &shape : kRowsAndBlocks)
        for (int weighted = 0; weighted < 2; weighted++) {
            if (encoder->needs.imatrix && !weighted) continue;
            const size_t more = type->block_values < 32 ? 37 : 1; // float types: longer rows
            check(set, scalar, host, {*type, shape[0], shape[1] * more, weighted != 0}, random);
        }
}

} // namespace

int main(int argc, char **argv) {
    const char *only_isa = nullptr, *only_type = nullptr;
    uint64_t seed = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--isa") == 0) only_isa = argv[i + 1];
        if (strcmp(argv[i], "--type") == 0) only_type = argv[i + 1];
        if (strcmp(argv[i], "--seed") == 0) seed = strtoull(argv[i + 1], nullptr, 0);
    }
    constexpr HostOptions kOneThread = {nullptr, nullptr, nullptr, 1};
    const Ref<Host> host = Host::create(kOneThread);
    const kernels::Kernels *all[16];
    const size_t n = kernels::list(all, 16, cpu::features());
    Random random(seed);
    for (size_t i = 1; i < n; i++) {
        if (only_isa && strcmp(all[i]->layers[0]->name, only_isa) != 0) continue;
        for (uint32_t id = 0; id < fmt::kTypeIds; id++) {
            const kernels::Layer *layer = nullptr;
            if (!kernels::find(*all[i], &kernels::Layer::encode, id, &layer)) continue;
            if (layer != all[i]->layers[0]) continue; // inherited kernel
            if (only_type && strcmp(fmt::type_info(id)->name, only_type) != 0) continue;
            check_type(*all[i], *all[0], *host, id, random);
        }
    }
    printf("%ld checks, %ld failed\n", n_checked, n_failed);
    return n_failed != 0 || (n_checked == 0 && n > 1);
}
