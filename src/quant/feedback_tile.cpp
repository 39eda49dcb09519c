// SPDX-License-Identifier: MIT
#include "quant/feedback_tile.hpp"

#include <algorithm>

namespace ggufx::quant {

namespace {

constexpr size_t kBlock = 32; // columns solved together

// Replaces x by the solution of (factor * transposed factor) * solution = x; x[n][16].
void solve(double *x, const double *factor, size_t n) {
    const auto at = [&](size_t i) { return x + i * kLanes; };
    const auto divide = [&](size_t i) {
        for (size_t l = 0; l < kLanes; l++) at(i)[l] /= factor[i * n + i];
    };
    for (size_t first = 0; first < n; first += kBlock) { // rows above the block are done
        const size_t end = std::min(n, first + kBlock);
        for (size_t i = first; i < end; i++) {
            update<double>(
                {at(i), factor + i * n + first, at(first), kLanes, 0, 1, kLanes, i - first}, 0, 1,
                0, kLanes);
            divide(i);
        }
        // the transpose above the diagonal: contiguous in i
        update<double>({x, factor + first * n, at(first), kLanes, 1, n, kLanes, end - first}, end,
                       n, 0, kLanes);
    }
    for (size_t end = n; end > 0;) {
        const size_t first = (end - 1) / kBlock * kBlock;
        for (size_t i = end; i-- > first;) {
            update<double>(
                {at(i), factor + i * n + i + 1, at(i + 1), kLanes, 0, 1, kLanes, end - i - 1}, 0, 1,
                0, kLanes);
            divide(i);
        }
        update<double>({x, factor + first * n, at(first), kLanes, 1, n, kLanes, end - first}, 0,
                       first, 0, kLanes);
        end = first;
    }
}

} // namespace

// Leaves in memory_.sums what is added to the rows: rows * drift * inverse of the damped squares.
void Tile::correct_target() const {
    double *const sums = memory_.sums.data();
    std::fill(memory_.sums.begin(), memory_.sums.end(), 0.0);
    for (size_t t = 0; t < k_; t++) {
        double negative[kLanes];
        for (size_t l = 0; l < kLanes; l++) negative[l] = -static_cast<double>(weight(l, t));
        update<double>({sums, metric_.drift() + t * k_, negative, kLanes, 1, 0, kLanes, 1}, 0, k_,
                       0, kLanes);
    }
    solve(sums, metric_.factor(), k_);
}

void Tile::begin() const {
    const bool corrects = metric_.factor() != nullptr;
    if (corrects) correct_target();
    bool is_finite[kLanes];
    std::fill(is_finite, is_finite + kLanes, true);
    for (size_t i = 0; corrects && i < k_; i++)
        for (size_t l = 0; l < kLanes; l++) {
            const double most = 3e38, v = memory_.sums[i * kLanes + l];
            is_finite[l] = is_finite[l] && v > -most && v < most;
        }
    for (size_t i = 0; i < k_; i++)
        for (size_t l = 0; l < kLanes; l++) {
            double target = static_cast<double>(weight(l, i));
            if (corrects && is_finite[l]) target += memory_.sums[i * kLanes + l];
            memory_.error[i * kLanes + l] =
                static_cast<float>(target - static_cast<double>(values(i)[l]));
        }
    std::fill(memory_.gradient.begin(), memory_.gradient.end(), 0.0f);
    for (float &e : memory_.error) e = -e;
    subtract_product(memory_.gradient.data(), metric_.squares(), memory_.error.data());
    for (float &e : memory_.error) e = -e;
}

// lanes += factor * sum of a * b
static void add_products(double *lanes, double factor, const float *a, const float *b, size_t k) {
    double sums[kLanes] = {};
    for (size_t i = 0; i < k; i++)
        for (size_t l = 0; l < kLanes; l++)
            sums[l] +=
                static_cast<double>(a[i * kLanes + l]) * static_cast<double>(b[i * kLanes + l]);
    for (size_t l = 0; l < kLanes; l++) lanes[l] += factor * sums[l];
}

void Tile::errors(double *lanes) const {
    const float *const e = memory_.error.data();
    std::fill(lanes, lanes + kLanes, 0.0);
    add_products(lanes, 1, e, memory_.gradient.data(), k_);
    add_products(lanes, -metric_.added(), e, e, k_);
}

// Uses the memory of error and gradient.
void Tile::mean_squares(double *lanes) const {
    float *const rows = memory_.error.data();
    for (size_t i = 0; i < k_; i++)
        for (size_t l = 0; l < kLanes; l++) rows[i * kLanes + l] = -weight(l, i);
    std::fill(memory_.gradient.begin(), memory_.gradient.end(), 0.0f);
    subtract_product(memory_.gradient.data(), metric_.squares(), rows);
    std::fill(lanes, lanes + kLanes, 0.0);
    add_products(lanes, -1, rows, memory_.gradient.data(), k_);
    add_products(lanes, -metric_.added(), rows, rows, k_);
}

void Tile::move(size_t first, size_t n, const float *delta) const {
    float *const error = memory_.error.data() + first * kLanes;
    for (size_t i = 0; i < n * kLanes; i++) error[i] -= delta[i];
    update<float>(
        {memory_.gradient.data(), metric_.squares() + first, delta, kLanes, k_, 1, kLanes, n}, 0,
        k_, 0, kLanes);
}

// With e = rows - values, S the squares and C the drift of the kept-out inputs, the error is
// e S e + 2 rows C e, plus a constant. Its change is (e1 - e0) (S (e1 + e0) + 2 rows C). Uses the
// memory of error and gradient.
void Tile::kept_out_changes(double *lanes, const float *before) const {
    float *const sum = memory_.error.data(), *const product = memory_.gradient.data();
    const auto old = [&](size_t lane, size_t i) {
        return lane < n_rows_ ? before[lane * k_ + i] : 0.0f;
    };
    std::fill(memory_.gradient.begin(), memory_.gradient.end(), 0.0f);
    for (size_t i = 0; i < k_; i++)
        for (size_t l = 0; l < kLanes; l++)
            sum[i * kLanes + l] = (values(i)[l] - weight(l, i)) + (old(l, i) - weight(l, i));
    subtract_product(product, metric_.kept_squares(), sum);
    if (metric_.kept_drift()) {
        for (size_t i = 0; i < k_; i++)
            for (size_t l = 0; l < kLanes; l++) sum[i * kLanes + l] = -2.0f * weight(l, i);
        subtract_transposed(product, metric_.kept_drift(), sum);
    }
    for (size_t i = 0; i < k_; i++)
        for (size_t l = 0; l < kLanes; l++) sum[i * kLanes + l] = old(l, i) - values(i)[l];
    std::fill(lanes, lanes + kLanes, 0.0);
    add_products(lanes, 1, sum, product, k_);
}

} // namespace ggufx::quant
