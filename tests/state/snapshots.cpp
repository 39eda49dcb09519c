// Snapshots of state caches: round trips, refusals; a failed load changes nothing.
// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"
#include "base/crc64.hpp"
#include "fixture.hpp"
#include "memory_file.hpp"

#include <functional>
#include <math.h>

namespace {

constexpr size_t kShapesAt = 8 + 4 + 4 + 8 + 8, kHeader = kShapesAt + kLayers * 24;
constexpr size_t kSequence = kHeader + 8; // the sequence, after the header's checksum

void put_u64(uint8_t *to, uint64_t v) {
    store_u32le(to, static_cast<uint32_t>(v));
    store_u32le(to + 4, static_cast<uint32_t>(v >> 32));
}

// Recomputes both checksums.
void seal(std::vector<uint8_t> &bytes) {
    put_u64(bytes.data() + kHeader, crc64(0, bytes.data(), kHeader));
    put_u64(bytes.data() + bytes.size() - 8, crc64(0, bytes.data(), bytes.size() - 8));
}

MemoryFile saved(const StateCache &cache, uint32_t sequence) {
    MemoryFile file;
    CHECK(cache.save(sequence, MemoryFile::write, &file, nullptr) == Status::ok);
    return file;
}

void sequences_come_back_one_by_one_and_all_at_once() {
    Cache a(config_of(3)), b(config_of(3, 2));
    run_call(*a.cache, 0, 1, 5);
    run_call(*a.cache, 2, 2, 700);
    run_call(*b.cache, 1, 9, 64);
    MemoryFile one = saved(*a.cache, 2), none = saved(*a.cache, 1);
    CHECK(one.bytes.size() == kSequence + 8 + contents(*a.cache, 2).size() * 4 + 8);
    CHECK(b->load(0, {MemoryFile::read, &one}, nullptr) == Status::ok && b->length(0) == 700);
    CHECK(same(contents(*b.cache, 0), contents(*a.cache, 2)) && b->length(1) == 64);
    run_call(*b.cache, 0, 3, 1);
    CHECK(b->truncate(0, 700, nullptr) == Status::ok); // the loaded end has a checkpoint
    CHECK(same(contents(*b.cache, 0), contents(*a.cache, 2)));
    CHECK(b->load(0, {MemoryFile::read, &none}, nullptr) == Status::ok && b->length(0) == 0);
    CHECK(same(contents(*b.cache, 0), contents(*a.cache, 1)));
    MemoryFile all = saved(*a.cache, state::kAllSequences);
    CHECK(b->load(state::kAllSequences, {MemoryFile::read, &all}, nullptr) == Status::ok);
    for (uint32_t s = 0; s < 3; s++)
        CHECK(b->length(s) == a->length(s) && same(contents(*b.cache, s), contents(*a.cache, s)));
    CHECK(b->nearest(1, 64) == 0); // its former state is gone
    CHECK(saved(*b.cache, state::kAllSequences).bytes == all.bytes);
}

// A failed load leaves both sequences unchanged, and the cache still accepts calls.
struct Victim {
    Cache cache{config_of(2, 2)};
    std::vector<float> before[2];
    Victim() {
        run_call(*cache.cache, 0, 1, 5);
        run_call(*cache.cache, 1, 2, 64);
        for (uint32_t s = 0; s < 2; s++) before[s] = contents(*cache.cache, s);
    }
    bool refuses(MemoryFile file, uint32_t sequence, Status want, const char *text) {
        Failure failure{};
        const Status status =
            cache->load(sequence, {MemoryFile::read, &file, MemoryFile::ended}, &failure);
        const bool refused = status == want && failure.status == int32_t(want);
        if (!refused || !strstr(failure.message, text))
            printf("%d: %s\n", int(status), failure.message);
        bool unchanged = cache->length(0) == 5 && cache->length(1) == 64;
        for (uint32_t s = 0; s < 2; s++) unchanged &= same(contents(*cache.cache, s), before[s]);
        return refused && strstr(failure.message, text) && unchanged;
    }
};

void what_is_no_snapshot_of_this_cache_is_refused() {
    Victim v;
    const MemoryFile good = saved(*v.cache.cache, 1);
    const auto with = [&](size_t at, std::vector<uint8_t> bytes, bool sealed = true) {
        MemoryFile file = good;
        for (size_t i = 0; i < bytes.size(); i++) file.bytes[at + i] = bytes[i];
        if (sealed) seal(file.bytes);
        return file;
    };
    CHECK(v.refuses(with(0, {'X'}), 0, Status::magic, "not a snapshot of states"));
    CHECK(v.refuses(with(8, {2}), 0, Status::version, "version 2, not 1"));
    CHECK(v.refuses(with(8, {0}), 0, Status::version, "version 0, not 1"));
    CHECK(v.refuses(with(12, {2}), 0, Status::mismatch, "holds 2 sequences, but 1 are requested"));
    CHECK(v.refuses(good, state::kAllSequences, Status::mismatch, "holds 1 sequences"));
    CHECK(v.refuses(with(16, {1}), 0, Status::mismatch, "model 1, the cache 0"));
    CHECK(v.refuses(with(24, {9}), 0, Status::mismatch, "n_layers 9, the cache 5"));
    CHECK(v.refuses(with(kShapesAt, {4}), 0, Status::mismatch, "tail_rows 4, the cache 3"));
    CHECK(v.refuses(with(kShapesAt + 8 + 7, {1}), 0, Status::mismatch, "tail_values"));
    CHECK(v.refuses(with(kShapesAt + 16 + 1, {1}), 0, Status::mismatch, "state_values"));
    CHECK(v.refuses(good, 2, Status::argument, "2 sequences"));
    const auto floats = [](float x) {
        std::vector<uint8_t> b(4);
        store_f32le(b.data(), x);
        return b;
    };
    const size_t last = good.bytes.size() - 12;
    for (const float x : {INFINITY, -INFINITY, NAN, -NAN})
        for (const size_t at : {kSequence + 8, last})
            CHECK(v.refuses(with(at, floats(x)), 0, Status::malformed, "NaN or an infinity"));
    std::vector<uint8_t> many(8);
    for (const uint64_t n : {(uint64_t(1) << 40) + 1, UINT64_MAX, uint64_t(1) << 63}) {
        put_u64(many.data(), n);
        CHECK(v.refuses(with(kSequence, many), 0, Status::malformed, "tokens in a sequence"));
    }
    for (const size_t at : {size_t(16), kShapesAt, kHeader + 2}) { // a bit of the header
        const Status want = at == 16 || at == kShapesAt ? Status::mismatch : Status::checksum;
        const auto flipped = static_cast<uint8_t>(good.bytes[at] ^ 64);
        CHECK(v.refuses(with(at, {flipped}, false), 0, want, ""));
    }
    for (size_t at = kSequence; at < good.bytes.size(); at += 37) { // a bit after the header
        MemoryFile file = good;
        file.bytes[at] ^= 1;
        CHECK(v.refuses(file, 0, Status::checksum, "damaged") ||
              v.refuses(file, 0, Status::malformed, ""));
    }
    for (size_t n = 0; n < good.bytes.size(); n += n < kSequence ? 1 : 61) {
        MemoryFile file = good;
        file.bytes.resize(n);
        CHECK(v.refuses(file, 0, Status::truncated, "read callback"));
    }
    // The largest number of tokens that is accepted.
    put_u64(many.data(), uint64_t(1) << 40);
    MemoryFile most = with(kSequence, many);
    CHECK(v.cache->load(0, {MemoryFile::read, &most}, nullptr) == Status::ok);
    CHECK(v.cache->length(0) == uint64_t(1) << 40);
    CHECK(v.cache->begin(0, nullptr) == Status::ok);
    CHECK(v.cache->commit(0, 1, nullptr) == Status::capacity);
    CHECK(v.cache->rollback(0, nullptr) == Status::ok);
}

void readers_writers_and_ends_that_fail_are_heard() {
    Victim v;
    const MemoryFile good = saved(*v.cache.cache, 1);
    for (long call = 1; call <= good.calls; call++) {
        MemoryFile out;
        out.fail_at = call;
        Failure failure{};
        CHECK(v.cache->save(1, MemoryFile::write, &out, &failure) == Status::io);
        CHECK(failure.status == int32_t(Status::io) && out.calls == call); // no further calls
    }
    MemoryFile counted = good;
    counted.calls = 0;
    CHECK(v.cache->load(0, {MemoryFile::read, &counted}, nullptr) == Status::ok);
    for (long call = 1; call <= counted.calls; call++) {
        Victim other;
        MemoryFile in = good;
        in.calls = 0;
        in.fail_at = call;
        CHECK(other.refuses(in, 0, Status::io, "read callback"));
    }
    Victim other;
    Failure failure{};
    MemoryFile in = good;
    in.end = Status::malformed;
    const Reader reader = {MemoryFile::read, &in, MemoryFile::ended};
    CHECK(other.cache->load(0, reader, &failure) == Status::malformed && in.ends == 1);
    CHECK(other.cache->length(0) == 5 && same(contents(*other.cache.cache, 0), other.before[0]));
}

// Two caches of one session: the second load runs at the end of the first one, so that both are
// replaced or none.
void loads_can_be_made_one() {
    Cache a(config_of(1)), b(config_of(1));
    run_call(*a.cache, 0, 1, 5);
    run_call(*b.cache, 0, 2, 6);
    struct Second {
        MemoryFile first, second;
        StateCache *cache;
        static int32_t read(void *self, void *data, size_t n) {
            return MemoryFile::read(&static_cast<Second *>(self)->first, data, n);
        }
        static Status load(void *self) {
            auto &s = *static_cast<Second *>(self);
            return s.cache->load(0, {MemoryFile::read, &s.second}, nullptr);
        }
    };
    Second both = {saved(*a.cache, 0), saved(*b.cache, 0), nullptr};
    for (const bool whole : {false, true}) {
        Cache c(config_of(1)), d(config_of(1));
        Second now = both;
        now.cache = d.cache;
        if (!whole) now.second.bytes.back() ^= 1;
        const Status status = c->load(0, {Second::read, &now, Second::load}, nullptr);
        CHECK(status == (whole ? Status::ok : Status::checksum));
        CHECK(c->length(0) == (whole ? 5u : 0u) && d->length(0) == (whole ? 6u : 0u));
    }
}

void states_that_cannot_be_loaded_are_not_saved_and_calls_are_not_interrupted() {
    Cache cache(config_of(2));
    run_call(*cache.cache, 0, 1, 5);
    CHECK(cache->begin(0, nullptr) == Status::ok);
    const std::vector<uint8_t> committed = saved(*cache.cache, 0).bytes; // the committed state
    MemoryFile file;
    file.bytes = committed;
    Refusal r;
    CHECK(r.is(cache->load(0, {MemoryFile::read, &file}, &r.failure), Status::state, 0, "open"));
    CHECK(r.is(cache->load(state::kAllSequences, {MemoryFile::read, &file}, &r.failure),
               Status::state, 0, "open"));
    for (uint32_t l = 0; l < kLayers; l++) run_step(cache->step(l, 0), l, 3);
    cache->step(2, 0).state_out[64] = NAN;
    CHECK(saved(*cache.cache, 0).bytes == committed);
    CHECK(cache->commit(0, 1, nullptr) == Status::ok);
    MemoryFile out;
    CHECK(r.is(cache->save(0, MemoryFile::write, &out, &r.failure), Status::value, 2, "layer 2"));
}

} // namespace

int main() {
    sequences_come_back_one_by_one_and_all_at_once();
    what_is_no_snapshot_of_this_cache_is_refused();
    readers_writers_and_ends_that_fail_are_heard();
    loads_can_be_made_one();
    states_that_cannot_be_loaded_are_not_saved_and_calls_are_not_interrupted();
    printf("%d failures\n", failures);
    return failures != 0;
}
