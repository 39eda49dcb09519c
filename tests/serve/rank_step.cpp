// Messages between the ranks of a server. Every step survives serialization, and untrusted bytes
// give either a valid step of this session's sequences or an error.
// SPDX-License-Identifier: MIT
#include "serve/rank_step.hpp"
#include "check.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <stdexcept>

using namespace ggufx::cli;

namespace {

constexpr uint32_t kSequences = 300;
using Bytes = std::vector<uint8_t>;

Bytes written(const RankStep &step) {
    StepBytes out;
    out.put(step);
    const auto first = out.first(), rest = out.rest();
    CHECK(first.size() == StepBytes::kFirst);
    Bytes all(first.size() + rest.size());
    std::copy(rest.begin(), rest.end(), std::copy(first.begin(), first.end(), all.begin()));
    return all;
}

// Parses a step as another rank does, in memory of exactly its length, so that sanitizers detect
// reads past the end.
RankStep read(StepBytes &in, const Bytes &bytes) {
    std::memcpy(in.first().data(), bytes.data(), StepBytes::kFirst);
    in.make_room_for_rest();
    const auto rest = in.rest();
    if (rest.size() > bytes.size() - StepBytes::kFirst)
        throw std::length_error("it waits for more");
    if (!rest.empty()) std::memcpy(rest.data(), bytes.data() + StepBytes::kFirst, rest.size());
    return in.get(kSequences);
}

bool same(const RankStep &a, const RankStep &b) {
    bool same =
        a.kind == b.kind && a.path == b.path && a.sequence == b.sequence && a.from == b.from &&
        a.n_tokens == b.n_tokens && a.items.size() == b.items.size() &&
        std::equal(a.snapshot.begin(), a.snapshot.end(), b.snapshot.begin(), b.snapshot.end());
    for (size_t i = 0; same && i < a.items.size(); i++)
        same = a.items[i].sequence == b.items[i].sequence &&
               a.items[i].logits == b.items[i].logits &&
               std::equal(a.items[i].ids.begin(), a.items[i].ids.end(), b.items[i].ids.begin(),
                          b.items[i].ids.end());
    return same;
}

std::vector<int32_t> ids_of(size_t n) {
    std::vector<int32_t> out(n);
    for (size_t i = 0; i < n; i++) out[i] = static_cast<int32_t>(i * 7919 % 32000);
    return out;
}

RankStep decode_of(std::span<const int32_t> ids, size_t n_items) {
    RankStep step = {.kind = RankStep::Kind::decode, .path = Path::rows};
    const size_t each = ids.size() / n_items;
    for (size_t i = 0; i < n_items; i++)
        step.items.push_back({static_cast<uint32_t>(i), ids.subspan(i * each, each),
                              static_cast<RankStep::Logits>(i % 3)});
    return step;
}

void steps_come_out_as_they_went_in() {
    StepBytes in; // reused for all messages, also long ones
    const std::vector<int32_t> ids = ids_of(6000);
    const Bytes snapshot(100000, 7);
    for (const size_t n : {1u, 2u, 17u, 250u}) {
        const RankStep step = decode_of(std::span(ids).first(n * (6000 / n)), n);
        CHECK(same(read(in, written(step)), step));
        const RankStep short_one = decode_of(std::span(ids).first(n), n);
        CHECK(same(read(in, written(short_one)), short_one));
    }
    const RankStep others[] = {
        {.kind = RankStep::Kind::truncate, .sequence = 3, .n_tokens = uint64_t{1} << 40},
        {.kind = RankStep::Kind::copy, .sequence = 299, .from = 4, .n_tokens = 9},
        {.kind = RankStep::Kind::load, .sequence = 1, .n_tokens = 5, .snapshot = snapshot},
        {.kind = RankStep::Kind::load, .sequence = 1, .n_tokens = 0},
        {.kind = RankStep::Kind::beat},
        {.kind = RankStep::Kind::end}};
    for (const RankStep &step : others) CHECK(same(read(in, written(step)), step));
}

void one_of_many_texts_goes_in_one_message() {
    const std::vector<int32_t> ids = ids_of(23);
    CHECK(written(decode_of(ids, 23)).size() == StepBytes::kFirst);
    CHECK(written(decode_of(ids_of(24), 24)).size() > StepBytes::kFirst);
}

// Changed bytes give a step with valid sequences and ids, or an error.
void strangers_are_not_believed() {
    std::mt19937 random(1);
    StepBytes in;
    const std::vector<int32_t> ids = ids_of(640);
    size_t n_refused = 0;
    for (int i = 0; i < 4000; i++) {
        Bytes bytes = written(decode_of(ids, 1 + random() % 64));
        for (auto n = 1 + random() % 3; n > 0; n--)
            bytes[random() % (i % 2 ? 200 : bytes.size())] = static_cast<uint8_t>(random());
        try {
            const RankStep step = read(in, bytes);
            CHECK(step.sequence < kSequences && step.from < kSequences);
            uint64_t sum = 0;
            for (const RankStep::Item &item : step.items) {
                CHECK(item.sequence < kSequences && !item.ids.empty());
                for (const int32_t id : item.ids) sum += static_cast<uint32_t>(id);
            }
            for (const uint8_t byte : step.snapshot) sum += byte;
            CHECK(sum != 1); // uses the sum, so that all bytes are read
        } catch (const std::logic_error &) { n_refused++; }
    }
    CHECK(n_refused > 400);
    Bytes large = written({.kind = RankStep::Kind::beat});
    const uint64_t n_bytes = StepBytes::kMost + 1;
    std::memcpy(large.data(), &n_bytes, sizeof n_bytes);
    bool refused = false;
    try {
        (void)read(in, large);
    } catch (const std::length_error &) { refused = true; }
    CHECK(refused);
}

} // namespace

int main() {
    return run_checks({steps_come_out_as_they_went_in, one_of_many_texts_goes_in_one_message,
                       strangers_are_not_believed},
                      101);
}
