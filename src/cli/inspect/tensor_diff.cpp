// Sums in binary64 over rows that are dequantized in pieces.
// SPDX-License-Identifier: MIT
#include "inspect/tensor_diff.hpp"

#include "common/signals.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace ggufx::cli {

double ValueDiff::rmse() const {
    if (n_invalid) return std::numeric_limits<double>::infinity();
    return n ? std::sqrt(square_error / static_cast<double>(n)) : 0;
}

double ValueDiff::relative() const {
    if (n_invalid) return std::numeric_limits<double>::infinity();
    if (square_error == 0) return 0;
    return std::sqrt(square_error / square); // infinite if a is all zero
}

static bool same_rows(const ggufx_tensor *a, const ggufx_tensor_facts &info_a,
                      const ggufx_tensor *b, const ggufx_tensor_facts &info_b) {
    if (info_a.type != info_b.type) return false;
    const auto *bytes_a = static_cast<const char *>(ggufx_tensor_data(a));
    const auto *bytes_b = static_cast<const char *>(ggufx_tensor_data(b));
    if (!bytes_a || !bytes_b) return info_a.n_bytes == 0;
    const uint64_t step =
        std::max<uint64_t>(1, (1u << 20) / std::max<uint64_t>(1, info_a.row_bytes));
    for (uint64_t row = 0; row < info_a.n_rows; row++) {
        if (row % step == 0) check_interrupt();
        if (std::memcmp(bytes_a + row * info_a.row_stride, bytes_b + row * info_b.row_stride,
                        static_cast<size_t>(info_a.row_bytes)) != 0) {
            return false;
        }
    }
    return true;
}

static void add_value(ValueDiff &diff, double a, double b, uint64_t row, uint64_t column) {
    diff.n++;
    if (a == b || (std::isnan(a) && std::isnan(b))) {
        if (std::isfinite(a)) diff.square += a * a;
        return;
    }
    diff.n_different++;
    if (!std::isfinite(a) || !std::isfinite(b)) {
        diff.n_invalid++;
        return;
    }
    const double error = b - a;
    diff.square += a * a;
    diff.square_error += error * error;
    if (std::abs(error) > diff.max_abs) {
        diff.max_abs = std::abs(error);
        diff.max_row = row;
        diff.max_column = column;
    }
}

ValueDiff tensor_diff(const ggufx_runtime *rt, const ggufx_tensor *a, const ggufx_tensor *b) {
    const ggufx_tensor_facts info_a = tensor_facts(a), info_b = tensor_facts(b);
    ValueDiff diff;
    diff.same_bytes = same_rows(a, info_a, b, info_b);
    if (diff.same_bytes || info_a.ne[0] == 0) {
        diff.n = info_a.n_rows * info_a.ne[0];
        return diff;
    }
    const uint64_t step = rows_at_once(info_a.ne[0]);
    for (uint64_t row = 0; row < info_a.n_rows; row += step) {
        check_interrupt();
        const uint64_t n = std::min(step, info_a.n_rows - row);
        const std::vector<double> values_a = row_values(rt, a, info_a, row, n);
        const std::vector<double> values_b = row_values(rt, b, info_b, row, n);
        for (size_t i = 0; i < values_a.size(); i++) {
            add_value(diff, values_a[i], values_b[i], row + i / info_a.ne[0], i % info_a.ne[0]);
        }
    }
    return diff;
}

} // namespace ggufx::cli
