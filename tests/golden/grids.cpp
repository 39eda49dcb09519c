// The codebooks against their checksums and, if GGUFX_TEST_DATA exists, entry by entry.
// SPDX-License-Identifier: MIT
#include "formats/grids/grids.hpp"
#include "golden.hpp"

#include <stdlib.h>

namespace golden {

using namespace ggufx;

namespace {

struct Table {
    const char *file;
    const int8_t *values;
    size_t n_values;
    bool is_unsigned;
    uint32_t checksum; // FNV-1a of the bytes, taken when they equalled the shared tables
};

const Table kTables[] = {
    {"iq2xxs_grid", fmt::kGridIq2Xxs.row[0], 256 * 8, false, 0x3db4a16eu},
    {"iq2xs_grid", fmt::kGridIq2Xs.row[0], 512 * 8, false, 0xebeb17ddu},
    {"iq2s_grid", fmt::kGridIq2S.row[0], 1024 * 8, false, 0x82981110u},
    {"iq1s_grid", fmt::kGridIq1.row[0], 2048 * 8, false, 0x2fe8cbceu},
    {"iq3xxs_grid", fmt::kGridIq3Xxs.row[0], 256 * 4, false, 0x49a45035u},
    {"iq3s_grid", fmt::kGridIq3S.row[0], 512 * 4, false, 0x71cc6c89u},
    {"ksigns_iq2xs", reinterpret_cast<const int8_t *>(fmt::kSigns7.byte), 128, true, 0xaba69a45u},
    {"kvalues_iq4nl", fmt::kCodesIq4, 16, false, 0xb3805235u},
    {"kvalues_fp4", fmt::kCodesFp4, 16, false, 0x100a6cd5u},
};

// Returns the numbers of a CSV file in order, with any separators.
std::vector<long> parse_csv(const Bytes &bytes) {
    const std::string text(bytes.begin(), bytes.end());
    std::vector<long> numbers;
    const char *p = text.c_str();
    while (*p) {
        char *end;
        const long value = strtol(p, &end, 10);
        if (end == p) {
            p++;
            continue;
        }
        numbers.push_back(value);
        p = end;
    }
    return numbers;
}

void check_stored_tables(Report &r) {
    const std::string folder = shared_folder("tables");
    if (folder.empty()) return r.note("stored vectors: skipped, no GGUFX_TEST_DATA/formats/tables");
    for (const Table &t : kTables) {
        Bytes csv;
        if (!r.check(read_file(&csv, folder + "/" + t.file + ".csv"), "no %s.csv", t.file))
            continue;
        const std::vector<long> want = parse_csv(csv);
        if (!r.check(want.size() == t.n_values, "%s: %zu values, expected %zu", t.file, t.n_values,
                     want.size()))
            continue;
        for (size_t i = 0; i < t.n_values; i++) {
            const long got = t.is_unsigned ? static_cast<uint8_t>(t.values[i]) : t.values[i];
            r.check(got == want[i], "%s value %zu: %ld, expected %ld", t.file, i, got, want[i]);
        }
    }
}

} // namespace

int test_grids_have_their_checksums(Report &r, const std::string &) {
    for (const Table &t : kTables) {
        uint32_t hash = 2166136261u;
        for (size_t i = 0; i < t.n_values; i++)
            hash = (hash ^ static_cast<uint8_t>(t.values[i])) * 16777619u;
        r.check(hash == t.checksum, "%s: checksum 0x%08xu", t.file, static_cast<unsigned>(hash));
    }
    check_stored_tables(r);
    return r.exit_code();
}

} // namespace golden
