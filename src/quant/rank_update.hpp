// Rank updates of dense matrices in a defined order: the products of second moments, factors and
// descents.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx::quant {

// Operands of c[i][j] -= sum over t of a(i, t) * b[t][j].
template <class T> struct RankUpdate {
    T *c;
    const T *a, *b;
    size_t c_step;        // elements from one row of c to the next
    size_t a_row, a_term; // elements of a from one i to the next, and from one t to the next
    size_t b_step;        // elements from one row of b to the next
    size_t n_terms;       // t
};

namespace {

constexpr uint64_t kUpdatePs = 150; // picoseconds per product and difference on one core
constexpr size_t kTileRows = 4;
// 4 vectors of 16 bytes per row: they stay in registers with SSE2 and NEON.
template <class T> constexpr size_t kTileColumns = 64 / sizeof(T);

// Updates n_rows rows and kTileColumns columns from row i, column j on.
template <class T, size_t n_rows> void update_tile(const RankUpdate<T> &u, size_t i, size_t j) {
    constexpr size_t kColumns = kTileColumns<T>;
    T sum[n_rows][kColumns];
    for (size_t r = 0; r < n_rows; r++)
        for (size_t k = 0; k < kColumns; k++) sum[r][k] = u.c[(i + r) * u.c_step + j + k];
    const T *a = u.a + i * u.a_row, *b = u.b + j;
    for (size_t t = 0; t < u.n_terms; t++, a += u.a_term, b += u.b_step)
        for (size_t r = 0; r < n_rows; r++)
            for (size_t k = 0; k < kColumns; k++) sum[r][k] -= a[r * u.a_row] * b[k];
    for (size_t r = 0; r < n_rows; r++)
        for (size_t k = 0; k < kColumns; k++) u.c[(i + r) * u.c_step + j + k] = sum[r][k];
}

// Updates one element.
template <class T> void update_element(const RankUpdate<T> &u, size_t i, size_t j) {
    T sum = u.c[i * u.c_step + j];
    for (size_t t = 0; t < u.n_terms; t++)
        sum -= u.a[i * u.a_row + t * u.a_term] * u.b[t * u.b_step + j];
    u.c[i * u.c_step + j] = sum;
}

// Updates rows i .. end_i - 1 and columns j .. end_j - 1. Each product and each difference is
// rounded once, in the order of t. So the bits do not depend on how callers split rows, columns and
// consecutive terms.
template <class T>
void update(const RankUpdate<T> &u, size_t i, size_t end_i, size_t j, size_t end_j) {
    const size_t whole = j + (end_j - j) / kTileColumns<T> * kTileColumns<T>;
    for (size_t n; i < end_i; i += n) {
        n = end_i - i >= kTileRows ? kTileRows : 1;
        for (size_t at = j; at < whole; at += kTileColumns<T>)
            n == 1 ? update_tile<T, 1>(u, i, at) : update_tile<T, kTileRows>(u, i, at);
        for (size_t row = i; row < i + n; row++)
            for (size_t k = whole; k < end_j; k++) update_element(u, row, k);
    }
}

} // namespace

} // namespace ggufx::quant
