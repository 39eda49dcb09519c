// Commit of requantize: successors replace old blocks. Nothing here can fail.
// SPDX-License-Identifier: MIT
#include "kv/requantize.hpp"

namespace ggufx::kv {

// Goes backwards: the table has room for one page more per page that is split.
void Requantize::replace_pages(Track &track) {
    const size_t more = pages_split(track);
    size_t at = track.n_pages + more;
    for (size_t p = track.n_pages; p-- > 0;) {
        const PageRef page = track.pages[p];
        const Move &move = *page.block->move;
        const uint32_t end = uint32_t(page.first) + page.n;
        uint32_t border = move.sinks ? s_.n_sinks : page.first;
        border = border < page.first ? page.first : border > end ? end : border;
        if (border < end) {
            track.pages[--at] = {move.to,
                                 static_cast<uint16_t>(border),
                                 static_cast<uint16_t>(end - border),
                                 page.delta,
                                 0,
                                 nullptr};
            move.to->n_owners++;
        }
        if (border > page.first) {
            track.pages[--at] = {move.sinks, page.first, static_cast<uint16_t>(border - page.first),
                                 page.delta, 0,          nullptr};
            move.sinks->n_owners++; // NOLINT(clang-analyzer-core.NullDereference): see border
        }
    }
    track.n_pages += more;
    number_pages(track);
}

void Requantize::commit_layer(LayerPlan &plan) {
    Layer &layer = s_.layers[plan.index];
    for (uint32_t i = 0; i < s_.config.n_sequences; i++) {
        settle_track(s_, layer, s_.track(plan.index, i));
        end_rollback_point(s_, layer, s_.track(plan.index, i), true);
    }
    for (size_t i = 0; i < plan.n_moves; i++)
        if (plan.moves[i].to) plan.moves[i].to->n_owners = 0;
    for (uint32_t i = 0; i < s_.config.n_sequences; i++) {
        Track &track = s_.track(plan.index, i);
        for (const Form form : kForms) drop_spares(host_, layer, track, form, 0);
        track.reserved = false;
        replace_pages(track);
        track.calibrated = plan.centring[i].calibrated ||
                           (plan.next.given && plan.next.calibration && track.calibrated);
        track.learned_end = track.n_dropped ? 0 : UINT64_MAX;
    }
    for (size_t i = 0; i < plan.n_moves; i++) {
        Move &move = plan.moves[i];
        move.old->move = nullptr;
        if (move.to == move.old)
            plan.next.n_blocks[move.old->form]++;
        else
            free_block(host_, layer, move.old);
    }
    layer = plan.next;
}

void Requantize::commit() {
    for (uint32_t i = 0; i < n_taken_; i++)
        if (!plans_[i]->same) commit_layer(*plans_[i]);
    if (s_.scratch != scratch_)
        host_.free(s_.scratch, s_.scratch_bytes * host_.max_workers(), kPageAlign);
    s_.scratch = scratch_;
    s_.scratch_bytes = sizes_.scratch_one;
    host_.free(s_.calibration, s_.n_calibration * sizeof(float), kPageAlign);
    s_.n_calibration = sizes_.calibration / sizeof(float);
    s_.place_calibration(calibration_, sizes_.calibration_one / sizeof(float));
    committed_ = true;
}

} // namespace ggufx::kv
