// SPDX-License-Identifier: MIT
#include "data.hpp"

#include "formats/all.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace testdata {

using namespace ggufx;

uint64_t Random::next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

float Random::unit() {
    const auto v = static_cast<int32_t>(next() >> 43) - (1 << 20); // 21 bits
    return static_cast<float>(v) * 0x1p-20f;
}

namespace {

// Random f16 bits of a scale: magnitude 2^-14 .. 2 for tame data, otherwise also special values.
uint16_t scale_bits(Blocks kind, Random &r) {
    constexpr uint16_t kSpecial[] = {0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x7bff,
                                     0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x3c00};
    if (kind == Blocks::raw) return static_cast<uint16_t>(r.next());
    if (kind == Blocks::special && r.below(2)) return kSpecial[r.below(12)];
    const uint32_t exponent = 1 + r.below(15), sign = r.below(2), mantissa = r.below(1024);
    return static_cast<uint16_t>(sign << 15 | exponent << 10 | mantissa);
}

uint8_t pattern(Random &r) {
    constexpr uint8_t kPatterns[] = {0x00, 0xff, 0x80, 0x7f, 0x88, 0x08, 0x0f, 0xf0, 0x55, 0xaa};
    return kPatterns[r.below(10)];
}

template <class Field> void fill_field(Field &field, Random &r) {
    if constexpr (sizeof field > 1) {
        memset(field, pattern(r), sizeof field);
    } else {
        field = pattern(r);
    }
}

// Fills each field of a block, codes and sub-scales, with its own byte pattern.
template <class Block> void fill_patterns(Block &b, Random &r) {
    memset(&b, pattern(r), sizeof b);
    if constexpr (requires { b.qs; }) fill_field(b.qs, r);
    if constexpr (requires { b.ql; }) fill_field(b.ql, r);
    if constexpr (requires { b.qh; }) fill_field(b.qh, r);
    if constexpr (requires { b.hmask; }) fill_field(b.hmask, r);
    if constexpr (requires { b.signs; }) fill_field(b.signs, r);
    if constexpr (requires { b.scales; }) fill_field(b.scales, r);
}

template <class F> void set_scales(typename F::Block &b, Blocks kind, Random &r) {
    if constexpr (F::kGroup == 0 || F::kValues == 0) return;
    if constexpr (requires { b.e; }) { // MXFP4
        if (kind == Blocks::tame || kind == Blocks::bounds)
            b.e = static_cast<uint8_t>(110 + r.below(20));
    } else if constexpr (requires { b.d; }) {
        if constexpr (sizeof b.d == 2) store_u16le(b.d, scale_bits(kind, r));
    } else if constexpr (requires { b.scales; }) { // IQ1_M: d is split over top nibbles
        const uint16_t d = scale_bits(kind, r);
        for (unsigned k = 0; k < 4; k++) {
            const unsigned low = load_u16le(b.scales + 2 * k) & 0x0fffu;
            store_u16le(b.scales + 2 * k,
                        static_cast<uint16_t>(low | ((d >> (4 * k)) & 15u) << 12));
        }
    }
    if constexpr (requires { b.dmin; }) store_u16le(b.dmin, scale_bits(kind, r));
    if constexpr (requires { b.m; }) store_u16le(b.m, scale_bits(kind, r));
}

// Float types: sets a value of moderate size; f16 scales follow `kind`.
template <class F> void set_value(typename F::Block &b, Blocks kind, Random &r) {
    const float v = r.unit();
    if constexpr (sizeof b == 4) store_f32le(&b, v);
    if constexpr (sizeof b == 2) {
        const bool f16 = F::value(typename F::Block{{0x00, 0x3c}}) == 1.0f;
        store_u16le(&b, f16 ? scale_bits(kind, r) : f32_to_bf16(v));
    }
}

template <class F> void fill_one(uint8_t *out, Blocks kind, Random &r) {
    typename F::Block b;
    uint8_t *bytes = reinterpret_cast<uint8_t *>(&b);
    for (size_t i = 0; i < sizeof b; i++) bytes[i] = static_cast<uint8_t>(r.next() >> 32);
    if constexpr (F::kGroup == 0) {
        if (kind == Blocks::tame || kind == Blocks::bounds || r.below(8)) set_value<F>(b, kind, r);
    } else {
        if (kind == Blocks::bounds) fill_patterns(b, r);
        if (kind != Blocks::raw) set_scales<F>(b, kind, r);
    }
    memcpy(out, &b, sizeof b);
}

} // namespace

void fill_blocks(uint8_t *out, uint32_t type, size_t n_blocks, Blocks kind, Random &random) {
    for (size_t i = 0; i < n_blocks; i++) {
        switch (type) {
#define X(NAME, ID, ...)                                                                           \
    case ID:                                                                                       \
        fill_one<fmt::NAME>(out, kind, random);                                                    \
        out += sizeof(fmt::NAME::Block);                                                           \
        break;
#include "formats/formats.def"
        }
    }
}

void fill_values(float *out, size_t n, Values kind, Random &random) {
    constexpr uint32_t kSpecial[] = {0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x0d7fffff,
                                     0x0d800000, 0x7e967699, 0xff7fffff, 0x7f800000, 0xff800000,
                                     0x7fc00000, 0xffc12345, 0x7f812345};
    float scale = 1.0f;
    uint32_t special = 13; // no special value
    for (size_t i = 0; i < n; i++) {
        if (i % 32 == 0) {
            scale = f32_from_bits((107 + random.below(40)) << 23); // 2^-20 .. 2^19
            special = random.below(2) ? random.below(13) : 13;
            if (random.below(8) == 0) scale = 0.0f;
        }
        const float v = random.unit();
        out[i] = kind == Values::bounds ? (v < 0.0f ? -scale : scale) : v * scale;
        if (kind == Values::special && special < 13 && (random.below(16) == 0 || i % 32 == 7)) {
            out[i] = f32_from_bits(kSpecial[special]);
        }
    }
}

// Pages followed by one page without access; null on failure.
#if defined(_WIN32)
static size_t page_bytes() {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwPageSize;
}
static uint8_t *map_pages(size_t used, size_t page) {
    void *p = VirtualAlloc(nullptr, used + page, MEM_RESERVE, PAGE_NOACCESS);
    return static_cast<uint8_t *>(used && p ? VirtualAlloc(p, used, MEM_COMMIT, PAGE_READWRITE)
                                            : p);
}
static void unmap_pages(uint8_t *p, size_t) {
    VirtualFree(p, 0, MEM_RELEASE);
}
#else
static size_t page_bytes() {
    return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}
static uint8_t *map_pages(size_t used, size_t page) {
    void *p =
        mmap(nullptr, used + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(static_cast<uint8_t *>(p) + used, page, PROT_NONE) != 0)
        return nullptr;
    return static_cast<uint8_t *>(p);
}
static void unmap_pages(uint8_t *p, size_t n) {
    munmap(p, n);
}
#endif

Guarded::Guarded(size_t n_bytes) {
    const size_t page = page_bytes(), used = (n_bytes + page - 1) / page * page;
    n_mapped_ = used + page;
    map_ = map_pages(used, page);
    if (!map_) {
        perror("guarded memory");
        exit(2);
    }
    data_ = map_ + used - n_bytes;
}

Guarded::~Guarded() {
    unmap_pages(map_, n_mapped_);
}

} // namespace testdata
