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

class AppendRun {
public:
    // The track has been prepared for n_tokens (> 0); takes blocks from its spares.
    AppendRun(Cache::State &state, Layer &layer, Track &track, const Source &source,
              size_t n_tokens);
    // Either fill() succeeds and commit() follows, or abandon() gives the blocks back.
    Status fill(bool executor);
    void commit(const Positions &positions);
    void abandon();

private:
    void plan_open();
    void plan_sink();
    bool encodes_first() const { return n_first_ && first_.to->form == kEncoded; }
    size_t n_parallel() const;
    Fill parallel_fill(size_t i) const;
    void fill_here(const Fill &fill) const;
    void calibrate();
    void put_positions(Block &block, uint32_t slot, uint32_t n, size_t token,
                       const Positions &positions) const;
    static void task(void *ctx, uint32_t index, uint32_t worker);
    static void get_value(const void *ctx, Side side, uint32_t slot, uint32_t head, float *out);

    Cache::State &state_;
    Layer &layer_;
    Track &track_;
    Encoder encoder_;
    size_t n_;
    PageRef *open_ = nullptr;
    Fill first_{};         // of the open page, or of the sinks
    uint32_t n_first_ = 0; // its tokens
    size_t new_pages_ = 0; // index of the first page after it
    size_t n_full_ = 0;
    uint32_t n_tail_ = 0;
    bool reuse_ = false, calibrated_ = false;
};

} // namespace ggufx::kv
