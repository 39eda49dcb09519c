// Append: everything is checked and all memory is taken before the first byte is written where a
// reader could see it; pages are filled aside and linked last, so that a failed append leaves the
// sequence as it was.
// SPDX-License-Identifier: MIT
#include "kv/append.hpp"

#include "base/fpenv.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

constexpr uint64_t kSerialNs = 50000;

} // namespace

AppendRun::AppendRun(Cache::State &state, Layer &layer, Track &track, const Source &source,
                     size_t n_tokens)
    : state_(state), layer_(layer), track_(track), encoder_{&state, &layer, source}, n_(n_tokens) {
    open_ = open_page(state, layer, track);
    if (open_)
        plan_open();
    else if (layer.sinks && state.n_sinks && track.n_tokens == 0)
        plan_sink();
    new_pages_ = track.n_pages + (n_first_ && !open_ ? 1 : 0);
    const size_t left = n_ - n_first_;
    n_full_ = left / kPageTokens;
    n_tail_ = static_cast<uint32_t>(left % kPageTokens);
    const Form form = layer.encodes ? kEncoded : kPlain;
    for (size_t i = 0; i < n_full_; i++)
        track.pages[new_pages_ + i] = {pop_spare(track, form), 0, kPageTokens, 0, 0};
    if (n_tail_) {
        // the plain block of a page that gets encoded is free for the tail
        reuse_ = encodes_first() && first_.from->n_owners == 1;
        Block *tail = reuse_ ? const_cast<Block *>(first_.from) : pop_spare(track, kPlain);
        track.pages[new_pages_ + n_full_] = {tail, 0, static_cast<uint16_t>(n_tail_), 0, 0};
    }
}

void AppendRun::plan_open() {
    Block *block = open_->block;
    const uint32_t slot = open_->first + open_->n, room = page_limit(state_, *block) - slot;
    n_first_ = n_ < room ? static_cast<uint32_t>(n_) : room;
    first_ = {block, block, open_->first, slot, slot + n_first_, 0};
    if (layer_.encodes && block->form == kPlain && n_first_ == room) {
        first_.to = pop_spare(track_, kEncoded);
    } else if (block->n_owners > 1) {
        const auto form = static_cast<Form>(block->form);
        first_.to = pop_spare(track_, form);
        memcpy(first_.to->data(), block->data(), layer_.shape[form].bytes - sizeof(Block));
    }
    if (first_.to != block) memcpy(first_.to->positions, block->positions, sizeof block->positions);
}

void AppendRun::plan_sink() {
    n_first_ = n_ < state_.n_sinks ? static_cast<uint32_t>(n_) : state_.n_sinks;
    first_ = {pop_spare(track_, kSinks), nullptr, 0, 0, n_first_, 0};
}

// Fills that tasks may run side by side: encoded pages, or all pages of a layer of floats.
size_t AppendRun::n_parallel() const {
    if (layer_.encodes) return (encodes_first() ? 1 : 0) + n_full_;
    return (n_first_ ? 1 : 0) + n_full_ + (n_tail_ ? 1 : 0);
}

Fill AppendRun::parallel_fill(size_t i) const {
    const bool first = layer_.encodes ? encodes_first() : n_first_ != 0;
    if (first && i == 0) return first_;
    const size_t page = i - (first ? 1 : 0);
    const PageRef &ref = track_.pages[new_pages_ + page];
    return {ref.block, nullptr, 0, 0, ref.n, n_first_ + page * kPageTokens};
}

void AppendRun::task(void *ctx, uint32_t index, uint32_t worker) {
    const AppendRun &run = *static_cast<AppendRun *>(ctx);
    const uint32_t heads = run.state_.config.n_kv_heads;
    run.encoder_.fill_head(run.parallel_fill(index / heads), index % heads,
                           run.state_.worker_scratch(worker));
}

void AppendRun::fill_here(const Fill &fill) const {
    for (uint32_t head = 0; head < state_.config.n_kv_heads; head++)
        encoder_.fill_head(fill, head, state_.worker_scratch(0));
}

void AppendRun::get_value(const void *ctx, Side side, uint32_t slot, uint32_t head, float *out) {
    const AppendRun &run = *static_cast<const AppendRun *>(ctx);
    run.encoder_.load_slot(run.parallel_fill(0), side, slot, head, out);
}

void AppendRun::calibrate() {
    if (!layer_.encodes || layer_.calibrated || !layer_.calibration || n_parallel() == 0) return;
    const Fill fill = parallel_fill(0);
    const CanonicalFp fp;
    calibrate_layer(state_, layer_, {this, get_value, fill.first, fill.end},
                    state_.worker_scratch(0));
    layer_.calibrated = calibrated_ = true;
}

Status AppendRun::fill(bool executor) {
    calibrate();
    const uint64_t n_pages = n_parallel(), heads = state_.config.n_kv_heads;
    const bool small = encode_cost(state_, layer_) * n_ <= kSerialNs;
    if (executor && !small && n_pages && n_pages <= UINT32_MAX / heads) {
        const Status status =
            state_.host->parallel_for(static_cast<uint32_t>(n_pages * heads), task, this);
        if (status != Status::ok) return status;
    } else {
        const CanonicalFp fp;
        for (size_t i = 0; i < n_pages; i++) fill_here(parallel_fill(i));
    }
    if (!layer_.encodes) return Status::ok;
    const CanonicalFp fp;
    if (n_first_ && !encodes_first()) fill_here(first_);
    if (n_tail_) {
        const PageRef &tail = track_.pages[new_pages_ + n_full_];
        fill_here({tail.block, nullptr, 0, 0, n_tail_, n_ - n_tail_});
    }
    return Status::ok;
}

void AppendRun::put_positions(Block &block, uint32_t slot, uint32_t n, size_t token,
                              const Positions &positions) const {
    for (uint32_t i = 0; i < n; i++) block.positions[slot + i] = positions.at(token + i);
}

void AppendRun::commit(const Positions &positions) {
    if (n_first_) put_positions(*first_.to, first_.slot, n_first_, 0, positions);
    if (open_) {
        Block *old = open_->block;
        open_->n = static_cast<uint16_t>(open_->n + n_first_);
        if (first_.to != old) {
            open_->block = first_.to;
            first_.to->n_owners = 1;
            if (!reuse_) release_block(*state_.host, layer_, old, &track_);
        }
    } else if (n_first_) {
        first_.to->n_owners = 1;
        track_.pages[track_.n_pages] = {first_.to, 0, static_cast<uint16_t>(n_first_), 0,
                                        track_.n_tokens};
    }
    const size_t n_new = n_full_ + (n_tail_ ? 1 : 0);
    for (size_t i = 0; i < n_new; i++) {
        PageRef &page = track_.pages[new_pages_ + i];
        page.index = track_.n_tokens + n_first_ + i * kPageTokens;
        page.block->n_owners = 1;
        put_positions(*page.block, 0, page.n, n_first_ + i * kPageTokens, positions);
    }
    track_.n_pages = new_pages_ + n_new;
    track_.n_tokens += n_;
    drop_window(state_, layer_, track_, positions.at(0));
}

void AppendRun::abandon() {
    if (calibrated_) layer_.calibrated = false;
    for (size_t i = 0; i < n_full_ + (n_tail_ && !reuse_ ? 1 : 0); i++)
        push_spare(track_, track_.pages[new_pages_ + i].block);
    if (n_first_ && (!open_ || first_.to != open_->block)) push_spare(track_, first_.to);
}

} // namespace ggufx::kv
