// Values of a generated model. They depend on seed, tensor name and index alone, and need integers
// and one product, so that they have the same bits on every machine.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/shapes.hpp"

namespace ggufx::cli {

class RandomValues {
public:
    RandomValues(const ShapeTensor &tensor, uint64_t seed);
    void fill(float *out, uint64_t first, size_t n) const; // values first .. first + n - 1

private:
    uint64_t state_;
    double mean_ = 0;
    float scale_ = 0; // for a sum of four random numbers below 2^16
};

// Writes a vocabulary of n_vocab tokens, with the special tokens that the architecture needs.
void write_random_vocabulary(KeyWriter &keys, const Shape &shape);

} // namespace ggufx::cli
