// Serialized session call, broadcast by the first rank of a group to the others. Numbers are in the
// byte order of the machine, since ranks of different kinds refuse to start.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/scheduler.hpp"

#include <span>

namespace ggufx::cli {

struct RankStep {
    enum class Kind : uint32_t { decode = 1, truncate, copy, load, beat, end };
    enum class Logits : uint32_t { none, last, all };
    struct Item {
        uint32_t sequence;
        std::span<const int32_t> ids; // tokens to append
        Logits logits;                // tokens whose logits are computed
    };

    Kind kind;
    Path path = Path::tiles;                // compute path of decode
    uint32_t sequence = 0;                  // sequence to truncate or load; destination of copy
    uint32_t from = 0;                      // source of copy
    uint64_t n_tokens = 0;                  // tokens for truncate, copy and load
    std::vector<Item> items = {};           // batch items of decode
    std::span<const uint8_t> snapshot = {}; // snapshot for load
};

// Serialized step: a message of kFirst bytes that contains the total length, and a second message
// with the rest.
class StepBytes {
public:
    static constexpr size_t kFirst = 512;
    static constexpr uint64_t kMost = uint64_t{1} << 30; // maximum total bytes

    // Throws std::length_error above kMost.
    void put(const RankStep &step);

    std::span<uint8_t> first(); // buffer of the first message
    // Buffer of the second message.
    std::span<uint8_t> rest() { return std::span(bytes_).subspan(kFirst); }
    // Resizes the buffer to the length in the first message; throws std::length_error above kMost.
    void make_room_for_rest();
    // Returns the parsed step, which points into this buffer. Throws std::invalid_argument unless
    // it is a valid step for n_sequences sequences.
    RankStep get(uint32_t n_sequences) const;

private:
    std::vector<uint8_t> bytes_; // at least kFirst bytes
};

} // namespace ggufx::cli
