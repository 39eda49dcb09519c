// Changes numbers and names of a GGUF's keys and tensor directory, and values of its data. Most
// results are still files whose keys are read.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <vector>

// Random numbers from a seed.
struct Dice {
    uint64_t state;
    uint32_t next();
    size_t below(size_t n) { return static_cast<size_t>(next() % n); }
};

class ModelMutator {
public:
    // data: a little-endian GGUF of version 3; other bytes have no known fields.
    ModelMutator(const uint8_t *data, size_t n);

    bool is_gguf() const { return !fields_.empty(); }
    // Returns a copy with one to five changes.
    std::vector<uint8_t> mutated(Dice &dice) const;

private:
    enum class Kind : uint8_t { u8, u16, u32, u64, f32, f64, name, dimension };
    struct Field {
        size_t at, n_bytes;
        Kind kind;
        bool vocabulary;
    };
    class Reader;

    void read();
    const Field &choose(Dice &dice) const;
    void change(std::vector<uint8_t> &bytes, Dice &dice) const;
    void change_dimensions(std::vector<uint8_t> &bytes, const Field &field, Dice &dice) const;

    std::vector<uint8_t> data_;
    std::vector<Field> fields_;
    size_t directory_end_ = 0;
};
