// TQ3_0 of the KV cache: codes and values against its formula in binary64. If GGUFX_TEST_DATA
// exists, also published blocks: bytes, dequantized values, dot products.
// SPDX-License-Identifier: MIT
#include "kernels/kv.hpp"
#include "base/cpu.hpp"
#include "base/fpenv.hpp"
#include "golden.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/kv_encode.hpp"
#include "kv/types.hpp"
#include "made_rows.hpp"

#include <math.h>
#include <stdlib.h>
#include <string.h>

namespace golden {

using namespace ggufx;

namespace {

constexpr size_t kValues = 32, kBlockBytes = 14;

// A published block: qs[8] 2-bit codes (value j: bits 2 * (j % 4) of byte j / 4), qr[4] signs of
// the residuals, f16 scale. In the codes of pages that sign is bit 2.
struct Block {
    uint8_t codes[kValues];
    uint16_t scale;
};

Block unpack(const uint8_t *bytes) {
    Block block;
    for (size_t j = 0; j < kValues; j++) {
        const uint32_t low = uint32_t{bytes[j / 4]} >> 2 * (j % 4) & 3u;
        const uint32_t bit = uint32_t{bytes[8 + j / 8]} >> j % 8 & 1u;
        block.codes[j] = static_cast<uint8_t>(low | bit << 2);
    }
    block.scale = load_u16le(bytes + 12);
    return block;
}

// Quantizes up to sixteen blocks of values with an instruction set.
std::vector<Block> encode(const kernels::Kernels &isa, const float *values, size_t n_blocks) {
    using namespace kernels;
    constexpr KvFormat format = kv_format(KvKind::tq3_0);
    constexpr KvStream stream = KvStream::k;
    alignas(64) float x[kValues * kKvGroup] = {};
    alignas(64) uint8_t code[kValues * kKvGroup], page[kv_layout_codes(format, kValues).bytes];
    for (size_t b = 0; b < n_blocks; b++)
        for (size_t j = 0; j < kValues; j++) x[j * kKvGroup + b] = values[b * kValues + j];
    KvLost lost;
    const CanonicalFp canonical;
    const KvEncoders &encoders = *kv_pages_of(isa)->encoders;
    encoders.rotate(KvTransform::tq3, x, kValues);
    encoders.encode[static_cast<uint32_t>(KvKind::tq3_0)]({page, stream, 0}, {x, code, code},
                                                          kValues, lost);
    std::vector<Block> out(n_blocks);
    for (uint32_t b = 0; b < n_blocks; b++) {
        kv_read_codes(out[b].codes, page, stream, format, kValues, b);
        out[b].scale = load_u16le(page + kv_scale_at(stream, format, kValues, b, 0));
    }
    return out;
}

std::string kv_folder() {
    const char *data = getenv("GGUFX_TEST_DATA");
    return data ? std::string(data) + "/kv/public" : std::string();
}

std::vector<float> floats_of(const Bytes &bytes) {
    std::vector<float> out(bytes.size() / 4);
    for (size_t i = 0; i < out.size(); i++) out[i] = load_f32le(bytes.data() + 4 * i);
    return out;
}

double double_of(const uint8_t *p) {
    uint64_t u = 0;
    for (int i = 7; i >= 0; i--) u = u << 8 | p[i];
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

// Compares codes, except the masked ones that rounding decides; the rest is exact.
void compare_block(Report &r, size_t block, const Block &got, const Block &want,
                   const uint8_t *qs_mask, const uint8_t *qr_mask) {
    const uint8_t *const codes = got.codes, *const expected = want.codes;
    const int ulps = int{got.scale} - int{want.scale};
    r.check(ulps >= -1 && ulps <= 1, "block %zu: scale %04x, not %04x", block, got.scale,
            want.scale);
    for (size_t j = 0; j < kValues; j++) {
        if (!qs_mask[j])
            r.check((codes[j] & 3) == (expected[j] & 3), "block %zu value %zu: code %d, not %d",
                    block, j, codes[j] & 3, expected[j] & 3);
        if (!qr_mask[j] && !qs_mask[j])
            r.check(codes[j] >> 2 == expected[j] >> 2, "block %zu value %zu: bit differs", block,
                    j);
    }
}

// Dequantizes the published bytes: |error| <= 2e-6 of the largest value of the row.
std::vector<float> compare_values(Report &r, size_t row, const uint8_t *bytes, const float *want,
                                  uint32_t n) {
    std::vector<uint8_t> codes(n);
    std::vector<uint16_t> scales(n / kValues);
    std::vector<float> out(n);
    for (size_t b = 0; b < n / kValues; b++) {
        const Block block = unpack(bytes + b * kBlockBytes);
        memcpy(codes.data() + b * kValues, block.codes, kValues);
        scales[b] = block.scale;
    }
    kv::decode_vector(*kv::type_ops(64), out.data(), {codes.data(), scales.data(), nullptr}, n,
                      kv::Side::k);
    float largest = 0;
    for (size_t i = 0; i < n; i++) largest = fmaxf(largest, fabsf(want[i]));
    for (size_t i = 0; i < n; i++)
        r.check(fabsf(out[i] - want[i]) <= 2e-6f * largest, "row %zu value %zu: %.9g, not %.9g",
                row, i, static_cast<double>(out[i]), static_cast<double>(want[i]));
    return out;
}

struct Blocks {
    Bytes bytes, qs_mask, qr_mask, dots;
    std::vector<float> input, values, query;
};

bool read_blocks(Blocks *b, const std::string &folder, const std::string &input,
                 const std::string &prefix, const std::string &query, const std::string &dots) {
    Bytes x, y, q;
    const bool ok = read_file(&x, folder + "/" + input) &&
                    read_file(&b->bytes, folder + "/" + prefix + "tq3_0_seed.bin") &&
                    read_file(&y, folder + "/" + prefix + "dequant_seed.f32") &&
                    read_file(&q, folder + "/" + query) &&
                    read_file(&b->dots, folder + "/" + dots) &&
                    read_file(&b->qr_mask, folder + "/" + prefix + "mask_qr_ambiguous_seed.u8");
    if (!ok) return false;
    if (!read_file(&b->qs_mask, folder + "/" + prefix + "mask_qs_ambiguous_seed.u8"))
        b->qs_mask.assign(b->qr_mask.size(), 0);
    b->input = floats_of(x);
    b->values = floats_of(y);
    b->query = floats_of(q);
    return true;
}

// Rows of n values: quantized, dequantized, multiplied.
void check_blocks(Report &r, const Blocks &b, uint32_t n) {
    const size_t n_rows = b.input.size() / n, n_queries = b.query.size() / n;
    const size_t row_bytes = n / kValues * kBlockBytes;
    if (!r.check(b.bytes.size() == n_rows * row_bytes && b.values.size() == b.input.size() &&
                     b.dots.size() == n_rows * n_queries * 8 && b.qr_mask.size() == b.input.size(),
                 "files of odd sizes"))
        return;
    const kernels::Kernels *sets[16];
    const size_t n_sets = kernels::list(sets, 16, cpu::features());
    const size_t n_blocks = b.input.size() / kValues;
    for (size_t set = 0; set < n_sets; set++) {
        for (size_t first = 0; first < n_blocks; first += 16) {
            const size_t count = n_blocks - first < 16 ? n_blocks - first : 16;
            const std::vector<Block> got =
                encode(*sets[set], b.input.data() + first * kValues, count);
            for (size_t i = first; i < first + count; i++)
                compare_block(r, i, got[i - first], unpack(b.bytes.data() + i * kBlockBytes),
                              b.qs_mask.data() + i * kValues, b.qr_mask.data() + i * kValues);
        }
    }
    for (size_t i = 0; i < n_rows; i++) {
        const std::vector<float> row =
            compare_values(r, i, b.bytes.data() + i * row_bytes, b.values.data() + i * n, n);
        for (size_t k = 0; k < n_queries; k++) {
            double dot = 0, lengths[2] = {0, 0};
            for (size_t j = 0; j < n; j++) {
                const double u = static_cast<double>(row[j]);
                const double v = static_cast<double>(b.query[k * n + j]);
                dot += u * v;
                lengths[0] += u * u;
                lengths[1] += v * v;
            }
            const double stored = double_of(b.dots.data() + 8 * (i * n_queries + k));
            r.check(fabs(dot - stored) <= 1e-5 * sqrt(lengths[0] * lengths[1]),
                    "row %zu query %zu: %.9g, not %.9g", i, k, dot, stored);
        }
    }
}

// The formula in binary64: signs, a Hadamard transform, then codes by the largest magnitude.
constexpr char kSigns[] = "+-++--+-++-+-+--+--++-+--+++--+-";
constexpr double kLevels[4] = {-1.51, -0.453, 0.453, 1.51}, kBorder = 0.9815;

void rotate(double *y) {
    for (size_t h = 1; h < kValues; h *= 2)
        for (size_t i = 0; i < kValues; i++) {
            if (i & h) continue;
            const double a = y[i], b = y[i + h];
            y[i] = a + b;
            y[i + h] = a - b;
        }
    for (size_t i = 0; i < kValues; i++) y[i] /= sqrt(32.0);
}

void check_by_formula(Report &r, const char *set, size_t at, const Block &got, const float *x) {
    double y[kValues], largest = 0;
    for (size_t i = 0; i < kValues; i++)
        y[i] = static_cast<double>(x[i]) * (kSigns[i] == '+' ? 1 : -1);
    rotate(y);
    for (const double v : y) largest = fabs(v) > largest ? fabs(v) : largest;
    const double d = largest / 1.51;
    const double scale = static_cast<double>(f16_to_f32(got.scale));
    r.check(fabs(scale - d) <= d * 0x1p-10 + 0x1p-25, "%s, block %zu: scale %g, not %g", set, at,
            scale, d);
    for (size_t i = 0; i < kValues; i++) {
        const double u = d > 0 ? y[i] / d : 0;
        const int code = u < -kBorder ? 0 : u < 0 ? 1 : u < kBorder ? 2 : 3;
        // Either code is right near a threshold, because f32 rounding decides.
        const bool near = fabs(fabs(u) - kBorder) < 1e-5 || fabs(u) < 1e-5;
        r.check(near || (got.codes[i] & 3) == code, "%s, block %zu value %zu: code %d, not %d", set,
                at, i, got.codes[i] & 3, code);
        const double rest = y[i] - d * kLevels[got.codes[i] & 3];
        r.check(fabs(rest) < 1e-5 * d || (got.codes[i] >> 2 == 1) == (rest >= 0),
                "%s, block %zu value %zu: the sign of the rest", set, at, i);
    }
    // Dequantized: the levels times the scale, rotated back.
    float out[kValues];
    kv::decode_vector(*kv::type_ops(64), out, {got.codes, &got.scale, nullptr}, kValues,
                      kv::Side::k);
    for (size_t i = 0; i < kValues; i++) y[i] = kLevels[got.codes[i] & 3] * scale;
    rotate(y);
    for (size_t i = 0; i < kValues; i++)
        r.check(fabs(static_cast<double>(out[i]) - y[i] * (kSigns[i] == '+' ? 1 : -1)) <=
                    2e-6 * largest,
                "%s, block %zu value %zu: decodes to %g", set, at, i, static_cast<double>(out[i]));
}

void check_stored_blocks(Report &r) {
    const std::string folder = kv_folder();
    Blocks blocks, rows;
    if (folder.empty() ||
        !read_blocks(&blocks, folder, "input.f32", "", "query.f32", "dot_seed.f64"))
        return r.note("stored vectors: skipped, no GGUFX_TEST_DATA/kv");
    check_blocks(r, blocks, kValues);
    if (r.check(read_blocks(&rows, folder, "k128.f32", "k128_", "q128.f32", "k128_dot_seed.f64"),
                "the rows of 128 are missing"))
        check_blocks(r, rows, 128);
    r.note("%zu blocks, %zu rows of 128", blocks.input.size() / kValues, rows.input.size() / 128);
}

} // namespace

int test_kv_tq3_matches_its_formula(Report &r, const std::string &) {
    const kernels::Kernels *sets[16];
    const size_t n_sets = kernels::list(sets, 16, cpu::features());
    size_t n = 0;
    for (const Rows &rows : made_rows()) {
        for (size_t set = 0; set < n_sets; set++) {
            for (size_t first = 0; first + 16 * kValues <= rows.x.size(); first += 16 * kValues) {
                const std::vector<Block> got = encode(*sets[set], rows.x.data() + first, 16);
                for (size_t b = 0; b < 16; b++, n++)
                    check_by_formula(r, rows.name, first / kValues + b, got[b],
                                     rows.x.data() + first + b * kValues);
            }
        }
    }
    r.check(n >= 4 * 128, "only %zu blocks", n);
    r.note("%zu blocks by the formula", n);
    check_stored_blocks(r);
    return r.exit_code();
}

// One block calculated by hand. A single 1 at value 3 becomes +-1/sqrt(32) everywhere.
int test_kv_tq3_of_simple_blocks(Report &r, const std::string &) {
    const kernels::Kernels &scalar = *kernels::select(1, 0);
    float x[kValues] = {}, out[kValues];
    const Block zeros = encode(scalar, x, 1)[0];
    for (size_t j = 0; j < kValues; j++)
        r.check(zeros.codes[j] == (2 | 4), "zeros: value %zu: code %d", j, zeros.codes[j]);
    r.check(zeros.scale == 0, "zeros: scale %04x", zeros.scale);
    x[3] = 8.0f;
    const Block one = encode(scalar, x, 1)[0];
    for (uint32_t j = 0; j < kValues; j++) // row 3 of the transform; the sign of value 3 is +
        r.check((one.codes[j] & 3) == (__builtin_popcount(j & 3) % 2 ? 0 : 3), "value %u: code %d",
                j, one.codes[j]);
    kv::decode_vector(*kv::type_ops(64), out, {one.codes, &one.scale, nullptr}, kValues,
                      kv::Side::v);
    for (size_t j = 0; j < kValues; j++)
        r.check(fabsf(out[j] - (j == 3 ? 8.0f : 0.0f)) <= 0.004f, "value %zu: %g", j,
                static_cast<double>(out[j]));
    return r.exit_code();
}

} // namespace golden
