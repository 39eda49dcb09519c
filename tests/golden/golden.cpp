// Main program and shared functions of the golden suite.
// SPDX-License-Identifier: MIT
#include "golden.hpp"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace golden {

bool Report::check(bool ok, const char *format, ...) {
    if (ok) return true;
    if (n_failed_++ < 20) {
        va_list args;
        va_start(args, format);
        printf("%s: FAILED: ", name_);
        vprintf(format, args);
        printf("\n");
        va_end(args);
    }
    return false;
}

void Report::note(const char *format, ...) {
    va_list args;
    va_start(args, format);
    printf("%s: ", name_);
    vprintf(format, args);
    printf("\n");
    va_end(args);
}

bool read_file(Bytes *out, const std::string &path) {
    FILE *f = fopen(path.c_str(), "rb");
    if (!f) return false;
    out->clear();
    uint8_t chunk[8192];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0) out->insert(out->end(), chunk, chunk + n);
    const bool ok = ferror(f) == 0;
    fclose(f);
    return ok;
}

std::string shared_folder(const char *sub) {
    const char *root = getenv("GGUFX_TEST_DATA");
    if (!root || !*root) return "";
    const std::string folder = std::string(root) + "/formats/" + sub;
    Bytes readme;
    return read_file(&readme, folder + "/README.md") ? folder : "";
}

void compare_decoded(Report &r, const char *item, const ggufx::fmt::TypeInfo &type,
                     const uint8_t *q, const uint8_t *deq, size_t n_rows, size_t n_values) {
    const size_t row_bytes = n_values / type.block_values * type.block_bytes;
    std::vector<float> out(n_values);
    for (size_t row = 0; row < n_rows; row++) {
        ggufx::fmt::decode_row(out.data(), type, q + row * row_bytes, n_values);
        for (size_t i = 0; i < n_values; i++) {
            const uint32_t want = ggufx::load_u32le(deq + 4 * (row * n_values + i));
            const uint32_t got = ggufx::f32_bits(out[i]);
            if (!r.check(got == want, "%s row %zu value %zu: bits %08x, expected %08x", item, row,
                         i, static_cast<unsigned>(got), static_cast<unsigned>(want)))
                return;
        }
    }
}

namespace {

struct Case {
    const char *name;
    int (*run)(Report &, const std::string &);
};

constexpr Case kCases[] = {
#define CASE(name)                                                                                 \
    { #name, test_##name }
    CASE(activations_at_their_limits),
    CASE(best_is_never_worse),
    CASE(canonical_hashes),
    CASE(conversions_match_their_definition),
    CASE(decode_matches_carried_rows),
    CASE(decode_of_plain_types),
    CASE(decode_stays_in_bounds),
    CASE(encode_matches_carried_rows),
    CASE(encoded_hashes),
    CASE(grids_have_their_checksums),
    CASE(kv_iq4_nl_matches_its_formula),
    CASE(kv_tq3_matches_its_formula),
    CASE(kv_tq3_of_simple_blocks),
    CASE(pieces_reach_canonical_bounds),
    CASE(products_match_sums_of_carried_rows),
    CASE(published_errors_of_the_reference),
    CASE(table_answers_lookups),
    CASE(table_swaps_block_fields),
#undef CASE
};

int run(const Case &c, const std::string &folder) {
    Report r(c.name);
    const int code = c.run(r, folder);
    printf("%s: %s\n", c.name, code == 0 ? "passed" : code == kSkip ? "skipped" : "FAILED");
    return code;
}

int run_all(const std::string &folder) {
    int worst = 0;
    for (const Case &c : kCases) {
        const int code = run(c, folder);
        if (code == 1 || worst == 0) worst = code;
    }
    return worst;
}

} // namespace
} // namespace golden

int main(int argc, char **argv) {
    using namespace golden;
    if (argc == 2) return run_all(argv[1]);
    if (argc == 3) {
        for (const Case &c : kCases) {
            if (strcmp(c.name, argv[1]) == 0) return run(c, argv[2]);
        }
        Report report(argv[1]);
        if (strcmp(argv[1], "print_best") == 0) return test_print_best(report, argv[2]);
        if (strcmp(argv[1], "print_encoded") == 0) return test_print_encoded(report, argv[2]);
        if (strcmp(argv[1], "print_canonical") == 0) return test_print_canonical(report, argv[2]);
    }
    fprintf(stderr, "use: golden [CASE] FOLDER; a CASE is one of\n");
    for (const Case &c : kCases) fprintf(stderr, "  %s\n", c.name);
    return 2;
}
