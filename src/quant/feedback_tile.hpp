// Rows of a matrix during a descent, 16 at a time: element [column][lane] belongs to row `lane`.
// SPDX-License-Identifier: MIT
#pragma once

#include "quant/feedback.hpp"
#include "quant/rank_update.hpp"

#include <string.h>

namespace ggufx::quant {

constexpr size_t kLanes = 16;

// Memory of one worker.
struct TileMemory {
    TileMemory(const Host *host, size_t n_columns)
        : sums(n_columns * kLanes, 0.0, HostAllocator<double>(host)),
          error(sums.size(), 0.0f, HostAllocator<float>(host)),
          value(sums.size(), 0.0f, HostAllocator<float>(host)),
          gradient(sums.size(), 0.0f, HostAllocator<float>(host)) {}

    Vector<double> sums;
    Vector<float> error;    // target - value
    Vector<float> value;    // dequantized
    Vector<float> gradient; // squares * error
};

// The rows of a tile. The functions may be called for fewer than 16 rows; other lanes are 0.
class Tile {
public:
    Tile(TileMemory &memory, const FeedbackMetric &metric, const float *rows, size_t n_rows)
        : memory_(memory), metric_(metric), rows_(rows), n_rows_(n_rows), k_(metric.n_columns()) {}

    size_t n_rows() const { return n_rows_; }
    float weight(size_t lane, size_t column) const {
        return lane < n_rows_ ? rows_[lane * k_ + column] : 0.0f;
    }
    float *values(size_t column) const { return memory_.value.data() + column * kLanes; }
    float *gradient(size_t column) const { return memory_.gradient.data() + column * kLanes; }

    // Sets the values of a row.
    void set_values(size_t lane, const float *values) const {
        for (size_t i = 0; i < k_; i++) this->values(i)[lane] = values[i];
    }
    void begin() const; // target, error and gradient for the values
    // Mean squares of the outputs, and of their difference to the target; both without damping.
    void mean_squares(double *lanes) const;
    void errors(double *lanes) const;
    // Changes n values from column `first` on by delta[n][16]: error and gradient, not the values.
    void move(size_t first, size_t n, const float *delta) const;
    // Change of the error of the outputs for kept-out inputs, from values `before` [16][k].
    void kept_out_changes(double *lanes, const float *before) const;

private:
    void correct_target() const;
    // c -= matrix * b, both [k][16].
    template <class T> void subtract_product(T *c, const T *matrix, const T *b) const {
        update<T>({c, matrix, b, kLanes, k_, 1, kLanes, k_}, 0, k_, 0, kLanes);
    }
    // c -= transposed matrix * b.
    template <class T> void subtract_transposed(T *c, const T *matrix, const T *b) const {
        update<T>({c, matrix, b, kLanes, 1, k_, kLanes, k_}, 0, k_, 0, kLanes);
    }

    TileMemory &memory_;
    const FeedbackMetric &metric_;
    const float *const rows_; // [n_rows][k]
    const size_t n_rows_, k_;
};

} // namespace ggufx::quant
