// Pages of 64 tokens, taken from the host's memory and given back. Nothing is left half done: a
// call takes all the pages it needs or none.
// SPDX-License-Identifier: MIT
#include "kv/state.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

// While they are not yet in a table, pages are chained through their first bytes.
struct Chain {
    uint8_t *first = nullptr;

    bool take(const Host &host, size_t bytes) {
        auto *page = static_cast<uint8_t *>(host.alloc(bytes, kPageAlign));
        if (!page) return false;
        memcpy(page, &first, sizeof first);
        first = page;
        return true;
    }
    uint8_t *pop() {
        uint8_t *page = first;
        memcpy(&first, page, sizeof first);
        return page;
    }
    void free(const Host &host, size_t bytes) {
        while (first) host.free(pop(), bytes, kPageAlign);
    }
};

// A longer table of pages; the old one is kept when there is no memory.
bool grow_table(const Host &host, Track &track, size_t n_pages) {
    if (n_pages <= track.table_size) return true;
    size_t size = track.table_size < 8 ? 8 : track.table_size;
    while (size < n_pages && size <= SIZE_MAX / 2) size *= 2;
    if (size < n_pages || size > SIZE_MAX / sizeof(uint8_t *)) return false;
    auto **table =
        static_cast<uint8_t **>(host.alloc(size * sizeof(uint8_t *), alignof(uint8_t *)));
    if (!table) return false;
    for (size_t i = 0; i < track.n_pages; i++) table[i] = track.pages[i];
    host.free(track.pages, track.table_size * sizeof(uint8_t *), alignof(uint8_t *));
    track.pages = table;
    track.table_size = size;
    return true;
}

} // namespace

Status take_pages(const Host &host, const Layout &layout, Track *tracks, size_t n, size_t step,
                  uint64_t n_tokens, Failure *failure) {
    const uint64_t wanted = n_tokens / kPageTokens + (n_tokens % kPageTokens != 0);
    Chain chain;
    bool ok = wanted <= SIZE_MAX;
    const size_t n_pages = static_cast<size_t>(wanted);
    for (size_t i = 0; ok && i < n; i++) ok = grow_table(host, tracks[i * step], n_pages);
    for (size_t i = 0; ok && i < n; i++)
        for (size_t have = tracks[i * step].n_pages; ok && have < n_pages; have++)
            ok = chain.take(host, layout.bytes);
    if (!ok) {
        chain.free(host, layout.bytes);
        return set_failure(failure, Status::memory, {},
                           "no memory for %llu pages of %zu bytes in each of %zu layers",
                           static_cast<unsigned long long>(wanted), layout.bytes, n);
    }
    for (size_t i = 0; i < n; i++) {
        Track &track = tracks[i * step];
        while (track.n_pages < n_pages) track.pages[track.n_pages++] = chain.pop();
    }
    return Status::ok;
}

void drop_pages_from(const Host &host, const Layout &layout, Track &track, size_t first) {
    while (track.n_pages > first) host.free(track.pages[--track.n_pages], layout.bytes, kPageAlign);
}

void drop_pages(const Host &host, const Layout &layout, Track &track) {
    drop_pages_from(host, layout, track, 0);
    host.free(track.pages, track.table_size * sizeof(uint8_t *), alignof(uint8_t *));
    track = {};
}

} // namespace ggufx::kv
