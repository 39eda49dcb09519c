// Tracks: needs of appends, cuts, splits at a token, windows.
// SPDX-License-Identifier: MIT
#include "kv/state.hpp"

#include <algorithm>

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
    if (page.delta != 0) return nullptr; // its keys are stored at other positions
    return page.first + page.n < page_limit(state, *page.block) ? &page : nullptr;
}

PageRef *hot_page(const Layer &layer, Track &track) {
    if (!layer.encodes || track.n_pages == 0) return nullptr;
    PageRef &page = track.pages[track.n_pages - 1];
    return page.block->form == kPlain ? &page : nullptr;
}

// kPlainBlocks: the call began in one of them, the append in the other.
size_t plain_blocks(const Layer &layer) {
    return kPlainBlocks + static_cast<size_t>(pages_for(layer.append_tokens));
}

namespace {

// Limits a size so that too large ones stay too large on 32-bit hosts, and sums of two do not
// overflow.
size_t saturated(uint64_t n) {
    return n < SIZE_MAX / 2 ? static_cast<size_t>(n) : SIZE_MAX / 2;
}

// In one append, every new page is plain at first; in small steps, plain_blocks() are at most.
size_t plain_needed(const Layer &layer, Track &track, uint64_t pages, Steps steps) {
    uint64_t want, have;
    if (steps == Steps::one) {
        want = pages;
        have = settled_blocks(track) + (pages && reused_page(layer, track) ? 1 : 0);
    } else {
        want = pages + (hot_page(layer, track) ? 1 : 0);
        want = want < plain_blocks(layer) ? want : plain_blocks(layer);
        have = plain_in_use(track);
    }
    return saturated(want > have ? want - have : 0);
}

} // namespace

Needs needs_of(const Cache::State &state, const Layer &layer, const Track &track, uint64_t n,
               Steps steps) {
    Needs needs{};
    needs.n_pages = track.n_pages;
    if (n == 0) return needs;
    auto &held = const_cast<Track &>(track);
    const PageRef *open = open_page(state, layer, held);
    uint64_t left = n, blocks[kFormCount] = {}, pages = 0;
    if (open) {
        const uint64_t room = page_limit(state, *open->block) - open->first - open->n;
        blocks[open->block->form] += open->block->n_owners > 1;
        left -= left < room ? left : room;
    } else if (layer.sinks && state.n_sinks && track.n_tokens == 0) {
        blocks[kSinks]++;
        needs.n_pages++;
        left -= left < state.n_sinks ? left : state.n_sinks;
    }
    pages = pages_for(left);
    if (layer.encodes) { // all but the last one are encoded
        blocks[kEncoded] += pages ? pages - 1 + (hot_page(layer, held) ? 1 : 0) : 0;
        blocks[kPlain] += plain_needed(layer, held, pages, steps);
    } else {
        blocks[kPlain] += pages;
    }
    for (const Form form : kForms) needs.blocks[form] = saturated(blocks[form]);
    needs.n_pages = pages < SIZE_MAX / 2 - needs.n_pages
                        ? needs.n_pages + static_cast<size_t>(pages)
                        : SIZE_MAX;
    return needs;
}

uint64_t window_tokens(const Layer &layer) {
    const uint64_t append = layer.append_tokens, history = layer.window_history;
    const uint64_t own =
        2 * (append > history ? append : history) + append + uint64_t{4} * kPageTokens;
    return 2 * uint64_t(layer.window.tokens) + (own > kWindowAppend ? own : kWindowAppend);
}

size_t table_size_for(size_t n_pages) {
    size_t size = kLeastTable;
    while (size < n_pages && size <= SIZE_MAX / 2) size *= 2;
    return size;
}

bool grow_pages(const Host &host, PageRef *&pages, size_t &table_size, size_t n_used,
                size_t n_pages) {
    if (n_pages <= table_size) return true;
    const size_t size = table_size_for(n_pages);
    if (size < n_pages || size > SIZE_MAX / sizeof(PageRef)) return false;
    auto *table = static_cast<PageRef *>(host.alloc(size * sizeof(PageRef), alignof(PageRef)));
    if (!table) return false;
    for (size_t i = 0; i < n_used; i++) table[i] = pages[i];
    host.free(pages, table_size * sizeof(PageRef), alignof(PageRef));
    pages = table;
    table_size = size;
    return true;
}

bool grow_table(const Host &host, Track &track, size_t n_pages) {
    return grow_pages(host, track.pages, track.table_size, track.n_pages, n_pages);
}

namespace {

bool gives_way(const Track &track) {
    return !track.reserved && !track.prepared && !(track.mark.set && track.mark.provided);
}

// Returns whether `more` blocks of the main form fit the layer's limit, after spare blocks of other
// tracks were freed if needed.
bool make_room(const Cache::State &state, Layer &layer, Track &track, const Needs &needs,
               uint64_t more) {
    const auto fits = [&] {
        const uint64_t all = layer.main_blocks();
        return all <= layer.max_blocks && more <= layer.max_blocks - all;
    };
    if (layer.max_blocks == 0 || more == 0 || fits()) return true;
    drop_all_spares(state, layer, &track, needs.blocks[layer.main_form()]);
    return fits();
}

} // namespace

void drop_all_spares(const Cache::State &state, Layer &layer, const Track *but, size_t keep) {
    const auto l = static_cast<uint32_t>(&layer - state.layers);
    for (uint32_t i = 0; i < state.config.n_sequences; i++) {
        Track &track = state.track(l, i);
        if (gives_way(track))
            drop_spares(*state.host, layer, track, layer.main_form(), &track == but ? keep : 0);
    }
}

uint64_t layer_room(const Cache::State &state, uint32_t l) {
    const Layer &layer = state.layers[l];
    uint64_t used = layer.main_blocks();
    for (uint32_t i = 0; i < state.config.n_sequences; i++) {
        const Track &track = state.track(l, i);
        if (gives_way(track)) used -= track.n_spare[layer.main_form()];
    }
    return used < layer.max_blocks ? layer.max_blocks - used : 0;
}

Status prepare(const Cache::State &state, Layer &layer, Track &track, uint64_t n, Steps steps) {
    const Needs needs = needs_of(state, layer, track, n, steps);
    const uint64_t want = needs.blocks[layer.main_form()], have = track.n_spare[layer.main_form()];
    if (!make_room(state, layer, track, needs, want > have ? want - have : 0))
        return Status::capacity;
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
    return ok ? Status::ok : Status::memory;
}

namespace {

template <class Visit> void for_each_block(const Track &track, const Visit &visit) {
    const auto visit_page = [&](const PageRef &page) {
        visit(*page.block);
        if (page.plain) visit(*page.plain);
    };
    for (size_t i = 0; i < track.n_pages; i++) visit_page(track.pages[i]);
    for (size_t i = 0; i < track.mark.n_pages; i++) visit_page(track.mark.pages[i]);
    if (track.mark.plain) visit(*track.mark.plain);
}

} // namespace

uint64_t own_blocks(const Track &track, Form form) {
    // Parts of a page own its block more than once, so owners are counted.
    uint64_t n = track.n_spare[form];
    for_each_block(track, [&](Block &block) { n += --block.n_owners == 0 && block.form == form; });
    for_each_block(track, [](Block &block) { block.n_owners++; });
    return n;
}

uint64_t common_length(const Cache::State &s, uint32_t sequence) {
    uint64_t least = UINT64_MAX;
    for (uint32_t layer = 0; layer < s.config.n_layers; layer++) {
        const uint64_t n = s.track(layer, sequence).n_tokens;
        if (n < least) least = n;
    }
    return least;
}

void number_pages(Track &track) {
    uint64_t index = track.n_dropped;
    for (size_t i = 0; i < track.n_pages; index += track.pages[i++].n) track.pages[i].index = index;
}

Block *plain_of(const Track &track, const PageRef &page) {
    const RollbackPoint &mark = track.mark;
    if (page.plain || page.block->form != kEncoded) return page.plain;
    return mark.plain && mark.last_index == page.index ? mark.plain : nullptr;
}

void take_plain(const Cache::State &state, Layer &layer, Track &track, PageRef &page) {
    Block *plain = plain_of(track, page);
    if (!plain) return;
    if (!page.plain) track.mark.plain = nullptr;
    release_block(*state.host, layer, page.block, &track);
    page.block = plain;
    page.plain = nullptr;
}

namespace {

// Drops the last page of the rollback point if it is `page`: another one may get its index.
void lose_last(const Cache::State &state, Layer &layer, Track &track, const PageRef &page) {
    RollbackPoint &mark = track.mark;
    if (!mark.has_last || mark.last_index != page.index) return;
    if (mark.plain) release_block(*state.host, layer, mark.plain, &track);
    mark.plain = nullptr;
    mark.has_last = false;
}

} // namespace

bool holds_encoded(const Track &track) {
    for (size_t p = 0; p < track.n_pages; p++)
        if (track.pages[p].block->form == kEncoded) return true;
    return false;
}

void forget_learned(Track &track) {
    if (track.n_tokens < track.learned_end && track.calibrated && !holds_encoded(track))
        track.calibrated = false;
}

void cut_track(const Cache::State &state, Layer &layer, Track &track, uint64_t n_tokens) {
    while (track.n_tokens > n_tokens && track.n_pages) {
        PageRef &page = track.pages[track.n_pages - 1];
        const uint64_t surplus = track.n_tokens - n_tokens;
        if (surplus < page.n) {
            take_plain(state, layer, track, page);
            page.n = static_cast<uint16_t>(page.n - surplus);
            break;
        }
        track.n_tokens -= page.n;
        lose_last(state, layer, track, page);
        release_page(*state.host, layer, page, &track);
        track.n_pages--;
    }
    track.n_tokens = n_tokens; // a cut among dropped tokens leaves no page
    if (n_tokens == 0) track.n_dropped = 0;
    if (track.mark.set && n_tokens < track.mark.n_tokens)
        end_rollback_point(state, layer, track, false);
    forget_learned(track);
}

void clear_track(const Cache::State &state, Layer &layer, Track &track) {
    const Host &host = *state.host;
    end_rollback_point(state, layer, track, true);
    while (track.n_pages) release_page(host, layer, track.pages[--track.n_pages], nullptr);
    for (const Form form : kForms) drop_spares(host, layer, track, form, 0);
    host.free(track.pages, track.table_size * sizeof(PageRef), alignof(PageRef));
    host.free(track.mark.pages, track.mark.table_size * sizeof(PageRef), alignof(PageRef));
    float *const calibration = track.calibration;
    track = {};
    track.calibration = calibration;
}

int32_t position_at(const PageRef &page, uint32_t i) {
    return page.block->positions[page.first + i] + page.delta;
}

int32_t last_position(const Track &track) {
    const PageRef &page = track.pages[track.n_pages - 1];
    return position_at(page, page.n - 1u);
}

size_t page_of_token(const Track &track, uint64_t token) {
    const PageRef *const begin = track.pages, *const end = begin + track.n_pages;
    const auto is_before = [&](const PageRef &page) { return page.index + page.n <= token; };
    return static_cast<size_t>(std::partition_point(begin, end, is_before) - begin);
}

size_t split_at(Track &track, uint64_t token) {
    const size_t at = page_of_token(track, token);
    if (at == track.n_pages || token <= track.pages[at].index) return at;
    const auto head = static_cast<uint32_t>(token - track.pages[at].index);
    for (size_t i = track.n_pages++; i > at; i--) track.pages[i] = track.pages[i - 1];
    PageRef &tail = track.pages[at + 1];
    tail.first = static_cast<uint16_t>(tail.first + head);
    tail.n = static_cast<uint16_t>(tail.n - head);
    tail.index += head;
    track.pages[at].n = static_cast<uint16_t>(head);
    tail.block->n_owners++;
    if (tail.plain) tail.plain->n_owners++;
    return at + 1;
}

bool sees_dropped(const Layer &layer, int32_t dropped_last, int64_t last) {
    return dropped_last > layer.window.span(last + 1).after;
}

namespace {

// Drops a page; the rollback point keeps those that it needs.
void drop_page(const Cache::State &state, Layer &layer, Track &track, const PageRef &page) {
    RollbackPoint &mark = track.mark;
    if (track.n_dropped == 0) track.dropped_first = position_at(page, 0);
    track.dropped_last = position_at(page, page.n - 1u);
    track.n_dropped += page.n;
    if (mark.set && page.index < mark.n_tokens && mark.n_pages < mark.table_size)
        mark.pages[mark.n_pages++] = page;
    else
        release_page(*state.host, layer, page, &track);
}

} // namespace

// Drops whole pages that no token from next_position on sees. With window_history, pages that
// tokens after a cut of that many positions would see are kept.
void drop_window(const Cache::State &state, Layer &layer, Track &track, int64_t next_position) {
    if (!layer.window.drops()) return;
    if (layer.window_history && track.n_pages) {
        const int64_t kept = int64_t(last_position(track)) + 1 - layer.window_history;
        next_position = next_position < kept ? next_position : kept;
    }
    const int64_t unseen = layer.window.span(next_position).after;
    size_t n = 0;
    for (; n < track.n_pages; n++) {
        const PageRef &page = track.pages[n];
        if (position_at(page, page.n - 1u) > unseen) break;
        drop_page(state, layer, track, page);
    }
    for (size_t i = n; n && i < track.n_pages; i++) track.pages[i - n] = track.pages[i];
    track.n_pages -= n;
    const size_t keep =
        track.reserved ? static_cast<size_t>(pages_for(window_tokens(layer))) + 1 : 1;
    if (n) drop_spares(*state.host, layer, track, kEncoded, keep);
    if (n && !layer.encodes) drop_spares(*state.host, layer, track, kPlain, keep);
    if (n) drop_spares(*state.host, layer, track, kSinks, track.reserved ? 1 : 0);
}

} // namespace ggufx::kv
