// Lifetime of a cache: create, estimate, reserve, clear; statistics. Sizes are checked here once, so
// that no later product of sizes can overflow.
// SPDX-License-Identifier: MIT
#include "base/checked.hpp"
#include "base/fpenv.hpp"
#include "kv/attend.hpp"
#include "kv/state.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

// Bytes of the arrays of a cache, without pages.
struct Sizes {
    size_t layers, tracks, turn;
    LayerMemory more;
};

Sizes sizes_of(const Host &host, const Config &c) {
    Sizes sizes{};
    bool encodes = false, centred = false;
    for (uint32_t i = 0; i < c.n_layers; i++) {
        const Layer layer = make_layer(c, i);
        encodes |= layer.encodes;
        centred |= layer.centre_k || layer.centre_v;
        if (!c.layers) break;
    }
    uint64_t bytes = 0;
    const uint64_t tracks = uint64_t(c.n_layers) * c.n_sequences;
    const bool ok =
        checked::mul(&bytes, tracks, sizeof(Track)) && checked::to_size(&sizes.tracks, bytes) &&
        checked::mul(&bytes, c.n_layers, sizeof(Layer)) && checked::to_size(&sizes.layers, bytes) &&
        sizes.tracks <= SIZE_MAX / 4 && sizes.layers <= SIZE_MAX / 4;
    if (!ok) throw std::bad_alloc();
    sizes.turn = turn_values(c) * sizeof(double);
    sizes.more = layer_memory(host, c, encodes, centred);
    return sizes;
}

template <class T> T *take_array(const Host &host, size_t bytes, size_t align) {
    if (bytes == 0) return nullptr;
    void *memory = host.alloc(bytes, align);
    if (!memory) throw std::bad_alloc();
    memset(memory, 0, bytes);
    return static_cast<T *>(memory);
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

Status refuse_pages(const Cache::State &state, uint32_t layer, uint64_t n, Failure *failure) {
    return set_failure(failure, Status::capacity, {.index = layer, .limit = state.config.max_pages},
                       "layer %u has %llu pages, the limit is %llu: %llu tokens need more", layer,
                       ull(state.layers[layer].main_blocks()), ull(state.config.max_pages), ull(n));
}

// Allocates the arrays or throws std::bad_alloc; destroy() frees those that exist.
void Cache::build(const Config &config) {
    State &s = *state_;
    const Host &host = *s.host;
    const Sizes sizes = sizes_of(host, config);
    s.config = config;
    s.config.layers = nullptr;
    s.config.append_tokens = nullptr;
    s.n_sinks = config.n_sinks;
    s.turn.each = take_array<double>(host, sizes.turn, alignof(double));
    make_turn(config, s.turn);
    if (config.before_rope && !can_turn(s.turn, INT32_MAX))
        fail(Status::argument, {},
             "centring before RoPE: a key rotates by %g radians per position, the limit is 1",
             s.turn.most);
    s.config.rope_frequencies = config.rope_frequencies ? s.turn.each : nullptr;
    s.layers = take_array<Layer>(host, sizes.layers, alignof(Layer));
    for (uint32_t i = 0; i < config.n_layers; i++) new (s.layers + i) Layer(make_layer(config, i));
    s.tracks = take_array<Track>(host, sizes.tracks, alignof(Track));
    s.n_tracks = sizes.tracks / sizeof(Track);
    s.scratch = take_array<uint8_t>(host, sizes.more.scratch, kPageAlign);
    s.scratch_bytes = sizes.more.scratch_one;
    s.attend = AttendMemory::make(host, config);
    s.calibration = take_array<float>(host, sizes.more.calibration, kPageAlign);
    s.n_calibration = sizes.more.calibration / sizeof(float);
    s.place_calibration(s.calibration, sizes.more.calibration_one / sizeof(float));
}

Cache *Cache::create(Ref<Host> host, const kernels::Kernels *kernels, const Config &given) {
    const Config config = checked_config(given);
    const Ref<Host> keep = host;
    void *memory = keep->alloc(sizeof(Cache), alignof(Cache));
    if (!memory) throw std::bad_alloc();
    Cache *cache = new (memory) Cache();
    try {
        cache->state_ = make<State>(*keep);
        cache->state_->host = std::move(host);
        cache->state_->kernels = kernels;
        cache->build(config);
    } catch (...) {
        if (cache->state_)
            destroy(cache);
        else
            keep->free(cache, sizeof(Cache), alignof(Cache));
        throw;
    }
    return cache;
}

void Cache::destroy(Cache *cache) {
    if (!cache) return;
    cache->finish_load(false);
    cache->clear();
    State *s = cache->state_;
    const Ref<Host> host = s->host;
    AttendMemory::destroy(*host, s->attend);
    host->free(s->calibration, s->n_calibration * sizeof(float), kPageAlign);
    host->free(s->scratch, s->scratch_bytes * host->max_workers(), kPageAlign);
    host->free(s->tracks, s->n_tracks * sizeof(Track), alignof(Track));
    host->free(s->turn.each, turn_values(s->config) * sizeof(double), alignof(double));
    host->free(s->layers, s->layers ? s->config.n_layers * sizeof(Layer) : 0, alignof(Layer));
    unmake(*host, s);
    cache->~Cache();
    host->free(cache, sizeof(Cache), alignof(Cache));
}

const Config &Cache::config() const {
    return state_->config;
}

namespace {

// Returns how many of n appended tokens a layer holds at once.
uint64_t appended_tokens(const Layer &layer, uint64_t n) {
    const uint64_t most = window_tokens(layer);
    return layer.window.drops() && n > most ? most : n;
}

// Returns the tokens that reserve(n_tokens) provides for, beyond those of the track.
uint64_t reserved_tokens(const Layer &layer, const Track &track, uint64_t n_tokens) {
    return appended_tokens(layer, n_tokens > track.n_tokens ? n_tokens - track.n_tokens : 0);
}

// Reserves a track for n_tokens, with the table of its rollback point. New blocks become spare
// ones. Errors: MEMORY, CAPACITY.
Status reserve_track(const Cache::State &state, Layer &layer, Track &track, uint64_t n_tokens) {
    const Status status =
        prepare(state, layer, track, reserved_tokens(layer, track, n_tokens), Steps::small);
    if (status != Status::ok) return status;
    return grow_rollback_point(*state.host, layer, track, track.table_size) ? status
                                                                            : Status::memory;
}

} // namespace

Status reserve_loaded(const Cache::State &state, Layer &layer, Track &track, uint64_t n_tokens) {
    const Track empty{};
    const uint64_t n = reserved_tokens(layer, empty, n_tokens);
    const Needs all = needs_of(state, layer, empty, n, Steps::small);
    size_t held[kFormCount] = {};
    for (size_t p = 0; p < track.n_pages; p++) held[track.pages[p].block->form]++;
    for (const Form form : kForms)
        while (held[form] + track.n_spare[form] < all.blocks[form]) {
            Block *block = take_block(*state.host, layer, form);
            if (!block) return Status::memory;
            push_spare(track, block);
        }
    const bool tables = grow_table(*state.host, track, all.n_pages) &&
                        grow_rollback_point(*state.host, layer, track, track.table_size);
    if (!tables || layer.window.drops()) return tables ? Status::ok : Status::memory;
    return reserve_track(state, layer, track, n_tokens);
}

uint64_t Cache::estimate(const Host &host, const Config &given, uint64_t n_tokens) {
    const Config config = checked_config(given);
    const Sizes sizes = sizes_of(host, config);
    State state;
    state.config = config;
    state.n_sinks = config.n_sinks;
    uint64_t total = sizeof(Cache) + sizeof(State) + sizes.layers + sizes.tracks + sizes.turn +
                     sizes.more.scratch + sizes.more.calibration + sizeof(AttendMemory) +
                     AttendShape(config, host.max_workers()).bytes;
    bool ok = true;
    for (uint32_t i = 0; i < config.n_layers; i++) {
        const Layer layer = make_layer(config, i);
        const Track empty{};
        const uint64_t n = reserved_tokens(layer, empty, n_tokens);
        const Needs needs = needs_of(state, layer, empty, n, Steps::small);
        uint64_t one = 0;
        if (needs.n_pages) one = uint64_t(table_size_for(needs.n_pages)) * sizeof(PageRef);
        if (layer.window.drops()) one *= 2; // and the table of the rollback point
        ok = ok && checked::mul(&one, one, uint64_t(config.n_sequences)) &&
             checked::add(&total, total, one);
        for (const Form form : kForms) {
            uint64_t blocks = 0, bytes = 0;
            ok = ok &&
                 checked::mul(&blocks, uint64_t(needs.blocks[form]), uint64_t(config.n_sequences));
            if (form == layer.main_form() && config.max_pages && blocks > config.max_pages)
                blocks = config.max_pages;
            ok = ok && checked::mul(&bytes, blocks, uint64_t(layer.shape[form].bytes)) &&
                 checked::add(&total, total, bytes);
        }
    }
    if (!ok || n_tokens > UINT64_MAX / 2)
        fail(Status::argument, {}, "%llu tokens need more than 2^64 bytes", ull(n_tokens));
    return total;
}

Status Cache::reserve(uint32_t sequence, uint64_t n_tokens, Failure *failure) {
    State &s = *state_;
    const Status status = check_sequence(s.config, sequence, failure);
    if (status != Status::ok) return status;
    if (s.config.max_tokens && n_tokens > s.config.max_tokens)
        return set_failure(failure, Status::capacity,
                           {.value = n_tokens, .limit = s.config.max_tokens},
                           "cannot reserve %llu tokens: max_tokens of the cache is %llu",
                           ull(n_tokens), ull(s.config.max_tokens));
    Status taken = Status::ok;
    uint32_t n = 0;
    for (; taken == Status::ok && n < s.config.n_layers; n++) {
        Track &track = s.track(n, sequence);
        for (const Form form : kForms) track.n_marked[form] = track.n_spare[form];
        taken = reserve_track(s, s.layers[n], track, n_tokens);
    }
    if (taken == Status::ok) {
        for (uint32_t i = 0; i < n; i++) s.track(i, sequence).reserved = true;
        return status;
    }
    for (uint32_t i = 0; i < n; i++)
        for (const Form form : kForms)
            drop_spares(*s.host, s.layers[i], s.track(i, sequence), form,
                        s.track(i, sequence).n_marked[form]);
    if (taken == Status::capacity) return refuse_pages(s, n - 1, n_tokens, failure);
    return set_failure(failure, Status::memory, {},
                       "no memory for the pages of %llu tokens in each of %u layers", ull(n_tokens),
                       s.config.n_layers);
}

Status Cache::provide(uint32_t sequence, uint64_t n_tokens, Failure *failure) {
    State &s = *state_;
    Status status = check_sequence(s.config, sequence, failure);
    if (status != Status::ok) return status;
    uint32_t n = 0;
    for (; status == Status::ok && n < s.config.n_layers; n++) {
        Track &track = s.track(n, sequence);
        for (const Form form : kForms) track.n_marked[form] = track.n_spare[form];
        const uint64_t more = appended_tokens(s.layers[n], n_tokens);
        status = prepare(s, s.layers[n], track, more, Steps::small);
        track.mark.provided = status == Status::ok;
    }
    if (status == Status::ok) return status;
    for (uint32_t i = 0; i < n; i++) {
        Track &track = s.track(i, sequence);
        track.mark.provided = false;
        for (const Form form : kForms)
            drop_spares(*s.host, s.layers[i], track, form, track.n_marked[form]);
    }
    if (status == Status::capacity) return refuse_pages(s, n - 1, n_tokens, failure);
    return set_failure(failure, Status::memory, {},
                       "no memory for the pages of %llu tokens in each of %u layers", ull(n_tokens),
                       s.config.n_layers);
}

uint64_t Cache::room() const {
    const State &s = *state_;
    if (s.config.max_pages == 0) return UINT64_MAX;
    uint64_t least = s.config.max_pages;
    for (uint32_t l = 0; l < s.config.n_layers; l++) {
        const uint64_t n = layer_room(s, l);
        if (n < least) least = n;
    }
    return checked::mul(&least, least, uint64_t{kPageTokens}) ? least : UINT64_MAX;
}

void Cache::clear() {
    State &s = *state_;
    for (size_t i = 0; i < s.n_tracks; i++)
        clear_track(s, s.layers[i / s.config.n_sequences], s.tracks[i]);
}

namespace {

struct Sums {
    double k_error = 0, k_square = 0, v_error = 0, v_square = 0;
};

void add_layer(Stats &out, Sums &sums, const Cache::State &s, uint32_t index) {
    const Layer &layer = s.layers[index];
    out.bytes_per_token +=
        s.config.n_kv_heads * (vector_bytes(*layer.k, s.config.head_dim_k) +
                               (s.config.v_in_k ? 0 : vector_bytes(*layer.v, s.config.head_dim_v)));
    for (const Form form : kForms) {
        out.n_pages += layer.n_blocks[form];
        out.page_bytes += layer.n_blocks[form] * layer.shape[form].bytes;
    }
    out.n_plain_pages +=
        (layer.encodes ? layer.n_blocks[kPlain] : 0) + (layer.sinks ? layer.n_blocks[kSinks] : 0);
    for (uint32_t i = 0; i < s.config.n_sequences; i++) {
        const Track &track = s.track(index, i);
        for (size_t p = 0; p < track.n_pages; p++) {
            const Block &block = *track.pages[p].block;
            out.n_shared_pages += block.n_owners > 1;
            if (block.form != kEncoded) continue;
            const auto *errors =
                reinterpret_cast<const HeadErrors *>(block.data() + layer.shape[kEncoded].errors);
            for (uint32_t h = 0; h < s.config.n_kv_heads; h++) {
                sums.k_error += static_cast<double>(errors[h].k_error);
                sums.k_square += static_cast<double>(errors[h].k_square);
                sums.v_error += static_cast<double>(errors[h].v_error);
                sums.v_square += static_cast<double>(errors[h].v_square);
            }
        }
    }
}

} // namespace

Status Cache::stats(Stats *out, uint32_t layer, Failure *failure) const {
    const State &s = *state_;
    const CanonicalFp canonical;
    *out = {};
    if (layer != kAllLayers) {
        const Status status = check_layer(s.config, layer, failure);
        if (status != Status::ok) return status;
    }
    Sums sums;
    const bool all = layer == kAllLayers;
    out->type_k = all ? s.config.type_k : s.layers[layer].k->facts.id;
    out->type_v = all ? s.config.type_v : s.layers[layer].v->facts.id;
    for (uint32_t i = 0; i < s.config.n_layers; i++)
        if (layer == kAllLayers || layer == i) add_layer(*out, sums, s, i);
    for (uint32_t i = 0; i < s.config.n_sequences; i++)
        out->n_tokens += s.track(layer == kAllLayers ? 0 : layer, i).n_tokens;
    const double values =
        static_cast<double>(all ? s.config.n_layers : 1) * s.config.n_kv_heads *
        (double{1} * s.config.head_dim_k + (s.config.v_in_k ? 0 : s.config.head_dim_v));
    out->bits_per_value = static_cast<double>(out->bytes_per_token) * 8 / values;
    out->k_error = sums.k_square > 0 ? sums.k_error / sums.k_square : 0;
    if (s.config.v_in_k) sums.v_error = sums.k_error, sums.v_square = sums.k_square;
    out->v_error = sums.v_square > 0 ? sums.v_error / sums.v_square : 0;
    return Status::ok;
}

} // namespace ggufx::kv
