// Lifetime of a state cache: sizes, create, destroy, estimate. Shapes may come from a file; they
// are checked here once, so that no later product of sizes can overflow.
// SPDX-License-Identifier: MIT
#include "base/checked.hpp"
#include "state/state.hpp"

#include <string.h>

namespace ggufx::state {

namespace {

// Sets the offsets of a layer whose floats begin at *at, and advances *at. Returns false if they
// are too many to count.
bool place_layer(const LayerShape &shape, Layer *layer, uint64_t *at) {
    constexpr uint64_t kAlignFloats = kAlign / sizeof(float);
    constexpr uint64_t kMost = SIZE_MAX / sizeof(float);
    uint64_t tail = 0, state = *at, end = 0;
    if (!checked::mul(&tail, shape.tail_rows, shape.tail_values)) return false;
    if (!checked::add(&state, *at, tail) || !checked::round_up(&state, state, kAlignFloats) ||
        !checked::add(&end, state, shape.state_values) ||
        !checked::round_up(&end, end, kAlignFloats) || end > kMost)
        return false;
    *layer = {shape, static_cast<size_t>(*at), static_cast<size_t>(state),
              static_cast<size_t>(tail), static_cast<size_t>(shape.state_values)};
    *at = end;
    return true;
}

// Limit of layers * sequences, as in kv.
constexpr uint64_t kMostTracks = 4194304;

void check_counts(const Config &c) {
    if (c.n_layers == 0 || c.n_sequences == 0 || !c.layers)
        fail(Status::argument, {},
             "a state cache needs at least one layer and one sequence: it has %u and %u",
             c.n_layers, c.n_sequences);
    if (uint64_t(c.n_layers) * c.n_sequences > kMostTracks)
        fail(Status::limit, {.limit = kMostTracks},
             "%u layers of %u sequences: the limit is %llu in all", c.n_layers, c.n_sequences,
             (unsigned long long)kMostTracks);
    if (c.n_checkpoints > kMostCheckpoints)
        fail(Status::limit, {.value = c.n_checkpoints, .limit = kMostCheckpoints},
             "%u checkpoints: the limit is %u", c.n_checkpoints, kMostCheckpoints);
    if (uint64_t(c.n_sequences) * (kOwnSlots + c.n_checkpoints) > kMostSlots)
        fail(Status::limit, {.limit = kMostSlots},
             "%u checkpoints of %u sequences: the limit is %u in all", c.n_checkpoints,
             c.n_sequences, kMostSlots);
}

Sizes sizes_of(const Config &c) {
    check_counts(c);
    Sizes sizes;
    sizes.n_slots = c.n_sequences * (kOwnSlots + c.n_checkpoints);
    sizes.layers = c.n_layers * sizeof(Layer);
    sizes.sequences = c.n_sequences * sizeof(Sequence);
    sizes.checkpoints = size_t(c.n_sequences) * c.n_checkpoints * sizeof(Checkpoint);
    sizes.stepped = size_t(c.n_layers) * c.n_sequences;
    sizes.owners = size_t(sizes.n_slots) * 2 * sizeof(uint32_t);
    uint64_t floats = 0, bytes = 0;
    Layer layer;
    for (uint32_t i = 0; i < c.n_layers; i++)
        if (!place_layer(c.layers[i], &layer, &floats))
            fail(Status::limit, {.index = i}, "layer %u: its states have too many values to count",
                 i);
    if (!checked::mul(&bytes, floats, sizeof(float) * uint64_t(sizes.n_slots)) ||
        bytes > SIZE_MAX / 2)
        fail(Status::limit, {}, "%llu values in each of %u states are too many to count",
             (unsigned long long)floats, sizes.n_slots);
    sizes.slot_floats = static_cast<size_t>(floats);
    sizes.floats = static_cast<size_t>(bytes);
    return sizes;
}

template <class T> T *take_array(const Host &host, size_t bytes, size_t align) {
    if (bytes == 0) return nullptr;
    void *memory = host.alloc(bytes, align);
    if (!memory) throw std::bad_alloc();
    return static_cast<T *>(memory);
}

// Allocates the arrays or throws std::bad_alloc; destroy() frees those that exist.
void build(StateCache::State &s, const Config &config) {
    const Host &host = *s.host;
    s.config = config;
    s.config.layers = nullptr;
    s.layers = take_array<Layer>(host, s.sizes.layers, alignof(Layer));
    uint64_t at = 0;
    for (uint32_t i = 0; i < config.n_layers; i++)
        // cannot fail: sizes_of() has checked it
        (void)place_layer(config.layers[i], s.layers + i, &at);
    s.sequences = take_array<Sequence>(host, s.sizes.sequences, alignof(Sequence));
    s.checkpoints = take_array<Checkpoint>(host, s.sizes.checkpoints, alignof(Checkpoint));
    for (uint32_t i = 0; i < config.n_sequences; i++)
        s.sequences[i] = {.n_tokens = 0,
                          .loaded = 0,
                          .committed = kNoSlot,
                          .working = kNoSlot,
                          .again = kNoSlot,
                          .n_again = 0,
                          .previous = kNoSlot,
                          .n_previous = 0,
                          .n_checkpoints = 0,
                          .checkpoints = s.checkpoints + size_t(i) * config.n_checkpoints};
    s.stepped = take_array<uint8_t>(host, s.sizes.stepped, 1);
    s.owners = take_array<uint32_t>(host, s.sizes.owners, alignof(uint32_t));
    memset(s.owners, 0, s.sizes.owners);
    s.free = s.owners + s.sizes.n_slots;
    while (s.n_free < s.sizes.n_slots) {
        s.free[s.n_free] = s.sizes.n_slots - 1 - s.n_free;
        s.n_free++;
    }
    s.floats = take_array<float>(host, s.sizes.floats, kAlign);
}

} // namespace

StateCache *StateCache::create(Ref<Host> host, const Config &config) {
    const Sizes sizes = sizes_of(config);
    const Ref<Host> keep = host;
    void *memory = keep->alloc(sizeof(StateCache), alignof(StateCache));
    if (!memory) throw std::bad_alloc();
    StateCache *cache = new (memory) StateCache();
    try {
        cache->state_ = make<State>(*keep);
        cache->state_->host = std::move(host);
        cache->state_->sizes = sizes;
        build(*cache->state_, config);
    } catch (...) {
        if (cache->state_)
            destroy(cache);
        else
            keep->free(cache, sizeof(StateCache), alignof(StateCache));
        throw;
    }
    return cache;
}

void StateCache::destroy(StateCache *cache) {
    if (!cache) return;
    State *s = cache->state_;
    const Ref<Host> host = s->host;
    host->free(s->floats, s->sizes.floats, kAlign);
    host->free(s->owners, s->sizes.owners, alignof(uint32_t));
    host->free(s->stepped, s->sizes.stepped, 1);
    host->free(s->checkpoints, s->sizes.checkpoints, alignof(Checkpoint));
    host->free(s->sequences, s->sizes.sequences, alignof(Sequence));
    host->free(s->layers, s->sizes.layers, alignof(Layer));
    unmake(*host, s);
    cache->~StateCache();
    host->free(cache, sizeof(StateCache), alignof(StateCache));
}

uint64_t StateCache::estimate(const Host &, const Config &config) {
    const Sizes sizes = sizes_of(config);
    // Every term is far below 2^32 except the last, which is at most SIZE_MAX / 2.
    return sizeof(StateCache) + sizeof(State) + sizes.layers + sizes.sequences + sizes.checkpoints +
           sizes.stepped + sizes.owners + uint64_t(sizes.floats);
}

} // namespace ggufx::state
