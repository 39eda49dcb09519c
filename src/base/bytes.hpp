// Little-endian loads and stores at any alignment, and byte swaps.
// GGUF fields are little-endian and unaligned; a host of either byte order reads them with these.
// Internal linkage on purpose: kernels of every instruction set include this (src/README.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>
#include <string.h>

namespace ggufx {
namespace {

inline uint16_t bswap16(uint16_t v) {
    return __builtin_bswap16(v);
}
inline uint32_t bswap32(uint32_t v) {
    return __builtin_bswap32(v);
}
inline uint64_t bswap64(uint64_t v) {
    return __builtin_bswap64(v);
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
constexpr bool kBigEndianHost = true;
#else
constexpr bool kBigEndianHost = false;
#endif

// Host order <-> little-endian order; the same operation both ways.
inline uint16_t le16(uint16_t v) {
    return kBigEndianHost ? bswap16(v) : v;
}
inline uint32_t le32(uint32_t v) {
    return kBigEndianHost ? bswap32(v) : v;
}
inline uint64_t le64(uint64_t v) {
    return kBigEndianHost ? bswap64(v) : v;
}

inline uint16_t load_u16le(const void *p) {
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return le16(v);
}

inline uint32_t load_u32le(const void *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return le32(v);
}

inline uint64_t load_u64le(const void *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return le64(v);
}

inline int8_t load_i8(const void *p) {
    int8_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

inline int16_t load_i16le(const void *p) {
    return static_cast<int16_t>(load_u16le(p));
}
inline int32_t load_i32le(const void *p) {
    return static_cast<int32_t>(load_u32le(p));
}
inline int64_t load_i64le(const void *p) {
    return static_cast<int64_t>(load_u64le(p));
}

inline void store_u16le(void *p, uint16_t v) {
    v = le16(v);
    memcpy(p, &v, sizeof v);
}

inline void store_u32le(void *p, uint32_t v) {
    v = le32(v);
    memcpy(p, &v, sizeof v);
}

inline void store_u64le(void *p, uint64_t v) {
    v = le64(v);
    memcpy(p, &v, sizeof v);
}

inline void store_i32le(void *p, int32_t v) {
    store_u32le(p, static_cast<uint32_t>(v));
}

inline uint32_t f32_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

inline float f32_from_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

inline uint64_t f64_bits(double f) {
    uint64_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

inline double f64_from_bits(uint64_t u) {
    double f;
    memcpy(&f, &u, sizeof f);
    return f;
}

inline float load_f32le(const void *p) {
    return f32_from_bits(load_u32le(p));
}
inline double load_f64le(const void *p) {
    return f64_from_bits(load_u64le(p));
}
inline void store_f32le(void *p, float v) {
    store_u32le(p, f32_bits(v));
}

} // namespace
} // namespace ggufx
