// What the first rank of a group tells the others: the next call of their sessions, as bytes. They have
// the numbers of one machine, since ranks of two kinds do not begin.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/scheduler.hpp"

#include <span>

namespace ggufx::cli {

struct RankStep {
    enum class Kind : uint32_t { decode = 1, truncate, copy, load, beat, end };

    Kind kind;
    Path path = Path::tiles;                     // of decode
    uint32_t sequence = 0;                       // of truncate and load; copied to
    uint32_t from = 0;                           // of copy
    uint64_t n_tokens = 0;                       // of truncate, copy, load
    std::vector<DecodeBackend::Item> items = {}; // of decode
    std::span<const uint8_t> snapshot = {};      // of load
};

// A step in bytes: a message of kFirst bytes, which says how long all is, and a second one with the rest.
class StepBytes {
public:
    static constexpr size_t kFirst = 512;
    static constexpr uint64_t kMost = uint64_t{1} << 30; // of all bytes

    // Throws std::length_error beyond kMost.
    void put(const RankStep &step);

    std::span<uint8_t> first(); // where the first message is, or goes
    std::span<uint8_t> rest() { return std::span(bytes_).subspan(kFirst); } // that of the second
    // As much as the first message says; throws std::length_error beyond kMost.
    void make_room_for_rest();
    // What it says, which points to what is here. Throws std::invalid_argument where it is no step of
    // sequences below n_sequences.
    RankStep get(uint32_t n_sequences) const;

private:
    std::vector<uint8_t> bytes_; // kFirst at least
};

} // namespace ggufx::cli
