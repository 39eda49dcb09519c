// What a cache holds: a track of pages per (layer, sequence), and the layout of one page.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/table.hpp"
#include "kv/types.hpp"

namespace ggufx::kv {

constexpr uint32_t kPageTokens = 64;
constexpr size_t kPageAlign = 64;

// Bytes of a page: per head 64 rows of K, per head 64 rows of V, then 64 positions (int32).
struct Layout {
    size_t k_row, v_row; // one head of one token
    size_t v_offset, positions_offset, bytes;
};

// The tokens of one layer of one sequence; pages never move.
struct Track {
    uint8_t **pages;
    size_t table_size; // entries of `pages`
    size_t n_pages;    // taken
    uint64_t n_tokens;
};

struct Cache::State {
    Ref<Host> host;
    const kernels::KvFloat *kernel = nullptr;
    Config config;
    const TypeOps *k_type = nullptr, *v_type = nullptr;
    Layout layout{};
    Track *tracks = nullptr; // [layer][sequence]
    size_t n_tracks = 0;

    Track &track(uint32_t layer, uint32_t sequence) const {
        return tracks[size_t(layer) * config.n_sequences + sequence];
    }
    const uint8_t *k_row(const Track &track, uint64_t token, uint32_t head) const {
        return page(track, token) +
               (size_t(head) * kPageTokens + token % kPageTokens) * layout.k_row;
    }
    const uint8_t *v_row(const Track &track, uint64_t token, uint32_t head) const {
        return page(track, token) + layout.v_offset +
               (size_t(head) * kPageTokens + token % kPageTokens) * layout.v_row;
    }
    const int32_t *positions(const Track &track, uint64_t token) const { // up to the page's end
        return reinterpret_cast<const int32_t *>(page(track, token) + layout.positions_offset) +
               token % kPageTokens;
    }
    static uint8_t *page(const Track &track, uint64_t token) {
        return track.pages[size_t(token / kPageTokens)];
    }
};

// Checks of arguments that all calls share; they name the limit.
Status check_layer(const Config &config, uint32_t layer, Failure *failure);
Status check_sequence(const Config &config, uint32_t sequence, Failure *failure);

// Pages (pages.cpp). Missing pages of `n` tracks (step apart) up to n_tokens: all or none.
Status take_pages(const Host &host, const Layout &layout, Track *tracks, size_t n, size_t step,
                  uint64_t n_tokens, Failure *failure);
void drop_pages_from(const Host &host, const Layout &layout, Track &track, size_t first);
void drop_pages(const Host &host, const Layout &layout, Track &track);

} // namespace ggufx::kv
