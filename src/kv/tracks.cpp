// Tracks: what appends will need, cutting, splitting at a position, the window.
// SPDX-License-Identifier: MIT
#include "kv/state.hpp"

namespace ggufx::kv {

namespace {

constexpr size_t kLeastTable = 8;

uint64_t pages_for(uint64_t n) {
    return n / kPageTokens + (n % kPageTokens != 0);
}

} // namespace

uint32_t page_limit(const Cache::State &state, const Block &block) {
    return block.form == kSinks ? state.n_sinks : kPageTokens;
}

PageRef *open_page(const Cache::State &state, const Layer &layer, Track &track) {
    if (track.n_pages == 0) return nullptr;
    PageRef &page = track.pages[track.n_pages - 1];
    if (layer.encodes && page.block->form == kEncoded) return nullptr;
    if (page.delta != 0) return nullptr; // keys of other positions
    return page.first + page.n < page_limit(state, *page.block) ? &page : nullptr;
}

Needs needs_of(const Cache::State &state, const Layer &layer, const Track &track, uint64_t n) {
    Needs needs{};
    needs.n_pages = track.n_pages;
    if (n == 0) return needs;
    const PageRef *open = open_page(state, layer, const_cast<Track &>(track));
    uint64_t left = n, blocks[kFormCount] = {}, pages = 0;
    bool hot = false; // a block of our own to write into
    if (open) {
        const uint64_t room = page_limit(state, *open->block) - open->first - open->n;
        blocks[open->block->form] += open->block->n_owners > 1;
        hot = open->block->form == kPlain;
        if (layer.encodes && hot && left >= room) blocks[kEncoded]++;
        left -= left < room ? left : room;
    } else if (layer.sinks && state.n_sinks && track.n_tokens == 0) {
        blocks[kSinks]++;
        pages++;
        left -= left < state.n_sinks ? left : state.n_sinks;
    }
    pages += pages_for(left);
    if (layer.encodes) {
        blocks[kEncoded] += left / kPageTokens;
        blocks[kPlain] += hot ? 0 : 1;
    } else {
        blocks[kPlain] += pages_for(left);
    }
    for (const Form form : kForms) needs.blocks[form] = static_cast<size_t>(blocks[form]);
    needs.n_pages = pages < SIZE_MAX / 2 - track.n_pages
                        ? track.n_pages + static_cast<size_t>(pages)
                        : SIZE_MAX;
    return needs;
}

size_t table_size_for(size_t n_pages) {
    size_t size = kLeastTable;
    while (size < n_pages && size <= SIZE_MAX / 2) size *= 2;
    return size;
}

bool grow_table(const Host &host, Track &track, size_t n_pages) {
    if (n_pages <= track.table_size) return true;
    const size_t size = table_size_for(n_pages);
    if (size < n_pages || size > SIZE_MAX / sizeof(PageRef)) return false;
    auto *table = static_cast<PageRef *>(host.alloc(size * sizeof(PageRef), alignof(PageRef)));
    if (!table) return false;
    for (size_t i = 0; i < track.n_pages; i++) table[i] = track.pages[i];
    host.free(track.pages, track.table_size * sizeof(PageRef), alignof(PageRef));
    track.pages = table;
    track.table_size = size;
    return true;
}

bool prepare(const Cache::State &state, Layer &layer, Track &track, uint64_t n) {
    const Needs needs = needs_of(state, layer, track, n);
    size_t before[kFormCount];
    for (const Form form : kForms) before[form] = track.n_spare[form];
    bool ok = grow_table(*state.host, track, needs.n_pages);
    for (const Form form : kForms) {
        while (ok && track.n_spare[form] < needs.blocks[form]) {
            Block *block = take_block(*state.host, layer, form);
            ok = block != nullptr;
            if (ok) push_spare(track, block);
        }
    }
    for (const Form form : kForms)
        if (!ok) drop_spares(*state.host, layer, track, form, before[form]);
    return ok;
}

void number_pages(Track &track) {
    uint64_t index = track.n_dropped;
    for (size_t i = 0; i < track.n_pages; index += track.pages[i++].n)
        track.pages[i].index = index;
}

void cut_track(const Cache::State &state, Layer &layer, Track &track, uint64_t n_tokens) {
    while (track.n_tokens > n_tokens && track.n_pages) {
        PageRef &page = track.pages[track.n_pages - 1];
        const uint64_t surplus = track.n_tokens - n_tokens;
        if (surplus < page.n) {
            page.n = static_cast<uint16_t>(page.n - surplus);
            track.n_tokens = n_tokens;
            return;
        }
        track.n_tokens -= page.n;
        release_block(*state.host, layer, page.block, &track);
        track.n_pages--;
    }
    track.n_tokens = n_tokens; // behind the window, nothing is held
    if (n_tokens == 0) track.n_dropped = 0;
}

void clear_track(const Cache::State &state, Layer &layer, Track &track) {
    const Host &host = *state.host;
    while (track.n_pages) release_block(host, layer, track.pages[--track.n_pages].block, nullptr);
    for (const Form form : kForms) drop_spares(host, layer, track, form, 0);
    host.free(track.pages, track.table_size * sizeof(PageRef), alignof(PageRef));
    track = {};
}

int32_t position_at(const PageRef &page, uint32_t i) {
    return page.block->positions[page.first + i] + page.delta;
}

int32_t last_position(const Track &track) {
    const PageRef &page = track.pages[track.n_pages - 1];
    return position_at(page, page.n - 1u);
}

size_t split_at(Track &track, int32_t p) {
    size_t at = 0;
    while (at < track.n_pages && position_at(track.pages[at], track.pages[at].n - 1u) < p) at++;
    if (at == track.n_pages) return at;
    PageRef &page = track.pages[at];
    uint32_t head = 0;
    while (position_at(page, head) < p) head++;
    if (head == 0) return at;
    for (size_t i = track.n_pages++; i > at; i--) track.pages[i] = track.pages[i - 1];
    PageRef &tail = track.pages[at + 1];
    tail.first = static_cast<uint16_t>(tail.first + head);
    tail.n = static_cast<uint16_t>(tail.n - head);
    tail.index += head;
    track.pages[at].n = static_cast<uint16_t>(head);
    tail.block->n_owners++;
    return at + 1;
}

// Whole pages that no token from next_position on will see.
void drop_window(const Cache::State &state, Layer &layer, Track &track, int64_t next_position) {
    if (layer.window == 0) return;
    size_t n = 0;
    for (; n < track.n_pages; n++) {
        const PageRef &page = track.pages[n];
        if (int64_t(position_at(page, page.n - 1u)) > next_position - int64_t(layer.window)) break;
        if (track.n_dropped == 0) track.dropped_first = position_at(page, 0);
        track.dropped_last = position_at(page, page.n - 1u);
        track.n_dropped += page.n;
        release_block(*state.host, layer, page.block, &track);
    }
    for (size_t i = n; n && i < track.n_pages; i++) track.pages[i - n] = track.pages[i];
    track.n_pages -= n;
    const size_t keep =
        track.reserved ? static_cast<size_t>(pages_for(layer.window + kWindowAppend)) + 1 : 1;
    if (n) drop_spares(*state.host, layer, track, kEncoded, keep);
    if (n) drop_spares(*state.host, layer, track, kPlain, layer.encodes ? 1 : keep);
    if (n) drop_spares(*state.host, layer, track, kSinks, track.reserved ? 1 : 0);
}

} // namespace ggufx::kv
