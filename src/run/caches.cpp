// SPDX-License-Identifier: MIT
#include "run/caches.hpp"

#include "kv/types.hpp"

namespace ggufx::model {

namespace {

// Tokens that a sliding-window layer keeps before its window for truncation, and appends at a time;
// both fit into the space that kv reserves for windows (kWindowAppend).
constexpr uint32_t kWindowHistory = 320, kWindowAppendTokens = 128;
constexpr uint32_t kPageTokens = 64;

bool has_windows(const CacheInfo &info) {
    for (const CacheLayer &layer : info.layers)
        if (layer.window.n > 0) return true;
    return false;
}

kv::WindowKind kind_of(const CacheWindow &window) {
    return window.chunked ? kv::WindowKind::chunked : kv::WindowKind::sliding;
}

// Returns the number of full pages, and a partial one of each sequence.
uint64_t pages_of(const CacheOptions &options) {
    return options.n_total ? options.n_total / kPageTokens + options.n_sequences + 1 : 0;
}

// Configuration of a cache, and the layers it points to.
struct CachePlan {
    CachePlan(const Host *host, const Graph &graph, uint32_t index, const CacheOptions &options)
        : layers(HostAllocator<kv::LayerConfig>(host)), appends(HostAllocator<uint32_t>(host)) {
        const CacheInfo &info = graph.caches[index];
        const CacheShape &shape = info.shape;
        config.n_layers = static_cast<uint32_t>(info.layers.size());
        config.n_kv_heads = shape.n_kv_heads;
        config.n_q_heads = shape.n_heads;
        config.head_dim_k = shape.head_dim_k;
        config.head_dim_v = shape.head_dim_v;
        config.v_in_k = shape.v_in_k;
        config.type_k = options.type_k;
        config.type_v = shape.v_in_k ? options.type_k : options.type_v;
        config.n_sequences = options.n_sequences;
        config.max_tokens = options.n_context;
        config.max_pages = pages_of(options);
        config.model = options.model;
        set_rotation(graph, shape, options.n_context);
        set_windows(info);
        set_appends(graph, index, options.n_batch);
    }

    void set_rotation(const Graph &graph, const CacheShape &shape, uint32_t n_context) {
        config.rope_style = shape.style == RopeStyle::pairs    ? kv::RopeStyle::pairs
                            : shape.style == RopeStyle::halves ? kv::RopeStyle::halves
                                                               : kv::RopeStyle::none;
        if (shape.style == RopeStyle::none) return;
        const RopeTable &rope_table = graph.rope_tables[shape.rope_table];
        config.rope_dims = shape.rope_dims;
        config.rope_frequencies = graph.frequencies.data() + rope_table.start(n_context);
        config.n_rope_frequencies = rope_table.pairs;
    }

    void set_windows(const CacheInfo &info) {
        if (!has_windows(info)) return;
        for (const CacheLayer &layer : info.layers)
            layers.push_back({0, 0, layer.window.n, kind_of(layer.window)});
        config.layers = layers.data();
        config.window_history = kWindowHistory;
    }

    // Sets the append sizes; layers whose keys other layers also read append a whole batch at once.
    void set_appends(const Graph &graph, uint32_t index, uint32_t n_batch) {
        const bool floats = kv::type_ops(config.type_k) && kv::type_ops(config.type_v) &&
                            kv::type_ops(config.type_k)->is_float() &&
                            kv::type_ops(config.type_v)->is_float();
        for (const CacheLayer &layer : graph.caches[index].layers)
            appends.push_back(floats && layer.window.n ? kWindowAppendTokens : 0);
        for (const Op &op : graph.ops) {
            const auto *attend = std::get_if<op::Attend>(&op);
            if (attend && attend->shared && attend->cache == index)
                appends[attend->layer] = n_batch;
        }
        config.append_tokens = appends.data();
    }

    kv::Config config;
    Vector<kv::LayerConfig> layers;
    Vector<uint32_t> appends;
};

// Shapes of the recurrent states of a graph.
struct StatePlan {
    StatePlan(const Host *host, const Graph &graph, const CacheOptions &options)
        : layers(HostAllocator<state::LayerShape>(host)) {
        for (const StateInfo &info : graph.states)
            layers.push_back({info.tail_rows, info.tail_values, info.state_values});
        config.layers = layers.data();
        config.n_layers = static_cast<uint32_t>(layers.size());
        config.n_sequences = options.n_sequences;
        config.n_checkpoints = options.n_checkpoints;
        config.model = options.model;
    }

    state::Config config;
    Vector<state::LayerShape> layers;
};

} // namespace

Caches::Caches(const Graph &graph, const Ref<Host> &host, const kernels::Kernels &kernels,
               const CacheOptions &options)
    : graph_(graph), options_(options), caches_(HostAllocator<kv::Cache *>(host.get())) {
    try {
        caches_.reserve(graph.caches.size());
        for (uint32_t i = 0; i < graph.caches.size(); i++) {
            const CachePlan plan(host.get(), graph, i, options);
            caches_.push_back(kv::Cache::create(host, &kernels, plan.config));
            Failure failure;
            for (uint32_t s = 0; s < options.n_sequences && !options.n_total; s++)
                if (caches_.back()->reserve(s, options.n_context, &failure) != Status::ok)
                    throw Error{failure};
        }
        if (!graph.states.empty())
            states_ = state::StateCache::create(host, StatePlan(host.get(), graph, options).config);
    } catch (...) {
        for (kv::Cache *cache : caches_) kv::Cache::destroy(cache);
        throw;
    }
}

Caches::~Caches() {
    for (kv::Cache *cache : caches_) kv::Cache::destroy(cache);
    state::StateCache::destroy(states_);
}

uint64_t Caches::estimate(const Graph &graph, const Host &host, const CacheOptions &options) {
    uint64_t total = graph.caches.size() * sizeof(kv::Cache *);
    for (uint32_t i = 0; i < graph.caches.size(); i++) {
        const CachePlan plan(&host, graph, i, options);
        total += kv::Cache::estimate(host, plan.config, options.n_context);
    }
    if (!graph.states.empty())
        total += state::StateCache::estimate(host, StatePlan(&host, graph, options).config);
    return total;
}

Status Caches::begin(uint32_t sequence, uint64_t n_again, uint64_t n_tokens, Failure *failure) {
    Status status = states_ ? states_->begin(sequence, n_again, failure) : Status::ok;
    for (size_t i = 0; status == Status::ok && i < caches_.size(); i++) {
        status = caches_[i]->begin(sequence, failure);
        if (status == Status::ok && options_.n_total)
            status = caches_[i]->provide(sequence, n_tokens, failure);
        if (status == Status::ok) continue;
        (void)caches_[i]->rollback(sequence, nullptr);
        while (i-- > 0) (void)caches_[i]->rollback(sequence, nullptr);
        if (states_) (void)states_->rollback(sequence, nullptr);
        return status;
    }
    return status;
}

void Caches::pass(uint32_t sequence, uint64_t n_tokens) {
    if (states_) (void)states_->keep(sequence, n_tokens, nullptr);
}

void Caches::commit(uint32_t sequence, uint64_t n_tokens) {
    for (kv::Cache *cache : caches_) (void)cache->commit(sequence, nullptr);
    if (states_) (void)states_->commit(sequence, n_tokens, nullptr);
}

void Caches::rollback(uint32_t sequence) {
    for (kv::Cache *cache : caches_) (void)cache->rollback(sequence, nullptr);
    if (states_) (void)states_->rollback(sequence, nullptr);
}

void Caches::mark(uint32_t sequence) {
    if (states_) (void)states_->mark(sequence, nullptr);
}

Caches::Memory Caches::memory() const {
    Memory memory = {};
    for (const kv::Cache *cache : caches_) {
        kv::Stats stats;
        (void)cache->stats(&stats, kv::kAllLayers, nullptr);
        memory.bytes += stats.page_bytes;
        memory.n_pages += stats.n_pages;
        memory.n_shared_pages += stats.n_shared_pages;
    }
    if (states_) memory.bytes += states_->bytes();
    return memory;
}

uint64_t Caches::room() const {
    uint64_t least = UINT64_MAX;
    for (const kv::Cache *cache : caches_) {
        const uint64_t n = cache->room();
        if (n < least) least = n;
    }
    return least;
}

uint64_t Caches::length(uint32_t sequence) const {
    if (states_) return states_->length(sequence);
    uint64_t n = 0;
    if (!caches_.empty()) (void)caches_[0]->length(&n, sequence, nullptr);
    return n;
}

// A cache may have to go back further than the previous one; then all are asked again.
uint64_t Caches::nearest(uint32_t sequence, uint64_t n_tokens) const {
    uint64_t nearest = n_tokens, before = n_tokens + 1;
    while (nearest != before) {
        before = nearest;
        if (states_) nearest = states_->nearest(sequence, nearest);
        for (const kv::Cache *cache : caches_) nearest = cache->nearest(sequence, nearest);
    }
    return nearest;
}

// Truncates to a length that all caches support, as nearest() returned.
void Caches::truncate(uint32_t sequence, uint64_t n_tokens) {
    for (kv::Cache *cache : caches_) (void)cache->truncate(sequence, n_tokens, nullptr);
    if (states_) (void)states_->truncate(sequence, n_tokens, nullptr);
}

Status Caches::copy(uint32_t from, uint32_t to, uint64_t n_tokens, Failure *failure) {
    if (caches_.empty() && !states_) return Status::ok; // a rank without layers
    if (from >= options_.n_sequences || to >= options_.n_sequences || n_tokens > length(from))
        return set_failure(failure, Status::argument, {},
                           "cannot copy %llu tokens of sequence %u to %u: there are %u sequences, "
                           "the former has %llu tokens",
                           static_cast<unsigned long long>(n_tokens), from, to,
                           options_.n_sequences, static_cast<unsigned long long>(length(from)));
    const uint64_t nearest = this->nearest(from, n_tokens);
    if (nearest != n_tokens || from == to || length(to))
        return set_failure(failure, Status::state, {.index = nearest},
                           "cannot copy %llu tokens to sequence %u: it must be another sequence "
                           "and empty; the nearest number that can be copied is %llu",
                           static_cast<unsigned long long>(n_tokens), to,
                           static_cast<unsigned long long>(nearest));
    Status status = Status::ok;
    for (size_t i = 0; status == Status::ok && i < caches_.size(); i++) {
        status = caches_[i]->copy(from, to, {0, n_tokens}, failure);
        for (const uint32_t s : {from, to})
            if (status == Status::ok && !options_.n_total)
                status = caches_[i]->reserve(s, options_.n_context, failure);
    }
    if (status == Status::ok && states_) status = states_->copy(from, to, n_tokens, failure);
    for (size_t i = 0; status != Status::ok && i < caches_.size(); i++)
        (void)caches_[i]->truncate(to, 0, nullptr);
    return status;
}

Status Caches::prepare_remove(uint32_t sequence, const kv::Cache::Part &part, Failure *failure) {
    if (states_)
        return set_failure(failure, Status::unsupported, {.index = sequence},
                           "cannot remove tokens before others of a %s model: its recurrent layers "
                           "remember all of them as one state",
                           graph_.architecture);
    for (kv::Cache *cache : caches_) {
        const Status status = cache->prepare_remove(sequence, part, failure);
        if (status != Status::ok) return status;
    }
    return Status::ok;
}

void Caches::remove(uint32_t sequence, const kv::Cache::Part &part) {
    for (kv::Cache *cache : caches_) cache->remove(sequence, part);
}

Status Caches::prepare_shift(uint32_t sequence, const kv::Cache::Range &range, int32_t delta,
                             Failure *failure) {
    for (kv::Cache *cache : caches_) {
        const Status status = cache->prepare_shift(sequence, range, delta, failure);
        if (status != Status::ok) return status;
    }
    return Status::ok;
}

void Caches::shift(uint32_t sequence, const kv::Cache::Range &range, int32_t delta) {
    for (kv::Cache *cache : caches_) cache->shift(sequence, range, delta);
}

} // namespace ggufx::model
