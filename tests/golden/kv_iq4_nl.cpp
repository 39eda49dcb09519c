// IQ4_NL of the KV cache: codes from the largest value and one least-squares step for the scale, in
// binary64. If GGUFX_TEST_DATA exists, also the bytes of the reference's runtime quantizer
// (qref/iq4_nl).
// SPDX-License-Identifier: MIT
#include "base/cpu.hpp"
#include "base/fpenv.hpp"
#include "golden.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/kv.hpp"
#include "kernels/kv_encode.hpp"
#include "made_rows.hpp"

#include <math.h>
#include <stdlib.h>

namespace golden {

using namespace ggufx;

namespace {

constexpr size_t kValues = 32, kBlockBytes = 18, kAtOnce = kernels::kKvGroup;

// Quantizes up to sixteen blocks of values into the layout of files.
void encode(uint8_t *out, const kernels::Kernels &isa, const uint8_t *values, size_t n_blocks) {
    using namespace kernels;
    constexpr KvFormat format = kv_format(KvKind::iq4_nl);
    constexpr KvStream stream = KvStream::k;
    alignas(64) float x[kValues * kAtOnce] = {};
    alignas(64) uint8_t code[kValues * kAtOnce], page[kv_layout_codes(format, kValues).bytes];
    for (size_t b = 0; b < n_blocks; b++)
        for (size_t j = 0; j < kValues; j++)
            x[j * kAtOnce + b] = load_f32le(values + 4 * (b * kValues + j));
    KvLost lost;
    const CanonicalFp canonical;
    kv_pages_of(isa)->encoders->encode[static_cast<uint32_t>(KvKind::iq4_nl)](
        {page, stream, 0}, {x, code, code}, kValues, lost);
    for (uint32_t b = 0; b < n_blocks; b++, out += kBlockBytes) {
        uint8_t codes[kValues];
        kv_read_codes(codes, page, stream, format, kValues, b);
        store_u16le(out, load_u16le(page + kv_scale_at(stream, format, kValues, b, 0)));
        for (size_t j = 0; j < 16; j++)
            out[2 + j] = static_cast<uint8_t>(codes[j] | codes[j + 16] << 4);
    }
}

struct Count {
    size_t equal, beyond, no_scale;
};

// All bytes are the same, with two exceptions. A scale beyond f16 is the largest f16 here and
// infinite in the reference. Codes with a zero scale are unspecified (the reference keeps those of
// the previous block).
void compare_block(Report &r, Count *count, const char *item, const char *set, size_t at,
                   const uint8_t *got, const uint8_t *want) {
    const int scale = load_u16le(want), ours = load_u16le(got);
    if ((scale & 0x7fff) == 0) {
        r.check((ours & 0x7fff) == 0, "%s, %s: block %zu: scale %04x for 0", item, set, at, ours);
        count->no_scale++;
        return;
    }
    const bool beyond = (scale & 0x7fff) == 0x7c00;
    r.check(ours == (beyond ? scale - 1 : scale), "%s, %s: block %zu: scale %04x, not %04x", item,
            set, at, ours, scale);
    size_t n_wrong = 0;
    for (size_t i = 2; i < kBlockBytes; i++) n_wrong += got[i] != want[i];
    r.check(n_wrong == 0, "%s, %s: block %zu: %zu bytes of codes differ", item, set, at, n_wrong);
    (beyond ? count->beyond : count->equal)++;
}

size_t check_item(Report &r, const std::string &folder, const char *item) {
    Bytes input, want, got;
    if (!r.check(read_file(&input, folder + "/input_" + item + ".bin") &&
                     read_file(&want, folder + "/qref_iq4_nl_" + item + ".bin"),
                 "files of qref/iq4_nl/%s are missing", item))
        return 0;
    const size_t n_blocks = input.size() / (4 * kValues);
    if (!r.check(want.size() == n_blocks * kBlockBytes, "%s: wrong size", item)) return 0;
    const kernels::Kernels *sets[16];
    const size_t n_sets = kernels::list(sets, 16, cpu::features());
    Count count = {0, 0, 0};
    got.resize(want.size());
    for (size_t set = 0; set < n_sets; set++) {
        for (size_t b = 0; b < n_blocks; b += kAtOnce)
            encode(got.data() + b * kBlockBytes, *sets[set], input.data() + 4 * kValues * b,
                   n_blocks - b < kAtOnce ? n_blocks - b : kAtOnce);
        for (size_t b = 0; b < n_blocks; b++)
            compare_block(r, &count, item, kernels::name_of(*sets[set]), b,
                          got.data() + b * kBlockBytes, want.data() + b * kBlockBytes);
    }
    r.note("%s: %zu blocks byte for byte, %zu beyond f16, %zu of zeros, in %zu sets", item,
           count.equal, count.beyond, count.no_scale, n_sets);
    return n_blocks;
}

// Values of the sixteen codes. The function returns the code nearest to a number; *near: another
// one is equally near, up to rounding.
constexpr int kCodes[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                            1,    13,   25,  38,  53,  69,  89,  113};

size_t nearest(double x, bool *near) {
    size_t best = 0;
    for (size_t i = 1; i < 16; i++)
        if (fabs(x - kCodes[i]) < fabs(x - kCodes[best])) best = i;
    *near = false;
    for (size_t i = 0; i < 16; i++)
        if (i != best && fabs(x - kCodes[i]) - fabs(x - kCodes[best]) < 1e-3) *near = true;
    return best;
}

// The value of largest magnitude gets the code -127. Least-squares weights are the squares.
void check_by_formula(Report &r, const char *item, const char *set, size_t at, const uint8_t *got,
                      const float *x) {
    double first = 0;
    for (size_t i = 0; i < kValues; i++)
        if (fabs(static_cast<double>(x[i])) > fabs(first)) first = static_cast<double>(x[i]);
    const double scale = static_cast<double>(f16_to_f32(load_u16le(got)));
    if (fabs(first) < 1e-15) {
        r.check(scale == 0, "%s, %s: block %zu: scale %g of nothing", item, set, at, scale);
        return;
    }
    double qx = 0, q2 = 0;
    for (size_t i = 0; i < kValues; i++) {
        const size_t code = got[2 + i % 16] >> (i < 16 ? 0 : 4) & 15;
        bool near;
        const double v = static_cast<double>(x[i]);
        const size_t want = nearest(v * kCodes[0] / first, &near);
        r.check(near || code == want || scale == 0,
                "%s, %s: block %zu value %zu: code %zu, not %zu", item, set, at, i, code, want);
        qx += v * v * kCodes[code] * v;
        q2 += v * v * kCodes[code] * kCodes[code];
    }
    const double d = qx / q2;
    r.check(fabs(scale - d) <= fabs(d) * 0x1p-10 + 0x1p-24 || fabs(d) > 65504,
            "%s, %s: block %zu: scale %g, not %g", item, set, at, scale, d);
}

size_t check_made_rows(Report &r) {
    const kernels::Kernels *sets[16];
    const size_t n_sets = kernels::list(sets, 16, cpu::features());
    size_t n = 0;
    for (const Rows &rows : made_rows()) {
        const size_t n_blocks = rows.x.size() / kValues;
        Bytes values(4 * rows.x.size()), got(n_blocks * kBlockBytes);
        for (size_t i = 0; i < rows.x.size(); i++) store_u32le(&values[4 * i], f32_bits(rows.x[i]));
        for (size_t set = 0; set < n_sets; set++) {
            for (size_t b = 0; b < n_blocks; b += kAtOnce)
                encode(got.data() + b * kBlockBytes, *sets[set], values.data() + 4 * kValues * b,
                       n_blocks - b < kAtOnce ? n_blocks - b : kAtOnce);
            for (size_t b = 0; b < n_blocks; b++, n++)
                check_by_formula(r, rows.name, kernels::name_of(*sets[set]), b,
                                 got.data() + b * kBlockBytes, rows.x.data() + b * kValues);
        }
    }
    return n;
}

} // namespace

int test_kv_iq4_nl_matches_its_formula(Report &r, const std::string &) {
    const size_t n = check_made_rows(r);
    r.check(n >= 4 * 128, "only %zu blocks", n);
    r.note("%zu blocks by the formula", n);
    const std::string folder = shared_folder("golden");
    if (folder.empty()) {
        r.note("stored vectors: skipped, no GGUFX_TEST_DATA/formats/golden");
        return r.exit_code();
    }
    r.check(check_item(r, folder, "gauss") == 128, "gauss has no 128 blocks");
    r.check(check_item(r, folder, "edge") == 448, "edge has no 448 blocks");
    return r.exit_code();
}

} // namespace golden
