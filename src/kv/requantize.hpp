// Requantize: changes the types of streams that hold tokens. Every block gets one successor, so
// that sequences keep sharing blocks. Successors are built apart from the cache and replace the old
// blocks last.
// SPDX-License-Identifier: MIT
#pragma once

#include "kv/rebuild.hpp"

namespace ggufx::kv {

// Plan for one block, whose slots first .. end - 1 are in use.
struct Move {
    Block *old;
    Block *to;    // slots from n_sinks on if there is `sinks`, else all; may be `old` itself
    Block *sinks; // slots before n_sinks, if the sequence began without a page of sinks
    uint16_t first, end;
    uint64_t used;          // a bit per slot
    bool tail, inner, head; // holds the last page of a sequence; one before that; the first one
    uint32_t sequence;      // first sequence that holds the block
};

// Calibration of one sequence.
struct Means {
    uint32_t group;  // first of the sequences that share pages with it, and so calibrations
    bool calibrated; // after the call
};

// Plan for one layer: its new description, and all its blocks.
struct LayerPlan {
    explicit LayerPlan(const Host &host)
        : moves(host), targets(host), pieces(host), centring(host) {}
    uint32_t index = 0;
    Layer next;
    HostArray<Move> moves;
    HostArray<Target> targets;
    HostArray<Piece> pieces;
    HostArray<Means> centring; // [n_sequences]
    size_t n_moves = 0, n_targets = 0;
    bool same = true; // types stay: nothing to do
};

class Requantize {
public:
    Requantize(Cache::State &state, const Progress &progress, Failure *failure)
        : s_(state), host_(*state.host), failure_(failure), progress_(progress) {}
    ~Requantize();
    Requantize(const Requantize &) = delete;
    Requantize &operator=(const Requantize &) = delete;
    Status run(uint32_t first, uint32_t end, uint32_t type_k, uint32_t type_v);

private:
    Status no_memory();
    Status plan(LayerPlan &plan, uint32_t index, uint32_t type_k, uint32_t type_v);
    bool find_moves(LayerPlan &plan);
    bool take_blocks(LayerPlan &plan);
    bool take_successors(LayerPlan &plan, Move &move);
    void add_target(LayerPlan &plan, Block *block, const Move &move, uint32_t first, uint32_t end);
    bool grow_tables(const LayerPlan &plan);
    bool take_arrays();
    void place_calibration(LayerPlan &plan);
    Status fill();
    uint32_t group_of(const LayerPlan &plan, uint32_t sequence) const;
    bool holds_encoded(const LayerPlan &plan, uint32_t sequence) const;
    float *centring_at(uint32_t layer, uint32_t sequence) const;
    void settle_calibration(LayerPlan &plan, const Rebuild &rebuild);
    void settle_group(LayerPlan &plan, const Rebuild &rebuild, uint32_t group);
    void commit();
    void commit_layer(LayerPlan &plan);
    void replace_pages(Track &track);
    size_t pages_split(const Track &track) const;

    Cache::State &s_;
    const Host &host_;
    Failure *failure_;
    Progress progress_;
    LayerPlan **plans_ = nullptr;
    uint32_t n_plans_ = 0, n_taken_ = 0;
    LayerMemory sizes_{};
    uint8_t *scratch_ = nullptr;   // scratch for the new types: the cache's, or a new allocation
    float *calibration_ = nullptr; // new allocation
    bool committed_ = false;
};

} // namespace ggufx::kv
