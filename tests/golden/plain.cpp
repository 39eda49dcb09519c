// Types without golden rows (floats, integers, activation blocks), against values by hand. Also
// every type on hostile bytes: no access outside the block and the output.
// SPDX-License-Identifier: MIT
#include "golden.hpp"

#include <math.h>
#include <memory>
#include <string.h>

namespace golden {

using namespace ggufx;

namespace {

void check_values(Report &r, const char *name, const Bytes &bytes, std::vector<float> want) {
    const fmt::TypeInfo &type = *fmt::type_by_name(name, strlen(name));
    std::vector<float> out(want.size());
    r.check(bytes.size() == want.size() / type.block_values * type.block_bytes, "%s: size", name);
    fmt::decode_row(out.data(), type, bytes.data(), want.size());
    for (size_t i = 0; i < want.size(); i++) {
        r.check(f32_bits(out[i]) == f32_bits(want[i]), "%s value %zu: %a, expected %a", name, i,
                static_cast<double>(out[i]), static_cast<double>(want[i]));
    }
}

// A block of int8 codes -128, -113, ... after `head`, followed by zero bytes.
Bytes int8_block(Bytes head, size_t n_codes, size_t n_tail) {
    for (size_t i = 0; i < n_codes; i++) head.push_back(static_cast<uint8_t>(i * 15 + 128));
    head.insert(head.end(), n_tail, 0xee);
    return head;
}

std::vector<float> int8_values(float d, size_t n_codes) {
    std::vector<float> values;
    for (size_t i = 0; i < n_codes; i++) {
        const int code = static_cast<int>((i * 15 + 128) & 255);
        values.push_back(d * static_cast<float>(code < 128 ? code : code - 256));
    }
    return values;
}

uint32_t next_random(uint32_t *state) { // xorshift32
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

// Dequantizes n_blocks blocks at an odd address from a heap block of exactly their size.
void decode_hostile(Report &r, const fmt::TypeInfo &type, uint32_t seed) {
    constexpr size_t kBlocks = 3;
    const size_t n_bytes = kBlocks * type.block_bytes, n_values = kBlocks * type.block_values;
    const std::unique_ptr<uint8_t[]> bytes(new uint8_t[1 + n_bytes]);
    const std::unique_ptr<float[]> out(new float[n_values]);
    uint32_t state = seed;
    for (size_t i = 0; i < n_bytes; i++) {
        bytes[1 + i] = seed == 0 ? 0xff : static_cast<uint8_t>(next_random(&state) >> 24);
    }
    memset(out.get(), 0xa5, n_values * sizeof(float));
    fmt::decode_row(out.get(), type, bytes.get() + 1, n_values);
    // Blocks are independent: each alone gives the same bits.
    std::vector<float> one(type.block_values + size_t{1}, 12345.0f);
    for (size_t k = 0; k < kBlocks; k++) {
        fmt::decode_row(one.data(), type, bytes.get() + 1 + k * type.block_bytes,
                        type.block_values);
        r.check(memcmp(one.data(), out.get() + k * type.block_values,
                       type.block_values * sizeof(float)) == 0,
                "%s: block %zu differs alone", type.name, k);
        r.check(one[type.block_values] == 12345.0f, "%s writes past its block", type.name);
    }
}

} // namespace

int test_decode_of_plain_types(Report &r, const std::string &) {
    const float tiny = ldexpf(1.0f, -149);
    check_values(r, "f32", {0, 0, 0x80, 0x3f, 0, 0, 0, 0x80, 1, 0, 0, 0}, {1.0f, -0.0f, tiny});
    check_values(r, "f16", {0, 0x3c, 0, 0xc0, 1, 0, 0, 0x7c},
                 {1.0f, -2.0f, ldexpf(1.0f, -24), HUGE_VALF});
    check_values(r, "bf16", {0x80, 0x3f, 0x49, 0xc0}, {1.0f, -3.140625f});
    check_values(r, "f64", {0,    0,    0, 0,    0, 0, 0xf0, 0x3f, 0x18, 0x2d, 0x44, 0x54,
                            0xfb, 0x21, 9, 0x40, 0, 0, 0,    0,    0,    0,    0xe0, 0x7f},
                 {1.0f, 3.14159274f, HUGE_VALF});
    check_values(r, "i8", {0, 0x7f, 0x80, 0xff}, {0.0f, 127.0f, -128.0f, -1.0f});
    check_values(r, "i16", {0x34, 0x12, 0, 0x80}, {4660.0f, -32768.0f});
    // 2^24 + 1 and 2^24 + 3 are ties and round to the even neighbour.
    check_values(r, "i32", {1, 0, 0, 1, 3, 0, 0, 1, 0, 0, 0, 0x80},
                 {16777216.0f, 16777220.0f, -2147483648.0f});
    check_values(r, "i64",
                 {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0xfe, 0xff, 0xff, 0xff, 0xff,
                  0xff, 0xff, 0xff},
                 {9223372036854775808.0f, -2.0f});
    check_values(r, "q8_1", int8_block({0, 0x38, 0x12, 0x34}, 32, 0), int8_values(0.5f, 32));
    check_values(r, "q8_K", int8_block({0, 0, 0x40, 0xbf}, 256, 32), int8_values(-0.75f, 256));
    return r.exit_code();
}

int test_decode_stays_in_bounds(Report &r, const std::string &) {
    for (uint32_t id = 0; id < fmt::kTypeIds; id++) {
        const fmt::TypeInfo *type = fmt::type_info(id);
        if (!type) continue;
        for (uint32_t seed = 0; seed < 64; seed++) decode_hostile(r, *type, seed);
    }
    return r.exit_code();
}

} // namespace golden
