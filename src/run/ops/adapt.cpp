// SPDX-License-Identifier: MIT
#include "run/ops/adapt.hpp"

#include "graph/adapter/set.hpp"
#include "run/rows.hpp"

#include <algorithm>

namespace ggufx::model {

namespace {

// Calls f(set, row, n) for rows row .. row + n - 1 of the running rows whose sequences share an
// adapter set. Stops at the first failure.
template <class F> Status for_adapted(const Context &c, const F &f) {
    Status status = Status::ok;
    const AdapterSet *set = nullptr;
    size_t first = 0, row = 0;
    const auto flush = [&] {
        if (set && row > first && status == Status::ok) status = f(*set, first, row - first);
        first = row;
    };
    for (size_t i = 0; i < c.n_parts; i++) {
        if (c.parts[i].adapters != set) flush();
        set = c.parts[i].adapters;
        row += c.rows_of_part(i, row);
    }
    flush();
    return status;
}

matmul::Options options_of(const Context &c) {
    matmul::Options options = c.options;
    options.f32_activations = true;
    options.precise = false;
    return options;
}

matmul::Weights rows_of(const matmul::Weights &w, uint64_t first, uint64_t n) {
    return {w.type, w.data + first * w.stride, w.stride, n, w.n_cols};
}

// y[n][n_values] += s * x
Status add(const Context &c, float *y, size_t ldy, const float *x, float s, size_t n_values,
           size_t n, Failure *failure) {
    const Status status = for_rows(c.host(), n, n_values, [&](size_t i) {
        c.rows.add_scaled(y + i * ldy, x + i * n_values, s, n_values);
    });
    return executor_failed(status, failure);
}

// y += s * (w t) for n columns t; computes as many rows at once as scratch holds.
Status add_product(const Context &c, float *y, size_t ldy, const matmul::Weights &w, const float *t,
                   size_t n, float s, Failure *failure) {
    float *const out = c.adapter_scratch + n * w.n_cols;
    const size_t at_once = (c.n_adapter_scratch - n * w.n_cols) / n;
    Status status = Status::ok;
    for (uint64_t row = 0, some; row < w.n_rows && status == Status::ok; row += some) {
        some = std::min<uint64_t>(w.n_rows - row, at_once);
        status = c.engine.matmul(out, some, rows_of(w, row, some), t, w.n_cols, n, options_of(c),
                                 failure);
        if (status == Status::ok) status = add(c, y + row, ldy, out, s, some, n, failure);
    }
    return status;
}

// Adds an adapter of one matrix to n columns.
Status add_one(const Context &c, const LowRank &l, const Adapted &p, size_t n, float s,
               Failure *failure) {
    float *const t = c.adapter_scratch;
    const Status status = c.engine.matmul(t, l.rank, l.a, p.x, p.ldx, n, options_of(c), failure);
    if (status != Status::ok) return status;
    return add_product(c, p.y, p.ldy, l.b, t, n, s, failure);
}

// Adds an adapter of experts, chosen by ids, to n tokens; scratch must hold them.
Status add_chosen(const Context &c, const LowRank &l, const Adapted &p, size_t n, float s,
                  Failure *failure) {
    const size_t n_results = n * p.used, n_columns = p.each ? n_results : n;
    const uint64_t n_rows = l.b.n_rows / l.n_parts;
    float *const t = c.adapter_scratch, *const out = t + n_results * l.rank;
    const matmul::Options options = options_of(c);
    const size_t of_column = p.each ? 1 : p.used;
    const bool shared = l.a_parts == 1; // then a column has one t
    const matmul::Experts a = {l.a, l.n_parts, p.ids, of_column};
    const matmul::Experts b = {l.b, l.n_parts, p.ids, shared ? of_column : 1};
    Status status = shared
                        ? c.engine.matmul(t, l.rank, l.a, p.x, p.ldx, n_columns, options, failure)
                        : c.engine.matmul_id(t, l.rank, a, p.x, p.ldx, n_columns, options, failure);
    if (status == Status::ok)
        status = c.engine.matmul_id(out, n_rows, b, t, l.rank, shared ? n_columns : n_results,
                                    options, failure);
    if (status != Status::ok) return status;
    return add(c, p.y, p.ldy, out, s, n_rows, n_results, failure);
}

// The tokens of a product from `row` on.
Adapted from(const Adapted &p, size_t row) {
    Adapted out = p;
    out.x += row * (p.each ? p.used : 1) * p.ldx;
    out.y += row * p.used * p.ldy;
    if (out.ids) out.ids += row * p.used;
    return out;
}

Status add_low_rank(const Context &c, const LowRank &l, const Adapted &p, size_t n, float s,
                    Failure *failure) {
    if (l.n_parts == 1) return add_one(c, l, p, n, s, failure);
    const uint64_t of_token = p.used * (l.rank + l.b.n_rows / l.n_parts);
    const size_t at_once = static_cast<size_t>(c.n_adapter_scratch / of_token);
    Status status = Status::ok;
    for (size_t row = 0, some; row < n && status == Status::ok; row += some) {
        some = std::min(n - row, at_once);
        status = add_chosen(c, l, from(p, row), some, s, failure);
    }
    return status;
}

// Adds the adapters of a set to n tokens of a product, in the set's order.
Status add_set(const Context &c, const AdapterSet &set, const Adapted &p, size_t n,
               Failure *failure) {
    Status status = Status::ok;
    for (const AdapterSet::Use &use : set.uses()) {
        const LowRank *const l = use.adapter->low_rank(p.weights);
        if (l && status == Status::ok)
            status = add_low_rank(c, *l, p, n, use.scale * l->scale, failure);
    }
    return status;
}

} // namespace

Status adapt(const Context &c, const Adapted &product, Failure *failure) {
    if (!c.adapter_scratch) return Status::ok;
    return for_adapted(c, [&](const AdapterSet &set, size_t row, size_t n) {
        return add_set(c, set, from(product, row), n, failure);
    });
}

Status adapt_scattered(const Context &c, const Adapted &product, const uint32_t *pairs, size_t n,
                       uint32_t used, Failure *failure) {
    if (!c.adapter_scratch) return Status::ok;
    size_t at = 0;
    return for_adapted(c, [&](const AdapterSet &set, size_t row, size_t n_rows) {
        while (at < n && pairs[at] / used < row) at++;
        const size_t first = at;
        while (at < n && pairs[at] / used < row + n_rows) at++;
        if (at == first) return Status::ok;
        return add_set(c, set, from(product, first), at - first, failure);
    });
}

Status adapt_rows(const Context &c, const Adapted &table, const int32_t *ids, Failure *failure) {
    if (!c.adapter_scratch) return Status::ok;
    return for_adapted(c, [&](const AdapterSet &set, size_t row, size_t n) {
        Status status = Status::ok;
        for (const AdapterSet::Use &use : set.uses()) {
            const LowRank *const l = use.adapter->low_rank(table.weights);
            if (!l) continue;
            float *const t = c.adapter_scratch;
            for (size_t i = 0; i < n && status == Status::ok; i++)
                status = c.engine.dequantize(t + i * l->rank, l->b,
                                             static_cast<uint64_t>(ids[row + i]), 1, failure);
            if (status == Status::ok)
                status = add_product(c, table.y + row * table.ldy, table.ldy, l->columns, t, n,
                                     use.scale * l->scale, failure);
        }
        return status;
    });
}

Status adapt_layer(const Context &c, uint32_t layer, Failure *failure) {
    if (!c.adapter_scratch) return Status::ok;
    const View &x = c.graph.stream;
    return for_adapted(c, [&](const AdapterSet &set, size_t row, size_t n) {
        Status status = Status::ok;
        for (const AdapterSet::Use &use : set.uses()) {
            const float *const direction = use.adapter->direction(layer);
            if (!direction || status != Status::ok) continue;
            status = for_rows(c.host(), n, x.width, [&](size_t i) {
                c.rows.add_scaled(c.at(x, row + i), direction, use.scale, x.width);
            });
        }
        return executor_failed(status, failure);
    });
}

} // namespace ggufx::model
