// The limit of pages of a layer, which all sequences share: allocation up to the limit, release of
// spare pages, refusals that change nothing. Uses internals: the public options have no such limit.
// SPDX-License-Identifier: MIT
#include "../checkasm/check.hpp"
#include "base/cpu.hpp"
#include "kernels/dispatch.hpp"
#include "kv/cache.hpp"

#include <string.h>
#include <vector>

using namespace ggufx;

namespace {

constexpr uint32_t kDim = 32, kLayers = 2, kSequences = 3;

struct World {
    Ref<Host> host = Host::create({nullptr, nullptr, nullptr, 1});
    kv::Config config;
    kv::Cache *cache = nullptr;
    std::vector<float> x = std::vector<float>(4096 * kDim, 0.25f);

    World(uint32_t type, uint64_t max_pages) {
        config.n_layers = kLayers;
        config.head_dim_k = config.head_dim_v = kDim;
        config.type_k = config.type_v = type;
        config.n_sequences = kSequences;
        config.n_sinks = 0;
        config.max_pages = max_pages;
        for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(i * 31 % 97) * 0.125f;
        cache = kv::Cache::create(host, kernels::select(0, cpu::features()), config);
    }
    World(const World &) = delete;
    ~World() { kv::Cache::destroy(cache); }

    Status append(uint32_t sequence, size_t n, Failure *failure = nullptr) {
        Status status = Status::ok;
        for (uint32_t l = 0; status == Status::ok && l < kLayers; l++)
            status = cache->append(l, sequence, n, nullptr, {x.data(), x.data()}, failure);
        return status;
    }
    uint64_t length(uint32_t sequence) const {
        uint64_t n = 0;
        CHECK(cache->length(&n, sequence, nullptr) == Status::ok);
        return n;
    }
    uint64_t pages(uint32_t layer) const {
        kv::Stats stats;
        CHECK(cache->stats(&stats, layer, nullptr) == Status::ok);
        return stats.n_pages;
    }
    // Pages that count against the limit.
    uint64_t counted(uint32_t layer) const {
        kv::Stats stats;
        CHECK(cache->stats(&stats, layer, nullptr) == Status::ok);
        return config.type_k == 2 ? stats.n_pages : stats.n_pages - stats.n_plain_pages;
    }
    std::vector<uint8_t> saved(uint32_t sequence) const {
        std::vector<uint8_t> bytes;
        CHECK(cache->save(sequence, write, &bytes, nullptr) == Status::ok);
        return bytes;
    }
    Status load(uint32_t sequence, const std::vector<uint8_t> &bytes, Failure *failure = nullptr) {
        Source source = {&bytes, 0};
        return cache->load(sequence, {read, &source}, failure);
    }

private:
    struct Source {
        const std::vector<uint8_t> *bytes;
        size_t at;
    };
    static int32_t write(void *to, const void *data, size_t n) {
        const auto *from = static_cast<const uint8_t *>(data);
        auto &bytes = *static_cast<std::vector<uint8_t> *>(to);
        bytes.insert(bytes.end(), from, from + n);
        return 0;
    }
    static int32_t read(void *from, void *data, size_t n) {
        auto &source = *static_cast<Source *>(from);
        if (source.bytes->size() - source.at < n) return static_cast<int32_t>(Status::truncated);
        memcpy(data, source.bytes->data() + source.at, n);
        source.at += n;
        return 0;
    }
};

constexpr uint32_t kF16 = 2, kQ8_0 = 8; // ids of kv/types.cpp

bool says(const Failure &failure, const char *text) {
    return failure.status == int32_t(Status::capacity) && strstr(failure.message, text);
}

void the_limit_is_exact_and_shared() {
    World w(kF16, 5);
    CHECK(w.append(0, 64 * 3) == Status::ok && w.append(1, 64) == Status::ok);
    CHECK(w.append(2, 1) == Status::ok && w.pages(0) == 5 && w.pages(1) == 5);
    const auto before = w.saved(kv::kAllSequences);
    Failure failure{};
    CHECK(w.append(0, 1, &failure) == Status::capacity && failure.index == 0);
    CHECK(says(failure, "layer 0 has 5 pages, the limit is 5: 1 tokens need more"));
    CHECK(w.append(2, 64) == Status::capacity && w.append(1, SIZE_MAX / 256) != Status::ok);
    CHECK(w.saved(kv::kAllSequences) == before);
    CHECK(w.append(2, 63) == Status::ok);           // fills its page
    CHECK(w.cache->keep(0, nullptr) == Status::ok); // releases pages
    CHECK(w.append(1, 128) == Status::ok && w.append(1, 1) == Status::capacity);
}

void spare_pages_give_way_unless_they_are_reserved() {
    for (const uint32_t type : {kF16, kQ8_0}) {
        World w(type, 12);
        for (int i = 0; i < 8; i++) CHECK(w.append(0, 64) == Status::ok);
        CHECK(w.cache->truncate(0, 10, nullptr) == Status::ok); // keeps spare pages
        const uint64_t held = w.pages(0);
        CHECK(held >= 8);
        CHECK(w.cache->commit(0, nullptr) == Status::ok);
        for (int i = 0; i < 8; i++) CHECK(w.append(1, 64) == Status::ok);
        CHECK(w.pages(0) <= 12);
        CHECK(w.append(0, 40) == Status::ok); // continues
    }
    World w(kF16, 6);
    CHECK(w.cache->reserve(0, 64 * 4, nullptr) == Status::ok && w.pages(0) == 4);
    CHECK(w.append(1, 128) == Status::ok && w.append(1, 1) == Status::capacity);
    CHECK(w.append(2, 1) == Status::capacity);
    CHECK(w.append(0, 64 * 4) == Status::ok && w.append(0, 1) == Status::capacity);
    Failure failure{};
    CHECK(w.cache->reserve(2, 64, &failure) == Status::capacity && says(failure, ": 64"));
    CHECK(w.cache->reserve(2, UINT64_MAX / 4, &failure) == Status::capacity);
    CHECK(w.pages(0) == 6);
}

void batches_take_pages_for_all_or_for_none() {
    World w(kF16, 3);
    CHECK(w.append(0, 64) == Status::ok);
    CHECK(w.cache->truncate(0, 1, nullptr) == Status::ok);
    const uint32_t sequences[] = {0, 1, 2}, twice[] = {0, 1, 2, 1};
    const int32_t positions[] = {1, 0, 0}, later[] = {64, 64, 64, 65};
    const kv::Source source = {w.x.data(), w.x.data()};
    for (uint32_t l = 0; l < kLayers; l++)
        CHECK(w.cache->append_batch(l, 3, sequences, positions, source, nullptr) == Status::ok);
    for (uint32_t s = 0; s < 3; s++) CHECK(w.append(s, 64 - w.length(s)) == Status::ok);
    const auto before = w.saved(kv::kAllSequences);
    Failure failure{};
    CHECK(w.cache->append_batch(0, 4, twice, later, source, &failure) == Status::capacity);
    CHECK(says(failure, ": 4 tokens need more") && w.saved(kv::kAllSequences) == before);
    CHECK(w.pages(0) == 3); // pages taken for the first tokens were released
    CHECK(w.cache->keep(1, nullptr) == Status::ok);
    CHECK(w.cache->append_batch(0, 2, sequences + 1, later, source, nullptr) == Status::ok);
}

void shared_pages_count_once_until_somebody_writes() {
    World w(kF16, 4);
    CHECK(w.append(0, 100) == Status::ok && w.pages(0) == 2);
    CHECK(w.cache->copy(0, 1, {0, 100}, nullptr) == Status::ok);
    CHECK(w.cache->copy(0, 2, {0, 100}, nullptr) == Status::ok && w.pages(0) == 2);
    CHECK(w.append(0, 1) == Status::ok && w.append(1, 1) == Status::ok && w.pages(0) == 4);
    CHECK(w.append(2, 1) == Status::ok); // no other sequence shares its page any more
    CHECK(w.pages(0) == 4 && w.append(2, 30) == Status::capacity);
}

// A load counts the pages held after it.
void loads_replace_pages() {
    for (const uint32_t type : {kF16, kQ8_0}) {
        World w(type, 14);
        CHECK(w.append(0, 64 * 4) == Status::ok && w.append(1, 64 * 2) == Status::ok);
        CHECK(w.cache->commit(0, nullptr) == Status::ok &&
              w.cache->commit(1, nullptr) == Status::ok);
        const auto one = w.saved(0), all = w.saved(kv::kAllSequences);
        CHECK(w.load(0, one) == Status::ok && w.load(kv::kAllSequences, all) == Status::ok);
        CHECK(w.saved(kv::kAllSequences) == all && w.pages(0) <= 14);
        CHECK(w.load(2, one) == Status::ok); // fits in addition
        World full(type, w.counted(0) - 1);
        CHECK(full.append(0, 5) == Status::ok);
        const auto before = full.saved(kv::kAllSequences);
        const auto three = w.saved(kv::kAllSequences);
        Failure failure{};
        CHECK(full.load(kv::kAllSequences, three, &failure) == Status::capacity);
        CHECK(says(failure, "layer") && full.saved(kv::kAllSequences) == before);
        World small(type, type == kF16 ? 4 : 2); // the quantized types have three pages
        CHECK(small.append(1, 64) == Status::ok);
        CHECK(small.load(0, one, &failure) == Status::capacity && small.length(0) == 0);
        CHECK(small.append(0, 64) == Status::ok); // partly loaded pages were released
    }
}

// Fragments of a page become one page again when they are loaded, also over existing pages.
void parts_of_pages_count_once() {
    for (const uint32_t type : {kF16, kQ8_0}) {
        World w(type, 8);
        CHECK(w.append(0, 64 * 4) == Status::ok && w.append(1, 64 * 3) == Status::ok);
        for (const uint64_t first : {20u, 25u, 90u, 95u, 200u})
            CHECK(w.cache->remove(0, {first, 5}, nullptr) == Status::ok);
        CHECK(w.cache->commit(0, nullptr) == Status::ok);
        const uint64_t n = w.counted(0);
        const auto one = w.saved(0), all = w.saved(kv::kAllSequences);
        for (int i = 0; i < 3; i++) {
            CHECK(w.load(0, one) == Status::ok && w.counted(0) <= n);
            CHECK(w.load(kv::kAllSequences, all) == Status::ok && w.counted(0) <= n);
            CHECK(w.saved(0) == one && w.saved(kv::kAllSequences) == all);
        }
    }
}

// Pages provided for a call are not available to other calls until it ends.
void calls_are_provided_for() {
    for (const uint32_t type : {kF16, kQ8_0}) {
        World w(type, 6);
        Failure failure{};
        CHECK(w.cache->room() == 6 * 64);
        CHECK(w.cache->begin(0, nullptr) == Status::ok && w.cache->begin(1, nullptr) == Status::ok);
        CHECK(w.cache->provide(0, 256, nullptr) == Status::ok);
        const uint64_t pages = w.pages(0), left = w.cache->room();
        CHECK(left >= 2 * 64 && left <= 3 * 64); // the last page may be a float page
        CHECK(w.cache->provide(1, 64 * 5, &failure) == Status::capacity);
        CHECK(says(failure, ": 320 tokens need more") && w.pages(0) == pages);
        CHECK(w.append(2, 64 * 5) == Status::capacity && w.length(2) == 0);
        CHECK(w.append(0, 256) == Status::ok && w.pages(0) >= pages);
        CHECK(w.cache->rollback(0, nullptr) == Status::ok && w.length(0) == 0);
        CHECK(w.append(1, 64 * 5) == Status::ok); // from the pages that the rollback released
        CHECK(w.cache->commit(1, nullptr) == Status::ok);
        CHECK(w.cache->provide(3, 1, nullptr) == Status::argument);
    }
}

void estimates_know_the_limit() {
    World w(kQ8_0, 10);
    kv::Config free = w.config;
    free.max_pages = 0;
    const uint64_t limited = kv::Cache::estimate(*w.host, w.config, 100000);
    const uint64_t open = kv::Cache::estimate(*w.host, free, 100000);
    CHECK(limited < open / 10);
    const uint64_t small = kv::Cache::estimate(*w.host, w.config, 64);
    CHECK(small == kv::Cache::estimate(*w.host, free, 64) && small < limited);
}

} // namespace

int main() {
    the_limit_is_exact_and_shared();
    spare_pages_give_way_unless_they_are_reserved();
    batches_take_pages_for_all_or_for_none();
    shared_pages_count_once_until_somebody_writes();
    loads_replace_pages();
    parts_of_pages_count_once();
    calls_are_provided_for();
    estimates_know_the_limit();
    printf("%d failures\n", failures);
    return failures != 0;
}
