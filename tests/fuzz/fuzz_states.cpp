// Fuzz target: a snapshot of recurrent states with changed bytes and recomputed checksums, then
// calls on a loaded session. Input: length of the snapshot, then changes of three bytes: offset,
// value.
// usage: fuzz-states [number of inputs [first]] or fuzz-states FILE...
// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"
#include "base/crc64.hpp"
#include "replay.h"
#include "state/cache.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

using namespace ggufx;

namespace {

constexpr state::LayerShape kShapes[] = {{2, 3, 5}, {0, 0, 0}, {0, 0, 9}};
constexpr uint32_t kLayers = 3, kSequences = 2;
constexpr size_t kHeader = 32 + kLayers * 24;
long n_loaded, n_refused;

struct Bytes {
    std::vector<uint8_t> data;
    size_t at = 0;
    static int32_t write(void *self, const void *from, size_t n) {
        auto &b = *static_cast<Bytes *>(self);
        const auto *bytes = static_cast<const uint8_t *>(from);
        b.data.insert(b.data.end(), bytes, bytes + n);
        return 0;
    }
    static int32_t read(void *self, void *to, size_t n) {
        auto &b = *static_cast<Bytes *>(self);
        if (b.data.size() - b.at < n) return static_cast<int32_t>(Status::truncated);
        memcpy(to, b.data.data() + b.at, n);
        b.at += n;
        return 0;
    }
};

void must(bool holds) {
    if (!holds) abort();
}

Ref<Host> host() {
    static const Ref<Host> one = Host::create({nullptr, nullptr, nullptr, 1});
    return one;
}

state::StateCache *make_cache() {
    state::Config config;
    config.layers = kShapes;
    config.n_layers = kLayers;
    config.n_sequences = kSequences;
    config.n_checkpoints = 2;
    return state::StateCache::create(host(), config);
}

void call(state::StateCache &cache, uint32_t sequence, float value) {
    must(cache.begin(sequence, nullptr) == Status::ok);
    for (uint32_t l = 0; l < kLayers; l++) {
        const state::Step s = cache.step(l, sequence);
        for (size_t i = 0; i < kShapes[l].tail_rows * kShapes[l].tail_values; i++)
            s.tail_out[i] = s.tail_in[i] * 0.5f + value;
        for (size_t i = 0; i < kShapes[l].state_values; i++)
            s.state_out[i] = s.state_in[i] * 0.5f + value;
    }
    const Status status = cache.commit(sequence, 3, nullptr);
    must(status == Status::ok || status == Status::capacity);
    if (status != Status::ok) must(cache.rollback(sequence, nullptr) == Status::ok);
}

Bytes saved(const state::StateCache &cache, uint32_t sequence) {
    Bytes out;
    must(cache.save(sequence, Bytes::write, &out, nullptr) == Status::ok);
    return out;
}

void put_u64(uint8_t *to, uint64_t v) {
    store_u32le(to, static_cast<uint32_t>(v));
    store_u32le(to + 4, static_cast<uint32_t>(v >> 32));
}

void seal(std::vector<uint8_t> &bytes) {
    const size_t n = bytes.size();
    if (n >= kHeader + 8) put_u64(bytes.data() + kHeader, crc64(0, bytes.data(), kHeader));
    if (n >= kHeader + 16) put_u64(bytes.data() + n - 8, crc64(0, bytes.data(), n - 8));
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    state::StateCache *cache = make_cache();
    call(*cache, 0, 1.0f);
    call(*cache, 1, 2.0f);
    const Bytes before = saved(*cache, state::kAllSequences);
    const uint32_t which = size && data[0] & 1 ? state::kAllSequences : 1;
    Bytes changed = which == 1 ? saved(*cache, 1) : before;
    if (size && data[0] >= 0xf0) changed.data.resize(changed.data.size() * (data[0] & 15) / 16);
    for (size_t i = 1; i + 2 < size && !changed.data.empty(); i += 3)
        changed.data[(data[i] + 256u * data[i + 1]) % changed.data.size()] = data[i + 2];
    seal(changed.data);
    Failure failure{};
    if (cache->load(which, {Bytes::read, &changed}, &failure) != Status::ok) {
        n_refused++;
        must(failure.message[0] && saved(*cache, state::kAllSequences).data == before.data);
    } else {
        n_loaded++;
        must(saved(*cache, which).data == changed.data);
    }
    call(*cache, 1, 3.0f);
    must(cache->clear(0, nullptr) == Status::ok);
    must(cache->copy(1, 0, nullptr) == Status::ok);
    must(cache->truncate(1, cache->nearest(1, cache->length(1) / 2), nullptr) == Status::ok);
    call(*cache, 0, 4.0f);
    state::StateCache::destroy(cache);
    return 0;
}

#ifndef GGUFX_FUZZER
namespace {

uint32_t next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return static_cast<uint32_t>(z >> 32);
}

// Runs one input, which depends on its number only and can be repeated alone. Most changes hit
// values, which load.
void run_number(long number) {
    auto state = static_cast<uint64_t>(number);
    uint8_t data[1 + 3 * 4];
    for (uint8_t &b : data) b = static_cast<uint8_t>(next(&state));
    const size_t n = 1 + 3 * (next(&state) % 5);
    for (size_t i = 1; i < sizeof data; i += 3)
        data[i] = static_cast<uint8_t>(next(&state) % 3 ? 112 + data[i] % 130 : data[i]),
        data[i + 1] = 0;
    replay_input(data, n);
}

} // namespace

int main(int argc, char **argv) {
    const long n_stored = replay_archives(&argc, &argv);
    const long count = replay_numbers(argc, argv, 20000, run_number);
    if (count < 0) return 0;
    printf("%ld inputs, %ld loaded, %ld refused\n", n_stored + count, n_loaded, n_refused);
    // changes that are always refused, or always accepted, would test half of it
    return count < 1000 || (n_loaded * 4 > count && n_refused * 8 > count) ? 0 : 1;
}
#endif
