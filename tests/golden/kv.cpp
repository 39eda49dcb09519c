// TQ3_0 of the KV cache against published blocks: bytes, decoded values, dots (../shared/kv).
// SPDX-License-Identifier: MIT
#include "golden.hpp"
#include "kv/types/encoders.hpp"

#include <math.h>
#include <stdlib.h>
#include <string.h>

namespace golden {

using namespace ggufx;

namespace {

constexpr size_t kValues = 32;

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

// The codes of a block that rounding decides are masked; the rest is exact.
void compare_block(Report &r, size_t block, const uint8_t *got, const uint8_t *want,
                   const uint8_t *qs_mask, const uint8_t *qr_mask) {
    uint8_t codes[kValues], expected[kValues];
    uint16_t scale, expected_scale;
    kv::unpack_tq3_block(codes, &scale, got);
    kv::unpack_tq3_block(expected, &expected_scale, want);
    const int ulps = int{scale} - int{expected_scale};
    r.check(ulps >= -1 && ulps <= 1, "block %zu: scale %04x, not %04x", block, scale,
            expected_scale);
    for (size_t j = 0; j < kValues; j++) {
        if (!qs_mask[j])
            r.check((codes[j] & 3) == (expected[j] & 3), "block %zu value %zu: code %d, not %d",
                    block, j, codes[j] & 3, expected[j] & 3);
        if (!qr_mask[j] && !qs_mask[j])
            r.check(codes[j] >> 2 == expected[j] >> 2, "block %zu value %zu: bit differs", block,
                    j);
    }
}

// Decoding the published bytes: |error| <= 2e-6 of the largest value of the row.
std::vector<float> compare_values(Report &r, size_t row, const uint8_t *bytes, const float *want,
                                  uint32_t n) {
    std::vector<uint8_t> codes(n);
    std::vector<uint16_t> scales(n / kValues);
    std::vector<float> out(n);
    for (size_t b = 0; b < n / kValues; b++)
        kv::unpack_tq3_block(codes.data() + b * kValues, scales.data() + b,
                             bytes + b * kv::kTq3BlockBytes);
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

// Rows of n values: encoded, decoded, multiplied.
void check_blocks(Report &r, const Blocks &b, uint32_t n) {
    const size_t n_rows = b.input.size() / n, n_queries = b.query.size() / n;
    const size_t row_bytes = n / kValues * kv::kTq3BlockBytes;
    if (!r.check(b.bytes.size() == n_rows * row_bytes && b.values.size() == b.input.size() &&
                     b.dots.size() == n_rows * n_queries * 8 && b.qr_mask.size() == b.input.size(),
                 "files of odd sizes"))
        return;
    for (size_t i = 0; i < b.input.size() / kValues; i++) {
        float x[kValues];
        uint8_t block[kv::kTq3BlockBytes];
        memcpy(x, b.input.data() + i * kValues, sizeof x);
        kv::rotate_tq3(x);
        kv::pack_tq3_block(block, x);
        compare_block(r, i, block, b.bytes.data() + i * kv::kTq3BlockBytes,
                      b.qs_mask.data() + i * kValues, b.qr_mask.data() + i * kValues);
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

} // namespace

int test_kv_tq3_matches_shared_vectors(Report &r, const std::string &) {
    const std::string folder = kv_folder();
    Blocks blocks, rows;
    if (folder.empty() ||
        !read_blocks(&blocks, folder, "input.f32", "", "query.f32", "dot_seed.f64")) {
        r.note("no GGUFX_TEST_DATA/kv: skipped");
        return kSkip;
    }
    check_blocks(r, blocks, kValues);
    if (r.check(read_blocks(&rows, folder, "k128.f32", "k128_", "q128.f32", "k128_dot_seed.f64"),
                "the rows of 128 are missing"))
        check_blocks(r, rows, 128);
    r.note("%zu blocks, %zu rows of 128", blocks.input.size() / kValues, rows.input.size() / 128);
    return r.exit_code();
}

// Carried here: one block by hand. A single 1 at value 3 becomes +-1/sqrt(32) everywhere.
int test_kv_tq3_of_simple_blocks(Report &r, const std::string &) {
    float x[kValues] = {}, out[kValues];
    uint8_t block[kv::kTq3BlockBytes], codes[kValues];
    uint16_t scale;
    kv::rotate_tq3(x);
    kv::pack_tq3_block(block, x);
    for (size_t i = 0; i < 14; i++) {
        const uint8_t want = i < 8 ? 0xaa : i < 12 ? 0xff : 0;
        r.check(block[i] == want, "zeros: byte %zu is %02x", i, block[i]);
    }
    x[3] = 8.0f;
    kv::rotate_tq3(x);
    kv::pack_tq3_block(block, x);
    kv::unpack_tq3_block(codes, &scale, block);
    for (size_t j = 0; j < kValues; j++)
        r.check((codes[j] & 3) == (x[j] < 0 ? 0 : 3), "value %zu: code %d", j, codes[j]);
    kv::decode_vector(*kv::type_ops(64), out, {codes, &scale, nullptr}, kValues, kv::Side::v);
    for (size_t j = 0; j < kValues; j++)
        r.check(fabsf(out[j] - (j == 3 ? 8.0f : 0.0f)) <= 0.004f, "value %zu: %g", j,
                static_cast<double>(out[j]));
    return r.exit_code();
}

} // namespace golden
