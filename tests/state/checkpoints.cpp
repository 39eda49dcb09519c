// Checkpoints of a state cache: which are kept, and the states after truncations and copies.
// SPDX-License-Identifier: MIT
#include "fixture.hpp"

namespace {

// Returns the lengths below the end that a sequence can be truncated to: its checkpoints, and the
// start of its last call.
std::vector<uint64_t> places(const StateCache &cache, uint32_t sequence) {
    std::vector<uint64_t> all;
    for (uint64_t n = cache.length(sequence); n > 0;) {
        n = cache.nearest(sequence, n - 1);
        if (n) all.insert(all.begin(), n);
    }
    return all;
}

bool keeps(const StateCache &cache, uint32_t sequence, uint64_t n) {
    return cache.nearest(sequence, n) == n;
}

void marked_places_give_back_every_bit() {
    Cache cache(config_of(1, 3));
    std::vector<std::vector<float>> then;
    for (uint64_t i = 1; i <= 3; i++) {
        run_call(*cache.cache, 0, i, 10);
        then.push_back(contents(*cache.cache, 0));
        CHECK(cache->mark(0, nullptr) == Status::ok);
        CHECK(cache->mark(0, nullptr) == Status::ok); // a repeated mark has no effect
        run_call(*cache.cache, 0, 90 + i, 3);
    }
    for (uint64_t i = 3; i >= 1; i--) {
        const uint64_t n = (i - 1) * 13 + 10;
        CHECK(keeps(*cache.cache, 0, n) && cache->truncate(0, n, nullptr) == Status::ok);
        CHECK(cache->length(0) == n && same(contents(*cache.cache, 0), then[i - 1]));
        run_call(*cache.cache, 0, 50, 1); // leaves the checkpoint unchanged
        CHECK(cache->truncate(0, n, nullptr) == Status::ok);
        CHECK(same(contents(*cache.cache, 0), then[i - 1]));
    }
    CHECK(places(*cache.cache, 0).empty()); // later checkpoints were truncated, too
}

void refusals_name_the_nearest_place() {
    Cache cache(config_of(2, 2));
    run_call(*cache.cache, 0, 1, 10);
    CHECK(cache->mark(0, nullptr) == Status::ok);
    run_call(*cache.cache, 0, 2, 10);
    const std::vector<float> before = contents(*cache.cache, 0);
    Refusal r;
    Failure *f = &r.failure;
    CHECK(r.is(cache->truncate(0, 15, f), Status::state, 10, "is after 10"));
    CHECK(r.is(cache->truncate(0, 9, f), Status::state, 0, "is after 0"));
    CHECK(r.is(cache->copy(0, 1, 15, f), Status::state, 10, "is after 10"));
    CHECK(r.is(cache->copy(0, 1, 21, f), Status::argument, 0, "has 20"));
    CHECK(r.is(cache->copy(0, 0, 10, f), Status::state, 0, "another sequence and empty"));
    CHECK(r.is(cache->copy(2, 0, f), Status::argument, 2, "2 sequences"));
    CHECK(r.is(cache->copy(0, 2, f), Status::argument, 2, "2 sequences"));
    CHECK(r.is(cache->mark(2, f), Status::argument, 2, "2 sequences"));
    run_call(*cache.cache, 1, 5, 1);
    CHECK(r.is(cache->copy(0, 1, f), Status::state, 1, "another sequence and empty"));
    CHECK(cache->clear(1, f) == Status::ok && cache->begin(1, f) == Status::ok);
    CHECK(r.is(cache->copy(0, 1, f), Status::state, 1, "a call is open"));
    CHECK(r.is(cache->copy(1, 0, f), Status::state, 1, "a call is open"));
    CHECK(r.is(cache->mark(1, f), Status::state, 1, "a call is open"));
    CHECK(cache->rollback(1, f) == Status::ok);
    CHECK(cache->length(0) == 20 && same(contents(*cache.cache, 0), before));
    CHECK(cache->nearest(0, 19) == 10 && cache->nearest(0, UINT64_MAX) == 20);
    CHECK(cache->nearest(2, 5) == 0);
}

void copies_part_and_know_the_same_places() {
    Cache cache(config_of(3, 2));
    run_call(*cache.cache, 0, 1, 10);
    CHECK(cache->mark(0, nullptr) == Status::ok);
    const std::vector<float> at_mark = contents(*cache.cache, 0);
    run_call(*cache.cache, 0, 2, 10);
    const std::vector<float> at_end = contents(*cache.cache, 0);
    CHECK(cache->copy(0, 1, nullptr) == Status::ok && cache->length(1) == 20);
    CHECK(cache->copy(0, 2, 10, nullptr) == Status::ok && cache->length(2) == 10);
    CHECK(same(contents(*cache.cache, 1), at_end) && same(contents(*cache.cache, 2), at_mark));
    run_call(*cache.cache, 1, 3, 5);
    run_call(*cache.cache, 2, 4, 5);
    CHECK(same(contents(*cache.cache, 0), at_end));
    CHECK(cache->clear(0, nullptr) == Status::ok);
    CHECK(cache->truncate(1, 10, nullptr) == Status::ok);
    CHECK(cache->truncate(2, 10, nullptr) == Status::ok);
    CHECK(same(contents(*cache.cache, 1), at_mark) && same(contents(*cache.cache, 2), at_mark));
    CHECK(cache->copy(1, 0, 0, nullptr) == Status::ok && cache->length(0) == 0);
}

void borders_of_pages_are_remembered() {
    Cache cache(config_of(1, 8));
    for (uint64_t n = 1; n <= 300; n++) {
        run_call(*cache.cache, 0, n, 1);
        for (uint64_t i = 0; i < 2 && n / 64 > i; i++) // the last two
            CHECK(keeps(*cache.cache, 0, (n / 64 - i) * 64));
    }
    CHECK((places(*cache.cache, 0) == std::vector<uint64_t>{64, 128, 192, 256, 299}));
    run_call(*cache.cache, 0, 301, 100); // passes 320 and 384: only the end gets a checkpoint
    CHECK(keeps(*cache.cache, 0, 400) && cache->nearest(0, 399) == 300);
    run_call(*cache.cache, 0, 302, 1);
    CHECK(cache->nearest(0, 400) == 400);
}

// Explicit checkpoints outlive those at page ends; the first one is kept forever.
void marks_outlive_borders() {
    Cache cache(config_of(1, 4));
    const auto run_to = [&](uint64_t end, bool mark) {
        while (cache->length(0) < end) run_call(*cache.cache, 0, cache->length(0), 1);
        if (mark) CHECK(cache->mark(0, nullptr) == Status::ok);
    };
    run_to(30, true);
    run_to(1000, true);
    run_to(5000, false);
    CHECK(keeps(*cache.cache, 0, 30) && keeps(*cache.cache, 0, 1000));
    CHECK(keeps(*cache.cache, 0, 4992) && keeps(*cache.cache, 0, 4928)); // the last two page ends
    run_to(5010, true);
    CHECK((places(*cache.cache, 0) == std::vector<uint64_t>{30, 1000, 4992, 5009}));
    run_to(5050, true);
    CHECK((places(*cache.cache, 0) == std::vector<uint64_t>{30, 1000, 5010, 5049}));
    run_to(5200, false); // a page end does not replace an explicit checkpoint
    CHECK((places(*cache.cache, 0) == std::vector<uint64_t>{30, 1000, 5010, 5050, 5199}));
    run_to(5300, true); // 5010 and 5050 are close to each other
    CHECK((places(*cache.cache, 0) == std::vector<uint64_t>{30, 1000, 5050, 5299}) ||
          (places(*cache.cache, 0) == std::vector<uint64_t>{30, 1000, 5010, 5299}));
    for (uint64_t n = 5400; n < 9000; n += 100) run_to(n, true);
    CHECK(keeps(*cache.cache, 0, 30));
}

// With eight checkpoints and up to 65,536 tokens, a truncation removes at most five times the
// requested tokens plus two pages. The worst case is 4.65 times. Eight checkpoints chosen for a
// single length would reach 2.6 times.
void distances_from_the_end_grow_geometrically() {
    Cache cache(config_of(1, 8));
    uint64_t worst_n = 0;
    double worst = 0;
    for (uint64_t n = 0; n < 65536; n += 64) {
        run_call(*cache.cache, 0, n, 64);
        const uint64_t end = cache->length(0);
        uint64_t before = 0; // the previous checkpoint
        for (const uint64_t place : places(*cache.cache, 0)) {
            // the worst truncation is just below a checkpoint
            const double needed = static_cast<double>(end - place + 1);
            const double ratio = static_cast<double>(end - before) / (needed + 128);
            if (ratio > worst) worst = ratio, worst_n = end;
            before = place;
        }
    }
    printf("worst ratio %.2f at %llu tokens\n", worst, static_cast<unsigned long long>(worst_n));
    CHECK(worst <= 5.0);
}

void without_checkpoints_nothing_is_remembered() {
    Cache cache(config_of(1));
    for (uint64_t n = 0; n < 200; n++) run_call(*cache.cache, 0, n, 1);
    CHECK(cache->mark(0, nullptr) == Status::ok);
    run_call(*cache.cache, 0, 7, 1);
    CHECK((places(*cache.cache, 0) == std::vector<uint64_t>{200}));
    Cache one(config_of(1, 1));
    for (uint64_t n = 0; n < 200; n++) run_call(*one.cache, 0, n, 1);
    CHECK((places(*one.cache, 0) == std::vector<uint64_t>{192, 199}));
    CHECK(one->mark(0, nullptr) == Status::ok);
    for (uint64_t n = 0; n < 200; n++) run_call(*one.cache, 0, n, 1);
    CHECK((places(*one.cache, 0) == std::vector<uint64_t>{200, 399}));
    CHECK(one->mark(0, nullptr) == Status::ok); // keeps only the newest of two marks
    run_call(*one.cache, 0, 1, 1);
    CHECK((places(*one.cache, 0) == std::vector<uint64_t>{400}));
}

// Runs a call of n_tokens that keeps checkpoints within the call, `step` tokens apart.
void run_long_call(StateCache &cache, uint64_t n_tokens, uint64_t step, bool commits) {
    CHECK(cache.begin(0, nullptr) == Status::ok);
    for (uint64_t n = step; n <= n_tokens; n += step) {
        for (uint32_t l = 0; l < kLayers; l++) run_step(cache.step(l, 0), l, n);
        CHECK(cache.keep(0, n, nullptr) == Status::ok);
    }
    CHECK((commits ? cache.commit(0, n_tokens, nullptr) : cache.rollback(0, nullptr)) ==
          Status::ok);
}

// Equal to several calls, and without further allocations.
void places_within_a_call_count_once_it_commits() {
    Cache cache(config_of(1, 9)), other(config_of(1, 9));
    const long calls = cache.memory.calls;
    run_call(*cache.cache, 0, 1, 70);
    run_call(*other.cache, 0, 1, 70);
    const std::vector<float> before = contents(*cache.cache, 0);
    run_long_call(*cache.cache, 6400, 100, false);
    CHECK(cache->length(0) == 70 && same(contents(*cache.cache, 0), before));
    CHECK(places(*cache.cache, 0).empty() && keeps(*cache.cache, 0, 70));
    run_long_call(*cache.cache, 350, 100, true);
    CHECK((places(*cache.cache, 0) == std::vector<uint64_t>{70, 170, 270, 370}));
    for (uint64_t n = 100; n <= 300; n += 100) run_call(*other.cache, 0, n, 100);
    for (const uint64_t n : {370u, 270u, 170u}) {
        CHECK(cache->truncate(0, n, nullptr) == Status::ok);
        CHECK(other->truncate(0, n, nullptr) == Status::ok);
        CHECK(same(contents(*cache.cache, 0), contents(*other.cache, 0)));
    }
    run_long_call(*cache.cache, 300, 10, true); // one per page
    CHECK((places(*cache.cache, 0) == std::vector<uint64_t>{70, 170, 200, 260, 320, 390, 450}));
    CHECK(cache->keep(0, 5, nullptr) == Status::state && cache->keep(1, 5, nullptr) != Status::ok);
    CHECK(cache.memory.calls == calls);
}

// A rollback restores all earlier checkpoints, even if the call had replaced some.
void a_call_makes_room_among_its_own_places() {
    Cache cache(config_of(1, 4));
    for (int i = 0; i < 2; i++) run_call(*cache.cache, 0, 1, 70);
    run_long_call(*cache.cache, 64000, 64, false);
    CHECK((places(*cache.cache, 0) == std::vector<uint64_t>{70}) && keeps(*cache.cache, 0, 140));
    run_long_call(*cache.cache, 64000, 64, true);
    const std::vector<uint64_t> now = places(*cache.cache, 0);
    CHECK(now.size() == 3 && now.back() == 140 + 64000 - 64);
    Cache full(config_of(1, 1));
    run_call(*full.cache, 0, 1, 70);
    run_long_call(*full.cache, 640, 64, true);
    CHECK(full->nearest(0, 709) == 70 &&
          keeps(*full.cache, 0, 710)); // the call's end took its slot
}

// One step of each layer over recomputed and new tokens.
void run_both(StateCache &cache, uint64_t again, uint64_t n) {
    for (uint32_t l = 0; l < kLayers; l++) {
        const Step step = cache.step(l, 0, state::Take::both);
        run_step({step.tail_in, step.state_in, step.tail_kept, step.state_kept}, l, again);
        run_step({step.tail_kept, step.state_kept, step.tail_out, step.state_out}, l, n);
    }
}

// Without checkpoints, the last call can be truncated to its start. The next call recomputes the
// accepted tokens together with new ones, and the following truncation can return to the start of
// the new ones.
void the_last_call_is_taken_back_again_and_again() {
    Cache cache(config_of(1)), other(config_of(1));
    run_call(*cache.cache, 0, 1, 100);
    run_call(*other.cache, 0, 1, 100);
    uint64_t length = 100;
    for (uint64_t i = 2; i < 40; i++) {
        const uint64_t drafted = 1 + i % 9, kept = 1 + i % drafted;
        run_call(*cache.cache, 0, 1000 + i, drafted); // `kept` of them are accepted
        CHECK(places(*cache.cache, 0) == std::vector<uint64_t>{length});
        CHECK(cache->truncate(0, length, nullptr) == Status::ok);
        CHECK(places(*cache.cache, 0).empty());
        const bool lost = i % 3 == 0; // the first of the two following calls is rolled back
        for (int calls = lost ? 2 : 1; calls > 0; calls--) {
            CHECK(cache->begin(0, kept, nullptr) == Status::ok);
            CHECK(cache->fresh_from(0) == length + kept);
            run_both(*cache.cache, i, 2000 + i);
            CHECK((calls == 2 ? cache->rollback(0, nullptr)
                              : cache->commit(0, kept + 5, nullptr)) == Status::ok);
        }
        run_call(*other.cache, 0, i, kept);
        length += kept;
        CHECK(cache->nearest(0, length + 4) == length);
        CHECK(cache->truncate(0, length, nullptr) == Status::ok);
        CHECK(same(contents(*cache.cache, 0), contents(*other.cache, 0)));
    }
    Refusal r;
    CHECK(cache->begin(0, 4, nullptr) == Status::ok);
    run_both(*cache.cache, 1, 2);
    CHECK(r.is(cache->commit(0, 4, &r.failure), Status::argument, 0, "without new tokens"));
    CHECK(cache->rollback(0, nullptr) == Status::ok && cache->length(0) == length);
}

} // namespace

int main() {
    marked_places_give_back_every_bit();
    refusals_name_the_nearest_place();
    copies_part_and_know_the_same_places();
    borders_of_pages_are_remembered();
    marks_outlive_borders();
    distances_from_the_end_grow_geometrically();
    without_checkpoints_nothing_is_remembered();
    places_within_a_call_count_once_it_commits();
    a_call_makes_room_among_its_own_places();
    the_last_call_is_taken_back_again_and_again();
    printf("%d failures\n", failures);
    return failures != 0;
}
