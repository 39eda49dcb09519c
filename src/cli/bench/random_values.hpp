// Values of a made-up model: a function of seed, name of the tensor and index alone, made of
// integers and one product, so that they have the same bits on every machine.
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
    float scale_ = 0; // of a sum of four random numbers below 2^16
};

// Of n_vocab tokens, with the special ones that architecture's readers ask for.
void write_random_vocabulary(KeyWriter &keys, const Shape &shape);

} // namespace ggufx::cli
