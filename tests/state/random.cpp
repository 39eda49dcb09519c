// Random operations compared with a simple model: the contents of a sequence at every length it
// had.
// usage: state_random [OPERATIONS]; default 40000
// SPDX-License-Identifier: MIT
#include "fixture.hpp"
#include "memory_file.hpp"

#include <algorithm>
#include <map>

namespace {

constexpr uint32_t kSequences = 4;

struct Model {
    uint64_t n = 0;
    std::map<uint64_t, std::vector<float>> history; // by length, including the current one
};

struct World {
    StateCache &cache;
    Model models[kSequences];
    uint64_t random;
    uint64_t next = 0; // number of a step

    uint32_t draw(uint32_t n) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        return static_cast<uint32_t>(random >> 33) % n;
    }
};

void check(World &w, uint32_t s) {
    const Model &m = w.models[s];
    CHECK(w.cache.length(s) == m.n);
    CHECK(same(contents(w.cache, s), m.history.at(m.n)));
}

// Returns the offset and the number of a layer's floats within contents().
std::pair<size_t, size_t> floats_of(uint32_t layer) {
    size_t at = 0;
    for (uint32_t l = 0; l < layer; l++) at += tail_of(l) + kShapes[l].state_values;
    return {at, tail_of(layer) + kShapes[layer].state_values};
}

struct Draft {
    std::vector<float> all;
    bool check_and_mix(const Step &step, uint32_t layer, uint64_t n) {
        const size_t at = floats_of(layer).first;
        const size_t n_tail = tail_of(layer), n_state = kShapes[layer].state_values;
        bool same = true;
        for (size_t i = 0; i < n_tail; i++) same &= step.tail_in[i] == all[at + i];
        for (size_t i = 0; i < n_state; i++) same &= step.state_in[i] == all[at + n_tail + i];
        for (size_t i = 0; i < n_tail; i++) all[at + i] = mixed(all[at + i], n, i);
        for (size_t i = 0; i < n_state; i++)
            all[at + n_tail + i] = mixed(all[at + n_tail + i], n + 1, i);
        return same;
    }
};

// A step over recomputed and new tokens; stores the state between them in `between`.
void step_over_both(World &w, uint32_t s, uint32_t l, Draft &draft, Draft &between) {
    const Step step = w.cache.step(l, s, state::Take::both);
    const Step first = {step.tail_in, step.state_in, step.tail_kept, step.state_kept};
    const Step second = {step.tail_kept, step.state_kept, step.tail_out, step.state_out};
    CHECK(draft.check_and_mix(first, l, w.next));
    between = draft;
    run_step(first, l, w.next++);
    CHECK(draft.check_and_mix(second, l, w.next));
    run_step(second, l, w.next++);
}

// Recomputes truncated tokens; the state after them becomes a checkpoint. Returns false when there
// are none.
bool compute_again(World &w, uint32_t s, uint64_t n_again, Draft &draft, Draft &between,
                   uint8_t *has_both) {
    for (uint32_t l = 0; l < kLayers; l++) {
        has_both[l] = n_again && w.draw(3) == 0;
        if (!n_again || has_both[l] || w.draw(8) == 0) continue;
        const Step step = w.cache.step(l, s, state::Take::again);
        CHECK(draft.check_and_mix(step, l, w.next));
        run_step(step, l, w.next++);
    }
    between = draft;
    for (uint32_t l = 0; l < kLayers; l++) {
        if (!has_both[l]) continue;
        Draft own = between;
        step_over_both(w, s, l, draft, own);
        const auto [at, n] = floats_of(l);
        std::copy_n(own.all.begin() + long(at), n, between.all.begin() + long(at));
    }
    return n_again != 0;
}

void call(World &w, uint32_t s) {
    Model &m = w.models[s];
    const uint64_t n_again = w.draw(3) ? 0 : 1 + w.draw(90);
    CHECK(w.cache.begin(s, n_again, nullptr) == Status::ok);
    CHECK(w.cache.fresh_from(s) == m.n + n_again);
    Draft draft = {m.history.at(m.n)}, between;
    std::map<uint64_t, std::vector<float>> on_the_way;
    uint8_t has_both[kLayers];
    if (compute_again(w, s, n_again, draft, between, has_both))
        on_the_way[m.n + n_again] = between.all;
    uint64_t passed = n_again;
    for (uint32_t n_steps = w.draw(4); n_steps > 0; n_steps--) {
        for (uint32_t l = 0; l < kLayers; l++) {
            if (w.draw(8) == 0) continue; // keeps its state
            const Step step = w.cache.step(l, s);
            CHECK(draft.check_and_mix(step, l, w.next));
            run_step(step, l, w.next++);
        }
        if (w.draw(2)) continue;
        passed += 1 + w.draw(150);
        CHECK(w.cache.keep(s, passed, nullptr) == Status::ok);
        on_the_way[m.n + passed] = draft.all;
    }
    if (w.draw(3) == 0) {
        CHECK(w.cache.rollback(s, nullptr) == Status::ok);
        return;
    }
    uint64_t n = n_again + 1 + w.draw(w.draw(2) ? 3 : 100);
    if (w.draw(2)) n += passed; // otherwise some checkpoints may be after the end
    for (const auto &place : on_the_way)
        if (place.first > m.n && place.first < m.n + n) m.history[place.first] = place.second;
    CHECK(w.cache.commit(s, n, nullptr) == Status::ok);
    const uint64_t place = m.n + n_again; // the last call can be truncated
    CHECK(w.cache.nearest(s, place) == place && w.cache.fresh_from(s) == m.n + n);
    m.n += n;
    m.history[m.n] = draft.all;
}

void go_back(World &w, uint32_t s) {
    Model &m = w.models[s];
    uint64_t n = w.draw(static_cast<uint32_t>(m.n) + 1);
    if (w.draw(2)) n = w.cache.nearest(s, n);
    const bool kept = w.cache.nearest(s, n) == n;
    Failure failure{};
    const Status status = w.cache.truncate(s, n, &failure);
    CHECK(status == (kept ? Status::ok : Status::state));
    if (!kept) {
        CHECK(failure.index == w.cache.nearest(s, n) && failure.index < n);
        return;
    }
    m.n = n;
    m.history.erase(m.history.upper_bound(n), m.history.end());
}

void copy(World &w, uint32_t from, uint32_t to) {
    const uint64_t n = w.cache.nearest(from, w.draw(static_cast<uint32_t>(w.models[from].n) + 9));
    const Status status = w.cache.copy(from, to, n, nullptr);
    const bool fits = from != to && w.models[to].n == 0;
    CHECK(status == (fits ? Status::ok : Status::state));
    if (!fits) return;
    w.models[to] = w.models[from];
    w.models[to].n = n;
    w.models[to].history.erase(w.models[to].history.upper_bound(n), w.models[to].history.end());
}

void save_and_load(World &w, uint32_t from, uint32_t to) {
    MemoryFile file;
    CHECK(w.cache.save(from, MemoryFile::write, &file, nullptr) == Status::ok);
    if (w.draw(4) == 0) { // any length: refusals change nothing
        file.bytes.resize(w.draw(static_cast<uint32_t>(file.bytes.size())));
        CHECK(w.cache.load(to, {MemoryFile::read, &file}, nullptr) == Status::truncated);
        return;
    }
    CHECK(w.cache.load(to, {MemoryFile::read, &file}, nullptr) == Status::ok);
    Model loaded;
    loaded.n = w.models[from].n;
    loaded.history[0] = w.models[from].history.at(0);
    loaded.history[loaded.n] = w.models[from].history.at(loaded.n);
    w.models[to] = loaded;
}

void run(uint32_t n_checkpoints, long n_operations) {
    Cache cache(config_of(kSequences, n_checkpoints));
    const long calls = cache.memory.calls;
    World w{*cache.cache, {}, 7 + n_checkpoints};
    for (uint32_t s = 0; s < kSequences; s++) w.models[s].history[0] = contents(w.cache, s);
    for (long i = 0; i < n_operations; i++) {
        const uint32_t s = w.draw(kSequences), other = w.draw(kSequences), what = w.draw(100);
        if (what < 50)
            call(w, s);
        else if (what < 65)
            check(w, s);
        else if (what < 75)
            CHECK(w.cache.mark(s, nullptr) == Status::ok);
        else if (what < 85)
            go_back(w, s);
        else if (what < 93)
            copy(w, s, other);
        else if (what < 97)
            save_and_load(w, s, other);
        else {
            CHECK(w.cache.clear(s, nullptr) == Status::ok);
            w.models[s].n = 0;
            w.models[s].history.erase(w.models[s].history.upper_bound(0),
                                      w.models[s].history.end());
        }
        if (failures) {
            printf("operation %ld of %u checkpoints\n", i, n_checkpoints);
            return;
        }
    }
    for (uint32_t s = 0; s < kSequences; s++) check(w, s);
    CHECK(cache.memory.calls == calls); // no allocation
}

} // namespace

int main(int argc, char **argv) {
    const long n = argc > 1 ? atol(argv[1]) : 40000;
    for (const uint32_t n_checkpoints : {0u, 1u, 2u, 5u, 8u}) run(n_checkpoints, n / 5);
    printf("%d failures\n", failures);
    return failures != 0;
}
