// AppendRun: writes an append that was checked and has all its memory (append_calls.cpp), so
// nothing here can fail. The track changes only in commit().
// SPDX-License-Identifier: MIT
#include "kv/append.hpp"

#include "base/fpenv.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

constexpr uint64_t kSerialAppendNs = 50000;

} // namespace

AppendRun::AppendRun(Cache::State &state, Layer &layer, Track &track, const Source &source,
                     size_t n_tokens)
    : state_(state), layer_(layer), track_(track),
      source_(source), encoder_{&state, &layer, calibration_of(layer, track)}, n_(n_tokens) {
    plan_last();
    plan_new();
}

void AppendRun::plan_last() {
    PageRef *open = open_page(state_, layer_, track_), *hot = hot_page(layer_, track_);
    if (!open && !hot) return;
    old_ = open ? open : hot;
    Block *block = old_->block;
    const uint32_t slot = uint32_t(old_->first) + old_->n;
    const uint32_t room = open ? page_limit(state_, *block) - slot : 0;
    const uint32_t n = n_ < room ? static_cast<uint32_t>(n_) : room;
    last_ = {block, nullptr, old_->first, slot, slot + n, 0};
    if (n && block->n_owners > 1) {
        const auto form = static_cast<Form>(block->form);
        last_.floats = pop_spare(track_, form);
        memcpy(last_.floats->data(), block->data(), layer_.shape[form].bytes - sizeof(Block));
        memcpy(last_.floats->positions, block->positions, sizeof block->positions);
    }
    if (!hot || n_ == n) return;
    last_.coded = pop_spare(track_, kEncoded);
    if (n == 0) {
        memcpy(last_.coded->positions, block->positions, sizeof block->positions);
        if (track_.reuses) reused_ = block;
    }
}

void AppendRun::plan_new() {
    size_t left = n_ - (last_.end - last_.slot);
    const bool sinks = layer_.sinks && state_.n_sinks && track_.n_tokens == 0;
    for (bool first = true; left; first = false) {
        const bool sink = sinks && first;
        const size_t most = sink ? state_.n_sinks : kPageTokens, n = left < most ? left : most;
        left -= n;
        const bool coded = layer_.encodes && !sink && left;
        Block *floats = !left && reused_ ? reused_ : pop_spare(track_, sink ? kSinks : kPlain);
        track_.pages[track_.n_pages + n_new_++] = {coded ? pop_spare(track_, kEncoded) : floats,
                                                   0,
                                                   static_cast<uint16_t>(n),
                                                   0,
                                                   0,
                                                   coded ? floats : nullptr};
    }
}

AppendRun::PagePart AppendRun::part(size_t i) const {
    if (last_.floats && i-- == 0) return last_;
    const PageRef *pages = track_.pages + track_.n_pages, &page = pages[i];
    size_t token0 = last_.end - last_.slot;
    // only the first new page can hold attention sinks
    if (i) token0 += pages[0].n + (i - 1) * kPageTokens;
    return {page.plain ? page.plain : page.block,
            page.plain ? page.block : nullptr,
            0,
            0,
            page.n,
            token0};
}

// True for the part that writes into the reused block: it waits until the old page of that block is
// encoded.
bool AppendRun::waits(const PagePart &part) const {
    return reused_ && part.floats == reused_ && !part.coded;
}

void AppendRun::fill_part(const PagePart &p, uint32_t head, uint32_t worker) const {
    if (p.slot < p.end) encoder_.store_head(*p.floats, source_, p.slot, p.end, p.token0, head);
    if (p.coded)
        encoder_.encode_head(*p.coded, *p.floats, p.first, p.end, head,
                             state_.worker_scratch(worker));
}

void AppendRun::fill_here(const PagePart &part) const {
    const CanonicalFp fp;
    for (uint32_t head = 0; head < state_.config.n_kv_heads; head++) fill_part(part, head, 0);
}

void AppendRun::task(void *ctx, uint32_t index, uint32_t worker) {
    const AppendRun &run = *static_cast<AppendRun *>(ctx);
    const uint32_t heads = run.state_.config.n_kv_heads;
    const PagePart part = run.part(index / heads);
    if (!run.waits(part)) run.fill_part(part, index % heads, worker);
}

void AppendRun::get_value(const void *ctx, Side side, uint32_t slot, uint32_t head, float *out) {
    const AppendRun &run = *static_cast<const AppendRun *>(ctx);
    size_t i = 0;
    while (!run.part(i).coded) i++;
    const HeadCalibration none = {};
    read_part(run.state_, run.layer_, none, *run.part(i).floats, slot, head, side, 0,
              run.state_.head_dim(side), out);
}

// Learns the calibration from the first page encoded in this append, if the sequence has none yet.
void AppendRun::learn() {
    if (!track_.calibration || encoder_.calibration) return;
    uint64_t index = track_.n_tokens;
    for (size_t i = 0; i < n_parts(); i++) {
        const PagePart p = part(i);
        index += p.end - p.slot;
        if (!p.coded) continue;
        const CanonicalFp fp;
        for (uint32_t head = 0; head < state_.config.n_kv_heads && p.slot < p.end; head++)
            encoder_.store_head(*p.floats, source_, p.slot, p.end, p.token0, head);
        learn_calibration(state_.config, layer_, track_.calibration,
                          {this, get_value, p.first, p.end}, state_.worker_scratch(0));
        encoder_.calibration = track_.calibration;
        track_.calibrated = true;
        track_.learned_end = index;
        return;
    }
}

void AppendRun::fill() {
    learn();
    const uint64_t n = n_parts(), heads = state_.config.n_kv_heads;
    size_t n_coded = 0;
    for (size_t i = 0; i < n; i++) n_coded += part(i).coded != nullptr;
    const uint64_t tokens = n_ + n_coded * kPageTokens;
    const bool small = tokens <= kSerialAppendNs / encode_cost(state_, layer_);
    const bool spread = !small && n <= UINT32_MAX / heads;
    const bool done = spread && state_.host->parallel_for(static_cast<uint32_t>(n * heads), task,
                                                          this) == Status::ok;
    for (size_t i = 0; i < n; i++) {
        const PagePart p = part(i);
        if (!done || waits(p)) fill_here(p);
    }
}

void AppendRun::put_positions(const PagePart &p, const Positions &positions) const {
    for (uint32_t slot = p.slot; slot < p.end; slot++)
        p.floats->positions[slot] = positions.at(p.token0 + slot - p.slot);
    if (p.coded && p.slot < p.end)
        memcpy(p.coded->positions, p.floats->positions, sizeof p.floats->positions);
}

void AppendRun::commit(const Positions &positions) {
    track_.reuses = false;
    uint64_t index = track_.n_tokens + (last_.end - last_.slot);
    for (size_t i = 0; i < n_parts(); i++) put_positions(part(i), positions);
    if (last_.floats) link_last();
    for (size_t i = 0; i < n_new_; i++) {
        PageRef &page = track_.pages[track_.n_pages + i];
        page.index = index;
        index += page.n;
        page.block->n_owners = 1;
        if (page.plain) page.plain->n_owners = 1;
    }
    track_.n_pages += n_new_;
    track_.n_tokens += n_;
}

void AppendRun::link_last() {
    Block *before = old_->block;
    old_->n = static_cast<uint16_t>(last_.end - old_->first);
    if (last_.floats != before) {
        last_.floats->n_owners = 1;
        release_block(*state_.host, layer_, before, &track_);
    }
    old_->block = last_.coded ? last_.coded : last_.floats;
    old_->plain = last_.coded && !reused_ ? last_.floats : nullptr;
    if (last_.coded) last_.coded->n_owners = 1;
}

} // namespace ggufx::kv
