// Cholesky factorization by panels: an element is reduced by the products of all columns before it,
// in their order, however the work is split.
// SPDX-License-Identifier: MIT
#include "base/fpenv.hpp"
#include "base/loop.hpp"
#include "quant/feedback.hpp"
#include "quant/rank_update.hpp"

#include <math.h>

#include <algorithm>
#include <utility>

namespace ggufx::quant {

namespace {

constexpr size_t kPanel = 32;

struct Panel {
    double *m;            // [n][n]
    size_t n, first, end; // columns of the panel

    double *row(size_t i) const { return m + i * n; }

    // Reduces and divides the elements of row i in the panel, left to right.
    void solve_row(size_t i) const {
        for (size_t t = first; t < std::min(end, i); t++) {
            double sum = row(i)[t];
            for (size_t s = first; s < t; s++) sum -= row(i)[s] * row(t)[s];
            row(i)[t] = sum / row(t)[t];
        }
    }
    // Returns false if the matrix is not positive definite.
    bool factor_diagonal() const {
        for (size_t i = first; i < end; i++) {
            solve_row(i);
            double sum = row(i)[i];
            for (size_t s = first; s < i; s++) sum -= row(i)[s] * row(i)[s];
            if (!(sum > 0 && sum < HUGE_VAL)) return false;
            row(i)[i] = sqrt(sum);
            for (size_t t = first; t < i; t++) row(t)[i] = row(i)[t];
        }
        return true;
    }
    // Loops over the rows after the panel.
    static void solve_rows(const void *self, size_t begin, size_t count, uint32_t) {
        const auto &p = *static_cast<const Panel *>(self);
        for (size_t i = p.end + begin; i < p.end + begin + count; i++) {
            p.solve_row(i);
            for (size_t t = p.first; t < p.end; t++) p.row(t)[i] = p.row(i)[t];
        }
    }
    static void update_rows(const void *self, size_t begin, size_t count, uint32_t) {
        const auto &p = *static_cast<const Panel *>(self);
        const size_t i = p.end + begin, end = i + count;
        const double *const transposed = p.row(p.first);
        update<double>({p.m, transposed, transposed, p.n, 1, p.n, p.n, p.end - p.first}, i, end,
                       p.end, end);
    }
};

} // namespace

Status factorize(double *matrix, size_t n, const Host &host, const Progress &progress,
                 uint64_t total) {
    for (size_t first = 0; first < n; first += kPanel) {
        const Panel panel = {matrix, n, first, std::min(n, first + kPanel)};
        {
            const CanonicalFp canonical;
            if (!panel.factor_diagonal()) return Status::value;
        }
        const size_t rest = n - panel.end;
        const auto loop = [&](uint64_t products) {
            return Loop{rest, kTileRows, kTileRows, kUpdatePs * products, progress, 0, 0, total};
        };
        Status status = run(host, loop(kPanel * kPanel), Panel::solve_rows, &panel);
        if (status == Status::ok)
            status = run(host, loop(kPanel * rest), Panel::update_rows, &panel);
        if (status != Status::ok) return status;
    }
    return Status::ok;
}

} // namespace ggufx::quant
