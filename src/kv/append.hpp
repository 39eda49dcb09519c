// AppendRun: one append to one track in three phases: plan the pages, fill them, link them.
// SPDX-License-Identifier: MIT
#pragma once

#include "kv/encode.hpp"

namespace ggufx::kv {

// Positions of the appended tokens: as given, or first, first + 1, ...
struct Positions {
    const int32_t *given;
    int64_t first;
    int32_t at(size_t token) const {
        return given ? given[token] : static_cast<int32_t>(first + static_cast<int64_t>(token));
    }
};

// Appends tokens to the last page, then to new pages. In a layer that encodes, every page before
// that of the last token also gets its encoded form here: queries of later tokens see that form.
// The plain form is kept until settle_track(), for queries whose last visible token is in the page.
class AppendRun {
public:
    // Takes spare blocks of the track. Call after prepare() for n_tokens (> 0) and begin_append().
    AppendRun(Cache::State &state, Layer &layer, Track &track, const Source &source,
              size_t n_tokens);
    // Runs on the executor if the work is large enough, and on this thread if the executor fails.
    // Call commit() next.
    void fill();
    void commit(const Positions &positions);

private:
    // A page and the tokens that this append puts into it: slots slot .. end - 1, from source token
    // token0 on. Encoding covers slots first .. end - 1.
    struct PagePart {
        Block *floats; // plain or sinks form
        Block *coded;  // encoded form; null: the page stays plain
        uint32_t first, slot, end;
        size_t token0;
    };
    void plan_last();
    void plan_new();
    // Returns part i < n_parts(): the old last page first, if it takes part, then the new pages.
    PagePart part(size_t i) const;
    size_t n_parts() const { return (last_.floats ? 1 : 0) + n_new_; }
    bool waits(const PagePart &part) const;
    void fill_part(const PagePart &part, uint32_t head, uint32_t worker) const;
    void fill_here(const PagePart &part) const;
    void learn();
    void link_last();
    void put_positions(const PagePart &part, const Positions &positions) const;
    static void task(void *ctx, uint32_t index, uint32_t worker);
    static void get_value(const void *ctx, Side side, uint32_t slot, uint32_t head, float *out);

    Cache::State &state_;
    Layer &layer_;
    Track &track_;
    Source source_;
    Encoder encoder_;
    size_t n_;
    PageRef *old_ = nullptr;  // table entry of last_
    PagePart last_{};         // old last page; floats is null if it takes no part
    size_t n_new_ = 0;        // new pages, in the track's table from n_pages on
    Block *reused_ = nullptr; // plain block of the old last page, reused for the last new page
};

} // namespace ggufx::kv
