// A case for each row function: a call on vectors of one Memory. Arguments that may be absent or
// alias another one have cases of their own.
// SPDX-License-Identifier: MIT
#pragma once

#include "data.hpp"
#include "kernels/rows.hpp"

#include <memory>
#include <string.h>

namespace rowsteps {

// Vectors of a Memory. The first four have n values, taps and their weights n * kConvTaps, the
// state and its rates n * rows. The last three have one value per row.
enum Vector { kY, kX, kW, kB, kTaps, kWeights, kState, kRates, kOut, kV, kDt, kVectors };

struct Shape {
    size_t n, rows;
    size_t count(unsigned vector) const {
        if (vector == kTaps || vector == kWeights) return n * ggufx::kernels::kConvTaps;
        if (vector == kState || vector == kRates) return n * rows;
        return vector >= kOut ? rows : n;
    }
};

struct Numbers {
    float s, eps;
    struct {
        float decay, beta, scale;
    } delta;
    size_t n_taps;
};

// Each vector ends at a page without access and follows bytes that must not be written.
class Memory {
public:
    explicit Memory(Shape shape) : shape_(shape) {
        for (unsigned i = 0; i < kVectors; i++) {
            memory_[i] = std::make_unique<testdata::Guarded>(bytes(i));
            memset(memory_[i]->data(), 0x5a, kBefore);
        }
    }
    Shape shape() const { return shape_; }
    float *at(unsigned vector) const { return memory_[vector]->floats() + kBefore / sizeof(float); }
    void copy(const Memory &from) {
        for (unsigned i = 0; i < kVectors; i++) copy(from, i);
    }
    void copy(const Memory &from, unsigned vector) {
        memcpy(memory_[vector]->data(), from.memory_[vector]->data(), bytes(vector));
    }
    bool equal(const Memory &other, unsigned vector) const {
        return memcmp(memory_[vector]->data(), other.memory_[vector]->data(), bytes(vector)) == 0;
    }

private:
    static constexpr size_t kBefore = 64;
    size_t bytes(unsigned vector) const { return kBefore + shape_.count(vector) * sizeof(float); }

    Shape shape_;
    std::unique_ptr<testdata::Guarded> memory_[kVectors];
};

struct Case {
    const char *name;
    unsigned writes; // bits: 1 << vector
    void (*run)(const ggufx::kernels::RowKernels &k, const Memory &m, const Numbers &c);
    bool timed = false; // has a line in the benchmark table
};

constexpr size_t kCaseCount = 51;
extern const Case kCases[kCaseCount];

} // namespace rowsteps
