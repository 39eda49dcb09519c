// IQ4_NL of the KV cache against what the reference's encoder for rows at run time makes of them
// (qref/iq4_nl: one least-squares step instead of a search).
// SPDX-License-Identifier: MIT
#include "base/cpu.hpp"
#include "base/fpenv.hpp"
#include "golden.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/kv.hpp"
#include "kernels/kv_encode.hpp"

#include <stdlib.h>

namespace golden {

using namespace ggufx;

namespace {

constexpr size_t kValues = 32, kBlockBytes = 18, kAtOnce = kernels::kKvGroup;

// Up to sixteen blocks of values, as blocks of a file.
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

// All bytes are the same but for two cases: a scale beyond f16 is its largest number here, infinite
// there; codes behind a scale of zero mean nothing (the reference leaves those of the block
// before).
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

} // namespace

int test_kv_iq4_nl_matches_shared_vectors(Report &r, const std::string &) {
    const std::string folder = shared_folder("golden");
    if (folder.empty()) {
        r.note("no GGUFX_TEST_DATA/formats/golden: skipped");
        return kSkip;
    }
    r.check(check_item(r, folder, "gauss") == 128, "gauss has no 128 blocks");
    r.check(check_item(r, folder, "edge") == 448, "edge has no 448 blocks");
    return r.exit_code();
}

} // namespace golden
