// Names of API keys: SipHash-2-4 (Aumasson, Bernstein) with a secret of the server. A name reveals
// nothing about its key, and a key with a given name can be found with the secret only.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ggufx::cli {

using HashSecret = std::array<uint64_t, 2>; // little-endian

inline uint64_t sip_hash(const HashSecret &secret, std::string_view bytes) {
    uint64_t a = secret[0] ^ 0x736f6d6570736575u, b = secret[1] ^ 0x646f72616e646f6du;
    uint64_t c = secret[0] ^ 0x6c7967656e657261u, d = secret[1] ^ 0x7465646279746573u;
    const auto rounds = [&](int n) {
        while (n-- > 0) {
            a += b;
            c += d;
            b = std::rotl(b, 13) ^ a;
            d = std::rotl(d, 16) ^ c;
            a = std::rotl(a, 32) + d;
            c += b;
            d = std::rotl(d, 21) ^ a;
            b = std::rotl(b, 17) ^ c;
            c = std::rotl(c, 32);
        }
    };
    const auto mix = [&](uint64_t word) {
        d ^= word;
        rounds(2);
        a ^= word;
    };
    uint64_t word = 0;
    for (size_t i = 0; i < bytes.size(); i++) {
        word |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * (i % 8));
        if (i % 8 != 7) continue;
        mix(word);
        word = 0;
    }
    mix(word | static_cast<uint64_t>(bytes.size()) << 56);
    c ^= 0xff;
    rounds(4);
    return a ^ b ^ c ^ d;
}

} // namespace ggufx::cli
