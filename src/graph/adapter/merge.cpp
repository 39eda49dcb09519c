// Merges an adapter into rows of a model's tensors.
// SPDX-License-Identifier: MIT
#include "base/fpenv.hpp"
#include "formats/format.hpp"
#include "graph/adapter/adapter.hpp"

#include <algorithm>

namespace ggufx::model {

namespace {

void decode(float *out, const matmul::Weights &w, uint64_t row) {
    fmt::decode_row(out, *fmt::type_info(w.type), w.data + row * w.stride,
                    static_cast<size_t>(w.n_cols));
}

// Dequantizes A of a part to floats [rank][n_cols].
void decode_a(Vector<float> &out, const LowRank &l, uint64_t part) {
    const size_t n = static_cast<size_t>(l.n_cols);
    out.resize(l.rank * n);
    if (l.a.n_rows > 0) {
        const uint64_t first = l.a_parts > 1 ? part * l.rank : 0;
        for (uint32_t r = 0; r < l.rank; r++) decode(out.data() + r * n, l.a, first + r);
        return;
    }
    Vector<float> column(l.rank, out.get_allocator());
    for (size_t i = 0; i < n; i++) {
        decode(column.data(), l.columns, i);
        for (uint32_t r = 0; r < l.rank; r++) out[r * n + i] = column[r];
    }
}

} // namespace

const Adapter::Target *Adapter::find(size_t tensor) const {
    const auto before = [](const Target &t, size_t wanted) { return t.tensor < wanted; };
    const auto target = std::lower_bound(targets_.begin(), targets_.end(), tensor, before);
    return target == targets_.end() || target->tensor != tensor ? nullptr : &*target;
}

// Sums over the rank, ascending; then adds the sum to the row, as at run time.
void Adapter::add_rows(float *rows, const TensorRows &which, float scale,
                       const kernels::RowKernels &kernels) const {
    const auto [tensor, first, n] = which;
    const Target *const target = find(tensor);
    if (!target) return;
    const LowRank &l = pairs_[target->pair];
    const uint64_t of_part = l.b.n_rows / l.n_parts;
    const size_t n_cols = static_cast<size_t>(l.n_cols);
    const HostAllocator<float> allocator(host_.get());
    Vector<float> a(allocator), b(l.rank, allocator), sum(n_cols, allocator);
    const CanonicalFp canonical;
    uint64_t part = UINT64_MAX;
    for (uint64_t row = first; row < first + n; row++, rows += n_cols) {
        if (row / of_part != part) decode_a(a, l, part = row / of_part);
        decode(b.data(), l.b, row);
        std::fill(sum.begin(), sum.end(), 0.0f);
        for (uint32_t r = 0; r < l.rank; r++)
            kernels.add_scaled(sum.data(), a.data() + r * n_cols, b[r], n_cols);
        kernels.add_scaled(rows, sum.data(), scale * l.scale, n_cols);
    }
}

} // namespace ggufx::model
