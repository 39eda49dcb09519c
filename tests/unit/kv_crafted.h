/*
 * Snapshots of a KV cache with changed numbers and valid checksums, as an attacker would create
 * them. docs/file-formats.md, "Snapshots", has the layout.
 * SPDX-License-Identifier: MIT
 */
#ifndef KV_CRAFTED_H
#define KV_CRAFTED_H

#include "kv_bytes.h"

enum {
    kCraftedTokens = 0, /* u64; offsets from the start of a track */
    kCraftedDropped = 8,
    kCraftedDroppedFirst = 16, /* i32 */
    kCraftedDroppedLast = 20,
    kCraftedPages = 24, /* u64 */
    kCraftedPage = 32,  /* the first page: u32 form, first slot, tokens, i32 shift, positions */
    kCraftedPageFirst = kCraftedPage + 4,
    kCraftedPageTokens = kCraftedPage + 8,
    kCraftedPageDelta = kCraftedPage + 12,
    kCraftedPositions = kCraftedPage + 16
};

static inline uint64_t crafted_crc(const uint8_t *data, size_t n) {
    uint64_t crc = ~0ull;
    while (n--) {
        crc ^= *data++;
        for (int i = 0; i < 8; i++) crc = crc >> 1 ^ (crc & 1 ? 0xc96c5795d7870f42ull : 0);
    }
    return ~crc;
}

static inline void crafted_put(uint8_t *to, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> 8 * i);
}
static inline uint64_t crafted_get(const uint8_t *from, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) value |= (uint64_t)from[i] << 8 * i;
    return value;
}

/* Returns the bytes before the checksum of the header. */
static inline size_t crafted_header(uint32_t n_layers) {
    return 16 + 4 * (11 + 4 * (size_t)n_layers) + 4 * (size_t)n_layers;
}

/* Recomputes both checksums of a whole snapshot of a cache of n_layers. */
static inline void crafted_seal(uint8_t *data, size_t n, uint32_t n_layers) {
    const size_t header = crafted_header(n_layers);
    crafted_put(data + header, crafted_crc(data, header), 8);
    crafted_put(data + n - 8, crafted_crc(data, n - 8), 8);
}

#endif
