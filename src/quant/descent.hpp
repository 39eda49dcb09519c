// Coordinate descent on the error of a matrix's outputs: the codes of a block, then its sub-scales,
// minimums and scales. A change is made only if it lowers the error.
// SPDX-License-Identifier: MIT
#pragma once

#include "quant/feedback_numbers.hpp"
#include "quant/feedback_tile.hpp"

#include <algorithm>

namespace ggufx::quant {

// Memory of one worker for the current block: [value][lane].
struct BlockMemory {
    using Lanes = float[kBlockValues][kLanes];
    Lanes value, gradient; // gradient: only the elements of these values
    Lanes start;           // values before the pass
    Lanes direction, product, delta;
};

template <class Numbers> class Descent {
public:
    using State = typename Numbers::State;

    // squares: [k][k]
    Descent(const Numbers &numbers, const Tile &tile, BlockMemory &memory, const float *squares,
            size_t k)
        : numbers_(numbers), tile_(tile), m_(memory), squares_(squares), k_(k) {}

    // Improves the block at column `first` of all rows of the tile; blocks[i] is that of row i.
    // Returns whether a value changed.
    bool improve(size_t first, uint8_t *const *blocks) {
        const auto n = static_cast<size_t>(numbers_.n_values());
        first_ = first;
        unpack(blocks);
        if (!has_active_) return false;
        memcpy(m_.start, m_.value, n * sizeof *m_.start);
        const auto group = static_cast<size_t>(numbers_.group());
        for (size_t at = 0; at < n; at += group) {
            choose_codes(at, group);
            if (numbers_.has_scales()) move_scales(at, group);
            if (numbers_.has_mins()) move_mins(at, group);
        }
        if (numbers_.has_d()) move_d(n);
        if (numbers_.has_dmin()) move_dmin(n);
        return finish(n, blocks);
    }

private:
    const float *square(size_t i) const { return squares_ + (first_ + i) * k_ + first_; }

    void unpack(uint8_t *const *blocks) {
        const auto n = static_cast<size_t>(numbers_.n_values());
        memcpy(m_.value, tile_.values(first_), n * sizeof *m_.value);
        memcpy(m_.gradient, tile_.gradient(first_), n * sizeof *m_.gradient);
        has_active_ = false;
        for (size_t l = 0; l < kLanes; l++) {
            float values[kBlockValues];
            for (size_t i = 0; i < n; i++) values[i] = m_.value[i][l];
            active_[l] = l < tile_.n_rows() && numbers_.unpack(&state_[l], blocks[l], values);
            has_active_ = has_active_ || active_[l];
        }
    }

    // gradient -= squares * delta, for values at .. at + n - 1 of delta.
    void update_gradient(size_t at, size_t n) {
        update<float>({*m_.gradient, square(0) + at, m_.delta[at], kLanes, k_, 1, kLanes, n}, 0,
                      static_cast<size_t>(numbers_.n_values()), 0, kLanes);
    }

    // ---- codes

    void choose_codes(size_t at, size_t n) {
        bool any = false;
        for (size_t i = at; i < at + n; i += Numbers::kStep) {
            bool changed = false;
            for (size_t l = 0; l < kLanes; l++) {
                for (size_t j = 0; j < Numbers::kStep; j++) m_.delta[i + j][l] = 0.0f;
                if (active_[l]) changed |= choose_code(i, l);
            }
            any |= changed;
            if (!changed) continue;
            // gradients of the later values in this group
            const size_t next = i + Numbers::kStep;
            update<float>(
                {*m_.gradient, square(0) + i, m_.delta[i], kLanes, k_, 1, kLanes, Numbers::kStep},
                next, at + n, 0, kLanes);
        }
        if (!any) return;
        // the others
        const auto all = static_cast<size_t>(numbers_.n_values());
        const RankUpdate<float> u = {
            *m_.gradient, square(0) + at, m_.delta[at], kLanes, k_, 1, kLanes, n};
        update(u, 0, at, 0, kLanes);
        update(u, at + n, all, 0, kLanes);
        // elements that the loop above skipped
        for (size_t i = at; i < at + n; i += Numbers::kStep) {
            const size_t end = i + Numbers::kStep;
            update<float>(
                {*m_.gradient, square(0) + i, m_.delta[i], kLanes, k_, 1, kLanes, at + n - i}, i,
                end, 0, kLanes);
        }
    }
    bool choose_code(size_t i, size_t lane) {
        constexpr size_t kStep = Numbers::kStep;
        float wanted[kStep], weights[kStep], delta[kStep];
        wanted_values(wanted, i, lane);
        for (size_t j = 0; j < kStep; j++) weights[j] = square(i + j)[i + j];
        State next = state_[lane];
        numbers_.choose(&next, static_cast<int>(i), wanted, weights);
        float gain = 0.0f;
        for (size_t j = 0; j < kStep; j++)
            delta[j] = numbers_.value(next, static_cast<int>(i + j)) - m_.value[i + j][lane];
        for (size_t j = 0; j < kStep; j++) {
            float product = 0.0f;
            for (size_t t = 0; t < kStep; t++) product += square(i + j)[i + t] * delta[t];
            gain += delta[j] * (2.0f * m_.gradient[i + j][lane] - product);
        }
        if (!(gain > 0.0f)) return false;
        state_[lane] = next;
        for (size_t j = 0; j < kStep; j++) {
            m_.delta[i + j][lane] = delta[j];
            m_.value[i + j][lane] = numbers_.value(next, static_cast<int>(i + j));
        }
        return true;
    }
    // Values that would minimize the error, the others unchanged: a Cholesky solution for kStep
    // values.
    void wanted_values(float *wanted, size_t i, size_t lane) const {
        constexpr size_t kStep = Numbers::kStep;
        float factor[kStep][kStep], x[kStep];
        for (size_t r = 0; r < kStep; r++) {
            float sum = m_.gradient[i + r][lane];
            for (size_t c = 0; c <= r; c++) {
                float element = square(i + r)[i + c];
                for (size_t t = 0; t < c; t++) element -= factor[r][t] * factor[c][t];
                factor[r][c] = c < r ? element / factor[c][c] : sqrtf(element);
                if (c < r) sum -= factor[r][c] * x[c];
            }
            x[r] = sum / factor[r][r];
        }
        for (size_t r = kStep; r-- > 0;) {
            for (size_t t = r + 1; t < kStep; t++) x[r] -= factor[t][r] * x[t];
            x[r] /= factor[r][r];
            wanted[r] = m_.value[i + r][lane] + x[r];
        }
    }

    // ---- scales and minimums: `per(state, i)` is the change of value i per unit of the number,
    // `move(state, wanted)` changes the number by about `wanted` units

    template <class Per, class Move>
    void step(size_t at, size_t n, const Per &per, const Move &move) {
        for (size_t i = at; i < at + n; i++)
            for (size_t l = 0; l < kLanes; l++)
                m_.direction[i][l] = active_[l] ? per(state_[l], static_cast<int>(i)) : 0.0f;
        multiply(m_.direction, at, n);
        float wanted[kLanes];
        for (size_t l = 0; l < kLanes; l++) {
            const float num = dot(m_.direction, m_.gradient, at, n, l);
            const float den = -dot(m_.direction, m_.product, at, n, l);
            wanted[l] = den > 0.0f ? num / den : 0.0f;
        }
        bool changed = false;
        for (size_t l = 0; l < kLanes; l++) {
            next_[l] = state_[l];
            if (active_[l]) move(&next_[l], wanted[l]);
            for (size_t i = at; i < at + n; i++) {
                m_.delta[i][l] =
                    active_[l] ? numbers_.value(next_[l], static_cast<int>(i)) - m_.value[i][l]
                               : 0.0f;
                changed |= m_.delta[i][l] != 0.0f;
            }
        }
        if (changed) accept(at, n);
    }
    void accept(size_t at, size_t n) {
        multiply(m_.delta, at, n);
        for (size_t l = 0; l < kLanes; l++) {
            const float gain =
                2.0f * dot(m_.delta, m_.gradient, at, n, l) + dot(m_.delta, m_.product, at, n, l);
            const bool better = gain > 0.0f;
            if (better) state_[l] = next_[l];
            for (size_t i = at; i < at + n; i++) {
                if (!better)
                    m_.delta[i][l] = 0.0f;
                else
                    m_.value[i][l] = numbers_.value(state_[l], static_cast<int>(i));
            }
        }
        update_gradient(at, n);
    }
    // product = -squares * x, within values at .. at + n - 1.
    void multiply(const BlockMemory::Lanes &x, size_t at, size_t n) {
        for (size_t i = at; i < at + n; i++) std::fill_n(m_.product[i], kLanes, 0.0f);
        update<float>({*m_.product, square(0) + at, x[at], kLanes, k_, 1, kLanes, n}, at, at + n, 0,
                      kLanes);
    }
    static float dot(const BlockMemory::Lanes &a, const BlockMemory::Lanes &b, size_t at, size_t n,
                     size_t lane) {
        float sum = 0.0f;
        for (size_t i = at; i < at + n; i++) sum += a[i][lane] * b[i][lane];
        return sum;
    }

    void move_scales(size_t at, size_t n) {
        const int group = static_cast<int>(at / n);
        step(
            at, n, [&](const State &s, int i) { return numbers_.per_scale(s, i); },
            [&](State *s, float wanted) { numbers_.move_scale(s, group, wanted); });
    }
    void move_mins(size_t at, size_t n) {
        const int group = static_cast<int>(at / n);
        step(
            at, n, [&](const State &s, int) { return numbers_.per_min(s); },
            [&](State *s, float wanted) { numbers_.move_min(s, group, wanted); });
    }
    void move_d(size_t n) {
        step(
            0, n, [&](const State &s, int i) { return numbers_.per_d(s, i); },
            [&](State *s, float wanted) { numbers_.move_d(s, wanted); });
    }
    void move_dmin(size_t n) {
        step(
            0, n, [&](const State &s, int i) { return numbers_.per_dmin(s, i); },
            [&](State *s, float wanted) { numbers_.move_dmin(s, wanted); });
    }

    // Packs the blocks and moves the tile by the change of the values.
    bool finish(size_t n, uint8_t *const *blocks) {
        bool changed = false;
        for (size_t i = 0; i < n; i++)
            for (size_t l = 0; l < kLanes; l++) {
                m_.delta[i][l] = m_.value[i][l] - m_.start[i][l];
                changed |= m_.delta[i][l] != 0.0f;
            }
        if (!changed) return false;
        for (size_t l = 0; l < kLanes; l++)
            if (active_[l]) numbers_.pack(blocks[l], state_[l]);
        memcpy(tile_.values(first_), m_.value, n * sizeof *m_.value);
        tile_.move(first_, n, *m_.delta);
        return true;
    }

    const Numbers &numbers_;
    const Tile &tile_;
    BlockMemory &m_;
    const float *const squares_;
    const size_t k_;
    size_t first_ = 0;
    State state_[kLanes], next_[kLanes];
    bool active_[kLanes] = {}, has_active_ = false;
};

} // namespace ggufx::quant
