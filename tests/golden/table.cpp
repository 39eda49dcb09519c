// Queries of the formats table: lookups, removed ids, row sizes, byte swaps.
// SPDX-License-Identifier: MIT
#include "golden.hpp"

#include <string.h>

namespace golden {

using namespace ggufx;

namespace {

// The published list of types, repeated here independently: id, name, values, bytes.
struct Fact {
    uint32_t id;
    const char *name;
    uint32_t values, bytes;
};

constexpr Fact kFacts[] = {
    {0, "f32", 1, 4},         {1, "f16", 1, 2},         {2, "q4_0", 32, 18},
    {3, "q4_1", 32, 20},      {6, "q5_0", 32, 22},      {7, "q5_1", 32, 24},
    {8, "q8_0", 32, 34},      {9, "q8_1", 32, 36},      {10, "q2_K", 256, 84},
    {11, "q3_K", 256, 110},   {12, "q4_K", 256, 144},   {13, "q5_K", 256, 176},
    {14, "q6_K", 256, 210},   {15, "q8_K", 256, 292},   {16, "iq2_xxs", 256, 66},
    {17, "iq2_xs", 256, 74},  {18, "iq3_xxs", 256, 98}, {19, "iq1_s", 256, 50},
    {20, "iq4_nl", 32, 18},   {21, "iq3_s", 256, 110},  {22, "iq2_s", 256, 82},
    {23, "iq4_xs", 256, 136}, {24, "i8", 1, 1},         {25, "i16", 1, 2},
    {26, "i32", 1, 4},        {27, "i64", 1, 8},        {28, "f64", 1, 8},
    {29, "iq1_m", 256, 56},   {30, "bf16", 1, 2},       {34, "tq1_0", 256, 54},
    {35, "tq2_0", 256, 66},   {39, "mxfp4", 32, 17},    {40, "nvfp4", 64, 36},
    {41, "q1_0", 128, 18},    {42, "q2_0", 64, 18},
};

void check_fact(Report &r, const Fact &fact) {
    const fmt::TypeInfo *type = fmt::type_info(fact.id);
    if (!r.check(type != nullptr, "id %u is unknown", fact.id)) return;
    r.check(type->id == fact.id && strcmp(type->name, fact.name) == 0, "id %u: name %s", fact.id,
            type->name);
    r.check(type->block_values == fact.values && type->block_bytes == fact.bytes, "%s: %u in %u",
            fact.name, type->block_values, type->block_bytes);
    r.check(type->decode != nullptr, "%s: no decoder", fact.name);
    std::string upper = fact.name;
    for (char &c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    r.check(fmt::type_by_name(upper.data(), upper.size()) == type, "%s not found", upper.c_str());
    r.check(fmt::type_by_name(upper.data(), upper.size() - 1) != type, "%s: prefix", fact.name);
    r.check(!fmt::removed_type_text(fact.id), "%s is said to be removed", fact.name);
    const std::string longer = upper + "x";
    r.check(!fmt::type_by_name(longer.data(), longer.size()), "%s is found", longer.c_str());
}

void check_row_bytes(Report &r) {
    uint64_t n = 7;
    const fmt::TypeInfo &q4_k = *fmt::type_info(12), &f64 = *fmt::type_info(28);
    r.check(fmt::row_bytes(&n, q4_k, 512) && n == 288, "row of 512 is %u",
            static_cast<unsigned>(n));
    r.check(fmt::row_bytes(&n, q4_k, 0) && n == 0, "row of 0");
    n = 7;
    r.check(!fmt::row_bytes(&n, q4_k, 511) && n == 7, "row of 511 is accepted");
    r.check(!fmt::row_bytes(&n, f64, UINT64_MAX / 8 + 1) && n == 7, "overflow is accepted");
    r.check(fmt::row_bytes(&n, f64, UINT64_MAX / 8) && n == UINT64_MAX - 7, "largest row");
}

} // namespace

int test_table_answers_lookups(Report &r, const std::string &) {
    uint32_t n_live = 0;
    for (uint32_t id = 0; id < 300; id++) n_live += fmt::type_info(id) != nullptr;
    r.check(n_live == sizeof kFacts / sizeof kFacts[0], "%u live ids", n_live);
    for (const Fact &fact : kFacts) check_fact(r, fact);
    for (const uint32_t id : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u}) {
        const char *text = fmt::removed_type_text(id);
        r.check(!fmt::type_info(id) && text && strstr(text, "removed"), "id %u", id);
    }
    for (const uint32_t id : {43u, 44u, 0x7fffffffu, 0xffffffffu})
        r.check(!fmt::type_info(id) && !fmt::removed_type_text(id), "id %u is known", id);
    r.check(!fmt::type_by_name("", 0) && !fmt::type_by_name("q4_2", 4), "odd names are found");
    check_row_bytes(r);
    return r.exit_code();
}

int test_table_swaps_block_fields(Report &r, const std::string &) {
    // Type, then the fields of a block with swapped bytes: offset, width, number.
    struct Swap {
        const char *name;
        size_t first, width, n;
    };
    constexpr Swap kSwaps[] = {
        {"f32", 0, 4, 1},   {"f16", 0, 2, 1},   {"bf16", 0, 2, 1}, {"f64", 0, 8, 1},
        {"i8", 0, 1, 0},    {"i16", 0, 2, 1},   {"i32", 0, 4, 1},  {"i64", 0, 8, 1},
        {"q4_0", 0, 2, 1},  {"q8_0", 0, 2, 1},  {"q4_K", 0, 2, 2}, {"q6_K", 208, 2, 1},
        {"mxfp4", 0, 1, 0}, {"nvfp4", 0, 1, 0},
    };
    uint32_t n_defined = 0;
    for (uint32_t id = 0; id < fmt::kTypeIds; id++) {
        const fmt::TypeInfo *type = fmt::type_info(id);
        n_defined += type && fmt::swap_blocks(nullptr, *type, 0);
    }
    r.check(n_defined == sizeof kSwaps / sizeof kSwaps[0], "%u types have a swap", n_defined);
    for (const Swap &swap : kSwaps) {
        const fmt::TypeInfo &type = *fmt::type_by_name(swap.name, strlen(swap.name));
        Bytes blocks(type.block_bytes * size_t{3}), want;
        for (size_t i = 0; i < blocks.size(); i++)
            blocks[i] = static_cast<uint8_t>(i * 7 + i / 256);
        const Bytes before = want = blocks;
        for (size_t k = 0; k < 3; k++) {
            for (size_t i = 0; i < swap.n * swap.width; i++) {
                const size_t field =
                    k * type.block_bytes + swap.first + i / swap.width * swap.width;
                want[field + i % swap.width] = before[field + swap.width - 1 - i % swap.width];
            }
        }
        r.check(fmt::swap_blocks(blocks.data(), type, 3) && blocks == want, "%s", swap.name);
        r.check(fmt::swap_blocks(blocks.data(), type, 3) && blocks == before, "%s twice",
                swap.name);
    }
    Bytes block(20, 1);
    for (size_t i = 0; i < block.size(); i++) block[i] = static_cast<uint8_t>(i);
    const Bytes before = block;
    r.check(!fmt::swap_blocks(block.data(), *fmt::type_info(3), 1) && block == before,
            "q4_1 is swapped although it is not defined");
    return r.exit_code();
}

} // namespace golden
