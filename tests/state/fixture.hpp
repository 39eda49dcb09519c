// Shared by the tests of state caches: an allocator that counts and fails, and steps that mix their
// inputs with numbers of their own.
// SPDX-License-Identifier: MIT
#pragma once

#include "../checkasm/check.hpp"
#include "state/cache.hpp"

#include <new>
#include <stdlib.h>
#include <string.h>
#include <vector>

using namespace ggufx;
using state::LayerShape;
using state::StateCache;
using state::Step;

// Counted memory filled with garbage; allocation number fail_at (from 1) fails.
struct Memory {
    uint64_t live = 0;
    long n_live = 0, calls = 0, fail_at = 0;
    bool fills = true; // writes to all of it

    static void *alloc(void *user, size_t size, size_t) {
        auto *m = static_cast<Memory *>(user);
        if (++m->calls == m->fail_at) return nullptr;
        void *p = operator new(size, std::align_val_t(64), std::nothrow);
        if (!p) return nullptr;
        if (m->fills) memset(p, 0xa7, size);
        m->live += size;
        m->n_live++;
        return p;
    }
    static void free(void *user, void *p, size_t size, size_t) {
        auto *m = static_cast<Memory *>(user);
        if (!p) return;
        m->live -= size;
        m->n_live--;
        operator delete(p, std::align_val_t(64));
    }
    Ref<Host> host() {
        const AllocatorHooks hooks = {this, alloc, free, nullptr, "test"};
        return Host::create({&hooks, nullptr, nullptr, 1});
    }
};

// A cache with its memory, both destroyed with the object.
struct Cache {
    Memory memory;
    Ref<Host> host;
    StateCache *cache;
    explicit Cache(const state::Config &config)
        : host(memory.host()), cache(StateCache::create(host, config)) {}
    Cache(const Cache &) = delete;
    ~Cache() { StateCache::destroy(cache); }
    StateCache *operator->() const { return cache; }
};

// A layer of each kind: both, only a tail, only a state, neither.
constexpr LayerShape kShapes[] = {{3, 40, 200}, {2, 7, 0}, {0, 0, 65}, {0, 0, 0}, {1, 1, 1}};
constexpr uint32_t kLayers = sizeof kShapes / sizeof *kShapes;

inline state::Config config_of(uint32_t n_sequences, uint32_t n_checkpoints = 0) {
    state::Config config;
    config.layers = kShapes;
    config.n_layers = kLayers;
    config.n_sequences = n_sequences;
    config.n_checkpoints = n_checkpoints;
    return config;
}

inline size_t tail_of(uint32_t layer) {
    return kShapes[layer].tail_rows * size_t(kShapes[layer].tail_values);
}

// Result of step number `n` for one float of a layer.
inline float mixed(float before, uint64_t n, size_t i) {
    return before * 0.75f + static_cast<float>((n * 2654435761u + i * 40503u) % 1009);
}
inline void run_step(const Step &step, uint32_t layer, uint64_t n) {
    for (size_t i = 0; i < tail_of(layer); i++) step.tail_out[i] = mixed(step.tail_in[i], n, i);
    for (size_t i = 0; i < kShapes[layer].state_values; i++)
        step.state_out[i] = mixed(step.state_in[i], n + 1, i);
}

// Returns the floats of all layers of a sequence, read by a call that is rolled back.
inline std::vector<float> contents(StateCache &cache, uint32_t sequence) {
    std::vector<float> all;
    CHECK(cache.begin(sequence, nullptr) == Status::ok);
    for (uint32_t l = 0; l < kLayers; l++) {
        const Step step = cache.step(l, sequence);
        if (step.tail_in) all.insert(all.end(), step.tail_in, step.tail_in + tail_of(l));
        if (step.state_in)
            all.insert(all.end(), step.state_in, step.state_in + kShapes[l].state_values);
    }
    CHECK(cache.rollback(sequence, nullptr) == Status::ok);
    return all;
}

// A call of one step of each layer.
inline void run_call(StateCache &cache, uint32_t sequence, uint64_t n, uint64_t n_tokens) {
    CHECK(cache.begin(sequence, nullptr) == Status::ok);
    for (uint32_t l = 0; l < kLayers; l++) run_step(cache.step(l, sequence), l, n);
    CHECK(cache.commit(sequence, n_tokens, nullptr) == Status::ok);
}

struct Refusal {
    Failure failure{};
    bool is(Status status, Status want, uint64_t index, const char *text) const {
        return status == want && failure.status == int32_t(want) && failure.index == index &&
               strstr(failure.message, text);
    }
};

inline bool same(const std::vector<float> &a, const std::vector<float> &b) {
    return a.size() == b.size() && memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}
