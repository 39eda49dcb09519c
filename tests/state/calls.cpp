// Calls on sequences of a state cache: inputs of steps, and the state after commits and rollbacks.
// SPDX-License-Identifier: MIT
#include "fixture.hpp"

namespace {

bool all_zero(const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0.0f) return false;
    return true;
}

void an_empty_sequence_begins_with_zeros() {
    Cache cache(config_of(2));
    CHECK(cache->begin(1, nullptr) == Status::ok);
    for (uint32_t l = 0; l < kLayers; l++) {
        const Step step = cache->step(l, 1);
        const size_t n_tail = tail_of(l), n_state = kShapes[l].state_values;
        CHECK((step.tail_in != nullptr) == (n_tail != 0) && step.tail_in == step.tail_out);
        CHECK((step.state_in != nullptr) == (n_state != 0) && step.state_in == step.state_out);
        CHECK(all_zero(step.tail_in, n_tail) && all_zero(step.state_in, n_state));
        CHECK(reinterpret_cast<uintptr_t>(step.tail_in) % 64 == 0);
        CHECK(reinterpret_cast<uintptr_t>(step.state_in) % 64 == 0);
    }
}

void the_first_step_reads_what_was_committed_and_later_ones_go_on() {
    Cache cache(config_of(1));
    run_call(*cache.cache, 0, 1, 5);
    CHECK(cache->begin(0, nullptr) == Status::ok);
    for (uint32_t l = 0; l < kLayers; l++) {
        const Step a = cache->step(l, 0), b = cache->step(l, 0), c = cache->step(l, 0);
        CHECK(a.tail_out == b.tail_in && b.tail_in == b.tail_out && c.tail_in == c.tail_out);
        CHECK(a.state_out == b.state_in && b.state_in == b.state_out);
        if (a.tail_in) CHECK(a.tail_in != a.tail_out);
        if (a.state_in) CHECK(a.state_in != a.state_out);
    }
    CHECK(cache->length(0) == 5);
}

void a_call_that_is_taken_back_leaves_everything() {
    Cache cache(config_of(3));
    run_call(*cache.cache, 1, 1, 5);
    const std::vector<float> before = contents(*cache.cache, 1);
    for (uint64_t n_steps = 0; n_steps < 4; n_steps++) {
        CHECK(cache->begin(1, nullptr) == Status::ok);
        for (uint64_t i = 0; i < n_steps; i++)
            for (uint32_t l = 0; l < kLayers; l++) run_step(cache->step(l, 1), l, 90 + i);
        CHECK(cache->length(1) == 5);
        CHECK(cache->rollback(1, nullptr) == Status::ok);
        CHECK(cache->length(1) == 5 && same(contents(*cache.cache, 1), before));
    }
    run_call(*cache.cache, 1, 2, 1);
    CHECK(cache->length(1) == 6 && !same(contents(*cache.cache, 1), before));
    CHECK(cache->length(0) == 0 && cache->length(2) == 0);
}

void a_layer_without_a_step_keeps_what_it_had() {
    Cache cache(config_of(1)), reference(config_of(1));
    for (const uint32_t skipped : {0u, 1u, 2u}) { // the first time on an empty sequence
        for (StateCache *c : {cache.cache, reference.cache}) {
            CHECK(c->begin(0, nullptr) == Status::ok);
            for (uint32_t l = 0; l < kLayers; l++) {
                if (l != skipped)
                    run_step(c->step(l, 0), l, skipped);
                else if (c == reference.cache) { // copies its input
                    const Step s = c->step(l, 0);
                    if (s.tail_in) memmove(s.tail_out, s.tail_in, tail_of(l) * 4);
                    if (s.state_in) memmove(s.state_out, s.state_in, kShapes[l].state_values * 4);
                }
            }
            CHECK(c->commit(0, 1, nullptr) == Status::ok);
        }
        CHECK(same(contents(*cache.cache, 0), contents(*reference.cache, 0)));
    }
}

void clear_and_truncate_to_nothing_forget() {
    Cache cache(config_of(2));
    const std::vector<float> zeros = contents(*cache.cache, 0);
    run_call(*cache.cache, 0, 1, 5);
    run_call(*cache.cache, 1, 2, 9);
    const std::vector<float> other = contents(*cache.cache, 1);
    CHECK(cache->truncate(0, 5, nullptr) == Status::ok && cache->length(0) == 5);
    CHECK(cache->truncate(0, 0, nullptr) == Status::ok && cache->length(0) == 0);
    CHECK(same(contents(*cache.cache, 0), zeros));
    run_call(*cache.cache, 0, 1, 5);
    CHECK(cache->begin(0, nullptr) == Status::ok); // the clear ends the open call
    CHECK(cache->clear(0, nullptr) == Status::ok && cache->length(0) == 0);
    CHECK(same(contents(*cache.cache, 0), zeros));
    CHECK(cache->length(1) == 9 && same(contents(*cache.cache, 1), other));
}

void refusals_name_what_is_wrong_and_change_nothing() {
    Cache cache(config_of(2));
    run_call(*cache.cache, 0, 1, 5);
    const std::vector<float> before = contents(*cache.cache, 0);
    Refusal r;
    Failure *f = &r.failure;
    CHECK(r.is(cache->begin(2, f), Status::argument, 2, "2 sequences"));
    CHECK(r.is(cache->commit(2, 1, f), Status::argument, 2, "2 sequences"));
    CHECK(r.is(cache->rollback(2, f), Status::argument, 2, "2 sequences"));
    CHECK(r.is(cache->clear(2, f), Status::argument, 2, "2 sequences"));
    CHECK(r.is(cache->truncate(2, 0, f), Status::argument, 2, "2 sequences"));
    CHECK(r.is(cache->commit(0, 1, f), Status::state, 0, "no call is open"));
    CHECK(r.is(cache->rollback(0, f), Status::state, 0, "no call is open"));
    CHECK(r.is(cache->truncate(0, 6, f), Status::argument, 0, "6 tokens: sequence 0 has 5"));
    CHECK(r.is(cache->truncate(0, 4, f), Status::state, 0, "after 4 of 5 tokens are not kept"));
    CHECK(cache->begin(0, f) == Status::ok);
    CHECK(r.is(cache->begin(0, f), Status::state, 0, "a call is open"));
    CHECK(r.is(cache->truncate(0, 0, f), Status::state, 0, "a call is open"));
    run_step(cache->step(0, 0), 0, 3);
    CHECK(r.is(cache->commit(0, 0, f), Status::argument, 0, "without new tokens"));
    CHECK(r.is(cache->commit(0, (uint64_t(1) << 40) - 4, f), Status::capacity, 0, "1099511627776"));
    CHECK(r.is(cache->commit(0, UINT64_MAX, f), Status::capacity, 0, "1099511627776"));
    CHECK(cache->rollback(0, f) == Status::ok);
    CHECK(cache->begin(0, f) == Status::ok && cache->commit(0, 0, f) == Status::ok);
    CHECK(cache->length(0) == 5 && same(contents(*cache.cache, 0), before));
    const Step none[] = {cache->step(0, 0), cache->step(kLayers, 0), cache->step(0, 2)};
    for (const Step &s : none) CHECK(!s.tail_in && !s.state_in && !s.tail_out && !s.state_out);
    CHECK(cache->length(2) == 0);
}

} // namespace

int main() {
    an_empty_sequence_begins_with_zeros();
    the_first_step_reads_what_was_committed_and_later_ones_go_on();
    a_call_that_is_taken_back_leaves_everything();
    a_layer_without_a_step_keeps_what_it_had();
    clear_and_truncate_to_nothing_forget();
    refusals_name_what_is_wrong_and_change_nothing();
    printf("%d failures\n", failures);
    return failures != 0;
}
