// The golden suite: dequantization, conversions, codebooks and the formats table against published
// bits. Usage: golden CASE FOLDER; without CASE all cases run.
// Plain C++ without a test library, so that it also runs on emulated hosts that have none.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/half.hpp"
#include "formats/format.hpp"

#include <stddef.h>
#include <stdint.h>
#include <string>
#include <vector>

namespace golden {

using Bytes = std::vector<uint8_t>;

constexpr int kSkip = 77; // the exit code that Meson shows as a skip

// Counts failures of the running case and prints the first few of them.
class Report {
public:
    explicit Report(const char *name) : name_(name) {}
    // Counts a failure and prints the printf-style message unless ok; returns ok.
    [[gnu::format(printf, 3, 4)]] bool check(bool ok, const char *format, ...);
    [[gnu::format(printf, 2, 3)]] void note(const char *format, ...);
    int exit_code() const { return n_failed_ == 0 ? 0 : 1; }
    long n_failed() const { return n_failed_; }

private:
    const char *name_;
    long n_failed_ = 0;
};

// Reads a whole file; returns false when it cannot be read.
bool read_file(Bytes *out, const std::string &path);

// Returns GGUFX_TEST_DATA/formats/SUB, or an empty string when the variable or the folder is
// absent.
std::string shared_folder(const char *sub);

// Dequantizes rows of q and compares every bit with the little-endian floats in deq.
void compare_decoded(Report &r, const char *item, const ggufx::fmt::TypeInfo &type,
                     const uint8_t *q, const uint8_t *deq, size_t n_rows, size_t n_values);

// The cases: 0 passed, 1 failed, 77 skipped. `folder` is tests/golden in the source tree.
int test_activations_at_their_limits(Report &r, const std::string &folder);
int test_best_is_never_worse(Report &r, const std::string &folder);
int test_canonical_hashes(Report &r, const std::string &folder);
int test_print_canonical(Report &r, const std::string &folder);
int test_print_best(Report &r, const std::string &folder);
int test_products_match_sums_of_carried_rows(Report &r, const std::string &folder);
int test_conversions_match_their_definition(Report &r, const std::string &folder);
int test_decode_matches_carried_rows(Report &r, const std::string &folder);
int test_decode_of_plain_types(Report &r, const std::string &folder);
int test_decode_stays_in_bounds(Report &r, const std::string &folder);
int test_encode_matches_carried_rows(Report &r, const std::string &folder);
int test_encoded_hashes(Report &r, const std::string &folder);
int test_print_encoded(Report &r, const std::string &folder);
int test_grids_have_their_checksums(Report &r, const std::string &folder);
int test_kv_iq4_nl_matches_its_formula(Report &r, const std::string &folder);
int test_kv_tq3_matches_its_formula(Report &r, const std::string &folder);
int test_kv_tq3_of_simple_blocks(Report &r, const std::string &folder);
int test_pieces_reach_canonical_bounds(Report &r, const std::string &folder);
int test_published_errors_of_the_reference(Report &r, const std::string &folder);
int test_table_answers_lookups(Report &r, const std::string &folder);
int test_table_swaps_block_fields(Report &r, const std::string &folder);

} // namespace golden
