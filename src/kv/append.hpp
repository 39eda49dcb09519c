// One append to one track: a plan of pages, their filling, and the commit that links them.
// SPDX-License-Identifier: MIT
#pragma once

#include "kv/encode.hpp"

namespace ggufx::kv {

// Of the tokens of an append: as given, or first, first + 1, ...
struct Positions {
    const int32_t *given;
    int64_t first;
    int32_t at(size_t token) const {
        return given ? given[token] : static_cast<int32_t>(first + static_cast<int64_t>(token));
    }
};

// Tokens go on in the last page, then into new ones. In a layer that encodes every page but the one
// of the last token gets its encoded form here, because queries of later tokens see that; the plain
// form stays beside it for the queries that stand in the page (settle_track ends that).
class AppendRun {
public:
    // The track has been prepared for n_tokens (> 0), begin_append came; takes its spare blocks.
    AppendRun(Cache::State &state, Layer &layer, Track &track, const Source &source,
              size_t n_tokens);
    // On the executor where that is worth it, in this thread where it fails. commit() follows.
    void fill();
    void commit(const Positions &positions);

private:
    // A page and its tokens of this append: slots slot .. end - 1, from token token0 on.
    struct Part {
        Block *floats; // plain, or sinks
        Block *coded;  // null: stays plain
        uint32_t first, slot, end;
        size_t token0;
    };
    void plan_last();
    void plan_new();
    Part part(size_t i) const; // of n_parts(): the last page of before, if it takes part, new ones
    size_t n_parts() const { return (last_.floats ? 1 : 0) + n_new_; }
    bool waits(const Part &part) const;
    void fill_part(const Part &part, uint32_t head, uint32_t worker) const;
    void fill_here(const Part &part) const;
    void learn();
    void link_last();
    void put_positions(const Part &part, const Positions &positions) const;
    static void task(void *ctx, uint32_t index, uint32_t worker);
    static void get_value(const void *ctx, Side side, uint32_t slot, uint32_t head, float *out);

    Cache::State &state_;
    Layer &layer_;
    Track &track_;
    Source source_;
    Encoder encoder_;
    size_t n_;
    PageRef *old_ = nullptr;  // the page that last_ is about
    Part last_{};             // floats null: there is none
    size_t n_new_ = 0;        // pages behind it, in the track's table from n_pages on
    Block *reused_ = nullptr; // plain form of the last page, which the last new one gets
};

} // namespace ggufx::kv
