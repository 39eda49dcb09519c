// Memory and cost of state caches: estimates, failing allocators, limits, states that are never
// copied.
// SPDX-License-Identifier: MIT
#include "fixture.hpp"

#include <new>
#include <time.h>

namespace {

void an_estimate_is_what_the_allocator_gives() {
    for (const uint32_t n_sequences : {1u, 2u, 7u})
        for (const uint32_t n_checkpoints : {0u, 1u, 8u}) {
            Memory memory;
            const Ref<Host> host = memory.host();
            const uint64_t before = memory.live;
            const state::Config config = config_of(n_sequences, n_checkpoints);
            StateCache *cache = StateCache::create(host, config);
            CHECK(memory.live - before == StateCache::estimate(*host, config));
            StateCache::destroy(cache);
            CHECK(memory.live == before);
        }
    Memory memory; // layers without memory
    const Ref<Host> host = memory.host();
    const LayerShape nothing[2] = {};
    state::Config config;
    config.layers = nothing;
    config.n_layers = 2;
    StateCache *cache = StateCache::create(host, config);
    CHECK(cache->begin(0, nullptr) == Status::ok && !cache->step(1, 0).state_in);
    CHECK(cache->commit(0, 3, nullptr) == Status::ok && cache->length(0) == 3);
    StateCache::destroy(cache);
    StateCache::destroy(nullptr);
}

void every_allocation_may_fail() {
    long runs = 0;
    for (long fail_at = 1;; fail_at++) {
        Memory memory;
        const Ref<Host> host = memory.host();
        const long before = memory.n_live;
        memory.calls = 0;
        memory.fail_at = fail_at;
        StateCache *cache = nullptr;
        try {
            cache = StateCache::create(host, config_of(2, 3));
        } catch (const std::bad_alloc &) {
            CHECK(memory.n_live == before);
            runs++;
            continue;
        }
        CHECK(memory.calls == fail_at - 1); // the first one that did not fail
        StateCache::destroy(cache);
        CHECK(memory.n_live == before);
        break;
    }
    CHECK(runs == 8);
}

void shapes_that_cannot_be_are_refused() {
    Memory memory;
    const Ref<Host> host = memory.host();
    const auto refuses = [&](const LayerShape &shape, uint32_t n_layers, uint32_t n_sequences,
                             uint32_t n_checkpoints, Status want) {
        const std::vector<LayerShape> layers(n_layers < 9 ? 9 : n_layers, shape);
        const state::Config config = {layers.data(), n_layers, n_sequences, n_checkpoints};
        const long live = memory.n_live;
        int refused = 0;
        try {
            StateCache::create(host, config);
        } catch (const Error &e) { refused += e.failure.status == int32_t(want); }
        try {
            StateCache::estimate(*host, config);
        } catch (const Error &e) { refused += e.failure.status == int32_t(want); }
        return refused == 2 && memory.n_live == live;
    };
    const LayerShape one = {1, 1, 1};
    CHECK(refuses(one, 0, 1, 0, Status::argument));
    CHECK(refuses(one, 1, 0, 0, Status::argument));
    CHECK(refuses(one, 1, UINT32_MAX, 0, Status::limit));
    CHECK(refuses(one, 2048, 2049, 0, Status::limit));
    CHECK(refuses(one, 1, 1, 4097, Status::limit));
    CHECK(refuses(one, 1, 1, UINT32_MAX, Status::limit));
    CHECK(refuses(one, 1, 4096, 4096, Status::limit));
    CHECK(refuses({UINT32_MAX, UINT64_MAX, 0}, 1, 1, 0, Status::limit));
    CHECK(refuses({2, uint64_t(1) << 63, 0}, 1, 1, 0, Status::limit));
    CHECK(refuses({1, UINT64_MAX, 1}, 1, 1, 0, Status::limit));
    CHECK(refuses({0, 0, UINT64_MAX}, 1, 1, 0, Status::limit));
    CHECK(refuses({0, 0, UINT64_MAX - 20}, 1, 1, 0, Status::limit));
    CHECK(refuses({0, 0, uint64_t(1) << 61}, 2, 1, 0, Status::limit));
    CHECK(refuses({0, 0, uint64_t(1) << 60}, 8, 1, 0, Status::limit));
    CHECK(refuses({0, 0, uint64_t(1) << 58}, 1, 4, 0, Status::limit));
    CHECK(refuses({1, uint64_t(1) << 57, uint64_t(1) << 57}, 1, 1, 7, Status::limit));
    const LayerShape none = {};
    const state::Config config = {&none, 1, 1, 0};
    state::Config no_layers = config;
    no_layers.layers = nullptr;
    int32_t status = 0;
    try {
        StateCache::create(host, no_layers);
    } catch (const Error &e) { status = e.failure.status; }
    CHECK(status == int32_t(Status::argument));
}

double now() {
    return static_cast<double>(clock()) / CLOCKS_PER_SEC;
}

// A state of 16 MiB is never copied or read: thousands of calls, checkpoints, copies and
// truncations take less time than reading it twice.
void calls_cost_the_same_for_every_size_of_states() {
    constexpr size_t kValues = size_t(1) << 22;
    const LayerShape shape = {0, 0, kValues};
    const state::Config config = {&shape, 1, 2, 2};
    Memory memory;
    memory.fills = false;
    const Ref<Host> host = memory.host();
    StateCache *cache = StateCache::create(host, config);
    CHECK(cache->begin(0, nullptr) == Status::ok); // the only step with a zeroed state
    double start = now();
    float *floats = cache->step(0, 0).state_out;
    for (size_t i = 0; i < kValues; i++) floats[i] = static_cast<float>(i);
    const double once = now() - start;
    CHECK(cache->commit(0, 1, nullptr) == Status::ok);
    start = now();
    for (int i = 0; i < 1000; i++) {
        CHECK(cache->begin(0, nullptr) == Status::ok);
        const Step first = cache->step(0, 0);
        CHECK(first.state_in != first.state_out && first.state_out == cache->step(0, 0).state_in);
        CHECK((i % 2 ? cache->commit(0, 1, nullptr) : cache->rollback(0, nullptr)) == Status::ok);
        if (i % 8 == 0) CHECK(cache->mark(0, nullptr) == Status::ok);
        CHECK(cache->copy(0, 1, nullptr) == Status::ok);
        CHECK(cache->truncate(1, cache->nearest(1, cache->length(1) - 1), nullptr) == Status::ok);
        CHECK(cache->clear(1, nullptr) == Status::ok);
    }
    const double calls = now() - start;
    printf("%.2f ms once over a state, %.2f ms for 1000 rounds\n", 1e3 * once, 1e3 * calls);
    CHECK(calls <= 2 * once);
    StateCache::destroy(cache);
}

} // namespace

int main() {
    an_estimate_is_what_the_allocator_gives();
    every_allocation_may_fail();
    shapes_that_cannot_be_are_refused();
    calls_cost_the_same_for_every_size_of_states();
    printf("%d failures\n", failures);
    return failures != 0;
}
