// A cache's life: create, lengths, truncate, rollback, clear, stats. Page sizes are checked here
// once, so that no later product of sizes can wrap.
// SPDX-License-Identifier: MIT
#include "kv/state.hpp"

#include "base/checked.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

using ull = unsigned long long;

const TypeOps &find_type(uint32_t id, const char *stream) {
    const TypeOps *type = type_ops(id);
    if (!type) fail(Status::type, {}, "KV type %u of the %s is unknown", id, stream);
    return *type;
}

Config checked_config(Config c) {
    const auto need = [](bool ok, const char *text, uint32_t value) {
        if (!ok) fail(Status::argument, {}, "%s (it is %u)", text, value);
    };
    if (c.head_dim_v == 0) c.head_dim_v = c.head_dim_k;
    if (c.type_k == 0) c.type_k = static_cast<uint32_t>(Type::f16);
    if (c.type_v == 0) c.type_v = static_cast<uint32_t>(Type::f16);
    if (c.n_sequences == 0) c.n_sequences = 1;
    need(c.n_layers >= 1, "n_layers must be at least 1", c.n_layers);
    need(c.n_kv_heads >= 1, "n_kv_heads must be at least 1", c.n_kv_heads);
    need(c.n_q_heads >= 1 && c.n_q_heads % c.n_kv_heads == 0,
         "n_q_heads must be a multiple of n_kv_heads", c.n_q_heads);
    need(c.head_dim_k >= 1, "head_dim_k must be at least 1", c.head_dim_k);
    return c;
}

// Also bounds the floats of one token (K, V and query), so that counts of floats fit size_t.
Layout make_layout(const Config &c, const TypeOps &k, const TypeOps &v) {
    const uint64_t k_row = row_bytes(k, c.head_dim_k), v_row = row_bytes(v, c.head_dim_v);
    const uint64_t tokens = uint64_t(c.n_kv_heads) * kPageTokens;
    const uint64_t widest = c.head_dim_k > c.head_dim_v ? c.head_dim_k : c.head_dim_v;
    uint64_t k_bytes, v_bytes, all, floats;
    size_t bytes, unused;
    const bool ok = checked::mul(&k_bytes, tokens, k_row) &&
                    checked::mul(&v_bytes, tokens, v_row) && checked::add(&all, k_bytes, v_bytes) &&
                    checked::add(&all, all, kPageTokens * sizeof(int32_t)) &&
                    checked::mul(&floats, uint64_t(c.n_q_heads) * sizeof(float), widest) &&
                    all <= SIZE_MAX / 2 && floats <= SIZE_MAX / 2 &&
                    checked::to_size(&bytes, all) && checked::to_size(&unused, floats);
    if (!ok)
        fail(Status::argument, {}, "a page of 64 tokens of %u heads of %u and %u values is too big",
             c.n_kv_heads, c.head_dim_k, c.head_dim_v);
    Layout layout{};
    layout.k_row = static_cast<size_t>(k_row);
    layout.v_row = static_cast<size_t>(v_row);
    layout.v_offset = static_cast<size_t>(k_bytes); // a multiple of 64, as are all offsets
    layout.positions_offset = static_cast<size_t>(k_bytes + v_bytes);
    layout.bytes = bytes;
    return layout;
}

} // namespace

Status check_layer(const Config &config, uint32_t layer, Failure *failure) {
    if (layer < config.n_layers) return Status::ok;
    return set_failure(failure, Status::argument, {.index = layer},
                       "layer %u: the cache has %u layers", layer, config.n_layers);
}

Status check_sequence(const Config &config, uint32_t sequence, Failure *failure) {
    if (sequence < config.n_sequences) return Status::ok;
    return set_failure(failure, Status::argument, {.index = sequence},
                       "sequence %u: the cache has %u sequences", sequence, config.n_sequences);
}

Cache *Cache::create(Ref<Host> host, const kernels::Kernels *kernels, const Config &given) {
    const Config config = checked_config(given);
    const TypeOps &k = find_type(config.type_k, "keys"), &v = find_type(config.type_v, "values");
    const Layout layout = make_layout(config, k, v);
    const uint64_t n_tracks = uint64_t(config.n_layers) * config.n_sequences;
    if (n_tracks > SIZE_MAX / sizeof(Track)) throw std::bad_alloc();
    const size_t n = static_cast<size_t>(n_tracks);
    void *memory = host->alloc(sizeof(Cache), alignof(Cache));
    if (!memory) throw std::bad_alloc();
    Cache *cache = new (memory) Cache();
    State *state = nullptr;
    try {
        state = make<State>(*host);
        state->tracks = static_cast<Track *>(host->alloc(n * sizeof(Track), alignof(Track)));
        if (!state->tracks) throw std::bad_alloc();
    } catch (...) {
        unmake(*host, state);
        host->free(cache, sizeof(Cache), alignof(Cache));
        throw;
    }
    memset(state->tracks, 0, n * sizeof(Track));
    state->n_tracks = n;
    state->host = std::move(host);
    state->kernel = kernels::kv_of(*kernels);
    state->config = config;
    state->k_type = &k;
    state->v_type = &v;
    state->layout = layout;
    cache->state_ = state;
    return cache;
}

void Cache::destroy(Cache *cache) {
    if (!cache) return;
    cache->clear();
    State *state = cache->state_;
    const Ref<Host> host = state->host;
    host->free(state->tracks, state->n_tracks * sizeof(Track), alignof(Track));
    unmake(*host, state);
    cache->~Cache();
    host->free(cache, sizeof(Cache), alignof(Cache));
}

const Config &Cache::config() const {
    return state_->config;
}

namespace {

// Longest token count that every layer of a sequence has.
uint64_t common_length(const Cache::State &state, uint32_t sequence) {
    uint64_t least = UINT64_MAX;
    for (uint32_t layer = 0; layer < state.config.n_layers; layer++) {
        const uint64_t n = state.track(layer, sequence).n_tokens;
        if (n < least) least = n;
    }
    return least;
}

void cut(Cache::State &state, uint32_t sequence, uint64_t n_tokens) {
    for (uint32_t layer = 0; layer < state.config.n_layers; layer++)
        state.track(layer, sequence).n_tokens = n_tokens;
}

} // namespace

Status Cache::reserve(uint32_t sequence, uint64_t n_tokens, Failure *failure) {
    State &s = *state_;
    const Status status = check_sequence(s.config, sequence, failure);
    if (status != Status::ok) return status;
    if (s.config.max_tokens && n_tokens > s.config.max_tokens)
        return set_failure(failure, Status::capacity, {},
                           "reserve %llu tokens: max_tokens of the cache is %llu", ull(n_tokens),
                           ull(s.config.max_tokens));
    return take_pages(*s.host, s.layout, &s.track(0, sequence), s.config.n_layers,
                      s.config.n_sequences, n_tokens, failure);
}

Status Cache::length(uint64_t *out, uint32_t sequence, Failure *failure) const {
    const Status status = check_sequence(state_->config, sequence, failure);
    if (status == Status::ok) *out = common_length(*state_, sequence);
    return status;
}

Status Cache::truncate(uint32_t sequence, uint64_t n_tokens, Failure *failure) {
    const Status status = check_sequence(state_->config, sequence, failure);
    if (status != Status::ok) return status;
    const uint64_t length = common_length(*state_, sequence);
    if (n_tokens > length)
        return set_failure(failure, Status::argument, {},
                           "truncate to %llu tokens: sequence %u has %llu", ull(n_tokens), sequence,
                           ull(length));
    cut(*state_, sequence, n_tokens);
    return Status::ok;
}

Status Cache::rollback(uint32_t sequence, Failure *failure) {
    const Status status = check_sequence(state_->config, sequence, failure);
    if (status == Status::ok) cut(*state_, sequence, common_length(*state_, sequence));
    return status;
}

void Cache::clear() {
    for (size_t i = 0; i < state_->n_tracks; i++)
        drop_pages(*state_->host, state_->layout, state_->tracks[i]);
}

Stats Cache::stats() const {
    const State &s = *state_;
    Stats stats{};
    for (uint32_t i = 0; i < s.config.n_sequences; i++) stats.n_tokens += s.track(0, i).n_tokens;
    for (size_t i = 0; i < s.n_tracks; i++) stats.n_pages += s.tracks[i].n_pages;
    stats.page_bytes = stats.n_pages * s.layout.bytes;
    stats.bytes_per_token = uint64_t(s.config.n_layers) * s.config.n_kv_heads *
                            (uint64_t(s.layout.k_row) + s.layout.v_row);
    return stats;
}

} // namespace ggufx::kv
